// SPDX-License-Identifier: Apache-2.0
// Computes the dimensions that come from data, and checks the dimensions that models declare for them.
#include "core/kernel/shapes.h"

#include <string.h>

#include "core/ir/outline.h"
#include "core/kernel/require.h"
#include "core/op/util.h"
#include "core/ops/byoc/symbolic.h"

// ---- extern functions ----

static bool is_given(void *self, byoc_dim_t leaf) {
  const byoc_node_t *call = self;
  if (!byoc_dim_is_unknown(leaf)) return true;
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    if (byoc_type_has_leaf(byoc_operand_type(call, i), leaf)) return true;
  }
  return false;
}

// Does a result have a dimension that no operand has? Such dimensions get names later.
static bool depends_on_data(byoc_node_t *call) {
  for (uint32_t i = 0; i < call->result_count; ++i) {
    const byoc_type_t *type = call->results[i]->type;
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      if (!byoc_dim_walk(type->dims[d], is_given, call)) return true;
    }
  }
  return false;
}

static byoc_status_t copy_body(byoc_node_t *call, byoc_diag_t *diag) {
  const byoc_block_t *body = call->callee->body;
  if (byoc_function_is_opaque(call->callee)) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "the shapes of the results of '%s' depend on data, but its body is "
                           "not known",
                           call->callee->name);
  }
  byoc_map_t values;
  byoc_pointer_map_init(&values, call->function->module->allocator);
  bool ok = true;
  byoc_status_t status = BYOC_OK;
  for (size_t p = 0; p < body->parameters.count && ok; ++p) {
    ok = byoc_pointer_map_put(&values, body->parameters.data[p], call->operands[p]);
  }
  BYOC_FOR_EACH_NODE(node, body) {
    byoc_node_t *copy = ok && status == BYOC_OK ? byoc_node_clone(node, call->block, call, &values) : NULL;
    ok = ok && (copy || status != BYOC_OK);
    if (!copy) break;
    for (uint32_t i = 0; i < copy->result_count; ++i) copy->results[i]->type = byoc_type_unknown();
    status = byoc_infer_node(copy, diag);
  }
  for (uint32_t r = 0; r < call->result_count && ok && status == BYOC_OK; ++r) {
    const byoc_value_t *inner = body->results.data[r], *copy = byoc_pointer_map_get(&values, inner);
    if (copy) call->results[r]->type = copy->type;
  }
  byoc_map_deinit(&values);
  return ok ? status : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_shapes_copy_bodies(byoc_block_t *block, byoc_diag_t *diag, bool *out_changed) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(byoc_shapes_copy_bodies(node->blocks[b], diag, out_changed));
    }
    if (!node->callee || node->callee->kind != BYOC_FUNCTION_EXTERN || !depends_on_data(node)) continue;
    byoc_node_t *before = node->previous;
    BYOC_RETURN_IF_ERROR_IN(diag, copy_body(node, diag), "making the shape function of '%s'", node->callee->name);
    *out_changed = true;
    for (byoc_node_t *copy = before ? before->next : block->first, *next; copy != node; copy = next) {
      next = copy->next; // composite functions in the body are inlined
      if (!copy->callee || copy->callee->kind != BYOC_FUNCTION_GRAPH) continue;
      byoc_node_t *previous = copy->previous;
      BYOC_RETURN_IF_ERROR(byoc_inline_call(copy, diag));
      next = previous ? previous->next : block->first;
    }
  }
  return BYOC_OK;
}

// ---- symbols that come from data ----

typedef struct {
  byoc_map_t bound; // text map
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  BYOC_VECTOR(byoc_result_dim_t) dims;   // of the current node
  BYOC_VECTOR(byoc_relation_t) declared; // between some of them and the declared ones
  byoc_requirer_t requirer;
  bool failed;
} binder_t;

static bool bind_leaf(void *self, byoc_dim_t leaf) {
  binder_t *b = self;
  if (leaf.expr->kind == BYOC_DIM_SYMBOL && !byoc_string_map_put(&b->bound, leaf.expr->symbol, b)) b->failed = true;
  return true;
}

static void bind_type(binder_t *b, const byoc_type_t *type) {
  for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) byoc_dim_walk(type->dims[d], bind_leaf, b);
}

static bool leaf_is_bound(void *self, byoc_dim_t leaf) {
  const binder_t *b = self;
  return leaf.expr->kind == BYOC_DIM_SYMBOL && byoc_string_map_find(&b->bound, leaf.expr->symbol);
}

static byoc_status_t not_computable(const binder_t *b, const byoc_node_t *node, uint32_t result) {
  char where[256], type[BYOC_TYPE_TEXT_SIZE];
  if (b->failed) return byoc_diag_out_of_memory(b->diag); // a symbol may be missing for that
  byoc_node_describe(node, where, sizeof where);
  byoc_diag_error(b->diag, BYOC_UNSUPPORTED,
                  "%s: the shape of result %u, %s, depends on data in a way that is not "
                  "supported",
                  where, result, byoc_type_text(node->results[result]->type, type));
  byoc_diag_hint(b->diag, "give the inputs that it depends on as constants");
  return BYOC_UNSUPPORTED;
}

