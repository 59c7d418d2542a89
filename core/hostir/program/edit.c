// SPDX-License-Identifier: Apache-2.0
// Edits of host programs: links between instructions, and the use lists of buffers.
#include "core/hostir/program/edit.h"

// ---- use lists ----

static bool is_same_use(const byoc_host_use_t *use, const byoc_host_instruction_t *instruction,
                        byoc_host_use_kind_t kind, uint32_t index) {
  return use->instruction == instruction && use->kind == kind && use->index == index;
}

static bool note_use(byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_instruction_t *instruction,
                     byoc_host_use_kind_t kind, uint32_t index) {
  const byoc_host_use_t use = {.instruction = instruction, .kind = kind, .index = index};
  return buffer == NULL || byoc_vector_push(&buffer->uses, program->arena.allocator, use);
}

// The order of the other uses stays, so that walks do not depend on the history of edits.
static void drop_use(byoc_host_buffer_t *buffer, const byoc_host_instruction_t *instruction, byoc_host_use_kind_t kind,
                     uint32_t index) {
  size_t kept = 0;
  for (size_t i = 0; buffer != NULL && i < buffer->uses.count; ++i) {
    if (is_same_use(&buffer->uses.data[i], instruction, kind, index)) continue;
    buffer->uses.data[kept++] = buffer->uses.data[i];
  }
  if (buffer != NULL) buffer->uses.count = kept;
}

// Puts `buffer` into a slot of the instruction.
static bool change_use(byoc_host_program_t *program, byoc_host_buffer_t **slot, byoc_host_buffer_t *buffer,
                       byoc_host_instruction_t *instruction, byoc_host_use_kind_t kind, uint32_t index) {
  if (*slot == buffer) return true;
  if (!note_use(program, buffer, instruction, kind, index)) return false;
  drop_use(*slot, instruction, kind, index);
  *slot = buffer;
  return true;
}

bool byoc_host_add_operand(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                           byoc_host_buffer_t *buffer) {
  const uint32_t index = (uint32_t)instruction->operands.count;
  if (!byoc_vector_reserve(&instruction->operands, program->arena.allocator, 1) ||
      !note_use(program, buffer, instruction, BYOC_HOST_USE_OPERAND, index)) {
    return false;
  }
  instruction->operands.data[instruction->operands.count++] = buffer;
  return true;
}

bool byoc_host_add_result(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                          byoc_host_buffer_t *buffer) {
  const uint32_t index = (uint32_t)instruction->results.count;
  if (!byoc_vector_reserve(&instruction->results, program->arena.allocator, 1) ||
      !note_use(program, buffer, instruction, BYOC_HOST_USE_RESULT, index)) {
    return false;
  }
  instruction->results.data[instruction->results.count++] = buffer;
  return true;
}

bool byoc_host_set_operand(byoc_host_program_t *program, byoc_host_instruction_t *instruction, uint32_t index,
                           byoc_host_buffer_t *buffer) {
  return change_use(program, &instruction->operands.data[index], buffer, instruction, BYOC_HOST_USE_OPERAND, index);
}

bool byoc_host_set_result(byoc_host_program_t *program, byoc_host_instruction_t *instruction, uint32_t index,
                          byoc_host_buffer_t *buffer) {
  return change_use(program, &instruction->results.data[index], buffer, instruction, BYOC_HOST_USE_RESULT, index);
}

bool byoc_host_set_workspace(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                             byoc_host_buffer_t *buffer) {
  return change_use(program, &instruction->workspace, buffer, instruction, BYOC_HOST_USE_WORKSPACE, 0);
}

bool byoc_host_add_wait(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                        const byoc_host_event_t *event, byoc_dim_t place) {
  const byoc_host_event_use_t wait = {.event = event, .place = place};
  return byoc_vector_push(&instruction->waits, program->arena.allocator, wait);
}

bool byoc_host_add_parameter(byoc_host_program_t *program, byoc_host_region_t *region, byoc_host_buffer_t *buffer) {
  if (!byoc_vector_push(&region->parameters, program->arena.allocator, buffer)) return false;
  buffer->is_parameter = true;
  return true;
}

