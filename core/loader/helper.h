// SPDX-License-Identifier: Apache-2.0
// A thread that does one job at a time beside its owner. If the owner waits for a job that the thread has not begun,
// the owner does it itself: it never waits for a thread that has no processor.
#ifndef BYOC_CORE_LOADER_HELPER_H_
#define BYOC_CORE_LOADER_HELPER_H_

#include "core/base/allocator.h"

typedef struct byoc_helper_t byoc_helper_t;
typedef void (*byoc_helper_job_t)(void *self);

// NULL: there is no memory or no thread for it.
byoc_helper_t *byoc_helper_create(byoc_allocator_t allocator);
// Gives the thread a job. The previous job must be finished.
void byoc_helper_start(byoc_helper_t *helper, byoc_helper_job_t job, void *self);
// Returns when the job is done, or at once if there is none.
void byoc_helper_finish(byoc_helper_t *helper);
// Finishes the job first. Accepts NULL.
void byoc_helper_destroy(byoc_helper_t *helper);

#endif // BYOC_CORE_LOADER_HELPER_H_
