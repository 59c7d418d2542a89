// SPDX-License-Identifier: Apache-2.0
// Groups the nodes of a block into kernels.
#include "core/kernel/fuse.h"

#include <string.h>

#include "core/ir/virtual_device.h"
#include "core/kernel/transposed.h"

// The most operations per element that may be inlined into a loop nest that reads its input more than once.
#define CHEAP_COST 8
// The most operations per element of a producer that is inlined into several consumers.
#define TRIVIAL_COST 4
// The longest chain that is inlined, so that expressions stay readable and compile fast.
#define INLINE_COST_LIMIT 64
// The most results of a producer that is inlined. Each result's readers then need a kernel of their own (those of a
// Split have different offsets); readers of stored results share one.
#define INLINE_RESULTS_LIMIT 16
// The largest group, in nodes and their operands: compilers need time that grows with the square of a loop's body.
#define GROUP_SIZE_LIMIT 256

byoc_fuse_node_t *byoc_fusion_find(const byoc_fusion_t *fusion, const byoc_node_t *node) {
  uint32_t position = byoc_numbering_get(&fusion->numbers, node);
  return position == BYOC_NO_NUMBER ? NULL : &fusion->nodes[position];
}

static bool has_trait(const byoc_fuse_node_t *entry, uint32_t trait) {
  return entry->op && (entry->op->traits & trait) != 0;
}

// ---- entries ----

// A kernel is made for one rank. The rank is missing if the branches of an If make tensors of different ranks.
static byoc_status_t no_rank(const byoc_value_t *value, uint32_t operand, const char *reader, byoc_diag_t *diag) {
  const byoc_node_t *producer = byoc_value_producer(value);
  char maker[256] = "an input";
  if (producer) byoc_node_describe(producer, maker, sizeof(maker));
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_UNSUPPORTED, "operand %u of %s has no tensor type of known rank; it comes from %s",
                      operand, reader, maker);
  if (!producer || !byoc_node_is_onnx(producer, "If")) return status;
  const byoc_type_t *ranks[2] = {NULL, NULL};
  for (uint32_t r = 0; r < producer->result_count; ++r) {
    for (uint32_t b = 0; b < 2 && producer->results[r] == value; ++b)
      ranks[b] = producer->blocks[b]->results.data[r]->type;
  }
  if (!byoc_type_is_tensor(ranks[0]) || !byoc_type_is_tensor(ranks[1])) return status;
  if (ranks[0]->rank >= 0 && ranks[1]->rank >= 0 && ranks[0]->rank != ranks[1]->rank) {
    byoc_diag_hint(diag, "its branches make ranks %d and %d; give both one rank, or make its condition a constant",
                   (int)ranks[0]->rank, (int)ranks[1]->rank);
  }
  return status;
}

static byoc_status_t classify(byoc_fuse_node_t *entry, byoc_diag_t *diag) {
  byoc_node_t *node = entry->node;
  entry->kind = BYOC_FUSE_KEEP;
  if (node->callee || byoc_node_is(node, "byoc", "CallC")) return BYOC_OK;
  entry->op = byoc_op_of(node);
  if (entry->op && (entry->op->is_view || (entry->op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST)))) return BYOC_OK;
  char text[256];
  byoc_node_describe(node, text, sizeof(text));
  if (!entry->op || (!entry->op->point && !entry->op->loops)) {
    byoc_diag_error(diag, BYOC_UNSUPPORTED, "target 'c' has no definition of %s", text);
    byoc_diag_hint(diag, "give a target that takes operator '%s%s%s'", node->domain, *node->domain ? "::" : "",
                   node->op);
    return BYOC_UNSUPPORTED;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_type_t *type = node->results[i]->type;
    if (node->results[i]->uses.count == 0 || (byoc_type_is_tensor(type) && type->rank >= 0)) continue;
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "result %u of %s has no tensor type of known rank", i, text);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = node->operands[i] ? node->operands[i]->type : NULL;
    if (!type || (byoc_type_is_tensor(type) && type->rank >= 0)) continue;
    return no_rank(node->operands[i], i, text, diag);
  }
  entry->kind = entry->op->loops ? BYOC_FUSE_LOOPS : BYOC_FUSE_POINT;
  return BYOC_OK;
}

typedef struct producer_list_t {
  byoc_arena_t *arena;
  const byoc_fusion_t *fusion;
  BYOC_VECTOR(uint32_t) positions;
  bool failed;
} producer_list_t;

