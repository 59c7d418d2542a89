// SPDX-License-Identifier: Apache-2.0
// Operators that are declared by text: what they compute, what they infer, and what is refused with which sentence.
#include <unistd.h>

#include "core/op/declared.h"
#include "infer_support.h"
#include "ops_support.h"

enum { MAX_ROWS = 10 };

static const byoc_op_attribute_t alpha_attributes[] = {{BYOC_ATTR_FLOAT("alpha", 1.0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t mode_attributes[] = {{BYOC_ATTR_CHOICE("mode", "sum", "mean")},
                                                      {BYOC_ATTR(INTS, "pads")},
                                                      {BYOC_ATTR_REQUIRED(INT, "step")},
                                                      BYOC_ATTR_END};

static const byoc_op_attribute_t axis_attributes[] = {{BYOC_ATTR_INT("axis", -1)}, BYOC_ATTR_END};

static const byoc_op_declaration_t sample_declarations[] = {
    {.name = "MyGelu",
     .signature = "(x: T[S...]) -> (y: T[S...]) where T = float",
     .element = "y = 0.5 * x * (1.0 + erf(x * 0.7071067811865476))"},
    {.name = "Blend", // two results, operands that broadcast, an attribute, a name for what is used twice
     .signature = "(a: T[S...], b: T[S...]) -> (y: T[S...], is_less: bool[S...]) where T = number",
     .element = "let less = lt(a, b)\n y = select(less, a, b) * 2 - 1 is_less = less",
     .broadcasts = true},
    {.name = "Scaled",
     .signature = "(x: T[S...]) -> (y: T[S...]) where T = float",
     .attributes = alpha_attributes,
     .element = "y = x * alpha"},
    {.name = "Scaled", // a later version
     .since_version = 3,
     .signature = "(x: T[S...]) -> (y: T[S...]) where T = float",
     .attributes = alpha_attributes,
     .element = "y = x + alpha"},
    {.name = "RowSum", // a rest that counts as one dimension, an optional operand, a choice
     .signature = "(x: T[B..., D], bias?: T[D]) -> (y: T[B...], count: i64[1]) where T = float",
     .attributes = mode_attributes,
     .loops = "count[0] = D\n"
              "parallel b in 0 .. B {\n"
              "  var sum = T(0)\n"
              "  serial d in 0 .. D {\n"
              "    sum = sum + x[b * D + d]\n"
              "    if has_bias { sum = sum + bias[d] }\n"
              "  }\n"
              "  y[b] = select(eq(mode, 1), div(sum, cast(T, D)), sum)\n"
              "}"},
    {.name = "Take", // dimensions of a result by attributes; a result that is read back
     .signature = "(x: f32[N]) -> (y: f32[floordiv(N + pads.0 - 1, step) + 1])",
     .attributes = mode_attributes,
     .loops = "serial i in 0 .. floordiv(N + pads.0 - 1, step) + 1 {\n"
              "  let at = i * step\n"
              "  y[i] = 0.0\n"
              "  if lt(at, N) { y[i] = y[i] + x[at] }\n"
              "}"},
    {.name = "SumOver", // an axis by attribute
     .signature = "(x: T[A...axis, N, B...]) -> (y: T[A..., B...]) where T = float | i32",
     .attributes = axis_attributes,
     .loops = "parallel i in 0 .. A * B {\n"
              "  var sum = T(0)\n"
              "  serial n in 0 .. N { sum = sum + x[(floordiv(i, B) * N + n) * B + mod(i, B)] }\n"
              "  y[i] = sum\n"
              "}"},
    {.name = "Trace", // a name that an operand has twice
     .signature = "(x: f32[N, N]) -> (y: f32[])",
     .loops = "var sum : f32 = 0.0\n"
              "serial n in 0 .. N { sum = sum + x[n * N + n] }\n"
              "y[0] = sum"},
    {.name = "Scores", // a rest of several dimensions that two operands have at other places
     .signature = "(x: f32[N, B...], y: f32[B...]) -> (z: f32[N])"},
    {.name = "Opaque", .signature = "(x: f32[2, N]) -> (y: i32[N, N])"},
};
enum { SAMPLES = sizeof sample_declarations / sizeof *sample_declarations };

typedef struct samples_t {
  byoc_arena_t arena;
  const byoc_op_t *rows[MAX_ROWS];
  byoc_op_extension_t extension;
} samples_t;

static byoc_status_t declare(samples_t *samples, const byoc_op_declaration_t *declarations, size_t count,
                             byoc_diag_t *diag) {
  byoc_arena_init(&samples->arena, byoc_allocator_system());
  samples->extension = (byoc_op_extension_t){
      .name = "acme", .version = "1", .path = "/acme.so", .content = "acme 1", .rows = samples->rows};
  for (size_t i = 0; i < count; ++i) {
    byoc_op_declaration_t declaration = declarations[i];
    if (!declaration.domain) declaration.domain = "com.acme";
    if (declaration.since_version == 0) declaration.since_version = 1;
    BYOC_RETURN_IF_ERROR(byoc_op_declare(&declaration, &samples->extension, &samples->arena, diag, &samples->rows[i]));
    samples->extension.row_count = i + 1;
  }
  BYOC_RETURN_IF_ERROR(byoc_op_extend(&samples->extension, diag));
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) status = byoc_op_try(samples->rows[i], diag);
  if (status != BYOC_OK) byoc_op_retract(&samples->extension);
  return status;
}

static void drop(samples_t *samples) {
  byoc_op_retract(&samples->extension);
  byoc_arena_deinit(&samples->arena);
}

static samples_t all;

static int declare_samples(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(declare(&all, sample_declarations, SAMPLES, &diag), &diag);
  return 0;
}

static int drop_samples(void **state) {
  (void)state;
  drop(&all);
  assert_false(byoc_op_known("com.acme", "MyGelu"));
  return 0;
}

// ---- the table ----

static void test_declared_operators_are_in_the_table(void **state) {
  (void)state;
  assert_true(byoc_op_known("com.acme", "MyGelu"));
  assert_null(byoc_op_find("com.acme", "MyGelu", 0));
  const byoc_op_t *op = byoc_op_newest("com.acme", "MyGelu");
  assert_ptr_equal(op, all.rows[0]);
  assert_ptr_equal(op->extension, &all.extension);
  assert_int_equal(byoc_op_find("com.acme", "Scaled", 2)->since_version, 1);
  assert_int_equal(byoc_op_find("com.acme", "Scaled", 9)->since_version, 3);
  assert_string_equal(byoc_op_nearest("com.acme", "MyGello"), "MyGelu");
  assert_true(op->traits & BYOC_OP_ELEMENTWISE);
  assert_int_equal(op->work, BYOC_WORK_TRANSCENDENTAL);
  bool found = false;
  for (size_t i = 0; i < byoc_op_count(); ++i) found |= byoc_op_at(i) == op;
  assert_true(found);
  assert_null(byoc_op_at(byoc_op_count()));
}

// ---- values ----

static void test_elements_are_computed(void **state) {
  (void)state;
  static const float x[6] = {-3, -1, -0.5f, 0, 0.25f, 2};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[2,3]) -> (%y : ?, %z : ?, %g : ?) {\n"
          "    %y = com.acme::MyGelu@1(%x) : ?\n    %z = com.acme::Scaled@1(%y) {alpha = 2.5} : ?\n"
          "    %g = Gelu@20(%x) : ?\n    return %y, %z, %g\n  }\n}\n",
          (const void *const[]){x}, &run);
  const float *y = ops_result(&run, 0), *z = ops_result(&run, 1), *g = ops_result(&run, 2);
  for (int i = 0; i < 6; ++i) {
    assert_true(y[i] == g[i]);
    assert_true(z[i] == y[i] * 2.5f);
  }
  ops_done(&run);
}

static void test_declared_elements_are_fused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n  func @main(%x : f32[N,3]) -> (%y : ?) {\n    %a = Relu@14(%x) : ?\n"
                                "    %b = com.acme::MyGelu@1(%a) : ?\n    %y = com.acme::Scaled@1(%b) : ?\n"
                                "    return %y\n  }\n}\n",
                                "m", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(module, NULL, &diag), &diag);
  assert_int_equal(module->functions.count, 2); // main and one kernel
  byoc_graph_module_destroy(module);
}

