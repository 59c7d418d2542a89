// SPDX-License-Identifier: Apache-2.0
// Makes expressions: folds constants, drops neutral elements, simplifies index arithmetic (loop_range.h).
#include <math.h>
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"

static byoc_loop_expr_t *new_expr(byoc_loop_builder_t *builder, byoc_loop_expr_kind_t kind, byoc_dtype_t dtype) {
  byoc_loop_expr_t *expr = BYOC_ARENA_NEW(builder->arena, byoc_loop_expr_t);
  if (!expr) {
    builder->failed = true;
    return NULL;
  }
  expr->kind = kind;
  expr->dtype = dtype;
  return expr;
}

static const byoc_loop_expr_t *fail(byoc_loop_builder_t *builder) {
  builder->failed = true;
  return NULL;
}

static const byoc_loop_expr_t *new_number(byoc_loop_builder_t *builder, byoc_dtype_t dtype, byoc_loop_number_t value) {
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_CONST, dtype);
  if (!expr) return NULL;
  if (byoc_loop_is_float(dtype))
    expr->number.f = byoc_loop_round(dtype, value.f);
  else
    expr->number.i = byoc_loop_wrap(dtype, value.i);
  return expr;
}

const byoc_loop_expr_t *byoc_loop_int(byoc_loop_builder_t *builder, int64_t value) {
  return byoc_loop_const_int(builder, BYOC_DTYPE_I64, value);
}

const byoc_loop_expr_t *byoc_loop_const(byoc_loop_builder_t *builder, byoc_dtype_t dtype, double value) {
  byoc_loop_number_t number = {0, value};
  if (!byoc_loop_is_float(dtype)) byoc_loop_fold_cast(BYOC_DTYPE_F64, dtype, (byoc_loop_number_t){0, value}, &number);
  return new_number(builder, dtype, number);
}

const byoc_loop_expr_t *byoc_loop_const_int(byoc_loop_builder_t *builder, byoc_dtype_t dtype, int64_t value) {
  return new_number(builder, dtype, (byoc_loop_number_t){value, (double)value});
}

const byoc_loop_expr_t *byoc_loop_var(byoc_loop_builder_t *builder, const byoc_loop_variable_t *variable) {
  if (!variable) return fail(builder);
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_VARIABLE, variable->dtype);
  if (expr) expr->variable = variable;
  return expr;
}

bool byoc_loop_is_const(const byoc_loop_expr_t *expr, double value) {
  if (!expr || expr->kind != BYOC_LOOP_CONST) return false;
  return byoc_loop_is_float(expr->dtype) ? expr->number.f == value : (double)expr->number.i == value;
}

bool byoc_loop_is_int(const byoc_loop_expr_t *expr, int64_t *out_value) {
  *out_value = 0;
  if (!expr || expr->kind != BYOC_LOOP_CONST || byoc_loop_is_float(expr->dtype)) return false;
  *out_value = expr->number.i;
  return true;
}

// ---- run-time dimensions ----

static const byoc_loop_expr_t *named_dim(byoc_loop_builder_t *builder, const char *text) {
  byoc_loop_kernel_t *kernel = builder->kernel;
  const char *name = NULL;
  for (size_t i = 0; kernel && i < kernel->symbols.count && !name; ++i)
    if (strcmp(kernel->symbols.data[i], text) == 0) name = kernel->symbols.data[i];
  if (!name) {
    name = byoc_arena_copy_string(builder->arena, text);
    if (!name || !kernel || !byoc_vector_push(&kernel->symbols, byoc_arena_allocator(builder->arena), name))
      return fail(builder);
  }
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_DIM, BYOC_DTYPE_I64);
  if (expr) expr->symbol = name;
  return expr;
}

