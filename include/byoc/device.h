// SPDX-License-Identifier: Apache-2.0
// byoc/device.h - the interface of a device driver: the code that runs kernels on a device inside an artifact.
//
// Example:
//   extern BYOC_PACKED const byoc_driver_t my_driver;
//   const byoc_driver_t my_driver = {.struct_size = sizeof(my_driver), .abi_version = BYOC_DRIVER_ABI_VERSION,
//                                    .name = "mine", .open = my_open, .close = my_close}; // and all other slots
//
// A driver is to a device what an engine (byoc/engine.h) is to a JSON description: a table in an archive that travels
// in the artifact. A backend hands the archive over by byoc_device_api_t (byoc/device_plugin.h). The artifact links it
// once, and each context opens each device that the program names. Neither the archive nor the artifact links a
// vendor's library: `open` finds it by dlopen; if it is missing, the message names what to install.
//
// Order. Commands (fill, copy, launch, barrier) are put into a queue and run later. The commands of one queue run in
// the order in which they were put there, each after the one before has ended. Nothing orders two queues but events.
// Every slot that puts a command into a queue returns at once; only event_wait and queue_wait block (and close, which
// waits for everything).
//
// Events. An event is made once and signalled by many commands: it stands for the last command that was put into a
// queue with it as `signal`, and is complete if there was none. The wait list of a command is read when the command is
// put into its queue. So the runs of a program use the same events again and allocate nothing.
//
// Failures. A slot that fails calls runtime->set_error with a message of one sentence and returns a status; its command
// is not in the queue, and its event is unchanged. If a command fails after it was put into its queue, its event
// completes with a status. So do the events of commands that wait for it and of later commands in its queue: these
// commands do not run. queue_wait reports the failure; afterwards the queue accepts commands as before. The device
// stays usable.
//
// Ownership. A slot reads its arguments before it returns, unless a comment says otherwise. Handles belong to the
// driver and are destroyed by the caller before `close`; the destroying slots accept NULL, and wait for commands that
// use the handle.
//
// Threads. One thread at a time uses a device and its objects. Only event_query, event_wait, event_times and
// event_error may be called from any thread at any time. Different devices are used concurrently.
#ifndef BYOC_DEVICE_H_
#define BYOC_DEVICE_H_

#include "byoc/call.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_DRIVER_ABI_VERSION 1

// Offsets in programs are multiples of this many bytes, because programs are planned before any device is known. The
// alignment of each device divides it.
#define BYOC_DEVICE_ALIGNMENT 512

// Types that each driver defines for itself.
typedef struct byoc_device_t byoc_device_t;               // an opened device
typedef struct byoc_device_buffer_t byoc_device_buffer_t; // memory of a device
typedef struct byoc_device_queue_t byoc_device_queue_t;   // commands in order
typedef struct byoc_device_event_t byoc_device_event_t;   // the end of a command
typedef struct byoc_device_module_t byoc_device_module_t; // loaded code
typedef struct byoc_device_entry_t byoc_device_entry_t;   // a kernel in it

enum {
  BYOC_DEVICE_TIMES = 1, // of byoc_device_init_t.flags: event_times will be called
};

typedef struct byoc_device_init_t {
  uint32_t struct_size; // sizeof(byoc_device_init_t) of the caller
  int32_t ordinal;      // which of the driver's devices, from 0
  uint64_t flags;       // BYOC_DEVICE_*
  const byoc_runtime_t *runtime;
  // A queue of the caller's, as later for queue_create with BYOC_QUEUE_NATIVE: `open` opens its device and its context.
  // NULL: the caller has none.
  void *native;
  // Since minor 5. The run-time options that the backend declared for this driver, in the order of the declaration,
  // each with its value (codegen->declare_runtime_options). They are valid until `close` returns.
  const byoc_runtime_option_t *options;
  uint32_t option_count;
  uint32_t reserved_options; // 0
} byoc_device_init_t;

// Receives a counter of a command. Texts are read before it returns. A status that is not BYOC_OK is one that the slot
// passes on.
typedef int32_t (*byoc_device_counter_sink_t)(void *argument, const char *name, const char *unit, double value);

enum {
  // Tensors share one allocation at any offset that is a multiple of the device's alignment. Without it each tensor has
  // an allocation of its own, whose layout (padded rows, an image) is the driver's business.
  BYOC_SCOPE_SUBDIVIDES = 1,
};

// One kind of memory.
typedef struct byoc_device_scope_t {
  const char *name;         // "global", "constant", "global.texture"; the first scope of a device is "global"
  uint64_t flags;           // BYOC_SCOPE_*
  uint64_t allocation_size; // the largest allocation in bytes; 0: not known
} byoc_device_scope_t;

