// SPDX-License-Identifier: Apache-2.0
// The caller's buffers: outputs that become inputs, outputs that are written over inputs, buffers that overlap.
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

// Values were wrong, with status 0, because a run wrote its results over those of the last one.
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

// ---- outputs that are written over inputs ----

enum { STATE = 32, MAX_STATES = 4 }; // elements of each input and output below

typedef struct states_t {
  float data[MAX_STATES][STATE];
} states_t;

static void fill(states_t *states, uint32_t *seed) {
  for (int i = 0; i < MAX_STATES * STATE; ++i) {
    *seed = *seed * 1664525u + 1013904223u;
    states->data[i / STATE][i % STATE] = (float)(*seed >> 20) / 4096.0f;
  }
}

// Runs with outputs of their own, then with each output over its input: both give the same, whatever runs the program.
static void same_in_place(model_t *m, bool is_compiled, uint32_t *seed) {
  const size_t inputs = m->program->inputs.count, outputs = m->program->outputs.count;
  const void *in[MAX_STATES];
  void *out[MAX_STATES];
  states_t given, made, first;
  for (int way = 0; way < (is_compiled ? 4 : 2); ++way) {
    const bool in_place = way % 2 == 1, by_artifact = way >= 2;
    if (way == 0) fill(&first, seed);
    given = first;
    states_t now;
    memset(&now, 0xff, sizeof(now));
    for (size_t i = 0; i < inputs; ++i) in[i] = given.data[i];
    for (size_t o = 0; o < outputs; ++o) {
      const byoc_host_buffer_t *over = m->program->outputs.data[o]->over;
      out[o] = now.data[o];
      for (size_t i = 0; i < inputs && in_place; ++i) {
        if (m->program->inputs.data[i] == over) out[o] = given.data[i];
      }
    }
    byoc_diag_t diag = {0};
    if (!by_artifact) byoc_test_ok(byoc_evaluator_run(m->evaluator, in, out, &diag), &diag);
    if (by_artifact && m->artifact.table->run(m->context, in, out) != BYOC_OK) {
      fail_msg("%s", m->artifact.table->last_error(m->context));
    }
    for (size_t o = 0; o < outputs; ++o) {
      if (way == 0) memcpy(made.data[o], out[o], sizeof(made.data[o]));
      if (memcmp(made.data[o], out[o], sizeof(made.data[o])) != 0) {
        fail_msg("output '%s' differs, way %d", m->program->outputs.data[o]->name, way);
      }
    }
  }
}

static const char state_constants[] =
    "module {\n  constant @at : i64[2,8] = [1, 0, 3, 2, 1, 0, 3, 2, 0, 0, 0, 0, 1, 1, 1, 1]\n"
    "  constant @parts : i64[3] = [2, 1, 1]\n  constant @w : f32[8,8] = %s\n";

static void open_states(const char *signature, const char *body, const byoc_host_pair_t *pairs, size_t count,
                        bool is_compiled, model_t *m) {
  char text[8192], weights[2048] = "[";
  for (int i = 0; i < 64; ++i) {
    snprintf(weights + strlen(weights), sizeof(weights) - strlen(weights), "%s%d.%d", i > 0 ? ", " : "", i % 3, i % 7);
  }
  strcat(weights, "]");
  int used = snprintf(text, sizeof(text), state_constants, weights);
  snprintf(text + used, sizeof(text) - (size_t)used, "  func @main%s {\n%s\n  }\n}\n", signature, body);
  if (is_compiled) open_with_pairs(text, pairs, count, m);
  if (!is_compiled) open_evaluated(text, pairs, count, m);
}

#define F "f32[4,8]"

// What is copied of what a run with pairs of its own bytes, and of the same bytes, moves unchanged.
static void check_copies(const model_t *m, uint64_t apart, uint64_t in_place) {
  assert_int_equal(byoc_host_copied_bytes(m->program, false), apart);
  assert_int_equal(byoc_host_copied_bytes(m->program, true), in_place);
}

