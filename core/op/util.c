// SPDX-License-Identifier: Apache-2.0
// Functions for all families: messages, operands, dimensions. Those for lowering are in emit.c.
#include "core/op/util.h"

#include <assert.h>
#include <string.h>

#include "core/ir/attribute_names.h"

const char *byoc_type_text(const byoc_type_t *type, char buffer[BYOC_TYPE_TEXT_SIZE]) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_type_print(type ? type : byoc_type_unknown(), &text);
  snprintf(buffer, BYOC_TYPE_TEXT_SIZE, "%s", text.data);
  byoc_string_deinit(&text);
  return buffer;
}

static byoc_status_t error_at(const byoc_infer_t *infer, byoc_status_t status, const char *format, va_list arguments) {
  // Sizes that do not fit are contradictions.
  if (infer->arena != NULL && infer->arena->is_exhausted) return byoc_diag_out_of_memory(infer->diag);
  char where[256], message[512];
  byoc_node_describe(infer->named ? infer->named : infer->node, where, sizeof where);
  vsnprintf(message, sizeof message, format, arguments);
  return byoc_diag_error(infer->diag, status, "%s: %s", where, message);
}

byoc_status_t byoc_infer_error(const byoc_infer_t *infer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  byoc_status_t status = error_at(infer, BYOC_INVALID_DATA, format, arguments);
  va_end(arguments);
  return status;
}

byoc_status_t byoc_infer_unsupported(const byoc_infer_t *infer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  byoc_status_t status = error_at(infer, BYOC_UNSUPPORTED, format, arguments);
  va_end(arguments);
  return status;
}

// ---- operands ----
bool byoc_dtype_is_float(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}

bool byoc_dtype_is_integer(byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_U8:
  case BYOC_DTYPE_I8:
  case BYOC_DTYPE_U16:
  case BYOC_DTYPE_I16:
  case BYOC_DTYPE_I32:
  case BYOC_DTYPE_I64:
  case BYOC_DTYPE_U32:
  case BYOC_DTYPE_U64:
    return true;
  default:
    return false;
  }
}

bool byoc_dtype_is_number(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || byoc_dtype_is_integer(dtype);
}

bool byoc_dtype_is_value(byoc_dtype_t dtype) {
  return dtype != BYOC_DTYPE_STRING;
}
bool byoc_dtype_is_byte(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_U8;
}
bool byoc_dtype_is_word(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I16 || dtype == BYOC_DTYPE_U16;
}
bool byoc_dtype_is_few_bits(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I2 || dtype == BYOC_DTYPE_U2 || dtype == BYOC_DTYPE_I4 || dtype == BYOC_DTYPE_U4;
}
bool byoc_dtype_is_quantised(byoc_dtype_t dtype) {
  return byoc_dtype_is_integer(dtype) || byoc_dtype_is_float8(dtype) ||
         (byoc_dtype_bits(dtype) > 0 && byoc_dtype_bits(dtype) < 8);
}

bool byoc_all_are(const byoc_value_t *value, int64_t expected) {
  if (!value) return expected == 0;
  if (!byoc_value_is_constant(value)) return false;
  for (int64_t i = 0; i < byoc_type_element_count(value->type); ++i) {
    if (byoc_constant_element_i64(value->constant, i) != expected) return false;
  }
  return true;
}

byoc_status_t byoc_infer_need(const byoc_infer_t *infer, uint32_t index, byoc_dtype_predicate_t passes,
                              const char *what) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  if (byoc_type_is_tensor(type) && (!passes || passes(type->dtype))) return BYOC_OK;
  char text[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand %u: expected %s, got %s", index, what, byoc_type_text(type, text));
}

byoc_status_t byoc_infer_need_rank(const byoc_infer_t *infer, uint32_t index, int32_t least, int32_t most) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  if (!byoc_is_ranked(type) || (type->rank >= least && type->rank <= most)) return BYOC_OK;
  char text[BYOC_TYPE_TEXT_SIZE];
  byoc_type_text(type, text);
  if (least == most) return byoc_infer_error(infer, "operand %u: expected rank %d, got %s", index, least, text);
  if (most >= BYOC_MAX_RANK) {
    return byoc_infer_error(infer, "operand %u: expected rank %d or more, got %s", index, least, text);
  }
  return byoc_infer_error(infer, "operand %u: expected rank %d to %d, got %s", index, least, most, text);
}

