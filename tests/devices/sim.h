// SPDX-License-Identifier: Apache-2.0
// The driver `sim`: a device of threads and memory, on which everything that drives devices can be tested without
// hardware.
//
// - A buffer's handle is the address of memory that nobody may touch, as large as the buffer: host code that takes it
//   for a pointer stops at once. The bytes lie elsewhere, between guard pages, and begin as 0xFF (NaN as floats).
// - The scope "global.texture" pads each row and does not subdivide; "constant" holds 64 KiB at most.
// - Each queue is a thread. Options delay commands, reorder queues and make the n-th call fail.
// - A mistake that no caller can mean to make stops the program with a sentence: two threads in the driver at once,
//   handles that are alive when the device is closed.
//
// The driver depends on the C library alone. It is built as an archive, which artifacts can carry, and as
// driver_sim.so, for byoc-plugin-check.
#ifndef BYOC_TESTS_DEVICES_SIM_H_
#define BYOC_TESTS_DEVICES_SIM_H_

#include "byoc/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SIM_DRIVER_NAME // what it calls itself
#define SIM_DRIVER_NAME "sim"
#endif
extern BYOC_PACKED const byoc_driver_t sim_driver;

enum {
  SIM_DEVICE_TYPE = 12, // DLPack's kDLExtDev
  SIM_ALIGNMENT = 256,  // byoc_device_info_t.alignment
};

// Options are a text, "devices=1,delay=200,fail=copy:3". `open` reads them from the variable BYOC_SIM of the
// environment, or from here; NULL: from the environment again. An option that cannot be read makes `open` fail.
//
//   devices=N        ordinals 0 to N - 1 exist; 2 unless said. With 0 the device cannot start.
//   memory=BYTES     of each device; 4 GiB unless said
//   unified          `import` works
//   nan              a counter is NaN
//   architecture=A   "sim_1" unless said
//   version=V        of the driver, "1" unless said
//   delay=US         each command takes up to so many microseconds longer, some more and some less
//   stamps=NS        the time stamps of each command are so many nanoseconds apart, however long it took
//   order=SEED       nothing runs before event_wait, queue_flush, or a slot that waits; then one command at a time, of
//                    a queue that is drawn by lot
//   fail=KIND:N      the N-th call of a kind fails, from 1, counted since the device was opened: allocate, import,
//                    queue, event, module, entry, fill, copy, launch, barrier, flush, wait; `any` counts them all.
//                    `open` is counted since the text of the options changed. A kind with "late-" before it (fill,
//                    copy, launch, barrier, any) fails when the command runs.
//   log=PATH         appends a line for each call that made something or put a command into a queue, and one for the
//                    call that was told to fail
//   times            with log: and one for each command that has ended, with its time stamps
void sim_configure(const char *options);

// What is alive, of all devices of this copy of the driver.
typedef struct sim_counts_t {
  uint64_t devices, buffers, queues, events, modules;
  uint64_t bytes;
} sim_counts_t;
void sim_count(sim_counts_t *out_counts);

// A queue of the caller, for BYOC_QUEUE_NATIVE: submit has `work` run after all that was submitted before, and returns
// at once; 0 if that is so. It holds nothing but pointers, so that the driver in an artifact takes it, too.
typedef struct sim_native_queue_t {
  int (*submit)(void *self, void (*work)(void *argument), void *argument);
  void *self;
} sim_native_queue_t;

// One on a thread of its own; NULL if out of memory. Destroying it runs first what was submitted, and accepts NULL.
sim_native_queue_t *sim_native_queue_create(void);
void sim_native_queue_destroy(sim_native_queue_t *queue);

#ifdef __cplusplus
}
#endif
#endif // BYOC_TESTS_DEVICES_SIM_H_
