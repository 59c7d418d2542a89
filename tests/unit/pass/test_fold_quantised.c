// SPDX-License-Identifier: Apache-2.0
// fold-quantised against the graph as it was written: the same bytes, or their neighbours.
#include "core/base/string.h"
#include "core/pass/pass.h"
#include "tests/unit/ops/ops_support.h"

// The module after simplify, as text; `wanted` are operators that must be in it, `unwanted` one that must not.
static char *simplify(const char *text, const char *const *wanted, const char *unwanted) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  size_t changes = 0;
  byoc_test_ok(byoc_simplify(module, NULL, &diag, &changes), &diag);
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  const byoc_print_options_t all = {0};
  byoc_graph_print(module, &all, &out);
  assert_false(out.failed);
  for (size_t i = 0; wanted[i]; ++i) {
    if (!strstr(out.data, wanted[i])) fail_msg("no %s in\n%s", wanted[i], out.data);
  }
  if (strstr(out.data, unwanted)) fail_msg("%s is left in\n%s", unwanted, out.data);
  char *copy = malloc(out.size + 1);
  assert_non_null(copy);
  memcpy(copy, out.data, out.size + 1);
  byoc_string_deinit(&out);
  byoc_graph_module_destroy(module);
  return copy;
}

// Both forms on the same bytes: how many results differ by one; none may differ by more.
static size_t compare(const char *text, const uint8_t *x, size_t count, const char *const *wanted,
                      const char *unwanted) {
  char *folded = simplify(text, wanted, unwanted);
  ops_run_t written, run;
  ops_run(text, (const void *const[]){x}, &written);
  ops_run(folded, (const void *const[]){x}, &run);
  const uint8_t *expected = ops_result(&written, 0), *actual = ops_result(&run, 0);
  size_t neighbours = 0;
  for (size_t i = 0; i < count; ++i) {
    int distance = abs(actual[i] - expected[i]);
    if (distance > 1) fail_msg("element %zu is %d, expected %d", i, actual[i], expected[i]);
    neighbours += distance == 1;
  }
  ops_done(&written), ops_done(&run);
  free(folded);
  return neighbours;
}

static void fill(uint8_t *x, size_t count) {
  byoc_test_random_t random = {.state = 11};
  for (size_t i = 0; i < count; ++i) x[i] = (uint8_t)byoc_test_below(&random, 256);
}

// "[1, -2, ...]" of signed bytes.
static void append_bytes(byoc_string_t *text, size_t count) {
  byoc_test_random_t random = {.state = 12};
  for (size_t i = 0; i < count; ++i) {
    byoc_string_appendf(text, "%s%d", i ? ", " : "[", (int)byoc_test_below(&random, 255) - 127);
  }
  byoc_string_append(text, "]\n");
}

static void begin(byoc_string_t *text, const char *weights, size_t count) {
  byoc_string_init(text, byoc_allocator_system());
  byoc_string_append(text, "module {\n  constant @xs : f32[] = [0.02]\n  constant @xz : u8[] = [120]\n"
                           "  constant @ws : f32[3] = [0.01, 0.02, 0.005]\n  constant @wz : i8[3] = [0, 0, 0]\n"
                           "  constant @bs : f32[3] = [0.0002, 0.0004, 0.0001]\n"
                           "  constant @bias : i32[3] = [300, -2000, 9000]\n"
                           "  constant @ys : f32[] = [0.05]\n  constant @yz : u8[] = [100]\n");
  byoc_string_appendf(text, "  constant @w : i8[%s] = ", weights);
  append_bytes(text, count);
}

static void test_conv_and_relu(void **state) {
  (void)state;
  enum { COUNT = 2 * 6 * 6, RESULTS = 3 * 6 * 6 };
  uint8_t x[COUNT];
  fill(x, COUNT);
  byoc_string_t text;
  begin(&text, "3,2,3,3", 3 * 2 * 9);
  byoc_string_append(&text, "  func @main(%x : u8[1,2,6,6]) -> (%y : ?) {\n"
                            "    %0 = DequantizeLinear@13(%x, @xs, @xz) : ?\n"
                            "    %1 = DequantizeLinear@13(@w, @ws, @wz) {axis = 0} : ?\n"
                            "    %2 = DequantizeLinear@13(@bias, @bs) {axis = 0} : ?\n"
                            "    %3 = Conv@11(%0, %1, %2) {pads = [1, 1, 1, 1]} : ?\n    %4 = Relu@14(%3) : ?\n"
                            "    %y = QuantizeLinear@13(%4, @ys, @yz) : ?\n    return %y\n  }\n}\n");
  assert_true(compare(text.data, x, RESULTS, (const char *const[]){"QLinearConv", "Clip", NULL}, "Dequantize") <= 1);
  byoc_string_deinit(&text);
}

