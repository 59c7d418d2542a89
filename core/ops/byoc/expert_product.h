// SPDX-License-Identifier: Apache-2.0
// byoc::ExpertMatMul: each row times the matrix of its expert, as mixtures of experts need it.
//
// Its operands are x [T, K], the experts of the R rows of the result, i64[R], where row r multiplies row r / (R / T) of
// x, and the matrices of E experts: f16, bf16 or f32 [E, K, N], of the element type of x. Or they are packed, with the
// attribute `bits` (2, 4 or 8):
//   words   i32[E, K / P, N]: element k of a column is in word k / P, lowest bits first, where P = 32 / bits
//   scales  f32[E, B, N]: one for each block of K / B elements of a column
//   zeros   f32[E, B, N]; without: attribute `zero`
// Elements are (value - zero) * scale then. The words stay packed until they are multiplied.
#ifndef BYOC_CORE_OPS_BYOC_EXPERT_PRODUCT_H_
#define BYOC_CORE_OPS_BYOC_EXPERT_PRODUCT_H_

enum {
  BYOC_EXPERT_X,
  BYOC_EXPERT_OF_ROW,
  BYOC_EXPERT_MATRICES,
  BYOC_EXPERT_SCALES,
  BYOC_EXPERT_ZEROS,
  BYOC_EXPERT_OPERANDS
};

#endif // BYOC_CORE_OPS_BYOC_EXPERT_PRODUCT_H_
