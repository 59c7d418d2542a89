// What host programs say about memory, seen in both executors: bounds and peaks.
#include "tests/unit/compose/host_model.h"

#define ADDS_ONE                                                                                                       \
  "kernel {\n  name \"add_one\"\n  symbols \"L\"\n  input x : f32[L]\n  output y : f32[L]\n"                           \
  "  serial i in 0 .. dim(\"L\") {\n    y[i] = x[i] + 1.0\n  }\n}\n"

// Three turns of a loop, each with a tensor of its own besides the carried one.
static const char looping[] = "host program \"looping\" dynamic {\n"
                              "  symbol N of inputs\n"
                              "  input %x : value f32[N]\n  input %trips : value i64[]\n  output %y : value f32[N]\n"
                              "  local %a : value f32[N]\n  local %i : value i64[]\n  local %c : value bool[]\n"
                              "  local %p : value f32[N]\n  local %m : value f32[N]\n  local %n : value f32[N]\n"
                              "  local %o : value f32[N]\n  local %s : f32[20]\n"
                              "  match %x binds N at 0\n"
                              "  kernel add_one(%x) [N] -> (%a)\n"
                              "  loop (%trips, none, %a) -> (%o) body (%i, %c, %p) {\n"
                              "    kernel add_one(%p) [N] -> (%m)\n    kernel add_one(%m) [N] -> (%n)\n"
                              "    yield (%c, %n)\n"
                              "  }\n"
                              "  share %o -> %y\n"
                              "}\n" ADDS_ONE;

static int64_t bound_at(const host_model_t *m, const char *symbol, int64_t value) {
  bool failed = false;
  byoc_map_t bindings;
  byoc_text_map_init(&bindings, byoc_allocator_system());
  byoc_dim_t dim = byoc_dim_constant(value);
  assert_true(byoc_text_map_put(&bindings, symbol, &dim));
  const byoc_dim_t bound = byoc_dim_substitute(m->program->live_bound_bytes, &bindings, &m->program->arena, &failed);
  byoc_map_deinit(&bindings);
  assert_true(!failed && byoc_dim_is_constant(bound));
  return bound.constant;
}

static void test_h9_bound_and_peak_of_a_dynamic_program(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, looping, "place-lifetimes,plan-memory");
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_dim_print(m.program->live_bound_bytes, &text);
  assert_string_equal(text.data, "N * 16 + 9"); // %a, %p, %m, %n, and the turn and condition
  byoc_string_deinit(&text);
  assert_non_null(strstr(m.artifact.table->metadata, "\"live_bound_bytes\":\"N * 16 + 9\""));
  float x[4096];
  for (int i = 0; i < 4096; ++i) x[i] = 1;
  const int64_t lengths[] = {16, 4096, 16}, three = 3;
  for (int i = 0; i < 3; ++i) {
    const byoc_argument_t inputs[] = {host_model_tensor(BYOC_DTYPE_F32, 1, &lengths[i], x),
                                      host_model_tensor(BYOC_DTYPE_I64, 0, NULL, &three)};
    byoc_argument_t results[1];
    host_model_run(&m, inputs, results);
    assert_true(((const float *)results[0].data)[lengths[i] - 1] == 8);
    const uint64_t peak = m.artifact.table->peak_bytes(m.context);
    assert_int_equal(peak, byoc_evaluator_peak_bytes(m.evaluator));
    assert_true(peak >= (uint64_t)bound_at(&m, "N", lengths[i]));
    // Sizes are rounded up to 64 bytes, and the results of the run before are still there.
    assert_int_equal(peak, 4 * 4 * lengths[i] + 2 * 64 + (i > 0 ? 4 * lengths[i - 1] : 0));
  }
  assert_int_equal(m.artifact.table->peak_bytes(NULL), 0);
  host_model_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h9_bound_and_peak_of_a_dynamic_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
