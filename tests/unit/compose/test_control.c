// SPDX-License-Identifier: Apache-2.0
// Control flow of static programs, from graphs and from texts: compiled and evaluated, they agree.
#include <stdlib.h>

#include "core/compose/c/host_c.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/text/program_text.h"
#include "core/hostir/verify/in_place.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "tests/support/program.h"

enum { MOST_PORTS = 8, MOST_ELEMENTS = 64 };

typedef byoc_test_program_t model_t;

static void finish(model_t *m) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m->program, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_text_check(m->program, &diag), &diag);
  byoc_test_program_prepare(m, false);
}

static void open_graph(const char *text, model_t *m) {
  byoc_diag_t diag = {0};
  *m = (model_t){0};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &m->module), &diag);
  byoc_test_ok(byoc_infer_module(m->module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(m->module, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_lower(m->module, byoc_allocator_system(), &diag, &m->program), &diag);
  finish(m);
}

static void open_text(const char *text, model_t *m) {
  byoc_diag_t diag = {0};
  *m = (model_t){0};
  byoc_test_ok(byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), &diag, &m->module, &m->program),
               &diag);
  finish(m);
}

static void close_model(model_t *m) {
  byoc_test_program_close(m);
}

// The results of one run.
typedef struct results_t {
  float values[MOST_PORTS][MOST_ELEMENTS];
} results_t;

// Runs both ways, whose results are the same bytes.
static void run(model_t *m, const void *const *inputs, results_t *results) {
  byoc_diag_t diag = {0};
  static results_t compiled;
  memset(results, 0xee, sizeof(*results));
  memset(&compiled, 0xee, sizeof(compiled));
  void *evaluated_outputs[MOST_PORTS], *compiled_outputs[MOST_PORTS];
  for (int i = 0; i < MOST_PORTS; ++i) {
    evaluated_outputs[i] = results->values[i];
    compiled_outputs[i] = compiled.values[i];
  }
  byoc_test_ok(byoc_evaluator_run(m->evaluator, inputs, evaluated_outputs, &diag), &diag);
  int32_t status = m->artifact.table->run(m->context, inputs, compiled_outputs);
  if (status != BYOC_OK) fail_msg("%s", m->artifact.table->last_error(m->context));
  assert_memory_equal(results, &compiled, sizeof(compiled));
}

// The names of the steps that ran, each with a space behind it.
static void note_step(void *self, const char *name, uint64_t duration_ns) {
  (void)duration_ns;
  char *names = self;
  strcat(strcat(names, name), " ");
}

// ---- branches ----

#define IF_MODEL(yes, no, results)                                                                                     \
  "module {\n  func @main(%c : bool[], %x : f32[4]) -> (%y : f32[4], %z : f32[4]) {\n    %a = Neg@13(%x) : f32[4]\n"   \
  "    %y, %z = If@16(%c) [then_branch () -> (f32[4], f32[4]) {\n" yes "\n    }, else_branch () -> (f32[4], f32[4]) "  \
  "{\n" no "\n    }] : f32[4], f32[4]\n    return " results "\n  }\n}\n"

// What each case makes is written to the result directly; values from outside, and one that is given twice, are copied.
static void test_h7_branches_write_results_directly(void **state) {
  (void)state;
  model_t m;
  open_graph(IF_MODEL("%p = Add@14(%a, %a) : f32[4]\n%q = Exp@13(%p) : f32[4]\nreturn %p, %p",
                      "%p = Mul@14(%x, %x) : f32[4]\nreturn %x, %p", "%y, %z"),
             &m);
  assert_false(m.program->is_dynamic);
  assert_int_equal(m.artifact.table->is_dynamic, 0);
  size_t copies = 0;
  BYOC_HOST_FOR_EACH(i, m.program) copies += i->op == BYOC_HOST_COPY;
  assert_int_equal(copies, 2);
  const float x[4] = {1, 2, 3, 4};
  results_t results;
  for (int turn = 0; turn < 4; ++turn) {
    const uint8_t c = (uint8_t)(turn % 2 == 0);
    run(&m, (const void *const[]){&c, x}, &results);
    for (int k = 0; k < 4; ++k) {
      assert_true(results.values[0][k] == (c ? -2 * x[k] : x[k]));
      assert_true(results.values[1][k] == (c ? -2 * x[k] : x[k] * x[k]));
    }
    char names[512] = "";
    void *outputs[2] = {results.values[0], results.values[1]};
    const void *const inputs[2] = {&c, x};
    assert_int_equal(m.artifact.table->profile(m.context, inputs, outputs, note_step, names), BYOC_OK);
    assert_string_equal(names, c ? "Neg Add copy " : "Neg Mul copy ");
  }
  close_model(&m);
}

