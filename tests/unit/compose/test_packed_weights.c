// SPDX-License-Identifier: Apache-2.0
// Products by weights of few bits, evaluated and compiled, against sums over weights that are unpacked here.
#include <math.h>

#include "both_ways.h"
#include "core/pass/pass.h"

enum { DEPTH = 70, COLUMNS = 67, MOST_ROWS = 9, MOST_BYTES = COLUMNS * 128 * 8 };

typedef enum zeros_t { NO_ZEROS, PACKED_ZEROS, REAL_ZEROS } zeros_t;

typedef struct weights_t {
  int bits, block;
  zeros_t zeros;
  int64_t blocks, block_bytes, zero_bytes;
  uint8_t bytes[MOST_BYTES], packed_zeros[COLUMNS * 8];
  float scales[COLUMNS * 8], real_zeros[COLUMNS * 8], bias[COLUMNS];
} weights_t;

static weights_t *make_weights(int bits, int block, zeros_t zeros) {
  weights_t *w = calloc(1, sizeof(*w));
  assert_non_null(w);
  *w = (weights_t){.bits = bits, .block = block, .zeros = zeros, .blocks = (DEPTH + block - 1) / block};
  w->block_bytes = block * bits / 8;
  w->zero_bytes = (w->blocks * bits + 7) / 8;
  byoc_test_random_t random = {.state = (uint64_t)(bits * 1000 + block)};
  for (int64_t i = 0; i < COLUMNS * w->blocks * w->block_bytes; ++i) {
    w->bytes[i] = (uint8_t)(int)(byoc_test_float(&random) * 1e4f);
  }
  for (int64_t i = 0; i < COLUMNS * w->zero_bytes; ++i) {
    w->packed_zeros[i] = (uint8_t)(int)(byoc_test_float(&random) * 1e4f);
  }
  for (int64_t i = 0; i < COLUMNS * w->blocks; ++i) {
    w->scales[i] = byoc_test_float(&random);
    w->real_zeros[i] = byoc_test_float(&random) * 8;
  }
  for (int64_t i = 0; i < COLUMNS; ++i) w->bias[i] = byoc_test_float(&random);
  return w;
}

// Bit by bit, so that it has nothing in common with what is tested.
static int bits_at(const uint8_t *bytes, int64_t first, int count) {
  int value = 0;
  for (int i = 0; i < count; ++i) value |= (bytes[(first + i) / 8] >> (first + i) % 8 & 1) << i;
  return value;
}

static double weight_at(const weights_t *w, int64_t k, int64_t n) {
  const int64_t block = n * w->blocks + k / w->block;
  double zero = 1 << (w->bits - 1);
  if (w->zeros == PACKED_ZEROS) {
    zero = bits_at(w->packed_zeros + n * w->zero_bytes, k / w->block * w->bits, w->bits);
  } else if (w->zeros == REAL_ZEROS) {
    zero = (double)w->real_zeros[block];
  }
  return (bits_at(w->bytes + block * w->block_bytes, k % w->block * w->bits, w->bits) - zero) *
         (double)w->scales[block];
}

static void expect_product(const weights_t *w, const float *x, int64_t rows, const byoc_argument_t *y, double sign) {
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < COLUMNS; ++n) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < DEPTH; ++k) {
        const double term = (double)x[m * DEPTH + k] * weight_at(w, k, n);
        sum += term;
        size += fabs(term);
      }
      sum = sign * (sum + (double)w->bias[n]);
      const double got = (double)at(y, m * COLUMNS + n);
      if (!(fabs(got - sum) <= 1e-4 * (1 + size))) {
        fail_msg("%d bits, blocks of %d, zeros %d, %lld rows: [%lld][%lld] is %g, not %g", w->bits, w->block,
                 (int)w->zeros, (long long)rows, (long long)m, (long long)n, got, sum);
      }
    }
  }
}

// ---- text ----

