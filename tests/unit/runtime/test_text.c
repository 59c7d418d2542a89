// SPDX-License-Identifier: Apache-2.0
// The artifact's text functions, called as an artifact calls them.
#include <float.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/text.h"
#include "tests/support/support.h"

typedef struct {
  byoc_runtime_t runtime;
  void *made[64];
  size_t made_count;
  char error[512];
} fixture_t;

static void *allocate(void *self, uint64_t size_bytes) {
  fixture_t *f = self;
  if (f->made_count == 64) return NULL;
  return f->made[f->made_count++] = malloc(size_bytes);
}

static void set_error(void *self, const char *message) {
  snprintf(((fixture_t *)self)->error, sizeof(((fixture_t *)self)->error), "%s", message);
}

static void begin(fixture_t *f) {
  *f = (fixture_t){.error = ""};
  f->runtime = (byoc_runtime_t){
      .struct_size = sizeof(f->runtime), .thread_count = 1, .self = f, .set_error = set_error, .allocate = allocate};
}

static void end(fixture_t *f) {
  for (size_t i = 0; i < f->made_count; ++i) free(f->made[i]);
}

static DLTensor vector(const void *data, int64_t *count) {
  return (DLTensor){.data = (void *)(uintptr_t)data, .ndim = 1, .shape = count};
}

static int32_t call(fixture_t *f, const char *symbol, const DLTensor *tensors, uint32_t inputs, uint32_t outputs) {
  const byoc_call_t call = {.struct_size = sizeof(call),
                            .input_count = inputs,
                            .output_count = outputs,
                            .tensors = tensors,
                            .runtime = &f->runtime};
  byoc_packed_function_t function = byoc_text_find(symbol);
  assert_non_null(function);
  return function(&call);
}

static void pairs(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  const char *a[] = {"a", "", NULL}, *b[] = {"b", "x", ""}, *joined[3];
  uint8_t same[3];
  int64_t n = 3;
  DLTensor tensors[] = {vector(a, &n), vector(b, &n), vector(joined, &n)};
  assert_int_equal(call(&f, "byoc_text_concat", tensors, 2, 1), BYOC_OK);
  assert_string_equal(joined[0], "ab");
  assert_string_equal(joined[1], "x");
  assert_string_equal(joined[2], "");
  tensors[2] = vector(same, &n);
  assert_int_equal(call(&f, "byoc_text_equal", tensors, 2, 1), BYOC_OK);
  assert_int_equal(same[0], 0);
  assert_int_equal(same[2], 1); // a missing text equals an empty one
  assert_null(byoc_text_find("byoc_text_nothing"));
  end(&f);
}

// By bisection: the first and the last place, between two places, an empty text, no texts at all.
static void searches(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  const char *x[] = {"a", "zz", "b", "c", NULL, "zzz", "\xc3\xbc"}, *sorted[] = {"a", "c", "d", "zz", "\xc3\xbc"};
  static const int64_t expected[] = {0, 3, -1, 1, -1, -1, 4};
  int64_t out[7], seven = 7, count = 5;
  DLTensor tensors[] = {vector(x, &seven), vector(sorted, &count), vector(out, &seven)};
  assert_int_equal(call(&f, "byoc_text_search", tensors, 2, 1), BYOC_OK);
  assert_memory_equal(out, expected, sizeof(expected));
  count = 0;
  assert_int_equal(call(&f, "byoc_text_search", tensors, 2, 1), BYOC_OK);
  for (int i = 0; i < 7; ++i) assert_int_equal(out[i], -1);
  end(&f);
}

// Equal texts have one rank, bytes above 127 come last, and a missing text counts as an empty one.
static void ranks(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  const char *x[] = {"b", "", "a", "\xc3\xbc", "b", NULL, "ab"};
  static const int64_t expected[] = {3, 0, 1, 4, 3, 0, 2};
  int64_t out[7], count = 7;
  DLTensor tensors[] = {vector(x, &count), vector(out, &count)};
  assert_int_equal(call(&f, "byoc_text_ranks", tensors, 1, 1), BYOC_OK);
  assert_memory_equal(out, expected, sizeof(expected));
  f.runtime.allocate = NULL;
  assert_int_equal(call(&f, "byoc_text_ranks", tensors, 1, 1), BYOC_OUT_OF_MEMORY);
  count = 0;
  assert_int_equal(call(&f, "byoc_text_ranks", tensors, 1, 1), BYOC_OK);
  end(&f);
}

