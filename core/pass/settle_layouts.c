// SPDX-License-Identifier: Apache-2.0
// settle-layouts: handles the layout changes that partitioning left. Pairs that meet are removed. Operators behind a
// FromBlocked are computed in blocks, so that the change moves towards the results and meets the next one.
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/ops/byoc/blocked.h"
#include "core/pass/batch_norm.h"
#include "core/pass/layouts.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// ---- which operators ----

bool byoc_is_batch_of_maps(const byoc_type_t *type) {
  if (!byoc_is_ranked(type) || type->rank != 4) return false;
  if (byoc_dim_is_constant(type->dims[0]) && type->dims[0].constant == 0) return false;
  for (int32_t d = 1; d < 4; ++d) {
    if (!byoc_dim_is_constant(type->dims[d]) || type->dims[d].constant == 0) return false;
  }
  return true;
}

// One element, or one per channel.
static bool is_channel_constant(const byoc_value_t *value, int64_t channels) {
  if (!byoc_value_is_constant(value) || !byoc_type_is_static(value->type) || value->type->rank > 4) return false;
  int64_t count = byoc_type_element_count(value->type);
  if (count == 1) return true;
  int32_t axis = value->type->rank - 3; // of the channels
  return axis >= 0 && count == channels && value->type->dims[axis].constant == channels;
}

bool byoc_is_channelwise(const byoc_node_t *node) {
  if (!byoc_node_has_trait(node, BYOC_OP_ELEMENTWISE) || node->result_count != 1 || node->block_count > 0) return false;
  const byoc_type_t *type = node->results[0]->type;
  if (!byoc_is_batch_of_maps(type)) return false;
  byoc_batch_norm_t norm;
  if (byoc_read_batch_norm(node, type->dims[1].constant, &norm)) return true;
  if (byoc_attributes_find(&node->attributes, "axis") != NULL) return false;
  bool is_clip = byoc_node_is_onnx(node, "Clip"), has_tensor = false;
  if (node->operand_count > 1 && !is_clip && !byoc_node_has_trait(node, BYOC_OP_BROADCASTS)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *operand = node->operands[i];
    if (operand == NULL || is_channel_constant(operand, type->dims[1].constant)) continue;
    if (byoc_value_is_constant(operand) || (is_clip && i > 0) || !byoc_type_equal(operand->type, type)) return false;
    has_tensor = true;
  }
  return has_tensor;
}

bool byoc_is_channel_pool(const byoc_node_t *node) {
  bool is_pool = byoc_node_has_trait(node, BYOC_OP_CHANNELWISE) || byoc_node_is_onnx(node, "GlobalAveragePool");
  return is_pool && node->result_count == 1 && byoc_is_ranked(node->results[0]->type) &&
         node->results[0]->type->rank == 4;
}

bool byoc_is_channel_concat(const byoc_node_t *node) {
  return byoc_node_is_onnx(node, "Concat") && byoc_is_ranked(node->results[0]->type) &&
         node->results[0]->type->rank == 4 && byoc_node_axis(node, "axis", 4) == 1;
}

// ---- the same operators on blocks ----

// The blocked tensor whose plain form an operand is; NULL if it is another tensor's.
static byoc_value_t *blocked_operand(const byoc_value_t *value) {
  const byoc_node_t *from = byoc_value_open_producer(value);
  return byoc_is_from_blocked(from) && byoc_is_usual_layout(from) ? from->operands[0] : NULL;
}

// One element per channel as [C/16,1,1,16]: the same bytes.
static byoc_value_t *blocked_constant(byoc_node_t *node, byoc_value_t *value) {
  int64_t count = byoc_type_element_count(value->type);
  if (count == 1 && value->type->rank <= 4) return value;
  byoc_graph_module_t *module = node->function->module;
  const int64_t dims[] = {count / BYOC_LAYOUT_BLOCK, 1, 1, BYOC_LAYOUT_BLOCK};
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, value->type->dtype, 4, dims);
  byoc_constant_t *constant =
      type ? byoc_constant_wrap(module, value->constant->name, type, value->constant->data) : NULL;
  return constant ? byoc_function_constant(node->function, constant) : NULL;
}

