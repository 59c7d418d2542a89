// SPDX-License-Identifier: Apache-2.0
// Explains one node: who was asked, and what each answered.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/op/op.h"
#include "explain.h"
#include "table.h"

enum { SHOWN_CANDIDATES = 12, SHOWN_DECLINES = 8 };

// Prints words, breaking long lines; a reason may be a compiler's whole output. All lines after the first are indented.
static void print_text(const char *text, int indent, byoc_string_t *out) {
  size_t start = out->size;
  while (start > 0 && out->data[start - 1] != '\n') --start;
  bool is_first = true;
  while (*(text += strspn(text, " \t\r")) != '\0') {
    if (*text == '\n') {
      is_first = true;
      if (*++text == '\0') break;
    } else {
      size_t size = strcspn(text, " \t\r\n");
      bool is_full = !is_first && out->size - start + 1 + size > BYOC_LINE_WIDTH;
      if (!is_first && !is_full) byoc_string_append(out, " ");
      is_first = false;
      if (!is_full) {
        byoc_string_append_bytes(out, text, size);
        text += size;
        continue;
      }
    }
    byoc_string_append(out, "\n");
    start = out->size;
    byoc_string_indent(out, indent);
    is_first = true;
  }
  byoc_string_append(out, "\n");
}

static void print_more(size_t count, byoc_string_t *out) {
  if (count > 0) byoc_string_appendf(out, "    ... and %zu more; --all shows them\n", count);
}

// Ends a line, and breaks what was written since `from` if the line is too long.
static void end_line(byoc_string_t *out, size_t from, int indent) {
  byoc_string_t text;
  byoc_string_init(&text, out->allocator);
  byoc_string_append(&text, out->data + from);
  if (!text.failed && !out->failed) {
    out->size = from;
    print_text(text.data, indent, out);
  }
  if (text.failed) out->failed = true;
  byoc_string_deinit(&text);
}

// A node that stands for several operators, and that no target took whole.
static bool was_written_out(const byoc_plan_block_t *block, uint32_t node) {
  const char *text = block->nodes.data[node].op, *colons = strstr(text, "::");
  char domain[64] = "";
  if (colons != NULL) snprintf(domain, sizeof(domain), "%.*s", (int)(colons - text), text);
  const byoc_op_t *op = byoc_op_newest(domain, colons != NULL ? colons + 2 : text);
  return block->nodes.data[node].region == UINT32_MAX && op != NULL && (op->traits & BYOC_OP_FUSED) != 0;
}

static void print_assignment(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node,
                             byoc_string_t *out) {
  char label[48], cost[112];
  byoc_plan_assignment_t assignment = byoc_plan_assignment(plan, block, node);
  byoc_plan_target_label(plan, assignment.target, label, sizeof(label));
  size_t from = out->size + 2;
  if (was_written_out(block, node)) {
    byoc_string_append(out, "  written out: the operators that it stands for were placed one by one");
    end_line(out, from, 6);
    return;
  }
  byoc_string_appendf(out, "  placed on %s", label);
  uint32_t region = block->nodes.data[node].region;
  if (region != UINT32_MAX) byoc_string_appendf(out, ", region %u", region);
  if (assignment.rule[0]) byoc_string_appendf(out, ", by %s", assignment.rule);
  if (assignment.node_count > 1) {
    byoc_string_append(out, ", with nodes ");
    byoc_plan_nodes_text(assignment.nodes, assignment.node_count, out);
  }
  if (!isnan(assignment.cost_ns)) {
    byoc_plan_cost_of_text(assignment.cost_ns, assignment.source, label, cost, sizeof(cost));
    byoc_string_appendf(out, ", %s", cost);
  }
  const byoc_plan_region_t *row = region != UINT32_MAX ? &block->regions.data[region] : NULL;
  if (row != NULL) byoc_plan_stated_text(row->moved_bytes, row->energy_nj, out);
  if (row != NULL && row->precision != NULL) byoc_string_appendf(out, ", in %s", row->precision);
  if (row != NULL && row->types != NULL && row->types[0] != '\0') byoc_string_appendf(out, ", types %s", row->types);
  if (row != NULL && row->lapse != NULL) byoc_string_appendf(out, " (%s)", row->lapse);
  end_line(out, from, 6);
}

