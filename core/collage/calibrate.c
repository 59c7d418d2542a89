// SPDX-License-Identifier: Apache-2.0
// Measures the peak speed of this machine's processor and memory.
#include "core/collage/calibrate.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "byoc/call.h"
#include "core/base/log.h"
#include "core/targets/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Each figure is the best of a few rounds: a round that was interrupted says nothing about the machine. Time is the
// processor time of this thread, which goes on only while it runs, so that a busy machine gives the figures of an idle
// one.
enum {
  ROUNDS = 6,
  FMA_ROUNDS = 40,
  DOT_ROUNDS = 10,
  FMA_STEPS = 100000,
  COPY_BYTES = 32 << 20,
  SLICES = 32,
  CALLS = 10000
};

static int64_t thread_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return byoc_now_ns();
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Eight sums hide the latency of the multiply-add: it takes 4 cycles, and 2 start per cycle. They begin with different
// numbers; compilers make one of equal sums.
#define DEFINE_FMA(name, attribute, type, splat, fma)                                                                  \
  attribute static float name(int steps) {                                                                             \
    const type a = splat(0.999f), b = splat(0.001f);                                                                   \
    type s0 = splat(0.1f), s1 = splat(0.2f), s2 = splat(0.3f), s3 = splat(0.4f);                                       \
    type s4 = splat(0.5f), s5 = splat(0.6f), s6 = splat(0.7f), s7 = splat(0.8f);                                       \
    for (int i = 0; i < steps; ++i) {                                                                                  \
      s0 = fma(s0, a, b), s1 = fma(s1, a, b), s2 = fma(s2, a, b), s3 = fma(s3, a, b);                                  \
      s4 = fma(s4, a, b), s5 = fma(s5, a, b), s6 = fma(s6, a, b), s7 = fma(s7, a, b);                                  \
    }                                                                                                                  \
    const type sums[] = {s0, s1, s2, s3, s4, s5, s6, s7};                                                              \
    float total = 0, first[sizeof(type) / sizeof(float)];                                                              \
    for (int i = 0; i < 8; ++i) {                                                                                      \
      memcpy(first, &sums[i], sizeof(first));                                                                          \
      total += first[0];                                                                                               \
    }                                                                                                                  \
    return total;                                                                                                      \
  }

#define SCALAR_SPLAT(x)     (x)
#define SCALAR_FMA(x, a, b) ((x) * (a) + (b))
DEFINE_FMA(fma_scalar, , float, SCALAR_SPLAT, SCALAR_FMA)
#define BYOC_ISA_F32(id, text, VECTOR, SPLAT, FMA)                                                                     \
  DEFINE_FMA(fma_##id, __attribute__((target(text))), VECTOR, SPLAT, FMA)
#include "byoc/isa.def"

#if defined(__x86_64__)
// Twelve sums: a product of bytes or of bf16 takes up to 6 cycles.
#define DEFINE_DOT(name, attribute, SUM, ZERO, WORDS, SPLAT, DOT)                                                      \
  __attribute__((target(attribute))) static float name(int steps) {                                                    \
    const WORDS a = SPLAT, b = SPLAT;                                                                                  \
    SUM s0 = ZERO, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0, sa = s0, sb = s0;  \
    for (int i = 0; i < steps; ++i) {                                                                                  \
      s0 = DOT(s0, a, b), s1 = DOT(s1, a, b), s2 = DOT(s2, a, b), s3 = DOT(s3, a, b), s4 = DOT(s4, a, b);              \
      s5 = DOT(s5, a, b), s6 = DOT(s6, a, b), s7 = DOT(s7, a, b), s8 = DOT(s8, a, b), s9 = DOT(s9, a, b);              \
      sa = DOT(sa, a, b), sb = DOT(sb, a, b);                                                                          \
      __asm__ volatile("" : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5));                               \
      __asm__ volatile("" : "+v"(s6), "+v"(s7), "+v"(s8), "+v"(s9), "+v"(sa), "+v"(sb));                               \
    }                                                                                                                  \
    return (float)steps;                                                                                               \
  }
DEFINE_DOT(dot_bytes_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), __m512i, _mm512_set1_epi8(1),
           _mm512_dpbusd_epi32)
DEFINE_DOT(dot_bf16, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(), __m512bh, (__m512bh)_mm512_set1_epi16(0x3f80),
           _mm512_dpbf16_ps)
#endif

typedef struct multiplier_t {
  const char *isa;
  float (*run)(int steps);
  size_t lanes;
} multiplier_t;

static bool runs_here(const char *isa) {
  byoc_diag_t diag = {0};
  uint64_t needed = 0;
  return byoc_cpu_parse(isa, byoc_machine_host(), &diag, &needed) == BYOC_OK && (needed & ~byoc_cpu_detect()) == 0;
}

