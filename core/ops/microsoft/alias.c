// SPDX-License-Identifier: Apache-2.0
// com.microsoft: operators that ai.onnx took over later, and those that are one of ai.onnx with other operands: Trilu,
// GatherND, GridSample, Pad, Range, Unique, ExpandDims, TorchEmbedding, MatMulInteger16, UnfoldTensor, BiasSoftmax and
// ConvTransposeWithDynamicPads. Exporters of torch and TensorFlow write them.
#include <string.h>

#include "core/ops/microsoft/common.h"

// Infers the node as the operator of ai.onnx does, which has the same operands and attributes.
static byoc_status_t infer_as(byoc_infer_t *infer, const char *op, int32_t version) {
  byoc_node_t stand_in = *infer->node;
  byoc_infer_t inner = *infer;
  inner.node = &stand_in, inner.opset = version, inner.named = infer->named ? infer->named : infer->node;
  stand_in.domain = "", stand_in.op = op, stand_in.since_version = version;
  return byoc_op_find("", op, version)->infer(&inner);
}

static byoc_status_t expand_as(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_node_t *made = byoc_write_many(&w, "", node->op, node->operands, node->operand_count, 1, node->attributes.items,
                                      node->attributes.count);
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

// ---- Trilu, GatherND, GridSample ----

static byoc_status_t infer_trilu(byoc_infer_t *infer) {
  return infer_as(infer, "Trilu", 14);
}

static byoc_status_t expand_trilu(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_as(node, diag, out_changed);
}

static bool is_index(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

static byoc_status_t infer_gather_nd(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *data = byoc_operand_type(node, 0), *places = byoc_operand_type(node, 1);
  byoc_dim_t dims[2 * BYOC_MAX_RANK];
  int32_t rank = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, BYOC_MAX_RANK));
  if (!byoc_is_ranked(data) || !byoc_is_ranked(places)) return byoc_infer_set_unranked(infer, 0, data->dtype);
  const byoc_dim_t depth = places->dims[places->rank - 1];
  if (!byoc_dim_is_constant(depth)) return byoc_infer_unsupported(infer, "the length of indices must be known");
  if (depth.constant < 1 || depth.constant > data->rank) {
    return byoc_infer_error(infer, "operand 1: indices of %lld numbers do not fit rank %d", (long long)depth.constant,
                            (int)data->rank);
  }
  byoc_limit_t limit = {.operand = 1, .name = "the indices", .kind = BYOC_RANGE_INDEX};
  for (int32_t d = 0; d < depth.constant; ++d) limit.extents[limit.count++] = byoc_side_of(infer, 0, d);
  BYOC_RETURN_IF_ERROR(byoc_infer_limit(infer, &limit));
  for (int32_t d = 0; d < places->rank - 1; ++d) dims[rank++] = places->dims[d];
  for (int32_t d = (int32_t)depth.constant; d < data->rank; ++d) dims[rank++] = data->dims[d];
  if (rank > BYOC_MAX_RANK) return byoc_infer_unsupported(infer, "the result has rank %d", (int)rank);
  return byoc_infer_set(infer, 0, data->dtype, rank, dims);
}

static byoc_status_t expand_gather_nd(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *places = byoc_write_cast(&w, node->operands[1], BYOC_DTYPE_I64);
  return byoc_write_end(&w, byoc_write_plain(&w, "GatherND", node->operands[0], places), out_changed);
}

static byoc_status_t infer_grid_sample(byoc_infer_t *infer) {
  return infer_as(infer, "GridSample", 16);
}

// Modes got other names.
static byoc_status_t expand_grid_sample(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const char *const modes[] = {"linear", "nearest", "cubic"};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *mode = modes[byoc_node_choice(node, "mode")];
  const char *padding = paddings[byoc_node_choice(node, "padding_mode")];
  const byoc_attribute_t attributes[] = {
      byoc_write_int("align_corners", byoc_node_int(node, "align_corners")),
      {.name = "mode", .kind = BYOC_ATTRIBUTE_STRING, .s = mode, .count = strlen(mode)},
      {.name = "padding_mode", .kind = BYOC_ATTRIBUTE_STRING, .s = padding, .count = strlen(padding)}};
  return byoc_write_end(
      &w, byoc_write_node(&w, "", "GridSample", node->operands[0], node->operands[1], NULL, attributes, 3),
      out_changed);
}

