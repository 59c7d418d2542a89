// SPDX-License-Identifier: Apache-2.0
// Scan and SequenceMap: both become a Loop that splits the operands into elements and stacks the results.
#include <string.h>

#include "core/op/write.h"
#include "core/ops/onnx/control/control.h"

// ---- types ----

static int64_t list_at(const byoc_node_t *node, const char *name, size_t index) {
  size_t count = 0;
  const int64_t *values = byoc_node_ints(node, name, &count);
  return values && index < count ? values[index] : 0;
}

// States, then scanned operands. Before version 9 an operand of lengths precedes them, and all have a batch dimension.
typedef struct {
  uint32_t first, states, scans; // operands
  bool batched;
} scan_t;

static scan_t read_scan(const byoc_node_t *node) {
  scan_t s = {.batched = node->since_version < 9};
  int64_t scans = byoc_node_int(node, "num_scan_inputs");
  s.first = s.batched ? 1 : 0;
  s.scans = scans < 0 ? 0 : (uint32_t)scans;
  s.states = node->operand_count >= s.first + s.scans ? node->operand_count - s.first - s.scans : 0;
  return s;
}

static byoc_status_t set_scanned(byoc_around_t *around, uint32_t result, const byoc_type_t *type, byoc_dim_t batch,
                                 byoc_dim_t length, const scan_t *s) {
  const byoc_infer_t *infer = around->infer;
  if (!byoc_is_ranked(type)) {
    if (!byoc_type_is_tensor(type)) return byoc_infer_error(infer, "result %u: only tensors are stacked", result);
    return byoc_infer_set_unranked(infer, result, type->dtype);
  }
  const byoc_type_t *seen = byoc_join_types(around, type, type);
  if (!seen || around->failed) return byoc_diag_out_of_memory(infer->diag);
  int32_t rank = type->rank + 1 + s->batched, axis = s->batched, from = 0;
  if (rank > BYOC_MAX_RANK)
    return byoc_infer_error(infer, "result %u: ranks above %d are not supported", result, BYOC_MAX_RANK);
  if (!s->batched && !byoc_normalize_axis(list_at(infer->node, "scan_output_axes", result - s->states), rank, &axis)) {
    return byoc_infer_error(infer, "attribute 'scan_output_axes': expected values in [%d, %d]", -rank, rank - 1);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) {
    dims[d] = d == axis ? length : s->batched && d == 0 ? batch : seen->dims[from];
    from += d != axis && !(s->batched && d == 0);
  }
  return byoc_infer_set(infer, result, type->dtype, rank, dims);
}

// No operand from `first` on may be left out.
static byoc_status_t need_given(const byoc_infer_t *infer, uint32_t first) {
  for (uint32_t i = first; i < infer->node->operand_count; ++i) {
    if (!infer->node->operands[i]) return byoc_infer_error(infer, "operand %u is left out", i);
  }
  return BYOC_OK;
}

// The parts of a scanned operand have the shape that the body declares for them.
static byoc_status_t need_parts(const byoc_infer_t *infer, const scan_t *s, uint32_t scan, const byoc_type_t *part) {
  const uint32_t index = s->first + s->states + scan;
  const byoc_type_t *x = byoc_operand_type(infer->node, index);
  int32_t axis = s->batched;
  if (!byoc_is_ranked(x) || !byoc_is_ranked(part)) return BYOC_OK;
  if (!s->batched && !byoc_normalize_axis(list_at(infer->node, "scan_input_axes", scan), x->rank, &axis)) {
    return BYOC_OK; // another check refuses it
  }
  for (int32_t d = s->batched, p = 0; d < x->rank && p < part->rank; ++d) {
    if (d == axis) continue;
    if (byoc_dim_is_constant(part->dims[p])) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, index, d, part->dims[p]));
    p += 1;
  }
  return BYOC_OK;
}

// One length for each batch, of at most as many elements as there are.
static byoc_status_t need_lengths(const byoc_infer_t *infer, uint32_t first_scan) {
  if (!byoc_has_operand(infer->node, 0)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "lengths of sequences"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 0, byoc_operand_type(infer->node, first_scan)->dims[0]));
  return byoc_infer_need_within(infer, 0, "lengths of sequences", byoc_side_of(infer, first_scan, 1));
}

