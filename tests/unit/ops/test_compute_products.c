// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm against loops written out here.
#include "tests/unit/ops/ops_support.h"

// result[b][i][j] of `batch` products of [rows, depth] by [depth, columns].
static void multiply(const float *a, const float *c, float *out, int batch, int rows, int depth, int columns,
                     bool same_right) {
  for (int n = 0; n < batch; ++n)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int k = 0; k < depth; ++k) {
          sum += (double)a[(n * rows + i) * depth + k] * c[((same_right ? 0 : n) * depth + k) * columns + j];
        }
        out[(n * rows + i) * columns + j] = (float)sum;
      }
}

static void run_matmul(const char *left, const char *right, int batch, int rows, int depth, int columns,
                       bool same_right) {
  size_t a_count = (size_t)(batch * rows * depth), c_count = (size_t)((same_right ? 1 : batch) * depth * columns);
  size_t y_count = (size_t)(batch * rows * columns);
  float *a = malloc(a_count * sizeof *a), *c = malloc(c_count * sizeof *c), *expected = malloc(y_count * sizeof *c);
  assert_true(a && c && expected);
  ops_fill(a, a_count, 1), ops_fill(c, c_count, 2);
  multiply(a, c, expected, batch, rows, depth, columns, same_right);
  char text[512];
  snprintf(text, sizeof text,
           "module {\n  func @main(%%a : f32[%s], %%b : f32[%s]) -> (%%y : ?) {\n    %%y = MatMul@13(%%a, %%b) : ?\n"
           "    return %%y\n  }\n}\n",
           left, right);
  ops_run_t run;
  ops_run(text, (const void *const[]){a, c}, &run);
  ops_near(ops_result(&run, 0), expected, y_count, text);
  ops_done(&run);
  free(a), free(c), free(expected);
}

static void test_matmul(void **state) {
  (void)state;
  run_matmul("5,7", "7,9", 1, 5, 7, 9, true);
  run_matmul("70,300", "300,33", 1, 70, 300, 33, true);
  run_matmul("2,3,5,7", "7,9", 6, 5, 7, 9, true);
  run_matmul("2,3,5,7", "2,3,7,4", 6, 5, 7, 4, false);
  run_matmul("7", "7,9", 1, 1, 7, 9, true);
  run_matmul("5,7", "7", 1, 5, 7, 1, true);
  run_matmul("100", "100", 1, 1, 100, 1, true);
  run_matmul("1,4", "4,1", 1, 1, 4, 1, true);
  run_matmul("3,129", "129,2", 1, 3, 129, 2, true);
  run_matmul("9,1", "1,8", 1, 9, 1, 8, true);
}

// Both operands are broadcast, each in another dimension.
static void test_matmul_broadcast(void **state) {
  (void)state;
  enum { A = 2, B = 3, M = 4, K = 5, N = 6 };
  float a[A * M * K], c[B * K * N], expected[A * B * M * N];
  ops_fill(a, A * M * K, 3), ops_fill(c, B * K * N, 4);
  for (int i = 0; i < A; ++i)
    for (int j = 0; j < B; ++j) {
      multiply(a + i * M * K, c + j * K * N, expected + (i * B + j) * M * N, 1, M, K, N, true);
    }
  ops_run_t run;
  ops_run("module {\n  func @main(%a : f32[2,1,4,5], %b : f32[3,5,6]) -> (%y : ?) {\n    %y = MatMul@13(%a, %b) : ?\n"
          "    return %y\n  }\n}\n",
          (const void *const[]){a, c}, &run);
  ops_near(ops_result(&run, 0), expected, A * B * M * N, "broadcast");
  ops_done(&run);
}

static void run_gemm(bool left, bool right, int rows, int depth, int columns) {
  size_t a_count = (size_t)(rows * depth), c_count = (size_t)(depth * columns), y_count = (size_t)(rows * columns);
  float *a = malloc(a_count * sizeof *a), *c = malloc(c_count * sizeof *c), *bias = malloc((size_t)columns * sizeof *c);
  float *expected = malloc(y_count * sizeof *expected);
  assert_true(a && c && bias && expected);
  ops_fill(a, a_count, 5), ops_fill(c, c_count, 6), ops_fill(bias, (size_t)columns, 7);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) {
        sum += (double)a[left ? k * rows + i : i * depth + k] * c[right ? j * depth + k : k * columns + j];
      }
      expected[i * columns + j] = (float)(0.5 * sum + 2.0 * bias[j]);
    }
  char text[512];
  snprintf(text, sizeof text,
           "module {\n  func @main(%%a : f32[%d,%d], %%b : f32[%d,%d], %%c : f32[%d]) -> (%%y : ?) {\n"
           "    %%y = Gemm@13(%%a, %%b, %%c) {transA = %d, transB = %d, alpha = 0.5, beta = 2.0} : ?\n"
           "    return %%y\n  }\n}\n",
           left ? depth : rows, left ? rows : depth, right ? columns : depth, right ? depth : columns, columns, left,
           right);
  ops_run_t run;
  ops_run(text, (const void *const[]){a, c, bias}, &run);
  ops_near(ops_result(&run, 0), expected, y_count, text);
  ops_done(&run);
  free(a), free(c), free(bias), free(expected);
}

static void test_gemm(void **state) {
  (void)state;
  for (int i = 0; i < 4; ++i) {
    run_gemm(i & 1, i & 2, 5, 7, 9);
    run_gemm(i & 1, i & 2, 1, 100, 40);
    run_gemm(i & 1, i & 2, 67, 33, 35);
  }
}

static void test_integers(void **state) {
  (void)state;
  static const int32_t a[] = {1, -2, 3, 4}, c[] = {5, 6, -7, 8};
  ops_run_t run;
  ops_run("module {\n  func @main(%a : i32[2,2], %b : i32[2,2]) -> (%y : ?) {\n    %y = MatMul@13(%a, %b) : ?\n"
          "    return %y\n  }\n}\n",
          (const void *const[]){a, c}, &run);
  const int32_t *y = ops_result(&run, 0), expected[] = {19, -10, -13, 50};
  for (int i = 0; i < 4; ++i) assert_int_equal(y[i], expected[i]);
  ops_done(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul),
      cmocka_unit_test(test_matmul_broadcast),
      cmocka_unit_test(test_gemm),
      cmocka_unit_test(test_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
