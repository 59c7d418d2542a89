// SPDX-License-Identifier: Apache-2.0
// Elements that operators limit (indices, lengths, divisors): a run that has others ends in an error that names the
// operator, the element and where it may lie; compiled and evaluated, with sizes that are known and with open ones.
#include "both_ways.h"
#include "core/runtime/check.h"

// ---- one model with many operators, each of which gets one wrong element ----

enum { MOST_NUMBERS = 4 };

// An operand that is limited: elements that fit, and one that does not.
typedef struct {
  const char *name;
  uint32_t rank;
  int64_t dims[2];
  byoc_dtype_t dtype;
  int64_t good[MOST_NUMBERS];
  int64_t at, bad;
  const char *said;
} case_t;

#define I64 BYOC_DTYPE_I64
#define I32 BYOC_DTYPE_I32

static const case_t cases[] = {
    {"gather",
     1,
     {2},
     I64,
     {1, -4},
     1,
     4,
     "Gather 'gather' (ai.onnx 13): operand 1, the indices: element 1 is 4; expected"
     " values in [-4, 3]"},
    {"elements",
     2,
     {1, 2},
     I32,
     {3, -4},
     0,
     -5,
     "GatherElements 'elements' (ai.onnx 13): operand 1, the indices: element 0"
     " is -5; expected values in [-4, 3]"},
    {"tuples",
     2,
     {1, 2},
     I64,
     {3, 1},
     1,
     2,
     "GatherND 'tuples' (ai.onnx 13): operand 1, the indices: element 1 is 2;"
     " expected values in [-2, 1]"},
    {"scatter",
     2,
     {1, 2},
     I64,
     {0, 3},
     0,
     4,
     "ScatterElements 'scatter' (ai.onnx 18): operand 1, the indices: element 0 is"
     " 4; expected values in [-4, 3]"},
    {"scatter_nd",
     2,
     {1, 1},
     I64,
     {-4},
     0,
     -5,
     "ScatterND 'scatter_nd' (ai.onnx 18): operand 1, the indices: element 0 is"
     " -5; expected values in [-4, 3]"},
    {"reverse",
     1,
     {2},
     I64,
     {4, 0},
     0,
     5,
     "ReverseSequence 'reverse' (ai.onnx 10): operand 1, the lengths of the"
     " sequences: element 0 is 5; expected values in [0, 4]"},
    {"labels",
     1,
     {4},
     I32,
     {0, 1, 7, 1},
     3,
     2,
     "NegativeLogLikelihoodLoss 'labels' (ai.onnx 13): operand 1, the labels:"
     " element 3 is 2; expected values in [0, 1]"},
    {"divisor",
     1,
     {2},
     I64,
     {3, -1},
     1,
     0,
     "Div 'divisor' (ai.onnx 14): operand 1, the divisor: element 1 is 0; it must"
     " not be 0"},
    {"modulus",
     1,
     {2},
     I32,
     {3, -1},
     0,
     0,
     "Mod 'modulus' (ai.onnx 13): operand 1, the divisor: element 0 is 0; it must"
     " not be 0"},
    {"axis",
     0,
     {1},
     I64,
     {-2},
     0,
     2,
     "CumSum 'axis' (ai.onnx 14): operand 1, the axes: element 0 is 2; expected values in"
     " [-2, 1]"},
};
enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

// `rows` is "4" or a symbol.
static void write_model(const char *rows, char text[4096]) {
  snprintf(text, 4096,
           "module {\n  constant @two : i64[] = [2]\n  func @main(%%x : f32[%s,2], %%gather : i64[2],"
           " %%elements : i32[1,2], %%tuples : i64[1,2], %%scatter : i64[1,2], %%scatter_nd : i64[1,1],"
           " %%reverse : i64[2], %%labels : i32[4], %%divisor : i64[2], %%modulus : i32[2], %%axis : i64[],"
           " %%u : f32[1,2]) -> (%%y : f32[], %%q : i64[2]) {\n"
           "    %%0 = Gather@13 \"gather\" (%%x, %%gather) : ?\n"
           "    %%1 = GatherElements@13 \"elements\" (%%x, %%elements) : ?\n"
           "    %%2 = GatherND@13 \"tuples\" (%%x, %%tuples) : ?\n"
           "    %%3 = ScatterElements@18 \"scatter\" (%%x, %%scatter, %%u) : ?\n"
           "    %%4 = ScatterND@18 \"scatter_nd\" (%%x, %%scatter_nd, %%u) : ?\n"
           "    %%5 = ReverseSequence@10 \"reverse\" (%%x, %%reverse) : ?\n"
           "    %%6 = NegativeLogLikelihoodLoss@13 \"labels\" (%%x, %%labels) {ignore_index = 7} : ?\n"
           "    %%7 = CumSum@14 \"axis\" (%%x, %%axis) : ?\n"
           "    %%8 = Div@14 \"divisor\" (%%gather, %%divisor) : ?\n    %%q = Mul@14(%%8, @two) : i64[2]\n"
           "    %%9 = Mod@13 \"modulus\" (%%modulus, %%modulus) : ?\n    %%10 = Cast@13(%%9) {to = 1} : ?\n"
           "    %%11 = Sum@13(%%3, %%4, %%5, %%7) : ?\n"
           "    %%12 = ReduceSum@13(%%0) {keepdims = 0} : ?\n    %%13 = ReduceSum@13(%%1) {keepdims = 0} : ?\n"
           "    %%14 = ReduceSum@13(%%2) {keepdims = 0} : ?\n    %%15 = ReduceSum@13(%%10) {keepdims = 0} : ?\n"
           "    %%16 = ReduceSum@13(%%11) {keepdims = 0} : ?\n"
           "    %%y = Sum@13(%%12, %%13, %%14, %%15, %%16, %%6) : f32[]\n    return %%y, %%q\n  }\n}\n",
           rows);
}

