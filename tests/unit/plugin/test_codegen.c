// SPDX-License-Identifier: Apache-2.0
// Runs of generate hooks: what the plugins of tests/plugins hand back, what is refused, and that a failed run leaves
// nothing behind.
#include "tests/support/graph.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/process.h"
#include "core/base/string.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/plugin/cache.h"
#include "core/plugin/codegen.h"
#include "core/plugin/library.h"
#include "core/plugin/region.h"
#include "core/plugin/registry.h"
#include "tests/unit/plugin/plugin_support.h"

static int group_setup(void **state) {
  (void)state;
  return open_registry(BYOC_TEST_BUILD_DIR "/tests/plugins/good");
}

// ---- one run ----

// Compiles by cc, in a folder of its own.
static byoc_status_t compile_one(const byoc_compile_request_t *request, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_bytes_t *out_object) {
  char *folder = byoc_test_folder(), *source = NULL, *object = NULL;
  source = byoc_path_join(byoc_allocator_system(), folder, "a.c");
  object = byoc_path_join(byoc_allocator_system(), folder, "a.o");
  byoc_test_ok(byoc_file_write(source, request->source, strlen(request->source), diag), diag);
  const char *const argv[] = {"cc", "-fPIC", "-c", source, "-o", object, "-I", BYOC_TEST_SOURCE_DIR "/include", NULL};
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  byoc_process_result_t result;
  byoc_status_t status = byoc_process_run(argv, NULL, &output, diag, &result);
  if (status == BYOC_OK && result.exit_code != 0) status = byoc_diag_error(diag, BYOC_TOOL, "cc: %s", output.data);
  char *data = NULL;
  if (status == BYOC_OK) status = byoc_file_read(object, allocator, diag, &data, &out_object->size_bytes);
  out_object->data = data;
  byoc_string_deinit(&output);
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  free(source);
  free(object);
  return status;
}

static byoc_status_t compile(void *self, const byoc_compile_request_t *requests, size_t count,
                             byoc_allocator_t allocator, byoc_diag_t *diag, byoc_bytes_t *out_objects) {
  byoc_status_t status = BYOC_OK;
  *(int *)self += 1;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    status = compile_one(&requests[i], allocator, diag, &out_objects[i]);
  }
  return status;
}

typedef struct run_t {
  byoc_graph_module_t *module;
  byoc_target_list_t targets;
  byoc_codegen_report_t report;
  byoc_codegen_services_t services;
  byoc_diag_t diag;
  int compilations;
  char *cache;
} run_t;

static const char graph_text[] = "module {\n"
                                 "  func @main(%x : f32[2,3]) -> (%r : f32[2,3]) {\n"
                                 "    %t0 = call @first(%x) : f32[2,3]\n"
                                 "    %r = call @second(%t0) : f32[2,3]\n"
                                 "    return %r\n"
                                 "  }\n"
                                 "  func @first(%a : f32[2,3]) -> (%b : f32[2,3]) attributes {Compiler = \"demo\", "
                                 "global_symbol = \"demo_first\"} {\n"
                                 "    %b = Relu@14(%a) : f32[2,3]\n"
                                 "    return %b\n"
                                 "  }\n"
                                 "  func @second(%c : f32[2,3]) -> (%d : f32[2,3]) attributes {Compiler = \"demo\"} {\n"
                                 "    %d = Neg@13(%c) : f32[2,3]\n"
                                 "    return %d\n"
                                 "  }\n"
                                 "}\n";

static void begin_with(run_t *run, const char *target, const char *text) {
  *run = (run_t){.services = {.compile = compile, .cpu_features = "avx avx2 fma"}};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &run->diag, &run->module), &run->diag);
  byoc_test_ok(byoc_target_list_parse(&target, 1, &kinds, byoc_allocator_system(), &run->diag, &run->targets),
               &run->diag);
  byoc_codegen_report_init(&run->report, byoc_allocator_system());
  run->services.self = &run->compilations;
}

static void begin(run_t *run, const char *target) {
  begin_with(run, target, graph_text);
}

static void end(run_t *run) {
  byoc_codegen_report_deinit(&run->report);
  byoc_target_list_deinit(&run->targets);
  byoc_graph_module_destroy(run->module);
}

static byoc_status_t generate_by(run_t *run, size_t target) {
  byoc_function_t *functions[] = {byoc_graph_module_find(run->module, "first"),
                                  byoc_graph_module_find(run->module, "second")};
  byoc_diag_clear(&run->diag);
  return byoc_codegen_run(run->module, run->targets.targets.data[target], functions, 2, &run->services, &run->diag,
                          &run->report);
}

static byoc_status_t generate(run_t *run) {
  return generate_by(run, 0);
}

static const byoc_runtime_module_t *find(const run_t *run, const char *name) {
  const byoc_runtime_module_t *module = byoc_graph_module_find_runtime_module(run->module, name);
  if (module == NULL) fail_msg("no runtime module '%s'", name);
  return module;
}

static void expect_failure(const char *target, byoc_status_t expected, const char *part) {
  run_t run;
  begin(&run, target);
  byoc_test_error(generate(&run), expected, &run.diag, part);
  assert_int_equal(run.module->runtime_modules.count, 0);
  assert_int_equal(run.report.results.count, 0);
  end(&run);
}

