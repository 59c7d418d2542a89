// SPDX-License-Identifier: Apache-2.0
// Modules as text (core/ir/module_text.h): what parses prints stably and parses again.
#include <stdlib.h>

#include "core/ir/module_text.h"
#include "tests/fuzz/fuzz.h"

static void check_again(const byoc_graph_module_t *module) {
  const byoc_print_options_t options = {0};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *again = NULL;
  byoc_string_t first, second;
  byoc_string_init(&first, fuzz_allocator());
  byoc_string_init(&second, fuzz_allocator());
  byoc_graph_print(module, &options, &first);
  byoc_status_t status = first.failed ? BYOC_OUT_OF_MEMORY : BYOC_OK;
  if (status == BYOC_OK) {
    status = byoc_graph_parse(first.data, "printed", fuzz_allocator(), &diag, &again);
    fuzz_check_ok(status, &diag, first.data);
  }
  if (status == BYOC_OK) {
    byoc_graph_print(again, &options, &second);
    fuzz_check_same(&first, &second, "the printed module");
    byoc_graph_module_destroy(again);
  }
  byoc_string_deinit(&second);
  byoc_string_deinit(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  char *text = fuzz_text(data, size);
  byoc_status_t status = byoc_graph_parse(text, "fuzz.byoc", fuzz_allocator(), &diag, &module);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) check_again(module);
  if (status == BYOC_OK) byoc_graph_module_destroy(module);
  free(text);
  return 0;
}
