// SPDX-License-Identifier: Apache-2.0
// Extents: strings by which a backend gives the size of a launch (byoc_kernel_launch_t of byoc/device_plugin.h).
//
//   ceildiv(p0.0 * p0.1, 64)
#ifndef BYOC_CORE_MODULE_EXTENT_H_
#define BYOC_CORE_MODULE_EXTENT_H_

#include "core/base/diag.h"
#include "core/base/string.h"
#include "core/ir/graph.h"

// Reads an extent of a function. A dimension of an operand or a result becomes a symbol with its name ("p0.1"), which
// each call replaces by its own dimension. Expressions live in `arena`. BYOC_INVALID_ARGUMENT, with the location, if
// the string cannot be read or names a dimension that the function does not have.
byoc_status_t byoc_extent_parse(const char *text, const byoc_function_t *function, byoc_arena_t *arena,
                                byoc_diag_t *diag, byoc_dim_t *out_extent);

// Appends a dimension of a value of the function as an extent. False if it does not follow from the function's operands
// and results, or if the string would be too long.
bool byoc_extent_print(byoc_dim_t dim, const byoc_function_t *function, byoc_string_t *out);

// The dimension of `call`, a call of that function, for a symbol of byoc_extent_parse.
byoc_dim_t byoc_extent_dimension(const char *symbol, const byoc_node_t *call);

#endif // BYOC_CORE_MODULE_EXTENT_H_
