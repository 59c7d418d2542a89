// SPDX-License-Identifier: Apache-2.0
// Checks of a driver's memory: allocation, import, copies, fills, scopes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin_check/driver/suite.h"

static unsigned char byte_of(uint64_t index) {
  return (unsigned char)(index * 37 + index / 251 + 1);
}

static unsigned char *make_bytes(uint64_t size) {
  unsigned char *bytes = malloc(size);
  CHECK(bytes != NULL);
  for (uint64_t i = 0; i < size; ++i) bytes[i] = byte_of(i);
  return bytes;
}

static void wait(suite_t *s) {
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
}

static void check_allocate(suite_t *s) {
  static const uint64_t sizes[] = {1, 3, 64, 4095, 4097, 1 << 20};
  enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
  suite_open(s, 0);
  byoc_device_buffer_t *buffers[COUNT];
  unsigned char *bytes = make_bytes(1 << 20), *back = malloc(1 << 20);
  for (int i = 0; i < COUNT; ++i) buffers[i] = suite_allocate(s, sizes[i]);
  for (int i = 0; i < COUNT; ++i)
    suite_upload(s, s->queue, bytes + (i == COUNT - 1 ? 0 : i), buffers[i], 0, sizes[i], NULL);
  for (int i = 0; i < COUNT; ++i) {
    memset(back, 0, sizes[i]);
    suite_download(s, s->queue, buffers[i], 0, back, sizes[i], NULL);
    wait(s);
    CHECK(memcmp(back, bytes + (i == COUNT - 1 ? 0 : i), sizes[i]) == 0);
  }
  for (int i = 0; i < COUNT; ++i) s->driver->release(s->device, buffers[i]);
  free(back);
  free(bytes);
  suite_close(s);
}

static void check_allocate_many(suite_t *s) {
  enum { COUNT = 200 };
  suite_open(s, 0);
  byoc_device_buffer_t *buffers[COUNT];
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < COUNT; ++i) {
      buffers[i] = suite_allocate(s, 256);
      const int32_t mark = i + turn * COUNT;
      CHECK_OK(s->driver->fill(s->device, s->queue, buffers[i], 0, 256, &mark, 4, NULL));
    }
    for (int i = 0; i < COUNT; ++i) {
      int32_t value = 0;
      suite_download(s, s->queue, buffers[i], 252, &value, 4, NULL);
      wait(s);
      CHECK(value == i + turn * COUNT);
    }
    for (int i = COUNT - 1; i >= 0; --i) s->driver->release(s->device, buffers[i]);
  }
  suite_close(s);
}

// Nothing is held after a refusal, and the device works on.
static void check_no_room(suite_t *s) {
  suite_open(s, 0);
  byoc_device_buffer_t *kept = suite_allocate(s, 4096);
  for (int i = 0; i < 4; ++i) {
    byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = UINT64_C(1) << (60 - i)};
    byoc_device_buffer_t *buffer = kept;
    s->error[0] = 0;
    CHECK_STATUS(s->driver->allocate(s->device, &allocation, &buffer), BYOC_OUT_OF_MEMORY);
    CHECK(buffer == NULL && s->error[0]);
  }
  unsigned char *bytes = make_bytes(4096), back[4096];
  suite_upload(s, s->queue, bytes, kept, 0, 4096, NULL);
  suite_download(s, s->queue, kept, 0, back, 4096, NULL);
  wait(s);
  CHECK(memcmp(bytes, back, 4096) == 0);
  free(bytes);
  s->driver->release(s->device, kept);
  suite_close(s);
}

