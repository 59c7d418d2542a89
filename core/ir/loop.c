// SPDX-License-Identifier: Apache-2.0
// The builder's statements. Expressions are made in loop_expr.c.
#include "core/ir/loop.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/loop_range.h"

typedef struct op_row_t {
  const char *name;
  uint8_t operand_count, category;
} op_row_t;
static const op_row_t ops[BYOC_LOOP_OP_COUNT] = {
#define BYOC_LOOP_OP_ROW(NAME, text, operands, CATEGORY) [BYOC_LOOP_OP_##NAME] = {text, operands, BYOC_LOOP_##CATEGORY},
#include "core/ir/loop_op.def"
};

const char *byoc_loop_op_name(byoc_loop_op_t op) {
  return (unsigned)op < BYOC_LOOP_OP_COUNT ? ops[op].name : "?";
}

uint32_t byoc_loop_op_operand_count(byoc_loop_op_t op) {
  return (unsigned)op < BYOC_LOOP_OP_COUNT ? ops[op].operand_count : 0;
}

byoc_loop_category_t byoc_loop_op_category(byoc_loop_op_t op) {
  return (unsigned)op < BYOC_LOOP_OP_COUNT ? (byoc_loop_category_t)ops[op].category : BYOC_LOOP_ARITHMETIC;
}

// ---- blocks ----

static byoc_loop_stmt_t *new_stmt(byoc_loop_builder_t *builder, byoc_loop_stmt_kind_t kind) {
  byoc_loop_stmt_t *stmt = BYOC_ARENA_NEW(builder->arena, byoc_loop_stmt_t);
  if (!stmt)
    builder->failed = true;
  else
    stmt->kind = kind;
  return stmt;
}

static byoc_loop_stmt_t *append(byoc_loop_builder_t *builder, byoc_loop_stmt_kind_t kind) {
  byoc_loop_stmt_t *stmt = new_stmt(builder, kind);
  if (!stmt || builder->open.count == 0) {
    builder->failed = true;
    return NULL;
  }
  byoc_loop_stmt_t *block = builder->open.data[builder->open.count - 1];
  if (!byoc_vector_push(&block->block.statements, byoc_arena_allocator(builder->arena), stmt)) {
    builder->failed = true;
    return NULL;
  }
  return stmt;
}

// Opens a block even after a failure, so that every byoc_loop_end can close one.
static byoc_loop_stmt_t *open_block(byoc_loop_builder_t *builder) {
  byoc_loop_stmt_t *block = new_stmt(builder, BYOC_LOOP_BLOCK);
  if (!block || !byoc_vector_push(&builder->open, byoc_arena_allocator(builder->arena), block)) builder->failed = true;
  return block;
}

void byoc_loop_builder_init(byoc_loop_builder_t *builder, byoc_arena_t *arena, const char *name) {
  *builder = (byoc_loop_builder_t){.arena = arena};
  builder->kernel = BYOC_ARENA_NEW(arena, byoc_loop_kernel_t);
  if (!builder->kernel) {
    builder->failed = true;
    return;
  }
  builder->kernel->name = byoc_arena_copy_string(arena, name);
  builder->kernel->description = "";
  if (!builder->kernel->name) builder->failed = true;
  builder->kernel->body = open_block(builder);
}

void byoc_loop_builder_deinit(byoc_loop_builder_t *builder) {
  builder->open.count = 0; // all memory belongs to the arena
  builder->kernel = NULL;
}

// ---- names ----

static bool is_parameter_name(const byoc_loop_builder_t *builder, const char *name) {
  for (size_t i = 0; builder->kernel && i < builder->kernel->parameters.count; ++i)
    if (strcmp(builder->kernel->parameters.data[i]->name, name) == 0) return true;
  return false;
}

static bool ends_in_digit(const char *text) {
  size_t length = strlen(text);
  return length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9';
}

// `name` and the builder's next number. The final digits are that number alone, so that numbered names differ: "line"
// becomes "line15", and "line1" becomes "line1_5". A name that ends in an underscore gets another one, so that "t_"
// makes none of the emitter's names. A name that begins like a reserved name of C gets a letter first.
static const char *numbered_name(byoc_loop_builder_t *builder, const char *name) {
  char text[64];
  byoc_make_identifier(name && *name ? name : "v", text, sizeof(text) - 15);
  const char *prefix = byoc_loop_name_is_free(text) || text[0] != '_' ? "" : "v";
  if (strncmp(text, "byoc_", 5) == 0 || strncmp(text, "BYOC_", 5) == 0) prefix = "v_";
  const char *separator = ends_in_digit(text) || text[strlen(text) - 1] == '_' ? "_" : "";
  const char *result;
  do result = byoc_arena_format(builder->arena, "%s%s%s%u", prefix, text, separator, builder->next_name++);
  while (result && (!byoc_loop_name_is_free(result) || is_parameter_name(builder, result)));
  if (!result) builder->failed = true;
  return result;
}

