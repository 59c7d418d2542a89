// SPDX-License-Identifier: Apache-2.0
// Trials of byoc debug bisect: a model is built and run by a byoc of its own, so that a crash costs only the trial.
#ifndef BYOC_TOOLS_BYOC_DEBUG_COMMAND_H_
#define BYOC_TOOLS_BYOC_DEBUG_COMMAND_H_

#include "core/base/string.h"
#include "session.h"

// The model, and what the user said of it. `session` has no plan.
typedef struct byoc_debug_model_t {
  const char *path;
  byoc_session_options_t session;
  byoc_string_items_t inputs;
  int64_t seed; // of the inputs that are not given
} byoc_debug_model_t;

// A command line that is being made.
typedef struct byoc_debug_command_t {
  byoc_arena_t arena;
  BYOC_VECTOR(const char *) words;
  bool failed; // out of memory
  // Of the last run that went wrong:
  bool is_misuse;   // the command line is wrong
  const char *hint; // how to mend it; NULL: not said
} byoc_debug_command_t;

// byoc NAME MODEL with the user's options; `target`, if it is not NULL, in place of the user's targets. "run" gets the
// inputs too.
void byoc_debug_command_init(byoc_debug_command_t *command, const char *name, const byoc_debug_model_t *model,
                             const char *target);
void byoc_debug_command_deinit(byoc_debug_command_t *command);
void byoc_debug_command_add(byoc_debug_command_t *command, const char *option, const char *value);
// As somebody would type it.
void byoc_debug_command_print(const byoc_debug_command_t *command, byoc_string_t *out);
// Runs it. *out_reason, appended to, stays empty if that worked; else it says what went wrong. Returns only failures to
// start it.
byoc_status_t byoc_debug_command_run(byoc_debug_command_t *command, int64_t timeout_ms, byoc_string_t *out_reason,
                                     byoc_diag_t *diag);
// Runs what nothing can be done without: a failure is an error, "WHAT: the reason", with the status of the command.
byoc_status_t byoc_debug_command_require(byoc_debug_command_t *command, const char *what, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_DEBUG_COMMAND_H_
