// SPDX-License-Identifier: Apache-2.0
// Finds the sites of inexact targets, and gives candidates the errors of the sites that they touch.
#include "core/collage/error_budget.h"

#include <math.h>
#include <stdlib.h>

double byoc_error_promise(const byoc_error_meter_t *meter, double error) {
  return error * (1 + 1 / sqrt((double)meter->sample_count));
}

byoc_status_t byoc_error_budget_init(byoc_error_budget_t *budget, const byoc_target_list_t *targets,
                                     byoc_allocator_t allocator, byoc_diag_t *diag) {
  *budget = (byoc_error_budget_t){.targets = targets};
  byoc_arena_init(&budget->arena, allocator);
  byoc_pointer_map_init(&budget->site_of, allocator);
  budget->is_inexact = BYOC_ARENA_ARRAY(&budget->arena, bool, targets->targets.count);
  if (budget->is_inexact == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t t = 0; t < targets->targets.count; ++t) {
    budget->is_inexact[t] = byoc_target_relative_error(targets->targets.data[t]) > 0;
  }
  return BYOC_OK;
}

void byoc_error_budget_deinit(byoc_error_budget_t *budget) {
  if (budget->targets == NULL) return;
  byoc_map_deinit(&budget->site_of);
  byoc_arena_deinit(&budget->arena);
  *budget = (byoc_error_budget_t){0};
}

bool byoc_error_budget_is_main(const byoc_problem_t *problem) {
  const byoc_function_t *function = problem->function;
  return problem->flow.block->owner == NULL &&
         (function->module->scope != NULL || function == byoc_graph_module_main(function->module));
}

// ---- sites ----

// Small ones first, then by the first node, and then in the order of targets.
static int compare_candidates(const void *left, const void *right) {
  const byoc_candidate_t *a = *(const byoc_candidate_t *const *)left, *b = *(const byoc_candidate_t *const *)right;
  if (a->nodes.count != b->nodes.count) return a->nodes.count < b->nodes.count ? -1 : 1;
  for (uint32_t k = 0; k < a->nodes.count; ++k) {
    if (a->nodes.items[k] != b->nodes.items[k]) return a->nodes.items[k] < b->nodes.items[k] ? -1 : 1;
  }
  if (a->target != b->target) return a->target < b->target ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

typedef struct finder_t {
  byoc_error_budget_t *budget;
  byoc_problem_t *problem;
  const byoc_candidate_t **sorted;
  size_t count;
  uint32_t *owners; // by node: its site + 1
} finder_t;

static bool is_free(const finder_t *f, const byoc_candidate_t *candidate) {
  for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
    if (f->owners[candidate->nodes.items[k]] != 0) return false;
  }
  return true;
}

// An exact candidate with the same nodes, of the same backend if there is one.
static const byoc_candidate_t *find_exact(const finder_t *f, const byoc_candidate_t *inexact) {
  const byoc_candidates_t *list = &f->problem->candidates;
  const byoc_target_list_t *targets = f->budget->targets;
  const byoc_candidate_t *found = NULL;
  for (size_t i = 0; i < list->items.count; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    const byoc_target_kind_t *kind = targets->targets.data[candidate->target]->kind;
    if (f->budget->is_inexact[candidate->target] || kind->backend == NULL || isinf(candidate->cost_ns)) continue;
    if (!byoc_index_set_equal(&candidate->nodes, &inexact->nodes)) continue;
    if (kind == targets->targets.data[inexact->target]->kind) return candidate;
    if (found == NULL) found = candidate;
  }
  return found;
}

// Makes a site of the nodes of the candidate at `first`, for it and the next ones with these nodes, one of each target.
static bool add_site(finder_t *f, size_t first) {
  byoc_error_budget_t *budget = f->budget;
  const byoc_index_set_t *nodes = &f->sorted[first]->nodes;
  byoc_error_site_t *site = &budget->sites[budget->site_count++];
  *site = (byoc_error_site_t){
      .nodes = *nodes, .exact = find_exact(f, f->sorted[first]), .first_switch = (uint32_t)budget->switch_count};
  for (size_t i = first; i < f->count && byoc_index_set_equal(&f->sorted[i]->nodes, nodes); ++i) {
    const byoc_candidate_t *candidate = f->sorted[i];
    if (i > first && candidate->target == f->sorted[i - 1]->target) continue;
    budget->switches[budget->switch_count++] =
        (byoc_error_switch_t){.candidate = candidate, .site = (uint32_t)budget->site_count - 1, .error = NAN};
    site->switch_count += 1;
  }
  for (uint32_t k = 0; k < nodes->count; ++k) {
    const byoc_node_t *node = f->problem->flow.nodes[nodes->items[k]];
    f->owners[nodes->items[k]] = (uint32_t)budget->site_count;
    if (!byoc_pointer_map_put(&budget->site_of, node, (void *)(uintptr_t)budget->site_count)) return false;
  }
  return true;
}

