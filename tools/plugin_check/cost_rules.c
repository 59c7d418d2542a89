// SPDX-License-Identifier: Apache-2.0
// A rule about the costs that a plugin states of its regions, and of its targets.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/costs_hook.h"
#include "tools/plugin_check/trial.h"

enum { MOST_SPECIMENS = 40 };

// The functions that the plugin took of the specimens.
typedef struct regions_t {
  trial_t *trial;
  byoc_function_t **functions;
  byoc_stated_figures_t *figures;
  uint32_t count;
} regions_t;

static void *allocate(check_t *check, size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (memory == NULL) check_stop(check, NULL, "out of memory");
  return memory;
}

static void find_regions(regions_t *regions, const trial_build_t *built) {
  const byoc_placement_t *placement = &built->build.result.placement;
  check_t *check = regions->trial->check;
  regions->functions = allocate(check, placement->regions.count, sizeof(*regions->functions));
  regions->figures = allocate(check, placement->regions.count, sizeof(*regions->figures));
  for (size_t i = 0; i < placement->regions.count; ++i) {
    const byoc_placement_region_t *region = &placement->regions.data[i];
    if (region->target == regions->trial->target) regions->functions[regions->count++] = region->function;
  }
}

static void ask(const regions_t *regions, uint32_t first, uint32_t count, byoc_stated_figures_t *out_figures) {
  byoc_diag_t diag = {0};
  check_ok(regions->trial->check,
           byoc_hook_state_costs_here(regions->trial->target, regions->functions + first, count, 1,
                                      byoc_allocator_system(), &diag, out_figures),
           &diag, "asking for the costs that it states");
}

static void print(double value, char text[32]) {
  if (isnan(value)) snprintf(text, 32, "not stated");
  if (!isnan(value)) snprintf(text, 32, "%g", value);
}

// Notes the first figure that differs; NaN, which stands for nothing stated, equals itself.
static void compare(const regions_t *regions, uint32_t i, const byoc_stated_figures_t *other, const char *when) {
  static const char *const names[] = {"time_ns", "moved_bytes", "energy_nj"};
  const byoc_stated_figures_t *own = &regions->figures[i];
  const double left[] = {own->time_ns, own->moved_bytes, own->energy_nj};
  const double right[] = {other->time_ns, other->moved_bytes, other->energy_nj};
  char before[32], after[32];
  for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k) {
    if (left[k] == right[k] || (isnan(left[k]) && isnan(right[k]))) continue;
    print(left[k], before);
    print(right[k], after);
    check_fail(regions->trial->check, "%s of function '%s' among %u is %s, and %s if it is asked for %s", names[k],
               regions->functions[i]->name, (unsigned)regions->count, before, after, when);
    return;
  }
  if (strcmp(own->declined, other->declined) == 0) return;
  check_fail(regions->trial->check, "function '%s' among %u is %s%s, and %s%s if it is asked for %s",
             regions->functions[i]->name, (unsigned)regions->count, own->declined[0] ? "declined: " : "not declined",
             own->declined, other->declined[0] ? "declined: " : "not declined", other->declined, when);
}

static void compare_functions(regions_t *regions) {
  byoc_stated_figures_t *again = allocate(regions->trial->check, regions->count, sizeof(*again));
  uint32_t stated = 0;
  if (regions->count == 0) return;
  ask(regions, 0, regions->count, regions->figures);
  ask(regions, 0, regions->count, again);
  for (uint32_t i = 0; i < regions->count; ++i) {
    compare(regions, i, &again[i], "again");
    ask(regions, i, 1, &again[i]);
    compare(regions, i, &again[i], "alone");
    stated += !isnan(regions->figures[i].time_ns);
  }
  check_property(regions->trial->check, "%s states the time of %u of %u functions", regions->trial->target->kind->name,
                 (unsigned)stated, (unsigned)regions->count);
  free(again);
}

static void compare_targets(const trial_t *trial) {
  byoc_diag_t diag = {0};
  byoc_target_costs_t costs[2];
  for (int i = 0; i < 2; ++i) {
    check_ok(trial->check, byoc_hook_state_target_costs_here(trial->target, &diag, &costs[i]), &diag,
             "asking for the costs of the target");
  }
  if (memcmp(&costs[0], &costs[1], sizeof(costs[0])) == 0) return;
  check_fail(trial->check, "'%s' states other costs of itself when it is asked again", trial->target->kind->name);
}

static void state(trial_t *trial) {
  const byoc_backend_t *backend = trial->target->kind->backend;
  byoc_diag_t diag = {0};
  if (backend->state_costs == NULL && backend->state_target_costs == NULL) {
    check_property(trial->check, "'%s' states no costs", trial->target->kind->name);
    return;
  }
  regions_t regions = {.trial = trial};
  trial_build_t built;
  if (backend->state_target_costs != NULL) compare_targets(trial);
  trial_add_usual(trial, MOST_SPECIMENS);
  check_ok(trial->check,
           trial_open(trial, 0, trial->specimens.items.count, &trial->targets, (byoc_placer_t){0}, BYOC_BUILD_PLACED,
                      byoc_allocator_system(), &diag, &built),
           &diag, "placing specimens of its rules");
  find_regions(&regions, &built);
  if (backend->state_costs != NULL) compare_functions(&regions);
  free(regions.functions);
  free(regions.figures);
  trial_close(&built);
}

void check_costs_stated(check_t *check) {
  trial_each(check, NULL, false, state);
}