static const byoc_loop_expr_t *dim_tree(byoc_loop_builder_t *builder, byoc_dim_t dim) {
  if (byoc_dim_is_constant(dim)) return byoc_loop_int(builder, dim.constant);
  if (byoc_dim_is_leaf(dim)) return byoc_loop_dim(builder, dim);
  const byoc_loop_expr_t *left = dim_tree(builder, dim.expr->left), *right = dim_tree(builder, dim.expr->right);
  switch (dim.expr->kind) {
  case BYOC_DIM_ADD:
    return BYOC_LADD(builder, left, right);
  case BYOC_DIM_SUB:
    return BYOC_LSUB(builder, left, right);
  case BYOC_DIM_MUL:
    return BYOC_LMUL(builder, left, right);
  case BYOC_DIM_FLOORDIV:
    return byoc_loop_binary(builder, BYOC_LOOP_OP_FLOORDIV, left, right);
  case BYOC_DIM_CEILDIV: // -floordiv(-left, right)
    return byoc_loop_unary(
        builder, BYOC_LOOP_OP_NEG,
        byoc_loop_binary(builder, BYOC_LOOP_OP_FLOORDIV, byoc_loop_unary(builder, BYOC_LOOP_OP_NEG, left), right));
  case BYOC_DIM_MOD:
    return byoc_loop_binary(builder, BYOC_LOOP_OP_MOD, left, right);
  case BYOC_DIM_MIN:
    return byoc_loop_binary(builder, BYOC_LOOP_OP_MIN, left, right);
  case BYOC_DIM_MAX:
    return byoc_loop_binary(builder, BYOC_LOOP_OP_MAX, left, right);
  case BYOC_DIM_BROADCAST:
    return byoc_loop_select(builder, byoc_loop_binary(builder, BYOC_LOOP_OP_EQ, left, byoc_loop_int(builder, 1)), right,
                            left);
  default:
    return fail(builder);
  }
}

// Computes a dimension's expression from its symbols.
const byoc_loop_expr_t *byoc_loop_dim(byoc_loop_builder_t *builder, byoc_dim_t dim) {
  if (!byoc_dim_is_leaf(dim)) return dim_tree(builder, dim);
  if (!byoc_dim_is_unknown(dim)) return named_dim(builder, dim.expr->symbol);
  byoc_string_t text;
  byoc_string_init(&text, byoc_arena_allocator(builder->arena));
  byoc_dim_print(dim, &text);
  const byoc_loop_expr_t *expr = text.failed ? fail(builder) : named_dim(builder, text.data);
  byoc_string_deinit(&text);
  return expr;
}

const byoc_loop_expr_t *byoc_loop_load(byoc_loop_builder_t *builder, const byoc_loop_buffer_t *buffer,
                                       const byoc_loop_expr_t *index) {
  if (!buffer || !index) return fail(builder);
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_LOAD, buffer->dtype);
  if (expr) expr->load.buffer = buffer, expr->load.index = index;
  return expr;
}

// ---- operators ----

const byoc_loop_expr_t *byoc_loop_raw_op(byoc_loop_builder_t *builder, byoc_loop_op_t op, byoc_dtype_t dtype,
                                         const byoc_loop_expr_t *a, const byoc_loop_expr_t *b) {
  if (!a || (byoc_loop_op_operand_count(op) == 2 && !b)) return fail(builder);
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_OP, dtype);
  if (expr) expr->op.op = op, expr->op.operands[0] = a, expr->op.operands[1] = b;
  return expr;
}

static byoc_loop_number_t number_of(const byoc_loop_expr_t *expr) {
  return (byoc_loop_number_t){expr->number.i, expr->number.f};
}

const byoc_loop_expr_t *byoc_loop_unary(byoc_loop_builder_t *builder, byoc_loop_op_t op, const byoc_loop_expr_t *a) {
  if (!a) return fail(builder);
  byoc_dtype_t result = byoc_loop_is_comparison(op) ? BYOC_DTYPE_BOOL : a->dtype;
  byoc_loop_number_t folded;
  if (a->kind == BYOC_LOOP_CONST && byoc_loop_fold(op, a->dtype, number_of(a), (byoc_loop_number_t){0, 0}, &folded))
    return new_number(builder, result, folded);
  bool involution = op == BYOC_LOOP_OP_NOT || op == BYOC_LOOP_OP_NEG;
  if (involution && a->kind == BYOC_LOOP_OP && a->op.op == op) return a->op.operands[0];
  if (op == BYOC_LOOP_OP_NEG && a->dtype == BYOC_DTYPE_I64) return byoc_loop_simplify_scale(builder, a, -1);
  if (!byoc_loop_is_float(a->dtype)) {
    if (byoc_loop_is_comparison(op)) return new_number(builder, BYOC_DTYPE_BOOL, (byoc_loop_number_t){0, 0});
    if (op == BYOC_LOOP_OP_FLOOR || op == BYOC_LOOP_OP_CEIL || op == BYOC_LOOP_OP_ROUND || op == BYOC_LOOP_OP_TRUNC)
      return a;
    if (op == BYOC_LOOP_OP_ABS && !byoc_loop_is_signed(a->dtype)) return a;
  }
  return byoc_loop_raw_op(builder, op, result, a, NULL);
}

