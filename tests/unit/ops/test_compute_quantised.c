// SPDX-License-Identifier: Apache-2.0
// Products of quantised tensors against their definition, which subtracts zero points before it multiplies.
#include "core/op/util.h"
#include "tests/unit/ops/ops_support.h"

typedef struct {
  bool is_signed;
  int32_t zero;
  uint8_t *data;
} bytes_t;

static const char *name_of(const bytes_t *bytes) {
  return bytes->is_signed ? "i8" : "u8";
}

static void fill(bytes_t *bytes, size_t count, uint64_t seed) {
  byoc_test_random_t random = {.state = seed};
  bytes->data = malloc(count);
  assert_non_null(bytes->data);
  for (size_t i = 0; i < count; ++i) bytes->data[i] = (uint8_t)byoc_test_below(&random, 256);
}

static int32_t value_of(const bytes_t *bytes, size_t index) {
  int32_t value = bytes->is_signed ? (int8_t)bytes->data[index] : bytes->data[index];
  return value - bytes->zero;
}

static void same(const int32_t *actual, const int32_t *expected, size_t count, const char *what) {
  for (size_t i = 0; i < count; ++i) {
    if (actual[i] != expected[i]) fail_msg("%s: element %zu is %d, expected %d", what, i, actual[i], expected[i]);
  }
}

static void run_matmul(bytes_t a, bytes_t c, int batch, int rows, int depth, int columns) {
  size_t count = (size_t)(batch * rows * columns);
  fill(&a, (size_t)(batch * rows * depth), 1), fill(&c, (size_t)(depth * columns), 2);
  int32_t *expected = malloc(count * sizeof *expected);
  assert_non_null(expected);
  for (int i = 0; i < batch * rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int32_t sum = 0;
      for (int k = 0; k < depth; ++k) {
        sum += value_of(&a, (size_t)(i * depth + k)) * value_of(&c, (size_t)(k * columns + j));
      }
      expected[i * columns + j] = sum;
    }
  char text[1024];
  snprintf(text, sizeof text,
           "module {\n  constant @p : %s[] = [%d]\n  constant @q : %s[] = [%d]\n"
           "  func @main(%%a : %s[%d,%d,%d], %%b : %s[%d,%d]) -> (%%y : ?) {\n"
           "    %%y = MatMulInteger@10(%%a, %%b, @p, @q) : ?\n    return %%y\n  }\n}\n",
           name_of(&a), a.zero, name_of(&c), c.zero, name_of(&a), batch, rows, depth, name_of(&c), depth, columns);
  ops_run_t run;
  ops_run(text, (const void *const[]){a.data, c.data}, &run);
  same(ops_result(&run, 0), expected, count, text);
  ops_done(&run);
  free(a.data), free(c.data), free(expected);
}

// Every pair of signs, with and without zero points; sizes around the tile's rows, columns and depth.
static void test_matmul_integer(void **state) {
  (void)state;
  for (int signs = 0; signs < 4; ++signs) {
    bytes_t a = {.is_signed = (signs & 1) != 0}, c = {.is_signed = (signs & 2) != 0};
    run_matmul(a, c, 1, 9, 14, 33);
    a.zero = a.is_signed ? -7 : 130;
    run_matmul(a, c, 2, 5, 7, 3);
    c.zero = c.is_signed ? 11 : 128;
    run_matmul(a, c, 1, 1, 70, 5);
    run_matmul(a, c, 1, 17, 3, 16);
    a.zero = 0;
    run_matmul(a, c, 3, 4, 64, 40);
  }
  run_matmul((bytes_t){.zero = 5}, (bytes_t){.is_signed = true, .zero = 3}, 1, 140, 1030, 50);
}

// Zero points per row of A and per column of B; the weights are a constant.
static void test_matmul_integer_zero_points_of_slices(void **state) {
  (void)state;
  const uint8_t a[] = {1, 200, 3, 4, 5, 255};
  ops_run_t run;
  ops_run("module {\n  constant @b : u8[3,2] = [7, 8, 250, 10, 11, 0]\n  constant @p : u8[2] = [1, 9]\n"
          "  constant @q : u8[2] = [3, 128]\n  func @main(%a : u8[2,3]) -> (%y : ?) {\n"
          "    %y = MatMulInteger@10(%a, @b, @p, @q) : ?\n    return %y\n  }\n}\n",
          (const void *const[]){a}, &run);
  const int32_t expected[] = {199 * 247 + 2 * 8, 199 * -118 + 2 * -128, -5 * 4 + -4 * 247 + 246 * 8,
                              -5 * -120 + -4 * -118 + 246 * -128};
  same(ops_result(&run, 0), expected, 4, "zero points of slices");
  ops_done(&run);
}

