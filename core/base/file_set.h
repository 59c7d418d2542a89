// SPDX-License-Identifier: Apache-2.0
// Files that appear under their names together: all of them, or none.
//
// When a file is added, it is written to a temporary file in the folder of its path, and flushed to disk: a full disk
// is an error there. A commit only renames, in the order in which files were added; if that fails, the older files are
// put back. Each file is whole at every time. If the process is killed during a commit, some files may be new and later
// ones old: add the file that needs the others last. A file system that cannot exchange two names in one step (NFS)
// cannot put an older file back. Devices and pipes are written when they are added. Of two processes that commit the
// same files at once, one commits after the other.
//
// Example:
//   byoc_file_set_t files = {0};
//   byoc_status_t status = byoc_file_set_add(&files, "a.h", &header, 1, 0644, diag);
//   if (status == BYOC_OK) status = byoc_file_set_add_file(&files, linked, "a.so", 0755, diag);
//   if (status == BYOC_OK) status = byoc_file_set_commit(&files, diag);
//   byoc_file_set_abandon(&files);
#ifndef BYOC_CORE_BASE_FILE_SET_H_
#define BYOC_CORE_BASE_FILE_SET_H_

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "core/base/file.h"

// The identity of a file: it differs for any other file, and for the same file after a write.
typedef struct byoc_file_identity_t {
  bool exists;
  dev_t device;
  ino_t inode;
  off_t size_bytes;
  struct timespec changed;
} byoc_file_identity_t;

byoc_file_identity_t byoc_file_identity(const char *path);

// A file that is about to appear under its name. Internal.
typedef struct byoc_pending_file_t {
  char *path;      // its final path: that of a link's target, so that links stay
  char *temporary; // in the same folder: the new file, or the older one after the exchange
  int fd;
  mode_t mode;    // after the umask
  bool has_older; // there was a file at `path` when the commit began
  bool exchanged;
  bool was_absent; // there was none when it should have been locked
  bool is_locked;  // it was there then
  bool follows;    // byoc_file_set_follow was called
  byoc_file_identity_t followed;
} byoc_pending_file_t;

enum { BYOC_FILE_SET_MAX = 8 };

typedef struct byoc_file_set_t {
  byoc_pending_file_t files[BYOC_FILE_SET_MAX];
  size_t count;
} byoc_file_set_t;

// Adds a file with this content and these permission bits, e.g. 0644. At most BYOC_FILE_SET_MAX.
byoc_status_t byoc_file_set_add(byoc_file_set_t *set, const char *path, const byoc_bytes_t *parts, size_t part_count,
                                unsigned mode, byoc_diag_t *diag);
// The same for parts that are mapped files: written(argument, size_bytes) is called after each part, so that its pages
// can be dropped.
byoc_status_t byoc_file_set_add_mapped(byoc_file_set_t *set, const char *path, const byoc_bytes_t *parts,
                                       size_t part_count, unsigned mode,
                                       void (*written)(void *argument, size_t size_bytes), void *argument,
                                       byoc_diag_t *diag);
// Adds the file `from`, which is moved if it lies in the same file system, and copied otherwise.
byoc_status_t byoc_file_set_add_file(byoc_file_set_t *set, const char *from, const char *path, unsigned mode,
                                     byoc_diag_t *diag);
// Says that the file that was added last was made from the file at its path. If that file has changed when the set is
// committed, the commit fails with BYOC_ALREADY_EXISTS, so that the changes of others are not lost.
void byoc_file_set_follow(byoc_file_set_t *set, byoc_file_identity_t identity);
byoc_status_t byoc_file_set_commit(byoc_file_set_t *set, byoc_diag_t *diag);
// After such a commit: replaces the file that follows by the file that was added last, so that the set can be committed
// again. Does nothing if no file follows.
void byoc_file_set_supersede(byoc_file_set_t *set);
// Removes files that were added and not committed. The set is empty afterwards.
void byoc_file_set_abandon(byoc_file_set_t *set);

#endif // BYOC_CORE_BASE_FILE_SET_H_
