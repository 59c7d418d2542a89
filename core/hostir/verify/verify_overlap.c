// SPDX-License-Identifier: Apache-2.0
// Checks that the results of an instruction share no bytes with each other, nor with its operands.
#include <stdlib.h>

#include "core/hostir/verify/verify_internal.h"
#include "core/runtime/cell.h"

static int compare_spans(const void *left, const void *right) {
  const byoc_host_span_t *a = left, *b = right;
  if (a->root != b->root) return a->root < b->root ? -1 : 1;
  if (a->bytes.begin != b->bytes.begin) return a->bytes.begin < b->bytes.begin ? -1 : 1;
  return a->result < b->result ? -1 : a->result > b->result;
}

static byoc_host_span_t span_of(const byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, size_t result) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  const uint32_t storage = v->lives[root->index].storage;
  const uint64_t owner = storage > 0 ? (uint64_t)v->program->buffers.count + storage : root->index;
  return (byoc_host_span_t){owner, (uint32_t)result, byoc_host_verify_bytes(v, buffer)};
}

static bool is_empty(const byoc_host_span_t *span) {
  return span->bytes.begin == span->bytes.end;
}

// Sorts the spans of all results, which must be disjoint.
static byoc_status_t collect(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  v->spans.count = 0;
  for (size_t k = 0; k < i->results.count; ++k) {
    const byoc_host_span_t span = span_of(v, i->results.data[k], k);
    if (is_empty(&span)) continue;
    if (!byoc_vector_push(&v->spans, byoc_arena_allocator(&v->arena), span)) return byoc_diag_out_of_memory(v->diag);
  }
  if (v->spans.count > 1) qsort(v->spans.data, v->spans.count, sizeof(byoc_host_span_t), compare_spans);
  for (size_t k = 1; k < v->spans.count; ++k) {
    const byoc_host_span_t *a = &v->spans.data[k - 1], *b = &v->spans.data[k];
    if (a->root != b->root || a->bytes.end <= b->bytes.begin) continue;
    return byoc_host_verify_refuse(v, "results %u and %u ('%s' and '%s') share bytes", a->result, b->result,
                                   i->results.data[a->result]->name, i->results.data[b->result]->name);
  }
  return BYOC_OK;
}

// The first span of a result that shares bytes with `span`, or lies behind it.
static size_t find_span(const byoc_host_verifier_t *v, const byoc_host_span_t *span) {
  size_t low = 0, high = v->spans.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const byoc_host_span_t *at = &v->spans.data[middle];
    bool is_before = at->root < span->root || (at->root == span->root && at->bytes.end <= span->bytes.begin);
    if (is_before) low = middle + 1;
    if (!is_before) high = middle;
  }
  return low;
}

// May the first result be written over this operand?
static bool may_overwrite(const byoc_host_instruction_t *i, size_t operand) {
  if (i->op == BYOC_HOST_KERNEL) return byoc_loop_overwrites(i->kernel, operand, 0);
  return i->op == BYOC_HOST_C_CALL && i->c_call->result_from_operand == (int64_t)operand;
}

// ---- views that move ----

static bool has_moving(byoc_host_buffer_t *const *buffers, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    if (buffers[k] != NULL && byoc_host_buffer_moves(buffers[k])) return true;
  }
  return false;
}

// Might two buffers share bytes? *out_same: they begin and end at the same bytes.
static bool may_share(const byoc_host_verifier_t *v, byoc_host_buffer_t *a, byoc_host_buffer_t *b, bool *out_same) {
  const byoc_host_span_t span_a = span_of(v, a, 0), span_b = span_of(v, b, 0);
  byoc_host_linear_t place_a, place_b;
  *out_same = false;
  if (span_a.root != span_b.root || is_empty(&span_a) || is_empty(&span_b)) return false;
  if ((byoc_host_buffer_moves(a) || byoc_host_buffer_moves(b)) && byoc_host_linear_of_offset(&v->ranges, a, &place_a) &&
      byoc_host_linear_of_offset(&v->ranges, b, &place_b) && byoc_host_linear_same_terms(&place_a, &place_b)) {
    *out_same = place_a.constant == place_b.constant && a->size_bytes == b->size_bytes;
    return place_a.constant < byoc_dim_add(place_b.constant, (int64_t)b->size_bytes) &&
           place_b.constant < byoc_dim_add(place_a.constant, (int64_t)a->size_bytes);
  }
  *out_same = !byoc_host_buffer_moves(a) && !byoc_host_buffer_moves(b) && span_a.bytes.begin == span_b.bytes.begin &&
              span_a.bytes.end == span_b.bytes.end;
  return span_a.bytes.begin < span_b.bytes.end && span_b.bytes.begin < span_a.bytes.end;
}

