// SPDX-License-Identifier: Apache-2.0
// Makes the placers that a build can ask for, and connects a measured one with the measuring.
#include "core/compile/placing.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/collage/place_collage.h"
#include "core/collage/problem.h"
#include "core/collage/replay.h"
#include "core/collage/stated.h"
#include "core/compile/candidates.h"
#include "core/compile/thread_cases.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/native.h"
#include "core/measure/costs.h"
#include "core/measure/errors.h"
#include "core/measure/plans.h"
#include "core/pass/layouts.h"
#include "core/runtime/pool.h"

// The state of a collage partitioning while it runs.
typedef struct wiring_t {
  const byoc_placing_t *placing;
  int32_t thread_count;
  double budget_s;
  byoc_cost_database_t *database;
  byoc_cost_measurer_t *measurer; // NULL: costs are estimated
  byoc_estimator_t estimator;
  byoc_plan_measurer_t whole;
  byoc_error_measurer_t errors;
  byoc_error_meter_t meter;
  byoc_stated_costs_t stated;
  byoc_arena_t arena;
  byoc_collage_options_t options;
} wiring_t;

// Puts all targets, and all plugins, into one text each.
static byoc_status_t describe_targets(wiring_t *w, const byoc_target_list_t *targets, byoc_diag_t *diag) {
  byoc_string_t text, plugins, machine;
  byoc_string_init(&text, w->arena.allocator);
  byoc_string_init(&plugins, w->arena.allocator);
  byoc_string_init(&machine, w->arena.allocator);
  for (size_t t = 0; t < targets->targets.count; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    byoc_string_appendf(&text, "%s%s", t > 0 ? "; " : "", target->text);
    byoc_string_append(&plugins, t > 0 ? "; " : "");
    byoc_target_kind_print_maker(target->kind, &plugins);
  }
  byoc_machine_identity(&machine);
  byoc_cost_key_t *key = &w->options.key;
  bool ok = !text.failed && !plugins.failed && !machine.failed;
  if (ok) key->target = byoc_arena_copy_string(&w->arena, text.data);
  if (ok) key->plugin = byoc_arena_copy_string(&w->arena, plugins.data);
  if (ok) key->machine = byoc_arena_copy_string(&w->arena, machine.data);
  byoc_string_deinit(&text);
  byoc_string_deinit(&plugins);
  byoc_string_deinit(&machine);
  return key->target && key->plugin && key->machine ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Without a compiler nothing can be measured, and the estimate is used instead.
static byoc_status_t open_measurer(wiring_t *w, const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                   byoc_diag_t *diag) {
  const byoc_cost_measure_options_t options = {.build = byoc_build_candidates,
                                               .targets = targets,
                                               .database = w->database,
                                               .thread_count = w->options.key.thread_count,
                                               .run_timeout_ms = w->placing->run_timeout_s * 1000,
                                               .model_bytes = byoc_estimate_model_bytes(module)};
  byoc_diag_t why = {0};
  byoc_status_t status = byoc_cost_measurer_create(&options, module->allocator, &why, &w->measurer);
  if (status == BYOC_NOT_FOUND) {
    byoc_log(BYOC_LOG_WARNING, "costs are estimated, as with --cost=estimate: %s", why.message);
    return BYOC_OK;
  }
  if (status != BYOC_OK) return byoc_diag_adopt(diag, &why);
  const char *version = NULL;
  BYOC_RETURN_IF_ERROR(byoc_c_compiler_version(byoc_native_compiler(targets), diag, &version));
  w->options.key.compiler = version;
  return BYOC_OK;
}

static byoc_error_measurer_t error_measurer(const byoc_placing_t *placing, int32_t thread_count,
                                            byoc_graph_module_t *module, const byoc_target_list_t *targets) {
  const uint32_t run_timeout_s = placing->run_timeout_s;
  return (byoc_error_measurer_t){.build = byoc_build_plan,
                                 .run_timeout_ms = run_timeout_s > BYOC_ERROR_RUN_TIMEOUT_S ? run_timeout_s * 1000 : 0,
                                 .module = module,
                                 .targets = targets,
                                 .allocator = module->allocator,
                                 .thread_count = thread_count,
                                 .samples = placing->samples};
}

static byoc_status_t wire_errors(wiring_t *w, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                 byoc_diag_t *diag) {
  w->errors = error_measurer(w->placing, w->thread_count, module, targets);
  BYOC_RETURN_IF_ERROR(byoc_error_measurer_check(&w->errors, diag));
  w->meter = byoc_error_measurer_meter(&w->errors);
  w->options.meter = &w->meter;
  w->options.error = w->placing->error;
  return BYOC_OK;
}

static byoc_status_t wire(wiring_t *w, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                          byoc_diag_t *diag) {
  byoc_allocator_t allocator = module->allocator;
  const int32_t thread_count = w->thread_count;
  w->options = (byoc_collage_options_t){
      .targets = targets,
      .estimator = &w->estimator,
      .budget_s = w->budget_s,
      .spend_budget = w->placing->spend_budget,
      .plain_layouts = w->placing->plain_layouts,
      .size_price = w->placing->size_price,
      .collect = {.max_nodes = w->placing->collage_nodes, .max_depth = w->placing->collage_depth},
      .key = {.compiler = "none", .thread_count = thread_count}};
  BYOC_RETURN_IF_ERROR(describe_targets(w, targets, diag));
  BYOC_RETURN_IF_ERROR(byoc_cost_database_open(NULL, allocator, diag, &w->database));
  BYOC_RETURN_IF_ERROR(byoc_estimator_init(&w->estimator, thread_count, w->database, allocator, diag));
  byoc_estimator_limit(&w->estimator, byoc_target_cpu_features(byoc_target_list_native(targets), "mcpu"),
                       byoc_target_list_foreign(targets) != NULL);
  if (w->placing->cost == BYOC_COST_MEASURE) BYOC_RETURN_IF_ERROR(open_measurer(w, module, targets, diag));
  w->options.pricer = byoc_estimator_pricer(&w->estimator);
  if (w->placing->threads.count > 1) {
    w->options.label =
        byoc_arena_format(&w->arena, "%d thread%s", (int)thread_count, byoc_plural((uint64_t)thread_count));
    if (w->options.label == NULL) return byoc_diag_out_of_memory(diag);
  }
  BYOC_RETURN_IF_ERROR(byoc_stated_init(&w->stated, targets, thread_count, allocator, diag));
  w->options.pricer.stated = &w->stated;
  if (w->measurer == NULL && w->placing->error > 0) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "an error budget needs measured costs and errors, and so a compiler");
  }
  if (w->measurer == NULL) return BYOC_OK;
  w->options.pricer = byoc_cost_measurer_pricer(w->measurer);
  w->options.pricer.stated = &w->stated;
  w->options.database = w->database;
  w->whole = (byoc_plan_measurer_t){.build = byoc_build_plan,
                                    .module = module,
                                    .targets = targets,
                                    .allocator = allocator,
                                    .thread_count = thread_count};
  w->options.whole = byoc_plan_measurer_pricer(&w->whole);
  return w->placing->error > 0 ? wire_errors(w, module, targets, diag) : BYOC_OK;
}