byoc_loop_buffer_t *byoc_loop_parameter(byoc_loop_builder_t *builder, byoc_loop_buffer_kind_t kind, const char *name,
                                        const byoc_type_t *type) {
  byoc_loop_kernel_t *kernel = builder->kernel;
  byoc_loop_buffer_t *buffer = kernel ? BYOC_ARENA_NEW(builder->arena, byoc_loop_buffer_t) : NULL;
  if (!buffer || !byoc_type_is_tensor(type) || type->rank < 0) {
    builder->failed = true;
    return NULL;
  }
  char text[64];
  byoc_make_identifier(name, text, sizeof(text));
  bool may_be_numbered = builder->next_name > 0 && ends_in_digit(text);
  if (!byoc_loop_name_is_free(text) || is_parameter_name(builder, text) || may_be_numbered)
    buffer->name = numbered_name(builder, text);
  else
    buffer->name = byoc_arena_copy_string(builder->arena, text);
  buffer->kind = kind;
  buffer->dtype = type->dtype;
  buffer->rank = type->rank;
  buffer->dims = type->dims;
  buffer->index = (uint32_t)kernel->parameters.count;
  uint32_t bits = byoc_dtype_bits(type->dtype);
  buffer->alignment = bits < 8 ? 1 : bits / 8;
  if (!buffer->name || !byoc_vector_push(&kernel->parameters, byoc_arena_allocator(builder->arena), buffer)) {
    builder->failed = true;
    return NULL;
  }
  if (kind == BYOC_LOOP_BUFFER_INPUT)
    ++kernel->input_count;
  else
    ++kernel->output_count;
  return buffer;
}

byoc_loop_buffer_t *byoc_loop_allocate(byoc_loop_builder_t *builder, const char *name, byoc_dtype_t dtype,
                                       int64_t count) {
  byoc_loop_buffer_t *buffer = BYOC_ARENA_NEW(builder->arena, byoc_loop_buffer_t);
  byoc_dim_t *dims = BYOC_ARENA_NEW(builder->arena, byoc_dim_t);
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_ALLOCATE);
  if (!buffer || !dims || !stmt) {
    builder->failed = true;
    return NULL;
  }
  *dims = byoc_dim_constant(count);
  buffer->name = numbered_name(builder, name);
  buffer->kind = BYOC_LOOP_BUFFER_LOCAL;
  buffer->dtype = dtype;
  buffer->rank = 1;
  buffer->dims = dims;
  buffer->alignment = 64;
  stmt->allocate = buffer;
  return buffer->name ? buffer : NULL;
}

static byoc_loop_variable_info_t *new_variable(byoc_loop_builder_t *builder, const char *name, byoc_dtype_t dtype,
                                               bool is_mutable) {
  byoc_loop_variable_info_t *info = BYOC_ARENA_NEW(builder->arena, byoc_loop_variable_info_t);
  const char *unique = info ? numbered_name(builder, name) : NULL;
  if (!unique) {
    builder->failed = true;
    return NULL;
  }
  info->variable = (byoc_loop_variable_t){unique, dtype, is_mutable};
  return info;
}

// ---- statements ----

const byoc_loop_expr_t *byoc_loop_for(byoc_loop_builder_t *builder, byoc_loop_for_kind_t kind, const char *name,
                                      const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end) {
  int64_t first, last, low, high;
  if (byoc_loop_is_int(begin, &first) && byoc_loop_is_int(end, &last) && last - first == 1) {
    byoc_loop_stmt_t *scope = open_block(builder); // one iteration: no loop
    if (scope && builder->open.count >= 2) {
      byoc_loop_stmt_t *parent = builder->open.data[builder->open.count - 2];
      if (!byoc_vector_push(&parent->block.statements, byoc_arena_allocator(builder->arena), scope))
        builder->failed = true;
    }
    return begin;
  }
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_FOR);
  byoc_loop_stmt_t *body = open_block(builder);
  byoc_loop_variable_info_t *info = new_variable(builder, name, BYOC_DTYPE_I64, false);
  if (!begin || !end || !stmt || !body || !info) {
    builder->failed = true;
    return NULL;
  }
  info->begin = begin, info->end = end;
  if (byoc_loop_range(begin, &low, &high)) {
    info->low = low;
    info->bounded = byoc_loop_range(end, &low, &high);
    info->high = high - 1 < info->low ? info->low : high - 1;
  }
  stmt->loop.kind = kind;
  stmt->loop.variable = &info->variable;
  stmt->loop.begin = begin, stmt->loop.end = end;
  stmt->loop.body = body;
  return byoc_loop_var(builder, &info->variable);
}

