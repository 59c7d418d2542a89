// Instruction set extensions: those there are, those of this processor, and can it run code that needs these? Artifacts
// carry it, so it stands alone; the compiler reads the same list.
#ifndef BYOC_CORE_RUNTIME_ARTIFACT_CPU_H_
#define BYOC_CORE_RUNTIME_ARTIFACT_CPU_H_

#include <stdint.h>

// Extensions the project knows, as spelled in /proc/cpuinfo, the compiler flag that allows each, where CPUID says that
// the processor has it, and what the system must save of it on a switch of tasks (BYOC_CPU_STATE_*). Bits: Intel 64 and
// IA-32 Architectures Software Developer's Manual, vol. 2A, CPUID.
// X(NAME, "cpuinfo name", "-mflag", leaf, subleaf, register, bit, state)
#define BYOC_CPU_FEATURE_LIST(X)                                                                                       \
  X(SSE3, "pni", "-msse3", 1, 0, ECX, 0, SSE)                                                                          \
  X(SSSE3, "ssse3", "-mssse3", 1, 0, ECX, 9, SSE)                                                                      \
  X(SSE4_1, "sse4_1", "-msse4.1", 1, 0, ECX, 19, SSE)                                                                  \
  X(SSE4_2, "sse4_2", "-msse4.2", 1, 0, ECX, 20, SSE)                                                                  \
  X(POPCNT, "popcnt", "-mpopcnt", 1, 0, ECX, 23, SSE)                                                                  \
  X(AVX, "avx", "-mavx", 1, 0, ECX, 28, AVX)                                                                           \
  X(AVX2, "avx2", "-mavx2", 7, 0, EBX, 5, AVX)                                                                         \
  X(BMI1, "bmi1", "-mbmi", 7, 0, EBX, 3, SSE)                                                                          \
  X(BMI2, "bmi2", "-mbmi2", 7, 0, EBX, 8, SSE)                                                                         \
  X(FMA, "fma", "-mfma", 1, 0, ECX, 12, AVX)                                                                           \
  X(F16C, "f16c", "-mf16c", 1, 0, ECX, 29, AVX)                                                                        \
  X(AVX512F, "avx512f", "-mavx512f", 7, 0, EBX, 16, AVX512)                                                            \
  X(AVX512CD, "avx512cd", "-mavx512cd", 7, 0, EBX, 28, AVX512)                                                         \
  X(AVX512BW, "avx512bw", "-mavx512bw", 7, 0, EBX, 30, AVX512)                                                         \
  X(AVX512DQ, "avx512dq", "-mavx512dq", 7, 0, EBX, 17, AVX512)                                                         \
  X(AVX512VL, "avx512vl", "-mavx512vl", 7, 0, EBX, 31, AVX512)                                                         \
  X(AVX512VNNI, "avx512_vnni", "-mavx512vnni", 7, 0, ECX, 11, AVX512)                                                  \
  X(AVX512BF16, "avx512_bf16", "-mavx512bf16", 7, 1, EAX, 5, AVX512)

#define BYOC_CPU_FEATURE_ENUM(NAME, ...) BYOC_CPU_##NAME,
typedef enum byoc_cpu_feature_t {
  BYOC_CPU_FEATURE_LIST(BYOC_CPU_FEATURE_ENUM) BYOC_CPU_FEATURE_COUNT
} byoc_cpu_feature_t;
#undef BYOC_CPU_FEATURE_ENUM

// Bits of XCR0 (vol. 1, chapter 13): registers that a system without them does not save.
enum {
  BYOC_CPU_STATE_SSE = 0,       // every system saves what is below AVX
  BYOC_CPU_STATE_AVX = 0x06,    // SSE and AVX registers
  BYOC_CPU_STATE_AVX512 = 0xe6, // and masks, upper halves, registers 16 to 31
};

// A bit a feature. 0 on processors that are not x86-64. Asked of CPUID and XGETBV (the system must save the registers).
uint64_t byoc_cpu_detect(void);

// BYOC_OK, or BYOC_UNSUPPORTED with a sentence naming what is missing. `features`: names of the list, space-separated.
// `message` may be NULL; it is cut at `size`.
int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_ARTIFACT_CPU_H_
