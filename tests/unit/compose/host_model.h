// SPDX-License-Identifier: Apache-2.0
// A host program from its text, ready to run in both executors.
//
// Example:
//   host_model_t m;
//   host_model_open(&m, text, "place-lifetimes,plan-memory");
//   host_model_run(&m, inputs, results); // both agree; the results are the evaluator's, alive until its next run
//   host_model_close(&m);
#ifndef BYOC_TESTS_UNIT_COMPOSE_HOST_MODEL_H_
#define BYOC_TESTS_UNIT_COMPOSE_HOST_MODEL_H_

#include "core/hostir/text/program_text.h"
#include "tests/support/program.h"

enum { HOST_MODEL_RESULTS = 8 };

typedef byoc_test_program_t host_model_t;

static void host_model_parse(host_model_t *m, const char *text) {
  byoc_diag_t diag = {0};
  *m = (host_model_t){0};
  byoc_test_ok(byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), &diag, &m->module, &m->program),
               &diag);
}

// Takes a program that is planned.
static void host_model_prepare(host_model_t *m) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_host_program_verify(m->program, &diag), &diag);
  byoc_test_ok(byoc_host_text_check(m->program, &diag), &diag);
  byoc_test_program_prepare(m, false);
}

static void host_model_open(host_model_t *m, const char *text, const char *passes) {
  byoc_diag_t diag = {0};
  host_model_parse(m, text);
  byoc_test_ok(byoc_host_pass_run_list(passes, m->program, NULL, &diag), &diag);
  host_model_prepare(m);
}

static void host_model_close(host_model_t *m) {
  byoc_test_program_close(m);
}

// For programs whose results are tensors.
static inline void host_model_run(host_model_t *m, const byoc_argument_t *inputs, byoc_argument_t *results) {
  byoc_diag_t diag = {0};
  byoc_argument_t compiled[HOST_MODEL_RESULTS];
  byoc_test_ok(byoc_evaluator_run_arguments(m->evaluator, inputs, results, &diag), &diag);
  int32_t status = m->artifact.table->run_arguments(m->context, inputs, compiled);
  if (status != BYOC_OK) fail_msg("%s", m->artifact.table->last_error(m->context));
  for (size_t i = 0; i < m->program->outputs.count; ++i) {
    uint64_t count = 1;
    assert_int_equal(results[i].rank, compiled[i].rank);
    for (uint32_t d = 0; d < results[i].rank; ++d) {
      assert_int_equal(results[i].dims[d], compiled[i].dims[d]);
      count *= (uint64_t)results[i].dims[d];
    }
    assert_memory_equal(results[i].data, compiled[i].data, count * byoc_dtype_bits(results[i].dtype) / 8);
  }
}

static inline byoc_argument_t host_model_tensor(byoc_dtype_t dtype, uint32_t rank, const int64_t *dims,
                                                const void *data) {
  return (byoc_argument_t){.dtype = dtype, .rank = rank, .dims = dims, .data = (void *)(uintptr_t)data};
}

#endif // BYOC_TESTS_UNIT_COMPOSE_HOST_MODEL_H_
