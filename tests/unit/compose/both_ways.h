// SPDX-License-Identifier: Apache-2.0
// For tests that run a program both ways, compiled and evaluated, and compare.
#ifndef BYOC_TESTS_UNIT_COMPOSE_BOTH_WAYS_H_
#define BYOC_TESTS_UNIT_COMPOSE_BOTH_WAYS_H_

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/text/program_text.h"
#include "core/hostir/verify/in_place.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "tests/support/program.h"

enum { MAX_RESULTS = 8 };

typedef byoc_test_program_t model_t;

static inline byoc_status_t lower(const char *text, byoc_diag_t *diag, model_t *m) {
  *m = (model_t){0};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), diag, &m->module), diag);
  byoc_test_ok(byoc_infer_module(m->module, diag), diag);
  byoc_test_ok(byoc_pass_run_list("sink-into-branches", m->module, NULL, diag), diag);
  byoc_test_ok(byoc_kernel_lower_module(m->module, NULL, diag), diag);
  return byoc_host_lower(m->module, byoc_allocator_system(), diag, &m->program);
}

// `pairs`: outputs that may be written over inputs.
static inline void open_planned(const char *text, const byoc_host_pair_t *pairs, size_t pair_count, model_t *m) {
  byoc_diag_t diag = {0};
  byoc_test_ok(lower(text, &diag, m), &diag);
  byoc_test_ok(byoc_host_write_over(m->program, pairs, pair_count, &diag), &diag);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m->program, NULL, &diag), &diag);
}

static inline void open_evaluated(const char *text, const byoc_host_pair_t *pairs, size_t pair_count, model_t *m) {
  byoc_diag_t diag = {0};
  open_planned(text, pairs, pair_count, m);
  byoc_test_program_resolve(m);
  byoc_test_ok(byoc_test_program_evaluate(m, &diag), &diag);
}

static inline void open_with_pairs(const char *text, const byoc_host_pair_t *pairs, size_t pair_count, model_t *m) {
  open_planned(text, pairs, pair_count, m);
  byoc_test_program_prepare(m, true);
}

static inline void open_model(const char *text, model_t *m) {
  open_with_pairs(text, NULL, 0, m);
}

static inline void close_model(model_t *m) {
  byoc_test_program_close(m);
}

static inline void same(const byoc_argument_t *a, const byoc_argument_t *b) {
  assert_int_equal(a->kind, b->kind);
  if (a->kind != BYOC_ARGUMENT_TENSOR) {
    assert_int_equal(a->count, b->count);
    for (uint64_t i = 0; i < a->count; ++i) same(&a->items[i], &b->items[i]);
    return;
  }
  assert_int_equal(a->dtype, b->dtype);
  assert_int_equal(a->rank, b->rank);
  uint64_t count = 1;
  for (uint32_t d = 0; d < a->rank; ++d) {
    assert_int_equal(a->dims[d], b->dims[d]);
    count *= (uint64_t)a->dims[d];
  }
  assert_memory_equal(a->data, b->data, count * byoc_dtype_bits(a->dtype) / 8);
}

// Appends "f32[2,3] 9c0f..." or "sequence of 2 (...)".
static inline void note_value(byoc_string_t *out, const byoc_argument_t *value) {
  if (value->kind != BYOC_ARGUMENT_TENSOR) {
    byoc_string_appendf(out, "kind %u of %llu (", value->kind, (unsigned long long)value->count);
    for (uint64_t i = 0; i < value->count; ++i) note_value(out, &value->items[i]);
    byoc_string_append(out, ")");
    return;
  }
  uint64_t count = 1, hash = 0;
  byoc_string_appendf(out, "%s[", byoc_dtype_name(value->dtype));
  for (uint32_t d = 0; d < value->rank; ++d) {
    byoc_string_appendf(out, "%lld,", (long long)value->dims[d]);
    count *= (uint64_t)value->dims[d];
  }
  const char *const *texts = value->data;
  for (uint64_t i = 0; i < count && value->dtype == BYOC_DTYPE_STRING; ++i) hash ^= byoc_hash_string(texts[i]) + i;
  if (value->dtype != BYOC_DTYPE_STRING && count > 0) {
    hash = byoc_hash_bytes(value->data, (size_t)(count * byoc_dtype_bits(value->dtype) / 8), 0);
  }
  byoc_string_appendf(out, "] %016llx", (unsigned long long)hash);
}

