// SPDX-License-Identifier: Apache-2.0
// Inference for nodes, functions and modules: checks counts and attributes, runs the row's infer, and merges the result
// with the known types, so that a second inference never loses precision.
#include <string.h>

#include "core/op/op.h"
#include "core/op/refusal.h"
#include "core/op/util.h"

static bool is_not_leaf(void *self, byoc_dim_t leaf) {
  return !byoc_dim_equal(leaf, *(const byoc_dim_t *)self);
}

static bool is_leaf_of(void *self, byoc_dim_t leaf) {
  return !byoc_dim_walk(*(const byoc_dim_t *)self, is_not_leaf, &leaf);
}

// Are all leaves of `part` leaves of `whole`, which also has others?
static bool has_fewer_leaves(byoc_dim_t part, byoc_dim_t whole) {
  return byoc_dim_walk(part, is_leaf_of, &whole) && !byoc_dim_walk(whole, is_leaf_of, &part);
}

// The more precise one of two descriptions of one dimension. Constants come first, then expressions and names, then
// unknown dimensions. Exception: an unknown dimension comes before an expression of which it is the only leaf that is
// no constant.
static bool merge_dim(byoc_dim_t known, byoc_dim_t inferred, byoc_dim_t *out) {
  *out = inferred;
  if (byoc_dim_is_constant(known) && byoc_dim_is_constant(inferred)) return known.constant == inferred.constant;
  if (byoc_dim_is_constant(inferred)) return true;
  const bool is_rest = !byoc_dim_is_constant(known) && has_fewer_leaves(inferred, known);
  if (byoc_dim_is_constant(known) || (inferred.expr->kind == BYOC_DIM_UNKNOWN && !is_rest)) *out = known;
  return true;
}

static bool merge_types(byoc_arena_t *arena, const byoc_type_t *known, const byoc_type_t *inferred,
                        const byoc_type_t **out, bool *failed) {
  *out = inferred;
  if (!known || known->kind == BYOC_TYPE_UNKNOWN) return true;
  if (!inferred || inferred->kind == BYOC_TYPE_UNKNOWN) {
    *out = known;
    return true;
  }
  if (known->kind != inferred->kind) return false;
  if (known->kind != BYOC_TYPE_TENSOR) {
    const byoc_type_t *element = NULL;
    if (!merge_types(arena, known->element, inferred->element, &element, failed)) return false;
    *out = known->kind == BYOC_TYPE_SEQUENCE ? byoc_type_sequence(arena, element) : byoc_type_optional(arena, element);
    if (!*out) *failed = true;
    return true;
  }
  if (known->dtype != inferred->dtype) return false;
  if (known->rank == BYOC_RANK_UNKNOWN) return true;
  if (inferred->rank == BYOC_RANK_UNKNOWN) {
    *out = known;
    return true;
  }
  if (known->rank != inferred->rank) return false;
  if (byoc_type_equal(known, inferred)) {
    *out = known;
    return true;
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t i = 0; i < known->rank; ++i) {
    if (!merge_dim(known->dims[i], inferred->dims[i], &dims[i])) return false;
  }
  *out = byoc_type_tensor(arena, known->dtype, known->rank, dims);
  if (!*out) *failed = true;
  return true;
}

static byoc_status_t merge_result(byoc_node_t *node, uint32_t index, const byoc_type_t *known, byoc_diag_t *diag) {
  byoc_value_t *value = node->results[index];
  bool failed = false;
  const byoc_type_t *inferred = value->type;
  if (!merge_types(&node->function->module->arena, known, inferred, &value->type, &failed)) {
    value->type = known;
    char where[256], a[BYOC_TYPE_TEXT_SIZE], b[BYOC_TYPE_TEXT_SIZE];
    byoc_node_describe(node, where, sizeof where);
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: result %u is declared %s, but is %s", where, index,
                           byoc_type_text(known, a), byoc_type_text(inferred, b));
  }
  return failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static byoc_status_t check_count(const byoc_node_t *node, const char *what, uint32_t count, int32_t least, int32_t most,
                                 byoc_diag_t *diag) {
  if ((int64_t)count >= least && (most < 0 || (int64_t)count <= most)) return BYOC_OK;
  char where[256], range[64];
  byoc_node_describe(node, where, sizeof where);
  if (most < 0) {
    snprintf(range, sizeof range, "at least %d", least);
  } else if (least == most) {
    snprintf(range, sizeof range, "%d", least);
  } else {
    snprintf(range, sizeof range, "%d to %d", least, most);
  }
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: expected %s %s%s, got %u", where, range, what,
                         most == 1 && least == 1 ? "" : "s", count);
}

static byoc_status_t infer_block(byoc_block_t *block, byoc_diag_t *diag);

// ---- calls: the callee's result types, with the caller's dimensions ----

typedef struct fresh_dim_t {
  byoc_dim_t of, dim;
  struct fresh_dim_t *next;
} fresh_dim_t;