// A bias of floats becomes integers if the result's step is so coarse that rounding hardly moves it; else it is added
// to the dequantised sums.
static void test_gemm_with_a_bias_of_floats(void **state) {
  (void)state;
  enum { COUNT = 5 * 14, RESULTS = 5 * 3 };
  static const struct {
    const char *step, *wanted, *unwanted;
  } cases[] = {{"0.05", "QGemm", "Dequantize"}, {"0.0129", "QGemm", "Dequantize"}, {"0.0127", "MatMulInteger", "Gemm"}};
  uint8_t x[COUNT];
  fill(x, COUNT);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    byoc_string_t text;
    begin(&text, "3,14", 3 * 14);
    byoc_string_appendf(&text,
                        "  constant @b : f32[3] = [0.25, -0.75, 1.0]\n  constant @step : f32[] = [%s]\n"
                        "  func @main(%%x : u8[5,14]) -> (%%y : ?) {\n"
                        "    %%0 = DequantizeLinear@13(%%x, @xs, @xz) : ?\n"
                        "    %%1 = DequantizeLinear@13(@w, @ws, @wz) {axis = 0} : ?\n"
                        "    %%2 = Gemm@13(%%0, %%1, @b) {transB = 1} : ?\n"
                        "    %%y = QuantizeLinear@13(%%2, @step, @yz) : ?\n    return %%y\n  }\n}\n",
                        cases[c].step);
    assert_true(compare(text.data, x, RESULTS, (const char *const[]){cases[c].wanted, NULL}, cases[c].unwanted) <= 1);
    byoc_string_deinit(&text);
  }
}

// A factor below 0 turns the weights of its channel, and a factor of 0 removes them.
static void test_batch_normalisations(void **state) {
  (void)state;
  enum { COUNT = 2 * 6 * 6, RESULTS = 3 * 6 * 6, ROWS = COUNT / 9 };
  static const struct {
    const char *weights, *x, *scale, *product, *wanted;
    size_t results;
  } cases[] = {
      {"3,2,3,3", "1,2,6,6", "@ws, @wz) {axis = 0}", "Conv@11(%0, %1, %2) {pads = [1, 1, 1, 1]}", "QLinearConv@",
       RESULTS},
      {"3,2,3,3", "1,2,6,6", "@one, @none)", "Conv@11(%0, %1) {pads = [1, 1, 1, 1]}", "QLinearConv@", RESULTS},
      {"2,3,3,3", "1,2,6,6", "@ws, @wz) {axis = 1}", "ConvTranspose@11(%0, %1, %2) {pads = [1, 1, 1, 1]}",
       "QLinearConvTranspose", RESULTS},
      {"3,9", "8,9", "@ws, @wz) {axis = 0}", "Gemm@13(%0, %1, %2) {transB = 1}", "QGemm", (size_t)ROWS * 3},
      {"9,3", "8,9", "@one, @none)", "Gemm@13(%0, %1, %2)", "QGemm", (size_t)ROWS * 3},
  };
  uint8_t x[COUNT];
  fill(x, COUNT);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    byoc_string_t text;
    begin(&text, cases[c].weights, 54 / (c < 3 ? 1 : 2));
    byoc_string_appendf(&text,
                        "  constant @one : f32[] = [0.01]\n  constant @none : i8[] = [0]\n"
                        "  constant @g : f32[3] = [1.5, -0.5, 0.0]\n  constant @h : f32[3] = [0.25, -1.0, 2.0]\n"
                        "  constant @m : f32[3] = [0.5, 1.0, -3.0]\n  constant @v : f32[3] = [2.0, 0.25, 1.0]\n"
                        "  func @main(%%x : u8[%s]) -> (%%y : ?) {\n"
                        "    %%0 = DequantizeLinear@13(%%x, @xs, @xz) : ?\n"
                        "    %%1 = DequantizeLinear@13(@w, %s : ?\n"
                        "    %%2 = DequantizeLinear@13(@bias, @bs) {axis = 0} : ?\n"
                        "    %%3 = %s : ?\n    %%4 = BatchNormalization@15(%%3, @g, @h, @m, @v) : ?\n"
                        "    %%y = QuantizeLinear@13(%%4, @ys, @yz) : ?\n    return %%y\n  }\n}\n",
                        cases[c].x, cases[c].scale, cases[c].product);
    const char *const wanted[] = {cases[c].wanted, NULL};
    assert_true(compare(text.data, x, cases[c].results, wanted, "BatchNormalization") <= 1);
    byoc_string_deinit(&text);
  }
}

