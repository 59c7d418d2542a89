// SPDX-License-Identifier: Apache-2.0
// Emits expressions of kernels as C, with the parentheses that precedence asks for.
#include <math.h>
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"
#include "core/kernel/emit.h"

const char *byoc_emit_restrict(const byoc_loop_kernel_t *kernel, const byoc_loop_buffer_t *buffer) {
  bool is_shared = false;
  for (uint32_t i = 0; i < kernel->input_count && buffer->kind == BYOC_LOOP_BUFFER_OUTPUT; ++i) {
    is_shared = is_shared || byoc_loop_overwrites(kernel, i, buffer->index - kernel->input_count);
  }
  for (uint32_t i = 0; i < kernel->output_count && buffer->kind == BYOC_LOOP_BUFFER_INPUT; ++i) {
    is_shared = is_shared || byoc_loop_overwrites(kernel, buffer->index, i);
  }
  return is_shared ? "" : "restrict ";
}

// How floats that kernels hold as f32 are stored: the helpers that convert them, and the last arguments of those.
typedef struct narrow_t {
  const char *to_f32, *from_f32, *arguments;
} narrow_t;

static narrow_t narrow_of(byoc_dtype_t dtype) {
  narrow_t f8 = {"byoc_f32_from_f8", "byoc_f8_from_f32", NULL}; // mantissa, bias, finite, fnuz
  switch (dtype) {
  case BYOC_DTYPE_F16:
    return (narrow_t){"byoc_f32_from_f16", "byoc_f16_from_f32", ""};
  case BYOC_DTYPE_BF16:
    return (narrow_t){"byoc_f32_from_bf16", "byoc_bf16_from_f32", ""};
  case BYOC_DTYPE_F4E2M1:
    return (narrow_t){"byoc_f32_from_f4", "byoc_f4_from_f32", ""};
  case BYOC_DTYPE_F8E8M0:
    return (narrow_t){"byoc_f32_from_e8m0", "byoc_e8m0_from_f32", ""};
  case BYOC_DTYPE_F8E4M3FN:
    f8.arguments = ", 3, 7, 1, 0";
    return f8;
  case BYOC_DTYPE_F8E4M3FNUZ:
    f8.arguments = ", 3, 8, 1, 1";
    return f8;
  case BYOC_DTYPE_F8E5M2:
    f8.arguments = ", 2, 15, 0, 0";
    return f8;
  case BYOC_DTYPE_F8E5M2FNUZ:
    f8.arguments = ", 2, 16, 1, 1";
    return f8;
  default:
    return (narrow_t){NULL, NULL, ""};
  }
}

// The local that holds the expression's value; NULL if there is none.
static const char *name_of(const byoc_emitter_t *emitter, const byoc_loop_expr_t *expr) {
  const char *name = byoc_pointer_map_get(&emitter->shared, expr);
  return name != NULL ? name : byoc_pointer_map_get(&emitter->invariant, expr);
}

// The same where a statement stands: outside of vector loops, f16 is converted by the processor's instruction.
static narrow_t narrow_here(byoc_emitter_t *emitter, byoc_dtype_t dtype) {
  if (dtype != BYOC_DTYPE_F16 || emitter->vector_depth > 0) return narrow_of(dtype);
  emitter->uses_f16 = emitter->uses_vector = true;
  return (narrow_t){"byoc_f32_of_f16", "byoc_f16_of_f32", ""};
}

// An element of a tensor of this type, which is copied as it is.
static bool is_element(const byoc_emitter_t *emitter, byoc_dtype_t dtype, const byoc_loop_expr_t *value) {
  return value->kind == BYOC_LOOP_LOAD && value->load.buffer->dtype == dtype && byoc_dtype_bits(dtype) >= 8 &&
         byoc_emit_holds_bits(emitter, value->load.buffer) && name_of(emitter, value) == NULL;
}

void byoc_emit_helper(byoc_emitter_t *emitter, const char *name) {
  if (!byoc_string_map_find(&emitter->helpers, name) && !byoc_string_map_put(&emitter->helpers, name, NULL))
    emitter->failed = true;
  byoc_string_append(emitter->out, name);
}

