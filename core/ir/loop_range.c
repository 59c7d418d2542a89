// SPDX-License-Identifier: Apache-2.0
// Computes ranges of index expressions and simplifies sums and divisions by them.
#include "core/ir/loop_range.h"

#include <string.h>

// The largest run-time dimension that ranges assume.
#define MAX_DIMENSION ((int64_t)1 << 40)
// Sums with more terms than this are left as they are.
#define MAX_TERMS 24

int64_t byoc_loop_floordiv(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t byoc_loop_floormod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool byoc_loop_expr_equal(const byoc_loop_expr_t *a, const byoc_loop_expr_t *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->dtype != b->dtype) return false;
  switch (a->kind) {
  case BYOC_LOOP_CONST:
    return a->number.i == b->number.i && memcmp(&a->number.f, &b->number.f, sizeof(double)) == 0;
  case BYOC_LOOP_VARIABLE:
    return a->variable == b->variable;
  case BYOC_LOOP_DIM:
    return strcmp(a->symbol, b->symbol) == 0;
  case BYOC_LOOP_LOAD:
    return a->load.buffer == b->load.buffer && byoc_loop_expr_equal(a->load.index, b->load.index);
  case BYOC_LOOP_OP:
    return a->op.op == b->op.op && byoc_loop_expr_equal(a->op.operands[0], b->op.operands[0]) &&
           byoc_loop_expr_equal(a->op.operands[1], b->op.operands[1]);
  case BYOC_LOOP_SELECT:
    return byoc_loop_expr_equal(a->select.condition, b->select.condition) &&
           byoc_loop_expr_equal(a->select.yes, b->select.yes) && byoc_loop_expr_equal(a->select.no, b->select.no);
  case BYOC_LOOP_CAST:
    return byoc_loop_expr_equal(a->cast, b->cast);
  }
  return false;
}

bool byoc_loop_is_index_of(const byoc_loop_expr_t *expr, const byoc_loop_expr_t *extent) {
  if (!expr || !extent || expr->kind != BYOC_LOOP_VARIABLE) return false;
  const byoc_loop_variable_info_t *info = (const byoc_loop_variable_info_t *)expr->variable;
  return info->begin != NULL && byoc_loop_is_const(info->begin, 0) && byoc_loop_expr_equal(info->end, extent);
}

static int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static bool range_of_product(int64_t a_low, int64_t a_high, int64_t b_low, int64_t b_high, int64_t *low,
                             int64_t *high) {
  int64_t p[4];
  if (__builtin_mul_overflow(a_low, b_low, &p[0]) || __builtin_mul_overflow(a_low, b_high, &p[1]) ||
      __builtin_mul_overflow(a_high, b_low, &p[2]) || __builtin_mul_overflow(a_high, b_high, &p[3]))
    return false;
  *low = min_i64(min_i64(p[0], p[1]), min_i64(p[2], p[3]));
  *high = max_i64(max_i64(p[0], p[1]), max_i64(p[2], p[3]));
  return true;
}

static bool range_of_op(const byoc_loop_expr_t *expr, int64_t *low, int64_t *high) {
  int64_t al, ah, bl, bh;
  if (byoc_loop_op_operand_count(expr->op.op) != 2 || !byoc_loop_range(expr->op.operands[1], &bl, &bh)) return false;
  if (expr->op.op == BYOC_LOOP_OP_MOD && bl > 0) {
    *low = 0, *high = bh - 1;
    if (byoc_loop_range(expr->op.operands[0], &al, &ah) && al >= 0) *high = min_i64(*high, ah);
    return true;
  }
  if (!byoc_loop_range(expr->op.operands[0], &al, &ah)) return false;
  switch (expr->op.op) {
  case BYOC_LOOP_OP_ADD:
    return !__builtin_add_overflow(al, bl, low) && !__builtin_add_overflow(ah, bh, high);
  case BYOC_LOOP_OP_SUB:
    return !__builtin_sub_overflow(al, bh, low) && !__builtin_sub_overflow(ah, bl, high);
  case BYOC_LOOP_OP_MUL:
    return range_of_product(al, ah, bl, bh, low, high);
  case BYOC_LOOP_OP_FLOORDIV:
    if (bl <= 0) return false;
    *low = min_i64(byoc_loop_floordiv(al, bl), byoc_loop_floordiv(al, bh));
    *high = max_i64(byoc_loop_floordiv(ah, bl), byoc_loop_floordiv(ah, bh));
    return true;
  case BYOC_LOOP_OP_MIN:
    *low = min_i64(al, bl), *high = min_i64(ah, bh);
    return true;
  case BYOC_LOOP_OP_MAX:
    *low = max_i64(al, bl), *high = max_i64(ah, bh);
    return true;
  default:
    return false;
  }
}

