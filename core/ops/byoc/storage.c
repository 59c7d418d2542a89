// SPDX-License-Identifier: Apache-2.0
// byoc::Join and byoc::Part: their types, and the Concats, Splits and Slices that they can replace.
#include "core/ops/byoc/storage.h"

#include "core/op/util.h"
#include "core/ops/onnx/control/control.h"

// ---- types ----

static bool has_bytes(const byoc_type_t *type) {
  return byoc_type_is_tensor(type) && byoc_type_is_static(type) && type->dtype != BYOC_DTYPE_STRING &&
         byoc_dtype_bits(type->dtype) % 8 == 0;
}

static byoc_status_t infer_join(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *result = node->results[0]->type;
  if (result == NULL || !has_bytes(result)) return byoc_infer_error(infer, "the type of the result must be given");
  int64_t size_bytes = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, NULL, "a tensor"));
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (!has_bytes(type)) return byoc_infer_error(infer, "operand %u: expected a tensor of known size", i);
    size_bytes += byoc_type_size_bytes(type);
  }
  if (size_bytes == byoc_type_size_bytes(result)) return BYOC_OK;
  return byoc_infer_error(infer, "the operands have %lld bytes, the result %lld", (long long)size_bytes,
                          (long long)byoc_type_size_bytes(result));
}

static byoc_status_t infer_part(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *result = node->results[0]->type;
  if (result == NULL || !has_bytes(result)) return byoc_infer_error(infer, "the type of the result must be given");
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *whole = byoc_operand_type(node, 0);
  int64_t offset_bytes = byoc_node_int(node, BYOC_PART_OFFSET);
  if (node->operand_count > 1 && has_bytes(whole))
    return BYOC_OK; // the verifier of host programs checks this, because it knows the iterations
  bool fits = has_bytes(whole) && offset_bytes >= 0 && offset_bytes <= byoc_type_size_bytes(whole) &&
              byoc_type_size_bytes(result) <= byoc_type_size_bytes(whole) - offset_bytes;
  return fits ? BYOC_OK : byoc_infer_error(infer, "operand 0: the part reaches beyond its end");
}

// ---- contiguous parts ----

// Are the dimensions before the axis 1 in both shapes, and those after it equal? Ranks and element types are equal for
// all of these operators.
static bool is_piece(const byoc_type_t *part, const byoc_type_t *whole, int32_t axis) {
  for (int32_t d = 0; d < whole->rank; ++d) {
    if (d < axis && (whole->dims[d].constant != 1 || part->dims[d].constant != 1)) return false;
    if (d > axis && whole->dims[d].constant != part->dims[d].constant) return false;
  }
  return true;
}

static uint64_t row_bytes(const byoc_type_t *type, int32_t axis) {
  uint64_t bytes = byoc_dtype_bits(type->dtype) / 8;
  for (int32_t d = axis + 1; d < type->rank; ++d) bytes *= (uint64_t)type->dims[d].constant;
  return bytes;
}

bool byoc_concat_joins(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "Concat") || node->operand_count < 2) return false;
  const byoc_type_t *whole = node->results[0]->type;
  if (!has_bytes(whole) || whole->rank < 1) return false;
  int32_t axis = byoc_node_axis(node, "axis", whole->rank);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *part = byoc_operand_type(node, i);
    if (part == NULL || !has_bytes(part) || !is_piece(part, whole, axis)) return false;
  }
  return true;
}

static bool split_is_part(const byoc_node_t *node, uint32_t result, uint64_t *out_offset_bytes) {
  const byoc_type_t *whole = byoc_operand_type(node, 0);
  int32_t axis = byoc_node_axis(node, "axis", whole->rank);
  for (uint32_t r = 0; r <= result; ++r) {
    const byoc_type_t *part = node->results[r]->type;
    if (!has_bytes(part) || !is_piece(part, whole, axis)) return false;
    if (r < result) *out_offset_bytes += (uint64_t)byoc_type_size_bytes(part);
  }
  return true;
}