// ---- what is handed back ----

static void test_c_source(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate -O=1");
  byoc_test_ok(generate(&run), &run.diag);
  assert_int_equal(run.report.results.count, 2);
  assert_int_equal(run.report.results.data[0].answer, BYOC_CODEGEN_BOUND);
  assert_int_equal(run.module->runtime_modules.count, 4);
  const byoc_runtime_module_t *source = find(&run, "negate");
  assert_int_equal(source->kind, BYOC_RUNTIME_MODULE_C_SOURCE);
  assert_string_equal(source->target, "negate -O=1");
  assert_string_equal(source->flags.data[0], "-O1");
  assert_string_equal(source->symbols.data[0], "demo_first");
  assert_non_null(strstr(source->source, "x[i] < 0 ? 0 : x[i]"));
  // The second source of the same name got another one.
  assert_string_equal(find(&run, "negate_1")->symbols.data[0], "second");
  const byoc_runtime_module_t *packed = find(&run, "demo_first");
  assert_int_equal(packed->kind, BYOC_RUNTIME_MODULE_PACKED);
  assert_string_equal(packed->function_name, "first");
  assert_string_equal(packed->packed_symbol, "demo_first");
  assert_int_equal(packed->imports.count, 1);
  assert_ptr_equal(packed->imports.data[0], source);
  end(&run);
}

static void test_function_by_function(void **state) {
  (void)state;
  run_t run;
  begin(&run, "each");
  byoc_test_ok(generate(&run), &run.diag);
  assert_int_equal(run.report.results.data[0].answer, BYOC_CODEGEN_BOUND);
  assert_int_equal(run.report.results.data[1].answer, BYOC_CODEGEN_DECLINED);
  assert_string_equal(run.report.results.data[1].reason, "Neg is better done elsewhere");
  const byoc_runtime_module_t *packed = find(&run, "demo_first");
  assert_int_equal(packed->workspace_size_bytes, 128);
  assert_int_equal(packed->constants.count, 1);
  const float values[] = {1.5f, -2.5f};
  assert_memory_equal(packed->constants.data[0].data, values, sizeof(values));
  end(&run);
}

