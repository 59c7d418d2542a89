// SPDX-License-Identifier: Apache-2.0
// libbyoc from the inside: builds to files and to memory, what is said about them, progress, cancelling, older callers.
#include "tests/support/support.h"

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "byoc/compiler.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/base/process.h"
#include "core/frontend/onnx_write.h"
#include "core/loader/loader.h"

// Callers that were compiled against libbyoc.so.0 rely on these places. Fields are added at the end only.
#define AT(type, field, offset) _Static_assert(offsetof(byoc_compiler_##type##_t, field) == (offset), #type "." #field)
#if UINTPTR_MAX == UINT64_MAX
AT(diagnostic, message, 24);
AT(diagnostic, source, 56);
AT(progress, step, 8);
AT(progress, total, 40);
AT(options, plugins, 8);
AT(options, plugin_folder, 40);
AT(build, model_path, 8);
AT(build, data_folder, 32);
AT(build, output, 48);
AT(build, disabled_pass_count, 112);
AT(build, cost_budget_s, 136);
AT(build, profile, 164);
AT(build, verbosity, 180);
AT(build, self, 184);
AT(build, diagnostic, 200);
AT(build, triple, 216);
AT(result, diagnostics, 8);
AT(result, artifact, 24);
AT(result, plan, 56);
AT(result, placement, 64);
AT(build, weights, 208);
AT(build, size_price, 224);
AT(build, plan_thread_count, 256);
AT(build, reading, 264);
AT(build, optional_input_count, 280);
AT(result, plan_count, 88);
AT(entry, data_folder, 32);
#endif

static byoc_compiler_t *compiler;
static char *folder, *model, *output;

// `declared`: the shape that the model declares for its result; NULL: the right one.
static void write_model(const char *path, const char *rows, const char *declared) {
  byoc_diag_t diag = {0};
  byoc_onnx_model_t *made = byoc_onnx_model_create(byoc_allocator_system(), "absolute", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(made);
  char dims[32];
  snprintf(dims, sizeof(dims), "%s,3", rows);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, dims);
  byoc_onnx_graph_node(graph, "Neg", "neg", "x", "n");
  byoc_onnx_graph_node(graph, "Abs", "abs", "n", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, declared != NULL ? declared : dims);
  byoc_test_ok(byoc_onnx_model_write(made, path, &diag), &diag);
  byoc_onnx_model_destroy(made);
}

static int setup(void **state) {
  (void)state;
  const byoc_allocator_t system = byoc_allocator_system();
  folder = byoc_test_folder();
  model = byoc_path_join(system, folder, "absolute.onnx");
  output = byoc_path_join(system, folder, "absolute.so");
  write_model(model, "2", NULL);
  const byoc_compiler_options_t options = {.struct_size = sizeof(options), .plugin_folder = BYOC_TEST_PLUGIN_DIR};
  return byoc_compiler_create(&options, &compiler, NULL);
}

static int teardown(void **state) {
  (void)state;
  byoc_compiler_destroy(compiler);
  free(model);
  free(output);
  free(folder);
  return 0;
}

static const byoc_compiler_result_t *build_ok(const byoc_compiler_build_t *build) {
  const byoc_compiler_result_t *result = NULL;
  const int32_t status = byoc_compiler_build(compiler, build, &result);
  assert_non_null(result);
  if (status != BYOC_OK) fail_msg("%s", result->diagnostics[result->diagnostic_count - 1]->message);
  assert_int_equal(result->status, BYOC_OK);
  return result;
}

