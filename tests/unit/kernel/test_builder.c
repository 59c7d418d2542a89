// SPDX-License-Identifier: Apache-2.0
// What the loop builder folds and simplifies, shown as text; what the verifier refuses; the text form.
#include "tests/unit/kernel/kernel_support.h"

#include "core/ir/loop_text.h"

typedef struct fixture_t {
  byoc_arena_t arena;
  byoc_loop_builder_t b;
  byoc_loop_buffer_t *x, *y;
  const byoc_loop_expr_t *i, *j; // i in [0, 56), j in [0, 4)
} fixture_t;

static void begin(fixture_t *f) {
  byoc_arena_init(&f->arena, byoc_allocator_system());
  byoc_loop_builder_init(&f->b, &f->arena, "k");
  const byoc_type_t *type = byoc_type_tensor_static(&f->arena, BYOC_DTYPE_F32, 1, (const int64_t[]){224});
  f->x = byoc_loop_parameter(&f->b, BYOC_LOOP_BUFFER_INPUT, "x", type);
  f->y = byoc_loop_parameter(&f->b, BYOC_LOOP_BUFFER_OUTPUT, "y", type);
  f->i = byoc_loop_for(&f->b, BYOC_LOOP_PARALLEL, "i", byoc_loop_int(&f->b, 0), byoc_loop_int(&f->b, 56));
  f->j = byoc_loop_for(&f->b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(&f->b, 0), byoc_loop_int(&f->b, 4));
}

static void end(fixture_t *f) {
  byoc_loop_builder_deinit(&f->b);
  byoc_arena_deinit(&f->arena);
}

// The text of an expression: what follows "y[0] = " in a kernel that stores it.
static void expect(fixture_t *f, const byoc_loop_expr_t *expr, const char *expected) {
  assert_non_null(expr);
  byoc_loop_stmt_t store = {.kind = BYOC_LOOP_STORE}, body = {.kind = BYOC_LOOP_BLOCK}, *statements[1] = {&store};
  store.store.buffer = f->y, store.store.index = byoc_loop_int(&f->b, 0), store.store.value = expr;
  body.block.statements.data = statements, body.block.statements.count = 1;
  byoc_loop_kernel_t kernel = {.name = "k", .body = &body};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_loop_kernel_print_at(&kernel, 0, &text);
  char whole[512];
  snprintf(whole, sizeof(whole), "{\n  name \"k\"\n  y[0] = %s\n}", expected);
  byoc_test_same_text(text.data, whole);
  byoc_string_deinit(&text);
}

#define INT(v)       byoc_loop_int(b, (v))
#define OP(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

// All names of a kernel differ, also where a name ends in the digits of another one's number.
static void names_that_end_in_digits_stay_unique(void **state) {
  (void)state;
  fixture_t f;
  begin(&f); // takes the numbers 0 and 1
  const char *names[40];
  size_t count = 0;
  for (int i = 0; i < 12; ++i) {
    static const char *const stems[] = {"line", "line1", "line1_"};
    for (int k = 0; k < 3; ++k) names[count++] = byoc_loop_allocate(&f.b, stems[k], BYOC_DTYPE_F32, 1)->name;
  }
  const byoc_type_t *type = byoc_type_tensor_static(&f.arena, BYOC_DTYPE_F32, 1, (const int64_t[]){1});
  names[count++] = byoc_loop_parameter(&f.b, BYOC_LOOP_BUFFER_INPUT, "line15", type)->name;
  names[count++] = byoc_loop_parameter(&f.b, BYOC_LOOP_BUFFER_INPUT, "line15", type)->name;
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < i; ++k) assert_string_not_equal(names[i], names[k]);
  end(&f);
}

// What a kernel calls something is never what its text in C calls something else.
static void names_of_c_are_not_taken(void **state) {
  (void)state;
  static const char *const stems[] = {"t_",        "dim_",   "args_", "log",      "exp",        "atan",      "y",
                                      "byoc_copy", "BYOC_X", "int",   "_Bool",    "__v",        "",          "9",
                                      "j",         "a b",    "m_nan", "line_end", "line_first", "line_count"};
  fixture_t f;
  begin(&f);
  const byoc_type_t *type = byoc_type_tensor_static(&f.arena, BYOC_DTYPE_F32, 1, (const int64_t[]){1});
  for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); ++i) {
    for (int k = 0; k < 20; ++k) {
      const char *name = byoc_loop_allocate(&f.b, stems[i], BYOC_DTYPE_F32, 1)->name;
      if (!byoc_loop_name_is_free(name)) fail_msg("'%s' became '%s'", stems[i], name);
    }
    byoc_loop_buffer_t *buffer = byoc_loop_parameter(&f.b, BYOC_LOOP_BUFFER_OUTPUT, stems[i], type);
    if (!byoc_loop_name_is_free(buffer->name)) fail_msg("'%s' became '%s'", stems[i], buffer->name);
  }
  byoc_diag_t diag = {0};
  byoc_loop_end(&f.b);
  byoc_loop_end(&f.b);
  byoc_test_ok(byoc_loop_verify(f.b.kernel, &diag), &diag);
  end(&f);
}

