// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a GPU, for tests of the CUDA driver: memory is the host's, and streams are threads. The
// kernels that byoc-plugin-check launches are those of the driver `sim`, and those of the target `cutlass -device=cuda`
// are computed from what their names and parameters say (stub_cutlass.c); any other kernel that a module names does
// nothing. The stub checks what the library would check, and that all is given back when the primary context is
// released.
//
// BYOC_CUDA_STUB_LOG=PATH          appends a line for each call
// BYOC_CUDA_STUB_FAIL=NAME:N       the N-th call of a function fails, from 1
// BYOC_CUDA_STUB_DEVICES=N         GPUs, 1 unless said
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugins/cutlass_like/cuda/driver/cuda_api.h"
#include "tests/devices/cuda/stub_cutlass.h"
#include "tests/devices/sim.h"

// Of the driver sim, whose kernels and threads these are, and what they need of it.
sim_kernel_t sim_own_kernel(const char *name);
uint64_t sim_now_ns(void);

enum {
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_UNKNOWN = 999,
  MEMORY_BYTES_SHIFT = 33, // 8 GiB
  MAX_CONTEXTS = 8,
  MAX_PARAMETERS = 24,
};

#define STUB __attribute__((visibility("default")))

struct CUctx_st {
  int reference_count;
};

// When a record of an event was reached.
typedef struct mark_t {
  int reference_count;
  bool is_reached;
  uint64_t time_ns;
} mark_t;

struct CUevent_st {
  mark_t *mark; // of the last record; NULL: none
  bool has_times;
};

typedef struct work_t {
  struct work_t *next;
  void (*run)(struct work_t *work);
  struct CUstream_st *stream;
  mark_t *mark;
  char *to;
  const char *from;
  size_t bytes, pitch, width;
  unsigned char pattern[4];
  unsigned pattern_bytes;
  CUfunction function;
  unsigned grid[3], block[3], shared_bytes;
  sim_argument_t arguments[MAX_PARAMETERS];
  uint32_t argument_count;
} work_t;

struct CUstream_st {
  sim_native_queue_t *queue;
  uint64_t put, done;
};

struct CUfunc_st {
  struct CUfunc_st *next;
  char name[128];
  unsigned max_shared_bytes;
};

struct CUmod_st {
  struct CUfunc_st *functions;
};

typedef struct allocation_t {
  struct allocation_t *next;
  char *data;
  size_t bytes;
} allocation_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all that follows
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_initialised;
static struct CUctx_st primary;
static struct CUstream_st default_stream;
static allocation_t *allocations;
static int stream_count, event_count, module_count;
static uint64_t pending_count;
static __thread int context_count; // how often this thread made the context current

