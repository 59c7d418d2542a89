// SPDX-License-Identifier: Apache-2.0
// Constants: tensor data that is known at compile time.
#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/constant_memory.h"
#include "core/ir/element.h"

static byoc_constant_t *constant_register(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                          const void *data) {
  int64_t size = byoc_type_size_bytes(type);
  assert(size >= 0 && "constants have static tensor types");
  byoc_constant_t *constant = BYOC_ARENA_NEW(&module->arena, byoc_constant_t);
  if (!constant || size < 0) return NULL;
  constant->module = module;
  constant->name = byoc_graph_module_unique_name(module, name);
  constant->type = type;
  int64_t *dims = BYOC_ARENA_ARRAY(&module->arena, int64_t, (size_t)type->rank);
  if (!dims) return NULL;
  for (int32_t axis = 0; axis < type->rank; ++axis) dims[axis] = type->dims[axis].constant;
  constant->dims = dims;
  constant->data = data;
  constant->size_bytes = (size_t)size;
  if (!constant->name) return NULL;
  if (!byoc_vector_reserve(&module->constants, module->allocator, 1)) return NULL;
  if (!byoc_string_map_put(&module->constant_names, constant->name, constant)) return NULL;
  module->constants.data[module->constants.count++] = constant;
  return constant;
}

byoc_constant_t *byoc_constant_allocate(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                        void **out_data) {
  *out_data = NULL;
  void *data = byoc_constant_memory(module, type);
  byoc_constant_t *constant = data ? constant_register(module, name, type, data) : NULL;
  if (constant) *out_data = data;
  return constant;
}

byoc_constant_t *byoc_constant_wrap(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                    const void *data) {
  return constant_register(module, name, type, data);
}

byoc_constant_t *byoc_constant_create(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                      const void *data) {
  void *copy = byoc_constant_memory(module, type);
  if (!copy) return NULL;
  size_t size = (size_t)byoc_type_size_bytes(type);
  if (type->dtype == BYOC_DTYPE_STRING) {
    const char *const *from = data;
    const char **to = copy;
    for (size_t i = 0; i < size / sizeof(*to); ++i) {
      to[i] = byoc_arena_copy_string(&module->arena, from[i]);
      if (!to[i]) return NULL;
    }
  } else if (size > 0) {
    byoc_graph_module_copy(module, copy, data, size);
  }
  return constant_register(module, name, type, copy);
}

static void *replace_data(byoc_constant_t *constant, const void *data) {
  void *copy = byoc_constant_memory(constant->module, constant->type);
  if (!copy) return NULL;
  byoc_graph_module_copy(constant->module, copy, data, constant->size_bytes);
  constant->data = copy;
  constant->hash = 0;
  return copy;
}

bool byoc_constant_assign(byoc_constant_t *constant, const void *data) {
  return replace_data(constant, data) != NULL;
}

void *byoc_constant_change(byoc_constant_t *constant) {
  return replace_data(constant, constant->data);
}

uint64_t byoc_constant_hash(byoc_constant_t *constant) {
  if (constant->hash) return constant->hash;
  uint64_t hash = byoc_type_hash(constant->type, 0);
  if (constant->type->dtype == BYOC_DTYPE_STRING) {
    const char *const *texts = constant->data;
    for (size_t i = 0; i < constant->size_bytes / sizeof(*texts); ++i)
      hash = byoc_hash_combine(hash, byoc_hash_string(texts[i]));
  } else {
    hash = byoc_hash_bytes(constant->data, constant->size_bytes, hash);
    byoc_graph_module_touched(constant->module, constant->size_bytes);
  }
  constant->hash = hash ? hash : 1;
  return constant->hash;
}

bool byoc_constant_equal(byoc_constant_t *a, byoc_constant_t *b) {
  if (a == b) return true;
  if (!byoc_type_equal(a->type, b->type) || byoc_constant_hash(a) != byoc_constant_hash(b)) return false;
  if (a->type->dtype != BYOC_DTYPE_STRING) return a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0;
  const char *const *left = a->data, *const *right = b->data;
  for (size_t i = 0; i < a->size_bytes / sizeof(*left); ++i) {
    if (strcmp(left[i], right[i]) != 0) return false;
  }
  return true;
}

// Is it a constant with exactly one element?
static bool is_scalar(const byoc_value_t *value) {
  return byoc_value_is_constant(value) && byoc_type_element_count(value->type) == 1 &&
         value->type->dtype != BYOC_DTYPE_STRING;
}

bool byoc_value_scalar_f64(const byoc_value_t *value, double *out_number) {
  if (!is_scalar(value)) return false;
  *out_number = byoc_constant_element_f64(value->constant, 0);
  return true;
}

bool byoc_value_scalar_i64(const byoc_value_t *value, int64_t *out_number) {
  if (!is_scalar(value)) return false;
  *out_number = byoc_constant_element_i64(value->constant, 0);
  return true;
}

// The cast is allowed: no constant is an object that was declared const.
static void note_read(const byoc_constant_t *constant) {
  ((byoc_constant_t *)(uintptr_t)constant)->is_read = true;
}

double byoc_constant_element_f64(const byoc_constant_t *constant, int64_t index) {
  assert(index >= 0 && index < byoc_type_element_count(constant->type));
  note_read(constant);
  return byoc_element_f64(constant->type->dtype, constant->data, (size_t)index);
}

int64_t byoc_constant_element_i64(const byoc_constant_t *constant, int64_t index) {
  assert(index >= 0 && index < byoc_type_element_count(constant->type));
  note_read(constant);
  return byoc_element_i64(constant->type->dtype, constant->data, (size_t)index);
}
