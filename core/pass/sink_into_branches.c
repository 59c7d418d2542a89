// SPDX-License-Identifier: Apache-2.0
// sink-into-branches: if the branches of an If give tensors of different ranks, nodes that depend on the rank are moved
// into both branches, each of which knows it.
//
//   q = if (c) { squeeze(x) } else { x };  y = relu(q)  →  y = if (c) { relu(squeeze(x)) } else { relu(x) }
//
// A node is moved if an operand of it has no known rank, and so are the nodes behind the If that it needs. A value with
// one rank in both branches becomes a result of the If, and its readers stay behind the If.
#include <string.h>

#include "core/op/op.h"
#include "core/op/refusal.h"
#include "core/op/util.h"
#include "core/pass/pass.h"

// At most this many Ifs are treated: each one takes a walk over the whole function.
enum { BRANCHES = 2, MAX_COPIES = 100 * 1000, MAX_IFS = 500 };
static const char *const branch_names[BRANCHES] = {"then_branch", "else_branch"};

typedef struct {
  byoc_diag_t *diag;
  byoc_allocator_t allocator;
  byoc_node_t *node;                      // the If
  byoc_node_t *made;                      // the one that takes its place
  byoc_block_t *branches[BRANCHES];       // of `made`
  byoc_map_t copies[BRANCHES];            // pointer map: value → its copy in the branch
  byoc_diag_t faults[BRANCHES];           // why a branch cannot run: its nodes are then not copied on
  byoc_map_t behind;                      // pointer map: nodes that depend on the If → themselves
  byoc_map_t moved;                       // pointer map: those of them that were copied → themselves
  BYOC_VECTOR(byoc_node_t *) order;       // the same in order
  BYOC_VECTOR(byoc_node_t *) wanted;      // operands of a node that are not copied yet
  BYOC_VECTOR(byoc_value_t *) handed_out; // the values that the results of `made` replace
  size_t *copy_count;
} sinker_t;

static bool has_open_rank(const byoc_value_t *value) {
  return value && value->type && byoc_type_is_tensor(value->type) && value->type->rank == BYOC_RANK_UNKNOWN;
}

// ---- which Ifs ----

// Would the If's result have a rank in one of the branches, now or after another If inside has been treated?
static bool would_have_rank(const byoc_node_t *node, uint32_t result) {
  for (int b = 0; b < BRANCHES; ++b) {
    const byoc_value_t *given = byoc_node_find_block(node, branch_names[b])->results.data[result];
    const byoc_node_t *producer = byoc_value_producer(given);
    if (!has_open_rank(given) || (producer && byoc_node_is_onnx(producer, "If"))) return true;
  }
  return false;
}

static bool wants_sinking(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "If")) return false;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_value_t *result = node->results[i];
    if (!has_open_rank(result) || !would_have_rank(node, i)) continue;
    for (size_t u = 0; u < result->uses.count; ++u) {
      const byoc_use_t *use = &result->uses.data[u];
      if (use->node || use->block != node->block) return true;
    }
  }
  return false;
}

// The first such If, innermost first.
static byoc_node_t *find_if(const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      byoc_node_t *inner = find_if(node->blocks[b]);
      if (inner) return inner;
    }
    if (wants_sinking(node)) return node;
  }
  return NULL;
}

// ---- nodes that depend on the If ----

typedef bool (*visit_value_t)(sinker_t *s, byoc_value_t *value);

// Visits the operands of a node, and values that its blocks read; stops and returns false when `visit` does.
static bool visit_reads(sinker_t *s, const byoc_node_t *node, visit_value_t visit) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] && !visit(s, node->operands[i])) return false;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_FOR_EACH_NODE(inner, node->blocks[b]) {
      if (!visit_reads(s, inner, visit)) return false;
    }
    for (size_t i = 0; i < node->blocks[b]->results.count; ++i) {
      if (!visit(s, node->blocks[b]->results.data[i])) return false;
    }
  }
  return true;
}

static bool is_not_behind(sinker_t *s, byoc_value_t *value) {
  const byoc_node_t *producer = byoc_value_producer(value);
  return !producer || (producer != s->node && !byoc_pointer_map_find(&s->behind, producer));
}

