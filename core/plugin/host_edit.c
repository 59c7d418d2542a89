// SPDX-License-Identifier: Apache-2.0
// The edit table, by which a hook rewrites its functions.
#include <string.h>

#include "core/base/foreign.h"
#include "core/ir/attribute_names.h"
#include "core/ir/verify_module.h"
#include "core/module/c_call.h"
#include "core/module/linkage.h"
#include "core/op/op.h"
#include "core/plugin/abi.h"
#include "core/plugin/host.h"
#include "core/plugin/session.h"

enum { MAX_OPERANDS = 1 << 16 };

// ---- checks of arguments ----

// Every call of the table asks this first.
static byoc_status_t check_may_edit(const byoc_codegen_t *session, byoc_diag_t *diag) {
  byoc_graph_note_read(BYOC_READ_EDIT);
  if (!session->cannot_edit) return BYOC_OK;
  byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                         "edit: the generate hook of target '%s' runs beside "
                                         "others, and cannot change the graph",
                                         session->target->kind->name);
  byoc_diag_hint(diag, "edit in prepare, or leave out BYOC_BACKEND_GENERATES_AT_ONCE");
  return status;
}

static byoc_status_t check_function(const byoc_codegen_t *session, const byoc_function_t *function, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_may_edit(session, diag));
  if (function == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the function is NULL");
  const int64_t index = byoc_session_find(session, function);
  if (index < 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: function '%s' is not one of those to be implemented",
                           function->name);
  }
  if (session->results[index].answer == BYOC_CODEGEN_UNANSWERED) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: function '%s' is answered already", function->name);
}

static byoc_status_t check_node(const byoc_codegen_t *session, const byoc_node_t *node, byoc_diag_t *diag) {
  if (node == NULL || node->function == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the node is %s", node == NULL ? "NULL" : "erased");
  }
  return check_function(session, node->function, diag);
}

static byoc_status_t check_value(const byoc_function_t *function, const byoc_value_t *value, byoc_diag_t *diag) {
  if (value != NULL && value->function == function) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                         value == NULL ? "edit: a value is NULL" : "edit: a value is of another function");
}

// Checks the position of a new node, and its operands.
static byoc_status_t check_place(const byoc_codegen_t *session, const byoc_function_t *function,
                                 const byoc_node_t *before, byoc_value_t *const *operands, uint32_t operand_count,
                                 byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_function(session, function, diag));
  if (before != NULL && before->function != function) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the node to insert before is of another function");
  }
  if (operand_count > MAX_OPERANDS || (operand_count > 0 && operands == NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: a node's operands are missing");
  }
  for (uint32_t i = 0; i < operand_count; ++i) {
    if (operands[i] != NULL)
      BYOC_RETURN_IF_ERROR(check_value(function, operands[i], diag)); // NULL: an operand that is left out
  }
  return BYOC_OK;
}

// ---- operators ----

// Infers the types of results from the present operands and attributes; while an attribute is missing there is no type
// yet.
static byoc_status_t infer_again(byoc_node_t *node, byoc_diag_t *diag) {
  for (uint32_t i = 0; i < node->result_count; ++i) node->results[i]->type = byoc_type_unknown();
  return byoc_infer_node(node, diag);
}

static byoc_status_t create(byoc_codegen_t *session, byoc_function_t *function, byoc_node_t *before, const char *domain,
                            const char *op_name, byoc_value_t *const *operands, uint32_t operand_count,
                            uint32_t result_count, byoc_diag_t *diag, byoc_node_t **out_node) {
  BYOC_RETURN_IF_ERROR(check_place(session, function, before, operands, operand_count, diag));
  if (op_name == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the operator's name is NULL");
  if (domain == NULL) domain = "";
  const byoc_op_t *op = byoc_op_newest(domain, op_name);
  if (op == NULL) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_NOT_FOUND, "edit: unknown operator '%s%s%s'", domain,
                                           domain[0] != '\0' ? "::" : "", op_name);
    const char *nearest = byoc_op_nearest(domain, op_name);
    if (nearest != NULL) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
    return status;
  }
  const bool few = operand_count < (uint32_t)(op->min_inputs < 0 ? 0 : op->min_inputs) ||
                   result_count < (uint32_t)(op->min_outputs < 0 ? 0 : op->min_outputs);
  const bool many = (op->max_inputs >= 0 && operand_count > (uint32_t)op->max_inputs) ||
                    (op->max_outputs >= 0 && result_count > (uint32_t)op->max_outputs);
  if (few || many) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: '%s' does not take %u operands and give %u results",
                           op_name, (unsigned)operand_count, (unsigned)result_count);
  }
  byoc_block_t *block = before != NULL ? before->block : function->body;
  byoc_node_t *node =
      byoc_node_create(block, before, op->domain, op->name, op->since_version, operands, operand_count, result_count);
  if (node == NULL) return byoc_diag_out_of_memory(diag);
  // Types may depend on an attribute that is set later; hand_back insists on types.
  byoc_diag_t inference = {0};
  byoc_status_t status = infer_again(node, &inference);
  byoc_session_note(session, status, &inference);
  if (status == BYOC_OUT_OF_MEMORY) {
    byoc_node_erase(node);
    return byoc_diag_out_of_memory(diag);
  }
  *out_node = node;
  return BYOC_OK;
}

