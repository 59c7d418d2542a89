// SPDX-License-Identifier: Apache-2.0
// Processor features: names, levels, and what this machine has.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/targets/cpu.h"
#include "core/targets/isa_level.h"

#define BIT(NAME) (UINT64_C(1) << BYOC_CPU_##NAME)

static uint64_t parse(const char *name) {
  byoc_diag_t diag = {0};
  uint64_t features = 0;
  byoc_test_ok(byoc_cpu_parse(name, BYOC_MACHINE_X86_64, &diag, &features), &diag);
  return features;
}

static void test_levels(void **state) {
  (void)state;
  assert_int_equal(parse("x86-64"), 0);
  assert_int_equal(parse("x86-64-v2"), BIT(SSE3) | BIT(SSSE3) | BIT(SSE4_1) | BIT(SSE4_2) | BIT(POPCNT));
  assert_int_equal(parse("x86-64-v3"), parse("x86-64-v2") | parse("avx2+fma+f16c+bmi1+bmi2"));
  assert_int_equal(parse("x86-64-v4"), parse("x86-64-v3") | parse("avx512f+avx512bw+avx512cd+avx512dq+avx512vl"));
  assert_int_equal(parse("native"), byoc_cpu_detect());
}

static void test_implied(void **state) {
  (void)state;
  assert_int_equal(parse("pni"), BIT(SSE3));
  assert_int_equal(parse("avx"), parse("x86-64-v2") | BIT(AVX));
  assert_int_equal(parse("avx_vnni"), parse("avx") | BIT(AVX2) | BIT(AVXVNNI));
  assert_true((parse("avx512_bf16") & BIT(AVX512F)) != 0);
  assert_true((parse("avx512_vnni") & (BIT(AVX2) | BIT(FMA))) == (BIT(AVX2) | BIT(FMA)));
}

// A word means the same to every target: an instruction set stands for what code generators have templates for.
static void test_instruction_sets(void **state) {
  (void)state;
  assert_int_equal(parse("portable"), 0);
  assert_int_equal(parse("avx2"), parse("avx") | BIT(AVX2) | BIT(FMA) | BIT(BMI2));
  assert_int_equal(parse("avx512"), parse("avx2") | parse("avx512f+avx512bw+avx512dq+avx512vl"));
  assert_int_equal(parse("avx512_vnni"), parse("avx512") | BIT(AVX512VNNI));
  assert_int_equal(parse("avx512_bf16"), parse("avx512") | BIT(AVX512VNNI) | BIT(AVX512BF16));
  assert_int_equal(parse("avx512_fp16"), parse("avx512_bf16") | BIT(AVX512FP16));
  assert_int_equal(parse("amx_int8"), parse("avx512_fp16") | BIT(AMXTILE) | BIT(AMXINT8));
  assert_int_equal(parse("sapphirerapids"), parse("x86-64-v4") | parse("amx_int8") | parse("amx_bf16") | BIT(AVXVNNI));
  assert_int_equal(byoc_cpu_of_loops(parse("sapphirerapids")), parse("x86-64-v4+avx512_fp16+avx_vnni"));
  assert_int_equal(parse("avx512+avx512_vnni"), parse("avx512_vnni"));
  assert_int_equal(parse("x86-64-v3+avx_vnni"), parse("x86-64-v3") | BIT(AVXVNNI));
  assert_int_equal(parse("x86-64-v4") & parse("avx512"), parse("avx512"));
  byoc_diag_t diag = {0};
  uint64_t features = 0;
  byoc_test_ok(byoc_cpu_parse_list("avx2 avx512_vnni", &diag, &features), &diag); // what an artifact requires
  assert_int_equal(features, BIT(AVX2) | BIT(AVX512VNNI));
}

