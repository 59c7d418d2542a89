// SPDX-License-Identifier: Apache-2.0
// Contexts by themselves: a made-up model whose run stands for what happens between two calls of the runtime.
#include "tests/support/support.h"

#include "core/runtime/model.h"

static byoc_context_t *context;
static int32_t stranger_status;
static const char *stranger_error;

// run_arguments calls this. Before it takes the context, a second thread comes with arguments of its own.
static int32_t run_beside_a_stranger(byoc_context_t *self, const void *const *inputs, void *const *outputs) {
  static float x, y;
  const void *const other_inputs[] = {&x};
  void *const other_outputs[] = {&y};
  stranger_status = byoc_model_begin(self, other_inputs, other_outputs);
  stranger_error = byoc_model_last_error(self);
  int32_t status = byoc_model_begin(self, inputs, outputs);
  if (status != BYOC_OK) return status;
  *(float *)outputs[0] = 2 * *(const float *)inputs[0];
  return byoc_model_end(self);
}

static const byoc_tensor_info_t ports[] = {
    {.name = "x", .dtype = BYOC_DTYPE_F32, .size_bytes = sizeof(float)},
    {.name = "y", .dtype = BYOC_DTYPE_F32, .size_bytes = sizeof(float)},
};
static const char *const kinds[] = {"t"};
static const byoc_artifact_t artifact = {.struct_size = sizeof(artifact),
                                         .model_name = "made up",
                                         .inputs = &ports[0],
                                         .outputs = &ports[1],
                                         .input_count = 1,
                                         .output_count = 1,
                                         .input_kinds = kinds,
                                         .output_kinds = kinds,
                                         .run = run_beside_a_stranger};
static const byoc_model_t model = {.artifact = &artifact, .cpu_features = "", .thread_count = 1};

static void test_run_arguments_keeps_its_context(void **state) {
  (void)state;
  float x = 3;
  const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .data = &x};
  byoc_argument_t output = {0};
  assert_int_equal(byoc_model_create(&model, NULL, &context), BYOC_OK);
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(byoc_model_run_arguments(context, &input, &output), BYOC_OK);
    assert_float_equal(*(const float *)output.data, 6, 0);
    assert_int_equal(stranger_status, BYOC_INVALID_ARGUMENT);
    assert_non_null(strstr(stranger_error, "used by two threads at once"));
  }
  // Nobody uses it now.
  const void *const inputs[] = {&x};
  float y = 0;
  void *const outputs[] = {&y};
  assert_int_equal(byoc_model_begin(context, inputs, outputs), BYOC_OK);
  assert_int_equal(byoc_model_begin(context, inputs, outputs), BYOC_INVALID_ARGUMENT);
  assert_int_equal(byoc_model_end(context), BYOC_OK);
  byoc_model_destroy(context);
}

// ---- buffers that overlap ----

static int32_t run_nothing(byoc_context_t *self, const void *const *inputs, void *const *outputs) {
  int32_t status = byoc_model_begin(self, inputs, outputs);
  return status == BYOC_OK ? byoc_model_end(self) : status;
}

static const byoc_tensor_info_t many_ports[] = {
    {.name = "a", .dtype = BYOC_DTYPE_U8, .size_bytes = 16},
    {.name = "b", .dtype = BYOC_DTYPE_U8, .size_bytes = 16},
    {.name = "none", .dtype = BYOC_DTYPE_U8},
    {.name = "y", .dtype = BYOC_DTYPE_U8, .size_bytes = 16},
    {.name = "z", .dtype = BYOC_DTYPE_U8, .size_bytes = 8},
};
static const byoc_artifact_t many_artifact = {.struct_size = sizeof(many_artifact),
                                              .model_name = "many",
                                              .inputs = many_ports,
                                              .outputs = many_ports + 3,
                                              .input_count = 3,
                                              .output_count = 2,
                                              .run = run_nothing};
static const byoc_model_t many_model = {.artifact = &many_artifact, .cpu_features = "", .thread_count = 1};

static void expect_run(uint8_t *a, uint8_t *b, uint8_t *y, uint8_t *z, const char *refusal) {
  const void *const inputs[] = {a, b, NULL};
  void *const outputs[] = {y, z};
  int32_t status = run_nothing(context, inputs, outputs);
  assert_int_equal(status, refusal == NULL ? BYOC_OK : BYOC_INVALID_ARGUMENT);
  if (refusal != NULL) assert_string_equal(byoc_model_last_error(context), refusal);
}

// Such runs gave wrong values with status 0.
static void test_h4_overlaps_are_refused_by_name(void **state) {
  (void)state;
  uint8_t m[64];
  assert_int_equal(byoc_model_create(&many_model, NULL, &context), BYOC_OK);
  for (int round = 0; round < 2; ++round) {
    expect_run(m, m + 16, m + 32, m + 48, NULL);
    expect_run(m, m, m + 16, m + 32, NULL); // inputs may share bytes
    expect_run(m, m + 8, m + 24, m + 32 + 8, NULL);
    expect_run(m, m + 16, m + 16, m + 48, "the input 'b' and the output 'y' overlap in memory");
    expect_run(m, m + 16, m + 16, m + 48, "the input 'b' and the output 'y' overlap in memory");
    expect_run(m, m + 16, m + 47, m + 40, "the output 'y' and the output 'z' overlap in memory");
    expect_run(m, m + 32, m + 47, m + 16, "the input 'b' and the output 'y' overlap in memory");
    expect_run(m, m + 48, m + 32, m + 15, "the input 'a' and the output 'z' overlap in memory");
    expect_run(m, m + 16, m + 32, m + 48, NULL); // the context is still good
  }
  byoc_model_destroy(context);
}

// A run that is given some of its outputs is refused: it needs all of them.
static void test_h4_mixed_preallocation_is_refused_by_name(void **state) {
  (void)state;
  uint8_t m[64];
  assert_int_equal(byoc_model_create(&many_model, NULL, &context), BYOC_OK);
  expect_run(m, m + 16, m + 32, m + 48, NULL);
  expect_run(m, m + 16, m + 32, NULL, "the output 'z' is NULL, but the output 'y' is given: a run needs all of them");
  expect_run(m, m + 16, NULL, m + 48, "the output 'y' is NULL, but the output 'z' is given: a run needs all of them");
  expect_run(m, m + 16, NULL, NULL, "the output 'y' is NULL");
  expect_run(m, NULL, m + 32, m + 48, "the input 'b' is NULL");
  expect_run(m, m + 16, m + 32, m + 48, NULL);
  byoc_model_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run_arguments_keeps_its_context),
      cmocka_unit_test(test_h4_overlaps_are_refused_by_name),
      cmocka_unit_test(test_h4_mixed_preallocation_is_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
