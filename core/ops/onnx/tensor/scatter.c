// SPDX-License-Identifier: Apache-2.0
// Writes to indices that are data: ScatterElements (formerly Scatter), ScatterND, MaxUnpool. Indices beyond the operand
// are refused, and loops clamp them, so that nothing outside of the result is written.
#include <string.h>

#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_index(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

// Places are clamped to an extent that must not be 0, unless there are no places.
static byoc_status_t need_elements(const byoc_infer_t *infer, const byoc_dim_t *dims, int32_t d) {
  const byoc_type_t *at = byoc_operand_type(infer->node, 1);
  if (!byoc_dim_is_constant(dims[d])) {
    bool failed = false;
    char name[64];
    snprintf(name, sizeof name, "dimension %d of operand 0", (int)d);
    byoc_dim_t count = byoc_is_ranked(at) ? byoc_infer_count(infer, at, &failed) : byoc_dim_constant(1);
    count = byoc_infer_dim(infer, BYOC_DIM_MIN, count, byoc_dim_constant(1), &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side(count, NULL), byoc_side(dims[d], name));
  }
  if (dims[d].constant != 0 || byoc_type_element_count(at) == 0) return BYOC_OK;
  return byoc_infer_error(infer, "there is nothing to write to in dimension %d", d);
}

static byoc_status_t infer_scatter(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0), *at = byoc_operand_type(node, 1);
  if (strcmp(node->op, "ScatterND") != 0 && byoc_is_ranked(x)) {
    int32_t axis = 0;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, x->rank, x->rank));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, x->rank, x->rank));
    BYOC_RETURN_IF_ERROR(need_elements(infer, x->dims, axis));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_index(infer, 1, "the indices", byoc_side_of(infer, 0, axis)));
    for (int32_t d = 0; byoc_is_ranked(at) && d < x->rank; ++d) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, d, at->dims[d]));
      bool both = byoc_dim_is_constant(at->dims[d]) && byoc_dim_is_constant(x->dims[d]);
      if (d != axis && both && at->dims[d].constant > x->dims[d].constant) {
        return byoc_infer_error(infer, "operand 1: dimension %d is larger than operand 0's", d);
      }
      if (d == axis || both) continue;
      BYOC_RETURN_IF_ERROR(
          byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_of(infer, 1, d), byoc_side_of(infer, 0, d)));
    }
  } else if (byoc_is_ranked(x) && byoc_is_ranked(at)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, BYOC_MAX_RANK));
    byoc_dim_t length = at->dims[at->rank - 1];
    if (!byoc_dim_is_constant(length)) {
      return byoc_infer_unsupported(infer, "operand 1: the last dimension must be a constant");
    }
    if (length.constant < 1 || length.constant > x->rank) {
      return byoc_infer_error(infer, "operand 1: expected index tuples of 1 to %d, got %lld", x->rank,
                              (long long)length.constant);
    }
    byoc_limit_t limit = {.operand = 1, .name = "the indices", .kind = BYOC_RANGE_INDEX};
    for (int32_t d = 0; d < length.constant; ++d) {
      BYOC_RETURN_IF_ERROR(need_elements(infer, x->dims, d));
      limit.extents[limit.count++] = byoc_side_of(infer, 0, d);
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_limit(infer, &limit));
    int32_t rank = at->rank - 1 + x->rank - (int32_t)length.constant;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, rank, rank));
    for (int32_t d = 0; d + 1 < at->rank; ++d) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, d, at->dims[d]));
    for (int32_t d = at->rank - 1; d < rank; ++d) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, d, x->dims[x->rank - rank + d]));
    }
  }
  return byoc_infer_same(infer);
}

// The result starts as a copy of operand 0, or as zeros if `from` is not an operand.
static const byoc_loop_buffer_t *start_result(byoc_lower_t *lower, const byoc_node_t *node, bool copies) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[0]->type;
  const byoc_loop_buffer_t *buffer = NULL;
  if (!byoc_lower_result_buffer(lower, node, 0, &buffer)) return NULL;
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "i", byoc_loop_int(b, 0), byoc_emit_extent(b, type, 0, type->rank));
  byoc_loop_store(b, buffer, i,
                  copies ? byoc_lower_load_flat(lower, node, 0, i) : byoc_loop_const(b, type->dtype, 0.0));
  byoc_loop_end(b);
  return buffer;
}

enum { REDUCTION_NONE, REDUCTION_ADD, REDUCTION_MUL, REDUCTION_MAX, REDUCTION_MIN }; // as in the tables below

