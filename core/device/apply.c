// SPDX-License-Identifier: Apache-2.0
// Writes the chosen devices into the module, removes OnDevice nodes, and inserts copies behind calls whose results are
// made on another device than the one that readers want.
#include <string.h>

#include "core/device/planning.h"
#include "core/ir/loop.h"
#include "core/op/schema.h"

static byoc_status_t out_of_memory(const byoc_planning_t *p) {
  return byoc_diag_out_of_memory(p->diag);
}

static const byoc_virtual_device_t *device_at(byoc_planning_t *p, uint32_t item) {
  return byoc_domains_device(&p->domains, item);
}

// Free values live in the host's memory; a device without a number is the first.
static void fill_in(byoc_planning_t *p) {
  for (uint32_t i = 0; i < p->domains.items.count; ++i) {
    byoc_virtual_device_t *device = &p->domains.items.data[i].device;
    if (device->device_type == 0) device->device_type = BYOC_VIRTUAL_DEVICE_HOST.device_type;
    if (device->device_id == -1) device->device_id = 0;
  }
}

static void set_device(byoc_planning_t *p, byoc_value_t *value, const byoc_virtual_device_t *device) {
  if (byoc_virtual_device_same(&value->device, device)) return;
  byoc_virtual_device_set(&value->device, device);
  p->changes += 1;
}

static void set_scope(byoc_planning_t *p, byoc_loop_buffer_t *buffer, const byoc_virtual_device_t *device) {
  if (buffer->scope != NULL || device->scope == NULL) return;
  buffer->scope = device->scope;
  p->changes += 1;
}

// Kernels run on the host; only the scopes of their buffers are open.
static void write_kernel(byoc_planning_t *p, const byoc_function_t *function) {
  const byoc_loop_kernel_t *kernel = function->kernel;
  const byoc_block_t *body = function->body;
  for (uint32_t i = 0; i < kernel->input_count && i < body->parameters.count; ++i) {
    const uint32_t item = byoc_domains_find(&p->domains, body->parameters.data[i]);
    set_scope(p, kernel->parameters.data[i], device_at(p, item));
  }
  for (uint32_t i = 0; i < kernel->output_count && i < body->results.count; ++i) {
    const uint32_t item = byoc_planning_result(p, function, i);
    set_scope(p, kernel->parameters.data[kernel->input_count + i], device_at(p, item));
  }
}

static void write_devices(byoc_planning_t *p) {
  for (uint32_t i = 0; i < p->domains.items.count; ++i) {
    byoc_value_t *value = p->domains.items.data[i].value;
    const bool is_kept = value == NULL || value->function->kind == BYOC_FUNCTION_KERNEL;
    if (!is_kept) set_device(p, value, device_at(p, i));
  }
  for (size_t f = 0; f < p->functions.count; ++f) {
    const byoc_function_t *function = p->functions.data[f];
    if (function->kind == BYOC_FUNCTION_KERNEL && function->kernel != NULL) write_kernel(p, function);
    if (function->kind == BYOC_FUNCTION_KERNEL || !byoc_function_is_whole(function)) continue;
    for (uint32_t i = 0; i < function->body->results.count; ++i) {
      byoc_value_t *value = function->body->results.data[i];
      if (value->kind == BYOC_VALUE_RESULT) set_device(p, value, device_at(p, byoc_planning_result(p, function, i)));
    }
  }
}

// ---- targets ----

// The producer of an OnDevice's operand is bound to the target that the node names.
static byoc_status_t bind_target(byoc_planning_t *p, const byoc_node_t *node) {
  byoc_value_t *operand = node->operands[0];
  const char *target = byoc_node_text(node, "target");
  if (target == NULL || target[0] == '\0' || !byoc_node_flag(node, "constrain_body")) return BYOC_OK;
  if (operand->kind != BYOC_VALUE_RESULT) return BYOC_OK;
  if (operand->device.target == NULL) {
    operand->device.target = target;
    p->changes += 1;
  }
  const int order = strcmp(operand->device.target, target);
  if (order == 0) return BYOC_OK;
  char text[160];
  byoc_node_describe(operand->node, text, sizeof(text));
  const char *first = order < 0 ? operand->device.target : target,
             *second = order < 0 ? target : operand->device.target;
  return byoc_diag_error(p->diag, BYOC_INVALID_DATA, "%s of function '%s' is bound to target '%s' and to target '%s'",
                         text, node->function->name, first, second);
}

