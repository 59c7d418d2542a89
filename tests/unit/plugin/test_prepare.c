// SPDX-License-Identifier: Apache-2.0
// The surroundings of a generate hook: the prepare hook before it, passes that a hook asks for, and runtime modules
// that existed before it.
#include "tests/support/graph.h"
#include "tests/support/support.h"

#include "core/base/log.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/pass/pass.h"
#include "core/plugin/codegen.h"
#include "core/plugin/host.h"
#include "core/plugin/library.h"

typedef int32_t (*hook_t)(void *self, byoc_codegen_t *codegen);

static byoc_status_t run_passes(void *self, byoc_function_t *const *functions, size_t function_count,
                                const char *passes, byoc_diag_t *diag) {
  (void)self;
  return byoc_pass_run_list_on(functions, function_count, passes, NULL, diag);
}

// %y belongs to main, and has as much to fold as @part.
static const char graph_text[] =
    "module {\n"
    "  constant @a : f32[2] = [1.0, 2.0]\n"
    "  func @main(%x : f32[2]) -> (%r : f32[2], %y : f32[2]) {\n"
    "    %r = call @part(%x) : f32[2]\n"
    "    %y = Neg@13(@a) : f32[2]\n"
    "    return %r, %y\n"
    "  }\n"
    "  func @part(%p : f32[2]) -> (%q : f32[2]) attributes {Compiler = \"probe\", Target = 0} {\n"
    "    %0 = Neg@13(@a) : f32[2]\n"
    "    %q = Add@14(%p, %0) : f32[2]\n"
    "    return %q\n"
    "  }\n"
    "}\n";

typedef struct run_t {
  byoc_graph_module_t *module;
  byoc_codegen_report_t report;
  byoc_diag_t diag;
} run_t;

static void begin(run_t *run) {
  *run = (run_t){0};
  byoc_test_ok(byoc_graph_parse(graph_text, "test", byoc_allocator_system(), &run->diag, &run->module), &run->diag);
  byoc_codegen_report_init(&run->report, byoc_allocator_system());
}

static void end(run_t *run) {
  byoc_codegen_report_deinit(&run->report);
  byoc_graph_module_destroy(run->module);
}

static byoc_status_t generate(run_t *run, hook_t prepare, hook_t hook) {
  const byoc_backend_t backend = {
      .header = BYOC_HEADER(byoc_backend_t, 1), .target = "probe", .prepare = prepare, .generate = hook};
  const byoc_target_kind_t kind = {
      .name = "probe", .plugin_name = "prober", .plugin_version = "1", .backend = &backend};
  const byoc_target_t target = {.kind = &kind, .text = "probe"};
  byoc_function_t *functions[] = {byoc_graph_module_find(run->module, "part")};
  const byoc_codegen_services_t services = {.run_passes = run_passes};
  byoc_diag_clear(&run->diag);
  return byoc_codegen_run(run->module, &target, functions, 1, &services, &run->diag, &run->report);
}

static int32_t hand_back(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return byoc_host_edit_api()->hand_back(codegen, byoc_host_codegen_api()->function_at(codegen, 0));
}

static int32_t fold(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return byoc_host_edit_api()->run_passes(codegen, "fold-constants,remove-dead-code");
}

static void expect_function(const run_t *run, const char *name, const char *part, const char *absent) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_print_function(byoc_graph_module_find(run->module, name), &text);
  if (strstr(text.data, part) == NULL || (absent != NULL && strstr(text.data, absent) != NULL)) {
    fail_msg("%s", text.data);
  }
  byoc_string_deinit(&text);
}

// ---- prepare ----

static void test_b12_a_backend_prepares_its_regions(void **state) {
  (void)state;
  run_t run;
  begin(&run);
  byoc_test_ok(generate(&run, fold, hand_back), &run.diag);
  expect_function(&run, "part", "Add@14(%p, @", "Neg");
  expect_function(&run, "main", "Neg@13(@a)", NULL); // not one of its own functions
  assert_int_equal(run.module->functions.count, 2);
  byoc_test_ok(byoc_graph_verify(run.module, &run.diag), &run.diag);
  end(&run);
}

static int32_t change_type(void *self, byoc_codegen_t *codegen) {
  (void)self;
  byoc_function_t *function = byoc_host_codegen_api()->function_at(codegen, 0);
  byoc_value_t *result = function->body->results.data[0];
  byoc_node_t *shape = byoc_host_edit_api()->create_node(codegen, function, NULL, "", "Shape", &result, 1, 1);
  (void)byoc_block_set_result(function->body, 0, shape->results[0]);
  return BYOC_OK;
}

static int32_t refuse(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return byoc_host_codegen_api()->error(codegen, BYOC_UNSUPPORTED, "not on this machine");
}

static int32_t run_wrong_pass(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return byoc_host_edit_api()->run_passes(codegen, "mark-compiler-functions-extern{compiler=probe}");
}

static int32_t run_no_pass(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return byoc_host_edit_api()->run_passes(codegen, "fold-constant");
}

// A node whose types do not fit is made all the same; why is told if the hook gives up without a word of its own.
static int32_t multiply_lists(void *self, byoc_codegen_t *codegen) {
  (void)self;
  byoc_function_t *function = byoc_host_codegen_api()->function_at(codegen, 0);
  byoc_value_t *operands[] = {function->body->results.data[0], function->body->results.data[0]};
  assert_non_null(byoc_host_edit_api()->create_node(codegen, function, NULL, "", "Gemm", operands, 2, 1));
  return BYOC_INVALID_DATA;
}