static void test_h5_states_change_in_place(void **state) {
  (void)state;
  static const byoc_host_pair_t y_over_x = {"y", "x"}, crossed[] = {{"y", "x"}, {"z", "u"}};
  static const struct {
    const char *signature, *body;
    const byoc_host_pair_t *pairs;
    size_t pair_count;
    uint64_t apart, in_place; // bytes copied
  } cases[] = {
      // Only what is new is written.
      {"(%x : " F ", %u : f32[2,8]) -> (%y : " F ")",
       "    %y = ScatterElements@18(%x, @at, %u) {axis = 0} : " F "\n    return %y", &y_over_x, 1, 128, 0},
      // The rows before and behind the new one stay.
      {"(%x : " F ", %u : f32[1,8]) -> (%y : " F ")",
       "    %a, %b, %c = Split@18(%x, @parts) {axis = 0} : f32[2,8], f32[1,8], f32[1,8]\n"
       "    %y = Concat@13(%a, %u, %c) {axis = 0} : " F "\n    return %y",
       &y_over_x, 1, 96, 0},
      // Each element where it was.
      {"(%x : " F ", %u : " F ") -> (%y : " F ")",
       "    %a = Add@14(%x, %u) : " F "\n    %y = Relu@14(%a) : " F "\n    return %y", &y_over_x, 1, 0, 0},
      // Two states of one kernel.
      {"(%x : " F ", %u : " F ") -> (%y : " F ", %z : " F ")",
       "    %y = Relu@14(%x) : " F "\n    %a = Sigmoid@13(%y) : " F "\n    %z = Sub@14(%u, %a) : " F
       "\n    return %y, %z",
       crossed, 2, 0, 0},
      // What reads the old state moves in front of what writes the new one.
      {"(%x : " F ", %u : " F ") -> (%y : " F ", %z : f32[4,8])",
       "    %y = Mul@14(%x, %u) : " F "\n    %z = MatMul@13(%x, @w) : " F "\n    return %y, %z", &y_over_x, 1, 0, 0},
      // A product needs all of the old state: it is made elsewhere.
      {"(%x : " F ") -> (%y : " F ")", "    %y = MatMul@13(%x, @w) : " F "\n    return %y", &y_over_x, 1, 128, 128},
      // A state that only passes through.
      {"(%x : " F ") -> (%y : " F ", %z : " F ")", "    %z = Relu@14(%x) : " F "\n    return %x, %z", &y_over_x, 1, 128,
       0},
      // Two states change places.
      {"(%x : " F ", %u : " F ") -> (%y : " F ", %z : " F ")", "    return %u, %x", crossed, 2, 384, 384},
      // Each needs the other one's old value.
      {"(%x : " F ", %u : " F ") -> (%y : " F ", %z : " F ")",
       "    %y = Add@14(%x, %u) : " F "\n    %z = Sub@14(%u, %x) : " F "\n    return %y, %z", crossed, 2, 128, 128},
  };
  uint32_t seed = 7;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    model_t m;
    open_states(cases[i].signature, cases[i].body, cases[i].pairs, cases[i].pair_count, true, &m);
    same_in_place(&m, true, &seed);
    check_copies(&m, cases[i].apart, cases[i].in_place);
    close_model(&m);
  }
}

static uint32_t below(uint32_t *seed, uint32_t limit) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % limit;
}

