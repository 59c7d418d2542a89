// SPDX-License-Identifier: Apache-2.0
// Makes types in a module's arena, compares them and prints them.
#include "core/ir/type.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/ir/dim_names.h"

static const byoc_type_t type_unknown = {.kind = BYOC_TYPE_UNKNOWN, .rank = BYOC_RANK_UNKNOWN};

const byoc_type_t *byoc_type_unknown(void) {
  return &type_unknown;
}

const byoc_type_t *byoc_type_tensor(byoc_arena_t *arena, byoc_dtype_t dtype, int32_t rank, const byoc_dim_t *dims) {
  byoc_type_t *type = BYOC_ARENA_NEW(arena, byoc_type_t);
  if (!type) return NULL;
  type->kind = BYOC_TYPE_TENSOR;
  type->dtype = dtype;
  type->rank = rank;
  if (rank <= 0) return type;
  type->dims = byoc_arena_copy(arena, dims, (size_t)rank * sizeof(*dims));
  return type->dims ? type : NULL;
}

const byoc_type_t *byoc_type_tensor_static(byoc_arena_t *arena, byoc_dtype_t dtype, int32_t rank, const int64_t *dims) {
  byoc_dim_t buffer[BYOC_MAX_RANK] = {{0}};
  if (rank > BYOC_MAX_RANK) return NULL;
  for (int32_t i = 0; i < rank; ++i) buffer[i] = byoc_dim_constant(dims[i]);
  return byoc_type_tensor(arena, dtype, rank, buffer);
}

static const byoc_type_t *type_wrapper(byoc_arena_t *arena, byoc_type_kind_t kind, const byoc_type_t *element) {
  byoc_type_t *type = element ? BYOC_ARENA_NEW(arena, byoc_type_t) : NULL;
  if (!type) return NULL;
  type->kind = kind;
  type->rank = BYOC_RANK_UNKNOWN;
  type->element = element;
  return type;
}

const byoc_type_t *byoc_type_sequence(byoc_arena_t *arena, const byoc_type_t *element) {
  return type_wrapper(arena, BYOC_TYPE_SEQUENCE, element);
}

const byoc_type_t *byoc_type_optional(byoc_arena_t *arena, const byoc_type_t *element) {
  return type_wrapper(arena, BYOC_TYPE_OPTIONAL, element);
}

const byoc_type_t *byoc_type_copy(const byoc_type_t *type, byoc_arena_t *arena) {
  switch (type->kind) {
  case BYOC_TYPE_UNKNOWN:
    return &type_unknown;
  case BYOC_TYPE_TENSOR: {
    if (type->rank <= 0) return byoc_type_tensor(arena, type->dtype, type->rank, NULL);
    byoc_dim_t *dims = BYOC_ARENA_ARRAY(arena, byoc_dim_t, (size_t)type->rank);
    byoc_type_t *copy = BYOC_ARENA_NEW(arena, byoc_type_t);
    bool failed = !dims || !copy;
    for (int32_t i = 0; i < type->rank && !failed; ++i) dims[i] = byoc_dim_copy(type->dims[i], arena, &failed);
    if (failed) return NULL;
    *copy = *type;
    copy->dims = dims;
    return copy;
  }
  default:
    return type_wrapper(arena, type->kind, byoc_type_copy(type->element, arena));
  }
}

bool byoc_type_equal(const byoc_type_t *a, const byoc_type_t *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind) return false;
  if (a->kind == BYOC_TYPE_UNKNOWN) return true;
  if (a->kind != BYOC_TYPE_TENSOR) return byoc_type_equal(a->element, b->element);
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int32_t i = 0; i < a->rank; ++i) {
    if (!byoc_dim_equal(a->dims[i], b->dims[i])) return false;
  }
  return true;
}

uint64_t byoc_type_hash(const byoc_type_t *type, uint64_t seed) {
  uint64_t hash = byoc_hash_combine(seed, (uint64_t)type->kind + 1);
  if (type->kind == BYOC_TYPE_UNKNOWN) return hash;
  if (type->kind != BYOC_TYPE_TENSOR) return byoc_type_hash(type->element, hash);
  hash = byoc_hash_combine(hash, (uint64_t)type->dtype << 32 | (uint32_t)type->rank);
  for (int32_t i = 0; i < type->rank; ++i) hash = byoc_dim_hash(type->dims[i], hash);
  return hash;
}

void byoc_type_print_named(const byoc_type_t *type, const byoc_dim_names_t *names, byoc_string_t *out) {
  switch (type->kind) {
  case BYOC_TYPE_UNKNOWN:
    byoc_string_append(out, "?");
    return;
  case BYOC_TYPE_TENSOR:
    byoc_string_append(out, byoc_dtype_name(type->dtype));
    byoc_string_append(out, type->rank == BYOC_RANK_UNKNOWN ? "[*" : "[");
    for (int32_t i = 0; i < type->rank; ++i) {
      if (i > 0) byoc_string_append(out, ",");
      byoc_dim_print_named(type->dims[i], names, out);
    }
    byoc_string_append(out, "]");
    return;
  case BYOC_TYPE_SEQUENCE:
  case BYOC_TYPE_OPTIONAL:
    byoc_string_append(out, type->kind == BYOC_TYPE_SEQUENCE ? "seq<" : "opt<");
    byoc_type_print_named(type->element, names, out);
    byoc_string_append(out, ">");
    return;
  }
}

void byoc_type_print(const byoc_type_t *type, byoc_string_t *out) {
  byoc_type_print_named(type, NULL, out);
}

bool byoc_type_is_static(const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type) || type->rank < 0) return false;
  for (int32_t i = 0; i < type->rank; ++i) {
    if (!byoc_dim_is_constant(type->dims[i])) return false;
  }
  return true;
}

static bool is_not_leaf(void *self, byoc_dim_t leaf) {
  return !byoc_dim_equal(leaf, *(const byoc_dim_t *)self);
}

bool byoc_type_has_leaf(const byoc_type_t *type, byoc_dim_t leaf) {
  for (int32_t d = 0; byoc_type_is_tensor(type) && d < type->rank; ++d) {
    if (!byoc_dim_walk(type->dims[d], is_not_leaf, &leaf)) return true;
  }
  return false;
}

int64_t byoc_type_element_count(const byoc_type_t *type) {
  if (!byoc_type_is_static(type)) return -1;
  int64_t count = 1;
  bool empty = false;
  for (int32_t i = 0; i < type->rank; ++i) {
    int64_t size = type->dims[i].constant;
    if (size < 0) return -1;
    empty |= size == 0;
    if (size != 0 && __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return empty ? 0 : count;
}

int64_t byoc_type_size_bytes(const byoc_type_t *type) {
  int64_t count = byoc_type_element_count(type), bits = 0;
  if (count < 0 || byoc_dtype_bits(type->dtype) == 0) return -1;
  if (__builtin_mul_overflow(count, (int64_t)byoc_dtype_bits(type->dtype), &bits) || bits > INT64_MAX - 7) return -1;
  return (bits + 7) / 8;
}
