// SPDX-License-Identifier: Apache-2.0
// Memory that lies in a file, for data that may be larger than the machine's memory. The system writes it out when it
// needs memory, and reads it again when it is touched. All functions may be called in any thread.
//
// Example:
//   byoc_file_memory_t *memory = NULL;
//   void *data = NULL;
//   if (byoc_file_memory_create(NULL, allocator, diag, &memory) == BYOC_OK &&
//       byoc_file_memory_take(memory, size, diag, &data, NULL) == BYOC_OK) {
//     memset(data, 0, size); // it is filled and read
//   }
//   byoc_file_memory_release(memory);
#ifndef BYOC_CORE_BASE_FILE_MEMORY_H_
#define BYOC_CORE_BASE_FILE_MEMORY_H_

#include "core/base/file.h"

typedef struct byoc_file_memory_t byoc_file_memory_t;

// `path`: a file of the caller's, which is overwritten and stays. NULL: a file without a name under $TMPDIR, else
// /var/tmp (it is on a disk, and /tmp often is not), else /tmp; nothing is left of it, even after a crash.
byoc_status_t byoc_file_memory_create(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_file_memory_t **out_memory);
// The last release unmaps it. Both accept NULL.
void byoc_file_memory_retain(byoc_file_memory_t *memory);
void byoc_file_memory_release(byoc_file_memory_t *memory);
// Zeroed bytes at the beginning of a page, valid until byoc_file_memory_give_back or the last release. *out_offset (may
// be NULL) is their offset in the file. Disk space is reserved, so that a full disk is an error here and not a signal
// later.
byoc_status_t byoc_file_memory_take(byoc_file_memory_t *memory, size_t size_bytes, byoc_diag_t *diag, void **out_data,
                                    uint64_t *out_offset);
// Frees an allocation and its disk space.
void byoc_file_memory_give_back(byoc_file_memory_t *memory, const void *data);
// Removes the pages from this process's memory, not from the file: they are read again when they are next touched.
void byoc_file_memory_forget(byoc_file_memory_t *memory);

#endif // BYOC_CORE_BASE_FILE_MEMORY_H_
