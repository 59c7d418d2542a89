// SPDX-License-Identifier: Apache-2.0
// Instruction set extensions of this processor. Artifacts carry this file, so it includes nothing but byoc/isa.def,
// which the compiler reads, too.
#ifndef BYOC_CORE_RUNTIME_CPU_H_
#define BYOC_CORE_RUNTIME_CPU_H_

#include <stdint.h>

// Features, and the words in which the processor names them: rows of byoc/isa.def.
typedef enum byoc_cpu_feature_t {
#define BYOC_ISA_FEATURE(NAME, ...) BYOC_CPU_##NAME,
#include "byoc/isa.def"
  BYOC_CPU_FEATURE_COUNT
} byoc_cpu_feature_t;

enum {
#define BYOC_ISA_WORD(NAME, ...) BYOC_CPU_WORD_##NAME,
#include "byoc/isa.def"
  BYOC_CPU_WORD_COUNT
};

// The feature words of a processor and its system.
typedef struct byoc_cpu_words_t {
  uint32_t words[BYOC_CPU_WORD_COUNT];
  uint64_t xcr0; // registers that the system saves; valid only if the OSXSAVE bit is set
} byoc_cpu_words_t;

// The features that are usable on a machine with these words: one bit per feature.
uint64_t byoc_cpu_features_in(const byoc_cpu_words_t *said);

// The features that use registers for which a process has to ask the system: code that does not use them does not ask.
uint64_t byoc_cpu_features_to_ask_for(void);

// Asks the system for the registers of these features; it gives them to the whole process until its end. Returns the
// features that it refuses; 0 if there is nothing to ask for.
uint64_t byoc_cpu_ask(uint64_t features);

// The features of this machine, whether or not this process has to ask for their registers. None are usable if
// byoc/isa.def has no words for the architecture.
uint64_t byoc_cpu_detect(void);

#endif // BYOC_CORE_RUNTIME_CPU_H_
