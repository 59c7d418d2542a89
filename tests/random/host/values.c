// SPDX-License-Identifier: Apache-2.0
// Makes inputs of host programs, and compares outputs.
#include "tests/random/host/values.h"

#include <stdlib.h>
#include <string.h>

static void *get(size_t size_bytes) {
  void *memory = malloc(size_bytes > 0 ? size_bytes : 1);
  if (memory == NULL) exit(2);
  return memory;
}

void *make_elements(byoc_dtype_t dtype, uint64_t size_bytes, byoc_test_random_t *random) {
  static const char *const texts[] = {"", "a", "Zoë", "1.5", "a b c"};
  uint8_t *bytes = get((size_t)size_bytes);
  const size_t step = byoc_dtype_bits(dtype) >= 8 ? byoc_dtype_bits(dtype) / 8 : 1;
  for (size_t at = 0; at + step <= size_bytes; at += step) {
    const uint64_t pick = byoc_test_below(random, 6);
    const int64_t integer = pick < 5 ? (int64_t)pick : -1;
    const float real = (float)pick - 2.0f;
    const double twice = (double)real;
    memset(bytes + at, 0, step);
    if (dtype == BYOC_DTYPE_STRING)
      memcpy(bytes + at, &texts[pick % 5], sizeof(texts[0]));
    else if (dtype == BYOC_DTYPE_F32)
      memcpy(bytes + at, &real, sizeof(real));
    else if (dtype == BYOC_DTYPE_F64)
      memcpy(bytes + at, &twice, sizeof(twice));
    else if (dtype == BYOC_DTYPE_I64)
      memcpy(bytes + at, &integer, sizeof(integer));
    else if (dtype == BYOC_DTYPE_BOOL)
      bytes[at] = pick & 1;
    else
      bytes[at] = (uint8_t)pick;
  }
  return bytes;
}

// ---- arguments ----

typedef struct symbols_t {
  byoc_arena_t arena;
  uint64_t seed;
} symbols_t;

// The value of a symbol follows from its name.
static bool value_of_leaf(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  const symbols_t *symbols = self;
  *out_dim = byoc_dim_constant((int64_t)(byoc_dim_hash(leaf, symbols->seed) % 5));
  return true;
}

static int64_t value_of(symbols_t *symbols, byoc_dim_t dim) {
  bool failed = false;
  const byoc_dim_t value = byoc_dim_replace(dim, value_of_leaf, symbols, &symbols->arena, &failed);
  if (failed || !byoc_dim_is_constant(value) || value.constant < 0) return 0;
  return value.constant < 64 ? value.constant : 64;
}

static void fill_argument(symbols_t *symbols, const byoc_type_t *type, byoc_test_random_t *random,
                          byoc_argument_t *out) {
  *out = (byoc_argument_t){.kind = BYOC_ARGUMENT_TENSOR, .dtype = type->dtype, .rank = 1};
  if (type->element != NULL) {
    bool is_sequence = type->kind == BYOC_TYPE_SEQUENCE;
    out->kind = is_sequence ? BYOC_ARGUMENT_SEQUENCE : BYOC_ARGUMENT_OPTIONAL;
    out->count = byoc_test_below(random, is_sequence ? 4 : 2);
    out->items = get(out->count * sizeof(*out->items));
    for (uint64_t k = 0; k < out->count; ++k) fill_argument(symbols, type->element, random, &out->items[k]);
    return;
  }
  const bool is_known = byoc_type_is_tensor(type) && type->rank != BYOC_RANK_UNKNOWN;
  if (is_known) out->rank = (uint32_t)type->rank;
  int64_t *dims = get(out->rank * sizeof(*dims));
  for (uint32_t d = 0; d < out->rank; ++d) dims[d] = is_known ? value_of(symbols, type->dims[d]) : 3;
  out->dims = dims;
  out->data = make_elements(type->dtype, argument_size_bytes(out), random);
}

byoc_argument_t *make_arguments(const byoc_host_program_t *program, byoc_test_random_t *random) {
  byoc_argument_t *arguments = get(program->inputs.count * sizeof(*arguments));
  symbols_t symbols = {.seed = byoc_test_next(random)};
  byoc_arena_init(&symbols.arena, byoc_allocator_system());
  for (size_t k = 0; k < program->inputs.count; ++k) {
    fill_argument(&symbols, program->inputs.data[k]->type, random, &arguments[k]);
  }
  byoc_arena_deinit(&symbols.arena);
  return arguments;
}

static void free_contents(byoc_argument_t *argument) {
  for (uint64_t k = 0; k < argument->count; ++k) free_contents(&argument->items[k]);
  free(argument->items);
  free((void *)(uintptr_t)argument->dims);
  free(argument->data);
}

void free_arguments(byoc_argument_t *arguments, size_t count) {
  for (size_t k = 0; k < count; ++k) free_contents(&arguments[k]);
  free(arguments);
}

uint64_t argument_size_bytes(const byoc_argument_t *argument) {
  uint64_t bits = byoc_dtype_bits((byoc_dtype_t)argument->dtype);
  for (uint32_t d = 0; d < argument->rank; ++d) bits *= (uint64_t)argument->dims[d];
  return (bits + 7) / 8;
}

// ---- comparing ----

bool same_elements(byoc_dtype_t dtype, uint64_t size_bytes, const void *a, const void *b) {
  if (dtype != BYOC_DTYPE_STRING) return size_bytes == 0 || memcmp(a, b, (size_t)size_bytes) == 0;
  const char *const *x = a, *const *y = b;
  for (uint64_t k = 0; k < size_bytes / sizeof(char *); ++k) {
    if (strcmp(x[k] != NULL ? x[k] : "", y[k] != NULL ? y[k] : "") != 0) return false;
  }
  return true;
}

bool same_arguments(const byoc_argument_t *a, const byoc_argument_t *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->count != b->count) return false;
  for (uint64_t k = 0; k < a->count; ++k) {
    if (!same_arguments(&a->items[k], &b->items[k])) return false;
  }
  if (a->kind != BYOC_ARGUMENT_TENSOR) return true;
  if (a->rank > 0 && memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) != 0) return false;
  return same_elements((byoc_dtype_t)a->dtype, argument_size_bytes(a), a->data, b->data);
}
