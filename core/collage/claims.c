// SPDX-License-Identifier: Apache-2.0
// Keeps which region each node belongs to, and decides whether regions may be joined.
#include "core/collage/claims.h"

#include "core/ir/outline.h"
#include "core/ir/virtual_device.h"
#include "core/targets/target.h"

byoc_status_t byoc_claims_init(byoc_claims_t *claims, byoc_block_t *block, byoc_allocator_t allocator,
                               byoc_diag_t *diag) {
  *claims = (byoc_claims_t){.allocator = allocator, .block = block};
  byoc_arena_init(&claims->arena, allocator);
  BYOC_RETURN_IF_ERROR(byoc_dataflow_init(&claims->flow, block, allocator, diag));
  claims->nodes = claims->flow.nodes;
  claims->node_count = claims->flow.node_count;
  const size_t count = claims->node_count;
  claims->owners = BYOC_ARENA_ARRAY(&claims->arena, byoc_claim_t *, count);
  claims->seen = BYOC_ARENA_ARRAY(&claims->arena, uint32_t, count);
  claims->stack = BYOC_ARENA_ARRAY(&claims->arena, uint32_t, count);
  claims->run_links = BYOC_ARENA_ARRAY(&claims->arena, uint32_t, count);
  claims->run_ends = BYOC_ARENA_ARRAY(&claims->arena, uint32_t, count);
  if (!claims->owners || !claims->seen || !claims->stack || !claims->run_links || !claims->run_ends) {
    return byoc_diag_out_of_memory(diag);
  }
  for (uint32_t n = 0; n < count; ++n) claims->run_links[n] = claims->run_ends[n] = n;
  return BYOC_OK;
}

static void forget_claims(byoc_claims_t *claims) {
  for (size_t i = 0; i < claims->claims.count; ++i) {
    byoc_vector_deinit(&claims->claims.data[i]->nodes, claims->allocator);
  }
  claims->claims.count = 0;
}

void byoc_claims_release(byoc_claims_t *claims, const byoc_index_set_t *within) {
  forget_claims(claims);
  for (uint32_t i = 0; i < within->count; ++i) claims->owners[within->items[i]] = NULL;
  if (within->count == 0) return;
  for (uint32_t n = within->items[0]; n <= within->items[within->count - 1]; ++n) {
    claims->run_links[n] = claims->run_ends[n] = n;
  }
}

void byoc_claims_deinit(byoc_claims_t *claims) {
  forget_claims(claims);
  byoc_vector_deinit(&claims->claims, claims->allocator);
  byoc_dataflow_deinit(&claims->flow);
  byoc_arena_deinit(&claims->arena);
}

// The claim that a joined one ended up in; itself if it was not joined.
static byoc_claim_t *representative(byoc_claim_t *claim) {
  while (claim != NULL && claim->merged_into != NULL) claim = claim->merged_into;
  return claim;
}

byoc_claim_t *byoc_claims_owner(const byoc_claims_t *claims, size_t node) {
  return representative(claims->owners[node]);
}

// ---- runs ----

// Nodes are cut into runs so that no claim reaches across the border of two. A path leads to higher numbers, and from a
// node of a claim to any other node of it: it never leads from one run to an earlier one.

// The first node of a node's run.
static uint32_t run_of(const byoc_claims_t *claims, uint32_t node) {
  uint32_t *links = claims->run_links;
  while (links[node] != node) node = links[node] = links[links[node]];
  return node;
}

// The last node of a node's run.
static uint32_t run_end(const byoc_claims_t *claims, uint32_t node) {
  return claims->run_ends[run_of(claims, node)];
}

// Makes one run of all that lie between two nodes.
static void join_runs(const byoc_claims_t *claims, uint32_t first, uint32_t last) {
  const uint32_t run = run_of(claims, first);
  while (claims->run_ends[run] < last) {
    const uint32_t next = run_of(claims, claims->run_ends[run] + 1);
    claims->run_links[next] = run;
    claims->run_ends[run] = claims->run_ends[next];
  }
}

static uint32_t first_of(const byoc_claim_t *claim) {
  return claim->nodes.data[0];
}

static uint32_t last_of(const byoc_claim_t *claim) {
  return claim->nodes.data[claim->nodes.count - 1];
}

byoc_status_t byoc_claims_add(byoc_claims_t *claims, const byoc_target_t *target, const byoc_rule_t *rule,
                              byoc_node_t *const *nodes, size_t node_count, byoc_diag_t *diag,
                              byoc_claim_t **out_claim) {
  *out_claim = NULL;
  byoc_claim_t *claim = BYOC_ARENA_NEW(&claims->arena, byoc_claim_t);
  if (claim == NULL || !byoc_vector_push(&claims->claims, claims->allocator, claim)) {
    return byoc_diag_out_of_memory(diag);
  }
  claim->target = target;
  claim->rule = rule;
  claim->part_count = 1;
  claim->limit = rule->max_nodes;
  for (size_t i = 0; i < node_count; ++i) {
    uint32_t index = byoc_numbering_get(&claims->flow.numbers, nodes[i]);
    if (!byoc_vector_push(&claim->nodes, claims->allocator, index)) return byoc_diag_out_of_memory(diag);
    size_t at = claim->nodes.count - 1;
    for (; at > 0 && claim->nodes.data[at - 1] > index; --at) claim->nodes.data[at] = claim->nodes.data[at - 1];
    claim->nodes.data[at] = index;
    claims->owners[index] = claim;
    claim->size += nodes[i]->callee != NULL ? (uint32_t)nodes[i]->callee->body->node_count : 1;
  }
  join_runs(claims, first_of(claim), last_of(claim));
  *out_claim = claim;
  return BYOC_OK;
}

