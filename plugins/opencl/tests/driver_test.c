// SPDX-License-Identifier: Apache-2.0
// The OpenCL driver on the OpenCL device of this machine. These checks need kernels in OpenCL C or OpenCL's own
// handles, which byoc-plugin-check does not have.
#define _DEFAULT_SOURCE // setenv
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/driver.h"

extern const byoc_driver_t byoc_driver_opencl;
static const byoc_driver_t *const driver = &byoc_driver_opencl;

enum { SKIPPED = 77, COUNT = 1000 };

static char message[512];

static void set_error(void *self, const char *text) {
  (void)self;
  (void)snprintf(message, sizeof(message), "%s", text);
}

static const byoc_runtime_t runtime = {
    .struct_size = sizeof(byoc_runtime_t), .thread_count = 1, .set_error = set_error};

static const char source[] =
    "kernel void scale(global const float *x, global float *y, int count, long add, float by, double also,\n"
    "                  local float *shared) {\n"
    "  int i = get_global_id(0);\n"
    "  shared[get_local_id(0)] = i < count ? x[i] : 0.0f;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (i < count) y[i] = shared[get_local_id(0)] * by * (float)also + (float)add;\n"
    "}\n"
    "kernel void twice(global float *x) { x[get_global_id(0)] *= 2.0f; }\n";

typedef struct fixture_t {
  byoc_device_t *device;
  byoc_device_info_t info;
  byoc_device_queue_t *queue;
  byoc_device_event_t *event;
  byoc_device_module_t *module;
} fixture_t;

static byoc_device_t *open_device(void) {
  byoc_device_init_t init = {
      .struct_size = sizeof(init), .ordinal = 0, .flags = BYOC_DEVICE_TIMES, .runtime = &runtime};
  byoc_device_t *device = NULL;
  int32_t status = driver->open(&init, &device);
  if (status != BYOC_OK) assert_null(device);
  return device;
}

static byoc_device_module_t *load(byoc_device_t *device, const char *format, const void *data, size_t size,
                                  int32_t *out_status) {
  byoc_device_code_t code = {
      .struct_size = sizeof(code), .format = format, .data = data, .size_bytes = size, .options = "-cl-std=CL1.2"};
  byoc_device_module_t *module = NULL;
  *out_status = driver->module_load(device, &code, &module);
  return module;
}

static int set_up(void **state) {
  static fixture_t fixture;
  int32_t status;
  fixture = (fixture_t){.device = open_device()};
  assert_non_null(fixture.device);
  fixture.info.struct_size = sizeof(fixture.info);
  assert_int_equal(driver->describe(fixture.device, &fixture.info), BYOC_OK);
  assert_int_equal(driver->queue_create(fixture.device, BYOC_QUEUE_OWN, NULL, &fixture.queue), BYOC_OK);
  assert_int_equal(driver->event_create(fixture.device, &fixture.event), BYOC_OK);
  fixture.module = load(fixture.device, "opencl-c", source, sizeof(source) - 1, &status);
  if (status != BYOC_OK) fail_msg("%s", message);
  *state = &fixture;
  return 0;
}

static int tear_down(void **state) {
  fixture_t *fixture = *state;
  driver->module_unload(fixture->device, fixture->module);
  driver->event_destroy(fixture->device, fixture->event);
  driver->queue_destroy(fixture->device, fixture->queue);
  driver->close(fixture->device);
  return 0;
}

static byoc_device_buffer_t *allocate(const fixture_t *fixture, uint64_t size_bytes) {
  byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = size_bytes};
  byoc_device_buffer_t *buffer = NULL;
  assert_int_equal(driver->allocate(fixture->device, &allocation, &buffer), BYOC_OK);
  return buffer;
}

static byoc_device_entry_t *entry_of(const fixture_t *fixture, const char *name) {
  byoc_device_entry_t *entry = NULL;
  assert_int_equal(driver->module_entry(fixture->device, fixture->module, name, &entry), BYOC_OK);
  return entry;
}

static void copy_in(const fixture_t *fixture, byoc_device_buffer_t *buffer, uint64_t offset, void *host,
                    uint64_t size) {
  byoc_device_bytes_t from = {.host = host}, to = {.buffer = buffer, .offset_bytes = offset};
  assert_int_equal(driver->copy(fixture->device, fixture->queue, &from, &to, size, NULL), BYOC_OK);
}

