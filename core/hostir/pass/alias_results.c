// SPDX-License-Identifier: Apache-2.0
// alias-results: a result of a kernel gets the bytes of an operand without further readers.
#include <string.h>

#include "byoc/call.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/verify/in_place.h"

// The analysis of a buffer, by its index. Instructions are numbered from 1 on, in the order of the text.
typedef struct properties_t {
  uint32_t first, last;             // uses of the bytes that it owns: its own and those of its views
  uint32_t latest;                  // the last use of this name so far
  uint32_t reads;                   // of its bytes, since they were last written whole
  const byoc_host_region_t *region; // that has all uses; NULL: several have them
  uint32_t views, next;             // lists of the views of a buffer: index plus 1
} properties_t;

typedef struct scan_t {
  byoc_host_program_t *program;
  properties_t *properties;
  bool *is_gone; // by index: no instruction names it any more
} scan_t;

static properties_t *properties_of(const scan_t *s, const byoc_host_buffer_t *buffer) {
  return &s->properties[buffer->index];
}

// ---- uses ----

static void note_use(const scan_t *s, byoc_host_buffer_t *buffer, const byoc_host_instruction_t *i, uint32_t number) {
  if (buffer == NULL) return;
  properties_t *properties = properties_of(s, byoc_host_buffer_root(buffer));
  if (properties->first == 0)
    *properties = (properties_t){.first = number, .region = i->region, .views = properties->views};
  if (properties->region != i->region) properties->region = NULL;
  const bool is_ordered = i->on.queue != NULL && s->program->events.count > 0; // other buffers need other events
  if (is_ordered) properties->region = NULL;
  properties->last = number;
}

static void find_uses(scan_t *s) {
  for (size_t k = 0; k < s->program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = s->program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_VIEW) continue;
    properties_of(s, buffer)->next = properties_of(s, buffer->base)->views;
    properties_of(s, buffer->base)->views = (uint32_t)k + 1;
  }
  uint32_t number = 0;
  BYOC_HOST_FOR_EACH(i, s->program) {
    ++number;
    for (size_t k = 0; k < i->operands.count; ++k) note_use(s, i->operands.data[k], i, number);
    for (size_t k = 0; k < i->results.count; ++k) note_use(s, i->results.data[k], i, number);
    note_use(s, i->workspace, i, number);
  }
}

static bool is_whole(const byoc_host_buffer_t *buffer) {
  return buffer->kind != BYOC_HOST_BUFFER_VIEW || (!byoc_host_buffer_moves(buffer) && buffer->offset_bytes == 0 &&
                                                   buffer->size_bytes == buffer->base->size_bytes);
}

// The walk goes on behind the instruction.
static void pass_by(const scan_t *s, const byoc_host_instruction_t *i, uint32_t number) {
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] == NULL) continue;
    properties_of(s, i->operands.data[k])->latest = number;
    properties_of(s, byoc_host_buffer_root(i->operands.data[k]))->reads += 1;
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    properties_of(s, i->results.data[k])->latest = number;
    if (is_whole(i->results.data[k])) properties_of(s, byoc_host_buffer_root(i->results.data[k]))->reads = 0;
  }
  if (i->workspace != NULL) properties_of(s, i->workspace)->latest = number;
}

// ---- conditions ----

static bool is_free_local(const byoc_host_buffer_t *buffer) {
  return buffer->kind == BYOC_HOST_BUFFER_LOCAL && !buffer->is_value && !buffer->is_parameter &&
         byoc_host_own_allocation(buffer) == NULL;
}

// Are the operand's bytes read for the first and last time, as this operand only?
static bool dies_here(const scan_t *s, const byoc_host_instruction_t *i, uint32_t operand, uint32_t number) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(i->operands.data[operand]);
  const properties_t *properties = properties_of(s, root);
  for (uint32_t k = 0; k < i->operands.count; ++k) {
    const byoc_host_buffer_t *other = i->operands.data[k];
    if (k != operand && other != NULL && (other == root || other->base == root)) return false;
  }
  for (size_t k = 0; k < i->results.count; ++k) { // one of them may be there already
    if (byoc_host_buffer_root(i->results.data[k]) == root) return false;
  }
  return is_free_local(root) && properties->region == i->region && properties->last == number && properties->reads == 0;
}

