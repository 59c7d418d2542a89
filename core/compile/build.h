// SPDX-License-Identifier: Apache-2.0
// The facade over the whole pipeline: a build takes a model from its file to an artifact, or to results in this
// process. The command, the tests, and the builders of candidates all compile models through it.
//
// Example:
//   byoc_placing_t placing = {.plan = "collage", .budget_s = BYOC_COST_BUDGET_S};
//   const byoc_build_options_t options = {.targets = &targets, .placer = byoc_placing_placer(&placing)};
//   const byoc_compose_options_t output = {.output = "model.so", .model_name = "model", .keep_header = true};
//   byoc_build_t build;
//   byoc_build_init(&build, &options, allocator);
//   byoc_status_t status = byoc_build_read(&build, "model.onnx", NULL, diag);
//   if (status == BYOC_OK) status = byoc_build_compile(&build, BYOC_BUILD_ALL, diag);
//   if (status == BYOC_OK) status = byoc_build_compose(&build, &output, diag);
//   byoc_build_deinit(&build);
//
// A build gets a placer instead of choosing one, because measured partitioning builds candidates through this facade.
// So links run from core/compile/placing.h (the placers) over core/compile/candidates.h (the builder of candidates)
// down to here, and from all of them down to core/measure.
//
// Options are plain data; their pointers must outlive the build. No function here exits. Errors go to the caller's
// diagnostic; warnings and reports of a build go to core/base/log.h, modules for print_after to standard output. Builds
// share nothing but the caches on disk and the versions of compilers: several threads may each have builds of their
// own, with targets shared among them. The steps come in order, each once: read, compile; then compose, emit and
// evaluate as often as wanted. After a failure a build can only be released.
#ifndef BYOC_CORE_COMPILE_BUILD_H_
#define BYOC_CORE_COMPILE_BUILD_H_

#include "core/compile/lineage.h"
#include "core/compile/pipeline.h"
#include "core/compose/artifact/compose.h"
#include "core/compose/artifact/resolve.h"
#include "core/frontend/onnx_read.h"

typedef struct byoc_build_options_t {
  const byoc_target_list_t *targets; // in order of preference, "c" last
  byoc_placer_t placer;              // place NULL: greedy placement
  int32_t thread_count;              // default of the artifact's contexts; 0: decided when running
  const char *print_after;           // print the module after this pass or step, or after "all"; NULL: never
  const byoc_switches_t *switches;   // passes that are left out (core/pass/pass.h, core/hostir/pass/pass.h); NULL: none
  byoc_build_watcher_t watcher;      // begin NULL: none
  const byoc_host_pair_t *pairs;     // outputs that may be written over inputs (core/hostir/verify/in_place.h)
  size_t pair_count;
  int32_t queue_count;     // queues that each device shares out among the iterations of loops; 0 and 1: one
  const char *stream_axis; // "NAME" or "NAME:parts": compute in loops over the parts of this axis; NULL: do not
  const byoc_variant_dim_t *variants; // dimensions that get several sizes, beside any other (core/compile/variants.h)
  size_t variant_count;
  bool fallback;                        // add plans without devices and engines, for where they cannot start
  bool as_source;                       // the artifact is to be C source
  bool trace;                           // artifacts get the trace entry, and `fused` below is filled
  byoc_op_source_t operators;           // of the domains that models use; load NULL: there is none
  byoc_runtime_values_t runtime_values; // of run-time options, for byoc_build_evaluate; they outlive the build
  byoc_checker_t checker; // looks at the code of regions and kernels (core/compile/checking.h); NULL: no check
} byoc_build_options_t;

// Callers may read all of it and write nothing.
typedef struct byoc_build_t {
  byoc_allocator_t allocator;
  byoc_build_options_t options;
  byoc_graph_module_t *module; // as the last step left it; owned by the build unless it was lent
  bool is_lent, is_simplified;
  const char *path;                            // of the model; NULL: it was read from memory or lent
  byoc_pipeline_result_t result;               // the placement, the plan, the host program: owned by the build
  BYOC_VECTOR(byoc_constant_t *) initializers; // the constants of the model as it was read
  byoc_lineage_t *lineage;                     // of the model as it was read, if the build is traced
  const byoc_fused_t *fused;                   // tensors that no instruction makes
  size_t fused_count;
} byoc_build_t;