static void test_rewriting(void **state) {
  (void)state;
  run_t run;
  begin(&run, "rewrite");
  byoc_test_ok(generate(&run), &run.diag);
  assert_int_equal(run.report.results.data[0].answer, BYOC_CODEGEN_HANDED_BACK);
  assert_int_equal(run.report.results.data[1].answer, BYOC_CODEGEN_HANDED_BACK);
  byoc_test_ok(byoc_graph_verify(run.module, &run.diag), &run.diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_print_function(byoc_graph_module_find(run.module, "first"), &text);
  if (strstr(text.data, "byoc::CallC") == NULL || strstr(text.data, "symbol = \"demo_relu\"") == NULL ||
      strstr(text.data, "Relu@") != NULL) {
    fail_msg("%s", text.data);
  }
  byoc_string_clear(&text);
  byoc_test_print_function(byoc_graph_module_find(run.module, "second"), &text);
  if (strstr(text.data, "Mul@14(%c, @rewrite_constant)") == NULL || strstr(text.data, "Neg") != NULL) {
    fail_msg("%s", text.data);
  }
  byoc_string_deinit(&text);
  assert_int_equal(find(&run, "demo_library")->kind, BYOC_RUNTIME_MODULE_STATIC_LIBRARY);
  assert_int_equal(run.compilations, 1);
  end(&run);
}

static void test_engines(void **state) {
  (void)state;
  run_t run;
  begin(&run, "engine -json=\"{\\\"a\\\": [1, 2]}\"; engine");
  byoc_test_ok(generate(&run), &run.diag);
  assert_int_equal(run.module->runtime_modules.count, 3);
  const byoc_runtime_module_t *engine = find(&run, "demo"), *json = find(&run, "second");
  assert_int_equal(engine->kind, BYOC_RUNTIME_MODULE_ENGINE);
  assert_int_equal(engine->blobs.count, 1);
  assert_string_equal(json->json, "{\"a\": [1, 2]}");
  assert_string_equal(json->engine_name, "demo");
  assert_ptr_equal(json->imports.data[0], engine);
  // The same engine from another target of the same kind is added once.
  byoc_test_ok(generate_by(&run, 1), &run.diag);
  assert_int_equal(run.module->runtime_modules.count, 5);
  assert_ptr_equal(find(&run, "second_1")->imports.data[0], engine);
  end(&run);

  begin(&run, "engine -blob=one; engine -blob=two");
  byoc_test_ok(generate(&run), &run.diag);
  byoc_test_ok(generate_by(&run, 1), &run.diag); // another engine of the same name: each target has its own
  assert_int_equal(run.module->runtime_modules.count, 6);
  assert_ptr_equal(find(&run, "second")->imports.data[0], find(&run, "demo"));
  assert_ptr_equal(find(&run, "second_1")->imports.data[0], find(&run, "demo_1"));
  assert_string_equal(find(&run, "demo_1")->given_name, "demo");
  end(&run);
}

// ---- what is refused ----

static void test_refusals(void **state) {
  (void)state;
  expect_failure("silent", BYOC_INVALID_DATA,
                 "target 'silent' (plugin demo_hooks 2.5-rc1): it left function 'first' without an answer");
  expect_failure("twice", BYOC_INVALID_ARGUMENT, "function 'first' is answered twice");
  expect_failure(
      "liar", BYOC_INVALID_DATA,
      "adding the static library 'demo_library': runtime module 'demo_library' lists the symbol 'demo_rely', "
      "but none of its objects defines it");
  expect_failure("unlisted", BYOC_INVALID_DATA, "without an answer");
  expect_failure("fails", BYOC_UNSUPPORTED, "target 'fails' (plugin demo_hooks 2.5-rc1): this machine is too small");
  expect_failure("speechless", BYOC_INTERNAL, "its hook failed (unknown status, 4711) and gave no reason");
  expect_failure("dirty", BYOC_INVALID_DATA, "it changed the environment of the process");
  assert_int_equal(unsetenv("BYOC_TEST_OF_HYGIENE"), 0);
  expect_failure("mistyped", BYOC_INVALID_DATA,
                 "handing back function 'first': result 0 is now i64[2,3], it was f32[2,3]");
  expect_failure("engine -absent", BYOC_NOT_FOUND, "function 'first' needs the engine 'demo', which was not added");
  expect_failure("engine -misnamed", BYOC_INVALID_DATA,
                 "adding the engine 'demo': its engine table says that its name is 'demon'");
  expect_failure("engine -json={", BYOC_INVALID_DATA, "the JSON of function 'first': it is not JSON: ");
  expect_failure("c", BYOC_UNSUPPORTED, "target 'c' has no code generator");
}

// A symbol that no module lists, after all functions have been answered.
static void test_unlisted_symbol(void **state) {
  (void)state;
  run_t run;
  begin(&run, "unlisted");
  byoc_function_t *functions[] = {byoc_graph_module_find(run.module, "first")};
  byoc_test_error(
      byoc_codegen_run(run.module, run.targets.targets.data[0], functions, 1, &run.services, &run.diag, &run.report),
      BYOC_INVALID_DATA, &run.diag, "function 'first' is bound to the symbol 'demo_first', which no module lists");
  assert_int_equal(run.module->runtime_modules.count, 0);
  end(&run);
}

// Two targets that define one symbol: each binds its functions to its own.
static void test_symbol_twice(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate; negate -O=0");
  byoc_test_ok(generate(&run), &run.diag);
  assert_int_equal(run.module->runtime_modules.count, 4);
  byoc_test_ok(generate_by(&run, 1), &run.diag);
  const byoc_runtime_module_t *own = find(&run, "negate_2"), *packed = NULL;
  for (size_t i = 4; i < run.module->runtime_modules.count; ++i) {
    const byoc_runtime_module_t *module = run.module->runtime_modules.data[i];
    if (module->packed_symbol != NULL && strcmp(module->packed_symbol, "demo_first") == 0) packed = module;
  }
  assert_non_null(packed);
  assert_ptr_equal(packed->imports.data[0], own);
  end(&run);
}

// A second run of one target must not define a symbol that the first one has defined.
static void test_symbol_of_an_earlier_run(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate");
  byoc_function_t *functions[] = {byoc_graph_module_find(run.module, "first"),
                                  byoc_graph_module_find(run.module, "second")};
  const byoc_target_t *target = run.targets.targets.data[0];
  byoc_test_ok(byoc_codegen_run(run.module, target, functions, 1, &run.services, &run.diag, &run.report), &run.diag);
  assert_true(byoc_attributes_set_string(&functions[1]->attributes, "global_symbol", "demo_first"));
  size_t count = run.module->runtime_modules.count;
  byoc_test_error(byoc_codegen_run(run.module, target, functions + 1, 1, &run.services, &run.diag, &run.report),
                  BYOC_ALREADY_EXISTS, &run.diag,
                  "the symbol 'demo_first' is listed by runtime module 'negate' and by 'negate_1'");
  assert_int_equal(run.module->runtime_modules.count, count);
  end(&run);
}

// ---- the session as a plugin sees it ----

typedef void (*probe_t)(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument);
typedef struct prober_t {
  const byoc_host_t *host;
  probe_t probe;
  void *argument;
} prober_t;

static int32_t run_probe(void *self, byoc_codegen_t *codegen) {
  const prober_t *prober = self;
  prober->probe(prober->host, codegen, prober->argument);
  const byoc_codegen_api_t *api = prober->host->codegen;
  for (uint64_t i = 0; i < api->function_count(codegen); ++i) api->decline(codegen, api->function_at(codegen, i), "");
  return BYOC_OK;
}

// Runs `probe` as the hook of a target whose plugin is this test.
static byoc_status_t probe(run_t *run, probe_t body, void *argument) {
  const byoc_target_kind_t *real = kinds.lookup(kinds.self, "negate");
  assert_non_null(real);
  prober_t prober = {.host = &real->library->host, .probe = body, .argument = argument};
  const byoc_backend_t backend = {
      .header = BYOC_HEADER(byoc_backend_t, 1), .target = "probe", .self = &prober, .generate = run_probe};
  byoc_target_kind_t kind = {.name = "probe", .plugin_name = "prober", .plugin_version = "1", .backend = &backend};
  byoc_target_t target = {.kind = &kind, .text = "probe"};
  byoc_function_t *functions[] = {byoc_graph_module_find(run->module, "first"),
                                  byoc_graph_module_find(run->module, "second")};
  byoc_diag_clear(&run->diag);
  return byoc_codegen_run(run->module, &target, functions, 2, &run->services, &run->diag, &run->report);
}

static void probe_graph(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  const byoc_graph_api_t *graph = host->graph;
  byoc_graph_module_t *module = host->codegen->module(codegen);
  assert_int_equal(graph->function_count(module), 3);
  byoc_function_t *function = graph->function_find(module, "first");
  assert_ptr_equal(function, graph->function_at(module, 1));
  assert_ptr_equal(function, host->codegen->function_at(codegen, 0));
  assert_null(graph->function_at(module, 3));
  assert_null(graph->function_find(module, "nobody"));
  assert_null(host->codegen->function_at(codegen, 2));
  assert_string_equal(graph->function_symbol(function), "demo_first");
  assert_string_equal(graph->function_string(function, "Compiler", "-"), "demo");
  assert_string_equal(graph->function_string(function, "Composite", "-"), "-");
  assert_int_equal(graph->function_int(function, "Compiler", 5), 5);
  assert_int_equal(graph->node_count(function), 1);
  byoc_node_t *node = graph->node_at(function, 0);
  assert_null(graph->node_at(function, 1));
  assert_string_equal(graph->node_operator(node), "Relu");
  assert_string_equal(graph->node_domain(node), "");
  assert_int_equal(graph->node_since_version(node), 14);
  assert_null(graph->node_callee(node));
  byoc_value_t *x = graph->operand(node, 0), *y = graph->node_result(node, 0);
  assert_ptr_equal(x, graph->parameter(function, 0));
  assert_ptr_equal(y, graph->result(function, 0));
  assert_null(graph->operand(node, 1));
  assert_null(graph->parameter(function, 1));
  assert_int_equal(graph->value_dtype(x), BYOC_DTYPE_F32);
  assert_int_equal(graph->value_rank(x), 2);
  assert_int_equal(graph->value_dim(x, 1), 3);
  assert_int_equal(graph->value_dim(x, 2), -1);
  assert_int_equal(graph->value_dim(x, -1), -1);
  assert_int_equal(graph->value_element_count(x), 6);
  assert_int_equal(graph->value_parameter_index(x), 0);
  assert_int_equal(graph->value_parameter_index(y), -1);
  assert_ptr_equal(graph->value_producer(y), node);
  assert_null(graph->value_producer(x));
  assert_int_equal(graph->value_use_count(x), 1);
  assert_ptr_equal(graph->value_user(x, 0), node);
  assert_null(graph->value_user(y, 0)); // the function's result
  byoc_tensor_data_t data;
  assert_int_equal(graph->value_constant(x, &data), 0);
  assert_int_equal(graph->has_attribute(node, "alpha"), 0);
  assert_true(graph->attribute_float(node, "alpha", 2.5) == 2.5);
  uint64_t count = 7;
  assert_null(graph->attribute_ints(node, "axes", &count));
  assert_int_equal(count, 0);
  // Nothing at all.
  assert_int_equal(graph->function_count(NULL), 0);
  assert_string_equal(graph->function_name(NULL), "");
  assert_int_equal(graph->node_count(NULL), 0);
  assert_null(graph->operand(NULL, 0));
  assert_int_equal(graph->value_rank(NULL), -1);
  assert_int_equal(graph->value_element_count(NULL), -1);
  assert_null(graph->node_at(function, UINT64_MAX));
  // The callee of main's first node.
  byoc_node_t *call = graph->node_at(graph->function_at(module, 0), 0);
  assert_string_equal(graph->node_operator(call), "call");
  assert_ptr_equal(graph->node_callee(call), function);
}

// Dimensions that a run decides are equal where their names are.
static void probe_open_dims(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  const byoc_graph_api_t *graph = host->graph;
  const byoc_function_t *function = host->codegen->function_at(codegen, 0);
  const byoc_value_t *x = graph->parameter(function, 0), *y = graph->parameter(function, 1);
  const byoc_value_t *sum = graph->result(function, 0);
  assert_int_equal(graph->value_dim(sum, 0), -1);
  assert_int_equal(graph->value_dim(sum, 1), -1);
  assert_int_equal(graph->value_dims_equal(x, 0, sum, 0), 1); // N
  assert_int_equal(graph->value_dims_equal(x, 1, y, 1), 0);   // M is not K
  assert_int_equal(graph->value_dims_equal(x, 1, sum, 1), 0); // nor what both broadcast to
  assert_int_equal(graph->value_dims_equal(x, 2, y, 2), 1);   // 4
  assert_int_equal(graph->value_dims_equal(x, 2, x, 0), 0);
  assert_int_equal(graph->value_dims_equal(x, 3, x, 3), 0);
  assert_int_equal(graph->value_dims_equal(x, -1, x, -1), 0);
  assert_int_equal(graph->value_dims_equal(NULL, 0, x, 0), 0);
  assert_int_equal(graph->value_dims_equal(x, 0, NULL, 0), 0);
}

static void probe_match(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  byoc_region_t *region = host->codegen->match(codegen, function, NULL, "op:{Neg|Relu}(%x)");
  assert_non_null(region);
  assert_int_equal(host->region->node_count(region), 1);
  assert_ptr_equal(host->region->node(region, "op"), host->graph->node_at(function, 0));
  assert_ptr_equal(host->region->value(region, "x"), host->graph->parameter(function, 0));
  assert_null(host->region->value(region, "op"));
  assert_null(host->region->node(region, "nobody"));
  assert_null(host->region->node_at(region, 1));
  assert_string_equal(host->target->kind(host->region->target(region)), "probe");
  assert_null(host->codegen->match(codegen, function, NULL, "Abs(%x)"));
  // A parameter has no producer to match.
  assert_null(host->codegen->match(codegen, function, host->graph->parameter(function, 0), "Relu(%x)"));
  // A value of another function.
  byoc_function_t *other = host->codegen->function_at(codegen, 1);
  assert_null(host->codegen->match(codegen, function, host->graph->result(other, 0), "Neg(%x)"));
}

static void test_readers(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate");
  byoc_test_ok(probe(&run, probe_graph, NULL), &run.diag);
  byoc_test_ok(probe(&run, probe_match, NULL), &run.diag);
  end(&run);
}

static void test_open_dims(void **state) {
  (void)state;
  static const char text[] = "module {\n"
                             "  func @main(%x : f32[N,M,4], %y : f32[N,K,4]) -> (%r : f32[N,broadcast(M, K),4]) {\n"
                             "    %t0 = call @first(%x, %y) : f32[N,broadcast(M, K),4]\n"
                             "    %r = call @second(%t0) : f32[N,broadcast(M, K),4]\n"
                             "    return %r\n"
                             "  }\n"
                             "  func @first(%a : f32[N,M,4], %b : f32[N,K,4]) -> (%c : f32[N,broadcast(M, K),4]) "
                             "attributes {Compiler = \"demo\"} {\n"
                             "    %c = Add@14(%a, %b) : f32[N,broadcast(M, K),4]\n"
                             "    return %c\n"
                             "  }\n"
                             "  func @second(%d : f32[N,broadcast(M, K),4]) -> (%e : f32[N,broadcast(M, K),4]) "
                             "attributes {Compiler = \"demo\"} {\n"
                             "    %e = Neg@13(%d) : f32[N,broadcast(M, K),4]\n"
                             "    return %e\n"
                             "  }\n"
                             "}\n";
  run_t run;
  begin_with(&run, "negate", text);
  byoc_test_ok(probe(&run, probe_open_dims, NULL), &run.diag);
  end(&run);
}

static void probe_bad_pattern(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  assert_null(host->codegen->match(codegen, host->codegen->function_at(codegen, 0), NULL, "Relu(%x"));
}

static void probe_foreign_edit(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *main = host->graph->function_find(host->codegen->module(codegen), "main");
  assert_int_not_equal(host->edit->erase_node(codegen, host->graph->node_at(main, 1)), BYOC_OK);
}

static void probe_used_erase(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_node_t *node = host->graph->node_at(host->codegen->function_at(codegen, 0), 0);
  assert_int_not_equal(host->edit->erase_node(codegen, node), BYOC_OK);
}

static void probe_erase_twice(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  byoc_node_t *node = host->graph->node_at(function, 0);
  byoc_value_t *y = host->graph->node_result(node, 0);
  assert_int_equal(host->edit->replace_value(codegen, y, host->graph->parameter(function, 0)), BYOC_OK);
  assert_int_equal(host->edit->erase_node(codegen, node), BYOC_OK);
  assert_int_not_equal(host->edit->replace_value(codegen, host->graph->parameter(function, 0), y), BYOC_OK);
  assert_int_not_equal(host->edit->erase_node(codegen, node), BYOC_OK);
}

static void probe_crossed_operands(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *first = host->codegen->function_at(codegen, 0), *second = host->codegen->function_at(codegen, 1);
  byoc_value_t *operand = host->graph->parameter(second, 0);
  assert_null(host->edit->create_node(codegen, first, NULL, "", "Relu", &operand, 1, 1));
  assert_null(host->edit->create_node(codegen, first, NULL, "", "Rellu", &operand, 1, 1));
  operand = host->graph->parameter(first, 0);
  assert_null(host->edit->create_node(codegen, first, NULL, "", "Rellu", &operand, 1, 1));
  assert_null(host->edit->create_node(codegen, first, NULL, "", "Add", &operand, 1, 1));
  assert_null(host->edit->create_node(codegen, first, host->graph->node_at(second, 0), "", "Relu", &operand, 1, 1));
}

// Calls of C functions whose results have no types, or that start from an operand that is not there.
static void probe_c_calls(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  byoc_value_t *x = host->graph->parameter(function, 0);
  byoc_c_call_t call = {.header = BYOC_HEADER(byoc_c_call_t, 1),
                        .symbol = "f",
                        .return_type = BYOC_C_VOID,
                        .repeat_count = 1,
                        .result_from_operand = -1};
  const uint32_t dtype = BYOC_DTYPE_F32, rank = 1;
  const int64_t dims[] = {4};
  assert_null(host->edit->create_c_call(codegen, function, NULL, &call, &x, 1, NULL, &rank, dims, 1));
  assert_null(host->edit->create_c_call(codegen, function, NULL, &call, &x, 1, &dtype, NULL, dims, 1));
  call.result_from_operand = 1;
  assert_null(host->edit->create_c_call(codegen, function, NULL, &call, &x, 1, &dtype, &rank, dims, 1));
  call.result_from_operand = 0;
  byoc_node_t *node = host->edit->create_c_call(codegen, function, NULL, &call, &x, 1, &dtype, &rank, dims, 1);
  assert_non_null(node);
  assert_int_equal(host->edit->erase_node(codegen, node), BYOC_OK);
}

static void probe_declined_twice(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  assert_int_equal(host->codegen->decline(codegen, function, "once"), BYOC_OK);
  assert_int_equal(host->codegen->decline(codegen, function, "again"), BYOC_INVALID_ARGUMENT);
}

static void probe_declined_nodes(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  byoc_function_t *function = host->codegen->function_at(codegen, 0), *other = host->codegen->function_at(codegen, 1);
  byoc_node_t *nodes[] = {host->graph->node_at(function, 0), NULL};
  const char *const how = argument;
  int32_t status = BYOC_OK;
  if (strcmp(how, "none") == 0) status = host->codegen->decline_nodes(codegen, function, nodes, 0, "no room");
  if (strcmp(how, "null") == 0) status = host->codegen->decline_nodes(codegen, function, nodes, 2, "no room");
  if (strcmp(how, "foreign") == 0) status = host->codegen->decline_nodes(codegen, other, nodes, 1, "no room");
  assert_int_equal(status, BYOC_INVALID_ARGUMENT);
}

static void test_bad_declined_nodes(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"none", "single nodes of function 'first' are declined, but none is named"},
      {"null", "node 1 of the 2 that are declined, counted from 0, is no operator of function 'first'"},
      {"foreign", "node 0 of the 1 that are declined, counted from 0, is no operator of function 'second'"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    run_t run;
    begin(&run, "negate");
    const byoc_status_t status = probe(&run, probe_declined_nodes, (void *)(uintptr_t)cases[i][0]);
    byoc_test_error(status, BYOC_INVALID_ARGUMENT, &run.diag, cases[i][1]);
    end(&run);
  }
}

