// SPDX-License-Identifier: Apache-2.0
// Places a model with switches: each site of inexact targets becomes an If, which an input of the model decides.
#include "core/collage/composite.h"
#include "core/collage/error_budget.h"
#include "core/collage/outline_regions.h"
#include "core/ir/attribute_names.h"
#include "core/ir/outline.h"

typedef struct switcher_t {
  const byoc_error_budget_t *budget;
  byoc_function_t *function;
  byoc_graph_module_t *module;
  byoc_value_t *input; // of booleans
  byoc_diag_t *diag;
} switcher_t;

static byoc_status_t add_input(switcher_t *s) {
  const int64_t count = (int64_t)s->budget->switch_count;
  const byoc_type_t *type = byoc_type_tensor_static(&s->module->arena, BYOC_DTYPE_BOOL, 1, &count);
  if (type == NULL) return byoc_diag_out_of_memory(s->diag);
  s->input = byoc_block_add_parameter(s->function->body, "byoc_switches", type);
  return s->input != NULL ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

// The value of one switch, a scalar; NULL: out of memory.
static byoc_value_t *read_switch(const switcher_t *s, byoc_block_t *block, byoc_node_t *before, size_t index) {
  const int64_t number = (int64_t)index;
  const byoc_type_t *scalar = byoc_type_tensor_static(&s->module->arena, BYOC_DTYPE_I64, 0, NULL);
  const byoc_type_t *answer = byoc_type_tensor_static(&s->module->arena, BYOC_DTYPE_BOOL, 0, NULL);
  byoc_constant_t *constant = scalar != NULL ? byoc_constant_create(s->module, "switch", scalar, &number) : NULL;
  byoc_value_t *at = constant != NULL ? byoc_function_constant(s->function, constant) : NULL;
  byoc_value_t *operands[] = {s->input, at};
  byoc_node_t *node =
      at != NULL && answer != NULL ? byoc_node_create(block, before, "", "Gather", 13, operands, 2, 1) : NULL;
  if (node == NULL) return NULL;
  node->results[0]->type = answer;
  return node->results[0];
}

// The function that computes the site for this candidate; candidate NULL: for the native target.
static byoc_status_t make_function(const switcher_t *s, const byoc_error_site_t *site,
                                   const byoc_candidate_t *candidate, byoc_function_t **out) {
  byoc_node_t *const *nodes = s->budget->problem->flow.nodes;
  const byoc_candidate_t plain = {.nodes = site->nodes, .rule = "exact"};
  const byoc_target_list_t *targets = s->budget->targets;
  const byoc_target_t *target =
      candidate != NULL ? targets->targets.data[candidate->target] : byoc_target_list_native(targets);
  BYOC_RETURN_IF_ERROR(
      byoc_outline_candidate_copy(nodes, candidate != NULL ? candidate : &plain, target, s->diag, out));
  byoc_function_t *region = byoc_candidate_region(*out);
  byoc_attributes_t *attributes = &region->attributes;
  const bool ok = candidate == NULL
                      ? byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_INLINE, 1)
                      : byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_COMPILER, target->kind->name) &&
                            byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_TARGET, target->index) &&
                            byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_PRIMITIVE, 1) &&
                            byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, region->name);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

// Returns the results of a node from its block.
static bool return_all(byoc_block_t *block, const byoc_node_t *node) {
  bool ok = node != NULL;
  for (uint32_t r = 0; ok && r < node->result_count; ++r) ok = byoc_block_add_result(block, NULL, node->results[r]);
  return ok;
}

// A call of a site's function, with the operands and the types of results of `like`.
static byoc_node_t *call_like(byoc_block_t *block, byoc_function_t *function, const byoc_node_t *like) {
  byoc_node_t *call = byoc_node_create_call(block, NULL, function, like->operands, like->operand_count);
  for (uint32_t r = 0; call != NULL && r < like->result_count; ++r) call->results[r]->type = like->results[r]->type;
  return call;
}

