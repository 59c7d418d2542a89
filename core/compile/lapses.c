// SPDX-License-Identifier: Apache-2.0
// Warns about operators that are not computed in the precision that a target's option asks for.
#include "core/compile/lapses.h"

#include <string.h>

#include "core/base/log.h"
#include "core/op/op.h"

enum { MOST_LINES = 4, NAMED_NODES = 3 };

// One reason, and the operators that it holds for.
typedef struct lapse_t {
  const char *reason;
  bool is_decline; // the target declined them, and another one computes them
  const byoc_plan_node_t *nodes[NAMED_NODES];
  size_t count;
} lapse_t;

typedef struct lapses_t {
  BYOC_VECTOR(lapse_t) rows;
  size_t kept; // regions that have the precision
  byoc_allocator_t allocator;
} lapses_t;

static const char *asked_precision(const byoc_target_t *target) {
  const byoc_target_kind_t *kind = target->kind;
  for (size_t i = 0; kind->backend != NULL && i < kind->option_count; ++i) {
    if (strcmp(kind->options[i].name, "precision") != 0) continue;
    const char *value = byoc_target_option_string(target, "precision"), *usual = kind->options[i].default_value;
    return value != NULL && usual != NULL && strcmp(value, usual) != 0 ? value : NULL;
  }
  return NULL;
}

static bool add(lapses_t *lapses, const char *reason, bool is_decline, const byoc_plan_node_t *node) {
  size_t i = 0;
  while (i < lapses->rows.count && strcmp(lapses->rows.data[i].reason, reason) != 0) ++i;
  const lapse_t fresh = {.reason = reason, .is_decline = is_decline};
  if (i == lapses->rows.count && !byoc_vector_push(&lapses->rows, lapses->allocator, fresh)) return false;
  lapse_t *row = &lapses->rows.data[i];
  if (row->count < NAMED_NODES) row->nodes[row->count] = node;
  row->count += 1;
  return true;
}

// True for the text of a product of f32, as a plan has it.
static bool is_float_product(const byoc_plan_node_t *node) {
  const byoc_op_t *op = byoc_op_newest("", node->op);
  return op != NULL && (op->traits & BYOC_OP_HEAVY) != 0 && strncmp(node->result_type, "f32", 3) == 0;
}

static bool holds(const byoc_plan_decline_t *decline, uint32_t node) {
  for (uint32_t i = 0; i < decline->node_count; ++i) {
    if (decline->nodes[i] == node) return true;
  }
  return false;
}

// Products of f32 that the target declined and does not compute.
static bool add_declined(lapses_t *lapses, const byoc_plan_block_t *block, uint32_t target) {
  for (uint32_t n = 0; n < block->nodes.count; ++n) {
    const byoc_plan_node_t *node = &block->nodes.data[n];
    const bool is_home = node->region != UINT32_MAX && block->regions.data[node->region].target == target;
    if (is_home || !is_float_product(node)) continue;
    for (size_t d = 0; d < block->declines.count; ++d) {
      const byoc_plan_decline_t *decline = &block->declines.data[d];
      if (decline->target != target || !holds(decline, n)) continue;
      if (!add(lapses, decline->reason, true, node)) return false;
      break;
    }
  }
  return true;
}

static bool add_regions(lapses_t *lapses, const byoc_plan_block_t *block, uint32_t target, const char *asked) {
  for (size_t r = 0; r < block->regions.count; ++r) {
    const byoc_plan_region_t *region = &block->regions.data[r];
    if (region->target != target || region->falls_back || region->precision == NULL) continue;
    if (region->lapse != NULL && !add(lapses, region->lapse, false, &block->nodes.data[region->nodes[0]])) return false;
    lapses->kept += region->lapse == NULL && strncmp(region->precision, asked, strlen(asked)) == 0;
  }
  return true;
}

static void append_nodes(const lapse_t *row, byoc_string_t *out) {
  for (size_t i = 0; i < row->count && i < NAMED_NODES; ++i) {
    byoc_string_append(out, i == 0 ? "" : i + 1 == row->count ? " and " : ", ");
    byoc_string_append(out, row->nodes[i]->op);
    if (row->nodes[i]->name[0]) byoc_string_appendf(out, " '%s'", row->nodes[i]->name);
  }
  if (row->count > NAMED_NODES) byoc_string_appendf(out, " and %zu more", row->count - NAMED_NODES);
}

static bool warn(const lapses_t *lapses, const char *kind, const char *asked) {
  size_t left = 0;
  byoc_string_t text;
  byoc_string_init(&text, lapses->allocator);
  for (size_t i = 0; i < lapses->rows.count; ++i) {
    const lapse_t *row = &lapses->rows.data[i];
    if (i >= MOST_LINES) {
      left += row->count;
      continue;
    }
    byoc_string_clear(&text);
    append_nodes(row, &text);
    if (!text.failed) {
      byoc_log(BYOC_LOG_WARNING, "%s: -precision=%s does not hold for %s: %s%.*s", kind, asked, text.data,
               row->is_decline ? "it declined: " : "", (int)strcspn(row->reason, "\n"), row->reason);
    }
  }
  if (left > 0) {
    byoc_log(BYOC_LOG_WARNING, "%s: nor for %zu more operator%s; byoc explain has the precision of each region", kind,
             left, byoc_plural(left));
  }
  if (lapses->rows.count == 0 && lapses->kept == 0) {
    byoc_log(BYOC_LOG_WARNING, "%s: -precision=%s changes nothing: it computes no product of f32 of this model", kind,
             asked);
  }
  const bool ok = !text.failed;
  byoc_string_deinit(&text);
  return ok;
}

byoc_status_t byoc_lapses_warn(const byoc_plan_t *plan, const byoc_target_list_t *targets, byoc_diag_t *diag) {
  for (uint32_t t = 0; t < targets->targets.count; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    const char *asked = asked_precision(target);
    if (asked == NULL) continue;
    lapses_t lapses = {.allocator = plan->arena.allocator};
    bool ok = true;
    for (size_t b = 0; b < plan->blocks.count && ok; ++b) {
      const byoc_plan_block_t *block = &plan->blocks.data[b];
      ok = add_regions(&lapses, block, t, asked) && add_declined(&lapses, block, t);
    }
    ok = ok && warn(&lapses, target->kind->name, asked);
    byoc_vector_deinit(&lapses.rows, lapses.allocator);
    if (!ok) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}
