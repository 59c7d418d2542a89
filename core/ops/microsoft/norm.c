// SPDX-License-Identifier: Apache-2.0
// com.microsoft: normalisations of a sum, and of the sum of embeddings. SimplifiedLayerNormalization, which ONNX
// Runtime puts into ai.onnx, is RMSNormalization.
#include <string.h>

#include "core/ops/microsoft/common.h"

static byoc_attribute_t float_attribute(const char *name, double value) {
  return (byoc_attribute_t){.name = name, .kind = BYOC_ATTRIBUTE_FLOAT, .f = value};
}

// The vectors at [first, last] have a number for each element of the last dimension of operand 0.
static byoc_status_t need_last(const byoc_infer_t *infer, uint32_t first, uint32_t last) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  for (uint32_t i = first; i <= last; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, &x->dims[x->rank - 1]));
  }
  return BYOC_OK;
}

// ---- SkipLayerNormalization, SkipSimplifiedLayerNormalization ----

// Operands: x, the summand, weights, and a bias that is added first. SkipLayerNormalization has a shift before the
// bias.
static byoc_status_t infer_skip_operands(byoc_infer_t *infer, uint32_t last_vector) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 0));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, 3));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, 1, x->rank, x->dims));
  BYOC_RETURN_IF_ERROR(need_last(infer, 2, last_vector));
  byoc_dim_t dims[3] = {x->dims[0], x->dims[1], byoc_dim_constant(1)};
  dims[x->rank - 1] = byoc_dim_constant(1);
  for (uint32_t i = 1; i < 3; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, BYOC_DTYPE_F32, x->rank, dims));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 3, x->dtype, x->rank, x->dims));
  return byoc_infer_same(infer);
}

static byoc_status_t infer_skip(byoc_infer_t *infer) {
  return infer_skip_operands(infer, 4);
}

static byoc_status_t infer_skip_simplified(byoc_infer_t *infer) {
  return infer_skip_operands(infer, 3);
}

// LayerNormalization of x over its last dimension. Its statistics become the results 1 and 2, if these are used.
static byoc_value_t *write_layer_norm(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *scale, byoc_value_t *shift,
                                      bool has_statistics) {
  const byoc_attribute_t attributes[] = {byoc_write_int("axis", -1),
                                         float_attribute("epsilon", byoc_node_float(w->node, "epsilon"))};
  byoc_value_t *operands[] = {x, scale, shift};
  const uint32_t results = has_statistics && w->node->result_count > 1 ? 3 : 1;
  if (!x) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, "", "LayerNormalization", operands, shift ? 3 : 2, results, attributes, 2);
  for (uint32_t i = 1; made && i < results; ++i) byoc_microsoft_replace(w, i, made->results[i]);
  return made ? made->results[0] : NULL;
}

static byoc_status_t expand_skip(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *sum = byoc_write_plain(&w, "Add", node->operands[0], node->operands[1]);
  sum = byoc_microsoft_add(&w, sum, byoc_operand(node, 4));
  byoc_microsoft_replace(&w, 3, sum);
  byoc_value_t *y = write_layer_norm(&w, sum, node->operands[2], byoc_operand(node, 3), true);
  return byoc_write_end(&w, y, out_changed);
}

// 1 / sqrt(mean(x²) + epsilon) over the last dimension, in f32.
static byoc_value_t *write_inverse_deviation(byoc_writer_t *w, byoc_value_t *x, int64_t axis) {
  if (w->failed || !x) return NULL;
  int64_t axes[BYOC_MAX_RANK], count = 0;
  for (int64_t d = axis < 0 ? axis + x->type->rank : axis; d < x->type->rank; ++d) axes[count++] = d;
  x = byoc_write_cast(w, x, BYOC_DTYPE_F32);
  x = byoc_write_plain(w, "Mul", x, x);
  x = byoc_write_plain(w, "ReduceMean", x, byoc_write_vector(w, "axes", BYOC_DTYPE_I64, count, axes));
  x = byoc_write_plain(w, "Add", x, byoc_microsoft_number(w, x, byoc_node_float(w->node, "epsilon")));
  return byoc_write_plain(w, "Reciprocal", byoc_write_plain(w, "Sqrt", x, NULL), NULL);
}

