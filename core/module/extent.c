// SPDX-License-Identifier: Apache-2.0
// Reads and prints extents: expressions over the dimensions of a function's operands and results.
#include "core/module/extent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct reader_t {
  const char *text, *at;
  const byoc_function_t *function;
  byoc_arena_t *arena;
  byoc_diag_t *diag;
  int depth;
  bool failed; // out of memory
} reader_t;

static byoc_status_t read_sum(reader_t *reader, byoc_dim_t *out);

static byoc_status_t refuse(reader_t *reader, const char *what) {
  return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "the extent '%.128s': %s at character %zu", reader->text,
                         what, (size_t)(reader->at - reader->text) + 1);
}

static bool accept(reader_t *reader, char c) {
  while (*reader->at == ' ') ++reader->at;
  if (*reader->at != c) return false;
  ++reader->at;
  return true;
}

// Is the word at this position? A letter or digit after it makes it another one.
static bool accept_word(reader_t *reader, const char *word) {
  const size_t size = strlen(word);
  if (strncmp(reader->at, word, size) != 0 || isalnum((unsigned char)reader->at[size])) return false;
  reader->at += size;
  return true;
}

static bool read_number(reader_t *reader, int64_t *out) {
  int64_t value = 0;
  if (!isdigit((unsigned char)*reader->at)) return false;
  for (; isdigit((unsigned char)*reader->at); ++reader->at) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *reader->at - '0', &value)) {
      return false;
    }
  }
  *out = value;
  return true;
}

// The value of p0 or r0; NULL if there is none.
static const byoc_value_t *find_value(const byoc_function_t *function, char kind, int64_t index) {
  const byoc_block_t *body = function->body;
  if (kind == 'p') return (uint64_t)index < body->parameters.count ? body->parameters.data[index] : NULL;
  return (uint64_t)index < body->results.count ? body->results.data[index] : NULL;
}

// p0.1 or r0.2
static byoc_status_t read_dimension(reader_t *reader, byoc_dim_t *out) {
  const char *start = reader->at++;
  int64_t index = 0, axis = 0;
  if (!read_number(reader, &index) || *reader->at != '.') return refuse(reader, "a dimension is written p0.1 or r0.1");
  ++reader->at;
  if (!read_number(reader, &axis)) return refuse(reader, "a dimension is written p0.1 or r0.1");
  const byoc_value_t *value = find_value(reader->function, *start, index);
  const char *what = *start == 'p' ? "operand" : "result";
  if (value == NULL) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "the extent '%.128s': there is no %s %lld",
                           reader->text, what, (long long)index);
  }
  if (!byoc_type_is_tensor(value->type) || axis >= value->type->rank) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "the extent '%.128s': %s %lld has no axis %lld",
                           reader->text, what, (long long)index, (long long)axis);
  }
  char symbol[64];
  snprintf(symbol, sizeof(symbol), "%c%lld.%lld", *start, (long long)index, (long long)axis);
  *out = byoc_dim_symbol(reader->arena, symbol, &reader->failed);
  return BYOC_OK;
}

// min(a, b); the word is read.
static byoc_status_t read_function(reader_t *reader, byoc_dim_kind_t kind, byoc_dim_t *out) {
  byoc_dim_t left, right;
  if (!accept(reader, '(')) return refuse(reader, "'(' is missing");
  BYOC_RETURN_IF_ERROR(read_sum(reader, &left));
  if (!accept(reader, ',')) return refuse(reader, "',' is missing");
  BYOC_RETURN_IF_ERROR(read_sum(reader, &right));
  if (!accept(reader, ')')) return refuse(reader, "')' is missing");
  if (kind == BYOC_DIM_CEILDIV && byoc_dim_is_constant(right) && right.constant <= 0) {
    return refuse(reader, "a divisor that is not positive");
  }
  *out = byoc_dim_binary(reader->arena, kind, left, right, &reader->failed);
  return BYOC_OK;
}

static byoc_status_t read_factor(reader_t *reader, byoc_dim_t *out) {
  int64_t number = 0;
  *out = byoc_dim_constant(0);
  if (accept(reader, '(')) {
    BYOC_RETURN_IF_ERROR(read_sum(reader, out));
    return accept(reader, ')') ? BYOC_OK : refuse(reader, "')' is missing");
  }
  if (accept_word(reader, "min")) return read_function(reader, BYOC_DIM_MIN, out);
  if (accept_word(reader, "max")) return read_function(reader, BYOC_DIM_MAX, out);
  if (accept_word(reader, "ceildiv")) return read_function(reader, BYOC_DIM_CEILDIV, out);
  if (accept_word(reader, "broadcast")) return read_function(reader, BYOC_DIM_BROADCAST, out);
  if (*reader->at == 'p' || *reader->at == 'r') return read_dimension(reader, out);
  if (!read_number(reader, &number)) {
    return refuse(reader, "an integer, a dimension, min, max, ceildiv, broadcast or '(' is missing");
  }
  *out = byoc_dim_constant(number);
  return BYOC_OK;
}

