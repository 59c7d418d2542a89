// Checks that the results of an instruction share no bytes with each other, nor with what it reads.
#include <stdlib.h>

#include "core/hostir/verify_internal.h"

static int compare_spans(const void *left, const void *right) {
  const byoc_host_span_t *a = left, *b = right;
  if (a->root != b->root) return a->root < b->root ? -1 : 1;
  if (a->bytes.begin != b->bytes.begin) return a->bytes.begin < b->bytes.begin ? -1 : 1;
  return a->result < b->result ? -1 : a->result > b->result;
}

static byoc_host_span_t span_of(byoc_host_buffer_t *buffer, size_t result) {
  return (byoc_host_span_t){byoc_host_buffer_root(buffer)->index, (uint32_t)result, byoc_host_verify_bytes(buffer)};
}

static bool is_empty(const byoc_host_span_t *span) {
  return span->bytes.begin == span->bytes.end;
}

// Sorts the spans of all results, which must be disjoint.
static byoc_status_t collect(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  v->spans.count = 0;
  for (size_t k = 0; k < i->results.count; ++k) {
    const byoc_host_span_t span = span_of(i->results.data[k], k);
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
  if (i->op == BYOC_HOST_KERNEL) return operand < 64 && (i->kernel->overwritten >> operand & 1) != 0;
  return i->op == BYOC_HOST_C_CALL && i->c_call->result_from_operand == (int64_t)operand;
}

byoc_status_t byoc_host_verify_overlaps(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  BYOC_RETURN_IF_ERROR(collect(v, i));
  for (size_t k = 0; k < i->operands.count && v->spans.count > 0; ++k) {
    byoc_host_buffer_t *operand = i->operands.data[k];
    if (operand == NULL) continue;
    const byoc_host_span_t span = span_of(operand, k);
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
  const byoc_host_span_t scratch = span_of(i->workspace, 0);
  size_t at = find_span(v, &scratch);
  if (at < v->spans.count && v->spans.data[at].root == scratch.root &&
      v->spans.data[at].bytes.begin < scratch.bytes.end) {
    return byoc_host_verify_refuse(v, "the workspace and result %u ('%s' and '%s') share bytes",
                                   v->spans.data[at].result, i->workspace->name,
                                   i->results.data[v->spans.data[at].result]->name);
  }
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] == NULL) continue;
    const byoc_host_span_t span = span_of(i->operands.data[k], k);
    if (span.root != scratch.root || span.bytes.begin >= scratch.bytes.end || scratch.bytes.begin >= span.bytes.end) {
      continue;
    }
    return byoc_host_verify_refuse(v, "the workspace and operand %zu ('%s' and '%s') share bytes", k,
                                   i->workspace->name, i->operands.data[k]->name);
  }
  return BYOC_OK;
}
