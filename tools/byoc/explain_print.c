// SPDX-License-Identifier: Apache-2.0
// Prints a plan as tables of regions and nodes for a terminal.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/visible.h"
#include "explain.h"
#include "table.h"

enum { SHOWN_NODES = 60, SHOWN_REGIONS = 40, SHOWN_DETAILS = 12 };

static size_t shown(const byoc_explain_options_t *options, size_t count, size_t limit) {
  return options->all || count <= limit ? count : limit;
}

static void print_cut(size_t count, size_t printed, const char *what, byoc_string_t *out) {
  if (printed < count)
    byoc_string_appendf(out, "  ... and %zu more %s%s; --all shows %s\n", count - printed, what,
                        byoc_plural(count - printed), count - printed == 1 ? "it" : "them");
}

static void print_table(byoc_table_t *table, byoc_string_t *out) {
  byoc_table_print(table, 2, out);
  byoc_table_deinit(table);
}

// ---- totals ----

typedef struct share_t {
  size_t nodes, regions;
  double cost_ns;
} share_t;

// Operators, regions and cost of one target. One unknown cost makes the sum unknown.
static share_t share_of(const byoc_plan_t *plan, uint32_t target) {
  share_t share = {0};
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    const byoc_plan_block_t *block = &plan->blocks.data[b];
    for (uint32_t n = 0; n < block->nodes.count; ++n) {
      byoc_plan_assignment_t assignment = byoc_plan_assignment(plan, block, n);
      if (assignment.target != target) continue;
      share.nodes += 1;
      if (assignment.nodes != NULL && assignment.nodes[0] != n) continue; // counted at its first node
      share.cost_ns += assignment.cost_ns;
      share.regions += block->nodes.data[n].region != UINT32_MAX;
    }
  }
  return share;
}

static void print_totals(const byoc_plan_t *plan, byoc_string_t *out) {
  static const byoc_table_column_t columns[] = {
      {"target", false, false}, {"operators", true, false}, {"regions", true, false}, {"cost", true, false}};
  byoc_table_t table;
  byoc_table_init(&table, columns, 4, plan->arena.allocator);
  for (uint32_t t = 0; t < plan->targets.count; ++t) {
    char label[48], cost[112];
    share_t share = share_of(plan, t);
    byoc_plan_target_label(plan, t, label, sizeof(label));
    byoc_plan_cost_text(share.cost_ns, BYOC_COST_SOURCE_NONE, cost, sizeof(cost));
    byoc_table_cell(&table, "%s", label);
    byoc_table_cell(&table, "%zu", share.nodes);
    byoc_table_cell(&table, "%zu", share.regions);
    byoc_table_cell(&table, "%s", share.nodes > 0 ? cost : "");
  }
  print_table(&table, out);
}

static double plan_cost(const byoc_plan_t *plan, double *out_transition_ns, double *out_bound_ns, bool *out_proven) {
  double cost_ns = 0;
  *out_transition_ns = *out_bound_ns = 0;
  *out_proven = true;
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    const byoc_plan_block_t *block = &plan->blocks.data[b];
    cost_ns += block->cost_ns;
    *out_transition_ns += block->transition_ns;
    *out_bound_ns += block->lower_bound_ns;
    *out_proven = *out_proven && block->is_proven;
  }
  return cost_ns;
}

