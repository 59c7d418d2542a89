// SPDX-License-Identifier: Apache-2.0
// Removes temporary files and folders of processes that were killed.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/remove.h"
#include "core/base/temporary.h"

// The process that made an entry of this name; 0 if it is no temporary one.
static pid_t maker_of(const char *name) {
  const char *mark = strstr(name, BYOC_TEMPORARY_MARK);
  for (const char *next = mark; next != NULL; next = strstr(next + 1, BYOC_TEMPORARY_MARK)) mark = next;
  if (mark == NULL) return 0;
  const char *digits = mark + strlen(BYOC_TEMPORARY_MARK);
  char *end = NULL;
  const long pid = isdigit((unsigned char)*digits) ? strtol(digits, &end, 10) : 0;
  if (pid <= 0 || pid > INT32_MAX || *end != '-' || end[1] == '\0') return 0;
  for (const char *at = end + 1; *at != '\0'; at++) {
    if (!isalnum((unsigned char)*at)) return 0;
  }
  return (pid_t)pid;
}

static bool exists(pid_t pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

// Does this open file still have that name? Its maker may have exchanged it for another one.
static bool still_has_name(int fd, int folder, const char *name) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Is the entry left over? If so, it stays open, and thus locked, in *out_fd.
static bool is_left_over(int folder, const char *name, int *out_fd) {
  *out_fd = -1;
  const pid_t maker = maker_of(name);
  if (maker == 0 || exists(maker)) return false;
  *out_fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat info;
  return *out_fd >= 0 && fstat(*out_fd, &info) == 0 && info.st_uid == geteuid() &&
         (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) && flock(*out_fd, LOCK_EX | LOCK_NB) == 0 &&
         still_has_name(*out_fd, folder, name);
}

static void sweep(const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) return;
  for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    int fd = -1;
    if (is_left_over(dirfd(folder), entry->d_name, &fd)) (void)byoc_remove_entry_at(dirfd(folder), entry->d_name);
    if (fd >= 0) (void)close(fd);
  }
  (void)closedir(folder);
}

// True for the first call with this folder. When the table is full, no more folders are swept.
static bool is_first_visit(const char *path) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t visited[512];
  static size_t count;
  const uint64_t hash = byoc_hash_string(path);
  bool found = false;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count && !found; i++) found = visited[i] == hash;
  const bool is_first = !found && count < sizeof(visited) / sizeof(visited[0]);
  if (is_first) visited[count++] = hash;
  pthread_mutex_unlock(&lock);
  return is_first;
}

void byoc_temporary_sweep(const char *folder) {
  const int error = errno;
  if (is_first_visit(folder)) sweep(folder);
  errno = error;
}
