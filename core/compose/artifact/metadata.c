// SPDX-License-Identifier: Apache-2.0
// Writes the metadata of an artifact: its sources, as JSON. There are no paths and no dates: the same inputs give the
// same text.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/artifact.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/compose/artifact/metadata.h"
#include "core/compose/artifact/metadata_reports.h"
#include "core/compose/artifact/metadata_steps.h"
#include "core/compose/c/host_c.h"
#include "core/hostir/verify/in_place.h"
#include "core/ir/attribute_names.h"

static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

static bool set_hash(json_t *object, byoc_content_hash_t hash) {
  char digits[33];
  byoc_content_hash_format(hash, digits);
  return set(object, "hash", json_string(digits));
}

// A list of words in a string, as an array.
static json_t *build_json(uint64_t build) {
  char digits[24];
  (void)snprintf(digits, sizeof(digits), "%016" PRIx64, build);
  return json_string(digits);
}

static json_t *words_json(const char *text) {
  json_t *array = json_array();
  while (array != NULL && *text != '\0') {
    size_t length = strcspn(text, " ");
    if (length > 0 && json_array_append_new(array, json_stringn(text, length)) != 0) {
      json_decref(array);
      return NULL;
    }
    text += length;
    text += *text == ' ';
  }
  return array;
}

static json_t *targets_json(const byoc_target_list_t *targets) {
  json_t *array = json_array();
  for (size_t i = 0; targets != NULL && i < targets->targets.count; i++) {
    const byoc_target_t *target = targets->targets.data[i];
    json_t *object = json_object();
    if (object == NULL || !set(object, "kind", byoc_json_string(target->kind->name)) ||
        !set(object, "text", byoc_json_string(target->text)) ||
        !set(object, "plugin", byoc_json_string(target->kind->plugin_name)) ||
        !set(object, "version", byoc_json_string(target->kind->plugin_version)) ||
        json_array_append(array, object) != 0) {
      json_decref(object);
      json_decref(array);
      return NULL;
    }
    json_decref(object);
  }
  return array;
}

static json_t *dim_json(byoc_dim_t dim) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_dim_print(dim, &text);
  json_t *json = text.failed ? NULL : byoc_json_string(text.data);
  byoc_string_deinit(&text);
  return json;
}

// The model's names for dimensions of outputs, with their formulas.
static json_t *dimensions_json(const byoc_dim_names_t *names) {
  json_t *array = json_array();
  for (size_t i = 0; array != NULL && i < names->count; i++) {
    json_t *object = json_object();
    const bool ok = object != NULL && set(object, "name", byoc_json_string(names->items[i].name)) &&
                    set(object, "formula", dim_json(names->items[i].dim)) && json_array_append(array, object) == 0;
    json_decref(object);
    if (ok) continue;
    json_decref(array);
    return NULL;
  }
  return array;
}

static json_t *type_json(const byoc_type_t *type) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_type_print(type, &text);
  json_t *json = text.failed ? NULL : byoc_json_string(text.data);
  byoc_string_deinit(&text);
  return json;
}

static json_t *tensors_json(byoc_host_buffer_t *const *buffers, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *object = json_object();
    if (object == NULL || !set(object, "name", byoc_json_string(byoc_host_port_name(buffers[i]))) ||
        !set(object, "type", type_json(buffers[i]->type)) ||
        (buffers[i]->over != NULL && !set(object, "over", byoc_json_string(byoc_host_port_name(buffers[i]->over)))) ||
        json_array_append(array, object) != 0) {
      json_decref(object);
      json_decref(array);
      return NULL;
    }
    json_decref(object);
  }
  return array;
}

static bool append_constants(byoc_data_entry_t *const *entries, size_t count, json_t *array) {
  for (size_t i = 0; i < count; i++) {
    const byoc_data_entry_t *entry = entries[i];
    json_t *object = json_object();
    bool ok = object != NULL && (entry->name == NULL || set(object, "name", byoc_json_string(entry->name))) &&
              set(object, "size_bytes", json_integer((json_int_t)entry->size_bytes)) && set_hash(object, entry->hash) &&
              json_array_append(array, object) == 0;
    json_decref(object);
    if (!ok) return false;
  }
  return true;
}

static json_t *constants_json(const byoc_data_layout_t *layout) {
  json_t *array = json_array();
  if (array != NULL && append_constants(layout->entries.data, layout->constant_count, array) &&
      append_constants(layout->weights.data, layout->weights.count, array)) {
    return array;
  }
  json_decref(array);
  return NULL;
}