// Fails with this status, and with an error that says `part`, as the last thing said.
static void assert_refused(const byoc_compiler_build_t *build, int32_t expected, const char *part) {
  const byoc_compiler_result_t *result = NULL;
  assert_int_equal(byoc_compiler_build(compiler, build, &result), expected);
  assert_non_null(result);
  assert_int_equal(result->status, expected);
  assert_true(result->diagnostic_count > 0);
  const byoc_compiler_diagnostic_t *error = result->diagnostics[result->diagnostic_count - 1];
  assert_int_equal(error->severity, BYOC_COMPILER_ERROR);
  assert_int_equal(error->status, expected);
  if (strstr(error->message, part) == NULL) fail_msg("'%s' does not say '%s'", error->message, part);
  assert_null(result->artifact);
  byoc_compiler_result_destroy(result);
}

static void assert_runs(const char *path) {
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t loaded;
  byoc_test_ok(byoc_artifact_load(path, &diag, &loaded), &diag);
  const float x[6] = {1, -2, 3, -4, 5, -6};
  float y[6] = {0};
  const void *inputs[] = {x};
  void *outputs[] = {y};
  byoc_context_t *context = NULL;
  assert_int_equal(loaded.table->create(NULL, &context), BYOC_OK);
  assert_int_equal(loaded.table->run(context, inputs, outputs), BYOC_OK);
  for (size_t i = 0; i < 6; ++i) assert_true(y[i] == (float)(i + 1));
  loaded.table->destroy(context);
  byoc_artifact_unload(&loaded);
}

static void test_file_to_file(void **state) {
  (void)state;
  const char *const targets[] = {"c -O=1"};
  const byoc_compiler_build_t build = {
      .struct_size = sizeof(build), .model_path = model, .output = output, .targets = targets, .target_count = 1};
  const byoc_compiler_result_t *result = build_ok(&build);
  assert_int_equal(result->diagnostic_count, 0);
  assert_null(result->artifact);
  assert_null(result->header);
  assert_string_equal(result->placement, "c 2 operators");
  json_t *plan = json_loads(result->plan, 0, NULL);
  assert_string_equal(json_string_value(json_object_get(plan, "format")), "byoc plan");
  json_decref(plan);
  byoc_compiler_result_destroy(result);
  assert_runs(output);
  char *header = byoc_path_join(byoc_allocator_system(), folder, "absolute.h");
  assert_true(byoc_file_exists(header));
  free(header);
}

// Memory to memory gives the bytes that the files hold, if the name is the same; nothing is left in $TMPDIR.
static void test_memory_to_memory(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *bytes = NULL, *made = NULL, *temporary = byoc_test_folder();
  size_t size = 0, made_size = 0;
  const char *before = getenv("TMPDIR");
  char *kept = before != NULL ? strdup(before) : NULL;
  assert_int_equal(setenv("TMPDIR", temporary, 1), 0);
  const char *const targets[] = {"c -O=1"};
  byoc_test_ok(byoc_file_read(model, byoc_allocator_system(), &diag, &bytes, &size), &diag);
  const byoc_compiler_build_t build = {.struct_size = sizeof(build),
                                       .model_data = bytes,
                                       .model_size_bytes = size,
                                       .name = "absolute",
                                       .targets = targets,
                                       .target_count = 1};
  const byoc_compiler_result_t *result = build_ok(&build);
  const byoc_compiler_build_t again = {
      .struct_size = sizeof(again), .model_path = model, .output = output, .targets = targets, .target_count = 1};
  byoc_compiler_result_destroy(build_ok(&again));
  byoc_test_ok(byoc_file_read(output, byoc_allocator_system(), &diag, &made, &made_size), &diag);
  assert_int_equal(result->artifact_size_bytes, made_size);
  assert_memory_equal(result->artifact, made, made_size);
  assert_int_equal(strlen(result->header), result->header_size_bytes);
  assert_non_null(strstr(result->header, "absolute_run"));
  byoc_compiler_result_destroy(result);
  assert_int_equal(byoc_test_count_entries(temporary), 0);
  assert_int_equal(kept != NULL ? setenv("TMPDIR", kept, 1) : unsetenv("TMPDIR"), 0);
  free(kept);
  free(temporary);
  free(bytes);
  free(made);
}

