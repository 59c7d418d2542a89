// SPDX-License-Identifier: Apache-2.0
// Checks regions and kernels that are new to this machine.
#include "core/compile/checking.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/collage/constraint.h"
#include "core/compile/candidates.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/native.h"
#include "core/ir/describe.h"
#include "core/measure/kernels.h"
#include "core/measure/regions.h"
#include "core/measure/verdict.h"

// The results of one check, counted.
typedef struct tally_t {
  size_t known, right, wrong, left;
  int64_t start_ns, made_ns; // the latter: for code that the build makes too
} tally_t;

static int64_t left_ns(const byoc_checking_t *checking) {
  const int64_t left = (int64_t)(checking->budget_s * 1e9) - checking->spent_ns;
  return left > 0 ? left : 0;
}

static void conclude(byoc_checking_t *checking, const tally_t *tally, const char *what) {
  const int64_t spent_ns = byoc_now_ns() - tally->start_ns - tally->made_ns;
  checking->spent_ns += spent_ns;
  byoc_log(
      BYOC_LOG_INFO,
      "checked %s: %zu right, %zu wrong, %zu found right before, %zu not checked; %.2f s, and %.2f s to make them; "
      "%.1f s of --check-budget left",
      what, tally->right, tally->wrong, tally->known, tally->left, (double)spent_ns / 1e9, (double)tally->made_ns / 1e9,
      (double)left_ns(checking) / 1e9);
}

// ---- regions ----

typedef struct regions_t {
  byoc_checking_t *checking;
  const byoc_target_list_t *targets;
  const byoc_target_t *target;
  byoc_arena_t *arena;
  byoc_diag_t *diag;
  tally_t tally;
  byoc_region_trial_t *trials; // the regions to check
  byoc_digest_t *keys;         // parallel to trials
  const char **reasons;        // of the caller
  size_t *places, count;       // among the caller's functions
} regions_t;

static byoc_status_t add_region(regions_t *r, byoc_function_t *function, size_t place, const char *version) {
  byoc_digest_t key;
  const byoc_target_t *native = byoc_target_list_native(r->targets);
  if (!byoc_cost_can_be_run(function)) {
    r->tally.left += 1;
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_verdict_of_region(function, r->target, native, version, r->diag, &key));
  if (byoc_verdict_is_right(&key)) {
    r->tally.known += 1;
    return BYOC_OK;
  }
  for (size_t i = 0; i < r->count; ++i) {
    if (memcmp(&r->keys[i], &key, sizeof(key)) == 0) return BYOC_OK; // the same as another one
  }
  // Short ones first, so that the time is enough for many.
  const double ns = byoc_region_trial_ns(function);
  size_t at = r->count++;
  for (; at > 0 && byoc_region_trial_ns(r->trials[at - 1].function) > ns; --at) {
    r->trials[at] = r->trials[at - 1];
    r->keys[at] = r->keys[at - 1];
    r->places[at] = r->places[at - 1];
  }
  r->trials[at] = (byoc_region_trial_t){.function = function};
  r->keys[at] = key;
  r->places[at] = place;
  return BYOC_OK;
}

// Leaves out those for which there is no time.
static void limit_regions(regions_t *r) {
  double all_ns = 0;
  size_t count = 0;
  for (; count < r->count; ++count) {
    all_ns += byoc_region_trial_ns(r->trials[count].function);
    if (all_ns > (double)left_ns(r->checking)) break;
  }
  r->tally.left += r->count - count;
  r->count = count;
}

static const char *describe(const byoc_function_t *function, byoc_arena_t *arena) {
  byoc_string_t text;
  byoc_string_init(&text, arena->allocator);
  byoc_function_describe(function, &text);
  const char *copy = text.failed ? NULL : byoc_arena_copy_string(arena, text.data);
  byoc_string_deinit(&text);
  return copy != NULL ? copy : function->name;
}

