// SPDX-License-Identifier: Apache-2.0
// The devices of a context: opened when it is made, given commands by its runs. The artifact and the evaluator share
// this; nothing here links a vendor's library.
//
// Constant tables (byoc_places_t) say what a program needs; byoc_devices_t is what a context has of it. Each
// instruction that is put into a queue, or waits, is a command: a row of the tables, and a prepared state that a run
// changes where something depends on the caller's pointers or on symbols. A run allocates nothing, but for values whose
// sizes it finds: these are cells, whose memory is kept for later ones of about the same size.
//
// The processor, whose queues run at once, is not in the tables: what is on its queues is done as if there were none.
#ifndef BYOC_CORE_RUNTIME_DEVICE_H_
#define BYOC_CORE_RUNTIME_DEVICE_H_

#include "byoc/artifact.h"
#include "byoc/device.h"
#include "core/runtime/cell.h"

#define BYOC_PLACE_NONE UINT32_MAX

typedef struct byoc_place_device_t {
  const char *name; // of the driver
  const byoc_driver_t *driver;
  int32_t ordinal;
} byoc_place_device_t;

// Where a queue comes from.
enum {
  BYOC_PLACE_QUEUE_OWN = 0,
  BYOC_PLACE_QUEUE_DEFAULT = 1, // of the vendor's library
  BYOC_PLACE_QUEUE_CURRENT = 2, // the caller's, as it is when a run begins; one of its own if the caller gives none
};

typedef struct byoc_place_queue_t {
  uint32_t device, kind; // BYOC_PLACE_QUEUE_*
} byoc_place_queue_t;

// What a program has in one scope of one device.
typedef struct byoc_place_memory_t {
  uint32_t device;
  const char *scope;
  uint32_t is_apart;             // 1: offsets of tensors count allocations
  uint64_t workspace_size_bytes; // if it is not apart
} byoc_place_memory_t;

// A tensor on a device. It lies in the workspace of its memory, at an offset in bytes. If the memory is apart, tensors
// with the same offset, which have the same type, share an allocation. A constant has one of its own, and so has every
// tensor where the device's scope does not subdivide or an offset does not suit the device's alignment.
typedef struct byoc_place_tensor_t {
  const char *name;
  uint32_t memory, rank, element_size_bytes;
  const int64_t *dims;
  uint64_t offset_bytes, size_bytes;
  const void *data; // a constant, which is copied when the context is made; NULL: none
} byoc_place_tensor_t;

// Code, in the order in which it is tried.
typedef struct byoc_place_variant_t {
  const char *format;
  const char *architecture; // of the only device that it is for; NULL: any
  const char *options;
  const void *data;
  uint64_t size_bytes;
} byoc_place_variant_t;

typedef struct byoc_place_module_t {
  const char *name;
  uint32_t device, variant_count;
  const byoc_place_variant_t *variants;
} byoc_place_module_t;

typedef struct byoc_place_entry_t {
  const char *name;
  uint32_t module;
} byoc_place_entry_t;

// An argument of a launch: a tensor, or a number.
typedef struct byoc_place_argument_t {
  uint32_t kind;   // BYOC_DEVICE_ARGUMENT_*
  uint32_t tensor; // BUFFER; NONE: a value in a cell, which the run puts there
  uint64_t offset_bytes;
  int64_t integer;
  double real;
} byoc_place_argument_t;

// A queue or an event; `count` is larger than 1 if a number chooses among several, which is taken modulo `count`: of
// -1, the last one.
typedef struct byoc_place_choice_t {
  uint32_t first, count; // count 0: none
} byoc_place_choice_t;

enum {
  BYOC_PLACE_COPY = 1,
  BYOC_PLACE_FILL = 2,
  BYOC_PLACE_LAUNCH = 3,
  BYOC_PLACE_BARRIER = 4,
  BYOC_PLACE_AWAIT = 5, // the host waits for `waits`
};

// One side of a copy, or what is filled.
typedef struct byoc_place_bytes_t {
  uint32_t tensor; // NONE: on the host, or a value in a cell
  uint64_t offset_bytes;
} byoc_place_bytes_t;

typedef struct byoc_place_command_t {
  uint32_t kind; // BYOC_PLACE_*
  byoc_place_choice_t queue;
  uint32_t first_wait, wait_count; // in byoc_places_t.waits
  byoc_place_choice_t signal;
  byoc_place_bytes_t source, destination; // COPY; FILL: destination
  uint64_t size_bytes;                    // COPY, FILL
  uint64_t pattern;                       // FILL, in its first bytes
  uint32_t pattern_size_bytes;            // FILL
  uint32_t entry;                         // LAUNCH
  uint32_t first_argument, argument_count;
  uint32_t grid[3], block[3];
} byoc_place_command_t;