static void test_bad_calls(void **state) {
  (void)state;
  static const struct {
    probe_t probe;
    const char *part; // NULL: the run recovers
  } cases[] = {
      {probe_bad_pattern, "pattern of rule 'probe': expected ')'"},
      {probe_foreign_edit, "edit: function 'main' is not one of those to be implemented"},
      {probe_used_erase, "edit: Relu"},
      {probe_erase_twice, "edit: a value is of another function"},
      {probe_declined_twice, "function 'first' is answered twice"},
      {probe_crossed_operands, NULL},
      {probe_c_calls, NULL},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    run_t run;
    begin(&run, "negate");
    byoc_status_t status = probe(&run, cases[i].probe, NULL);
    if (cases[i].part == NULL)
      byoc_test_ok(status, &run.diag);
    else
      byoc_test_error(status, BYOC_INVALID_ARGUMENT, &run.diag, cases[i].part);
    end(&run);
  }
}

static void probe_constant(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  static const int64_t dims[] = {2, 3};
  static const float values[] = {1, 2, 3, 4, 5, 6};
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                             .dtype = BYOC_DTYPE_F32,
                             .rank = 2,
                             .dims = dims,
                             .data = values,
                             .size_bytes = sizeof(values)};
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  byoc_value_t *value = host->edit->constant(codegen, function, &data);
  assert_non_null(value);
  byoc_tensor_data_t read;
  assert_int_equal(host->graph->value_constant(value, &read), 1);
  assert_int_equal(read.rank, 2);
  assert_int_equal(read.dims[0], 2);
  assert_int_equal(read.dims[1], 3);
  assert_memory_equal(read.data, values, sizeof(values));
  assert_int_equal(read.header.struct_size, sizeof(read));
}

