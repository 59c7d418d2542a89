// SPDX-License-Identifier: Apache-2.0
// Finds the domains of device planning: walks all functions that main reaches, once, and notes joins, links and the
// devices that are named.
#include <string.h>

#include "core/device/planning.h"
#include "core/ir/attribute_names.h"
#include "core/ir/loop.h"
#include "core/op/op.h"
#include "core/op/schema.h"

static const char in_host_memory[] = "the host uses it";

// ---- slots ----

static byoc_status_t out_of_memory(const byoc_planning_t *p) {
  return byoc_diag_out_of_memory(p->diag);
}

// Room for the operands of `owner` (a node or a block); they demand no device yet.
static bool open_slots(byoc_planning_t *p, const void *owner, size_t count) {
  const uintptr_t base = p->slots.count + 1;
  if (!byoc_pointer_map_put(&p->slot_bases, owner, (void *)base)) return false;
  if (!byoc_vector_reserve(&p->slots, p->domains.allocator, count)) return false;
  for (size_t i = 0; i < count; ++i) p->slots.data[p->slots.count++] = BYOC_NO_ITEM;
  return true;
}

static void demand(byoc_planning_t *p, const void *owner, size_t index, uint32_t slot) {
  const uintptr_t base = (uintptr_t)byoc_pointer_map_get(&p->slot_bases, owner);
  p->slots.data[base - 1 + index] = slot;
}

uint32_t byoc_planning_demand(const byoc_planning_t *planning, const byoc_use_t *use) {
  const void *owner = use->node != NULL ? (const void *)use->node : use->block;
  const uintptr_t base = (uintptr_t)byoc_pointer_map_get(&planning->slot_bases, owner);
  return base != 0 ? planning->slots.data[base - 1 + use->index] : BYOC_NO_ITEM;
}

uint32_t byoc_planning_result(const byoc_planning_t *planning, const byoc_function_t *function, uint32_t index) {
  const uintptr_t base = (uintptr_t)byoc_pointer_map_get(&planning->signatures, function);
  return base != 0 ? (uint32_t)(base - 1) + index : BYOC_NO_ITEM;
}

// ---- values ----

static bool lives_with_host(const byoc_type_t *type) {
  return type->kind == BYOC_TYPE_SEQUENCE || type->kind == BYOC_TYPE_OPTIONAL ||
         (type->kind == BYOC_TYPE_TENSOR && type->dtype == BYOC_DTYPE_STRING);
}

// The item of a value. Making it notes the device that the value names.
static uint32_t item_of(byoc_planning_t *p, byoc_value_t *value) {
  uint32_t item = byoc_domains_find(&p->domains, value);
  if (item != BYOC_NO_ITEM) return item;
  item = byoc_domains_value(&p->domains, value);
  if (item == BYOC_NO_ITEM) return item;
  p->domains.items.data[item].is_soft = value->kind == BYOC_VALUE_CONSTANT;
  byoc_domains_say(&p->domains, item, value->device, NULL);
  if (lives_with_host(value->type)) byoc_domains_say(&p->domains, item, BYOC_VIRTUAL_DEVICE_HOST, in_host_memory);
  return item;
}

static uint32_t soft_item_of(byoc_planning_t *p, byoc_value_t *value) {
  const uint32_t item = item_of(p, value);
  if (item != BYOC_NO_ITEM) p->domains.items.data[item].is_soft = true;
  return item;
}

// A value that the host makes.
static void make_in_host_memory(byoc_planning_t *p, byoc_value_t *value) {
  byoc_domains_say(&p->domains, soft_item_of(p, value), BYOC_VIRTUAL_DEVICE_HOST, in_host_memory);
}

// `owner` reads `value` as its operand or result `index`, which lives with `slot`.
static void read_at(byoc_planning_t *p, const void *owner, size_t index, byoc_value_t *value, uint32_t slot,
                    const byoc_node_t *node) {
  const uint32_t item = item_of(p, value);
  demand(p, owner, index, slot);
  if (item == BYOC_NO_ITEM || slot == BYOC_NO_ITEM) return;
  if (p->domains.items.data[item].is_soft) {
    byoc_domains_link(&p->domains, item, slot);
  } else {
    byoc_domains_join(&p->domains, item, slot, node);
  }
}

