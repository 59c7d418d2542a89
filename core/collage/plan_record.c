// SPDX-License-Identifier: Apache-2.0
// Fills a plan during the partitioning.
#include "core/collage/plan_record.h"

#include <stdlib.h>
#include <string.h>

#include "core/ir/describe.h"
#include "core/ir/dim_names.h"

byoc_status_t byoc_plan_record_targets(byoc_plan_t *plan, const char *model, const char *strategy,
                                       const byoc_target_list_t *targets, byoc_diag_t *diag) {
  if (plan == NULL) return BYOC_OK;
  plan->model = byoc_arena_copy_string(&plan->arena, model);
  plan->strategy = byoc_arena_copy_string(&plan->arena, strategy);
  plan->targets.count = 0;
  for (size_t t = 0; t < targets->targets.count; ++t) {
    const char *text = byoc_arena_copy_string(&plan->arena, targets->targets.data[t]->text);
    if (text == NULL || !byoc_vector_push(&plan->targets, plan->arena.allocator, text)) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return plan->model != NULL && plan->strategy != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// "main/sequence=128" for a variant, wherever it is in the chain of choices; others are named after their node.
char *byoc_plan_nested_name(byoc_arena_t *arena, const char *name, const byoc_node_t *owner, uint32_t ordinal,
                            uint32_t block) {
  const char *own = byoc_block_case(owner->blocks[block]), *outer = byoc_block_case(owner->block);
  const size_t size = strlen(name) - (own != NULL && outer != NULL ? strlen(outer) + 1 : 0);
  if (own != NULL) return byoc_arena_format(arena, "%.*s/%s", (int)size, name, own);
  return byoc_arena_format(arena, "%s/%s_%u.%s", name, owner->op, ordinal, owner->block_names[block]);
}

// ---- nodes ----

static const char *operator_text(byoc_arena_t *arena, const byoc_node_t *node) {
  return node->domain[0] ? byoc_arena_format(arena, "%s::%s", node->domain, node->op)
                         : byoc_arena_copy_string(arena, node->op);
}

static const char *type_text(byoc_arena_t *arena, const byoc_dim_names_t *names, const byoc_type_t *type) {
  byoc_string_t text;
  byoc_string_init(&text, arena->allocator);
  byoc_type_print_named(type, names, &text);
  const char *copy = text.failed ? NULL : byoc_arena_copy_string(arena, text.data);
  byoc_string_deinit(&text);
  return copy;
}

static const char *result_type_text(byoc_arena_t *arena, const byoc_dim_names_t *names, const byoc_node_t *node) {
  return node->result_count > 0 ? type_text(arena, names, node->results[0]->type) : byoc_arena_copy_string(arena, "");
}

typedef struct edge_list_t {
  byoc_arena_t *arena;
  const byoc_block_t *block;
  const byoc_map_t *numbers; // node → its number, from 1
  const byoc_dim_names_t *names;
  byoc_map_t seen; // values that have an edge already
  BYOC_VECTOR(byoc_plan_edge_t) edges;
  bool failed;
} edge_list_t;

// Adds one edge per value from this block that the node or a node nested in it reads.
static void add_operands(edge_list_t *list, const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count && !list->failed; ++i) {
    const byoc_value_t *value = node->operands[i];
    const byoc_node_t *producer = byoc_value_producer(value);
    if (producer == NULL || producer->block != list->block) continue;
    if (byoc_pointer_map_get(&list->seen, value) != NULL) continue;
    uintptr_t number = (uintptr_t)byoc_pointer_map_get(list->numbers, producer);
    byoc_plan_edge_t edge = {.from = (uint32_t)number - 1, .type = type_text(list->arena, list->names, value->type)};
    list->failed = edge.type == NULL || !byoc_pointer_map_put(&list->seen, value, (void *)(uintptr_t)value) ||
                   !byoc_vector_push(&list->edges, list->arena->allocator, edge);
  }
}

static void add_nested(edge_list_t *list, const byoc_block_t *block);

static void add_reads(edge_list_t *list, const byoc_node_t *node) {
  add_operands(list, node);
  for (uint32_t b = 0; b < node->block_count; ++b) add_nested(list, node->blocks[b]);
}

// Values that a nested block returns unchanged count too.
static void add_nested(edge_list_t *list, const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) add_reads(list, node);
  for (size_t r = 0; r < block->results.count && !list->failed; ++r) {
    byoc_value_t *value = block->results.data[r];
    const byoc_node_t results = {.operands = &value, .operand_count = 1};
    add_operands(list, &results);
  }
}

