// Instruction set extensions: of this machine, and of names such as "native" or "x86-64-v3".
#ifndef BYOC_CORE_TARGET_CPU_H_
#define BYOC_CORE_TARGET_CPU_H_

#include "core/base/diag.h"
#include "core/base/string.h"

// Extensions the project knows, as spelled in /proc/cpuinfo, and the compiler flag that allows each.
// X(NAME, "cpuinfo name", "-mflag")
#define BYOC_CPU_FEATURE_LIST(X)                                                                                       \
  X(SSE3, "pni", "-msse3")                                                                                             \
  X(SSSE3, "ssse3", "-mssse3")                                                                                         \
  X(SSE4_1, "sse4_1", "-msse4.1")                                                                                      \
  X(SSE4_2, "sse4_2", "-msse4.2")                                                                                      \
  X(POPCNT, "popcnt", "-mpopcnt")                                                                                      \
  X(AVX, "avx", "-mavx")                                                                                               \
  X(AVX2, "avx2", "-mavx2")                                                                                            \
  X(BMI1, "bmi1", "-mbmi")                                                                                             \
  X(BMI2, "bmi2", "-mbmi2")                                                                                            \
  X(FMA, "fma", "-mfma")                                                                                               \
  X(F16C, "f16c", "-mf16c")                                                                                            \
  X(AVX512F, "avx512f", "-mavx512f")                                                                                   \
  X(AVX512CD, "avx512cd", "-mavx512cd")                                                                                \
  X(AVX512BW, "avx512bw", "-mavx512bw")                                                                                \
  X(AVX512DQ, "avx512dq", "-mavx512dq")                                                                                \
  X(AVX512VL, "avx512vl", "-mavx512vl")                                                                                \
  X(AVX512VNNI, "avx512_vnni", "-mavx512vnni")                                                                         \
  X(AVX512BF16, "avx512_bf16", "-mavx512bf16")

#define BYOC_CPU_FEATURE_ENUM(NAME, text, flag) BYOC_CPU_##NAME,
typedef enum byoc_cpu_feature_t {
  BYOC_CPU_FEATURE_LIST(BYOC_CPU_FEATURE_ENUM) BYOC_CPU_FEATURE_COUNT
} byoc_cpu_feature_t;
#undef BYOC_CPU_FEATURE_ENUM

// A bit a feature. 0 on processors that are not x86-64. Asked of CPUID and XGETBV (the system must save the registers).
uint64_t byoc_cpu_detect(void);
const char *byoc_cpu_feature_name(byoc_cpu_feature_t feature);
const char *byoc_cpu_feature_flag(byoc_cpu_feature_t feature);
// Features of "native", "x86-64", "x86-64-v2", "-v3", "-v4" or of a list "avx2+fma"; BYOC_NOT_FOUND with the names
// there are.
byoc_status_t byoc_cpu_parse(const char *name, byoc_diag_t *diag, uint64_t *out_features);
// "avx2 fma ..."; parses back through byoc_cpu_parse_list.
void byoc_cpu_print(uint64_t features, byoc_string_t *out);
byoc_status_t byoc_cpu_parse_list(const char *text, byoc_diag_t *diag, uint64_t *out_features);

#endif // BYOC_CORE_TARGET_CPU_H_
