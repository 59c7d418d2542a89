// SPDX-License-Identifier: Apache-2.0
// Calls on files that may fail. What standard streams write inside the C library is not seen here.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/faults/inject.h"

// ---- descriptors ----

static bool opening_fails(int flags) {
  if ((flags & O_CREAT) != 0 && byoc_fault_is_full()) return true;
  return byoc_fault_strikes(BYOC_FAULT_open);
}

static mode_t take_mode(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

BYOC_FAULT_EXPORT int openat(int folder, const char *path, int flags, ...) {
  BYOC_FAULT_REAL(int, openat, int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = take_mode(flags, arguments);
  va_end(arguments);
  return opening_fails(flags) ? -1 : real(folder, path, flags, mode);
}

BYOC_FAULT_EXPORT int openat64(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = take_mode(flags, arguments);
  va_end(arguments);
  return openat(folder, path, flags, mode);
}

BYOC_FAULT_EXPORT int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = take_mode(flags, arguments);
  va_end(arguments);
  return openat(AT_FDCWD, path, flags, mode);
}

BYOC_FAULT_EXPORT int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = take_mode(flags, arguments);
  va_end(arguments);
  return openat(AT_FDCWD, path, flags, mode);
}

// openat2 has no function of its own.
BYOC_FAULT_EXPORT long syscall(long number, ...) {
  BYOC_FAULT_REAL(long, syscall, long, ...);
  va_list arguments;
  va_start(arguments, number);
  long words[6];
  for (int i = 0; i < 6; i++) words[i] = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_openat2 && byoc_fault_strikes(BYOC_FAULT_open)) return -1;
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

BYOC_FAULT_EXPORT FILE *fopen(const char *path, const char *mode) {
  BYOC_FAULT_REAL(FILE *, fopen, const char *, const char *);
  return opening_fails(mode[0] == 'w' || mode[0] == 'a' ? O_CREAT : 0) ? NULL : real(path, mode);
}

BYOC_FAULT_EXPORT FILE *fopen64(const char *path, const char *mode) {
  return fopen(path, mode);
}

BYOC_FAULT_EXPORT DIR *opendir(const char *path) {
  BYOC_FAULT_REAL(DIR *, opendir, const char *);
  return opening_fails(0) ? NULL : real(path);
}

BYOC_FAULT_EXPORT DIR *fdopendir(int fd) {
  BYOC_FAULT_REAL(DIR *, fdopendir, int);
  return byoc_fault_strikes(BYOC_FAULT_memory) ? NULL : real(fd);
}

BYOC_FAULT_EXPORT int pipe(int fds[2]) {
  BYOC_FAULT_REAL(int, pipe, int *);
  return byoc_fault_strikes(BYOC_FAULT_open) ? -1 : real(fds);
}

BYOC_FAULT_EXPORT int pipe2(int fds[2], int flags) {
  BYOC_FAULT_REAL(int, pipe2, int *, int);
  return byoc_fault_strikes(BYOC_FAULT_open) ? -1 : real(fds, flags);
}

BYOC_FAULT_EXPORT int dup(int fd) {
  BYOC_FAULT_REAL(int, dup, int);
  return byoc_fault_strikes(BYOC_FAULT_open) ? -1 : real(fd);
}

// The descriptor is closed, whatever is returned.
BYOC_FAULT_EXPORT int close(int fd) {
  BYOC_FAULT_REAL(int, close, int);
  int result = real(fd);
  return byoc_fault_strikes(BYOC_FAULT_close) ? -1 : result;
}

// ---- content ----

