// Control flow of static programs, from graphs and from texts: compiled and evaluated, they agree.
#include <stdlib.h>

#include "core/compose/compose.h"
#include "core/compose/resolve.h"
#include "core/hostir/lower.h"
#include "core/hostir/pass.h"
#include "core/hostir/text.h"
#include "core/ir/text.h"
#include "core/kernel/lower.h"
#include "core/ops/op.h"
#include "core/runtime/loader.h"
#include "tests/support/support.h"

enum { MOST_PORTS = 8, MOST_ELEMENTS = 64 };

typedef struct model_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_resolver_t *resolver;
  byoc_evaluator_t *evaluator;
  char *folder;
  byoc_loaded_artifact_t artifact;
  byoc_context_t *context;
} model_t;

static byoc_runtime_t serial;

static void finish(model_t *m) {
  byoc_diag_t diag = {0};
  serial = byoc_serial_runtime(1);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m->program, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_text_check(m->program, &diag), &diag);
  byoc_test_ok(byoc_resolver_create(m->program, NULL, &serial, byoc_allocator_system(), &diag, &m->resolver), &diag);
  byoc_symbol_resolver_t resolver = byoc_resolver_interface(m->resolver);
  byoc_test_ok(byoc_evaluator_create(m->program, &resolver, 1, byoc_allocator_system(), &diag, &m->evaluator), &diag);
  m->folder = byoc_test_folder();
  char path[512];
  snprintf(path, sizeof(path), "%s/model.so", m->folder);
  const byoc_compose_options_t options = {.output = path, .model_name = "control", .cpu_features = "", .profile = true};
  byoc_test_ok(byoc_compose_artifact(m->program, &options, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_artifact_load(path, &diag, &m->artifact), &diag);
  assert_int_equal(m->artifact.table->create(NULL, &m->context), BYOC_OK);
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

static void close_model(model_t *m) {
  m->artifact.table->destroy(m->context);
  byoc_artifact_unload(&m->artifact);
  byoc_evaluator_destroy(m->evaluator);
  byoc_resolver_destroy(m->resolver);
  byoc_host_program_destroy(m->program);
  byoc_graph_module_destroy(m->module);
  byoc_test_ok(byoc_remove_tree(m->folder, NULL), NULL);
  free(m->folder);
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
static void test_h7_static_branches(void **state) {
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
static void test_h7_nested_branches(void **state) {
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h7_static_branches),
      cmocka_unit_test(test_h7_nested_branches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