// Each machine has words of its own; an instruction set without features is of any.
static void test_each_machine_has_words_of_its_own(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  uint64_t features = 0;
  byoc_test_ok(byoc_cpu_parse("armv8-a", BYOC_MACHINE_AARCH64, &diag, &features), &diag);
  assert_int_equal(features, BIT(ASIMD));
  byoc_test_ok(byoc_cpu_parse("neoverse-n2", BYOC_MACHINE_AARCH64, &diag, &features), &diag);
  assert_int_equal(features, BIT(ASIMD) | BIT(ASIMDHP) | BIT(ASIMDDP) | BIT(I8MM) | BIT(BF16) | BIT(SVE) | BIT(SVE2));
  byoc_test_ok(byoc_cpu_parse("rv64gc+v", BYOC_MACHINE_RISCV64, &diag, &features), &diag);
  assert_int_equal(features, BIT(RVV));
  byoc_test_ok(byoc_cpu_parse("portable", BYOC_MACHINE_AARCH64, &diag, &features), &diag);
  assert_int_equal(features, 0);
  uint64_t seen = 0;
  for (int machine = 0; machine < BYOC_MACHINE_COUNT; ++machine) {
    const uint64_t own = byoc_cpu_features_of((byoc_machine_t)machine);
    assert_int_equal(own & seen, 0);
    seen |= own;
    byoc_test_ok(byoc_cpu_parse(byoc_machine_base(machine), (byoc_machine_t)machine, &diag, &features), &diag);
    assert_int_equal(features & ~own, 0);
  }
  assert_int_equal(seen, (UINT64_C(1) << BYOC_CPU_FEATURE_COUNT) - 1);
  const char *const wrong[] = {"avx2", "fma", "x86-64-v3", "native", "v"};
  const byoc_machine_t other =
      byoc_machine_host() == BYOC_MACHINE_AARCH64 ? BYOC_MACHINE_RISCV64 : BYOC_MACHINE_AARCH64;
  for (size_t i = 0; i + (other == BYOC_MACHINE_RISCV64) < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    byoc_diag_clear(&diag);
    byoc_test_error(byoc_cpu_parse(wrong[i], other, &diag, &features), BYOC_NOT_FOUND, &diag, byoc_machine_name(other));
  }
}

static void test_errors(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  uint64_t features = 1;
  byoc_test_error(byoc_cpu_parse("avx2+fmaa", BYOC_MACHINE_X86_64, &diag, &features), BYOC_NOT_FOUND, &diag,
                  "unknown processor or extension 'fmaa'; there are native, x86-64, x86-64-v2");
  assert_string_equal(diag.hint, "did you mean 'fma'?");
  assert_int_equal(features, 0);
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_cpu_parse("", BYOC_MACHINE_X86_64, &diag, &features), BYOC_NOT_FOUND, &diag, "unknown");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_cpu_parse_list("avx native", &diag, &features), BYOC_NOT_FOUND, &diag,
                  "'native'; there are pni");
}

