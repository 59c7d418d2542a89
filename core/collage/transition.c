// SPDX-License-Identifier: Apache-2.0
// Estimates the cost of passing a value from one candidate's place to another's.
#include "core/collage/transition.h"

#include <string.h>

#include "core/collage/constraint.h"
#include "core/ir/outline.h"

// ---- devices ----

// A target that states the costs of its boundary counts as a device of its own, of which the host is 0.
static int32_t device_id_of(const byoc_transitions_t *t, const byoc_target_t *target) {
  const bool *boundaries = t->estimator->boundaries;
  return boundaries != NULL && boundaries[target->index] ? 1 + (int32_t)target->index : 0;
}

static byoc_status_t add_device(byoc_transitions_t *t, const byoc_target_t *target, byoc_diag_t *diag) {
  const int32_t type = byoc_target_device(target), id = device_id_of(t, target);
  for (uint32_t d = 0; d < t->device_count; ++d) {
    if (t->devices[d].device_type == type && t->devices[d].device_id == id) return BYOC_OK;
  }
  if (t->device_count == BYOC_COVER_DEVICES) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "the targets run on more than %d kinds of devices, or state the costs of so many boundaries",
                           BYOC_COVER_DEVICES - 1);
  }
  t->devices[t->device_count++] = (byoc_transition_device_t){
      .device_type = type, .device_id = id, .costs = *byoc_estimator_device(t->estimator, target->index)};
  return BYOC_OK;
}

static uint32_t device_of(const byoc_transitions_t *t, const byoc_value_assignment_t *place) {
  uint32_t d = 0;
  while (t->devices[d].device_type != place->device_type || t->devices[d].device_id != place->device_id) ++d;
  return d;
}

// ---- values from around the block ----

typedef struct input_list_t {
  byoc_transitions_t *t;
  byoc_map_t numbers;                      // byoc_value_t * → its number + 1
  BYOC_VECTOR(byoc_dataflow_edge_t) reads; // input, node
  bool failed;
} input_list_t;

static bool is_from_around(const byoc_dataflow_t *flow, const byoc_value_t *value) {
  if (value == NULL || value->kind == BYOC_VALUE_CONSTANT) return false; // constants are uploaded once
  const byoc_block_t *assignment = value->kind == BYOC_VALUE_PARAMETER ? value->block : value->node->block;
  if (assignment == flow->block) return value->kind == BYOC_VALUE_PARAMETER;
  return assignment->owner == NULL || byoc_node_in_block(assignment->owner, flow->block) == NULL;
}

static void note_read(input_list_t *list, byoc_value_t *value, uint32_t node) {
  const byoc_allocator_t allocator = list->t->arena.allocator;
  if (!is_from_around(list->t->flow, value)) return;
  uintptr_t number = (uintptr_t)byoc_pointer_map_get(&list->numbers, value);
  if (number == 0) {
    number = list->numbers.count + 1;
    if (!byoc_pointer_map_put(&list->numbers, value, (void *)number)) list->failed = true;
  }
  const byoc_dataflow_edge_t read = {(uint32_t)number - 1, node};
  for (size_t i = list->reads.count; i-- > 0 && list->reads.data[i].to == node;) {
    if (list->reads.data[i].from == read.from) return; // the node reads it twice
  }
  if (!byoc_vector_push(&list->reads, allocator, read)) list->failed = true;
}

static void note_reads(input_list_t *list, const byoc_node_t *node, uint32_t number) {
  for (uint32_t i = 0; i < node->operand_count; ++i) note_read(list, node->operands[i], number);
  for (uint32_t b = 0; b < node->block_count; ++b) {
    const byoc_block_t *block = node->blocks[b];
    BYOC_FOR_EACH_NODE(inner, block) note_reads(list, inner, number);
    for (size_t i = 0; i < block->results.count; ++i) note_read(list, block->results.data[i], number);
  }
}

static bool keep_inputs(byoc_transitions_t *t, const input_list_t *list) {
  const size_t count = list->numbers.count;
  t->inputs = BYOC_ARENA_ARRAY(&t->arena, byoc_cover_input_t, count + 1);
  t->input_bytes = BYOC_ARENA_ARRAY(&t->arena, double, count + 1);
  uint32_t *readers = BYOC_ARENA_ARRAY(&t->arena, uint32_t, list->reads.count + 1);
  uint32_t *ends = BYOC_ARENA_ARRAY(&t->arena, uint32_t, count + 1); // of each input's part of `readers`
  if (t->inputs == NULL || t->input_bytes == NULL || readers == NULL || ends == NULL) return false;
  for (size_t r = 0; r < list->reads.count; ++r) ends[list->reads.data[r].from + 1] += 1;
  for (size_t k = 0; k < count; ++k) {
    const byoc_value_t *value = list->numbers.entries[k].pointer;
    t->inputs[k] = (byoc_cover_input_t){readers + ends[k], ends[k + 1]};
    t->input_bytes[k] = byoc_estimate_bytes(value->type);
    ends[k + 1] += ends[k];
  }
  for (size_t r = 0; r < list->reads.count; ++r) {
    readers[ends[list->reads.data[r].from]++] = list->reads.data[r].to;
  }
  t->input_count = (uint32_t)count;
  return true;
}