// ---- Pad, Range, Unique, ExpandDims ----

enum { PADS = 1, FILLER = 2 };

// The pads may be a list, or a table of one row.
static byoc_status_t infer_pad(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, PADS, 1, 2));
  return infer_as(infer, "Pad", 13);
}

static byoc_status_t expand_pad(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t all = -1;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *pads = byoc_write_reshape(&w, node->operands[PADS], &all, 1);
  byoc_value_t *filler = byoc_write_scalar(&w, byoc_operand(node, FILLER));
  return byoc_write_end(
      &w,
      byoc_write_node(&w, "", "Pad", node->operands[0], pads, filler, node->attributes.items, node->attributes.count),
      out_changed);
}

static byoc_status_t infer_range(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a number"));
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
  }
  const bool is_whole = infer->node->operand_count == 3 && byoc_has_operand(infer->node, 2);
  if (is_whole) return infer_as(infer, "Range", 11);
  return byoc_infer_set_unknown(infer, 0, byoc_operand_type(infer->node, 0)->dtype, 1);
}

static byoc_status_t expand_range(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  enum { DELTA = 2 };
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *delta = byoc_operand(node, DELTA);
  if (!delta) delta = byoc_microsoft_number(&w, node->operands[0], 1);
  return byoc_write_end(&w, byoc_write_node(&w, "", "Range", node->operands[0], node->operands[1], delta, NULL, 0),
                        out_changed);
}

static byoc_status_t infer_unique(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  bool failed = false;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 0, 1, 1));
  const byoc_dim_t count = byoc_infer_unknown_dim(infer, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 1, &count));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, BYOC_DTYPE_I64, 1, x->dims));
  return byoc_infer_set(infer, 2, BYOC_DTYPE_I64, 1, &count);
}

static byoc_status_t expand_unique(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  enum { VALUES, FIRST, INVERSE, COUNTS, RESULTS };
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t order = byoc_write_int("sorted", 0);
  byoc_node_t *made = byoc_write_many(&w, "", "Unique", node->operands, 1, RESULTS, &order, 1);
  byoc_microsoft_replace(&w, 1, made ? made->results[INVERSE] : NULL);
  byoc_microsoft_replace(&w, 2, made ? made->results[COUNTS] : NULL);
  return byoc_write_end(&w, made ? made->results[VALUES] : NULL, out_changed);
}

// The axis, which must be constant, of a result with one dimension more.
static byoc_status_t read_new_axis(const byoc_infer_t *infer, int64_t *out) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_ints_t axis;
  if (byoc_read_ints(infer->node, NULL, 1, &axis) != BYOC_KNOWN_YES || axis.count != 1) {
    return byoc_infer_unsupported(infer, "operand 1: the axis must be a constant");
  }
  *out = axis.values[0] < 0 ? axis.values[0] + x->rank + 1 : axis.values[0];
  if (*out >= 0 && *out <= x->rank && x->rank < BYOC_MAX_RANK) return BYOC_OK;
  return byoc_infer_error(infer, "operand 1: %lld is no position for a new dimension in rank %d",
                          (long long)axis.values[0], (int)x->rank);
}

static byoc_status_t infer_expand_dims(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t dims[BYOC_MAX_RANK];
  int64_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(read_new_axis(infer, &axis));
  for (int32_t d = 0; d <= x->rank; ++d) {
    dims[d] = d == axis ? byoc_dim_constant(1) : x->dims[d < axis ? d : d - 1];
  }
  return byoc_infer_set(infer, 0, x->dtype, x->rank + 1, dims);
}

static byoc_status_t expand_expand_dims(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_ints_t axis;
  if (byoc_read_ints(node, NULL, 1, &axis) != BYOC_KNOWN_YES) return BYOC_OK;
  return byoc_write_end(&w, byoc_microsoft_unsqueeze(&w, node->operands[0], axis.values, 1), out_changed);
}

// ---- TorchEmbedding, MatMulInteger16, UnfoldTensor, BiasSoftmax ----

static byoc_status_t infer_embedding(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i64"));
  return infer_as(infer, "Gather", 13);
}

static byoc_status_t expand_embedding(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  return byoc_write_end(&w, byoc_write_plain(&w, "Gather", node->operands[0], node->operands[1]), out_changed);
}

