// SPDX-License-Identifier: Apache-2.0
// Writes plans as JSON, for --save-plan and byoc explain --json.
#include "core/collage/plan_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"

// Nine digits are more than any measurement has; a plan that is read and written again keeps the same text.
#define DUMP_FLAGS (JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY)

// A row under construction; after one failure all later appends fail too.
typedef struct row_t {
  json_t *object;
  bool failed;
} row_t;

static row_t row_begin(void) {
  row_t row = {.object = json_object()};
  row.failed = row.object == NULL;
  return row;
}

static void row_set(row_t *row, const char *key, json_t *value) {
  if (row->failed || value == NULL) {
    json_decref(value);
    row->failed = true;
  } else if (json_object_set_new(row->object, key, value) != 0) {
    row->failed = true;
  }
}

static void row_set_text(row_t *row, const char *key, const char *text) {
  row_set(row, key, byoc_json_string(text ? text : ""));
}

static void row_set_cost(row_t *row, const char *key, double cost_ns) {
  if (isnan(cost_ns)) return;
  row_set(row, key, isinf(cost_ns) ? json_null() : json_real(cost_ns));
}

static void row_set_source(row_t *row, byoc_cost_source_t source) {
  if (source != BYOC_COST_SOURCE_NONE) row_set_text(row, "source", byoc_cost_source_name(source));
}

static void row_set_stated(row_t *row, double moved_bytes, double energy_nj) {
  if (moved_bytes > 0) row_set(row, "moved_bytes", json_real(moved_bytes));
  if (energy_nj > 0) row_set(row, "energy_nj", json_real(energy_nj));
}

// Missing: 0.
static void row_set_error(row_t *row, double error) {
  if (error > 0) row_set(row, "error", isinf(error) ? json_null() : json_real(error));
}

static void row_set_nodes(row_t *row, const uint32_t *nodes, uint32_t count) {
  json_t *array = json_array();
  for (uint32_t i = 0; array != NULL && i < count; ++i) {
    if (json_array_append_new(array, json_integer(nodes[i])) != 0) row->failed = true;
  }
  row_set(row, "nodes", array);
}

// Appends the row as one line and releases it.
static void row_end(row_t *row, byoc_string_t *out) {
  char *text = row->failed ? NULL : byoc_json_dump(row->object, DUMP_FLAGS);
  if (text == NULL) out->failed = true;
  byoc_string_append(out, text ? text : "");
  free(text);
  json_decref(row->object);
}

// ---- rows ----

static void print_node(const byoc_plan_node_t *node, byoc_string_t *out) {
  row_t row = row_begin();
  row_set_text(&row, "op", node->op);
  if (node->name[0]) row_set_text(&row, "name", node->name);
  row_set_text(&row, "type", node->result_type);
  json_t *edges = json_array();
  for (uint32_t e = 0; edges != NULL && e < node->edge_count; ++e) {
    row_t edge = row_begin();
    row_set(&edge, "from", json_integer(node->edges[e].from));
    row_set_text(&edge, "type", node->edges[e].type);
    if (edge.failed || json_array_append(edges, edge.object) != 0) row.failed = true;
    json_decref(edge.object);
  }
  row_set(&row, "edges", edges);
  row_end(&row, out);
}

static void print_region(const byoc_plan_region_t *region, byoc_string_t *out) {
  row_t row = row_begin();
  row_set(&row, "target", json_integer(region->target));
  row_set_text(&row, "rule", region->rule);
  row_set_nodes(&row, region->nodes, region->node_count);
  if (region->candidate != UINT32_MAX) row_set(&row, "candidate", json_integer(region->candidate));
  row_set_cost(&row, "cost_ns", region->cost_ns);
  row_set_source(&row, region->source);
  row_set_stated(&row, region->moved_bytes, region->energy_nj);
  row_set_error(&row, region->error);
  if (region->falls_back) row_set(&row, "given_back", json_true());
  if (region->is_later) row_set(&row, "later", json_true());
  if (region->types != NULL && region->types[0] != '\0') row_set_text(&row, "types", region->types);
  if (region->precision != NULL) row_set_text(&row, "precision", region->precision);
  if (region->lapse != NULL) row_set_text(&row, "lapse", region->lapse);
  row_end(&row, out);
}

static void print_candidate(const byoc_plan_candidate_t *candidate, byoc_string_t *out) {
  row_t row = row_begin();
  row_set(&row, "target", json_integer(candidate->target));
  row_set_text(&row, "rule", candidate->rule);
  row_set_nodes(&row, candidate->nodes, candidate->node_count);
  row_set_cost(&row, "cost_ns", candidate->cost_ns);
  row_set_source(&row, candidate->source);
  row_set_stated(&row, candidate->moved_bytes, candidate->energy_nj);
  row_set_error(&row, candidate->error);
  if (candidate->reason != NULL) row_set_text(&row, "reason", candidate->reason);
  if (candidate->is_fallback) row_set(&row, "given_back", json_true());
  if (candidate->is_chosen) row_set(&row, "chosen", json_true());
  row_end(&row, out);
}

static void print_decline(const byoc_plan_decline_t *decline, byoc_string_t *out) {
  row_t row = row_begin();
  row_set(&row, "target", json_integer(decline->target));
  row_set_text(&row, "rule", decline->rule);
  row_set_nodes(&row, decline->nodes, decline->node_count);
  row_set_text(&row, "reason", decline->reason);
  row_end(&row, out);
}

// ---- the document ----

