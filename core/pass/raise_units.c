// SPDX-License-Identifier: Apache-2.0
// raise-units: operators between DequantizeLinear and QuantizeLinear become quantised operators, which read integers
// and give integers, with the scales and zero points as operands.
//
//   QuantizeLinear(Add(DequantizeLinear(a), DequantizeLinear(b)))  →  QLinearAdd(a, b)
//
// and so for Mul, AveragePool, GlobalAveragePool, Sigmoid, LeakyRelu, Softmax, ReduceMean, Where and Concat. For bytes
// they are operators of com.microsoft, which other runtimes know; for integers of 16 bits they have the same names in
// the domain byoc. They take integers of one type with one constant scale each; what they cannot say stays as it is.
// Products are those of fold-quantised.
//
// A result of bytes may be the neighbour of the one that the operators as written give, because the quantised
// operator scales once where they scale twice.
#include <string.h>

#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "core/pass/quantised.h"
#include "core/pass/rewrite.h"

enum { MOST_ATTRIBUTES = 8 };

// What a unit is made of.
typedef struct unit_t {
  byoc_node_t *node;     // the operator on floats
  byoc_node_t *quantise; // its only reader
  byoc_quantised_t y;
  const char *op;
  byoc_attribute_t attributes[MOST_ATTRIBUTES];
  size_t attribute_count;
} unit_t;

// ---- reading ----

static bool is_constant_or_none(const byoc_value_t *value) {
  return value == NULL || byoc_value_is_constant(value);
}

// One constant scale, and perhaps one constant zero point.
static bool is_one(const byoc_quantised_t *q) {
  if (q->axis >= 0 || !byoc_value_is_constant(q->scale) || !is_constant_or_none(q->zero)) return false;
  return q->zero == NULL || byoc_type_element_count(q->zero->type) == 1;
}

static bool reads_integers(const unit_t *unit, uint32_t operand, byoc_quantised_t *out) {
  return byoc_has_operand(unit->node, operand) && byoc_is_ranked(unit->node->operands[operand]->type) &&
         byoc_quantised_read(unit->node->operands[operand], unit->node->block, out) && is_one(out) &&
         out->bytes->type->dtype == unit->y.bytes->type->dtype;
}

static bool keep_attributes(unit_t *unit, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const byoc_attribute_t *given = byoc_node_given(unit->node, names[i]);
    if (given != NULL) unit->attributes[unit->attribute_count++] = *given;
  }
  return true;
}

static bool read_plain(unit_t *unit) {
  (void)unit;
  return true;
}

static bool read_leaky(unit_t *unit) {
  static const char *const names[] = {"alpha"};
  return keep_attributes(unit, names, 1);
}