bool byoc_loop_range(const byoc_loop_expr_t *expr, int64_t *out_low, int64_t *out_high) {
  *out_low = *out_high = 0;
  if (!expr || expr->dtype != BYOC_DTYPE_I64) return false;
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    *out_low = *out_high = expr->number.i;
    return true;
  case BYOC_LOOP_DIM:
    *out_high = MAX_DIMENSION;
    return true;
  case BYOC_LOOP_VARIABLE: {
    const byoc_loop_variable_info_t *info = (const byoc_loop_variable_info_t *)expr->variable;
    *out_low = info->low, *out_high = info->high;
    return info->bounded;
  }
  case BYOC_LOOP_OP:
    return range_of_op(expr, out_low, out_high);
  case BYOC_LOOP_SELECT: {
    int64_t low, high;
    if (!byoc_loop_range(expr->select.yes, out_low, out_high) || !byoc_loop_range(expr->select.no, &low, &high))
      return false;
    *out_low = min_i64(*out_low, low), *out_high = max_i64(*out_high, high);
    return true;
  }
  default:
    return false;
  }
}

// ---- sums ----

typedef struct term_t {
  const byoc_loop_expr_t *atom;
  int64_t factor;
} term_t;

typedef struct sum_t {
  term_t terms[MAX_TERMS];
  int count;
  int64_t constant;
  bool failed; // overflow or too many terms
} sum_t;

static bool is_op(const byoc_loop_expr_t *expr, byoc_loop_op_t op) {
  return expr->kind == BYOC_LOOP_OP && expr->op.op == op;
}

static void sum_add_constant(sum_t *sum, int64_t value, int64_t scale) {
  int64_t product;
  if (__builtin_mul_overflow(value, scale, &product) || __builtin_add_overflow(sum->constant, product, &sum->constant))
    sum->failed = true;
}

static void sum_add_atom(sum_t *sum, const byoc_loop_expr_t *atom, int64_t factor) {
  for (int i = 0; i < sum->count; ++i) {
    if (!byoc_loop_expr_equal(sum->terms[i].atom, atom)) continue;
    if (__builtin_add_overflow(sum->terms[i].factor, factor, &sum->terms[i].factor)) sum->failed = true;
    return;
  }
  if (sum->count == MAX_TERMS) {
    sum->failed = true;
    return;
  }
  sum->terms[sum->count++] = (term_t){atom, factor};
}

static void sum_add(sum_t *sum, const byoc_loop_expr_t *expr, int64_t scale) {
  if (sum->failed || scale == 0) return;
  int64_t scaled;
  if (expr->kind == BYOC_LOOP_CONST) {
    sum_add_constant(sum, expr->number.i, scale);
  } else if (is_op(expr, BYOC_LOOP_OP_ADD)) {
    sum_add(sum, expr->op.operands[0], scale);
    sum_add(sum, expr->op.operands[1], scale);
  } else if (is_op(expr, BYOC_LOOP_OP_SUB)) {
    if (scale == INT64_MIN) sum->failed = true;
    sum_add(sum, expr->op.operands[0], scale);
    if (!sum->failed) sum_add(sum, expr->op.operands[1], -scale);
  } else if (is_op(expr, BYOC_LOOP_OP_MUL) && expr->op.operands[1]->kind == BYOC_LOOP_CONST) {
    if (__builtin_mul_overflow(scale, expr->op.operands[1]->number.i, &scaled))
      sum->failed = true;
    else
      sum_add(sum, expr->op.operands[0], scaled);
  } else {
    sum_add_atom(sum, expr, scale);
  }
}

