// SPDX-License-Identifier: Apache-2.0
// Checks of a driver's launches: grids, arguments, memory of a group.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin_check/driver/suite.h"

static void wait(suite_t *s) {
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
}

// Offsets into one allocation, and a last group that is not full.
static void check_launch(suite_t *s) {
  enum { COUNT = 1000, SIZE = COUNT * 4, PLACE = 16 * BYOC_DEVICE_ALIGNMENT, TOTAL = PLACE + SIZE + 64 };
  suite_open(s, 0);
  byoc_device_entry_t *scale = suite_entry(s, s->kernels.scale);
  byoc_device_buffer_t *buffer = suite_allocate(s, TOTAL);
  static float x[COUNT], y[COUNT + 16];
  for (int i = 0; i < COUNT; ++i) x[i] = (float)(i - 300);
  uint64_t from = s->info.alignment > 4 ? s->info.alignment : 4;
  CHECK(from + SIZE <= PLACE);
  suite_zero(s, s->queue, buffer, TOTAL, NULL);
  suite_upload(s, s->queue, x, buffer, from, SIZE, NULL);
  byoc_device_argument_t arguments[] = {
      suite_buffer(buffer, from),
      suite_buffer(buffer, PLACE),
      {.kind = BYOC_DEVICE_ARGUMENT_F32, .real = -2.5},
      suite_i64(COUNT),
  };
  suite_launch(s, s->queue, scale, (COUNT + 31) / 32, 32, arguments, 4, NULL);
  arguments[2].real = 99; // they were read before the slot returned
  arguments[0].buffer = NULL;
  suite_download(s, s->queue, buffer, PLACE, y, sizeof(y), NULL);
  wait(s);
  for (int i = 0; i < COUNT; ++i) CHECK(y[i] == -2.5f * x[i]);
  for (int i = COUNT; i < COUNT + 16; ++i) CHECK(y[i] == 0);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_launch_nothing(suite_t *s) {
  suite_open(s, 0);
  byoc_device_buffer_t *buffer = suite_allocate(s, 4);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_zero(s, s->queue, buffer, 4, NULL);
  const byoc_device_argument_t arguments[] = {suite_buffer(buffer, 0), suite_i64(1)};
  suite_launch(s, s->queue, suite_entry(s, s->kernels.count), 0, 1, arguments, 2, suite_order(&order, NULL, event));
  CHECK_OK(s->driver->event_wait(s->device, event));
  int32_t value = -1;
  suite_download(s, s->queue, buffer, 0, &value, 4, NULL);
  wait(s);
  CHECK(value == 0);
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_launch_axes(suite_t *s) {
  enum { COUNT = 4 * 3 * 2 * 5 * 2 * 3 };
  suite_open(s, 0);
  byoc_device_entry_t *places = suite_entry(s, s->kernels.places);
  byoc_device_buffer_t *buffer = suite_allocate(s, COUNT * 4);
  const byoc_device_argument_t argument = suite_buffer(buffer, 0);
  const byoc_device_launch_t launch = {sizeof(launch), 1, places, {4, 2, 2}, {3, 5, 3}, &argument};
  static const int32_t never = -1;
  CHECK_OK(s->driver->fill(s->device, s->queue, buffer, 0, COUNT * 4, &never, 4, NULL));
  CHECK_OK(s->driver->launch(s->device, s->queue, &launch, NULL));
  int32_t values[COUNT];
  suite_download(s, s->queue, buffer, 0, values, sizeof(values), NULL);
  wait(s);
  for (int i = 0; i < COUNT; ++i) CHECK(values[i] == i);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_launch_arguments(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *entry = suite_entry(s, s->kernels.arguments);
  byoc_device_buffer_t *buffer = suite_allocate(s, 4 * sizeof(double));
  const byoc_device_argument_t arguments[] = {
      suite_buffer(buffer, 0),
      {.kind = BYOC_DEVICE_ARGUMENT_I32, .integer = INT32_MIN + 5},
      {.kind = BYOC_DEVICE_ARGUMENT_I64, .integer = -(INT64_C(1) << 52) - 3},
      {.kind = BYOC_DEVICE_ARGUMENT_F32, .real = 0.1},
      {.kind = BYOC_DEVICE_ARGUMENT_F64, .real = 0.1},
  };
  suite_launch(s, s->queue, entry, 1, 1, arguments, 5, NULL);
  double values[4] = {0};
  suite_download(s, s->queue, buffer, 0, values, sizeof(values), NULL);
  wait(s);
  CHECK(values[0] == INT32_MIN + 5.0);
  CHECK(values[1] == (double)(-(INT64_C(1) << 52) - 3));
  CHECK(values[2] == (double)0.1f);
  CHECK(values[3] == 0.1);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_launch_local(suite_t *s) {
  enum { GROUPS = 9, ITEMS = 32, COUNT = GROUPS * ITEMS - 5 };
  suite_open(s, 0);
  byoc_device_entry_t *sum = suite_entry(s, s->kernels.sum_groups);
  byoc_device_buffer_t *x = suite_allocate(s, COUNT * 4), *y = suite_allocate(s, GROUPS * 4);
  float values[COUNT], sums[GROUPS], expected[GROUPS] = {0};
  for (int i = 0; i < COUNT; ++i) {
    values[i] = (float)(i % 17);
    expected[i / ITEMS] += values[i];
  }
  suite_upload(s, s->queue, values, x, 0, sizeof(values), NULL);
  const byoc_device_argument_t arguments[] = {
      suite_buffer(x, 0),
      suite_buffer(y, 0),
      {.kind = BYOC_DEVICE_ARGUMENT_LOCAL, .integer = ITEMS * 4},
      suite_i64(COUNT),
  };
  suite_launch(s, s->queue, sum, GROUPS, ITEMS, arguments, 4, NULL);
  suite_download(s, s->queue, y, 0, sums, sizeof(sums), NULL);
  wait(s);
  for (int i = 0; i < GROUPS; ++i) CHECK(sums[i] == expected[i]);
  s->driver->release(s->device, x);
  s->driver->release(s->device, y);
  suite_close(s);
}

// The module may be unloaded while its kernels are under way.
static void check_unload_in_use(suite_t *s) {
  enum { COUNT = 1 << 16, SIZE = COUNT * 4 };
  suite_open(s, 0);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  for (int i = 0; i < 20; ++i) suite_count(s, s->queue, count, buffer, COUNT, NULL);
  s->driver->module_unload(s->device, s->module);
  s->module = NULL;
  int32_t *values = malloc(SIZE);
  CHECK(values != NULL);
  suite_download(s, s->queue, buffer, 0, values, SIZE, NULL);
  wait(s);
  for (int i = 0; i < COUNT; ++i) CHECK(values[i] == 20);
  free(values);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

const suite_check_t suite_launch_checks[] = {
    {"launch", check_launch,
     "arguments are read before launch returns, and their offsets and a last group that is not full are kept"},
    {"launch_nothing", check_launch_nothing, "a launch of no groups runs nothing and signals its event"},
    {"launch_axes", check_launch_axes, "each item of three axes runs once"},
    {"launch_arguments", check_launch_arguments, "arguments of each kind arrive"},
    {"launch_local", check_launch_local, "each group has its own memory of the size of a LOCAL argument"},
    {"unload_in_use", check_unload_in_use, "a module may be unloaded while its kernels are under way"},
    {NULL, NULL, NULL},
};
