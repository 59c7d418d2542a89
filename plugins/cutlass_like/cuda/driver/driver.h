// SPDX-License-Identifier: Apache-2.0
// driver.h - the CUDA driver inside: its handles, and what its files share.
//   driver.c   the table
//   library.c  libcuda.so.1, found when a device is opened
//   device.c   open, close, describe
//   memory.c   allocation and import
//   queue.c    queues are streams
//   event.c    events
//   command.c  fill, copy, launch, barrier
//   module.c   cubin and PTX, and their kernels
//   error.c    statuses and messages
//
// Each slot makes the device's primary context current for as long as it runs, so that a caller's other uses of CUDA on
// the same thread are left alone. A kernel that fails takes the context with it: from then on every slot fails.
#ifndef BYOC_CUDA_DRIVER_H_
#define BYOC_CUDA_DRIVER_H_

#include <pthread.h>
#include <stdbool.h>

#include "byoc/device.h"
#include "common/archive.h"
#include "cuda_api.h"

#define BYOC_CUDA_FORMAT_CUBIN "cubin"
#define BYOC_CUDA_FORMAT_PTX   "ptx"

typedef struct byoc_cuda_api_t {
#define BYOC_CUDA_FUNCTION(name, symbol, parameters) CUresult(*name) parameters;
#include "api_functions.def"
#undef BYOC_CUDA_FUNCTION
} byoc_cuda_api_t;

struct byoc_device_t {
  const byoc_runtime_t *runtime;
  byoc_cuda_api_t cu;
  CUdevice id;
  CUcontext context;
  bool has_times;
  CUevent origin; // of time stamps; NULL without them
  char name[256], architecture[16], driver_version[16];
  byoc_device_scope_t scope;
  byoc_device_info_t info;
};

struct byoc_device_buffer_t {
  CUdeviceptr memory;
  void *host; // of an import; NULL
};

struct byoc_device_queue_t {
  CUstream stream; // NULL: CUDA's default
  uint32_t kind;
};

struct byoc_device_event_t {
  CUevent begin; // NULL without time stamps
  CUevent end;
  pthread_mutex_t lock; // guards what follows
  bool is_signalled;
  char error[160];
};

struct byoc_device_entry_t {
  byoc_device_entry_t *next;
  CUfunction function;
  uint32_t shared_bytes; // at most, of the function; 0 until it was set
};

struct byoc_device_module_t {
  CUmodule module;
  byoc_device_entry_t *entries;
};

// error.c: reports "out of memory".
int32_t byoc_cuda_out_of_memory(const byoc_device_t *device);
// BYOC_OK for CUDA_SUCCESS. Otherwise reports "CUDA cannot <what>: CUDA_ERROR_<NAME> (<text>)".
int32_t byoc_cuda_check(const byoc_device_t *device, CUresult code, const char *what);
int32_t byoc_cuda_status_of(CUresult code);
// The message without the report.
void byoc_cuda_describe_code(const byoc_device_t *device, CUresult code, const char *what, char *buffer, size_t size);

// library.c: BYOC_NOT_FOUND without the library, BYOC_VERSION if it lacks a function. The library is never closed: it
// keeps threads.
int32_t byoc_cuda_library_open(const byoc_runtime_t *runtime, byoc_cuda_api_t *out_api);

// device.c
int32_t byoc_cuda_open(const byoc_device_init_t *init, byoc_device_t **out_device);
void byoc_cuda_close(byoc_device_t *device);
int32_t byoc_cuda_describe(byoc_device_t *device, byoc_device_info_t *out_info);
// Around all calls of a slot.
int32_t byoc_cuda_enter(byoc_device_t *device);
void byoc_cuda_leave(byoc_device_t *device);

// memory.c
int32_t byoc_cuda_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                           byoc_device_buffer_t **out_buffer);
int32_t byoc_cuda_import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer);
void byoc_cuda_release(byoc_device_t *device, byoc_device_buffer_t *buffer);

// queue.c
int32_t byoc_cuda_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue);
void byoc_cuda_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue);
int32_t byoc_cuda_queue_rebind(byoc_device_t *device, byoc_device_queue_t *queue, void *native);
int32_t byoc_cuda_queue_flush(byoc_device_t *device, byoc_device_queue_t *queue);
int32_t byoc_cuda_queue_wait(byoc_device_t *device, byoc_device_queue_t *queue);

// event.c
int32_t byoc_cuda_event_create(byoc_device_t *device, byoc_device_event_t **out_event);
void byoc_cuda_event_destroy(byoc_device_t *device, byoc_device_event_t *event);
int32_t byoc_cuda_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete);
int32_t byoc_cuda_event_wait(byoc_device_t *device, byoc_device_event_t *event);
int32_t byoc_cuda_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                              uint64_t *out_end_ns);
const char *byoc_cuda_event_error(byoc_device_t *device, byoc_device_event_t *event);

// command.c
int32_t byoc_cuda_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                       uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                       const byoc_device_order_t *order);
int32_t byoc_cuda_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                       const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order);
int32_t byoc_cuda_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                         const byoc_device_order_t *order);
int32_t byoc_cuda_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order);

// module.c
int32_t byoc_cuda_module_load(byoc_device_t *device, const byoc_device_code_t *code, byoc_device_module_t **out_module);
void byoc_cuda_module_unload(byoc_device_t *device, byoc_device_module_t *module);
int32_t byoc_cuda_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                               byoc_device_entry_t **out_entry);

#endif // BYOC_CUDA_DRIVER_H_
