// SPDX-License-Identifier: Apache-2.0
// move-quantised: operators that mean the same on quantised integers as on floats compute on the integers.
//
//   f(DequantizeLinear(x))               →  DequantizeLinear(f(x))
//   QuantizeLinear(f(y))                 →  f(QuantizeLinear(y))    if y is made of quantised data, or if f vanishes
//   QuantizeLinear(DequantizeLinear(x))  →  x                       for one scale and one zero point
//
// f moves data (Transpose, Reshape, Slice, Gather, Split, Concat of equal scales, Pad with a number that the integers
// have, Resize that picks elements), or is MaxPool, Relu or Clip: larger integers mean larger numbers, and rounding
// keeps the order. Relu and Clip vanish where QuantizeLinear cuts there by itself. Scales for each index of an axis
// follow the axis. A Cast between types of floats becomes the type of the DequantizeLinear's result.
//
// All of this is exact, except that a Cast to fewer bits no longer rounds before QuantizeLinear rounds.
#include <string.h>

#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "core/pass/quantised_moves.h"
#include "core/pass/rewrite.h"

// ---- writing ----

// The scale as f32, which DequantizeLinear computes with in any case.
static byoc_value_t *write_scale(byoc_writer_t *w, byoc_value_t *scale) {
  if (scale->type->dtype == BYOC_DTYPE_F32) return scale;
  if (!byoc_value_is_constant(scale)) return byoc_write_cast(w, scale, BYOC_DTYPE_F32);
  byoc_graph_module_t *module = w->node->function->module;
  const byoc_type_t *type = byoc_type_tensor(&module->arena, BYOC_DTYPE_F32, scale->type->rank, scale->type->dims);
  void *data = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, scale->constant->name, type, &data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  for (int64_t i = 0; value && i < byoc_type_element_count(type); ++i) {
    ((float *)data)[i] = (float)byoc_constant_element_f64(scale->constant, i);
  }
  return value;
}

// x as floats of the type.
static byoc_value_t *write_dequantised(byoc_writer_t *w, byoc_value_t *bytes, const byoc_quantised_t *x, int32_t axis,
                                       byoc_dtype_t dtype) {
  byoc_attribute_t attributes[2];
  size_t count = 0;
  byoc_value_t *scale = x->scale;
  if (axis >= 0) attributes[count++] = byoc_write_int("axis", axis);
  if (scale->type->dtype != dtype) {
    scale = write_scale(w, scale);
    if (dtype != BYOC_DTYPE_F32) attributes[count++] = byoc_write_int("output_dtype", dtype);
  }
  return byoc_write_node(w, "", "DequantizeLinear", bytes, scale, x->zero, attributes, count);
}

// y quantised as `quantise` does it.
static byoc_value_t *write_quantised(byoc_writer_t *w, const byoc_node_t *quantise, byoc_value_t *y) {
  static const char *const names[] = {"axis", "output_dtype"};
  byoc_attribute_t kept[2];
  size_t count = 0;
  for (size_t i = 0; i < 2; ++i) {
    const byoc_attribute_t *given = byoc_node_given(quantise, names[i]);
    if (given) kept[count++] = *given;
  }
  byoc_value_t *made = byoc_write_node(w, "", "QuantizeLinear", y, quantise->operands[1],
                                       byoc_has_operand(quantise, 2) ? quantise->operands[2] : NULL, kept, count);
  if (made && !byoc_node_set_name(byoc_value_producer(made), quantise->name)) w->failed = true;
  return w->failed ? NULL : made;
}

static byoc_value_t *named(byoc_writer_t *w, byoc_value_t *made, const byoc_value_t *before, const byoc_node_t *like) {
  if (made && made != before && !byoc_node_set_name(byoc_value_producer(made), like->name)) w->failed = true;
  return w->failed ? NULL : made;
}

// ---- f(DequantizeLinear(x)) → DequantizeLinear(f(x)) ----