// Cannot fail, and allocates nothing.
void byoc_build_init(byoc_build_t *build, const byoc_build_options_t *options, byoc_allocator_t allocator);
// Releases the program, the plan and the module. Accepts one that is all zeros.
void byoc_build_deinit(byoc_build_t *build);

// ---- a model: one of these ----

// Reads a file: ONNX, the text form of a module, or that of a host program, recognised by its name (.byoc, .host) or
// its first words. `options` (symbolic dimensions, may be NULL) are for ONNX: BYOC_INVALID_ARGUMENT if they are given
// for a text. Otherwise the statuses of byoc_onnx_read_file, byoc_graph_parse and byoc_host_program_read. For a host
// program, result.program is there at once, and compiling only plans its memory, if the text has no plan, and verifies
// it.
byoc_status_t byoc_build_read(byoc_build_t *build, const char *path, const byoc_onnx_read_options_t *options,
                              byoc_diag_t *diag);
// The same for an ONNX model in memory, which may be freed afterwards. `name` is for messages.
byoc_status_t byoc_build_read_memory(byoc_build_t *build, const void *data, size_t size_bytes, const char *name,
                                     const byoc_onnx_read_options_t *options, byoc_diag_t *diag);
// Works on a module that the caller keeps. It must outlive the build, which changes it.
void byoc_build_lend(byoc_build_t *build, byoc_graph_module_t *module, bool is_simplified);

// ---- the pipeline ----

// Simplifies, places, generates, lowers and plans, as far as `extent` says. `result` is filled as far as that goes;
// after BYOC_BUILD_ALL it holds a host program. BYOC_CANCELLED if the watcher ended the build.
byoc_status_t byoc_build_compile(byoc_build_t *build, byoc_build_extent_t extent, byoc_diag_t *diag);

// ---- from the host program ----

// Makes an artifact. In `output`, the build sets targets, thread_count and cpu_features itself. The file appears under
// its name only when it is whole.
byoc_status_t byoc_build_compose(const byoc_build_t *build, const byoc_compose_options_t *output, byoc_diag_t *diag);
// Makes an artifact of several models, which `names` tell apart: C identifiers of fewer than BYOC_COMPOSE_ENTRY_BYTES
// bytes, no two the same but for capitals; `count` 0: of one, without a name. If their targets name several processors,
// `builds` has all models for each of these, the best first. At most BYOC_COMPOSE_MOST_ENTRIES in all.
byoc_status_t byoc_build_compose_entries(const byoc_build_t *const *builds, const char *const *names, size_t count,
                                         const byoc_compose_options_t *output, byoc_diag_t *diag);
// Appends the C text of the host program and its kernels to `out`, and behind it, within #if 0, the C sources that
// backends handed back.
byoc_status_t byoc_build_emit_c(const byoc_build_t *build, const byoc_compose_options_t *output, byoc_string_t *out,
                                byoc_diag_t *diag);

// A temporary artifact, in a folder of its own.
typedef struct byoc_build_temporary_t {
  byoc_allocator_t allocator;
  char *folder, *path;
} byoc_build_temporary_t;
byoc_status_t byoc_build_compose_temporary(const byoc_build_t *build, byoc_diag_t *diag,
                                           byoc_build_temporary_t *out_temporary);
void byoc_build_temporary_remove(byoc_build_temporary_t *temporary); // accepts one that is all zeros

// Runs the program in this process, by the evaluator (core/hostir/evaluate/evaluate.h describes the arguments). The
// build must outlive it.
typedef struct byoc_build_evaluation_t {
  byoc_runtime_t runtime; // the libraries that were set up use it; must not move
  byoc_resolver_t *resolver;
  byoc_evaluator_t *evaluator;
} byoc_build_evaluation_t;
byoc_status_t byoc_build_evaluate(const byoc_build_t *build, int32_t thread_count, byoc_diag_t *diag,
                                  byoc_build_evaluation_t *out_evaluation);
void byoc_build_evaluation_end(byoc_build_evaluation_t *evaluation); // accepts one that is all zeros

#endif // BYOC_CORE_COMPILE_BUILD_H_