// All pairs, since the order of places that move is not known.
static byoc_status_t check_pairs(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  bool is_same = false;
  for (size_t r = 0; r < i->results.count; ++r) {
    byoc_host_buffer_t *result = i->results.data[r];
    for (size_t k = 0; k < r; ++k) {
      if (!may_share(v, result, i->results.data[k], &is_same)) continue;
      return byoc_host_verify_refuse(v, "results %zu and %zu ('%s' and '%s') may share bytes", k, r,
                                     i->results.data[k]->name, result->name);
    }
    for (size_t k = 0; k < i->operands.count; ++k) {
      byoc_host_buffer_t *operand = i->operands.data[k];
      if (operand == NULL || !may_share(v, result, operand, &is_same)) continue;
      if (is_same && r == 0 && may_overwrite(i, k)) continue;
      return byoc_host_verify_refuse(v, "operand %zu and result %zu ('%s' and '%s') may share bytes", k, r,
                                     operand->name, result->name);
    }
  }
  for (size_t k = 0; i->workspace != NULL && k < i->operands.count + i->results.count; ++k) {
    byoc_host_buffer_t *other = k < i->operands.count ? i->operands.data[k] : i->results.data[k - i->operands.count];
    if (other == NULL || !may_share(v, i->workspace, other, &is_same)) continue;
    return byoc_host_verify_refuse(v, "the workspace and '%s' may share bytes", other->name);
  }
  return BYOC_OK;
}

// ---- all instructions ----

byoc_status_t byoc_host_verify_overlaps(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (has_moving(i->operands.data, i->operands.count) || has_moving(i->results.data, i->results.count)) {
    return check_pairs(v, i);
  }
  BYOC_RETURN_IF_ERROR(collect(v, i));
  for (size_t k = 0; k < i->operands.count && v->spans.count > 0; ++k) {
    byoc_host_buffer_t *operand = i->operands.data[k];
    if (operand == NULL) continue;
    const byoc_host_span_t span = span_of(v, operand, k);
    if (is_empty(&span)) continue;
    for (size_t s = find_span(v, &span); s < v->spans.count; ++s) {
      const byoc_host_span_t *result = &v->spans.data[s];
      if (result->root != span.root || result->bytes.begin >= span.bytes.end) break;
      bool in_place = result->result == 0 && result->bytes.begin == span.bytes.begin &&
                      result->bytes.end == span.bytes.end && may_overwrite(i, k);
      if (in_place) continue;
      return byoc_host_verify_refuse(v, "operand %zu and result %u ('%s' and '%s') share bytes", k, result->result,
                                     operand->name, i->results.data[result->result]->name);
    }
  }
  if (i->workspace == NULL) return BYOC_OK;
  const byoc_host_span_t scratch = span_of(v, i->workspace, 0);
  size_t at = find_span(v, &scratch);
  if (at < v->spans.count && v->spans.data[at].root == scratch.root &&
      v->spans.data[at].bytes.begin < scratch.bytes.end) {
    return byoc_host_verify_refuse(v, "the workspace and result %u ('%s' and '%s') share bytes",
                                   v->spans.data[at].result, i->workspace->name,
                                   i->results.data[v->spans.data[at].result]->name);
  }
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] == NULL) continue;
    const byoc_host_span_t span = span_of(v, i->operands.data[k], k);
    if (span.root != scratch.root || span.bytes.begin >= scratch.bytes.end || scratch.bytes.begin >= span.bytes.end) {
      continue;
    }
    return byoc_host_verify_refuse(v, "the workspace and operand %zu ('%s' and '%s') share bytes", k,
                                   i->workspace->name, i->operands.data[k]->name);
  }
  return BYOC_OK;
}
