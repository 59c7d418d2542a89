// SPDX-License-Identifier: Apache-2.0
// The thread pool of an artifact, shared by its contexts. It starts with the first context that wants more than one
// thread, and its threads end with the last such context.
//
// A loop is divided into one chunk for each thread; the caller runs the first chunk. A thread that has ended its chunk
// runs chunks of threads that have not begun. So a thread without a processor delays the loop by one chunk at most.
// Results do not depend on which thread runs a chunk. Waiting workers poll for 0.2 ms, then sleep; a longer run wakes
// them when it begins. Before an engine runs they sleep at once, because its library may have threads of its own. One
// loop runs at a time: if the pool is busy, a context runs its loop on its own thread.
//
// A forked child has none of the threads. Contexts that it creates start new ones; contexts that it inherited use
// these.
#ifndef BYOC_CORE_RUNTIME_POOL_H_
#define BYOC_CORE_RUNTIME_POOL_H_

#include <stdint.h>

#include "byoc/call.h"
#include "core/runtime/crowd.h"

// The largest thread count; a larger one is refused.
#define BYOC_MODEL_MAX_THREADS 256
// The stack of each worker thread, independent of the limits of the process: far more than kernels and engines need.
#define BYOC_WORKER_STACK_BYTES (1 << 20)

// Sets the number of polls before a thread sleeps, from the next byoc_model_pool_acquire on; without it threads poll
// for 0.2 ms. If there are more threads than processors, they do not poll.
void byoc_model_pool_set_spin(uint32_t turns);
// Starts threads until there are `thread_count` with the caller's, and counts one more user. Returns the number of
// threads: fewer if the system refuses more.
int32_t byoc_model_pool_acquire(int32_t thread_count);
// Wakes sleeping workers, so that they poll for work; not after byoc_model_pool_rest.
void byoc_model_pool_wake(int32_t thread_count);
// Removes one user; with the last one the threads end.
void byoc_model_pool_release(void);
// Rises in every child that is forked after the first call of this function.
uint32_t byoc_model_fork_generation(void);
// Enclose the set-up that the first context does for all: one thread at a time does it, and forks wait for its end.
void byoc_model_set_up_begin(void);
void byoc_model_set_up_end(void);
// The contract of byoc_runtime_t.parallel_for, over at most `thread_count` threads.
void byoc_model_pool_run(int32_t thread_count, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);
// The same on the number of threads that `crowd` chooses.
void byoc_model_pool_run_in_crowd(byoc_crowd_t *crowd, int32_t thread_count, byoc_parallel_body_t body, void *argument,
                                  int64_t count, int64_t grain);

// Waiting workers sleep at once, until the next loop.
void byoc_model_pool_rest(void);

#endif // BYOC_CORE_RUNTIME_POOL_H_
