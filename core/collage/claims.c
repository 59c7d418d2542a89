#include "core/collage/claims.h"

#include <stdlib.h>

#include "core/ir/outline.h"
#include "core/ir/virtual_device.h"
#include "core/target/target.h"

byoc_status_t byoc_claims_init(byoc_claims_t *claims, byoc_block_t *block, byoc_allocator_t allocator,
                               byoc_diag_t *diag) {
  *claims = (byoc_claims_t){.allocator = allocator, .block = block};
  byoc_arena_init(&claims->arena, allocator);
  BYOC_RETURN_IF_ERROR(byoc_dataflow_init(&claims->flow, block, allocator, diag));
  claims->nodes = claims->flow.nodes;
  claims->node_count = claims->flow.node_count;
  claims->owners = BYOC_ARENA_ARRAY(&claims->arena, byoc_claim_t *, block->node_count);
  return claims->owners != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

void byoc_claims_deinit(byoc_claims_t *claims) {
  for (size_t i = 0; i < claims->claims.count; ++i) {
    byoc_vector_deinit(&claims->claims.data[i]->nodes, claims->allocator);
  }
  byoc_vector_deinit(&claims->claims, claims->allocator);
  byoc_dataflow_deinit(&claims->flow);
  byoc_arena_deinit(&claims->arena);
}

byoc_claim_t *byoc_claim_representative(byoc_claim_t *claim) {
  while (claim != NULL && claim->merged_into != NULL) claim = claim->merged_into;
  return claim;
}

byoc_claim_t *byoc_claims_owner(const byoc_claims_t *claims, size_t node) {
  return byoc_claim_representative(claims->owners[node]);
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
    claims->owners[index] = claim;
    claim->size += nodes[i]->callee != NULL ? (uint32_t)nodes[i]->callee->body->node_count : 1;
  }
  *out_claim = claim;
  return BYOC_OK;
}

// ---- joining ----

// A walk over the graph in which each claim is one vertex, from the successors of one claim.
typedef struct walk_t {
  const byoc_claims_t *claims;
  bool *seen;      // by node
  uint32_t *stack; // nodes to go on from
  size_t depth;
} walk_t;

// Puts a vertex (a node, or all nodes of its claim) on the stack, once.
static void reach(walk_t *w, uint32_t node) {
  if (w->seen[node]) return;
  const byoc_claim_t *claim = byoc_claims_owner(w->claims, node);
  size_t count = claim ? claim->nodes.count : 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t member = claim ? claim->nodes.data[i] : node;
    w->seen[member] = true;
    w->stack[w->depth++] = member;
  }
}

// Visits the nodes that read a node's results.
static bool any_user(const byoc_claims_t *claims, uint32_t node, bool (*visit)(void *self, uint32_t user), void *self) {
  const byoc_dataflow_t *flow = &claims->flow;
  for (uint32_t i = flow->successor_offsets[node]; i < flow->successor_offsets[node + 1]; ++i) {
    if (visit(self, flow->successors[i])) return true;
  }
  return false;
}

typedef struct path_search_t {
  walk_t walk;
  const byoc_claim_t *from, *to;
  bool direct; // the first step: edges straight into `to` do not count
} path_search_t;

static bool step(void *self, uint32_t user) {
  path_search_t *search = self;
  const byoc_claim_t *owner = byoc_claims_owner(search->walk.claims, user);
  if (owner == search->to) return !search->direct;
  if (owner != search->from) reach(&search->walk, user);
  return false;
}

// Is there a path from `from` to `to` with something else in between?
static bool has_detour(const byoc_claims_t *claims, const byoc_claim_t *from, const byoc_claim_t *to, bool *seen,
                       uint32_t *stack) {
  path_search_t search = {.walk = {.claims = claims, .seen = seen, .stack = stack}, .from = from, .to = to};
  for (size_t i = 0; i < claims->node_count; ++i) seen[i] = false;
  search.direct = true;
  for (size_t i = 0; i < from->nodes.count; ++i) any_user(claims, from->nodes.data[i], step, &search);
  search.direct = false;
  while (search.walk.depth > 0) {
    if (any_user(claims, stack[--search.walk.depth], step, &search)) return true;
  }
  return false;
}

