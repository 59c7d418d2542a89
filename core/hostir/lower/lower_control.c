// SPDX-License-Identifier: Apache-2.0
// Lowers branches, loops, and operators on sequences and optionals.
#include "core/hostir/lower/lower_internal.h"
#include "core/op/schema.h"

static byoc_status_t cell_buffer(byoc_host_lowering_t *l, const byoc_value_t *value, const char *name,
                                 byoc_host_buffer_t **out_buffer) {
  *out_buffer =
      byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, value->name ? value->name : name, value->type);
  BYOC_RETURN_IF_ERROR(byoc_host_set_buffer(l, value, *out_buffer));
  return byoc_host_make_cell(l, *out_buffer, value);
}

static byoc_status_t push_cell(byoc_host_lowering_t *l, byoc_host_instruction_t *i, byoc_value_t *value) {
  byoc_host_buffer_t *buffer = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_cell_of(l, value, &buffer));
  return byoc_host_push(l, i, false, buffer);
}

static byoc_status_t push_results(byoc_host_lowering_t *l, byoc_host_instruction_t *i, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(cell_buffer(l, node->results[k], "t", &buffer));
    BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, true, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t match_results(byoc_host_lowering_t *l, const byoc_host_instruction_t *i) {
  for (size_t k = 0; k < i->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_match_value(l, i->results.data[k], true, true));
  }
  return BYOC_OK;
}

// Lowers a block into a region and ends it with a yield of its results. Symbols bound inside are not known after it.
static byoc_status_t lower_region(byoc_host_lowering_t *l, const byoc_block_t *block, byoc_host_region_t *region) {
  byoc_host_region_t *outside = l->region;
  size_t bound = l->bound.count;
  l->region = region;
  for (size_t k = 0; k < region->parameters.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_match_value(l, region->parameters.data[k], true, true));
  }
  BYOC_RETURN_IF_ERROR(byoc_host_lower_block(l, block));
  byoc_host_instruction_t *yield = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_YIELD, NULL, &yield));
  for (size_t k = 0; k < block->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(push_cell(l, yield, block->results.data[k]));
  }
  l->region = outside;
  l->bound.count = bound;
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_if(byoc_host_lowering_t *l, const byoc_node_t *node) {
  static const char *const names[] = {"then_branch", "else_branch"};
  byoc_host_instruction_t *i = NULL;
  byoc_host_buffer_t *condition = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->operands[0], &condition));
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_BRANCH, node, &i));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, condition));
  if (!byoc_host_instruction_add_regions(l->program, i, 2)) return byoc_diag_out_of_memory(l->diag);
  const byoc_block_t *cases[2];
  for (uint32_t r = 0; r < 2; ++r) {
    cases[r] = byoc_node_find_block(node, names[r]);
    if (cases[r] != NULL && cases[r]->results.count == node->result_count) continue;
    return byoc_diag_error(l->diag, BYOC_INVALID_DATA, "the block '%s' does not return %u results", names[r],
                           node->result_count);
  }
  if (!l->program->is_dynamic) return byoc_host_lower_static_if(l, node, i, cases);
  BYOC_RETURN_IF_ERROR(push_results(l, i, node));
  for (uint32_t r = 0; r < 2; ++r) {
    BYOC_RETURN_IF_ERROR_IN(l->diag, lower_region(l, cases[r], &i->regions[r]), "%s", names[r]);
  }
  return match_results(l, i);
}

static byoc_status_t add_parameters(byoc_host_lowering_t *l, const byoc_block_t *body, byoc_host_region_t *region) {
  for (size_t k = 0; k < body->parameters.count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(cell_buffer(l, body->parameters.data[k], "p", &buffer));
    if (!byoc_host_add_parameter(l->program, region, buffer)) return byoc_diag_out_of_memory(l->diag);
  }
  return BYOC_OK;
}

// The shape of a scan's element if there is no iteration: the known dimensions, 0 for the others.
static byoc_status_t scan_dims(byoc_host_lowering_t *l, byoc_host_instruction_t *i, uint32_t carried) {
  size_t count = 0, at = 0;
  for (size_t k = carried; k < i->results.count; ++k) {
    const byoc_type_t *type = i->results.data[k]->type;
    if (!byoc_type_is_tensor(type) || type->rank < 1) {
      return byoc_diag_error(l->diag, BYOC_UNSUPPORTED, "the scan output '%s' has no known rank",
                             i->results.data[k]->name);
    }
    count += (size_t)type->rank - 1;
  }
  i->dims = BYOC_ARENA_ARRAY(&l->program->arena, byoc_dim_t, count);
  if (i->dims == NULL) return byoc_diag_out_of_memory(l->diag);
  for (size_t k = carried; k < i->results.count; ++k) {
    const byoc_type_t *type = i->results.data[k]->type;
    for (int32_t d = 1; d < type->rank; ++d) {
      i->dims[at++] = byoc_host_dim_is_bound(l, type->dims[d]) ? type->dims[d] : byoc_dim_constant(0);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_loop(byoc_host_lowering_t *l, const byoc_node_t *node) {
  const byoc_block_t *body = byoc_node_find_block(node, "body");
  uint32_t carried = node->operand_count > 2 ? node->operand_count - 2 : 0;
  if (body == NULL || body->parameters.count != carried + 2 || body->results.count != node->result_count + 1 ||
      node->result_count < carried) {
    return byoc_diag_error(l->diag, BYOC_INVALID_DATA, "the body does not fit %u carried values and %u results",
                           carried, node->result_count);
  }
  if (!l->program->is_dynamic) return byoc_host_lower_static_loop(l, node);
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_LOOP, node, &i));
  for (uint32_t k = 0; k < carried + 2; ++k) {
    byoc_value_t *value = k < node->operand_count ? node->operands[k] : NULL;
    if (value == NULL && k < 2) BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, NULL));
    if (value != NULL || k >= 2) BYOC_RETURN_IF_ERROR(push_cell(l, i, value));
  }
  BYOC_RETURN_IF_ERROR(push_results(l, i, node));
  if (!byoc_host_instruction_add_regions(l->program, i, 1)) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(scan_dims(l, i, carried));
  BYOC_RETURN_IF_ERROR(add_parameters(l, body, &i->regions[0]));
  BYOC_RETURN_IF_ERROR_IN(l->diag, lower_region(l, body, &i->regions[0]), "body");
  return match_results(l, i);
}

byoc_status_t byoc_host_lower_container(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_CONTAINER, node, &i));
  i->symbol = node->op;
  if (byoc_node_takes(node, "axis")) i->axis = byoc_node_int(node, "axis");
  if (byoc_node_takes(node, "rank")) i->axis = byoc_node_int(node, "rank");
  if (byoc_node_takes(node, "keepdims")) i->flag = byoc_node_int(node, "keepdims");
  if (byoc_node_takes(node, "new_axis")) i->flag = byoc_node_int(node, "new_axis");
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    if (node->operands[k] == NULL) BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, NULL));
    if (node->operands[k] != NULL) BYOC_RETURN_IF_ERROR(push_cell(l, i, node->operands[k]));
  }
  BYOC_RETURN_IF_ERROR(push_results(l, i, node));
  return match_results(l, i);
}
