// SPDX-License-Identifier: Apache-2.0
// The functions of emitted C that convert between f16 or bf16 and f32: runs of elements, and single ones outside of
// vector loops. They use the processor's instructions where the compiler says that there are any, and else the helpers,
// whose results have the same bits.
#include <string.h>

#include "core/kernel/emit.h"

// Runs of as many elements as a register holds, for one set of instructions. %s is the operand.
typedef struct runs_t {
  const char *condition, *header;
  int lanes;
  const char *load_f32, *store_f32, *load_16, *store_16, *widen, *narrow;
  const char *round; // NULL: to 16 bits and back
  const char *text;  // functions that the patterns call; may be NULL
} runs_t;

#define AVX512_RUNS                                                                                                    \
  "immintrin.h", 16, "_mm512_loadu_ps(%s)", "_mm512_storeu_ps(%s, %s)", "_mm256_loadu_si256((const void *)(%s))",      \
      "_mm256_storeu_si256((void *)(%s), %s)"
#define AVX_RUNS                                                                                                       \
  "immintrin.h", 8, "_mm256_loadu_ps(%s)", "_mm256_storeu_ps(%s, %s)", "_mm_loadu_si128((const void *)(%s))",          \
      "_mm_storeu_si128((void *)(%s), %s)"

static const runs_t f16_runs[] = {
    {"defined(__AVX512F__)", AVX512_RUNS, "_mm512_cvtph_ps(%s)",
     "_mm512_cvtps_ph(%s, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)", NULL, NULL},
    {"defined(__F16C__)", AVX_RUNS, "_mm256_cvtph_ps(%s)", "_mm256_cvtps_ph(%s, _MM_FROUND_TO_NEAREST_INT)", NULL,
     NULL},
    {"defined(__aarch64__) && defined(__ARM_NEON)", "arm_neon.h", 4, "vld1q_f32(%s)", "vst1q_f32(%s, %s)",
     "vreinterpret_f16_u16(vld1_u16(%s))", "vst1_u16(%s, vreinterpret_u16_f16(%s))", "vcvt_f32_f16(%s)",
     "vcvt_f16_f32(%s)", NULL, NULL},
    {NULL},
};

// bf16 is rounded in the high half of each word. The processor's own instruction would make zeros of subnormal numbers.
static const runs_t bf16_runs[] = {
    {"defined(__AVX512F__)", AVX512_RUNS, "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(%s), 16))",
     "_mm512_cvtepi32_epi16(_mm512_srli_epi32(byoc_bf16_words_16(%s), 16))",
     "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_srli_epi32(byoc_bf16_words_16(%s), 16), 16))",
     "BYOC_HALF __m512i byoc_bf16_words_16(__m512 x) {\n"
     "  const __m512i u = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);\n"
     "  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), one);\n"
     "  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);\n"
     "  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);\n"
     "  return _mm512_mask_or_epi32(rounded, is_nan, u, _mm512_set1_epi32(0x400000));\n"
     "}\n"},
    {"defined(__AVX2__)", AVX_RUNS, "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(%s), 16))",
     "byoc_bf16_packed(_mm256_srli_epi32(byoc_bf16_words_8(%s), 16))",
     "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_srli_epi32(byoc_bf16_words_8(%s), 16), 16))",
     "BYOC_HALF __m256i byoc_bf16_words_8(__m256 x) {\n"
     "  const __m256i u = _mm256_castps_si256(x), one = _mm256_set1_epi32(1);\n"
     "  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), one);\n"
     "  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);\n"
     "  const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));\n"
     "  return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));\n"
     "}\n"
     "BYOC_HALF __m128i byoc_bf16_packed(__m256i x) {\n"
     "  return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));\n"
     "}\n"},
    {NULL},
};

// Appends the pattern with the operands in the places of "%s".
static void fill(byoc_string_t *out, const char *pattern, const char *first, const char *second) {
  for (const char *operand = first; *pattern != '\0'; ++pattern) {
    if (pattern[0] != '%') {
      byoc_string_append_bytes(out, pattern, 1);
      continue;
    }
    byoc_string_append(out, operand);
    operand = second;
    ++pattern;
  }
}

// The operand `from + i` within the patterns, the innermost first; NULL ends them.
static void fill_all(byoc_string_t *out, const char *const *patterns) {
  byoc_string_t value;
  byoc_string_init(&value, out->allocator);
  byoc_string_append(&value, "from + i");
  for (; *patterns != NULL; ++patterns) {
    byoc_string_clear(out);
    fill(out, *patterns, value.failed ? "" : value.data, NULL);
    byoc_string_clear(&value);
    byoc_string_append_bytes(&value, out->data, out->size);
  }
  if (value.failed) out->failed = true;
  byoc_string_deinit(&value);
}

// A macro: the loop over whole registers. What is left stays for the function.
static void emit_registers(byoc_string_t *out, const char *type, const char *name, const char *store, int lanes,
                           const char *const *patterns) {
  byoc_string_t value;
  byoc_string_init(&value, out->allocator);
  fill_all(&value, patterns);
  byoc_string_appendf(out, "#define BYOC_%s_%s_%d for (; i <= count - %d; i += %d) ", type, name, lanes, lanes, lanes);
  fill(out, store, "to + i", value.failed ? "" : value.data);
  byoc_string_append(out, "\n");
  if (value.failed) out->failed = true;
  byoc_string_deinit(&value);
}

