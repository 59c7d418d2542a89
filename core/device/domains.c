// SPDX-License-Identifier: Apache-2.0
// Keeps the domains of device planning: a forest of items that live on one device, and the devices that were named.
#include "core/device/domains.h"

#include <string.h>

void byoc_domains_init(byoc_domains_t *domains, byoc_allocator_t allocator, byoc_diag_t *diag) {
  *domains = (byoc_domains_t){.allocator = allocator, .diag = diag};
  byoc_pointer_map_init(&domains->values, allocator);
}

void byoc_domains_deinit(byoc_domains_t *domains) {
  byoc_vector_deinit(&domains->items, domains->allocator);
  byoc_vector_deinit(&domains->joins, domains->allocator);
  byoc_vector_deinit(&domains->links, domains->allocator);
  byoc_vector_deinit(&domains->said, domains->allocator);
  byoc_map_deinit(&domains->values);
}

// ---- devices ----

static bool text_equal(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool byoc_virtual_device_lacks(const byoc_virtual_device_t *device, const byoc_virtual_device_t *from) {
  return (device->device_type == 0 && from->device_type != 0) || (device->device_id == -1 && from->device_id != -1) ||
         (device->scope == NULL && from->scope != NULL);
}

bool byoc_virtual_device_agrees(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b) {
  const bool one_type = a->device_type == 0 || b->device_type == 0 || a->device_type == b->device_type;
  const bool one_id = a->device_id == -1 || b->device_id == -1 || a->device_id == b->device_id;
  return one_type && one_id && (a->scope == NULL || b->scope == NULL || text_equal(a->scope, b->scope));
}

bool byoc_virtual_device_same(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b) {
  return a->device_type == b->device_type && a->device_id == b->device_id && text_equal(a->scope, b->scope);
}

int byoc_virtual_device_compare(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b) {
  if (a->device_type != b->device_type) return a->device_type < b->device_type ? -1 : 1;
  if (a->device_id != b->device_id) return a->device_id < b->device_id ? -1 : 1;
  return strcmp(a->scope != NULL ? a->scope : "", b->scope != NULL ? b->scope : "");
}

void byoc_virtual_device_set(byoc_virtual_device_t *device, const byoc_virtual_device_t *from) {
  device->device_type = from->device_type;
  device->device_id = from->device_id;
  device->scope = from->scope;
}

void byoc_virtual_device_merge(byoc_virtual_device_t *device, const byoc_virtual_device_t *from) {
  if (device->device_type == 0) device->device_type = from->device_type;
  if (device->device_id == -1) device->device_id = from->device_id;
  if (device->scope == NULL) device->scope = from->scope;
}

// ---- items ----

static uint32_t add_item(byoc_domains_t *domains, byoc_item_t item) {
  const size_t count = domains->items.count;
  item.parent = (uint32_t)count;
  item.count = 1;
  item.device = BYOC_VIRTUAL_DEVICE_FREE;
  if (count < BYOC_NO_ITEM - 1 && byoc_vector_push(&domains->items, domains->allocator, item)) return (uint32_t)count;
  domains->failed = true;
  return BYOC_NO_ITEM;
}

uint32_t byoc_domains_find(const byoc_domains_t *domains, const byoc_value_t *value) {
  const uintptr_t known = (uintptr_t)byoc_pointer_map_get(&domains->values, value);
  return known != 0 ? (uint32_t)(known - 1) : BYOC_NO_ITEM;
}

uint32_t byoc_domains_value(byoc_domains_t *domains, byoc_value_t *value) {
  uint32_t item = byoc_domains_find(domains, value);
  if (item != BYOC_NO_ITEM) return item;
  item = add_item(domains, (byoc_item_t){.value = value});
  if (item == BYOC_NO_ITEM) return item;
  if (!byoc_pointer_map_put(&domains->values, value, (void *)((uintptr_t)item + 1))) domains->failed = true;
  return item;
}

uint32_t byoc_domains_operand_slot(byoc_domains_t *domains, byoc_node_t *node, uint32_t index) {
  return add_item(domains, (byoc_item_t){.node = node, .index = index});
}

uint32_t byoc_domains_result_slot(byoc_domains_t *domains, byoc_function_t *function, uint32_t index) {
  return add_item(domains, (byoc_item_t){.function = function, .index = index});
}

void byoc_domains_join(byoc_domains_t *domains, uint32_t a, uint32_t b, const byoc_node_t *node) {
  if (a == BYOC_NO_ITEM || b == BYOC_NO_ITEM || a == b) return;
  if (!byoc_vector_push(&domains->joins, domains->allocator, (byoc_join_t){a, b, node})) domains->failed = true;
}

void byoc_domains_link(byoc_domains_t *domains, uint32_t a, uint32_t b) {
  if (a == BYOC_NO_ITEM || b == BYOC_NO_ITEM || a == b) return;
  if (!byoc_vector_push(&domains->links, domains->allocator, (byoc_link_t){a, b})) domains->failed = true;
}

void byoc_domains_say(byoc_domains_t *domains, uint32_t item, byoc_virtual_device_t device, const char *why) {
  const byoc_virtual_device_t nothing = BYOC_VIRTUAL_DEVICE_FREE;
  if (item == BYOC_NO_ITEM || !byoc_virtual_device_lacks(&nothing, &device)) return;
  device.target = device.ranks = NULL;
  if (!byoc_vector_push(&domains->said, domains->allocator, (byoc_said_t){item, device, why})) domains->failed = true;
}

// ---- the forest ----

uint32_t byoc_domains_root(byoc_domains_t *domains, uint32_t item) {
  byoc_item_t *items = domains->items.data;
  while (items[item].parent != item) {
    items[item].parent = items[items[item].parent].parent;
    item = items[item].parent;
  }
  return item;
}

const byoc_virtual_device_t *byoc_domains_device(byoc_domains_t *domains, uint32_t item) {
  return &domains->items.data[byoc_domains_root(domains, item)].device;
}

byoc_status_t byoc_domains_unite(byoc_domains_t *domains) {
  if (domains->failed) return byoc_diag_out_of_memory(domains->diag);
  byoc_item_t *items = domains->items.data;
  for (size_t j = 0; j < domains->joins.count; ++j) {
    uint32_t a = byoc_domains_root(domains, domains->joins.data[j].a);
    uint32_t b = byoc_domains_root(domains, domains->joins.data[j].b);
    if (a == b) continue;
    if (items[a].count < items[b].count) {
      const uint32_t smaller = a;
      a = b;
      b = smaller;
    }
    items[b].parent = a;
    items[a].count += items[b].count;
  }
  bool clashes = false;
  for (size_t s = 0; s < domains->said.count; ++s) {
    const byoc_said_t *said = &domains->said.data[s];
    byoc_virtual_device_t *device = &items[byoc_domains_root(domains, said->item)].device;
    clashes |= !byoc_virtual_device_agrees(device, &said->device);
    byoc_virtual_device_merge(device, &said->device);
  }
  return clashes ? byoc_domains_conflict(domains) : BYOC_OK;
}
