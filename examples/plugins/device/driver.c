// driver.c - a driver (byoc/device.h), for a device that is no hardware: its memory is the host's, its kernels stand at
// the end of this file, and each command has ended when the call that put it into a queue returns. So an event is
// complete as soon as it is made, and queues have nothing to keep. The file becomes an archive that artifacts carry.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

struct byoc_device_t {
  const byoc_runtime_t *runtime;
  uint64_t flags; // of byoc_device_init_t
};
struct byoc_device_buffer_t {
  unsigned char *data;
};
struct byoc_device_queue_t {
  int unused;
};
struct byoc_device_event_t {
  uint64_t begin_ns, end_ns; // 0 until it was signalled
};
typedef struct kernel_t {
  const char *name;
  uint32_t argument_count;
  void (*run)(const byoc_device_argument_t *arguments, uint32_t item);
} kernel_t;
struct byoc_device_entry_t {
  kernel_t kernel;
};
struct byoc_device_module_t {
  int unused;
};

static int32_t fail(byoc_device_t *device, int32_t status, const char *sentence) {
  device->runtime->set_error(device->runtime->self, sentence);
  return status;
}

// Memory for a handle; whoever asks has nothing to undo.
static int32_t make(byoc_device_t *device, size_t size, void **out) {
  *out = calloc(1, size);
  return *out != NULL ? BYOC_OK : fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
}

static uint64_t now_ns(void) {
  struct timespec now;
  (void)timespec_get(&now, TIME_UTC);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- the device ----

static int32_t slab_open(const byoc_device_init_t *init, byoc_device_t **out_device) {
  *out_device = NULL;
  if (init->ordinal != 0) {
    init->runtime->set_error(init->runtime->self, "there is one slab, number 0");
    return BYOC_NOT_FOUND;
  }
  byoc_device_t *device = calloc(1, sizeof(*device));
  if (device == NULL) {
    init->runtime->set_error(init->runtime->self, "out of memory");
    return BYOC_OUT_OF_MEMORY;
  }
  device->runtime = init->runtime;
  device->flags = init->flags;
  *out_device = device;
  return BYOC_OK;
}

static void slab_close(byoc_device_t *device) {
  free(device);
}

static int32_t slab_describe(byoc_device_t *device, byoc_device_info_t *out_info) {
  static const byoc_device_scope_t scopes[] = {{"global", BYOC_SCOPE_SUBDIVIDES, 0}};
  static const char *const formats[] = {"slab"};
  const byoc_device_info_t info = {.struct_size = sizeof(info),
                                   .device_type = SLAB_DEVICE_TYPE,
                                   .name = "slab",
                                   .architecture = "slab1",
                                   .driver_version = "1.0",
                                   .alignment = 64,
                                   .queue_count = 1,
                                   .scope_count = 1,
                                   .scopes = scopes,
                                   .formats = formats,
                                   .format_count = 1};
  const uint32_t known = out_info->struct_size < sizeof(info) ? out_info->struct_size : (uint32_t)sizeof(info);
  const uint32_t struct_size = out_info->struct_size;
  (void)device;
  memcpy(out_info, &info, known);
  out_info->struct_size = struct_size;
  return BYOC_OK;
}

// ---- memory ----

static int32_t slab_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                             byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  void *buffer = NULL;
  const int32_t status = make(device, sizeof(**out_buffer), &buffer);
  if (status != BYOC_OK) return status;
  *out_buffer = buffer;
  (*out_buffer)->data = aligned_alloc(64, (allocation->size_bytes + 63) / 64 * 64);
  if ((*out_buffer)->data != NULL) return BYOC_OK;
  free(buffer);
  *out_buffer = NULL;
  return fail(device, BYOC_OUT_OF_MEMORY, "the slab has no room");
}

static void slab_release(byoc_device_t *device, byoc_device_buffer_t *buffer) {
  (void)device;
  if (buffer == NULL) return;
  free(buffer->data);
  free(buffer);
}

