// SPDX-License-Identifier: Apache-2.0
// The graph table: pure readers. Every question of a plugin gets an answer: a value, NULL, 0 or its fallback.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/op.h"
#include "core/plugin/host.h"

// ---- what a hook has read ----

static _Thread_local unsigned read_marks;

void byoc_graph_watch_begin(void) {
  read_marks = 0;
}

unsigned byoc_graph_watch_end(void) {
  return read_marks;
}

void byoc_graph_note_read(unsigned marks) {
  read_marks |= marks;
}

// ---- modules and functions ----

static uint64_t function_count(const byoc_graph_module_t *module) {
  return module != NULL ? module->functions.count : 0;
}

static byoc_function_t *function_at(const byoc_graph_module_t *module, uint64_t index) {
  return index < function_count(module) ? module->functions.data[index] : NULL;
}

static byoc_function_t *function_find(const byoc_graph_module_t *module, const char *name) {
  return module != NULL && name != NULL ? byoc_graph_module_find(module, name) : NULL;
}

static const char *function_name(const byoc_function_t *function) {
  byoc_graph_note_read(BYOC_READ_NAMES);
  return function != NULL ? function->name : "";
}

static const char *function_symbol(const byoc_function_t *function) {
  byoc_graph_note_read(BYOC_READ_NAMES);
  return function != NULL ? byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, function->name)
                          : "";
}

static const char *function_string(const byoc_function_t *function, const char *attribute, const char *fallback) {
  if (function == NULL || attribute == NULL) return fallback;
  if (strcmp(attribute, BYOC_ATTRIBUTE_GLOBAL_SYMBOL) == 0) byoc_graph_note_read(BYOC_READ_NAMES);
  return byoc_attributes_string(&function->attributes, attribute, fallback);
}

static int64_t function_int(const byoc_function_t *function, const char *attribute, int64_t fallback) {
  if (function == NULL || attribute == NULL) return fallback;
  if (strcmp(attribute, BYOC_ATTRIBUTE_TARGET) == 0) byoc_graph_note_read(BYOC_READ_MODULE);
  return byoc_attributes_int(&function->attributes, attribute, fallback);
}

static uint64_t parameter_count(const byoc_function_t *function) {
  return function != NULL ? function->body->parameters.count : 0;
}

static byoc_value_t *parameter(const byoc_function_t *function, uint64_t index) {
  return index < parameter_count(function) ? function->body->parameters.data[index] : NULL;
}

static uint64_t result_count(const byoc_function_t *function) {
  return function != NULL ? function->body->results.count : 0;
}

static byoc_value_t *result(const byoc_function_t *function, uint64_t index) {
  return index < result_count(function) ? function->body->results.data[index] : NULL;
}

static uint64_t node_count(const byoc_function_t *function) {
  return function != NULL ? function->body->node_count : 0;
}

// Walks the list of nodes from its nearer end.
static byoc_node_t *node_at(const byoc_function_t *function, uint64_t index) {
  const uint64_t count = node_count(function);
  if (index >= count) return NULL;
  byoc_node_t *node = NULL;
  if (index <= count / 2) {
    node = function->body->first;
    while (index-- > 0) node = node->next;
  } else {
    node = function->body->last;
    for (uint64_t i = count - 1; i > index; --i) node = node->previous;
  }
  return node;
}

// ---- nodes ----

static uint64_t node_id(const byoc_node_t *node) {
  byoc_graph_note_read(BYOC_READ_NAMES);
  return node != NULL ? node->id : 0;
}

static const char *node_name(const byoc_node_t *node) {
  byoc_graph_note_read(BYOC_READ_NAMES);
  return node != NULL && node->name != NULL ? node->name : "";
}

static const char *node_domain(const byoc_node_t *node) {
  return node != NULL ? node->domain : "";
}

static const char *node_operator(const byoc_node_t *node) {
  return node != NULL ? node->op : "";
}

