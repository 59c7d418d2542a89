// SPDX-License-Identifier: Apache-2.0
// Instruction sets: the columns of byoc/isa.def that plans, emitters and flags use.
#include "problem/isa.h"

#include <stdio.h>
#include <string.h>

// Bytes of the registers that a feature brings; the architecture's own if no feature brings wider ones.
enum {
  BYTES_BASE = 16,
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, vector_bytes, ...) BYTES_##NAME = vector_bytes,
#include "byoc/isa.def"
};

typedef struct isa_row_t {
  const char *features, *header, *preamble;
  int32_t vector_bytes, registers;
} isa_row_t;
static const isa_row_t isas[BYOC_CUTLASS_ISA_COUNT] = {
#define BYOC_ISA(NAME, id, features, WIDTH, registers, header)                                                         \
  [BYOC_CUTLASS_ISA_##NAME] = {features, header, "#include <" header ">\n", BYTES_##WIDTH, registers},
#include "byoc/isa.def"
};

// The option that takes flags without '-', by machine.
enum {
#define BYOC_ISA_MACHINE(NAME, ...) MACHINE_##NAME,
#include "byoc/isa.def"
#define BYOC_ISA_WORD(NAME, MACHINE, ...) MACHINE_OF_##NAME = MACHINE_##MACHINE,
#include "byoc/isa.def"
};
static const char *const marches[] = {
#define BYOC_ISA_MACHINE(NAME, name, elf, march, base) march,
#include "byoc/isa.def"
};

typedef struct feature_row_t {
  const char *name, *flag, *tuning;
  int machine;
} feature_row_t;
enum {
#define BYOC_ISA_FEATURE(NAME, ...) FEATURE_##NAME,
#include "byoc/isa.def"
  FEATURE_COUNT
};
static const feature_row_t features[FEATURE_COUNT] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, vector_bytes, tuning, ...)                         \
  [FEATURE_##NAME] = {name, flag, tuning, MACHINE_OF_##WORD},
#include "byoc/isa.def"
};

int32_t byoc_cutlass_isa_lanes(byoc_cutlass_isa_t isa) {
  return isas[isa].vector_bytes / (int32_t)sizeof(float);
}

int32_t byoc_cutlass_isa_sums(byoc_cutlass_isa_t isa) {
  return isas[isa].registers - 4;
}

int32_t byoc_cutlass_isa_key_vectors(byoc_cutlass_isa_t isa) {
  return isas[isa].registers / 8;
}

const char *byoc_cutlass_isa_preamble(byoc_cutlass_isa_t isa) {
  return isas[isa].header[0] ? isas[isa].preamble : NULL;
}

const char *byoc_cutlass_isa_features(byoc_cutlass_isa_t isa) {
  return isas[isa].features;
}

// The next word at *at, which is moved behind it; its size, 0 at the end.
static size_t next_word(const char **at, const char **out_word) {
  *out_word = *at + strspn(*at, " ");
  const size_t size = strcspn(*out_word, " ");
  *at = *out_word + size;
  return size;
}

static bool has_word(const char *words, const char *word, size_t size) {
  const char *here;
  for (size_t length; (length = next_word(&words, &here)) > 0;)
    if (length == size && memcmp(here, word, size) == 0) return true;
  return false;
}

bool byoc_cutlass_has_features(const char *all, const char *wanted) {
  const char *word;
  for (size_t size; (size = next_word(&wanted, &word)) > 0;)
    if (!has_word(all, word, size)) return false;
  return true;
}

byoc_cutlass_isa_t byoc_cutlass_isa_choose(const char *all) {
  byoc_cutlass_isa_t isa = BYOC_CUTLASS_ISA_COUNT - 1;
  while (isa > 0 && !byoc_cutlass_has_features(all, isas[isa].features)) --isa;
  return isa;
}

const char *byoc_cutlass_dot_feature(byoc_cutlass_isa_t isa, uint32_t dot) {
  static const struct {
    uint32_t dot;
    byoc_cutlass_isa_t isa;
    int feature;
  } rows[] = {
#define BYOC_ISA_DOT(NAME, ISA, FEATURE) {BYOC_CUTLASS_DOT_##NAME, BYOC_CUTLASS_ISA_##ISA, FEATURE_##FEATURE},
#include "byoc/isa.def"
  };
  bool is_instruction = false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].dot != dot) continue;
    if (rows[i].isa == isa) return features[rows[i].feature].name;
    is_instruction = true;
  }
  return is_instruction ? NULL : "";
}

