// SPDX-License-Identifier: Apache-2.0
// One run of a backend's generate hook.
#ifndef BYOC_CORE_PLUGIN_CODEGEN_H_
#define BYOC_CORE_PLUGIN_CODEGEN_H_

#include "byoc/plugin.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/base/vector.h"
#include "core/ir/graph.h"
#include "core/module/runtime_module.h"
#include "core/targets/target.h"

// Services of the build for every run, from layers above this one.
typedef struct byoc_codegen_services_t {
  void *self;
  // Compiles sources to objects in the given order, each allocated from `allocator`; after an error there are none.
  byoc_status_t (*compile)(void *self, const byoc_compile_request_t *requests, size_t count, byoc_allocator_t allocator,
                           byoc_diag_t *diag, byoc_bytes_t *out_objects);
  byoc_status_t (*measure)(void *self, const byoc_measure_request_t *request, byoc_allocator_t allocator,
                           byoc_diag_t *diag, double *out_median_ns);
  // Compiles module->sources by the compiler of the artifact, an object for each, in memory of `allocator`; after an
  // error there are none.
  byoc_status_t (*compile_code)(void *self, const byoc_runtime_module_t *module, byoc_allocator_t allocator,
                                byoc_diag_t *diag, byoc_bytes_t *out_objects);
  const char *triple;          // of another machine that the artifact is for; NULL: it is for this one
  const char *cache_directory; // NULL: cache_get finds nothing and cache_put keeps nothing
  const char *cpu_features;    // separated by spaces
  const char *cpu_vendor;      // byoc_cpu_vendor; NULL: the artifact is for processors of any maker
  bool as_source;              // the artifact is to be C source
  // Hooks that run at once call it from several threads.
  void (*progress)(void *self, const char *what, uint64_t done, uint64_t total);
  // Runs passes over these functions of one module. NULL: this run has no passes.
  byoc_status_t (*run_passes)(void *self, byoc_function_t *const *functions, size_t function_count, const char *passes,
                              byoc_diag_t *diag);
  // Appends what identifies the compiler of `compile`, for keys of cached answers. NULL: there is none.
  byoc_status_t (*describe_compiler)(void *self, byoc_diag_t *diag, byoc_string_t *out);
} byoc_codegen_services_t;

// The outcome for one function.
typedef enum byoc_codegen_answer_t {
  BYOC_CODEGEN_UNANSWERED,
  BYOC_CODEGEN_BOUND,       // packed or JSON: a runtime module names it; becomes extern
  BYOC_CODEGEN_HANDED_BACK, // its rewritten body replaces its calls
  BYOC_CODEGEN_DECLINED,    // its original body goes back, and the next backend may claim it, or some of its nodes
} byoc_codegen_answer_t;

typedef struct byoc_codegen_result_t {
  byoc_function_t *function;
  byoc_codegen_answer_t answer;
  const char *reason;        // DECLINED
  byoc_node_t *const *nodes; // DECLINED: only these, of the function and its composites; NULL: all
  size_t node_count;
  const char *precision, *lapse; // of report_precision; NULL: it was not called, there is none
} byoc_codegen_result_t;

typedef struct byoc_codegen_report_t {
  BYOC_VECTOR(byoc_codegen_result_t) results; // one per function, in module order
  byoc_string_t required_cpu_features;        // separated by spaces; runs add to it
  byoc_status_t reported;                     // the status that a hook reported by codegen->error; BYOC_OK: none
  byoc_arena_t arena;
} byoc_codegen_report_t;
void byoc_codegen_report_init(byoc_codegen_report_t *report, byoc_allocator_t allocator);
void byoc_codegen_report_deinit(byoc_codegen_report_t *report);

// Runs the hooks of `target`'s backend, prepare and then generate, over `functions` (those with its Compiler
// attribute): over all of them, or, if the backend's flags allow it, function by function on several threads, unless
// the cache has the answer. The runtime modules that it adds are checked and appended to module->runtime_modules; if
// the hook fails, none of them stays. A function without an answer, or with two, is an error that names the backend and
// the function.
byoc_status_t byoc_codegen_run(byoc_graph_module_t *module, const byoc_target_t *target,
                               byoc_function_t *const *functions, size_t function_count,
                               const byoc_codegen_services_t *services, byoc_diag_t *diag,
                               byoc_codegen_report_t *report);

#endif // BYOC_CORE_PLUGIN_CODEGEN_H_
