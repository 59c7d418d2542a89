// SPDX-License-Identifier: Apache-2.0
// Changes the declarations of host programs at random: types, places, views, the workspace.
#include <string.h>

#include "core/hostir/program/edit.h"
#include "tests/random/host/host.h"

// Gives a buffer another type; sizes follow.
static bool set_type(byoc_host_buffer_t *buffer, const byoc_type_t *type) {
  if (type == NULL) return false;
  const bool is_static = byoc_type_is_static(type);
  const int64_t size = is_static ? byoc_type_size_bytes(type) : 0;
  if (size < 0) return false;
  buffer->type = type;
  buffer->size_bytes = (uint64_t)size;
  if (!is_static) buffer->is_value = true;
  return true;
}

static bool is_ranked(const byoc_host_buffer_t *buffer) {
  return buffer != NULL && byoc_type_is_tensor(buffer->type) && buffer->type->rank >= 0 &&
         buffer->kind != BYOC_HOST_BUFFER_CONSTANT;
}

static bool change_dims(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  if (!is_ranked(buffer)) return false;
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = buffer->type->rank;
  if (rank > 0) memcpy(dims, buffer->type->dims, (size_t)rank * sizeof(*dims));
  if (rank > 0 && chance(m, 15)) {
    rank--;
  } else if (rank < 4 && chance(m, 15)) {
    dims[rank++] = pick_dim(m);
  } else if (rank > 1 && chance(m, 25)) {
    const byoc_dim_t first = dims[0];
    dims[0] = dims[rank - 1];
    dims[rank - 1] = first;
  } else if (rank > 0) {
    const size_t at = below(m, (size_t)rank);
    const bool is_step = byoc_dim_is_constant(dims[at]) && chance(m, 50);
    const int64_t step = chance(m, 50) ? 1 : -1;
    dims[at] = is_step && dims[at].constant + step >= 0 ? byoc_dim_constant(dims[at].constant + step) : pick_dim(m);
  }
  return set_type(buffer, byoc_type_tensor(&m->program->arena, buffer->type->dtype, rank, dims));
}

static bool change_dtype(mutation_t *m) {
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_F32, BYOC_DTYPE_F64, BYOC_DTYPE_I64,    BYOC_DTYPE_I32,
                                        BYOC_DTYPE_I8,  BYOC_DTYPE_U8,  BYOC_DTYPE_STRING, BYOC_DTYPE_BOOL};
  byoc_host_buffer_t *buffer = pick_buffer(m);
  if (!is_ranked(buffer)) return false;
  return set_type(buffer,
                  byoc_type_tensor(&m->program->arena, dtypes[below(m, 8)], buffer->type->rank, buffer->type->dims));
}

// A type that another buffer has.
static bool copy_type(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  const byoc_host_buffer_t *other = pick_buffer(m);
  if (buffer == NULL || buffer == other || buffer->kind == BYOC_HOST_BUFFER_CONSTANT) return false;
  return set_type(buffer, other->type);
}

static bool wrap_type(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  if (buffer == NULL || buffer->kind == BYOC_HOST_BUFFER_CONSTANT || !buffer->is_value) return false;
  const byoc_type_t *type = buffer->type;
  if (type->element != NULL && chance(m, 50)) return set_type(buffer, type->element);
  return set_type(buffer, chance(m, 50) ? byoc_type_sequence(&m->program->arena, type)
                                        : byoc_type_optional(&m->program->arena, type));
}

static bool change_value(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  if (buffer == NULL || !byoc_type_is_static(buffer->type)) return false;
  buffer->is_value = !buffer->is_value;
  return true;
}

// Another place in the workspace, or none.
static bool change_offset(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  if (buffer == NULL || buffer->kind != BYOC_HOST_BUFFER_LOCAL || buffer->is_value) return false;
  const byoc_host_buffer_t *other = pick_buffer(m);
  if (chance(m, 30) && other->kind == BYOC_HOST_BUFFER_LOCAL)
    buffer->offset_bytes = other->offset_bytes;
  else if (chance(m, 5))
    buffer->offset_bytes = BYOC_HOST_OFFSET_NONE;
  else if (chance(m, 10))
    buffer->offset_bytes += below(m, 64);
  else
    buffer->offset_bytes = 64 * below(m, m->program->workspace_size_bytes / 64 + 2);
  return true;
}

static bool change_workspace_size(mutation_t *m) {
  const uint64_t size = m->program->workspace_size_bytes;
  m->program->workspace_size_bytes = chance(m, 50) ? size + 64 * below(m, 4) : size > 64 ? size - 1 - below(m, 64) : 0;
  return true;
}

static byoc_host_buffer_t *pick_view(mutation_t *m) {
  for (size_t tries = 0; tries < 3 * m->program->buffers.count; ++tries) {
    byoc_host_buffer_t *buffer = pick_buffer(m);
    if (buffer->kind == BYOC_HOST_BUFFER_VIEW) return buffer;
  }
  return NULL;
}