// Does the value have one rank, the same in both branches as far as they can run? A value from outside of them has one.
static bool is_ranked_in_branches(sinker_t *s, byoc_value_t *value) {
  const byoc_node_t *producer = byoc_value_producer(value);
  if (!producer || (producer != s->node && !byoc_pointer_map_find(&s->moved, producer))) return true;
  int32_t rank = BYOC_RANK_UNKNOWN;
  for (int b = 0; b < BRANCHES; ++b) {
    const byoc_value_t *copy = byoc_pointer_map_get(&s->copies[b], value);
    if (s->faults[b].status != BYOC_OK || !copy) continue;
    if (has_open_rank(copy)) return false;
    if (!byoc_type_is_tensor(copy->type)) continue;
    if (rank != BYOC_RANK_UNKNOWN && rank != copy->type->rank) return false;
    rank = copy->type->rank;
  }
  return true;
}

static bool want_producer(sinker_t *s, byoc_value_t *value) {
  byoc_node_t *producer = byoc_value_producer(value);
  if (!producer || !byoc_pointer_map_find(&s->behind, producer) || byoc_pointer_map_find(&s->moved, producer)) {
    return true;
  }
  return byoc_vector_push(&s->wanted, s->allocator, producer);
}

// ---- moving ----

static void forget_types(byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count && strcmp(node->domain, "byoc") != 0; ++i) {
    node->results[i]->type = byoc_type_unknown();
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_FOR_EACH_NODE(inner, node->blocks[b]) forget_types(inner);
  }
}

// Types the copy of a node by the types of its branch. The original's type is kept if the branch leaves even the rank
// open.
static byoc_status_t infer_copy(byoc_node_t *copy, const byoc_node_t *node, byoc_diag_t *diag) {
  forget_types(copy);
  BYOC_RETURN_IF_ERROR(byoc_infer_nested(copy, diag));
  for (uint32_t i = 0; i < copy->result_count; ++i) {
    if (has_open_rank(copy->results[i]) && byoc_is_ranked(node->results[i]->type)) {
      copy->results[i]->type = node->results[i]->type;
    }
  }
  return BYOC_OK;
}

static uint32_t depth_of(const byoc_node_t *node) {
  uint32_t deepest = 0;
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_FOR_EACH_NODE(inner, node->blocks[b]) {
      const uint32_t depth = 1 + depth_of(inner);
      if (depth > deepest) deepest = depth;
    }
    if (deepest == 0) deepest = 1;
  }
  return deepest;
}

// Unknown ranks nest one level deeper for each If that follows another.
static byoc_status_t check_limits(const sinker_t *s, const byoc_block_t *block, const byoc_node_t *node) {
  const uint32_t depth = byoc_block_depth(block) + depth_of(node);
  if (depth <= BYOC_MAX_BLOCK_DEPTH && *s->copy_count < MAX_COPIES) return BYOC_OK;
  char where[256];
  byoc_node_describe(s->node, where, sizeof where);
  return byoc_diag_error(s->diag, BYOC_UNSUPPORTED,
                         "%s: too much depends on the rank of its result: %zu nodes are copied, %u levels deep", where,
                         *s->copy_count, depth);
}

