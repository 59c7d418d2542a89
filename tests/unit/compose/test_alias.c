// SPDX-License-Identifier: Apache-2.0
// Aliases: views declared in any order and shared cells, read and written where they may be, without copies.
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "tests/unit/compose/host_model.h"

#define PASSES "place-lifetimes,plan-memory"

// A kernel that writes eight numbers, x and x + 10, and one that doubles two.
#define KERNELS                                                                                                        \
  "kernel {\n  name \"spread\"\n  input x : f32[4]\n  output y : f32[8]\n"                                             \
  "  serial i in 0 .. 4 {\n    y[i] = x[i]\n    y[i + 4] = x[i] + 10.0\n  }\n}\n"                                      \
  "kernel {\n  name \"twice\"\n  input x : f32[2]\n  output y : f32[2]\n"                                              \
  "  serial i in 0 .. 2 {\n    y[i] = x[i] + x[i]\n  }\n}\n"

static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void run_four(host_model_t *m, byoc_argument_t *results) {
  static const float x[4] = {1, 2, 3, 4};
  static const int64_t four = 4;
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, &four, x);
  host_model_run(m, &input, results);
}

static float at(const byoc_argument_t *result, int64_t index) {
  return ((const float *)result->data)[index];
}

// %d is a part of %c, that of %b, and that of %a, which is declared last.
static void test_h6_chains_of_views_in_any_order(void **state) {
  (void)state;
  static const char *const views[] = {"  view %b : f32[2,2] = %a + 16\n", "  view %c : f32[3] = %b + 4\n",
                                      "  view %d : f32[2] = %c + 4\n"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  for (int order = 0; order < 6; ++order) {
    byoc_string_clear(&text);
    byoc_string_append(&text, "host program \"chain\" {\n  input %x : f32[4]\n  output %y : f32[2]\n");
    for (int k = 0; k < 3; ++k) byoc_string_append(&text, views[orders[order][k]]);
    byoc_string_append(&text,
                       "  local %a : f32[8]\n  kernel spread(%x) -> (%a)\n  kernel twice(%d) -> (%y)\n}\n" KERNELS);
    host_model_t m;
    byoc_argument_t y;
    host_model_open(&m, text.data, PASSES);
    assert_int_equal(m.program->workspace_size_bytes, 64);
    const byoc_host_buffer_t *d = byoc_host_find_buffer(m.program, "d");
    assert_ptr_equal(d->base, byoc_host_find_buffer(m.program, "a"));
    assert_int_equal(d->offset_bytes, 24);
    run_four(&m, &y);
    assert_true(at(&y, 0) == 26 && at(&y, 1) == 28);
    host_model_close(&m);
  }
  byoc_string_deinit(&text);
  byoc_diag_t diag = {0};
  host_model_t m;
  byoc_test_error(byoc_host_program_parse("host program \"p\" {\n  view %a : f32[2] = %b + 0\n"
                                          "  view %b : f32[2] = %a + 0\n}\n",
                                          "p.host", NULL, byoc_allocator_system(), &diag, &m.module, &m.program),
                  BYOC_INVALID_DATA, &diag, "%a is a view of itself");
}

// Cells share what a cell shares that shares.
static void test_h6_chains_of_cells(void **state) {
  (void)state;
  static const char text[] = "host program \"values\" dynamic {\n  symbol N of inputs\n  input %x : value f32[N]\n"
                             "  output %y : value f32[N]\n  output %z : value f32[1,N]\n  local %d : value f32[N]\n"
                             "  local %c : value f32[1,N]\n  local %b : value f32[N,1]\n  local %a : value f32[N]\n"
                             "  local %e : value f32[N]\n  match %x binds N at 0\n  kernel add_one(%x) [N] -> (%a)\n"
                             "  share %a -> %b\n  share %b -> %c\n  share %c -> %d\n  share %c -> %z\n"
                             "  kernel add_one(%d) [N] -> (%e)\n  share %e -> %y\n}\n"
                             "kernel {\n  name \"add_one\"\n  symbols \"L\"\n  input x : f32[L]\n  output y : f32[L]\n"
                             "  serial i in 0 .. dim(\"L\") {\n    y[i] = x[i] + 1.0\n  }\n}\n";
  host_model_t m;
  byoc_argument_t results[2];
  host_model_open(&m, text, PASSES);
  run_four(&m, results);
  assert_true(at(&results[0], 0) == 3 && at(&results[0], 3) == 6);
  assert_true(results[1].rank == 2 && at(&results[1], 3) == 5);
  host_model_close(&m);
}

static void expect_refused(const char *text, const char *reason) {
  byoc_diag_t diag = {0};
  host_model_t m;
  host_model_parse(&m, text);
  byoc_test_error(byoc_host_program_verify(m.program, &diag), BYOC_INTERNAL, &diag, reason);
  host_model_close(&m);
}

static void test_h6_inputs_and_constants_are_not_written_through_views(void **state) {
  (void)state;
  expect_refused("host program \"p\" {\n  input %x : f32[4]\n  output %y : f32[4]\n  view %v : f32[4] = %x + 0\n"
                 "  copy %x -> %y\n  copy %y -> %v\n}\n",
                 "buffer 'v' is read-only, but is written: it is an input");
  expect_refused("host program \"p\" {\n  input %x : f32[4]\n  output %y : f32[4]\n"
                 "  constant %w : f32[4] = [1.0, 2.0, 3.0, 4.0]\n  view %v : f32[2] = %u + 0\n"
                 "  view %u : f32[2] = %w + 8\n  view %z : f32[2] = %x + 0\n  copy %x -> %y\n  copy %z -> %v\n}\n",
                 "buffer 'v' is read-only, but is written: it is a constant");
}

// Reshape, Part, Slice and Gather of one row read the bytes where they are: no copy, no other buffer.
static void test_h6_select_and_view_share(void **state) {
  (void)state;
  static const char text[] =
      "module {\n  constant @one : i64[] = [1]\n  constant @flat : i64[1] = [8]\n"
      "  constant @from : i64[1] = [2]\n  constant @to : i64[1] = [4]\n"
      "  func @main(%x : f32[4,2]) -> (%y : f32[2,2], %z : f32[2], %w : f32[8], %p : f32[2]) {\n"
      "    %r = Softmax@13(%x) : f32[4,2]\n"
      "    %s = Slice@13(%r, @from, @to) : f32[2,2]\n    %y = Softmax@13(%s) : f32[2,2]\n"
      "    %g = Gather@13(%r, @one) : f32[2]\n    %z = Softmax@13(%g) : f32[2]\n"
      "    %f = Reshape@14(%r, @flat) : f32[8]\n    %w = Softmax@13(%f) : f32[8]\n"
      "    %part = byoc::Part@1(%r) {offset_bytes = 24} : f32[2]\n    %p = Softmax@13(%part) : f32[2]\n"
      "    return %y, %z, %w, %p\n  }\n}\n";
  byoc_diag_t diag = {0};
  host_model_t m = {0};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &m.module), &diag);
  byoc_test_ok(byoc_infer_module(m.module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(m.module, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_lower(m.module, byoc_allocator_system(), &diag, &m.program), &diag);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m.program, NULL, &diag), &diag);
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_host_program_print(m.program, &(byoc_host_print_options_t){.program_only = true}, &out);
  byoc_test_same_text(out.data, "host program \"main\" workspace 64 bound 64 {\n"
                                "  input    %x : f32[4,2]\n  output   %y : f32[2,2]\n  output   %z : f32[2]\n"
                                "  output   %w : f32[8]\n  output   %p : f32[2]\n  local    %r : f32[4,2] at 0\n"
                                "  view     %f : f32[8] = %r + 0\n  view     %part : f32[2] = %r + 24\n\n"
                                "  allocate %r\n"
                                "  kernel byoc_k0_softmax(%x) -> (%r) \"Softmax\"\n"
                                "  kernel byoc_k1_slice_softmax(%r) -> (%y) \"Slice+Softmax\"\n"
                                "  kernel byoc_k2_gather_softmax(%r) -> (%z) \"Gather+Softmax\"\n"
                                "  kernel byoc_k3_softmax(%f) -> (%w) \"Softmax\"\n"
                                "  kernel byoc_k4_softmax(%part) -> (%p) \"Softmax\"\n"
                                "  free %r\n}\n");
  byoc_string_deinit(&out);
  host_model_prepare(&m);
  host_model_close(&m);
}