static void test_broadcasting_and_types(void **state) {
  (void)state;
  static const int64_t a[3] = {1, 5, 3}, b[2] = {2, 4};
  ops_run_t run;
  ops_run("module {\n  func @main(%a : i64[3], %b : i64[2,1]) -> (%y : ?, %less : ?) {\n"
          "    %y, %less = com.acme::Blend@1(%a, %b) : ?, ?\n    return %y, %less\n  }\n}\n",
          (const void *const[]){a, b}, &run);
  static const int64_t expected[6] = {1, 3, 3, 1, 7, 5};
  const int64_t *y = ops_result(&run, 0);
  const uint8_t *less = ops_result(&run, 1);
  for (int i = 0; i < 6; ++i) {
    assert_int_equal(y[i], expected[i]);
    assert_int_equal(less[i], a[i % 3] < b[i / 3]);
  }
  ops_done(&run);
}

static void test_loops_are_computed(void **state) {
  (void)state;
  static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, bias[2] = {10, 20};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[2,2,2], %bias : f32[2]) -> (%y : ?, %n : ?, %m : ?, %v : ?) {\n"
          "    %y, %n = com.acme::RowSum@1(%x) {step = 1, mode = \"mean\"} : ?, ?\n"
          "    %m = com.acme::RowSum@1(%x, %bias) {step = 1} : ?\n"
          "    %s = com.acme::RowSum@1(%bias) {step = 1} : ?\n    %v = Neg@13(%s) : ?\n"
          "    return %y, %n, %m, %v\n  }\n}\n",
          (const void *const[]){x, bias}, &run);
  const float *mean = ops_result(&run, 0), *sum = ops_result(&run, 2), *whole = ops_result(&run, 3);
  assert_int_equal(*(const int64_t *)ops_result(&run, 1), 2);
  for (int i = 0; i < 4; ++i) {
    assert_true(mean[i] == 2.0f * (float)i + 1.5f);
    assert_true(sum[i] == 4.0f * (float)i + 33.0f);
  }
  assert_true(whole[0] == -30.0f); // the rest is empty
  ops_done(&run);
}

