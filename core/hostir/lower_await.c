// Makes the host wait: in front of an instruction that touches memory of the host which a command may still use. An
// event is made for each command that is waited for, and for no other.
#include "core/hostir/lower_internal.h"

// A command that may still run, and the host's buffer that it reads or writes.
typedef struct pending_t {
  byoc_host_instruction_t *command;
  const byoc_host_buffer_t *root;
  bool writes;
} pending_t;

typedef struct awaiting_t {
  byoc_host_lowering_t *l;
  BYOC_VECTOR(pending_t) pending; // in the order of the host
} awaiting_t;

static bool touches(const byoc_host_instruction_t *i, const pending_t *pending) {
  for (size_t k = 0; k < i->operands.count && pending->writes; ++k) {
    if (i->operands.data[k] != NULL && byoc_host_buffer_root(i->operands.data[k]) == pending->root) return true;
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    if (i->results.data[k] != NULL && byoc_host_buffer_root(i->results.data[k]) == pending->root) return true;
  }
  return i->workspace != NULL && byoc_host_buffer_root(i->workspace) == pending->root;
}

// Must the host wait for it before it goes on with `i`? NULL stands for the end of a region. Nested instructions begin
// with nothing pending, and commands of one queue are in order by themselves.
static bool is_due(const byoc_host_instruction_t *i, const pending_t *pending) {
  if (i == NULL || i->region_count > 0) return true;
  if (i->on.queue != NULL && i->on.queue == pending->command->on.queue) return false;
  return touches(i, pending);
}

static byoc_status_t add_wait(awaiting_t *a, byoc_host_instruction_t *await, byoc_host_instruction_t *command) {
  byoc_host_program_t *program = a->l->program;
  if (command->signal.event == NULL) {
    command->signal.event = byoc_host_event_create(program, "done", command->on.queue->device, 0);
  }
  const byoc_host_event_use_t use = {.event = command->signal.event};
  if (use.event == NULL || !byoc_vector_push(&await->waits, program->arena.allocator, use)) {
    return byoc_diag_out_of_memory(a->l->diag);
  }
  return BYOC_OK;
}

// Forgets the commands up to `last` of its queue, which have ended with it.
static void forget(awaiting_t *a, size_t last) {
  const byoc_host_queue_t *queue = a->pending.data[last].command->on.queue;
  size_t kept = 0;
  for (size_t k = 0; k < a->pending.count; ++k) {
    if (k <= last && a->pending.data[k].command->on.queue == queue) continue;
    a->pending.data[kept++] = a->pending.data[k];
  }
  a->pending.count = kept;
}

// Waits in front of `i`, or at the end of the region.
static byoc_status_t wait_before(awaiting_t *a, byoc_host_region_t *region, byoc_host_instruction_t *i) {
  byoc_host_instruction_t *await = NULL;
  for (size_t k = a->pending.count; k-- > 0;) {
    if (!is_due(i, &a->pending.data[k])) continue;
    if (await == NULL) {
      await = i != NULL ? byoc_host_instruction_create(a->l->program, i, BYOC_HOST_AWAIT)
                        : byoc_host_instruction_append(a->l->program, region, BYOC_HOST_AWAIT);
      if (await == NULL) return byoc_diag_out_of_memory(a->l->diag);
      await->origin = "";
    }
    BYOC_RETURN_IF_ERROR(add_wait(a, await, a->pending.data[k].command));
    forget(a, k);
    k = a->pending.count;
  }
  return BYOC_OK;
}

static byoc_status_t note_command(awaiting_t *a, byoc_host_instruction_t *i) {
  for (size_t k = 0; k < i->operands.count + i->results.count; ++k) {
    const bool writes = k >= i->operands.count;
    byoc_host_buffer_t *buffer = writes ? i->results.data[k - i->operands.count] : i->operands.data[k];
    if (buffer == NULL || buffer->device != NULL) continue;
    const pending_t pending = {.command = i, .root = byoc_host_buffer_root(buffer), .writes = writes};
    if (!byoc_vector_push(&a->pending, a->l->program->arena.allocator, pending)) {
      return byoc_diag_out_of_memory(a->l->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t place_in_region(awaiting_t *a, byoc_host_region_t *region) {
  for (byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    BYOC_RETURN_IF_ERROR(wait_before(a, region, i));
    for (uint32_t r = 0; r < i->region_count; ++r) BYOC_RETURN_IF_ERROR(place_in_region(a, &i->regions[r]));
    if (i->on.queue != NULL) BYOC_RETURN_IF_ERROR(note_command(a, i));
  }
  if (region->owner == NULL) return BYOC_OK; // the run ends when all commands have ended
  byoc_host_instruction_t *last = region->last != NULL && region->last->op == BYOC_HOST_YIELD ? region->last : NULL;
  if (last == NULL) return wait_before(a, region, NULL);
  // What a yield gives is there when the region ends; nothing may be pending then.
  BYOC_RETURN_IF_ERROR(wait_before(a, region, NULL));
  if (region->last != last) byoc_host_instruction_move(region->last, region, last);
  return BYOC_OK;
}

byoc_status_t byoc_host_place_awaits(byoc_host_lowering_t *l) {
  if (l->program->queues.count == 0) return BYOC_OK;
  awaiting_t a = {.l = l};
  byoc_status_t status = place_in_region(&a, &l->program->body);
  byoc_vector_deinit(&a.pending, l->program->arena.allocator);
  return status;
}