static void probe_features(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  assert_string_equal(host->codegen->cpu_features(codegen), "avx avx2 fma");
  assert_int_equal(host->codegen->require_cpu_features(codegen, "fma avx2"), BYOC_OK);
  assert_int_equal(host->codegen->require_cpu_features(codegen, "avx"), BYOC_OK);
}

static void probe_precision(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  assert_string_equal(host->codegen->cpu_vendor(codegen), "");
  const byoc_target_t *target = host->codegen->target(codegen);
  assert_int_equal(host->target->option_cpu_has(target, "mcpu", "avx9000", ""), 0);
  assert_int_equal(host->target->option_cpu_has(target, "mcpu", "avx2", "nobody"), 0);
  assert_int_equal(host->target->option_cpu_has(NULL, "mcpu", "", ""), 0);
  assert_int_equal(host->codegen->report_precision(codegen, function, "int8", NULL), BYOC_OK);
  assert_int_equal(host->codegen->report_precision(codegen, function, "f32", "too short"), BYOC_OK);
}

static void probe_precision_of_nothing(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  assert_int_equal(host->codegen->report_precision(codegen, NULL, "int8", NULL), BYOC_INVALID_ARGUMENT);
}

static void probe_missing_feature(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  assert_int_not_equal(host->codegen->require_cpu_features(codegen, "avx512f"), BYOC_OK);
}

