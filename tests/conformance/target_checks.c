// What the backend takes, and whether it is right: the case tables through placement and both executors.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/ir/graph.h"
#include "core/target/cpu.h"
#include "tests/conformance/suite.h"

// ---- placement ----

typedef struct tally_t {
  const char *kind;
  int *taken, *left; // nodes of each case, in functions of the kind and out of them
  int case_count;
} tally_t;

static bool count_operator(void *self, byoc_node_t *node) {
  int *count = self;
  if (node->callee == NULL) *count += 1;
  return node->callee == NULL || byoc_block_walk(node->callee->body, count_operator, self);
}

// Equal functions are one function with several calls, so a region's case is told by what its call returns.
static bool tally_node(void *self, byoc_node_t *node) {
  tally_t *tally = self;
  int index = case_of_name(node->name);
  for (uint32_t r = 0; r < node->result_count && node->callee != NULL; ++r) {
    int named = case_of_name(node->results[r]->name);
    if (named >= 0) index = named;
  }
  if (index < 0 || index >= tally->case_count) return true;
  if (node->callee == NULL) {
    tally->left[index] += 1;
    return true;
  }
  const char *compiler = byoc_attributes_string(&node->callee->attributes, "Compiler", "");
  return byoc_block_walk(node->callee->body, count_operator,
                         strcmp(compiler, tally->kind) == 0 ? &tally->taken[index] : &tally->left[index]);
}

static void check_declines(const case_file_t *file, const byoc_placement_t *placement) {
  for (size_t i = 0; i < placement->declines.count; ++i) {
    const byoc_decline_t *decline = &placement->declines.data[i];
    bool is_silent =
        decline->reason == NULL || decline->reason[0] == '\0' || strcmp(decline->reason, "no reason was given") == 0;
    if (is_silent) {
      suite_complain("%s: %s declines %s without a reason", suite_case_name(file, decline->node->name), decline->rule,
                     decline->node_text);
    }
  }
}

// The last reason that was given for a node of the case.
static const char *reason_for(const byoc_placement_t *placement, int index) {
  const char *reason = "no rule matched";
  for (size_t i = 0; i < placement->declines.count; ++i) {
    if (case_of_name(placement->declines.data[i].node->name) == index) reason = placement->declines.data[i].reason;
  }
  return reason;
}

static void check_demands(const case_file_t *file, const road_t *road, const char *step) {
  const char *kind = road->targets.targets.data[0]->kind->name;
  tally_t tally = {.kind = kind,
                   .taken = calloc(file->count, sizeof(int)),
                   .left = calloc(file->count, sizeof(int)),
                   .case_count = (int)file->count};
  assert_true(tally.taken != NULL && tally.left != NULL);
  assert_true(byoc_block_walk(road->build.module->functions.data[0]->body, tally_node, &tally));
  int taken = 0, left = 0;
  for (size_t i = 0; i < file->count; ++i) {
    demand_t demand = case_demand(&file->cases[i], kind);
    taken += tally.taken[i];
    left += tally.left[i];
    bool met = demand == DEMAND_NONE || (tally.taken[i] > 0 && (demand == DEMAND_SOME || tally.left[i] == 0));
    if (met) continue;
    suite_complain("%s/%s: after %s %s has %d operators and leaves %d: %s", file->name, file->cases[i].name, step, kind,
                   tally.taken[i], tally.left[i], reason_for(&road->build.result.placement, (int)i));
  }
  print_message("  %-22s %3zu cases: %d operators with %s, %d left\n", file->name, file->count, taken, kind, left);
  free(tally.taken);
  free(tally.left);
}

void check_placement(void **state) {
  (void)state;
  for (size_t f = 0; f < suite.table.file_count; ++f) {
    const case_file_t *file = &suite.table.files[f];
    byoc_diag_t diag = {0};
    uint8_t *model = NULL;
    size_t size = 0;
    road_t road;
    case_file_model(file, ALL_CASES, &model, &size);
    byoc_status_t status =
        road_open(&road, suite.registry, model, size, suite.current, BYOC_BUILD_PLACED, byoc_allocator_system(), &diag);
    byoc_free(byoc_allocator_system(), model);
    if (status != BYOC_OK) suite_complain_diag(&diag, "placing %s", file->name);
    if (status == BYOC_OK) check_declines(file, &road.build.result.placement);
    if (status == BYOC_OK) check_demands(file, &road, "placement");
    road_close(&road);
  }
  suite_settle();
}

