// SPDX-License-Identifier: Apache-2.0
// Binary heaps and heapsort over lists of indices (i64) inside a buffer, for operators that choose or sort by value.
// A second list may hold the value of each index, which avoids scattered loads from the operand.
//
// Example:
//   byoc_heap_t heap = {b, order, NULL, base, step, stands_above, self};
//   byoc_heap_build(&heap, count);           // the first `count` indices become a heap
//   byoc_heap_sort(&heap, count);            // the indices that stand above others now come after them
#ifndef BYOC_CORE_OPS_LOOPS_HEAP_H_
#define BYOC_CORE_OPS_LOOPS_HEAP_H_

#include "core/op/util.h"

// `value` is NULL if the heap has no list of values.
typedef struct byoc_heap_item_t {
  const byoc_loop_expr_t *index, *value;
} byoc_heap_item_t;

// Is x above y? This must be a strict total order. May emit statements.
typedef const byoc_loop_expr_t *(*byoc_heap_above_t)(const void *self, byoc_heap_item_t x, byoc_heap_item_t y);

typedef struct byoc_heap_t {
  byoc_loop_builder_t *b;
  const byoc_loop_buffer_t *list, *values; // values NULL: none
  const byoc_loop_expr_t *base, *step;     // entry i of the list is list[base + i * step]
  byoc_heap_above_t above;
  const void *self;
} byoc_heap_t;

// A copy of the item at a position: later stores do not change it.
byoc_heap_item_t byoc_heap_load(const byoc_heap_t *heap, const byoc_loop_expr_t *place);
void byoc_heap_store(const byoc_heap_t *heap, const byoc_loop_expr_t *place, byoc_heap_item_t item);
// Moves the item at `root` down until no child is above it.
void byoc_heap_sift(const byoc_heap_t *heap, const byoc_loop_expr_t *root, const byoc_loop_expr_t *count);
void byoc_heap_build(const byoc_heap_t *heap, const byoc_loop_expr_t *count);
// Sorts a heap: the index that is above all others comes last.
void byoc_heap_sort(const byoc_heap_t *heap, const byoc_loop_expr_t *count);

#endif // BYOC_CORE_OPS_LOOPS_HEAP_H_