static void print_head(const byoc_plan_t *plan, byoc_string_t *out) {
  double transition_ns, bound_ns;
  bool is_proven;
  char text[64];
  double cost_ns = plan_cost(plan, &transition_ns, &bound_ns, &is_proven);
  byoc_string_append(out, "plan");
  if (plan->model[0] != '\0') { // a module in text form has no name
    byoc_string_append(out, " of '");
    byoc_string_append_shown(out, plan->model);
    byoc_string_append(out, "'");
  }
  byoc_string_append(out, " by ");
  byoc_string_append_shown(out, plan->strategy[0] ? plan->strategy : "hand");
  if (isnan(cost_ns)) {
    byoc_string_append(out, "; its cost is not known\n");
    return;
  }
  byoc_plan_cost_text(cost_ns, BYOC_COST_SOURCE_NONE, text, sizeof(text));
  byoc_string_appendf(out, ": %s", text);
  byoc_plan_cost_text(transition_ns, BYOC_COST_SOURCE_NONE, text, sizeof(text));
  if (transition_ns > 0) byoc_string_appendf(out, ", of which %s between targets", text);
  byoc_plan_cost_text(bound_ns, BYOC_COST_SOURCE_NONE, text, sizeof(text));
  if (is_proven) {
    size_t candidates = 0;
    for (size_t b = 0; b < plan->blocks.count; ++b) candidates += plan->blocks.data[b].candidates.count;
    byoc_string_appendf(out, "\nproven: no cover of %s %zu candidate%s costs less", candidates == 1 ? "this" : "these",
                        candidates, byoc_plural(candidates));
    if (plan->budget.allowed > 0) byoc_string_append(out, " within the errors that the search allowed");
    if (plan->max_nodes > 0) {
      byoc_string_appendf(out,
                          " (groups of up to %u operators, %u deep; greedy regions, their halves, neighbours joined)",
                          (unsigned)plan->max_nodes, (unsigned)plan->max_depth);
    }
    byoc_string_append(out, "\n");
  } else if (!isnan(bound_ns)) {
    byoc_string_appendf(out, "\nnot proven: the least may be down to %s\n", text);
  } else {
    byoc_string_append(out, "\n");
  }
}

static void error_cell(byoc_table_t *table, double error) {
  if (isinf(error)) byoc_table_cell(table, "unusable");
  if (!isinf(error)) byoc_table_cell(table, error > 0 ? "%.2g" : "0", error);
}

static void print_budget(const byoc_plan_t *plan, byoc_string_t *out) {
  const byoc_plan_budget_t *budget = &plan->budget;
  if (!(budget->allowed > 0)) return;
  byoc_plan_budget_text(budget, out);
  byoc_string_append(out, "\n");
  if (budget->curve.count < 2) return;
  static const byoc_table_column_t columns[] = {{"error", true, false}, {"sum of the parts", true, false}};
  byoc_table_t table;
  byoc_table_init(&table, columns, 2, plan->arena.allocator);
  for (size_t i = 0; i < budget->curve.count; ++i) {
    char cost[64];
    byoc_plan_cost_text(budget->curve.data[i].cost_ns, BYOC_COST_SOURCE_NONE, cost, sizeof(cost));
    error_cell(&table, budget->curve.data[i].error);
    byoc_table_cell(&table, "%s", cost);
  }
  byoc_string_append(out, "\nthe fastest plans for each error:\n");
  print_table(&table, out);
}

static void alternative_row(byoc_table_t *table, const char *name, double sum_ns, double whole_ns, double whole_mib) {
  char sum[64], whole[64];
  byoc_plan_cost_text(sum_ns, BYOC_COST_SOURCE_NONE, sum, sizeof(sum));
  byoc_plan_cost_text(whole_ns, BYOC_COST_SOURCE_NONE, whole, sizeof(whole));
  byoc_table_cell(table, "%s", name);
  byoc_table_cell(table, "%s", sum);
  byoc_table_cell(table, "%s", whole);
  if (isnan(whole_mib)) byoc_table_cell(table, "-");
  if (!isnan(whole_mib)) byoc_table_cell(table, "%.1f MiB", whole_mib);
}

static void print_alternatives(const byoc_plan_t *plan, byoc_string_t *out) {
  static const byoc_table_column_t columns[] = {{"plan", false, true},
                                                {"sum of its parts", true, false},
                                                {"measured as a whole", true, false},
                                                {"size", true, false},
                                                {"error", true, false}};
  const bool has_errors = plan->budget.allowed > 0;
  double transition_ns, bound_ns;
  bool is_proven;
  if (plan->alternatives.count == 0) return;
  byoc_table_t table;
  byoc_table_init(&table, columns, has_errors ? 5 : 4, plan->arena.allocator);
  alternative_row(&table, "this one", plan_cost(plan, &transition_ns, &bound_ns, &is_proven), plan->whole_ns,
                  plan->whole_mib);
  if (has_errors) error_cell(&table, plan->budget.measured);
  for (size_t r = 0; r < plan->alternatives.count; ++r) {
    const byoc_plan_alternative_t *alternative = &plan->alternatives.data[r];
    alternative_row(&table, alternative->name, alternative->sum_ns, alternative->whole_ns, alternative->whole_mib);
    if (has_errors) error_cell(&table, alternative->error);
  }
  byoc_string_append(out, "\n");
  print_table(&table, out);
}