static void normalizes(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  const char *x[] = {"Monday", "caf\xc3\xa9", "MONDAY"}, *stop[] = {"monday"}, *out[4];
  int64_t settings[] = {0, 2}, count = 0, three = 3, one = 1, two = 2, four = 4;
  DLTensor tensors[] = {vector(x, &three), vector(stop, &one), vector(settings, &two), vector(out, &four),
                        vector(&count, &one)};
  assert_int_equal(call(&f, "byoc_text_normalize", tensors, 3, 2), BYOC_OK);
  assert_int_equal(count, 1);
  assert_string_equal(out[0], "CAF\xc3\x89");
  settings[0] = 1, settings[1] = 0;
  assert_int_equal(call(&f, "byoc_text_normalize", tensors, 3, 2), BYOC_OK);
  assert_int_equal(count, 3);
  assert_string_equal(out[2], "MONDAY");
  x[0] = x[1] = x[2] = "monday"; // nothing is left: one empty text
  assert_int_equal(call(&f, "byoc_text_normalize", tensors, 3, 2), BYOC_OK);
  assert_int_equal(count, 1);
  assert_string_equal(out[0], "");
  end(&f);
}

static void expect_parts(const char *text, const char *delimiter, int64_t most, const char *expected) {
  fixture_t f;
  begin(&f);
  const char *parts[8];
  char joined[128] = "";
  int64_t count = 0, one = 1, eight = 8;
  DLTensor counting[] = {vector(&text, &one), vector(&delimiter, &one), vector(&most, &one), vector(&count, &one)};
  assert_int_equal(call(&f, "byoc_text_split_count", counting, 3, 1), BYOC_OK);
  DLTensor splitting[] = {vector(&text, &one), vector(parts, &eight), vector(&delimiter, &one), vector(&most, &one),
                          vector(parts, &eight)};
  assert_int_equal(call(&f, "byoc_text_split", splitting, 4, 1), BYOC_OK);
  for (int64_t i = 0; i < count; ++i) {
    snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s<%s>", "", parts[i]);
  }
  assert_string_equal(joined, expected);
  if (count < 8) assert_string_equal(parts[count], "");
  end(&f);
}

static int32_t find_tokens(fixture_t *f, const char *pattern, int64_t kind, const char *joined_by, char *out) {
  const char *text = "ab, c\xc3\xa9", *padding = "#", *parts[6];
  int64_t settings[] = {kind, 1, 1}, count = 0, one = 1, three = 3, six = 6, none = 0;
  DLTensor patterns = vector(&pattern, pattern != NULL ? &one : &none);
  DLTensor counting[] = {vector(&text, &one), patterns, vector(settings, &three), vector(&count, &one)};
  const int32_t status = call(f, "byoc_text_token_count", counting, 3, 1);
  if (status != BYOC_OK) return status;
  DLTensor finding[] = {vector(&text, &one),      vector(parts, &six),    patterns,
                        vector(settings, &three), vector(&padding, &one), vector(parts, &six)};
  const int32_t found = call(f, "byoc_text_tokens", finding, 5, 1);
  out[0] = '\0';
  for (int64_t i = 0; i < 6 && found == BYOC_OK; ++i) {
    const char *part = parts[i][0] == '\002' ? "<" : parts[i][0] == '\003' ? ">" : parts[i];
    snprintf(out + strlen(out), 64 - strlen(out), "%s%s", i > 0 ? joined_by : "", part);
  }
  return found;
}