static void print_field(const char *indent, const char *key, json_t *value, byoc_string_t *out) {
  char *text = value ? byoc_json_dump(value, DUMP_FLAGS) : NULL;
  if (text == NULL) out->failed = true;
  byoc_string_appendf(out, "%s\"%s\": %s,\n", indent, key, text ? text : "");
  free(text);
  json_decref(value);
}

static void print_cost_field(const char *indent, const char *key, double cost_ns, byoc_string_t *out) {
  if (!isnan(cost_ns)) print_field(indent, key, isinf(cost_ns) ? json_null() : json_real(cost_ns), out);
}

#define PRINT_ROWS(out, key, rows, print_row, indent, tail)                                                            \
  do {                                                                                                                 \
    byoc_string_appendf((out), "%s\"%s\": [", (indent), (key));                                                        \
    for (size_t i_ = 0; i_ < (rows)->count; ++i_) {                                                                    \
      byoc_string_appendf((out), "%s\n%s  ", i_ ? "," : "", (indent));                                                 \
      print_row(&(rows)->data[i_], (out));                                                                             \
    }                                                                                                                  \
    byoc_string_appendf((out), "%s%s]%s\n", (rows)->count ? "\n" : "", (rows)->count ? (indent) : "", (tail));         \
  } while (0)

static void print_block(const byoc_plan_block_t *block, byoc_string_t *out) {
  char hash[17];
  snprintf(hash, sizeof(hash), "%016" PRIx64, block->hash);
  byoc_string_append(out, "    {\n");
  print_field("      ", "name", byoc_json_string(block->name), out);
  print_field("      ", "hash", json_string(hash), out);
  print_cost_field("      ", "cost_ns", block->cost_ns, out);
  print_cost_field("      ", "transition_ns", block->transition_ns, out);
  print_cost_field("      ", "lower_bound_ns", block->lower_bound_ns, out);
  print_field("      ", "proven", json_boolean(block->is_proven), out);
  PRINT_ROWS(out, "nodes", &block->nodes, print_node, "      ", ",");
  PRINT_ROWS(out, "regions", &block->regions, print_region, "      ", ",");
  PRINT_ROWS(out, "candidates", &block->candidates, print_candidate, "      ", ",");
  PRINT_ROWS(out, "declines", &block->declines, print_decline, "      ", "");
  byoc_string_append(out, "    }");
}

static void print_alternative(const byoc_plan_alternative_t *alternative, byoc_string_t *out) {
  row_t row = row_begin();
  row_set_text(&row, "name", alternative->name);
  row_set_cost(&row, "sum_ns", alternative->sum_ns);
  row_set_cost(&row, "whole_ns", alternative->whole_ns);
  row_set_cost(&row, "whole_mib", alternative->whole_mib);
  row_set_error(&row, alternative->error);
  row_end(&row, out);
}

static void print_point(const byoc_plan_point_t *point, byoc_string_t *out) {
  row_t row = row_begin();
  row_set_cost(&row, "cost_ns", point->cost_ns);
  row_set_error(&row, point->error);
  row_end(&row, out);
}

static void print_budget(const byoc_plan_budget_t *budget, byoc_string_t *out) {
  if (!(budget->allowed > 0)) return;
  byoc_string_append(out, "  \"budget\": {\n");
  print_field("    ", "allowed", json_real(budget->allowed), out);
  print_field("    ", "measured", json_real(budget->measured), out);
  print_field("    ", "promised", json_real(budget->promised), out);
  print_field("    ", "samples", json_integer(budget->sample_count), out);
  print_field("    ", "generated", json_boolean(budget->is_generated), out);
  PRINT_ROWS(out, "curve", &budget->curve, print_point, "    ", "");
  byoc_string_append(out, "  },\n");
}

static void print_target(const char *const *target, byoc_string_t *out) {
  json_t *value = byoc_json_string(*target);
  char *text = value ? byoc_json_dump(value, DUMP_FLAGS) : NULL;
  if (text == NULL) out->failed = true;
  byoc_string_append(out, text ? text : "");
  free(text);
  json_decref(value);
}

byoc_status_t byoc_plan_print(const byoc_plan_t *plan, byoc_string_t *out, byoc_diag_t *diag) {
  byoc_string_append(out, "{\n");
  print_field("  ", "format", json_string(BYOC_PLAN_FORMAT), out);
  print_field("  ", "version", json_integer(BYOC_PLAN_VERSION), out);
  print_field("  ", "model", byoc_json_string(plan->model), out);
  print_field("  ", "strategy", byoc_json_string(plan->strategy), out);
  print_cost_field("  ", "whole_ns", plan->whole_ns, out);
  print_cost_field("  ", "whole_mib", plan->whole_mib, out);
  if (plan->max_nodes > 0) print_field("  ", "max_nodes", json_integer(plan->max_nodes), out);
  if (plan->max_depth > 0) print_field("  ", "max_depth", json_integer(plan->max_depth), out);
  print_budget(&plan->budget, out);
  PRINT_ROWS(out, "targets", &plan->targets, print_target, "  ", ",");
  PRINT_ROWS(out, "rivals", &plan->alternatives, print_alternative, "  ", ",");
  byoc_string_append(out, "  \"blocks\": [");
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    byoc_string_append(out, b ? ",\n" : "\n");
    print_block(&plan->blocks.data[b], out);
  }
  byoc_string_append(out, plan->blocks.count ? "\n  ]\n}\n" : "]\n}\n");
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

byoc_status_t byoc_plan_write(const byoc_plan_t *plan, const char *path, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, plan->arena.allocator);
  byoc_status_t status = byoc_plan_print(plan, &text, diag);
  if (status == BYOC_OK) status = byoc_file_write_atomic(path, text.data, text.size, 0644, diag);
  byoc_string_deinit(&text);
  return status;
}
