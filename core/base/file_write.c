// Writing files so that they appear whole or not at all.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/system_error.h"
#include "core/base/temporary.h"

static int write_all(int fd, const byoc_bytes_t *parts, size_t part_count) {
  for (size_t i = 0; i < part_count; i++) {
    const char *data = parts[i].data;
    size_t left = parts[i].size_bytes;
    while (left > 0) {
      ssize_t written = write(fd, data, left);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      data += written;
      left -= (size_t)written;
    }
  }
  return 0;
}

// Devices and pipes have nothing to flush.
static int flush(int fd) {
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

static int close_checked(int fd) {
  return close(fd) == 0 || errno == EINTR ? 0 : errno;
}

byoc_status_t byoc_file_write_parts(const char *path, const byoc_bytes_t *parts, size_t part_count, byoc_diag_t *diag) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return byoc_diag_system_error(diag, errno, "write", path);
  struct stat info;
  bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  int error = write_all(fd, parts, part_count);
  int close_error = close_checked(fd);
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
  int error = lseek(fd, (off_t)offset, SEEK_SET) < 0 ? errno : write_all(fd, &part, 1);
  int close_error = close_checked(fd);
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

// A file that is about to appear under its name.
typedef struct pending_t {
  char *path;      // where it goes: the target of a link, so that links stay
  char *temporary; // beside it; NULL while there is none
  int fd;
  mode_t mode; // after the umask
} pending_t;

typedef struct opening_t {
  const char *path;
  mode_t mode;
} opening_t;

// open() rather than mkstemp(), so that the system applies the umask.
static int make_file(void *argument) {
  const opening_t *opening = argument;
  return open(opening->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, opening->mode);
}

static void sweep_folder_of(const char *path) {
  char *folder = byoc_path_directory(byoc_allocator_system(), path);
  if (folder != NULL) byoc_temporary_sweep(folder);
  byoc_free(byoc_allocator_system(), folder);
}

// Opens a temporary file beside `path`. Its name holds the beginning of the file's own.
static int open_temporary(pending_t *pending, const char *path, mode_t mode) {
  enum { NAME_BYTES = 200 };
  static atomic_uint counter;
  size_t size = strlen(path) + 64;
  pending->temporary = malloc(size);
  if (pending->temporary == NULL) return ENOMEM;
  sweep_folder_of(path);
  int directory_size = (int)(byoc_path_base(path) - path);
  for (int attempt = 0; attempt < 1000; attempt++) {
    snprintf(pending->temporary, size, "%.*s.%.*s" BYOC_TEMPORARY_MARK "%ld-%u", directory_size, path, NAME_BYTES,
             path + directory_size, (long)getpid(), atomic_fetch_add(&counter, 1));
    opening_t opening = {.path = pending->temporary, .mode = mode};
    pending->fd = byoc_temporary_make(make_file, &opening, pending->temporary);
    if (pending->fd >= 0 || errno != EEXIST) break;
  }
  int error = pending->fd < 0 ? errno : 0;
  struct stat info;
  if (error == 0 && fstat(pending->fd, &info) != 0) error = errno;
  if (error == 0) pending->mode = info.st_mode & 07777;
  if (pending->fd < 0) {
    free(pending->temporary);
    pending->temporary = NULL;
  }
  return error;
}

static void pending_abandon(pending_t *pending) {
  if (pending->fd >= 0) close(pending->fd);
  if (pending->temporary != NULL) {
    (void)unlink(pending->temporary);
    byoc_temporary_forget(pending->temporary);
  }
  free(pending->temporary);
  free(pending->path);
  *pending = (pending_t){.fd = -1};
}

// Prepares to replace `path`; `out_plain` says to write straight into it.
static byoc_status_t pending_begin(const char *path, unsigned mode, byoc_diag_t *diag, pending_t *pending,
                                   bool *out_plain) {
  *pending = (pending_t){.fd = -1};
  *out_plain = false;
  struct stat info;
  int error = 0;
  if (stat(path, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return byoc_diag_system_error(diag, EISDIR, "write", path);
    *out_plain = !S_ISREG(info.st_mode);
    if (*out_plain) return BYOC_OK;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
      pending->path = realpath(path, NULL);
      if (pending->path == NULL) return byoc_diag_system_error(diag, errno, "write", path);
    }
  }
  if (pending->path == NULL) pending->path = strdup(path);
  if (pending->path == NULL) return byoc_diag_out_of_memory(diag);
  error = open_temporary(pending, pending->path, (mode_t)mode);
  if (error == 0) return BYOC_OK;
  pending_abandon(pending);
  return byoc_diag_system_error(diag, error, "write", path);
}

// Once the folder is on disk too, a rename survives a crash. If that fails, the file is still whole.
static void flush_folder(const char *path) {
  char *folder = byoc_path_directory(byoc_allocator_system(), path);
  int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
  byoc_free(byoc_allocator_system(), folder);
}

// Fills the temporary file and puts it into place.
static int pending_commit(pending_t *pending, const byoc_bytes_t *parts, size_t part_count) {
  int error = write_all(pending->fd, parts, part_count);
  if (error == 0) error = flush(pending->fd);
  int close_error = close_checked(pending->fd);
  pending->fd = -1;
  if (error == 0) error = close_error;
  if (error == 0 && rename(pending->temporary, pending->path) != 0) error = errno;
  if (error != 0) return error;
  byoc_temporary_forget(pending->temporary);
  free(pending->temporary);
  pending->temporary = NULL;
  flush_folder(pending->path);
  return 0;
}

byoc_status_t byoc_file_write_atomic_parts(const char *path, const byoc_bytes_t *parts, size_t part_count,
                                           unsigned mode, byoc_diag_t *diag) {
  pending_t pending;
  bool plain = false;
  BYOC_RETURN_IF_ERROR(pending_begin(path, mode, diag, &pending, &plain));
  if (plain) return byoc_file_write_parts(path, parts, part_count, diag);
  int error = pending_commit(&pending, parts, part_count);
  pending_abandon(&pending);
  return error == 0 ? BYOC_OK : byoc_diag_system_error(diag, error, "write", path);
}

byoc_status_t byoc_file_write_atomic(const char *path, const void *data, size_t size_bytes, unsigned mode,
                                     byoc_diag_t *diag) {
  return byoc_file_write_atomic_parts(path, &(byoc_bytes_t){.data = data, .size_bytes = size_bytes}, 1, mode, diag);
}

// Moves `from` over the pending path; EXDEV if they are on different file systems.
static int move_over(const pending_t *pending, const char *from) {
  int fd = open(from, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = 0;
  if (fchmod(fd, pending->mode) != 0) error = errno;
  if (error == 0) error = flush(fd);
  close(fd);
  if (error == 0 && rename(from, pending->path) != 0) error = errno;
  if (error == 0) flush_folder(pending->path);
  return error;
}

byoc_status_t byoc_file_install(const char *from, const char *to, unsigned mode, byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(from, diag, &view));
  byoc_bytes_t bytes = {.data = view.data, .size_bytes = view.size_bytes};
  pending_t pending;
  bool plain = false;
  byoc_status_t status = pending_begin(to, mode, diag, &pending, &plain);
  if (status == BYOC_OK && plain) {
    status = byoc_file_write_parts(to, &bytes, 1, diag);
  } else if (status == BYOC_OK) {
    int error = move_over(&pending, from);
    // Another file system, or a file that is not ours to change: copy.
    if (error == EXDEV || error == EPERM || error == EACCES) error = pending_commit(&pending, &bytes, 1);
    if (error != 0) status = byoc_diag_system_error(diag, error, "write", to);
  }
  pending_abandon(&pending);
  byoc_file_view_close(&view);
  return status;
}
