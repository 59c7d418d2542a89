#define _GNU_SOURCE
#include "core/base/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include "core/base/group.h"
#include "core/base/temporary.h"

static const int numbers[] = {SIGINT, SIGTERM};
enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]) };

static sigset_t both(void) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < NUMBER_COUNT; i++) sigaddset(&set, numbers[i]);
  return set;
}

static void end(int number) {
  int error = errno;
  byoc_groups_end();
  byoc_temporaries_end();
  (void)signal(number, SIG_DFL);
  (void)raise(number); // blocked until this returns
  errno = error;
}

void byoc_interrupt_install(void) {
  const struct sigaction action = {.sa_handler = end, .sa_mask = both(), .sa_flags = SA_RESTART};
  for (size_t i = 0; i < NUMBER_COUNT; i++) {
    struct sigaction old;
    if (sigaction(numbers[i], NULL, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    (void)sigaction(numbers[i], &action, NULL);
  }
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
  // Another thread holds it for a moment, unless it waits for what the interrupted one has.
  for (int wait_ms = 0; wait_ms < 1000 && pthread_mutex_trylock(lock) != 0; wait_ms++) (void)poll(NULL, 0, 1);
}
