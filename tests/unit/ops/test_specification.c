// SPDX-License-Identifier: Apache-2.0
// Rules in the text of the specification for which it has no examples: programs run from end to end, also with shapes
// and values known only at run time, and are compared with ONNX's reference implementation.
#include <math.h>
#include <stdlib.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/element.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/util.h"
#include "tests/support/support.h"

enum { MAX_RESULTS = 4 };

// A result against "[1,2] 0.5 nan": its dimensions, and its values to three digits.
static void compare(const byoc_argument_t *result, const char *expected) {
  char dims[128] = "[";
  int64_t count = 1;
  for (uint32_t d = 0; d < result->rank; ++d) {
    snprintf(dims + strlen(dims), sizeof(dims) - strlen(dims), "%s%lld", d > 0 ? "," : "", (long long)result->dims[d]);
    count *= result->dims[d];
  }
  strcat(dims, "]");
  const size_t size = strlen(dims);
  if (strncmp(dims, expected, size) != 0) fail_msg("the shape is %s, expected %s", dims, expected);
  const char *at = expected + size;
  for (int64_t i = 0; i < count; ++i) {
    char *end = NULL;
    const double wanted = strtod(at, &end), got = byoc_element_f64(result->dtype, result->data, (size_t)i);
    assert_true(end > at);
    at = end;
    const bool same =
        (isnan(wanted) && isnan(got)) || wanted == got || fabs(wanted - got) <= 1e-3 * fabs(wanted) + 1e-6;
    if (!same) fail_msg("element %lld is %g, expected %s", (long long)i, got, expected);
  }
  assert_int_equal(*at, '\0');
}

// Runs "main" on `inputs`; expected[i] is what result i must be.
static void run(const char *text, const byoc_argument_t *inputs, const char *const *expected) {
  byoc_diag_t diag = {0};
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_evaluator_t *evaluator = NULL;
  byoc_argument_t results[MAX_RESULTS];
  byoc_test_ok(byoc_graph_parse(text, "test", allocator, &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(module, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_lower(module, allocator, &diag, &program), &diag);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, program, NULL, &diag), &diag);
  byoc_test_ok(byoc_evaluator_create(program, NULL, 1, allocator, &diag, &evaluator), &diag);
  byoc_test_ok(byoc_evaluator_run_arguments(evaluator, inputs, results, &diag), &diag);
  for (size_t i = 0; i < program->outputs.count; ++i) compare(&results[i], expected[i]);
  byoc_evaluator_destroy(evaluator);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

// One input and one result.
static void run_one(const char *text, byoc_dtype_t dtype, int64_t count, const void *data, const char *expected) {
  const byoc_argument_t input = {.dtype = dtype, .rank = 1, .dims = &count, .data = (void *)(uintptr_t)data};
  run(text, &input, &expected);
}

// Scores are capped, then biased, then normalised; the fourth result shows them before or after each of these steps.
static void test_attention_scores(void **state) {
  (void)state;
  static const char *const scores[] = {
      "[1,1,2,3] 0.7071 -2.828 0 2.121 3.889 0.8839", "[1,1,2,3] 0.679 -1.777 0 1.572 1.92 0.8305",
      "[1,1,2,3] 0.679 -2.777 0.5 2.572 1.92 -inf", "[1,1,2,3] 0.5354 0.0169 0.4477 0.6575 0.3425 0"};
  static const float q[] = {1, -1, 0.5F, 2};
  for (int mode = 0; mode < 4; ++mode) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "module {\n  constant @k : f32[1,1,3,2] = [2, 1, -1, 3, 0.5, 0.5]\n"
        "  constant @v : f32[1,1,3,2] = [1, 2, 3, 4, 5, 6]\n"
        "  constant @m : f32[2,3] = [0, -1, 0.5, 1, 0, -inf]\n  constant @s : i64[4] = [1, 1, 2, 2]\n"
        "  func @main(%%x : f32[4]) -> (%%y : ?, %%s : ?) {\n    %%q = Reshape@21(%%x, @s) : ?\n"
        "    %%y, %%1, %%2, %%s = Attention@24(%%q, @k, @v, @m) {softcap = 2.0, qk_matmul_output_mode = %d} : ?, ?, "
        "?, ?\n    return %%y, %%s\n  }\n}\n",
        mode);
    const int64_t count = 4;
    const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = (void *)(uintptr_t)q};
    run(text, &input, (const char *const[]){"[1,1,2,2] 2.824 3.824 1.685 2.685", scores[mode]});
  }
}

