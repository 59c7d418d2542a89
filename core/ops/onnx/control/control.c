// SPDX-License-Identifier: Apache-2.0
// If and Loop, which the host program runs.
#include "core/ops/onnx/control/control.h"

#include <string.h>

// ---- dimensions known around a node ----

static void dim_key(byoc_dim_t leaf, char buffer[128]) {
  if (byoc_dim_is_unknown(leaf)) {
    snprintf(buffer, 128, "?%llu", (unsigned long long)leaf.expr->id);
  } else {
    snprintf(buffer, 128, "%s", leaf.expr->symbol);
  }
}

static bool note_leaf(void *self, byoc_dim_t leaf) {
  byoc_around_t *around = self;
  char key[128];
  dim_key(leaf, key);
  if (!byoc_string_map_put(&around->known, key, around)) around->failed = true;
  return true;
}

static void note_value(byoc_around_t *around, const byoc_value_t *value) {
  const byoc_type_t *type = value ? value->type : NULL;
  while (type && (type->kind == BYOC_TYPE_SEQUENCE || type->kind == BYOC_TYPE_OPTIONAL)) type = type->element;
  for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) byoc_dim_walk(type->dims[d], note_leaf, around);
}

static bool is_inside(const byoc_value_t *value, const byoc_node_t *node) {
  const byoc_block_t *block = value->kind == BYOC_VALUE_RESULT ? value->node->block : value->block;
  for (; block && block->owner; block = block->owner->block) {
    if (block->owner == node) return true;
  }
  return false;
}

static void note_read(byoc_around_t *around, const byoc_value_t *value) {
  if (value && value->kind != BYOC_VALUE_CONSTANT && !is_inside(value, around->infer->node)) note_value(around, value);
}

static void note_reads(byoc_around_t *around, const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->operand_count; ++i) note_read(around, node->operands[i]);
    for (uint32_t i = 0; i < node->block_count; ++i) note_reads(around, node->blocks[i]);
  }
  for (size_t i = 0; i < block->results.count; ++i) note_read(around, block->results.data[i]);
}

void byoc_around_init(byoc_around_t *around, const byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  *around = (byoc_around_t){.infer = infer};
  byoc_string_map_init(&around->known, node->function->module->allocator);
  for (uint32_t i = 0; i < node->operand_count; ++i) note_value(around, node->operands[i]);
  for (uint32_t i = 0; i < node->block_count; ++i) note_reads(around, node->blocks[i]);
}

void byoc_around_deinit(byoc_around_t *around) {
  byoc_map_deinit(&around->known);
}

static bool leaf_is_known(void *self, byoc_dim_t leaf) {
  const byoc_around_t *around = self;
  char key[128];
  dim_key(leaf, key);
  return byoc_string_map_find(&around->known, key) != NULL;
}

static const byoc_type_t *join_tensors(byoc_around_t *around, const byoc_type_t *a, const byoc_type_t *b) {
  byoc_arena_t *arena = around->infer->arena;
  if (a->dtype != b->dtype) return NULL;
  if (a->rank != b->rank || a->rank == BYOC_RANK_UNKNOWN) {
    return byoc_type_tensor(arena, a->dtype, BYOC_RANK_UNKNOWN, NULL);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < a->rank; ++d) {
    dims[d] = a->dims[d];
    bool same = byoc_dim_equal(a->dims[d], b->dims[d]) && byoc_dim_walk(a->dims[d], leaf_is_known, around);
    if (!same) dims[d] = byoc_infer_unknown_dim(around->infer, &around->failed);
  }
  return byoc_type_tensor(arena, a->dtype, a->rank, dims);
}