uint64_t sim_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// --- calls

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...) {
  const char *path = getenv("BYOC_CUDA_STUB_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  va_list list;
  va_start(list, format);
  vfprintf(file, format, list);
  va_end(list);
  fputc('\n', file);
  fclose(file);
}

// Is this the call that is to fail?
static bool is_to_fail(const char *name) {
  static int count;
  const char *told = getenv("BYOC_CUDA_STUB_FAIL"), *colon = told ? strchr(told, ':') : NULL;
  if (!colon || strlen(name) != (size_t)(colon - told) || strncmp(told, name, (size_t)(colon - told)) != 0)
    return false;
  pthread_mutex_lock(&lock);
  bool fails = ++count == atoi(colon + 1);
  pthread_mutex_unlock(&lock);
  return fails;
}

static CUresult begin_call(const char *name, bool needs_context) {
  if (is_to_fail(name)) return CUDA_ERROR_UNKNOWN;
  pthread_mutex_lock(&lock);
  bool is_ready = is_initialised;
  pthread_mutex_unlock(&lock);
  if (!is_ready) return CUDA_ERROR_NOT_INITIALIZED;
  return needs_context && !context_count ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

#define BEGIN(needs_context)                                                                                           \
  do {                                                                                                                 \
    CUresult code_ = begin_call(__func__, needs_context);                                                              \
    if (code_ != CUDA_SUCCESS) return code_;                                                                           \
  } while (0)

// --- devices and contexts

STUB CUresult cuInit(unsigned flags);
CUresult cuInit(unsigned flags) {
  const char *devices = getenv("BYOC_CUDA_STUB_DEVICES");
  if (is_to_fail(__func__)) return CUDA_ERROR_UNKNOWN;
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (devices && atoi(devices) == 0) return CUDA_ERROR_NO_DEVICE;
  pthread_mutex_lock(&lock);
  is_initialised = true;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

STUB CUresult cuDriverGetVersion(int *version);
CUresult cuDriverGetVersion(int *version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

STUB CUresult cuGetErrorName(CUresult code, const char **name);
CUresult cuGetErrorName(CUresult code, const char **name) {
  switch (code) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case CUDA_ERROR_INVALID_CONTEXT:
    *name = "CUDA_ERROR_INVALID_CONTEXT";
    break;
  default:
    *name = "CUDA_ERROR_UNKNOWN";
  }
  return CUDA_SUCCESS;
}

STUB CUresult cuGetErrorString(CUresult code, const char **text);
CUresult cuGetErrorString(CUresult code, const char **text) {
  *text = code == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "told by the stub";
  return CUDA_SUCCESS;
}

STUB CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetCount(int *count) {
  BEGIN(false);
  const char *devices = getenv("BYOC_CUDA_STUB_DEVICES");
  *count = devices ? atoi(devices) : 1;
  return CUDA_SUCCESS;
}

STUB CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  BEGIN(false);
  *device = ordinal;
  return CUDA_SUCCESS;
}

STUB CUresult cuDeviceGetName(char *name, int size, CUdevice device);
CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  BEGIN(false);
  snprintf(name, (size_t)size, "stub of a GPU, number %d", device);
  return CUDA_SUCCESS;
}

STUB CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  BEGIN(false);
  (void)device;
  *value = 0;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = 8;
  return CUDA_SUCCESS;
}

STUB CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  BEGIN(false);
  (void)device;
  *bytes = (size_t)1 << MEMORY_BYTES_SHIFT;
  return CUDA_SUCCESS;
}

STUB CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  BEGIN(false);
  (void)device;
  pthread_mutex_lock(&lock);
  if (!primary.reference_count++) default_stream.queue = sim_native_queue_create();
  pthread_mutex_unlock(&lock);
  *context = &primary;
  return CUDA_SUCCESS;
}

STUB CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  BEGIN(false);
  (void)device;
  pthread_mutex_lock(&lock);
  bool is_last = !--primary.reference_count;
  sim_native_queue_t *queue = default_stream.queue;
  if (is_last) default_stream.queue = NULL;
  if (is_last && (allocations || stream_count || event_count || module_count)) {
    fprintf(stderr, "stub of libcuda: the context ends with %s, %d streams, %d events, %d modules\n",
            allocations ? "memory" : "no memory", stream_count, event_count, module_count);
    abort();
  }
  pthread_mutex_unlock(&lock);
  if (is_last) sim_native_queue_destroy(queue);
  return CUDA_SUCCESS;
}

STUB CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  BEGIN(false);
  if (context != &primary) return CUDA_ERROR_INVALID_CONTEXT;
  ++context_count;
  return CUDA_SUCCESS;
}

STUB CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (!context_count) return CUDA_ERROR_INVALID_CONTEXT;
  --context_count;
  *context = &primary;
  return CUDA_SUCCESS;
}

STUB CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize(void) {
  BEGIN(true);
  pthread_mutex_lock(&lock);
  while (pending_count) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

// --- streams

static void drop(mark_t *mark) { // with the lock held
  if (mark && !--mark->reference_count) free(mark);
}

static void run_work(void *argument) {
  work_t *work = argument;
  work->run(work);
  pthread_mutex_lock(&lock);
  drop(work->mark);
  ++work->stream->done;
  --pending_count;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  free(work);
}

static CUresult put(CUstream stream, const work_t *from) {
  struct CUstream_st *in = stream ? stream : &default_stream;
  work_t *work = malloc(sizeof(*work));
  if (!work) abort();
  *work = *from;
  work->stream = in;
  pthread_mutex_lock(&lock);
  ++in->put;
  ++pending_count;
  pthread_mutex_unlock(&lock);
  if (in->queue->submit(in->queue->self, run_work, work) != 0) abort();
  return CUDA_SUCCESS;
}

STUB CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  BEGIN(true);
  (void)flags;
  *stream = calloc(1, sizeof(**stream));
  if (*stream) (*stream)->queue = sim_native_queue_create();
  if (!*stream || !(*stream)->queue) abort();
  pthread_mutex_lock(&lock);
  ++stream_count;
  pthread_mutex_unlock(&lock);
  note("%s", __func__);
  return CUDA_SUCCESS;
}

