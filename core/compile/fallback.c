// SPDX-License-Identifier: Apache-2.0
// Adds plans without devices and without engines: main becomes an If of copies of the model, and each is partitioned by
// itself.
#include "core/compile/fallback.h"

#include <string.h>

#include "core/compile/choice.h"
#include "core/ir/attribute_names.h"
#include "core/module/runtime_module.h"
#include "core/op/schema.h"

enum { PROCESSOR = 1 }; // DLPack's kDLCPU

typedef struct fallback_t {
  byoc_graph_module_t *module;
  const byoc_target_list_t *targets;
  byoc_diag_t *diag;
  const char *question; // the operator that asks
  bool *is_left_out;    // by target: the copy is not proposed to it
  int64_t *indices;     // of those
  size_t index_count;
} fallback_t;

static bool is_of_left_out(const fallback_t *f, const char *kind) {
  for (size_t t = 0; kind != NULL && t < f->targets->targets.count; ++t) {
    if (f->is_left_out[t] && strcmp(f->targets->targets.data[t]->kind->name, kind) == 0) return true;
  }
  return false;
}

// ---- the copy ----

static void free_places(const fallback_t *f, byoc_value_t *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const byoc_virtual_device_t *device = &values[i]->device;
    if (device->device_type > PROCESSOR || is_of_left_out(f, device->target)) {
      values[i]->device = BYOC_VIRTUAL_DEVICE_FREE;
    }
  }
}

// Replaces a function that the model marked for such a target by a copy without the mark.
static byoc_status_t strip_block(const fallback_t *f, byoc_block_t *block);

static byoc_status_t take_callee(const fallback_t *f, byoc_node_t *call) {
  byoc_function_t *callee = call->callee;
  if (!is_of_left_out(f, byoc_attributes_string(&callee->attributes, BYOC_ATTRIBUTE_COMPILER, NULL))) return BYOC_OK;
  const char *name = byoc_graph_module_unique_name(f->module, callee->name);
  byoc_function_t *copy = name != NULL ? byoc_function_clone(callee, name) : NULL;
  if (copy == NULL || !byoc_attributes_set_int(&copy->attributes, BYOC_ATTRIBUTE_INLINE, 1)) {
    return byoc_diag_out_of_memory(f->diag);
  }
  byoc_attributes_remove(&copy->attributes, BYOC_ATTRIBUTE_COMPILER);
  byoc_attributes_remove(&copy->attributes, BYOC_ATTRIBUTE_TARGET);
  byoc_attributes_remove(&copy->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL);
  call->callee = copy;
  return strip_block(f, copy->body);
}

static byoc_status_t strip_node(const fallback_t *f, byoc_node_t *node) {
  if (byoc_node_is(node, "byoc", "OnDevice") || byoc_node_is(node, "byoc", "DeviceCopy")) {
    if (!byoc_value_replace_uses(node->results[0], node->operands[0])) return byoc_diag_out_of_memory(f->diag);
    byoc_node_erase(node);
    return BYOC_OK;
  }
  free_places(f, node->results, node->result_count);
  if (node->callee != NULL) return take_callee(f, node);
  if (!byoc_attributes_set_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, f->indices, f->index_count)) {
    return byoc_diag_out_of_memory(f->diag);
  }
  for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(strip_block(f, node->blocks[b]));
  return BYOC_OK;
}

static byoc_status_t strip_block(const fallback_t *f, byoc_block_t *block) {
  free_places(f, block->parameters.data, block->parameters.count);
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    BYOC_RETURN_IF_ERROR(strip_node(f, node));
  }
  return BYOC_OK;
}

// ---- the choice ----

// Results of a case are in the host's memory, so that no device has work behind the choice.
static byoc_status_t return_to_host(const fallback_t *f, byoc_block_t *block, byoc_value_t *value) {
  byoc_node_t *node = byoc_node_create(block, NULL, "byoc", "OnDevice", 1, &value, 1, 1);
  if (node == NULL || !byoc_attributes_set_int(&node->attributes, "constrain_body", 0)) {
    return byoc_diag_out_of_memory(f->diag);
  }
  node->results[0]->type = value->type;
  return byoc_block_add_result(block, NULL, node->results[0]) ? BYOC_OK : byoc_diag_out_of_memory(f->diag);
}

static byoc_status_t fill_cases(const fallback_t *f, byoc_block_t *body, byoc_node_t *choice, byoc_value_t **results) {
  byoc_block_t *here = byoc_node_add_block(choice, "then_branch");
  byoc_block_t *instead = byoc_node_add_block(choice, "else_branch");
  if (here == NULL || instead == NULL) return byoc_diag_out_of_memory(f->diag);
  BYOC_FOR_EACH_NODE_SAFE(node, body) {
    if (node != choice && node != byoc_value_producer(choice->operands[0])) byoc_node_move(node, here, NULL);
  }
  for (uint32_t r = 0; r < choice->result_count; ++r) BYOC_RETURN_IF_ERROR(return_to_host(f, here, results[r]));
  byoc_map_t map;
  byoc_pointer_map_init(&map, f->module->allocator);
  const bool ok = byoc_choice_copy(here, instead, &map);
  byoc_map_deinit(&map);
  return ok ? strip_block(f, instead) : byoc_diag_out_of_memory(f->diag);
}

