// SPDX-License-Identifier: Apache-2.0
// Which instructions may write over an input, and which bytes are copied.
#include "core/hostir/verify/in_place.h"

#include "core/hostir/program/ranges.h"
#include "core/hostir/verify/verify_bytes.h"
#include "core/ir/loop_keep.h"

// A view that moves may be anywhere in its base.
static byoc_byte_range_t bytes_of(const byoc_host_buffer_t *buffer) {
  if (byoc_host_buffer_moves(buffer)) return (byoc_byte_range_t){0, buffer->base->size_bytes};
  const uint64_t begin = byoc_host_buffer_offset(buffer);
  return (byoc_byte_range_t){begin, begin + buffer->size_bytes};
}

static bool is_part_of(byoc_host_buffer_t *buffer, const byoc_host_buffer_t *root) {
  return buffer != NULL && root != NULL && byoc_host_buffer_root(buffer) == root;
}

// Do they begin at the same byte offset of their buffers?
static bool have_same_offset(const byoc_host_buffer_t *a, const byoc_host_buffer_t *b) {
  return !byoc_host_buffer_moves(a) && !byoc_host_buffer_moves(b) &&
         byoc_host_buffer_offset(a) == byoc_host_buffer_offset(b);
}

bool byoc_host_is_kept_copy(const byoc_host_instruction_t *i) {
  if (i->op != BYOC_HOST_COPY) return false;
  byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  return byoc_host_buffer_root(to)->over == byoc_host_buffer_root(from) && have_same_offset(from, to);
}

// ---- conflicts ----

typedef struct search_t {
  const byoc_host_buffer_t *input, *output, *as_output;
  byoc_arena_t arena;
  byoc_byte_set_t written;               // of the output, other than by copies of the input
  const byoc_host_instruction_t *writer; // the first one
  byoc_host_conflict_t *conflict;
  bool failed; // out of memory
} search_t;

static bool copies(const search_t *s, const byoc_host_instruction_t *i) {
  if (i->op != BYOC_HOST_COPY) return false;
  byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  return is_part_of(from, s->input) && (is_part_of(to, s->output) || is_part_of(to, s->as_output)) &&
         have_same_offset(from, to);
}

static bool is_written(const search_t *s, byoc_host_buffer_t *result) {
  return is_part_of(result, s->output) || is_part_of(result, s->as_output);
}

// May the result be written over this operand?
static bool may_overwrite(const byoc_host_instruction_t *i, size_t operand, size_t result) {
  if (i->op == BYOC_HOST_KERNEL) return byoc_loop_overwrites(i->kernel, operand, result);
  return result == 0 && i->op == BYOC_HOST_C_CALL && i->c_call->result_from_operand == (int64_t)operand;
}

static bool conflicts_with_itself(const search_t *s, const byoc_host_instruction_t *i, size_t operand) {
  const byoc_byte_range_t read = bytes_of(i->operands.data[operand]);
  for (size_t r = 0; r < i->results.count; ++r) {
    if (!is_written(s, i->results.data[r])) continue;
    const byoc_byte_range_t written = bytes_of(i->results.data[r]);
    if (written.begin >= read.end || read.begin >= written.end) continue;
    if (!have_same_offset(i->operands.data[operand], i->results.data[r]) || !may_overwrite(i, operand, r)) return true;
  }
  return false;
}

static void add_results(search_t *s, const byoc_host_instruction_t *i) {
  if (copies(s, i)) return;
  for (size_t r = 0; r < i->results.count; ++r) {
    if (!is_written(s, i->results.data[r])) continue;
    if (!byoc_byte_set_add(&s->written, bytes_of(i->results.data[r]), &s->arena)) s->failed = true;
    if (s->writer == NULL) s->writer = i;
  }
}

static bool is_inside(const byoc_host_instruction_t *i, const byoc_host_instruction_t *owner) {
  for (const byoc_host_instruction_t *at = i; at != NULL; at = at->region->owner) {
    if (at == owner) return true;
  }
  return false;
}

