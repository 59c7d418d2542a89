// Instruction sets: reads words of -mcpu and lists of features by the rows of byoc/isa.def.
#include "core/target/cpu.h"

#include <string.h>

#include "byoc/call.h"

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

// Words of -mcpu, in addition to "native" and the names of features.
typedef struct word_t {
  const char *word, *features;
} word_t;
static const word_t words[] = {
#define BYOC_ISA_LEVEL(word, features) {word, features},
#include "byoc/isa.def"
#define BYOC_ISA(NAME, id, features, ...) {#id, features},
#include "byoc/isa.def"
};
enum { WORD_COUNT = sizeof(words) / sizeof(words[0]) };

const char *byoc_cpu_feature_name(byoc_cpu_feature_t feature) {
  return (unsigned)feature < BYOC_CPU_FEATURE_COUNT ? rows[feature].name : "";
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

// Adds all features that these imply: a compiler that may use one uses the others too, and every processor has them.
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

static byoc_status_t unknown_word(const char *word, bool is_mcpu, byoc_diag_t *diag) {
  const char *names[1 + WORD_COUNT + BYOC_CPU_FEATURE_COUNT];
  char all[1024] = "";
  size_t count = 0, used = 0;
  if (is_mcpu) {
    names[count++] = "native";
    for (size_t i = 0; i < WORD_COUNT; ++i) names[count++] = words[i].word;
  }
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if (!is_mcpu || find_word(rows[i].name, strlen(rows[i].name)) == NULL) names[count++] = rows[i].name;
  }
  for (size_t i = 0; i < count && used < sizeof(all); ++i) {
    used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", names[i]);
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_NOT_FOUND, "unknown processor or extension '%.64s'; there are %s", word, all);
  const char *nearest = byoc_nearest_match(word, names, count);
  if (nearest != NULL) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  return status;
}

// Names separated by any of `separators`; empty ones are skipped. `is_mcpu`: words that are not features count too.
static byoc_status_t parse_names(const char *text, const char *separators, bool is_mcpu, byoc_diag_t *diag,
                                 uint64_t *out_features) {
  uint64_t features = 0;
  for (const char *at = text + strspn(text, separators); *at != '\0'; at += strspn(at, separators)) {
    const size_t size = strcspn(at, separators);
    const word_t *word = is_mcpu ? find_word(at, size) : NULL;
    const uint64_t feature = find_feature(at, size);
    if (word == NULL && feature == 0) {
      char unknown[65];
      snprintf(unknown, sizeof(unknown), "%.*s", size < 64 ? (int)size : 64, at);
      return unknown_word(unknown, is_mcpu, diag);
    }
    features |= word != NULL ? features_of_row(word->features) : feature;
    at += size;
  }
  *out_features = features;
  return BYOC_OK;
}

byoc_status_t byoc_cpu_parse(const char *name, byoc_diag_t *diag, uint64_t *out_features) {
  *out_features = 0;
  if (strcmp(name, "native") == 0) {
    *out_features = byoc_cpu_detect();
    return BYOC_OK;
  }
  if (name[strspn(name, "+")] == '\0') return unknown_word(name, true, diag);
  BYOC_RETURN_IF_ERROR(parse_names(name, "+", true, diag, out_features));
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
  return parse_names(text, " ", false, diag, out_features);
}

byoc_status_t byoc_cpu_flags(uint64_t features, byoc_cpu_flag_visit_t visit, void *self, byoc_diag_t *diag) {
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if (features >> i & 1u) BYOC_RETURN_IF_ERROR(visit(self, rows[i].flag, diag));
  }
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if ((features >> i & 1u) && rows[i].tuning[0] != '\0') BYOC_RETURN_IF_ERROR(visit(self, rows[i].tuning, diag));
  }
  return BYOC_OK;
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
