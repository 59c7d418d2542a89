// SPDX-License-Identifier: Apache-2.0
// Elementwise operators and data movement, against C's functions and against results written down.
#include "tests/unit/ops/ops_support.h"

// ---- one operand ----
static double f_relu(double x) {
  return x > 0 ? x : 0;
}
static double f_sigmoid(double x) {
  return 1 / (1 + exp(-x));
}
static double f_softplus(double x) {
  return fmax(x, 0) + log1p(exp(-fabs(x)));
}
static double f_gelu(double x) {
  return 0.5 * x * (1 + erf(x / sqrt(2)));
}
static double f_gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double f_mish(double x) {
  return x * tanh(f_softplus(x));
}
static double f_elu(double x) {
  return x < 0 ? 2 * (exp(x) - 1) : x;
}
static double f_selu(double x) {
  return 1.0507010221 * (x > 0 ? x : 1.6732632423 * (exp(x) - 1));
}
static double f_celu(double x) {
  return fmax(0, x) + fmin(0, 0.5 * (exp(x / 0.5) - 1));
}
static double f_hard_sigmoid(double x) {
  return fmax(0, fmin(1, 0.2 * x + 0.5));
}
static double f_hard_swish(double x) {
  return x * fmax(0, fmin(1, x / 6 + 0.5));
}
static double f_softsign(double x) {
  return x / (1 + fabs(x));
}
static double f_leaky(double x) {
  return x < 0 ? 0.1 * x : x;
}
static double f_thresholded(double x) {
  return x > 0.5 ? x : 0;
}
static double f_shrink(double x) {
  return x < -0.5 ? x + 0.25 : x > 0.5 ? x - 0.25 : 0;
}
static double f_clip(double x) {
  return fmin(fmax(x, -0.5), 1.5);
}
static double f_sign(double x) {
  return (x > 0) - (x < 0);
}
static double f_reciprocal(double x) {
  return 1 / x;
}
static double f_negate(double x) {
  return -x;
}
static double f_same(double x) {
  return x;
}

static const struct {
  const char *node;
  double (*function)(double);
} unary[] = {
    {"Abs@13(%x)", fabs},
    {"Neg@13(%x)", f_negate},
    {"Exp@13(%x)", exp},
    {"Log@13(%x)", log},
    {"Sqrt@13(%x)", sqrt},
    {"Reciprocal@13(%x)", f_reciprocal},
    {"Floor@13(%x)", floor},
    {"Ceil@13(%x)", ceil},
    {"Round@11(%x)", rint},
    {"Sign@13(%x)", f_sign},
    {"Sin@7(%x)", sin},
    {"Cos@7(%x)", cos},
    {"Tan@7(%x)", tan},
    {"Asin@7(%x)", asin},
    {"Acos@7(%x)", acos},
    {"Atan@7(%x)", atan},
    {"Sinh@9(%x)", sinh},
    {"Cosh@9(%x)", cosh},
    {"Tanh@13(%x)", tanh},
    {"Asinh@9(%x)", asinh},
    {"Acosh@9(%x)", acosh},
    {"Atanh@9(%x)", atanh},
    {"Erf@13(%x)", erf},
    {"Relu@14(%x)", f_relu},
    {"LeakyRelu@16(%x) {alpha = 0.1}", f_leaky},
    {"Elu@6(%x) {alpha = 2.0}", f_elu},
    {"Selu@6(%x)", f_selu},
    {"Celu@12(%x) {alpha = 0.5}", f_celu},
    {"Sigmoid@13(%x)", f_sigmoid},
    {"HardSigmoid@6(%x)", f_hard_sigmoid},
    {"HardSwish@14(%x)", f_hard_swish},
    {"Softplus@1(%x)", f_softplus},
    {"Softsign@1(%x)", f_softsign},
    {"ThresholdedRelu@10(%x) {alpha = 0.5}", f_thresholded},
    {"Gelu@20(%x)", f_gelu},
    {"Gelu@20(%x) {approximate = \"tanh\"}", f_gelu_tanh},
    {"Mish@18(%x)", f_mish},
    {"Shrink@9(%x) {lambd = 0.5, bias = 0.25}", f_shrink},
    {"Clip@6(%x) {min = -0.5, max = 1.5}", f_clip},
    {"Clip@13(%x, @low, @high)", f_clip},
    {"Cast@13(%x) {to = 1}", f_same},
    {"Dropout@13(%x)", f_same},
    {"Identity@16(%x)", f_same},
};

