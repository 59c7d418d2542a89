// byoc_lower_*: what the operators' definitions build with (declared in core/ops/op.h).
#include "core/kernel/lower_context.h"

#include <ctype.h>
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"
#include "core/kernel/fuse.h"

// Constants that operators need by value stay inside the kernel; a run-time index picks among so many at most.
#define MAX_SELECTED_CONSTANT 64

byoc_loop_builder_t *byoc_lower_builder(byoc_lower_t *lower) {
  return &lower->builder;
}

// Notes that the definition asked for what cannot be had; a builder that failed before lacked memory.
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

// ---- elements at hand ----

static const byoc_loop_expr_t *find_element(const byoc_lower_t *lower, const byoc_value_t *value, int32_t rank,
                                            const byoc_loop_expr_t *const *indices) {
  for (size_t i = lower->elements.count; i > 0; --i) {
    const byoc_lower_element_t *element = &lower->elements.data[i - 1];
    if (element->value != value) continue;
    if (value->node && is_member(lower, value->node)) return element->expr; // one element at a time
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

static void begin_frame(byoc_lower_t *lower) {
  ++lower->frames;
}
static void end_frame(byoc_lower_t *lower, size_t mark) {
  --lower->frames;
  lower->elements.count = mark;
}

// Names a value that costs something, so that it is computed once however often it is read.
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

// The buffer that holds a value: a parameter's; NULL for values computed or written out in the kernel.
static const byoc_loop_buffer_t *buffer_of(const byoc_lower_t *lower, const byoc_value_t *value) {
  if (!lower->function || !value || value->kind != BYOC_VALUE_PARAMETER) return NULL;
  return byoc_pointer_map_get(&lower->buffers, value);
}

static const byoc_loop_expr_t *load_value(byoc_lower_t *lower, const byoc_value_t *value,
                                          const byoc_loop_expr_t *const *indices);

// The element of an inlined producer.
static const byoc_loop_expr_t *compute_element(byoc_lower_t *lower, const byoc_value_t *value,
                                               const byoc_loop_expr_t *const *indices) {
  const byoc_node_t *node = value->node;
  const byoc_op_t *op = byoc_op_of(node);
  if (!op || !op->point || is_member(lower, node)) return fail(lower);
  bool may_guard = !(op->traits & BYOC_OP_ELEMENTWISE);
  lower->guarded += may_guard;
  const byoc_loop_expr_t *expr = op->point(lower, node, value->index, indices);
  lower->guarded -= may_guard;
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
  if (lower->function == NULL) { // a trial: one load an operand and element
    if (byoc_value_is_constant(value) && byoc_type_element_count(type) == 1) return literal(lower, value->constant, 0);
    const byoc_loop_expr_t *known = find_element(lower, value, type->rank, indices);
    if (known) return known;
    byoc_loop_buffer_t *buffer = BYOC_ARENA_NEW(builder->arena, byoc_loop_buffer_t);
    if (!buffer) {
      lower->builder.failed = true;
      return NULL;
    }
    *buffer = *lower->trial;
    buffer->dtype = type->dtype == BYOC_DTYPE_STRING ? BYOC_DTYPE_U64 : type->dtype;
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
    // 1 or the full extent, which is known at run time only
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
  size_t mark = lower->elements.count;
  begin_frame(lower);
  if (stored->uses.count > 0) {
    bool feeds_epilogue = lower->member_count > 1 && node == lower->members[0];
    if (feeds_epilogue) value = name_value(lower, value);
    store_output(lower, stored, indices, value);
    if (feeds_epilogue) {
      keep_element(lower, stored, stored->type->rank, indices, value);
      for (uint32_t m = 1; m < lower->member_count && !lower->builder.failed; ++m) {
        const byoc_node_t *member = lower->members[m];
        const byoc_op_t *op = byoc_op_of(member);
        const byoc_loop_expr_t *expr = op->point(lower, member, 0, indices);
        if (m + 1 < lower->member_count) expr = name_value(lower, expr);
        if (!expr) break;
        store_output(lower, member->results[0], indices, expr);
        keep_element(lower, member->results[0], stored->type->rank, indices, expr);
      }
    }
  }
  end_frame(lower, mark);
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

// ---- one function ----

// Loops move texts as the 8 bytes that their addresses are.
static const byoc_type_t *buffer_type(byoc_lower_t *lower, const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type) || type->dtype != BYOC_DTYPE_STRING) return type;
  return byoc_type_tensor(lower->builder.arena, BYOC_DTYPE_U64, type->rank, type->dims);
}

static byoc_status_t declare_parameters(byoc_lower_t *lower, byoc_function_t *function) {
  for (size_t i = 0; i < function->body->parameters.count; ++i) {
    byoc_value_t *value = function->body->parameters.data[i];
    char name[32];
    snprintf(name, sizeof(name), "in%zu", i);
    const byoc_type_t *type = buffer_type(lower, value->type);
    byoc_loop_buffer_t *buffer = type ? byoc_loop_parameter(&lower->builder, BYOC_LOOP_BUFFER_INPUT, name, type) : NULL;
    if (!buffer || !byoc_pointer_map_put(&lower->buffers, value, buffer)) return byoc_diag_out_of_memory(lower->diag);
  }
  for (size_t i = 0; i < function->body->results.count; ++i) {
    byoc_value_t *value = function->body->results.data[i];
    char name[32];
    snprintf(name, sizeof(name), "out%zu", i);
    const byoc_type_t *type = buffer_type(lower, value->type);
    byoc_loop_buffer_t *buffer =
        type ? byoc_loop_parameter(&lower->builder, BYOC_LOOP_BUFFER_OUTPUT, name, type) : NULL;
    if (!buffer || !byoc_pointer_map_put(&lower->buffers, value, buffer)) return byoc_diag_out_of_memory(lower->diag);
  }
  return BYOC_OK;
}

// "Conv+Relu 'conv1'"
static const char *describe(byoc_lower_t *lower) {
  byoc_string_t text;
  byoc_string_init(&text, lower->builder.arena->allocator);
  BYOC_FOR_EACH_NODE(node, lower->function->body) {
    if (byoc_node_is(node, "byoc", "ShapeOnly")) continue;
    if (text.size > 0) byoc_string_append(&text, "+");
    byoc_string_append(&text, node->op);
  }
  const char *name = lower->members[0]->name;
  if (name && *name) byoc_string_appendf(&text, " '%s'", name);
  const char *description = text.failed ? NULL : byoc_arena_copy_string(lower->builder.arena, text.data);
  byoc_string_deinit(&text);
  return description;
}

byoc_status_t byoc_lower_function(byoc_function_t *function, byoc_node_t *const *members, uint32_t member_count,
                                  byoc_diag_t *diag) {
  byoc_lower_t lower = {.diag = diag, .function = function, .members = members, .member_count = member_count};
  const byoc_node_t *anchor = members[0];
  const byoc_op_t *op = byoc_op_of(anchor);
  char text[256];
  byoc_node_describe(anchor, text, sizeof(text));
  byoc_loop_builder_init(&lower.builder, &function->module->arena, function->name);
  byoc_pointer_map_init(&lower.buffers, function->module->allocator);
  byoc_status_t status = lower.builder.failed ? byoc_diag_out_of_memory(diag) : declare_parameters(&lower, function);
  if (status == BYOC_OK) {
    if (op->loops)
      status = op->loops(&lower, anchor);
    else
      status = byoc_lower_point_anchor(&lower, anchor, op);
  }
  if (status == BYOC_OK && lower.builder.failed)
    status = !lower.refused
                 ? byoc_diag_out_of_memory(diag)
                 : byoc_diag_error(diag, BYOC_UNSUPPORTED, "its definition cannot be lowered for these operands");
  if (status == BYOC_OK) {
    byoc_loop_kernel_t *kernel = lower.builder.kernel;
    kernel->description = describe(&lower);
    if (!kernel->description)
      status = byoc_diag_out_of_memory(diag);
    else if ((status = byoc_loop_verify(kernel, diag)) == BYOC_OK)
      function->kernel = kernel;
  }
  if (status != BYOC_OK) byoc_diag_context(diag, status, "lowering %s", text);
  byoc_map_deinit(&lower.buffers);
  byoc_vector_deinit(&lower.elements, lower.builder.arena->allocator);
  byoc_loop_builder_deinit(&lower.builder);
  return status;
}

// ---- trial lowering ----

#define MAX_COST_VISITS 4096

static uint32_t op_weight(byoc_loop_op_t op, byoc_dtype_t dtype) {
  switch (op) {
  case BYOC_LOOP_OP_DIV:
  case BYOC_LOOP_OP_SQRT:
  case BYOC_LOOP_OP_FLOORDIV:
  case BYOC_LOOP_OP_MOD:
    return byoc_loop_is_float(dtype) ? 4 : 6;
  case BYOC_LOOP_OP_FMOD:
    return 10;
  case BYOC_LOOP_OP_POW:
  case BYOC_LOOP_OP_ATAN2:
    return 20;
  default:
    return op >= BYOC_LOOP_OP_EXP && op <= BYOC_LOOP_OP_ERF ? 12 : 1;
  }
}

typedef struct cost_t {
  uint32_t operations, reads, visits;
} cost_t;

static void add_cost(cost_t *cost, const byoc_loop_expr_t *expr) {
  if (++cost->visits > MAX_COST_VISITS) return;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    ++cost->reads;
    break;
  case BYOC_LOOP_OP:
    cost->operations += op_weight(expr->op.op, expr->op.operands[0]->dtype);
    add_cost(cost, expr->op.operands[0]);
    if (expr->op.operands[1]) add_cost(cost, expr->op.operands[1]);
    break;
  case BYOC_LOOP_SELECT:
    ++cost->operations;
    add_cost(cost, expr->select.condition);
    add_cost(cost, expr->select.yes);
    add_cost(cost, expr->select.no);
    break;
  case BYOC_LOOP_CAST:
    ++cost->operations;
    add_cost(cost, expr->cast);
    break;
  default:
    break;
  }
}

bool byoc_point_cost(byoc_fuse_node_t *entry, byoc_allocator_t allocator) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_lower_t lower = {.function = NULL};
  byoc_loop_buffer_t buffer = {.name = "x", .kind = BYOC_LOOP_BUFFER_INPUT};
  lower.trial = &buffer;
  byoc_loop_builder_init(&lower.builder, &arena, "trial");
  uint32_t worst = 0, loads = 0, reads = 0;
  bool fine = !lower.builder.failed;
  for (uint32_t r = 0; r < entry->node->result_count && fine; ++r) {
    const byoc_type_t *type = entry->node->results[r]->type;
    if (entry->node->results[r]->uses.count == 0) continue;
    const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
    for (int32_t d = 0; d < type->rank; ++d)
      indices[d] = byoc_loop_for(&lower.builder, BYOC_LOOP_SERIAL, "i", byoc_loop_int(&lower.builder, 0),
                                 byoc_loop_dim(&lower.builder, type->dims[d]));
    lower.elements.count = 0;
    const byoc_loop_expr_t *expr = lower.builder.failed ? NULL : entry->op->point(&lower, entry->node, r, indices);
    fine = expr && !lower.builder.failed;
    if (!fine) break;
    cost_t cost = {0};
    add_cost(&cost, expr);
    fine = cost.visits <= MAX_COST_VISITS;
    if (cost.operations > worst) worst = cost.operations;
    if (cost.reads > reads) reads = cost.reads;
    if (lower.elements.count > loads) loads = (uint32_t)lower.elements.count;
  }
  entry->cost = worst, entry->loads = loads, entry->reads = reads;
  byoc_vector_deinit(&lower.elements, allocator);
  byoc_loop_builder_deinit(&lower.builder);
  byoc_arena_deinit(&arena);
  return fine;
}
