// SPDX-License-Identifier: Apache-2.0
// Serves requests in batches: workers with a context each, and one pool of the program's threads for both.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lenet.h"

enum { PIXELS = 28 * 28, CLASSES = 10, MOST = 8, REQUESTS = 64, WORKERS = 2, HELPERS = 1 };

// ---- the pool: loops of the model are split between the thread that calls and the helpers ----

typedef struct pool_t {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void (*body)(void *argument, int64_t begin, int64_t end, int32_t worker);
  void *argument;
  int64_t count, shares, taken, done; // of the loop that runs; shares 0: none does
  bool stopping;
} pool_t;
static pool_t pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

// Runs shares until none is left. Call with the lock held.
static void take_shares(void) {
  while (pool.taken < pool.shares) {
    const int64_t share = pool.taken++, size = (pool.count + pool.shares - 1) / pool.shares;
    const int64_t begin = share * size, end = begin + size < pool.count ? begin + size : pool.count;
    pthread_mutex_unlock(&pool.lock);
    if (begin < end) pool.body(pool.argument, begin, end, (int32_t)share);
    pthread_mutex_lock(&pool.lock);
    if (++pool.done == pool.shares) pthread_cond_broadcast(&pool.changed);
  }
}

static void *help(void *unused) {
  pthread_mutex_lock(&pool.lock);
  while (!pool.stopping) {
    take_shares();
    if (!pool.stopping) pthread_cond_wait(&pool.changed, &pool.lock);
  }
  pthread_mutex_unlock(&pool.lock);
  return unused;
}

static void parallel_for(void *self, void (*body)(void *, int64_t, int64_t, int32_t), void *argument, int64_t count,
                         int64_t grain) {
  (void)self;
  pthread_mutex_lock(&pool.lock);
  const bool is_alone = pool.shares > 0 || count < 2 * (grain > 1 ? grain : 1); // busy, or too little to share
  if (!is_alone) {
    pool.body = body, pool.argument = argument, pool.count = count;
    pool.taken = pool.done = 0, pool.shares = HELPERS + 1;
    pthread_cond_broadcast(&pool.changed);
    take_shares();
    while (pool.done < pool.shares) pthread_cond_wait(&pool.changed, &pool.lock);
    pool.shares = 0;
  }
  pthread_mutex_unlock(&pool.lock);
  if (is_alone) body(argument, 0, count, 0);
}

// ---- the requests ----

static float images[REQUESTS][PIXELS], answers[REQUESTS][CLASSES];
static atomic_int next_request, batches, failures;
static lenet_model_t model;

static void *work(void *unused) {
  const byoc_thread_pool_t threads = {sizeof(threads), HELPERS + 1, NULL, parallel_for};
  const byoc_context_options_t options = {.struct_size = sizeof(options), .pool = &threads};
  lenet_context_t context;
  if (lenet_create(&model, &options, &context) != BYOC_OK) {
    fprintf(stderr, "%s\n", lenet_error(NULL, &model));
    atomic_fetch_add(&failures, 1);
    return unused;
  }
  // What waits is one batch. Here all requests wait already; a server would take what its queue holds.
  for (int first; (first = atomic_fetch_add(&next_request, MOST)) < REQUESTS;) {
    const int count = first + MOST < REQUESTS ? MOST : REQUESTS - first;
    const int64_t dims[] = {count, 1, 28, 28};
    byoc_argument_t scores;
    if (lenet_run(&context, images[first], dims, &scores) != BYOC_OK) {
      fprintf(stderr, "%s\n", lenet_error(&context, &model));
      atomic_fetch_add(&failures, 1);
      break;
    }
    memcpy(answers[first], scores.data, sizeof(answers[0]) * (size_t)count);
    atomic_fetch_add(&batches, 1);
  }
  lenet_destroy(&context);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t workers[WORKERS], helpers[HELPERS];
  if (lenet_load(argc > 1 ? argv[1] : "./lenet.so", &model) != BYOC_OK) {
    fprintf(stderr, "%s\n", model.message);
    return 1;
  }
  // Every second request is the same, so that its answers can be compared across batches and workers.
  for (int r = 0; r < REQUESTS; r++) {
    for (int i = 0; i < PIXELS; i++) images[r][i] = (float)(i % 28) / 28 + (r % 2 == 0 ? 0 : (float)r / 100);
  }
  for (int i = 0; i < HELPERS; i++) pthread_create(&helpers[i], NULL, help, NULL);
  for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, work, NULL);
  for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
  pthread_mutex_lock(&pool.lock);
  pool.stopping = true;
  pthread_cond_broadcast(&pool.changed);
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < HELPERS; i++) pthread_join(helpers[i], NULL);
  for (int r = 2; r < REQUESTS; r += 2) {
    for (int i = 0; i < CLASSES; i++) {
      const float difference = answers[r][i] - answers[0][i];
      if (!(difference < 1e-5f && difference > -1e-5f)) atomic_fetch_add(&failures, 1);
    }
  }
  if (failures == 0) printf("%d requests answered in %d batches, all right\n", (int)REQUESTS, (int)batches);
  lenet_unload(&model);
  return failures > 0;
}
