#include "core/ir/describe.h"

// Operators that are named; composites nest a level or two.
enum { NAMED_COUNT = 4, MAX_DEPTH = 4 };

static void describe_block(const byoc_block_t *block, int depth, size_t *count, byoc_string_t *out) {
  BYOC_FOR_EACH_NODE(node, block) {
    if (node->callee != NULL && depth < MAX_DEPTH) {
      describe_block(node->callee->body, depth + 1, count, out);
      continue;
    }
    if (*count < NAMED_COUNT) byoc_string_appendf(out, "%s%s", *count > 0 ? "+" : "", node->op ? node->op : "call");
    *count += 1;
  }
}

void byoc_function_describe(const byoc_function_t *function, byoc_string_t *out) {
  size_t count = 0;
  describe_block(function->body, 0, &count, out);
  if (count > NAMED_COUNT) byoc_string_appendf(out, "+... (%zu operators)", count);
}
