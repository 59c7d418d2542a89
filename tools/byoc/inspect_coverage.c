// SPDX-License-Identifier: Apache-2.0
// Prints which operators a model uses, and which of them byoc knows.
#include "inspect_coverage.h"

#include <jansson.h>

#include "core/frontend/onnx_coverage.h"
#include "table.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

static const char *kind_name(byoc_onnx_use_kind_t kind) {
  switch (kind) {
  case BYOC_ONNX_USE_KNOWN:
    return "known";
  case BYOC_ONNX_USE_FUNCTION:
    return "local function";
  default:
    return "missing";
  }
}

// The last column: the origin of the operator, or the reason why it is missing.
static const char *remark(const byoc_onnx_use_t *use, char *buffer, size_t size) {
  if (use->plugin != NULL) {
    snprintf(buffer, size, "brought by plugin %s", use->plugin);
    return buffer;
  }
  const char *reason = byoc_onnx_use_reason(use, buffer, size);
  if (reason != NULL) return reason;
  const char *nearest = use->kind == BYOC_ONNX_USE_UNKNOWN ? byoc_op_nearest(use->domain, use->name) : NULL;
  if (nearest == NULL) return "";
  snprintf(buffer, size, "the nearest known operator is %s", nearest);
  return buffer;
}

static byoc_status_t print_json(const byoc_onnx_coverage_t *coverage, byoc_diag_t *diag) {
  json_t *operators = json_array();
  for (size_t i = 0; i < coverage->count; ++i) {
    const byoc_onnx_use_t *use = &coverage->uses[i];
    char buffer[160];
    json_t *object =
        json_pack("{s:o, s:o, s:I, s:I, s:s, s:o, s:o}", "domain", byoc_json_string(use->domain), "operator",
                  byoc_json_string(use->name), "operator_set", (json_int_t)use->opset, "nodes",
                  (json_int_t)use->node_count, "state", kind_name(use->kind), "remark",
                  byoc_json_string(remark(use, buffer, sizeof(buffer))), "first", byoc_json_string(use->first));
    if (use->since != 0) json_object_set_new(object, "version", json_integer(use->since));
    json_array_append_new(operators, object);
  }
  return byoc_json_print(json_pack("{s:s, s:I, s:o}", "kind", "coverage", "missing",
                                   (json_int_t)coverage->missing_count, "operators", operators),
                         diag);
}

static byoc_status_t print_table(const byoc_onnx_coverage_t *coverage, byoc_allocator_t allocator, byoc_diag_t *diag) {
  static const byoc_table_column_t columns[] = {{"operator", false, false},
                                                {"set", true, false},
                                                {"nodes", true, false},
                                                {"state", false, false},
                                                {"", false, true}};
  byoc_table_t table;
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  byoc_table_init(&table, columns, sizeof columns / sizeof *columns, allocator);
  uint64_t nodes = 0, missing_nodes = 0;
  // Missing operators come first, because the reader looks for them.
  for (int known = 0; known < 2; ++known) {
    for (size_t i = 0; i < coverage->count; ++i) {
      const byoc_onnx_use_t *use = &coverage->uses[i];
      char buffer[160];
      if (byoc_onnx_use_is_missing(use) == (known == 1)) continue;
      nodes += use->node_count;
      if (known == 0) missing_nodes += use->node_count;
      byoc_table_cell(&table, "%s%s%s", use->domain, use->domain[0] ? "::" : "", use->name);
      byoc_table_cell(&table, "%lld", (long long)use->opset);
      byoc_table_cell(&table, "%llu", (unsigned long long)use->node_count);
      byoc_table_cell(&table, "%s", kind_name(use->kind));
      byoc_table_cell(&table, "%s", remark(use, buffer, sizeof(buffer)));
    }
  }
  byoc_table_print(&table, 0, &text);
  const size_t missing = coverage->missing_count;
  if (missing == 0) {
    byoc_string_appendf(&text, "all %zu operators are known (%llu nodes)\n", coverage->count,
                        (unsigned long long)nodes);
  } else {
    byoc_string_appendf(&text, "%zu of %zu operators %s missing (%llu of %llu nodes)\n", missing, coverage->count,
                        missing == 1 ? "is" : "are", (unsigned long long)missing_nodes, (unsigned long long)nodes);
  }
  text.failed |= table.failed;
  byoc_status_t status = byoc_print_text(&text, diag);
  byoc_table_deinit(&table);
  byoc_string_deinit(&text);
  return status;
}

byoc_status_t byoc_inspect_coverage(byoc_session_t *session, const byoc_session_options_t *options, const char *path,
                                    bool json, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_session_open(options, diag, session));
  const byoc_op_source_t source = byoc_plugin_registry_operators(session->registry);
  byoc_arena_t arena;
  byoc_onnx_coverage_t coverage;
  byoc_arena_init(&arena, session->allocator);
  byoc_status_t status = byoc_onnx_cover_file(path, &source, &arena, diag, &coverage);
  if (status == BYOC_OK) {
    status = json ? print_json(&coverage, diag) : print_table(&coverage, session->allocator, diag);
  }
  byoc_arena_deinit(&arena);
  return status;
}
