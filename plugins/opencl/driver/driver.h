// SPDX-License-Identifier: Apache-2.0
// driver.h - the OpenCL driver inside: its handles, and what its files share.
//   driver.c   the table
//   library.c  libOpenCL.so.1, found when a device is opened
//   device.c   open, close, describe
//   memory.c   buffers, and sub-buffers for addresses inside them
//   queue.c    queues
//   event.c    events
//   command.c  fill, copy, launch, barrier
//   module.c   programs and kernels
//   error.c    statuses and messages
#ifndef BYOC_OPENCL_DRIVER_H_
#define BYOC_OPENCL_DRIVER_H_

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "byoc/device.h"
#include "common/archive.h"

#define BYOC_OPENCL_FORMAT_BINARY "opencl-binary"
#define BYOC_OPENCL_FORMAT_SOURCE "opencl-c"

typedef struct byoc_opencl_api_t {
#define BYOC_OPENCL_FUNCTION(name) __typeof__(&name) name;
#include "api_functions.def"
#undef BYOC_OPENCL_FUNCTION
} byoc_opencl_api_t;

enum {
  BYOC_OPENCL_SCOPE_GLOBAL = 0,
  BYOC_OPENCL_SCOPE_CONSTANT = 1, // for kernels that name it `__constant`
  BYOC_OPENCL_SCOPE_COUNT = 2,
};

struct byoc_device_t {
  const byoc_runtime_t *runtime;
  byoc_opencl_api_t cl;
  cl_device_id id;
  cl_context context;
  byoc_device_queue_t *queues; // those that exist
  bool has_times;
  char name[256];
  char driver_version[256];
  char architecture[520];
  byoc_device_scope_t scopes[BYOC_OPENCL_SCOPE_COUNT];
  byoc_device_info_t info;
};

// A kernel has an argument cl_mem and no offset, so an address inside a buffer is a sub-buffer. Sub-buffers are made
// when they are first used and kept, so that later runs make none.
typedef struct byoc_opencl_part_t {
  uint64_t offset_bytes;
  cl_mem memory;
} byoc_opencl_part_t;

struct byoc_device_buffer_t {
  cl_mem memory;
  uint64_t size_bytes;
  byoc_opencl_part_t *parts; // sorted by offset
  size_t part_count, part_capacity;
};

struct byoc_device_queue_t {
  cl_command_queue queue; // one reference is held, of the caller's too
  cl_event last;          // the last command; NULL: none since the queue was made or queue_wait reported a failure
  byoc_device_queue_t *next;
};

struct byoc_device_event_t {
  pthread_mutex_t mutex; // guards what follows
  cl_event event;        // of the command that it stands for; NULL: none
  char error[160];
};

struct byoc_device_entry_t {
  cl_kernel kernel;
  cl_uint argument_count;
  byoc_device_entry_t *next;
  char name[]; // as module_entry was given it
};

struct byoc_device_module_t {
  cl_program program;
  byoc_device_entry_t *entries;
};

// error.c: reports "out of memory".
int32_t byoc_opencl_out_of_memory(const byoc_device_t *device);
// BYOC_OK for CL_SUCCESS. Otherwise reports "OpenCL cannot <what>: CL_<NAME>" and returns the status that fits.
int32_t byoc_opencl_check_code(const byoc_runtime_t *runtime, cl_int code, const char *what);
int32_t byoc_opencl_status_of(cl_int code);
const char *byoc_opencl_code_name(cl_int code); // "CL_OUT_OF_RESOURCES"; "an unknown error"

// library.c: BYOC_NOT_FOUND without the library, BYOC_VERSION if it lacks a function. The library is never closed:
// vendors' libraries keep threads.
int32_t byoc_opencl_library_open(const byoc_runtime_t *runtime, byoc_opencl_api_t *out_api);

// device.c
int32_t byoc_opencl_open(const byoc_device_init_t *init, byoc_device_t **out_device);
void byoc_opencl_close(byoc_device_t *device);
int32_t byoc_opencl_describe(byoc_device_t *device, byoc_device_info_t *out_info);

// memory.c
int32_t byoc_opencl_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                             byoc_device_buffer_t **out_buffer);
int32_t byoc_opencl_import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer);
void byoc_opencl_release(byoc_device_t *device, byoc_device_buffer_t *buffer);
// The memory of `buffer` from `offset_bytes` on; the buffer keeps it.
int32_t byoc_opencl_part(byoc_device_t *device, byoc_device_buffer_t *buffer, uint64_t offset_bytes,
                         cl_mem *out_memory);

// queue.c
int32_t byoc_opencl_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue);
void byoc_opencl_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue);
int32_t byoc_opencl_queue_rebind(byoc_device_t *device, byoc_device_queue_t *queue, void *native);
int32_t byoc_opencl_queue_flush(byoc_device_t *device, byoc_device_queue_t *queue);
int32_t byoc_opencl_queue_wait(byoc_device_t *device, byoc_device_queue_t *queue);
void byoc_opencl_finish_queues(byoc_device_t *device); // waits for all commands

// event.c
int32_t byoc_opencl_event_create(byoc_device_t *device, byoc_device_event_t **out_event);
void byoc_opencl_event_destroy(byoc_device_t *device, byoc_device_event_t *event);
int32_t byoc_opencl_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete);
int32_t byoc_opencl_event_wait(byoc_device_t *device, byoc_device_event_t *event);
int32_t byoc_opencl_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                                uint64_t *out_end_ns);
const char *byoc_opencl_event_error(byoc_device_t *device, byoc_device_event_t *event);
// Lets `event` stand for `command`, whose reference it takes over.
void byoc_opencl_event_set(const byoc_device_t *device, byoc_device_event_t *event, cl_event command);
// The command that the event stands for now, with a reference for the caller; NULL: none.
cl_event byoc_opencl_event_get(const byoc_device_t *device, byoc_device_event_t *event);
// Blocks until the command has ended: CL_COMPLETE, or the negative code of its failure.
cl_int byoc_opencl_await(const byoc_device_t *device, cl_event command);

// command.c
int32_t byoc_opencl_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                         uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                         const byoc_device_order_t *order);
int32_t byoc_opencl_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                         const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order);
int32_t byoc_opencl_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                           const byoc_device_order_t *order);
int32_t byoc_opencl_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order);

// module.c
int32_t byoc_opencl_module_load(byoc_device_t *device, const byoc_device_code_t *code,
                                byoc_device_module_t **out_module);
void byoc_opencl_module_unload(byoc_device_t *device, byoc_device_module_t *module);
int32_t byoc_opencl_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                                 byoc_device_entry_t **out_entry);

#endif // BYOC_OPENCL_DRIVER_H_
