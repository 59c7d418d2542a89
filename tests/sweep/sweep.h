// SPDX-License-Identifier: Apache-2.0
// Runs cases in every way that a model can be run, and counts what was right.
#ifndef BYOC_TESTS_SWEEP_SWEEP_H_
#define BYOC_TESTS_SWEEP_SWEEP_H_

#include "tests/sweep/cases.h"

// How a case is run: with sizes that are known, with open ones of two sizes each, as C source that the plain compiler
// builds (both of these), and by the evaluator (both, too).
typedef enum sweep_form_t { SWEEP_STATIC, SWEEP_OPEN, SWEEP_SOURCE, SWEEP_EVALUATED, SWEEP_FORMS } sweep_form_t;
extern const char *const sweep_form_names[SWEEP_FORMS];

typedef struct sweep_counts_t {
  int64_t results[SWEEP_FORMS], wrong[SWEEP_FORMS], failed[SWEEP_FORMS]; // failed: not built, or not run
} sweep_counts_t;

enum { SWEEP_MOST_TARGETS = 16, SWEEP_MOST_OPERATORS = 64 };
typedef sweep_counts_t sweep_table_t[SWEEP_MOST_OPERATORS][SWEEP_MOST_TARGETS];

typedef struct sweep_options_t {
  bool is_quick;
  bool forms[SWEEP_FORMS];
  const char *const *targets;
  size_t target_count, batch, every; // every: one case of so many
  const char *operators;             // only those whose name begins so; NULL: all
  int64_t shown;                     // wrong results that are still told one by one
} sweep_options_t;

// Runs the cases as graphs of one model for each target, and adds to the counts of operator and target.
void sweep_run(const sweep_case_t *cases, size_t count, sweep_options_t *options, sweep_table_t *table);

#endif // BYOC_TESTS_SWEEP_SWEEP_H_
