// SPDX-License-Identifier: Apache-2.0
// The engine of demo_reporter: the larger of -x and 0, on f32, in two steps. $BYOC_TEST_SAYS is a file to which it
// appends the values of its options.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/engine.h"

typedef struct engine_t {
  const byoc_runtime_t *runtime;
} engine_t;

static void say_options(const byoc_engine_init_t *init) {
  const char *path = getenv("BYOC_TEST_SAYS");
  const int has_options = init->struct_size >= offsetof(byoc_engine_init_t, reserved_options);
  FILE *file = path != NULL && has_options ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  for (uint32_t i = 0; i < init->option_count; ++i) {
    const byoc_runtime_option_t *option = &init->options[i];
    fprintf(file, "%s='%s' %lld %g\n", option->name, option->text, (long long)option->integer, option->real);
  }
  fclose(file);
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  engine_t *engine = calloc(1, sizeof(*engine));
  *out_instance = engine;
  if (engine == NULL) return BYOC_OUT_OF_MEMORY;
  engine->runtime = init->runtime;
  say_options(init);
  return BYOC_OK;
}

static void destroy(void *instance) {
  free(instance);
}

// ---- what it shows of a run ----

static int32_t step(const byoc_runtime_t *runtime, const char *name, double cycles) {
  int32_t status = runtime->report_counter(runtime->self, "cycles", NULL, cycles);
  if (status == BYOC_OK) status = runtime->report_step(runtime->self, name, (uint64_t)cycles);
  return status;
}

static int32_t count(const byoc_runtime_t *runtime) {
  int32_t status = step(runtime, "neg", 100);
  if (status == BYOC_OK) status = step(runtime, "relu", 50);
  if (status == BYOC_OK) status = runtime->report_counter(runtime->self, "moved", "bytes", 256);
  if (status == BYOC_OK) status = runtime->report_counter(runtime->self, "utilisation", "%", 71.5);
  if (status == BYOC_OK) status = runtime->report_counter(runtime->self, BYOC_COUNTER_DEVICE_TIME, "ns", 1500);
  return status;
}

// $BYOC_TEST_LIE: a report that the runtime has to refuse, whatever is done with the status.
static void lie(const byoc_runtime_t *runtime, const DLTensor *tensor) {
  const char *what = getenv("BYOC_TEST_LIE");
  char name[300];
  memset(name, 'n', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  if (what == NULL) return;
  DLTensor wrong = *tensor;
  int64_t negative[] = {-4, 8}, huge[] = {INT64_MAX, INT64_MAX}, strides[] = {1, 4};
  if (strcmp(what, "null_counter") == 0) (void)runtime->report_counter(runtime->self, NULL, "", 1);
  if (strcmp(what, "null_step") == 0) (void)runtime->report_step(runtime->self, NULL, 1);
  if (strcmp(what, "long_step") == 0) (void)runtime->report_step(runtime->self, name, 1);
  if (strcmp(what, "bytes_step") == 0) (void)runtime->report_step(runtime->self, "a\xff", 1);
  if (strcmp(what, "control_counter") == 0) (void)runtime->report_counter(runtime->self, "a\033[2J", "", 1);
  if (strcmp(what, "bytes_unit") == 0) (void)runtime->report_counter(runtime->self, "a", "\xc3", 1);
  if (strcmp(what, "nan") == 0) (void)runtime->report_counter(runtime->self, "a", "", NAN);
  if (strcmp(what, "infinity") == 0) (void)runtime->report_counter(runtime->self, "a", "", -INFINITY);
  for (int i = 0; i < 300 && strcmp(what, "many_counters") == 0; ++i) {
    (void)snprintf(name, sizeof(name), "c%d", i);
    (void)runtime->report_counter(runtime->self, name, "", 1);
  }
  for (int i = 0; i < 2000000 && strcmp(what, "all_counters") == 0; ++i) {
    (void)runtime->report_counter(runtime->self, "a", "", 1);
  }
  if (strcmp(what, "null_tensor") == 0) (void)runtime->report_tensor(runtime->self, "t", NULL);
  if (strcmp(what, "negative") == 0) wrong.shape = negative;
  if (strcmp(what, "huge") == 0) wrong.shape = huge;
  if (strcmp(what, "rank") == 0) wrong.ndim = 1000000;
  if (strcmp(what, "no_shape") == 0) wrong.shape = NULL;
  if (strcmp(what, "no_data") == 0) wrong.data = NULL;
  if (strcmp(what, "strides") == 0) wrong.strides = strides;
  if (strcmp(what, "type") == 0) wrong.dtype.bits = 7;
  if (strcmp(what, "device") == 0) wrong.device.device_type = kDLCUDA;
  if (memcmp(&wrong, tensor, sizeof(wrong)) != 0) (void)runtime->report_tensor(runtime->self, "t", &wrong);
}

// An older artifact has none of it.
static uint32_t wanted(const byoc_runtime_t *runtime) {
  const int knows = runtime->struct_size >= offsetof(byoc_runtime_t, report_tensor) + sizeof(runtime->report_tensor);
  return knows && runtime->wanted != NULL ? runtime->wanted(runtime->self) : 0;
}

static int32_t run(void *instance, uint32_t function, const byoc_call_t *call) {
  const engine_t *engine = instance;
  const byoc_runtime_t *runtime = call->runtime;
  const float *x = call->tensors[0].data;
  float *y = call->tensors[1].data;
  int64_t size = 1;
  (void)engine, (void)function;
  for (int32_t d = 0; d < call->tensors[0].ndim; ++d) size *= call->tensors[0].shape[d];
  for (int64_t i = 0; i < size; ++i) y[i] = -x[i];
  int32_t status = BYOC_OK;
  if (wanted(runtime) & BYOC_WANTS_TENSORS) {
    status = runtime->report_tensor(runtime->self, "n", &call->tensors[1]);
    if (status == BYOC_OK) status = runtime->report_tensor(runtime->self, "reporter/state", &call->tensors[1]);
  }
  for (int64_t i = 0; i < size; ++i) y[i] = y[i] < 0 ? 0 : y[i];
  if (status == BYOC_OK && (wanted(runtime) & BYOC_WANTS_PROFILE)) status = count(runtime);
  if (wanted(runtime) != 0) lie(runtime, &call->tensors[1]);
  return status;
}

extern BYOC_PACKED const byoc_engine_t reporter_engine;
const byoc_engine_t reporter_engine = {.struct_size = sizeof(reporter_engine),
                                       .abi_version = BYOC_ENGINE_ABI_VERSION,
                                       .name = "reporter",
                                       .create = create,
                                       .destroy = destroy,
                                       .run = run};
