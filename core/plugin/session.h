// SPDX-License-Identifier: Apache-2.0
// The state of one run of a generate hook. Modules that the hook adds are kept here, and reach the graph module only if
// the hook succeeds.
#ifndef BYOC_CORE_PLUGIN_SESSION_H_
#define BYOC_CORE_PLUGIN_SESSION_H_

#include <pthread.h>

#include "core/plugin/codegen.h"

// A report, about one function or (index -1) about all.
typedef struct byoc_session_note_t {
  const char *name, *json;
  int64_t index;
} byoc_session_note_t;

struct byoc_codegen_t {
  byoc_graph_module_t *module;
  const byoc_target_t *target;
  byoc_function_t *const *functions;
  size_t function_count;
  const byoc_codegen_services_t *services;
  byoc_codegen_report_t *report;
  byoc_allocator_t allocator;
  byoc_arena_t arena;                        // has the hook's views and the tables below
  byoc_codegen_result_t *results;            // one per function
  const byoc_type_t ***result_types;         // one list per function: its result types before the hook
  const char **bound_symbols;                // one per function: of bind_packed, else NULL
  size_t *result_counts;                     // lengths of those lists
  BYOC_VECTOR(byoc_runtime_module_t *) made; // one reference each
  BYOC_VECTOR(const char *) paths;           // of files that the hook handed over by their paths; in `arena`
  BYOC_VECTOR(byoc_session_note_t) reports;
  size_t report_count;    // with those of parts
  uint64_t report_bytes;  // of their content
  bool is_preparing;      // the prepare hook is running: functions cannot be answered yet
  const char *prepared;   // why no answer of this session is cached: prepare did more than edit; NULL: it did not
  bool is_part;           // of a run function by function (parts.c): it sees no modules but its own
  bool cannot_edit;       // the hook runs beside others
  pthread_mutex_t *lock;  // for what such hooks share; NULL: there are none
  byoc_diag_t hook_error; // from api->error
  byoc_diag_t failure;    // of the first call that makes the run fail, even if the hook returns success
  byoc_diag_t last;       // of the last failed call from which the hook may recover
};

// The index of a function that this run is to implement; otherwise -1.
int64_t byoc_session_find(const byoc_codegen_t *session, const byoc_function_t *function);
// The index of a function that has no answer yet; otherwise -1, with the reason recorded.
int64_t byoc_session_claim(byoc_codegen_t *session, const byoc_function_t *function, byoc_diag_t *diag);
void byoc_session_answer(byoc_codegen_t *session, int64_t index, byoc_codegen_answer_t answer);
// Ends an API call that must not fail: keeps its diagnostic as the run's failure. Returns `status`.
int32_t byoc_session_settle(byoc_codegen_t *session, byoc_status_t status, const byoc_diag_t *diag);
// Ends an API call that a hook may recover from.
int32_t byoc_session_note(byoc_codegen_t *session, byoc_status_t status, const byoc_diag_t *diag);

const char *byoc_session_symbol(const byoc_function_t *function);

// ---- session_files.c: files of modules, and libraries that they need ----
// Adds files, or blobs, and notes in the session (may be NULL) the paths of those that were read.
byoc_status_t byoc_session_add_files(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                     const byoc_file_content_t *files, uint32_t count, uint32_t stride, bool are_blobs,
                                     byoc_diag_t *diag);
byoc_status_t byoc_session_add_needed(byoc_runtime_module_t *module, byoc_text_list_t needed, byoc_diag_t *diag);

// ---- session_hooks.c: the life of a session ----
// Makes a session without modules, which byoc_session_destroy releases.
byoc_status_t byoc_session_create(byoc_graph_module_t *module, const byoc_target_t *target,
                                  byoc_function_t *const *functions, size_t function_count,
                                  const byoc_codegen_services_t *services, byoc_codegen_report_t *report,
                                  byoc_diag_t *diag, byoc_codegen_t **out_session);
void byoc_session_destroy(byoc_codegen_t *session); // accepts NULL
// Call the hooks, and check what they did. After _generate, each function has an answer.
byoc_status_t byoc_session_prepare(byoc_codegen_t *session, byoc_diag_t *diag);
byoc_status_t byoc_session_generate(byoc_codegen_t *session, byoc_diag_t *diag);

// ---- parts.c: runs function by function ----
bool byoc_session_runs_in_parts(const byoc_target_t *target);
// Hooks run at once on so many threads at most; 0: as many as byoc_job_count says.
void byoc_session_limit_threads(int32_t count);
// Calls the hooks for each function of the session, and fills the session with their answers and modules, or with what
// the cache has.
byoc_status_t byoc_session_run_parts(byoc_codegen_t *session, byoc_diag_t *diag);

// ---- session_modules.c: runtime modules ----
// Makes a module whose name is free; it is released by one of the two calls below, which take over its reference.
byoc_status_t byoc_session_create_module(byoc_codegen_t *session, byoc_runtime_module_kind_t kind, const char *name,
                                         byoc_diag_t *diag, byoc_runtime_module_t **out_module);
// Keeps the module if it could be filled, otherwise releases it.
byoc_status_t byoc_session_end_module(byoc_codegen_t *session, byoc_runtime_module_t *module, byoc_status_t status,
                                      byoc_diag_t *diag);