// ---- results ----

// A file that failed as a whole is tried case by case, so that the message names the case.
static void find_culprits(const case_file_t *file, const char *path) {
  for (int i = 0; i < (int)file->count; ++i) {
    byoc_diag_t diag = {0};
    uint8_t *model = NULL;
    size_t size = 0;
    road_t road;
    case_file_model(file, i, &model, &size);
    byoc_status_t status =
        road_open(&road, suite.registry, model, size, suite.current, BYOC_BUILD_ALL, byoc_allocator_system(), &diag);
    if (status == BYOC_OK) status = road_compose(&road, path, &diag);
    byoc_loaded_artifact_t artifact = {0};
    if (status == BYOC_OK) status = byoc_artifact_load(path, &diag, &artifact);
    if (status == BYOC_OK) {
      port_set_t inputs, outputs;
      port_set_init(&inputs, road.build.result.program->inputs.data, road.build.result.program->inputs.count);
      port_set_init(&outputs, road.build.result.program->outputs.data, road.build.result.program->outputs.count);
      status = artifact_run(&artifact, 1, 1, inputs.data, outputs.data, &diag);
      port_set_deinit(&inputs);
      port_set_deinit(&outputs);
      byoc_artifact_unload(&artifact);
    }
    if (status != BYOC_OK) suite_complain_diag(&diag, "%s/%s", file->name, file->cases[i].name);
    road_close(&road);
    byoc_free(byoc_allocator_system(), model);
  }
}

typedef struct worker_t {
  const byoc_loaded_artifact_t *artifact;
  const port_set_t *inputs;
  port_set_t outputs;
  byoc_status_t status;
  byoc_diag_t diag;
} worker_t;

static void *run_worker(void *self) {
  worker_t *worker = self;
  worker->status = artifact_run(worker->artifact, 1, 3, worker->inputs->data, worker->outputs.data, &worker->diag);
  return NULL;
}

// Two contexts at once on two threads: each gives the result that one alone gives.
static void run_side_by_side(const case_file_t *file, const road_t *road, const byoc_loaded_artifact_t *artifact,
                             const port_set_t *inputs, const port_set_t *alone) {
  worker_t workers[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    workers[i] = (worker_t){.artifact = artifact, .inputs = inputs};
    port_set_init(&workers[i].outputs, road->build.result.program->outputs.data,
                  road->build.result.program->outputs.count);
    port_set_spoil(&workers[i].outputs);
    assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
  }
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    if (workers[i].status != BYOC_OK) suite_complain_diag(&workers[i].diag, "%s, two contexts at once", file->name);
    if (workers[i].status == BYOC_OK) {
      suite_compare_bytes(file, &workers[i].outputs, alone, "of two contexts at once and alone");
    }
    port_set_deinit(&workers[i].outputs);
  }
}

static void run_artifact(const case_file_t *file, const road_t *road, const char *path, const port_set_t *inputs,
                         const port_set_t *expected) {
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t artifact = {0};
  port_set_t alone, two;
  port_set_init(&alone, road->build.result.program->outputs.data, road->build.result.program->outputs.count);
  port_set_init(&two, road->build.result.program->outputs.data, road->build.result.program->outputs.count);
  port_set_spoil(&alone);
  port_set_spoil(&two);
  byoc_status_t status = byoc_artifact_load(path, &diag, &artifact);
  if (status == BYOC_OK) status = artifact_run(&artifact, 1, 2, inputs->data, alone.data, &diag);
  if (status == BYOC_OK) suite_compare(file, &alone, expected, "compiled, 1 thread");
  // Before a context of two threads: a library may share its threads among contexts, and so round differently then.
  if (status == BYOC_OK) run_side_by_side(file, road, &artifact, inputs, &alone);
  if (status == BYOC_OK) status = artifact_run(&artifact, 2, 2, inputs->data, two.data, &diag);
  if (status == BYOC_OK) suite_compare(file, &two, expected, "compiled, 2 threads");
  if (status != BYOC_OK) {
    suite_complain_diag(&diag, "%s, running the artifact", file->name);
    find_culprits(file, path);
  }
  if (artifact.library != NULL) byoc_artifact_unload(&artifact);
  port_set_deinit(&alone);
  port_set_deinit(&two);
}

