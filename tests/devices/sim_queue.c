// SPDX-License-Identifier: Apache-2.0
// The queues of the driver `sim`, and how a command comes into one, begins, ends and is forgotten.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/devices/sim_internal.h"

uint64_t sim_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Numbers that look like chance, and are the same in each run.
static uint64_t scatter(uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return number ^ (number >> 31);
}

// --- making and forgetting

void sim_command_drop(sim_command_t *command) {
  if (!command || --command->reference_count) return;
  command->next = command->device->idle;
  command->device->idle = command;
}

void sim_command_free_all(byoc_device_t *device) {
  while (device->all) {
    sim_command_t *command = device->all;
    device->all = command->next_made;
    free(command->waits);
    free(command->arguments);
    free(command->buffers);
    free(command);
  }
}

static sim_command_t *take_idle(byoc_device_t *device) {
  sim_command_t *command = device->idle;
  if (command) {
    device->idle = command->next;
    return command;
  }
  command = calloc(1, sizeof(*command));
  if (!command) return NULL;
  command->device = device;
  command->next_made = device->all;
  device->all = command;
  return command;
}

static int copy_waits(sim_command_t *command, const byoc_device_order_t *order) {
  command->wait_count = 0;
  uint32_t count = order ? order->wait_count : 0;
  if (count > command->wait_capacity) {
    sim_command_t **waits = realloc(command->waits, count * sizeof(*waits));
    if (!waits) return 0;
    command->waits = waits;
    command->wait_capacity = count;
  }
  for (uint32_t i = 0; i < count; ++i) {
    sim_command_t *other = order->waits[i]->command;
    if (!other) continue;
    ++other->reference_count;
    command->waits[command->wait_count++] = other;
  }
  return 1;
}

static void drop_waits(sim_command_t *command) {
  for (uint32_t i = 0; i < command->wait_count; ++i) sim_command_drop(command->waits[i]);
  command->wait_count = 0;
}

sim_command_t *sim_command_new(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  for (uint32_t i = 0; order && i < order->wait_count; ++i) {
    if (order->waits[i]->device != device) sim_mistake("a command waits for an event of another device");
  }
  if (queue->device != device) sim_mistake("a command is put into a queue of another device");
  pthread_mutex_lock(&device->lock);
  sim_command_t *command = take_idle(device);
  if (command) {
    command->reference_count = 1;
    command->queue = queue;
    command->native = queue->native;
    command->state = SIM_PENDING;
    command->status = BYOC_OK;
    command->error[0] = 0;
    command->source = command->destination = (sim_span_t){0};
    command->entry = NULL;
    command->argument_count = 0;
    command->execute = NULL;
    if (!copy_waits(command, order)) {
      sim_command_drop(command);
      command = NULL;
    }
  }
  pthread_mutex_unlock(&device->lock);
  if (!command) sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  return command;
}

void sim_command_cancel(sim_command_t *command) {
  pthread_mutex_lock(&command->device->lock);
  drop_waits(command);
  sim_command_drop(command);
  pthread_mutex_unlock(&command->device->lock);
}

// --- running

// Counts a command among those that use its buffers and its module, or no longer.
static void count_uses(sim_command_t *command, int change) {
  if (command->source.buffer) command->source.buffer->use_count += (uint32_t)change;
  if (command->destination.buffer) command->destination.buffer->use_count += (uint32_t)change;
  for (uint32_t i = 0; i < command->argument_count; ++i) {
    if (command->buffers[i]) command->buffers[i]->use_count += (uint32_t)change;
  }
  if (command->entry) command->entry->module->use_count += (uint32_t)change;
}

static void append(byoc_device_t *device, sim_command_t *command) {
  command->previous = device->last;
  command->next = NULL;
  if (device->last)
    device->last->next = command;
  else
    device->first = command;
  device->last = command;
}

static void unlink_command(byoc_device_t *device, sim_command_t *command) {
  if (command->previous)
    command->previous->next = command->next;
  else
    device->first = command->next;
  if (command->next)
    command->next->previous = command->previous;
  else
    device->last = command->previous;
}

static int waits_ended(const sim_command_t *command) {
  for (uint32_t i = 0; i < command->wait_count; ++i) {
    if (command->waits[i]->state != SIM_ENDED) return 0;
  }
  return 1;
}

// Could it run now, as far as its queue and its waits go?
static int is_ready(const sim_command_t *command) {
  if (command->state != SIM_PENDING || !command->may_begin || !waits_ended(command)) return 0;
  for (const sim_command_t *other = command->previous; other; other = other->previous) {
    if (other->native == command->native) return 0;
  }
  return 1;
}