static void test_an_axis_by_attribute(void **state) {
  (void)state;
  static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[2,2,2]) -> (%a : ?, %b : ?, %c : ?) {\n"
          "    %a = com.acme::SumOver@1(%x) : ?\n    %b = com.acme::SumOver@1(%x) {axis = 0} : ?\n"
          "    %c = com.acme::SumOver@1(%x) {axis = -2} : ?\n    return %a, %b, %c\n  }\n}\n",
          (const void *const[]){x}, &run);
  static const float expected[3][4] = {{3, 7, 11, 15}, {6, 8, 10, 12}, {4, 6, 12, 14}};
  for (size_t r = 0; r < 3; ++r) {
    const float *y = ops_result(&run, r);
    for (int i = 0; i < 4; ++i) assert_true(y[i] == expected[r][i]);
  }
  ops_done(&run);
}

static void test_sizes_by_attributes(void **state) {
  (void)state;
  static const float x[5] = {1, 2, 3, 4, 5};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[5]) -> (%y : ?) {\n"
          "    %y = com.acme::Take@1(%x) {step = 2, pads = [2]} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x}, &run);
  static const float expected[4] = {1, 3, 5, 0};
  const float *y = ops_result(&run, 0);
  for (int i = 0; i < 4; ++i) assert_true(y[i] == expected[i]);
  ops_done(&run);
}

// A chain of decisions by attributes takes no more time than its length.
static void test_known_choices_nest(void **state) {
  (void)state;
  enum { LEVELS = 40, SECONDS = 60 };
  byoc_string_t element;
  byoc_string_init(&element, byoc_allocator_system());
  byoc_string_append(&element, "y = ");
  for (int i = 0; i < LEVELS; ++i) byoc_string_append(&element, "select(lt(2, 1), x, ");
  byoc_string_append(&element, "x + 1");
  for (int i = 0; i < LEVELS; ++i) byoc_string_append(&element, ")");
  const byoc_op_declaration_t declaration = {.name = "Chain",
                                             .domain = "com.chain",
                                             .signature = "(x: T[S...]) -> (y: T[S...]) where T = f32",
                                             .element = element.data};
  samples_t samples = {0};
  byoc_diag_t diag = {0};
  (void)alarm(SECONDS);
  byoc_test_ok(declare(&samples, &declaration, 1, &diag), &diag);
  (void)alarm(0);
  drop(&samples);
  byoc_string_deinit(&element);
}

