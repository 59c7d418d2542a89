// SPDX-License-Identifier: Apache-2.0
// Infers types from scratch, and names dimensions that are known only at run time. Types are inferred when a graph is
// built, and kept when it is rewritten. So an unknown dimension may stay in types after its operator has gone (merged
// with an equal one, or expanded). This file infers each type again in order and compares it with the old type: an old
// unknown dimension becomes the new dimension at its position.
#include <string.h>

#include "core/ir/dim_names.h"
#include "core/op/op.h"
#include "core/op/util.h"

typedef struct {
  byoc_graph_module_t *module;
  byoc_map_t by; // pointer map: id + 1 of an unknown dimension → const byoc_dim_t *, its present form
  byoc_diag_t *diag;
  bool failed;
} afresh_t;

static const void *key_of(uint64_t id) {
  return (const void *)(uintptr_t)(id + 1);
}

static bool replaced(void *self, byoc_dim_t leaf, byoc_dim_t *out) {
  const afresh_t *a = self;
  const byoc_dim_t *by = byoc_dim_is_unknown(leaf) ? byoc_pointer_map_get(&a->by, key_of(leaf.expr->id)) : NULL;
  if (by) *out = *by;
  return by != NULL;
}

static void replace_by(afresh_t *a, byoc_dim_t unknown, byoc_dim_t by) {
  byoc_dim_t *kept = BYOC_ARENA_NEW(&a->module->arena, byoc_dim_t);
  if (kept) *kept = by;
  if (!kept || !byoc_pointer_map_put(&a->by, key_of(unknown.expr->id), kept)) a->failed = true;
}

static bool is_symbol(void *self, byoc_dim_t leaf) {
  (void)self;
  return !byoc_dim_is_unknown(leaf);
}
static bool has_unknown(byoc_dim_t dim) {
  return !byoc_dim_walk(dim, is_symbol, NULL);
}

// `before`: the old type; `now`: the inferred type; `is_call`: dimensions of results may have been set for a call.
static byoc_dim_t merge_dim(afresh_t *a, byoc_dim_t before, byoc_dim_t now, bool is_call) {
  byoc_arena_t *arena = &a->module->arena;
  if (byoc_dim_is_constant(now)) {
    if (byoc_dim_is_unknown(before)) replace_by(a, before, now);
    return now;
  }
  if (byoc_dim_is_constant(before)) return before;
  if (byoc_dim_is_unknown(before)) {
    byoc_dim_t by;
    if (is_call && byoc_dim_is_unknown(now) && replaced(a, before, &by)) return by;
    replace_by(a, before, now);
    return now;
  }
  if (!has_unknown(before)) return before; // it uses the names that the model declares
  if (!byoc_dim_is_unknown(now)) return now;
  byoc_dim_t by = byoc_dim_replace(before, replaced, a, arena, &a->failed);
  return byoc_dim_equal(by, before) ? now : by;
}

static const byoc_type_t *substituted(afresh_t *a, const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type) || type->rank <= 0) return type;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    dims[d] = byoc_dim_replace(type->dims[d], replaced, a, &a->module->arena, &a->failed);
  }
  return byoc_type_tensor(&a->module->arena, type->dtype, type->rank, dims);
}

static byoc_status_t merge(afresh_t *a, byoc_value_t *value, const byoc_type_t *before, bool is_call) {
  const byoc_type_t *now = value->type;
  bool ranked = byoc_is_ranked(before) && byoc_is_ranked(now);
  bool is_declared = ranked && before->rank != now->rank; // inference may assume a rank
  if (now->kind == BYOC_TYPE_UNKNOWN || (byoc_is_ranked(before) && !ranked) || is_declared) {
    value->type = substituted(a, before);
  } else if (ranked && before->rank == now->rank && before->dtype == now->dtype) {
    byoc_dim_t dims[BYOC_MAX_RANK];
    for (int32_t d = 0; d < now->rank; ++d) dims[d] = merge_dim(a, before->dims[d], now->dims[d], is_call);
    value->type = byoc_type_tensor(&a->module->arena, now->dtype, now->rank, dims);
  }
  return a->failed || !value->type ? byoc_diag_out_of_memory(a->diag) : BYOC_OK;
}

static byoc_status_t infer_block(afresh_t *a, byoc_block_t *block) {
  for (size_t i = 0; block->owner && i < block->parameters.count; ++i) {
    byoc_value_t *parameter = block->parameters.data[i];
    parameter->type = substituted(a, parameter->type);
    if (!parameter->type) return byoc_diag_out_of_memory(a->diag);
  }
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->block_count; ++i) BYOC_RETURN_IF_ERROR(infer_block(a, node->blocks[i]));
    const byoc_type_t **before = BYOC_ARENA_ARRAY(&a->module->arena, const byoc_type_t *, node->result_count + 1);
    if (!before) return byoc_diag_out_of_memory(a->diag);
    const byoc_op_t *op = byoc_op_of(node);
    bool given = op && strcmp(op->domain, "byoc") == 0; // types of our own operators are part of them
    for (uint32_t i = 0; i < node->result_count; ++i) {
      before[i] = node->results[i]->type;
      if (given) node->results[i]->type = substituted(a, before[i]);
      if (!node->results[i]->type) return byoc_diag_out_of_memory(a->diag);
      if (!given) node->results[i]->type = byoc_type_unknown();
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_node(node, a->diag));
    for (uint32_t i = 0; i < node->result_count; ++i) {
      BYOC_RETURN_IF_ERROR(merge(a, node->results[i], before[i], node->callee != NULL));
    }
  }
  return BYOC_OK;
}