static byoc_status_t copy_node(sinker_t *s, byoc_node_t *node) {
  for (int b = 0; b < BRANCHES; ++b) {
    if (s->faults[b].status != BYOC_OK) continue;
    BYOC_RETURN_IF_ERROR(check_limits(s, s->branches[b], node));
    byoc_node_t *copy = byoc_node_clone(node, s->branches[b], NULL, &s->copies[b]);
    if (!copy) return byoc_diag_out_of_memory(s->diag);
    *s->copy_count += 1;
    byoc_diag_t fault = {0};
    byoc_status_t status = infer_copy(copy, node, &fault);
    if (status == BYOC_INVALID_DATA) s->faults[b] = fault; // fails when it is run
    if (status != BYOC_OK && status != BYOC_INVALID_DATA) return byoc_diag_adopt(s->diag, &fault);
  }
  if (s->faults[0].status != BYOC_OK && s->faults[1].status != BYOC_OK) return byoc_diag_adopt(s->diag, &s->faults[0]);
  bool ok = byoc_pointer_map_put(&s->moved, node, node) && byoc_vector_push(&s->order, s->allocator, node);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

// Moves a node, and first the nodes that it needs. A work list replaces recursion: models are deep.
static byoc_status_t move_node(sinker_t *s, byoc_node_t *node) {
  s->wanted.count = 0;
  if (!byoc_vector_push(&s->wanted, s->allocator, node)) return byoc_diag_out_of_memory(s->diag);
  while (s->wanted.count > 0) {
    byoc_node_t *top = s->wanted.data[s->wanted.count - 1];
    const size_t before = s->wanted.count;
    if (byoc_pointer_map_find(&s->moved, top)) {
      s->wanted.count -= 1;
      continue;
    }
    if (!visit_reads(s, top, want_producer)) return byoc_diag_out_of_memory(s->diag);
    if (s->wanted.count > before) continue;
    s->wanted.count -= 1;
    BYOC_RETURN_IF_ERROR(copy_node(s, top));
  }
  return BYOC_OK;
}

// Copies the If without results, and notes the values of its results in the branches.
static byoc_status_t copy_if(sinker_t *s) {
  byoc_node_t *node = s->node;
  s->made = byoc_node_create(node->block, node, "", "If", node->since_version, node->operands, node->operand_count, 0);
  if (!s->made) return byoc_diag_out_of_memory(s->diag);
  s->made->name = node->name;
  for (int b = 0; b < BRANCHES; ++b) {
    const byoc_block_t *from = byoc_node_find_block(node, branch_names[b]);
    s->branches[b] = byoc_node_add_block(s->made, branch_names[b]);
    if (!s->branches[b]) return byoc_diag_out_of_memory(s->diag);
    BYOC_FOR_EACH_NODE(inner, from) {
      if (!byoc_node_clone(inner, s->branches[b], NULL, &s->copies[b])) return byoc_diag_out_of_memory(s->diag);
    }
    for (uint32_t i = 0; i < node->result_count; ++i) {
      byoc_value_t *given = from->results.data[i], *copy = byoc_pointer_map_get(&s->copies[b], given);
      if (!byoc_pointer_map_put(&s->copies[b], node->results[i], copy ? copy : given)) {
        return byoc_diag_out_of_memory(s->diag);
      }
    }
  }
  return BYOC_OK;
}

// ---- results ----

// Does a node that was not moved read the value?
static bool is_read_outside(const sinker_t *s, const byoc_value_t *value) {
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_use_t *use = &value->uses.data[u];
    const byoc_block_t *block = use->node ? use->node->block : use->block;
    const byoc_node_t *reader = use->node;
    for (; block != s->node->block; block = block->owner->block) reader = block->owner;
    if (!reader || (!byoc_pointer_map_find(&s->moved, reader))) return true;
  }
  return false;
}

static byoc_status_t hand_out(sinker_t *s, byoc_value_t *value) {
  if (!is_read_outside(s, value)) return BYOC_OK;
  byoc_value_t *result = byoc_node_add_result(s->made);
  if (!result || !byoc_vector_push(&s->handed_out, s->allocator, value)) return byoc_diag_out_of_memory(s->diag);
  if (value->name) byoc_value_set_name(result, value->name);
  result->device = value->device;
  for (int b = 0; b < BRANCHES; ++b) {
    byoc_value_t *copy = byoc_pointer_map_get(&s->copies[b], value);
    if (s->faults[b].status != BYOC_OK) copy = s->node->operands[0]; // until the branch refuses
    if (!byoc_block_add_result(s->branches[b], value->name, copy)) return byoc_diag_out_of_memory(s->diag);
  }
  return BYOC_OK;
}

