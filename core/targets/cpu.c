// SPDX-License-Identifier: Apache-2.0
// Instruction sets: reads words of -mcpu and lists of features by the rows of byoc/isa.def.
#include "core/targets/cpu.h"

#include <string.h>

#include "byoc/call.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef struct feature_t {
  const char *name, *flag, *tuning, *implied;
} feature_t;
static const feature_t rows[BYOC_CPU_FEATURE_COUNT] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, vector_bytes, tuning, implied)                     \
  [BYOC_CPU_##NAME] = {name, flag, tuning, implied},
#include "byoc/isa.def"
};

// Buffers are aligned for the widest registers.
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, vector_bytes, ...)                                 \
  _Static_assert((vector_bytes) <= BYOC_BUFFER_ALIGNMENT, "registers of " name " are wider than buffers are aligned");
#include "byoc/isa.def"

// Words of -mcpu, in addition to "native" and the names of features. An instruction set belongs to the machine that has
// its features; one without features belongs to any.
enum { MACHINE_ANY = BYOC_MACHINE_COUNT };
typedef struct word_t {
  const char *word, *features;
  int machine;
} word_t;
static const word_t words[] = {
#define BYOC_ISA_LEVEL(word, features, MACHINE) {word, features, BYOC_MACHINE_##MACHINE},
#include "byoc/isa.def"
#define BYOC_ISA(NAME, id, features, ...) {#id, features, MACHINE_ANY},
#include "byoc/isa.def"
};
enum { WORD_COUNT = sizeof(words) / sizeof(words[0]) };

const char *byoc_cpu_vendor(char buffer[13]) {
  buffer[0] = '\0';
#if defined(__x86_64__)
  uint32_t most = 0, name[3] = {0}; // EBX, EDX, ECX
  if (__get_cpuid(0, &most, &name[0], &name[2], &name[1])) memcpy(buffer, name, sizeof(name));
  buffer[12] = '\0';
#endif
  return buffer;
}

const char *byoc_cpu_feature_name(byoc_cpu_feature_t feature) {
  return (unsigned)feature < BYOC_CPU_FEATURE_COUNT ? rows[feature].name : "";
}

uint64_t byoc_cpu_features_of(byoc_machine_t machine) {
  enum {
#define BYOC_ISA_WORD(NAME, MACHINE, ...) MACHINE_OF_##NAME = BYOC_MACHINE_##MACHINE,
#include "byoc/isa.def"
  };
  static const uint8_t machines[BYOC_CPU_FEATURE_COUNT] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, ...) [BYOC_CPU_##NAME] = MACHINE_OF_##WORD,
#include "byoc/isa.def"
  };
  uint64_t features = 0;
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if (machines[i] == machine) features |= UINT64_C(1) << i;
  }
  return features;
}

static bool is_text(const char *text, const char *at, size_t size) {
  return strlen(text) == size && memcmp(text, at, size) == 0;
}

static const word_t *find_word(const char *at, size_t size) {
  for (size_t i = 0; i < WORD_COUNT; ++i) {
    if (is_text(words[i].word, at, size)) return &words[i];
  }
  return NULL;
}

// The feature's bit; 0 if there is none with this name.
static uint64_t find_feature(const char *at, size_t size) {
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if (is_text(rows[i].name, at, size)) return UINT64_C(1) << i;
  }
  return 0;
}

// The features that a row of byoc/isa.def lists.
static uint64_t features_of_row(const char *text) {
  uint64_t features = 0;
  for (const char *at = text + strspn(text, " "); *at != '\0'; at += strspn(at, " ")) {
    const size_t size = strcspn(at, " ");
    features |= find_feature(at, size);
    at += size;
  }
  return features;
}

// Adds all features that these imply: every processor with one has the others, and compilers use them, too.
static uint64_t with_implied(uint64_t features) {
  uint64_t before;
  do {
    before = features;
    for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
      if (features >> i & 1u) features |= features_of_row(rows[i].implied);
    }
  } while (features != before);
  return features;
}

// Names may be features of any machine, or also words of -mcpu for one machine.
typedef struct vocabulary_t {
  uint64_t features;
  const byoc_machine_t *machine; // NULL: features only
} vocabulary_t;

static bool is_known(const vocabulary_t *vocabulary, const word_t *word) {
  if (vocabulary->machine == NULL || word == NULL) return false;
  if (word->machine != MACHINE_ANY) return word->machine == (int)*vocabulary->machine;
  return (features_of_row(word->features) & ~vocabulary->features) == 0;
}

static bool is_native(const vocabulary_t *vocabulary) {
  return vocabulary->machine != NULL && *vocabulary->machine == byoc_machine_host();
}

