// SPDX-License-Identifier: Apache-2.0
// Keeps the dimensions that are known to be equal, and the values that have the shape of their type, for the verifier
// of host programs.
#include <string.h>

#include "core/hostir/verify/verify_internal.h"

// ---- equal dimensions ----

// Replaces symbols by the other sides of their `known` equations.
static bool read_symbol(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  const byoc_host_verifier_t *v = self;
  for (size_t k = 0; k < v->equations.count && !byoc_dim_is_unknown(leaf); ++k) {
    if (strcmp(v->equations.data[k].symbol, leaf.expr->symbol) != 0) continue;
    *out_dim = v->equations.data[k].value;
    return true;
  }
  return false;
}

// An equation's value may hold the symbol of a later one, so a few rounds are needed.
static byoc_dim_t reduce(byoc_host_verifier_t *v, byoc_dim_t dim, bool *failed) {
  for (int round = 0; round < 8; ++round) {
    const byoc_dim_t next = byoc_dim_replace(dim, read_symbol, v, &v->arena, failed);
    if (*failed || byoc_dim_equal(next, dim)) return next;
    dim = next;
  }
  return dim;
}

typedef struct solve_t {
  byoc_host_verifier_t *v;
  byoc_dim_t zero;    // left - right
  const char *symbol; // the symbol that it is solved for
  byoc_dim_t value;
  bool failed;
} solve_t;

static bool is_symbol(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  *out_dim = byoc_dim_constant(0);
  return !byoc_dim_is_unknown(leaf) && strcmp(leaf.expr->symbol, self) == 0;
}

// Stops at the first symbol that occurs once and alone, as in N = 2 * M or u0 = M + P - u1.
static bool is_no_solution(void *self, byoc_dim_t leaf) {
  solve_t *s = self;
  byoc_arena_t *arena = &s->v->arena;
  if (byoc_dim_is_unknown(leaf)) return true;
  const char *symbol = leaf.expr->symbol;
  const byoc_dim_t rest = byoc_dim_replace(s->zero, is_symbol, (void *)(uintptr_t)symbol, arena, &s->failed);
  const byoc_dim_t minus_rest = byoc_dim_binary(arena, BYOC_DIM_SUB, byoc_dim_constant(0), rest, &s->failed);
  const byoc_dim_t plus = byoc_dim_binary(arena, BYOC_DIM_ADD, rest, leaf, &s->failed);
  const byoc_dim_t minus = byoc_dim_binary(arena, BYOC_DIM_SUB, rest, leaf, &s->failed);
  if (s->failed) return false;
  const bool is_plus = byoc_dim_equal(plus, s->zero);
  if (!is_plus && !byoc_dim_equal(minus, s->zero)) return true;
  s->symbol = symbol;
  s->value = is_plus ? minus_rest : rest;
  return false;
}

byoc_status_t byoc_host_verify_learn(byoc_host_verifier_t *v, byoc_dim_t left, byoc_dim_t right) {
  solve_t s = {.v = v};
  s.zero = byoc_dim_binary(&v->arena, BYOC_DIM_SUB, left, right, &s.failed);
  s.zero = reduce(v, s.zero, &s.failed);
  if (!s.failed) (void)byoc_dim_walk(s.zero, is_no_solution, &s);
  if (s.failed) return byoc_diag_out_of_memory(v->diag);
  if (s.symbol == NULL) return BYOC_OK; // too hard, or nothing new
  const byoc_host_equation_t equation = {s.symbol, s.value};
  if (byoc_vector_push(&v->equations, byoc_arena_allocator(&v->arena), equation)) return BYOC_OK;
  return byoc_diag_out_of_memory(v->diag);
}

bool byoc_host_verify_same_dim(byoc_host_verifier_t *v, byoc_dim_t a, byoc_dim_t b) {
  bool failed = false;
  if (byoc_dim_equal(a, b)) return true;
  if (byoc_dim_is_constant(a) && byoc_dim_is_constant(b)) return false;
  a = reduce(v, a, &failed);
  b = reduce(v, b, &failed);
  return !failed && byoc_dim_equal(a, b);
}

byoc_dim_t byoc_host_verify_count(byoc_host_verifier_t *v, const byoc_dim_t *dims, int32_t rank) {
  bool failed = false;
  byoc_dim_t count = byoc_dim_constant(1);
  for (int32_t d = 0; d < rank; ++d) count = byoc_dim_binary(&v->arena, BYOC_DIM_MUL, count, dims[d], &failed);
  return failed ? byoc_dim_constant(-1) : count;
}