// The same for a reader that takes a copy if the value lives elsewhere.
static void read_softly(byoc_planning_t *p, const void *owner, size_t index, byoc_value_t *value, uint32_t slot) {
  demand(p, owner, index, slot);
  byoc_domains_link(&p->domains, item_of(p, value), slot);
}

static void read_by_host(byoc_planning_t *p, byoc_node_t *node, uint32_t index) {
  if (node->operands[index] == NULL) return;
  const uint32_t slot = byoc_domains_operand_slot(&p->domains, node, index);
  byoc_domains_say(&p->domains, slot, BYOC_VIRTUAL_DEVICE_HOST, in_host_memory);
  read_softly(p, node, index, node->operands[index], slot);
}

// ---- functions ----

bool byoc_function_is_whole(const byoc_function_t *function) {
  return function->kind != BYOC_FUNCTION_GRAPH || byoc_function_is_region(function) ||
         byoc_function_has_flag(function, BYOC_ATTRIBUTE_PRIMITIVE) || byoc_function_is_opaque(function);
}

// The device on which a function that is compiled as a whole runs: that of its first result or parameter that says one.
// Without one it is the host, unless code for the function is still to come, or the function is just Primitive and runs
// where its calls want it.
static byoc_virtual_device_t device_of(const byoc_planning_t *p, const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  const bool is_region = byoc_function_is_region(function) && p->extent == BYOC_PLAN_ALL;
  const bool is_compiled = function->kind != BYOC_FUNCTION_GRAPH || is_region;
  byoc_virtual_device_t device = is_compiled ? BYOC_VIRTUAL_DEVICE_HOST : BYOC_VIRTUAL_DEVICE_FREE;
  if (function->kind == BYOC_FUNCTION_KERNEL) return device;
  for (size_t i = body->parameters.count; i-- > 0;) {
    if (body->parameters.data[i]->device.device_type != 0) device = body->parameters.data[i]->device;
  }
  for (size_t i = body->results.count; i-- > 0;) {
    if (body->results.data[i]->device.device_type != 0) device = body->results.data[i]->device;
  }
  device.scope = device.target = NULL;
  return device;
}

// Does the body read only the shape of the parameter?
static bool is_shape_operand(const byoc_value_t *parameter) {
  for (size_t u = 0; u < parameter->uses.count; ++u) {
    const byoc_use_t *use = &parameter->uses.data[u];
    const byoc_op_t *op = use->node != NULL ? byoc_op_of(use->node) : NULL;
    if (op == NULL || use->index >= 32 || ((op->shape_operands >> use->index) & 1) == 0) return false;
  }
  return parameter->uses.count > 0;
}

// A parameter or result of a function that is compiled as a whole.
static void say_of_whole(byoc_planning_t *p, uint32_t item, const byoc_value_t *value, const char *scope,
                         byoc_virtual_device_t device) {
  byoc_virtual_device_t said = value->device;
  if (value->function->kind == BYOC_FUNCTION_KERNEL) said = BYOC_VIRTUAL_DEVICE_FREE; // it runs on the host
  if (said.device_type == 0) {
    said.device_type = device.device_type;
    said.device_id = device.device_id;
  }
  if (scope != NULL) said.scope = scope;
  byoc_domains_say(&p->domains, item, said, NULL);
}

static void sign_whole(byoc_planning_t *p, byoc_function_t *function, uint32_t first_result) {
  const byoc_block_t *body = function->body;
  const byoc_loop_kernel_t *kernel = function->kernel;
  const byoc_virtual_device_t device = device_of(p, function);
  uint32_t one = BYOC_NO_ITEM; // of those that name no device: they live together
  for (size_t i = 0; i < body->parameters.count && !p->domains.failed; ++i) {
    byoc_value_t *value = body->parameters.data[i];
    const uint32_t item = byoc_domains_value(&p->domains, value);
    const char *scope = kernel != NULL && i < kernel->input_count ? kernel->parameters.data[i]->scope : NULL;
    const bool is_shape = value->device.device_type == 0 && is_shape_operand(value);
    say_of_whole(p, item, value, scope, is_shape ? BYOC_VIRTUAL_DEVICE_HOST : device);
    if (device.device_type != 0 || is_shape) continue;
    if (one == BYOC_NO_ITEM) one = item;
    byoc_domains_join(&p->domains, one, item, NULL);
  }
  for (uint32_t i = 0; i < body->results.count && !p->domains.failed; ++i) {
    const byoc_value_t *value = body->results.data[i];
    const char *scope =
        kernel != NULL && i < kernel->output_count ? kernel->parameters.data[kernel->input_count + i]->scope : NULL;
    say_of_whole(p, first_result + i, value, scope, device);
    if (device.device_type == 0) byoc_domains_join(&p->domains, one, first_result + i, NULL);
    if (device.device_type == 0 && one == BYOC_NO_ITEM) one = first_result + i;
  }
}

