// SPDX-License-Identifier: Apache-2.0
// Inspecting an artifact: its metadata, read from the file without loading it.
#include "inspect_artifact.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/visible.h"
#include "core/compose/artifact/module_tree.h"
#include "core/ir/dim_names.h"
#include "core/ir/text_parts.h"
#include "core/loader/artifact_file.h"
#include "reports.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

// An input or output.
typedef struct port_t {
  const char *name;
  const byoc_type_t *type;   // as in the model
  const byoc_type_t *tensor; // the tensors in it
  const char *over;          // the input that it may be written over; "": none
} port_t;

typedef struct description_t {
  const char *text; // the metadata
  json_t *root;
  byoc_arena_t arena;
  BYOC_VECTOR(port_t) inputs;
  BYOC_VECTOR(port_t) outputs;
  byoc_dim_names_t dims; // what the model calls dimensions of outputs
} description_t;

static void description_deinit(description_t *description) {
  byoc_vector_deinit(&description->inputs, byoc_allocator_system());
  byoc_vector_deinit(&description->outputs, byoc_allocator_system());
  byoc_arena_deinit(&description->arena);
  json_decref(description->root);
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static json_int_t integer_of(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static byoc_status_t read_port(const json_t *object, byoc_arena_t *arena, byoc_diag_t *diag, port_t *out_port) {
  const char *text = text_of(object, "type");
  byoc_lexer_t lexer;
  *out_port = (port_t){.name = text_of(object, "name"), .over = text_of(object, "over")};
  byoc_lexer_init(&lexer, text, NULL, arena, diag);
  if (!byoc_type_parse(&lexer, arena, &out_port->type)) return lexer.status;
  out_port->tensor = out_port->type;
  while (out_port->tensor->element != NULL) out_port->tensor = out_port->tensor->element;
  if (byoc_type_is_tensor(out_port->tensor)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' has the type '%s', which is not one of tensors", out_port->name,
                         text);
}

static byoc_status_t read_dims(const json_t *array, byoc_arena_t *arena, byoc_diag_t *diag, byoc_dim_names_t *out) {
  size_t index = 0;
  const json_t *entry = NULL;
  *out = (byoc_dim_names_t){.capacity = json_array_size(array)};
  out->items = BYOC_ARENA_ARRAY(arena, byoc_dim_name_t, out->capacity + 1);
  if (out->items == NULL) return byoc_diag_out_of_memory(diag);
  json_array_foreach(array, index, entry) {
    byoc_lexer_t lexer;
    byoc_dim_name_t *item = &out->items[out->count++];
    item->name = text_of(entry, "name");
    byoc_lexer_init(&lexer, text_of(entry, "formula"), NULL, arena, diag);
    if (!byoc_dim_parse(&lexer, arena, &item->dim)) return lexer.status;
  }
  return BYOC_OK;
}

static byoc_status_t description_read(const char *metadata, byoc_diag_t *diag, description_t *description) {
  json_error_t error;
  description->text = metadata;
  description->root = byoc_json_load(metadata, strlen(metadata), 0, &error);
  if (description->root == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (!json_is_object(description->root)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its metadata are not a JSON object: %s",
                           description->root == NULL ? error.text : "they are another value");
  }
  size_t index = 0;
  const json_t *entry = NULL;
  port_t port;
  BYOC_RETURN_IF_ERROR(
      read_dims(json_object_get(description->root, "dimensions"), &description->arena, diag, &description->dims));
  json_array_foreach(json_object_get(description->root, "inputs"), index, entry) {
    BYOC_RETURN_IF_ERROR(read_port(entry, &description->arena, diag, &port));
    if (!byoc_vector_push(&description->inputs, byoc_allocator_system(), port)) return byoc_diag_out_of_memory(diag);
  }
  json_array_foreach(json_object_get(description->root, "outputs"), index, entry) {
    BYOC_RETURN_IF_ERROR(read_port(entry, &description->arena, diag, &port));
    if (!byoc_vector_push(&description->outputs, byoc_allocator_system(), port)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static json_int_t workspace_of(const description_t *description) {
  return integer_of(json_object_get(description->root, "host"), "workspace_bytes");
}

// ---- as JSON ----

static json_t *dim_to_json(byoc_dim_t dim, const byoc_dim_names_t *names) {
  if (byoc_dim_is_constant(dim)) return json_integer(dim.constant);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_dim_print_named(dim, names, &text);
  const bool is_nameless = byoc_dim_is_unknown(dim) && !text.failed && text.data[0] == '?';
  if (is_nameless) byoc_string_clear(&text);
  if (is_nameless) byoc_string_append(&text, "?");
  json_t *json = text.failed ? NULL : byoc_json_string(text.data);
  byoc_string_deinit(&text);
  return json;
}

static json_t *port_to_json(const port_t *port, const byoc_dim_names_t *names) {
  json_t *dims = json_array();
  for (int32_t d = 0; d < port->tensor->rank; ++d) {
    json_array_append_new(dims, dim_to_json(port->tensor->dims[d], names));
  }
  int64_t size_bytes = port->type == port->tensor ? byoc_type_size_bytes(port->type) : 0;
  json_t *json = json_pack("{s:o, s:s, s:o, s:I}", "name", byoc_json_string(port->name), "type",
                           byoc_dtype_name(port->tensor->dtype), "dims", dims, "size_bytes",
                           (json_int_t)(size_bytes > 0 ? size_bytes : 0));
  if (port->over[0] != '\0') json_object_set_new(json, "over", byoc_json_string(port->over));
  return json;
}

static byoc_status_t print_as_json(const description_t *description, byoc_diag_t *diag) {
  json_t *inputs = json_array(), *outputs = json_array();
  for (size_t i = 0; i < description->inputs.count; ++i)
    json_array_append_new(inputs, port_to_json(&description->inputs.data[i], &description->dims));
  for (size_t i = 0; i < description->outputs.count; ++i)
    json_array_append_new(outputs, port_to_json(&description->outputs.data[i], &description->dims));
  const json_t *root = description->root;
  return byoc_json_print(json_pack("{s:s, s:o, s:I, s:o, s:o, s:I, s:I, s:O}", "kind", "artifact", "model",
                                   byoc_json_string(text_of(root, "model")), "abi_version",
                                   integer_of(root, "abi_version"), "inputs", inputs, "outputs", outputs,
                                   "workspace_size_bytes", workspace_of(description), "constants_size_bytes",
                                   integer_of(root, "constants_size_bytes"), "metadata", root),
                         diag);
}

// ---- for people ----

static void print_port(const char *what, const port_t *port, const byoc_dim_names_t *names, byoc_string_t *out) {
  byoc_string_appendf(out, "%s ", what);
  byoc_string_append_shown(out, port->name);
  byoc_string_append(out, " : ");
  for (const byoc_type_t *type = port->type; type->element != NULL; type = type->element) {
    byoc_string_append(out, type->kind == BYOC_TYPE_OPTIONAL ? "optional " : "sequence of ");
  }
  byoc_type_print_named(port->tensor, names, out);
  byoc_type_print_formulas(port->tensor, names, out);
  int64_t size_bytes = port->type == port->tensor ? byoc_type_size_bytes(port->type) : 0;
  if (size_bytes > 0) byoc_string_appendf(out, "  %lld bytes", (long long)size_bytes);
  if (port->over[0] != '\0') {
    byoc_string_append(out, ", may be written over ");
    byoc_string_append_shown(out, port->over);
  }
  byoc_string_append(out, "\n");
}

static byoc_status_t print_modules(const char *metadata, byoc_string_t *out, byoc_diag_t *diag) {
  byoc_module_tree_t tree;
  byoc_string_t text;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_module_tree_read(metadata, byoc_allocator_system(), diag, &tree),
                          "reading its runtime modules");
  byoc_string_init(&text, byoc_allocator_system());
  byoc_module_tree_print(&tree, &text);
  for (const char *line = text.failed ? "" : text.data; *line != '\0';) {
    size_t size = strcspn(line, "\n");
    byoc_string_appendf(out, "module %.*s\n", (int)size, line);
    line += size + (line[size] == '\n');
  }
  if (text.failed) out->failed = true;
  byoc_string_deinit(&text);
  byoc_module_tree_deinit(&tree);
  return BYOC_OK;
}

// "; a run copies 3136 bytes to it and 40 from it (0 and 0 if it uses the host's memory)"
static void print_device_copies(const json_t *device, byoc_string_t *out) {
  const long long in = integer_of(device, "copied_in_bytes"), lent_in = integer_of(device, "lent_in_bytes");
  const long long from = integer_of(device, "copied_out_bytes"), lent_out = integer_of(device, "lent_out_bytes");
  byoc_string_appendf(out, "; a run copies %lld bytes to it and %lld from it", in, from);
  if (lent_in + lent_out > 0) {
    byoc_string_appendf(out, " (%lld and %lld if it uses the host's memory)", in - lent_in, from - lent_out);
  }
  const long long open = integer_of(device, "copies_of_open_size");
  if (open > 0) byoc_string_appendf(out, ", and %lld tensor%s of open size", open, byoc_plural((uint64_t)open));
  byoc_string_append(out, "\n");
}

// "device sim 0: 31360 bytes of workspace and 10280 of constants in scope global; ..."
static void print_devices(const json_t *devices, byoc_string_t *out) {
  size_t index = 0, at = 0;
  const json_t *device = NULL, *memory = NULL;
  json_array_foreach(devices, index, device) {
    byoc_string_append(out, "device ");
    byoc_string_append_shown(out, text_of(device, "driver"));
    byoc_string_appendf(out, " %lld", (long long)integer_of(device, "ordinal"));
    json_array_foreach(json_object_get(device, "memories"), at, memory) {
      byoc_string_appendf(out, "%s %lld bytes of workspace and %lld of constants in scope ", at == 0 ? ":" : ",",
                          (long long)integer_of(memory, "workspace_bytes"),
                          (long long)integer_of(memory, "constants_bytes"));
      byoc_string_append_shown(out, text_of(memory, "scope"));
    }
    print_device_copies(device, out);
  }
}

// " 0..3", " low|high"; nothing if any value is allowed.
static void append_range(const json_t *option, byoc_string_t *out) {
  const json_t *minimum = json_object_get(option, "minimum"), *maximum = json_object_get(option, "maximum");
  if (json_is_integer(minimum) && json_is_integer(maximum)) {
    byoc_string_appendf(out, " %lld..%lld", (long long)json_integer_value(minimum),
                        (long long)json_integer_value(maximum));
  } else if (minimum != NULL && maximum != NULL) {
    byoc_string_appendf(out, " %g..%g", json_number_value(minimum), json_number_value(maximum));
  }
  const char *choices = text_of(option, "choices");
  byoc_string_append(out, choices[0] != '\0' ? " " : "");
  byoc_string_append_shown(out, choices);
}

// "option npu.power: int 0..3, default 1: the power mode"
static void print_options(const json_t *options, byoc_string_t *out) {
  size_t index = 0;
  const json_t *option = NULL;
  json_array_foreach(options, index, option) {
    byoc_string_append(out, "option ");
    byoc_string_append_shown(out, text_of(option, "owner"));
    byoc_string_append(out, ".");
    byoc_string_append_shown(out, text_of(option, "name"));
    byoc_string_append(out, ": ");
    byoc_string_append_shown(out, text_of(option, "type"));
    append_range(option, out);
    byoc_string_append(out, ", default ");
    byoc_string_append_shown(out, text_of(option, "default")[0] != '\0' ? text_of(option, "default") : "\"\"");
    const char *help = text_of(option, "help");
    byoc_string_append(out, help[0] != '\0' ? ": " : "");
    byoc_string_append_shown(out, help);
    byoc_string_append(out, "\n");
  }
}

// "variants: sequence=1; sequence=128; any other size"
static void print_variants(const json_t *variants, byoc_string_t *out) {
  size_t index = 0;
  const json_t *variant = NULL;
  json_array_foreach(variants, index, variant) {
    byoc_string_append(out, index == 0 ? "variants: " : "; ");
    const char *text = json_string_value(variant);
    byoc_string_append_shown(out, text != NULL ? text : "");
  }
  if (index > 0) byoc_string_append(out, "; any other size\n");
}

// "plans for 1, 2 and more threads"
static void print_thread_plans(const json_t *counts, byoc_string_t *out) {
  size_t index = 0;
  const json_t *count = NULL;
  json_array_foreach(counts, index, count) {
    byoc_string_appendf(out, "%s%lld", index == 0 ? "plans for " : ", ", (long long)json_integer_value(count));
  }
  if (index > 0) byoc_string_append(out, " and more threads\n");
}

// "machine aarch64-linux-gnu with asimd"
static void print_machine(const json_t *root, byoc_string_t *out) {
  const json_t *features = json_object_get(root, "cpu_features");
  const char *triple = text_of(root, "triple"), *machine = triple[0] != '\0' ? triple : text_of(root, "machine");
  if (machine[0] == '\0') return; // an artifact of an earlier byoc
  byoc_string_append(out, "machine ");
  byoc_string_append_shown(out, machine);
  size_t index = 0;
  const json_t *feature = NULL;
  json_array_foreach(features, index, feature) {
    byoc_string_append(out, index == 0 ? " with " : " ");
    byoc_string_append_shown(out, json_string_value(feature) != NULL ? json_string_value(feature) : "");
  }
  byoc_string_append(out, "\n");
}

enum { MOST_OF_A_FORMULA = 160 }; // a longer one is not read by anybody

// "prefill, decode" of the list; nothing if the artifact has one model, or one level.
static void append_names(const json_t *root, const char *list, byoc_string_t *out) {
  const json_t *entries = json_object_get(root, list);
  for (size_t i = 0; i < json_array_size(entries); ++i) {
    byoc_string_append(out, i > 0 ? ", " : "");
    const char *name = json_string_value(json_array_get(entries, i));
    byoc_string_append_shown(out, name != NULL ? name : "");
  }
}

// "entry prefill of prefill, decode"
static void append_place(const json_t *root, const char *what, const char *list, byoc_string_t *out) {
  if (json_object_get(root, list) == NULL) return;
  byoc_string_appendf(out, "%s ", what);
  byoc_string_append_shown(out, text_of(root, what));
  byoc_string_append(out, " of ");
  append_names(root, list, out);
  byoc_string_append(out, "\n");
}

static byoc_status_t print_as_text(const description_t *description, byoc_diag_t *diag) {
  const json_t *root = description->root;
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_string_append(&out, "artifact of ");
  byoc_string_append_shown(&out, text_of(root, "model"));
  byoc_string_appendf(&out, ", ABI %lld\n", (long long)integer_of(root, "abi_version"));
  append_place(root, "entry", "entries", &out);
  append_place(root, "level", "levels", &out);
  print_machine(root, &out);
  for (size_t i = 0; i < description->inputs.count; ++i) {
    print_port("input ", &description->inputs.data[i], &description->dims, &out);
  }
  for (size_t i = 0; i < description->outputs.count; ++i) {
    print_port("output", &description->outputs.data[i], &description->dims, &out);
  }
  print_variants(json_object_get(root, "variants"), &out);
  print_thread_plans(json_object_get(root, "thread_plans"), &out);
  byoc_status_t status = print_modules(description->text, &out, diag);
  byoc_string_appendf(&out, "workspace %lld bytes per context, constants %lld bytes",
                      (long long)workspace_of(description), (long long)integer_of(root, "constants_size_bytes"));
  const char *weights_file = json_string_value(json_object_get(root, "weights_file"));
  if (weights_file != NULL) byoc_string_appendf(&out, ", in the weights file '%s'", weights_file);
  byoc_string_append(&out, "\n");
  print_devices(json_object_get(root, "devices"), &out);
  print_options(json_object_get(root, "runtime_options"), &out);
  byoc_reports_append_list(json_object_get(root, "reports"), &out);
  if (json_object_get(root, "rank_count") != NULL) {
    byoc_string_appendf(&out, "rank %lld of %lld\n", (long long)integer_of(root, "rank"),
                        (long long)integer_of(root, "rank_count"));
  }
  const json_t *host = json_object_get(root, "host");
  if (json_object_get(host, "copied_bytes") != NULL) {
    byoc_string_appendf(&out, "a run copies %lld bytes unchanged", (long long)integer_of(host, "copied_bytes"));
    if (integer_of(host, "copied_bytes") != integer_of(host, "copied_bytes_in_place")) {
      byoc_string_appendf(&out, ", and %lld if outputs are written over their inputs",
                          (long long)integer_of(host, "copied_bytes_in_place"));
    }
    byoc_string_append(&out, "\n");
  }
  const char *live = json_string_value(json_object_get(json_object_get(root, "host"), "live_bound_bytes"));
  if (live != NULL && strlen(live) <= MOST_OF_A_FORMULA) {
    byoc_string_append(&out, "a run needs at least ");
    byoc_string_append_shown(&out, live);
    byoc_string_append(&out, " bytes at once\n");
  } else if (live != NULL) {
    byoc_string_append(&out, "the least memory of a run depends on its open dimensions; --json has the formula\n");
  }
  if (status == BYOC_OK) status = byoc_print_text(&out, diag);
  byoc_string_deinit(&out);
  return status;
}

static bool is_named(const json_t *root, const char *what, const char *name) {
  return name == NULL || strcmp(text_of(root, what), name) == 0;
}

static byoc_status_t refuse_name(const json_t *root, const char *what, const char *list, const char *name,
                                 const char *otherwise, byoc_diag_t *diag) {
  byoc_string_t names;
  byoc_string_init(&names, byoc_allocator_system());
  append_names(root, list, &names);
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the artifact has no %s '%s'; it has %s", what,
                                         name, names.size > 0 ? names.data : otherwise);
  byoc_string_deinit(&names);
  return status;
}

// The description of the entry and level; NULL: the first one, the best one.
static byoc_status_t read_description(const byoc_artifact_file_t *file, const byoc_inspect_place_t *place,
                                      byoc_diag_t *diag, description_t *description) {
  bool has_entry = false;
  for (const char *text = file->metadata; text < file->metadata_end; text += strlen(text) + 1) {
    description_deinit(description);
    *description = (description_t){0};
    byoc_arena_init(&description->arena, byoc_allocator_system());
    BYOC_RETURN_IF_ERROR(description_read(text, diag, description));
    const bool is_entry = is_named(description->root, "entry", place->entry);
    has_entry = has_entry || is_entry;
    if (is_entry && is_named(description->root, "level", place->level)) return BYOC_OK;
  }
  return has_entry ? refuse_name(description->root, "level", "levels", place->level, "one", diag)
                   : refuse_name(description->root, "entry", "entries", place->entry, "one model", diag);
}

static byoc_status_t print_report(const description_t *description, const char *name, byoc_diag_t *diag) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_status_t status = byoc_reports_append_named(json_object_get(description->root, "reports"), name, &out, diag);
  if (status == BYOC_OK) status = byoc_print_text(&out, diag);
  byoc_string_deinit(&out);
  return status;
}

static byoc_status_t print_view(const description_t *description, const byoc_inspect_view_t *view, byoc_diag_t *diag) {
  if (view->report != NULL) return print_report(description, view->report, diag);
  return view->as_json ? print_as_json(description, diag) : print_as_text(description, diag);
}

byoc_status_t byoc_inspect_artifact(const char *path, const byoc_inspect_place_t *place,
                                    const byoc_inspect_view_t *view, byoc_diag_t *diag) {
  byoc_artifact_file_t file;
  BYOC_RETURN_IF_ERROR(byoc_artifact_file_open(path, diag, &file));
  description_t description = {0};
  byoc_arena_init(&description.arena, byoc_allocator_system());
  byoc_status_t status = read_description(&file, place, diag, &description);
  if (status == BYOC_OK) status = print_view(&description, view, diag);
  description_deinit(&description);
  byoc_artifact_file_close(&file);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "inspecting '%s'", path);
}
