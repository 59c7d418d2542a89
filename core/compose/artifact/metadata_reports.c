// SPDX-License-Identifier: Apache-2.0
// Lists the reports of backends in the metadata.
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
