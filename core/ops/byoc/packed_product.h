// SPDX-License-Identifier: Apache-2.0
// byoc::PackedMatMul: a product by weights of few bits, which are stored packed and unpacked in registers.
//
// Its operands are x [..., K], the weights, their scales and, if there are any, their zero points:
//   words   i32[T, W, 64]: T tiles of 64 columns (the last one filled up with zeros). Word w of a column holds the
//           elements w * P to w * P + P - 1 of it, lowest bits first, where P = 32 / bits
//   scales  f32[T, B, 64]: one for each block of `block_size` elements of a column
//   zeros   i32[T, ceil(B / P), 64], packed like the weights by blocks, or f32[T, B, 64]; without: attribute `zero`
// With the attribute `rounds`, x is rounded to bytes in blocks of as many elements as the weights have
// (byoc::RoundInBlocks): a backend may sum up bytes then.
// Lanes are columns: a word is loaded once, and each of its elements takes a shift, a mask and a conversion.
#ifndef BYOC_CORE_OPS_BYOC_PACKED_PRODUCT_H_
#define BYOC_CORE_OPS_BYOC_PACKED_PRODUCT_H_

#include "core/op/write.h"

enum { BYOC_PACKED_COLUMNS = 64 };

// Weights as models have them: element (k, n) is (value - zero) * scale of block k / block_size of column n.
typedef struct byoc_packed_source_t {
  const void *self;
  int64_t depth, columns, block_size;
  int32_t bits; // 2, 4 or 8
  int64_t (*value)(const void *self, int64_t k, int64_t n);
  double (*scale)(const void *self, int64_t block, int64_t n);
  int64_t (*zero)(const void *self, int64_t block, int64_t n);     // NULL: none
  double (*real_zero)(const void *self, int64_t block, int64_t n); // NULL: none; not both
  int64_t default_zero;
  bool rounds; // x is rounded to bytes
} byoc_packed_source_t;

// x times the weights as a byoc::PackedMatMul whose constants are made here; x is in f16, bf16 or f32. NULL and
// w->failed if out of memory or if the types do not fit.
byoc_value_t *byoc_write_packed_product(byoc_writer_t *w, byoc_value_t *x, const byoc_packed_source_t *source);

#endif // BYOC_CORE_OPS_BYOC_PACKED_PRODUCT_H_
