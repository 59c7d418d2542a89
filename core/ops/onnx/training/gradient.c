// SPDX-License-Identifier: Apache-2.0
// Gradient of ai.onnx.preview.training. It names a value y of its graph and values xs on which y depends. Its results
// are the gradients of y by each of xs. The operands are the values of xs (and of zs, which are constant).
#include "core/ops/onnx/training/gradient.h"

#include <string.h>

#include "core/op/util.h"

static byoc_status_t infer_gradient(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  size_t x_count = 0, z_count = 0;
  (void)byoc_node_texts(node, "xs", &x_count);
  (void)byoc_node_texts(node, "zs", &z_count);
  if (x_count + z_count != node->operand_count || node->result_count > x_count) {
    return byoc_infer_error(infer, "%u operands and %u results do not fit %zu names in xs and %zu in zs",
                            node->operand_count, node->result_count, x_count, z_count);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!node->operands[i]) return byoc_infer_error(infer, "operand %u is left out", i);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) node->results[i]->type = node->operands[i]->type;
  return BYOC_OK;
}

// ---- the sub-graph between xs and y ----

static byoc_value_t *find_in_block(const byoc_block_t *block, const char *name) {
  for (size_t i = 0; i < block->parameters.count; ++i) {
    byoc_value_t *value = block->parameters.data[i];
    if (value->name != NULL && strcmp(value->name, name) == 0) return value;
  }
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t r = 0; r < node->result_count; ++r) {
      byoc_value_t *value = node->results[r];
      if (value->name != NULL && strcmp(value->name, name) == 0) return value;
    }
  }
  return NULL;
}

static byoc_value_t *find_value(const byoc_node_t *node, const char *name, byoc_diag_t *diag) {
  byoc_value_t *found = find_in_block(node->block, name);
  if (found == NULL) byoc_diag_error(diag, BYOC_INVALID_DATA, "the graph around this operator has no value '%s'", name);
  return found;
}

// Nodes of the sub-graph, in the order of the block, and the copies of the named values.
typedef struct section_t {
  byoc_map_t copies; // pointer map: value → its copy
  BYOC_VECTOR(byoc_node_t *) nodes;
} section_t;

static bool add_producers(section_t *section, const byoc_value_t *value, byoc_map_t *wanted) {
  if (byoc_pointer_map_find(&section->copies, value) != NULL) return true;
  byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || byoc_pointer_map_find(wanted, node) != NULL) return true;
  if (!byoc_pointer_map_put(wanted, node, node)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != NULL && !add_producers(section, node->operands[i], wanted)) return false;
  }
  return true;
}