static void test_cast_to_four_bits(void **state) {
  (void)state;
  static const float x[] = {-8, -7.9F, -0.6F, 0.5F, 1.5F, 6.99F, 7};
  static const int32_t n[] = {-9, -8, 7, 8, 15, 16, 200, -100};
#define THROUGH(from, count, to)                                                                                       \
  "module {\n  func @main(%x : " from "[" count "]) -> (%y : ?) {\n    %0 = Cast@21(%x) {to = " to "} : ?\n"           \
  "    %y = Cast@21(%0) {to = 1} : ?\n    return %y\n  }\n}\n"
  // Fractions are cut, and the high bits of integers are dropped. Results for floats beyond the range are left open.
  run_one(THROUGH("f32", "7", "22"), BYOC_DTYPE_F32, 7, x, "[7] -8 -7 0 0 1 6 7");
  run_one(THROUGH("f32", "4", "21"), BYOC_DTYPE_F32, 4, x + 3, "[4] 0 1 6 7");
  run_one(THROUGH("i32", "8", "22"), BYOC_DTYPE_I32, 8, n, "[8] 7 -8 7 -8 -1 0 -8 -4");
  run_one(THROUGH("i32", "8", "21"), BYOC_DTYPE_I32, 8, n, "[8] 7 8 7 8 15 0 8 12");
}

// Infinity in formats without it: NaN until version 24; from then on the largest number if the cast saturates.
static void test_cast_of_infinity(void **state) {
  (void)state;
  static const float x[] = {INFINITY, -INFINITY, 1e9F, -2};
#define SMALL(version, to, more)                                                                                       \
  "module {\n  func @main(%x : f32[4]) -> (%y : ?) {\n    %0 = Cast@" version "(%x) {to = " to more "} : ?\n"          \
  "    %y = Cast@" version "(%0) {to = 1} : ?\n    return %y\n  }\n}\n"
  run_one(SMALL("21", "18", ""), BYOC_DTYPE_F32, 4, x, "[4] nan nan 240 -2");
  run_one(SMALL("19", "20", ""), BYOC_DTYPE_F32, 4, x, "[4] nan nan 57344 -2");
  run_one(SMALL("24", "18", ""), BYOC_DTYPE_F32, 4, x, "[4] 240 -240 240 -2");
  run_one(SMALL("24", "20", ""), BYOC_DTYPE_F32, 4, x, "[4] 57344 -57344 57344 -2");
  run_one(SMALL("21", "17", ""), BYOC_DTYPE_F32, 4, x, "[4] 448 -448 448 -2");
  run_one(SMALL("24", "18", ", saturate = 0"), BYOC_DTYPE_F32, 4, x, "[4] nan nan nan -2");
}

// Since version 20 these take 8-bit floats: f8e5m2 has infinities, f8e4m3fn has none.
static void test_float8_is_tested(void **state) {
  (void)state;
  static const float x[] = {NAN, -INFINITY, 1, 448};
#define TESTED(op, to)                                                                                                 \
  "module {\n  func @main(%x : f32[4]) -> (%y : ?) {\n    %0 = Cast@19(%x) {to = " to ", saturate = 0} : ?\n"          \
  "    %1 = " op "@20(%0) : ?\n    %y = Cast@19(%1) {to = 1} : ?\n    return %y\n  }\n}\n"
  run_one(TESTED("IsNaN", "17"), BYOC_DTYPE_F32, 4, x, "[4] 1 1 0 0");
  run_one(TESTED("IsNaN", "19"), BYOC_DTYPE_F32, 4, x, "[4] 1 0 0 0");
  run_one(TESTED("IsInf", "17"), BYOC_DTYPE_F32, 4, x, "[4] 0 0 0 0");
  run_one(TESTED("IsInf", "19"), BYOC_DTYPE_F32, 4, x, "[4] 0 1 0 0");
}

// ---- Resize ----

// 1, 2, ... 24 in 4 rows of 6, resized to `sizes` or by `scales` that are known only at run time, or at compile time.
static void resize(byoc_dtype_t dtype, const void *list, const char *attributes, const char *expected) {
  float x[24];
  for (int i = 0; i < 24; ++i) x[i] = (float)(i + 1);
  const int64_t dims[] = {1, 1, 4, 6}, count = 2;
  const byoc_argument_t inputs[] = {{.dtype = BYOC_DTYPE_F32, .rank = 4, .dims = dims, .data = x},
                                    {.dtype = dtype, .rank = 1, .dims = &count, .data = (void *)(uintptr_t)list}};
  for (int known = 0; known < 2; ++known) {
    char text[1024], constant[128] = "", parameter[64] = "";
    const bool sizes = dtype == BYOC_DTYPE_I64;
    if (known) {
      snprintf(constant, sizeof constant, "constant @s : %s[2] = [%.9g, %.9g]", sizes ? "i64" : "f32",
               byoc_element_f64(dtype, list, 0), byoc_element_f64(dtype, list, 1));
    } else {
      snprintf(parameter, sizeof parameter, ", %%s : %s[2]", sizes ? "i64" : "f32");
    }
    snprintf(text, sizeof text,
             "module {\n  %s\n  constant @none : f32[0] = []\n  func @main(%%x : f32[1,1,4,6]%s) -> (%%y : ?) {\n"
             "    %%y = Resize@19(%%x, @none, %s%ss) {%s, axes = [2, -1]} : ?\n    return %%y\n  }\n}\n",
             constant, parameter, sizes ? "@none, " : "", known ? "@" : "%", attributes);
    run(text, inputs, &expected);
  }
}

