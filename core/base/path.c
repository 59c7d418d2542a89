// SPDX-License-Identifier: Apache-2.0
// Joins and splits paths, and makes their folders.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/system_error.h"

char *byoc_path_join(byoc_allocator_t allocator, const char *folder, const char *name) {
  size_t folder_size = strlen(folder);
  size_t name_size = strlen(name);
  bool slash = folder_size > 0 && folder[folder_size - 1] != '/';
  char *path = byoc_allocate(allocator, folder_size + name_size + 2, 1);
  if (path == NULL) return NULL;
  memcpy(path, folder, folder_size);
  if (slash) path[folder_size++] = '/';
  memcpy(path + folder_size, name, name_size + 1);
  return path;
}

const char *byoc_path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

char *byoc_path_directory(byoc_allocator_t allocator, const char *path) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return byoc_copy_string(allocator, ".");
  size_t size = slash == path ? 1 : (size_t)(slash - path);
  char *directory = byoc_allocate(allocator, size + 1, 1);
  if (directory != NULL) memcpy(directory, path, size);
  return directory;
}

bool byoc_file_exists(const char *path) {
  return access(path, F_OK) == 0;
}

bool byoc_is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static byoc_status_t make_directory(const char *path, mode_t mode, byoc_diag_t *diag) {
  if (mkdir(path, mode) == 0) return BYOC_OK;
  int error = errno;
  // On a read-only file system mkdir fails with EROFS or EACCES even for folders that exist.
  if (byoc_is_directory(path)) return BYOC_OK;
  if (error == EEXIST) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "cannot make the folder '%s': there is a file of that name",
                           path);
  }
  return byoc_diag_system_error(diag, error, "make the folder", path);
}

static byoc_status_t make_directories(const char *path, mode_t mode, byoc_diag_t *diag) {
  char *copy = byoc_copy_string(byoc_allocator_system(), path);
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash != NULL && status == BYOC_OK;
       slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    status = make_directory(copy, mode, diag);
    *slash = '/';
  }
  size_t size = strlen(copy);
  if (status == BYOC_OK && size > 0 && copy[size - 1] != '/') status = make_directory(copy, mode, diag);
  byoc_free(byoc_allocator_system(), copy);
  return status;
}

byoc_status_t byoc_make_directories(const char *path, byoc_diag_t *diag) {
  return make_directories(path, 0777, diag);
}

byoc_status_t byoc_make_private_directories(const char *path, byoc_diag_t *diag) {
  return make_directories(path, 0700, diag);
}
