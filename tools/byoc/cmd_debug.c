// SPDX-License-Identifier: Apache-2.0
// byoc debug: finds where a result goes wrong.
#include <string.h>

#include "command.h"
#include "debug.h"

typedef struct action_t {
  const char *name;
  int (*run)(int argc, char **argv);
} action_t;

// ---- the actions ----

static const action_t actions[] = {{"diff", byoc_main_debug_diff}, {"bisect", byoc_main_debug_bisect}};
enum { ACTION_COUNT = sizeof(actions) / sizeof(actions[0]) };

static int refuse(const char *name) {
  byoc_diag_t diag = {0};
  const char *names[ACTION_COUNT];
  for (size_t i = 0; i < ACTION_COUNT; ++i) names[i] = actions[i].name;
  const char *nearest = byoc_nearest_match(name, names, ACTION_COUNT);
  byoc_status_t status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "there is no 'byoc debug %s'", name);
  if (nearest != NULL) {
    byoc_diag_hint(&diag, "did you mean 'byoc debug %s'?", nearest);
  } else {
    byoc_diag_hint(&diag, "byoc debug --help lists what there is");
  }
  return byoc_report(&diag, status);
}

int byoc_main_debug(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < ACTION_COUNT; ++i) {
    if (strcmp(argv[1], actions[i].name) == 0) return actions[i].run(argc - 1, argv + 1);
  }
  static const char *const operands[] = {"what to do: diff A B, or bisect MODEL", NULL};
  const byoc_usage_t usage = {
      .command = "byoc debug",
      .synopsis = "diff A B | bisect MODEL --target TARGETS",
      .summary = "find where a result goes wrong",
      .operands = operands,
      .more = "diff compares what two runs made, instruction by instruction. bisect builds a model with fewer and "
              "fewer of\n"
              "its regions on their targets, until only those are left that make its outputs differ from a reference.\n"
              "byoc debug diff --help and byoc debug bisect --help say more.\n"
              "\n"
              "  byoc run model.onnx --input x=x.npy --target 'c -fuse=0' --dump all=good\n"
              "  byoc run model.onnx --input x=x.npy --target cutlass --dump all=bad\n"
              "  byoc debug diff good bad --rtol 1e-3 --atol 1e-4\n",
  };
  byoc_diag_t diag = {0};
  bool done = false;
  const char *action = NULL;
  if (argc > 1 && argv[1][0] != '-') return refuse(argv[1]);
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &action, &done);
  return status == BYOC_OK && done ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