// Positive scales: larger integers mean larger numbers.
static bool rises(const byoc_quantised_t *x) {
  if (!byoc_value_is_constant(x->scale)) return false;
  for (int64_t i = 0; i < byoc_type_element_count(x->scale->type); ++i) {
    if (!(byoc_constant_element_f64(x->scale->constant, i) > 0)) return false;
  }
  return true;
}

// Result r of the node gets other readers' value.
static byoc_status_t replace_results(byoc_writer_t *w, byoc_node_t *node, const byoc_node_t *made,
                                     const byoc_quantised_t *x, int32_t axis, size_t *changes) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    byoc_value_t *result = node->results[r];
    if (result->uses.count == 0) continue;
    byoc_value_t *y = write_dequantised(w, made->results[r], x, axis, result->type->dtype);
    if (w->failed) return byoc_diag_failure(w->diag);
    y->device = result->device;
    if (result->name != NULL) byoc_value_set_name(y, result->name);
    if (!byoc_value_replace_uses(result, y)) return byoc_diag_out_of_memory(w->diag);
  }
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

static byoc_status_t move_data(byoc_node_t *node, const byoc_quantised_t *x, byoc_diag_t *diag, size_t *changes) {
  const bool is_concat = byoc_node_is_onnx(node, "Concat");
  byoc_value_t *operands[BYOC_MAX_INTS];
  int32_t axis = -1;
  if (node->operand_count > BYOC_MAX_INTS) return BYOC_OK;
  if (x->axis >= 0 && !byoc_quantised_move_axis(node, x->axis, &axis)) return BYOC_OK;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_quantised_t other = *x;
    const bool is_data = is_concat || i == 0;
    if (is_data && i > 0) {
      if (!byoc_quantised_read_any(node->operands[i], node->block, &other) || !byoc_quantised_same(x, &other)) {
        return BYOC_OK;
      }
    }
    operands[i] = is_data ? other.bytes : node->operands[i];
  }
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_node_t *made = NULL;
  BYOC_RETURN_IF_ERROR(byoc_quantised_copy(&w, node, operands, x, true, &made));
  if (w.failed) return byoc_diag_failure(diag);
  return made != NULL ? replace_results(&w, node, made, x, axis, changes) : BYOC_OK;
}

static byoc_status_t move_cut(byoc_node_t *node, const byoc_quantised_t *x, byoc_diag_t *diag, size_t *changes) {
  byoc_writer_t w = {.node = node, .diag = diag};
  int64_t bounds[2];
  byoc_value_t *cut = x->bytes;
  if (x->axis >= 0 && !byoc_quantised_cut_vanishes(node, x)) return BYOC_OK;
  if (x->axis < 0) {
    if (!byoc_quantised_bounds(node, x, true, bounds)) return BYOC_OK;
    cut = named(&w, byoc_write_quantised_cut(&w, x->bytes, bounds), x->bytes, node);
  }
  byoc_value_t *y = cut ? write_dequantised(&w, cut, x, x->axis, node->results[0]->type->dtype) : NULL;
  return byoc_pass_replace(node, w.failed ? NULL : y, diag, changes);
}

static byoc_status_t move_behind(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  const byoc_quantised_move_t move = byoc_quantised_move(node);
  byoc_quantised_t x;
  if (move == BYOC_MOVE_NONE || !byoc_is_ranked(node->results[0]->type)) return BYOC_OK;
  if (!byoc_quantised_read_any(node->operands[0], node->block, &x)) return BYOC_OK;
  if (move == BYOC_MOVE_MOST && node->result_count > 1 && node->results[1]->uses.count > 0) return BYOC_OK;
  if ((move == BYOC_MOVE_MOST || move == BYOC_MOVE_CUT) && !rises(&x)) return BYOC_OK;
  if (move == BYOC_MOVE_CUT) return move_cut(node, &x, diag, changes);
  if (move != BYOC_MOVE_CAST) return move_data(node, &x, diag, changes);
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *y = write_dequantised(&w, x.bytes, &x, x.axis, node->results[0]->type->dtype);
  return byoc_pass_replace(node, w.failed ? NULL : y, diag, changes);
}

// ---- QuantizeLinear(f(y)) → f(QuantizeLinear(y)) ----