// True if `quotient` is floordiv(x, m), either literally or as floordiv(y, c * m) with x = floordiv(y, c).
static bool is_quotient_of(const byoc_loop_expr_t *quotient, const byoc_loop_expr_t *x, const byoc_loop_expr_t *m) {
  if (!is_op(quotient, BYOC_LOOP_OP_FLOORDIV)) return false;
  const byoc_loop_expr_t *y = quotient->op.operands[0], *divisor = quotient->op.operands[1];
  if (byoc_loop_expr_equal(y, x) && byoc_loop_expr_equal(divisor, m)) return true;
  int64_t product;
  return is_op(x, BYOC_LOOP_OP_FLOORDIV) && byoc_loop_expr_equal(y, x->op.operands[0]) &&
         divisor->kind == BYOC_LOOP_CONST && m->kind == BYOC_LOOP_CONST && x->op.operands[1]->kind == BYOC_LOOP_CONST &&
         !__builtin_mul_overflow(x->op.operands[1]->number.i, m->number.i, &product) && product == divisor->number.i;
}

static const byoc_loop_expr_t *raw_scale(byoc_loop_builder_t *builder, const byoc_loop_expr_t *atom, int64_t factor) {
  if (factor == 1) return atom;
  return byoc_loop_raw_op(builder, BYOC_LOOP_OP_MUL, BYOC_DTYPE_I64, atom, byoc_loop_int(builder, factor));
}

static const byoc_loop_expr_t *sum_build(byoc_loop_builder_t *builder, const sum_t *sum) {
  const byoc_loop_expr_t *result = NULL;
  bool has_positive = false;
  for (int i = 0; i < sum->count; ++i) has_positive |= sum->terms[i].factor > 0;
  bool constant_first = !has_positive && sum->constant > 0; // 30 - x rather than -1 * x + 30
  if (constant_first) result = byoc_loop_int(builder, sum->constant);
  for (int pass = 0; pass < 2; ++pass) { // positive terms first, so that the first one needs no sign
    for (int i = 0; i < sum->count; ++i) {
      int64_t factor = sum->terms[i].factor;
      if (factor == 0 || (factor > 0) != (pass == 0)) continue;
      if (!result) {
        result = raw_scale(builder, sum->terms[i].atom, factor);
      } else if (factor > 0 || factor == INT64_MIN) {
        result = byoc_loop_raw_op(builder, BYOC_LOOP_OP_ADD, BYOC_DTYPE_I64, result,
                                  raw_scale(builder, sum->terms[i].atom, factor));
      } else {
        result = byoc_loop_raw_op(builder, BYOC_LOOP_OP_SUB, BYOC_DTYPE_I64, result,
                                  raw_scale(builder, sum->terms[i].atom, -factor));
      }
      if (!result) return NULL;
    }
  }
  if (!result) return byoc_loop_int(builder, sum->constant);
  if (sum->constant == 0 || constant_first) return result;
  bool negative = sum->constant < 0 && sum->constant != INT64_MIN;
  return byoc_loop_raw_op(builder, negative ? BYOC_LOOP_OP_SUB : BYOC_LOOP_OP_ADD, BYOC_DTYPE_I64, result,
                          byoc_loop_int(builder, negative ? -sum->constant : sum->constant));
}

static void sum_remove(sum_t *sum, int i) {
  memmove(&sum->terms[i], &sum->terms[i + 1], sizeof(term_t) * (size_t)(sum->count - i - 1));
  --sum->count;
}