static byoc_status_t infer_scan(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_block_t *body = byoc_node_find_block(infer->node, "body");
  scan_t s = read_scan(node);
  if (s.scans < 1 || node->operand_count < s.first + s.scans) {
    return byoc_infer_error(infer, "attribute 'num_scan_inputs': expected 1 to %u", node->operand_count - s.first);
  }
  if (body->parameters.count != s.states + s.scans || body->results.count != node->result_count ||
      node->result_count < s.states) {
    return byoc_infer_error(infer, "%u states and %u scanned operands; its body takes %zu and gives %zu", s.states,
                            s.scans, body->parameters.count, body->results.count);
  }
  BYOC_RETURN_IF_ERROR(need_given(infer, s.first));
  for (uint32_t i = s.first; i < node->operand_count; ++i) {
    int32_t cut = s.batched + (i >= s.first + s.states);
    const byoc_type_t *parameter = body->parameters.data[i - s.first]->type;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_fit(infer, i, parameter, cut));
    if (i < s.first + s.states) continue;
    BYOC_RETURN_IF_ERROR(need_parts(infer, &s, i - s.first - s.states, parameter));
  }
  const uint32_t first_scan = s.first + s.states;
  const byoc_type_t *x = byoc_operand_type(node, first_scan);
  bool failed = false;
  byoc_dim_t length = byoc_dim_constant(0), batch = length;
  int32_t axis = s.batched;
  if (byoc_is_ranked(x)) {
    if (!s.batched && !byoc_normalize_axis(list_at(node, "scan_input_axes", 0), x->rank, &axis)) {
      return byoc_infer_error(infer, "attribute 'scan_input_axes': expected values in [%d, %d]", -x->rank, x->rank - 1);
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, first_scan, 1 + s.batched, BYOC_MAX_RANK));
    length = x->dims[axis];
    batch = x->dims[0];
  } else {
    length = byoc_infer_unknown_dim(infer, &failed);
    batch = byoc_infer_unknown_dim(infer, &failed);
  }
  if (s.batched && byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(need_lengths(infer, first_scan));
  byoc_around_t around;
  byoc_around_init(&around, infer);
  byoc_status_t status = BYOC_OK;
  for (uint32_t i = 0; i < node->result_count && status == BYOC_OK; ++i) {
    if (i >= s.states) {
      status = set_scanned(&around, i, body->results.data[i]->type, batch, length, &s);
    } else if (byoc_operand_type(node, s.first + i)) { // states keep their shape
      node->results[i]->type = byoc_operand_type(node, s.first + i);
    } else {
      status = byoc_infer_error(infer, "operand %u is left out", s.first + i);
    }
  }
  byoc_around_deinit(&around);
  return status == BYOC_OK ? byoc_infer_memory(infer, failed) : status;
}

static byoc_status_t infer_map(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_block_t *body = byoc_node_find_block(infer->node, "body");
  BYOC_RETURN_IF_ERROR(need_given(infer, 0));
  if (node->operands[0]->type->kind != BYOC_TYPE_SEQUENCE) {
    return byoc_infer_error(infer, "operand 0: expected a sequence");
  }
  if (body->parameters.count != node->operand_count || body->results.count != node->result_count) {
    return byoc_infer_error(infer, "%u operands and %u results; its body takes %zu and gives %zu", node->operand_count,
                            node->result_count, body->parameters.count, body->results.count);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i), *inner = body->parameters.data[i]->type;
    bool is_sequence = type->kind == BYOC_TYPE_SEQUENCE;
    const byoc_type_t *whole = is_sequence ? byoc_type_sequence(infer->arena, inner) : inner;
    if (!whole) return byoc_diag_out_of_memory(infer->diag);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_fit(infer, i, whole, 0));
  }
  byoc_around_t around;
  byoc_around_init(&around, infer);
  byoc_status_t status = BYOC_OK;
  for (uint32_t i = 0; i < node->result_count && status == BYOC_OK; ++i) {
    const byoc_type_t *type = body->results.data[i]->type;
    const byoc_type_t *element = byoc_join_types(&around, type, type);
    const byoc_type_t *sequence = element ? byoc_type_sequence(infer->arena, element) : NULL;
    if (!sequence || around.failed) status = byoc_diag_out_of_memory(infer->diag);
    if (sequence) node->results[i]->type = sequence;
  }
  byoc_around_deinit(&around);
  return status;
}

