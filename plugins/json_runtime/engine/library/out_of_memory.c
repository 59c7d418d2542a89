// SPDX-License-Identifier: Apache-2.0
// Loads the library of the reserve, which is a part of the engine's archive, once per process.
#include "engine/library/out_of_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine/library/bundle.h"
#include "reserve/reserve.h"

extern const uint8_t byoc_embed_dnnl_reserve[], byoc_embed_dnnl_threads[];
extern const uint64_t byoc_embed_dnnl_reserve_size, byoc_embed_dnnl_threads_size;

// Under the loader's lock; read by others once the library of functions is ready.
static __typeof__(byoc_reserve_protect) *protect;
static __typeof__(byoc_reserve_count) *count;
static __typeof__(byoc_reserve_sees_loops) *sees_loops;
static __typeof__(byoc_reserve_take_invalid) *take_invalid;

int32_t byoc_dnnl_reserve_load(byoc_dnnl_error_t *error) {
  if (protect != NULL) return BYOC_OK;
  // A system without /proc has no memory files that can be loaded. There oneDNN comes from the system, as it is.
  if (access("/proc/self/fd", X_OK) != 0) return BYOC_OK;
  const byoc_engine_blob_t blob = {
      .name = BYOC_DNNL_RESERVE_SONAME, .data = byoc_embed_dnnl_reserve, .size_bytes = byoc_embed_dnnl_reserve_size};
  void *handle = NULL;
  int32_t status = byoc_dnnl_bundle_load(&blob, 1, blob.name, &handle, error);
  if (status == BYOC_UNSUPPORTED) return BYOC_OK; // a policy forbids memory files that are executed: as without /proc
  if (status != BYOC_OK) return status;
  // ISO C has no conversion from an object pointer to a function pointer; POSIX guarantees that the bytes are the same.
  void *symbols[] = {dlsym(handle, "byoc_reserve_open"), dlsym(handle, "byoc_reserve_protect"),
                     dlsym(handle, "byoc_reserve_count"), dlsym(handle, "byoc_reserve_take_invalid"),
                     dlsym(handle, "byoc_reserve_sees_loops")};
  for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i)
    if (symbols[i] == NULL)
      return byoc_dnnl_fail(error, BYOC_VERSION, "the loaded %s lacks a function of byoc", blob.name);
  __typeof__(byoc_reserve_open) *open = NULL;
  memcpy(&open, &symbols[0], sizeof(open));
  if (!open()) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory for the reserve of oneDNN");
  memcpy(&count, &symbols[2], sizeof(count));
  memcpy(&take_invalid, &symbols[3], sizeof(take_invalid));
  memcpy(&sees_loops, &symbols[4], sizeof(sees_loops));
  memcpy(&protect, &symbols[1], sizeof(protect));
  return BYOC_OK;
}

// Loads the library that holds the C++ library's variables per thread (reserve/thread_variables.c). If threads have no
// memory left for them, or the process loaded the C++ library earlier, its variables stay where they are.
static void settle_thread_variables(void) {
  const byoc_engine_blob_t blob = {
      .name = BYOC_DNNL_THREADS_SONAME, .data = byoc_embed_dnnl_threads, .size_bytes = byoc_embed_dnnl_threads_size};
  void *handle = NULL;
  byoc_dnnl_error_t ignored;
  (void)byoc_dnnl_bundle_load(&blob, 1, blob.name, &handle, &ignored);
}

int32_t byoc_dnnl_reserve_protect(const char *name, void *handle, int is_new, byoc_dnnl_error_t *error) {
  if (protect == NULL) return BYOC_OK;
  errno = 0;
  // If a policy forbids it, the library allocates as it always does.
  if (!protect(handle, is_new) && errno == ENOMEM)
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory while byoc changed the table of addresses of %s",
                          name);
  if (strcmp(name, "libstdc++.so.6") == 0) settle_thread_variables();
  return BYOC_OK;
}

uint64_t byoc_dnnl_reserve_count(void) {
  return count != NULL ? count() : 0;
}

int byoc_dnnl_reserve_sees_loops(void) {
  return sees_loops != NULL && sees_loops();
}

int byoc_dnnl_reserve_take_invalid(void) {
  return take_invalid != NULL && take_invalid();
}
