// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes, functions and modules: named, typed, in insertion order. Values are owned by the module's arena.
#ifndef BYOC_CORE_IR_ATTRIBUTE_H_
#define BYOC_CORE_IR_ATTRIBUTE_H_

#include "core/ir/type.h"

struct byoc_constant_t;

typedef enum byoc_attribute_kind_t {
  BYOC_ATTRIBUTE_INT,     // 3
  BYOC_ATTRIBUTE_FLOAT,   // 0.5f: always with a point or an exponent
  BYOC_ATTRIBUTE_STRING,  // "text"
  BYOC_ATTRIBUTE_INTS,    // [1, 2]
  BYOC_ATTRIBUTE_FLOATS,  // [1.0, 2.0]   (the empty list prints as ints[] / floats[] / strings[])
  BYOC_ATTRIBUTE_STRINGS, // ["a", "b"]
  BYOC_ATTRIBUTE_TENSOR,  // @constant
  BYOC_ATTRIBUTE_TYPE,    // type f32[N]
} byoc_attribute_kind_t;
const char *byoc_attribute_kind_name(byoc_attribute_kind_t kind); // "an int", "a list of floats"

typedef struct byoc_attribute_t {
  const char *name;
  byoc_attribute_kind_t kind;
  int64_t i;
  double f;      // ONNX attributes are f32; kept as the exact double
  const char *s; // NUL-terminated; `count` is its size in bytes, which may include NULs
  size_t count;  // elements of a list; bytes of a string
  const int64_t *ints;
  const double *floats;
  const char *const *strings;
  struct byoc_constant_t *tensor;
  const byoc_type_t *type;
} byoc_attribute_t;

typedef struct byoc_attributes_t {
  byoc_arena_t *arena;
  byoc_attribute_t *items;
  size_t count, capacity;
} byoc_attributes_t;

// Setters copy into the arena and replace an attribute of the same name. They return false if out of memory.
bool byoc_attributes_set_int(byoc_attributes_t *attributes, const char *name, int64_t value);
bool byoc_attributes_set_float(byoc_attributes_t *attributes, const char *name, double value);
bool byoc_attributes_set_string(byoc_attributes_t *attributes, const char *name, const char *value);
bool byoc_attributes_set_string_n(byoc_attributes_t *attributes, const char *name, const char *value, size_t size);
bool byoc_attributes_set_ints(byoc_attributes_t *attributes, const char *name, const int64_t *values, size_t count);
bool byoc_attributes_set_floats(byoc_attributes_t *attributes, const char *name, const double *values, size_t count);
bool byoc_attributes_set_strings(byoc_attributes_t *attributes, const char *name, const char *const *values,
                                 size_t count);
bool byoc_attributes_set_tensor(byoc_attributes_t *attributes, const char *name, struct byoc_constant_t *value);
bool byoc_attributes_set_type(byoc_attributes_t *attributes, const char *name, const byoc_type_t *value);
// Copies one attribute (its tensor must belong to the same module).
bool byoc_attributes_set(byoc_attributes_t *attributes, const byoc_attribute_t *attribute);
bool byoc_attributes_copy(byoc_attributes_t *to, const byoc_attributes_t *from);
void byoc_attributes_remove(byoc_attributes_t *attributes, const char *name);
void byoc_attributes_clear(byoc_attributes_t *attributes);

const byoc_attribute_t *byoc_attributes_find(const byoc_attributes_t *attributes, const char *name);
// The value; `fallback` if the attribute is missing or of another kind.
int64_t byoc_attributes_int(const byoc_attributes_t *attributes, const char *name, int64_t fallback);
double byoc_attributes_float(const byoc_attributes_t *attributes, const char *name, double fallback);
const char *byoc_attributes_string(const byoc_attributes_t *attributes, const char *name, const char *fallback);
// The list of an attribute of that kind, and its length; NULL and 0 if the attribute is NULL.
static inline const int64_t *byoc_attribute_ints(const byoc_attribute_t *attribute, size_t *out_count) {
  *out_count = attribute ? attribute->count : 0;
  return attribute ? attribute->ints : NULL;
}
static inline const double *byoc_attribute_floats(const byoc_attribute_t *attribute, size_t *out_count) {
  *out_count = attribute ? attribute->count : 0;
  return attribute ? attribute->floats : NULL;
}
static inline const char *const *byoc_attribute_strings(const byoc_attribute_t *attribute, size_t *out_count) {
  *out_count = attribute ? attribute->count : 0;
  return attribute ? attribute->strings : NULL;
}
// The list and its length; NULL and 0 if missing.
const int64_t *byoc_attributes_ints(const byoc_attributes_t *attributes, const char *name, size_t *out_count);
const double *byoc_attributes_floats(const byoc_attributes_t *attributes, const char *name, size_t *out_count);
const char *const *byoc_attributes_strings(const byoc_attributes_t *attributes, const char *name, size_t *out_count);

// Equal in any order; tensors are compared by content.
bool byoc_attributes_equal(const byoc_attributes_t *a, const byoc_attributes_t *b);
uint64_t byoc_attributes_hash(const byoc_attributes_t *attributes, uint64_t seed); // order-independent
// "{a = 1, b = \"x\"}" in insertion order; nothing if there are no attributes.
void byoc_attributes_print(const byoc_attributes_t *attributes, byoc_string_t *out);

#endif // BYOC_CORE_IR_ATTRIBUTE_H_