// What an operator costs follows from the functions that its definition calls, not from names that begin like theirs.
static void test_called_functions_say_the_work(void **state) {
  (void)state;
  static const struct {
    const char *element;
    byoc_op_work_t work;
  } cases[] = {{"y = x + x", BYOC_WORK_USUAL},
               {"let expo = x * 2.0 let tanhx = expo y = tanhx - expo", BYOC_WORK_USUAL},
               {"y = (x + 1.0) * 2.0", BYOC_WORK_USUAL},
               {"y = exp(x)", BYOC_WORK_TRANSCENDENTAL},
               {"let logs = x y = 2.0 * (tanh(logs))", BYOC_WORK_TRANSCENDENTAL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const byoc_op_declaration_t declaration = {
        .name = "Work", .signature = "(x: f32[S...]) -> (y: f32[S...])", .element = cases[i].element};
    samples_t samples;
    byoc_diag_t diag = {0};
    byoc_test_ok(declare(&samples, &declaration, 1, &diag), &diag);
    assert_int_equal(samples.rows[0]->work, cases[i].work);
    drop(&samples);
  }
}

// ---- inference ----

static void test_types_are_inferred(void **state) {
  (void)state;
  static const infer_case_t cases[] = {
      {"", "%x : f16[2,N]", "com.acme::MyGelu@1(%x)", 1, "f16[2,N]"},
      {"", "%x : f32[*]", "com.acme::MyGelu@1(%x)", 1, "f32[*]"},
      {"", "%a : i8[4], %b : i8[N,1]", "com.acme::Blend@1(%a, %b)", 2, "i8[N,4], bool[N,4]"},
      {"", "%x : f64[3,N,M]", "com.acme::RowSum@1(%x) {step = 1}", 2, "f64[3,N], i64[1]"},
      {"", "%x : f32[N]", "com.acme::Take@1(%x) {step = 3, pads = [4]}", 1, "f32[floordiv(N, 3) + 2]"},
      {"", "%x : f32[2,N,M]", "com.acme::SumOver@1(%x) {axis = 1}", 1, "f32[2,M]"},
      {"", "%x : f32[2,N,M]", "com.acme::SumOver@1(%x) {axis = 3}", 1,
       "! operand 0 ('x') is f32[2,N,M], but has at least 1 dimension, and as many as attribute 'axis' says"},
      {"", "%x : f32[2,N,M]", "com.acme::SumOver@1(%x) {axis = -4}", 1, "! as many as attribute 'axis' says"},
      {"", "%x : f32[2,N]", "com.acme::Opaque@1(%x)", 1, "i32[N,N]"},
      {"", "%x : f32[3,3]", "com.acme::Trace@1(%x)", 1, "f32[]"},
      {"", "%x : f32[3,N]", "com.acme::Trace@1(%x)", 1, "f32[]"},
      {"", "%x : f32[3,4]", "com.acme::Trace@1(%x)", 1, "! operand 0: expected 3 in dimension 1, got f32[3,4]"},
      {"", "%x : i32[2]", "com.acme::MyGelu@1(%x)", 1,
       "! operand 0 ('x') is i32; the operator takes f32, f16, f64, bf16"},
      {"", "%x : f32[2,3], %b : f16[3]", "com.acme::RowSum@1(%x, %b) {step = 1}", 1,
       "! operand 1 ('bias') is f16, but 'T' is f32 for another operand"},
      {"", "%x : f32[2,3], %b : f32[4]", "com.acme::RowSum@1(%x, %b) {step = 1}", 1,
       "! operand 1: expected 3 in dimension 0, got f32[4]"},
      {"", "%x : f32[]", "com.acme::RowSum@1(%x) {step = 1}", 1,
       "! operand 0 ('x') is f32[], but has at least 1 dimension"},
      {"", "%x : f32[2,2]", "com.acme::Take@1(%x) {step = 1}", 1, "! operand 0 ('x') is f32[2,2], but has 1 dimension"},
      {"", "%x : f32[5,2,3,4], %y : f32[2,3,4]", "com.acme::Scores@1(%x, %y)", 1, "f32[5]"},
      {"", "%x : f32[5,2,3,4], %y : f32[2,4,3]", "com.acme::Scores@1(%x, %y)", 1,
       "! operand 1: expected 3 in dimension 1, got f32[2,4,3]"},
      {"", "%x : f32[5,2,3,4], %y : f32[2,3]", "com.acme::Scores@1(%x, %y)", 1,
       "! operand 1 ('y') has 2 dimensions 'B...', but operand 0 has 3"},
      {"", "%x : f32[3,2]", "com.acme::Opaque@1(%x)", 1, "! operand 0: expected 2 in dimension 0, got f32[3,2]"},
      {"", "%x : f32[2]", "com.acme::Take@1(%x) {step = 1, pads = [-9]}", 1,
       "! dimension 0 of result 0 ('y') would be -7"},
      {"", "%x : f32[N]", "com.acme::Take@1(%x) {step = 0, pads = [4]}", 1,
       "! dimension 0 of result 0 ('y') would be divided by a number below 1"},
      {"", "%x : seq<f32[2]>", "com.acme::MyGelu@1(%x)", 1, "! operand 0 ('x') is no tensor"},
      {"", "%x : f32[2]", "com.acme::Take@1(%x)", 1, "! attribute 'step' is required"},
      {"", "%x : f32[2]", "com.acme::Scaled@1(%x) {beta = 1.0}", 1, "! attribute 'beta' is not known"},
      {"", "%x : f32[2]", "com.acme::MyGelu@1(%x, %x)", 1, "! expected 1 operand, got 2"},
      {"", "%x : f32[2]", "com.acme::MyGello@1(%x)", 1, "! operator 'MyGello' is not known in domain 'com.acme'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) infer_run_case(&cases[i]);
}

// Memory comes in blocks. Each module leaves a little less of its block, so that each allocation of the inference once
// needs another block, and gets none.
static void test_inference_says_where_memory_is_out(void **state) {
  (void)state;
  enum { STEP = 16, STEPS = 512 }; // all that the first block has
  static const infer_case_t c = {"", "%x : f32[N]", "com.acme::Take@1(%x) {step = 3, pads = [4]}", 1, ""};
  char text[1024];
  int failed = 0;
  infer_write_case(&c, text, sizeof text);
  for (int steps = 0; steps < STEPS; ++steps) {
    byoc_failing_allocator_t failing = {.base = byoc_allocator_system(), .fail_at = -1};
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_test_ok(byoc_graph_parse(text, "case", byoc_failing_allocator(&failing), &diag, &module), &diag);
    for (int i = 0; i < steps; ++i) assert_non_null(byoc_arena_allocate(&module->arena, 1, STEP));
    failing.fail_at = failing.count;
    const byoc_status_t status = byoc_infer_module(module, &diag);
    const bool is_out = failing.count > failing.fail_at;
    if (status != (is_out ? BYOC_OUT_OF_MEMORY : BYOC_OK)) {
      fail_msg("after %d bytes: %s", steps * STEP, byoc_status_name(status));
    }
    failed += is_out;
    byoc_graph_module_destroy(module);
  }
  assert_true(failed > 0);
}

// ---- refusals ----

typedef struct lie_t {
  byoc_op_declaration_t declaration;
  const char *sentence;
} lie_t;

#define SAME "(x: T[S...]) -> (y: T[S...]) where T = f32 | f64"
#define ROWS "(x: T[N, M]) -> (y: T[N]) where T = f32 | f16"

static void test_wrong_declarations_are_refused(void **state) {
  (void)state;
  static const lie_t lies[] = {
      {{.domain = "com acme", .signature = SAME}, "'com acme', which cannot be a domain"},
      {{.domain = "byoc", .signature = SAME}, "the domain 'byoc' is byoc's own"},
      {{.domain = "ai.onnx", .signature = SAME}, "the domain 'ai.onnx' is byoc's own"},
      {{.name = "My Op", .signature = SAME}, "'com.acme::My Op', which cannot be an operator's name"},
      {{.since_version = -1, .signature = SAME}, "its version is -1, and versions start at 1"},
      {{.signature = SAME, .element = "y = x", .loops = "y[0] = x[0]"}, "two definitions, by elements and by loops"},
      {{.signature = SAME, .loops = "", .broadcasts = true}, "only an operator that is defined by elements broadcasts"},
      {{.domain = "ai.onnx.preview.training", .name = "Adam", .signature = SAME}, "which is byoc's own"},
      // signatures
      {{.signature = "(x: T[S...])"}, "its signature at column 13: expected '->'"},
      {{.signature = "(x: T[N]) -> (y: T[N])"}, "'T' of 'x' is neither an element type nor listed after `where`"},
      {{.signature = "(x: f32[N]) -> (x: f32[N])"}, "two values are called 'x'"},
      {{.signature = "(x: f32[N]) -> (y: f32[M])"},
       "'M' is neither a dimension of a required operand nor an attribute"},
      {{.signature = "(x: f32[N]) -> (y: f32[N...])"}, "no required operand has the dimensions 'N...' of result 'y'"},
      {{.signature = "(x: f32[N * 2]) -> (y: f32[N])"}, "a dimension of an operand is a number or a name"},
      {{.signature = "(x: f32[A..., B...]) -> (y: f32[A...])"}, "'x' has two rests"},
      {{.signature = "(x: f32[S..]) -> (y: f32[S...])"},
       "'S..' is no dimension; any number of dimensions is a name and three dots"},
      {{.signature = "(x: f32[A...axis, N]) -> (y: f32[A...])"}, "'axis' is no attribute that is an integer"},
      {{.signature = "(x: f32[A...alpha, N]) -> (y: f32[A...])", .attributes = alpha_attributes},
       "'alpha' is no attribute that is an integer"},
      {{.signature = "(x: f32[A...axis, N]) -> (y: f32[A...axis])", .attributes = axis_attributes},
       "a result names dimensions of operands"},
      {{.signature = "(a?: f32[N], b: f32[N]) -> (y: f32[N])"}, "'b' comes after an optional operand"},
      {{.signature = "(a?: f32[N]) -> (y: f32[N])"}, "'N' is neither a dimension of a required operand"},
      {{.signature = "(x: f32[N]) -> (y: T[N]) where T = f32 | f16"}, "no required operand has the element type 'T'"},
      {{.signature = "(x: T[N]) -> (y: T[N]) where T = f32 | str"}, "'str' is no element type that loops compute with"},
      {{.signature = "(x: T[N]) -> (y: T[N]) where T = f32, T = f16"}, "'T' is listed twice"},
      {{.signature = "(x: f32[x]) -> (y: f32[])"}, "'x' is a dimension and a value, too"},
      {{.signature = "(x: f32[N]) -> ()"}, "expected"},
      {{.signature = "(x: f32[N]) -> (y?: f32[N])"}, "results are not optional"},
      {{.signature = SAME, .commutes = true}, "it commutes, but does not have two operands"},
      {{.signature = "(x: f32[N], z?: f32[N]) -> (y: f32[N])", .commutes = true},
       "it commutes, but does not have two operands"},
      {{.signature = "(alpha: f32[]) -> (y: f32[])", .attributes = alpha_attributes},
       "'alpha' is a value and an attribute"},
      // elements
      {{.signature = ROWS, .element = "y = x"}, "all values have the form T[S...], but 'x' has not"},
      {{.signature = SAME, .element = "y = erff(x)"},
       "its element with T = f32 at column 5: no operator, variable or buffer 'erff'"},
      {{.signature = SAME, .element = "let z = x"}, "result 'y' gets no element"},
      {{.signature = SAME, .element = "y = lt(x, 0)"}, "'y' is f32 and gets bool"},
      {{.signature = SAME, .element = "y = x + cast(f32, x)"}, "its element with T = f64: 'add' combines f64 and f32"},
      {{.signature = SAME, .element = "y = select(x, x, 0)"}, "the condition of 'select' is f32 instead of bool"},
      {{.signature = SAME, .element = "serial i in 0 .. 3 { }"}, "anything else is for `loops`"},
      {{.signature = SAME, .element = "y = x[0]"}, "its element with T = f32"},
      {{.signature = SAME, .element = "y = x * beta"}, "no variable or buffer 'beta'"},
      {{.signature = SAME, .element = "y = x @"}, "its element with T = f32 at column"},
      {{.signature = "(x: i32[S...]) -> (y: i32[S...])", .element = "y = exp(x)"}, "'exp' takes floats, not i32"},
      {{.signature = "(x: i32[S...]) -> (y: i32[S...])", .element = "y = x * 0.5"},
       "the number 0.5 is used where i32 is expected"},
      // loops
      {{.signature = ROWS, .loops = "x[0] = 1.0"}, "operand 'x' is written"},
      {{.signature = ROWS, .loops = "y[0] = x"}, "its loops with T = f32"},
      {{.signature = ROWS, .loops = "y[x[0]] = 1.0"}, "an index of 'y' is f32 instead of i64"},
      {{.signature = ROWS, .loops = "let a = 1.0 a = 2.0"}, "'a' is made by `let` and never changes"},
      {{.signature = ROWS, .loops = "let N = 1"}, "'N' is defined twice"},
      {{.signature = ROWS, .loops = "y[0] = dim(\"N\")"}, "no operator, variable or buffer 'dim'"},
      {{.signature = ROWS, .loops = "serial i in 0 .. N {\n  y[i] = x[i, 0]\n}"}, "at line 2, column 13"},
      {{.signature = ROWS, .loops = "serial i in 0 .. N { parallel j in 0 .. M { y[i] = x[j] } }"},
       "parallel loop inside another statement"},
      {{.signature = ROWS, .loops = "var s = 0.0 parallel i in 0 .. N { s = s + x[i] }"},
       "iterations of a parallel or vector loop share a variable"},
      {{.signature = "(x: bool[N]) -> (y: bool[N])", .loops = "y[0] = add(x[0], x[1])"},
       "operator does not take such operands"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; ++i) {
    byoc_op_declaration_t declaration = lies[i].declaration;
    if (!declaration.name) declaration.name = "Lie";
    samples_t samples;
    byoc_diag_t diag = {0};
    byoc_status_t status = declare(&samples, &declaration, 1, &diag);
    if (status == BYOC_OK) fail_msg("not refused: %s", lies[i].sentence);
    if (!strstr(diag.message, lies[i].sentence)) {
      fail_msg("got      %s\n  expected %s", diag.message, lies[i].sentence);
    }
    byoc_arena_deinit(&samples.arena);
    assert_false(byoc_op_known("com.acme", "Lie"));
  }
}

static byoc_status_t leave_loop_open(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), byoc_loop_int(b, 4));
  byoc_lower_store(lower, node, 0, &i, byoc_lower_load(lower, node, 0, &i));
  return BYOC_OK;
}

// What a definition emits behind a loop that it forgot to end would be done in each iteration.
static void test_a_loop_that_is_left_open_is_refused(void **state) {
  (void)state;
  static const byoc_op_declaration_t declaration = {.domain = "com.acme",
                                                    .name = "Open",
                                                    .since_version = 1,
                                                    .signature = "(x: f32[4]) -> (y: f32[4])",
                                                    .loops = "serial i in 0 .. 4 { y[i] = x[i] }"};
  samples_t other = {.extension = {.name = "open", .version = "1", .path = "/open.so", .content = "1", .row_count = 1}};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_arena_init(&other.arena, byoc_allocator_system());
  byoc_test_ok(byoc_op_declare(&declaration, &other.extension, &other.arena, &diag, &other.rows[0]), &diag);
  ((byoc_op_t *)(uintptr_t)other.rows[0])->loops = leave_loop_open; // the arena's
  other.extension.rows = other.rows;
  byoc_test_ok(byoc_op_extend(&other.extension, &diag), &diag);
  byoc_test_ok(byoc_graph_parse("module {\n  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                                "    %y = com.acme::Open@1(%x) : f32[4]\n    return %y\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_error(byoc_kernel_lower_module(module, NULL, &diag), BYOC_INTERNAL, &diag,
                  "its definition leaves a loop open");
  byoc_graph_module_destroy(module);
  drop(&other);
}

static byoc_status_t lower_with(void *text, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_graph_parse(text, "test", allocator, &diag, &module);
  if (status == BYOC_OK) status = byoc_infer_module(module, &diag);
  if (status == BYOC_OK) status = byoc_kernel_lower_module(module, NULL, &diag);
  byoc_graph_module_destroy(module);
  return status;
}

// The map of known names grows while the definition is read.
static void test_definitions_survive_failing_allocations(void **state) {
  (void)state;
#define LETS(name) "let " name "0 = i let " name "1 = " name "0 + i let " name "2 = " name "1 + i\n"
  static const byoc_op_declaration_t many[] = {
      {.name = "Many",
       .signature = "(x: f32[N]) -> (y: f32[N])",
       .loops = "serial i in 0 .. N {\n" LETS("a") LETS("b") LETS("c") LETS("d") LETS("e") LETS("f")
           LETS("g") "y[i] = cast(f32, a2 + b2 + c2 + d2 + e2 + f2 + g2)\n}"}};
  static char text[] = "module {\n  func @main(%x : f32[7]) -> (%y : f32[7]) {\n"
                       "    %y = com.acme::Many@1(%x) : f32[7]\n    return %y\n  }\n}\n";
  samples_t other;
  byoc_diag_t diag = {0};
  byoc_test_ok(declare(&other, many, 1, &diag), &diag);
  byoc_test_each_allocation_fails(lower_with, text, true);
  drop(&other);
}

static void test_conflicts_name_both(void **state) {
  (void)state;
  samples_t other;
  byoc_diag_t diag = {0};
  byoc_test_ok(declare(&other, sample_declarations, 2, &diag), &diag); // the same file, once more
  drop(&other);
  assert_true(byoc_op_known("com.acme", "MyGelu"));
  // Another file.
  byoc_arena_init(&other.arena, byoc_allocator_system());
  other.extension = all.extension;
  other.extension.path = "/other.so";
  other.extension.content = "other 1";
  byoc_test_error(byoc_op_extend(&other.extension, &diag), BYOC_ALREADY_EXISTS, &diag,
                  "it declares the operator 'com.acme::MyGelu', which '/acme.so' declares too");
  byoc_arena_deinit(&other.arena);
}

// --prefer would not help: the user is told what does.
static void test_clashes_with_operators_of_byoc_say_what_to_do(void **state) {
  (void)state;
  static const byoc_op_declaration_t clash[] = {
      {.domain = "ai.onnx.ml", .name = "Scaler", .signature = "(x: f32[S...]) -> (y: f32[S...])", .element = "y = x"}};
  samples_t other;
  byoc_diag_t diag = {0};
  byoc_test_error(declare(&other, clash, 1, &diag), BYOC_INVALID_DATA, &diag,
                  "it declares the operator 'ai.onnx.ml::Scaler', which is byoc's own");
  assert_string_equal(diag.hint, "declare it in a domain of the plugin's own");
  drop(&other);
  assert_null(byoc_op_newest("ai.onnx.ml", "Scaler")->extension);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_declared_operators_are_in_the_table),
      cmocka_unit_test(test_called_functions_say_the_work),
      cmocka_unit_test(test_elements_are_computed),
      cmocka_unit_test(test_declared_elements_are_fused),
      cmocka_unit_test(test_broadcasting_and_types),
      cmocka_unit_test(test_loops_are_computed),
      cmocka_unit_test(test_sizes_by_attributes),
      cmocka_unit_test(test_known_choices_nest),
      cmocka_unit_test(test_types_are_inferred),
      cmocka_unit_test(test_inference_says_where_memory_is_out),
      cmocka_unit_test(test_an_axis_by_attribute),
      cmocka_unit_test(test_a_loop_that_is_left_open_is_refused),
      cmocka_unit_test(test_definitions_survive_failing_allocations),
      cmocka_unit_test(test_conflicts_name_both),
      cmocka_unit_test(test_clashes_with_operators_of_byoc_say_what_to_do),
      cmocka_unit_test(test_wrong_declarations_are_refused),
  };
  return cmocka_run_group_tests(tests, declare_samples, drop_samples);
}
