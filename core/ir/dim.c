// SPDX-License-Identifier: Apache-2.0
// Builds dimensions in a canonical form, and substitutes and copies them.
#include "core/ir/dim.h"

#include <string.h>

#include "core/base/hash.h"

// Sums are kept as polynomials over atoms (symbols, unknowns, divisions, minima ...). The terms are in a fixed order;
// each is a product of atoms times a constant; the constant term is last. Larger sums are not normalised.
#define MAX_TERMS   32
#define MAX_FACTORS 16

static const bool dim_kind_is_binary[] = {
#define BYOC_DIM_KIND_BINARY(NAME, text, binary) binary,
    BYOC_DIM_KIND_LIST(BYOC_DIM_KIND_BINARY)
#undef BYOC_DIM_KIND_BINARY
};

typedef struct dim_term_t {
  int64_t coefficient;
  const byoc_dim_expr_t *product; // of atoms, without a constant factor
} dim_term_t;

typedef struct dim_sum_t {
  dim_term_t terms[MAX_TERMS];
  size_t count;
  int64_t constant;
  bool overflow; // a number or the table overflowed: the sum must not be used
} dim_sum_t;

static byoc_dim_t dim_of(const byoc_dim_expr_t *expr) {
  return (byoc_dim_t){.constant = 0, .expr = expr};
}

static uint32_t dim_size(byoc_dim_t dim) {
  return dim.expr ? dim.expr->size : 1;
}

static byoc_dim_t dim_fail(bool *failed) {
  *failed = true;
  return byoc_dim_constant(-1);
}

// ---- order and equality ----

static int dim_compare(byoc_dim_t a, byoc_dim_t b) {
  if (a.expr == b.expr) return (a.constant > b.constant) - (a.constant < b.constant);
  if (!a.expr || !b.expr) return a.expr ? -1 : 1; // constants last
  if (a.expr->kind != b.expr->kind) return a.expr->kind < b.expr->kind ? -1 : 1;
  if (a.expr->kind == BYOC_DIM_SYMBOL) return strcmp(a.expr->symbol, b.expr->symbol);
  if (a.expr->kind == BYOC_DIM_UNKNOWN) return (a.expr->id > b.expr->id) - (a.expr->id < b.expr->id);
  int order = dim_compare(a.expr->left, b.expr->left);
  return order ? order : dim_compare(a.expr->right, b.expr->right);
}

bool byoc_dim_equal(byoc_dim_t a, byoc_dim_t b) {
  return a.expr == NULL && b.expr == NULL ? a.constant == b.constant : dim_compare(a, b) == 0;
}

uint64_t byoc_dim_hash(byoc_dim_t dim, uint64_t seed) {
  if (!dim.expr) return byoc_hash_bytes(&dim.constant, sizeof(dim.constant), seed);
  uint64_t hash = byoc_hash_combine(seed, (uint64_t)dim.expr->kind + 1);
  switch (dim.expr->kind) {
  case BYOC_DIM_SYMBOL:
    return byoc_hash_combine(hash, byoc_hash_string(dim.expr->symbol));
  case BYOC_DIM_UNKNOWN:
    return byoc_hash_bytes(&dim.expr->id, sizeof(dim.expr->id), hash);
  default:
    return byoc_dim_hash(dim.expr->right, byoc_dim_hash(dim.expr->left, hash));
  }
}

// ---- nodes ----

byoc_dim_t byoc_dim_symbol(byoc_arena_t *arena, const char *name, bool *failed) {
  byoc_dim_expr_t *expr = BYOC_ARENA_NEW(arena, byoc_dim_expr_t);
  if (!expr) return dim_fail(failed);
  expr->kind = BYOC_DIM_SYMBOL;
  expr->size = 1;
  expr->symbol = byoc_arena_copy_string(arena, name);
  return expr->symbol ? dim_of(expr) : dim_fail(failed);
}

byoc_dim_t byoc_dim_unknown(byoc_arena_t *arena, uint64_t id, bool *failed) {
  byoc_dim_expr_t *expr = BYOC_ARENA_NEW(arena, byoc_dim_expr_t);
  if (!expr) return dim_fail(failed);
  expr->kind = BYOC_DIM_UNKNOWN;
  expr->size = 1;
  expr->id = id;
  return dim_of(expr);
}

