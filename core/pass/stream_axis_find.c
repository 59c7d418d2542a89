// SPDX-License-Identifier: Apache-2.0
// Follows an axis through a function: which nodes are cut along it, and in which loop each of them stands.
#include "core/op/util.h"
#include "core/pass/stream_axis.h"

int32_t byoc_stream_axis_dim(const byoc_stream_axis_t *s, const byoc_value_t *value) {
  return (int32_t)(uintptr_t)byoc_pointer_map_get(&s->dims, value) - 1;
}

static byoc_status_t set_dim(byoc_stream_axis_t *s, const byoc_value_t *value, int32_t dim) {
  return byoc_pointer_map_put(&s->dims, value, (void *)(uintptr_t)(dim + 1)) ? BYOC_OK
                                                                             : byoc_diag_out_of_memory(s->diag);
}

bool byoc_stream_axis_is_inside(const byoc_stream_axis_t *s, const byoc_node_t *node, uint32_t operand) {
  const byoc_value_t *value = node->operands[operand];
  const byoc_cut_t *cut = byoc_stream_axis_cut(s, node);
  const byoc_cut_t *made =
      value != NULL && value->kind == BYOC_VALUE_RESULT ? byoc_stream_axis_cut(s, value->node) : NULL;
  return made != NULL && made->is_cut && made->stage == cut->stage;
}

// ---- may a node be cut? ----

const byoc_type_t *byoc_stream_axis_part(byoc_arena_t *arena, const byoc_type_t *type, int32_t dim, int64_t parts) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[d];
  dims[dim] = byoc_dim_constant(dims[dim].constant / parts);
  return byoc_type_tensor(arena, type->dtype, type->rank, dims);
}

// The operands with which the node is tried: values of the types that it will get.
static byoc_status_t probe_operands(byoc_stream_axis_t *s, const byoc_node_t *node, const byoc_axis_t *axis,
                                    byoc_value_t **operands) {
  byoc_function_t *probe = s->probe;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *value = node->operands[i];
    if (value == NULL) continue;
    if (axis->operands[i] < 0 && byoc_value_is_constant(value)) {
      operands[i] = byoc_function_constant(probe, value->constant);
    } else {
      const byoc_type_t *type = value->type;
      if (axis->operands[i] >= 0) {
        type = byoc_stream_axis_part(&probe->module->arena, type, axis->operands[i], axis->parts);
      }
      operands[i] = type != NULL ? byoc_block_add_parameter(probe->body, NULL, type) : NULL;
    }
    if (operands[i] == NULL) return byoc_diag_out_of_memory(s->diag);
  }
  return BYOC_OK;
}

// An attribute or a constant may hold a size of the whole: then inference finds another type for a part.
static byoc_status_t probe(byoc_stream_axis_t *s, const byoc_node_t *node, const byoc_axis_t *axis, bool *out_fits) {
  byoc_graph_module_t *module = node->function->module;
  *out_fits = false;
  if (s->probe == NULL) {
    const char *name = byoc_graph_module_unique_name(module, "part");
    s->probe = name != NULL ? byoc_function_create(module, name) : NULL;
  }
  byoc_value_t **operands = BYOC_ARENA_ARRAY(&s->scratch, byoc_value_t *, node->operand_count);
  if (s->probe == NULL || operands == NULL) return byoc_diag_out_of_memory(s->diag);
  BYOC_RETURN_IF_ERROR(probe_operands(s, node, axis, operands));
  byoc_diag_t verdict = {0};
  byoc_node_t *tried = NULL;
  const byoc_status_t status = byoc_stream_axis_write(node, axis, s->probe->body, operands, &verdict, &tried);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_adopt(s->diag, &verdict);
  *out_fits = status == BYOC_OK;
  if (tried != NULL) byoc_node_erase(tried);
  return BYOC_OK;
}

// How many of the operands that have the axis are cut along it.
static uint32_t followed(const byoc_stream_axis_t *s, const byoc_node_t *node, const byoc_axis_t *axis) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const int32_t dim = node->operands[i] != NULL ? byoc_stream_axis_dim(s, node->operands[i]) : -1;
    count += dim >= 0 && dim == axis->operands[i];
  }
  return count;
}

