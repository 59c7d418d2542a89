// From loop statements to register code.
#include <string.h>

#include "core/base/map.h"
#include "core/ir/loop_fold.h"
#include "core/kernel/bytecode.h"
#include "core/kernel/work.h"

// Loops whose lanes would need more local memory than this run one iteration at a time.
#define MAX_LANE_LOCAL_BYTES ((int64_t)16 << 20)

byoc_code_class_t byoc_code_class(byoc_dtype_t dtype) {
  if (dtype == BYOC_DTYPE_F64) return BYOC_CLASS_F64;
  return byoc_loop_is_float(dtype) ? BYOC_CLASS_F32 : BYOC_CLASS_INT;
}

// Where a variable's value is. A vector variable that grows evenly over the lanes (value = base + step * lane) is
// known by its base, a single number.
typedef struct place_t {
  uint32_t reg;
  bool is_vector;
  bool is_even;
  uint32_t base;
  int64_t step;
} place_t;

typedef struct known_t {
  const byoc_loop_expr_t *expr;
  uint32_t mask, reg;
} known_t;

typedef struct compiler_t {
  byoc_program_t *program;
  byoc_diag_t *diag;
  byoc_arena_t arena;
  byoc_map_t variables;       // pointer map: variable → place_t
  byoc_map_t buffers;         // pointer map: buffer → index + 1
  byoc_map_t symbols;         // text map: symbol → register + 1
  BYOC_VECTOR(known_t) known; // sub-expressions of the current statement
  uint32_t next_register;
  bool in_lanes; // inside a strip
  bool failed;
  bool no_dimension; // reported already
} compiler_t;

typedef struct operand_t {
  uint32_t reg;
  bool is_vector;
} operand_t;

static operand_t compile_expr(compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask);
static void compile_stmt(compiler_t *compiler, const byoc_loop_stmt_t *stmt);

static uint32_t new_register(compiler_t *compiler) {
  uint32_t reg = compiler->next_register++;
  if (compiler->next_register > compiler->program->register_count)
    compiler->program->register_count = compiler->next_register;
  return reg;
}

static uint32_t emit(compiler_t *compiler, byoc_code_t code) {
  if (!byoc_vector_push(&compiler->program->code, compiler->program->allocator, code)) compiler->failed = true;
  return (uint32_t)compiler->program->code.count - 1;
}

static void patch(compiler_t *compiler, uint32_t at) {
  if (!compiler->failed) compiler->program->code.data[at].target = (uint32_t)compiler->program->code.count;
}

static place_t *find_place(compiler_t *compiler, const byoc_loop_variable_t *variable) {
  place_t *place = byoc_pointer_map_get(&compiler->variables, variable);
  if (place) return place;
  place = BYOC_ARENA_NEW(&compiler->arena, place_t);
  static place_t nowhere;
  if (!place || !byoc_pointer_map_put(&compiler->variables, variable, place)) {
    compiler->failed = true;
    return &nowhere;
  }
  return place;
}

static uint32_t find_buffer(compiler_t *compiler, const byoc_loop_buffer_t *buffer) {
  uintptr_t index = (uintptr_t)byoc_pointer_map_get(&compiler->buffers, buffer);
  if (index == 0) compiler->failed = true;
  return index == 0 ? 0 : (uint32_t)(index - 1);
}

static byoc_code_buffer_t *buffer_entry(compiler_t *compiler, const byoc_loop_buffer_t *buffer) {
  return &compiler->program->buffers.data[find_buffer(compiler, buffer)];
}

static void add_buffer(compiler_t *compiler, const byoc_loop_buffer_t *buffer, bool is_vector) {
  byoc_program_t *program = compiler->program;
  byoc_code_buffer_t entry = {.buffer = buffer, .is_vector = is_vector};
  if (buffer->kind == BYOC_LOOP_BUFFER_LOCAL) {
    entry.count = buffer->dims[0].constant;
    size_t bytes;
    if (!byoc_size_mul((size_t)entry.count, is_vector ? BYOC_INTERPRETER_LANES * 8 : 8, &bytes) ||
        !byoc_size_add(program->local_bytes, bytes, &bytes))
      compiler->failed = true;
    entry.offset = program->local_bytes;
    program->local_bytes = bytes;
  }
  uintptr_t number = program->buffers.count + 1;
  if (!byoc_vector_push(&program->buffers, program->allocator, entry) ||
      !byoc_pointer_map_put(&compiler->buffers, buffer, (void *)number))
    compiler->failed = true;
}