// A branch in a branch; what the cases hold shares its place in the workspace.
static void test_h7_branches_share_the_workspace(void **state) {
  (void)state;
  model_t m;
  open_graph("module {\n  constant @axis : i32[] = [0]\n"
             "  func @main(%c : bool[], %d : bool[], %x : f32[4]) -> (%y : f32[4]) {\n"
             "    %a = CumSum@14(%x, @axis) : f32[4]\n"
             "    %r = If@16(%c) [then_branch () -> (f32[4]) {\n"
             "      %p = CumSum@14(%a, @axis) : f32[4]\n      %q = CumSum@14(%p, @axis) : f32[4]\n"
             "      %s = If@16(%d) [then_branch () -> (f32[4]) {\n"
             "        %t = Add@14(%q, %p) : f32[4]\n        return %t\n"
             "      }, else_branch () -> (f32[4]) {\n        return %a\n      }] : f32[4]\n      return %s\n"
             "    }, else_branch () -> (f32[4]) {\n"
             "      %p = CumSum@14(%x, @axis) : f32[4]\n      %q = CumSum@14(%p, @axis) : f32[4]\n"
             "      %s = CumSum@14(%q, @axis) : f32[4]\n      return %s\n    }] : f32[4]\n"
             "    %y = CumSum@14(%r, @axis) : f32[4]\n    return %y\n  }\n}\n",
             &m);
  assert_false(m.program->is_dynamic);
  // %a, %r, and two in each case.
  assert_int_equal(m.program->workspace_size_bytes, 4 * 64);
  const float x[4] = {1, 0, 0, 0};
  const float expected[4][4] = {{1, 4, 10, 20}, {1, 2, 3, 4}, {2, 7, 16, 30}, {1, 4, 10, 20}};
  for (int which = 0; which < 4; ++which) {
    const uint8_t c = which >= 1 && which <= 2, d = which >= 2;
    results_t results;
    run(&m, (const void *const[]){&c, &d, x}, &results);
    for (int k = 0; k < 4; ++k) assert_true(results.values[0][k] == expected[which][k]);
  }
  close_model(&m);
}

// ---- loops ----

#define HOST(declarations, body)                                                                                       \
  "host program \"p\" {\n symbol I\n symbol J\n symbol K\n" declarations "\n" body "\n}\n"                             \
  "kernel over 0 { name \"add\" input a : f32[4] input b : f32[4] output c : f32[4]\n"                                 \
  "  parallel i in 0 .. 4 { c[i] = a[i] + b[i] } }\n"                                                                  \
  "kernel over 0 { name \"plus\" symbols \"S\" input a : f32[4] output c : f32[4]\n"                                   \
  "  parallel i in 0 .. 4 { c[i] = a[i] + cast(f32, dim(\"S\")) } }\n"                                                 \
  "kernel { name \"fill\" symbols \"S\", \"T\" output c : f32[2]\n"                                                    \
  "  serial i in 0 .. 2 { c[i] = cast(f32, dim(\"S\") * 100 + dim(\"T\")) } }\n"