static void copy_out(const fixture_t *fixture, byoc_device_buffer_t *buffer, uint64_t offset, void *host,
                     uint64_t size) {
  byoc_device_bytes_t from = {.buffer = buffer, .offset_bytes = offset}, to = {.host = host};
  byoc_device_order_t order = {.signal = fixture->event};
  assert_int_equal(driver->copy(fixture->device, fixture->queue, &from, &to, size, &order), BYOC_OK);
  assert_int_equal(driver->event_wait(fixture->device, fixture->event), BYOC_OK);
}

static int32_t launch_twice(const fixture_t *fixture, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                            const byoc_device_order_t *order) {
  byoc_device_argument_t argument = {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = buffer};
  byoc_device_launch_t launch = {.struct_size = sizeof(launch),
                                 .argument_count = 1,
                                 .entry = entry_of(fixture, "twice"),
                                 .grid = {COUNT / 10, 1, 1},
                                 .block = {10, 1, 1},
                                 .arguments = &argument};
  return driver->launch(fixture->device, queue, &launch, order);
}

static void every_kind_of_argument(void **state) {
  const fixture_t *fixture = *state;
  float host[COUNT], result[COUNT];
  uint64_t offset = 3 * fixture->info.alignment;
  byoc_device_buffer_t *x = allocate(fixture, sizeof(host)), *y = allocate(fixture, sizeof(host) + offset);
  for (int i = 0; i < COUNT; ++i) host[i] = (float)i;
  copy_in(fixture, x, 0, host, sizeof(host));
  byoc_device_argument_t arguments[] = {
      {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = x},
      {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = y, .offset_bytes = offset},
      {.kind = BYOC_DEVICE_ARGUMENT_I32, .integer = COUNT},
      {.kind = BYOC_DEVICE_ARGUMENT_I64, .integer = 5},
      {.kind = BYOC_DEVICE_ARGUMENT_F32, .real = 0.5},
      {.kind = BYOC_DEVICE_ARGUMENT_F64, .real = 4.0},
      {.kind = BYOC_DEVICE_ARGUMENT_LOCAL, .integer = 64 * sizeof(float)},
  };
  byoc_device_launch_t launch = {.struct_size = sizeof(launch),
                                 .argument_count = 7,
                                 .entry = entry_of(fixture, "scale"),
                                 .grid = {(COUNT + 63) / 64, 1, 1},
                                 .block = {64, 1, 1},
                                 .arguments = arguments};
  for (int run = 0; run < 3; ++run) { // the parts of y are kept
    assert_int_equal(driver->launch(fixture->device, fixture->queue, &launch, NULL), BYOC_OK);
    copy_out(fixture, y, offset, result, sizeof(result));
    for (int i = 0; i < COUNT; ++i) assert_true(result[i] == (float)i * 2.0f + 5.0f);
  }
  assert_int_equal(y->part_count, 1);

  arguments[1].offset_bytes = offset + 4;
  assert_int_equal(driver->launch(fixture->device, fixture->queue, &launch, NULL), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "multiple of"));
  launch.argument_count = 6;
  assert_int_equal(driver->launch(fixture->device, fixture->queue, &launch, NULL), BYOC_INVALID_ARGUMENT);
  assert_string_equal(message, "kernel scale has 7 arguments, and 6 are given");
  driver->release(fixture->device, x);
  driver->release(fixture->device, y);
}

static void code_that_cannot_be_loaded(void **state) {
  const fixture_t *fixture = *state;
  byoc_device_entry_t *entry = NULL;
  int32_t status;
  assert_null(load(fixture->device, "opencl-c", "kernel void f() { none(); }", 27, &status));
  assert_int_equal(status, BYOC_INVALID_DATA);
  assert_non_null(strstr(message, "OpenCL cannot compile the kernels"));
  assert_null(load(fixture->device, "opencl-binary", "not a binary", 12, &status));
  assert_int_equal(status, BYOC_UNSUPPORTED);
  assert_null(load(fixture->device, "cubin", "", 0, &status));
  assert_int_equal(status, BYOC_UNSUPPORTED);
  assert_int_equal(driver->module_entry(fixture->device, fixture->module, "thrice", &entry), BYOC_NOT_FOUND);
  assert_null(entry);
}

