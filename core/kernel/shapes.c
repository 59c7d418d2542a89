#include "core/kernel/shapes.h"

#include <string.h>

#include "core/ir/outline.h"
#include "core/ops/symbolic.h"
#include "core/ops/util.h"

// ---- extern functions ----

static bool is_symbol(void *self, byoc_dim_t leaf) {
  (void)self;
  return !byoc_dim_is_unknown(leaf);
}

static bool has_unknown(const byoc_type_t *type) {
  for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
    if (!byoc_dim_walk(type->dims[d], is_symbol, NULL)) return true;
  }
  return false;
}

// Does a result have a dimension that no operand has? Names of such dimensions are given later.
static bool depends_on_data(const byoc_node_t *call) {
  for (uint32_t i = 0; i < call->result_count; ++i) {
    if (has_unknown(call->results[i]->type) && has_unknown(call->callee->body->results.data[i]->type)) return true;
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
  BYOC_VECTOR(byoc_result_dim_t) dims; // of the node at hand
  bool failed;
} binder_t;

static bool bind_leaf(void *self, byoc_dim_t leaf) {
  binder_t *b = self;
  if (leaf.expr->kind == BYOC_DIM_SYMBOL && !byoc_text_map_put(&b->bound, leaf.expr->symbol, b)) b->failed = true;
  return true;
}

static void bind_type(binder_t *b, const byoc_type_t *type) {
  for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) byoc_dim_walk(type->dims[d], bind_leaf, b);
}

static bool leaf_is_bound(void *self, byoc_dim_t leaf) {
  const binder_t *b = self;
  return leaf.expr->kind == BYOC_DIM_SYMBOL && byoc_text_map_find(&b->bound, leaf.expr->symbol);
}

static byoc_status_t not_computable(const binder_t *b, const byoc_node_t *node, uint32_t result) {
  char where[256], type[BYOC_TYPE_TEXT_SIZE];
  byoc_node_describe(node, where, sizeof where);
  byoc_diag_error(b->diag, BYOC_UNSUPPORTED,
                  "%s: the shape of result %u, %s, depends on data in a way that is not "
                  "supported",
                  where, result, byoc_type_text(node->results[result]->type, type));
  byoc_diag_hint(b->diag, "give the inputs that it depends on as constants");
  return BYOC_UNSUPPORTED;
}

static byoc_status_t bind_results(binder_t *b, byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  b->dims.count = 0;
  // By the value itself, when it arrives.
  bool arrives = op && (op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST)) != 0;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      byoc_dim_t dim = type->dims[d];
      if (byoc_dim_is_constant(dim) || byoc_dim_walk(dim, leaf_is_bound, b)) continue;
      bool plain = byoc_dim_is_leaf(dim);
      if (plain && !arrives) {
        if (!op || !op->shape) return not_computable(b, node, r);
        const byoc_result_dim_t entry = {.result = r, .d = d, .symbol = dim.expr->symbol};
        if (!byoc_vector_push(&b->dims, b->allocator, entry)) b->failed = true;
      }
      if (!plain) return not_computable(b, node, r);
      bind_leaf(b, dim);
    }
  }
  if (b->failed) return byoc_diag_out_of_memory(b->diag);
  if (b->dims.count == 0) return BYOC_OK;
  return byoc_bind_result_dims(node, b->dims.data, b->dims.count, b->diag);
}

static byoc_status_t bind_block(binder_t *b, byoc_block_t *block) {
  for (size_t i = 0; i < block->parameters.count; ++i) bind_type(b, block->parameters.data[i]->type);
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->block_count; ++i) BYOC_RETURN_IF_ERROR(bind_block(b, node->blocks[i]));
    BYOC_RETURN_IF_ERROR(bind_results(b, node));
  }
  return BYOC_OK;
}

byoc_status_t byoc_shapes_bind(byoc_function_t *function, byoc_diag_t *diag) {
  binder_t b = {.allocator = function->module->allocator, .diag = diag};
  byoc_text_map_init(&b.bound, b.allocator);
  byoc_status_t status = bind_block(&b, function->body);
  byoc_vector_deinit(&b.dims, b.allocator);
  byoc_map_deinit(&b.bound);
  return status == BYOC_OK && b.failed ? byoc_diag_out_of_memory(diag) : status;
}

// ---- operands that are not read ----

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