// The numbers of a case in its element type.
typedef struct {
  int64_t wide[MOST_NUMBERS];
  int32_t narrow[MOST_NUMBERS];
} numbers_t;

static void set_numbers(const case_t *c, bool is_bad, numbers_t *out) {
  for (int64_t i = 0; i < MOST_NUMBERS; ++i) {
    out->wide[i] = is_bad && i == c->at ? c->bad : c->good[i];
    out->narrow[i] = (int32_t)out->wide[i];
  }
}

static void each_operator_refuses_what_is_outside(void **state) {
  (void)state;
  static const char *const rows[] = {"4", "N"};
  static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, u[2] = {1, 1};
  static const int64_t x_dims[2] = {4, 2}, u_dims[2] = {1, 2};
  for (size_t r = 0; r < 2; ++r) {
    char text[4096];
    numbers_t numbers[CASE_COUNT];
    byoc_argument_t inputs[CASE_COUNT + 2] = {floats(2, x_dims, x)}, results[MAX_RESULTS];
    model_t m;
    write_model(rows[r], text);
    open_model(text, &m);
    for (size_t i = 0; i < CASE_COUNT; ++i) {
      const case_t *c = &cases[i];
      set_numbers(c, false, &numbers[i]);
      const void *data = c->dtype == I32 ? (const void *)numbers[i].narrow : numbers[i].wide;
      inputs[1 + i] = tensor(c->dtype, c->rank, c->dims, data);
    }
    inputs[1 + CASE_COUNT] = floats(2, u_dims, u);
    run(&m, inputs, results);
    for (size_t i = 0; i < CASE_COUNT; ++i) {
      set_numbers(&cases[i], true, &numbers[i]);
      run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, cases[i].said);
      set_numbers(&cases[i], false, &numbers[i]);
    }
    run(&m, inputs, results);
    close_model(&m);
  }
}

// ---- where indices come from ----

// Runs a model of an i64[2] `%i` with good indices and with bad ones.
static void check_computed(const char *text, const int64_t good[2], const int64_t bad[2], const char *said) {
  static const int64_t dims[1] = {2}, x_dims[1] = {3};
  static const float x[3] = {5, 6, 7};
  const byoc_argument_t fits[] = {floats(1, x_dims, x), tensor(I64, 1, dims, good)};
  const byoc_argument_t beyond[] = {floats(1, x_dims, x), tensor(I64, 1, dims, bad)};
  byoc_argument_t results[MAX_RESULTS];
  model_t m;
  open_model(text, &m);
  run(&m, fits, results);
  run_fails(&m, beyond, BYOC_INVALID_ARGUMENT, said);
  run(&m, fits, results);
  close_model(&m);
}

