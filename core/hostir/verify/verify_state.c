// SPDX-License-Identifier: Apache-2.0
// Keeps the buffers that are alive, and their bytes that are written, at each point of a host program.
#include <string.h>

#include "core/hostir/verify/verify_internal.h"

byoc_byte_range_t byoc_host_verify_bytes(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (byoc_host_buffer_in_cell(buffer)) return (byoc_byte_range_t){0, 1};
  if (byoc_host_buffer_moves(buffer)) {
    const byoc_host_range_t range = byoc_host_range_of(&v->ranges, buffer->offset);
    const uint64_t most_begin = buffer->base->size_bytes - buffer->size_bytes;
    const uint64_t first = range.least > 0 ? (uint64_t)range.least : 0,
                   last = range.most > 0 ? (uint64_t)range.most : 0;
    return (byoc_byte_range_t){first < most_begin ? first : most_begin,
                               (last < most_begin ? last : most_begin) + buffer->size_bytes};
  }
  const uint64_t begin = byoc_host_buffer_offset(buffer);
  return (byoc_byte_range_t){begin, begin + buffer->size_bytes};
}

// ---- the workspace, and those of devices ----

static bool is_planned(const byoc_host_buffer_t *buffer) {
  return buffer->kind == BYOC_HOST_BUFFER_LOCAL && !buffer->is_value && buffer->size_bytes > 0 &&
         buffer->offset_bytes != BYOC_HOST_OFFSET_NONE;
}

// A cached buffer has its place all the time.
static bool comes_and_goes(const byoc_host_buffer_t *buffer) {
  return is_planned(buffer) && !byoc_host_is_cached(buffer);
}

// The bytes of a buffer: in the host's workspace, which has the number 0, or in the memory of a device. A memory that
// is apart has allocations instead of bytes.
typedef struct taken_t {
  uint32_t memory;
  uint64_t begin, end;
} taken_t;

static taken_t taken_by(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const byoc_host_memory_t *memory =
      buffer->device != NULL ? byoc_host_find_memory(v->program, buffer->device, buffer->scope) : NULL;
  const uint64_t size = memory != NULL && memory->is_apart ? 1 : buffer->size_bytes;
  return (taken_t){memory != NULL ? memory->index + 1 : 0, buffer->offset_bytes, buffer->offset_bytes + size};
}

// The position of the first planned buffer that begins at `taken` or behind it.
static size_t find_planned(const byoc_host_verifier_t *v, const taken_t *taken) {
  size_t low = 0, high = v->planned_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const taken_t other = taken_by(v, v->planned[middle]);
    const bool is_before =
        other.memory < taken->memory || (other.memory == taken->memory && other.begin < taken->begin);
    if (is_before) low = middle + 1;
    if (!is_before) high = middle;
  }
  return low;
}

static const byoc_host_buffer_t *find_overlapping(const byoc_host_verifier_t *v, const taken_t *taken, size_t at) {
  if (at < v->planned_count) {
    const taken_t behind = taken_by(v, v->planned[at]);
    if (behind.memory == taken->memory && behind.begin < taken->end) return v->planned[at];
  }
  if (at == 0) return NULL;
  const taken_t before = taken_by(v, v->planned[at - 1]);
  return before.memory == taken->memory && before.end > taken->begin ? v->planned[at - 1] : NULL;
}

static byoc_status_t begin_planned(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const taken_t taken = taken_by(v, buffer);
  const size_t at = find_planned(v, &taken);
  const byoc_host_buffer_t *other = find_overlapping(v, &taken, at);
  if (other != NULL) {
    return byoc_host_verify_refuse(v, "buffer '%s' overlaps '%s', which is alive, in the workspace", buffer->name,
                                   other->name);
  }
  memmove(&v->planned[at + 1], &v->planned[at], (v->planned_count - at) * sizeof(*v->planned));
  v->planned[at] = buffer;
  v->planned_count++;
  return BYOC_OK;
}

