// SPDX-License-Identifier: Apache-2.0
// Chooses the order in which the cover search takes the nodes. Any topological order gives the same least cost; the
// fewer values are read across it, the fewer states there are.
#include <stdlib.h>
#include <string.h>

#include "core/collage/cover_problem.h"

// A node that could come next. Higher scores first; among equals the one made ready last, which goes deep before broad.
typedef struct ready_t {
  int32_t score; // values whose last reader it is, less the one that begins
  uint32_t serial, node;
} ready_t;

typedef struct ready_heap_t {
  BYOC_VECTOR(ready_t) entries;
  byoc_allocator_t allocator;
} ready_heap_t;

static bool is_before(const ready_t *a, const ready_t *b) {
  return a->score != b->score ? a->score > b->score : a->serial > b->serial;
}

static bool heap_push(ready_heap_t *heap, ready_t entry) {
  if (!byoc_vector_push(&heap->entries, heap->allocator, entry)) return false;
  size_t i = heap->entries.count - 1;
  ready_t *data = heap->entries.data;
  for (; i > 0 && is_before(&entry, &data[(i - 1) / 2]); i = (i - 1) / 2) data[i] = data[(i - 1) / 2];
  data[i] = entry;
  return true;
}

static ready_t heap_pop(ready_heap_t *heap) {
  ready_t *data = heap->entries.data, top = data[0], last = data[--heap->entries.count];
  size_t count = heap->entries.count, i = 0;
  for (size_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && is_before(&data[child + 1], &data[child])) ++child;
    if (!is_before(&data[child], &last)) break;
    data[i] = data[child];
  }
  if (count > 0) data[i] = last;
  return top;
}

static int32_t score_of(const byoc_dataflow_t *flow, const uint32_t *unread, uint32_t node) {
  int32_t score = flow->successor_offsets[node] < flow->successor_offsets[node + 1] ? -1 : 0;
  for (uint32_t e = flow->predecessor_offsets[node]; e < flow->predecessor_offsets[node + 1]; ++e) {
    if (unread[flow->predecessors[e]] == 1) ++score;
  }
  return score;
}

// Takes, among the nodes that are ready, one that leaves the fewest values waiting.
static bool narrow_order(const byoc_dataflow_t *flow, byoc_allocator_t allocator, uint32_t *out_order) {
  uint32_t n = flow->node_count, count = 0, serial = 0;
  uint32_t *missing = byoc_allocate(allocator, n, sizeof(*missing)); // predecessors not taken yet
  uint32_t *unread = byoc_allocate(allocator, n, sizeof(*unread));   // successors not taken yet
  bool *claimed = byoc_allocate(allocator, n, sizeof(*claimed));
  ready_heap_t heap = {.allocator = allocator};
  bool ok = missing != NULL && unread != NULL && claimed != NULL;
  for (uint32_t i = n; ok && i-- > 0;) { // the first of several equals comes out first
    missing[i] = flow->predecessor_offsets[i + 1] - flow->predecessor_offsets[i];
    unread[i] = flow->successor_offsets[i + 1] - flow->successor_offsets[i];
    if (missing[i] == 0) ok = heap_push(&heap, (ready_t){score_of(flow, unread, i), serial++, i});
  }
  while (ok && heap.entries.count > 0) {
    ready_t next = heap_pop(&heap);
    if (claimed[next.node]) continue;
    // Scores only rise, and a node whose score rose was pushed again with the new one, so a stale entry comes out
    // later.
    claimed[next.node] = true;
    out_order[count++] = next.node;
    for (uint32_t e = flow->successor_offsets[next.node + 1]; ok && e-- > flow->successor_offsets[next.node];) {
      uint32_t user = flow->successors[e];
      if (--missing[user] == 0) ok = heap_push(&heap, (ready_t){score_of(flow, unread, user), serial++, user});
    }
    for (uint32_t e = flow->predecessor_offsets[next.node]; ok && e < flow->predecessor_offsets[next.node + 1]; ++e) {
      uint32_t source = flow->predecessors[e];
      if (--unread[source] != 1) continue;
      // The last reader of `source` has just become a better choice.
      for (uint32_t u = flow->successor_offsets[source]; ok && u < flow->successor_offsets[source + 1]; ++u) {
        uint32_t user = flow->successors[u];
        if (claimed[user] || missing[user] > 0) continue;
        ok = heap_push(&heap, (ready_t){score_of(flow, unread, user), serial++, user});
      }
    }
  }
  byoc_free(allocator, missing);
  byoc_free(allocator, unread);
  byoc_free(allocator, claimed);
  byoc_vector_deinit(&heap.entries, allocator);
  return ok;
}

