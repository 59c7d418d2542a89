// SPDX-License-Identifier: Apache-2.0
// Makes sets of nodes and proposals for all kinds of rules of one target, and keeps the answers of hooks.
#include <math.h>

#include "core/base/hash.h"
#include "core/collage/constraint.h"
#include "core/collage/rules_internal.h"
#include "core/plugin/accept.h"
#include "core/plugin/accepted_match.h"

byoc_status_t byoc_ruling_init(byoc_ruling_t *r, const byoc_target_t *target, const byoc_dataflow_t *flow,
                               byoc_candidates_t *list, byoc_diag_t *diag) {
  *r = (byoc_ruling_t){.flow = flow, .target = target, .list = list, .allocator = list->arena.allocator, .diag = diag};
  byoc_arena_init(&r->scratch, r->allocator);
  return byoc_subgraph_space_init(&r->space, flow, r->allocator, diag);
}

void byoc_ruling_deinit(byoc_ruling_t *r) {
  if (r->space.flow != NULL) byoc_subgraph_space_deinit(&r->space);
  byoc_vector_deinit(&r->verdicts, r->allocator);
  byoc_free(r->allocator, r->verdict_slots);
  byoc_arena_deinit(&r->scratch);
}

byoc_status_t byoc_ruling_set(byoc_ruling_t *r, byoc_node_t *const *nodes, size_t count, byoc_index_set_t *out_set) {
  uint32_t *indices = byoc_allocate(r->allocator, count, sizeof(*indices));
  if (indices == NULL) return byoc_diag_out_of_memory(r->diag);
  for (size_t i = 0; i < count; ++i) indices[i] = byoc_numbering_get(&r->flow->numbers, nodes[i]);
  bool ok = byoc_index_set_make(&r->list->arena, indices, count, out_set);
  byoc_free(r->allocator, indices);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

byoc_status_t byoc_ruling_propose(byoc_ruling_t *r, byoc_candidate_t candidate, byoc_candidates_t *out,
                                  byoc_candidate_t **out_candidate) {
  candidate.target = candidate.place = r->target->index;
  candidate.cost_ns = NAN;
  return byoc_candidates_add(out, &candidate, r->diag, out_candidate);
}

// ---- asking ----

bool byoc_ruling_may_take(void *self, const byoc_node_t *node) {
  const byoc_ruling_t *r = self;
  return byoc_target_may_take(r->target, node);
}

static uint64_t hash_region(const byoc_verdict_t *asked) {
  uint64_t hash = byoc_hash_combine(byoc_index_set_hash(&asked->nodes), (uint64_t)(uintptr_t)asked->definition);
  for (size_t i = 0; i < asked->binding_count; ++i) {
    hash = byoc_hash_combine(hash, (uint64_t)(uintptr_t)asked->bindings[i].node);
    hash = byoc_hash_combine(hash, (uint64_t)(uintptr_t)asked->bindings[i].value);
  }
  return hash;
}

// The slot of a region's verdict, or the free one where it would go.
static uint32_t *verdict_slot(const byoc_ruling_t *r, uint32_t *slots, size_t slot_count, const byoc_verdict_t *asked) {
  size_t i = (size_t)hash_region(asked) & (slot_count - 1);
  for (; slots[i] != 0; i = (i + 1) & (slot_count - 1)) {
    const byoc_verdict_t *known = &r->verdicts.data[slots[i] - 1];
    if (known->definition == asked->definition && byoc_index_set_equal(&known->nodes, &asked->nodes) &&
        byoc_bindings_equal(known->bindings, known->binding_count, asked->bindings, asked->binding_count)) {
      break;
    }
  }
  return &slots[i];
}

static bool grow_verdicts(byoc_ruling_t *r) {
  if ((r->verdicts.count + 1) * 2 <= r->verdict_slot_count) return true;
  size_t slot_count = r->verdict_slot_count ? r->verdict_slot_count * 2 : 64;
  uint32_t *slots = byoc_allocate(r->allocator, slot_count, sizeof(*slots));
  if (slots == NULL) return false;
  for (size_t i = 0; i < r->verdicts.count; ++i) {
    *verdict_slot(r, slots, slot_count, &r->verdicts.data[i]) = (uint32_t)i + 1;
  }
  byoc_free(r->allocator, r->verdict_slots);
  r->verdict_slots = slots;
  r->verdict_slot_count = slot_count;
  return true;
}

byoc_status_t byoc_ruling_ask(byoc_ruling_t *r, const byoc_rule_t *definition, const byoc_index_set_t *set,
                              byoc_node_t *const *nodes, const byoc_region_binding_t *bindings, size_t binding_count,
                              bool *out_accepted) {
  *out_accepted = true;
  if (definition->accept == NULL) return BYOC_OK;
  if (!grow_verdicts(r)) return byoc_diag_out_of_memory(r->diag);
  byoc_verdict_t verdict = {
      .definition = definition, .nodes = *set, .bindings = bindings, .binding_count = binding_count};
  uint32_t *slot = verdict_slot(r, r->verdict_slots, r->verdict_slot_count, &verdict);
  if (*slot != 0) {
    *out_accepted = r->verdicts.data[*slot - 1].accepted;
    return BYOC_OK;
  }
  byoc_region_t region = {.target = r->target,
                          .nodes = nodes,
                          .node_count = set->count,
                          .bindings = bindings,
                          .binding_count = binding_count};
  *out_accepted = byoc_hook_accept(definition, &region);
  verdict.accepted = *out_accepted;
  verdict.bindings = byoc_arena_copy(&r->list->arena, bindings, binding_count * sizeof(*bindings));
  if (verdict.bindings == NULL || !byoc_vector_push(&r->verdicts, r->allocator, verdict)) {
    return byoc_diag_out_of_memory(r->diag);
  }
  *slot = (uint32_t)r->verdicts.count;
  if (*out_accepted) return BYOC_OK;
  return byoc_candidates_refuse(r->list, set, r->target->index, definition->name ? definition->name : "",
                                region.reason[0] ? region.reason : "no reason was given", r->diag);
}
