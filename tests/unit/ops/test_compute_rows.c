// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and normalisations against loops written out here. One tensor [A, B, C] is reduced over each
// subset of its dimensions, so that rows are contiguous, strided and split.
#include "tests/unit/ops/ops_support.h"

enum { A = 3, B = 4, C = 70, ALL = A * B * C };

// Which row an element of [A, B, C] belongs to when the dimensions of `mask` are folded.
static int row_of(int index, int mask) {
  int a = index / (B * C), b = index / C % B, c = index % C;
  if (mask & 1) a = 0;
  if (mask & 2) b = 0;
  if (mask & 4) c = 0;
  return (a * B + b) * C + c;
}

typedef struct {
  const char *name;
  double start;
  double (*fold)(double, double);
  double (*finish)(double, double count);
} reduction_t;

static double f_sum(double a, double x) {
  return a + x;
}
static double f_product(double a, double x) {
  return a * x;
}
static double f_max(double a, double x) {
  return x > a ? x : a;
}
static double f_min(double a, double x) {
  return x < a ? x : a;
}
static double f_abs(double a, double x) {
  return a + fabs(x);
}
static double f_square(double a, double x) {
  return a + x * x;
}
static double f_exp(double a, double x) {
  return a + exp(x);
}
static double g_same(double a, double count) {
  (void)count;
  return a;
}
static double g_mean(double a, double count) {
  return a / count;
}
static double g_sqrt(double a, double count) {
  (void)count;
  return sqrt(a);
}
static double g_log(double a, double count) {
  (void)count;
  return log(a);
}

static const reduction_t reductions[] = {
    {"ReduceSum@11", 0, f_sum, g_same},        {"ReduceMean@13", 0, f_sum, g_mean},
    {"ReduceProd@13", 1, f_product, g_same},   {"ReduceMax@13", -INFINITY, f_max, g_same},
    {"ReduceMin@13", INFINITY, f_min, g_same}, {"ReduceL1@13", 0, f_abs, g_same},
    {"ReduceL2@13", 0, f_square, g_sqrt},      {"ReduceLogSum@13", 0, f_sum, g_log},
    {"ReduceLogSumExp@13", 0, f_exp, g_log},   {"ReduceSumSquare@13", 0, f_square, g_same},
};

static void test_reductions(void **state) {
  (void)state;
  float x[ALL];
  ops_fill(x, ALL, 1);
  // Near 1: products stay in range, and logarithms are defined.
  for (int i = 0; i < ALL; ++i) x[i] = 1.0f + 0.1f * x[i];
  for (size_t r = 0; r < sizeof reductions / sizeof *reductions; ++r) {
    for (int mask = 1; mask < 8; ++mask) {
      double folded[ALL];
      int count[ALL] = {0};
      for (int i = 0; i < ALL; ++i) folded[i] = reductions[r].start;
      for (int i = 0; i < ALL; ++i) {
        int row = row_of(i, mask);
        folded[row] = reductions[r].fold(folded[row], x[i]);
        ++count[row];
      }
      float expected[ALL];
      size_t rows = 0;
      for (int i = 0; i < ALL; ++i) {
        if (count[i]) expected[rows++] = (float)reductions[r].finish(folded[i], count[i]);
      }
      char axes[32] = "", text[512];
      for (int d = 0; d < 3; ++d) {
        if (mask & 1 << d) snprintf(axes + strlen(axes), sizeof axes - strlen(axes), "%s%d", axes[0] ? ", " : "", d);
      }
      snprintf(text, sizeof text,
               "module {\n  func @main(%%x : f32[3,4,70]) -> (%%y : ?) {\n    %%y = %s(%%x) {axes = [%s], keepdims = "
               "%d} : ?\n    return %%y\n  }\n}\n",
               reductions[r].name, axes, mask & 1);
      ops_run_t run;
      ops_run(text, (const void *const[]){x}, &run);
      ops_near(ops_result(&run, 0), expected, rows, text);
      ops_done(&run);
    }
  }
}

