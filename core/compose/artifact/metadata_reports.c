// SPDX-License-Identifier: Apache-2.0
// Lists the reports of backends, and the run-time options of their engines and drivers, in the metadata.
#include "core/compose/artifact/metadata_reports.h"

#include <string.h>

#include "core/base/json.h"

// Appends the report; one that was read from a text and is no object is left out.
static bool add_report(json_t *array, const byoc_runtime_module_t *module) {
  json_error_t error;
  json_t *report = module->json != NULL ? byoc_json_load(module->json, strlen(module->json), 0, &error) : NULL;
  if (report == NULL) return module->json == NULL || !byoc_json_out_of_memory(&error);
  bool ok = true;
  if (json_is_object(report)) {
    ok = json_object_set_new(report, "target", byoc_json_string(module->target)) == 0 &&
         json_array_append(array, report) == 0;
  }
  json_decref(report);
  return ok;
}

bool byoc_compose_set_reports(json_t *root, const byoc_graph_module_t *graph) {
  json_t *array = json_array();
  bool ok = array != NULL;
  for (size_t i = 0; graph != NULL && i < graph->runtime_modules.count && ok; i++) {
    const byoc_runtime_module_t *module = graph->runtime_modules.data[i];
    if (module->kind == BYOC_RUNTIME_MODULE_REPORT) ok = add_report(array, module);
  }
  if (ok && json_array_size(array) > 0) ok = json_object_set(root, "reports", array) == 0;
  json_decref(array);
  return ok;
}

// Appends the module's options, which begin with their owner.
static bool add_options(json_t *array, const byoc_runtime_module_t *module, const char *owner) {
  json_error_t error;
  if (module->runtime_options == NULL) return true;
  json_t *options = byoc_json_load(module->runtime_options, strlen(module->runtime_options), 0, &error);
  if (options == NULL) return !byoc_json_out_of_memory(&error);
  bool ok = true;
  for (size_t i = 0; i < json_array_size(options) && ok; i++) {
    json_t *object = json_object();
    ok = object != NULL && json_object_set_new(object, "owner", byoc_json_string(owner)) == 0 &&
         json_object_update(object, json_array_get(options, i)) == 0 && json_array_append(array, object) == 0;
    json_decref(object);
  }
  json_decref(options);
  return ok;
}

// Has the program a device of this driver?
static bool uses_driver(const byoc_host_program_t *program, const byoc_runtime_module_t *driver) {
  for (size_t i = 0; i < program->devices.count; i++) {
    if (strcmp(program->devices.data[i]->driver, byoc_runtime_module_given_name(driver)) == 0) return true;
  }
  return false;
}

bool byoc_compose_set_runtime_options(json_t *root, const byoc_host_program_t *program) {
  const byoc_graph_module_t *graph = program->module;
  json_t *array = json_array();
  bool ok = array != NULL;
  for (size_t i = 0; i < program->engines.count && ok; i++) {
    const byoc_runtime_module_t *engine = program->engines.data[i].engine;
    ok = add_options(array, engine, engine->name);
  }
  for (size_t i = 0; graph != NULL && i < graph->runtime_modules.count && ok; i++) {
    const byoc_runtime_module_t *driver = graph->runtime_modules.data[i];
    if (driver->kind != BYOC_RUNTIME_MODULE_DRIVER || !uses_driver(program, driver)) continue;
    ok = add_options(array, driver, byoc_runtime_module_given_name(driver));
  }
  if (ok && json_array_size(array) > 0) ok = json_object_set(root, "runtime_options", array) == 0;
  json_decref(array);
  return ok;
}
