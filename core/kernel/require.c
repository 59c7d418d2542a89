// SPDX-License-Identifier: Apache-2.0
// Makes nodes of the relations and limits that inference noted: Require for a relation, once for each block that needs
// it, and CheckRange for a limit.
#include "core/kernel/require.h"

#include <string.h>

#include "core/op/util.h"
#include "core/ops/byoc/symbolic.h"

static bool is_static_value(const byoc_value_t *value) {
  return !value || byoc_type_is_static(value->type);
}

bool byoc_node_is_open(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!is_static_value(node->operands[i])) return true;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!is_static_value(node->results[i])) return true;
  }
  return false;
}

// A Require comes from a pass, or from a text that anyone may have written. Its results hold sizes in their types, and
// no values.
static byoc_status_t check_requirement(byoc_node_t *node, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_infer_node(node, diag));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i]->uses.count == 0) continue;
    char where[256];
    byoc_node_describe(node, where, sizeof where);
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: nothing can read a result of this operator, it has no value",
                           where);
  }
  return BYOC_OK;
}

// ---- bodies of extern functions ----

bool byoc_call_gives_dim(const byoc_node_t *call, byoc_dim_t leaf, byoc_dim_t *out) {
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    const byoc_type_t *type = call->callee->body->parameters.data[i]->type, *given = byoc_operand_type(call, i);
    if (!byoc_is_ranked(type) || !byoc_is_ranked(given) || type->rank != given->rank) continue;
    for (int32_t d = 0; d < type->rank; ++d) {
      *out = given->dims[d];
      if (byoc_dim_equal(type->dims[d], leaf)) return true;
    }
  }
  return false;
}

static bool given_dim(void *self, byoc_dim_t leaf, byoc_dim_t *out) {
  return byoc_call_gives_dim(self, leaf, out);
}

// Adds the relations that the nodes of a body rely on, in the dimensions of the call: one Require per node in front of
// `place`.
static byoc_status_t require_body(byoc_node_t *place, const byoc_node_t *const *calls, size_t depth,
                                  byoc_limits_known_t *known, byoc_diag_t *diag) {
  enum { DEEPEST = 16 };
  const byoc_function_t *callee = calls[depth - 1]->callee;
  if (byoc_function_is_opaque(callee) || depth == DEEPEST) return BYOC_OK;
  byoc_arena_t *arena = &place->function->module->arena;
  byoc_status_t status = BYOC_OK;
  for (byoc_node_t *node = callee->body->first; node && status == BYOC_OK; node = node->next) {
    const bool is_early = byoc_is_requirement(node);
    if (!is_early && !node->callee && !byoc_node_is_open(node) && !byoc_node_has_trait(node, BYOC_OP_LIMITS)) continue;
    if (node->callee) {
      const byoc_node_t *deeper[DEEPEST];
      memcpy(deeper, calls, depth * sizeof(*calls));
      deeper[depth] = node;
      status = require_body(place, deeper, depth + 1, known, diag);
      continue;
    }
    byoc_relations_t relations = {.allocator = place->function->module->allocator};
    bool failed = false;
    if (is_early) BYOC_RETURN_IF_ERROR(check_requirement(node, diag));
    status = is_early ? byoc_requirement_read(node, &relations, diag) : byoc_infer_relations(node, diag, &relations);
    for (size_t i = 0; i < relations.items.count; ++i) {
      byoc_relation_t *relation = &relations.items.data[i];
      for (size_t k = depth; k > 0; --k) {
        void *call = (void *)(uintptr_t)calls[k - 1];
        relation->left = byoc_dim_replace(relation->left, given_dim, call, arena, &failed);
        relation->right = byoc_dim_replace(relation->right, given_dim, call, arena, &failed);
      }
    }
    if (status == BYOC_OK && failed) status = byoc_diag_out_of_memory(diag);
    char where[256];
    byoc_node_describe(node, where, sizeof where);
    if (status == BYOC_OK && relations.items.count > 0) {
      status = byoc_require(place, is_early ? byoc_required_by(node) : where, relations.items.data,
                            relations.items.count, diag);
    }
    if (status == BYOC_OK) {
      status = byoc_require_limits_of_body(place, calls, depth, node, &relations, known, diag);
    }
    byoc_relations_deinit(&relations);
  }
  return status;
}

