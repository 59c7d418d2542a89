// SPDX-License-Identifier: Apache-2.0
// Asks a backend which sub-graphs of a block it claims: the hook partition, in a child process.
#ifndef BYOC_CORE_PLUGIN_PARTITION_HOOK_H_
#define BYOC_CORE_PLUGIN_PARTITION_HOOK_H_

#include "core/base/arena.h"
#include "core/ir/numbering.h"
#include "core/targets/target.h"

// The block that a hook is asked about. All of it belongs to the caller.
typedef struct byoc_partition_block_t {
  const byoc_function_t *function;
  byoc_node_t *const *nodes; // topological order
  uint32_t node_count;
  const byoc_numbering_t *numbers; // of the nodes
  const bool *may_take;            // by node
} byoc_partition_block_t;

// A claim as the hook made it, unchecked, or a node that it declines.
typedef struct byoc_partition_answer_t {
  bool is_decline;
  uint32_t flags;        // of a claim: BYOC_RULE_*
  const char *text;      // of a claim: its name; of a decline: the reason, which is printable
  const uint32_t *nodes; // as the hook listed them; BYOC_NO_NUMBER: not a node of the block
  uint32_t node_count;
} byoc_partition_answer_t;

typedef struct byoc_partition_answers_t {
  const byoc_partition_answer_t *items; // in the order in which the hook gave them
  size_t count;
} byoc_partition_answers_t;

// The target's backend has the hook. The answers are in `arena`. Fails with the reason if the hook fails or crashes:
// BYOC_CANCELLED and BYOC_OUT_OF_MEMORY are about this process, all others about the hook.
byoc_status_t byoc_hook_partition(const byoc_target_t *target, const byoc_partition_block_t *block, byoc_arena_t *arena,
                                  byoc_diag_t *diag, byoc_partition_answers_t *out_answers);
// The same in this process, for tools that check plugins.
byoc_status_t byoc_hook_partition_here(const byoc_target_t *target, const byoc_partition_block_t *block,
                                       byoc_arena_t *arena, byoc_diag_t *diag, byoc_partition_answers_t *out_answers);

#endif // BYOC_CORE_PLUGIN_PARTITION_HOOK_H_