bool byoc_host_verify_same_count(byoc_host_verifier_t *v, const byoc_dim_t *a, int32_t a_rank, const byoc_dim_t *b,
                                 int32_t b_rank) {
  bool same = a_rank == b_rank;
  for (int32_t d = 0; d < a_rank && same; ++d) same = byoc_host_verify_same_dim(v, a[d], b[d]);
  return same ||
         byoc_host_verify_same_dim(v, byoc_host_verify_count(v, a, a_rank), byoc_host_verify_count(v, b, b_rank));
}

// ---- values of the declared shape ----

#define KIND (UINT32_C(1) << 31) // a tensor of this element type and rank; the bits from 0 on stand for dimensions

static uint32_t all_of(const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type)) return 0;
  return type->rank == BYOC_RANK_UNKNOWN ? KIND : KIND | ((UINT32_C(1) << type->rank) - 1);
}

uint32_t byoc_host_verify_imported(const byoc_host_buffer_t *buffer) {
  const byoc_type_t *type = buffer->type;
  if (buffer->kind != BYOC_HOST_BUFFER_INPUT) return all_of(type); // a constant
  uint32_t known = byoc_type_is_tensor(type) ? KIND : 0;
  for (int32_t d = 0; d < type->rank && known != 0; ++d) {
    if (byoc_dim_is_constant(type->dims[d])) known |= UINT32_C(1) << d;
  }
  return known;
}

uint32_t byoc_host_verify_matched(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_type_t *type = i->operands.data[0]->type;
  uint32_t known = KIND;
  for (uint32_t k = 0; k < i->match_count; ++k) {
    const byoc_host_match_t *rule = &i->matches[k];
    if (byoc_host_verify_same_dim(v, rule->dim, type->dims[rule->axis])) known |= UINT32_C(1) << rule->axis;
  }
  return known;
}

uint32_t byoc_host_verify_passed(const byoc_host_verifier_t *v, const byoc_host_buffer_t *from,
                                 const byoc_host_buffer_t *to) {
  return byoc_type_equal(from->type, to->type) ? v->lives[from->index].known & all_of(from->type) : 0;
}

uint32_t byoc_host_verify_shared(const byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  const uint32_t known = v->lives[from->index].known;
  if (byoc_type_equal(from->type, to->type)) return byoc_host_verify_passed(v, from, to);
  bool is_known = byoc_type_is_tensor(from->type) && byoc_type_is_tensor(to->type) &&
                  byoc_host_same_bits(from->type, to->type) && (known & KIND) != 0;
  return is_known ? all_of(to->type) : 0; // the program compares the numbers of elements
}

byoc_status_t byoc_host_verify_known(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, bool only_kind) {
  if (!byoc_host_buffer_in_cell(buffer)) return BYOC_OK;
  const uint32_t known = v->lives[buffer->index].known, wanted = only_kind ? KIND : all_of(buffer->type) | KIND;
  if ((known & wanted) == wanted) return BYOC_OK;
  return byoc_host_verify_refuse(v, "the value '%s' is used before a match checks its %s", buffer->name,
                                 (known & KIND) != 0 ? "shape" : "type");
}

typedef struct forget_t {
  const char *symbol;
} forget_t;

static bool is_other(void *self, byoc_dim_t leaf) {
  const forget_t *forget = self;
  return byoc_dim_is_unknown(leaf) || strcmp(leaf.expr->symbol, forget->symbol) != 0;
}

byoc_status_t byoc_host_verify_forget(byoc_host_verifier_t *v, uint32_t symbol) {
  forget_t forget = {.symbol = v->program->symbols.data[symbol]};
  for (size_t k = 0; k < v->program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = v->program->buffers.data[k];
    if (!byoc_host_buffer_in_cell(buffer) || (v->lives[k].known & ~KIND) == 0) continue;
    uint32_t known = v->lives[k].known;
    for (int32_t d = 0; d < buffer->type->rank; ++d) {
      if (!byoc_dim_walk(buffer->type->dims[d], is_other, &forget)) known &= ~(UINT32_C(1) << d);
    }
    if (known != v->lives[k].known) BYOC_RETURN_IF_ERROR(byoc_host_verify_set_known(v, buffer, known));
  }
  return BYOC_OK;
}
