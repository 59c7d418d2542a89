// SPDX-License-Identifier: Apache-2.0
// Elements as numbers, types and attributes.
#include <math.h>

#include "core/ir/attribute.h"
#include "core/ir/base64.h"
#include "core/ir/element.h"
#include "tests/support/support.h"

// Every bit pattern of the small floats survives reading and writing (one NaN stands for all).
static void small_floats_round_trip(void **state) {
  (void)state;
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_F16,        BYOC_DTYPE_BF16,   BYOC_DTYPE_F8E4M3FN,
                                        BYOC_DTYPE_F8E4M3FNUZ, BYOC_DTYPE_F8E5M2, BYOC_DTYPE_F8E5M2FNUZ};
  for (size_t d = 0; d < sizeof(dtypes) / sizeof(dtypes[0]); ++d) {
    uint32_t patterns = 1U << byoc_dtype_bits(dtypes[d]);
    for (uint32_t bits = 0; bits < patterns; ++bits) {
      uint16_t again = 0, stored = (uint16_t)bits;
      double value = byoc_element_f64(dtypes[d], &stored, 0);
      byoc_element_set_f64(dtypes[d], &again, 0, value);
      if (isnan(value)) {
        assert_true(isnan(byoc_element_f64(dtypes[d], &again, 0)));
      } else {
        assert_int_equal(again, bits);
      }
    }
  }
}

#ifdef __FLT16_MANT_DIG__
__extension__ typedef _Float16 half_t;

// Rounds as the compiler does, ties and subnormals included.
static void half_rounds_like_the_compiler(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 3};
  for (int i = 0; i < 200000; ++i) {
    double value = ldexp((double)(int64_t)(byoc_test_next(&random) >> 40), (int)byoc_test_below(&random, 50) - 50);
    half_t expected = (half_t)value, actual;
    byoc_element_set_f64(BYOC_DTYPE_F16, &actual, 0, value);
    assert_memory_equal(&actual, &expected, 2);
  }
}
#endif

static void small_floats_round_and_overflow(void **state) {
  (void)state;
  uint16_t bits = 0;
  byoc_element_set_f64(BYOC_DTYPE_F16, &bits, 0, 65519.0);
  assert_int_equal(bits, 0x7BFF);
  byoc_element_set_f64(BYOC_DTYPE_F16, &bits, 0, 65520.0);
  assert_int_equal(bits, 0x7C00); // infinity
  byoc_element_set_f64(BYOC_DTYPE_BF16, &bits, 0, 1.00390625);
  assert_int_equal(bits, 0x3F80); // a tie goes to the even one
  uint8_t byte = 0;
  byoc_element_set_f64(BYOC_DTYPE_F8E4M3FN, &byte, 0, 465.0);
  assert_int_equal(byte, 0x7F); // NaN: there is no infinity
  byoc_element_set_f64(BYOC_DTYPE_F8E4M3FN, &byte, 0, 464.0);
  assert_int_equal(byte, 0x7E); // the tie above 448 goes to the even one
  byoc_element_set_f64(BYOC_DTYPE_F8E4M3FNUZ, &byte, 0, -0.0);
  assert_int_equal(byte, 0);
  byoc_element_set_f64(BYOC_DTYPE_F8E5M2, &byte, 0, -INFINITY);
  assert_int_equal(byte, 0xFC);
}