// ---- what varies over the lanes ----

static bool varies(compiler_t *compiler, const byoc_loop_expr_t *expr) {
  if (!compiler->in_lanes) return false;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    return find_place(compiler, expr->variable)->is_vector;
  case BYOC_LOOP_LOAD:
    return buffer_entry(compiler, expr->load.buffer)->is_vector || varies(compiler, expr->load.index);
  case BYOC_LOOP_OP:
    return varies(compiler, expr->op.operands[0]) || (expr->op.operands[1] && varies(compiler, expr->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return varies(compiler, expr->select.condition) || varies(compiler, expr->select.yes) ||
           varies(compiler, expr->select.no);
  case BYOC_LOOP_CAST:
    return varies(compiler, expr->cast);
  default:
    return false;
  }
}

// expr = (a single number) + step * lane, with i64 arithmetic?
static bool is_even(compiler_t *compiler, const byoc_loop_expr_t *expr, int64_t *out_step) {
  int64_t a, b;
  *out_step = 0;
  if (expr->dtype != BYOC_DTYPE_I64) return false;
  if (!varies(compiler, expr)) return true;
  if (expr->kind == BYOC_LOOP_VARIABLE) {
    const place_t *place = find_place(compiler, expr->variable);
    *out_step = place->step;
    return place->is_even;
  }
  if (expr->kind != BYOC_LOOP_OP || !expr->op.operands[1] || !is_even(compiler, expr->op.operands[0], &a) ||
      !is_even(compiler, expr->op.operands[1], &b))
    return false;
  switch (expr->op.op) {
  case BYOC_LOOP_OP_ADD:
    return !__builtin_add_overflow(a, b, out_step);
  case BYOC_LOOP_OP_SUB:
    return !__builtin_sub_overflow(a, b, out_step);
  case BYOC_LOOP_OP_MUL: {
    int64_t factor;
    return byoc_loop_is_int(expr->op.operands[1], &factor) && !__builtin_mul_overflow(a, factor, out_step);
  }
  default:
    return false;
  }
}

// ---- expressions ----

static uint32_t preset(compiler_t *compiler, byoc_code_preset_t value) {
  // Presets keep their registers for good: taken from the end, where statements' registers do not come.
  value.reg = (uint32_t)compiler->program->presets.count | 0x80000000u;
  if (!byoc_vector_push(&compiler->program->presets, compiler->program->allocator, value)) compiler->failed = true;
  return value.reg;
}

static uint32_t literal(compiler_t *compiler, byoc_dtype_t dtype, int64_t i, double f) {
  byoc_code_class_t cls = byoc_code_class(dtype);
  for (size_t p = 0; p < compiler->program->presets.count; ++p) {
    const byoc_code_preset_t *known = &compiler->program->presets.data[p];
    if (known->cls == cls && !known->is_dim && known->i == i && memcmp(&known->f, &f, sizeof(f)) == 0)
      return known->reg;
  }
  return preset(compiler, (byoc_code_preset_t){.cls = cls, .i = i, .f = f});
}

static uint32_t dimension(compiler_t *compiler, const char *symbol) {
  uintptr_t known = (uintptr_t)byoc_text_map_get(&compiler->symbols, symbol);
  if (known) return (uint32_t)(known - 1);
  const byoc_loop_kernel_t *kernel = compiler->program->kernel;
  byoc_code_preset_t value = {.cls = BYOC_CLASS_INT};
  for (size_t i = 0; i < kernel->symbols.count && !value.is_dim; ++i) {
    value.is_dim = strcmp(kernel->symbols.data[i], symbol) == 0;
    value.i = (int64_t)i;
  }
  if (!value.is_dim && !compiler->failed) {
    byoc_diag_error(compiler->diag, BYOC_INTERNAL, "kernel '%s': '%s' is not among its symbols", kernel->name, symbol);
    compiler->no_dimension = compiler->failed = true;
  }
  uint32_t reg = preset(compiler, value);
  if (!byoc_text_map_put(&compiler->symbols, symbol, (void *)((uintptr_t)reg + 1))) compiler->failed = true;
  return reg;
}

static bool needs_guard(const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return true;
  case BYOC_LOOP_OP:
    return needs_guard(expr->op.operands[0]) || (expr->op.operands[1] && needs_guard(expr->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return needs_guard(expr->select.condition) || needs_guard(expr->select.yes) || needs_guard(expr->select.no);
  case BYOC_LOOP_CAST:
    return needs_guard(expr->cast);
  default:
    return false;
  }
}

// Vector registers have a bit of their own in masks, so that one number says both.
#define MASK_VECTOR 0x40000000u

static byoc_code_t masked(byoc_code_t code, uint32_t mask) {
  code.c = mask == BYOC_CODE_NO_MASK ? mask : mask & ~MASK_VECTOR;
  code.c_lanes = mask != BYOC_CODE_NO_MASK && (mask & MASK_VECTOR) != 0;
  return code;
}

static uint32_t and_mask(compiler_t *compiler, uint32_t mask, operand_t condition, bool negate) {
  if (negate) {
    operand_t inverse = {new_register(compiler), condition.is_vector};
    emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
                                 .op = BYOC_LOOP_OP_NOT,
                                 .operands = BYOC_CLASS_INT,
                                 .dst_lanes = inverse.is_vector,
                                 .a_lanes = condition.is_vector,
                                 .dtype = BYOC_DTYPE_BOOL,
                                 .from = BYOC_DTYPE_BOOL,
                                 .dst = inverse.reg,
                                 .a = condition.reg});
    condition = inverse;
  }
  if (mask == BYOC_CODE_NO_MASK) return condition.reg | (condition.is_vector ? MASK_VECTOR : 0);
  bool is_vector = condition.is_vector || (mask & MASK_VECTOR);
  uint32_t reg = new_register(compiler);
  emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
                               .op = BYOC_LOOP_OP_AND,
                               .operands = BYOC_CLASS_INT,
                               .dst_lanes = is_vector,
                               .a_lanes = (mask & MASK_VECTOR) != 0,
                               .b_lanes = condition.is_vector,
                               .dtype = BYOC_DTYPE_BOOL,
                               .from = BYOC_DTYPE_BOOL,
                               .dst = reg,
                               .a = mask & ~MASK_VECTOR,
                               .b = condition.reg});
  return reg | (is_vector ? MASK_VECTOR : 0);
}