// If `product` is (s + x floordiv m) * m for a run-time m, *out_left becomes s * m, or NULL where s is 0.
static bool is_multiple_of_quotient(byoc_loop_builder_t *builder, const byoc_loop_expr_t *product,
                                    const byoc_loop_expr_t *x, const byoc_loop_expr_t *m,
                                    const byoc_loop_expr_t **out_left) {
  *out_left = NULL;
  if (!is_op(product, BYOC_LOOP_OP_MUL) || !byoc_loop_expr_equal(product->op.operands[1], m)) return false;
  sum_t sum = {.count = 0};
  sum_add(&sum, product->op.operands[0], 1);
  for (int i = 0; i < sum.count && !sum.failed; ++i) {
    if (sum.terms[i].factor != 1 || !is_quotient_of(sum.terms[i].atom, x, m)) continue;
    sum_remove(&sum, i);
    if (sum.count > 0 || sum.constant != 0) {
      *out_left = byoc_loop_binary(builder, BYOC_LOOP_OP_MUL, sum_build(builder, &sum), m);
    }
    return true;
  }
  return false;
}

// k * (x mod m) + k * m * (x floordiv m) → k * x, and with a run-time m
// k * (x mod m) + k * (s + x floordiv m) * m → k * x + k * s * m
static bool sum_recombine_once(byoc_loop_builder_t *builder, sum_t *sum) {
  for (int i = 0; i < sum->count; ++i) {
    const byoc_loop_expr_t *rest = sum->terms[i].atom;
    if (!is_op(rest, BYOC_LOOP_OP_MOD)) continue;
    const byoc_loop_expr_t *x = rest->op.operands[0], *m = rest->op.operands[1], *left = NULL;
    const bool is_known = m->kind == BYOC_LOOP_CONST;
    const int64_t factor = sum->terms[i].factor;
    int64_t expected = factor;
    if (is_known && __builtin_mul_overflow(factor, m->number.i, &expected)) continue;
    for (int j = 0; j < sum->count; ++j) {
      const byoc_loop_expr_t *other = sum->terms[j].atom;
      if (i == j || sum->terms[j].factor != expected) continue;
      if (!(is_known ? is_quotient_of(other, x, m) : is_multiple_of_quotient(builder, other, x, m, &left))) continue;
      sum_remove(sum, i < j ? j : i);
      sum_remove(sum, i < j ? i : j);
      if (left != NULL) sum_add(sum, left, factor);
      sum_add(sum, x, factor);
      return true;
    }
  }
  return false;
}

const byoc_loop_expr_t *byoc_loop_simplify_sum(byoc_loop_builder_t *builder, const byoc_loop_expr_t *a,
                                               const byoc_loop_expr_t *b, bool subtract) {
  sum_t sum = {.count = 0};
  sum_add(&sum, a, 1);
  sum_add(&sum, b, subtract ? -1 : 1);
  while (!sum.failed && sum_recombine_once(builder, &sum)) {}
  if (sum.failed)
    return byoc_loop_raw_op(builder, subtract ? BYOC_LOOP_OP_SUB : BYOC_LOOP_OP_ADD, BYOC_DTYPE_I64, a, b);
  return sum_build(builder, &sum);
}

const byoc_loop_expr_t *byoc_loop_simplify_scale(byoc_loop_builder_t *builder, const byoc_loop_expr_t *a,
                                                 int64_t factor) {
  sum_t sum = {.count = 0};
  sum_add(&sum, a, factor);
  if (sum.failed) return byoc_loop_raw_op(builder, BYOC_LOOP_OP_MUL, BYOC_DTYPE_I64, a, byoc_loop_int(builder, factor));
  return sum_build(builder, &sum);
}

// ---- division ----

