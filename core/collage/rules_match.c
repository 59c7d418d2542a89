// SPDX-License-Identifier: Apache-2.0
// The leaves of the rules: matches of patterns, and groups by kind.
#include <string.h>

#include "core/collage/place.h"
#include "core/collage/rules_internal.h"
#include "core/plugin/accepted_match.h"

// ---- patterns ----

typedef struct proposer_t {
  byoc_ruling_t *ruling;
  const byoc_pattern_t *pattern;
  const byoc_partition_rule_t *rule;
  byoc_candidates_t *out;
  byoc_status_t status;
} proposer_t;

// Every way to match is a candidate, with and without an optional operator.
static bool propose_match(void *self, const byoc_match_t *match) {
  proposer_t *p = self;
  byoc_ruling_t *r = p->ruling;
  if (!byoc_match_shares_device(match)) return false;
  bool accepted = false;
  byoc_candidate_t candidate = {.rule = p->rule->name, .definition = p->rule->definition}, *made = NULL;
  p->status = byoc_ruling_set(r, match->nodes.data, match->nodes.count, &candidate.nodes);
  if (p->status == BYOC_OK) {
    p->status = byoc_ruling_ask(r, candidate.definition, &candidate.nodes, match->nodes.data, match->bindings.data,
                                match->bindings.count, &accepted);
  }
  bool may_be_another = accepted && candidate.definition->accept != NULL;
  if (may_be_another && p->status == BYOC_OK && !byoc_match_number(p->pattern, match, &candidate.match_number)) {
    p->status = byoc_diag_out_of_memory(r->diag);
  }
  if (accepted && p->status == BYOC_OK) p->status = byoc_ruling_propose(r, candidate, p->out, &made);
  return p->status != BYOC_OK;
}

byoc_status_t byoc_ruling_match(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  const byoc_pattern_t *pattern = NULL;
  BYOC_RETURN_IF_ERROR(byoc_pattern_parse(rule->definition->pattern, rule->name, &r->list->arena, r->diag, &pattern));
  byoc_match_t match;
  byoc_match_init(&match, r->allocator);
  proposer_t proposer = {.ruling = r, .pattern = pattern, .rule = rule, .out = out};
  for (uint32_t n = 0; n < r->flow->node_count && proposer.status == BYOC_OK; ++n) {
    bool failed = false;
    if (!byoc_ruling_may_take(r, r->flow->nodes[n])) continue;
    byoc_pattern_match_each(pattern, r->flow->nodes[n], byoc_ruling_may_take, r, &match, propose_match, &proposer,
                            &failed);
    if (failed) proposer.status = byoc_diag_out_of_memory(r->diag);
  }
  byoc_match_deinit(&match);
  return proposer.status;
}

// ---- by kind ----

bool byoc_rule_lists(const byoc_rule_t *definition, const byoc_node_t *node) {
  for (uint64_t i = 0; i < definition->operators.count; ++i) {
    const char *listed = definition->operators.items[i], *separator = strstr(listed, "::");
    size_t domain_size = separator ? (size_t)(separator - listed) : 0;
    const char *name = separator ? separator + 2 : listed;
    if (strcmp(node->op, name) == 0 && strlen(node->domain) == domain_size &&
        strncmp(node->domain, listed, domain_size) == 0) {
      return true;
    }
  }
  return false;
}

typedef struct grouper_t {
  byoc_ruling_t *ruling;
  const byoc_partition_rule_t *rule;
  byoc_candidates_t *out;
  bool *claimed;            // by node: listed and accepted
  byoc_candidates_t groups; // connected ones that begin at one node, convex or not
} grouper_t;

static byoc_status_t add_group(grouper_t *g, const byoc_index_set_t *set) {
  byoc_candidate_t candidate = {.nodes = *set, .rule = g->rule->name, .definition = g->rule->definition}, *made = NULL;
  return byoc_ruling_propose(g->ruling, candidate, &g->groups, &made);
}