static bool is_short(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I16 || dtype == BYOC_DTYPE_U16;
}

static byoc_dtype_t product_dtype(const byoc_node_t *node) {
  const bool is_signed =
      node->operands[0]->type->dtype == BYOC_DTYPE_I16 || node->operands[1]->type->dtype == BYOC_DTYPE_I16;
  return is_signed ? BYOC_DTYPE_I32 : BYOC_DTYPE_U32;
}

static byoc_status_t infer_product_16(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, is_short, "integers of 16 bits"));
  }
  return byoc_infer_product(infer, 1, product_dtype(infer->node));
}

static byoc_status_t expand_product_16(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_dtype_t dtype = product_dtype(node);
  byoc_value_t *a = byoc_write_cast(&w, node->operands[0], dtype), *b = byoc_write_cast(&w, node->operands[1], dtype);
  return byoc_write_end(&w, byoc_write_plain(&w, "MatMul", a, b), out_changed);
}

enum { MOST_SLICED = 1 << 24 }; // a constant says where each element of the slices comes from

typedef struct unfold_t {
  int64_t axis, size, step, count;
} unfold_t;

static byoc_status_t read_unfold(const byoc_infer_t *infer, unfold_t *u) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  *u = (unfold_t){byoc_node_int(infer->node, "dim"), byoc_node_int(infer->node, "size"),
                  byoc_node_int(infer->node, "step"), 0};
  if (u->axis < 0) u->axis += x->rank;
  if (u->axis < 0 || u->axis >= x->rank || x->rank == BYOC_MAX_RANK) {
    return byoc_infer_error(infer, "attribute 'dim': %lld is no dimension",
                            (long long)byoc_node_int(infer->node, "dim"));
  }
  const byoc_dim_t length = x->dims[u->axis];
  if (!byoc_dim_is_constant(length)) return byoc_infer_unsupported(infer, "dimension %d is open", (int)u->axis);
  if (u->size < 1 || u->step < 1 || u->size > length.constant) {
    return byoc_infer_error(infer, "slices of %lld in steps of %lld do not fit a dimension of %lld", (long long)u->size,
                            (long long)u->step, (long long)length.constant);
  }
  u->count = (length.constant - u->size) / u->step + 1;
  if (u->count <= MOST_SLICED / u->size) return BYOC_OK;
  return byoc_infer_unsupported(infer, "%lld slices of %lld elements are more than is supported", (long long)u->count,
                                (long long)u->size);
}

static byoc_status_t infer_unfold(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t dims[BYOC_MAX_RANK];
  unfold_t u;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  BYOC_RETURN_IF_ERROR(read_unfold(infer, &u));
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d == u.axis ? byoc_dim_constant(u.count) : x->dims[d];
  dims[x->rank] = byoc_dim_constant(u.size);
  return byoc_infer_set(infer, 0, x->dtype, x->rank + 1, dims);
}

// Gathers the slices; the dimension that runs along them moves to the end.
static byoc_status_t expand_unfold(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_infer_t infer = {.node = node, .diag = diag};
  const int32_t rank = node->operands[0]->type->rank;
  unfold_t u;
  BYOC_RETURN_IF_ERROR(read_unfold(&infer, &u));
  int64_t *places = BYOC_ARENA_ARRAY(&node->function->module->arena, int64_t, (size_t)(u.count * u.size));
  if (!places) return byoc_diag_out_of_memory(diag);
  for (int64_t i = 0; i < u.count * u.size; ++i) places[i] = i / u.size * u.step + i % u.size;
  const int64_t table[2] = {u.count, u.size};
  byoc_value_t *indices = byoc_write_vector(&w, "places", BYOC_DTYPE_I64, u.count * u.size, places);
  const byoc_attribute_t axis = byoc_write_int("axis", u.axis);
  byoc_value_t *y =
      byoc_write_node(&w, "", "Gather", node->operands[0], byoc_write_reshape(&w, indices, table, 2), NULL, &axis, 1);
  int64_t order[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) order[d] = d <= u.axis ? d : d + 1;
  order[rank] = u.axis + 1;
  return byoc_write_end(&w, byoc_write_transpose(&w, y, order, (size_t)rank + 1), out_changed);
}

