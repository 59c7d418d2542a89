// SPDX-License-Identifier: Apache-2.0
// Tries the definition of a declared operator on example nodes, so that mistakes show when it is declared.
#include <stdio.h>

#include "core/op/declared_example.h"
#include "core/op/lowering_context.h"
#include "core/op/util.h"

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

static byoc_status_t lower_node(const byoc_op_t *row, byoc_node_t *node, byoc_diag_t *diag) {
  byoc_lower_t lower;
  byoc_lower_init(&lower, &node->function->module->arena, "definition", find_definition, diag);
  byoc_node_t *const members[] = {node};
  lower.function = node->function, lower.members = members, lower.member_count = 1;
  byoc_status_t status = BYOC_OK;
  if (lower.builder.failed || !add_buffers(&lower, node->function)) {
    status = byoc_diag_out_of_memory(diag);
  } else if (row->loops) {
    status = row->loops(&lower, node);
  } else {
    lower_elements(&lower, node);
  }
  if (status == BYOC_OK && lower.builder.failed) {
    status = lower.refused ? byoc_diag_error(diag, BYOC_INVALID_DATA, "an element that it reads does not exist")
                           : byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = byoc_loop_verify(lower.builder.kernel, diag);
  byoc_lower_deinit(&lower);
  return status;
}

// ---- all forms ----

static byoc_status_t try_form(const byoc_op_t *row, const byoc_op_form_t *form, byoc_diag_t *diag) {
  byoc_graph_module_t *module = NULL;
  byoc_node_t *node = NULL;
  BYOC_RETURN_IF_ERROR(byoc_op_example(row, form, diag, &module, &node));
  // If the example's sizes do not fit the operator, its definition is not at fault.
  byoc_status_t status = byoc_infer_node(node, form->is_open ? diag : NULL);
  const bool is_unsuited = status != BYOC_OK && status != BYOC_OUT_OF_MEMORY && !form->is_open;
  if (status == BYOC_OK) status = lower_node(row, node, diag);
  byoc_graph_module_destroy(module);
  return is_unsuited ? BYOC_OK : status;
}

static byoc_status_t try_dtypes(const byoc_op_t *row, size_t index, byoc_op_form_t *form, byoc_diag_t *diag) {
  enum { KINDS = 4, SOME_SIZE = 16 };
  const byoc_op_declaration_t *declaration = byoc_op_declaration(row);
  const size_t choices = byoc_op_form_choices(row);
  for (size_t i = 0; i < KINDS * choices; ++i) {
    form->is_open = (i & 1) == 0;
    form->is_complete = (i & 2) == 0;
    form->choice = i / KINDS;
    form->rest_rank = form->is_open ? 2 : 0;
    form->size = SOME_SIZE;
    byoc_diag_t inner = {0};
    if (try_form(row, form, &inner) == BYOC_OK) continue;
    char types[64], what[96];
    byoc_op_form_print_dtypes(row, index, types, sizeof types);
    snprintf(what, sizeof what, "%s%s%s", declaration->element ? "element" : "loops", types[0] ? " with " : "", types);
    return byoc_op_text_error(declaration, what, &inner, diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_op_try(const byoc_op_t *row, byoc_diag_t *diag) {
  byoc_op_form_t form = {0};
  for (size_t i = 0; (row->point || row->loops) && byoc_op_form_set_dtypes(row, i, &form); ++i) {
    BYOC_RETURN_IF_ERROR(try_dtypes(row, i, &form, diag));
  }
  return BYOC_OK;
}