static bool set_use(byoc_host_program_t *program, const byoc_host_use_t *use, byoc_host_buffer_t *buffer) {
  switch (use->kind) {
  case BYOC_HOST_USE_OPERAND:
    return byoc_host_set_operand(program, use->instruction, use->index, buffer);
  case BYOC_HOST_USE_RESULT:
    return byoc_host_set_result(program, use->instruction, use->index, buffer);
  case BYOC_HOST_USE_WORKSPACE:
    return byoc_host_set_workspace(program, use->instruction, buffer);
  }
  return false;
}

bool byoc_host_replace_uses(byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_buffer_t *by) {
  if (buffer == by) return true;
  // With the room made first, nothing below can fail.
  if (!byoc_vector_reserve(&by->uses, program->arena.allocator, buffer->uses.count)) return false;
  while (buffer->uses.count > 0) {
    const byoc_host_use_t use = buffer->uses.data[0];
    if (!set_use(program, &use, by)) return false;
  }
  return true;
}

void byoc_host_drop_buffers(byoc_host_program_t *program, const bool *is_dropped) {
  size_t kept = 0;
  for (size_t k = 0; k < program->buffers.count; ++k) {
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (is_dropped[k]) {
      (void)byoc_string_map_put(&program->buffer_names, buffer->name, NULL); // it is there, so nothing is allocated
      byoc_vector_deinit(&buffer->uses, program->arena.allocator);
      continue;
    }
    buffer->index = (uint32_t)kept;
    program->buffers.data[kept++] = buffer;
  }
  program->buffers.count = kept;
}

// ---- instructions ----

static void link(byoc_host_region_t *region, byoc_host_instruction_t *before, byoc_host_instruction_t *instruction) {
  instruction->region = region;
  instruction->next = before;
  instruction->previous = before != NULL ? before->previous : region->last;
  *(instruction->previous != NULL ? &instruction->previous->next : &region->first) = instruction;
  *(before != NULL ? &before->previous : &region->last) = instruction;
}

static void unlink_from_region(byoc_host_instruction_t *instruction) {
  byoc_host_region_t *region = instruction->region;
  *(instruction->previous != NULL ? &instruction->previous->next : &region->first) = instruction->next;
  *(instruction->next != NULL ? &instruction->next->previous : &region->last) = instruction->previous;
}

static byoc_host_instruction_t *create(byoc_host_program_t *program, byoc_host_region_t *region,
                                       byoc_host_instruction_t *before, byoc_host_op_t op) {
  byoc_host_instruction_t *instruction = BYOC_ARENA_NEW(&program->arena, byoc_host_instruction_t);
  if (instruction == NULL) return NULL;
  instruction->op = op;
  instruction->flops = -1;
  link(region, before, instruction);
  program->instruction_count += 1;
  return instruction;
}

byoc_host_instruction_t *byoc_host_instruction_append(byoc_host_program_t *program, byoc_host_region_t *region,
                                                      byoc_host_op_t op) {
  return create(program, region, NULL, op);
}

byoc_host_instruction_t *byoc_host_instruction_create(byoc_host_program_t *program, byoc_host_instruction_t *before,
                                                      byoc_host_op_t op) {
  return create(program, before != NULL ? before->region : &program->body, before, op);
}

bool byoc_host_instruction_add_regions(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                                       uint32_t count) {
  byoc_host_region_t *regions = BYOC_ARENA_ARRAY(&program->arena, byoc_host_region_t, count);
  if (regions == NULL) return false;
  for (uint32_t r = 0; r < count; ++r) regions[r].owner = instruction;
  instruction->regions = regions;
  instruction->region_count = count;
  return true;
}

void byoc_host_instruction_move(byoc_host_instruction_t *instruction, byoc_host_region_t *region,
                                byoc_host_instruction_t *before) {
  if (instruction == before) return;
  unlink_from_region(instruction);
  link(region, before, instruction);
}

