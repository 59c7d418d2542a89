// Tells kernels whose indices follow from their signatures from those whose indices depend on data.
#include <string.h>

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
    return pair_is_closed(e->op.operands[0], byoc_loop_op_operand_count(e->op.op) > 1 ? e->op.operands[1] : NULL, is_index);
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
  return stmt_is_closed(kernel->body);
}