// A backend may not ask for more than the target "c" of the list allows.
static void check_required_features(const case_file_t *file, const road_t *road) {
  byoc_diag_t diag = {0};
  uint64_t allowed = 0, required = 0;
  const byoc_target_t *native = byoc_target_list_native(&road->targets);
  byoc_test_ok(byoc_cpu_parse(byoc_target_option_string(native, "mcpu"), &diag, &allowed), &diag);
  byoc_test_ok(byoc_cpu_parse_list(road->build.result.required_cpu_features.data, &diag, &required), &diag);
  if (required & ~allowed) {
    suite_complain("%s requires '%s', more than '%s' allows", file->name, road->build.result.required_cpu_features.data,
                   native->text);
  }
}

static void check_file_results(size_t index, const char *path) {
  const case_file_t *file = &suite.table.files[index];
  byoc_diag_t diag = {0};
  uint8_t *model = NULL;
  size_t size = 0;
  road_t road;
  case_file_model(file, ALL_CASES, &model, &size);
  byoc_status_t status =
      road_open(&road, suite.registry, model, size, suite.current, BYOC_BUILD_ALL, byoc_allocator_system(), &diag);
  if (status == BYOC_OK) status = road_compose(&road, path, &diag);
  if (status == BYOC_OK) {
    check_required_features(file, &road);
    port_set_t inputs, outputs;
    port_set_init(&inputs, road.build.result.program->inputs.data, road.build.result.program->inputs.count);
    port_set_init(&outputs, road.build.result.program->outputs.data, road.build.result.program->outputs.count);
    port_set_fill(&inputs);
    port_set_spoil(&outputs);
    run_artifact(file, &road, path, &inputs, &suite.expected[index]);
    if (suite.current == suite.targets[0]) {
      status = road_evaluate(&road, inputs.data, outputs.data, &diag);
      if (status == BYOC_OK) suite_compare(file, &outputs, &suite.expected[index], "evaluated");
    }
    port_set_deinit(&inputs);
    port_set_deinit(&outputs);
  }
  if (status != BYOC_OK) {
    suite_complain_diag(&diag, "%s", file->name);
    find_culprits(file, path);
  }
  road_close(&road);
  byoc_free(byoc_allocator_system(), model);
}

static char *path_in(const char *folder, const char *name) {
  char *path = byoc_path_join(byoc_allocator_system(), folder, name);
  assert_non_null(path);
  return path;
}

static void remove_folder(char *folder) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  byoc_free(byoc_allocator_system(), folder);
}

void check_results(void **state) {
  (void)state;
  char *folder = byoc_test_folder(), *path = path_in(folder, "cases.so");
  for (size_t f = 0; f < suite.table.file_count; ++f) check_file_results(f, path);
  byoc_free(byoc_allocator_system(), path);
  remove_folder(folder);
  suite_settle();
}

// The target list is refused, when it is read or when code is made, as a user's mistake and with a reason.
void check_refused(void **state) {
  (void)state;
  for (size_t f = 0; f < suite.table.file_count; ++f) {
    const case_file_t *file = &suite.table.files[f];
    byoc_diag_t diag = {0};
    uint8_t *model = NULL;
    size_t size = 0;
    road_t road;
    if (strcmp(file->name, "adversity.cases") != 0) continue;
    case_file_model(file, ALL_CASES, &model, &size);
    byoc_status_t status =
        road_open(&road, suite.registry, model, size, suite.current, BYOC_BUILD_ALL, byoc_allocator_system(), &diag);
    road_close(&road);
    byoc_free(byoc_allocator_system(), model);
    if (status != BYOC_INVALID_ARGUMENT || diag.message[0] == '\0') {
      suite_complain_diag(&diag, "'%s' gives '%s', not a refusal", suite.current, byoc_status_name(status));
    }
  }
  suite_settle();
}

// ---- the same bytes again ----

