// SPDX-License-Identifier: Apache-2.0
// choose-ranks: a tensor of unknown rank that comes from outside, out of a loop or out of a sequence gets a branch for
// each rank that fits its readers; sink-into-branches then moves the readers into the branches.
//
//   y = relu(x)  →  q = if (rank(x) == 0) { x as rank 0 } else { if (rank(x) == 1) { ... } };  y = relu(q)
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/pass/pass.h"

// The ranks that are tried are below this: those of images, of their batches, and one more.
enum { RANKS = 6, IF_VERSION = 16 };

typedef struct {
  byoc_diag_t *diag;
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_value_t *) roots;
  BYOC_VECTOR(byoc_use_t) uses; // of a root: those that need its rank
} chooser_t;

static bool has_open_rank(const byoc_value_t *value) {
  return byoc_type_is_tensor(value->type) && value->type->rank == BYOC_RANK_UNKNOWN;
}

// Does the reader need a rank? Control flow and sequences pass values on as they are; the result of a branch is read
// behind its If.
static bool needs_rank(const byoc_use_t *use) {
  if (use->node) {
    return use->node->block_count == 0 && !byoc_node_has_trait(use->node, BYOC_OP_HOST) &&
           !byoc_node_is_onnx(use->node, "Identity");
  }
  const byoc_node_t *owner = use->block->owner;
  if (!owner || !byoc_node_is_onnx(owner, "If")) return false;
  const byoc_value_t *result = owner->results[use->index];
  for (size_t u = 0; u < result->uses.count; ++u) {
    if (needs_rank(&result->uses.data[u])) return true;
  }
  return false;
}

static byoc_status_t note(chooser_t *c, byoc_value_t *value) {
  if (!has_open_rank(value)) return BYOC_OK;
  for (size_t u = 0; u < value->uses.count; ++u) {
    if (!needs_rank(&value->uses.data[u])) continue;
    return byoc_vector_push(&c->roots, c->allocator, value) ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
  }
  return BYOC_OK;
}

// An If whose branches know their ranks is left to sink-into-branches.
static bool gives_values_on(const byoc_node_t *node) {
  return byoc_node_is_onnx(node, "Loop") || byoc_node_has_trait(node, BYOC_OP_HOST);
}

static byoc_status_t find_roots(chooser_t *c, const byoc_block_t *block) {
  for (size_t i = 0; i < block->parameters.count; ++i) BYOC_RETURN_IF_ERROR(note(c, block->parameters.data[i]));
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(find_roots(c, node->blocks[b]));
    for (uint32_t i = 0; i < node->result_count && gives_values_on(node); ++i) {
      BYOC_RETURN_IF_ERROR(note(c, node->results[i]));
    }
  }
  return BYOC_OK;
}

// ---- which ranks ----

static byoc_node_t *as_rank(byoc_block_t *block, byoc_node_t *before, byoc_value_t *value, int64_t rank) {
  byoc_node_t *node = byoc_node_create(block, before, "byoc", "AsRank", 1, &value, 1, 1);
  return node && byoc_attributes_set_int(&node->attributes, "rank", rank) ? node : NULL;
}

// Do the operands of a reader fit together if the root has this type? The reader's types stay as they are.
static bool fits(byoc_value_t *root, const byoc_type_t *type, byoc_node_t *reader) {
  const byoc_type_t *before = root->type, *kept[8] = {NULL};
  if (reader->result_count > sizeof(kept) / sizeof(kept[0])) return true;
  for (uint32_t i = 0; i < reader->result_count; ++i) {
    kept[i] = reader->results[i]->type;
    reader->results[i]->type = byoc_type_unknown();
  }
  byoc_diag_t fault = {0};
  root->type = type;
  const bool is_fine = byoc_infer_nested(reader, &fault) == BYOC_OK;
  root->type = before;
  for (uint32_t i = 0; i < reader->result_count; ++i) reader->results[i]->type = kept[i];
  return is_fine;
}

