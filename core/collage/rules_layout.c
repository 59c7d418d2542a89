// SPDX-License-Identifier: Apache-2.0
// Makes candidates of layout changes for the native target: a pair that no target claims costs nothing, and operators
// between two changes are computed in blocks (the pass settle-layouts does both).
#include "core/collage/rules_internal.h"
#include "core/ops/byoc/blocked.h"
#include "core/pass/layouts.h"

// Up to this many readers of one ToBlocked, each selection of them is a candidate; beyond that only each by itself and
// all.
enum { MAX_READERS = 3, MAX_NODES = 64 };

typedef struct layouts_t {
  byoc_ruling_t *ruling;
  const byoc_partition_rule_t *rule;
  byoc_candidates_t *out;
} layouts_t;

static byoc_status_t propose(layouts_t *l, byoc_node_t *const *nodes, size_t count) {
  byoc_candidate_t candidate = {.rule = l->rule->name}, *made = NULL;
  BYOC_RETURN_IF_ERROR(byoc_ruling_set(l->ruling, nodes, count, &candidate.nodes));
  return byoc_ruling_propose(l->ruling, candidate, l->out, &made);
}

// ---- pairs ----

// A ToBlocked with the FromBlocked nodes that read it; readers of the chosen ones read the plain tensor instead.
static byoc_status_t propose_pairs(layouts_t *l, byoc_node_t *to) {
  byoc_node_t *nodes[1 + MAX_NODES] = {to};
  byoc_node_t *readers[MAX_NODES];
  size_t count = 0;
  const byoc_value_t *value = to->results[0];
  for (size_t u = 0; u < value->uses.count; ++u) {
    byoc_node_t *reader = value->uses.data[u].node;
    if (byoc_is_from_blocked(reader) && reader->block == to->block && count < MAX_NODES) readers[count++] = reader;
  }
  if (count == 0) return BYOC_OK;
  if (count > MAX_READERS) {
    for (size_t i = 0; i < count; ++i) {
      nodes[1] = readers[i];
      BYOC_RETURN_IF_ERROR(propose(l, nodes, 2));
    }
    for (size_t i = 0; i < count; ++i) nodes[1 + i] = readers[i];
    return propose(l, nodes, 1 + count);
  }
  for (uint32_t selection = 1; selection < 1u << count; ++selection) {
    size_t chosen = 1;
    for (size_t i = 0; i < count; ++i) {
      if ((selection >> i) & 1) nodes[chosen++] = readers[i];
    }
    BYOC_RETURN_IF_ERROR(propose(l, nodes, chosen));
  }
  return BYOC_OK;
}

// ---- operators in blocks ----

typedef struct core_t {
  byoc_node_t *nodes[MAX_NODES];
  size_t count;
  bool failed; // it has an operand that is not available in blocks
} core_t;

// The node and the FromBlocked nodes in front of it; `inside` is the operand that comes from the core itself.
static void add_node(core_t *core, byoc_node_t *node, const byoc_value_t *inside) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    byoc_node_t *from = byoc_value_producer(operand);
    if (operand == NULL || operand == inside || byoc_value_is_constant(operand)) continue;
    core->failed = core->failed || core->count + 2 >= MAX_NODES || !byoc_is_from_blocked(from) ||
                   from->block != node->block || operand->uses.count != 1;
    if (core->failed) return;
    core->nodes[core->count++] = from;
  }
  core->nodes[core->count++] = node;
}

// An operator between layout changes, then as long as possible the elementwise ones that are its only readers, and the
// ToBlocked behind them.
static byoc_status_t propose_core(layouts_t *l, byoc_node_t *first) {
  core_t core = {.count = 0};
  add_node(&core, first, NULL);
  for (const byoc_value_t *value = first->results[0]; !core.failed; value = core.nodes[core.count - 1]->results[0]) {
    byoc_node_t *reader = value->uses.count == 1 ? value->uses.data[0].node : NULL;
    BYOC_RETURN_IF_ERROR(propose(l, core.nodes, core.count)); // blocks in, plain out
    if (reader == NULL || reader->block != first->block) break;
    if (byoc_is_to_blocked(reader) && core.count < MAX_NODES) {
      core.nodes[core.count++] = reader;
      return propose(l, core.nodes, core.count);
    }
    if (!byoc_is_channelwise(reader)) break;
    add_node(&core, reader, value);
  }
  return BYOC_OK;
}

byoc_status_t byoc_ruling_layout(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  layouts_t l = {.ruling = r, .rule = rule, .out = out};
  for (uint32_t n = 0; n < r->flow->node_count; ++n) {
    byoc_node_t *node = r->flow->nodes[n];
    if (byoc_is_to_blocked(node)) BYOC_RETURN_IF_ERROR(propose_pairs(&l, node));
    bool is_core = byoc_is_channelwise(node) || byoc_is_channel_pool(node) || byoc_is_channel_concat(node);
    bool reads_blocks = false;
    for (uint32_t i = 0; is_core && i < node->operand_count; ++i) {
      reads_blocks = reads_blocks || byoc_is_from_blocked(byoc_value_producer(node->operands[i]));
    }
    if (reads_blocks) BYOC_RETURN_IF_ERROR(propose_core(&l, node));
  }
  return BYOC_OK;
}