// ---- nodes and regions ----

static void print_nodes(const byoc_plan_t *plan, const byoc_plan_block_t *block, const byoc_explain_options_t *options,
                        byoc_string_t *out) {
  static const byoc_table_column_t columns[] = {
      {"node", true, false},   {"operator", false, true}, {"name", false, true}, {"type", false, true},
      {"region", true, false}, {"target", false, false},  {"rule", false, true}, {"cost", true, false}};
  byoc_table_t table;
  byoc_table_init(&table, columns, 8, plan->arena.allocator);
  size_t count = shown(options, block->nodes.count, SHOWN_NODES);
  for (uint32_t n = 0; n < count; ++n) {
    const byoc_plan_node_t *node = &block->nodes.data[n];
    byoc_plan_assignment_t assignment = byoc_plan_assignment(plan, block, n);
    char label[48], cost[112];
    byoc_plan_target_label(plan, assignment.target, label, sizeof(label));
    byoc_plan_cost_of_text(assignment.cost_ns, assignment.source, label, cost, sizeof(cost));
    bool is_first = assignment.nodes == NULL || assignment.nodes[0] == n;
    byoc_table_cell(&table, "%u", n);
    byoc_table_cell(&table, "%s", node->op);
    byoc_table_cell(&table, "%s", node->name);
    byoc_table_cell(&table, "%s", node->result_type);
    if (node->region != UINT32_MAX) {
      byoc_table_cell(&table, "%u", node->region);
    } else {
      byoc_table_cell(&table, "-");
    }
    byoc_table_cell(&table, "%s", label);
    byoc_table_cell(&table, "%s", assignment.rule);
    byoc_table_cell(&table, "%s", is_first ? cost : "\"");
  }
  print_table(&table, out);
  print_cut(block->nodes.count, count, "node", out);
}

static void print_regions(const byoc_plan_t *plan, const byoc_plan_block_t *block,
                          const byoc_explain_options_t *options, byoc_string_t *out) {
  static const byoc_table_column_t columns[] = {
      {"region", true, false},     {"target", false, false}, {"rule", false, true},  {"types", false, true},
      {"precision", false, false}, {"cost", true, false},    {"nodes", false, true}, {"error", true, false}};
  const bool has_errors = plan->budget.allowed > 0;
  if (block->regions.count == 0) return;
  byoc_table_t table;
  byoc_table_init(&table, columns, has_errors ? 8 : 7, plan->arena.allocator);
  size_t count = shown(options, block->regions.count, SHOWN_REGIONS);
  for (size_t r = 0; r < count; ++r) {
    const byoc_plan_region_t *region = &block->regions.data[r];
    char label[48], cost[112];
    byoc_string_t nodes;
    byoc_string_init(&nodes, plan->arena.allocator);
    byoc_plan_nodes_text(region->nodes, region->node_count, &nodes);
    byoc_plan_target_label(plan, region->target, label, sizeof(label));
    byoc_plan_cost_of_text(region->cost_ns, region->source, label, cost, sizeof(cost));
    byoc_table_cell(&table, "%zu", r);
    byoc_table_cell(&table, "%s", label);
    byoc_table_cell(&table, "%s", region->rule);
    byoc_table_cell(&table, "%s", region->types != NULL ? region->types : "-");
    byoc_table_cell(&table, "%s", region->precision != NULL ? region->precision : "-");
    byoc_table_cell(&table, "%s", cost);
    byoc_table_cell(&table, "%s%s", nodes.data, region->falls_back ? " (fell back)" : "");
    if (has_errors) error_cell(&table, region->error);
    byoc_string_deinit(&nodes);
  }
  byoc_string_append(out, "\n");
  print_table(&table, out);
  print_cut(block->regions.count, count, "region", out);
}

