// SPDX-License-Identifier: Apache-2.0
// How operators work on values that are sharded over the mesh. Internal to core/pass.
#ifndef BYOC_CORE_PASS_SHARD_RULES_H_
#define BYOC_CORE_PASS_SHARD_RULES_H_

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

// Chooses how the node runs on sharded operands: sets `wanted` and `made`, or leaves both, and the node runs on whole
// ones.
void byoc_shard_apply_rule(const byoc_shard_rule_t *rule);

#endif // BYOC_CORE_PASS_SHARD_RULES_H_
