// SPDX-License-Identifier: Apache-2.0
// Random kernels over all operators and element types: the compiled C and the interpreter give the same bits, and the
// text form reads back unchanged.
#include "tests/unit/kernel/kernel_support.h"

#include "core/ir/loop_fold.h"
#include "core/ir/loop_text.h"

#define EXTENT    37
#define ROWS      5
#define INPUTS    4
#define BATCH     48
#define MAX_DEPTH 5

static const byoc_dtype_t types[] = {
    BYOC_DTYPE_F32,        BYOC_DTYPE_F64,       BYOC_DTYPE_I64,  BYOC_DTYPE_I32,      BYOC_DTYPE_U8,
    BYOC_DTYPE_I8,         BYOC_DTYPE_BOOL,      BYOC_DTYPE_U16,  BYOC_DTYPE_I16,      BYOC_DTYPE_U32,
    BYOC_DTYPE_U64,        BYOC_DTYPE_F16,       BYOC_DTYPE_BF16, BYOC_DTYPE_F8E4M3FN, BYOC_DTYPE_F8E5M2,
    BYOC_DTYPE_F8E5M2FNUZ, BYOC_DTYPE_F8E4M3FNUZ};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

typedef struct generator_t {
  byoc_test_random_t *random;
  byoc_loop_builder_t *b;
  const byoc_loop_buffer_t *inputs[INPUTS];
  const byoc_loop_expr_t *variables[16]; // available values
  size_t variable_count;
  const byoc_loop_expr_t *index; // i64, in [0, ROWS * EXTENT)
} generator_t;

static byoc_dtype_t random_type(byoc_test_random_t *random) {
  // Plain types come as often as all others together.
  return byoc_test_below(random, 2) ? types[byoc_test_below(random, 5)] : types[byoc_test_below(random, TYPE_COUNT)];
}

static const byoc_loop_expr_t *random_expr(generator_t *g, byoc_dtype_t dtype, int depth);

static const byoc_loop_expr_t *random_leaf(generator_t *g, byoc_dtype_t dtype) {
  switch (byoc_test_below(g->random, 4)) {
  case 0:
    for (size_t i = 0; i < g->variable_count; ++i) {
      size_t at = (i + byoc_test_below(g->random, 4)) % g->variable_count;
      if (g->variables[at]->dtype == dtype) return g->variables[at];
    }
    break;
  case 1:
    for (size_t i = 0; i < INPUTS; ++i)
      if (g->inputs[i]->dtype == dtype) return byoc_loop_load(g->b, g->inputs[i], g->index);
    break;
  case 2: {
    const byoc_loop_buffer_t *input = g->inputs[byoc_test_below(g->random, INPUTS)];
    return byoc_loop_cast(g->b, dtype, byoc_loop_load(g->b, input, g->index));
  }
  default:
    break;
  }
  if (byoc_loop_is_float(dtype)) return byoc_loop_const(g->b, dtype, byoc_test_float(g->random) * 4);
  return byoc_loop_const_int(g->b, dtype, (int64_t)byoc_test_below(g->random, 19) - 9);
}

static bool op_takes(byoc_loop_op_t op, byoc_dtype_t dtype) {
  bool is_float = byoc_loop_is_float(dtype), is_bool = dtype == BYOC_DTYPE_BOOL;
  if (op == BYOC_LOOP_OP_AND || op == BYOC_LOOP_OP_OR || op == BYOC_LOOP_OP_XOR || op == BYOC_LOOP_OP_NOT)
    return !is_float;
  if (op == BYOC_LOOP_OP_DOT4) return dtype == BYOC_DTYPE_I32;
  if (op == BYOC_LOOP_OP_SHL || op == BYOC_LOOP_OP_SHR) return !is_float && !is_bool;
  if (op == BYOC_LOOP_OP_MIN || op == BYOC_LOOP_OP_MAX || byoc_loop_is_comparison(op)) return true;
  byoc_loop_category_t category = byoc_loop_op_category(op);
  if (category == BYOC_LOOP_POWER || category == BYOC_LOOP_ROUNDING || category == BYOC_LOOP_TRANSCENDENTAL)
    return is_float;
  return !is_bool;
}

