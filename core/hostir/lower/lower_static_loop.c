// SPDX-License-Identifier: Apache-2.0
// Lowers Loops of static programs. A carried value lives in the buffer of its result, and each iteration updates it
// there. Stacked results are written slice by slice.
//
//   copy %init -> %state
//   loop turn from 0 to 8
//   body {
//     kernel ... (%x + turn * 64, %state) -> (%state)
//     copy %state -> %stack + turn * 64
//   }
#include "byoc/call.h"
#include "byoc/device.h"
#include "core/hostir/lower/lower_internal.h"
#include "core/ir/loop_in_place.h"
#include "core/ops/byoc/storage.h"
#include "core/ops/onnx/control/control.h"

typedef struct static_loop_t {
  byoc_host_lowering_t *l;
  const byoc_node_t *node;
  const byoc_block_t *body;
  uint32_t carried;
  byoc_host_buffer_t **targets; // of the node's results
  byoc_dim_t iteration;
} static_loop_t;

static const byoc_value_t *state_of(const static_loop_t *loop, uint32_t k) {
  return loop->body->parameters.data[k + 2];
}

// A value for the next iteration, or a slice of a stacked result.
static byoc_value_t *given_by(const static_loop_t *loop, uint32_t k) {
  return loop->body->results.data[k + 1];
}

// ---- which values may be written over the state ----

static bool reads(const byoc_node_t *node, const byoc_value_t *root) {
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    if (node->operands[k] != NULL && byoc_host_storage_root(node->operands[k]) == root) return true;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    const byoc_block_t *block = node->blocks[b];
    for (size_t k = 0; k < block->results.count; ++k) {
      if (byoc_host_storage_root(block->results.data[k]) == root) return true;
    }
    BYOC_FOR_EACH_NODE(nested, block) {
      if (reads(nested, root)) return true;
    }
  }
  return false;
}

static bool is_kernel(const byoc_node_t *node) {
  return node != NULL && node->callee != NULL && node->callee->kind == BYOC_FUNCTION_KERNEL;
}

// Does a loop in the body take the state only as its initial value? Then it works on in the same buffer.
static bool goes_on_with(const byoc_node_t *node, const byoc_value_t *made, const byoc_value_t *state) {
  const uint32_t first = 2 + made->index;
  if (!byoc_node_is_onnx(node, "Loop") || first >= node->operand_count) return false;
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    if (node->operands[k] != NULL && (byoc_host_storage_root(node->operands[k]) == state) != (k == first)) return false;
  }
  const byoc_block_t *body = node->blocks[0];
  for (size_t k = 0; k < body->results.count; ++k) {
    if (byoc_host_storage_root(body->results.data[k]) == state) return false;
  }
  BYOC_FOR_EACH_NODE(nested, body) {
    if (reads(nested, state)) return false;
  }
  return true;
}

// May the node, which reads the state, write its result over it? Marks its kernel then.
static bool may_update(const byoc_node_t *node, const byoc_value_t *made, const byoc_value_t *state) {
  uint64_t overwritten = 0;
  if (node->block_count > 0) return goes_on_with(node, made, state);
  if (!is_kernel(node) || made != node->results[0]) return false;
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    const byoc_value_t *operand = node->operands[k];
    if (operand == NULL || byoc_host_storage_root(operand) != state) continue;
    const bool is_whole = byoc_type_size_bytes(operand->type) == byoc_type_size_bytes(made->type);
    if (k >= 64 || !is_whole || !byoc_loop_may_overwrite(node->callee->kernel, k, 0)) return false;
    overwritten |= (uint64_t)1 << k;
  }
  node->callee->kernel->overwritten[0] |= overwritten;
  return true;
}

// May the next iteration's value be written into the state as soon as it is made? Nothing may read the old state then.
static bool may_replace(const static_loop_t *loop, uint32_t k) {
  const byoc_value_t *state = state_of(loop, k), *made = byoc_host_storage_root(given_by(loop, k));
  if (made->kind != BYOC_VALUE_RESULT || made->node->block != loop->body) return false;
  for (size_t r = 0; r < loop->body->results.count; ++r) {
    if (byoc_host_storage_root(loop->body->results.data[r]) == state) return false;
  }
  for (const byoc_node_t *node = made->node->next; node != NULL; node = node->next) {
    if (reads(node, state)) return false;
  }
  return !reads(made->node, state) || may_update(made->node, made, state);
}