// Chooses between the functions of the switches from `first` on, and the exact one behind them.
static byoc_node_t *choose(const switcher_t *s, byoc_block_t *block, byoc_node_t *before, size_t first, size_t count,
                           byoc_function_t *const *functions, const byoc_node_t *like) {
  if (count == 0) return call_like(block, functions[0], like);
  byoc_value_t *answer = read_switch(s, block, before, first);
  byoc_node_t *choice =
      answer != NULL ? byoc_node_create(block, before, "", "If", 16, &answer, 1, like->result_count) : NULL;
  if (choice == NULL) return NULL;
  byoc_block_t *on = byoc_node_add_block(choice, "then_branch"), *off = byoc_node_add_block(choice, "else_branch");
  for (uint32_t r = 0; r < like->result_count; ++r) choice->results[r]->type = like->results[r]->type;
  const bool ok = on != NULL && off != NULL && return_all(on, call_like(on, functions[0], like)) &&
                  return_all(off, choose(s, off, NULL, first + 1, count - 1, functions + 1, like));
  return ok ? choice : NULL;
}

static byoc_status_t list_functions(const switcher_t *s, const byoc_error_site_t *site, byoc_function_t **functions) {
  const byoc_error_switch_t *switches = s->budget->switches + site->first_switch;
  for (uint32_t k = 0; k < site->switch_count; ++k) {
    BYOC_RETURN_IF_ERROR(make_function(s, site, switches[k].candidate, &functions[k]));
  }
  return make_function(s, site, site->exact, &functions[site->switch_count]);
}

// The site's nodes become one function, and its call becomes the choice.
static byoc_status_t replace_site(const switcher_t *s, const byoc_error_site_t *site) {
  byoc_node_t *const *nodes = s->budget->problem->flow.nodes;
  byoc_arena_t *arena = &s->module->arena;
  byoc_function_t **functions = BYOC_ARENA_ARRAY(arena, byoc_function_t *, (size_t)site->switch_count + 1);
  byoc_node_t **list = BYOC_ARENA_ARRAY(arena, byoc_node_t *, site->nodes.count);
  if (functions == NULL || list == NULL) return byoc_diag_out_of_memory(s->diag);
  BYOC_RETURN_IF_ERROR(list_functions(s, site, functions));
  for (uint32_t k = 0; k < site->nodes.count; ++k) list[k] = nodes[site->nodes.items[k]];
  byoc_function_t *whole = NULL;
  byoc_node_t *call = NULL;
  BYOC_RETURN_IF_ERROR(byoc_outline_nodes(list, site->nodes.count, "site", 0, s->diag, &whole, &call));
  byoc_node_t *choice = choose(s, call->block, call, site->first_switch, site->switch_count, functions, call);
  bool ok = choice != NULL;
  for (uint32_t r = 0; ok && r < call->result_count; ++r) {
    ok = byoc_value_replace_uses(call->results[r], choice->results[r]);
  }
  if (!ok) return byoc_diag_out_of_memory(s->diag);
  byoc_node_erase(call);
  byoc_function_erase(whole);
  return BYOC_OK;
}

// Exact targets claim what is left.
static byoc_status_t place_rest(const switcher_t *s, byoc_placement_t *placement) {
  const byoc_target_list_t *targets = s->budget->targets;
  const byoc_target_t **exact = BYOC_ARENA_ARRAY(&s->module->arena, const byoc_target_t *, targets->targets.count);
  size_t count = 0;
  if (exact == NULL) return byoc_diag_out_of_memory(s->diag);
  for (size_t t = 0; t < targets->targets.count; ++t) {
    if (!s->budget->is_inexact[t]) exact[count++] = targets->targets.data[t];
  }
  byoc_problems_t problems;
  BYOC_RETURN_IF_ERROR(byoc_problems_find(s->module, s->module->allocator, s->diag, &problems));
  byoc_status_t status = byoc_problems_choose_greedily(&problems, exact, count, s->diag);
  if (status == BYOC_OK) status = byoc_problems_apply(&problems, targets, s->diag, placement);
  byoc_problems_deinit(&problems);
  return status;
}

byoc_status_t byoc_error_budget_place(const byoc_error_budget_t *budget, byoc_diag_t *diag,
                                      byoc_placement_t *placement) {
  byoc_function_t *function = budget->function;
  switcher_t s = {.budget = budget, .function = function, .module = function->module, .diag = diag};
  if (budget->switch_count > 0) BYOC_RETURN_IF_ERROR(add_input(&s));
  for (size_t i = 0; i < budget->site_count; ++i) BYOC_RETURN_IF_ERROR(replace_site(&s, &budget->sites[i]));
  return place_rest(&s, placement);
}