// ---- building ----

typedef struct {
  byoc_node_t *node; // the node that is expanded
  byoc_diag_t *diag;
  byoc_node_t *loop;
  byoc_block_t *body; // of the loop
  byoc_map_t map;     // the old body's values → those in the new one
  bool failed;
} builder_t;

static byoc_value_t *make(builder_t *b, byoc_block_t *block, byoc_node_t *before, const char *op, byoc_value_t *x,
                          byoc_value_t *y, const byoc_attribute_t *attributes, size_t count) {
  byoc_value_t *operands[] = {x, y};
  byoc_node_t *made =
      b->failed || !x ? NULL
                      : byoc_op_create_with(block, before, "", op, operands, y ? 2 : 1, 1, attributes, count, b->diag);
  if (!made) b->failed = true;
  return made ? made->results[0] : NULL;
}

static byoc_value_t *vector_constant(builder_t *b, int32_t rank, int64_t value) {
  byoc_graph_module_t *module = b->node->function->module;
  static const int64_t one = 1;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I64, rank, &one);
  byoc_constant_t *constant = type ? byoc_constant_create(module, "at", type, &value) : NULL;
  byoc_value_t *made = constant ? byoc_function_constant(b->node->function, constant) : NULL;
  if (!made) b->failed = true;
  return made;
}

static void start_loop(builder_t *b, byoc_value_t *trips, byoc_value_t *const *carried, uint32_t carried_count,
                       uint32_t result_count) {
  byoc_arena_t *arena = &b->node->function->module->arena;
  byoc_pointer_map_init(&b->map, b->node->function->module->allocator);
  byoc_value_t **operands = BYOC_ARENA_ARRAY(arena, byoc_value_t *, carried_count + 2);
  const byoc_type_t *index = byoc_type_tensor(arena, BYOC_DTYPE_I64, 0, NULL);
  const byoc_type_t *condition = byoc_type_tensor(arena, BYOC_DTYPE_BOOL, 0, NULL);
  b->failed |= !operands || !index || !condition || !trips;
  if (b->failed) return;
  operands[0] = trips, operands[1] = NULL;
  for (uint32_t i = 0; i < carried_count; ++i) operands[i + 2] = carried[i];
  b->loop = byoc_node_create(b->node->block, b->node, "", "Loop", 16, operands, carried_count + 2, result_count);
  b->body = b->loop ? byoc_node_add_block(b->loop, "body") : NULL;
  b->failed |= !b->body;
  if (b->failed) return;
  b->loop->name = b->node->name;
  b->failed |= !byoc_block_add_parameter(b->body, "turn", index);
  b->failed |= !byoc_block_add_parameter(b->body, "go_on", condition);
}

static byoc_value_t *add_parameter(builder_t *b, const char *name, const byoc_type_t *type) {
  byoc_value_t *made = b->failed ? NULL : byoc_block_add_parameter(b->body, name, type);
  if (!made) b->failed = true;
  return made;
}

static void map_value(builder_t *b, const byoc_value_t *from, byoc_value_t *to) {
  if (b->failed || !to || !byoc_pointer_map_put(&b->map, from, to)) b->failed = true;
}

// Copies the nodes of the old body, and finds the value in the new one for its result `i`.
static void copy_nodes(builder_t *b, const byoc_block_t *from) {
  BYOC_FOR_EACH_NODE(node, from) {
    if (b->failed) return;
    if (!byoc_node_clone(node, b->body, NULL, &b->map)) b->failed = true;
  }
}

static byoc_value_t *copied(const builder_t *b, byoc_value_t *value) {
  byoc_value_t *copy = byoc_pointer_map_get(&b->map, value);
  return copy ? copy : value; // a value from outside of the body
}

static void add_result(builder_t *b, const char *name, byoc_value_t *value) {
  if (b->failed || !value || !byoc_block_add_result(b->body, name, value)) b->failed = true;
}