// The sum of a buffer that each turn updates where it is: nvFuser's InplaceUpdateInLoop.
static void test_h7_a_turn_updates_a_buffer_in_place(void **state) {
  (void)state;
  model_t m;
  open_text(HOST("input %x : f32[4]\n input %b : f32[4]\n output %y : f32[4]\n local %t : f32[4]\n",
                 "copy %x -> %t\n"
                 "loop I from 0 to 5 body { kernel add(%t, %b) -> (%t) }\n"
                 "copy %t -> %y"),
            &m);
  const float x[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
  size_t copies = 0;
  BYOC_HOST_FOR_EACH(i, m.program) copies += i->op == BYOC_HOST_COPY;
  assert_int_equal(copies, 1); // none for each turn, and %t is %y
  results_t results;
  for (int turn = 0; turn < 2; ++turn) {
    run(&m, (const void *const[]){x, b}, &results);
    for (int k = 0; k < 4; ++k) assert_true(results.values[0][k] == x[k] + 5 * b[k]);
  }
  char names[512] = "";
  void *outputs[1] = {results.values[0]};
  const void *const inputs[2] = {x, b};
  assert_int_equal(m.artifact.table->profile(m.context, inputs, outputs, note_step, names), BYOC_OK);
  assert_string_equal(names, "copy add add add add add ");
  close_model(&m);
}

// Each turn adds a slice of its own, in place: nvFuser's AddInLoop.
static void test_h7_each_turn_adds_a_slice(void **state) {
  (void)state;
  model_t m;
  open_text(
      HOST("input %x : f32[6,4]\n input %y : f32[6,4]\n output %z : f32[6,4]\n"
           "view %xs : f32[4] = %x + I * 16\n view %ys : f32[4] = %y + I * 16\n view %zs : f32[4] = %z + I * 16\n",
           "loop I from 0 to 6 body { kernel add(%xs, %ys) -> (%zs) }"),
      &m);
  float x[24], y[24];
  for (int k = 0; k < 24; ++k) {
    x[k] = (float)k;
    y[k] = (float)(k * k);
  }
  results_t results;
  run(&m, (const void *const[]){x, y}, &results);
  for (int k = 0; k < 24; ++k) assert_true(results.values[0][k] == x[k] + y[k]);
  close_model(&m);
}

// The index is a scalar that kernels take: nvFuser's inHostForLoop adds 1, 3 and 5.
static void test_h7_the_index_is_a_scalar_of_kernels(void **state) {
  (void)state;
  model_t m;
  open_text(HOST("input %x : f32[4]\n output %y : f32[4]\n",
                 "copy %x -> %y\nloop I from 1 to 7 step 2 body { kernel plus(%y) [I] -> (%y) }"),
            &m);
  const float x[4] = {1, 2, 3, 4};
  results_t results;
  run(&m, (const void *const[]){x}, &results);
  for (int k = 0; k < 4; ++k) assert_true(results.values[0][k] == x[k] + 9);
  close_model(&m);
}

// From last to first, with a step, and with turns whose scalars are computed anew.
static void test_h7_loops_count_by_steps_and_backwards(void **state) {
  (void)state;
  model_t m;
  open_text(HOST("input %x : f32[4]\n output %y : f32[8]\n output %k : i64[4,2]\n output %n : f32[4]\n"
                 "view %ys : f32[2] = %y + 24 - K\n view %ks : i64[2] = %k + I * 8\n",
                 "copy %x -> %n\n"
                 "loop I from 6 to -1 step -2 body {\n let K = I * 4\n store [I, 10 * I + 1] -> (%ks)\n"
                 " kernel fill() [K, 6 - I] -> (%ys)\n}\n"
                 "loop J from 3 to 3 body { kernel plus(%n) [J] -> (%n) }"),
            &m);
  const float x[4] = {1, 2, 3, 4};
  results_t results;
  run(&m, (const void *const[]){x}, &results);
  const int64_t *k = (const int64_t *)(const void *)results.values[1];
  for (int turn = 0; turn < 4; ++turn) {
    const int i = 6 - 2 * turn;
    assert_true(results.values[0][2 * turn] == (float)(400 * i + 6 - i));
    assert_true(results.values[0][2 * turn + 1] == (float)(400 * i + 6 - i));
    assert_true(k[i] == i && k[i + 1] == 10 * i + 1);
  }
  assert_memory_equal(results.values[2], x, sizeof(x)); // no turns
  close_model(&m);
}

// Is a scalar of the program checked where it is set?
static bool checks_a_scalar(const byoc_host_program_t *program) {
  const byoc_compose_options_t options = {.model_name = "model", .cpu_features = ""};
  byoc_data_layout_t layout;
  byoc_host_c_t host;
  byoc_string_t text;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_data_layout_create(&program, 1, false, byoc_allocator_system(), &diag, &layout), &diag);
  byoc_test_ok(byoc_host_c_init(program, &options, &layout, byoc_allocator_system(), &diag, &host), &diag);
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_ok(byoc_host_c_emit(&host, &(byoc_host_c_metadata_t){.size_bytes = 2}, &text), &diag);
  const bool checks = strstr(text.data, "= byoc_frame_set_symbol(") != NULL;
  byoc_string_deinit(&text);
  byoc_host_c_deinit(&host);
  byoc_data_layout_deinit(&layout);
  return checks;
}

