// SPDX-License-Identifier: Apache-2.0
// Checks of a driver's events: reuse, capture, waits on other threads, time stamps, queues that run at once.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin_check/driver/suite.h"

enum { COUNT = SUITE_COUNTS, SIZE = COUNT * 4 };

static void check_event_fresh(suite_t *s) {
  suite_open(s, BYOC_DEVICE_TIMES);
  byoc_device_event_t *event = suite_event(s);
  int32_t is_complete = 0;
  CHECK_OK(s->driver->event_query(s->device, event, &is_complete));
  CHECK(is_complete == 1);
  CHECK_OK(s->driver->event_wait(s->device, event));
  CHECK(strcmp(s->driver->event_error(s->device, event), "") == 0);
  uint64_t begin = 0, end = 0;
  CHECK_STATUS(s->driver->event_times(s->device, event, &begin, &end), BYOC_INVALID_ARGUMENT);
  // A command that waits for it waits for nothing.
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, suite_order(&order, event, NULL));
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_event_reused(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  int32_t value = 0;
  for (int i = 1; i <= 300; ++i) {
    suite_count(s, s->queue, count, buffer, COUNT, NULL);
    suite_download(s, s->queue, buffer, SIZE - 4, &value, 4, suite_order(&order, NULL, event));
    CHECK_OK(s->driver->event_wait(s->device, event));
    CHECK(value == i);
  }
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// A command waits for what the event stood for when it was put into its queue; here the event that it signals itself,
// and one that a command behind it signals.
static void check_event_captured(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_queue_t *other = suite_queue(s);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, suite_order(&order, NULL, event));
  for (int i = 0; i < 50; ++i) {
    suite_count(s, i % 2 ? s->queue : other, count, buffer, COUNT, suite_order(&order, event, event));
  }
  CHECK_OK(s->driver->event_wait(s->device, event));
  suite_expect_counts(s, s->queue, buffer, 50);
  s->driver->event_destroy(s->device, event);
  s->driver->queue_destroy(s->device, other);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_event_many(suite_t *s) {
  enum { EVENTS = 1000 };
  suite_open(s, 0);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  static byoc_device_event_t *events[EVENTS];
  suite_order_t order;
  for (int i = 0; i < EVENTS; ++i) events[i] = suite_event(s);
  for (int i = 0; i < EVENTS; ++i) suite_zero(s, s->queue, buffer, SIZE, suite_order(&order, NULL, events[i]));
  byoc_device_order_t all = {.waits = events, .wait_count = 64};
  CHECK_OK(s->driver->barrier(s->device, s->queue, &all));
  for (int i = EVENTS - 1; i >= 0; --i) {
    CHECK_OK(s->driver->event_wait(s->device, events[i]));
    s->driver->event_destroy(s->device, events[i]);
  }
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// An event may be destroyed while the command that it stands for, and one that waits for it, are under way.
static void check_event_destroyed_in_use(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_queue_t *other = suite_queue(s);
  suite_order_t order;
  for (int i = 0; i < 20; ++i) {
    byoc_device_event_t *event = suite_event(s);
    suite_zero(s, s->queue, buffer, SIZE, suite_order(&order, NULL, event));
    suite_count(s, other, count, buffer, COUNT, suite_order(&order, event, NULL));
    s->driver->event_destroy(s->device, event);
    CHECK_OK(s->driver->queue_wait(s->device, other));
  }
  suite_expect_counts(s, s->queue, buffer, 1);
  s->driver->queue_destroy(s->device, other);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// --- threads

typedef struct waiter_t {
  suite_t *s;
  byoc_device_event_t *event;
  int32_t *value; // that the command of the event wrote
  int32_t status, seen;
} waiter_t;

static void *wait_on_thread(void *argument) {
  waiter_t *waiter = argument;
  suite_t *s = waiter->s;
  waiter->status = s->driver->event_wait(s->device, waiter->event);
  waiter->seen = *waiter->value;
  int32_t is_complete = 0;
  if (s->driver->event_query(s->device, waiter->event, &is_complete) != BYOC_OK || !is_complete) waiter->status = -1;
  return NULL;
}

// Several threads wait for one event, while this one puts more commands into the queue.
static void check_wait_on_threads(suite_t *s) {
  enum { THREADS = 4 };
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  int32_t value = -1;
  for (int i = 0; i < 100; ++i) suite_count(s, s->queue, count, buffer, COUNT, NULL);
  suite_download(s, s->queue, buffer, 0, &value, 4, suite_order(&order, NULL, event));
  pthread_t threads[THREADS];
  waiter_t waiters[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    waiters[i] = (waiter_t){s, event, &value, -1, -1};
    CHECK(pthread_create(&threads[i], NULL, wait_on_thread, &waiters[i]) == 0);
  }
  for (int i = 0; i < 100; ++i) suite_count(s, s->queue, count, buffer, COUNT, NULL);
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(waiters[i].status == BYOC_OK);
    CHECK(waiters[i].seen == 100);
  }
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// Different devices are used concurrently.
static void *use_device(void *argument) {
  suite_t *s = argument;
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  for (int i = 1; i <= 50; ++i) {
    int32_t value = 0;
    suite_count(s, s->queue, count, buffer, COUNT, NULL);
    suite_download(s, s->queue, buffer, 0, &value, 4, NULL);
    CHECK_OK(s->driver->queue_wait(s->device, s->queue));
    CHECK(value == i);
  }
  s->driver->release(s->device, buffer);
  return NULL;
}

static void check_devices_on_threads(suite_t *s) {
  enum { THREADS = 3 };
  static suite_t suites[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    suites[i] = *s;
    suites[i].runtime.self = &suites[i];
    suite_open(&suites[i], 0);
  }
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_create(&threads[i], NULL, use_device, &suites[i]) == 0);
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < THREADS; ++i) suite_close(&suites[i]);
}

// --- time stamps

static void times_of(suite_t *s, byoc_device_event_t *event, uint64_t *out_begin, uint64_t *out_end) {
  CHECK_OK(s->driver->event_times(s->device, event, out_begin, out_end));
  CHECK(*out_begin <= *out_end);
}

static void check_times(suite_t *s) {
  suite_open(s, BYOC_DEVICE_TIMES);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_queue_t *other = suite_queue(s);
  byoc_device_event_t *events[4] = {suite_event(s), suite_event(s), suite_event(s), suite_event(s)};
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, suite_order(&order, NULL, events[0]));
  suite_count(s, s->queue, count, buffer, COUNT, suite_order(&order, NULL, events[1]));
  suite_count(s, other, count, buffer, COUNT, suite_order(&order, events[1], events[2]));
  CHECK_OK(s->driver->barrier(s->device, other, suite_order(&order, NULL, events[3])));
  CHECK_OK(s->driver->event_wait(s->device, events[3]));
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) { // each after the one before, on one clock
    uint64_t begin = 0, end = 0;
    times_of(s, events[i], &begin, &end);
    CHECK(begin >= last);
    last = end;
  }
  for (int i = 0; i < 4; ++i) s->driver->event_destroy(s->device, events[i]);
  s->driver->queue_destroy(s->device, other);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_times_not_asked_for(suite_t *s) {
  suite_open(s, 0);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, SIZE, suite_order(&order, NULL, event));
  CHECK_OK(s->driver->event_wait(s->device, event));
  uint64_t begin = 0, end = 0;
  CHECK_STATUS(s->driver->event_times(s->device, event, &begin, &end), BYOC_UNSUPPORTED);
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void put_work(suite_t *s, byoc_device_queue_t *queue, byoc_device_entry_t *work, byoc_device_buffer_t *buffer,
                     int64_t rounds, byoc_device_event_t *event) {
  const byoc_device_argument_t arguments[] = {suite_buffer(buffer, 0), suite_i64(rounds)};
  suite_order_t order;
  suite_launch(s, queue, work, 1, 1, arguments, 2, suite_order(&order, NULL, event));
  CHECK_OK(s->driver->queue_flush(s->device, queue));
}