static bool copy_list(byoc_node_t *to, const byoc_node_t *from, const char *name, int64_t inner, size_t halves) {
  int64_t values[6];
  size_t count = 0, filled = 0;
  const int64_t *given = byoc_node_ints(from, name, &count);
  if (given == NULL) return true;
  for (size_t half = 0; half < halves; ++half) {
    for (size_t i = 0; i < 2; ++i) values[filled++] = given[half * 2 + i];
    values[filled++] = inner;
  }
  return byoc_attributes_set_ints(&to->attributes, name, values, filled);
}

// A pool over [N,C/16,H,W,16] has a third spatial dimension, along which its window is one element wide.
static bool widen_pool(byoc_node_t *pool, const byoc_node_t *from) {
  return byoc_attributes_copy(&pool->attributes, &from->attributes) && copy_list(pool, from, "kernel_shape", 1, 1) &&
         copy_list(pool, from, "strides", 1, 1) && copy_list(pool, from, "dilations", 1, 1) &&
         copy_list(pool, from, "pads", 0, 2);
}

static byoc_node_t *create_mean(byoc_node_t *node, byoc_value_t *blocked) {
  static const int64_t plane[] = {2, 3};
  byoc_node_t *mean = byoc_node_create(node->block, node, "", "ReduceMean", 13, &blocked, 1, 1);
  if (mean == NULL || !byoc_attributes_set_ints(&mean->attributes, "axes", plane, 2)) return NULL;
  return mean;
}

// Batch normalisation as a product and a sum.
static byoc_node_t *create_normalised(byoc_node_t *node, const byoc_batch_norm_t *norm, byoc_value_t *blocked) {
  const int64_t dims[] = {norm->channels / BYOC_LAYOUT_BLOCK, 1, 1, BYOC_LAYOUT_BLOCK};
  void *factors = NULL, *shifts = NULL;
  byoc_value_t *product[] = {blocked, byoc_pass_constant_like(node, node->operands[1], 4, dims, &factors)};
  byoc_value_t *sum[] = {NULL, byoc_pass_constant_like(node, node->operands[2], 4, dims, &shifts)};
  if (product[1] == NULL || sum[1] == NULL) return NULL;
  for (int64_t c = 0; c < norm->channels; ++c) {
    ((float *)factors)[c] = (float)byoc_batch_norm_factor(norm, c);
    ((float *)shifts)[c] = (float)byoc_batch_norm_of(norm, c, 0.0);
  }
  byoc_node_t *scaled = byoc_op_create(node->block, node, "", "Mul", product, 2, 1, NULL);
  if (scaled == NULL) return NULL;
  sum[0] = scaled->results[0];
  sum[0]->device = node->results[0]->device;
  return byoc_op_create(node->block, node, "", "Add", sum, 2, 1, NULL);
}

// The operator on blocked operands; its result's type is not known yet. *out_fits: there is such an operator.
static byoc_node_t *create_blocked(byoc_node_t *node, bool *out_fits) {
  byoc_value_t *operands[64];
  bool is_channelwise = byoc_is_channelwise(node);
  byoc_batch_norm_t norm;
  *out_fits = false;
  if (is_channelwise && byoc_read_batch_norm(node, node->results[0]->type->dims[1].constant, &norm)) {
    byoc_value_t *blocked = blocked_operand(node->operands[0]);
    *out_fits = blocked != NULL;
    return blocked != NULL ? create_normalised(node, &norm, blocked) : NULL;
  }
  if (!is_channelwise && !byoc_is_channel_pool(node) && !byoc_is_channel_concat(node)) return NULL;
  if (node->operand_count > sizeof(operands) / sizeof(operands[0])) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = blocked_operand(node->operands[i]);
    bool stays = is_channelwise && (node->operands[i] == NULL || byoc_value_is_constant(node->operands[i]));
    if (operands[i] == NULL && !stays) return NULL;
  }
  *out_fits = true;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (operands[i] != NULL || node->operands[i] == NULL) continue;
    operands[i] = blocked_constant(node, node->operands[i]);
    if (operands[i] == NULL) return NULL;
  }
  if (byoc_node_is_onnx(node, "GlobalAveragePool")) return create_mean(node, operands[0]);
  byoc_node_t *made = byoc_node_create(node->block, node, node->domain, node->op, node->since_version, operands,
                                       node->operand_count, 1);
  bool ok = made != NULL && (byoc_is_channel_pool(node) ? widen_pool(made, node)
                                                        : byoc_attributes_copy(&made->attributes, &node->attributes));
  if (ok && byoc_is_channel_concat(node)) ok = byoc_attributes_set_int(&made->attributes, "axis", 1);
  return ok ? made : NULL;
}