// Whoever makes a kernel, what hides something else is refused before it becomes C.
static void hidden_names_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"t_3", "x", "j2", "void", "j2_end"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    fixture_t f;
    begin(&f);
    byoc_loop_buffer_t *buffer = byoc_loop_allocate(&f.b, "room", BYOC_DTYPE_F32, 1);
    byoc_loop_end(&f.b);
    byoc_loop_end(&f.b);
    byoc_diag_t diag = {0};
    byoc_test_ok(byoc_loop_verify(f.b.kernel, &diag), &diag);
    buffer->name = strcmp(names[i], "j2") == 0 ? f.j->variable->name : names[i];
    byoc_test_error(byoc_loop_verify(f.b.kernel, &diag), BYOC_INTERNAL, &diag,
                    i == 1 || i == 2 ? "two things of one name" : "name of C");
    end(&f);
  }
}

static void index_arithmetic_is_simplified(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_loop_builder_t *b = &f.b;
  const byoc_loop_expr_t *i = f.i, *j = f.j, *flat = OP(ADD, OP(MUL, i, INT(4)), j);
  expect(&f, OP(MUL, INT(6), INT(7)), "42");
  expect(&f, OP(ADD, OP(ADD, i, INT(2)), INT(3)), "i0 + 5");
  expect(&f, OP(MUL, OP(MUL, OP(ADD, i, INT(1)), INT(3)), INT(5)), "i0 * 15 + 15");
  expect(&f, OP(SUB, OP(ADD, i, j), i), "j2");
  expect(&f, OP(SUB, INT(30), j), "30 - j2");
  expect(&f, OP(FLOORDIV, OP(MUL, i, INT(12)), INT(12)), "i0");
  expect(&f, OP(FLOORDIV, OP(MUL, i, INT(12)), INT(4)), "i0 * 3");
  expect(&f, OP(FLOORDIV, flat, INT(4)), "i0");
  expect(&f, OP(MOD, flat, INT(4)), "j2");
  expect(&f, OP(FLOORDIV, flat, INT(8)), "floordiv(i0, 2)");
  expect(&f, OP(MOD, flat, INT(8)), "mod(i0, 2) * 4 + j2");
  expect(&f, OP(FLOORDIV, OP(FLOORDIV, i, INT(3)), INT(5)), "floordiv(i0, 15)");
  expect(&f, OP(ADD, OP(MUL, OP(FLOORDIV, i, INT(7)), INT(7)), OP(MOD, i, INT(7))), "i0");
  // a linear index split over three dimensions and put together again
  const byoc_loop_expr_t *outer = OP(FLOORDIV, i, INT(7)), *parts[3];
  parts[2] = OP(MOD, i, INT(7)), parts[1] = OP(MOD, outer, INT(2)), parts[0] = OP(FLOORDIV, outer, INT(2));
  const byoc_dim_t dims[3] = {byoc_dim_constant(4), byoc_dim_constant(2), byoc_dim_constant(7)};
  expect(&f, byoc_loop_linear_index(b, 3, dims, parts), "i0");
  expect(&f, OP(MIN, i, INT(100)), "i0");
  expect(&f, OP(LT, j, INT(4)), "true");
  expect(&f, OP(LT, j, INT(3)), "lt(j2, 3)");
  expect(&f, OP(FLOORDIV, OP(SUB, i, INT(1)), INT(2)), "floordiv(i0 - 1, 2)");
  end(&f);
}

static void run_time_extents_divide_out(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_loop_builder_t *b = &f.b;
  bool failed = false;
  const byoc_loop_expr_t *n = byoc_loop_dim(b, byoc_dim_symbol(&f.arena, "N", &failed));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", INT(0), n);
  const byoc_loop_expr_t *flat = OP(ADD, OP(MUL, f.i, n), k);
  expect(&f, OP(FLOORDIV, flat, n), "i0");
  expect(&f, OP(MOD, flat, n), "k3");
  expect(&f, OP(ADD, OP(MUL, OP(FLOORDIV, f.i, n), n), OP(MOD, f.i, n)), "i0");
  // What was split by two run-time sizes is joined again by the index of a tensor that has more in front of them.
  const byoc_loop_expr_t *m = byoc_loop_dim(b, byoc_dim_symbol(&f.arena, "M", &failed));
  const byoc_loop_expr_t *quotient = OP(FLOORDIV, f.i, n), *rest = OP(MOD, f.i, n);
  expect(&f, OP(ADD, OP(MUL, OP(ADD, OP(MUL, k, m), quotient), n), rest), "k3 * dim(\"M\") * dim(\"N\") + i0");
  const byoc_loop_expr_t *middle = OP(ADD, OP(MUL, OP(FLOORDIV, quotient, m), m), OP(MOD, quotient, m));
  expect(&f, OP(ADD, OP(MUL, middle, n), rest), "i0");
  expect(&f, OP(ADD, OP(MUL, OP(ADD, quotient, INT(3)), n), rest), "dim(\"N\") * 3 + i0");
  expect(&f, OP(ADD, OP(MUL, OP(ADD, quotient, quotient), n), rest),
         "floordiv(i0, dim(\"N\")) * 2 * dim(\"N\") + mod(i0, dim(\"N\"))");
  assert_false(b->failed);
  end(&f);
}

