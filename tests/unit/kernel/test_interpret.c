// SPDX-License-Identifier: Apache-2.0
// The interpreter on kernels written as text: indices out of range, run-time dimensions, control flow in lanes, the
// accuracy of exp, tanh and erf; and the emitted C of the same kernels.
#include "tests/unit/kernel/kernel_support.h"

#include "core/ir/loop_text.h"

typedef struct fixture_t {
  byoc_arena_t arena;
  byoc_loop_kernel_t *kernel;
  byoc_interpreter_t *interpreter;
} fixture_t;

static void begin(fixture_t *f, const char *text) {
  byoc_diag_t diag = {0};
  byoc_lexer_t lexer;
  byoc_arena_init(&f->arena, byoc_allocator_system());
  byoc_lexer_init(&lexer, text, "k.ir", &f->arena, &diag);
  byoc_test_ok(byoc_loop_kernel_parse(&lexer, &f->arena, &f->kernel), &diag);
  byoc_test_ok(byoc_interpreter_create(f->kernel, byoc_allocator_system(), &diag, &f->interpreter), &diag);
}

static void end(fixture_t *f) {
  byoc_interpreter_destroy(f->interpreter);
  byoc_arena_deinit(&f->arena);
}

static void out_of_range_indices_are_named(void **state) {
  (void)state;
  static const struct {
    const char *body, *message;
  } cases[] = {
      {"y[4] = 1.0", "kernel 'k': index 4 of buffer 'y' is outside [0, 4)"},
      {"y[0] = x[-1]", "index -1 of buffer 'x'"},
      {"vector i in 0 .. 4 { y[i] = x[i + 1] }", "index 4 of buffer 'x'"},
      {"vector i in 0 .. 4 { y[i] = x[i * i] }", "index 4 of buffer 'x'"},
      {"vector i in 0 .. 4 { y[3 - i * 2] = 0.0 }", "index -3 of buffer 'y'"},
      {"local t : f32[2] vector i in 0 .. 4 { y[i] = t[i] }", "of buffer 't' is outside [0, 2)"},
      {"vector i in 0 .. 4 { local t : f32[2] t[cast(i64, x[i])] = 0.0 y[i] = t[0] }", "index 9 of buffer 't'"},
      {"var s : f32 = 0.0 serial i in 0 .. 9 { s = s + x[i] } y[0] = s", "index 8 of buffer 'x'"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    char text[512];
    snprintf(text, sizeof(text), "{ name \"k\" input x : f32[4] output y : f32[4] %s }", cases[i].body);
    fixture_t f;
    begin(&f, text);
    float x[4] = {0, 1, 9, 3}, y[4] = {0};
    int64_t shape[1] = {4};
    DLTensor tensors[2] = {{.data = x, .ndim = 1, .shape = shape}, {.data = y, .ndim = 1, .shape = shape}};
    test_error_text[0] = '\0';
    assert_int_equal(test_call(NULL, f.interpreter, tensors, 1, 1), BYOC_INTERNAL);
    if (!strstr(test_error_text, cases[i].message)) fail_msg("'%s' not in '%s'", cases[i].message, test_error_text);
    end(&f);
  }
}

static void guarded_loads_are_not_done(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input x : f32[4] output y : f32[4]"
            "  vector i in 0 .. 4 { y[i] = select(lt(i, 2), x[i + 2], select(lt(x[i - 2], 5.0), -1.0, x[i + 9])) } }");
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  int64_t shape[1] = {4};
  DLTensor tensors[2] = {{.data = x, .ndim = 1, .shape = shape}, {.data = y, .ndim = 1, .shape = shape}};
  assert_int_equal(test_call(NULL, f.interpreter, tensors, 1, 1), BYOC_OK);
  const float expected[4] = {3, 4, -1, -1};
  assert_memory_equal(y, expected, sizeof(expected));
  end(&f);
}