void byoc_emit_dim_name(byoc_emitter_t *emitter, const char *symbol, byoc_string_t *out) {
  for (size_t i = 0; i < emitter->kernel->symbols.count; ++i)
    if (strcmp(emitter->kernel->symbols.data[i], symbol) == 0) byoc_string_appendf(out, "dim_%zu", i);
}

static void text(byoc_emitter_t *emitter, const char *value) {
  byoc_string_append(emitter->out, value);
}

// ---- literals ----

static void emit_float(byoc_emitter_t *emitter, byoc_dtype_t dtype, double value) {
  bool is_double = dtype == BYOC_DTYPE_F64;
  if (isnan(value)) {
    text(emitter, is_double ? "(double)NAN" : "NAN");
  } else if (isinf(value)) {
    text(emitter,
         is_double ? (value < 0 ? "-(double)INFINITY" : "(double)INFINITY") : (value < 0 ? "-INFINITY" : "INFINITY"));
  } else {
    size_t start = emitter->out->size;
    if (is_double)
      byoc_string_append_f64(emitter->out, value);
    else
      byoc_string_append_f32(emitter->out, (float)value);
    const char *digits = emitter->out->data + (emitter->out->failed ? 0 : start);
    if (!strpbrk(digits, ".e")) text(emitter, ".0");
    if (!is_double) text(emitter, "f");
  }
}

static void emit_integer(byoc_emitter_t *emitter, byoc_dtype_t dtype, int64_t value) {
  byoc_string_t *out = emitter->out;
  if (dtype == BYOC_DTYPE_BOOL)
    text(emitter, value ? "true" : "false");
  else if (dtype == BYOC_DTYPE_U64)
    byoc_string_appendf(out, "UINT64_C(%llu)", (unsigned long long)value);
  else if (value == INT64_MIN)
    text(emitter, "INT64_MIN");
  else if (value >= -INT32_MAX && value <= INT32_MAX)
    byoc_string_appendf(out, "%lld", (long long)value);
  else
    byoc_string_appendf(out, "INT64_C(%lld)", (long long)value);
}

static bool is_negative_literal(const byoc_loop_expr_t *expr) {
  return byoc_loop_is_float(expr->dtype) ? signbit(expr->number.f) && !isnan(expr->number.f)
                                         : expr->dtype != BYOC_DTYPE_U64 && expr->number.i < 0;
}

// ---- operators ----

static bool has_load(const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return true;
  case BYOC_LOOP_VARIABLE:
    return expr->variable->is_mutable;
  case BYOC_LOOP_OP:
    return has_load(expr->op.operands[0]) || (expr->op.operands[1] && has_load(expr->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return has_load(expr->select.condition) || has_load(expr->select.yes) || has_load(expr->select.no);
  case BYOC_LOOP_CAST:
    return true;
  default:
    return false;
  }
}

// helper(a, b), converted back to the operands' type
static void emit_call(byoc_emitter_t *emitter, const char *helper, const char *convert, const byoc_loop_expr_t *expr) {
  if (convert) byoc_string_appendf(emitter->out, "(%s)", convert);
  if (byoc_starts_with(helper, "byoc_"))
    byoc_emit_helper(emitter, helper);
  else
    text(emitter, helper);
  text(emitter, "(");
  byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_CONDITIONAL);
  if (byoc_loop_op_operand_count(expr->op.op) == 2) {
    text(emitter, ", ");
    byoc_emit_expr(emitter, expr->op.operands[1], BYOC_C_CONDITIONAL);
  }
  text(emitter, ")");
}

static void emit_infix(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, const char *symbol,
                       byoc_c_precedence_t left, byoc_c_precedence_t right) {
  byoc_emit_expr(emitter, expr->op.operands[0], left);
  byoc_string_appendf(emitter->out, " %s ", symbol);
  byoc_emit_expr(emitter, expr->op.operands[1], right);
}