// The single number `base` of an even expression: its value in lane 0.
static uint32_t compile_base(compiler_t *compiler, const byoc_loop_expr_t *expr) {
  if (!varies(compiler, expr)) return compile_expr(compiler, expr, BYOC_CODE_NO_MASK).reg;
  if (expr->kind == BYOC_LOOP_VARIABLE) return find_place(compiler, expr->variable)->base;
  uint32_t a = compile_base(compiler, expr->op.operands[0]), b = compile_base(compiler, expr->op.operands[1]);
  uint32_t reg = new_register(compiler);
  emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
                               .op = (uint8_t)expr->op.op,
                               .operands = BYOC_CLASS_INT,
                               .dtype = BYOC_DTYPE_I64,
                               .from = BYOC_DTYPE_I64,
                               .dst = reg,
                               .a = a,
                               .b = b});
  return reg;
}

static operand_t compile_load(compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask) {
  byoc_code_t code = {
      .kind = BYOC_CODE_LOAD, .dtype = (uint8_t)expr->dtype, .buffer = find_buffer(compiler, expr->load.buffer)};
  bool is_vector = varies(compiler, expr);
  int64_t step;
  if (is_vector && mask == BYOC_CODE_NO_MASK && !buffer_entry(compiler, expr->load.buffer)->is_vector &&
      is_even(compiler, expr->load.index, &step)) {
    code.kind = BYOC_CODE_LOAD_RAMP;
    code.immediate = step;
    code.a = compile_base(compiler, expr->load.index);
  } else {
    operand_t index = compile_expr(compiler, expr->load.index, mask);
    code.a = index.reg, code.a_lanes = index.is_vector;
    code = masked(code, mask);
    is_vector |= code.c_lanes;
  }
  code.dst = new_register(compiler);
  code.dst_lanes = is_vector;
  emit(compiler, code);
  return (operand_t){code.dst, is_vector};
}

