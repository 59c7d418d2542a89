// SPDX-License-Identifier: Apache-2.0
// Memory in files: each allocation has its own mapping.
#define _GNU_SOURCE
#include "core/base/file_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/system_error.h"
#include "core/base/vector.h"

enum { PAGE_BYTES = 64 << 10 }; // no system has larger pages

typedef struct piece_t {
  void *data;
  size_t size_bytes;
  uint64_t offset;
} piece_t;

struct byoc_file_memory_t {
  byoc_allocator_t allocator;
  pthread_mutex_t mutex; // guards the fields below
  size_t reference_count;
  int fd;
  uint64_t size_bytes; // of the file
  BYOC_VECTOR(piece_t) pieces;
};

// Makes a file without a name; if the file system cannot do that, a file whose name is removed at once.
static int open_unnamed(const char *folder) {
  char path[4096];
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  if ((size_t)snprintf(path, sizeof(path), "%s/byoc-memory-XXXXXX", folder) >= sizeof(path)) return -1;
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) (void)unlink(path);
  return fd;
}

static byoc_status_t open_temporary(byoc_diag_t *diag, int *out_fd) {
  const char *chosen = getenv("TMPDIR");
  const bool is_chosen = chosen != NULL && chosen[0] != '\0';
  const char *folder = is_chosen ? chosen : "/var/tmp";
  *out_fd = open_unnamed(folder);
  if (*out_fd < 0 && !is_chosen) *out_fd = open_unnamed(folder = "/tmp");
  if (*out_fd >= 0) return BYOC_OK;
  byoc_status_t status = byoc_diag_system_error(diag, errno, "make a temporary file in", folder);
  byoc_diag_hint(diag, "name a folder that can be written to in TMPDIR");
  return status;
}

byoc_status_t byoc_file_memory_create(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_file_memory_t **out_memory) {
  *out_memory = NULL;
  int fd = -1;
  if (path == NULL) {
    BYOC_RETURN_IF_ERROR(open_temporary(diag, &fd));
  } else {
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return byoc_diag_system_error(diag, errno, "write", path);
  }
  byoc_file_memory_t *memory = byoc_allocate(allocator, 1, sizeof(*memory));
  if (memory == NULL) {
    (void)close(fd);
    return byoc_diag_out_of_memory(diag);
  }
  *memory = (byoc_file_memory_t){.allocator = allocator, .reference_count = 1, .fd = fd};
  (void)pthread_mutex_init(&memory->mutex, NULL);
  *out_memory = memory;
  return BYOC_OK;
}

void byoc_file_memory_retain(byoc_file_memory_t *memory) {
  if (memory == NULL) return;
  (void)pthread_mutex_lock(&memory->mutex);
  memory->reference_count++;
  (void)pthread_mutex_unlock(&memory->mutex);
}

void byoc_file_memory_release(byoc_file_memory_t *memory) {
  if (memory == NULL) return;
  (void)pthread_mutex_lock(&memory->mutex);
  const bool is_last = --memory->reference_count == 0;
  (void)pthread_mutex_unlock(&memory->mutex);
  if (!is_last) return;
  for (size_t i = 0; i < memory->pieces.count; i++) {
    (void)munmap(memory->pieces.data[i].data, memory->pieces.data[i].size_bytes);
  }
  byoc_vector_deinit(&memory->pieces, memory->allocator);
  (void)close(memory->fd);
  (void)pthread_mutex_destroy(&memory->mutex);
  byoc_free(memory->allocator, memory);
}

static byoc_status_t take(byoc_file_memory_t *memory, size_t size_bytes, byoc_diag_t *diag, piece_t *out_piece) {
  const uint64_t offset = (memory->size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  if (size_bytes == 0) size_bytes = 1;
  if (size_bytes > INT64_MAX - offset || !byoc_vector_reserve(&memory->pieces, memory->allocator, 1)) {
    return byoc_diag_out_of_memory(diag);
  }
  int error = posix_fallocate(memory->fd, (off_t)offset, (off_t)size_bytes);
  if (error != 0) return byoc_diag_system_error(diag, error, "reserve room in", "a temporary file");
  void *data = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, (off_t)offset);
  if (data == MAP_FAILED) return byoc_diag_system_error(diag, errno, "map", "a temporary file");
  *out_piece = (piece_t){.data = data, .size_bytes = size_bytes, .offset = offset};
  memory->pieces.data[memory->pieces.count++] = *out_piece;
  memory->size_bytes = offset + size_bytes;
  return BYOC_OK;
}

byoc_status_t byoc_file_memory_take(byoc_file_memory_t *memory, size_t size_bytes, byoc_diag_t *diag, void **out_data,
                                    uint64_t *out_offset) {
  piece_t piece = {0};
  (void)pthread_mutex_lock(&memory->mutex);
  byoc_status_t status = take(memory, size_bytes, diag, &piece);
  (void)pthread_mutex_unlock(&memory->mutex);
  *out_data = piece.data;
  if (out_offset != NULL) *out_offset = piece.offset;
  return status;
}

void byoc_file_memory_forget(byoc_file_memory_t *memory) {
  (void)pthread_mutex_lock(&memory->mutex);
  for (size_t i = 0; i < memory->pieces.count; i++) {
    (void)madvise(memory->pieces.data[i].data, memory->pieces.data[i].size_bytes, MADV_DONTNEED);
  }
  (void)pthread_mutex_unlock(&memory->mutex);
}

void byoc_file_memory_give_back(byoc_file_memory_t *memory, const void *data) {
  piece_t piece = {0};
  (void)pthread_mutex_lock(&memory->mutex);
  for (size_t i = 0; i < memory->pieces.count && piece.data == NULL; i++) {
    if (memory->pieces.data[i].data != data) continue;
    piece = memory->pieces.data[i];
    memory->pieces.data[i] = memory->pieces.data[--memory->pieces.count];
  }
  (void)pthread_mutex_unlock(&memory->mutex);
  if (piece.data == NULL) return;
  (void)munmap(piece.data, piece.size_bytes);
  (void)fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)piece.offset, (off_t)piece.size_bytes);
}