void byoc_compose_hash_module(const byoc_runtime_module_t *module, byoc_hasher_t *hasher) {
  const char *texts[] = {module->source,        module->compiler,      module->json,       module->setup_symbol,
                         module->engine_symbol, module->packed_symbol, module->engine_name};
  const char *device_texts[] = {module->driver_symbol, module->driver_name, module->fits, module->runtime_options};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    byoc_hasher_update_string(hasher, texts[i] != NULL ? texts[i] : "");
  }
  for (size_t i = 0; i < sizeof(device_texts) / sizeof(device_texts[0]); i++) {
    if (device_texts[i] != NULL) byoc_hasher_update_string(hasher, device_texts[i]);
  }
  for (size_t i = 0; i < module->flags.count; i++) byoc_hasher_update_string(hasher, module->flags.data[i]);
  for (size_t i = 0; i < module->symbols.count; i++) byoc_hasher_update_string(hasher, module->symbols.data[i]);
  for (size_t i = 0; i < module->needed.count; i++) byoc_hasher_update_string(hasher, module->needed.data[i]);
  for (size_t i = 0; i < module->search.count; i++) byoc_hasher_update_string(hasher, module->search.data[i]);
  for (size_t i = 0; i < module->sources.count; i++) {
    byoc_hasher_update_string(hasher, module->sources.data[i].name);
    byoc_hasher_update(hasher, module->sources.data[i].data, module->sources.data[i].size_bytes);
  }
  for (size_t i = 0; i < module->archives.count; i++) {
    byoc_hasher_update_string(hasher, module->archives.data[i].name);
    byoc_hasher_update(hasher, module->archives.data[i].data, module->archives.data[i].size_bytes);
  }
  for (size_t i = 0; i < module->headers.count; i++) {
    byoc_hasher_update_string(hasher, module->headers.data[i].name);
    byoc_hasher_update(hasher, module->headers.data[i].data, module->headers.data[i].size_bytes);
  }
  for (size_t i = 0; i < module->files.count; i++) {
    byoc_hasher_update(hasher, module->files.data[i].data, module->files.data[i].size_bytes);
  }
  for (size_t i = 0; i < module->blobs.count; i++) {
    byoc_hasher_update_string(hasher, module->blobs.data[i].name);
    byoc_hasher_update(hasher, module->blobs.data[i].data, module->blobs.data[i].size_bytes);
  }
  for (size_t i = 0; i < module->entries.count; i++) byoc_hasher_update_string(hasher, module->entries.data[i]);
  for (size_t i = 0; i < module->variants.count; i++) {
    const byoc_device_form_t *form = &module->variants.data[i];
    byoc_hasher_update_string(hasher, form->format);
    byoc_hasher_update_string(hasher, form->architecture);
    byoc_hasher_update_string(hasher, form->options);
    byoc_hasher_update(hasher, form->data, form->size_bytes);
  }
}

json_t *byoc_compose_read_json(byoc_constant_t *constant) {
  return json_sprintf("%016" PRIx64, byoc_constant_hash(constant));
}

// The constants of the model: whether each one is "stored" as it is, and the hash of those that the code may depend on.
static json_t *initializers_json(const byoc_compose_options_t *options, const byoc_data_layout_t *layout) {
  json_t *array = json_array();
  bool ok = array != NULL;
  for (size_t i = 0; i < options->initializer_count && ok; i++) {
    byoc_constant_t *constant = options->initializers[i];
    const bool is_stored = byoc_data_layout_find(layout, constant->data, constant->size_bytes) != NULL;
    json_t *object = json_object();
    ok = object != NULL && set(object, "name", byoc_json_string(constant->name)) &&
         set(object, "type", type_json(constant->type)) && set(object, "stored", json_boolean(is_stored)) &&
         (!byoc_compose_is_read(constant) || set(object, "read", byoc_compose_read_json(constant))) &&
         json_array_append(array, object) == 0;
    json_decref(object);
  }
  if (ok) return array;
  json_decref(array);
  return NULL;
}

// Hashes all properties of a module that go into the artifact.
static byoc_content_hash_t module_hash(const byoc_runtime_module_t *module) {
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_compose_hash_module(module, &hasher);
  for (size_t i = 0; i < module->constants.count; i++) {
    byoc_hasher_update(&hasher, module->constants.data[i].data, module->constants.data[i].size_bytes);
  }
  return byoc_hasher_finish(&hasher);
}

