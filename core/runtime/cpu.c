// SPDX-License-Identifier: Apache-2.0
// The processor check. On x86-64 CPUID lists the features of the processor, and XGETBV the registers that the system
// saves across context switches; on other machines the system lists both.
#define _GNU_SOURCE // syscall
#include "core/runtime/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "byoc/status.h"
#include "core/runtime/cpu_check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { EAX, EBX, ECX, EDX };

static uint32_t read_word(uint32_t leaf, uint32_t subleaf, uint32_t reg) {
  uint32_t regs[4];
  // For a leaf with subleaves, EAX of the first one holds the number of the last.
  if (subleaf > 0 && read_word(leaf, 0, EAX) < subleaf) return 0;
  return __get_cpuid_count(leaf, subleaf, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) ? regs[reg] : 0;
}

static uint64_t read_xcr0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

#define READ_X86_64(leaf, subleaf, REGISTER) read_word(leaf, subleaf, REGISTER)
#else
#define READ_X86_64(leaf, subleaf, REGISTER) 0

static uint64_t read_xcr0(void) {
  return 0;
}
#endif

#if defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
#include <sys/auxv.h>
#define READ_AUXILIARY(type) (uint32_t) getauxval(type)
#endif

#if defined(__x86_64__)
#define IS_X86_64 1
#else
#define IS_X86_64 0
#endif
#if defined(__aarch64__)
#define IS_AARCH64         1
#define READ_AARCH64(type) READ_AUXILIARY(type)
#else
#define IS_AARCH64         0
#define READ_AARCH64(type) 0
#endif
#if defined(__riscv) && __riscv_xlen == 64
#define IS_RISCV64         1
#define READ_RISCV64(type) READ_AUXILIARY(type)
#else
#define IS_RISCV64         0
#define READ_RISCV64(type) 0
#endif

#if defined(__arm__)
#define IS_ARM 1
#else
#define IS_ARM 0
#endif

// OSXSAVE: the system lets programs read XCR0.
static bool may_read_xcr0(const byoc_cpu_words_t *said) {
  return said->words[BYOC_CPU_WORD_CPUID_1_ECX] >> 27 & 1;
}

uint64_t byoc_cpu_features_in(const byoc_cpu_words_t *said) {
  enum {
#define BYOC_ISA_STATE(NAME, xcr0) STATE_##NAME = xcr0,
#include "byoc/isa.def"
  };
  static const struct {
    uint8_t word, bit;
    uint32_t state;
  } rows[BYOC_CPU_FEATURE_COUNT] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, ...)                                               \
  [BYOC_CPU_##NAME] = {BYOC_CPU_WORD_##WORD, bit, STATE_##STATE},
#include "byoc/isa.def"
  };
  const uint64_t saved = may_read_xcr0(said) ? said->xcr0 : 0;
  uint64_t features = 0;
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; i++) {
    const bool has = said->words[rows[i].word] >> rows[i].bit & 1, is_saved = (saved & rows[i].state) == rows[i].state;
    if (has && is_saved) features |= UINT64_C(1) << i;
  }
  return features;
}

uint64_t byoc_cpu_detect(void) {
  byoc_cpu_words_t said = {.words = {
#define BYOC_ISA_WORD(NAME, MACHINE, ...) [BYOC_CPU_WORD_##NAME] = READ_##MACHINE(__VA_ARGS__),
#include "byoc/isa.def"
                           }};
  if (may_read_xcr0(&said)) said.xcr0 = read_xcr0();
  return byoc_cpu_features_in(&said);
}

const char *byoc_cpu_base(void) {
#define BYOC_ISA_MACHINE(NAME, name, elf, march, base)                                                                 \
  if (IS_##NAME) return base;
#include "byoc/isa.def"
  return "";
}

enum {
#define BYOC_ISA_STATE(NAME, ...) STATE_INDEX_##NAME,
#include "byoc/isa.def"
};
static const uint8_t states[BYOC_CPU_FEATURE_COUNT] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, ...) [BYOC_CPU_##NAME] = STATE_INDEX_##STATE,
#include "byoc/isa.def"
};

