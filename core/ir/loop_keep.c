// SPDX-License-Identifier: Apache-2.0
// Finds the copies by which a kernel keeps elements of an operand.
#include "core/ir/loop_keep.h"

#include "core/ir/loop_range.h"

typedef struct keep_t {
  const byoc_loop_buffer_t *input, *output;
  int64_t iterations;                        // of all loops around the statement; -1: not known
  int64_t copied, stored;                    // elements of the result: by copies, by all stores; -1: not known
  bool has_copies, has_updates, has_effects; // effects: writes to anything but the result
  bool other_loads;                          // the operand is read for something else
  bool copies_late;                          // a copy comes after, or in the same loop as, other writes
} keep_t;

static bool is_copy(const keep_t *keep, const byoc_loop_stmt_t *store) {
  const byoc_loop_expr_t *value = store->store.value;
  return store->store.buffer == keep->output && value->kind == BYOC_LOOP_LOAD && value->load.buffer == keep->input &&
         byoc_loop_expr_equal(value->load.index, store->store.index);
}

static bool loads(const byoc_loop_expr_t *expr, const byoc_loop_buffer_t *buffer) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return expr->load.buffer == buffer || loads(expr->load.index, buffer);
  case BYOC_LOOP_OP:
    for (uint32_t i = 0; i < byoc_loop_op_operand_count(expr->op.op); ++i) {
      if (loads(expr->op.operands[i], buffer)) return true;
    }
    return false;
  case BYOC_LOOP_SELECT:
    return loads(expr->select.condition, buffer) || loads(expr->select.yes, buffer) || loads(expr->select.no, buffer);
  case BYOC_LOOP_CAST:
    return loads(expr->cast, buffer);
  default:
    return false;
  }
}

static void see(keep_t *keep, const byoc_loop_expr_t *expr) {
  keep->other_loads = keep->other_loads || loads(expr, keep->input);
}

static void add(int64_t *sum, int64_t count) {
  if (*sum < 0 || count < 0 || __builtin_add_overflow(*sum, count, sum)) *sum = -1;
}

static void see_store(keep_t *keep, const byoc_loop_stmt_t *stmt) {
  see(keep, stmt->store.index);
  if (stmt->store.buffer != keep->output) {
    keep->has_effects = true;
    see(keep, stmt->store.value);
    return;
  }
  add(&keep->stored, keep->iterations);
  if (is_copy(keep, stmt)) {
    add(&keep->copied, keep->iterations);
    see(keep, stmt->store.value->load.index);
    keep->has_copies = true;
    return;
  }
  see(keep, stmt->store.value);
  keep->has_updates = true;
}

static int64_t times(int64_t iterations, const byoc_loop_stmt_t *loop) {
  int64_t begin = 0, end = 0, product = 0;
  const bool is_known = byoc_loop_is_int(loop->loop.begin, &begin) && byoc_loop_is_int(loop->loop.end, &end);
  if (!is_known || iterations < 0 || end < begin) return -1;
  return __builtin_mul_overflow(iterations, end - begin, &product) ? -1 : product;
}

static void walk(keep_t *keep, const byoc_loop_stmt_t *stmt) {
  const int64_t iterations = keep->iterations;
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) walk(keep, stmt->block.statements.data[i]);
    return;
  case BYOC_LOOP_FOR:
    see(keep, stmt->loop.begin);
    see(keep, stmt->loop.end);
    keep->iterations = times(iterations, stmt);
    walk(keep, stmt->loop.body);
    break;
  case BYOC_LOOP_WHILE:
    see(keep, stmt->loop_while.condition);
    keep->iterations = -1;
    walk(keep, stmt->loop_while.body);
    break;
  case BYOC_LOOP_IF:
    see(keep, stmt->branch.condition);
    keep->iterations = -1;
    walk(keep, stmt->branch.yes);
    if (stmt->branch.no != NULL) walk(keep, stmt->branch.no);
    break;
  case BYOC_LOOP_STORE:
    see_store(keep, stmt);
    return;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
    see(keep, stmt->assign.value);
    keep->has_effects = keep->has_effects || stmt->kind == BYOC_LOOP_ASSIGN;
    return;
  default:
    return;
  }
  keep->iterations = iterations;
}

// The shapes may differ: an operand may be the beginning of the result's bytes.
static bool have_like_elements(const byoc_loop_buffer_t *a, const byoc_loop_buffer_t *b) {
  return a->dtype == b->dtype && byoc_dtype_bits(a->dtype) % 8 == 0;
}

static keep_t start(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output) {
  return (keep_t){.input = kernel->parameters.data[input],
                  .output = kernel->parameters.data[kernel->input_count + output],
                  .iterations = 1};
}

static int64_t count_elements(const byoc_loop_buffer_t *buffer) {
  int64_t count = 1;
  for (int32_t d = 0; d < buffer->rank; ++d) {
    if (!byoc_dim_is_constant(buffer->dims[d])) return -1;
    count *= buffer->dims[d].constant;
  }
  return count;
}

static bool survey(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output, keep_t *out_keep) {
  keep_t keep = start(kernel, input, output);
  if (!have_like_elements(keep.input, keep.output)) return false;
  for (size_t i = 0; i < kernel->body->block.statements.count; ++i) {
    const bool had_updates = keep.has_updates;
    keep_t here = keep;
    here.has_copies = here.has_updates = false;
    walk(&here, kernel->body->block.statements.data[i]);
    here.copies_late = here.copies_late || (here.has_copies && (had_updates || here.has_updates));
    here.has_copies = here.has_copies || keep.has_copies;
    here.has_updates = here.has_updates || had_updates;
    keep = here;
  }
  *out_keep = keep;
  return keep.has_copies && !keep.other_loads;
}

bool byoc_loop_keeps(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output) {
  keep_t keep;
  if (!survey(kernel, input, output, &keep)) return false;
  // A late copy would restore an element that was written before. But if there are as many stores as elements, each
  // element is written once.
  return !keep.copies_late || (keep.stored >= 0 && keep.stored == count_elements(keep.output));
}

bool byoc_loop_is_kept_copy(const byoc_loop_kernel_t *kernel, const byoc_loop_stmt_t *stmt, uint32_t input,
                            uint32_t output) {
  keep_t keep = start(kernel, input, output);
  if (stmt->kind != BYOC_LOOP_FOR && stmt->kind != BYOC_LOOP_BLOCK && stmt->kind != BYOC_LOOP_STORE) return false;
  walk(&keep, stmt);
  return keep.has_copies && !keep.has_updates && !keep.has_effects && !keep.other_loads;
}

int64_t byoc_loop_kept_count(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output) {
  keep_t keep;
  return survey(kernel, input, output, &keep) ? keep.copied : 0;
}
