// SPDX-License-Identifier: Apache-2.0
// Compares graph modules and prints single functions of them.
#include "tests/support/graph.h"

#include <string.h>

#include "core/ir/module_text.h"
#include "core/ir/structural.h"

bool byoc_test_modules_equal(const byoc_graph_module_t *a, const byoc_graph_module_t *b) {
  bool equal = a->functions.count == b->functions.count;
  for (size_t i = 0; i < a->functions.count && equal; ++i) {
    const byoc_function_t *other = byoc_graph_module_find(b, a->functions.data[i]->name);
    equal = other != NULL && byoc_function_structural_equal(a->functions.data[i], other, BYOC_STRUCTURAL_DEFAULT);
  }
  return equal;
}

// In a module's text a function stands two spaces to the right, and its last line is "  }".
void byoc_test_print_function(const byoc_function_t *function, byoc_string_t *out) {
  byoc_string_t text, head;
  byoc_string_init(&text, out->allocator);
  byoc_string_init(&head, out->allocator);
  byoc_graph_print(function->module, NULL, &text);
  byoc_string_appendf(&head, "func @%s(", function->name);
  char *at = text.failed || head.failed ? NULL : strstr(text.data, head.data);
  while (at != NULL && at[-1] != '\n') --at;
  for (char *end = NULL; at != NULL && (end = strchr(at, '\n')) != NULL; at = end + 1) {
    byoc_string_append_bytes(out, at + 2, (size_t)(end + 1 - at - 2));
    if (strncmp(at, "  }\n", 4) == 0) break;
  }
  byoc_string_deinit(&head);
  byoc_string_deinit(&text);
}
