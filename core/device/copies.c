// SPDX-License-Identifier: Apache-2.0
// Puts a DeviceCopy between a value and its readers on another device: one for all readers on a device. Copies that
// were there before are used, and go where they do nothing.
#include "core/device/planning.h"
#include "core/ir/attribute_names.h"

// The readers of a value that want it on one device.
typedef struct group_t {
  byoc_virtual_device_t device;
  byoc_block_t *block; // the innermost one that all of them are in
  byoc_node_t *copy;   // the first copy to this device that was there before; NULL: there was none
  size_t readers, copies;
  byoc_value_t *value; // the value that they read from now on
} group_t;

typedef struct copier_t {
  byoc_planning_t *p;
  BYOC_VECTOR(group_t) groups; // of the current value
} copier_t;

byoc_node_t *byoc_planning_make_copy(byoc_block_t *block, byoc_node_t *before, byoc_value_t *value,
                                     const byoc_virtual_device_t *device) {
  byoc_node_t *copy = byoc_node_create(block, before, "byoc", "DeviceCopy", 1, &value, 1, 1);
  if (copy == NULL) return NULL;
  copy->results[0]->type = value->type;
  copy->results[0]->device.ranks = value->device.ranks;
  byoc_virtual_device_set(&copy->results[0]->device, device);
  return copy;
}

static bool is_copy(const byoc_node_t *node) {
  return node != NULL && byoc_node_is(node, "byoc", "DeviceCopy");
}

// The block that a block is nested in; NULL for a function's body.
static byoc_block_t *around(const byoc_block_t *block) {
  return block->owner != NULL ? block->owner->block : NULL;
}

static byoc_block_t *common_block(byoc_block_t *a, byoc_block_t *b) {
  uint32_t a_depth = byoc_block_depth(a), b_depth = byoc_block_depth(b);
  for (; a_depth > b_depth; --a_depth) a = around(a);
  for (; b_depth > a_depth; --b_depth) b = around(b);
  while (a != b) {
    a = around(a);
    b = around(b);
  }
  return a;
}

static byoc_block_t *home_of(const byoc_value_t *value) {
  if (value->kind == BYOC_VALUE_CONSTANT) return value->function->body;
  return value->kind == BYOC_VALUE_RESULT ? value->node->block : value->block;
}

static group_t *group_for(copier_t *c, const byoc_virtual_device_t *device, byoc_block_t *block) {
  for (size_t g = 0; g < c->groups.count; ++g) {
    group_t *group = &c->groups.data[g];
    if (!byoc_virtual_device_same(&group->device, device)) continue;
    group->block = common_block(group->block, block);
    return group;
  }
  const group_t group = {.device = *device, .block = block};
  return byoc_vector_push(&c->groups, c->p->domains.allocator, group) ? &c->groups.data[c->groups.count - 1] : NULL;
}

// The device where a use wants its value; NULL if the value lives there.
static const byoc_virtual_device_t *wanted(copier_t *c, const byoc_value_t *value, const byoc_use_t *use) {
  if (is_copy(use->node)) return NULL;
  const uint32_t slot = byoc_planning_demand(c->p, use);
  if (slot == BYOC_NO_ITEM) return NULL;
  const byoc_virtual_device_t *device = byoc_domains_device(&c->p->domains, slot);
  return byoc_virtual_device_agrees(device, &value->device) ? NULL : device;
}

static bool gather(copier_t *c, byoc_value_t *value) {
  c->groups.count = 0;
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_use_t use = value->uses.data[u];
    byoc_block_t *block = use.node != NULL ? use.node->block : use.block;
    if (is_copy(use.node)) {
      group_t *group = group_for(c, &use.node->results[0]->device, block);
      if (group == NULL) return false;
      if (group->copies++ == 0) group->copy = use.node;
      continue;
    }
    const byoc_virtual_device_t *device = wanted(c, value, &use);
    if (device == NULL) continue;
    group_t *group = group_for(c, device, block);
    if (group == NULL) return false;
    group->readers += 1;
  }
  return true;
}

// The position of a copy for the group: in the block that all readers are in, outside of loops that only read the
// value, and as early as possible there, behind copies that stand there already.
static byoc_block_t *find_position(const byoc_value_t *value, const group_t *group, byoc_node_t **out_before) {
  byoc_block_t *home = home_of(value), *block = group->block;
  while (block != home && !byoc_node_is_onnx(block->owner, "If")) block = around(block);
  const bool is_behind = block == home && value->kind == BYOC_VALUE_RESULT;
  byoc_node_t *before = is_behind ? value->node->next : block->first;
  while (is_copy(before) && before != group->copy) {
    const byoc_node_t *source = byoc_value_producer(before->operands[0]);
    const bool is_early = is_behind ? source == value->node : source == NULL || source->block != block;
    if (!is_early) break;
    before = before->next;
  }
  *out_before = before;
  return block;
}

// Finds or makes the copy that the group reads.
static byoc_status_t serve(copier_t *c, byoc_value_t *value, group_t *group) {
  const byoc_node_t *producer = byoc_value_producer(value);
  if (is_copy(producer) && byoc_virtual_device_same(&producer->operands[0]->device, &group->device)) {
    group->value = producer->operands[0]; // copy(copy(x)) → x, back where it was
    return BYOC_OK;
  }
  if (group->copy != NULL && group->readers == 0 && group->copies == 1) {
    group->value = group->copy->results[0];
    return BYOC_OK;
  }
  byoc_node_t *before = NULL;
  byoc_block_t *block = find_position(value, group, &before);
  if (group->copy == NULL) {
    group->copy = byoc_planning_make_copy(block, before, value, &group->device);
    if (group->copy == NULL) return byoc_diag_out_of_memory(c->p->diag);
    c->p->changes += 1;
  } else if (group->copy != before) {
    byoc_node_move(group->copy, block, before);
  }
  group->value = group->copy->results[0];
  return BYOC_OK;
}

