// SPDX-License-Identifier: Apache-2.0
// library.h - the process-wide copy of oneDNN, reached through a table of function pointers.
//
// The engine has no undefined symbol of oneDNN, so that an artifact that carries the library inside itself needs
// nothing from the system's linker. The library comes, in this order, from: the process, where some part of it has
// loaded libdnnl.so.2 already; the blobs of the artifact (-deploy=bundle); the system (-deploy=system, evaluator).
// It is never unloaded: OpenMP's worker threads stay inside it for as long as the process lives.
#ifndef BYOC_DNNL_LIBRARY_H_
#define BYOC_DNNL_LIBRARY_H_

#include <dnnl.h>
#include <dnnl_debug.h>

#include "byoc/engine.h"
#include "engine/library/error.h"

#define BYOC_DNNL_SONAME "libdnnl.so.2"

typedef struct byoc_dnnl_api_t {
#define BYOC_DNNL_FUNCTION(name) __typeof__(name) *name;
#include "engine/library/api_functions.def"
#undef BYOC_DNNL_FUNCTION
  // Of the OpenMP runtime that oneDNN is linked to; the thread count is a variable of the calling thread.
  void (*omp_set_num_threads)(int count);
  int (*omp_get_max_threads)(void);
  void (*GOMP_parallel)(void (*body)(void *), void *argument, unsigned threads, unsigned flags);
  // Ends the worker threads that belong to the calling thread; NULL where the runtime is older than OpenMP 5.0.
  int (*omp_pause_resource_all)(int kind);
} byoc_dnnl_api_t;

// Loads the library on the first call of the process, and hands out the same table from then on. A failed load is
// tried again on the next call. Callable from any thread.
int32_t byoc_dnnl_library_get(const byoc_engine_blob_t *blobs, uint32_t blob_count, const byoc_dnnl_api_t **out_api,
                              byoc_dnnl_error_t *error);

#endif // BYOC_DNNL_LIBRARY_H_
