// SPDX-License-Identifier: Apache-2.0
// Tells kernels whose indices follow from their signatures from those whose indices depend on data.
#include <string.h>

#include "core/kernel/interpret.h"
#include "tests/random/host/host.h"

static bool expr_is_closed(const byoc_loop_expr_t *e, bool is_index);

static bool pair_is_closed(const byoc_loop_expr_t *a, const byoc_loop_expr_t *b, bool is_index) {
  return expr_is_closed(a, is_index) && expr_is_closed(b, is_index);
}

// An index, or a bound of a loop, must not load anything.
static bool expr_is_closed(const byoc_loop_expr_t *e, bool is_index) {
  if (e == NULL) return true;
  switch (e->kind) {
  case BYOC_LOOP_LOAD:
    return !is_index && expr_is_closed(e->load.index, true);
  case BYOC_LOOP_VARIABLE:
    return !is_index || !e->variable->is_mutable;
  case BYOC_LOOP_OP:
    return pair_is_closed(e->op.operands[0], byoc_loop_op_operand_count(e->op.op) > 1 ? e->op.operands[1] : NULL,
                          is_index);
  case BYOC_LOOP_SELECT:
    return pair_is_closed(e->select.yes, e->select.no, is_index) && expr_is_closed(e->select.condition, is_index);
  case BYOC_LOOP_CAST:
    return expr_is_closed(e->cast, is_index);
  default:
    return true;
  }
}

static bool stmt_is_closed(const byoc_loop_stmt_t *s) {
  if (s == NULL) return true;
  switch (s->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t k = 0; k < s->block.statements.count; ++k) {
      if (!stmt_is_closed(s->block.statements.data[k])) return false;
    }
    return true;
  case BYOC_LOOP_FOR:
    return pair_is_closed(s->loop.begin, s->loop.end, true) && stmt_is_closed(s->loop.body);
  case BYOC_LOOP_WHILE:
    return false;
  case BYOC_LOOP_IF:
    return expr_is_closed(s->branch.condition, true) && stmt_is_closed(s->branch.yes) && stmt_is_closed(s->branch.no);
  case BYOC_LOOP_LET: // may become part of an index
    return expr_is_closed(s->assign.value, s->assign.variable->dtype == BYOC_DTYPE_I64);
  case BYOC_LOOP_ASSIGN:
    return expr_is_closed(s->assign.value, false);
  case BYOC_LOOP_STORE:
    return expr_is_closed(s->store.index, true) && expr_is_closed(s->store.value, false);
  default:
    return true;
  }
}

// ---- trying it ----

typedef struct trial_t {
  const byoc_loop_kernel_t *kernel;
  byoc_arena_t arena;
  int64_t symbols[BYOC_MAX_RANK];
} trial_t;

static bool value_of_symbol(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  const trial_t *trial = self;
  for (size_t k = 0; k < trial->kernel->symbols.count; ++k) {
    if (strcmp(trial->kernel->symbols.data[k], leaf.expr->symbol) != 0) continue;
    *out_dim = byoc_dim_constant(trial->symbols[k]);
    return true;
  }
  return false;
}

static bool fill_tensor(trial_t *trial, const byoc_loop_buffer_t *parameter, DLTensor *out) {
  bool failed = false;
  int64_t *shape = BYOC_ARENA_ARRAY(&trial->arena, int64_t, (size_t)parameter->rank);
  int64_t count = 1;
  for (int32_t d = 0; d < parameter->rank; ++d) {
    shape[d] = byoc_dim_replace(parameter->dims[d], value_of_symbol, trial, &trial->arena, &failed).constant;
    if (shape[d] < 0) return false;
    count *= shape[d];
  }
  const size_t size = (size_t)(count * byoc_dtype_bits(parameter->dtype) + 7) / 8;
  *out = (DLTensor){.data = BYOC_ARENA_ARRAY(&trial->arena, char, size + 1), .ndim = parameter->rank, .shape = shape};
  return !failed;
}

// Runs the kernel alone, with symbols of any values. If an index is outside then, the kernel counts on a relation
// between its symbols, which the program has to require.
static bool runs_alone(const byoc_loop_kernel_t *kernel, byoc_test_random_t *random) {
  byoc_diag_t diag = {0};
  trial_t trial = {.kernel = kernel};
  byoc_interpreter_t *interpreter = NULL;
  byoc_arena_init(&trial.arena, byoc_allocator_system());
  const size_t inputs = kernel->input_count + (kernel->symbols.count > 0);
  DLTensor *tensors = BYOC_ARENA_ARRAY(&trial.arena, DLTensor, inputs + kernel->output_count);
  for (size_t k = 0; k < kernel->symbols.count; ++k) trial.symbols[k] = (int64_t)byoc_test_below(random, 5);
  bool is_shaped = true;
  for (size_t k = 0; k < kernel->parameters.count && is_shaped; ++k) {
    is_shaped = fill_tensor(&trial, kernel->parameters.data[k], &tensors[byoc_loop_tensor_index(kernel, (uint32_t)k)]);
  }
  if (kernel->symbols.count > 0) tensors[kernel->input_count].data = trial.symbols;
  const byoc_runtime_t runtime = byoc_serial_runtime(1);
  const byoc_call_t call = {.struct_size = sizeof(call),
                            .input_count = (uint32_t)inputs,
                            .output_count = kernel->output_count,
                            .tensors = tensors,
                            .runtime = &runtime};
  bool ok = true;
  if (is_shaped && byoc_interpreter_create(kernel, byoc_allocator_system(), &diag, &interpreter) == BYOC_OK) {
    ok = byoc_interpreter_run(interpreter, &call) == BYOC_OK;
  }
  byoc_interpreter_destroy(interpreter);
  byoc_arena_deinit(&trial.arena);
  return ok;
}

typedef struct leaf_t {
  const byoc_loop_kernel_t *kernel;
} leaf_t;

static bool is_listed(void *self, byoc_dim_t leaf) {
  const leaf_t *search = self;
  for (size_t k = 0; !byoc_dim_is_unknown(leaf) && k < search->kernel->symbols.count; ++k) {
    if (strcmp(search->kernel->symbols.data[k], leaf.expr->symbol) == 0) return true;
  }
  return false;
}

bool kernel_is_closed(const byoc_loop_kernel_t *kernel) {
  leaf_t search = {.kernel = kernel};
  for (size_t k = 0; k < kernel->parameters.count; ++k) {
    const byoc_loop_buffer_t *parameter = kernel->parameters.data[k];
    for (int32_t d = 0; d < parameter->rank; ++d) {
      if (!byoc_dim_walk(parameter->dims[d], is_listed, &search)) return false;
    }
  }
  if (!stmt_is_closed(kernel->body) || kernel->symbols.count > BYOC_MAX_RANK) return false;
  byoc_test_random_t random = {1};
  for (int trial = 0; trial < 50; ++trial) {
    if (!runs_alone(kernel, &random)) return false;
  }
  return true;
}