static const char *infix_of(byoc_loop_op_t op, byoc_c_precedence_t *own, byoc_c_precedence_t *left,
                            byoc_c_precedence_t *right) {
  *own = BYOC_C_COMPARISON, *left = *right = BYOC_C_SUM;
  switch (op) {
  case BYOC_LOOP_OP_ADD:
    *own = *left = BYOC_C_SUM, *right = BYOC_C_PRODUCT;
    return "+";
  case BYOC_LOOP_OP_SUB:
    *own = *left = BYOC_C_SUM, *right = BYOC_C_PRODUCT;
    return "-";
  case BYOC_LOOP_OP_MUL:
    *own = *left = BYOC_C_PRODUCT, *right = BYOC_C_UNARY;
    return "*";
  case BYOC_LOOP_OP_DIV:
    *own = *left = BYOC_C_PRODUCT, *right = BYOC_C_UNARY;
    return "/";
  case BYOC_LOOP_OP_LT:
    return "<";
  case BYOC_LOOP_OP_LE:
    return "<=";
  case BYOC_LOOP_OP_EQ:
    return "==";
  case BYOC_LOOP_OP_NE:
    return "!=";
  case BYOC_LOOP_OP_AND:
    *own = BYOC_C_LOGICAL, *left = *right = BYOC_C_UNARY;
    return "&";
  case BYOC_LOOP_OP_OR:
    *own = BYOC_C_LOGICAL, *left = *right = BYOC_C_UNARY;
    return "|";
  case BYOC_LOOP_OP_XOR:
    *own = BYOC_C_LOGICAL, *left = *right = BYOC_C_UNARY;
    return "^";
  default:
    return NULL;
  }
}

static void emit_parenthesised(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, const char *symbol,
                               byoc_c_precedence_t own, byoc_c_precedence_t left, byoc_c_precedence_t right,
                               byoc_c_precedence_t least) {
  if (own < least) text(emitter, "(");
  emit_infix(emitter, expr, symbol, left, right);
  if (own < least) text(emitter, ")");
}

// Arithmetic on integer data wraps, so it is done on unsigned numbers of the same width, or of 32 bits.
static void emit_wrapping(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, const char *symbol) {
  byoc_dtype_t dtype = expr->dtype;
  const char *wide = byoc_dtype_bits(dtype) == 64 ? "uint64_t" : "uint32_t";
  byoc_string_appendf(emitter->out, "(%s)((%s)", byoc_c_value_type(dtype), wide);
  byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_PRIMARY);
  byoc_string_appendf(emitter->out, " %s (%s)", symbol, wide);
  byoc_emit_expr(emitter, expr->op.operands[1], BYOC_C_PRIMARY);
  text(emitter, ")");
}

static bool known_not_negative(const byoc_loop_expr_t *expr) {
  int64_t low, high;
  return byoc_loop_range(expr, &low, &high) && low >= 0;
}

static void emit_integer_division(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least) {
  byoc_loop_op_t op = expr->op.op;
  bool quotient = op == BYOC_LOOP_OP_DIV || op == BYOC_LOOP_OP_FLOORDIV;
  int64_t divisor;
  bool plain = byoc_loop_is_int(expr->op.operands[1], &divisor) && divisor != 0 && divisor != -1;
  bool is_signed = byoc_loop_is_signed(expr->dtype);
  if (op == BYOC_LOOP_OP_FLOORDIV || op == BYOC_LOOP_OP_MOD)
    plain = plain && divisor > 0 && (!is_signed || known_not_negative(expr->op.operands[0]));
  if (plain) {
    bool narrow = byoc_dtype_bits(expr->dtype) < 32;
    if (narrow) byoc_string_appendf(emitter->out, "(%s)", byoc_c_value_type(expr->dtype));
    emit_parenthesised(emitter, expr, quotient ? "/" : "%", narrow ? BYOC_C_CONDITIONAL : BYOC_C_PRODUCT, BYOC_C_UNARY,
                       BYOC_C_UNARY, narrow ? BYOC_C_UNARY : least);
    return;
  }
  const char *helper = !is_signed                    ? (quotient ? "byoc_div_u64" : "byoc_mod_u64")
                       : op == BYOC_LOOP_OP_DIV      ? "byoc_div_i64"
                       : op == BYOC_LOOP_OP_FMOD     ? "byoc_fmod_i64"
                       : op == BYOC_LOOP_OP_FLOORDIV ? "byoc_floordiv_i64"
                                                     : "byoc_mod_i64";
  bool wide = expr->dtype == BYOC_DTYPE_I64 || expr->dtype == BYOC_DTYPE_U64;
  emit_call(emitter, helper, wide ? NULL : byoc_c_value_type(expr->dtype), expr);
}