// Is the node a Slice of one axis with a step of one?
static bool slice_is_part(const byoc_node_t *node, uint64_t *out_offset_bytes) {
  const byoc_type_t *whole = byoc_operand_type(node, 0), *part = node->results[0]->type;
  byoc_ints_t starts, axes, steps;
  byoc_known_t axes_known = byoc_read_ints(node, "axes", 3, &axes),
               steps_known = byoc_read_ints(node, "steps", 4, &steps);
  if (byoc_read_ints(node, "starts", 1, &starts) != BYOC_KNOWN_YES || starts.count != 1) return false;
  if (axes_known == BYOC_KNOWN_NO || (axes_known == BYOC_KNOWN_YES && axes.count != 1)) return false;
  if (steps_known == BYOC_KNOWN_NO || (steps_known == BYOC_KNOWN_YES && (steps.count != 1 || steps.values[0] != 1))) {
    return false;
  }
  int32_t axis = 0;
  if (axes_known == BYOC_KNOWN_YES && !byoc_normalize_axis(axes.values[0], whole->rank, &axis)) return false;
  if (!has_bytes(part) || !is_piece(part, whole, axis)) return false;
  int64_t extent = whole->dims[axis].constant, start = starts.values[0];
  if (start < 0) start += extent;
  if (start < 0) start = 0;
  if (start > extent - part->dims[axis].constant) return false; // the slice is empty
  *out_offset_bytes = (uint64_t)start * row_bytes(whole, axis);
  return true;
}

bool byoc_result_is_part(const byoc_node_t *node, uint32_t result, uint64_t *out_offset_bytes) {
  *out_offset_bytes = 0;
  const byoc_type_t *whole = byoc_operand_type(node, 0);
  if (whole == NULL || !has_bytes(whole) || whole->rank < 1) return false;
  if (byoc_node_is_onnx(node, "Split")) return split_is_part(node, result, out_offset_bytes);
  return byoc_node_is_onnx(node, "Slice") && slice_is_part(node, out_offset_bytes);
}

// ---- slices by the iteration of a Loop ----

// The iteration of a Loop with known shapes?
static bool is_turn(const byoc_value_t *value) {
  if (value->kind != BYOC_VALUE_PARAMETER || value->index != 0 || value->block->owner == NULL) return false;
  return byoc_node_is_onnx(value->block->owner, "Loop") && byoc_control_is_static(value->block->owner);
}

// value = turn * *factor + *constant, for one such iteration; without one, *turn stays NULL.
static bool follows_iteration(const byoc_value_t *value, int depth, byoc_value_t **iteration, int64_t *factor,
                              int64_t *constant) {
  if (byoc_value_scalar_i64(value, constant)) {
    *factor = 0;
    return true;
  }
  if (is_turn(value)) {
    *constant = 0;
    *factor = 1;
    if (*iteration != NULL && *iteration != value) return false;
    *iteration = (byoc_value_t *)(uintptr_t)value;
    return true;
  }
  const byoc_node_t *node = byoc_value_producer(value);
  const bool adds = node != NULL && byoc_node_is_onnx(node, "Add"),
             subtracts = node != NULL && byoc_node_is_onnx(node, "Sub");
  int64_t factors[2], constants[2];
  if ((!adds && !subtracts) || depth == 0 ||
      !follows_iteration(node->operands[0], depth - 1, iteration, &factors[0], &constants[0]) ||
      !follows_iteration(node->operands[1], depth - 1, iteration, &factors[1], &constants[1])) {
    return false;
  }
  return adds ? !__builtin_add_overflow(factors[0], factors[1], factor) &&
                    !__builtin_add_overflow(constants[0], constants[1], constant)
              : !__builtin_sub_overflow(factors[0], factors[1], factor) &&
                    !__builtin_sub_overflow(constants[0], constants[1], constant);
}

