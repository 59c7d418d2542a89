// SPDX-License-Identifier: Apache-2.0
// Checks that object files define the symbols that a module lists.
#ifndef BYOC_CORE_MODULE_SYMBOLS_H_
#define BYOC_CORE_MODULE_SYMBOLS_H_

#include "core/base/file.h"
#include "core/module/runtime_module.h"

// Checks that one of `objects` (ELF objects or archives of them) defines globally every listed symbol of the module,
// and its engine and setup symbols. The error names the missing symbol, and mentions if it is local to its file.
byoc_status_t byoc_runtime_module_check_objects(const byoc_runtime_module_t *module, const byoc_bytes_t *objects,
                                                size_t object_count, byoc_diag_t *diag);

#endif // BYOC_CORE_MODULE_SYMBOLS_H_
