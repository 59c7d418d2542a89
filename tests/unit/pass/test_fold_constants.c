// SPDX-License-Identifier: Apache-2.0
// fold-constants: how much of a module is folded.
#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "tests/support/support.h"

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  return module;
}

static void fold(byoc_graph_module_t *module) {
  byoc_diag_t diag = {0};
  size_t changes = 0;
  byoc_test_ok(byoc_pass_fold_constants(module, &diag, &changes), &diag);
}

static void expect_nodes(const byoc_graph_module_t *module, size_t expected) {
  assert_int_equal(byoc_graph_module_main(module)->body->node_count, expected);
}

// A budget for two results of 40 bytes: the third is left to the run, by later runs of the pass too.
static void test_budget_of_a_module(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module {\n  constant @n : i64[1] = [10]\n"
                                      "  func @main(%x : f32[10]) -> (%a : ?, %b : ?, %c : ?) {\n"
                                      "    %0 = ConstantOfShape@9(@n) : ?\n    %a = Add@14(%x, %0) : ?\n"
                                      "    %1 = ConstantOfShape@9(@n) : ?\n    %b = Sub@14(%x, %1) : ?\n"
                                      "    %2 = ConstantOfShape@9(@n) : ?\n    %c = Mul@14(%x, %2) : ?\n"
                                      "    return %a, %b, %c\n  }\n}\n");
  module->has_fold_budget = true;
  module->fold_budget_bytes = 100;
  for (int run = 0; run < 3; ++run) {
    fold(module);
    expect_nodes(module, 4);
  }
  byoc_graph_module_destroy(module);
}

// Steps of a chain make room for one another; only the chain's result is charged.
static void test_chain_is_paid_for_once(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module {\n  constant @w : u8[10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
                                      "  constant @s : f32[] = [0.5]\n  constant @shape : i64[2] = [2, 5]\n"
                                      "  func @main(%x : f32[5,2]) -> (%y : ?) {\n"
                                      "    %0 = DequantizeLinear@13(@w, @s) : ?\n    %1 = Neg@13(%0) : ?\n"
                                      "    %2 = Exp@13(%1) : ?\n    %3 = Reshape@14(%2, @shape) : ?\n"
                                      "    %4 = Transpose@13(%3) {perm = [1, 0]} : ?\n    %y = Add@14(%x, %4) : ?\n"
                                      "    return %y\n  }\n}\n");
  module->has_fold_budget = true;
  module->fold_budget_bytes = 40;
  fold(module);
  expect_nodes(module, 6); // DequantizeLinear keeps its form, and so does everything that depends on it
  byoc_diag_t diag = {0};
  size_t changes = 0;
  byoc_test_ok(byoc_pass_fold_dequantised(module, &(byoc_pass_arguments_t){0}, &diag, &changes), &diag);
  expect_nodes(module, 1);
  assert_int_equal(module->fold_budget_bytes, 0);
  byoc_graph_module_destroy(module);
}

// What came with the module counts eight times, in addition to the room for masks.
static void test_budget_grows_with_the_weights(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse("module {\n  constant @w : f32[4] = [1.0, 2.0, 3.0, 4.0]\n"
                                      "  func @main(%x : f32[4]) -> (%y : ?) {\n    %y = Add@14(%x, @w) : ?\n"
                                      "    return %y\n  }\n}\n");
  fold(module);
  assert_true(module->fold_budget_bytes == (INT64_C(256) << 20) + 8 * 16);
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_budget_of_a_module),
      cmocka_unit_test(test_chain_is_paid_for_once),
      cmocka_unit_test(test_budget_grows_with_the_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
