// SPDX-License-Identifier: Apache-2.0
// Host programs as text (core/hostir/text/program_text.h): one that is accepted is planned or verified, prints a text
// that parses back, and becomes C. It is not run, because its kernels may do anything.
#include <string.h>

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
  static const char begin[] = "host program ";
  if (size < strlen(begin) || memcmp(data, begin, strlen(begin)) != 0) return 0; // another form
  byoc_diag_t diag = {0};
  const byoc_build_options_t options = {.targets = targets};
  byoc_build_t build;
  byoc_build_init(&build, &options, fuzz_allocator());
  byoc_status_t status = byoc_build_read(&build, fuzz_file(data, size), NULL, &diag);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) (void)fuzz_compile(&build);
  byoc_build_deinit(&build);
  return 0;
}
