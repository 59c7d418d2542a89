// SPDX-License-Identifier: Apache-2.0
// A thread that does one job at a time beside its owner. Who waits for a job that the thread has not taken up yet does
// it itself, so that nobody waits for a thread that the machine has no processor for.
#ifndef BYOC_CORE_LOADER_HELPER_H_
#define BYOC_CORE_LOADER_HELPER_H_

#include "core/base/allocator.h"

typedef struct byoc_helper_t byoc_helper_t;
typedef void (*byoc_helper_job_t)(void *self);

// NULL: there is no memory or no thread for it.
byoc_helper_t *byoc_helper_create(byoc_allocator_t allocator);
// Gives it a job. The one before it has been finished.
void byoc_helper_start(byoc_helper_t *helper, byoc_helper_job_t job, void *self);
// Returns when the job is done; at once if there is none.
void byoc_helper_finish(byoc_helper_t *helper);
// Finishes the job first. NULL is nothing.
void byoc_helper_destroy(byoc_helper_t *helper);

#endif // BYOC_CORE_LOADER_HELPER_H_
