// SPDX-License-Identifier: Apache-2.0
// Devices in host programs: their memories, queues and events, and launches. Part of core/hostir/program/program.h.
//
//   device   %d = "opencl" 0 type 4            // driver, ordinal, DLPack's device type
//   memory   of %d scope "global" 4096         // the workspace of one (device, scope)
//   queue    %q on %d                          // its commands run in order
//   event    %e on %d                          // stands for the last command that was told to signal it
//   local    %t : f32[4] on %d at 0            // in that workspace
//   copy     %x -> %t on %q signals %e         // a command: the host goes on at once
//   launch   "kernels" "scale" grid [4, 1, 1] block [64, 1, 1] (%t) -> (%u) with (operand 0, result 0) on %q
//   copy     %u -> %y on %q after (%e)         // runs behind what the event stood for when the host got here
//   await    (%e)                              // the host waits for what the event stands for
//
// An instruction with a queue is a command: the host hands it to the queue and goes on. Commands of one queue run in
// the order in which they were handed over, each after the one before has ended. Only events order two queues. The host
// has done an instruction without a queue before it goes on to the next one. A run ends when all commands have ended.
//
// A command uses memory of its queue's device. A copy may also have one side on the host, and the queues of the driver
// "host" run kernels and calls of the host on the host's memory. The host may touch memory that a command uses only
// behind an await that covers the command.
//
// In a dynamic program a value may be on a device, too: a local cell, or a parameter of a region. The host passes it
// on, matches its shape, begins and ends it without touching its bytes. Its memory is found when it is allocated, and
// reused when no command can use it any more; so its end waits for nothing. Stacked results of a loop are the host's.
//
//   local    %v : value f32[N,4] on %d
//
// ALLOCATE and FREE stand in the order of the host: between them commands that use the buffer may be handed over. They
// may still run behind the FREE. The next use of the same bytes, by another buffer or in a later iteration of a loop,
// must be ordered behind them as any two accesses must (happens_before.h).
#ifndef BYOC_CORE_HOSTIR_PROGRAM_DEVICE_H_
#define BYOC_CORE_HOSTIR_PROGRAM_DEVICE_H_

#include "core/base/vector.h"
#include "core/ir/dim.h"

#define BYOC_HOST_DRIVER     "host"   // its queues are the processor's; it has no archive and no memory of its own
#define BYOC_HOST_MAIN_SCOPE "global" // the scope of a buffer that does not say more

typedef struct byoc_host_device_t {
  uint32_t index; // in program->devices
  const char *name;
  const char *driver;
  int32_t ordinal; // which of the driver's devices
  int32_t type;    // DLPack's DLDeviceType
} byoc_host_device_t;

// The workspace of one scope of a device, in which offsets are multiples of BYOC_DEVICE_ALIGNMENT (byoc/device.h). If
// the scope does not subdivide, it is `apart`: each place is an allocation of its own, which has the type of the
// buffers that are there; offsets and sizes count allocations then.
typedef struct byoc_host_memory_t {
  uint32_t index; // in program->memories
  const byoc_host_device_t *device;
  const char *scope;
  bool is_apart;
  uint64_t size; // bytes, or allocations; once planned
} byoc_host_memory_t;

// X(NAME, "text"): which queue of the device it is.
#define BYOC_HOST_QUEUE_LIST(X)                                                                                        \
  X(OWN, "own")         /* one of the context's */                                                                     \
  X(DEFAULT, "default") /* the one that the vendor's library uses if it is told nothing */                             \
  X(CURRENT, "current") /* the caller's, read afresh at each run; one of the context's if the caller brings none */

#define BYOC_HOST_QUEUE_ENUM(NAME, text) BYOC_HOST_QUEUE_##NAME,
typedef enum byoc_host_queue_kind_t {
  BYOC_HOST_QUEUE_LIST(BYOC_HOST_QUEUE_ENUM) BYOC_HOST_QUEUE_KIND_COUNT
} byoc_host_queue_kind_t;
#undef BYOC_HOST_QUEUE_ENUM

// The most elements of a set.
#define BYOC_HOST_MAX_SET 64

typedef struct byoc_host_queue_t {
  uint32_t index; // in program->queues
  const char *name;
  const byoc_host_device_t *device;
  byoc_host_queue_kind_t kind;
  uint32_t count; // more than 0 for a set: `queue %q[4]`; 0: a single one
} byoc_host_queue_t;

typedef struct byoc_host_event_t {
  uint32_t index; // in program->events
  const char *name;
  const byoc_host_device_t *device; // whose commands signal it and wait for it
  uint32_t count;                   // as for queues
} byoc_host_event_t;

// A queue or an event that an instruction names. One of a set is that with the number `place` modulo the set's count.
typedef struct byoc_host_queue_use_t {
  const byoc_host_queue_t *queue; // NULL: the host does the instruction at once
  byoc_dim_t place;
} byoc_host_queue_use_t;

typedef struct byoc_host_event_use_t {
  const byoc_host_event_t *event; // NULL: none
  byoc_dim_t place;
} byoc_host_event_use_t;

// X(NAME, "text"): an argument of a kernel on a device.
#define BYOC_HOST_ARGUMENT_LIST(X)                                                                                     \
  X(OPERAND, "operand") /* a buffer, from offset_bytes on */                                                           \
  X(RESULT, "result")                                                                                                  \
  X(SCRATCH, "scratch") /* the launch's workspace */                                                                   \
  X(I32, "i32")         /* `value` */                                                                                  \
  X(I64, "i64")                                                                                                        \
  X(F32, "f32") /* `real` */                                                                                           \
  X(F64, "f64")                                                                                                        \
  X(LOCAL, "local") /* memory of one work-group, `value` bytes */

#define BYOC_HOST_ARGUMENT_ENUM(NAME, text) BYOC_HOST_ARGUMENT_##NAME,
typedef enum byoc_host_argument_kind_t {
  BYOC_HOST_ARGUMENT_LIST(BYOC_HOST_ARGUMENT_ENUM) BYOC_HOST_ARGUMENT_KIND_COUNT
} byoc_host_argument_kind_t;
#undef BYOC_HOST_ARGUMENT_ENUM

typedef struct byoc_host_argument_t {
  byoc_host_argument_kind_t kind;
  uint32_t index; // OPERAND, RESULT
  uint64_t offset_bytes;
  byoc_dim_t value; // over the program's symbols
  double real;
} byoc_host_argument_t;

typedef struct byoc_host_launch_t {
  const char *module, *entry; // a device module of the program's graph module, and a kernel in it
  byoc_dim_t grid[3];         // work-groups along each axis, over the program's symbols; nothing runs if one is 0
  byoc_dim_t block[3];        // work-items of a work-group along each axis
  const byoc_host_argument_t *arguments;
  uint32_t argument_count;
} byoc_host_launch_t;

// The elements of a queue or an event.
static inline uint32_t byoc_host_set_count(uint32_t count) {
  return count > 0 ? count : 1;
}

#endif // BYOC_CORE_HOSTIR_PROGRAM_DEVICE_H_
