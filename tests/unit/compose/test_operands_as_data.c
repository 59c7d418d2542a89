// SPDX-License-Identifier: Apache-2.0
// Operands that say axes, sizes, pads or counts: given as data, shapes found at run time, they mean what constants do.
#include <stdlib.h>

#include "core/hostir/lower/lower_program.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "tests/support/program.h"

enum { MAX_INPUTS = 4, MAX_NUMBERS = 8, MAX_ELEMENTS = 256 };

// `node` makes %y of `x`, an f32 tensor, and of $0, $1, ...: lists of i64 between semicolons; `result` is its type
// where it is not found at run time.
typedef struct operands_case_t {
  const char *node, *x, *lists, *result;
} operands_case_t;

typedef byoc_test_program_t model_t;

static void open_model(const char *text, model_t *m) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &m->module), &diag);
  byoc_test_ok(byoc_infer_module(m->module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(m->module, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_lower(m->module, byoc_allocator_system(), &diag, &m->program), &diag);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m->program, NULL, &diag), &diag);
  byoc_test_program_resolve(m);
  byoc_test_ok(byoc_test_program_evaluate(m, &diag), &diag);
}

// Sizes of a type's text such as "f32[3,4]"; returns how many.
static uint32_t read_dims(const char *type, int64_t *dims) {
  uint32_t rank = 0;
  const char *at = strchr(type, '[') + 1;
  while (*at != ']') {
    char *end = NULL;
    dims[rank++] = strtoll(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  return rank;
}

// The lists as the module writes them, "[1, 2]", and as numbers; returns how many lists.
static uint32_t read_lists(const char *text, int64_t numbers[][MAX_NUMBERS], int64_t *counts) {
  uint32_t lists = 0;
  for (const char *at = text; *at != '\0'; ++lists) {
    counts[lists] = 0;
    while (*at != '\0' && *at != ';') {
      char *end = NULL;
      numbers[lists][counts[lists]++] = strtoll(at, &end, 10);
      for (at = end; *at == ',' || *at == ' ';) ++at;
    }
    if (*at == ';') ++at;
  }
  return lists;
}

static void write_module(const operands_case_t *c, bool is_data, const char *result, byoc_string_t *text) {
  int64_t numbers[MAX_INPUTS][MAX_NUMBERS], counts[MAX_INPUTS];
  uint32_t lists = read_lists(c->lists, numbers, counts);
  byoc_string_append(text, "module {\n");
  for (uint32_t i = 0; i < lists && !is_data; ++i) {
    byoc_string_appendf(text, "  constant @n%u : i64[%lld] = [", i, (long long)counts[i]);
    for (int64_t k = 0; k < counts[i]; ++k) {
      byoc_string_appendf(text, "%s%lld", k > 0 ? ", " : "", (long long)numbers[i][k]);
    }
    byoc_string_append(text, "]\n");
  }
  byoc_string_appendf(text, "  func @main(%%x : %s", c->x);
  for (uint32_t i = 0; i < lists && is_data; ++i) {
    byoc_string_appendf(text, ", %%n%u : i64[%lld]", i, (long long)counts[i]);
  }
  byoc_string_appendf(text, ") -> (%%y : %s) {\n    %%y = ", result);
  for (const char *at = c->node; *at != '\0'; ++at) {
    if (*at == '$') {
      byoc_string_append(text, is_data ? "%n" : "@n");
    } else {
      byoc_string_append_bytes(text, at, 1);
    }
  }
  byoc_string_appendf(text, " : %s\n    return %%y\n  }\n}\n", result);
}

static void run(const operands_case_t *c, model_t *m, bool is_data, byoc_argument_t *out_result) {
  static float x[MAX_ELEMENTS];
  static int64_t numbers[MAX_INPUTS][MAX_NUMBERS], counts[MAX_INPUTS];
  int64_t dims[BYOC_MAX_RANK];
  byoc_diag_t diag = {0};
  for (int i = 0; i < MAX_ELEMENTS; ++i) x[i] = (float)(i * 7 % 31) - 12;
  byoc_argument_t inputs[1 + MAX_INPUTS] = {
      {.dtype = BYOC_DTYPE_F32, .rank = read_dims(c->x, dims), .dims = dims, .data = x}};
  uint32_t lists = read_lists(c->lists, numbers, counts);
  for (uint32_t i = 0; i < lists && is_data; ++i) {
    inputs[1 + i] = (byoc_argument_t){.dtype = BYOC_DTYPE_I64, .rank = 1, .dims = &counts[i], .data = numbers[i]};
  }
  byoc_status_t status = byoc_evaluator_run_arguments(m->evaluator, inputs, out_result, &diag);
  if (status != BYOC_OK) fail_msg("%s with %s: %s", c->node, c->lists, diag.message);
}

static void check(const operands_case_t *c, const char *type_of_data) {
  byoc_string_t fixed, data;
  byoc_string_init(&fixed, byoc_allocator_system());
  byoc_string_init(&data, byoc_allocator_system());
  write_module(c, false, c->result, &fixed);
  write_module(c, true, type_of_data, &data);
  model_t expected = {0}, actual = {0};
  byoc_argument_t a = {0}, b = {0};
  open_model(fixed.data, &expected);
  open_model(data.data, &actual);
  run(c, &expected, false, &a);
  run(c, &actual, true, &b);
  assert_int_equal(a.rank, b.rank);
  int64_t count = 1;
  for (uint32_t d = 0; d < a.rank; ++d) {
    if (a.dims[d] != b.dims[d]) fail_msg("%s with %s: dimension %u differs", c->node, c->lists, d);
    count *= a.dims[d];
  }
  for (int64_t i = 0; i < count; ++i) {
    if (((const float *)a.data)[i] == ((const float *)b.data)[i]) continue;
    fail_msg("%s with %s: element %d differs", c->node, c->lists, (int)i);
  }
  byoc_test_program_close(&expected);
  byoc_test_program_close(&actual);
  byoc_string_deinit(&fixed);
  byoc_string_deinit(&data);
}

static const operands_case_t cases[] = {
    {"Pad@18(%x, $0, _, $1)", "f32[3,4]", "1, 2, 0, 1; 1, 0", "f32[6,5]"},
    {"Pad@18(%x, $0, _, $1)", "f32[3,4]", "2, 1; -1", "f32[3,7]"},
    {"Pad@18(%x, $0, _, $1) {mode = \"edge\"}", "f32[3,4]", "2, 1; 0", "f32[6,4]"},
    {"Pad@18(%x, $0, _, $1) {mode = \"reflect\"}", "f32[3,4]", "3, 2; 1", "f32[3,9]"},
    {"Pad@19(%x, $0, _, $1) {mode = \"wrap\"}", "f32[3,4]", "2, 3; 1", "f32[3,9]"},
    {"Pad@13(%x, $0)", "f32[3,4]", "1, 0, 0, 2", "f32[4,6]"},
    // Squares: the axes decide which of two sums of the same shape it is.
    {"ReduceSum@13(%x, $0) {keepdims = 0}", "f32[3,3]", "0", "f32[3]"},
    {"ReduceSum@13(%x, $0) {keepdims = 0}", "f32[3,3]", "1", "f32[3]"},
    {"ReduceSum@13(%x, $0) {keepdims = 0}", "f32[3,3,3]", "0, -1", "f32[3]"},
    {"ReduceMean@18(%x, $0) {keepdims = 0}", "f32[2,4,4]", "1", "f32[2,4]"},
    {"ReduceMax@18(%x, $0) {keepdims = 1}", "f32[3,4]", "-1", "f32[3,1]"},
    {"Unsqueeze@13(%x, $0)", "f32[3,4]", "2, 0", "f32[1,3,1,4]"},
    {"Unsqueeze@13(%x, $0)", "f32[3,4]", "-1, 1", "f32[3,1,4,1]"},
    {"Squeeze@13(%x, $0)", "f32[1,3,1,4]", "2, 0", "f32[3,4]"},
    {"Squeeze@13(%x, $0)", "f32[1,3,1,4]", "-2", "f32[1,3,4]"},
    {"Reshape@14(%x, $0)", "f32[3,4]", "0, -1, 2", "f32[3,2,2]"},
    {"Expand@13(%x, $0)", "f32[3,1]", "2, 3, 4", "f32[2,3,4]"},
    {"Tile@13(%x, $0)", "f32[3,2]", "2, 3", "f32[6,6]"},
    {"Slice@13(%x, $0, $1, $2, $3)", "f32[5,7]", "-1, 1; -9, 6; 0, 1; -2, 2", "f32[3,3]"},
    {"Slice@13(%x, $0, $1, $2, $3)", "f32[5,7]", "-1; -9; 0; -1", "f32[5,7]"},
    {"Slice@13(%x, $0, $1, $2, $3)", "f32[5,7]", "1; 6; 1; 2", "f32[5,3]"},
    {"Slice@13(%x, $0, $1)", "f32[5,7]", "1, 2; 4, -1", "f32[3,4]"},
};

static void declared_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) check(&cases[i], cases[i].result);
}

