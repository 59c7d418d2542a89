// The processor check. An artifact carries it, so it stands alone: CPUID says what the processor has, XGETBV what the
// system keeps across context switches. Bits: Intel 64 and IA-32 Architectures Software Developer's Manual, vol. 2A,
// CPUID.
#include "core/runtime/artifact/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "byoc/status.h"
#include "core/target/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

// Where a feature's bit is, and what the system must save for it (bits of XCR0; 0: nothing beyond SSE).
typedef struct feature_bit_t {
  uint32_t leaf, subleaf, reg, bit, state;
} feature_bit_t;

#define STATE_AVX    0x06u // SSE and AVX registers
#define STATE_AVX512 0xe6u // and masks, upper halves, registers 16 to 31

static const feature_bit_t feature_bits[BYOC_CPU_FEATURE_COUNT] = {
    [BYOC_CPU_SSE3] = {1, 0, ECX, 0, 0},
    [BYOC_CPU_SSSE3] = {1, 0, ECX, 9, 0},
    [BYOC_CPU_SSE4_1] = {1, 0, ECX, 19, 0},
    [BYOC_CPU_SSE4_2] = {1, 0, ECX, 20, 0},
    [BYOC_CPU_POPCNT] = {1, 0, ECX, 23, 0},
    [BYOC_CPU_AVX] = {1, 0, ECX, 28, STATE_AVX},
    [BYOC_CPU_AVX2] = {7, 0, EBX, 5, STATE_AVX},
    [BYOC_CPU_BMI1] = {7, 0, EBX, 3, 0},
    [BYOC_CPU_BMI2] = {7, 0, EBX, 8, 0},
    [BYOC_CPU_FMA] = {1, 0, ECX, 12, STATE_AVX},
    [BYOC_CPU_F16C] = {1, 0, ECX, 29, STATE_AVX},
    [BYOC_CPU_AVX512F] = {7, 0, EBX, 16, STATE_AVX512},
    [BYOC_CPU_AVX512CD] = {7, 0, EBX, 28, STATE_AVX512},
    [BYOC_CPU_AVX512BW] = {7, 0, EBX, 30, STATE_AVX512},
    [BYOC_CPU_AVX512DQ] = {7, 0, EBX, 17, STATE_AVX512},
    [BYOC_CPU_AVX512VL] = {7, 0, EBX, 31, STATE_AVX512},
    [BYOC_CPU_AVX512VNNI] = {7, 0, ECX, 11, STATE_AVX512},
    [BYOC_CPU_AVX512BF16] = {7, 1, EAX, 5, STATE_AVX512},
};

static uint32_t saved_state(void) {
  uint32_t regs[4];
  if (!__get_cpuid(1, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) || !(regs[ECX] >> 27 & 1)) return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool has_feature(byoc_cpu_feature_t feature) {
  const feature_bit_t *place = &feature_bits[feature];
  uint32_t regs[4];
  if (place->leaf == 0) return false;
  if (place->subleaf > 0) {
    // Leaf 7 says in EAX how many subleaves there are.
    if (!__get_cpuid_count(place->leaf, 0, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX])) return false;
    if (regs[EAX] < place->subleaf) return false;
  }
  if (!__get_cpuid_count(place->leaf, place->subleaf, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX])) return false;
  if (!(regs[place->reg] >> place->bit & 1)) return false;
  return (saved_state() & place->state) == place->state;
}

#else
static bool has_feature(byoc_cpu_feature_t feature) {
  (void)feature;
  return false;
}
#endif

static bool has_named(const char *name, size_t size) {
  static const char *const names[BYOC_CPU_FEATURE_COUNT] = {
#define FEATURE_NAME(NAME, text, flag) [BYOC_CPU_##NAME] = text,
      BYOC_CPU_FEATURE_LIST(FEATURE_NAME)
#undef FEATURE_NAME
  };
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; i++) {
    if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return has_feature((byoc_cpu_feature_t)i);
  }
  return false; // from a newer byoc: not known to be there
}

int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size) {
  char missing[256] = "";
  size_t used = 0;
  for (const char *at = features; *at != '\0';) {
    size_t length = strcspn(at, " ");
    if (length > 0 && !has_named(at, length) && used + length + 3 < sizeof(missing)) {
      used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%.*s", used > 0 ? ", " : "", (int)length, at);
    }
    at += length;
    at += *at == ' ';
  }
  if (message != NULL && size > 0) message[0] = '\0';
  if (used == 0) return BYOC_OK;
  if (message != NULL && size > 0) {
    (void)snprintf(message, size,
                   "the model '%s' was built for a processor with %s, which this one lacks; build it with -mcpu=x86-64 "
                   "or on a machine of this kind",
                   model_name, missing);
  }
  return BYOC_UNSUPPORTED;
}
