// SPDX-License-Identifier: Apache-2.0
// settle-dimensions: a dimension of an input that the model names, but of which an operator needs one number, becomes
// this number. No run with another number could succeed, and operators that need to know it can be compiled. Only
// operators whose values reach a result of the model count: others may be left over, and are removed.
//
//   func @main(%x : f32[N,C]) { %y = MatMul(%x, @w : f32[3,4]) }  →  func @main(%x : f32[N,3]) { ... }
#include "core/ir/dim.h"
#include "core/op/op.h"
#include "core/op/relation.h"
#include "core/op/util.h"
#include "core/pass/pass.h"

typedef struct settler_t {
  byoc_function_t *function;
  byoc_map_t numbers; // string map: symbol → const byoc_dim_t *, the constant; NULL: operators need different ones
  byoc_map_t live;    // pointer map: nodes whose values reach a result
  bool failed;
} settler_t;

static bool is_called(const byoc_graph_module_t *module, const byoc_function_t *function) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_block_t *body = module->functions.data[f]->body;
    for (const byoc_node_t *node = body ? body->first : NULL; node != NULL; node = node->next) {
      if (node->callee == function) return true;
    }
  }
  return false;
}

// Is the symbol a dimension of an input? The run gives numbers to others, such as the number of elements found.
static bool is_of_input(const settler_t *s, byoc_dim_t symbol) {
  const byoc_block_t *body = s->function->body;
  for (size_t p = 0; p < body->parameters.count; ++p) {
    const byoc_type_t *type = body->parameters.data[p]->type;
    for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
      if (byoc_dim_equal(type->dims[d], symbol)) return true;
    }
  }
  return false;
}

static void settle(settler_t *s, byoc_dim_t symbol, byoc_dim_t number) {
  const bool is_open = byoc_dim_is_leaf(symbol) && !byoc_dim_is_unknown(symbol) && byoc_dim_is_constant(number);
  if (!is_open || !is_of_input(s, symbol)) return;
  const byoc_map_entry_t *known = byoc_string_map_find(&s->numbers, symbol.expr->symbol);
  if (known != NULL) {
    const bool agrees = known->value != NULL && byoc_dim_equal(*(const byoc_dim_t *)known->value, number);
    s->failed |= !agrees && !byoc_string_map_put(&s->numbers, symbol.expr->symbol, NULL);
    return;
  }
  byoc_dim_t *kept = BYOC_ARENA_NEW(&s->function->module->arena, byoc_dim_t);
  if (kept != NULL) *kept = number;
  s->failed |= kept == NULL || !byoc_string_map_put(&s->numbers, symbol.expr->symbol, kept);
}

static bool reads_symbols(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = node->operands[i] != NULL ? node->operands[i]->type : NULL;
    for (int32_t d = 0; type != NULL && byoc_is_ranked(type) && d < type->rank; ++d) {
      if (!byoc_dim_is_constant(type->dims[d])) return true;
    }
  }
  return false;
}

// Does a result of the function, or a node that is live, read the value? A shape alone does not need the values. Values
// that only a branch or a loop reads may not be needed.
static bool is_needed(const settler_t *s, const byoc_value_t *value) {
  for (size_t i = 0; i < value->uses.count; ++i) {
    const byoc_use_t *use = &value->uses.data[i];
    if (use->node == NULL && use->block == s->function->body) return true;
    const bool is_shape =
        use->node != NULL && (byoc_node_is_onnx(use->node, "Shape") || byoc_node_is_onnx(use->node, "Size"));
    if (use->node != NULL && !is_shape && byoc_pointer_map_find(&s->live, use->node) != NULL) return true;
  }
  return false;
}

static void mark_live(settler_t *s) {
  for (byoc_node_t *node = s->function->body->last; node != NULL && !s->failed; node = node->previous) {
    bool needed = false;
    for (uint32_t r = 0; r < node->result_count && !needed; ++r) needed = is_needed(s, node->results[r]);
    s->failed |= needed && !byoc_pointer_map_put(&s->live, node, node);
  }
}

// Only nodes of the body: those of branches and loops may not run.
static byoc_status_t find_numbers(settler_t *s, byoc_diag_t *diag) {
  mark_live(s);
  BYOC_FOR_EACH_NODE(node, s->function->body) {
    const bool is_live = byoc_pointer_map_find(&s->live, node) != NULL;
    if (!is_live || node->callee != NULL || !reads_symbols(node)) continue;
    byoc_relations_t relations = {.allocator = s->function->module->allocator};
    byoc_status_t status = byoc_infer_relations(node, diag, &relations);
    for (size_t i = 0; i < relations.items.count && status == BYOC_OK; ++i) {
      const byoc_relation_t *relation = &relations.items.data[i];
      if (relation->kind != BYOC_RELATION_EQUAL) continue;
      settle(s, relation->left, relation->right);
      settle(s, relation->right, relation->left);
    }
    byoc_relations_deinit(&relations);
    BYOC_RETURN_IF_ERROR(status);
  }
  return s->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static void write_type(settler_t *s, byoc_value_t *value) {
  const byoc_type_t *type = value->type;
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool differs = false;
  if (!byoc_is_ranked(type)) return;
  byoc_arena_t *arena = &s->function->module->arena;
  for (int32_t d = 0; d < type->rank; ++d) {
    dims[d] = byoc_dim_substitute(type->dims[d], &s->numbers, arena, &s->failed);
    differs |= !byoc_dim_equal(dims[d], type->dims[d]);
  }
  const byoc_type_t *settled = differs ? byoc_type_tensor(arena, type->dtype, type->rank, dims) : type;
  if (settled != NULL) value->type = settled;
  s->failed |= settled == NULL;
}

static void write_parameters(settler_t *s, byoc_block_t *block) {
  for (size_t p = 0; p < block->parameters.count; ++p) write_type(s, block->parameters.data[p]);
}

static bool write_node(void *self, byoc_node_t *node) {
  settler_t *s = self;
  for (uint32_t b = 0; b < node->block_count; ++b) write_parameters(s, node->blocks[b]);
  for (uint32_t r = 0; r < node->result_count; ++r) write_type(s, node->results[r]);
  return !s->failed;
}

byoc_status_t byoc_pass_settle_dimensions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  byoc_function_t *main = byoc_graph_module_main(module);
  if (main == NULL || !byoc_function_is_in_scope(main) || !byoc_function_is_open(main) || is_called(module, main)) {
    return BYOC_OK;
  }
  settler_t s = {.function = main};
  byoc_string_map_init(&s.numbers, module->allocator);
  byoc_pointer_map_init(&s.live, module->allocator);
  byoc_status_t status = find_numbers(&s, diag);
  size_t count = 0;
  for (size_t i = 0; i < s.numbers.count; ++i) count += s.numbers.entries[i].value != NULL;
  if (status == BYOC_OK && count > 0) {
    write_parameters(&s, main->body);
    byoc_block_walk(main->body, write_node, &s);
    status = s.failed ? byoc_diag_out_of_memory(diag) : byoc_infer_module(module, diag);
  }
  byoc_map_deinit(&s.numbers);
  byoc_map_deinit(&s.live);
  if (status == BYOC_OK) *changes += count;
  return status;
}
