// SPDX-License-Identifier: Apache-2.0
// Ranges, scales, and weights as integers.
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantise/range.h"
#include "core/quantise/weights.h"

// A fixed sequence in [-1, 1).
static float draw(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 8388608.0f - 1;
}

static void test_asymmetric_scales_hold_both_ends_and_zero(void **state) {
  (void)state;
  const byoc_scale_t scale = byoc_range_scale((byoc_range_t){-1, 3}, BYOC_DTYPE_U8, false);
  assert_true(fabsf(scale.scale - 4.0f / 255) < 1e-6f);
  assert_int_equal(scale.zero, 64);
  const byoc_scale_t positive = byoc_range_scale((byoc_range_t){0, 6}, BYOC_DTYPE_I8, false);
  assert_int_equal(positive.zero, -128);
  const byoc_scale_t wide = byoc_range_scale((byoc_range_t){-2, 2}, BYOC_DTYPE_I16, true);
  assert_int_equal(wide.zero, 0);
  assert_true(fabsf(wide.scale - 2.0f / 32767) < 1e-9f);
}

static void test_symmetric_scales_have_the_zero_in_the_middle(void **state) {
  (void)state;
  const byoc_scale_t scale = byoc_range_scale((byoc_range_t){-1, 3}, BYOC_DTYPE_U8, true);
  assert_int_equal(scale.zero, 128);
  assert_true(fabsf(scale.scale - 3.0f / 127) < 1e-6f);
}

static void test_a_value_that_is_always_zero_has_a_scale(void **state) {
  (void)state;
  const byoc_scale_t scale = byoc_range_scale((byoc_range_t){0, 0}, BYOC_DTYPE_U8, false);
  assert_true(scale.scale == 1 && scale.zero == 0);
}

static void test_observers_refuse_what_is_not_finite(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_observer_t observer = {.keeps_histogram = true};
  const float nan_data[] = {1, NAN, 2}, infinite[] = {1, -INFINITY, 2};
  assert_int_equal(byoc_observer_take(&observer, nan_data, 3, &arena), BYOC_OBSERVED_NAN);
  assert_int_equal(byoc_observer_take(&observer, infinite, 3, &arena), BYOC_OBSERVED_INFINITY);
  byoc_arena_deinit(&arena);
}

// 100,000 numbers in [-1, 1) and two far outside: percentile and entropy cut those, the minimum and maximum do not.
static void test_percentile_and_entropy_leave_outliers_out(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_observer_t observer = {.keeps_histogram = true};
  uint32_t random = 1;
  float data[1000];
  for (int part = 0; part < 100; ++part) {
    for (int i = 0; i < 1000; ++i) data[i] = draw(&random);
    assert_int_equal(byoc_observer_take(&observer, data, 1000, &arena), BYOC_OBSERVED);
  }
  const float outliers[] = {40, -30};
  assert_int_equal(byoc_observer_take(&observer, outliers, 2, &arena), BYOC_OBSERVED);
  byoc_range_options_t options = {.method = BYOC_RANGE_MINMAX, .percentile = 99.9, .levels = 255};
  byoc_range_t range = byoc_observer_range(&observer, &options);
  assert_true(range.low == -30 && range.high == 40);
  options.method = BYOC_RANGE_PERCENTILE;
  range = byoc_observer_range(&observer, &options);
  assert_true(range.low > -1.1 && range.low < -0.95 && range.high < 1.1 && range.high > 0.95);
  options.method = BYOC_RANGE_ENTROPY;
  range = byoc_observer_range(&observer, &options);
  assert_true(range.low > -3 && range.high < 3 && range.high > 0.9);
  byoc_arena_deinit(&arena);
}

static void test_channels_have_scales_of_their_own(void **state) {
  (void)state;
  const float weights[] = {1, -2, 100, 50}; // [2][2], channels along the rows
  const byoc_channels_t channels = byoc_channels_of((const int64_t[]){2, 2}, 2, 0);
  float scales[2];
  int8_t bytes[4];
  byoc_channel_scales(weights, channels, NULL, scales);
  byoc_channel_round(weights, channels, scales, bytes);
  assert_int_equal(bytes[1], -127);
  assert_int_equal(bytes[0], 64);
  assert_int_equal(bytes[2], 127);
  assert_int_equal(bytes[3], 64);
}

enum { ROWS = 24, COLUMNS = 64, SAMPLES = 256 };

static double output_error(const float *weights, const byoc_groups_t *groups, const uint8_t *integers,
                           const float *scales, const uint8_t *zeros, const float *inputs) {
  double sum = 0;
  for (int s = 0; s < SAMPLES; ++s) {
    for (size_t r = 0; r < groups->rows; ++r) {
      double difference = 0;
      for (size_t c = 0; c < groups->columns; ++c) {
        const size_t at = r * byoc_groups_per_row(groups) + c / groups->group;
        const double rounded = (double)((integers[r * groups->columns + c] - zeros[at]) * scales[at]);
        difference += (rounded - (double)weights[r * groups->columns + c]) * (double)inputs[s * COLUMNS + (int)c];
      }
      sum += difference * difference;
    }
  }
  return sum;
}

