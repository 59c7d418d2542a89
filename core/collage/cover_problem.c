// SPDX-License-Identifier: Apache-2.0
// Prepares the tables that the cover search works on.
#include "core/collage/cover_problem.h"

#include <stdlib.h>

// ---- places ----

static int compare_index(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

// Numbers the places in use from 0.
static byoc_status_t name_places(byoc_cover_problem_t *p, byoc_candidate_t *const *candidates, size_t count,
                                 byoc_diag_t *diag) {
  uint32_t *names = BYOC_ARENA_ARRAY(&p->arena, uint32_t, count);
  if (names == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) names[i] = candidates[i]->place;
  qsort(names, count, sizeof(*names), compare_index);
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || names[i] != names[p->place_count - 1]) names[p->place_count++] = names[i];
  }
  p->place_names = names;
  if (p->place_count > 250) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "more than 250 places");
  return BYOC_OK;
}

static uint8_t dense_place(const byoc_cover_problem_t *p, uint32_t name) {
  const uint32_t *found = bsearch(&name, p->place_names, p->place_count, sizeof(name), compare_index);
  return (uint8_t)(found - p->place_names);
}

// ---- items ----

// All candidates of finite cost; nodes by number until the order is known.
static byoc_status_t collect_items(byoc_cover_problem_t *p, byoc_candidate_t *const *candidates, size_t count,
                                   byoc_diag_t *diag) {
  p->items = BYOC_ARENA_ARRAY(&p->arena, byoc_cover_item_t, count);
  if (p->items == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    const byoc_candidate_t *candidate = candidates[i];
    bool is_priced = candidate->cost_ns >= 0, is_inside = candidate->nodes.count > 0;
    for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
      is_inside = is_inside && candidate->nodes.items[k] < p->node_count;
    }
    if (!is_priced || !is_inside) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "candidate %zu ('%s') has no %s", i,
                             candidate->rule ? candidate->rule : "", is_priced ? "nodes of this block" : "cost");
    }
    if (!byoc_cover_admits(p, candidate)) continue;
    p->items[p->item_count++] =
        (byoc_cover_item_t){.nodes = candidate->nodes.items,
                            .count = candidate->nodes.count,
                            .source = (uint32_t)i,
                            .place = dense_place(p, candidate->place),
                            .cost = candidate->cost_ns,
                            .error = candidate->error,
                            .weight = candidate->cost_ns,
                            .rank = ((uint64_t)candidate->target << 24) * candidate->nodes.count + 1};
  }
  return BYOC_OK;
}

static int compare_start(const void *left, const void *right) {
  const byoc_cover_item_t *a = left, *b = right;
  if (a->nodes[0] != b->nodes[0]) return a->nodes[0] < b->nodes[0] ? -1 : 1;
  if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
  return a->source < b->source ? -1 : a->source > b->source;
}

static bool index_items(byoc_cover_problem_t *p) {
  p->first_item = BYOC_ARENA_ARRAY(&p->arena, uint32_t, (size_t)p->node_count + 1);
  if (p->first_item == NULL) return false;
  qsort(p->items, p->item_count, sizeof(*p->items), compare_start);
  for (size_t i = 0; i < p->item_count; ++i) p->first_item[p->items[i].nodes[0] + 1] += 1;
  for (uint32_t at = 0; at < p->node_count; ++at) p->first_item[at + 1] += p->first_item[at];
  return true;
}

// ---- tails ----

static size_t tail_slot(const byoc_cover_tail_t *tails, const uint32_t *slots, size_t slot_count, uint32_t node,
                        uint32_t next) {
  size_t i = (((size_t)node * 0x9e3779b1u) ^ ((size_t)next * 0x85ebca77u)) & (slot_count - 1);
  while (slots[i] != 0 && (tails[slots[i]].node != node || tails[slots[i]].next != next)) {
    i = (i + 1) & (slot_count - 1);
  }
  return i;
}

// Equal tails get one number: a tail is its first node and the tail behind that, built from the end. The empty tail of
// place x has number x.
static bool make_tails(byoc_cover_problem_t *p) {
  size_t total = p->place_count, slot_count = 64;
  for (size_t i = 0; i < p->item_count; ++i) total += p->items[i].count - 1;
  while (slot_count < 2 * total) slot_count *= 2;
  p->tails = BYOC_ARENA_ARRAY(&p->arena, byoc_cover_tail_t, total);
  uint32_t *slots = byoc_allocate(p->allocator, slot_count, sizeof(*slots)), count = p->place_count;
  bool ok = p->tails != NULL && slots != NULL && total < UINT32_MAX;
  for (uint32_t place = 0; ok && place < p->place_count; ++place) {
    p->tails[place] = (byoc_cover_tail_t){BYOC_COVER_NONE, BYOC_COVER_NONE, BYOC_COVER_NONE, (uint8_t)place};
  }
  // The slots hold numbers; 0 is an empty tail and never looked up, so it can stand for a free slot.
  for (size_t i = 0; ok && i < p->item_count; ++i) {
    byoc_cover_item_t *item = &p->items[i];
    item->rest = item->place;
    for (uint32_t k = item->count; k-- > 1;) {
      size_t slot = tail_slot(p->tails, slots, slot_count, item->nodes[k], item->rest);
      if (slots[slot] == 0) {
        slots[slot] = count;
        p->tails[count++] = (byoc_cover_tail_t){item->nodes[k], item->rest, item->nodes[item->count - 1], item->place};
      }
      item->rest = slots[slot];
    }
  }
  byoc_free(p->allocator, slots);
  return ok;
}

// ---- transitions ----

