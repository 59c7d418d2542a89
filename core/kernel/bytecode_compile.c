// SPDX-License-Identifier: Apache-2.0
// Compiles loop statements to register code.
#include "core/ir/loop_fold.h"
#include "core/kernel/bytecode_compiler.h"

byoc_code_class_t byoc_code_class(byoc_dtype_t dtype) {
  if (dtype == BYOC_DTYPE_F64) return BYOC_CLASS_F64;
  return byoc_loop_is_float(dtype) ? BYOC_CLASS_F32 : BYOC_CLASS_INT;
}

// ---- state ----

static void compile_stmt(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt);

uint32_t byoc_code_new_register(byoc_bytecode_compiler_t *compiler) {
  uint32_t reg = compiler->next_register++;
  if (compiler->next_register > compiler->program->register_count)
    compiler->program->register_count = compiler->next_register;
  return reg;
}

uint32_t byoc_code_emit(byoc_bytecode_compiler_t *compiler, byoc_code_t code) {
  if (!byoc_vector_push(&compiler->program->code, compiler->program->allocator, code)) compiler->failed = true;
  return (uint32_t)compiler->program->code.count - 1;
}

static void patch(byoc_bytecode_compiler_t *compiler, uint32_t at) {
  if (!compiler->failed) compiler->program->code.data[at].target = (uint32_t)compiler->program->code.count;
}

byoc_code_location_t *byoc_code_location(byoc_bytecode_compiler_t *compiler, const byoc_loop_variable_t *variable) {
  byoc_code_location_t *place = byoc_pointer_map_get(&compiler->variables, variable);
  if (place) return place;
  place = BYOC_ARENA_NEW(&compiler->arena, byoc_code_location_t);
  static byoc_code_location_t nowhere;
  if (!place || !byoc_pointer_map_put(&compiler->variables, variable, place)) {
    compiler->failed = true;
    return &nowhere;
  }
  return place;
}

uint32_t byoc_code_find_buffer(byoc_bytecode_compiler_t *compiler, const byoc_loop_buffer_t *buffer) {
  uintptr_t index = (uintptr_t)byoc_pointer_map_get(&compiler->buffers, buffer);
  if (index == 0) compiler->failed = true;
  return index == 0 ? 0 : (uint32_t)(index - 1);
}

byoc_code_buffer_t *byoc_code_buffer_entry(byoc_bytecode_compiler_t *compiler, const byoc_loop_buffer_t *buffer) {
  return &compiler->program->buffers.data[byoc_code_find_buffer(compiler, buffer)];
}

void byoc_code_add_buffer(byoc_bytecode_compiler_t *compiler, const byoc_loop_buffer_t *buffer, bool is_vector) {
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

// ---- statements ----

static void move(byoc_bytecode_compiler_t *compiler, byoc_dtype_t dtype, byoc_code_location_t to,
                 byoc_code_operand_t from) {
  byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_MOVE,
                                         .operands = byoc_code_class(dtype),
                                         .dst_lanes = to.is_vector,
                                         .a_lanes = from.is_vector,
                                         .dst = to.reg,
                                         .a = from.reg});
}

static void compile_let(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_variable_t *variable = stmt->assign.variable;
  const byoc_loop_expr_t *value = stmt->assign.value;
  byoc_code_location_t place = {.reg = byoc_code_new_register(compiler)};
  if (!variable->is_mutable && byoc_code_varies(compiler, value) && byoc_code_is_even(compiler, value, &place.step)) {
    place.is_vector = place.is_even = true;
    place.base = place.reg;
    move(compiler, variable->dtype, (byoc_code_location_t){.reg = place.reg},
         (byoc_code_operand_t){byoc_code_compile_base(compiler, value), false});
  } else {
    byoc_code_operand_t result = byoc_code_compile_expr(compiler, value, BYOC_CODE_NO_MASK);
    place.is_vector = result.is_vector || (variable->is_mutable && compiler->in_lanes);
    move(compiler, variable->dtype, place, result);
  }
  *byoc_code_location(compiler, variable) = place;
}

