// SPDX-License-Identifier: Apache-2.0
// The tools of the checks of drivers. Each check runs in a process of its own, so that one that crashes or
// hangs fails alone; a rule is a family of them (rules.c). How a check is added: a function in the file of its family,
// and a row of the list at that file's end.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_DRIVER_SUITE_H_
#define BYOC_TOOLS_PLUGIN_CHECK_DRIVER_SUITE_H_

#include <stddef.h>
#include <stdnoreturn.h>

#include "byoc/driver_check.h"

typedef struct suite_t suite_t;
typedef struct suite_check_t suite_check_t;

// A device with what most checks need.
struct suite_t {
  struct check_t *check;
  const suite_check_t *running; // NULL: the device is tried
  const byoc_driver_t *driver;
  byoc_driver_kernels_t kernels;
  int32_t ordinal;
  byoc_runtime_t runtime;
  char error[512]; // the last one that was set
  byoc_device_t *device;
  byoc_device_info_t info;
  byoc_device_module_t *module;
  byoc_device_queue_t *queue;
};

// Selects the suite; call it before the first check of a process.
void suite_begin(suite_t *s);

// Ends the check's process: as failed, and as one that does not concern this driver.
noreturn void suite_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
noreturn void suite_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(condition)                   ((condition) ? (void)0 : suite_fail(__FILE__, __LINE__, "%s does not hold", #condition))
#define CHECK_STATUS(expression, expected) suite_check_status(__FILE__, __LINE__, s, #expression, expression, expected)
#define CHECK_OK(expression)               CHECK_STATUS(expression, BYOC_OK)
void suite_check_status(const char *file, int line, const suite_t *s, const char *text, int32_t status,
                        int32_t expected);

// Opens the device with a queue and the module of kernels. Closing checks nothing but that it returns.
void suite_open(suite_t *s, uint64_t flags);
void suite_close(suite_t *s);
int32_t suite_try_open(suite_t *s, int32_t ordinal, uint64_t flags, byoc_device_t **out_device);

byoc_device_code_t suite_kernel_code(const suite_t *s);         // the module of kernels
byoc_device_entry_t *suite_entry(suite_t *s, const char *name); // skips the check if the name is NULL
byoc_device_buffer_t *suite_allocate(suite_t *s, uint64_t size_bytes);
byoc_device_queue_t *suite_queue(suite_t *s);
byoc_device_event_t *suite_event(suite_t *s);

// Order of a command: after one event, signalling another; either may be NULL.
typedef struct suite_order_t {
  byoc_device_order_t order;
  byoc_device_event_t *wait;
} suite_order_t;
const byoc_device_order_t *suite_order(suite_order_t *storage, byoc_device_event_t *wait, byoc_device_event_t *signal);

// Commands, which must be taken.
void suite_upload(suite_t *s, byoc_device_queue_t *queue, const void *host, byoc_device_buffer_t *buffer,
                  uint64_t offset_bytes, uint64_t size_bytes, const byoc_device_order_t *order);
void suite_download(suite_t *s, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer, uint64_t offset_bytes,
                    void *host, uint64_t size_bytes, const byoc_device_order_t *order);
void suite_zero(suite_t *s, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer, uint64_t size_bytes,
                const byoc_device_order_t *order);
void suite_launch(suite_t *s, byoc_device_queue_t *queue, byoc_device_entry_t *entry, uint32_t groups, uint32_t items,
                  const byoc_device_argument_t *arguments, uint32_t argument_count, const byoc_device_order_t *order);
void suite_count(suite_t *s, byoc_device_queue_t *queue, byoc_device_entry_t *count, byoc_device_buffer_t *buffer,
                 int64_t n, const byoc_device_order_t *order); // launches "count"
// Waits for the queue: "count" was launched so often on the first SUITE_COUNTS elements of zeros.
enum { SUITE_COUNTS = 256 };
void suite_expect_counts(suite_t *s, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer, int32_t expected);

byoc_device_argument_t suite_buffer(byoc_device_buffer_t *buffer, uint64_t offset_bytes);
byoc_device_argument_t suite_i64(int64_t value);

struct suite_check_t {
  const char *name;
  void (*run)(suite_t *s); // on a suite whose device is not open
  const char *text;        // what must hold
};

extern const suite_check_t suite_device_checks[], suite_memory_checks[], suite_launch_checks[], suite_queue_checks[],
    suite_event_checks[]; // each ends with a name of NULL

#endif // BYOC_TOOLS_PLUGIN_CHECK_DRIVER_SUITE_H_