static json_t *properties_json(const byoc_runtime_module_t *module) {
  static const struct {
    uint32_t property;
    const char *name;
  } rows[] = {{BYOC_MODULE_SERIALISABLE, "serialisable"}, {BYOC_MODULE_LINKABLE, "linkable"}};
  json_t *array = json_array();
  bool ok = array != NULL;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && ok; i++) {
    if (byoc_runtime_module_has(module, rows[i].property)) {
      ok = json_array_append_new(array, json_string(rows[i].name)) == 0;
    }
  }
  if (ok) return array;
  json_decref(array);
  return NULL;
}

// The modules of a program, as they are listed.
typedef struct listing_t {
  json_t *array;
  const byoc_host_program_t *program;
  uint64_t touched_bytes; // of constants since their pages were forgotten
} listing_t;

// Hashing a module read its constants, which together may be larger than memory.
static void forget_constants(listing_t *listing, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < module->constants.count; i++) listing->touched_bytes += module->constants.data[i].size_bytes;
  if (listing->touched_bytes < (uint64_t)64 << 20 || listing->program->module == NULL) return;
  byoc_graph_module_forget_pages(listing->program->module);
  listing->touched_bytes = 0;
}

// Sizes of what engines and drivers get, what it fits, and announced code that was linked.
static bool set_content(json_t *object, const byoc_runtime_module_t *module) {
  bool ok = module->fits == NULL || set(object, "fits", byoc_json_string(module->fits));
  ok = ok && (module->code == NULL || set(object, "code", byoc_json_string(module->code)));
  if (module->kind == BYOC_RUNTIME_MODULE_JSON && module->json != NULL) {
    size_t size = strlen(module->json);
    for (size_t i = 0; i < module->constants.count; i++) size += module->constants.data[i].size_bytes;
    ok = ok && set(object, "size_bytes", json_integer((json_int_t)size)) &&
         set(object, "workspace_size_bytes", json_integer((json_int_t)module->workspace_size_bytes));
  }
  json_t *parts = json_array();
  ok = ok && parts != NULL;
  for (size_t i = 0; i < module->blobs.count && ok; i++) {
    const byoc_file_bytes_t *blob = &module->blobs.data[i];
    ok = json_array_append_new(parts, json_pack("{s:o, s:I}", "name", byoc_json_string(blob->name), "size_bytes",
                                                (json_int_t)blob->size_bytes)) == 0;
  }
  for (size_t i = 0; i < module->variants.count && ok; i++) {
    const byoc_device_form_t *form = &module->variants.data[i];
    ok = json_array_append_new(parts, json_pack("{s:o, s:o, s:I}", "format", byoc_json_string(form->format),
                                                "architecture", byoc_json_string(form->architecture), "size_bytes",
                                                (json_int_t)form->size_bytes)) == 0;
  }
  if (ok && json_array_size(parts) > 0) ok = json_object_set(object, "blobs", parts) == 0;
  json_decref(parts);
  return ok;
}

static bool add_module(listing_t *listing, const byoc_runtime_module_t *module) {
  if (module->kind == BYOC_RUNTIME_MODULE_REPORT) return true; // listed by itself
  json_t *object = json_object(), *symbols = json_array(), *imports = json_array();
  bool ok = object != NULL && symbols != NULL && imports != NULL;
  for (size_t i = 0; i < module->symbols.count && ok; i++) {
    ok = json_array_append_new(symbols, byoc_json_string(module->symbols.data[i])) == 0;
  }
  for (size_t i = 0; i < module->imports.count && ok; i++) {
    ok = json_array_append_new(imports, byoc_json_string(module->imports.data[i]->name)) == 0;
  }
  ok = ok && set(object, "name", byoc_json_string(module->name)) &&
       set(object, "kind", byoc_json_string(byoc_runtime_module_kind_name(module->kind))) &&
       set(object, "properties", properties_json(module)) && set(object, "target", byoc_json_string(module->target)) &&
       set_hash(object, module_hash(module));
  if (ok && module->function_name != NULL) ok = set(object, "function", byoc_json_string(module->function_name));
  if (ok && module->engine_name != NULL) ok = set(object, "engine", byoc_json_string(module->engine_name));
  if (ok && module->driver_name != NULL) ok = set(object, "driver", byoc_json_string(module->driver_name));
  if (ok && module->symbols.count > 0) ok = json_object_set(object, "symbols", symbols) == 0;
  if (ok && module->imports.count > 0) ok = json_object_set(object, "imports", imports) == 0;
  ok = ok && set_content(object, module);
  // The metadata of a backend: its own JSON, or a string if it is not JSON.
  if (ok && module->kind == BYOC_RUNTIME_MODULE_METADATA && module->json != NULL) {
    json_error_t error;
    json_t *content = byoc_json_load(module->json, strlen(module->json), JSON_DECODE_ANY, &error);
    ok = content != NULL || !byoc_json_out_of_memory(&error);
    ok = ok && set(object, "content", content != NULL ? content : byoc_json_string(module->json));
  }
  ok = ok && json_array_append(listing->array, object) == 0;
  forget_constants(listing, module);
  json_decref(object);
  json_decref(symbols);
  json_decref(imports);
  return ok;
}