// ---- queues and events ----

static int32_t slab_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue) {
  (void)native;
  *out_queue = NULL;
  if (kind != BYOC_QUEUE_OWN && kind != BYOC_QUEUE_DEFAULT) {
    return fail(device, BYOC_UNSUPPORTED, "the slab knows no queues of others");
  }
  return make(device, sizeof(**out_queue), (void **)out_queue);
}

static void slab_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue) {
  (void)device;
  free(queue);
}

static int32_t slab_queue_done(byoc_device_t *device, byoc_device_queue_t *queue) { // flush, wait
  (void)device, (void)queue;
  return BYOC_OK;
}

static int32_t slab_event_create(byoc_device_t *device, byoc_device_event_t **out_event) {
  *out_event = NULL;
  return make(device, sizeof(**out_event), (void **)out_event);
}

static void slab_event_destroy(byoc_device_t *device, byoc_device_event_t *event) {
  (void)device;
  free(event);
}

static int32_t slab_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete) {
  (void)device, (void)event;
  *out_is_complete = 1;
  return BYOC_OK;
}

static int32_t slab_event_wait(byoc_device_t *device, byoc_device_event_t *event) {
  (void)device, (void)event;
  return BYOC_OK;
}

static int32_t slab_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                                uint64_t *out_end_ns) {
  if (!(device->flags & BYOC_DEVICE_TIMES)) return fail(device, BYOC_UNSUPPORTED, "it was opened without times");
  if (event->end_ns == 0) return fail(device, BYOC_INVALID_ARGUMENT, "no command has signalled this event");
  *out_begin_ns = event->begin_ns;
  *out_end_ns = event->end_ns;
  return BYOC_OK;
}

static const char *slab_event_error(byoc_device_t *device, byoc_device_event_t *event) {
  (void)device, (void)event;
  return ""; // what can fail here fails before it is put into a queue
}

// ---- commands ----

// The command that began then has ended. What it had to wait for has, too.
static int32_t ended(const byoc_device_order_t *order, uint64_t begin_ns) {
  if (order != NULL && order->signal != NULL) *order->signal = (byoc_device_event_t){begin_ns, now_ns()};
  return BYOC_OK;
}

static int32_t slab_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                         uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                         const byoc_device_order_t *order) {
  const uint64_t begin_ns = now_ns();
  (void)device, (void)queue;
  for (uint64_t at = 0; at < size_bytes; at += pattern_size_bytes) {
    memcpy(buffer->data + offset_bytes + at, pattern, pattern_size_bytes);
  }
  return ended(order, begin_ns);
}

static void *bytes_of(const byoc_device_bytes_t *side) {
  return side->buffer == NULL ? side->host : side->buffer->data + side->offset_bytes;
}

static int32_t slab_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                         const byoc_device_bytes_t *destination, uint64_t size_bytes,
                         const byoc_device_order_t *order) {
  const uint64_t begin_ns = now_ns();
  (void)device, (void)queue;
  memcpy(bytes_of(destination), bytes_of(source), size_bytes);
  return ended(order, begin_ns);
}

static int32_t slab_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                           const byoc_device_order_t *order) {
  const uint64_t begin_ns = now_ns();
  const kernel_t *kernel = &launch->entry->kernel;
  (void)queue;
  if (launch->argument_count != kernel->argument_count) {
    return fail(device, BYOC_INVALID_ARGUMENT, "the kernel takes another number of arguments");
  }
  if (launch->grid[1] * launch->grid[2] * launch->block[1] * launch->block[2] > 1) {
    return fail(device, BYOC_UNSUPPORTED, "the slab has one axis");
  }
  const uint32_t items = launch->grid[0] * launch->grid[1] * launch->grid[2] * launch->block[0];
  for (uint32_t item = 0; item < items; ++item) kernel->run(launch->arguments, item);
  return ended(order, begin_ns);
}

static int32_t slab_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  (void)device, (void)queue;
  return ended(order, now_ns());
}

// ---- code ----

