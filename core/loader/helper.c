// SPDX-License-Identifier: Apache-2.0
// A thread that does one job at a time beside its owner.
#include "core/loader/helper.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

typedef enum state_t {
  IDLE,
  READY, // no thread has begun the job
  TAKEN, // by the thread
  ENDING,
} state_t;

struct byoc_helper_t {
  byoc_allocator_t allocator;
  pthread_t thread;
  pthread_mutex_t mutex; // of all below
  pthread_cond_t changed;
  state_t state;
  byoc_helper_job_t job;
  void *self;
};

static void *work(void *argument) {
  byoc_helper_t *helper = argument;
  (void)pthread_mutex_lock(&helper->mutex);
  while (helper->state != ENDING) {
    if (helper->state != READY) {
      (void)pthread_cond_wait(&helper->changed, &helper->mutex);
      continue;
    }
    helper->state = TAKEN;
    (void)pthread_mutex_unlock(&helper->mutex);
    helper->job(helper->self);
    (void)pthread_mutex_lock(&helper->mutex);
    helper->state = IDLE;
    (void)pthread_cond_broadcast(&helper->changed);
  }
  (void)pthread_mutex_unlock(&helper->mutex);
  return NULL;
}

// Signals are for the threads of the host.
static bool start_thread(byoc_helper_t *helper) {
  sigset_t all, old;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) return false;
  const bool started = pthread_create(&helper->thread, NULL, work, helper) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  return started;
}

byoc_helper_t *byoc_helper_create(byoc_allocator_t allocator) {
  byoc_helper_t *helper = byoc_allocate(allocator, 1, sizeof(*helper));
  if (helper == NULL) return NULL;
  *helper = (byoc_helper_t){.allocator = allocator};
  (void)pthread_mutex_init(&helper->mutex, NULL);
  (void)pthread_cond_init(&helper->changed, NULL);
  if (start_thread(helper)) return helper;
  (void)pthread_cond_destroy(&helper->changed);
  (void)pthread_mutex_destroy(&helper->mutex);
  byoc_free(allocator, helper);
  return NULL;
}

void byoc_helper_start(byoc_helper_t *helper, byoc_helper_job_t job, void *self) {
  (void)pthread_mutex_lock(&helper->mutex);
  helper->job = job;
  helper->self = self;
  helper->state = READY;
  (void)pthread_cond_broadcast(&helper->changed);
  (void)pthread_mutex_unlock(&helper->mutex);
}

void byoc_helper_finish(byoc_helper_t *helper) {
  (void)pthread_mutex_lock(&helper->mutex);
  const bool is_own = helper->state == READY;
  if (is_own) helper->state = IDLE;
  while (helper->state == TAKEN) (void)pthread_cond_wait(&helper->changed, &helper->mutex);
  (void)pthread_mutex_unlock(&helper->mutex);
  if (is_own) helper->job(helper->self);
}

void byoc_helper_destroy(byoc_helper_t *helper) {
  if (helper == NULL) return;
  byoc_helper_finish(helper);
  (void)pthread_mutex_lock(&helper->mutex);
  helper->state = ENDING;
  (void)pthread_cond_broadcast(&helper->changed);
  (void)pthread_mutex_unlock(&helper->mutex);
  (void)pthread_join(helper->thread, NULL);
  (void)pthread_cond_destroy(&helper->changed);
  (void)pthread_mutex_destroy(&helper->mutex);
  byoc_free(helper->allocator, helper);
}
