// SPDX-License-Identifier: Apache-2.0
// What functions are called after: their operators, also those of functions that they call.
#include "core/ir/describe.h"

#include "core/ir/module_text.h"
#include "tests/support/support.h"

// Functions whose calls are four and five levels deep, and one with changes of layout.
static const char text[] = "module {\n"
                           "func @e(%x : f32[2]) -> (%y : f32[2]) { %y = Exp@13(%x) : f32[2]\n return %y }\n"
                           "func @d(%x : f32[2]) -> (%y : f32[2]) { %y = call @e(%x) : f32[2]\n return %y }\n"
                           "func @c(%x : f32[2]) -> (%y : f32[2]) { %y = call @d(%x) : f32[2]\n return %y }\n"
                           "func @b(%x : f32[2]) -> (%y : f32[2]) { %y = call @c(%x) : f32[2]\n return %y }\n"
                           "func @four(%x : f32[2]) -> (%y : f32[2]) { %y = call @b(%x) : f32[2]\n return %y }\n"
                           "func @five(%x : f32[2]) -> (%y : f32[2]) { %y = call @four(%x) : f32[2]\n return %y }\n"
                           "func @named(%x : f32[2]) -> (%y : f32[2]) {\n"
                           "  %a = Abs@13(%x) : f32[2]\n %b = Neg@13(%a) : f32[2]\n %c = Exp@13(%b) : f32[2]\n"
                           "  %y = Relu@14(%c) : f32[2]\n return %y }\n"
                           "func @many(%x : f32[2]) -> (%y : f32[2]) {\n"
                           "  %a = call @named(%x) : f32[2]\n %y = Sqrt@13(%a) : f32[2]\n return %y }\n"
                           "func @layout(%x : f32[1,8,2,2]) -> (%y : f32[1,8,2,2]) {\n"
                           "  %a = byoc::ToBlocked@1(%x) {block = 8} : f32[1,1,2,2,8]\n"
                           "  %y = byoc::FromBlocked@1(%a) {channels = 8} : f32[1,8,2,2]\n return %y }\n"
                           "}\n";

static void functions_are_called_after_operators(void **state) {
  (void)state;
  static const struct {
    const char *function, *expected;
  } rows[] = {{"e", "Exp"},
              {"four", "Exp"},
              {"five", "call"},
              {"named", "Abs+Neg+Exp+Relu"},
              {"many", "Abs+Neg+Exp+Relu+... (5 operators)"},
              {"layout", "ToBlocked+FromBlocked"}};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_string_t out;
    byoc_string_init(&out, byoc_allocator_system());
    const byoc_function_t *function = byoc_graph_module_find(module, rows[i].function);
    assert_non_null(function);
    byoc_function_describe(function, &out);
    assert_string_equal(out.data, rows[i].expected);
    byoc_string_deinit(&out);
  }
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(functions_are_called_after_operators)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
