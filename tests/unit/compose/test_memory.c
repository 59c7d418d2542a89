// SPDX-License-Identifier: Apache-2.0
// What host programs say about memory, seen in both executors: bounds and peaks, zeroed and cached allocations.
#include "core/hostir/evaluate/evaluate_internal.h"
#include "tests/unit/compose/host_model.h"

#define PASSES "place-lifetimes,plan-memory"
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
  byoc_string_map_init(&bindings, byoc_allocator_system());
  byoc_dim_t dim = byoc_dim_constant(value);
  assert_true(byoc_string_map_put(&bindings, symbol, &dim));
  const byoc_dim_t bound = byoc_dim_substitute(m->program->live_bound_bytes, &bindings, &m->program->arena, &failed);
  byoc_map_deinit(&bindings);
  assert_true(!failed && byoc_dim_is_constant(bound));
  return bound.constant;
}

static void test_h9_a_dynamic_program_has_a_bound_and_a_peak(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, looping, PASSES);
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

static uint64_t plan(const char *text) {
  byoc_diag_t diag = {0};
  host_model_t m;
  host_model_parse(&m, text);
  byoc_test_ok(byoc_host_pass_run_list(PASSES, m.program, NULL, &diag), &diag);
  assert_int_equal(m.program->workspace_size_bytes, m.program->workspace_bound_bytes);
  const uint64_t size_bytes = m.program->workspace_size_bytes;
  host_model_close(&m);
  return size_bytes;
}

#define NESTED_HEAD                                                                                                    \
  "host program \"nested\" {\n  input %x : f32[4]\n  input %go : bool[]\n  output %y : f32[4]\n"                       \
  "  local %a : f32[16]\n  local %b : f32[32]\n  local %c : f32[64]\n  local %d : f32[128]\n"

// The largest sum over all cases: 64 + 128 + 256 in the first one's inner else, or 64 + 512 in the second.
static void test_h9_the_peak_in_nested_scopes_is_exact(void **state) {
  (void)state;
  assert_int_equal(plan(NESTED_HEAD "  packed f(%x) -> (%a)\n  branch (%go) -> ()\n  then {\n"
                                    "    packed g(%a) -> (%b)\n    branch (%go) -> ()\n    then {\n"
                                    "      packed h(%b) -> (%y)\n    }\n    else {\n      packed i(%b) -> (%c)\n"
                                    "      packed j(%c) -> (%y)\n    }\n  }\n  else {\n    packed k(%a) -> (%d)\n"
                                    "    packed l(%d) -> (%y)\n  }\n}\n"),
                   64 + 512);
  assert_int_equal(plan(NESTED_HEAD "  packed f(%x) -> (%d)\n  branch (%go) -> ()\n  then {\n"
                                    "    packed g(%d) -> (%b)\n    branch (%go) -> ()\n    then {\n"
                                    "      packed h(%b) -> (%y)\n    }\n    else {\n      packed i(%b) -> (%c)\n"
                                    "      packed j(%c) -> (%y)\n    }\n  }\n  else {\n    packed k(%d) -> (%a)\n"
                                    "    packed l(%a) -> (%y)\n  }\n}\n"),
                   512 + 128 + 256);
}

// A buffer may live more often than there are buffers; both cases may end a life.
static void test_h9_a_buffer_may_live_often(void **state) {
  (void)state;
  assert_int_equal(plan("host program \"lives\" {\n  input %x : f32[4]\n  input %go : bool[]\n  output %y : f32[4]\n"
                        "  local %t : f32[4]\n"
                        "  allocate %t\n  copy %x -> %t\n  free %t\n  allocate %t\n  copy %x -> %t\n  free %t\n"
                        "  allocate %t\n  copy %x -> %t\n  free %t\n  allocate %t\n  copy %x -> %t\n"
                        "  branch (%go) -> ()\n  then {\n    copy %t -> %y\n    free %t\n  }\n"
                        "  else {\n    copy %x -> %y\n    free %t\n  }\n}\n"),
                   64);
}

// Nothing but the results is left behind a run, and not even those if there are none.
static void test_h9_a_run_leaves_zero_bytes(void **state) {
  (void)state;
  host_model_t m;
  const char *end = strstr(looping, "  share %o -> %y\n"), *output = strstr(looping, "  output %y : value f32[N]\n");
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append_bytes(&text, looping, (size_t)(output - looping));
  output = strchr(output, '\n') + 1;
  byoc_string_append_bytes(&text, output, (size_t)(end - output));
  byoc_string_append(&text, strchr(end, '\n') + 1);
  host_model_open(&m, text.data, PASSES);
  byoc_string_deinit(&text);
  const float x[16] = {0};
  const int64_t length = 16;
  for (int64_t trips = 0; trips < 4; ++trips) {
    const byoc_argument_t inputs[] = {host_model_tensor(BYOC_DTYPE_F32, 1, &length, x),
                                      host_model_tensor(BYOC_DTYPE_I64, 0, NULL, &trips)};
    host_model_run(&m, inputs, NULL);
    assert_int_equal(m.evaluator->frame.live_bytes, 0);
    assert_true(m.evaluator->frame.peak_bytes > 0);
    assert_int_equal(m.artifact.table->peak_bytes(m.context), byoc_evaluator_peak_bytes(m.evaluator));
  }
  host_model_close(&m);
}

