// SPDX-License-Identifier: Apache-2.0
// byoc debug: finds where a result goes wrong.
#include "action.h"
#include "command.h"
#include "debug.h"

int byoc_main_debug(int argc, char **argv) {
  static const byoc_action_t actions[] = {{"diff", byoc_main_debug_diff}, {"bisect", byoc_main_debug_bisect}};
  static const char *const operands[] = {"an action: diff A B, or bisect MODEL", NULL};
  const byoc_usage_t usage = {
      .command = "byoc debug",
      .synopsis = "diff A B | bisect MODEL --target TARGETS",
      .summary = "find where a result goes wrong",
      .operands = operands,
      .more =
          "diff compares the results of two runs, instruction by instruction. bisect builds a model with fewer and\n"
          "fewer of its regions on their targets, until the rest makes the outputs differ from a reference.\n"
          "byoc debug diff --help and byoc debug bisect --help describe them.\n"
          "\n"
          "  byoc run model.onnx --input x=x.npy --target 'c -fuse=0' --dump all=good\n"
          "  byoc run model.onnx --input x=x.npy --target cutlass --dump all=bad\n"
          "  byoc debug diff good bad --rtol 1e-3 --atol 1e-4\n",
  };
  return byoc_action_run(&usage, actions, sizeof(actions) / sizeof(actions[0]), argc, argv);
}
