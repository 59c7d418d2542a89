// SPDX-License-Identifier: Apache-2.0
// Opens the process-wide copy of oneDNN and fills the table of its functions.
#define _GNU_SOURCE // RTLD_NOLOAD
#include "engine/library/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/archive.h"
#include "engine/library/bundle.h"
#include "engine/library/openmp.h"
#include "engine/library/out_of_memory.h"

static pthread_mutex_t library_mutex = PTHREAD_MUTEX_INITIALIZER;
static byoc_dnnl_api_t library_api;
static int library_ready;

static int32_t fill_table(void *handle, byoc_dnnl_api_t *api, byoc_dnnl_error_t *error) {
  const char *missing = NULL;
#define BYOC_DNNL_FUNCTION(name)                                                                                       \
  if (missing == NULL && !byoc_plugin_resolve(handle, #name, &api->name)) missing = #name;
#include "engine/library/api_functions.def"
#undef BYOC_DNNL_FUNCTION
  if (missing == NULL && !byoc_plugin_resolve(handle, "omp_set_num_threads", &api->omp_set_num_threads))
    missing = "omp_set_num_threads (of the OpenMP runtime)";
  if (missing == NULL && !byoc_plugin_resolve(handle, "omp_get_max_threads", &api->omp_get_max_threads))
    missing = "omp_get_max_threads (of the OpenMP runtime)";
  if (missing == NULL && !byoc_plugin_resolve(handle, "GOMP_parallel", &api->GOMP_parallel))
    missing = "GOMP_parallel (of the OpenMP runtime)";
  if (missing != NULL)
    return byoc_dnnl_fail(error, BYOC_UNSUPPORTED,
                          "the loaded " BYOC_DNNL_SONAME " lacks %s; oneDNN 2.6 with its OpenMP runtime is needed",
                          missing);
  // The descriptors are plain structs of dnnl.h: their layout holds within a major version, functions only get added.
  const dnnl_version_t *version = api->dnnl_version();
  if (version->major != DNNL_VERSION_MAJOR || version->minor < DNNL_VERSION_MINOR)
    return byoc_dnnl_fail(error, BYOC_VERSION, "the loaded " BYOC_DNNL_SONAME " is oneDNN %d.%d, %d.%d or newer needed",
                          version->major, version->minor, DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
  return BYOC_OK;
}

// Each artifact of a process has its own copy of this code and shares no symbol with the others, but two must not load
// the library at the same time: the second would find it half loaded. So all take a lock on the process' own folder.
static int lock_process(void) {
  int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) (void)flock(fd, LOCK_EX); // without the lock only that protection is lost
  return fd;
}

// Lets oneDNN and the libraries that it needs, as they were found in the process or the system, allocate through the
// reserve.
static int32_t protect(void *library, int is_new, byoc_dnnl_error_t *error) {
  static const char *const below[] = {"libstdc++.so.6", "libgomp.so.1"};
  int32_t status = byoc_dnnl_reserve_protect(BYOC_DNNL_SONAME, library, is_new, error);
  for (size_t i = 0; i < sizeof(below) / sizeof(below[0]) && status == BYOC_OK; ++i) {
    void *handle = dlopen(below[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL) continue; // this one was built otherwise
    status = byoc_dnnl_reserve_protect(below[i], handle, is_new, error);
    (void)dlclose(handle);
  }
  return status;
}

static int32_t load(const byoc_engine_blob_t *blobs, uint32_t blob_count, byoc_dnnl_error_t *error) {
  byoc_dnnl_openmp_enter();
  int32_t status = byoc_dnnl_reserve_load(error);
  if (status != BYOC_OK) return status;
  void *handle = NULL;
  status = byoc_dnnl_find_loaded(BYOC_DNNL_SONAME, &handle, error);
  if (status != BYOC_OK) return status;
  int is_new = handle == NULL, is_protected = 0;
  if (handle == NULL && blob_count > 0) {
    status = byoc_dnnl_bundle_load(blobs, blob_count, BYOC_DNNL_SONAME, &handle, error);
    if (status != BYOC_OK) return status;
    is_protected = 1;
  }
  if (handle == NULL) handle = dlopen(BYOC_DNNL_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *reason = dlerror();
    return byoc_dnnl_fail(error, BYOC_NOT_FOUND,
                          "cannot load oneDNN from the system: %s; install libdnnl2, or build with dnnl -deploy=bundle",
                          reason != NULL ? reason : BYOC_DNNL_SONAME);
  }
  if (!is_protected) status = protect(handle, is_new, error);
  if (status == BYOC_OK) status = fill_table(handle, &library_api, error);
  if (!byoc_plugin_resolve(handle, "omp_pause_resource_all", &library_api.omp_pause_resource_all))
    library_api.omp_pause_resource_all = NULL;
  return status; // the handle is never closed: the library stays for the process' life
}

// A child process has a copy of OpenMP's records of the forking thread's workers, but not the workers, and its first
// loop would wait for them forever. So the workers end before the fork; the next loop of the parent starts them again.
static void before_fork(void) {
  if (library_api.omp_pause_resource_all != NULL) (void)library_api.omp_pause_resource_all(1); // omp_pause_soft
}

int32_t byoc_dnnl_library_get(const byoc_engine_blob_t *blobs, uint32_t blob_count, const byoc_dnnl_api_t **out_api,
                              byoc_dnnl_error_t *error) {
  *out_api = NULL;
  int32_t status = BYOC_OK;
  if (pthread_mutex_lock(&library_mutex) != 0) return byoc_dnnl_fail(error, BYOC_INTERNAL, "cannot lock the loader");
  if (!library_ready) {
    int lock = lock_process();
    status = load(blobs, blob_count, error);
    byoc_dnnl_openmp_leave();
    if (lock >= 0) (void)close(lock); // which releases it
    if (status == BYOC_OK && pthread_atfork(before_fork, NULL, NULL) != 0) {
      status = byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
    }
    library_ready = status == BYOC_OK;
  }
  (void)pthread_mutex_unlock(&library_mutex);
  if (status == BYOC_OK) *out_api = &library_api;
  return status;
}
