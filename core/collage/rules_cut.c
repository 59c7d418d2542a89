// SPDX-License-Identifier: Apache-2.0
// Cuts a whole greedy region into halves, their halves and so on, down to the size that is enumerated. In the order of
// the graph no path leaves a stretch of a region and comes back; if a stretch is not connected, its connected parts are
// proposed.
#include "core/collage/rules_internal.h"

typedef struct cutter_t {
  byoc_ruling_t *ruling;
  const byoc_candidate_t *region;
  uint32_t max_nodes;
  byoc_candidates_t *out;
  uint32_t *nodes, *colours; // by position in a stretch: the connected part that it is in, from 1
  uint32_t *stack;
} cutter_t;

// Gives a position and all nodes connected with it one colour.
static void colour(const cutter_t *c, const byoc_index_set_t *stretch, uint32_t from, uint32_t with) {
  const byoc_dataflow_t *flow = c->ruling->flow;
  uint32_t depth = 0;
  c->stack[depth++] = from;
  c->colours[from] = with;
  while (depth > 0) {
    uint32_t node = stretch->items[c->stack[--depth]];
    for (int side = 0; side < 2; ++side) {
      const uint32_t *offsets = side == 0 ? flow->successor_offsets : flow->predecessor_offsets;
      const uint32_t *neighbours = side == 0 ? flow->successors : flow->predecessors;
      for (uint32_t e = offsets[node]; e < offsets[node + 1]; ++e) {
        uint32_t next = byoc_index_set_position(stretch, neighbours[e]);
        if (next == UINT32_MAX || c->colours[next] != 0) continue;
        c->colours[next] = with;
        c->stack[depth++] = next;
      }
    }
  }
}

// The matches of the region that lie in these nodes; in a connected part a match is always whole.
static byoc_status_t pick_parts(const cutter_t *c, byoc_candidate_t *candidate) {
  const byoc_candidate_t *region = c->region;
  if (region->part_count == 0) return BYOC_OK;
  const byoc_candidate_t **parts =
      BYOC_ARENA_ARRAY(&c->ruling->list->arena, const byoc_candidate_t *, region->part_count);
  if (parts == NULL) return byoc_diag_out_of_memory(c->ruling->diag);
  for (uint32_t p = 0; p < region->part_count; ++p) {
    if (byoc_index_set_contains(&candidate->nodes, region->parts[p]->nodes.items[0])) {
      parts[candidate->part_count++] = region->parts[p];
    }
  }
  candidate->parts = parts;
  candidate->rule = parts[0]->rule;
  candidate->definition = parts[0]->definition;
  return BYOC_OK;
}

static byoc_status_t propose(const cutter_t *c, const uint32_t *nodes, uint32_t count) {
  byoc_ruling_t *r = c->ruling;
  byoc_candidate_t *made = NULL;
  byoc_candidate_t candidate = {
      .rule = c->region->rule, .definition = c->region->definition, .is_primitive = c->region->is_primitive};
  if (!byoc_index_set_make(&r->list->arena, nodes, count, &candidate.nodes)) return byoc_diag_out_of_memory(r->diag);
  // Matches are not stretches: a path may leave their union and come back.
  if (!byoc_subgraph_is_convex(&r->space, &candidate.nodes)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(pick_parts(c, &candidate));
  return candidate.part_count == 1 ? BYOC_OK : byoc_ruling_propose(r, candidate, c->out, &made);
}

// Proposes the connected parts of a stretch that are larger than the enumerated ones.
static byoc_status_t propose_stretch(const cutter_t *c, const byoc_index_set_t *stretch) {
  uint32_t colours = 0;
  for (uint32_t i = 0; i < stretch->count; ++i) c->colours[i] = 0;
  for (uint32_t i = 0; i < stretch->count; ++i) {
    if (c->colours[i] == 0) colour(c, stretch, i, ++colours);
  }
  for (uint32_t with = 1; with <= colours; ++with) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < stretch->count; ++i) {
      if (c->colours[i] == with) c->nodes[count++] = stretch->items[i];
    }
    if (count > c->max_nodes) BYOC_RETURN_IF_ERROR(propose(c, c->nodes, count));
  }
  return BYOC_OK;
}

// The nodes of the units from `begin` up to `end`. Units are matches if the region was joined from matches, otherwise
// nodes.
static byoc_status_t list_stretch(const cutter_t *c, uint32_t begin, uint32_t end, byoc_index_set_t *out_stretch) {
  const byoc_candidate_t *region = c->region;
  if (region->part_count == 0) {
    *out_stretch = (byoc_index_set_t){.items = region->nodes.items + begin, .count = end - begin};
    return BYOC_OK;
  }
  uint32_t count = 0;
  for (uint32_t p = begin; p < end; ++p) {
    const byoc_index_set_t *part = &region->parts[p]->nodes;
    for (uint32_t i = 0; i < part->count; ++i) c->nodes[count++] = part->items[i];
  }
  bool ok = byoc_index_set_make(&c->ruling->list->arena, c->nodes, count, out_stretch);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(c->ruling->diag);
}

static byoc_status_t cut(const cutter_t *c, uint32_t begin, uint32_t end) {
  byoc_index_set_t stretch;
  BYOC_RETURN_IF_ERROR(list_stretch(c, begin, end, &stretch));
  if (stretch.count <= c->max_nodes) return BYOC_OK;
  if (stretch.count < c->region->nodes.count) BYOC_RETURN_IF_ERROR(propose_stretch(c, &stretch));
  if (end - begin < 2) return BYOC_OK;
  uint32_t middle = begin + (end - begin) / 2;
  BYOC_RETURN_IF_ERROR(cut(c, begin, middle));
  return cut(c, middle, end);
}

byoc_status_t byoc_ruling_cut(byoc_ruling_t *r, const byoc_candidate_t *region, uint32_t max_nodes,
                              byoc_candidates_t *out) {
  const uint32_t count = region->nodes.count;
  if (count <= max_nodes) return BYOC_OK;
  cutter_t c = {.ruling = r, .region = region, .max_nodes = max_nodes, .out = out};
  c.nodes = byoc_allocate(r->allocator, count, sizeof(uint32_t));
  c.colours = byoc_allocate(r->allocator, count, sizeof(uint32_t));
  c.stack = byoc_allocate(r->allocator, count, sizeof(uint32_t));
  byoc_status_t status = c.nodes && c.colours && c.stack ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
  if (status == BYOC_OK) status = cut(&c, 0, region->part_count > 0 ? region->part_count : count);
  byoc_free(r->allocator, c.stack);
  byoc_free(r->allocator, c.colours);
  byoc_free(r->allocator, c.nodes);
  return status;
}