// Inputs whose channels go together: then the error of one column can be made up for by others.
static void test_feedback_makes_products_more_exact_than_rounding_to_nearest(void **state) {
  (void)state;
  static float weights[ROWS * COLUMNS], inputs[SAMPLES * COLUMNS], scales[ROWS * 4];
  static double gram[COLUMNS * COLUMNS];
  static uint8_t integers[ROWS * COLUMNS], zeros[ROWS * 4];
  uint32_t random = 5;
  for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); ++i) weights[i] = draw(&random);
  for (int s = 0; s < SAMPLES; ++s) {
    const float common = 3 * draw(&random);
    for (int c = 0; c < COLUMNS; ++c) inputs[s * COLUMNS + c] = common + draw(&random);
  }
  byoc_gram_add(inputs, SAMPLES, COLUMNS, gram);
  for (int symmetric = 0; symmetric < 2; ++symmetric) {
    const byoc_groups_t groups = {ROWS, COLUMNS, 16, 4, symmetric != 0};
    byoc_groups_round(weights, &groups, NULL, integers, scales, zeros);
    const double nearest = output_error(weights, &groups, integers, scales, zeros, inputs);
    assert_int_equal(byoc_groups_round_with_feedback(weights, &groups, gram, integers, scales, zeros), BYOC_OK);
    const double feedback = output_error(weights, &groups, integers, scales, zeros, inputs);
    assert_true(feedback < 0.5 * nearest);
  }
}

// Squares of 1e30 are beyond f32. A power of two as a factor changes no digit.
static void test_feedback_of_huge_inputs_is_that_of_small_ones(void **state) {
  (void)state;
  enum { WIDE = 16, COUNT = 40 };
  static float weights[ROWS * WIDE], inputs[COUNT * WIDE], huge[COUNT * WIDE], scales[2][ROWS];
  static double gram[WIDE * WIDE], huge_gram[WIDE * WIDE];
  static uint8_t integers[2][ROWS * WIDE], zeros[2][ROWS];
  uint32_t random = 7;
  for (int i = 0; i < ROWS * WIDE; ++i) weights[i] = draw(&random);
  for (int i = 0; i < COUNT * WIDE; ++i) huge[i] = ldexpf(inputs[i] = draw(&random), 100);
  byoc_gram_add(inputs, COUNT, WIDE, gram);
  byoc_gram_add(huge, COUNT, WIDE, huge_gram);
  const byoc_groups_t groups = {ROWS, WIDE, 16, 4, false};
  assert_int_equal(byoc_groups_round_with_feedback(weights, &groups, gram, integers[0], scales[0], zeros[0]), BYOC_OK);
  assert_int_equal(byoc_groups_round_with_feedback(weights, &groups, huge_gram, integers[1], scales[1], zeros[1]),
                   BYOC_OK);
  assert_memory_equal(integers[0], integers[1], sizeof(integers[0]));
  huge_gram[0] = -1e70;
  assert_int_equal(byoc_groups_round_with_feedback(weights, &groups, huge_gram, integers[1], scales[1], zeros[1]),
                   BYOC_INVALID_DATA);
}

static void test_groups_that_do_not_fill_a_row_keep_their_weights(void **state) {
  (void)state;
  float weights[2 * 20], scales[4];
  uint8_t integers[2 * 20], zeros[4];
  uint32_t random = 9;
  for (int i = 0; i < 40; ++i) weights[i] = draw(&random);
  const byoc_groups_t groups = {2, 20, 16, 8, false};
  byoc_groups_round(weights, &groups, NULL, integers, scales, zeros);
  for (int i = 0; i < 40; ++i) {
    const int at = i / 20 * 2 + i % 20 / 16;
    assert_true(fabsf((float)(integers[i] - zeros[at]) * scales[at] - weights[i]) <= scales[at]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_asymmetric_scales_hold_both_ends_and_zero),
      cmocka_unit_test(test_symmetric_scales_have_the_zero_in_the_middle),
      cmocka_unit_test(test_a_value_that_is_always_zero_has_a_scale),
      cmocka_unit_test(test_observers_refuse_what_is_not_finite),
      cmocka_unit_test(test_percentile_and_entropy_leave_outliers_out),
      cmocka_unit_test(test_channels_have_scales_of_their_own),
      cmocka_unit_test(test_feedback_makes_products_more_exact_than_rounding_to_nearest),
      cmocka_unit_test(test_feedback_of_huge_inputs_is_that_of_small_ones),
      cmocka_unit_test(test_groups_that_do_not_fill_a_row_keep_their_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
