// Checks the collectives of a host program: their groups, their tensors, and that what begins also ends.
#include "core/hostir/verify_internal.h"

#include "byoc/communicator_reduce.h"

static byoc_status_t check_group(byoc_host_verifier_t *v, const byoc_collective_call_t *c) {
  const uint32_t ranks = v->program->rank_count;
  if (c->members < 0 || (c->members > 0 && c->stride < 1)) return byoc_host_verify_refuse(v, "it has no group");
  if (c->members > 0 && ranks > 0 && ranks % ((uint32_t)c->members * (uint32_t)c->stride) != 0) {
    return byoc_host_verify_refuse(v, "groups of %d ranks, %d apart, do not fit %u ranks", c->members, c->stride,
                                   ranks);
  }
  const int64_t members = c->members > 0 ? c->members : ranks > 0 ? (int64_t)ranks : INT16_MAX;
  if (byoc_collective_has_root(c->kind) && (c->root < 0 || c->root >= members)) {
    return byoc_host_verify_refuse(v, "member %d is not in a group of %d", c->root, c->members);
  }
  if (c->kind != BYOC_PERMUTE) return BYOC_OK;
  if (c->members == 0 || c->targets == NULL) return byoc_host_verify_refuse(v, "a permutation without targets");
  for (int32_t m = 0; m < c->members; ++m) {
    if (c->targets[m] < -1 || c->targets[m] >= c->members) {
      return byoc_host_verify_refuse(v, "member %d is not in a group of %d", c->targets[m], c->members);
    }
    for (int32_t k = 0; k < m; ++k) {
      if (c->targets[k] != c->targets[m] || c->targets[m] < 0) continue;
      return byoc_host_verify_refuse(v, "member %d is the target of two", c->targets[m]);
    }
  }
  return BYOC_OK;
}

static byoc_status_t check_tensor(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer,
                                  const byoc_collective_call_t *c) {
  const byoc_type_t *type = buffer->type;
  const bool is_tensor = byoc_type_is_tensor(type) && type->rank != BYOC_RANK_UNKNOWN;
  if (!is_tensor || type->dtype == BYOC_DTYPE_STRING || byoc_dtype_bits(type->dtype) % 8 != 0) {
    return byoc_host_verify_refuse(v, "'%s' is no tensor of whole bytes", buffer->name);
  }
  if (!byoc_collective_reduces(c->kind) || byoc_can_reduce(type->dtype, c->reduction)) return BYOC_OK;
  return byoc_host_verify_refuse(v, "there is no %s of %s", byoc_reduction_name(c->reduction),
                                 byoc_dtype_name(type->dtype));
}

// The blocks of the operand and those of the result have the same size.
static byoc_status_t check_blocks(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_collective_call_t *c = i->collective;
  const byoc_type_t *in = i->operands.data[0]->type, *out = i->results.data[0]->type;
  const int32_t members = c->members > 0 ? c->members : (int32_t)v->program->rank_count;
  byoc_dim_t sent[BYOC_MAX_RANK + 1], received[BYOC_MAX_RANK + 1];
  if (in->dtype != out->dtype) return byoc_host_verify_refuse(v, "its operand and its result have other element types");
  if (members == 0) return BYOC_OK; // decided when it runs
  sent[0] = byoc_dim_constant(byoc_collective_received_blocks(c->kind, members));
  received[0] = byoc_dim_constant(byoc_collective_sent_blocks(c->kind, members));
  for (int32_t d = 0; d < in->rank; ++d) sent[d + 1] = in->dims[d];
  for (int32_t d = 0; d < out->rank; ++d) received[d + 1] = out->dims[d];
  if (byoc_host_verify_same_count(v, sent, in->rank + 1, received, out->rank + 1)) return BYOC_OK;
  return byoc_host_verify_refuse(v, "'%s' and '%s' do not fit %d ranks", i->operands.data[0]->name,
                                 i->results.data[0]->name, members);
}

byoc_status_t byoc_host_verify_collective(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_collective_call_t *c = i->collective;
  if (c == NULL || c->kind >= BYOC_COLLECTIVE_COUNT) return byoc_host_verify_refuse(v, "it does not say which");
  const size_t operands = c->kind != BYOC_RECEIVE, results = c->kind != BYOC_SEND;
  if (i->operands.count != operands || i->results.count != results) {
    return byoc_host_verify_refuse(v, "it has %zu operands and %zu results, not %zu and %zu", i->operands.count,
                                   i->results.count, operands, results);
  }
  BYOC_RETURN_IF_ERROR(check_group(v, c));
  if (operands > 0) BYOC_RETURN_IF_ERROR(check_tensor(v, i->operands.data[0], c));
  if (results > 0) BYOC_RETURN_IF_ERROR(check_tensor(v, i->results.data[0], c));
  return operands + results == 2 ? check_blocks(v, i) : BYOC_OK;
}
