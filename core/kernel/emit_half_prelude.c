// SPDX-License-Identifier: Apache-2.0
// The functions of emitted C that convert between f16 or bf16 and f32: runs of elements, and single ones outside of
// vector loops. They use the processor's instructions where the compiler says that there are any, and else the helpers,
// whose results have the same bits.
#include "core/kernel/emit.h"

// Runs of as many elements as a register holds, for one set of instructions.
typedef struct runs_t {
  const char *condition, *header;
  int lanes;
  const char *load_f32, *store_f32, *load_f16, *store_f16, *widen, *narrow; // %s: the operand
} runs_t;

static const runs_t runs[] = {
    {"defined(__AVX512F__)", "immintrin.h", 16, "_mm512_loadu_ps(%s)", "_mm512_storeu_ps(%s, %s)",
     "_mm256_loadu_si256((const void *)(%s))", "_mm256_storeu_si256((void *)(%s), %s)", "_mm512_cvtph_ps(%s)",
     "_mm512_cvtps_ph(%s, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"},
    {"defined(__F16C__)", "immintrin.h", 8, "_mm256_loadu_ps(%s)", "_mm256_storeu_ps(%s, %s)",
     "_mm_loadu_si128((const void *)(%s))", "_mm_storeu_si128((void *)(%s), %s)", "_mm256_cvtph_ps(%s)",
     "_mm256_cvtps_ph(%s, _MM_FROUND_TO_NEAREST_INT)"},
    {"defined(__aarch64__) && defined(__ARM_NEON)", "arm_neon.h", 4, "vld1q_f32(%s)", "vst1q_f32(%s, %s)",
     "vreinterpret_f16_u16(vld1_u16(%s))", "vst1_u16(%s, vreinterpret_u16_f16(%s))", "vcvt_f32_f16(%s)",
     "vcvt_f16_f32(%s)"},
};
enum { RUNS = sizeof(runs) / sizeof(runs[0]) };

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

// to[0 .. count) = conversion of from[0 .. count): a loop over whole registers; what is left stays for the caller.
static void emit_registers(byoc_string_t *out, const char *name, const char *store, const char *first,
                           const char *second, const char *load, int lanes) {
  byoc_string_t value, inner;
  byoc_string_init(&value, out->allocator);
  byoc_string_init(&inner, out->allocator);
  fill(&inner, load, "from + i", NULL);
  fill(&value, first, inner.failed ? "" : inner.data, NULL);
  if (second != NULL) {
    byoc_string_clear(&inner);
    byoc_string_append_bytes(&inner, value.data, value.size);
    byoc_string_clear(&value);
    fill(&value, second, inner.failed ? "" : inner.data, NULL);
  }
  byoc_string_appendf(out, "#define BYOC_%s_REGISTERS for (; i <= count - %d; i += %d) ", name, lanes, lanes);
  fill(out, store, "to + i", value.failed ? "" : value.data);
  byoc_string_append(out, "\n");
  if (value.failed || inner.failed) out->failed = true;
  byoc_string_deinit(&value);
  byoc_string_deinit(&inner);
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

static void emit_run(byoc_string_t *out, const char *name, const char *to, const char *from, const char *macro,
                     const char *rest, bool has_from) {
  byoc_string_appendf(out, "BYOC_HALF void %s(%s *restrict to, ", name, to);
  if (has_from) byoc_string_appendf(out, "const %s *restrict from, ", from);
  byoc_string_append(out, "int64_t count) {\n");
  if (!has_from) byoc_string_appendf(out, "  const %s *from = to;\n", from);
  byoc_string_append(out, "  int64_t i = 0;\n");
  byoc_string_appendf(out, "#if defined(BYOC_%s_REGISTERS)\n  BYOC_%s_REGISTERS;\n#endif\n", macro, macro);
  byoc_string_appendf(out, "  BYOC_HALF_REST\n  for (; i < count; ++i) {\n    to[i] = %s;\n  }\n}\n", rest);
}

static void emit_f16(byoc_string_t *out) {
  for (size_t i = 0; i < RUNS; ++i) {
    const runs_t *r = &runs[i];
    byoc_string_appendf(out, "#%s %s\n#include <%s>\n", i > 0 ? "elif" : "if", r->condition, r->header);
    emit_registers(out, "WIDEN", r->store_f32, r->widen, NULL, r->load_f16, r->lanes);
    emit_registers(out, "NARROW", r->store_f16, r->narrow, NULL, r->load_f32, r->lanes);
    emit_registers(out, "ROUND", r->store_f32, r->narrow, r->widen, r->load_f32, r->lanes);
  }
  byoc_string_append(out, "#endif\n"
                          "#if defined(BYOC_WIDEN_REGISTERS)\n"
                          "#define BYOC_HALF_REST\n"
                          "#else\n"
                          "#define BYOC_HALF_REST BYOC_VECTOR\n"
                          "#endif\n");
  byoc_string_append(out, plain_text);
  emit_run(out, "byoc_f32s_of_f16", "float", "uint16_t", "WIDEN", "BYOC_F32_OF_F16(from[i])", true);
  emit_run(out, "byoc_f16s_of_f32", "uint16_t", "float", "NARROW", "BYOC_F16_OF_F32(from[i])", true);
  emit_run(out, "byoc_f32s_round_f16", "float", "float", "ROUND", "BYOC_F32_OF_F16(BYOC_F16_OF_F32(from[i]))", false);
}

// Shifts, of which compilers make vectors.
static void emit_bf16(byoc_string_t *out) {
  byoc_string_append(out, "#undef BYOC_HALF_REST\n#define BYOC_HALF_REST BYOC_VECTOR\n");
  emit_run(out, "byoc_f32s_of_bf16", "float", "uint16_t", "BF16", "byoc_f32_from_bf16(from[i])", true);
  emit_run(out, "byoc_bf16s_of_f32", "uint16_t", "float", "BF16", "byoc_bf16_from_f32(from[i])", true);
  emit_run(out, "byoc_f32s_round_bf16", "float", "float", "BF16", "byoc_f32_from_bf16(byoc_bf16_from_f32(from[i]))",
           false);
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
