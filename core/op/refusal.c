// SPDX-License-Identifier: Apache-2.0
// Replaces branches that cannot run by nodes with the reason.
#include "core/op/refusal.h"

#include "core/base/log.h"
#include "core/op/schema.h"

byoc_status_t byoc_refuse_branch(byoc_block_t *branch, const char *name, const byoc_diag_t *fault, byoc_diag_t *diag) {
  byoc_arena_t *arena = &branch->function->module->arena;
  const uint32_t count = (uint32_t)branch->results.count;
  char where[256], text[1024];
  byoc_node_describe(branch->owner, where, sizeof where);
  byoc_diag_format(fault, text, sizeof text);
  const char *message = byoc_arena_format(arena, "%s: its %s cannot run: %s", where, name, text);
  byoc_node_t *refuse = byoc_node_create(branch, branch->first, "byoc", "Refuse", 1, NULL, 0, count);
  if (!message || !refuse || !byoc_attributes_set_string(&refuse->attributes, BYOC_REFUSE_MESSAGE, message)) {
    return byoc_diag_out_of_memory(diag);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!byoc_block_set_result(branch, i, refuse->results[i])) return byoc_diag_out_of_memory(diag);
  }
  for (byoc_node_t *node = branch->last; node != refuse; node = branch->last) byoc_node_erase(node);
  byoc_log(BYOC_LOG_INFO, "%s", message);
  return BYOC_OK;
}

const char *byoc_refusal_of(const byoc_block_t *branch) {
  const byoc_node_t *first = branch->first;
  return first && byoc_node_is(first, "byoc", "Refuse") ? byoc_node_text(first, BYOC_REFUSE_MESSAGE) : NULL;
}