static void test_weights_go_where_the_caller_says(void **state) {
  (void)state;
  static const char text[] = "module {opset_import. = 17} {\n"
                             "  constant @w : f32[2,3] = [0.0, 4.0, 0.0, 8.0, 0.0, 12.0]\n"
                             "  func @main(%x : f32[2,3]) -> (%y : f32[2,3]) {\n"
                             "    %y = Add@14(%x, @w) : f32[2,3]\n    return %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  char *shared = byoc_path_join(byoc_allocator_system(), folder, "all.weights");
  char *added = byoc_path_join(byoc_allocator_system(), folder, "added.byoc");
  byoc_test_ok(byoc_file_write(added, text, sizeof(text) - 1, &diag), &diag);
  byoc_compiler_build_t build = {
      .struct_size = sizeof(build), .model_path = added, .output = output, .weights = shared};
  byoc_compiler_result_destroy(build_ok(&build));
  assert_true(byoc_file_exists(shared));
  assert_runs(output);
  build.weights = "somewhere";
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "weights takes internal, appended, external or a file");
  build.weights = "appended";
  byoc_compiler_result_destroy(build_ok(&build));
  assert_runs(output);
  build.weights = "external";
  build.output = NULL;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "without `output` it has none");
  build.weights = "appended";
  byoc_compiler_result_destroy(build_ok(&build));
  // A caller that was compiled before the field was there.
  build.weights = "not read";
  build.struct_size = (uint32_t)offsetof(byoc_compiler_build_t, weights);
  byoc_compiler_result_destroy(build_ok(&build));
  free(shared);
  free(added);
}

static void test_dimensions(void **state) {
  (void)state;
  char *open_model = byoc_path_join(byoc_allocator_system(), folder, "open.onnx");
  write_model(open_model, "rows", NULL);
  const byoc_compiler_dim_t dim = {"rows", 2}, wrong = {"rows", -1};
  byoc_compiler_build_t build = {
      .struct_size = sizeof(build), .model_path = open_model, .output = output, .dims = &dim, .dim_count = 1};
  byoc_compiler_result_destroy(build_ok(&build));
  assert_runs(output);
  build.dims = &wrong;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "dims[0] has no name or a negative value");
  // Several values: the dimension stays open, and there is an arm for each of them.
  const byoc_compiler_dim_t several[] = {{"rows", 2}, {"rows", 5}}, same[] = {{"rows", 2}, {"rows", 2}};
  build.dims = same;
  build.dim_count = 2;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "dims[0] and dims[1] are the same");
  build.dims = several;
  const byoc_compiler_result_t *result = build_ok(&build);
  assert_non_null(strstr(result->plan, "rows=5"));
  byoc_compiler_result_destroy(result);
  free(open_model);
}

static void assert_entry_runs(const byoc_loaded_artifact_t *loaded, size_t index, const char *name, float factor) {
  const byoc_artifact_t *table = loaded->table->entries[index];
  const float x[6] = {1, -2, 3, -4, 5, -6};
  float y[6] = {0};
  const void *inputs[] = {x};
  void *outputs[] = {y};
  byoc_context_t *context = NULL;
  assert_string_equal(table->entry, name);
  assert_int_equal(table->create(NULL, &context), BYOC_OK);
  assert_int_equal(table->run(context, inputs, outputs), BYOC_OK);
  for (size_t i = 0; i < 6; ++i) assert_true(y[i] == factor * (x[i] < 0 ? -x[i] : x[i]));
  table->destroy(context);
}

