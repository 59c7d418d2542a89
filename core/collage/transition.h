// What it costs to hand a value from a candidate in one place to one in another (row C9), by figures that were measured
// on this machine (core/collage/calibrate.h): the call of an outlined function; between devices, a copy of the value;
// between layouts, rewriting it. Within the native target it costs nothing, because its nodes are fused.
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

// Sets up the places of these targets: today every border of a region is a dense tensor on the processor.
byoc_status_t byoc_transitions_init(byoc_transitions_t *transitions, const byoc_dataflow_t *flow,
                                    const byoc_target_list_t *targets, const byoc_estimator_t *estimator,
                                    byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_transitions_deinit(byoc_transitions_t *transitions);
// Nanoseconds to hand over `bytes`.
double byoc_transition_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_place, uint32_t to_place);
// The costs for the search; the transitions must outlive it.
byoc_cover_costs_t byoc_transitions_costs(byoc_transitions_t *transitions);

#endif // BYOC_CORE_COLLAGE_TRANSITION_H_