static byoc_value_t *write_rms_norm(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *scale, int64_t axis) {
  const byoc_attribute_t attributes[] = {byoc_write_int("axis", axis),
                                         float_attribute("epsilon", byoc_node_float(w->node, "epsilon"))};
  return byoc_write_node(w, "", "RMSNormalization", x, scale, NULL, attributes, 2);
}

static byoc_status_t expand_skip_simplified(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *sum = byoc_write_plain(&w, "Add", node->operands[0], node->operands[1]);
  sum = byoc_microsoft_add(&w, sum, byoc_operand(node, 3));
  byoc_microsoft_replace(&w, 3, sum);
  if (byoc_has_result(node, 1)) {
    const int64_t last = -1;
    byoc_value_t *axes = byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, 1, &last),
                 *wide = byoc_write_cast(&w, sum, BYOC_DTYPE_F32);
    byoc_microsoft_replace(&w, 1, byoc_write_plain(&w, "ReduceMean", wide, axes));
  }
  if (byoc_has_result(node, 2)) byoc_microsoft_replace(&w, 2, write_inverse_deviation(&w, sum, -1));
  return byoc_write_end(&w, write_rms_norm(&w, sum, node->operands[2], -1), out_changed);
}

// ---- SimplifiedLayerNormalization ----

static byoc_status_t infer_simplified(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
  }
  if (byoc_node_int(infer->node, "stash_type") != 0) { // some exporters write 0, "undefined", for the default
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "stash_type", 1));
  }
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *scale = byoc_operand_type(infer->node, 1);
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, 1, x->rank, x->dims));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : byoc_dim_constant(1);
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, BYOC_DTYPE_F32, x->rank, dims));
  return byoc_infer_set(infer, 0, scale->dtype, x->rank, x->dims);
}

// x is normalised in its own type; the result has that of the scale.
static byoc_status_t expand_simplified(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0], *scale = node->operands[1];
  const int64_t axis = byoc_node_int(node, "axis");
  if (byoc_has_result(node, 1)) byoc_microsoft_replace(&w, 1, write_inverse_deviation(&w, x, axis));
  byoc_value_t *y = write_rms_norm(&w, x, byoc_write_cast(&w, scale, x->type->dtype), axis);
  return byoc_write_end(&w, byoc_write_cast(&w, y, scale->type->dtype), out_changed);
}

// ---- EmbedLayerNormalization, QEmbedLayerNormalization ----

enum { WORDS, SEGMENTS, WORD_TABLE, PLACE_TABLE, SEGMENT_TABLE, GAMMA, BETA, MASK, PLACES };
// Of the quantised operator: the scale of operand i, one of the tables or GAMMA or BETA, and its zero point.
enum { TO_SCALE = 6, TO_ZERO = 11, QUANTISED_OPERANDS = 18 };

static bool is_quantised(const byoc_node_t *node) {
  return strcmp(node->op, "QEmbedLayerNormalization") == 0;
}

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

// Words, segments and positions are rows of their tables. Without positions, words are numbered from 0.
static byoc_status_t need_rows(const byoc_infer_t *infer) {
  static const struct {
    uint32_t indices, table;
    const char *name;
  } pairs[] = {
      {WORDS, WORD_TABLE, "the words"}, {SEGMENTS, SEGMENT_TABLE, "the segments"}, {PLACES, PLACE_TABLE, "the places"}};
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
    if (!byoc_has_operand(infer->node, pairs[i].indices)) continue;
    if (!byoc_is_ranked(byoc_operand_type(infer->node, pairs[i].table))) continue;
    BYOC_RETURN_IF_ERROR(
        byoc_infer_need_indices(infer, pairs[i].indices, pairs[i].name, byoc_side_of(infer, pairs[i].table, 0)));
  }
  if (byoc_has_operand(infer->node, PLACES) || !byoc_is_ranked(byoc_operand_type(infer->node, PLACE_TABLE)))
    return BYOC_OK;
  return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_of(infer, WORDS, 1),
                           byoc_side_of(infer, PLACE_TABLE, 0));
}