byoc_status_t byoc_infer_need_same(const byoc_infer_t *infer, uint32_t index) {
  const byoc_type_t *first = byoc_operand_type(infer->node, 0), *type = byoc_operand_type(infer->node, index);
  if (!type || (byoc_type_is_tensor(first) && byoc_type_is_tensor(type) && first->dtype == type->dtype)) return BYOC_OK;
  char a[BYOC_TYPE_TEXT_SIZE], b[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand %u: expected the element type of operand 0 (%s), got %s", index,
                          byoc_type_text(first, a), byoc_type_text(type, b));
}

// The side of a relation for a dimension: that of the first operand with it, else the string for the common shape.
static byoc_side_t find_side(const byoc_infer_t *infer, byoc_dim_t dim) {
  if (byoc_dim_is_constant(dim)) return byoc_side_number(dim.constant);
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(infer->node, i);
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      if (byoc_dim_equal(type->dims[d], dim)) return byoc_side_of(infer, i, d);
    }
  }
  return byoc_side(dim, "the common shape of the other operands");
}

byoc_status_t byoc_infer_need_dim(const byoc_infer_t *infer, uint32_t index, int32_t d, byoc_dim_t expected) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  char text[BYOC_TYPE_TEXT_SIZE];
  if (!byoc_is_ranked(type)) return BYOC_OK;
  if (d < 0 || d >= type->rank) {
    return byoc_infer_error(infer, "operand %u: expected a dimension %d, got %s", index, d, byoc_type_text(type, text));
  }
  if (!byoc_dim_is_constant(expected) || !byoc_dim_is_constant(type->dims[d])) {
    return byoc_infer_relate(infer, BYOC_RELATION_EQUAL, byoc_side_of(infer, index, d), find_side(infer, expected));
  }
  if (type->dims[d].constant == expected.constant) return BYOC_OK;
  return byoc_infer_error(infer, "operand %u: expected %lld in dimension %d, got %s", index,
                          (long long)expected.constant, d, byoc_type_text(type, text));
}

byoc_status_t byoc_infer_need_dims(const byoc_infer_t *infer, uint32_t index, int32_t rank, const byoc_dim_t *dims) {
  if (!byoc_is_ranked(byoc_operand_type(infer->node, index))) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, rank, rank));
  for (int32_t d = 0; d < rank; ++d) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, index, d, dims[d]));
  return BYOC_OK;
}

byoc_status_t byoc_infer_need_broadcast(const byoc_infer_t *infer, uint32_t index, int32_t rank,
                                        const byoc_dim_t *dims) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  if (!byoc_is_ranked(type)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, 0, rank));
  for (int32_t d = 0; d < type->rank; ++d) {
    byoc_dim_t whole = dims[rank - type->rank + d];
    if (!byoc_dim_is_constant(type->dims[d])) {
      BYOC_RETURN_IF_ERROR(
          byoc_infer_relate(infer, BYOC_RELATION_ONE_OR, byoc_side_of(infer, index, d), find_side(infer, whole)));
    } else if (type->dims[d].constant != 1) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, index, d, whole));
    }
  }
  return BYOC_OK;
}

byoc_dim_t byoc_infer_count(const byoc_infer_t *infer, const byoc_type_t *type, bool *failed) {
  byoc_dim_t count = byoc_dim_constant(1);
  for (int32_t d = 0; d < type->rank; ++d) count = byoc_infer_dim(infer, BYOC_DIM_MUL, count, type->dims[d], failed);
  return count;
}

byoc_status_t byoc_infer_need_count(const byoc_infer_t *infer, uint32_t index, byoc_side_t count) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  if (!byoc_is_ranked(type)) return BYOC_OK;
  if (type->rank == 1) return byoc_infer_relate(infer, BYOC_RELATION_EQUAL, byoc_side_of(infer, index, 0), count);
  bool failed = false;
  char name[64];
  snprintf(name, sizeof name, "the number of elements of operand %u", (unsigned)index);
  byoc_side_t own = byoc_side(byoc_infer_count(infer, type, &failed), name);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_relate(infer, BYOC_RELATION_EQUAL, own, count);
}

byoc_status_t byoc_infer_need_some(const byoc_infer_t *infer, uint32_t index, int32_t d, byoc_dim_t wanted) {
  bool failed = false;
  byoc_dim_t least = byoc_infer_dim(infer, BYOC_DIM_MIN, wanted, byoc_dim_constant(1), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side(least, NULL), byoc_side_of(infer, index, d));
}

