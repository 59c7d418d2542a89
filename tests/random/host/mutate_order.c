// SPDX-License-Identifier: Apache-2.0
// Changes at random what host programs say of queues and events.
#include "core/hostir/program/edit.h"
#include "tests/random/host/host.h"

static byoc_dim_t pick_place(mutation_t *m) {
  return chance(m, 50) ? byoc_dim_constant((int64_t)below(m, 6) - 2) : pick_dim(m);
}

static byoc_host_event_use_t pick_event(mutation_t *m) {
  const size_t count = m->program->events.count;
  if (count == 0) return (byoc_host_event_use_t){0};
  return (byoc_host_event_use_t){.event = m->program->events.data[below(m, count)], .place = pick_place(m)};
}

static byoc_host_instruction_t *pick_command(mutation_t *m) {
  byoc_host_instruction_t *i = NULL;
  for (int tries = 0; tries < 30 && (i == NULL || i->on.queue == NULL); ++tries) i = pick_instruction(m);
  return i;
}

// Another queue, or another one of its set; one without a queue gets one, or the other way round.
static bool change_queue(mutation_t *m) {
  byoc_host_instruction_t *i = chance(m, 60) ? pick_command(m) : pick_instruction(m);
  const size_t count = m->program->queues.count;
  if (i == NULL || count == 0) return false;
  i->on.queue = i->on.queue != NULL && chance(m, 20) ? NULL : m->program->queues.data[below(m, count)];
  i->on.place = pick_place(m);
  return true;
}

static bool change_waits(mutation_t *m) {
  byoc_host_instruction_t *i = pick_command(m);
  const byoc_host_event_use_t event = pick_event(m);
  if (i == NULL || event.event == NULL) return false;
  if (i->waits.count == 0 || chance(m, 40)) return byoc_host_add_wait(m->program, i, event.event, event.place);
  if (chance(m, 50)) {
    i->waits.data[below(m, i->waits.count)] = event;
  } else {
    i->waits.data[below(m, i->waits.count)] = i->waits.data[i->waits.count - 1];
    i->waits.count -= 1;
  }
  return true;
}

static bool change_signal(mutation_t *m) {
  byoc_host_instruction_t *i = pick_command(m);
  if (i == NULL || i->on.queue == NULL) return false;
  i->signal = chance(m, 30) ? (byoc_host_event_use_t){0} : pick_event(m);
  return true;
}

// A barrier or an await.
static bool insert_order(mutation_t *m) {
  const byoc_host_event_use_t event = pick_event(m);
  const size_t queues = m->program->queues.count;
  if (event.event == NULL || queues == 0) return false;
  const byoc_host_op_t op = chance(m, 50) ? BYOC_HOST_BARRIER : BYOC_HOST_AWAIT;
  byoc_host_instruction_t *i = byoc_host_instruction_create(m->program, pick_instruction(m), op);
  if (i == NULL) return false;
  i->origin = "";
  if (op == BYOC_HOST_BARRIER) {
    i->on = (byoc_host_queue_use_t){m->program->queues.data[below(m, queues)], pick_place(m)};
    i->signal = pick_event(m);
    if (chance(m, 30)) return true;
  }
  return byoc_host_add_wait(m->program, i, event.event, event.place);
}

static bool change_device(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  const size_t count = m->program->devices.count;
  if (buffer == NULL || count == 0) return false;
  buffer->device = chance(m, 40) ? NULL : m->program->devices.data[below(m, count)];
  return true;
}

const mutator_t order_mutators[] = {
    change_queue, change_queue, change_waits, change_waits, change_signal, insert_order, change_device, NULL,
};