static bool is_settled(const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type)) return false;
  for (int32_t d = 0; d < type->rank; ++d) {
    if (has_unknown(type->dims[d])) return false;
  }
  return type->rank != BYOC_RANK_UNKNOWN;
}

static bool node_is_settled(void *self, byoc_node_t *node) {
  (void)self;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!is_settled(node->results[i]->type)) return false;
  }
  return true;
}

byoc_status_t byoc_infer_afresh(byoc_function_t *function, byoc_diag_t *diag) {
  if (byoc_block_walk(function->body, node_is_settled, NULL)) return BYOC_OK;
  afresh_t a = {.module = function->module, .diag = diag};
  byoc_pointer_map_init(&a.by, function->module->allocator);
  byoc_status_t status = infer_block(&a, function->body);
  byoc_map_deinit(&a.by);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "in function '%s'", function->name);
}

// ---- names ----

typedef struct {
  byoc_graph_module_t *module;
  byoc_map_t taken;       // text map: symbols of the module
  byoc_map_t names;       // pointer map: id + 1 → const byoc_dim_t *
  byoc_dim_names_t model; // the model's names of dimensions
  uint64_t next;
  bool failed;
} namer_t;

static bool note_symbol(void *self, byoc_dim_t leaf) {
  namer_t *n = self;
  if (leaf.expr->kind == BYOC_DIM_SYMBOL && !byoc_string_map_put(&n->taken, leaf.expr->symbol, n)) n->failed = true;
  return true;
}

static void note_type(namer_t *n, const byoc_type_t *type) {
  for (int32_t d = 0; byoc_type_is_tensor(type) && d < type->rank; ++d) byoc_dim_walk(type->dims[d], note_symbol, n);
}

// The model's name of the dimension; otherwise u0, u1 and so on.
static const char *new_name(namer_t *n, byoc_dim_t unknown, char *buffer, size_t size) {
  for (size_t i = 0; i < n->model.count; ++i) {
    const byoc_dim_name_t *given = &n->model.items[i];
    if (!byoc_dim_equal(given->dim, unknown) || byoc_string_map_find(&n->taken, given->name)) continue;
    if (!byoc_string_map_put(&n->taken, given->name, n)) n->failed = true;
    return given->name;
  }
  do snprintf(buffer, size, "u%llu", (unsigned long long)n->next++);
  while (byoc_string_map_find(&n->taken, buffer));
  return buffer;
}

static bool named(void *self, byoc_dim_t leaf, byoc_dim_t *out) {
  namer_t *n = self;
  if (!byoc_dim_is_unknown(leaf)) return false;
  const byoc_dim_t *known = byoc_pointer_map_get(&n->names, key_of(leaf.expr->id));
  if (!known) {
    char buffer[32];
    byoc_dim_t *made = BYOC_ARENA_NEW(&n->module->arena, byoc_dim_t);
    const char *name = new_name(n, leaf, buffer, sizeof buffer);
    if (made) *made = byoc_dim_symbol(&n->module->arena, name, &n->failed);
    if (!made || !byoc_pointer_map_put(&n->names, key_of(leaf.expr->id), made)) {
      n->failed = true;
      return false;
    }
    known = made;
  }
  *out = *known;
  return true;
}

static void name_type(namer_t *n, byoc_value_t *value) {
  const byoc_type_t *type = value->type;
  if (!byoc_type_is_tensor(type) || type->rank <= 0 || is_settled(type)) return;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    dims[d] = byoc_dim_replace(type->dims[d], named, n, &n->module->arena, &n->failed);
  }
  type = byoc_type_tensor(&n->module->arena, type->dtype, type->rank, dims);
  if (type) value->type = type;
  if (!type) n->failed = true;
}

typedef void (*visit_value_t)(namer_t *n, byoc_value_t *value);

static void visit_note(namer_t *n, byoc_value_t *value) {
  note_type(n, value->type);
}

static void visit_block(namer_t *n, byoc_block_t *block, visit_value_t visit) {
  for (size_t i = 0; i < block->parameters.count; ++i) visit(n, block->parameters.data[i]);
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->block_count; ++i) visit_block(n, node->blocks[i], visit);
    for (uint32_t i = 0; i < node->result_count; ++i) visit(n, node->results[i]);
  }
}

byoc_status_t byoc_name_unknown_dimensions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *out_named) {
  namer_t n = {.module = module};
  byoc_string_map_init(&n.taken, module->allocator);
  byoc_pointer_map_init(&n.names, module->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < module->functions.count && status == BYOC_OK; ++i) {
    if (module->functions.data[i]->kind == BYOC_FUNCTION_GRAPH) {
      status = byoc_infer_afresh(module->functions.data[i], diag);
    }
  }
  const byoc_function_t *main = byoc_graph_module_main(module);
  if (main != NULL && !byoc_function_dim_names(main, &module->arena, &n.model)) n.failed = true;
  for (size_t i = 0; i < module->functions.count; ++i) visit_block(&n, module->functions.data[i]->body, visit_note);
  for (size_t i = 0; i < module->functions.count && status == BYOC_OK; ++i) {
    if (module->functions.data[i]->kind == BYOC_FUNCTION_KERNEL) continue;
    visit_block(&n, module->functions.data[i]->body, name_type);
  }
  if (out_named) *out_named = n.names.count;
  byoc_map_deinit(&n.names);
  byoc_map_deinit(&n.taken);
  if (status == BYOC_OK && n.failed) return byoc_diag_out_of_memory(diag);
  return status;
}