// Random graphs over states, with random pairs: a run in place equals one that is not.
static void test_h5_random_states_in_place_change_no_result(void **state) {
  (void)state;
  static const char *const ops[] = {
      "Add@14(%%v%u, %%v%u)",
      "Sub@14(%%v%u, %%v%u)",
      "Mul@14(%%v%u, %%v%u)",
      "MatMul@13(%%v%u, @w)",
      "Relu@14(%%v%u)",
      "Softmax@13(%%v%u) {axis = 1}",
      "Identity@14(%%v%u)",
      "ScatterElements@18(%%v%u, @at, %%s) {axis = 0}",
      "Concat@13(%%s, %%h) {axis = 0}",
  };
  uint32_t seed = 3, moved = 0;
  for (int round = 0; round < 300; ++round) {
    const uint32_t inputs = 1 + below(&seed, MAX_STATES - 1), nodes = 1 + below(&seed, 7);
    char signature[512] = "(", body[4096] = "", results[128] = "";
    for (uint32_t i = 0; i < inputs; ++i) {
      snprintf(signature + strlen(signature), sizeof(signature) - strlen(signature), "%s%%v%u : " F, i > 0 ? ", " : "",
               i);
    }
    strcat(signature, ") -> (");
    // Halves of a state, for operators that take less than one.
    strcat(body, "    %s, %h = Split@13(%v0) {axis = 0} : f32[2,8], f32[2,8]\n");
    for (uint32_t n = 0; n < nodes; ++n) {
      const size_t used = strlen(body);
      int size = snprintf(body + used, sizeof(body) - used, "    %%v%u = ", inputs + n);
      const uint32_t a = below(&seed, inputs + n), b = below(&seed, inputs + n);
      size += snprintf(body + used + size, sizeof(body) - used - (size_t)size, ops[below(&seed, 9)], a, b);
      snprintf(body + used + size, sizeof(body) - used - (size_t)size, " : " F "\n");
    }
    const uint32_t outputs = 1 + below(&seed, inputs);
    byoc_host_pair_t pairs[MAX_STATES];
    char names[MAX_STATES][2][8];
    for (uint32_t o = 0; o < outputs; ++o) {
      snprintf(names[o][0], sizeof(names[o][0]), "y%u", o);
      snprintf(names[o][1], sizeof(names[o][1]), "v%u", (o + (uint32_t)round) % inputs);
      pairs[o] = (byoc_host_pair_t){names[o][0], names[o][1]};
      snprintf(signature + strlen(signature), sizeof(signature) - strlen(signature), "%s%%y%u : " F, o > 0 ? ", " : "",
               o);
      snprintf(results + strlen(results), sizeof(results) - strlen(results), "%s%%v%u", o > 0 ? ", " : "",
               below(&seed, inputs + nodes));
    }
    strcat(signature, ")");
    snprintf(body + strlen(body), sizeof(body) - strlen(body), "    return %s", results);
    model_t m;
    open_states(signature, body, pairs, outputs, false, &m);
    same_in_place(&m, false, &seed);
    moved += byoc_host_copied_bytes(m.program, true) < byoc_host_copied_bytes(m.program, false);
    close_model(&m);
  }
  assert_in_range(moved, 20, 300); // pairs save copies in some of them
}