static bool commutes(byoc_loop_op_t op) {
  switch (op) {
  case BYOC_LOOP_OP_ADD:
  case BYOC_LOOP_OP_MUL:
  case BYOC_LOOP_OP_MIN:
  case BYOC_LOOP_OP_MAX:
  case BYOC_LOOP_OP_AND:
  case BYOC_LOOP_OP_OR:
  case BYOC_LOOP_OP_XOR:
  case BYOC_LOOP_OP_EQ:
  case BYOC_LOOP_OP_NE:
    return true;
  default:
    return false;
  }
}

static bool is_minus_zero(const byoc_loop_expr_t *expr) {
  return byoc_loop_is_const(expr, 0) && signbit(expr->number.f);
}

// Rules with a constant on the right that hold for every value, NaN and signed zeros included. NULL if none applies.
static const byoc_loop_expr_t *drop_neutral(byoc_loop_builder_t *builder, byoc_loop_op_t op, const byoc_loop_expr_t *a,
                                            const byoc_loop_expr_t *b) {
  bool is_float = byoc_loop_is_float(a->dtype), is_bool = a->dtype == BYOC_DTYPE_BOOL;
  bool zero = byoc_loop_is_const(b, 0), one = byoc_loop_is_const(b, 1);
  switch (op) {
  case BYOC_LOOP_OP_ADD:
    return (is_float ? is_minus_zero(b) : zero) ? a : NULL;
  case BYOC_LOOP_OP_SUB:
    return zero && !(is_float && is_minus_zero(b)) ? a : NULL;
  case BYOC_LOOP_OP_MUL:
    return one ? a : zero && !is_float ? b : NULL;
  case BYOC_LOOP_OP_DIV:
    return one ? a : NULL;
  case BYOC_LOOP_OP_FLOORDIV:
    return one && !is_float ? a : NULL;
  case BYOC_LOOP_OP_MOD:
  case BYOC_LOOP_OP_FMOD:
    return one && !is_float ? byoc_loop_const_int(builder, a->dtype, 0) : NULL;
  case BYOC_LOOP_OP_POW:
    return one ? a : NULL;
  case BYOC_LOOP_OP_AND:
    if (zero) return b;
    return is_bool && one ? a : NULL;
  case BYOC_LOOP_OP_OR:
    if (zero) return a;
    return is_bool && one ? b : NULL;
  case BYOC_LOOP_OP_XOR:
  case BYOC_LOOP_OP_SHL:
  case BYOC_LOOP_OP_SHR:
    return zero ? a : NULL;
  default:
    return NULL;
  }
}

// Decides comparisons, min and max of i64 if the ranges of the operands suffice.
static const byoc_loop_expr_t *decide_by_range(byoc_loop_builder_t *builder, byoc_loop_op_t op,
                                               const byoc_loop_expr_t *a, const byoc_loop_expr_t *b) {
  int64_t al, ah, bl, bh;
  if (!byoc_loop_range(a, &al, &ah) || !byoc_loop_range(b, &bl, &bh)) return NULL;
  int known = -1;
  switch (op) {
  case BYOC_LOOP_OP_LT:
    known = ah < bl ? 1 : al >= bh ? 0 : -1;
    break;
  case BYOC_LOOP_OP_LE:
    known = ah <= bl ? 1 : al > bh ? 0 : -1;
    break;
  case BYOC_LOOP_OP_EQ:
  case BYOC_LOOP_OP_NE:
    if (ah < bl || bh < al) known = op == BYOC_LOOP_OP_NE;
    break;
  case BYOC_LOOP_OP_MIN:
    return ah <= bl ? a : bh <= al ? b : NULL;
  case BYOC_LOOP_OP_MAX:
    return al >= bh ? a : bl >= ah ? b : NULL;
  default:
    break;
  }
  return known < 0 ? NULL : byoc_loop_const_int(builder, BYOC_DTYPE_BOOL, known);
}

static const byoc_loop_expr_t *index_arithmetic(byoc_loop_builder_t *builder, byoc_loop_op_t op,
                                                const byoc_loop_expr_t *a, const byoc_loop_expr_t *b) {
  switch (op) {
  case BYOC_LOOP_OP_ADD:
    return byoc_loop_simplify_sum(builder, a, b, false);
  case BYOC_LOOP_OP_SUB:
    return byoc_loop_simplify_sum(builder, a, b, true);
  case BYOC_LOOP_OP_MUL:
    return b->kind == BYOC_LOOP_CONST ? byoc_loop_simplify_scale(builder, a, b->number.i) : NULL;
  case BYOC_LOOP_OP_FLOORDIV:
    return byoc_loop_is_const(b, 0) ? NULL : byoc_loop_simplify_division(builder, a, b, false);
  case BYOC_LOOP_OP_MOD:
    return byoc_loop_is_const(b, 0) ? NULL : byoc_loop_simplify_division(builder, a, b, true);
  default:
    return decide_by_range(builder, op, a, b);
  }
}

