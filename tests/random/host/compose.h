// SPDX-License-Identifier: Apache-2.0
// Mutants as artifacts.
#ifndef BYOC_TESTS_RANDOM_HOST_COMPOSE_H_
#define BYOC_TESTS_RANDOM_HOST_COMPOSE_H_

#include "core/hostir/program/program.h"
#include "tests/support/support.h"

// What the evaluator was given, and what it gave. Buffers for a static program, arguments for a dynamic one.
typedef struct composed_t {
  void **inputs, **outputs;
  const byoc_argument_t *input_arguments, *arguments;
  byoc_status_t status;
} composed_t;

// Does it need no code of backends?
bool can_be_composed(const byoc_host_program_t *program);
// NULL, or what is different or cannot be done.
const char *compose_and_run(const byoc_host_program_t *program, const composed_t *wanted);

#endif // BYOC_TESTS_RANDOM_HOST_COMPOSE_H_
