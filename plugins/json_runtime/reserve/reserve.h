// SPDX-License-Identifier: Apache-2.0
// reserve.h - a library of its own that gives oneDNN memory from a reserve where the system has none.
//
// oneDNN and what it stands on (the C++ library, the OpenMP runtime) end the process where an allocation fails: by an
// exception that nobody catches, by a null pointer that nobody looks at, by exit(). So their allocations go through
// this library, which calls the C library and, only where that fails, takes from pages that were mapped beforehand. No
// call of oneDNN sees a failure then; the engine asks afterwards whether there was one, and gives up in good order.
//
// This holds for the whole process: also the host's own `new` and OpenMP loops take from the reserve then, and their
// allocations are counted with oneDNN's. A count that another thread raised ends a create that had all it needed.
//
// The table of addresses through which a library calls others is changed for that. What stands there has to stay for
// as long as oneDNN does, for the life of the process, and an artifact may be unloaded: hence a library of its own,
// which artifacts carry and load once per process, by its name.
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

// The same change lets this library see OpenMP's loops of oneDNN (parallel.h), if that is built with gcc's: whether it
// does, and whether a loop that this thread began raised the flag of invalid operations since this was asked last, in
// whichever of its threads.
BYOC_RESERVE_EXPORT int32_t byoc_reserve_sees_loops(void);
BYOC_RESERVE_EXPORT int32_t byoc_reserve_take_invalid(void);

#endif // BYOC_DNNL_RESERVE_H_