static void test_features_and_constants(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate");
  byoc_test_ok(probe(&run, probe_constant, NULL), &run.diag);
  byoc_test_ok(probe(&run, probe_features, NULL), &run.diag);
  assert_string_equal(run.report.required_cpu_features.data, "avx avx2 fma");
  byoc_test_ok(probe(&run, probe_precision, NULL), &run.diag);
  const byoc_codegen_result_t *last = &run.report.results.data[run.report.results.count - 2];
  assert_string_equal(last->precision, "f32"); // the last report counts
  assert_string_equal(last->lapse, "too short");
  assert_null(last[1].precision);
  byoc_test_error(probe(&run, probe_precision_of_nothing, NULL), BYOC_INVALID_ARGUMENT, &run.diag,
                  "a precision is reported without a name or for a function that is not one of this run");
  byoc_test_error(probe(&run, probe_missing_feature, NULL), BYOC_INVALID_ARGUMENT, &run.diag,
                  "it requires the processor feature 'avx512f', which the artifact's processor does not have");
  end(&run);
}

static void probe_services(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  (void)argument;
  const void *object = NULL;
  uint64_t size = 0;
  byoc_compile_request_t request = {
      .header = BYOC_HEADER(byoc_compile_request_t, 1), .name = "broken", .source = "int f( {"};
  assert_int_equal(host->codegen->compile(codegen, &request, &object, &size), BYOC_TOOL);
  assert_null(object);
  request.source = "int f(void) { return 3; }";
  assert_int_equal(host->codegen->compile(codegen, &request, &object, &size), BYOC_OK);
  assert_true(size > 100);
  // Several compilations at once: objects come in order; there are none after a failure, whichever failed.
  const void *objects[2] = {"left over", "left over"};
  uint64_t sizes[2] = {1, 1};
  byoc_compile_request_t requests[2] = {request, request};
  requests[1].source = "int longer(int x) { return x * x + 3; } int other(int x) { return longer(x); }";
  assert_int_equal(host->codegen->compile_all(codegen, requests, 2, sizeof(requests[0]), objects, sizes), BYOC_OK);
  assert_int_equal(sizes[0], size);
  assert_memory_equal(objects[0], object, size);
  assert_true(sizes[1] > sizes[0]);
  requests[1].source = NULL;
  assert_int_equal(host->codegen->compile_all(codegen, requests, 2, sizeof(requests[0]), objects, sizes),
                   BYOC_INVALID_DATA);
  assert_null(objects[0]);
  assert_int_equal(sizes[1], 0);
  assert_int_equal(host->codegen->compile_all(codegen, NULL, 0, sizeof(requests[0]), objects, sizes), BYOC_OK);
  double median = 1;
  byoc_measure_request_t measurement = {
      .header = BYOC_HEADER(byoc_measure_request_t, 1), .object = object, .object_size_bytes = size, .symbol = "f"};
  assert_int_equal(host->codegen->measure(codegen, &measurement, &median), BYOC_UNSUPPORTED);
  host->codegen->log(codegen, "a line");
  host->codegen->progress(codegen, "a task", 1, 0);
}