static bool has_room(const byoc_node_t *node) { // for one more dimension
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (type != NULL && (!byoc_type_is_tensor(type) || type->rank >= BYOC_MAX_RANK)) return false;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    if (!byoc_type_is_tensor(type) || type->rank >= BYOC_MAX_RANK) return false;
  }
  return node->result_count > 0;
}

// Tries each dimension of the result; one along which most operands are cut wins.
static byoc_status_t choose(byoc_stream_axis_t *s, const byoc_node_t *node, byoc_cut_t *cut) {
  byoc_axis_t axis = {.parts = s->parts};
  uint32_t best = 0;
  if (!has_room(node)) return BYOC_OK;
  for (int32_t dim = 0; dim < node->results[0]->type->rank; ++dim) {
    axis.operands = BYOC_ARENA_ARRAY(&s->scratch, int32_t, node->operand_count);
    axis.results = BYOC_ARENA_ARRAY(&s->scratch, int32_t, node->result_count);
    if (axis.operands == NULL || axis.results == NULL) return byoc_diag_out_of_memory(s->diag);
    if (!byoc_node_cut(node, dim, &axis)) continue;
    const uint32_t count = followed(s, node, &axis);
    if (count <= best) continue;
    bool fits = false;
    BYOC_RETURN_IF_ERROR(probe(s, node, &axis, &fits));
    if (!fits) continue;
    best = count;
    cut->axis = axis;
    cut->is_cut = true;
  }
  return BYOC_OK;
}

// ---- stages ----

// The stage from which on a value is there as a whole.
static uint32_t whole_after(const byoc_stream_axis_t *s, const byoc_value_t *value) {
  const byoc_node_t *node = value != NULL ? byoc_value_producer(value) : NULL;
  const byoc_cut_t *made = node != NULL ? byoc_stream_axis_cut(s, node) : NULL;
  return made == NULL ? 0 : made->stage + made->is_cut;
}

typedef struct latest_t {
  const byoc_stream_axis_t *s;
  uint32_t stage;
} latest_t;

static void wait_for(latest_t *latest, uint32_t stage) {
  if (stage > latest->stage) latest->stage = stage;
}

static bool wait_for_nested(void *self, byoc_node_t *node) {
  latest_t *latest = self;
  for (uint32_t i = 0; i < node->operand_count; ++i) wait_for(latest, whole_after(latest->s, node->operands[i]));
  for (uint32_t b = 0; b < node->block_count; ++b) {
    for (size_t r = 0; r < node->blocks[b]->results.count; ++r) {
      wait_for(latest, whole_after(latest->s, node->blocks[b]->results.data[r]));
    }
  }
  return true;
}

static uint32_t stage_of(const byoc_stream_axis_t *s, byoc_node_t *node, const byoc_cut_t *cut) {
  latest_t latest = {.s = s};
  if (!cut->is_cut) {
    wait_for_nested(&latest, node);
    for (uint32_t b = 0; b < node->block_count; ++b) byoc_block_walk(node->blocks[b], wait_for_nested, &latest);
    return latest.stage;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *value = node->operands[i];
    if (value == NULL) continue;
    const uint32_t whole = whole_after(s, value);
    const bool is_of_loop =
        whole > 0 && byoc_value_producer(value) != NULL && byoc_stream_axis_cut(s, byoc_value_producer(value))->is_cut;
    // A part that a loop makes can be read in the same iteration.
    const bool is_part = is_of_loop && cut->axis.operands[i] == byoc_stream_axis_dim(s, value);
    wait_for(&latest, whole - is_part);
  }
  return latest.stage;
}

// ---- nodes in order ----

static bool is_view(const byoc_node_t *node) {
  const byoc_op_t *op = node->callee == NULL ? byoc_op_of(node) : NULL;
  return op != NULL && op->is_view;
}