static bool change_view(mutation_t *m) {
  byoc_host_buffer_t *view = pick_view(m);
  if (view == NULL) return false;
  byoc_host_buffer_t *base = pick_like(m, view->base);
  if (m->program->symbols.count > 0 && chance(m, 30)) { // it moves, or stops moving
    bool failed = false;
    const byoc_dim_t place = byoc_dim_binary(&m->program->arena, BYOC_DIM_MUL, pick_dim(m),
                                             byoc_dim_constant((int64_t)(4 << below(m, 5))), &failed);
    const byoc_dim_t begin = byoc_dim_constant((int64_t)(4 * below(m, 8)));
    const byoc_dim_t offset = byoc_dim_binary(&m->program->arena, BYOC_DIM_ADD, place, begin, &failed);
    if (failed || (byoc_dim_is_constant(offset) && offset.constant < 0)) return false;
    byoc_host_view_set_offset(view, offset);
    return true;
  }
  if (byoc_host_buffer_moves(view)) return false;
  if (chance(m, 30) && base->index < view->index)
    view->base = base;
  else if (chance(m, 20))
    view->offset_bytes += below(m, 64);
  else if (chance(m, 50) && view->offset_bytes >= 4)
    view->offset_bytes -= chance(m, 50) ? 4 : view->offset_bytes;
  else
    view->offset_bytes += 4 * below(m, 8);
  return true;
}

// A new view, in the place of a buffer in one instruction.
static bool insert_view(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  byoc_host_buffer_t *base = pick_buffer(m);
  if (i == NULL || i->operands.count + i->results.count == 0 || base->kind == BYOC_HOST_BUFFER_VIEW) return false;
  const bool is_result = i->operands.count == 0 || (i->results.count > 0 && chance(m, 50));
  const size_t at = below(m, is_result ? i->results.count : i->operands.count);
  byoc_host_buffer_t *old = is_result ? i->results.data[at] : i->operands.data[at];
  if (old == NULL || !byoc_type_is_static(old->type)) return false;
  if (chance(m, 50)) base = byoc_host_buffer_root(old);
  byoc_host_buffer_t *view =
      byoc_host_view_create(m->program, base, "mutant", old->type, chance(m, 60) ? 0 : 4 * below(m, 8));
  if (view == NULL) return false;
  return is_result ? byoc_host_set_result(m->program, i, (uint32_t)at, view)
                   : byoc_host_set_operand(m->program, i, (uint32_t)at, view);
}

// A new local buffer in the place of one in every instruction, without lifetime or with.
static bool insert_local(mutation_t *m) {
  byoc_host_buffer_t *old = pick_buffer(m);
  if (old == NULL || old->kind == BYOC_HOST_BUFFER_CONSTANT) return false;
  byoc_host_buffer_t *fresh = byoc_host_buffer_create(m->program, BYOC_HOST_BUFFER_LOCAL, "fresh", old->type);
  if (fresh == NULL) return false;
  fresh->is_value = old->is_value;
  if (!fresh->is_value) {
    fresh->offset_bytes = (m->program->workspace_size_bytes + 63) / 64 * 64;
    m->program->workspace_size_bytes = fresh->offset_bytes + (fresh->size_bytes + 63) / 64 * 64;
  }
  if (old->kind == BYOC_HOST_BUFFER_LOCAL) return byoc_host_replace_uses(m->program, old, fresh);
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || i->operands.count == 0) return false;
  byoc_host_instruction_t *allocate = byoc_host_instruction_create(m->program, i, BYOC_HOST_ALLOCATE);
  if (allocate == NULL || !byoc_host_add_operand(m->program, allocate, fresh)) return false;
  allocate->origin = "";
  byoc_host_instruction_t *last = byoc_host_instruction_append(m->program, i->region, BYOC_HOST_FREE);
  if (last == NULL || !byoc_host_add_operand(m->program, last, fresh)) return false;
  last->origin = "";
  return byoc_host_set_operand(m->program, i, (uint32_t)below(m, i->operands.count), fresh);
}

// An input becomes local, and so on. Constants stay, because they have data, and views, because they have a base.
static bool change_kind(mutation_t *m) {
  static const byoc_host_buffer_kind_t kinds[] = {BYOC_HOST_BUFFER_INPUT, BYOC_HOST_BUFFER_OUTPUT,
                                                  BYOC_HOST_BUFFER_LOCAL};
  byoc_host_program_t *program = m->program;
  byoc_host_buffer_t *buffer = pick_buffer(m);
  if (buffer == NULL || buffer->is_parameter || buffer->kind == BYOC_HOST_BUFFER_CONSTANT ||
      buffer->kind == BYOC_HOST_BUFFER_VIEW) {
    return false;
  }
  buffer->kind = kinds[below(m, 3)];
  buffer->offset_bytes = buffer->kind == BYOC_HOST_BUFFER_LOCAL ? 0 : buffer->offset_bytes;
  program->inputs.count = program->outputs.count = 0;
  for (size_t k = 0; k < program->buffers.count; ++k) {
    byoc_host_buffer_t *each = program->buffers.data[k];
    if (each->kind == BYOC_HOST_BUFFER_INPUT && !byoc_vector_push(&program->inputs, program->arena.allocator, each)) {
      return false;
    }
    if (each->kind == BYOC_HOST_BUFFER_OUTPUT && !byoc_vector_push(&program->outputs, program->arena.allocator, each)) {
      return false;
    }
  }
  return true;
}

const mutator_t buffer_mutators[] = {
    change_dims,   change_dims,   change_dtype,          copy_type,   wrap_type,   change_value,
    change_offset, change_offset, change_view,           change_view, insert_view, insert_view,
    insert_local,  change_kind,   change_workspace_size, NULL,
};
