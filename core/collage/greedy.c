#include "core/collage/greedy.h"

#include <string.h>

#include "core/collage/claims.h"
#include "core/collage/constraint.h"
#include "core/collage/place.h"
#include "core/collage/rules_internal.h"
#include "core/plugin/pattern.h"

typedef struct greedy_t {
  byoc_claims_t claims;
  byoc_candidates_t *list;
  const byoc_target_t *target; // whose rules are being tried
  byoc_diag_t *diag;
} greedy_t;

// The `index`-th rule of a backend, whatever the size of its struct was when the plugin was built.
static byoc_rule_t rule_at(const byoc_backend_t *backend, uint32_t index) {
  const char *source = (const char *)backend->rules + (size_t)index * backend->rule_stride;
  byoc_rule_t rule = {0};
  memcpy(&rule, source, backend->rule_stride < sizeof(rule) ? backend->rule_stride : sizeof(rule));
  return rule;
}

// ---- claiming ----

static bool is_free(void *self, const byoc_node_t *node) {
  const greedy_t *g = self;
  return byoc_claims_owner(&g->claims, node->mark) == NULL && byoc_target_may_take(g->target, node);
}

static byoc_status_t note_decline(greedy_t *g, byoc_node_t *const *nodes, size_t count, const byoc_rule_t *rule,
                                  const char *reason) {
  byoc_index_set_t set;
  uint32_t *indices = byoc_allocate(g->claims.allocator, count, sizeof(*indices));
  for (size_t i = 0; i < count && indices != NULL; ++i) indices[i] = (uint32_t)nodes[i]->mark;
  bool ok = indices != NULL && byoc_index_set_make(&g->list->arena, indices, count, &set);
  byoc_free(g->claims.allocator, indices);
  if (!ok) return byoc_diag_out_of_memory(g->diag);
  return byoc_candidates_refuse(g->list, &set, g->target->index, rule->name ? rule->name : "",
                                reason[0] ? reason : "no reason was given", g->diag);
}

static byoc_status_t ask(greedy_t *g, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  *out_accepted = true;
  if (rule->accept == NULL) return BYOC_OK;
  byoc_region_t region = {.target = g->target,
                          .nodes = nodes,
                          .node_count = node_count,
                          .bindings = bindings,
                          .binding_count = binding_count};
  *out_accepted = rule->accept(g->target->kind->backend->self, &region) != 0;
  return *out_accepted ? BYOC_OK : note_decline(g, nodes, node_count, rule, region.reason);
}

static byoc_status_t copy_rule(greedy_t *g, const byoc_rule_t *rule, const byoc_rule_t **out_rule) {
  byoc_rule_t *copy = byoc_arena_copy(&g->list->arena, rule, sizeof(*rule));
  *out_rule = copy;
  return copy ? BYOC_OK : byoc_diag_out_of_memory(g->diag);
}

typedef struct claimer_t {
  greedy_t *greedy;
  const byoc_rule_t *rule;
  byoc_status_t status;
} claimer_t;

// The first way to match that the hook accepts is the one.
static bool claim_match(void *self, const byoc_match_t *match) {
  claimer_t *c = self;
  greedy_t *g = c->greedy;
  bool accepted = false;
  byoc_claim_t *claim = NULL;
  c->status =
      ask(g, c->rule, match->nodes.data, match->nodes.count, match->bindings.data, match->bindings.count, &accepted);
  if (c->status != BYOC_OK || !accepted) return c->status != BYOC_OK;
  c->status = byoc_claims_add(&g->claims, g->target, c->rule, match->nodes.data, match->nodes.count, g->diag, &claim);
  return true;
}