// Pipes do not fail.
static bool is_file(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

BYOC_FAULT_EXPORT ssize_t read(int fd, void *data, size_t size) {
  BYOC_FAULT_REAL(ssize_t, read, int, void *, size_t);
  return is_file(fd) && byoc_fault_strikes(BYOC_FAULT_read) ? -1 : real(fd, data, size);
}

BYOC_FAULT_EXPORT ssize_t pread64(int fd, void *data, size_t size, off64_t offset) {
  BYOC_FAULT_REAL(ssize_t, pread64, int, void *, size_t, off64_t);
  return byoc_fault_strikes(BYOC_FAULT_read) ? -1 : real(fd, data, size, offset);
}

BYOC_FAULT_EXPORT ssize_t pread(int fd, void *data, size_t size, off_t offset) {
  return pread64(fd, data, size, offset);
}

static bool writing_fails(int fd, size_t size_bytes) {
  return is_file(fd) && byoc_fault_strikes_bytes(BYOC_FAULT_write, size_bytes);
}

BYOC_FAULT_EXPORT ssize_t write(int fd, const void *data, size_t size) {
  BYOC_FAULT_REAL(ssize_t, write, int, const void *, size_t);
  return writing_fails(fd, size) ? -1 : real(fd, data, size);
}

BYOC_FAULT_EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
  BYOC_FAULT_REAL(ssize_t, writev, int, const struct iovec *, int);
  size_t size = 0;
  for (int i = 0; i < count; i++) size += parts[i].iov_len;
  return writing_fails(fd, size) ? -1 : real(fd, parts, count);
}

BYOC_FAULT_EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  BYOC_FAULT_REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  return writing_fails(fd, size) ? -1 : real(fd, data, size, offset);
}

BYOC_FAULT_EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  return pwrite64(fd, data, size, offset);
}

BYOC_FAULT_EXPORT int ftruncate64(int fd, off64_t size) {
  BYOC_FAULT_REAL(int, ftruncate64, int, off64_t);
  return size > 0 && byoc_fault_strikes_bytes(BYOC_FAULT_write, 0) ? -1 : real(fd, size);
}

BYOC_FAULT_EXPORT int ftruncate(int fd, off_t size) {
  return ftruncate64(fd, size);
}

BYOC_FAULT_EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t size) {
  BYOC_FAULT_REAL(int, posix_fallocate64, int, off64_t, off64_t);
  return byoc_fault_strikes_bytes(BYOC_FAULT_write, 0) ? errno : real(fd, offset, size);
}

BYOC_FAULT_EXPORT int posix_fallocate(int fd, off_t offset, off_t size) {
  return posix_fallocate64(fd, offset, size);
}

BYOC_FAULT_EXPORT int fsync(int fd) {
  BYOC_FAULT_REAL(int, fsync, int);
  return byoc_fault_strikes(BYOC_FAULT_fsync) || byoc_fault_is_full() ? -1 : real(fd);
}

BYOC_FAULT_EXPORT int fdatasync(int fd) {
  BYOC_FAULT_REAL(int, fdatasync, int);
  return byoc_fault_strikes(BYOC_FAULT_fsync) || byoc_fault_is_full() ? -1 : real(fd);
}

// ---- names ----

BYOC_FAULT_EXPORT int mkdir(const char *path, mode_t mode) {
  BYOC_FAULT_REAL(int, mkdir, const char *, mode_t);
  return byoc_fault_is_full() || byoc_fault_strikes(BYOC_FAULT_folder) ? -1 : real(path, mode);
}

BYOC_FAULT_EXPORT char *mkdtemp(char *pattern) {
  BYOC_FAULT_REAL(char *, mkdtemp, char *);
  return byoc_fault_is_full() || byoc_fault_strikes(BYOC_FAULT_folder) ? NULL : real(pattern);
}

BYOC_FAULT_EXPORT int rename(const char *from, const char *to) {
  BYOC_FAULT_REAL(int, rename, const char *, const char *);
  return byoc_fault_strikes(BYOC_FAULT_rename) ? -1 : real(from, to);
}

BYOC_FAULT_EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  BYOC_FAULT_REAL(int, renameat, int, const char *, int, const char *);
  return byoc_fault_strikes(BYOC_FAULT_rename) ? -1 : real(from_folder, from, to_folder, to);
}

BYOC_FAULT_EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  BYOC_FAULT_REAL(int, renameat2, int, const char *, int, const char *, unsigned);
  return byoc_fault_strikes(BYOC_FAULT_rename) ? -1 : real(from_folder, from, to_folder, to, flags);
}

BYOC_FAULT_EXPORT int link(const char *from, const char *to) {
  BYOC_FAULT_REAL(int, link, const char *, const char *);
  return byoc_fault_strikes(BYOC_FAULT_rename) ? -1 : real(from, to);
}

BYOC_FAULT_EXPORT int symlink(const char *from, const char *to) {
  BYOC_FAULT_REAL(int, symlink, const char *, const char *);
  return byoc_fault_strikes(BYOC_FAULT_rename) ? -1 : real(from, to);
}
