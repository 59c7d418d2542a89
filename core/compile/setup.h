// SPDX-License-Identifier: Apache-2.0
// A build from plain options: plugins, targets, partitioning, passes, dimensions. The command and libbyoc both use it:
// they make these options of words of a command line, or of structs.
//
// Example:
//   byoc_setup_options_t options = {.targets = words, .target_count = 1, .plan = "greedy"};
//   byoc_setup_t setup = {0};
//   byoc_status_t status = byoc_setup_find_plugins(&plugins, allocator, diag, &registry);
//   if (status == BYOC_OK) status = byoc_setup_open(&setup, &options, registry, allocator, diag);
//   if (status == BYOC_OK) status = byoc_setup_parse_targets(&setup, &options, diag);
//   if (status == BYOC_OK) status = byoc_setup_read_file(&setup, &options, "model.onnx", diag);
//   if (status == BYOC_OK) status = byoc_setup_compile(&setup, BYOC_BUILD_ALL, diag);
//   if (status == BYOC_OK) status = byoc_build_compose(&setup.build, &output, diag);
//   byoc_setup_close(&setup);
//   byoc_plugin_registry_destroy(registry);
#ifndef BYOC_CORE_COMPILE_SETUP_H_
#define BYOC_CORE_COMPILE_SETUP_H_

#include "core/compile/build.h"
#include "core/compile/checking.h"
#include "core/compile/placing.h"
#include "core/plugin/registry.h"

// All zeros: the defaults. Its pointers must outlive the setup.
typedef struct byoc_setup_options_t {
  const char *prefix;         // prefix of option names in messages: "--" for a command line; NULL: none
  const char *const *targets; // in order of preference; none: "c", or see the next field
  size_t target_count;
  bool installed_by_default;   // no targets: those of $BYOC_TARGET, else those of BYOC_DEFAULT_TARGETS (a setting of
                               // CMake) that are installed, placed greedily
  const char *triple;          // of the machine that the artifact is for, "aarch64-linux-gnu"; NULL: this one
  size_t level;                // of the processors that -mcpu names (core/targets/target.h)
  const char *const *disabled; // passes that are left out
  size_t disabled_count;
  const byoc_onnx_dim_binding_t *dims; // values of symbolic dimensions
  size_t dim_count;
  const byoc_variant_dim_t *variants; // dimensions that get several sizes, and stay open (core/compile/variants.h)
  size_t variant_count;
  byoc_onnx_strictness_t strictness;
  const char *const *optional_inputs; // with an initialiser, as in byoc_onnx_read_options_t
  size_t optional_input_count;
  const char *const *given_inputs; // the same; names of others are left aside
  size_t given_input_count;
  const char *data_folder;       // of a model in memory, where its external data is; NULL: it has none
  const byoc_host_pair_t *pairs; // outputs that may be written over inputs
  size_t pair_count;
  const char *print_after; // as in byoc_build_options_t
  const char *plan;        // "collage", "greedy" or a .json file; NULL: $BYOC_PLAN, or collage where targets are named
  bool greedy_by_default;  // then greedy instead of collage
  const char *cost;        // "measure" or "estimate"; NULL: measure
  double cost_budget_s;    // 0: the default
  double check_budget_s;   // for checking code that is new to this machine; 0: $BYOC_CHECK_BUDGET, or the default;
                           // below 0: nothing is checked
  const char *error;       // "1e-2": the error budget, above 0 and at most 1; NULL: there is none
  const char *size_price;  // percent of a plan's time that a MiB of the artifact is worth; NULL: the default
  int64_t collage_nodes;   // limits of enumerated candidates; 0: the default
  int64_t collage_depth;
  int64_t thread_count;                 // default of the artifact's contexts; 0: decided when running
  byoc_thread_list_t threads;           // that costs are measured with; none: one thread
  const char *layout;                   // "blocked" (if targets claim such layouts) or "plain"; NULL: blocked
  int64_t queue_count;                  // of each device; 0: one
  const char *stream_axis;              // "NAME" or "NAME:parts"; NULL: none
  bool fallback;                        // add plans without devices and engines
  byoc_runtime_values_t runtime_values; // as in byoc_build_options_t
  bool trace;                           // the artifact can report the results of each instruction
  bool as_source;               // it is C source for any processor: none of the installed targets but "c" by default
  const char *shard;            // "megatron" or a file (core/pass/shard_spec.h); NULL: none
  int64_t rank, rank_count;     // of `shard`; count 0: not given
  byoc_build_watcher_t watcher; // begin NULL: none
} byoc_setup_options_t;