static void write_list(byoc_string_t *text, const char *name, const char *type, int64_t count, const uint8_t *bytes,
                       const float *numbers) {
  byoc_string_appendf(text, "  constant @%s : %s[%lld] = [", name, type, (long long)count);
  for (int64_t i = 0; i < count; ++i) {
    const char *comma = i > 0 ? ", " : "";
    if (bytes) byoc_string_appendf(text, "%s%d", comma, bytes[i]);
    if (!bytes) byoc_string_appendf(text, "%s%.9e", comma, (double)numbers[i]);
  }
  byoc_string_append(text, "]\n");
}

// Products of 1, 3, 5 and N rows by one matrix. `are_known` says whether the weights' bytes are constants.
static void write_model(byoc_string_t *text, const weights_t *w, bool are_known) {
  static const char *const rows[] = {"1", "3", "5", "N"};
  const int64_t count = COLUMNS * w->blocks, size = count * w->block_bytes;
  byoc_string_append(text, "module {\n");
  if (are_known) write_list(text, "b", "u8", size, w->bytes, NULL);
  write_list(text, "s", "f32", count, NULL, w->scales);
  write_list(text, "c", "f32", COLUMNS, NULL, w->bias);
  if (w->zeros == PACKED_ZEROS) write_list(text, "z", "u8", COLUMNS * w->zero_bytes, w->packed_zeros, NULL);
  if (w->zeros == REAL_ZEROS) write_list(text, "z", "f32", count, NULL, w->real_zeros);
  byoc_string_append(text, "  func @main(");
  for (int i = 0; i < 4; ++i) byoc_string_appendf(text, "%%x%d : f32[%s,%d], ", i, rows[i], DEPTH);
  byoc_string_appendf(text, "%%b : u8[%lld]) -> (", (long long)size);
  for (int i = 0; i < 4; ++i) byoc_string_appendf(text, "%s%%y%d : f32[%s,%d]", i > 0 ? ", " : "", i, rows[i], COLUMNS);
  byoc_string_append(text, ") {\n");
  for (int i = 0; i < 4; ++i) {
    byoc_string_appendf(text,
                        "    %%p%d = com.microsoft::MatMulNBits@1(%%x%d, %cb, @s, %s, _, @c) {K = %d, N = %d, bits = "
                        "%d, block_size = %d} : f32[%s,%d]\n    %%y%d = Neg@13(%%p%d) : f32[%s,%d]\n",
                        i, i, are_known ? '@' : '%', w->zeros == NO_ZEROS ? "_" : "@z", DEPTH, COLUMNS, w->bits,
                        w->block, rows[i], COLUMNS, i, i, rows[i], COLUMNS);
  }
  byoc_string_append(text, "    return %y0, %y1, %y2, %y3\n  }\n}\n");
}

// ---- tests ----

static void expect_products(int bits, int block, zeros_t zeros, bool are_known, bool is_compiled) {
  weights_t *w = make_weights(bits, block, zeros);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  write_model(&text, w, are_known);
  model_t m;
  if (is_compiled) open_model(text.data, &m);
  if (!is_compiled) open_evaluated(text.data, NULL, 0, &m);
  float x[MOST_ROWS * DEPTH];
  byoc_test_random_t random = {.state = 3};
  for (int i = 0; i < MOST_ROWS * DEPTH; ++i) x[i] = byoc_test_float(&random);
  static const int64_t open_rows[] = {2, MOST_ROWS};
  for (size_t i = 0; i < sizeof(open_rows) / sizeof(open_rows[0]); ++i) {
    const int64_t rows[4] = {1, 3, 5, open_rows[i]}, size = COLUMNS * w->blocks * w->block_bytes;
    int64_t dims[4][2];
    byoc_argument_t inputs[5], results[MAX_RESULTS];
    for (int k = 0; k < 4; ++k) {
      dims[k][0] = rows[k], dims[k][1] = DEPTH;
      inputs[k] = floats(2, dims[k], x);
    }
    inputs[4] = tensor(BYOC_DTYPE_U8, 1, &size, w->bytes);
    for (int way = 0; way < (is_compiled ? 2 : 1); ++way) {
      byoc_diag_t diag = {0};
      if (way == 0) byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, inputs, results, &diag), &diag);
      if (way == 1) assert_int_equal(m.artifact.table->run_arguments(m.context, inputs, results), BYOC_OK);
      for (int k = 0; k < 4; ++k) expect_product(w, x, rows[k], &results[k], -1);
    }
  }
  close_model(&m);
  byoc_string_deinit(&text);
  free(w);
}