// ---- joining ----

// A walk over the graph in which each claim is one vertex, from one claim towards another: along the edges, or against
// them.
typedef struct walk_t {
  byoc_claims_t *claims;
  const byoc_claim_t *from, *to;
  bool is_backward;
  bool direct;  // the first step: edges straight into `to` do not count
  size_t depth; // of the claims' stack: nodes to go on from
} walk_t;

// Puts a vertex (a node, or all nodes of its claim) on the stack, once.
static void reach(walk_t *w, uint32_t node) {
  byoc_claims_t *claims = w->claims;
  if (claims->seen[node] == claims->stamp) return;
  const byoc_claim_t *claim = byoc_claims_owner(claims, node);
  size_t count = claim ? claim->nodes.count : 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t member = claim ? claim->nodes.data[i] : node;
    claims->seen[member] = claims->stamp;
    claims->stack[w->depth++] = member;
  }
}

// Goes on to the neighbours of a node; true if the other claim is found.
static bool step(walk_t *w, uint32_t node) {
  const byoc_dataflow_t *flow = &w->claims->flow;
  const uint32_t *offsets = w->is_backward ? flow->predecessor_offsets : flow->successor_offsets;
  const uint32_t *neighbours = w->is_backward ? flow->predecessors : flow->successors;
  for (uint32_t i = offsets[node]; i < offsets[node + 1]; ++i) {
    const uint32_t next = neighbours[i];
    const byoc_claim_t *owner = byoc_claims_owner(w->claims, next);
    if (owner == w->to && !w->direct) return true;
    if (owner == w->to || owner == w->from) continue;
    const bool leads_past =
        w->is_backward ? run_end(w->claims, next) < first_of(w->to) : run_of(w->claims, next) > last_of(w->to);
    if (!leads_past) reach(w, next);
  }
  return false;
}

// Is there a path from `from` to `to` through other nodes? The walk begins at the smaller one.
static bool has_detour(byoc_claims_t *claims, const byoc_claim_t *from, const byoc_claim_t *to) {
  const bool is_backward = to->nodes.count < from->nodes.count;
  walk_t walk = {.claims = claims,
                 .from = is_backward ? to : from,
                 .to = is_backward ? from : to,
                 .is_backward = is_backward,
                 .direct = true};
  ++claims->stamp;
  for (size_t i = 0; i < walk.from->nodes.count; ++i) step(&walk, walk.from->nodes.data[i]);
  walk.direct = false;
  while (walk.depth > 0) {
    if (step(&walk, claims->stack[--walk.depth])) return true;
  }
  return false;
}

byoc_status_t byoc_claims_try(byoc_claims_t *claims, const byoc_target_t *target, const byoc_rule_t *rule,
                              byoc_node_t *const *nodes, size_t node_count, byoc_diag_t *diag,
                              byoc_claim_t **out_claim) {
  BYOC_RETURN_IF_ERROR(byoc_claims_add(claims, target, rule, nodes, node_count, diag, out_claim));
  byoc_claim_t *claim = *out_claim;
  if (!has_detour(claims, claim, claim)) return BYOC_OK;
  for (size_t i = 0; i < claim->nodes.count; ++i) claims->owners[claim->nodes.data[i]] = NULL;
  byoc_vector_deinit(&claim->nodes, claims->allocator);
  claims->claims.count -= 1; // it is the last
  *out_claim = NULL;
  return BYOC_OK;
}

// Adds the nodes of `b` to those of `a`, in order; there is room.
static void merge_nodes(byoc_claim_t *a, const byoc_claim_t *b) {
  size_t left = a->nodes.count, right = b->nodes.count, to = left + right;
  uint32_t *nodes = a->nodes.data;
  a->nodes.count = to;
  while (right > 0) { // from the end, so that nothing moves where `b` lies behind `a`
    const bool from_a = left > 0 && nodes[left - 1] > b->nodes.data[right - 1];
    nodes[--to] = from_a ? nodes[--left] : b->nodes.data[--right];
  }
}

// Joins two claims if no path leaves the union and comes back, with every other claim counted as one node (so that the
// regions as a whole stay free of cycles). *out_joined says whether they were joined.
static byoc_status_t join(byoc_claims_t *claims, byoc_claim_t *a, byoc_claim_t *b, byoc_diag_t *diag,
                          bool *out_joined) {
  *out_joined = false;
  if (a == b) return BYOC_OK;
  if (!byoc_vector_reserve(&a->nodes, claims->allocator, b->nodes.count)) {
    return byoc_diag_out_of_memory(diag);
  }
  if (has_detour(claims, a, b) || has_detour(claims, b, a)) return BYOC_OK;
  merge_nodes(a, b);
  join_runs(claims, first_of(a), last_of(a));
  a->part_count += b->part_count;
  a->size += b->size;
  a->limit = byoc_least_limit(a->limit, b->limit);
  b->merged_into = a;
  *out_joined = true;
  return BYOC_OK;
}

