// SPDX-License-Identifier: Apache-2.0
// Loops over f16 and bf16, which are emitted in blocks with conversions of whole runs: the compiled C and the
// interpreter give the same bits, for every number, for lengths around the sizes of registers and blocks, and with the
// instructions of the processor as well as without them.
#include "tests/unit/kernel/kernel_support.h"

enum { ROWS = 3, ALL = 1 << 16, EXTRA = 13 };

static const byoc_dtype_t types[] = {BYOC_DTYPE_F16, BYOC_DTYPE_BF16};

#define INT(v)       byoc_loop_int(b, (v))
#define OP(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define F32(x)       byoc_loop_cast(b, BYOC_DTYPE_F32, (x))
#define NUM(v)       byoc_loop_const(b, BYOC_DTYPE_F32, (v))

static const byoc_loop_buffer_t *parameter(byoc_loop_builder_t *b, byoc_loop_buffer_kind_t kind, const char *name,
                                           byoc_dtype_t dtype, int64_t count) {
  return byoc_loop_parameter(b, kind, name, byoc_type_tensor_static(b->arena, dtype, 1, &count));
}

// Of every kernel here: x and z of the type, f and y of f32.
static void add_parameters(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t count, const byoc_loop_buffer_t **x,
                           const byoc_loop_buffer_t **f, const byoc_loop_buffer_t **y, const byoc_loop_buffer_t **z) {
  *x = parameter(b, BYOC_LOOP_BUFFER_INPUT, "x", dtype, count);
  *f = parameter(b, BYOC_LOOP_BUFFER_INPUT, "f", BYOC_DTYPE_F32, count);
  *y = parameter(b, BYOC_LOOP_BUFFER_OUTPUT, "y", BYOC_DTYPE_F32, count);
  *z = parameter(b, BYOC_LOOP_BUFFER_OUTPUT, "z", dtype, count);
}

// y = x as f32, z = f rounded; both loops do nothing else. From the third element on.
static void emit_conversions(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t count) {
  const byoc_loop_buffer_t *x, *f, *y, *z;
  add_parameters(b, dtype, count, &x, &f, &y, &z);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "i", INT(3), INT(count));
  byoc_loop_store(b, y, i, F32(byoc_loop_load(b, x, i)));
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(3), INT(count));
  byoc_loop_store(b, z, i, byoc_loop_cast(b, dtype, byoc_loop_load(b, f, i)));
  byoc_loop_end(b);
}

