// SPDX-License-Identifier: Apache-2.0
// Lowers collectives of the graph to instructions.
#include <string.h>

#include "core/hostir/lower/lower_internal.h"
#include "core/op/schema.h"

// By byoc_collective_kind_t.
static const char *const operators[] = {"Broadcast", "GatherBlocks", "AllGather",     "ScatterBlocks",
                                        "Reduce",    "AllReduce",    "ReduceScatter", "AllToAll",
                                        "Send",      "Receive",      "Permute"};

static uint32_t kind_of(const byoc_node_t *node) {
  uint32_t kind = 0;
  if (strcmp(node->domain, "byoc") != 0) return BYOC_COLLECTIVE_COUNT;
  while (kind < BYOC_COLLECTIVE_COUNT && strcmp(operators[kind], node->op) != 0) ++kind;
  return kind;
}

bool byoc_host_is_collective(const byoc_node_t *node) {
  return kind_of(node) < BYOC_COLLECTIVE_COUNT;
}

static byoc_status_t read_targets(byoc_host_lowering_t *l, const byoc_node_t *node, byoc_collective_call_t *call) {
  size_t count = 0;
  const int64_t *targets = byoc_node_ints(node, "targets", &count);
  int32_t *copy = BYOC_ARENA_ARRAY(&l->program->arena, int32_t, count);
  if (copy == NULL) return byoc_diag_out_of_memory(l->diag);
  for (size_t i = 0; i < count; ++i) copy[i] = (int32_t)targets[i];
  call->targets = copy;
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_collective(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_collective_call_t *call = BYOC_ARENA_NEW(&l->program->arena, byoc_collective_call_t);
  byoc_host_buffer_t *operand = NULL, *result = NULL;
  byoc_host_instruction_t *i = NULL;
  if (call == NULL) return byoc_diag_out_of_memory(l->diag);
  call->kind = kind_of(node);
  call->members = (int32_t)byoc_node_int(node, "members");
  call->stride = (int32_t)byoc_node_int(node, "stride");
  if (byoc_collective_has_root(call->kind)) call->root = (int32_t)byoc_node_int(node, "root");
  if (byoc_collective_reduces(call->kind)) call->reduction = (uint32_t)byoc_node_choice(node, "reduction");
  if (call->kind == BYOC_PERMUTE) BYOC_RETURN_IF_ERROR(read_targets(l, node, call));
  if (call->kind != BYOC_RECEIVE) BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->operands[0], &operand));
  if (call->kind != BYOC_SEND) BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, node->results[0], &result));
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_COLLECTIVE, node, &i));
  i->collective = call;
  i->symbol = byoc_collective_name(call->kind);
  if (operand != NULL) BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, operand));
  if (result != NULL) return byoc_host_push(l, i, true, result);
  return byoc_host_lower_alias(l, node->results[0], node->operands[0]);
}
