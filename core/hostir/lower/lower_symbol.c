// SPDX-License-Identifier: Apache-2.0
// Binds and checks run-time dimensions: finds the symbols that have a value at a point of the program.
#include <string.h>

#include "core/hostir/lower/lower_internal.h"
#include "core/op/schema.h"
#include "core/ops/byoc/symbolic.h"

static bool is_bound(const byoc_host_lowering_t *l, uint32_t symbol) {
  for (size_t i = 0; i < l->bound.count; ++i) {
    if (l->bound.data[i] == symbol) return true;
  }
  return false;
}

static byoc_status_t symbol_of(byoc_host_lowering_t *l, const char *name, uint32_t *out_symbol) {
  *out_symbol = byoc_host_symbol(l->program, name);
  return *out_symbol != BYOC_HOST_SYMBOL_NONE ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

static byoc_status_t bind(byoc_host_lowering_t *l, uint32_t symbol) {
  if (is_bound(l, symbol)) return BYOC_OK;
  return byoc_vector_push(&l->bound, l->program->arena.allocator, symbol) ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

static byoc_status_t not_known(byoc_host_lowering_t *l, byoc_dim_t dim, const char *name) {
  byoc_string_t text;
  byoc_string_init(&text, l->program->arena.allocator);
  byoc_dim_print(dim, &text);
  byoc_status_t status = byoc_diag_error(l->diag, BYOC_UNSUPPORTED,
                                         "value '%s' has the dimension %s, which has no value", name, text.data);
  byoc_diag_hint(l->diag, "give each symbol a value: --dim NAME=VALUE");
  byoc_string_deinit(&text);
  return status;
}

static bool leaf_is_bound(void *self, byoc_dim_t leaf) {
  const byoc_host_lowering_t *l = self;
  if (byoc_dim_is_unknown(leaf)) return false;
  uintptr_t index = (uintptr_t)byoc_string_map_get(&l->program->symbol_indices, leaf.expr->symbol);
  return index != 0 && is_bound(l, (uint32_t)(index - 1));
}

bool byoc_host_dim_is_bound(const byoc_host_lowering_t *l, byoc_dim_t dim) {
  return byoc_dim_walk(dim, leaf_is_bound, (void *)(uintptr_t)l);
}

byoc_status_t byoc_host_check_dim_bound(byoc_host_lowering_t *l, byoc_dim_t dim, const char *name) {
  return byoc_host_dim_is_bound(l, dim) ? BYOC_OK : not_known(l, dim, name);
}

byoc_status_t byoc_host_check_bound(byoc_host_lowering_t *l, const byoc_type_t *type, const char *name) {
  if (!byoc_type_is_tensor(type) || type->rank == BYOC_RANK_UNKNOWN) {
    byoc_string_t text;
    byoc_string_init(&text, l->program->arena.allocator);
    byoc_type_print(type, &text);
    byoc_status_t status = byoc_diag_error(
        l->diag, BYOC_UNSUPPORTED, "value '%s' has the type %s, which is not known before the run", name, text.data);
    byoc_string_deinit(&text);
    return status;
  }
  for (int32_t d = 0; d < type->rank; ++d) BYOC_RETURN_IF_ERROR(byoc_host_check_dim_bound(l, type->dims[d], name));
  return BYOC_OK;
}

byoc_status_t byoc_host_match_value(byoc_host_lowering_t *l, byoc_host_buffer_t *buffer, bool binds, bool checks) {
  const byoc_type_t *type = buffer->type;
  if (!byoc_type_is_tensor(type) || type->rank == BYOC_RANK_UNKNOWN) return BYOC_OK;
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_MATCH, NULL, &i));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, buffer));
  i->matches = BYOC_ARENA_ARRAY(&l->program->arena, byoc_host_match_t, (size_t)type->rank);
  if (i->matches == NULL) return byoc_diag_out_of_memory(l->diag);
  bool is_taken[BYOC_MAX_RANK] = {false};
  for (int32_t d = 0; d < type->rank && binds; ++d) {
    byoc_dim_t dim = type->dims[d];
    uint32_t symbol = 0;
    if (byoc_dim_is_constant(dim) || dim.expr->kind != BYOC_DIM_SYMBOL) continue;
    BYOC_RETURN_IF_ERROR(symbol_of(l, dim.expr->symbol, &symbol));
    if (is_bound(l, symbol)) continue;
    BYOC_RETURN_IF_ERROR(bind(l, symbol));
    is_taken[d] = true;
    i->matches[i->match_count++] = (byoc_host_match_t){.axis = (uint32_t)d, .symbol = symbol, .dim = dim};
  }
  for (int32_t d = 0; d < type->rank && checks; ++d) {
    if (is_taken[d]) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_check_dim_bound(l, type->dims[d], buffer->name));
    i->matches[i->match_count++] =
        (byoc_host_match_t){.axis = (uint32_t)d, .symbol = BYOC_HOST_SYMBOL_NONE, .dim = type->dims[d]};
  }
  return BYOC_OK;
}