// A file and a model in memory in one artifact; what is wrong with the entries is said before any work.
static void test_entries(void **state) {
  (void)state;
  static const char text[] = "module {opset_import. = 17} {\n"
                             "  constant @two : f32[] = splat 2.0\n"
                             "  func @main(%x : f32[2,3]) -> (%y : f32[2,3]) {\n"
                             "    %0 = Abs@13(%x) : f32[2,3]\n"
                             "    %y = Mul@14(%0, @two) : f32[2,3]\n    return %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  char *bytes = NULL, *twice = byoc_path_join(byoc_allocator_system(), folder, "twice.byoc");
  size_t size = 0;
  byoc_test_ok(byoc_file_write(twice, text, sizeof(text) - 1, &diag), &diag);
  byoc_test_ok(byoc_file_read(model, byoc_allocator_system(), &diag, &bytes, &size), &diag);
  byoc_compiler_entry_t entries[] = {{.name = "once", .model_data = bytes, .model_size_bytes = size},
                                     {.name = "twice", .model_path = twice}};
  byoc_compiler_build_t build = {.struct_size = sizeof(build), .entries = entries, .entry_count = 2, .output = output};
  const byoc_compiler_result_t *result = build_ok(&build);
  assert_int_equal(result->plan_count, 2);
  assert_ptr_equal(result->plans[0], result->plan);
  assert_non_null(strstr(result->plans[1], "Mul"));
  assert_null(strstr(result->plans[0], "Mul"));
  assert_string_equal(result->placements[1], "c 2 operators");
  byoc_compiler_result_destroy(result);
  byoc_loaded_artifact_t loaded;
  byoc_test_ok(byoc_artifact_load(output, &diag, &loaded), &diag);
  assert_int_equal(loaded.table->entry_count, 2);
  assert_entry_runs(&loaded, 0, "once", 1);
  assert_entry_runs(&loaded, 1, "twice", 2);
  byoc_artifact_unload(&loaded);
  // In memory, and for two processors.
  const char *const targets[] = {"c -mcpu=x86-64,x86-64-v3"};
  build.output = NULL;
  if (byoc_machine_host() == BYOC_MACHINE_X86_64) build.targets = targets, build.target_count = 1;
  result = build_ok(&build);
  assert_int_equal(result->plan_count, build.target_count > 0 ? 4 : 2);
  assert_non_null(strstr(result->header, "model_twice_run"));
  byoc_compiler_result_destroy(result);
  entries[1].name = "Once";
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "there are two entries 'Once'");
  entries[1].name = "no name";
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "the name of an entry takes a C identifier");
  entries[1].name = NULL;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "entries[1] has no name");
  entries[1] = (byoc_compiler_entry_t){.name = "twice"};
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "twice takes one of model_path and model_data");
  entries[1].model_path = twice;
  build.model_path = model;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "a build takes a model or entries, not both");
  build.model_path = NULL;
  build.entry_count = 33;
  byoc_compiler_entry_t many[33];
  char names[33][8];
  for (size_t k = 0; k < 33; ++k) {
    snprintf(names[k], sizeof(names[k]), "e%zu", k);
    many[k] = (byoc_compiler_entry_t){.name = names[k], .model_path = twice};
  }
  build.entries = many;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "33 entries are given, and an artifact has at most 32");
  // A caller that was compiled before there were entries.
  build.struct_size = (uint32_t)offsetof(byoc_compiler_build_t, entries);
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "a build takes one of model_path and model_data");
  free(twice);
  free(bytes);
}

static void test_plans_for_threads(void **state) {
  (void)state;
  static const int32_t counts[] = {1, 2}, falling[] = {2, 1};
  const char *const targets[] = {"cutlass", "c"};
  byoc_compiler_build_t build = {.struct_size = sizeof(build),
                                 .model_path = model,
                                 .output = output,
                                 .targets = targets,
                                 .target_count = 2,
                                 .plan = "collage",
                                 .cost = "estimate",
                                 .plan_threads = counts,
                                 .plan_thread_count = 2};
  const byoc_compiler_result_t *result = build_ok(&build);
  assert_non_null(strstr(result->plan, "main.threads1"));
  assert_non_null(strstr(result->plan, "main.threads2"));
  byoc_compiler_result_destroy(result);
  assert_runs(output);
  build.plan_threads = falling;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "plan_threads takes up to 8 increasing numbers from 1 to ");
}

