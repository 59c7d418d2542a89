// SPDX-License-Identifier: Apache-2.0
// Dimensions: folding, canonical forms and copies.
#include "core/ir/dim.h"
#include "core/ir/dim_names.h"
#include "core/ir/text_parts.h"
#include "tests/support/support.h"

static byoc_arena_t arena;

static int set_up(void **state) {
  (void)state;
  byoc_arena_init(&arena, byoc_allocator_system());
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  byoc_arena_deinit(&arena);
  return 0;
}

static byoc_dim_t parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_lexer_t lexer;
  byoc_dim_t dim;
  byoc_lexer_init(&lexer, text, "dim", &arena, &diag);
  bool ok = byoc_dim_parse(&lexer, &arena, &dim) && byoc_lexer_expect(&lexer, BYOC_TOKEN_END);
  byoc_test_ok(lexer.status, &diag);
  assert_true(ok);
  return dim;
}

static void expect(const char *text, const char *canonical) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_arena_allocator(&arena));
  byoc_dim_print(parse(text), &out);
  byoc_test_same_text(out.data, canonical);
  assert_true(byoc_dim_equal(parse(canonical), parse(text)));
  assert_int_equal(byoc_dim_hash(parse(canonical), 1), byoc_dim_hash(parse(text), 1));
}

static void sums_and_products_are_canonical(void **state) {
  (void)state;
  expect("1 + 2 * 3 - 4", "3");
  expect("2 + N", "N + 2");
  expect("N + M + N", "M + N * 2");
  expect("N - N", "0");
  expect("(N + 1) * (N - 1)", "N * N - 1");
  expect("2 * (N + 3) * M", "M * 6 + M * N * 2");
  expect("5 - N", "5 - N");
  expect("-N - M", "M * -1 - N");
  expect("N * 0 + 3", "3");
  expect("K * (N * M)", "K * M * N");
  expect("\"batch size\" + ?7", "\"batch size\" + ?7");
  expect("N + 9223372036854775807 + 1", "N + 9223372036854775807 + 1"); // too large to fold: kept as built
}

static void divisions_fold(void **state) {
  (void)state;
  expect("floordiv(7, 2)", "3");
  expect("floordiv(-7, 2)", "-4");
  expect("ceildiv(7, 2)", "4");
  expect("mod(-7, 3)", "2");
  expect("floordiv(N, 1)", "N");
  expect("ceildiv(N, 2)", "floordiv(N + 1, 2)");
  expect("floordiv(H + 2 - 3, 2) + 1", "floordiv(H + 1, 2)");
  expect("floordiv(N * 4 + 2, 2)", "N * 2 + 1");
  expect("floordiv(N * 4 + 3, 6)", "floordiv(N * 2 + 1, 3)");
  expect("floordiv(floordiv(N, 2), 3)", "floordiv(N, 6)");
  expect("floordiv(floordiv(N * 2, 3), 2)", "floordiv(N, 3)");
  expect("floordiv(N * M * 12, N * 4)", "M * 3");
  expect("floordiv(N, N)", "1");
  expect("mod(N * 4 + 5, 4)", "1");
  expect("mod(N * 4 + M, 4)", "mod(M, 4)");
  expect("mod(N * M, M)", "0");
  expect("floordiv(N, 0)", "floordiv(N, 0)");
  expect("ceildiv(N, M)", "ceildiv(N, M)");
  expect("floordiv(N - 9223372036854775807 - 1, 3)", "floordiv(N + 1, 3) - 3074457345618258603");
}

static void extrema_fold(void **state) {
  (void)state;
  expect("min(3, 4)", "3");
  expect("max(N + 1, N)", "N + 1");
  expect("min(5, N)", "min(N, 5)");
  expect("max(max(N, 2), 5)", "max(N, 5)");
  expect("min(N, 9223372036854775807)", "N");
  expect("min(N, M + N)", "N");
  expect("min(N - mod(N, 7) + 6, N)", "N");
  expect("max(N - mod(N, 7) + 5, N)", "max(N, N - mod(N, 7) + 5)");
  expect("max(N * 2 + 1, 0)", "N * 2 + 1");
  expect("max(?1, 0)", "max(?1, 0)"); // an unknown may be negative
  expect("min(M, N)", "min(M, N)");
  expect("min(N, M)", "min(M, N)");
  expect("min(min(N, 512), min(M, N))", "min(M, N, 512)"); // each once, in one order
  expect("min(N, M, N + 1)", "min(M, N)");
  expect("max(7, N, max(M, 9), 3)", "max(M, N, 9)");
  expect("max(min(N, 4), min(4, N), 0)", "min(N, 4)");
  expect("min(max(N, 4), 9223372036854775807, M)", "min(M, max(N, 4))");
  expect("min(max(N, M), max(M, K))", "min(max(K, M), max(M, N))");
}