static const byoc_loop_expr_t *random_op(generator_t *g, byoc_dtype_t dtype, int depth) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    byoc_loop_op_t op = (byoc_loop_op_t)byoc_test_below(g->random, BYOC_LOOP_OP_COUNT);
    byoc_dtype_t operand = dtype;
    if (byoc_loop_is_comparison(op)) {
      if (dtype != BYOC_DTYPE_BOOL) continue;
      operand = random_type(g->random);
    }
    if (!op_takes(op, operand)) continue;
    const byoc_loop_expr_t *a = random_expr(g, operand, depth - 1);
    if (byoc_loop_op_operand_count(op) == 1) return byoc_loop_unary(g->b, op, a);
    const byoc_loop_expr_t *b = byoc_test_below(g->random, 6) ? random_expr(g, operand, depth - 1) : a; // shared
    return byoc_loop_binary(g->b, op, a, b);
  }
  return random_leaf(g, dtype);
}

static const byoc_loop_expr_t *random_expr(generator_t *g, byoc_dtype_t dtype, int depth) {
  if (depth <= 0) return random_leaf(g, dtype);
  switch (byoc_test_below(g->random, 8)) {
  case 0:
    return random_leaf(g, dtype);
  case 1:
    return byoc_loop_cast(g->b, dtype, random_expr(g, random_type(g->random), depth - 1));
  case 2:
    return byoc_loop_select(g->b, random_expr(g, BYOC_DTYPE_BOOL, depth - 1), random_expr(g, dtype, depth - 1),
                            random_expr(g, dtype, depth - 1));
  case 3: { // a load that is in range only because of its guard
    const byoc_loop_buffer_t *input = g->inputs[byoc_test_below(g->random, INPUTS)];
    const byoc_loop_expr_t *shifted = BYOC_LADD(g->b, g->index, byoc_loop_int(g->b, 11));
    const byoc_loop_expr_t *inside =
        byoc_loop_binary(g->b, BYOC_LOOP_OP_LT, shifted, byoc_loop_int(g->b, ROWS * EXTENT));
    return byoc_loop_select(g->b, inside, byoc_loop_cast(g->b, dtype, byoc_loop_load(g->b, input, shifted)),
                            random_leaf(g, dtype));
  }
  default:
    return random_op(g, dtype, depth);
  }
}

static void add_variable(generator_t *g, const byoc_loop_expr_t *variable) {
  if (variable && g->variable_count < 16) g->variables[g->variable_count++] = variable;
}

// Statements that end in a store of one element of the output.
static void random_body(generator_t *g, const byoc_loop_buffer_t *output) {
  size_t mark = g->variable_count;
  byoc_loop_builder_t *b = g->b;
  for (uint64_t i = byoc_test_below(g->random, 3); i > 0; --i)
    add_variable(g, byoc_loop_let(b, "v", random_expr(g, random_type(g->random), MAX_DEPTH - 1)));
  if (byoc_test_below(g->random, 3) == 0) { // a scalar changed in an inner loop
    byoc_dtype_t dtype = random_type(g->random);
    const byoc_loop_expr_t *total = byoc_loop_mutable(b, "total", random_expr(g, dtype, 2));
    byoc_loop_for(b, byoc_test_below(g->random, 2) ? BYOC_LOOP_UNROLL : BYOC_LOOP_SERIAL, "k", byoc_loop_int(b, 0),
                  byoc_loop_int(b, 4));
    const byoc_loop_expr_t *term = random_expr(g, dtype, 3);
    byoc_loop_assign(b, total,
                     dtype == BYOC_DTYPE_BOOL ? byoc_loop_binary(b, BYOC_LOOP_OP_XOR, total, term)
                                              : BYOC_LADD(b, total, term));
    byoc_loop_end(b);
    add_variable(g, total);
  }
  if (byoc_test_below(g->random, 4) == 0) { // branches that write a local buffer
    byoc_dtype_t dtype = random_type(g->random);
    byoc_loop_buffer_t *local = byoc_loop_allocate(b, "local", dtype, 3);
    for (int i = 0; i < 3; ++i) byoc_loop_store(b, local, byoc_loop_int(b, i), random_expr(g, dtype, 2));
    byoc_loop_if(b, random_expr(g, BYOC_DTYPE_BOOL, 2));
    byoc_loop_store(b, local, byoc_loop_int(b, 1), random_expr(g, dtype, 3));
    byoc_loop_else(b);
    byoc_loop_store(b, local, byoc_loop_int(b, 2), random_expr(g, dtype, 3));
    byoc_loop_end(b);
    const byoc_loop_expr_t *at = byoc_loop_binary(b, BYOC_LOOP_OP_MOD, g->index, byoc_loop_int(b, 3));
    add_variable(g, byoc_loop_let(b, "picked", byoc_loop_load(b, local, at)));
  }
  byoc_loop_store(b, output, g->index, random_expr(g, output->dtype, MAX_DEPTH));
  g->variable_count = mark;
}

