// SPDX-License-Identifier: Apache-2.0
// A caller's own command queues under an artifact on OpenCL: asked for at each run, used, and given back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/loader/loader.h"
#include "plugins/opencl/driver/driver.h"
#include "tests/support/command.h"

enum { SKIPPED = 77, PIXELS = 784, CLASSES = 10 };

static byoc_opencl_api_t cl;
static cl_device_id device;
static char message[512];

static void set_error(void *self, const char *text) {
  (void)self;
  (void)snprintf(message, sizeof(message), "%s", text);
}

typedef struct caller_t {
  cl_command_queue queue; // what the next run gets
  int asked;
} caller_t;

static void *current(void *self) {
  caller_t *caller = self;
  ++caller->asked;
  return caller->queue;
}

static cl_context make_context(void) {
  cl_int code = CL_SUCCESS;
  cl_context context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  assert_int_equal(code, CL_SUCCESS);
  return context;
}

static cl_command_queue make_queue(cl_context context) {
  cl_int code = CL_SUCCESS;
  cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, &code);
  assert_int_equal(code, CL_SUCCESS);
  return queue;
}

static cl_uint references(cl_command_queue queue) {
  cl_uint count = 0;
  assert_int_equal(cl.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
  return count;
}

static float x[PIXELS], y[CLASSES], expected[CLASSES];
static const void *const inputs[] = {x};
static void *const outputs[] = {y};

static void run(const byoc_artifact_t *table, byoc_context_t *context) {
  memset(y, 0, sizeof(y));
  if (table->run(context, inputs, outputs) != BYOC_OK) fail_msg("%s", table->last_error(context));
}

static void test_h10_a_run_uses_the_queue_of_the_caller(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t artifact = {0};
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx");
  byoc_test_shell(0, "byoc build mlp.onnx -o mlp.so --target 'opencl; c' --plan greedy");
  byoc_test_ok(byoc_artifact_load("./mlp.so", &diag, &artifact), &diag);
  const byoc_artifact_t *table = artifact.table;
  for (int i = 0; i < PIXELS; ++i) x[i] = (float)(i % 17) / 17.0f;
  byoc_context_options_t options = {.struct_size = sizeof(options)};
  byoc_context_t *context = NULL;
  if (table->create(&options, &context) != BYOC_OK) fail_msg("%s", table->last_error(NULL));
  run(table, context);
  memcpy(expected, y, sizeof(y));
  table->destroy(context);

  cl_context mine = make_context(), other = make_context();
  cl_command_queue first = make_queue(mine), second = make_queue(mine), foreign = make_queue(other);
  caller_t caller = {.queue = first};
  byoc_caller_queue_t queue = {.driver = "opencl", .self = &caller, .current = current};
  options.queues = &queue;
  options.queue_count = 1;
  if (table->create(&options, &context) != BYOC_OK) fail_msg("%s", table->last_error(NULL));
  int asked = caller.asked;
  run(table, context);
  assert_memory_equal(y, expected, sizeof(y));
  assert_int_equal(caller.asked, asked + 1);
  assert_true(references(first) > 1); // the driver and its events hold it
  assert_int_equal(references(second), 1);

  caller.queue = second;
  run(table, context);
  assert_memory_equal(y, expected, sizeof(y));
  assert_true(references(second) > 1);

  caller.queue = foreign; // refused, and the run after it is right
  assert_int_not_equal(table->run(context, inputs, outputs), BYOC_OK);
  assert_non_null(strstr(table->last_error(context), "the caller's queue belongs to another OpenCL context"));
  caller.queue = first;
  run(table, context);
  assert_memory_equal(y, expected, sizeof(y));

  table->destroy(context);
  assert_int_equal(references(first), 1);
  assert_int_equal(references(second), 1);
  assert_int_equal(references(foreign), 1);
  byoc_artifact_unload(&artifact);
  (void)cl.clReleaseCommandQueue(first);
  (void)cl.clReleaseCommandQueue(second);
  (void)cl.clReleaseCommandQueue(foreign);
  (void)cl.clReleaseContext(mine);
  (void)cl.clReleaseContext(other);
}

int main(void) {
  static const byoc_runtime_t runtime = {
      .struct_size = sizeof(byoc_runtime_t), .thread_count = 1, .set_error = set_error};
  const byoc_device_init_t init = {.struct_size = sizeof(init), .runtime = &runtime};
  byoc_device_t *opened = NULL;
  if (byoc_opencl_open(&init, &opened) != BYOC_OK) {
    printf("skipped: %s\n", message);
    return SKIPPED;
  }
  cl = opened->cl;
  device = opened->id;
  byoc_opencl_close(opened);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_h10_a_run_uses_the_queue_of_the_caller)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