void byoc_loop_while(byoc_loop_builder_t *builder, const byoc_loop_expr_t *condition) {
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_WHILE);
  byoc_loop_stmt_t *body = open_block(builder);
  if (!stmt || !body || !condition) {
    builder->failed = true;
    return;
  }
  stmt->loop_while.condition = condition;
  stmt->loop_while.body = body;
}

void byoc_loop_if(byoc_loop_builder_t *builder, const byoc_loop_expr_t *condition) {
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_IF);
  byoc_loop_stmt_t *body = open_block(builder);
  if (!stmt || !body || !condition) {
    builder->failed = true;
    return;
  }
  stmt->branch.condition = condition;
  stmt->branch.yes = body;
}

void byoc_loop_else(byoc_loop_builder_t *builder) {
  if (builder->open.count < 2) {
    builder->failed = true;
    return;
  }
  --builder->open.count;
  byoc_loop_stmt_t *parent = builder->open.data[builder->open.count - 1];
  size_t count = parent->block.statements.count;
  byoc_loop_stmt_t *stmt = count > 0 ? parent->block.statements.data[count - 1] : NULL;
  byoc_loop_stmt_t *body = open_block(builder);
  if (!stmt || stmt->kind != BYOC_LOOP_IF || stmt->branch.no || !body)
    builder->failed = true;
  else
    stmt->branch.no = body;
}

void byoc_loop_end(byoc_loop_builder_t *builder) {
  if (builder->open.count < 2)
    builder->failed = true;
  else
    --builder->open.count;
}

bool byoc_loop_is_closed(const byoc_loop_builder_t *builder) {
  return builder->open.count == 1; // the kernel's body
}

const byoc_loop_expr_t *byoc_loop_let(byoc_loop_builder_t *builder, const char *name, const byoc_loop_expr_t *value) {
  if (!value) {
    builder->failed = true;
    return NULL;
  }
  bool is_mutable = value->kind == BYOC_LOOP_VARIABLE && value->variable->is_mutable;
  if (value->kind == BYOC_LOOP_CONST || value->kind == BYOC_LOOP_DIM ||
      (value->kind == BYOC_LOOP_VARIABLE && !is_mutable))
    return value;
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_LET);
  byoc_loop_variable_info_t *info = new_variable(builder, name, value->dtype, false);
  if (!stmt || !info) return NULL;
  info->bounded = byoc_loop_range(value, &info->low, &info->high);
  stmt->assign.variable = &info->variable;
  stmt->assign.value = value;
  return byoc_loop_var(builder, &info->variable);
}

const byoc_loop_expr_t *byoc_loop_mutable(byoc_loop_builder_t *builder, const char *name,
                                          const byoc_loop_expr_t *value) {
  if (!value) {
    builder->failed = true;
    return NULL;
  }
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_LET);
  byoc_loop_variable_info_t *info = new_variable(builder, name, value->dtype, true);
  if (!stmt || !info) return NULL;
  stmt->assign.variable = &info->variable;
  stmt->assign.value = value;
  return byoc_loop_var(builder, &info->variable);
}

void byoc_loop_assign(byoc_loop_builder_t *builder, const byoc_loop_expr_t *variable, const byoc_loop_expr_t *value) {
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_ASSIGN);
  if (!stmt || !value || !variable || variable->kind != BYOC_LOOP_VARIABLE) {
    builder->failed = true;
    return;
  }
  stmt->assign.variable = variable->variable;
  stmt->assign.value = value;
}

void byoc_loop_store(byoc_loop_builder_t *builder, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index,
                     const byoc_loop_expr_t *value) {
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_STORE);
  if (!stmt || !buffer || !index || !value) {
    builder->failed = true;
    return;
  }
  stmt->store.buffer = buffer;
  stmt->store.index = index;
  stmt->store.value = value;
}

void byoc_loop_comment(byoc_loop_builder_t *builder, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  byoc_loop_stmt_t *stmt = append(builder, BYOC_LOOP_COMMENT);
  if (!stmt) return;
  stmt->comment = byoc_arena_copy_string(builder->arena, text);
  if (!stmt->comment) builder->failed = true;
}
