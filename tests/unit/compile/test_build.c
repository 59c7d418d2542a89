// SPDX-License-Identifier: Apache-2.0
// The facade: a model through all steps, what its watcher sees and may end, and what the artifact says it requires.
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/compile/build.h"
#include "core/compile/lineage.h"
#include "core/compile/placed.h"
#include "core/compile/placing.h"
#include "core/ir/module_text.h"
#include "core/loader/loader.h"
#include "core/plugin/registry.h"

static const char model_text[] = "module {opset_import. = 17} {\n"
                                 "  constant @w : f32[4,3] = splat 0.5\n"
                                 "  func @main(%x : f32[2,4]) -> (%y : f32[2,3]) {\n"
                                 "    %0 = MatMul@13(%x, @w) : f32[2,3]\n"
                                 "    %y = Relu@14(%0) : f32[2,3]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "}\n";

typedef struct fixture_t {
  byoc_plugin_registry_t *registry;
  byoc_target_list_t targets;
  char *folder, *model;
  byoc_build_t build;
} fixture_t;

static void open_build(fixture_t *fixture, const char *targets, byoc_build_watcher_t watcher) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  const byoc_plugin_options_t plugins = {.environment = BYOC_TEST_PLUGIN_DIR};
  *fixture = (fixture_t){.folder = byoc_test_folder()};
  fixture->model = byoc_path_join(system, fixture->folder, "model.byoc");
  byoc_test_ok(byoc_file_write(fixture->model, model_text, strlen(model_text), &diag), &diag);
  byoc_test_ok(byoc_plugin_registry_create(&plugins, system, &diag, &fixture->registry), &diag);
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(fixture->registry);
  byoc_test_ok(byoc_target_list_parse(&targets, 1, &kinds, system, &diag, &fixture->targets), &diag);
  const byoc_build_options_t options = {.targets = &fixture->targets, .thread_count = 1, .watcher = watcher};
  byoc_build_init(&fixture->build, &options, system);
}

static void close_build(fixture_t *fixture) {
  byoc_build_deinit(&fixture->build);
  byoc_target_list_deinit(&fixture->targets);
  byoc_plugin_registry_destroy(fixture->registry);
  (void)byoc_remove_tree(fixture->folder, NULL);
  free(fixture->model);
  free(fixture->folder);
}

typedef struct watch_t {
  char steps[256];
  const char *last; // cancel before this one
} watch_t;

static bool watch(void *self, const char *step) {
  watch_t *seen = self;
  if (seen->last != NULL && strcmp(seen->last, step) == 0) return false;
  size_t used = strlen(seen->steps);
  snprintf(seen->steps + used, sizeof(seen->steps) - used, "%s%s", used > 0 ? " " : "", step);
  return true;
}

static const float input[8] = {1, 2, 3, 4, -1, -2, -3, -4}, expected[6] = {5, 5, 5, 0, 0, 0};

static void assert_expected(const float *output) {
  for (size_t i = 0; i < 6; ++i) assert_true(output[i] == expected[i]);
}

static void test_whole_pipeline(void **state) {
  (void)state;
  fixture_t fixture;
  watch_t seen = {0};
  byoc_diag_t diag = {0};
  open_build(&fixture, "c -O=1", (byoc_build_watcher_t){&seen, watch});
  byoc_build_t *build = &fixture.build;
  byoc_test_ok(byoc_build_read(build, fixture.model, NULL, &diag), &diag);
  byoc_test_ok(byoc_build_compile(build, BYOC_BUILD_ALL, &diag), &diag);
  const void *inputs[] = {input};
  float output[6] = {0};
  void *outputs[] = {output};
  byoc_build_evaluation_t evaluation;
  byoc_test_ok(byoc_build_evaluate(build, 1, &diag, &evaluation), &diag);
  byoc_test_ok(byoc_evaluator_run(evaluation.evaluator, inputs, outputs, &diag), &diag);
  byoc_build_evaluation_end(&evaluation);
  assert_expected(output);
  memset(output, 0, sizeof(output));
  byoc_build_temporary_t artifact;
  byoc_test_ok(byoc_build_compose_temporary(build, &diag, &artifact), &diag);
  byoc_loaded_artifact_t loaded;
  byoc_test_ok(byoc_artifact_load(artifact.path, &diag, &loaded), &diag);
  byoc_context_t *context = NULL;
  assert_int_equal(loaded.table->create(NULL, &context), BYOC_OK);
  assert_int_equal(loaded.table->run(context, inputs, outputs), BYOC_OK);
  assert_expected(output);
  loaded.table->destroy(context);
  byoc_artifact_unload(&loaded);
  char *folder = strdup(artifact.folder);
  byoc_build_temporary_remove(&artifact);
  assert_false(byoc_is_directory(folder));
  free(folder);
  assert_string_equal(seen.steps, "read simplify place generate lower compose");
  close_build(&fixture);
}

