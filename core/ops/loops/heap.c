// SPDX-License-Identifier: Apache-2.0
// Emits loops that build and sort a binary heap of indices.
#include "core/ops/loops/heap.h"

static const byoc_loop_expr_t *position(const byoc_heap_t *heap, const byoc_loop_expr_t *place) {
  return BYOC_LADD(heap->b, heap->base, BYOC_LMUL(heap->b, place, heap->step));
}

byoc_heap_item_t byoc_heap_load(const byoc_heap_t *heap, const byoc_loop_expr_t *place) {
  byoc_loop_builder_t *b = heap->b;
  const byoc_loop_expr_t *at = position(heap, place);
  byoc_heap_item_t item = {.index = byoc_loop_let(b, "index", byoc_loop_load(b, heap->list, at))};
  if (heap->values) item.value = byoc_loop_let(b, "value", byoc_loop_load(b, heap->values, at));
  return item;
}

void byoc_heap_store(const byoc_heap_t *heap, const byoc_loop_expr_t *place, byoc_heap_item_t item) {
  const byoc_loop_expr_t *at = position(heap, place);
  byoc_loop_store(heap->b, heap->list, at, item.index);
  if (heap->values) byoc_loop_store(heap->b, heap->values, at, item.value);
}

// The children of `place` are at 2 * place + 1 and after it.
static const byoc_loop_expr_t *below(byoc_loop_builder_t *b, const byoc_loop_expr_t *place) {
  return BYOC_LADD(b, BYOC_LMUL(b, place, byoc_loop_int(b, 2)), byoc_loop_int(b, 1));
}

void byoc_heap_sift(const byoc_heap_t *heap, const byoc_loop_expr_t *root, const byoc_loop_expr_t *count) {
  byoc_loop_builder_t *b = heap->b;
  const byoc_heap_item_t sinks = byoc_heap_load(heap, root);
  const byoc_loop_expr_t *place = byoc_loop_mutable(b, "place", root);
  const byoc_loop_expr_t *child = byoc_loop_mutable(b, "child", below(b, root));
  byoc_loop_while(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, child, count));
  const byoc_loop_expr_t *next = byoc_loop_let(b, "next", BYOC_LADD(b, child, byoc_loop_int(b, 1)));
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, next, count));
  const byoc_heap_item_t right = byoc_heap_load(heap, next), left = byoc_heap_load(heap, child);
  byoc_loop_assign(b, child, byoc_loop_select(b, heap->above(heap->self, right, left), next, child));
  byoc_loop_end(b);
  const byoc_heap_item_t rises = byoc_heap_load(heap, child);
  byoc_loop_if(b, heap->above(heap->self, rises, sinks));
  byoc_heap_store(heap, place, rises);
  byoc_loop_assign(b, place, child);
  byoc_loop_assign(b, child, below(b, child));
  byoc_loop_else(b);
  byoc_loop_assign(b, child, count);
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_heap_store(heap, place, sinks);
}

void byoc_heap_build(const byoc_heap_t *heap, const byoc_loop_expr_t *count) {
  byoc_loop_builder_t *b = heap->b;
  const byoc_loop_expr_t *half = byoc_loop_let(b, "half", BYOC_LDIV(b, count, byoc_loop_int(b, 2)));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), half);
  const byoc_loop_expr_t *root = BYOC_LSUB(b, BYOC_LSUB(b, half, byoc_loop_int(b, 1)), i);
  byoc_heap_sift(heap, byoc_loop_let(b, "root", root), count);
  byoc_loop_end(b);
}

void byoc_heap_sort(const byoc_heap_t *heap, const byoc_loop_expr_t *count) {
  byoc_loop_builder_t *b = heap->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *most = BYOC_LSUB(b, count, byoc_loop_int(b, 1));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, most);
  const byoc_loop_expr_t *last = byoc_loop_let(b, "last", BYOC_LSUB(b, most, i));
  const byoc_heap_item_t top = byoc_heap_load(heap, zero);
  byoc_heap_store(heap, zero, byoc_heap_load(heap, last));
  byoc_heap_store(heap, last, top);
  byoc_heap_sift(heap, zero, last);
  byoc_loop_end(b);
}