// Draws the command that runs next.
static void draw(byoc_device_t *device) {
  uint64_t count = 0;
  for (sim_command_t *command = device->first; command; command = command->next) count += (uint64_t)is_ready(command);
  if (!count) return;
  uint64_t chosen = scatter(device->random++) % count;
  for (sim_command_t *command = device->first; command; command = command->next) {
    if (is_ready(command) && !chosen--) {
      device->drawn = command;
      return;
    }
  }
}

static int may_begin(sim_command_t *command) {
  byoc_device_t *device = command->device;
  if (!device->options.ordered) return waits_ended(command);
  if (!device->drawn && !device->running_count) {
    draw(device);
    if (device->drawn) pthread_cond_broadcast(&device->changed);
  }
  return device->drawn == command;
}

static void fail(sim_command_t *command, int32_t status, const char *text) {
  command->status = status;
  snprintf(command->error, sizeof(command->error), "%s", text);
}

// What failed before, and keeps this command from running.
static void inherit_failure(sim_command_t *command) {
  byoc_device_queue_t *queue = command->queue;
  if (queue->failure) fail(command, queue->failure, queue->failure_text);
  for (uint32_t i = 0; i < command->wait_count && !command->status; ++i) {
    if (command->waits[i]->status) fail(command, command->waits[i]->status, command->waits[i]->error);
  }
}

static void delay(const sim_command_t *command) {
  uint64_t most = command->device->options.delay_us;
  if (!most) return;
  uint64_t ns = scatter(command->number) % (most + 1) * 1000;
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  nanosleep(&time, NULL);
}

static void log_times(const sim_command_t *command) {
  static const char *const names[] = {
#define SIM_CALL_NAME(name, late) #name,
      SIM_CALL_LIST(SIM_CALL_NAME)
#undef SIM_CALL_NAME
  };
  if (!command->device->options.times) return;
  sim_log(command->device, "ran %s on q%llu from %llu to %llu", names[command->call],
          (unsigned long long)command->queue->number, (unsigned long long)command->begin_ns,
          (unsigned long long)command->end_ns);
}

static void run_command(void *argument) {
  sim_command_t *command = argument;
  byoc_device_t *device = command->device;
  pthread_mutex_lock(&device->lock);
  while (!may_begin(command)) pthread_cond_wait(&device->changed, &device->lock);
  device->drawn = NULL;
  ++device->running_count;
  command->state = SIM_RUNNING;
  inherit_failure(command);
  pthread_mutex_unlock(&device->lock);

  command->begin_ns = sim_now_ns();
  if (command->status == BYOC_OK) {
    delay(command);
    if (command->fails)
      fail(command, BYOC_INTERNAL, "the device 'sim' was told to fail at this command");
    else if (command->execute)
      command->status = command->execute(command);
  }
  const sim_options_t *options = &command->device->options;
  command->end_ns = options->has_stamps ? command->begin_ns + options->stamp_ns : sim_now_ns();

  pthread_mutex_lock(&device->lock);
  log_times(command);
  byoc_device_queue_t *queue = command->queue;
  if (command->status && !queue->failure) {
    queue->failure = command->status;
    memcpy(queue->failure_text, command->error, sizeof(queue->failure_text));
  }
  command->state = SIM_ENDED;
  --device->running_count;
  unlink_command(device, command);
  count_uses(command, -1);
  drop_waits(command);
  sim_command_drop(command);
  pthread_cond_broadcast(&device->changed);
  pthread_mutex_unlock(&device->lock);
}

int32_t sim_command_put(sim_command_t *command, sim_call_t call, const byoc_device_order_t *order) {
  byoc_device_t *device = command->device;
  pthread_mutex_lock(&device->lock);
  command->fails = sim_counted_fails(device, call, 1) | sim_counted_fails(device, SIM_CALL_any, 1);
  command->number = device->calls[SIM_CALL_any];
  command->call = call;
  command->may_begin = !device->options.ordered;
  ++command->reference_count; // of the list
  append(device, command);
  count_uses(command, 1);
  pthread_mutex_unlock(&device->lock);

  sim_native_queue_t *native = command->native;
  int failed = native->submit(native->self, run_command, command);

  pthread_mutex_lock(&device->lock);
  if (failed) {
    unlink_command(device, command);
    count_uses(command, -1);
    drop_waits(command);
    sim_command_drop(command);
  } else if (order && order->signal) {
    sim_command_drop(order->signal->command);
    order->signal->command = command;
    ++command->reference_count;
  }
  sim_command_drop(command);
  pthread_mutex_unlock(&device->lock);
  return failed ? sim_fail(device, BYOC_OUT_OF_MEMORY, "the queue takes no more commands: out of memory") : BYOC_OK;
}