static void values_are_folded_as_they_compute(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_loop_builder_t *b = &f.b;
  const byoc_loop_expr_t *x = byoc_loop_load(b, f.x, INT(0)), *one = byoc_loop_const(b, BYOC_DTYPE_F32, 1);
  const byoc_loop_expr_t *zero = byoc_loop_const(b, BYOC_DTYPE_F32, 0);
  expect(&f, OP(MUL, x, one), "x[0]");
  expect(&f, OP(MUL, one, x), "x[0]");
  expect(&f, OP(DIV, x, one), "x[0]");
  expect(&f, OP(SUB, x, zero), "x[0]");
  expect(&f, OP(ADD, x, zero), "x[0] + 0.0"); // -0 + 0 is +0
  expect(&f, OP(MUL, x, zero), "x[0] * 0.0"); // NaN stays NaN
  expect(&f, OP(ADD, zero, x), "x[0] + 0.0"); // constants go to the right
  expect(&f, byoc_loop_unary(b, BYOC_LOOP_OP_NEG, byoc_loop_unary(b, BYOC_LOOP_OP_NEG, x)), "x[0]");
  expect(&f, OP(ADD, byoc_loop_const_int(b, BYOC_DTYPE_U8, 250), byoc_loop_const_int(b, BYOC_DTYPE_U8, 10)), "u8(4)");
  expect(&f, OP(DIV, INT(-7), INT(2)), "-3");
  expect(&f, OP(FLOORDIV, INT(-7), INT(2)), "-4");
  expect(&f, OP(MOD, INT(-7), INT(2)), "1");
  expect(&f, OP(FMOD, INT(-7), INT(2)), "-1");
  expect(&f, byoc_loop_cast(b, BYOC_DTYPE_I8, byoc_loop_const(b, BYOC_DTYPE_F32, 300)), "i8(127)");
  expect(&f, byoc_loop_cast(b, BYOC_DTYPE_I32, byoc_loop_const(b, BYOC_DTYPE_F32, NAN)), "i32(0)");
  expect(&f, byoc_loop_cast(b, BYOC_DTYPE_U8, byoc_loop_const(b, BYOC_DTYPE_F32, 1)), "u8(1)");
  expect(&f, byoc_loop_cast(b, BYOC_DTYPE_U8, byoc_loop_const(b, BYOC_DTYPE_F32, -1)), "u8(0)");
  expect(&f, byoc_loop_unary(b, BYOC_LOOP_OP_ROUND, byoc_loop_const(b, BYOC_DTYPE_F32, 2.5)), "2.0");
  expect(&f, byoc_loop_select(b, OP(LT, f.j, INT(9)), x, zero), "x[0]");
  expect(&f, OP(ADD, byoc_loop_const(b, BYOC_DTYPE_F32, 0.1f), byoc_loop_const(b, BYOC_DTYPE_F32, 0.2f)),
         "0.3"); // rounded to f32 and printed as the shortest text of it
  end(&f);
}

