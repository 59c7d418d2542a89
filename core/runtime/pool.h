// SPDX-License-Identifier: Apache-2.0
// The threads of an artifact: one pool, shared by its contexts. It is started when the first context that wants more
// than one thread is created; its threads are joined when the last such context is destroyed.
//
// A loop is split statically into one chunk ("share") per thread; the caller runs the first one. A thread that has
// finished its chunk also runs chunks that other threads have not begun. So a thread that has no processor delays one
// chunk at most. Results do not depend on which thread runs a chunk. Waiting workers spin for 0.2 ms, then sleep; a longer run wakes them when
// it begins. They sleep at once where an engine is about to run, whose library may have threads of its own. One loop
// runs at a time: a context that finds the pool busy runs its loop on its own thread (it neither waits nor fails, and
// uses the processor that it already has).
//
// A child process has none of the threads. Contexts that it creates start others; those that it inherited use the
// threads that there are.
#ifndef BYOC_CORE_RUNTIME_POOL_H_
#define BYOC_CORE_RUNTIME_POOL_H_

#include <stdint.h>

#include "byoc/call.h"
#include "core/runtime/crowd.h"

// The largest thread count; a larger one is refused.
#define BYOC_MODEL_MAX_THREADS 256
// The stack of each worker thread, whatever the limits of the process are: far more than kernels and engines need.
#define BYOC_WORKER_STACK_BYTES (1 << 20)

// Sets how often threads poll for more work before they sleep, from the next byoc_model_pool_acquire on; otherwise they
// do so for 0.2 ms. Ignored if there are more threads than processors.
void byoc_model_pool_set_spin(uint32_t turns);
// Starts threads until there are `thread_count` (the caller's included) and counts one more user. Returns how many
// there are: fewer if the system refuses more.
int32_t byoc_model_pool_acquire(int32_t thread_count);
// Wakes those of the other threads that sleep, so that they look for work for a while; not those that rest.
void byoc_model_pool_wake(int32_t thread_count);
// Removes one user; with the last one the threads end.
void byoc_model_pool_release(void);
// Rises in every child that is forked after the first call of this function.
uint32_t byoc_model_fork_generation(void);
// Around what the first context of the process makes for all of them: one thread at a time, and forks wait for its end.
void byoc_model_set_up_begin(void);
void byoc_model_set_up_end(void);
// The contract of byoc_runtime_t.parallel_for, over at most `thread_count` threads.
void byoc_model_pool_run(int32_t thread_count, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);
// The same on as many of the threads as `crowd` finds worth using.
void byoc_model_pool_run_in_crowd(byoc_crowd_t *crowd, int32_t thread_count, byoc_parallel_body_t body, void *argument,
                                  int64_t count, int64_t grain);

// Workers that wait sleep at once, until the next loop.
void byoc_model_pool_rest(void);

#endif // BYOC_CORE_RUNTIME_POOL_H_
