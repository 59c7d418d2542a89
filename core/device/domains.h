// SPDX-License-Identifier: Apache-2.0
// The domains of device planning: sets of values, and of slots that read or return them, on one device.
#ifndef BYOC_CORE_DEVICE_DOMAINS_H_
#define BYOC_CORE_DEVICE_DOMAINS_H_

#include "core/base/diag.h"
#include "core/base/vector.h"
#include "core/ir/graph.h"

#define BYOC_NO_ITEM UINT32_MAX

// The host: DLPack's kDLCPU, number 0. Callers of the artifact and values without a device use it.
#define BYOC_VIRTUAL_DEVICE_HOST ((byoc_virtual_device_t){.device_type = 1, .device_id = 0})

// A value, an operand slot of a node, or a result slot of a function or block.
typedef struct byoc_item_t {
  byoc_value_t *value;          // NULL: a slot
  byoc_node_t *node;            // operand slot: its node
  byoc_function_t *function;    // result slot: its function
  uint32_t index;               // of the operand or result
  uint32_t parent;              // in the forest of joined items; itself at a root
  uint32_t count;               // at a root: items below it
  bool is_soft;                 // readers of the value may get copies of their own
  byoc_virtual_device_t device; // at a root; its target is not used
} byoc_item_t;

// Two items on one device, because of `node` (NULL: because of their block or function).
typedef struct byoc_join_t {
  uint32_t a, b;
  const byoc_node_t *node;
} byoc_join_t;

typedef struct byoc_link_t {
  uint32_t a, b;
} byoc_link_t;

// A device that was named for an item.
typedef struct byoc_said_t {
  uint32_t item;
  byoc_virtual_device_t device;
  const char *why; // NULL: the value itself or an OnDevice names it
} byoc_said_t;

typedef struct byoc_domains_t {
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  BYOC_VECTOR(byoc_item_t) items;
  byoc_map_t values; // pointer map: byoc_value_t * → item + 1
  BYOC_VECTOR(byoc_join_t) joins;
  BYOC_VECTOR(byoc_link_t) links;
  BYOC_VECTOR(byoc_said_t) said;
  bool failed; // out of memory
} byoc_domains_t;

void byoc_domains_init(byoc_domains_t *domains, byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_domains_deinit(byoc_domains_t *domains);

// These return BYOC_NO_ITEM, and set `failed`, if out of memory; all below accept it.
uint32_t byoc_domains_value(byoc_domains_t *domains, byoc_value_t *value);
uint32_t byoc_domains_operand_slot(byoc_domains_t *domains, byoc_node_t *node, uint32_t index);
uint32_t byoc_domains_result_slot(byoc_domains_t *domains, byoc_function_t *function, uint32_t index);
// The item of a value that has one; BYOC_NO_ITEM for others.
uint32_t byoc_domains_find(const byoc_domains_t *domains, const byoc_value_t *value);

void byoc_domains_join(byoc_domains_t *domains, uint32_t a, uint32_t b, const byoc_node_t *node);
void byoc_domains_link(byoc_domains_t *domains, uint32_t a, uint32_t b);
// Free fields of `device` are ignored.
void byoc_domains_say(byoc_domains_t *domains, uint32_t item, byoc_virtual_device_t device, const char *why);

uint32_t byoc_domains_root(byoc_domains_t *domains, uint32_t item);
const byoc_virtual_device_t *byoc_domains_device(byoc_domains_t *domains, uint32_t item);
// Does `from` fix a field that `device` leaves free?
bool byoc_virtual_device_lacks(const byoc_virtual_device_t *device, const byoc_virtual_device_t *from);
// Can both be one device? Targets do not count, here and below.
bool byoc_virtual_device_agrees(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b);
bool byoc_virtual_device_same(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b);
// Order of device, id and scope; a free scope comes first.
int byoc_virtual_device_compare(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b);
// Sets the fields that planning decides: device, id and scope.
void byoc_virtual_device_set(byoc_virtual_device_t *device, const byoc_virtual_device_t *from);
// Fills free fields of `device`.
void byoc_virtual_device_merge(byoc_virtual_device_t *device, const byoc_virtual_device_t *from);

// Unites joined items and gives each domain the device that its items name. BYOC_INVALID_DATA if they name two
// (core/device/conflict.c).
byoc_status_t byoc_domains_unite(byoc_domains_t *domains);
byoc_status_t byoc_domains_conflict(byoc_domains_t *domains);
// Propagates devices over links, as plan.h says.
byoc_status_t byoc_domains_spread(byoc_domains_t *domains);

#endif // BYOC_CORE_DEVICE_DOMAINS_H_
