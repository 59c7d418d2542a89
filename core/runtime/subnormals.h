// SPDX-License-Identifier: Apache-2.0
// Makes the calling thread treat subnormal numbers as zeros, both operands and results.
#ifndef BYOC_CORE_RUNTIME_SUBNORMALS_H_
#define BYOC_CORE_RUNTIME_SUBNORMALS_H_

#include <stdbool.h>
#include <stdint.h>

#if defined(__GNUC__) && defined(__SSE2__)
enum { BYOC_CAN_FLUSH = 1 };
#define BYOC_FLUSH_BITS ((uint64_t)0x8040) // MXCSR: FTZ, DAZ
static inline uint64_t byoc_float_mode_get(void) {
  return __builtin_ia32_stmxcsr();
}
static inline void byoc_float_mode_set(uint64_t mode) {
  __builtin_ia32_ldmxcsr((unsigned)mode);
}
#elif defined(__GNUC__) && defined(__aarch64__)
enum { BYOC_CAN_FLUSH = 1 };
#define BYOC_FLUSH_BITS ((uint64_t)1 << 24) // FPCR: FZ
static inline uint64_t byoc_float_mode_get(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void byoc_float_mode_set(uint64_t mode) {
  __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}
#else
enum { BYOC_CAN_FLUSH = 0 };
#define BYOC_FLUSH_BITS ((uint64_t)0)
static inline uint64_t byoc_float_mode_get(void) {
  return 0;
}
static inline void byoc_float_mode_set(uint64_t mode) {
  (void)mode;
}
#endif

// From here on subnormal numbers are zeros. Returns the earlier mode, for byoc_flush_leave.
static inline uint64_t byoc_flush_enter(void) {
  const uint64_t mode = byoc_float_mode_get();
  if ((mode & BYOC_FLUSH_BITS) != BYOC_FLUSH_BITS) byoc_float_mode_set(mode | BYOC_FLUSH_BITS);
  return mode & BYOC_FLUSH_BITS;
}

// Leaves everything else, such as exception flags, unchanged.
static inline void byoc_flush_leave(uint64_t before) {
  if (before != BYOC_FLUSH_BITS) byoc_float_mode_set((byoc_float_mode_get() & ~BYOC_FLUSH_BITS) | before);
}

#endif // BYOC_CORE_RUNTIME_SUBNORMALS_H_