// Copies what a module states that it fits. BYOC_INVALID_DATA if nothing could compare it: `can_fit` says whether the
// engine or the driver of that name has the function.
byoc_status_t byoc_session_copy_fits(const char *fits, byoc_runtime_module_t *module, byoc_diag_t *diag);
byoc_status_t byoc_session_check_fits(const byoc_runtime_module_t *module, const char *whose, const char *name,
                                      bool can_fit, byoc_diag_t *diag);
// Like byoc_session_end_module, but if an equal module exists, this run uses that one.
byoc_status_t byoc_session_end_shared(byoc_codegen_t *session, byoc_runtime_module_t *module, byoc_status_t status,
                                      byoc_diag_t *diag);
byoc_status_t byoc_session_add_constants(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                         const byoc_tensor_data_t *constants, uint32_t count, uint32_t stride,
                                         byoc_diag_t *diag);
byoc_status_t byoc_session_add_packed(byoc_codegen_t *session, int64_t index, const byoc_packed_binding_t *binding,
                                      byoc_diag_t *diag);
byoc_status_t byoc_session_add_json(byoc_codegen_t *session, int64_t index, const byoc_json_module_t *json,
                                    byoc_diag_t *diag);
byoc_status_t byoc_session_add_c_source(byoc_codegen_t *session, const byoc_c_source_t *source, byoc_diag_t *diag);
byoc_status_t byoc_session_add_static_library(byoc_codegen_t *session, const byoc_static_library_t *library,
                                              byoc_diag_t *diag);
// Reads a static library into a module of that kind, and checks its symbols. Without a session, announced code of that
// name is not used.
byoc_status_t byoc_session_fill_library(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                        const byoc_static_library_t *library, byoc_diag_t *diag);
byoc_status_t byoc_session_add_engine(byoc_codegen_t *session, const byoc_engine_module_t *engine, byoc_diag_t *diag);
// `name`, or name_1, name_2 ... ; NULL if out of memory.
const char *byoc_session_free_name(byoc_codegen_t *session, const char *name);
// The modules of earlier runs that this one may share: the first so many of its graph module.
size_t byoc_session_earlier_count(const byoc_codegen_t *session);
// ---- session_equal.c: equal modules become one ----
// Are the two made of the same, apart from what is of a function alone (JSON, constants, launches)?
bool byoc_session_same_content(const byoc_runtime_module_t *a, const byoc_runtime_module_t *b);
// Takes over the modules that a part made to the session. Equal ones become one, and names that are taken become
// others.
byoc_status_t byoc_session_absorb(byoc_codegen_t *session, byoc_codegen_t *part, byoc_diag_t *diag);
// Checks the new modules as a whole (symbols are defined, each once; engines are there) and puts all of them or none
// into the graph module.
byoc_status_t byoc_session_commit(byoc_codegen_t *session, byoc_diag_t *diag);

// ---- session_code.c: announced code for other machines ----
// Puts the announced code of the engine, driver or static library `name` into the module, if this build needs it: for
// another machine, for C source, or if the module has no files of its own. *out_is_filled tells whether it did; the
// module's own files are then not used. `what` is "engine", "driver" or "static library".
byoc_status_t byoc_session_fill_code(byoc_codegen_t *session, byoc_runtime_module_t *module, const char *what,
                                     const char *name, bool has_files, byoc_diag_t *diag, bool *out_is_filled);

// ---- session_reports.c: what a vendor wants seen ----
byoc_status_t byoc_session_add_report(byoc_codegen_t *session, const byoc_function_t *function,
                                      const byoc_report_t *report, byoc_diag_t *diag);
// Makes modules of this run of the reports, except those about functions that were declined.
byoc_status_t byoc_session_keep_reports(byoc_codegen_t *session, byoc_diag_t *diag);

// ---- session_report_limits.c ----
// Counts a report of that size, within the limits of a run.
byoc_status_t byoc_session_count_report(byoc_codegen_t *session, uint64_t size_bytes, byoc_diag_t *diag);
// The same for the report of a part. Sets *out_is_known if the run has it already: parts may add equal reports about
// all functions.
byoc_status_t byoc_session_count_part_report(byoc_codegen_t *session, const byoc_runtime_module_t *report,
                                             byoc_diag_t *diag, bool *out_is_known);

// ---- session_options.c: run-time options of engines and drivers ----
byoc_status_t byoc_session_declare_options(byoc_codegen_t *session, const char *owner, const byoc_option_t *options,
                                           uint32_t count, uint32_t stride, byoc_diag_t *diag);

// ---- session_device.c: drivers, device code and launches ----
byoc_status_t byoc_session_add_driver(byoc_codegen_t *session, const byoc_driver_module_t *driver, byoc_diag_t *diag);
byoc_status_t byoc_session_add_device_module(byoc_codegen_t *session, const byoc_device_code_module_t *code,
                                             byoc_diag_t *diag);
byoc_status_t byoc_session_add_kernels(byoc_codegen_t *session, int64_t index, const byoc_kernel_binding_t *binding,
                                       byoc_diag_t *diag);
// Sets the virtual devices of operands and results of this run's functions that are bound to kernels.
byoc_status_t byoc_session_place_boundaries(byoc_codegen_t *session, byoc_diag_t *diag);

// ---- host_edit.c ----
// Checks a rewritten function: it must be sorted, typed and valid, and must have the results that it had before.
byoc_status_t byoc_session_check_body(byoc_codegen_t *session, int64_t index, byoc_diag_t *diag);

#endif // BYOC_CORE_PLUGIN_SESSION_H_