static byoc_status_t end_expansion(builder_t *b, byoc_diag_t *diag, bool *out_changed) {
  byoc_map_deinit(&b->map);
  *out_changed = !b->failed;
  return b->failed ? byoc_diag_failure(diag) : BYOC_OK;
}

// Dimension `axis` of x as a scalar.
static byoc_value_t *dimension(builder_t *b, byoc_value_t *x, int32_t axis) {
  if (byoc_dim_is_constant(x->type->dims[axis])) return vector_constant(b, 0, x->type->dims[axis].constant);
  byoc_value_t *shape = make(b, b->node->block, b->node, "Shape", x, NULL, NULL, 0);
  return make(b, b->node->block, b->node, "Gather", shape, vector_constant(b, 0, axis), NULL, 0);
}

// `x`, or one element along `axis` if it has none: a loop without iterations needs types, too.
static byoc_value_t *not_empty(builder_t *b, byoc_value_t *x, int32_t axis) {
  if (b->failed || !byoc_dim_is_constant(x->type->dims[axis]) || x->type->dims[axis].constant > 0) return x;
  byoc_writer_t w = {.node = b->node, .diag = b->diag};
  int64_t pads[2 * BYOC_MAX_RANK] = {0};
  pads[x->type->rank + axis] = 1;
  byoc_value_t *by = byoc_write_vector(&w, "pads", BYOC_DTYPE_I64, 2 * (int64_t)x->type->rank, pads);
  x = byoc_write_plain(&w, "Pad", x, by);
  b->failed |= w.failed;
  return x;
}

// ---- Scan ----

// A result that was stacked from last to first is reversed, and the stacked dimension moves to its place.
static byoc_value_t *arrange(builder_t *b, byoc_value_t *stacked, bool reversed, int32_t axis) {
  if (b->failed) return NULL;
  if (reversed) {
    byoc_value_t *operands[] = {stacked, vector_constant(b, 1, -1), vector_constant(b, 1, INT64_MIN),
                                vector_constant(b, 1, 0), vector_constant(b, 1, -1)};
    byoc_node_t *made =
        b->failed ? NULL : byoc_op_create(b->node->block, b->node, "", "Slice", operands, 5, 1, b->diag);
    if (!made) {
      b->failed = true;
      return NULL;
    }
    stacked = made->results[0];
  }
  if (axis == 0) return stacked;
  int64_t permutation[BYOC_MAX_RANK];
  int32_t from = 1, rank = stacked->type->rank;
  for (int32_t d = 0; d < rank; ++d) permutation[d] = d == axis ? 0 : from++;
  const byoc_attribute_t perm = {
      .name = "perm", .kind = BYOC_ATTRIBUTE_INTS, .ints = permutation, .count = (size_t)rank};
  return make(b, b->node->block, b->node, "Transpose", stacked, NULL, &perm, 1);
}