static void test_unary(void **state) {
  (void)state;
  enum { COUNT = 12 };
  static const float x[COUNT] = {-3.0f, -1.5f, -0.75f, -0.5f, -0.25f, 0.0f, 0.125f, 0.5f, 0.9f, 1.0f, 2.5f, 4.0f};
  for (size_t i = 0; i < sizeof unary / sizeof *unary; ++i) {
    float expected[COUNT];
    for (int j = 0; j < COUNT; ++j) expected[j] = (float)unary[i].function(x[j]);
    char text[512];
    snprintf(text, sizeof text,
             "module {\n  constant @low : f32[] = [-0.5]\n  constant @high : f32[] = [1.5]\n"
             "  func @main(%%x : f32[3,4]) -> (%%y : ?) {\n    %%y = %s : ?\n    return %%y\n  }\n}\n",
             unary[i].node);
    ops_run_t run;
    ops_run(text, (const void *const[]){x}, &run);
    ops_near(ops_result(&run, 0), expected, COUNT, unary[i].node);
    ops_done(&run);
  }
}

static double f_elu_by_1(double x) {
  return x < 0 ? expm1(x) : x;
}

// Numbers from the smallest to the largest, of both signs, and those at which a formula changes.
static void test_all_magnitudes(void **state) {
  (void)state;
  enum { COUNT = 3000, SPECIAL = 20 };
  static const struct {
    const char *node;
    double (*function)(double);
    double most; // relative error
  } cases[] = {{"Elu@6(%x)", f_elu_by_1, 6e-7},
               {"Log@13(%x)", log, 1e-7},
               {"Sin@7(%x)", sin, 2e-7},
               {"Cos@7(%x)", cos, 2e-7},
               {"Softplus@1(%x)", f_softplus, 5e-7},
               {"Mish@18(%x)", f_mish, 7e-7}};
  static float x[COUNT] = {INFINITY,    -INFINITY,       NAN,   -0.0f,       0.0f,     1.0f,       0.707106781f,
                           1.41421356f, 1.17549435e-38f, -0.5f, -0.4999999f, -87.0f,   -104.0f,    -1e3f,
                           19.99f,      20.0f,           89.0f, 3.4e38f,     -3.4e38f, 0.99999994f};
  for (int i = SPECIAL; i < COUNT; ++i) {
    const double exponent = -149.0 + 277.0 * (i - SPECIAL) / (COUNT - SPECIAL);
    x[i] = (float)((i % 2 ? -1 : 1) * exp2(exponent));
  }
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    char text[256];
    snprintf(text, sizeof text,
             "module {\n  func @main(%%x : f32[%d]) -> (%%y : ?) {\n    %%y = %s : ?\n    return %%y\n  }\n}\n", COUNT,
             cases[c].node);
    ops_run_t run;
    ops_run(text, (const void *const[]){x}, &run);
    const float *y = ops_result(&run, 0);
    for (int i = 0; i < COUNT; ++i) {
      const double expected = cases[c].function(x[i]);
      const bool is_same = isnan(expected) ? isnan(y[i]) : (double)y[i] == expected;
      // What is smaller than a normal number has fewer digits.
      if (!is_same && !(fabs((double)y[i] - expected) <= cases[c].most * fmax(fabs(expected), 1e-36)))
        fail_msg("%s of %.9g is %.9g, expected %.9g", cases[c].node, (double)x[i], (double)y[i], expected);
    }
    ops_done(&run);
  }
}

