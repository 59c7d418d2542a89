// What it costs to hand a value from a candidate in one place to one in another (row C9), by figures that were measured
// on this machine (core/collage/calibrate.h): the call of a function that was outlined; between devices, copying the
// value; between layouts, rewriting it. What stays within the native target costs nothing: it is fused.
//
//   byoc_transitions_t transitions;
//   BYOC_RETURN_IF_ERROR(byoc_transitions_init(&transitions, &flow, targets, estimator, allocator, diag));
//   byoc_cover_costs_t costs = byoc_transitions_costs(&transitions);
#ifndef BYOC_CORE_COLLAGE_TRANSITION_H_
#define BYOC_CORE_COLLAGE_TRANSITION_H_

#include "core/collage/cover.h"
#include "core/collage/estimate.h"

typedef struct byoc_value_place_t {
  int32_t device_type; // DLDeviceType
  const char *layout;  // of tensors at the borders of regions; "" : dense, row-major
  bool is_native;      // its candidates are fused, not called
} byoc_value_place_t;

typedef struct byoc_transitions_t {
  const byoc_dataflow_t *flow;
  const byoc_estimator_t *estimator;
  byoc_allocator_t allocator;
  byoc_value_place_t *places; // by number: the target's index
  size_t place_count;
} byoc_transitions_t;

// The places of these targets: every border of a region is a dense tensor on the processor today.
byoc_status_t byoc_transitions_init(byoc_transitions_t *transitions, const byoc_dataflow_t *flow,
                                    const byoc_target_list_t *targets, const byoc_estimator_t *estimator,
                                    byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_transitions_deinit(byoc_transitions_t *transitions);
// Nanoseconds for `bytes` handed over.
double byoc_transition_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_place, uint32_t to_place);
// For the search; the transitions outlive it.
byoc_cover_costs_t byoc_transitions_costs(byoc_transitions_t *transitions);

#endif // BYOC_CORE_COLLAGE_TRANSITION_H_
