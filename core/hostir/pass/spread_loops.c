// SPDX-License-Identifier: Apache-2.0
// spread-loops: if a device has a set of queues, the iterations of a loop use one queue after the other, so that
// commands of several iterations run at once. A buffer of one iteration gets as many copies as there are queues.
//
//   loop I from 0 to 8                        loop I from 0 to 8
//   body {                                    body {
//     copy %x_i -> %a on %q[0]                  let S = I mod 2
//     launch ... (%a) -> (%b) on %q[0]   →      copy %x_i -> %a_S on %q[I]
//     copy %b -> %y_i on %q[0] signals %e       launch ... (%a_S) -> (%b_S) on %q[I]
//     await (%e)                                copy %b_S -> %y_i on %q[I]
//   }                                         }
//                                             barrier on %q[1] signals %end[1]
//                                             barrier on %q[0] after (%end[1]) signals %e
//                                             await (%e)
//
// It takes loops of nothing but commands of one set, and of an await at the end. An iteration writes its own buffers
// before it reads them. Other buffers it only reads, or writes slice by slice, each iteration another slice.
#include "byoc/call.h"
#include "byoc/device.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/program/ranges.h"

typedef struct spreading_t {
  byoc_host_program_t *program;
  byoc_host_ranges_t ranges;
  byoc_arena_t scratch;
  byoc_host_instruction_t *loop;
  const byoc_host_queue_t *queue; // the set
  int64_t iterations;
  uint32_t places;             // queues that are used: no more than iterations
  byoc_host_buffer_t **spread; // by buffer: the one with all places that it is part of now; NULL: none yet
  bool *is_own;                // by buffer: an iteration keeps it for itself
  byoc_dim_t iteration, slot;
  byoc_diag_t *diag;
} spreading_t;

static byoc_status_t out_of_memory(const spreading_t *s) {
  return byoc_diag_out_of_memory(s->diag);
}

// ---- may the loop be spread? ----

static bool is_last_await(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_AWAIT && i->next == NULL;
}

// Nothing but commands of one set, which are in order by themselves, all on its first queue.
static bool find_queue(spreading_t *s) {
  s->queue = NULL;
  for (const byoc_host_instruction_t *i = s->loop->regions[0].first; i != NULL; i = i->next) {
    if (is_last_await(i)) continue;
    const byoc_host_queue_use_t *on = &i->on;
    const bool is_plain = on->queue != NULL && byoc_dim_is_constant(on->place) && on->place.constant == 0;
    if (!is_plain || i->waits.count > 0 || (s->queue != NULL && s->queue != on->queue)) return false;
    s->queue = on->queue;
  }
  return s->queue != NULL && s->queue->count > 1;
}

static bool counts_by_one(const spreading_t *s) {
  const byoc_host_count_t *count = s->loop->count;
  return count != NULL && s->loop->regions[0].parameters.count == 0 && byoc_dim_is_constant(count->start) &&
         count->start.constant == 0 && byoc_dim_is_constant(count->step) && count->step.constant == 1;
}

// Is every use of the buffer, and of its views, in the loop's body?
static bool is_used_only_here(const spreading_t *s, const byoc_host_buffer_t *root) {
  for (size_t k = 0; k < s->program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = s->program->buffers.data[k];
    if (byoc_host_buffer_root((byoc_host_buffer_t *)(uintptr_t)buffer) != root) continue;
    for (size_t u = 0; u < buffer->uses.count; ++u) {
      if (buffer->uses.data[u].instruction->region != &s->loop->regions[0]) return false;
    }
  }
  return true;
}

// Does each iteration write all of the buffer before it reads any of it? The first instruction that names it decides.
static bool is_written_first(const spreading_t *s, const byoc_host_buffer_t *root) {
  for (const byoc_host_instruction_t *i = s->loop->regions[0].first; i != NULL; i = i->next) {
    for (size_t k = 0; k < i->operands.count; ++k) {
      if (i->operands.data[k] != NULL && byoc_host_buffer_root(i->operands.data[k]) == root) return false;
    }
    for (size_t k = 0; k < i->results.count; ++k) {
      if (byoc_host_buffer_root(i->results.data[k]) != root) continue;
      return !byoc_host_buffer_moves(i->results.data[k]) && i->results.data[k]->size_bytes == root->size_bytes;
    }
    if (i->workspace != NULL && byoc_host_buffer_root(i->workspace) == root) return true;
  }
  return false;
}

