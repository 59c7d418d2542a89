// SPDX-License-Identifier: Apache-2.0
// Implements byoc_lower_*, by which definitions of operators build kernels.
#include "core/op/lowering_context.h"

#include <stdarg.h>
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"

// Constants that operators need by value stay inside the kernel; a run-time index selects among at most this many.
#define MAX_SELECTED_CONSTANT 64

void byoc_lower_init(byoc_lower_t *lower, byoc_arena_t *arena, const char *name, byoc_lower_find_fn_t find,
                     byoc_diag_t *diag) {
  *lower = (byoc_lower_t){.diag = diag, .find = find};
  byoc_loop_builder_init(&lower->builder, arena, name);
  byoc_pointer_map_init(&lower->buffers, arena->allocator);
}

void byoc_lower_deinit(byoc_lower_t *lower) {
  byoc_map_deinit(&lower->buffers);
  byoc_vector_deinit(&lower->elements, lower->builder.arena->allocator);
  byoc_loop_builder_deinit(&lower->builder);
}

byoc_loop_builder_t *byoc_lower_builder(byoc_lower_t *lower) {
  return &lower->builder;
}

bool byoc_lower_is_out_of_memory(const byoc_lower_t *lower) {
  return lower->builder.arena->is_exhausted || (lower->builder.failed && !lower->refused);
}

byoc_status_t byoc_lower_unsupported(const byoc_lower_t *lower, const char *format, ...) {
  if (byoc_lower_is_out_of_memory(lower)) return byoc_diag_out_of_memory(lower->diag); // the cause of other failures
  va_list arguments;
  va_start(arguments, format);
  const byoc_status_t status = byoc_diag_errorv(lower->diag, BYOC_UNSUPPORTED, format, arguments);
  va_end(arguments);
  return status;
}

int32_t byoc_lower_vector_bytes(const byoc_lower_t *lower) {
  enum { WIDEST = 64 };
  const int32_t known = lower->function ? lower->function->module->vector_bytes : 0;
  return known > 0 ? known : WIDEST;
}

// Records that the definition loaded an element without a value. If the builder had failed before, memory had run out.
static const byoc_loop_expr_t *fail(byoc_lower_t *lower) {
  if (!lower->builder.failed) lower->refused = true;
  lower->builder.failed = true;
  return NULL;
}

static bool is_member(const byoc_lower_t *lower, const byoc_node_t *node) {
  for (uint32_t i = 0; i < lower->member_count; ++i)
    if (lower->members[i] == node) return true;
  return false;
}

// ---- known elements ----

static const byoc_loop_expr_t *find_element(const byoc_lower_t *lower, const byoc_value_t *value, int32_t rank,
                                            const byoc_loop_expr_t *const *indices) {
  for (size_t i = lower->elements.count; i > 0; --i) {
    const byoc_lower_element_t *element = &lower->elements.data[i - 1];
    if (element->value != value) continue;
    if (value->node && is_member(lower, value->node)) return element->expr; // only the latest element counts
    bool equal = element->rank == rank;
    for (int32_t d = 0; d < rank && equal; ++d) equal = byoc_loop_expr_equal(element->indices[d], indices[d]);
    if (equal) return element->expr;
  }
  return NULL;
}

static void keep_element(byoc_lower_t *lower, const byoc_value_t *value, int32_t rank,
                         const byoc_loop_expr_t *const *indices, const byoc_loop_expr_t *expr) {
  byoc_lower_element_t element = {.value = value, .rank = rank, .expr = expr};
  if (rank > 0) memcpy(element.indices, indices, sizeof(*indices) * (size_t)rank);
  if (!byoc_vector_push(&lower->elements, lower->builder.arena->allocator, element)) lower->builder.failed = true;
}

size_t byoc_lower_begin_element(byoc_lower_t *lower) {
  ++lower->frames;
  return lower->elements.count;
}

void byoc_lower_end_element(byoc_lower_t *lower, size_t mark) {
  --lower->frames;
  lower->elements.count = mark;
}

// Gives a costly value a name, so that it is computed once, even if it is read several times.
static const byoc_loop_expr_t *name_value(byoc_lower_t *lower, const byoc_loop_expr_t *expr) {
  if (!expr || expr->kind == BYOC_LOOP_LOAD) return expr;
  return byoc_loop_let(&lower->builder, "v", expr);
}

// ---- loads ----

static const byoc_loop_expr_t *literal(byoc_lower_t *lower, const byoc_constant_t *constant, int64_t index) {
  byoc_dtype_t dtype = constant->type->dtype;
  if (byoc_loop_is_float(dtype))
    return byoc_loop_const(&lower->builder, dtype, byoc_constant_element_f64(constant, index));
  if (!byoc_loop_is_scalar(dtype)) return fail(lower);
  return byoc_loop_const_int(&lower->builder, dtype, byoc_constant_element_i64(constant, index));
}

