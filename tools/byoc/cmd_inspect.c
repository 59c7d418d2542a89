// SPDX-License-Identifier: Apache-2.0
// byoc inspect: what is inside an artifact or a model.
#include <stdio.h>
#include <string.h>

#include "artifact.h"
#include "command.h"
#include "core/ir/attribute_names.h"
#include "core/ir/dim_names.h"
#include "core/loader/artifact_file.h"
#include "inspect_artifact.h"
#include "inspect_coverage.h"
#include "session.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

typedef struct inspect_options_t {
  byoc_session_options_t session;
  const char *file;
  byoc_inspect_place_t place;
  byoc_inspect_view_t view;
  bool coverage;
} inspect_options_t;

typedef struct operator_count_t {
  byoc_map_t counts; // text map: operator → count as a pointer-sized integer
  bool failed;
} operator_count_t;

static bool count_operator(void *self, byoc_node_t *node) {
  operator_count_t *counter = self;
  char name[128];
  snprintf(name, sizeof(name), "%s%s%s", node->domain, node->domain[0] ? "::" : "", node->op);
  uintptr_t count = (uintptr_t)byoc_string_map_get(&counter->counts, name) + 1;
  counter->failed = !byoc_string_map_put(&counter->counts, name, (void *)count);
  return !counter->failed;
}

static json_t *value_to_json(const char *name, const byoc_type_t *type, const byoc_dim_names_t *dims) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_type_print_named(type, dims, &text);
  json_t *object = json_object();
  json_object_set_new(object, "name", byoc_json_string(name));
  json_object_set_new(object, "type", byoc_json_string(text.data));
  byoc_string_deinit(&text);
  return object;
}

static json_t *model_to_json(const byoc_graph_module_t *module, const byoc_function_t *main, const byoc_map_t *counts,
                             const byoc_dim_names_t *dims) {
  json_t *inputs = json_array(), *outputs = json_array(), *operators = json_object();
  const byoc_block_t *body = main->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    json_array_append_new(inputs, value_to_json(body->parameters.data[i]->name, body->parameters.data[i]->type, dims));
  }
  for (size_t i = 0; i < body->results.count; ++i) {
    json_array_append_new(outputs, value_to_json(body->result_names.data[i], body->results.data[i]->type, dims));
  }
  for (size_t i = 0; i < counts->count; ++i) {
    json_object_set_new(operators, counts->entries[i].text,
                        json_integer((json_int_t)(uintptr_t)counts->entries[i].value));
  }
  size_t bytes = 0;
  for (size_t i = 0; i < module->constants.count; ++i) bytes += module->constants.data[i]->size_bytes;
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "kind", "model", "model",
                   byoc_json_string(byoc_attributes_string(&module->attributes, BYOC_ATTRIBUTE_MODEL, main->name)),
                   "inputs", inputs, "outputs", outputs, "operators", operators, "constants",
                   (json_int_t)module->constants.count, "constants_size_bytes", (json_int_t)bytes);
}

static void print_model(json_t *model) {
  const char *name = NULL;
  size_t index = 0;
  json_t *entry = NULL;
  byoc_print("model %s\n", json_string_value(json_object_get(model, "model")));
  json_array_foreach(json_object_get(model, "inputs"), index, entry) {
    byoc_print("input  %s : %s\n", json_string_value(json_object_get(entry, "name")),
               json_string_value(json_object_get(entry, "type")));
  }
  json_array_foreach(json_object_get(model, "outputs"), index, entry) {
    byoc_print("output %s : %s\n", json_string_value(json_object_get(entry, "name")),
               json_string_value(json_object_get(entry, "type")));
  }
  const json_int_t constants = json_integer_value(json_object_get(model, "constants"));
  printf("%lld constant%s, %lld bytes\noperators:\n", (long long)constants, byoc_plural((uint64_t)constants),
         (long long)json_integer_value(json_object_get(model, "constants_size_bytes")));
  json_object_foreach(json_object_get(model, "operators"), name, entry) {
    byoc_print("  %-24s %lld\n", name, (long long)json_integer_value(entry));
  }
}

static byoc_status_t inspect_model(byoc_session_t *session, const inspect_options_t *options, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_session_open(&options->session, diag, session));
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(session, options->file, diag));
  if (session->setup.build.result.program != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is a host program in text form: read it directly",
                           options->file);
  }
  const byoc_function_t *main = byoc_graph_module_main(session->setup.build.module);
  if (main == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the module has no function");
  operator_count_t counter = {.failed = false};
  byoc_string_map_init(&counter.counts, session->allocator);
  byoc_block_walk(main->body, count_operator, &counter);
  byoc_dim_names_t dims;
  byoc_graph_module_t *module = session->setup.build.module;
  const bool ok = !counter.failed && byoc_function_dim_names(main, &module->arena, &dims);
  json_t *model = ok ? model_to_json(module, main, &counter.counts, &dims) : NULL;
  byoc_map_deinit(&counter.counts);
  if (options->view.as_json || model == NULL) return byoc_json_print(model, diag);
  print_model(model);
  json_decref(model);
  return BYOC_OK;
}

int byoc_main_inspect(int argc, char **argv) {
  inspect_options_t options = {0};
  const byoc_option_row_t rows[] = {
      {"json", 0, BYOC_OPT_FLAG, &options.view.as_json, "", "as JSON"},
      BYOC_ENTRY_ROW(options.place.entry, "show this one"),
      {"level", 0, BYOC_OPT_STRING, &options.place.level, "NAME",
       "the ISA level to show, in an artifact for several (default: the best for this processor)"},
      {"report", 0, BYOC_OPT_STRING, &options.view.report, "NAME", "print the reports of a backend with this name"},
      {"dim", 0, BYOC_OPT_LIST, &options.session.dims, "NAME=VALUE", "give a symbolic dimension its value"},
      {"coverage", 0, BYOC_OPT_FLAG, &options.coverage, "",
       "list the operators of an ONNX model, and the missing ones"},
      {"plugin", 0, BYOC_OPT_LIST, &options.session.plugins, "FILE", "load this plugin too"},
  };
  static const char *const operands[] = {"an artifact (.so) or a model (.onnx)", NULL};
  const byoc_usage_t usage = {
      .command = "byoc inspect",
      .synopsis =
          "ARTIFACT|MODEL [--json] [--report NAME] [--entry NAME] [--level NAME] [--dim NAME=VALUE] [--coverage] "
          "[--plugin FILE]",
      .summary = "show the contents of an artifact or a model",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  bool done = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.file, &done);
  if (status == BYOC_OK && !done) {
    bool is_artifact = byoc_artifact_is_meant(options.file);
    if (is_artifact && options.session.dims.count > 0) {
      status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "--dim is for models; this is an artifact");
    }
    const char *const place = options.place.entry != NULL   ? "entry"
                              : options.place.level != NULL ? "level"
                              : options.view.report != NULL ? "report"
                                                            : NULL;
    if (!is_artifact && place != NULL) {
      status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "--%s is for artifacts; this is a model", place);
    }
    if (is_artifact && options.coverage) {
      status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "--coverage is for models; this is an artifact");
    }
    if (status == BYOC_OK && is_artifact) {
      status = byoc_inspect_artifact(options.file, &options.place, &options.view, &diag);
    } else if (status == BYOC_OK && options.coverage) {
      status = byoc_inspect_coverage(&session, &options.session, options.file, options.view.as_json, &diag);
    } else if (status == BYOC_OK) {
      status = inspect_model(&session, &options, &diag);
    }
    byoc_session_close(&session);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
