// SPDX-License-Identifier: Apache-2.0
// The devices of a context: they are opened with it, and its runs give them commands. The artifact and the evaluator
// share this code; it does not link to a vendor's library.
//
// Constant tables (byoc_device_tables_t) describe the devices of a program; byoc_devices_t is their state in one
// context. Each instruction that goes to a queue, or waits, is a command: a row of the tables, and a prepared state. A
// run changes the parts of that state that depend on the caller's pointers or on symbols. A run allocates nothing,
// except for values whose sizes only the run knows: these are cells, and their memory is kept for later cells of about
// the same size.
//
// The processor is not in the tables: instructions on its queues are executed at once.
#ifndef BYOC_CORE_RUNTIME_DEVICE_H_
#define BYOC_CORE_RUNTIME_DEVICE_H_

#include "byoc/artifact.h"
#include "byoc/device.h"
#include "core/runtime/cell.h"
#include "core/runtime/option.h"

#define BYOC_DEVICE_NO_ROW UINT32_MAX

typedef struct byoc_device_row_t {
  const char *name; // of the driver
  const byoc_driver_t *driver;
  int32_t ordinal;
  uint32_t option_count;
  const byoc_runtime_option_row_t *options; // those that a context may set; NULL: none
} byoc_device_row_t;

// The origin of a queue.
enum {
  BYOC_DEVICE_QUEUE_OWN = 0,
  BYOC_DEVICE_QUEUE_DEFAULT = 1, // of the vendor's library
  BYOC_DEVICE_QUEUE_CURRENT = 2, // the caller's at the begin of a run; an own queue if the caller gives none
};

typedef struct byoc_device_queue_row_t {
  uint32_t device, kind; // BYOC_DEVICE_QUEUE_*
} byoc_device_queue_row_t;

// The memory of a program in one scope of one device.
typedef struct byoc_device_memory_row_t {
  uint32_t device;
  const char *scope;
  uint32_t is_apart;             // 1: each tensor has an allocation, and its offset is the number of that allocation
  uint64_t workspace_size_bytes; // if is_apart is 0
} byoc_device_memory_row_t;

// A tensor on a device. It lies in the workspace of its memory, at an offset in bytes. If the memory is apart, tensors
// with the same offset have the same type and share an allocation. A constant has an allocation of its own. So has
// every tensor if the device's scope does not subdivide, or if an offset does not fit the device's alignment.
typedef struct byoc_device_tensor_row_t {
  const char *name;
  uint32_t memory, rank, element_size_bytes;
  const int64_t *dims;
  uint64_t offset_bytes, size_bytes;
  const void *data; // of a constant, which is copied when the context is made; otherwise NULL
} byoc_device_tensor_row_t;

// Code, in the order in which it is tried.
typedef struct byoc_device_variant_row_t {
  const char *format;
  const char *architecture; // the only architecture that can run it; NULL: any
  const char *options;
  const void *data;
  uint64_t size_bytes;
} byoc_device_variant_row_t;

typedef struct byoc_device_module_row_t {
  const char *name;
  uint32_t device, variant_count;
  const byoc_device_variant_row_t *variants;
  const char *fits; // the device that it was made for, in the words of its backend; NULL: it does not say
} byoc_device_module_row_t;

typedef struct byoc_device_entry_row_t {
  const char *name;
  uint32_t module;
} byoc_device_entry_row_t;

// An argument of a launch: a tensor, or a number.
typedef struct byoc_device_argument_row_t {
  uint32_t kind;   // BYOC_DEVICE_ARGUMENT_*
  uint32_t tensor; // BUFFER; NONE: a value in a cell, which is set by the run
  uint64_t offset_bytes;
  int64_t integer;
  double real;
} byoc_device_argument_row_t;

// A queue or an event. If `count` is larger than 1, a number modulo `count` chooses among several; -1 is the last one.
typedef struct byoc_device_choice_t {
  uint32_t first, count; // count 0: none
} byoc_device_choice_t;

enum {
  BYOC_DEVICE_COMMAND_COPY = 1,
  BYOC_DEVICE_COMMAND_FILL = 2,
  BYOC_DEVICE_COMMAND_LAUNCH = 3,
  BYOC_DEVICE_COMMAND_BARRIER = 4,
  BYOC_DEVICE_COMMAND_AWAIT = 5, // the host waits for `waits`
};

// One side of a copy, or the destination of a fill.
typedef struct byoc_device_span_t {
  uint32_t tensor; // NONE: on the host, or a value in a cell
  uint64_t offset_bytes;
} byoc_device_span_t;

typedef struct byoc_device_command_row_t {
  uint32_t kind; // BYOC_DEVICE_COMMAND_*
  byoc_device_choice_t queue;
  uint32_t first_wait, wait_count; // in byoc_device_tables_t.waits
  byoc_device_choice_t signal;
  byoc_device_span_t source, destination; // COPY; FILL: destination
  uint64_t size_bytes;                    // COPY, FILL
  uint64_t pattern;                       // FILL, in its first bytes
  uint32_t pattern_size_bytes;            // FILL
  uint32_t entry;                         // LAUNCH
  uint32_t first_argument, argument_count;
  uint32_t grid[3], block[3];
} byoc_device_command_row_t;