static void test_matmul_of_transposed_weights(void **state) {
  (void)state;
  enum { COUNT = 4 * 9, RESULTS = 4 * 3 };
  uint8_t x[COUNT];
  fill(x, COUNT);
  byoc_string_t text;
  begin(&text, "3,9", 3 * 9);
  byoc_string_append(&text, "  func @main(%x : u8[4,9]) -> (%y : ?) {\n"
                            "    %0 = DequantizeLinear@13(%x, @xs, @xz) : ?\n"
                            "    %1 = DequantizeLinear@13(@w, @ws, @wz) {axis = 0} : ?\n"
                            "    %2 = Transpose@13(%1) {perm = [1, 0]} : ?\n    %3 = MatMul@13(%0, %2) : ?\n"
                            "    %y = QuantizeLinear@13(%3, @ys, @yz) : ?\n    return %y\n  }\n}\n");
  assert_true(compare(text.data, x, RESULTS, (const char *const[]){"QLinearMatMul", NULL}, "Transpose") <= 1);
  byoc_string_deinit(&text);
}

// Sums of products at the end of i32 and behind it, all bytes being 255: 33025 * 255 * 255 is the last that fits.
static void test_sums_at_the_end_of_i32(void **state) {
  (void)state;
  static const struct {
    int depth, weights_zero;
    long bias;
    const char *wanted, *unwanted;
  } cases[] = {
      {33025, 0, 0, "QLinearMatMul", "Dequantize"},   {33026, 0, 0, "Dequantize", "QLinearMatMul"},
      {65536, 127, 0, "QLinearMatMul", "Dequantize"}, {65794, 128, 0, "Dequantize", "QLinearMatMul"},
      {32768, 0, 16744447, "QGemm", "Dequantize"},    {32768, 0, 16744448, "MatMulInteger", "Gemm"},
      {32768, 0, 900000000, "MatMulInteger", "Gemm"},
  };
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
    int depth = cases[c].depth;
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_appendf(&text,
                        "module {\n  constant @s : f32[] = [0.0001]\n  constant @wz : u8[] = [%d]\n"
                        "  constant @bs : f32[1] = [0.00000001]\n  constant @bias : i32[1] = [%ld]\n"
                        "  constant @ys : f32[] = [0.125]\n  constant @yz : u8[] = [0]\n  constant @w : u8[%d,1] = ",
                        cases[c].weights_zero, cases[c].bias, depth);
    for (int i = 0; i < depth; ++i) byoc_string_append(&text, i ? ", 255" : "[255");
    byoc_string_appendf(&text,
                        "]\n  func @main(%%x : u8[1,%d]) -> (%%y : ?) {\n"
                        "    %%0 = DequantizeLinear@13(%%x, @s) : ?\n    %%1 = DequantizeLinear@13(@w, @s, @wz) : ?\n",
                        depth);
    byoc_string_append(&text, cases[c].bias ? "    %2 = DequantizeLinear@13(@bias, @bs) {axis = 0} : ?\n"
                                              "    %3 = Gemm@13(%0, %1, %2) : ?\n"
                                            : "    %3 = MatMul@13(%0, %1) : ?\n");
    byoc_string_append(&text, "    %y = QuantizeLinear@13(%3, @ys, @yz) : ?\n    return %y\n  }\n}\n");
    uint8_t *x = malloc((size_t)depth);
    assert_non_null(x);
    memset(x, 255, (size_t)depth);
    compare(text.data, x, 1, (const char *const[]){cases[c].wanted, NULL}, cases[c].unwanted);
    free(x);
    byoc_string_deinit(&text);
  }
}

// Bytes are moved, compared and cut as they are: no result differs.
static void test_movement(void **state) {
  (void)state;
  enum { COUNT = 2 * 4 * 4, RESULTS = 2 * 2 * 2 };
  uint8_t x[COUNT];
  fill(x, COUNT);
  byoc_string_t text;
  begin(&text, "1", 1);
  byoc_string_append(&text, "  func @main(%x : u8[1,2,4,4]) -> (%y : ?) {\n"
                            "    %0 = DequantizeLinear@13(%x, @xs, @xz) : ?\n    %1 = Relu@14(%0) : ?\n"
                            "    %2 = MaxPool@12(%1) {kernel_shape = [2, 2], strides = [2, 2]} : ?\n"
                            "    %3 = Transpose@13(%2) {perm = [0, 3, 1, 2]} : ?\n"
                            "    %y = QuantizeLinear@13(%3, @xs, @xz) : ?\n    return %y\n  }\n}\n");
  assert_int_equal(
      compare(text.data, x, RESULTS, (const char *const[]){"MaxPool", "Clip@", "Transpose", NULL}, "Dequantize"), 0);
  byoc_string_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv_and_relu),          cmocka_unit_test(test_gemm_with_a_bias_of_floats),
      cmocka_unit_test(test_batch_normalisations),   cmocka_unit_test(test_matmul_of_transposed_weights),
      cmocka_unit_test(test_sums_at_the_end_of_i32), cmocka_unit_test(test_movement),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
