// SPDX-License-Identifier: Apache-2.0
// Many small programs in one module, so that one run of the C compiler serves all; and the reference, which the
// evaluator computes from each program as it stands, without passes or backends.
#ifndef BYOC_TESTS_EXECUTED_BATCH_H_
#define BYOC_TESTS_EXECUTED_BATCH_H_

#include "arguments.h"
#include "core/compile/build.h"
#include "core/plugin/registry.h"
#include "tests/unit/ops/plausible.h"

enum { BATCH_MOST_RESULTS = 16, BATCH_MOST_INPUTS = 24, BATCH_CASES = 48 };

// A program of one node: the parts of its text, whose names begin with the case's number, and what it must give.
typedef struct case_t {
  const char *name; // for messages: the operator and its version
  char constants[TEXT_SIZE / 2], parameters[TEXT_SIZE / 4], node[TEXT_SIZE], results[TEXT_SIZE / 4], names[512];
  byoc_argument_t inputs[BATCH_MOST_INPUTS], expected[BATCH_MOST_RESULTS];
  size_t input_count, result_count;
  uint32_t ignored; // bit i: result i means nothing
  size_t row;       // of the table
} case_t;

// The module of so many cases; the caller frees it.
char *batch_text(const case_t *const *cases, size_t count);
// What the evaluator makes of the inputs, copied to the arena.
byoc_status_t batch_evaluate(case_t *item, byoc_arena_t *arena, byoc_diag_t *diag);

typedef struct batch_t {
  const byoc_target_list_t *targets;
  const char *folder; // for artifacts
  byoc_switches_t switches;
  case_t cases[BATCH_CASES];
  size_t count, failures; // batches that fail together
} batch_t;

// Adds the case if it can be built for the targets.
byoc_status_t batch_add(batch_t *batch, const case_t *item, byoc_diag_t *diag);
// Runs all cases in one artifact, or each in its own if that fails, and calls `report` with what went wrong, or NULL.
// The batch is empty afterwards.
void batch_run(batch_t *batch, void (*report)(const case_t *item, const char *fault));

#endif // BYOC_TESTS_EXECUTED_BATCH_H_