// A tensor that a copy fills from an input, or from which a copy fills an output. Nothing else writes the destination.
// Where the device can use the caller's buffer, the tensor is that buffer, and nothing is copied.
typedef struct byoc_device_port_row_t {
  uint32_t tensor, command;
  uint32_t port, is_output; // number of the input or output
} byoc_device_port_row_t;

typedef struct byoc_device_tables_t {
  const byoc_device_row_t *devices;
  const byoc_device_queue_row_t *queues;
  const byoc_device_memory_row_t *memories;
  const byoc_device_tensor_row_t *tensors;
  const byoc_device_module_row_t *modules;
  const byoc_device_entry_row_t *entries;
  const byoc_device_argument_row_t *arguments;
  const byoc_device_choice_t *waits;
  const byoc_device_command_row_t *commands;
  const char *const *steps; // by command: the name of its step, for profiles
  const byoc_device_port_row_t *ports;
  uint32_t device_count, queue_count, memory_count, tensor_count, module_count, entry_count, argument_count, wait_count,
      command_count, event_count, port_count;
  uint32_t times;        // 1: commands have time stamps
  uint32_t has_fallback; // 1: without devices, the program has another branch (byoc_check_devices)
} byoc_device_tables_t;

// The state of a command that a run may change before it gives the command: the host's side of a copy, offsets, grids.
// The arguments of a launch are in byoc_devices_t.arguments, from first_argument on.
typedef struct byoc_open_command_t {
  byoc_device_bytes_t source, destination;
  uint64_t size_bytes;
  byoc_device_launch_t launch;
  int64_t queue, signal; // index into the choice
  uint32_t is_idle;      // 1: a copy between two names of the same bytes
  // For a copy between a port and a value: the host's side as memory of the device until the run ends; NULL: it is
  // copied.
  byoc_device_buffer_t *lent;
  uint32_t first_handle;     // in byoc_devices_t.handles: the handles of the events that it may signal
  byoc_device_event_t *last; // the event that it signalled last in this run, or NULL
  uint64_t host_ns;          // in a profiled run: the host's time for it since the last report
} byoc_open_command_t;

typedef struct byoc_open_device_t {
  const byoc_driver_t *driver;
  byoc_device_t *handle;
  byoc_device_info_t info;
  byoc_device_queue_t *service;   // for constants and traces; NULL until it is needed
  byoc_runtime_option_t *options; // its run-time options
} byoc_open_device_t;

typedef struct byoc_open_queue_t {
  byoc_open_device_t *device;
  byoc_device_queue_t *handle;
  const byoc_caller_queue_t *caller; // NULL: it is not the caller's
  void *native;                      // the caller's queue, at present
  uint32_t is_open, is_flushed;      // it has commands that no wait has covered; all of them are started
} byoc_open_queue_t;

typedef struct byoc_open_tensor_t {
  byoc_device_buffer_t *buffer;
  uint64_t offset_bytes;
  uint32_t is_own;      // 1: the buffer is released with this tensor
  uint32_t is_imported; // 1: the buffer is memory of the host
  uint32_t is_port;     // 1: it has a row in byoc_device_tables_t.ports
} byoc_open_tensor_t;

// The memory of one scope of a device.
typedef struct byoc_open_memory_t {
  byoc_device_buffer_t *workspace; // NULL: none
  uint32_t scope;                  // index among those of the device
  uint32_t shares_blocks;          // 1: a block serves any value of its size class
  uint32_t queue_count;            // of the device, in this program
  // Blocks of values whose sizes only the run knows (device_cell.c): free ones, and released ones that commands of this
  // run may still use.
  struct byoc_block_of_memory_t *free, *ended;
} byoc_open_memory_t;

// The state of a port in a run.
typedef struct byoc_open_port_t {
  void *host;                 // the caller's buffer, set before byoc_devices_lend
  byoc_device_buffer_t *lent; // the same buffer as memory of the device; NULL: it is copied
  byoc_open_tensor_t own;     // the tensor's own memory
} byoc_open_port_t;

// The command that an event stands for in this run.
typedef struct byoc_open_event_t {
  byoc_open_device_t *device; // NULL: there is no command, or it has ended
  byoc_device_event_t *handle;
} byoc_open_event_t;