static void test_arg(void **state) {
  (void)state;
  static const float x[6] = {1, 7, 7, -2, -2, 0};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[2,3]) -> (%a : ?, %b : ?, %c : ?, %d : ?) {\n"
          "    %a = ArgMax@13(%x) {axis = 1, keepdims = 0} : ?\n"
          "    %b = ArgMax@13(%x) {axis = 1, keepdims = 0, select_last_index = 1} : ?\n"
          "    %c = ArgMin@13(%x) {axis = 1, keepdims = 0} : ?\n"
          "    %d = ArgMax@13(%x) {axis = 0} : ?\n    return %a, %b, %c, %d\n  }\n}\n",
          (const void *const[]){x}, &run);
  static const int64_t expected[4][3] = {{1, 2}, {2, 2}, {0, 0}, {0, 0, 0}};
  static const int counts[] = {2, 2, 2, 3};
  for (size_t i = 0; i < 4; ++i) {
    const int64_t *y = ops_result(&run, i);
    for (int j = 0; j < counts[i]; ++j) assert_int_equal(y[j], expected[i][j]);
  }
  ops_done(&run);
}

// Softmax by rows of `mask`, or its logarithm.
static void softmax(const float *x, float *out, int mask, bool logarithm) {
  double sum[ALL] = {0};
  for (int i = 0; i < ALL; ++i) sum[row_of(i, mask)] += exp(x[i]);
  for (int i = 0; i < ALL; ++i) {
    double p = exp(x[i]) / sum[row_of(i, mask)];
    out[i] = (float)(logarithm ? log(p) : p);
  }
}

static void test_softmax(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int axis, mask;
    bool logarithm;
  } cases[] = {
      {"Softmax@13", 0, 1, false},   {"Softmax@13", 1, 2, false},    {"Softmax@13", -1, 4, false},
      {"Softmax@11", 0, 7, false},   {"Softmax@11", 1, 6, false},    {"Softmax@1", 2, 4, false},
      {"LogSoftmax@13", 1, 2, true}, {"LogSoftmax@13", -1, 4, true}, {"LogSoftmax@11", 1, 6, true},
  };
  float x[ALL], expected[ALL];
  ops_fill(x, ALL, 2);
  for (int i = 0; i < ALL; ++i) x[i] *= 5.0f;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    softmax(x, expected, cases[i].mask, cases[i].logarithm);
    char text[512];
    // Once alone, and once with a consumer fused behind it, which leaves no place for intermediate results.
    for (int fused = 0; fused < 2; ++fused) {
      snprintf(text, sizeof text,
               "module {\n  func @main(%%x : f32[3,4,70]) -> (%%y : ?) {\n    %%s = %s(%%x) {axis = %d} : ?\n"
               "    %%y = %s(%%s) : ?\n    return %%y\n  }\n}\n",
               cases[i].op, cases[i].axis, fused ? "Neg@13" : "Identity@14");
      for (int j = 0; fused && j < ALL; ++j) expected[j] = -expected[j];
      ops_run_t run;
      ops_run(text, (const void *const[]){x}, &run);
      ops_near(ops_result(&run, 0), expected, ALL, text);
      ops_done(&run);
    }
  }
}

static void test_softmax_is_stable(void **state) {
  (void)state;
  static const float x[4] = {1e4f, 1e4f, -1e4f, -INFINITY};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[4]) -> (%y : ?, %h : ?) {\n    %y = Softmax@13(%x) : ?\n"
          "    %h = Hardmax@13(%x) : ?\n    return %y, %h\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), (const float[]){0.5f, 0.5f, 0, 0}, 4, "softmax");
  ops_near(ops_result(&run, 1), (const float[]){1, 0, 0, 0}, 4, "hardmax");
  ops_done(&run);
}

