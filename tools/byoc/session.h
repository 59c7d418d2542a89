// SPDX-License-Identifier: Apache-2.0
// The first steps of most subcommands: plugins, targets, a model.
#ifndef BYOC_TOOLS_BYOC_SESSION_H_
#define BYOC_TOOLS_BYOC_SESSION_H_

#include "calibration.h"
#include "core/compile/setup.h"
#include "tools/common/options.h"

// Options that several subcommands share; put their rows into a table with the macros below.
typedef struct byoc_session_options_t {
  byoc_string_items_t targets, plugins, preferred, dims, disabled, aliases;
  const char *triple;   // of the machine that the artifact is for; NULL: this one
  size_t level;         // of the processors that -mcpu names (core/targets/target.h)
  bool strict, lenient; // how models are read
  byoc_string_items_t optional_inputs;
  byoc_string_items_t given_inputs; // of a run: those with an initialiser are optional, too
  bool verbose;
  const char *print_after;
  const char *plan;                     // "collage", "greedy" or a file; NULL: the subcommand's default
  const char *cost;                     // "measure" or "estimate"
  double cost_budget_s;                 // 0: the default
  const char *error, *calibrate;        // NULL: not given
  const char *check_budget;             // seconds; NULL: the default
  const char *size_price;               // percent; NULL: the default
  int64_t collage_nodes, collage_depth; // limits of enumerated candidates; 0: not given
  int64_t thread_count;                 // default of the artifact's contexts; 0: decided when running
  byoc_thread_list_t threads;           // that costs are measured with; none: one thread
  const char *layout;                   // "blocked" (if the targets take such) or "plain"; NULL: blocked
  bool installed_by_default;            // without --target: what is installed (core/compile/setup.h) instead of "c"
  bool shows_steps;                     // on a terminal: which step of a build goes on
  bool greedy_by_default;               // for subcommands that are not about speed
  int64_t queue_count;                  // of each device; 0: not given
  const char *stream_axis;              // "NAME" or "NAME:parts"; NULL: not given
  bool fallback;                        // add plans without devices and engines
  byoc_runtime_values_t runtime_values; // of run-time options, for models that are evaluated
  bool trace;                           // artifacts can report what each instruction makes
  bool as_source;                       // the artifact is C source (core/compile/setup.h)
  const char *shard;                    // "megatron" or a file (core/pass/shard_spec.h); NULL: not given
  int64_t rank, rank_count;             // of --shard; count 0: not given
} byoc_session_options_t;

#define BYOC_PREFER_ROW(options)                                                                                       \
  {                                                                                                                    \
    "prefer", 0, BYOC_OPT_LIST, &(options).preferred, "PATH",                                                          \
        "if two plugins announce one target, use the one of this file or folder"                                       \
  }
// `target_default`: what a command takes without --target.
#define BYOC_TARGET_ROWS(options, target_default)                                                                      \
  {"target",           't',      BYOC_OPT_LIST,                                                                        \
   &(options).targets, "TARGET", "targets in order of preference: 'cutlass; c' (default: " target_default ")"},        \
      {"plugin", 0, BYOC_OPT_LIST, &(options).plugins, "FILE", "load this plugin too"}, BYOC_PREFER_ROW(options),      \
      {"print-after",          0,      BYOC_OPT_STRING,                                                                \
       &(options).print_after, "PASS", "print the module or host program after a pass, or after 'all'"},               \
      {"disable-pass", 0, BYOC_OPT_LIST, &(options).disabled, "PASS", "do not run this pass"}, {                       \
    "verbose", 'v', BYOC_OPT_FLAG, &(options).verbose, "", "report each step"                                          \
  }
#define BYOC_DIM_ROW(options)                                                                                          \
  {                                                                                                                    \
    "dim", 0, BYOC_OPT_LIST, &(options).dims, "NAME=VALUE",                                                            \
        "give a symbolic dimension its value; NAME=1,128: also compile variants for these sizes beside the dynamic "   \
        "model"                                                                                                        \
  }
// For commands that read models: what to do with those that break rules.
#define BYOC_STRICT_ROWS(options)                                                                                      \
  {"strict",          0,  BYOC_OPT_FLAG,                                                                               \
   &(options).strict, "", "refuse a model that breaks a rule of ONNX which most engines ignore"},                      \
      {"optional-input",                                                                                               \
       0,                                                                                                              \
       BYOC_OPT_LIST,                                                                                                  \
       &(options).optional_inputs,                                                                                     \
       "NAME",                                                                                                         \
       "let runs override this input, which has a value in the model (an initialiser); '*': all such inputs"},         \
  {                                                                                                                    \
    "lenient", 0, BYOC_OPT_FLAG, &(options).lenient, "", "ignore attributes that their operators do not have"          \
  }
#define BYOC_ALIAS_ROW(options)                                                                                        \
  { "alias", 0, BYOC_OPT_LIST, &(options).aliases, "OUT=IN", "let the output overwrite the input: 'new_*=old_*'" }
#define BYOC_SHARD_ROWS(options)                                                                                       \
  {"shard",          0,      BYOC_OPT_STRING,                                                                          \
   &(options).shard, "SPEC", "shard the model over ranks: megatron, or a file with the mesh and the shards"},          \
  {                                                                                                                    \
    "ranks", 0, BYOC_OPT_RANKS, &(options).rank_count, "N", "number of ranks"                                          \
  }