static byoc_status_t find_ranks(chooser_t *c, byoc_value_t *root, byoc_block_t *block, byoc_node_t *before,
                                int64_t ranks[RANKS], size_t *out_count) {
  *out_count = 0;
  for (int64_t rank = 0; rank < RANKS; ++rank) {
    byoc_node_t *trial = as_rank(block, before, root, rank);
    if (!trial) return byoc_diag_out_of_memory(c->diag);
    byoc_status_t status = byoc_infer_nested(trial, c->diag);
    bool is_fine = status == BYOC_OK;
    for (size_t u = 0; u < c->uses.count && is_fine; ++u) {
      byoc_node_t *reader = c->uses.data[u].node;
      is_fine = !reader || fits(root, trial->results[0]->type, reader);
    }
    byoc_node_erase(trial);
    if (status != BYOC_OK) return status;
    if (is_fine) ranks[(*out_count)++] = rank;
  }
  return BYOC_OK;
}

// ---- the branches ----

// The root as one of the ranks from `first` on; NULL if out of memory.
static byoc_value_t *make_choice(byoc_block_t *block, byoc_node_t *before, byoc_value_t *root, const int64_t *ranks,
                                 size_t count) {
  if (count == 1) {
    byoc_node_t *only = as_rank(block, before, root, ranks[0]);
    return only ? only->results[0] : NULL;
  }
  byoc_node_t *test = byoc_node_create(block, before, "byoc", "RankIs", 1, &root, 1, 1);
  if (!test || !byoc_attributes_set_int(&test->attributes, "rank", ranks[0])) return NULL;
  byoc_node_t *choice = byoc_node_create(block, before, "", "If", IF_VERSION, &test->results[0], 1, 1);
  byoc_block_t *is = choice ? byoc_node_add_block(choice, "then_branch") : NULL;
  byoc_block_t *is_not = is ? byoc_node_add_block(choice, "else_branch") : NULL;
  byoc_node_t *same = is_not ? as_rank(is, NULL, root, ranks[0]) : NULL;
  byoc_value_t *rest = same ? make_choice(is_not, NULL, root, ranks + 1, count - 1) : NULL;
  const bool ok =
      rest && byoc_block_add_result(is, NULL, same->results[0]) && byoc_block_add_result(is_not, NULL, rest);
  return ok ? choice->results[0] : NULL;
}

static byoc_status_t choose(chooser_t *c, byoc_value_t *root, size_t *changes) {
  byoc_node_t *producer = byoc_value_producer(root);
  byoc_block_t *block = producer ? producer->block : root->block;
  byoc_node_t *before = producer ? producer->next : block->first;
  int64_t ranks[RANKS];
  size_t count = 0;
  c->uses.count = 0;
  for (size_t u = 0; u < root->uses.count; ++u) {
    if (needs_rank(&root->uses.data[u]) && !byoc_vector_push(&c->uses, c->allocator, root->uses.data[u])) {
      return byoc_diag_out_of_memory(c->diag);
    }
  }
  BYOC_RETURN_IF_ERROR(find_ranks(c, root, block, before, ranks, &count));
  if (count == 0) return BYOC_OK; // lowering reports the contradiction
  byoc_value_t *chosen = make_choice(block, before, root, ranks, count);
  if (!chosen) return byoc_diag_out_of_memory(c->diag);
  chosen->type = root->type; // so that the readers' other operands can be tried
  if (count == 1) BYOC_RETURN_IF_ERROR(byoc_infer_nested(byoc_value_producer(chosen), c->diag));
  for (size_t u = 0; u < c->uses.count; ++u) {
    const byoc_use_t *use = &c->uses.data[u];
    const bool ok = use->node ? byoc_node_set_operand(use->node, use->index, chosen)
                              : byoc_block_set_result(use->block, use->index, chosen);
    if (!ok) return byoc_diag_out_of_memory(c->diag);
  }
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_choose_ranks(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  chooser_t c = {.diag = diag, .allocator = module->allocator};
  byoc_status_t status = BYOC_OK;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH || !byoc_function_is_open(function)) continue;
    c.roots.count = 0;
    const size_t before = *changes;
    status = find_roots(&c, function->body);
    for (size_t i = 0; i < c.roots.count && status == BYOC_OK; ++i) status = choose(&c, c.roots.data[i], changes);
    if (status == BYOC_OK && *changes > before) status = byoc_infer_function(function, diag);
    if (status == BYOC_OK && *changes > before) status = byoc_infer_afresh(function, diag);
    if (status != BYOC_OK) break;
  }
  byoc_vector_deinit(&c.roots, c.allocator);
  byoc_vector_deinit(&c.uses, c.allocator);
  return status;
}
