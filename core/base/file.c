// SPDX-License-Identifier: Apache-2.0
// Reads files whole, or maps them, also beneath a folder that they must not leave.
#define _GNU_SOURCE
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/beneath.h"
#include "core/base/system_error.h"

// `owned` of a view points here if its bytes are mapped; otherwise it is memory of the system allocator.
static char mapped;
// The bytes of an empty file.
static const uint8_t nothing[1];

// Reads all bytes from `fd` and adds a NUL. `expected` is a guess of the size.
static byoc_status_t read_all(int fd, const char *path, size_t expected, byoc_allocator_t allocator, byoc_diag_t *diag,
                              char **out_data, size_t *out_size_bytes) {
  size_t capacity = 0;
  size_t used = 0;
  if (!byoc_size_add(expected, 2, &capacity)) return byoc_diag_out_of_memory(diag);
  char *data = byoc_reallocate(allocator, NULL, capacity, 1);
  if (data == NULL) return byoc_diag_out_of_memory(diag);
  for (;;) {
    // One byte is kept for the NUL; one more lets the end show without growing.
    ssize_t got = read(fd, data + used, capacity - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int error = errno;
      byoc_free(allocator, data);
      return byoc_diag_system_error(diag, error, "read", path);
    }
    if (got == 0) break;
    used += (size_t)got;
    if (used + 1 < capacity) continue;
    size_t grown = 0;
    char *larger = byoc_size_mul(capacity, 2, &grown) ? byoc_reallocate(allocator, data, grown, 1) : NULL;
    if (larger == NULL) {
      byoc_free(allocator, data);
      return byoc_diag_out_of_memory(diag);
    }
    data = larger;
    capacity = grown;
  }
  data[used] = '\0';
  *out_data = data;
  *out_size_bytes = used;
  return BYOC_OK;
}

// Devices may have no end, like /dev/zero: to read one would use all memory. Terminals have an end, and so has
// /dev/null, which replaces a closed standard input.
static bool is_device(int fd, const struct stat *info) {
  if (S_ISBLK(info->st_mode)) return true;
  return S_ISCHR(info->st_mode) && info->st_rdev != makedev(1, 3) && isatty(fd) == 0;
}

// Is it a pipe that this process inherited, as standard input or by a shell's <(...)? A named pipe could wait forever
// for a writer.
static bool is_given_pipe(int fd, const char *path) {
  static const char *const given[] = {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"};
  enum { PIPES = 0x50495045 }; // PIPEFS_MAGIC of linux/magic.h
  struct statfs info;
  for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
    if (strncmp(path, given[i], strlen(given[i])) == 0) return true;
  }
  return fstatfs(fd, &info) == 0 && info.f_type == PIPES;
}

static byoc_status_t refuse_kind(int fd, const char *path, const char *what, byoc_diag_t *diag) {
  close(fd);
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "cannot read '%s': it is a %s", path, what);
  byoc_diag_hint(diag, "give a file, or a pipe by /dev/stdin");
  return status;
}

// Takes over `fd`, and closes it if it cannot be read.
static byoc_status_t check_kind(int fd, const char *path, byoc_diag_t *diag, int *out_fd, size_t *out_size_bytes) {
  struct stat info;
  int error = 0;
  if (fstat(fd, &info) != 0)
    error = errno;
  else if (S_ISDIR(info.st_mode))
    error = EISDIR;
  if (error != 0) {
    close(fd);
    return byoc_diag_system_error(diag, error, "read", path);
  }
  if (is_device(fd, &info)) return refuse_kind(fd, path, "device", diag);
  if (S_ISFIFO(info.st_mode) && !is_given_pipe(fd, path)) return refuse_kind(fd, path, "named pipe", diag);
  if (!S_ISREG(info.st_mode)) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  *out_fd = fd;
  *out_size_bytes = S_ISREG(info.st_mode) ? (size_t)info.st_size : 0;
  return BYOC_OK;
}

