// SPDX-License-Identifier: Apache-2.0
// Growing texts.
#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/string.h"

static void appends(void **state) {
  (void)state;
  byoc_string_t s;
  byoc_string_init(&s, byoc_allocator_system());
  assert_string_equal(s.data, "");
  byoc_string_clear(&s);
  byoc_string_append(&s, "a");
  byoc_string_appendf(&s, "%d-%s", 12, "b");
  byoc_string_indent(&s, 3);
  byoc_string_indent(&s, -1);
  byoc_string_append_bytes(&s, "cde", 2);
  assert_string_equal(s.data, "a12-b   cd");
  assert_int_equal(s.size, strlen(s.data));
  for (int i = 0; i < 300; i++) byoc_string_appendf(&s, "%0100d", i);
  assert_int_equal(s.size, 10 + 300 * 100);
  assert_int_equal(strlen(s.data), s.size);
  char *data = byoc_string_release(&s);
  assert_string_equal(s.data, "");
  assert_memory_equal(data, "a12-b", 5);
  byoc_free(byoc_allocator_system(), data);
  data = byoc_string_release(&s);
  assert_string_equal(data, "");
  byoc_free(byoc_allocator_system(), data);
  byoc_string_deinit(&s);
}

static void quotes(void **state) {
  (void)state;
  byoc_string_t s;
  byoc_string_init(&s, byoc_allocator_system());
  byoc_string_append_quoted(&s, "a\"b\\c\n\t\r\b\f\x01\x7f?\xc3\xa9");
  assert_string_equal(s.data, "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u007f?\xc3\xa9\"");
  byoc_string_clear(&s);
  byoc_string_append_c_quoted(&s, "\x01"
                                  "1?\?/");
  assert_string_equal(s.data, "\"\\0011\\?\\?/\"");
  byoc_string_deinit(&s);
}

static const char *f32(byoc_string_t *s, float value) {
  byoc_string_clear(s);
  byoc_string_append_f32(s, value);
  return s->data;
}

static const char *f64(byoc_string_t *s, double value) {
  byoc_string_clear(s);
  byoc_string_append_f64(s, value);
  return s->data;
}

static void numbers_are_shortest_and_exact(void **state) {
  (void)state;
  byoc_string_t s;
  byoc_string_init(&s, byoc_allocator_system());
  assert_string_equal(f32(&s, 0.1f), "0.1");
  assert_string_equal(f32(&s, 1.0f), "1");
  assert_string_equal(f32(&s, -0.0f), "-0");
  assert_string_equal(f32(&s, 16777216.0f), "16777216");
  assert_string_equal(f32(&s, FLT_MAX), "3.4028235e+38");
  assert_string_equal(f32(&s, 0x1p-149f), "1e-45");
  assert_string_equal(f32(&s, INFINITY), "inf");
  assert_string_equal(f32(&s, -INFINITY), "-inf");
  assert_string_equal(f32(&s, NAN), "nan");
  assert_string_equal(f64(&s, 0.1), "0.1");
  assert_string_equal(f64(&s, 5e-324), "5e-324");
  assert_string_equal(f64(&s, 1.0 / 3), "0.3333333333333333");
  assert_string_equal(f64(&s, -(double)INFINITY), "-inf");
  byoc_test_random_t random = {3};
  for (int i = 0; i < 20000; i++) {
    uint32_t bits = (uint32_t)byoc_test_next(&random);
    float value;
    memcpy(&value, &bits, sizeof(value));
    if (isfinite(value)) assert_true(strtof(f32(&s, value), NULL) == value);
    uint64_t bits64 = byoc_test_next(&random);
    double value64;
    memcpy(&value64, &bits64, sizeof(value64));
    if (isfinite(value64)) assert_true(strtod(f64(&s, value64), NULL) == value64);
  }
  byoc_string_deinit(&s);
}

static void identifiers(void **state) {
  (void)state;
  char buffer[16];
  byoc_make_identifier("a/b:c", buffer, sizeof(buffer));
  assert_string_equal(buffer, "a_b_c");
  byoc_make_identifier("3d", buffer, sizeof(buffer));
  assert_string_equal(buffer, "_3d");
  byoc_make_identifier("", buffer, sizeof(buffer));
  assert_string_equal(buffer, "_");
  byoc_make_identifier("a_long_name_that_is_cut", buffer, 7);
  assert_string_equal(buffer, "a_long");
  byoc_make_identifier("7", buffer, 1);
  assert_string_equal(buffer, "");
  for (int c = 1; c < 256; ++c) { // every character, alone and behind another one
    const bool is_digit = strchr("0123456789", c) != NULL;
    const bool stays = is_digit || strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", c) != NULL;
    const char name[] = {(char)c, '\0'}, behind[] = {'x', (char)c, '\0'};
    const char first[] = {is_digit ? '_' : stays ? (char)c : '_', is_digit ? (char)c : '\0', '\0'};
    const char second[] = {'x', stays ? (char)c : '_', '\0'};
    byoc_make_identifier(name, buffer, sizeof(buffer));
    assert_string_equal(buffer, first);
    byoc_make_identifier(behind, buffer, sizeof(buffer));
    assert_string_equal(buffer, second);
  }
}

static void prefixes(void **state) {
  (void)state;
  assert_true(byoc_starts_with("model.onnx", "model"));
  assert_false(byoc_starts_with("mod", "model"));
  assert_true(byoc_ends_with("model.onnx", ".onnx"));
  assert_true(byoc_ends_with("x", ""));
  assert_false(byoc_ends_with("x", ".onnx"));
}

static byoc_status_t emit(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_string_t s;
  byoc_string_init(&s, allocator);
  for (int i = 0; i < 50; i++) {
    byoc_string_indent(&s, i);
    byoc_string_appendf(&s, "line %d of %s\n", i, "a text that is longer than the first capacity of a string");
    byoc_string_append_quoted(&s, "quoted");
    assert_int_equal(strlen(s.data), s.size); // whole even after a failure
  }
  bool failed = s.failed;
  char *data = byoc_string_release(&s);
  assert_true(failed == (data == NULL));
  byoc_free(allocator, data);
  byoc_string_deinit(&s);
  return failed ? BYOC_OUT_OF_MEMORY : BYOC_OK;
}

static void each_allocation_fails(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(emit, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appends),     cmocka_unit_test(quotes),   cmocka_unit_test(numbers_are_shortest_and_exact),
      cmocka_unit_test(identifiers), cmocka_unit_test(prefixes), cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests_name("string", tests, NULL, NULL);
}