static void test_resize_keeps_proportions(void **state) {
  (void)state;
  static const int64_t three[] = {3, 3};
#define NOT_LARGER  "keep_aspect_ratio_policy = \"not_larger\""
#define NOT_SMALLER "keep_aspect_ratio_policy = \"not_smaller\""
  resize(BYOC_DTYPE_I64, three, "mode = \"nearest\", " NOT_LARGER, "[1,1,2,3] 1 3 5 13 15 17");
  resize(BYOC_DTYPE_I64, three, "mode = \"linear\", " NOT_SMALLER,
         "[1,1,3,5] 2.167 3.5 4.833 6.167 7 10.17 11.5 12.83 14.17 15 18.17 19.5 20.83 22.17 23");
  resize(BYOC_DTYPE_I64, three, "mode = \"linear\", antialias = 1, " NOT_LARGER,
         "[1,1,2,3] 5.375 7.25 9.125 15.88 17.75 19.62");
}

static void test_resize_antialias(void **state) {
  (void)state;
  static const int64_t two[] = {2, 2};
  static const float scales[] = {0.5F, 0.4F};
  resize(BYOC_DTYPE_I64, two, "mode = \"linear\", antialias = 1", "[1,1,2,2] 5.861 8.639 16.36 19.14");
  resize(BYOC_DTYPE_F32, scales, "mode = \"cubic\", antialias = 1", "[1,1,2,2] 4.644 7.286 16.76 19.4");
  resize(BYOC_DTYPE_F32, scales, "mode = \"cubic\", antialias = 1, exclude_outside = 1",
         "[1,1,2,2] 5.156 7.789 16.35 18.98");
}

// Filters with so many neighbours that loops visit them: the mean of evenly growing numbers is the middle one.
static void test_resize_wide_filter(void **state) {
  (void)state;
  enum { LENGTH = 400 };
  float x[LENGTH];
  for (int i = 0; i < LENGTH; ++i) x[i] = (float)i;
  run_one("module {\n  constant @none : f32[0] = []\n  constant @s : f32[1] = [0.0125]\n"
          "  func @main(%x : f32[400]) -> (%y : ?) {\n"
          "    %y = Resize@19(%x, @none, @s) {mode = \"linear\", antialias = 1, exclude_outside = 1} : ?\n"
          "    return %y\n  }\n}\n",
          BYOC_DTYPE_F32, LENGTH, x, "[5] 47.12 119.5 199.5 279.5 351.88");
}

// ---- the others ----

static void test_lp_normalization_of_zero(void **state) {
  (void)state;
  static const float x[] = {0, 0, 3, -4, 1e-30F, 0};
#define NORM(p)                                                                                                        \
  "module {\n  constant @s : i64[2] = [3, 2]\n  func @main(%x : f32[6]) -> (%y : ?) {\n"                               \
  "    %0 = Reshape@21(%x, @s) : ?\n    %y = LpNormalization@22(%0) {axis = 1, p = " p                                 \
  "} : ?\n    return %y\n  }\n}\n"
  run_one(NORM("2"), BYOC_DTYPE_F32, 6, x, "[3,2] 0 0 0.6 -0.8 0 0"); // the last one's norm vanishes in rounding
  run_one(NORM("1"), BYOC_DTYPE_F32, 6, x, "[3,2] 0 0 0.4286 -0.5714 1 0");
}

static void test_qlinear_matmul_of_i8(void **state) {
  (void)state;
  static const int8_t a[] = {-128, 127, 3, 100, -100, 7};
  run_one("module {\n  constant @as : f32[2] = [0.02, 0.01]\n  constant @az : i8[2] = [-3, 5]\n"
          "  constant @b : i8[3,2] = [-128, 100, 50, -7, 127, 1]\n  constant @bs : f32[2] = [0.03, 0.04]\n"
          "  constant @bz : i8[2] = [4, -2]\n  constant @ys : f32[] = [0.5]\n  constant @yz : i8[] = [-10]\n"
          "  constant @s : i64[2] = [2, 3]\n  func @main(%x : i8[6]) -> (%y : ?) {\n    %a = Reshape@21(%x, @s) : ?\n"
          "    %y = QLinearMatMul@21(%a, @as, @az, @b, @bs, @bz, @ys, @yz) : ?\n    return %y\n  }\n}\n",
          BYOC_DTYPE_I8, 6, a, "[2,2] 18 -31 -20 -2");
}