// The description of a device; strings and arrays live until it is closed.
typedef struct byoc_device_info_t {
  uint32_t struct_size;     // sizeof(byoc_device_info_t) of the caller; a driver fills as many bytes as both sides know
  int32_t device_type;      // DLPack's DLDeviceType
  const char *name;         // "NVIDIA H100 80GB HBM3"
  const char *architecture; // architecture of its code, "sm_90"; variants of a module are compared with it
  const char *driver_version; // of the vendor's driver; compiled code is cached by it
  uint64_t memory_size;       // bytes; 0: not known
  uint32_t alignment;         // of offsets within allocations, in bytes; a power of two, 1 to BYOC_DEVICE_ALIGNMENT
  uint32_t queue_count;       // queues that can run at once; 0: no limit
  uint32_t is_unified;        // 1: `import` gives memory of the host without copying
  uint32_t scope_count;
  const byoc_device_scope_t *scopes;
  const char *const *formats; // of code that module_load takes, the best first: "cubin", "ptx"
  uint32_t format_count;
  uint32_t reserved; // 0
} byoc_device_info_t;

// The tensor that an allocation is for, if the scope does not subdivide.
typedef struct byoc_device_allocation_t {
  uint32_t struct_size; // sizeof(byoc_device_allocation_t) of the caller
  uint32_t scope;       // index in byoc_device_info_t.scopes
  uint64_t size_bytes;  // dense; at least 1
  const int64_t *dims;  // elements along each dimension; NULL if the scope subdivides
  uint32_t rank;
  uint32_t element_size_bytes;
} byoc_device_allocation_t;

enum {
  BYOC_QUEUE_OWN = 0,     // a new one
  BYOC_QUEUE_DEFAULT = 1, // the default queue of the vendor's library (CUDA's null stream)
  BYOC_QUEUE_NATIVE = 2,  // the caller's: a cl_command_queue, a CUstream. It is not destroyed with the handle
};

// The order of a command among others; a NULL pointer means no waits and no signal.
typedef struct byoc_device_order_t {
  byoc_device_event_t *const *waits; // the command runs after these
  uint32_t wait_count;
  uint32_t reserved;           // 0
  byoc_device_event_t *signal; // stands for this command from now on; NULL: none
} byoc_device_order_t;

// One side of a copy: bytes of the device, or of the host if `buffer` is NULL. Bytes are counted as in a dense tensor,
// for any layout of the scope. If the scope does not subdivide, the offset is 0 and the whole tensor is copied.
typedef struct byoc_device_bytes_t {
  byoc_device_buffer_t *buffer;
  uint64_t offset_bytes; // in `buffer`
  void *host;            // valid, and left alone, until the copy has ended
} byoc_device_bytes_t;

enum {
  BYOC_DEVICE_ARGUMENT_BUFFER = 1, // `buffer` and `offset_bytes`
  BYOC_DEVICE_ARGUMENT_I32 = 2,    // `integer`
  BYOC_DEVICE_ARGUMENT_I64 = 3,    // `integer`
  BYOC_DEVICE_ARGUMENT_F32 = 4,    // `real`
  BYOC_DEVICE_ARGUMENT_F64 = 5,    // `real`
  BYOC_DEVICE_ARGUMENT_LOCAL = 6,  // memory of one work-group, `integer` bytes
};

typedef struct byoc_device_argument_t {
  uint32_t kind;     // BYOC_DEVICE_ARGUMENT_*
  uint32_t reserved; // 0
  byoc_device_buffer_t *buffer;
  uint64_t offset_bytes;
  int64_t integer;
  double real;
} byoc_device_argument_t;

typedef struct byoc_device_launch_t {
  uint32_t struct_size; // sizeof(byoc_device_launch_t) of the caller
  uint32_t argument_count;
  byoc_device_entry_t *entry;
  uint32_t grid[3];  // work-groups along each axis; the driver runs nothing if one is 0
  uint32_t block[3]; // work-items of a work-group along each axis, at least 1
  const byoc_device_argument_t *arguments;
} byoc_device_launch_t;

// Code for one architecture, or for all.
typedef struct byoc_device_code_t {
  uint32_t struct_size; // sizeof(byoc_device_code_t) of the caller
  uint32_t reserved;    // 0
  const char *format;   // "cubin", "ptx", "opencl-c"
  const void *data;     // lives as long as the module; a NUL that is not counted follows it
  uint64_t size_bytes;
  const char *options; // for the driver's compiler; ""
} byoc_device_code_t;