// Makes a node without folding. If it is too large, it becomes an unknown whose identity is its content, so that walks
// and the printed form are bounded.
static byoc_dim_t dim_raw(byoc_arena_t *arena, byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right, bool *failed) {
  if (dim_size(left) + dim_size(right) >= BYOC_DIM_MAX_SIZE) {
    uint64_t hash = byoc_dim_hash(right, byoc_dim_hash(left, (uint64_t)kind));
    return byoc_dim_unknown(arena, hash | UINT64_C(1) << 63, failed);
  }
  byoc_dim_expr_t *expr = BYOC_ARENA_NEW(arena, byoc_dim_expr_t);
  if (!expr) return dim_fail(failed);
  expr->kind = kind;
  expr->size = dim_size(left) + dim_size(right) + 1;
  expr->left = left;
  expr->right = right;
  return dim_of(expr);
}

// ---- sums ----

static void sum_add_term(dim_sum_t *sum, const byoc_dim_expr_t *product, int64_t coefficient) {
  for (size_t i = 0; i < sum->count; ++i) {
    if (!byoc_dim_equal(dim_of(sum->terms[i].product), dim_of(product))) continue;
    sum->overflow |= __builtin_add_overflow(sum->terms[i].coefficient, coefficient, &sum->terms[i].coefficient);
    return;
  }
  if (sum->count == MAX_TERMS) {
    sum->overflow = true;
    return;
  }
  sum->terms[sum->count++] = (dim_term_t){coefficient, product};
}

static void sum_collect(dim_sum_t *sum, byoc_dim_t dim, int64_t scale) {
  int64_t value = 0;
  if (!dim.expr) {
    sum->overflow |= __builtin_mul_overflow(dim.constant, scale, &value);
    sum->overflow |= __builtin_add_overflow(sum->constant, value, &sum->constant);
    return;
  }
  const byoc_dim_expr_t *expr = dim.expr;
  if (expr->kind == BYOC_DIM_ADD || expr->kind == BYOC_DIM_SUB) {
    sum_collect(sum, expr->left, scale);
    if (expr->kind == BYOC_DIM_SUB) sum->overflow |= __builtin_sub_overflow((int64_t)0, scale, &scale);
    sum_collect(sum, expr->right, scale);
  } else if (expr->kind == BYOC_DIM_MUL && byoc_dim_is_constant(expr->right)) {
    sum->overflow |= __builtin_mul_overflow(scale, expr->right.constant, &value);
    sum_collect(sum, expr->left, value);
  } else {
    sum_add_term(sum, expr, scale);
  }
}

static void sum_tidy(dim_sum_t *sum) {
  size_t count = 0;
  for (size_t i = 0; i < sum->count; ++i) {
    if (sum->terms[i].coefficient != 0) sum->terms[count++] = sum->terms[i];
  }
  sum->count = count;
  for (size_t i = 1; i < count; ++i) {
    dim_term_t term = sum->terms[i];
    size_t j = i;
    for (; j > 0 && dim_compare(dim_of(term.product), dim_of(sum->terms[j - 1].product)) < 0; --j)
      sum->terms[j] = sum->terms[j - 1];
    sum->terms[j] = term;
  }
}

static void sum_init(dim_sum_t *sum, byoc_dim_t dim) {
  *sum = (dim_sum_t){.count = 0};
  sum_collect(sum, dim, 1);
  sum_tidy(sum);
}

static byoc_dim_t term_build(byoc_arena_t *arena, const byoc_dim_expr_t *product, int64_t coefficient, bool *failed) {
  if (coefficient == 1) return dim_of(product);
  return dim_raw(arena, BYOC_DIM_MUL, dim_of(product), byoc_dim_constant(coefficient), failed);
}