// Any offset and any size, and the bytes beside are left alone.
static void check_copy(suite_t *s) {
  static const struct {
    uint64_t from, to, size;
  } cases[] = {{0, 0, 1000}, {1, 0, 7}, {0, 3, 13}, {129, 257, 511}, {999, 0, 1}, {500, 500, 0}};
  suite_open(s, 0);
  byoc_device_buffer_t *one = suite_allocate(s, 1000), *two = suite_allocate(s, 1000);
  unsigned char *bytes = make_bytes(1000), back[1000], expected[1000];
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    uint64_t from = cases[i].from, to = cases[i].to, size = cases[i].size;
    // From the host, within the device, and to the host.
    suite_zero(s, s->queue, one, 1000, NULL);
    suite_upload(s, s->queue, bytes + from, one, to, size, NULL);
    memset(expected, 0, sizeof(expected));
    memcpy(expected + to, bytes + from, size);
    suite_download(s, s->queue, one, 0, back, 1000, NULL);
    wait(s);
    CHECK(memcmp(back, expected, 1000) == 0);

    suite_upload(s, s->queue, bytes, one, 0, 1000, NULL);
    suite_zero(s, s->queue, two, 1000, NULL);
    byoc_device_bytes_t source = {.buffer = one, .offset_bytes = from},
                        destination = {.buffer = two, .offset_bytes = to};
    CHECK_OK(s->driver->copy(s->device, s->queue, &source, &destination, size, NULL));
    suite_download(s, s->queue, two, 0, back, 1000, NULL);
    wait(s);
    CHECK(memcmp(back, expected, 1000) == 0);

    memset(back, 0, sizeof(back));
    suite_download(s, s->queue, one, from, back + to, size, NULL);
    wait(s);
    CHECK(memcmp(back, expected, 1000) == 0);
  }
  // Within one buffer, beside each other.
  suite_upload(s, s->queue, bytes, one, 0, 1000, NULL);
  byoc_device_bytes_t source = {.buffer = one}, destination = {.buffer = one, .offset_bytes = 500};
  CHECK_OK(s->driver->copy(s->device, s->queue, &source, &destination, 500, NULL));
  suite_download(s, s->queue, one, 0, back, 1000, NULL);
  wait(s);
  CHECK(memcmp(back, bytes, 500) == 0 && memcmp(back + 500, bytes, 500) == 0);
  free(bytes);
  s->driver->release(s->device, one);
  s->driver->release(s->device, two);
  suite_close(s);
}