// ---- results written down ----
// Runs `body` (nodes that make %y) on %a : f32[2,3] = 1 .. 6 and %b : f32[3] = 10, 20, 30 and compares.
static void check(const char *constants, const char *body, const float *expected, size_t count) {
  static const float a[6] = {1, 2, 3, 4, 5, 6}, c[3] = {10, 20, 30};
  char text[1024];
  snprintf(text, sizeof text,
           "module {\n%s\n  func @main(%%a : f32[2,3], %%b : f32[3]) -> (%%y : ?) {\n    %s\n    return %%y\n  }\n}\n",
           constants, body);
  ops_run_t run;
  ops_run(text, (const void *const[]){a, c}, &run);
  ops_near(ops_result(&run, 0), expected, count, body);
  ops_done(&run);
}
#define CHECK(constants, body, ...)                                                                                    \
  do {                                                                                                                 \
    static const float expected_[] = {__VA_ARGS__};                                                                    \
    check(constants, body, expected_, sizeof expected_ / sizeof *expected_);                                           \
  } while (0)

static void test_binary(void **state) {
  (void)state;
  CHECK("", "%y = Add@14(%a, %b) : ?", 11, 22, 33, 14, 25, 36);
  CHECK("", "%y = Sub@14(%b, %a) : ?", 9, 18, 27, 6, 15, 24);
  CHECK("", "%y = Mul@14(%a, %b) : ?", 10, 40, 90, 40, 100, 180);
  CHECK("", "%y = Div@14(%b, %a) : ?", 10, 10, 10, 2.5f, 4, 5);
  CHECK("  constant @two : f32[] = [2.0]", "%y = Pow@15(%a, @two) : ?", 1, 4, 9, 16, 25, 36);
  CHECK("  constant @half : f32[] = [0.5]", "%y = Pow@15(%a, @half) : ?", 1, 1.41421356f, 1.7320508f, 2, 2.236068f,
        2.4494897f);
  CHECK("  constant @half : f32[] = [0.5]\n  constant @x : f32[3] = [-inf, -0.0, inf]",
        "%z = Identity@16(@x) : ?\n    %r = Pow@15(%z, @half) : ?\n    %y = Reciprocal@13(%r) : ?", 0, INFINITY, 0);
  CHECK("", "%y = Mod@13(%b, %a) {fmod = 1} : ?", 0, 0, 0, 2, 0, 0);
  CHECK("", "%y = Min@13(%a, %b, %a) : ?", 1, 2, 3, 4, 5, 6);
  CHECK("", "%y = Max@13(%a, %b) : ?", 10, 20, 30, 10, 20, 30);
  CHECK("", "%y = Sum@13(%a, %b, %a) : ?", 12, 24, 36, 18, 30, 42);
  CHECK("", "%y = Mean@13(%a, %b) : ?", 5.5f, 11, 16.5f, 7, 12.5f, 18);
  CHECK("  constant @s : f32[3] = [0.5, 2.0, 1.0]", "%n = Neg@13(%a) : ?\n    %y = PRelu@16(%n, @s) : ?", -0.5f, -4, -3,
        -2, -10, -6);
  CHECK("  constant @c : bool[2,1] = [true, false]", "%y = Where@16(@c, %a, %b) : ?", 1, 2, 3, 10, 20, 30);
  // The forms of version 6: B lies along dimension `axis` of A.
  CHECK("  constant @c : f32[2] = [100.0, 200.0]", "%y = Add@6(%a, @c) {broadcast = 1, axis = 0} : ?", 101, 102, 103,
        204, 205, 206);
}