static bool listed(const byoc_runtime_module_t *const *modules, size_t count, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < count; i++) {
    if (modules[i] == module) return true;
  }
  return false;
}

// In order of production; modules that only the program knows come after those that its graph module lists.
static json_t *modules_json(const byoc_host_program_t *program) {
  listing_t listing = {.array = json_array(), .program = program};
  bool ok = listing.array != NULL;
  const byoc_runtime_module_t *const *known = NULL;
  size_t known_count = 0;
  if (program->module != NULL) {
    known = (const byoc_runtime_module_t *const *)program->module->runtime_modules.data;
    known_count = program->module->runtime_modules.count;
  }
  for (size_t i = 0; i < known_count && ok; i++) ok = add_module(&listing, known[i]);
  for (size_t i = 0; i < program->libraries.count && ok; i++) {
    const byoc_runtime_module_t *module = program->libraries.data[i];
    if (!listed(known, known_count, module)) ok = add_module(&listing, module);
  }
  for (size_t i = 0; i < program->engines.count && ok; i++) {
    const byoc_host_engine_t *engine = &program->engines.data[i];
    if (!listed(known, known_count, engine->engine)) ok = add_module(&listing, engine->engine);
    for (size_t f = 0; f < engine->functions.count && ok; f++) {
      if (!listed(known, known_count, engine->functions.data[f])) ok = add_module(&listing, engine->functions.data[f]);
    }
  }
  if (ok) return listing.array;
  json_decref(listing.array);
  return NULL;
}

// Appends an item that was made for the array. If memory ran out, the array is NULL from then on.
static void append(json_t **array, json_t *item) {
  if (json_array_append_new(*array, item) == 0) return;
  json_decref(*array);
  *array = NULL;
}

static json_t *texts_json(const char *const *texts, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) append(&array, byoc_json_string(texts[i]));
  return array;
}

static json_t *levels_json(const byoc_compose_place_t *place) {
  json_t *array = json_array();
  for (size_t i = 0; i < place->level_count; i++) append(&array, byoc_json_string(place->levels[i].name));
  return array;
}

static json_t *numbers_json(const int64_t *numbers, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) append(&array, json_integer(numbers[i]));
  return array;
}

// The number of instructions of each kind, and the memory that they need.
static json_t *summary_json(const byoc_host_program_t *program) {
  static const char *const names[] = {
#define OP_NAME(NAME, text) text,
      BYOC_HOST_OP_LIST(OP_NAME)
#undef OP_NAME
  };
  json_int_t counts[BYOC_HOST_OP_COUNT] = {0};
  BYOC_HOST_FOR_EACH(at, program) counts[at->op]++;
  json_t *object = json_object(), *instructions = json_object();
  bool ok = object != NULL && instructions != NULL;
  for (int i = 0; i < BYOC_HOST_OP_COUNT && ok; i++) {
    if (counts[i] > 0) ok = set(instructions, names[i], json_integer(counts[i]));
  }
  ok = ok && json_object_set(object, "instructions", instructions) == 0 &&
       set(object, "kernels", json_integer((json_int_t)program->kernels.count)) &&
       set(object, "buffers", json_integer((json_int_t)program->buffers.count)) &&
       set(object, "copied_bytes", json_integer((json_int_t)byoc_host_copied_bytes(program, false))) &&
       set(object, "copied_bytes_in_place", json_integer((json_int_t)byoc_host_copied_bytes(program, true))) &&
       set(object, "workspace_bytes", json_integer((json_int_t)program->workspace_size_bytes)) &&
       set(object, "workspace_bound_bytes", json_integer((json_int_t)program->workspace_bound_bytes)) &&
       (!program->is_dynamic || set(object, "live_bound_bytes", dim_json(program->live_bound_bytes)));
  json_decref(instructions);
  if (ok) return object;
  json_decref(object);
  return NULL;
}

