// SPDX-License-Identifier: Apache-2.0
// An artifact as the subcommands use it: loaded, with its ports and one context.
#ifndef BYOC_TOOLS_BYOC_ARTIFACT_H_
#define BYOC_TOOLS_BYOC_ARTIFACT_H_

#include "byoc/communicator.h"
#include "core/base/foreign.h"
#include "core/loader/loader.h"
#include "tensors.h"
#include "tools/common/options.h"

typedef struct byoc_artifact_run_t {
  const char *kind, *name; // "model", "relu.onnx", if it was compiled for this run only; else "artifact" and its path
  byoc_loaded_artifact_t artifact;
  byoc_context_t *context;
  byoc_ports_t inputs, outputs;
} byoc_artifact_run_t;

// Loads, creates a context with `thread_count` threads (0: the artifact's choice) and allocates the ports.
// `entry` of an artifact of several models; NULL: the first, or the only one.
byoc_status_t byoc_artifact_run_open(const char *path, const char *entry, int32_t thread_count, byoc_diag_t *diag,
                                     byoc_artifact_run_t *run);
// The same with all options of a context. `model`: what the user calls it, where the artifact is a temporary one; NULL:
// it is the user's.
byoc_status_t byoc_artifact_run_open_with(const char *path, const char *entry, const char *model,
                                          const byoc_context_options_t *options, byoc_diag_t *diag,
                                          byoc_artifact_run_t *run);

// For commands that take an artifact.
#define BYOC_ENTRY_ROW(variable, what)                                                                                 \
  { "entry", 0, BYOC_OPT_STRING, &(variable), "NAME", what " of an artifact of several models (default: the first)" }
// Run-time options of the engines and drivers in an artifact.
#define BYOC_RUNTIME_OPTION_ROW(variable)                                                                              \
  {                                                                                                                    \
    "runtime-option", 0, BYOC_OPT_LIST, &(variable), "NAME=VALUE",                                                     \
        "set an option of an engine or a driver inside; byoc inspect lists them"                                       \
  }
typedef struct byoc_runtime_words_t {
  byoc_option_value_t items[BYOC_MAX_LIST];
  uint32_t count;
  byoc_arena_t arena;
} byoc_runtime_words_t;
// Splits the words, and sets the options of the context to them. The words outlive the call that makes the context.
// BYOC_INVALID_ARGUMENT for a word without '='.
byoc_status_t byoc_runtime_words_read(const byoc_string_items_t *words, byoc_diag_t *diag,
                                      byoc_runtime_words_t *out_words);
void byoc_runtime_words_deinit(byoc_runtime_words_t *words);
// One more context of the loaded artifact, to be ended before the run is closed.
byoc_status_t byoc_artifact_run_context(const byoc_artifact_run_t *run, const byoc_context_options_t *options,
                                        byoc_diag_t *diag, byoc_context_t **out_context);
void byoc_artifact_run_end_context(const byoc_artifact_run_t *run, byoc_context_t *context); // NULL: nothing to do
// True if its shapes are known only at run time.
bool byoc_artifact_is_dynamic(const byoc_artifact_t *table);
void byoc_artifact_run_close(byoc_artifact_run_t *run);
// Its functions run from now on: a crash ends the command with an error message (core/base/foreign.h), and so does a
// write into an input that no output may overwrite. Returns what ran before, for byoc_foreign_leave.
byoc_foreign_t byoc_artifact_run_enter(const byoc_artifact_run_t *run);
// One inference from the inputs to the outputs; if the artifact is dynamic, it also sets the outputs' shapes.
byoc_status_t byoc_artifact_run_once(byoc_artifact_run_t *run, byoc_diag_t *diag);
// The same, with the time. Results of a dynamic artifact stay in its context, as in programs that call it, and are not
// copied to the outputs.
byoc_status_t byoc_artifact_run_timed(byoc_artifact_run_t *run, byoc_diag_t *diag, int64_t *out_duration_ns);

// One inference, reported to a sink. The artifact must have the entry (byoc_trace_map_of_artifact checks that).
byoc_status_t byoc_artifact_run_traced(byoc_artifact_run_t *run, byoc_trace_sink_t sink, void *argument,
                                       byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_ARTIFACT_H_