typedef struct {
  int channels, rows, groups, side, kernel, stride, pad;
} geometry_t;

static void run_conv(bytes_t x, bytes_t w, geometry_t g) {
  int own = g.channels / g.groups, out = (g.side + 2 * g.pad - g.kernel) / g.stride + 1;
  size_t count = (size_t)(g.rows * out * out);
  fill(&x, (size_t)(g.channels * g.side * g.side), 3);
  fill(&w, (size_t)(g.rows * own * g.kernel * g.kernel), 4);
  int32_t *expected = calloc(count, sizeof *expected);
  assert_non_null(expected);
  for (int m = 0; m < g.rows; ++m)
    for (int i = 0; i < out * out; ++i)
      for (int k = 0; k < own * g.kernel * g.kernel; ++k) {
        int channel = m / (g.rows / g.groups) * own + k / (g.kernel * g.kernel);
        int row = i / out * g.stride + k / g.kernel % g.kernel - g.pad;
        int column = i % out * g.stride + k % g.kernel - g.pad;
        if (row < 0 || row >= g.side || column < 0 || column >= g.side) continue; // padding stands for 0
        expected[m * out * out + i] += value_of(&x, (size_t)((channel * g.side + row) * g.side + column)) *
                                       value_of(&w, (size_t)(m * own * g.kernel * g.kernel + k));
      }
  char text[1024];
  snprintf(text, sizeof text,
           "module {\n  constant @p : %s[] = [%d]\n  constant @q : %s[] = [%d]\n"
           "  func @main(%%x : %s[1,%d,%d,%d], %%w : %s[%d,%d,%d,%d]) -> (%%y : ?) {\n"
           "    %%y = ConvInteger@10(%%x, %%w, @p, @q) {group = %d, strides = [%d, %d], pads = [%d, %d, %d, %d]} : ?\n"
           "    return %%y\n  }\n}\n",
           name_of(&x), x.zero, name_of(&w), w.zero, name_of(&x), g.channels, g.side, g.side, name_of(&w), g.rows, own,
           g.kernel, g.kernel, g.groups, g.stride, g.stride, g.pad, g.pad, g.pad, g.pad);
  ops_run_t run;
  ops_run(text, (const void *const[]){x.data, w.data}, &run);
  same(ops_result(&run, 0), expected, count, text);
  ops_done(&run);
  free(x.data), free(w.data), free(expected);
}

// Padding stands for the zero point, whichever operand is flipped. Weights with zero points of their own, and few
// channels per group, reach the same sums by another way.
static void test_conv_integer(void **state) {
  (void)state;
  const geometry_t geometries[] = {{5, 9, 1, 7, 3, 1, 1},
                                   {4, 8, 2, 6, 3, 2, 1},
                                   {6, 6, 6, 5, 3, 1, 1},
                                   {7, 5, 1, 9, 1, 1, 0},
                                   {70, 4, 1, 5, 3, 1, 1}};
  for (size_t i = 0; i < sizeof geometries / sizeof *geometries; ++i)
    for (int signs = 0; signs < 4; ++signs) {
      bytes_t x = {.is_signed = (signs & 1) != 0}, w = {.is_signed = (signs & 2) != 0};
      x.zero = x.is_signed ? -3 : 131;
      run_conv(x, w, geometries[i]);
      w.zero = w.is_signed ? -128 : 128;
      run_conv(x, w, geometries[i]);
      w.zero = 5;
      run_conv(x, w, geometries[i]);
    }
}