static void memory_of_the_host(void **state) {
  const fixture_t *fixture = *state;
  float *host = aligned_alloc(64, (COUNT * sizeof(float) + 63) / 64 * 64);
  byoc_device_buffer_t *buffer = NULL;
  assert_non_null(host);
  for (int i = 0; i < COUNT; ++i) host[i] = (float)i;
  int32_t status = driver->import(fixture->device, host, COUNT * sizeof(float), &buffer);
  if (!fixture->info.is_unified) {
    assert_int_equal(status, BYOC_UNSUPPORTED);
    assert_null(buffer);
    free(host);
    return;
  }
  assert_int_equal(status, BYOC_OK);
  byoc_device_order_t order = {.signal = fixture->event};
  assert_int_equal(launch_twice(fixture, fixture->queue, buffer, &order), BYOC_OK);
  assert_int_equal(driver->event_wait(fixture->device, fixture->event), BYOC_OK);
  for (int i = 0; i < COUNT; ++i) assert_true(host[i] == (float)i * 2.0f);
  driver->release(fixture->device, buffer);
  assert_int_equal(driver->import(fixture->device, host + 1, 4, &buffer), BYOC_UNSUPPORTED);
  free(host);
}

static void queues_of_the_caller(void **state) {
  const fixture_t *fixture = *state;
  byoc_device_t *device = fixture->device;
  byoc_device_queue_t *queue = NULL;
  float host[COUNT] = {1.0f};
  byoc_device_buffer_t *buffer = allocate(fixture, sizeof(host));
  cl_int code = CL_SUCCESS;
  cl_command_queue mine = device->cl.clCreateCommandQueue(device->context, device->id, 0, &code);
  cl_command_queue other = device->cl.clCreateCommandQueue(device->context, device->id, 0, &code);
  cl_context context = device->cl.clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
  cl_command_queue foreign = device->cl.clCreateCommandQueue(context, device->id, 0, &code);
  cl_command_queue unordered =
      device->cl.clCreateCommandQueue(device->context, device->id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);

  assert_int_equal(driver->queue_create(device, BYOC_QUEUE_DEFAULT, NULL, &queue), BYOC_UNSUPPORTED);
  assert_int_equal(driver->queue_create(device, BYOC_QUEUE_NATIVE, NULL, &queue), BYOC_INVALID_ARGUMENT);
  assert_int_equal(driver->queue_create(device, BYOC_QUEUE_NATIVE, foreign, &queue), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "another OpenCL context"));
  if (unordered != NULL) {
    assert_int_equal(driver->queue_create(device, BYOC_QUEUE_NATIVE, unordered, &queue), BYOC_INVALID_ARGUMENT);
    assert_non_null(strstr(message, "out of order"));
  }
  assert_int_equal(driver->queue_create(device, BYOC_QUEUE_NATIVE, mine, &queue), BYOC_OK);
  copy_in(fixture, buffer, 0, host, sizeof(host));
  assert_int_equal(driver->queue_wait(device, fixture->queue), BYOC_OK);
  assert_int_equal(launch_twice(fixture, queue, buffer, NULL), BYOC_OK);
  assert_int_equal(driver->queue_rebind(device, queue, other), BYOC_OK);
  assert_int_equal(launch_twice(fixture, queue, buffer, NULL), BYOC_OK); // after the one in `mine`
  assert_int_equal(driver->queue_wait(device, queue), BYOC_OK);
  copy_out(fixture, buffer, 0, host, sizeof(host));
  assert_true(host[0] == 4.0f);
  driver->queue_destroy(device, queue);
  // The caller's queues are still there.
  assert_int_equal(device->cl.clFinish(mine), CL_SUCCESS);
  assert_int_equal(device->cl.clFinish(other), CL_SUCCESS);
  driver->release(device, buffer);
  (void)device->cl.clReleaseCommandQueue(mine);
  (void)device->cl.clReleaseCommandQueue(other);
  (void)device->cl.clReleaseCommandQueue(foreign);
  if (unordered != NULL) (void)device->cl.clReleaseCommandQueue(unordered);
  (void)device->cl.clReleaseContext(context);
}