// buffer[at] = reduction(buffer[at], update)
static void write_update(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_buffer_t *buffer,
                         const byoc_loop_expr_t *const *at, const byoc_loop_expr_t *update) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[0]->type;
  const byoc_loop_expr_t *index = byoc_loop_let(b, "to", byoc_loop_linear_index(b, type->rank, type->dims, at));
  int reduction = byoc_node_choice(node, "reduction");
  if (reduction != REDUCTION_NONE) {
    byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
    bool is_bool = dtype == BYOC_DTYPE_BOOL;
    const byoc_loop_expr_t *old = byoc_emit_as(b, dtype, byoc_loop_load(b, buffer, index));
    update = byoc_emit_as(b, dtype, update);
    static const byoc_loop_op_t numbers[] = {[REDUCTION_ADD] = BYOC_LOOP_OP_ADD,
                                             [REDUCTION_MUL] = BYOC_LOOP_OP_MUL,
                                             [REDUCTION_MAX] = BYOC_LOOP_OP_MAX,
                                             [REDUCTION_MIN] = BYOC_LOOP_OP_MIN};
    static const byoc_loop_op_t bools[] = {[REDUCTION_ADD] = BYOC_LOOP_OP_OR,
                                           [REDUCTION_MUL] = BYOC_LOOP_OP_AND,
                                           [REDUCTION_MAX] = BYOC_LOOP_OP_OR,
                                           [REDUCTION_MIN] = BYOC_LOOP_OP_AND};
    update = byoc_loop_binary(b, is_bool ? bools[reduction] : numbers[reduction], old, update);
  }
  byoc_loop_store(b, buffer, index, byoc_emit_as(b, type->dtype, update));
}

// Updates are applied in order, so that the last one for an element remains.
static byoc_status_t loops_scatter_elements(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *updates = node->operands[1]->type;
  const byoc_loop_buffer_t *buffer = start_result(lower, node, true);
  if (!buffer) return BYOC_UNSUPPORTED;
  int32_t axis = byoc_node_axis(node, "axis", x->rank);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK];
  int32_t opened = byoc_emit_open(b, updates, 0, updates->rank, false, at);
  for (int32_t d = 0; d < x->rank; ++d) to[d] = at[d];
  to[axis] = byoc_emit_index(b, byoc_lower_load(lower, node, 1, at), byoc_emit_dim(b, x, axis));
  write_update(lower, node, buffer, to, byoc_lower_load(lower, node, 2, at));
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

static byoc_status_t loops_scatter_nd(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *picks = node->operands[1]->type, *updates = node->operands[2]->type;
  const byoc_loop_buffer_t *buffer = start_result(lower, node, true);
  if (!buffer) return BYOC_UNSUPPORTED;
  int32_t outer = picks->rank - 1, length = (int32_t)picks->dims[outer].constant;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *tuple[BYOC_MAX_RANK], *to[BYOC_MAX_RANK];
  int32_t opened = byoc_emit_open(b, updates, 0, outer, false, at);
  for (int32_t d = 0; d < outer; ++d) tuple[d] = at[d];
  for (int32_t i = 0; i < length; ++i) {
    tuple[outer] = byoc_loop_int(b, i);
    to[i] = byoc_emit_index(b, byoc_lower_load(lower, node, 1, tuple), byoc_emit_dim(b, x, i));
    to[i] = byoc_loop_let(b, "to", to[i]);
  }
  opened += byoc_emit_open(b, updates, outer, updates->rank, false, at);
  for (int32_t d = length; d < x->rank; ++d) to[d] = at[outer + d - length];
  write_update(lower, node, buffer, to, byoc_lower_load(lower, node, 2, at));
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// ---- MaxUnpool ----
// The shape from which pooling would have made operand 0; indices refer to it. False if attributes do not fit.
static bool read_pooled(const byoc_node_t *node, byoc_arena_t *arena, byoc_dim_t *dims, bool *failed) {
  const byoc_type_t *x = node->operands[0]->type;
  size_t kernel_count = 0, stride_count = 0, pad_count = 0, spatial = (size_t)x->rank - 2;
  const int64_t *kernel = byoc_node_ints(node, "kernel_shape", &kernel_count);
  const int64_t *strides = byoc_node_ints(node, "strides", &stride_count);
  const int64_t *pads = byoc_node_ints(node, "pads", &pad_count);
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d] = x->dims[d];
    size_t i = (size_t)d - 2;
    if (d < 2) continue;
    if (i >= kernel_count) return false;
    byoc_dim_t stride = byoc_dim_constant(strides && i < stride_count ? strides[i] : 1);
    int64_t more = kernel[i] - stride.constant;
    if (pads && pad_count == 2 * spatial) more -= pads[i] + pads[spatial + i];
    dims[d] = byoc_dim_binary(arena, BYOC_DIM_MUL, dims[d], stride, failed);
    dims[d] = byoc_dim_binary(arena, BYOC_DIM_ADD, dims[d], byoc_dim_constant(more), failed);
  }
  return true;
}

