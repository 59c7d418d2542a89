// SPDX-License-Identifier: Apache-2.0
// Maps an artifact's weights file, and sets the pointers to the weights.
#define _GNU_SOURCE
#include "core/runtime/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/runtime/file_status.h"

// After file_status.h, because it calls stat.
#include "byoc/verify.h"
#include "core/runtime/huge_pages.h"
#include "core/runtime/own_file.h"
#include "core/runtime/pool.h"

// The one mapping of this artifact in this process.
static byoc_weights_view_t opened; // data NULL: not open yet

// When the artifact is unloaded.
__attribute__((destructor)) static void unmap(void) {
  if (opened.data != NULL) (void)munmap((void *)(uintptr_t)opened.data, (size_t)opened.size_bytes);
  opened = (byoc_weights_view_t){0};
}

static int32_t refuse(int32_t status, const char *path, const char *what, char *message, uint64_t size) {
  (void)snprintf(message, (size_t)size, "the weights file '%s' %s", path, what);
  return status;
}

// The file is in the folder of the artifact, or of the program that contains it.
static bool find_beside(const char *file, int is_static, char *path) {
  Dl_info info;
  if (is_static) {
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
  } else if (!byoc_model_find_own(&info) || !byoc_model_find_own_file(&info, path)) {
    return false;
  }
  char *slash = strrchr(path, '/');
  if (slash == NULL || (size_t)(slash + 1 - path) + strlen(file) >= PATH_MAX) return false;
  strcpy(slash + 1, file);
  return true;
}

static int32_t map(const char *path, char *message, uint64_t size, byoc_weights_view_t *out_view) {
  char what[256];
  struct stat info;
  void *data = MAP_FAILED;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a named pipe would wait for its writer
  bool is_regular = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (is_regular && info.st_size > 0) data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  if (fd >= 0) (void)close(fd);
  if (fd >= 0 && !is_regular) return refuse(BYOC_IO, path, "is not a regular file", message, size);
  if (fd >= 0 && info.st_size == 0) return refuse(BYOC_INVALID_DATA, path, "is empty: copy it again", message, size);
  if (data == MAP_FAILED) {
    (void)snprintf(what, sizeof(what), "cannot be read: %s; copy it beside the artifact, or name it in BYOC_WEIGHTS",
                   strerror(error));
    return refuse(error == ENOMEM ? BYOC_OUT_OF_MEMORY : BYOC_IO, path, what, message, size);
  }
  char reason[512];
  const int32_t status = byoc_weights_check(data, (uint64_t)info.st_size, path, reason, sizeof(reason), out_view);
  if (status == BYOC_OK) return BYOC_OK;
  (void)munmap(data, (size_t)info.st_size);
  (void)snprintf(message, (size_t)size, "the weights file %s", reason);
  return status;
}

// The offset of the weights that are appended to the artifact's file; 0 if there are none.
static uint64_t find_appended(const byoc_seal_source_t *source) {
  const uint64_t end = byoc_seal_elf_end(source), alignment = BYOC_WEIGHTS_APPENDED_ALIGNMENT;
  const uint64_t begin = (end + alignment - 1) / alignment * alignment;
  return end == 0 || begin >= source->size_bytes ? 0 : begin;
}

static int32_t map_appended(char *message, uint64_t size, byoc_weights_view_t *out_view) {
  Dl_info info;
  char path[PATH_MAX];
  byoc_seal_source_t source;
  if (!byoc_model_find_own(&info) || !byoc_model_find_own_file(&info, path)) {
    return refuse(BYOC_IO, "after the artifact's code",
                  "cannot be found: the system does not tell where the artifact is; load it by an absolute path",
                  message, size);
  }
  int32_t status = byoc_seal_open(path, message, size, &source);
  if (status != BYOC_OK) return status;
  const uint64_t begin = find_appended(&source);
  byoc_weights_header_t header;
  void *data = MAP_FAILED;
  if (begin != 0 && byoc_seal_read(&source, begin, &header, sizeof(header)) && header.size_bytes >= sizeof(header) &&
      header.size_bytes <= source.size_bytes - begin) {
    data = mmap(NULL, (size_t)header.size_bytes, PROT_READ, MAP_SHARED, fileno(source.file), (off_t)begin);
  }
  (void)fclose(source.file);
  if (data == MAP_FAILED) {
    return byoc_seal_refuse(BYOC_INVALID_DATA, path,
                            "has lost the weights after its code, as by strip: copy it again, or build it "
                            "again",
                            message, size);
  }
  status = byoc_weights_check(data, header.size_bytes, path, message, size, out_view);
  if (status != BYOC_OK) (void)munmap(data, (size_t)header.size_bytes);
  return status;
}

