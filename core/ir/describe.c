// SPDX-License-Identifier: Apache-2.0
// Describes functions by the operators in them.
#include "core/ir/describe.h"

#include "core/ir/attribute_names.h"

// The number of operators that are named, and the depth of composites: they nest one or two levels.
enum { NAMED_COUNT = 4, MAX_DEPTH = 4 };

// Changes of layout, which are named only if there is nothing else to name.
static bool is_layout_change(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "ToBlocked") || byoc_node_is(node, "byoc", "FromBlocked");
}

static void describe_block(const byoc_block_t *block, int depth, bool layouts, size_t *count, byoc_string_t *out) {
  BYOC_FOR_EACH_NODE(node, block) {
    if (node->callee != NULL && depth < MAX_DEPTH) {
      describe_block(node->callee->body, depth + 1, layouts, count, out);
      continue;
    }
    if (!layouts && is_layout_change(node)) continue;
    if (*count < NAMED_COUNT) byoc_string_appendf(out, "%s%s", *count > 0 ? "+" : "", node->op ? node->op : "call");
    *count += 1;
  }
}

void byoc_function_describe(const byoc_function_t *function, byoc_string_t *out) {
  size_t count = 0;
  describe_block(function->body, 0, false, &count, out);
  if (count == 0) describe_block(function->body, 0, true, &count, out);
  if (count > NAMED_COUNT) byoc_string_appendf(out, "+... (%zu operators)", count);
}

const char *byoc_block_case(const byoc_block_t *block) {
  const byoc_node_t *owner = block->owner;
  size_t count = 0;
  const char *const *cases =
      owner != NULL ? byoc_attributes_strings(&owner->attributes, BYOC_ATTRIBUTE_CASES, &count) : NULL;
  for (uint32_t b = 0; b < count && b < owner->block_count; ++b) {
    if (owner->blocks[b] == block) return cases[b];
  }
  return NULL;
}
