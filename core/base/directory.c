// SPDX-License-Identifier: Apache-2.0
// Lists and removes folders, and makes temporary ones.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/remove.h"
#include "core/base/system_error.h"
#include "core/base/temporary.h"
#include "core/base/vector.h"

static bool is_dot(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void byoc_free_names(byoc_allocator_t allocator, char **names, size_t count) {
  if (names == NULL) return;
  for (size_t i = 0; i < count; i++) byoc_free(allocator, names[i]);
  byoc_free(allocator, names);
}

byoc_status_t byoc_list_directory(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char ***out_names,
                                  size_t *out_count) {
  *out_names = NULL;
  *out_count = 0;
  DIR *folder = opendir(path);
  if (folder == NULL) return byoc_diag_system_error(diag, errno, "list the folder", path);
  BYOC_VECTOR(char *) names = {0};
  byoc_status_t status = BYOC_OK;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(folder);
    if (entry == NULL) {
      if (errno != 0) status = byoc_diag_system_error(diag, errno, "list the folder", path);
      break;
    }
    if (is_dot(entry->d_name)) continue;
    char *name = byoc_copy_string(allocator, entry->d_name);
    if (name == NULL || !byoc_vector_push(&names, allocator, name)) {
      byoc_free(allocator, name);
      status = byoc_diag_out_of_memory(diag);
      break;
    }
  }
  closedir(folder);
  if (status == BYOC_OK) {
    if (names.count > 0) qsort(names.data, names.count, sizeof(*names.data), compare_names);
    *out_names = names.data;
    *out_count = names.count;
  } else {
    byoc_free_names(allocator, names.data, names.count);
  }
  return status;
}

byoc_status_t byoc_remove_tree(const char *path, byoc_diag_t *diag) {
  int error = byoc_remove_entry(path);
  if (error == 0) byoc_temporary_forget(path); // otherwise it is tried again when the process ends
  return error == 0 ? BYOC_OK : byoc_diag_system_error(diag, error, "remove", path);
}

static int make_folder(void *path) {
  return mkdtemp(path) != NULL ? 0 : -1;
}

byoc_status_t byoc_make_temporary_directory(const char *prefix, byoc_allocator_t allocator, byoc_diag_t *diag,
                                            char **out_path) {
  *out_path = NULL;
  const char *parent = getenv("TMPDIR");
  if (parent == NULL || parent[0] == '\0') parent = "/tmp";
  byoc_temporary_sweep(parent);
  size_t size = strlen(parent) + strlen(prefix) + sizeof("/" BYOC_TEMPORARY_MARK "-XXXXXX") + 20;
  char *path = byoc_allocate(allocator, size, 1);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  snprintf(path, size, "%s/%s" BYOC_TEMPORARY_MARK "%ld-XXXXXX", parent, prefix, (long)getpid());
  if (byoc_temporary_make(make_folder, path, path) != 0) {
    byoc_status_t status = byoc_diag_system_error(diag, errno, "make a temporary folder in", parent);
    byoc_diag_hint(diag, "name a folder that can be written to in TMPDIR");
    byoc_free(allocator, path);
    return status;
  }
  *out_path = path;
  return BYOC_OK;
}
