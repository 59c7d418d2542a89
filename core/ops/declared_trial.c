// Tries the definition of a declared operator on a node of its own, so that mistakes show when it is declared.
#include <string.h>

#include "core/lower/context.h"
#include "core/ops/declared.h"
#include "core/ops/signature.h"
#include "core/ops/util.h"

// One form of the node.
typedef struct form_t {
  byoc_dtype_t dtypes[BYOC_SIGNATURE_VARIABLES];
  bool is_open;     // dimensions are symbols
  bool is_complete; // optional operands are given
} form_t;

typedef struct trial_t {
  const byoc_op_t *row;
  const byoc_signature_t *signature;
  const form_t *form;
  byoc_graph_module_t *module;
  byoc_function_t *function;
  byoc_node_t *node;
  byoc_diag_t *diag;
} trial_t;

// ---- the node ----

static bool add_dim(const trial_t *trial, const char *name, int32_t index, byoc_dim_t *dims, int32_t *rank) {
  enum { SOME_SIZE = 16 };
  bool failed = false;
  if (trial->form->is_open) {
    char symbol[160];
    snprintf(symbol, sizeof symbol, "%.120s_%d", name, index);
    dims[(*rank)++] = byoc_dim_symbol(&trial->module->arena, symbol, &failed);
  } else {
    dims[(*rank)++] = byoc_dim_constant(SOME_SIZE + (int64_t)(strlen(name) % 4) + index);
  }
  return !failed;
}

// Rests have two dimensions if these are open, otherwise none.
static const byoc_type_t *operand_type(const trial_t *trial, const byoc_signature_value_t *value) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  bool fine = true;
  for (int32_t d = 0; d < value->dim_count && fine; ++d) {
    const byoc_signature_dim_t *dim = &value->dims[d];
    bool has_room = rank + 1 < BYOC_MAX_RANK;
    if (dim->rest && trial->form->is_open && has_room) {
      fine = add_dim(trial, dim->rest, 0, dims, &rank) && add_dim(trial, dim->rest, 1, dims, &rank);
    } else if (!dim->rest && dim->dim.expr) {
      fine = add_dim(trial, dim->dim.expr->symbol, 0, dims, &rank);
    } else if (!dim->rest) {
      dims[rank++] = dim->dim;
    }
  }
  byoc_dtype_t dtype = value->dtype != BYOC_DTYPE_NONE ? value->dtype : trial->form->dtypes[value->variable];
  return fine ? byoc_type_tensor(&trial->module->arena, dtype, rank, dims) : NULL;
}

static bool give_required(byoc_node_t *node, const byoc_op_attribute_t *entry) {
  static const int64_t integer = 1;
  static const double number = 1.0;
  static const char *const text = "";
  byoc_attribute_t value = entry->value;
  value.i = integer, value.f = number, value.count = 1;
  value.ints = &integer, value.floats = &number, value.strings = &text;
  value.s = entry->allowed ? entry->allowed[0] : text;
  if (value.kind == BYOC_ATTRIBUTE_STRING) value.count = strlen(value.s);
  if (value.kind == BYOC_ATTRIBUTE_TENSOR || value.kind == BYOC_ATTRIBUTE_TYPE) return true;
  return byoc_attributes_set(&node->attributes, &value);
}

static byoc_status_t make_node(trial_t *trial) {
  const byoc_signature_t *signature = trial->signature;
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(byoc_allocator_system(), trial->diag, &trial->module));
  trial->function = byoc_function_create(trial->module, "definition");
  if (!trial->function) return byoc_diag_out_of_memory(trial->diag);
  byoc_value_t *operands[BYOC_SIGNATURE_VALUES] = {NULL};
  uint32_t count = trial->form->is_complete ? signature->operand_count : signature->required_count;
  for (uint32_t i = 0; i < count; ++i) {
    const byoc_type_t *type = operand_type(trial, &signature->operands[i]);
    operands[i] = type ? byoc_block_add_parameter(trial->function->body, signature->operands[i].name, type) : NULL;
    if (!operands[i]) return byoc_diag_out_of_memory(trial->diag);
  }
  trial->node = byoc_node_create(trial->function->body, NULL, trial->row->domain, trial->row->name,
                                 trial->row->since_version, operands, count, signature->result_count);
  if (!trial->node) return byoc_diag_out_of_memory(trial->diag);
  for (uint32_t i = 0; i < signature->result_count; ++i) {
    if (!byoc_block_add_result(trial->function->body, signature->results[i].name, trial->node->results[i])) {
      return byoc_diag_out_of_memory(trial->diag);
    }
  }
  for (const byoc_op_attribute_t *a = trial->row->attributes; a && a->value.name; ++a) {
    if (a->required && !give_required(trial->node, a)) return byoc_diag_out_of_memory(trial->diag);
  }
  return BYOC_OK;
}

// ---- its loops ----

