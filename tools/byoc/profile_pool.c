// SPDX-License-Identifier: Apache-2.0
// Runs the loops of a profiled artifact on the pool that artifacts have, and times each share.
#include "profile_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/runtime/pool.h"

// A share of the running loop, on its own cache line.
typedef struct share_t {
  _Alignas(64) int64_t duration_ns; // negative: there was none
  pthread_t thread;                 // that ran it: one may run the shares of others
} share_t;

struct byoc_profile_pool_t {
  share_t shares[BYOC_MODEL_MAX_THREADS];
  byoc_thread_pool_t table;
  byoc_profile_loops_t loops;
  byoc_parallel_body_t body; // of the running loop
  void *argument;
};

static void run_share(void *self, int64_t begin, int64_t end, int32_t worker) {
  byoc_profile_pool_t *pool = self;
  const int64_t start_ns = byoc_now_ns();
  pool->body(pool->argument, begin, end, worker);
  pool->shares[worker].duration_ns = byoc_now_ns() - start_ns;
  pool->shares[worker].thread = pthread_self();
}

// The time of the thread that ran share `index` in all its shares; 0 if an earlier share has it.
static int64_t thread_ns(const byoc_profile_pool_t *pool, int32_t index) {
  int64_t sum_ns = 0;
  for (int32_t i = 0; i < pool->table.thread_count; ++i) {
    if (pool->shares[i].duration_ns < 0 || !pthread_equal(pool->shares[i].thread, pool->shares[index].thread)) continue;
    if (i < index) return 0;
    sum_ns += pool->shares[i].duration_ns;
  }
  return sum_ns;
}

static void run_loop(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  byoc_profile_pool_t *pool = self;
  pool->body = body;
  pool->argument = argument;
  for (int32_t i = 0; i < pool->table.thread_count; ++i) pool->shares[i].duration_ns = -1;
  const int64_t start_ns = byoc_now_ns();
  byoc_model_pool_run(pool->table.thread_count, run_share, pool, count, grain);
  const int64_t wall_ns = byoc_now_ns() - start_ns;
  int64_t busy_ns = 0, longest_ns = 0;
  int32_t shares = 0;
  for (int32_t i = 0; i < pool->table.thread_count; ++i) {
    if (pool->shares[i].duration_ns < 0) continue;
    const int64_t own_ns = thread_ns(pool, i);
    shares += 1;
    busy_ns += own_ns;
    if (own_ns > longest_ns) longest_ns = own_ns;
  }
  if (shares < 2) return;
  pool->loops.count += 1;
  pool->loops.wall_ns += (double)wall_ns;
  pool->loops.busy_ns += (double)busy_ns;
  pool->loops.longest_ns += (double)longest_ns;
}

byoc_status_t byoc_profile_pool_create(int32_t thread_count, byoc_diag_t *diag, byoc_profile_pool_t **out_pool) {
  *out_pool = NULL;
  byoc_profile_pool_t *pool = aligned_alloc(_Alignof(byoc_profile_pool_t), sizeof(*pool));
  if (pool == NULL) return byoc_diag_out_of_memory(diag);
  *pool = (byoc_profile_pool_t){.table = {.struct_size = sizeof(pool->table), .self = pool, .parallel_for = run_loop}};
  pool->table.thread_count = byoc_model_pool_acquire(thread_count);
  *out_pool = pool;
  return BYOC_OK;
}

void byoc_profile_pool_destroy(byoc_profile_pool_t *pool) {
  if (pool == NULL) return;
  byoc_model_pool_release();
  free(pool);
}

const byoc_thread_pool_t *byoc_profile_pool_table(const byoc_profile_pool_t *pool) {
  return &pool->table;
}

byoc_profile_loops_t byoc_profile_pool_take(byoc_profile_pool_t *pool) {
  const byoc_profile_loops_t loops = pool->loops;
  pool->loops = (byoc_profile_loops_t){0};
  return loops;
}
