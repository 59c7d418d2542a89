// SPDX-License-Identifier: Apache-2.0
// Compiles the sources of a module: code that its backend announced (byoc_runtime_code_t of byoc/plugin.h).
#ifndef BYOC_CORE_COMPOSE_CC_CODE_H_
#define BYOC_CORE_COMPOSE_CC_CODE_H_

#include "core/compose/cc/compiler.h"
#include "core/module/runtime_module.h"

// Compiles each of module->sources into an object, several at a time; `compiler` as in byoc_compile_job_t. Sources and
// headers of the module include each other by their names. Objects come from the cache if nothing has changed. After an
// error there are none. A header that is missing is reported with a hint.
byoc_status_t byoc_compile_code(const byoc_runtime_module_t *module, const char *compiler, byoc_allocator_t allocator,
                                byoc_diag_t *diag, byoc_bytes_t *out_objects);

#endif // BYOC_CORE_COMPOSE_CC_CODE_H_