// The features among `features` with such registers.
static uint64_t features_of_state(uint64_t features, uint8_t state) {
  uint64_t of_state = 0;
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; i++) {
    if (states[i] == state) of_state |= UINT64_C(1) << i;
  }
  return features & of_state;
}

// Linux 5.16 and later; earlier ones do not save such registers, so XCR0 lacks them.
static bool is_granted(int component) {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023 }; // ARCH_REQ_XCOMP_PERM of asm/prctl.h
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, component) == 0;
#else
  (void)component;
  return false;
#endif
}

uint64_t byoc_cpu_features_to_ask_for(void) {
  return 0
#define BYOC_ISA_PERMISSION(STATE, component) | features_of_state(~UINT64_C(0), STATE_INDEX_##STATE)
#include "byoc/isa.def"
      ;
}

uint64_t byoc_cpu_ask(uint64_t features) {
  uint64_t refused = 0, asked;
#define BYOC_ISA_PERMISSION(STATE, component)                                                                          \
  asked = features_of_state(features, STATE_INDEX_##STATE);                                                            \
  if (asked != 0 && !is_granted(component)) refused |= asked;
#include "byoc/isa.def"
  return refused;
}

static bool is_among(uint64_t features, const char *name, size_t size) {
  static const char *const names[BYOC_CPU_FEATURE_COUNT] = {
#define BYOC_ISA_FEATURE(NAME, name, ...) [BYOC_CPU_##NAME] = name,
#include "byoc/isa.def"
  };
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; i++) {
    if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return features >> i & 1;
  }
  return false; // a feature of a newer byoc
}

// Those words of `features` that are, or are not, among these.
static void list_words(const char *features, uint64_t these, bool are_among, char *buffer, uint64_t size) {
  uint64_t used = 0;
  buffer[0] = '\0';
  for (const char *at = features; *at != '\0';) {
    size_t length = strcspn(at, " ");
    if (length > 0 && is_among(these, at, length) == are_among && used + length + 3 < size) {
      used += (uint64_t)snprintf(buffer + used, size - used, "%s%.*s", used > 0 ? ", " : "", (int)length, at);
    }
    at += length;
    at += *at == ' ';
  }
}

void byoc_cpu_list_missing(const char *features, char *buffer, uint64_t size) {
  list_words(features, byoc_cpu_detect(), false, buffer, size);
}

void byoc_cpu_list_refused(const char *features, char *buffer, uint64_t size) {
  const uint64_t to_ask_for = byoc_cpu_features_to_ask_for();
  list_words(features, to_ask_for, true, buffer, size);
  if (buffer[0] != '\0') list_words(features, byoc_cpu_ask(to_ask_for), true, buffer, size);
}

void byoc_cpu_describe_refusal(const char *model_name, const char *refused, char *message, uint64_t size) {
  if (message == NULL || size == 0) return;
  (void)snprintf(message, size,
                 "the model '%s' uses the registers of %s, and the system refuses them to this process (arch_prctl, "
                 "ARCH_REQ_XCOMP_PERM); allow that call, or build the model for one more processor, -mcpu=...,%s",
                 model_name, refused, byoc_cpu_base());
}

int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size) {
  char missing[256];
  byoc_cpu_list_missing(features, missing, sizeof(missing));
  if (message != NULL && size > 0) message[0] = '\0';
  if (missing[0] == '\0') {
    byoc_cpu_list_refused(features, missing, sizeof(missing));
    if (missing[0] == '\0') return BYOC_OK;
    byoc_cpu_describe_refusal(model_name, missing, message, size);
    return BYOC_UNSUPPORTED;
  }
  if (message != NULL && size > 0) {
    (void)snprintf(message, size,
                   "the model '%s' was built for a processor with %s, which this one lacks; build it with -mcpu=%s or "
                   "on a machine of this kind",
                   model_name, missing, byoc_cpu_base());
  }
  return BYOC_UNSUPPORTED;
}