static bool share_bytes(const byoc_host_buffer_t *a, const byoc_host_buffer_t *b) {
  if (byoc_host_buffer_moves(a) || byoc_host_buffer_moves(b)) return true;
  const uint64_t at_a = byoc_host_buffer_offset(a), at_b = byoc_host_buffer_offset(b);
  return at_a < at_b + b->size_bytes && at_b < at_a + a->size_bytes;
}

// Are the bytes of `buffer` used by any name from `number` on, up to where the walk is?
static bool are_used_since(const scan_t *s, byoc_host_buffer_t *buffer, uint32_t number) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  if (properties_of(s, root)->latest >= number) return true;
  for (uint32_t at = properties_of(s, root)->views; at != 0; at = s->properties[at - 1].next) {
    const byoc_host_buffer_t *view = s->program->buffers.data[at - 1];
    if (s->properties[at - 1].latest >= number && share_bytes(view, buffer)) return true;
  }
  return false;
}

// May the value in `local` be made in the output that holds `to`, although the caller may give that output an input's
// bytes?
static byoc_status_t fits_pair(const scan_t *s, const byoc_host_buffer_t *local, byoc_host_buffer_t *to,
                               byoc_diag_t *diag, bool *out_fits) {
  const byoc_host_buffer_t *output = byoc_host_buffer_root(to);
  byoc_host_conflict_t conflict;
  *out_fits = output->over == NULL;
  if (output->over == NULL || !is_whole(to)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_host_find_conflict(s->program, output, local, diag, &conflict));
  *out_fits = conflict.reader == NULL;
  return BYOC_OK;
}

// Does the instruction read bytes of its result, besides those of the operand?
static bool reads_result(const byoc_host_instruction_t *i, uint32_t operand, byoc_host_buffer_t *result) {
  for (uint32_t k = 0; k < i->operands.count; ++k) {
    byoc_host_buffer_t *other = i->operands.data[k];
    if (k == operand || other == NULL || byoc_host_buffer_root(other) != byoc_host_buffer_root(result)) continue;
    if (share_bytes(other, result)) return true;
  }
  return false;
}

// ---- changes ----

static bool are_the_same(const byoc_host_buffer_t *a, const byoc_host_buffer_t *b) {
  return !byoc_host_buffer_moves(a) && byoc_host_buffer_offset(a) == byoc_host_buffer_offset(b) &&
         byoc_type_equal(a->type, b->type);
}

// Lists a new view of `root`; gives `of` or `root` instead if it is the same.
static bool list_view(const scan_t *s, byoc_host_buffer_t *view, byoc_host_buffer_t *of, byoc_host_buffer_t *root) {
  properties_t *properties = properties_of(s, view);
  byoc_host_buffer_t *by = are_the_same(view, of) ? of : are_the_same(view, root) ? root : NULL;
  if (by == NULL) {
    properties->next = properties_of(s, root)->views;
    properties_of(s, root)->views = view->index + 1;
    return true;
  }
  if (properties->latest > properties_of(s, by)->latest) properties_of(s, by)->latest = properties->latest;
  s->is_gone[view->index] = true;
  return byoc_host_replace_uses(s->program, view, by);
}