static byoc_status_t take_verdict(regions_t *r, size_t i) {
  const byoc_region_trial_t *trial = &r->trials[i];
  r->tally.right += trial->is_right;
  r->tally.wrong += trial->is_wrong;
  r->tally.left += !trial->is_right && !trial->is_wrong;
  if (trial->is_right) byoc_verdict_note_right(&r->keys[i]);
  if (!trial->is_wrong) return BYOC_OK;
  byoc_log(BYOC_LOG_WARNING, "the code of %s for %s is not used: %s", r->target->kind->name,
           describe(trial->function, r->arena), trial->message);
  r->reasons[r->places[i]] = byoc_arena_copy_string(r->arena, trial->message);
  return r->reasons[r->places[i]] != NULL ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

static byoc_status_t run_regions(regions_t *r) {
  int64_t spent_ns = 0;
  const byoc_region_trials_t trials = {.trials = r->trials,
                                       .count = r->count,
                                       .target = r->target,
                                       .native = byoc_target_list_native(r->targets),
                                       .build = byoc_build_candidates,
                                       .budget_ns = left_ns(r->checking),
                                       .run_timeout_s = r->checking->run_timeout_s};
  BYOC_RETURN_IF_ERROR(byoc_regions_try(&trials, r->arena->allocator, r->diag, &spent_ns));
  r->tally.made_ns = byoc_now_ns() - r->tally.start_ns - spent_ns;
  for (size_t i = 0; i < r->count; ++i) BYOC_RETURN_IF_ERROR(take_verdict(r, i));
  return BYOC_OK;
}

// Equal ones have one verdict.
static byoc_status_t spread_reasons(const regions_t *r, byoc_function_t *const *functions, size_t count,
                                    const char *version) {
  const byoc_target_t *native = byoc_target_list_native(r->targets);
  for (size_t f = 0; f < count && r->tally.wrong > 0; ++f) {
    byoc_digest_t key;
    if (r->reasons[f] != NULL || !byoc_cost_can_be_run(functions[f])) continue;
    BYOC_RETURN_IF_ERROR(byoc_verdict_of_region(functions[f], r->target, native, version, r->diag, &key));
    for (size_t i = 0; i < r->count; ++i) {
      if (memcmp(&r->keys[i], &key, sizeof(key)) == 0) r->reasons[f] = r->reasons[r->places[i]];
    }
  }
  return BYOC_OK;
}

static byoc_status_t check_regions(void *self, const byoc_target_list_t *targets, const byoc_target_t *target,
                                   byoc_function_t *const *functions, size_t count, byoc_arena_t *arena,
                                   byoc_diag_t *diag, const char **out_reasons) {
  byoc_checking_t *checking = self;
  for (size_t i = 0; i < count; ++i) out_reasons[i] = NULL;
  if (left_ns(checking) == 0 || byoc_target_list_foreign(targets) != NULL || byoc_target_device(target) != kDLCPU) {
    return BYOC_OK;
  }
  regions_t r = {.checking = checking,
                 .targets = targets,
                 .target = target,
                 .arena = arena,
                 .diag = diag,
                 .tally = {.start_ns = byoc_now_ns()},
                 .reasons = out_reasons};
  const char *version = NULL;
  byoc_diag_t why = {0};
  // Without a compiler there is no artifact to check.
  if (byoc_c_compiler_version(byoc_native_compiler(targets), &why, &version) != BYOC_OK) return BYOC_OK;
  r.trials = BYOC_ARENA_ARRAY(arena, byoc_region_trial_t, count);
  r.keys = BYOC_ARENA_ARRAY(arena, byoc_digest_t, count);
  r.places = BYOC_ARENA_ARRAY(arena, size_t, count);
  if (r.trials == NULL || r.keys == NULL || r.places == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) BYOC_RETURN_IF_ERROR(add_region(&r, functions[i], i, version));
  limit_regions(&r);
  byoc_status_t status = r.count > 0 ? run_regions(&r) : BYOC_OK;
  if (status == BYOC_OK) status = spread_reasons(&r, functions, count, version);
  byoc_string_t what;
  byoc_string_init(&what, arena->allocator);
  byoc_string_appendf(&what, "regions of %s", target->kind->name);
  conclude(checking, &r.tally, what.failed ? "regions" : what.data);
  byoc_string_deinit(&what);
  return status;
}

// ---- kernels ----

typedef struct kernels_t {
  byoc_checking_t *checking;
  byoc_arena_t arena;
  byoc_diag_t *diag;
  tally_t tally;
  byoc_kernel_trial_t *trials;
  byoc_digest_t *keys; // parallel to trials
  byoc_bytes_t *objects;
  size_t count, object_count;
} kernels_t;

static const byoc_host_instruction_t *find_call(const byoc_host_program_t *const *programs, size_t program_count,
                                                const byoc_loop_kernel_t *kernel) {
  for (size_t k = 0; k < program_count; ++k) {
    BYOC_HOST_FOR_EACH(i, programs[k]) {
      if (i->kernel != NULL && i->kernel->body == kernel->body) return i;
    }
  }
  return NULL;
}

static byoc_status_t add_unit(kernels_t *k, const byoc_host_program_t *const *programs, size_t program_count,
                              const byoc_compose_kernels_t *unit) {
  const size_t before = k->count;
  for (size_t i = 0; i < unit->count; ++i) {
    byoc_digest_t key;
    const byoc_host_instruction_t *call = find_call(programs, program_count, unit->kernels[i]);
    if (call == NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_verdict_of_kernel(unit->kernels[i], unit, k->diag, &key));
    if (byoc_verdict_is_right(&key)) {
      k->tally.known += 1;
      continue;
    }
    bool is_listed = false;
    for (size_t n = 0; n < k->count && !is_listed; ++n) is_listed = memcmp(&k->keys[n], &key, sizeof(key)) == 0;
    if (is_listed) continue;
    k->trials[k->count] = (byoc_kernel_trial_t){.kernel = unit->kernels[i], .call = call};
    k->keys[k->count++] = key;
  }
  if (k->count > before) k->objects[k->object_count++] = unit->object;
  return BYOC_OK;
}

// Short ones first, so that the time is enough for many.
static void sort_trials(kernels_t *k) {
  for (size_t i = 1; i < k->count; ++i) {
    const byoc_kernel_trial_t trial = k->trials[i];
    const byoc_digest_t key = k->keys[i];
    const double ns = byoc_kernel_trial_ns(&trial);
    size_t at = i;
    for (; at > 0 && byoc_kernel_trial_ns(&k->trials[at - 1]) > ns; --at) {
      k->trials[at] = k->trials[at - 1];
      k->keys[at] = k->keys[at - 1];
    }
    k->trials[at] = trial;
    k->keys[at] = key;
  }
}

static byoc_status_t take_verdicts(kernels_t *k) {
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < k->count; ++i) {
    const byoc_kernel_trial_t *trial = &k->trials[i];
    k->tally.right += trial->verdict == BYOC_KERNEL_RIGHT;
    k->tally.left += trial->verdict == BYOC_KERNEL_UNCHECKED;
    if (trial->verdict == BYOC_KERNEL_RIGHT) byoc_verdict_note_right(&k->keys[i]);
    if (trial->verdict != BYOC_KERNEL_WRONG) continue;
    k->tally.wrong += 1;
    const char *origin = trial->call->origin != NULL ? trial->call->origin : "";
    const bool is_named = origin[0] != '\0';
    status =
        byoc_diag_error(k->diag, BYOC_MISMATCH, "target 'c' computes something else for %s%s%s%s: %s",
                        trial->kernel->description, is_named ? " (" : "", origin, is_named ? ")" : "", trial->message);
  }
  return status;
}