static bool is_nan_test(const byoc_loop_expr_t *expr) {
  return expr->kind == BYOC_LOOP_OP && expr->op.op == BYOC_LOOP_OP_ISNAN;
}

// isnan(x) | isnan(y) is isunordered(x, y), one comparison. Compilers emit two.
static bool emit_unordered(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr) {
  const byoc_loop_expr_t *x = expr->op.operands[0], *y = expr->op.operands[1];
  if (!is_nan_test(x) || !is_nan_test(y) || x->op.operands[0]->dtype != y->op.operands[0]->dtype) return false;
  text(emitter, "(isunordered(");
  byoc_emit_expr(emitter, x->op.operands[0], BYOC_C_CONDITIONAL);
  text(emitter, ", ");
  byoc_emit_expr(emitter, y->op.operands[0], BYOC_C_CONDITIONAL);
  text(emitter, ") != 0)");
  return true;
}

static void emit_integer_op(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least) {
  byoc_loop_op_t op = expr->op.op;
  byoc_dtype_t dtype = expr->op.operands[0]->dtype;
  bool is_signed = byoc_loop_is_signed(dtype), is_bool = dtype == BYOC_DTYPE_BOOL;
  const char *type = byoc_c_value_type(dtype);
  byoc_c_precedence_t own, left, right;
  const char *symbol = infix_of(op, &own, &left, &right);
  if (op == BYOC_LOOP_OP_OR && (byoc_emit_word(emitter, expr) || emit_unordered(emitter, expr))) return;
  switch (op) {
  case BYOC_LOOP_OP_ADD:
  case BYOC_LOOP_OP_SUB:
  case BYOC_LOOP_OP_MUL:
    if (dtype == BYOC_DTYPE_I64 && !has_load(expr))
      emit_parenthesised(emitter, expr, symbol, own, left, right, least);
    else
      emit_wrapping(emitter, expr, symbol);
    return;
  case BYOC_LOOP_OP_DIV:
  case BYOC_LOOP_OP_FMOD:
  case BYOC_LOOP_OP_FLOORDIV:
  case BYOC_LOOP_OP_MOD:
    emit_integer_division(emitter, expr, least);
    return;
  case BYOC_LOOP_OP_MIN:
  case BYOC_LOOP_OP_MAX: {
    bool wide = dtype == BYOC_DTYPE_I64 || dtype == BYOC_DTYPE_U64, low = op == BYOC_LOOP_OP_MIN;
    emit_call(emitter,
              is_signed || is_bool ? (low ? "byoc_min_i64" : "byoc_max_i64") : (low ? "byoc_min_u64" : "byoc_max_u64"),
              wide ? NULL : type, expr);
    return;
  }
  case BYOC_LOOP_OP_SHL:
    if (dtype == BYOC_DTYPE_I32 && expr->op.operands[1]->kind == BYOC_LOOP_CONST &&
        expr->op.operands[1]->number.i >= 0 && expr->op.operands[1]->number.i < 32) {
      text(emitter, "(int32_t)((uint32_t)");
      byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_PRIMARY);
      byoc_string_appendf(emitter->out, " << %d)", (int)expr->op.operands[1]->number.i);
      return;
    }
    emit_call(emitter, "byoc_shl_u64", type, expr);
    return;
  case BYOC_LOOP_OP_SHR:
    emit_call(emitter, is_signed ? "byoc_shr_i64" : "byoc_shr_u64", type, expr);
    return;
  case BYOC_LOOP_OP_DOT4:
    emit_call(emitter, "byoc_dot4_i32", NULL, expr);
    return;
  case BYOC_LOOP_OP_ABS:
    emit_call(emitter, "byoc_abs_i64", type, expr);
    return;
  case BYOC_LOOP_OP_SIGN:
    if (is_signed) {
      emit_call(emitter, "byoc_sign_i64", type, expr);
    } else {
      byoc_string_appendf(emitter->out, "(%s)(", type);
      byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_SUM);
      text(emitter, " != 0)");
    }
    return;
  case BYOC_LOOP_OP_NEG:
    byoc_string_appendf(emitter->out, "(%s)(0 - (%s)", type, byoc_dtype_bits(dtype) == 64 ? "uint64_t" : "uint32_t");
    byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_PRIMARY);
    text(emitter, ")");
    return;
  case BYOC_LOOP_OP_NOT:
    if (is_bool) {
      text(emitter, "!");
      byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_PRIMARY);
    } else { // not '~': compilers warn about it if the operand was a comparison
      const char *wide = byoc_dtype_bits(dtype) == 64 ? "uint64_t" : "uint32_t";
      byoc_string_appendf(emitter->out, "(%s)((%s)", type, wide);
      byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_PRIMARY);
      text(emitter, byoc_dtype_bits(dtype) == 64 ? " ^ UINT64_MAX)" : " ^ UINT32_MAX)");
    }
    return;
  case BYOC_LOOP_OP_AND:
  case BYOC_LOOP_OP_OR:
    if (is_bool) symbol = op == BYOC_LOOP_OP_AND ? "&&" : "||";
    break;
  default:
    break;
  }
  if (!symbol) {
    emitter->failed = true;
    return;
  }
  bool narrow = !is_bool && own == BYOC_C_LOGICAL && byoc_dtype_bits(dtype) < 32;
  if (narrow) byoc_string_appendf(emitter->out, "(%s)", type);
  emit_parenthesised(emitter, expr, symbol, own, left, right, narrow ? BYOC_C_PRIMARY : least);
}

