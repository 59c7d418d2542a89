// SPDX-License-Identifier: Apache-2.0
// elide-copies: a value that is only copied is written to the place where the copy goes.
#include <string.h>

#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/verify/in_place.h"

// The result of scanning a region for the two buffers of a copy.
typedef struct scan_t {
  const byoc_host_buffer_t *from, *to;
  bool from_is_used_later, from_is_written_later, to_is_written_later;
  bool is_impossible; // `to` is used before the copy, or one of them in a way that is not followed
} scan_t;

static bool names(const byoc_host_buffer_t *buffer, const byoc_host_buffer_t *root) {
  return buffer != NULL && (buffer == root || buffer->base == root);
}

static bool is_used_by(const byoc_host_buffer_t *root, const byoc_host_instruction_t *i) {
  bool found = names(i->workspace, root);
  for (size_t k = 0; k < i->operands.count && !found; ++k) found = names(i->operands.data[k], root);
  for (size_t k = 0; k < i->results.count && !found; ++k) found = names(i->results.data[k], root);
  return found;
}

static bool is_written_by(const byoc_host_buffer_t *root, const byoc_host_instruction_t *i) {
  bool found = names(i->workspace, root);
  for (size_t k = 0; k < i->results.count && !found; ++k) found = names(i->results.data[k], root);
  return found;
}

// Is the instruction in this region, or nested in one that is?
static bool is_within(const byoc_host_instruction_t *i, const byoc_host_region_t *region) {
  while (i != NULL && i->region != region) i = i->region->owner;
  return i != NULL;
}

static void scan(scan_t *s, const byoc_host_program_t *program, const byoc_host_instruction_t *copy) {
  bool is_later = false;
  BYOC_HOST_FOR_EACH(i, program) {
    if (i == copy) {
      is_later = true;
      continue;
    }
    if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) continue; // placed anew after this pass
    const bool uses_from = is_used_by(s->from, i), uses_to = is_used_by(s->to, i);
    if (!uses_from && !uses_to) continue;
    s->is_impossible |= !is_within(i, copy->region) || (uses_to && !is_later);
    s->from_is_used_later |= is_later && uses_from;
    s->from_is_written_later |= is_later && is_written_by(s->from, i);
    s->to_is_written_later |= is_later && is_written_by(s->to, i);
  }
}

static bool is_whole(const byoc_host_program_t *program, const byoc_host_buffer_t *buffer) {
  for (size_t k = 0; k < program->buffers.count; ++k) {
    if (program->buffers.data[k]->base == buffer) return false; // views would have to move with it
  }
  return !buffer->is_value && !buffer->is_parameter && byoc_host_own_allocation(buffer) == NULL;
}

// Where events order commands, other buffers need other events. Without them the order of the text is the meaning.
static bool is_used_by_ordered_commands(const byoc_host_program_t *program, const byoc_host_buffer_t *buffer) {
  if (program->events.count == 0) return false;
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    if (buffer->uses.data[k].instruction->on.queue != NULL) return true;
  }
  return false;
}

static bool may_elide(const byoc_host_program_t *program, const byoc_host_instruction_t *copy) {
  const byoc_host_buffer_t *from = copy->operands.data[0], *to = copy->results.data[0];
  const bool goes_somewhere = to->kind == BYOC_HOST_BUFFER_LOCAL || to->kind == BYOC_HOST_BUFFER_OUTPUT;
  if (from->kind != BYOC_HOST_BUFFER_LOCAL || !goes_somewhere || from == to || from->size_bytes != to->size_bytes ||
      strcmp(from->scope, to->scope) != 0 || !is_whole(program, from) || !is_whole(program, to)) {
    return false;
  }
  const bool is_other_tensor = from->device != NULL && !byoc_type_equal(from->type, to->type);
  if (from->device != to->device || is_other_tensor || is_used_by_ordered_commands(program, from) ||
      is_used_by_ordered_commands(program, to)) {
    return false;
  }
  scan_t s = {.from = from, .to = to};
  scan(&s, program, copy);
  return !s.is_impossible && (!s.from_is_used_later || (!s.from_is_written_later && !s.to_is_written_later));
}

// May the value be written over the output's input, which another instruction may still read?
static byoc_status_t fits_pair(const byoc_host_program_t *program, const byoc_host_instruction_t *copy,
                               byoc_diag_t *diag, bool *out_fits) {
  byoc_host_conflict_t conflict;
  *out_fits = false;
  BYOC_RETURN_IF_ERROR(
      byoc_host_find_conflict(program, copy->results.data[0], copy->operands.data[0], diag, &conflict));
  *out_fits = conflict.reader == NULL;
  return BYOC_OK;
}

// kernel f(%x) -> (%t), copy %t -> %y  →  kernel f(%x) -> (%y)
byoc_status_t byoc_host_pass_elide_copies(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  for (byoc_host_instruction_t *i = program->body.first, *next = NULL; i != NULL; i = next) {
    next = byoc_host_instruction_following(i);
    if (i->op != BYOC_HOST_COPY || !may_elide(program, i)) continue;
    bool fits = false;
    BYOC_RETURN_IF_ERROR(fits_pair(program, i, diag, &fits));
    if (!fits) continue;
    byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
    if (!byoc_type_equal(from->type, to->type)) to = byoc_host_view_create(program, to, from->name, from->type, 0);
    byoc_host_instruction_erase(program, i);
    if (to == NULL || !byoc_host_replace_uses(program, from, to)) return byoc_diag_out_of_memory(diag);
    *changes += 1;
  }
  return BYOC_OK;
}