static byoc_status_t replace_if(sinker_t *s) {
  for (uint32_t i = 0; i < s->node->result_count; ++i) BYOC_RETURN_IF_ERROR(hand_out(s, s->node->results[i]));
  for (size_t k = 0; k < s->order.count; ++k) {
    const byoc_node_t *node = s->order.data[k];
    for (uint32_t i = 0; i < node->result_count; ++i) BYOC_RETURN_IF_ERROR(hand_out(s, node->results[i]));
  }
  for (int b = 0; b < BRANCHES; ++b) {
    if (s->faults[b].status == BYOC_OK) continue;
    BYOC_RETURN_IF_ERROR(byoc_refuse_branch(s->branches[b], branch_names[b], &s->faults[b], s->diag));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_nested(s->made, s->diag));
  for (size_t i = 0; i < s->handed_out.count; ++i) {
    if (!byoc_value_replace_uses(s->handed_out.data[i], s->made->results[i])) return byoc_diag_out_of_memory(s->diag);
  }
  for (size_t k = s->order.count; k > 0; --k) byoc_node_erase(s->order.data[k - 1]);
  byoc_block_t *block = s->node->block;
  byoc_node_erase(s->node);
  return byoc_block_sort(block, s->diag);
}

static byoc_status_t sink_behind(sinker_t *s) {
  BYOC_RETURN_IF_ERROR(copy_if(s));
  for (byoc_node_t *node = s->node->next; node; node = node->next) {
    if (visit_reads(s, node, is_not_behind)) continue;
    if (!byoc_pointer_map_put(&s->behind, node, node)) return byoc_diag_out_of_memory(s->diag);
    if (!visit_reads(s, node, is_ranked_in_branches)) BYOC_RETURN_IF_ERROR(move_node(s, node));
  }
  return replace_if(s);
}

static byoc_status_t sink(byoc_node_t *node, size_t *copy_count, byoc_diag_t *diag) {
  sinker_t s = {.diag = diag, .allocator = node->function->module->allocator, .node = node, .copy_count = copy_count};
  for (int b = 0; b < BRANCHES; ++b) byoc_pointer_map_init(&s.copies[b], s.allocator);
  byoc_pointer_map_init(&s.behind, s.allocator);
  byoc_pointer_map_init(&s.moved, s.allocator);
  byoc_status_t status = sink_behind(&s);
  for (int b = 0; b < BRANCHES; ++b) byoc_map_deinit(&s.copies[b]);
  byoc_map_deinit(&s.behind);
  byoc_map_deinit(&s.moved);
  byoc_vector_deinit(&s.order, s.allocator);
  byoc_vector_deinit(&s.wanted, s.allocator);
  byoc_vector_deinit(&s.handed_out, s.allocator);
  return status;
}

// Neither branch of an If can run, so the branch that the If stands in cannot run either, and it refuses. False if
// there is none, or if that was the last one that could.
static bool refuse_around(const byoc_node_t *node, const byoc_diag_t *fault, byoc_diag_t *diag, byoc_status_t *status) {
  byoc_block_t *branch = node->block;
  const byoc_node_t *owner = branch->owner;
  if (!owner || !byoc_node_is_onnx(owner, "If")) return false;
  const int b = byoc_node_find_block(owner, branch_names[0]) == branch ? 0 : 1;
  if (byoc_refusal_of(byoc_node_find_block(owner, branch_names[1 - b])))
    return refuse_around(owner, fault, diag, status);
  *status = byoc_refuse_branch(branch, branch_names[b], fault, diag);
  return true;
}

byoc_status_t byoc_pass_sink_into_branches(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  size_t copy_count = 0, if_count = 0;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH || !byoc_function_is_open(function)) continue;
    for (byoc_node_t *node; (node = find_if(function->body)) != NULL;) {
      byoc_diag_t fault = {0};
      if (++if_count > MAX_IFS) {
        return byoc_diag_error(diag, BYOC_UNSUPPORTED, "too much depends on ranks that are not known: %d branches",
                               MAX_IFS);
      }
      byoc_status_t status = sink(node, &copy_count, &fault);
      if (status == BYOC_INVALID_DATA && !refuse_around(node, &fault, diag, &status)) {
        return byoc_diag_adopt(diag, &fault);
      }
      if (status != BYOC_OK) return status == fault.status ? byoc_diag_adopt(diag, &fault) : status;
      BYOC_RETURN_IF_ERROR(byoc_infer_function(function, diag));
      // Nodes behind the If have dimensions that are now made inside the branches; those of the results replace them.
      BYOC_RETURN_IF_ERROR(byoc_infer_afresh(function, diag));
      *changes += 1;
    }
  }
  return BYOC_OK;
}
