// SPDX-License-Identifier: Apache-2.0
// Keeps the bytes that moving views have written, at each point of a host program.
#include "core/hostir/verify/verify_internal.h"

// Turns of a loop whose slices do not touch are noted one by one, up to this many; and so many in a whole program,
// where such loops may stand in each other. Those beyond that count as not written.
#define MOST_APART     4096
#define MOST_APART_ALL 16384

static bool is_alike(const byoc_host_slice_t *a, const byoc_host_slice_t *b) {
  return a->root == b->root && a->life == b->life && byoc_host_linear_same_terms(&a->place, &b->place);
}

// Are all bytes of `wanted` in some of the slices? They come in any order.
static bool covers(const byoc_host_slices_t *slices, const byoc_host_slice_t *wanted) {
  int64_t begin = wanted->begin;
  for (bool found = true; found && begin < wanted->end;) {
    found = false;
    for (size_t k = 0; k < slices->count && !found; ++k) {
      const byoc_host_slice_t *slice = &slices->data[k];
      found = is_alike(slice, wanted) && slice->begin <= begin && slice->end > begin;
      if (found) begin = slice->end;
    }
  }
  return begin >= wanted->end;
}

static bool slice_of(const byoc_host_verifier_t *v, const byoc_host_buffer_t *view, byoc_host_slice_t *out_slice) {
  const byoc_host_buffer_t *root = view->base;
  *out_slice = (byoc_host_slice_t){.root = root->index, .life = v->lives[root->index].lives};
  if (!byoc_host_linear_of_offset(&v->ranges, view, &out_slice->place)) return false;
  out_slice->begin = out_slice->place.constant;
  out_slice->place.constant = 0;
  return !__builtin_add_overflow(out_slice->begin, (int64_t)view->size_bytes, &out_slice->end);
}

bool byoc_host_verify_is_slice_written(const byoc_host_verifier_t *v, const byoc_host_buffer_t *view) {
  byoc_host_slice_t slice;
  return slice_of(v, view, &slice) && covers(&v->slices, &slice);
}

// Notes a slice; one of known offset is a range of bytes.
static byoc_status_t note(byoc_host_verifier_t *v, const byoc_host_slice_t *slice) {
  if (slice->place.term_count == 0) {
    const byoc_host_buffer_t *root = v->program->buffers.data[slice->root];
    const bool is_inside = slice->begin >= 0 && (uint64_t)slice->end <= root->size_bytes;
    const byoc_byte_range_t bytes = {(uint64_t)slice->begin, (uint64_t)slice->end};
    return is_inside ? byoc_host_verify_note(v, root, bytes) : BYOC_OK; // a run does not come here
  }
  return byoc_vector_push(&v->slices, byoc_arena_allocator(&v->arena), *slice) ? BYOC_OK
                                                                               : byoc_diag_out_of_memory(v->diag);
}

byoc_status_t byoc_host_verify_write_slice(byoc_host_verifier_t *v, const byoc_host_buffer_t *view) {
  byoc_host_slice_t slice;
  if (!slice_of(v, view, &slice) || covers(&v->slices, &slice)) return BYOC_OK;
  return note(v, &slice);
}

byoc_status_t byoc_host_verify_leave_slices(byoc_host_verifier_t *v, byoc_host_scope_t *scope) {
  for (size_t k = scope->first_slice; k < v->slices.count; ++k) {
    if (!byoc_vector_push(&scope->slices, byoc_arena_allocator(&v->arena), v->slices.data[k])) {
      return byoc_diag_out_of_memory(v->diag);
    }
  }
  v->slices.count = scope->first_slice;
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_join_slices(byoc_host_verifier_t *v, const byoc_host_scope_t cases[2]) {
  for (size_t k = 0; k < cases[0].slices.count; ++k) {
    const byoc_host_slice_t *slice = &cases[0].slices.data[k];
    if (covers(&cases[1].slices, slice)) BYOC_RETURN_IF_ERROR(note(v, slice));
  }
  return BYOC_OK;
}

// All bytes that a loop writes if each iteration writes `slice`, `stride` bytes behind the one before.
static byoc_status_t note_iterations(byoc_host_verifier_t *v, byoc_host_slice_t slice, int64_t stride,
                                     int64_t iterations) {
  const int64_t size = slice.end - slice.begin;
  int64_t way = 0;
  if (__builtin_mul_overflow(stride, iterations - 1, &way)) return BYOC_OK;
  const int64_t *const far = way > 0 ? &slice.end : &slice.begin;
  int64_t moved = 0;
  if (__builtin_add_overflow(*far, way, &moved)) return BYOC_OK;
  if (stride <= size && -size <= stride) {
    *(way > 0 ? &slice.end : &slice.begin) = moved;
    return note(v, &slice);
  }
  if (iterations > MOST_APART || iterations > MOST_APART_ALL - v->apart_count) return BYOC_OK;
  v->apart_count += iterations;
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    BYOC_RETURN_IF_ERROR(note(v, &slice));
    slice.begin += stride;
    slice.end += stride;
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_repeat_slices(byoc_host_verifier_t *v, const byoc_host_count_t *count,
                                             int64_t iterations, const byoc_host_scope_t *body) {
  for (size_t k = 0; k < body->slices.count; ++k) {
    byoc_host_slice_t slice = body->slices.data[k];
    const byoc_host_life_t *life = &v->lives[slice.root];
    if (!life->alive || life->lives != slice.life) continue; // its buffer lives in the body
    const int64_t factor = byoc_host_linear_take(&slice.place, count->symbol);
    const byoc_host_range_t start = byoc_host_range_of(&v->ranges, count->start);
    const byoc_host_range_t step = byoc_host_range_of(&v->ranges, count->step);
    int64_t first = 0, stride = 0;
    const bool overflows = __builtin_mul_overflow(factor, start.least, &first) ||
                           __builtin_mul_overflow(factor, step.least, &stride) ||
                           __builtin_add_overflow(slice.begin, first, &slice.begin) ||
                           __builtin_add_overflow(slice.end, first, &slice.end);
    if (!overflows) BYOC_RETURN_IF_ERROR(note_iterations(v, slice, stride, iterations));
  }
  return BYOC_OK;
}
