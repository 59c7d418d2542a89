// SPDX-License-Identifier: Apache-2.0
// Lowers Joins: their operands are written into the result directly, or copied there.
#include "core/hostir/lower/lower_internal.h"

#include "byoc/call.h"
#include "core/ops/byoc/storage.h"

bool byoc_host_is_join(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "Join");
}

// ---- places ----

// Makes a part of `whole` for operand `index`, as large as `type`.
static byoc_status_t make_slice(byoc_host_lowering_t *l, byoc_host_buffer_t *whole, const char *name,
                                const byoc_type_t *type, uint64_t offset_bytes, byoc_host_buffer_t **out_slice) {
  *out_slice = byoc_host_view_create(l->program, whole, name ? name : "part", type, offset_bytes);
  return *out_slice != NULL ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

// The bytes that a node makes have one destination: the first claim counts, and an output comes before any Join. If a
// backend may rely on alignment, an unaligned offset cannot be a destination.
static bool may_have_destination(const byoc_host_lowering_t *l, const byoc_node_t *node, const byoc_value_t *operand,
                                 uint64_t offset_bytes) {
  const byoc_value_t *root = byoc_host_storage_root(operand);
  return root->kind == BYOC_VALUE_RESULT && root->node->block == node->block &&
         byoc_pointer_map_get(&l->destinations, root) == NULL &&
         byoc_type_size_bytes(root->type) == byoc_type_size_bytes(operand->type) &&
         offset_bytes % BYOC_BUFFER_ALIGNMENT == 0;
}

static byoc_status_t place_join(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_value_t *result = node->results[0];
  byoc_host_buffer_t *whole = byoc_pointer_map_get(&l->destinations, result);
  if (whole == NULL) {
    const char *name = result->name ? result->name : "joined";
    whole = byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, name, result->type);
    if (whole == NULL || !byoc_pointer_map_put(&l->destinations, result, whole))
      return byoc_diag_out_of_memory(l->diag);
  }
  uint64_t offset_bytes = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *operand = node->operands[i], *root = byoc_host_storage_root(operand);
    if (may_have_destination(l, node, operand, offset_bytes)) {
      byoc_host_buffer_t *slice = NULL;
      BYOC_RETURN_IF_ERROR(make_slice(l, whole, root->name, root->type, offset_bytes, &slice));
      if (!byoc_pointer_map_put(&l->destinations, root, slice)) return byoc_diag_out_of_memory(l->diag);
    }
    offset_bytes += (uint64_t)byoc_type_size_bytes(operand->type);
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_place_joins(byoc_host_lowering_t *l, const byoc_block_t *block) {
  for (const byoc_node_t *node = block->last; node != NULL; node = node->previous) {
    if (byoc_host_is_join(node)) BYOC_RETURN_IF_ERROR(place_join(l, node));
  }
  return BYOC_OK;
}

// ---- lowering ----

static bool is_there(byoc_host_lowering_t *l, byoc_host_buffer_t *from, byoc_host_buffer_t *whole,
                     uint64_t offset_bytes) {
  bool failed = false;
  const byoc_dim_t place = byoc_dim_binary(&l->program->arena, BYOC_DIM_ADD, byoc_host_buffer_place(whole),
                                           byoc_dim_constant((int64_t)offset_bytes), &failed);
  return !failed && byoc_host_buffer_root(from) == byoc_host_buffer_root(whole) &&
         byoc_dim_equal(byoc_host_buffer_place(from), place);
}

byoc_status_t byoc_host_lower_join(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_host_buffer_t *whole = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, node->results[0], &whole));
  if (whole->is_value) return byoc_diag_error(l->diag, BYOC_UNSUPPORTED, "its result is used outside its block");
  uint64_t offset_bytes = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    byoc_host_buffer_t *from = NULL, *to = NULL;
    BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, operand, &from));
    if (!is_there(l, from, whole, offset_bytes) && operand->type != NULL && from->size_bytes > 0) {
      BYOC_RETURN_IF_ERROR(make_slice(l, whole, operand->name, operand->type, offset_bytes, &to));
      byoc_host_instruction_t *copy = NULL;
      BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_COPY, node, &copy));
      BYOC_RETURN_IF_ERROR(byoc_host_push(l, copy, false, from));
      BYOC_RETURN_IF_ERROR(byoc_host_push(l, copy, true, to));
    }
    offset_bytes += (uint64_t)byoc_type_size_bytes(operand->type);
  }
  return BYOC_OK;
}