// Finds the artifact's weights. On failure `data` is not to be used.
static int32_t look_up(const byoc_model_weights_t *weights, const byoc_weights_view_t *view, const char *path,
                       char *message, uint64_t size) {
  uint32_t missing = 0;
  for (uint32_t i = 0; i < weights->weight_count; i++) {
    const byoc_model_weight_t *wanted = &weights->weights[i];
    const byoc_weights_entry_t *entry = byoc_weights_find(view, wanted->hash, wanted->size_bytes);
    missing += entry == NULL;
    weights->data[i] = entry != NULL ? view->data + entry->offset_bytes : NULL;
  }
  if (missing == 0) return BYOC_OK;
  char what[256];
  (void)snprintf(what, sizeof(what),
                 "lacks %u of the %u constants that this artifact takes: it was written for another build; use the one "
                 "that was written with the artifact",
                 (unsigned)missing, (unsigned)weights->weight_count);
  return refuse(BYOC_INVALID_DATA, path, what, message, size);
}

static int32_t verify_contents(const byoc_model_weights_t *weights, const char *path, char *message, uint64_t size) {
  for (uint32_t i = 0; i < weights->weight_count; i++) {
    if (byoc_weights_hash(weights->data[i], weights->weights[i].size_bytes) == weights->weights[i].hash) continue;
    return refuse(BYOC_INVALID_DATA, path, "is damaged: it is not what byoc wrote; copy it again, or build it again",
                  message, size);
  }
  return BYOC_OK;
}

static int32_t open_file(const byoc_model_weights_t *weights, const char *path, int huge_pages, char *message,
                         uint64_t size) {
  byoc_weights_view_t view;
  int32_t status = weights->file != NULL ? map(path, message, size, &view) : map_appended(message, size, &view);
  if (status != BYOC_OK) return status;
  // If they cannot be moved, they stay where they are.
  if (huge_pages) (void)byoc_model_move_to_huge_pages(view.data, view.size_bytes);
  opened = view;
  return BYOC_OK;
}

static int32_t fill(const byoc_model_weights_t *weights, const char *path, int verify, char *message, uint64_t size) {
  byoc_model_weights_state_t *state = weights->state;
  int32_t status = state->is_filled ? BYOC_OK : look_up(weights, &opened, path, message, size);
  if (status == BYOC_OK && verify && !state->is_verified) {
    status = verify_contents(weights, path, message, size);
    state->is_verified = status == BYOC_OK;
  }
  if (status != BYOC_OK || state->is_filled) return status;
  for (uint32_t i = 0; i < weights->use_count; i++) {
    const byoc_model_weight_use_t *use = &weights->uses[i];
    const void *place = weights->data[use->weight] + use->offset_bytes;
    memcpy(use->pointer, &place, sizeof(place)); // a pointer of any type
  }
  state->is_filled = 1;
  return BYOC_OK;
}

int32_t byoc_model_open_weights(const byoc_model_weights_t *weights, const char *path, int is_static, int huge_pages,
                                int verify, char *message, uint64_t size) {
  char beside[PATH_MAX];
  if (weights->file == NULL) path = "after the artifact's code";
  if (path == NULL) path = getenv("BYOC_WEIGHTS");
  if (path == NULL || path[0] == '\0') {
    if (!find_beside(weights->file, is_static, beside)) {
      return refuse(BYOC_IO, weights->file,
                    "cannot be found: the system does not tell where the artifact is; name the file in BYOC_WEIGHTS",
                    message, size);
    }
    path = beside;
  }
  byoc_model_set_up_begin();
  const bool is_first = opened.data == NULL;
  int32_t status = is_first ? open_file(weights, path, huge_pages, message, size) : BYOC_OK;
  if (status == BYOC_OK) status = fill(weights, path, verify, message, size);
  if (status != BYOC_OK && is_first) unmap(); // no context uses it: the next call opens the file again
  byoc_model_set_up_end();
  return status;
}