// ---- nodes ----

// call f() → copy(call f()), where f makes the result on another device than its value names
static byoc_status_t settle_result(byoc_planning_t *p, const byoc_made_t *made) {
  byoc_value_t *value = made->value;
  const byoc_virtual_device_t *from = device_at(p, made->slot), to = value->device;
  if (byoc_virtual_device_agrees(from, &to)) return BYOC_OK;
  byoc_node_t *copy = byoc_planning_make_copy(value->node->block, value->node->next, value, &to);
  if (copy == NULL) return out_of_memory(p);
  byoc_value_t *result = copy->results[0];
  // The copy's own operand is the last use.
  for (size_t u = value->uses.count - 1; u-- > 0;) {
    const byoc_use_t use = value->uses.data[u];
    const bool ok = use.node != NULL ? byoc_node_set_operand(use.node, use.index, result)
                                     : byoc_block_set_result(use.block, use.index, result);
    if (!ok) return out_of_memory(p);
  }
  byoc_virtual_device_set(&value->device, from);
  p->changes += 1;
  return BYOC_OK;
}

// A node whose operand and result name their devices constrains neither of them any more.
static bool let_go(byoc_planning_t *p, byoc_node_t *node) {
  static const char *const names[] = {"device", "id", "target", "scope"};
  if (!byoc_node_flag(node, "constrain_body") && !byoc_node_flag(node, "constrain_result")) return true;
  p->changes += 1;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) byoc_attributes_remove(&node->attributes, names[i]);
  return byoc_attributes_set_int(&node->attributes, "constrain_body", 0) &&
         byoc_attributes_set_int(&node->attributes, "constrain_result", 0);
}

static bool is_decided(const byoc_virtual_device_t *device) {
  return device->device_type != 0 && device->device_id != -1;
}

// OnDevice(x) → x, or DeviceCopy(x)
static byoc_status_t take_out(byoc_planning_t *p, byoc_node_t *node) {
  byoc_value_t *operand = node->operands[0], *result = node->results[0];
  const bool both = is_decided(&operand->device) && is_decided(&result->device);
  const bool differ = !byoc_virtual_device_agrees(&operand->device, &result->device);
  if (!both && !differ) return let_go(p, node) ? BYOC_OK : out_of_memory(p);
  if (!byoc_virtual_device_same(&operand->device, &result->device)) {
    byoc_node_t *copy = byoc_planning_make_copy(node->block, node, operand, &result->device);
    if (copy == NULL) return out_of_memory(p);
    if (result->name != NULL) byoc_value_set_name(copy->results[0], result->name);
    operand = copy->results[0];
  }
  if (!byoc_value_replace_uses(result, operand)) return out_of_memory(p);
  byoc_node_erase(node);
  p->changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_planning_apply(byoc_planning_t *planning) {
  byoc_planning_t *p = planning;
  for (size_t i = 0; i < p->on_devices.count; ++i) BYOC_RETURN_IF_ERROR(bind_target(p, p->on_devices.data[i]));
  if (p->extent == BYOC_PLAN_ALL) fill_in(p);
  write_devices(p);
  for (size_t i = 0; i < p->made.count; ++i) BYOC_RETURN_IF_ERROR(settle_result(p, &p->made.data[i]));
  for (size_t i = 0; i < p->on_devices.count; ++i) BYOC_RETURN_IF_ERROR(take_out(p, p->on_devices.data[i]));
  return byoc_planning_copy(p);
}