static byoc_status_t check_units(kernels_t *k, const byoc_host_program_t *const *programs, size_t program_count,
                                 const byoc_compose_kernels_t *units, size_t unit_count) {
  size_t most = 0;
  for (size_t i = 0; i < unit_count; ++i) most += units[i].count;
  k->trials = BYOC_ARENA_ARRAY(&k->arena, byoc_kernel_trial_t, most);
  k->keys = BYOC_ARENA_ARRAY(&k->arena, byoc_digest_t, most);
  k->objects = BYOC_ARENA_ARRAY(&k->arena, byoc_bytes_t, unit_count);
  if (k->trials == NULL || k->keys == NULL || k->objects == NULL) return byoc_diag_out_of_memory(k->diag);
  for (size_t i = 0; i < unit_count; ++i) BYOC_RETURN_IF_ERROR(add_unit(k, programs, program_count, &units[i]));
  if (k->count == 0) return BYOC_OK;
  sort_trials(k);
  const byoc_kernel_trials_t trials = {.trials = k->trials,
                                       .count = k->count,
                                       .objects = k->objects,
                                       .object_count = k->object_count,
                                       .compiler = units[0].compiler,
                                       .budget_ns = left_ns(k->checking) - (byoc_now_ns() - k->tally.start_ns)};
  BYOC_RETURN_IF_ERROR(byoc_kernels_try(&trials, k->arena.allocator, k->diag));
  return take_verdicts(k);
}

static byoc_status_t check_kernels(void *self, const byoc_host_program_t *const *programs, size_t program_count,
                                   const byoc_compose_kernels_t *units, size_t unit_count, byoc_diag_t *diag) {
  byoc_checking_t *checking = self;
  if (left_ns(checking) == 0) return BYOC_OK;
  kernels_t k = {.checking = checking, .diag = diag, .tally = {.start_ns = byoc_now_ns()}};
  byoc_arena_init(&k.arena, byoc_allocator_system());
  const byoc_status_t status = check_units(&k, programs, program_count, units, unit_count);
  conclude(checking, &k.tally, "kernels");
  byoc_arena_deinit(&k.arena);
  return status;
}

byoc_checker_t byoc_checking_checker(byoc_checking_t *checking) {
  if (!(checking->budget_s > 0)) return (byoc_checker_t){0};
  return (byoc_checker_t){
      .self = checking, .check_regions = check_regions, .kernels = {.self = checking, .check = check_kernels}};
}
