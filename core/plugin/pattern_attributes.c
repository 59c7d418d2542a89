// SPDX-License-Identifier: Apache-2.0
// Compares attributes of nodes with the tests of patterns.
#include <string.h>

#include "core/op/implied.h"
#include "core/op/schema.h"
#include "core/plugin/pattern_internal.h"

// ONNX attributes are single precision: "0.01" means the float nearest to it.
static bool same_number(double a, double b) {
  return a == b || (float)a == (float)b;
}

// One item of a list, which is given by its kind and its number in the list.
static bool item_fits(const attribute_test_t *item, const byoc_attribute_t *list, size_t index) {
  if (list->kind == BYOC_ATTRIBUTE_STRINGS) {
    return item->kind == BYOC_ATTRIBUTE_STRING && strcmp(list->strings[index], item->s) == 0;
  }
  if (item->kind == BYOC_ATTRIBUTE_STRING) return false;
  if (list->kind == BYOC_ATTRIBUTE_FLOATS) return same_number(list->floats[index], item->f);
  return item->kind == BYOC_ATTRIBUTE_INT ? list->ints[index] == item->i : (double)list->ints[index] == item->f;
}

// A missing list has the items that its operator takes then. Without any it matches the empty list.
static bool list_fits(const attribute_test_t *test, const byoc_node_t *node) {
  int64_t implied[2 * BYOC_MAX_RANK];
  byoc_attribute_t missing = {.kind = BYOC_ATTRIBUTE_INTS, .ints = implied};
  const byoc_attribute_t *list = byoc_node_value(node, test->name);
  if (list == NULL) {
    missing.count = byoc_node_implied_ints(node, test->name, implied);
    list = &missing;
  }
  const bool is_list =
      list->kind == BYOC_ATTRIBUTE_INTS || list->kind == BYOC_ATTRIBUTE_FLOATS || list->kind == BYOC_ATTRIBUTE_STRINGS;
  if (!is_list || list->count != test->item_count) return false;
  for (size_t i = 0; i < list->count; ++i) {
    if (!item_fits(&test->items[i], list, i)) return false;
  }
  return true;
}

// A missing attribute without a default matches 0 and the empty string.
bool attribute_test_fits(const attribute_test_t *test, const byoc_node_t *node) {
  if (attribute_test_is_list(test)) return list_fits(test, node);
  const byoc_attribute_t *attribute = byoc_node_value(node, test->name);
  if (attribute == NULL) {
    return test->kind == BYOC_ATTRIBUTE_STRING ? test->s[0] == '\0' : same_number(test->f, 0);
  }
  if (test->kind == BYOC_ATTRIBUTE_STRING) {
    return attribute->kind == BYOC_ATTRIBUTE_STRING && strcmp(attribute->s, test->s) == 0;
  }
  if (attribute->kind == BYOC_ATTRIBUTE_INT) {
    return test->kind == BYOC_ATTRIBUTE_INT ? attribute->i == test->i : (double)attribute->i == test->f;
  }
  return attribute->kind == BYOC_ATTRIBUTE_FLOAT && same_number(attribute->f, test->f);
}
