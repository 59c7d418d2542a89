// SPDX-License-Identifier: Apache-2.0
// Operators that mean the same on quantised integers as on the floats that these stand for. Internal to core/pass.
#ifndef BYOC_CORE_PASS_QUANTISED_MOVES_H_
#define BYOC_CORE_PASS_QUANTISED_MOVES_H_

#include "core/pass/quantised.h"

typedef enum byoc_quantised_move_t {
  BYOC_MOVE_NONE,
  BYOC_MOVE_DATA, // elements change their place only: Transpose, Reshape, Slice, Gather, Concat, Split, Pad, ...
  BYOC_MOVE_MOST, // MaxPool: the order of the elements decides
  BYOC_MOVE_CUT,  // Relu and Clip
  BYOC_MOVE_CAST, // from one type of floats to another
} byoc_quantised_move_t;
byoc_quantised_move_t byoc_quantised_move(const byoc_node_t *node);

// The axis of a result that has the indices of `axis` of operand 0; false if there is none, or if it is not known.
bool byoc_quantised_move_axis(const byoc_node_t *node, int32_t axis, int32_t *out_axis);

// The smallest and the largest number of a quantised type.
void byoc_quantised_range(byoc_dtype_t dtype, int64_t *out_least, int64_t *out_most);
// A number as QuantizeLinear rounds it; false if the scale and the zero point are not one constant each. *out_is_exact
// says that DequantizeLinear gives the number back.
bool byoc_quantised_number(const byoc_quantised_t *to, double number, int64_t *out_number, bool *out_is_exact);

// The bounds of a Relu or Clip in integers. A bound beyond those of the type becomes that of the type. False if they
// are not known, or if `exactly` is wanted and they lie between two integers.
bool byoc_quantised_bounds(const byoc_node_t *cut, const byoc_quantised_t *to, bool exactly, int64_t out_bounds[2]);
// True if cutting changes no number that QuantizeLinear makes, with one scale for all or one for each index of an axis.
bool byoc_quantised_cut_vanishes(const byoc_node_t *cut, const byoc_quantised_t *to);
// x within the bounds: x itself, Relu(x), or Clip(x, least, most).
byoc_value_t *byoc_write_quantised_cut(byoc_writer_t *w, byoc_value_t *x, const int64_t bounds[2]);

// A copy of the node on integers: `operands` are the node's with the quantised ones replaced. A Pad gets its value from
// `by`. *out_made is NULL if the operator does not take integers, or if the value cannot be said in them.
byoc_status_t byoc_quantised_copy(byoc_writer_t *w, const byoc_node_t *node, byoc_value_t *const *operands,
                                  const byoc_quantised_t *by, bool exactly, byoc_node_t **out_made);

#endif // BYOC_CORE_PASS_QUANTISED_MOVES_H_