static byoc_lower_definition_t find_definition(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return (byoc_lower_definition_t){.point = op->point, .is_elementwise = true};
}

static bool add_buffers(byoc_lower_t *lower, const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  for (size_t i = 0; i < body->parameters.count + body->results.count; ++i) {
    bool is_input = i < body->parameters.count;
    const byoc_value_t *value = is_input ? body->parameters.data[i] : body->results.data[i - body->parameters.count];
    byoc_loop_buffer_t *buffer =
        byoc_loop_parameter(&lower->builder, is_input ? BYOC_LOOP_BUFFER_INPUT : BYOC_LOOP_BUFFER_OUTPUT,
                            is_input ? "in" : "out", value->type);
    if (!buffer || !byoc_pointer_map_put(&lower->buffers, value, buffer)) return false;
  }
  return true;
}

static void lower_elements(byoc_lower_t *lower, const byoc_node_t *node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
    int32_t opened = byoc_emit_open(&lower->builder, type, 0, type->rank, false, indices);
    size_t mark = byoc_lower_begin_element(lower);
    const byoc_loop_expr_t *element = byoc_lower_point(lower, node, r, indices);
    if (element) byoc_lower_store(lower, node, r, indices, element);
    byoc_lower_end_element(lower, mark);
    byoc_emit_close(&lower->builder, opened);
    if (!element) return;
  }
}

static byoc_status_t lower_node(trial_t *trial) {
  byoc_lower_t lower;
  byoc_lower_init(&lower, &trial->module->arena, "definition", find_definition, trial->diag);
  byoc_node_t *const members[] = {trial->node};
  lower.function = trial->function, lower.members = members, lower.member_count = 1;
  byoc_status_t status = BYOC_OK;
  if (lower.builder.failed || !add_buffers(&lower, trial->function)) {
    status = byoc_diag_out_of_memory(trial->diag);
  } else if (trial->row->loops) {
    status = trial->row->loops(&lower, trial->node);
  } else {
    lower_elements(&lower, trial->node);
  }
  if (status == BYOC_OK && lower.builder.failed) {
    status = lower.refused ? byoc_diag_error(trial->diag, BYOC_INVALID_DATA, "an element that it reads does not exist")
                           : byoc_diag_out_of_memory(trial->diag);
  }
  if (status == BYOC_OK) status = byoc_loop_verify(lower.builder.kernel, trial->diag);
  byoc_lower_deinit(&lower);
  return status;
}

// ---- all forms ----

static byoc_status_t try_form(const byoc_op_t *row, const byoc_signature_t *signature, const form_t *form,
                              byoc_diag_t *diag) {
  trial_t trial = {.row = row, .signature = signature, .form = form, .diag = diag};
  byoc_status_t status = make_node(&trial);
  if (status == BYOC_OK) {
    // Sizes that do not suit the operator say nothing about its definition.
    status = byoc_infer_node(trial.node, form->is_open ? diag : NULL);
    bool skipped = status != BYOC_OK && status != BYOC_OUT_OF_MEMORY && !form->is_open;
    if (status == BYOC_OK) status = lower_node(&trial);
    if (skipped) status = BYOC_OK;
  }
  byoc_graph_module_destroy(trial.module);
  return status;
}

static byoc_status_t try_dtypes(const byoc_op_t *row, const byoc_signature_t *signature, form_t *form,
                                const char *types, byoc_diag_t *diag) {
  const byoc_op_declaration_t *declaration = byoc_op_declaration(row);
  for (int kind = 0; kind < 4; ++kind) {
    form->is_open = (kind & 1) == 0;
    form->is_complete = (kind & 2) == 0;
    byoc_diag_t inner = {0};
    if (try_form(row, signature, form, &inner) == BYOC_OK) continue;
    char what[96];
    snprintf(what, sizeof what, "%s%s", declaration->element ? "element" : "loops", types);
    return byoc_op_text_error(declaration, what, &inner, diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_op_try(const byoc_op_t *row, byoc_diag_t *diag) {
  const byoc_signature_t *signature = byoc_op_signature(row);
  if (!row->point && !row->loops) return BYOC_OK;
  form_t form = {0};
  for (uint32_t v = 0; v < signature->variable_count; ++v) form.dtypes[v] = signature->variables[v].dtypes[0];
  if (signature->variable_count == 0) return try_dtypes(row, signature, &form, "", diag);
  for (uint32_t v = 0; v < signature->variable_count; ++v) {
    const byoc_signature_variable_t *variable = &signature->variables[v];
    for (uint32_t i = 0; i < variable->count; ++i) {
      char types[64];
      form.dtypes[v] = variable->dtypes[i];
      snprintf(types, sizeof types, " with %.24s = %s", variable->name, byoc_dtype_name(variable->dtypes[i]));
      BYOC_RETURN_IF_ERROR(try_dtypes(row, signature, &form, types, diag));
    }
    form.dtypes[v] = variable->dtypes[0];
  }
  return BYOC_OK;
}