// ---- slices ----

// Backends and devices may rely on the alignment of memory that byoc allocates.
static bool may_be_slice(const static_loop_t *loop, uint32_t k) {
  const byoc_value_t *given = given_by(loop, k), *root = byoc_host_storage_root(given);
  const int64_t size = byoc_type_size_bytes(given->type);
  if (byoc_host_is_on_device(given)) return size % BYOC_DEVICE_ALIGNMENT == 0;
  if (size % BYOC_BUFFER_ALIGNMENT == 0) return true;
  if (root != given || !is_kernel(byoc_value_producer(root))) return false;
  for (size_t u = 0; u < root->uses.count; ++u) {
    if (root->uses.data[u].node != NULL && !is_kernel(root->uses.data[u].node)) return false;
  }
  return true;
}

static byoc_status_t make_slice(const static_loop_t *loop, uint32_t k, byoc_host_buffer_t **out_slice) {
  byoc_arena_t *arena = &loop->l->program->arena;
  const byoc_value_t *given = given_by(loop, k);
  bool failed = false;
  const byoc_dim_t offset = byoc_dim_binary(arena, BYOC_DIM_MUL, loop->iteration,
                                            byoc_dim_constant(byoc_type_size_bytes(given->type)), &failed);
  *out_slice = failed ? NULL
                      : byoc_host_moving_view_create(loop->l->program, loop->targets[k],
                                                     given->name ? given->name : "slice", given->type, offset);
  return *out_slice != NULL ? BYOC_OK : byoc_diag_out_of_memory(loop->l->diag);
}

// ---- the body ----

static bool is_only_of_parts(const byoc_value_t *iteration) {
  for (size_t u = 0; u < iteration->uses.count; ++u) {
    const byoc_use_t *use = &iteration->uses.data[u];
    if (use->node == NULL || !byoc_node_is(use->node, "byoc", "Part") || use->index != 1) return false;
  }
  return true;
}

// The iteration as a tensor, for nodes that read it.
static byoc_status_t store_turn(const static_loop_t *loop) {
  byoc_host_lowering_t *l = loop->l;
  const byoc_value_t *iteration = loop->body->parameters.data[0];
  if (is_only_of_parts(iteration)) return BYOC_OK;
  byoc_host_buffer_t *buffer = byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL,
                                                       iteration->name ? iteration->name : "turn", iteration->type);
  BYOC_RETURN_IF_ERROR(byoc_host_set_buffer(l, iteration, buffer));
  byoc_host_instruction_t *store = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_STORE, NULL, &store));
  store->dims = byoc_arena_copy(&l->program->arena, &loop->iteration, sizeof(loop->iteration));
  if (store->dims == NULL) return byoc_diag_out_of_memory(l->diag);
  return byoc_host_push(l, store, true, buffer);
}

// Does a later copy read the present bytes of `target`?
static bool is_wanted(const static_loop_t *loop, const bool *is_done, uint32_t target) {
  for (uint32_t k = 0; k < loop->carried; ++k) {
    if (!is_done[k] && k != target && byoc_host_storage_root(given_by(loop, k)) == state_of(loop, target)) return true;
  }
  return false;
}

static byoc_status_t set_aside(const static_loop_t *loop, uint32_t k, byoc_host_buffer_t **out_copy) {
  byoc_host_lowering_t *l = loop->l;
  *out_copy = byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, "aside", given_by(loop, k)->type);
  if (*out_copy == NULL) return byoc_diag_out_of_memory(l->diag);
  return byoc_host_copy_to(l, given_by(loop, k), *out_copy);
}

// All states get their new values at once: the old value of a state is read before it is overwritten. In a circle of
// such copies one value is set aside.
static byoc_status_t pass_on(const static_loop_t *loop) {
  byoc_host_lowering_t *l = loop->l;
  byoc_arena_t *arena = &l->program->arena;
  bool *is_done = BYOC_ARENA_ARRAY(arena, bool, loop->carried);
  byoc_host_buffer_t **aside = BYOC_ARENA_ARRAY(arena, byoc_host_buffer_t *, loop->carried);
  if (is_done == NULL || aside == NULL) return byoc_diag_out_of_memory(l->diag);
  for (uint32_t left = loop->carried; left > 0;) {
    const uint32_t before = left;
    for (uint32_t k = 0; k < loop->carried; ++k) {
      if (is_done[k] || is_wanted(loop, is_done, k)) continue;
      BYOC_RETURN_IF_ERROR(byoc_host_copy_to(l, given_by(loop, k), loop->targets[k]));
      is_done[k] = true;
      left -= 1;
    }
    if (left < before) continue;
    for (uint32_t k = 0; k < loop->carried; ++k) {
      if (is_done[k]) continue;
      BYOC_RETURN_IF_ERROR(set_aside(loop, k, &aside[k]));
      is_done[k] = true;
      left -= 1;
      break;
    }
  }
  for (uint32_t k = 0; k < loop->carried; ++k) {
    if (aside[k] == NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_append_copy(l, BYOC_HOST_COPY, aside[k], loop->targets[k]));
  }
  return BYOC_OK;
}