// Comparisons, minima and maxima are decided where the ranges of both sides leave no doubt, and not one step earlier.
static void ranges_decide(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_loop_builder_t *b = &f.b;
  const byoc_loop_expr_t *i = f.i, *j = OP(ADD, f.j, INT(10)); // 0 to 55, 10 to 13
  static const struct {
    byoc_loop_op_t op;
    int64_t bound;        // beside i
    const char *expected; // NULL: it stays
  } cases[] = {
      {BYOC_LOOP_OP_LT, 56, "true"}, {BYOC_LOOP_OP_LT, 55, NULL},    {BYOC_LOOP_OP_LT, 1, NULL},
      {BYOC_LOOP_OP_LT, 0, "false"}, {BYOC_LOOP_OP_LE, 55, "true"},  {BYOC_LOOP_OP_LE, 54, NULL},
      {BYOC_LOOP_OP_LE, 0, NULL},    {BYOC_LOOP_OP_LE, -1, "false"}, {BYOC_LOOP_OP_EQ, 56, "false"},
      {BYOC_LOOP_OP_EQ, 55, NULL},   {BYOC_LOOP_OP_EQ, 0, NULL},     {BYOC_LOOP_OP_EQ, -1, "false"},
      {BYOC_LOOP_OP_NE, 56, "true"}, {BYOC_LOOP_OP_NE, 55, NULL},    {BYOC_LOOP_OP_NE, 0, NULL},
      {BYOC_LOOP_OP_NE, -1, "true"}, {BYOC_LOOP_OP_MIN, 55, "i0"},   {BYOC_LOOP_OP_MIN, 54, NULL},
      {BYOC_LOOP_OP_MIN, 1, NULL},   {BYOC_LOOP_OP_MIN, 0, "0"},     {BYOC_LOOP_OP_MAX, 55, "55"},
      {BYOC_LOOP_OP_MAX, 54, NULL},  {BYOC_LOOP_OP_MAX, 1, NULL},    {BYOC_LOOP_OP_MAX, 0, "i0"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    const byoc_loop_expr_t *expr = byoc_loop_binary(b, cases[k].op, i, INT(cases[k].bound));
    if (cases[k].expected == NULL) {
      assert_true(expr->kind == BYOC_LOOP_OP && expr->op.op == cases[k].op);
    } else {
      expect(&f, expr, cases[k].expected);
    }
  }
  expect(&f, OP(LT, OP(MIN, i, INT(9)), j), "true");
  expect(&f, OP(LE, OP(MAX, i, INT(14)), j), "false");
  end(&f);
}

// A float that an integer cannot hold becomes its nearest one; the last that it can hold stays.
static void casts_of_constants_saturate(void **state) {
  (void)state;
  static const struct {
    byoc_dtype_t to;
    double value;
    const char *expected;
  } cases[] = {
      {BYOC_DTYPE_U8, 128, "u8(128)"},
      {BYOC_DTYPE_U8, 255, "u8(255)"},
      {BYOC_DTYPE_U8, 256, "u8(255)"},
      {BYOC_DTYPE_I8, 127, "i8(127)"},
      {BYOC_DTYPE_I8, 128, "i8(127)"},
      {BYOC_DTYPE_I8, -127, "i8(-127)"},
      {BYOC_DTYPE_I8, -128, "i8(-128)"},
      {BYOC_DTYPE_I8, -129, "i8(-128)"},
      {BYOC_DTYPE_U16, 65535, "u16(65535)"},
      {BYOC_DTYPE_U16, 65536, "u16(65535)"},
      {BYOC_DTYPE_I16, 32767, "i16(32767)"},
      {BYOC_DTYPE_I16, 32768, "i16(32767)"},
      {BYOC_DTYPE_I32, -2147483648.0, "i32(-2147483648)"},
      {BYOC_DTYPE_I32, 2147483648.0, "i32(2147483647)"},
      {BYOC_DTYPE_U32, 4294967295.0, "u32(4294967295)"},
      {BYOC_DTYPE_U32, 4294967296.0, "u32(4294967295)"},
      {BYOC_DTYPE_I64, 9223372036854775808.0, "9223372036854775807"},
      {BYOC_DTYPE_I64, -9223372036854775808.0, "-9223372036854775808"},
      {BYOC_DTYPE_U64, 9223372036854775808.0, "u64(9223372036854775808)"},
      {BYOC_DTYPE_U64, 18446744073709551616.0, "u64(18446744073709551615)"},
      {BYOC_DTYPE_U8, NAN, "u8(0)"},
      {BYOC_DTYPE_U8, -0.5, "u8(0)"},
      {BYOC_DTYPE_I8, -1.5, "i8(-1)"},
  };
  fixture_t f;
  begin(&f);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    const byoc_loop_expr_t *value = byoc_loop_const(&f.b, BYOC_DTYPE_F64, cases[k].value);
    expect(&f, byoc_loop_cast(&f.b, cases[k].to, value), cases[k].expected);
  }
  end(&f);
}

// Large unsigned numbers are no negative ones, and the other way round.
static void constant_integers_become_floats(void **state) {
  (void)state;
  static const struct {
    byoc_dtype_t from, to;
    int64_t value;
    double expected;
  } cases[] = {
      {BYOC_DTYPE_I64, BYOC_DTYPE_F64, -3, -3},
      {BYOC_DTYPE_I64, BYOC_DTYPE_F32, -3, -3},
      {BYOC_DTYPE_I8, BYOC_DTYPE_F64, -128, -128},
      {BYOC_DTYPE_U64, BYOC_DTYPE_F64, -2048, 18446744073709549568.0},
      {BYOC_DTYPE_U64, BYOC_DTYPE_F32, INT64_MIN, 9223372036854775808.0},
      {BYOC_DTYPE_I64, BYOC_DTYPE_F32, INT64_C(16777217), 16777216},
      {BYOC_DTYPE_I64, BYOC_DTYPE_F64, INT64_C(16777217), 16777217},
  };
  fixture_t f;
  begin(&f);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    const byoc_loop_expr_t *value = byoc_loop_const_int(&f.b, cases[k].from, cases[k].value);
    const byoc_loop_expr_t *cast = byoc_loop_cast(&f.b, cases[k].to, value);
    assert_true(byoc_loop_is_const(cast, cases[k].expected));
    assert_int_equal(cast->dtype, cases[k].to);
  }
  end(&f);
}

