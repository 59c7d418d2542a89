// SPDX-License-Identifier: Apache-2.0
// The driver `sim` (sim.h): its table, and devices as a whole.
#include "tests/devices/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/devices/sim_internal.h"

static pthread_mutex_t alive_lock = PTHREAD_MUTEX_INITIALIZER;
static sim_counts_t alive;

void sim_count(sim_counts_t *out_counts) {
  pthread_mutex_lock(&alive_lock);
  *out_counts = alive;
  pthread_mutex_unlock(&alive_lock);
}

void sim_alive(byoc_device_t *device, size_t member, int64_t change) {
  pthread_mutex_lock(&alive_lock);
  *(uint64_t *)((char *)&alive + member) += (uint64_t)change;
  pthread_mutex_unlock(&alive_lock);
  *(uint64_t *)((char *)&device->counts + member) += (uint64_t)change;
}

void sim_mistake(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("driver sim: ", stderr);
  vfprintf(stderr, format, list);
  fputs("\n", stderr);
  va_end(list);
  abort();
}

int32_t sim_fail(const byoc_device_t *device, int32_t status, const char *format, ...) {
  char text[SIM_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  device->runtime->set_error(device->runtime->self, text);
  return status;
}

static const char *const call_names[] = {
#define SIM_CALL_NAME(name, late) #name,
    SIM_CALL_LIST(SIM_CALL_NAME)
#undef SIM_CALL_NAME
};

int sim_counted_fails(byoc_device_t *device, sim_call_t call, int late) {
  const sim_options_t *options = &device->options;
  uint64_t number = late ? device->calls[call] : ++device->calls[call];
  if (options->fail_late != late || options->fail_call != call || options->fail_number != number) return 0;
  sim_log(device, "fail %s", call_names[call]);
  return 1;
}

void sim_enter_uncounted(byoc_device_t *device) {
  if (atomic_exchange_explicit(&device->entered, 1, memory_order_relaxed)) {
    sim_mistake("two threads use device %d at the same time", (int)device->ordinal);
  }
}

int32_t sim_enter(byoc_device_t *device, sim_call_t call) {
  sim_enter_uncounted(device);
  pthread_mutex_lock(&device->lock);
  int fails = sim_counted_fails(device, call, 0);
  fails |= sim_counted_fails(device, SIM_CALL_any, 0);
  pthread_mutex_unlock(&device->lock);
  if (!fails) return BYOC_OK;
  int32_t status = call == SIM_CALL_allocate ? BYOC_OUT_OF_MEMORY : BYOC_INTERNAL;
  return sim_fail(device, status, "the device 'sim' was told to fail at this %s", call_names[call]);
}

void sim_leave(byoc_device_t *device) {
  atomic_store_explicit(&device->entered, 0, memory_order_relaxed);
}

// The option "stamp" of a context, if there is one.
static void take_runtime_options(const byoc_device_init_t *init, sim_options_t *options) {
  if (init->struct_size < offsetof(byoc_device_init_t, reserved_options)) return;
  for (uint32_t i = 0; i < init->option_count; ++i) {
    if (strcmp(init->options[i].name, "stamp") != 0 || init->options[i].integer == 0) continue;
    options->has_stamps = 1;
    options->stamp_ns = (uint64_t)init->options[i].integer;
  }
}

static int32_t sim_open(const byoc_device_init_t *init, byoc_device_t **out_device) {
  *out_device = NULL;
  const byoc_runtime_t *runtime = init->runtime;
  char text[SIM_TEXT_BYTES] = "out of memory";
  sim_options_t options;
  int32_t status = sim_options_read(&options, text, sizeof(text));
  if (status != BYOC_OK) {
    runtime->set_error(runtime->self, text);
    return status;
  }
  byoc_device_t *device = NULL;
  if (sim_options_fail_open(&options)) {
    status = BYOC_INTERNAL;
    snprintf(text, sizeof(text), "the device 'sim' was told to fail at this open");
  } else if (options.devices == 0) {
    status = BYOC_NOT_FOUND;
    snprintf(text, sizeof(text), "there is none; set devices=1 in BYOC_SIM");
  } else if (init->ordinal < 0 || (uint64_t)init->ordinal >= options.devices) {
    status = BYOC_NOT_FOUND;
    snprintf(text, sizeof(text), "the driver 'sim' has devices 0 to %llu, none of number %d",
             (unsigned long long)options.devices - 1, (int)init->ordinal);
  } else {
    device = calloc(1, sizeof(*device));
    if (!device) status = BYOC_OUT_OF_MEMORY;
  }
  if (status != BYOC_OK) {
    runtime->set_error(runtime->self, text);
    sim_options_close(&options);
    return status;
  }
  take_runtime_options(init, &options);
  device->runtime = runtime;
  device->options = options;
  device->flags = init->flags;
  device->ordinal = init->ordinal;
  device->random = options.order_seed;
  pthread_mutex_init(&device->lock, NULL);
  pthread_cond_init(&device->changed, NULL);
  SIM_ALIVE(device, devices, 1);
  sim_log(device, "open %d", (int)device->ordinal);
  *out_device = device;
  return BYOC_OK;
}

static void sim_close(byoc_device_t *device) {
  if (!device) return;
  sim_enter_uncounted(device);
  pthread_mutex_lock(&device->lock);
  sim_begin_all(device);
  while (device->first) pthread_cond_wait(&device->changed, &device->lock);
  pthread_mutex_unlock(&device->lock);
  sim_counts_t *left = &device->counts;
  if (left->buffers || left->queues || left->events || left->modules) {
    sim_mistake("device %d is closed while %llu buffers, %llu queues, %llu events and %llu modules of it are alive",
                (int)device->ordinal, (unsigned long long)left->buffers, (unsigned long long)left->queues,
                (unsigned long long)left->events, (unsigned long long)left->modules);
  }
  sim_native_queue_destroy(device->default_queue);
  sim_log(device, "close %d", (int)device->ordinal);
  sim_command_free_all(device);
  sim_options_close(&device->options);
  SIM_ALIVE(device, devices, -1);
  pthread_cond_destroy(&device->changed);
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static int32_t sim_describe(byoc_device_t *device, byoc_device_info_t *out_info) {
  static const char *const formats[] = {"elf", "sim"};
  sim_enter_uncounted(device);
  byoc_device_info_t info = {
      .struct_size = out_info->struct_size,
      .device_type = SIM_DEVICE_TYPE,
      .name = "a device of threads",
      .architecture = device->options.architecture,
      .driver_version = device->options.version,
      .memory_size = device->options.memory_bytes,
      .alignment = SIM_ALIGNMENT,
      .queue_count = device->options.ordered ? 1 : 0,
      .is_unified = device->options.unified ? 1 : 0,
      .scope_count = SIM_SCOPE_COUNT,
      .scopes = sim_scopes,
      .formats = formats,
      .format_count = sizeof(formats) / sizeof(formats[0]),
  };
  memcpy(out_info, &info, info.struct_size < sizeof(info) ? info.struct_size : sizeof(info));
  sim_leave(device);
  return BYOC_OK;
}

const byoc_driver_t sim_driver = {
    .struct_size = sizeof(byoc_driver_t),
    .abi_version = BYOC_DRIVER_ABI_VERSION,
    .name = SIM_DRIVER_NAME,
    .open = sim_open,
    .close = sim_close,
    .describe = sim_describe,
    .allocate = sim_allocate,
    .import = sim_import,
    .release = sim_release,
    .queue_create = sim_queue_create,
    .queue_destroy = sim_queue_destroy,
    .queue_rebind = sim_queue_rebind,
    .queue_flush = sim_queue_flush,
    .queue_wait = sim_queue_wait,
    .event_create = sim_event_create,
    .event_destroy = sim_event_destroy,
    .event_query = sim_event_query,
    .event_wait = sim_event_wait,
    .event_times = sim_event_times,
    .event_error = sim_event_error,
    .fill = sim_put_fill,
    .copy = sim_put_copy,
    .launch = sim_put_launch,
    .barrier = sim_put_barrier,
    .module_load = sim_module_load,
    .module_unload = sim_module_unload,
    .module_entry = sim_module_entry,
    .fits = sim_fits,
    .event_counters = sim_event_counters,
};