static operand_t compile_select(compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask) {
  operand_t condition = compile_expr(compiler, expr->select.condition, mask);
  bool guard_yes = needs_guard(expr->select.yes), guard_no = needs_guard(expr->select.no);
  operand_t yes =
      compile_expr(compiler, expr->select.yes, guard_yes ? and_mask(compiler, mask, condition, false) : mask);
  operand_t no = compile_expr(compiler, expr->select.no, guard_no ? and_mask(compiler, mask, condition, true) : mask);
  operand_t result = {new_register(compiler), condition.is_vector || yes.is_vector || no.is_vector};
  emit(compiler, (byoc_code_t){.kind = BYOC_CODE_SELECT,
                               .operands = byoc_code_class(expr->dtype),
                               .dst_lanes = result.is_vector,
                               .a_lanes = condition.is_vector,
                               .b_lanes = yes.is_vector,
                               .c_lanes = no.is_vector,
                               .dst = result.reg,
                               .a = condition.reg,
                               .b = yes.reg,
                               .c = no.reg});
  return result;
}

static operand_t compile_op(compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask) {
  operand_t a = compile_expr(compiler, expr->op.operands[0], mask), b = {0, false};
  if (expr->op.operands[1]) b = compile_expr(compiler, expr->op.operands[1], mask);
  operand_t result = {new_register(compiler), a.is_vector || b.is_vector};
  byoc_dtype_t dtype = expr->op.operands[0]->dtype;
  emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
                               .op = (uint8_t)expr->op.op,
                               .operands = byoc_code_class(dtype),
                               .dst_lanes = result.is_vector,
                               .a_lanes = a.is_vector,
                               .b_lanes = b.is_vector,
                               .dtype = (uint8_t)expr->dtype,
                               .from = (uint8_t)dtype,
                               .dst = result.reg,
                               .a = a.reg,
                               .b = b.reg});
  return result;
}

static operand_t compile_fresh(compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask) {
  int64_t step;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return compile_load(compiler, expr, mask);
  case BYOC_LOOP_SELECT:
    return compile_select(compiler, expr, mask);
  case BYOC_LOOP_CAST: {
    operand_t value = compile_expr(compiler, expr->cast, mask);
    operand_t result = {new_register(compiler), value.is_vector};
    emit(compiler, (byoc_code_t){.kind = BYOC_CODE_CAST,
                                 .dst_lanes = result.is_vector,
                                 .a_lanes = value.is_vector,
                                 .dtype = (uint8_t)expr->dtype,
                                 .from = (uint8_t)expr->cast->dtype,
                                 .dst = result.reg,
                                 .a = value.reg});
    return result;
  }
  default:
    break;
  }
  if (mask == BYOC_CODE_NO_MASK && varies(compiler, expr) && is_even(compiler, expr, &step)) {
    uint32_t base = compile_base(compiler, expr);
    operand_t result = {new_register(compiler), true};
    emit(compiler,
         (byoc_code_t){.kind = BYOC_CODE_RAMP, .dst_lanes = true, .dst = result.reg, .a = base, .immediate = step});
    return result;
  }
  return compile_op(compiler, expr, mask);
}