// Operators on constant floats, with the signs and ties at which they differ.
static void floats_are_folded(void **state) {
  (void)state;
  static const struct {
    byoc_loop_op_t op;
    double a, b; // b is NaN where the operator takes one operand
    const char *expected;
  } cases[] = {
      {BYOC_LOOP_OP_MOD, 7.5, 2, "1.5"},       {BYOC_LOOP_OP_MOD, -7.5, 2, "0.5"},
      {BYOC_LOOP_OP_MOD, 7.5, -2, "-0.5"},     {BYOC_LOOP_OP_MOD, -7.5, -2, "-1.5"},
      {BYOC_LOOP_OP_MOD, -8, 2, "-0.0"},       {BYOC_LOOP_OP_FMOD, -7.5, 2, "-1.5"},
      {BYOC_LOOP_OP_FMOD, 7.5, -2, "1.5"},     {BYOC_LOOP_OP_FLOORDIV, -7, 2, "-4.0"},
      {BYOC_LOOP_OP_MIN, 1, 2, "1.0"},         {BYOC_LOOP_OP_MIN, 2, 1, "1.0"},
      {BYOC_LOOP_OP_MAX, 1, 2, "2.0"},         {BYOC_LOOP_OP_MAX, 2, 1, "2.0"},
      {BYOC_LOOP_OP_SUB, 1, 2, "-1.0"},        {BYOC_LOOP_OP_DIV, 1, 2, "0.5"},
      {BYOC_LOOP_OP_LT, 1, 1, "false"},        {BYOC_LOOP_OP_LT, 1, 2, "true"},
      {BYOC_LOOP_OP_LE, 1, 1, "true"},         {BYOC_LOOP_OP_LE, 2, 1, "false"},
      {BYOC_LOOP_OP_EQ, 1, 1, "true"},         {BYOC_LOOP_OP_EQ, 1, 2, "false"},
      {BYOC_LOOP_OP_NE, 1, 1, "false"},        {BYOC_LOOP_OP_NE, 1, 2, "true"},
      {BYOC_LOOP_OP_ROUND, 0.5, NAN, "0.0"},   {BYOC_LOOP_OP_ROUND, 1.5, NAN, "2.0"},
      {BYOC_LOOP_OP_ROUND, -0.5, NAN, "-0.0"}, {BYOC_LOOP_OP_ROUND, -2.5, NAN, "-2.0"},
      {BYOC_LOOP_OP_ROUND, 2.25, NAN, "2.0"},  {BYOC_LOOP_OP_ROUND, 2.75, NAN, "3.0"},
      {BYOC_LOOP_OP_SIGN, 3, NAN, "1.0"},      {BYOC_LOOP_OP_SIGN, -3, NAN, "-1.0"},
      {BYOC_LOOP_OP_SIGN, 0, NAN, "0.0"},      {BYOC_LOOP_OP_ABS, -3, NAN, "3.0"},
      {BYOC_LOOP_OP_FLOOR, -1.5, NAN, "-2.0"}, {BYOC_LOOP_OP_CEIL, -1.5, NAN, "-1.0"},
      {BYOC_LOOP_OP_TRUNC, -1.5, NAN, "-1.0"}, {BYOC_LOOP_OP_SQRT, 9, NAN, "3.0"},
  };
  fixture_t f;
  begin(&f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const byoc_loop_expr_t *a = byoc_loop_const(&f.b, BYOC_DTYPE_F32, cases[i].a);
    const byoc_loop_expr_t *folded =
        isnan(cases[i].b) ? byoc_loop_unary(&f.b, cases[i].op, a)
                          : byoc_loop_binary(&f.b, cases[i].op, a, byoc_loop_const(&f.b, BYOC_DTYPE_F32, cases[i].b));
    expect(&f, folded, cases[i].expected);
  }
  end(&f);
}

static void null_operands_are_noted_once_for_all(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  assert_null(byoc_loop_binary(&f.b, BYOC_LOOP_OP_ADD, NULL, f.i));
  assert_true(f.b.failed);
  assert_null(byoc_loop_select(&f.b, NULL, f.i, f.i));
  assert_null(byoc_loop_cast(&f.b, BYOC_DTYPE_F32, NULL));
  end(&f);
}

// ---- text ----