// Infers the types that follow from the operands alone.
static byoc_status_t infer_results(byoc_node_t *node, const byoc_type_t **out_types, byoc_diag_t *diag) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    out_types[r] = node->results[r]->type;
    node->results[r]->type = byoc_type_unknown();
  }
  byoc_status_t status = byoc_infer_node(node, diag);
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    node->results[r]->type = out_types[r];
    out_types[r] = type;
  }
  return status;
}

// Is the dimension known only at run time?
static bool is_made(const byoc_type_t *inferred, const byoc_type_t *type, int32_t d) {
  return !byoc_is_ranked(inferred) || inferred->rank != type->rank || byoc_dim_is_unknown(inferred->dims[d]);
}

// Handles a dimension that the node makes and for which the model declares a number: both are compared.
static byoc_status_t compare_made(binder_t *b, byoc_node_t *node, uint32_t r, int32_t d) {
  byoc_graph_module_t *module = node->function->module;
  const char *symbol = NULL, *name = node->results[r]->name;
  do symbol = byoc_arena_format(&module->arena, "made_%llu", (unsigned long long)module->next_id++);
  while (symbol && byoc_string_map_find(&b->bound, symbol));
  const byoc_relation_t relation = {
      .kind = BYOC_RELATION_EQUAL,
      .left = byoc_dim_symbol(&module->arena, symbol ? symbol : "", &b->failed),
      .right = node->results[r]->type->dims[d],
      .left_name = byoc_arena_format(&module->arena, "dimension %d of result %u%s%s%s", (int)d, (unsigned)r,
                                     name ? " '" : "", name ? name : "", name ? "'" : ""),
      .right_name = "what the model declares for it",
  };
  const byoc_result_dim_t entry = {.result = r, .d = d, .symbol = symbol};
  bool ok = symbol && relation.left_name && !b->failed && byoc_string_map_put(&b->bound, symbol, b) &&
            byoc_vector_push(&b->dims, b->allocator, entry) && byoc_vector_push(&b->declared, b->allocator, relation);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(b->diag);
}

static byoc_status_t bind_dim(binder_t *b, byoc_node_t *node, uint32_t r, int32_t d, const byoc_type_t *inferred) {
  const byoc_op_t *op = byoc_op_of(node);
  // The value itself binds it when it is made.
  bool arrives = op && (op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST)) != 0;
  const byoc_type_t *type = node->results[r]->type;
  byoc_dim_t dim = type->dims[d];
  if (byoc_dim_is_constant(dim)) return BYOC_OK;
  if (byoc_dim_walk(dim, leaf_is_bound, b)) {
    return inferred && is_made(inferred, type, d) ? compare_made(b, node, r, d) : BYOC_OK;
  }
  if (!byoc_dim_is_leaf(dim)) return not_computable(b, node, r);
  if (!arrives) {
    if (!op || !op->shape) return not_computable(b, node, r);
    const byoc_result_dim_t entry = {.result = r, .d = d, .symbol = dim.expr->symbol};
    if (!byoc_vector_push(&b->dims, b->allocator, entry)) b->failed = true;
  }
  bind_leaf(b, dim);
  return BYOC_OK;
}

static byoc_status_t bind_results(binder_t *b, byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  const byoc_type_t **inferred = NULL;
  b->dims.count = b->declared.count = 0;
  if (op && op->shape && byoc_node_is_open(node)) {
    inferred = BYOC_ARENA_ARRAY(&node->function->module->arena, const byoc_type_t *, node->result_count);
    if (!inferred) return byoc_diag_out_of_memory(b->diag);
    BYOC_RETURN_IF_ERROR(infer_results(node, inferred, b->diag));
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      BYOC_RETURN_IF_ERROR(bind_dim(b, node, r, d, inferred ? inferred[r] : NULL));
    }
  }
  if (b->failed) return byoc_diag_out_of_memory(b->diag);
  if (b->dims.count == 0) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_bind_result_dims(node, b->dims.data, b->dims.count, b->diag));
  if (b->declared.count == 0) return BYOC_OK;
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  return byoc_require(node, where, b->declared.data, b->declared.count, b->diag);
}

// ---- declared dimensions ----

// Checks the constant dimensions of a result that an operator with a `shape` makes at run time.
static byoc_status_t check_result(binder_t *b, byoc_node_t *node, uint32_t r, const byoc_type_t *inferred) {
  const byoc_type_t *type = node->results[r]->type;
  byoc_declared_dim_t dims[BYOC_MAX_RANK];
  size_t count = 0;
  for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
    if (!byoc_dim_is_constant(type->dims[d]) || !is_made(inferred, type, d)) continue;
    dims[count++] = (byoc_declared_dim_t){.result = r, .d = d, .declared = type->dims[d].constant};
  }
  return count > 0 ? byoc_check_declared_dims(node, dims, count, b->diag) : BYOC_OK;
}