static int32_t node_since_version(const byoc_node_t *node) {
  return node != NULL ? node->since_version : 0;
}

static byoc_function_t *node_callee(const byoc_node_t *node) {
  return node != NULL ? node->callee : NULL;
}

static uint64_t operand_count(const byoc_node_t *node) {
  return node != NULL ? node->operand_count : 0;
}

static byoc_value_t *operand(const byoc_node_t *node, uint64_t index) {
  return index < operand_count(node) ? node->operands[index] : NULL;
}

static uint64_t node_result_count(const byoc_node_t *node) {
  return node != NULL ? node->result_count : 0;
}

static byoc_value_t *node_result(const byoc_node_t *node, uint64_t index) {
  return index < node_result_count(node) ? node->results[index] : NULL;
}

static uint64_t node_block_count(const byoc_node_t *node) {
  return node != NULL ? node->block_count : 0;
}

// ---- attributes ----

static int32_t has_attribute(const byoc_node_t *node, const char *name) {
  return node != NULL && name != NULL && byoc_attributes_find(&node->attributes, name) != NULL;
}

static int64_t attribute_int(const byoc_node_t *node, const char *name, int64_t fallback) {
  return node != NULL && name != NULL ? byoc_attributes_int(&node->attributes, name, fallback) : fallback;
}

static double attribute_float(const byoc_node_t *node, const char *name, double fallback) {
  return node != NULL && name != NULL ? byoc_attributes_float(&node->attributes, name, fallback) : fallback;
}

static const char *attribute_string(const byoc_node_t *node, const char *name, const char *fallback) {
  return node != NULL && name != NULL ? byoc_attributes_string(&node->attributes, name, fallback) : fallback;
}

static const int64_t *attribute_ints(const byoc_node_t *node, const char *name, uint64_t *out_count) {
  size_t count = 0;
  const int64_t *ints = NULL;
  if (node != NULL && name != NULL) ints = byoc_attributes_ints(&node->attributes, name, &count);
  if (out_count != NULL) *out_count = count;
  return ints;
}

static const double *attribute_floats(const byoc_node_t *node, const char *name, uint64_t *out_count) {
  size_t count = 0;
  const double *floats = NULL;
  if (node != NULL && name != NULL) floats = byoc_attributes_floats(&node->attributes, name, &count);
  if (out_count != NULL) *out_count = count;
  return floats;
}

static const byoc_attribute_t *node_value(const byoc_node_t *node, const char *name, byoc_attribute_kind_t kind) {
  const byoc_attribute_t *value = node != NULL && name != NULL ? byoc_node_value(node, name) : NULL;
  return value != NULL && value->kind == kind ? value : NULL;
}

static int64_t node_int(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *value = node_value(node, name, BYOC_ATTRIBUTE_INT);
  return value != NULL ? value->i : 0;
}

static double node_float(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *value = node_value(node, name, BYOC_ATTRIBUTE_FLOAT);
  return value != NULL ? value->f : 0;
}

static const char *node_text(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *value = node_value(node, name, BYOC_ATTRIBUTE_STRING);
  return value != NULL ? value->s : NULL;
}

static int32_t node_has_trait(const byoc_node_t *node, const char *trait) {
  const byoc_op_t *op = node != NULL && trait != NULL ? byoc_op_of(node) : NULL;
  for (uint32_t bit = 0; op != NULL && bit < 32; ++bit) {
    const char *name = byoc_op_trait_name(bit);
    if ((op->traits >> bit & 1) != 0 && name != NULL && strcmp(name, trait) == 0) return 1;
  }
  return 0;
}

// ---- values ----

static const char *value_name(const byoc_value_t *value) {
  byoc_graph_note_read(BYOC_READ_NAMES);
  return value != NULL && value->name != NULL ? value->name : "";
}

static uint32_t value_dtype(const byoc_value_t *value) {
  return value != NULL && byoc_type_is_tensor(value->type) ? value->type->dtype : BYOC_DTYPE_NONE;
}

