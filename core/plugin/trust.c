#include "core/plugin/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

// The number that the kernel shows for owners outside of this user namespace.
enum { OVERFLOW_UID = 65534 };

static byoc_status_t check_owner(const struct stat *info, const char *what, const char *path, byoc_diag_t *diag) {
  if (info->st_uid == 0 || info->st_uid == geteuid()) return BYOC_OK;
  byoc_status_t status = byoc_diag_error(diag, BYOC_PERMISSION, "the %s '%s' belongs to another user (%lu)", what, path,
                                         (unsigned long)info->st_uid);
  byoc_diag_hint(diag, "it must belong to root or to the user who runs byoc");
  return status;
}

static byoc_status_t check_mode(const struct stat *info, const char *what, const char *path, byoc_diag_t *diag) {
  if ((info->st_mode & (S_IWGRP | S_IWOTH)) == 0) return BYOC_OK;
  const bool world = (info->st_mode & S_IWOTH) != 0;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_PERMISSION, "the %s '%s' is %s-writable", what, path, world ? "world" : "group");
  byoc_diag_hint(diag, "chmod %s '%s'", world ? "go-w" : "g-w", path);
  return status;
}

// `folder` is a real path and holds the file; everything above it is checked too. The text is cut on the way up.
static byoc_status_t check_folders(char *folder, byoc_diag_t *diag) {
  for (bool direct = true;; direct = false) {
    struct stat info;
    if (stat(folder, &info) != 0) {
      return byoc_diag_error(diag, BYOC_IO, "cannot look at the folder '%s': %s", folder, strerror(errno));
    }
    const bool tolerated = !direct && (info.st_mode & S_ISVTX) != 0;
    if (!tolerated) BYOC_RETURN_IF_ERROR(check_mode(&info, "folder", folder, diag));
    // Who owns the folders above is not to be told from inside a user namespace; they are not writable, at least.
    if (direct || info.st_uid != OVERFLOW_UID) BYOC_RETURN_IF_ERROR(check_owner(&info, "folder", folder, diag));
    char *slash = strrchr(folder, '/');
    if (slash == NULL || (slash == folder && folder[1] == '\0')) return BYOC_OK;
    if (slash == folder) ++slash; // "/"
    *slash = '\0';
  }
}

static const char *kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

// The folder that holds `path`, links followed.
static byoc_status_t check_folders_of(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag) {
  char *folder = byoc_path_directory(allocator, path);
  if (folder == NULL) return byoc_diag_out_of_memory(diag);
  char *real = realpath(folder, NULL);
  byoc_status_t status = BYOC_OK;
  if (real == NULL && errno == ENOMEM)
    status = byoc_diag_out_of_memory(diag);
  else if (real == NULL)
    status = byoc_diag_error(diag, BYOC_IO, "cannot look at '%s': %s", folder, strerror(errno));
  else
    status = check_folders(real, diag);
  free(real);
  byoc_free(allocator, folder);
  return status;
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
    BYOC_RETURN_IF_ERROR(check_owner(&info, "symbolic link", path, diag));
    BYOC_RETURN_IF_ERROR(check_folders_of(path, allocator, diag));
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
    status = check_mode(&info, "file", real, diag);
    if (status == BYOC_OK) status = check_owner(&info, "file", real, diag);
    if (status == BYOC_OK) status = check_folders_of(real, allocator, diag);
  }
  if (status == BYOC_OK) {
    *out_path = byoc_copy_string(allocator, real);
    if (*out_path == NULL) status = byoc_diag_out_of_memory(diag);
  }
  free(real);
  return status;
}
