// SPDX-License-Identifier: Apache-2.0
// Writes files so that each appears whole, and several appear together or not at all.
#define _GNU_SOURCE
#include "core/base/file_set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/interrupt.h"
#include "core/base/system_error.h"
#include "core/base/temporary.h"
#include "core/base/write_all.h"

// ---- one file ----

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
static int open_temporary(byoc_pending_file_t *pending, const char *path, mode_t mode) {
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

static void pending_abandon(byoc_pending_file_t *pending) {
  if (pending->fd >= 0) close(pending->fd);
  if (pending->temporary != NULL) {
    (void)unlink(pending->temporary);
    byoc_temporary_forget(pending->temporary);
  }
  free(pending->temporary);
  free(pending->path);
  *pending = (byoc_pending_file_t){.fd = -1};
}

// Prepares to replace `path`; *out_plain: it is to be written in place.
static byoc_status_t begin(const char *path, unsigned mode, byoc_diag_t *diag, byoc_pending_file_t *pending,
                           bool *out_plain) {
  *pending = (byoc_pending_file_t){.fd = -1};
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

static int fill(byoc_pending_file_t *pending, const byoc_bytes_t *parts, size_t part_count,
                void (*written)(void *argument, size_t size_bytes), void *argument) {
  int error = 0;
  for (size_t i = 0; i < part_count && error == 0; i++) {
    error = byoc_write_all(pending->fd, &parts[i], 1);
    if (written != NULL) written(argument, parts[i].size_bytes);
  }
  if (error == 0) error = byoc_flush(pending->fd);
  int close_error = byoc_close_checked(pending->fd);
  pending->fd = -1;
  return error != 0 ? error : close_error;
}

// Moves `from` over the temporary file; EXDEV if they are on different file systems.
static int move_over(const byoc_pending_file_t *pending, const char *from) {
  int fd = open(from, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = 0;
  if (fchmod(fd, pending->mode) != 0) error = errno;
  if (error == 0) error = byoc_flush(fd);
  if (error == 0) byoc_temporary_follow(pending->temporary, fd);
  close(fd);
  if (error == 0 && rename(from, pending->temporary) != 0) error = errno;
  return error;
}

// A rename survives a crash of the machine once the folder is on disk, too. If that fails, the file is still whole.
static void flush_folder(const char *path) {
  char *folder = byoc_path_directory(byoc_allocator_system(), path);
  int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
  byoc_free(byoc_allocator_system(), folder);
}

// Locks the file that is to be replaced. A process holds that lock, and then the lock of the new file, until all files
// of its set are in place. So if two processes commit the same files at once, all files are those of one of them. A
// commit takes milliseconds: after some seconds the holder of the lock is not a commit, and is ignored.
static void lock_older(byoc_pending_file_t *pending) {
  enum { TRIES = 3000 };
  const struct timespec pause = {.tv_nsec = 1000000};
  for (int i = 0; i < TRIES && !pending->is_locked; i++) {
    struct stat opened, named;
    int fd = open(pending->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    pending->was_absent = fd < 0 && errno == ENOENT;
    if (fd < 0) return;
    // While this process waited for the lock, another file may have got the name.
    bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (is_locked && fstat(fd, &opened) == 0 && stat(pending->path, &named) == 0 && opened.st_dev == named.st_dev &&
        opened.st_ino == named.st_ino) {
      byoc_temporary_follow(pending->temporary, fd); // it will have that name
      pending->is_locked = true;
      close(fd);
      return;
    }
    close(fd);
    if (!is_locked) (void)nanosleep(&pause, NULL);
  }
}

byoc_file_identity_t byoc_file_identity(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return (byoc_file_identity_t){.exists = false};
  return (byoc_file_identity_t){
      .exists = true, .device = info.st_dev, .inode = info.st_ino, .size_bytes = info.st_size, .changed = info.st_mtim};
}

static bool is_followed_there(const byoc_pending_file_t *pending) {
  const byoc_file_identity_t then = pending->followed, now = byoc_file_identity(pending->path);
  if (!then.exists || !now.exists) return then.exists == now.exists;
  return then.device == now.device && then.inode == now.inode && then.size_bytes == now.size_bytes &&
         then.changed.tv_sec == now.changed.tv_sec && then.changed.tv_nsec == now.changed.tv_nsec;
}

// Puts the new file in place. An older one then has the temporary name, if the file system can exchange two names.
// EEXIST if there is one now and was none when it should have been locked, ESTALE if it is not the one that was
// followed.
static int put(byoc_pending_file_t *pending) {
  struct stat info;
  pending->has_older = lstat(pending->path, &info) == 0;
  if (pending->follows && !is_followed_there(pending)) return ESTALE;
  if (pending->has_older && pending->was_absent) return EEXIST;
  if (pending->has_older && S_ISREG(info.st_mode)) {
    pending->exchanged = renameat2(AT_FDCWD, pending->temporary, AT_FDCWD, pending->path, RENAME_EXCHANGE) == 0;
    if (pending->exchanged) return 0;
  }
  if (!pending->has_older) {
    if (renameat2(AT_FDCWD, pending->temporary, AT_FDCWD, pending->path, RENAME_NOREPLACE) == 0) return 0;
    if (errno == EEXIST) return EEXIST;
  }
  return rename(pending->temporary, pending->path) == 0 ? 0 : errno;
}

static void take_back(byoc_pending_file_t *pending) {
  if (pending->exchanged) {
    (void)renameat2(AT_FDCWD, pending->temporary, AT_FDCWD, pending->path, RENAME_EXCHANGE);
    pending->exchanged = false;
  } else if (!pending->has_older) {
    (void)rename(pending->path, pending->temporary); // the new file may be put in place once more
  }
}

// ---- the set ----

static void keep(byoc_file_set_t *set, byoc_pending_file_t *pending, bool is_ready) {
  if (is_ready) {
    set->files[set->count++] = *pending;
  } else {
    pending_abandon(pending);
  }
}

byoc_status_t byoc_file_set_add_mapped(byoc_file_set_t *set, const char *path, const byoc_bytes_t *parts,
                                       size_t part_count, unsigned mode,
                                       void (*written)(void *argument, size_t size_bytes), void *argument,
                                       byoc_diag_t *diag) {
  assert(set->count < BYOC_FILE_SET_MAX);
  byoc_pending_file_t pending;
  bool plain = false;
  BYOC_RETURN_IF_ERROR(begin(path, mode, diag, &pending, &plain));
  if (plain) return byoc_file_write_parts(path, parts, part_count, diag);
  int error = fill(&pending, parts, part_count, written, argument);
  keep(set, &pending, error == 0);
  return error == 0 ? BYOC_OK : byoc_diag_system_error(diag, error, "write", path);
}

byoc_status_t byoc_file_set_add(byoc_file_set_t *set, const char *path, const byoc_bytes_t *parts, size_t part_count,
                                unsigned mode, byoc_diag_t *diag) {
  return byoc_file_set_add_mapped(set, path, parts, part_count, mode, NULL, NULL, diag);
}

byoc_status_t byoc_file_set_add_file(byoc_file_set_t *set, const char *from, const char *path, unsigned mode,
                                     byoc_diag_t *diag) {
  assert(set->count < BYOC_FILE_SET_MAX);
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(from, diag, &view));
  byoc_bytes_t bytes = {.data = view.data, .size_bytes = view.size_bytes};
  byoc_pending_file_t pending;
  bool plain = false;
  byoc_status_t status = begin(path, mode, diag, &pending, &plain);
  if (status == BYOC_OK && plain) {
    status = byoc_file_write_parts(path, &bytes, 1, diag);
  } else if (status == BYOC_OK) {
    int error = move_over(&pending, from);
    // Another file system, or a file that is not ours to change: copy.
    if (error == EXDEV || error == EPERM || error == EACCES) error = fill(&pending, &bytes, 1, NULL, NULL);
    keep(set, &pending, error == 0);
    if (error != 0) status = byoc_diag_system_error(diag, error, "write", path);
  }
  byoc_file_view_close(&view);
  return status;
}

// Returns an errno, and the file that it is about.
static int put_all(byoc_file_set_t *set, size_t *out_failed) {
  for (size_t i = 0; i < set->count; i++) {
    int error = put(&set->files[i]);
    if (error == 0) continue;
    *out_failed = i;
    while (i-- > 0) take_back(&set->files[i]);
    return error;
  }
  return 0;
}

// If a file has appeared at a path that was empty, waits for its maker, too.
static int lock_and_put_all(byoc_file_set_t *set, size_t *out_failed) {
  enum { ATTEMPTS = 100 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int error = EEXIST;
  for (int attempt = 0; attempt < ATTEMPTS && error == EEXIST; attempt++) {
    sigset_t mask;
    for (size_t i = 0; i < set->count; i++) lock_older(&set->files[i]);
    byoc_interrupt_lock(&lock, &mask); // Ctrl-C comes before or after
    error = put_all(set, out_failed);
    byoc_interrupt_unlock(&lock, &mask);
  }
  return error;
}

void byoc_file_set_follow(byoc_file_set_t *set, byoc_file_identity_t identity) {
  if (set->count == 0) return; // it was a pipe or a device, which is written already
  set->files[set->count - 1].follows = true;
  set->files[set->count - 1].followed = identity;
}

void byoc_file_set_supersede(byoc_file_set_t *set) {
  size_t i = 0;
  while (i + 1 < set->count && !set->files[i].follows) i++;
  if (i + 1 >= set->count) return;
  pending_abandon(&set->files[i]);
  set->files[i] = set->files[--set->count];
}

byoc_status_t byoc_file_set_commit(byoc_file_set_t *set, byoc_diag_t *diag) {
  size_t failed = 0;
  int error = lock_and_put_all(set, &failed);
  if (error == ESTALE && set->files[failed].follows) {
    byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "'%s' was changed by another program meanwhile",
                    set->files[failed].path);
    return byoc_diag_hint(diag, "nothing was written; try again"), BYOC_ALREADY_EXISTS;
  }
  if (error != 0) return byoc_diag_system_error(diag, error, "write", set->files[failed].path);
  for (size_t i = 0; i < set->count; i++) flush_folder(set->files[i].path);
  byoc_file_set_abandon(set); // only older files are left of it
  return BYOC_OK;
}

void byoc_file_set_abandon(byoc_file_set_t *set) {
  for (size_t i = 0; i < set->count; i++) pending_abandon(&set->files[i]);
  set->count = 0;
}