// Parts behind the last one that is not empty are empty.
static void test_split_into_more_parts(void **state) {
  (void)state;
  static const float x[] = {1, 2, 3, 4, 5};
  const int64_t count = 5;
  const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = (void *)(uintptr_t)x};
  run("module {\n  func @main(%x : f32[5]) -> (%a : ?, %b : ?, %c : ?, %d : ?) {\n"
      "    %a, %b, %c, %d = Split@18(%x) {num_outputs = 4} : ?, ?, ?, ?\n    return %a, %b, %c, %d\n  }\n}\n",
      &input, (const char *const[]){"[2] 1 2", "[2] 3 4", "[1] 5", "[0]"});
}

// A dimension turns out to be a constant after another one was broadcast to it; that one then gets its name.
static void test_unknown_dimensions_become_known(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n  constant @zero : i64[] = [0]\n  constant @one : i64[] = [1]\n"
                                "  func @main(%n : i64[], %x : f32[?7]) -> (%y : ?) {\n"
                                "    %0 = Range@11(@zero, %n, @one) : i64[?5]\n    %1 = Cast@13(%0) {to = 1} : ?\n"
                                "    %y = Mul@14(%1, %x) : ?\n    return %y\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_block_t *body = byoc_graph_module_main(module)->body;
  const byoc_dim_t one = byoc_dim_constant(1);
  body->parameters.data[1]->type = byoc_type_tensor(&module->arena, BYOC_DTYPE_F32, 1, &one);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  char text[BYOC_TYPE_TEXT_SIZE];
  assert_string_equal(byoc_type_text(body->results.data[0]->type, text), "f32[?5]");
  byoc_graph_module_destroy(module);
}

// A pass may find that an unknown dimension is 1 after all, so a Squeeze assumes nothing about it before the module is
// lowered.
static void test_squeezed_dimensions_become_known(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n  func @main(%x : f32[?5,3]) -> (%y : ?, %z : ?) {\n"
                                "    %y = Squeeze@13(%x) : ?\n    %z = Relu@14(%y) : ?\n    return %y, %z\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_block_t *body = byoc_graph_module_main(module)->body;
  const byoc_dim_t dims[] = {byoc_dim_constant(1), byoc_dim_constant(3)};
  body->parameters.data[0]->type = byoc_type_tensor(&module->arena, BYOC_DTYPE_F32, 2, dims);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  char text[BYOC_TYPE_TEXT_SIZE];
  assert_string_equal(byoc_type_text(body->results.data[1]->type, text), "f32[3]");
  byoc_graph_module_destroy(module);
}

static void test_lengths_beyond_the_sequence(void **state) {
  (void)state;
  static const char *const nets[] = {"RNN", "GRU", "LSTM"};
  static const int gates[] = {1, 3, 4}, bad[] = {4, -1};
  for (size_t i = 0; i < 6; ++i) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    char text[1024], said[128];
    snprintf(text, sizeof text,
             "module {\n  constant @w : f32[1,%d,1] = splat 0.5\n  constant @l : i32[2] = [3, %d]\n"
             "  func @main(%%x : f32[3,2,1]) -> (%%y : ?) {\n"
             "    %%y = %s@14(%%x, @w, @w, _, @l) {hidden_size = 1} : ?\n    return %%y\n  }\n}\n",
             gates[i / 2], bad[i % 2], nets[i / 2]);
    snprintf(said, sizeof said, "operand 4, the lengths of the sequences: element 1 is %d; expected values in [0, 3]",
             bad[i % 2]);
    byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
    byoc_test_error(byoc_infer_module(module, &diag), BYOC_INVALID_DATA, &diag, said);
    byoc_graph_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attention_scores),
      cmocka_unit_test(test_cast_to_four_bits),
      cmocka_unit_test(test_cast_of_infinity),
      cmocka_unit_test(test_float8_is_tested),
      cmocka_unit_test(test_resize_keeps_proportions),
      cmocka_unit_test(test_resize_antialias),
      cmocka_unit_test(test_resize_wide_filter),
      cmocka_unit_test(test_lp_normalization_of_zero),
      cmocka_unit_test(test_qlinear_matmul_of_i8),
      cmocka_unit_test(test_split_into_more_parts),
      cmocka_unit_test(test_unknown_dimensions_become_known),
      cmocka_unit_test(test_squeezed_dimensions_become_known),
      cmocka_unit_test(test_lengths_beyond_the_sequence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