// ---- joining neighbours ----

// All nodes of a claim are on one device.
static bool may_join(const byoc_claims_t *claims, const byoc_claim_t *a, const byoc_claim_t *b) {
  if (a == NULL || b == NULL || a == b || a->target != b->target) return false;
  if (!byoc_nodes_share_device(claims->nodes[a->nodes.data[0]], claims->nodes[b->nodes.data[0]])) return false;
  bool groups = a->rule->pattern == NULL && a->rule == b->rule;
  bool merging = (a->rule->flags & BYOC_RULE_MERGE) && (b->rule->flags & BYOC_RULE_MERGE);
  if (!groups && !merging) return false;
  uint32_t limit = byoc_least_limit(a->limit, b->limit);
  return limit == 0 || a->size + b->size <= limit;
}

byoc_status_t byoc_claims_join_neighbours(byoc_claims_t *claims, const byoc_index_set_t *within, byoc_diag_t *diag) {
  const size_t count = within != NULL ? within->count : claims->node_count;
  for (size_t i = 0; i < count; ++i) {
    const size_t n = within != NULL ? within->items[i] : i;
    const byoc_node_t *node = claims->nodes[n];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      byoc_node_t *producer = byoc_value_producer(node->operands[k]);
      if (producer == NULL || producer->block != claims->block) continue;
      byoc_claim_t *a = byoc_claims_owner(claims, byoc_numbering_get(&claims->flow.numbers, producer)),
                   *b = byoc_claims_owner(claims, n);
      bool joined = false;
      if (may_join(claims, a, b)) BYOC_RETURN_IF_ERROR(join(claims, a, b, diag, &joined));
    }
  }
  return BYOC_OK;
}

// ---- as candidates ----

static byoc_candidate_t describe(const byoc_claim_t *claim) {
  return (byoc_candidate_t){.target = claim->target->index,
                            .place = claim->target->index,
                            .rule = claim->rule->name ? claim->rule->name : "",
                            .composite = claim->rule->pattern ? claim->rule->name : NULL,
                            .definition = claim->rule,
                            .match_number = claim->match_number,
                            .cost_ns = NAN};
}

// The claims that a region was joined from: `owners` still tells with which claim each node was made.
static byoc_status_t collect_parts(const byoc_claims_t *claims, const byoc_claim_t *region, byoc_arena_t *arena,
                                   byoc_diag_t *diag, byoc_candidate_t *candidate) {
  size_t count = region->nodes.count;
  const byoc_candidate_t **parts = BYOC_ARENA_ARRAY(arena, const byoc_candidate_t *, region->part_count);
  uint32_t *nodes = byoc_allocate(claims->allocator, count, sizeof(*nodes));
  bool *claimed = byoc_allocate(claims->allocator, count, sizeof(*claimed));
  bool ok = parts != NULL && nodes != NULL && claimed != NULL;
  uint32_t part_count = 0;
  for (size_t first = 0; first < count && ok; ++first) {
    if (claimed[first]) continue;
    const byoc_claim_t *claim = claims->owners[region->nodes.data[first]]; // as it was before joining
    size_t size = 0;
    for (size_t i = first; i < count; ++i) {
      if (claims->owners[region->nodes.data[i]] != claim) continue;
      claimed[i] = true;
      nodes[size++] = region->nodes.data[i];
    }
    byoc_candidate_t part = describe(claim);
    ok = byoc_index_set_make(arena, nodes, size, &part.nodes);
    if (ok) parts[part_count] = byoc_arena_copy(arena, &part, sizeof(part));
    ok = ok && parts[part_count++] != NULL;
  }
  candidate->parts = parts;
  candidate->part_count = part_count;
  byoc_free(claims->allocator, nodes);
  byoc_free(claims->allocator, claimed);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static bool has_match(const byoc_claims_t *claims, const byoc_claim_t *region) {
  for (size_t i = 0; i < region->nodes.count; ++i) {
    if (claims->owners[region->nodes.data[i]]->rule->pattern != NULL) return true;
  }
  return false;
}

byoc_status_t byoc_claims_candidate(const byoc_claims_t *claims, const byoc_claim_t *region, byoc_arena_t *arena,
                                    byoc_diag_t *diag, byoc_candidate_t *out_candidate) {
  *out_candidate = describe(region);
  out_candidate->is_primitive = true;
  if (!byoc_index_set_make(arena, region->nodes.data, region->nodes.count, &out_candidate->nodes)) {
    return byoc_diag_out_of_memory(diag);
  }
  if (region->part_count == 1 || !has_match(claims, region)) return BYOC_OK;
  out_candidate->composite = NULL;
  out_candidate->match_number = 0;
  return collect_parts(claims, region, arena, diag, out_candidate);
}
