// SPDX-License-Identifier: Apache-2.0
// The steps of device planning (plan.h) and their state.
#ifndef BYOC_CORE_DEVICE_PLANNING_H_
#define BYOC_CORE_DEVICE_PLANNING_H_

#include "core/device/domains.h"
#include "core/device/plan.h"

// The result of a call of a function that is compiled as a whole, and where the function makes it.
typedef struct byoc_made_t {
  byoc_value_t *value;
  uint32_t slot;
} byoc_made_t;

typedef struct byoc_planning_t {
  byoc_graph_module_t *module;
  byoc_plan_extent_t extent;
  byoc_diag_t *diag;
  size_t changes;
  byoc_domains_t domains;
  BYOC_VECTOR(uint32_t) slots;              // where operands and results of blocks must live; BYOC_NO_ITEM: anywhere
  byoc_map_t slot_bases;                    // pointer map: node or block → its first entry of `slots` + 1
  byoc_map_t signatures;                    // pointer map: function → the item of its first result + 1
  BYOC_VECTOR(byoc_function_t *) functions; // that main reaches; main is the first
  BYOC_VECTOR(byoc_made_t) made;
  BYOC_VECTOR(byoc_node_t *) on_devices;
} byoc_planning_t;

// A function that is compiled as a whole: its body is not looked at.
bool byoc_function_is_whole(const byoc_function_t *function);
// Where the use must find its value; BYOC_NO_ITEM: anywhere.
uint32_t byoc_planning_demand(const byoc_planning_t *planning, const byoc_use_t *use);
// The item of result `index` of a function that was reached.
uint32_t byoc_planning_result(const byoc_planning_t *planning, const byoc_function_t *function, uint32_t index);

// Makes the domains of all that main reaches (collect.c).
byoc_status_t byoc_planning_collect(byoc_planning_t *planning);
// Gives values their devices, removes OnDevice nodes and inserts copies (apply.c).
byoc_status_t byoc_planning_apply(byoc_planning_t *planning);
// The last step of it: copies for readers that want a value on another device (copies.c).
byoc_status_t byoc_planning_copy(byoc_planning_t *planning);
// A copy of the value in front of `before` (NULL: at the end of the block); NULL if out of memory.
byoc_node_t *byoc_planning_make_copy(byoc_block_t *block, byoc_node_t *before, byoc_value_t *value,
                                     const byoc_virtual_device_t *device);

#endif // BYOC_CORE_DEVICE_PLANNING_H_
