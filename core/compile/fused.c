// SPDX-License-Identifier: Apache-2.0
// Writes out operators that rules name and that no backend takes.
#include "core/compile/fused.h"

#include "core/base/log.h"
#include "core/collage/fused.h"
#include "core/ir/attribute_names.h"
#include "core/pass/kept_weights.h"
#include "core/pass/write_out.h"

// Functions whose nodes no backend has taken.
static bool is_left(const byoc_function_t *function) {
  return byoc_function_is_open(function) && !byoc_function_has_flag(function, BYOC_ATTRIBUTE_EXTERN);
}

static bool is_refused(void *self, const byoc_node_t *node) {
  return byoc_pointer_map_find(self, node) != NULL;
}

typedef struct folder_t {
  const byoc_map_t *refused;
  size_t *changes;
} folder_t;

static bool let_fold(void *self, byoc_node_t *node) {
  const folder_t *folder = self;
  if (!byoc_node_is_onnx(node, "DequantizeLinear") || byoc_pointer_map_find(folder->refused, node) == NULL) return true;
  *folder->changes += 1;
  return byoc_attributes_set_int(&node->attributes, BYOC_ATTRIBUTE_FOLDS, 1);
}

// Operators are written out. Constants of integers become floats when the module is simplified.
static byoc_status_t write_out_all(byoc_graph_module_t *module, byoc_map_t *refused, byoc_diag_t *diag,
                                   size_t *out_written) {
  folder_t folder = {refused, out_written};
  for (size_t f = 0; f < module->functions.count && refused->count > 0; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (!is_left(function)) continue;
    if (!byoc_block_walk(function->body, let_fold, &folder)) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(byoc_write_out_where(function, is_refused, refused, diag, out_written));
  }
  return BYOC_OK;
}

// ---- before partitioning ----

// Writes out the fused nodes that no rule takes. A new node may be fused, too: it is asked about in the next round.
static byoc_status_t write_out_refused(byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                       byoc_diag_t *diag, size_t *out_written) {
  *out_written = 0;
  byoc_map_t refused;
  byoc_pointer_map_init(&refused, module->allocator);
  byoc_status_t status = byoc_fused_find_refused(module, targets, diag, &refused);
  if (status == BYOC_OK) status = write_out_all(module, &refused, diag, out_written);
  byoc_map_deinit(&refused);
  return status;
}

byoc_status_t byoc_fused_settle(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag) {
  for (;;) {
    size_t written = 0;
    BYOC_RETURN_IF_ERROR(write_out_refused(module, options->targets, diag, &written));
    if (written == 0) return BYOC_OK;
    byoc_log(BYOC_LOG_INFO, "wrote out %zu operator%s that rules name and no target takes", written,
             byoc_plural(written));
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("simplify"), module, options, diag, NULL));
  }
}

// ---- after partitioning ----

typedef struct closer_t {
  const byoc_target_list_t *targets;
  int64_t *indices; // of all targets
  size_t count;
} closer_t;

static bool close_node(void *self, byoc_node_t *node) {
  const closer_t *closer = self;
  if (node->callee != NULL || byoc_node_is_fused(node) || byoc_node_is_open_unit(node, closer->targets)) return true;
  if (byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_OPEN, 0) != 0) return true;
  return byoc_attributes_set_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, closer->indices, closer->count);
}

// A plan by cost has left these nodes to the native target, unless they are marked as open.
static byoc_status_t close_left(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag) {
  closer_t closer = {.targets = targets, .count = targets->targets.count};
  closer.indices = BYOC_ARENA_ARRAY(&module->arena, int64_t, closer.count);
  bool ok = closer.indices != NULL;
  for (size_t t = 0; t < closer.count && ok; ++t) closer.indices[t] = targets->targets.data[t]->index;
  for (size_t f = 0; f < module->functions.count && ok; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (is_left(function)) ok = byoc_block_walk(function->body, close_node, &closer);
  }
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

typedef struct left_t {
  byoc_map_t nodes;
  const byoc_target_list_t *targets;
  uint64_t kept; // types of constants that rules read
} left_t;

static bool find_open(void *self, byoc_node_t *node) {
  left_t *left = self;
  const bool is_answer = byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_ANSWERED, 0) != 0;
  const bool is_open =
      byoc_node_is_fused(node) ||
      (!is_answer && (byoc_node_is_kept_weight(node, left->kept) || byoc_node_is_open_unit(node, left->targets)));
  return !is_open || byoc_pointer_map_put(&left->nodes, node, node);
}

// The functions that no backend has taken are in scope.
static byoc_status_t simplify_left(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag) {
  BYOC_VECTOR(byoc_function_t *) functions = {0};
  bool ok = true;
  for (size_t f = 0; f < module->functions.count && ok; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (is_left(function)) ok = byoc_vector_push(&functions, module->allocator, function);
  }
  byoc_status_t status = ok ? byoc_pass_run_list_on(functions.data, functions.count, "simplify", options, diag)
                            : byoc_diag_out_of_memory(diag);
  byoc_vector_deinit(&functions, module->allocator);
  return status;
}

byoc_status_t byoc_fused_write_out_left(byoc_graph_module_t *module, const byoc_pass_options_t *options,
                                        bool asks_for_all, byoc_diag_t *diag, size_t *out_written) {
  *out_written = 0;
  left_t left = {.targets = options->targets, .kept = byoc_kept_weights(options->targets)};
  byoc_pointer_map_init(&left.nodes, module->allocator);
  bool ok = true;
  for (size_t f = 0; f < module->functions.count && ok; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (is_left(function)) ok = byoc_block_walk(function->body, find_open, &left);
  }
  byoc_status_t status = ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && left.nodes.count > 0 && !asks_for_all) status = close_left(module, options->targets, diag);
  if (status == BYOC_OK) status = write_out_all(module, &left.nodes, diag, out_written);
  byoc_map_deinit(&left.nodes);
  if (status == BYOC_OK && *out_written > 0) status = simplify_left(module, options, diag);
  return status;
}
