// SPDX-License-Identifier: Apache-2.0
// Rules about what the plugin takes and computes: every operator of its rules against the reference.
#include <string.h>

#include "core/compile/placing.h"
#include "tools/plugin_check/calls.h"
#include "tools/plugin_check/trial.h"

// Enough for every operator and every choice of our own plugins' rules, in seconds.
enum { MOST_SPECIMENS = 160, MOST_OF_A_KIND = 80 };

// ---- what it takes ----

static void note_unmade(trial_t *trial) {
  for (size_t i = 0; i < trial->specimens.unmade.count; ++i) {
    check_property(trial->check, "no specimen could be made of the rule %s", trial->specimens.unmade.data[i]);
  }
}

// One line for each rule: what became of its specimens.
static void note_rules(trial_t *trial, const trial_tally_t *tally) {
  const specimens_t *set = &trial->specimens;
  for (size_t i = 0; i < set->items.count; ++i) {
    const char *rule = set->items.data[i]->rule;
    size_t specimens = 0, claimed = 0, left = 0;
    bool is_listed = false;
    for (size_t k = 0; k < i && !is_listed; ++k) is_listed = strcmp(set->items.data[k]->rule, rule) == 0;
    for (size_t k = i; k < set->items.count && !is_listed; ++k) {
      if (strcmp(set->items.data[k]->rule, rule) != 0) continue;
      specimens += 1;
      claimed += tally->claimed[k];
      left += tally->left[k];
    }
    if (is_listed) continue;
    check_property(trial->check, "rule %s: %zu of the %zu operators of %zu specimens are taken", rule, claimed,
                   claimed + left, specimens);
  }
}

static const char *reason_for(const byoc_placement_t *placement, size_t index) {
  for (size_t i = 0; i < placement->declines.count; ++i) {
    if (specimen_of_name(placement->declines.data[i].node->name) == (int64_t)index) {
      return placement->declines.data[i].reason;
    }
  }
  return "no rule matched";
}

static void take(trial_t *trial) {
  byoc_diag_t diag = {0};
  trial_build_t built;
  trial_tally_t tally;
  trial_add_usual(trial, MOST_SPECIMENS);
  note_unmade(trial);
  check_doing(trial->check, "placing %zu specimens for '%s'", trial->specimens.items.count, trial->target->text);
  check_ok(trial->check,
           trial_open(trial, 0, trial->specimens.items.count, &trial->targets, (byoc_placer_t){0}, BYOC_BUILD_PLACED,
                      byoc_allocator_system(), &diag, &built),
           &diag, "placing specimens of its rules");
  trial_tally(trial, &built, &tally);
  size_t claimed = 0, left = 0;
  for (size_t i = 0; i < tally.count; ++i) claimed += tally.claimed[i], left += tally.left[i];
  check_property(trial->check, "%s takes %zu of %zu operators in %zu specimens", trial->target->kind->name, claimed,
                 claimed + left, tally.count);
  note_rules(trial, &tally);
  if (tally.count > 0 && claimed == 0) {
    check_fail(trial->check, "the rules of '%s' take none of %zu operators; %s: %s", trial->target->kind->name, left,
               trial->specimens.items.data[0]->label, reason_for(&built.build.result.placement, 0));
  }
  if (tally.count == 0) check_fail(trial->check, "the rules of '%s' match no operator", trial->target->kind->name);
  trial_tally_deinit(&tally);
  trial_close(&built);
}

void check_rules_take(check_t *check) {
  trial_each(check, NULL, false, take);
}

// ---- what it computes ----

static void compute_usual(trial_t *trial) {
  const byoc_call_watch_t watch = calls_named(trial->check);
  trial_add_usual(trial, MOST_SPECIMENS / trial->check->targets.count + MOST_OF_A_KIND / 4);
  trial_values(trial, (byoc_placer_t){0}, &watch, trial->target->text);
}

void check_operators_values(check_t *check) {
  trial_each(check, NULL, true, compute_usual);
}

static void compute_types(trial_t *trial) {
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_F64, BYOC_DTYPE_F16, BYOC_DTYPE_BF16, BYOC_DTYPE_I32,
                                        BYOC_DTYPE_I64, BYOC_DTYPE_U8,  BYOC_DTYPE_I8,   BYOC_DTYPE_BOOL};
  for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); ++i) {
    trial_add(trial, &(specimen_wish_t){.dtype = dtypes[i], .lead = 2, .only_first = true}, MOST_OF_A_KIND);
  }
  trial_values(trial, (byoc_placer_t){0}, NULL, "types other than f32");
}

void check_operators_types(check_t *check) {
  trial_each(check, NULL, false, compute_types);
}

static void compute_empty(trial_t *trial) {
  trial_add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_F32, .lead = 0}, MOST_OF_A_KIND);
  trial_add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_I8, .lead = 0}, MOST_OF_A_KIND / 4);
  trial_add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_F32, .lead = 1}, MOST_OF_A_KIND);
  trial_add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_I8, .lead = 1}, MOST_OF_A_KIND / 4);
  trial_values(trial, (byoc_placer_t){0}, NULL, "a dimension of 0 or 1");
}

void check_operators_empty(check_t *check) {
  trial_each(check, NULL, false, compute_empty);
}

static void compute_special(trial_t *trial) {
  trial_add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_F32, .lead = 2}, MOST_OF_A_KIND);
  trial->data = SPECIMEN_WILD;
  trial_values(trial, (byoc_placer_t){0}, NULL, "NaN and infinities among the inputs");
  if (!check_asks_for_nan(trial->check)) return;
  trial->data = SPECIMEN_NAN;
  trial_values(trial, (byoc_placer_t){0}, NULL, "NaN among the inputs");
}

void check_operators_special(check_t *check) {
  trial_each(check, NULL, false, compute_special);
}

static void compute_collage(trial_t *trial) {
  byoc_placing_t placing = {.plan = "collage", .cost = BYOC_COST_ESTIMATE};
  trial_add_usual(trial, MOST_OF_A_KIND / 2);
  trial_values(trial, byoc_placing_placer(&placing), NULL, "placed by collage");
}

void check_operators_collage(check_t *check) {
  trial_each(check, NULL, false, compute_collage);
}