byoc_status_t byoc_error_budget_find_sites(byoc_error_budget_t *budget, byoc_problem_t *problem, byoc_diag_t *diag) {
  const byoc_candidates_t *list = &problem->candidates;
  finder_t f = {.budget = budget, .problem = problem};
  budget->problem = problem;
  budget->function = problem->function;
  f.sorted = BYOC_ARENA_ARRAY(&budget->arena, const byoc_candidate_t *, list->items.count + 1);
  f.owners = BYOC_ARENA_ARRAY(&budget->arena, uint32_t, problem->flow.node_count + 1);
  budget->sites = BYOC_ARENA_ARRAY(&budget->arena, byoc_error_site_t, problem->flow.node_count + 1);
  budget->switches = BYOC_ARENA_ARRAY(&budget->arena, byoc_error_switch_t, list->items.count + 1);
  if (!f.sorted || !f.owners || !budget->sites || !budget->switches) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < list->items.count; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    if (budget->is_inexact[candidate->target]) f.sorted[f.count++] = candidate;
  }
  if (f.count > 1) qsort(f.sorted, f.count, sizeof(*f.sorted), compare_candidates);
  for (size_t i = 0; i < f.count; ++i) {
    if (is_free(&f, f.sorted[i]) && !add_site(&f, i)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// ---- errors of candidates ----

static const byoc_error_switch_t *find_switch(const byoc_error_budget_t *budget, uint32_t site, uint32_t target) {
  const byoc_error_site_t *of = &budget->sites[site];
  for (uint32_t s = 0; s < of->switch_count; ++s) {
    const byoc_error_switch_t *found = &budget->switches[of->first_switch + s];
    if (found->candidate->target == target) return found;
  }
  return NULL;
}

// The site of a candidate's node; UINT32_MAX if there is none, or if an earlier node has the same one.
static uint32_t next_site(const byoc_error_budget_t *budget, const byoc_problem_t *problem,
                          const byoc_candidate_t *candidate, uint32_t k) {
  byoc_node_t *const *nodes = problem->flow.nodes;
  const uintptr_t site = (uintptr_t)byoc_pointer_map_get(&budget->site_of, nodes[candidate->nodes.items[k]]);
  for (uint32_t j = 0; j < k && site != 0; ++j) {
    if ((uintptr_t)byoc_pointer_map_get(&budget->site_of, nodes[candidate->nodes.items[j]]) == site) return UINT32_MAX;
  }
  return site != 0 ? (uint32_t)site - 1 : UINT32_MAX;
}

static double error_of(const byoc_error_budget_t *budget, const byoc_problem_t *problem,
                       const byoc_candidate_t *candidate) {
  double sum = 0;
  bool has_site = false;
  if (!budget->is_inexact[candidate->target]) return 0;
  if (!byoc_error_budget_is_main(problem)) return INFINITY;
  for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
    const uint32_t site = next_site(budget, problem, candidate, k);
    if (site == UINT32_MAX) continue;
    const byoc_error_switch_t *found = find_switch(budget, site, candidate->target);
    if (found == NULL || isnan(found->error)) return INFINITY;
    sum += found->error;
    has_site = true;
  }
  return has_site ? sum : INFINITY;
}

void byoc_error_budget_assign(const byoc_error_budget_t *budget, byoc_problem_t *problem) {
  for (size_t i = 0; i < problem->candidates.items.count; ++i) {
    byoc_candidate_t *candidate = problem->candidates.items.data[i];
    candidate->error = error_of(budget, problem, candidate);
    candidate->is_inexact = budget->is_inexact[candidate->target];
  }
}

double byoc_error_budget_sum(const byoc_problem_t *problem, const byoc_choice_t *choice) {
  double sum = 0;
  for (size_t k = 0; k < choice->count; ++k) sum += problem->candidates.items.data[choice->data[k]]->error;
  return sum;
}

bool byoc_error_budget_is_exact(const byoc_problem_t *problem, const byoc_choice_t *choice) {
  for (size_t k = 0; k < choice->count; ++k) {
    if (problem->candidates.items.data[choice->data[k]]->is_inexact) return false;
  }
  return true;
}

void byoc_error_budget_select(const byoc_error_budget_t *budget, const byoc_problem_t *problem,
                              const byoc_choice_t *choice, uint8_t *switches) {
  for (size_t c = 0; c < choice->count && byoc_error_budget_is_main(problem); ++c) {
    const byoc_candidate_t *candidate = problem->candidates.items.data[choice->data[c]];
    for (uint32_t k = 0; k < candidate->nodes.count && budget->is_inexact[candidate->target]; ++k) {
      const uint32_t site = next_site(budget, problem, candidate, k);
      const byoc_error_switch_t *found = site != UINT32_MAX ? find_switch(budget, site, candidate->target) : NULL;
      if (found != NULL) switches[found - budget->switches] = 1;
    }
  }
}