#define BYOC_AXIS_ROWS(options)                                                                                        \
  {"stream-axis",                                                                                                      \
   0,                                                                                                                  \
   BYOC_OPT_STRING,                                                                                                    \
   &(options).stream_axis,                                                                                             \
   "AXIS[:PARTS]",                                                                                                     \
   "compute in parts along a dimension, NAME or INPUT.0, where operators allow it "                                    \
   "(default: one index per part)"},                                                                                   \
  {                                                                                                                    \
    "queues", 0, BYOC_OPT_QUEUES, &(options).queue_count, "N",                                                         \
        "alternate the device's parts of --stream-axis among N queues (default: 1)"                                    \
  }
#define BYOC_CHECK_ROW(options)                                                                                        \
  {                                                                                                                    \
    "check-budget", 0, BYOC_OPT_STRING, &(options).check_budget, "SECONDS",                                            \
        "time to compare code that is new to this machine with the evaluator; 0: none (default: "                      \
        "$BYOC_CHECK_BUDGET, else 2)"                                                                                  \
  }
#define BYOC_FALLBACK_ROW(options)                                                                                     \
  {                                                                                                                    \
    "fallback", 0, BYOC_OPT_FLAG, &(options).fallback, "",                                                             \
        "add plans without devices and without engines, which run if one of the first plan cannot start"               \
  }
// For commands that are about speed.
#define BYOC_INSTALLED_TARGETS "$BYOC_TARGET, else the best that are installed"
#define BYOC_COLLAGE_PLAN      "collage if targets are named, else greedy"
// `plan_default`: when there is no --plan.
#define BYOC_PLAN_ROWS(options, plan_default)                                                                          \
  {"plan",          0,      BYOC_OPT_STRING,                                                                           \
   &(options).plan, "PLAN", "collage (least cost), greedy or a saved plan, FILE.json (default: " plan_default ")"},    \
      {"cost", 0, BYOC_OPT_STRING, &(options).cost, "HOW", "costs for collage: measure (default) or estimate"},        \
      {"cost-budget",    0,                                                                                            \
       BYOC_OPT_SECONDS, &(options).cost_budget_s,                                                                     \
       "SECONDS",        "time for measuring; if given, the proof of a plan may use all of it (default: 60)"},         \
      {"size-price",    0,                                                                                             \
       BYOC_OPT_STRING, &(options).size_price,                                                                         \
       "PERCENT",       "cost of a MiB of the artifact, in percent of the plan's time (default: 0.05)"},               \
      {"collage-nodes",          0,   BYOC_OPT_GROUP,                                                                  \
       &(options).collage_nodes, "N", "collage enumerates groups of up to N operators (1 to 64, default: 6)"},         \
      {"collage-depth",          0,   BYOC_OPT_GROUP,                                                                  \
       &(options).collage_depth, "N", "with chains of up to N operators (1 to 64, default: 6)"},                       \
  {                                                                                                                    \
    "layout", 0, BYOC_OPT_STRING, &(options).layout, "HOW",                                                            \
        "tensors between regions: blocked where it is faster (default), or plain"                                      \
  }

// For commands that make plans by cost.
#define BYOC_ERROR_ROWS(options)                                                                                       \
  {"error",          0,        BYOC_OPT_STRING,                                                                        \
   &(options).error, "NUMBER", "compute in lower precision where it is faster, up to this relative error of outputs"}, \
  {                                                                                                                    \
    "calibrate", 0, BYOC_OPT_STRING, &(options).calibrate, "PATH",                                                     \
        "inputs that errors are measured on: a .npz file, an array or a folder (default: generated ones)"              \
  }

typedef struct byoc_session_t {
  byoc_allocator_t allocator;
  byoc_plugin_registry_t *registry;
  byoc_arena_t texts;            // of the settings
  byoc_setup_options_t settings; // what the options say
  byoc_setup_t setup;
  const char *calibrate;      // the path of samples
  byoc_calibration_t samples; // of --error
} byoc_session_t;

// BYOC_INVALID_ARGUMENT if an option is given that is for compiling a model, which `what` ("an artifact") is not.
byoc_status_t byoc_session_refuse_options(const byoc_session_options_t *options, const char *what, byoc_diag_t *diag);
// Reads the options, which must outlive the session, and finds the plugins (byoc_setup_find_plugins).
byoc_status_t byoc_session_open(const byoc_session_options_t *options, byoc_diag_t *diag, byoc_session_t *session);
void byoc_session_close(byoc_session_t *session);
// The steps of core/compile/setup.h. The session must not move between the first and the last one.
byoc_status_t byoc_session_parse_targets(byoc_session_t *session, byoc_diag_t *diag);
byoc_status_t byoc_session_begin(byoc_session_t *session, byoc_diag_t *diag);
byoc_status_t byoc_session_read_model(byoc_session_t *session, const char *path, byoc_diag_t *diag);
byoc_status_t byoc_session_compile(byoc_session_t *session, byoc_build_extent_t extent, byoc_diag_t *diag);
byoc_status_t byoc_session_compose(byoc_session_t *session, const byoc_compose_options_t *output, byoc_diag_t *diag);
byoc_status_t byoc_session_compose_temporary(byoc_session_t *session, byoc_diag_t *diag,
                                             byoc_build_temporary_t *out_temporary);
// One line for each of the first candidates that were measured and cannot be used: a crash, a hang, a wrong result.
void byoc_session_format_unusable(const byoc_session_t *session, byoc_string_t *out);
#endif // BYOC_TOOLS_BYOC_SESSION_H_