static void broadcasts_hold_each_size_once(void **state) {
  (void)state;
  expect("broadcast(N, M)", "broadcast(M, N)");
  expect("broadcast(N, N)", "N");
  expect("broadcast(1, N)", "N");
  expect("broadcast(N, 4)", "4");
  expect("broadcast(N, 0)", "0");
  expect("broadcast(1, 1)", "1");
  expect("broadcast(broadcast(N, ?3), N)", "broadcast(N, ?3)");
  expect("broadcast(broadcast(K, N), broadcast(N, M))", "broadcast(K, M, N)");
  expect("broadcast(broadcast(K, N), broadcast(M, 7))", "7");
  expect("max(broadcast(K, N), 0)", "broadcast(K, N)");
  expect("broadcast(N, min(N, 512))", "N");
  expect("broadcast(min(N + 3, 512), N + 3)", "N + 3");
  expect("broadcast(min(N, 9), broadcast(M, N))", "broadcast(M, N)");
  expect("broadcast(min(N, 1), N)", "N");
  expect("broadcast(min(N, M), N)", "broadcast(N, min(M, N))");
}

static void expect_named(const byoc_dim_names_t *names, const char *text, const char *expected) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_arena_allocator(&arena));
  byoc_dim_print_named(parse(text), names, &out);
  byoc_test_same_text(out.data, expected);
}

static void names_stand_for_formulas(void **state) {
  (void)state;
  byoc_dim_name_t items[] = {
      {"frames", parse("floordiv(T, 2) + 1")}, {"hits", parse("?7")}, {"all", parse("min(N, M)")}};
  const byoc_dim_names_t names = {.items = items, .count = 3, .capacity = 3};
  expect_named(&names, "floordiv(T, 2) + 1", "frames");
  expect_named(&names, "max(floordiv(T, 2) + 1, K) * ?7", "hits * max(K, frames)");
  expect_named(&names, "min(M, N, K)", "min(K, M, N)"); // it is the least of more
  expect_named(&names, "max(min(M, N), K)", "max(K, all)");
  expect_named(&names, "T + ?8", "T + ?8");
  const byoc_dim_t dims[] = {parse("floordiv(T, 2) + 1"), parse("?7"), parse("T")};
  const byoc_type_t *type = byoc_type_tensor(&arena, BYOC_DTYPE_F32, 3, dims);
  byoc_string_t out;
  byoc_string_init(&out, byoc_arena_allocator(&arena));
  byoc_type_print_named(type, &names, &out);
  byoc_type_print_formulas(type, &names, &out);
  byoc_test_same_text(out.data, "f32[frames,hits,T], frames = floordiv(T, 2) + 1");
}

static void unknowns_are_themselves_only(void **state) {
  (void)state;
  assert_true(byoc_dim_equal(parse("?3"), parse("?3")));
  assert_false(byoc_dim_equal(parse("?3"), parse("?4")));
  assert_false(byoc_dim_equal(parse("N"), parse("M")));
  assert_false(byoc_dim_equal(parse("N"), parse("3")));
}

static void symbols_are_replaced(void **state) {
  (void)state;
  byoc_map_t bindings;
  byoc_string_map_init(&bindings, byoc_arena_allocator(&arena));
  byoc_dim_t seven = byoc_dim_constant(7), sum = parse("M + 1");
  assert_true(byoc_string_map_put(&bindings, "N", &seven) && byoc_string_map_put(&bindings, "K", &sum));
  bool failed = false;
  byoc_dim_t dim = byoc_dim_substitute(parse("floordiv(N + 1, 2) * K + N"), &bindings, &arena, &failed);
  assert_false(failed);
  assert_true(byoc_dim_equal(dim, parse("M * 4 + 11")));
  // A bound symbol is not looked up again.
  byoc_dim_t n = parse("N + 1");
  assert_true(byoc_string_map_put(&bindings, "N", &n));
  assert_true(byoc_dim_equal(byoc_dim_substitute(parse("N"), &bindings, &arena, &failed), parse("N + 1")));
}

static void growth_is_bounded(void **state) {
  (void)state;
  bool failed = false;
  byoc_dim_t a = parse("N"), b = parse("M");
  for (int i = 0; i < 200; ++i) { // doubles each time
    byoc_dim_t next = byoc_dim_binary(&arena, BYOC_DIM_MIN, byoc_dim_binary(&arena, BYOC_DIM_MUL, a, b, &failed),
                                      byoc_dim_binary(&arena, BYOC_DIM_MOD, a, b, &failed), &failed);
    b = a;
    a = next;
  }
  assert_false(failed);
  assert_true(a.expr->size <= BYOC_DIM_MAX_SIZE);
}