static void test_integers_and_bools(void **state) {
  (void)state;
  static const int32_t x[4] = {-7, 7, -7, 7}, y[4] = {3, 3, -3, -3};
  static const struct {
    const char *node;
    int32_t expected[4];
  } cases[] = {
      {"Div@14(%x, %y)", {-2, 2, 2, -2}},
      {"Mod@13(%x, %y)", {2, 1, -1, -2}},
      {"Mod@13(%x, %y) {fmod = 1}", {-1, 1, -1, 1}},
      {"BitwiseAnd@18(%x, %y)", {1, 3, -7, 5}},
      {"BitwiseXor@18(%x, %y)", {-6, 4, 4, -6}},
      {"Pow@15(%x, @three)", {-343, 343, -343, 343}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[512];
    snprintf(text, sizeof text,
             "module {\n  constant @three : i64[] = [3]\n  func @main(%%x : i32[4], %%y : i32[4]) -> (%%z : ?) {\n"
             "    %%z = %s : ?\n    return %%z\n  }\n}\n",
             cases[i].node);
    ops_run_t run;
    ops_run(text, (const void *const[]){x, y}, &run);
    const int32_t *z = ops_result(&run, 0);
    for (int j = 0; j < 4; ++j) {
      if (z[j] != cases[i].expected[j]) fail_msg("%s: %d: %d, not %d", cases[i].node, j, z[j], cases[i].expected[j]);
    }
    ops_done(&run);
  }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : i32[4], %y : i32[4]) -> (%z : ?) {\n    %a = Less@13(%x, %y) : ?\n"
          "    %b = GreaterOrEqual@16(%x, %y) : ?\n    %c = Equal@13(%a, %b) : ?\n    %d = Not@1(%c) : ?\n"
          "    %z = And@7(%a, %d) : ?\n    return %z\n  }\n}\n",
          (const void *const[]){x, y}, &run);
  const uint8_t *z = ops_result(&run, 0);
  for (int j = 0; j < 4; ++j) assert_int_equal(z[j], x[j] < y[j]);
  ops_done(&run);
}

// Numbers from 2^63 on are not negative.
static void test_large_unsigned(void **state) {
  (void)state;
  static const uint64_t x[4] = {5, UINT64_MAX, UINT64_MAX, 1}, y[4] = {5, UINT64_MAX, 1, UINT64_MAX};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : u64[4], %y : u64[4]) -> (%a : ?, %b : ?, %c : ?, %d : ?) {\n"
          "    %a = Less@13(%x, %y) : ?\n    %b = LessOrEqual@16(%x, %y) : ?\n    %c = Max@13(%x, %y) : ?\n"
          "    %d = Div@14(%x, %y) : ?\n    return %a, %b, %c, %d\n  }\n}\n",
          (const void *const[]){x, y}, &run);
  const uint8_t *less = ops_result(&run, 0), *less_or_equal = ops_result(&run, 1);
  const uint64_t *largest = ops_result(&run, 2), *quotient = ops_result(&run, 3);
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(less[i], x[i] < y[i]);
    assert_int_equal(less_or_equal[i], x[i] <= y[i]);
    assert_true(largest[i] == (x[i] < y[i] ? y[i] : x[i]));
    assert_true(quotient[i] == x[i] / y[i]);
  }
  ops_done(&run);
}

