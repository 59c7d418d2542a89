// Finds what is installed beside the program that runs.
#include "core/plugin/installation.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"

byoc_status_t byoc_installation_find(const char *name, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path) {
  static const char *const folders[] = {"../lib/byoc", ".."};
  *out_path = NULL;
  char program[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (size <= 0) return BYOC_OK;
  program[size] = '\0';
  char *directory = byoc_path_directory(allocator, program);
  bool has_memory = directory != NULL;
  for (size_t i = 0; has_memory && *out_path == NULL && i < sizeof(folders) / sizeof(folders[0]); ++i) {
    char candidate[PATH_MAX + 64], resolved[PATH_MAX];
    const int length = snprintf(candidate, sizeof(candidate), "%s/%s/%s", directory, folders[i], name);
    if (length >= (int)sizeof(candidate) || realpath(candidate, resolved) == NULL) continue;
    *out_path = byoc_copy_string(allocator, resolved);
    has_memory = *out_path != NULL;
  }
  byoc_free(allocator, directory);
  return has_memory ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