// "A * 2 + B - C + 3": a positive term comes first if there is one.
static byoc_dim_t sum_build(byoc_arena_t *arena, dim_sum_t *sum, bool *failed) {
  sum_tidy(sum);
  if (sum->count == 0) return byoc_dim_constant(sum->constant);
  size_t lead = 0;
  while (lead < sum->count && sum->terms[lead].coefficient < 0) ++lead;
  byoc_dim_t dim;
  int64_t constant = sum->constant;
  if (lead < sum->count) {
    dim = term_build(arena, sum->terms[lead].product, sum->terms[lead].coefficient, failed);
  } else if (constant > 0) {
    dim = byoc_dim_constant(constant);
    constant = 0;
  } else {
    lead = 0;
    dim = term_build(arena, sum->terms[0].product, sum->terms[0].coefficient, failed);
  }
  for (size_t i = 0; i < sum->count; ++i) {
    if (i == lead) continue;
    int64_t coefficient = sum->terms[i].coefficient;
    bool negative = coefficient < 0 && coefficient != INT64_MIN;
    byoc_dim_t term = term_build(arena, sum->terms[i].product, negative ? -coefficient : coefficient, failed);
    dim = dim_raw(arena, negative ? BYOC_DIM_SUB : BYOC_DIM_ADD, dim, term, failed);
  }
  if (constant != 0) {
    bool negative = constant < 0 && constant != INT64_MIN;
    dim = dim_raw(arena, negative ? BYOC_DIM_SUB : BYOC_DIM_ADD, dim,
                  byoc_dim_constant(negative ? -constant : constant), failed);
  }
  return dim;
}

// ---- products ----

typedef struct dim_factors_t {
  const byoc_dim_expr_t *items[MAX_FACTORS];
  size_t count;
  bool overflow;
} dim_factors_t;

static void factors_collect(dim_factors_t *factors, byoc_dim_t dim) {
  if (dim.expr->kind == BYOC_DIM_MUL && dim.expr->left.expr && dim.expr->right.expr) {
    factors_collect(factors, dim.expr->left);
    factors_collect(factors, dim.expr->right);
  } else if (factors->count == MAX_FACTORS) {
    factors->overflow = true;
  } else {
    size_t i = factors->count++;
    for (; i > 0 && dim_compare(dim, dim_of(factors->items[i - 1])) < 0; --i) factors->items[i] = factors->items[i - 1];
    factors->items[i] = dim.expr;
  }
}

static byoc_dim_t factors_build(byoc_arena_t *arena, const dim_factors_t *factors, bool *failed) {
  byoc_dim_t dim = dim_of(factors->items[0]);
  for (size_t i = 1; i < factors->count; ++i)
    dim = dim_raw(arena, BYOC_DIM_MUL, dim, dim_of(factors->items[i]), failed);
  return dim;
}

static byoc_dim_t dim_multiply(byoc_arena_t *arena, byoc_dim_t left, byoc_dim_t right, bool *failed) {
  dim_sum_t a, b, result = {.count = 0};
  sum_init(&a, left);
  sum_init(&b, right);
  result.overflow = a.overflow || b.overflow;
  result.overflow |= __builtin_mul_overflow(a.constant, b.constant, &result.constant);
  for (size_t i = 0; i < a.count && !result.overflow; ++i) {
    int64_t coefficient = 0;
    result.overflow |= __builtin_mul_overflow(a.terms[i].coefficient, b.constant, &coefficient);
    sum_add_term(&result, a.terms[i].product, coefficient);
  }
  for (size_t j = 0; j < b.count && !result.overflow; ++j) {
    int64_t coefficient = 0;
    result.overflow |= __builtin_mul_overflow(b.terms[j].coefficient, a.constant, &coefficient);
    sum_add_term(&result, b.terms[j].product, coefficient);
    for (size_t i = 0; i < a.count && !result.overflow; ++i) {
      dim_factors_t factors = {.count = 0};
      factors_collect(&factors, dim_of(a.terms[i].product));
      factors_collect(&factors, dim_of(b.terms[j].product));
      result.overflow |= factors.overflow;
      result.overflow |= __builtin_mul_overflow(a.terms[i].coefficient, b.terms[j].coefficient, &coefficient);
      if (result.overflow) break;
      byoc_dim_t product = factors_build(arena, &factors, failed);
      if (*failed) return product;
      sum_add_term(&result, product.expr, coefficient);
    }
  }
  if (!result.overflow) return sum_build(arena, &result, failed);
  if (dim_compare(left, right) > 0) return dim_raw(arena, BYOC_DIM_MUL, right, left, failed);
  return dim_raw(arena, BYOC_DIM_MUL, left, right, failed);
}

// ---- division ----