static void compile_store(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  byoc_code_t code = {.kind = BYOC_CODE_STORE,
                      .dtype = (uint8_t)stmt->store.buffer->dtype,
                      .buffer = byoc_code_find_buffer(compiler, stmt->store.buffer)};
  byoc_code_operand_t value = byoc_code_compile_expr(compiler, stmt->store.value, BYOC_CODE_NO_MASK);
  code.b = value.reg, code.b_lanes = value.is_vector;
  bool is_vector = byoc_code_buffer_entry(compiler, stmt->store.buffer)->is_vector;
  int64_t step;
  if (!is_vector && byoc_code_varies(compiler, stmt->store.index) &&
      byoc_code_is_even(compiler, stmt->store.index, &step)) {
    code.kind = BYOC_CODE_STORE_RAMP;
    code.immediate = step;
    code.a = byoc_code_compile_base(compiler, stmt->store.index);
    code.dst_lanes = true;
  } else {
    byoc_code_operand_t index = byoc_code_compile_expr(compiler, stmt->store.index, BYOC_CODE_NO_MASK);
    code.a = index.reg, code.a_lanes = index.is_vector;
    code.dst_lanes = index.is_vector || is_vector;
  }
  byoc_code_emit(compiler, code);
}

static void compile_reductions(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *body) {
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (stmt->kind != BYOC_LOOP_ASSIGN) {
      compile_stmt(compiler, stmt);
      continue;
    }
    uint32_t mark = compiler->next_register;
    byoc_dtype_t dtype = stmt->assign.variable->dtype;
    byoc_code_operand_t term = byoc_code_compile_expr(compiler, byoc_loop_reduction_term(stmt), BYOC_CODE_NO_MASK);
    byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_REDUCE,
                                           .op = (uint8_t)stmt->assign.value->op.op,
                                           .operands = byoc_code_class(dtype),
                                           .a_lanes = term.is_vector,
                                           .dtype = (uint8_t)dtype,
                                           .from = (uint8_t)dtype,
                                           .dst = byoc_code_location(compiler, stmt->assign.variable)->reg,
                                           .a = term.reg});
    compiler->known.count = 0;
    compiler->next_register = mark;
  }
}

static void compile_for(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  bool outer_lanes = compiler->in_lanes, strip = false, reduction = false;
  byoc_code_location_t counter = {.reg = byoc_code_new_register(compiler)};
  uint32_t end = byoc_code_new_register(compiler), mark = compiler->next_register;
  move(compiler, BYOC_DTYPE_I64, counter, byoc_code_compile_expr(compiler, stmt->loop.begin, BYOC_CODE_NO_MASK));
  move(compiler, BYOC_DTYPE_I64, (byoc_code_location_t){.reg = end},
       byoc_code_compile_expr(compiler, stmt->loop.end, BYOC_CODE_NO_MASK));
  compiler->known.count = 0;
  compiler->next_register = mark;
  if (!outer_lanes) {
    int64_t local_bytes = 0;
    bool independent = (stmt->loop.kind == BYOC_LOOP_VECTOR || stmt->loop.kind == BYOC_LOOP_PARALLEL) &&
                       !byoc_code_has_vector_loop(stmt->loop.body);
    reduction = !independent && byoc_code_is_reduction(stmt);
    if (independent || reduction) {
      *byoc_code_location(compiler, stmt->loop.variable) = (byoc_code_location_t){
          .reg = counter.reg, .is_vector = true, .is_even = true, .base = counter.reg, .step = 1};
      compiler->in_lanes = true;
      size_t buffers = compiler->program->buffers.count, bytes = compiler->program->local_bytes;
      strip = reduction || byoc_code_fits_lanes(compiler, stmt->loop.body, &local_bytes);
      compiler->in_lanes = strip;
      if (!strip) // they are added again as plain ones
        compiler->program->buffers.count = buffers, compiler->program->local_bytes = bytes;
    }
  }
  *byoc_code_location(compiler, stmt->loop.variable) = strip ? (byoc_code_location_t){.reg = counter.reg,
                                                                                      .is_vector = true,
                                                                                      .is_even = true,
                                                                                      .base = counter.reg,
                                                                                      .step = 1}
                                                             : counter;
  uint32_t begin = byoc_code_emit(
      compiler,
      (byoc_code_t){.kind = strip ? BYOC_CODE_STRIP_BEGIN : BYOC_CODE_FOR_BEGIN, .dst = counter.reg, .a = end});
  if (reduction && strip)
    compile_reductions(compiler, stmt->loop.body);
  else
    compile_stmt(compiler, stmt->loop.body);
  byoc_code_emit(compiler, (byoc_code_t){.kind = strip ? BYOC_CODE_STRIP_NEXT : BYOC_CODE_FOR_NEXT,
                                         .dst = counter.reg,
                                         .a = end,
                                         .target = begin + 1});
  patch(compiler, begin);
  compiler->in_lanes = outer_lanes;
}

