// SPDX-License-Identifier: Apache-2.0
// The verifier: checks every rule that passes may rely on. It runs after each pass in debug builds and on every module
// read.
#ifndef BYOC_CORE_IR_VERIFY_MODULE_H_
#define BYOC_CORE_IR_VERIFY_MODULE_H_

#include "core/ir/graph.h"

// Checks: operands are defined before use and visible (same block or an enclosing one of the same function); use lists
// match operands both ways; results have types and point back; names are unique; calls match their callee's signature;
// attributes have values of their kind; virtual devices are consistent; a function with free values is an error; call
// graphs have no cycle and are not too deep. The first violation is reported with function, node and rule.
byoc_status_t byoc_graph_verify(const byoc_graph_module_t *module, byoc_diag_t *diag);
byoc_status_t byoc_function_verify(const byoc_function_t *function, byoc_diag_t *diag);

#endif // BYOC_CORE_IR_VERIFY_MODULE_H_
