// SPDX-License-Identifier: Apache-2.0
// libFuzzer's changes to JSON documents: the text stays one, so that fuzzing reaches the readers behind the parser. One
// case in four is changed as bytes.
#include <jansson.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/support.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { CHANGES_AT_MOST = 4, TEXT_AT_MOST = 64 };

static byoc_test_random_t random_numbers;

static size_t below(size_t limit) {
  return (size_t)byoc_test_below(&random_numbers, limit);
}

// ---- values ----

static json_t *odd_integer(void) {
  static const json_int_t numbers[] = {0, 1, -1, 2, 3, 8, 64, 1000, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  return json_integer(numbers[below(sizeof(numbers) / sizeof(numbers[0]))]);
}

static json_t *changed_text(const char *text) {
  uint8_t bytes[TEXT_AT_MOST];
  size_t size = strnlen(text, sizeof(bytes));
  memcpy(bytes, text, size);
  size = LLVMFuzzerMutate(bytes, size, sizeof(bytes));
  for (size_t i = 0; i < size; ++i) bytes[i] = bytes[i] % 127 > 0 ? bytes[i] % 127 : ' '; // ASCII without NUL
  return json_stringn((const char *)bytes, size);
}

// A value near `value`, or another one altogether.
static json_t *changed_value(const json_t *value) {
  static const double reals[] = {0.5, -0.5, 1e-300, 1e300};
  size_t kind = below(10);
  if (kind < 5 && json_is_string(value)) return changed_text(json_string_value(value));
  if (kind < 3 && json_is_integer(value)) return json_integer(json_integer_value(value) ^ (json_int_t)1 << below(8));
  if (kind < 6) return odd_integer();
  if (kind == 6) return json_real(reals[below(4)]);
  if (kind == 7) return below(2) == 0 ? json_null() : json_boolean(below(2));
  if (kind == 8) return json_string(below(2) == 0 ? "" : "x");
  return below(2) == 0 ? json_array() : json_object();
}

// ---- places ----

static size_t count_of(const json_t *value) {
  return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

// The member at a position of an object; NULL beyond the last.
static void *member(json_t *object, size_t at) {
  void *iterator = json_object_iter(object);
  while (at-- > 0 && iterator != NULL) iterator = json_object_iter_next(object, iterator);
  return iterator;
}

static json_t *child(json_t *value, size_t at) {
  return json_is_array(value) ? json_array_get(value, at) : json_object_iter_value(member(value, at));
}

// An array or object with something in it; NULL if the document has none.
static json_t *any_container(json_t *root) {
  json_t *found = count_of(root) > 0 ? root : NULL;
  for (json_t *at = found; at != NULL && below(4) > 0;) {
    at = child(at, below(count_of(at)));
    if (count_of(at) == 0) break;
    found = at;
  }
  return found;
}

static void replace(json_t *container, size_t at, json_t *value) {
  if (json_is_array(container)) json_array_set_new(container, at, value);
  if (json_is_object(container)) json_object_iter_set_new(container, member(container, at), value);
}

// ---- one change ----

static void change(json_t *root) {
  json_t *container = any_container(root), *other = any_container(root);
  if (container == NULL) return;
  size_t at = below(count_of(container));
  size_t kind = below(8);
  if (kind == 0 && json_is_array(container)) {
    json_array_remove(container, at);
  } else if (kind == 0) {
    json_object_del(container, json_object_iter_key(member(container, at)));
  } else if (kind == 1 && json_is_array(container)) {
    json_array_append_new(container, json_deep_copy(json_array_get(container, at)));
  } else if (kind == 2) {
    replace(container, at, json_deep_copy(child(other, below(count_of(other)))));
  } else {
    replace(container, at, changed_value(child(container, at)));
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  random_numbers.state = seed;
  json_t *root = below(4) > 0 ? json_loadb((const char *)data, size, 0, NULL) : NULL;
  size_t changed = 0;
  if (root != NULL) {
    size_t count = 1 + below(CHANGES_AT_MOST);
    for (size_t i = 0; i < count; ++i) change(root);
    changed = json_dumpb(root, (char *)data, max_size, JSON_COMPACT);
  }
  json_decref(root);
  return changed > 0 && changed <= max_size ? changed : LLVMFuzzerMutate(data, size, max_size);
}
