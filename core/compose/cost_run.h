// Running artifacts of one function in a child process: check, then time. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_COST_RUN_H_
#define BYOC_CORE_COMPOSE_COST_RUN_H_

#include <stddef.h>
#include <stdint.h>

enum { BYOC_COST_RUN_MAX = 16 };

typedef struct byoc_cost_run_t {
  const char *artifacts[BYOC_COST_RUN_MAX]; // of one function or model, timed in turns
  size_t artifact_count;
  const char *expect; // file with the results of the first one's first run to compare with; NULL: not checked
  double relative_error; // that the target states of its floats: byoc_target_relative_error
  const char *record; // file to write the first one's results to, without timing; NULL: none
  int32_t thread_count;
  int64_t budget_ns; // for an artifact's samples; 0: 60 ms
  int64_t limit_ns;  // to stay well within
} byoc_cost_run_t;

typedef struct byoc_cost_run_answer_t {
  int32_t status; // BYOC_MISMATCH: the results differ from what was expected
  int32_t reserved;
  double median_ns[BYOC_COST_RUN_MAX];
  char message[480];
} byoc_cost_run_answer_t;

// The body of byoc_child_run, on a byoc_cost_run_t and a byoc_cost_run_answer_t. Inputs are byoc_measure_fill's.
void byoc_cost_run(void *self, void *answer);

#endif // BYOC_CORE_COMPOSE_COST_RUN_H_
