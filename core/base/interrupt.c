// SPDX-License-Identifier: Apache-2.0
// The handlers of SIGINT, SIGTERM and SIGBUS, and the functions that they call.
#define _GNU_SOURCE
#include "core/base/interrupt.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM};
enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]) };

typedef void (*end_fn_t)(void);
static _Atomic(end_fn_t) ends[BYOC_INTERRUPT_STAGE_COUNT];
static atomic_bool has_ended; // the handler runs

static sigset_t both(void) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < NUMBER_COUNT; i++) sigaddset(&set, numbers[i]);
  return set;
}

static void end_stages(void) {
  for (int stage = 0; stage < BYOC_INTERRUPT_STAGE_COUNT; stage++) {
    end_fn_t call = atomic_load(&ends[stage]);
    if (call != NULL) call();
  }
}

void byoc_interrupt_end(void) {
  while (atomic_exchange(&has_ended, true)) (void)pause(); // another thread ends the process
  end_stages();
}

static void end(int number) {
  atomic_store(&has_ended, true);
  end_stages();
  (void)signal(number, SIG_DFL);
  (void)raise(number); // blocked until this returns
}

// Another program has cut a mapped file short: its bytes are gone, and code that reads them cannot go on.
static void end_by_lost_file(int number, siginfo_t *info, void *context) {
  static const char text[] = "error: a file was cut short while it was being read\n";
  (void)context;
  if (info->si_code != BUS_ADRERR) {
    (void)signal(number, SIG_DFL);
    return; // repeats the access, which fails again
  }
  byoc_interrupt_end();
  ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
  (void)written; // an error cannot be reported any more
  _exit(EXIT_FAILURE);
}

void byoc_interrupt_install(void) {
  struct sigaction bus;
  const struct sigaction lost = {.sa_sigaction = end_by_lost_file, .sa_mask = both(), .sa_flags = SA_SIGINFO};
  if (sigaction(SIGBUS, NULL, &bus) == 0 && bus.sa_handler == SIG_DFL) (void)sigaction(SIGBUS, &lost, NULL);
  const struct sigaction action = {.sa_handler = end, .sa_mask = both(), .sa_flags = SA_RESTART};
  for (size_t i = 0; i < NUMBER_COUNT; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    (void)sigaction(numbers[i], &action, NULL);
  }
}

void byoc_interrupt_register(byoc_interrupt_stage_t stage, void (*end_stage)(void)) {
  atomic_store(&ends[stage], end_stage);
  // Either the handler has seen the store, or this thread sees that the handler has begun.
  while (atomic_load(&has_ended)) (void)pause();
}

void byoc_interrupt_lock(pthread_mutex_t *lock, sigset_t *out_mask) {
  const sigset_t set = both();
  (void)pthread_sigmask(SIG_BLOCK, &set, out_mask);
  pthread_mutex_lock(lock);
}

void byoc_interrupt_unlock(pthread_mutex_t *lock, const sigset_t *mask) {
  pthread_mutex_unlock(lock);
  (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void byoc_interrupt_seize(pthread_mutex_t *lock) {
  // Another thread holds the lock for a moment only, unless it waits for a lock of the interrupted thread.
  for (int wait_ms = 0; wait_ms < 1000 && pthread_mutex_trylock(lock) != 0; wait_ms++) (void)poll(NULL, 0, 1);
}
