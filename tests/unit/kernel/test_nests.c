// SPDX-License-Identifier: Apache-2.0
// Special loop nests, interpreted and compiled, against loops written out here: tiled transpositions, reducing loops,
// results with two elements per byte, runs of elements, sums in registers.
#include "tests/unit/kernel/kernel_support.h"

#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/kernel/lower_module.h"

// Lowers `text` to one kernel of that name and calls it both ways; `check` sees each result.
typedef void (*check_t)(const float *x, const float *y, const void *expected);

static void run_kernel(const char *text, const char *name, DLTensor x, DLTensor y, check_t check,
                       const void *expected) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_graph_parse(text, "test.ir", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(module, NULL, &diag), &diag);
  const byoc_node_t *call = byoc_graph_module_main(module)->body->first;
  assert_non_null(call->callee);
  assert_null(call->next);
  assert_string_equal(strchr(call->callee->name + strlen("byoc_k"), '_') + 1, name);
  const byoc_loop_kernel_t *kernel = call->callee->kernel;
  void *library = test_load_kernels(&kernel, 1, "cc", "-O2");
  byoc_interpreter_t *interpreter;
  byoc_test_ok(byoc_interpreter_create(kernel, byoc_allocator_system(), &diag, &interpreter), &diag);
  for (int way = 0; way < 2; ++way) {
    const DLTensor tensors[] = {x, y};
    memset(y.data, 0xA5, (size_t)test_element_count(&y) * sizeof(float));
    byoc_packed_function_t function = way ? test_find(library, kernel->name) : NULL;
    assert_int_equal(test_call(function, interpreter, tensors, 1, 1), BYOC_OK);
    check(x.data, y.data, expected);
  }
  byoc_interpreter_destroy(interpreter);
  dlclose(library);
  byoc_graph_module_destroy(module);
}

// Checks that the C of the first kernel of `text` contains `part`.
static void expect_emitted(const char *text, const char *part) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_string_t emitted;
  byoc_string_init(&emitted, byoc_allocator_system());
  byoc_test_ok(byoc_graph_parse(text, "test.ir", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(module, NULL, &diag), &diag);
  const byoc_node_t *call = byoc_graph_module_main(module)->body->first;
  while (call->callee == NULL) call = call->next; // what reads the sizes of open dimensions
  assert_int_equal(byoc_kernel_emit_c((const byoc_loop_kernel_t *[]){call->callee->kernel}, 1, &emitted), BYOC_OK);
  if (strstr(emitted.data, part) == NULL) fail_msg("no '%s' in\n%s", part, emitted.data);
  byoc_string_deinit(&emitted);
  byoc_graph_module_destroy(module);
}

// ---- transpositions ----

typedef struct transpose_t {
  int64_t dims[4];
  int32_t perm[4];
} transpose_t;

static void check_transpose(const float *x, const float *y, const void *expected) {
  const transpose_t *t = expected;
  int64_t strides[4], at[4], place = 0;
  for (int d = 3, stride = 1; d >= 0; stride *= (int)t->dims[d--]) strides[d] = stride;
  for (at[0] = 0; at[0] < t->dims[t->perm[0]]; ++at[0])
    for (at[1] = 0; at[1] < t->dims[t->perm[1]]; ++at[1])
      for (at[2] = 0; at[2] < t->dims[t->perm[2]]; ++at[2])
        for (at[3] = 0; at[3] < t->dims[t->perm[3]]; ++at[3], ++place) {
          int64_t from = 0;
          for (int d = 0; d < 4; ++d) from += at[d] * strides[t->perm[d]];
          if (y[place] != -x[from]) fail_msg("element %lld: %g, not %g", (long long)place, y[place], -x[from]);
        }
}

