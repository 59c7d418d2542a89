// SPDX-License-Identifier: Apache-2.0
// byoc/compiler.h - the compiler as a library: a model becomes an artifact, as a file or in memory.
//
// Example:
//   byoc_compiler_t *compiler = NULL;
//   if (byoc_compiler_create(NULL, &compiler, NULL) != BYOC_OK) return 1;
//   const char *const targets[] = {"cutlass", "c"};
//   const byoc_compiler_build_t build = {.struct_size = sizeof(build), .model_path = "model.onnx",
//                                        .output = "model.so", .targets = targets, .target_count = 2};
//   const byoc_compiler_result_t *result = NULL;
//   if (byoc_compiler_build(compiler, &build, &result) != BYOC_OK) puts(result->diagnostics[0]->message);
//   byoc_compiler_result_destroy(result);
//   byoc_compiler_destroy(compiler);
//
// Link with -lbyoc: pkg-config has it as byoc-compiler, CMake's find_package(byoc) as byoc::compiler. byoc/artifact.h
// describes the artifacts that it makes. They need neither this library nor any other.
//
// Versions: a struct begins with its size, as the side that fills it knows it. The library reads fields that both sides
// know; new fields come at the end, and zero in them gives the behaviour before they existed. Functions are added,
// never changed, as long as the library's name (libbyoc.so.0) stays. This has nothing to do with the ABI of plugins.
//
// Threads: every function may be called from any thread. Builds of one compiler run one after the other; builds of
// several compilers run at the same time. A build needs the stack of an ordinary thread, 8 MiB.
//
// The process: a build starts the C compiler, and children that measure. It installs no signal handlers and prints
// nothing. Plugins run in this process, so one that crashes ends it. Environment variables count as for the byoc
// command: BYOC_PLUGIN_PATH, BYOC_CACHE_DIR, BYOC_PLAN, BYOC_TARGET, TMPDIR.
#ifndef BYOC_COMPILER_H_
#define BYOC_COMPILER_H_

#include <stdint.h>

#include "byoc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// So that a program with hidden default visibility exports nothing of this header by accident.
#define BYOC_COMPILER_EXPORT __attribute__((visibility("default")))

typedef struct byoc_compiler_t byoc_compiler_t;

// ---- diagnostics ----

enum {
  BYOC_COMPILER_ERROR = 1,   // why a call failed; one for each call that fails, the last of its list
  BYOC_COMPILER_WARNING = 2, // the call succeeds, but perhaps not as intended
  BYOC_COMPILER_NOTE = 3,    // a step of a build
};

// All strings are UTF-8 and never NULL; they may be "".
typedef struct byoc_compiler_diagnostic_t {
  uint32_t struct_size; // of the library
  int32_t severity;     // BYOC_COMPILER_*
  int32_t status;       // BYOC_* (byoc/status.h) of an error
  int32_t line;         // of `file`, from 1; 0: none
  int32_t column;       // from 1
  uint32_t reserved;    // 0
  const char *message;  // the error: "operator 'Foo' of domain 'com.example' is not known"
  const char *context;  // the work, outermost first: "building model.onnx: reading node 'n1'"
  const char *hint;     // the remedy
  const char *file;     // the file with the error
  const char *source;   // that line of it
} byoc_compiler_diagnostic_t;

// The progress of a build. Strings live until the callback returns.
typedef struct byoc_compiler_progress_t {
  uint32_t struct_size; // of the library
  uint32_t reserved;    // 0
  const char *step;     // "read", "simplify", "place", "generate", "lower", "compose"; others may come
  const char *title;    // of a long task within the step, or ""
  const char *detail;   // the present work, or ""
  int64_t done, total;  // of that task; total 0: not known
} byoc_compiler_progress_t;

// ---- compilers ----

typedef struct byoc_compiler_options_t {
  uint32_t struct_size;       // sizeof(byoc_compiler_options_t) of the caller
  uint32_t reserved;          // 0
  const char *const *plugins; // files of plugins to load in addition to those that are found
  uint64_t plugin_count;
  const char *const *preferred; // files or folders; their plugins are preferred to others with the same target
  uint64_t preferred_count;
  const char *plugin_folder; // of the installed plugins; NULL: byoc/plugins beside the library
} byoc_compiler_options_t;

// The library's version, "0.1.0". Static storage.
BYOC_COMPILER_EXPORT const char *byoc_compiler_version(void);

typedef struct byoc_compiler_result_t byoc_compiler_result_t;