// How many rounds take 20 ms at least.
static int64_t calibrate(suite_t *s, byoc_device_entry_t *work, byoc_device_buffer_t *buffer,
                         byoc_device_event_t *event) {
  for (int64_t rounds = 1000; rounds < INT64_C(1) << 50; rounds *= 2) {
    put_work(s, s->queue, work, buffer, rounds, event);
    CHECK_OK(s->driver->event_wait(s->device, event));
    uint64_t begin = 0, end = 0;
    times_of(s, event, &begin, &end);
    if (end - begin > 20000000) return rounds;
  }
  suite_fail(__FILE__, __LINE__, "the kernel 'work' takes no longer with more rounds");
}

// Two kernels in two queues, of which each begins before the other one ends.
static void check_queues_at_once(suite_t *s) {
  suite_open(s, BYOC_DEVICE_TIMES);
  if (s->info.queue_count == 1) suite_skip("the device runs one queue at a time");
  byoc_device_entry_t *work = suite_entry(s, s->kernels.work);
  byoc_device_queue_t *queues[2] = {s->queue, suite_queue(s)};
  byoc_device_buffer_t *buffers[2] = {suite_allocate(s, 4), suite_allocate(s, 4)};
  byoc_device_event_t *events[2] = {suite_event(s), suite_event(s)};
  int64_t rounds = calibrate(s, work, buffers[0], events[0]);
  int is_at_once = 0;
  for (int turn = 0; turn < 10 && !is_at_once; ++turn) {
    uint64_t begin[2], end[2];
    for (int i = 0; i < 2; ++i) put_work(s, queues[i], work, buffers[i], rounds, events[i]);
    for (int i = 0; i < 2; ++i) CHECK_OK(s->driver->event_wait(s->device, events[i]));
    for (int i = 0; i < 2; ++i) times_of(s, events[i], &begin[i], &end[i]);
    is_at_once = begin[0] < end[1] && begin[1] < end[0];
    if (turn < 5) rounds *= 2; // a busy machine may start the second one late
  }
  CHECK(is_at_once);
  for (int i = 0; i < 2; ++i) {
    s->driver->event_destroy(s->device, events[i]);
    s->driver->release(s->device, buffers[i]);
  }
  s->driver->queue_destroy(s->device, queues[1]);
  suite_close(s);
}