// Each turn of a loop sets its index: where it cannot be negative, that costs no check.
static void test_h7_an_index_from_zero_is_not_checked(void **state) {
  (void)state;
  static const char *const begins[] = {"0", "-1"};
  for (size_t i = 0; i < 2; ++i) {
    model_t m;
    char text[1024];
    snprintf(text, sizeof(text),
             HOST("input %%x : f32[4]\n output %%y : f32[4]\n",
                  "copy %%x -> %%y\n"
                  "loop I from %s to 3 body { kernel plus(%%y) [I] -> (%%y) }"),
             begins[i]);
    open_text(text, &m);
    assert_int_equal(checks_a_scalar(m.program), i == 1);
    close_model(&m);
  }
}

// Rows and columns of a matrix by two loops; a branch in a loop, whose cases write the same slice.
static void test_h7_nested_loops_write_slices(void **state) {
  (void)state;
  model_t m;
  open_text(HOST("input %c : bool[3]\n input %x : f32[4]\n output %y : f32[3,4,2]\n output %z : f32[3,4]\n"
                 "view %ys : f32[2] = %y + I * 32 + J * 8\n view %zs : f32[4] = %z + I * 16\n"
                 "view %cs : bool[] = %c + I\n local %t : f32[4]\n local %s : f32[4]\n",
                 "loop I from 0 to 3 body {\n"
                 " loop J from 0 to 4 body { kernel fill() [I, J] -> (%ys) }\n"
                 " let K = I + 1\n"
                 " branch (%cs) then { kernel plus(%x) [K] -> (%t) kernel add(%t, %t) -> (%zs) }\n"
                 " else { kernel plus(%x) [I] -> (%s) copy %s -> %zs }\n}"),
            &m);
  const uint8_t c[3] = {1, 0, 1};
  const float x[4] = {1, 2, 3, 4};
  results_t results;
  run(&m, (const void *const[]){c, x}, &results);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      assert_true(results.values[0][i * 8 + j * 2 + 1] == (float)(100 * i + j));
      const float expected = c[i] ? 2 * (x[j] + (float)(i + 1)) : x[j] + (float)i;
      assert_true(results.values[1][i * 4 + j] == expected);
    }
  }
  assert_int_equal(m.program->workspace_size_bytes, 64); // %t and %s are never alive together
  assert_int_equal(byoc_host_copied_bytes(m.program, false), 3 * 16);
  close_model(&m);
}

// Both executors refuse what only a run can find, with the same words.
static void test_h7_runs_refuse_with_the_same_words(void **state) {
  (void)state;
  model_t m;
  open_text(HOST("input %n : i64[1]\n input %x : f32[4]\n input %z : f32[4,4]\n output %y : f32[4,4]\n"
                 "view %ys : f32[4] = %y + I * 16\n",
                 "copy %z -> %y\nbind %n to J by \"n\"\nlet K = 5 - J\n"
                 "loop I from 0 to J body { kernel plus(%x) [K] -> (%ys) }"),
            &m);
  static const struct {
    int64_t n;
    const char *reason; // NULL: it works
  } cases[] = {{0, NULL},
               {4, NULL},
               {5, "plus: the view 'ys' of 16 bytes at byte 64 leaves its base of 64"},
               {6, "let: the symbol K would be -1"},
               {-1, "checking shapes: n asks for a negative size: -1"}};
  const float x[4] = {1, 2, 3, 4}, z[16] = {0};
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    const void *const inputs[3] = {&cases[k].n, x, z};
    results_t results;
    void *outputs[1] = {results.values[0]};
    byoc_diag_t diag = {0};
    if (cases[k].reason == NULL) {
      run(&m, inputs, &results);
      for (int i = 0; i < 16; ++i) {
        assert_true(results.values[0][i] == (i / 4 < cases[k].n ? x[i % 4] + (float)(5 - cases[k].n) : 0));
      }
      continue;
    }
    byoc_test_error(byoc_evaluator_run(m.evaluator, inputs, outputs, &diag), BYOC_INVALID_ARGUMENT, &diag,
                    cases[k].reason);
    assert_int_equal(m.artifact.table->run(m.context, inputs, outputs), BYOC_INVALID_ARGUMENT);
    assert_string_equal(m.artifact.table->last_error(m.context), cases[k].reason);
  }
  close_model(&m);
}

