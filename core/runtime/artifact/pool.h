// The threads of an artifact: one pool, shared by its contexts, made when the first context that wants more than one
// thread is created and gone, threads joined, when the last one is destroyed.
//
// A loop is split statically into one share a thread; the caller runs the first share. Workers that wait spin for some
// tens of microseconds, then sleep. One loop runs at a time: a second context that finds the pool busy runs its loop on
// its own thread (it neither waits nor fails, and uses the processor that it already has).
//
// A child process has none of the threads. Contexts that it makes start others; those that it inherited run their loops
// over what is there.
#ifndef BYOC_CORE_RUNTIME_ARTIFACT_POOL_H_
#define BYOC_CORE_RUNTIME_ARTIFACT_POOL_H_

#include <stdint.h>

#include "byoc/call.h"

// Largest thread count; more is refused.
#define BYOC_MODEL_MAX_THREADS 256

// Processors that this process may use, at least 1.
int32_t byoc_model_processor_count(void);

// Turns that threads wait for more work before they sleep, from the next byoc_model_pool_acquire on; ignored where
// there are more threads than processors.
void byoc_model_pool_set_spin(uint32_t turns);
// Makes sure that `thread_count` threads (the caller's included) are there and counts one more user. Returns how many
// there are: fewer where the system gives no more.
int32_t byoc_model_pool_acquire(int32_t thread_count);
// One user less; with the last one the threads end.
void byoc_model_pool_release(void);
// Rises in every child that is forked once this was called for the first time.
uint32_t byoc_model_fork_generation(void);
// The contract of byoc_runtime_t.parallel_for, over at most `thread_count` threads.
void byoc_model_pool_run(int32_t thread_count, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);

#endif // BYOC_CORE_RUNTIME_ARTIFACT_POOL_H_