static bool read_average(unit_t *unit) {
  static const char *const names[] = {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"};
  size_t count = 0;
  const byoc_attribute_t *dilations = byoc_node_given(unit->node, "dilations");
  for (count = 0; dilations != NULL && count < dilations->count; ++count) {
    if (dilations->ints[count] != 1) return false;
  }
  return keep_attributes(unit, names, sizeof(names) / sizeof(names[0]));
}

// The softmax over one dimension.
static bool read_softmax(unit_t *unit) {
  enum { FIRST_OF_ONE_DIMENSION = 13 };
  const int32_t rank = unit->node->operands[0]->type->rank;
  const int64_t axis = byoc_node_int(unit->node, "axis");
  if (unit->node->since_version < FIRST_OF_ONE_DIMENSION && axis != -1 && axis != rank - 1) return false;
  unit->attributes[unit->attribute_count++] = byoc_write_int("axis", axis);
  unit->attributes[unit->attribute_count++] = byoc_write_int("opset", FIRST_OF_ONE_DIMENSION);
  return rank > 0;
}

static bool read_mean(unit_t *unit) {
  const byoc_node_t *node = unit->node;
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_ints_t axes;
  const byoc_known_t known = byoc_read_ints(node, "axes", 1, &axes);
  if (known == BYOC_KNOWN_NO) return false;
  const bool is_none = known == BYOC_KNOWN_ABSENT || axes.count == 0;
  if (is_none && byoc_node_takes(node, "noop_with_empty_axes") && byoc_node_flag(node, "noop_with_empty_axes")) {
    return false;
  }
  int64_t *kept = BYOC_ARENA_ARRAY(arena, int64_t, axes.count + 1);
  if (kept == NULL) return false;
  memcpy(kept, axes.values, axes.count * sizeof(*kept));
  unit->attributes[unit->attribute_count++] =
      (byoc_attribute_t){.name = "axes", .kind = BYOC_ATTRIBUTE_INTS, .ints = kept, .count = is_none ? 0 : axes.count};
  unit->attributes[unit->attribute_count++] = byoc_write_int("keepdims", byoc_node_int(node, "keepdims"));
  return true;
}

static bool read_concat(unit_t *unit) {
  const int32_t rank = unit->node->operands[0]->type->rank;
  unit->attributes[unit->attribute_count++] = byoc_write_int("axis", byoc_node_axis(unit->node, "axis", rank));
  return true;
}

// Old versions align operands by an attribute.
static bool read_pair(unit_t *unit) {
  enum { FIRST_WITH_BROADCASTING = 7 };
  return unit->node->since_version >= FIRST_WITH_BROADCASTING;
}

// ---- operators ----

// The quantised operands are those from `first` on: `count` of them, or all if that is 0. In the unit they stand in
// this order, behind those before `first`; the scale and zero point of the result come last, or first of all.
static const struct {
  const char *op, *unit;
  uint32_t first, count;
  bool result_first;
  bool (*read)(unit_t *unit);
} rows[] = {
    {"Add", "QLinearAdd", 0, 2, false, read_pair},
    {"Mul", "QLinearMul", 0, 2, false, read_pair},
    {"Where", "QLinearWhere", 1, 2, false, read_plain},
    {"Concat", "QLinearConcat", 0, 0, true, read_concat},
    {"AveragePool", "QLinearAveragePool", 0, 1, false, read_average},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", 0, 1, false, read_plain},
    {"Sigmoid", "QLinearSigmoid", 0, 1, false, read_plain},
    {"LeakyRelu", "QLinearLeakyRelu", 0, 1, false, read_leaky},
    {"Softmax", "QLinearSoftmax", 0, 1, false, read_softmax},
    {"ReduceMean", "QLinearReduceMean", 0, 1, false, read_mean},
};

static byoc_node_t *only_producer(const byoc_node_t *reader) {
  byoc_node_t *node = byoc_value_open_producer(reader->operands[0]);
  const bool is_only = node && node->block == reader->block && reader->operands[0]->uses.count == 1;
  return is_only && node->result_count == 1 && node->callee == NULL ? node : NULL;
}

static byoc_status_t raise(unit_t *unit, size_t row, byoc_diag_t *diag, size_t *changes) {
  const byoc_node_t *node = unit->node;
  byoc_writer_t w = {.node = unit->quantise, .diag = diag};
  const uint32_t first = rows[row].first, end = rows[row].count > 0 ? first + rows[row].count : node->operand_count;
  const uint32_t most = first + 3 * (end - first) + 2;
  byoc_value_t **operands = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, most);
  if (operands == NULL) return byoc_diag_out_of_memory(diag);
  uint32_t count = 0;
  byoc_value_t *zero = byoc_quantised_zero(&w, &unit->y);
  if (rows[row].result_first) operands[count++] = unit->y.scale, operands[count++] = zero;
  for (uint32_t i = 0; i < first; ++i) operands[count++] = node->operands[i];
  for (uint32_t i = first; i < end; ++i) {
    byoc_quantised_t x;
    if (!reads_integers(unit, i, &x)) return BYOC_OK;
    operands[count++] = x.bytes;
    operands[count++] = x.scale;
    operands[count++] = byoc_quantised_zero(&w, &x);
  }
  if (!rows[row].result_first) operands[count++] = unit->y.scale, operands[count++] = zero;
  const char *domain = byoc_dtype_is_byte(unit->y.bytes->type->dtype) ? "com.microsoft" : "byoc";
  byoc_node_t *made =
      byoc_write_many(&w, domain, rows[row].unit, operands, count, 1, unit->attributes, unit->attribute_count);
  if (made == NULL || !byoc_node_set_name(made, node->name)) return byoc_diag_failure(diag);
  BYOC_RETURN_IF_ERROR(byoc_pass_replace(unit->quantise, made->results[0], diag, changes));
  byoc_node_erase(unit->node);
  return BYOC_OK;
}