static byoc_node_t *create_node(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *before,
                                const char *domain, const char *op, byoc_value_t *const *operands,
                                uint32_t operand_count, uint32_t result_count) {
  byoc_diag_t diag = {0};
  byoc_node_t *node = NULL;
  byoc_session_note(codegen,
                    create(codegen, function, before, domain, op, operands, operand_count, result_count, &diag, &node),
                    &diag);
  return node;
}

static byoc_status_t set_attribute(byoc_codegen_t *session, byoc_node_t *node, const byoc_attribute_t *attribute,
                                   byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_node(session, node, diag));
  if (attribute->name == NULL || attribute->name[0] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the attribute's name is missing");
  }
  if (node->callee != NULL || byoc_node_is(node, "byoc", "CallC")) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: calls have no attributes of their own");
  }
  if (!byoc_attributes_set(&node->attributes, attribute)) return byoc_diag_out_of_memory(diag);
  byoc_diag_t inference = {0};
  byoc_status_t status = infer_again(node, &inference);
  byoc_session_note(session, status, &inference);
  return status == BYOC_OUT_OF_MEMORY ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static int32_t set_and_settle(byoc_codegen_t *codegen, byoc_node_t *node, const byoc_attribute_t *attribute) {
  byoc_diag_t diag = {0};
  return byoc_session_settle(codegen, set_attribute(codegen, node, attribute, &diag), &diag);
}

static int32_t set_int(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, int64_t value) {
  const byoc_attribute_t attribute = {.name = name, .kind = BYOC_ATTRIBUTE_INT, .i = value};
  return set_and_settle(codegen, node, &attribute);
}

static int32_t set_float(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, double value) {
  const byoc_attribute_t attribute = {.name = name, .kind = BYOC_ATTRIBUTE_FLOAT, .f = value};
  return set_and_settle(codegen, node, &attribute);
}

static int32_t set_string(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, const char *value) {
  if (value == NULL) value = "";
  const byoc_attribute_t attribute = {.name = name, .kind = BYOC_ATTRIBUTE_STRING, .s = value, .count = strlen(value)};
  return set_and_settle(codegen, node, &attribute);
}

static int32_t set_ints(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, const int64_t *values,
                        uint64_t count) {
  if (values == NULL) count = 0;
  const byoc_attribute_t attribute = {
      .name = name, .kind = BYOC_ATTRIBUTE_INTS, .ints = values, .count = (size_t)count};
  return set_and_settle(codegen, node, &attribute);
}

// ---- constants and C calls ----

static byoc_status_t make_constant(byoc_codegen_t *session, byoc_function_t *function, const byoc_tensor_data_t *data,
                                   byoc_diag_t *diag, byoc_value_t **out_value) {
  byoc_tensor_data_t read;
  BYOC_RETURN_IF_ERROR(byoc_abi_read(data, byoc_abi_of(byoc_tensor_data_t), "a constant", &read, diag));
  BYOC_RETURN_IF_ERROR(check_function(session, function, diag));
  if (byoc_dtype_bits(read.dtype) == 0 || read.dtype == BYOC_DTYPE_STRING || read.rank > BYOC_MAX_RANK ||
      (read.rank > 0 && read.dims == NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: a constant has an unusable type");
  }
  byoc_graph_module_t *module = session->module;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, read.dtype, (int32_t)read.rank, read.dims);
  if (type == NULL) return byoc_diag_out_of_memory(diag);
  const int64_t size_bytes = byoc_type_size_bytes(type);
  if (size_bytes < 0 || (uint64_t)size_bytes != read.size_bytes || (read.data == NULL && size_bytes > 0)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: a constant has %llu bytes where its type needs %lld",
                           (unsigned long long)read.size_bytes, (long long)size_bytes);
  }
  const char *name = byoc_arena_format(&session->arena, "%s_constant", session->target->kind->name);
  byoc_constant_t *constant = name != NULL ? byoc_constant_create(module, name, type, read.data) : NULL;
  *out_value = constant != NULL ? byoc_function_constant(function, constant) : NULL;
  return *out_value != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_value_t *constant(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_tensor_data_t *data) {
  byoc_diag_t diag = {0};
  byoc_value_t *value = NULL;
  byoc_session_settle(codegen, make_constant(codegen, function, data, &diag, &value), &diag);
  return value;
}