// ---- with the names of the model ----

static byoc_status_t require_node(byoc_node_t *node, byoc_limits_known_t *known, byoc_diag_t *diag) {
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_infer_relations(node, diag, &relations);
  if (status == BYOC_OK) status = byoc_require_given(node, &relations, diag);
  if (status == BYOC_OK) status = byoc_require_limits(node, &relations, known, diag);
  byoc_relations_deinit(&relations);
  return status;
}

// A CheckRange that a pass left and inference found to hold for constants.
static bool is_decided(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "CheckRange") && byoc_value_is_constant(node->operands[0]) &&
         byoc_value_is_constant(node->operands[1]);
}

static byoc_status_t require_block(byoc_block_t *block, byoc_limits_known_t *known, byoc_diag_t *diag) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(require_block(node->blocks[b], known, diag));
    }
    if (is_decided(node)) {
      byoc_node_erase(node);
      continue;
    }
    bool is_extern = node->callee && node->callee->kind == BYOC_FUNCTION_EXTERN;
    bool is_asked = is_extern || byoc_node_is_open(node) || byoc_node_has_trait(node, BYOC_OP_LIMITS);
    if (!is_asked || byoc_is_guard(node)) continue;
    if (is_extern) BYOC_RETURN_IF_ERROR(require_body(node, (const byoc_node_t *const[]){node}, 1, known, diag));
    if (!node->callee) BYOC_RETURN_IF_ERROR(require_node(node, known, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_require_early(byoc_block_t *block, byoc_diag_t *diag) {
  byoc_limits_known_t known;
  byoc_string_map_init(&known, block->function->module->allocator);
  byoc_status_t status = require_block(block, &known, diag);
  byoc_map_deinit(&known);
  return status;
}

byoc_status_t byoc_require_settled(byoc_block_t *block, byoc_diag_t *diag) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(byoc_require_settled(node->blocks[b], diag));
    if (!byoc_is_requirement(node)) continue;
    BYOC_RETURN_IF_ERROR(check_requirement(node, diag));
    BYOC_RETURN_IF_ERROR(byoc_requirement_settle(node, diag));
  }
  return BYOC_OK;
}

// ---- the rest ----

void byoc_requirer_init(byoc_requirer_t *r, byoc_allocator_t allocator, byoc_diag_t *diag) {
  *r = (byoc_requirer_t){.diag = diag};
  byoc_string_map_init(&r->known, allocator);
}

void byoc_requirer_deinit(byoc_requirer_t *r) {
  byoc_map_deinit(&r->known);
}

bool byoc_block_is_within(const byoc_block_t *block, const byoc_block_t *outer) {
  for (; block && block != outer; block = block->owner ? block->owner->block : NULL) continue;
  return block != NULL;
}

// Is the relation new in the block? If so, it is known there from now on. Also false if out of memory.
static bool is_new(byoc_requirer_t *r, const byoc_relation_t *relation, const byoc_block_t *block, bool *failed) {
  byoc_string_t key;
  byoc_string_init(&key, r->known.allocator);
  bool either_way = relation->kind == BYOC_RELATION_EQUAL || relation->kind == BYOC_RELATION_BROADCASTS;
  bool swapped = either_way && byoc_dim_hash(relation->left, 0) > byoc_dim_hash(relation->right, 0);
  byoc_string_appendf(&key, "%d ", (int)relation->kind);
  byoc_dim_print(swapped ? relation->right : relation->left, &key);
  byoc_string_append(&key, " ");
  byoc_dim_print(swapped ? relation->left : relation->right, &key);
  const byoc_block_t *known = key.failed ? NULL : byoc_string_map_get(&r->known, key.data);
  bool is_known = known && byoc_block_is_within(block, known);
  if (key.failed || (!is_known && !byoc_string_map_put(&r->known, key.data, (void *)(uintptr_t)block))) *failed = true;
  byoc_string_deinit(&key);
  return !is_known;
}