static bool is_apart(const spreading_t *s, const byoc_host_buffer_t *root) {
  const byoc_host_memory_t *memory =
      root->device != NULL ? byoc_host_find_memory(s->program, root->device, root->scope) : NULL;
  return memory != NULL && memory->is_apart;
}

// Does each iteration touch another slice, as far from the last one's as it is long?
static bool is_slice_of_iteration(const spreading_t *s, const byoc_host_buffer_t *view) {
  byoc_host_linear_t place;
  if (!byoc_host_buffer_moves(view) || !byoc_host_linear_of_offset(&s->ranges, view, &place)) return false;
  const int64_t stride = byoc_host_linear_take(&place, s->loop->count->symbol);
  return stride >= (int64_t)view->size_bytes || -stride >= (int64_t)view->size_bytes;
}

// Is every use of the root in the body through one and the same moving place?
static bool is_cut_by_iterations(const spreading_t *s, const byoc_host_buffer_t *root) {
  const byoc_host_buffer_t *seen = NULL;
  for (size_t k = 0; k < s->program->buffers.count; ++k) {
    byoc_host_buffer_t *buffer = s->program->buffers.data[k];
    if (byoc_host_buffer_root(buffer) != root) continue;
    for (size_t u = 0; u < buffer->uses.count; ++u) {
      if (buffer->uses.data[u].instruction->region != &s->loop->regions[0]) continue;
      if (!is_slice_of_iteration(s, buffer)) return false;
      const bool is_same =
          seen == NULL || (byoc_dim_equal(seen->offset, buffer->offset) && seen->size_bytes == buffer->size_bytes);
      if (!is_same) return false;
      seen = buffer;
    }
  }
  return true;
}

static bool may_touch(spreading_t *s, byoc_host_buffer_t *buffer, bool writes) {
  if (buffer == NULL) return true;
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  if (root->is_value) return false;
  if (root->kind == BYOC_HOST_BUFFER_LOCAL && is_used_only_here(s, root) && is_written_first(s, root)) {
    s->is_own[root->index] = true;
    return byoc_host_own_allocation(root) == NULL && !is_apart(s, root) && !byoc_host_buffer_moves(buffer);
  }
  return !writes || is_cut_by_iterations(s, root); // all uses of a written buffer are checked
}

static bool may_be_spread(spreading_t *s) {
  if (!counts_by_one(s) || !find_queue(s)) return false;
  s->iterations = byoc_host_iterations_of(&s->ranges, s->loop->count);
  s->places =
      s->iterations < (int64_t)s->queue->count ? (uint32_t)(s->iterations < 0 ? 0 : s->iterations) : s->queue->count;
  if (s->places < 2) return false;
  for (byoc_host_instruction_t *i = s->loop->regions[0].first; i != NULL; i = i->next) {
    for (size_t k = 0; k < i->operands.count; ++k) {
      if (!may_touch(s, i->operands.data[k], false)) return false;
    }
    for (size_t k = 0; k < i->results.count; ++k) {
      if (!may_touch(s, i->results.data[k], true)) return false;
    }
    if (!may_touch(s, i->workspace, true)) return false;
  }
  return true;
}

// ---- places of its own for each queue ----

static byoc_status_t make_slot(spreading_t *s) {
  byoc_arena_t *arena = &s->program->arena;
  bool failed = false;
  const char *symbol = NULL;
  for (size_t k = s->program->symbols.count; symbol == NULL; ++k) {
    symbol = byoc_arena_format(arena, "slot%zu", k);
    if (symbol == NULL) return out_of_memory(s);
    if (byoc_string_map_get(&s->program->symbol_indices, symbol) != NULL) symbol = NULL;
  }
  s->iteration = byoc_dim_symbol(arena, s->program->symbols.data[s->loop->count->symbol], &failed);
  s->slot = byoc_dim_symbol(arena, symbol, &failed);
  byoc_host_instruction_t *first = s->loop->regions[0].first;
  byoc_host_instruction_t *let = byoc_host_instruction_create(s->program, first, BYOC_HOST_LET);
  if (let == NULL) return out_of_memory(s);
  let->symbols = BYOC_ARENA_NEW(arena, uint32_t);
  let->dims = BYOC_ARENA_NEW(arena, byoc_dim_t);
  if (let->symbols == NULL || let->dims == NULL) return out_of_memory(s);
  let->symbol_count = 1;
  let->symbols[0] = byoc_host_symbol(s->program, symbol);
  let->dims[0] = byoc_dim_binary(arena, BYOC_DIM_MOD, s->iteration, byoc_dim_constant(s->places), &failed);
  return failed || let->symbols[0] == BYOC_HOST_SYMBOL_NONE ? out_of_memory(s) : BYOC_OK;
}