// ---- results over operands ----

#define WIDE_KERNELS                                                                                                   \
  "kernel {\n  name \"inc\"\n  input x : f32[16]\n  output y : f32[16]\n"                                              \
  "  serial i in 0 .. 16 {\n    y[i] = x[i] + 1.0\n  }\n}\n"                                                           \
  "kernel over 0 {\n  name \"update\"\n  input a : f32[16]\n  input b : f32[16]\n  output y : f32[16]\n"               \
  "  serial i in 0 .. 16 {\n    y[i] = a[i] + b[i] * 3.0\n  }\n}\n"                                                    \
  "kernel {\n  name \"add\"\n  input a : f32[16]\n  input b : f32[16]\n  output y : f32[16]\n"                         \
  "  serial i in 0 .. 16 {\n    y[i] = a[i] * 2.0 + b[i]\n  }\n}\n"

enum { MOST_NAMES = 64, STEP_COUNT = 14 };

// A random program of kernels that may all write over an operand. Results go into locals, outputs, and parts of both.
typedef struct maker_t {
  byoc_test_random_t random;
  byoc_string_t declared, steps;
  char written[MOST_NAMES][8], free[MOST_NAMES][8]; // names
  size_t written_count, free_count, local_count;
} maker_t;

static const char *some(maker_t *m) {
  return m->written[byoc_test_below(&m->random, m->written_count)];
}