// Builds the file's cases anew with an empty cache.
static char *build_afresh(const case_file_t *file, const char *path, size_t *out_size) {
  byoc_diag_t diag = {0};
  char *cache = byoc_test_folder(), *data = NULL;
  const char *usual = getenv("BYOC_CACHE_DIR");
  char *old = usual != NULL ? strdup(usual) : NULL;
  assert_int_equal(setenv("BYOC_CACHE_DIR", cache, 1), 0);
  uint8_t *model = NULL;
  size_t size = 0;
  road_t road;
  case_file_model(file, ALL_CASES, &model, &size);
  byoc_status_t status =
      road_open(&road, suite.registry, model, size, suite.current, BYOC_BUILD_ALL, byoc_allocator_system(), &diag);
  if (status == BYOC_OK) status = road_compose(&road, path, &diag);
  if (status == BYOC_OK) status = byoc_file_read(path, byoc_allocator_system(), &diag, &data, out_size);
  road_close(&road);
  byoc_free(byoc_allocator_system(), model);
  assert_int_equal(old != NULL ? setenv("BYOC_CACHE_DIR", old, 1) : unsetenv("BYOC_CACHE_DIR"), 0);
  free(old);
  remove_folder(cache);
  byoc_test_ok(status, &diag);
  return data;
}

// The same module gives the same artifact, in another folder and without a cache: the chains have a bit of everything.
void check_reproducible(void **state) {
  (void)state;
  for (size_t f = 0; f < suite.table.file_count; ++f) {
    const case_file_t *file = &suite.table.files[f];
    if (strcmp(file->name, "chains.cases") != 0) continue;
    char *folder = byoc_test_folder(), *other = byoc_test_folder();
    char *path = path_in(folder, "cases.so"), *other_path = path_in(other, "cases.so");
    size_t size = 0, other_size = 0, at = 0;
    char *data = build_afresh(file, path, &size), *other_data = build_afresh(file, other_path, &other_size);
    while (at < size && at < other_size && data[at] == other_data[at]) ++at;
    if (size != other_size || at != size) {
      suite_complain("'%s': two builds of %s differ at byte %zu of %zu and %zu", suite.current, file->name, at, size,
                     other_size);
    }
    byoc_free(byoc_allocator_system(), data);
    byoc_free(byoc_allocator_system(), other_data);
    byoc_free(byoc_allocator_system(), path);
    byoc_free(byoc_allocator_system(), other_path);
    remove_folder(folder);
    remove_folder(other);
  }
  suite_settle();
}

// ---- memory that runs out ----

// The n-th request of plugin and host fails: out of memory or a right result, and nothing is left. A few hundred
// values of n, densest at the start.
void check_failing_allocations(void **state) {
  (void)state;
  const case_file_t *file = NULL;
  for (size_t f = 0; f < suite.table.file_count; ++f) {
    if (strcmp(suite.table.files[f].name, "adversity.cases") == 0) file = &suite.table.files[f];
  }
  if (file == NULL) return;
  uint8_t *model = NULL;
  size_t size = 0;
  case_file_model(file, ALL_CASES, &model, &size);
  byoc_failing_allocator_t counter = {.base = byoc_allocator_system(), .fail_at = -1};
  byoc_allocator_t allocator = byoc_failing_allocator(&counter);
  byoc_plugin_registry_t *registry = suite_open_registry(allocator);
  int64_t total = 0;
  for (int64_t n = -1; n <= total; n += n < 40 ? 1 : 1 + total / 160) {
    byoc_diag_t diag = {0};
    road_t road;
    counter.count = 0;
    counter.fail_at = n;
    byoc_status_t status =
        road_open(&road, registry, model, size, suite.current, BYOC_BUILD_GENERATED, allocator, &diag);
    counter.fail_at = -1;
    road_close(&road);
    if (n < 0) {
      byoc_test_ok(status, &diag);
      total = counter.count;
    }
    if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY) {
      suite_complain_diag(&diag, "request %lld of %lld failing gives '%s'", (long long)n, (long long)total,
                          byoc_status_name(status));
    }
  }
  byoc_plugin_registry_destroy(registry);
  if (counter.live_count != 0) suite_complain("%lld blocks are left after unloading", (long long)counter.live_count);
  byoc_free(byoc_allocator_system(), model);
  suite_settle();
}
