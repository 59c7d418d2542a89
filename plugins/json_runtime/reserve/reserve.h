// SPDX-License-Identifier: Apache-2.0
// reserve.h - a library of its own that gives oneDNN memory from a reserve where the system has none.
//
// oneDNN, the C++ library and the OpenMP runtime end the process if an allocation fails: by an uncaught exception, by a
// null pointer that is not checked, by exit(). So their allocations go through this library, which calls the C library.
// Only if that fails, it takes from pages that were mapped beforehand. No call of oneDNN sees a failure then. The
// engine asks afterwards whether there was one, and ends with an error.
//
// This holds for the whole process: also the host's own `new` and OpenMP loops take from the reserve then, and their
// allocations are counted with oneDNN's. A count that another thread raised ends a create that had all it needed.
//
// For that, the table of addresses is changed through which a library calls others. Its new entries have to stay valid
// for the life of the process, as oneDNN does, but an artifact may be unloaded. Hence a library of its own, which
// artifacts carry and load once per process, by its name.
#ifndef BYOC_DNNL_RESERVE_H_
#define BYOC_DNNL_RESERVE_H_

#include <stddef.h>
#include <stdint.h>

// The number changes with the functions below.
#define BYOC_DNNL_RESERVE_SONAME "libbyoc_dnnl_reserve.so.2"
// Beside it (thread_variables.c).
#define BYOC_DNNL_THREADS_SONAME "libbyoc_dnnl_threads.so.1"

#define BYOC_RESERVE_EXPORT      __attribute__((visibility("default")))

// Maps the reserve. Returns 0 if there is no memory for it.
BYOC_RESERVE_EXPORT int32_t byoc_reserve_open(void);

// Lets the library behind a handle of dlopen allocate through this one. `is_new`: no thread has been in it. One caller
// at a time; again has no effect. Returns 0 if the system does not permit it, and nothing has changed then; errno says
// why.
BYOC_RESERVE_EXPORT int32_t byoc_reserve_protect(void *handle, int32_t is_new);

// How many allocations of this process the reserve has served.
BYOC_RESERVE_EXPORT uint64_t byoc_reserve_count(void);

// The same change lets this library see OpenMP's loops of oneDNN (parallel.h), if oneDNN is built with gcc's runtime.
// The first function says whether it sees them. The second says whether a loop that this thread began has raised the
// flag of invalid operations in any of its threads since the last call.
BYOC_RESERVE_EXPORT int32_t byoc_reserve_sees_loops(void);
BYOC_RESERVE_EXPORT int32_t byoc_reserve_take_invalid(void);

#endif // BYOC_DNNL_RESERVE_H_
