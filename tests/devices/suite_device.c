// Checks of a driver: opening, describing, modules.
#include <stdio.h>
#include <string.h>

#include "tests/devices/suite_internal.h"

static void check_table(suite_t *s) {
  const byoc_driver_t *driver = s->driver;
  CHECK(driver->struct_size >= sizeof(byoc_driver_t));
  CHECK(driver->abi_version == BYOC_DRIVER_ABI_VERSION);
  CHECK(driver->name && driver->name[0]);
  CHECK(driver->flags == 0);
  CHECK(driver->open && driver->close && driver->describe);
  CHECK(driver->allocate && driver->release);
  CHECK(driver->queue_create && driver->queue_destroy && driver->queue_flush && driver->queue_wait);
  CHECK(driver->event_create && driver->event_destroy && driver->event_query && driver->event_wait);
  CHECK(driver->event_times && driver->event_error);
  CHECK(driver->fill && driver->copy && driver->launch && driver->barrier);
  CHECK(driver->module_load && driver->module_unload && driver->module_entry);
}

static void check_describe(suite_t *s) {
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
  for (uint32_t i = 0; i < s->info.format_count; ++i) is_known |= strcmp(s->info.formats[i], s->kernels->format) == 0;
  CHECK(is_known);
  suite_close(s);
}

static void check_module_damaged(suite_t *s) {
  suite_open(s, 0);
  static const char damaged[] = "this ( is } no code in any format";
  byoc_device_module_t *module = NULL;
  byoc_device_code_t code = {sizeof(code), 0, s->kernels->format, damaged, sizeof(damaged) - 1, ""};
  CHECK_STATUS(s->driver->module_load(s->device, &code, &module), BYOC_INVALID_DATA);
  CHECK(module == NULL && s->error[0]);
  suite_entry(s, s->kernels->scale); // the device stays usable
  suite_close(s);
}

static void check_module_entries(suite_t *s) {
  suite_open(s, 0);
  byoc_device_entry_t *entry = (byoc_device_entry_t *)s;
  CHECK_STATUS(s->driver->module_entry(s->device, s->module, "no_such_entry", &entry), BYOC_NOT_FOUND);
  CHECK(entry == NULL && s->error[0]);
  suite_entry(s, s->kernels->scale);
  suite_entry(s, s->kernels->count);
  suite_entry(s, s->kernels->scale); // asked for again
  suite_close(s);
}

// A module that is loaded twice is two.
static void check_modules_twice(suite_t *s) {
  suite_open(s, 0);
  const suite_kernels_t *kernels = s->kernels;
  byoc_device_code_t code = {
      sizeof(code), 0, kernels->format, kernels->data, kernels->size_bytes, kernels->options ? kernels->options : "",
  };
  byoc_device_module_t *first = s->module;
  CHECK_OK(s->driver->module_load(s->device, &code, &s->module));
  s->driver->module_unload(s->device, first);
  byoc_device_entry_t *count = suite_entry(s, kernels->count);
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
    {"table", check_table},
    {"describe", check_describe},
    {"describe_older", check_describe_older},
    {"no_such_device", check_no_such_device},
    {"nothing_is_destroyed", check_nothing_is_destroyed},
    {"opened_again", check_opened_again},
    {"opened_twice", check_opened_twice},
    {"module_formats", check_module_formats},
    {"module_damaged", check_module_damaged},
    {"module_entries", check_module_entries},
    {"modules_twice", check_modules_twice},
    {NULL, NULL},
};