// Is there a libm function of one operand with the operator's name?
static bool is_libm(byoc_loop_op_t op) {
  return op == BYOC_LOOP_OP_FLOOR || op == BYOC_LOOP_OP_CEIL || op == BYOC_LOOP_OP_TRUNC || op == BYOC_LOOP_OP_SQRT ||
         byoc_loop_op_category(op) == BYOC_LOOP_TRANSCENDENTAL;
}

static void emit_float_op(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least) {
  byoc_loop_op_t op = expr->op.op;
  bool is_double = expr->op.operands[0]->dtype == BYOC_DTYPE_F64;
  byoc_c_precedence_t own, left, right;
  const char *symbol = infix_of(op, &own, &left, &right);
  char name[32];
  if (symbol) {
    emit_parenthesised(emitter, expr, symbol, own, left, right, least);
    return;
  }
  switch (op) {
  case BYOC_LOOP_OP_NEG:
    if (least > BYOC_C_UNARY) text(emitter, "(");
    text(emitter, "-");
    byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_PRIMARY);
    if (least > BYOC_C_UNARY) text(emitter, ")");
    return;
  case BYOC_LOOP_OP_MIN:
  case BYOC_LOOP_OP_MAX:
  case BYOC_LOOP_OP_MOD:
  case BYOC_LOOP_OP_SIGN:
    snprintf(name, sizeof(name), "byoc_%s_%s", byoc_loop_op_name(op), is_double ? "f64" : "f32");
    break;
  case BYOC_LOOP_OP_EXP:
  case BYOC_LOOP_OP_EXPM1:
  case BYOC_LOOP_OP_LOG:
  case BYOC_LOOP_OP_LOG1P:
  case BYOC_LOOP_OP_SIN:
  case BYOC_LOOP_OP_COS:
  case BYOC_LOOP_OP_ERF:
  case BYOC_LOOP_OP_TANH:
    snprintf(name, sizeof(name), is_double ? "%s" : "byoc_%s_f32", byoc_loop_op_name(op));
    break;
  case BYOC_LOOP_OP_FLOORDIV:
    byoc_string_append(emitter->out, is_double ? "floor(" : "floorf(");
    emit_infix(emitter, expr, "/", BYOC_C_PRODUCT, BYOC_C_UNARY);
    text(emitter, ")");
    return;
  case BYOC_LOOP_OP_ISNAN:
  case BYOC_LOOP_OP_ISINF:
    byoc_string_appendf(emitter->out, "(%s(", byoc_loop_op_name(op));
    byoc_emit_expr(emitter, expr->op.operands[0], BYOC_C_CONDITIONAL);
    text(emitter, ") != 0)");
    return;
  case BYOC_LOOP_OP_ABS:
  case BYOC_LOOP_OP_ROUND:
    snprintf(name, sizeof(name), "%s%s", op == BYOC_LOOP_OP_ABS ? "fabs" : "rint", is_double ? "" : "f");
    break;
  case BYOC_LOOP_OP_FMOD:
  case BYOC_LOOP_OP_POW:
  case BYOC_LOOP_OP_ATAN2:
    snprintf(name, sizeof(name), "%s%s", byoc_loop_op_name(op), is_double ? "" : "f");
    break;
  default:
    if (!is_libm(op)) {
      emitter->failed = true;
      return;
    }
    snprintf(name, sizeof(name), "%s%s", byoc_loop_op_name(op), is_double ? "" : "f");
  }
  emit_call(emitter, name, NULL, expr);
}