static void compile_branch(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  uint32_t mark = compiler->next_register;
  byoc_code_operand_t condition = byoc_code_compile_expr(compiler, stmt->branch.condition, BYOC_CODE_NO_MASK);
  compiler->known.count = 0;
  uint32_t skip = byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP_UNLESS, .a = condition.reg});
  compiler->next_register = mark;
  compile_stmt(compiler, stmt->branch.yes);
  if (stmt->branch.no) {
    uint32_t done = byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP});
    patch(compiler, skip);
    compile_stmt(compiler, stmt->branch.no);
    patch(compiler, done);
  } else {
    patch(compiler, skip);
  }
}

static void compile_while(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
  uint32_t start = (uint32_t)compiler->program->code.count, mark = compiler->next_register;
  byoc_code_operand_t condition = byoc_code_compile_expr(compiler, stmt->loop_while.condition, BYOC_CODE_NO_MASK);
  compiler->known.count = 0;
  uint32_t leave = byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP_UNLESS, .a = condition.reg});
  compiler->next_register = mark;
  compile_stmt(compiler, stmt->loop_while.body);
  byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_JUMP, .target = start});
  patch(compiler, leave);
}

static void compile_stmt(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt) {
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
    mark = byoc_code_location(compiler, stmt->assign.variable)->reg + 1; // it is kept to the end of its block
    break;
  case BYOC_LOOP_ASSIGN: {
    const byoc_code_location_t *place = byoc_code_location(compiler, stmt->assign.variable);
    move(compiler, stmt->assign.variable->dtype, *place,
         byoc_code_compile_expr(compiler, stmt->assign.value, BYOC_CODE_NO_MASK));
    break;
  }
  case BYOC_LOOP_STORE:
    compile_store(compiler, stmt);
    break;
  case BYOC_LOOP_ALLOCATE:
    if (!compiler->in_lanes)
      byoc_code_add_buffer(compiler, stmt->allocate, false); // else added by byoc_code_fits_lanes
    break;
  case BYOC_LOOP_COMMENT:
    break;
  }
  compiler->known.count = 0;
  compiler->next_register = mark;
}

// ---- programs ----

// The registers of presets come after those of statements.
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
  byoc_bytecode_compiler_t compiler = {.program = out_program, .diag = diag};
  byoc_arena_init(&compiler.arena, allocator);
  byoc_pointer_map_init(&compiler.variables, allocator);
  byoc_pointer_map_init(&compiler.buffers, allocator);
  byoc_string_map_init(&compiler.symbols, allocator);
  for (size_t i = 0; i < kernel->parameters.count; ++i)
    byoc_code_add_buffer(&compiler, kernel->parameters.data[i], false);
  if (!compiler.failed) compile_stmt(&compiler, kernel->body);
  byoc_code_emit(&compiler, (byoc_code_t){.kind = BYOC_CODE_END});
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