static void check_copy_large(suite_t *s) {
  enum { SIZE = 24 << 20 };
  suite_open(s, 0);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  unsigned char *bytes = make_bytes(SIZE), *back = calloc(1, SIZE);
  CHECK(back != NULL);
  suite_upload(s, s->queue, bytes, buffer, 0, SIZE, NULL);
  suite_download(s, s->queue, buffer, 0, back, SIZE, NULL);
  wait(s);
  CHECK(memcmp(bytes, back, SIZE) == 0);
  free(back);
  free(bytes);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

static void check_fill(suite_t *s) {
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  suite_open(s, 0);
  byoc_device_buffer_t *buffer = suite_allocate(s, 96);
  for (uint32_t size = 1; size <= 8; size *= 2) {
    unsigned char zero = 0, back[96], expected[96] = {0};
    CHECK_OK(s->driver->fill(s->device, s->queue, buffer, 0, 96, &zero, 1, NULL));
    unsigned char moving[8];
    memcpy(moving, pattern, 8);
    CHECK_OK(s->driver->fill(s->device, s->queue, buffer, 24, 40, moving, size, NULL));
    memset(moving, 0xEE, 8); // it was read before the slot returned
    CHECK_OK(s->driver->fill(s->device, s->queue, buffer, 0, 0, moving, size, NULL));
    for (uint32_t i = 0; i < 40; ++i) expected[24 + i] = pattern[i % size];
    suite_download(s, s->queue, buffer, 0, back, 96, NULL);
    wait(s);
    CHECK(memcmp(back, expected, 96) == 0);
  }
  s->driver->release(s->device, buffer);
  suite_close(s);
}

// Each scope holds a tensor of odd rows, copied from the host and from the scope "global", and back.
static void check_scopes(suite_t *s) {
  static const int64_t dims[] = {3, 5, 7};
  enum { SIZE = 3 * 5 * 7 * 4 };
  suite_open(s, 0);
  byoc_device_buffer_t *global = suite_allocate(s, SIZE);
  unsigned char *bytes = make_bytes(SIZE);
  for (uint32_t scope = 0; scope < s->info.scope_count; ++scope) {
    byoc_device_allocation_t allocation = {sizeof(allocation), scope, SIZE, dims, 3, 4};
    if (s->info.scopes[scope].flags & BYOC_SCOPE_SUBDIVIDES) {
      allocation.dims = NULL;
      allocation.rank = allocation.element_size_bytes = 0;
    }
    byoc_device_buffer_t *buffer = NULL;
    CHECK_OK(s->driver->allocate(s->device, &allocation, &buffer));
    unsigned char back[SIZE] = {0};
    byoc_device_bytes_t inside = {.buffer = buffer}, outside = {.buffer = global};
    suite_upload(s, s->queue, bytes, buffer, 0, SIZE, NULL);
    suite_zero(s, s->queue, global, SIZE, NULL);
    CHECK_OK(s->driver->copy(s->device, s->queue, &inside, &outside, SIZE, NULL));
    suite_zero(s, s->queue, buffer, SIZE, NULL);
    CHECK_OK(s->driver->copy(s->device, s->queue, &outside, &inside, SIZE, NULL));
    suite_download(s, s->queue, buffer, 0, back, SIZE, NULL);
    wait(s);
    CHECK(memcmp(back, bytes, SIZE) == 0);
    s->driver->release(s->device, buffer);
  }
  free(bytes);
  s->driver->release(s->device, global);
  suite_close(s);
}

static void check_import(suite_t *s) {
  enum { COUNT = 4096 };
  suite_open(s, 0);
  if (!s->driver->import) suite_skip("the driver imports nothing");
  int32_t *host = aligned_alloc(4096, COUNT * sizeof(*host));
  CHECK(host != NULL);
  for (int i = 0; i < COUNT; ++i) host[i] = i;
  byoc_device_buffer_t *buffer = NULL;
  int32_t status = s->driver->import(s->device, host, COUNT * sizeof(*host), &buffer);
  if (status == BYOC_UNSUPPORTED) {
    CHECK(buffer == NULL);
    CHECK(!s->info.is_unified); // a page must be importable there
    free(host);
    suite_close(s);
    suite_skip("the device imports nothing");
  }
  CHECK_OK(status);
  byoc_device_event_t *event = suite_event(s);
  suite_order_t order;
  suite_count(s, s->queue, suite_entry(s, s->kernels.count), buffer, COUNT, suite_order(&order, NULL, event));
  CHECK_OK(s->driver->event_wait(s->device, event));
  for (int i = 0; i < COUNT; ++i) CHECK(host[i] == i + 1);
  s->driver->event_destroy(s->device, event);
  s->driver->release(s->device, buffer);
  free(host);
  suite_close(s);
}

// A buffer may be released while commands that use it are under way.
static void check_release_in_use(suite_t *s) {
  enum { COUNT = 1 << 16, SIZE = COUNT * 4 };
  suite_open(s, 0);
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  int32_t *back = malloc(SIZE);
  CHECK(back != NULL);
  byoc_device_buffer_t *buffer = suite_allocate(s, SIZE);
  suite_zero(s, s->queue, buffer, SIZE, NULL);
  for (int i = 0; i < 20; ++i) suite_count(s, s->queue, count, buffer, COUNT, NULL);
  suite_download(s, s->queue, buffer, 0, back, SIZE, NULL);
  s->driver->release(s->device, buffer);
  wait(s);
  for (int i = 0; i < COUNT; ++i) CHECK(back[i] == 20);
  free(back);
  suite_close(s);
}

const suite_check_t suite_memory_checks[] = {
    {"allocate", check_allocate, "buffers of any size hold what is copied to them"},
    {"allocate_many", check_allocate_many, "two hundred buffers at once hold what each was filled with"},
    {"no_room", check_no_room,
     "an allocation without room gives BYOC_OUT_OF_MEMORY, NULL and a sentence, and the device works on"},
    {"copy", check_copy, "copies go from any offset to any offset, and leave the bytes beside them alone"},
    {"copy_large", check_copy_large, "24 MiB arrive and come back"},
    {"fill", check_fill, "patterns of 1, 2, 4 and 8 bytes are read before fill returns, and fill no more than asked"},
    {"scopes", check_scopes, "each scope holds a tensor, copied from the host and from the scope \"global\", and back"},
    {"import", check_import, "a kernel writes to imported memory of the host"},
    {"release_in_use", check_release_in_use, "a buffer may be released while commands that use it are under way"},
    {NULL, NULL, NULL},
};
