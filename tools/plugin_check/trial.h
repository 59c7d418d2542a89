// SPDX-License-Identifier: Apache-2.0
// A trial: the specimens of a plugin's rules on their way through the plugin, and through the reference, which is the
// native target's kernels as they are written, interpreted.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_TRIAL_H_
#define BYOC_TOOLS_PLUGIN_CHECK_TRIAL_H_

#include "core/compile/build.h"
#include "tools/plugin_check/check.h"
#include "tools/plugin_check/specimen.h"

// One tensor for each port of a program.
typedef struct tensors_t {
  size_t count;
  char (*names)[64];
  byoc_dtype_t *dtypes;
  size_t *element_counts, *sizes_bytes;
  void **data; // each with 64 bytes behind its end, which belong to nobody
} tensors_t;

typedef struct trial_t {
  check_t *check;
  byoc_target_registry_t kinds;
  byoc_target_list_t targets;  // one of the plugin's first, "c" last
  const byoc_target_t *target; // the plugin's
  specimens_t specimens;
  specimen_data_t data; // what is among the inputs
  bool counts_calls;    // the rule is about calls of functions, which its watch counts; otherwise about regions
} trial_t;

// Calls `body` for each target list that is to be checked. The trial has no specimens yet. `kinds`: NULL: those of
// check->registry. `all`: otherwise only the first list for each of the plugin's targets. With `all`, each of them is
// checked in a process of its own. A rule for which the plugin took nothing of the specimens is skipped.
void trial_each(check_t *check, const byoc_target_registry_t *kinds, bool all, void (*body)(trial_t *trial));

// Adds at most `limit` specimens of the rules. In front of the first ones stand the cases of --cases, all of them, and
// then there are so many fewer specimens, but at least half of them.
void trial_add(trial_t *trial, const specimen_wish_t *wish, size_t limit);
// The usual parameters of trials: f32, all variants, weights as constants and as inputs; and what is taken of
// bytes. `limit`: of each kind.
void trial_add_usual(trial_t *trial, size_t limit);

// Some specimens as a module, taken along the pipeline.
typedef struct trial_build_t {
  byoc_graph_module_t *module;
  byoc_build_t build;
} trial_build_t;
// `targets`: of the trial, or the reference's. trial_close in any case.
byoc_status_t trial_open(trial_t *trial, size_t first, size_t count, const byoc_target_list_t *targets,
                         byoc_placer_t placer, byoc_build_extent_t extent, byoc_allocator_t allocator,
                         byoc_diag_t *diag, trial_build_t *out_build);
void trial_close(trial_build_t *build);

// Computes the specimens by the reference.
byoc_status_t trial_expect(trial_t *trial, size_t first, size_t count, byoc_diag_t *diag, tensors_t *out_expected);
// Runs what was built to its end, in this process. `watch` may be NULL.
byoc_status_t trial_run(trial_t *trial, const trial_build_t *built, const byoc_call_watch_t *watch, byoc_diag_t *diag,
                        tensors_t *out_outputs);
// Notes a failure for each specimen whose results are not as expected; returns their number.
size_t trial_compare(trial_t *trial, const tensors_t *outputs, const tensors_t *expected, const char *way);
// Builds, runs and compares all specimens, first together and, if that fails, one by one. `watch` may be NULL.
void trial_values(trial_t *trial, byoc_placer_t placer, const byoc_call_watch_t *watch, const char *way);

// How many operators of each specimen stand in functions of the plugin's target, and how many do not. The module is
// placed. `taken` and `left` are by specimen.
typedef struct trial_tally_t {
  size_t *claimed, *left;
  size_t count;
} trial_tally_t;
void trial_tally(trial_t *trial, const trial_build_t *built, trial_tally_t *out_tally);
void trial_tally_deinit(trial_tally_t *tally);

// ---- tensors ----
void tensors_init(tensors_t *tensors, byoc_host_buffer_t *const *buffers, size_t count);
void tensors_deinit(tensors_t *tensors); // accepts one that is all zeros
void tensors_fill(const trial_t *trial, tensors_t *tensors);
void tensors_spoil(tensors_t *tensors); // 0xA5 everywhere

#endif // BYOC_TOOLS_PLUGIN_CHECK_TRIAL_H_