static void end_planned(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const taken_t taken = taken_by(v, buffer);
  const size_t at = find_planned(v, &taken);
  v->planned_count--;
  memmove(&v->planned[at], &v->planned[at + 1], (v->planned_count - at) * sizeof(*v->planned));
}

// ---- changes ----

// The state of a buffer that is about to change; the innermost region remembers how it was before. NULL if out of
// memory.
static byoc_host_life_t *change(byoc_host_verifier_t *v, uint32_t buffer) {
  byoc_host_life_t *life = &v->lives[buffer];
  if (life->region == v->region) return life;
  byoc_host_change_t before = {.buffer = buffer, .life = *life};
  if (!byoc_byte_set_copy(&life->written, &v->arena, &before.life.written) ||
      !byoc_vector_push(&v->changes, byoc_arena_allocator(&v->arena), before)) {
    return NULL;
  }
  life->region = v->region;
  return life;
}

byoc_status_t byoc_host_verify_note(byoc_host_verifier_t *v, const byoc_host_buffer_t *root, byoc_byte_range_t bytes) {
  byoc_host_life_t *life = change(v, root->index);
  if (life != NULL && byoc_byte_set_add(&life->written, bytes, &v->arena)) return BYOC_OK;
  return byoc_diag_out_of_memory(v->diag);
}

static byoc_status_t set_alive(byoc_host_verifier_t *v, const byoc_host_buffer_t *root, bool alive) {
  byoc_host_life_t *life = change(v, root->index);
  if (life == NULL) return byoc_diag_out_of_memory(v->diag);
  *life = (byoc_host_life_t){.alive = alive, .lives = life->lives + alive, .region = v->region};
  if (!comes_and_goes(root)) return BYOC_OK;
  if (alive) return begin_planned(v, root);
  end_planned(v, root);
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_start(byoc_host_verifier_t *v) {
  for (size_t k = 0; k < v->program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = v->program->buffers.data[k];
    v->lives[k] = (byoc_host_life_t){.alive = buffer->kind != BYOC_HOST_BUFFER_LOCAL};
    bool given = buffer->kind == BYOC_HOST_BUFFER_INPUT || buffer->kind == BYOC_HOST_BUFFER_CONSTANT;
    if (is_planned(buffer) && byoc_host_is_cached(buffer)) BYOC_RETURN_IF_ERROR(begin_planned(v, buffer));
    if (!given) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_verify_note(v, buffer, byoc_host_verify_bytes(v, buffer)));
    v->lives[k].known = byoc_host_verify_imported(buffer);
  }
  return BYOC_OK;
}

// ---- instructions ----

static byoc_status_t check_not_taken(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (!v->is_taken[buffer->index]) return BYOC_OK;
  return byoc_host_verify_refuse(v, "buffer '%s' is a result of the instruction around it", buffer->name);
}

static byoc_status_t check_alive(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, const char *how) {
  BYOC_RETURN_IF_ERROR(check_not_taken(v, buffer));
  const byoc_host_life_t *life = &v->lives[byoc_host_buffer_root(buffer)->index];
  if (life->alive) return BYOC_OK;
  return byoc_host_verify_refuse(v, "buffer '%s' is %s outside its lifetime: it %s", buffer->name, how,
                                 life->lives > 0 ? "was freed" : "was not allocated");
}

byoc_status_t byoc_host_verify_read(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  const byoc_host_life_t *life = &v->lives[root->index];
  const byoc_byte_range_t bytes = byoc_host_verify_bytes(v, buffer);
  byoc_byte_range_t gap;
  BYOC_RETURN_IF_ERROR(check_alive(v, buffer, "read"));
  if (byoc_byte_set_covers(&life->written, bytes, &gap)) return BYOC_OK;
  if (byoc_host_buffer_moves(buffer)) {
    if (byoc_host_verify_is_slice_written(v, buffer)) return BYOC_OK;
    return byoc_host_verify_refuse(v, "buffer '%s' is read before all bytes that it may cover are written",
                                   buffer->name);
  }
  if (!byoc_byte_set_touches(&life->written, bytes)) {
    return byoc_host_verify_refuse(v, "buffer '%s' is read before it is written", buffer->name);
  }
  return byoc_host_verify_refuse(v, "buffer '%s' is read before it is written whole: bytes %llu to %llu are missing",
                                 buffer->name, (unsigned long long)(gap.begin - bytes.begin),
                                 (unsigned long long)(gap.end - bytes.begin - 1));
}

