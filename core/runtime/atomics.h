// SPDX-License-Identifier: Apache-2.0
// The atomic operations that contexts need. They are an option of C11: without them plain operations are used, and a
// context does not notice that two threads use it at once. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_ATOMICS_H_
#define BYOC_CORE_RUNTIME_ATOMICS_H_

#include <stdbool.h>
#include <stdint.h>

#if defined(__STDC_NO_ATOMICS__)
typedef bool byoc_atomic_bool_t;
typedef int32_t byoc_atomic_status_t;
typedef const void *byoc_atomic_pointer_t;
#define atomic_load(place)                            (*(place))
#define atomic_load_explicit(place, order)            (*(place))
#define atomic_store(place, value)                    ((void)(*(place) = (value)))
#define atomic_store_explicit(place, value, order)    ((void)(*(place) = (value)))
#define atomic_exchange_explicit(place, value, order) byoc_exchange(place, value)
static inline bool byoc_exchange(bool *place, bool value) {
  const bool before = *place;
  *place = value;
  return before;
}
#else
#include <stdatomic.h>
typedef atomic_uint byoc_atomic_bool_t; // RISC-V exchanges words, and bytes only by a library
typedef _Atomic(const void *) byoc_atomic_pointer_t;
typedef _Atomic(int32_t) byoc_atomic_status_t;
#endif

#endif // BYOC_CORE_RUNTIME_ATOMICS_H_
