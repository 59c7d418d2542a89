// SPDX-License-Identifier: Apache-2.0
// Candidates: sub-graphs that a target could compute, with their costs. Rules make them (core/collage/rules.h), a price
// list finds their costs (core/collage/price_list.h), the cover search (core/collage/cover.h) picks among them.
//
// Example:
//   byoc_candidates_t list;
//   byoc_candidates_init(&list, allocator);
//   byoc_candidate_t *made = NULL;
//   BYOC_RETURN_IF_ERROR(byoc_candidates_add(&list, &(byoc_candidate_t){.nodes = set, .target = 1}, diag, &made));
//   byoc_candidates_deinit(&list);
#ifndef BYOC_CORE_COLLAGE_CANDIDATE_H_
#define BYOC_CORE_COLLAGE_CANDIDATE_H_

#include <math.h>

#include "core/collage/dataflow.h"
#include "core/collage/index_set.h"
#include "core/plugin/region.h"

typedef struct byoc_candidate_t byoc_candidate_t;
struct byoc_candidate_t {
  byoc_index_set_t nodes;
  uint32_t index;  // in its list
  uint32_t target; // index in the target list: also the order of preference when costs tie
  // The (target, device, layout) combination of its values, as a number that the caller of the search chooses.
  // Transition costs depend on it. The rules set it to the target's index.
  uint32_t place;
  const char *rule;              // the rule that proposed it: "cutlass.conv_relu", "c.host"
  const char *composite;         // the Composite attribute if it is one pattern match; else NULL
  const byoc_rule_t *definition; // the backend's row; NULL for the native target
  uint32_t match_number;         // which of several ways to match these nodes was accepted; 0: the first
  bool is_primitive;             // becomes a function of its own
  // The candidates that a combined one was made of, in topological order of their first nodes; empty if it was not
  // combined.
  const byoc_candidate_t *const *parts;
  uint32_t part_count;
  double cost_ns;     // one call, without transitions; NaN: not known yet; INFINITY: cannot be used
  const char *reason; // why it is infinite; NULL otherwise
  bool is_fallback;   // the reason came from the backend, which declined it
  bool is_wrong;      // its code computed something else
  double error;       // its share of an error budget (core/collage/error_budget.h); INFINITY: cannot be used
  bool is_inexact;    // within an error budget: its target is; its error may be 0 on the samples nevertheless
  double moved_bytes, energy_nj; // of a stated cost; 0: not known
};

// True for the rule that stands for a claim of a partition hook (core/collage/hook_claims.h): no plugin has such a
// rule.
static inline bool byoc_rule_is_claim(const byoc_rule_t *rule) {
  return rule != NULL && rule->pattern == NULL && rule->operators.count == 0;
}

// The smallest node limit (max_nodes) among the rules of its parts; 0: none of them has one.
uint32_t byoc_candidate_limit(const byoc_candidate_t *candidate);
// Combines two such limits: the smaller one, where 0 means no limit.
uint32_t byoc_least_limit(uint32_t a, uint32_t b);

// Why a target did not claim some nodes, for byoc explain: the reason of its accept hook.
typedef struct byoc_refusal_t {
  byoc_index_set_t nodes;
  uint32_t target;
  const char *rule, *reason;
} byoc_refusal_t;

struct byoc_hook_claims_t;

// All candidates live in the arena until deinit, and pointers to them stay valid.
typedef struct byoc_candidates_t {
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_candidate_t *) items; // in the order in which they were proposed
  BYOC_VECTOR(byoc_refusal_t) refusals;
  const struct byoc_hook_claims_t *hook_claims; // of targets whose partition hooks were asked
  byoc_candidate_t **slots;                     // open addressing by nodes, target and composite
  size_t slot_count;
} byoc_candidates_t;
void byoc_candidates_init(byoc_candidates_t *list, byoc_allocator_t allocator);
void byoc_candidates_deinit(byoc_candidates_t *list);

// Adds a shallow copy: its pointers must stay valid as long as the list's arena. Equal candidates coalesce: if one with
// the same nodes, target, place, composite and claim exists already, *out_candidate is that one and nothing is added,
// so that each is measured once.
byoc_status_t byoc_candidates_add(byoc_candidates_t *list, const byoc_candidate_t *candidate, byoc_diag_t *diag,
                                  byoc_candidate_t **out_candidate);
// Copies the strings. An identical refusal is kept only once.
byoc_status_t byoc_candidates_refuse(byoc_candidates_t *list, const byoc_index_set_t *nodes, uint32_t target,
                                     const char *rule, const char *reason, byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_CANDIDATE_H_