static byoc_status_t check_writable(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  if (root->kind == BYOC_HOST_BUFFER_INPUT || root->kind == BYOC_HOST_BUFFER_CONSTANT) {
    return byoc_host_verify_refuse(v, "buffer '%s' is read-only, but is written: it is %s", buffer->name,
                                   root->kind == BYOC_HOST_BUFFER_INPUT ? "an input" : "a constant");
  }
  if (!root->is_parameter) return BYOC_OK;
  return byoc_host_verify_refuse(v, "buffer '%s' belongs to its region, but is written", buffer->name);
}

byoc_status_t byoc_host_verify_write(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  BYOC_RETURN_IF_ERROR(check_writable(v, buffer));
  BYOC_RETURN_IF_ERROR(check_alive(v, buffer, "written"));
  if (root->kind == BYOC_HOST_BUFFER_OUTPUT && root->is_value) {
    return byoc_host_verify_refuse(v, "buffer '%s' is written, but is an output that has no memory before it is made",
                                   buffer->name);
  }
  BYOC_RETURN_IF_ERROR(byoc_host_verify_write_value(v, buffer));
  if (byoc_host_buffer_moves(buffer)) return byoc_host_verify_write_slice(v, buffer);
  return byoc_host_verify_note(v, root, byoc_host_verify_bytes(v, buffer));
}

static bool holds_slices(const byoc_host_verifier_t *v, const byoc_host_buffer_t *root) {
  for (size_t k = 0; k < v->slices.count; ++k) {
    if (v->slices.data[k].root == root->index && v->slices.data[k].life == v->lives[root->index].lives) return true;
  }
  return false;
}

// The contents of scratch are undefined before and behind the call, so it must not hold anything.
byoc_status_t byoc_host_verify_scratch(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  BYOC_RETURN_IF_ERROR(check_writable(v, buffer));
  BYOC_RETURN_IF_ERROR(check_alive(v, buffer, "used"));
  const bool moves = byoc_host_buffer_moves(buffer);
  if (moves && v->at->op != BYOC_HOST_LAUNCH) {
    return byoc_host_verify_refuse(v, "buffer '%s' cannot be a workspace: it moves", buffer->name);
  }
  // A view that moves may have any offset.
  const byoc_byte_range_t bytes = byoc_host_verify_bytes(v, moves ? root : buffer);
  const bool is_own = root->kind == BYOC_HOST_BUFFER_LOCAL && (!root->is_value || root->device != NULL);
  if (is_own && !holds_slices(v, root) && !byoc_byte_set_touches(&v->lives[root->index].written, bytes)) {
    return BYOC_OK;
  }
  return byoc_host_verify_refuse(v, "buffer '%s' cannot be a workspace: it %s", buffer->name,
                                 is_own ? "holds written bytes" : "is not in the workspace");
}