// A tensor that a copy fills from an input, or an output from. Nothing else writes the tensor, or the output. Where the
// device can use the caller's buffer, that is the tensor, and the copy has nothing to do.
typedef struct byoc_place_port_t {
  uint32_t tensor, command;
  uint32_t port, is_output; // which of the inputs or outputs
} byoc_place_port_t;

typedef struct byoc_places_t {
  const byoc_place_device_t *devices;
  const byoc_place_queue_t *queues;
  const byoc_place_memory_t *memories;
  const byoc_place_tensor_t *tensors;
  const byoc_place_module_t *modules;
  const byoc_place_entry_t *entries;
  const byoc_place_argument_t *arguments;
  const byoc_place_choice_t *waits;
  const byoc_place_command_t *commands;
  const char *const *steps; // by command: what it came from, for profiles
  const byoc_place_port_t *ports;
  uint32_t device_count, queue_count, memory_count, tensor_count, module_count, entry_count, argument_count, wait_count,
      command_count, event_count, port_count;
  uint32_t times;        // 1: commands have time stamps
  uint32_t has_fallback; // 1: if they cannot be opened, the program does without (byoc_check_devices)
} byoc_places_t;

// What a run may change before it gives the command: the host's side of a copy, places, grids. The arguments of a
// launch stand in byoc_devices_t.arguments, from first_argument on.
typedef struct byoc_open_command_t {
  byoc_device_bytes_t source, destination;
  uint64_t size_bytes;
  byoc_device_launch_t launch;
  int64_t queue, signal; // which one of its choice
  uint32_t is_idle;      // 1: a copy between two names of the same bytes
  // Of a copy from an input to a value, or from a value to an output: the host's side as memory of the device until the
  // run ends; NULL: it is copied.
  byoc_device_buffer_t *lent;
  uint32_t first_handle;     // in byoc_devices_t.handles: one for each event that it may signal
  byoc_device_event_t *last; // the one that it signalled last; NULL: none in this run
} byoc_open_command_t;

typedef struct byoc_open_device_t {
  const byoc_driver_t *driver;
  byoc_device_t *handle;
  byoc_device_info_t info;
  byoc_device_queue_t *service; // for constants and traces; NULL until it is needed
} byoc_open_device_t;

typedef struct byoc_open_queue_t {
  byoc_open_device_t *device;
  byoc_device_queue_t *handle;
  const byoc_caller_queue_t *caller; // NULL: it is not the caller's
  void *native;                      // of the caller, at present
  uint32_t is_open, is_flushed;      // has commands that nobody has waited for; all of them are started
} byoc_open_queue_t;

typedef struct byoc_open_tensor_t {
  byoc_device_buffer_t *buffer;
  uint64_t offset_bytes;
  uint32_t is_own;      // 1: the buffer is released with this tensor
  uint32_t is_imported; // 1: the buffer is memory of the host
  uint32_t is_port;     // 1: it has a row in byoc_places_t.ports
} byoc_open_tensor_t;

// The memory of one scope of a device.
typedef struct byoc_open_memory_t {
  byoc_device_buffer_t *workspace; // NULL: none
  uint32_t scope;                  // index among those of the device
  uint32_t shares_blocks;          // 1: a block serves any value of its size class
  uint32_t queue_count;            // of the device, in this program
  // Blocks of values whose sizes the run knows (device_cell.c): those that may be taken, and those that commands of
  // this run may still use.
  struct byoc_block_of_memory_t *free, *ended;
} byoc_open_memory_t;

// What a run has of a port.
typedef struct byoc_open_port_t {
  void *host;                 // the caller's buffer, which whoever begins a run puts here
  byoc_device_buffer_t *lent; // the same as memory of the device; NULL: it is copied
  byoc_open_tensor_t own;     // the tensor without it
} byoc_open_port_t;

// The command that an event stands for in this run.
typedef struct byoc_open_event_t {
  byoc_open_device_t *device; // NULL: none, or one that has ended
  byoc_device_event_t *handle;
} byoc_open_event_t;

typedef struct byoc_devices_t {
  const byoc_places_t *places;
  byoc_open_command_t *commands;
  byoc_device_argument_t *arguments;
  int64_t *waits; // by row of places->waits: which one of its choice
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
  uint64_t run;           // its number, to see which blocks are idle
  byoc_runtime_t runtime; // what drivers get
  const byoc_runtime_t *outer;
  byoc_profile_sink_t profile; // of this run; NULL: nobody asked
  void *profile_argument;
  char reason[512]; // of a driver
} byoc_devices_t;

