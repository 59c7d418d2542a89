// SPDX-License-Identifier: Apache-2.0
// library.h - XNNPACK, found at run time: in the process, in the artifact, or on the system.
#ifndef XNNPACK_ENGINE_LIBRARY_H_
#define XNNPACK_ENGINE_LIBRARY_H_

#include <stdint.h>
#include <xnnpack.h>

#include "byoc/engine.h"

// The libraries, each behind those that it needs.
#define XNNPACK_LIBRARIES                                                                                              \
  { "libcpuinfo.so.0", "libpthreadpool.so.0", "libXNNPACK.so.0" }
enum { XNNPACK_LIBRARY_COUNT = 3 };

// The functions, by their own names.
typedef struct xnnpack_library_t {
#define XNNPACK_FUNCTION(name) __typeof__(name) *name;
#include "library.def"
#undef XNNPACK_FUNCTION
} xnnpack_library_t;

// Loads the libraries, those that the process does not have yet from `blobs` or else from the system, and initializes
// XNNPACK. What is loaded stays for the life of the process. May be called from several threads at once. On failure
// returns a status and writes the reason into `message`.
int32_t xnnpack_library_get(const byoc_engine_blob_t *blobs, uint32_t blob_count, const xnnpack_library_t **out_library,
                            char *message, uint32_t message_size);

#endif // XNNPACK_ENGINE_LIBRARY_H_
