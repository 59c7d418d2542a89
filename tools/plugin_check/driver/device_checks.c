// SPDX-License-Identifier: Apache-2.0
// Checks of a driver: opening, describing, modules.
#include <stdio.h>
#include <string.h>

#include "tools/plugin_check/driver/suite.h"

static void check_describe(suite_t *s) {
  CHECK(s->driver->name[0] && s->driver->flags == 0);
  suite_open(s, 0);
  const byoc_device_info_t *info = &s->info;
  CHECK(info->struct_size == sizeof(*info));
  CHECK(info->device_type > 0);
  CHECK(info->name && info->name[0]);
  CHECK(info->architecture && info->architecture[0]);
  CHECK(info->driver_version && info->driver_version[0]);
  CHECK(info->alignment >= 1 && info->alignment <= BYOC_DEVICE_ALIGNMENT);
  CHECK((info->alignment & (info->alignment - 1)) == 0);
  CHECK(info->is_unified <= 1);
  CHECK(!info->is_unified || s->driver->import);
  CHECK(info->scope_count >= 1 && info->scopes);
  CHECK(strcmp(info->scopes[0].name, "global") == 0);
  CHECK(info->scopes[0].flags & BYOC_SCOPE_SUBDIVIDES);
  for (uint32_t i = 0; i < info->scope_count; ++i) {
    for (uint32_t k = 0; k < i; ++k) CHECK(strcmp(info->scopes[i].name, info->scopes[k].name) != 0);
  }
  CHECK(info->format_count >= 1 && info->formats && info->formats[0]);
  CHECK(info->reserved == 0);
  suite_close(s);
}

// A caller of another version knows fewer bytes.
static void check_describe_older(suite_t *s) {
  suite_open(s, 0);
  byoc_device_info_t info;
  memset(&info, 0x5A, sizeof(info));
  info.struct_size = offsetof(byoc_device_info_t, architecture);
  CHECK_OK(s->driver->describe(s->device, &info));
  CHECK(info.device_type == s->info.device_type);
  CHECK(strcmp(info.name, s->info.name) == 0);
  const unsigned char *bytes = (const unsigned char *)&info;
  for (size_t i = offsetof(byoc_device_info_t, architecture); i < sizeof(info); ++i) CHECK(bytes[i] == 0x5A);
  suite_close(s);
}

static void check_no_such_device(suite_t *s) {
  byoc_device_t *device = (byoc_device_t *)s;
  CHECK_STATUS(suite_try_open(s, 1000000, 0, &device), BYOC_NOT_FOUND);
  CHECK(device == NULL);
  CHECK(s->error[0]);
}

static void check_nothing_is_destroyed(suite_t *s) {
  s->driver->close(NULL);
  suite_open(s, 0);
  s->driver->release(s->device, NULL);
  s->driver->queue_destroy(s->device, NULL);
  s->driver->event_destroy(s->device, NULL);
  s->driver->module_unload(s->device, NULL);
  suite_close(s);
}

static void check_opened_again(suite_t *s) {
  for (int i = 0; i < 8; ++i) {
    suite_open(s, 0);
    suite_close(s);
  }
}

static void check_opened_twice(suite_t *s) {
  suite_t other = *s;
  other.runtime.self = &other;
  suite_open(s, 0);
  suite_open(&other, 0);
  byoc_device_buffer_t *here = suite_allocate(s, 64), *there = suite_allocate(&other, 64);
  char from[64], to[64] = {0};
  memset(from, 7, sizeof(from));
  suite_upload(s, s->queue, from, here, 0, 64, NULL);
  suite_zero(&other, other.queue, there, 64, NULL);
  CHECK_OK(other.driver->queue_wait(other.device, other.queue));
  suite_download(s, s->queue, here, 0, to, 64, NULL);
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
  CHECK(memcmp(from, to, 64) == 0);
  other.driver->release(other.device, there);
  suite_close(&other);
  s->driver->release(s->device, here);
  suite_close(s);
}

// --- modules