// Makes the items of a function's parameters and results when the function is reached.
static bool reach(byoc_planning_t *p, byoc_function_t *function) {
  if (byoc_pointer_map_find(&p->signatures, function) != NULL) return true;
  const uint32_t first_result = (uint32_t)p->domains.items.count;
  const uintptr_t entry = (uintptr_t)first_result + 1;
  if (!byoc_pointer_map_put(&p->signatures, function, (void *)entry)) return false;
  if (!byoc_vector_push(&p->functions, p->domains.allocator, function)) return false;
  const bool is_main = p->functions.count == 1;
  for (uint32_t i = 0; i < function->body->results.count; ++i) {
    const uint32_t item = byoc_domains_result_slot(&p->domains, function, i);
    if (is_main) byoc_domains_say(&p->domains, item, BYOC_VIRTUAL_DEVICE_HOST, "the caller reads it");
  }
  if (p->domains.failed) return false;
  if (byoc_function_is_whole(function)) {
    sign_whole(p, function, first_result);
    return true;
  }
  for (size_t i = 0; i < function->body->parameters.count; ++i) {
    byoc_value_t *parameter = function->body->parameters.data[i];
    const uint32_t item = is_main ? soft_item_of(p, parameter) : item_of(p, parameter);
    if (is_main && parameter->device.device_type == 0 && !lives_with_host(parameter->type)) {
      byoc_domains_say(&p->domains, item, BYOC_VIRTUAL_DEVICE_HOST, "the caller writes it");
    }
  }
  return !p->domains.failed;
}

// ---- nodes ----

static bool visit_call(byoc_planning_t *p, byoc_node_t *node) {
  byoc_function_t *callee = node->callee;
  if (!reach(p, callee)) return false;
  const bool is_whole = byoc_function_is_whole(callee);
  for (uint32_t i = 0; i < node->operand_count && i < callee->body->parameters.count; ++i) {
    if (node->operands[i] == NULL) continue;
    const uint32_t slot = byoc_domains_find(&p->domains, callee->body->parameters.data[i]);
    if (is_whole) {
      read_softly(p, node, i, node->operands[i], slot);
    } else {
      read_at(p, node, i, node->operands[i], slot, node);
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    byoc_value_t *result = node->results[i];
    const uint32_t slot = byoc_planning_result(p, callee, i);
    const uint32_t item = is_whole ? soft_item_of(p, result) : item_of(p, result);
    if (!is_whole || byoc_virtual_device_is_free(&result->device)) {
      byoc_domains_join(&p->domains, slot, item, node);
    } else {
      byoc_domains_link(&p->domains, slot, item);
    }
    if (is_whole && !byoc_vector_push(&p->made, p->domains.allocator, (byoc_made_t){result, slot})) return false;
  }
  return true;
}

static byoc_virtual_device_t device_of_on_device(const byoc_node_t *node) {
  return (byoc_virtual_device_t){.device_type = (int32_t)byoc_node_int(node, "device"),
                                 .device_id = (int32_t)byoc_node_int(node, "id"),
                                 .target = byoc_node_text(node, "target"),
                                 .scope = byoc_node_text(node, "scope")};
}

static bool visit_on_device(byoc_planning_t *p, byoc_node_t *node) {
  const byoc_virtual_device_t device = device_of_on_device(node);
  const bool body = byoc_node_flag(node, "constrain_body"), result = byoc_node_flag(node, "constrain_result");
  const uint32_t operand = item_of(p, node->operands[0]), made = item_of(p, node->results[0]);
  if (p->domains.failed) return false;
  uint32_t slot = operand;
  if (p->domains.items.data[operand].is_soft) {
    slot = byoc_domains_operand_slot(&p->domains, node, 0);
    byoc_domains_link(&p->domains, operand, slot);
  }
  if (body) byoc_domains_say(&p->domains, slot, device, NULL);
  if (result) byoc_domains_say(&p->domains, made, device, NULL);
  if (body && result) byoc_domains_join(&p->domains, slot, made, node);
  if (!body && !result) byoc_domains_link(&p->domains, slot, made);
  return byoc_vector_push(&p->on_devices, p->domains.allocator, node);
}

static void visit_operator(byoc_planning_t *p, byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  const bool is_of_host = op != NULL && (op->traits & (BYOC_OP_HOST | BYOC_OP_HOST_MEMORY)) != 0;
  uint32_t one = BYOC_NO_ITEM; // of the values that live together
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (is_of_host) {
      make_in_host_memory(p, node->results[r]);
      continue;
    }
    const uint32_t item = item_of(p, node->results[r]);
    if (one == BYOC_NO_ITEM) one = item;
    byoc_domains_join(&p->domains, one, item, node);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] == NULL) continue;
    const uint32_t bit = op != NULL && i < 32 ? UINT32_C(1) << i : 0;
    if (bit != 0 && (op->shape_operands & bit) != 0) {
      read_by_host(p, node, i);
    } else if (bit != 0 && (op->by_shape & bit) != 0) {
      (void)item_of(p, node->operands[i]); // its elements are not read
    } else if (is_of_host) {
      read_by_host(p, node, i);
    } else {
      if (one == BYOC_NO_ITEM) one = byoc_domains_operand_slot(&p->domains, node, i);
      read_at(p, node, i, node->operands[i], one, node);
    }
  }
}

