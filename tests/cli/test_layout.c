// SPDX-License-Identifier: Apache-2.0
// --layout: blocked layouts between regions do not change results, compiled or evaluated, and do nothing if no target
// takes them.
#include <stdio.h>

#include "models.h"
#include "tests/support/command.h"

// A residual block, a pool, a concatenation; Sin and Cos are taken by c only.
static const char text[] = "module {\\n"
                           "  constant @a : f32[32,3,3,3] = splat 0.02\\n"
                           "  constant @b : f32[32,32,3,3] = splat 0.01\\n"
                           "  constant @c : f32[32,32,1,1] = splat 0.03\\n"
                           "  constant @bias : f32[32,1,1] = splat 0.5\\n"
                           "  func @main(%%x : f32[1,3,14,14]) -> (%%y : f32[1,32,7,7], %%z : f32[1,64,1,1]) {\\n"
                           "    %%0 = Conv@11(%%x, @a) {pads = [1, 1, 1, 1]} : f32[1,32,14,14]\\n"
                           "    %%1 = Relu@14(%%0) : f32[1,32,14,14]\\n"
                           "    %%2 = Conv@11(%%1, @b) {pads = [1, 1, 1, 1]} : f32[1,32,14,14]\\n"
                           "    %%3 = Add@14(%%2, %%1) : f32[1,32,14,14]\\n"
                           "    %%4 = Sin@7(%%3) : f32[1,32,14,14]\\n"
                           "    %%5 = Mul@14(%%4, @bias) : f32[1,32,14,14]\\n"
                           "    %%6 = Conv@11(%%5, @c) : f32[1,32,14,14]\\n"
                           "    %%7 = MaxPool@12(%%6) {kernel_shape = [2, 2], strides = [2, 2]} : f32[1,32,7,7]\\n"
                           "    %%y = Conv@11(%%7, @c) : f32[1,32,7,7]\\n"
                           "    %%8 = Concat@13(%%5, %%3) {axis = 1} : f32[1,64,14,14]\\n"
                           "    %%9 = Cos@7(%%8) : f32[1,64,14,14]\\n"
                           "    %%z = GlobalAveragePool@1(%%9) : f32[1,64,1,1]\\n"
                           "    return %%y, %%z\\n  }\\n}\\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result == 0) result = byoc_test_try_shell("printf '%s' > model.byoc", text);
  return result != 0 ? result
                     : byoc_test_try_shell("byoc run model.byoc --random --target c --output-dir . >/dev/null");
}

static void test_layouts_change_no_result(void **state) {
  (void)state;
  static const char *const targets[] = {"dnnl", "cutlass; c", "cutlass; dnnl; c"};
  for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t += byoc_test_is_long() ? 1 : 2) {
    for (int evaluate = 0; evaluate < 2; ++evaluate) {
      byoc_test_shell(0, "byoc run model.byoc --random --target '%s' %s --expect y=y.npy --expect z=z.npy", targets[t],
                      evaluate ? "--evaluate" : "");
    }
  }
}

// A plan with layout changes can be saved, required and searched for by estimates.
static void test_layouts_are_part_of_plans(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc explain model.byoc --target dnnl --plan greedy --all");
  byoc_test_printed("ToBlocked");
  byoc_test_shell(0, "byoc explain model.byoc --target dnnl --plan greedy --layout=plain --all");
  byoc_test_no_line("Blocked");
  byoc_test_shell(
      0, BYOC_TEST_SAME
      "byoc build model.byoc --target dnnl --plan greedy --save-plan plan.json -o a.so >/dev/null && "
      "byoc build model.byoc --target dnnl --plan plan.json -o b.so >/dev/null && same a.so b.so && "
      "byoc build model.byoc --target dnnl --plan greedy --emit=c | code >a.c && byoc build model.byoc --target dnnl "
      "--plan plan.json --emit=c | code | cmp - a.c");
  byoc_test_shell(0, "byoc build model.byoc --target 'dnnl; cblas; c' --plan collage --cost estimate -o c.so && "
                     "byoc run c.so --random --expect y=y.npy --expect z=z.npy");
}