static operand_t compile_expr(compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask) {
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    return (operand_t){literal(compiler, expr->dtype, expr->number.i, expr->number.f), false};
  case BYOC_LOOP_DIM:
    return (operand_t){dimension(compiler, expr->symbol), false};
  case BYOC_LOOP_VARIABLE: {
    const place_t *place = find_place(compiler, expr->variable);
    if (!place->is_vector || !place->is_even) return (operand_t){place->reg, place->is_vector};
    operand_t result = {new_register(compiler), true};
    emit(compiler,
         (byoc_code_t){
             .kind = BYOC_CODE_RAMP, .dst_lanes = true, .dst = result.reg, .a = place->base, .immediate = place->step});
    return result;
  }
  default:
    break;
  }
  for (size_t i = compiler->known.count; i > 0; --i) {
    const known_t *known = &compiler->known.data[i - 1];
    if (known->expr == expr && (known->mask == mask || known->mask == BYOC_CODE_NO_MASK))
      return (operand_t){known->reg & ~MASK_VECTOR, (known->reg & MASK_VECTOR) != 0};
  }
  operand_t result = compile_fresh(compiler, expr, mask);
  known_t known = {expr, mask, result.reg | (result.is_vector ? MASK_VECTOR : 0)};
  if (!byoc_vector_push(&compiler->known, compiler->program->allocator, known)) compiler->failed = true;
  return result;
}

// ---- which loops run in strips ----

static bool has_vector_loop(const byoc_loop_stmt_t *stmt) {
  switch (stmt->kind) {
  case BYOC_LOOP_FOR:
    return stmt->loop.kind == BYOC_LOOP_VECTOR || has_vector_loop(stmt->loop.body);
  case BYOC_LOOP_WHILE:
    return has_vector_loop(stmt->loop_while.body);
  case BYOC_LOOP_IF:
    return has_vector_loop(stmt->branch.yes) || (stmt->branch.no && has_vector_loop(stmt->branch.no));
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i)
      if (has_vector_loop(stmt->block.statements.data[i])) return true;
    return false;
  default:
    return false;
  }
}

// Walks the body as if it ran in lanes; false where control would have to differ from lane to lane. Local buffers are
// entered as vectors, so that `varies` can ask about them, and stay so where the answer is yes.
static bool fits_lanes(compiler_t *compiler, const byoc_loop_stmt_t *stmt, int64_t *local_bytes) {
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i)
      if (!fits_lanes(compiler, stmt->block.statements.data[i], local_bytes)) return false;
    return true;
  case BYOC_LOOP_FOR:
    *find_place(compiler, stmt->loop.variable) = (place_t){.is_vector = false};
    return !varies(compiler, stmt->loop.begin) && !varies(compiler, stmt->loop.end) &&
           fits_lanes(compiler, stmt->loop.body, local_bytes);
  case BYOC_LOOP_WHILE:
    return !varies(compiler, stmt->loop_while.condition) && fits_lanes(compiler, stmt->loop_while.body, local_bytes);
  case BYOC_LOOP_IF:
    return !varies(compiler, stmt->branch.condition) && fits_lanes(compiler, stmt->branch.yes, local_bytes) &&
           (!stmt->branch.no || fits_lanes(compiler, stmt->branch.no, local_bytes));
  case BYOC_LOOP_LET: {
    bool is_vector = stmt->assign.variable->is_mutable || varies(compiler, stmt->assign.value);
    *find_place(compiler, stmt->assign.variable) = (place_t){.is_vector = is_vector};
    return true;
  }
  case BYOC_LOOP_ASSIGN:
    return find_place(compiler, stmt->assign.variable)->is_vector;
  case BYOC_LOOP_STORE:
    return varies(compiler, stmt->store.index) || buffer_entry(compiler, stmt->store.buffer)->is_vector;
  case BYOC_LOOP_ALLOCATE: {
    int64_t bytes = byoc_work_times(stmt->allocate->dims[0].constant, BYOC_INTERPRETER_LANES * 8);
    *local_bytes += bytes < MAX_LANE_LOCAL_BYTES ? bytes : MAX_LANE_LOCAL_BYTES;
    if (*local_bytes >= MAX_LANE_LOCAL_BYTES) return false;
    add_buffer(compiler, stmt->allocate, true);
    return true;
  }
  case BYOC_LOOP_COMMENT:
    return true;
  }
  return false;
}

