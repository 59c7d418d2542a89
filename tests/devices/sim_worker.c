// SPDX-License-Identifier: Apache-2.0
// Native queues of the driver `sim`: a thread that runs what it is given, in order.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/devices/sim.h"

typedef struct work_t {
  void (*run)(void *argument);
  void *argument;
} work_t;

// The queue comes first, so that it is destroyed by its address.
typedef struct worker_t {
  sim_native_queue_t queue;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  work_t *ring; // works[first .. first + count) modulo capacity
  size_t first, count, capacity;
  int ends;
} worker_t;

static void *run_works(void *argument) {
  worker_t *worker = argument;
  pthread_mutex_lock(&worker->lock);
  for (;;) {
    while (!worker->count && !worker->ends) pthread_cond_wait(&worker->changed, &worker->lock);
    if (!worker->count) break;
    work_t work = worker->ring[worker->first];
    worker->first = (worker->first + 1) % worker->capacity;
    --worker->count;
    pthread_mutex_unlock(&worker->lock);
    work.run(work.argument);
    pthread_mutex_lock(&worker->lock);
  }
  pthread_mutex_unlock(&worker->lock);
  return NULL;
}

static int grow(worker_t *worker) {
  size_t capacity = worker->capacity ? 2 * worker->capacity : 64;
  work_t *ring = malloc(capacity * sizeof(*ring));
  if (!ring) return 0;
  for (size_t i = 0; i < worker->count; ++i) ring[i] = worker->ring[(worker->first + i) % worker->capacity];
  free(worker->ring);
  worker->ring = ring;
  worker->first = 0;
  worker->capacity = capacity;
  return 1;
}

static int submit(void *self, void (*run)(void *argument), void *argument) {
  worker_t *worker = self;
  pthread_mutex_lock(&worker->lock);
  int has_room = worker->count < worker->capacity || grow(worker);
  if (has_room) {
    worker->ring[(worker->first + worker->count) % worker->capacity] = (work_t){run, argument};
    ++worker->count;
    pthread_cond_signal(&worker->changed);
  }
  pthread_mutex_unlock(&worker->lock);
  return has_room ? 0 : 1;
}

sim_native_queue_t *sim_native_queue_create(void) {
  worker_t *worker = calloc(1, sizeof(*worker));
  if (!worker) return NULL;
  worker->queue = (sim_native_queue_t){submit, worker};
  pthread_mutex_init(&worker->lock, NULL);
  pthread_cond_init(&worker->changed, NULL);
  // Signals are for the program's own threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int failed = pthread_create(&worker->thread, NULL, run_works, worker);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!failed) return &worker->queue;
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  free(worker);
  return NULL;
}

void sim_native_queue_destroy(sim_native_queue_t *queue) {
  if (!queue) return;
  worker_t *worker = queue->self;
  pthread_mutex_lock(&worker->lock);
  worker->ends = 1;
  pthread_cond_signal(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  pthread_join(worker->thread, NULL);
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  free(worker->ring);
  free(worker);
}