static bool is_input_symbol(void *self, byoc_dim_t leaf) {
  const byoc_host_lowering_t *l = self;
  uintptr_t index = (uintptr_t)byoc_string_map_get(&l->program->symbol_indices, leaf.expr->symbol);
  return index != 0 && index <= l->program->input_symbol_count;
}

byoc_status_t byoc_host_lower_require(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_arena_t *arena = &l->program->arena;
  byoc_host_instruction_t *here = NULL;
  for (uint32_t k = 0; k < node->result_count; ++k) {
    const byoc_relation_t required = byoc_required(node, k);
    const byoc_host_relation_t relation = {
        .kind = required.kind,
        .left = required.left,
        .right = required.right,
        .names = {byoc_required_by(node), required.left_name, required.right_name},
    };
    BYOC_RETURN_IF_ERROR(byoc_host_check_dim_bound(l, relation.left, "require"));
    BYOC_RETURN_IF_ERROR(byoc_host_check_dim_bound(l, relation.right, "require"));
    // Without symbols of the inputs, all runs have the same shapes.
    bool of_inputs = l->program->input_symbol_count > 0 && node->block->owner == NULL &&
                     byoc_dim_walk(relation.left, is_input_symbol, l) &&
                     byoc_dim_walk(relation.right, is_input_symbol, l);
    if (!of_inputs && here == NULL) BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_REQUIRE, NULL, &here));
    if (here != NULL) here->symbol = "shapes";
    byoc_host_instruction_t *at = of_inputs ? l->of_inputs : here;
    if (!byoc_vector_push(&at->relations, arena->allocator, relation)) return byoc_diag_out_of_memory(l->diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_bind(byoc_host_lowering_t *l, const byoc_node_t *node) {
  size_t count = 0;
  const char *const *names = byoc_node_texts(node, "symbols", &count);
  byoc_host_buffer_t *elements = NULL;
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->operands[0], &elements));
  if (elements->type->dtype != BYOC_DTYPE_I64 || byoc_type_element_count(elements->type) != (int64_t)count) {
    return byoc_diag_error(l->diag, BYOC_INVALID_DATA, "%zu symbols are bound to a tensor of another size or type",
                           count);
  }
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_BIND, node, &i));
  i->symbol = node->name[0] == '\0' ? "an operator" : byoc_arena_format(&l->program->arena, "%s", node->name);
  if (i->symbol == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, elements));
  i->symbols = BYOC_ARENA_ARRAY(&l->program->arena, uint32_t, count);
  if (i->symbols == NULL) return byoc_diag_out_of_memory(l->diag);
  for (size_t k = 0; k < count; ++k) {
    BYOC_RETURN_IF_ERROR(symbol_of(l, names[k], &i->symbols[i->symbol_count++]));
    BYOC_RETURN_IF_ERROR(bind(l, i->symbols[k]));
  }
  return BYOC_OK;
}

// A kernel's parameters may use other names for their dimensions than the values passed to it. Takes the dimension of
// the operand whose parameter has the symbol, else the symbol of the same name.
static bool find_in_operands(const byoc_node_t *node, const char *symbol, byoc_dim_t *out_dim) {
  const byoc_block_t *body = node->callee->body;
  for (size_t p = 0; p < body->parameters.count && p < node->operand_count; ++p) {
    const byoc_type_t *from = body->parameters.data[p]->type, *to = node->operands[p]->type;
    for (int32_t d = 0; d < from->rank && from->rank == to->rank; ++d) {
      const byoc_dim_expr_t *expr = from->dims[d].expr;
      if (expr == NULL || expr->kind != BYOC_DIM_SYMBOL || strcmp(expr->symbol, symbol) != 0) continue;
      *out_dim = to->dims[d];
      return true;
    }
  }
  return false;
}

byoc_status_t byoc_host_kernel_dims(byoc_host_lowering_t *l, const byoc_node_t *node, byoc_dim_t **out_dims) {
  const byoc_loop_kernel_t *kernel = node->callee->kernel;
  *out_dims = BYOC_ARENA_ARRAY(&l->program->arena, byoc_dim_t, kernel->symbols.count);
  if (*out_dims == NULL) return byoc_diag_out_of_memory(l->diag);
  for (size_t k = 0; k < kernel->symbols.count; ++k) {
    const char *symbol = kernel->symbols.data[k];
    bool failed = false;
    if (!find_in_operands(node, symbol, &(*out_dims)[k])) {
      (*out_dims)[k] = byoc_dim_symbol(&l->program->arena, symbol, &failed);
    }
    if (failed) return byoc_diag_out_of_memory(l->diag);
    BYOC_RETURN_IF_ERROR(byoc_host_check_dim_bound(l, (*out_dims)[k], kernel->name));
  }
  return BYOC_OK;
}
