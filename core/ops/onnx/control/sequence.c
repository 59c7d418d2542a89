// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals. The host program runs these operators itself.
#include <string.h>

#include "core/ops/onnx/control/control.h"

// Elements of a container may differ in the dynamic dimensions of its type, even in named ones. When an element is
// taken out, each of these becomes a new unknown dimension.
static const byoc_type_t *taken_out(const byoc_infer_t *infer, const byoc_type_t *element, bool *failed) {
  if (!byoc_is_ranked(element)) return element;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < element->rank; ++d) {
    dims[d] = element->dims[d];
    if (!byoc_dim_is_constant(dims[d])) dims[d] = byoc_infer_unknown_dim(infer, failed);
  }
  return byoc_type_tensor(infer->arena, element->dtype, element->rank, dims);
}

static byoc_status_t set_element(const byoc_infer_t *infer, const byoc_type_t *element) {
  bool failed = false;
  const byoc_type_t *type = taken_out(infer, element, &failed);
  if (!type || failed) return byoc_diag_out_of_memory(infer->diag);
  infer->node->results[0]->type = type;
  return BYOC_OK;
}

static byoc_status_t set_sequence(const byoc_infer_t *infer, const byoc_type_t *element) {
  const byoc_type_t *type = element ? byoc_type_sequence(infer->arena, element) : NULL;
  if (!type) return byoc_diag_out_of_memory(infer->diag);
  infer->node->results[0]->type = type;
  return BYOC_OK;
}

static byoc_status_t need_sequence(const byoc_infer_t *infer, const byoc_type_t **out_element) {
  const byoc_type_t *type = byoc_operand_type(infer->node, 0);
  *out_element = type->kind == BYOC_TYPE_SEQUENCE ? type->element : NULL;
  if (*out_element) return BYOC_OK;
  char text[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand 0: expected a sequence, got %s", byoc_type_text(type, text));
}

static byoc_status_t need_position(const byoc_infer_t *infer, uint32_t operand) {
  if (!byoc_has_operand(infer->node, operand)) return BYOC_OK;
  return byoc_infer_need(infer, operand, byoc_dtype_is_integer, "a position");
}

// ---- sequences ----

static byoc_status_t infer_empty(byoc_infer_t *infer) {
  int64_t given = byoc_node_int(infer->node, "dtype");
  byoc_dtype_t dtype = byoc_dtype_from_onnx((int32_t)given);
  if (dtype == BYOC_DTYPE_NONE) {
    return byoc_infer_error(infer, "attribute 'dtype': %lld is not a known element type", (long long)given);
  }
  return set_sequence(infer, byoc_type_tensor(infer->arena, dtype, BYOC_RANK_UNKNOWN, NULL));
}

// The element type of a sequence that holds `element` and the values of operands [first, operand_count).
static byoc_status_t set_joined(const byoc_infer_t *infer, const byoc_type_t *element, uint32_t first, uint32_t end) {
  byoc_around_t around;
  byoc_around_init(&around, infer);
  byoc_status_t status = BYOC_OK;
  for (uint32_t i = first; i < end && status == BYOC_OK; ++i) {
    const byoc_type_t *type = byoc_operand_type(infer->node, i);
    if (!byoc_type_is_tensor(type)) {
      status = byoc_infer_error(infer, "operand %u: expected a tensor", i);
    } else {
      element = byoc_join_types(&around, element, type);
      if (around.failed) status = byoc_diag_out_of_memory(infer->diag);
      if (!element && !around.failed)
        status = byoc_infer_error(infer, "operand %u: expected the element type of the other operands", i);
    }
  }
  byoc_around_deinit(&around);
  return status == BYOC_OK ? set_sequence(infer, element) : status;
}

static byoc_status_t infer_construct(byoc_infer_t *infer) {
  return set_joined(infer, byoc_type_unknown(), 0, infer->node->operand_count);
}

static byoc_status_t infer_insert(byoc_infer_t *infer) {
  const byoc_type_t *element;
  BYOC_RETURN_IF_ERROR(need_sequence(infer, &element));
  BYOC_RETURN_IF_ERROR(need_position(infer, 2));
  // An empty sequence leaves the shapes of its elements open.
  const byoc_node_t *producer = byoc_value_producer(infer->node->operands[0]);
  const byoc_type_t *type = byoc_operand_type(infer->node, 1);
  bool fresh = producer && byoc_node_is_onnx(producer, "SequenceEmpty") && byoc_type_is_tensor(type) &&
               type->dtype == element->dtype;
  return set_joined(infer, fresh ? type : element, 1, 2);
}

static byoc_status_t infer_erase(byoc_infer_t *infer) {
  const byoc_type_t *element;
  BYOC_RETURN_IF_ERROR(need_sequence(infer, &element));
  BYOC_RETURN_IF_ERROR(need_position(infer, 1));
  infer->node->results[0]->type = byoc_operand_type(infer->node, 0);
  return BYOC_OK;
}

static byoc_status_t infer_at(byoc_infer_t *infer) {
  const byoc_type_t *element;
  BYOC_RETURN_IF_ERROR(need_sequence(infer, &element));
  BYOC_RETURN_IF_ERROR(need_position(infer, 1));
  return set_element(infer, element);
}

static byoc_status_t infer_length(byoc_infer_t *infer) {
  const byoc_type_t *element;
  BYOC_RETURN_IF_ERROR(need_sequence(infer, &element));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 0, NULL);
}

