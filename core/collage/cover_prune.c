// SPDX-License-Identifier: Apache-2.0
// Drops candidates that no cheapest cover needs. For each dropped one there is a replacement wherever it was used, at
// no higher cost, with no larger error and without a circle, so the least cost does not change.
#include <stdlib.h>

#include "core/collage/cover_problem.h"

static int compare_nodes(const byoc_cover_item_t *a, const byoc_cover_item_t *b) {
  if (a->nodes[0] != b->nodes[0]) return a->nodes[0] < b->nodes[0] ? -1 : 1;
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (uint32_t k = 1; k < a->count; ++k) {
    if (a->nodes[k] != b->nodes[k]) return a->nodes[k] < b->nodes[k] ? -1 : 1;
  }
  return 0;
}

// Sorts by nodes, and by cost among equal nodes.
static int compare_items(const void *left, const void *right) {
  const byoc_cover_item_t *a = left, *b = right;
  int nodes = compare_nodes(a, b);
  if (nodes != 0) return nodes;
  if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return a->source < b->source ? -1 : a->source > b->source;
}

static bool is_inside(const byoc_cover_item_t *item, uint32_t node) {
  return byoc_index_set_contains(&(byoc_index_set_t){item->nodes, item->count}, node);
}

// The most that transitions can cost more if `by` replaces `item` (same nodes, another place).
static double most_extra(const byoc_cover_problem_t *p, const byoc_cover_item_t *item, const byoc_cover_item_t *by) {
  if (item->place == by->place) return 0;
  double extra = p->device_count > 1 ? byoc_cover_replacing_excess(p, item, by->place) : 0;
  for (uint32_t k = 0; p->has_transitions && k < item->count; ++k) {
    uint32_t node = item->nodes[k];
    for (uint32_t e = p->successor_offsets[node]; e < p->successor_offsets[node + 1]; ++e) {
      if (!is_inside(item, p->successors[e])) extra += byoc_cover_disadvantage(p, node, item->place, by->place);
    }
    for (uint32_t e = p->predecessor_offsets[node]; e < p->predecessor_offsets[node + 1]; ++e) {
      uint32_t source = p->predecessors[e];
      if (is_inside(item, source)) continue;
      double most = 0; // a source read by several nodes counts several times: more than enough
      for (uint32_t from = 0; from < p->place_count; ++from) {
        double more = byoc_cover_transition(p, source, (uint8_t)from, by->place) -
                      byoc_cover_transition(p, source, (uint8_t)from, item->place);
        if (more > most) most = more;
      }
      extra += most;
    }
  }
  return extra;
}

// a is replaced by b: they have the same nodes, and b is cheaper by at least the largest difference of their
// transitions.
static bool is_replaced(const byoc_cover_problem_t *p, const byoc_cover_item_t *item, const byoc_cover_item_t *by) {
  double saved = item->cost - by->cost;
  if (saved < 0 || by->error > item->error) return false;
  double extra = most_extra(p, item, by);
  if (saved == extra) return by->rank <= item->rank;
  return saved > extra;
}

// Larger candidates are few, and this check would not pay for them.
#define SPLIT_LIMIT 64

// c is replaced by its nodes one by one, in the same place. Splitting adds no circle: a circle among the parts would be
// one among the nodes, and any other circle was there before.
static bool is_split(const byoc_cover_problem_t *p, const byoc_cover_item_t *item, const double *single,
                     const double *errors) {
  double cost = 0, error = 0;
  if (item->count > SPLIT_LIMIT) return false;
  for (uint32_t k = 0; k < item->count && cost < item->cost; ++k) {
    uint32_t node = item->nodes[k];
    cost += single[(size_t)node * p->place_count + item->place];
    error += errors[(size_t)node * p->place_count + item->place];
    if (!p->has_transitions) continue;
    for (uint32_t e = p->predecessor_offsets[node]; e < p->predecessor_offsets[node + 1]; ++e) {
      uint32_t source = p->predecessors[e];
      if (is_inside(item, source)) {
        cost += byoc_cover_transition(p, source, item->place, item->place);
        continue;
      }
      bool is_first = true; // the whole pays for a source once, the parts pay once each
      for (uint32_t j = 0; j < k && is_first; ++j) {
        for (uint32_t f = p->predecessor_offsets[item->nodes[j]]; f < p->predecessor_offsets[item->nodes[j] + 1]; ++f) {
          if (p->predecessors[f] == source) is_first = false;
        }
      }
      double most = 0;
      for (uint32_t from = 0; from < p->place_count && !is_first; ++from) {
        double again = byoc_cover_transition(p, source, (uint8_t)from, item->place);
        if (again > most) most = again;
      }
      cost += most;
    }
  }
  return cost < item->cost && error <= item->error;
}

byoc_status_t byoc_cover_prune(byoc_cover_problem_t *p, byoc_diag_t *diag) {
  qsort(p->items, p->item_count, sizeof(*p->items), compare_items);
  size_t cells = (size_t)p->node_count * p->place_count;
  double *single = byoc_allocate(p->allocator, 2 * cells, sizeof(*single)), *errors = single + cells;
  if (single == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < cells; ++i) single[i] = INFINITY;
  for (size_t i = 0; i < p->item_count; ++i) {
    const byoc_cover_item_t *item = &p->items[i];
    double *cell = &single[(size_t)item->nodes[0] * p->place_count + item->place];
    if (item->count != 1 || !(item->cost < *cell)) continue;
    *cell = item->cost;
    errors[cell - single] = item->error;
  }
  size_t kept = 0, group = 0; // group: the first one kept with the same nodes
  for (size_t i = 0; i < p->item_count; ++i) {
    byoc_cover_item_t item = p->items[i];
    if (kept > 0 && compare_nodes(&p->items[kept - 1], &item) != 0) group = kept;
    bool is_needed = item.count == 1 || !is_split(p, &item, single, errors);
    for (size_t g = group; g < kept && is_needed; ++g) is_needed = !is_replaced(p, &item, &p->items[g]);
    if (is_needed) p->items[kept++] = item;
  }
  p->item_count = kept;
  byoc_free(p->allocator, single);
  return BYOC_OK;
}
