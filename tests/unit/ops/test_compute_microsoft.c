// SPDX-License-Identifier: Apache-2.0
// The operators of com.microsoft and those of early operator sets, against what ONNX Runtime gives for them.
#include "tests/unit/ops/ops_support.h"

enum { MOST_NUMBERS = 1024 };

typedef struct {
  const char *text;
  double expected[MOST_NUMBERS];
} case_t;

#define CASE(text, ...) {text, {__VA_ARGS__}},
static const case_t cases[] = {
#include "microsoft_cases.def"
};
#undef CASE

// The parameters of main are filled as microsoft.py does it.
static void fill(const byoc_type_t *type, int64_t place, void *data) {
  const int64_t count = byoc_type_element_count(type);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = (i * 37 + place * 11 + 5) % 251;
    switch (type->dtype) {
    case BYOC_DTYPE_F32:
      ((float *)data)[i] = (float)(number % 23 - 11) / 8;
      break;
    case BYOC_DTYPE_U8:
      ((uint8_t *)data)[i] = (uint8_t)number;
      break;
    case BYOC_DTYPE_I8:
      ((int8_t *)data)[i] = (int8_t)(number - 128);
      break;
    default:
      fail_msg("there is no rule for the type of a parameter");
    }
  }
}

static double element(const byoc_type_t *type, const void *data, int64_t i) {
  switch (type->dtype) {
  case BYOC_DTYPE_F32:
    return (double)((const float *)data)[i];
  case BYOC_DTYPE_U8:
    return (double)((const uint8_t *)data)[i];
  case BYOC_DTYPE_I8:
    return (double)((const int8_t *)data)[i];
  case BYOC_DTYPE_I32:
    return (double)((const int32_t *)data)[i];
  case BYOC_DTYPE_I64:
    return (double)((const int64_t *)data)[i];
  default:
    fail_msg("there is no rule for the type of a result");
  }
  return 0;
}

static void run_case(const case_t *item) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(item->text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  void *inputs[OPS_MAX_VALUES] = {NULL};
  for (size_t i = 0; i < body->parameters.count; ++i) {
    const byoc_type_t *type = body->parameters.data[i]->type;
    inputs[i] = malloc((size_t)byoc_type_element_count(type) * 4);
    assert_non_null(inputs[i]);
    fill(type, (int64_t)i, inputs[i]);
  }
  ops_run_t run;
  ops_run(item->text, (const void *const *)inputs, &run);
  const byoc_block_t *ran = byoc_graph_module_main(run.module)->body;
  size_t at = 0;
  for (size_t r = 0; r < ran->results.count; ++r) {
    const byoc_type_t *type = ran->results.data[r]->type;
    const int64_t count = byoc_type_element_count(type);
    for (int64_t i = 0; i < count; ++i, ++at) {
      const double actual = element(type, ops_result(&run, r), i), expected = item->expected[at];
      const double allowed = type->dtype == BYOC_DTYPE_F32 ? 1e-5 + 1e-4 * fabs(expected) : 0;
      if (fabs(actual - expected) <= allowed) continue;
      fail_msg("%s: element %d of result %zu is %.9g, expected %.9g", item->text, (int)i, r, actual, expected);
    }
  }
  assert_true(at == MOST_NUMBERS || item->expected[at] == 0); // no result is shorter than it should be
  ops_done(&run);
  for (size_t i = 0; i < OPS_MAX_VALUES; ++i) free(inputs[i]);
  byoc_graph_module_destroy(module);
}

static void test_onnxruntime_gives_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) run_case(&cases[i]);
}

// What the loops have no room for is told, and not only that it does not work.
static void test_what_is_too_large_is_told(void **state) {
  (void)state;
  static const struct {
    const char *parameters, *node, *message;
  } rows[] = {
      {"%x : f32[129,129]", "com.microsoft::Inverse@1(%x)", "matrices of 129 rows are larger than 128"},
      {"%x : f32[N,N]", "com.microsoft::Inverse@1(%x)", "the size of the matrices must be known"},
      {"%x : f32[2,200,200]", "Det@11(%x)", "matrices of 200 rows are larger than 128"},
      {"%x : f32[1,65537,2,2], %w : f32[1,65537,1,1], %o : f32[1,2,2,2]", "DeformConv@19(%x, %w, %o)",
       "65537 channels times 1 taps are more than 65536 samples of a pixel"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    char text[256];
    snprintf(text, sizeof(text),
             "module {\n  func @main(%s) -> (%%y : ?) {\n    %%y = %s : ?\n    return %%y\n  }\n}\n",
             rows[i].parameters, rows[i].node);
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
    byoc_test_ok(byoc_infer_module(module, &diag), &diag);
    byoc_test_error(byoc_kernel_lower_module(module, NULL, &diag), BYOC_UNSUPPORTED, &diag, rows[i].message);
    byoc_graph_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_onnxruntime_gives_the_same),
                                     cmocka_unit_test(test_what_is_too_large_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