// The nodes of the block become the first case of a choice. *out_here: that case; NULL: nothing is computed.
static byoc_status_t choose(const fallback_t *f, byoc_block_t *body, byoc_block_t **out_here) {
  *out_here = NULL;
  byoc_value_t **results = BYOC_ARENA_ARRAY(&f->module->arena, byoc_value_t *, body->results.count + 1);
  if (results == NULL) return byoc_diag_out_of_memory(f->diag);
  const size_t count = byoc_choice_list_results(body, results);
  if (count == 0) return BYOC_OK;
  byoc_node_t *ready = byoc_node_create(body, NULL, "byoc", f->question, 1, NULL, 0, 1);
  const byoc_type_t *type = byoc_type_tensor_static(&f->module->arena, BYOC_DTYPE_BOOL, 0, NULL);
  if (ready == NULL || type == NULL) return byoc_diag_out_of_memory(f->diag);
  ready->results[0]->type = type;
  byoc_node_t *choice = byoc_node_create(body, NULL, "", "If", 16, ready->results, 1, (uint32_t)count);
  if (choice == NULL) return byoc_diag_out_of_memory(f->diag);
  for (size_t k = 0; k < count; ++k) {
    choice->results[k]->type = results[k]->type;
    choice->results[k]->device = (byoc_virtual_device_t){.device_type = PROCESSOR, .device_id = 0};
  }
  if (!byoc_choice_replace_results(body, results, choice)) return byoc_diag_out_of_memory(f->diag);
  BYOC_RETURN_IF_ERROR(fill_cases(f, body, choice, results));
  *out_here = choice->blocks[0];
  return BYOC_OK;
}

// Leaves out the targets with a device and, if there is a list, those with an engine. Returns the number of the latter,
// or, without a list, of the former.
static size_t leave_out(fallback_t *f, const bool *uses_engine) {
  size_t asked = 0;
  f->index_count = 0;
  for (size_t t = 0; t < f->targets->targets.count; ++t) {
    const byoc_target_t *target = f->targets->targets.data[t];
    const bool has_device = byoc_target_runs_on_device(target), has_engine = uses_engine != NULL && uses_engine[t];
    asked += uses_engine != NULL ? has_engine : has_device;
    f->is_left_out[t] = has_device || has_engine;
    if (f->is_left_out[t]) f->indices[f->index_count++] = target->index;
  }
  return asked;
}

byoc_status_t byoc_fallback_add(byoc_graph_module_t *module, const byoc_target_list_t *targets, const bool *uses_engine,
                                byoc_diag_t *diag) {
  fallback_t f = {.module = module, .targets = targets, .diag = diag};
  byoc_function_t *main = byoc_graph_module_main(module);
  f.indices = BYOC_ARENA_ARRAY(&module->arena, int64_t, targets->targets.count);
  f.is_left_out = BYOC_ARENA_ARRAY(&module->arena, bool, targets->targets.count);
  if (f.indices == NULL || f.is_left_out == NULL) return byoc_diag_out_of_memory(diag);
  byoc_block_t *block = main != NULL ? main->body : NULL;
  f.question = "EnginesReady";
  if (leave_out(&f, uses_engine) > 0 && uses_engine != NULL && block != NULL) {
    BYOC_RETURN_IF_ERROR(choose(&f, block, &block));
  }
  f.question = "DevicesReady";
  return leave_out(&f, NULL) > 0 && block != NULL ? choose(&f, block, &block) : BYOC_OK;
}

// ---- after placing ----

typedef struct search_t {
  const byoc_graph_module_t *module;
  const byoc_runtime_module_t *found; // the description of a function for an engine
} search_t;

static bool find_engine_call(void *self, byoc_node_t *node) {
  search_t *search = self;
  for (size_t k = 0; node->callee != NULL && k < search->module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *module = search->module->runtime_modules.data[k];
    if (module->kind != BYOC_RUNTIME_MODULE_JSON || strcmp(module->function_name, node->callee->name) != 0) continue;
    search->found = module;
    return false;
  }
  return true;
}

byoc_status_t byoc_fallback_check(byoc_graph_module_t *module, byoc_diag_t *diag) {
  const byoc_function_t *main = byoc_graph_module_main(module);
  const byoc_node_t *choice = main != NULL ? main->body->last : NULL;
  while (choice != NULL && !(byoc_node_is_onnx(choice, "If") && byoc_value_producer(choice->operands[0]) != NULL &&
                             byoc_node_is(byoc_value_producer(choice->operands[0]), "byoc", "EnginesReady"))) {
    choice = choice->previous;
  }
  search_t search = {.module = module};
  if (choice != NULL) (void)byoc_block_walk(choice->blocks[1], find_engine_call, &search);
  if (search.found == NULL) return BYOC_OK;
  const byoc_status_t status =
      byoc_diag_error(diag, BYOC_UNSUPPORTED, "the plan without engines would call the engine '%s' of '%s'",
                      search.found->engine_name, search.found->target);
  byoc_diag_hint(diag, "build again, since costs that were measured now decide then, or leave out this target or "
                       "--fallback");
  return status;
}
