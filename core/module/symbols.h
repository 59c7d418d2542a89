// Which symbols object files define: what a module claims is held against what its objects have.
#ifndef BYOC_CORE_MODULE_SYMBOLS_H_
#define BYOC_CORE_MODULE_SYMBOLS_H_

#include "core/base/file.h"
#include "core/module/runtime_module.h"

// Every listed symbol of the module (and its engine and setup symbols) must be defined globally by one of `objects`:
// ELF objects or archives of them. Says which symbol is missing, and what is there under a near name.
byoc_status_t byoc_runtime_module_check_objects(const byoc_runtime_module_t *module, const byoc_bytes_t *objects,
                                                size_t object_count, byoc_diag_t *diag);

#endif // BYOC_CORE_MODULE_SYMBOLS_H_