static const byoc_loop_expr_t *load_constant(byoc_lower_t *lower, const byoc_constant_t *constant,
                                             const byoc_loop_expr_t *index) {
  int64_t position, count = byoc_type_element_count(constant->type);
  if (!index) return fail(lower);
  if (count == 1) return literal(lower, constant, 0);
  if (byoc_loop_is_int(index, &position))
    return position >= 0 && position < count ? literal(lower, constant, position) : fail(lower);
  if (count < 1 || count > MAX_SELECTED_CONSTANT) return fail(lower);
  const byoc_loop_expr_t *value = literal(lower, constant, count - 1);
  for (int64_t i = count - 1; i > 0; --i) {
    const byoc_loop_expr_t *below =
        byoc_loop_binary(&lower->builder, BYOC_LOOP_OP_LT, index, byoc_loop_int(&lower->builder, i));
    value = byoc_loop_select(&lower->builder, below, literal(lower, constant, i - 1), value);
  }
  return value;
}

// The buffer of a parameter; NULL in a trial and for values that the kernel computes.
static const byoc_loop_buffer_t *buffer_of(const byoc_lower_t *lower, const byoc_value_t *value) {
  if (!lower->function || !value || value->kind != BYOC_VALUE_PARAMETER) return NULL;
  return byoc_pointer_map_get(&lower->buffers, value);
}

static const byoc_loop_expr_t *load_value(byoc_lower_t *lower, const byoc_value_t *value,
                                          const byoc_loop_expr_t *const *indices);

const byoc_loop_expr_t *byoc_lower_point(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                         const byoc_loop_expr_t *const *indices) {
  byoc_lower_definition_t definition = lower->find(node);
  if (!definition.point) return fail(lower);
  lower->guarded += !definition.is_elementwise;
  const byoc_loop_expr_t *expr = definition.point(lower, node, result, indices);
  lower->guarded -= !definition.is_elementwise;
  return expr;
}

// The element of an inlined producer.
static const byoc_loop_expr_t *compute_element(byoc_lower_t *lower, const byoc_value_t *value,
                                               const byoc_loop_expr_t *const *indices) {
  if (is_member(lower, value->node)) return fail(lower);
  const byoc_loop_expr_t *expr = byoc_lower_point(lower, value->node, value->index, indices);
  if (!expr) return fail(lower);
  if (lower->guarded == 0 && lower->frames > 0) expr = name_value(lower, expr);
  if (lower->frames > 0) keep_element(lower, value, value->type->rank, indices, expr);
  return expr;
}

static const byoc_loop_expr_t *load_value(byoc_lower_t *lower, const byoc_value_t *value,
                                          const byoc_loop_expr_t *const *indices) {
  if (!value || !byoc_type_is_tensor(value->type) || value->type->rank < 0) return fail(lower);
  byoc_loop_builder_t *builder = &lower->builder;
  const byoc_type_t *type = value->type;
  if (lower->function == NULL) { // a trial: one load per operand and element
    if (byoc_value_is_constant(value) && byoc_type_element_count(type) == 1) return literal(lower, value->constant, 0);
    const byoc_loop_expr_t *known = find_element(lower, value, type->rank, indices);
    if (known) return known;
    byoc_loop_buffer_t *buffer = BYOC_ARENA_NEW(builder->arena, byoc_loop_buffer_t);
    if (!buffer) {
      lower->builder.failed = true;
      return NULL;
    }
    byoc_dtype_t dtype = type->dtype == BYOC_DTYPE_STRING ? BYOC_DTYPE_U64 : type->dtype;
    *buffer = (byoc_loop_buffer_t){.name = "x", .kind = BYOC_LOOP_BUFFER_INPUT, .dtype = dtype};
    const byoc_loop_expr_t *load =
        byoc_loop_load(builder, buffer, byoc_loop_linear_index(builder, type->rank, type->dims, indices));
    if (load) keep_element(lower, value, type->rank, indices, load);
    return load;
  }
  const byoc_loop_expr_t *known = find_element(lower, value, type->rank, indices);
  if (known) return known;
  if (value->kind == BYOC_VALUE_RESULT) return compute_element(lower, value, indices);
  const byoc_loop_expr_t *index = byoc_loop_linear_index(builder, type->rank, type->dims, indices);
  if (byoc_value_is_constant(value)) return load_constant(lower, value->constant, index);
  const byoc_loop_buffer_t *buffer = buffer_of(lower, value);
  return buffer ? byoc_loop_load(builder, buffer, index) : fail(lower);
}

static const byoc_value_t *operand_of(const byoc_node_t *node, uint32_t operand) {
  return operand < node->operand_count ? node->operands[operand] : NULL;
}

const byoc_loop_expr_t *byoc_lower_load(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                        const byoc_loop_expr_t *const *indices) {
  return load_value(lower, operand_of(node, operand), indices);
}

