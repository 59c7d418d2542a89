// SPDX-License-Identifier: Apache-2.0
// Times a packed function, in the child process.
#define _GNU_SOURCE
#include "core/measure/packed_child.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/statistics.h"
#include "core/compose/c/addresses.h"

// Samples are long enough that the clock matters little, and few enough that tuning goes on: about 50 ms per function.
#define SAMPLE_NS        20000
#define BUDGET_NS        50000000
#define SAMPLES_AT_LEAST 5
#define SAMPLES_AT_MOST  51

typedef struct runtime_t {
  byoc_runtime_t interface;
  byoc_measure_result_t result;
  void (*pool_run)(int32_t, byoc_parallel_body_t, void *, int64_t, int64_t);
} runtime_t;

static void set_error(void *self, const char *message) {
  runtime_t *runtime = self;
  snprintf(runtime->result.message, sizeof(runtime->result.message), "%s", message);
}

static void parallel_for(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  const runtime_t *runtime = self;
  if (runtime->pool_run != NULL) {
    runtime->pool_run(runtime->interface.thread_count, body, argument, count, grain);
  } else if (count > 0) {
    body(argument, 0, count, 0);
  }
}

static int32_t load(const byoc_measure_job_t *job, runtime_t *runtime, byoc_packed_function_t *out_function) {
  void *library = dlopen(job->library, RTLD_NOW | RTLD_LOCAL);
  void *const *table = library != NULL ? dlsym(library, BYOC_ADDRESSES) : NULL;
  if (table == NULL) {
    const char *reason = dlerror();
    set_error(runtime, reason != NULL ? reason : "it cannot be loaded");
    return BYOC_TOOL;
  }
  memcpy(out_function, &table[0], sizeof(*out_function));
  if (job->thread_count > 1) {
    int32_t (*acquire)(int32_t) = NULL;
    memcpy(&acquire, &table[1], sizeof(acquire));
    memcpy(&runtime->pool_run, &table[2], sizeof(runtime->pool_run));
    runtime->interface.thread_count = acquire(job->thread_count);
  }
  return BYOC_OK;
}

static int32_t run_times(byoc_packed_function_t function, const byoc_call_t *call, int64_t times, int64_t *out_ns) {
  int64_t start_ns = byoc_now_ns();
  for (int64_t i = 0; i < times; i++) {
    int32_t status = function(call);
    if (status != BYOC_OK) return status;
  }
  *out_ns = byoc_now_ns() - start_ns;
  return BYOC_OK;
}

static int32_t measure(byoc_packed_function_t function, const byoc_call_t *call, int64_t limit_ns, double *out_ns) {
  int64_t begin_ns = byoc_now_ns(), once_ns = 0, taken_ns = 0;
  // Runs twice: after the first run pages are touched and threads are awake.
  for (int i = 0; i < 2; i++) {
    int32_t status = run_times(function, call, 1, &once_ns);
    if (status != BYOC_OK) return status;
  }
  if (once_ns < 1) once_ns = 1;
  int64_t times = once_ns < SAMPLE_NS ? SAMPLE_NS / once_ns + 1 : 1;
  double samples[SAMPLES_AT_MOST];
  size_t count = 0;
  while (count < SAMPLES_AT_MOST) {
    int32_t status = run_times(function, call, times, &taken_ns);
    if (status != BYOC_OK) return status;
    samples[count++] = (double)taken_ns / (double)times;
    int64_t elapsed_ns = byoc_now_ns() - begin_ns;
    if (elapsed_ns > BUDGET_NS && (count >= SAMPLES_AT_LEAST || elapsed_ns > limit_ns)) break;
  }
  *out_ns = byoc_median(samples, count);
  return BYOC_OK;
}

void byoc_measure_child(void *self, void *answer) {
  const byoc_measure_job_t *job = self;
  runtime_t runtime = {0};
  runtime.interface = (byoc_runtime_t){.struct_size = sizeof(runtime.interface),
                                       .thread_count = 1,
                                       .self = &runtime,
                                       .parallel_for = parallel_for,
                                       .set_error = set_error};
  byoc_packed_function_t function = NULL;
  byoc_call_t call = job->call;
  call.runtime = &runtime.interface;
  runtime.result.status = load(job, &runtime, &function);
  if (runtime.result.status == BYOC_OK) {
    runtime.result.status = measure(function, &call, job->limit_ns, &runtime.result.median_ns);
  }
  memcpy(answer, &runtime.result, sizeof(runtime.result));
}