// ---- loads and casts ----

// byoc_load_u4(buffer, index)
static void emit_packed_load(byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index) {
  const char *helper = buffer->dtype == BYOC_DTYPE_I4   ? "byoc_load_i4"
                       : buffer->dtype == BYOC_DTYPE_I2 ? "byoc_load_i2"
                       : buffer->dtype == BYOC_DTYPE_U2 ? "byoc_load_u2"
                                                        : "byoc_load_u4";
  byoc_emit_helper(emitter, helper);
  byoc_string_appendf(emitter->out, "(%s, ", buffer->name);
  byoc_emit_expr(emitter, index, BYOC_C_CONDITIONAL);
  text(emitter, ")");
}

static void emit_load(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least) {
  const byoc_loop_buffer_t *buffer = expr->load.buffer;
  byoc_string_t *out = emitter->out;
  const bool is_local = !byoc_emit_holds_bits(emitter, buffer);
  const bool is_bool = !is_local && buffer->dtype == BYOC_DTYPE_BOOL;
  const narrow_t narrow = is_local ? (narrow_t){NULL, NULL, ""} : narrow_here(emitter, buffer->dtype);
  if (narrow.to_f32 != NULL) {
    byoc_emit_helper(emitter, narrow.to_f32);
    text(emitter, "(");
  } else if (is_bool && least > BYOC_C_COMPARISON) {
    text(emitter, "(");
  }
  if (!is_local && byoc_dtype_bits(buffer->dtype) < 8) {
    emit_packed_load(emitter, buffer, expr->load.index);
  } else {
    byoc_string_appendf(out, "%s[", buffer->name);
    byoc_emit_expr(emitter, expr->load.index, BYOC_C_CONDITIONAL);
    text(emitter, "]");
  }
  if (is_bool) text(emitter, least > BYOC_C_COMPARISON ? " != 0)" : " != 0");
  if (narrow.to_f32 != NULL) byoc_string_appendf(out, "%s)", narrow.arguments);
}

// The number that a store rounds: one that was rounded to its type already is not rounded twice.
static const byoc_loop_expr_t *unrounded(const byoc_emitter_t *emitter, byoc_dtype_t dtype,
                                         const byoc_loop_expr_t *value) {
  if (value->kind != BYOC_LOOP_CAST || value->dtype != dtype || name_of(emitter, value) != NULL) return value;
  const bool is_f32 = byoc_loop_is_float(value->cast->dtype) && value->cast->dtype != BYOC_DTYPE_F64;
  return is_f32 ? value->cast : value;
}