// The best first; of two with as many features, the one that was named first.
static void test_lists(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_diag_t diag = {0};
  byoc_isa_levels_t levels;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_test_ok(
      byoc_isa_levels_parse("x86-64,bmi1,x86-64-v4,bmi2,x86-64-v3", BYOC_MACHINE_X86_64, &arena, &diag, &levels),
      &diag);
  static const char *const names[] = {"x86-64-v4", "x86-64-v3", "bmi1", "bmi2", "x86-64"};
  assert_int_equal(levels.count, 5);
  for (size_t i = 0; i < 5; ++i) assert_string_equal(levels.levels[i].name, names[i]);
  assert_int_equal(byoc_isa_level_find(&levels, parse("x86-64-v4")), 0);
  assert_int_equal(byoc_isa_level_find(&levels, parse("x86-64-v3") | BIT(AVX512F)), 1);
  assert_int_equal(byoc_isa_level_find(&levels, BIT(BMI2)), 3);
  assert_int_equal(byoc_isa_level_find(&levels, 0), 4);
  levels.count = 4; // none fits: the last
  assert_int_equal(byoc_isa_level_find(&levels, 0), 3);
  static const struct {
    const char *text;
    byoc_status_t status;
  } bad[] = {{"x86-64,", BYOC_NOT_FOUND},
             {"x86-64,x86", BYOC_NOT_FOUND},
             {"x86-64-v2,native", BYOC_INVALID_ARGUMENT},
             {"x86-64-v2,sse4_2", BYOC_INVALID_ARGUMENT},
             {"pni,ssse3,sse4_1,sse4_2,avx,avx2,fma,f16c,bmi1", BYOC_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    byoc_diag_clear(&diag);
    assert_int_equal(byoc_isa_levels_parse(bad[i].text, BYOC_MACHINE_X86_64, &arena, &diag, &levels), bad[i].status);
  }
  byoc_diag_clear(&diag);
  byoc_arena_deinit(&arena);
}

static void test_print(void **state) {
  (void)state;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  for (int level = 0; level < BYOC_CPU_FEATURE_COUNT; ++level) {
    const uint64_t features = (UINT64_C(0x2B5A7) << level) & ((UINT64_C(1) << BYOC_CPU_FEATURE_COUNT) - 1);
    uint64_t again = 0;
    byoc_diag_t diag = {0};
    byoc_string_clear(&text);
    byoc_cpu_print(features, &text);
    byoc_test_ok(byoc_cpu_parse_list(text.data, &diag, &again), &diag);
    assert_int_equal(features, again);
  }
  byoc_string_clear(&text);
  byoc_cpu_print(BIT(AVX2) | BIT(FMA), &text);
  assert_string_equal(text.data, "avx2 fma");
  byoc_string_deinit(&text);
}

static byoc_status_t append_flag(void *self, const char *flag, byoc_diag_t *diag) {
  (void)diag;
  byoc_string_appendf(self, " %s", flag);
  return BYOC_OK;
}

static void test_flags(void **state) {
  (void)state;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cpu_flags(BIT(AVX512VL) | BIT(AVX2) | BIT(AVX512VNNI) | BIT(BMI1), append_flag, &text, &diag),
               &diag);
  assert_string_equal(text.data, " -mavx2 -mbmi -mavx512vl -mavx512vnni -mprefer-vector-width=512");
  byoc_string_clear(&text); // words of one option
  byoc_test_ok(byoc_cpu_flags(BIT(ASIMD) | BIT(ASIMDDP) | BIT(SVE), append_flag, &text, &diag), &diag);
  assert_string_equal(text.data, " -march=armv8.2-a+dotprod+sve");
  byoc_string_clear(&text);
  byoc_test_ok(byoc_cpu_flags(BIT(ASIMD), append_flag, &text, &diag), &diag);
  assert_string_equal(text.data, "");
  byoc_test_ok(byoc_cpu_flags(BIT(RVV), append_flag, &text, &diag), &diag);
  assert_string_equal(text.data, " -march=rv64gcv");
  byoc_string_deinit(&text);
  assert_true(byoc_cpu_multiplies_bytes(BIT(AVX512VNNI)));
  assert_true(byoc_cpu_multiplies_bytes(BIT(AVXVNNI) | BIT(AVX2)));
  assert_false(byoc_cpu_multiplies_bytes(parse("x86-64-v4")));
  assert_int_equal(byoc_cpu_vector_bytes(0), 16);
  assert_int_equal(byoc_cpu_vector_bytes(parse("avx2")), 32);
  assert_int_equal(byoc_cpu_vector_bytes(parse("x86-64-v4")), 64);
}

// ---- what a processor says ----

// Every feature, with the registers saved that `xcr0` names.
static uint64_t features_with(uint64_t xcr0) {
  byoc_cpu_words_t said = {.xcr0 = xcr0};
  memset(said.words, 0xff, sizeof(said.words));
  return byoc_cpu_features_in(&said) & byoc_cpu_features_of(BYOC_MACHINE_X86_64);
}