typedef struct {
  const byoc_node_t *call;
  byoc_arena_t *arena;
  fresh_dim_t *fresh; // dimensions that are made inside the callee
  bool failed;
} call_t;

// Finds a parameter with the dimension, and the dimension of the caller's operand there.
static bool given_dim(const call_t *c, byoc_dim_t dim, byoc_dim_t *out) {
  for (uint32_t i = 0; i < c->call->operand_count; ++i) {
    const byoc_type_t *type = c->call->callee->body->parameters.data[i]->type;
    const byoc_type_t *given = byoc_operand_type(c->call, i);
    if (!byoc_is_ranked(type) || !byoc_is_ranked(given) || type->rank != given->rank) continue;
    for (int32_t d = 0; d < type->rank; ++d) {
      *out = given->dims[d];
      if (byoc_dim_equal(type->dims[d], dim)) return true;
    }
  }
  return false;
}

static bool caller_has(const call_t *c, byoc_dim_t leaf) {
  for (uint32_t i = 0; i < c->call->operand_count; ++i) {
    if (byoc_type_has_leaf(byoc_operand_type(c->call, i), leaf)) return true;
  }
  return false;
}

static byoc_dim_t caller_leaf(call_t *c, byoc_dim_t leaf) {
  if (leaf.expr->kind == BYOC_DIM_SYMBOL || caller_has(c, leaf)) return leaf;
  for (const fresh_dim_t *known = c->fresh; known; known = known->next) {
    if (byoc_dim_equal(known->of, leaf)) return known->dim;
  }
  fresh_dim_t *made = BYOC_ARENA_NEW(c->arena, fresh_dim_t);
  if (!made) {
    c->failed = true;
    return leaf;
  }
  *made = (fresh_dim_t){
      .of = leaf,
      .dim = byoc_dim_unknown(c->arena, c->call->function->module->next_id++, &c->failed),
      .next = c->fresh,
  };
  c->fresh = made;
  return made->dim;
}

// A parameter's dimension that is an expression as a whole is replaced by the caller's dimension.
static byoc_dim_t caller_dim(call_t *c, byoc_dim_t dim) {
  byoc_dim_t given;
  if (byoc_dim_is_constant(dim)) return dim;
  if (given_dim(c, dim, &given)) return given;
  if (byoc_dim_is_leaf(dim)) return caller_leaf(c, dim);
  byoc_dim_t left = caller_dim(c, dim.expr->left), right = caller_dim(c, dim.expr->right);
  if (byoc_dim_equal(left, dim.expr->left) && byoc_dim_equal(right, dim.expr->right)) return dim;
  return byoc_dim_binary(c->arena, dim.expr->kind, left, right, &c->failed);
}

static const byoc_type_t *caller_type(call_t *c, const byoc_type_t *type) {
  if (!byoc_is_ranked(type) || byoc_type_is_static(type)) return type;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    dims[d] = caller_dim(c, type->dims[d]);
  }
  return byoc_type_tensor(c->arena, type->dtype, type->rank, dims);
}

static byoc_status_t infer_call(byoc_node_t *node, byoc_diag_t *diag) {
  const byoc_block_t *body = node->callee->body;
  BYOC_RETURN_IF_ERROR(check_count(node, "operand", node->operand_count, (int32_t)body->parameters.count,
                                   (int32_t)body->parameters.count, diag));
  BYOC_RETURN_IF_ERROR(check_count(node, "result", node->result_count, (int32_t)body->results.count,
                                   (int32_t)body->results.count, diag));
  call_t call = {.call = node, .arena = &node->function->module->arena};
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_type_t *known = node->results[i]->type;
    const byoc_type_t *type = caller_type(&call, body->results.data[i]->type);
    if (!type || call.failed) return byoc_diag_out_of_memory(diag);
    node->results[i]->type = type;
    BYOC_RETURN_IF_ERROR(merge_result(node, i, known, diag));
  }
  return BYOC_OK;
}

static byoc_status_t unknown_operator(const byoc_node_t *node, byoc_diag_t *diag) {
  char where[256];
  byoc_node_describe(node, where, sizeof where);
  if (byoc_op_known(node->domain, node->op)) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s: operator '%s' is not known in this version of its domain",
                           where, node->op);
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s: operator '%s' is not known in domain '%s'", where,
                                         node->op, node->domain[0] ? node->domain : "ai.onnx");
  const char *nearest = byoc_op_nearest(node->domain, node->op);
  if (nearest) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  return status;
}