static void indices_made_in_the_model_are_checked(void **state) {
  (void)state;
  const int64_t good[2] = {0, 1}, bad[2] = {0, 2};
  const char *said = "Gather 'pick' (ai.onnx 13): operand 1, the indices: element 1 is 3; expected values in [-3, 2]";
  check_computed("module {\n  constant @one : i64[] = [1]\n" MAIN_OF(
                     "(%x : f32[3], %i : i64[2]) -> (%y : f32[2])",
                     "    %j = Add@14(%i, @one) : i64[2]\n    %g = Gather@13 \"pick\" (%x, %j) : f32[2]\n"
                     "    %y = Neg@13(%g) : f32[2]\n    return %y"),
                 good, bad, said);
  check_computed("module {\n  constant @one : i64[] = [1]\n  constant @turns : i64[] = [2]\n" MAIN_OF(
                     "(%x : f32[3], %i : i64[2]) -> (%y : f32[2,2])",
                     "    %last, %y = Loop@16(@turns, _, %x) [body (%k : i64[], %go : bool[], %s : f32[3]) -> (bool[], "
                     "f32[3], f32[2]) {\n        %j = Add@14(%i, @one) : i64[2]\n"
                     "        %g = Gather@13 \"pick\" (%s, %j) : f32[2]\n        %t = Neg@13(%s) : f32[3]\n"
                     "        return %go, %t, %g\n      }] : f32[3], f32[2,2]\n    return %y"),
                 good, bad, said);
}

// A division whose divisors are all known not to be 0, and a look-up by what ArgMax gives, ask nothing of a run.
static void what_cannot_be_outside_is_not_checked(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "    %a = ArgMax@13(%t) {axis = 1, keepdims = 0} : i64[2]\n    %y = Gather@13(%x, %a) : f32[2]\n",
      "    %n = NonZero@13(%x) : ?\n    %g = GatherElements@13(%t, %n) {axis = 1} : ?\n"
      "    %y = Slice@13(%x, @at, @to) : f32[2]\n",
      "    %m = Mod@13(%i, @three) : i64[2]\n    %y = Gather@13(%x, %m) : f32[2]\n",
      "    %c = Clip@13(%i, @one, @two) : i64[2]\n    %d = Div@14(%i, %c) : i64[2]\n    %y = Cast@13(%d) {to = 1} : "
      "f32[2]\n",
  };
  for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); ++i) {
    char text[1024];
    byoc_diag_t diag = {0};
    model_t m;
    snprintf(text, sizeof(text),
             "module {\n  constant @one : i64[] = [1]\n  constant @two : i64[] = [2]\n  constant @three : i64[] = [3]\n"
             "  constant @at : i64[1] = [0]\n  constant @to : i64[1] = [2]\n"
             "  func @main(%%x : f32[3], %%t : f32[2,3], %%i : i64[2]) -> (%%y : f32[2]) {\n%s    return %%y\n  }\n}\n",
             bodies[i]);
    byoc_test_ok(lower(text, &diag, &m), &diag);
    for (const byoc_host_instruction_t *at = m.program->body.first; at != NULL; at = at->next) {
      if (at->symbol != NULL && strcmp(at->symbol, BYOC_CHECK_RANGE) == 0) fail_msg("model %zu has a check", i);
    }
    close_model(&m);
  }
}

// ---- other ways ----

static void clamped_indices_take_the_nearest_element(void **state) {
  (void)state;
  static const int64_t dims[1] = {2}, x_dims[1] = {3}, i[2] = {9, -9}, zero[2] = {0, 3};
  static const float x[3] = {5, 6, 7};
  const byoc_argument_t inputs[] = {floats(1, x_dims, x), tensor(I64, 1, dims, i), tensor(I64, 1, dims, zero)};
  byoc_argument_t results[MAX_RESULTS];
  model_t m;
  open_model("module {indices = \"clamp\"} {\n  constant @c : i64[1] = [8]\n" MAIN_OF(
                 "(%x : f32[3], %i : i64[2], %d : i64[2]) -> (%y : f32[2], %z : f32[1], %q : i64[2])",
                 "    %y = Gather@13(%x, %i) : f32[2]\n    %z = Gather@13(%x, @c) : f32[1]\n"
                 "    %q = Div@14(%i, %d) : i64[2]\n    return %y, %z, %q"),
             &m);
  run(&m, inputs, results);
  assert_true(at(&results[0], 0) == 7 && at(&results[0], 1) == 5 && at(&results[1], 0) == 7);
  assert_int_equal(((const int64_t *)results[2].data)[0], 0);
  assert_int_equal(((const int64_t *)results[2].data)[1], -3);
  close_model(&m);
}