static bool reads(const byoc_loop_stmt_t *stmt, const byoc_loop_variable_t *variable) {
  if (stmt->kind != BYOC_LOOP_STORE) return byoc_loop_expr_reads(stmt->assign.value, variable);
  return byoc_loop_expr_reads(stmt->store.value, variable) || byoc_loop_expr_reads(stmt->store.index, variable);
}

// A body of names and reductions into scalars, which do not read one another; stores where the loop says that its
// iterations are independent.
static bool is_reduction(const byoc_loop_stmt_t *loop) {
  const byoc_loop_stmt_t *body = loop->loop.body;
  bool stores = loop->loop.kind == BYOC_LOOP_REDUCE;
  size_t reductions = 0;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (stmt->kind == BYOC_LOOP_COMMENT || (stmt->kind == BYOC_LOOP_LET && !stmt->assign.variable->is_mutable))
      continue;
    if (stmt->kind == BYOC_LOOP_STORE && stores) continue;
    if (stmt->kind != BYOC_LOOP_ASSIGN || !byoc_loop_reduction_term(stmt)) return false;
    ++reductions;
    for (size_t j = 0; j < body->block.statements.count; ++j) {
      const byoc_loop_stmt_t *other = body->block.statements.data[j];
      if (i == j || other->kind == BYOC_LOOP_COMMENT) continue;
      if (reads(other, stmt->assign.variable)) return false;
      if (other->kind == BYOC_LOOP_ASSIGN && other->assign.variable == stmt->assign.variable) return false;
    }
  }
  return reductions > 0;
}

// ---- statements ----

static void move(compiler_t *compiler, byoc_dtype_t dtype, place_t to, operand_t from) {
  emit(compiler, (byoc_code_t){.kind = BYOC_CODE_MOVE,
                               .operands = byoc_code_class(dtype),
                               .dst_lanes = to.is_vector,
                               .a_lanes = from.is_vector,
                               .dst = to.reg,
                               .a = from.reg});
}

static void compile_let(compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_variable_t *variable = stmt->assign.variable;
  const byoc_loop_expr_t *value = stmt->assign.value;
  place_t place = {.reg = new_register(compiler)};
  if (!variable->is_mutable && varies(compiler, value) && is_even(compiler, value, &place.step)) {
    place.is_vector = place.is_even = true;
    place.base = place.reg;
    move(compiler, variable->dtype, (place_t){.reg = place.reg}, (operand_t){compile_base(compiler, value), false});
  } else {
    operand_t result = compile_expr(compiler, value, BYOC_CODE_NO_MASK);
    place.is_vector = result.is_vector || (variable->is_mutable && compiler->in_lanes);
    move(compiler, variable->dtype, place, result);
  }
  *find_place(compiler, variable) = place;
}

static void compile_store(compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  byoc_code_t code = {.kind = BYOC_CODE_STORE,
                      .dtype = (uint8_t)stmt->store.buffer->dtype,
                      .buffer = find_buffer(compiler, stmt->store.buffer)};
  operand_t value = compile_expr(compiler, stmt->store.value, BYOC_CODE_NO_MASK);
  code.b = value.reg, code.b_lanes = value.is_vector;
  bool is_vector = buffer_entry(compiler, stmt->store.buffer)->is_vector;
  int64_t step;
  if (!is_vector && varies(compiler, stmt->store.index) && is_even(compiler, stmt->store.index, &step)) {
    code.kind = BYOC_CODE_STORE_RAMP;
    code.immediate = step;
    code.a = compile_base(compiler, stmt->store.index);
    code.dst_lanes = true;
  } else {
    operand_t index = compile_expr(compiler, stmt->store.index, BYOC_CODE_NO_MASK);
    code.a = index.reg, code.a_lanes = index.is_vector;
    code.dst_lanes = index.is_vector || is_vector;
  }
  emit(compiler, code);
}