// Finds the plugins; their code runs when one of their targets is first asked for. `options` may be NULL. `out_result`
// may be NULL too; otherwise it is as for byoc_compiler_build, and has the diagnostics only. BYOC_NOT_FOUND,
// BYOC_INVALID_DATA, BYOC_PERMISSION, BYOC_VERSION or BYOC_TOOL if a plugin that `options` names cannot be used,
// BYOC_INVALID_ARGUMENT, BYOC_OUT_OF_MEMORY; *out_compiler is then NULL.
BYOC_COMPILER_EXPORT int32_t byoc_compiler_create(const byoc_compiler_options_t *options,
                                                  byoc_compiler_t **out_compiler,
                                                  const byoc_compiler_result_t **out_result);
// No build may be running. Accepts NULL.
BYOC_COMPILER_EXPORT void byoc_compiler_destroy(byoc_compiler_t *compiler);

// ---- builds ----

// Gives a symbolic dimension of the inputs a value. A dimension with several values stays symbolic, and the model is
// also compiled for each value, as by byoc build --dim NAME=1,128.
typedef struct byoc_compiler_dim_t {
  const char *name;
  int64_t value; // from 0
} byoc_compiler_dim_t;

// An output that may overwrite an input. A star in both names stands for any characters, the same in both.
typedef struct byoc_compiler_alias_t {
  const char *output, *input;
} byoc_compiler_alias_t;

// A model of an artifact of several, which share its weights and its code.
typedef struct byoc_compiler_entry_t {
  const char *name; // a C identifier; no two are the same but for capitals
  // As in byoc_compiler_build_t:
  const char *model_path;
  const void *model_data;
  uint64_t model_size_bytes;
  const char *data_folder;
} byoc_compiler_entry_t;

enum {
  BYOC_COMPILER_READ_USUAL = 0,   // a common mistake that can be understood is a warning
  BYOC_COMPILER_READ_STRICT = 1,  // a violation of the ONNX specification is an error
  BYOC_COMPILER_READ_LENIENT = 2, // an attribute that its operator does not have is left out, with a warning
};

// All zeros but for struct_size and the model: the defaults. The library reads it during the call only. A list has at
// most 16,384 items, and no string in it is NULL.
typedef struct byoc_compiler_build_t {
  uint32_t struct_size; // sizeof(byoc_compiler_build_t) of the caller
  // The default number of threads of a context, at most 256; costs are measured with as many. 0: a context uses all
  // processors, and costs are measured with one thread.
  int32_t thread_count;
  // The model: a file (ONNX, or a .byoc or .host text), or ONNX in memory.
  const char *model_path; // NULL: it is in memory
  const void *model_data;
  uint64_t model_size_bytes;
  const char *data_folder; // folder of the external data of a model in memory; NULL: it has none
  const char *name;        // in the artifact, a C identifier; NULL: that of the model's file, or "model"
  // The path of the artifact: a shared object, or by the end of its name a static library (.a), an object (.o) or a
  // folder of C source (.c). Its header is written beside it, model.so and model.h, or into the folder. All files
  // appear whole, or none does. NULL: the result has the shared object and its header.
  const char *output;
  const char *const *targets; // "cutlass -tune=1", in order of preference, as for byoc build; none: its defaults
  uint64_t target_count;
  const byoc_compiler_dim_t *dims;
  uint64_t dim_count;
  const byoc_compiler_alias_t *aliases;
  uint64_t alias_count;
  const char *const *disabled_passes;
  uint64_t disabled_pass_count;
  const char *plan; // "collage", "greedy" or a saved plan, FILE.json; NULL: $BYOC_PLAN, collage where targets are named
  const char *cost; // source of collage's costs: "measure" or "estimate"; NULL: measure
  double cost_budget_s;    // time for measuring; 0: 60
  const char *layout;      // between regions: "blocked" where it is faster, or "plain"; NULL: blocked
  const char *stream_axis; // "NAME" or "NAME:parts": compute part by part along this dimension; NULL: do not
  int32_t queue_count;     // of each device, for the parts; 0: 1
  // 0 or 1:
  uint32_t profile;    // the artifact has a profile entry
  uint32_t trace;      // and a trace entry
  uint32_t fallback;   // and plans without devices and engines
  uint32_t huge_pages; // weights are copied to huge pages when a context is made
  int32_t verbosity;   // the least severe diagnostics to keep: BYOC_COMPILER_*; 0: warnings
  // Callbacks; any may be NULL. They are called during byoc_compiler_build, one at a time, mostly on its thread, and
  // may call byoc_compiler_cancel, but no other function with this compiler.
  void *self;
  // Called when a step begins, and from time to time during long ones. If it does not return 0, the build is cancelled.
  int32_t (*progress)(void *self, const byoc_compiler_progress_t *progress);
  // Called with each diagnostic as soon as it is known. It lives as long as the result.
  void (*diagnostic)(void *self, const byoc_compiler_diagnostic_t *diagnostic);
  // The place of the constants: "internal" (in the artifact's data), "appended" (after its code), "external" (in a file
  // beside it, model.weights) or "FILE.weights", which several artifacts share. NULL: internal, and from 1.5 GiB on
  // external. An artifact in memory has them inside.
  const char *weights;
  const char *triple; // of the machine that the artifact is for, "aarch64-linux-gnu"; NULL: this one
  // The price of a MiB of the artifact for plan "collage", in percent of the plan's time, as "0.1"; "0": none. NULL:
  // 0.05.
  const char *size_price;
  // Several models instead of the one above, as by byoc build --entry; with several processors (-mcpu=...,...) at most
  // 32 programs in all.
  const byoc_compiler_entry_t *entries;
  uint64_t entry_count;
  // Numbers of threads, rising, up to 8: a plan by measured costs is made for each, and a context uses the plan for its
  // threads. None: costs are measured with thread_count.
  const int32_t *plan_threads;
  uint64_t plan_thread_count;
  int32_t reading;     // strictness of the reader, as by byoc build --strict and --lenient: BYOC_COMPILER_READ_*
  uint32_t reserved_2; // 0
  // Inputs with a value in the model (an initialiser) that runs may give another one: optional inputs, as by byoc build
  // --optional-input. "*" is for all of them.
  const char *const *optional_inputs;
  uint64_t optional_input_count;
  // Seconds for checking code that is new to this machine against the evaluator, as by byoc build --check-budget. 0:
  // $BYOC_CHECK_BUDGET, or 2; below 0: nothing is checked.
  double check_budget_s;
} byoc_compiler_build_t;

