// SPDX-License-Identifier: Apache-2.0
// The calling thread's stack, as the thread library knows it.
#define _GNU_SOURCE // pthread_getattr_np
#include "core/runtime/stack.h"

#include <pthread.h>
#include <stdint.h>

size_t byoc_stack_left_bytes(void) {
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size_bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return SIZE_MAX;
  const int known = pthread_attr_getstack(&attributes, &lowest, &size_bytes) == 0;
  (void)pthread_attr_destroy(&attributes);
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)lowest;
  // A coroutine is on a stack that the thread library does not know.
  return known && here >= end && here - end <= size_bytes ? here - end : SIZE_MAX;
}