// Numbers are written with a point in the C of a build, and the caller's locale stays what it was.
static void test_decimal_commas(void **state) {
  (void)state;
  static const char text[] = "module {opset_import. = 17} {\n"
                             "  func @main(%x : f32[2,3]) -> (%y : f32[2,3]) {\n"
                             "    %0 = Abs@13(%x) : f32[2,3]\n"
                             "    %y = LeakyRelu@16(%0) {alpha = 0.25} : f32[2,3]\n    return %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  char command[4096], *leaky = byoc_path_join(byoc_allocator_system(), folder, "leaky.byoc");
  snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >&2 2>/dev/null", folder);
  assert_int_equal(setenv("LOCPATH", folder, 1), 0);
  if (system(command) != 0 || setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL) {
    free(leaky);
    byoc_test_skip("there is no locale with a decimal comma");
  }
  byoc_test_ok(byoc_file_write(leaky, text, sizeof(text) - 1, &diag), &diag);
  const byoc_compiler_build_t build = {
      .struct_size = sizeof(build), .model_path = leaky, .output = output, .size_price = "0.5"};
  const byoc_compiler_result_t *result = build_ok(&build);
  byoc_compiler_result_destroy(result);
  assert_runs(output);
  char number[8];
  snprintf(number, sizeof(number), "%.1f", 0.5);
  assert_string_equal(number, "0,5");
  (void)setlocale(LC_NUMERIC, "C");
  assert_int_equal(unsetenv("LOCPATH"), 0);
  free(leaky);
}

// Without a compiler for another machine, the diagnostic says what to install.
static void test_a_build_for_another_machine_needs_its_compiler(void **state) {
  (void)state;
  byoc_compiler_build_t build = {
      .struct_size = sizeof(build), .model_path = model, .output = output, .triple = "sparc-linux-gnu"};
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "'sparc-linux-gnu' is not the triple of a machine that byoc knows");
  build.triple = "aarch64-linux-gnu";
  if (!byoc_program_exists("aarch64-linux-gnu-gcc")) {
    byoc_test_skip("aarch64-linux-gnu-gcc is not installed");
  }
  byoc_compiler_result_destroy(build_ok(&build));
  byoc_diag_t diag = {0};
  char *made = NULL;
  size_t made_size = 0;
  byoc_test_ok(byoc_file_read(output, byoc_allocator_system(), &diag, &made, &made_size), &diag);
  assert_true(made_size > 20);
  assert_int_equal((uint8_t)made[18], 183); // e_machine: EM_AARCH64
  free(made);
}