// round((sum + bias) * 0.5 * scale of the channel / 2) + 10, saturated
static void test_qlinear_conv(void **state) {
  (void)state;
  const uint8_t x[] = {12, 10, 20, 7};
  ops_run_t run;
  ops_run("module {\n  constant @w : i8[2,1,1,1] = [3, -128]\n  constant @xs : f32[] = [0.5]\n"
          "  constant @xz : u8[] = [10]\n  constant @ws : f32[2] = [1.0, 0.25]\n  constant @wz : i8[] = [0]\n"
          "  constant @ys : f32[] = [2.0]\n  constant @yz : u8[] = [10]\n  constant @bias : i32[2] = [5, 1000]\n"
          "  func @main(%x : u8[1,1,1,4]) -> (%y : ?) {\n"
          "    %y = QLinearConv@10(%x, @xs, @xz, @w, @ws, @wz, @ys, @yz, @bias) : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x}, &run);
  const uint8_t expected[] = {13, 11, 19, 9, 56, 72, 0, 96}; // 2.75, 1.25, 8.75, -1; 46.5, 62.5, -17.5, 86.5
  const uint8_t *actual = ops_result(&run, 0);
  for (size_t i = 0; i < 8; ++i) assert_int_equal(actual[i], expected[i]);
  ops_done(&run);
}

// 127 / 3e-38 is infinite: such a block becomes 0, and not NaN.
static void test_rounding_of_tiny_blocks(void **state) {
  (void)state;
  const float x[] = {1e-38f, 0, -3e-38f, 1e-40f, 127, -1.4f, 0, 0.6f};
  const float expected[] = {0, 0, 0, 0, 127, -1, 0, 1};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[8]) -> (%y : ?) {\n"
          "    %y = byoc::RoundInBlocks@1(%x) {block_size = 4} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), expected, 8, "RoundInBlocks");
  ops_done(&run);
}

// The nearest number, the even one of two, within the range; NaN becomes the least.
static void test_quantised_limits(void **state) {
  (void)state;
  enum { COUNT = 19 };
  static const float x[COUNT] = {NAN,    INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 2.5f,    3.5f,  -0.5f, 0.0f,  117.4f,
                                 117.6f, 122.4f,   122.6f,    123.0f,  -133.4f,  -133.6f, -5.0f, -5.6f, 250.4f};
  static const struct {
    const char *dtype;
    int32_t expected[COUNT];
  } cases[] = {
      {"u8", {0, 255, 0, 255, 0, 7, 9, 5, 5, 122, 123, 127, 128, 128, 0, 0, 0, 0, 255}},
      {"i8", {-128, 127, -128, 127, -128, 7, 9, 5, 5, 122, 123, 127, 127, 127, -128, -128, 0, -1, 127}},
      {"i16", {-32768, 32767, -32768, 32767, -32768, 7, 9, 5, 5, 122, 123, 127, 128, 128, -128, -129, 0, -1, 255}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    char text[256];
    snprintf(
        text, sizeof text,
        "module {\n  constant @s : f32[] = [1.0]\n  constant @z : %s[] = [5]\n  func @main(%%x : f32[19]) -> (%%y : ?) "
        "{\n    %%q = QuantizeLinear@21(%%x, @s, @z) : ?\n    %%y = Cast@21(%%q) {to = 6} : ?\n    return %%y\n  "
        "}\n}\n",
        cases[c].dtype);
    ops_run_t run;
    ops_run(text, (const void *const[]){x}, &run);
    same(ops_result(&run, 0), cases[c].expected, COUNT, cases[c].dtype);
    ops_done(&run);
  }
}

// One scale for all of an axis is the first one even where only the run knows that there is one.
static void test_look_up_with_one_open_scale(void **state) {
  (void)state;
  const int64_t picks[] = {1, 0};
  const float scales[] = {2}, expected[] = {8, -2, 1, 2, 4, 6};
  ops_run_t run;
  ops_run_symbolic("module {\n  constant @d : f8e4m3fn[2,3] = [1.0, 2.0, 3.0, 4.0, -1.0, 0.5]\n"
                   "  func @main(%i : i64[2], %s : f32[1,N]) -> (%y : ?) {\n"
                   "    %y = com.microsoft::GatherBlockQuantized@1(@d, %i, %s) {block_size = 0} : ?\n"
                   "    return %y\n  }\n}\n",
                   1, (const void *const[]){picks, scales}, &run);
  ops_near(ops_result(&run, 0), expected, 6, "GatherBlockQuantized");
  ops_done(&run);
}

// Zero points are those of the constant, whatever lies behind them in memory.
static void test_zero_points_that_are_all_the_same(void **state) {
  (void)state;
  static const uint8_t zeros[3] = {128, 128, 7};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n  func @main(%x : u8[2]) -> (%y : u8[2]) {\n"
                                "    %y = Identity@13(%x) : u8[2]\n    return %y\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  for (int64_t count = 0; count <= 3; ++count) {
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_U8, 1, &count);
    byoc_constant_t *constant = byoc_constant_wrap(module, "zeros", type, zeros);
    assert_non_null(constant);
    const byoc_value_t *value = byoc_function_constant(byoc_graph_module_main(module), constant);
    assert_int_equal(byoc_all_are(value, 128), count < 3);
  }
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_integer),
      cmocka_unit_test(test_matmul_integer_zero_points_of_slices),
      cmocka_unit_test(test_conv_integer),
      cmocka_unit_test(test_qlinear_conv),
      cmocka_unit_test(test_rounding_of_tiny_blocks),
      cmocka_unit_test(test_quantised_limits),
      cmocka_unit_test(test_look_up_with_one_open_scale),
      cmocka_unit_test(test_zero_points_that_are_all_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