typedef struct result_shapes_t {
  const uint32_t *dtypes, *ranks;
  const int64_t *dims;
  uint32_t count;
} result_shapes_t;

static byoc_status_t set_result_types(byoc_node_t *node, const result_shapes_t *shapes, byoc_diag_t *diag) {
  const int64_t *dims = shapes->dims;
  for (uint32_t i = 0; i < shapes->count; ++i) {
    if (byoc_dtype_bits(shapes->dtypes[i]) == 0 || shapes->ranks[i] > BYOC_MAX_RANK ||
        (shapes->ranks[i] > 0 && dims == NULL)) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: result %u of a C call has an unusable type",
                             (unsigned)i);
    }
    const byoc_type_t *type =
        byoc_type_tensor_static(&node->function->module->arena, shapes->dtypes[i], (int32_t)shapes->ranks[i], dims);
    if (type == NULL) return byoc_diag_out_of_memory(diag);
    if (byoc_type_size_bytes(type) < 0) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: result %u of a C call has a negative or huge size",
                             (unsigned)i);
    }
    node->results[i]->type = type;
    if (shapes->ranks[i] > 0) dims += shapes->ranks[i];
  }
  return BYOC_OK;
}

static byoc_status_t make_c_call(byoc_codegen_t *session, byoc_function_t *function, byoc_node_t *before,
                                 const byoc_c_call_t *call, byoc_value_t *const *operands, uint32_t operand_count,
                                 const result_shapes_t *shapes, byoc_diag_t *diag, byoc_node_t **out_node) {
  byoc_c_call_t read;
  BYOC_RETURN_IF_ERROR(byoc_abi_read(call, byoc_abi_of(byoc_c_call_t), "the C call", &read, diag));
  BYOC_RETURN_IF_ERROR(check_place(session, function, before, operands, operand_count, diag));
  if (read.argument_count > 0 && read.arguments == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the arguments of a C call are NULL");
  }
  if (shapes->count > MAX_OPERANDS || (shapes->count > 0 && (shapes->dtypes == NULL || shapes->ranks == NULL))) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the types of a C call's results are missing");
  }
  BYOC_RETURN_IF_ERROR(byoc_c_call_verify(&read, operand_count, shapes->count, diag));
  byoc_block_t *block = before != NULL ? before->block : function->body;
  byoc_node_t *node = byoc_node_create(block, before, "byoc", "CallC", 1, operands, operand_count, shapes->count);
  if (node == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_c_call_to_attributes(&read, &node->attributes, diag);
  // The call means this target's symbol, even if an earlier target has a library with that symbol.
  if (status == BYOC_OK && byoc_linkage_find(session->module, NULL, read.symbol) != NULL &&
      !byoc_attributes_set_string(&node->attributes, BYOC_ATTRIBUTE_OF_TARGET, session->target->text)) {
    status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = set_result_types(node, shapes, diag);
  if (status != BYOC_OK) byoc_node_erase(node);
  if (status == BYOC_OK) *out_node = node;
  return status;
}

static byoc_node_t *create_c_call(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *before,
                                  const byoc_c_call_t *call, byoc_value_t *const *operands, uint32_t operand_count,
                                  const uint32_t *dtypes, const uint32_t *ranks, const int64_t *dims,
                                  uint32_t result_count) {
  byoc_diag_t diag = {0};
  byoc_node_t *node = NULL;
  const result_shapes_t shapes = {.dtypes = dtypes, .ranks = ranks, .dims = dims, .count = result_count};
  byoc_session_note(
      codegen, make_c_call(codegen, function, before, call, operands, operand_count, &shapes, &diag, &node), &diag);
  return node;
}

// ---- replacing and erasing ----

static byoc_status_t replace(byoc_codegen_t *session, byoc_value_t *value, byoc_value_t *by, byoc_diag_t *diag) {
  if (value == NULL || by == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: a value is NULL");
  BYOC_RETURN_IF_ERROR(check_function(session, value->function, diag));
  BYOC_RETURN_IF_ERROR(check_value(value->function, by, diag));
  if (value == by) return BYOC_OK;
  return byoc_value_replace_uses(value, by) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static int32_t replace_value(byoc_codegen_t *codegen, byoc_value_t *value, byoc_value_t *by) {
  byoc_diag_t diag = {0};
  return byoc_session_settle(codegen, replace(codegen, value, by, &diag), &diag);
}

static byoc_status_t erase(byoc_codegen_t *session, byoc_node_t *node, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_node(session, node, diag));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i]->uses.count == 0) continue;
    char text[160];
    byoc_node_describe(node, text, sizeof(text));
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: %s is still used", text);
  }
  byoc_node_erase(node);
  // Clears the results' function, so that a handle that the plugin keeps is not mistaken for one of the function.
  for (uint32_t i = 0; i < node->result_count; ++i) node->results[i]->function = NULL;
  node->function = NULL;
  return BYOC_OK;
}