const char *byoc_cutlass_tile_features(byoc_cutlass_isa_t isa, uint32_t dot) {
#define BYOC_ISA_TILES(NAME, ISA, features)                                                                            \
  if (isa == BYOC_CUTLASS_ISA_##ISA && dot == BYOC_CUTLASS_DOT_##NAME) return features;
#include "byoc/isa.def"
  return NULL;
}

// The rate of the row for one of these features, on processors of this maker; 1 if there is none.
static double rate_of(const char *wanted, const char *vendor) {
  static const struct {
    int feature;
    const char *vendor;
    double rate;
  } rows[] = {
#define BYOC_ISA_RATE(TYPE, FEATURE, vendor, rate) {FEATURE_##FEATURE, vendor, rate},
#include "byoc/isa.def"
  };
  double any = 1.0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const char *feature = features[rows[i].feature].name;
    if (!has_word(wanted, feature, strlen(feature))) continue;
    if (rows[i].vendor[0] && strcmp(rows[i].vendor, vendor) == 0) return rows[i].rate;
    if (!rows[i].vendor[0]) any = rows[i].rate;
  }
  return any;
}

double byoc_cutlass_dot_rate(byoc_cutlass_isa_t isa, uint32_t dot, const char *vendor) {
  const char *feature = byoc_cutlass_dot_feature(isa, dot);
  return feature ? rate_of(feature, vendor) : 1.0;
}

double byoc_cutlass_tile_rate(byoc_cutlass_isa_t isa, uint32_t dot) {
  const char *wanted = byoc_cutlass_tile_features(isa, dot);
  return wanted ? rate_of(wanted, "") : 1.0;
}

bool byoc_cutlass_fast_bf16(size_t index, const char **out_feature, const char **out_vendor) {
  enum { TYPE_INT8, TYPE_BF16 };
  static const struct {
    int type, feature;
    const char *vendor;
    double rate;
  } rows[] = {
#define BYOC_ISA_RATE(TYPE, FEATURE, vendor, rate) {TYPE_##TYPE, FEATURE_##FEATURE, vendor, rate},
#include "byoc/isa.def"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].type != TYPE_BF16 || rows[i].rate <= 1.0 || index-- > 0) continue;
    *out_feature = features[rows[i].feature].name;
    *out_vendor = rows[i].vendor;
    return true;
  }
  return false;
}

const char *byoc_cutlass_half_feature(byoc_cutlass_isa_t isa) {
  static const struct {
    byoc_cutlass_isa_t isa;
    int feature;
  } rows[] = {
#define BYOC_ISA_HALF(ISA, FEATURE) {BYOC_CUTLASS_ISA_##ISA, FEATURE_##FEATURE},
#include "byoc/isa.def"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (rows[i].isa == isa) return features[rows[i].feature].name;
  return "";
}

// Appends the flags of the features, then those for tuning, each behind a blank unless it is the first.
static void add_flags(const char *wanted, char *buffer, size_t size) {
  size_t used = strlen(buffer);
  for (int tuning = 0; tuning < 2; ++tuning) {
    const char *at = wanted, *word;
    for (size_t length; (length = next_word(&at, &word)) > 0;)
      for (size_t i = 0; i < FEATURE_COUNT; ++i) {
        const char *flag = tuning ? features[i].tuning : features[i].flag;
        if (strlen(features[i].name) != length || memcmp(features[i].name, word, length) != 0 || !flag[0]) continue;
        const char *front = flag[0] == '-' ? "" : marches[features[i].machine];
        if (used < size) used += (size_t)snprintf(buffer + used, size - used, "%s%s%s", used ? " " : "", front, flag);
      }
  }
}

void byoc_cutlass_isa_flags(byoc_cutlass_isa_t isa, uint32_t dot, const char *more, char *buffer, size_t size) {
  const char *feature = byoc_cutlass_dot_feature(isa, dot);
  buffer[0] = '\0';
  add_flags(isas[isa].features, buffer, size);
  if (feature) add_flags(feature, buffer, size);
  add_flags(more, buffer, size);
}