bool byoc_gathers_turning_part(const byoc_node_t *node, byoc_value_t **out_turn, int64_t *out_offset_bytes,
                               int64_t *out_step_bytes) {
  *out_turn = NULL;
  if (!byoc_node_is_onnx(node, "Gather")) return false;
  const byoc_type_t *whole = byoc_operand_type(node, 0), *index = byoc_operand_type(node, 1);
  if (whole == NULL || !has_bytes(whole) || whole->rank < 1 || index == NULL || !byoc_type_is_static(index) ||
      byoc_type_element_count(index) != 1) {
    return false;
  }
  const int32_t axis = byoc_node_axis(node, "axis", whole->rank);
  for (int32_t d = 0; d < axis; ++d) {
    if (whole->dims[d].constant != 1) return false;
  }
  int64_t factor = 0, first = 0;
  if (!follows_iteration(node->operands[1], 4, out_turn, &factor, &first) || *out_turn == NULL) return false;
  // Kernels compute negative indices and those that are clamped.
  const int64_t iterations = byoc_static_loop_iterations((*out_turn)->block->owner),
                size = (int64_t)row_bytes(whole, axis);
  int64_t last = 0;
  if (iterations < 1 || __builtin_mul_overflow(factor, iterations - 1, &last) ||
      __builtin_add_overflow(first, last, &last) || first < 0 || last < 0 || first >= whole->dims[axis].constant ||
      last >= whole->dims[axis].constant) {
    return false;
  }
  *out_offset_bytes = first * size;
  *out_step_bytes = factor * size;
  return true;
}

// ---- making them ----

byoc_node_t *byoc_join_create(byoc_node_t *before, byoc_value_t *const *operands, uint32_t operand_count,
                              const byoc_type_t *type) {
  byoc_node_t *node = byoc_node_create(before->block, before, "byoc", "Join", 1, operands, operand_count, 1);
  if (node != NULL) node->results[0]->type = type;
  return node;
}

byoc_node_t *byoc_part_create(byoc_node_t *before, byoc_value_t *operand, uint64_t offset_bytes,
                              const byoc_type_t *type) {
  byoc_node_t *node = byoc_node_create(before->block, before, "byoc", "Part", 1, &operand, 1, 1);
  if (node == NULL || !byoc_attributes_set_int(&node->attributes, BYOC_PART_OFFSET, (int64_t)offset_bytes)) return NULL;
  node->results[0]->type = type;
  return node;
}

byoc_node_t *byoc_turning_part_create(byoc_block_t *block, byoc_node_t *before, byoc_value_t *operand,
                                      byoc_value_t *iteration, int64_t offset_bytes, int64_t step_bytes,
                                      const byoc_type_t *type) {
  byoc_value_t *operands[] = {operand, iteration};
  byoc_node_t *node = byoc_node_create(block, before, "byoc", "Part", 1, operands, 2, 1);
  if (node == NULL || !byoc_attributes_set_int(&node->attributes, BYOC_PART_OFFSET, offset_bytes) ||
      !byoc_attributes_set_int(&node->attributes, BYOC_PART_STEP, step_bytes)) {
    return NULL;
  }
  node->results[0]->type = type;
  return node;
}

static const byoc_op_attribute_t part_attributes[] = {
    {BYOC_ATTR_INT(BYOC_PART_OFFSET, 0)},
    {BYOC_ATTR_INT(BYOC_PART_STEP, 0)},
    BYOC_ATTR_END,
};

#define ROW(op_name, most_inputs)                                                                                      \
  .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = 1, .max_inputs = most_inputs,                  \
  .min_outputs = 1, .max_outputs = 1

const byoc_op_t byoc_ops_storage[] = {
    {ROW(Join, -1), .traits = BYOC_OP_HOST, .infer = infer_join},
    // The number of the iteration is on the host, even if the bytes are not.
    {ROW(Part, 2), .traits = BYOC_OP_INJECTIVE, .attributes = part_attributes, .infer = infer_part, .is_view = true,
     .shape_operands = 1u << 1},
};
const size_t byoc_ops_storage_count = sizeof byoc_ops_storage / sizeof *byoc_ops_storage;