static void probe_cache(const byoc_host_t *host, byoc_codegen_t *codegen, void *argument) {
  int *generation = argument;
  const void *data = NULL;
  uint64_t size = 1;
  const int32_t expected = *generation == 0 ? BYOC_NOT_FOUND : BYOC_OK;
  assert_int_equal(host->codegen->cache_get(codegen, "a key", &data, &size), expected);
  if (expected == BYOC_OK) {
    assert_int_equal(size, 3);
    assert_memory_equal(data, "abc", 3);
  }
  assert_int_equal(host->codegen->cache_get(codegen, "another key", &data, &size), BYOC_NOT_FOUND);
  assert_int_equal(size, 0);
  assert_int_equal(host->codegen->cache_put(codegen, "a key", "abc", 3), BYOC_OK);
  assert_int_not_equal(host->codegen->cache_put(codegen, "", "abc", 3), BYOC_OK);
  *generation += 1;
}

static void test_services(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate");
  byoc_test_ok(probe(&run, probe_services, NULL), &run.diag);
  // Without a folder the cache keeps nothing, and nothing fails.
  int generation = 0;
  byoc_test_ok(probe(&run, probe_cache, &generation), &run.diag);
  char *folder = byoc_test_folder();
  run.services.cache_directory = folder;
  generation = 0;
  byoc_test_ok(probe(&run, probe_cache, &generation), &run.diag);
  byoc_test_ok(probe(&run, probe_cache, &generation), &run.diag);
  assert_int_equal(generation, 2);
  end(&run);
  free(folder);
}