static byoc_status_t refuse_view(byoc_stream_axis_t *s, const byoc_node_t *node) {
  const int32_t dim = byoc_stream_axis_dim(s, node->operands[0]);
  const byoc_type_t *from = node->operands[0]->type, *to = node->results[0]->type;
  int64_t before = 1, before_to = 1;
  for (int32_t d = 0; d < dim; ++d) before *= from->dims[d].constant;
  bool is_split = false;
  for (int32_t d = 0; d < to->rank; ++d) {
    is_split |= before_to == before;
    before_to *= to->dims[d].constant;
  }
  char text[256];
  byoc_node_describe(node, text, sizeof text);
  byoc_diag_error(
      s->diag, BYOC_UNSUPPORTED, "the axis '%s', dimension %d of %lld, %s by %s", s->name, dim,
      (long long)from->dims[dim].constant,
      is_split ? "is split into dimensions that are not made of whole parts" : "is merged with those before it", text);
  byoc_diag_hint(s->diag, is_split ? "take fewer parts, or another axis" : "take the first of the merged dimensions");
  return BYOC_UNSUPPORTED;
}

static bool same_shape(const byoc_value_t *a, const byoc_value_t *b) {
  if (!byoc_type_is_tensor(a->type) || !byoc_type_is_tensor(b->type) || a->type->rank != b->type->rank) return false;
  for (int32_t d = 0; d < a->type->rank; ++d) {
    if (!byoc_dim_equal(a->type->dims[d], b->type->dims[d])) return false;
  }
  return true;
}

// A result of a node that is not cut has the axis if it has the shape of the operand.
static byoc_status_t go_on_behind(byoc_stream_axis_t *s, const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *operand = node->operands[i];
    const int32_t dim = operand != NULL ? byoc_stream_axis_dim(s, operand) : -1;
    if (dim < 0) continue;
    if (s->obstacle == NULL) s->obstacle = node;
    if (is_view(node)) return refuse_view(s, node);
    for (uint32_t r = 0; r < node->result_count; ++r) {
      if (same_shape(operand, node->results[r])) BYOC_RETURN_IF_ERROR(set_dim(s, node->results[r], dim));
    }
  }
  return BYOC_OK;
}

static bool reads_axis(const byoc_stream_axis_t *s, const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != NULL && byoc_stream_axis_dim(s, node->operands[i]) >= 0) return true;
  }
  return false;
}

static byoc_status_t find_in_node(byoc_stream_axis_t *s, byoc_node_t *node) {
  byoc_cut_t *cut = BYOC_ARENA_NEW(&s->scratch, byoc_cut_t);
  if (cut == NULL || !byoc_pointer_map_put(&s->cuts, node, cut)) return byoc_diag_out_of_memory(s->diag);
  const bool has_axis = reads_axis(s, node);
  if (has_axis) BYOC_RETURN_IF_ERROR(choose(s, node, cut));
  cut->stage = stage_of(s, node, cut);
  if (!cut->is_cut) return has_axis ? go_on_behind(s, node) : BYOC_OK;
  if (cut->stage >= s->stage_count) s->stage_count = cut->stage + 1;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    BYOC_RETURN_IF_ERROR(set_dim(s, node->results[r], cut->axis.results[r]));
  }
  return BYOC_OK;
}

// A loop of views alone would compute nothing.
static void leave_views(const byoc_stream_axis_t *s, uint32_t stage) {
  const byoc_block_t *body = s->function->body;
  BYOC_FOR_EACH_NODE(node, body) {
    const byoc_cut_t *cut = byoc_stream_axis_cut(s, node);
    if (cut->is_cut && cut->stage == stage && !is_view(node)) return;
  }
  BYOC_FOR_EACH_NODE(node, body) {
    byoc_cut_t *cut = byoc_stream_axis_cut(s, node);
    if (cut->stage == stage) cut->is_cut = false;
  }
}

byoc_status_t byoc_stream_axis_find(byoc_stream_axis_t *s) {
  BYOC_FOR_EACH_NODE(node, s->function->body) BYOC_RETURN_IF_ERROR(find_in_node(s, node));
  for (uint32_t stage = 0; stage < s->stage_count; ++stage) leave_views(s, stage);
  return BYOC_OK;
}
