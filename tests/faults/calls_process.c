// SPDX-License-Identifier: Apache-2.0
// Processes and threads that may not start, and a clock that leaps.
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/inject.h"

BYOC_FAULT_EXPORT pid_t fork(void) {
  BYOC_FAULT_REAL(pid_t, fork, void);
  return byoc_fault_strikes(BYOC_FAULT_fork) ? -1 : real();
}

BYOC_FAULT_EXPORT int posix_spawn(pid_t *out_pid, const char *path, const posix_spawn_file_actions_t *actions,
                                  const posix_spawnattr_t *attributes, char *const argv[], char *const variables[]) {
  BYOC_FAULT_REAL(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *,
                  const posix_spawnattr_t *, char *const *, char *const *);
  return byoc_fault_strikes(BYOC_FAULT_fork) ? EAGAIN : real(out_pid, path, actions, attributes, argv, variables);
}

BYOC_FAULT_EXPORT int posix_spawnp(pid_t *out_pid, const char *path, const posix_spawn_file_actions_t *actions,
                                   const posix_spawnattr_t *attributes, char *const argv[], char *const variables[]) {
  BYOC_FAULT_REAL(int, posix_spawnp, pid_t *, const char *, const posix_spawn_file_actions_t *,
                  const posix_spawnattr_t *, char *const *, char *const *);
  return byoc_fault_strikes(BYOC_FAULT_fork) ? EAGAIN : real(out_pid, path, actions, attributes, argv, variables);
}

BYOC_FAULT_EXPORT int pthread_create(pthread_t *out_thread, const pthread_attr_t *attributes, void *(*body)(void *),
                                     void *argument) {
  BYOC_FAULT_REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  return byoc_fault_strikes(BYOC_FAULT_thread) ? EAGAIN : real(out_thread, attributes, body, argument);
}

// ---- clocks ----

// The time of day goes back by an hour, the others forward.
enum { LEAP_SECONDS = 3600 };

BYOC_FAULT_EXPORT int clock_gettime(clockid_t clock, struct timespec *out_time) {
  BYOC_FAULT_REAL(int, clock_gettime, clockid_t, struct timespec *);
  int result = real(clock, out_time);
  if (byoc_fault_strikes(BYOC_FAULT_clock)) out_time->tv_sec += clock == CLOCK_REALTIME ? -LEAP_SECONDS : LEAP_SECONDS;
  return result;
}

BYOC_FAULT_EXPORT time_t time(time_t *out_time) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (out_time != NULL) *out_time = now.tv_sec;
  return now.tv_sec;
}

BYOC_FAULT_EXPORT int gettimeofday(struct timeval *restrict out_time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  *out_time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return result;
}