static void add_producer(producer_list_t *list, const byoc_value_t *value) {
  byoc_fuse_node_t *entry = byoc_fusion_find(list->fusion, byoc_value_producer(value));
  if (!entry) return;
  for (size_t i = 0; i < list->positions.count; ++i)
    if (list->positions.data[i] == entry->position) return;
  if (!byoc_vector_push(&list->positions, byoc_arena_allocator(list->arena), entry->position)) list->failed = true;
}

static bool add_operands(void *self, byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) add_producer(self, node->operands[i]);
  for (uint32_t b = 0; b < node->block_count; ++b)
    for (size_t i = 0; i < node->blocks[b]->results.count; ++i) add_producer(self, node->blocks[b]->results.data[i]);
  return true;
}

static byoc_status_t make_entries(byoc_block_t *block, byoc_arena_t *arena, byoc_diag_t *diag, byoc_fusion_t *fusion) {
  size_t count = 0;
  BYOC_FOR_EACH_NODE(node, block)++ count;
  fusion->nodes = BYOC_ARENA_ARRAY(arena, byoc_fuse_node_t, count);
  if (!fusion->nodes) return byoc_diag_out_of_memory(diag);
  byoc_numbering_init(&fusion->numbers, byoc_arena_allocator(arena));
  uint32_t checks = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    byoc_fuse_node_t *entry = &fusion->nodes[fusion->node_count];
    entry->node = node;
    entry->checks = byoc_node_is(node, "byoc", "CheckDims") ? checks++ : checks;
    entry->position = fusion->node_count++;
    if (!byoc_numbering_set(&fusion->numbers, node, entry->position)) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(classify(entry, diag));
  }
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    byoc_fuse_node_t *entry = &fusion->nodes[i];
    producer_list_t list = {.arena = arena, .fusion = fusion};
    add_operands(&list, entry->node);
    for (uint32_t b = 0; b < entry->node->block_count; ++b)
      byoc_block_walk(entry->node->blocks[b], add_operands, &list);
    if (list.failed) return byoc_diag_out_of_memory(diag);
    entry->producers = list.positions.data;
    entry->producer_count = (uint32_t)list.positions.count;
    if (entry->kind == BYOC_FUSE_POINT && !byoc_point_cost(entry, arena->allocator))
      entry->cost = entry->loads = entry->reads = INLINE_COST_LIMIT + 1;
  }
  return BYOC_OK;
}

// ---- inlining producers ----

static bool same_shape(const byoc_type_t *a, const byoc_type_t *b) {
  if (!byoc_type_is_tensor(a) || !byoc_type_is_tensor(b) || a->rank != b->rank || a->rank < 0) return false;
  for (int32_t i = 0; i < a->rank; ++i)
    if (!byoc_dim_equal(a->dims[i], b->dims[i])) return false;
  return true;
}

static bool is_trivial(const byoc_fuse_node_t *entry) {
  return entry->cost <= TRIVIAL_COST && entry->loads <= 1 && has_trait(entry, BYOC_OP_ELEMENTWISE);
}

static bool accepts_inline(const byoc_fuse_node_t *producer, const byoc_value_t *value,
                           const byoc_fuse_node_t *consumer, uint32_t operand) {
  if (consumer->kind == BYOC_FUSE_KEEP || has_trait(consumer, BYOC_OP_OPAQUE | BYOC_OP_RANDOM)) return false;
  for (uint32_t r = 0; r < consumer->node->result_count; ++r)
    if (!byoc_value_may_vanish(value, consumer->node->results[r])) return false;
  if (operand < 32 && (consumer->op->shape_operands >> operand) & 1) return false; // read by value on the host
  if (consumer->kind == BYOC_FUSE_LOOPS) {
    if (has_trait(consumer, BYOC_OP_HEAVY)) return false;
    if (has_trait(consumer, BYOC_OP_INJECTIVE)) return true;
    return has_trait(consumer, BYOC_OP_REDUCES) && producer->cost <= CHEAP_COST;
  }
  if (is_trivial(producer)) return true;
  // A tiled transposition takes its elementwise consumers as its epilogue.
  if (has_trait(consumer, BYOC_OP_ELEMENTWISE) && byoc_transpose_parts(producer->node)) return false;
  if (has_trait(consumer, BYOC_OP_ELEMENTWISE)) return same_shape(value->type, consumer->node->results[0]->type);
  return has_trait(consumer, BYOC_OP_INJECTIVE);
}

