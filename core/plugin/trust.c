// SPDX-License-Identifier: Apache-2.0
// Decides whether code may be loaded from a file, by the owners and permissions on the way to it.
#include "core/plugin/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/trust.h"

static const char *kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

static byoc_status_t unresolved(const char *path, bool is_link, int error, byoc_diag_t *diag) {
  if (error == ENOMEM) return byoc_diag_out_of_memory(diag);
  if (error == ELOOP) return byoc_diag_error(diag, BYOC_INVALID_DATA, "its symbolic links lead in a circle");
  if (error == ENOENT && is_link) return byoc_diag_error(diag, BYOC_NOT_FOUND, "it is a symbolic link to nothing");
  if (error == ENOENT) return byoc_diag_error(diag, BYOC_NOT_FOUND, "there is no such file");
  return byoc_diag_error(diag, error == EACCES ? BYOC_PERMISSION : BYOC_IO, "cannot look at '%s': %s", path,
                         strerror(error));
}

byoc_status_t byoc_plugin_check_trust(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path,
                                      bool *out_is_file) {
  *out_path = NULL;
  *out_is_file = false;
  struct stat info;
  if (lstat(path, &info) != 0) return unresolved(path, false, errno, diag);
  const bool is_link = S_ISLNK(info.st_mode);
  if (is_link) {
    BYOC_RETURN_IF_ERROR(byoc_trust_owner(&info, "symbolic link", path, diag));
    BYOC_RETURN_IF_ERROR(byoc_trust_folder_of(path, allocator, diag));
  }
  char *real = realpath(path, NULL);
  if (real == NULL) return unresolved(path, is_link, errno, diag);
  byoc_status_t status = BYOC_OK;
  if (stat(real, &info) != 0) {
    status = unresolved(real, false, errno, diag);
  } else if (!S_ISREG(info.st_mode)) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "it is %s%s", is_link ? "a symbolic link to " : "",
                             kind_of(info.st_mode));
  } else {
    *out_is_file = true;
    status = byoc_trust_mode(&info, "file", real, diag);
    if (status == BYOC_OK) status = byoc_trust_owner(&info, "file", real, diag);
    if (status == BYOC_OK) status = byoc_trust_folder_of(real, allocator, diag);
  }
  if (status == BYOC_OK) {
    *out_path = byoc_copy_string(allocator, real);
    if (*out_path == NULL) status = byoc_diag_out_of_memory(diag);
  }
  free(real);
  return status;
}