// Is the operator known, and does the node have an allowed number of operands and results, and allowed attributes?
static byoc_status_t check_schema(const byoc_node_t *node, byoc_diag_t *diag) {
  const byoc_op_t *op = byoc_op_of(node);
  if (!op) return unknown_operator(node, diag);
  BYOC_RETURN_IF_ERROR(check_count(node, "operand", node->operand_count, op->min_inputs, op->max_inputs, diag));
  BYOC_RETURN_IF_ERROR(check_count(node, "result", node->result_count, op->min_outputs, op->max_outputs, diag));
  for (int32_t i = 0; i < op->min_inputs; ++i) {
    if (node->operands[i]) continue;
    char where[256];
    byoc_node_describe(node, where, sizeof where);
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: operand %d is required, but left out", where, i);
  }
  // ResultShape has the attributes of the operator that it stands for.
  const byoc_op_t *schema = byoc_result_shape_of(node);
  return byoc_op_check_attributes(node, schema ? schema : op, diag);
}

byoc_status_t byoc_infer_node(byoc_node_t *node, byoc_diag_t *diag) {
  if (node->callee) return infer_call(node, diag);
  BYOC_RETURN_IF_ERROR(check_schema(node, diag));
  const byoc_op_t *op = byoc_op_of(node);
  enum { KEPT = 8 };
  const byoc_type_t *kept[KEPT];
  const byoc_type_t **known = kept;
  byoc_arena_t *arena = &node->function->module->arena;
  if (node->result_count > KEPT) {
    known = BYOC_ARENA_ARRAY(arena, const byoc_type_t *, node->result_count);
    if (!known) return byoc_diag_out_of_memory(diag);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) known[i] = node->results[i]->type;
  byoc_infer_t infer = {node, arena, op->since_version, diag, &node->function->module->next_id, NULL};
  byoc_status_t status = op->infer(&infer);
  if (status == BYOC_OK && arena->is_exhausted) status = byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) {
    for (uint32_t i = 0; i < node->result_count; ++i) node->results[i]->type = known[i];
    return status;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) BYOC_RETURN_IF_ERROR(merge_result(node, i, known[i], diag));
  return BYOC_OK;
}

// ---- branches that cannot run ----

static bool has_schema(void *diag, byoc_node_t *node) {
  return node->callee || check_schema(node, diag) == BYOC_OK;
}

byoc_status_t byoc_infer_branch_fault(byoc_block_t *block, byoc_status_t status, const byoc_diag_t *fault,
                                      byoc_diag_t *diag) {
  if (status != BYOC_INVALID_DATA) return status == BYOC_OK ? BYOC_OK : byoc_diag_adopt(diag, fault);
  byoc_diag_t of_schema = {0};
  if (!byoc_block_walk(block, has_schema, &of_schema)) return byoc_diag_adopt(diag, &of_schema);
  return BYOC_OK;
}

// A branch whose nodes contradict each other fails when it is run. One of the two branches must be valid.
static byoc_status_t infer_branches(byoc_node_t *node, byoc_diag_t *diag) {
  bool can_run = false;
  byoc_diag_t fault = {0};
  for (uint32_t i = 0; i < node->block_count; ++i) {
    byoc_diag_clear(&fault);
    byoc_status_t status = infer_block(node->blocks[i], &fault);
    BYOC_RETURN_IF_ERROR(byoc_infer_branch_fault(node->blocks[i], status, &fault, diag));
    can_run |= status == BYOC_OK && !byoc_refusal_of(node->blocks[i]);
    if (status == BYOC_OK) continue;
    if (i + 1 == node->block_count && !can_run) return byoc_diag_adopt(diag, &fault);
    BYOC_RETURN_IF_ERROR(byoc_refuse_branch(node->blocks[i], node->block_names[i], &fault, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_infer_nested(byoc_node_t *node, byoc_diag_t *diag) {
  if (byoc_node_is_onnx(node, "If")) BYOC_RETURN_IF_ERROR(infer_branches(node, diag));
  for (uint32_t i = 0; i < node->block_count && !byoc_node_is_onnx(node, "If"); ++i) {
    BYOC_RETURN_IF_ERROR(infer_block(node->blocks[i], diag));
  }
  if (node->callee) BYOC_RETURN_IF_ERROR(byoc_infer_function(node->callee, diag));
  return byoc_infer_node(node, diag);
}

static byoc_status_t infer_block(byoc_block_t *block, byoc_diag_t *diag) {
  BYOC_FOR_EACH_NODE(node, block) BYOC_RETURN_IF_ERROR(byoc_infer_nested(node, diag));
  return BYOC_OK;
}

byoc_status_t byoc_infer_function(byoc_function_t *function, byoc_diag_t *diag) {
  // Kernels and externs have types by their signature; their bodies are not inferred.
  if (function->kind != BYOC_FUNCTION_GRAPH) return BYOC_OK;
  BYOC_RETURN_IF_ERROR_IN(diag, infer_block(function->body, diag), "in function '%s'", function->name);
  return BYOC_OK;
}

byoc_status_t byoc_infer_module(byoc_graph_module_t *module, byoc_diag_t *diag) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_RETURN_IF_ERROR(byoc_infer_function(function, diag));
  }
  return BYOC_OK;
}