// The node in this block whose result nothing else reads.
static byoc_node_t *only_producer(const byoc_value_t *value, const byoc_block_t *block) {
  byoc_node_t *node = value && value->uses.count == 1 ? byoc_value_open_producer(value) : NULL;
  return node && node->block == block && node->callee == NULL && node->block_count == 0 ? node : NULL;
}

static bool is_dequantised(byoc_value_t *value, const byoc_block_t *block) {
  byoc_quantised_t x;
  return value != NULL && byoc_quantised_read_any(value, block, &x);
}

// Is the value made of quantised data by an operator that has a quantised form, perhaps through some that move it?
static bool is_quantised_work(byoc_value_t *value, const byoc_block_t *block, int depth) {
  static const char *const units[] = {
      "Conv",    "ConvTranspose", "MatMul",  "Gemm",       "Add",   "Mul", "AveragePool", "GlobalAveragePool",
      "Sigmoid", "LeakyRelu",     "Softmax", "ReduceMean", "Concat"};
  enum { MOST_DEPTH = 32 };
  byoc_node_t *node = depth < MOST_DEPTH ? only_producer(value, block) : NULL;
  if (is_dequantised(value, block)) return true;
  if (node == NULL || node->operand_count == 0) return false;
  const byoc_quantised_move_t move = byoc_quantised_move(node);
  if (move != BYOC_MOVE_NONE && !byoc_node_is_onnx(node, "Concat")) {
    return is_quantised_work(node->operands[0], block, depth + 1);
  }
  bool is_unit = false;
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) is_unit |= byoc_node_is_onnx(node, units[i]);
  for (uint32_t i = 0; is_unit && i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    is_unit = operand == NULL || byoc_value_is_constant(operand) || is_quantised_work(operand, block, depth + 1);
  }
  return is_unit;
}

// Shape and places of what the QuantizeLinear reads, for operators of one data operand or (Concat) many.
static byoc_status_t lift_data(byoc_node_t *quantise, byoc_node_t *node, const byoc_quantised_t *y, byoc_diag_t *diag,
                               size_t *changes) {
  const bool is_concat = byoc_node_is_onnx(node, "Concat");
  byoc_value_t *operands[BYOC_MAX_INTS];
  if (node->operand_count > BYOC_MAX_INTS || node->result_count != 1) return BYOC_OK;
  bool is_direct = is_concat; // raise-units takes it
  for (uint32_t i = 0; i < (is_concat ? node->operand_count : 1); ++i) {
    if (!is_quantised_work(node->operands[i], node->block, 0)) return BYOC_OK;
    is_direct = is_direct && is_dequantised(node->operands[i], node->block);
  }
  if (is_direct) return BYOC_OK;
  byoc_writer_t w = {.node = quantise, .diag = diag};
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = node->operands[i];
    if (is_concat || i == 0) operands[i] = write_quantised(&w, quantise, operands[i]);
  }
  if (w.failed) return byoc_diag_failure(diag);
  byoc_node_t *made = NULL;
  BYOC_RETURN_IF_ERROR(byoc_quantised_copy(&w, node, operands, y, false, &made));
  if (w.failed) return byoc_diag_failure(diag);
  if (made == NULL) { // the operator does not take integers
    for (uint32_t i = 0; i < (is_concat ? node->operand_count : 1); ++i) byoc_node_erase(operands[i]->node);
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_pass_replace(quantise, made->results[0], diag, changes));
  byoc_node_erase(node);
  return BYOC_OK;
}

static byoc_status_t lift_cut(byoc_node_t *quantise, byoc_node_t *node, const byoc_quantised_t *y, byoc_diag_t *diag,
                              size_t *changes) {
  byoc_writer_t w = {.node = quantise, .diag = diag};
  const bool vanishes = byoc_quantised_cut_vanishes(node, y);
  int64_t bounds[2];
  if (!vanishes) {
    if (!byoc_quantised_bounds(node, y, false, bounds)) return BYOC_OK;
    if (!is_quantised_work(node->operands[0], node->block, 0)) return BYOC_OK;
  }
  byoc_value_t *made = write_quantised(&w, quantise, node->operands[0]);
  if (made && !vanishes) made = named(&w, byoc_write_quantised_cut(&w, made, bounds), made, node);
  BYOC_RETURN_IF_ERROR(byoc_pass_replace(quantise, w.failed ? NULL : made, diag, changes));
  byoc_node_erase(node);
  return BYOC_OK;
}