// A copy to the host while a kernel runs in another queue (unless one queue at a time is all that there is).
static void check_copy_at_once(suite_t *s) {
  enum { LARGE = 16 << 20 };
  suite_open(s, BYOC_DEVICE_TIMES);
  if (s->info.queue_count == 1) suite_skip("the device runs one queue at a time");
  byoc_device_entry_t *work = suite_entry(s, s->kernels.work);
  byoc_device_queue_t *copies = suite_queue(s);
  byoc_device_buffer_t *small = suite_allocate(s, 4), *large = suite_allocate(s, LARGE);
  byoc_device_event_t *events[2] = {suite_event(s), suite_event(s)};
  char *host = calloc(1, LARGE);
  CHECK(host != NULL);
  suite_zero(s, copies, large, LARGE, NULL);
  CHECK_OK(s->driver->queue_wait(s->device, copies));
  int64_t rounds = calibrate(s, work, small, events[0]);
  int is_at_once = 0;
  for (int turn = 0; turn < 10 && !is_at_once; ++turn) {
    suite_order_t order;
    uint64_t begin[2], end[2];
    put_work(s, s->queue, work, small, rounds, events[0]);
    suite_download(s, copies, large, 0, host, LARGE, suite_order(&order, NULL, events[1]));
    CHECK_OK(s->driver->queue_flush(s->device, copies));
    for (int i = 0; i < 2; ++i) CHECK_OK(s->driver->event_wait(s->device, events[i]));
    for (int i = 0; i < 2; ++i) times_of(s, events[i], &begin[i], &end[i]);
    is_at_once = begin[0] < end[1] && begin[1] < end[0];
    if (turn < 5) rounds *= 2; // a busy machine may start the second one late
  }
  CHECK(is_at_once);
  free(host);
  for (int i = 0; i < 2; ++i) s->driver->event_destroy(s->device, events[i]);
  s->driver->queue_destroy(s->device, copies);
  s->driver->release(s->device, small);
  s->driver->release(s->device, large);
  suite_close(s);
}

const suite_check_t suite_event_checks[] = {
    {"event_fresh", check_event_fresh,
     "an event that was never signalled is complete, has no times, and nothing waits for it"},
    {"event_reused", check_event_reused, "an event is signalled and waited for 300 times"},
    {"event_captured", check_event_captured,
     "a command waits for what its events stood for when it was put into its queue"},
    {"event_many", check_event_many,
     "a thousand events stand for a thousand commands, and one barrier waits for 64 of them"},
    {"event_destroyed_in_use", check_event_destroyed_in_use,
     "an event may be destroyed while commands that signal it and wait for it are under way"},
    {"wait_on_threads", check_wait_on_threads,
     "several threads wait for one event while commands are put into the queue"},
    {"devices_on_threads", check_devices_on_threads, "three devices are used at once, each by a thread"},
    {"times", check_times, "times follow each other on one clock, the begin of each before its end"},
    {"times_not_asked_for", check_times_not_asked_for, "without BYOC_DEVICE_TIMES event_times gives BYOC_UNSUPPORTED"},
    {"queues_at_once", check_queues_at_once, "kernels of two queues run at once"},
    {"copy_at_once", check_copy_at_once, "a copy to the host runs while a kernel does"},
    {NULL, NULL, NULL},
};
