// SPDX-License-Identifier: Apache-2.0
// Watches the functions of a plugin while the evaluator calls them: their tensors and workspaces lie in guarded memory.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_CALLS_H_
#define BYOC_TOOLS_PLUGIN_CHECK_CALLS_H_

#include "core/hostir/evaluate/evaluate.h"
#include "tools/plugin_check/guard.h"

typedef struct call_guard_t {
  check_t *check;
  bool seals_inputs;            // inputs and constants may only be read
  guard_place_t inputs, others; // where inputs, and outputs and workspaces, lie
  bool kills;                   // nothing of a call may be touched in the next one
} call_guard_t;

// Names each function as it is called, and says what status it returns; nothing else.
byoc_call_watch_t calls_named(check_t *check);
// Calls each function with guarded copies. `guard` must outlive the evaluator.
byoc_call_watch_t calls_guarded(call_guard_t *guard);

#endif // BYOC_TOOLS_PLUGIN_CHECK_CALLS_H_