static byoc_status_t read_product(reader_t *reader, byoc_dim_t *out) {
  BYOC_RETURN_IF_ERROR(read_factor(reader, out));
  for (;;) {
    byoc_dim_kind_t kind = BYOC_DIM_MUL;
    byoc_dim_t right;
    if (accept(reader, '/')) {
      kind = BYOC_DIM_FLOORDIV;
    } else if (accept(reader, '%')) {
      kind = BYOC_DIM_MOD;
    } else if (!accept(reader, '*')) {
      return BYOC_OK;
    }
    BYOC_RETURN_IF_ERROR(read_factor(reader, &right));
    if (kind != BYOC_DIM_MUL && byoc_dim_is_constant(right) && right.constant <= 0) {
      return refuse(reader, "a divisor that is not positive");
    }
    *out = byoc_dim_binary(reader->arena, kind, *out, right, &reader->failed);
  }
}

static byoc_status_t read_sum(reader_t *reader, byoc_dim_t *out) {
  if (reader->depth == MAX_DEPTH) return refuse(reader, "too many parentheses");
  ++reader->depth;
  BYOC_RETURN_IF_ERROR(read_product(reader, out));
  for (;;) {
    byoc_dim_kind_t kind = BYOC_DIM_ADD;
    byoc_dim_t right;
    if (accept(reader, '-')) {
      kind = BYOC_DIM_SUB;
    } else if (!accept(reader, '+')) {
      --reader->depth;
      return BYOC_OK;
    }
    BYOC_RETURN_IF_ERROR(read_product(reader, &right));
    *out = byoc_dim_binary(reader->arena, kind, *out, right, &reader->failed);
  }
}

static bool is_symbol(void *self, byoc_dim_t leaf) {
  (void)self;
  return !byoc_dim_is_unknown(leaf);
}

byoc_status_t byoc_extent_parse(const char *text, const byoc_function_t *function, byoc_arena_t *arena,
                                byoc_diag_t *diag, byoc_dim_t *out_extent) {
  reader_t reader = {.text = text, .at = text, .function = function, .arena = arena, .diag = diag};
  *out_extent = byoc_dim_constant(0);
  BYOC_RETURN_IF_ERROR(read_sum(&reader, out_extent));
  if (reader.failed) return byoc_diag_out_of_memory(diag);
  if (!accept(&reader, '\0')) return refuse(&reader, "an operator is missing");
  // An expression beyond BYOC_DIM_MAX_SIZE has become an unknown.
  if (!byoc_dim_walk(*out_extent, is_symbol, NULL)) return refuse(&reader, "the expression is too long");
  return BYOC_OK;
}

// ---- printing ----

enum { MAX_PRINTED_BYTES = 1024, MAX_PRINTED_DEPTH = 24 }; // so that callers can combine several of them

// p0.1 or r0.1, if one of these values has the dimension.
static bool print_dimension(byoc_dim_t dim, char kind, byoc_value_t *const *values, size_t count, byoc_string_t *out) {
  for (size_t i = 0; i < count; ++i) {
    const byoc_type_t *type = values[i]->type;
    if (!byoc_type_is_tensor(type)) continue;
    for (int32_t axis = 0; axis < type->rank; ++axis) {
      if (!byoc_dim_equal(type->dims[axis], dim)) continue;
      byoc_string_appendf(out, "%c%zu.%d", kind, i, (int)axis);
      return true;
    }
  }
  return false;
}

static bool print(byoc_dim_t dim, const byoc_function_t *function, int depth, byoc_string_t *out) {
  static const struct {
    const char *before, *between;
  } forms[] = {
      [BYOC_DIM_ADD] = {"(", " + "},      [BYOC_DIM_SUB] = {"(", " - "},   [BYOC_DIM_MUL] = {"(", " * "},
      [BYOC_DIM_FLOORDIV] = {"(", " / "}, [BYOC_DIM_MOD] = {"(", " % "},   [BYOC_DIM_CEILDIV] = {"ceildiv(", ", "},
      [BYOC_DIM_MIN] = {"min(", ", "},    [BYOC_DIM_MAX] = {"max(", ", "}, [BYOC_DIM_BROADCAST] = {"broadcast(", ", "},
  };
  if (depth == MAX_PRINTED_DEPTH || out->size > MAX_PRINTED_BYTES) return false;
  if (byoc_dim_is_constant(dim)) {
    byoc_string_appendf(out, dim.constant < 0 ? "(0 - %lld)" : "%lld", llabs((long long)dim.constant));
    return true;
  }
  const byoc_block_t *body = function->body;
  if (print_dimension(dim, 'p', body->parameters.data, body->parameters.count, out)) return true;
  if (print_dimension(dim, 'r', body->results.data, body->results.count, out)) return true;
  if (byoc_dim_is_leaf(dim)) return false;
  byoc_string_append(out, forms[dim.expr->kind].before);
  if (!print(dim.expr->left, function, depth + 1, out)) return false;
  byoc_string_append(out, forms[dim.expr->kind].between);
  if (!print(dim.expr->right, function, depth + 1, out)) return false;
  byoc_string_append(out, ")");
  return true;
}

bool byoc_extent_print(byoc_dim_t dim, const byoc_function_t *function, byoc_string_t *out) {
  return print(dim, function, 0, out);
}

byoc_dim_t byoc_extent_dimension(const char *symbol, const byoc_node_t *call) {
  char *end = NULL;
  const unsigned long index = strtoul(symbol + 1, &end, 10);
  const unsigned long axis = strtoul(end + 1, NULL, 10);
  const byoc_value_t *value = symbol[0] == 'p' ? call->operands[index] : call->results[index];
  return value->type->dims[axis];
}
