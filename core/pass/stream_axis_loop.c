// SPDX-License-Identifier: Apache-2.0
// Makes a Loop of the nodes of one stage. An iteration takes its parts of the values from outside, and gives its parts
// of those that are read outside; they are stacked and brought into their shape behind the loop:
//
//   %y = Relu(%x)  →  %ys = Loop(parts) [body (%turn) {
//                       Part(%x, %turn), Relu, ...
//                     }], %y = View(%ys)
//
// Parts that do not lie in one piece are gathered. The nodes that are made here are for target `c`; backends do not
// claim them.
#include "byoc/call.h"
#include "core/op/util.h"
#include "core/ops/byoc/storage.h"
#include "core/pass/stream_axis.h"

typedef struct slice_t {
  const byoc_value_t *value;
  int32_t dim;
  byoc_value_t *part;
} slice_t;

typedef struct builder_t {
  byoc_stream_axis_t *s;
  byoc_block_t *block;
  uint32_t stage;
  BYOC_VECTOR(byoc_node_t *) nodes;  // of the stage, in order
  BYOC_VECTOR(byoc_value_t *) given; // their results that are read outside
  BYOC_VECTOR(slice_t) slices;       // of this iteration
  byoc_map_t made;                   // pointer map: result of a node of the stage → the one in the body
  byoc_allocator_t allocator;
  byoc_node_t *loop;
  byoc_block_t *body;
} builder_t;

static byoc_status_t out_of_memory(const builder_t *b) {
  return byoc_diag_out_of_memory(b->s->diag);
}

// ---- a node's work on one part ----

// A constant that holds the result's shape, like that of Expand, becomes the shape of a part.
static byoc_status_t adapt_shape(byoc_node_t *copy, uint32_t operand, const byoc_axis_t *axis, const byoc_type_t *whole,
                                 byoc_diag_t *diag) {
  const byoc_value_t *value = copy->operands[operand];
  int64_t sizes[BYOC_MAX_RANK];
  if (!byoc_value_is_constant(value) || value->type->dtype != BYOC_DTYPE_I64 ||
      byoc_type_element_count(value->type) != whole->rank) {
    return BYOC_OK;
  }
  for (int32_t d = 0; d < whole->rank; ++d) {
    sizes[d] = byoc_constant_element_i64(value->constant, d);
    if (sizes[d] != whole->dims[d].constant && (sizes[d] != 1 || d == axis->dim)) return BYOC_OK;
  }
  sizes[axis->dim] /= axis->parts;
  byoc_constant_t *constant = byoc_constant_create(copy->function->module, "shape", value->type, sizes);
  byoc_value_t *shape = constant != NULL ? byoc_function_constant(copy->function, constant) : NULL;
  return shape != NULL && byoc_node_set_operand(copy, operand, shape) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t reshape(byoc_block_t *block, byoc_value_t *x, const byoc_type_t *type, byoc_diag_t *diag,
                             byoc_node_t **out_node) {
  byoc_graph_module_t *module = block->function->module;
  int64_t sizes[BYOC_MAX_RANK];
  const int64_t rank = type->rank;
  for (int32_t d = 0; d < type->rank; ++d) sizes[d] = type->dims[d].constant;
  const byoc_type_t *list = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I64, 1, &rank);
  byoc_constant_t *constant = list != NULL ? byoc_constant_create(module, "shape", list, sizes) : NULL;
  byoc_value_t *shape = constant != NULL ? byoc_function_constant(block->function, constant) : NULL;
  byoc_value_t *operands[] = {x, shape};
  *out_node = shape != NULL ? byoc_op_create(block, NULL, "", "Reshape", operands, 2, 1, diag) : NULL;
  return *out_node != NULL ? BYOC_OK : byoc_diag_failure(diag);
}

// Inference must find the types of parts.
static byoc_status_t infer_part(const byoc_node_t *node, const byoc_axis_t *axis, byoc_node_t *copy,
                                byoc_diag_t *diag) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    type = byoc_stream_axis_part(&copy->function->module->arena, type, axis->results[r], axis->parts);
    if (type == NULL) return byoc_diag_out_of_memory(diag);
    copy->results[r]->type = type;
  }
  return byoc_infer_node(copy, diag);
}