static int compare_index(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

byoc_status_t byoc_claims_join(byoc_claims_t *claims, byoc_claim_t *a, byoc_claim_t *b, byoc_diag_t *diag,
                               bool *out_joined) {
  *out_joined = false;
  if (a == b) return BYOC_OK;
  bool *seen = byoc_allocate(claims->allocator, claims->node_count, sizeof(bool));
  uint32_t *stack = byoc_allocate(claims->allocator, claims->node_count, sizeof(uint32_t));
  byoc_status_t status = BYOC_OK;
  if (seen == NULL || stack == NULL || !byoc_vector_reserve(&a->nodes, claims->allocator, b->nodes.count)) {
    status = byoc_diag_out_of_memory(diag);
    goto cleanup;
  }
  if (has_detour(claims, a, b, seen, stack) || has_detour(claims, b, a, seen, stack)) goto cleanup;
  for (size_t i = 0; i < b->nodes.count; ++i) a->nodes.data[a->nodes.count++] = b->nodes.data[i];
  qsort(a->nodes.data, a->nodes.count, sizeof(uint32_t), compare_index);
  a->part_count += b->part_count;
  a->size += b->size;
  a->limit = byoc_least_limit(a->limit, b->limit);
  b->merged_into = a;
  *out_joined = true;
cleanup:
  byoc_free(claims->allocator, seen);
  byoc_free(claims->allocator, stack);
  return status;
}

// ---- joining neighbours ----

// All nodes of a claim live in one place.
static bool may_join(const byoc_claims_t *claims, const byoc_claim_t *a, const byoc_claim_t *b) {
  if (a == NULL || b == NULL || a == b || a->target != b->target) return false;
  if (!byoc_nodes_share_place(claims->nodes[a->nodes.data[0]], claims->nodes[b->nodes.data[0]])) return false;
  bool groups = a->rule->pattern == NULL && a->rule == b->rule;
  bool merging = (a->rule->flags & BYOC_RULE_MERGE) && (b->rule->flags & BYOC_RULE_MERGE);
  if (!groups && !merging) return false;
  uint32_t limit = byoc_least_limit(a->limit, b->limit);
  return limit == 0 || a->size + b->size <= limit;
}

byoc_status_t byoc_claims_join_neighbours(byoc_claims_t *claims, byoc_diag_t *diag) {
  for (size_t n = 0; n < claims->node_count; ++n) {
    const byoc_node_t *node = claims->nodes[n];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      byoc_node_t *producer = byoc_value_producer(node->operands[k]);
      if (producer == NULL || producer->block != claims->block) continue;
      byoc_claim_t *a = byoc_claims_owner(claims, byoc_numbering_get(&claims->flow.numbers, producer)),
                   *b = byoc_claims_owner(claims, n);
      bool joined = false;
      if (may_join(claims, a, b)) BYOC_RETURN_IF_ERROR(byoc_claims_join(claims, a, b, diag, &joined));
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
  bool *taken = byoc_allocate(claims->allocator, count, sizeof(*taken));
  bool ok = parts != NULL && nodes != NULL && taken != NULL;
  uint32_t part_count = 0;
  for (size_t first = 0; first < count && ok; ++first) {
    if (taken[first]) continue;
    const byoc_claim_t *claim = claims->owners[region->nodes.data[first]]; // as it was before joining
    size_t size = 0;
    for (size_t i = first; i < count; ++i) {
      if (claims->owners[region->nodes.data[i]] != claim) continue;
      taken[i] = true;
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
  byoc_free(claims->allocator, taken);
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
