// Comparing where values live. No pass may merge, drop, fold, fuse or group across places without asking here.
#ifndef BYOC_CORE_IR_VIRTUAL_DEVICE_H_
#define BYOC_CORE_IR_VIRTUAL_DEVICE_H_

#include "core/ir/graph.h"

uint64_t byoc_virtual_device_hash(const byoc_virtual_device_t *device, uint64_t seed); // free ones leave the seed
// Is everything that `wanted` says true of `value` too? What `wanted` leaves free, `value` may have as it likes. May
// `value` be read in the place of `wanted`?
bool byoc_value_serves(const byoc_value_t *value, const byoc_value_t *wanted);
// The same, whichever targets make the two: may `value` vanish in a kernel that makes `result`?
bool byoc_value_may_vanish(const byoc_value_t *value, const byoc_value_t *result);
// Do all results of the nodes live in one place? Which target makes them does not count: whoever groups nodes for a
// target has asked that already.
bool byoc_nodes_share_place(const byoc_node_t *a, const byoc_node_t *b);
// Are all results of the two nodes, one by one, in the same place, made by the same target?
bool byoc_nodes_match_places(const byoc_node_t *a, const byoc_node_t *b);
// The node that makes a value, where a rewrite of its readers may make the value vanish: NULL where it has a place that
// one of its readers' results does not have, and where no node makes it.
byoc_node_t *byoc_value_open_producer(const byoc_value_t *value);
// `value` where it serves in the place of `wanted`, else an Identity of it in front of `before`, which lives where
// `wanted` does. NULL: out of memory.
byoc_value_t *byoc_value_in_place_of(byoc_value_t *value, const byoc_value_t *wanted, byoc_node_t *before);

#endif // BYOC_CORE_IR_VIRTUAL_DEVICE_H_