static void test_movement(void **state) {
  (void)state;
  CHECK("", "%y = Transpose@13(%a) : ?", 1, 4, 2, 5, 3, 6);
  CHECK("  constant @s : i64[2] = [3, -1]", "%y = Reshape@14(%a, @s) : ?", 1, 2, 3, 4, 5, 6);
  CHECK("  constant @s : i64[2] = [2, 1]", "%y = Expand@13(%b, @s) : ?", 10, 20, 30, 10, 20, 30);
  CHECK("  constant @s : i64[1] = [-1]\n  constant @e : i64[1] = [-100]\n  constant @x : i64[1] = [1]\n"
        "  constant @t : i64[1] = [-2]",
        "%y = Slice@13(%a, @s, @e, @x, @t) : ?", 3, 1, 6, 4);
  CHECK("", "%y = Slice@1(%a) {starts = [1], ends = [100], axes = [1]} : ?", 2, 3, 5, 6);
  CHECK("", "%y = Concat@13(%a, %a) {axis = 1} : ?", 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
  CHECK("", "%y = byoc::ToBlocked@1(%a) {axis = 0, block = 2} : ?", 1, 4, 2, 5, 3, 6);
  CHECK("",
        "%t = byoc::ToBlocked@1(%a) {axis = 0, block = 2} : ?\n    %u = Neg@13(%t) : ?\n"
        "    %y = byoc::FromBlocked@1(%u) {axis = 0, block = 2} : ?",
        -1, -2, -3, -4, -5, -6);
  CHECK("", "%y = byoc::FromBlocked@1(%a) {axis = 0, block = 3} : ?", 1, 2, 3, 4, 5, 6);
  CHECK("  constant @s : i64[3] = [1, 3, 2]",
        "%r = Reshape@14(%a, @s) : ?\n    %y = byoc::FromBlocked@1(%r) {block = 2, axis = 0} : ?", 1, 3, 5, 2, 4, 6);
  CHECK("", "%p, %y = Split@11(%a) {axis = 1, split = [1, 2]} : ?, ?", 2, 3, 5, 6);
  CHECK("  constant @r : i64[2] = [2, 2]", "%y = Tile@13(%a, @r) : ?", 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1,
        2, 3, 4, 5, 6, 4, 5, 6);
  CHECK("  constant @p : i64[4] = [0, 1, 1, -1]\n  constant @v : f32[] = [9.0]", "%y = Pad@13(%a, @p, @v) : ?", 9, 1, 2,
        9, 4, 5, 9, 9, 9);
  CHECK("  constant @p : i64[2] = [2, 2]", "%y = Pad@13(%b, @p) {mode = \"reflect\"} : ?", 30, 20, 10, 20, 30, 20, 10);
  CHECK("  constant @p : i64[2] = [2, 1]", "%y = Pad@13(%b, @p) {mode = \"edge\"} : ?", 10, 10, 10, 20, 30, 30);
  CHECK("  constant @p : i64[2] = [1, 4]", "%y = Pad@19(%b, @p) {mode = \"wrap\"} : ?", 30, 10, 20, 30, 10, 20, 30, 10);
  // What is cut off at one side is gone before the other side is padded with the rest.
  CHECK("  constant @p : i64[2] = [-1, 4]", "%y = Pad@19(%b, @p) {mode = \"wrap\"} : ?", 20, 30, 20, 30, 20, 30);
  CHECK("  constant @p : i64[2] = [4, -1]", "%y = Pad@19(%b, @p) {mode = \"wrap\"} : ?", 10, 20, 10, 20, 10, 20);
  CHECK("  constant @p : i64[2] = [-1, 3]", "%y = Pad@19(%b, @p) {mode = \"reflect\"} : ?", 20, 30, 20, 30, 20);
  CHECK("  constant @p : i64[2] = [-1, 2]", "%y = Pad@19(%b, @p) {mode = \"edge\"} : ?", 20, 30, 30, 30);
  CHECK("  constant @p : i64[2] = [1, 4]", "%y = Pad@18(%b, @p) {mode = \"wrap\"} : ?", 30, 10, 20, 30, 10, 20, 30, 10);
  CHECK("  constant @i : i64[2] = [2, -3]", "%y = Gather@13(%a, @i) {axis = 1} : ?", 3, 1, 6, 4);
  CHECK("  constant @i : i64[] = [1]", "%y = Gather@13(%a, @i) : ?", 4, 5, 6);
  CHECK("  constant @i : i64[2,2] = [0, -1, 2, 0]", "%y = GatherElements@13(%a, @i) {axis = 1} : ?", 1, 3, 6, 4);
  CHECK("  constant @i : i64[2,2] = [0, 2, 1, 0]", "%y = GatherND@13(%a, @i) : ?", 3, 4);
  CHECK("  constant @k : i64[] = [1]", "%y = Trilu@14(%a, @k) : ?", 0, 2, 3, 0, 0, 6);
  CHECK("", "%y = Trilu@14(%a) {upper = 0} : ?", 1, 0, 0, 4, 5, 0);
  CHECK("", "%y = EyeLike@9(%a) {k = 1} : ?", 0, 1, 0, 0, 0, 1);
}

static void test_blocks(void **state) {
  (void)state;
  CHECK("  constant @s : i64[4] = [1, 4, 1, 1]\n  constant @x : f32[4] = [1.0, 2.0, 3.0, 4.0]",
        "%r = Reshape@14(@x, @s) : ?\n    %y = DepthToSpace@13(%r) {blocksize = 2} : ?", 1, 2, 3, 4);
  CHECK("  constant @s : i64[4] = [1, 1, 2, 2]\n  constant @x : f32[4] = [1.0, 2.0, 3.0, 4.0]",
        "%r = Reshape@14(@x, @s) : ?\n    %y = SpaceToDepth@13(%r) {blocksize = 2} : ?", 1, 2, 3, 4);
}

static void test_generated(void **state) {
  (void)state;
  CHECK("  constant @a : f32[] = [1.0]\n  constant @b : f32[] = [2.0]\n  constant @d : f32[] = [0.25]",
        "%y = Range@11(@a, @b, @d) : ?", 1, 1.25f, 1.5f, 1.75f);
  CHECK("", "%s = Shape@15(%a) : ?\n    %y = Cast@13(%s) {to = 1} : ?", 2, 3);
  CHECK("", "%s = Size@13(%a) : ?\n    %y = Cast@13(%s) {to = 1} : ?", 6);
  CHECK("  constant @s : i64[1] = [3]\n  constant @v : f32[1] = [7.0]", "%y = ConstantOfShape@9(@s) {value = @v} : ?",
        7, 7, 7);
  CHECK("", "%c = Constant@13() {value_floats = [1.0, 2.0, 3.0]} : ?\n    %y = Add@14(%b, %c) : ?", 11, 22, 33);
  CHECK("  constant @i : i64[2] = [1, -1]\n  constant @d : i64[] = [3]\n  constant @v : f32[2] = [0.0, 5.0]",
        "%y = OneHot@11(@i, @d, @v) : ?", 0, 5, 0, 0, 0, 5);
}

// One class of each row has nearly all of the weight.
static void test_drawn_classes(void **state) {
  (void)state;
  CHECK("  constant @w : f32[2,3] = [0.0, 80.0, 0.0, -80.0, -80.0, 0.0]",
        "%c = Multinomial@7(@w) {sample_size = 3, seed = 1.0} : ?\n    %y = Cast@13(%c) {to = 1} : ?", 1, 1, 1, 2, 2,
        2);
}

// Half precision is computed in f32: otherwise the sum of 4096 ones would stick at 2048.
static void test_half_precision(void **state) {
  (void)state;
  enum { COUNT = 4096 };
  static uint16_t x[COUNT];
  for (int i = 0; i < COUNT; ++i) x[i] = 0x3C00; // 1.0
  ops_run_t run;
  ops_run(
      "module {\n  func @main(%x : f16[4096]) -> (%y : ?) {\n    %y = ReduceSum@11(%x) : ?\n    return %y\n  }\n}\n",
      (const void *const[]){x}, &run);
  const uint16_t *y = ops_result(&run, 0);
  assert_int_equal(y[0], 0x6C00); // 4096.0
  ops_done(&run);
}

// Rounded once: by way of f32, the numbers in the middle would be rounded to even.
static void test_wide_numbers_are_rounded_once(void **state) {
  (void)state;
  static const double x[] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 1 + 3 * 0x1p-11 - 0x1p-40, -1 - 0x1p-11 - 0x1p-40};
  static const int64_t i[] = {(int64_t)257 << 40 | 1, (int64_t)257 << 40, -((int64_t)257 << 40) - 1, INT64_MAX};
  static const float halves[] = {1 + 0x1p-10f, 1, 1 + 0x1p-10f, -1 - 0x1p-10f};
  static const float brains[] = {258 * 0x1p40f, 256 * 0x1p40f, -258 * 0x1p40f, 0x1p63f};
  static const float wraps[] = {-7, 1, 0, -8}, given[] = {9.5f, -15.25f, NAN, 8};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f64[4], %i : i64[4], %f : f32[4]) -> (%a : ?, %b : ?, %c : ?) {\n"
          "    %h = Cast@13(%x) {to = 10} : ?\n    %a = Cast@13(%h) {to = 1} : ?\n"
          "    %w = Cast@13(%i) {to = 16} : ?\n    %b = Cast@13(%w) {to = 1} : ?\n"
          "    %n = Cast@21(%f) {to = 22} : ?\n    %c = Cast@21(%n) {to = 1} : ?\n    return %a, %b, %c\n  }\n}\n",
          (const void *const[]){x, i, given}, &run);
  assert_memory_equal(ops_result(&run, 0), halves, sizeof halves);
  assert_memory_equal(ops_result(&run, 1), brains, sizeof brains);
  ops_near(ops_result(&run, 2), wraps, 4, "floats as integers of 4 bits");
  ops_done(&run);
}

