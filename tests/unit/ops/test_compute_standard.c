// SPDX-License-Identifier: Apache-2.0
// The operators of ONNX, one at a time, against what ONNX Runtime gives for them, with sizes known and open.
#include <math.h>
#include <stdlib.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/element.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "tests/support/support.h"

enum { MAX_INPUTS = 8, MAX_RESULTS = 4 };

typedef struct {
  const char *text;
  bool is_open;                  // runs again with the sizes of its inputs open
  const char *given[MAX_INPUTS]; // the elements of each input; "": by the rule of fill()
  const char *expected[MAX_RESULTS];
} case_t;

#define GIVEN(...)                                                                                                     \
  { __VA_ARGS__ }
#define EXPECTED(...)                                                                                                  \
  { __VA_ARGS__ }
#define CASE(...) {__VA_ARGS__},
static const case_t cases[] = {
#include "standard_cases.def"
};
#undef CASE

// Relative, for an element of a result.
static double tolerance_of(byoc_dtype_t dtype) {
  if (!byoc_dtype_is_any_float(dtype)) return 0;
  return dtype == BYOC_DTYPE_F64 ? 1e-9 : dtype == BYOC_DTYPE_F32 ? 2e-5 : 2e-3;
}

// A result against "[1,2] 0.5 nan": its dimensions, and its elements.
static void compare(const case_t *item, size_t index, const byoc_argument_t *result) {
  char dims[128] = "[";
  int64_t count = 1;
  for (uint32_t d = 0; d < result->rank; ++d) {
    snprintf(dims + strlen(dims), sizeof(dims) - strlen(dims), "%s%lld", d > 0 ? "," : "", (long long)result->dims[d]);
    count *= result->dims[d];
  }
  strcat(dims, "]");
  const char *at = item->expected[index];
  const size_t size = strlen(dims);
  if (strncmp(dims, at, size) != 0) fail_msg("%s: result %zu is %s, expected %.20s", item->text, index, dims, at);
  at += size;
  const double tolerance = tolerance_of(result->dtype);
  for (int64_t i = 0; i < count; ++i) {
    char *end = NULL;
    const double wanted = strtod(at, &end), got = byoc_element_f64(result->dtype, result->data, (size_t)i);
    assert_true(end > at);
    at = end;
    if ((isnan(wanted) && isnan(got)) || wanted == got || fabs(wanted - got) <= tolerance * (fabs(wanted) + 0.1))
      continue;
    fail_msg("%s: element %lld of result %zu is %.9g, expected %.9g", item->text, (long long)i, index, got, wanted);
  }
  assert_int_equal(*at, '\0');
}

// standard.py has the same rule.
static double filled(byoc_dtype_t dtype, int64_t place, int64_t i) {
  const int64_t number = (i * 37 + place * 11 + 5) % 251;
  if (byoc_dtype_is_any_float(dtype)) return (double)(number % 23 - 11) / 8;
  if (dtype == BYOC_DTYPE_BOOL) return number % 3 > 0;
  return (double)(byoc_dtype_is_signed_integer(dtype) ? number - 125 : number);
}

// The input as the module with known sizes declares it. The caller frees its data; `dims` is its room.
static byoc_argument_t make_input(const case_t *item, const byoc_type_t *type, size_t place, int64_t *dims) {
  const int64_t count = byoc_type_element_count(type);
  for (int32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[d].constant;
  const byoc_argument_t input = {
      .dtype = type->dtype, .rank = (uint32_t)type->rank, .dims = dims, .data = malloc((size_t)count * 8 + 1)};
  assert_non_null(input.data);
  const char *at = item->given[place];
  assert_non_null(at);
  for (int64_t i = 0; i < count; ++i) {
    char *end = NULL;
    const double value = *at != '\0' ? strtod(at, &end) : filled(type->dtype, (int64_t)place, i);
    byoc_element_set_f64(type->dtype, input.data, (size_t)i, value);
    if (end != NULL) at = end;
  }
  assert_int_equal(*at, '\0');
  return input;
}

static void run(const case_t *item, const char *text, const byoc_argument_t *inputs) {
  byoc_diag_t diag = {0};
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_evaluator_t *evaluator = NULL;
  byoc_argument_t results[MAX_RESULTS];
  byoc_status_t status = byoc_graph_parse(text, "test", allocator, &diag, &module);
  if (status == BYOC_OK) status = byoc_infer_module(module, &diag);
  if (status == BYOC_OK) status = byoc_kernel_lower_module(module, NULL, &diag);
  if (status == BYOC_OK) status = byoc_host_lower(module, allocator, &diag, &program);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, program, NULL, &diag);
  if (status == BYOC_OK) status = byoc_evaluator_create(program, NULL, 1, allocator, &diag, &evaluator);
  if (status == BYOC_OK) status = byoc_evaluator_run_arguments(evaluator, inputs, results, &diag);
  if (status != BYOC_OK) fail_msg("%s: %s", text, diag.message);
  assert_in_range(program->outputs.count, 1, MAX_RESULTS);
  for (size_t i = 0; i < program->outputs.count; ++i) compare(item, i, &results[i]);
  byoc_evaluator_destroy(evaluator);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

// Names the sizes of the parameters: "(%x0 : f32[2,3])" becomes "(%x0 : f32[D2,D3])". The caller frees it.
static char *open_sizes(const char *text) {
  char *out = malloc(2 * strlen(text) + 1), *to = out;
  assert_non_null(out);
  const char *at = strstr(text, "@main("), *end = strchr(at, ')');
  memcpy(to, text, (size_t)(at - text));
  to += at - text;
  for (; at < end; ++at) {
    if ((at[-1] == '[' || at[-1] == ',') && *at >= '0' && *at <= '9') *to++ = 'D';
    *to++ = *at;
  }
  strcpy(to, end);
  return out;
}

static void run_case(const case_t *item) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(item->text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  int64_t dims[MAX_INPUTS][BYOC_MAX_RANK];
  byoc_argument_t inputs[MAX_INPUTS];
  const size_t count = body->parameters.count;
  assert_in_range(count, 0, MAX_INPUTS);
  for (size_t i = 0; i < count; ++i) inputs[i] = make_input(item, body->parameters.data[i]->type, i, dims[i]);
  run(item, item->text, inputs);
  if (item->is_open) {
    char *text = open_sizes(item->text);
    run(item, text, inputs);
    free(text);
  }
  for (size_t i = 0; i < count; ++i) free(inputs[i].data);
  byoc_graph_module_destroy(module);
}

static void test_onnxruntime_gives_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) run_case(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_onnxruntime_gives_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
