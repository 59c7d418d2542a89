// Reading QuantizeLinear and DequantizeLinear, for passes.
#ifndef BYOC_CORE_PASS_QUANTISED_H_
#define BYOC_CORE_PASS_QUANTISED_H_

#include "core/ops/write.h"

// What a DequantizeLinear takes or a QuantizeLinear makes: real = (bytes - zero) * scale, scale in f32.
typedef struct byoc_quantised_t {
  byoc_value_t *bytes;        // i8 or u8
  byoc_value_t *scale, *zero; // zero may be NULL: 0
  int32_t axis;               // that the scales run along; -1: one scale for all
} byoc_quantised_t;

// Reads the DequantizeLinear that makes `value`, in that block. False for another producer, other element types,
// unknown ranks and scales of blocks.
bool byoc_quantised_read(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out);
// The same of a QuantizeLinear.
bool byoc_quantised_of(const byoc_node_t *quantise, byoc_quantised_t *out);
bool byoc_quantised_same(const byoc_quantised_t *a, const byoc_quantised_t *b);
// One scale for all, a constant above zero: larger bytes are larger numbers.
bool byoc_quantised_rises(const byoc_quantised_t *quantised);

// The zero point, made up where there is none.
byoc_value_t *byoc_quantised_zero(byoc_writer_t *w, const byoc_quantised_t *quantised);
// The product of two scales, of which the first is one for all; a constant where both are.
byoc_value_t *byoc_quantised_product(byoc_writer_t *w, byoc_value_t *a, byoc_value_t *b);

#endif // BYOC_CORE_PASS_QUANTISED_H_
