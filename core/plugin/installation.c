// SPDX-License-Identifier: Apache-2.0
// Finds files of an installation from the path of the program or the library with this code.
#define _GNU_SOURCE
#include "core/plugin/installation.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"

static const char here; // in the file that holds this code

// That file: a library, or the program. False if it cannot be found.
static bool find_self(char path[PATH_MAX], bool *out_is_library) {
  *out_is_library = false;
  Dl_info info;
  struct link_map *map = NULL;
  const bool is_known = dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL;
  if (is_known && map->l_name != NULL && map->l_name[0] != '\0') { // a program has no name there
    *out_is_library = true;
    return realpath(map->l_name, path) != NULL;
  }
  const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  path[size > 0 ? size : 0] = '\0';
  return size > 0;
}

byoc_status_t byoc_installation_find(const char *name, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path) {
  enum { FOLDER_COUNT = 2 };
  static const char *const of_programs[FOLDER_COUNT] = {"../lib/byoc", ".."};
  static const char *const of_libraries[FOLDER_COUNT] = {"byoc", ".."};
  *out_path = NULL;
  char self[PATH_MAX];
  bool is_library = false;
  if (!find_self(self, &is_library)) return BYOC_OK;
  const char *const *folders = is_library ? of_libraries : of_programs;
  char *directory = byoc_path_directory(allocator, self);
  bool has_memory = directory != NULL;
  for (size_t i = 0; has_memory && *out_path == NULL && i < FOLDER_COUNT; ++i) {
    char candidate[PATH_MAX + 64], resolved[PATH_MAX];
    const int length = snprintf(candidate, sizeof(candidate), "%s/%s/%s", directory, folders[i], name);
    if (length >= (int)sizeof(candidate) || realpath(candidate, resolved) == NULL) continue;
    *out_path = byoc_copy_string(allocator, resolved);
    has_memory = *out_path != NULL;
  }
  byoc_free(allocator, directory);
  return has_memory ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