// Rows of N: sums in lanes, inner loops, local arrays per lane, a branch and a while that differ from lane to lane.
static const char run_time_rows[] =
    "{ name \"k\" input x : f32[M,N] output y : f32[M] output z : i64[M]"
    "  parallel i in 0 .. dim(\"M\") {"
    "    var sum : f32 = 0.0  local last : f32[2]  last[0] = 0.0  last[1] = -1.0"
    "    serial j in 0 .. dim(\"N\") {"
    "      let v : f32 = x[i * dim(\"N\") + j]  sum = sum + v  last[mod(j, 2)] = max(v, last[0]) }"
    "    y[i] = sum * last[1]  }"
    "  parallel r in 0 .. dim(\"M\") {"
    "    var count : i64 = 0  var rest : i64 = cast(i64, y[r] * 100.0)"
    "    if lt(rest, 0) { rest = neg(rest) }"
    "    while lt(0, rest) { rest = floordiv(rest, 3)  count = count + 1 }"
    "    z[r] = count  } }";

// Both ways of writing it in C: by a number, and by what is not known before it runs.
static void shifts_to_the_left(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input x : i32[4] output y : i32[4] output z : i32[4]"
            "  serial i in 0 .. 4 { y[i] = shl(x[i], i32(5))  z[i] = shl(x[i], x[0]) } }");
  const byoc_loop_kernel_t *kernel = f.kernel;
  void *library = test_load_kernels(&kernel, 1, "cc", "-O2");
  int32_t x[4] = {3, -1, 7, INT32_MAX}, y[4], z[4];
  int64_t shape[1] = {4};
  const DLTensor tensors[3] = {{.data = x, .ndim = 1, .shape = shape},
                               {.data = y, .ndim = 1, .shape = shape},
                               {.data = z, .ndim = 1, .shape = shape}};
  for (int way = 0; way < 2; ++way) {
    assert_int_equal(test_call(way ? test_find(library, "k") : NULL, f.interpreter, tensors, 1, 2), BYOC_OK);
    const int32_t by_five[4] = {96, -32, 224, -32}, by_three[4] = {24, -8, 56, -8};
    assert_memory_equal(y, by_five, sizeof(by_five));
    assert_memory_equal(z, by_three, sizeof(by_three));
  }
  dlclose(library);
  end(&f);
}

// A kernel that touches none of its tensors, as one for no elements may, is C that compiles without a warning.
static void a_kernel_of_nothing_is_clean_c(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input x : f32[0] output y : f32[0] }");
  const byoc_loop_kernel_t *kernel = f.kernel;
  void *library = test_load_kernels(&kernel, 1, "cc", "-O2");
  int64_t shape[1] = {0};
  const DLTensor tensors[2] = {{.ndim = 1, .shape = shape}, {.ndim = 1, .shape = shape}};
  for (int way = 0; way < 2; ++way) {
    assert_int_equal(test_call(way ? test_find(library, "k") : NULL, f.interpreter, tensors, 1, 1), BYOC_OK);
  }
  dlclose(library);
  end(&f);
}

static void run_time_dimensions(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, run_time_rows);
  const byoc_loop_kernel_t *kernel = f.kernel;
  void *library = test_load_kernels(&kernel, 1, "cc", "-O2");
  static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {300, 5}, {2, 600}, {0, 4}};
  byoc_test_random_t random = {7};
  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
    int64_t rows = sizes[s][0], columns = sizes[s][1];
    float *x = calloc((size_t)(rows * columns) + 1, sizeof(float)), *y[2];
    int64_t *z[2], shape[2] = {rows, columns}, two = 2;
    for (int64_t i = 0; i < rows * columns; ++i) x[i] = byoc_test_float(&random);
    for (int way = 0; way < 2; ++way) {
      y[way] = calloc((size_t)rows + 1, sizeof(float));
      z[way] = calloc((size_t)rows + 1, sizeof(int64_t));
      DLTensor tensors[4] = {{.data = x, .ndim = 2, .shape = shape},
                             {.data = shape, .ndim = 1, .shape = &two}, // the kernel's symbols, M and N
                             {.data = y[way], .ndim = 1, .shape = shape},
                             {.data = z[way], .ndim = 1, .shape = shape}};
      byoc_packed_function_t function = way ? test_find(library, "k") : NULL;
      assert_int_equal(test_call(function, f.interpreter, tensors, 2, 2), BYOC_OK);
    }
    assert_memory_equal(y[0], y[1], sizeof(float) * (size_t)rows);
    assert_memory_equal(z[0], z[1], sizeof(int64_t) * (size_t)rows);
    if (rows == 3) { // and both are right
      float sum = 0;
      for (int64_t j = 0; j < columns; ++j) sum += x[columns + j];
      assert_true(fabsf(y[0][1]) <= fabsf(sum) * 1.01f + 1e-6f);
    }
    for (int way = 0; way < 2; ++way) free(y[way]), free(z[way]);
    free(x);
  }
  dlclose(library);
  end(&f);
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input x : f32[4] output y : f32[4] y[0] = x[0] }");
  float x[4] = {0}, y[4];
  int64_t shape[1] = {4};
  DLTensor tensors[2] = {{.data = x, .ndim = 0, .shape = shape}, {.data = y, .ndim = 1, .shape = shape}};
  assert_int_equal(test_call(NULL, f.interpreter, tensors, 1, 1), BYOC_INVALID_ARGUMENT);
  assert_int_equal(test_call(NULL, f.interpreter, tensors, 2, 0), BYOC_INVALID_ARGUMENT);
  end(&f);
}

