// SPDX-License-Identifier: Apache-2.0
// Checks of a driver's queues: order within one, order between two, all kinds of them, failures.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin_check/driver/suite.h"

enum { COUNT = SUITE_COUNTS, SIZE = COUNT * 4 };

static void check_queue_order(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *one = suite_allocate(s, SIZE), *two = suite_allocate(s, SIZE);
  suite_zero(s, s->queue, one, SIZE, NULL);
  byoc_device_bytes_t from = {.buffer = one}, to = {.buffer = two};
  for (int i = 0; i < 50; ++i) {
    suite_count(s, s->queue, count, one, COUNT, NULL);
    CHECK_OK(s->driver->copy(s->device, s->queue, &from, &to, SIZE, NULL));
    suite_count(s, s->queue, count, two, COUNT, NULL);
    CHECK_OK(s->driver->copy(s->device, s->queue, &to, &from, SIZE, NULL));
  }
  suite_expect_counts(s, s->queue, one, 100);
  s->driver->release(s->device, one);
  s->driver->release(s->device, two);
  suite_close(s);
}

// Two queues take turns at one buffer.
static void check_queues_in_turns(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_queue_t *queues[] = {s->queue, suite_queue(s)};
  byoc_device_event_t *events[] = {suite_event(s), suite_event(s)};
  suite_order_t order;
  suite_zero(s, queues[1], buffer, SIZE, suite_order(&order, NULL, events[1]));
  for (int i = 0; i < 100; ++i) {
    int turn = i % 2;
    suite_count(s, queues[turn], count, buffer, COUNT, suite_order(&order, events[1 - turn], events[turn]));
  }
  CHECK_OK(s->driver->event_wait(s->device, events[1]));
  suite_expect_counts(s, s->queue, buffer, 100);
  for (int i = 0; i < 2; ++i) s->driver->event_destroy(s->device, events[i]);
  s->driver->queue_destroy(s->device, queues[1]);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// One queue feeds four, whose results one command waits for.
static void check_queues_fork_and_join(suite_t *s) {
  enum { QUEUES = 4 };
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_queue_t *queues[QUEUES];
  byoc_device_buffer_t *buffers[QUEUES], *all = suite_allocate(s, QUEUES * SIZE);
  byoc_device_event_t *ready = suite_event(s), *done[QUEUES];
  suite_order_t order;
  for (int i = 0; i < QUEUES; ++i) {
    queues[i] = suite_queue(s);
    buffers[i] = suite_allocate(s, SIZE);
    done[i] = suite_event(s);
  }
  for (int turn = 0; turn < 5; ++turn) {
    for (int i = 0; i < QUEUES; ++i) {
      suite_zero(s, s->queue, buffers[i], SIZE, i == QUEUES - 1 ? suite_order(&order, NULL, ready) : NULL);
    }
    for (int i = 0; i < QUEUES; ++i) {
      for (int k = 0; k <= i; ++k) {
        suite_count(s, queues[i], count, buffers[i], COUNT,
                    suite_order(&order, k == 0 ? ready : NULL, k == i ? done[i] : NULL));
      }
    }
    byoc_device_order_t join = {.waits = done, .wait_count = QUEUES};
    CHECK_OK(s->driver->barrier(s->device, s->queue, &join));
    for (int i = 0; i < QUEUES; ++i) {
      byoc_device_bytes_t from = {.buffer = buffers[i]}, to = {.buffer = all, .offset_bytes = (uint64_t)i * SIZE};
      CHECK_OK(s->driver->copy(s->device, s->queue, &from, &to, SIZE, NULL));
    }
    int32_t values[QUEUES * COUNT];
    suite_download(s, s->queue, all, 0, values, sizeof(values), NULL);
    CHECK_OK(s->driver->queue_wait(s->device, s->queue));
    for (int i = 0; i < QUEUES * COUNT; ++i) CHECK(values[i] == i / COUNT + 1);
  }
  for (int i = 0; i < QUEUES; ++i) {
    s->driver->event_destroy(s->device, done[i]);
    s->driver->queue_destroy(s->device, queues[i]);
    s->driver->release(s->device, buffers[i]);
  }
  s->driver->event_destroy(s->device, ready);
  s->driver->release(s->device, all);
  suite_close(s);
}

// Commands in a queue run after a flush, even if nobody waits for them.
static void check_flush(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  suite_count(s, s->queue, count, buffer, COUNT, suite_order(&order, NULL, event));
  CHECK_OK(s->driver->queue_flush(s->device, s->queue));
  int32_t is_complete = 0;
  while (!is_complete) CHECK_OK(s->driver->event_query(s->device, event, &is_complete));
  suite_expect_counts(s, s->queue, buffer, 1);
  CHECK_OK(s->driver->queue_wait(s->device, s->queue)); // an empty one
  CHECK_OK(s->driver->queue_flush(s->device, s->queue));
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_queue_kinds(suite_t *s) {
  suite_open(s, 0);
  byoc_device_queue_t *queue = s->queue;
  CHECK_STATUS(s->driver->queue_create(s->device, 77, NULL, &queue), BYOC_UNSUPPORTED);
  CHECK(queue == NULL && s->error[0]);
  int32_t status = s->driver->queue_create(s->device, BYOC_QUEUE_DEFAULT, NULL, &queue);
  if (status == BYOC_UNSUPPORTED) suite_skip("the device has no default queue");
  CHECK_OK(status);
  byoc_device_queue_t *again = NULL;
  CHECK_OK(s->driver->queue_create(s->device, BYOC_QUEUE_DEFAULT, NULL, &again));
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  suite_zero(s, queue, buffer, SIZE, NULL);
  for (int i = 0; i < 10; ++i) suite_count(s, i % 2 ? queue : again, count, buffer, COUNT, NULL); // one and the same
  CHECK_OK(s->driver->queue_wait(s->device, again));
  suite_expect_counts(s, queue, buffer, 10);
  s->driver->queue_destroy(s->device, again);
  suite_expect_counts(s, queue, buffer, 10);
  s->driver->queue_destroy(s->device, queue);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// The caller's queue takes our commands, and then another one of the caller's does.
static void check_queue_native(suite_t *s) {
  suite_open(s, 0);
  const byoc_driver_kernels_t *kernels = &s->kernels;
  if (!kernels->native_create) suite_skip("no queues of the caller were given");
  byoc_device_entry_t *count = suite_entry(s, kernels->count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  void *natives[] = {kernels->native_create(s->device), kernels->native_create(s->device)};
  CHECK(natives[0] && natives[1]);
  byoc_device_queue_t *queue = NULL;
  CHECK_OK(s->driver->queue_create(s->device, BYOC_QUEUE_NATIVE, natives[0], &queue));
  suite_zero(s, queue, buffer, SIZE, NULL);
  suite_count(s, queue, count, buffer, COUNT, NULL);
  int32_t values[COUNT] = {0};
  suite_download(s, queue, buffer, 0, values, SIZE, NULL);
  CHECK_OK(s->driver->queue_flush(s->device, queue));
  kernels->native_wait(natives[0]); // the caller waits in its own way
  for (int i = 0; i < COUNT; ++i) CHECK(values[i] == 1);
  if (s->driver->queue_rebind) {
    CHECK_OK(s->driver->queue_rebind(s->device, queue, natives[1]));
    suite_count(s, queue, count, buffer, COUNT, NULL);
    suite_download(s, queue, buffer, 0, values, SIZE, NULL);
    CHECK_OK(s->driver->queue_flush(s->device, queue));
    kernels->native_wait(natives[1]);
    for (int i = 0; i < COUNT; ++i) CHECK(values[i] == 2);
  }
  s->driver->queue_destroy(s->device, queue);
  for (int i = 0; i < 2; ++i) kernels->native_destroy(natives[i]);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// A queue may be destroyed while its commands are under way.
static void check_queue_destroyed_in_use(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  for (int turn = 0; turn < 10; ++turn) {
    byoc_device_queue_t *queue = suite_queue(s);
    for (int i = 0; i < 10; ++i) suite_count(s, queue, count, buffer, COUNT, suite_order(&order, NULL, event));
    s->driver->queue_destroy(s->device, queue);
    int32_t is_complete = 0;
    CHECK_OK(s->driver->event_query(s->device, event, &is_complete));
    CHECK(is_complete);
  }
  s->driver->event_destroy(s->device, event);
  suite_expect_counts(s, s->queue, buffer, 100);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_many_queues(suite_t *s) {
  enum { QUEUES = 24 };
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_queue_t *queues[QUEUES];
  byoc_device_buffer_t *buffers[QUEUES];
  for (int i = 0; i < QUEUES; ++i) {
    queues[i] = suite_queue(s);
    buffers[i] = suite_allocate(s, SIZE);
    suite_zero(s, queues[i], buffers[i], SIZE, NULL);
  }
  for (int turn = 0; turn < 10; ++turn) {
    for (int i = 0; i < QUEUES; ++i) suite_count(s, queues[i], count, buffers[i], COUNT, NULL);
  }
  for (int i = 0; i < QUEUES; ++i) {
    suite_expect_counts(s, queues[i], buffers[i], 10);
    s->driver->queue_destroy(s->device, queues[i]);
    s->driver->release(s->device, buffers[i]);
  }
  suite_close(s);
}

// The failure of a command spreads along its queue and along events, is told once, and is over.
static void check_failure(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *fail = suite_entry(s, s->kernels.fail), *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_queue_t *other = suite_queue(s), *third = suite_queue(s);
  byoc_device_event_t *failed = suite_event(s), *behind = suite_event(s), *waiting = suite_event(s);
  suite_order_t order;
  for (int turn = 0; turn < 3; ++turn) {
    suite_zero(s, s->queue, buffer, SIZE, NULL);
    CHECK_OK(s->driver->queue_wait(s->device, s->queue));
    suite_launch(s, s->queue, fail, 1, 1, NULL, 0, suite_order(&order, NULL, failed));
    suite_count(s, s->queue, count, buffer, COUNT, suite_order(&order, NULL, behind));
    suite_count(s, other, count, buffer, COUNT, suite_order(&order, failed, waiting));
    suite_count(s, third, count, buffer, COUNT, NULL); // it has nothing to do with these

    int32_t status = s->driver->event_wait(s->device, failed);
    CHECK(status != BYOC_OK);
    CHECK_STATUS(s->driver->event_wait(s->device, waiting), status);
    CHECK_STATUS(s->driver->event_wait(s->device, behind), status);
    CHECK(s->driver->event_error(s->device, failed)[0]);
    CHECK(s->driver->event_error(s->device, waiting)[0]);
    int32_t is_complete = 0;
    CHECK_STATUS(s->driver->event_query(s->device, failed, &is_complete), status);
    CHECK(is_complete);
    s->error[0] = 0;
    CHECK_STATUS(s->driver->queue_wait(s->device, s->queue), status);
    CHECK(s->error[0]);
    CHECK_STATUS(s->driver->queue_wait(s->device, other), status);
    CHECK_OK(s->driver->queue_wait(s->device, third));
    CHECK_OK(s->driver->queue_wait(s->device, s->queue)); // told once

    suite_count(s, s->queue, count, buffer, COUNT, suite_order(&order, NULL, failed));
    suite_count(s, other, count, buffer, COUNT, suite_order(&order, failed, waiting));
    CHECK_OK(s->driver->event_wait(s->device, waiting));
    CHECK(!s->driver->event_error(s->device, failed)[0]);
    suite_expect_counts(s, s->queue, buffer, 3);
  }
  // Nobody is told, and everything can still be destroyed.
  suite_launch(s, s->queue, fail, 1, 1, NULL, 0, suite_order(&order, NULL, failed));
  suite_count(s, other, count, buffer, COUNT, suite_order(&order, failed, waiting));
  s->driver->event_destroy(s->device, failed);
  s->driver->event_destroy(s->device, behind);
  s->driver->event_destroy(s->device, waiting);
  s->driver->queue_destroy(s->device, other);
  s->driver->queue_destroy(s->device, third);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

const suite_check_t suite_queue_checks[] = {
    {"queue_order", check_queue_order, "commands of one queue run one after the other"},
    {"queues_in_turns", check_queues_in_turns, "two queues take turns at one buffer, by events"},
    {"queues_fork_and_join", check_queues_fork_and_join, "one queue feeds four, whose results one barrier waits for"},
    {"flush", check_flush, "what was put into a flushed queue runs without anyone waiting"},
    {"queue_kinds", check_queue_kinds,
     "an unknown kind of queue gives BYOC_UNSUPPORTED and NULL, and the default queue is one and the same"},
    {"queue_native", check_queue_native,
     "a queue of the caller takes commands, and after queue_rebind another one does"},
    {"queue_destroyed_in_use", check_queue_destroyed_in_use, "queue_destroy waits for the queue's commands"},
    {"many_queues", check_many_queues, "24 queues work beside each other"},
    {"failure", check_failure, "a failure spreads along its queue and along events, is told once, and is over"},
    {NULL, NULL, NULL},
};
