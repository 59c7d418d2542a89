// SPDX-License-Identifier: Apache-2.0
// Makes kernels that run some iterations of a long one.
#include "core/measure/window.h"

#include "core/collage/estimate.h"

// Of the interpreter, for one operation of arithmetic and for one byte that is moved.
#define FLOP_NS 4.0
#define BYTE_NS 0.5
// A kernel that takes longer is cut down to about this.
#define WHOLE_NS 1e7
enum { WINDOWS_AT_LEAST = 2, WINDOWS_AT_MOST = 3 };

double byoc_interpreting_ns(const byoc_function_t *function) {
  if (function == NULL) return 0;
  const byoc_work_t work = byoc_function_work(function);
  return (work.product_flops + work.other_flops) * FLOP_NS + work.bytes * BYTE_NS;
}

// The last statement of the body, if it is a loop whose iterations do not depend on each other, with constant bounds.
static const byoc_loop_stmt_t *find_loop(const byoc_loop_kernel_t *kernel, int64_t *out_begin, int64_t *out_end) {
  const byoc_loop_stmt_t *body = kernel->body;
  const size_t count = body->block.statements.count;
  const byoc_loop_stmt_t *last = count > 0 ? body->block.statements.data[count - 1] : NULL;
  if (last == NULL || last->kind != BYOC_LOOP_FOR || kernel->symbols.count > 0) return NULL;
  const bool is_free = last->loop.kind == BYOC_LOOP_PARALLEL || last->loop.kind == BYOC_LOOP_VECTOR;
  const bool is_known = byoc_loop_is_int(last->loop.begin, out_begin) && byoc_loop_is_int(last->loop.end, out_end);
  return is_free && is_known && *out_end - *out_begin > WINDOWS_AT_MOST ? last : NULL;
}

double byoc_interpreting_windows_ns(const byoc_loop_kernel_t *kernel, const byoc_function_t *function) {
  int64_t begin = 0, end = 0;
  const double whole_ns = byoc_interpreting_ns(function);
  if (whole_ns <= WHOLE_NS || find_loop(kernel, &begin, &end) == NULL) return whole_ns;
  const double least_ns = whole_ns * WINDOWS_AT_LEAST / (double)(end - begin);
  return least_ns > WHOLE_NS ? least_ns : WHOLE_NS;
}

static byoc_loop_stmt_t *take_window(const byoc_loop_stmt_t *loop, int64_t begin, int64_t end, byoc_arena_t *arena) {
  byoc_loop_stmt_t *window = byoc_arena_copy(arena, loop, sizeof(*loop));
  byoc_loop_expr_t *first = byoc_arena_copy(arena, loop->loop.begin, sizeof(*loop->loop.begin));
  byoc_loop_expr_t *last = byoc_arena_copy(arena, loop->loop.end, sizeof(*loop->loop.end));
  if (window == NULL || first == NULL || last == NULL) return NULL;
  first->number.i = begin;
  last->number.i = end;
  window->loop.begin = first;
  window->loop.end = last;
  return window;
}

const byoc_loop_kernel_t *byoc_kernel_take_windows(const byoc_loop_kernel_t *kernel, const byoc_function_t *function,
                                                   byoc_arena_t *arena) {
  int64_t begin = 0, end = 0;
  const double whole_ns = byoc_interpreting_ns(function);
  const byoc_loop_stmt_t *loop = whole_ns > WHOLE_NS ? find_loop(kernel, &begin, &end) : NULL;
  if (loop == NULL) return NULL;
  const int64_t affordable = (int64_t)((double)(end - begin) * (WHOLE_NS / whole_ns));
  const size_t windows = affordable >= WINDOWS_AT_MOST ? WINDOWS_AT_MOST : WINDOWS_AT_LEAST;
  const int64_t width = affordable / (int64_t)windows > 1 ? affordable / (int64_t)windows : 1;
  const int64_t firsts[WINDOWS_AT_MOST] = {begin, end - width, begin + (end - begin) / 2};
  const size_t count = kernel->body->block.statements.count;
  byoc_loop_kernel_t *partition = byoc_arena_copy(arena, kernel, sizeof(*kernel));
  byoc_loop_stmt_t *body = byoc_arena_copy(arena, kernel->body, sizeof(*kernel->body));
  byoc_loop_stmt_t **statements = BYOC_ARENA_ARRAY(arena, byoc_loop_stmt_t *, count + windows);
  if (partition == NULL || body == NULL || statements == NULL) return NULL;
  for (size_t i = 0; i + 1 < count; ++i) statements[i] = kernel->body->block.statements.data[i];
  for (size_t w = 0; w < windows; ++w) {
    const int64_t last = firsts[w] + width < end ? firsts[w] + width : end;
    statements[count - 1 + w] = take_window(loop, firsts[w], last, arena);
    if (statements[count - 1 + w] == NULL) return NULL;
  }
  body->block.statements.data = statements;
  body->block.statements.count = count - 1 + windows;
  partition->body = body;
  return partition;
}