static byoc_status_t not_computable(const byoc_requirer_t *r, const byoc_node_t *node, byoc_dim_t dim) {
  char where[256];
  byoc_string_t text;
  byoc_node_describe(node, where, sizeof where);
  byoc_string_init(&text, r->known.allocator);
  byoc_dim_print(dim, &text);
  byoc_status_t status = byoc_diag_error(
      r->diag, BYOC_UNSUPPORTED, "%s: relies on the dimension %s, which depends on data in a way that is not supported",
      where, text.failed ? "" : text.data);
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t does_not_hold(const byoc_requirer_t *r, const byoc_node_t *node, const byoc_relation_t *relation) {
  char where[256], text[512];
  byoc_node_describe(node, where, sizeof where);
  const bool is_early = byoc_is_requirement(node);
  const byoc_relation_names_t names = {is_early ? byoc_required_by(node) : where, relation->left_name,
                                       relation->right_name};
  byoc_relation_explain(relation->kind, relation->left.constant, relation->right.constant, &names, text, sizeof text);
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s", text);
}

// Keeps those of `relations` that are new and can be computed here.
static byoc_status_t keep_new(byoc_requirer_t *r, const byoc_node_t *node, byoc_relations_t *relations,
                              bool must_be_bound) {
  size_t count = 0;
  bool failed = false;
  for (size_t i = 0; i < relations->items.count; ++i) {
    const byoc_relation_t *relation = &relations->items.data[i];
    bool is_known = byoc_dim_is_constant(relation->left) && byoc_dim_is_constant(relation->right);
    if (is_known && byoc_relation_holds(relation->kind, relation->left.constant, relation->right.constant)) continue;
    const bool may_not_run = node->block->owner != NULL; // a branch fails when it is run
    if (is_known && !byoc_node_is_open(node) && !may_not_run) return does_not_hold(r, node, relation);
    bool left = byoc_dim_walk(relation->left, r->is_bound, r->self);
    bool right = byoc_dim_walk(relation->right, r->is_bound, r->self);
    if (!(left && right) && must_be_bound) return not_computable(r, node, left ? relation->right : relation->left);
    if (!(left && right) || !is_new(r, relation, node->block, &failed)) continue;
    relations->items.data[count++] = *relation;
  }
  relations->items.count = count;
  return failed ? byoc_diag_out_of_memory(r->diag) : BYOC_OK;
}

byoc_status_t byoc_require_rest(byoc_requirer_t *r, byoc_node_t *node, bool must_be_bound) {
  const byoc_op_t *op = byoc_op_of(node);
  bool is_early = byoc_is_requirement(node);
  if (!op || (!op->shape && !is_early && !byoc_node_is_open(node))) return BYOC_OK;
  byoc_relations_t relations = {.allocator = r->known.allocator};
  byoc_status_t status =
      is_early ? byoc_requirement_read(node, &relations, r->diag) : byoc_infer_relations(node, r->diag, &relations);
  if (status == BYOC_OK) status = keep_new(r, node, &relations, must_be_bound && !is_early);
  size_t count = relations.items.count;
  bool stays = is_early && count == node->result_count;
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  if (status == BYOC_OK && count > 0 && !stays) {
    status = byoc_require(node, is_early ? byoc_required_by(node) : where, relations.items.data, count, r->diag);
  }
  byoc_relations_deinit(&relations);
  if (status == BYOC_OK && is_early && !stays) byoc_node_erase(node);
  return status;
}
