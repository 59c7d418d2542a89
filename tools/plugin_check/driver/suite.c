// SPDX-License-Identifier: Apache-2.0
// Functions that the checks of drivers share: failures, the device, commands.
#include "tools/plugin_check/driver/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/plugin_check/check.h"

static suite_t *running; // the suite of the check of this process

void suite_begin(suite_t *s) {
  running = s;
}

// --- what checks say

void suite_fail(const char *file, int line, const char *format, ...) {
  char text[2048];
  const char *name = strrchr(file, '/');
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  name = name ? name + 1 : file;
  const suite_check_t *row = running->running;
  if (row) check_stop(running->check, NULL, "%s (%s): %s (%s:%d)", row->name, row->text, text, name, line);
  check_stop(running->check, NULL, "%s (%s:%d)", text, name, line);
}

void suite_skip(const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  check_property(running->check, "%s is skipped: %s", running->running->name, text);
  check_end(running->check);
}

void suite_check_status(const char *file, int line, const suite_t *s, const char *text, int32_t status,
                        int32_t expected) {
  if (status == expected) return;
  suite_fail(file, line, "%s gives '%s', not '%s'%s%s", text, byoc_status_name(status), byoc_status_name(expected),
             s->error[0] ? ": " : "", s->error);
}

// --- the device

int32_t suite_try_open(suite_t *s, int32_t ordinal, uint64_t flags, byoc_device_t **out_device) {
  s->error[0] = 0;
  byoc_device_init_t init = {sizeof(init), ordinal, flags, &s->runtime};
  return s->driver->open(&init, out_device);
}

byoc_device_code_t suite_kernel_code(const suite_t *s) {
  const byoc_driver_kernels_t *kernels = &s->kernels;
  return (byoc_device_code_t){
      sizeof(byoc_device_code_t),
      0,
      kernels->format,
      kernels->data,
      kernels->size_bytes,
      kernels->options ? kernels->options : "",
  };
}

void suite_open(suite_t *s, uint64_t flags) {
  CHECK_OK(suite_try_open(s, s->ordinal, flags, &s->device));
  s->info = (byoc_device_info_t){.struct_size = sizeof(s->info)};
  CHECK_OK(s->driver->describe(s->device, &s->info));
  const byoc_device_code_t code = suite_kernel_code(s);
  CHECK_OK(s->driver->module_load(s->device, &code, &s->module));
  s->queue = suite_queue(s);
}

void suite_close(suite_t *s) {
  s->driver->queue_destroy(s->device, s->queue);
  s->driver->module_unload(s->device, s->module);
  s->driver->close(s->device);
}

byoc_device_entry_t *suite_entry(suite_t *s, const char *name) {
  if (!name) suite_skip("byoc_driver_kernels has no kernel for it");
  byoc_device_entry_t *entry = NULL;
  CHECK_OK(s->driver->module_entry(s->device, s->module, name, &entry));
  CHECK(entry != NULL);
  return entry;
}

byoc_device_buffer_t *suite_allocate(suite_t *s, uint64_t size_bytes) {
  byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = size_bytes};
  byoc_device_buffer_t *buffer = NULL;
  CHECK_OK(s->driver->allocate(s->device, &allocation, &buffer));
  CHECK(buffer != NULL);
  return buffer;
}

byoc_device_queue_t *suite_queue(suite_t *s) {
  byoc_device_queue_t *queue = NULL;
  CHECK_OK(s->driver->queue_create(s->device, BYOC_QUEUE_OWN, NULL, &queue));
  CHECK(queue != NULL);
  return queue;
}

byoc_device_event_t *suite_event(suite_t *s) {
  byoc_device_event_t *event = NULL;
  CHECK_OK(s->driver->event_create(s->device, &event));
  CHECK(event != NULL);
  return event;
}

const byoc_device_order_t *suite_order(suite_order_t *storage, byoc_device_event_t *wait, byoc_device_event_t *signal) {
  storage->wait = wait;
  storage->order = (byoc_device_order_t){.waits = &storage->wait, .wait_count = wait ? 1 : 0, .signal = signal};
  return &storage->order;
}

// --- commands

void suite_upload(suite_t *s, byoc_device_queue_t *queue, const void *host, byoc_device_buffer_t *buffer,
                  uint64_t offset_bytes, uint64_t size_bytes, const byoc_device_order_t *order) {
  byoc_device_bytes_t from = {.host = (void *)(uintptr_t)host};
  byoc_device_bytes_t to = {.buffer = buffer, .offset_bytes = offset_bytes};
  CHECK_OK(s->driver->copy(s->device, queue, &from, &to, size_bytes, order));
}

void suite_download(suite_t *s, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer, uint64_t offset_bytes,
                    void *host, uint64_t size_bytes, const byoc_device_order_t *order) {
  byoc_device_bytes_t from = {.buffer = buffer, .offset_bytes = offset_bytes}, to = {.host = host};
  CHECK_OK(s->driver->copy(s->device, queue, &from, &to, size_bytes, order));
}

void suite_zero(suite_t *s, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer, uint64_t size_bytes,
                const byoc_device_order_t *order) {
  static const char zero = 0;
  CHECK_OK(s->driver->fill(s->device, queue, buffer, 0, size_bytes, &zero, 1, order));
}

void suite_launch(suite_t *s, byoc_device_queue_t *queue, byoc_device_entry_t *entry, uint32_t groups, uint32_t items,
                  const byoc_device_argument_t *arguments, uint32_t argument_count, const byoc_device_order_t *order) {
  byoc_device_launch_t launch = {sizeof(launch), argument_count, entry, {groups, 1, 1}, {items, 1, 1}, arguments};
  CHECK_OK(s->driver->launch(s->device, queue, &launch, order));
}

void suite_count(suite_t *s, byoc_device_queue_t *queue, byoc_device_entry_t *count, byoc_device_buffer_t *buffer,
                 int64_t n, const byoc_device_order_t *order) {
  const byoc_device_argument_t arguments[] = {suite_buffer(buffer, 0), suite_i64(n)};
  suite_launch(s, queue, count, (uint32_t)((n + 63) / 64), 64, arguments, 2, order);
}

void suite_expect_counts(suite_t *s, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer, int32_t expected) {
  int32_t values[SUITE_COUNTS] = {0};
  suite_download(s, queue, buffer, 0, values, sizeof(values), NULL);
  CHECK_OK(s->driver->queue_wait(s->device, queue));
  for (int i = 0; i < SUITE_COUNTS; ++i) CHECK(values[i] == expected);
}

byoc_device_argument_t suite_buffer(byoc_device_buffer_t *buffer, uint64_t offset_bytes) {
  return (byoc_device_argument_t){.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = buffer, .offset_bytes = offset_bytes};
}

byoc_device_argument_t suite_i64(int64_t value) {
  return (byoc_device_argument_t){.kind = BYOC_DEVICE_ARGUMENT_I64, .integer = value};
}
