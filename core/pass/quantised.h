// SPDX-License-Identifier: Apache-2.0
// Reading QuantizeLinear and DequantizeLinear, for passes.
#ifndef BYOC_CORE_PASS_QUANTISED_H_
#define BYOC_CORE_PASS_QUANTISED_H_

#include "core/op/write.h"

// The operands of a DequantizeLinear, or the result of a QuantizeLinear: real = (bytes - zero) * scale, scale in f32.
typedef struct byoc_quantised_t {
  byoc_value_t *bytes;        // integers of 8 or 16 bits, or weights of 2 or 4 bits
  byoc_value_t *scale, *zero; // zero may be NULL: 0
  int32_t axis;               // the axis of the scales; -1: one scale for all
} byoc_quantised_t;

// Reads the DequantizeLinear that makes `value`, in that block: integers of 8 or 16 bits, scales and floats of f32.
// False for another producer, other element types, unknown ranks and blockwise scales.
bool byoc_quantised_read(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out);
// The same for a QuantizeLinear.
bool byoc_quantised_of(const byoc_node_t *quantise, byoc_quantised_t *out);
// The same for constants, which may have 2 or 4 bits, too.
bool byoc_quantised_read_weights(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out);
// The same as the first two for scales of any float type, and for floats of any type but f64.
bool byoc_quantised_read_any(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out);
bool byoc_quantised_of_any(const byoc_node_t *quantise, byoc_quantised_t *out);
bool byoc_quantised_same(const byoc_quantised_t *a, const byoc_quantised_t *b);
// True if there is one scale for all, a constant above zero: then larger bytes mean larger numbers.
bool byoc_quantised_rises(const byoc_quantised_t *quantised);

// Have units that are not all of bytes been written out, because no rule took them? Then none is made again.
bool byoc_units_are_written_out(const byoc_graph_module_t *module);

// The zero point; one is made if there is none.
byoc_value_t *byoc_quantised_zero(byoc_writer_t *w, const byoc_quantised_t *quantised);
// The product of two scales, the first of which has one element; it is a constant if both are.
byoc_value_t *byoc_quantised_product(byoc_writer_t *w, byoc_value_t *a, byoc_value_t *b);

#endif // BYOC_CORE_PASS_QUANTISED_H_