static void integers_clamp_and_wrap(void **state) {
  (void)state;
  uint8_t nibbles[2] = {0xAB, 0xCD};
  byoc_element_set_i64(BYOC_DTYPE_I4, nibbles, 1, -3);
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_I4, nibbles, 1), -3);
  assert_int_equal(nibbles[0], 0xDB);
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_U4, nibbles, 2), 0xD);
  int8_t small = 0;
  byoc_element_set_f64(BYOC_DTYPE_I8, &small, 0, 300);
  assert_int_equal(small, 127);
  byoc_element_set_f64(BYOC_DTYPE_I8, &small, 0, -2.5);
  assert_int_equal(small, -2);
  uint16_t word = 0;
  byoc_element_set_f64(BYOC_DTYPE_U16, &word, 0, -1);
  assert_int_equal(word, 0);
  uint64_t large = 0;
  byoc_element_set_f64(BYOC_DTYPE_U64, &large, 0, 1e30);
  assert_true(large == UINT64_MAX);
  assert_true(byoc_element_f64(BYOC_DTYPE_U64, &large, 0) == 18446744073709551616.0);
  float real = -2.75F;
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_F32, &real, 0), -2);
  real = NAN;
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_F32, &real, 0), 0);
  real = 1e30F;
  assert_true(byoc_element_i64(BYOC_DTYPE_F32, &real, 0) == INT64_MAX);
}

static void base64_is_strict(void **state) {
  (void)state;
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  for (size_t size = 0; size < 2000; size += 1 + size / 7) {
    unsigned char data[2000], again[2000];
    for (size_t i = 0; i < size; ++i) data[i] = (unsigned char)(i * 37);
    byoc_string_clear(&out);
    byoc_base64_append(&out, data, size);
    assert_true(byoc_base64_decode(out.data, out.size, again, size));
    assert_memory_equal(data, again, size);
    assert_false(byoc_base64_decode(out.data, out.size, again, size + 1));
    if (size > 0) assert_false(byoc_base64_decode(out.data, out.size, again, size - 1));
  }
  unsigned char byte[3];
  assert_false(byoc_base64_decode("AB==", 4, byte, 1)); // bits beyond the end
  assert_false(byoc_base64_decode("A=A=", 4, byte, 2));
  assert_false(byoc_base64_decode("AA A", 4, byte, 3));
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int c = 0; c < 256; ++c) {
    const char text[4] = {'A', 'A', 'A', (char)c}, *found = c ? strchr(alphabet, c) : NULL;
    assert_true(byoc_base64_decode(text, 4, byte, 3) == (found != NULL));
    if (found != NULL) assert_int_equal(byte[2], found - alphabet);
  }
  byoc_string_deinit(&out);
}

static void types_know_their_size(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  const byoc_type_t *packed = byoc_type_tensor_static(&arena, BYOC_DTYPE_I4, 2, (int64_t[]){3, 3});
  assert_int_equal(byoc_type_element_count(packed), 9);
  assert_int_equal(byoc_type_size_bytes(packed), 5);
  const byoc_type_t *huge = byoc_type_tensor_static(&arena, BYOC_DTYPE_F32, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0});
  assert_int_equal(byoc_type_element_count(huge), -1);
  const byoc_type_t *empty = byoc_type_tensor_static(&arena, BYOC_DTYPE_F32, 2, (int64_t[]){0, INT64_MAX});
  assert_int_equal(byoc_type_size_bytes(empty), 0);
  assert_int_equal(byoc_type_size_bytes(byoc_type_unknown()), -1);
  bool failed = false;
  byoc_dim_t dims[] = {byoc_dim_symbol(&arena, "N", &failed), byoc_dim_constant(2)};
  const byoc_type_t *symbolic = byoc_type_tensor(&arena, BYOC_DTYPE_F32, 2, dims);
  assert_false(byoc_type_is_static(symbolic));
  assert_int_equal(byoc_type_element_count(symbolic), -1);
  byoc_arena_t other;
  byoc_arena_init(&other, byoc_allocator_system());
  const byoc_type_t *copy = byoc_type_copy(byoc_type_sequence(&arena, symbolic), &other);
  assert_true(byoc_type_equal(copy->element, symbolic));
  assert_int_equal(byoc_type_hash(copy->element, 5), byoc_type_hash(symbolic, 5));
  byoc_arena_deinit(&arena); // the copy needs nothing of the original
  assert_string_equal(copy->element->dims[0].expr->symbol, "N");
  byoc_arena_deinit(&other);
}

