// SPDX-License-Identifier: Apache-2.0
// Observers of a run. Both executors report results and times through this file to the sinks of byoc/artifact.h.
#ifndef BYOC_CORE_RUNTIME_TRACE_H_
#define BYOC_CORE_RUNTIME_TRACE_H_

#include "byoc/artifact.h"
#include "core/runtime/cell.h"
#include "core/runtime/device.h"

// An instruction of the host program, as a byoc_trace_event_t describes it.
typedef struct byoc_trace_row_t {
  uint32_t instruction, operand_count, result_count;
  const char *op, *symbol, *origin;
  const char *const *operands, *const *results; // names
} byoc_trace_row_t;

// The deepest nesting of loops that is reported (byoc_trace_event_t.turn_count).
#define BYOC_OBSERVER_TURNS 32

typedef struct byoc_observer_t {
  byoc_trace_sink_t trace;     // NULL: not asked for
  byoc_profile_sink_t profile; // NULL: not asked for
  void *argument;              // of the sink
  uint32_t turn_count;
  int64_t turns[BYOC_OBSERVER_TURNS];
} byoc_observer_t;

// Reports a result that lies in plain memory.
void byoc_trace_tensor(const byoc_observer_t *observer, const byoc_trace_row_t *row, uint32_t result, uint32_t dtype,
                       uint32_t rank, const int64_t *dims, const void *data);
// Reports a result in a cell; NULL, a value that does not exist, is not reported. BYOC_OUT_OF_MEMORY: the items of a
// sequence could not be listed.
int32_t byoc_trace_cell(const byoc_observer_t *observer, byoc_frame_t *frame, const byoc_trace_row_t *row,
                        uint32_t result, byoc_cell_t *cell);

// Reports a result that lies on a device, at an offset in a tensor.
int32_t byoc_trace_device(const byoc_observer_t *observer, byoc_frame_t *frame, byoc_devices_t *devices,
                          const byoc_trace_row_t *row, uint32_t result, uint32_t dtype, uint32_t rank,
                          const int64_t *dims, uint32_t tensor, uint64_t offset_bytes, uint64_t size_bytes);
// The same for one in a cell; NULL, a value that does not exist, is not reported.
int32_t byoc_trace_device_cell(const byoc_observer_t *observer, byoc_frame_t *frame, byoc_devices_t *devices,
                               const byoc_trace_row_t *row, uint32_t result, const byoc_cell_t *cell);

// The loop with `depth` loops around it begins this iteration.
static inline void byoc_observer_turn(byoc_observer_t *observer, uint32_t depth, int64_t turn) {
  if (depth >= BYOC_OBSERVER_TURNS) return;
  observer->turns[depth] = turn;
  observer->turn_count = depth + 1;
}
// The loop has ended.
static inline void byoc_observer_leave(byoc_observer_t *observer, uint32_t depth) {
  if (depth < BYOC_OBSERVER_TURNS) observer->turn_count = depth;
}

#endif // BYOC_CORE_RUNTIME_TRACE_H_
