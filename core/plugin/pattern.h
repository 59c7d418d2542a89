// SPDX-License-Identifier: Apache-2.0
// The pattern language of partition rules (its grammar stands in byoc/plugin.h): parsing and matching.
#ifndef BYOC_CORE_PLUGIN_PATTERN_H_
#define BYOC_CORE_PLUGIN_PATTERN_H_

#include "core/base/arena.h"
#include "core/ir/graph.h"
#include "core/plugin/region.h"

typedef struct byoc_pattern_t byoc_pattern_t;

// Parses into `arena`. An error has the text and a caret; `name` (of the rule) is used as the file.
byoc_status_t byoc_pattern_parse(const char *text, const char *name, byoc_arena_t *arena, byoc_diag_t *diag,
                                 const byoc_pattern_t **out_pattern);

// Calls `visit` for each operator that the pattern names, for some of them several times.
void byoc_pattern_each_operator(const byoc_pattern_t *pattern,
                                void (*visit)(void *self, const char *domain, const char *name), void *self);

// The element types that its type tests name, a bit for each; 0: it names none, so that only its hook looks at types.
uint64_t byoc_pattern_element_types(const byoc_pattern_t *pattern);

// Has it any test of an element type or a rank?
bool byoc_pattern_tests_types(const byoc_pattern_t *pattern);

// The element types of constants that stand as the first operand of an operator of ai.onnx, by their tests.
uint64_t byoc_pattern_constant_types(const byoc_pattern_t *pattern, const char *op);

typedef struct byoc_match_t {
  BYOC_VECTOR(byoc_node_t *) nodes; // topological order
  BYOC_VECTOR(byoc_region_binding_t) bindings;
  BYOC_VECTOR(const byoc_value_t *) constants; // that "@" matched, named or not
  byoc_allocator_t allocator;
} byoc_match_t;
void byoc_match_init(byoc_match_t *match, byoc_allocator_t allocator);
void byoc_match_deinit(byoc_match_t *match);

// True if all nodes of a match have one virtual device.
bool byoc_match_shares_device(const byoc_match_t *match);

// May the matcher use this node? NULL allows any.
typedef bool (*byoc_match_filter_t)(void *self, const byoc_node_t *node);

// Matches at `root` and upwards through its operands, inside its block. On success the match holds its nodes and
// bindings; otherwise it is empty. A value inside the match that is used outside of it makes the match fail. If out of
// memory, the match fails and *out_failed is set.
bool byoc_pattern_match(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter, void *filter_self,
                        byoc_match_t *match, bool *out_failed);

// Is called for each way to match, first with an optional operator and then without; the same nodes may come twice. If
// it returns true, the search ends with this match.
typedef bool (*byoc_match_visit_t)(void *self, const byoc_match_t *match);
bool byoc_pattern_match_each(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter,
                             void *filter_self, byoc_match_t *match, byoc_match_visit_t visit, void *visit_self,
                             bool *out_failed);

// Why a pattern does not match: its first test of type that fails, from the root upwards.
typedef struct byoc_type_clash_t {
  BYOC_VECTOR(byoc_node_t *) nodes; // those that would match
  size_t count;                     // of failing tests
  const byoc_value_t *value;        // with another type
  bool is_result;                   // the test is of an operator's result, otherwise of an operand
  uint64_t dtypes;                  // that alternatives take, a bit for each; 0: any
  bool has_rank;
  int32_t rank;
} byoc_type_clash_t;

// True if the pattern would match at `root`, were it not for tests of type. The caller deinits the nodes, by the
// match's allocator; the match is for scratch. The limits of byoc_pattern_match hold.
bool byoc_pattern_type_clash(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter,
                             void *filter_self, byoc_match_t *match, byoc_type_clash_t *out_clash, bool *out_failed);

#endif // BYOC_CORE_PLUGIN_PATTERN_H_