void byoc_emit_stored(byoc_emitter_t *emitter, byoc_dtype_t dtype, const byoc_loop_expr_t *value) {
  const narrow_t narrow = narrow_here(emitter, dtype);
  if (narrow.from_f32 != NULL && is_element(emitter, dtype, value)) {
    byoc_string_appendf(emitter->out, "%s[", value->load.buffer->name);
    byoc_emit_expr(emitter, value->load.index, BYOC_C_CONDITIONAL);
    text(emitter, "]");
    return;
  }
  if (narrow.from_f32 != NULL) value = unrounded(emitter, dtype, value);
  if (narrow.from_f32 != NULL) {
    byoc_emit_helper(emitter, narrow.from_f32);
    text(emitter, "(");
  }
  byoc_emit_expr(emitter, value, BYOC_C_CONDITIONAL);
  if (narrow.from_f32 != NULL) byoc_string_appendf(emitter->out, "%s)", narrow.arguments);
}

// The constant that a selection keeps its value above, or below: c < x ? x : c, x < c ? x : c. NaN becomes the
// constant. NULL for other expressions.
static const byoc_loop_expr_t *limit_of(const byoc_loop_expr_t *expr, bool is_least) {
  if (expr->kind != BYOC_LOOP_SELECT || expr->select.condition->kind != BYOC_LOOP_OP ||
      expr->select.condition->op.op != BYOC_LOOP_OP_LT || expr->select.no->kind != BYOC_LOOP_CONST) {
    return NULL;
  }
  const byoc_loop_expr_t *const *compared = expr->select.condition->op.operands;
  const byoc_loop_expr_t *value = compared[is_least], *limit = compared[!is_least];
  const bool is_limit = limit->kind == BYOC_LOOP_CONST && limit->number.f == expr->select.no->number.f;
  return is_limit && value == expr->select.yes ? limit : NULL;
}

// Does i32 hold every value that the float expression can have?
static bool fits_i32(const byoc_loop_expr_t *expr) {
  const byoc_loop_expr_t *most = limit_of(expr, false);
  const byoc_loop_expr_t *least = most != NULL ? limit_of(expr->select.yes, true) : NULL;
  return least != NULL && least->number.f >= INT32_MIN && least->number.f <= most->number.f &&
         most->number.f < INT32_MAX - 128.0; // the next f32 below
}

// To a float of fewer bits than f32, as a store rounds it. Numbers that f32 does not hold are rounded once, not twice.
static void emit_narrow_cast(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr) {
  const byoc_loop_expr_t as_float = {.kind = BYOC_LOOP_CAST, .dtype = BYOC_DTYPE_F32, .cast = expr->cast};
  const narrow_t narrow = narrow_here(emitter, expr->dtype);
  const byoc_dtype_t from = expr->cast->dtype;
  const char *to_odd = byoc_dtype_bits(from) < 32 || from == BYOC_DTYPE_F32 ? NULL
                       : from == BYOC_DTYPE_U64                             ? "byoc_f32_odd_from_u64"
                       : byoc_loop_is_float(from)                           ? "byoc_f32_odd_from_f64"
                                                                            : "byoc_f32_odd_from_i64";
  byoc_emit_helper(emitter, narrow.to_f32);
  text(emitter, "(");
  byoc_emit_helper(emitter, narrow.from_f32);
  text(emitter, "(");
  if (to_odd != NULL) {
    byoc_emit_helper(emitter, to_odd);
    text(emitter, "(");
  }
  byoc_emit_expr(emitter, to_odd != NULL ? expr->cast : &as_float, BYOC_C_CONDITIONAL);
  byoc_string_appendf(emitter->out, "%s%s)%s)", to_odd != NULL ? ")" : "", narrow.arguments, narrow.arguments);
}

