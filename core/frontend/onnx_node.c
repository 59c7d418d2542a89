// SPDX-License-Identifier: Apache-2.0
// Reads nodes: an operator of a known set, a call of a local function, or a Constant.
#include <assert.h>
#include <string.h>

#include "core/base/log.h"
#include "core/frontend/onnx_reader.h"
#include "core/ir/attribute_names.h"
#include "core/op/op.h"

// The most nodes: calls of functions multiply them, so that a small file could make any number.
enum { MAX_NODES = 4 * 1000 * 1000 };

// Up to operator set 5 operators had a hint about memory, which has no effect on results.
static bool is_left_over(const byoc_onnx_context_t *context, const byoc_node_t *node, const char *name) {
  enum { LAST_WITH_HINTS = 5 };
  int64_t version = 0;
  return strcmp(name, "consumed_inputs") == 0 && node->domain[0] == '\0' &&
         byoc_onnx_find_import(context, "", &version) && version <= LAST_WITH_HINTS;
}

// Does the operator lack the attribute? When reading is lenient, the attribute is dropped.
static bool is_left_out(const byoc_onnx_reader_t *reader, const byoc_node_t *node, const char *name, const char *what) {
  const byoc_op_t *op = byoc_op_of(node);
  if (reader->options->strictness != BYOC_ONNX_LENIENT || !op || byoc_op_knows_attribute(op, name)) return false;
  byoc_log(BYOC_LOG_WARNING, "%s: the operator has no attribute '%s', which is left out", what, name);
  return true;
}

static byoc_status_t read_attributes(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, const char *what,
                                     const byoc_onnx_scope_t *scope, byoc_node_t *to) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    const char *name = byoc_onnx_string(node->attribute[i]->name);
    if (name[0] == '\0') return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: an attribute has no name", what);
    if (is_left_over(scope->context, to, name)) continue;
    if (byoc_attribute_is_reserved(name)) {
      return byoc_diag_error(
          reader->diag, BYOC_INVALID_DATA,
          "%s: attribute '%s': names that begin with '" BYOC_ATTRIBUTE_RESERVED "' are the compiler's own", what, name);
    }
    if (byoc_attributes_find(&to->attributes, name) || byoc_node_find_block(to, name)) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it has two attributes '%s'", what, name);
    }
    if (is_left_out(reader, to, name, what)) continue;
    const Onnx__AttributeProto *attribute;
    BYOC_RETURN_IF_ERROR(byoc_onnx_resolve_attribute(reader, scope->context, node->attribute[i], what, &attribute));
    if (!attribute) continue;
    if (!attribute->has_type) {
      BYOC_RETURN_IF_ERROR(byoc_onnx_tolerate(reader, "%s: attribute '%s' does not say its type", what, name));
    }
    if (!attribute->g) {
      BYOC_RETURN_IF_ERROR(byoc_onnx_read_attribute(reader, attribute, name, what, to));
      continue;
    }
    Onnx__AttributeProto__AttributeType kind;
    BYOC_RETURN_IF_ERROR(byoc_onnx_attribute_kind(reader, attribute, what, &kind));
    if (attribute != node->attribute[i]) {
      return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: graphs as arguments of functions are not supported",
                             what);
    }
    byoc_block_t *block = byoc_node_add_block(to, name);
    if (!block) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR_IN(reader->diag, byoc_onnx_read_block(reader, attribute->g, scope, block), "%s, in '%s'", what,
                            name);
  }
  return BYOC_OK;
}

static byoc_status_t name_results(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, const char *what,
                                  byoc_onnx_scope_t *scope, byoc_node_t *made) {
  for (size_t i = 0; i < node->n_output && i < made->result_count; i++) {
    const char *name = byoc_onnx_string(node->output[i]);
    if (name[0] == '\0') continue;
    byoc_value_set_name(made->results[i], name);
    if (!made->results[i]->name) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR_IN(reader->diag, byoc_onnx_scope_add(reader, scope, name, "output", made->results[i], NULL),
                            "%s", what);
  }
  return BYOC_OK;
}

// Omitted operands or results at the end are dropped.
static size_t trimmed_count(char *const *names, size_t count) {
  while (count > 0 && byoc_onnx_string(names[count - 1])[0] == '\0') count--;
  return count;
}

byoc_status_t byoc_onnx_read_node(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, size_t index,
                                  byoc_onnx_scope_t *scope) {
  char what[320];
  byoc_onnx_describe_node(node, index, what, sizeof(what));
  if (++reader->node_count > MAX_NODES) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: calls of local functions make more than %d nodes", what,
                           (int)MAX_NODES);
  }
  const Onnx__FunctionProto *function;
  BYOC_RETURN_IF_ERROR(byoc_onnx_find_function(reader, node, &function));
  if (!function && byoc_onnx_domain(node->domain)[0] == '\0' &&
      strcmp(byoc_onnx_string(node->op_type), "Constant") == 0) {
    byoc_constant_t *constant;
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_constant_node(reader, scope, node, what, &constant));
    return byoc_onnx_scope_add(reader, scope, byoc_onnx_string(node->output[0]), "output", NULL, constant);
  }
  const byoc_op_t *op = function ? NULL : byoc_onnx_find_operator(scope->context, node);
  assert(function || op); // byoc_onnx_check_operators has seen all nodes
  size_t operand_count = trimmed_count(node->input, node->n_input);
  const size_t result_count = trimmed_count(node->output, node->n_output);
  if (result_count == 0 && op && (op->traits & BYOC_OP_CONTROL)) { // nothing reads the results of its blocks
    return byoc_onnx_tolerate(reader, "%s: it has no outputs", what);
  }
  if (result_count == 0) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it has no outputs", what);
  if (operand_count > UINT32_MAX / 2 || result_count > UINT32_MAX / 2) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: too many inputs or outputs", what);
  }
  byoc_value_t **operands;
  BYOC_RETURN_IF_ERROR(byoc_onnx_find_operands(reader, scope, node, what, operand_count, &operands, &operand_count));
  byoc_node_t *made = NULL;
  if (function) {
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_call(reader, node, what, function, operands, operand_count, scope, &made));
  } else {
    made = byoc_node_create(scope->block, NULL, op->domain, op->name, op->since_version, operands,
                            (uint32_t)operand_count, (uint32_t)result_count);
    if (!made) return byoc_diag_out_of_memory(reader->diag);
  }
  made->name = byoc_arena_copy_string(&reader->module->arena, byoc_onnx_string(node->name));
  if (!made->name) return byoc_diag_out_of_memory(reader->diag);
  if (!function) BYOC_RETURN_IF_ERROR(read_attributes(reader, node, what, scope, made));
  return name_results(reader, node, what, scope, made);
}