// In a dynamic program a loop that counts carries values; its ends and its scalars depend on shapes.
static void test_h7_counted_loops_carry_values(void **state) {
  (void)state;
  model_t m;
  open_text("host program \"p\" dynamic {\n symbol N of inputs\n symbol I\n symbol K\n input %x : value f32[N]\n"
            " output %y : value f32[N]\n local %v : value f32[N]\n local %t : value f32[N]\n local %z : value f32[N]\n"
            "match %x binds N at 0\n"
            "loop I from 1 to N step 2 carrying (%x) -> (%z) body (%v) {\n match %v is N at 0\n let K = I + N\n"
            " kernel plus(%v) [N, K] -> (%t)\n yield (%t)\n}\nmatch %z is N at 0\nshare %z -> %y\n}\n"
            "kernel { name \"plus\" symbols \"N\", \"S\" input a : f32[N] output c : f32[N]\n"
            "  parallel i in 0 .. dim(\"N\") { c[i] = a[i] + cast(f32, dim(\"S\")) } }\n",
            &m);
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t n = 0; n <= 8; ++n) {
    const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &n, .data = (void *)(uintptr_t)x};
    byoc_argument_t evaluated, compiled;
    byoc_diag_t diag = {0};
    float sum = 0;
    for (int64_t i = 1; i < n; i += 2) sum += (float)(i + n);
    byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, &input, &evaluated, &diag), &diag);
    assert_int_equal(m.artifact.table->run_arguments(m.context, &input, &compiled), BYOC_OK);
    assert_int_equal(evaluated.dims[0], n);
    assert_int_equal(compiled.dims[0], n);
    for (int64_t k = 0; k < n; ++k) {
      assert_true(((const float *)evaluated.data)[k] == x[k] + sum);
      assert_true(((const float *)compiled.data)[k] == x[k] + sum);
    }
  }
  close_model(&m);
}

// ---- ONNX's Loop and Scan ----

static size_t count_in_loops(const byoc_host_program_t *program, byoc_host_op_t op) {
  size_t count = 0;
  BYOC_HOST_FOR_EACH(i, program) count += i->op == op && i->region->owner != NULL;
  return count;
}

static byoc_argument_t floats(uint32_t rank, const int64_t *dims, const float *data) {
  return (byoc_argument_t){.dtype = BYOC_DTYPE_F32, .rank = rank, .dims = dims, .data = (void *)(uintptr_t)data};
}

// A model of %x : f32[6,16] and %s : f32[16] whose shapes are known does what it does if there is another input of
// unknown size, which makes the program dynamic. Each turn copies so many buffers.
static void check_loop(const char *results, const char *body, size_t copies) {
  static const int64_t x_dims[2] = {6, 16}, s_dims[1] = {16}, n_dims[1] = {1};
  char text[4096];
  model_t m, dynamic;
  float x[6 * 16], s[16];
  for (int k = 0; k < 6 * 16; ++k) x[k] = (float)(k % 7) - 2;
  for (int k = 0; k < 16; ++k) s[k] = (float)k / 4;
  const char *const form = "module {\n  constant @six : i64[] = [6]\n  constant @none : i64[] = [0]\n"
                           "  constant @yes : bool[] = [true]\n  constant @two : i64[] = [2]\n"
                           "  constant @last : i64[] = [5]\n  constant @row : i64[2] = [1, 16]\n"
                           "  func @main(%s%%x : f32[6,16], %%s : f32[16]) -> (%s) {\n%s\n  }\n}\n";
  snprintf(text, sizeof(text), form, "", results, body);
  open_graph(text, &m);
  snprintf(text, sizeof(text), form, "%open : f32[N], ", results, body);
  open_graph(text, &dynamic);
  assert_false(m.program->is_dynamic);
  assert_true(dynamic.program->is_dynamic);
  const byoc_argument_t inputs[3] = {floats(1, n_dims, s), floats(2, x_dims, x), floats(1, s_dims, s)};
  byoc_argument_t known[MOST_PORTS], compiled[MOST_PORTS], expected[MOST_PORTS];
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_evaluator_run_arguments(dynamic.evaluator, inputs, expected, &diag), &diag);
  for (int turn = 0; turn < 2; ++turn) {
    byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, inputs + 1, known, &diag), &diag);
    assert_int_equal(m.artifact.table->run_arguments(m.context, inputs + 1, compiled), BYOC_OK);
    for (size_t k = 0; k < m.program->outputs.count; ++k) {
      const size_t size = (size_t)m.program->outputs.data[k]->size_bytes;
      assert_memory_equal(known[k].data, expected[k].data, size);
      assert_memory_equal(compiled[k].data, expected[k].data, size);
    }
  }
  assert_int_equal(count_in_loops(m.program, BYOC_HOST_COPY), copies);
  close_model(&m);
  close_model(&dynamic);
}