static void test_refusals(void **state) {
  (void)state;
  const char *const unknown[] = {"cutlas; c"};
  byoc_compiler_build_t build = {.struct_size = sizeof(build)};
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "a build takes one of model_path and model_data");
  build.model_path = "nowhere.onnx";
  assert_refused(&build, BYOC_NOT_FOUND, "nowhere.onnx");
  build.model_path = model;
  build.output = model;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "output would overwrite");
  build.output = output;
  build.plan = "best";
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "plan takes collage, greedy or a FILE.json, not 'best'");
  build.plan = NULL;
  build.name = "two words";
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "name takes a C identifier");
  build.name = NULL;
  build.target_count = 1;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "targets is NULL, but there are said to be 1");
  const char *const holes[] = {"c", NULL};
  build.targets = holes;
  build.target_count = 2;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "targets[1] is NULL; of 2 items, each is a string");
  build.target_count = UINT64_MAX / 4;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "targets has at most 16384 items");
  build.target_count = 1;
  build.disabled_passes = holes + 1;
  build.disabled_pass_count = 1;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "disabled_passes[0] is NULL");
  build.disabled_pass_count = 0;
  build.thread_count = 257;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "thread_count is at most 256");
  build.thread_count = 0;
  build.queue_count = 65;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "queue_count at most 64");
  build.queue_count = 0;
  build.targets = unknown;
  const byoc_compiler_result_t *result = NULL;
  assert_int_equal(byoc_compiler_build(compiler, NULL, &result), BYOC_INVALID_ARGUMENT);
  assert_string_equal(result->diagnostics[0]->message, "byoc_compiler_build_t is NULL");
  byoc_compiler_result_destroy(result);
  assert_int_equal(byoc_compiler_build(NULL, &build, &result), BYOC_INVALID_ARGUMENT);
  assert_string_equal(result->diagnostics[0]->message, "the compiler is NULL");
  byoc_compiler_result_destroy(result);
  const byoc_compiler_options_t wrong = {.struct_size = sizeof(wrong), .plugins = holes + 1, .plugin_count = 1};
  byoc_compiler_t *none = NULL;
  assert_int_equal(byoc_compiler_create(&wrong, &none, &result), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(result->diagnostics[0]->message, "plugins[0] is NULL"));
  byoc_compiler_result_destroy(result);
  assert_int_equal(byoc_compiler_create(NULL, NULL, &result), BYOC_INVALID_ARGUMENT);
  byoc_compiler_cancel(NULL);

  assert_int_equal(byoc_compiler_build(compiler, &build, &result), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(result->diagnostics[0]->context, "building "));
  assert_non_null(strstr(result->diagnostics[0]->hint, "cutlass"));
  byoc_compiler_result_destroy(result);
  build.struct_size = 0;
  assert_refused(&build, BYOC_INVALID_ARGUMENT, "set it to sizeof(byoc_compiler_build_t)");
  const byoc_compiler_build_t damaged = {.struct_size = sizeof(damaged), .model_data = "damage", .model_size_bytes = 6};
  assert_refused(&damaged, BYOC_INVALID_DATA, "");
}

// The caller was compiled when the struct ended behind `output`: nothing behind it is read.
static void test_older_caller(void **state) {
  (void)state;
  byoc_compiler_build_t build;
  memset(&build, 0xee, sizeof(build));
  memset(&build, 0, offsetof(byoc_compiler_build_t, targets));
  build.struct_size = offsetof(byoc_compiler_build_t, targets);
  build.model_path = model;
  build.output = output;
  byoc_compiler_result_destroy(build_ok(&build));
  assert_runs(output);
}

// What the command prints becomes diagnostics: of making a compiler, and the story of a build.
static void test_what_is_said(void **state) {
  (void)state;
  byoc_compiler_t *other = NULL;
  const byoc_compiler_result_t *result = NULL;
  const char *const missing[] = {"nowhere.so"};
  const byoc_compiler_options_t options = {.struct_size = sizeof(options), .plugins = missing, .plugin_count = 1};
  assert_int_not_equal(byoc_compiler_create(&options, &other, &result), BYOC_OK);
  assert_null(other);
  assert_non_null(strstr(result->diagnostics[0]->message, "nowhere.so"));
  byoc_compiler_result_destroy(result);

  // A declaration that does not hold is left aside, with a warning.
  char *wrong = byoc_path_join(byoc_allocator_system(), folder, "wrong.onnx");
  write_model(wrong, "2", "2,7");
  byoc_compiler_build_t build = {.struct_size = sizeof(build), .model_path = wrong, .output = output};
  result = build_ok(&build);
  assert_int_equal(result->diagnostic_count, 1);
  assert_int_equal(result->diagnostics[0]->severity, BYOC_COMPILER_WARNING);
  assert_non_null(strstr(result->diagnostics[0]->message, "value 'y' is declared f32[2,7]"));
  byoc_compiler_result_destroy(result);
  build.verbosity = BYOC_COMPILER_ERROR;
  result = build_ok(&build);
  assert_int_equal(result->diagnostic_count, 0);
  byoc_compiler_result_destroy(result);
  free(wrong);

  const char *const targets[] = {"c"};
  build.targets = targets;
  build.target_count = 1;
  build.model_path = model;
  build.verbosity = BYOC_COMPILER_NOTE;
  result = build_ok(&build);
  bool is_reported = false;
  for (uint64_t i = 0; i < result->diagnostic_count; ++i) {
    assert_int_equal(result->diagnostics[i]->severity, BYOC_COMPILER_NOTE);
    is_reported = is_reported || strcmp(result->diagnostics[i]->message, "placed c 2 operators") == 0;
  }
  assert_true(is_reported);
  byoc_compiler_result_destroy(result);
}