// Can every reader of `entry` compute it instead of reading it?
static bool can_inline(const byoc_fusion_t *fusion, const byoc_fuse_node_t *entry) {
  if (entry->kind != BYOC_FUSE_POINT || has_trait(entry, BYOC_OP_OPAQUE | BYOC_OP_RANDOM)) return false;
  if (byoc_node_is(entry->node, "byoc", "ShapeOnly")) return true; // nothing reads its data
  if (entry->cost > INLINE_COST_LIMIT || entry->node->result_count > INLINE_RESULTS_LIMIT) return false;
  for (uint32_t r = 0; r < entry->node->result_count; ++r) {
    const byoc_value_t *value = entry->node->results[r];
    const byoc_node_t *reader = NULL;
    for (size_t i = 0; i < value->uses.count; ++i) {
      const byoc_use_t *use = &value->uses.data[i];
      const byoc_fuse_node_t *consumer = use->node ? byoc_fusion_find(fusion, use->node) : NULL;
      if (!consumer || !accepts_inline(entry, value, consumer, use->index)) return false;
      if (reader && reader != use->node && !is_trivial(entry)) return false;
      reader = use->node;
    }
  }
  return true;
}

static void inline_into_consumers(const byoc_fusion_t *fusion, byoc_fuse_node_t *entry) {
  entry->inlined = true;
  for (uint32_t r = 0; r < entry->node->result_count; ++r) {
    const byoc_value_t *value = entry->node->results[r];
    for (size_t i = 0; i < value->uses.count; ++i) {
      byoc_fuse_node_t *consumer = byoc_fusion_find(fusion, value->uses.data[i].node);
      if (!consumer) continue;
      // An expression that occurs several times costs that many times; this also bounds the size of the C text.
      uint64_t cost = consumer->cost + (uint64_t)entry->cost * (consumer->reads > 0 ? consumer->reads : 1);
      consumer->cost = cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
      consumer->loads += entry->loads > 0 ? entry->loads - 1 : 0;
    }
  }
}

// ---- growing groups ----

// Does `start` depend on a result of `group`? A group counts as a whole: a node that depends on one member depends on
// all operands of the group.
static byoc_status_t depends_on(byoc_fusion_t *fusion, uint32_t start, const byoc_fuse_group_t *group,
                                byoc_arena_t *arena, byoc_diag_t *diag, bool *out_depends) {
  BYOC_VECTOR(uint32_t) stack = {0};
  byoc_allocator_t allocator = arena->allocator;
  byoc_status_t status = BYOC_OK;
  *out_depends = false;
  ++fusion->stamp;
  if (!byoc_vector_push(&stack, allocator, start)) return byoc_diag_out_of_memory(diag);
  while (stack.count > 0 && !*out_depends && status == BYOC_OK) {
    byoc_fuse_node_t *entry = &fusion->nodes[stack.data[--stack.count]];
    if (entry->visited == fusion->stamp) continue;
    entry->visited = fusion->stamp;
    if (entry->group == group) {
      *out_depends = true;
      break;
    }
    if ((entry->group ? entry->group->last : entry->position) < group->first) continue;
    for (uint32_t i = 0; i < entry->producer_count && status == BYOC_OK; ++i)
      if (!byoc_vector_push(&stack, allocator, entry->producers[i])) status = byoc_diag_out_of_memory(diag);
    for (size_t i = 0; entry->group && i < entry->group->nodes.count && status == BYOC_OK; ++i) {
      uint32_t position = byoc_fusion_find(fusion, entry->group->nodes.data[i])->position;
      if (!byoc_vector_push(&stack, allocator, position)) status = byoc_diag_out_of_memory(diag);
    }
  }
  byoc_vector_deinit(&stack, allocator);
  return status;
}

// The size that a node adds to its group.
static uint32_t size_of(const byoc_fuse_node_t *entry) {
  return 1 + (entry->loads > entry->node->operand_count ? entry->loads : entry->node->operand_count);
}

static byoc_status_t add_member(byoc_fuse_group_t *group, byoc_fuse_node_t *entry, byoc_arena_t *arena,
                                byoc_diag_t *diag) {
  if (!byoc_vector_push(&group->nodes, byoc_arena_allocator(arena), entry->node)) return byoc_diag_out_of_memory(diag);
  entry->group = group;
  group->size += size_of(entry);
  if (entry->position > group->last) group->last = entry->position;
  return BYOC_OK;
}

// Does a later anchor of the same shape make another operand? Joining that one keeps the order of execution.
static bool waits_for_later_anchor(const byoc_fusion_t *fusion, const byoc_fuse_node_t *entry,
                                   const byoc_fuse_group_t *group) {
  for (uint32_t i = 0; i < entry->node->operand_count; ++i) {
    const byoc_value_t *operand = entry->node->operands[i];
    const byoc_fuse_node_t *producer = byoc_fusion_find(fusion, byoc_value_producer(operand));
    if (producer && producer->kind != BYOC_FUSE_KEEP && !producer->group && !producer->inlined &&
        producer->position > group->first && producer->node->result_count == 1 &&
        !has_trait(producer, BYOC_OP_OPAQUE) && same_shape(operand->type, entry->node->results[0]->type))
      return true;
  }
  return false;
}