static void compile_reductions(compiler_t *compiler, const byoc_loop_stmt_t *body) {
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (stmt->kind != BYOC_LOOP_ASSIGN) {
      compile_stmt(compiler, stmt);
      continue;
    }
    uint32_t mark = compiler->next_register;
    byoc_dtype_t dtype = stmt->assign.variable->dtype;
    operand_t term = compile_expr(compiler, byoc_loop_reduction_term(stmt), BYOC_CODE_NO_MASK);
    emit(compiler, (byoc_code_t){.kind = BYOC_CODE_REDUCE,
                                 .op = (uint8_t)stmt->assign.value->op.op,
                                 .operands = byoc_code_class(dtype),
                                 .a_lanes = term.is_vector,
                                 .dtype = (uint8_t)dtype,
                                 .from = (uint8_t)dtype,
                                 .dst = find_place(compiler, stmt->assign.variable)->reg,
                                 .a = term.reg});
    compiler->known.count = 0;
    compiler->next_register = mark;
  }
}

static void compile_for(compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  bool outer_lanes = compiler->in_lanes, strip = false, reduction = false;
  place_t counter = {.reg = new_register(compiler)};
  uint32_t end = new_register(compiler), mark = compiler->next_register;
  move(compiler, BYOC_DTYPE_I64, counter, compile_expr(compiler, stmt->loop.begin, BYOC_CODE_NO_MASK));
  move(compiler, BYOC_DTYPE_I64, (place_t){.reg = end}, compile_expr(compiler, stmt->loop.end, BYOC_CODE_NO_MASK));
  compiler->known.count = 0;
  compiler->next_register = mark;
  if (!outer_lanes) {
    int64_t local_bytes = 0;
    bool independent = (stmt->loop.kind == BYOC_LOOP_VECTOR || stmt->loop.kind == BYOC_LOOP_PARALLEL) &&
                       !has_vector_loop(stmt->loop.body);
    reduction = !independent && is_reduction(stmt);
    if (independent || reduction) {
      *find_place(compiler, stmt->loop.variable) =
          (place_t){.reg = counter.reg, .is_vector = true, .is_even = true, .base = counter.reg, .step = 1};
      compiler->in_lanes = true;
      size_t buffers = compiler->program->buffers.count, bytes = compiler->program->local_bytes;
      strip = reduction || fits_lanes(compiler, stmt->loop.body, &local_bytes);
      compiler->in_lanes = strip;
      if (!strip) // entered again as plain ones
        compiler->program->buffers.count = buffers, compiler->program->local_bytes = bytes;
    }
  }
  *find_place(compiler, stmt->loop.variable) =
      strip ? (place_t){.reg = counter.reg, .is_vector = true, .is_even = true, .base = counter.reg, .step = 1}
            : counter;
  uint32_t begin =
      emit(compiler,
           (byoc_code_t){.kind = strip ? BYOC_CODE_STRIP_BEGIN : BYOC_CODE_FOR_BEGIN, .dst = counter.reg, .a = end});
  if (reduction && strip)
    compile_reductions(compiler, stmt->loop.body);
  else
    compile_stmt(compiler, stmt->loop.body);
  emit(compiler, (byoc_code_t){.kind = strip ? BYOC_CODE_STRIP_NEXT : BYOC_CODE_FOR_NEXT,
                               .dst = counter.reg,
                               .a = end,
                               .target = begin + 1});
  patch(compiler, begin);
  compiler->in_lanes = outer_lanes;
}

static void compile_branch(compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  uint32_t mark = compiler->next_register;
  operand_t condition = compile_expr(compiler, stmt->branch.condition, BYOC_CODE_NO_MASK);
  compiler->known.count = 0;
  uint32_t skip = emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP_UNLESS, .a = condition.reg});
  compiler->next_register = mark;
  compile_stmt(compiler, stmt->branch.yes);
  if (stmt->branch.no) {
    uint32_t done = emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP});
    patch(compiler, skip);
    compile_stmt(compiler, stmt->branch.no);
    patch(compiler, done);
  } else {
    patch(compiler, skip);
  }
}

static void compile_while(compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  uint32_t start = (uint32_t)compiler->program->code.count, mark = compiler->next_register;
  operand_t condition = compile_expr(compiler, stmt->loop_while.condition, BYOC_CODE_NO_MASK);
  compiler->known.count = 0;
  uint32_t leave = emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP_UNLESS, .a = condition.reg});
  compiler->next_register = mark;
  compile_stmt(compiler, stmt->loop_while.body);
  emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP, .target = start});
  patch(compiler, leave);
}

