// SPDX-License-Identifier: Apache-2.0
// Creates primitives of oneDNN, whose machine code is generated then.
#include "engine/instance/primitives.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine/function/build.h"
#include "engine/library/out_of_memory.h"

#define MOST_HELPERS 15
// A helper thread pays from this many primitives on.
#define STEPS_A_THREAD 4

typedef struct work_t {
  const byoc_dnnl_api_t *api;
  byoc_dnnl_function_t *const *functions;
  uint32_t function_count;
  int32_t thread_count;
  atomic_uint next; // step, counted through all functions
} work_t;

static uint32_t count_steps(const work_t *work) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < work->function_count; ++i) count += work->functions[i]->step_count;
  return count;
}

static byoc_dnnl_step_t *step_at(const work_t *work, uint32_t index) {
  for (uint32_t i = 0; i < work->function_count; ++i) {
    if (index < work->functions[i]->step_count) return &work->functions[i]->steps[index];
    index -= work->functions[i]->step_count;
  }
  return NULL;
}

// Takes one step after the other. Equal ones are made once: oneDNN makes a thread wait for another one's.
static void create_primitives(work_t *work) {
  for (;;) {
    byoc_dnnl_step_t *step = step_at(work, atomic_fetch_add(&work->next, 1));
    if (step == NULL) return;
    if (step->plain != NULL) continue;
    // Once memory has run out, new primitives have to fit into the reserve.
    if (byoc_dnnl_reserve_count() != work->functions[0]->reserve_count) {
      step->created = dnnl_out_of_memory;
      continue;
    }
    step->created = work->api->dnnl_primitive_create(&step->primitive, step->primitive_desc);
  }
}

static void *help(void *argument) {
  work_t *work = argument;
  work->api->omp_set_num_threads(work->thread_count);
  create_primitives(work);
  return NULL;
}

int32_t byoc_dnnl_primitives_create(const byoc_dnnl_api_t *api, byoc_dnnl_function_t *const *functions,
                                    uint32_t function_count, int32_t thread_count, byoc_dnnl_error_t *error) {
  work_t work = {.api = api, .functions = functions, .function_count = function_count, .thread_count = thread_count};
  pthread_t helpers[MOST_HELPERS];
  uint32_t helper_count = 0, wanted = thread_count > 1 ? (uint32_t)thread_count - 1 : 0;
  if (wanted > count_steps(&work) / STEPS_A_THREAD) wanted = count_steps(&work) / STEPS_A_THREAD;
  if (wanted > MOST_HELPERS) wanted = MOST_HELPERS;
  // If a thread cannot be started, there is one fewer.
  while (helper_count < wanted && pthread_create(&helpers[helper_count], NULL, help, &work) == 0) ++helper_count;
  create_primitives(&work);
  for (uint32_t i = 0; i < helper_count; ++i) (void)pthread_join(helpers[i], NULL);
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < function_count; ++i) {
    for (uint32_t k = 0; k < functions[i]->step_count; ++k) {
      byoc_dnnl_step_t *step = &functions[i]->steps[k];
      if (step->plain != NULL) continue;
      (void)api->dnnl_primitive_desc_destroy(step->primitive_desc);
      step->primitive_desc = NULL;
      if (step->created == dnnl_success || status != BYOC_OK) continue;
      functions[i]->error = error;
      functions[i]->node = step->node;
      status = byoc_dnnl_check(functions[i], step->created, "create the primitive");
    }
  }
  return status;
}