static byoc_status_t parse(byoc_arena_t *arena, const char *text, byoc_diag_t *diag, byoc_loop_kernel_t **out) {
  byoc_lexer_t lexer;
  byoc_lexer_init(&lexer, text, "k.ir", arena, diag);
  return byoc_loop_kernel_parse(&lexer, arena, out);
}

static void text_comes_back(void **state) {
  (void)state;
  static const char text[] = "{\n"
                             "  name \"k\"\n"
                             "  description \"Softmax \\\"a\\\" \\x03\\xff\"\n"
                             "  symbols \"N\"\n"
                             "  input x : f16[N,4] align 64 scope \"global\"\n"
                             "  output y : f32[N,4]\n"
                             "  output z : u8[N * 4]\n"
                             "  comment \"rows\"\n"
                             "  parallel i in 0 .. dim(\"N\") {\n"
                             "    local row : f64[4]\n"
                             "    var sum : f32 = -inf\n"
                             "    unroll j in 0 .. 4 {\n"
                             "      let v : f32 = cast(f32, x[i * 4 + j])\n"
                             "      row[j] = cast(f64, v)\n"
                             "      sum = max(sum, v * (v + 1.5) - -2.0)\n"
                             "    }\n"
                             "    while lt(sum, 0.0) {\n"
                             "      sum = sum + 1.0\n"
                             "    }\n"
                             "    if and(lt(i, 3), true) {\n"
                             "      y[i] = select(isnan(sum), nan, sum)\n"
                             "    } else {\n"
                             "      z[i] = u8(200)\n"
                             "    }\n"
                             "    {\n"
                             "      vector k in 1 .. 4 {\n"
                             "        y[i * 4 + k] = cast(f32, row[k] * f64(0.5))\n"
                             "      }\n"
                             "    }\n"
                             "  }\n"
                             "}";
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_diag_t diag = {0};
  byoc_loop_kernel_t *kernel;
  byoc_test_ok(parse(&arena, text, &diag, &kernel), &diag);
  byoc_string_t again;
  byoc_string_init(&again, byoc_allocator_system());
  byoc_loop_kernel_print_at(kernel, 0, &again);
  byoc_test_same_text(again.data, text);
  byoc_string_deinit(&again);
  byoc_arena_deinit(&arena);
}

// Inside a module, everything is two columns further in.
static void kernels_are_indented(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_diag_t diag = {0};
  byoc_loop_kernel_t *kernel;
  byoc_test_ok(parse(&arena, "{ name \"k\" output y : f32[4] y[0] = 1.0 }", &diag, &kernel), &diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_loop_kernel_print(kernel, &text);
  byoc_test_same_text(text.data, "{\n    name \"k\"\n    output y : f32[4]\n    y[0] = 1.0\n  }");
  byoc_string_deinit(&text);
  byoc_arena_deinit(&arena);
}

#define KERNEL(body) "{ name \"k\" input x : f32[4] output y : f32[4] output n : i64[4] " body " }"

static void mistakes_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {KERNEL("y[0] = z"), "no variable or buffer 'z'"},
      {KERNEL("let t_0 = x[0] y[0] = t_0"), "'t_0' is a name of C, or one that kernels in C use themselves"},
      {KERNEL("let int = x[0] y[0] = int"), "'int' is a name of C"},
      {KERNEL("let floorf = x[0] y[0] = floorf"), "'floorf' is a name of C"},
      {KERNEL("y[0] = 1"), "value of another type"},
      {KERNEL("y[0.5] = 1.0"), "index is not i64"},
      {KERNEL("x[0] = 1.0"), "store to an input"},
      {KERNEL("y[0] = x[0] + cast(f32, x[0] + 1)"), "operands of two types"},
      {KERNEL("{ let a : f32 = 1.0 } y[0] = a"), "variable out of scope: 'a'"},
      {KERNEL("let a : f32 = 1.0 a = 2.0"), "assignment to a constant"},
      {KERNEL("serial i in 0 .. 4 { parallel j in 0 .. 4 { } }"), "parallel loop inside another statement"},
      {KERNEL("var s : f32 = 0.0 vector i in 0 .. 4 { s = s + x[i] }"), "share a variable"},
      {KERNEL("unroll i in 0 .. n[0] { }"), "without constant bounds"},
      {KERNEL("y[0] = and(x[0], x[1])"), "operator does not take such operands"},
      {KERNEL("y[0] = sqrt(x[0], x[1])"), "expected ')'"},
      {KERNEL("y[0] = frobnicate(x[0])"), "frobnicate"},
      {KERNEL("let x : f32 = 1.0"), "defined twice"},
      {"{ name \"k\" output y : f32[4] input x : f32[4] }", "inputs come before outputs"},
      {KERNEL("y[0] = "), "expected an expression"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_arena_t arena;
    byoc_arena_init(&arena, byoc_allocator_system());
    byoc_diag_t diag = {0};
    byoc_loop_kernel_t *kernel;
    byoc_status_t status = parse(&arena, cases[i].text, &diag, &kernel);
    assert_null(kernel);
    byoc_test_error(status, diag.status, &diag, cases[i].message);
    assert_int_not_equal(status, BYOC_OK);
    byoc_arena_deinit(&arena);
  }
}

