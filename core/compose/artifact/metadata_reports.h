// SPDX-License-Identifier: Apache-2.0
// What backends say for people in the metadata of an artifact: reports, and run-time options.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_METADATA_REPORTS_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_METADATA_REPORTS_H_

#include <jansson.h>

#include "core/hostir/program/program.h"
#include "core/module/runtime_module.h"

// Sets "reports" of `root` to the reports of a graph module, in the order in which the hooks added them: "report" (its
// name), "kind" ("text", "json", "html"), "target", "function" and "operators" of one about a function, and "text".
// Nothing is set if there are none, or if `graph` is NULL. False if out of memory.
bool byoc_compose_set_reports(json_t *root, const byoc_graph_module_t *graph);
// Sets "runtime_options" to those of the program's engines and devices: "owner", and what byoc_runtime_options_json has
// of each. Nothing is set if there are none. False if out of memory.
bool byoc_compose_set_runtime_options(json_t *root, const byoc_host_program_t *program);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_METADATA_REPORTS_H_