// The best round on this machine.
static multiplier_t choose_multiplier(void) {
  static const multiplier_t rows[] = {
      {"portable", fma_scalar, 1},
#define BYOC_ISA_F32(id, attribute, VECTOR, ...) {#id, fma_##id, sizeof(VECTOR) / sizeof(float)},
#include "byoc/isa.def"
  };
  multiplier_t best = rows[0];
  for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (runs_here(rows[i].isa)) best = rows[i];
  }
  return best;
}

// Operations per ns of a function that does so many in a step.
static double measure_rate(float (*run)(int steps), double operations, int rounds) {
  double best = 0;
  volatile float sink = 0;
  for (int round = 0; round < rounds; ++round) {
    int64_t start_ns = thread_ns();
    sink = sink + run(FMA_STEPS);
    int64_t taken_ns = thread_ns() - start_ns;
    double rate = operations * FMA_STEPS / (double)(taken_ns > 0 ? taken_ns : 1);
    if (rate > best) best = rate;
  }
  return best;
}

static double measure_flops(void) {
  const multiplier_t multiplier = choose_multiplier();
  return measure_rate(multiplier.run, 2 * 8 * (double)multiplier.lanes, FMA_ROUNDS);
}

// Products of other types, as far as there are instructions for them.
static void measure_peaks(double *peaks) {
#if defined(__x86_64__)
  static const struct {
    byoc_arithmetic_t type;
    const char *isa;
    float (*run)(int steps);
    double operations; // of one product of vectors
  } rows[] = {{BYOC_ARITHMETIC_INT8, "avx512_vnni", dot_bytes_512, 2 * 4 * 16},
              {BYOC_ARITHMETIC_BF16, "avx512_bf16", dot_bf16, 2 * 2 * 16}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (runs_here(rows[i].isa)) peaks[rows[i].type] = measure_rate(rows[i].run, rows[i].operations * 12, DOT_ROUNDS);
  }
#else
  (void)peaks;
#endif
}

// Bytes read and bytes written count. The memory is copied in slices, and each slice counts by its best round: other
// programs disturb some slices of each round, and seldom the same ones.
static double measure_bandwidth(uint8_t *from, uint8_t *to) {
  enum { SLICE_BYTES = COPY_BYTES / SLICES };
  int64_t best_ns[SLICES];
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < SLICES; ++i) {
      int64_t start_ns = thread_ns();
      memcpy(to + (size_t)i * SLICE_BYTES, from + (size_t)i * SLICE_BYTES, SLICE_BYTES);
      __asm__ volatile("" : : "r"(to) : "memory");
      const int64_t taken_ns = thread_ns() - start_ns;
      if (round == 0 || taken_ns < best_ns[i]) best_ns[i] = taken_ns;
    }
  }
  int64_t sum_ns = 0;
  for (int i = 0; i < SLICES; ++i) sum_ns += best_ns[i];
  return 2.0 * COPY_BYTES / (double)(sum_ns > 0 ? sum_ns : 1);
}

// The cost of calling an outlined function besides its work: the call goes through an address and finds its data in
// tensors.
__attribute__((noinline)) static int32_t call_target(const byoc_call_t *call) {
  return *(const int32_t *)call->tensors[0].data + *(const int32_t *)call->tensors[1].data;
}

static double measure_call(void) {
  int32_t (*volatile function)(const byoc_call_t *call) = call_target;
  int32_t data[2] = {1, 2};
  int64_t shape[1] = {1};
  volatile int32_t sink = 0;
  double best = INFINITY;
  for (int round = 0; round < ROUNDS; ++round) {
    int64_t start_ns = thread_ns();
    for (int i = 0; i < CALLS; ++i) {
      DLTensor tensors[2] = {{.data = &data[0], .device = {kDLCPU, 0}, .ndim = 1, .shape = shape},
                             {.data = &data[1], .device = {kDLCPU, 0}, .ndim = 1, .shape = shape}};
      const byoc_call_t call = {.struct_size = sizeof(call), .input_count = 1, .output_count = 1, .tensors = tensors};
      sink = sink + function(&call);
    }
    double ns = (double)(thread_ns() - start_ns) / CALLS;
    if (ns < best) best = ns;
  }
  return best;
}

byoc_status_t byoc_calibrate(byoc_allocator_t allocator, byoc_diag_t *diag, byoc_calibration_t *out_calibration) {
  *out_calibration = (byoc_calibration_t){0};
  uint8_t *memory = byoc_allocate(allocator, 2, COPY_BYTES);
  if (memory == NULL) return byoc_diag_out_of_memory(diag);
  memset(memory, 1, (size_t)2 * COPY_BYTES); // gives it pages of its own, not the system's page of zeros
  *out_calibration = (byoc_calibration_t){.flops_per_ns = measure_flops(),
                                          .bytes_per_ns = measure_bandwidth(memory, memory + COPY_BYTES),
                                          .call_ns = measure_call()};
  measure_peaks(out_calibration->peaks);
  byoc_free(allocator, memory);
  return BYOC_OK;
}