// A chain of values that are rounded on the way, with one that only some iterations load, an extreme of each row, and a
// value between f32 operands.
static void emit_chain(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t length) {
  const int64_t count = ROWS * length;
  const byoc_loop_buffer_t *x, *f, *y, *z;
  add_parameters(b, dtype, count, &x, &f, &y, &z);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", INT(0), INT(ROWS));
  const byoc_loop_expr_t *row = byoc_loop_let(b, "row", OP(MUL, t, INT(length)));
  const byoc_loop_expr_t *most = byoc_loop_mutable(b, "most", NUM(-INFINITY));
  const byoc_loop_expr_t *r = byoc_loop_for(b, BYOC_LOOP_REDUCE, "r", INT(0), INT(length));
  byoc_loop_assign(b, most, OP(MAX, most, F32(byoc_loop_load(b, x, OP(ADD, row, r)))));
  byoc_loop_end(b);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  const byoc_loop_expr_t *at = OP(ADD, row, i), *a = byoc_loop_let(b, "a", F32(byoc_loop_load(b, x, at)));
  const byoc_loop_expr_t *first = byoc_loop_cast(b, dtype, OP(ADD, OP(MUL, a, NUM(1.25)), NUM(0.5)));
  first = byoc_loop_let(b, "first", first);
  const byoc_loop_expr_t *root =
      byoc_loop_unary(b, BYOC_LOOP_OP_SQRT, byoc_loop_unary(b, BYOC_LOOP_OP_ABS, F32(first)));
  root = byoc_loop_let(b, "root", root);
  const byoc_loop_expr_t *before = F32(byoc_loop_load(b, x, OP(SUB, at, INT(2))));
  before = byoc_loop_select(b, OP(LT, INT(1), i), before, F32(byoc_loop_cast(b, dtype, OP(MUL, a, NUM(0.3)))));
  const byoc_loop_expr_t *second = byoc_loop_cast(b, dtype, OP(ADD, OP(MUL, root, byoc_loop_load(b, f, at)), before));
  second = byoc_loop_let(b, "second", second);
  byoc_loop_store(b, y, at, OP(SUB, F32(second), OP(MUL, root, F32(first))));
  byoc_loop_store(b, z, at, byoc_loop_cast(b, dtype, OP(MIN, OP(SUB, F32(second), F32(first)), most)));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// Columns become rows: neighbours of the result were far apart. A run of the same operand stands beside them.
static void emit_columns(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t length) {
  const int64_t count = ROWS * length;
  const byoc_loop_buffer_t *x, *f, *y, *z;
  add_parameters(b, dtype, count, &x, &f, &y, &z);
  const byoc_loop_expr_t *row = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", INT(0), INT(ROWS));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  const byoc_loop_expr_t *at = OP(ADD, OP(MUL, row, INT(length)), i);
  const byoc_loop_expr_t *far = F32(byoc_loop_load(b, x, OP(ADD, OP(MUL, i, INT(ROWS)), row)));
  const byoc_loop_expr_t *twice = F32(byoc_loop_load(b, x, OP(ADD, OP(MUL, i, INT(ROWS)), row)));
  byoc_loop_store(b, y, at, OP(ADD, far, byoc_loop_load(b, f, at)));
  byoc_loop_store(b, z, at, byoc_loop_cast(b, dtype, OP(SUB, OP(MUL, twice, NUM(0.7)), F32(byoc_loop_load(b, x, at)))));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// Elements that only some iterations load: outside of the tensor in others, on several sides, and at the place of the
// result. A condition on f32 chooses within another one.
static void emit_sides(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t length) {
  const int64_t count = ROWS * length;
  const byoc_loop_buffer_t *x, *f, *y, *z;
  add_parameters(b, dtype, count, &x, &f, &y, &z);
  const byoc_loop_expr_t *row = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", INT(0), INT(ROWS));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  const byoc_loop_expr_t *at = OP(ADD, OP(MUL, row, INT(length)), i);
  const byoc_loop_expr_t *before = F32(byoc_loop_load(b, x, OP(SUB, at, INT(2))));
  const byoc_loop_expr_t *back = F32(byoc_loop_load(b, x, OP(SUB, INT(count - 1), at)));
  const byoc_loop_expr_t *far = F32(byoc_loop_load(b, x, OP(ADD, OP(MUL, i, INT(ROWS)), row)));
  const byoc_loop_expr_t *here = F32(byoc_loop_load(b, x, at));
  const byoc_loop_expr_t *is_less = OP(LT, byoc_loop_load(b, f, at), NUM(0));
  const byoc_loop_expr_t *inner = byoc_loop_select(b, is_less, before, back);
  byoc_loop_store(b, y, at, byoc_loop_select(b, OP(LT, INT(1), i), inner, NUM(5)));
  const byoc_loop_expr_t *sides = byoc_loop_select(b, OP(LT, i, INT(7)), OP(SUB, far, back), OP(ADD, back, far));
  byoc_loop_store(b, z, at, byoc_loop_cast(b, dtype, byoc_loop_select(b, is_less, sides, here)));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// Elements that are only moved through local buffers, `even` and `odd`, and those that are read as numbers in the end.
static void emit_moves(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t length) {
  const int64_t count = ROWS * length;
  const byoc_loop_buffer_t *x, *f, *y, *z;
  add_parameters(b, dtype, count, &x, &f, &y, &z);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", INT(0), INT(ROWS));
  const byoc_loop_expr_t *row = byoc_loop_let(b, "row", OP(MUL, t, INT(length)));
  const byoc_loop_buffer_t *even = byoc_loop_allocate(b, "even", dtype, length);
  const byoc_loop_buffer_t *odd = byoc_loop_allocate(b, "odd", dtype, length);
  const byoc_loop_buffer_t *first = byoc_loop_allocate(b, "first", dtype, length);
  const byoc_loop_buffer_t *second = byoc_loop_allocate(b, "second", dtype, length);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  byoc_loop_store(b, even, OP(SUB, INT(length - 1), i), byoc_loop_load(b, x, OP(ADD, row, i)));
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  byoc_loop_store(b, first, i, byoc_loop_load(b, x, OP(ADD, row, i)));
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  byoc_loop_store(b, odd, i, byoc_loop_load(b, even, i));
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  byoc_loop_store(b, second, i, byoc_loop_load(b, first, i));
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  byoc_loop_store(b, z, OP(ADD, row, i), byoc_loop_load(b, odd, i));
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", INT(0), INT(length));
  const byoc_loop_expr_t *at = OP(ADD, row, i);
  byoc_loop_store(b, y, at, OP(ADD, F32(byoc_loop_load(b, second, i)), byoc_loop_load(b, f, at)));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

typedef struct case_t {
  void (*emit)(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t length);
  int64_t length, count;
} case_t;

static const case_t cases[] = {
    {emit_conversions, ALL + EXTRA, ALL + EXTRA},
    {emit_conversions, 4, 4},
    {emit_chain, 1, ROWS},
    {emit_chain, 7, 7 * ROWS},
    {emit_chain, 16, 16 * ROWS},
    {emit_chain, 31, 31 * ROWS},
    {emit_chain, 56, 56 * ROWS},
    {emit_chain, 256, 256 * ROWS},
    {emit_chain, 257, 257 * ROWS},
    {emit_chain, 1000, 1000 * ROWS},
    {emit_columns, 1, ROWS},
    {emit_columns, 40, 40 * ROWS},
    {emit_columns, 300, 300 * ROWS},
    {emit_sides, 3, 3 * ROWS},
    {emit_sides, 40, 40 * ROWS},
    {emit_sides, 300, 300 * ROWS},
    {emit_moves, 16, 16 * ROWS},
    {emit_moves, 100, 100 * ROWS},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static bool is_nan(byoc_dtype_t dtype, uint32_t bits) {
  return dtype == BYOC_DTYPE_F32   ? (bits & 0x7fffffffu) > 0x7f800000u
         : dtype == BYOC_DTYPE_F16 ? (bits & 0x7fffu) > 0x7c00u
                                   : (bits & 0x7fffu) > 0x7f80u;
}

// Arithmetic may choose another NaN; conversions keep it.
static void same(const case_t *c, byoc_dtype_t dtype, const void *compiled, const void *interpreted) {
  const size_t size = byoc_dtype_bits(dtype) / 8;
  for (int64_t i = 0; i < c->count; ++i) {
    uint32_t a = 0, b = 0;
    memcpy(&a, (const char *)compiled + (size_t)i * size, size);
    memcpy(&b, (const char *)interpreted + (size_t)i * size, size);
    if (a == b || (c->emit != emit_conversions && is_nan(dtype, a) && is_nan(dtype, b))) continue;
    fail_msg("%s, length %d, element %d: compiled 0x%x, interpreted 0x%x", byoc_dtype_name(dtype), (int)c->length,
             (int)i, a, b);
  }
}

// Every number of 16 bits; f32 of all kinds: any bits, small numbers, and ties between neighbours.
static void fill(byoc_test_random_t *random, uint16_t *x, uint32_t *f, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] = (uint16_t)(count > ALL ? (uint64_t)i : byoc_test_next(random));
    const uint64_t bits = byoc_test_next(random);
    f[i] = (uint32_t)bits;
    if (i % 4 == 1) f[i] = (uint32_t)(bits & 0x8fffffffu) | 0x30000000u;
    if (i % 4 == 2) f[i] = ((uint32_t)bits & 0xffffe000u) | 0x1000u;
    if (i % 4 == 3) f[i] = ((uint32_t)bits & 0xffff0000u) | 0x8000u;
  }
}

static void run_case(const case_t *c, const byoc_loop_kernel_t *kernel, void *library, byoc_test_random_t *random) {
  byoc_diag_t diag = {0};
  DLTensor tensors[4] = {0};
  int64_t shape[1] = {c->count};
  void *compiled[2];
  for (int t = 0; t < 4; ++t) {
    tensors[t] = (DLTensor){.ndim = 1, .shape = shape, .data = calloc((size_t)c->count, sizeof(float))};
    assert_non_null(tensors[t].data);
  }
  fill(random, tensors[0].data, tensors[1].data, c->count);
  assert_int_equal(test_call(test_find(library, kernel->name), NULL, tensors, 2, 2), BYOC_OK);
  for (int t = 0; t < 2; ++t) {
    compiled[t] = tensors[2 + t].data;
    tensors[2 + t].data = calloc((size_t)c->count, sizeof(float));
    assert_non_null(tensors[2 + t].data);
  }
  byoc_interpreter_t *interpreter;
  byoc_test_ok(byoc_interpreter_create(kernel, byoc_allocator_system(), &diag, &interpreter), &diag);
  assert_int_equal(test_call(NULL, interpreter, tensors, 2, 2), BYOC_OK);
  byoc_interpreter_destroy(interpreter);
  for (int t = 0; t < 2; ++t) {
    same(c, kernel->parameters.data[2 + t]->dtype, compiled[t], tensors[2 + t].data);
    free(compiled[t]);
  }
  for (int t = 0; t < 4; ++t) free(tensors[t].data);
}

static void run(const char *compiler, const char *flag) {
  byoc_test_random_t random = {5};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  const byoc_loop_kernel_t *kernels[2 * CASES];
  byoc_diag_t diag = {0};
  for (int k = 0; k < 2 * CASES; ++k) {
    byoc_loop_builder_t b;
    byoc_loop_builder_init(&b, &arena, byoc_arena_format(&arena, "k%d", k));
    cases[k / 2].emit(&b, types[k % 2], cases[k / 2].length);
    assert_false(b.failed);
    kernels[k] = b.kernel;
    byoc_test_ok(byoc_loop_verify(kernels[k], &diag), &diag);
    byoc_loop_builder_deinit(&b);
  }
  void *library = test_load_kernels(kernels, 2 * CASES, compiler, flag);
  for (int k = 0; k < 2 * CASES; ++k) run_case(&cases[k / 2], kernels[k], library, &random);
  dlclose(library);
  byoc_arena_deinit(&arena);
}

static void portable_conversions_equal_the_interpreter(void **state) {
  (void)state;
  run("cc", "-O3");
  if (byoc_test_is_long() && byoc_program_exists("clang")) run("clang", "-O3");
}

static void conversions_of_this_processor_equal_the_interpreter(void **state) {
  (void)state;
  run("cc", "-march=native");
  if (byoc_program_exists("clang")) run("clang", "-march=native");
}

static void conversions_in_registers_of_avx2_equal_the_interpreter(void **state) {
  (void)state;
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) byoc_test_skip("no AVX2");
  run("cc", "-march=haswell");
#else
  byoc_test_skip("not x86-64");
#endif
}

// The C of one kernel of f16.
static void emit_text(void (*emit)(byoc_loop_builder_t *b, byoc_dtype_t dtype, int64_t length), byoc_string_t *text) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_loop_builder_t b;
  byoc_loop_builder_init(&b, &arena, "k");
  emit(&b, BYOC_DTYPE_F16, 1000);
  const byoc_loop_kernel_t *kernel = b.kernel;
  byoc_loop_builder_deinit(&b);
  byoc_string_init(text, byoc_allocator_system());
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_kernel_emit_c(&kernel, 1, text), &diag);
  byoc_arena_deinit(&arena);
}