static void log_statistics(const wiring_t *w) {
  if (w->measurer == NULL) return;
  byoc_cost_statistics_t statistics = byoc_cost_measurer_statistics(w->measurer);
  byoc_log(BYOC_LOG_INFO, "costs: %llu measured in %.1f s (%llu unusable), %llu from the database, %llu estimated",
           (unsigned long long)statistics.measured, (double)statistics.measuring_ns / 1e9,
           (unsigned long long)statistics.unusable, (unsigned long long)statistics.hits,
           (unsigned long long)statistics.estimated);
}

static byoc_status_t search(const byoc_placing_t *placing, int32_t thread_count, byoc_graph_module_t *module,
                            const byoc_target_list_t *targets, byoc_diag_t *diag, byoc_placement_t *placement) {
  const double share = placing->threads.count > 1 ? 1.0 / (double)placing->threads.count : 1;
  wiring_t w = {.placing = placing, .thread_count = thread_count, .budget_s = placing->budget_s * share};
  byoc_arena_init(&w.arena, module->allocator);
  byoc_status_t status = wire(&w, module, targets, diag);
  if (status == BYOC_OK) status = byoc_place_collage(module, &w.options, diag, placement);
  log_statistics(&w);
  byoc_stated_deinit(&w.stated);
  if (placing->error > 0) byoc_error_measurer_deinit(&w.errors);
  byoc_cost_measurer_destroy(w.measurer);
  byoc_cost_database_close(w.database);
  byoc_arena_deinit(&w.arena);
  return status;
}

static byoc_status_t replay(const byoc_placing_t *placing, int32_t thread_count, byoc_graph_module_t *module,
                            const byoc_target_list_t *targets, byoc_diag_t *diag, byoc_placement_t *placement) {
  if (placing->error > 0) {
    byoc_error_measurer_t errors = error_measurer(placing, thread_count, module, targets);
    byoc_status_t status = byoc_error_measurer_check(&errors, diag);
    if (status == BYOC_OK) {
      const byoc_error_meter_t meter = byoc_error_measurer_meter(&errors);
      status = byoc_replay_check_error(module, targets, placing->plan, &meter, placing->error, diag, placement->plan);
    }
    byoc_error_measurer_deinit(&errors);
    if (status != BYOC_OK) return status;
  }
  return byoc_place_replay(module, targets, placing->plan, diag, placement);
}

