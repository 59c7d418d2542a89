// SPDX-License-Identifier: Apache-2.0
// How many changes each pass over functions reports: their number, and none where nothing is left to do.
#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "tests/support/support.h"

typedef struct count_t {
  const char *pass;
  size_t changes; // of the first run
  const char *module;
} count_t;

static const count_t counts[] = {
    {"remove-identities", 4,
     "module {\n  constant @s : i64[2] = [2, 3]\n  func @main(%x : f32[2,3]) -> (%y : f32[2,3]) {\n"
     "    %0 = Identity@13(%x) : f32[2,3]\n    %1 = Cast@13(%0) {to = 1} : f32[2,3]\n"
     "    %2 = Transpose@13(%1) {perm = [0, 1]} : f32[2,3]\n    %3 = Reshape@13(%2, @s) : f32[2,3]\n"
     "    %y = Relu@14(%3) : f32[2,3]\n    return %y\n  }\n}\n"},
    {"remove-dead-code", 2,
     "module {\n  constant @s : f32[2] = [2.0, 3.0]\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
     "    %0 = Neg@13(%x) : f32[2]\n    %1 = Add@14(%0, @s) : f32[2]\n"
     "    %y = Relu@14(%x) : f32[2]\n    return %y\n  }\n}\n"},
    {"merge-equal-nodes", 2,
     "module {\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
     "    %0 = Neg@13(%x) : f32[2]\n    %1 = Neg@13(%x) : f32[2]\n    %2 = Neg@13(%x) : f32[2]\n"
     "    %y = Sum@13(%0, %1, %2) : f32[2]\n    return %y\n  }\n}\n"},
    {"fold-constants", 1,
     "module {\n  constant @a : f32[2] = [2.0, 3.0]\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
     "    %0 = Neg@13(@a) : f32[2]\n    %1 = Abs@13(%0) : f32[2]\n"
     "    %y = Add@14(%x, %1) : f32[2]\n    return %y\n  }\n}\n"},
    {"fold-structure", 1,
     "module {\n  constant @c : bool[] = [true]\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
     "    %y = If@16(@c) [then_branch () -> (f32[2]) {\n      %t = Neg@13(%x) : f32[2]\n      return %t\n"
     "    }, else_branch () -> (f32[2]) {\n      %e = Abs@13(%x) : f32[2]\n      return %e\n    }] : f32[2]\n"
     "    return %y\n  }\n}\n"},
    {"inline-functions", 2,
     "module {\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n    %0 = call @f(%x) : f32[2]\n"
     "    %y = call @f(%0) : f32[2]\n    return %y\n  }\n"
     "  func @f(%q : f32[2]) -> (%r : f32[2]) attributes {Inline = 1} {\n    %r = Neg@13(%q) : f32[2]\n    return %r\n "
     " }\n}\n"},
    {"fold-pad", 1,
     "module {\n  constant @p : i64[6] = [0, 0, 1, 0, 0, 1]\n  constant @w : f32[1,1,3] = [1.0, 2.0, 3.0]\n"
     "  func @main(%x : f32[1,1,5]) -> (%y : f32[1,1,5]) {\n    %0 = Pad@13(%x, @p) : f32[1,1,7]\n"
     "    %y = Conv@11(%0, @w) : f32[1,1,5]\n    return %y\n  }\n}\n"},
    {"cut-kernels", 1,
     "module {\n  constant @w : f32[1,1,3] = [1.0, 2.0, 3.0]\n  func @main(%x : f32[1,1,1]) -> (%y : f32[1,1,1]) {\n"
     "    %y = Conv@11(%x, @w) {pads = [1, 1]} : f32[1,1,1]\n    return %y\n  }\n}\n"},
    {"flush-subnormals", 1,
     "module {\n  constant @w : f32[2,2] = [1.0, 1.0, 1e-39, 1.0]\n"
     "  func @main(%x : f32[1,2]) -> (%y : f32[1,2]) {\n    %y = MatMul@13(%x, @w) : f32[1,2]\n"
     "    return %y\n  }\n}\n"},
    {"fold-batch-norm", 1,
     "module {\n  constant @w : f32[1,1,3] = [1.0, 2.0, 3.0]\n  constant @s : f32[1] = [2.0]\n"
     "  func @main(%x : f32[1,1,5]) -> (%y : f32[1,1,3]) {\n    %0 = Conv@11(%x, @w) : f32[1,1,3]\n"
     "    %y = BatchNormalization@15(%0, @s, @s, @s, @s) : f32[1,1,3]\n    return %y\n  }\n}\n"},
    {"move-transposes", 2,
     "module {\n  func @main(%x : f32[2,3]) -> (%y : f32[2,3]) {\n"
     "    %0 = Transpose@13(%x) {perm = [1, 0]} : f32[3,2]\n    %1 = Relu@14(%0) : f32[3,2]\n"
     "    %y = Transpose@13(%1) {perm = [1, 0]} : f32[2,3]\n    return %y\n  }\n}\n"},
    {"cancel-layouts", 1,
     "module {\n  func @main(%x : f32[1,2,5,7,16]) -> (%y : f32[1,2,5,7,16]) {\n"
     "    %0 = byoc::FromBlocked@1(%x) : f32[1,32,5,7]\n    %1 = byoc::ToBlocked@1(%0) : f32[1,2,5,7,16]\n"
     "    %y = Relu@14(%1) : f32[1,2,5,7,16]\n    return %y\n  }\n}\n"},
};

static size_t run(const char *name, byoc_graph_module_t *module) {
  byoc_diag_t diag = {0};
  size_t changes = 0;
  const byoc_pass_t *pass = byoc_pass_find(name);
  assert_non_null(pass);
  byoc_test_ok(byoc_pass_run(pass, module, NULL, &diag, &changes), &diag);
  return changes;
}

static void test_passes_count_their_changes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_test_ok(byoc_graph_parse(counts[i].module, "counts", byoc_allocator_system(), &diag, &module), &diag);
    byoc_test_ok(byoc_infer_module(module, &diag), &diag);
    size_t first = run(counts[i].pass, module);
    if (first != counts[i].changes)
      fail_msg("%s reports %zu changes, not %zu", counts[i].pass, first, counts[i].changes);
    size_t second = run(counts[i].pass, module);
    if (second != 0) fail_msg("%s reports %zu changes of what it left", counts[i].pass, second);
    byoc_graph_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_passes_count_their_changes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