// The result of a call, with its diagnostics. Strings and bytes live until it is destroyed.
struct byoc_compiler_result_t {
  uint32_t struct_size;                                 // of the library
  int32_t status;                                       // the status that the call returned
  const byoc_compiler_diagnostic_t *const *diagnostics; // in the order in which they came
  uint64_t diagnostic_count;
  // The artifact and its header, if they went to no file; NULL and 0 otherwise.
  const void *artifact;
  uint64_t artifact_size_bytes;
  const char *header; // ended by a NUL
  uint64_t header_size_bytes;
  // What was placed where, and why: the JSON that byoc build --save-plan writes and `plan` of a build reads. "" if the
  // build did not come that far.
  const char *plan;
  const char *placement; // in one line: "cutlass 119 operators in 54 regions, c 3 operators"
  // The same for each program, if the artifact has several: all entries for the best processor, then for the next one.
  // The two fields above are those of the first.
  const char *const *plans;
  const char *const *placements;
  uint64_t plan_count;
};

// Compiles a model. *out_result is NULL only with BYOC_OUT_OF_MEMORY; after any other failure it has the diagnostics,
// the last of which is the error: BYOC_INVALID_ARGUMENT for wrong options, BYOC_NOT_FOUND for a missing file,
// BYOC_INVALID_DATA for a damaged model, BYOC_UNSUPPORTED if no target can compute an operator, BYOC_TOOL if the C
// compiler fails, BYOC_CANCELLED, BYOC_IO, BYOC_OUT_OF_MEMORY, or a plugin's status. The caller destroys it.
BYOC_COMPILER_EXPORT int32_t byoc_compiler_build(byoc_compiler_t *compiler, const byoc_compiler_build_t *build,
                                                 const byoc_compiler_result_t **out_result);
BYOC_COMPILER_EXPORT void byoc_compiler_result_destroy(const byoc_compiler_result_t *result); // accepts NULL

// Makes running and waiting builds of this compiler return BYOC_CANCELLED, usually within a tenth of a second: at their
// next step, or as soon as a running C compiler or measurement is ended. No files are left behind. Later builds are not
// affected. Safe in a signal handler.
BYOC_COMPILER_EXPORT void byoc_compiler_cancel(byoc_compiler_t *compiler);

#ifdef __cplusplus
}
#endif
#endif // BYOC_COMPILER_H_