static byoc_status_t redirect(copier_t *c, byoc_value_t *value) {
  for (size_t u = value->uses.count; u-- > 0;) {
    const byoc_use_t use = value->uses.data[u];
    const byoc_virtual_device_t *device = is_copy(use.node) ? &use.node->results[0]->device : wanted(c, value, &use);
    if (device == NULL) continue;
    const group_t *group = group_for(c, device, use.node != NULL ? use.node->block : use.block);
    if (is_copy(use.node)) {
      byoc_value_t *made = use.node->results[0];
      if (made == group->value) continue;
      if (!byoc_value_replace_uses(made, group->value)) return byoc_diag_out_of_memory(c->p->diag);
      byoc_node_erase(use.node);
      c->p->changes += 1;
      continue;
    }
    const bool ok = use.node != NULL ? byoc_node_set_operand(use.node, use.index, group->value)
                                     : byoc_block_set_result(use.block, use.index, group->value);
    if (!ok) return byoc_diag_out_of_memory(c->p->diag);
  }
  return BYOC_OK;
}

// A copy from a device to itself goes.
static byoc_status_t drop_idle_copies(copier_t *c, byoc_value_t *value) {
  for (size_t u = value->uses.count; u-- > 0;) {
    byoc_node_t *node = value->uses.data[u].node;
    const bool is_idle = is_copy(node) && byoc_virtual_device_same(&node->results[0]->device, &value->device) &&
                         c->p->extent == BYOC_PLAN_ALL;
    if (!is_idle) continue;
    if (!byoc_value_replace_uses(node->results[0], value)) return byoc_diag_out_of_memory(c->p->diag);
    byoc_node_erase(node);
    c->p->changes += 1;
  }
  return BYOC_OK;
}

// A kernel may be allowed to write a result over an operand that no other node reads. That holds only for an operand
// that still has no other reader, on the same device.
static void check_in_place(const byoc_block_t *block) {
  static const char name[] = "result_from_operand";
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) check_in_place(node->blocks[b]);
    if (node->callee == NULL || byoc_attributes_find(&node->attributes, name) == NULL) continue;
    const int64_t index = byoc_attributes_int(&node->attributes, name, -1);
    const byoc_value_t *operand = index >= 0 && index < node->operand_count ? node->operands[index] : NULL;
    const bool holds = operand != NULL && node->result_count > 0 && operand->kind == BYOC_VALUE_RESULT &&
                       operand->uses.count == 1 &&
                       byoc_virtual_device_same(&operand->device, &node->results[0]->device);
    if (!holds) byoc_attributes_remove(&node->attributes, name);
  }
}

// Copies without readers.
static void drop_unread_copies(copier_t *c, byoc_block_t *block) {
  for (byoc_node_t *node = block->last, *previous; node != NULL; node = previous) {
    previous = node->previous;
    for (uint32_t b = 0; b < node->block_count; ++b) drop_unread_copies(c, node->blocks[b]);
    if (!is_copy(node) || node->results[0]->uses.count > 0) continue;
    byoc_node_erase(node);
    c->p->changes += 1;
  }
}

static byoc_status_t copy_value(copier_t *c, byoc_value_t *value) {
  BYOC_RETURN_IF_ERROR(drop_idle_copies(c, value));
  if (!gather(c, value)) return byoc_diag_out_of_memory(c->p->diag);
  for (size_t g = 0; g < c->groups.count; ++g) BYOC_RETURN_IF_ERROR(serve(c, value, &c->groups.data[g]));
  return c->groups.count > 0 ? redirect(c, value) : BYOC_OK;
}

// Goes from the last node to the first, because the value that a reader reads in place of a copy is defined before that
// copy.
static byoc_status_t copy_in_block(copier_t *c, byoc_block_t *block) {
  for (byoc_node_t *node = block->last; node != NULL; node = node->previous) {
    for (uint32_t r = 0; r < node->result_count; ++r) BYOC_RETURN_IF_ERROR(copy_value(c, node->results[r]));
    for (uint32_t b = node->block_count; b-- > 0;) BYOC_RETURN_IF_ERROR(copy_in_block(c, node->blocks[b]));
  }
  for (size_t i = 0; i < block->parameters.count; ++i) {
    BYOC_RETURN_IF_ERROR(copy_value(c, block->parameters.data[i]));
  }
  return BYOC_OK;
}

byoc_status_t byoc_planning_copy(byoc_planning_t *planning) {
  copier_t copier = {.p = planning};
  byoc_status_t status = BYOC_OK;
  for (size_t f = 0; f < planning->functions.count && status == BYOC_OK; ++f) {
    byoc_function_t *function = planning->functions.data[f];
    if (byoc_function_is_whole(function)) continue;
    status = copy_in_block(&copier, function->body);
    for (size_t k = 0; k < function->constants.count && status == BYOC_OK; ++k) {
      status = copy_value(&copier, function->constants.entries[k].value);
    }
    drop_unread_copies(&copier, function->body);
    check_in_place(function->body);
  }
  byoc_vector_deinit(&copier.groups, planning->domains.allocator);
  return status;
}