static byoc_status_t unknown_word(const char *word, const vocabulary_t *vocabulary, byoc_diag_t *diag) {
  const char *names[1 + WORD_COUNT + BYOC_CPU_FEATURE_COUNT];
  char all[1024] = "", machine[64] = "";
  size_t count = 0, used = 0;
  if (is_native(vocabulary)) names[count++] = "native";
  for (size_t i = 0; i < WORD_COUNT; ++i) {
    if (is_known(vocabulary, &words[i])) names[count++] = words[i].word;
  }
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    const bool is_word = is_known(vocabulary, find_word(rows[i].name, strlen(rows[i].name)));
    if ((vocabulary->features >> i & 1u) && !is_word) names[count++] = rows[i].name;
  }
  for (size_t i = 0; i < count && used < sizeof(all); ++i) {
    used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", names[i]);
  }
  if (vocabulary->machine != NULL && !is_native(vocabulary)) {
    snprintf(machine, sizeof(machine), " of %s", byoc_machine_name(*vocabulary->machine));
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_NOT_FOUND, "unknown processor or extension '%.64s'%s; there are %s",
                                         word, machine, all);
  const char *nearest = byoc_nearest_match(word, names, count);
  if (strcmp(word, "native") == 0) {
    byoc_diag_hint(diag, "native is the processor of this machine, which is %s",
                   byoc_machine_name(byoc_machine_host()));
  } else if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  }
  return status;
}

// Names separated by any of `separators`; empty ones are skipped.
static byoc_status_t parse_names(const char *text, const char *separators, const vocabulary_t *vocabulary,
                                 byoc_diag_t *diag, uint64_t *out_features) {
  uint64_t features = 0;
  for (const char *at = text + strspn(text, separators); *at != '\0'; at += strspn(at, separators)) {
    const size_t size = strcspn(at, separators);
    const word_t *word = find_word(at, size);
    if (!is_known(vocabulary, word)) word = NULL;
    const uint64_t feature = find_feature(at, size) & vocabulary->features;
    if (word == NULL && feature == 0) {
      char unknown[65];
      snprintf(unknown, sizeof(unknown), "%.*s", size < 64 ? (int)size : 64, at);
      return unknown_word(unknown, vocabulary, diag);
    }
    features |= word != NULL ? features_of_row(word->features) : feature;
    at += size;
  }
  *out_features = features;
  return BYOC_OK;
}

byoc_status_t byoc_cpu_parse(const char *name, byoc_machine_t machine, byoc_diag_t *diag, uint64_t *out_features) {
  *out_features = 0;
  const vocabulary_t vocabulary = {.features = byoc_cpu_features_of(machine), .machine = &machine};
  if (strcmp(name, "native") == 0 && is_native(&vocabulary)) {
    *out_features = byoc_cpu_detect();
    return BYOC_OK;
  }
  if (name[strspn(name, "+")] == '\0') return unknown_word(name, &vocabulary, diag);
  BYOC_RETURN_IF_ERROR(parse_names(name, "+", &vocabulary, diag, out_features));
  *out_features = with_implied(*out_features);
  return BYOC_OK;
}

void byoc_cpu_print(uint64_t features, byoc_string_t *out) {
  bool first = true;
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if (!(features >> i & 1u)) continue;
    if (!first) byoc_string_append(out, " ");
    byoc_string_append(out, rows[i].name);
    first = false;
  }
}

byoc_status_t byoc_cpu_parse_list(const char *text, byoc_diag_t *diag, uint64_t *out_features) {
  *out_features = 0;
  const vocabulary_t vocabulary = {.features = (UINT64_C(1) << BYOC_CPU_FEATURE_COUNT) - 1};
  return parse_names(text, " ", &vocabulary, diag, out_features);
}

// One option for all features whose flags are words of it: "-march=armv8.2-a+dotprod".
static byoc_status_t visit_march(uint64_t features, byoc_cpu_flag_visit_t visit, void *self, byoc_diag_t *diag) {
  for (size_t machine = 0; machine < BYOC_MACHINE_COUNT; ++machine) {
    char march[128];
    const char *front = byoc_machine_march((byoc_machine_t)machine);
    const uint64_t own = features & byoc_cpu_features_of((byoc_machine_t)machine);
    size_t used = (size_t)snprintf(march, sizeof(march), "%s", front);
    for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT && used < sizeof(march); ++i) {
      const bool is_word = (own >> i & 1u) && rows[i].flag[0] != '-';
      if (is_word) used += (size_t)snprintf(march + used, sizeof(march) - used, "%s", rows[i].flag);
    }
    if (used > strlen(front)) BYOC_RETURN_IF_ERROR(visit(self, march, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_cpu_flags(uint64_t features, byoc_cpu_flag_visit_t visit, void *self, byoc_diag_t *diag) {
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if ((features >> i & 1u) && rows[i].flag[0] == '-') BYOC_RETURN_IF_ERROR(visit(self, rows[i].flag, diag));
  }
  BYOC_RETURN_IF_ERROR(visit_march(features, visit, self, diag));
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if ((features >> i & 1u) && rows[i].tuning[0] != '\0') BYOC_RETURN_IF_ERROR(visit(self, rows[i].tuning, diag));
  }
  return BYOC_OK;
}

uint64_t byoc_cpu_of_loops(uint64_t features) {
  return features & ~byoc_cpu_features_to_ask_for();
}

int32_t byoc_cpu_vector_bytes(uint64_t features) {
  enum { LEAST = 16 };
  int32_t widest = LEAST;
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, vector_bytes, ...)                                 \
  if ((features >> BYOC_CPU_##NAME & 1) && (vector_bytes) > widest) widest = vector_bytes;
#include "byoc/isa.def"
  return widest;
}

bool byoc_cpu_multiplies_bytes(uint64_t features) {
  const uint64_t any = 0
#define BYOC_ISA_DOT4(FEATURE, ...) | UINT64_C(1) << BYOC_CPU_##FEATURE
#include "byoc/isa.def"
      ;
  return (features & any) != 0;
}
