// SPDX-License-Identifier: Apache-2.0
// packed.h - rules of a table whose match becomes one call by the packed convention (byoc/call.h): functions that read
// the shapes of each call, for models with dynamic sizes.
#ifndef BYOC_SHIM_PACKED_H_
#define BYOC_SHIM_PACKED_H_

#include "expr.h"

// The function that the rule calls; NULL if the rule has steps instead.
const char *byoc_shim_packed_symbol(const json_t *rule);

// Does the function get constants as operands? If the rule has a value in its pattern that is no operand, it does not:
// that value has to be a constant, which stays inside of the match.
bool byoc_shim_passes_constants(const json_t *rule);

// Checks "packed" and "operands". Returns false with scope->error.
bool byoc_shim_check_packed(byoc_shim_scope_t *scope, const json_t *rule);

// Answers the function by a call of the symbol, or declines it if its parameters do not come in the order of
// "operands".
int32_t byoc_shim_bind_packed(const byoc_shim_scope_t *scope, const json_t *rule, byoc_codegen_t *codegen,
                              byoc_function_t *function);

#endif // BYOC_SHIM_PACKED_H_
