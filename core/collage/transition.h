// SPDX-License-Identifier: Apache-2.0
// The cost of passing a value from a candidate in one place to one in another, by figures that were measured on this
// machine (core/collage/calibrate.h, core/device/cost.h). It counts the call of an outlined function. Between layouts
// it counts the rewriting of the value, between devices a copy of it, once for each value and device. Within the native
// target it is 0, because its nodes are fused.
//
// Example:
//   byoc_transitions_t transitions;
//   BYOC_RETURN_IF_ERROR(byoc_transitions_init(&transitions, &flow, targets, estimator, allocator, diag));
//   byoc_cover_costs_t costs = byoc_transitions_costs(&transitions);
#ifndef BYOC_CORE_COLLAGE_TRANSITION_H_
#define BYOC_CORE_COLLAGE_TRANSITION_H_

#include "core/collage/cover.h"
#include "core/collage/estimate.h"

typedef struct byoc_value_assignment_t {
  int32_t device_type; // DLDeviceType
  int32_t device_id;
  const char *layout; // of tensors at the borders of regions; "" : dense, row-major
  bool is_native;     // its candidates are fused, not called
} byoc_value_assignment_t;

// A device that places are on.
typedef struct byoc_transition_device_t {
  int32_t device_type, device_id;
  byoc_device_costs_t costs;
} byoc_transition_device_t;

typedef struct byoc_transitions_t {
  const byoc_dataflow_t *flow;
  const byoc_estimator_t *estimator;
  byoc_arena_t arena;
  byoc_value_assignment_t *places; // by number: the target's index
  size_t place_count;
  byoc_transition_device_t devices[BYOC_COVER_DEVICES]; // the host is the first
  uint32_t device_count;
  // Values from around the block, if there are devices to copy them to.
  byoc_cover_input_t *inputs;
  double *input_bytes;
  uint32_t input_count;
} byoc_transitions_t;

// Sets up the places of these targets: every border of a region is a dense tensor, on the first device of the target's
// driver or with the host. Values that the module binds to a further device count as if they were on the first one.
// Values from around the block are assumed to be with the host, where results of the block go. BYOC_UNSUPPORTED for
// more than BYOC_COVER_DEVICES devices. A target that states the costs of its boundary is a device of its own.
byoc_status_t byoc_transitions_init(byoc_transitions_t *transitions, const byoc_dataflow_t *flow,
                                    const byoc_target_list_t *targets, const byoc_estimator_t *estimator,
                                    byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_transitions_deinit(byoc_transitions_t *transitions);
// Nanoseconds to hand over `bytes`, copies apart.
double byoc_transition_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_place, uint32_t to_place);
// Nanoseconds to copy them; between two devices they go through the host.
double byoc_transition_copy_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_device,
                               uint32_t to_device);
// The costs for the search; the transitions must outlive it.
byoc_cover_costs_t byoc_transitions_costs(byoc_transitions_t *transitions);

#endif // BYOC_CORE_COLLAGE_TRANSITION_H_