// ---- rewriting ----

typedef struct settling_t {
  byoc_map_t touched; // pointer map: nodes that are removed once nobody reads them
  byoc_diag_t *diag;
  size_t *changes;
} settling_t;

static bool touch(settling_t *s, byoc_node_t *node) {
  return byoc_pointer_map_put(&s->touched, node, node);
}

// f(FromBlocked(x), ...) → FromBlocked(f(x, ...))
static byoc_status_t move_down(settling_t *s, byoc_node_t *node) {
  byoc_diag_t *diag = s->diag;
  bool fits = false;
  byoc_node_t *made = create_blocked(node, &fits);
  if (!fits) return BYOC_OK;
  if (made == NULL || !byoc_node_set_name(made, node->name)) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_infer_node(made, diag));
  made->results[0]->device = node->results[0]->device;
  byoc_node_t *from = byoc_create_from_blocked(node->block, node, made->results[0]);
  if (from == NULL) return byoc_diag_out_of_memory(diag);
  if (!touch(s, made) || !touch(s, from)) return byoc_diag_out_of_memory(diag);
  if (node->results[0]->name != NULL) byoc_value_set_name(from->results[0], node->results[0]->name);
  if (!byoc_value_replace_uses(node->results[0], from->results[0])) return byoc_diag_out_of_memory(diag);
  *s->changes += 1;
  return BYOC_OK;
}

// FromBlocked(ToBlocked(x)) → x, and the other way round
static byoc_status_t cancel(settling_t *s, byoc_node_t *node) {
  const byoc_node_t *inner = byoc_value_open_producer(node->operands[0]);
  if (!byoc_is_layout_change(node) || !byoc_is_layout_change(inner)) return BYOC_OK;
  if (byoc_is_to_blocked(node) == byoc_is_to_blocked(inner) || !byoc_same_blocks(node, inner)) return BYOC_OK;
  if (!byoc_value_serves(inner->operands[0], node->results[0])) return BYOC_OK;
  if (!byoc_value_replace_uses(node->results[0], inner->operands[0])) return byoc_diag_out_of_memory(s->diag);
  *s->changes += 1;
  return BYOC_OK;
}

typedef byoc_status_t (*rewrite_t)(settling_t *s, byoc_node_t *node);

// Goes through the block in order, then backwards to remove unused nodes: layout changes, and nodes that were rewritten
// or made, all of which are in `touched`.
static byoc_status_t rewrite_block(settling_t *s, byoc_block_t *block, const rewrite_t *rewrites) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(rewrite_block(s, node->blocks[b], rewrites));
    }
    size_t before = *s->changes;
    for (size_t i = 0; rewrites[i] != NULL && *s->changes == before; ++i) {
      if (node->callee == NULL) BYOC_RETURN_IF_ERROR(rewrites[i](s, node));
    }
    bool is_touched = *s->changes > before || byoc_is_layout_change(node);
    if (is_touched && !touch(s, node)) return byoc_diag_out_of_memory(s->diag);
  }
  for (byoc_node_t *node = block->last, *previous; node != NULL; node = previous) {
    previous = node->previous;
    if (byoc_pointer_map_find(&s->touched, node) != NULL && byoc_pass_is_unused(node)) byoc_node_erase(node);
  }
  return BYOC_OK;
}

static byoc_status_t rewrite_module(byoc_graph_module_t *module, const rewrite_t *rewrites, byoc_diag_t *diag,
                                    size_t *changes) {
  byoc_status_t status = BYOC_OK;
  settling_t s = {.diag = diag, .changes = changes};
  byoc_pointer_map_init(&s.touched, module->allocator);
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind == BYOC_FUNCTION_GRAPH && status == BYOC_OK)
      status = rewrite_block(&s, function->body, rewrites);
  }
  byoc_map_deinit(&s.touched);
  return status;
}

byoc_status_t byoc_pass_settle_layouts(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  static const rewrite_t rewrites[] = {cancel, move_down, NULL};
  return rewrite_module(module, rewrites, diag, changes);
}

byoc_status_t byoc_pass_cancel_layouts(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  static const rewrite_t rewrites[] = {cancel, NULL};
  return rewrite_module(module, rewrites, diag, changes);
}
