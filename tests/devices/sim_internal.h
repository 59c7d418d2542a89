// SPDX-License-Identifier: Apache-2.0
// What the files of the driver `sim` share. Fields of a device, and of what belongs to it, are guarded by its lock
// unless a line says otherwise.
#ifndef BYOC_TESTS_DEVICES_SIM_INTERNAL_H_
#define BYOC_TESTS_DEVICES_SIM_INTERNAL_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "tests/devices/sim.h"
#include "tests/devices/sim_kernel.h"

typedef struct sim_command_t sim_command_t;

// --- options (sim_options.c)

// X(name, can it fail late)
#define SIM_CALL_LIST(X)                                                                                               \
  X(open, 0)                                                                                                           \
  X(allocate, 0)                                                                                                       \
  X(import, 0)                                                                                                         \
  X(queue, 0)                                                                                                          \
  X(event, 0)                                                                                                          \
  X(module, 0)                                                                                                         \
  X(entry, 0)                                                                                                          \
  X(flush, 0)                                                                                                          \
  X(wait, 0)                                                                                                           \
  X(fill, 1)                                                                                                           \
  X(copy, 1)                                                                                                           \
  X(launch, 1)                                                                                                         \
  X(barrier, 1)                                                                                                        \
  X(any, 1)

#define SIM_CALL_CONSTANT(name, late) SIM_CALL_##name,
typedef enum sim_call_t { SIM_CALL_LIST(SIM_CALL_CONSTANT) SIM_CALL_COUNT } sim_call_t;
#undef SIM_CALL_CONSTANT

enum { SIM_TEXT_BYTES = 512, SIM_NAME_BYTES = 64 };

typedef struct sim_options_t {
  uint64_t devices, memory_bytes, delay_us, order_seed;
  uint64_t stamp_ns;
  int unified, ordered, times, has_stamps, nan;
  sim_call_t fail_call; // SIM_CALL_COUNT: none
  int fail_late;
  uint64_t fail_number;
  char architecture[SIM_NAME_BYTES], version[SIM_NAME_BYTES];
  int log; // file descriptor, -1: none
} sim_options_t;

// Reads the options; BYOC_INVALID_ARGUMENT, with the sentence, for what cannot be read.
int32_t sim_options_read(sim_options_t *out_options, char *error, size_t error_size);
void sim_options_close(sim_options_t *options);
// Is this call of open the one that is to fail?
int sim_options_fail_open(const sim_options_t *options);

// --- devices (sim.c)

struct byoc_device_t {
  const byoc_runtime_t *runtime;
  sim_options_t options;
  uint64_t flags;
  int32_t ordinal;
  atomic_int entered; // a thread is in a slot that one thread at a time may call
  pthread_mutex_t lock;
  pthread_cond_t changed; // a command ended, or may begin
  uint64_t calls[SIM_CALL_COUNT];
  sim_counts_t counts;
  uint64_t queue_number;  // of the next queue, for the log
  sim_command_t *all;     // every command that was made, to be freed and used again
  sim_command_t *idle;    // those that nobody refers to
  sim_command_t *first;   // those in queues that have not ended, in the order in which they were put there
  sim_command_t *last;    //
  sim_command_t *drawn;   // option `order`: the one that runs next
  uint32_t running_count; // option `order`
  uint64_t random;        // option `order`
  sim_native_queue_t *default_queue;
};

// Enters a slot that one thread at a time may call, and counts the call. Returns a status if the call is to fail.
int32_t sim_enter(byoc_device_t *device, sim_call_t call);
void sim_enter_uncounted(byoc_device_t *device);
void sim_leave(byoc_device_t *device);
// Counts a call; 1 if it is the one that is to fail. With the lock held.
int sim_counted_fails(byoc_device_t *device, sim_call_t call, int late);
// Tells the runtime and returns the status.
int32_t sim_fail(const byoc_device_t *device, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sim_log(const byoc_device_t *device, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Stops the program.
void sim_mistake(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
// Adds to what is alive, here and in all.
void sim_alive(byoc_device_t *device, size_t member, int64_t change);
#define SIM_ALIVE(device, member, change) sim_alive(device, offsetof(sim_counts_t, member), change)

// --- memory (sim_memory.c)

typedef struct sim_buffer_t {
  byoc_device_t *device;
  uint32_t scope;
  uint32_t use_count; // of commands that have not ended
  uint64_t size_bytes;
  uint64_t row_bytes, pitch_bytes; // 0 if dense
  uint64_t stored_bytes;           // size_bytes, or all rows with their padding
  char *data;                      // where the bytes are, or memory of the host
  void *mapping;                   // the pages around `data`; NULL: memory of the host
  size_t mapping_bytes;
  size_t handle_bytes; // of this record and of the pages behind it that nobody may touch
} sim_buffer_t;

// Bytes that a command reads or writes.
typedef struct sim_span_t {
  sim_buffer_t *buffer; // NULL: the host's
  char *data;
  uint64_t row_bytes, pitch_bytes;
} sim_span_t;

extern const byoc_device_scope_t sim_scopes[];
enum { SIM_SCOPE_COUNT = 3 };

sim_buffer_t *sim_buffer(const byoc_device_buffer_t *handle);
// Checks the range and finds its bytes.
int32_t sim_find_span(byoc_device_t *device, const byoc_device_buffer_t *handle, uint64_t offset_bytes,
                      uint64_t size_bytes, sim_span_t *out_span);
int32_t sim_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                     byoc_device_buffer_t **out_buffer);
int32_t sim_import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer);
void sim_release(byoc_device_t *device, byoc_device_buffer_t *handle);

// --- modules (sim_module.c, sim_kernels.c)

struct byoc_device_module_t {
  byoc_device_t *device;
  void *library; // of dlopen; NULL: names of kernels of our own
  int file;      // it was loaded from
  char *names;
  byoc_device_entry_t *entries; // those that were asked for
  uint32_t use_count;           // of commands that have not ended
};

struct byoc_device_entry_t {
  byoc_device_entry_t *next;
  byoc_device_module_t *module;
  sim_kernel_t kernel;
  char name[SIM_NAME_BYTES];
};

sim_kernel_t sim_own_kernel(const char *name); // NULL: there is none
int32_t sim_fits(byoc_device_t *device, const char *statement);
int32_t sim_module_load(byoc_device_t *device, const byoc_device_code_t *code, byoc_device_module_t **out_module);
void sim_module_unload(byoc_device_t *device, byoc_device_module_t *module);
int32_t sim_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                         byoc_device_entry_t **out_entry);

