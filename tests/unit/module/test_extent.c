// SPDX-License-Identifier: Apache-2.0
// Extents: what is read, to which dimensions it leads, and what is refused.
#include "tests/support/support.h"

#include "core/ir/module_text.h"
#include "core/module/extent.h"

static const char graph_text[] = "module {\n"
                                 "  func @main(%x : f32[2,3], %y : f32[N,M]) -> (%r : f32[2,3], %s : f32[N,M]) {\n"
                                 "    %r, %s = call @f(%x, %y) : f32[2,3], f32[N,M]\n"
                                 "    return %r, %s\n"
                                 "  }\n"
                                 "  func @f(%a : f32[2,3], %b : f32[N,M]) -> (%c : f32[2,3], %d : f32[N,M]) {\n"
                                 "    %c = Relu@14(%a) : f32[2,3]\n"
                                 "    %d = Relu@14(%b) : f32[N,M]\n"
                                 "    return %c, %d\n"
                                 "  }\n"
                                 "}\n";

static byoc_graph_module_t *module;
static const byoc_function_t *function;

static int setup(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_parse(graph_text, "test", byoc_allocator_system(), &diag, &module), &diag);
  function = byoc_graph_module_find(module, "f");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  byoc_graph_module_destroy(module);
  return 0;
}

static void expect(const char *text, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_dim_t extent;
  byoc_test_ok(byoc_extent_parse(text, function, &module->arena, &diag, &extent), &diag);
  byoc_string_t printed;
  byoc_string_init(&printed, byoc_allocator_system());
  byoc_dim_print(extent, &printed);
  assert_string_equal(printed.data, expected);
  byoc_string_deinit(&printed);
}

static void test_read(void **state) {
  (void)state;
  expect("17", "17");
  expect(" 2 + 3*4 ", "14");
  expect("7 / 2 - 1", "2");
  expect("10 - 3 - 2", "5");
  expect("(2 + 3) * 4 % 6", "2");
  expect("min(3, 5) + max(3, 5) + ceildiv(9, 4)", "11");
  expect("broadcast(1, 7) + broadcast(5, 1)", "12");
}

// ---- printed ----

static byoc_dim_t symbol(const char *name) {
  bool failed = false;
  return byoc_dim_symbol(&module->arena, name, &failed);
}

static byoc_dim_t binary(byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right) {
  bool failed = false;
  return byoc_dim_binary(&module->arena, kind, left, right, &failed);
}

// The text stands for the dimension: read again, with the function's own symbols for its operands' dimensions, it is
// it.
static bool put_own_symbol(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  (void)self;
  *out_dim = strcmp(leaf.expr->symbol, "p1.0") == 0 ? symbol("N") : symbol("M");
  return true;
}

static void expect_printed(byoc_dim_t dim, const char *expected) {
  byoc_string_t printed;
  byoc_string_init(&printed, byoc_allocator_system());
  assert_true(byoc_extent_print(dim, function, &printed));
  assert_string_equal(printed.data, expected);
  byoc_diag_t diag = {0};
  byoc_dim_t extent;
  bool failed = false;
  byoc_test_ok(byoc_extent_parse(printed.data, function, &module->arena, &diag, &extent), &diag);
  extent = byoc_dim_replace(extent, put_own_symbol, NULL, &module->arena, &failed);
  assert_true(byoc_dim_equal(extent, dim));
  byoc_string_deinit(&printed);
}

static void test_printed(void **state) {
  (void)state;
  const byoc_dim_t n = symbol("N"), m = symbol("M"), two = byoc_dim_constant(2);
  expect_printed(byoc_dim_constant(12), "12");
  expect_printed(byoc_dim_constant(-3), "(0 - 3)");
  expect_printed(m, "p1.1");
  expect_printed(binary(BYOC_DIM_MUL, n, m), "(p1.1 * p1.0)");
  expect_printed(binary(BYOC_DIM_FLOORDIV, n, two), "(p1.0 / 2)");
  expect_printed(binary(BYOC_DIM_MOD, n, two), "(p1.0 % 2)");
  expect_printed(binary(BYOC_DIM_BROADCAST, n, m), "broadcast(p1.1, p1.0)");
  expect_printed(binary(BYOC_DIM_MAX, binary(BYOC_DIM_MIN, n, m), two), "max(min(p1.1, p1.0), 2)");
}