static byoc_status_t infer_concat_from(byoc_infer_t *infer) {
  const byoc_type_t *element;
  BYOC_RETURN_IF_ERROR(need_sequence(infer, &element));
  if (!byoc_type_is_tensor(element)) return byoc_infer_error(infer, "operand 0: expected a sequence of tensors");
  if (!byoc_is_ranked(element)) return byoc_infer_set_unranked(infer, 0, element->dtype);
  bool stacks = byoc_node_flag(infer->node, "new_axis"), failed = false;
  int32_t rank = element->rank + stacks, axis = 0, from = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", rank, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK + 1];
  for (int32_t d = 0; d < rank; ++d) {
    bool open = d == axis || !byoc_dim_is_constant(element->dims[from]);
    dims[d] = open ? byoc_infer_unknown_dim(infer, &failed) : element->dims[from];
    from += !(stacks && d == axis);
    if (from == element->rank) from = element->rank - 1;
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, element->dtype, rank, dims);
}

static byoc_status_t infer_split_to(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(need_position(infer, 1));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return set_sequence(infer, x);
  int32_t axis = 0, rank = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  bool single = !byoc_has_operand(node, 1), failed = false;
  bool drops = single && !byoc_node_flag(node, "keepdims");
  byoc_dim_t dims[BYOC_MAX_RANK], length = byoc_dim_constant(1);
  byoc_ints_t parts;
  if (!single) {
    bool known = byoc_read_ints(node, NULL, 1, &parts) == BYOC_KNOWN_YES && parts.count > 0;
    for (size_t i = 1; known && i < parts.count; ++i) known = parts.values[i] == parts.values[0];
    // A single number: chunks of that length; the last one may be shorter.
    byoc_dim_t whole = x->dims[axis];
    bool is_scalar = byoc_is_ranked(node->operands[1]->type) && node->operands[1]->type->rank == 0;
    if (known && parts.values[0] < 1) known = false;
    if (known && is_scalar) known = byoc_dim_is_constant(whole) && whole.constant % parts.values[0] == 0;
    length = known ? byoc_dim_constant(parts.values[0]) : byoc_infer_unknown_dim(infer, &failed);
  }
  for (int32_t d = 0; d < x->rank; ++d) {
    if (d != axis || !drops) dims[rank++] = d == axis ? length : x->dims[d];
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return set_sequence(infer, byoc_type_tensor(infer->arena, x->dtype, rank, dims));
}

// ---- optionals ----

static byoc_status_t infer_optional(byoc_infer_t *infer) {
  const byoc_attribute_t *given = byoc_node_given(infer->node, "type");
  const byoc_type_t *element = byoc_operand_type(infer->node, 0);
  if (!element && given && given->kind == BYOC_ATTRIBUTE_TYPE) element = given->type;
  if (!element) return byoc_infer_error(infer, "neither an element nor its type is given");
  const byoc_type_t *type = byoc_type_optional(infer->arena, element);
  if (!type) return byoc_diag_out_of_memory(infer->diag);
  infer->node->results[0]->type = type;
  return BYOC_OK;
}

static byoc_status_t infer_has(byoc_infer_t *infer) {
  return byoc_infer_set(infer, 0, BYOC_DTYPE_BOOL, 0, NULL);
}

static byoc_status_t infer_get(byoc_infer_t *infer) {
  const byoc_type_t *type = byoc_operand_type(infer->node, 0);
  if (type->kind == BYOC_TYPE_OPTIONAL) return set_element(infer, type->element);
  infer->node->results[0]->type = type; // an element counts as an optional that holds it
  return BYOC_OK;
}

static const byoc_op_attribute_t empty_attributes[] = {
    {BYOC_ATTR_INT("dtype", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t concat_from_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "axis")},
    {BYOC_ATTR_INT("new_axis", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t split_to_attributes[] = {
    {BYOC_ATTR_INT("axis", 0)},
    {BYOC_ATTR_INT("keepdims", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t optional_attributes[] = {
    {BYOC_ATTR(TYPE, "type")},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, version, least, most, function)                                                            \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_HOST, .attributes = table, .infer = infer_##function         \
  }

const byoc_op_t byoc_ops_sequence[] = {
    ROW(empty_attributes, SequenceEmpty, 11, 0, 0, empty),
    ROW(NULL, SequenceConstruct, 11, 1, -1, construct),
    ROW(NULL, SequenceInsert, 11, 2, 3, insert),
    ROW(NULL, SequenceErase, 11, 1, 2, erase),
    ROW(NULL, SequenceAt, 11, 2, 2, at),
    ROW(NULL, SequenceLength, 11, 1, 1, length),
    ROW(concat_from_attributes, ConcatFromSequence, 11, 1, 1, concat_from),
    ROW(split_to_attributes, SplitToSequence, 11, 1, 2, split_to),
    ROW(split_to_attributes, SplitToSequence, 24, 1, 2, split_to),
    ROW(optional_attributes, Optional, 15, 0, 1, optional),
    ROW(NULL, OptionalHasElement, 15, 1, 1, has),
    ROW(NULL, OptionalHasElement, 18, 0, 1, has),
    ROW(NULL, OptionalGetElement, 15, 1, 1, get),
    ROW(NULL, OptionalGetElement, 18, 1, 1, get),
};
const size_t byoc_ops_sequence_count = sizeof byoc_ops_sequence / sizeof *byoc_ops_sequence;