static byoc_status_t copy_node(const byoc_node_t *node, const byoc_axis_t *axis, byoc_block_t *block,
                               byoc_value_t *const *operands, byoc_diag_t *diag, byoc_node_t **out_node) {
  byoc_node_t *copy = byoc_node_create(block, NULL, node->domain, node->op, node->since_version, operands,
                                       node->operand_count, node->result_count);
  *out_node = copy;
  if (copy == NULL || !byoc_attributes_copy(&copy->attributes, &node->attributes)) return byoc_diag_out_of_memory(diag);
  byoc_diag_t verdict = {0};
  const byoc_status_t status = infer_part(node, axis, copy, &verdict);
  if (status == BYOC_OK) return BYOC_OK;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_adopt(diag, &verdict);
  const byoc_op_t *op = byoc_op_of(node);
  for (uint32_t i = 0; i < node->operand_count && i < 32; ++i) {
    if ((op->shape_operands >> i & 1) == 0 || node->operands[i] == NULL) continue;
    BYOC_RETURN_IF_ERROR(adapt_shape(copy, i, axis, node->results[0]->type, diag));
  }
  return infer_part(node, axis, copy, diag);
}

byoc_status_t byoc_stream_axis_write(const byoc_node_t *node, const byoc_axis_t *axis, byoc_block_t *block,
                                     byoc_value_t *const *operands, byoc_diag_t *diag, byoc_node_t **out_node) {
  *out_node = NULL;
  if (byoc_op_of(node)->is_view) {
    const byoc_type_t *type = node->results[0]->type;
    type = byoc_stream_axis_part(&block->function->module->arena, type, axis->results[0], axis->parts);
    if (type == NULL) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(reshape(block, operands[0], type, diag, out_node));
  } else {
    BYOC_RETURN_IF_ERROR(copy_node(node, axis, block, operands, diag, out_node));
  }
  (*out_node)->name = node->name;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    (*out_node)->results[r]->name = node->results[r]->name;
    (*out_node)->results[r]->device = node->results[r]->device;
  }
  return BYOC_OK;
}

// ---- parts of values from outside ----

// [a, size, b] as [a, parts, size / parts, b]; NULL if out of memory.
static const byoc_type_t *parted(byoc_arena_t *arena, const byoc_type_t *type, int32_t dim, int64_t parts) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) dims[d < dim ? d : d + 1] = type->dims[d];
  dims[dim] = byoc_dim_constant(parts);
  dims[dim + 1] = byoc_dim_constant(type->dims[dim].constant / parts);
  return byoc_type_tensor(arena, type->dtype, type->rank + 1, dims);
}

// Moves dimension `from` to `to`.
static byoc_status_t move_dim(const builder_t *b, byoc_node_t *before, byoc_value_t *x, int32_t from, int32_t to,
                              byoc_value_t **out_value) {
  int64_t permutation[BYOC_MAX_RANK];
  const int32_t rank = x->type->rank;
  for (int32_t d = 0, next = 0; d < rank; ++d) {
    if (next == from) ++next;
    permutation[d] = d == to ? from : next++;
  }
  const byoc_attribute_t attribute = {
      .name = "perm", .kind = BYOC_ATTRIBUTE_INTS, .ints = permutation, .count = (size_t)rank};
  byoc_node_t *node = byoc_op_create_with(b->block, before, "", "Transpose", &x, 1, 1, &attribute, 1, b->s->diag);
  if (node == NULL) return byoc_diag_failure(b->s->diag);
  node->results[0]->device = x->device;
  *out_value = node->results[0];
  return BYOC_OK;
}

static bool lies_in_one_piece(const byoc_type_t *type, int32_t dim) {
  for (int32_t d = 0; d < dim; ++d) {
    if (type->dims[d].constant != 1) return false;
  }
  return true;
}

static byoc_status_t view(const builder_t *b, byoc_node_t *before, byoc_value_t *x, const byoc_type_t *type,
                          byoc_value_t **out_view) {
  byoc_node_t *node = byoc_node_create(b->block, before, "byoc", "View", 1, &x, 1, 1);
  if (node == NULL || type == NULL) return out_of_memory(b);
  *out_view = node->results[0];
  (*out_view)->type = type;
  (*out_view)->device = x->device;
  return BYOC_OK;
}

// The value with the parts as a dimension of their own, *out_axis. That of constants is the first one: they are
// rearranged when they are folded.
static byoc_status_t part_dimension(const builder_t *b, byoc_value_t *value, int32_t dim, byoc_value_t **out_value,
                                    int32_t *out_axis) {
  *out_value = byoc_stream_axis_dim(b->s, value) == dim ? byoc_pointer_map_get(&b->s->stacked, value) : NULL;
  *out_axis = 0;
  if (*out_value != NULL) return BYOC_OK;
  const byoc_type_t *type = parted(&b->s->function->module->arena, value->type, dim, b->s->parts);
  BYOC_RETURN_IF_ERROR(view(b, b->loop, value, type, out_value));
  *out_axis = byoc_value_is_constant(value) ? 0 : dim;
  return *out_axis == dim ? BYOC_OK : move_dim(b, b->loop, *out_value, dim, 0, out_value);
}