static byoc_status_t ask_transitions(byoc_cover_problem_t *p, const byoc_cover_costs_t *costs, byoc_diag_t *diag) {
  const bool has_rows = costs != NULL && costs->transition != NULL;
  if (!has_rows && p->device_count < 2) return BYOC_OK;
  size_t places = p->place_count, cells = 0;
  if (!byoc_size_mul((size_t)p->node_count, places * places, &cells)) return byoc_diag_out_of_memory(diag);
  p->transitions = BYOC_ARENA_ARRAY(&p->arena, double, cells);
  p->disadvantages = BYOC_ARENA_ARRAY(&p->arena, double, cells);
  p->alike = BYOC_ARENA_ARRAY(&p->arena, uint8_t, p->node_count * places);
  if (!p->transitions || !p->disadvantages || !p->alike) return byoc_diag_out_of_memory(diag);
  for (uint32_t node = 0; has_rows && node < p->node_count; ++node) {
    if (p->flow->successor_offsets[node] == p->flow->successor_offsets[node + 1]) continue;
    double *rows = p->transitions + (size_t)p->position[node] * places * places;
    for (size_t cell = 0; cell < places * places; ++cell) {
      uint32_t from = p->place_names[cell / places], to = p->place_names[cell % places];
      rows[cell] = costs->transition(costs->self, node, from, to);
      if (!(rows[cell] >= 0 && rows[cell] < INFINITY)) {
        return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the transition of node %u from place %u to %u costs %g",
                               node, from, to, rows[cell]);
      }
      if (rows[cell] > 0) p->has_transitions = true;
    }
  }
  for (uint32_t at = 0; at < p->node_count; ++at) {
    const double *rows = p->transitions + (size_t)at * places * places;
    double *excess = p->disadvantages + (size_t)at * places * places;
    uint8_t *alike = p->alike + (size_t)at * places;
    for (size_t a = 0; a < places; ++a) {
      alike[a] = (uint8_t)a;
      for (size_t b = 0; b < places; ++b) {
        for (size_t to = 0; to < places; ++to) {
          excess[a * places + b] = fmax(excess[a * places + b], rows[b * places + to] - rows[a * places + to]);
        }
      }
    }
    for (size_t a = 1; a < places; ++a) {
      for (size_t b = a; b-- > 0;) {
        const bool is_same = p->device_count < 2 || p->devices[a] == p->devices[b];
        if (is_same && excess[a * places + b] == 0 && excess[b * places + a] == 0) alike[a] = (uint8_t)b;
      }
    }
  }
  return BYOC_OK;
}

// ---- slots ----

// A slot is allocated where a node is made and freed at its last reader; the lowest free slot comes first.
static bool assign_slots(byoc_cover_problem_t *p) {
  uint32_t n = p->node_count, top = p->input_count;
  p->slots = BYOC_ARENA_ARRAY(&p->arena, uint32_t, n);
  p->slot_count = BYOC_ARENA_ARRAY(&p->arena, uint32_t, (size_t)n + 1);
  BYOC_VECTOR(uint32_t) free_slots = {0}; // newest last
  bool ok = p->slots != NULL && p->slot_count != NULL;
  if (ok) p->slot_count[0] = top;
  for (uint32_t at = 0; ok && at < n; ++at) {
    for (uint32_t e = p->predecessor_offsets[at]; ok && e < p->predecessor_offsets[at + 1]; ++e) {
      uint32_t source = p->predecessors[e];
      bool is_last = p->successors[p->successor_offsets[source + 1] - 1] == at;
      if (is_last) ok = byoc_vector_push(&free_slots, p->allocator, p->slots[source]);
    }
    p->slots[at] = BYOC_COVER_NONE;
    if (p->successor_offsets[at] < p->successor_offsets[at + 1]) {
      p->slots[at] = free_slots.count > 0 ? free_slots.data[--free_slots.count] : top++;
    }
    if (ok) p->slot_count[at + 1] = top;
  }
  byoc_vector_deinit(&free_slots, p->allocator);
  return ok;
}

// ---- all of it ----

byoc_status_t byoc_cover_problem_init(byoc_cover_problem_t *p, const byoc_dataflow_t *flow,
                                      byoc_candidate_t *const *candidates, size_t candidate_count,
                                      const byoc_cover_costs_t *costs, const byoc_cover_options_t *options,
                                      byoc_allocator_t allocator, byoc_diag_t *diag) {
  *p = (byoc_cover_problem_t){.allocator = allocator,
                              .flow = flow,
                              .node_count = flow->node_count,
                              .limits_error = options->limits_error,
                              .error_limit = options->limits_error ? options->error_limit : 0};
  byoc_arena_init(&p->arena, allocator);
  BYOC_RETURN_IF_ERROR(name_places(p, candidates, candidate_count, diag));
  BYOC_RETURN_IF_ERROR(collect_items(p, candidates, candidate_count, diag));
  BYOC_RETURN_IF_ERROR(byoc_cover_order(p, diag));
  BYOC_RETURN_IF_ERROR(byoc_cover_ask_copies(p, costs, diag));
  BYOC_RETURN_IF_ERROR(ask_transitions(p, costs, diag));
  if (!options->keep_all_candidates) BYOC_RETURN_IF_ERROR(byoc_cover_prune(p, diag));
  if (!index_items(p) || !make_tails(p) || !assign_slots(p)) return byoc_diag_out_of_memory(diag);
  return byoc_cover_bound(p, diag);
}

void byoc_cover_problem_deinit(byoc_cover_problem_t *p) {
  byoc_arena_deinit(&p->arena);
  *p = (byoc_cover_problem_t){0};
}
