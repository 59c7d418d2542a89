// SPDX-License-Identifier: Apache-2.0
// Checks which symbols object files define: those that a module lists must be in its objects.
#ifndef BYOC_CORE_MODULE_SYMBOLS_H_
#define BYOC_CORE_MODULE_SYMBOLS_H_

#include "core/base/file.h"
#include "core/module/runtime_module.h"

// Checks that one of `objects` (ELF objects or archives of them) defines globally every listed symbol of the module,
// and its engine and setup symbols. The error names the missing symbol, and says so if it exists but is local to its
// file.
byoc_status_t byoc_runtime_module_check_objects(const byoc_runtime_module_t *module, const byoc_bytes_t *objects,
                                                size_t object_count, byoc_diag_t *diag);

#endif // BYOC_CORE_MODULE_SYMBOLS_H_
