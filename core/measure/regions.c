// SPDX-License-Identifier: Apache-2.0
// Makes regions' code, runs it and compares, in child processes.
#include "core/measure/regions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/measure/bench.h"
#include "core/measure/window.h"
#include "core/op/op.h"

#define BUILD_TIMEOUT_MS 300000
// The limit of one run of the regions' code, on ordinary data and special values, and more for each billion operations.
#define RUN_LIMIT_S   10
#define RUN_S_A_GFLOP 20
#define MEMORY_LIMIT  (UINT64_C(8) << 30)
// The time of a child that compares besides comparing: forking, lowering, reading.
#define START_NS 2e7
// The time of comparing if only windows of the last kernel are interpreted.
#define CUT_NS 1e8
// Comparing ends after this multiple of the expected time, plus this time.
#define PATIENCE 4
#define GRACE_NS 300000000

typedef struct work_t {
  const byoc_region_trials_t *trials;
  byoc_cost_bench_t *bench;
  byoc_diag_t *diag;
  int64_t spent_ns;
  bool is_slow; // a long kernel could not be cut: others may not be cut either
} work_t;

// ---- which regions can be checked ----

typedef struct count_t {
  size_t heavy, all;
  bool is_random;
} count_t;

static bool count_node(void *self, byoc_node_t *node) {
  count_t *count = self;
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, count_node, self);
  count->heavy += byoc_node_has_trait(node, BYOC_OP_HEAVY);
  count->is_random = count->is_random || byoc_node_has_trait(node, BYOC_OP_RANDOM);
  return true;
}

double byoc_region_trial_ns(const byoc_function_t *function) {
  count_t count = {0};
  if (!byoc_cost_can_be_run(function)) return INFINITY;
  (void)byoc_block_walk(function->body, count_node, &count);
  if (count.is_random) return INFINITY;
  const double whole_ns = byoc_interpreting_ns(function);
  // With one product, its kernel mostly is the last one, and can be cut.
  const double ns = count.heavy <= 1 && whole_ns > CUT_NS ? CUT_NS : whole_ns;
  return START_NS + 2 * ns; // on ordinary data and on special values
}

// ---- one after the other ----

// Compares the results of the region's code.
static void compare(work_t *w, byoc_region_trial_t *trial, const char *path) {
  const byoc_region_trials_t *trials = w->trials;
  const int64_t left_ns = trials->budget_ns - w->spent_ns, start_ns = byoc_now_ns();
  const double cut_ns = byoc_region_trial_ns(trial->function);
  const double whole_ns = START_NS + 2 * byoc_interpreting_ns(trial->function), ns = w->is_slow ? whole_ns : cut_ns;
  if (ns > (double)left_ns) return;
  const int64_t patience_ns = (int64_t)(ns * PATIENCE) + GRACE_NS,
                limit_ns = patience_ns < left_ns ? patience_ns : left_ns;
  byoc_cost_building_t building = {.build = {.functions = {trial->function},
                                             .count = 1,
                                             .target = trials->native,
                                             .results = {path},
                                             .special = {byoc_measure_special_values(trial->function, trials->target)},
                                             .compares = true,
                                             .relative_error = byoc_target_relative_error(trials->target)}};
  w->bench->build_timeout_ms = (uint32_t)(limit_ns / 1000000) + 1;
  byoc_cost_bench_start(w->bench, &building);
  const byoc_status_t status = byoc_cost_bench_finish(&building);
  w->spent_ns += byoc_now_ns() - start_ns;
  if (status != BYOC_OK) {
    w->is_slow = w->is_slow || cut_ns < whole_ns;
    byoc_log(BYOC_LOG_INFO, "'%s' is not checked: %s", trial->function->name, building.why.message);
    return;
  }
  trial->is_wrong = building.answer.partitions[0].is_wrong;
  trial->is_right = !trial->is_wrong;
  snprintf(trial->message, sizeof(trial->message), "%s", building.answer.partitions[0].reason);
}