byoc_status_t byoc_compose_metadata(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                    const byoc_data_layout_t *layout, const char *compiler_version,
                                    byoc_allocator_t allocator, byoc_diag_t *diag, char **out_text) {
  *out_text = NULL;
  byoc_status_t status = BYOC_OK;
  char *dumped = NULL;
  json_t *devices = NULL;
  byoc_arena_t arena;
  byoc_dim_names_t dims;
  BYOC_RETURN_IF_ERROR(byoc_compose_devices_json(program, allocator, diag, &devices));
  byoc_arena_init(&arena, allocator);
  size_t variant_count = 0;
  const char *const *variants =
      program->module != NULL
          ? byoc_attributes_strings(&program->module->attributes, BYOC_ATTRIBUTE_VARIANTS, &variant_count)
          : NULL;
  size_t plan_count = 0;
  const int64_t *plan_threads = program->module != NULL ? byoc_attributes_ints(&program->module->attributes,
                                                                               BYOC_ATTRIBUTE_THREAD_PLANS, &plan_count)
                                                        : NULL;
  const byoc_target_t *native = byoc_target_list_native(options->targets);
  const byoc_machine_t machine = native != NULL ? native->machine : byoc_machine_host();
  const char *triple = options->targets != NULL ? options->targets->triple : NULL;
  const byoc_compose_place_t *place = &options->place;
  json_t *root = json_object();
  bool ok = byoc_host_dim_names(program, &arena, &dims) && root != NULL && set(root, "format", json_integer(1)) &&
            set(root, "byoc", json_string(BYOC_VERSION_TEXT)) && set(root, "code", json_string(BYOC_CODE_UNKNOWN)) &&
            (options->word_count == 0 || set(root, "options", texts_json(options->words, options->word_count))) &&
            set(root, "abi_version", json_integer(BYOC_ARTIFACT_ABI)) &&
            set(root, "model", byoc_json_string(options->model_name)) &&
            (place->count == 0 || (set(root, "entry", byoc_json_string(place->names[place->index])) &&
                                   set(root, "entries", texts_json(place->names, place->count)))) &&
            (place->level_count == 0 || (set(root, "level", byoc_json_string(place->levels[place->level].name)) &&
                                         set(root, "levels", levels_json(place)))) &&
            set(root, "machine", json_string(byoc_machine_name(machine))) &&
            (triple == NULL || set(root, "triple", byoc_json_string(triple))) &&
            set(root, "cpu_features", words_json(options->cpu_features != NULL ? options->cpu_features : "")) &&
            set(root, "threads", json_integer(options->thread_count)) &&
            (compiler_version == NULL || set(root, "compiler", byoc_json_string(compiler_version))) &&
            set(root, "targets", targets_json(options->targets)) &&
            set(root, "inputs", tensors_json(program->inputs.data, program->inputs.count)) &&
            set(root, "outputs", tensors_json(program->outputs.data, program->outputs.count)) &&
            (dims.count == 0 || set(root, "dimensions", dimensions_json(&dims))) &&
            set(root, "constants_size_bytes", json_integer((json_int_t)layout->constants_size_bytes)) &&
            (layout->weights.count == 0 || options->weights != BYOC_COMPOSE_WEIGHTS_EXTERNAL ||
             set(root, "weights_file", byoc_json_string(byoc_path_base(options->weights_path)))) &&
            set(root, "constants", constants_json(layout)) &&
            (options->initializer_count == 0 || set(root, "initializers", initializers_json(options, layout))) &&
            set(root, "modules", modules_json(program)) && byoc_compose_set_reports(root, program->module) &&
            byoc_compose_set_runtime_options(root, program) &&
            (program->rank_count == 0 || (set(root, "rank", json_integer(program->rank)) &&
                                          set(root, "rank_count", json_integer(program->rank_count)) &&
                                          set(root, "rank_build", build_json(program->rank_build)))) &&
            (variant_count == 0 || set(root, "variants", texts_json(variants, variant_count))) &&
            (plan_count == 0 || set(root, "thread_plans", numbers_json(plan_threads, plan_count))) &&
            (devices == NULL || set(root, "devices", json_incref(devices))) &&
            set(root, "host", summary_json(program)) &&
            ((!options->profile && !options->trace) ||
             set(root, "steps", byoc_compose_steps_json(program, options->trace))) &&
            (!options->trace || (set(root, "fused", byoc_compose_fused_json(options, BYOC_FUSED_INSIDE)) &&
                                 set(root, "views", byoc_compose_fused_json(options, BYOC_FUSED_VIEW)) &&
                                 set(root, "wholes", byoc_compose_fused_json(options, BYOC_FUSED_WHOLE))));
  if (ok) dumped = byoc_json_dump(root, JSON_COMPACT);
  if (dumped != NULL) *out_text = byoc_copy_string(allocator, dumped);
  if (*out_text == NULL) status = byoc_diag_out_of_memory(diag);
  free(dumped);
  json_decref(root);
  json_decref(devices);
  byoc_arena_deinit(&arena);
  return status;
}