// The least number divided by -1 wraps, and shifts by the width and more give 0: both have a value in each run.
static void other_integers_keep_their_values(void **state) {
  (void)state;
  static const int64_t dims[1] = {2}, a[2] = {INT64_MIN, 7}, b[2] = {-1, -2};
  static const uint8_t s[2] = {1, 255}, by[2] = {8, 200};
  const byoc_argument_t inputs[] = {tensor(I64, 1, dims, a), tensor(I64, 1, dims, b), tensor(BYOC_DTYPE_U8, 1, dims, s),
                                    tensor(BYOC_DTYPE_U8, 1, dims, by)};
  byoc_argument_t results[MAX_RESULTS];
  model_t m;
  open_model(MAIN("(%a : i64[2], %b : i64[2], %s : u8[2], %by : u8[2]) -> (%q : i64[2], %r : i64[2], %t : u8[2])",
                  "    %q = Div@14(%a, %b) : i64[2]\n    %r = Mod@13(%a, %b) : i64[2]\n"
                  "    %t = BitShift@11(%s, %by) {direction = \"LEFT\"} : u8[2]\n    return %q, %r, %t"),
             &m);
  run(&m, inputs, results);
  const int64_t *q = results[0].data, *r = results[1].data;
  const uint8_t *t = results[2].data;
  assert_true(q[0] == INT64_MIN && q[1] == -3 && r[0] == 0 && r[1] == -1 && t[0] == 0 && t[1] == 0);
  close_model(&m);
}

// Where there is nothing to divide, no divisor is used.
static void nothing_is_divided_by_zero(void **state) {
  (void)state;
  static const int64_t none[2] = {0, 2}, one[2] = {1, 2}, dims[1] = {2}, a[2] = {4, 6}, d[2] = {2, 0};
  byoc_argument_t results[MAX_RESULTS];
  model_t m;
  open_model(MAIN("(%a : i64[N,2], %d : i64[2]) -> (%q : i64[N,2])",
                  "    %q = Div@14 \"part\" (%a, %d) : i64[N,2]\n    return %q"),
             &m);
  const byoc_argument_t empty[] = {tensor(I64, 2, none, a), tensor(I64, 1, dims, d)};
  const byoc_argument_t row[] = {tensor(I64, 2, one, a), tensor(I64, 1, dims, d)};
  run(&m, empty, results);
  run_fails(&m, row, BYOC_INVALID_ARGUMENT, "Div 'part' (ai.onnx 14): operand 1, the divisor: element 1 is 0");
  close_model(&m);
}

// ---- sizes that are data ----

static void grids_need_a_matrix_each(void **state) {
  (void)state;
  static const char *const lengths[] = {"4", "K"};
  for (size_t i = 0; i < 2; ++i) {
    static const int64_t t_dims[3] = {2, 2, 3}, s_dims[1] = {4};
    static const float theta[12] = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0};
    int64_t sizes[4] = {2, 1, 2, 2};
    char text[512];
    byoc_argument_t results[MAX_RESULTS];
    model_t m;
    snprintf(text, sizeof(text),
             MAIN("(%%t : f32[2,2,3], %%s : i64[%s]) -> (%%y : f32[A,B,C,2])",
                  "    %%y = AffineGrid@20(%%t, %%s) : f32[A,B,C,2]\n    return %%y"),
             lengths[i]);
    open_model(text, &m);
    const byoc_argument_t inputs[] = {floats(3, t_dims, theta), tensor(I64, 1, s_dims, sizes)};
    run(&m, inputs, results);
    sizes[0] = 3;
    run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 0 of operand 0 't' is 2 and");
    sizes[0] = 1;
    run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 0 of operand 0 't' is 2 and");
    close_model(&m);
  }
}

// The number of sizes is open, too: reading went on behind the operand.
static void expansion_to_a_list_of_open_length(void **state) {
  (void)state;
  static const int64_t x_dims[1] = {3}, s_dims[1] = {1}, good[1] = {3}, bad[1] = {5};
  static const float x[3] = {1, 2, 3};
  byoc_argument_t results[MAX_RESULTS];
  model_t m;
  open_model(MAIN("(%x : f32[3], %s : i64[K]) -> (%y : f32[M])", "    %y = Expand@13(%x, %s) : f32[M]\n    return %y"),
             &m);
  const byoc_argument_t fits[] = {floats(1, x_dims, x), tensor(I64, 1, s_dims, good)};
  const byoc_argument_t larger[] = {floats(1, x_dims, x), tensor(I64, 1, s_dims, bad)};
  run(&m, fits, results);
  run_fails(&m, larger, BYOC_INVALID_ARGUMENT, "dimension 0 of operand 0 'x' is 3 and the size that is asked for is 5");
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_operator_refuses_what_is_outside),
      cmocka_unit_test(indices_made_in_the_model_are_checked),
      cmocka_unit_test(what_cannot_be_outside_is_not_checked),
      cmocka_unit_test(clamped_indices_take_the_nearest_element),
      cmocka_unit_test(other_integers_keep_their_values),
      cmocka_unit_test(nothing_is_divided_by_zero),
      cmocka_unit_test(grids_need_a_matrix_each),
      cmocka_unit_test(expansion_to_a_list_of_open_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
