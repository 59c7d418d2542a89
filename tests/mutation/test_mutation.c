// SPDX-License-Identifier: Apache-2.0
// Mutated models: every file is either refused with a reason or compiled, in limited time, and what was compiled runs.
//
//   mutated_models TARGETS         BYOC_RANDOM_COUNT=n   models (default: the number in ctest)
//                                  BYOC_RANDOM_SEED=n    seed of the first one; the next has the next number
//                                  BYOC_RANDOM_KEEP=DIR  write each model that fails as DIR/mutated_SEED.onnx
//
// Each starts from one of ONNX's backend test cases. Everything happens in a child process; under the address sanitizer
// the evaluator's loops are watched as well.
#include <stdio.h>
#include <stdlib.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "tests/mutation/mutate.h"
#include "tests/random/pipeline.h"
#include "tests/support/model.h"

enum {
  MODEL_BYTES_AT_MOST = 256 << 10,
  RUN_BYTES_AT_MOST = 64 << 20, // of the buffers of a model that is run
  COMPILE_TIMEOUT_MS = 60000,
  RUN_TIMEOUT_MS = 10000,
};

static const char *targets;
static byoc_test_paths_t models;

static long long setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text != NULL && text[0] != '\0' ? atoll(text) : otherwise;
}

// ---- in the child ----

typedef struct job_t {
  uint64_t seed;
  const char *keep; // write the model there and do nothing else
  bool run;         // run the compiled model
} job_t;

typedef struct answer_t {
  int32_t status;
  bool can_run; // it was compiled, and its shapes are known and small
  char model[256], what[3][128], message[256];
} answer_t;

static Onnx__ModelProto *read_model(const char *path, byoc_arena_t *arena) {
  byoc_file_view_t view;
  if (byoc_file_view_open(path, NULL, &view) != BYOC_OK) abort();
  Onnx__ModelProto *model = byoc_test_unpack_model(arena, view.data, view.size_bytes);
  byoc_file_view_close(&view);
  return model;
}

static void make_model(const job_t *job, answer_t *answer, uint8_t **out_data, size_t *out_size) {
  byoc_test_random_t random = {.state = job->seed * 7919};
  byoc_arena_t arena; // left to the end of the process
  byoc_arena_init(&arena, byoc_allocator_system());
  const char *path = models.data[byoc_test_below(&random, models.count)];
  Onnx__ModelProto *model = read_model(path, &arena);
  if (model == NULL) abort();
  snprintf(answer->model, sizeof(answer->model), "%s", path);
  size_t count = 1 + (size_t)byoc_test_below(&random, 3);
  for (size_t i = 0; i < count; ++i) mutate(model, &random, &arena, answer->what[i], sizeof(answer->what[i]));
  *out_size = onnx__model_proto__get_packed_size(model);
  *out_data = malloc(*out_size + 1);
  if (*out_data == NULL) abort();
  (void)onnx__model_proto__pack(model, *out_data);
}

static bool add_bytes(byoc_host_buffer_t *const *buffers, size_t count, uint64_t *bytes) {
  for (size_t i = 0; i < count; ++i) {
    const byoc_type_t *type = buffers[i]->type;
    if (type->kind != BYOC_TYPE_TENSOR || !byoc_type_is_static(type) || type->dtype == BYOC_DTYPE_STRING) return false;
    *bytes += byoc_type_size_bytes(type);
    if (*bytes > RUN_BYTES_AT_MOST) return false;
  }
  return true;
}

static bool can_run(const byoc_host_program_t *program) {
  uint64_t bytes = 0;
  return add_bytes(program->inputs.data, program->inputs.count, &bytes) &&
         add_bytes(program->outputs.data, program->outputs.count, &bytes) &&
         add_bytes(program->buffers.data, program->buffers.count, &bytes);
}

// Small numbers, as indices and lengths have them.
static void fill(const byoc_host_program_t *program, void **inputs, uint64_t seed) {
  byoc_test_random_t random = {.state = seed};
  for (size_t i = 0; i < program->inputs.count; ++i) {
    uint8_t *data = inputs[i];
    size_t size = (size_t)byoc_type_size_bytes(program->inputs.data[i]->type);
    size_t step = byoc_dtype_bits(program->inputs.data[i]->type->dtype) / 8;
    for (size_t at = 0; at<size; at += step> 0 ? step : 1) data[at] = (uint8_t)byoc_test_below(&random, 4);
  }
}

