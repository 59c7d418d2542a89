// Estimates what it costs to hand a value from one place to another.
#include "core/collage/transition.h"

#include <string.h>

byoc_status_t byoc_transitions_init(byoc_transitions_t *transitions, const byoc_dataflow_t *flow,
                                    const byoc_target_list_t *targets, const byoc_estimator_t *estimator,
                                    byoc_allocator_t allocator, byoc_diag_t *diag) {
  *transitions = (byoc_transitions_t){.flow = flow, .estimator = estimator, .allocator = allocator};
  size_t count = targets->targets.count;
  byoc_value_place_t *places = byoc_allocate(allocator, count, sizeof(*places));
  if (places == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t t = 0; t < count; ++t) {
    places[t] = (byoc_value_place_t){
        .device_type = kDLCPU, .layout = "", .is_native = targets->targets.data[t]->kind->backend == NULL};
  }
  transitions->places = places;
  transitions->place_count = count;
  return BYOC_OK;
}

void byoc_transitions_deinit(byoc_transitions_t *transitions) {
  byoc_free(transitions->allocator, transitions->places);
  *transitions = (byoc_transitions_t){0};
}

double byoc_transition_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_place, uint32_t to_place) {
  const byoc_value_place_t *from = &transitions->places[from_place], *to = &transitions->places[to_place];
  const byoc_calibration_t *machine = &transitions->estimator->calibration;
  double ns = from->is_native && to->is_native ? 0 : machine->call_ns;
  double once_ns = 2 * bytes / machine->bytes_per_ns; // read and written
  if (from->device_type != to->device_type) ns += once_ns;
  if (strcmp(from->layout, to->layout) != 0) ns += once_ns;
  return ns;
}

static double transition(void *self, uint32_t node, uint32_t from_place, uint32_t to_place) {
  const byoc_transitions_t *transitions = self;
  const byoc_node_t *producer = transitions->flow->nodes[node];
  double bytes = 0;
  for (uint32_t r = 0; r < producer->result_count; ++r) bytes += byoc_estimate_bytes(producer->results[r]->type);
  return byoc_transition_ns(transitions, bytes, from_place, to_place);
}

byoc_cover_costs_t byoc_transitions_costs(byoc_transitions_t *transitions) {
  return (byoc_cover_costs_t){.self = transitions, .transition = transition};
}