// Arguments are (x, y, count) and (a, b, y, count): a work-item beyond the last element does nothing.
static float *element(const byoc_device_argument_t *argument, uint32_t item) {
  return (float *)(void *)(argument->buffer->data + argument->offset_bytes) + item;
}

static void relu(const byoc_device_argument_t *arguments, uint32_t item) {
  if (item >= arguments[2].integer) return;
  const float x = *element(&arguments[0], item);
  *element(&arguments[1], item) = x < 0 ? 0 : x;
}

static void add(const byoc_device_argument_t *arguments, uint32_t item) {
  if (item >= arguments[3].integer) return;
  *element(&arguments[2], item) = *element(&arguments[0], item) + *element(&arguments[1], item);
}

// These two are for byoc-plugin-check (check.c): (x, y, factor, count) and (y, count), where y holds i32.
static void scale(const byoc_device_argument_t *arguments, uint32_t item) {
  if (item >= arguments[3].integer) return;
  *element(&arguments[1], item) = *element(&arguments[0], item) * (float)arguments[2].real;
}

static void count(const byoc_device_argument_t *arguments, uint32_t item) {
  if (item >= arguments[1].integer) return;
  *(int32_t *)(void *)element(&arguments[0], item) += 1;
}

static byoc_device_entry_t entries[] = {
    {{"relu", 3, relu}}, {{"add", 4, add}}, {{"scale", 4, scale}}, {{"count", 2, count}}};

static byoc_device_entry_t *find_entry(const char *name, size_t size) {
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
    const char *known = entries[i].kernel.name;
    if (strlen(known) == size && memcmp(known, name, size) == 0) return &entries[i];
  }
  return NULL;
}

// The code of a module names kernels that the device has. A real one hands it to the vendor's library here.
static int32_t slab_module_load(byoc_device_t *device, const byoc_device_code_t *code,
                                byoc_device_module_t **out_module) {
  *out_module = NULL;
  if (strcmp(code->format, "slab") != 0) return fail(device, BYOC_UNSUPPORTED, "the slab knows one format, 'slab'");
  const char *names = (const char *)code->data; // a NUL follows them
  for (size_t at = 0; at < code->size_bytes;) {
    const size_t size = strcspn(names + at, " ");
    if (find_entry(names + at, size) == NULL) return fail(device, BYOC_INVALID_DATA, "the slab has no such kernel");
    at += size + 1;
  }
  return make(device, sizeof(**out_module), (void **)out_module);
}

static void slab_module_unload(byoc_device_t *device, byoc_device_module_t *module) {
  (void)device;
  free(module);
}

static int32_t slab_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                                 byoc_device_entry_t **out_entry) {
  (void)module;
  *out_entry = find_entry(name, strlen(name));
  return *out_entry != NULL ? BYOC_OK : fail(device, BYOC_NOT_FOUND, "the slab has no kernel of this name");
}

const byoc_driver_t slab_driver = {.struct_size = sizeof(slab_driver),
                                   .abi_version = BYOC_DRIVER_ABI_VERSION,
                                   .name = "slab",
                                   .open = slab_open,
                                   .close = slab_close,
                                   .describe = slab_describe,
                                   .allocate = slab_allocate,
                                   .release = slab_release,
                                   .queue_create = slab_queue_create,
                                   .queue_destroy = slab_queue_destroy,
                                   .queue_flush = slab_queue_done,
                                   .queue_wait = slab_queue_done,
                                   .event_create = slab_event_create,
                                   .event_destroy = slab_event_destroy,
                                   .event_query = slab_event_query,
                                   .event_wait = slab_event_wait,
                                   .event_times = slab_event_times,
                                   .event_error = slab_event_error,
                                   .fill = slab_fill,
                                   .copy = slab_copy,
                                   .launch = slab_launch,
                                   .barrier = slab_barrier,
                                   .module_load = slab_module_load,
                                   .module_unload = slab_module_unload,
                                   .module_entry = slab_module_entry};