// Splits `sum` into divisor * quotient + rest by the factors of its terms.
static void sum_split(const sum_t *sum, int64_t divisor, sum_t *quotient, sum_t *rest) {
  *quotient = *rest = (sum_t){.count = 0};
  for (int i = 0; i < sum->count; ++i) {
    if (sum->terms[i].factor % divisor == 0)
      quotient->terms[quotient->count++] = (term_t){sum->terms[i].atom, sum->terms[i].factor / divisor};
    else
      rest->terms[rest->count++] = sum->terms[i];
  }
  rest->constant = sum->constant;
}

static bool sum_range(const sum_t *sum, int64_t *low, int64_t *high) {
  *low = *high = sum->constant;
  for (int i = 0; i < sum->count; ++i) {
    int64_t l, h;
    if (!byoc_loop_range(sum->terms[i].atom, &l, &h) ||
        !range_of_product(l, h, sum->terms[i].factor, sum->terms[i].factor, &l, &h) ||
        __builtin_add_overflow(*low, l, low) || __builtin_add_overflow(*high, h, high))
      return false;
  }
  return true;
}

// Brings the rest into [0, divisor) by moving whole multiples in its constant to the quotient; false if it may still
// lie outside.
static bool rest_fits(sum_t *quotient, sum_t *rest, int64_t divisor) {
  int64_t low, high;
  if (!sum_range(rest, &low, &high)) return false;
  int64_t shift = byoc_loop_floordiv(low, divisor);
  if (shift != byoc_loop_floordiv(high, divisor)) return false;
  int64_t moved;
  if (__builtin_mul_overflow(shift, divisor, &moved) ||
      __builtin_sub_overflow(rest->constant, moved, &rest->constant) ||
      __builtin_add_overflow(quotient->constant, shift, &quotient->constant))
    return false;
  return true;
}

// x / d and x % d for terms without a factor of d: merges nested divisions.
static const byoc_loop_expr_t *divide_plain(byoc_loop_builder_t *builder, const byoc_loop_expr_t *x, int64_t divisor,
                                            bool modulo) {
  int64_t product, low, high;
  if (divisor == 1) return modulo ? byoc_loop_int(builder, 0) : x;
  if (x->kind == BYOC_LOOP_CONST)
    return byoc_loop_int(builder,
                         modulo ? byoc_loop_floormod(x->number.i, divisor) : byoc_loop_floordiv(x->number.i, divisor));
  if (byoc_loop_range(x, &low, &high) && low >= 0 && high < divisor) return modulo ? x : byoc_loop_int(builder, 0);
  const byoc_loop_expr_t *inner = x->kind == BYOC_LOOP_OP ? x->op.operands[1] : NULL;
  if (inner && inner->kind == BYOC_LOOP_CONST && inner->number.i > 0) {
    if (!modulo && is_op(x, BYOC_LOOP_OP_FLOORDIV) && !__builtin_mul_overflow(inner->number.i, divisor, &product))
      return byoc_loop_raw_op(builder, BYOC_LOOP_OP_FLOORDIV, BYOC_DTYPE_I64, x->op.operands[0],
                              byoc_loop_int(builder, product));
    if (modulo && is_op(x, BYOC_LOOP_OP_MOD) && inner->number.i % divisor == 0)
      return divide_plain(builder, x->op.operands[0], divisor, true);
  }
  return byoc_loop_raw_op(builder, modulo ? BYOC_LOOP_OP_MOD : BYOC_LOOP_OP_FLOORDIV, BYOC_DTYPE_I64, x,
                          byoc_loop_int(builder, divisor));
}

// rest / divisor, if rest = step * a + small, 0 <= small < step and step divides divisor: a / (divisor / step).
static const byoc_loop_expr_t *divide_by_step(byoc_loop_builder_t *builder, const sum_t *rest, int64_t divisor,
                                              bool modulo) {
  for (int i = 0; i < rest->count; ++i) {
    int64_t step = rest->terms[i].factor;
    sum_t a, small;
    if (step <= 1 || divisor % step != 0) continue;
    sum_split(rest, step, &a, &small);
    if (!rest_fits(&a, &small, step)) continue;
    const byoc_loop_expr_t *value = sum_build(builder, &a);
    if (value) value = divide_plain(builder, value, divisor / step, modulo);
    if (!value || !modulo) return value;
    const byoc_loop_expr_t *tail = sum_build(builder, &small);
    const byoc_loop_expr_t *head = byoc_loop_simplify_scale(builder, value, step);
    return head && tail ? byoc_loop_simplify_sum(builder, head, tail, false) : NULL;
  }
  const byoc_loop_expr_t *value = sum_build(builder, rest);
  return value ? divide_plain(builder, value, divisor, modulo) : NULL;
}