// Part `turn` of a value whose parts lie one behind the other.
static byoc_status_t take_part(const builder_t *b, byoc_value_t *whole, const byoc_type_t *type,
                               byoc_node_t **out_node) {
  *out_node =
      byoc_turning_part_create(b->body, NULL, whole, b->body->parameters.data[0], 0, byoc_type_size_bytes(type), type);
  return *out_node != NULL ? BYOC_OK : out_of_memory(b);
}

static byoc_status_t gather_part(const builder_t *b, byoc_value_t *value, int32_t dim, byoc_node_t **out_node) {
  int32_t axis = 0;
  byoc_value_t *whole = NULL;
  BYOC_RETURN_IF_ERROR(part_dimension(b, value, dim, &whole, &axis));
  byoc_value_t *operands[] = {whole, b->body->parameters.data[0]};
  const byoc_attribute_t along = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = axis};
  *out_node = byoc_op_create_with(b->body, NULL, "", "Gather", operands, 2, 1, &along, 1, b->s->diag);
  return *out_node != NULL ? BYOC_OK : byoc_diag_failure(b->s->diag);
}

static byoc_status_t slice(builder_t *b, byoc_value_t *value, int32_t dim, byoc_value_t **out_part) {
  byoc_stream_axis_t *s = b->s;
  for (size_t i = 0; i < b->slices.count; ++i) {
    const slice_t *known = &b->slices.data[i];
    *out_part = known->part;
    if (known->value == value && known->dim == dim) return BYOC_OK;
  }
  const byoc_type_t *type = byoc_stream_axis_part(&s->function->module->arena, value->type, dim, s->parts);
  if (type == NULL) return out_of_memory(b);
  byoc_value_t *whole = byoc_stream_axis_dim(s, value) == dim ? byoc_pointer_map_get(&s->stacked, value) : NULL;
  if (whole == NULL && lies_in_one_piece(value->type, dim)) whole = value;
  byoc_node_t *node = NULL;
  // Backends rely on the alignment of their operands. Without a backend, kernels read a part in place at any byte.
  if (whole != NULL && byoc_type_size_bytes(type) % BYOC_BUFFER_ALIGNMENT == 0) {
    BYOC_RETURN_IF_ERROR(take_part(b, whole, type, &node));
  } else {
    BYOC_RETURN_IF_ERROR(gather_part(b, value, dim, &node));
  }
  *out_part = node->results[0];
  (*out_part)->name = value->name;
  (*out_part)->device = value->device;
  const slice_t made = {value, dim, *out_part};
  return byoc_vector_push(&b->slices, b->allocator, made) ? BYOC_OK : out_of_memory(b);
}

// ---- the loop ----

static bool is_of_stage(const builder_t *b, const byoc_node_t *node) {
  const byoc_cut_t *cut = node != NULL ? byoc_stream_axis_cut(b->s, node) : NULL;
  return cut != NULL && cut->is_cut && cut->stage == b->stage;
}

static bool is_read_outside(const builder_t *b, const byoc_value_t *value) {
  for (size_t u = 0; u < value->uses.count; ++u) {
    if (!is_of_stage(b, value->uses.data[u].node)) return true;
  }
  return false;
}

static byoc_status_t collect(builder_t *b) {
  BYOC_FOR_EACH_NODE(node, b->block) {
    if (!is_of_stage(b, node)) continue;
    if (!byoc_vector_push(&b->nodes, b->allocator, node)) return out_of_memory(b);
    for (uint32_t r = 0; r < node->result_count; ++r) {
      if (!is_read_outside(b, node->results[r])) continue;
      if (!byoc_vector_push(&b->given, b->allocator, node->results[r])) return out_of_memory(b);
    }
  }
  return BYOC_OK;
}

static byoc_status_t begin_loop(builder_t *b) {
  byoc_graph_module_t *module = b->s->function->module;
  byoc_arena_t *arena = &module->arena;
  const byoc_type_t *index = byoc_type_tensor(arena, BYOC_DTYPE_I64, 0, NULL);
  const byoc_type_t *condition = byoc_type_tensor(arena, BYOC_DTYPE_BOOL, 0, NULL);
  byoc_constant_t *constant = index != NULL ? byoc_constant_create(module, "parts", index, &b->s->parts) : NULL;
  byoc_value_t *trips = constant != NULL ? byoc_function_constant(b->s->function, constant) : NULL;
  if (trips == NULL || condition == NULL) return out_of_memory(b);
  byoc_value_t *operands[] = {trips, NULL};
  const byoc_op_t *op = byoc_op_find("", "Loop", BYOC_OPSET_NEWEST);
  b->loop = byoc_node_create(b->block, NULL, "", "Loop", op->since_version, operands, 2, (uint32_t)b->given.count);
  b->body = b->loop != NULL && byoc_node_set_name(b->loop, b->s->name) ? byoc_node_add_block(b->loop, "body") : NULL;
  if (b->body == NULL || byoc_block_add_parameter(b->body, "part", index) == NULL ||
      byoc_block_add_parameter(b->body, "go_on", condition) == NULL) {
    return out_of_memory(b);
  }
  return BYOC_OK;
}