static void compile_stmt(compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  uint32_t mark = compiler->next_register;
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) compile_stmt(compiler, stmt->block.statements.data[i]);
    break;
  case BYOC_LOOP_FOR:
    compile_for(compiler, stmt);
    break;
  case BYOC_LOOP_WHILE:
    compile_while(compiler, stmt);
    break;
  case BYOC_LOOP_IF:
    compile_branch(compiler, stmt);
    break;
  case BYOC_LOOP_LET:
    compile_let(compiler, stmt);
    mark = find_place(compiler, stmt->assign.variable)->reg + 1; // it stays to the end of its block
    break;
  case BYOC_LOOP_ASSIGN: {
    const place_t *place = find_place(compiler, stmt->assign.variable);
    move(compiler, stmt->assign.variable->dtype, *place, compile_expr(compiler, stmt->assign.value, BYOC_CODE_NO_MASK));
    break;
  }
  case BYOC_LOOP_STORE:
    compile_store(compiler, stmt);
    break;
  case BYOC_LOOP_ALLOCATE:
    if (!compiler->in_lanes) add_buffer(compiler, stmt->allocate, false); // else entered by fits_lanes
    break;
  case BYOC_LOOP_COMMENT:
    break;
  }
  compiler->known.count = 0;
  compiler->next_register = mark;
}

// ---- programs ----

// Presets lie behind the statements' registers.
static uint32_t settle(const byoc_program_t *program, uint32_t reg) {
  return reg != BYOC_CODE_NO_MASK && (reg & 0x80000000u) ? program->register_count + (reg & 0x7fffffffu) : reg;
}

static void settle_presets(byoc_program_t *program) {
  for (size_t i = 0; i < program->code.count; ++i) {
    byoc_code_t *code = &program->code.data[i];
    code->dst = settle(program, code->dst);
    code->a = settle(program, code->a);
    code->b = settle(program, code->b);
    code->c = settle(program, code->c);
  }
  for (size_t i = 0; i < program->presets.count; ++i)
    program->presets.data[i].reg = settle(program, program->presets.data[i].reg);
  program->register_count += (uint32_t)program->presets.count;
}

byoc_status_t byoc_program_compile(const byoc_loop_kernel_t *kernel, byoc_allocator_t allocator, byoc_diag_t *diag,
                                   byoc_program_t *out_program) {
  *out_program = (byoc_program_t){.allocator = allocator, .kernel = kernel};
  BYOC_RETURN_IF_ERROR(byoc_loop_verify(kernel, diag));
  compiler_t compiler = {.program = out_program, .diag = diag};
  byoc_arena_init(&compiler.arena, allocator);
  byoc_pointer_map_init(&compiler.variables, allocator);
  byoc_pointer_map_init(&compiler.buffers, allocator);
  byoc_text_map_init(&compiler.symbols, allocator);
  for (size_t i = 0; i < kernel->parameters.count; ++i) add_buffer(&compiler, kernel->parameters.data[i], false);
  if (!compiler.failed) compile_stmt(&compiler, kernel->body);
  emit(&compiler, (byoc_code_t){.kind = BYOC_CODE_END});
  settle_presets(out_program);
  byoc_status_t status = compiler.no_dimension ? BYOC_INTERNAL
                         : compiler.failed     ? byoc_diag_out_of_memory(diag)
                                               : BYOC_OK;
  byoc_vector_deinit(&compiler.known, allocator);
  byoc_map_deinit(&compiler.variables);
  byoc_map_deinit(&compiler.buffers);
  byoc_map_deinit(&compiler.symbols);
  byoc_arena_deinit(&compiler.arena);
  if (status != BYOC_OK) byoc_program_deinit(out_program);
  return status;
}

void byoc_program_deinit(byoc_program_t *program) {
  byoc_vector_deinit(&program->code, program->allocator);
  byoc_vector_deinit(&program->buffers, program->allocator);
  byoc_vector_deinit(&program->presets, program->allocator);
}