static void test_b12_wrong_preparations_are_refused(void **state) {
  (void)state;
  static const struct {
    hook_t prepare;
    byoc_status_t status;
    const char *part;
  } cases[] = {
      {hand_back, BYOC_INVALID_ARGUMENT, "function 'part' is answered by the prepare hook; generate does that"},
      {change_type, BYOC_INVALID_DATA, "its prepare hook: function 'part': result 0 is now i64[1], it was f32[2]"},
      {refuse, BYOC_UNSUPPORTED, "its prepare hook: not on this machine"},
      {run_wrong_pass, BYOC_INVALID_ARGUMENT, "pass mark-compiler-functions-extern works on whole modules"},
      {run_no_pass, BYOC_INVALID_ARGUMENT, "did you mean 'fold-constants'?"},
      {multiply_lists, BYOC_INVALID_DATA, "Gemm"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    run_t run;
    begin(&run);
    byoc_test_error(generate(&run, cases[i].prepare, hand_back), cases[i].status, &run.diag, cases[i].part);
    assert_int_equal(run.report.results.count, 0);
    end(&run);
  }
}

// Inline functions inside a backend's own functions become global, and stay so after the hook.
static int32_t outline(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return byoc_host_edit_api()->run_passes(codegen, "outline-compiler-functions{compiler=inner}");
}

static void test_b14_a_hook_outlines_functions(void **state) {
  (void)state;
  run_t run;
  begin(&run);
  byoc_graph_module_destroy(run.module);
  const char *text = "module {\n"
                     "  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
                     "    %y = call @part(%x) : f32[2]\n"
                     "    return %y\n"
                     "  }\n"
                     "  func @part(%p : f32[2]) -> (%q : f32[2]) attributes {Compiler = \"probe\"} {\n"
                     "    %q = byoc::Function@1(%p) {Compiler = \"inner\"} [body (%a : f32[2]) -> (f32[2]) {\n"
                     "      %e = Exp@13(%a) : f32[2]\n"
                     "      return %e\n"
                     "    }] : f32[2]\n"
                     "    return %q\n"
                     "  }\n"
                     "}\n";
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &run.diag, &run.module), &run.diag);
  byoc_test_ok(generate(&run, outline, hand_back), &run.diag);
  assert_int_equal(run.module->functions.count, 3);
  expect_function(&run, "part", "call @inner_0(%p)", "byoc::Function");
  expect_function(&run, "inner_0", "global_symbol = \"inner_0\"", NULL);
  end(&run);
}

// ---- modules that were there before ----

static int32_t add_source(byoc_codegen_t *codegen, const char *name, const char *symbol) {
  char source[160];
  snprintf(source, sizeof(source), "#include \"byoc/call.h\"\nint32_t %s(const byoc_call_t *c) { return !c; }\n",
           symbol);
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = name, .source = source, .symbols = {&symbol, 1}};
  return byoc_host_codegen_api()->add_c_source(codegen, &module);
}

static int32_t add_two(void *self, byoc_codegen_t *codegen) {
  int32_t status = add_source(codegen, "two", "two");
  if (status == BYOC_OK) status = add_source(codegen, "three", "three");
  return status == BYOC_OK ? hand_back(self, codegen) : status;
}

static int32_t add_and_fail(void *self, byoc_codegen_t *codegen) {
  (void)add_source(codegen, "four", "four");
  return refuse(self, codegen);
}

static int32_t add_last(void *self, byoc_codegen_t *codegen) {
  int32_t status = add_source(codegen, "five", "five");
  return status == BYOC_OK ? hand_back(self, codegen) : status;
}

static void test_b22_earlier_modules_keep_their_order(void **state) {
  (void)state;
  run_t run;
  begin(&run);
  byoc_runtime_module_t *one = NULL;
  byoc_test_ok(
      byoc_runtime_module_create(BYOC_RUNTIME_MODULE_METADATA, "one", "", byoc_allocator_system(), &run.diag, &one),
      &run.diag);
  byoc_test_ok(byoc_graph_module_add_runtime_module(run.module, one, &run.diag), &run.diag);
  byoc_test_ok(generate(&run, NULL, add_two), &run.diag);
  byoc_test_error(generate(&run, NULL, add_and_fail), BYOC_UNSUPPORTED, &run.diag, "not on this machine");
  byoc_test_ok(generate(&run, NULL, add_last), &run.diag);
  static const char *const expected[] = {"one", "two", "three", "five"};
  assert_int_equal(run.module->runtime_modules.count, 4);
  for (size_t i = 0; i < 4; ++i) assert_string_equal(run.module->runtime_modules.data[i]->name, expected[i]);
  assert_ptr_equal(run.module->runtime_modules.data[0], one);
  byoc_runtime_module_release(one);
  end(&run);
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_b12_a_backend_prepares_its_regions),
      cmocka_unit_test(test_b12_wrong_preparations_are_refused),
      cmocka_unit_test(test_b14_a_hook_outlines_functions),
      cmocka_unit_test(test_b22_earlier_modules_keep_their_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