static int64_t floor_divide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_modulo(int64_t a, int64_t b) {
  int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// left / right if every term of `left` contains the whole product `right`. A divisor is never zero at run time.
static bool dim_divide_exactly(byoc_arena_t *arena, const dim_sum_t *left, const dim_sum_t *right, byoc_dim_t *out,
                               bool *failed) {
  if (right->count != 1 || right->constant != 0 || left->constant != 0 || left->count == 0) return false;
  dim_factors_t divisor = {.count = 0};
  factors_collect(&divisor, dim_of(right->terms[0].product));
  int64_t divisor_coefficient = right->terms[0].coefficient;
  if (divisor.overflow || divisor_coefficient <= 0) return false;
  dim_sum_t result = {.count = 0};
  for (size_t i = 0; i < left->count; ++i) {
    dim_factors_t factors = {.count = 0}, rest = {.count = 0};
    factors_collect(&factors, dim_of(left->terms[i].product));
    if (factors.overflow || left->terms[i].coefficient % divisor_coefficient != 0) return false;
    size_t taken = 0;
    for (size_t j = 0; j < factors.count; ++j) {
      if (taken < divisor.count && byoc_dim_equal(dim_of(factors.items[j]), dim_of(divisor.items[taken]))) {
        ++taken;
      } else {
        rest.items[rest.count++] = factors.items[j];
      }
    }
    if (taken != divisor.count) return false;
    int64_t coefficient = left->terms[i].coefficient / divisor_coefficient;
    if (rest.count == 0) {
      result.overflow |= __builtin_add_overflow(result.constant, coefficient, &result.constant);
    } else {
      sum_add_term(&result, factors_build(arena, &rest, failed).expr, coefficient);
    }
    if (*failed || result.overflow) return *failed;
  }
  *out = sum_build(arena, &result, failed);
  return true;
}

// Moves out terms that the divisor divides and shortens the rest: (N * 4 + H + 3) / 2 → N * 2 + (H + 1) / 2 + 1.
static byoc_dim_t dim_floordiv_constant(byoc_arena_t *arena, dim_sum_t *sum, int64_t divisor, bool *failed) {
  dim_sum_t whole = {.count = 0}, rest = {.count = 0};
  int64_t common = divisor;
  for (size_t i = 0; i < sum->count; ++i) {
    dim_term_t term = sum->terms[i];
    if (term.coefficient % divisor == 0) {
      sum_add_term(&whole, term.product, term.coefficient / divisor);
    } else {
      sum_add_term(&rest, term.product, term.coefficient);
      common = greatest_common_divisor(common, term.coefficient);
    }
  }
  whole.constant = floor_divide(sum->constant, divisor);
  rest.constant = floor_modulo(sum->constant, divisor) / common;
  if (rest.count == 0) return sum_build(arena, &whole, failed);
  for (size_t i = 0; i < rest.count; ++i) rest.terms[i].coefficient /= common;
  divisor /= common;
  byoc_dim_t numerator = sum_build(arena, &rest, failed), quotient;
  int64_t product = 0;
  if (numerator.expr && numerator.expr->kind == BYOC_DIM_FLOORDIV && byoc_dim_is_constant(numerator.expr->right) &&
      numerator.expr->right.constant > 0 &&
      !__builtin_mul_overflow(numerator.expr->right.constant, divisor, &product)) {
    // (x / a) / b → x / (a * b)
    sum_init(&rest, numerator.expr->left);
    quotient = dim_floordiv_constant(arena, &rest, product, failed);
  } else {
    quotient = dim_raw(arena, BYOC_DIM_FLOORDIV, numerator, byoc_dim_constant(divisor), failed);
  }
  if (whole.count == 0 && whole.constant == 0) return quotient;
  return byoc_dim_binary(arena, BYOC_DIM_ADD, sum_build(arena, &whole, failed), quotient, failed);
}

static byoc_dim_t dim_divide(byoc_arena_t *arena, byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right,
                             bool *failed) {
  dim_sum_t a, b;
  sum_init(&a, left);
  sum_init(&b, right);
  byoc_dim_t quotient;
  if (a.overflow || b.overflow) return dim_raw(arena, kind, left, right, failed);
  if (b.count == 0 && b.constant > 0) {
    int64_t divisor = b.constant;
    if (kind == BYOC_DIM_MOD) {
      size_t count = 0;
      for (size_t i = 0; i < a.count; ++i) {
        a.terms[i].coefficient %= divisor;
        if (a.terms[i].coefficient != 0) a.terms[count++] = a.terms[i];
      }
      a.count = count;
      a.constant = floor_modulo(a.constant, divisor);
      left = sum_build(arena, &a, failed);
      return byoc_dim_is_constant(left) ? left : dim_raw(arena, kind, left, right, failed);
    }
    // ceil(x / c) = floor((x + c - 1) / c)
    if (kind == BYOC_DIM_CEILDIV && __builtin_add_overflow(a.constant, divisor - 1, &a.constant))
      return dim_raw(arena, kind, left, right, failed);
    return dim_floordiv_constant(arena, &a, divisor, failed);
  }
  if (b.count > 0) {
    bool same = byoc_dim_equal(left, right), zero = a.count == 0 && a.constant == 0;
    if (same || zero) return byoc_dim_constant(same && kind != BYOC_DIM_MOD);
    if (dim_divide_exactly(arena, &a, &b, &quotient, failed))
      return kind == BYOC_DIM_MOD ? byoc_dim_constant(0) : quotient;
  }
  return dim_raw(arena, kind, left, right, failed);
}

// ---- minima and maxima ----

// True if an expression over sizes cannot be negative. Unknowns may stand for any number.
static bool dim_is_nonnegative(byoc_dim_t dim) {
  if (!dim.expr) return dim.constant >= 0;
  bool left = dim_kind_is_binary[dim.expr->kind] && dim_is_nonnegative(dim.expr->left);
  switch (dim.expr->kind) {
  case BYOC_DIM_SYMBOL:
    return true;
  case BYOC_DIM_ADD:
  case BYOC_DIM_MUL:
  case BYOC_DIM_FLOORDIV:
  case BYOC_DIM_CEILDIV:
  case BYOC_DIM_MIN:
  case BYOC_DIM_BROADCAST:
    return left && dim_is_nonnegative(dim.expr->right);
  case BYOC_DIM_MOD:
    return dim_is_nonnegative(dim.expr->right);
  case BYOC_DIM_MAX:
    return left || dim_is_nonnegative(dim.expr->right);
  default:
    return false;
  }
}

// Is `sign` times the sum never negative? A term that is subtracted must be a remainder, which has a bound.
static bool sum_is_nonnegative(const dim_sum_t *sum, int64_t sign) {
  if (sum->overflow || sum->constant == INT64_MIN) return false;
  int64_t least = sum->constant * sign;
  for (size_t i = 0; i < sum->count; ++i) {
    const byoc_dim_expr_t *product = sum->terms[i].product;
    int64_t coefficient = sum->terms[i].coefficient, most = 0;
    if (coefficient == INT64_MIN) return false;
    coefficient *= sign;
    if (coefficient > 0 && !dim_is_nonnegative(dim_of(product))) return false;
    if (coefficient > 0) continue;
    if (product->kind != BYOC_DIM_MOD || !byoc_dim_is_constant(product->right)) return false;
    if (product->right.constant <= 0) return false;
    if (__builtin_mul_overflow(coefficient, product->right.constant - 1, &most)) return false;
    if (__builtin_add_overflow(least, most, &least)) return false;
  }
  return least >= 0;
}

// The operand that a minimum (or maximum) equals for all sizes: 1 the first, 2 the second, 0 none.
static int dim_winner(byoc_dim_kind_t kind, byoc_dim_t a, byoc_dim_t b) {
  bool is_min = kind == BYOC_DIM_MIN;
  dim_sum_t difference;
  sum_init(&difference, a);
  sum_collect(&difference, b, -1);
  sum_tidy(&difference);
  if (sum_is_nonnegative(&difference, 1)) return is_min ? 2 : 1;
  if (sum_is_nonnegative(&difference, -1)) return is_min ? 1 : 2;
  if (!byoc_dim_is_constant(b)) return 0;
  if (is_min && b.constant == INT64_MAX) return 1;
  if (b.constant <= 0 && dim_is_nonnegative(a)) return is_min ? 2 : 1;
  return 0;
}

// The operands of a minimum (or maximum), in order, without those that another operand makes redundant.
typedef struct dim_operands_t {
  byoc_dim_t items[MAX_FACTORS];
  size_t count;
  bool overflow;
} dim_operands_t;

static void operands_collect(dim_operands_t *operands, byoc_dim_kind_t kind, byoc_dim_t dim) {
  if (dim.expr && dim.expr->kind == kind) {
    operands_collect(operands, kind, dim.expr->left);
    operands_collect(operands, kind, dim.expr->right);
    return;
  }
  for (size_t i = operands->count; i-- > 0;) {
    const bool is_first = dim_compare(operands->items[i], dim) <= 0; // a constant is the second one
    const int winner = is_first ? dim_winner(kind, operands->items[i], dim) : dim_winner(kind, dim, operands->items[i]);
    if (winner == (is_first ? 1 : 2)) return;
    if (winner == 0) continue;
    memmove(&operands->items[i], &operands->items[i + 1], (--operands->count - i) * sizeof(dim));
  }
  if (operands->count == MAX_FACTORS) {
    operands->overflow = true;
    return;
  }
  size_t at = operands->count++;
  for (; at > 0 && dim_compare(dim, operands->items[at - 1]) < 0; --at) operands->items[at] = operands->items[at - 1];
  operands->items[at] = dim;
}

static byoc_dim_t dim_extremum(byoc_arena_t *arena, byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right,
                               bool *failed) {
  dim_operands_t operands = {.count = 0};
  operands_collect(&operands, kind, left);
  operands_collect(&operands, kind, right);
  if (operands.overflow) return dim_raw(arena, kind, left, right, failed);
  byoc_dim_t dim = operands.items[0];
  for (size_t i = 1; i < operands.count; ++i) dim = dim_raw(arena, kind, dim, operands.items[i], failed);
  return dim;
}

// ---- broadcasts ----

// The sizes that are broadcast to each other, each once and in order. If one is a number other than 1, that is the
// result.
static void sizes_collect(dim_factors_t *sizes, byoc_dim_t dim, byoc_dim_t *settled) {
  if (byoc_dim_is_constant(dim)) {
    if (dim.constant != 1) *settled = dim;
    return;
  }
  if (dim.expr->kind == BYOC_DIM_BROADCAST) {
    sizes_collect(sizes, dim.expr->left, settled);
    sizes_collect(sizes, dim.expr->right, settled);
    return;
  }
  size_t i = 0;
  while (i < sizes->count && dim_compare(dim_of(sizes->items[i]), dim) < 0) ++i;
  if (i < sizes->count && byoc_dim_equal(dim_of(sizes->items[i]), dim)) return;
  if (sizes->count == MAX_FACTORS) {
    sizes->overflow = true;
    return;
  }
  for (size_t k = sizes->count++; k > i; --k) sizes->items[k] = sizes->items[k - 1];
  sizes->items[i] = dim.expr;
}

// broadcast(x, min(x, c)) → x if c is at least 1: either both are x, or x is above c and c must be 1.
static void sizes_drop_minima(dim_factors_t *sizes) {
  for (size_t i = sizes->count; i-- > 0;) {
    const byoc_dim_expr_t *item = sizes->items[i];
    if (item->kind != BYOC_DIM_MIN || !byoc_dim_is_constant(item->right) || item->right.constant < 1) continue;
    bool is_there = false;
    for (size_t k = 0; k < sizes->count; ++k)
      is_there = is_there || byoc_dim_equal(dim_of(sizes->items[k]), item->left);
    if (!is_there) continue;
    memmove(&sizes->items[i], &sizes->items[i + 1], (--sizes->count - i) * sizeof(*sizes->items));
  }
}

static byoc_dim_t dim_broadcast(byoc_arena_t *arena, byoc_dim_t left, byoc_dim_t right, bool *failed) {
  dim_factors_t sizes = {.count = 0};
  byoc_dim_t settled = byoc_dim_constant(1);
  sizes_collect(&sizes, left, &settled);
  sizes_collect(&sizes, right, &settled);
  if (settled.constant != 1 || sizes.count == 0) return settled;
  if (sizes.overflow) return dim_raw(arena, BYOC_DIM_BROADCAST, left, right, failed);
  sizes_drop_minima(&sizes);
  byoc_dim_t dim = dim_of(sizes.items[0]);
  for (size_t i = 1; i < sizes.count; ++i) {
    dim = dim_raw(arena, BYOC_DIM_BROADCAST, dim, dim_of(sizes.items[i]), failed);
  }
  return dim;
}

byoc_dim_t byoc_dim_binary(byoc_arena_t *arena, byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right, bool *failed) {
  if (*failed) return byoc_dim_constant(-1);
  byoc_dim_t result = byoc_dim_constant(-1);
  switch (kind) {
  case BYOC_DIM_ADD:
  case BYOC_DIM_SUB: {
    dim_sum_t sum;
    sum_init(&sum, left);
    sum_collect(&sum, right, kind == BYOC_DIM_ADD ? 1 : -1);
    result = sum.overflow ? dim_raw(arena, kind, left, right, failed) : sum_build(arena, &sum, failed);
    break;
  }
  case BYOC_DIM_MUL:
    result = dim_multiply(arena, left, right, failed);
    break;
  case BYOC_DIM_FLOORDIV:
  case BYOC_DIM_CEILDIV:
  case BYOC_DIM_MOD:
    result = dim_divide(arena, kind, left, right, failed);
    break;
  case BYOC_DIM_MIN:
  case BYOC_DIM_MAX:
    result = dim_extremum(arena, kind, left, right, failed);
    break;
  case BYOC_DIM_BROADCAST:
    result = dim_broadcast(arena, left, right, failed);
    break;
  default:
    break; // no other kind has two operands
  }
  return *failed ? byoc_dim_constant(-1) : result;
}

// ---- copies ----

static byoc_dim_t dim_rebuild(byoc_dim_t dim, const byoc_map_t *bindings, byoc_arena_t *arena, bool *failed) {
  if (*failed) return byoc_dim_constant(-1);
  if (!dim.expr) return dim;
  if (dim.expr->kind == BYOC_DIM_UNKNOWN) return byoc_dim_unknown(arena, dim.expr->id, failed);
  if (dim.expr->kind == BYOC_DIM_SYMBOL) {
    const byoc_dim_t *bound = bindings ? byoc_string_map_get(bindings, dim.expr->symbol) : NULL;
    return bound ? dim_rebuild(*bound, NULL, arena, failed) : byoc_dim_symbol(arena, dim.expr->symbol, failed);
  }
  byoc_dim_t left = dim_rebuild(dim.expr->left, bindings, arena, failed);
  byoc_dim_t right = dim_rebuild(dim.expr->right, bindings, arena, failed);
  if (*failed) return byoc_dim_constant(-1);
  return bindings ? byoc_dim_binary(arena, dim.expr->kind, left, right, failed)
                  : dim_raw(arena, dim.expr->kind, left, right, failed);
}

byoc_dim_t byoc_dim_copy(byoc_dim_t dim, byoc_arena_t *arena, bool *failed) {
  return dim_rebuild(dim, NULL, arena, failed);
}

byoc_dim_t byoc_dim_substitute(byoc_dim_t dim, const byoc_map_t *bindings, byoc_arena_t *arena, bool *failed) {
  return dim_rebuild(dim, bindings, arena, failed);
}

byoc_dim_t byoc_dim_replace(byoc_dim_t dim, byoc_dim_leaf_t leaf, void *self, byoc_arena_t *arena, bool *failed) {
  byoc_dim_t by;
  if (byoc_dim_is_constant(dim)) return dim;
  if (byoc_dim_is_leaf(dim)) return leaf(self, dim, &by) ? by : dim;
  byoc_dim_t left = byoc_dim_replace(dim.expr->left, leaf, self, arena, failed);
  byoc_dim_t right = byoc_dim_replace(dim.expr->right, leaf, self, arena, failed);
  if (byoc_dim_equal(left, dim.expr->left) && byoc_dim_equal(right, dim.expr->right)) return dim;
  return byoc_dim_binary(arena, dim.expr->kind, left, right, failed);
}

bool byoc_dim_walk(byoc_dim_t dim, bool (*visit)(void *self, byoc_dim_t leaf), void *self) {
  if (byoc_dim_is_constant(dim)) return true;
  if (byoc_dim_is_leaf(dim)) return visit(self, dim);
  return byoc_dim_walk(dim.expr->left, visit, self) && byoc_dim_walk(dim.expr->right, visit, self);
}