// A text is known by its name's ending or by its first words, and a shared object by its first bytes.
static void test_forms_of_files(void **state) {
  (void)state;
  static const struct {
    const char *name, *begin, *reason; // NULL: it is read
  } files[] = {{"plain.txt", "", NULL},
               {"commented.byoc", "// a comment\n", NULL},
               {"commented.txt", "// a comment\n", "commented.txt"},
               {"library.onnx", "\177ELF", "is a shared object; a model is wanted here"},
               {"library.so", "\177ELF", "is a shared object; a model is wanted here"}};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
    fixture_t fixture;
    byoc_diag_t diag = {0};
    open_build(&fixture, "c -O=1", (byoc_build_watcher_t){0});
    char *path = byoc_path_join(byoc_allocator_system(), fixture.folder, files[i].name), text[1024];
    const int size = snprintf(text, sizeof(text), "%s%s", files[i].begin, model_text);
    byoc_test_ok(byoc_file_write(path, text, (size_t)size, &diag), &diag);
    const byoc_status_t status = byoc_build_read(&fixture.build, path, NULL, &diag);
    if (files[i].reason == NULL)
      byoc_test_ok(status, &diag);
    else
      byoc_test_error(status, BYOC_INVALID_DATA, &diag, files[i].reason);
    free(path);
    close_build(&fixture);
  }
}

// Each step can be the one before which somebody ends the build; nothing is left behind but what was done.
static void test_cancelled(void **state) {
  (void)state;
  static const char *const steps[] = {"read", "simplify", "place", "generate", "lower"};
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i) {
    fixture_t fixture;
    watch_t seen = {.last = steps[i]};
    byoc_diag_t diag = {0};
    open_build(&fixture, "c -O=1", (byoc_build_watcher_t){&seen, watch});
    byoc_status_t status = byoc_build_read(&fixture.build, fixture.model, NULL, &diag);
    if (status == BYOC_OK) status = byoc_build_compile(&fixture.build, BYOC_BUILD_ALL, &diag);
    byoc_test_error(status, BYOC_CANCELLED, &diag, steps[i]);
    assert_null(fixture.build.result.program);
    close_build(&fixture);
  }
}