const byoc_loop_expr_t *byoc_lower_load_broadcast(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                                  int32_t rank, const byoc_loop_expr_t *const *indices) {
  const byoc_value_t *value = operand_of(node, operand);
  if (!value || !byoc_type_is_tensor(value->type) || value->type->rank < 0 || value->type->rank > rank)
    return fail(lower);
  byoc_loop_builder_t *builder = &lower->builder;
  const byoc_type_t *type = value->type, *full = node->result_count > 0 ? node->results[0]->type : NULL;
  const byoc_loop_expr_t *own[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    int32_t axis = rank - type->rank + d;
    own[d] = indices[axis];
    if (byoc_dim_is_constant(type->dims[d])) {
      if (type->dims[d].constant == 1) own[d] = byoc_loop_int(builder, 0);
      continue;
    }
    if (byoc_type_is_tensor(full) && full->rank == rank && byoc_dim_equal(full->dims[axis], type->dims[d])) continue;
    // 1 or the full extent, which is known only at run time
    const byoc_loop_expr_t *last = BYOC_LSUB(builder, byoc_loop_dim(builder, type->dims[d]), byoc_loop_int(builder, 1));
    own[d] = byoc_loop_binary(builder, BYOC_LOOP_OP_MIN, own[d], last);
  }
  return load_value(lower, value, own);
}

const byoc_loop_expr_t *byoc_lower_load_flat(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                             const byoc_loop_expr_t *index) {
  const byoc_value_t *value = operand_of(node, operand);
  if (!value || !index || !byoc_type_is_tensor(value->type) || value->type->rank < 0) return fail(lower);
  byoc_loop_builder_t *builder = &lower->builder;
  const byoc_loop_buffer_t *buffer = buffer_of(lower, value);
  const byoc_type_t *type = value->type;
  int64_t position = 0, count = byoc_type_element_count(type);
  if (count >= 0 && byoc_loop_is_int(index, &position) && (position < 0 || position >= count)) return fail(lower);
  if (buffer) return byoc_loop_load(builder, buffer, index);
  const byoc_loop_expr_t *own[BYOC_MAX_RANK];
  for (int32_t d = type->rank - 1; d >= 0; --d) {
    const byoc_loop_expr_t *extent = byoc_loop_dim(builder, type->dims[d]);
    own[d] = d == 0 ? index : byoc_loop_binary(builder, BYOC_LOOP_OP_MOD, index, extent);
    if (d > 0) index = byoc_loop_binary(builder, BYOC_LOOP_OP_FLOORDIV, index, extent);
  }
  return load_value(lower, value, own);
}

const byoc_loop_buffer_t *byoc_lower_operand_buffer(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand) {
  return buffer_of(lower, operand_of(node, operand));
}

// ---- stores ----

static void store_output(byoc_lower_t *lower, const byoc_value_t *value, const byoc_loop_expr_t *const *indices,
                         const byoc_loop_expr_t *expr) {
  const byoc_loop_buffer_t *buffer = byoc_pointer_map_get(&lower->buffers, value);
  if (!buffer) return;
  byoc_loop_store(&lower->builder, buffer,
                  byoc_loop_linear_index(&lower->builder, value->type->rank, value->type->dims, indices), expr);
}

void byoc_lower_store(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                      const byoc_loop_expr_t *const *indices, const byoc_loop_expr_t *value) {
  if (!value || result >= node->result_count) {
    fail(lower);
    return;
  }
  if (!lower->function) return;
  const byoc_value_t *stored = node->results[result];
  size_t mark = byoc_lower_begin_element(lower);
  if (stored->uses.count > 0) {
    bool feeds_epilogue = lower->member_count > 1 && node == lower->members[0];
    if (feeds_epilogue) value = name_value(lower, value);
    store_output(lower, stored, indices, value);
    if (feeds_epilogue) {
      keep_element(lower, stored, stored->type->rank, indices, value);
      for (uint32_t m = 1; m < lower->member_count && !lower->builder.failed; ++m) {
        const byoc_node_t *member = lower->members[m];
        const byoc_loop_expr_t *expr = byoc_lower_point(lower, member, 0, indices);
        if (m + 1 < lower->member_count) expr = name_value(lower, expr);
        if (!expr) break;
        store_output(lower, member->results[0], indices, expr);
        keep_element(lower, member->results[0], stored->type->rank, indices, expr);
      }
    }
  }
  byoc_lower_end_element(lower, mark);
}

bool byoc_lower_result_buffer(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                              const byoc_loop_buffer_t **out_buffer) {
  *out_buffer = NULL;
  if (!lower->function || result >= node->result_count) return false;
  const byoc_value_t *value = node->results[result];
  for (size_t i = 0; i < value->uses.count; ++i)
    if (value->uses.data[i].node) return false;
  *out_buffer = byoc_pointer_map_get(&lower->buffers, value);
  return *out_buffer != NULL;
}