static byoc_status_t try_member(byoc_fusion_t *fusion, byoc_fuse_group_t *group, byoc_fuse_node_t *entry,
                                byoc_arena_t *arena, byoc_diag_t *diag, bool *out_added) {
  *out_added = false;
  if (!entry || entry->group || entry->inlined || entry->kind != BYOC_FUSE_POINT) return BYOC_OK;
  if (!has_trait(entry, BYOC_OP_ELEMENTWISE) || has_trait(entry, BYOC_OP_OPAQUE | BYOC_OP_RANDOM)) return BYOC_OK;
  const byoc_value_t *shape = group->anchor->results[0];
  if (group->size + size_of(entry) > GROUP_SIZE_LIMIT) return BYOC_OK;
  if (entry->checks != fusion->nodes[group->first].checks) return BYOC_OK;
  if (entry->node->result_count != 1 || !same_shape(shape->type, entry->node->results[0]->type)) return BYOC_OK;
  if (!byoc_nodes_share_device(group->anchor, entry->node)) return BYOC_OK;
  if (waits_for_later_anchor(fusion, entry, group)) return BYOC_OK;
  for (uint32_t i = 0; i < entry->node->operand_count; ++i) {
    const byoc_value_t *operand = entry->node->operands[i];
    const byoc_fuse_node_t *producer = byoc_fusion_find(fusion, byoc_value_producer(operand));
    if (!producer) continue;
    bool blocked = false;
    if (producer->group == group)
      blocked = !same_shape(operand->type, shape->type);
    else
      BYOC_RETURN_IF_ERROR(depends_on(fusion, producer->position, group, arena, diag, &blocked));
    if (blocked) return BYOC_OK;
  }
  *out_added = true;
  return add_member(group, entry, arena, diag);
}

// Appends elementwise consumers as long as there are any, in block order.
static byoc_status_t grow(byoc_fusion_t *fusion, byoc_fuse_group_t *group, byoc_arena_t *arena, byoc_diag_t *diag) {
  if (group->anchor->result_count != 1) return BYOC_OK;
  for (size_t m = 0; m < group->nodes.count; ++m) { // also visits members that are found on the way
    const byoc_value_t *value = group->nodes.data[m]->results[0];
    for (size_t i = 0; i < value->uses.count; ++i) {
      bool added;
      byoc_fuse_node_t *entry = byoc_fusion_find(fusion, value->uses.data[i].node);
      BYOC_RETURN_IF_ERROR(try_member(fusion, group, entry, arena, diag, &added));
      if (!added) continue;
      m = (size_t)-1; // start again: a consumer that was refused before may fit now
      break;
    }
  }
  for (size_t i = 1; i < group->nodes.count; ++i) { // insertion sort by position
    byoc_node_t *node = group->nodes.data[i];
    uint32_t position = byoc_fusion_find(fusion, node)->position;
    size_t j = i;
    for (; j > 1 && byoc_fusion_find(fusion, group->nodes.data[j - 1])->position > position; --j)
      group->nodes.data[j] = group->nodes.data[j - 1];
    group->nodes.data[j] = node;
  }
  return BYOC_OK;
}

byoc_status_t byoc_fuse_block(byoc_block_t *block, bool fuse, byoc_arena_t *arena, byoc_diag_t *diag,
                              byoc_fusion_t *out_fusion) {
  *out_fusion = (byoc_fusion_t){0};
  BYOC_RETURN_IF_ERROR(make_entries(block, arena, diag, out_fusion));
  for (uint32_t i = 0; i < out_fusion->node_count; ++i) {
    byoc_fuse_node_t *entry = &out_fusion->nodes[i];
    if (entry->kind == BYOC_FUSE_KEEP || entry->group) continue;
    if (fuse && can_inline(out_fusion, entry)) {
      inline_into_consumers(out_fusion, entry);
      continue;
    }
    byoc_fuse_group_t *group = BYOC_ARENA_NEW(arena, byoc_fuse_group_t);
    if (!group) return byoc_diag_out_of_memory(diag);
    group->anchor = entry->node;
    group->first = group->last = entry->position;
    if (!byoc_vector_push(&out_fusion->groups, byoc_arena_allocator(arena), group))
      return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(add_member(group, entry, arena, diag));
    if (fuse && !has_trait(entry, BYOC_OP_OPAQUE)) BYOC_RETURN_IF_ERROR(grow(out_fusion, group, arena, diag));
  }
  return BYOC_OK;
}