static void test_extents(void **state) {
  (void)state;
  static const struct {
    byoc_build_extent_t extent;
    const char *steps;
  } rows[] = {{BYOC_BUILD_SIMPLIFIED, "read simplify"},
              {BYOC_BUILD_PLACED, "read simplify place"},
              {BYOC_BUILD_GENERATED, "read simplify place generate"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    fixture_t fixture;
    watch_t seen = {0};
    byoc_diag_t diag = {0};
    open_build(&fixture, "c", (byoc_build_watcher_t){&seen, watch});
    byoc_test_ok(byoc_build_read(&fixture.build, fixture.model, NULL, &diag), &diag);
    byoc_test_ok(byoc_build_compile(&fixture.build, rows[i].extent, &diag), &diag);
    assert_string_equal(seen.steps, rows[i].steps);
    assert_null(fixture.build.result.program);
    close_build(&fixture);
  }
}

// A module that is lent stays its owner's.
static void test_lent(void **state) {
  (void)state;
  fixture_t fixture;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  open_build(&fixture, "c", (byoc_build_watcher_t){0});
  byoc_test_ok(byoc_graph_parse(model_text, "text", byoc_allocator_system(), &diag, &module), &diag);
  byoc_build_lend(&fixture.build, module, false);
  byoc_test_ok(byoc_build_compile(&fixture.build, BYOC_BUILD_PLACED, &diag), &diag);
  close_build(&fixture);
  assert_non_null(byoc_graph_module_main(module));
  byoc_graph_module_destroy(module);
}

static byoc_status_t note_lineage(void *module, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_lineage_t *lineage = NULL;
  byoc_status_t status = byoc_lineage_create(module, allocator, &diag, &lineage);
  byoc_lineage_destroy(lineage);
  return status;
}

static void test_a_lineage_without_memory_leaves_nothing(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(model_text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_each_allocation_fails(note_lineage, module, false);
  byoc_graph_module_destroy(module);
}

static void test_dimensions_are_for_onnx(void **state) {
  (void)state;
  fixture_t fixture;
  byoc_diag_t diag = {0};
  const byoc_onnx_dim_binding_t binding = {"N", 8};
  const byoc_onnx_read_options_t read = {.bindings = &binding, .binding_count = 1};
  open_build(&fixture, "c", (byoc_build_watcher_t){0});
  byoc_test_error(byoc_build_read(&fixture.build, fixture.model, &read, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "dimensions can be given to ONNX models");
  close_build(&fixture);
}

// Where a backend and the native target ask for the same extensions, the metadata lists each once.
static void test_features_are_listed_once(void **state) {
  (void)state;
  fixture_t fixture;
  byoc_diag_t diag = {0};
  open_build(&fixture, "cutlass; c", (byoc_build_watcher_t){0});
  byoc_test_ok(byoc_build_read(&fixture.build, fixture.model, NULL, &diag), &diag);
  byoc_test_ok(byoc_build_compile(&fixture.build, BYOC_BUILD_ALL, &diag), &diag);
  assert_true(fixture.build.result.placement.regions.count > 0);
  byoc_build_temporary_t artifact;
  byoc_test_ok(byoc_build_compose_temporary(&fixture.build, &diag, &artifact), &diag);
  byoc_loaded_artifact_t loaded;
  byoc_test_ok(byoc_artifact_load(artifact.path, &diag, &loaded), &diag);
  json_t *metadata = json_loads(loaded.table->metadata, 0, NULL);
  const json_t *words = json_object_get(metadata, "cpu_features");
  assert_true(json_is_array(words));
  for (size_t i = 0; i < json_array_size(words); ++i) {
    for (size_t k = 0; k < i; ++k) assert_false(json_equal(json_array_get(words, i), json_array_get(words, k)));
  }
  json_decref(metadata);
  byoc_artifact_unload(&loaded);
  byoc_build_temporary_remove(&artifact);
  close_build(&fixture);
}

// A program says what the backends' code needs, because it may be finished for another processor later.
static void test_features_of_the_program(void **state) {
  (void)state;
  if (byoc_machine_host() != BYOC_MACHINE_X86_64) byoc_test_skip("the features are those of x86-64");
  fixture_t fixture;
  byoc_diag_t diag = {0};
  open_build(&fixture, "cutlass -mcpu=avx2; c -mcpu=x86-64-v3", (byoc_build_watcher_t){0});
  byoc_test_ok(byoc_build_read(&fixture.build, fixture.model, NULL, &diag), &diag);
  byoc_test_ok(byoc_build_compile(&fixture.build, BYOC_BUILD_ALL, &diag), &diag);
  assert_true(fixture.build.result.placement.regions.count > 0);
  assert_non_null(strstr(fixture.build.result.program->cpu_features, "avx2"));
  close_build(&fixture);
}

// A change of layout is no operator of the model.
static void test_layout_changes_do_not_count(void **state) {
  (void)state;
  static const char text[] = "module {\n"
                             "  func @main(%x : f32[1,16,2,2]) -> (%y : f32[1,16,2,2]) {\n"
                             "    %0 = byoc::ToBlocked@1(%x) : f32[1,1,2,2,16]\n"
                             "    %1 = Relu@14(%0) : f32[1,1,2,2,16]\n"
                             "    %y = byoc::FromBlocked@1(%1) : f32[1,16,2,2]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  const byoc_target_list_t targets = {0};
  byoc_placement_t placement;
  byoc_placed_t placed = {0};
  byoc_placement_init(&placement, byoc_allocator_system());
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_placed_count(&placed, module, &targets, true, &diag, &placement), &diag);
  assert_int_equal(placed.operator_count, 1);
  assert_int_equal(placement.left_over_count, 1);
  byoc_graph_module_destroy(module);
  byoc_placement_deinit(&placement);
}

// Numbers of threads rise, in the library's options as in the command's.
static void numbers_of_threads_rise(void **state) {
  (void)state;
  static const struct {
    int32_t counts[3];
    size_t count;
    bool is_right;
  } rows[] = {{{1, 2, 4}, 3, true}, {{1}, 1, true},  {{256}, 1, true},  {{2, 2}, 2, false},
              {{2, 1}, 2, false},   {{0}, 1, false}, {{257}, 1, false}, {{-1, 1}, 2, false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    byoc_diag_t diag = {0};
    byoc_thread_list_t threads;
    const byoc_status_t status =
        byoc_placing_check_threads("plan_threads", rows[i].counts, rows[i].count, &diag, &threads);
    assert_int_equal(status, rows[i].is_right ? BYOC_OK : BYOC_INVALID_ARGUMENT);
    if (rows[i].is_right) assert_int_equal(threads.count, rows[i].count);
  }
}

// An index that only folding finds out of range is refused by the name of its operator; the option of "c" clamps it.
static void indices_are_clamped_on_request(void **state) {
  (void)state;
  static const char text[] = "module {\n  constant @t : f32[3] = [5.0, 6.0, 7.0]\n  constant @i : i64[1] = [2]\n"
                             "  func @main(%x : f32[1]) -> (%y : f32[1]) {\n    %j = Add@14(@i, @i) : i64[1]\n"
                             "    %g = Gather@13 \"look\" (@t, %j) : f32[1]\n    %y = Add@14(%x, %g) : f32[1]\n"
                             "    return %y\n  }\n}\n";
  for (int i = 0; i < 2; ++i) {
    fixture_t fixture;
    byoc_diag_t diag = {0};
    open_build(&fixture, i == 0 ? "c" : "c -indices=clamp", (byoc_build_watcher_t){0});
    byoc_test_ok(byoc_file_write(fixture.model, text, strlen(text), &diag), &diag);
    byoc_test_ok(byoc_build_read(&fixture.build, fixture.model, NULL, &diag), &diag);
    const byoc_status_t status = byoc_build_compile(&fixture.build, BYOC_BUILD_ALL, &diag);
    if (i == 0) {
      byoc_test_error(status, BYOC_INVALID_DATA, &diag,
                      "Gather 'look' (ai.onnx 13): operand 1, the indices: element 0");
    } else {
      byoc_test_ok(status, &diag);
      const float x = 1;
      float y = 0;
      const void *inputs[] = {&x};
      void *outputs[] = {&y};
      byoc_build_evaluation_t evaluation;
      byoc_test_ok(byoc_build_evaluate(&fixture.build, 1, &diag, &evaluation), &diag);
      byoc_test_ok(byoc_evaluator_run(evaluation.evaluator, inputs, outputs, &diag), &diag);
      byoc_build_evaluation_end(&evaluation);
      assert_true(y == 8);
    }
    close_build(&fixture);
  }
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_threads_rise),
      cmocka_unit_test(test_whole_pipeline),
      cmocka_unit_test(test_forms_of_files),
      cmocka_unit_test(test_cancelled),
      cmocka_unit_test(test_extents),
      cmocka_unit_test(test_lent),
      cmocka_unit_test(test_a_lineage_without_memory_leaves_nothing),
      cmocka_unit_test(test_dimensions_are_for_onnx),
      cmocka_unit_test(test_features_are_listed_once),
      cmocka_unit_test(test_features_of_the_program),
      cmocka_unit_test(test_layout_changes_do_not_count),
      cmocka_unit_test(indices_are_clamped_on_request),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
