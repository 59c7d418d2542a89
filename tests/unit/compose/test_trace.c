// SPDX-License-Identifier: Apache-2.0
// Traces and times of instructions: the artifact and the evaluator agree, instruction by instruction.
#include "both_ways.h"

static size_t count_lines(const char *text) {
  size_t count = 0;
  for (; *text != '\0'; ++text) count += *text == '\n';
  return count;
}

// Each line begins like one of these, in this order.
static void expect_lines(const byoc_string_t *trace, const char *const *beginnings, size_t count) {
  const char *line = trace->data;
  if (count_lines(line) != count) fail_msg("%zu lines are wanted:\n%s", count, trace->data);
  for (size_t i = 0; i < count; ++i) {
    if (strncmp(line, beginnings[i], strlen(beginnings[i])) != 0) {
      fail_msg("line %zu does not begin with '%s':\n%s", i, beginnings[i], trace->data);
    }
    line = strchr(line, '\n') + 1;
  }
}

// Kernels that compute several operators: what is inside them is not reported.
static void test_h16_a_static_program_reports_its_results(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[2,3]) -> (%y : f32[2,2])",
                  "    %a = Neg@13(%x) : f32[2,3]\n    %b = Softmax@13(%a) {axis = 1} : f32[2,3]\n"
                  "    %t = Transpose@13(%b) {perm = [1, 0]} : f32[3,2]\n    %c = MatMul@13(%b, %t) : f32[2,2]\n"
                  "    %y = Relu@14(%c) : f32[2,2]\n    return %y"),
             &m);
  const float x[6] = {1, 2, 3, -4, 5, 6};
  const byoc_argument_t input = floats(2, (const int64_t[]){2, 3}, x);
  byoc_argument_t results[MAX_RESULTS];
  byoc_string_t trace;
  byoc_string_init(&trace, byoc_allocator_system());
  run_traced(&m, &input, results, &trace);
  size_t made = 0;
  BYOC_HOST_FOR_EACH(i, m.program) made += i->results.count;
  assert_int_equal(count_lines(trace.data), made);
  assert_non_null(strstr(trace.data, " -> 0/1 y f32[2,2,] "));
  assert_null(strstr(trace.data, " c f32")); // computed inside the kernel that makes y
  byoc_string_deinit(&trace);
  run(&m, &input, results);
  close_model(&m);
}

// Lines of a loop inside a loop say in which turn of each they are; what follows has no turn.
static void test_h16_lines_of_loops_name_their_turns(void **state) {
  (void)state;
  model_t m;
  open_model("module {\n  constant @two : i64[] = [2]\n"
             "  func @main(%x : f32[N]) -> (%y : f32[N]) {\n"
             "    %l = Loop@16(@two, _, %x) [body (%i : i64[], %c : bool[], %s : f32[N]) -> (bool[], f32[N]) {\n"
             "        %h = Neg@13(%s) : f32[N]\n"
             "        %k = Loop@16(@two, _, %h) [body (%j : i64[], %d : bool[], %u : f32[N]) -> (bool[], f32[N]) {\n"
             "            %v = Add@14(%u, %x) : f32[N]\n            return %d, %v\n          }] : f32[N]\n"
             "        return %c, %k\n      }] : f32[N]\n    %y = Relu@14(%l) : f32[N]\n    return %y\n  }\n}\n",
             &m);
  const float x[2] = {1, 2};
  const byoc_argument_t input = floats(1, (const int64_t[]){2}, x);
  byoc_argument_t results[MAX_RESULTS];
  byoc_string_t trace, kernels;
  byoc_string_init(&trace, byoc_allocator_system());
  byoc_string_init(&kernels, byoc_allocator_system());
  run_traced(&m, &input, results, &trace);
  for (const char *line = trace.data; *line != '\0'; line = strchr(line, '\n') + 1) {
    const size_t size = strcspn(line, "\n");
    if (memmem(line, size, " kernel ", 8) == NULL && memmem(line, size, " loop ", 6) == NULL) continue;
    const size_t number = strspn(line, "0123456789");
    byoc_string_append_bytes(&kernels, line + number, size - number + 1);
  }
  static const char *const wanted[] = {"@0 kernel",   "@0.0 kernel", "@0.1 kernel", "@0 loop", "@1 kernel",
                                       "@1.0 kernel", "@1.1 kernel", "@1 loop",     " loop",   " kernel"};
  expect_lines(&kernels, wanted, sizeof(wanted) / sizeof(wanted[0]));
  byoc_string_deinit(&kernels);
  byoc_string_deinit(&trace);
  run(&m, &input, results);
  close_model(&m);
}

