// SPDX-License-Identifier: Apache-2.0
// tabulate-bytes: what turns one byte into another by elementwise operators is looked up in a table.
//
//   QuantizeLinear(Tanh(DequantizeLinear(%x, @s, @z)), @t, @u)  →  byoc::LookUp(%x, table)
//   table = QuantizeLinear(Tanh(DequantizeLinear(@bytes, @s, @z)), @t, @u)
//
// Chains go through bytes, too, that only they read: x * sigmoid(x), with a rounding behind the sigmoid, is one table.
//
// @bytes holds all bytes, so that fold-constants computes the table by the same operators: results are the same bits.
// Other operands are constants of one element. Nothing else may read the values between. A short chain without a
// function like Tanh stays if it can be fused with the operator that makes %x, where it costs no more.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/op/write.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

enum { MOST_NODES = 64, ENTRIES = 256, SHORT = 2 };

typedef struct chain_t {
  byoc_node_t *nodes[MOST_NODES]; // operands come before their readers, but for the order of finding
  size_t count;
  byoc_value_t *x;   // the byte
  size_t arithmetic; // operators other than conversions
  bool is_long;      // one of them takes long
  bool has_floats;
  bool stops_at_bytes; // it does not go through bytes
} chain_t;

static bool is_byte(const byoc_value_t *value) {
  return byoc_is_ranked(value->type) && byoc_dtype_is_byte(value->type->dtype);
}

static bool is_elementwise(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  if (op == NULL || node->callee != NULL || node->block_count > 0 || node->result_count != 1) return false;
  if (node->domain[0] != '\0' || op->point == NULL || node->results[0]->device.target != NULL) return false;
  return (op->traits & BYOC_OP_ELEMENTWISE) != 0 && (op->traits & (BYOC_OP_RANDOM | BYOC_OP_OPAQUE)) == 0;
}

static bool has_node(const chain_t *chain, const byoc_node_t *node) {
  for (size_t i = 0; i < chain->count; ++i) {
    if (chain->nodes[i] == node) return true;
  }
  return false;
}

static bool is_conversion(const byoc_node_t *node) {
  static const char *const conversions[] = {"QuantizeLinear", "DequantizeLinear", "Cast"};
  bool converts = false;
  for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); ++i)
    converts |= strcmp(byoc_op_of(node)->name, conversions[i]) == 0;
  return converts;
}

static void count_node(chain_t *chain, const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  chain->arithmetic += !is_conversion(node);
  chain->is_long |= op->work == BYOC_WORK_TRANSCENDENTAL;
  chain->has_floats |= byoc_dtype_is_float(node->results[0]->type->dtype);
}

static bool collect(chain_t *chain, byoc_node_t *node);

// Adds the nodes that make a byte. If there are none that depend on one other byte alone, this is the chain's byte.
static bool collect_byte(chain_t *chain, const byoc_node_t *reader, byoc_value_t *value) {
  byoc_node_t *maker = chain->stops_at_bytes ? NULL : byoc_value_open_producer(value);
  const chain_t before = *chain;
  if (maker != NULL && maker->block == reader->block && collect(chain, maker)) return true;
  *chain = before;
  if (chain->x != NULL && chain->x != value) return false;
  chain->x = value;
  return true;
}

// Adds the node and those that make its operands, up to a byte. False if they do not depend on one byte alone.
static bool collect(chain_t *chain, byoc_node_t *node) {
  if (has_node(chain, node)) return true;
  if (chain->count == MOST_NODES || !is_elementwise(node)) return false;
  count_node(chain, node);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    if (operand == NULL) continue;
    if (byoc_value_is_constant(operand)) {
      if (byoc_type_element_count(operand->type) != 1) return false;
      continue;
    }
    if (is_byte(operand)) {
      if (!collect_byte(chain, node, operand)) return false;
      continue;
    }
    byoc_node_t *maker = byoc_value_open_producer(operand);
    if (maker == NULL || maker->block != node->block || !collect(chain, maker)) return false;
  }
  if (chain->count == MOST_NODES) return false;
  chain->nodes[chain->count++] = node;
  return true;
}

// Do only nodes of the chain read what the others make? Other readers may convert the chain's byte for themselves.
static bool is_closed(const chain_t *chain) {
  for (size_t i = 0; i + 1 < chain->count; ++i) {
    if (is_conversion(chain->nodes[i]) && chain->nodes[i]->operands[0] == chain->x) continue;
    const byoc_value_t *value = chain->nodes[i]->results[0];
    for (size_t u = 0; u < value->uses.count; ++u) {
      if (value->uses.data[u].node == NULL || !has_node(chain, value->uses.data[u].node)) return false;
    }
  }
  return true;
}