static void attributes_replace_and_compare(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_attributes_t a = {.arena = &arena}, b = {.arena = &arena};
  size_t count = 9;
  assert_true(byoc_attributes_set_int(&a, "x", 1) && byoc_attributes_set_float(&a, "y", 2));
  assert_true(byoc_attributes_set_ints(&a, "x", (int64_t[]){4, 5}, 2));
  assert_int_equal(a.count, 2);
  assert_int_equal(byoc_attributes_int(&a, "x", -7), -7); // it now has another kind
  assert_int_equal(byoc_attributes_ints(&a, "x", &count)[1], 5);
  assert_int_equal(count, 2);
  assert_null(byoc_attributes_floats(&a, "x", &count));
  assert_int_equal(count, 0);
  assert_string_equal(byoc_attributes_string(&a, "none", "fallback"), "fallback");
  assert_true(byoc_attributes_set_float(&b, "y", 2) && byoc_attributes_set(&b, &a.items[0]));
  assert_true(byoc_attributes_equal(&a, &b)); // in another order
  assert_int_equal(byoc_attributes_hash(&a, 1), byoc_attributes_hash(&b, 1));
  byoc_attributes_remove(&b, "y");
  assert_false(byoc_attributes_equal(&a, &b));
  assert_true(byoc_attributes_set_float(&b, "y", -0.0) && byoc_attributes_set_float(&a, "y", 0.0));
  assert_false(byoc_attributes_equal(&a, &b)); // by bits
  byoc_attributes_clear(&b);
  assert_true(byoc_attributes_copy(&b, &a) && byoc_attributes_equal(&a, &b));
  byoc_arena_deinit(&arena);
}

// Each code of the formats of 2024 and later, to a number and back.
static void test_every_code_of_narrow_formats_comes_back(void **state) {
  (void)state;
  static const double f4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_F4E2M1, BYOC_DTYPE_F8E8M0, BYOC_DTYPE_U2, BYOC_DTYPE_I2};
  for (size_t t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); ++t) {
    uint8_t codes[256], again[256] = {0};
    const size_t count = 256 * 8 / byoc_dtype_bits(dtypes[t]);
    for (size_t i = 0; i < 256; ++i) codes[i] = (uint8_t)i;
    for (size_t i = 0; i < count; ++i) {
      byoc_element_set_f64(dtypes[t], again, i, byoc_element_f64(dtypes[t], codes, i));
    }
    assert_memory_equal(codes, again, 256);
  }
  for (size_t i = 0; i < 16; ++i) {
    const uint8_t code = (uint8_t)i;
    const double value = byoc_element_f64(BYOC_DTYPE_F4E2M1, &code, 0);
    assert_true(value == (i < 8 ? f4[i] : -f4[i - 8]) && !signbit(value) == (i < 8));
  }
  const uint8_t pair = 0x1b, powers[] = {0, 127, 254, 255}; // 3, 2, 1, 0
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_U2, &pair, 0), 3);
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_I2, &pair, 0), -1);
  assert_int_equal(byoc_element_i64(BYOC_DTYPE_I2, &pair, 1), -2);
  assert_true(byoc_element_f64(BYOC_DTYPE_F8E8M0, powers, 0) == 0x1p-127);
  assert_true(byoc_element_f64(BYOC_DTYPE_F8E8M0, powers, 1) == 1);
  assert_true(byoc_element_f64(BYOC_DTYPE_F8E8M0, powers, 2) == 0x1p127);
  assert_true(isnan(byoc_element_f64(BYOC_DTYPE_F8E8M0, powers, 3)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_floats_round_trip),
#ifdef __FLT16_MANT_DIG__
      cmocka_unit_test(half_rounds_like_the_compiler),
#endif
      cmocka_unit_test(small_floats_round_and_overflow),
      cmocka_unit_test(integers_clamp_and_wrap),
      cmocka_unit_test(base64_is_strict),
      cmocka_unit_test(types_know_their_size),
      cmocka_unit_test(attributes_replace_and_compare),
      cmocka_unit_test(test_every_code_of_narrow_formats_comes_back),
  };
  return cmocka_run_group_tests_name("ir element", tests, NULL, NULL);
}
