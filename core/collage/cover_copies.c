// SPDX-License-Identifier: Apache-2.0
// Counts copies between devices in the cover search: the cost of bringing each value from one device to another, and
// the copies in states. A copy serves all readers on its device, so a state remembers where each value has been copied
// to.
#include <math.h>

#include "core/collage/cover_problem.h"

static byoc_status_t refuse(byoc_diag_t *diag, const char *what, uint32_t number, uint32_t to, double cost) {
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "copying %s %u to device %u costs %g", what, number, to, cost);
}

static byoc_status_t ask_nodes(byoc_cover_problem_t *p, const byoc_cover_costs_t *costs, byoc_diag_t *diag) {
  const uint32_t devices = p->device_count;
  for (uint32_t node = 0; node < p->node_count; ++node) {
    double *rows = p->copies + (size_t)p->position[node] * devices * devices;
    p->is_result[p->position[node]] = p->flow->is_result[node];
    for (uint32_t from = 0; from < devices; ++from) {
      for (uint32_t to = 0; to < devices; ++to) {
        double cost = from == to ? 0 : costs->copy(costs->self, node, from, to);
        if (!(cost >= 0 && cost < INFINITY)) return refuse(diag, "node", node, to, cost);
        rows[from * devices + to] = cost;
      }
    }
  }
  return BYOC_OK;
}

// The inputs of each position, and the last reader of each input.
static byoc_status_t ask_inputs(byoc_cover_problem_t *p, const byoc_cover_costs_t *costs, byoc_diag_t *diag) {
  const uint32_t devices = p->device_count;
  size_t readers = 0;
  for (uint32_t k = 0; k < costs->input_count; ++k) readers += costs->inputs[k].reader_count;
  p->input_count = costs->input_count;
  p->input_copies = BYOC_ARENA_ARRAY(&p->arena, double, (size_t)p->input_count *devices + 1);
  p->last_reader = BYOC_ARENA_ARRAY(&p->arena, uint32_t, (size_t)p->input_count + 1);
  p->input_offsets = BYOC_ARENA_ARRAY(&p->arena, uint32_t, (size_t)p->node_count + 2);
  p->inputs = BYOC_ARENA_ARRAY(&p->arena, uint32_t, readers + 1);
  if (!p->input_copies || !p->last_reader || !p->input_offsets || !p->inputs) return byoc_diag_out_of_memory(diag);
  for (uint32_t k = 0; k < p->input_count; ++k) {
    for (uint32_t to = 0; to < devices; ++to) {
      double cost = to == BYOC_COVER_HOST ? 0 : costs->input_copy(costs->self, k, to);
      if (!(cost >= 0 && cost < INFINITY)) return refuse(diag, "input", k, to, cost);
      p->input_copies[(size_t)k * devices + to] = cost;
    }
    for (uint32_t r = 0; r < costs->inputs[k].reader_count; ++r) {
      const uint32_t at = p->position[costs->inputs[k].readers[r]];
      p->input_offsets[at + 2] += 1;
      if (at > p->last_reader[k]) p->last_reader[k] = at;
    }
  }
  for (uint32_t at = 0; at < p->node_count; ++at) p->input_offsets[at + 2] += p->input_offsets[at + 1];
  for (uint32_t k = 0; k < p->input_count; ++k) {
    for (uint32_t r = 0; r < costs->inputs[k].reader_count; ++r) {
      p->inputs[p->input_offsets[p->position[costs->inputs[k].readers[r]] + 1]++] = k;
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_cover_ask_copies(byoc_cover_problem_t *p, const byoc_cover_costs_t *costs, byoc_diag_t *diag) {
  p->device_count = p->masks = 1;
  if (costs == NULL || costs->device_count < 2) return BYOC_OK;
  if (costs->device_count > BYOC_COVER_DEVICES) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "more than %d devices", BYOC_COVER_DEVICES);
  }
  p->device_count = costs->device_count;
  p->masks = 1u << p->device_count;
  if (p->place_count * p->masks > BYOC_COVER_NO_PLACE) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "more than %u places on %u devices",
                           BYOC_COVER_NO_PLACE / p->masks, p->device_count);
  }
  p->devices = BYOC_ARENA_ARRAY(&p->arena, uint8_t, p->place_count);
  p->copies = BYOC_ARENA_ARRAY(&p->arena, double, (size_t)p->node_count * p->device_count * p->device_count);
  p->is_result = BYOC_ARENA_ARRAY(&p->arena, bool, p->node_count);
  if (!p->devices || !p->copies || !p->is_result) return byoc_diag_out_of_memory(diag);
  for (uint32_t place = 0; place < p->place_count; ++place) {
    p->devices[place] = (uint8_t)costs->device(costs->self, p->place_names[place]);
  }
  BYOC_RETURN_IF_ERROR(ask_nodes(p, costs, diag));
  return ask_inputs(p, costs, diag);
}