static byoc_status_t find_bounds(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(argument, "p.host", NULL, allocator, &diag, &module, &program);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(PASSES, program, NULL, &diag);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_h9_failed_allocations_are_reported(void **state) {
  (void)state;
  char text[sizeof(looping)];
  memcpy(text, looping, sizeof(looping));
  byoc_test_each_allocation_fails(find_bounds, text, false);
}

// ---- H8: fresh, zeroed, cached ----

#define ADDS                                                                                                           \
  "kernel {\n  name \"add\"\n  symbols \"L\"\n  input a : f32[L]\n  input b : f32[L]\n  output y : f32[L]\n"           \
  "  serial i in 0 .. dim(\"L\") {\n    y[i] = a[i] + b[i]\n  }\n}\n"
#define ADDS_FOUR                                                                                                      \
  "kernel {\n  name \"add_4\"\n  input a : f32[4]\n  input b : f32[4]\n  output y : f32[4]\n"                          \
  "  serial i in 0 .. 4 {\n    y[i] = a[i] + b[i]\n  }\n}\n"

// Runs with four numbers, all `x`; the result is four times the same.
static float run_four(host_model_t *m, float x) {
  const float numbers[4] = {x, x, x, x};
  const int64_t four = 4;
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, &four, numbers);
  byoc_argument_t result;
  host_model_run(m, &input, &result);
  const float *y = result.data;
  assert_true(y[0] == y[1] && y[0] == y[2] && y[0] == y[3]);
  return y[0];
}

// %t is zero whenever it is asked for, and dirty when it is given back.
static void test_h8_zeroed_memory_is_zero_each_time(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m,
                  "host program \"zeroed\" {\n"
                  "  input %x : f32[4]\n  output %y : f32[4]\n  local %t : f32[4]\n  local %u : f32[4]\n"
                  "  allocate %t zeroed\n  kernel add_4(%x, %t) -> (%u)\n  copy %u -> %t\n  free %t\n"
                  "  allocate %t zeroed\n  kernel add_4(%u, %t) -> (%y)\n  copy %u -> %t\n  free %t\n"
                  "}\n" ADDS_FOUR,
                  PASSES);
  assert_int_equal(m.program->workspace_size_bytes, 128);
  assert_int_equal(m.program->workspace_bound_bytes, 128);
  for (int i = 1; i < 4; ++i) assert_true(run_four(&m, (float)i) == (float)i);
  host_model_close(&m);
}

// %t keeps a sum from run to run, while %u and %v, before and after it, share bytes with each other only.
static void test_h8_cached_memory_is_kept_from_run_to_run(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m,
                  "host program \"cached\" {\n"
                  "  input %x : f32[4]\n  output %y : f32[4]\n  local %t : f32[4]\n  local %u : f32[4]\n"
                  "  local %s : f32[4]\n  local %v : f32[4]\n"
                  "  kernel add_4(%x, %x) -> (%u)\n  copy %u -> %y\n"
                  "  allocate %t cached\n  kernel add_4(%x, %t) -> (%s)\n  copy %s -> %t\n  free %t\n"
                  "  kernel add_4(%s, %s) -> (%v)\n  copy %s -> %y\n"
                  "}\n" ADDS_FOUR,
                  PASSES);
  assert_int_equal(m.program->workspace_size_bytes, 192);
  assert_int_equal(m.program->workspace_bound_bytes, 192);
  float sum = 0;
  for (int i = 1; i < 5; ++i) assert_true(run_four(&m, (float)i) == (sum += (float)i));
  // Another context has bytes of its own.
  byoc_context_t *first = m.context;
  assert_int_equal(m.artifact.table->create(NULL, &m.context), BYOC_OK);
  const float x[4] = {1, 1, 1, 1};
  float y[4] = {0};
  const void *in = x;
  void *out = y;
  assert_int_equal(m.artifact.table->run(m.context, &in, &out), BYOC_OK);
  assert_true(y[0] == 1 && y[3] == 1);
  m.artifact.table->destroy(m.context);
  m.context = first;
  assert_true(run_four(&m, 1) == sum + 1);
  host_model_close(&m);
}

