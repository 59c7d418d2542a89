// generate.h - the backend's hook: every function of the codegen becomes C, all of it one static library.
#ifndef BYOC_CUTLASS_GENERATE_H_
#define BYOC_CUTLASS_GENERATE_H_

#include <stdatomic.h>

#include "byoc/plugin.h"
#include "problem.h"

// What the hooks' `self` points to. The plugin lives as long as its host: a build's calls of the hook share a budget.
typedef struct byoc_cutlass_state_t {
  const byoc_host_t *host;
  _Atomic int64_t tuned_us; // spent on measuring so far
} byoc_cutlass_state_t;

// What the target's options say.
typedef struct byoc_cutlass_options_t {
  byoc_cutlass_isa_t isa;
  int32_t max_threads;
  int32_t tune_trials;  // for each shape; INT32_MAX where only the budget ends them
  int32_t tune_seconds; // for all shapes of this process; 0: no limit
  int32_t optimisation; // -O
  bool winograd;
  const char *compiler; // NULL: the host's
} byoc_cutlass_options_t;

// One distinct problem: functions that compute the same thing share its code.
typedef struct byoc_cutlass_unit_t {
  byoc_cutlass_problem_t problem;
  byoc_cutlass_plan_t plan;
  byoc_function_t *function; // the first that needs it; gives the symbol
  uint64_t identity;         // hash of the text that the default plan gives
} byoc_cutlass_unit_t;

// Flags for the compiler, in a buffer of their own.
typedef struct byoc_cutlass_flags_t {
  const char *items[32];
  uint64_t count;
  char buffer[256];
} byoc_cutlass_flags_t;

void byoc_cutlass_flags_init(byoc_cutlass_flags_t *flags, const byoc_cutlass_options_t *options);

// Chooses unit->plan by measuring: at most options->tune_trials candidates, and none after `seconds`, but where that is
// 0; a choice made before comes from the cache. A candidate that does not compile, fails or hangs is skipped; the
// default stands where none is better.
int32_t byoc_cutlass_tune(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_cutlass_options_t *options,
                          double seconds, byoc_cutlass_unit_t *unit);

// A clock for budgets, in microseconds.
int64_t byoc_cutlass_clock_us(void);

// byoc_backend_t.generate; `self` starts with a byoc_cutlass_state_t.
int32_t byoc_cutlass_generate(void *self, byoc_codegen_t *codegen);

#endif // BYOC_CUTLASS_GENERATE_H_