static void print_candidate(const byoc_plan_t *plan, const byoc_plan_candidate_t *row, byoc_string_t *out) {
  char label[48], cost[112];
  byoc_plan_target_label(plan, row->target, label, sizeof(label));
  byoc_plan_cost_of_text(row->cost_ns, row->source, label, cost, sizeof(cost));
  byoc_string_appendf(out, "    %s %-18s %-10s %-24s ", row->is_chosen ? "*" : " ", cost, label, row->rule);
  size_t from = out->size;
  byoc_plan_nodes_text(row->nodes, row->node_count, out);
  end_line(out, from, 8);
  if (row->reason == NULL) return;
  byoc_string_append(out, "        ");
  print_text(row->reason, 8, out);
}

// Order: the chosen one, those with a cost, those ruled out by a bound, the others.
static int grade(const byoc_plan_candidate_t *row) {
  if (row->is_chosen) return 0;
  if (isinf(row->cost_ns)) return 4;
  if (isnan(row->cost_ns)) return 3;
  return row->source == BYOC_COST_SOURCE_BOUND ? 2 : 1;
}

static int compare_candidate(const void *left, const void *right) {
  const byoc_plan_candidate_t *const *a = left, *const *b = right;
  if (grade(*a) != grade(*b)) return grade(*a) - grade(*b);
  if ((*a)->cost_ns < (*b)->cost_ns || (*a)->cost_ns > (*b)->cost_ns) return (*a)->cost_ns < (*b)->cost_ns ? -1 : 1;
  return *a < *b ? -1 : *a > *b;
}

static void print_candidates(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, bool all,
                             byoc_string_t *out) {
  BYOC_VECTOR(const byoc_plan_candidate_t *) rows = {0};
  for (size_t c = 0; c < block->candidates.count; ++c) {
    const byoc_plan_candidate_t *row = &block->candidates.data[c];
    if (!byoc_plan_holds(row->nodes, row->node_count, node)) continue;
    if (!byoc_vector_push(&rows, plan->arena.allocator, row)) out->failed = true;
  }
  if (rows.count > 0) {
    qsort(rows.data, rows.count, sizeof(*rows.data), compare_candidate);
    byoc_string_append(out, "  candidates (* is the one chosen): cost, target, rule, nodes\n");
  }
  size_t shown = all || rows.count <= SHOWN_CANDIDATES ? rows.count : SHOWN_CANDIDATES;
  for (size_t i = 0; i < shown; ++i) print_candidate(plan, rows.data[i], out);
  print_more(rows.count - shown, out);
  byoc_vector_deinit(&rows, plan->arena.allocator);
}

static void print_declines(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, bool all,
                           byoc_string_t *out) {
  size_t count = 0;
  char label[48];
  for (size_t d = 0; d < block->declines.count; ++d) {
    const byoc_plan_decline_t *row = &block->declines.data[d];
    if (!byoc_plan_holds(row->nodes, row->node_count, node)) continue;
    if (!all && ++count > SHOWN_DECLINES) continue;
    byoc_plan_target_label(plan, row->target, label, sizeof(label));
    size_t from = out->size + 2;
    byoc_string_appendf(out, "  %s declined", label);
    if (row->node_count > 1) {
      byoc_string_append(out, " nodes ");
      byoc_plan_nodes_text(row->nodes, row->node_count, out);
    }
    if (row->rule[0]) byoc_string_appendf(out, " (%s)", row->rule);
    byoc_string_appendf(out, ": %s", row->reason);
    end_line(out, from, 6);
  }
  if (count > SHOWN_DECLINES) print_more(count - SHOWN_DECLINES, out);
  for (uint32_t t = 0; t < plan->targets.count; ++t) {
    const char *absence = byoc_plan_absence(plan, block, node, t);
    if (absence == NULL) continue;
    byoc_plan_target_label(plan, t, label, sizeof(label));
    byoc_string_appendf(out, "  %s: %s\n", label, absence);
  }
}

void byoc_explain_node(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, bool all,
                       byoc_string_t *out) {
  const byoc_plan_node_t *row = &block->nodes.data[node];
  size_t from = out->size;
  byoc_string_appendf(out, "node %u: ", node);
  byoc_plan_node_text(row, out);
  byoc_string_appendf(out, " : %s", row->result_type[0] ? row->result_type : "no result");
  for (uint32_t e = 0; e < row->edge_count; ++e) {
    byoc_string_appendf(out, "%s%u", e > 0 ? ", " : ", reads ", row->edges[e].from);
  }
  end_line(out, from, 6);
  print_assignment(plan, block, node, out);
  print_candidates(plan, block, node, all, out);
  print_declines(plan, block, node, all, out);
}
