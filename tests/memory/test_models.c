// SPDX-License-Identifier: Apache-2.0
// Out of memory: ONNX's backend test cases and those of tests/conform are compiled up to their C source while one
// request of core fails.
//
//   memory_models TARGETS FAULTS [NAME...]   FAULTS: requests to let fail in each model; 0: all of them
//                                            NAME: only the models whose path holds one
//
// Each such build must end with BYOC_OUT_OF_MEMORY, or with BYOC_OK where core does without the memory (it fuses or
// folds less then), and must free all that it was given.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compile/build.h"
#include "core/plugin/registry.h"
#include "tests/support/model.h"
#include "tests/support/support.h"

enum { MODEL_BYTES_AT_MOST = 64 << 10 };

static const char *target_text;
static int64_t fault_count;
static char **chosen;
static int chosen_count;
static byoc_test_paths_t models;
static byoc_target_list_t targets;

static byoc_status_t build_model(const byoc_file_view_t *model, byoc_allocator_t allocator, byoc_diag_t *diag) {
  const byoc_build_options_t options = {.targets = &targets};
  const byoc_compose_options_t output = {.output = "model.so", .model_name = "model"};
  byoc_build_t build;
  byoc_string_t source;
  byoc_build_init(&build, &options, allocator);
  byoc_string_init(&source, allocator);
  byoc_status_t status = byoc_build_read_memory(&build, model->data, model->size_bytes, "model.onnx", NULL, diag);
  if (status == BYOC_OK) status = byoc_build_compile(&build, BYOC_BUILD_ALL, diag);
  if (status == BYOC_OK) status = byoc_build_emit_c(&build, &output, &source, diag);
  byoc_string_deinit(&source);
  byoc_build_deinit(&build);
  return status;
}

// What is wrong with a build in which a request fails; NULL if nothing is.
static const char *judge(const byoc_failing_allocator_t *memory, byoc_status_t status, const byoc_diag_t *diag) {
  if (memory->live_count != 0) return "memory was not freed";
  if (status == BYOC_OUT_OF_MEMORY) return diag->status == status ? NULL : "the diagnostic does not say so";
  return status == BYOC_OK ? NULL : "it gives another reason";
}

typedef struct tally_t {
  long long models, refused, faults, recovered, failed;
} tally_t;

static void try_model(const char *path, uint64_t seed, tally_t *tally) {
  byoc_file_view_t model;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_view_open(path, &diag, &model), &diag);
  byoc_failing_allocator_t counter = {.base = byoc_allocator_system(), .fail_at = -1};
  const byoc_status_t status = build_model(&model, byoc_failing_allocator(&counter), &diag);
  if (counter.live_count != 0) fail_msg("%s: %lld blocks were not freed", path, (long long)counter.live_count);
  tally->models += status == BYOC_OK;
  tally->refused += status != BYOC_OK;
  byoc_test_random_t random = {.state = seed};
  const int64_t count = fault_count == 0 || fault_count > counter.count ? counter.count : fault_count;
  for (int64_t i = 0; status == BYOC_OK && i < count; ++i) {
    // One of each of as many parts of equal length.
    const int64_t from = counter.count * i / count, to = counter.count * (i + 1) / count;
    byoc_failing_allocator_t memory = {.base = byoc_allocator_system(),
                                       .fail_at = from + (int64_t)byoc_test_below(&random, (uint64_t)(to - from))};
    byoc_diag_t told = {0};
    const byoc_status_t end = build_model(&model, byoc_failing_allocator(&memory), &told);
    const char *wrong = judge(&memory, end, &told);
    tally->faults += 1;
    tally->recovered += end == BYOC_OK;
    if (wrong == NULL) continue;
    tally->failed += 1;
    print_error("%s, request %lld fails: %s (%s; %lld blocks; %s)\n", path, (long long)memory.fail_at, wrong,
                byoc_status_name(end), (long long)memory.live_count, told.message);
  }
  byoc_file_view_close(&model);
}

// The quantised models of tests/conform ask for memory in much the same places: the short test takes one of four.
static bool is_chosen(const char *path, size_t index) {
  enum { SHORT_STEP = 4 };
  if (strstr(path, "/conform/quantised/") != NULL && index % SHORT_STEP != 0 && !byoc_test_is_long()) return false;
  for (int i = 0; i < chosen_count; ++i) {
    if (strstr(path, chosen[i]) != NULL) return true;
  }
  return chosen_count == 0;
}

static void models_without_memory(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  const byoc_plugin_options_t plugins = {.environment = BYOC_TEST_PLUGIN_DIR};
  const byoc_allocator_t system = byoc_allocator_system();
  byoc_test_ok(byoc_plugin_registry_create(&plugins, system, &diag, &registry), &diag);
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(registry);
  byoc_test_ok(byoc_target_list_parse(&target_text, 1, &kinds, system, &diag, &targets), &diag);
  tally_t tally = {0};
  for (size_t i = 0; i < models.count; ++i) {
    if (is_chosen(models.data[i], i)) try_model(models.data[i], i, &tally);
  }
  print_message("'%s': %lld models, %lld that are refused; %lld requests failed, %lld of them without harm\n",
                target_text, tally.models, tally.refused, tally.faults, tally.recovered);
  byoc_target_list_deinit(&targets);
  byoc_plugin_registry_destroy(registry);
  if (tally.failed > 0) fail_msg("%lld builds took it wrongly", tally.failed);
  assert_true(tally.faults > 0);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    (void)fprintf(stderr, "usage: memory_models TARGETS FAULTS [NAME...]\n");
    return 2;
  }
  byoc_log_set_level(BYOC_LOG_ERROR); // each model is read again and again
  target_text = argv[1], fault_count = atoll(argv[2]);
  chosen = argv + 3, chosen_count = argc - 3;
  byoc_test_find_models(BYOC_OWN_CASES, MODEL_BYTES_AT_MOST, &models);
  const size_t own = models.count;
  byoc_test_find_models(BYOC_CONFORM_DATA, MODEL_BYTES_AT_MOST, &models);
  if (models.count == own) {
    printf("skipped: %s is missing (apt install libonnx-testdata)\n", BYOC_CONFORM_DATA);
    byoc_test_paths_deinit(&models);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(models_without_memory)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  byoc_test_paths_deinit(&models);
  return failed;
}
