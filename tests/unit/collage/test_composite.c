// SPDX-License-Identifier: Apache-2.0
// Which constants of a composite function become operands of its call.
#include "core/collage/composite.h"
#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "tests/support/support.h"

// The number of operands of the call after lifting, by a rule with this pattern.
static uint32_t operands_after(const char *pattern) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n"
                                "  constant @two : f32[] = [2.0]\n  constant @three : f32[] = [3.0]\n"
                                "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                                "    %y = call @sum(%x) : f32[4]\n    return %y\n  }\n"
                                "  func @sum(%a : f32[4]) -> (%b : f32[4]) attributes {Composite = \"t.sum\"} {\n"
                                "    %b = Add@14(%a, @two) : f32[4]\n    return %b\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_node_t *call = byoc_graph_module_main(module)->body->first;
  byoc_function_t *composite = call->callee;
  // A constant that nothing reads any more.
  assert_non_null(byoc_function_constant(composite, byoc_graph_module_find_constant(module, "three")));
  const byoc_rule_t rule = {.name = "t.sum", .pattern = pattern};
  byoc_test_ok(byoc_composite_lift_constants(composite, call, &rule, &diag), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  const uint32_t count = call->operand_count;
  assert_int_equal(composite->body->parameters.count, count);
  for (uint32_t i = 1; i < count; ++i) assert_string_equal(call->operands[i]->constant->name, "two");
  byoc_graph_module_destroy(module);
  return count;
}

static void constants_are_lifted(void **state) {
  (void)state;
  assert_int_equal(operands_after("Add(%x, %c)"), 2);
  assert_int_equal(operands_after("Add(%x, @c)"), 1); // it is asked for
  assert_int_equal(operands_after(NULL), 1);          // no pattern asks for anything
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(constants_are_lifted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