static void new_local(maker_t *m, char name[8]) {
  snprintf(name, 8, "t%zu", m->local_count++);
  byoc_string_appendf(&m->declared, "  local %%%s : f32[16]\n", name);
}

static void add_kernel(maker_t *m, const char *from, const char *to) {
  if (byoc_test_below(&m->random, 2) == 0) {
    byoc_string_appendf(&m->steps, "  kernel inc(%%%s) -> (%%%s) over 0\n", from, to);
  } else {
    byoc_string_appendf(&m->steps, "  kernel add(%%%s, %%%s) -> (%%%s) over %d\n", from, some(m), to,
                        (int)byoc_test_below(&m->random, 2));
  }
}

// Writes `to`, now and then by way of a local, or in both cases of a branch.
static void add_step(maker_t *m, const char *to) {
  const uint64_t kind = byoc_test_below(&m->random, 6);
  char between[8];
  if (kind >= 3) {
    add_kernel(m, some(m), to);
  } else if (kind == 2) {
    byoc_string_appendf(&m->steps, "  copy %%%s -> %%%s\n", some(m), to);
  } else {
    for (uint64_t k = 0; k <= kind; ++k) {
      if (kind == 1) byoc_string_append(&m->steps, k == 0 ? "  branch (%go) -> ()\n  then {\n" : "  }\n  else {\n");
      new_local(m, between);
      add_kernel(m, some(m), between);
      add_kernel(m, between, to);
    }
    if (kind == 1) byoc_string_append(&m->steps, "  }\n");
  }
  snprintf(m->written[m->written_count++], 8, "%s", to);
}

// Changes a buffer that is there in place, by what a local holds.
static void add_update(maker_t *m) {
  const char *to = some(m);
  char between[8];
  if (to[0] == 'x' || to[0] == 'w') return; // inputs
  new_local(m, between);
  add_kernel(m, some(m), between);
  byoc_string_appendf(&m->steps, "  kernel update(%%%s, %%%s) -> (%%%s) over 1\n", to, between, to);
}