static void check_module_formats(suite_t *s) {
  suite_open(s, 0);
  byoc_device_module_t *module = (byoc_device_module_t *)s;
  byoc_device_code_t code = {sizeof(code), 0, "no such format", "x", 1, ""};
  CHECK_STATUS(s->driver->module_load(s->device, &code, &module), BYOC_UNSUPPORTED);
  CHECK(module == NULL && s->error[0]);
  int is_known = 0;
  for (uint32_t i = 0; i < s->info.format_count; ++i) is_known |= strcmp(s->info.formats[i], s->kernels.format) == 0;
  CHECK(is_known);
  suite_close(s);
}

static void check_module_damaged(suite_t *s) {
  suite_open(s, 0);
  static const char damaged[] = "this ( is } no code in any format";
  byoc_device_module_t *module = NULL;
  byoc_device_code_t code = {sizeof(code), 0, s->kernels.format, damaged, sizeof(damaged) - 1, ""};
  CHECK_STATUS(s->driver->module_load(s->device, &code, &module), BYOC_INVALID_DATA);
  CHECK(module == NULL && s->error[0]);
  code = suite_kernel_code(s); // the device stays usable
  CHECK_OK(s->driver->module_load(s->device, &code, &module));
  s->driver->module_unload(s->device, module);
  suite_close(s);
}

static void check_module_entries(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *entry = (byoc_device_entry_t *)s;
  CHECK_STATUS(s->driver->module_entry(s->device, s->module, "no_such_entry", &entry), BYOC_NOT_FOUND);
  CHECK(entry == NULL && s->error[0]);
  const byoc_driver_kernels_t *kernels = &s->kernels;
  const char *const names[] = {kernels->scale, kernels->count, kernels->scale}; // the last one is asked for again
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (names[i]) suite_entry(s, names[i]);
  }
  suite_close(s);
}

// A module that is loaded twice is two.
static void check_modules_twice(suite_t *s) {
  suite_open(s, 0);
  const byoc_device_code_t code = suite_kernel_code(s);
  byoc_device_module_t *first = s->module;
  CHECK_OK(s->driver->module_load(s->device, &code, &s->module));
  CHECK(s->module != NULL && s->module != first);
  s->driver->module_unload(s->device, first);
  if (!s->kernels.count) { // there is nothing to launch
    suite_close(s);
    return;
  }
  byoc_device_entry_t *count = suite_entry(s, s->kernels.count);
  byoc_device_buffer_t *buffer = suite_allocate(s, 400);
  suite_zero(s, s->queue, buffer, 400, NULL);
  suite_count(s, s->queue, count, buffer, 100, NULL);
  int32_t values[100] = {0};
  suite_download(s, s->queue, buffer, 0, values, 400, NULL);
  CHECK_OK(s->driver->queue_wait(s->device, s->queue));
  for (int i = 0; i < 100; ++i) CHECK(values[i] == 1);
  s->driver->release(s->device, buffer);
  suite_close(s);
}

const suite_check_t suite_device_checks[] = {
    {"describe", check_describe, "byoc_device_info_t is whole: scopes with \"global\" first, formats, an alignment"},
    {"describe_older", check_describe_older,
     "a caller that knows a shorter byoc_device_info_t gets no bytes beyond it"},
    {"no_such_device", check_no_such_device, "an ordinal without a device gives BYOC_NOT_FOUND, NULL and a sentence"},
    {"nothing_is_destroyed", check_nothing_is_destroyed, "what closes and destroys accepts NULL"},
    {"opened_again", check_opened_again, "a device is opened and closed eight times"},
    {"opened_twice", check_opened_twice, "two devices of one ordinal work beside each other"},
    {"module_formats", check_module_formats, "code of an unknown format gives BYOC_UNSUPPORTED, NULL and a sentence"},
    {"module_damaged", check_module_damaged,
     "damaged code gives BYOC_INVALID_DATA, NULL and a sentence, and the device works on"},
    {"module_entries", check_module_entries, "an entry that is not there gives BYOC_NOT_FOUND, NULL and a sentence"},
    {"modules_twice", check_modules_twice, "code that is loaded twice makes two modules"},
    {NULL, NULL, NULL},
};