static void test_dropout_mask(void **state) {
  (void)state;
  static const float x[3] = {1, 2, 3};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[3]) -> (%y : ?, %m : ?) {\n    %d, %m = Dropout@13(%x) : ?, ?\n"
          "    %y = Neg@13(%d) : ?\n    return %y, %m\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), (const float[]){-1, -2, -3}, 3, "dropout");
  const uint8_t *mask = ops_result(&run, 1);
  assert_true(mask[0] == 1 && mask[1] == 1 && mask[2] == 1);
  ops_done(&run);
}

// In training: the mask says which elements are kept, and these are divided by their share.
static void test_dropout_in_training(void **state) {
  (void)state;
  float x[1000];
  for (int i = 0; i < 1000; ++i) x[i] = 1.0f + (float)i;
  ops_run_t run;
  ops_run("module {\n  constant @r : f32[] = [0.75]\n  constant @t : bool[] = [true]\n"
          "  func @main(%x : f32[1000]) -> (%y : ?, %m : ?) {\n"
          "    %y, %m = Dropout@13(%x, @r, @t) {seed = 7} : ?, ?\n    return %y, %m\n  }\n}\n",
          (const void *const[]){x}, &run);
  const float *y = ops_result(&run, 0);
  const uint8_t *mask = ops_result(&run, 1);
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    assert_true(mask[i] <= 1);
    assert_true(y[i] == (mask[i] ? 4 * x[i] : 0));
    kept += mask[i];
  }
  assert_true(kept > 200 && kept < 300);
  ops_done(&run);
}