static int32_t value_rank(const byoc_value_t *value) {
  return value != NULL && byoc_type_is_tensor(value->type) ? value->type->rank : -1;
}

static int64_t value_dim(const byoc_value_t *value, int32_t axis) {
  if (axis < 0 || axis >= value_rank(value)) return -1;
  const byoc_dim_t dim = value->type->dims[axis];
  return byoc_dim_is_constant(dim) ? dim.constant : -1;
}

static int32_t value_dims_equal(const byoc_value_t *a, int32_t axis_a, const byoc_value_t *b, int32_t axis_b) {
  if (axis_a < 0 || axis_a >= value_rank(a) || axis_b < 0 || axis_b >= value_rank(b)) return 0;
  return byoc_dim_equal(a->type->dims[axis_a], b->type->dims[axis_b]);
}

static int64_t value_element_count(const byoc_value_t *value) {
  return value != NULL ? byoc_type_element_count(value->type) : -1;
}

static byoc_node_t *value_producer(const byoc_value_t *value) {
  return byoc_value_producer(value);
}

static uint64_t value_use_count(const byoc_value_t *value) {
  return value != NULL ? value->uses.count : 0;
}

static byoc_node_t *value_user(const byoc_value_t *value, uint64_t index) {
  return index < value_use_count(value) ? value->uses.data[index].node : NULL;
}

static int64_t value_parameter_index(const byoc_value_t *value) {
  if (value == NULL || value->kind != BYOC_VALUE_PARAMETER || value->block != value->function->body) return -1;
  return value->index;
}

// Writes only the fields of ABI 1.0: callers of that version do not give the size of their struct.
static int32_t value_constant(const byoc_value_t *value, byoc_tensor_data_t *out_data) {
  if (!byoc_value_is_constant(value) || out_data == NULL) return 0;
  const byoc_constant_t *constant = value->constant;
  *out_data = (byoc_tensor_data_t){
      .header = BYOC_HEADER(byoc_tensor_data_t, 1),
      .dtype = constant->type->dtype,
      .rank = (uint32_t)constant->type->rank,
      .dims = constant->dims,
      .data = constant->data,
      .size_bytes = constant->size_bytes,
  };
  return 1;
}

const byoc_graph_api_t *byoc_host_graph_api(void) {
  static const byoc_graph_api_t api = {
      .header = BYOC_HEADER(byoc_graph_api_t, 1),
      .function_count = function_count,
      .function_at = function_at,
      .function_find = function_find,
      .function_name = function_name,
      .function_symbol = function_symbol,
      .function_string = function_string,
      .function_int = function_int,
      .parameter_count = parameter_count,
      .parameter = parameter,
      .result_count = result_count,
      .result = result,
      .node_count = node_count,
      .node_at = node_at,
      .node_id = node_id,
      .node_name = node_name,
      .node_domain = node_domain,
      .node_operator = node_operator,
      .node_since_version = node_since_version,
      .node_callee = node_callee,
      .operand_count = operand_count,
      .operand = operand,
      .node_result_count = node_result_count,
      .node_result = node_result,
      .node_block_count = node_block_count,
      .has_attribute = has_attribute,
      .attribute_int = attribute_int,
      .attribute_float = attribute_float,
      .attribute_string = attribute_string,
      .attribute_ints = attribute_ints,
      .attribute_floats = attribute_floats,
      .value_name = value_name,
      .value_dtype = value_dtype,
      .value_rank = value_rank,
      .value_dim = value_dim,
      .value_element_count = value_element_count,
      .value_producer = value_producer,
      .value_use_count = value_use_count,
      .value_user = value_user,
      .value_parameter_index = value_parameter_index,
      .value_constant = value_constant,
      .node_int = node_int,
      .node_float = node_float,
      .node_text = node_text,
      .node_has_trait = node_has_trait,
      .value_dims_equal = value_dims_equal,
  };
  return &api;
}
