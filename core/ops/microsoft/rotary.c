// SPDX-License-Identifier: Apache-2.0
// com.microsoft: RotaryEmbedding, and MRotaryEmbedding, which has positions in time, height and width for models of
// images and text (Qwen 2 VL and later). Both become RotaryEmbedding of ai.onnx.
#include "core/ops/microsoft/common.h"

static bool is_position(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// ---- RotaryEmbedding ----

// Operands: x, positions, cosines, sines. The number of heads follows from the angles if it is not given.
static int64_t rotary_heads(const byoc_node_t *node) {
  const byoc_type_t *x = byoc_operand_type(node, 0), *angles = byoc_operand_type(node, 2);
  const int64_t heads = byoc_node_int(node, "num_heads");
  if (heads > 0 || x->rank == 4) return heads;
  if (!byoc_dim_is_constant(x->dims[2]) || !byoc_dim_is_constant(angles->dims[1])) return 0;
  if (angles->dims[1].constant < 1 || angles->dims[1].constant > INT32_MAX) return 0;
  return x->dims[2].constant / (2 * angles->dims[1].constant);
}

// Each element has a position or, where there is one for all, that of the first element of every sequence.
static byoc_status_t need_positions(const byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *places = byoc_operand_type(infer->node, 1);
  const byoc_side_t angles = byoc_side_of(infer, 2, 0);
  if (!byoc_is_ranked(places) || places->rank != 1) return byoc_infer_need_indices(infer, 1, "the positions", angles);
  bool failed = false;
  const byoc_dim_t last = byoc_infer_dim(infer, BYOC_DIM_SUB, angles.dim, x->dims[x->rank - 2], &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_need_within(infer, 1, "the first position", byoc_side(last, "the last one that fits"));
}

// Everything but the shape of the positions.
static byoc_status_t need_rotary(const byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 0, 3, 4));
  for (uint32_t i = 2; i < 4; ++i) BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 2, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_position, "positions of i64"));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "is_packed_batching", 0));
  if (byoc_node_float(node, "scale") != 1.0) return byoc_infer_unsupported(infer, "attribute 'scale' is not supported");
  const byoc_type_t *x = byoc_operand_type(node, 0), *angles = byoc_operand_type(node, 2);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 3, 2, angles->dims));
  const int64_t heads = rotary_heads(node), rotated = byoc_node_int(node, "rotary_embedding_dim");
  if (x->rank == 3 && heads < 1) return byoc_infer_unsupported(infer, "the number of heads must be known");
  if (rotated < 0 || rotated > INT32_MAX || rotated % 2 != 0) {
    return byoc_infer_error(infer, "attribute 'rotary_embedding_dim': expected an even number, got %lld",
                            (long long)rotated);
  }
  const byoc_dim_t size = x->rank == 4 ? x->dims[3] : x->dims[2];
  if (!byoc_dim_is_constant(size)) return byoc_infer_unsupported(infer, "the size of heads must be known");
  if (x->rank == 3 && size.constant % heads != 0) {
    return byoc_infer_error(infer, "the hidden size %lld does not divide into %lld heads", (long long)size.constant,
                            (long long)heads);
  }
  const int64_t part = rotated > 0 ? rotated : x->rank == 4 ? size.constant : size.constant / heads;
  if (part % 2 != 0 || part > (x->rank == 4 ? size.constant : size.constant / heads)) {
    return byoc_infer_error(infer, "%lld elements of a head cannot be rotated", (long long)part);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, 1, byoc_dim_constant(part / 2)));
  BYOC_RETURN_IF_ERROR(need_positions(infer));
  return byoc_infer_need_some(infer, 2, 0, x->dims[x->rank - 2]);
}

static byoc_status_t infer_rotary(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, 2));
  BYOC_RETURN_IF_ERROR(need_rotary(infer));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *places = byoc_operand_type(infer->node, 1);
  if (!byoc_is_ranked(places)) return byoc_infer_unsupported(infer, "operand 1: its rank must be known");
  const byoc_dim_t wanted[2] = {x->dims[0], x->dims[x->rank - 2]}, one = byoc_dim_constant(1);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 1, places->rank, places->rank == 1 ? &one : wanted));
  return byoc_infer_same(infer);
}

// RotaryEmbedding of ai.onnx; without `places`, the angles are those of each element already.
static byoc_status_t write_rotary(byoc_writer_t *w, byoc_value_t *cosines, byoc_value_t *sines, byoc_value_t *places,
                                  bool *out_changed) {
  const byoc_node_t *node = w->node;
  byoc_value_t *x = node->operands[0], *operands[] = {x, cosines, sines, places};
  const byoc_attribute_t attributes[] = {
      byoc_write_int("interleaved", byoc_node_flag(node, "interleaved")),
      byoc_write_int("rotary_embedding_dim", byoc_node_int(node, "rotary_embedding_dim")),
      byoc_write_int("num_heads", rotary_heads(node))};
  if (!cosines || !sines) w->failed = true;
  byoc_node_t *made =
      byoc_write_many(w, "", "RotaryEmbedding", operands, places ? 4 : 3, 1, attributes, x->type->rank == 3 ? 3 : 2);
  return byoc_write_end(w, made ? made->results[0] : NULL, out_changed);
}