// An iteration of a loop comes behind what earlier iterations wrote.
static void add_all_results(search_t *s, const byoc_host_instruction_t *loop) {
  for (const byoc_host_instruction_t *i = loop; i != NULL && is_inside(i, loop);
       i = byoc_host_instruction_following(i)) {
    add_results(s, i);
  }
}

static void visit(search_t *s, const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) return;
  if (i->op == BYOC_HOST_LOOP) add_all_results(s, i);
  for (size_t k = 0; k < i->operands.count && !copies(s, i); ++k) {
    if (!is_part_of(i->operands.data[k], s->input)) continue;
    if (byoc_byte_set_touches(&s->written, bytes_of(i->operands.data[k]))) {
      *s->conflict = (byoc_host_conflict_t){.writer = s->writer, .reader = i};
    } else if (conflicts_with_itself(s, i, k)) {
      *s->conflict = (byoc_host_conflict_t){.writer = i, .reader = i};
    }
  }
  add_results(s, i);
}

byoc_status_t byoc_host_find_conflict(const byoc_host_program_t *program, const byoc_host_buffer_t *output,
                                      const byoc_host_buffer_t *as_output, byoc_diag_t *diag,
                                      byoc_host_conflict_t *out_conflict) {
  *out_conflict = (byoc_host_conflict_t){0};
  // In a dynamic program, outputs are copied to the caller's bytes at the end of the run.
  if (output->over == NULL || output->is_value) return BYOC_OK;
  search_t s = {.input = output->over, .output = output, .as_output = as_output, .conflict = out_conflict};
  byoc_arena_init(&s.arena, program->arena.allocator);
  BYOC_HOST_FOR_EACH(i, program) {
    visit(&s, i);
    if (out_conflict->reader != NULL || s.failed) break;
  }
  byoc_arena_deinit(&s.arena);
  return s.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

// ---- bytes ----

static uint64_t copied_by_kernel(const byoc_host_instruction_t *i, bool in_place) {
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < i->operands.count; ++k) {
    for (uint32_t r = 0; r < i->results.count; ++r) {
      byoc_host_buffer_t *from = i->operands.data[k], *to = i->results.data[r];
      const bool is_same = byoc_host_buffer_root(from) == byoc_host_buffer_root(to) ||
                           (in_place && byoc_host_buffer_root(to)->over == byoc_host_buffer_root(from));
      const int64_t count = is_same ? 0 : byoc_loop_kept_count(i->kernel, k, r);
      // An unknown size may be any size.
      bytes += count < 0 ? from->size_bytes : (uint64_t)count * byoc_dtype_bits(from->type->dtype) / 8;
    }
  }
  return bytes;
}

uint64_t byoc_host_copied_bytes(const byoc_host_program_t *program, bool in_place) {
  uint64_t bytes = 0;
  BYOC_HOST_FOR_EACH(i, program) {
    const uint64_t iterations = byoc_host_constant_iterations_of(i);
    if (i->op == BYOC_HOST_KERNEL) bytes += iterations * copied_by_kernel(i, in_place);
    if (i->op != BYOC_HOST_COPY || (in_place && byoc_host_is_kept_copy(i))) continue;
    const bool is_on_host = i->operands.data[0]->device == NULL && i->results.data[0]->device == NULL;
    if (is_on_host) bytes += iterations * i->operands.data[0]->size_bytes;
  }
  return bytes;
}

byoc_host_moved_t byoc_host_moved_bytes(const byoc_host_program_t *program, const byoc_host_device_t *device) {
  byoc_host_moved_t moved = {0};
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op != BYOC_HOST_COPY) continue;
    const byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
    const uint64_t bytes = byoc_host_constant_iterations_of(i) * from->size_bytes;
    const bool goes_in = from->device == NULL && to->device == device;
    const bool comes_out = from->device == device && to->device == NULL;
    if (!byoc_type_is_static(from->type)) {
      moved.open_count += goes_in || comes_out;
      continue;
    }
    if (goes_in) moved.in += bytes;
    if (comes_out) moved.out += bytes;
  }
  return moved;
}
