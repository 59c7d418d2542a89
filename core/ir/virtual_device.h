// SPDX-License-Identifier: Apache-2.0
// Compares where values live. No pass may merge, drop, fold, fuse or group across places without asking here.
#ifndef BYOC_CORE_IR_VIRTUAL_DEVICE_H_
#define BYOC_CORE_IR_VIRTUAL_DEVICE_H_

#include "core/ir/graph.h"

uint64_t byoc_virtual_device_hash(const byoc_virtual_device_t *device, uint64_t seed); // if all is free: the seed
// May `value` be read in the place of `wanted`? True if `value` has everything that `wanted` fixes; fields that
// `wanted` leaves free do not matter.
bool byoc_value_serves(const byoc_value_t *value, const byoc_value_t *wanted);
// May `value` vanish in a kernel that makes `result`? True if `result` has every place that `value` fixes; their
// targets do not count.
bool byoc_value_may_vanish(const byoc_value_t *value, const byoc_value_t *result);
// Do all results of the nodes live in one place? The target that makes them does not count: whoever groups nodes for a
// target has already checked that.
bool byoc_nodes_share_place(const byoc_node_t *a, const byoc_node_t *b);
// Are all results of the two nodes, one by one, in the same place, made by the same target?
bool byoc_nodes_match_places(const byoc_node_t *a, const byoc_node_t *b);
// The node that makes a value, if a rewrite of its readers may make the value vanish. NULL if the value has a place
// that a reader's result does not have, or if no node makes it.
byoc_node_t *byoc_value_open_producer(const byoc_value_t *value);
// Returns `value` if it serves in the place of `wanted`, otherwise an Identity of it, inserted in front of `before`,
// which lives where `wanted` does. NULL if out of memory.
byoc_value_t *byoc_value_in_place_of(byoc_value_t *value, const byoc_value_t *wanted, byoc_node_t *before);

#endif // BYOC_CORE_IR_VIRTUAL_DEVICE_H_