static byoc_status_t infer_bias_softmax(byoc_infer_t *infer) {
  static const uint32_t both[] = {0, 1};
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 1, 0, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  if (axis != x->rank - 1) return byoc_infer_unsupported(infer, "attribute 'axis' is not the last dimension");
  BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, 1, x->rank, x->dims));
  return byoc_microsoft_broadcast(infer, both, 2, x->dtype);
}

static byoc_status_t expand_bias_softmax(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *sum = byoc_write_plain(&w, "Add", node->operands[0], node->operands[1]);
  return byoc_write_end(&w, byoc_write_plain(&w, "Softmax", sum, NULL), out_changed);
}

// ---- ConvTransposeWithDynamicPads ----

enum { X, WEIGHTS, CUTS, BIAS, MOST_SPATIAL = BYOC_MAX_RANK - 2 };

// The operator without pads: the same attributes, and the bias as operand 2.
static byoc_status_t infer_cut(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  byoc_node_t stand_in = *infer->node;
  byoc_value_t *operands[] = {infer->node->operands[X], infer->node->operands[WEIGHTS],
                              byoc_operand(infer->node, BIAS)};
  byoc_infer_t inner = *infer;
  stand_in.operands = operands, stand_in.operand_count = 3, inner.node = &stand_in, inner.named = infer->node;
  if (byoc_node_choice(infer->node, "auto_pad") != 0) {
    return byoc_infer_unsupported(infer, "attribute 'auto_pad' is not NOTSET");
  }
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, X, 3, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, WEIGHTS, x->rank, x->rank));
  BYOC_RETURN_IF_ERROR(infer_as(&inner, "ConvTranspose", 11));
  if (!byoc_has_operand(infer->node, CUTS)) return BYOC_OK;
  const byoc_type_t *whole = infer->node->results[0]->type;
  byoc_dim_t dims[BYOC_MAX_RANK], pads[BYOC_MAX_RANK];
  bool is_data[BYOC_MAX_RANK], failed = false;
  int32_t count = 0;
  const int32_t spatial = x->rank - 2;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, CUTS, 2 * (int64_t)spatial));
  if (!byoc_infer_shape_value(infer, infer->node->operands[CUTS], &count, pads, is_data) || count != 2 * spatial) {
    return byoc_infer_unsupported(infer, "the number of pads must be known");
  }
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d] = whole->dims[d];
    if (d < 2) continue;
    const int32_t before = d - 2, after = spatial + d - 2;
    if (is_data[before] || is_data[after]) {
      dims[d] = byoc_infer_unknown_dim(infer, &failed);
      continue;
    }
    dims[d] = byoc_infer_dim(infer, BYOC_DIM_SUB, dims[d], pads[before], &failed);
    dims[d] = byoc_infer_dim(infer, BYOC_DIM_SUB, dims[d], pads[after], &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_size(infer, d, dims[d]));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// Pads that are constant become an attribute; others are cut off the result.