byoc_status_t byoc_infer_need_multiple(const byoc_infer_t *infer, uint32_t index, int32_t d, int64_t number) {
  return byoc_infer_relate(infer, BYOC_RELATION_MULTIPLE, byoc_side_of(infer, index, d), byoc_side_number(number));
}

byoc_status_t byoc_infer_need_size(const byoc_infer_t *infer, int32_t d, byoc_dim_t dim) {
  char name[48];
  snprintf(name, sizeof(name), "dimension %d of the result", (int)d);
  return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_number(0), byoc_side(dim, name));
}

byoc_status_t byoc_infer_need_list(const byoc_infer_t *infer, uint32_t index, int64_t count) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  if (!type) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_integer, "a list of integers"));
  int64_t given = byoc_type_element_count(type);
  if (given < 0) return byoc_infer_need_count(infer, index, byoc_side_number(count));
  if (given == count) return BYOC_OK;
  char text[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand %u: expected %lld integer%s, got %s", index, (long long)count,
                          byoc_plural((uint64_t)count), byoc_type_text(type, text));
}

byoc_status_t byoc_infer_need_one(const byoc_infer_t *infer, uint32_t index) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  if (!type) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_value, "a number"));
  if (!byoc_is_ranked(type)) return BYOC_OK;
  for (int32_t d = 0; d < type->rank; ++d) {
    if (!byoc_dim_is_constant(type->dims[d])) {
      BYOC_RETURN_IF_ERROR(
          byoc_infer_relate(infer, BYOC_RELATION_EQUAL, byoc_side_of(infer, index, d), byoc_side_number(1)));
    }
    if (!byoc_dim_is_constant(type->dims[d]) || type->dims[d].constant == 1) continue;
    char text[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "operand %u: expected one number, got %s", index, byoc_type_text(type, text));
  }
  return BYOC_OK;
}

static bool fits(const byoc_type_t *given, const byoc_type_t *type, int32_t cut) {
  if (!given || !type || given->kind == BYOC_TYPE_UNKNOWN || type->kind == BYOC_TYPE_UNKNOWN) return true;
  if (given->kind != type->kind) return false;
  if (given->kind != BYOC_TYPE_TENSOR) return fits(given->element, type->element, cut);
  if (given->dtype != type->dtype) return false;
  if (!byoc_is_ranked(given) || !byoc_is_ranked(type)) return true;
  if (given->rank != type->rank + cut) return false;
  for (int32_t d = 0; cut == 0 && d < type->rank; ++d) {
    bool both = byoc_dim_is_constant(given->dims[d]) && byoc_dim_is_constant(type->dims[d]);
    if (both && given->dims[d].constant != type->dims[d].constant) return false;
  }
  return true;
}

byoc_status_t byoc_infer_need_fit(const byoc_infer_t *infer, uint32_t index, const byoc_type_t *type, int32_t cut) {
  const byoc_type_t *given = byoc_operand_type(infer->node, index);
  if (fits(given, type, cut)) return BYOC_OK;
  char a[BYOC_TYPE_TEXT_SIZE], b[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand %u: %s does not fit the block's parameter of type %s", index,
                          byoc_type_text(given, a), byoc_type_text(type, b));
}

// ---- integers ----
byoc_known_t byoc_read_ints(const byoc_node_t *node, const char *name, int32_t operand, byoc_ints_t *out_ints) {
  out_ints->count = 0;
  const byoc_attribute_t *attribute = name ? byoc_attributes_find(&node->attributes, name) : NULL;
  if (attribute && attribute->kind == BYOC_ATTRIBUTE_INT) {
    out_ints->values[out_ints->count++] = attribute->i;
    return BYOC_KNOWN_YES;
  }
  if (attribute && attribute->kind == BYOC_ATTRIBUTE_INTS) {
    if (attribute->count > BYOC_MAX_INTS) return BYOC_KNOWN_NO;
    for (size_t i = 0; i < attribute->count; ++i) out_ints->values[out_ints->count++] = attribute->ints[i];
    return BYOC_KNOWN_YES;
  }
  if (operand < 0 || !byoc_has_operand(node, (uint32_t)operand)) return BYOC_KNOWN_ABSENT;
  const byoc_value_t *value = node->operands[operand];
  if (!byoc_value_is_constant(value) || !byoc_dtype_is_integer(value->type->dtype)) return BYOC_KNOWN_NO;
  int64_t count = byoc_type_element_count(value->type);
  if (count < 0 || count > BYOC_MAX_INTS) return BYOC_KNOWN_NO;
  for (int64_t i = 0; i < count; ++i) {
    out_ints->values[out_ints->count++] = byoc_constant_element_i64(value->constant, i);
  }
  return BYOC_KNOWN_YES;
}