// cutlass reads and writes blocks itself, depthwise convolutions included; the last result leaves it plain.
static void test_cutlass_computes_in_blocks(void **state) {
  (void)state;
  static const char module[] =
      "module {\\n"
      "  constant @a : f32[32,3,3,3] = splat 0.02\\n"
      "  constant @d : f32[32,1,3,3] = splat 0.1\\n"
      "  constant @c : f32[32,32,1,1] = splat 0.03\\n"
      "  func @main(%%x : f32[1,3,14,14]) -> (%%y : f32[1,32,7,7]) {\\n"
      "    %%0 = Conv@11(%%x, @a) {pads = [1, 1, 1, 1]} : f32[1,32,14,14]\\n"
      "    %%1 = Conv@11(%%0, @d) {pads = [1, 1, 1, 1], strides = [2, 2], group = 32} : f32[1,32,7,7]\\n"
      "    %%2 = Relu@14(%%1) : f32[1,32,7,7]\\n"
      "    %%y = Conv@11(%%2, @c) : f32[1,32,7,7]\\n"
      "    return %%y\\n  }\\n}\\n";
  byoc_test_shell(0, "printf '%s' > depth.byoc", module);
  byoc_test_shell(0, "byoc build depth.byoc --target 'cutlass; c' --plan greedy --emit ir | grep 'func @cutlass'");
  byoc_test_printed("-> (f32[1,2,14,14,16])");
  byoc_test_printed(": f32[1,2,14,14,16]) -> (f32[1,2,7,7,16])");
  byoc_test_printed(": f32[1,2,7,7,16]) -> (%y : f32[1,32,7,7])");
  byoc_test_shell(0, "byoc build depth.byoc --target 'cutlass; c' --plan greedy");
  byoc_test_printed("cutlass 4 operators in 3 regions, c 0 operators\n"); // changes of layout are no operators
  byoc_test_shell(0, "mkdir plain && byoc run depth.byoc --random --target c --output-dir plain && "
                     "byoc run depth.byoc --random --plan greedy --target 'cutlass; c' --expect y=plain/y.npy");
}

// The number of pictures may be open, and 0. Plans of open shapes cannot be timed; layouts are taken all the same.
static void test_batches_may_be_open(void **state) {
  (void)state;
  byoc_test_shell(0, "sed 's/\\[1,\\([0-9]*,[0-9]*,[0-9]*\\]\\)/[N,\\1/g' model.byoc > open.byoc && "
                     "grep -c 'f32.N,32,14,14' open.byoc && byoc build open.byoc --target c -o c.so");
  static const char *const plans[] = {"greedy", "collage --cost-budget 2"};
  for (size_t p = 0; p < sizeof(plans) / sizeof(plans[0]); ++p) {
    byoc_test_shell(0, "byoc build open.byoc --target 'cutlass; c' --plan %s --emit ir", plans[p]);
    byoc_test_printed("-> (f32[N,2,14,14,16])");
  }
  static const char *const targets[] = {"dnnl", "cutlass; c", "cutlass; dnnl; c"};
  for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); ++t) {
    byoc_test_shell(0, "byoc build open.byoc --target '%s' --plan greedy -o open.so", targets[t]);
    for (int n = 0; n <= 3; ++n) {
      byoc_test_shell(0,
                      "mkdir -p n%d && byoc run c.so --random --dim N=%d --output-dir n%d && "
                      "byoc run open.so --random --dim N=%d --expect y=n%d/y.npy --expect z=n%d/z.npy",
                      n, n, n, n, n, n);
    }
  }
}

static void test_targets_without_layouts_see_none(void **state) {
  (void)state;
  static const char *const targets[] = {"c", "cblas; c"};
  for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); ++t) {
    byoc_test_shell(
        0,
        BYOC_TEST_SAME
        "byoc build model.byoc --target '%s' -o blocked.so >/dev/null && byoc build model.byoc --target "
        "'%s' --layout=plain -o plain.so >/dev/null && same blocked.so plain.so && "
        "byoc build model.byoc --target '%s' --emit=c | code >blocked.c && byoc build model.byoc --target '%s' "
        "--layout=plain --emit=c | code | cmp - blocked.c",
        targets[t], targets[t], targets[t], targets[t]);
  }
  byoc_test_shell(2, "byoc build model.byoc --layout=round -o a.so");
  byoc_test_printed("--layout takes blocked or plain, not 'round'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layouts_change_no_result),         cmocka_unit_test(test_layouts_are_part_of_plans),
      cmocka_unit_test(test_cutlass_computes_in_blocks),       cmocka_unit_test(test_batches_may_be_open),
      cmocka_unit_test(test_targets_without_layouts_see_none),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
