// SPDX-License-Identifier: Apache-2.0
// Leaves a thread behind that runs its code when it is gone.
#include <pthread.h>
#include <time.h>
static void *run(void *self) {
  const struct timespec pause = {.tv_nsec = 1000000};
  while (self == NULL) nanosleep(&pause, NULL);
  return NULL;
}
#define GENERATE_FIRST                                                                                                 \
  pthread_t thread;                                                                                                    \
  if (pthread_create(&thread, NULL, run, NULL) != 0) return BYOC_INTERNAL;
#include "base.h"