const byoc_loop_expr_t *byoc_loop_binary(byoc_loop_builder_t *builder, byoc_loop_op_t op, const byoc_loop_expr_t *a,
                                         const byoc_loop_expr_t *b) {
  if (!a || !b) return fail(builder);
  byoc_dtype_t result = byoc_loop_is_comparison(op) ? BYOC_DTYPE_BOOL : a->dtype;
  if (a->dtype != b->dtype) return byoc_loop_raw_op(builder, op, result, a, b); // the verifier will report it
  byoc_loop_number_t folded;
  if (a->kind == BYOC_LOOP_CONST && b->kind == BYOC_LOOP_CONST &&
      byoc_loop_fold(op, a->dtype, number_of(a), number_of(b), &folded))
    return new_number(builder, result, folded);
  if (commutes(op) && a->kind == BYOC_LOOP_CONST && b->kind != BYOC_LOOP_CONST) {
    const byoc_loop_expr_t *swap = a;
    a = b, b = swap;
  }
  const byoc_loop_expr_t *simple = drop_neutral(builder, op, a, b);
  if (!simple && a == b &&
      (op == BYOC_LOOP_OP_MIN || op == BYOC_LOOP_OP_MAX || op == BYOC_LOOP_OP_AND || op == BYOC_LOOP_OP_OR))
    simple = a;
  bool ordered = op == BYOC_LOOP_OP_LT || op == BYOC_LOOP_OP_LE || op == BYOC_LOOP_OP_EQ || op == BYOC_LOOP_OP_NE;
  if (!simple && ordered && !byoc_loop_is_float(a->dtype) && byoc_loop_expr_equal(a, b))
    simple = byoc_loop_const_int(builder, BYOC_DTYPE_BOOL, op == BYOC_LOOP_OP_LE || op == BYOC_LOOP_OP_EQ);
  if (!simple && a->dtype == BYOC_DTYPE_I64) simple = index_arithmetic(builder, op, a, b);
  if (simple) return simple;
  return byoc_loop_raw_op(builder, op, result, a, b);
}

const byoc_loop_expr_t *byoc_loop_select(byoc_loop_builder_t *builder, const byoc_loop_expr_t *condition,
                                         const byoc_loop_expr_t *yes, const byoc_loop_expr_t *no) {
  if (!condition || !yes || !no) return fail(builder);
  if (condition->kind == BYOC_LOOP_CONST) return condition->number.i ? yes : no;
  if (yes->dtype == no->dtype && byoc_loop_expr_equal(yes, no)) return yes;
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_SELECT, yes->dtype);
  if (expr) expr->select.condition = condition, expr->select.yes = yes, expr->select.no = no;
  return expr;
}

const byoc_loop_expr_t *byoc_loop_cast(byoc_loop_builder_t *builder, byoc_dtype_t dtype,
                                       const byoc_loop_expr_t *value) {
  if (!value) return fail(builder);
  if (value->dtype == dtype &&
      (byoc_loop_is_integer(dtype) || dtype == BYOC_DTYPE_BOOL || dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64))
    return value;
  byoc_loop_number_t folded;
  if (value->kind == BYOC_LOOP_CONST && byoc_loop_fold_cast(value->dtype, dtype, number_of(value), &folded))
    return new_number(builder, dtype, folded);
  byoc_loop_expr_t *expr = new_expr(builder, BYOC_LOOP_CAST, dtype);
  if (expr) expr->cast = value;
  return expr;
}

const byoc_loop_expr_t *byoc_loop_linear_index(byoc_loop_builder_t *builder, int32_t rank, const byoc_dim_t *dims,
                                               const byoc_loop_expr_t *const *indices) {
  const byoc_loop_expr_t *linear = byoc_loop_int(builder, 0);
  for (int32_t i = 0; i < rank && linear; ++i) {
    if (i > 0) linear = BYOC_LMUL(builder, linear, byoc_loop_dim(builder, dims[i]));
    linear = BYOC_LADD(builder, linear, indices[i]);
  }
  return linear;
}