// ---- progress and cancelling ----

typedef struct watch_t {
  char steps[256];
  const char *last; // cancel when it begins
  uint64_t heard;
} watch_t;

static int32_t watch(void *self, const byoc_compiler_progress_t *progress) {
  watch_t *seen = self;
  if (progress->title[0] == '\0') {
    const size_t used = strlen(seen->steps);
    snprintf(seen->steps + used, sizeof(seen->steps) - used, "%s ", progress->step);
  }
  return seen->last != NULL && strcmp(seen->last, progress->step) == 0;
}

static void hear(void *self, const byoc_compiler_diagnostic_t *diagnostic) {
  watch_t *seen = self;
  assert_true(diagnostic->message[0] != '\0');
  ++seen->heard;
}

static void test_progress(void **state) {
  (void)state;
  static const char all[] = "read simplify place generate lower compose ";
  watch_t seen = {0};
  byoc_compiler_build_t build = {.struct_size = sizeof(build),
                                 .model_path = model,
                                 .output = output,
                                 .verbosity = BYOC_COMPILER_NOTE,
                                 .self = &seen,
                                 .progress = watch,
                                 .diagnostic = hear};
  const byoc_compiler_result_t *result = build_ok(&build);
  assert_string_equal(seen.steps, all);
  assert_int_equal(seen.heard, result->diagnostic_count);
  byoc_compiler_result_destroy(result);
  static const char *const steps[] = {"read", "simplify", "place", "generate", "lower", "compose"};
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i) {
    assert_int_equal(unlink(output) == 0 || i > 0, 1);
    seen = (watch_t){.last = steps[i]};
    assert_refused(&build, BYOC_CANCELLED, "the build was cancelled");
    assert_int_equal(strncmp(seen.steps, all, strlen(seen.steps)), 0);
    assert_false(byoc_file_exists(output));
  }
}

// The last line of progress that came from a hook.
typedef struct told_t {
  char detail[32];
  int64_t done, total;
} told_t;

static int32_t note(void *self, const byoc_compiler_progress_t *progress) {
  told_t *told = self;
  if (strcmp(progress->title, "generating") != 0) return 0;
  assert_string_equal(progress->step, "generate");
  snprintf(told->detail, sizeof(told->detail), "%s", progress->detail);
  told->done = progress->done;
  told->total = progress->total;
  return 0;
}

static void test_progress_of_a_hook(void **state) {
  (void)state;
  static const char *const plugins[] = {BYOC_TEST_BUILD_DIR "/tests/plugins/good/demo_expensive.so"};
  static const char *const targets[] = {"at_once", "c"};
  const byoc_compiler_options_t options = {.struct_size = sizeof(options), .plugins = plugins, .plugin_count = 1};
  told_t told = {.done = -1};
  const byoc_compiler_build_t build = {.struct_size = sizeof(build),
                                       .model_path = model,
                                       .output = output,
                                       .targets = targets,
                                       .target_count = 2,
                                       .plan = "greedy",
                                       .self = &told,
                                       .progress = note};
  byoc_compiler_t *own = NULL;
  assert_int_equal(byoc_compiler_create(&options, &own, NULL), BYOC_OK);
  assert_int_equal(byoc_compiler_build(own, &build, NULL), BYOC_OK);
  assert_true(strcmp(told.detail, "Neg") == 0 || strcmp(told.detail, "Abs") == 0);
  assert_int_equal(told.done, 1);
  assert_int_equal(told.total, 2);
  byoc_compiler_destroy(own);
  assert_runs(output);
}