static byoc_status_t expand_cut(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *operands[] = {node->operands[X], node->operands[WEIGHTS], byoc_operand(node, BIAS)};
  const int64_t spatial = node->operands[X]->type->rank - 2, end = 2 + spatial;
  byoc_attribute_t *attributes =
      BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_attribute_t, node->attributes.count + 1);
  if (!attributes) return byoc_diag_out_of_memory(diag);
  size_t count = node->attributes.count;
  for (size_t i = 0; i < count; ++i) attributes[i] = node->attributes.items[i];
  byoc_ints_t pads;
  const bool is_known = byoc_read_ints(node, NULL, CUTS, &pads) == BYOC_KNOWN_YES;
  if (is_known) {
    attributes[count++] =
        (byoc_attribute_t){.name = "pads", .kind = BYOC_ATTRIBUTE_INTS, .ints = pads.values, .count = pads.count};
  }
  byoc_node_t *made = byoc_write_many(&w, "", "ConvTranspose", operands, operands[2] ? 3 : 2, 1, attributes, count);
  byoc_value_t *y = made ? made->results[0] : NULL;
  if (!y || is_known || !byoc_has_operand(node, CUTS)) return byoc_write_end(&w, y, out_changed);
  const int64_t sizes[] = {spatial, spatial};
  byoc_value_t *split[] = {node->operands[CUTS], byoc_write_vector(&w, "sizes", BYOC_DTYPE_I64, 2, sizes)};
  byoc_node_t *halves = byoc_write_many(&w, "", "Split", split, 2, 2, NULL, 0);
  const byoc_attribute_t range[] = {byoc_write_int("start", 2), byoc_write_int("end", end)};
  byoc_value_t *whole = byoc_write_node(&w, "", "Shape", y, NULL, NULL, range, 2);
  int64_t axes[MOST_SPATIAL];
  for (int64_t d = 0; d < spatial; ++d) axes[d] = 2 + d;
  byoc_value_t *ends = halves ? byoc_write_plain(&w, "Sub", whole, halves->results[1]) : NULL;
  byoc_value_t *slice[] = {y, halves ? halves->results[0] : NULL, ends,
                           byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, spatial, axes)};
  byoc_node_t *cut = byoc_write_many(&w, "", "Slice", slice, 4, 1, NULL, 0);
  return byoc_write_end(&w, cut ? cut->results[0] : NULL, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t trilu_attributes[] = {{BYOC_ATTR_INT("upper", 1)}, BYOC_ATTR_END};
static const byoc_op_attribute_t grid_attributes[] = {
    {BYOC_ATTR_CHOICE("mode", "bilinear", "nearest", "bicubic")},
    {BYOC_ATTR_CHOICE("padding_mode", "zeros", "border", "reflection")},
    {BYOC_ATTR_INT("align_corners", 0)},
    BYOC_ATTR_END};
static const byoc_op_attribute_t pad_attributes[] = {{BYOC_ATTR_CHOICE("mode", "constant", "reflect", "edge")},
                                                     BYOC_ATTR_END};
static const byoc_op_attribute_t unfold_attributes[] = {
    {BYOC_ATTR_INT("dim", -1)}, {BYOC_ATTR_REQUIRED(INT, "size")}, {BYOC_ATTR_INT("step", 1)}, BYOC_ATTR_END};
static const byoc_op_attribute_t bias_softmax_attributes[] = {
    {BYOC_ATTR_INT("axis", 1)}, {BYOC_ATTR_REQUIRED(INT, "is_inner_broadcast")}, BYOC_ATTR_END};
static const byoc_op_attribute_t cut_attributes[] = {
    {BYOC_ATTR_CHOICE("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")},
    {BYOC_ATTR(INTS, "dilations")},
    {BYOC_ATTR_INT("group", 1)},
    {BYOC_ATTR(INTS, "kernel_shape")},
    {BYOC_ATTR(INTS, "output_padding")},
    {BYOC_ATTR(INTS, "strides")},
    BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_alias[] = {
    BYOC_MICROSOFT_ROW("Trilu", 1, 2, 1, trilu_attributes, trilu),
    BYOC_MICROSOFT_ROW("GatherND", 2, 2, 1, NULL, gather_nd),
    BYOC_MICROSOFT_ROW("GridSample", 2, 2, 1, grid_attributes, grid_sample),
    BYOC_MICROSOFT_ROW("Pad", 2, 3, 1, pad_attributes, pad),
    BYOC_MICROSOFT_ROW("Range", 2, 3, 1, NULL, range),
    BYOC_MICROSOFT_ROW("Unique", 1, 1, 3, NULL, unique),
    BYOC_MICROSOFT_ROW("ExpandDims", 2, 2, 1, NULL, expand_dims),
    BYOC_MICROSOFT_ROW("TorchEmbedding", 2, 4, 1, NULL, embedding),
    BYOC_MICROSOFT_WORK_ROW("MatMulInteger16", 2, 2, 1, NULL, product_16, PRODUCT, 1),
    BYOC_MICROSOFT_ROW("UnfoldTensor", 1, 1, 1, unfold_attributes, unfold),
    BYOC_MICROSOFT_ROW("BiasSoftmax", 2, 2, 1, bias_softmax_attributes, bias_softmax),
    BYOC_MICROSOFT_WORK_ROW("ConvTransposeWithDynamicPads", 2, 4, 1, cut_attributes, cut, TRANSPOSED_CONVOLUTION, 1),
};
const size_t byoc_ops_microsoft_alias_count = sizeof byoc_ops_microsoft_alias / sizeof *byoc_ops_microsoft_alias;