// With an operator after it, which is computed as its epilogue.
static void transpositions_in_tiles(void **state) {
  (void)state;
  static const transpose_t cases[] = {
      {{1, 1, 64, 48}, {0, 1, 3, 2}},  // whole squares
      {{1, 1, 67, 130}, {0, 1, 3, 2}}, // squares cut at both edges, more than one tile
      {{2, 3, 20, 40}, {0, 2, 3, 1}},  // too narrow for squares
      {{2, 40, 6, 9}, {0, 2, 3, 1}},   // two axes walked as one
      {{2, 17, 5, 33}, {0, 3, 1, 2}},  {{3, 16, 20, 18}, {3, 2, 1, 0}},
      {{2, 24, 40, 8}, {0, 2, 1, 3}}, // runs stay whole
      {{9, 10, 11, 12}, {2, 1, 0, 3}}, {{1, 8, 1, 300}, {3, 2, 1, 0}},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const transpose_t *t = &cases[i];
    int64_t dims[4], x_dims[4], count = 1;
    for (int d = 0; d < 4; ++d) dims[d] = t->dims[t->perm[d]], x_dims[d] = t->dims[d], count *= t->dims[d];
    float *x = malloc((size_t)count * sizeof(*x)), *y = malloc((size_t)count * sizeof(*y));
    assert_true(x && y);
    for (int64_t k = 0; k < count; ++k) x[k] = (float)k;
    char text[512];
    snprintf(text, sizeof(text),
             "module {opset_import. = 17} { func @main(%%x : f32[%lld,%lld,%lld,%lld]) -> (%%y : ?) {"
             " %%t = Transpose@13(%%x) {perm = [%d, %d, %d, %d]} : ? %%y = Neg@13(%%t) : ? return %%y } }",
             (long long)x_dims[0], (long long)x_dims[1], (long long)x_dims[2], (long long)x_dims[3], t->perm[0],
             t->perm[1], t->perm[2], t->perm[3]);
    run_kernel(text, "transpose_neg", (DLTensor){.data = x, .ndim = 4, .shape = x_dims},
               (DLTensor){.data = y, .ndim = 4, .shape = dims}, check_transpose, t);
    free(x), free(y);
  }
}