// Nothing of the function tells a size that only its inside knows, and no text is without end.
static void test_not_printed(void **state) {
  (void)state;
  byoc_string_t printed;
  byoc_dim_t deep = symbol("N");
  bool failed = false;
  for (int64_t k = 2; k < 40; ++k) {
    deep = binary(BYOC_DIM_FLOORDIV, binary(BYOC_DIM_ADD, deep, symbol("M")), byoc_dim_constant(k));
  }
  const byoc_dim_t dims[] = {symbol("inside"), binary(BYOC_DIM_ADD, symbol("N"), symbol("inside")),
                             byoc_dim_unknown(&module->arena, 7, &failed), deep};
  for (size_t k = 0; k < sizeof(dims) / sizeof(dims[0]); ++k) {
    byoc_string_init(&printed, byoc_allocator_system());
    assert_false(byoc_extent_print(dims[k], function, &printed));
    byoc_string_deinit(&printed);
  }
}

// Each call puts its own dimensions into the place of the symbols.
static void test_dimensions(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_dim_t extent;
  byoc_test_ok(byoc_extent_parse("p1.1", function, &module->arena, &diag, &extent), &diag);
  assert_false(byoc_dim_is_constant(extent));
  assert_string_equal(extent.expr->symbol, "p1.1");
  const byoc_node_t *call = byoc_graph_module_find(module, "main")->body->first;
  assert_int_equal(byoc_extent_dimension("p0.1", call).constant, 3);
  assert_string_equal(byoc_extent_dimension("p1.1", call).expr->symbol, "M");
  assert_int_equal(byoc_extent_dimension("r0.0", call).constant, 2);
  assert_string_equal(byoc_extent_dimension("r1.0", call).expr->symbol, "N");
}

// Numbers of operands and axes are decimal.
static void test_dimensions_from_ten_on(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *many = NULL;
  const char *text = "module {\n"
                     "  func @main(%v : f32[1], %x : f32[1,2,3,4,5,6,7,8,9,10,11,12]) -> (%r : f32[1]) {\n"
                     "    %r = call @f(%v, %v, %v, %v, %v, %v, %v, %v, %v, %v, %x) : f32[1]\n"
                     "    return %r\n"
                     "  }\n"
                     "  func @f(%a : f32[1], %b : f32[1], %c : f32[1], %d : f32[1], %e : f32[1], %f : f32[1],"
                     " %g : f32[1], %h : f32[1], %i : f32[1], %j : f32[1],"
                     " %k : f32[1,2,3,4,5,6,7,8,9,10,11,12]) -> (%r : f32[1]) {\n"
                     "    %r = Relu@14(%a) : f32[1]\n"
                     "    return %r\n"
                     "  }\n"
                     "}\n";
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &many), &diag);
  const byoc_node_t *call = byoc_graph_module_find(many, "main")->body->first;
  assert_int_equal(byoc_extent_dimension("p10.10", call).constant, 11);
  byoc_graph_module_destroy(many);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {{"", "missing at character 1"},
              {"3 +", "missing at character 4"},
              {"3 4", "an operator is missing at character 3"},
              {"(1 + 2", "')' is missing at character 7"},
              {"min(1 2)", "',' is missing at character 7"},
              {"max 1", "'(' is missing"},
              {"p0", "a dimension is written p0.1 or r0.1"},
              {"p0.x", "a dimension is written p0.1 or r0.1"},
              {"p2.0", "there is no operand 2"},
              {"r0.2", "result 0 has no axis 2"},
              {"p99999999999999999999.0", "a dimension is written p0.1 or r0.1"},
              {"99999999999999999999", "an integer"},
              {"p0.0 / 0", "a divisor that is not positive at character 9"},
              {"p0.0 % (1 - 3)", "a divisor that is not positive"},
              {"ceildiv(p0.0, 0)", "a divisor that is not positive"},
              {"q0.1", "an integer, a dimension, min, max, ceildiv, broadcast or '(' is missing at character 1"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_dim_t extent;
    byoc_test_error(byoc_extent_parse(rows[i].text, function, &module->arena, &diag, &extent), BYOC_INVALID_ARGUMENT,
                    &diag, rows[i].message);
  }
  char deep[300];
  memset(deep, '(', sizeof(deep));
  deep[sizeof(deep) - 1] = '\0';
  byoc_diag_t diag = {0};
  byoc_dim_t extent;
  byoc_test_error(byoc_extent_parse(deep, function, &module->arena, &diag, &extent), BYOC_INVALID_ARGUMENT, &diag,
                  "too many parentheses");
  char long_text[4000] = "p1.0 % 2";
  while (strlen(long_text) < sizeof(long_text) - 20) strcat(long_text, " * (p1.1 % 3)");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_extent_parse(long_text, function, &module->arena, &diag, &extent), BYOC_INVALID_ARGUMENT, &diag,
                  "the expression is too long");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read),    cmocka_unit_test(test_dimensions),  cmocka_unit_test(test_dimensions_from_ten_on),
      cmocka_unit_test(test_printed), cmocka_unit_test(test_not_printed), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
