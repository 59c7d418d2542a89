// Helpers of passes that rewrite nodes.
#include "core/pass/rewrite.h"

#include "core/ir/virtual_device.h"

byoc_status_t byoc_pass_replace(byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag, size_t *changes) {
  if (by == NULL) return byoc_diag_failure(diag);
  const byoc_value_t *result = node->results[0];
  bool is_made = by->uses.count == 0; // it was made for this and will live where the result did
  if (!is_made) by = byoc_value_in_place_of(by, result, node);
  if (by == NULL) return byoc_diag_out_of_memory(diag);
  if (result->name != NULL && by->name == NULL && byoc_value_producer(by) != NULL) {
    byoc_value_set_name(by, result->name);
  }
  if (!byoc_value_replace_uses(node->results[0], by)) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

bool byoc_pass_is_unused(const byoc_node_t *node) {
  if (node->result_count == 0) return false; // it has an effect instead of a result
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (node->results[r]->uses.count > 0) return false;
  }
  return true;
}