static void dimensions_nobody_has_are_refused(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_diag_t diag = {0};
  byoc_lexer_t lexer;
  byoc_loop_kernel_t *kernel;
  byoc_interpreter_t *interpreter;
  byoc_lexer_init(&lexer, "{ name \"k\" output y : i64[4] y[0] = dim(\"Q\") }", "k.ir", &arena, &diag);
  byoc_test_ok(byoc_loop_kernel_parse(&lexer, &arena, &kernel), &diag);
  assert_int_equal(kernel->symbols.count, 1);
  kernel->symbols.count = 0;
  byoc_status_t status = byoc_interpreter_create(kernel, byoc_allocator_system(), &diag, &interpreter);
  byoc_test_error(status, BYOC_INTERNAL, &diag, "'Q'");
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  assert_int_equal(byoc_kernel_emit_c((const byoc_loop_kernel_t *const *)&kernel, 1, &text), BYOC_INTERNAL);
  assert_int_equal(text.size, 0);
  byoc_string_deinit(&text);
  byoc_arena_deinit(&arena);
}

static void transcendental_functions_are_accurate(void **state) {
  (void)state;
  static const struct {
    const char *op;
    double (*exact)(double);
    double from, to;
  } cases[] = {{"exp", exp, -87, 88.7}, {"tanh", tanh, -12, 12}, {"erf", erf, -5, 5}};
  enum { COUNT = 20000 };
  float *x = malloc(COUNT * sizeof(float)), *y = malloc(COUNT * sizeof(float));
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
    char text[256];
    snprintf(text, sizeof(text),
             "{ name \"k\" input x : f32[20000] output y : f32[20000] vector i in 0 .. 20000 { y[i] = %s(x[i]) } }",
             cases[c].op);
    fixture_t f;
    begin(&f, text);
    for (int i = 0; i < COUNT; ++i) {
      x[i] = (float)(cases[c].from + (cases[c].to - cases[c].from) * i / (COUNT - 1));
      if (i % 4 == 0) x[i] *= 1e-3f;
    }
    int64_t shape[1] = {COUNT};
    DLTensor tensors[2] = {{.data = x, .ndim = 1, .shape = shape}, {.data = y, .ndim = 1, .shape = shape}};
    assert_int_equal(test_call(NULL, f.interpreter, tensors, 1, 1), BYOC_OK);
    for (int i = 0; i < COUNT; ++i) {
      double exact = cases[c].exact(x[i]), error = fabs(y[i] - exact);
      if (!(error <= 1e-6 * fabs(exact))) fail_msg("%s(%.9g) = %.9g, not %.9g", cases[c].op, x[i], y[i], exact);
    }
    const float special[6] = {INFINITY, -INFINITY, NAN, 0.0f, 200.0f, -200.0f};
    memcpy(x, special, sizeof(special));
    assert_int_equal(test_call(NULL, f.interpreter, tensors, 1, 1), BYOC_OK);
    for (int i = 0; i < 6; ++i) {
      float exact = (float)cases[c].exact(x[i]);
      if (!(y[i] == exact || (isnan(y[i]) && isnan(exact))))
        fail_msg("%s(%g) = %g, not %g", cases[c].op, x[i], y[i], exact);
    }
    end(&f);
  }
  free(x);
  free(y);
}

