// The processor check. CPUID says what the processor has, XGETBV what the system keeps across context switches.
#include "core/runtime/artifact/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "byoc/status.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

static bool read_leaf(uint32_t leaf, uint32_t subleaf, uint32_t regs[4]) {
  return __get_cpuid_count(leaf, subleaf, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) != 0;
}

static uint32_t saved_state(void) {
  enum { OSXSAVE = 27 };
  uint32_t regs[4], low = 0, high = 0;
  if (!read_leaf(1, 0, regs) || !(regs[ECX] >> OSXSAVE & 1)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool has_bit(uint32_t leaf, uint32_t subleaf, uint32_t reg, uint32_t bit) {
  uint32_t regs[4];
  // A leaf with subleaves says in EAX of the first how many there are.
  if (subleaf > 0 && (!read_leaf(leaf, 0, regs) || regs[EAX] < subleaf)) return false;
  return read_leaf(leaf, subleaf, regs) && (regs[reg] >> bit & 1);
}

uint64_t byoc_cpu_detect(void) {
  const uint32_t saved = saved_state();
  uint64_t features = 0;
#define TAKE_FEATURE(NAME, text, flag, leaf, subleaf, reg, bit, state)                                                 \
  if ((saved & BYOC_CPU_STATE_##state) == BYOC_CPU_STATE_##state && has_bit(leaf, subleaf, reg, bit)) {                \
    features |= UINT64_C(1) << BYOC_CPU_##NAME;                                                                        \
  }
  BYOC_CPU_FEATURE_LIST(TAKE_FEATURE)
#undef TAKE_FEATURE
  return features;
}
#else
uint64_t byoc_cpu_detect(void) {
  return 0;
}
#endif

static bool has_named(uint64_t here, const char *name, size_t size) {
  static const char *const names[BYOC_CPU_FEATURE_COUNT] = {
#define FEATURE_NAME(NAME, text, ...) [BYOC_CPU_##NAME] = text,
      BYOC_CPU_FEATURE_LIST(FEATURE_NAME)
#undef FEATURE_NAME
  };
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; i++) {
    if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return here >> i & 1;
  }
  return false; // from a newer byoc: not known to be there
}

int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size) {
  const uint64_t here = byoc_cpu_detect();
  char missing[256] = "";
  size_t used = 0;
  for (const char *at = features; *at != '\0';) {
    size_t length = strcspn(at, " ");
    if (length > 0 && !has_named(here, at, length) && used + length + 3 < sizeof(missing)) {
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