// The width of an order, summed over all positions: values from their producer to their last reader, and candidates
// from their first node to their last.
static uint64_t width_of(const byoc_cover_problem_t *p, const uint32_t *position) {
  const byoc_dataflow_t *flow = p->flow;
  uint64_t width = 0;
  for (uint32_t node = 0; node < p->node_count; ++node) {
    uint32_t last = position[node];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      if (position[flow->successors[e]] > last) last = position[flow->successors[e]];
    }
    width += last - position[node];
  }
  for (size_t i = 0; i < p->item_count; ++i) {
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t k = 0; k < p->items[i].count; ++k) {
      uint32_t at = position[p->items[i].nodes[k]];
      if (at < first) first = at;
      if (at > last) last = at;
    }
    width += last - first - (p->items[i].count - 1);
  }
  return width;
}

static int compare_index(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

static void sort_indices(uint32_t *items, uint32_t count) {
  if (count > 32) {
    qsort(items, count, sizeof(*items), compare_index);
    return;
  }
  for (uint32_t i = 1; i < count; ++i) {
    uint32_t item = items[i], at = i;
    for (; at > 0 && items[at - 1] > item; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// The lists of one side by position. Filling them from the other end leaves them sorted.
static bool renumber(byoc_cover_problem_t *p) {
  const byoc_dataflow_t *flow = p->flow;
  uint32_t n = p->node_count, edge_count = flow->predecessor_offsets[n];
  p->predecessor_offsets = BYOC_ARENA_ARRAY(&p->arena, uint32_t, (size_t)n + 1);
  p->successor_offsets = BYOC_ARENA_ARRAY(&p->arena, uint32_t, (size_t)n + 1);
  p->predecessors = BYOC_ARENA_ARRAY(&p->arena, uint32_t, edge_count);
  p->successors = BYOC_ARENA_ARRAY(&p->arena, uint32_t, edge_count);
  uint32_t *fill = BYOC_ARENA_ARRAY(&p->arena, uint32_t, n);
  if (!p->predecessor_offsets || !p->successor_offsets || !p->predecessors || !p->successors || !fill) return false;
  for (uint32_t at = 0; at < n; ++at) {
    uint32_t node = p->order[at];
    p->predecessor_offsets[at + 1] =
        p->predecessor_offsets[at] + flow->predecessor_offsets[node + 1] - flow->predecessor_offsets[node];
    p->successor_offsets[at + 1] =
        p->successor_offsets[at] + flow->successor_offsets[node + 1] - flow->successor_offsets[node];
  }
  for (uint32_t at = 0; at < n; ++at) { // from low to high: successors' lists get their predecessors in order
    uint32_t node = p->order[at];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      uint32_t user = p->position[flow->successors[e]];
      p->predecessors[p->predecessor_offsets[user] + fill[user]++] = at;
    }
  }
  memset(fill, 0, n * sizeof(*fill));
  for (uint32_t at = 0; at < n; ++at) {
    for (uint32_t e = p->predecessor_offsets[at]; e < p->predecessor_offsets[at + 1]; ++e) {
      uint32_t source = p->predecessors[e];
      p->successors[p->successor_offsets[source] + fill[source]++] = at;
    }
  }
  return true;
}

byoc_status_t byoc_cover_order(byoc_cover_problem_t *p, byoc_diag_t *diag) {
  uint32_t n = p->node_count;
  p->order = BYOC_ARENA_ARRAY(&p->arena, uint32_t, n);
  p->position = BYOC_ARENA_ARRAY(&p->arena, uint32_t, n);
  uint32_t *given = BYOC_ARENA_ARRAY(&p->arena, uint32_t, n);
  if (!p->order || !p->position || !given || !narrow_order(p->flow, p->allocator, p->order)) {
    return byoc_diag_out_of_memory(diag);
  }
  for (uint32_t at = 0; at < n; ++at) {
    p->position[p->order[at]] = at;
    given[at] = at;
  }
  if (width_of(p, given) <= width_of(p, p->position)) p->order = p->position = given;
  if (!renumber(p)) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < p->item_count; ++i) {
    uint32_t *nodes = BYOC_ARENA_ARRAY(&p->arena, uint32_t, p->items[i].count);
    if (nodes == NULL) return byoc_diag_out_of_memory(diag);
    for (uint32_t k = 0; k < p->items[i].count; ++k) nodes[k] = p->position[p->items[i].nodes[k]];
    sort_indices(nodes, p->items[i].count);
    p->items[i].nodes = nodes;
  }
  return BYOC_OK;
}
