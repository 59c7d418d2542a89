// The suite for drivers: runs each check in a process of its own, and what the checks share.
#include "tests/devices/suite.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/devices/suite_internal.h"

enum { EXIT_FAILED = 1, EXIT_SKIPPED = 77, CHECK_SECONDS = 120 };

// --- what checks say

void suite_fail(const char *file, int line, const char *format, ...) {
  va_list list;
  va_start(list, format);
  printf("  %s:%d: ", file, line);
  vprintf(format, list);
  printf("\n");
  va_end(list);
  fflush(stdout);
  _exit(EXIT_FAILED);
}

void suite_skip(const char *format, ...) {
  va_list list;
  va_start(list, format);
  printf("  skipped: ");
  vprintf(format, list);
  printf("\n");
  va_end(list);
  fflush(stdout);
  _exit(EXIT_SKIPPED);
}

void suite_check_status(const char *file, int line, const suite_t *s, const char *text, int32_t status,
                        int32_t expected) {
  if (status == expected) return;
  suite_fail(file, line, "%s gives '%s', not '%s'%s%s", text, byoc_status_name(status), byoc_status_name(expected),
             s->error[0] ? ": " : "", s->error);
}

// --- the device

static void keep_error(void *self, const char *message) {
  suite_t *s = self;
  snprintf(s->error, sizeof(s->error), "%s", message);
}

int32_t suite_try_open(suite_t *s, int32_t ordinal, uint64_t flags, byoc_device_t **out_device) {
  s->error[0] = 0;
  byoc_device_init_t init = {sizeof(init), ordinal, flags, &s->runtime};
  return s->driver->open(&init, out_device);
}

void suite_open(suite_t *s, uint64_t flags) {
  CHECK_OK(suite_try_open(s, s->ordinal, flags, &s->device));
  s->info = (byoc_device_info_t){.struct_size = sizeof(s->info)};
  CHECK_OK(s->driver->describe(s->device, &s->info));
  const suite_kernels_t *kernels = s->kernels;
  byoc_device_code_t code = {
      sizeof(code), 0, kernels->format, kernels->data, kernels->size_bytes, kernels->options ? kernels->options : "",
  };
  CHECK_OK(s->driver->module_load(s->device, &code, &s->module));
  s->queue = suite_queue(s);
}

void suite_close(suite_t *s) {
  s->driver->queue_destroy(s->device, s->queue);
  s->driver->module_unload(s->device, s->module);
  s->driver->close(s->device);
}

byoc_device_entry_t *suite_entry(suite_t *s, const char *name) {
  if (!name) suite_skip("the driver's kernels for the suite do not have this one");
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

byoc_device_argument_t suite_buffer(byoc_device_buffer_t *buffer, uint64_t offset_bytes) {
  return (byoc_device_argument_t){.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = buffer, .offset_bytes = offset_bytes};
}

byoc_device_argument_t suite_i64(int64_t value) {
  return (byoc_device_argument_t){.kind = BYOC_DEVICE_ARGUMENT_I64, .integer = value};
}

// --- the program

static const suite_check_t *const families[] = {suite_device_checks, suite_memory_checks, suite_launch_checks,
                                                suite_queue_checks, suite_event_checks};
enum { FAMILY_COUNT = sizeof(families) / sizeof(families[0]) };

// In a process of its own; its exit status, or 128 and the signal that ended it.
static int run_alone(suite_t *s, void (*run)(suite_t *s)) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return EXIT_FAILED;
  if (child == 0) {
    alarm(CHECK_SECONDS);
    run(s);
    fflush(NULL);
    exit(0); // not _exit: leaks are looked for at exit
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return EXIT_FAILED;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void try_device(suite_t *s) {
  byoc_device_t *device = NULL;
  if (suite_try_open(s, s->ordinal, 0, &device) != BYOC_OK)
    suite_skip("the device '%s' cannot start: %s", s->driver->name, s->error);
  byoc_device_info_t info = {.struct_size = sizeof(info)};
  CHECK_OK(s->driver->describe(device, &info));
  printf("driver %s: %s, %s, version %s\n", s->driver->name, info.name, info.architecture, info.driver_version);
  s->driver->close(device);
}

static int is_chosen(const char *name, char **names, int count) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(names[i], name) == 0) return 1;
  }
  return count == 0;
}

int suite_run(const byoc_driver_t *driver, const suite_kernels_t *kernels, int argc, char **argv) {
  suite_t suite = {.driver = driver, .kernels = kernels};
  suite.runtime = (byoc_runtime_t){
      .struct_size = sizeof(suite.runtime), .thread_count = 1, .self = &suite, .set_error = keep_error};
  int first = 1, lists = 0;
  for (; first < argc && argv[first][0] == '-'; ++first) {
    if (strcmp(argv[first], "--list") == 0) {
      lists = 1;
    } else if (strcmp(argv[first], "--ordinal") == 0 && first + 1 < argc) {
      suite.ordinal = atoi(argv[++first]);
    } else {
      fprintf(stderr, "%s: the arguments are [--list] [--ordinal N] [CHECK...]\n", argv[0]);
      return 2;
    }
  }
  int started = lists ? 0 : run_alone(&suite, try_device);
  if (started) return started == EXIT_SKIPPED ? EXIT_SKIPPED : EXIT_FAILED;

  int passed = 0, skipped = 0, failed = 0;
  for (size_t f = 0; f < FAMILY_COUNT; ++f) {
    for (const suite_check_t *check = families[f]; check->name; ++check) {
      if (!is_chosen(check->name, argv + first, argc - first)) continue;
      if (lists) {
        printf("%s\n", check->name);
        continue;
      }
      int status = run_alone(&suite, check->run);
      passed += status == 0;
      skipped += status == EXIT_SKIPPED;
      failed += status != 0 && status != EXIT_SKIPPED;
      printf("%s %s", status == 0 ? "passed" : status == EXIT_SKIPPED ? "skipped" : "FAILED", check->name);
      if (status == 128 + SIGALRM)
        printf(": it did not end in %d s", CHECK_SECONDS);
      else if (status > 128)
        printf(": it was ended by signal %d, %s", status - 128, strsignal(status - 128));
      printf("\n");
    }
  }
  if (!lists) printf("%d passed, %d skipped, %d failed\n", passed, skipped, failed);
  if (!lists && passed + skipped + failed == 0) {
    printf("there is no check of this name; --list names them\n");
    return EXIT_FAILED;
  }
  return failed ? EXIT_FAILED : 0;
}
