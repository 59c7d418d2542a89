// The metadata of artifacts (core/compose/module_tree.h): the tree of modules is read back.
#include <stdlib.h>

#include "core/compose/module_tree.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_module_tree_t tree = {0};
  char *text = fuzz_text(data, size);
  byoc_status_t status = byoc_module_tree_read(text, fuzz_allocator(), &diag, &tree);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) {
    byoc_string_t lines;
    byoc_string_init(&lines, fuzz_allocator());
    byoc_module_tree_print(&tree, &lines);
    byoc_string_deinit(&lines);
    byoc_module_tree_deinit(&tree);
  }
  free(text);
  return 0;
}