// A mask of AVX-512 must not forget one of its three kinds of registers. Numbers are those
// of the manual (vol. 1, 13.1), not of byoc/isa.def.
static void test_saved_registers(void **state) {
  (void)state;
  const uint64_t x87 = 1, sse = 1 << 1, ymm = 1 << 2, opmask = 1 << 5, zmm_upper = 1 << 6, zmm_high = 1 << 7;
  const uint64_t shapes = 1 << 17, tiles = 1 << 18, tile_features = BIT(AMXTILE) | BIT(AMXINT8) | BIT(AMXBF16);
  const uint64_t every = features_with(~UINT64_C(0)), all = every & ~tile_features,
                 none = parse("x86-64-v2") | BIT(BMI1) | BIT(BMI2);
  const uint64_t avx = none | parse("x86-64-v3") | BIT(AVXVNNI);
  assert_int_equal(every, byoc_cpu_features_of(BYOC_MACHINE_X86_64));
  assert_int_equal(features_with(x87 | sse | ymm | opmask | zmm_upper | zmm_high), all);
  assert_int_equal(features_with(x87 | sse | ymm | opmask | zmm_upper | zmm_high | tiles), all);
  assert_int_equal(features_with(x87 | sse | ymm | opmask | zmm_upper | zmm_high | shapes), all);
  assert_int_equal(features_with(x87 | sse | ymm | opmask | zmm_upper | zmm_high | shapes | tiles), every);
  const uint64_t lacking[] = {opmask, zmm_upper, zmm_high};
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(features_with((x87 | sse | ymm | opmask | zmm_upper | zmm_high) & ~lacking[i]), avx);
  }
  assert_int_equal(features_with(x87 | sse | ymm), avx);
  assert_int_equal(features_with(x87 | sse), none);
  assert_int_equal(features_with(x87 | ymm | opmask | zmm_upper | zmm_high), none);
  assert_int_equal(features_with(0), none);
}

// Without OSXSAVE XCR0 cannot be read, so its value must not count.
static void test_unreadable_xcr0(void **state) {
  (void)state;
  byoc_cpu_words_t said = {.xcr0 = ~UINT64_C(0)};
  memset(said.words, 0xff, sizeof(said.words));
  said.words[BYOC_CPU_WORD_CPUID_1_ECX] &= ~(UINT32_C(1) << 27);
  const uint64_t features = byoc_cpu_features_in(&said) & byoc_cpu_features_of(BYOC_MACHINE_X86_64);
  assert_int_equal(features, parse("x86-64-v2") | BIT(BMI1) | BIT(BMI2));
}