// A pattern rule claims its matches, the ones nearest to the results first, so that the largest go first.
static byoc_status_t claim_matches(greedy_t *g, const byoc_rule_t *rule) {
  const byoc_pattern_t *pattern = NULL;
  BYOC_RETURN_IF_ERROR(byoc_pattern_parse(rule->pattern, rule->name, &g->list->arena, g->diag, &pattern));
  byoc_match_t match;
  byoc_match_init(&match, g->claims.allocator);
  claimer_t claimer = {.greedy = g, .rule = rule};
  for (size_t n = g->claims.node_count; n > 0 && claimer.status == BYOC_OK; --n) {
    bool failed = false;
    if (!is_free(g, g->claims.nodes[n - 1])) continue;
    byoc_pattern_match_each(pattern, g->claims.nodes[n - 1], is_free, g, &match, claim_match, &claimer, &failed);
    if (failed) claimer.status = byoc_diag_out_of_memory(g->diag);
  }
  byoc_match_deinit(&match);
  return claimer.status;
}

// A group rule claims each node that it accepts; joining makes groups of them.
static byoc_status_t claim_nodes(greedy_t *g, const byoc_rule_t *rule) {
  for (size_t n = 0; n < g->claims.node_count; ++n) {
    byoc_node_t *node = g->claims.nodes[n];
    bool accepted = false;
    byoc_claim_t *claim = NULL;
    if (!is_free(g, node) || !byoc_rule_lists(rule, node)) continue;
    BYOC_RETURN_IF_ERROR(ask(g, rule, &node, 1, NULL, 0, &accepted));
    if (!accepted) continue;
    BYOC_RETURN_IF_ERROR(byoc_claims_add(&g->claims, g->target, rule, &node, 1, g->diag, &claim));
  }
  return BYOC_OK;
}

// ---- all rules ----

static byoc_status_t apply_rules(greedy_t *g, const byoc_target_t *target) {
  const byoc_backend_t *backend = target->kind->backend;
  if (backend == NULL) return BYOC_OK; // the native target takes what is left over
  g->target = target;
  for (uint32_t r = 0; r < backend->rule_count; ++r) {
    byoc_rule_t rule = rule_at(backend, r);
    const byoc_rule_t *kept = NULL;
    BYOC_RETURN_IF_ERROR(copy_rule(g, &rule, &kept));
    BYOC_RETURN_IF_ERROR_IN(g->diag, kept->pattern ? claim_matches(g, kept) : claim_nodes(g, kept),
                            "target '%s', rule '%s'", target->kind->name, kept->name ? kept->name : "");
  }
  return BYOC_OK;
}

static byoc_status_t propose_regions(greedy_t *g, byoc_choice_t *choice) {
  for (size_t n = 0; n < g->claims.node_count; ++n) {
    const byoc_claim_t *region = byoc_claims_owner(&g->claims, n);
    byoc_candidate_t candidate, *made = NULL;
    if (region == NULL || region->nodes.data[0] != n) continue;
    BYOC_RETURN_IF_ERROR(byoc_claims_candidate(&g->claims, region, &g->list->arena, g->diag, &candidate));
    BYOC_RETURN_IF_ERROR(byoc_candidates_add(g->list, &candidate, g->diag, &made));
    if (!byoc_vector_push(choice, g->claims.allocator, made->index)) return byoc_diag_out_of_memory(g->diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_greedy_claim(const byoc_dataflow_t *flow, const byoc_target_t *const *targets, size_t target_count,
                                byoc_candidates_t *list, byoc_diag_t *diag, byoc_choice_t *out_choice) {
  *out_choice = (byoc_choice_t){0};
  greedy_t g = {.list = list, .diag = diag};
  byoc_status_t status = byoc_claims_init(&g.claims, flow->block, list->arena.allocator, diag);
  for (size_t t = 0; t < target_count && status == BYOC_OK; ++t) status = apply_rules(&g, targets[t]);
  if (status == BYOC_OK) status = byoc_claims_join_neighbours(&g.claims, diag);
  if (status == BYOC_OK) status = propose_regions(&g, out_choice);
  byoc_claims_deinit(&g.claims);
  if (status != BYOC_OK) byoc_vector_deinit(out_choice, list->arena.allocator);
  return status;
}