static uint64_t stride_of(const byoc_host_buffer_t *root) {
  const uint64_t alignment = root->device != NULL ? BYOC_DEVICE_ALIGNMENT : BYOC_BUFFER_ALIGNMENT;
  return (root->size_bytes + alignment - 1) / alignment * alignment;
}

// The buffer that has a place for each queue.
static byoc_status_t make_places(spreading_t *s, const byoc_host_buffer_t *root) {
  const int64_t size = (int64_t)(stride_of(root) * s->places);
  const byoc_type_t *type = byoc_type_tensor_static(&s->program->arena, BYOC_DTYPE_U8, 1, &size);
  byoc_host_buffer_t *places =
      type != NULL ? byoc_host_buffer_create(s->program, BYOC_HOST_BUFFER_LOCAL, root->name, type) : NULL;
  if (places == NULL) return out_of_memory(s);
  places->scope = root->scope;
  places->device = root->device;
  s->spread[root->index] = places;
  return BYOC_OK;
}

// The same part of the iteration's place.
static byoc_status_t move_to_place(spreading_t *s, byoc_host_buffer_t *buffer) {
  byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  byoc_arena_t *arena = &s->program->arena;
  bool failed = false;
  if (s->spread[root->index] == NULL) BYOC_RETURN_IF_ERROR(make_places(s, root));
  byoc_dim_t offset =
      byoc_dim_binary(arena, BYOC_DIM_MUL, s->slot, byoc_dim_constant((int64_t)stride_of(root)), &failed);
  const byoc_dim_t inside = byoc_dim_constant((int64_t)byoc_host_buffer_offset(buffer));
  offset = byoc_dim_binary(arena, BYOC_DIM_ADD, offset, inside, &failed);
  byoc_host_buffer_t *view =
      failed ? NULL
             : byoc_host_moving_view_create(s->program, s->spread[root->index], buffer->name, buffer->type, offset);
  return view != NULL && byoc_host_replace_uses(s->program, buffer, view) ? BYOC_OK : out_of_memory(s);
}

static byoc_status_t move_all(spreading_t *s) {
  const size_t count = s->program->buffers.count; // places and views are appended
  for (size_t k = 0; k < count; ++k) {
    byoc_host_buffer_t *buffer = s->program->buffers.data[k];
    if (!s->is_own[byoc_host_buffer_root(buffer)->index] || buffer->uses.count == 0) continue;
    BYOC_RETURN_IF_ERROR(move_to_place(s, buffer));
  }
  bool *is_left = BYOC_ARENA_ARRAY(&s->scratch, bool, s->program->buffers.count);
  if (is_left == NULL) return out_of_memory(s);
  for (size_t k = 0; k < count; ++k) is_left[k] = s->is_own[byoc_host_buffer_root(s->program->buffers.data[k])->index];
  byoc_host_drop_buffers(s->program, is_left);
  return BYOC_OK;
}

// ---- queues ----

static byoc_host_instruction_t *add_barrier(const spreading_t *s, byoc_host_instruction_t *before, uint32_t place) {
  byoc_host_instruction_t *barrier = before != NULL
                                         ? byoc_host_instruction_create(s->program, before, BYOC_HOST_BARRIER)
                                         : byoc_host_instruction_append(s->program, s->loop->region, BYOC_HOST_BARRIER);
  if (barrier == NULL) return NULL;
  barrier->origin = "";
  barrier->on = (byoc_host_queue_use_t){s->queue, byoc_dim_constant(place)};
  return barrier;
}

static bool is_on_set(const spreading_t *s, const byoc_host_instruction_t *i) {
  return i->on.queue == s->queue;
}

// Does the queue have commands in front of the loop, or in an earlier iteration of a loop around it?
static bool has_commands_before(const spreading_t *s) {
  if (s->loop->region->owner != NULL) return true;
  BYOC_HOST_FOR_EACH(i, s->program) {
    if (i == s->loop) return false;
    if (is_on_set(s, i)) return true;
  }
  return false;
}