// The same for cells, in the turns of a loop. %z is zero in each turn, %k goes on in the next turn and in the next run.
static const char turns[] = "host program \"turns\" dynamic {\n"
                            "  symbol N of inputs\n"
                            "  input %x : value f32[N]\n  input %trips : value i64[]\n"
                            "  output %zeros : value f32[?1,N]\n  output %sums : value f32[?2,N]\n"
                            "  local %i : value i64[]\n  local %c : value bool[]\n"
                            "  local %z : value f32[N]\n  local %k : value f32[N]\n"
                            "  local %a : value f32[N]\n  local %b : value f32[N]\n"
                            "  local %all_a : value f32[?1,N]\n  local %all_b : value f32[?2,N]\n"
                            "  match %x binds N at 0\n"
                            "  loop (%trips, none) -> (%all_a, %all_b) scanned [N, N] body (%i, %c) {\n"
                            "    allocate %z zeroed\n    kernel add(%x, %z) [N] -> (%a)\n"
                            "    kernel add(%x, %x) [N] -> (%z)\n    free %z\n"
                            "    allocate %k cached\n    kernel add(%x, %k) [N] -> (%b)\n"
                            "    kernel add(%b, %a) [N] -> (%k)\n    free %k\n"
                            "    yield (%c, %a, %b)\n"
                            "  }\n"
                            "  share %all_a -> %zeros\n  share %all_b -> %sums\n"
                            "}\n" ADDS;

static void test_h8_turns_of_loops_keep_their_memory(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, turns, PASSES);
  float x[100];
  for (int i = 0; i < 100; ++i) x[i] = 1;
  // %b is 1, 3, 5, ...; a run with another length begins anew.
  const int64_t lengths[] = {8, 8, 100, 8}, trips = 3;
  const float first[] = {1, 7, 1, 1};
  for (int i = 0; i < 4; ++i) {
    const byoc_argument_t inputs[] = {host_model_tensor(BYOC_DTYPE_F32, 1, &lengths[i], x),
                                      host_model_tensor(BYOC_DTYPE_I64, 0, NULL, &trips)};
    byoc_argument_t results[2];
    host_model_run(&m, inputs, results);
    assert_int_equal(results[0].dims[0], 3);
    const float *zeros = results[0].data, *sums = results[1].data;
    for (int64_t k = 0; k < 3 * lengths[i]; ++k) {
      assert_true(zeros[k] == 1);
      assert_true(sums[k] == first[i] + (float)(k / lengths[i] * 2));
    }
  }
  host_model_close(&m);
}

static void refused(const char *body, const char *reason) {
  byoc_diag_t diag = {0};
  host_model_t m;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text,
                      "host program \"p\" dynamic {\n  symbol N of inputs\n  input %%x : value f32[N]\n"
                      "  output %%y : value f32[N]\n  local %%t : value f32[N]\n  local %%s : string[2]\n"
                      "  match %%x binds N at 0\n%s}\n" ADDS,
                      body);
  host_model_parse(&m, text.data);
  byoc_test_error(byoc_host_program_verify(m.program, &diag), BYOC_INTERNAL, &diag, reason);
  host_model_close(&m);
  byoc_string_deinit(&text);
}

static void test_h8_wrong_allocations_are_refused(void **state) {
  (void)state;
  refused("  allocate %t\n  kernel add(%x, %t) [N] -> (%y)\n  free %t\n", "'t' is read before it is written");
  refused("  allocate %t cached\n  share %t -> %y\n  free %t\n", "buffer 't' is cached, but a share passes it on");
  refused("  allocate %t cached\n  free %t\n  allocate %t zeroed\n  free %t\n  share %x -> %y\n",
          "buffer 't' is cached here, and not where it is allocated elsewhere");
  refused("  allocate %s zeroed\n  free %s\n  share %x -> %y\n", "buffer 's' is zeroed, but holds no numbers");
  refused("  allocate %t zeroed\n  share %t -> %y\n", "buffer 't' is never freed");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h9_a_dynamic_program_has_a_bound_and_a_peak),
      cmocka_unit_test(test_h9_the_peak_in_nested_scopes_is_exact),
      cmocka_unit_test(test_h9_a_buffer_may_live_often),
      cmocka_unit_test(test_h9_a_run_leaves_zero_bytes),
      cmocka_unit_test(test_h9_failed_allocations_are_reported),
      cmocka_unit_test(test_h8_zeroed_memory_is_zero_each_time),
      cmocka_unit_test(test_h8_cached_memory_is_kept_from_run_to_run),
      cmocka_unit_test(test_h8_turns_of_loops_keep_their_memory),
      cmocka_unit_test(test_h8_wrong_allocations_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