typedef struct byoc_driver_t {
  uint32_t struct_size; // sizeof(byoc_driver_t) of the driver
  uint32_t abi_version; // BYOC_DRIVER_ABI_VERSION
  const char *name;     // as programs name it: "opencl"
  uint64_t flags;       // 0

  // Finds the vendor's library and opens a device. On failure *out_device is NULL, everything is released, and the
  // message names the missing thing and how to get it; it is shown after "the device 'mine' cannot start: ".
  // BYOC_NOT_FOUND without the library, the device or a permission that it needs, BYOC_VERSION for a library that is
  // too old, BYOC_OUT_OF_MEMORY.
  int32_t (*open)(const byoc_device_init_t *init, byoc_device_t **out_device);
  void (*close)(byoc_device_t *device); // accepts NULL; waits for all commands
  // The caller has set struct_size and zeroed the rest.
  int32_t (*describe)(byoc_device_t *device, byoc_device_info_t *out_info);

  // Contents are undefined. BYOC_OUT_OF_MEMORY if the device has too little memory.
  int32_t (*allocate)(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                      byoc_device_buffer_t **out_buffer);
  // Optional. Lets commands use memory of the host, which stays valid until the buffer is released. Between a command
  // that writes it and event_wait for that command the host does not read it. BYOC_UNSUPPORTED if this device, or this
  // address, cannot; the caller then copies.
  int32_t (*import)(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer);
  void (*release)(byoc_device_t *device, byoc_device_buffer_t *buffer);

  // `native` is read for BYOC_QUEUE_NATIVE only. BYOC_UNSUPPORTED for a kind that the device does not have.
  int32_t (*queue_create)(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue);
  void (*queue_destroy)(byoc_device_t *device, byoc_device_queue_t *queue);
  // Optional. Puts commands from now on into another queue of the caller.
  int32_t (*queue_rebind)(byoc_device_t *device, byoc_device_queue_t *queue, void *native);
  // Starts the commands in the queue, if the vendor's library would wait for more.
  int32_t (*queue_flush)(byoc_device_t *device, byoc_device_queue_t *queue);
  // Blocks until every command of the queue has ended. Returns the status of the first one that failed since the last
  // queue_wait, with its message through runtime->set_error, and forgets the failure.
  int32_t (*queue_wait)(byoc_device_t *device, byoc_device_queue_t *queue);

  int32_t (*event_create)(byoc_device_t *device, byoc_device_event_t **out_event);
  void (*event_destroy)(byoc_device_t *device, byoc_device_event_t *event);
  // *out_is_complete is 1 if the command has ended; then the status is that of the command.
  int32_t (*event_query)(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete);
  // Starts the commands in the device's queues, blocks until the command has ended and returns its status. The command
  // has ended, even if the status is a failure.
  int32_t (*event_wait)(byoc_device_t *device, byoc_device_event_t *event);
  // The begin and end of the command, in nanoseconds of a clock that all queues of the device share.
  // BYOC_INVALID_ARGUMENT if it has not ended or was never signalled, BYOC_UNSUPPORTED without BYOC_DEVICE_TIMES.
  int32_t (*event_times)(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                         uint64_t *out_end_ns);
  // The message of a command that failed; "" if it did not. Lives until another command signals the event.
  const char *(*event_error)(byoc_device_t *device, byoc_device_event_t *event);

  // `pattern` is repeated: pattern_size_bytes is 1, 2, 4 or 8 and divides offset_bytes and size_bytes.
  int32_t (*fill)(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                  uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                  const byoc_device_order_t *order);
  // At least one side is on the device; buffers belong to this device. The sides do not overlap.
  int32_t (*copy)(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                  const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order);
  int32_t (*launch)(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                    const byoc_device_order_t *order);
  // Only orders commands: later commands in the queue run after the waits, and the signal comes after earlier commands.
  int32_t (*barrier)(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order);

  // BYOC_UNSUPPORTED if the code is not for this device (the caller tries the next variant); BYOC_INVALID_DATA, with
  // the messages of the driver's compiler, if it is damaged or does not compile.
  int32_t (*module_load)(byoc_device_t *device, const byoc_device_code_t *code, byoc_device_module_t **out_module);
  void (*module_unload)(byoc_device_t *device, byoc_device_module_t *module);
  // The entry lives as long as its module. BYOC_NOT_FOUND if there is none of this name.
  int32_t (*module_entry)(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                          byoc_device_entry_t **out_entry);
  // Since minor 5; optional, and required if a module states what it fits (byoc_device_code_module_t). Called before
  // the module is loaded: compares the statement with the device. If it does not fit, calls runtime->set_error with
  // what is there and returns a status.
  int32_t (*fits)(byoc_device_t *device, const char *statement);
  // Since minor 5; optional. Reports the counters of the event's last command, which has ended: cycles, bytes,
  // utilisation. Called in profiled runs only, where event_times is, too. BYOC_INVALID_ARGUMENT if the command has not
  // ended or was never signalled.
  int32_t (*event_counters)(byoc_device_t *device, byoc_device_event_t *event, byoc_device_counter_sink_t sink,
                            void *argument);
} byoc_driver_t;

#ifdef __cplusplus
}
#endif
#endif // BYOC_DEVICE_H_
