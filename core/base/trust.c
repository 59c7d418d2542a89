// SPDX-License-Identifier: Apache-2.0
// Checks owners and modes of files and of the folders above them.
#include "core/base/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/system_error.h"

// The number that the kernel shows for owners outside this user namespace.
enum { OVERFLOW_UID = 65534 };

byoc_status_t byoc_trust_owner(const struct stat *info, const char *what, const char *path, byoc_diag_t *diag) {
  if (info->st_uid == 0 || info->st_uid == geteuid()) return BYOC_OK;
  byoc_status_t status = byoc_diag_error(diag, BYOC_PERMISSION, "the %s '%s' belongs to another user (%lu)", what, path,
                                         (unsigned long)info->st_uid);
  byoc_diag_hint(diag, "it must belong to root or to the user who runs byoc");
  return status;
}

byoc_status_t byoc_trust_mode(const struct stat *info, const char *what, const char *path, byoc_diag_t *diag) {
  if ((info->st_mode & (S_IWGRP | S_IWOTH)) == 0) return BYOC_OK;
  const bool world = (info->st_mode & S_IWOTH) != 0;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_PERMISSION, "the %s '%s' is %s-writable", what, path, world ? "world" : "group");
  byoc_diag_hint(diag, "chmod %s '%s'", world ? "go-w" : "g-w", path);
  return status;
}

// Checks `folder`, a real path, and all folders above it. The string is shortened on the way up.
static byoc_status_t check_folders(char *folder, byoc_diag_t *diag) {
  for (bool direct = true;; direct = false) {
    struct stat info;
    if (stat(folder, &info) != 0) {
      return byoc_diag_error(diag, BYOC_IO, "cannot inspect the folder '%s': %s", folder, strerror(errno));
    }
    const bool tolerated = !direct && (info.st_mode & S_ISVTX) != 0;
    if (!tolerated) BYOC_RETURN_IF_ERROR(byoc_trust_mode(&info, "folder", folder, diag));
    // Inside a user namespace the owners of the folders above are unknown: they are trusted if this user cannot write
    // to them.
    if (direct || info.st_uid != OVERFLOW_UID) BYOC_RETURN_IF_ERROR(byoc_trust_owner(&info, "folder", folder, diag));
    char *slash = strrchr(folder, '/');
    if (slash == NULL || (slash == folder && folder[1] == '\0')) return BYOC_OK;
    if (slash == folder) ++slash; // "/"
    *slash = '\0';
  }
}

byoc_status_t byoc_trust_folder(const char *folder, byoc_diag_t *diag) {
  char *real = realpath(folder, NULL);
  if (real == NULL && errno == ENOMEM) return byoc_diag_out_of_memory(diag);
  if (real == NULL) return byoc_diag_error(diag, BYOC_IO, "cannot inspect '%s': %s", folder, strerror(errno));
  byoc_status_t status = check_folders(real, diag);
  free(real);
  return status;
}

byoc_status_t byoc_trust_folder_of(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag) {
  char *folder = byoc_path_directory(allocator, path);
  if (folder == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_trust_folder(folder, diag);
  byoc_free(allocator, folder);
  return status;
}

byoc_status_t byoc_trust_file(const char *path, byoc_diag_t *diag) {
  struct stat info;
  if (lstat(path, &info) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? BYOC_NOT_FOUND : byoc_diag_system_error(diag, errno, "inspect", path);
  }
  if (!S_ISREG(info.st_mode)) return byoc_diag_error(diag, BYOC_PERMISSION, "'%s' is not a regular file", path);
  BYOC_RETURN_IF_ERROR(byoc_trust_owner(&info, "file", path, diag));
  BYOC_RETURN_IF_ERROR(byoc_trust_mode(&info, "file", path, diag));
  return byoc_trust_folder_of(path, byoc_allocator_system(), diag);
}
