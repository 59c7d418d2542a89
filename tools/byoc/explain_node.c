#include <stdio.h>

#include "explain.h"

enum { SHOWN_CANDIDATES = 12, SHOWN_DECLINES = 8 };

// A reason may be a compiler's whole output: lines after the first are indented under it.
static void print_text(const char *text, int indent, byoc_string_t *out) {
  for (; *text; ++text) {
    if (*text != '\n') {
      byoc_string_append_bytes(out, text, 1);
    } else if (text[1] != '\0') {
      byoc_string_append(out, "\n");
      byoc_string_indent(out, indent);
    }
  }
  byoc_string_append(out, "\n");
}

static void print_more(size_t count, byoc_string_t *out) {
  if (count > 0) byoc_string_appendf(out, "    ... and %zu more; --all shows them\n", count);
}

static void print_home(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, byoc_string_t *out) {
  char label[48], cost[64];
  byoc_plan_home_t home = byoc_plan_home(plan, block, node);
  byoc_plan_target_label(plan, home.target, label, sizeof(label));
  byoc_string_appendf(out, "  placed on %s", label);
  uint32_t region = block->nodes.data[node].region;
  if (region != UINT32_MAX) byoc_string_appendf(out, ", region %u", region);
  if (home.rule[0]) byoc_string_appendf(out, ", by %s", home.rule);
  if (home.node_count > 1) {
    byoc_string_append(out, ", with nodes ");
    byoc_plan_nodes_text(home.nodes, home.node_count, out);
  }
  if (!isnan(home.cost_ns)) {
    byoc_plan_cost_text(home.cost_ns, home.source, cost, sizeof(cost));
    byoc_string_appendf(out, ", %s", cost);
  }
  byoc_string_append(out, "\n");
}

static void print_candidate(const byoc_plan_t *plan, const byoc_plan_candidate_t *row, byoc_string_t *out) {
  char label[48], cost[64];
  byoc_plan_target_label(plan, row->target, label, sizeof(label));
  byoc_plan_cost_text(row->cost_ns, row->source, cost, sizeof(cost));
  byoc_string_appendf(out, "    %s %-18s %-10s %-24s nodes ", row->is_chosen ? "*" : " ", cost, label, row->rule);
  byoc_plan_nodes_text(row->nodes, row->node_count, out);
  byoc_string_append(out, "\n");
  if (row->reason == NULL) return;
  byoc_string_append(out, "        ");
  print_text(row->reason, 8, out);
}

static void print_candidates(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, bool all,
                             byoc_string_t *out) {
  size_t count = 0;
  for (size_t c = 0; c < block->candidates.count; ++c) {
    const byoc_plan_candidate_t *row = &block->candidates.data[c];
    if (!byoc_plan_holds(row->nodes, row->node_count, node)) continue;
    if (count++ == 0) byoc_string_append(out, "  candidates (* is the one chosen):\n");
    if (all || count <= SHOWN_CANDIDATES || row->is_chosen) print_candidate(plan, row, out);
  }
  if (!all && count > SHOWN_CANDIDATES) print_more(count - SHOWN_CANDIDATES, out);
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
    byoc_string_appendf(out, "  %s declined", label);
    if (row->node_count > 1) {
      byoc_string_append(out, " nodes ");
      byoc_plan_nodes_text(row->nodes, row->node_count, out);
    }
    if (row->rule[0]) byoc_string_appendf(out, " (%s)", row->rule);
    byoc_string_append(out, ": ");
    print_text(row->reason, 6, out);
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
  byoc_string_appendf(out, "node %u: ", node);
  byoc_plan_node_text(row, out);
  byoc_string_appendf(out, " : %s", row->result_type[0] ? row->result_type : "no result");
  for (uint32_t e = 0; e < row->edge_count; ++e) {
    byoc_string_appendf(out, "%s%u", e > 0 ? ", " : ", reads ", row->edges[e].from);
  }
  byoc_string_append(out, "\n");
  print_home(plan, block, node, out);
  print_candidates(plan, block, node, all, out);
  print_declines(plan, block, node, all, out);
}
