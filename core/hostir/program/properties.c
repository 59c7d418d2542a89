// SPDX-License-Identifier: Apache-2.0
// Finds which analysis results hold in a host program: lifetimes, a memory plan.
#include "core/hostir/program/properties.h"

static void mark_used(bool *used, byoc_host_buffer_t *const *buffers, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    if (buffers[k] != NULL) used[byoc_host_buffer_root(buffers[k])->index] = true;
  }
}

static byoc_status_t check_place(const byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_diag_t *diag) {
  if (buffer == NULL) return BYOC_OK;
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  if (root->kind != BYOC_HOST_BUFFER_LOCAL || root->is_value || root->offset_bytes != BYOC_HOST_OFFSET_NONE) {
    return BYOC_OK;
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "host program '%s': buffer '%s' has no offset in the workspace",
                      program->name, root->name);
  byoc_diag_hint(diag, "run plan-memory before it");
  return status;
}

byoc_status_t byoc_host_check_places(const byoc_host_program_t *program, byoc_diag_t *diag) {
  BYOC_HOST_FOR_EACH(i, program) {
    for (size_t k = 0; k < i->operands.count; ++k) {
      BYOC_RETURN_IF_ERROR(check_place(program, i->operands.data[k], diag));
    }
    for (size_t k = 0; k < i->results.count; ++k) BYOC_RETURN_IF_ERROR(check_place(program, i->results.data[k], diag));
    BYOC_RETURN_IF_ERROR(check_place(program, i->workspace, diag));
  }
  return BYOC_OK;
}

bool byoc_host_program_properties(const byoc_host_program_t *program, uint32_t *out_properties) {
  byoc_allocator_t allocator = program->arena.allocator;
  bool *used = byoc_allocate(allocator, 2 * program->buffers.count + 1, sizeof(*used));
  if (used == NULL) return false;
  bool *freed = used + program->buffers.count;
  bool lives = true, is_planned = true;
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op == BYOC_HOST_FREE) freed[i->operands.data[0]->index] = true;
    if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) continue;
    mark_used(used, i->operands.data, i->operands.count);
    mark_used(used, i->results.data, i->results.count);
    mark_used(used, &i->workspace, 1);
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_LOCAL || buffer->is_parameter || !used[k]) continue;
    lives = lives &&
            (freed[k] || byoc_host_own_allocation(buffer) != NULL); // the verifier finds buffers that are never freed
    is_planned = is_planned && (buffer->is_value || buffer->offset_bytes != BYOC_HOST_OFFSET_NONE);
  }
  byoc_free(allocator, used);
  *out_properties = (lives ? BYOC_HOST_LIFETIMES : 0u) | (lives && is_planned ? BYOC_HOST_PLAN : 0u);
  return true;
}
