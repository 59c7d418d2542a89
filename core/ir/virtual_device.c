// SPDX-License-Identifier: Apache-2.0
// Compares and hashes the virtual devices of values.
#include "core/ir/virtual_device.h"

#include <string.h>

#include "core/base/hash.h"

uint64_t byoc_virtual_device_hash(const byoc_virtual_device_t *device, uint64_t seed) {
  if (byoc_virtual_device_is_free(device)) return seed;
  int32_t numbers[] = {device->device_type, device->device_id};
  seed = byoc_hash_bytes(numbers, sizeof(numbers), seed);
  seed = byoc_hash_combine(seed, device->target ? byoc_hash_string(device->target) : 1);
  seed = byoc_hash_combine(seed, device->scope ? byoc_hash_string(device->scope) : 2);
  return device->ranks ? byoc_hash_combine(seed, byoc_hash_string(device->ranks)) : seed;
}

static bool text_serves(const char *text, const char *wanted) {
  return wanted == NULL || (text != NULL && strcmp(text, wanted) == 0);
}

static bool place_serves(const byoc_virtual_device_t *a, const byoc_virtual_device_t *wanted) {
  return (wanted->device_type == 0 || a->device_type == wanted->device_type) &&
         (wanted->device_id == -1 || a->device_id == wanted->device_id) && text_serves(a->scope, wanted->scope) &&
         text_serves(a->ranks, wanted->ranks);
}

bool byoc_value_serves(const byoc_value_t *value, const byoc_value_t *wanted) {
  return place_serves(&value->device, &wanted->device) && text_serves(value->device.target, wanted->device.target);
}

bool byoc_value_may_vanish(const byoc_value_t *value, const byoc_value_t *result) {
  return place_serves(&result->device, &value->device);
}

static bool same_place(const byoc_value_t *a, const byoc_value_t *b) {
  byoc_virtual_device_t one = a->device, other = b->device;
  one.target = other.target = NULL;
  return byoc_virtual_device_equal(&one, &other);
}

bool byoc_nodes_share_device(const byoc_node_t *a, const byoc_node_t *b) {
  if (a->result_count == 0 || b->result_count == 0) return true;
  for (uint32_t r = 1; r < a->result_count; ++r) {
    if (!same_place(a->results[0], a->results[r])) return false;
  }
  for (uint32_t r = 0; r < b->result_count; ++r) {
    if (!same_place(a->results[0], b->results[r])) return false;
  }
  return true;
}

bool byoc_nodes_match_places(const byoc_node_t *a, const byoc_node_t *b) {
  if (a->result_count != b->result_count) return false;
  for (uint32_t r = 0; r < a->result_count; ++r) {
    if (!byoc_virtual_device_equal(&a->results[r]->device, &b->results[r]->device)) return false;
  }
  return true;
}

byoc_node_t *byoc_value_open_producer(const byoc_value_t *value) {
  byoc_node_t *producer = byoc_value_producer(value);
  if (producer == NULL || byoc_virtual_device_is_free(&value->device)) return producer;
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_node_t *reader = value->uses.data[u].node;
    if (reader != NULL && reader->result_count > 0 && !byoc_value_serves(reader->results[0], value)) return NULL;
  }
  return producer;
}

byoc_value_t *byoc_value_in_place_of(byoc_value_t *value, const byoc_value_t *wanted, byoc_node_t *before) {
  if (byoc_value_serves(value, wanted)) return value;
  byoc_node_t *node = byoc_node_create(before->block, before, "", "Identity", 16, &value, 1, 1);
  if (node == NULL) return NULL;
  node->results[0]->type = value->type;
  node->results[0]->device = wanted->device;
  return node->results[0];
}
