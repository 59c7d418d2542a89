// SPDX-License-Identifier: Apache-2.0
// Parsed patterns, between the parser and the matcher.
#ifndef BYOC_CORE_PLUGIN_PATTERN_INTERNAL_H_
#define BYOC_CORE_PLUGIN_PATTERN_INTERNAL_H_

#include "core/plugin/pattern.h"

typedef enum pattern_kind_t {
  PATTERN_ANY,          // %x or _
  PATTERN_CONSTANT,     // @w or @
  PATTERN_OPERATOR,     // Conv(...), {A|B}(...)
  PATTERN_ALTERNATIVES, // (p | q)
  PATTERN_DOMINATOR,    // p <~ path <~ q
} pattern_kind_t;

typedef struct attribute_test_t attribute_test_t;
struct attribute_test_t {
  const char *name;
  byoc_attribute_kind_t kind; // INT, FLOAT or STRING; INTS, FLOATS or STRINGS have items; an empty list is INTS
  int64_t i;
  double f;
  const char *s;
  const attribute_test_t *items; // without names
  size_t item_count;
};

// Is it a test of a list, of strings?
static inline bool attribute_test_is_list(const attribute_test_t *test) {
  return test->kind >= BYOC_ATTRIBUTE_INTS && test->kind <= BYOC_ATTRIBUTE_STRINGS;
}

// Does the node have what the test asks for?
bool attribute_test_fits(const attribute_test_t *test, const byoc_node_t *node);

enum { PATTERN_ANY_RESULT = -1 };

// Children of a DOMINATOR.
enum { DOMINATOR_ROOT = 0, DOMINATOR_PATH = 1, DOMINATOR_LEAF = 2 };

struct byoc_pattern_t {
  pattern_kind_t kind;
  const char *name; // binding; NULL: none
  uint64_t dtypes;  // ANY, CONSTANT, OPERATOR (of the matched result): a bit for each element type; 0: any
  bool has_rank;    // for the same kinds
  int32_t rank;
  // OPERATOR
  struct {
    const char *domain, *name;
  } * operators;
  size_t operator_count;
  bool optional, open_ended; // Op?(...), trailing "..."
  int32_t result;            // the result that is matched, "#1"; PATTERN_ANY_RESULT for "#_"
  attribute_test_t *tests;
  size_t test_count;
  // OPERATOR: the operands. ALTERNATIVES: the alternatives. DOMINATOR: root, path, leaf.
  const byoc_pattern_t **children;
  size_t child_count;
};

#endif // BYOC_CORE_PLUGIN_PATTERN_INTERNAL_H_
