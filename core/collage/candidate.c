// SPDX-License-Identifier: Apache-2.0
// Lists of candidates, each of them once, and of refusals.
#include "core/collage/candidate.h"

#include <string.h>

#include "core/base/hash.h"

void byoc_candidates_init(byoc_candidates_t *list, byoc_allocator_t allocator) {
  *list = (byoc_candidates_t){0};
  byoc_arena_init(&list->arena, allocator);
}

void byoc_candidates_deinit(byoc_candidates_t *list) {
  byoc_allocator_t allocator = list->arena.allocator;
  byoc_vector_deinit(&list->items, allocator);
  byoc_vector_deinit(&list->refusals, allocator);
  byoc_free(allocator, list->slots);
  byoc_arena_deinit(&list->arena);
  *list = (byoc_candidates_t){0};
}

uint32_t byoc_least_limit(uint32_t a, uint32_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

uint32_t byoc_candidate_limit(const byoc_candidate_t *candidate) {
  uint32_t limit = candidate->definition != NULL ? candidate->definition->max_nodes : 0;
  for (uint32_t i = 0; i < candidate->part_count; ++i) {
    limit = byoc_least_limit(limit, byoc_candidate_limit(candidate->parts[i]));
  }
  return limit;
}

static uint64_t hash_candidate(const byoc_candidate_t *candidate) {
  uint64_t hash = byoc_hash_combine(byoc_index_set_hash(&candidate->nodes), candidate->target);
  return candidate->composite ? byoc_hash_combine(hash, byoc_hash_string(candidate->composite)) : hash;
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *claim_of(const byoc_candidate_t *candidate) {
  return byoc_rule_is_claim(candidate->definition) ? candidate->definition->name : NULL;
}

static bool is_same(const byoc_candidate_t *a, const byoc_candidate_t *b) {
  return a->target == b->target && a->place == b->place && byoc_index_set_equal(&a->nodes, &b->nodes) &&
         same_text(a->composite, b->composite) && same_text(claim_of(a), claim_of(b));
}

// The slot of an equal candidate, or the free one where it would go.
static byoc_candidate_t **find_slot(byoc_candidate_t **slots, size_t slot_count, const byoc_candidate_t *candidate) {
  size_t i = (size_t)hash_candidate(candidate) & (slot_count - 1);
  while (slots[i] != NULL && !is_same(slots[i], candidate)) i = (i + 1) & (slot_count - 1);
  return &slots[i];
}

// Keeps the table less than half full.
static bool make_room(byoc_candidates_t *list) {
  if ((list->items.count + 1) * 2 <= list->slot_count) return true;
  byoc_allocator_t allocator = list->arena.allocator;
  size_t slot_count = list->slot_count ? list->slot_count * 2 : 64;
  byoc_candidate_t **slots = byoc_allocate(allocator, slot_count, sizeof(*slots));
  if (slots == NULL) return false;
  for (size_t i = 0; i < list->items.count; ++i) {
    *find_slot(slots, slot_count, list->items.data[i]) = list->items.data[i];
  }
  byoc_free(allocator, list->slots);
  list->slots = slots;
  list->slot_count = slot_count;
  return true;
}

byoc_status_t byoc_candidates_add(byoc_candidates_t *list, const byoc_candidate_t *candidate, byoc_diag_t *diag,
                                  byoc_candidate_t **out_candidate) {
  *out_candidate = NULL;
  if (candidate->nodes.count == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "a candidate of rule '%s' has no nodes", candidate->rule);
  }
  if (!make_room(list)) return byoc_diag_out_of_memory(diag);
  byoc_candidate_t **slot = find_slot(list->slots, list->slot_count, candidate);
  if (*slot == NULL) {
    byoc_candidate_t *copy = byoc_arena_copy(&list->arena, candidate, sizeof(*candidate));
    if (copy == NULL || !byoc_vector_push(&list->items, list->arena.allocator, copy)) {
      return byoc_diag_out_of_memory(diag);
    }
    copy->index = (uint32_t)list->items.count - 1;
    *slot = copy;
  }
  *out_candidate = *slot;
  return BYOC_OK;
}

byoc_status_t byoc_candidates_refuse(byoc_candidates_t *list, const byoc_index_set_t *nodes, uint32_t target,
                                     const char *rule, const char *reason, byoc_diag_t *diag) {
  // Rules go through the nodes in order, so that a repetition is among the latest.
  size_t count = list->refusals.count, first = count > 8 ? count - 8 : 0;
  for (size_t i = first; i < count; ++i) {
    const byoc_refusal_t *old = &list->refusals.data[i];
    bool is_repeated = old->target == target && byoc_index_set_equal(&old->nodes, nodes) &&
                       same_text(old->rule, rule) && same_text(old->reason, reason);
    if (is_repeated) return BYOC_OK;
  }
  byoc_refusal_t refusal = {.nodes = *nodes,
                            .target = target,
                            .rule = byoc_arena_copy_string(&list->arena, rule),
                            .reason = byoc_arena_copy_string(&list->arena, reason)};
  if (refusal.rule == NULL || refusal.reason == NULL ||
      !byoc_vector_push(&list->refusals, list->arena.allocator, refusal)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}