static void emit_cast(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least) {
  byoc_dtype_t from = expr->cast->dtype, to = expr->dtype;
  byoc_string_t *out = emitter->out;
  if (byoc_loop_is_float(to) && to != BYOC_DTYPE_F32 && to != BYOC_DTYPE_F64) {
    emit_narrow_cast(emitter, expr);
    return;
  }
  if (to == BYOC_DTYPE_BOOL) {
    if (least > BYOC_C_COMPARISON) text(emitter, "(");
    byoc_emit_expr(emitter, expr->cast, BYOC_C_SUM);
    text(emitter, " != 0");
    if (least > BYOC_C_COMPARISON) text(emitter, ")");
    return;
  }
  const char *type = byoc_c_value_type(to);
  bool narrow = byoc_dtype_bits(to) < 8 && from != to;
  if (narrow && !byoc_loop_is_float(from)) {
    char name[48];
    snprintf(name, sizeof(name), "byoc_%s_from_i64", byoc_dtype_name(to));
    byoc_emit_helper(emitter, name);
    text(emitter, "(");
    byoc_emit_expr(emitter, expr->cast, BYOC_C_CONDITIONAL);
    text(emitter, ")");
    return;
  }
  // Compilers make branches of the cases of a cast that saturates.
  const bool is_within = to == BYOC_DTYPE_I32 && byoc_loop_is_float(from) && fits_i32(expr->cast);
  if (byoc_loop_is_float(from) && byoc_loop_is_integer(to) && !is_within) {
    char name[48];
    snprintf(name, sizeof(name), "byoc_%s_from_%s", byoc_dtype_name(to), from == BYOC_DTYPE_F64 ? "f64" : "f32");
    byoc_emit_helper(emitter, name);
    text(emitter, "(");
    byoc_emit_expr(emitter, expr->cast, BYOC_C_CONDITIONAL);
    text(emitter, ")");
    return;
  }
  if (strcmp(type, byoc_c_value_type(from)) == 0) { // narrow float to f32: already held as float
    byoc_emit_expr(emitter, expr->cast, least);
    return;
  }
  if (least > BYOC_C_UNARY) text(emitter, "(");
  byoc_string_appendf(out, "(%s)", type);
  byoc_emit_expr(emitter, expr->cast, BYOC_C_UNARY);
  if (least > BYOC_C_UNARY) text(emitter, ")");
}

void byoc_emit_expr(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least) {
  const char *name = name_of(emitter, expr);
  if (name) {
    text(emitter, name);
    return;
  }
  bool grouped;
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    grouped = is_negative_literal(expr) && least >= BYOC_C_UNARY;
    if (grouped) text(emitter, "(");
    if (byoc_loop_is_float(expr->dtype))
      emit_float(emitter, expr->dtype, expr->number.f);
    else
      emit_integer(emitter, expr->dtype, expr->number.i);
    if (grouped) text(emitter, ")");
    return;
  case BYOC_LOOP_VARIABLE:
    text(emitter, expr->variable->name);
    return;
  case BYOC_LOOP_DIM:
    byoc_emit_dim_name(emitter, expr->symbol, emitter->out);
    return;
  case BYOC_LOOP_LOAD:
    emit_load(emitter, expr, least);
    return;
  case BYOC_LOOP_OP:
    if (byoc_loop_is_float(expr->op.operands[0]->dtype))
      emit_float_op(emitter, expr, least);
    else
      emit_integer_op(emitter, expr, least);
    return;
  case BYOC_LOOP_SELECT:
    grouped = least > BYOC_C_CONDITIONAL;
    if (grouped) text(emitter, "(");
    byoc_emit_expr(emitter, expr->select.condition, BYOC_C_LOGICAL);
    text(emitter, " ? ");
    byoc_emit_expr(emitter, expr->select.yes, BYOC_C_LOGICAL);
    text(emitter, " : ");
    byoc_emit_expr(emitter, expr->select.no, BYOC_C_CONDITIONAL);
    if (grouped) text(emitter, ")");
    return;
  case BYOC_LOOP_CAST:
    emit_cast(emitter, expr, least);
    return;
  }
}
