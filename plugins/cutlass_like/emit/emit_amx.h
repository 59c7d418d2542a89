// SPDX-License-Identifier: Apache-2.0
// emit_amx.h - the parts of products of words that use the tiles of AMX (templates/amx).
//
// Example:
//   byoc_cutlass_names_t names = {0};
//   if (problem.words.amx) byoc_cutlass_amx_emit(text, &names, &problem);
#ifndef BYOC_CUTLASS_EMIT_AMX_H_
#define BYOC_CUTLASS_EMIT_AMX_H_

#include "emit/emit.h"

// Shapes of the tiles, and a step of a block.
void byoc_cutlass_amx_emit(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                           const byoc_cutlass_problem_t *problem);

// The product of a matrix, after that.
void byoc_cutlass_amx_emit_gemm(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_EMIT_AMX_H_