// QuantizeLinear(Relu(y)) → QuantizeLinear(y) if the zero point is the least integer
static byoc_status_t drop_cut(byoc_node_t *quantise, byoc_diag_t *diag, size_t *changes) {
  byoc_quantised_t y;
  if (!byoc_quantised_of_any(quantise, &y) || !rises(&y)) return BYOC_OK;
  byoc_node_t *node = only_producer(quantise->operands[0], quantise->block);
  if (node == NULL || byoc_quantised_move(node) != BYOC_MOVE_CUT) return BYOC_OK;
  return byoc_quantised_cut_vanishes(node, &y) ? lift_cut(quantise, node, &y, diag, changes) : BYOC_OK;
}

static byoc_status_t lift(byoc_node_t *quantise, byoc_diag_t *diag, size_t *changes) {
  byoc_quantised_t y;
  if (!byoc_quantised_of_any(quantise, &y)) return BYOC_OK;
  byoc_node_t *node = only_producer(quantise->operands[0], quantise->block);
  const byoc_quantised_move_t move = node != NULL ? byoc_quantised_move(node) : BYOC_MOVE_NONE;
  if (move == BYOC_MOVE_NONE || !byoc_is_ranked(node->operands[0]->type)) return BYOC_OK;
  if (move == BYOC_MOVE_CUT) return rises(&y) ? lift_cut(quantise, node, &y, diag, changes) : BYOC_OK;
  if (move == BYOC_MOVE_CAST) {
    if (!is_quantised_work(node->operands[0], node->block, 0)) return BYOC_OK;
    byoc_writer_t w = {.node = quantise, .diag = diag};
    byoc_value_t *made = write_quantised(&w, quantise, node->operands[0]);
    BYOC_RETURN_IF_ERROR(byoc_pass_replace(quantise, made, diag, changes));
    byoc_node_erase(node);
    return BYOC_OK;
  }
  if (y.axis >= 0 || (move == BYOC_MOVE_MOST && !rises(&y))) return BYOC_OK;
  return lift_data(quantise, node, &y, diag, changes);
}

// ---- the pass ----

// QuantizeLinear(DequantizeLinear(x)) → x
static bool is_way_back(const byoc_node_t *quantise, byoc_value_t **out_x) {
  byoc_quantised_t x, y;
  if (!byoc_quantised_of_any(quantise, &y)) return false;
  if (!byoc_quantised_read_any(quantise->operands[0], quantise->block, &x)) return false;
  *out_x = x.bytes;
  return byoc_quantised_same(&x, &y);
}

static byoc_status_t move_in_block(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    if (byoc_node_is_onnx(node, "QuantizeLinear")) BYOC_RETURN_IF_ERROR(drop_cut(node, diag, changes));
  }
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b)
      BYOC_RETURN_IF_ERROR(move_in_block(node->blocks[b], diag, changes));
    BYOC_RETURN_IF_ERROR(move_behind(node, diag, changes));
  }
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    if (!byoc_node_is_onnx(node, "QuantizeLinear")) continue;
    byoc_value_t *x = NULL;
    BYOC_RETURN_IF_ERROR(is_way_back(node, &x) ? byoc_pass_replace(node, x, diag, changes) : lift(node, diag, changes));
  }
  return BYOC_OK;
}

// Repeats until nothing changes: what a QuantizeLinear has passed may be followed by more.
byoc_status_t byoc_pass_move_quantised(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    size_t before = 0;
    do {
      before = *changes;
      BYOC_RETURN_IF_ERROR(move_in_block(function->body, diag, changes));
    } while (*changes != before);
  }
  return BYOC_OK;
}
