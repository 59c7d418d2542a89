// SPDX-License-Identifier: Apache-2.0
// Rules about a driver (byoc/device.h), the file that --driver names: one for each family of checks.
#include <dlfcn.h>
#include <string.h>

#include "core/plugin/abi.h"
#include "tools/plugin_check/check.h"
#include "tools/plugin_check/driver/suite.h"

enum { CHECK_TIMEOUT_MS = 120000 };

// Of the sanitizer that this program is built with, or that is loaded before it (LD_PRELOAD): is memory lost?
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

// ---- the driver ----

static const void *find(check_t *check, void *library, const char *symbol) {
  const void *found = dlsym(library, symbol);
  if (found == NULL) check_stop(check, NULL, "it does not export '%s', which byoc/driver_check.h declares", symbol);
  return found;
}

static void keep_error(void *self, const char *message) {
  suite_t *s = self;
  snprintf(s->error, sizeof(s->error), "%s", message);
}

static void open_file(check_t *check, suite_t *out_suite) {
  check_doing(check, "the loader opens the driver and runs its constructors");
  void *library = dlopen(check->driver, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) check_stop(check, NULL, "%s", dlerror());
  const byoc_driver_t *const *driver = find(check, library, "byoc_driver");
  const byoc_driver_kernels_t *const *kernels = find(check, library, "byoc_driver_kernels");
  byoc_diag_t diag = {0};
  if (*driver == NULL || *kernels == NULL)
    check_stop(check, NULL, "its byoc_driver or its byoc_driver_kernels is NULL");
  check_ok(check,
           byoc_abi_check_table(*driver, byoc_abi_of(byoc_driver_t), BYOC_DRIVER_ABI_VERSION, "its byoc_driver", &diag),
           &diag, "it is refused");
  check_ok(check,
           byoc_abi_check_table(*kernels, byoc_abi_of(byoc_driver_kernels_t), BYOC_DRIVER_ABI_VERSION,
                                "its byoc_driver_kernels", &diag),
           &diag, "it is refused");
  *out_suite = (suite_t){.check = check, .driver = *driver, .ordinal = (int32_t)check->ordinal};
  const size_t size = (*kernels)->struct_size, known = sizeof(out_suite->kernels);
  memcpy(&out_suite->kernels, *kernels, size < known ? size : known);
  out_suite->runtime = (byoc_runtime_t){
      .struct_size = sizeof(out_suite->runtime), .thread_count = 1, .self = out_suite, .set_error = keep_error};
}

// Skips the rule where the device cannot start.
static void try_device(check_t *check, void *self) {
  suite_t *s = self;
  byoc_device_t *device = NULL;
  suite_begin(s);
  if (suite_try_open(s, s->ordinal, 0, &device) != BYOC_OK) {
    check_skip(check, "the device '%s' cannot start: %s", s->driver->name, s->error);
  }
  byoc_device_info_t info = {.struct_size = sizeof(info)};
  suite_check_status(__FILE__, __LINE__, s, "s->driver->describe(device, &info)", s->driver->describe(device, &info),
                     BYOC_OK);
  if (check->rule->stage == CHECK_DRIVER_GATE) { // once is enough
    check_property(check, "driver %s: %s, %s, version %s", s->driver->name, info.name, info.architecture,
                   info.driver_version);
  }
  s->driver->close(device);
}

// ---- the checks of a family ----

static void run_check(check_t *check, void *self) {
  suite_t *s = self;
  suite_begin(s);
  s->running->run(s); // does not return if it skips itself
  check_tried(check, 1);
  if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0) {
    check_fail(check, "%s: memory is lost; with -v the sanitizer's report says where it was allocated",
               s->running->name);
  }
}

// --case names checks as "driver.memory/copy".
static bool is_chosen(const check_t *check, const char *name) {
  char full[128];
  snprintf(full, sizeof(full), "%s/%s", check->rule->id, name);
  for (size_t i = 0; i < check->case_filters.count; ++i) {
    if (strstr(full, check->case_filters.items[i]) != NULL) return true;
  }
  return check->case_filters.count == 0;
}

static void run_family(check_t *check, const suite_check_t *checks) {
  if (check->driver == NULL) check_skip(check, "it is about a driver, and --driver names none");
  suite_t suite;
  size_t count = 0;
  open_file(check, &suite);
  check_doing(check, "opening the device");
  check_apart(check, CHECK_TIMEOUT_MS, try_device, &suite);
  if (check->answer->failure_count > 0) return;
  for (const suite_check_t *row = checks; row->name; ++row) {
    if (!is_chosen(check, row->name)) continue;
    suite.running = row;
    check_doing(check, "running the check '%s'", row->name);
    check_apart(check, CHECK_TIMEOUT_MS, run_check, &suite);
    ++count;
  }
  if (count == 0) check_stop(check, NULL, "no check of this rule holds what --case says");
  check_need_tried(check, "so nothing of this rule was checked");
}

void check_driver_device(check_t *check) {
  run_family(check, suite_device_checks);
}

void check_driver_memory(check_t *check) {
  run_family(check, suite_memory_checks);
}

void check_driver_launch(check_t *check) {
  run_family(check, suite_launch_checks);
}

void check_driver_queue(check_t *check) {
  run_family(check, suite_queue_checks);
}

void check_driver_event(check_t *check) {
  run_family(check, suite_event_checks);
}