// (a * d + r) / d → a for a run-time d, if r is a loop variable that runs over [0, d) or absent.
static const byoc_loop_expr_t *divide_by_expr(byoc_loop_builder_t *builder, const byoc_loop_expr_t *x,
                                              const byoc_loop_expr_t *d, bool modulo) {
  sum_t sum = {.count = 0}, quotient = {.count = 0}, rest = {.count = 0};
  sum_add(&sum, x, 1);
  if (!sum.failed) {
    for (int i = 0; i < sum.count; ++i) {
      const byoc_loop_expr_t *atom = sum.terms[i].atom;
      if (byoc_loop_expr_equal(atom, d))
        quotient.constant += sum.terms[i].factor;
      else if (is_op(atom, BYOC_LOOP_OP_MUL) && byoc_loop_expr_equal(atom->op.operands[1], d))
        quotient.terms[quotient.count++] = (term_t){atom->op.operands[0], sum.terms[i].factor};
      else if (is_op(atom, BYOC_LOOP_OP_MUL) && byoc_loop_expr_equal(atom->op.operands[0], d))
        quotient.terms[quotient.count++] = (term_t){atom->op.operands[1], sum.terms[i].factor};
      else
        rest.terms[rest.count++] = sum.terms[i];
    }
    rest.constant = sum.constant;
    bool fits = rest.count == 0 && rest.constant == 0;
    if (rest.count == 1 && rest.constant == 0 && rest.terms[0].factor == 1 &&
        rest.terms[0].atom->kind == BYOC_LOOP_VARIABLE) {
      const byoc_loop_variable_info_t *info = (const byoc_loop_variable_info_t *)rest.terms[0].atom->variable;
      fits = info->bounded && info->low >= 0 && info->end && byoc_loop_expr_equal(info->end, d);
    }
    if (fits) return sum_build(builder, modulo ? &rest : &quotient);
  }
  return byoc_loop_raw_op(builder, modulo ? BYOC_LOOP_OP_MOD : BYOC_LOOP_OP_FLOORDIV, BYOC_DTYPE_I64, x, d);
}

const byoc_loop_expr_t *byoc_loop_simplify_division(byoc_loop_builder_t *builder, const byoc_loop_expr_t *a,
                                                    const byoc_loop_expr_t *b, bool modulo) {
  if (b->kind != BYOC_LOOP_CONST) return divide_by_expr(builder, a, b, modulo);
  int64_t divisor = b->number.i;
  sum_t sum = {.count = 0}, quotient, rest;
  if (divisor > 0) sum_add(&sum, a, 1);
  if (divisor <= 0 || sum.failed)
    return byoc_loop_raw_op(builder, modulo ? BYOC_LOOP_OP_MOD : BYOC_LOOP_OP_FLOORDIV, BYOC_DTYPE_I64, a, b);
  sum_split(&sum, divisor, &quotient, &rest);
  if (rest_fits(&quotient, &rest, divisor)) return sum_build(builder, modulo ? &rest : &quotient);
  const byoc_loop_expr_t *tail = divide_by_step(builder, &rest, divisor, modulo);
  if (!tail || modulo || (quotient.count == 0 && quotient.constant == 0)) return tail;
  const byoc_loop_expr_t *head = sum_build(builder, &quotient);
  return head ? byoc_loop_simplify_sum(builder, head, tail, false) : NULL;
}
