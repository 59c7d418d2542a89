// SPDX-License-Identifier: Apache-2.0
// Rules about memory: what functions and hooks may read, write and keep.
#include <string.h>

#include "tools/plugin_check/calls.h"
#include "tools/plugin_check/trial.h"

// Each function is called several times, in memory of its own.
enum { MOST_SPECIMENS = 60 };

static void run_guarded(trial_t *trial, call_guard_t guard, const char *way) {
  guard.check = trial->check;
  trial->counts_calls = true;
  const byoc_call_watch_t watch = calls_guarded(&guard);
  trial_values(trial, (byoc_placer_t){0}, &watch, way);
}

static void guard_inputs(trial_t *trial) {
  trial_add_usual(trial, MOST_SPECIMENS);
  run_guarded(trial, (call_guard_t){.seals_inputs = true}, "with inputs that may only be read");
}

void check_memory_inputs(check_t *check) {
  trial_each(check, NULL, false, guard_inputs);
}

static void guard_reads(trial_t *trial) {
  trial_add_usual(trial, MOST_SPECIMENS);
  run_guarded(trial, (call_guard_t){.inputs = GUARD_AT_END}, "with inputs that end at the end of a page");
  run_guarded(trial, (call_guard_t){.inputs = GUARD_AT_START}, "with inputs that begin at the start of a page");
}

void check_memory_reads(check_t *check) {
  trial_each(check, NULL, false, guard_reads);
}

static void guard_writes(trial_t *trial) {
  trial_add_usual(trial, MOST_SPECIMENS);
  run_guarded(trial, (call_guard_t){.others = GUARD_AT_END}, "with outputs that end at the end of a page");
  run_guarded(trial, (call_guard_t){.others = GUARD_AT_START}, "with outputs that begin at the start of a page");
}

void check_memory_writes(check_t *check) {
  trial_each(check, NULL, false, guard_writes);
}

static void guard_calls(trial_t *trial) {
  trial_add_usual(trial, MOST_SPECIMENS);
  run_guarded(trial, (call_guard_t){.kills = true}, "with tensors that are gone after each call");
}

void check_memory_calls(check_t *check) {
  trial_each(check, NULL, false, guard_calls);
}