typedef byoc_status_t (*place_for_t)(const byoc_placing_t *placing, int32_t thread_count, byoc_graph_module_t *module,
                                     const byoc_target_list_t *targets, byoc_diag_t *diag, byoc_placement_t *placement);

// One number of threads after the other: costs are measured, and whole plans are timed, with as many.
static byoc_status_t place_for_each(const byoc_placing_t *placing, place_for_t place, byoc_graph_module_t *module,
                                    const byoc_target_list_t *targets, byoc_diag_t *diag, byoc_placement_t *placement) {
  const byoc_thread_list_t *threads = &placing->threads;
  if (threads->count < 2)
    return place(placing, threads->count > 0 ? threads->counts[0] : 1, module, targets, diag, placement);
  byoc_thread_cases_t cases;
  byoc_status_t status = byoc_thread_cases_begin(&cases, module, threads, diag);
  for (size_t i = 0; i < threads->count && status == BYOC_OK; ++i) {
    status = byoc_thread_cases_open(&cases, i, diag);
    if (status != BYOC_OK) break;
    byoc_log(BYOC_LOG_INFO, "the plan for %d thread%s:", (int)threads->counts[i],
             byoc_plural((uint64_t)threads->counts[i]));
    status = place(placing, threads->counts[i], module, targets, diag, placement);
  }
  byoc_thread_cases_close(&cases);
  if (status == BYOC_OK) status = byoc_problems_merge_regions(module, placement, diag);
  if (status == BYOC_OK) status = byoc_thread_cases_join(&cases, diag);
  byoc_thread_cases_deinit(&cases);
  return status;
}

static byoc_status_t place_collage(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                   byoc_diag_t *diag, byoc_placement_t *placement) {
  if (targets->targets.count < 2) return byoc_place_greedy(module, targets, diag, placement);
  return place_for_each(self, search, module, targets, diag, placement);
}

static byoc_status_t place_greedily(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                    byoc_diag_t *diag, byoc_placement_t *placement) {
  const byoc_placing_t *placing = self;
  if (!placing->plain_layouts) BYOC_RETURN_IF_ERROR(byoc_propose_layouts(module, targets, diag, NULL));
  return byoc_place_greedy(module, targets, diag, placement);
}

static byoc_status_t place_saved(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                 byoc_diag_t *diag, byoc_placement_t *placement) {
  return place_for_each(self, replay, module, targets, diag, placement);
}

byoc_status_t byoc_placing_read_threads(const char *option, const char *text, byoc_diag_t *diag,
                                        byoc_thread_list_t *out_threads) {
  *out_threads = (byoc_thread_list_t){.count = 0};
  const char *at = text;
  for (int64_t last = 0, number = 0;; last = number, ++at) {
    const size_t digits = strspn(at, "0123456789");
    number = digits > 0 && digits < 6 ? strtol(at, NULL, 10) : 0;
    at += digits;
    const bool is_next = number > last && number <= BYOC_MODEL_MAX_THREADS && (*at == ',' || *at == '\0');
    if (!is_next || out_threads->count == BYOC_THREAD_LIST_MAX) break;
    out_threads->counts[out_threads->count++] = (int32_t)number;
    if (*at == '\0') return BYOC_OK;
  }
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                         "%s takes a number from 1 to %d, or up to %d increasing ones, as in 1,2,4, not '%s'", option,
                         BYOC_MODEL_MAX_THREADS, BYOC_THREAD_LIST_MAX, text);
}

byoc_status_t byoc_placing_check_threads(const char *option, const int32_t *counts, size_t count, byoc_diag_t *diag,
                                         byoc_thread_list_t *out_threads) {
  *out_threads = (byoc_thread_list_t){.count = 0};
  bool is_right = count <= BYOC_THREAD_LIST_MAX;
  for (size_t i = 0; i < count && is_right; ++i) {
    is_right = counts[i] > (i > 0 ? counts[i - 1] : 0) && counts[i] <= BYOC_MODEL_MAX_THREADS;
    out_threads->counts[out_threads->count++] = counts[i];
  }
  if (is_right) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                         "%s takes up to %d increasing numbers from 1 to %d, as in 1, 2, 4", option,
                         BYOC_THREAD_LIST_MAX, BYOC_MODEL_MAX_THREADS);
}

byoc_placer_t byoc_placing_placer(byoc_placing_t *placing) {
  byoc_placer_t placer = {.self = placing, .place = place_greedily, .strategy = placing->plan};
  if (strcmp(placing->plan, "greedy") == 0) return placer;
  placer.place = strcmp(placing->plan, "collage") == 0 ? place_collage : place_saved;
  return placer;
}