// Scan(states, xs) → Loop(length of the xs, states) whose body gathers its part of each x
static byoc_status_t expand_plain_scan(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  builder_t b = {.node = node, .diag = diag};
  const scan_t s = read_scan(node);
  const byoc_block_t *from = byoc_node_find_block(node, "body");
  byoc_value_t *first = node->operands[s.states];
  int32_t axis = 0;
  byoc_normalize_axis(list_at(node, "scan_input_axes", 0), first->type->rank, &axis);
  byoc_value_t *trips = dimension(&b, first, axis);
  start_loop(&b, trips, node->operands, s.states, node->result_count);
  for (uint32_t i = 0; i < s.states && !b.failed; ++i) {
    map_value(&b, from->parameters.data[i], add_parameter(&b, "state", from->parameters.data[i]->type));
  }
  byoc_value_t *backwards = NULL;
  for (uint32_t i = 0; i < s.scans && !b.failed; ++i) {
    byoc_value_t *x = node->operands[s.states + i], *iteration = b.body->parameters.data[0];
    if (!byoc_normalize_axis(list_at(node, "scan_input_axes", i), x->type->rank, &axis)) b.failed = true;
    x = not_empty(&b, x, axis);
    if (list_at(node, "scan_input_directions", i) != 0) {
      if (!backwards) {
        byoc_value_t *last = make(&b, b.body, NULL, "Sub", trips, vector_constant(&b, 0, 1), NULL, 0);
        backwards = make(&b, b.body, NULL, "Sub", last, iteration, NULL, 0);
      }
      iteration = backwards;
    }
    const byoc_attribute_t along = byoc_write_int("axis", axis);
    map_value(&b, from->parameters.data[s.states + i], make(&b, b.body, NULL, "Gather", x, iteration, &along, 1));
  }
  copy_nodes(&b, from);
  add_result(&b, "go_on", b.failed ? NULL : b.body->parameters.data[1]);
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    add_result(&b, "result", copied(&b, from->results.data[i]));
  }
  if (!b.failed && byoc_infer_node(b.loop, diag) != BYOC_OK) b.failed = true;
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    byoc_value_t *result = b.loop->results[i];
    if (i >= s.states) {
      int32_t to = 0, rank = result->type->rank;
      byoc_normalize_axis(list_at(node, "scan_output_axes", i - s.states), rank, &to);
      result = arrange(&b, result, list_at(node, "scan_output_directions", i - s.states) != 0, to);
    }
    if (!result || !byoc_value_replace_uses(node->results[i], result)) b.failed = true;
  }
  return end_expansion(&b, diag, out_changed);
}

// The Scan over one batch, while it is made.
typedef struct {
  scan_t s;
  byoc_value_t **operands; // states, the number of the iteration if there are lengths, scanned operands
  uint32_t operand_count;
  byoc_value_t *length; // of this batch; NULL: all elements count
  byoc_node_t *scan;
} batch_t;

// The value of this iteration if it is within the length, else `other`.
static byoc_value_t *where_counts(builder_t *b, byoc_value_t *counts, byoc_value_t *value, byoc_value_t *other) {
  byoc_value_t *operands[] = {counts, value, other};
  byoc_node_t *made = b->failed || !counts || !value || !other
                          ? NULL
                          : byoc_op_create(b->body, NULL, "", "Where", operands, 3, 1, b->diag);
  if (!made) b->failed = true;
  return made ? made->results[0] : NULL;
}

// Iterations after the length of a sequence leave the states unchanged, and give zeros.
static void add_counted_results(builder_t *b, const batch_t *batch, const byoc_block_t *from) {
  const scan_t *s = &batch->s;
  byoc_value_t *iteration = b->failed ? NULL : b->body->parameters.data[s->states];
  byoc_value_t *counts = make(b, b->body, NULL, "Less", iteration, batch->length, NULL, 0);
  byoc_value_t *next = make(b, b->body, NULL, "Add", iteration, vector_constant(b, 0, 1), NULL, 0);
  for (uint32_t i = 0; i < s->states && !b->failed; ++i) {
    add_result(b, "state", where_counts(b, counts, copied(b, from->results.data[i]), b->body->parameters.data[i]));
  }
  add_result(b, "turn", next);
  for (size_t i = s->states; i < from->results.count && !b->failed; ++i) {
    byoc_value_t *value = copied(b, from->results.data[i]);
    const byoc_attribute_t to = byoc_write_int("to", value->type->dtype); // element types have the numbers of ONNX
    byoc_value_t *zero = make(b, b->body, NULL, "Cast", vector_constant(b, 0, 0), NULL, &to, 1);
    add_result(b, "result", where_counts(b, counts, value, zero));
  }
}

static void fill_batch_body(builder_t *b, const batch_t *batch, const byoc_block_t *from) {
  const byoc_type_t *iteration = byoc_type_tensor(&b->node->function->module->arena, BYOC_DTYPE_I64, 0, NULL);
  b->failed |= !iteration;
  for (size_t i = 0; i < from->parameters.count && !b->failed; ++i) {
    if (batch->length && i == batch->s.states) add_parameter(b, "turn", iteration);
    map_value(b, from->parameters.data[i], add_parameter(b, "x", from->parameters.data[i]->type));
  }
  copy_nodes(b, from);
  if (batch->length) {
    add_counted_results(b, batch, from);
    return;
  }
  for (size_t i = 0; i < from->results.count && !b->failed; ++i) {
    add_result(b, "result", copied(b, from->results.data[i]));
  }
}

