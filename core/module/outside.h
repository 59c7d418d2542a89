// SPDX-License-Identifier: Apache-2.0
// Shared libraries that stay outside of artifacts: finds them by name, and checks them for the symbols that a module
// lists.
#ifndef BYOC_CORE_MODULE_OUTSIDE_H_
#define BYOC_CORE_MODULE_OUTSIDE_H_

#include "core/module/runtime_module.h"

// Do the module's symbols come from shared libraries? Then their names cannot be changed.
bool byoc_runtime_module_is_outside(const byoc_runtime_module_t *module);
// Checks that each shared library that the module needs is in one of its folders or of the linker's, and has that name.
// If the module is outside, one of them must define each listed symbol. BYOC_NOT_FOUND for a missing library,
// BYOC_INVALID_DATA otherwise.
byoc_status_t byoc_runtime_module_check_outside(const byoc_runtime_module_t *module, byoc_diag_t *diag);

#endif // BYOC_CORE_MODULE_OUTSIDE_H_
