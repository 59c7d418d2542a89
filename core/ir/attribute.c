// SPDX-License-Identifier: Apache-2.0
// Sets, reads, compares and prints attributes.
#include "core/ir/attribute.h"

#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/graph.h"
#include "core/ir/text_names.h"

const char *byoc_attribute_kind_name(byoc_attribute_kind_t kind) {
  static const char *const names[] = {[BYOC_ATTRIBUTE_INT] = "an int",
                                      [BYOC_ATTRIBUTE_FLOAT] = "a float",
                                      [BYOC_ATTRIBUTE_STRING] = "a text",
                                      [BYOC_ATTRIBUTE_INTS] = "a list of ints",
                                      [BYOC_ATTRIBUTE_FLOATS] = "a list of floats",
                                      [BYOC_ATTRIBUTE_STRINGS] = "a list of strings",
                                      [BYOC_ATTRIBUTE_TENSOR] = "a tensor",
                                      [BYOC_ATTRIBUTE_TYPE] = "a type"};
  return names[kind];
}

const byoc_attribute_t *byoc_attributes_find(const byoc_attributes_t *attributes, const char *name) {
  for (size_t i = 0; i < attributes->count; ++i) {
    if (strcmp(attributes->items[i].name, name) == 0) return &attributes->items[i];
  }
  return NULL;
}

// Stores `attribute` under a copy of its name. Its payload is in the arena already.
static bool attributes_put(byoc_attributes_t *attributes, const char *name, byoc_attribute_t attribute) {
  byoc_attribute_t *old = (byoc_attribute_t *)byoc_attributes_find(attributes, name);
  if (old) {
    attribute.name = old->name;
    *old = attribute;
    return true;
  }
  attribute.name = byoc_arena_copy_string(attributes->arena, name);
  if (!attribute.name) return false;
  if (attributes->count == attributes->capacity) {
    size_t capacity = attributes->capacity ? attributes->capacity * 2 : 4;
    byoc_attribute_t *items = BYOC_ARENA_ARRAY(attributes->arena, byoc_attribute_t, capacity);
    if (!items) return false;
    if (attributes->count > 0) memcpy(items, attributes->items, attributes->count * sizeof(*items));
    attributes->items = items;
    attributes->capacity = capacity;
  }
  attributes->items[attributes->count++] = attribute;
  return true;
}

bool byoc_attributes_set_int(byoc_attributes_t *attributes, const char *name, int64_t value) {
  return attributes_put(attributes, name, (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_INT, .i = value});
}

bool byoc_attributes_set_float(byoc_attributes_t *attributes, const char *name, double value) {
  return attributes_put(attributes, name, (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_FLOAT, .f = value});
}

bool byoc_attributes_set_string(byoc_attributes_t *attributes, const char *name, const char *value) {
  return byoc_attributes_set_string_n(attributes, name, value, strlen(value));
}

bool byoc_attributes_set_string_n(byoc_attributes_t *attributes, const char *name, const char *value, size_t size) {
  char *copy = byoc_arena_allocate(attributes->arena, size + 1, 1);
  if (!copy) return false;
  if (size > 0) memcpy(copy, value, size);
  copy[size] = 0;
  return attributes_put(attributes, name, (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_STRING, .s = copy, .count = size});
}

bool byoc_attributes_set_ints(byoc_attributes_t *attributes, const char *name, const int64_t *values, size_t count) {
  int64_t *copy = BYOC_ARENA_ARRAY(attributes->arena, int64_t, count ? count : 1);
  if (!copy) return false;
  if (count > 0) memcpy(copy, values, count * sizeof(*copy));
  return attributes_put(attributes, name,
                        (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_INTS, .ints = copy, .count = count});
}

bool byoc_attributes_set_floats(byoc_attributes_t *attributes, const char *name, const double *values, size_t count) {
  double *copy = BYOC_ARENA_ARRAY(attributes->arena, double, count ? count : 1);
  if (!copy) return false;
  if (count > 0) memcpy(copy, values, count * sizeof(*copy));
  return attributes_put(attributes, name,
                        (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_FLOATS, .floats = copy, .count = count});
}

bool byoc_attributes_set_strings(byoc_attributes_t *attributes, const char *name, const char *const *values,
                                 size_t count) {
  const char **copy = BYOC_ARENA_ARRAY(attributes->arena, const char *, count ? count : 1);
  if (!copy) return false;
  for (size_t i = 0; i < count; ++i) {
    copy[i] = byoc_arena_copy_string(attributes->arena, values[i]);
    if (!copy[i]) return false;
  }
  return attributes_put(attributes, name,
                        (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_STRINGS, .strings = copy, .count = count});
}

bool byoc_attributes_set_tensor(byoc_attributes_t *attributes, const char *name, struct byoc_constant_t *value) {
  return attributes_put(attributes, name, (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_TENSOR, .tensor = value});
}

bool byoc_attributes_set_type(byoc_attributes_t *attributes, const char *name, const byoc_type_t *value) {
  const byoc_type_t *copy = byoc_type_copy(value, attributes->arena);
  return copy && attributes_put(attributes, name, (byoc_attribute_t){.kind = BYOC_ATTRIBUTE_TYPE, .type = copy});
}

