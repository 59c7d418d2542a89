// Instruction set extensions: names, levels, and what each brings along.
#include "core/target/cpu.h"

#include <string.h>

#define BIT(NAME) (UINT64_C(1) << BYOC_CPU_##NAME)

// Feature levels of the x86-64 psABI (https://gitlab.com/x86-psABIs), as far as the list goes.
#define LEVEL_2 (BIT(SSE3) | BIT(SSSE3) | BIT(SSE4_1) | BIT(SSE4_2) | BIT(POPCNT))
#define LEVEL_3 (LEVEL_2 | BIT(AVX) | BIT(AVX2) | BIT(BMI1) | BIT(BMI2) | BIT(FMA) | BIT(F16C))
#define LEVEL_4 (LEVEL_3 | BIT(AVX512F) | BIT(AVX512CD) | BIT(AVX512BW) | BIT(AVX512DQ) | BIT(AVX512VL))

typedef struct feature_text_t {
  const char *name, *flag;
} feature_text_t;
#define FEATURE_TEXT(NAME, text, flag, ...) {text, flag},
static const feature_text_t feature_texts[] = {BYOC_CPU_FEATURE_LIST(FEATURE_TEXT)};
#undef FEATURE_TEXT

const char *byoc_cpu_feature_name(byoc_cpu_feature_t feature) {
  return (unsigned)feature < BYOC_CPU_FEATURE_COUNT ? feature_texts[feature].name : "";
}

const char *byoc_cpu_feature_flag(byoc_cpu_feature_t feature) {
  return (unsigned)feature < BYOC_CPU_FEATURE_COUNT ? feature_texts[feature].flag : "";
}

// What a feature brings along: compilers that are told of one use the others too, and every processor has them.
static uint64_t with_implied(uint64_t features) {
  static const struct {
    uint64_t of, implied;
  } rules[] = {
      // From the newest to the oldest, so that one pass closes the set.
      {BIT(AVX512BF16), BIT(AVX512BW)},
      {BIT(AVX512VNNI) | BIT(AVX512VL) | BIT(AVX512DQ) | BIT(AVX512BW) | BIT(AVX512CD), BIT(AVX512F)},
      {BIT(AVX512F), BIT(AVX2) | BIT(FMA) | BIT(F16C)},
      {BIT(AVX2) | BIT(FMA) | BIT(F16C), BIT(AVX)},
      {BIT(AVX), BIT(SSE4_2)},
      {BIT(SSE4_2), BIT(SSE4_1) | BIT(POPCNT)},
      {BIT(SSE4_1), BIT(SSSE3)},
      {BIT(SSSE3), BIT(SSE3)},
  };
  for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
    if (features & rules[i].of) features |= rules[i].implied;
  }
  return features;
}

static const struct {
  const char *name;
  uint64_t features;
} levels[] = {{"x86-64", 0}, {"x86-64-v2", LEVEL_2}, {"x86-64-v3", LEVEL_3}, {"x86-64-v4", LEVEL_4}};
enum { LEVEL_COUNT = sizeof(levels) / sizeof(levels[0]) };

static byoc_status_t unknown_feature(const char *word, bool with_levels, byoc_diag_t *diag) {
  const char *names[1 + LEVEL_COUNT + BYOC_CPU_FEATURE_COUNT];
  char all[512] = "";
  size_t count = 0, used = 0;
  if (with_levels) {
    names[count++] = "native";
    for (size_t i = 0; i < LEVEL_COUNT; ++i) names[count++] = levels[i].name;
  }
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) names[count++] = feature_texts[i].name;
  for (size_t i = 0; i < count && used < sizeof(all); ++i) {
    used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", names[i]);
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_NOT_FOUND, "unknown processor or extension '%.64s'; there are %s", word, all);
  const char *nearest = byoc_nearest_match(word, names, count);
  if (nearest != NULL) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  return status;
}

// Names separated by any of `separators`; empty ones are skipped.
static byoc_status_t parse_names(const char *text, const char *separators, bool with_levels, byoc_diag_t *diag,
                                 uint64_t *out_features) {
  uint64_t features = 0;
  for (const char *at = text + strspn(text, separators); *at != '\0'; at += strspn(at, separators)) {
    const size_t size = strcspn(at, separators);
    size_t i = 0;
    while (i < BYOC_CPU_FEATURE_COUNT &&
           (strlen(feature_texts[i].name) != size || memcmp(feature_texts[i].name, at, size) != 0)) {
      ++i;
    }
    if (i == BYOC_CPU_FEATURE_COUNT) {
      char word[65];
      snprintf(word, sizeof(word), "%.*s", size < 64 ? (int)size : 64, at);
      return unknown_feature(word, with_levels, diag);
    }
    features |= UINT64_C(1) << i;
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
  for (size_t i = 0; i < LEVEL_COUNT; ++i) {
    if (strcmp(name, levels[i].name) != 0) continue;
    *out_features = levels[i].features;
    return BYOC_OK;
  }
  if (name[strspn(name, "+")] == '\0') return unknown_feature(name, true, diag);
  BYOC_RETURN_IF_ERROR(parse_names(name, "+", true, diag, out_features));
  *out_features = with_implied(*out_features);
  return BYOC_OK;
}

void byoc_cpu_print(uint64_t features, byoc_string_t *out) {
  bool first = true;
  for (size_t i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    if (!(features >> i & 1u)) continue;
    if (!first) byoc_string_append(out, " ");
    byoc_string_append(out, feature_texts[i].name);
    first = false;
  }
}

byoc_status_t byoc_cpu_parse_list(const char *text, byoc_diag_t *diag, uint64_t *out_features) {
  *out_features = 0;
  return parse_names(text, " ", false, diag, out_features);
}
