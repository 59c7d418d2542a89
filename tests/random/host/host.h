// SPDX-License-Identifier: Apache-2.0
// Mutants of host programs: what the verifier accepts must run.
//
// seeds.c collects valid programs as texts; mutate.c, mutate_buffers.c and mutate_order.c change one; run.c evaluates
// it; main.c does so many times in child processes and counts.
#ifndef BYOC_TESTS_RANDOM_HOST_HOST_H_
#define BYOC_TESTS_RANDOM_HOST_HOST_H_

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

// ---- seeds ----

typedef struct seed_t {
  char *name; // its file
  char *text; // planned and verified
} seed_t;

typedef struct seeds_t {
  seed_t *data;
  size_t count, capacity;
} seeds_t;

// The programs of tests/ir, tests/rows and tests/fuzz, and those that the modules beside this file become.
void seeds_collect(seeds_t *seeds);
// A file that holds a host program or a module, perhaps as a fixture; not one that is refused, or large.
void seeds_add(seeds_t *seeds, const char *path);
void seeds_free(seeds_t *seeds);

// ---- mutants ----

typedef struct mutation_t {
  byoc_test_random_t *random;
  byoc_host_program_t *program;
} mutation_t;

// Changes a program once. It may break every rule of the verifier, but can be printed. False if out of memory.
bool mutate(byoc_host_program_t *program, byoc_test_random_t *random);

// ---- for the files of mutations ----

// Tries one change; false if the program offers no place for it.
typedef bool (*mutator_t)(mutation_t *m);
extern const mutator_t buffer_mutators[]; // end with a NULL
extern const mutator_t order_mutators[];
size_t below(mutation_t *m, size_t limit); // 0 <= x < limit
bool chance(mutation_t *m, size_t percent);
byoc_host_instruction_t *pick_instruction(mutation_t *m); // NULL: there is none
byoc_host_buffer_t *pick_buffer(mutation_t *m);
// One that could stand where `buffer` stands, most of the time; `buffer` may be NULL.
byoc_host_buffer_t *pick_like(mutation_t *m, const byoc_host_buffer_t *buffer);
byoc_dim_t pick_dim(mutation_t *m);

// ---- runs ----

typedef enum outcome_t {
  OUTCOME_RAN,        // to its end
  OUTCOME_STOPPED,    // it reported a mistake of the data
  OUTCOME_OPEN,       // a kernel whose indices depend on data left its buffer, or left a part of a result as it was
  OUTCOME_UNPREPARED, // the evaluator refused the program: it has no plan, or calls what is not here
  OUTCOME_WRONG,      // a finding; `reason` says which
  OUTCOME_COUNT
} outcome_t;

// Evaluates a verified program on small inputs made from `seed`, with several bytes where memory is undefined. With
// `composes`, holds an artifact against that, too, and clears it unless that was possible.
outcome_t run_program(const byoc_host_program_t *program, uint64_t seed, bool *composes, char *reason,
                      size_t reason_size);
// Runs host passes over the text of a program that ran: it must give the same outputs. Else a finding, and the reason.
outcome_t run_passes(const byoc_host_program_t *program, const char *text, const char *passes, uint64_t seed,
                     char *reason, size_t reason_size);
// Do a kernel's indices depend on nothing but its symbols and loops, and fit its signature for all values of the
// symbols?
bool kernel_is_closed(const byoc_loop_kernel_t *kernel);

#endif // BYOC_TESTS_RANDOM_HOST_HOST_H_
