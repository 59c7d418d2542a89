// SPDX-License-Identifier: Apache-2.0
// The operators of a module, as rules see them: counted by operator, version and which operands are constants.
#ifndef BYOC_TOOLS_BYOC_MODEL_OPS_H_
#define BYOC_TOOLS_BYOC_MODEL_OPS_H_

#include "core/base/arena.h"
#include "core/base/vector.h"
#include "core/ir/graph.h"

typedef struct model_op_t {
  const char *domain, *name;
  int32_t version;
  const char *pattern; // "Conv(_, @, @)": what matches its operands, in the language of rules
  const char *types;   // element types of first results: "f32, i64"
  uint64_t count;      // nodes
} model_op_t;

typedef struct model_ops_t {
  byoc_arena_t arena; // texts
  BYOC_VECTOR(model_op_t) rows;
  bool failed; // out of memory
} model_ops_t;

// Counts the nodes of all graph functions, those in nested blocks included; calls do not count. Rows are in the order
// of their names.
void model_ops_count(const byoc_graph_module_t *module, byoc_allocator_t allocator, model_ops_t *out);
void model_ops_deinit(model_ops_t *ops, byoc_allocator_t allocator);

#endif // BYOC_TOOLS_BYOC_MODEL_OPS_H_