static void shapes_found_at_run_time(void **state) {
  (void)state;
  static const char *const open[] = {"f32[A]", "f32[A,B]", "f32[A,B,C]", "f32[A,B,C,D]"};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    int64_t dims[BYOC_MAX_RANK];
    check(&cases[i], open[read_dims(cases[i].result, dims) - 1]);
  }
}

static void test_negative_sizes_are_errors(void **state) {
  (void)state;
  static const char *const nodes[][2] = {
      {"ConvTranspose@11(%x, @w) {pads = [3, 3]}", "ConvTranspose (ai.onnx 11): dimension 2"},
      {"Pad@13(%x, @p)", "Pad (ai.onnx 13): dimension 2"},
  };
  for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); ++i) {
    char text[512], expected[128];
    snprintf(text, sizeof(text),
             "module {\n  constant @w : f32[1,1,3] = splat 1.0\n  constant @p : i64[6] = [0, 0, -2, 0, 0, -2]\n"
             "  func @main(%%x : f32[1,1,N]) -> (%%y : ?) {\n    %%y = %s : ?\n    return %%y\n  }\n}\n",
             nodes[i][0]);
    snprintf(expected, sizeof(expected), "checking shapes: %s of the result is -1, but must be at least 0",
             nodes[i][1]);
    model_t m = {0};
    open_model(text, &m);
    const float data[3] = {1, 2, 3};
    const int64_t dims[] = {1, 1, 3};
    const byoc_argument_t x = {.dtype = BYOC_DTYPE_F32, .rank = 3, .dims = dims, .data = (void *)(uintptr_t)data};
    byoc_argument_t y = {0};
    byoc_diag_t diag = {0};
    byoc_test_error(byoc_evaluator_run_arguments(m.evaluator, &x, &y, &diag), BYOC_INVALID_ARGUMENT, &diag, expected);
    byoc_test_program_close(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(declared_shapes),
      cmocka_unit_test(shapes_found_at_run_time),
      cmocka_unit_test(test_negative_sizes_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