// A sum over one input, read back by what follows.
static void random_reduction(generator_t *g) {
  byoc_loop_builder_t *b = g->b;
  static const byoc_loop_op_t ops[] = {BYOC_LOOP_OP_ADD, BYOC_LOOP_OP_MUL, BYOC_LOOP_OP_MIN, BYOC_LOOP_OP_MAX};
  const byoc_loop_buffer_t *input = g->inputs[byoc_test_below(g->random, INPUTS)];
  if (input->dtype == BYOC_DTYPE_BOOL) return;
  const byoc_loop_expr_t *total = byoc_loop_mutable(b, "sum", random_leaf(g, input->dtype));
  const byoc_loop_expr_t *k =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", byoc_loop_int(b, 2), byoc_loop_int(b, ROWS * EXTENT));
  byoc_loop_assign(b, total,
                   byoc_loop_binary(b, ops[byoc_test_below(g->random, 4)], total, byoc_loop_load(b, input, k)));
  byoc_loop_end(b);
  add_variable(g, total);
}

static const byoc_loop_kernel_t *random_kernel(byoc_test_random_t *random, byoc_arena_t *arena, int number) {
  byoc_loop_builder_t builder;
  char name[32];
  snprintf(name, sizeof(name), "kernel_%d", number);
  byoc_loop_builder_init(&builder, arena, name);
  generator_t g = {.random = random, .b = &builder};
  const byoc_type_t *type;
  for (int i = 0; i < INPUTS; ++i) {
    type = byoc_type_tensor_static(arena, random_type(random), 2, (const int64_t[]){ROWS, EXTENT});
    snprintf(name, sizeof(name), "in%d", i);
    g.inputs[i] = byoc_loop_parameter(&builder, BYOC_LOOP_BUFFER_INPUT, name, type);
  }
  type = byoc_type_tensor_static(arena, random_type(random), 2, (const int64_t[]){ROWS, EXTENT});
  const byoc_loop_buffer_t *output = byoc_loop_parameter(&builder, BYOC_LOOP_BUFFER_OUTPUT, "out0", type);
  g.index = byoc_loop_int(&builder, 3);
  if (byoc_test_below(random, 2)) random_reduction(&g);
  bool parallel = byoc_test_below(random, 3) != 0, vector = byoc_test_below(random, 3) != 0;
  const byoc_loop_expr_t *row = byoc_loop_for(&builder, parallel ? BYOC_LOOP_PARALLEL : BYOC_LOOP_SERIAL, "row",
                                              byoc_loop_int(&builder, 0), byoc_loop_int(&builder, ROWS));
  const byoc_loop_expr_t *column = byoc_loop_for(&builder, vector ? BYOC_LOOP_VECTOR : BYOC_LOOP_SERIAL, "column",
                                                 byoc_loop_int(&builder, 0), byoc_loop_int(&builder, EXTENT));
  g.index = BYOC_LADD(&builder, BYOC_LMUL(&builder, row, byoc_loop_int(&builder, EXTENT)), column);
  random_body(&g, output);
  byoc_loop_end(&builder);
  byoc_loop_end(&builder);
  assert_false(builder.failed);
  const byoc_loop_kernel_t *kernel = builder.kernel;
  byoc_loop_builder_deinit(&builder);
  return kernel;
}

static void fill(byoc_test_random_t *random, byoc_dtype_t dtype, void *data, int64_t count) {
  size_t size = byoc_dtype_bits(dtype) / 8;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = byoc_test_next(random);
    if (dtype == BYOC_DTYPE_BOOL) bits &= 1;
    if (byoc_test_below(random, 3)) { // mostly tame numbers
      float f = byoc_test_float(random) * 8;
      double d = f;
      if (dtype == BYOC_DTYPE_F32)
        memcpy(&bits, &f, sizeof(f));
      else if (dtype == BYOC_DTYPE_F64)
        memcpy(&bits, &d, sizeof(d));
      else if (byoc_loop_is_integer(dtype))
        bits = (uint64_t)(int64_t)(f * 4);
    }
    memcpy((char *)data + (size_t)i * size, &bits, size);
  }
}

static bool is_nan_at(byoc_dtype_t dtype, const void *data, size_t i) {
  switch (dtype) {
  case BYOC_DTYPE_F32:
    return isnan(((const float *)data)[i]);
  case BYOC_DTYPE_F64:
    return isnan(((const double *)data)[i]);
  case BYOC_DTYPE_F16:
    return (((const uint16_t *)data)[i] & 0x7fff) > 0x7c00;
  case BYOC_DTYPE_BF16:
    return (((const uint16_t *)data)[i] & 0x7fff) > 0x7f80;
  case BYOC_DTYPE_F8E4M3FN:
    return (((const uint8_t *)data)[i] & 0x7f) == 0x7f;
  case BYOC_DTYPE_F8E5M2:
    return (((const uint8_t *)data)[i] & 0x7f) > 0x7c;
  default:
    return false;
  }
}

