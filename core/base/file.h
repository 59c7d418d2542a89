// SPDX-License-Identifier: Apache-2.0
// Files and folders. Every error names the path and the system's reason.
#ifndef BYOC_CORE_BASE_FILE_H_
#define BYOC_CORE_BASE_FILE_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// A file's bytes, mapped read-only if the file is regular. Pipes are read to their end. Devices may have no end: they
// are refused, except terminals and /dev/null. `data` is never NULL after success.
typedef struct byoc_file_view_t {
  const uint8_t *data;
  size_t size_bytes;
  void *owned; // internal
} byoc_file_view_t;
byoc_status_t byoc_file_view_open(const char *path, byoc_diag_t *diag, byoc_file_view_t *out_view);
// The same for a file in `folder`, where `path` is not trusted. The file must be regular, have only one name, and not
// be reached by a link that leads out of the folder; otherwise BYOC_PERMISSION or BYOC_INVALID_DATA.
byoc_status_t byoc_file_view_open_beneath(const char *folder, const char *path, byoc_diag_t *diag,
                                          byoc_file_view_t *out_view);
void byoc_file_view_close(byoc_file_view_t *view);
// Removes touched pages from this process's memory; they are read again when they are next touched.
void byoc_file_view_forget(const byoc_file_view_t *view);

// Reads the whole file into NUL-terminated memory from `allocator`. Devices are refused as above.
byoc_status_t byoc_file_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_data,
                             size_t *out_size_bytes);
// Writes a temporary file beside `path`, flushes it to disk and renames it into place; on failure the temporary file is
// removed and an older file at `path` is untouched. `mode` is the permission bits, e.g. 0644.
byoc_status_t byoc_file_write_atomic(const char *path, const void *data, size_t size_bytes, unsigned mode,
                                     byoc_diag_t *diag);
// The same from parts (weights need no copy).
typedef struct byoc_bytes_t {
  const void *data;
  size_t size_bytes;
} byoc_bytes_t;
byoc_status_t byoc_file_write_atomic_parts(const char *path, const byoc_bytes_t *parts, size_t part_count,
                                           unsigned mode, byoc_diag_t *diag);
// Writes in place, without a rename; for folders of our own.
byoc_status_t byoc_file_write(const char *path, const void *data, size_t size_bytes, byoc_diag_t *diag);
byoc_status_t byoc_file_write_parts(const char *path, const byoc_bytes_t *parts, size_t part_count, byoc_diag_t *diag);
// Overwrites bytes of a file of our own in place; the file may grow.
byoc_status_t byoc_file_change(const char *path, size_t offset, const void *data, size_t size_bytes, byoc_diag_t *diag);
// Copies or renames `from` over `to` so that `to` appears whole or not at all (across file systems too).
byoc_status_t byoc_file_install(const char *from, const char *to, unsigned mode, byoc_diag_t *diag);
// Checks, before the work begins, that a file may be written at `path`. BYOC_INVALID_ARGUMENT if the name is empty or a
// folder, BYOC_NOT_FOUND or BYOC_PERMISSION for the folder that holds it.
byoc_status_t byoc_file_check_place(const char *path, byoc_diag_t *diag);
bool byoc_file_is_special(const char *path); // a device or a pipe (/dev/stdout): written into, not replaced
bool byoc_file_exists(const char *path);
bool byoc_is_directory(const char *path);

byoc_status_t byoc_make_directories(const char *path, byoc_diag_t *diag);
// The folders made here are for this user alone, even if the umask allows more.
byoc_status_t byoc_make_private_directories(const char *path, byoc_diag_t *diag);
// If a temporary folder cannot be removed now, that is tried again when the process ends.
byoc_status_t byoc_remove_tree(const char *path, byoc_diag_t *diag);
// Makes a folder under $TMPDIR (else /tmp) with mode 0700. byoc_remove_tree removes it. Folders that are left are
// removed when the process ends by exit, through byoc_remove_temporaries, and in tools by SIGINT and SIGTERM
// (core/base/interrupt.h). Folders of a killed process are removed by the next process (core/base/temporary.h).
byoc_status_t byoc_make_temporary_directory(const char *prefix, byoc_allocator_t allocator, byoc_diag_t *diag,
                                            char **out_path);
void byoc_remove_temporaries(void);
// Sorted names (not paths) of the entries of a folder, without "." and "..". Free them with byoc_free_names.
byoc_status_t byoc_list_directory(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char ***out_names,
                                  size_t *out_count);
void byoc_free_names(byoc_allocator_t allocator, char **names, size_t count);

// "folder/name" in memory from `allocator`; NULL if out of memory.
char *byoc_path_join(byoc_allocator_t allocator, const char *folder, const char *name);
const char *byoc_path_base(const char *path);                            // points into `path`
char *byoc_path_directory(byoc_allocator_t allocator, const char *path); // "." if there is none
// $BYOC_CACHE_DIR, else $XDG_CACHE_HOME/byoc, else $HOME/.cache/byoc; made when missing. If others can write to that
// folder or to one above it, <temporary>/byoc-<uid> is used instead, with a warning. It is used without a warning if
// the folder cannot be made, or can neither be written nor read. A cache that cannot be written is read, and new
// entries are not stored.
byoc_status_t byoc_cache_directory(byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path);
// Removes the files of a cache's folder that were not used for longest, until all together are within the limit; the
// last used one always stays.
void byoc_cache_folder_prune(const char *folder, uint64_t limit_bytes);

#endif // BYOC_CORE_BASE_FILE_H_