// Could a kernel that makes the byte go on with this chain? Parts of a tensor are not made, but read where they lie.
static bool can_fuse(const chain_t *chain, const byoc_node_t *last) {
  const byoc_node_t *maker = byoc_value_producer(chain->x);
  if (maker == NULL || byoc_node_is_onnx(maker, "Split") || byoc_node_is_onnx(maker, "Slice")) return false;
  return maker->block == last->block && maker->callee == NULL && chain->x->uses.count == 1;
}

static bool pays(const chain_t *chain, const byoc_node_t *last) {
  if (!chain->has_floats || chain->x == NULL) return false;
  return chain->is_long || chain->arithmetic > SHORT || !can_fuse(chain, last);
}

static byoc_value_t *write_bytes(byoc_writer_t *w, byoc_dtype_t dtype) {
  uint8_t bytes[ENTRIES];
  for (int i = 0; i < ENTRIES; ++i) bytes[i] = (uint8_t)i;
  return byoc_write_vector(w, "bytes", dtype, ENTRIES, bytes);
}

// The chain on all bytes; NULL with w->failed unset if an operator does not take them so.
static byoc_value_t *write_entries(byoc_writer_t *w, const chain_t *chain) {
  byoc_value_t *bytes = write_bytes(w, chain->x->type->dtype), *made[MOST_NODES] = {NULL};
  for (size_t n = 0; n < chain->count && !w->failed; ++n) {
    const byoc_node_t *node = chain->nodes[n];
    byoc_value_t *operands[BYOC_MAX_INTS];
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      operands[i] = node->operands[i] == chain->x ? bytes : node->operands[i];
      for (size_t k = 0; k < n; ++k) {
        if (operands[i] == chain->nodes[k]->results[0]) operands[i] = made[k];
      }
    }
    byoc_node_t *copy = byoc_node_create(w->node->block, w->node, node->domain, node->op, node->since_version, operands,
                                         node->operand_count, 1);
    if (copy == NULL || !byoc_attributes_copy(&copy->attributes, &node->attributes)) w->failed = true;
    byoc_diag_t refusal = {0};
    if (!w->failed && byoc_infer_node(copy, &refusal) != BYOC_OK) return NULL;
    if (!w->failed) made[n] = copy->results[0];
  }
  return w->failed ? NULL : made[chain->count - 1];
}

static bool same_dims(const byoc_type_t *a, const byoc_type_t *b) {
  bool is_same = a->rank == b->rank;
  for (int32_t d = 0; is_same && d < a->rank; ++d) is_same = byoc_dim_equal(a->dims[d], b->dims[d]);
  return is_same;
}

// Through bytes if only the chain reads them, else up to the first ones.
static bool find_chain(chain_t *chain, byoc_node_t *node) {
  for (int turn = 0; turn < 2; ++turn) {
    *chain = (chain_t){.stops_at_bytes = turn > 0};
    if (collect(chain, node) && pays(chain, node) && is_closed(chain)) return true;
  }
  return false;
}

static byoc_status_t tabulate(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  chain_t chain;
  if (node->result_count != 1 || !is_byte(node->results[0]) || node->results[0]->uses.count == 0) return BYOC_OK;
  if (!find_chain(&chain, node)) return BYOC_OK;
  if (!same_dims(chain.x->type, node->results[0]->type)) return BYOC_OK; // a constant has a higher rank
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *entries = write_entries(&w, &chain);
  if (w.failed) return byoc_diag_failure(diag);
  if (entries == NULL || byoc_type_element_count(entries->type) != ENTRIES) return BYOC_OK;
  const int64_t length = ENTRIES;
  byoc_value_t *table = entries->type->rank == 1 ? entries : byoc_write_reshape(&w, entries, &length, 1);
  byoc_value_t *made = byoc_write_node(&w, "byoc", "LookUp", chain.x, table, NULL, NULL, 0);
  if (made != NULL && !byoc_node_set_name(byoc_value_producer(made), node->name)) w.failed = true;
  return byoc_pass_replace(node, w.failed ? NULL : made, diag, changes);
}

byoc_status_t byoc_pass_tabulate_bytes(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    const bool is_taken = byoc_function_is_region(function) || byoc_function_has_flag(function, BYOC_ATTRIBUTE_EXTERN);
    if (function->kind != BYOC_FUNCTION_GRAPH || is_taken) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block_backwards(function->body, tabulate, NULL, diag, changes));
  }
  return BYOC_OK;
}
