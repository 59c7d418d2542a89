// SPDX-License-Identifier: Apache-2.0
// Files that appear under their names together: all of them, or none.
//
// Each file is written whole to a temporary file beside its place, and flushed to disk, when it is added; a full disk
// is noticed there. Committing only renames, in the order of adding, and if that fails, what was replaced so far is put
// back. Each file is whole at every time. If the process is killed in the middle of a commit, some files may be new and
// the later ones old: add last what must not be new without the others. A file system that cannot exchange two names in
// one step (NFS) leaves no way back for a file that was replaced. Devices and pipes are written when they are added.
// Of two processes that commit the same files at once, one commits after the other.
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

// Which file has a name: no other one is taken for it, nor itself once it was written to.
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
  char *path;      // where it goes: the target of a link, so that links stay
  char *temporary; // beside it: the new file, or the older one once they were exchanged
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
// The same for parts that are mapped files: written(argument, size_bytes) is called behind each part, so that its pages
// can be forgotten.
byoc_status_t byoc_file_set_add_mapped(byoc_file_set_t *set, const char *path, const byoc_bytes_t *parts,
                                       size_t part_count, unsigned mode,
                                       void (*written)(void *argument, size_t size_bytes), void *argument,
                                       byoc_diag_t *diag);
// Adds the file `from`, which is moved if it lies in the same file system, and copied otherwise.
byoc_status_t byoc_file_set_add_file(byoc_file_set_t *set, const char *from, const char *path, unsigned mode,
                                     byoc_diag_t *diag);
// The file that was added last was made from the one at its place. If that has become another one when the set is
// committed, the commit fails with BYOC_ALREADY_EXISTS: nothing that others wrote there meanwhile is lost.
void byoc_file_set_follow(byoc_file_set_t *set, byoc_file_identity_t identity);
byoc_status_t byoc_file_set_commit(byoc_file_set_t *set, byoc_diag_t *diag);
// After such a commit: the file that was added last takes the place of the one that follows, which is dropped, so that
// the set can be committed again. Without one, nothing happens.
void byoc_file_set_supersede(byoc_file_set_t *set);
// Removes what was added and not committed. The set is empty then.
void byoc_file_set_abandon(byoc_file_set_t *set);

#endif // BYOC_CORE_BASE_FILE_SET_H_