typedef struct byoc_devices_t {
  const byoc_device_tables_t *places;
  byoc_open_command_t *commands;
  byoc_device_argument_t *arguments;
  int64_t *waits; // by row of places->waits: index into the choice
  byoc_open_device_t *devices;
  byoc_open_queue_t *queues;
  byoc_open_memory_t *memories;
  byoc_open_tensor_t *tensors;
  byoc_open_port_t *ports;
  byoc_device_module_t **modules;
  byoc_device_entry_t **entries;
  byoc_open_event_t *events;
  byoc_device_event_t **handles;
  byoc_device_event_t **order;  // scratch of one command's wait list
  byoc_caller_queue_t *callers; // a copy of the options'
  uint32_t caller_count;
  uint64_t run;           // number of the run, to see which blocks are idle
  byoc_runtime_t runtime; // the runtime that drivers get
  const byoc_runtime_t *outer;
  byoc_profile_sink_t profile; // of this run; NULL: not asked for
  void *profile_argument;
  struct byoc_reporter_t *reporter; // of counters (core/runtime/report.h); NULL: none
  char reason[512];                 // the last message of a driver
} byoc_devices_t;

// Opens devices, allocates memory, copies constants, loads code and makes queues and events. On failure *out_devices is
// NULL, everything is closed, and `runtime` has the message. The status is that of the driver, BYOC_VERSION for a
// driver of another ABI, BYOC_UNSUPPORTED if there is no code for this device or it lacks a scope, or
// BYOC_OUT_OF_MEMORY. `places` and `runtime` outlive the devices; `callers` and `values`, which were checked, are
// copied.
int32_t byoc_devices_create(const byoc_device_tables_t *places, const byoc_runtime_t *runtime,
                            const byoc_caller_queue_t *callers, uint32_t caller_count, byoc_runtime_values_t values,
                            byoc_devices_t **out_devices);
void byoc_devices_destroy(byoc_devices_t *devices); // accepts NULL

// Begins a run: forgets the events of the last one, and reads the caller's queues. Each run that began must end by
// byoc_devices_finish, even if it fails.
int32_t byoc_devices_begin(byoc_devices_t *devices);
// Lets the device use the buffers in byoc_devices_t.ports until the run ends, where it can. Returns the driver's
// status.
int32_t byoc_devices_lend(byoc_devices_t *devices);
// Puts the command into its queue; an AWAIT waits.
int32_t byoc_devices_run(byoc_devices_t *devices, uint32_t command);
// Makes a value with undefined contents in a memory; its cells hold the bytes. BYOC_INVALID_ARGUMENT for a negative
// dimension, BYOC_OUT_OF_MEMORY.
int32_t byoc_devices_allocate_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                   uint32_t dtype, uint32_t rank, const int64_t *dims);
// The same for a value that may use the bytes of an input. It has no memory until byoc_devices_lend_cell, which must
// precede every use.
int32_t byoc_devices_announce_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                   uint32_t dtype, uint32_t rank, const int64_t *dims);
// The same for a value that `command` copies to the host's value `output`. Where the device can use the host's memory,
// the output is allocated, too, the value uses its bytes until the run ends, and the command is_idle. Otherwise the
// output gets no memory here.
int32_t byoc_devices_allocate_output(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                     uint32_t output, uint32_t command, uint32_t dtype, uint32_t rank,
                                     const int64_t *dims);
// The buffer of a value on a device.
byoc_device_buffer_t *byoc_devices_cell_buffer(const byoc_cell_t *cell);
// Makes a value an argument of a launch, from an offset on; BYOC_INVALID_ARGUMENT if the offset is beyond its end.
int32_t byoc_devices_set_argument(byoc_devices_t *devices, uint32_t argument, const byoc_cell_t *cell,
                                  uint64_t offset_bytes);
// Checks a computed extent of a launch; BYOC_INVALID_ARGUMENT with a message if it is negative or too large.
int32_t byoc_devices_extent(byoc_devices_t *devices, int64_t value, uint32_t *out_extent);
// Gives an announced value its bytes: those of the input until the run ends, where the device can use them; otherwise
// memory, into which `copy` copies the input. The copy's source and size must be set. Returns the driver's status.
int32_t byoc_devices_lend_cell(byoc_devices_t *devices, byoc_open_command_t *copy, byoc_cell_t *cell);
// Sets a computed integer argument; BYOC_INVALID_ARGUMENT with a message if the kernel's integer is too narrow.
int32_t byoc_devices_set_integer(byoc_devices_t *devices, uint32_t argument, int64_t value);
// Waits until every command has ended and returns the status of the first one that failed. If `status` is a failure, it
// is returned, and its message stays.
int32_t byoc_devices_finish(byoc_devices_t *devices, int32_t status);
// Waits until every command so far has ended; the run goes on.
int32_t byoc_devices_settle(byoc_devices_t *devices);
// Copies bytes of a tensor to the host when all commands have ended: for traces.
int32_t byoc_devices_read(byoc_devices_t *devices, uint32_t tensor, uint64_t offset_bytes, uint64_t size_bytes,
                          void *out);
// The same for all bytes of a value.
int32_t byoc_devices_read_cell(byoc_devices_t *devices, const byoc_cell_t *cell, void *out);
// The begin and end of the command's last execution, which must have ended; needs places->times.
int32_t byoc_devices_times(byoc_devices_t *devices, uint32_t command, uint64_t *out_begin_ns, uint64_t *out_end_ns);

#endif // BYOC_CORE_RUNTIME_DEVICE_H_
