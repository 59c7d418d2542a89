// Contexts by themselves: a made-up model whose run stands for what happens between two calls of the runtime.
#include "tests/support/support.h"

#include "core/runtime/artifact/model.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_run_arguments_keeps_its_context)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