// Opens devices, allocates memory, copies constants, loads code and makes queues and events. On failure *out_devices is
// NULL, nothing is held, and `runtime` has the sentence: the status of the driver, BYOC_VERSION for a driver of another
// ABI, BYOC_UNSUPPORTED if no code is for this device or it lacks a scope, BYOC_OUT_OF_MEMORY. `places` and `runtime`
// outlive the devices; `callers` is copied.
int32_t byoc_devices_create(const byoc_places_t *places, const byoc_runtime_t *runtime,
                            const byoc_caller_queue_t *callers, uint32_t caller_count, byoc_devices_t **out_devices);
void byoc_devices_destroy(byoc_devices_t *devices); // accepts NULL

// A run begins: events stand for nothing, and the caller's queues are read. A run that began ends with
// byoc_devices_finish, whatever happens in between.
int32_t byoc_devices_begin(byoc_devices_t *devices);
// Lets the device use the buffers that byoc_devices_t.ports name, where it can, until the run ends. A failure is one of
// the driver's.
int32_t byoc_devices_lend(byoc_devices_t *devices);
// Puts the command into its queue, or waits.
int32_t byoc_devices_run(byoc_devices_t *devices, uint32_t command);
// Makes a value with undefined contents in a memory; its cells hold the bytes. BYOC_INVALID_ARGUMENT for a negative
// dimension, BYOC_OUT_OF_MEMORY.
int32_t byoc_devices_allocate_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                   uint32_t dtype, uint32_t rank, const int64_t *dims);
// The same for a value that an input lends its bytes: it has none until byoc_devices_lend_cell, which comes before
// anything that uses them.
int32_t byoc_devices_announce_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                   uint32_t dtype, uint32_t rank, const int64_t *dims);
// The same for a value that `command` copies to the host's value `output`. Where the device can use the host's memory,
// the output is allocated, too, the value has its bytes until the run ends, and the command is_idle; otherwise the
// output has no memory yet.
int32_t byoc_devices_allocate_output(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                     uint32_t output, uint32_t command, uint32_t dtype, uint32_t rank,
                                     const int64_t *dims);
// Where a value on a device is.
byoc_device_buffer_t *byoc_devices_cell_buffer(const byoc_cell_t *cell);
// Makes a value an argument of a launch, from an offset on; BYOC_INVALID_ARGUMENT if it ends before that.
int32_t byoc_devices_set_argument(byoc_devices_t *devices, uint32_t argument, const byoc_cell_t *cell,
                                  uint64_t offset_bytes);
// An extent of a launch that was computed; BYOC_INVALID_ARGUMENT, in a sentence, if no launch can be as large.
int32_t byoc_devices_extent(byoc_devices_t *devices, int64_t value, uint32_t *out_extent);
// Lets an announced value, which the copy would fill from an input, be the input's own bytes until the run ends, where
// the device can use them; otherwise the value gets memory, and the copy is put into it. The copy's source and size are
// set. A failure is one of the driver's.
int32_t byoc_devices_lend_cell(byoc_devices_t *devices, byoc_open_command_t *copy, byoc_cell_t *cell);
// A number of a launch that was computed; BYOC_INVALID_ARGUMENT, in a sentence, if the kernel's integer is too narrow.
int32_t byoc_devices_set_integer(byoc_devices_t *devices, uint32_t argument, int64_t value);
// Waits until every command has ended and returns the status of the first one that failed. If `status` is a failure
// already, that is returned, and its text stays.
int32_t byoc_devices_finish(byoc_devices_t *devices, int32_t status);
// Waits until every command so far has ended; the run goes on.
int32_t byoc_devices_settle(byoc_devices_t *devices);
// Copies bytes of a tensor to the host when all commands have ended: for traces.
int32_t byoc_devices_read(byoc_devices_t *devices, uint32_t tensor, uint64_t offset_bytes, uint64_t size_bytes,
                          void *out);
// The same for all bytes of a value.
int32_t byoc_devices_read_cell(byoc_devices_t *devices, const byoc_cell_t *cell, void *out);
// When the command began and ended in its last turn, once that has ended; needs places->times.
int32_t byoc_devices_times(byoc_devices_t *devices, uint32_t command, uint64_t *out_begin_ns, uint64_t *out_end_ns);

#endif // BYOC_CORE_RUNTIME_DEVICE_H_