bool byoc_normalize_axis(int64_t axis, int64_t rank, int32_t *out_axis) {
  if (axis < -rank || axis >= rank) return false;
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return true;
}

byoc_status_t byoc_infer_axis(const byoc_infer_t *infer, const char *name, int64_t rank, int32_t *out_axis) {
  int64_t axis = byoc_node_int(infer->node, name);
  if (byoc_normalize_axis(axis, rank, out_axis)) return BYOC_OK;
  return byoc_infer_error(infer, "attribute '%s': expected a value in [%lld, %lld], got %lld", name, (long long)-rank,
                          (long long)rank - 1, (long long)axis);
}

int32_t byoc_node_axis(const byoc_node_t *node, const char *name, int64_t rank) {
  int64_t axis = byoc_node_int(node, name);
  return (int32_t)(axis < 0 ? axis + rank : axis);
}

// ---- result types ----
// Does the number of elements, and of bytes, stay far below overflow?
static bool has_count(int32_t rank, const byoc_dim_t *dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i) {
    if (!byoc_dim_is_constant(dims[i])) continue;
    if (dims[i].constant == 0) return true;
  }
  for (int32_t i = 0; i < rank; ++i) {
    if (byoc_dim_is_constant(dims[i]) && __builtin_mul_overflow(count, dims[i].constant, &count)) return false;
  }
  return count <= INT64_MAX / 64;
}

byoc_status_t byoc_infer_set(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype, int32_t rank,
                             const byoc_dim_t *dims) {
  if (rank > BYOC_MAX_RANK) {
    return byoc_infer_error(infer, "result %u would have rank %d; at most %d is supported", result, rank,
                            BYOC_MAX_RANK);
  }
  for (int32_t i = 0; i < rank; ++i) {
    if (byoc_dim_is_constant(dims[i]) && dims[i].constant < 0) {
      return byoc_infer_error(infer, "result %u would have the negative dimension %lld at index %d", result,
                              (long long)dims[i].constant, i);
    }
  }
  if (!has_count(rank, dims)) return byoc_infer_error(infer, "result %u would have too many elements", result);
  for (int32_t i = 0; infer->relations && i < rank; ++i) {
    if (byoc_dim_is_constant(dims[i]) || byoc_dim_is_leaf(dims[i])) continue;
    char name[48];
    snprintf(name, sizeof name, "dimension %d of result %u", (int)i, (unsigned)result);
    BYOC_RETURN_IF_ERROR(
        byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_number(0), byoc_side(dims[i], name)));
  }
  const byoc_type_t *type = byoc_type_tensor(infer->arena, dtype, rank, dims);
  if (!type) return byoc_diag_out_of_memory(infer->diag);
  if (byoc_has_result(infer->node, result)) infer->node->results[result]->type = type;
  return BYOC_OK;
}

byoc_status_t byoc_infer_set_unranked(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype) {
  const byoc_type_t *type = byoc_type_tensor(infer->arena, dtype, BYOC_RANK_UNKNOWN, NULL);
  if (!type) return byoc_diag_out_of_memory(infer->diag);
  if (byoc_has_result(infer->node, result)) infer->node->results[result]->type = type;
  return BYOC_OK;
}

byoc_status_t byoc_infer_set_open_rank(const byoc_infer_t *infer, byoc_dtype_t dtype, int32_t other,
                                       byoc_dim_kind_t kind, uint32_t list) {
  const byoc_type_t *type = byoc_operand_type(infer->node, list);
  bool failed = false;
  if (infer->relations && byoc_is_ranked(type) && type->rank == 1) {
    infer->relations->rank = byoc_infer_dim(infer, kind, byoc_dim_constant(other), type->dims[0], &failed);
    infer->relations->has_rank = true;
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set_unranked(infer, 0, dtype);
}

byoc_status_t byoc_infer_set_unknown(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype, int32_t rank) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t i = 0; i < rank && i < BYOC_MAX_RANK; ++i) dims[i] = byoc_infer_unknown_dim(infer, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, result, dtype, rank, dims);
}

