// Running artifacts of one function in a child process: check, then time. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_COST_RUN_H_
#define BYOC_CORE_COMPOSE_COST_RUN_H_

#include <stdint.h>

typedef struct byoc_cost_run_t {
  const char *artifact;
  const char *rival;  // another one of the same function, timed in turns with it; NULL: none
  const char *expect; // file with the results of the first run to compare with; NULL: not checked
  const char *record; // file to write the results to, without timing; NULL: none
  int32_t thread_count;
  int64_t limit_ns; // to stay well within
} byoc_cost_run_t;

typedef struct byoc_cost_run_answer_t {
  int32_t status; // BYOC_MISMATCH: the results differ from what was expected
  int32_t reserved;
  double median_ns, rival_ns;
  char message[480];
} byoc_cost_run_answer_t;

// The body of byoc_child_run, on a byoc_cost_run_t and a byoc_cost_run_answer_t. Inputs are byoc_measure_fill's.
void byoc_cost_run(void *self, void *answer);

#endif // BYOC_CORE_COMPOSE_COST_RUN_H_