// One bit of one word is one feature. The positions are those of the manual (vol. 2A, CPUID), and of Linux.
static void test_bits(void **state) {
  (void)state;
  static const struct {
    int word, bit;
    uint64_t feature;
  } places[] = {{BYOC_CPU_WORD_CPUID_1_ECX, 0, BIT(SSE3)},         {BYOC_CPU_WORD_CPUID_1_ECX, 9, BIT(SSSE3)},
                {BYOC_CPU_WORD_CPUID_1_ECX, 12, BIT(FMA)},         {BYOC_CPU_WORD_CPUID_1_ECX, 19, BIT(SSE4_1)},
                {BYOC_CPU_WORD_CPUID_1_ECX, 20, BIT(SSE4_2)},      {BYOC_CPU_WORD_CPUID_1_ECX, 23, BIT(POPCNT)},
                {BYOC_CPU_WORD_CPUID_1_ECX, 28, BIT(AVX)},         {BYOC_CPU_WORD_CPUID_1_ECX, 29, BIT(F16C)},
                {BYOC_CPU_WORD_CPUID_7_EBX, 3, BIT(BMI1)},         {BYOC_CPU_WORD_CPUID_7_EBX, 5, BIT(AVX2)},
                {BYOC_CPU_WORD_CPUID_7_EBX, 8, BIT(BMI2)},         {BYOC_CPU_WORD_CPUID_7_EBX, 16, BIT(AVX512F)},
                {BYOC_CPU_WORD_CPUID_7_EBX, 17, BIT(AVX512DQ)},    {BYOC_CPU_WORD_CPUID_7_EBX, 28, BIT(AVX512CD)},
                {BYOC_CPU_WORD_CPUID_7_EBX, 30, BIT(AVX512BW)},    {BYOC_CPU_WORD_CPUID_7_EBX, 31, BIT(AVX512VL)},
                {BYOC_CPU_WORD_CPUID_7_ECX, 11, BIT(AVX512VNNI)},  {BYOC_CPU_WORD_CPUID_7_1_EAX, 4, BIT(AVXVNNI)},
                {BYOC_CPU_WORD_CPUID_7_1_EAX, 5, BIT(AVX512BF16)}, {BYOC_CPU_WORD_CPUID_7_EDX, 23, BIT(AVX512FP16)},
                {BYOC_CPU_WORD_CPUID_7_EDX, 22, BIT(AMXBF16)},     {BYOC_CPU_WORD_CPUID_7_EDX, 24, BIT(AMXTILE)},
                {BYOC_CPU_WORD_CPUID_7_EDX, 25, BIT(AMXINT8)},     {BYOC_CPU_WORD_AARCH64_HWCAP, 1, BIT(ASIMD)},
                {BYOC_CPU_WORD_AARCH64_HWCAP, 10, BIT(ASIMDHP)},   {BYOC_CPU_WORD_AARCH64_HWCAP, 20, BIT(ASIMDDP)},
                {BYOC_CPU_WORD_AARCH64_HWCAP, 22, BIT(SVE)},       {BYOC_CPU_WORD_AARCH64_HWCAP2, 1, BIT(SVE2)},
                {BYOC_CPU_WORD_AARCH64_HWCAP2, 13, BIT(I8MM)},     {BYOC_CPU_WORD_AARCH64_HWCAP2, 14, BIT(BF16)},
                {BYOC_CPU_WORD_RISCV64_HWCAP, 'v' - 'a', BIT(RVV)}};
  uint64_t seen = 0;
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
    byoc_cpu_words_t said = {.xcr0 = ~UINT64_C(0)};
    said.words[BYOC_CPU_WORD_CPUID_1_ECX] = UINT32_C(1) << 27;
    said.words[places[i].word] |= UINT32_C(1) << places[i].bit;
    assert_int_equal(byoc_cpu_features_in(&said), places[i].feature);
    seen |= places[i].feature;
  }
  assert_int_equal(seen, (UINT64_C(1) << BYOC_CPU_FEATURE_COUNT) - 1);
}

// CPUID must say the same as the system, for the features that the system lists.
static void test_detect(void **state) {
  (void)state;
#if !defined(__x86_64__)
  byoc_test_skip("CPUID is an instruction of x86-64");
#endif
  byoc_diag_t diag = {0};
  char *text = NULL;
  size_t size = 0;
  if (byoc_file_read("/proc/cpuinfo", byoc_allocator_system(), &diag, &text, &size) != BYOC_OK)
    byoc_test_skip("there is no /proc/cpuinfo");
  char *line = strstr(text, "\nflags");
  if (line == NULL) {
    free(text);
    byoc_test_skip("/proc/cpuinfo lists no flags");
  }
  char *end = strchr(line + 1, '\n');
  assert_non_null(end);
  *end = ' ';
  end[1] = '\0';
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; ++i) {
    char word[32];
    snprintf(word, sizeof(word), " %s ", byoc_cpu_feature_name((byoc_cpu_feature_t)i));
    const bool listed = strstr(line, word) != NULL, detected = byoc_cpu_detect() >> i & 1u;
    if (listed != detected) fail_msg("%s: system %d, CPUID %d", word, listed, detected);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_levels),
      cmocka_unit_test(test_implied),
      cmocka_unit_test(test_instruction_sets),
      cmocka_unit_test(test_each_machine_has_words_of_its_own),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_print),
      cmocka_unit_test(test_flags),
      cmocka_unit_test(test_saved_registers),
      cmocka_unit_test(test_unreadable_xcr0),
      cmocka_unit_test(test_bits),
      cmocka_unit_test(test_detect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
