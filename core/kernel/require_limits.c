// SPDX-License-Identifier: Apache-2.0
// Turns limits of elements into CheckRange nodes, for nodes of a block and for those in the bodies of extern functions.
#include <string.h>

#include "core/kernel/require.h"
#include "core/op/util.h"

// ---- each once ----

// Is the limit of this value new in the block? If so, it is known there from now on. Also false if out of memory.
static bool is_new(byoc_limits_known_t *known, const byoc_value_t *value, const byoc_value_t *extent,
                   const byoc_limit_t *limit, const byoc_block_t *block, bool *failed) {
  byoc_string_t key;
  if (known == NULL) return true;
  byoc_string_init(&key, known->allocator);
  byoc_string_appendf(&key, "%p %d %lld %d %lld %p", (const void *)value, (int)limit->kind, (long long)limit->less,
                      (int)limit->ignores, (long long)limit->ignored, limit->is_of_data ? (const void *)extent : NULL);
  for (uint32_t k = 0; k < limit->count && !limit->is_of_data; ++k) {
    byoc_string_append(&key, " ");
    byoc_dim_print(limit->extents[k].dim, &key);
  }
  const byoc_block_t *where = key.failed ? NULL : byoc_string_map_get(known, key.data);
  const bool is_known = where && byoc_block_is_within(block, where);
  if (key.failed || (!is_known && !byoc_string_map_put(known, key.data, (void *)(uintptr_t)block))) *failed = true;
  byoc_string_deinit(&key);
  return !is_known && !*failed;
}

static byoc_status_t check(byoc_node_t *place, byoc_value_t *value, byoc_value_t *extent, const char *where,
                           const byoc_limit_t *limit, byoc_limits_known_t *known, byoc_diag_t *diag) {
  bool failed = false;
  if (byoc_limit_always_holds(value, limit, &place->function->module->arena, &failed)) return BYOC_OK;
  if (!failed && !is_new(known, value, extent, limit, place->block, &failed) && !failed) return BYOC_OK;
  if (failed) return byoc_diag_out_of_memory(diag);
  return byoc_check_limit(place, value, extent, where, limit, diag);
}

static byoc_value_t *extent_of(const byoc_node_t *node, const byoc_limit_t *limit) {
  return limit->is_of_data ? node->operands[limit->extents[0].operand] : NULL;
}

byoc_status_t byoc_require_limits(byoc_node_t *node, const byoc_relations_t *relations, byoc_limits_known_t *known,
                                  byoc_diag_t *diag) {
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  for (size_t i = 0; i < relations->limits.count; ++i) {
    const byoc_limit_t *limit = &relations->limits.data[i];
    byoc_value_t *value = node->operands[limit->operand];
    BYOC_RETURN_IF_ERROR(check(node, value, extent_of(node, limit), where, limit, known, diag));
  }
  return BYOC_OK;
}

// ---- bodies of extern functions ----

// Brings values of a body to the place of its call.
typedef struct bringer_t {
  byoc_node_t *place;
  const byoc_node_t *const *calls;
  byoc_diag_t *diag;
  int steps;
} bringer_t;

// Is the operator worth computing a second time?
static bool is_small(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op && !node->callee && node->block_count == 0 && node->result_count == 1 &&
         (op->traits & (BYOC_OP_HEAVY | BYOC_OP_RANDOM | BYOC_OP_CONTROL | BYOC_OP_HOST)) == 0;
}

static byoc_value_t *bring(bringer_t *b, const byoc_value_t *value, size_t depth);

static byoc_value_t *copy(bringer_t *b, const byoc_node_t *node, size_t depth) {
  enum { MOST_STEPS = 32, MOST_OPERANDS = 16 };
  byoc_value_t *operands[MOST_OPERANDS];
  if (++b->steps > MOST_STEPS || !is_small(node) || node->operand_count > MOST_OPERANDS) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = node->operands[i] ? bring(b, node->operands[i], depth) : NULL;
    if (node->operands[i] && !operands[i]) return NULL;
  }
  byoc_node_t *made = byoc_node_create(b->place->block, b->place, node->domain, node->op, node->since_version, operands,
                                       node->operand_count, 1);
  if (!made || !byoc_attributes_copy(&made->attributes, &node->attributes)) return NULL;
  made->name = node->name;
  return byoc_infer_node(made, b->diag) == BYOC_OK ? made->results[0] : NULL;
}

// NULL if that takes too much, or after a failure.
static byoc_value_t *bring(bringer_t *b, const byoc_value_t *value, size_t depth) {
  if (depth == 0) return (byoc_value_t *)(uintptr_t)value;
  if (value->kind == BYOC_VALUE_CONSTANT) return byoc_function_constant(b->place->function, value->constant);
  if (value->kind == BYOC_VALUE_RESULT) return copy(b, value->node, depth);
  const byoc_node_t *call = b->calls[depth - 1];
  if (value->block != call->callee->body || !byoc_has_operand(call, value->index)) return NULL;
  return bring(b, call->operands[value->index], depth - 1);
}

static bool given_dim(void *self, byoc_dim_t leaf, byoc_dim_t *out) {
  return byoc_call_gives_dim(self, leaf, out);
}

byoc_status_t byoc_require_limits_of_body(byoc_node_t *place, const byoc_node_t *const *calls, size_t depth,
                                          const byoc_node_t *node, const byoc_relations_t *relations,
                                          byoc_limits_known_t *known, byoc_diag_t *diag) {
  byoc_arena_t *arena = &place->function->module->arena;
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  for (size_t i = 0; i < relations->limits.count; ++i) {
    byoc_limit_t limit = relations->limits.data[i];
    bringer_t bringer = {.place = place, .calls = calls, .diag = diag};
    bool failed = false;
    if (byoc_limit_always_holds(node->operands[limit.operand], &limit, arena, &failed)) continue;
    const byoc_value_t *own = extent_of(node, &limit);
    for (uint32_t k = 0; k < limit.count; ++k) {
      limit.extents[k].operand = -1;
      for (size_t c = depth; c > 0; --c) {
        void *call = (void *)(uintptr_t)calls[c - 1];
        limit.extents[k].dim = byoc_dim_replace(limit.extents[k].dim, given_dim, call, arena, &failed);
      }
    }
    byoc_value_t *value = bring(&bringer, node->operands[limit.operand], depth);
    byoc_value_t *extent = own && value ? bring(&bringer, own, depth) : NULL;
    if (failed || arena->is_exhausted) return byoc_diag_out_of_memory(diag);
    if (diag->status != BYOC_OK) return diag->status;
    if (!value || (own && !extent)) continue; // the backend checks elements that it makes itself
    BYOC_RETURN_IF_ERROR(check(place, value, extent, where, &limit, known, diag));
  }
  return BYOC_OK;
}
