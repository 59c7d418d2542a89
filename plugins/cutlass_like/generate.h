// generate.h - the backend's hook: every function of the codegen becomes C, all of it one static library.
#ifndef BYOC_CUTLASS_GENERATE_H_
#define BYOC_CUTLASS_GENERATE_H_

#include "byoc/plugin.h"
#include "problem.h"

// What the target's options say.
typedef struct byoc_cutlass_options_t {
  byoc_cutlass_isa_t isa;
  int32_t max_threads;
  int32_t tune_trials;
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

// Chooses unit->plan by measuring, at most options->tune_trials candidates; a choice made before comes from the cache.
// A candidate that does not compile, fails or hangs is skipped; the default stands where none is better.
int32_t byoc_cutlass_tune(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_cutlass_options_t *options,
                          byoc_cutlass_unit_t *unit);

// byoc_backend_t.generate; `self` is a byoc_host_t pointer.
int32_t byoc_cutlass_generate(void *self, byoc_codegen_t *codegen);

#endif // BYOC_CUTLASS_GENERATE_H_
