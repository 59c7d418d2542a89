// SPDX-License-Identifier: Apache-2.0
// Joins neighbouring regions of one target into one candidate.
#include "core/collage/coalesce.h"

#include "core/collage/exact_region.h"

typedef struct coalescer_t {
  byoc_problem_t *problem;
  const byoc_target_list_t *targets;
  const byoc_choice_t *choice;
  uint32_t *owners; // by node: position in the choice + 1; 0: a node of the native target
  uint32_t *groups; // by position: union-find over neighbours of one target
  byoc_exact_regions_t regions;
  byoc_diag_t *diag;
} coalescer_t;

static const byoc_candidate_t *region_at(const coalescer_t *c, size_t position) {
  return c->problem->candidates.items.data[c->choice->data[position]];
}

static uint32_t group_of(const coalescer_t *c, uint32_t position) {
  uint32_t *groups = c->groups;
  while (groups[position] != position) position = groups[position] = groups[groups[position]];
  return position;
}

// Could one rule, or two rules that may be merged, have made both?
static bool may_join(const byoc_candidate_t *a, const byoc_candidate_t *b) {
  const byoc_rule_t *one = a->definition, *other = b->definition;
  if (a->target != b->target || one == NULL || other == NULL) return false;
  return (one->pattern == NULL && other->pattern == NULL) || (one->flags & other->flags & BYOC_RULE_MERGE) != 0;
}

// The first region of the same target that reads from this one; itself if there is none.
static uint32_t neighbour_behind(const coalescer_t *c, uint32_t position) {
  const byoc_dataflow_t *flow = &c->problem->flow;
  const byoc_candidate_t *region = region_at(c, position);
  uint32_t found = position, first = UINT32_MAX;
  for (uint32_t k = 0; k < region->nodes.count; ++k) {
    uint32_t node = region->nodes.items[k];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      uint32_t user = flow->successors[e], owner = c->owners[user];
      if (owner == 0 || owner - 1 == position || !may_join(region, region_at(c, owner - 1))) continue;
      c->groups[group_of(c, owner - 1)] = group_of(c, position);
      if (user >= first) continue;
      first = user;
      found = owner - 1;
    }
  }
  return found;
}

static byoc_status_t propose(coalescer_t *c, const byoc_index_set_t *nodes, uint32_t target) {
  byoc_candidate_t *made = NULL;
  const char *reason = NULL;
  return byoc_exact_region(&c->regions, c->targets->targets.data[target], nodes, &made, &reason);
}

// Proposes a region together with the one behind it.
static byoc_status_t propose_pair(coalescer_t *c, uint32_t a, uint32_t b) {
  byoc_index_set_t both;
  if (!byoc_index_set_unite(&c->problem->candidates.arena, &region_at(c, a)->nodes, &region_at(c, b)->nodes, &both)) {
    return byoc_diag_out_of_memory(c->diag);
  }
  return propose(c, &both, region_at(c, a)->target);
}

// The nodes of each group of regions, rising.
typedef struct groups_t {
  uint32_t *members;       // by group: the regions in it
  uint32_t *heads, *links; // by group, by node: node + 1
  uint32_t *scratch;       // as many as there are nodes
} groups_t;

static void collect_groups(const coalescer_t *c, groups_t *groups) {
  for (uint32_t i = 0; i < c->choice->count; ++i) {
    if (c->owners[region_at(c, i)->nodes.items[0]] == i + 1) groups->members[group_of(c, i)] += 1;
  }
  for (uint32_t n = c->problem->flow.node_count; n-- > 0;) {
    if (c->owners[n] == 0) continue;
    uint32_t group = group_of(c, c->owners[n] - 1);
    groups->links[n] = groups->heads[group];
    groups->heads[group] = n + 1;
  }
}

// Proposes all regions of one group together, if there are more than two.
static byoc_status_t propose_group(coalescer_t *c, const groups_t *groups, uint32_t group) {
  uint32_t count = 0;
  if (groups->members[group] < 3) return BYOC_OK;
  for (uint32_t n = groups->heads[group]; n != 0; n = groups->links[n - 1]) groups->scratch[count++] = n - 1;
  byoc_index_set_t all;
  if (!byoc_index_set_make(&c->problem->candidates.arena, groups->scratch, count, &all))
    return byoc_diag_out_of_memory(c->diag);
  return propose(c, &all, region_at(c, group)->target);
}

static byoc_status_t propose_all(coalescer_t *c) {
  const uint32_t count = (uint32_t)c->choice->count, node_count = c->problem->flow.node_count;
  byoc_arena_t arena;
  byoc_arena_init(&arena, c->problem->candidates.arena.allocator);
  uint32_t *behind = BYOC_ARENA_ARRAY(&arena, uint32_t, count);
  groups_t groups = {.members = BYOC_ARENA_ARRAY(&arena, uint32_t, count),
                     .heads = BYOC_ARENA_ARRAY(&arena, uint32_t, count),
                     .links = BYOC_ARENA_ARRAY(&arena, uint32_t, node_count),
                     .scratch = BYOC_ARENA_ARRAY(&arena, uint32_t, node_count)};
  byoc_status_t status = BYOC_OK;
  if (!behind || !groups.members || !groups.heads || !groups.links || !groups.scratch) {
    status = byoc_diag_out_of_memory(c->diag);
  }
  for (uint32_t i = 0; i < count && status == BYOC_OK; ++i) {
    bool is_region = c->owners[region_at(c, i)->nodes.items[0]] == i + 1;
    behind[i] = is_region ? neighbour_behind(c, i) : i;
  }
  if (status == BYOC_OK) collect_groups(c, &groups);
  for (uint32_t i = 0; i < count && status == BYOC_OK; ++i) status = propose_group(c, &groups, i);
  for (uint32_t i = 0; i < count && status == BYOC_OK; ++i) {
    if (behind[i] != i) status = propose_pair(c, i, behind[i]);
  }
  byoc_arena_deinit(&arena);
  return status;
}

byoc_status_t byoc_coalesce(byoc_problem_t *problem, const byoc_target_list_t *targets, const byoc_choice_t *choice,
                            byoc_diag_t *diag, size_t *out_added) {
  byoc_allocator_t allocator = problem->candidates.arena.allocator;
  size_t before = problem->candidates.items.count;
  coalescer_t c = {.problem = problem, .targets = targets, .choice = choice, .diag = diag};
  c.owners = byoc_allocate(allocator, problem->flow.node_count, sizeof(*c.owners));
  c.groups = byoc_allocate(allocator, choice->count, sizeof(*c.groups));
  byoc_status_t status = c.owners && c.groups ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < choice->count && status == BYOC_OK; ++i) {
    const byoc_candidate_t *region = region_at(&c, i);
    c.groups[i] = i;
    if (targets->targets.data[region->target]->kind->backend == NULL) continue;
    for (uint32_t k = 0; k < region->nodes.count; ++k) c.owners[region->nodes.items[k]] = i + 1;
  }
  if (status == BYOC_OK) {
    status = byoc_exact_regions_init(&c.regions, &problem->candidates, &problem->flow, diag);
    if (status == BYOC_OK) status = propose_all(&c);
    byoc_exact_regions_deinit(&c.regions);
  }
  byoc_free(allocator, c.groups);
  byoc_free(allocator, c.owners);
  *out_added = problem->candidates.items.count - before;
  return status;
}
