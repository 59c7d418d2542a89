// SPDX-License-Identifier: Apache-2.0
// Compares the virtual devices of values. A pass that merges, drops, folds, fuses or groups values must call these
// functions first.
#ifndef BYOC_CORE_IR_VIRTUAL_DEVICE_H_
#define BYOC_CORE_IR_VIRTUAL_DEVICE_H_

#include "core/ir/graph.h"

uint64_t byoc_virtual_device_hash(const byoc_virtual_device_t *device, uint64_t seed); // if all is free: the seed
// May `value` be read instead of `wanted`? True if `value` has all fields that `wanted` fixes; free fields of `wanted`
// do not matter.
bool byoc_value_serves(const byoc_value_t *value, const byoc_value_t *wanted);
// May `value` vanish in a kernel that makes `result`? True if `result` has all fields that `value` fixes, except the
// target.
bool byoc_value_may_vanish(const byoc_value_t *value, const byoc_value_t *result);
// Do all results of the nodes have one virtual device? The target is not compared: callers group nodes of one target.
bool byoc_nodes_share_device(const byoc_node_t *a, const byoc_node_t *b);
// Do the results of the two nodes have equal virtual devices, pair by pair?
bool byoc_nodes_match_places(const byoc_node_t *a, const byoc_node_t *b);
// The node that makes a value, if a rewrite of its readers may make the value vanish. NULL if the value fixes a field
// that a reader's result does not have, or if no node makes it.
byoc_node_t *byoc_value_open_producer(const byoc_value_t *value);
// Returns `value` if it can replace `wanted`; otherwise an Identity of it with the virtual device of `wanted`, inserted
// before `before`. NULL if out of memory.
byoc_value_t *byoc_value_in_place_of(byoc_value_t *value, const byoc_value_t *wanted, byoc_node_t *before);

#endif // BYOC_CORE_IR_VIRTUAL_DEVICE_H_