const byoc_type_t *byoc_join_types(byoc_around_t *around, const byoc_type_t *a, const byoc_type_t *b) {
  if (a->kind == BYOC_TYPE_UNKNOWN) a = b; // a branch that cannot run
  if (b->kind == BYOC_TYPE_UNKNOWN) b = a;
  if (a->kind == BYOC_TYPE_UNKNOWN) return a;
  // A value counts as an optional that holds it.
  if (a->kind == BYOC_TYPE_OPTIONAL && b->kind != BYOC_TYPE_OPTIONAL) a = a->element;
  if (b->kind == BYOC_TYPE_OPTIONAL && a->kind != BYOC_TYPE_OPTIONAL) b = b->element;
  if (a->kind != b->kind) return NULL;
  const byoc_type_t *type = NULL;
  if (a->kind == BYOC_TYPE_TENSOR) {
    type = join_tensors(around, a, b);
    if (!type && a->dtype == b->dtype) around->failed = true;
    return type;
  }
  const byoc_type_t *element = byoc_join_types(around, a->element, b->element);
  if (!element) return NULL;
  type = a->kind == BYOC_TYPE_SEQUENCE ? byoc_type_sequence(around->infer->arena, element)
                                       : byoc_type_optional(around->infer->arena, element);
  if (!type) around->failed = true;
  return type;
}

// ---- inference ----

// Result `result` gets the type that holds both.
static byoc_status_t set_joined(byoc_around_t *around, uint32_t result, const byoc_type_t *a, const byoc_type_t *b,
                                const char *what) {
  const byoc_infer_t *infer = around->infer;
  const byoc_type_t *type = byoc_join_types(around, a, b);
  if (around->failed) return byoc_diag_out_of_memory(infer->diag);
  if (!type) {
    char one[BYOC_TYPE_TEXT_SIZE], other[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "result %u is %s %s %s", result, byoc_type_text(a, one), what,
                            byoc_type_text(b, other));
  }
  infer->node->results[result]->type = type;
  return BYOC_OK;
}

static bool is_bool(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL;
}

static byoc_status_t infer_if(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_block_t *yes = byoc_node_find_block(node, "then_branch"), *no = byoc_node_find_block(node, "else_branch");
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_bool, "a bool"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 0));
  if (yes->results.count != node->result_count || no->results.count != node->result_count) {
    return byoc_infer_error(infer, "its branches give %zu and %zu results, it has %u", yes->results.count,
                            no->results.count, node->result_count);
  }
  byoc_around_t around;
  byoc_around_init(&around, infer);
  byoc_status_t status = BYOC_OK;
  for (uint32_t i = 0; i < node->result_count && status == BYOC_OK; ++i) {
    status =
        set_joined(&around, i, yes->results.data[i]->type, no->results.data[i]->type, "in one branch, in the other");
  }
  byoc_around_deinit(&around);
  return status;
}

static bool is_true(const byoc_value_t *value) {
  int64_t truth = 0;
  return byoc_value_scalar_i64(value, &truth) && truth != 0;
}

// The number of iterations, if the trip count alone decides it.
static byoc_dim_t trip_count(const byoc_infer_t *infer, const byoc_block_t *body, bool *failed) {
  const byoc_node_t *node = infer->node;
  const byoc_value_t *next = body->results.data[0];
  bool counted = byoc_has_operand(node, 0) && (!byoc_has_operand(node, 1) || is_true(node->operands[1])) &&
                 (next == body->parameters.data[1] || is_true(next));
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!counted || !byoc_shape_value(node->operands[0], infer->arena, &count, dims) || count != 1) {
    return byoc_infer_unknown_dim(infer, failed);
  }
  bool is_dim = byoc_dim_is_leaf(dims[0]); // dimensions are never negative
  return is_dim ? dims[0] : byoc_infer_dim(infer, BYOC_DIM_MAX, dims[0], byoc_dim_constant(0), failed);
}