// Takes this batch from each operand.
static void read_batch(builder_t *b, batch_t *batch) {
  const byoc_node_t *node = b->node;
  const scan_t *s = &batch->s;
  batch->operands = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, (size_t)s->states + s->scans + 1);
  b->failed |= !batch->operands;
  for (uint32_t i = 0; i < s->states + s->scans && !b->failed; ++i) {
    if (i == s->states && batch->length) batch->operands[batch->operand_count++] = vector_constant(b, 0, 0);
    byoc_value_t *x = node->operands[s->first + i];
    if (batch->length && i >= s->states && list_at(node, "directions", i - s->states) != 0) {
      const byoc_attribute_t axes[] = {byoc_write_int("batch_axis", 0), byoc_write_int("time_axis", 1)};
      x = make(b, node->block, b->loop, "ReverseSequence", x, node->operands[0], axes, 2);
    }
    x = b->failed ? NULL : not_empty(b, x, 0);
    batch->operands[batch->operand_count++] = make(b, b->body, NULL, "Gather", x, b->body->parameters.data[0], NULL, 0);
  }
}

static void add_batch_scan(builder_t *b, batch_t *batch) {
  const byoc_node_t *node = b->node;
  const scan_t *s = &batch->s;
  byoc_block_t *body = b->body;
  int64_t *directions = BYOC_ARENA_ARRAY(&node->function->module->arena, int64_t, s->scans);
  if (!directions) b->failed = true;
  batch->scan = b->failed ? NULL
                          : byoc_node_create(b->body, NULL, "", "Scan", 9, batch->operands, batch->operand_count,
                                             node->result_count + (batch->length != NULL));
  byoc_block_t *inner = batch->scan ? byoc_node_add_block(batch->scan, "body") : NULL;
  if (!inner) b->failed = true;
  // With lengths, operands that are scanned backwards were reversed up to the lengths.
  for (uint32_t i = 0; i < s->scans && !batch->length; ++i) directions[i] = list_at(node, "directions", i);
  if (b->failed) return;
  b->failed = !byoc_attributes_set_int(&batch->scan->attributes, "num_scan_inputs", s->scans) ||
              !byoc_attributes_set_ints(&batch->scan->attributes, "scan_input_directions", directions, s->scans);
  b->body = inner;
  fill_batch_body(b, batch, byoc_node_find_block(node, "body"));
  b->body = body;
  if (!b->failed && byoc_infer_node(batch->scan, b->diag) != BYOC_OK) b->failed = true;
}

// Scan with batches → Loop over the batches of a Scan without them
static byoc_status_t expand_batched_scan(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  builder_t b = {.node = node, .diag = diag};
  batch_t batch = {.s = read_scan(node)};
  start_loop(&b, dimension(&b, node->operands[batch.s.first + batch.s.states], 0), NULL, 0, node->result_count);
  if (byoc_has_operand(node, 0) && !b.failed) {
    byoc_value_t *lengths = not_empty(&b, node->operands[0], 0);
    batch.length = make(&b, b.body, NULL, "Gather", lengths, b.body->parameters.data[0], NULL, 0);
  }
  read_batch(&b, &batch);
  add_batch_scan(&b, &batch);
  add_result(&b, "go_on", b.failed ? NULL : b.body->parameters.data[1]);
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    const bool is_behind_turn = batch.length && i >= batch.s.states;
    add_result(&b, "result", batch.scan->results[i + is_behind_turn]);
  }
  if (!b.failed && byoc_infer_node(b.loop, diag) != BYOC_OK) b.failed = true;
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    if (!byoc_value_replace_uses(node->results[i], b.loop->results[i])) b.failed = true;
  }
  return end_expansion(&b, diag, out_changed);
}

static byoc_status_t expand_scan(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!node->operands[i] || byoc_is_ranked(node->operands[i]->type)) continue;
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "the rank of operand %u is not known", i);
  }
  return node->since_version < 9 ? expand_batched_scan(node, diag, out_changed)
                                 : expand_plain_scan(node, diag, out_changed);
}

// ---- SequenceMap ----