// --- waiting

void sim_begin_all(byoc_device_t *device) {
  for (sim_command_t *command = device->first; command; command = command->next) command->may_begin = 1;
  pthread_cond_broadcast(&device->changed);
}

void sim_wait_until_ended(sim_command_t *command) {
  byoc_device_t *device = command->device;
  if (command->state != SIM_ENDED) sim_begin_all(device);
  while (command->state != SIM_ENDED) pthread_cond_wait(&device->changed, &device->lock);
}

// --- the slots

static int32_t queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue) {
  if (kind > BYOC_QUEUE_NATIVE) return sim_fail(device, BYOC_UNSUPPORTED, "there are no queues of kind %u", kind);
  if (kind == BYOC_QUEUE_NATIVE && !native) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "a queue of the caller was asked for, and none was given");
  }
  byoc_device_queue_t *queue = calloc(1, sizeof(*queue));
  if (!queue) return sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  queue->device = device;
  queue->kind = kind;
  queue->native = native;
  if (kind == BYOC_QUEUE_OWN) queue->native = sim_native_queue_create();
  if (kind == BYOC_QUEUE_DEFAULT) {
    if (!device->default_queue) device->default_queue = sim_native_queue_create();
    queue->native = device->default_queue;
  }
  if (!queue->native) {
    free(queue);
    return sim_fail(device, BYOC_OUT_OF_MEMORY, "a queue could not start its thread");
  }
  queue->number = device->queue_number++;
  SIM_ALIVE(device, queues, 1);
  sim_log(device, "queue %llu", (unsigned long long)queue->number);
  *out_queue = queue;
  return BYOC_OK;
}

int32_t sim_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue) {
  *out_queue = NULL;
  int32_t status = sim_enter(device, SIM_CALL_queue);
  if (status == BYOC_OK) status = queue_create(device, kind, native, out_queue);
  sim_leave(device);
  return status;
}

static int has_commands(const byoc_device_queue_t *queue) {
  for (const sim_command_t *command = queue->device->first; command; command = command->next) {
    if (command->queue == queue) return 1;
  }
  return 0;
}

static void wait_for_commands(byoc_device_queue_t *queue) {
  byoc_device_t *device = queue->device;
  if (has_commands(queue)) sim_begin_all(device);
  while (has_commands(queue)) pthread_cond_wait(&device->changed, &device->lock);
}

void sim_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue) {
  if (!queue) return;
  sim_enter_uncounted(device);
  pthread_mutex_lock(&device->lock);
  wait_for_commands(queue);
  for (sim_command_t *command = device->all; command; command = command->next_made) {
    if (command->queue == queue) command->queue = NULL;
  }
  pthread_mutex_unlock(&device->lock);
  if (queue->kind == BYOC_QUEUE_OWN) sim_native_queue_destroy(queue->native);
  free(queue);
  SIM_ALIVE(device, queues, -1);
  sim_leave(device);
}

int32_t sim_queue_rebind(byoc_device_t *device, byoc_device_queue_t *queue, void *native) {
  sim_enter_uncounted(device);
  int32_t status = BYOC_OK;
  if (queue->kind != BYOC_QUEUE_NATIVE || !native) {
    status = sim_fail(device, BYOC_INVALID_ARGUMENT, "only a queue of the caller can become another one of the caller");
  } else {
    queue->native = native;
    sim_log(device, "rebind q%llu", (unsigned long long)queue->number);
  }
  sim_leave(device);
  return status;
}

int32_t sim_queue_wait(byoc_device_t *device, byoc_device_queue_t *queue) {
  int32_t status = sim_enter(device, SIM_CALL_wait);
  int fails = status != BYOC_OK;
  pthread_mutex_lock(&device->lock);
  wait_for_commands(queue);
  if (queue->failure && !fails) status = sim_fail(device, queue->failure, "%s", queue->failure_text);
  queue->failure = BYOC_OK;
  pthread_mutex_unlock(&device->lock);
  sim_leave(device);
  return status;
}

int32_t sim_queue_flush(byoc_device_t *device, byoc_device_queue_t *queue) {
  int32_t status = sim_enter(device, SIM_CALL_flush);
  if (status == BYOC_OK) {
    pthread_mutex_lock(&device->lock);
    for (sim_command_t *command = device->first; command; command = command->next) {
      if (command->queue == queue) command->may_begin = 1;
    }
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
  }
  sim_leave(device);
  return status;
}
