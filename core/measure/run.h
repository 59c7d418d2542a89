// Running whole artifacts in a child process and timing them against each other. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_RUN_H_
#define BYOC_CORE_MEASURE_RUN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYOC_COST_RUN_MAX = 16 };

typedef struct byoc_cost_run_t {
  const char *artifacts[BYOC_COST_RUN_MAX]; // of one model
  size_t artifact_count;
  bool once; // does each run at all?
  int32_t thread_count;
  int64_t budget_ns; // for an artifact's samples
  int64_t limit_ns;  // of all: beyond it two samples each must do
} byoc_cost_run_t;

typedef struct byoc_cost_run_answer_t {
  int32_t status;
  int32_t reserved;
  // The first one's median; the others' are that times the median of their ratio to it, round by round: what slows the
  // machine down for a while slows down both. With one thread it is the processor's time that counts, where the
  // artifacts keep it busy: next to other work that says more.
  double median_ns[BYOC_COST_RUN_MAX];
  double error; // the standard error of those ratios, of the middle one: a share of them; 0 with one artifact
  char message[480];
} byoc_cost_run_answer_t;

// The body of byoc_child_run, on a byoc_cost_run_t and a byoc_cost_run_answer_t. Inputs are byoc_measure_fill's.
void byoc_cost_run(void *self, void *answer);

#endif // BYOC_CORE_MEASURE_RUN_H_