// A byoc_trace_sink_t: appends a line to the text.
static inline void note_event(void *self, const byoc_trace_event_t *event) {
  byoc_string_t *out = self;
  assert_int_equal(event->struct_size, sizeof(*event));
  byoc_string_appendf(out, "%u", event->instruction);
  for (uint32_t i = 0; i < event->turn_count; ++i) {
    byoc_string_appendf(out, "%c%lld", i == 0 ? '@' : '.', (long long)event->turns[i]);
  }
  byoc_string_appendf(out, " %s %s %s (", event->op, event->symbol, event->origin);
  for (uint32_t i = 0; i < event->operand_count; ++i) byoc_string_appendf(out, "%s ", event->operands[i]);
  byoc_string_appendf(out, ") -> %u/%u %s ", event->result, event->result_count, event->name);
  note_value(out, &event->value);
  byoc_string_append(out, "\n");
}

// Runs both ways; the results are the evaluator's, alive until its next run. Each instruction made the same. `trace`
// gets a line for each result, and may be NULL.
static inline void run_traced(model_t *m, const byoc_argument_t *inputs, byoc_argument_t *results,
                              byoc_string_t *trace) {
  byoc_diag_t diag = {0};
  byoc_argument_t compiled[MAX_RESULTS];
  byoc_string_t traces[2];
  for (size_t i = 0; i < 2; ++i) byoc_string_init(&traces[i], byoc_allocator_system());
  byoc_test_ok(byoc_evaluator_trace(m->evaluator, note_event, &traces[0], &diag), &diag);
  byoc_test_ok(byoc_evaluator_run_arguments(m->evaluator, inputs, results, &diag), &diag);
  int32_t status = m->artifact.table->trace(m->context, inputs, compiled, note_event, &traces[1]);
  if (status != BYOC_OK) fail_msg("%s", m->artifact.table->last_error(m->context));
  for (size_t i = 0; i < m->program->outputs.count; ++i) same(&results[i], &compiled[i]);
  assert_string_equal(traces[0].data, traces[1].data);
  if (trace != NULL) byoc_string_append(trace, traces[0].data);
  for (size_t i = 0; i < 2; ++i) byoc_string_deinit(&traces[i]);
  byoc_test_ok(byoc_evaluator_trace(m->evaluator, NULL, NULL, &diag), &diag);
}

// The same, and the artifact once more without anybody watching.
static inline void run(model_t *m, const byoc_argument_t *inputs, byoc_argument_t *results) {
  byoc_argument_t compiled[MAX_RESULTS];
  run_traced(m, inputs, results, NULL);
  int32_t status = m->artifact.table->run_arguments(m->context, inputs, compiled);
  if (status != BYOC_OK) fail_msg("%s", m->artifact.table->last_error(m->context));
  for (size_t i = 0; i < m->program->outputs.count; ++i) same(&results[i], &compiled[i]);
}

// Both ways fail, and say the same.
static inline void run_fails(model_t *m, const byoc_argument_t *inputs, int32_t status, const char *reason) {
  byoc_diag_t diag = {0};
  byoc_argument_t results[MAX_RESULTS];
  byoc_test_error(byoc_evaluator_run_arguments(m->evaluator, inputs, results, &diag), status, &diag, reason);
  assert_int_equal(m->artifact.table->run_arguments(m->context, inputs, results), status);
  const char *said = m->artifact.table->last_error(m->context);
  assert_string_equal(said, diag.message);
}

static inline byoc_argument_t tensor(byoc_dtype_t dtype, uint32_t rank, const int64_t *dims, const void *data) {
  return (byoc_argument_t){.dtype = dtype, .rank = rank, .dims = dims, .data = (void *)(uintptr_t)data};
}

static inline byoc_argument_t floats(uint32_t rank, const int64_t *dims, const float *data) {
  return tensor(BYOC_DTYPE_F32, rank, dims, data);
}

static inline float at(const byoc_argument_t *result, int64_t index) {
  return ((const float *)result->data)[index];
}

#define MAIN_OF(signature, body) "  func @main" signature " {\n" body "\n  }\n}\n"
#define MAIN(signature, body)    "module {\n" MAIN_OF(signature, body)

#endif // BYOC_TESTS_UNIT_COMPOSE_BOTH_WAYS_H_