static void tokens(void **state) {
  (void)state;
  fixture_t f;
  char out[64];
  begin(&f);
  assert_int_equal(find_tokens(&f, "[a-z]+", BYOC_TEXT_TOKENS_MATCH, "|", out), BYOC_OK);
  assert_string_equal(out, "<|ab|c|>|#|#");
  assert_int_equal(find_tokens(&f, "[, ]+", BYOC_TEXT_TOKENS_SEPARATE, "|", out), BYOC_OK);
  assert_string_equal(out, "<|ab|c\xc3\xa9|>|#|#");
  assert_int_equal(find_tokens(&f, NULL, BYOC_TEXT_TOKENS_CHARACTERS, "|", out), BYOC_OK); // there is room for five
  assert_string_equal(out, "<|a|b|,| |c");
  assert_int_equal(find_tokens(&f, "a(", BYOC_TEXT_TOKENS_MATCH, "|", out), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(f.error, "pattern: "));
  assert_int_equal(find_tokens(&f, NULL, BYOC_TEXT_TOKENS_MATCH, "|", out), BYOC_INVALID_ARGUMENT);
  end(&f);
}

enum { SEPARATORS = 5000, SMALL_STACK = 256 << 10 };

static void *separate(void *out_count) {
  fixture_t f;
  begin(&f);
  static const char *patterns[SEPARATORS];
  const char *text = "a,b";
  int64_t settings[] = {BYOC_TEXT_TOKENS_SEPARATE, 1, 0}, one = 1, three = 3, many = SEPARATORS;
  for (int i = 0; i < SEPARATORS; ++i) patterns[i] = i + 1 < SEPARATORS ? ";" : ",";
  DLTensor counting[] = {vector(&text, &one), vector(patterns, &many), vector(settings, &three),
                         vector(out_count, &one)};
  assert_int_equal(call(&f, "byoc_text_token_count", counting, 3, 1), BYOC_OK);
  end(&f);
  return NULL;
}

static void test_many_separators_need_little_stack(void **state) {
  (void)state;
  pthread_t thread;
  pthread_attr_t attributes;
  int64_t count = 0;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, separate, &count), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_attr_destroy(&attributes), 0);
  assert_int_equal(count, 2);
}

static void tokens_need_memory(void **state) {
  (void)state;
  fixture_t f;
  char out[64];
  begin(&f);
  f.runtime.allocate = NULL;
  assert_int_equal(find_tokens(&f, "[a-z]+", BYOC_TEXT_TOKENS_MATCH, "|", out), BYOC_OUT_OF_MEMORY);
  end(&f);
}

static int32_t match(fixture_t *f, const char *pattern, uint8_t *out) {
  const char *texts[] = {"ab", "xaab", "b", NULL};
  int64_t four = 4, one = 1;
  DLTensor tensors[] = {vector(texts, &four), vector(&pattern, &one), vector(out, &four)};
  return call(f, "byoc_text_match", tensors, 2, 1);
}

static void matches(void **state) {
  (void)state;
  static const uint8_t within[] = {1, 1, 0, 0}, whole[] = {1, 0, 1, 1};
  uint8_t out[4];
  fixture_t f;
  begin(&f);
  assert_int_equal(match(&f, "a+b", out), BYOC_OK);
  assert_memory_equal(out, within, sizeof(out));
  assert_int_equal(match(&f, "^(a|b)*$", out), BYOC_OK);
  assert_memory_equal(out, whole, sizeof(out));
  assert_int_equal(match(&f, "a(", out), BYOC_INVALID_ARGUMENT);
  assert_true(strncmp(f.error, "pattern: ", 9) == 0 && strlen(f.error) > 9);
  end(&f);
}

static void patterns_leave_no_memory(void **state) {
  (void)state;
  uint8_t out[4];
  fixture_t f;
  begin(&f);
  size_t before = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) before = mallinfo2().uordblks; // by then the C library keeps as many freed blocks as it ever will
    assert_int_equal(match(&f, "^(a|b)*$", out), BYOC_OK);
    assert_int_equal(match(&f, "a(", out), BYOC_INVALID_ARGUMENT);
  }
  assert_true(mallinfo2().uordblks <= before + 4096); // a compiled pattern alone takes more
  end(&f);
}

