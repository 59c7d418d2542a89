// SPDX-License-Identifier: Apache-2.0
// Loads XNNPACK once per process.
#define _GNU_SOURCE // memfd_create
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xnnpack_library_t library;
static int is_ready;

static int write_all(int fd, const char *data, uint64_t size_bytes) {
  while (size_bytes > 0) {
    const ssize_t written = write(fd, data, size_bytes);
    if (written <= 0) return 0;
    data += written;
    size_bytes -= (uint64_t)written;
  }
  return 1;
}

// The dynamic linker takes a library for loaded if it has seen its path before, and numbers of descriptors are used
// again: so the path gets as many "./" as it takes to be a new one.
static void *open_descriptor(int fd) {
  char path[128] = "/proc/self/fd/";
  for (size_t at = strlen(path); at + 16 < sizeof(path); at += 2) {
    (void)snprintf(path + at, sizeof(path) - at, "%d", fd);
    void *loaded = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == NULL) return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    (void)dlclose(loaded);
    memcpy(path + at, "./", 2);
  }
  return NULL;
}

// Opens a library that travels in the artifact, through a file in memory.
static void *open_blob(const byoc_engine_blob_t *blob) {
  const int fd = memfd_create(blob->name, MFD_CLOEXEC);
  if (fd < 0) return NULL;
  void *handle = write_all(fd, blob->data, blob->size_bytes) ? open_descriptor(fd) : NULL;
  (void)close(fd);
  return handle;
}

static void *open_library(const char *name, const byoc_engine_blob_t *blobs, uint32_t blob_count) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_NOLOAD);
  for (uint32_t i = 0; handle == NULL && i < blob_count; ++i)
    if (strcmp(blobs[i].name, name) == 0) handle = open_blob(&blobs[i]);
  return handle != NULL ? handle : dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static int32_t load(const byoc_engine_blob_t *blobs, uint32_t blob_count, char *message, uint32_t message_size) {
  static const char *const names[XNNPACK_LIBRARY_COUNT] = XNNPACK_LIBRARIES;
  void *handle = NULL;
  for (int i = 0; i < XNNPACK_LIBRARY_COUNT; ++i) {
    handle = open_library(names[i], blobs, blob_count);
    if (handle == NULL) {
      const char *reason = dlerror();
      (void)snprintf(message, message_size, "cannot load %s: %s", names[i],
                     reason != NULL ? reason : "no reason given");
      return BYOC_NOT_FOUND;
    }
  }
  // The libraries stay loaded (RTLD_NODELETE), and the last one sees the functions of those that it needs.
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