static byoc_status_t lower_body(static_loop_t *loop) {
  byoc_host_lowering_t *l = loop->l;
  byoc_host_buffer_t **slices = BYOC_ARENA_ARRAY(&l->program->arena, byoc_host_buffer_t *, loop->node->result_count);
  if (slices == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(store_turn(loop));
  for (uint32_t k = 0; k < loop->carried; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_set_buffer(l, state_of(loop, k), loop->targets[k]));
    if (!may_replace(loop, k)) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_give_destination(l, loop->body, given_by(loop, k), loop->targets[k]));
  }
  for (uint32_t k = loop->carried; k < loop->node->result_count; ++k) {
    BYOC_RETURN_IF_ERROR(make_slice(loop, k, &slices[k]));
    if (!may_be_slice(loop, k)) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_give_destination(l, loop->body, given_by(loop, k), slices[k]));
  }
  BYOC_RETURN_IF_ERROR(byoc_host_place_joins(l, loop->body));
  BYOC_RETURN_IF_ERROR(byoc_host_lower_block(l, loop->body));
  for (uint32_t k = loop->carried; k < loop->node->result_count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_copy_to(l, given_by(loop, k), slices[k]));
  }
  return pass_on(loop);
}

// ---- the loop ----

static byoc_status_t make_symbol(byoc_host_lowering_t *l, byoc_host_count_t *count, byoc_dim_t *out_turn) {
  const char *name = NULL;
  for (size_t k = l->program->symbols.count; name == NULL; ++k) {
    name = byoc_arena_format(&l->program->arena, "turn%zu", k);
    if (name == NULL) return byoc_diag_out_of_memory(l->diag);
    if (byoc_string_map_get(&l->program->symbol_indices, name) != NULL) name = NULL;
  }
  bool failed = false;
  count->symbol = byoc_host_symbol(l->program, name);
  *out_turn = byoc_dim_symbol(&l->program->arena, name, &failed);
  return failed || count->symbol == BYOC_HOST_SYMBOL_NONE ? byoc_diag_out_of_memory(l->diag) : BYOC_OK;
}

byoc_status_t byoc_host_lower_static_loop(byoc_host_lowering_t *l, const byoc_node_t *node) {
  const uint32_t carried = node->operand_count > 2 ? node->operand_count - 2 : 0;
  static_loop_t loop = {.l = l, .node = node, .body = byoc_node_find_block(node, "body"), .carried = carried};
  byoc_host_count_t *count = BYOC_ARENA_NEW(&l->program->arena, byoc_host_count_t);
  byoc_host_instruction_t *i = NULL;
  if (count == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(byoc_host_make_targets(l, node, &loop.targets));
  for (uint32_t k = 0; k < carried; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_copy_to(l, node->operands[k + 2], loop.targets[k]));
  }
  if (byoc_static_loop_iterations(node) == 0) return BYOC_OK; // the initial values are the results
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_LOOP, node, &i));
  BYOC_RETURN_IF_ERROR(make_symbol(l, count, &loop.iteration));
  count->stop = byoc_dim_constant(byoc_static_loop_iterations(node));
  count->step = byoc_dim_constant(1);
  i->count = count;
  if (!byoc_host_instruction_add_regions(l->program, i, 1) ||
      !byoc_pointer_map_put(&l->iterations, loop.body->parameters.data[0], (void *)((uintptr_t)count->symbol + 1))) {
    return byoc_diag_out_of_memory(l->diag);
  }
  byoc_host_region_t *outside = l->region;
  l->region = &i->regions[0];
  BYOC_RETURN_IF_ERROR_IN(l->diag, lower_body(&loop), "body");
  l->region = outside;
  return BYOC_OK;
}