static void queues_are_ordered_by_events(void **state) {
  const fixture_t *fixture = *state;
  byoc_device_queue_t *second = NULL;
  byoc_device_event_t *event = NULL;
  float host[COUNT];
  for (int i = 0; i < COUNT; ++i) host[i] = 1.0f;
  byoc_device_buffer_t *buffer = allocate(fixture, sizeof(host));
  assert_int_equal(driver->queue_create(fixture->device, BYOC_QUEUE_OWN, NULL, &second), BYOC_OK);
  assert_int_equal(driver->event_create(fixture->device, &event), BYOC_OK);
  copy_in(fixture, buffer, 0, host, sizeof(host));
  byoc_device_order_t there = {.signal = event};
  byoc_device_order_t here = {.waits = &event, .wait_count = 1, .signal = event};
  assert_int_equal(launch_twice(fixture, fixture->queue, buffer, &there), BYOC_OK);
  for (int i = 0; i < 8; ++i) // the one event, to and fro
    assert_int_equal(launch_twice(fixture, i % 2 == 0 ? second : fixture->queue, buffer, &here), BYOC_OK);
  byoc_device_order_t last = {.waits = &event, .wait_count = 1};
  assert_int_equal(driver->barrier(fixture->device, fixture->queue, &last), BYOC_OK);
  copy_out(fixture, buffer, 0, host, sizeof(host));
  for (int i = 0; i < COUNT; ++i) assert_true(host[i] == 512.0f);
  uint64_t begin = 0, end = 0;
  assert_int_equal(driver->event_times(fixture->device, event, &begin, &end), BYOC_OK);
  assert_true(begin > 0 && begin <= end);
  assert_string_equal(driver->event_error(fixture->device, event), "");
  driver->event_destroy(fixture->device, event);
  driver->queue_destroy(fixture->device, second);
  driver->release(fixture->device, buffer);
}

static void more_than_there_is(void **state) {
  const fixture_t *fixture = *state;
  byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = (uint64_t)1 << 50};
  byoc_device_buffer_t *buffer = NULL;
  assert_int_equal(driver->allocate(fixture->device, &allocation, &buffer), BYOC_OUT_OF_MEMORY);
  assert_null(buffer);
  byoc_device_init_t init = {.struct_size = sizeof(init), .ordinal = 1000, .runtime = &runtime};
  byoc_device_t *device = NULL;
  assert_int_equal(driver->open(&init, &device), BYOC_NOT_FOUND);
  assert_non_null(strstr(message, "OpenCL has no device 1000"));
}

// In a child, because the loader reads its variable once.
static void no_platform(void **state) {
  (void)state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    (void)setenv("OPENCL_VENDOR_PATH", "/nonexistent", 1);
    byoc_device_t *device = open_device();
    _exit(device == NULL && strstr(message, "OpenCL has no platform; install") != NULL ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  const struct CMUnitTest before[] = {cmocka_unit_test(no_platform)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_kind_of_argument, set_up, tear_down),
      cmocka_unit_test_setup_teardown(code_that_cannot_be_loaded, set_up, tear_down),
      cmocka_unit_test_setup_teardown(memory_of_the_host, set_up, tear_down),
      cmocka_unit_test_setup_teardown(queues_of_the_caller, set_up, tear_down),
      cmocka_unit_test_setup_teardown(queues_are_ordered_by_events, set_up, tear_down),
      cmocka_unit_test_setup_teardown(more_than_there_is, set_up, tear_down),
  };
  byoc_opencl_api_t api;
  if (byoc_opencl_library_open(&runtime, &api) != BYOC_OK) {
    printf("skipped: %s\n", message);
    return SKIPPED;
  }
  int failed = cmocka_run_group_tests_name("without a platform", before, NULL, NULL);
  byoc_device_t *device = open_device();
  if (device == NULL) {
    printf("skipped: %s\n", message);
    return failed != 0 ? failed : SKIPPED;
  }
  driver->close(device);
  return failed + cmocka_run_group_tests_name("on a device", tests, NULL, NULL);
}
