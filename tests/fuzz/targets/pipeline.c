// SPDX-License-Identifier: Apache-2.0
// The whole pipeline for the target "c": an ONNX model becomes a host program and its C text; small programs of fixed
// shapes are evaluated.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/program.h"

static const byoc_target_list_t *targets;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  targets = fuzz_targets();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  const byoc_build_options_t options = {.targets = targets};
  byoc_build_t build;
  byoc_build_init(&build, &options, fuzz_allocator());
  // What cannot be read is the concern of the target `onnx`.
  byoc_status_t status = byoc_build_read_memory(&build, data, size, "fuzz.onnx", NULL, &diag);
  if (status == BYOC_OK && fuzz_compile(&build)) fuzz_evaluate(&build);
  byoc_build_deinit(&build);
  return 0;
}