byoc_status_t byoc_host_verify_set_known(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, uint32_t known) {
  byoc_host_life_t *life = change(v, buffer->index);
  if (life == NULL) return byoc_diag_out_of_memory(v->diag);
  life->known = known;
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_make(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, uint32_t known) {
  BYOC_RETURN_IF_ERROR(check_writable(v, buffer));
  BYOC_RETURN_IF_ERROR(check_not_taken(v, buffer));
  if (buffer->kind == BYOC_HOST_BUFFER_LOCAL) {
    if (v->lives[buffer->index].alive) {
      return byoc_host_verify_refuse(v, "buffer '%s' is made while it is alive", buffer->name);
    }
    BYOC_RETURN_IF_ERROR(set_alive(v, buffer, true));
  }
  BYOC_RETURN_IF_ERROR(byoc_host_verify_set_known(v, buffer, known));
  return byoc_host_verify_note(v, buffer, byoc_host_verify_bytes(v, buffer));
}

byoc_status_t byoc_host_verify_begin_or_end(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, bool begins) {
  const byoc_host_life_t *life = &v->lives[buffer->index];
  const char *what = NULL;
  BYOC_RETURN_IF_ERROR(check_not_taken(v, buffer));
  if (buffer->is_parameter) what = "belongs to its region";
  if (buffer->kind != BYOC_HOST_BUFFER_LOCAL) what = "is not local";
  if (what == NULL && begins == life->alive) {
    what = begins ? "is allocated twice" : life->lives > 0 ? "is freed twice" : "is freed, but was not allocated";
  }
  if (what != NULL) return byoc_host_verify_refuse(v, "buffer '%s' %s", buffer->name, what);
  BYOC_RETURN_IF_ERROR(set_alive(v, buffer, begins));
  if (!begins) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_host_verify_set_known(v, buffer, UINT32_MAX));
  return byoc_host_verify_own(v, buffer);
}

// ---- regions ----

