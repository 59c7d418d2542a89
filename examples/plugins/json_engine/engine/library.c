// SPDX-License-Identifier: Apache-2.0
// Loads XNNPACK once per process.
#define _GNU_SOURCE // memfd_create
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "byoc/memory_library.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xnnpack_library_t library;
static int is_ready;

// The process' own, that of the artifact, or that of the system.
static void *open_library(const char *name, const byoc_engine_blob_t *blobs, uint32_t blob_count, char *reason,
                          uint32_t reason_size) {
  const int flags = RTLD_NOW | RTLD_LOCAL;
  void *handle = dlopen(name, flags | RTLD_NOLOAD);
  if (handle != NULL) return handle;
  for (uint32_t i = 0; i < blob_count; ++i) {
    if (strcmp(blobs[i].name, name) != 0) continue;
    return byoc_memory_library_open(name, blobs[i].data, blobs[i].size_bytes, flags, reason, reason_size);
  }
  handle = dlopen(name, flags);
  if (handle == NULL) (void)snprintf(reason, reason_size, "%s", dlerror());
  return handle;
}

static int32_t load(const byoc_engine_blob_t *blobs, uint32_t blob_count, char *message, uint32_t message_size) {
  static const char *const names[XNNPACK_LIBRARY_COUNT] = XNNPACK_LIBRARIES;
  void *handle = NULL;
  for (int i = 0; i < XNNPACK_LIBRARY_COUNT; ++i) {
    handle = open_library(names[i], blobs, blob_count, message, message_size);
    if (handle == NULL) return BYOC_NOT_FOUND;
  }
  // The libraries are never closed, and the last one sees the functions of those that it needs.
  const char *missing = NULL;
#define XNNPACK_FUNCTION(name)                                                                                         \
  library.name = (__typeof__(name) *)dlsym(handle, #name);                                                             \
  if (library.name == NULL) missing = #name;
#include "library.def"
#undef XNNPACK_FUNCTION
  if (missing != NULL) {
    (void)snprintf(message, message_size, "%s has no %s", names[XNNPACK_LIBRARY_COUNT - 1], missing);
    return BYOC_UNSUPPORTED;
  }
  const enum xnn_status status = library.xnn_initialize(NULL);
  if (status == xnn_status_success) return BYOC_OK;
  (void)snprintf(message, message_size, "XNNPACK does not start: status %d", (int)status);
  return status == xnn_status_out_of_memory ? BYOC_OUT_OF_MEMORY : BYOC_UNSUPPORTED;
}

int32_t xnnpack_library_get(const byoc_engine_blob_t *blobs, uint32_t blob_count, const xnnpack_library_t **out_library,
                            char *message, uint32_t message_size) {
  *out_library = NULL;
  int32_t status = BYOC_OK;
  (void)pthread_mutex_lock(&lock);
  if (!is_ready) status = load(blobs, blob_count, message, message_size);
  if (status == BYOC_OK) {
    is_ready = 1;
    *out_library = &library;
  }
  (void)pthread_mutex_unlock(&lock);
  return status;
}
