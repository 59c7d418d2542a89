// SPDX-License-Identifier: Apache-2.0
// Finds the targets that may claim a node, and checks that every node that is bound to a target was claimed by it.
#include "core/collage/constraint.h"

#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/op.h"

int32_t byoc_target_device(const byoc_target_t *target) {
  return byoc_target_runs_on_device(target) ? target->kind->backend->device_type : kDLCPU;
}

// A backend's kernels on a device get tensors of unknown size only if the backend declares that they can.
static bool has_known_sizes(const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->operand_count + node->result_count; ++k) {
    const bool is_operand = k < node->operand_count;
    const byoc_value_t *value = is_operand ? node->operands[k] : node->results[k - node->operand_count];
    if (value != NULL && (value->type == NULL || !byoc_type_is_static(value->type))) return false;
  }
  return true;
}

// Memory on a device is for tensors whose types and ranks are known.
static bool has_known_ranks(const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->operand_count + node->result_count; ++k) {
    const bool is_operand = k < node->operand_count;
    const byoc_value_t *value = is_operand ? node->operands[k] : node->results[k - node->operand_count];
    if (value == NULL) continue;
    if (value->type == NULL || !byoc_type_is_tensor(value->type) || value->type->rank < 0) return false;
  }
  return true;
}

static bool lacks_sizes_for(const byoc_target_t *target, const byoc_node_t *node) {
  if (byoc_target_device(target) == kDLCPU || has_known_sizes(node)) return false;
  return (target->kind->backend->flags & BYOC_BACKEND_OPEN_SIZES) == 0 || !has_known_ranks(node);
}

bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node) {
  if (node->callee != NULL || lacks_sizes_for(target, node)) return false;
  if (byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_ANSWERED, 0) != 0) return false;
  size_t count = 0;
  const int64_t *gave_back = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, &count);
  for (size_t i = 0; i < count; ++i) {
    if (gave_back[i] == target->index) return false;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const char *wanted = node->results[r]->device.target;
    const byoc_virtual_device_t *device = &node->results[r]->device;
    if (wanted != NULL && strcmp(wanted, target->kind->name) != 0) return false;
    if (device->device_type != 0 && device->device_type != byoc_target_device(target)) return false;
    if (device->device_id > 0 && byoc_target_device(target) == kDLCPU) return false; // there is one processor
  }
  return true;
}

const char *byoc_node_bound_to(const byoc_node_t *node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (node->results[r]->device.target != NULL) return node->results[r]->device.target;
  }
  return NULL;
}

int32_t byoc_node_bound_device(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  const bool needs_none =
      node->callee != NULL || node->block_count > 0 || op == NULL || op->is_view || (op->traits & BYOC_OP_HOST) != 0;
  for (uint32_t r = 0; r < node->result_count && !needs_none; ++r) {
    if (node->results[r]->device.device_type > kDLCPU) return node->results[r]->device.device_type;
  }
  return 0;
}

// ---- checks ----

typedef struct check_t {
  const byoc_target_list_t *targets;
  const byoc_placement_t *placement; // NULL: check only that the targets are known
  bool is_first_round;
  byoc_diag_t *diag;
  byoc_status_t status;
} check_t;

static const byoc_target_t *find_target(const check_t *c, const char *kind) {
  for (size_t t = 0; t < c->targets->targets.count; ++t) {
    if (strcmp(c->targets->targets.data[t]->kind->name, kind) == 0) return c->targets->targets.data[t];
  }
  return NULL;
}

static bool check_known(void *self, byoc_node_t *node) {
  check_t *c = self;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const char *bound = node->results[r]->device.target;
    if (bound == NULL || find_target(c, bound) != NULL) continue;
    char text[160];
    byoc_node_describe(node, text, sizeof(text));
    c->status =
        byoc_diag_error(c->diag, BYOC_INVALID_ARGUMENT,
                        "%s is bound to target '%s', which is not among the targets of this build", text, bound);
    byoc_diag_hint(c->diag, "add --target %s, or remove the target from the value's \"on {...}\"", bound);
    return false;
  }
  return true;
}

static bool has_fallen_back(const byoc_node_t *node) {
  return byoc_attributes_find(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY) != NULL;
}

static const char *find_reason(const check_t *c, const byoc_node_t *node, const char *bound) {
  const byoc_target_t *target = find_target(c, bound);
  if (target != NULL && lacks_sizes_for(target, node))
    return "its target takes only tensors of known sizes to a device";
  for (size_t d = 0; d < c->placement->declines.count; ++d) {
    const byoc_decline_t *decline = &c->placement->declines.data[d];
    if (decline->node == node && strcmp(decline->target->kind->name, bound) == 0) return decline->reason;
  }
  return has_fallen_back(node) ? "it declined the node after claiming it" : "none of its rules claims it";
}

// The reason why a target on the device did not claim the node.
static const char *find_device_reason(const check_t *c, const byoc_node_t *node, int32_t device) {
  const char *reason = "no target of this build runs on it";
  for (size_t t = 0; t < c->targets->targets.count; ++t) {
    const byoc_target_t *target = c->targets->targets.data[t];
    if (byoc_target_device(target) == device) reason = find_reason(c, node, target->kind->name);
  }
  return reason;
}

static bool check_on_device(check_t *c, const byoc_node_t *node) {
  const int32_t device = byoc_node_bound_device(node);
  if (device == 0) return true;
  char text[160];
  byoc_node_describe(node, text, sizeof(text));
  c->status = byoc_diag_error(c->diag, BYOC_UNSUPPORTED,
                              "%s is bound to a device of type %d, and no target claims it there: %s", text,
                              (int)device, find_device_reason(c, node, device));
  byoc_diag_hint(c->diag, "byoc::OnDevice in front of it or behind it allows a copy to the host");
  return false;
}

static bool check_met(void *self, byoc_node_t *node) {
  check_t *c = self;
  if (!check_on_device(c, node)) return false;
  const char *bound = node->callee == NULL ? byoc_node_bound_to(node) : NULL;
  const byoc_target_t *target = bound != NULL ? find_target(c, bound) : NULL;
  if (target == NULL || target->kind->backend == NULL) return true;
  if (!c->is_first_round && !has_fallen_back(node)) return true;
  char text[160];
  byoc_node_describe(node, text, sizeof(text));
  c->status = byoc_diag_error(c->diag, BYOC_UNSUPPORTED, "%s is bound to target '%s', which does not claim it: %s",
                              text, bound, find_reason(c, node, bound));
  return false;
}

static byoc_status_t check_all(const byoc_graph_module_t *module, check_t *c, bool (*check)(void *, byoc_node_t *)) {
  for (size_t f = 0; f < module->functions.count && c->status == BYOC_OK; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (byoc_function_is_open(function)) (void)byoc_block_walk(function->body, check, c);
  }
  return c->status;
}

byoc_status_t byoc_targets_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                       byoc_diag_t *diag) {
  check_t check = {.targets = targets, .diag = diag};
  return check_all(module, &check, check_known);
}

byoc_status_t byoc_placement_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                         const byoc_placement_t *placement, bool is_first_round, byoc_diag_t *diag) {
  check_t check = {.targets = targets, .placement = placement, .is_first_round = is_first_round, .diag = diag};
  return check_all(module, &check, check_met);
}
