// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over files and over the files of folders: what a preset without libFuzzer links.
//
//   fuzz_graph FILE|FOLDER ...
//
// Names each file before it is tried, so that the last line says which one ends the program.
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "tests/fuzz/fuzz.h"

// Most targets have none.
#pragma weak LLVMFuzzerInitialize

static size_t count;

static void replay_file(const char *path) {
  char *data = NULL;
  size_t size = 0;
  byoc_diag_t diag = {0};
  fprintf(stderr, "%s\n", path);
  if (byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size) != BYOC_OK) {
    byoc_diag_print(&diag, stderr);
    exit(2);
  }
  // Exactly as long as the file, as libFuzzer gives it.
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) exit(2);
  if (size > 0) memcpy(copy, data, size);
  byoc_free(byoc_allocator_system(), data);
  (void)LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  count += 1;
}

static void replay(const char *path) {
  if (!byoc_is_directory(path)) {
    replay_file(path);
    return;
  }
  char **names = NULL;
  size_t name_count = 0;
  byoc_diag_t diag = {0};
  byoc_allocator_t allocator = byoc_allocator_system();
  if (byoc_list_directory(path, allocator, &diag, &names, &name_count) != BYOC_OK) {
    byoc_diag_print(&diag, stderr);
    exit(2);
  }
  for (size_t i = 0; i < name_count; ++i) {
    char *entry = byoc_path_join(allocator, path, names[i]);
    if (entry == NULL) exit(2);
    replay(entry);
    byoc_free(allocator, entry);
  }
  byoc_free_names(allocator, names, name_count);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s FILE|FOLDER ...\n", argv[0]);
    return 2;
  }
  if (LLVMFuzzerInitialize != NULL && LLVMFuzzerInitialize(&argc, &argv) != 0) return 2;
  for (int i = 1; i < argc; ++i) replay(argv[i]);
  fprintf(stderr, "%zu inputs\n", count);
  return 0;
}
