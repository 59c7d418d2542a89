// SPDX-License-Identifier: Apache-2.0
// pack_half.h - floats and tensors of f16 and bf16, when a model is built.
//
// Example:
//   byoc_cutlass_pack_weights(&problem, &plan, weights, packed);
//   byoc_cutlass_narrow(problem.types.weights, packed, count, halves);
#ifndef BYOC_CUTLASS_PACK_HALF_H_
#define BYOC_CUTLASS_PACK_HALF_H_

#include "problem/problem.h"

// Rounds to the nearest, ties to even, as the kernels' stores do. `to` may begin where `from` begins.
void byoc_cutlass_narrow(uint32_t type, const float *from, int64_t count, uint16_t *to);

#endif // BYOC_CUTLASS_PACK_HALF_H_
