// SPDX-License-Identifier: Apache-2.0
// The run-time options of an engine or a driver: written into its module as JSON, and read back as rows of tables.
#ifndef BYOC_CORE_MODULE_RUNTIME_OPTIONS_H_
#define BYOC_CORE_MODULE_RUNTIME_OPTIONS_H_

#include <jansson.h>

#include "core/module/runtime_module.h"
#include "core/runtime/option.h"

#define BYOC_MOST_RUNTIME_OPTIONS 64

// An array of objects with "name", "type", "default", "help", and "minimum", "maximum" or "choices" where the option
// has them. NULL if out of memory. The options are valid, and their defaults are texts.
json_t *byoc_runtime_options_json(const byoc_option_t *options, size_t count);
// The rows of module->runtime_options, with strings in the arena; none if it is NULL. BYOC_INVALID_DATA if it is not
// what byoc_runtime_options_json makes.
byoc_status_t byoc_runtime_module_read_options(const byoc_runtime_module_t *module, byoc_arena_t *arena,
                                               byoc_diag_t *diag, byoc_runtime_schema_t *out_schema);

#endif // BYOC_CORE_MODULE_RUNTIME_OPTIONS_H_