static byoc_status_t expand_rotary(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0], *places = node->operands[1];
  const byoc_attribute_t axis = byoc_write_int("axis", 0);
  if (places->type->rank == 1) { // the position of the first element of every sequence
    byoc_value_t *length = byoc_microsoft_size(&w, x, x->type->rank - 2), *batch = byoc_microsoft_size(&w, x, 0);
    places = byoc_write_plain(&w, "Add", places, byoc_microsoft_count(&w, length));
    const int64_t first = 0;
    byoc_value_t *sizes[2] = {byoc_microsoft_unsqueeze(&w, batch, &first, 1),
                              byoc_microsoft_unsqueeze(&w, length, &first, 1)};
    byoc_value_t *shape = byoc_write_node(&w, "", "Concat", sizes[0], sizes[1], NULL, &axis, 1);
    places = byoc_write_plain(&w, "Expand", places, shape);
  }
  w.failed |= !places;
  return write_rotary(&w, node->operands[2], node->operands[3], places, out_changed);
}

// ---- MRotaryEmbedding ----

enum { STREAMS = 3 }; // positions in time, height and width

static byoc_status_t infer_sections(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  size_t count = 0;
  const int64_t *sections = byoc_node_ints(node, "mrope_section", &count), layout = byoc_node_int(node, "mrope_layout");
  BYOC_RETURN_IF_ERROR(need_rotary(infer));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  const byoc_dim_t angles = byoc_operand_type(node, 2)->dims[1];
  const byoc_dim_t wanted[3] = {byoc_dim_constant(STREAMS), x->dims[0], x->dims[x->rank - 2]};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 1, 3, wanted));
  if (layout != 0 && layout != 1) {
    return byoc_infer_error(infer, "attribute 'mrope_layout': expected 0 or 1, got %lld", (long long)layout);
  }
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool fits = sections[i] >= 0 && sections[i] <= angles.constant;
    if (!fits) return byoc_infer_error(infer, "attribute 'mrope_section' has a wrong number");
    sum += sections[i];
  }
  if (count != STREAMS || sum != angles.constant) {
    return byoc_infer_error(infer, "attribute 'mrope_section': expected 3 numbers whose sum is %lld",
                            (long long)angles.constant);
  }
  return byoc_infer_same(infer);
}

// The stream of positions for angle `at`: sections one after the other, or interleaved.
static int64_t stream_of(const byoc_node_t *node, int64_t at) {
  size_t count = 0;
  const int64_t *sections = byoc_node_ints(node, "mrope_section", &count);
  if (byoc_node_int(node, "mrope_layout") == 0) return at < sections[0] ? 0 : at < sections[0] + sections[1] ? 1 : 2;
  return at % STREAMS != 0 && at < sections[at % STREAMS] * STREAMS ? at % STREAMS : 0;
}

// [batch, length, angles]: of each angle the row of the table that its stream's position names.
static byoc_value_t *write_angles(byoc_writer_t *w, byoc_value_t *table, byoc_value_t *mask) {
  static const int64_t first = 0;
  const byoc_attribute_t drop = byoc_write_int("keepdims", 0);
  byoc_value_t *rows = byoc_write_plain(w, "Gather", table, w->node->operands[1]);
  rows = byoc_write_plain(w, "Mul", rows, byoc_write_cast(w, mask, table->type->dtype));
  return byoc_write_node(w, "", "ReduceSum", rows, byoc_write_vector(w, "axis", BYOC_DTYPE_I64, 1, &first), NULL, &drop,
                         1);
}

static byoc_status_t expand_sections(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t angles = node->operands[2]->type->dims[1].constant, dims[] = {STREAMS, 1, 1, angles};
  float *chosen = BYOC_ARENA_ARRAY(&node->function->module->arena, float, (size_t)(STREAMS * angles));
  if (!chosen) return byoc_diag_out_of_memory(diag);
  for (int64_t i = 0; i < STREAMS * angles; ++i) chosen[i] = stream_of(node, i % angles) == i / angles ? 1 : 0;
  byoc_value_t *mask =
      byoc_write_reshape(&w, byoc_write_vector(&w, "streams", BYOC_DTYPE_F32, STREAMS * angles, chosen), dims, 4);
  byoc_value_t *cosines = write_angles(&w, node->operands[2], mask), *sines = write_angles(&w, node->operands[3], mask);
  return write_rotary(&w, cosines, sines, NULL, out_changed);
}

// ---- the table ----

#define ROTARY_ATTRIBUTES                                                                                              \
  {BYOC_ATTR_INT("interleaved", 0)}, {BYOC_ATTR_INT("num_heads", 0)}, {BYOC_ATTR_INT("rotary_embedding_dim", 0)},      \
      {BYOC_ATTR_INT("is_packed_batching", 0)}, {                                                                      \
    BYOC_ATTR_FLOAT("scale", 1.0)                                                                                      \
  }

static const byoc_op_attribute_t rotary_attributes[] = {ROTARY_ATTRIBUTES, BYOC_ATTR_END};
static const byoc_op_attribute_t section_attributes[] = {
    ROTARY_ATTRIBUTES, {BYOC_ATTR_INT("mrope_layout", 0)}, {BYOC_ATTR_REQUIRED(INTS, "mrope_section")}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_rotary[] = {
    BYOC_MICROSOFT_ROW("RotaryEmbedding", 4, 4, 1, rotary_attributes, rotary),
    BYOC_MICROSOFT_ROW("MRotaryEmbedding", 4, 4, 1, section_attributes, sections),
};
const size_t byoc_ops_microsoft_rotary_count = sizeof byoc_ops_microsoft_rotary / sizeof *byoc_ops_microsoft_rotary;
