// SPDX-License-Identifier: Apache-2.0
// Memory that lies in a file: for data that may be larger than what the machine has. The system writes it out when it
// needs the room, and reads it again when it is touched. Every call
// may come from any thread.
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

// `path`: a file of the caller's, which is replaced in place and stays. NULL: one without a name under $TMPDIR (else
// /var/tmp, which is on a disk where /tmp often is not, else /tmp); nothing is left of it, however the process ends.
byoc_status_t byoc_file_memory_create(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_file_memory_t **out_memory);
// It belongs to all who retain it, and ends with the last of them: then it is unmapped. Both accept NULL.
void byoc_file_memory_retain(byoc_file_memory_t *memory);
void byoc_file_memory_release(byoc_file_memory_t *memory);
// Zeroed bytes at the beginning of a page, which are valid until they are given back, or until the end. *out_offset
// (may be NULL) is their place in the file. Room in the file is reserved, so that a full disk is an error here and not
// a signal later.
byoc_status_t byoc_file_memory_take(byoc_file_memory_t *memory, size_t size_bytes, byoc_diag_t *diag, void **out_data,
                                    uint64_t *out_offset);
// Nobody reads it any more: its room on the disk is free again.
void byoc_file_memory_give_back(byoc_file_memory_t *memory, const void *data);
// The pages leave this process's memory, not the file: whoever touches them again finds the same bytes.
void byoc_file_memory_forget(byoc_file_memory_t *memory);

#endif // BYOC_CORE_BASE_FILE_MEMORY_H_
