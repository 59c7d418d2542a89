// SPDX-License-Identifier: Apache-2.0
// Numbers the ways in which a rule matches, and finds the accepted one by its number.
#include "core/plugin/accepted_match.h"

#include <string.h>

#include "core/ir/attribute_names.h"

bool byoc_bindings_equal(const byoc_region_binding_t *a, size_t a_count, const byoc_region_binding_t *b,
                         size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; ++i) {
    if (a[i].node != b[i].node || a[i].value != b[i].value || strcmp(a[i].name, b[i].name) != 0) return false;
  }
  return true;
}

// ---- numbering ----

typedef struct numbering_t {
  const byoc_match_t *wanted;
  uint32_t number;
} numbering_t;

static bool is_in_match(void *self, const byoc_node_t *node) {
  const byoc_match_t *wanted = ((const numbering_t *)self)->wanted;
  for (size_t i = 0; i < wanted->nodes.count; ++i) {
    if (wanted->nodes.data[i] == node) return true;
  }
  return false;
}

static bool is_the_one(void *self, const byoc_match_t *match) {
  numbering_t *numbering = self;
  const byoc_match_t *wanted = numbering->wanted;
  if (match->nodes.count != wanted->nodes.count) return false;
  if (byoc_bindings_equal(match->bindings.data, match->bindings.count, wanted->bindings.data, wanted->bindings.count)) {
    return true;
  }
  numbering->number += 1;
  return false;
}

bool byoc_match_number(const byoc_pattern_t *pattern, const byoc_match_t *match, uint32_t *out_number) {
  numbering_t numbering = {.wanted = match};
  byoc_match_t again;
  bool failed = false;
  byoc_match_init(&again, match->allocator);
  byoc_node_t *root = match->nodes.data[match->nodes.count - 1]; // all others are used inside
  bool found = byoc_pattern_match_each(pattern, root, is_in_match, &numbering, &again, is_the_one, &numbering, &failed);
  byoc_match_deinit(&again);
  *out_number = found ? numbering.number : 0;
  return !failed;
}

// ---- finding ----

typedef struct finding_t {
  size_t node_count; // of the function's body
  int64_t number, met;
} finding_t;

static bool is_wanted(void *self, const byoc_match_t *match) {
  finding_t *finding = self;
  return match->nodes.count == finding->node_count && finding->met++ == finding->number;
}

bool byoc_pattern_match_accepted(const byoc_pattern_t *pattern, const byoc_function_t *function, byoc_node_t *root,
                                 byoc_match_t *match, bool *out_failed) {
  finding_t finding = {.node_count = function->body->node_count,
                       .number = byoc_attributes_int(&function->attributes, BYOC_ATTRIBUTE_MATCH, 0)};
  bool is_other = finding.number > 0;
  if (is_other && byoc_pattern_match_each(pattern, root, NULL, NULL, match, is_wanted, &finding, out_failed))
    return true;
  if (is_other && *out_failed) return false;
  return byoc_pattern_match(pattern, root, NULL, NULL, match, out_failed);
}