typedef struct byoc_setup_t {
  byoc_allocator_t allocator;
  byoc_plugin_registry_t *registry; // the caller's
  byoc_target_list_t targets;
  bool are_default_targets; // the caller named none
  byoc_placing_t placing;
  byoc_checking_t checking;
  byoc_switches_t switches; // passes that are left out
  byoc_build_t build;
} byoc_setup_t;

// Finds the plugins: at `paths`, in $BYOC_PLUGIN_PATH, then in the folder `installation` or, if that is NULL, in the
// one beside this program or library (core/plugin/installation.h).
byoc_status_t byoc_setup_find_plugins(const byoc_plugin_options_t *plugins, byoc_allocator_t allocator,
                                      byoc_diag_t *diag, byoc_plugin_registry_t **out_registry);

// The steps, in this order. The setup must not move between the first and the last one; the registry outlives it.
// BYOC_INVALID_ARGUMENT for options that are wrong.
byoc_status_t byoc_setup_open(byoc_setup_t *setup, const byoc_setup_options_t *options,
                              byoc_plugin_registry_t *registry, byoc_allocator_t allocator, byoc_diag_t *diag);
byoc_status_t byoc_setup_parse_targets(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag);
// Reads the seconds of a check_budget_s: "0" is none. `option` is for the message of BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_setup_read_check_budget(const char *option, const char *text, byoc_diag_t *diag,
                                           double *out_check_budget_s);
// Begins a build with these options, as reading a model does too.
byoc_status_t byoc_setup_begin(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag);
// Begins a build and reads its model (byoc_build_read, byoc_build_read_memory).
byoc_status_t byoc_setup_read_file(byoc_setup_t *setup, const byoc_setup_options_t *options, const char *path,
                                   byoc_diag_t *diag);
byoc_status_t byoc_setup_read_memory(byoc_setup_t *setup, const byoc_setup_options_t *options, const void *data,
                                     size_t size_bytes, byoc_diag_t *diag);
// Runs the pipeline, and logs the operators and regions of each target.
byoc_status_t byoc_setup_compile(byoc_setup_t *setup, byoc_build_extent_t extent, byoc_diag_t *diag);
// "cutlass 119 operators in 54 regions, c 3 operators".
void byoc_setup_format_placement(const byoc_setup_t *setup, byoc_string_t *out);
void byoc_setup_close(byoc_setup_t *setup); // accepts one that is all zeros

// BYOC_INVALID_ARGUMENT if the model's name, given by `option`, is no C identifier of fewer than `limit_bytes` bytes:
// it becomes the beginning of C names. NULL is fine.
byoc_status_t byoc_setup_check_name(const char *option, const char *name, size_t limit_bytes, byoc_diag_t *diag);
// The same of the entries of an artifact, which must differ in more than capitals, and fit in with so many processors.
byoc_status_t byoc_setup_check_entries(const char *option, const char *const *names, size_t count, byoc_diag_t *diag);
byoc_status_t byoc_setup_check_programs(size_t entry_count, size_t level_count, byoc_diag_t *diag);
// "dir/model.onnx" → "model".
void byoc_model_name(const char *path, char *buffer, size_t size);

#endif // BYOC_CORE_COMPILE_SETUP_H_
