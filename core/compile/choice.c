// SPDX-License-Identifier: Apache-2.0
// Copies models into the cases of a choice, and replaces their results.
#include "core/compile/choice.h"

size_t byoc_choice_list_results(const byoc_block_t *block, byoc_value_t **results) {
  size_t count = 0;
  for (size_t r = 0; r < block->results.count; ++r) {
    byoc_value_t *value = block->results.data[r];
    bool is_listed = byoc_value_producer(value) == NULL;
    for (size_t k = 0; k < count && !is_listed; ++k) is_listed = results[k] == value;
    if (!is_listed) results[count++] = value;
  }
  return count;
}

bool byoc_choice_replace_results(byoc_block_t *block, byoc_value_t *const *results, const byoc_node_t *choice) {
  for (uint32_t k = 0; k < choice->result_count; ++k) {
    for (uint32_t r = 0; r < block->results.count; ++r) {
      if (block->results.data[r] != results[k]) continue;
      if (!byoc_block_set_result(block, r, choice->results[k])) return false;
    }
  }
  return true;
}

bool byoc_choice_copy(const byoc_block_t *from, byoc_block_t *to, byoc_map_t *map) {
  BYOC_FOR_EACH_NODE(node, from) {
    if (byoc_node_clone(node, to, NULL, map) == NULL) return false;
  }
  for (size_t r = 0; r < from->results.count; ++r) {
    byoc_value_t *copy = byoc_pointer_map_get(map, from->results.data[r]);
    if (!byoc_block_add_result(to, NULL, copy != NULL ? copy : from->results.data[r])) return false;
  }
  return true;
}