// What is needed several times is computed once in the emitted C, unless only a branch needs it.
static void common_parts_are_named(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_loop_builder_t *b = &f.b;
  const byoc_loop_expr_t *x = byoc_loop_load(b, f.x, f.j), *e = byoc_loop_unary(b, BYOC_LOOP_OP_EXP, x),
                         *t = byoc_loop_unary(b, BYOC_LOOP_OP_TANH, x);
  byoc_loop_store(
      b, f.y, f.j,
      OP(ADD, OP(MUL, e, e), byoc_loop_select(b, OP(LT, x, byoc_loop_const(b, BYOC_DTYPE_F32, 0)), OP(MUL, t, t), x)));
  byoc_loop_end(b);
  byoc_loop_end(b);
  assert_false(b->failed);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  assert_int_equal(byoc_kernel_emit_c((const byoc_loop_kernel_t *const *)&b->kernel, 1, &text), BYOC_OK);
  if (strstr(text.data, "const float t_0 = byoc_exp_f32(x[j2]);\n") == NULL ||
      strstr(text.data, "y[j2] = t_0 * t_0 + ") == NULL || strstr(text.data, "t_1") != NULL) {
    fail_msg("%s", strstr(text.data, "BYOC_PACKED int32_t k("));
  }
  byoc_string_deinit(&text);
  end(&f);
}

// What a compiler can make vectors of, instead of a call of libm for each number.
static void exponentials_are_inlined(void **state) {
  (void)state;
  static const struct {
    byoc_loop_op_t op;
    const char *call;
  } calls[] = {
      {BYOC_LOOP_OP_EXP, "y[j2] = byoc_exp_f32(x[j2]);"}, {BYOC_LOOP_OP_EXPM1, "y[j2] = byoc_expm1_f32(x[j2]);"},
      {BYOC_LOOP_OP_LOG, "y[j2] = byoc_log_f32(x[j2]);"}, {BYOC_LOOP_OP_LOG1P, "y[j2] = byoc_log1p_f32(x[j2]);"},
      {BYOC_LOOP_OP_SIN, "y[j2] = byoc_sin_f32(x[j2]);"}, {BYOC_LOOP_OP_COS, "y[j2] = byoc_cos_f32(x[j2]);"}};
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i) {
    fixture_t f;
    begin(&f);
    byoc_loop_builder_t *b = &f.b;
    byoc_loop_store(b, f.y, f.j, byoc_loop_unary(b, calls[i].op, byoc_loop_load(b, f.x, f.j)));
    byoc_loop_end(b);
    byoc_loop_end(b);
    assert_false(b->failed);
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    assert_int_equal(byoc_kernel_emit_c((const byoc_loop_kernel_t *const *)&b->kernel, 1, &text), BYOC_OK);
    if (strstr(text.data, calls[i].call) == NULL) fail_msg("%s", text.data);
    byoc_string_deinit(&text);
    end(&f);
  }
}

// What is slow to compute and the same in each iteration of a vector loop stands in front of the loop.
static void expect_loop(const char *body, const char *expected) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_diag_t diag = {0};
  byoc_loop_kernel_t *kernel;
  byoc_string_t source, text;
  byoc_string_init(&source, byoc_allocator_system());
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&source, "{ name \"k\" input x : f32[8] input n : i64[4] output y : f32[4] %s }", body);
  byoc_test_ok(parse(&arena, source.data, &diag, &kernel), &diag);
  assert_int_equal(byoc_kernel_emit_c((const byoc_loop_kernel_t *const *)&kernel, 1, &text), BYOC_OK);
  if (strstr(text.data, expected) == NULL) fail_msg("no '%s' in:\n%s", expected, text.data);
  byoc_string_deinit(&text);
  byoc_string_deinit(&source);
  byoc_arena_deinit(&arena);
}

// gcc ignores the hint to vectorise if the condition of the loop branches.
static void ends_that_branch_are_variables(void **state) {
  (void)state;
  expect_loop("vector i in 0 .. min(n[0], 4) { y[i] = x[i] }",
              "for (int64_t i = 0, i_end = byoc_min_i64(n[0], 4); i < i_end; ++i) {");
  expect_loop("vector i in 0 .. 4 { y[i] = x[i] + 1.0 }", "for (int64_t i = 0; i < 4; ++i) {");
}