static void make_program(uint64_t seed, byoc_string_t *out) {
  maker_t m = {.random = {seed}, .written = {"x", "w"}, .written_count = 2};
  byoc_string_init(&m.declared, byoc_allocator_system());
  byoc_string_init(&m.steps, byoc_allocator_system());
  static const char *const settled[] = {"y", "z0", "z1", "z2", "j0", "j1"};
  for (; m.free_count < 6; ++m.free_count) snprintf(m.free[m.free_count], 8, "%s", settled[m.free_count]);
  for (int k = 0; k < STEP_COUNT; ++k) {
    char to[8];
    const size_t index = byoc_test_below(&m.random, m.free_count + 4);
    if (index >= m.free_count) {
      new_local(&m, to);
    } else {
      memcpy(to, m.free[index], sizeof(to));
      memcpy(m.free[index], m.free[--m.free_count], sizeof(to));
    }
    add_step(&m, to);
    if (byoc_test_below(&m.random, 4) == 0) add_update(&m);
  }
  while (m.free_count > 0) add_step(&m, m.free[--m.free_count]);
  byoc_string_appendf(out,
                      "host program \"random\" {\n  input %%x : f32[16]\n  input %%w : f32[16]\n  input %%go : bool[]\n"
                      "  output %%y : f32[16]\n  output %%z : f32[48]\n  output %%k : f32[32]\n  local %%j : f32[32]\n"
                      "  view %%z0 : f32[16] = %%z + 0\n  view %%z1 : f32[16] = %%z + 64\n"
                      "  view %%z2 : f32[16] = %%z + 128\n  view %%j0 : f32[16] = %%j + 0\n"
                      "  view %%j1 : f32[16] = %%j + 64\n%s\n%s  copy %%j -> %%k\n}\n" WIDE_KERNELS,
                      m.declared.data, m.steps.data);
  byoc_string_deinit(&m.declared);
  byoc_string_deinit(&m.steps);
}

// Evaluates a program after these passes; returns how many buffers it has.
static size_t evaluate(const char *text, const char *passes, uint8_t go, float results[96]) {
  static float x[16], w[16];
  for (int i = 0; i < 16; ++i) x[i] = (float)i, w[i] = (float)(100 - i);
  byoc_diag_t diag = {0};
  host_model_t m;
  host_model_parse(&m, text);
  byoc_test_ok(byoc_host_pass_run_list(passes, m.program, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_program_verify(m.program, &diag), &diag);
  byoc_test_ok(byoc_host_check_edits(m.program, &diag), &diag);
  byoc_test_ok(byoc_host_text_check(m.program, &diag), &diag);
  const byoc_symbol_resolver_t none = {0};
  byoc_test_ok(byoc_evaluator_create(m.program, &none, 1, byoc_allocator_system(), &diag, &m.evaluator), &diag);
  const void *inputs[] = {x, w, &go};
  void *outputs[] = {results, results + 16, results + 64};
  byoc_test_ok(byoc_evaluator_run(m.evaluator, inputs, outputs, &diag), &diag);
  const size_t count = m.program->buffers.count;
  host_model_close(&m);
  return count;
}

static void test_h12_alias_results_changes_no_result(void **state) {
  (void)state;
  size_t before = 0, after = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    make_program(seed, &text);
    for (uint8_t go = 0; go < 2; ++go) {
      float expected[96], got[96];
      before += evaluate(text.data, PASSES, go, expected);
      after += evaluate(text.data, BYOC_HOST_STANDARD_PASSES, go, got);
      if (memcmp(expected, got, sizeof(got)) != 0) fail_msg("seed %d:\n%s", (int)seed, text.data);
    }
    byoc_string_deinit(&text);
  }
  assert_true(after < before);
}

static byoc_status_t pass_all(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(argument, "p.host", NULL, allocator, &diag, &module, &program);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, program, NULL, &diag);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_h12_failed_allocations_are_reported(void **state) {
  (void)state;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  make_program(7, &text);
  byoc_test_each_allocation_fails(pass_all, text.data, false);
  byoc_string_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h6_chains_of_views_in_any_order),
      cmocka_unit_test(test_h6_chains_of_cells),
      cmocka_unit_test(test_h6_inputs_and_constants_are_not_written_through_views),
      cmocka_unit_test(test_h6_select_and_view_share),
      cmocka_unit_test(test_h12_alias_results_changes_no_result),
      cmocka_unit_test(test_h12_failed_allocations_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