// (x - mean) / sqrt(variance + epsilon) by rows of `mask`, scaled by scale[k % period] and so on.
static void normalize(const float *x, float *out, int mask, double epsilon, const float *scale, const float *bias,
                      int channel) {
  double sum[ALL] = {0}, squares[ALL] = {0};
  int count[ALL] = {0};
  for (int i = 0; i < ALL; ++i) sum[row_of(i, mask)] += x[i], ++count[row_of(i, mask)];
  for (int i = 0; i < ALL; ++i) {
    int row = row_of(i, mask);
    double d = x[i] - sum[row] / count[row];
    squares[row] += d * d;
  }
  for (int i = 0; i < ALL; ++i) {
    int row = row_of(i, mask), at = channel == 1 ? i / C % B : i % C;
    double y = (x[i] - sum[row] / count[row]) / sqrt(squares[row] / count[row] + epsilon);
    out[i] = (float)(y * (scale ? scale[at] : 1.0f) + (bias ? bias[at] : 0.0f));
  }
}

static void test_normalisations(void **state) {
  (void)state;
  float x[ALL], expected[ALL], scale[C], bias[C];
  ops_fill(x, ALL, 3), ops_fill(scale, C, 4), ops_fill(bias, C, 5);
  // Far from zero: the difference of squares and mean would lose half of the digits.
  for (int i = 0; i < ALL; ++i) x[i] += 100.0f;
  static const struct {
    const char *node, *parameter;
    int mask, channel;
    double epsilon;
  } cases[] = {
      {"LayerNormalization@17(%x, %s, %b)", "f32[70]", 4, 2, 1e-5},
      {"LayerNormalization@17(%x, %s, %b) {axis = 1}", "f32[70]", 6, 2, 1e-5},
      {"InstanceNormalization@6(%x, %s, %b) {epsilon = 0.001}", "f32[4]", 4, 1, 1e-3},
      {"GroupNormalization@21(%x, %s, %b) {num_groups = 1}", "f32[4]", 6, 1, 1e-5},
      {"GroupNormalization@21(%x, %s, %b) {num_groups = 4}", "f32[4]", 4, 1, 1e-5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    normalize(x, expected, cases[i].mask, cases[i].epsilon, scale, bias, cases[i].channel);
    char text[512];
    snprintf(text, sizeof text,
             "module {\n  func @main(%%x : f32[3,4,70], %%s : %s, %%b : %s) -> (%%y : ?) {\n    %%y = %s : ?\n"
             "    return %%y\n  }\n}\n",
             cases[i].parameter, cases[i].parameter, cases[i].node);
    ops_run_t run;
    ops_run(text, (const void *const[]){x, scale, bias}, &run);
    const float *y = ops_result(&run, 0);
    // The rounding of the input itself, at 100, is 1e-5 of its deviation.
    for (int j = 0; j < ALL; ++j) {
      if (fabsf(y[j] - expected[j]) > 1e-3f) fail_msg("%s: %d: %g, not %g", text, j, (double)y[j], (double)expected[j]);
    }
    ops_done(&run);
  }
}

static void test_batch_normalisation(void **state) {
  (void)state;
  float x[ALL], expected[ALL], p[4][B];
  ops_fill(x, ALL, 6), ops_fill(p[0], 4 * B, 7);
  for (int b = 0; b < B; ++b) p[3][b] = fabsf(p[3][b]) + 0.1f;
  for (int i = 0; i < ALL; ++i) {
    int b = i / C % B;
    expected[i] = (x[i] - p[2][b]) / sqrtf(p[3][b] + 1e-5f) * p[0][b] + p[1][b];
  }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[3,4,70], %s : f32[4], %b : f32[4], %m : f32[4], %v : f32[4]) -> (%y : ?) {\n"
          "    %y = BatchNormalization@15(%x, %s, %b, %m, %v) : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x, p[0], p[1], p[2], p[3]}, &run);
  ops_near(ops_result(&run, 0), expected, ALL, "batch");
  ops_done(&run);
}

static void test_lrn(void **state) {
  (void)state;
  float x[ALL], expected[ALL];
  ops_fill(x, ALL, 8);
  for (int i = 0; i < ALL; ++i) {
    double sum = 0;
    int b = i / C % B;
    for (int k = b - 1; k <= b + 1; ++k) {
      if (k >= 0 && k < B) sum += (double)x[i + (k - b) * C] * x[i + (k - b) * C];
    }
    expected[i] = (float)(x[i] / pow(2.0 + 0.3 / 3 * sum, 0.75));
  }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[3,4,70]) -> (%y : ?) {\n    %y = LRN@13(%x) {size = 3, alpha = 0.3, beta = "
          "0.75, bias = 2.0} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), expected, ALL, "LRN");
  ops_done(&run);
  // Of two dimensions, the second is the channels.
  static const float y[6] = {1 / 6.0f, 2 / 14.0f, 3 / 10.0f, -2 / 5.0f, 0, 1 / 2.0f};
  ops_run(
      "module {\n  func @main(%x : f32[2,3]) -> (%y : ?) {\n    %y = LRN@13(%x) {size = 2, alpha = 2.0, beta = 1.0, "
      "bias = 1.0} : ?\n    return %y\n  }\n}\n",
      (const void *const[]){(const float[6]){1, 2, 3, -2, 0, 1}}, &run);
  ops_near(ops_result(&run, 0), y, 6, "LRN of two dimensions");
  ops_done(&run);
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

// Every gate has weights and a peephole of its own.
static void test_lstm_peepholes(void **state) {
  (void)state;
  enum { STEPS = 3 };
  static const float x[STEPS] = {0.5f, -1, 2}, w[4] = {0.3f, -0.7f, 1.1f, 0.9f}, r[4] = {-0.4f, 0.6f, 0.2f, -0.8f},
                     p[3] = {0.25f, -1.5f, 0.75f};
  float expected[STEPS];
  double h = 0, c = 0;
  for (int t = 0; t < STEPS; ++t) {
    double in = sigmoid((double)w[0] * x[t] + r[0] * h + p[0] * c);
    double forget = sigmoid((double)w[2] * x[t] + r[2] * h + p[2] * c);
    c = forget * c + in * tanh((double)w[3] * x[t] + r[3] * h);
    h = sigmoid((double)w[1] * x[t] + r[1] * h + p[1] * c) * tanh(c);
    expected[t] = (float)h;
  }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[3,1,1], %w : f32[1,4,1], %r : f32[1,4,1], %p : f32[1,3]) -> (%y : ?) {\n"
          "    %y = LSTM@14(%x, %w, %r, _, _, _, _, %p) {hidden_size = 1} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x, w, r, p}, &run);
  ops_near(ops_result(&run, 0), expected, STEPS, "LSTM");
  ops_done(&run);
}

static void test_lp_and_rms(void **state) {
  (void)state;
  static const float x[6] = {3, 4, 0, 0, 0, 0}, scale[3] = {1, 2, 3};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[2,3], %s : f32[3]) -> (%a : ?, %b : ?, %c : ?) {\n"
          "    %a = LpNormalization@1(%x) {p = 2} : ?\n    %b = LpNormalization@1(%x) {p = 1} : ?\n"
          "    %c = RMSNormalization@23(%x, %s) {epsilon = 0.0} : ?\n    return %a, %b, %c\n  }\n}\n",
          (const void *const[]){x, scale}, &run);
  ops_near(ops_result(&run, 0), (const float[]){0.6f, 0.8f, 0, 0, 0, 0}, 6, "p = 2");
  ops_near(ops_result(&run, 1), (const float[]){3.0f / 7, 4.0f / 7, 0, 0, 0, 0}, 6, "p = 1");
  float rms = sqrtf(25.0f / 3);
  ops_near(ops_result(&run, 2), (const float[]){3 / rms, 8 / rms, 0}, 3, "root mean square");
  ops_done(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_arg),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_softmax_is_stable),
      cmocka_unit_test(test_normalisations),
      cmocka_unit_test(test_batch_normalisation),
      cmocka_unit_test(test_lrn),
      cmocka_unit_test(test_lp_and_rms),
      cmocka_unit_test(test_lstm_peepholes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
