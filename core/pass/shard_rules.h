// SPDX-License-Identifier: Apache-2.0
// How operators work on values that are sharded over the mesh. Internal to core/pass.
#ifndef BYOC_CORE_PASS_SHARD_RULES_H_
#define BYOC_CORE_PASS_SHARD_RULES_H_

#include "core/ir/graph.h"
#include "core/op/util.h"
#include "core/pass/spread.h"

// A node along one axis of the mesh. Types are those of whole values.
typedef struct byoc_shard_rule_t {
  const byoc_node_t *node;
  const byoc_type_t *const *types; // of the operands; NULL for those left out
  const byoc_spread_axis_t *given; // by operand: how it is spread where it was made
  int64_t size;                    // ranks along the axis
  bool seeks_weights;              // constants of products and look-ups are cut along this axis
  byoc_spread_axis_t *wanted;      // by operand: all whole at first
  byoc_spread_axis_t *made;        // by result: the same
} byoc_shard_rule_t;

// ---- questions of rules ----

static inline byoc_spread_axis_t byoc_shard_split(int32_t dim, int32_t parts) {
  return (byoc_spread_axis_t){.kind = BYOC_SPREAD_SPLIT, .dim = dim, .parts = parts};
}

static inline bool byoc_shard_is_split(const byoc_shard_rule_t *r, uint32_t i) {
  return i < r->node->operand_count && r->given[i].kind == BYOC_SPREAD_SPLIT;
}

static inline bool byoc_shard_is_ranked(const byoc_shard_rule_t *r, uint32_t i) {
  return i < r->node->operand_count && r->types[i] != NULL && byoc_is_ranked(r->types[i]);
}

static inline bool byoc_shard_divides(const byoc_shard_rule_t *r, byoc_dim_t dim, int64_t parts) {
  return byoc_dim_is_constant(dim) && dim.constant > 0 && dim.constant % (parts * r->size) == 0;
}

// ---- of shard_products.c ----

// A constant, or what is computed from constants alone: integers that are dequantised.
bool byoc_shard_is_weight(const byoc_value_t *value);

void byoc_shard_product(const byoc_shard_rule_t *r);
// MatMulNBits.
void byoc_shard_packed_product(const byoc_shard_rule_t *r);
// QuantizeLinear, DequantizeLinear.
void byoc_shard_quantise(const byoc_shard_rule_t *r);

// Chooses how the node runs on sharded operands: sets `wanted` and `made`, or leaves both, and the node runs on whole
// ones.
void byoc_shard_apply_rule(const byoc_shard_rule_t *rule);
// The operand of the node that is added to each column of its result, once; 0: none.
uint32_t byoc_shard_bias(const byoc_node_t *node);

#endif // BYOC_CORE_PASS_SHARD_RULES_H_