// ---- nodes with blocks ----

static bool visit_block(byoc_planning_t *p, byoc_block_t *block);

// Result `index` of a block becomes `slot` outside.
static void yield(byoc_planning_t *p, byoc_block_t *block, size_t index, uint32_t slot) {
  const byoc_node_t *node = block->owner;
  if (index < block->results.count) read_at(p, block, index, block->results.data[index], slot, node);
}

static void yield_to_host(byoc_planning_t *p, byoc_block_t *block, uint32_t index) {
  if (index >= block->results.count) return;
  const uint32_t slot = byoc_domains_result_slot(&p->domains, block->function, index);
  byoc_domains_say(&p->domains, slot, BYOC_VIRTUAL_DEVICE_HOST, in_host_memory);
  read_softly(p, block, index, block->results.data[index], slot);
}

// The values that a block takes in each iteration, and the results that they become.
typedef struct carried_t {
  uint32_t operand, parameter; // the first ones that are carried
  uint32_t yielded;            // the first result of the block that is carried or gathered
  uint32_t count;              // values that are carried from iteration to iteration
  uint32_t scanned;            // operands behind them whose slices are parameters
} carried_t;

static bool carried_by(const byoc_node_t *node, carried_t *out) {
  if (byoc_node_is_onnx(node, "Loop")) {
    const uint32_t count = node->operand_count > 2 ? node->operand_count - 2 : 0;
    *out = (carried_t){.operand = 2, .parameter = 2, .yielded = 1, .count = count};
    return true;
  }
  if (!byoc_node_is_onnx(node, "Scan")) return false;
  const uint32_t first = node->since_version < 9, operands = node->operand_count;
  const uint32_t scanned = (uint32_t)byoc_node_int(node, "num_scan_inputs");
  if (scanned + first > operands) return false;
  *out = (carried_t){.operand = first, .count = operands - first - scanned, .scanned = scanned};
  return true;
}

// Results from `index` on are stacked, in the host's memory if the module says so.
static void stack(byoc_planning_t *p, byoc_node_t *node, const carried_t *c, uint32_t index) {
  byoc_block_t *body = node->blocks[0];
  if (!p->module->stacks_on_host) {
    yield(p, body, c->yielded + index, item_of(p, node->results[index]));
    return;
  }
  make_in_host_memory(p, node->results[index]);
  yield_to_host(p, body, c->yielded + index);
}