static byoc_status_t bind_names(byoc_node_t *node, const char *attribute, uint32_t first, section_t *section,
                                byoc_diag_t *diag) {
  size_t count = 0;
  const char *const *names = byoc_node_texts(node, attribute, &count);
  for (size_t i = 0; i < count; ++i) {
    byoc_value_t *value = find_value(node, names[i], diag);
    if (value == NULL) return BYOC_INVALID_DATA;
    if (!byoc_pointer_map_put(&section->copies, value, node->operands[first + i])) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// Copies the nodes between the operands and y, and inserts the copies before the node; `nodes` holds them.
static byoc_status_t copy_section(byoc_node_t *node, section_t *section, byoc_allocator_t allocator, byoc_diag_t *diag,
                                  byoc_value_t **out_y) {
  byoc_value_t *y = find_value(node, byoc_node_text(node, "y"), diag);
  if (y == NULL) return BYOC_INVALID_DATA;
  size_t x_count = 0;
  (void)byoc_node_texts(node, "xs", &x_count);
  BYOC_RETURN_IF_ERROR(bind_names(node, "xs", 0, section, diag));
  BYOC_RETURN_IF_ERROR(bind_names(node, "zs", (uint32_t)x_count, section, diag));
  byoc_map_t wanted;
  byoc_pointer_map_init(&wanted, allocator);
  bool ok = add_producers(section, y, &wanted);
  byoc_node_t *last = node->previous;
  for (byoc_node_t *at = node->block->first; at != NULL && last != NULL && ok; at = at->next) {
    if (byoc_pointer_map_find(&wanted, at) != NULL) {
      byoc_node_t *copy = byoc_node_clone(at, node->block, node, &section->copies);
      ok = copy != NULL && byoc_vector_push(&section->nodes, allocator, copy);
    }
    if (at == last) break; // the copies come after it
  }
  byoc_map_deinit(&wanted);
  *out_y = byoc_pointer_map_get(&section->copies, y);
  if (!ok) return byoc_diag_out_of_memory(diag);
  if (*out_y != NULL) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "the value y must be made before this operator");
}

// ---- gradients ----

void byoc_gradient_refuse(byoc_gradient_t *gradient, const byoc_node_t *node, const char *why) {
  if (gradient->status != BYOC_OK) return;
  char text[160];
  byoc_node_describe(node, text, sizeof(text));
  gradient->status = byoc_diag_error(gradient->diag, BYOC_UNSUPPORTED, "%s is not differentiated: %s", text, why);
}

// Sums `value` over the elements that broadcasting repeated when it started from a tensor of type `type`.
static byoc_value_t *sum_to(byoc_gradient_t *g, byoc_value_t *value, const byoc_type_t *type) {
  if (byoc_type_equal(value->type, type)) return value;
  if (!byoc_type_is_static(value->type) || !byoc_type_is_static(type)) {
    byoc_gradient_refuse(g, g->w.node, "operands are broadcast whose sizes are known at run time only");
    return NULL;
  }
  int64_t axes[BYOC_MAX_RANK], dims[BYOC_MAX_RANK] = {0}, count = 0;
  int32_t shift = value->type->rank - type->rank;
  for (int32_t d = 0; d < value->type->rank; ++d) {
    bool repeated = d < shift || (type->dims[d - shift].constant == 1 && value->type->dims[d].constant != 1);
    if (repeated) axes[count++] = d;
  }
  for (int32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[d].constant;
  if (count > 0) {
    value = byoc_write_node(&g->w, "", "ReduceSum", value,
                            byoc_write_vector(&g->w, "axes", BYOC_DTYPE_I64, count, axes), NULL, NULL, 0);
  }
  return byoc_write_reshape(&g->w, value, dims, type->rank);
}

void byoc_gradient_add(byoc_gradient_t *gradient, byoc_value_t *to, byoc_value_t *contribution) {
  if (gradient->status != BYOC_OK || to == NULL || contribution == NULL) return;
  contribution = sum_to(gradient, contribution, to->type);
  byoc_value_t *known = byoc_pointer_map_get(&gradient->adjoints, to);
  if (known != NULL && contribution != NULL) {
    contribution = byoc_write_node(&gradient->w, "", "Add", known, contribution, NULL, NULL, 0);
  }
  if (gradient->status != BYOC_OK) return;
  if (contribution == NULL || !byoc_pointer_map_put(&gradient->adjoints, to, contribution)) gradient->w.failed = true;
}

// A tensor of the shape and type of `like`, filled with one number.
static byoc_value_t *filled(byoc_gradient_t *g, byoc_value_t *like, float number) {
  byoc_value_t *one =
      byoc_write_cast(&g->w, byoc_write_vector(&g->w, "seed", BYOC_DTYPE_F32, 1, &number), like->type->dtype);
  byoc_value_t *shape = byoc_write_node(&g->w, "", "Shape", like, NULL, NULL, NULL, 0);
  const int64_t none = 0; // of length 0: a scalar
  byoc_value_t *scalar = byoc_write_node(&g->w, "", "Reshape", one,
                                         byoc_write_vector(&g->w, "scalar", BYOC_DTYPE_I64, 0, &none), NULL, NULL, 0);
  return byoc_write_node(&g->w, "", "Expand", scalar, shape, NULL, NULL, 0);
}

static void walk_back(byoc_gradient_t *g, const section_t *section) {
  for (size_t i = section->nodes.count; i-- > 0 && g->status == BYOC_OK;) {
    byoc_node_t *node = section->nodes.data[i];
    byoc_value_t *dy = byoc_pointer_map_get(&g->adjoints, node->results[0]);
    for (uint32_t r = 1; r < node->result_count; ++r) {
      if (byoc_pointer_map_get(&g->adjoints, node->results[r]) != NULL) {
        byoc_gradient_refuse(g, node, "a result beyond the first counts");
      }
    }
    if (dy == NULL) continue;
    byoc_gradient_rule_t rule = byoc_gradient_rule(node);
    if (rule == NULL) byoc_gradient_refuse(g, node, "there is no rule for this operator");
    if (rule != NULL) rule(g, node, dy);
  }
}

// Gradient(xs, zs) → a copy of the nodes from xs and zs to y, then their derivatives from y back to xs
static byoc_status_t expand_gradient(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_allocator_t allocator = node->function->module->allocator;
  byoc_gradient_t g = {.w = {.node = node, .diag = diag}, .diag = diag};
  section_t section = {0};
  byoc_value_t *y = NULL;
  byoc_pointer_map_init(&g.adjoints, allocator);
  byoc_pointer_map_init(&section.copies, allocator);
  g.status = copy_section(node, &section, allocator, diag, &y);
  if (g.status == BYOC_OK) byoc_gradient_add(&g, y, filled(&g, y, 1.0f));
  if (g.status == BYOC_OK) walk_back(&g, &section);
  for (uint32_t i = 0; i < node->result_count && g.status == BYOC_OK && !g.w.failed; ++i) {
    byoc_value_t *result = byoc_pointer_map_get(&g.adjoints, node->operands[i]);
    if (result == NULL) result = filled(&g, node->operands[i], 0.0f);
    if (result == NULL || !byoc_value_replace_uses(node->results[i], result)) g.w.failed = true;
  }
  if (g.status == BYOC_OK && g.w.failed) g.status = byoc_diag_failure(diag);
  *out_changed = g.status == BYOC_OK;
  byoc_vector_deinit(&section.nodes, allocator);
  byoc_map_deinit(&section.copies);
  byoc_map_deinit(&g.adjoints);
  return g.status;
}

static const byoc_op_attribute_t gradient_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRINGS, "xs")},
    {BYOC_ATTR_REQUIRED(STRING, "y")},
    {BYOC_ATTR(STRINGS, "zs")},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_gradient[] = {
    {.domain = "ai.onnx.preview.training",
     .name = "Gradient",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = -1,
     .min_outputs = 1,
     .max_outputs = -1,
     .attributes = gradient_attributes,
     .infer = infer_gradient,
     .expand = expand_gradient},
};
const size_t byoc_ops_gradient_count = sizeof byoc_ops_gradient / sizeof *byoc_ops_gradient;