byoc_status_t byoc_infer_set_like(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype,
                                  const byoc_type_t *type) {
  if (!byoc_is_ranked(type)) return byoc_infer_set_unranked(infer, result, dtype);
  return byoc_infer_set(infer, result, dtype, type->rank, type->dims);
}

byoc_status_t byoc_infer_same(byoc_infer_t *infer) {
  const byoc_type_t *type = byoc_operand_type(infer->node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  if (byoc_has_result(infer->node, 0)) infer->node->results[0]->type = type;
  return BYOC_OK;
}

// ---- dimensions ----
byoc_dim_t byoc_infer_dim(const byoc_infer_t *infer, byoc_dim_kind_t kind, byoc_dim_t a, byoc_dim_t b, bool *failed) {
  return byoc_dim_binary(infer->arena, kind, a, b, failed);
}

byoc_dim_t byoc_infer_unknown_dim(const byoc_infer_t *infer, bool *failed) {
  return byoc_dim_unknown(infer->arena, (*infer->next_unknown)++, failed);
}

bool byoc_broadcast_dim(const byoc_infer_t *infer, byoc_side_t left, byoc_side_t right, byoc_dim_t *out, bool *failed) {
  byoc_dim_t a = left.dim, b = right.dim;
  bool both = byoc_dim_is_constant(a) && byoc_dim_is_constant(b);
  if (!both && byoc_infer_relate(infer, BYOC_RELATION_BROADCASTS, left, right) != BYOC_OK) *failed = true;
  *out = a;
  if (byoc_dim_equal(a, b)) return true;
  if (byoc_dim_is_constant(b)) {
    if (b.constant == 1) return true;
    *out = b;
    return !byoc_dim_is_constant(a) || a.constant == 1;
  }
  if (byoc_dim_is_constant(a)) {
    if (a.constant == 1) *out = b;
    return true;
  }
  *out = byoc_infer_dim(infer, BYOC_DIM_BROADCAST, a, b, failed); // the relation above holds at run time
  return true;
}

byoc_status_t byoc_infer_broadcast(const byoc_infer_t *infer, byoc_dtype_t dtype) {
  const byoc_node_t *node = infer->node;
  int32_t rank = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (!byoc_is_ranked(type)) return byoc_infer_set_unranked(infer, 0, dtype);
    if (type->rank > rank) rank = type->rank;
  }
  byoc_side_t sides[BYOC_MAX_RANK]; // the side of each dimension, by the operands so far
  for (int32_t d = 0; d < rank; ++d) sides[d] = byoc_side_number(1);
  bool failed = false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    for (int32_t d = 0; d < type->rank; ++d) {
      byoc_side_t *at = &sides[rank - type->rank + d], own = byoc_side_of(infer, i, d);
      byoc_dim_t dim;
      if (!byoc_broadcast_dim(infer, *at, own, &dim, &failed)) {
        char a[BYOC_TYPE_TEXT_SIZE], b[BYOC_TYPE_TEXT_SIZE];
        return byoc_infer_error(infer, "operand %u: %s does not broadcast against %s (dimension %d)", i,
                                byoc_type_text(type, a), byoc_type_text(byoc_operand_type(node, 0), b), d);
      }
      if (byoc_dim_equal(dim, at->dim)) continue;
      *at = byoc_dim_equal(dim, own.dim) ? own : byoc_side(dim, "the same dimension of the operands before it");
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) dims[d] = sides[d].dim;
  return byoc_infer_set(infer, 0, dtype, rank, dims);
}

// ---- nodes of byoc's own that inference knows ----

const byoc_op_t *byoc_result_shape_of(const byoc_node_t *node) {
  if (!byoc_node_is(node, "byoc", "ResultShape")) return NULL;
  return byoc_op_find(byoc_attributes_string(&node->attributes, BYOC_ATTRIBUTE_OF_DOMAIN, ""),
                      byoc_attributes_string(&node->attributes, BYOC_ATTRIBUTE_OF_OP, ""),
                      (int32_t)byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_OF_VERSION, 0));
}

int32_t byoc_result_rank(const byoc_node_t *node, uint32_t result) {
  size_t count = 0;
  const int64_t *ranks = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_RANKS, &count);
  return ranks && result < count ? (int32_t)ranks[result] : 0;
}
