// SPDX-License-Identifier: Apache-2.0
// generate.h - the backend's hook: every function of the codegen becomes C, all of it one static library.
#ifndef BYOC_CUTLASS_GENERATE_H_
#define BYOC_CUTLASS_GENERATE_H_

#include <stdatomic.h>

#include "byoc/plugin.h"
#include "codegen/options.h"
#include "patterns/match.h"
#include "plan/plan.h"

// `self` of the hooks points to it. The plugin lives as long as its host, so all calls of the hook in a build share a
// budget.
typedef struct byoc_cutlass_state_t {
  const byoc_host_t *host;
  _Atomic int64_t tuned_us; // spent on measuring so far
} byoc_cutlass_state_t;

// Constants of the model that are passed unchanged, behind a function's parameters: data or weights. There is at most
// one per operand: data, weights, values or zero point, mask or factor, two of the cache.
enum { BYOC_CUTLASS_MOST_PLAIN = 6 };
typedef struct byoc_cutlass_plain_t {
  byoc_value_t *items[BYOC_CUTLASS_MOST_PLAIN];
  uint32_t count;
} byoc_cutlass_plain_t;

// One distinct problem: functions that compute the same thing share its code.
typedef struct byoc_cutlass_unit_t {
  byoc_cutlass_problem_t problem;
  byoc_cutlass_plan_t plan;
  byoc_function_t *function;  // the first that needs it
  byoc_cutlass_plain_t plain; // constants of that function
  uint64_t identity;          // hash of the target and of the code of the default plan
  char symbol[40]; // made from the identity: the same problem has the same source in every build and is compiled once
} byoc_cutlass_unit_t;

// Chooses how the match's operands are multiplied: words.dot. Returns why this is not the precision that the options
// ask for, in static storage; NULL: it is, or they ask for none.
const char *byoc_cutlass_choose_dot(const byoc_cutlass_options_t *options, byoc_cutlass_match_t *match);

// The precision of a problem: "f32", "int8", "bf16 weights, f32 sums".
enum { BYOC_CUTLASS_PRECISION_TEXT = 48 };
void byoc_cutlass_describe_precision(const byoc_cutlass_problem_t *problem, char text[BYOC_CUTLASS_PRECISION_TEXT]);

// Packed weights and tables of a problem of words. `weights`: f32 ones times their channel's factor; NULL if the match
// has bytes. False if out of memory.
bool byoc_cutlass_words_constants(const byoc_cutlass_match_t *match, const byoc_cutlass_plan_t *plan,
                                  const float *weights, int32_t *packed, int32_t *tables);

// Chooses unit->plan by measuring at most options->tune_trials candidates, and no more of them after `seconds`
// (INFINITY: no limit; 0 or less: none at all). An earlier choice comes from the cache. A candidate that does not
// compile, fails or hangs is skipped; if none is better, the default stays.
int32_t byoc_cutlass_tune(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_cutlass_options_t *options,
                          double seconds, byoc_cutlass_unit_t *unit);

// A clock for budgets, in microseconds.
int64_t byoc_cutlass_clock_us(void);

// byoc_backend_t.generate; `self` starts with a byoc_cutlass_state_t.
int32_t byoc_cutlass_generate(void *self, byoc_codegen_t *codegen);

#endif // BYOC_CUTLASS_GENERATE_H_