// A decoder with a cache of 16 rows, of which each step writes one, in place; the evaluator feeds its outputs back.
static void test_h5_a_cache_grows_for_a_thousand_steps(void **state) {
  (void)state;
  static const byoc_host_pair_t pairs[] = {{"new_*", "old_*"}};
  static const char text[] =
      "module {\n  constant @cell : i64[4] = [1, 1, 1, 1]\n  constant @row : i64[4] = [1, 2, 1, 8]\n"
      "  func @main(%at : i64[1], %q : f32[1,2,1,8], %old_k : f32[1,2,16,8], %old_v : f32[1,2,16,8]) -> "
      "(%out : f32[1,2,1,8], %new_k : f32[1,2,16,8], %new_v : f32[1,2,16,8]) {\n"
      "    %r = Reshape@14(%at, @cell) : i64[1,1,1,1]\n    %i = Expand@13(%r, @row) : i64[1,2,1,8]\n"
      "    %n = Softmax@13(%q) {axis = 3} : f32[1,2,1,8]\n"
      "    %new_k = ScatterElements@18(%old_k, %i, %q) {axis = 2} : f32[1,2,16,8]\n"
      "    %new_v = ScatterElements@18(%old_v, %i, %n) {axis = 2} : f32[1,2,16,8]\n"
      "    %t = Transpose@13(%new_k) {perm = [0, 1, 3, 2]} : f32[1,2,8,16]\n"
      "    %s = MatMul@13(%q, %t) : f32[1,2,1,16]\n    %p = Softmax@13(%s) {axis = 3} : f32[1,2,1,16]\n"
      "    %out = MatMul@13(%p, %new_v) : f32[1,2,1,8]\n    return %out, %new_k, %new_v\n  }\n}\n";
  enum { CACHE = 256, ROW = 16 };
  model_t m;
  open_with_pairs(text, pairs, 1, &m);
  check_copies(&m, 2 * CACHE * sizeof(float), 0);
  int64_t position = 0;
  float q[ROW], out[ROW], k[CACHE] = {0}, v[CACHE] = {0}, zeros[CACHE] = {0};
  const int64_t one[1] = {1}, row[4] = {1, 2, 1, 8}, cache[4] = {1, 2, 16, 8};
  byoc_argument_t fed[4] = {tensor(BYOC_DTYPE_I64, 1, one, &position), floats(4, row, q), floats(4, cache, zeros),
                            floats(4, cache, zeros)};
  uint32_t seed = 5;
  for (int step = 0; step < 1000; ++step) {
    position = step % 16;
    for (int i = 0; i < ROW; ++i) q[i] = (float)below(&seed, 1000) / 500.0f - 1.0f;
    const void *const in[4] = {&position, q, k, v};
    void *const to[3] = {out, k, v};
    if (m.artifact.table->run(m.context, in, to) != BYOC_OK) fail_msg("%s", m.artifact.table->last_error(m.context));
    byoc_argument_t results[3];
    byoc_diag_t diag = {0};
    byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, fed, results, &diag), &diag);
    for (int i = 0; i < ROW; ++i) assert_float_equal(out[i], at(&results[0], i), 1e-5);
    assert_memory_equal(k, results[1].data, sizeof(k));
    for (int i = 0; i < CACHE; ++i) assert_float_equal(v[i], at(&results[2], i), 1e-5);
    fed[2] = results[1];
    fed[3] = results[2];
  }
  close_model(&m);
}

// Overlaps that are not declared are refused; so are pairs that share a part of their bytes.
static void test_h5_other_overlaps_are_refused(void **state) {
  (void)state;
  static const byoc_host_pair_t pair = {"y", "x"};
  model_t m;
  open_states("(%x : " F ", %u : " F ") -> (%y : " F ")", "    %y = Add@14(%x, %u) : " F "\n    return %y", &pair, 1,
              true, &m);
  float data[3 * STATE] = {0};
  const struct {
    int x, u, y;
    const char *refusal;
  } cases[] = {{0, STATE, 0, NULL},
               {0, STATE, 2 * STATE, NULL},
               {0, 0, STATE, NULL},
               {0, STATE, STATE, "the input 'u' and the output 'y' overlap in memory"},
               {0, STATE + 8, 8, "the input 'x' and the output 'y' overlap in memory"},
               {0, 0, 0, "the input 'u' and the output 'y' overlap in memory"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const void *const in[2] = {data + cases[i].x, data + cases[i].u};
    void *const out[1] = {data + cases[i].y};
    byoc_diag_t diag = {0};
    const int32_t wanted = cases[i].refusal == NULL ? BYOC_OK : BYOC_INVALID_ARGUMENT;
    byoc_status_t status = byoc_evaluator_run(m.evaluator, in, out, &diag);
    assert_int_equal(status, wanted);
    assert_int_equal(m.artifact.table->run(m.context, in, out), wanted);
    if (cases[i].refusal == NULL) continue;
    assert_string_equal(diag.message, cases[i].refusal);
    assert_string_equal(m.artifact.table->last_error(m.context), cases[i].refusal);
  }
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h5_outputs_are_inputs_of_the_next_run),
      cmocka_unit_test(test_h5_a_failed_run_keeps_the_last_results),
      cmocka_unit_test(test_h5_texts_are_inputs_of_the_next_run),
      cmocka_unit_test(test_h5_states_change_in_place),
      cmocka_unit_test(test_h5_random_states_in_place_change_no_result),
      cmocka_unit_test(test_h5_a_cache_grows_for_a_thousand_steps),
      cmocka_unit_test(test_h5_other_overlaps_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