// Frees the vectors of an instruction and of those nested in it, the innermost first. Their depth is that of the
// graph's blocks.
static void release(byoc_host_program_t *program, byoc_host_instruction_t *instruction) {
  byoc_allocator_t allocator = program->arena.allocator;
  for (uint32_t r = 0; r < instruction->region_count; ++r) {
    byoc_host_region_t *region = &instruction->regions[r];
    for (byoc_host_instruction_t *i = region->first, *next = NULL; i != NULL; i = next) {
      next = i->next;
      release(program, i);
    }
    for (size_t k = 0; k < region->parameters.count; ++k) region->parameters.data[k]->is_parameter = false;
    byoc_vector_deinit(&region->parameters, allocator);
    region->first = region->last = NULL;
  }
  for (uint32_t k = 0; k < instruction->operands.count; ++k) {
    drop_use(instruction->operands.data[k], instruction, BYOC_HOST_USE_OPERAND, k);
  }
  for (uint32_t k = 0; k < instruction->results.count; ++k) {
    drop_use(instruction->results.data[k], instruction, BYOC_HOST_USE_RESULT, k);
  }
  drop_use(instruction->workspace, instruction, BYOC_HOST_USE_WORKSPACE, 0);
  byoc_vector_deinit(&instruction->operands, allocator);
  byoc_vector_deinit(&instruction->results, allocator);
  byoc_vector_deinit(&instruction->relations, allocator);
  byoc_vector_deinit(&instruction->waits, allocator);
  program->instruction_count -= 1;
}

void byoc_host_instruction_erase(byoc_host_program_t *program, byoc_host_instruction_t *instruction) {
  unlink_from_region(instruction);
  release(program, instruction);
}

// ---- checks ----

static byoc_status_t broken(const byoc_host_program_t *program, const char *what, const char *name, byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INTERNAL, "host program '%s' was edited wrongly: %s '%s'", program->name, what,
                         name);
}

static bool is_listed(const byoc_host_buffer_t *buffer, const byoc_host_instruction_t *instruction,
                      byoc_host_use_kind_t kind, uint32_t index) {
  size_t found = 0;
  for (size_t i = 0; buffer != NULL && i < buffer->uses.count; ++i) {
    found += is_same_use(&buffer->uses.data[i], instruction, kind, index);
  }
  return buffer == NULL || found == 1;
}

// Finds a buffer that does not list this instruction; NULL if all do. Counts uses.
static const byoc_host_buffer_t *find_unlisted(const byoc_host_instruction_t *i, size_t *use_count) {
  for (uint32_t k = 0; k < i->operands.count; ++k) {
    if (!is_listed(i->operands.data[k], i, BYOC_HOST_USE_OPERAND, k)) return i->operands.data[k];
    *use_count += i->operands.data[k] != NULL;
  }
  for (uint32_t k = 0; k < i->results.count; ++k) {
    if (!is_listed(i->results.data[k], i, BYOC_HOST_USE_RESULT, k)) return i->results.data[k];
    *use_count += 1;
  }
  *use_count += i->workspace != NULL;
  return is_listed(i->workspace, i, BYOC_HOST_USE_WORKSPACE, 0) ? NULL : i->workspace;
}

static bool is_linked(const byoc_host_instruction_t *i) {
  const byoc_host_region_t *region = i->region;
  return (i->previous != NULL ? i->previous->next : region->first) == i &&
         (i->next != NULL ? i->next->previous : region->last) == i && (i->next == NULL || i->next->region == region);
}

byoc_status_t byoc_host_check_edits(const byoc_host_program_t *program, byoc_diag_t *diag) {
  size_t instruction_count = 0, use_count = 0, listed_count = 0;
  BYOC_HOST_FOR_EACH(i, program) {
    instruction_count += 1;
    if (!is_linked(i)) return broken(program, "the links of instruction", byoc_host_op_name(i->op), diag);
    const byoc_host_buffer_t *unlisted = find_unlisted(i, &use_count);
    if (unlisted != NULL) return broken(program, "a use is missing for buffer", unlisted->name, diag);
  }
  if (instruction_count != program->instruction_count) {
    return byoc_diag_error(diag, BYOC_INTERNAL, "host program '%s' has %zu instructions and counts %zu", program->name,
                           instruction_count, program->instruction_count);
  }
  for (size_t k = 0; k < program->buffers.count; ++k) listed_count += program->buffers.data[k]->uses.count;
  if (listed_count == use_count) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INTERNAL, "host program '%s': buffers list %zu uses, and there are %zu",
                         program->name, listed_count, use_count);
}
