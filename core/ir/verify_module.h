// SPDX-License-Identifier: Apache-2.0
// The verifier: checks every rule that passes may rely on. It runs on every module that is
// read and after each pass that changed something; in debug builds after every pass.
#ifndef BYOC_CORE_IR_VERIFY_MODULE_H_
#define BYOC_CORE_IR_VERIFY_MODULE_H_

#include "core/ir/graph.h"

// Operands must be defined before use and visible: in the same block, or in an enclosing one of the same function. Use
// lists must match operands both ways. Results must have types and point back. Names must be unique, calls must match
// their callee's signature, attributes must have values of their kind, and virtual devices must be consistent. A
// function must not have free values. Call graphs must have no cycle and must not be too deep. The first violation is
// reported with function, node and rule.
byoc_status_t byoc_graph_verify(const byoc_graph_module_t *module, byoc_diag_t *diag);
byoc_status_t byoc_function_verify(const byoc_function_t *function, byoc_diag_t *diag);

#endif // BYOC_CORE_IR_VERIFY_MODULE_H_
