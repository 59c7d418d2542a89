// SPDX-License-Identifier: Apache-2.0
// --require: checks that all operators are on the targets that the user named.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"

#include "core/compile/thread_cases.h"
#include "core/compile/variants.h"

enum { NAMED_NODES = 4 };

// The next name of "cutlass, dnnl"; false at the end.
static bool next_name(const char **cursor, char *name, size_t size) {
  const char *start = *cursor + strspn(*cursor, ", ");
  size_t length = strcspn(start, ", ");
  *cursor = start + length;
  snprintf(name, size, "%.*s", (int)length, start);
  return length > 0;
}

byoc_status_t byoc_require_check(const char *required, const byoc_target_list_t *targets, byoc_diag_t *diag) {
  size_t count = 0;
  byoc_string_t list;
  byoc_string_init(&list, targets->arena.allocator);
  const char **names = byoc_allocate(targets->arena.allocator, targets->targets.count + 1, sizeof(*names));
  if (names == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t t = 0; t < targets->targets.count; ++t) {
    names[count++] = targets->targets.data[t]->kind->name;
    byoc_string_appendf(&list, "%s%s", t > 0 ? ", " : "", names[t]);
  }
  char name[64];
  byoc_status_t status = BYOC_OK;
  bool is_empty = true;
  for (const char *cursor = required; status == BYOC_OK && next_name(&cursor, name, sizeof(name)); is_empty = false) {
    size_t t = 0;
    while (t < count && strcmp(names[t], name) != 0) ++t;
    if (t < count) continue;
    status =
        byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--require %s: the targets of this build are %s", name, list.data);
    const char *nearest = byoc_nearest_match(name, names, count);
    if (nearest != NULL) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
    if (nearest == NULL) byoc_diag_hint(diag, "add it to --target, or require one of these");
  }
  if (status == BYOC_OK && is_empty) {
    status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--require takes targets: %s", list.data);
  }
  byoc_string_deinit(&list);
  byoc_free(targets->arena.allocator, names);
  return status;
}

static bool is_required(const char *required, const char *target) {
  char name[64];
  size_t length = strcspn(target, " ");
  for (const char *cursor = required; next_name(&cursor, name, sizeof(name));) {
    if (strlen(name) == length && strncmp(name, target, length) == 0) return true;
  }
  return false;
}

// Why none of a target's candidates for the node can be used; NULL if one can, or if there are none.
static const char *failure_of(const byoc_plan_block_t *block, uint32_t node, uint32_t target) {
  const char *reason = NULL;
  for (size_t c = 0; c < block->candidates.count; ++c) {
    const byoc_plan_candidate_t *row = &block->candidates.data[c];
    if (row->target != target || !byoc_plan_holds(row->nodes, row->node_count, node)) continue;
    if (isfinite(row->cost_ns)) return NULL;
    if (reason == NULL) reason = row->reason;
  }
  return reason;
}

// The reason of the first required target that gave one.
static void print_reason(const char *required, const byoc_plan_t *plan, const byoc_plan_block_t *block, uint32_t node,
                         byoc_string_t *out) {
  char label[48];
  for (uint32_t t = 0; t < plan->targets.count; ++t) {
    if (!is_required(required, plan->targets.data[t])) continue;
    byoc_plan_target_label(plan, t, label, sizeof(label));
    for (size_t d = 0; d < block->declines.count; ++d) {
      const byoc_plan_decline_t *decline = &block->declines.data[d];
      if (decline->target != t || !byoc_plan_holds(decline->nodes, decline->node_count, node)) continue;
      byoc_string_appendf(out, "; %s declined: %.*s", label, (int)strcspn(decline->reason, "\n"), decline->reason);
      return;
    }
    const char *reason = failure_of(block, node, t);
    if (reason == NULL) reason = byoc_plan_absence(plan, block, node, t);
    if (reason == NULL) reason = "costs more";
    byoc_string_appendf(out, "; %s: %.*s", label, (int)strcspn(reason, "\n"), reason);
    return;
  }
}

// Operators that the build itself put between those of the model.
static bool is_of_build(const byoc_plan_node_t *node) {
  static const char *const names[] = {"byoc::ToBlocked",     "byoc::FromBlocked",  "byoc::OnDevice",
                                      "byoc::DeviceCopy",    "byoc::DevicesReady", "byoc::EnginesReady",
                                      "byoc::ThreadsAtLeast"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(node->op, names[i]) == 0) return true;
  }
  return strcmp(node->name, BYOC_VARIANT_NODES) == 0 || strcmp(node->name, BYOC_THREAD_NODES) == 0;
}

// A block of --fallback that chooses between two plans has nothing but the question and the choice.
static bool is_choice(const byoc_plan_block_t *block) {
  if (block->nodes.count != 2) return false;
  const char *op = block->nodes.data[0].op;
  return strcmp(op, "byoc::DevicesReady") == 0 || strcmp(op, "byoc::EnginesReady") == 0;
}

// --require is about the targets of the first plan: not about the choice of a variant, nor the plans without devices or
// engines.
static bool is_of_fallback(const byoc_plan_t *plan, const byoc_plan_block_t *block) {
  char name[512];
  if (is_choice(block)) return true;
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    if (!is_choice(&plan->blocks.data[b])) continue;
    const int size = snprintf(name, sizeof(name), "%s/If_1.else_branch", plan->blocks.data[b].name);
    if (strncmp(block->name, name, (size_t)size) == 0) return true;
  }
  return false;
}

byoc_status_t byoc_require_placed(const char *required, const byoc_plan_t *plan, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, plan->arena.allocator);
  size_t count = 0, total = 0;
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    const byoc_plan_block_t *block = &plan->blocks.data[b];
    for (uint32_t n = 0; n < block->nodes.count; ++n) {
      if (is_of_fallback(plan, block) || is_of_build(&block->nodes.data[n])) continue;
      ++total;
      byoc_plan_assignment_t assignment = byoc_plan_assignment(plan, block, n);
      if (is_required(required, plan->targets.data[assignment.target])) continue;
      if (count++ >= NAMED_NODES) continue;
      char label[48];
      byoc_plan_target_label(plan, assignment.target, label, sizeof(label));
      byoc_string_append(&text, "\n  ");
      byoc_plan_node_text(&block->nodes.data[n], &text);
      byoc_string_appendf(&text, " went to %s", label);
      print_reason(required, plan, block, n, &text);
    }
  }
  byoc_status_t status = text.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && count > NAMED_NODES) byoc_string_appendf(&text, "\n  and %zu more", count - NAMED_NODES);
  if (status == BYOC_OK && count > 0) {
    status = byoc_diag_error(diag, BYOC_UNSUPPORTED, "%zu of %zu operator%s %s not on %s, which --require asks for:%s",
                             count, total, byoc_plural(total), count == 1 ? "is" : "are", required, text.data);
    byoc_diag_hint(diag, "byoc explain shows every candidate and decline; require c too to let them fall back");
  }
  byoc_string_deinit(&text);
  return status;
}