// In lanes: integers of both signs as f64, and elements of four bits from the first to the last and back.
static void lanes_convert_integers(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input x : i64[4] input u : u64[4] input q : i4[4] input p : u4[4]"
            "  output y : f64[4] output z : f64[4] output v : i32[8] output w : i32[8]"
            "  vector i in 0 .. 4 { y[i] = cast(f64, x[i])  z[i] = cast(f64, u[i])"
            "    v[i] = cast(i32, q[i])  v[7 - i] = cast(i32, q[3 - i])"
            "    w[i] = cast(i32, p[i])  w[7 - i] = cast(i32, p[3 - i]) } }");
  int64_t x[4] = {-1, 0, 5, INT64_MIN}, shape[1] = {4}, twice[1] = {8};
  uint64_t u[4] = {0, 3, UINT64_C(1) << 63, UINT64_MAX};
  uint8_t nibbles[2] = {0xf1, 0x87}; // 1, 15 or -1, 7, 8 or -8
  double y[4] = {0}, z[4] = {0};
  int32_t v[8] = {0}, w[8] = {0};
  const DLTensor tensors[8] = {
      {.data = x, .ndim = 1, .shape = shape},       {.data = u, .ndim = 1, .shape = shape},
      {.data = nibbles, .ndim = 1, .shape = shape}, {.data = nibbles, .ndim = 1, .shape = shape},
      {.data = y, .ndim = 1, .shape = shape},       {.data = z, .ndim = 1, .shape = shape},
      {.data = v, .ndim = 1, .shape = twice},       {.data = w, .ndim = 1, .shape = twice}};
  assert_int_equal(test_call(NULL, f.interpreter, tensors, 4, 4), BYOC_OK);
  const double signed_values[4] = {-1, 0, 5, -0x1p63}, unsigned_values[4] = {0, 3, 0x1p63, 0x1p64};
  const int32_t i4[8] = {1, -1, 7, -8, 1, -1, 7, -8}, u4[8] = {1, 15, 7, 8, 1, 15, 7, 8};
  assert_memory_equal(y, signed_values, sizeof(y));
  assert_memory_equal(z, unsigned_values, sizeof(z));
  assert_memory_equal(v, i4, sizeof(v));
  assert_memory_equal(w, u4, sizeof(w));
  end(&f);
}

// Elements of two and four bits are stored one by one, in both orders: each leaves the others of its byte alone, and
// what does not fit keeps its lowest bits.
static void narrow_elements_are_stored(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input x : i64[4] output a : i4[4] output b : u4[4] output c : i2[4] output d : u2[4]"
            "  output y : i64[4] output z : i64[4]"
            "  serial i in 0 .. 4 { a[i] = cast(i4, x[i])  b[3 - i] = cast(u4, x[i])"
            "    c[i] = cast(i2, x[i])  d[3 - i] = cast(u2, x[i])"
            "    y[i] = cast(i64, cast(i4, x[i]))  z[i] = cast(i64, cast(u4, x[i])) } }");
  const byoc_loop_kernel_t *kernel = f.kernel;
  void *library = test_load_kernels(&kernel, 1, "cc", "-O2");
  for (int way = 0; way < 2; ++way) {                                      // in C, and interpreted
    int64_t x[4] = {1, -2, 23, 8}, y[4] = {0}, z[4] = {0}, shape[1] = {4}; // 23 is 7 in four bits, 3 in two
    uint8_t a[2] = {0xff, 0}, b[2] = {0, 0xff}, c[1] = {0xff}, d[1] = {0};
    const DLTensor tensors[7] = {{.data = x, .ndim = 1, .shape = shape}, {.data = a, .ndim = 1, .shape = shape},
                                 {.data = b, .ndim = 1, .shape = shape}, {.data = c, .ndim = 1, .shape = shape},
                                 {.data = d, .ndim = 1, .shape = shape}, {.data = y, .ndim = 1, .shape = shape},
                                 {.data = z, .ndim = 1, .shape = shape}};
    assert_int_equal(test_call(way == 0 ? test_find(library, "k") : NULL, f.interpreter, tensors, 1, 6), BYOC_OK);
    const uint8_t stored_a[2] = {0xe1, 0x87}, stored_b[2] = {0x78, 0x1e};
    const int64_t i4[4] = {1, -2, 7, -8}, u4[4] = {1, 14, 7, 8};
    assert_memory_equal(a, stored_a, sizeof(a));
    assert_memory_equal(b, stored_b, sizeof(b));
    assert_int_equal(c[0], 0x39); // 1, 2, 3, 0 from the lowest bits on
    assert_int_equal(d[0], 0x6c); // 0, 3, 2, 1
    assert_memory_equal(y, i4, sizeof(y));
    assert_memory_equal(z, u4, sizeof(z));
  }
  dlclose(library);
  end(&f);
}

