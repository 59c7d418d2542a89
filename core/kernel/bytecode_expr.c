// SPDX-License-Identifier: Apache-2.0
// Compiles expressions of kernels to code over registers, for the interpreter.
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/kernel/bytecode_compiler.h"

static uint32_t preset(byoc_bytecode_compiler_t *compiler, byoc_code_preset_t value) {
  // Presets keep their registers to the end. They are numbered from the end, where statements' registers do not come.
  value.reg = (uint32_t)compiler->program->presets.count | 0x80000000u;
  if (!byoc_vector_push(&compiler->program->presets, compiler->program->allocator, value)) compiler->failed = true;
  return value.reg;
}

static uint32_t literal(byoc_bytecode_compiler_t *compiler, byoc_dtype_t dtype, int64_t i, double f) {
  byoc_code_class_t cls = byoc_code_class(dtype);
  for (size_t p = 0; p < compiler->program->presets.count; ++p) {
    const byoc_code_preset_t *known = &compiler->program->presets.data[p];
    if (known->cls == cls && !known->is_dim && known->i == i && memcmp(&known->f, &f, sizeof(f)) == 0)
      return known->reg;
  }
  return preset(compiler, (byoc_code_preset_t){.cls = cls, .i = i, .f = f});
}

static uint32_t dimension(byoc_bytecode_compiler_t *compiler, const char *symbol) {
  uintptr_t known = (uintptr_t)byoc_string_map_get(&compiler->symbols, symbol);
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
  if (!byoc_string_map_put(&compiler->symbols, symbol, (void *)((uintptr_t)reg + 1))) compiler->failed = true;
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

// Vector registers are marked by a bit in masks, so that one number says both.
#define MASK_VECTOR 0x40000000u

static byoc_code_t masked(byoc_code_t code, uint32_t mask) {
  code.c = mask == BYOC_CODE_NO_MASK ? mask : mask & ~MASK_VECTOR;
  code.c_lanes = mask != BYOC_CODE_NO_MASK && (mask & MASK_VECTOR) != 0;
  return code;
}

static uint32_t and_mask(byoc_bytecode_compiler_t *compiler, uint32_t mask, byoc_code_operand_t condition,
                         bool negate) {
  if (negate) {
    byoc_code_operand_t inverse = {byoc_code_new_register(compiler), condition.is_vector};
    byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
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
  uint32_t reg = byoc_code_new_register(compiler);
  byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
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

// The single number `base` of an even expression, which is its value in lane 0.
uint32_t byoc_code_compile_base(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr) {
  if (!byoc_code_varies(compiler, expr)) return byoc_code_compile_expr(compiler, expr, BYOC_CODE_NO_MASK).reg;
  if (expr->kind == BYOC_LOOP_VARIABLE) return byoc_code_location(compiler, expr->variable)->base;
  uint32_t a = byoc_code_compile_base(compiler, expr->op.operands[0]),
           b = byoc_code_compile_base(compiler, expr->op.operands[1]);
  uint32_t reg = byoc_code_new_register(compiler);
  byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
                                         .op = (uint8_t)expr->op.op,
                                         .operands = BYOC_CLASS_INT,
                                         .dtype = BYOC_DTYPE_I64,
                                         .from = BYOC_DTYPE_I64,
                                         .dst = reg,
                                         .a = a,
                                         .b = b});
  return reg;
}

static byoc_code_operand_t compile_load(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr,
                                        uint32_t mask) {
  byoc_code_t code = {.kind = BYOC_CODE_LOAD,
                      .dtype = (uint8_t)expr->dtype,
                      .buffer = byoc_code_find_buffer(compiler, expr->load.buffer)};
  bool is_vector = byoc_code_varies(compiler, expr);
  int64_t step;
  if (is_vector && mask == BYOC_CODE_NO_MASK && !byoc_code_buffer_entry(compiler, expr->load.buffer)->is_vector &&
      byoc_code_is_even(compiler, expr->load.index, &step)) {
    code.kind = BYOC_CODE_LOAD_RAMP;
    code.immediate = step;
    code.a = byoc_code_compile_base(compiler, expr->load.index);
  } else {
    byoc_code_operand_t index = byoc_code_compile_expr(compiler, expr->load.index, mask);
    code.a = index.reg, code.a_lanes = index.is_vector;
    code = masked(code, mask);
    is_vector |= code.c_lanes;
  }
  code.dst = byoc_code_new_register(compiler);
  code.dst_lanes = is_vector;
  byoc_code_emit(compiler, code);
  return (byoc_code_operand_t){code.dst, is_vector};
}

static byoc_code_operand_t compile_select(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr,
                                          uint32_t mask) {
  byoc_code_operand_t condition = byoc_code_compile_expr(compiler, expr->select.condition, mask);
  bool guard_yes = needs_guard(expr->select.yes), guard_no = needs_guard(expr->select.no);
  byoc_code_operand_t yes =
      byoc_code_compile_expr(compiler, expr->select.yes, guard_yes ? and_mask(compiler, mask, condition, false) : mask);
  byoc_code_operand_t no =
      byoc_code_compile_expr(compiler, expr->select.no, guard_no ? and_mask(compiler, mask, condition, true) : mask);
  byoc_code_operand_t result = {byoc_code_new_register(compiler), condition.is_vector || yes.is_vector || no.is_vector};
  byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_SELECT,
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

static byoc_code_operand_t compile_op(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr, uint32_t mask) {
  byoc_code_operand_t a = byoc_code_compile_expr(compiler, expr->op.operands[0], mask), b = {0, false};
  if (expr->op.operands[1]) b = byoc_code_compile_expr(compiler, expr->op.operands[1], mask);
  byoc_code_operand_t result = {byoc_code_new_register(compiler), a.is_vector || b.is_vector};
  byoc_dtype_t dtype = expr->op.operands[0]->dtype;
  byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_OP,
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

static byoc_code_operand_t compile_fresh(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr,
                                         uint32_t mask) {
  int64_t step;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return compile_load(compiler, expr, mask);
  case BYOC_LOOP_SELECT:
    return compile_select(compiler, expr, mask);
  case BYOC_LOOP_CAST: {
    byoc_code_operand_t value = byoc_code_compile_expr(compiler, expr->cast, mask);
    byoc_code_operand_t result = {byoc_code_new_register(compiler), value.is_vector};
    byoc_code_emit(compiler, (byoc_code_t){.kind = BYOC_CODE_CAST,
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
  if (mask == BYOC_CODE_NO_MASK && byoc_code_varies(compiler, expr) && byoc_code_is_even(compiler, expr, &step)) {
    uint32_t base = byoc_code_compile_base(compiler, expr);
    byoc_code_operand_t result = {byoc_code_new_register(compiler), true};
    byoc_code_emit(
        compiler,
        (byoc_code_t){.kind = BYOC_CODE_RAMP, .dst_lanes = true, .dst = result.reg, .a = base, .immediate = step});
    return result;
  }
  return compile_op(compiler, expr, mask);
}

byoc_code_operand_t byoc_code_compile_expr(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr,
                                           uint32_t mask) {
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    return (byoc_code_operand_t){literal(compiler, expr->dtype, expr->number.i, expr->number.f), false};
  case BYOC_LOOP_DIM:
    return (byoc_code_operand_t){dimension(compiler, expr->symbol), false};
  case BYOC_LOOP_VARIABLE: {
    const byoc_code_location_t *place = byoc_code_location(compiler, expr->variable);
    if (!place->is_vector || !place->is_even) return (byoc_code_operand_t){place->reg, place->is_vector};
    byoc_code_operand_t result = {byoc_code_new_register(compiler), true};
    byoc_code_emit(
        compiler,
        (byoc_code_t){
            .kind = BYOC_CODE_RAMP, .dst_lanes = true, .dst = result.reg, .a = place->base, .immediate = place->step});
    return result;
  }
  default:
    break;
  }
  for (size_t i = compiler->known.count; i > 0; --i) {
    const byoc_code_known_t *known = &compiler->known.data[i - 1];
    if (known->expr == expr && (known->mask == mask || known->mask == BYOC_CODE_NO_MASK))
      return (byoc_code_operand_t){known->reg & ~MASK_VECTOR, (known->reg & MASK_VECTOR) != 0};
  }
  byoc_code_operand_t result = compile_fresh(compiler, expr, mask);
  byoc_code_known_t known = {expr, mask, result.reg | (result.is_vector ? MASK_VECTOR : 0)};
  if (!byoc_vector_push(&compiler->known, compiler->program->allocator, known)) compiler->failed = true;
  return result;
}