#define BODY "[body (%i : i64[], %go : bool[], "

// A state is updated where it is, and its slices are written and read where they are.
static void test_h7_loop_states_are_updated_in_place(void **state) {
  (void)state;
  check_loop("%y : f32[16], %all : f32[6,16]",
             "%y, %all = Loop@16(@six, _, %s) " BODY "%v : f32[16]) -> (bool[], f32[16], f32[16]) {\n"
             "  %r = Gather@13(%x, %i) {axis = 0} : f32[16]\n  %u = Add@14(%v, %r) : f32[16]\n"
             "  %o = Abs@13(%r) : f32[16]\n  return %go, %u, %o\n"
             "}] : f32[16], f32[6,16]\nreturn %y, %all",
             0);
  check_loop("%y : f32[16]",
             "%e = Exp@13(%s) : f32[16]\n%y = Loop@16(@six, @yes, %e) " BODY "%v : f32[16]) -> (bool[], f32[16]) {\n"
             "  %u = Neg@13(%v) : f32[16]\n  return @yes, %u\n}] : f32[16]\nreturn %y",
             0);
}

#define THREE  "%a : f32[16], %b : f32[16], %c : f32[16]"
#define TRIPLE "%u : f32[16], %v : f32[16], %w : f32[16]) -> (bool[], f32[16], f32[16], f32[16]) {\n"
#define STARTS "%m = Neg@13(%s) : f32[16]\n%e = Abs@13(%s) : f32[16]\n"

// States that pass their values around: in a circle of three, along a row, and one twice.
static void test_h7_loop_passes_states(void **state) {
  (void)state;
  check_loop(THREE,
             STARTS "%a, %b, %c = Loop@16(@six, _, %s, %m, %e) " BODY TRIPLE "  return %go, %v, %w, %u\n"
                    "}] : f32[16], f32[16], f32[16]\nreturn %a, %b, %c",
             4);
  check_loop(THREE,
             STARTS "%a, %b, %c = Loop@16(@six, _, %s, %m, %e) " BODY TRIPLE
                    "  %z = Add@14(%u, %w) : f32[16]\n  return %go, %z, %u, %v\n"
                    "}] : f32[16], f32[16], f32[16]\nreturn %a, %b, %c",
             3);
  check_loop("%a : f32[16], %b : f32[16], %c : f32[6,16]",
             "%a, %b, %c = Loop@16(@six, _, %s, %s) " BODY
             "%u : f32[16], %v : f32[16]) -> (bool[], f32[16], f32[16], f32[16]) {\n"
             "  %z = Add@14(%u, %v) : f32[16]\n  return %go, %z, %z, %u\n"
             "}] : f32[16], f32[16], f32[6,16]\nreturn %a, %b, %c",
             2);
}