static int32_t erase_node(byoc_codegen_t *codegen, byoc_node_t *node) {
  byoc_diag_t diag = {0};
  return byoc_session_settle(codegen, erase(codegen, node, &diag), &diag);
}

// ---- handing back ----

static bool is_untyped(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i]->type->kind == BYOC_TYPE_UNKNOWN) return true;
  }
  return false;
}

// May a function have the result type `now` instead of `before`? Dimensions may have become known.
static bool type_fits(const byoc_type_t *before, const byoc_type_t *now) {
  if (byoc_type_equal(before, now)) return true;
  if (!byoc_type_is_tensor(before) || !byoc_type_is_tensor(now) || before->dtype != now->dtype) return false;
  if (before->rank != now->rank) return before->rank == BYOC_RANK_UNKNOWN;
  for (int32_t i = 0; i < now->rank; ++i) {
    if (!byoc_dim_equal(before->dims[i], now->dims[i]) && byoc_dim_is_constant(before->dims[i])) return false;
  }
  return true;
}

static byoc_status_t check_results(const byoc_codegen_t *session, int64_t index, byoc_diag_t *diag) {
  const byoc_function_t *function = session->functions[index];
  for (size_t i = 0; i < session->result_counts[index]; ++i) {
    const byoc_type_t *before = session->result_types[index][i], *now = function->body->results.data[i]->type;
    if (type_fits(before, now)) continue;
    byoc_string_t text;
    byoc_string_init(&text, session->allocator);
    byoc_string_appendf(&text, "result %zu is now ", i);
    byoc_type_print(now, &text);
    byoc_string_append(&text, ", it was ");
    byoc_type_print(before, &text);
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "%s", text.data);
    byoc_string_deinit(&text);
    return status;
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_check_body(byoc_codegen_t *session, int64_t index, byoc_diag_t *diag) {
  byoc_function_t *function = session->functions[index];
  // Sorts first: new nodes may come after their users.
  BYOC_RETURN_IF_ERROR(byoc_block_sort(function->body, diag));
  BYOC_FOR_EACH_NODE(node, function->body) {
    if (is_untyped(node)) BYOC_RETURN_IF_ERROR(byoc_infer_node(node, diag));
  }
  BYOC_RETURN_IF_ERROR(byoc_function_verify(function, diag));
  return check_results(session, index, diag);
}

static int32_t hand_back(byoc_codegen_t *codegen, byoc_function_t *function) {
  byoc_diag_t diag = {0};
  const byoc_status_t may_edit = check_may_edit(codegen, &diag);
  const int64_t index = may_edit == BYOC_OK ? byoc_session_claim(codegen, function, &diag) : -1;
  byoc_status_t status = index < 0 ? diag.status : byoc_session_check_body(codegen, index, &diag);
  if (status == BYOC_OK)
    byoc_session_answer(codegen, index, BYOC_CODEGEN_HANDED_BACK);
  else if (index >= 0)
    byoc_diag_context(&diag, status, "handing back function '%s'", function->name);
  return byoc_session_settle(codegen, status, &diag);
}

// ---- passes ----

static byoc_status_t run_over_open(byoc_codegen_t *session, const char *passes, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_may_edit(session, diag));
  if (passes == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "edit: the passes are NULL");
  if (session->services->run_passes == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "edit: there are no passes to run here");
  }
  byoc_function_t **open = BYOC_ARENA_ARRAY(&session->arena, byoc_function_t *, session->function_count);
  size_t count = 0;
  if (open == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < session->function_count; ++i) {
    if (session->results[i].answer == BYOC_CODEGEN_UNANSWERED) open[count++] = session->functions[i];
  }
  const byoc_foreign_t hook = byoc_foreign_enter(NULL);
  const byoc_status_t status = session->services->run_passes(session->services->self, open, count, passes, diag);
  byoc_foreign_leave(&hook);
  return status;
}

static int32_t run_passes(byoc_codegen_t *codegen, const char *passes) {
  byoc_diag_t diag = {0};
  return byoc_session_settle(codegen, run_over_open(codegen, passes, &diag), &diag);
}

const byoc_edit_api_t *byoc_host_edit_api(void) {
  static const byoc_edit_api_t api = {
      .header = BYOC_HEADER(byoc_edit_api_t, 1),
      .create_node = create_node,
      .set_int = set_int,
      .set_float = set_float,
      .set_string = set_string,
      .set_ints = set_ints,
      .constant = constant,
      .create_c_call = create_c_call,
      .replace_value = replace_value,
      .erase_node = erase_node,
      .hand_back = hand_back,
      .run_passes = run_passes,
  };
  return &api;
}