static byoc_status_t add_node(byoc_plan_t *plan, byoc_plan_block_t *block, const byoc_node_t *node,
                              const byoc_map_t *numbers, const byoc_dim_names_t *names, byoc_diag_t *diag) {
  edge_list_t list = {.arena = &plan->arena, .block = node->block, .numbers = numbers, .names = names};
  byoc_pointer_map_init(&list.seen, plan->arena.allocator);
  add_reads(&list, node);
  byoc_plan_node_t row = {.op = operator_text(&plan->arena, node),
                          .name = byoc_arena_copy_string(&plan->arena, node->name ? node->name : ""),
                          .result_type = result_type_text(&plan->arena, names, node),
                          .edge_count = (uint32_t)list.edges.count,
                          .region = UINT32_MAX};
  if (list.edges.count > 0) {
    row.edges = byoc_arena_copy(&plan->arena, list.edges.data, list.edges.count * sizeof(*list.edges.data));
  }
  bool ok = !list.failed && row.op != NULL && row.name != NULL && row.result_type != NULL &&
            (list.edges.count == 0 || row.edges != NULL) && byoc_vector_push(&block->nodes, plan->arena.allocator, row);
  byoc_vector_deinit(&list.edges, plan->arena.allocator);
  byoc_map_deinit(&list.seen);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The names of the model's dimensions; of the function's own if it stands outside of a model.
static byoc_status_t find_names(const byoc_block_t *block, byoc_arena_t *arena, byoc_diag_t *diag,
                                byoc_dim_names_t *out_names) {
  const byoc_function_t *main = byoc_graph_module_main(block->function->module);
  if (main == NULL) main = block->function;
  return byoc_function_dim_names(main, arena, out_names) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t add_nodes(byoc_plan_t *plan, byoc_plan_block_t *row, const byoc_block_t *block,
                               byoc_diag_t *diag) {
  byoc_map_t numbers;
  byoc_dim_names_t names;
  BYOC_RETURN_IF_ERROR(find_names(block, &plan->arena, diag, &names));
  byoc_pointer_map_init(&numbers, plan->arena.allocator);
  byoc_status_t status = BYOC_OK;
  uintptr_t number = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    if (!byoc_pointer_map_put(&numbers, node, (void *)++number)) status = byoc_diag_out_of_memory(diag);
    if (status == BYOC_OK) status = add_node(plan, row, node, &numbers, &names, diag);
  }
  byoc_map_deinit(&numbers);
  return status;
}

// ---- blocks ----

static bool is_open(const byoc_plan_block_t *block, uint32_t node) {
  return block->nodes.data[node].region == UINT32_MAX;
}

// The plan's node that matches this one: the first open one that is not matched yet. Names decide if there are any;
// equal regions share one function, so names may be those of another region's nodes.
static uint32_t find_node(const byoc_plan_block_t *block, const byoc_node_t *node, const char *op, const char *type,
                          const bool *is_claimed, bool by_name) {
  for (uint32_t n = 0; n < block->nodes.count; ++n) {
    const byoc_plan_node_t *row = &block->nodes.data[n];
    if (is_claimed[n] || !is_open(block, n) || strcmp(row->op, op) != 0 || strcmp(row->result_type, type) != 0)
      continue;
    if (!by_name || strcmp(row->name, node->name ? node->name : "") == 0) return n;
  }
  return UINT32_MAX;
}

// Two passes: those whose names agree, then the others.
static byoc_status_t find_nodes(const byoc_plan_block_t *row, const byoc_block_t *block, byoc_allocator_t allocator,
                                uint32_t *numbers, byoc_diag_t *diag) {
  bool *is_claimed = byoc_allocate(allocator, row->nodes.count, sizeof(bool));
  byoc_arena_t scratch;
  byoc_dim_names_t names;
  byoc_arena_init(&scratch, allocator);
  byoc_status_t status = is_claimed ? find_names(block, &scratch, diag, &names) : byoc_diag_out_of_memory(diag);
  for (int pass = 0; pass < 2 && status == BYOC_OK; ++pass) {
    uint32_t index = 0;
    BYOC_FOR_EACH_NODE(node, block) {
      uint32_t *number = &numbers[index++];
      if (node->callee != NULL || *number != UINT32_MAX) continue;
      const char *op = operator_text(&scratch, node), *type = result_type_text(&scratch, &names, node);
      if (op == NULL || type == NULL) {
        status = byoc_diag_out_of_memory(diag);
        break;
      }
      *number = find_node(row, node, op, type, is_claimed, pass == 0);
      if (*number != UINT32_MAX) is_claimed[*number] = true;
    }
  }
  byoc_arena_deinit(&scratch);
  byoc_free(allocator, is_claimed);
  return status;
}

static byoc_status_t add_block(byoc_plan_t *plan, const char *name, const byoc_block_t *block, byoc_diag_t *diag) {
  byoc_plan_block_t row = {.name = byoc_arena_copy_string(&plan->arena, name),
                           .hash = byoc_plan_block_hash(block),
                           .cost_ns = NAN,
                           .transition_ns = NAN,
                           .lower_bound_ns = NAN};
  if (row.name == NULL || !byoc_vector_push(&plan->blocks, plan->arena.allocator, row)) {
    return byoc_diag_out_of_memory(diag);
  }
  return add_nodes(plan, &plan->blocks.data[plan->blocks.count - 1], block, diag);
}

byoc_status_t byoc_plan_record_begin(byoc_plan_t *plan, const char *name, const byoc_block_t *block, byoc_diag_t *diag,
                                     byoc_plan_recorder_t *out_recorder) {
  *out_recorder = (byoc_plan_recorder_t){.plan = plan};
  if (plan == NULL) return BYOC_OK;
  byoc_allocator_t allocator = plan->arena.allocator;
  size_t index = 0;
  while (index < plan->blocks.count && strcmp(plan->blocks.data[index].name, name) != 0) ++index;
  bool is_new = index == plan->blocks.count;
  uint32_t *numbers = byoc_allocate(allocator, block->node_count, sizeof(uint32_t));
  if (numbers == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < block->node_count; ++i) numbers[i] = is_new ? i : UINT32_MAX;
  byoc_status_t status = is_new ? add_block(plan, name, block, diag)
                                : find_nodes(&plan->blocks.data[index], block, allocator, numbers, diag);
  if (status != BYOC_OK) {
    byoc_free(allocator, numbers);
    return status;
  }
  out_recorder->block = index;
  out_recorder->numbers = numbers;
  out_recorder->node_count = (uint32_t)block->node_count;
  return BYOC_OK;
}

void byoc_plan_record_end(byoc_plan_recorder_t *recorder) {
  if (recorder->plan != NULL) byoc_free(recorder->plan->arena.allocator, recorder->numbers);
  *recorder = (byoc_plan_recorder_t){0};
}

// ---- regions and declines ----

static int compare_index(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

// The plan's numbers of some nodes, rising; nodes that the plan does not have are left out.
static uint32_t *translate(const byoc_plan_recorder_t *recorder, const uint32_t *nodes, uint32_t count,
                           uint32_t *out_count) {
  *out_count = 0;
  uint32_t *numbers = BYOC_ARENA_ARRAY(&recorder->plan->arena, uint32_t, count);
  for (uint32_t i = 0; numbers != NULL && i < count; ++i) {
    uint32_t number = recorder->numbers[nodes[i]];
    if (number != UINT32_MAX) numbers[(*out_count)++] = number;
  }
  if (numbers != NULL) qsort(numbers, *out_count, sizeof(uint32_t), compare_index);
  return numbers;
}

byoc_status_t byoc_plan_record_region(byoc_plan_recorder_t *recorder, const byoc_plan_region_t *region,
                                      const uint32_t *nodes, uint32_t node_count, byoc_diag_t *diag,
                                      uint32_t *out_region) {
  *out_region = UINT32_MAX;
  byoc_plan_t *plan = recorder->plan;
  if (plan == NULL) return BYOC_OK;
  byoc_plan_block_t *block = &plan->blocks.data[recorder->block];
  byoc_plan_region_t row = *region;
  row.rule = byoc_arena_copy_string(&plan->arena, region->rule ? region->rule : "");
  row.types = byoc_arena_copy_string(&plan->arena, region->types ? region->types : "");
  row.nodes = translate(recorder, nodes, node_count, &row.node_count);
  if (row.rule == NULL || row.types == NULL || row.nodes == NULL) return byoc_diag_out_of_memory(diag);
  if (row.node_count == 0) return BYOC_OK; // it holds only nodes that a backend has rewritten, or that were written out
  row.is_later = plan->was_written_out && row.node_count < node_count;
  if (!byoc_vector_push(&block->regions, plan->arena.allocator, row)) return byoc_diag_out_of_memory(diag);
  *out_region = (uint32_t)block->regions.count - 1;
  for (uint32_t i = 0; i < row.node_count; ++i) block->nodes.data[row.nodes[i]].region = *out_region;
  return BYOC_OK;
}

static bool is_same_decline(const byoc_plan_decline_t *a, const byoc_plan_decline_t *b) {
  return a->target == b->target && a->node_count == b->node_count && strcmp(a->rule, b->rule) == 0 &&
         strcmp(a->reason, b->reason) == 0 && memcmp(a->nodes, b->nodes, a->node_count * sizeof(uint32_t)) == 0;
}

static byoc_status_t add_decline(byoc_plan_t *plan, size_t block, const byoc_plan_decline_t *decline,
                                 byoc_diag_t *diag) {
  byoc_plan_block_t *row = &plan->blocks.data[block];
  for (size_t d = 0; d < row->declines.count; ++d) {
    if (is_same_decline(&row->declines.data[d], decline)) return BYOC_OK;
  }
  return byoc_vector_push(&row->declines, plan->arena.allocator, *decline) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_plan_record_decline(byoc_plan_recorder_t *recorder, uint32_t target, const char *rule,
                                       const char *reason, const uint32_t *nodes, uint32_t node_count,
                                       byoc_diag_t *diag) {
  byoc_plan_t *plan = recorder->plan;
  if (plan == NULL) return BYOC_OK;
  byoc_plan_decline_t decline = {.target = target,
                                 .rule = byoc_arena_copy_string(&plan->arena, rule ? rule : ""),
                                 .reason = byoc_arena_copy_string(&plan->arena, reason)};
  decline.nodes = translate(recorder, nodes, node_count, &decline.node_count);
  if (decline.rule == NULL || decline.reason == NULL || decline.nodes == NULL) return byoc_diag_out_of_memory(diag);
  return decline.node_count > 0 ? add_decline(plan, recorder->block, &decline, diag) : BYOC_OK;
}

byoc_status_t byoc_plan_record_fallback(byoc_plan_t *plan, size_t block, uint32_t number, const char *reason,
                                        byoc_diag_t *diag) {
  if (plan == NULL || number == UINT32_MAX) return BYOC_OK;
  byoc_plan_block_t *row = &plan->blocks.data[block];
  byoc_plan_region_t *region = &row->regions.data[number];
  region->falls_back = true;
  if (region->candidate != UINT32_MAX) row->candidates.data[region->candidate].is_chosen = false;
  for (uint32_t i = 0; i < region->node_count; ++i) row->nodes.data[region->nodes[i]].region = UINT32_MAX;
  byoc_plan_decline_t decline = {.target = region->target,
                                 .rule = region->rule,
                                 .reason =
                                     byoc_arena_format(&plan->arena, "claimed it and declined it later: %s", reason),
                                 .nodes = region->nodes,
                                 .node_count = region->node_count};
  return decline.reason != NULL ? add_decline(plan, block, &decline, diag) : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_plan_record_precision(byoc_plan_t *plan, size_t block, uint32_t region, const char *precision,
                                         const char *lapse, byoc_diag_t *diag) {
  if (plan == NULL || region == UINT32_MAX) return BYOC_OK;
  byoc_plan_region_t *row = &plan->blocks.data[block].regions.data[region];
  row->precision = byoc_arena_copy_string(&plan->arena, precision);
  row->lapse = lapse != NULL ? byoc_arena_copy_string(&plan->arena, lapse) : NULL;
  return row->precision != NULL && (lapse == NULL || row->lapse != NULL) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static int compare_region(const void *left, const void *right) {
  const byoc_plan_region_t *a = left, *b = right;
  if (a->nodes[0] != b->nodes[0]) return a->nodes[0] < b->nodes[0] ? -1 : 1;
  return (int)b->falls_back - (int)a->falls_back;
}

void byoc_plan_record_finish(byoc_plan_t *plan) {
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    byoc_plan_block_t *block = &plan->blocks.data[b];
    if (block->regions.count == 0) continue;
    qsort(block->regions.data, block->regions.count, sizeof(*block->regions.data), compare_region);
    for (uint32_t r = 0; r < block->regions.count; ++r) {
      const byoc_plan_region_t *region = &block->regions.data[r];
      if (region->falls_back) continue;
      for (uint32_t i = 0; i < region->node_count; ++i) block->nodes.data[region->nodes[i]].region = r;
    }
  }
}