// The iteration as a tensor; slices from the end; one of a few elements; no turns.
static void test_h7_loop_iterations_are_tensors(void **state) {
  (void)state;
  check_loop("%y : f32[16], %k : f32[6], %z : f32[6,1,16]",
             "%y, %k, %z = Loop@16(@six, _, %s) " BODY "%v : f32[16]) -> (bool[], f32[16], f32[], f32[1,16]) {\n"
             "  %b = Sub@14(@last, %i) : i64[]\n  %r = Gather@13(%x, %b) {axis = 0} : f32[16]\n"
             "  %f = Cast@13(%i) {to = 1} : f32[]\n  %u = Mul@14(%r, %f) : f32[16]\n"
             "  %w = Reshape@14(%u, @row) : f32[1,16]\n  return %go, %v, %f, %w\n"
             "}] : f32[16], f32[6], f32[6,1,16]\nreturn %y, %k, %z",
             0);
  check_loop("%y : f32[16], %k : f32[0,16]",
             "%y, %k = Loop@16(@none, _, %s) " BODY "%v : f32[16]) -> (bool[], f32[16], f32[16]) {\n"
             "  %u = Neg@13(%v) : f32[16]\n  return %go, %u, %u\n}] : f32[16], f32[0,16]\nreturn %y, %k",
             0);
}

// A loop in a loop goes on in the same place; branches inside and around.
static void test_h7_loop_in_a_loop_goes_on_in_place(void **state) {
  (void)state;
  check_loop("%y : f32[16]",
             "%y = Loop@16(@six, _, %s) " BODY "%v : f32[16]) -> (bool[], f32[16]) {\n"
             "  %r = Gather@13(%x, %i) {axis = 0} : f32[16]\n"
             "  %w = Loop@16(@two, _, %v) [body (%j : i64[], %on : bool[], %t : f32[16]) -> (bool[], f32[16]) {\n"
             "    %u = Add@14(%t, %r) : f32[16]\n    return %on, %u\n  }] : f32[16]\n"
             "  return %go, %w\n}] : f32[16]\nreturn %y",
             0);
  check_loop("%y : f32[16], %all : f32[6,16]",
             "%y, %all = Loop@16(@six, _, %s) " BODY "%v : f32[16]) -> (bool[], f32[16], f32[16]) {\n"
             "  %even = Equal@13(%i, @two) : bool[]\n"
             "  %w = If@16(%even) [then_branch () -> (f32[16]) {\n    %u = Neg@13(%v) : f32[16]\n    return %u\n"
             "  }, else_branch () -> (f32[16]) {\n    %r = Gather@13(%x, %i) {axis = 0} : f32[16]\n"
             "    %u = Add@14(%v, %r) : f32[16]\n    return %u\n  }] : f32[16]\n"
             "  %d = Add@14(%v, %w) : f32[16]\n  return %go, %w, %d\n"
             "}] : f32[16], f32[6,16]\nreturn %y, %all",
             1);
}

static void test_h7_scans_go_along_any_axis(void **state) {
  (void)state;
  check_loop("%y : f32[16], %all : f32[16,6]",
             "%y, %all = Scan@16(%s, %x) {num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1], "
             "scan_output_directions = [1]} [body (%v : f32[16], %r : f32[16]) -> (f32[16], f32[16]) {\n"
             "%u = Add@14(%v, %r) : f32[16]\n%o = Mul@14(%u, %r) : f32[16]\nreturn %u, %o\n}] : f32[16], f32[16,6]\n"
             "return %y, %all",
             0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h7_branches_write_results_directly),
      cmocka_unit_test(test_h7_branches_share_the_workspace),
      cmocka_unit_test(test_h7_a_turn_updates_a_buffer_in_place),
      cmocka_unit_test(test_h7_each_turn_adds_a_slice),
      cmocka_unit_test(test_h7_the_index_is_a_scalar_of_kernels),
      cmocka_unit_test(test_h7_loops_count_by_steps_and_backwards),
      cmocka_unit_test(test_h7_an_index_from_zero_is_not_checked),
      cmocka_unit_test(test_h7_nested_loops_write_slices),
      cmocka_unit_test(test_h7_runs_refuse_with_the_same_words),
      cmocka_unit_test(test_h7_counted_loops_carry_values),
      cmocka_unit_test(test_h7_loop_states_are_updated_in_place),
      cmocka_unit_test(test_h7_loop_passes_states),
      cmocka_unit_test(test_h7_loop_iterations_are_tensors),
      cmocka_unit_test(test_h7_loop_in_a_loop_goes_on_in_place),
      cmocka_unit_test(test_h7_scans_go_along_any_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