STUB CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream) {
  BEGIN(true);
  sim_native_queue_destroy(stream->queue);
  free(stream);
  pthread_mutex_lock(&lock);
  --stream_count;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

STUB CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream) {
  BEGIN(true);
  struct CUstream_st *of = stream ? stream : &default_stream;
  pthread_mutex_lock(&lock);
  uint64_t until = of->put;
  while (of->done < until) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

// --- events

static void wait_for_mark(work_t *work) {
  pthread_mutex_lock(&lock);
  while (!work->mark->is_reached) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void reach_mark(work_t *work) {
  pthread_mutex_lock(&lock);
  work->mark->is_reached = true;
  work->mark->time_ns = sim_now_ns();
  pthread_mutex_unlock(&lock);
}

STUB CUresult cuEventCreate(CUevent *event, unsigned flags);
CUresult cuEventCreate(CUevent *event, unsigned flags) {
  BEGIN(true);
  *event = calloc(1, sizeof(**event));
  if (!*event) abort();
  (*event)->has_times = !(flags & CU_EVENT_DISABLE_TIMING);
  pthread_mutex_lock(&lock);
  ++event_count;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

STUB CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventDestroy_v2(CUevent event) {
  BEGIN(true);
  pthread_mutex_lock(&lock);
  drop(event->mark);
  --event_count;
  pthread_mutex_unlock(&lock);
  free(event);
  return CUDA_SUCCESS;
}

STUB CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventRecord(CUevent event, CUstream stream) {
  BEGIN(true);
  mark_t *mark = calloc(1, sizeof(*mark));
  if (!mark) abort();
  mark->reference_count = 2;
  pthread_mutex_lock(&lock);
  drop(event->mark);
  event->mark = mark;
  pthread_mutex_unlock(&lock);
  return put(stream, &(work_t){.run = reach_mark, .mark = mark});
}

STUB CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  BEGIN(true);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&lock);
  mark_t *mark = event->mark;
  if (mark) ++mark->reference_count;
  pthread_mutex_unlock(&lock);
  return mark ? put(stream, &(work_t){.run = wait_for_mark, .mark = mark}) : CUDA_SUCCESS;
}

STUB CUresult cuEventQuery(CUevent event);
CUresult cuEventQuery(CUevent event) {
  BEGIN(true);
  pthread_mutex_lock(&lock);
  bool is_reached = !event->mark || event->mark->is_reached;
  pthread_mutex_unlock(&lock);
  return is_reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

STUB CUresult cuEventSynchronize(CUevent event);
CUresult cuEventSynchronize(CUevent event) {
  BEGIN(true);
  pthread_mutex_lock(&lock);
  mark_t *mark = event->mark;
  if (mark) {
    ++mark->reference_count;
    while (!mark->is_reached) pthread_cond_wait(&changed, &lock);
    drop(mark);
  }
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

STUB CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end);
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  BEGIN(true);
  CUresult code = CUDA_SUCCESS;
  pthread_mutex_lock(&lock);
  if (!begin->mark || !end->mark || !begin->has_times || !end->has_times) {
    code = CUDA_ERROR_INVALID_HANDLE;
  } else if (!begin->mark->is_reached || !end->mark->is_reached) {
    code = CUDA_ERROR_NOT_READY;
  } else {
    *milliseconds = (float)((double)(end->mark->time_ns - begin->mark->time_ns) / 1e6);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

// --- memory

// The allocation that holds [memory, memory + bytes); NULL: none does.
static const allocation_t *find_allocation(CUdeviceptr memory, size_t bytes) {
  const char *place = (const char *)(uintptr_t)memory;
  pthread_mutex_lock(&lock);
  const allocation_t *found = allocations;
  for (; found; found = found->next) {
    if (place >= found->data && place <= found->data + found->bytes &&
        bytes <= (size_t)(found->data + found->bytes - place))
      break;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

STUB CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes);
CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes) {
  BEGIN(true);
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  if (bytes >> MEMORY_BYTES_SHIFT) return CUDA_ERROR_OUT_OF_MEMORY;
  allocation_t *allocation = calloc(1, sizeof(*allocation));
  if (!allocation) abort();
  allocation->data = aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!allocation->data) {
    free(allocation);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  allocation->bytes = bytes;
  memset(allocation->data, 0xFF, bytes);
  pthread_mutex_lock(&lock);
  allocation->next = allocations;
  allocations = allocation;
  pthread_mutex_unlock(&lock);
  *memory = (CUdeviceptr)(uintptr_t)allocation->data;
  note("%s %zu", __func__, bytes);
  return CUDA_SUCCESS;
}

STUB CUresult cuMemFree_v2(CUdeviceptr memory);
CUresult cuMemFree_v2(CUdeviceptr memory) {
  BEGIN(true);
  pthread_mutex_lock(&lock);
  allocation_t **link = &allocations;
  while (*link && (CUdeviceptr)(uintptr_t)(*link)->data != memory) link = &(*link)->next;
  allocation_t *allocation = *link;
  if (allocation) *link = allocation->next;
  pthread_mutex_unlock(&lock);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  free(allocation->data);
  free(allocation);
  return CUDA_SUCCESS;
}

// A GPU with memory of its own: nothing is imported.
STUB CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags);
CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
  (void)host;
  (void)bytes;
  (void)flags;
  return CUDA_ERROR_INVALID_VALUE;
}

STUB CUresult cuMemHostUnregister(void *host);
CUresult cuMemHostUnregister(void *host) {
  (void)host;
  return CUDA_ERROR_INVALID_VALUE;
}

STUB CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *memory, void *host, unsigned flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *memory, void *host, unsigned flags) {
  (void)memory;
  (void)host;
  (void)flags;
  return CUDA_ERROR_INVALID_VALUE;
}