// QuantizeLinear(f(DequantizeLinear(x), ...)) → QLinear<f>(x, ...)
static byoc_status_t raise_unit(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  unit_t unit = {.quantise = node};
  if (!byoc_quantised_of(node, &unit.y) || !is_one(&unit.y)) return BYOC_OK;
  unit.node = only_producer(node);
  for (size_t row = 0; unit.node != NULL && row < sizeof(rows) / sizeof(rows[0]); ++row) {
    if (!byoc_node_is_onnx(unit.node, rows[row].op)) continue;
    byoc_quantised_t x;
    const bool fits = reads_integers(&unit, rows[row].first, &x) && rows[row].read(&unit);
    return fits ? raise(&unit, row, diag, changes) : BYOC_OK;
  }
  return BYOC_OK;
}

// ---- a product without a bias ----

enum { GEMM_BIAS = 6, GEMM_SCALE = 7, GEMM_ZERO = 8 };

static bool is_plain_gemm(const byoc_node_t *node) {
  const bool has_operands = byoc_has_operand(node, GEMM_SCALE) && byoc_has_operand(node, GEMM_ZERO);
  return byoc_node_is(node, "com.microsoft", "QGemm") && has_operands && !byoc_has_operand(node, GEMM_BIAS) &&
         !byoc_node_flag(node, "transA") && byoc_node_float(node, "alpha") == 1;
}

// QGemm(a, b) without a bias → QLinearMatMul(a, b)
static byoc_status_t raise_product(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *weights = node->operands[3];
  if (byoc_node_flag(node, "transB")) weights = byoc_write_node(&w, "", "Transpose", weights, NULL, NULL, NULL, 0);
  byoc_value_t *operands[8] = {
      node->operands[0], node->operands[1], node->operands[2],          weights,
      node->operands[4], node->operands[5], node->operands[GEMM_SCALE], node->operands[GEMM_ZERO]};
  byoc_node_t *made = byoc_write_many(&w, "", "QLinearMatMul", operands, 8, 1, NULL, 0);
  if (made == NULL || !byoc_node_set_name(made, node->name)) return byoc_diag_failure(diag);
  return byoc_pass_replace(node, made->results[0], diag, changes);
}

static byoc_status_t raise_any(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  return is_plain_gemm(node) ? raise_product(node, diag, changes) : raise_unit(node, self, diag, changes);
}

byoc_status_t byoc_pass_raise_units(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, raise_any, NULL, diag, changes);
}

// ---- one reader for each DequantizeLinear ----

static bool is_shared(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "DequantizeLinear") || node->results[0]->uses.count < 2) return false;
  const byoc_type_t *type = byoc_operand_type(node, 0);
  if (!byoc_type_is_tensor(type) || byoc_value_is_constant(node->operands[0])) return false;
  return byoc_dtype_is_byte(type->dtype) || byoc_dtype_is_word(type->dtype);
}

// A use of the value by a node of the same block, other than the first such; NULL if there is none.
static const byoc_use_t *second_reader(const byoc_value_t *value, const byoc_block_t *block) {
  const byoc_node_t *first = NULL;
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_use_t *use = &value->uses.data[u];
    if (use->node == NULL || use->node->block != block || use->node == first) continue;
    if (first != NULL || value->uses.count == 1) return use;
    first = use->node;
  }
  return NULL;
}

// f(d), g(d) with d = DequantizeLinear(x) → f(d), g(e) with e = DequantizeLinear(x)
static byoc_status_t split_reader(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (!is_shared(node)) return BYOC_OK;
  byoc_value_t *value = node->results[0];
  for (const byoc_use_t *use = second_reader(value, node->block); use; use = second_reader(value, node->block)) {
    byoc_node_t *reader = use->node;
    byoc_node_t *made = byoc_node_create(node->block, node, node->domain, node->op, node->since_version, node->operands,
                                         node->operand_count, 1);
    if (!made || !byoc_attributes_copy(&made->attributes, &node->attributes)) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(byoc_infer_node(made, diag));
    made->results[0]->device = value->device;
    if (!byoc_node_set_name(made, node->name)) return byoc_diag_out_of_memory(diag);
    for (uint32_t i = 0; i < reader->operand_count; ++i) {
      if (reader->operands[i] != value) continue;
      if (!byoc_node_set_operand(reader, i, made->results[0])) return byoc_diag_out_of_memory(diag);
    }
    *changes += 1;
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_split_dequantised(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, split_reader, NULL, diag, changes);
}
