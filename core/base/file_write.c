// SPDX-License-Identifier: Apache-2.0
// Writes files in place, and one file so that it appears whole or not at all.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/file_set.h"
#include "core/base/system_error.h"
#include "core/base/write_all.h"

byoc_status_t byoc_file_write_parts(const char *path, const byoc_bytes_t *parts, size_t part_count, byoc_diag_t *diag) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return byoc_diag_system_error(diag, errno, "write", path);
  struct stat info;
  bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  int error = byoc_write_all(fd, parts, part_count);
  int close_error = byoc_close_checked(fd);
  if (error == 0) error = close_error;
  if (error == 0) return BYOC_OK;
  if (regular) (void)unlink(path);
  return byoc_diag_system_error(diag, error, "write", path);
}

byoc_status_t byoc_file_write(const char *path, const void *data, size_t size_bytes, byoc_diag_t *diag) {
  return byoc_file_write_parts(path, &(byoc_bytes_t){.data = data, .size_bytes = size_bytes}, 1, diag);
}

byoc_status_t byoc_file_change(const char *path, size_t offset, const void *data, size_t size_bytes,
                               byoc_diag_t *diag) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return byoc_diag_system_error(diag, errno, "write", path);
  const byoc_bytes_t part = {.data = data, .size_bytes = size_bytes};
  int error = lseek(fd, (off_t)offset, SEEK_SET) < 0 ? errno : byoc_write_all(fd, &part, 1);
  int close_error = byoc_close_checked(fd);
  if (error == 0) error = close_error;
  return error == 0 ? BYOC_OK : byoc_diag_system_error(diag, error, "write", path);
}

bool byoc_file_is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static byoc_status_t check_folder(const char *path, const char *folder, byoc_diag_t *diag) {
  if (!byoc_is_directory(folder)) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_NOT_FOUND, "cannot write '%s': the folder '%s' does not exist", path, folder);
    byoc_diag_hint(diag, "make the folder first");
    return status;
  }
  if (access(folder, W_OK | X_OK) == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_PERMISSION, "cannot write '%s': the folder '%s': %s", path, folder,
                         strerror(errno));
}

byoc_status_t byoc_file_check_place(const char *path, byoc_diag_t *diag) {
  if (path == NULL || path[0] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the output's name is empty");
  }
  if (strcmp(path, "-") == 0) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'-' is no file, and this goes into a file only");
    byoc_diag_hint(diag, "name a file; one that is called - is ./-");
    return status;
  }
  if (byoc_is_directory(path)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the output '%s' is a folder", path);
  }
  if (byoc_file_is_special(path)) return BYOC_OK;
  char *folder = byoc_path_directory(byoc_allocator_system(), path);
  if (folder == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = check_folder(path, folder, diag);
  byoc_free(byoc_allocator_system(), folder);
  return status;
}

byoc_status_t byoc_file_write_atomic_parts(const char *path, const byoc_bytes_t *parts, size_t part_count,
                                           unsigned mode, byoc_diag_t *diag) {
  byoc_file_set_t file = {0};
  byoc_status_t status = byoc_file_set_add(&file, path, parts, part_count, mode, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(&file, diag);
  byoc_file_set_abandon(&file);
  return status;
}

byoc_status_t byoc_file_write_atomic(const char *path, const void *data, size_t size_bytes, unsigned mode,
                                     byoc_diag_t *diag) {
  return byoc_file_write_atomic_parts(path, &(byoc_bytes_t){.data = data, .size_bytes = size_bytes}, 1, mode, diag);
}

byoc_status_t byoc_file_install(const char *from, const char *to, unsigned mode, byoc_diag_t *diag) {
  byoc_file_set_t file = {0};
  byoc_status_t status = byoc_file_set_add_file(&file, from, to, mode, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(&file, diag);
  byoc_file_set_abandon(&file);
  return status;
}