// The other queues begin behind the commands that the first one has so far.
static byoc_status_t fork_queues(const spreading_t *s) {
  if (!has_commands_before(s)) return BYOC_OK;
  const byoc_host_event_t *begin = byoc_host_event_create(s->program, "begin", s->queue->device, 0);
  byoc_host_instruction_t *barrier = begin != NULL ? add_barrier(s, s->loop, 0) : NULL;
  if (barrier == NULL) return out_of_memory(s);
  barrier->signal = (byoc_host_event_use_t){begin, byoc_dim_constant(0)};
  for (uint32_t k = 1; k < s->places; ++k) {
    barrier = add_barrier(s, s->loop, k);
    if (barrier == NULL || !byoc_host_add_wait(s->program, barrier, begin, byoc_dim_constant(0))) {
      return out_of_memory(s);
    }
  }
  return BYOC_OK;
}

// Later commands of the first queue run behind all iterations. If each iteration was awaited, the host waits for the
// last one.
static byoc_status_t join_queues(const spreading_t *s) {
  byoc_host_program_t *program = s->program;
  byoc_host_instruction_t *next = s->loop->next, *await = s->loop->regions[0].last;
  const byoc_host_event_t *end = byoc_host_event_create(program, "end", s->queue->device, s->places);
  if (end == NULL) return out_of_memory(s);
  for (uint32_t k = 1; k < s->places; ++k) {
    byoc_host_instruction_t *barrier = add_barrier(s, next, k);
    if (barrier == NULL) return out_of_memory(s);
    barrier->signal = (byoc_host_event_use_t){end, byoc_dim_constant(k)};
  }
  byoc_host_instruction_t *join = add_barrier(s, next, 0);
  if (join == NULL) return out_of_memory(s);
  for (uint32_t k = 1; k < s->places; ++k) {
    if (!byoc_host_add_wait(program, join, end, byoc_dim_constant(k))) return out_of_memory(s);
  }
  if (!is_last_await(await)) return BYOC_OK;
  join->signal = (byoc_host_event_use_t){end, byoc_dim_constant(0)};
  byoc_host_instruction_move(await, s->loop->region, next);
  await->waits.count = 0;
  return byoc_host_add_wait(program, await, end, byoc_dim_constant(0)) ? BYOC_OK : out_of_memory(s);
}

static byoc_status_t spread(spreading_t *s) {
  BYOC_RETURN_IF_ERROR(make_slot(s));
  BYOC_RETURN_IF_ERROR(move_all(s));
  for (byoc_host_instruction_t *i = s->loop->regions[0].first; i != NULL; i = i->next) {
    if (!is_on_set(s, i)) continue;
    i->on.place = s->slot;
    i->signal = (byoc_host_event_use_t){0}; // only the await at the end was waiting
  }
  BYOC_RETURN_IF_ERROR(fork_queues(s));
  return join_queues(s);
}

// ---- the pass ----

static bool has_set(const byoc_host_program_t *program) {
  for (size_t k = 0; k < program->queues.count; ++k) {
    if (program->queues.data[k]->count > 1) return true;
  }
  return false;
}

// Buffers and symbols are new after each loop that was spread, so that all is found anew.
static byoc_status_t try_loop(byoc_host_program_t *program, byoc_host_instruction_t *loop, byoc_diag_t *diag,
                              size_t *changes) {
  spreading_t s = {.program = program, .loop = loop, .diag = diag};
  byoc_arena_init(&s.scratch, program->arena.allocator);
  s.spread = BYOC_ARENA_ARRAY(&s.scratch, byoc_host_buffer_t *, program->buffers.count);
  s.is_own = BYOC_ARENA_ARRAY(&s.scratch, bool, program->buffers.count);
  byoc_status_t status = BYOC_OK;
  if (s.spread == NULL || s.is_own == NULL || !byoc_host_ranges_init(&s.ranges, program, &s.scratch)) {
    status = out_of_memory(&s);
  } else if (may_be_spread(&s)) {
    status = spread(&s);
    *changes += 1;
  }
  byoc_arena_deinit(&s.scratch);
  return status;
}

byoc_status_t byoc_host_pass_spread_loops(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  if (!has_set(program)) return BYOC_OK;
  byoc_host_forget_lifetimes(program);
  for (byoc_host_instruction_t *i = program->body.first; i != NULL; i = byoc_host_instruction_following(i)) {
    if (i->op == BYOC_HOST_LOOP) BYOC_RETURN_IF_ERROR(try_loop(program, i, diag, changes));
  }
  return BYOC_OK;
}