static byoc_status_t infer_embed(byoc_infer_t *infer) {
  static const uint32_t indices[] = {WORDS, SEGMENTS, MASK, PLACES};
  const byoc_node_t *node = infer->node;
  const byoc_type_t *words = byoc_operand_type(node, WORDS), *table = byoc_operand_type(node, WORD_TABLE);
  for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); ++i) {
    if (indices[i] != WORDS && !byoc_has_operand(node, indices[i])) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, indices[i], is_i32, "a matrix of i32"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, indices[i], 2, 2));
    if (!byoc_is_ranked(words)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
    if (indices[i] == PLACES) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, PLACES, 2, words->dims));
    } else {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, indices[i], 2, words->dims));
    }
  }
  if (byoc_has_operand(node, SEGMENTS) != byoc_has_operand(node, SEGMENT_TABLE)) {
    return byoc_infer_error(infer, "operands 1 and 4, segments and their embeddings, must be given together");
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, WORD_TABLE, byoc_dtype_is_float, "a float matrix"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, WORD_TABLE, 2, 2));
  if (!byoc_is_ranked(table)) return byoc_infer_unsupported(infer, "operand 2: its rank must be known");
  for (uint32_t i = PLACE_TABLE; i <= BETA; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (i == SEGMENT_TABLE && type == NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "floats"));
    if (type->dtype != table->dtype) return byoc_infer_error(infer, "operand %u: expected the type of operand 2", i);
    const bool is_table = i < GAMMA;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, is_table ? 2 : 1, is_table ? 2 : 1));
    if (!byoc_is_ranked(type)) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, is_table ? 1 : 0, table->dims[1]));
    if (is_table) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, i, 0, words->dims[1]));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, WORD_TABLE, 0, words->dims[1]));
  BYOC_RETURN_IF_ERROR(need_rows(infer));
  const byoc_dim_t dims[3] = {words->dims[0], words->dims[1], table->dims[1]};
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, BYOC_DTYPE_I32, 1, dims));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 2, table->dtype, 3, dims));
  return byoc_infer_set(infer, 0, table->dtype, 3, dims);
}

// The same with tables of floats instead of bytes.
static byoc_status_t infer_quantised_embed(byoc_infer_t *infer) {
  byoc_node_t stand_in = *infer->node;
  byoc_value_t *operands[PLACES], values[PLACES];
  byoc_infer_t inner = *infer;
  if (infer->node->operand_count != QUANTISED_OPERANDS) {
    return byoc_infer_error(infer, "expected %d operands, got %u", QUANTISED_OPERANDS, infer->node->operand_count);
  }
  inner.node = &stand_in, stand_in.operands = operands, stand_in.operand_count = PLACES;
  for (uint32_t i = 0; i < PLACES; ++i) {
    operands[i] = infer->node->operands[i];
    if (i < WORD_TABLE || i > BETA || (i == SEGMENT_TABLE && !operands[i])) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_byte, "bytes"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i + TO_SCALE, byoc_dtype_is_float, "a scale"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i + TO_ZERO, byoc_dtype_is_byte, "a zero point"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i + TO_SCALE));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i + TO_ZERO));
    if (byoc_operand_type(infer->node, i + TO_ZERO)->dtype != operands[i]->type->dtype ||
        byoc_operand_type(infer->node, i + TO_SCALE)->dtype != BYOC_DTYPE_F32) {
      return byoc_infer_error(infer, "operand %u: its scale is not f32, or its zero point has another type", i);
    }
    values[i] = *operands[i];
    values[i].type = byoc_type_tensor(infer->arena, BYOC_DTYPE_F32, values[i].type->rank, values[i].type->dims);
    if (!values[i].type) return byoc_diag_out_of_memory(infer->diag);
    operands[i] = &values[i];
  }
  return infer_embed(&inner);
}

// Bytes of operand `index` as the numbers that they stand for; floats stay.
static byoc_value_t *write_numbers(byoc_writer_t *w, byoc_value_t *x, uint32_t index) {
  if (!is_quantised(w->node) || !x) return x;
  return byoc_write_node(w, "", "DequantizeLinear", x, byoc_write_scalar(w, w->node->operands[index + TO_SCALE]),
                         byoc_write_scalar(w, w->node->operands[index + TO_ZERO]), NULL, 0);
}

static byoc_value_t *write_rows(byoc_writer_t *w, uint32_t table, byoc_value_t *indices) {
  return write_numbers(w, byoc_write_plain(w, "Gather", w->node->operands[table], indices), table);
}