static void same_results(const byoc_loop_kernel_t *kernel, const void *compiled, const void *interpreted) {
  byoc_dtype_t dtype = kernel->parameters.data[INPUTS]->dtype;
  size_t size = byoc_dtype_bits(dtype) / 8;
  for (size_t i = 0; i < ROWS * EXTENT; ++i) {
    if (memcmp((const char *)compiled + i * size, (const char *)interpreted + i * size, size) == 0) continue;
    if (is_nan_at(dtype, compiled, i) && is_nan_at(dtype, interpreted, i)) continue;
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_kernel_emit_c(&kernel, 1, &text);
    uint64_t a = 0, b = 0;
    memcpy(&a, (const char *)compiled + i * size, size);
    memcpy(&b, (const char *)interpreted + i * size, size);
    fail_msg("element %zu of %s: compiled 0x%llx, interpreted 0x%llx\n%s", i, kernel->name, (unsigned long long)a,
             (unsigned long long)b, text.data);
  }
}

static void text_comes_back(const byoc_loop_kernel_t *kernel, byoc_arena_t *arena) {
  byoc_string_t text, again;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_init(&again, byoc_allocator_system());
  byoc_loop_kernel_print(kernel, &text);
  byoc_diag_t diag = {0};
  byoc_lexer_t lexer;
  byoc_loop_kernel_t *parsed;
  byoc_lexer_init(&lexer, text.data, "kernel", arena, &diag);
  byoc_test_ok(byoc_loop_kernel_parse(&lexer, arena, &parsed), &diag);
  byoc_loop_kernel_print(parsed, &again);
  byoc_test_same_text(again.data, text.data);
  byoc_string_deinit(&text);
  byoc_string_deinit(&again);
}

static void run_batch(uint64_t seed, const char *compiler, const char *optimisation) {
  byoc_test_random_t random = {seed};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  const byoc_loop_kernel_t *kernels[BATCH];
  byoc_diag_t diag = {0};
  for (int i = 0; i < BATCH; ++i) {
    kernels[i] = random_kernel(&random, &arena, i);
    byoc_test_ok(byoc_loop_verify(kernels[i], &diag), &diag);
    text_comes_back(kernels[i], &arena);
  }
  void *library = test_load_kernels(kernels, BATCH, compiler, optimisation);
  for (int i = 0; i < BATCH; ++i) {
    DLTensor tensors[INPUTS + 1] = {0};
    int64_t shape[2] = {ROWS, EXTENT};
    for (int t = 0; t <= INPUTS; ++t) {
      byoc_dtype_t dtype = kernels[i]->parameters.data[t]->dtype;
      tensors[t] = (DLTensor){.ndim = 2, .shape = shape};
      tensors[t].data = calloc(1, test_bytes(dtype, ROWS * EXTENT));
      assert_non_null(tensors[t].data);
      if (t < INPUTS) fill(&random, dtype, tensors[t].data, ROWS * EXTENT);
    }
    void *compiled = tensors[INPUTS].data;
    assert_int_equal(test_call(test_find(library, kernels[i]->name), NULL, tensors, INPUTS, 1), BYOC_OK);
    tensors[INPUTS].data = calloc(1, test_bytes(kernels[i]->parameters.data[INPUTS]->dtype, ROWS * EXTENT));
    byoc_interpreter_t *interpreter;
    byoc_test_ok(byoc_interpreter_create(kernels[i], byoc_allocator_system(), &diag, &interpreter), &diag);
    assert_int_equal(test_call(NULL, interpreter, tensors, INPUTS, 1), BYOC_OK);
    same_results(kernels[i], compiled, tensors[INPUTS].data);
    byoc_interpreter_destroy(interpreter);
    free(compiled);
    for (int t = 0; t <= INPUTS; ++t) free(tensors[t].data);
  }
  dlclose(library);
  byoc_arena_deinit(&arena);
}

static void compiled_equals_interpreted(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; ++seed) run_batch(seed, "cc", seed % 2 ? "-O2" : "-O3");
}

static void compiled_by_clang_equals_interpreted(void **state) {
  (void)state;
  if (!byoc_program_exists("clang")) byoc_test_skip("clang is not installed");
  run_batch(100, "clang", "-O2");
  run_batch(101, "clang", "-O3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compiled_equals_interpreted),
      cmocka_unit_test(compiled_by_clang_equals_interpreted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