static byoc_status_t try_all(work_t *w, byoc_region_trial_t *trials, size_t count);

// One of them ended the child, or could not be built. Each is tried by itself, and is wrong if that happens twice.
static byoc_status_t try_apart(work_t *w, byoc_region_trial_t *trials, size_t count,
                               const byoc_cost_building_t *building) {
  if (count == 1) {
    const bool is_its_fault = building->failed_by_itself || building->answer.was_built;
    const bool is_second = trials->message[0] != '\0';
    if (strstr(building->why.message, "SIGALRM") != NULL) {
      snprintf(trials->message, sizeof(trials->message), "it took longer than %u s",
               (unsigned)building->build.run_limit_s);
    } else {
      snprintf(trials->message, sizeof(trials->message), "%s", building->why.message);
    }
    if (!is_its_fault) return BYOC_OK;
    trials->is_wrong = is_second;
    return is_second ? BYOC_OK : try_all(w, trials, 1);
  }
  BYOC_RETURN_IF_ERROR(try_all(w, trials, count / 2));
  return try_all(w, trials + count / 2, count - count / 2);
}

// Makes the code of all of them in one child and runs it there.
static byoc_status_t try_all(work_t *w, byoc_region_trial_t *trials, size_t count) {
  byoc_cost_bench_t *bench = w->bench;
  byoc_cost_building_t *building = BYOC_ARENA_NEW(&bench->arena, byoc_cost_building_t);
  if (building == NULL) return byoc_diag_out_of_memory(w->diag);
  const uint32_t run_timeout_s = w->trials->run_timeout_s > 0 ? w->trials->run_timeout_s : RUN_LIMIT_S;
  building->build = (byoc_cost_build_t){.count = count, .target = w->trials->target, .run_limit_s = run_timeout_s};
  for (size_t i = 0; i < count; ++i) {
    const byoc_work_t work = byoc_function_work(trials[i].function);
    building->build.run_limit_s += (uint32_t)((work.product_flops + work.other_flops) / 1e9 * RUN_S_A_GFLOP);
    building->build.functions[i] = trials[i].function;
    building->build.special[i] = byoc_measure_special_values(trials[i].function, w->trials->target);
    building->build.results[i] = byoc_cost_bench_path(bench, ".results");
    if (building->build.results[i] == NULL) return byoc_diag_out_of_memory(w->diag);
  }
  bench->build_timeout_ms = BUILD_TIMEOUT_MS;
  byoc_cost_bench_start(bench, building);
  if (byoc_cost_bench_finish(building) != BYOC_OK) return try_apart(w, trials, count, building);
  for (size_t i = 0; i < count; ++i) {
    if (!building->answer.partitions[i].is_fallback) compare(w, &trials[i], building->build.results[i]);
  }
  return BYOC_OK;
}

byoc_status_t byoc_regions_try(const byoc_region_trials_t *trials, byoc_allocator_t allocator, byoc_diag_t *diag,
                               int64_t *out_spent_ns) {
  byoc_cost_bench_t bench = {.allocator = allocator,
                             .build = trials->build,
                             .native = trials->native,
                             .thread_count = 1,
                             .memory_limit_bytes = MEMORY_LIMIT};
  work_t w = {.trials = trials, .bench = &bench, .diag = diag};
  byoc_status_t status = byoc_cost_bench_init(&bench, diag);
  for (size_t first = 0; first < trials->count && status == BYOC_OK; first += BYOC_COST_PARTITIONS_MAX) {
    const size_t rest = trials->count - first;
    status =
        try_all(&w, trials->trials + first, rest < BYOC_COST_PARTITIONS_MAX ? rest : (size_t)BYOC_COST_PARTITIONS_MAX);
  }
  byoc_cost_bench_deinit(&bench);
  *out_spent_ns = w.spent_ns;
  return status;
}
