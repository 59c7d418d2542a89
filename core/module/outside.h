// SPDX-License-Identifier: Apache-2.0
// Shared libraries that stay outside of artifacts: found by name, checked for the symbols that a module lists.
#ifndef BYOC_CORE_MODULE_OUTSIDE_H_
#define BYOC_CORE_MODULE_OUTSIDE_H_

#include "core/module/runtime_module.h"

// Do the module's symbols come from shared libraries? Nothing can change their names.
bool byoc_runtime_module_is_outside(const byoc_runtime_module_t *module);
// Checks that each shared library that the module needs is in one of its folders, or where linkers look, and has that
// name; and, if the module is outside, that one of them defines each listed symbol. BYOC_NOT_FOUND for a library that
// is not there, BYOC_INVALID_DATA otherwise.
byoc_status_t byoc_runtime_module_check_outside(const byoc_runtime_module_t *module, byoc_diag_t *diag);

#endif // BYOC_CORE_MODULE_OUTSIDE_H_
