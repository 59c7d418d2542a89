// SPDX-License-Identifier: Apache-2.0
// Compiles a model with libbyoc, as a program of its own would: it shows progress on one line, prints what the compiler
// says with its hints, and Ctrl-C ends the build. usage: compile MODEL.onnx OUT.so [TARGET...]
#include <signal.h>
#include <stdio.h>

#include "byoc/compiler.h"

static byoc_compiler_t *compiler;

static void cancel(int number) {
  (void)number;
  byoc_compiler_cancel(compiler);
}

static int32_t show_progress(void *self, const byoc_compiler_progress_t *progress) {
  FILE *stream = self;
  fprintf(stream, "\r\033[K%s %s %s", progress->step, progress->title, progress->detail);
  fflush(stream);
  return 0; // anything else would cancel the build
}

static void print(const byoc_compiler_result_t *result) {
  static const char *const severities[] = {"", "error", "warning", "note"};
  for (uint64_t i = 0; result != NULL && i < result->diagnostic_count; ++i) {
    const byoc_compiler_diagnostic_t *said = result->diagnostics[i];
    fprintf(stderr, "%s: %s%s%s\n", severities[said->severity], said->context, said->context[0] != '\0' ? ": " : "",
            said->message);
    if (said->hint[0] != '\0') fprintf(stderr, "hint: %s\n", said->hint);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: compile MODEL.onnx OUT.so [TARGET...]\n");
    return 2;
  }
  const byoc_compiler_result_t *result = NULL;
  int32_t status = byoc_compiler_create(NULL, &compiler, &result);
  print(result);
  byoc_compiler_result_destroy(result);
  if (status != BYOC_OK) return 1;
  signal(SIGINT, cancel);

  const byoc_compiler_build_t build = {
      .struct_size = sizeof(build),
      .model_path = argv[1],
      .output = argv[2],
      .targets = (const char *const *)(argv + 3), // none: the best that are installed
      .target_count = (uint64_t)(argc - 3),
      .plan = "greedy",
      .self = stderr,
      .progress = show_progress,
  };
  status = byoc_compiler_build(compiler, &build, &result);
  fprintf(stderr, "\r\033[K");
  print(result);
  if (status == BYOC_OK) printf("byoc %s made %s: %s\n", byoc_compiler_version(), argv[2], result->placement);
  byoc_compiler_result_destroy(result);
  byoc_compiler_destroy(compiler);
  return status == BYOC_OK ? 0 : 1;
}