// What f32 needs is not in the way of kernels without 16 bits, and loops of f16 have no conversion of single elements.
static void runs_are_converted_by_one_call(void **state) {
  (void)state;
  byoc_string_t text;
  emit_text(emit_conversions, &text);
  const char *body = strstr(text.data, "int32_t k(");
  assert_non_null(body);
  assert_non_null(strstr(text.data, "byoc_f32s_of_f16(&y["));
  assert_non_null(strstr(body, "byoc_f16s_of_f32(&z["));
  assert_null(strstr(body, "byoc_f16_from_f32"));
  byoc_string_deinit(&text);
}

static void elements_of_some_iterations_are_copied_and_converted_by_one_call(void **state) {
  (void)state;
  byoc_string_t text;
  emit_text(emit_sides, &text);
  const char *body = strstr(text.data, "static void k_loop");
  assert_non_null(body);
  assert_non_null(strstr(body, "_bits[i"));
  assert_non_null(strstr(body, ", &x[")); // at the place of the result
  assert_null(strstr(body, "byoc_f32_from_f16"));
  byoc_string_deinit(&text);
}

// Two loads of the same column are copied once.
static void elements_that_are_no_neighbours_are_copied_and_converted_by_one_call(void **state) {
  (void)state;
  byoc_string_t text;
  emit_text(emit_columns, &text);
  const char *body = strstr(text.data, "static void k_loop");
  assert_non_null(body);
  const char *copy = strstr(body, "_bits[i");
  assert_non_null(copy);
  assert_null(strstr(copy + 1, "_bits[i"));
  assert_null(strstr(body, "byoc_f32_from_f16"));
  byoc_string_deinit(&text);
}

static void elements_that_are_only_moved_are_not_converted(void **state) {
  (void)state;
  byoc_string_t text;
  emit_text(emit_moves, &text);
  const char *body = strstr(text.data, "static void k_loop");
  assert_non_null(body);
  assert_non_null(strstr(body, "uint16_t even"));
  assert_non_null(strstr(body, "uint16_t odd"));
  assert_non_null(strstr(body, "float first"));
  assert_non_null(strstr(body, "float second"));
  assert_null(strstr(body, "byoc_f16"));
  byoc_string_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(portable_conversions_equal_the_interpreter),
      cmocka_unit_test(conversions_of_this_processor_equal_the_interpreter),
      cmocka_unit_test(conversions_in_registers_of_avx2_equal_the_interpreter),
      cmocka_unit_test(runs_are_converted_by_one_call),
      cmocka_unit_test(elements_of_some_iterations_are_copied_and_converted_by_one_call),
      cmocka_unit_test(elements_that_are_no_neighbours_are_copied_and_converted_by_one_call),
      cmocka_unit_test(elements_that_are_only_moved_are_not_converted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
