// SPDX-License-Identifier: Apache-2.0
// Alias marks: one buffer becomes a part of another, which may be an alias itself, then or later.
#include <string.h>

#include "core/hostir/program/edit.h"

static byoc_status_t refuse(const byoc_host_program_t *program, const byoc_host_buffer_t *buffer,
                            const byoc_host_buffer_t *of, const char *why, byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "host program '%s': '%s' cannot be an alias of '%s': %s",
                         program->name, buffer->name, of->name, why);
}

static bool is_written(const byoc_host_buffer_t *buffer) {
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    if (buffer->uses.data[k].kind != BYOC_HOST_USE_OPERAND) return true;
  }
  return false;
}

// The buffer or one of its aliases.
static bool is_written_anywhere(const byoc_host_program_t *program, const byoc_host_buffer_t *buffer) {
  bool found = is_written(buffer);
  for (size_t k = 0; k < program->buffers.count && !found; ++k) {
    found = program->buffers.data[k]->base == buffer && is_written(program->buffers.data[k]);
  }
  return found;
}

static byoc_status_t check(const byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_buffer_t *of,
                           uint64_t offset_bytes, byoc_diag_t *diag) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(of);
  const bool is_read_only = root->kind == BYOC_HOST_BUFFER_INPUT || root->kind == BYOC_HOST_BUFFER_CONSTANT;
  const char *why = NULL;
  if (root == buffer) why = "that is an alias of it";
  if (buffer->kind == BYOC_HOST_BUFFER_VIEW) why = "it is an alias already";
  if (buffer->kind == BYOC_HOST_BUFFER_INPUT) why = "it is an input, whose bytes are the caller's";
  if (buffer->kind == BYOC_HOST_BUFFER_CONSTANT) why = "it is a constant, which has bytes of its own";
  if (buffer->is_parameter) why = "it is a parameter, which its region fills";
  if (why == NULL && buffer->is_value != root->is_value) why = "only one of them is a value";
  if (why == NULL && buffer->device != root->device) why = "they are on different devices";
  if (why == NULL && strcmp(buffer->scope, root->scope) != 0) why = "they are in different memory scopes";
  if (why == NULL && byoc_host_own_allocation(buffer) != NULL) why = "it is zeroed or cached memory of its own";
  if (why == NULL && is_read_only && is_written_anywhere(program, buffer)) {
    why = root->kind == BYOC_HOST_BUFFER_INPUT ? "it is written, and the other is an input, which is read-only"
                                               : "it is written, and the other is a constant, which is read-only";
  }
  if (why == NULL && buffer->is_value && offset_bytes != 0) why = "a value shares all of another";
  if (why == NULL && buffer->is_value && is_written(buffer)) why = "it is made by an instruction";
  if (why == NULL && !buffer->is_value &&
      (offset_bytes > of->size_bytes || buffer->size_bytes > of->size_bytes - offset_bytes)) {
    why = "it would reach beyond it";
  }
  return why == NULL ? BYOC_OK : refuse(program, buffer, of, why, diag);
}

// The instruction that fills all of an alias that is not a view: a value's SHARE, or the COPY of an output at the end.
static const byoc_host_instruction_t *find_alias_maker(const byoc_host_buffer_t *buffer) {
  const byoc_host_instruction_t *maker = NULL;
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    if (buffer->uses.data[k].kind == BYOC_HOST_USE_OPERAND) continue;
    if (maker != NULL) return NULL;
    maker = buffer->uses.data[k].instruction;
  }
  if (maker == NULL || maker->op == BYOC_HOST_SHARE) return maker;
  if (buffer->kind != BYOC_HOST_BUFFER_OUTPUT || maker->op != BYOC_HOST_COPY) return NULL;
  for (const byoc_host_instruction_t *i = maker; i != NULL; i = i->next) {
    bool is_end = i->op == BYOC_HOST_COPY && i->results.data[0]->kind == BYOC_HOST_BUFFER_OUTPUT;
    if (!is_end && i->op != BYOC_HOST_FREE) return NULL;
  }
  return maker->region->owner == NULL ? maker : NULL;
}