static void test_compiled(void **state) {
  (void)state;
  expect_products(4, 16, PACKED_ZEROS, true, true);
  expect_products(8, 32, REAL_ZEROS, true, true);
}

static void test_all_widths(void **state) {
  (void)state;
  static const int blocks[] = {16, 64, 128};
  for (int bits = 2; bits <= 8; ++bits) {
    for (zeros_t zeros = NO_ZEROS; zeros <= REAL_ZEROS; ++zeros) {
      expect_products(bits, blocks[(bits + (int)zeros) % 3], zeros, true, false);
    }
  }
}

static void test_weights_that_are_data(void **state) {
  (void)state;
  for (int bits = 2; bits <= 8; ++bits) expect_products(bits, 16, (zeros_t)(bits % 3), false, false);
}

// A table that is looked up in, and that is the matrix of a product besides, keeps its four bits when the model is
// simplified, and the numbers are right.
static void test_tables_stay_packed(void **state) {
  (void)state;
  enum { LINES = 600, WIDTH = 32, ASKED = 3 };
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "module {\n  constant @w : i4[%d,%d] = [", LINES, WIDTH);
  for (int i = 0; i < LINES * WIDTH; ++i) byoc_string_appendf(&text, "%s%d", i > 0 ? ", " : "", i * 7 % 16 - 8);
  byoc_string_appendf(&text, "]\n  constant @s : f32[%d,2] = [", LINES);
  for (int i = 0; i < LINES * 2; ++i) byoc_string_appendf(&text, "%s%d.5", i > 0 ? ", " : "", i % 50);
  byoc_string_appendf(&text,
                      "]\n  func @main(%%x : i64[%d]) -> (%%y : f32[%d,%d]) {\n    %%0 = DequantizeLinear@21(@w, @s) "
                      "{axis = 1, block_size = 16} : f32[%d,%d]\n    %%y = Gather@13(%%0, %%x) : f32[%d,%d]\n"
                      "    return %%y\n  }\n}\n",
                      ASKED, ASKED, WIDTH, LINES, WIDTH, ASKED, WIDTH);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text.data, "test", byoc_allocator_system(), &diag, &module), &diag);
  size_t changes = 0;
  byoc_test_ok(byoc_simplify(module, NULL, &diag, &changes), &diag);
  size_t bytes = 0;
  for (size_t i = 0; i < module->constants.count; ++i) bytes += module->constants.data[i]->size_bytes;
  assert_true(bytes <= LINES * WIDTH / 2 + LINES * 2 * sizeof(float));
  byoc_string_clear(&text);
  byoc_graph_print(module, NULL, &text);
  byoc_graph_module_destroy(module);
  model_t m;
  open_evaluated(text.data, NULL, 0, &m);
  const int64_t lines[ASKED] = {599, 0, 123}, count = ASKED;
  const byoc_argument_t input = tensor(BYOC_DTYPE_I64, 1, &count, lines);
  byoc_argument_t result[MAX_RESULTS];
  byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, &input, result, &diag), &diag);
  for (int64_t i = 0; i < ASKED * WIDTH; ++i) {
    const int64_t at_w = lines[i / WIDTH] * WIDTH + i % WIDTH, at_s = lines[i / WIDTH] * 2 + i % WIDTH / 16;
    const float expected = (float)(at_w * 7 % 16 - 8) * ((float)(at_s % 50) + 0.5f);
    if (at(&result[0], i) != expected) fail_msg("%lld: %g", (long long)i, (double)at(&result[0], i));
  }
  close_model(&m);
  byoc_string_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiled),
      cmocka_unit_test(test_all_widths),
      cmocka_unit_test(test_weights_that_are_data),
      cmocka_unit_test(test_tables_stay_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