byoc_status_t byoc_host_verify_enter(byoc_host_verifier_t *v, const byoc_host_region_t *region,
                                     byoc_host_scope_t *out_scope) {
  *out_scope = (byoc_host_scope_t){.first_change = v->changes.count,
                                   .first_slice = v->slices.count,
                                   .bound_count = v->bound.count,
                                   .equation_count = v->equations.count,
                                   .outside = v->region};
  v->region = ++v->region_count;
  for (size_t k = 0; k < region->parameters.count; ++k) {
    const byoc_host_buffer_t *parameter = region->parameters.data[k];
    BYOC_RETURN_IF_ERROR(check_not_taken(v, parameter));
    if (v->lives[parameter->index].alive) {
      return byoc_host_verify_refuse(v, "the parameter '%s' is alive before its region begins", parameter->name);
    }
    BYOC_RETURN_IF_ERROR(set_alive(v, parameter, true));
    BYOC_RETURN_IF_ERROR(byoc_host_verify_note(v, parameter, byoc_host_verify_bytes(v, parameter)));
    BYOC_RETURN_IF_ERROR(byoc_host_verify_set_known(v, parameter, v->passed[k]));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_leave(byoc_host_verifier_t *v, byoc_host_scope_t *scope) {
  byoc_host_buffer_t *const *buffers = v->program->buffers.data;
  for (size_t k = scope->first_change; k < v->changes.count; ++k) {
    const byoc_host_change_t *before = &v->changes.data[k];
    byoc_host_life_t *life = &v->lives[before->buffer];
    const byoc_host_change_t end = {.buffer = before->buffer, .life = *life};
    if (!byoc_vector_push(&scope->ends, byoc_arena_allocator(&v->arena), end)) return byoc_diag_out_of_memory(v->diag);
    if (life->alive && !before->life.alive && comes_and_goes(buffers[before->buffer]))
      end_planned(v, buffers[end.buffer]);
    *life = before->life;
  }
  // A freed buffer comes back when all buffers that took its bytes are gone.
  for (size_t k = 0; k < scope->ends.count; ++k) {
    const byoc_host_change_t *end = &scope->ends.data[k];
    bool comes_back = v->lives[end->buffer].alive && !end->life.alive && comes_and_goes(buffers[end->buffer]);
    if (comes_back) BYOC_RETURN_IF_ERROR(begin_planned(v, buffers[end->buffer]));
  }
  BYOC_RETURN_IF_ERROR(byoc_host_verify_leave_slices(v, scope));
  v->changes.count = scope->first_change;
  v->region = scope->outside;
  v->equations.count = scope->equation_count;
  while (v->bound.count > scope->bound_count) v->is_bound[v->bound.data[--v->bound.count]] = false;
  return BYOC_OK;
}

// One buffer behind a branch; a case that did not change it left its state.
static byoc_status_t join_buffer(byoc_host_verifier_t *v, uint32_t buffer, const byoc_host_life_t *then_life,
                                 const byoc_host_life_t *else_life) {
  const byoc_host_buffer_t *root = v->program->buffers.data[buffer];
  if (then_life->alive != else_life->alive) {
    return byoc_host_verify_refuse(v, "buffer '%s' is alive behind only one of the two cases", root->name);
  }
  byoc_byte_set_t both;
  if (!byoc_byte_set_intersect(&then_life->written, &else_life->written, &v->arena, &both)) {
    return byoc_diag_out_of_memory(v->diag);
  }
  const uint32_t lives = then_life->lives > else_life->lives ? then_life->lives : else_life->lives;
  if (v->lives[buffer].alive != then_life->alive) BYOC_RETURN_IF_ERROR(set_alive(v, root, then_life->alive));
  byoc_host_life_t *life = change(v, buffer);
  if (life == NULL) return byoc_diag_out_of_memory(v->diag);
  life->written = both;
  life->lives = lives;
  life->known = then_life->known & else_life->known;
  life->storage = then_life->storage == else_life->storage ? then_life->storage : 0;
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_join(byoc_host_verifier_t *v, const byoc_host_scope_t cases[2]) {
  const byoc_host_changes_t *then_ends = &cases[0].ends, *else_ends = &cases[1].ends;
  // Lives that end come first, because others may have taken their place in the workspace.
  for (int begins = 0; begins <= 1; ++begins) {
    for (size_t k = 0; k < else_ends->count; ++k) v->slots[else_ends->data[k].buffer] = (uint32_t)k + 1;
    for (size_t k = 0; k < then_ends->count; ++k) {
      const byoc_host_change_t *end = &then_ends->data[k];
      const uint32_t slot = v->slots[end->buffer];
      const byoc_host_life_t other = slot > 0 ? else_ends->data[slot - 1].life : v->lives[end->buffer];
      v->slots[end->buffer] = 0;
      if (end->life.alive == begins) BYOC_RETURN_IF_ERROR(join_buffer(v, end->buffer, &end->life, &other));
    }
    for (size_t k = 0; k < else_ends->count; ++k) {
      const byoc_host_change_t *end = &else_ends->data[k];
      const byoc_host_life_t other = v->lives[end->buffer];
      if (v->slots[end->buffer] == 0) continue; // done above
      v->slots[end->buffer] = 0;
      if (end->life.alive == begins) BYOC_RETURN_IF_ERROR(join_buffer(v, end->buffer, &other, &end->life));
    }
  }
  return byoc_host_verify_join_slices(v, cases);
}

// Bytes that each iteration writes are written after the first one.
static byoc_status_t note_iteration(byoc_host_verifier_t *v, const byoc_host_change_t *end) {
  for (size_t k = 0; k < end->life.written.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_note(v, v->program->buffers.data[end->buffer], end->life.written.ranges[k]));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_repeat(byoc_host_verifier_t *v, const byoc_host_instruction_t *loop,
                                      const byoc_host_scope_t *body) {
  const int64_t iterations = loop->count != NULL ? byoc_host_iterations_of(&v->ranges, loop->count) : -1;
  for (size_t k = 0; k < body->ends.count; ++k) {
    const byoc_host_change_t *end = &body->ends.data[k];
    const byoc_host_buffer_t *buffer = v->program->buffers.data[end->buffer];
    const byoc_host_life_t *before = &v->lives[end->buffer];
    if (buffer->is_parameter) continue;
    if (end->life.alive && !before->alive) {
      return byoc_host_verify_refuse(v, "buffer '%s' begins in the body of a loop and is never freed there",
                                     buffer->name);
    }
    if (before->alive && end->life.lives + !end->life.alive != before->lives) {
      return byoc_host_verify_refuse(v, "buffer '%s' is freed in the body of a loop, but began outside", buffer->name);
    }
    if (iterations > 0 && before->alive) BYOC_RETURN_IF_ERROR(note_iteration(v, end));
  }
  return iterations > 0 ? byoc_host_verify_repeat_slices(v, loop->count, iterations, body) : BYOC_OK;
}