static void invariants_leave_vector_loops(void **state) {
  (void)state;
  expect_loop("serial i in 0 .. 4 { vector j in 0 .. 4 { y[j] = x[j] * div(1.0, sqrt(x[i] + 1.0)) } }",
              "    const float t_0 = 1.0f / sqrtf(x[i] + 1.0f);\n"
              "    BYOC_VECTOR\n"
              "    for (int64_t j = 0; j < 4; ++j) {\n"
              "      y[j] = x[j] * t_0;\n");
  // A part of a part has no name of its own, a second place has the first one's.
  expect_loop(
      "vector j in 0 .. 4 { let a : f32 = div(x[j], exp(x[4])) y[j] = a - exp(sqrt(x[5])) }",
      "  const float t_0 = byoc_exp_f32(x[4]);\n  const float t_1 = byoc_exp_f32(sqrtf(x[5]));\n  BYOC_VECTOR\n");
  // What nobody reads is not named either.
  expect_loop("vector j in 0 .. 4 { let a : f32 = sqrt(x[4]) y[j] = x[j] }",
              ".data;\n  BYOC_VECTOR\n  for (int64_t j = 0; j < 4; ++j) {\n    y[j] = x[j];\n");
  // It stays where the loop may not run, where a branch guards it, and where the loop may change what it loads.
  expect_loop("vector j in 0 .. n[0] { y[j] = div(x[j], sqrt(x[4])) }", "    y[j] = x[j] / sqrtf(x[4]);\n");
  expect_loop("vector j in 0 .. 4 { y[j] = select(lt(x[j], 0.0), sqrt(x[4]), x[j]) }", " ? sqrtf(x[4]) : x[j];\n");
  expect_loop("vector j in 0 .. 4 { y[j] = div(x[j], sqrt(x[j])) }", "    y[j] = x[j] / sqrtf(x[j]);\n");
  expect_loop("vector j in 0 .. 4 { let a : f32 = x[j] y[j] = sqrt(a) }", "    y[j] = sqrtf(a);\n");
}

// A float that is known to be in the range of i32 is cast without a look at it.
static void casts_of_limited_floats_are_plain(void **state) {
  (void)state;
  static const struct {
    double low, high; // INFINITY: none
    const char *cast;
  } cases[] = {{0, 255, "(float)(int32_t)("},
               {-2147483648.0, 2147483000.0, "(float)(int32_t)("},
               {-2147483648.0, 2147483647.0, "byoc_i32_from_f32("}, // 2^31 as f32
               {-2147484000.0, 0, "byoc_i32_from_f32("},
               {5, -5, "byoc_i32_from_f32("},
               {-INFINITY, 255, "byoc_i32_from_f32("},
               {0, INFINITY, "byoc_i32_from_f32("}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    fixture_t f;
    begin(&f);
    byoc_loop_builder_t *b = &f.b;
    const byoc_loop_expr_t *x = byoc_loop_load(b, f.x, f.j), *low = byoc_loop_const(b, BYOC_DTYPE_F32, cases[i].low),
                           *high = byoc_loop_const(b, BYOC_DTYPE_F32, cases[i].high);
    if (!isinf(cases[i].low)) x = byoc_loop_select(b, OP(LT, low, x), x, low);
    if (!isinf(cases[i].high)) x = byoc_loop_select(b, OP(LT, x, high), x, high);
    byoc_loop_store(b, f.y, f.j, byoc_loop_cast(b, BYOC_DTYPE_F32, byoc_loop_cast(b, BYOC_DTYPE_I32, x)));
    byoc_loop_end(b);
    byoc_loop_end(b);
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    assert_int_equal(byoc_kernel_emit_c((const byoc_loop_kernel_t *const *)&b->kernel, 1, &text), BYOC_OK);
    const char *store = strstr(text.data, "y[j2] = ");
    if (store == NULL || strstr(store, cases[i].cast) == NULL) fail_msg("no '%s' in:\n%s", cases[i].cast, text.data);
    byoc_string_deinit(&text);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(index_arithmetic_is_simplified),
      cmocka_unit_test(run_time_extents_divide_out),
      cmocka_unit_test(values_are_folded_as_they_compute),
      cmocka_unit_test(ranges_decide),
      cmocka_unit_test(casts_of_constants_saturate),
      cmocka_unit_test(constant_integers_become_floats),
      cmocka_unit_test(floats_are_folded),
      cmocka_unit_test(null_operands_are_noted_once_for_all),
      cmocka_unit_test(text_comes_back),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(common_parts_are_named),
      cmocka_unit_test(kernels_are_indented),
      cmocka_unit_test(names_that_end_in_digits_stay_unique),
      cmocka_unit_test(names_of_c_are_not_taken),
      cmocka_unit_test(hidden_names_are_refused),
      cmocka_unit_test(ends_that_branch_are_variables),
      cmocka_unit_test(exponentials_are_inlined),
      cmocka_unit_test(invariants_leave_vector_loops),
      cmocka_unit_test(casts_of_limited_floats_are_plain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