// Makes a buffer that owns its bytes a view of `of`.
static bool become(const scan_t *s, byoc_host_buffer_t *buffer, byoc_host_buffer_t *of) {
  byoc_host_buffer_t *root = byoc_host_buffer_root(of);
  properties_t *properties = properties_of(s, buffer), *root_facts = properties_of(s, root);
  buffer->kind = BYOC_HOST_BUFFER_VIEW;
  buffer->base = root;
  byoc_host_view_set_offset(buffer, byoc_dim_constant((int64_t)byoc_host_buffer_offset(of)));
  for (uint32_t at = properties->views, next = 0; at != 0; at = next) {
    byoc_host_buffer_t *view = s->program->buffers.data[at - 1];
    next = s->properties[at - 1].next;
    if (!byoc_host_view_flatten(s->program, view) || !list_view(s, view, of, root)) return false;
  }
  properties->views = 0;
  if (properties->first < root_facts->first) root_facts->first = properties->first;
  if (properties->last > root_facts->last) root_facts->last = properties->last;
  if (properties->region != root_facts->region) root_facts->region = NULL;
  root_facts->reads = 0;
  return list_view(s, buffer, of, root);
}

// Puts the result where the operand is, or the operand where the result is: that is settled if the result is an output,
// a part of something, or used before. A backend may rely on the alignment of the place it writes to.
static byoc_status_t alias(const scan_t *s, const byoc_host_instruction_t *i, uint32_t operand, uint32_t number,
                           byoc_diag_t *diag, bool *out_done) {
  byoc_host_buffer_t *from = i->operands.data[operand], *to = i->results.data[0];
  byoc_host_buffer_t *from_root = byoc_host_buffer_root(from), *to_root = byoc_host_buffer_root(to);
  *out_done = false;
  if (byoc_host_buffer_moves(from) || byoc_host_buffer_moves(to)) return BYOC_OK;
  if (from_root == to_root || to_root->is_value || from->size_bytes != to->size_bytes ||
      strcmp(from_root->scope, to_root->scope) != 0 || !dies_here(s, i, operand, number)) {
    return BYOC_OK;
  }
  if (to == to_root && is_free_local(to) && properties_of(s, to)->first == number) {
    *out_done = true;
    return become(s, to, from) ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  if (!is_whole(from) || byoc_host_buffer_offset(to) % BYOC_BUFFER_ALIGNMENT != 0 || reads_result(i, operand, to) ||
      are_used_since(s, to, properties_of(s, from_root)->first)) {
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(fits_pair(s, from_root, to, diag, out_done));
  return !*out_done || become(s, from_root, to) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t alias_all(const scan_t *s, byoc_diag_t *diag, size_t *changes) {
  uint32_t number = 0;
  BYOC_HOST_FOR_EACH(i, s->program) {
    ++number;
    bool done = false;
    if (i->op == BYOC_HOST_KERNEL && i->takes_operand > 0) {
      BYOC_RETURN_IF_ERROR(alias(s, i, i->takes_operand - 1, number, diag, &done));
    }
    if (done) {
      byoc_loop_kernel_t *kernel = byoc_string_map_get(&s->program->kernel_names, i->kernel->name);
      kernel->overwritten[0] |= UINT64_C(1) << (i->takes_operand - 1);
      *changes += 1;
    }
    i->takes_operand = 0;
    pass_by(s, i, number);
  }
  return BYOC_OK;
}

// kernel f(%a) -> (%b), where f may write over %a and nobody else reads it  →  kernel f(%a) -> (%a)
byoc_status_t byoc_host_pass_alias_results(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  scan_t s = {.program = program};
  const byoc_allocator_t allocator = program->arena.allocator;
  s.properties = byoc_allocate(allocator, program->buffers.count + 1, sizeof(*s.properties));
  s.is_gone = byoc_allocate(allocator, program->buffers.count + 1, sizeof(*s.is_gone));
  byoc_status_t status = s.properties != NULL && s.is_gone != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) find_uses(&s);
  if (status == BYOC_OK) status = alias_all(&s, diag, changes);
  if (status == BYOC_OK) byoc_host_drop_buffers(program, s.is_gone);
  byoc_free(allocator, s.is_gone);
  byoc_free(allocator, s.properties);
  return status;
}