static byoc_status_t set_stacked(byoc_around_t *around, uint32_t result, const byoc_type_t *type, byoc_dim_t trips) {
  const byoc_infer_t *infer = around->infer;
  if (!byoc_type_is_tensor(type)) return byoc_infer_error(infer, "result %u: only tensors are stacked", result);
  if (!byoc_is_ranked(type)) return byoc_infer_set_unranked(infer, result, type->dtype);
  if (type->rank == BYOC_MAX_RANK)
    return byoc_infer_error(infer, "result %u: ranks above %d are not supported", result, BYOC_MAX_RANK);
  byoc_dim_t dims[BYOC_MAX_RANK] = {trips};
  const byoc_type_t *seen = byoc_join_types(around, type, type);
  if (!seen || around->failed) return byoc_diag_out_of_memory(infer->diag);
  for (int32_t d = 0; d < type->rank; ++d) dims[d + 1] = seen->dims[d];
  return byoc_infer_set(infer, result, type->dtype, type->rank + 1, dims);
}

static byoc_status_t infer_loop(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_block_t *body = byoc_node_find_block(node, "body");
  if (byoc_has_operand(node, 0)) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "a trip count"));
  if (byoc_has_operand(node, 1)) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_bool, "a bool"));
  const size_t carried = node->operand_count > 2 ? node->operand_count - 2 : 0;
  if (body->parameters.count != carried + 2 || body->results.count != (size_t)node->result_count + 1 ||
      node->result_count < carried) {
    return byoc_infer_error(infer, "it carries %zu values and has %u results; its body takes %zu and gives %zu",
                            carried, node->result_count, body->parameters.count, body->results.count);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 0));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  for (uint32_t i = 2; i < node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_fit(infer, i, body->parameters.data[i]->type, 0));
  }
  byoc_around_t around;
  byoc_around_init(&around, infer);
  bool failed = false;
  byoc_dim_t trips = node->result_count > carried ? trip_count(infer, body, &failed) : byoc_dim_constant(0);
  byoc_status_t status = byoc_infer_memory(infer, failed);
  for (uint32_t i = 0; i < node->result_count && status == BYOC_OK; ++i) {
    const byoc_type_t *given = body->results.data[i + 1]->type;
    if (i >= carried) {
      status = set_stacked(&around, i, given, trips);
    } else if (!node->operands[i + 2]) {
      status = byoc_infer_error(infer, "operand %u is left out", i + 2);
    } else {
      status = set_joined(&around, i, body->parameters.data[i + 2]->type, given, "when it comes in, and then");
    }
  }
  byoc_around_deinit(&around);
  return status;
}

// ---- known before the run ----

static bool all_static(byoc_value_t *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (values[i] == NULL || values[i]->type == NULL || !byoc_type_is_static(values[i]->type)) return false;
  }
  return true;
}

static bool is_static_node(const byoc_node_t *node) {
  static const char *const run_by_the_host[] = {"CheckDims",    "CheckRange",    "DeviceCopy", "DevicesReady",
                                                "EnginesReady", "Fail",          "Join",       "OnDevice",
                                                "Text",         "ThreadsAtLeast"};
  if (node->block_count > 0) return byoc_control_is_static(node);
  bool ok = !byoc_node_has_trait(node, BYOC_OP_HOST);
  for (size_t i = 0; i < sizeof(run_by_the_host) / sizeof(run_by_the_host[0]) && !ok; ++i) {
    ok = byoc_node_is(node, "byoc", run_by_the_host[i]);
  }
  return ok && all_static(node->results, node->result_count);
}

static bool nodes_are_static(const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(nested, block) {
    if (!is_static_node(nested)) return false;
  }
  return true;
}

static bool same_types(byoc_value_t *const *a, byoc_value_t *const *b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!byoc_type_equal(a[i]->type, b[i]->type)) return false;
  }
  return true;
}

static bool if_is_static(const byoc_node_t *node) {
  for (uint32_t b = 0; b < node->block_count; ++b) {
    const byoc_block_t *block = node->blocks[b];
    if (block->results.count != node->result_count) return false;
    if (!same_types(block->results.data, node->results, node->result_count) || !nodes_are_static(block)) return false;
  }
  return all_static(node->operands, node->operand_count);
}