// Loops of a static program, whose values have places in the workspace: a Scan inside of a Loop.
static void test_h16_loops_of_static_programs_report_turns(void **state) {
  (void)state;
  model_t m;
  open_model("module {\n  constant @two : i64[] = [2]\n  constant @yes : bool[] = [true]\n"
             "  func @main(%x : f32[3,2]) -> (%y : f32[3,2]) {\n"
             "    %y = Loop@16(@two, @yes, %x) [body (%i : i64[], %c : bool[], %s : f32[3,2]) -> (bool[], f32[3,2]) {\n"
             "        %h = Sigmoid@13(%s) : f32[3,2]\n"
             "        %k = Scan@16(%h) {num_scan_inputs = 1} [body (%u : f32[2]) -> (f32[2]) {\n"
             "            %v = Softmax@13(%u) {axis = 0} : f32[2]\n            return %v\n          }] : f32[3,2]\n"
             "        return @yes, %k\n      }] : f32[3,2]\n    return %y\n  }\n}\n",
             &m);
  assert_false(m.program->is_dynamic);
  const float x[6] = {1, 2, 3, 4, 5, 7};
  const byoc_argument_t input = floats(2, (const int64_t[]){3, 2}, x);
  byoc_argument_t results[MAX_RESULTS];
  byoc_string_t trace;
  byoc_string_init(&trace, byoc_allocator_system());
  run_traced(&m, &input, results, &trace);
  size_t inner = 0, outer = 0;
  for (const char *line = trace.data; *line != '\0'; line = strchr(line, '\n') + 1) {
    const size_t size = strcspn(line, "\n");
    if (memmem(line, size, " kernel ", 8) == NULL) continue;
    inner += memmem(line, size, "Softmax", 7) != NULL && memmem(line, strcspn(line, " "), ".", 1) != NULL;
    outer += memmem(line, size, "Sigmoid", 7) != NULL && memmem(line, strcspn(line, " "), "@", 1) != NULL;
  }
  if (inner != 6 || outer != 2) fail_msg("%zu and %zu lines:\n%s", inner, outer, trace.data);
  byoc_string_deinit(&trace);
  run(&m, &input, results);
  close_model(&m);
}

// Values that are no tensors: sequences are reported with their items.
static void test_h16_sequences_are_reported_with_their_items(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[N]) -> (%y : f32[M])",
                  "    %a = Neg@13(%x) : f32[N]\n    %s = SequenceConstruct@11(%x, %a) : seq<f32[N]>\n"
                  "    %y = ConcatFromSequence@11(%s) {axis = 0} : f32[M]\n    return %y"),
             &m);
  const float x[2] = {1, 2};
  const byoc_argument_t input = floats(1, (const int64_t[]){2}, x);
  byoc_argument_t results[MAX_RESULTS];
  byoc_string_t trace;
  byoc_string_init(&trace, byoc_allocator_system());
  run_traced(&m, &input, results, &trace);
  assert_non_null(strstr(trace.data, " s kind 1 of 2 (f32[2,] "));
  byoc_string_deinit(&trace);
  run(&m, &input, results);
  close_model(&m);
}

static void note_time(void *self, const char *name, uint64_t duration_ns) {
  assert_true(duration_ns < UINT64_C(1) << 40);
  byoc_string_appendf(self, "%s;", name);
}

// Times of a program whose shapes are known only when it runs: each turn of a loop reports its calls.
static void test_h16_each_turn_reports_its_times(void **state) {
  (void)state;
  model_t m;
  open_model("module {\n  func @main(%n : i64[], %x : f32[N]) -> (%y : f32[N]) {\n"
             "    %y = Loop@16(%n, _, %x) [body (%i : i64[], %c : bool[], %s : f32[N]) -> (bool[], f32[N]) {\n"
             "        %h = Neg@13(%s) : f32[N]\n        return %c, %h\n      }] : f32[N]\n"
             "    return %y\n  }\n}\n",
             &m);
  const float x[2] = {1, 2};
  const int64_t trips = 3;
  const byoc_argument_t inputs[2] = {tensor(BYOC_DTYPE_I64, 0, NULL, &trips), floats(1, (const int64_t[]){2}, x)};
  byoc_argument_t results[MAX_RESULTS];
  byoc_string_t names;
  byoc_string_init(&names, byoc_allocator_system());
  const byoc_artifact_t *table = m.artifact.table;
  assert_null(table->profile);
  assert_int_equal(table->profile_arguments(m.context, inputs, results, note_time, &names), BYOC_OK);
  size_t turns = 0;
  // Each turn allocates, calls and frees.
  for (const char *p = names.data; (p = strstr(p, "Neg;Neg;free;")) != NULL; ++p) turns++;
  if (turns != 3) fail_msg("%s", names.data);
  assert_true(at(&results[0], 1) == -2);
  byoc_string_deinit(&names);
  close_model(&m);
}

// Nobody is called when an artifact that could report runs as any other.
static void test_refusal_leaves_nobody_watching(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[2]) -> (%y : f32[2])", "    %y = Relu@14(%x) : f32[2]\n    return %y"), &m);
  const float x[3] = {1, 2, 3};
  const byoc_argument_t wrong = floats(1, (const int64_t[]){3}, x), right = floats(1, (const int64_t[]){2}, x);
  byoc_argument_t results[MAX_RESULTS];
  byoc_string_t trace;
  byoc_string_init(&trace, byoc_allocator_system());
  const byoc_artifact_t *table = m.artifact.table;
  assert_int_equal(table->trace(m.context, &wrong, results, note_event, &trace), BYOC_INVALID_ARGUMENT);
  assert_int_equal(table->run_arguments(m.context, &right, results), BYOC_OK);
  assert_int_equal(trace.size, 0);
  assert_int_equal(table->trace(m.context, &right, results, note_event, &trace), BYOC_OK);
  assert_int_equal(count_lines(trace.data), 1);
  byoc_string_deinit(&trace);
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_h16_a_static_program_reports_its_results),
                                     cmocka_unit_test(test_h16_lines_of_loops_name_their_turns),
                                     cmocka_unit_test(test_h16_loops_of_static_programs_report_turns),
                                     cmocka_unit_test(test_h16_sequences_are_reported_with_their_items),
                                     cmocka_unit_test(test_h16_each_turn_reports_its_times),
                                     cmocka_unit_test(test_refusal_leaves_nobody_watching)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