// The buffer that this one is an alias of, if it is no view; else itself.
static byoc_host_buffer_t *source_of(const byoc_host_program_t *program, byoc_host_buffer_t *buffer) {
  for (size_t steps = 0; steps < program->buffers.count; ++steps) {
    const byoc_host_instruction_t *maker = find_alias_maker(buffer);
    if (maker == NULL) break;
    buffer = maker->operands.data[0];
  }
  return buffer;
}

// Lifetimes that were right for two buffers are placed anew for the one that is left.
static void forget_lifetimes_of(byoc_host_program_t *program, const byoc_host_buffer_t *buffer) {
  for (size_t k = 0; k < buffer->uses.count;) {
    byoc_host_instruction_t *i = buffer->uses.data[k].instruction;
    const bool is_life = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
    if (is_life) byoc_host_instruction_erase(program, i); // which drops the use
    if (!is_life) ++k;
  }
}

// output %y  →  view %v = %of + 0, ..., copy %v -> %y
static byoc_status_t give_output(byoc_host_program_t *program, byoc_host_buffer_t *output, byoc_host_buffer_t *of,
                                 uint64_t offset_bytes, byoc_diag_t *diag) {
  byoc_host_buffer_t *view = byoc_host_view_create(program, of, output->name, output->type, offset_bytes);
  if (view == NULL || !byoc_host_replace_uses(program, output, view)) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < program->buffers.count; ++k) { // aliases of the output are some of the view
    byoc_host_buffer_t *other = program->buffers.data[k];
    if (other->base != output) continue;
    other->base = view;
    if (!byoc_host_view_flatten(program, other)) return byoc_diag_out_of_memory(diag);
  }
  byoc_host_instruction_t *copy = byoc_host_instruction_create(program, NULL, BYOC_HOST_COPY);
  const bool ok =
      copy != NULL && byoc_host_add_operand(program, copy, view) && byoc_host_add_result(program, copy, output);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// A value shares in front of its first use, or at the end.
static byoc_status_t share_value(byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_buffer_t *of,
                                 byoc_diag_t *diag) {
  byoc_host_instruction_t *before = NULL;
  BYOC_HOST_FOR_EACH(i, program) {
    for (size_t k = 0; k < i->operands.count && before == NULL; ++k) {
      if (i->operands.data[k] == buffer) before = i;
    }
    if (before != NULL) break;
  }
  while (before != NULL && before->region->owner != NULL) before = before->region->owner;
  byoc_host_instruction_t *share = byoc_host_instruction_create(program, before, BYOC_HOST_SHARE);
  const bool ok =
      share != NULL && byoc_host_add_operand(program, share, of) && byoc_host_add_result(program, share, buffer);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_host_mark_alias(byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_buffer_t *of,
                                   uint64_t offset_bytes, byoc_diag_t *diag) {
  of = source_of(program, of);
  BYOC_RETURN_IF_ERROR(check(program, buffer, of, offset_bytes, diag));
  byoc_host_buffer_t *root = byoc_host_buffer_root(of);
  if (byoc_host_own_allocation(root) == NULL) forget_lifetimes_of(program, root);
  forget_lifetimes_of(program, buffer);
  if (buffer->is_value) return share_value(program, buffer, of, diag);
  if (buffer->kind == BYOC_HOST_BUFFER_OUTPUT) return give_output(program, buffer, of, offset_bytes, diag);
  buffer->kind = BYOC_HOST_BUFFER_VIEW;
  buffer->base = of;
  buffer->offset_bytes = offset_bytes;
  if (of != root && !byoc_host_view_flatten(program, buffer)) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < program->buffers.count; ++k) {
    byoc_host_buffer_t *other = program->buffers.data[k];
    if (other->base == buffer && !byoc_host_view_flatten(program, other)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}