static void emit_all_registers(byoc_string_t *out, const char *type, const runs_t *rows) {
  for (const runs_t *r = rows; r->condition != NULL; ++r) {
    const char *const widen[] = {r->load_16, r->widen, NULL}, *const narrow[] = {r->load_f32, r->narrow, NULL};
    const char *const round[] = {r->load_f32, r->round, NULL};
    const char *const there_and_back[] = {r->load_f32, r->narrow, r->widen, NULL};
    byoc_string_appendf(out, "#if %s\n#include <%s>\n", r->condition, r->header);
    if (r->text != NULL) byoc_string_append(out, r->text);
    emit_registers(out, type, "WIDEN", r->store_f32, r->lanes, widen);
    emit_registers(out, type, "NARROW", r->store_16, r->lanes, narrow);
    emit_registers(out, type, "ROUND", r->store_f32, r->lanes, r->round != NULL ? round : there_and_back);
    byoc_string_append(out, "#endif\n");
  }
}

static const char plain_text[] = "#if defined(__F16C__)\n"
                                 "#define BYOC_F32_OF_F16(x) _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(x)))\n"
                                 "#define BYOC_F16_OF_F32(x) (uint16_t)_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), "
                                 "_MM_FROUND_TO_NEAREST_INT), 0)\n"
                                 "#else\n"
                                 "#define BYOC_F32_OF_F16(x) byoc_f32_from_f16(x)\n"
                                 "#define BYOC_F16_OF_F32(x) byoc_f16_from_f32(x)\n"
                                 "#endif\n"
                                 "BYOC_HALF float byoc_f32_of_f16(uint16_t x) {\n  return BYOC_F32_OF_F16(x);\n}\n"
                                 "BYOC_HALF uint16_t byoc_f16_of_f32(float x) {\n  return BYOC_F16_OF_F32(x);\n}\n";

static void emit_run(byoc_string_t *out, const char *type, const char *step, const char *name, const char *to,
                     const char *from, const char *rest) {
  const bool is_in_place = strcmp(step, "ROUND") == 0;
  byoc_string_appendf(out, "BYOC_HALF void %s(%s *restrict to, ", name, to);
  if (!is_in_place) byoc_string_appendf(out, "const %s *restrict from, ", from);
  byoc_string_append(out, "int64_t count) {\n");
  if (is_in_place) byoc_string_appendf(out, "  const %s *from = to;\n", from);
  byoc_string_append(out, "  int64_t i = 0;\n");
  static const int lanes[] = {16, 8, 4}; // the widest first, then what is left
  for (int l = 0; l < 3; ++l)
    byoc_string_appendf(out, "#if defined(BYOC_%s_%s_%d)\n  BYOC_%s_%s_%d;\n#endif\n", type, step, lanes[l], type, step,
                        lanes[l]);
  byoc_string_append(out, "  BYOC_VECTOR\n");
  byoc_string_appendf(out, "  for (; i < count; ++i) {\n    to[i] = %s;\n  }\n}\n", rest);
}

static void emit_f16(byoc_string_t *out) {
  emit_all_registers(out, "F16", f16_runs);
  byoc_string_append(out, plain_text);
  emit_run(out, "F16", "WIDEN", "byoc_f32s_of_f16", "float", "uint16_t", "BYOC_F32_OF_F16(from[i])");
  emit_run(out, "F16", "NARROW", "byoc_f16s_of_f32", "uint16_t", "float", "BYOC_F16_OF_F32(from[i])");
  emit_run(out, "F16", "ROUND", "byoc_f32s_round_f16", "float", "float", "BYOC_F32_OF_F16(BYOC_F16_OF_F32(from[i]))");
}

static void emit_bf16(byoc_string_t *out) {
  emit_all_registers(out, "BF16", bf16_runs);
  emit_run(out, "BF16", "WIDEN", "byoc_f32s_of_bf16", "float", "uint16_t", "byoc_f32_from_bf16(from[i])");
  emit_run(out, "BF16", "NARROW", "byoc_bf16s_of_f32", "uint16_t", "float", "byoc_bf16_from_f32(from[i])");
  emit_run(out, "BF16", "ROUND", "byoc_f32s_round_bf16", "float", "float",
           "byoc_f32_from_bf16(byoc_bf16_from_f32(from[i]))");
}

void byoc_emit_half_prelude(const byoc_emitter_t *emitter, byoc_string_t *out) {
  byoc_string_append(out, "// Between 16 bits and f32: numbers are rounded to the nearest, ties to even.\n"
                          "#if defined(__GNUC__)\n"
                          "#define BYOC_HALF static inline __attribute__((unused))\n"
                          "#else\n"
                          "#define BYOC_HALF static inline\n"
                          "#endif\n");
  if (emitter->uses_f16) emit_f16(out);
  if (emitter->uses_bf16) emit_bf16(out);
  byoc_string_append(out, "\n");
}
