// SPDX-License-Identifier: Apache-2.0
// Runs one case of type inference from text: an operator, its attributes and operand types, and the result types or the
// error.
#ifndef BYOC_TESTS_UNIT_OPS_INFER_SUPPORT_H_
#define BYOC_TESTS_UNIT_OPS_INFER_SUPPORT_H_

#include <stdio.h>

#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "tests/support/support.h"

typedef struct infer_case_t {
  const char *constants;  // "@k : i64[1] = [2]", several divided by ';'
  const char *parameters; // of the function
  const char *node;       // without results: "Add@14(%a, %b)"
  int results;
  const char *expected; // result types as printed, or a part of the error's text after "! "
} infer_case_t;

// Writes the module of a case; returns it in `text`.
static inline void infer_write_case(const infer_case_t *c, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "module {\n");
  for (const char *from = c->constants; *from;) {
    size_t length = strcspn(from, ";");
    used += (size_t)snprintf(text + used, size - used, "  constant %.*s\n", (int)length, from);
    from += length;
    from += strspn(from, "; ");
  }
  char names[64] = "", types[64] = "", values[64] = "";
  for (int i = 0; i < c->results; ++i) {
    char part[32];
    snprintf(part, sizeof part, "%s%%r%d", i ? ", " : "", i);
    strcat(names, part);
    strcat(types, i ? ", ?" : "?");
    snprintf(part, sizeof part, "%s%%r%d : ?", i ? ", " : "", i);
    strcat(values, part);
  }
  const char *equals = c->results ? " = " : "", *colon = c->results ? " : " : "", *space = c->results ? " " : "";
  snprintf(text + used, size - used, "  func @main(%s) -> (%s) {\n    %s%s%s%s%s\n    return%s%s\n  }\n}\n",
           c->parameters, values, names, equals, c->node, colon, types, space, names);
}

static inline void infer_run_case(const infer_case_t *c) {
  char text[2048];
  infer_write_case(c, text, sizeof text);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "case", byoc_allocator_system(), &diag, &module), &diag);
  byoc_status_t status = byoc_infer_module(module, &diag);
  char message[2048];
  byoc_diag_format(&diag, message, sizeof message);
  if (c->expected[0] == '!') {
    if (status == BYOC_OK) fail_msg("%s: expected an error", c->node);
    if (!strstr(message, c->expected + 2))
      fail_msg("%s:\n  got      %s\n  expected %s", c->node, message, c->expected + 2);
    byoc_graph_module_destroy(module);
    return;
  }
  if (status != BYOC_OK) fail_msg("%s: %s", c->node, message);
  byoc_string_t types;
  byoc_string_init(&types, byoc_allocator_system());
  const byoc_node_t *node = byoc_graph_module_main(module)->body->first;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (i > 0) byoc_string_append(&types, ", ");
    byoc_type_print(node->results[i]->type, &types);
  }
  int rank = 0;
  if (sscanf(c->expected, "rank %d", &rank) == 1) {
    if (node->results[0]->type->rank != rank) fail_msg("%s: got %s", c->node, types.data);
  } else if (strcmp(types.data, c->expected) != 0) {
    fail_msg("%s:\n  got      %s\n  expected %s", c->node, types.data, c->expected);
  }
  byoc_string_deinit(&types);
  // A second run changes nothing.
  const byoc_type_t *first = node->result_count > 0 ? node->results[0]->type : NULL;
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  if (first != NULL) assert_true(byoc_type_equal(first, node->results[0]->type));
  byoc_graph_module_destroy(module);
}

#endif
