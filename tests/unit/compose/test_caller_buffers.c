// The caller's buffers: outputs that become inputs, buffers that overlap, outputs that the caller allocates.
#include "both_ways.h"

// Every output is an input of the next run, of the same context. `step` changes the first value by itself.
static void feed_back(model_t *m, byoc_argument_t *inputs, void (*step)(void *), void *expected, size_t size_bytes) {
  const byoc_artifact_t *table = m->artifact.table;
  byoc_argument_t evaluated[MAX_RESULTS], compiled[MAX_RESULTS], kept = inputs[0];
  for (int way = 0; way < 2; ++way) {
    inputs[0] = kept;
    for (int turn = 0; turn < 10; ++turn) {
      byoc_diag_t diag = {0};
      byoc_argument_t *results = way == 0 ? evaluated : compiled;
      memcpy(expected, inputs[0].data, size_bytes);
      step(expected);
      if (way == 0) byoc_test_ok(byoc_evaluator_run_arguments(m->evaluator, inputs, results, &diag), &diag);
      if (way == 1 && table->run_arguments(m->context, inputs, results) != BYOC_OK) {
        fail_msg("%s", table->last_error(m->context));
      }
      assert_memory_equal(results[0].data, expected, size_bytes);
      inputs[0] = results[0];
    }
  }
}

enum { LENGTH = 512 };

// The last element comes first, and half of the first one is added to each.
static void rotate(void *data) {
  float *x = data, first = x[0], last = x[LENGTH - 1];
  memmove(x + 1, x, (LENGTH - 1) * sizeof(*x));
  x[0] = last;
  for (int i = 0; i < LENGTH; ++i) x[i] += 0.5f * first;
}

#define ROTATE(dim)                                                                                                    \
  "module {\n  constant @one : i64[1] = [1]\n  constant @zero : i64[1] = [0]\n  constant @last : i64[1] = [-1]\n"      \
  "  constant @end : i64[1] = [9223372036854775807]\n  constant @half : f32[1] = [0.5]\n"                              \
  "  func @main(%x : f32[" dim "]) -> (%y : f32[" dim "]) {\n"                                                         \
  "    %a = Slice@13(%x, @last, @end) : f32[1]\n    %b = Slice@13(%x, @zero, @last) : f32[" dim " - 1]\n"              \
  "    %c = Concat@13(%a, %b) {axis = 0} : f32[" dim "]\n    %f = Slice@13(%x, @zero, @one) : f32[1]\n"                \
  "    %h = Mul@14(%f, @half) : f32[1]\n    %y = Add@14(%c, %h) : f32[" dim "]\n    return %y\n  }\n}\n"

// Issue 14, item 6: values were wrong, with status 0, because a run wrote its results over those of the last one.
static void test_h5_outputs_are_inputs_of_the_next_run(void **state) {
  (void)state;
  static const char *const texts[] = {ROTATE("N"), ROTATE("512")};
  for (int i = 0; i < 2; ++i) {
    model_t m;
    open_model(texts[i], &m);
    assert_int_equal(m.program->is_dynamic, i == 0);
    float x[LENGTH], expected[LENGTH];
    for (int k = 0; k < LENGTH; ++k) x[k] = (float)(k % 7);
    const int64_t dims[1] = {LENGTH};
    byoc_argument_t input = floats(1, dims, x);
    feed_back(&m, &input, rotate, expected, sizeof(x));
    close_model(&m);
  }
}

// What a failed run leaves is not what the next one gets.
static void test_h5_a_failed_run_keeps_the_last_results(void **state) {
  (void)state;
  model_t m;
  open_model(ROTATE("N"), &m);
  float x[LENGTH] = {1}, expected[LENGTH];
  const int64_t dims[1] = {LENGTH};
  byoc_argument_t input = floats(1, dims, x), wrong = tensor(BYOC_DTYPE_I64, 1, dims, x), results[MAX_RESULTS];
  run(&m, &input, results);
  memcpy(expected, results[0].data, sizeof(expected));
  const byoc_argument_t last = results[0];
  for (int i = 0; i < 3; ++i) run_fails(&m, &wrong, BYOC_INVALID_ARGUMENT, "the input 'x' is i64[512]");
  assert_memory_equal(last.data, expected, sizeof(expected));
  close_model(&m);
}

// Texts that a run made, or only passed on, are inputs of the next one, too.
static void test_h5_texts_are_inputs_of_the_next_run(void **state) {
  (void)state;
  static const char *const signatures[] = {"string[N]", "string[2]"};
  for (int i = 0; i < 2; ++i) {
    char text[512];
    snprintf(
        text, sizeof(text),
        "module {\n  constant @s : string[1] = [\"x\"]\n  func @main(%%a : %s, %%b : %s) -> (%%l : %s, %%p : %s) {\n"
        "    %%l = StringConcat@20(%%a, @s) : %s\n    return %%l, %%b\n  }\n}\n",
        signatures[i], signatures[i], signatures[i], signatures[i], signatures[i]);
    model_t m;
    open_model(text, &m);
    const char *const words[2] = {"a", "bc"};
    const int64_t dims[1] = {2};
    const byoc_artifact_t *table = m.artifact.table;
    const byoc_argument_t first = tensor(BYOC_DTYPE_STRING, 1, dims, words);
    byoc_argument_t inputs[2] = {first, first}, results[2][2];
    char made[64] = "bc", passed[64] = "bc";
    for (int turn = 0; turn < 20; ++turn) { // a text made two turns ago has been passed on since
      byoc_argument_t *out = results[turn % 2];
      if (table->run_arguments(m.context, inputs, out) != BYOC_OK) fail_msg("%s", table->last_error(m.context));
      strcat(made, "x");
      assert_string_equal(((const char *const *)out[0].data)[1], made);
      assert_string_equal(((const char *const *)out[1].data)[1], passed);
      if (turn % 2 == 0) strcpy(passed, made);
      if (turn % 2 == 0) inputs[1] = out[0]; // else: what was passed on is passed on again
      if (turn % 2 == 1) inputs[1] = out[1];
      inputs[0] = out[0];
    }
    close_model(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h5_outputs_are_inputs_of_the_next_run),
      cmocka_unit_test(test_h5_a_failed_run_keeps_the_last_results),
      cmocka_unit_test(test_h5_texts_are_inputs_of_the_next_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