// Opens for reading; *out_size_bytes is 0 if the system does not know the size beforehand (pipes, /proc).
static byoc_status_t open_file(const char *path, byoc_diag_t *diag, int *out_fd, size_t *out_size_bytes) {
  int fd;
  do {
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a named pipe would wait for its writer
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return byoc_diag_system_error(diag, errno, "open", path);
  return check_kind(fd, path, diag, out_fd, out_size_bytes);
}

// Takes over `fd`.
static byoc_status_t view_file(int fd, const char *path, size_t size, byoc_diag_t *diag, byoc_file_view_t *out_view) {
  byoc_status_t status = BYOC_OK;
  void *memory = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (memory != MAP_FAILED) {
    *out_view = (byoc_file_view_t){.data = memory, .size_bytes = size, .owned = &mapped};
  } else {
    char *data = NULL;
    status = read_all(fd, path, size > 0 ? size : 4096, byoc_allocator_system(), diag, &data, &size);
    if (status == BYOC_OK && size == 0) {
      byoc_free(byoc_allocator_system(), data);
      *out_view = (byoc_file_view_t){.data = nothing};
    } else if (status == BYOC_OK) {
      *out_view = (byoc_file_view_t){.data = (uint8_t *)data, .size_bytes = size, .owned = data};
    }
  }
  close(fd);
  return status;
}

byoc_status_t byoc_file_view_open(const char *path, byoc_diag_t *diag, byoc_file_view_t *out_view) {
  *out_view = (byoc_file_view_t){0};
  int fd = -1;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(open_file(path, diag, &fd, &size));
  return view_file(fd, path, size, diag, out_view);
}

static byoc_status_t check_inside(int fd, const char *folder, const char *path, byoc_diag_t *diag, size_t *out_size) {
  struct stat info;
  if (fd < 0 && (errno == EXDEV || errno == ELOOP)) {
    return byoc_diag_error(diag, BYOC_PERMISSION, "a symbolic link in '%s' leads out of the folder '%s'", path, folder);
  }
  if (fd < 0 || fstat(fd, &info) != 0) return byoc_diag_system_error(diag, errno, "open", path);
  if (!S_ISREG(info.st_mode)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' in the folder '%s' is not a regular file", path, folder);
  }
  if (info.st_nlink > 1) { // the other name may be anywhere
    byoc_status_t status = byoc_diag_error(
        diag, BYOC_PERMISSION, "'%s' in the folder '%s' has another name elsewhere (a hard link)", path, folder);
    byoc_diag_hint(diag, "put a copy in its place");
    return status;
  }
  *out_size = (size_t)info.st_size;
  return BYOC_OK;
}

byoc_status_t byoc_file_view_open_beneath(const char *folder, const char *path, byoc_diag_t *diag,
                                          byoc_file_view_t *out_view) {
  *out_view = (byoc_file_view_t){0};
  size_t size = 0;
  int fd = byoc_open_beneath(folder, path, false);
  byoc_status_t status = check_inside(fd, folder, path, diag, &size);
  if (status == BYOC_OK) return view_file(fd, path, size, diag, out_view);
  if (fd >= 0) close(fd);
  return status;
}

void byoc_file_view_forget(const byoc_file_view_t *view) {
  // Pages of a private mapping that are not written are those of the file.
  if (view->owned == &mapped) (void)madvise((void *)(uintptr_t)view->data, view->size_bytes, MADV_DONTNEED);
}

void byoc_file_view_close(byoc_file_view_t *view) {
  if (view->owned == &mapped) {
    munmap((void *)(uintptr_t)view->data, view->size_bytes);
  } else {
    byoc_free(byoc_allocator_system(), view->owned);
  }
  *view = (byoc_file_view_t){0};
}

byoc_status_t byoc_file_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_data,
                             size_t *out_size_bytes) {
  *out_data = NULL;
  *out_size_bytes = 0;
  int fd = -1;
  size_t expected = 0;
  BYOC_RETURN_IF_ERROR(open_file(path, diag, &fd, &expected));
  byoc_status_t status = read_all(fd, path, expected > 0 ? expected : 4096, allocator, diag, out_data, out_size_bytes);
  close(fd);
  return status;
}
