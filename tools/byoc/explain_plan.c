// SPDX-License-Identifier: Apache-2.0
// Texts for the explanations of a plan: labels, costs, nodes, and where a node went.
#include <stdio.h>
#include <string.h>

#include "core/base/visible.h"
#include "explain.h"

static size_t kind_length(const char *target) {
  return strcspn(target, " ");
}

// The `number`-th word of a target string, counted from 0; an option has no blanks, as a rule.
static const char *word_at(const char *text, size_t number, size_t *out_size) {
  for (; number > 0 && *text != '\0'; --number) {
    text += strcspn(text, " ");
    text += strspn(text, " ");
  }
  *out_size = strcspn(text, " ");
  return text;
}

// The first option by which the target differs from another one of its kind; *out_size 0: there is none.
static const char *first_difference(const byoc_plan_t *plan, uint32_t target, size_t *out_size) {
  const char *text = plan->targets.data[target];
  for (size_t number = 1;; ++number) {
    const char *word = word_at(text, number, out_size);
    if (*out_size == 0) return word;
    for (size_t t = 0; t < plan->targets.count; ++t) {
      size_t size = 0;
      const char *other = word_at(plan->targets.data[t], 0, &size);
      if (size != kind_length(text) || strncmp(other, text, size) != 0) continue;
      other = word_at(plan->targets.data[t], number, &size);
      if (size != *out_size || strncmp(other, word, size) != 0) return word;
    }
  }
}

void byoc_plan_target_label(const byoc_plan_t *plan, uint32_t target, char *buffer, size_t size) {
  const char *text = plan->targets.data[target];
  size_t length = kind_length(text), same = 0, word_size = 0;
  for (size_t t = 0; t < plan->targets.count; ++t) {
    const char *other = plan->targets.data[t];
    if (kind_length(other) == length && strncmp(other, text, length) == 0) ++same;
  }
  const char *word = same > 1 ? first_difference(plan, target, &word_size) : "";
  snprintf(buffer, size, "%.*s%s%.*s", (int)length, text, word_size > 0 ? " " : "", (int)word_size, word);
}

void byoc_plan_cost_text(double cost_ns, byoc_cost_source_t source, char *buffer, size_t size) {
  bool is_bound = source == BYOC_COST_SOURCE_BOUND, is_named = source != BYOC_COST_SOURCE_NONE && !is_bound;
  const char *front = is_bound ? "at least " : "", *space = is_named ? " " : "";
  const char *name = is_named ? byoc_cost_source_name(source) : "";
  if (isnan(cost_ns)) {
    snprintf(buffer, size, "-");
  } else if (isinf(cost_ns)) {
    snprintf(buffer, size, "unusable");
  } else if (cost_ns < 1e3) {
    snprintf(buffer, size, "%s%.0f ns%s%s", front, cost_ns, space, name);
  } else if (cost_ns < 1e6) {
    snprintf(buffer, size, "%s%.*f us%s%s", front, cost_ns < 1e5 ? 2 : 1, cost_ns / 1e3, space, name);
  } else {
    snprintf(buffer, size, "%s%.3f ms%s%s", front, cost_ns / 1e6, space, name);
  }
}

void byoc_plan_cost_of_text(double cost_ns, byoc_cost_source_t source, const char *label, char *buffer, size_t size) {
  byoc_plan_cost_text(cost_ns, source, buffer, size);
  const size_t length = strlen(buffer);
  const bool is_stated = source == BYOC_COST_SOURCE_STATED && isfinite(cost_ns);
  if (is_stated) snprintf(buffer + length, size - length, " by %s", label);
}

void byoc_plan_stated_text(double moved_bytes, double energy_nj, byoc_string_t *out) {
  if (moved_bytes > 0) byoc_string_appendf(out, ", %.0f bytes moved", moved_bytes);
  if (energy_nj > 0) byoc_string_appendf(out, ", %.4g nJ", energy_nj);
}

void byoc_plan_gain_text(const byoc_plan_gain_t *gain, byoc_string_t *out) {
  if (!(gain->error > 0)) return;
  byoc_string_appendf(out, "with --error %g, a plan in mixed precisions took %.2f of the time in an earlier build\n",
                      gain->error, gain->ratio);
}

void byoc_plan_budget_text(const byoc_plan_budget_t *budget, byoc_string_t *out) {
  byoc_string_appendf(out, "error: at most %.2g promised, %.2g measured on %u %s; %.2g is allowed", budget->promised,
                      budget->measured, (unsigned)budget->sample_count,
                      budget->is_generated ? "generated inputs (--calibrate PATH gives real ones)" : "inputs",
                      budget->allowed);
}

void byoc_plan_nodes_text(const uint32_t *nodes, uint32_t count, byoc_string_t *out) {
  for (uint32_t i = 0; i < count;) {
    uint32_t end = i + 1;
    while (end < count && nodes[end] == nodes[end - 1] + 1) ++end;
    byoc_string_append(out, i > 0 ? ", " : "");
    byoc_string_appendf(out, "%u", nodes[i]);
    if (end - i > 1) byoc_string_appendf(out, "-%u", nodes[end - 1]);
    i = end;
  }
}

void byoc_plan_node_text(const byoc_plan_node_t *node, byoc_string_t *out) {
  byoc_string_append_shown(out, node->op);
  if (node->name[0] == '\0') return;
  byoc_string_append(out, " '");
  byoc_string_append_shown(out, node->name);
  byoc_string_append(out, "'");
}

bool byoc_plan_holds(const uint32_t *nodes, uint32_t count, uint32_t node) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (nodes[middle] == node) return true;
    if (nodes[middle] < node) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

byoc_plan_assignment_t byoc_plan_assignment(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node) {
  uint32_t region = block->nodes.data[node].region;
  if (region != UINT32_MAX) {
    const byoc_plan_region_t *row = &block->regions.data[region];
    return (byoc_plan_assignment_t){row->target, row->rule, row->nodes, row->node_count, row->cost_ns, row->source};
  }
  uint32_t native = (uint32_t)plan->targets.count - 1;
  for (size_t c = 0; c < block->candidates.count; ++c) {
    const byoc_plan_candidate_t *row = &block->candidates.data[c];
    if (!row->is_chosen || row->target != native || !byoc_plan_holds(row->nodes, row->node_count, node)) continue;
    return (byoc_plan_assignment_t){row->target, row->rule, row->nodes, row->node_count, row->cost_ns, row->source};
  }
  return (byoc_plan_assignment_t){.target = native, .rule = "", .cost_ns = NAN};
}

const char *byoc_plan_absence(const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node, uint32_t target) {
  uint32_t assignment = byoc_plan_assignment(plan, block, node).target;
  bool is_native = target + 1 == plan->targets.count;
  if (assignment == target || is_native) return NULL;
  for (size_t c = 0; c < block->candidates.count; ++c) {
    const byoc_plan_candidate_t *row = &block->candidates.data[c];
    if (row->target == target && byoc_plan_holds(row->nodes, row->node_count, node)) return NULL;
  }
  for (size_t d = 0; d < block->declines.count; ++d) {
    const byoc_plan_decline_t *row = &block->declines.data[d];
    if (row->target == target && byoc_plan_holds(row->nodes, row->node_count, node)) return NULL;
  }
  bool is_greedy = strcmp(plan->strategy, "greedy") == 0; // each target in turn is offered what earlier ones left
  if (is_greedy && assignment < target) return "was not asked: an earlier target claimed the node";
  if (!is_greedy && block->candidates.count == 0) return "was not asked: the plan was given";
  return "none of its rules claims it here";
}