// ---- states ----

// The cost of reading on `device` a value that the devices of `mask` have.
static double read_on(const double *row, uint8_t *mask, uint32_t device) {
  if (*mask >> device & 1) return 0;
  *mask |= (uint8_t)(1u << device);
  return row[device];
}

double byoc_cover_pass(const byoc_cover_problem_t *p, uint32_t node, uint8_t place, uint8_t *codes) {
  const uint32_t devices = p->device_count, device = p->devices[place];
  double cost = 0;
  for (uint32_t i = p->input_offsets[node]; i < p->input_offsets[node + 1]; ++i) {
    const uint32_t input = p->inputs[i];
    cost += read_on(p->input_copies + (size_t)input * devices, &codes[input], device);
    if (p->last_reader[input] == node) codes[input] = BYOC_COVER_NO_PLACE;
  }
  for (uint32_t e = p->predecessor_offsets[node]; e < p->predecessor_offsets[node + 1]; ++e) {
    const uint32_t source = p->predecessors[e];
    uint8_t *code = &codes[p->slots[source]], from = (uint8_t)(*code / p->masks), mask = (uint8_t)(*code % p->masks);
    cost += read_on(byoc_cover_copies(p, source, p->devices[from]), &mask, device);
    *code = (uint8_t)(from * p->masks + mask);
    if (p->successors[p->successor_offsets[source + 1] - 1] == node) *code = BYOC_COVER_NO_PLACE;
  }
  uint8_t mask = (uint8_t)(1u << device);
  if (p->is_result[node]) cost += read_on(byoc_cover_copies(p, node, device), &mask, BYOC_COVER_HOST);
  if (p->slots[node] != BYOC_COVER_NONE) {
    const uint8_t alike = p->alike[(size_t)node * p->place_count + place];
    codes[p->slots[node]] = (uint8_t)(alike * p->masks + mask);
  }
  return cost;
}

// The most that copies to come can cost more with the second mask than with the first.
static double excess(const byoc_cover_problem_t *p, const double *row, uint32_t mask, const double *by_row,
                     uint32_t by_mask) {
  double most = 0;
  for (uint32_t device = 0; device < p->device_count; ++device) {
    const double own = mask >> device & 1 ? 0 : row[device], other = by_mask >> device & 1 ? 0 : by_row[device];
    if (other > own) most += other - own;
  }
  return most;
}

double byoc_cover_copy_excess(const byoc_cover_problem_t *p, uint32_t slot, uint32_t node, uint8_t code,
                              uint8_t by_code) {
  if (slot < p->input_count) {
    const double *row = p->input_copies + (size_t)slot * p->device_count;
    return excess(p, row, code, row, by_code);
  }
  const uint32_t device = p->devices[code / p->masks], by_device = p->devices[by_code / p->masks];
  return excess(p, byoc_cover_copies(p, node, device), code % p->masks, byoc_cover_copies(p, node, by_device),
                by_code % p->masks);
}

double byoc_cover_replacing_excess(const byoc_cover_problem_t *p, const byoc_cover_item_t *item, uint8_t by_place) {
  const uint32_t devices = p->device_count, from = p->devices[item->place], by = p->devices[by_place];
  if (from == by) return 0;
  double most = 0;
  for (uint32_t k = 0; k < item->count; ++k) {
    const uint32_t node = item->nodes[k];
    most += excess(p, byoc_cover_copies(p, node, from), 1u << from, byoc_cover_copies(p, node, by), 1u << by);
    for (uint32_t i = p->input_offsets[node]; i < p->input_offsets[node + 1]; ++i) {
      most += p->input_copies[(size_t)p->inputs[i] * devices + by];
    }
    for (uint32_t e = p->predecessor_offsets[node]; e < p->predecessor_offsets[node + 1]; ++e) {
      double dearest = 0;
      for (uint32_t at = 0; at < devices; ++at) {
        dearest = fmax(dearest, byoc_cover_copies(p, p->predecessors[e], at)[by]);
      }
      most += dearest;
    }
  }
  return most;
}