bool byoc_attributes_set(byoc_attributes_t *attributes, const byoc_attribute_t *attribute) {
  const char *name = attribute->name;
  switch (attribute->kind) {
  case BYOC_ATTRIBUTE_INT:
    return byoc_attributes_set_int(attributes, name, attribute->i);
  case BYOC_ATTRIBUTE_FLOAT:
    return byoc_attributes_set_float(attributes, name, attribute->f);
  case BYOC_ATTRIBUTE_STRING:
    return byoc_attributes_set_string_n(attributes, name, attribute->s, attribute->count);
  case BYOC_ATTRIBUTE_INTS:
    return byoc_attributes_set_ints(attributes, name, attribute->ints, attribute->count);
  case BYOC_ATTRIBUTE_FLOATS:
    return byoc_attributes_set_floats(attributes, name, attribute->floats, attribute->count);
  case BYOC_ATTRIBUTE_STRINGS:
    return byoc_attributes_set_strings(attributes, name, attribute->strings, attribute->count);
  case BYOC_ATTRIBUTE_TENSOR:
    return byoc_attributes_set_tensor(attributes, name, attribute->tensor);
  case BYOC_ATTRIBUTE_TYPE:
    return byoc_attributes_set_type(attributes, name, attribute->type);
  }
  return false;
}

bool byoc_attributes_copy(byoc_attributes_t *to, const byoc_attributes_t *from) {
  for (size_t i = 0; i < from->count; ++i) {
    if (!byoc_attributes_set(to, &from->items[i])) return false;
  }
  return true;
}

void byoc_attributes_remove(byoc_attributes_t *attributes, const char *name) {
  const byoc_attribute_t *found = byoc_attributes_find(attributes, name);
  if (!found) return;
  size_t index = (size_t)(found - attributes->items);
  --attributes->count;
  memmove(&attributes->items[index], &attributes->items[index + 1],
          (attributes->count - index) * sizeof(*attributes->items));
}

void byoc_attributes_clear(byoc_attributes_t *attributes) {
  attributes->count = 0;
}

// ---- reading ----

static const byoc_attribute_t *find_kind(const byoc_attributes_t *attributes, const char *name,
                                         byoc_attribute_kind_t kind) {
  const byoc_attribute_t *attribute = byoc_attributes_find(attributes, name);
  return attribute && attribute->kind == kind ? attribute : NULL;
}

int64_t byoc_attributes_int(const byoc_attributes_t *attributes, const char *name, int64_t fallback) {
  const byoc_attribute_t *attribute = find_kind(attributes, name, BYOC_ATTRIBUTE_INT);
  return attribute ? attribute->i : fallback;
}

double byoc_attributes_float(const byoc_attributes_t *attributes, const char *name, double fallback) {
  const byoc_attribute_t *attribute = find_kind(attributes, name, BYOC_ATTRIBUTE_FLOAT);
  return attribute ? attribute->f : fallback;
}

const char *byoc_attributes_string(const byoc_attributes_t *attributes, const char *name, const char *fallback) {
  const byoc_attribute_t *attribute = find_kind(attributes, name, BYOC_ATTRIBUTE_STRING);
  return attribute ? attribute->s : fallback;
}

const int64_t *byoc_attributes_ints(const byoc_attributes_t *attributes, const char *name, size_t *out_count) {
  return byoc_attribute_ints(find_kind(attributes, name, BYOC_ATTRIBUTE_INTS), out_count);
}

const double *byoc_attributes_floats(const byoc_attributes_t *attributes, const char *name, size_t *out_count) {
  return byoc_attribute_floats(find_kind(attributes, name, BYOC_ATTRIBUTE_FLOATS), out_count);
}

const char *const *byoc_attributes_strings(const byoc_attributes_t *attributes, const char *name, size_t *out_count) {
  return byoc_attribute_strings(find_kind(attributes, name, BYOC_ATTRIBUTE_STRINGS), out_count);
}

// ---- comparing ----

// Compares bits, but all NaNs are equal: the text form does not distinguish them.
static bool double_equal(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof(a)) == 0;
}

static uint64_t double_hash(double value, uint64_t seed) {
  if (isnan(value)) return byoc_hash_combine(seed, 0x7FF8);
  return byoc_hash_bytes(&value, sizeof(value), seed);
}

