// byoc debug: finds where a result goes wrong.
#include <string.h>

#include "command.h"
#include "debug.h"

typedef struct action_t {
  const char *name;
  int (*run)(int argc, char **argv);
} action_t;

// ---- diff ----

static byoc_status_t diff(const char *const *paths, const byoc_debug_tolerance_t *tolerance, byoc_diag_t *diag,
                          bool *out_differs) {
  byoc_trace_t traces[2] = {{.path = NULL}, {.path = NULL}};
  byoc_status_t status = byoc_trace_read(paths[0], diag, &traces[0]);
  if (status == BYOC_OK) status = byoc_trace_read(paths[1], diag, &traces[1]);
  if (status == BYOC_OK) status = byoc_debug_compare(&traces[0], &traces[1], tolerance, diag, out_differs);
  byoc_trace_deinit(&traces[0]);
  byoc_trace_deinit(&traces[1]);
  return status;
}

static int main_diff(int argc, char **argv) {
  enum { NOT_GIVEN = -1 };
  byoc_debug_tolerance_t tolerance = {.rtol = NOT_GIVEN, .atol = NOT_GIVEN};
  const byoc_option_row_t rows[] = {
      {"rtol", 0, BYOC_OPT_NUMBER, &tolerance.rtol, "X", "relative tolerance (default: 0, and bit by bit)"},
      {"atol", 0, BYOC_OPT_NUMBER, &tolerance.atol, "X", "absolute tolerance (default: 0, and bit by bit)"},
  };
  static const char *const operands[] = {"a trace, or a folder of .npy files",
                                         "a second trace or folder, to compare the first one with", NULL};
  const byoc_usage_t usage = {
      .command = "byoc debug diff",
      .synopsis = "A B [--rtol X] [--atol X]",
      .summary = "find the first instruction that made something else",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "A and B are files of byoc run --trace, folders of byoc run --dump all=FOLDER, or folders of .npy files\n"
          "from elsewhere, each named by its tensor ('/' and ':' as '_'). Tensors are matched by name, in the order\n"
          "of the run; what only one of them has is left out. Tolerances need values, as folders have them.\n"
          "Exit codes: 0 nothing differs; 1 something does.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false, differs = false;
  const char *paths[2] = {NULL, NULL};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, paths, &done);
  tolerance.is_exact = tolerance.rtol < 0 && tolerance.atol < 0;
  if (tolerance.rtol < 0) tolerance.rtol = 0;
  if (tolerance.atol < 0) tolerance.atol = 0;
  if (status == BYOC_OK && !done) {
    status = diff(paths, &tolerance, &diag, &differs);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "comparing %s with %s", paths[0], paths[1]);
  }
  if (status != BYOC_OK) return byoc_report(&diag, status);
  return differs ? BYOC_EXIT_FAILED : BYOC_EXIT_OK;
}

// ---- the actions ----

static const action_t actions[] = {{"diff", main_diff}};
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
  static const char *const operands[] = {"what to do: diff A B", NULL};
  const byoc_usage_t usage = {
      .command = "byoc debug",
      .synopsis = "diff A B",
      .summary = "find where a result goes wrong",
      .operands = operands,
      .more = "byoc debug diff compares what two runs made, instruction by instruction; each has a --help of its own.\n"
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
