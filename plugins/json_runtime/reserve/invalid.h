// SPDX-License-Identifier: Apache-2.0
// invalid.h - the calling thread's flag of invalid operations, and whether it treats subnormal numbers as zeros.
//
// An instruction that compares, or takes the larger of two numbers, raises it if one is NaN; so does one that makes a
// NaN. No other instruction that oneDNN uses does, so code that leaves the flag as it is has lost no NaN.
#ifndef BYOC_DNNL_RESERVE_INVALID_H_
#define BYOC_DNNL_RESERVE_INVALID_H_

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
static inline int byoc_dnnl_invalid_get(void) {
  return (int)(_mm_getcsr() & 1u);
}
static inline void byoc_dnnl_invalid_set(int is_raised) {
  _mm_setcsr((_mm_getcsr() & ~1u) | (is_raised ? 1u : 0u));
}
static inline uint64_t byoc_dnnl_flush_get(void) {
  return _mm_getcsr() & 0x8040u; // FTZ, DAZ
}
static inline void byoc_dnnl_flush_set(uint64_t flush) {
  _mm_setcsr((_mm_getcsr() & ~0x8040u) | (unsigned)flush);
}
#elif defined(__aarch64__)
static inline int byoc_dnnl_invalid_get(void) {
  uint64_t flags;
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
  return (int)(flags & 1u);
}
static inline void byoc_dnnl_invalid_set(int is_raised) {
  uint64_t flags;
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
  flags = (flags & ~(uint64_t)1) | (is_raised ? 1u : 0u);
  __asm__ volatile("msr fpsr, %0" ::"r"(flags));
}
static inline uint64_t byoc_dnnl_flush_get(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode & (uint64_t)1 << 24; // FZ
}
static inline void byoc_dnnl_flush_set(uint64_t flush) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  mode = (mode & ~((uint64_t)1 << 24)) | flush;
  __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}
#else // any code may have lost one
static inline int byoc_dnnl_invalid_get(void) {
  return 1;
}
static inline void byoc_dnnl_invalid_set(int is_raised) {
  (void)is_raised;
}
static inline uint64_t byoc_dnnl_flush_get(void) {
  return 0;
}
static inline void byoc_dnnl_flush_set(uint64_t flush) {
  (void)flush;
}
#endif

#endif // BYOC_DNNL_RESERVE_INVALID_H_