static byoc_status_t add_node(builder_t *b, const byoc_node_t *node) {
  byoc_stream_axis_t *s = b->s;
  const byoc_axis_t *axis = &byoc_stream_axis_cut(s, node)->axis;
  byoc_value_t **operands = BYOC_ARENA_ARRAY(&s->scratch, byoc_value_t *, node->operand_count);
  if (operands == NULL) return out_of_memory(b);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *value = node->operands[i];
    operands[i] = value;
    if (value == NULL) continue;
    if (byoc_stream_axis_is_inside(s, node, i)) {
      operands[i] = byoc_pointer_map_get(&b->made, value);
    } else if (axis->operands[i] >= 0) {
      BYOC_RETURN_IF_ERROR(slice(b, value, axis->operands[i], &operands[i]));
    }
  }
  byoc_node_t *copy = NULL;
  BYOC_RETURN_IF_ERROR(byoc_stream_axis_write(node, axis, b->body, operands, s->diag, &copy));
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (!byoc_pointer_map_put(&b->made, node->results[r], copy->results[r])) return out_of_memory(b);
  }
  return BYOC_OK;
}

static byoc_status_t end_loop(builder_t *b) {
  bool ok = byoc_block_add_result(b->body, "go_on", b->body->parameters.data[1]);
  for (size_t i = 0; i < b->given.count && ok; ++i) {
    byoc_value_t *value = b->given.data[i];
    ok = byoc_block_add_result(b->body, value->name, byoc_pointer_map_get(&b->made, value));
    b->loop->results[i]->device = value->device;
  }
  return ok ? byoc_infer_node(b->loop, b->s->diag) : out_of_memory(b);
}

// Puts the stacked parts in the place of the value that they are parts of.
static byoc_status_t restore(builder_t *b, byoc_value_t *value, byoc_value_t *stacked) {
  byoc_stream_axis_t *s = b->s;
  const int32_t dim = byoc_stream_axis_dim(s, value);
  byoc_value_t *whole = stacked, *restored = NULL;
  if (!lies_in_one_piece(value->type, dim)) BYOC_RETURN_IF_ERROR(move_dim(b, NULL, stacked, 0, dim, &whole));
  BYOC_RETURN_IF_ERROR(view(b, NULL, whole, value->type, &restored));
  restored->name = value->name;
  restored->device = value->device;
  const bool ok = byoc_pointer_map_put(&s->stacked, restored, stacked) &&
                  byoc_pointer_map_put(&s->dims, restored, (void *)(uintptr_t)(dim + 1)) &&
                  byoc_value_replace_uses(value, restored);
  return ok ? BYOC_OK : out_of_memory(b);
}

static byoc_status_t make_loop(builder_t *b) {
  BYOC_RETURN_IF_ERROR(collect(b));
  if (b->nodes.count == 0) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(begin_loop(b));
  for (size_t i = 0; i < b->nodes.count; ++i) {
    char text[256];
    byoc_node_describe(b->nodes.data[i], text, sizeof text);
    BYOC_RETURN_IF_ERROR_IN(b->s->diag, add_node(b, b->nodes.data[i]), "%s", text);
  }
  BYOC_RETURN_IF_ERROR(end_loop(b));
  for (size_t i = 0; i < b->given.count; ++i) {
    BYOC_RETURN_IF_ERROR(restore(b, b->given.data[i], b->loop->results[i]));
  }
  for (size_t i = b->nodes.count; i > 0; --i) byoc_node_erase(b->nodes.data[i - 1]);
  return byoc_block_sort(b->block, b->s->diag);
}

byoc_status_t byoc_stream_axis_loop(byoc_stream_axis_t *s, uint32_t stage) {
  builder_t b = {.s = s, .block = s->function->body, .stage = stage, .allocator = s->function->module->allocator};
  byoc_pointer_map_init(&b.made, b.allocator);
  byoc_status_t status = make_loop(&b);
  byoc_map_deinit(&b.made);
  byoc_vector_deinit(&b.slices, b.allocator);
  byoc_vector_deinit(&b.given, b.allocator);
  byoc_vector_deinit(&b.nodes, b.allocator);
  return status;
}
