// SPDX-License-Identifier: Apache-2.0
// Calls C functions by signature, through libffi. The evaluator uses it for functions that a compiled artifact calls
// directly.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_C_INTERFACE_H_
#define BYOC_CORE_HOSTIR_PROGRAM_C_INTERFACE_H_

#include "byoc/call.h"
#include "core/hostir/program/program.h"

typedef struct byoc_c_interface_t byoc_c_interface_t;

// `call` (verified) and the function at `address` must outlive the interface.
byoc_status_t byoc_c_interface_create(const byoc_c_call_t *call, void *address, byoc_allocator_t allocator,
                                      byoc_diag_t *diag, byoc_c_interface_t **out_interface);
void byoc_c_interface_destroy(byoc_c_interface_t *c_interface); // accepts NULL
// Runs the call, with all its repetitions, on the buffers of `instruction` at `addresses` (by buffer index), on behalf
// of `runtime`. Returns the status of the function, or BYOC_OK if it returns none.
byoc_status_t byoc_c_interface_call(byoc_c_interface_t *c_interface, const byoc_runtime_t *runtime,
                                    uint8_t *const *addresses, const byoc_host_instruction_t *instruction);

#endif // BYOC_CORE_HOSTIR_PROGRAM_C_INTERFACE_H_
