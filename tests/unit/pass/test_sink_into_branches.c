// SPDX-License-Identifier: Apache-2.0
// sink-into-branches: how deep nodes may nest that it copies.
#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "tests/support/support.h"

// An If of unknown rank, and behind it `levels` Ifs in each other, the innermost of which reads its result.
static byoc_graph_module_t *nested(int levels) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {opset_import. = 17} { func @main(%c : bool[], %x : f32[2]) -> (%y : f32[]) {\n"
                            "%q = If@16(%c) [then_branch () -> (f32[2]) { %t = Neg@13(%x) : f32[2] return %t },"
                            " else_branch () -> (f32[]) { %e = ReduceSum@11(%x) {keepdims = 0} : f32[] return %e }]"
                            " : f32[*]\n");
  for (int i = 0; i < levels; ++i) {
    byoc_string_appendf(&text, "%%%s = If@16(%%c) [then_branch () -> (f32[]) {\n", i == 0 ? "y" : "r");
  }
  byoc_string_append(&text, "%s = ReduceSum@11(%q) {keepdims = 0} : f32[] return %s\n");
  for (int i = levels; i > 0; --i) {
    byoc_string_append(&text, "}, else_branch () -> (f32[]) { %o = ReduceMax@13(%x) {keepdims = 0} : f32[] return %o }"
                              "] : f32[]\n");
    byoc_string_appendf(&text, "return %%%s\n", i == 1 ? "y" : "r");
  }
  byoc_string_append(&text, "} }");
  byoc_test_ok(byoc_graph_parse(text.data, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_string_deinit(&text);
  return module;
}

// The copy is one level deeper than the node: blocks inside of it count, too.
static void copies_are_refused_that_nest_too_deep(void **state) {
  (void)state;
  for (int beyond = 0; beyond < 2; ++beyond) {
    byoc_diag_t diag = {0};
    size_t changes = 0;
    byoc_graph_module_t *module = nested(BYOC_MAX_BLOCK_DEPTH - 1 + beyond);
    const byoc_status_t status = byoc_pass_sink_into_branches(module, &diag, &changes);
    if (beyond == 0) byoc_test_ok(status, &diag);
    if (beyond == 1) byoc_test_error(status, BYOC_UNSUPPORTED, &diag, "nodes are copied, 65 levels deep");
    byoc_graph_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_refused_that_nest_too_deep)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