static byoc_status_t need_places(const byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t dims[BYOC_MAX_RANK], count = byoc_dim_constant(1);
  bool failed = false;
  if (!read_pooled(infer->node, infer->arena, dims, &failed)) return BYOC_OK;
  for (int32_t d = 0; d < x->rank; ++d) count = byoc_infer_dim(infer, BYOC_DIM_MUL, count, dims[d], &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_need_indices(infer, 1, "the indices", byoc_side(count, "the elements that were pooled"));
}

// A result of given size must be large enough for all pooled elements.
static byoc_status_t need_scratch(const byoc_infer_t *infer, const byoc_dim_t *sizes, bool is_made) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  if (!read_pooled(infer->node, infer->arena, dims, &failed)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  for (int32_t d = 0; d < x->rank; ++d) {
    char names[2][64];
    snprintf(names[0], sizeof names[0], "the pooled elements in dimension %d", (int)d);
    snprintf(names[1], sizeof names[1], "dimension %d of the result", (int)d);
    const byoc_side_t pooled = byoc_side(dims[d], names[0]), size = byoc_side(sizes[d], names[1]);
    BYOC_RETURN_IF_ERROR(is_made ? byoc_infer_relate_made(infer, BYOC_RELATION_AT_MOST, pooled, size)
                                 : byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, pooled, size));
  }
  return BYOC_OK;
}

static byoc_status_t infer_unpool(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 1, x->rank, x->dims));
  BYOC_RETURN_IF_ERROR(need_places(infer));
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t count = 0;
  if (byoc_has_operand(node, 2)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 2, x->rank));
    if (!byoc_shape_value(node->operands[2], infer->arena, &count, dims)) {
      BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, 0, x->dtype, x->rank));
      for (int32_t d = 0; d < x->rank; ++d) {
        BYOC_RETURN_IF_ERROR(need_elements(infer, node->results[0]->type->dims, d));
      }
      const byoc_type_t *made = infer->relations ? infer->relations->made : NULL;
      return made && made->rank == x->rank ? need_scratch(infer, made->dims, true) : BYOC_OK;
    }
    if (count != x->rank)
      return byoc_infer_error(infer, "operand 2: expected %d size%s, got %d", x->rank, byoc_plural((uint64_t)x->rank),
                              count);
    for (int32_t d = 0; d < count; ++d) BYOC_RETURN_IF_ERROR(need_elements(infer, dims, d));
    BYOC_RETURN_IF_ERROR(need_scratch(infer, dims, false));
    return byoc_infer_set(infer, 0, x->dtype, count, dims);
  }
  size_t kernel_count = 0, stride_count = 0, pad_count = 0, spatial = (size_t)x->rank - 2;
  const int64_t *kernel = byoc_node_ints(node, "kernel_shape", &kernel_count);
  const int64_t *strides = byoc_node_ints(node, "strides", &stride_count);
  const int64_t *pads = byoc_node_ints(node, "pads", &pad_count);
  if (kernel_count != spatial || (strides && stride_count != spatial) || (pads && pad_count != 2 * spatial)) {
    return byoc_infer_error(infer, "attributes 'kernel_shape', 'strides' and 'pads' do not fit rank %d", x->rank);
  }
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d] = x->dims[d];
    if (d < 2) continue;
    size_t i = (size_t)d - 2;
    // (size - 1) * stride - pads + kernel
    byoc_dim_t stride = byoc_dim_constant(strides ? strides[i] : 1);
    byoc_dim_t more = byoc_dim_constant(kernel[i] - (pads ? pads[i] + pads[spatial + i] : 0));
    dims[d] = byoc_infer_dim(infer, BYOC_DIM_SUB, dims[d], byoc_dim_constant(1), &failed);
    dims[d] = byoc_infer_dim(infer, BYOC_DIM_MUL, dims[d], stride, &failed);
    dims[d] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[d], more, &failed);
    if (!byoc_dim_is_constant(dims[d])) BYOC_RETURN_IF_ERROR(need_elements(infer, dims, d));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// If the pooled tensor's shape differs from the result's (because an output_shape was given), indices refer to the