static bool visit_loop(byoc_planning_t *p, byoc_node_t *node, const carried_t *c) {
  byoc_block_t *body = node->blocks[0];
  for (uint32_t i = 0; i < c->operand && i < node->operand_count; ++i) read_by_host(p, node, i);
  for (uint32_t i = 0; i < c->parameter && i < body->parameters.count; ++i) {
    make_in_host_memory(p, body->parameters.data[i]);
  }
  for (uint32_t i = 0; i < c->count + c->scanned && c->parameter + i < body->parameters.count; ++i) {
    byoc_value_t *operand = node->operands[c->operand + i];
    const uint32_t parameter = item_of(p, body->parameters.data[c->parameter + i]);
    if (operand != NULL) read_at(p, node, c->operand + i, operand, parameter, node);
    if (i < c->count && i < node->result_count) {
      byoc_domains_join(&p->domains, parameter, item_of(p, node->results[i]), node);
    }
  }
  if (!open_slots(p, body, body->results.count)) return false;
  for (uint32_t i = 0; i < c->yielded; ++i) yield_to_host(p, body, i);
  if (!visit_block(p, body)) return false;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (i < c->count) yield(p, body, c->yielded + i, item_of(p, node->results[i]));
    if (i >= c->count) stack(p, node, c, i);
  }
  return true;
}

// If, SequenceMap, byoc::Function: results of the node are those of its blocks, and parameters of a block, if there are
// any, are the operands.
static bool visit_blocks(byoc_planning_t *p, byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    byoc_block_t *body = node->blocks[0];
    if (operand == NULL) continue;
    const bool is_taken = i < body->parameters.count;
    const bool is_apart =
        is_taken && lives_with_host(operand->type) && !lives_with_host(body->parameters.data[i]->type);
    if (is_apart) make_in_host_memory(p, body->parameters.data[i]);
    if (!is_taken || is_apart) {
      read_by_host(p, node, i);
    } else {
      read_at(p, node, i, operand, item_of(p, body->parameters.data[i]), node);
    }
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    byoc_block_t *block = node->blocks[b];
    if (!open_slots(p, block, block->results.count) || !visit_block(p, block)) return false;
    for (uint32_t i = 0; i < node->result_count && i < block->results.count; ++i) {
      const bool is_gathered =
          lives_with_host(node->results[i]->type) && !lives_with_host(block->results.data[i]->type);
      if (is_gathered) yield_to_host(p, block, i);
      if (!is_gathered) yield(p, block, i, item_of(p, node->results[i]));
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) (void)item_of(p, node->results[i]);
  return true;
}

static bool visit_node(byoc_planning_t *p, byoc_node_t *node) {
  carried_t carried;
  if (!open_slots(p, node, node->operand_count)) return false;
  if (node->callee != NULL) return visit_call(p, node);
  if (byoc_node_is(node, "byoc", "OnDevice")) return visit_on_device(p, node);
  if (byoc_node_is(node, "byoc", "DeviceCopy")) {
    (void)item_of(p, node->operands[0]);
    (void)item_of(p, node->results[0]);
    return true;
  }
  if (node->block_count == 1 && carried_by(node, &carried)) return visit_loop(p, node, &carried);
  if (node->block_count > 0) return visit_blocks(p, node);
  visit_operator(p, node);
  return true;
}

static bool visit_block(byoc_planning_t *p, byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    if (!visit_node(p, node)) return false;
  }
  return !p->domains.failed;
}

static bool visit_function(byoc_planning_t *p, byoc_function_t *function) {
  byoc_block_t *body = function->body;
  if (!open_slots(p, body, body->results.count) || !visit_block(p, body)) return false;
  const bool is_main = function == p->functions.data[0];
  for (uint32_t i = 0; i < body->results.count; ++i) {
    const uint32_t slot = byoc_planning_result(p, function, i);
    if (is_main) read_softly(p, body, i, body->results.data[i], slot);
    if (!is_main) read_at(p, body, i, body->results.data[i], slot, NULL);
  }
  return !p->domains.failed;
}

byoc_status_t byoc_planning_collect(byoc_planning_t *planning) {
  byoc_function_t *main = byoc_graph_module_main(planning->module);
  if (main == NULL) return BYOC_OK;
  if (!reach(planning, main)) return out_of_memory(planning);
  for (size_t f = 0; f < planning->functions.count; ++f) {
    byoc_function_t *function = planning->functions.data[f];
    if (byoc_function_is_whole(function)) continue;
    if (!visit_function(planning, function)) return out_of_memory(planning);
  }
  return BYOC_OK;
}
