// SPDX-License-Identifier: Apache-2.0
// 64 threads, each with contexts of its own, run the artifacts of each target, and of all targets in one process. Every
// result is compared with that of a context that ran alone, and that one with the evaluator's.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/loader/loader.h"
#include "tests/random/pipeline.h"
#include "tests/support/command.h"

enum {
  THREADS = 64,
  ROUNDS = 2, // contexts of each thread, one after the other
  RUNS = 6,   // of each context
  INPUTS = 3, // that the runs take in turn
  POOLS = 2,  // contexts of one thread and of two
  INPUT_COUNT = 28 * 28,
  OUTPUT_COUNT = 10,
};

typedef struct model_t {
  const char *targets;
  int pools; // how many of POOLS are tried
  byoc_loaded_artifact_t artifact;
  float inputs[INPUTS][INPUT_COUNT];
  float expected[POOLS][INPUTS][OUTPUT_COUNT];
} model_t;

#ifdef BYOC_THREADS_CC
enum { OPENMP_POOLS = 1 }; // the thread sanitizer knows nothing of the barriers of OpenMP
#else
enum { OPENMP_POOLS = POOLS };
#endif

static model_t models[] = {
    {.targets = "c -O=1", .pools = POOLS},
    {.targets = "cutlass -O=1; c -O=1", .pools = POOLS},
    {.targets = "dnnl; c -O=1", .pools = OPENMP_POOLS},
    {.targets = "cblas; c -O=1", .pools = POOLS},
    {.targets = "cutlass -O=1; dnnl; cblas; c -O=1", .pools = OPENMP_POOLS},
};
enum { MODEL_COUNT = sizeof(models) / sizeof(models[0]) };

// ---- one context ----

static int32_t run(const byoc_artifact_t *table, byoc_context_t *context, const float *input, float *output) {
  const void *inputs[] = {input};
  void *outputs[] = {output};
  memset(output, 0xA5, OUTPUT_COUNT * sizeof(*output));
  return table->run(context, inputs, outputs);
}

static byoc_context_t *create(const byoc_artifact_t *table, int pool) {
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = pool + 1};
  byoc_context_t *context = NULL;
  if (table->create(&options, &context) != BYOC_OK) fail_msg("%s", table->last_error(NULL));
  return context;
}

// ---- what is expected ----

static void expect_evaluated(const pipeline_t *pipeline, model_t *model) {
  byoc_diag_t diag = {0};
  byoc_build_evaluation_t evaluation;
  byoc_test_ok(byoc_build_evaluate(&pipeline->build, 1, &diag, &evaluation), &diag);
  for (int k = 0; k < INPUTS; ++k) {
    float output[OUTPUT_COUNT];
    const void *inputs[] = {model->inputs[k]};
    void *outputs[] = {output};
    byoc_test_ok(byoc_evaluator_run(evaluation.evaluator, inputs, outputs, &diag), &diag);
    for (int pool = 0; pool < model->pools; ++pool) {
      for (int i = 0; i < OUTPUT_COUNT; ++i) {
        assert_true(fabsf(model->expected[pool][k][i] - output[i]) <= 1e-4F + 1e-3F * fabsf(output[i]));
      }
    }
  }
  byoc_build_evaluation_end(&evaluation);
}

static void expect_alone(model_t *model) {
  const byoc_artifact_t *table = model->artifact.table;
  assert_int_equal(table->input_count, 1);
  assert_int_equal(table->output_count, 1);
  assert_int_equal(table->inputs[0].size_bytes, sizeof(model->inputs[0]));
  assert_int_equal(table->outputs[0].size_bytes, sizeof(model->expected[0][0]));
  for (int pool = 0; pool < model->pools; ++pool) {
    byoc_context_t *context = create(table, pool);
    for (int k = 0; k < INPUTS; ++k) {
      assert_int_equal(run(table, context, model->inputs[k], model->expected[pool][k]), BYOC_OK);
    }
    table->destroy(context);
  }
}

static void open_model(model_t *model) {
  byoc_diag_t diag = {0};
  pipeline_t pipeline;
  byoc_test_random_t random = {7};
  char path[32];
  snprintf(path, sizeof(path), "./%zu.so", (size_t)(model - models));
  for (int k = 0; k < INPUTS; ++k) {
    for (int i = 0; i < INPUT_COUNT; ++i) model->inputs[k][i] = byoc_test_float(&random);
  }
  const byoc_compose_options_t compose = {.output = path, .model_name = "lenet"};
  byoc_test_ok(pipeline_open_file(&pipeline, "lenet.onnx", model->targets, &diag), &diag);
  byoc_test_ok(byoc_build_compose(&pipeline.build, &compose, &diag), &diag);
  byoc_test_ok(byoc_artifact_load(path, &diag, &model->artifact), &diag);
  expect_alone(model);
  expect_evaluated(&pipeline, model);
  pipeline_close(&pipeline);
}

// ---- all of them ----

typedef struct worker_t {
  pthread_t thread;
  pthread_barrier_t *barrier;
  const model_t *model;
  int number;
  int wrong, failed; // results, calls
} worker_t;

static void *work(void *argument) {
  worker_t *worker = argument;
  const model_t *model = worker->model;
  const byoc_artifact_t *table = model->artifact.table;
  (void)pthread_barrier_wait(worker->barrier);
  for (int round = 0; round < ROUNDS; ++round) {
    const int pool = (worker->number / MODEL_COUNT + round) % model->pools;
    const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = pool + 1};
    byoc_context_t *context = NULL;
    worker->failed += table->create(&options, &context) != BYOC_OK;
    for (int i = 0; i < RUNS && context != NULL; ++i) {
      float output[OUTPUT_COUNT];
      const int k = (worker->number + i) % INPUTS;
      worker->failed += run(table, context, model->inputs[k], output) != BYOC_OK;
      worker->wrong += memcmp(output, model->expected[pool][k], sizeof(output)) != 0;
    }
    table->destroy(context);
  }
  return NULL;
}

// Thread i runs the (i mod count)-th of `count` models.
static void run_all(const model_t *first, int count) {
  static worker_t workers[THREADS];
  pthread_barrier_t barrier;
  assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (worker_t){.barrier = &barrier, .model = first + i % count, .number = i};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
  assert_int_equal(pthread_barrier_destroy(&barrier), 0);
  for (int i = 0; i < THREADS; ++i) {
    if (workers[i].wrong + workers[i].failed == 0) continue;
    fail_msg("%s: in thread %d, %d calls failed and %d of %d results are wrong", workers[i].model->targets, i,
             workers[i].failed, workers[i].wrong, ROUNDS * RUNS);
  }
}

static void test_each_target(void **state) {
  (void)state;
  for (int i = 0; i < MODEL_COUNT; ++i) run_all(&models[i], 1);
}

static void test_all_targets_in_one_process(void **state) {
  (void)state;
  run_all(models, MODEL_COUNT);
}

static int group_setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
#ifdef BYOC_THREADS_CC
  if (setenv("CC", BYOC_THREADS_CC, 1) != 0) return -1;
#endif
  for (int i = 0; i < MODEL_COUNT; ++i) open_model(&models[i]);
  return 0;
}

static int group_teardown(void **state) {
  for (int i = 0; i < MODEL_COUNT; ++i) byoc_artifact_unload(&models[i].artifact);
  return byoc_test_leave_folder(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_target),
      cmocka_unit_test(test_all_targets_in_one_process),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