// SequenceMap(s, xs) → Loop(SequenceLength(s), empty sequences) whose body appends to each
static byoc_status_t expand_map(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  builder_t b = {.node = node, .diag = diag};
  const byoc_block_t *from = byoc_node_find_block(node, "body");
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_value_t **empty = BYOC_ARENA_ARRAY(arena, byoc_value_t *, node->result_count);
  if (!empty) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    const byoc_type_t *type = node->results[i]->type;
    // Element types have the numbers of ONNX.
    const byoc_attribute_t dtype = byoc_write_int("dtype", type->element->dtype);
    byoc_node_t *made = byoc_op_create_with(node->block, node, "", "SequenceEmpty", NULL, 0, 1, &dtype, 1, diag);
    if (!made) b.failed = true;
    if (made) empty[i] = made->results[0];
  }
  byoc_value_t *trips = make(&b, node->block, node, "SequenceLength", node->operands[0], NULL, NULL, 0);
  start_loop(&b, trips, empty, node->result_count, node->result_count);
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) add_parameter(&b, "made", node->results[i]->type);
  for (uint32_t i = 0; i < node->operand_count && !b.failed; ++i) {
    byoc_value_t *x = node->operands[i];
    if (x->type->kind == BYOC_TYPE_SEQUENCE) {
      x = make(&b, b.body, NULL, "SequenceAt", x, b.body->parameters.data[0], NULL, 0);
    }
    map_value(&b, from->parameters.data[i], x);
  }
  copy_nodes(&b, from);
  add_result(&b, "go_on", b.failed ? NULL : b.body->parameters.data[1]);
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    byoc_value_t *item = copied(&b, from->results.data[i]);
    add_result(&b, "made", make(&b, b.body, NULL, "SequenceInsert", b.body->parameters.data[i + 2], item, NULL, 0));
  }
  if (!b.failed && byoc_infer_node(b.loop, diag) != BYOC_OK) b.failed = true;
  for (uint32_t i = 0; i < node->result_count && !b.failed; ++i) {
    if (!byoc_value_replace_uses(node->results[i], b.loop->results[i])) b.failed = true;
  }
  return end_expansion(&b, diag, out_changed);
}

static const byoc_op_attribute_t scan_attributes[] = {
    {BYOC_ATTR_BLOCK("body")},
    {BYOC_ATTR_REQUIRED(INT, "num_scan_inputs")},
    {BYOC_ATTR(INTS, "directions"), .until = 9},
    {BYOC_ATTR(INTS, "scan_input_axes"), .since = 9},
    {BYOC_ATTR(INTS, "scan_input_directions"), .since = 9},
    {BYOC_ATTR(INTS, "scan_output_axes"), .since = 9},
    {BYOC_ATTR(INTS, "scan_output_directions"), .since = 9},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t map_attributes[] = {
    {BYOC_ATTR_BLOCK("body")},
    BYOC_ATTR_END,
};

#define SCAN(version, bits)                                                                                            \
  {                                                                                                                    \
    .domain = "", .name = "Scan", .since_version = version, .min_inputs = 0, .max_inputs = -1, .min_outputs = 1,       \
    .max_outputs = -1, .traits = bits, .attributes = scan_attributes, .infer = infer_scan, .expand = expand_scan       \
  }

const byoc_op_t byoc_ops_scan[] = {
    SCAN(8, BYOC_OP_CONTROL | BYOC_OP_LIMITS),
    SCAN(9, BYOC_OP_CONTROL),
    SCAN(11, BYOC_OP_CONTROL),
    SCAN(16, BYOC_OP_CONTROL),
    SCAN(19, BYOC_OP_CONTROL),
    SCAN(21, BYOC_OP_CONTROL),
    SCAN(23, BYOC_OP_CONTROL),
    {.domain = "",
     .name = "SequenceMap",
     .since_version = 17,
     .min_inputs = 1,
     .max_inputs = -1,
     .min_outputs = 1,
     .max_outputs = -1,
     .traits = BYOC_OP_CONTROL,
     .attributes = map_attributes,
     .infer = infer_map,
     .expand = expand_map},
};
const size_t byoc_ops_scan_count = sizeof byoc_ops_scan / sizeof *byoc_ops_scan;
