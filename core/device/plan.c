// SPDX-License-Identifier: Apache-2.0
// Runs the steps of device planning in order: collect, spread, copy, apply.
#include "core/device/plan.h"

#include "core/device/planning.h"
#include "core/ir/loop.h"

static bool says_device(const byoc_value_t *value) {
  return value->device.device_type != 0 || value->device.scope != NULL;
}

static bool says_nothing(void *self, byoc_node_t *node) {
  (void)self;
  if (byoc_node_is(node, "byoc", "OnDevice") || byoc_node_is(node, "byoc", "DeviceCopy")) return false;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (says_device(node->results[r])) return false;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    const byoc_block_t *block = node->blocks[b];
    for (size_t i = 0; i < block->parameters.count; ++i) {
      if (says_device(block->parameters.data[i])) return false;
    }
  }
  return true;
}

static bool function_says_device(const byoc_function_t *function) {
  for (size_t i = 0; i < function->body->parameters.count; ++i) {
    if (says_device(function->body->parameters.data[i])) return true;
  }
  for (size_t i = 0; i < function->constants.count; ++i) {
    if (says_device(function->constants.entries[i].value)) return true;
  }
  for (size_t i = 0; function->kernel != NULL && i < function->kernel->parameters.count; ++i) {
    if (function->kernel->parameters.data[i]->scope != NULL) return true;
  }
  return !byoc_block_walk(function->body, says_nothing, NULL);
}

static bool module_says_device(const byoc_graph_module_t *module) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    if (function_says_device(module->functions.data[f])) return true;
  }
  return false;
}

byoc_status_t byoc_plan_devices(byoc_graph_module_t *module, byoc_plan_extent_t extent, byoc_diag_t *diag,
                                size_t *changes) {
  if (!module_says_device(module)) return BYOC_OK;
  const byoc_allocator_t allocator = module->allocator;
  byoc_planning_t planning = {.module = module, .extent = extent, .diag = diag};
  byoc_domains_init(&planning.domains, allocator, diag);
  byoc_pointer_map_init(&planning.slot_bases, allocator);
  byoc_pointer_map_init(&planning.signatures, allocator);
  byoc_status_t status = byoc_planning_collect(&planning);
  if (status == BYOC_OK) status = byoc_domains_unite(&planning.domains);
  if (status == BYOC_OK && extent == BYOC_PLAN_ALL) status = byoc_domains_spread(&planning.domains);
  if (status == BYOC_OK) status = byoc_planning_apply(&planning);
  *changes += planning.changes;
  byoc_vector_deinit(&planning.slots, allocator);
  byoc_vector_deinit(&planning.functions, allocator);
  byoc_vector_deinit(&planning.made, allocator);
  byoc_vector_deinit(&planning.on_devices, allocator);
  byoc_map_deinit(&planning.slot_bases);
  byoc_map_deinit(&planning.signatures);
  byoc_domains_deinit(&planning.domains);
  return status;
}
