#define _GNU_SOURCE
#include "core/base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/group.h"
#include "core/base/temporary.h"

static sigset_t awaited;

// A thread, not a handler: it may take locks.
static void *wait_for_signal(void *unused) {
  (void)unused;
  int number = 0;
  if (sigwait(&awaited, &number) != 0) return NULL;
  byoc_groups_end();
  byoc_temporaries_end();
  (void)signal(number, SIG_DFL);
  (void)pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
  (void)raise(number);
  return NULL;
}

void byoc_interrupt_install(void) {
  static const int numbers[] = {SIGINT, SIGTERM};
  bool any = false;
  sigemptyset(&awaited);
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    struct sigaction action;
    if (sigaction(numbers[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    sigaddset(&awaited, numbers[i]);
    any = true;
  }
  pthread_t thread;
  if (!any || pthread_sigmask(SIG_BLOCK, &awaited, NULL) != 0) return;
  if (pthread_create(&thread, NULL, wait_for_signal, NULL) == 0) {
    (void)pthread_detach(thread);
  } else {
    (void)pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
  }
}