// Elements of two bits, and floats of four, from the first to the last and back.
static void lanes_read_narrow_elements(void **state) {
  (void)state;
  fixture_t f;
  begin(&f, "{ name \"k\" input q : i2[4] input p : u2[4] input h : f4e2m1[4]"
            "  output v : i32[8] output w : i32[8] output y : f32[8]"
            "  vector i in 0 .. 4 { v[i] = cast(i32, q[i])  v[7 - i] = cast(i32, q[3 - i])"
            "    w[i] = cast(i32, p[i])  w[7 - i] = cast(i32, p[3 - i])"
            "    y[i] = cast(f32, h[i])  y[7 - i] = cast(f32, h[3 - i]) } }");
  int64_t shape[1] = {4}, twice[1] = {8};
  uint8_t pairs[1] = {0xb4}, nibbles[2] = {0x10, 0xf7}; // 0, 1, 3 or -1, 2 or -2; 0, 0.5, 6, -6
  int32_t v[8] = {9}, w[8] = {9};
  float y[8] = {9};
  const DLTensor tensors[6] = {{.data = pairs, .ndim = 1, .shape = shape},   {.data = pairs, .ndim = 1, .shape = shape},
                               {.data = nibbles, .ndim = 1, .shape = shape}, {.data = v, .ndim = 1, .shape = twice},
                               {.data = w, .ndim = 1, .shape = twice},       {.data = y, .ndim = 1, .shape = twice}};
  assert_int_equal(test_call(NULL, f.interpreter, tensors, 3, 3), BYOC_OK);
  const int32_t i2[8] = {0, 1, -1, -2, 0, 1, -1, -2}, u2[8] = {0, 1, 3, 2, 0, 1, 3, 2};
  const float f4[8] = {0, 0.5f, 6, -6, 0, 0.5f, 6, -6};
  assert_memory_equal(v, i2, sizeof(v));
  assert_memory_equal(w, u2, sizeof(w));
  assert_memory_equal(y, f4, sizeof(y));
  end(&f);
}

static byoc_status_t create_and_emit(void *argument, byoc_allocator_t allocator) {
  const byoc_loop_kernel_t *kernel = argument;
  byoc_diag_t diag = {0};
  byoc_interpreter_t *interpreter;
  byoc_status_t status = byoc_interpreter_create(kernel, allocator, &diag, &interpreter);
  byoc_interpreter_destroy(interpreter);
  if (status != BYOC_OK) return status;
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  status = byoc_kernel_emit_c(&kernel, 1, &text);
  byoc_string_deinit(&text);
  return status;
}

static void failing_allocations(void **state) {
  (void)state;
  fixture_t f;
  // The second kernel has a value that is named in front of its loop.
  static const char invariant[] = "{ name \"k\" input x : f32[8] output y : f32[4]"
                                  "  vector i in 0 .. 4 { y[i] = x[i] * sqrt(x[4]) } }";
  const char *const kernels[] = {run_time_rows, invariant};
  for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i) {
    begin(&f, kernels[i]);
    byoc_test_each_allocation_fails(create_and_emit, f.kernel, false);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(out_of_range_indices_are_named),
      cmocka_unit_test(guarded_loads_are_not_done),
      cmocka_unit_test(shifts_to_the_left),
      cmocka_unit_test(a_kernel_of_nothing_is_clean_c),
      cmocka_unit_test(run_time_dimensions),
      cmocka_unit_test(wrong_calls_are_refused),
      cmocka_unit_test(dimensions_nobody_has_are_refused),
      cmocka_unit_test(transcendental_functions_are_accurate),
      cmocka_unit_test(lanes_convert_integers),
      cmocka_unit_test(lanes_read_narrow_elements),
      cmocka_unit_test(narrow_elements_are_stored),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
