// Processor features: names, levels, and what this machine has.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/target/cpu.h"

#define BIT(NAME) (UINT64_C(1) << BYOC_CPU_##NAME)

static uint64_t parse(const char *name) {
  byoc_diag_t diag = {0};
  uint64_t features = 0;
  byoc_test_ok(byoc_cpu_parse(name, &diag, &features), &diag);
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
  assert_int_equal(parse("avx2"), parse("x86-64-v2") | BIT(AVX) | BIT(AVX2));
  assert_true((parse("avx512_bf16") & BIT(AVX512F)) != 0);
  assert_true((parse("avx512_vnni") & (BIT(AVX2) | BIT(FMA))) == (BIT(AVX2) | BIT(FMA)));
}

static void test_errors(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  uint64_t features = 1;
  byoc_test_error(byoc_cpu_parse("avx2+fmaa", &diag, &features), BYOC_NOT_FOUND, &diag,
                  "unknown processor or extension 'fmaa'; there are native, x86-64, x86-64-v2");
  assert_string_equal(diag.hint, "did you mean 'fma'?");
  assert_int_equal(features, 0);
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_cpu_parse("", &diag, &features), BYOC_NOT_FOUND, &diag, "unknown");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_cpu_parse_list("avx native", &diag, &features), BYOC_NOT_FOUND, &diag,
                  "'native'; there are pni");
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
  assert_string_equal(byoc_cpu_feature_flag(BYOC_CPU_AVX512VNNI), "-mavx512vnni");
}

// What CPUID says is what the system says, as far as it says anything.
static void test_detect(void **state) {
  (void)state;
#if !defined(__x86_64__)
  skip();
#endif
  byoc_diag_t diag = {0};
  char *text = NULL;
  size_t size = 0;
  if (byoc_file_read("/proc/cpuinfo", byoc_allocator_system(), &diag, &text, &size) != BYOC_OK) skip();
  char *line = strstr(text, "\nflags");
  if (line == NULL) {
    free(text);
    skip();
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
      cmocka_unit_test(test_levels), cmocka_unit_test(test_implied), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_print),  cmocka_unit_test(test_detect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