typedef struct race_t {
  byoc_compiler_build_t build;
  int32_t status;
} race_t;

static void *build_in_thread(void *self) {
  race_t *race = self;
  race->status = byoc_compiler_build(compiler, &race->build, NULL);
  return NULL;
}

// A C compiler that takes a minute is ended at once, and so is a build that waits for its turn; the next one is not.
static void test_cancelled_by_another_thread(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *slow = byoc_path_join(byoc_allocator_system(), folder, "slow-cc"), script[4096], target[4096];
  snprintf(script, sizeof(script),
           "#!/bin/sh\ncase \" $* \" in *\" -c \"*) echo > '%s/started'; exec sleep 60 ;; esac\nexec cc \"$@\"\n",
           folder);
  byoc_test_ok(byoc_file_write(slow, script, strlen(script), &diag), &diag);
  snprintf(target, sizeof(target), "chmod +x '%s'", slow);
  assert_int_equal(system(target), 0);
  snprintf(target, sizeof(target), "c -cc=%s", slow);
  char *started = byoc_path_join(byoc_allocator_system(), folder, "started");
  const char *const targets[] = {target};
  race_t races[2];
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) {
    races[i] = (race_t){
        .build = {.struct_size = sizeof(races[i].build), .model_path = model, .targets = targets, .target_count = 1}};
    assert_int_equal(pthread_create(&threads[i], NULL, build_in_thread, &races[i]), 0);
  }
  for (int wait = 0; wait < 6000 && !byoc_file_exists(started); ++wait) (void)usleep(10000);
  assert_true(byoc_file_exists(started));
  (void)usleep(100000); // the other one waits by now
  const int64_t start_ns = byoc_now_ns();
  byoc_compiler_cancel(compiler);
  for (size_t i = 0; i < 2; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(races[i].status, BYOC_CANCELLED);
  }
  assert_true(byoc_now_ns() - start_ns < 40000000000); // the compiler would have slept for longer
  const byoc_compiler_build_t build = {.struct_size = sizeof(build), .model_path = model, .output = output};
  byoc_compiler_result_destroy(build_ok(&build));
  free(slow);
  free(started);
}

static void *build_with_own(void *self) {
  race_t *race = self;
  byoc_compiler_t *own = NULL;
  const byoc_compiler_options_t options = {.struct_size = sizeof(options), .plugin_folder = BYOC_TEST_PLUGIN_DIR};
  race->status = byoc_compiler_create(&options, &own, NULL);
  if (race->status == BYOC_OK) race->status = byoc_compiler_build(own, &race->build, NULL);
  byoc_compiler_destroy(own);
  return NULL;
}

static void test_two_compilers_at_once(void **state) {
  (void)state;
  const char *const targets[] = {"cutlass", "c"};
  race_t races[2];
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) {
    races[i] = (race_t){
        .build = {.struct_size = sizeof(races[i].build), .model_path = model, .targets = targets, .target_count = 2}};
    assert_int_equal(pthread_create(&threads[i], NULL, build_with_own, &races[i]), 0);
  }
  for (size_t i = 0; i < 2; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(races[i].status, BYOC_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file_to_file),
      cmocka_unit_test(test_memory_to_memory),
      cmocka_unit_test(test_weights_go_where_the_caller_says),
      cmocka_unit_test(test_dimensions),
      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_plans_for_threads),
      cmocka_unit_test(test_decimal_commas),
      cmocka_unit_test(test_a_build_for_another_machine_needs_its_compiler),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_older_caller),
      cmocka_unit_test(test_what_is_said),
      cmocka_unit_test(test_progress),
      cmocka_unit_test(test_progress_of_a_hook),
      cmocka_unit_test(test_cancelled_by_another_thread),
      cmocka_unit_test(test_two_compilers_at_once),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