static void run_copy(work_t *work) {
  memcpy(work->to, work->from, work->bytes);
}

static CUresult put_copy(const char *name, void *to, const void *from, size_t bytes, CUstream stream) {
  note("%s %zu", name, bytes);
  return put(stream, &(work_t){.run = run_copy, .to = to, .from = from, .bytes = bytes});
}

STUB CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  BEGIN(true);
  if (!find_allocation(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(__func__, (void *)(uintptr_t)to, from, bytes, stream);
}

STUB CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  BEGIN(true);
  if (!find_allocation(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(__func__, to, (const void *)(uintptr_t)from, bytes, stream);
}

STUB CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  BEGIN(true);
  if (!find_allocation(to, bytes) || !find_allocation(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return put_copy(__func__, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, stream);
}

// `width` patterns in each row of `pitch` bytes, for `bytes` in all.
static void run_fill(work_t *work) {
  for (size_t row = 0; row < work->bytes; row += work->pitch) {
    for (size_t i = 0; i < work->width; ++i) {
      memcpy(work->to + row + i * work->pattern_bytes, work->pattern, work->pattern_bytes);
    }
  }
}

static CUresult put_fill(const char *name, CUdeviceptr to, size_t pitch, const void *pattern, unsigned pattern_bytes,
                         size_t width, size_t height, CUstream stream) {
  size_t last = height ? (height - 1) * pitch + width * pattern_bytes : 0;
  if (!find_allocation(to, last) || to % pattern_bytes) return CUDA_ERROR_INVALID_VALUE;
  note("%s %zu", name, width * height);
  work_t work = {.run = run_fill,
                 .to = (char *)(uintptr_t)to,
                 .bytes = height * pitch,
                 .pitch = pitch,
                 .width = width,
                 .pattern_bytes = pattern_bytes};
  memcpy(work.pattern, pattern, pattern_bytes);
  return put(stream, &work);
}

STUB CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  BEGIN(true);
  return put_fill(__func__, to, count, &value, 1, count, 1, stream);
}

STUB CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  BEGIN(true);
  return put_fill(__func__, to, 2 * count, &value, 2, count, 1, stream);
}

STUB CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  BEGIN(true);
  return put_fill(__func__, to, 4 * count, &value, 4, count, 1, stream);
}