// The value of a dimension for given symbols.
static int64_t value_of(byoc_dim_t dim, const int64_t *symbols) {
  if (!dim.expr) return dim.constant;
  if (dim.expr->kind == BYOC_DIM_SYMBOL) return symbols[dim.expr->symbol[0] - 'A'];
  int64_t a = value_of(dim.expr->left, symbols), b = value_of(dim.expr->right, symbols), quotient;
  switch (dim.expr->kind) {
  case BYOC_DIM_ADD:
    return a + b;
  case BYOC_DIM_SUB:
    return a - b;
  case BYOC_DIM_MUL:
    return a * b;
  case BYOC_DIM_MIN:
    return a < b ? a : b;
  case BYOC_DIM_MAX:
    return a > b ? a : b;
  case BYOC_DIM_BROADCAST:
    return a == 1 ? b : a;
  default:
    quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
    if (dim.expr->kind == BYOC_DIM_FLOORDIV) return quotient;
    return dim.expr->kind == BYOC_DIM_MOD ? a - quotient * b : quotient + (a - quotient * b != 0);
  }
}

static byoc_dim_t random_dim(byoc_test_random_t *random, int depth, const int64_t *symbols, int64_t *value) {
  bool failed = false;
  if (depth == 0 || byoc_test_below(random, 4) == 0) {
    if (byoc_test_below(random, 2)) {
      *value = (int64_t)byoc_test_below(random, 9) - 2;
      return byoc_dim_constant(*value);
    }
    char name[2] = {(char)('A' + byoc_test_below(random, 3)), 0};
    *value = symbols[name[0] - 'A'];
    return byoc_dim_symbol(&arena, name, &failed);
  }
  static const byoc_dim_kind_t kinds[] = {BYOC_DIM_ADD,     BYOC_DIM_SUB,      BYOC_DIM_MUL, BYOC_DIM_ADD,
                                          BYOC_DIM_MIN,     BYOC_DIM_MAX,      BYOC_DIM_MOD, BYOC_DIM_FLOORDIV,
                                          BYOC_DIM_CEILDIV, BYOC_DIM_BROADCAST};
  byoc_dim_kind_t kind = kinds[byoc_test_below(random, sizeof(kinds) / sizeof(kinds[0]))];
  int64_t a = 0, b = 0;
  byoc_dim_t left = random_dim(random, depth - 1, symbols, &a), right = random_dim(random, depth - 1, symbols, &b);
  if (kind >= BYOC_DIM_FLOORDIV && kind <= BYOC_DIM_MOD && b <= 0) {
    b = 1 + (int64_t)byoc_test_below(random, 5);
    right = byoc_dim_constant(b);
  }
  if (kind == BYOC_DIM_BROADCAST && a != b && a != 1 && b != 1) {
    b = a;
    right = left;
  }
  byoc_dim_expr_t plain = {.kind = kind, .left = byoc_dim_constant(a), .right = byoc_dim_constant(b)};
  *value = value_of((byoc_dim_t){.expr = &plain}, symbols);
  byoc_dim_t dim = byoc_dim_binary(&arena, kind, left, right, &failed);
  assert_false(failed);
  return dim;
}

// Folding keeps the value, and a printed dimension reads back as itself.
static void random_dims_keep_their_value(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 42};
  for (int i = 0; i < 4000; ++i) {
    int64_t symbols[3], value = 0;
    for (int s = 0; s < 3; ++s) symbols[s] = 1 + (int64_t)byoc_test_below(&random, 12);
    byoc_dim_t dim = random_dim(&random, 4, symbols, &value);
    assert_int_equal(value_of(dim, symbols), value);
    byoc_string_t out;
    byoc_string_init(&out, byoc_arena_allocator(&arena));
    byoc_dim_print(dim, &out);
    byoc_dim_t again = parse(out.data);
    if (!byoc_dim_equal(again, dim)) {
      byoc_string_t second;
      byoc_string_init(&second, byoc_arena_allocator(&arena));
      byoc_dim_print(again, &second);
      byoc_test_same_text(second.data, out.data);
      fail();
    }
    assert_int_equal(byoc_dim_hash(again, 0), byoc_dim_hash(dim, 0));
    bool failed = false;
    assert_true(byoc_dim_equal(byoc_dim_copy(dim, &arena, &failed), dim) && !failed);
    byoc_arena_reset(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sums_and_products_are_canonical, set_up, tear_down),
      cmocka_unit_test_setup_teardown(divisions_fold, set_up, tear_down),
      cmocka_unit_test_setup_teardown(extrema_fold, set_up, tear_down),
      cmocka_unit_test_setup_teardown(broadcasts_hold_each_size_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_stand_for_formulas, set_up, tear_down),
      cmocka_unit_test_setup_teardown(unknowns_are_themselves_only, set_up, tear_down),
      cmocka_unit_test_setup_teardown(symbols_are_replaced, set_up, tear_down),
      cmocka_unit_test_setup_teardown(growth_is_bounded, set_up, tear_down),
      cmocka_unit_test_setup_teardown(random_dims_keep_their_value, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("ir dim", tests, NULL, NULL);
}
