// SPDX-License-Identifier: Apache-2.0
// Claims free nodes by one rule of a target.
#include "core/collage/claim_rule.h"

#include "core/collage/constraint.h"
#include "core/collage/rules_internal.h"
#include "core/plugin/accepted_match.h"

typedef struct attempt_t {
  const byoc_rule_claimer_t *claimer;
  const byoc_rule_t *rule;
  const byoc_pattern_t *pattern; // the rule's; NULL: it has none
  byoc_status_t status;
} attempt_t;

static bool is_free(void *self, const byoc_node_t *node) {
  const byoc_rule_claimer_t *c = ((const attempt_t *)self)->claimer;
  uint32_t number = byoc_numbering_get(&c->claims->flow.numbers, node);
  if (c->within != NULL && !byoc_index_set_contains(c->within, number)) return false;
  return byoc_claims_owner(c->claims, number) == NULL && byoc_target_may_take(c->target, node);
}

// The nodes that may be claimed, by number.
static size_t candidate_count(const byoc_rule_claimer_t *c) {
  return c->within != NULL ? c->within->count : c->claims->node_count;
}

static size_t candidate_at(const byoc_rule_claimer_t *c, size_t position) {
  return c->within != NULL ? c->within->items[position] : position;
}

// Asks the hook, and claims if it accepts. After that, or after an error, there is nothing left to try.
static bool claim(attempt_t *attempt, byoc_node_t *const *nodes, size_t count, const byoc_region_binding_t *bindings,
                  size_t binding_count, byoc_claim_t **out_claim) {
  const byoc_rule_claimer_t *c = attempt->claimer;
  bool is_accepted = false;
  attempt->status = c->ask(c->self, attempt->rule, nodes, count, bindings, binding_count, &is_accepted);
  if (attempt->status != BYOC_OK || !is_accepted) return attempt->status != BYOC_OK;
  attempt->status = byoc_claims_add(c->claims, c->target, attempt->rule, nodes, count, c->diag, out_claim);
  return true;
}

static bool claim_match(void *self, const byoc_match_t *match) {
  attempt_t *attempt = self;
  byoc_claim_t *made = NULL;
  if (!byoc_match_shares_device(match)) return false;
  bool is_over =
      claim(attempt, match->nodes.data, match->nodes.count, match->bindings.data, match->bindings.count, &made);
  bool may_be_another = made != NULL && attempt->rule->accept != NULL;
  if (may_be_another && !byoc_match_number(attempt->pattern, match, &made->match_number)) {
    attempt->status = byoc_diag_out_of_memory(attempt->claimer->diag);
  }
  return is_over;
}

static byoc_status_t claim_matches(attempt_t *attempt) {
  const byoc_rule_claimer_t *c = attempt->claimer;
  const byoc_rule_t *rule = attempt->rule;
  const byoc_pattern_t *pattern = NULL;
  BYOC_RETURN_IF_ERROR(byoc_pattern_parse(rule->pattern, rule->name, c->arena, c->diag, &pattern));
  attempt->pattern = pattern;
  byoc_match_t match;
  byoc_match_init(&match, c->claims->allocator);
  for (size_t i = candidate_count(c); i-- > 0 && attempt->status == BYOC_OK;) {
    const size_t n = candidate_at(c, i);
    bool failed = false;
    if (!is_free(attempt, c->claims->nodes[n])) continue;
    byoc_pattern_match_each(pattern, c->claims->nodes[n], is_free, attempt, &match, claim_match, attempt, &failed);
    if (failed) attempt->status = byoc_diag_out_of_memory(c->diag);
  }
  byoc_match_deinit(&match);
  return attempt->status;
}

static byoc_status_t claim_nodes(attempt_t *attempt) {
  const byoc_rule_claimer_t *c = attempt->claimer;
  for (size_t i = 0; i < candidate_count(c) && attempt->status == BYOC_OK; ++i) {
    byoc_node_t *node = c->claims->nodes[candidate_at(c, i)];
    byoc_claim_t *made = NULL;
    if (is_free(attempt, node) && byoc_rule_lists(attempt->rule, node)) (void)claim(attempt, &node, 1, NULL, 0, &made);
  }
  return attempt->status;
}

byoc_status_t byoc_claim_by_rule(const byoc_rule_claimer_t *claimer, const byoc_rule_t *rule) {
  attempt_t attempt = {.claimer = claimer, .rule = rule};
  return rule->pattern != NULL ? claim_matches(&attempt) : claim_nodes(&attempt);
}