// Entries that are cut, changed, or of another key count as missing.
static void test_cache_damage(void **state) {
  (void)state;
  char *folder = byoc_test_folder();
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  const byoc_plugin_cache_t cache = {folder, "p", "1", "1234"};
  const char key[] = "gemm 64x64 f32", data[] = "the tuned choice";
  const void *got = NULL;
  size_t size = 0;
  assert_int_equal(byoc_plugin_cache_get(&cache, key, &arena, &diag, &got, &size), BYOC_NOT_FOUND);
  byoc_test_ok(byoc_plugin_cache_put(&cache, key, data, sizeof(data), &diag), &diag);
  byoc_test_ok(byoc_plugin_cache_get(&cache, key, &arena, &diag, &got, &size), &diag);
  assert_int_equal(size, sizeof(data));
  assert_memory_equal(got, data, size);
  // Neither another version nor another build of the same version finds it.
  const byoc_plugin_cache_t others[] = {{folder, "p", "2", "1234"}, {folder, "p", "1", "5678"}};
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
    assert_int_equal(byoc_plugin_cache_get(&others[i], key, &arena, &diag, &got, &size), BYOC_NOT_FOUND);
  }
  char *plugin_folder = byoc_path_join(byoc_allocator_system(), folder, "p-1"), **names = NULL;
  size_t count = 0;
  byoc_test_ok(byoc_list_directory(plugin_folder, byoc_allocator_system(), &diag, &names, &count), &diag);
  assert_int_equal(count, 1);
  char *path = byoc_path_join(byoc_allocator_system(), plugin_folder, names[0]), *content = NULL;
  size_t content_size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &content, &content_size), &diag);
  for (size_t i = 0; i < content_size; ++i) {
    byoc_test_ok(byoc_file_write(path, content, i, &diag), &diag);
    assert_int_equal(byoc_plugin_cache_get(&cache, key, &arena, &diag, &got, &size), BYOC_NOT_FOUND);
    content[i] ^= 0x10;
    byoc_test_ok(byoc_file_write(path, content, content_size, &diag), &diag);
    assert_int_equal(byoc_plugin_cache_get(&cache, key, &arena, &diag, &got, &size), BYOC_NOT_FOUND);
    content[i] ^= 0x10;
  }
  byoc_test_ok(byoc_plugin_cache_put(&cache, key, "", 0, &diag), &diag);
  byoc_test_ok(byoc_plugin_cache_get(&cache, key, &arena, &diag, &got, &size), &diag);
  assert_int_equal(size, 0);
  byoc_free_names(byoc_allocator_system(), names, count);
  byoc_arena_deinit(&arena);
  free(plugin_folder);
  free(content);
  free(path);
  free(folder);
}

// Modules keep the plugin's code, and the registry may go first.
static void test_modules_outlive_the_registry(void **state) {
  (void)state;
  run_t run;
  begin(&run, "negate");
  byoc_plugin_library_t *library = run.targets.targets.data[0]->kind->library;
  const uint32_t before = library->reference_count;
  byoc_test_ok(generate(&run), &run.diag);
  assert_int_equal(library->reference_count, before + 4);
  end(&run);
  assert_int_equal(library->reference_count, before);
}

typedef struct memory_case_t {
  const char *target;
} memory_case_t;

static byoc_status_t generate_with(void *argument, byoc_allocator_t allocator) {
  const memory_case_t *test = argument;
  byoc_graph_module_t *module = NULL;
  byoc_diag_t diag = {0};
  BYOC_RETURN_IF_ERROR(byoc_graph_parse(graph_text, "test", allocator, &diag, &module));
  byoc_target_list_t targets;
  byoc_diag_t target_diag = {0};
  byoc_test_ok(byoc_target_list_parse(&test->target, 1, &kinds, byoc_allocator_system(), &target_diag, &targets),
               &target_diag);
  byoc_codegen_report_t report;
  byoc_codegen_report_init(&report, allocator);
  int compilations = 0;
  const byoc_codegen_services_t services = {.compile = compile, .self = &compilations};
  byoc_function_t *functions[] = {byoc_graph_module_find(module, "first"), byoc_graph_module_find(module, "second")};
  byoc_status_t status = byoc_codegen_run(module, targets.targets.data[0], functions, 2, &services, &diag, &report);
  if (status != BYOC_OK) assert_int_equal(module->runtime_modules.count, 0);
  byoc_codegen_report_deinit(&report);
  byoc_target_list_deinit(&targets);
  byoc_graph_module_destroy(module);
  // The plugin reports a failure in its own words.
  return status == BYOC_INTERNAL ? BYOC_OUT_OF_MEMORY : status;
}

static void test_out_of_memory(void **state) {
  (void)state;
  static const char *const targets[] = {"negate", "each"};
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    memory_case_t test = {.target = targets[i]};
    byoc_test_each_allocation_fails(generate_with, &test, true);
  }
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c_source),
      cmocka_unit_test(test_function_by_function),
      cmocka_unit_test(test_rewriting),
      cmocka_unit_test(test_engines),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_unlisted_symbol),
      cmocka_unit_test(test_symbol_twice),
      cmocka_unit_test(test_symbol_of_an_earlier_run),
      cmocka_unit_test(test_readers),
      cmocka_unit_test(test_open_dims),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_bad_declined_nodes),
      cmocka_unit_test(test_features_and_constants),
      cmocka_unit_test(test_services),
      cmocka_unit_test(test_cache_damage),
      cmocka_unit_test(test_modules_outlive_the_registry),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, group_setup, close_registry);
}