// Grows every group by one node; its first node stays the first.
static byoc_status_t extend_group(grouper_t *g, const byoc_index_set_t *set) {
  const byoc_dataflow_t *flow = g->ruling->flow;
  for (uint32_t k = 0; k < set->count; ++k) {
    uint32_t node = set->items[k];
    for (int side = 0; side < 2; ++side) {
      const uint32_t *offsets = side == 0 ? flow->successor_offsets : flow->predecessor_offsets;
      const uint32_t *neighbours = side == 0 ? flow->successors : flow->predecessors;
      for (uint32_t e = offsets[node]; e < offsets[node + 1]; ++e) {
        uint32_t next = neighbours[e];
        if (g->groups.items.count >= g->rule->max_each) return BYOC_OK;
        if (next <= set->items[0] || !g->claimed[next] || byoc_dataflow_is_hub(flow, next) ||
            byoc_index_set_contains(set, next))
          continue;
        byoc_index_set_t one = {.items = &next, .count = 1}, larger;
        if (!byoc_index_set_unite(&g->ruling->list->arena, set, &one, &larger)) {
          return byoc_diag_out_of_memory(g->ruling->diag);
        }
        BYOC_RETURN_IF_ERROR(add_group(g, &larger));
      }
    }
  }
  return BYOC_OK;
}

// Connected groups that begin at `first`, smallest first, as many as the rule allows.
static byoc_status_t propose_groups(grouper_t *g, uint32_t first) {
  byoc_ruling_t *r = g->ruling;
  byoc_index_set_t start;
  if (!byoc_index_set_make(&r->list->arena, &first, 1, &start)) return byoc_diag_out_of_memory(r->diag);
  byoc_candidates_init(&g->groups, r->allocator);
  byoc_status_t status = add_group(g, &start);
  for (size_t i = 0; i < g->groups.items.count && status == BYOC_OK; ++i) {
    const byoc_candidate_t *group = g->groups.items.data[i];
    bool may_grow = group->nodes.count < g->rule->limits.max_nodes && !byoc_dataflow_is_hub(r->flow, first);
    if (may_grow) status = extend_group(g, &group->nodes);
    byoc_subgraph_t graph;
    byoc_arena_reset(&r->scratch);
    if (status == BYOC_OK && !byoc_subgraph_make(&r->space, &r->scratch, &group->nodes, &graph)) {
      status = byoc_diag_out_of_memory(r->diag);
    }
    if (status != BYOC_OK) break;
    if (g->rule->limits.max_depth > 0 && graph.depth > g->rule->limits.max_depth) continue;
    byoc_candidate_t *made = NULL;
    if (byoc_subgraph_is_convex(&r->space, &group->nodes)) status = byoc_candidates_add(g->out, group, r->diag, &made);
  }
  byoc_candidates_deinit(&g->groups);
  return status;
}

byoc_status_t byoc_ruling_group(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  grouper_t g = {.ruling = r, .rule = rule, .out = out};
  g.claimed = byoc_allocate(r->allocator, r->flow->node_count, sizeof(bool));
  if (g.claimed == NULL) return byoc_diag_out_of_memory(r->diag);
  byoc_status_t status = BYOC_OK;
  for (uint32_t n = 0; n < r->flow->node_count && status == BYOC_OK; ++n) {
    byoc_node_t *node = r->flow->nodes[n];
    byoc_index_set_t set;
    if (!byoc_ruling_may_take(r, node) || !byoc_rule_lists(rule->definition, node)) continue;
    status = byoc_ruling_set(r, &node, 1, &set);
    if (status == BYOC_OK) status = byoc_ruling_ask(r, rule->definition, &set, &node, NULL, 0, &g.claimed[n]);
  }
  for (uint32_t n = 0; n < r->flow->node_count && status == BYOC_OK; ++n) {
    if (g.claimed[n]) status = propose_groups(&g, n);
  }
  byoc_free(r->allocator, g.claimed);
  return status;
}
