// SPDX-License-Identifier: Apache-2.0
// out_of_memory.h - keeps oneDNN from ending the process when memory runs out (reserve/reserve.h), and reports how
// often memory ran out.
#ifndef BYOC_DNNL_OUT_OF_MEMORY_H_
#define BYOC_DNNL_OUT_OF_MEMORY_H_

#include "engine/library/error.h"

// Loads the library of the reserve. Called before oneDNN is loaded, by one thread of the process at a time. Succeeds
// without one where the system does not permit it (no /proc, or a policy against memory files that are executed).
int32_t byoc_dnnl_reserve_load(byoc_dnnl_error_t *error);

// Lets a library that stays loaded allocate through the reserve; no effect where that could not be loaded, or where the
// system does not permit it. `is_new`: no thread has been in it.
int32_t byoc_dnnl_reserve_protect(const char *name, void *handle, int is_new, byoc_dnnl_error_t *error);

// How often memory ran out in this process, under a library that is protected. If the number has grown, objects that
// oneDNN made meanwhile lie in the reserve, and should be destroyed soon.
uint64_t byoc_dnnl_reserve_count(void);

// Whether the reserve's library sees the flags of all threads that oneDNN computes on.
int byoc_dnnl_reserve_sees_loops(void);
// Whether a loop that this thread began has raised the flag of invalid operations since the last call.
int byoc_dnnl_reserve_take_invalid(void);

#endif // BYOC_DNNL_OUT_OF_MEMORY_H_
