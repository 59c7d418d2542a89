// SPDX-License-Identifier: Apache-2.0
// Keeps which values share memory, for the verifier of host programs: a value that was passed on must not be written.
#include "core/hostir/verify/verify_internal.h"

// A value that is allocated has memory of its own, under a number of its own. Sharing gives another value the same
// number. Other values (inputs, constants, parameters, results of regions and containers) have the number 0: other
// values may have their memory.

byoc_status_t byoc_host_verify_own(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (!byoc_host_buffer_in_cell(buffer)) return BYOC_OK;
  const byoc_host_storage_t storage = {.is_passed = false};
  if (!byoc_vector_push(&v->storages, byoc_arena_allocator(&v->arena), storage))
    return byoc_diag_out_of_memory(v->diag);
  v->lives[buffer->index].storage = (uint32_t)v->storages.count;
  return BYOC_OK;
}

void byoc_host_verify_pass_on(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  bool passes = i->op == BYOC_HOST_CONTAINER || i->op == BYOC_HOST_LOOP || i->op == BYOC_HOST_YIELD;
  for (size_t k = 0; k < i->operands.count && passes; ++k) {
    const byoc_host_buffer_t *buffer = i->operands.data[k];
    const uint32_t number = buffer != NULL ? v->lives[buffer->index].storage : 0;
    if (number == 0) continue;
    v->storages.data[number - 1].is_passed = true;
    v->storages.data[number - 1].passed_at = v->number;
  }
}

byoc_status_t byoc_host_verify_write_value(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (!byoc_host_buffer_in_cell(buffer)) return BYOC_OK;
  const uint32_t number = v->lives[buffer->index].storage;
  if (number == 0 || v->storages.data[number - 1].is_passed) {
    return byoc_host_verify_refuse(v, "the value '%s' is written, but its memory may be that of another one, too",
                                   buffer->name);
  }
  v->storages.data[number - 1].written_at = v->number;
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_repeat_values(byoc_host_verifier_t *v, size_t first_new, size_t number) {
  for (size_t k = 0; k < first_new; ++k) {
    const byoc_host_storage_t *storage = &v->storages.data[k];
    if (!storage->is_passed || storage->passed_at <= number || storage->written_at <= number) continue;
    return byoc_host_verify_refuse(v, "an iteration writes a value that the iteration before may have passed on");
  }
  return BYOC_OK;
}