static bool find_inputs(byoc_transitions_t *t) {
  const byoc_dataflow_t *flow = t->flow;
  if (t->device_count < 2) return true;
  input_list_t list = {.t = t};
  byoc_pointer_map_init(&list.numbers, t->arena.allocator);
  for (uint32_t n = 0; n < flow->node_count; ++n) note_reads(&list, flow->nodes[n], n);
  const bool ok = !list.failed && keep_inputs(t, &list);
  byoc_vector_deinit(&list.reads, t->arena.allocator);
  byoc_map_deinit(&list.numbers);
  return ok;
}

// ---- all of it ----

byoc_status_t byoc_transitions_init(byoc_transitions_t *transitions, const byoc_dataflow_t *flow,
                                    const byoc_target_list_t *targets, const byoc_estimator_t *estimator,
                                    byoc_allocator_t allocator, byoc_diag_t *diag) {
  byoc_transitions_t *t = transitions;
  *t = (byoc_transitions_t){.flow = flow, .estimator = estimator, .device_count = 1};
  t->devices[BYOC_COVER_HOST].device_type = kDLCPU;
  byoc_arena_init(&t->arena, allocator);
  t->place_count = targets->targets.count;
  t->places = BYOC_ARENA_ARRAY(&t->arena, byoc_value_assignment_t, t->place_count);
  byoc_status_t status = t->places != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < t->place_count && status == BYOC_OK; ++k) {
    const byoc_target_t *target = targets->targets.data[k];
    t->places[k] = (byoc_value_assignment_t){.device_type = byoc_target_device(target),
                                             .device_id = device_id_of(t, target),
                                             .layout = "",
                                             .is_native = target->kind->backend == NULL};
    status = add_device(t, target, diag);
  }
  if (status == BYOC_OK && !find_inputs(t)) status = byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) byoc_transitions_deinit(t);
  return status;
}

void byoc_transitions_deinit(byoc_transitions_t *transitions) {
  byoc_arena_deinit(&transitions->arena);
  *transitions = (byoc_transitions_t){0};
}

double byoc_transition_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_place, uint32_t to_place) {
  const byoc_value_assignment_t *from = &transitions->places[from_place], *to = &transitions->places[to_place];
  const byoc_calibration_t *machine = &transitions->estimator->calibration;
  double ns = from->is_native && to->is_native ? 0 : machine->call_ns;
  if (strcmp(from->layout, to->layout) != 0) ns += 2 * bytes / machine->bytes_per_ns; // read and written
  return ns;
}

double byoc_transition_copy_ns(const byoc_transitions_t *transitions, double bytes, uint32_t from_device,
                               uint32_t to_device) {
  const byoc_transition_device_t *from = &transitions->devices[from_device], *to = &transitions->devices[to_device];
  double ns = 0;
  if (from_device == to_device) return 0;
  if (from_device != BYOC_COVER_HOST) ns += byoc_device_copy_ns(&from->costs, BYOC_DEVICE_DOWNLOAD, bytes);
  if (to_device != BYOC_COVER_HOST) ns += byoc_device_copy_ns(&to->costs, BYOC_DEVICE_UPLOAD, bytes);
  return ns;
}

// ---- for the search ----

static double bytes_of(const byoc_transitions_t *t, uint32_t node) {
  const byoc_node_t *producer = t->flow->nodes[node];
  double bytes = 0;
  for (uint32_t r = 0; r < producer->result_count; ++r) bytes += byoc_estimate_bytes(producer->results[r]->type);
  return bytes;
}

static double transition(void *self, uint32_t node, uint32_t from_place, uint32_t to_place) {
  const byoc_transitions_t *t = self;
  return byoc_transition_ns(t, bytes_of(t, node), from_place, to_place);
}

static uint32_t device(void *self, uint32_t place) {
  const byoc_transitions_t *t = self;
  return device_of(t, &t->places[place]);
}

static double copy(void *self, uint32_t node, uint32_t from_device, uint32_t to_device) {
  const byoc_transitions_t *t = self;
  return byoc_transition_copy_ns(t, bytes_of(t, node), from_device, to_device);
}

static double input_copy(void *self, uint32_t input, uint32_t to_device) {
  const byoc_transitions_t *t = self;
  return byoc_transition_copy_ns(t, t->input_bytes[input], BYOC_COVER_HOST, to_device);
}

byoc_cover_costs_t byoc_transitions_costs(byoc_transitions_t *transitions) {
  return (byoc_cover_costs_t){.self = transitions,
                              .transition = transition,
                              .device_count = transitions->device_count,
                              .device = device,
                              .copy = copy,
                              .input_copy = input_copy,
                              .inputs = transitions->inputs,
                              .input_count = transitions->input_count};
}