// Does the body pass its condition on unchanged, so that it never ends the loop?
static bool goes_on_always(const byoc_block_t *body) {
  const byoc_value_t *given = body->parameters.data[1], *next = body->results.data[0];
  for (size_t i = 0; i < given->uses.count; ++i) {
    const byoc_use_t *use = &given->uses.data[i];
    if (use->node != NULL || use->block != body || use->index != 0) return false;
  }
  return next == given || is_true(next);
}

// Stacked results: elements follow each other.
static bool is_stack(const byoc_value_t *value) {
  return value->type->rank > 0 && byoc_dtype_bits(value->type->dtype) % 8 == 0;
}

static bool loop_is_static(const byoc_node_t *node) {
  const byoc_block_t *body = byoc_node_find_block(node, "body");
  const size_t carried = node->operand_count > 2 ? node->operand_count - 2 : 0;
  int64_t iterations = 0;
  if (body == NULL || body->parameters.count != carried + 2 || body->results.count != (size_t)node->result_count + 1 ||
      !byoc_has_operand(node, 0) || !byoc_value_scalar_i64(node->operands[0], &iterations)) {
    return false;
  }
  const byoc_type_t *iteration = body->parameters.data[0]->type;
  if (iteration == NULL || !byoc_type_is_static(iteration) || iteration->dtype != BYOC_DTYPE_I64) return false;
  if ((byoc_has_operand(node, 1) && !is_true(node->operands[1])) || !goes_on_always(body)) return false;
  if (!all_static(body->results.data + 1, node->result_count)) return false;
  if (carried > 0 && (!all_static(node->operands + 2, carried) ||
                      !same_types(node->operands + 2, body->parameters.data + 2, carried) ||
                      !same_types(node->operands + 2, body->results.data + 1, carried) ||
                      !same_types(node->operands + 2, node->results, carried))) {
    return false;
  }
  for (size_t k = carried; k < node->result_count; ++k) {
    if (!is_stack(node->results[k]) || node->results[k]->type->dims[0].constant != byoc_static_loop_iterations(node)) {
      return false;
    }
  }
  return nodes_are_static(body);
}

bool byoc_control_is_static(const byoc_node_t *node) {
  if (!all_static(node->results, node->result_count)) return false;
  if (byoc_node_is_onnx(node, "If")) return if_is_static(node);
  return byoc_node_is_onnx(node, "Loop") && loop_is_static(node);
}

int64_t byoc_static_loop_iterations(const byoc_node_t *loop) {
  int64_t iterations = 0;
  (void)byoc_value_scalar_i64(loop->operands[0], &iterations);
  return iterations > 0 ? iterations : 0;
}

static const byoc_op_attribute_t if_attributes[] = {
    {BYOC_ATTR_BLOCK("then_branch")},
    {BYOC_ATTR_BLOCK("else_branch")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t loop_attributes[] = {
    {BYOC_ATTR_BLOCK("body")},
    BYOC_ATTR_END,
};

#define IF(version)                                                                                                    \
  {                                                                                                                    \
    .domain = "", .name = "If", .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,          \
    .max_outputs = -1, .traits = BYOC_OP_CONTROL, .attributes = if_attributes, .infer = infer_if                       \
  }
#define LOOP(version)                                                                                                  \
  {                                                                                                                    \
    .domain = "", .name = "Loop", .since_version = version, .min_inputs = 0, .max_inputs = -1, .min_outputs = 1,       \
    .max_outputs = -1, .traits = BYOC_OP_CONTROL, .attributes = loop_attributes, .infer = infer_loop                   \
  }

const byoc_op_t byoc_ops_control[] = {
    IF(1),   IF(11),   IF(13),   IF(16),   IF(19),   IF(21),   IF(23),
    LOOP(1), LOOP(11), LOOP(13), LOOP(16), LOOP(19), LOOP(21), LOOP(23),
};
const size_t byoc_ops_control_count = sizeof byoc_ops_control / sizeof *byoc_ops_control;
