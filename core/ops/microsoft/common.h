// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of com.microsoft, which ONNX Runtime's optimiser, its quantiser and exporters of language
// models write. Each is expanded into operators of ai.onnx (the traits FUSED, UNIT and SPELLING say when).
#ifndef BYOC_CORE_OPS_MICROSOFT_COMMON_H_
#define BYOC_CORE_OPS_MICROSOFT_COMMON_H_

#include "core/op/util.h"
#include "core/op/write.h"

// A row of the table; infer_<function> and expand_<function> are its functions.
#define BYOC_EXPANDED_ROW(in_domain, Name, trait, least, most, results, schema, function, kind, at)                    \
  {                                                                                                                    \
    .domain = in_domain, .name = Name, .since_version = 1, .min_inputs = least, .max_inputs = most, .min_outputs = 1,  \
    .max_outputs = results, .traits = (trait) | BYOC_OP_LIMITS, .work = BYOC_WORK_##kind, .factor = at,                \
    .attributes = schema, .infer = infer_##function, .expand = expand_##function                                       \
  }
#define BYOC_FUSED_ROW(in_domain, Name, least, most, results, schema, function)                                        \
  BYOC_EXPANDED_ROW(in_domain, Name, BYOC_OP_FUSED, least, most, results, schema, function, USUAL, 0)
#define BYOC_MICROSOFT_ROW(Name, least, most, results, schema, function)                                               \
  BYOC_FUSED_ROW("com.microsoft", Name, least, most, results, schema, function)
// The same for products, convolutions and attention: BYOC_WORK_* and the row's `factor`.
#define BYOC_MICROSOFT_WORK_ROW(Name, least, most, results, schema, function, kind, at)                                \
  BYOC_EXPANDED_ROW("com.microsoft", Name, BYOC_OP_FUSED, least, most, results, schema, function, kind, at)
// Another spelling of an operator of ai.onnx.
#define BYOC_SPELLING_ROW(Name, least, most, results, schema, function)                                                \
  BYOC_EXPANDED_ROW("com.microsoft", Name, BYOC_OP_SPELLING, least, most, results, schema, function, USUAL, 0)

// A row of a quantised operator of one result, which is only expanded if no backend took it.
#define BYOC_UNIT_ROW_OF(in_domain, Name, least, most, more_traits, schema, function, axes_function, kind, at)         \
  {                                                                                                                    \
    .domain = in_domain, .name = Name, .since_version = 1, .min_inputs = least, .max_inputs = most, .min_outputs = 1,  \
    .max_outputs = 1, .traits = BYOC_OP_UNIT | BYOC_OP_LIMITS | (more_traits), .work = BYOC_WORK_##kind, .factor = at, \
    .attributes = schema, .infer = infer_##function, .expand = expand_##function, .axes = axes_function                \
  }
// The unit of com.microsoft for bytes, and that of byoc for integers of 16 bits.
#define BYOC_UNIT_ROWS(Name, least, most, more_traits, schema, function, axes_function)                                \
  BYOC_UNIT_ROW_OF("com.microsoft", Name, least, most, more_traits, schema, function, axes_function, USUAL, 0),        \
      BYOC_UNIT_ROW_OF("byoc", Name, least, most, more_traits, schema, function, axes_function, USUAL, 0)

static inline byoc_value_t *byoc_operand(const byoc_node_t *node, uint32_t index) {
  return byoc_has_operand(node, index) ? node->operands[index] : NULL;
}
// A number of the element type of `like`.
byoc_value_t *byoc_microsoft_number(byoc_writer_t *w, const byoc_value_t *like, double value);
// A vector of one i64.
byoc_value_t *byoc_microsoft_integer(byoc_writer_t *w, int64_t value);
// x + bias; x if there is none.
byoc_value_t *byoc_microsoft_add(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *bias);
// A scalar of i64: dimension d of x.
byoc_value_t *byoc_microsoft_size(byoc_writer_t *w, byoc_value_t *x, int32_t d);
byoc_value_t *byoc_microsoft_unsqueeze(byoc_writer_t *w, byoc_value_t *x, const int64_t *axes, int64_t count);
// 0, 1, ... up to a scalar of i64.
byoc_value_t *byoc_microsoft_count(byoc_writer_t *w, byoc_value_t *end);
// The three parts of x along its last dimension.
void byoc_microsoft_split(byoc_writer_t *w, byoc_value_t *x, const int64_t sizes[3], byoc_value_t *out[3]);
// Replaces a result other than the first by the value, if the node has that result.
void byoc_microsoft_replace(byoc_writer_t *w, uint32_t result, byoc_value_t *value);

// Refuses values of an integer attribute other than `only`.
byoc_status_t byoc_microsoft_need_int(const byoc_infer_t *infer, const char *name, int64_t only);
// Refuses operands that are given.
byoc_status_t byoc_microsoft_need_absent(const byoc_infer_t *infer, uint32_t index, const char *what);
// Operand `index` must be one of floats, of the element type of operand 0, if it is given.
byoc_status_t byoc_microsoft_need_float(const byoc_infer_t *infer, uint32_t index);
// The same, and its rank must be known and lie in [least, most].
byoc_status_t byoc_microsoft_need_ranked(const byoc_infer_t *infer, uint32_t index, int32_t least, int32_t most);
// Result 0 has the shape to which `count` operands broadcast.
byoc_status_t byoc_microsoft_broadcast(const byoc_infer_t *infer, const uint32_t *indices, size_t count,
                                       byoc_dtype_t dtype);
// Inference of FusedConv (core/ops/microsoft/product.c).
byoc_status_t byoc_microsoft_infer_fused_conv(byoc_infer_t *infer);

#endif // BYOC_CORE_OPS_MICROSOFT_COMMON_H_
