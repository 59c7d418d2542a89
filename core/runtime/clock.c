// SPDX-License-Identifier: Apache-2.0
// Reads the clock that profiles of artifacts use, in nanoseconds.
#define _GNU_SOURCE
#include <time.h>

#include "core/runtime/model.h"

uint64_t byoc_model_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