// The numbers of a seed stay the same from one version to the next.
static void test_random_numbers(void **state) {
  (void)state;
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1]) -> (%y : ?) {\n"
          "    %y = RandomUniform@1() {seed = 1.0, shape = [4]} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){(const float[1]){0}}, &run);
  static const float expected[4] = {0.829119325f, 0.703579605f, 0.991163433f, 0.322130591f};
  assert_memory_equal(ops_result(&run, 0), expected, sizeof expected);
  ops_done(&run);
}

// Of a thousand numbers, all lie between both ends, and some near each.
static void test_random_numbers_of_a_range(void **state) {
  (void)state;
  float least = INFINITY, most = -INFINITY;
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1]) -> (%y : ?) {\n"
          "    %y = RandomUniform@1() {seed = 1.0, shape = [1000], low = 2.0, high = 5.0} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){(const float[1]){0}}, &run);
  for (int i = 0; i < 1000; ++i) {
    least = fminf(least, ((const float *)ops_result(&run, 0))[i]);
    most = fmaxf(most, ((const float *)ops_result(&run, 0))[i]);
  }
  assert_true(least >= 2.0f && least < 2.1f);
  assert_true(most > 4.9f && most <= 5.0f);
  ops_done(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unary),          cmocka_unit_test(test_all_magnitudes),
      cmocka_unit_test(test_binary),         cmocka_unit_test(test_integers_and_bools),
      cmocka_unit_test(test_movement),       cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_generated),      cmocka_unit_test(test_drawn_classes),
      cmocka_unit_test(test_half_precision), cmocka_unit_test(test_wide_numbers_are_rounded_once),
      cmocka_unit_test(test_dropout_mask),   cmocka_unit_test(test_dropout_in_training),
      cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_random_numbers_of_a_range),
      cmocka_unit_test(test_large_unsigned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