static void try_model(void *self, void *out) {
  const job_t *job = self;
  answer_t *answer = out;
  byoc_diag_t diag = {0};
  uint8_t *data = NULL;
  size_t size = 0;
  make_model(job, answer, &data, &size);
  if (job->keep != NULL) {
    answer->status = byoc_file_write(job->keep, data, size, &diag);
    return;
  }
  pipeline_t pipeline;
  answer->status = pipeline_open(&pipeline, data, size, targets, &diag);
  answer->can_run = answer->status == BYOC_OK && can_run(pipeline.build.result.program);
  if (job->run && answer->can_run) {
    pipeline_buffers_t buffers;
    if (pipeline_buffers_init(&pipeline, &buffers, &diag) != BYOC_OK) return;
    fill(pipeline.build.result.program, buffers.inputs, job->seed);
    answer->status = pipeline_run_evaluated(&pipeline, &buffers, &diag);
  }
  snprintf(answer->message, sizeof(answer->message), "%s", diag.message);
}

// ---- in the parent ----

static void report(const job_t *job, const answer_t *answer, const char *reason) {
  const char *folder = getenv("BYOC_RANDOM_KEEP");
  answer_t made;
  byoc_diag_t diag = {0};
  char path[600];
  snprintf(path, sizeof(path), "%s/mutated_%llu.onnx", folder != NULL ? folder : ".", (unsigned long long)job->seed);
  const job_t keep = {.seed = job->seed, .keep = folder != NULL ? path : "/dev/null"};
  const byoc_child_limits_t limits = {.timeout_ms = COMPILE_TIMEOUT_MS};
  byoc_status_t status = byoc_child_run(&limits, try_model, (void *)&keep, &made, sizeof(made), &diag);
  if (status != BYOC_OK) snprintf(made.model, sizeof(made.model), "it cannot be made again: %s", diag.message);
  print_error("'%s', seed %llu, %s: %s%s%s\n  %s: %s; %s; %s\n", targets, (unsigned long long)job->seed,
              job->run ? "run" : "compiled", reason, answer->message[0] ? ": " : "", answer->message, made.model,
              made.what[0], made.what[1], made.what[2]);
}

typedef struct tally_t {
  long long refused, compiled, run, slow, failed;
} tally_t;

// A run may be endless with good reason (a Loop of 2^63 iterations); compiling must end.
static bool is_slow(const job_t *job, const byoc_diag_t *diag) {
  return job->run && strstr(diag->message, "took longer") != NULL;
}

static bool try_once(const job_t *job, answer_t *answer, tally_t *tally) {
  const byoc_child_limits_t limits = {.timeout_ms = job->run ? RUN_TIMEOUT_MS : COMPILE_TIMEOUT_MS,
                                      .memory_bytes = UINT64_C(4) << 30};
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_child_run(&limits, try_model, (void *)job, answer, sizeof(*answer), &diag);
  if (status != BYOC_OK && is_slow(job, &diag)) {
    tally->slow += 1;
  } else if (status != BYOC_OK) {
    report(job, answer, diag.message);
    tally->failed += 1;
  } else if (answer->status == BYOC_INTERNAL || (answer->status != BYOC_OK && answer->message[0] == '\0')) {
    report(job, answer, answer->status == BYOC_INTERNAL ? "an error of byoc's own" : "an error without a reason");
    tally->failed += 1;
  }
  return status == BYOC_OK && answer->status == BYOC_OK;
}

static void test_mutated_models(void **state) {
  (void)state;
  uint64_t seed = (uint64_t)setting("BYOC_RANDOM_SEED", 1);
  long long count = setting("BYOC_RANDOM_COUNT", 400);
  tally_t tally = {0};
  for (long long i = 0; i < count; ++i) {
    answer_t answer;
    job_t job = {.seed = seed + (uint64_t)i};
    bool is_compiled = try_once(&job, &answer, &tally);
    tally.compiled += is_compiled;
    tally.refused += !is_compiled;
    job.run = true;
    if (is_compiled && answer.can_run) tally.run += try_once(&job, &answer, &tally);
  }
  print_message("'%s': %lld models from seed %llu: %lld refused, %lld compiled, %lld run, %lld run for too long\n",
                targets, count, (unsigned long long)seed, tally.refused, tally.compiled, tally.run, tally.slow);
  if (tally.failed > 0) fail_msg("%lld failed", tally.failed);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: mutated_models TARGETS\n");
    return 2;
  }
  targets = argv[1];
  byoc_test_find_models(BYOC_CONFORM_DATA, MODEL_BYTES_AT_MOST, &models);
  if (models.count == 0) {
    printf("skipped: %s is missing (apt install libonnx-testdata)\n", BYOC_CONFORM_DATA);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutated_models)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  byoc_test_paths_deinit(&models);
  return failed;
}