// --- queues and their commands (sim_queue.c)

struct byoc_device_queue_t {
  byoc_device_t *device;
  uint64_t number;
  uint32_t kind;
  sim_native_queue_t *native; // runs the commands; our own unless kind is BYOC_QUEUE_NATIVE
  int32_t failure;            // of the first command that failed since queue_wait
  char failure_text[SIM_TEXT_BYTES];
};

typedef enum sim_state_t { SIM_PENDING, SIM_RUNNING, SIM_ENDED } sim_state_t;

struct sim_command_t {
  sim_command_t *next_made;
  sim_command_t *previous, *next; // in the device's list of those that have not ended; `next` also among idle ones
  byoc_device_t *device;
  byoc_device_queue_t *queue; // NULL once the queue is destroyed
  sim_native_queue_t *native;
  uint64_t number;          // of the device's commands
  sim_call_t call;          // that put it into its queue
  uint32_t reference_count; // the list, events, commands that wait for it
  sim_state_t state;
  int may_begin; // option `order`
  int fails;     // it is the one that fails late
  int32_t status;
  char error[SIM_TEXT_BYTES];
  uint64_t begin_ns, end_ns;
  sim_command_t **waits;
  uint32_t wait_count, wait_capacity;

  // What it does, read by the queue's thread without the lock.
  int32_t (*execute)(sim_command_t *command);
  sim_span_t source, destination;
  uint64_t size_bytes;
  char pattern[8];
  uint32_t pattern_size_bytes;
  byoc_device_entry_t *entry;
  uint32_t grid[3], block[3];
  sim_argument_t *arguments;
  sim_buffer_t **buffers; // of each argument; NULL
  uint32_t argument_count, argument_capacity;
};

// A command to be filled in and put into the queue; NULL, told, if out of memory.
sim_command_t *sim_command_new(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order);
// Puts it into its queue, whether or not it is to fail late.
int32_t sim_command_put(sim_command_t *command, sim_call_t call, const byoc_device_order_t *order);
void sim_command_cancel(sim_command_t *command); // one that was not put
void sim_command_drop(sim_command_t *command);   // gives up one reference; with the lock held
void sim_command_free_all(byoc_device_t *device);
void sim_wait_until_ended(sim_command_t *command); // with the lock held
void sim_begin_all(byoc_device_t *device);         // lets all that is in queues run; with the lock held
uint64_t sim_now_ns(void);

int32_t sim_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue);
void sim_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue);
int32_t sim_queue_rebind(byoc_device_t *device, byoc_device_queue_t *queue, void *native);
int32_t sim_queue_flush(byoc_device_t *device, byoc_device_queue_t *queue);
int32_t sim_queue_wait(byoc_device_t *device, byoc_device_queue_t *queue);

// --- commands (sim_command.c)

int32_t sim_put_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                     uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                     const byoc_device_order_t *order);
int32_t sim_put_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                     const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order);
int32_t sim_put_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                       const byoc_device_order_t *order);
int32_t sim_put_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order);

// --- events (sim_event.c)

struct byoc_device_event_t {
  byoc_device_t *device;
  sim_command_t *command; // it stands for; NULL: none
};

int32_t sim_event_create(byoc_device_t *device, byoc_device_event_t **out_event);
void sim_event_destroy(byoc_device_t *device, byoc_device_event_t *event);
int32_t sim_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete);
int32_t sim_event_wait(byoc_device_t *device, byoc_device_event_t *event);
int32_t sim_event_counters(byoc_device_t *device, byoc_device_event_t *event, byoc_device_counter_sink_t sink,
                           void *argument);
int32_t sim_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                        uint64_t *out_end_ns);
const char *sim_event_error(byoc_device_t *device, byoc_device_event_t *event);

#endif // BYOC_TESTS_DEVICES_SIM_INTERNAL_H_