static void splits(void **state) {
  (void)state;
  expect_parts("a,b,,c", ",", -1, "<a><b><><c>");
  expect_parts("a,b,c", ",", 1, "<a><b,c>");
  expect_parts("", ",", -1, "<>");
  expect_parts("  a  b ", "", -1, "<a><b>");
  expect_parts("a  b c", "", 1, "<a><b c>");
  expect_parts("", "", -1, "");
}

static void expect_number(const char *function, const DLTensor *from, const char *expected) {
  fixture_t f;
  begin(&f);
  const char *out = NULL;
  int64_t one = 1;
  DLTensor tensors[] = {*from, vector(&out, &one)};
  assert_int_equal(call(&f, function, tensors, 1, 1), BYOC_OK);
  assert_string_equal(out, expected);
  end(&f);
}

static void prints_numbers(void **state) {
  (void)state;
  int64_t one = 1;
  static const struct {
    double x;
    const char *f64, *f32;
  } cases[] = {{0.1, "0.1", "0.1"},
               {12, "12.0", "12.0"},
               {-0.5, "-0.5", "-0.5"},
               {1e-5, "1e-05", "1e-05"},
               {1e20, "1e+20", "1e+20"},
               {1234.5, "1234.5", "1234.5"},
               {0.001, "0.001", "0.001"}, // and two that need all of their 17 or 9 digits
               {0.1 + 0.2, "0.30000000000000004", "0.3"},
               {100.2002944946289, "100.2002944946289", "100.200294"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    float single = (float)cases[i].x;
    DLTensor f64 = vector(&cases[i].x, &one), f32 = vector(&single, &one);
    expect_number("byoc_text_from_f64", &f64, cases[i].f64);
    expect_number("byoc_text_from_f32", &f32, cases[i].f32);
  }
  static const struct {
    double x;
    const char *text;
  } printed[] = {{0.1, "0.100000"}, {-12, "-12.000000"}, {1e-7, "0.000000"}, {1e16, "10000000000000000.000000"}};
  for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); ++i) {
    DLTensor x = vector(&printed[i].x, &one);
    expect_number("byoc_text_print_f64", &x, printed[i].text);
  }
  const double most = -DBL_MAX;
  char digits[DBL_MAX_10_EXP + 16];
  DLTensor longest = vector(&most, &one);
  (void)snprintf(digits, sizeof(digits), "%f", most);
  expect_number("byoc_text_print_f64", &longest, digits);
  int64_t least = INT64_MIN;
  DLTensor i64 = vector(&least, &one);
  expect_number("byoc_text_from_i64", &i64, "-9223372036854775808");
}

static void reads_numbers(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  const char *texts[] = {"1.5", "-INF", " 2e3 "};
  double out[3];
  int64_t n = 3, whole[3];
  DLTensor tensors[] = {vector(texts, &n), vector(out, &n)};
  assert_int_equal(call(&f, "byoc_text_to_f64", tensors, 1, 1), BYOC_OK);
  assert_true(out[0] == 1.5 && out[1] < -1e308 && out[2] == 2000);
  tensors[1] = vector(whole, &n);
  assert_int_equal(call(&f, "byoc_text_to_i64", tensors, 1, 1), BYOC_INVALID_ARGUMENT);
  assert_string_equal(f.error, "'1.5' is not a number");
  end(&f);
}

static void memory_may_be_out(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  f.made_count = 64;
  const char *a[] = {"a"}, *joined[1];
  int64_t n = 1;
  DLTensor tensors[] = {vector(a, &n), vector(a, &n), vector(joined, &n)};
  assert_int_equal(call(&f, "byoc_text_concat", tensors, 2, 1), BYOC_OUT_OF_MEMORY);
  assert_string_equal(f.error, "out of memory for strings");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs),
      cmocka_unit_test(searches),
      cmocka_unit_test(ranks),
      cmocka_unit_test(normalizes),
      cmocka_unit_test(splits),
      cmocka_unit_test(matches),
      cmocka_unit_test(patterns_leave_no_memory),
      cmocka_unit_test(tokens),
      cmocka_unit_test(tokens_need_memory),
      cmocka_unit_test(test_many_separators_need_little_stack),
      cmocka_unit_test(prints_numbers),
      cmocka_unit_test(reads_numbers),
      cmocka_unit_test(memory_may_be_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