// 0, 1, ... up to the length of the sequences.
static byoc_value_t *write_places(byoc_writer_t *w) {
  const int64_t none = 0, one = 1;
  const byoc_attribute_t range[] = {byoc_write_int("start", 1), byoc_write_int("end", 2)};
  byoc_value_t *length = byoc_write_node(w, "", "Shape", w->node->operands[WORDS], NULL, NULL, range, 2);
  byoc_value_t *bounds[] = {byoc_write_vector(w, "from", BYOC_DTYPE_I64, 1, &none), length,
                            byoc_write_vector(w, "step", BYOC_DTYPE_I64, 1, &one)};
  for (int i = 0; i < 3; ++i) bounds[i] = byoc_write_plain(w, "Squeeze", bounds[i], NULL);
  return byoc_write_node(w, "", "Range", bounds[0], bounds[1], bounds[2], NULL, 0);
}

// The number of ones in the mask; zeros without a mask.
static byoc_value_t *write_lengths(byoc_writer_t *w) {
  const byoc_attribute_t keep = byoc_write_int("keepdims", 0);
  const int64_t axis = 1;
  const int32_t one = 1;
  byoc_value_t *mask = byoc_operand(w->node, MASK), *marks = byoc_write_vector(w, "one", BYOC_DTYPE_I32, 1, &one);
  mask = mask ? byoc_write_plain(w, "Equal", mask, marks)
              : byoc_write_plain(w, "IsNaN", byoc_write_cast(w, w->node->operands[WORDS], BYOC_DTYPE_F32), NULL);
  byoc_value_t *axes = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &axis);
  return byoc_write_node(w, "", "ReduceSum", byoc_write_cast(w, mask, BYOC_DTYPE_I32), axes, NULL, &keep, 1);
}

static byoc_status_t expand_embed(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const bool has_places = !is_quantised(node) && byoc_has_operand(node, PLACES);
  byoc_value_t *places = has_places ? node->operands[PLACES] : write_places(&w);
  byoc_value_t *sum = write_rows(&w, WORD_TABLE, node->operands[WORDS]);
  sum = byoc_write_plain(&w, "Add", sum, write_rows(&w, PLACE_TABLE, places));
  if (byoc_has_operand(node, SEGMENTS)) {
    sum = byoc_write_plain(&w, "Add", sum, write_rows(&w, SEGMENT_TABLE, node->operands[SEGMENTS]));
  }
  if (byoc_has_result(node, 1)) byoc_microsoft_replace(&w, 1, write_lengths(&w));
  byoc_microsoft_replace(&w, 2, sum);
  byoc_value_t *gamma = write_numbers(&w, node->operands[GAMMA], GAMMA);
  byoc_value_t *beta = write_numbers(&w, node->operands[BETA], BETA);
  return byoc_write_end(&w, write_layer_norm(&w, sum, gamma, beta, false), out_changed);
}

static byoc_status_t expand_quantised_embed(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_embed(node, diag, out_changed);
}

static const byoc_op_attribute_t skip_attributes[] = {{BYOC_ATTR_FLOAT("epsilon", 1e-12)}, BYOC_ATTR_END};
static const byoc_op_attribute_t embed_attributes[] = {
    {BYOC_ATTR_FLOAT("epsilon", 1e-12)}, {BYOC_ATTR_INT("mask_index_type", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t simplified_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)}, {BYOC_ATTR_FLOAT("epsilon", 1e-5)}, {BYOC_ATTR_INT("stash_type", 1)}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_norm[] = {
    BYOC_MICROSOFT_ROW("SkipLayerNormalization", 3, 5, 4, skip_attributes, skip),
    BYOC_MICROSOFT_ROW("SkipSimplifiedLayerNormalization", 3, 4, 4, skip_attributes, skip_simplified),
    BYOC_MICROSOFT_ROW("EmbedLayerNormalization", 1, 9, 3, embed_attributes, embed),
    BYOC_MICROSOFT_ROW("QEmbedLayerNormalization", 1, 18, 2, skip_attributes, quantised_embed),
    BYOC_FUSED_ROW("", "SimplifiedLayerNormalization", 2, 2, 2, simplified_attributes, simplified),
};
const size_t byoc_ops_microsoft_norm_count = sizeof byoc_ops_microsoft_norm / sizeof *byoc_ops_microsoft_norm;