static void squares_of_f16_are_moved_as_bits(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { func @main(%x : f16[64,80]) -> (%y : ?) {"
                 " %y = Transpose@13(%x) {perm = [1, 0]} : ? return %y } }",
                 "uint16_t even");
}

// ---- reductions ----

enum { ROWS = 6, COLUMNS = 101 };

// Rows 0 and 1 hold a NaN, row 2 nothing but -inf, row 3 infinities of both signs.
static void fill_rows(float *x) {
  byoc_test_random_t random = {5};
  for (int i = 0; i < ROWS * COLUMNS; ++i) x[i] = byoc_test_float(&random);
  x[0] = NAN;
  x[COLUMNS + 97] = -NAN;
  for (int i = 0; i < COLUMNS; ++i) x[2 * COLUMNS + i] = -INFINITY;
  x[3 * COLUMNS + 5] = INFINITY, x[3 * COLUMNS + 9] = -INFINITY;
}

static void check_rows(const float *x, const float *y, const void *expected) {
  const char *op = expected;
  for (int row = 0; row < ROWS; ++row) {
    double sum = 0, most = -INFINITY, least = INFINITY;
    for (const float *at = x + row * COLUMNS; at < x + (row + 1) * COLUMNS; ++at) {
      sum += (double)*at;
      most = isnan(*at) || isnan(most) ? NAN : fmax(most, (double)*at);
      least = isnan(*at) || isnan(least) ? NAN : fmin(least, (double)*at);
    }
    double value = strcmp(op, "ReduceMax") == 0 ? most : strcmp(op, "ReduceMin") == 0 ? least : sum;
    bool same = isnan(value) ? isnan(y[row]) : value == (double)y[row] || fabs((double)y[row] - value) <= 1e-4;
    if (!same) fail_msg("%s, row %d: %g, not %g", op, row, y[row], value);
  }
}

static void rows_are_folded(void **state) {
  (void)state;
  static const char *const ops[] = {"ReduceMax", "ReduceMin", "ReduceSum"};
  static const char *const names[] = {"reducemax", "reducemin", "reducesum"};
  float x[ROWS * COLUMNS], y[ROWS];
  int64_t x_dims[] = {ROWS, COLUMNS}, y_dims[] = {ROWS};
  fill_rows(x);
  for (int i = 0; i < 3; ++i) {
    char text[512];
    snprintf(text, sizeof(text),
             "module {opset_import. = 11} { func @main(%%x : f32[%d,%d]) -> (%%y : ?) {"
             " %%y = %s@11(%%x) {axes = [1], keepdims = 0} : ? return %%y } }",
             ROWS, COLUMNS, ops[i]);
    run_kernel(text, names[i], (DLTensor){.data = x, .ndim = 2, .shape = x_dims},
               (DLTensor){.data = y, .ndim = 1, .shape = y_dims}, check_rows, ops[i]);
  }
}

// The iterations of a loop that reduces may share only what it folds into.
static void reducing_loops_are_checked(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  for (int folds = 0; folds < 2; ++folds) {
    byoc_loop_builder_t b;
    byoc_loop_builder_init(&b, &arena, "k");
    byoc_dim_t dims[] = {byoc_dim_constant(8)};
    byoc_type_t type = {.kind = BYOC_TYPE_TENSOR, .dtype = BYOC_DTYPE_F32, .rank = 1, .dims = dims};
    const byoc_loop_buffer_t *x = byoc_loop_parameter(&b, BYOC_LOOP_BUFFER_INPUT, "x", &type);
    const byoc_loop_expr_t *sum = byoc_loop_mutable(&b, "sum", byoc_loop_const(&b, BYOC_DTYPE_F32, 0.0));
    const byoc_loop_expr_t *i = byoc_loop_for(&b, BYOC_LOOP_REDUCE, "i", byoc_loop_int(&b, 0), byoc_loop_int(&b, 8));
    const byoc_loop_expr_t *term = byoc_loop_load(&b, x, i);
    byoc_loop_assign(&b, sum, folds ? BYOC_LADD(&b, sum, term) : BYOC_LSUB(&b, term, sum));
    byoc_loop_end(&b);
    assert_false(b.failed);
    byoc_diag_t diag = {0};
    byoc_status_t status = byoc_loop_verify(b.kernel, &diag);
    if (folds)
      byoc_test_ok(status, &diag);
    else
      byoc_test_error(status, BYOC_INTERNAL, &diag, "do not fold into: 'sum");
    byoc_loop_builder_deinit(&b);
  }
  byoc_arena_deinit(&arena);
}

// ---- packed results ----

enum { NIBBLES = 5 * 67 }; // an odd number, in more than one strip

static void check_nibbles(const float *x, const float *y, const void *expected) {
  const uint8_t *bytes = (const uint8_t *)y;
  (void)expected;
  for (int i = 0; i < NIBBLES; ++i) {
    int value = (int)x[i];
    int stored = bytes[i / 2] >> (i % 2 * 4) & 15;
    if (stored != (value & 15)) fail_msg("element %d: %d, not %d", i, stored, value & 15);
  }
}

// Two elements share a byte, the low one first; of numbers out of range the lowest bits count.
static void nibbles_are_packed(void **state) {
  (void)state;
  float x[NIBBLES], y[NIBBLES];
  int64_t dims[] = {5, 67};
  for (int i = 0; i < NIBBLES; ++i) x[i] = (float)(i % 23 - 11);
  run_kernel("module {opset_import. = 21} { func @main(%x : f32[5,67]) -> (%y : ?) {"
             " %y = Cast@21(%x) {to = 22} : ? return %y } }",
             "cast", (DLTensor){.data = x, .ndim = 2, .shape = dims}, (DLTensor){.data = y, .ndim = 2, .shape = dims},
             check_nibbles, NULL);
}

// ---- runs ----

enum { RUN_ROWS = 9, RUN_FROM = 120, RUN_LENGTH = 67, RUN_FIRST = 5 };

static void check_runs(const float *x, const float *y, const void *expected) {
  (void)expected;
  for (int r = 0; r < RUN_ROWS; ++r) {
    const float *from = &x[r * RUN_FROM + RUN_FIRST], *row = &y[r * RUN_LENGTH];
    if (memcmp(from, row, RUN_LENGTH * sizeof(*row)) != 0) fail_msg("row %d is another one", r);
  }
}

enum { SIDE = 40 };

static void check_square(const float *x, const float *y, const void *expected) {
  (void)expected;
  for (int i = 0; i < SIDE; ++i)
    for (int j = 0; j < SIDE; ++j) {
      double sum = 0;
      for (int k = 0; k < SIDE; ++k) sum += (double)x[i * SIDE + k] * x[k * SIDE + j];
      if (fabs(sum - y[i * SIDE + j]) > 1e-4) fail_msg("element %d, %d: %g, not %g", i, j, y[i * SIDE + j], sum);
    }
}

// A register tile's sums are written in vectors, in the emitted C.
static void sums_are_vectors(void **state) {
  (void)state;
  static const char *const text = "module {opset_import. = 17} { func @main(%x : f32[40,40]) -> (%y : ?) {"
                                  " %y = MatMul@13(%x, %x) : ? return %y } }";
  float x[SIDE * SIDE], y[SIDE * SIDE];
  int64_t dims[] = {SIDE, SIDE};
  for (int i = 0; i < SIDE * SIDE; ++i) x[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
  run_kernel(text, "matmul", (DLTensor){.data = x, .ndim = 2, .shape = dims},
             (DLTensor){.data = y, .ndim = 2, .shape = dims}, check_square, NULL);
  expect_emitted(text, "*(byoc_lanes_f32_t *)&sum");
}

// Rows that are cut out of rows are copied run by run; the emitted C uses the library's memcpy.
static void runs_are_copied(void **state) {
  (void)state;
  static const char *const text =
      "module {opset_import. = 17} { constant @from : i64[1] = [5] constant @to : i64[1] = [72]"
      " constant @axis : i64[1] = [1] func @main(%x : f32[9,120]) -> (%y : ?) {"
      " %y = Slice@13(%x, @from, @to, @axis) : ? return %y } }";
  float x[RUN_ROWS * RUN_FROM], y[RUN_ROWS * RUN_LENGTH];
  int64_t x_dims[] = {RUN_ROWS, RUN_FROM}, y_dims[] = {RUN_ROWS, RUN_LENGTH};
  for (int i = 0; i < RUN_ROWS * RUN_FROM; ++i) x[i] = (float)i;
  run_kernel(text, "slice", (DLTensor){.data = x, .ndim = 2, .shape = x_dims},
             (DLTensor){.data = y, .ndim = 2, .shape = y_dims}, check_runs, NULL);
  expect_emitted(text, "  byoc_copy(&out0[");
}

// Dimensions that are walked in the same order are one loop, which is shared among threads where that is worth it.
static void large_loops_are_shared(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[64,4,1024]) -> (%y : ?) {"
                 " %y = Relu@14(%x) : ? return %y } }",
                 "parallel_for(call->runtime->self, byoc_k0_relu_loop_0, &args_0, 262144, ");
}

// Open dimensions that are walked in the same order are one loop, too, unless an operand may be broadcast along one.
static void open_dimensions_are_one_loop(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[n,4,h,w], %z : f32[n,4,h,w]) -> (%y : ?) {"
                 " %y = Add@14(%x, %z) : ? return %y } }",
                 "out0[i0] = in0[i0] + in1[i0];");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[n,4,h,w], %z : f32[n,4,1,1]) -> (%y : ?) {"
                 " %y = Add@14(%x, %z) : ? return %y } }",
                 "+ in1[p0];");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[h,w], %z : f32[h,v]) -> (%y : ?) {"
                 " %y = Add@14(%x, %z) : ? return %y } }",
                 "for (int64_t p0 = begin");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[n,4,h,w], %s : f32[4]) -> (%y : ?) {"
                 " %y = BatchNormalization@15(%x, %s, %s, %s, %s) : ? return %y } }",
                 "< dim_1 * dim_2; ++");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[n,4,h,w], %z : f32[n,5,h,w]) -> (%y : ?) {"
                 " %y = Concat@13(%x, %z) {axis = 1} : ? return %y } }",
                 "j3 < dim_1 * dim_2; ++j3");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[n,4,h,w]) -> (%y : ?) {"
                 " %y = GlobalAveragePool@1(%x) : ? return %y } }",
                 "dim_1 * dim_2; ++r");
}

