// The suite's kernels for the driver `sim`, which it has itself.
#include <semaphore.h>
#include <stddef.h>

#include "tests/devices/sim.h"
#include "tests/devices/suite.h"

static void *native_create(byoc_device_t *device) {
  (void)device;
  return sim_native_queue_create();
}

static void post(void *argument) {
  sem_post(argument);
}

static void native_wait(void *native) {
  const sim_native_queue_t *queue = native;
  sem_t ended;
  sem_init(&ended, 0, 0);
  if (queue->submit(queue->self, post, &ended) == 0) sem_wait(&ended);
  sem_destroy(&ended);
}

static void native_destroy(void *native) {
  sim_native_queue_destroy(native);
}

static const char names[] = "scale count sum_groups places arguments work fail";

extern __attribute__((visibility("default"))) const suite_kernels_t byoc_driver_kernels;
const suite_kernels_t byoc_driver_kernels = {
    .struct_size = sizeof(suite_kernels_t),
    .format = "sim",
    .data = names,
    .size_bytes = sizeof(names) - 1,
    .scale = "scale",
    .count = "count",
    .sum_groups = "sum_groups",
    .places = "places",
    .arguments = "arguments",
    .work = "work",
    .fail = "fail",
    .native_create = native_create,
    .native_wait = native_wait,
    .native_destroy = native_destroy,
};
