// SPDX-License-Identifier: Apache-2.0
// Checks the collectives of a host program: their groups, their tensors, and that each one that begins also ends.
#include "core/hostir/verify/verify_internal.h"

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

// ---- collectives in two steps ----

static bool is_same_buffers(byoc_host_buffer_t *const *a, size_t a_count, byoc_host_buffer_t *const *b,
                            size_t b_count) {
  for (size_t k = 0; k < a_count && k < b_count; ++k) {
    if (a[k] != b[k]) return false;
  }
  return a_count == b_count;
}

// Does the second one end the collective that the first one begins?
static bool is_its_end(const byoc_host_instruction_t *begin, const byoc_host_instruction_t *end) {
  const byoc_collective_call_t *a = begin->collective, *b = end->collective;
  if (b->phase != BYOC_COLLECTIVE_ENDS || a->kind != b->kind || a->reduction != b->reduction ||
      a->members != b->members || a->stride != b->stride || a->root != b->root) {
    return false;
  }
  for (int32_t m = 0; a->kind == BYOC_PERMUTE && m < a->members; ++m) {
    if (a->targets[m] != b->targets[m]) return false;
  }
  return is_same_buffers(begin->operands.data, begin->operands.count, end->operands.data, end->operands.count) &&
         is_same_buffers(begin->results.data, begin->results.count, end->results.data, end->results.count);
}

// An output that may be written over an input has its bytes.
static bool shares_root(byoc_host_buffer_t *a, byoc_host_buffer_t *b) {
  const byoc_host_buffer_t *x = byoc_host_buffer_root(a), *y = byoc_host_buffer_root(b);
  return x == y || x->over == y || y->over == x;
}

static byoc_status_t check_meanwhile(byoc_host_verifier_t *v, const byoc_host_instruction_t *begin,
                                     byoc_host_buffer_t *buffer, bool is_written) {
  if (buffer == NULL) return BYOC_OK;
  if (begin->results.count > 0 && shares_root(begin->results.data[0], buffer)) {
    return byoc_host_verify_refuse(v, "'%s' is used while a collective writes it", buffer->name);
  }
  if (is_written && begin->operands.count > 0 && shares_root(begin->operands.data[0], buffer)) {
    return byoc_host_verify_refuse(v, "'%s' is changed while a collective reads it", buffer->name);
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_steps(byoc_host_verifier_t *v, const byoc_host_instruction_t *i,
                                     const byoc_host_instruction_t **begun) {
  const bool is_collective = i->op == BYOC_HOST_COLLECTIVE;
  const byoc_host_instruction_t *begin = *begun;
  if (begin == NULL) {
    if (!is_collective || i->collective->phase == BYOC_COLLECTIVE_WHOLE) return BYOC_OK;
    if (i->collective->phase == BYOC_COLLECTIVE_ENDS) return byoc_host_verify_refuse(v, "it has not begun");
    *begun = i;
    return BYOC_OK;
  }
  if (is_collective && is_its_end(begin, i)) {
    *begun = NULL;
    return BYOC_OK;
  }
  if (is_collective || i->region_count > 0 || i->op == BYOC_HOST_YIELD) {
    return byoc_host_verify_refuse(v, "a collective that has begun ends behind it");
  }
  const bool settles = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
  for (size_t k = 0; k < i->operands.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_meanwhile(v, begin, i->operands.data[k], settles));
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_meanwhile(v, begin, i->results.data[k], true));
  }
  return check_meanwhile(v, begin, i->workspace, true);
}