// shape from which pooling would have made this operand.
static byoc_status_t loops_unpool(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  const byoc_loop_buffer_t *buffer = start_result(lower, node, false);
  if (!buffer) return BYOC_UNSUPPORTED;
  byoc_type_t pooled = *y;
  byoc_arena_t *arena = &node->function->module->arena;
  bool failed = false;
  byoc_dim_t dims[BYOC_MAX_RANK];
  if (!read_pooled(node, arena, dims, &failed) || failed) return BYOC_UNSUPPORTED;
  pooled.dims = dims;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK], *total = byoc_emit_extent(b, &pooled, 0, y->rank);
  int32_t opened = byoc_emit_open(b, x, 0, x->rank, false, at);
  const byoc_loop_expr_t *place = byoc_emit_index(b, byoc_lower_load(lower, node, 1, at), total);
  byoc_emit_unravel(b, &pooled, 0, y->rank, byoc_loop_let(b, "place", place), to);
  for (int32_t d = 0; d < y->rank; ++d) {
    to[d] = BYOC_LMIN(b, to[d], BYOC_LSUB(b, byoc_emit_dim(b, y, d), byoc_loop_int(b, 1)));
    to[d] = BYOC_LMAX(b, to[d], byoc_loop_int(b, 0)); // an impossible pooled shape has negative indices
  }
  byoc_loop_store(b, buffer, byoc_loop_linear_index(b, y->rank, y->dims, to), byoc_lower_load(lower, node, 0, at));
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

static const byoc_loop_expr_t *shape_unpool(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  return byoc_emit_int(lower, node, 2, d);
}

static const byoc_op_attribute_t elements_attributes[] = {
    {BYOC_ATTR_INT("axis", 0)},
    {BYOC_ATTR_CHOICE("reduction", "none", "add", "mul"), .since = 16, .until = 18},
    {BYOC_ATTR_CHOICE("reduction", "none", "add", "mul", "max", "min"), .since = 18},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t nd_attributes[] = {
    {BYOC_ATTR_CHOICE("reduction", "none", "add", "mul"), .since = 16, .until = 18},
    {BYOC_ATTR_CHOICE("reduction", "none", "add", "mul", "max", "min"), .since = 18},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t unpool_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "kernel_shape")},
    {BYOC_ATTR(INTS, "pads")},
    {BYOC_ATTR(INTS, "strides")},
    BYOC_ATTR_END,
};

#define SCATTER(op_name, version, function)                                                                            \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 3, .max_inputs = 3, .min_outputs = 1,      \
    .max_outputs = 1, .traits = BYOC_OP_OPAQUE | BYOC_OP_LIMITS, .attributes = function##_attributes,                  \
    .infer = infer_scatter, .loops = loops_scatter_##function                                                          \
  }
#define UNPOOL(version)                                                                                                \
  {                                                                                                                    \
    .domain = "", .name = "MaxUnpool", .since_version = version, .min_inputs = 2, .max_inputs = 3, .min_outputs = 1,   \
    .max_outputs = 1, .traits = BYOC_OP_OPAQUE | BYOC_OP_LIMITS, .attributes = unpool_attributes,                      \
    .infer = infer_unpool, .loops = loops_unpool, .shape_operands = 1u << 2, .shape_elements = 1u << 2,                \
    .by_shape = 1u << 2, .shape = shape_unpool                                                                         \
  }

const byoc_op_t byoc_ops_scatter[] = {
    SCATTER(Scatter, 9, elements),
    SCATTER(Scatter, 11, elements),
    SCATTER(ScatterElements, 11, elements),
    SCATTER(ScatterElements, 13, elements),
    SCATTER(ScatterElements, 16, elements),
    SCATTER(ScatterElements, 18, elements),
    SCATTER(ScatterND, 11, nd),
    SCATTER(ScatterND, 13, nd),
    SCATTER(ScatterND, 16, nd),
    SCATTER(ScatterND, 18, nd),
    UNPOOL(9),
    UNPOOL(11),
    UNPOOL(22),
};
const size_t byoc_ops_scatter_count = sizeof byoc_ops_scatter / sizeof *byoc_ops_scatter;