// Checks that a view has as many elements as its operand. Symbolic dimensions are checked at run time.
static byoc_status_t check_view(const binder_t *b, const byoc_node_t *node) {
  const byoc_type_t *from = node->operands[0]->type, *to = node->results[0]->type;
  int64_t from_count = byoc_type_element_count(from), to_count = byoc_type_element_count(to);
  if (from_count < 0 || to_count < 0 || from_count == to_count) return BYOC_OK;
  char where[256], from_text[BYOC_TYPE_TEXT_SIZE], to_text[BYOC_TYPE_TEXT_SIZE];
  byoc_node_describe(node, where, sizeof where);
  return byoc_diag_error(b->diag, BYOC_INVALID_DATA, "%s: the result is declared %s, but is made of %s", where,
                         byoc_type_text(to, to_text), byoc_type_text(from, from_text));
}

static bool has_constant_dims(const byoc_node_t *node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      if (byoc_dim_is_constant(type->dims[d])) return true;
    }
  }
  return false;
}

// A declared dimension that the operator makes is checked in front of the operator. Other declarations that do not
// follow from the operands are relations (core/op/relation.c).
static byoc_status_t check_declared(binder_t *b, byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  if (!op || (op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST)) != 0) return BYOC_OK; // the host checks the values
  if (op->is_view && strcmp(op->domain, "byoc") != 0) BYOC_RETURN_IF_ERROR(check_view(b, node));
  if (!op->shape || !has_constant_dims(node)) return BYOC_OK;
  byoc_arena_t *arena = &node->function->module->arena;
  const byoc_type_t **types = BYOC_ARENA_ARRAY(arena, const byoc_type_t *, node->result_count);
  if (!types) return byoc_diag_out_of_memory(b->diag);
  BYOC_RETURN_IF_ERROR(infer_results(node, types, b->diag));
  for (uint32_t r = 0; r < node->result_count; ++r) BYOC_RETURN_IF_ERROR(check_result(b, node, r, types[r]));
  return BYOC_OK;
}

static byoc_status_t bind_block(binder_t *b, byoc_block_t *block) {
  for (size_t i = 0; i < block->parameters.count; ++i) bind_type(b, block->parameters.data[i]->type);
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t i = 0; i < node->block_count; ++i) BYOC_RETURN_IF_ERROR(bind_block(b, node->blocks[i]));
    bool is_early = byoc_is_requirement(node);
    BYOC_RETURN_IF_ERROR(byoc_require_rest(&b->requirer, node, false));
    if (is_early) continue; // its dimensions may have gone with their operators
    BYOC_RETURN_IF_ERROR(bind_results(b, node));
    BYOC_RETURN_IF_ERROR(check_declared(b, node));
    BYOC_RETURN_IF_ERROR(byoc_require_rest(&b->requirer, node, true));
  }
  return BYOC_OK;
}

byoc_status_t byoc_shapes_bind(byoc_function_t *function, byoc_diag_t *diag) {
  binder_t b = {.allocator = function->module->allocator, .diag = diag};
  byoc_string_map_init(&b.bound, b.allocator);
  byoc_requirer_init(&b.requirer, b.allocator, diag);
  b.requirer.is_bound = leaf_is_bound;
  b.requirer.self = &b;
  byoc_status_t status = bind_block(&b, function->body);
  byoc_requirer_deinit(&b.requirer);
  byoc_vector_deinit(&b.dims, b.allocator);
  byoc_vector_deinit(&b.declared, b.allocator);
  byoc_map_deinit(&b.bound);
  return status == BYOC_OK && b.failed ? byoc_diag_out_of_memory(diag) : status;
}

// ---- operands that are read for their shape only ----

static byoc_status_t become_plain_view(byoc_node_t *node, byoc_diag_t *diag) {
  byoc_node_t *view = byoc_node_create(node->block, node, "byoc", "View", 1, node->operands, 1, 1);
  if (!view) return byoc_diag_out_of_memory(diag);
  view->name = node->name;
  view->results[0]->name = node->results[0]->name;
  view->results[0]->type = node->results[0]->type;
  view->results[0]->device = node->results[0]->device;
  if (!byoc_value_replace_uses(node->results[0], view->results[0])) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(node);
  return BYOC_OK;
}

byoc_status_t byoc_shapes_drop_unread(byoc_block_t *block, byoc_diag_t *diag) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(byoc_shapes_drop_unread(node->blocks[b], diag));
    }
    const byoc_op_t *op = byoc_op_of(node);
    if (!op) continue;
    if (op->is_view && node->operand_count > 1 && byoc_value_producer(node->operands[1])) {
      BYOC_RETURN_IF_ERROR(become_plain_view(node, diag));
      continue;
    }
    for (uint32_t i = 0; i < node->operand_count && i < 32; ++i) {
      const byoc_node_t *producer = byoc_value_producer(node->operands[i]);
      if (!((op->by_shape >> i) & 1) || !producer || byoc_node_is(producer, "byoc", "ShapeOnly")) continue;
      byoc_value_t *only = byoc_shape_only(node, node->operands[i]->type);
      if (!only || !byoc_node_set_operand(node, i, only)) return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}