// Some microseconds of rows are; as much work in one vector loop takes a quarter of the time.
static void test_small_nests_are_shared(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[1,4,17,392]) -> (%y : ?) {"
                 " %y = Transpose@13(%x) {perm = [0, 2, 1, 3]} : ? return %y } }",
                 "parallel_for(call->runtime->self, ");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[100,128], %z : f32[100,1]) -> (%y : ?) {"
                 " %y = Add@14(%x, %z) : ? return %y } }",
                 "parallel_for(call->runtime->self, byoc_k0_add_loop_0, &args_0, 100, ");
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[4096]) -> (%y : ?) {"
                 " %y = Relu@14(%x) : ? return %y } }",
                 "< 4096; ++");
}

// An axis of one element that comes first is nobody's loop, and does not hide the squares.
static void squares_are_found_behind_a_flat_axis(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[200,300,1]) -> (%y : ?) {"
                 " %y = Transpose@13(%x) {perm = [2, 1, 0]} : ? return %y } }",
                 "float even");
}

// Compilers may reorder the sums that are folded, and are told which ones.
static void folds_are_named(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { func @main(%x : f32[8,100]) -> (%y : ?) {"
                 " %y = ReduceSum@11(%x) {axes = [1]} : ? return %y } }",
                 "BYOC_REDUCE(reduction(+ : folded");
}

// Products of bytes use the instruction for them, whichever side has the signed ones.
static void products_of_bytes_are_dots(void **state) {
  (void)state;
  expect_emitted("module {opset_import. = 17} { constant @w : i8[64,48] = splat 3"
                 " func @main(%x : u8[16,64]) -> (%y : ?) { %y = MatMulInteger@10(%x, @w) : ? return %y } }",
                 "byoc_dot4_unsigned(&");
  // Four bytes of a row are loaded as one word, of u8 and of i8.
  expect_emitted("module {opset_import. = 17} { constant @w : i8[64,48] = splat 3"
                 " func @main(%x : u8[16,64]) -> (%y : ?) { %y = MatMulInteger@10(%x, @w) : ? return %y } }",
                 "byoc_load_word((const uint8_t *)&");
  expect_emitted("module {opset_import. = 17} { constant @w : u8[64,48] = splat 3"
                 " func @main(%x : i8[16,64]) -> (%y : ?) { %y = MatMulInteger@10(%x, @w) : ? return %y } }",
                 "byoc_load_word((const uint8_t *)&");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transpositions_in_tiles),
      cmocka_unit_test(squares_of_f16_are_moved_as_bits),
      cmocka_unit_test(rows_are_folded),
      cmocka_unit_test(reducing_loops_are_checked),
      cmocka_unit_test(nibbles_are_packed),
      cmocka_unit_test(runs_are_copied),
      cmocka_unit_test(sums_are_vectors),
      cmocka_unit_test(large_loops_are_shared),
      cmocka_unit_test(open_dimensions_are_one_loop),
      cmocka_unit_test(test_small_nests_are_shared),
      cmocka_unit_test(products_of_bytes_are_dots),
      cmocka_unit_test(squares_are_found_behind_a_flat_axis),
      cmocka_unit_test(folds_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