// If there is little room, the nodes on the native target come first: people ask about them.
static void print_details(const byoc_plan_t *plan, const byoc_plan_block_t *block,
                          const byoc_explain_options_t *options, byoc_string_t *out) {
  size_t count = block->nodes.count, printed = 0, limit = shown(options, count, SHOWN_DETAILS);
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t n = 0; n < count && printed < limit; ++n) {
      bool is_native = byoc_plan_assignment(plan, block, n).target + 1 == plan->targets.count;
      bool is_now = options->all ? pass == 0 : is_native == (pass == 0);
      if (!is_now) continue;
      byoc_string_append(out, "\n");
      byoc_explain_node(plan, block, n, options->all, out);
      ++printed;
    }
  }
  if (printed < count) {
    byoc_string_appendf(out, "\n  ... and %zu more nodes; --node NAME shows one, --all all of them\n", count - printed);
  }
}

static void print_block(const byoc_plan_t *plan, const byoc_plan_block_t *block, const byoc_explain_options_t *options,
                        byoc_string_t *out) {
  byoc_string_append(out, "\n");
  byoc_string_append_shown(out, block->name);
  byoc_string_appendf(out, ": %zu node%s, %zu region%s, %zu candidate%s\n", block->nodes.count,
                      byoc_plural(block->nodes.count), block->regions.count, byoc_plural(block->regions.count),
                      block->candidates.count, byoc_plural(block->candidates.count));
  print_nodes(plan, block, options, out);
  print_regions(plan, block, options, out);
  print_details(plan, block, options, out);
}

// ---- one node ----

static byoc_status_t print_named(const byoc_plan_t *plan, const byoc_explain_options_t *options, byoc_string_t *out,
                                 byoc_diag_t *diag) {
  char *end = NULL;
  unsigned long long number = strtoull(options->node, &end, 10);
  bool is_number = isdigit((unsigned char)options->node[0]) && *end == '\0';
  size_t found = 0;
  for (int by_number = 0; by_number < 2 && found == 0; ++by_number) {
    for (size_t b = 0; b < plan->blocks.count; ++b) {
      const byoc_plan_block_t *block = &plan->blocks.data[b];
      for (uint32_t n = 0; n < block->nodes.count; ++n) {
        bool is_meant = by_number ? is_number && number == n : strcmp(block->nodes.data[n].name, options->node) == 0;
        if (!is_meant) continue;
        if (plan->blocks.count > 1) {
          byoc_string_append(out, found ? "\n" : "");
          byoc_string_append_shown(out, block->name);
          byoc_string_append(out, "\n");
        }
        byoc_explain_node(plan, block, n, options->all, out);
        ++found;
      }
    }
  }
  if (found > 0) return BYOC_OK;
  const char *names[256];
  size_t count = 0;
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    const byoc_plan_block_t *block = &plan->blocks.data[b];
    for (uint32_t n = 0; n < block->nodes.count && count < 256; ++n) {
      if (block->nodes.data[n].name[0]) names[count++] = block->nodes.data[n].name;
    }
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                      "the plan has no node '%s' (constants are folded and dead nodes dropped)", options->node);
  const char *nearest = byoc_nearest_match(options->node, names, count);
  if (nearest != NULL) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  if (nearest == NULL) byoc_diag_hint(diag, "a name or a number out of the table of byoc explain");
  return status;
}

byoc_status_t byoc_explain_print(const byoc_plan_t *plan, const byoc_explain_options_t *options, byoc_string_t *out,
                                 byoc_diag_t *diag) {
  if (options->node != NULL) {
    BYOC_RETURN_IF_ERROR(print_named(plan, options, out, diag));
  } else {
    print_head(plan, out);
    print_totals(plan, out);
    print_alternatives(plan, out);
    print_budget(plan, out);
    for (size_t b = 0; b < plan->blocks.count; ++b) print_block(plan, &plan->blocks.data[b], options, out);
  }
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}
