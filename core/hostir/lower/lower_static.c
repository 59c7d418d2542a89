// SPDX-License-Identifier: Apache-2.0
// Lowers branches of static programs, and blocks of branches and loops: their results go into existing buffers, so that
// no cells are needed.
#include "core/hostir/lower/lower_internal.h"

// Do two buffers begin at the same byte?
static bool is_same_place(byoc_host_buffer_t *a, byoc_host_buffer_t *b) {
  return byoc_host_buffer_root(a) == byoc_host_buffer_root(b) &&
         byoc_dim_equal(byoc_host_buffer_place(a), byoc_host_buffer_place(b));
}

byoc_status_t byoc_host_give_destination(byoc_host_lowering_t *l, const byoc_block_t *block, const byoc_value_t *value,
                                         byoc_host_buffer_t *destination) {
  const byoc_value_t *root = byoc_host_storage_root(value);
  if (root->kind != BYOC_VALUE_RESULT || root->node->block != block) return BYOC_OK;
  if (byoc_pointer_map_get(&l->destinations, root) != NULL) return BYOC_OK;
  if (byoc_type_size_bytes(root->type) != (int64_t)destination->size_bytes) return BYOC_OK;
  return byoc_pointer_map_put(&l->destinations, root, destination) ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

byoc_status_t byoc_host_copy_to(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t *target) {
  byoc_host_buffer_t *from = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, value, &from));
  if (from->size_bytes == 0 || is_same_place(from, target)) return BYOC_OK;
  return byoc_host_append_copy(l, BYOC_HOST_COPY, from, target);
}

// Lowers a block into a region whose results go into `targets`.
static byoc_status_t lower_case(byoc_host_lowering_t *l, const byoc_block_t *block, byoc_host_region_t *region,
                                byoc_host_buffer_t *const *targets) {
  byoc_host_region_t *outside = l->region;
  l->region = region;
  for (size_t k = 0; k < block->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_give_destination(l, block, block->results.data[k], targets[k]));
  }
  BYOC_RETURN_IF_ERROR(byoc_host_place_joins(l, block));
  BYOC_RETURN_IF_ERROR(byoc_host_lower_block(l, block));
  for (size_t k = 0; k < block->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_copy_to(l, block->results.data[k], targets[k]));
  }
  l->region = outside;
  return BYOC_OK;
}

byoc_status_t byoc_host_make_targets(byoc_host_lowering_t *l, const byoc_node_t *node,
                                     byoc_host_buffer_t ***out_targets) {
  byoc_host_buffer_t **targets = BYOC_ARENA_ARRAY(&l->program->arena, byoc_host_buffer_t *, node->result_count);
  *out_targets = targets;
  if (targets == NULL) return byoc_diag_out_of_memory(l->diag);
  for (uint32_t k = 0; k < node->result_count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, node->results[k], &targets[k]));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_static_if(byoc_host_lowering_t *l, const byoc_node_t *node, byoc_host_instruction_t *i,
                                        const byoc_block_t *const cases[2]) {
  byoc_host_buffer_t **targets = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_make_targets(l, node, &targets));
  for (uint32_t r = 0; r < 2; ++r) {
    BYOC_RETURN_IF_ERROR_IN(l->diag, lower_case(l, cases[r], &i->regions[r], targets), "%s",
                            r == 0 ? "then_branch" : "else_branch");
  }
  return BYOC_OK;
}
