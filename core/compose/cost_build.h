// From one function to something that runs, in a child process (core/compose/child.h). Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_COST_BUILD_H_
#define BYOC_CORE_COMPOSE_COST_BUILD_H_

#include "core/ir/graph.h"
#include "core/target/target.h"

typedef struct byoc_cost_build_t {
  const byoc_function_t *function;
  const byoc_target_t *target;
  const byoc_target_t *native; // "c"; may be `target`
  int32_t thread_count;
  const char *folder; // where temporary files may be left: the parent removes it
  const char *output; // the artifact, or what the evaluator computed
  bool evaluate;      // run it by the evaluator on the data of byoc_cost_run and write the results, one after the other
} byoc_cost_build_t;

typedef struct byoc_cost_build_answer_t {
  int32_t status;
  char message[1000];
} byoc_cost_build_answer_t;

// The body of byoc_child_run, on a byoc_cost_build_t and a byoc_cost_build_answer_t. Takes the function's module apart,
// which in a child is a copy: all that is left is a main function that calls the function (marked for the target), or,
// for the native target, that is the function; and takes it along the road of every model.
void byoc_cost_build(void *self, void *answer);

#endif // BYOC_CORE_COMPOSE_COST_BUILD_H_