STUB CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                 CUstream stream);
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  BEGIN(true);
  return put_fill(__func__, to, pitch, &value, 4, width, height, stream);
}

// --- modules and kernels

static void add_function(CUmodule module, const char *name, size_t size) {
  struct CUfunc_st *function = calloc(1, sizeof(*function));
  if (!function) abort();
  snprintf(function->name, sizeof(function->name), "%.*s", (int)size, name);
  function->next = module->functions;
  module->functions = function;
}

// Names of PTX: ".entry NAME(".
static void read_ptx(CUmodule module, const char *text) {
  for (const char *found = text; (found = strstr(found, ".entry ")) != NULL;) {
    found += strlen(".entry ");
    add_function(module, found, strcspn(found, "( \n"));
  }
}

// Names of a cubin: its sections ".text.NAME".
static void read_cubin(CUmodule module, const char *bytes) {
  uint64_t table = 0, names = 0;
  uint16_t size = 0, count = 0, strings = 0;
  memcpy(&table, bytes + 40, 8);
  memcpy(&size, bytes + 58, 2);
  memcpy(&count, bytes + 60, 2);
  memcpy(&strings, bytes + 62, 2);
  memcpy(&names, bytes + table + (uint64_t)strings * size + 24, 8);
  for (unsigned i = 0; i < count; ++i) {
    uint32_t at = 0;
    memcpy(&at, bytes + table + (uint64_t)i * size, 4);
    const char *name = bytes + names + at;
    if (strncmp(name, ".text.", 6) == 0) add_function(module, name + 6, strlen(name + 6));
  }
}

STUB CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned option_count, int *options,
                                 void **values);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned option_count, int *options, void **values) {
  BEGIN(true);
  const char *text = image;
  bool is_cubin = memcmp(text, "\177ELF", 4) == 0, is_ptx = !is_cubin && strstr(text, ".version") != NULL;
  *module = NULL;
  if (!is_cubin && !is_ptx) {
    for (unsigned i = 0; i < option_count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) snprintf(values[i], 32, "line 1: not PTX");
    }
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = calloc(1, sizeof(**module));
  if (!*module) abort();
  if (is_cubin)
    read_cubin(*module, text);
  else
    read_ptx(*module, text);
  pthread_mutex_lock(&lock);
  ++module_count;
  pthread_mutex_unlock(&lock);
  note("%s %s", __func__, is_cubin ? "cubin" : "ptx");
  return CUDA_SUCCESS;
}

STUB CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleUnload(CUmodule module) {
  BEGIN(true);
  while (module->functions) {
    struct CUfunc_st *function = module->functions;
    module->functions = function->next;
    free(function);
  }
  free(module);
  pthread_mutex_lock(&lock);
  --module_count;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

STUB CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  BEGIN(true);
  for (*function = module->functions; *function; *function = (*function)->next) {
    if (strcmp((*function)->name, name) == 0) return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

STUB CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  BEGIN(true);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 227 << 10) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->max_shared_bytes = (unsigned)value;
  note("%s %s %d", __func__, function->name, value);
  return CUDA_SUCCESS;
}

// The kernels that do something: parameters are b(uffer), i(32 bits), l(64 bits), f(loat), d(ouble), and s, the shared
// memory, which the kernel of the driver sim gets as an argument. A name that ends with _ begins many names.
static const struct {
  const char *name, *kernel, *parameters;
} known[] = {
    {"suite_scale", "scale", "bbfl"},
    {"suite_count", "count", "bl"},
    {"suite_sum_groups", "sum_groups", "bbsl"},
    {"suite_places", "places", "b"},
    {"suite_arguments", "arguments", "bilfd"},
    {"suite_work", "work", "bl"},
    {"cuda_turn", NULL, "bbbiifi"},
    {"cuda_join", NULL, "bbbilf"},
    {"cutlass_gemm_", NULL, "bbbbiiiiiilllff"},
    {"cutlass_conv_", NULL, "bbbbiiiiiiiiiiiiiiiif"},
};
enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };

// The row of a kernel; KNOWN_COUNT: none.
static size_t find_known(const char *name) {
  for (size_t i = 0; i < KNOWN_COUNT; ++i) {
    size_t size = strlen(known[i].name);
    if (known[i].name[size - 1] == '_' ? strncmp(known[i].name, name, size) == 0 : strcmp(known[i].name, name) == 0) {
      return i;
    }
  }
  return KNOWN_COUNT;
}

static void run_kernel(work_t *work) {
  size_t row = find_known(work->function->name);
  if (row == KNOWN_COUNT) return;
  sim_kernel_t kernel = known[row].kernel ? sim_own_kernel(known[row].kernel) : NULL;
  char *shared = work->shared_bytes ? malloc(work->shared_bytes) : NULL;
  for (uint32_t i = 0; i < work->argument_count; ++i) {
    if (work->arguments[i].kind == BYOC_DEVICE_ARGUMENT_LOCAL) work->arguments[i].data = shared;
  }
  sim_group_t group = {.argument_count = work->argument_count, .arguments = work->arguments};
  memcpy(group.grid, work->grid, sizeof(group.grid));
  memcpy(group.block, work->block, sizeof(group.block));
  for (group.group[2] = 0; group.group[2] < group.grid[2]; ++group.group[2]) {
    for (group.group[1] = 0; group.group[1] < group.grid[1]; ++group.group[1]) {
      for (group.group[0] = 0; group.group[0] < group.grid[0]; ++group.group[0]) {
        if (kernel ? kernel(&group) != BYOC_OK : !stub_cutlass_run(work->function->name, &group)) abort();
      }
    }
  }
  free(shared);
}

static void read_buffer(const void *parameter, sim_argument_t *out) {
  CUdeviceptr memory = 0;
  memcpy(&memory, parameter, sizeof(memory));
  const allocation_t *allocation = find_allocation(memory, 0);
  if (!allocation) abort();
  out->kind = BYOC_DEVICE_ARGUMENT_BUFFER;
  out->data = (void *)(uintptr_t)memory;
  out->size_bytes = (uint64_t)(allocation->data + allocation->bytes - (char *)out->data);
}

static void read_parameters(const char *kinds, void **parameters, work_t *work) {
  for (const char *kind = kinds; *kind; ++kind) {
    sim_argument_t *argument = &work->arguments[work->argument_count++];
    int32_t i32 = 0;
    float f32 = 0;
    switch (*kind) {
    case 's':
      *argument = (sim_argument_t){.kind = BYOC_DEVICE_ARGUMENT_LOCAL, .size_bytes = work->shared_bytes};
      continue; // it is no parameter
    case 'b':
      read_buffer(*parameters, argument);
      break;
    case 'i':
      memcpy(&i32, *parameters, sizeof(i32));
      *argument = (sim_argument_t){.kind = BYOC_DEVICE_ARGUMENT_I32, .integer = i32};
      break;
    case 'l':
      argument->kind = BYOC_DEVICE_ARGUMENT_I64;
      memcpy(&argument->integer, *parameters, sizeof(argument->integer));
      break;
    case 'f':
      memcpy(&f32, *parameters, sizeof(f32));
      *argument = (sim_argument_t){.kind = BYOC_DEVICE_ARGUMENT_F32, .real = (double)f32};
      break;
    default:
      argument->kind = BYOC_DEVICE_ARGUMENT_F64;
      memcpy(&argument->real, *parameters, sizeof(argument->real));
    }
    ++parameters;
  }
}

STUB CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                             void **parameters, void **extra);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                        void **extra) {
  BEGIN(true);
  uint64_t items = (uint64_t)block_x * block_y * block_z, groups = (uint64_t)grid_x * grid_y * grid_z;
  if (extra || !items || items > 1024 || !groups || grid_y > 65535 || grid_z > 65535 ||
      (shared_bytes > 48 << 10 && shared_bytes > function->max_shared_bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  note("%s %s %u,%u,%u of %u,%u,%u with %u", __func__, function->name, grid_x, grid_y, grid_z, block_x, block_y,
       block_z, shared_bytes);
  work_t work = {.run = run_kernel,
                 .function = function,
                 .grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .shared_bytes = shared_bytes};
  size_t row = find_known(function->name);
  if (row < KNOWN_COUNT) read_parameters(known[row].parameters, parameters, &work);
  return put(stream, &work);
}