static bool attribute_equal(const byoc_attribute_t *a, const byoc_attribute_t *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  switch (a->kind) {
  case BYOC_ATTRIBUTE_INT:
    return a->i == b->i;
  case BYOC_ATTRIBUTE_FLOAT:
    return double_equal(a->f, b->f);
  case BYOC_ATTRIBUTE_STRING:
    return memcmp(a->s, b->s, a->count) == 0;
  case BYOC_ATTRIBUTE_INTS:
    return memcmp(a->ints, b->ints, a->count * sizeof(*a->ints)) == 0;
  case BYOC_ATTRIBUTE_FLOATS:
    for (size_t i = 0; i < a->count; ++i) {
      if (!double_equal(a->floats[i], b->floats[i])) return false;
    }
    return true;
  case BYOC_ATTRIBUTE_STRINGS:
    for (size_t i = 0; i < a->count; ++i) {
      if (strcmp(a->strings[i], b->strings[i]) != 0) return false;
    }
    return true;
  case BYOC_ATTRIBUTE_TENSOR:
    return byoc_constant_equal(a->tensor, b->tensor);
  case BYOC_ATTRIBUTE_TYPE:
    return byoc_type_equal(a->type, b->type);
  }
  return false;
}

bool byoc_attributes_equal(const byoc_attributes_t *a, const byoc_attributes_t *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; ++i) {
    const byoc_attribute_t *other = byoc_attributes_find(b, a->items[i].name);
    if (!other || !attribute_equal(&a->items[i], other)) return false;
  }
  return true;
}

static uint64_t attribute_hash(const byoc_attribute_t *attribute) {
  uint64_t hash = byoc_hash_combine(byoc_hash_string(attribute->name), (uint64_t)attribute->kind + 1);
  switch (attribute->kind) {
  case BYOC_ATTRIBUTE_INT:
    return byoc_hash_bytes(&attribute->i, sizeof(attribute->i), hash);
  case BYOC_ATTRIBUTE_FLOAT:
    return double_hash(attribute->f, hash);
  case BYOC_ATTRIBUTE_STRING:
    return byoc_hash_bytes(attribute->s, attribute->count, hash);
  case BYOC_ATTRIBUTE_INTS:
    return byoc_hash_bytes(attribute->ints, attribute->count * sizeof(*attribute->ints), hash);
  case BYOC_ATTRIBUTE_FLOATS:
    for (size_t i = 0; i < attribute->count; ++i) hash = double_hash(attribute->floats[i], hash);
    return hash;
  case BYOC_ATTRIBUTE_STRINGS:
    for (size_t i = 0; i < attribute->count; ++i)
      hash = byoc_hash_combine(hash, byoc_hash_string(attribute->strings[i]));
    return hash;
  case BYOC_ATTRIBUTE_TENSOR:
    return byoc_hash_combine(hash, byoc_constant_hash(attribute->tensor));
  case BYOC_ATTRIBUTE_TYPE:
    return byoc_type_hash(attribute->type, hash);
  }
  return hash;
}

uint64_t byoc_attributes_hash(const byoc_attributes_t *attributes, uint64_t seed) {
  uint64_t sum = attributes->count; // a sum does not depend on the order
  for (size_t i = 0; i < attributes->count; ++i) sum += attribute_hash(&attributes->items[i]);
  return byoc_hash_combine(seed, sum);
}

// ---- text ----

static void attribute_print_list(const byoc_attribute_t *attribute, byoc_string_t *out) {
  if (attribute->count == 0) {
    const char *word = attribute->kind == BYOC_ATTRIBUTE_INTS     ? "ints"
                       : attribute->kind == BYOC_ATTRIBUTE_FLOATS ? "floats"
                                                                  : "strings";
    byoc_string_append(out, word);
  }
  byoc_string_append(out, "[");
  for (size_t i = 0; i < attribute->count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    if (attribute->kind == BYOC_ATTRIBUTE_INTS) {
      byoc_string_appendf(out, "%lld", (long long)attribute->ints[i]);
    } else if (attribute->kind == BYOC_ATTRIBUTE_FLOATS) {
      byoc_text_print_double(attribute->floats[i], out);
    } else {
      byoc_text_print_quoted(attribute->strings[i], strlen(attribute->strings[i]), out);
    }
  }
  byoc_string_append(out, "]");
}

static void attribute_print_value(const byoc_attribute_t *attribute, byoc_string_t *out) {
  switch (attribute->kind) {
  case BYOC_ATTRIBUTE_INT:
    byoc_string_appendf(out, "%lld", (long long)attribute->i);
    break;
  case BYOC_ATTRIBUTE_FLOAT:
    byoc_text_print_double(attribute->f, out);
    break;
  case BYOC_ATTRIBUTE_STRING:
    byoc_text_print_quoted(attribute->s, attribute->count, out);
    break;
  case BYOC_ATTRIBUTE_TENSOR:
    byoc_text_print_name('@', attribute->tensor->name, out);
    break;
  case BYOC_ATTRIBUTE_TYPE:
    byoc_string_append(out, "type ");
    byoc_type_print(attribute->type, out);
    break;
  default:
    attribute_print_list(attribute, out);
    break;
  }
}

void byoc_attributes_print(const byoc_attributes_t *attributes, byoc_string_t *out) {
  for (size_t i = 0; i < attributes->count; ++i) {
    byoc_string_append(out, i == 0 ? "{" : ", ");
    byoc_text_print_word(attributes->items[i].name, out);
    byoc_string_append(out, " = ");
    attribute_print_value(&attributes->items[i], out);
  }
  if (attributes->count > 0) byoc_string_append(out, "}");
}
