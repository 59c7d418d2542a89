// SPDX-License-Identifier: Apache-2.0
// Outputs in the caller's memory: buffers that it gives, or an allocator that it has.
#include "both_ways.h"

static int32_t run_with(model_t *m, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                        const byoc_run_options_t *options) {
  return m->artifact.table->run_with(m->context, inputs, outputs, options);
}

static void refused(model_t *m, const byoc_argument_t *inputs, const byoc_run_options_t *options, const char *why) {
  byoc_argument_t outputs[MAX_RESULTS];
  assert_int_equal(run_with(m, inputs, outputs, options), BYOC_INVALID_ARGUMENT);
  assert_string_equal(m->artifact.table->last_error(m->context), why);
}

// %y is made where it goes, %same and %last are copied there.
static const char open_text[] =
    "module {\n  func @main(%x : f32[N,3], %n : i64[], %go : bool[]) -> (%y : f32[N,3], %same : f32[N,3], "
    "%last : f32[N,3]) {\n    %y = Relu@14(%x) : f32[N,3]\n"
    "    %last = Loop@16(%n, %go, %x) [body (%i : i64[], %c : bool[], %u : f32[N,3]) -> (bool[], f32[N,3]) {\n"
    "        %v = Add@14(%u, %u) : f32[N,3]\n        return %c, %v\n      }] : f32[N,3]\n"
    "    return %y, %x, %last\n  }\n}\n";

static void test_h5_outputs_go_into_buffers(void **state) {
  (void)state;
  model_t m;
  open_model(open_text, &m);
  float x[12], y[12], same_x[12], last[12];
  for (int i = 0; i < 12; ++i) x[i] = (float)(i - 6);
  const int64_t dims[2] = {4, 3}, turns = 2;
  const uint8_t go = 1;
  const byoc_argument_t inputs[3] = {floats(2, dims, x), tensor(BYOC_DTYPE_I64, 0, NULL, &turns),
                                     tensor(BYOC_DTYPE_BOOL, 0, NULL, &go)};
  byoc_buffer_t buffers[3] = {{y, sizeof(y)}, {same_x, sizeof(same_x)}, {last, sizeof(last)}};
  byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  byoc_argument_t outputs[MAX_RESULTS], plain[MAX_RESULTS];
  for (int round = 0; round < 3; ++round) {
    memset(y, 0xff, sizeof(y));
    assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
    for (int i = 0; i < 12; ++i) {
      assert_true(y[i] == (x[i] > 0 ? x[i] : 0) && same_x[i] == x[i] && last[i] == 4 * x[i]);
    }
    for (int i = 0; i < 3; ++i) assert_ptr_equal(outputs[i].data, buffers[i].data);
    assert_int_equal(outputs[2].dims[0], 4);
    run(&m, inputs, plain); // and without buffers, from the same context
    assert_ptr_not_equal(plain[0].data, y);
  }
  // Some of them only; the others belong to the context.
  buffers[0].data = NULL;
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
  assert_ptr_not_equal(outputs[0].data, y);
  assert_ptr_equal(outputs[2].data, last);
  assert_int_equal(run_with(&m, inputs, outputs, NULL), BYOC_OK);
  close_model(&m);
}

static void test_h5_small_buffers_are_refused(void **state) {
  (void)state;
  model_t m;
  open_model(open_text, &m);
  float x[12] = {0}, y[12], z[12];
  const int64_t dims[2] = {4, 3}, turns = 2;
  const uint8_t go = 1;
  const byoc_argument_t inputs[3] = {floats(2, dims, x), tensor(BYOC_DTYPE_I64, 0, NULL, &turns),
                                     tensor(BYOC_DTYPE_BOOL, 0, NULL, &go)};
  byoc_buffer_t buffers[3] = {{y, 40}, {NULL, 0}, {z, 8}};
  byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  refused(&m, inputs, &options, "the output 'y' is f32[4,3]: it needs 48 bytes, its buffer has 40");
  byoc_argument_t outputs[MAX_RESULTS];
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_INVALID_ARGUMENT);
  for (int i = 0; i < 3; ++i) { // the caller learns what to allocate
    assert_null(outputs[i].data);
    assert_int_equal(outputs[i].rank, 2);
    assert_int_equal(outputs[i].dims[0], 4);
    assert_int_equal(outputs[i].dims[1], 3);
  }
  buffers[0].size_bytes = sizeof(y);
  refused(&m, inputs, &options, "the output 'last' is f32[4,3]: it needs 48 bytes, its buffer has 8");
  buffers[2].size_bytes = sizeof(z);
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
  // Overlaps: of an input, of another buffer.
  buffers[0].data = x + 2;
  buffers[0].size_bytes = 4;
  refused(&m, inputs, &options, "the input 'x' and the output 'y' overlap in memory");
  buffers[0] = (byoc_buffer_t){z + 11, 400};
  refused(&m, inputs, &options, "the output 'y' and the output 'last' overlap in memory");
  close_model(&m);
}

typedef struct pool_t {
  float memory[64];
  int asked, limit;
  uint64_t size_bytes;
} pool_t;

static void *allocate_from_pool(void *self, uint32_t output, const byoc_argument_t *wanted, uint64_t size_bytes) {
  pool_t *pool = self;
  if (pool->asked == pool->limit) return NULL;
  assert_int_equal(wanted->dtype, BYOC_DTYPE_F32);
  assert_int_equal(wanted->rank, 2);
  pool->size_bytes = size_bytes;
  pool->asked++;
  return pool->memory + 16 * output;
}

static void test_h5_the_caller_allocates(void **state) {
  (void)state;
  model_t m;
  open_model(open_text, &m);
  float x[12] = {1, -1}, y[12];
  const int64_t dims[2] = {4, 3}, none[2] = {0, 3}, turns = 1;
  const uint8_t go = 1;
  byoc_argument_t inputs[3] = {floats(2, dims, x), tensor(BYOC_DTYPE_I64, 0, NULL, &turns),
                               tensor(BYOC_DTYPE_BOOL, 0, NULL, &go)};
  const byoc_buffer_t buffers[3] = {{NULL, 0}, {y, sizeof(y)}, {NULL, 0}};
  pool_t pool = {.limit = 100};
  const byoc_run_options_t options = {
      .struct_size = sizeof(options), .outputs = buffers, .self = &pool, .allocate = allocate_from_pool};
  byoc_argument_t outputs[MAX_RESULTS];
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
  assert_int_equal(pool.asked, 2);
  assert_int_equal(pool.size_bytes, sizeof(x));
  assert_ptr_equal(outputs[0].data, pool.memory);
  assert_ptr_equal(outputs[1].data, y);
  assert_ptr_equal(outputs[2].data, pool.memory + 32);
  assert_true(pool.memory[0] == 1 && pool.memory[1] == 0 && pool.memory[33] == -2);
  pool.asked = pool.limit = 0;
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OUT_OF_MEMORY);
  assert_string_equal(m.artifact.table->last_error(m.context),
                      "the caller's allocator has no 48 bytes for the output 'y'");
  inputs[0] = floats(2, none, x); // nothing to allocate
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
  close_model(&m);
}

// Kernels of dynamic models write into the caller's buffer: the context needs no memory for the result.
static void test_h5_results_are_made_in_the_buffers(void **state) {
  (void)state;
  enum { COUNT = 4096 };
  model_t m;
  open_model(MAIN("(%x : f32[N]) -> (%y : f32[N])", "    %y = Relu@14(%x) : f32[N]\n    return %y"), &m);
  assert_true(m.program->is_dynamic);
  static float x[COUNT], y[COUNT];
  const int64_t dims[1] = {COUNT};
  const byoc_argument_t input = floats(1, dims, x);
  const byoc_buffer_t buffer = {y, sizeof(y)};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = &buffer};
  byoc_argument_t output;
  assert_int_equal(run_with(&m, &input, &output, &options), BYOC_OK);
  assert_ptr_equal(output.data, y);
  assert_true(m.artifact.table->peak_bytes(m.context) < sizeof(y));
  assert_int_equal(run_with(&m, &input, &output, NULL), BYOC_OK);
  assert_true(m.artifact.table->peak_bytes(m.context) >= sizeof(y));
  close_model(&m);
}

// What cannot write the buffer that it is given says so.
static void test_h5_sequences_take_no_buffer(void **state) {
  (void)state;
  model_t m;
  open_model(
      MAIN("(%x : f32[N]) -> (%s : seq<f32[N]>)", "    %s = SequenceConstruct@11(%x, %x) : seq<f32[N]>\n    return %s"),
      &m);
  float x[2] = {1, 2}, y[8];
  const int64_t dims[1] = {2};
  const byoc_argument_t input = floats(1, dims, x);
  const byoc_buffer_t buffer = {y, sizeof(y)};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = &buffer};
  refused(&m, &input, &options, "the output 's' is a sequence: it cannot be written into a buffer");
  close_model(&m);
}

// A model of known shapes: all outputs in the caller's memory, or none.
static void test_h4_static_models_take_all_buffers(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[4]) -> (%y : f32[4], %z : f32[4])",
                  "    %y = Relu@14(%x) : f32[4]\n    %z = Neg@13(%x) : f32[4]\n    return %y, %z"),
             &m);
  assert_false(m.program->is_dynamic);
  float x[4] = {1, -2, 3, -4}, y[4], z[4];
  const int64_t dims[1] = {4};
  const byoc_argument_t input = floats(1, dims, x);
  byoc_buffer_t buffers[2] = {{y, sizeof(y)}, {z, sizeof(z)}};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  byoc_argument_t outputs[MAX_RESULTS];
  assert_int_equal(run_with(&m, &input, outputs, &options), BYOC_OK);
  assert_true(y[2] == 3 && z[3] == 4 && outputs[1].data == z);
  buffers[1].size_bytes = 12;
  refused(&m, &input, &options, "the output 'z' is f32[4]: it needs 16 bytes, its buffer has 12");
  assert_int_equal(run_with(&m, &input, outputs, &options), BYOC_INVALID_ARGUMENT);
  assert_true(outputs[0].data == NULL && outputs[0].dims[0] == 4 && outputs[1].dims[0] == 4);
  buffers[1].data = NULL;
  refused(&m, &input, &options, "the output 'z' has no buffer, but the output 'y' has one: a run needs all of them");
  buffers[1] = (byoc_buffer_t){x, sizeof(x)};
  refused(&m, &input, &options, "the input 'x' and the output 'z' overlap in memory");
  close_model(&m);
}

// A state of open size, which the caller gives for both: the same as with two buffers.
static void test_h5_open_states_change_in_place(void **state) {
  (void)state;
  static const byoc_host_pair_t pair = {"y", "x"};
  model_t m;
  open_with_pairs(MAIN("(%x : f32[N], %u : f32[N]) -> (%y : f32[N], %z : f32[1])",
                       "    %y = Mul@14(%x, %u) : f32[N]\n    %z = ReduceSum@11(%x) {axes = [0]} : f32[1]\n"
                       "    return %y, %z"),
                  &pair, 1, &m);
  float x[3] = {1, 2, 3}, u[3] = {2, 2, 2};
  const int64_t dims[1] = {3};
  const byoc_argument_t inputs[2] = {floats(1, dims, x), floats(1, dims, u)};
  const byoc_buffer_t buffers[2] = {{x, sizeof(x)}, {NULL, 0}};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  byoc_argument_t outputs[MAX_RESULTS];
  for (int step = 1; step < 8; ++step) {
    const float sum = x[0] + x[1] + x[2];
    assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
    assert_true(x[0] == (float)(1 << step) && at(&outputs[1], 0) == sum);
  }
  close_model(&m);
}

// What one output passes on of an input is read before another output is written over that input.
static void test_h5_passed_on_inputs_are_read_before_they_are_written_over(void **state) {
  (void)state;
  static const byoc_host_pair_t pair = {"y", "x"};
  model_t m;
  open_with_pairs(
      MAIN("(%x : f32[N]) -> (%y : f32[N], %before : f32[N])", "    %y = Add@14(%x, %x) : f32[N]\n    return %y, %x"),
      &pair, 1, &m);
  float x[3] = {1, 2, 3}, before[3];
  const int64_t dims[1] = {3};
  const byoc_argument_t input = floats(1, dims, x);
  byoc_buffer_t buffers[2] = {{x, sizeof(x)}, {before, sizeof(before)}};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  byoc_argument_t outputs[MAX_RESULTS];
  assert_int_equal(run_with(&m, &input, outputs, &options), BYOC_OK);
  assert_true(x[0] == 2 && x[1] == 4 && x[2] == 6);
  assert_true(before[0] == 1 && before[1] == 2 && before[2] == 3);
  buffers[1].data = NULL; // in the context's memory
  assert_int_equal(run_with(&m, &input, outputs, &options), BYOC_OK);
  assert_true(x[2] == 12 && at(&outputs[1], 2) == 6);
  close_model(&m);
}

static void test_h5_states_of_open_size_change_places(void **state) {
  (void)state;
  static const byoc_host_pair_t pairs[2] = {{"p", "x"}, {"q", "u"}};
  model_t m;
  open_with_pairs(MAIN("(%x : f32[N], %u : f32[N]) -> (%p : f32[N], %q : f32[N])", "    return %u, %x"), pairs, 2, &m);
  float x[3] = {1, 2, 3}, u[3] = {4, 5, 6};
  const int64_t dims[1] = {3};
  const byoc_argument_t inputs[2] = {floats(1, dims, x), floats(1, dims, u)};
  const byoc_buffer_t buffers[2] = {{x, sizeof(x)}, {u, sizeof(u)}};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  byoc_argument_t outputs[MAX_RESULTS];
  assert_int_equal(run_with(&m, inputs, outputs, &options), BYOC_OK);
  assert_true(x[0] == 4 && x[2] == 6 && u[0] == 1 && u[2] == 3);
  close_model(&m);
}

// A caller who does not know the size of its memory may give any number.
static void test_h5_buffers_without_end_overlap(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[N]) -> (%y : f32[N])", "    %y = Relu@14(%x) : f32[N]\n    return %y"), &m);
  float memory[8] = {0};
  const int64_t dims[1] = {4};
  const byoc_argument_t input = floats(1, dims, memory + 2);
  const byoc_buffer_t buffer = {memory, UINT64_MAX};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = &buffer};
  refused(&m, &input, &options, "the input 'x' and the output 'y' overlap in memory");
  close_model(&m);
}

// The caller's allocator is asked once for each output, even if it has nothing.
static void *refuse_and_count(void *self, uint32_t output, const byoc_argument_t *wanted, uint64_t size_bytes) {
  (void)output, (void)wanted, (void)size_bytes;
  *(int *)self += 1;
  return NULL;
}

static void test_h5_an_allocator_is_asked_once(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[N]) -> (%y : f32[N])", "    %y = Relu@14(%x) : f32[N]\n    return %y"), &m);
  float x[4] = {1};
  const int64_t dims[1] = {4};
  const byoc_argument_t input = floats(1, dims, x);
  int asked = 0;
  const byoc_run_options_t options = {.struct_size = sizeof(options), .self = &asked, .allocate = refuse_and_count};
  byoc_argument_t outputs[MAX_RESULTS];
  for (int round = 1; round < 3; ++round) {
    assert_int_equal(run_with(&m, &input, outputs, &options), BYOC_OUT_OF_MEMORY);
    assert_int_equal(asked, round);
  }
  close_model(&m);
}

// Status and message are those of the first failure.
static void test_h4_the_first_refusal_is_told(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[4]) -> (%y : f32[4], %z : f32[4])",
                  "    %y = Relu@14(%x) : f32[4]\n    %z = Neg@13(%x) : f32[4]\n    return %y, %z"),
             &m);
  float x[4] = {0}, y[4], z[4];
  const int64_t dims[1] = {4}, wrong[1] = {3};
  byoc_argument_t input = floats(1, wrong, x);
  const byoc_buffer_t buffers[2] = {{y, 8}, {z, 12}};
  const byoc_run_options_t options = {.struct_size = sizeof(options), .outputs = buffers};
  refused(&m, &input, &options, "the input 'x' is f32[3], the model takes f32[4]");
  input = floats(1, dims, x);
  refused(&m, &input, &options, "the output 'y' is f32[4]: it needs 16 bytes, its buffer has 8");
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h5_outputs_go_into_buffers),
      cmocka_unit_test(test_h5_small_buffers_are_refused),
      cmocka_unit_test(test_h5_the_caller_allocates),
      cmocka_unit_test(test_h5_results_are_made_in_the_buffers),
      cmocka_unit_test(test_h5_sequences_take_no_buffer),
      cmocka_unit_test(test_h4_static_models_take_all_buffers),
      cmocka_unit_test(test_h5_open_states_change_in_place),
      cmocka_unit_test(test_h5_passed_on_inputs_are_read_before_they_are_written_over),
      cmocka_unit_test(test_h5_states_of_open_size_change_places),
      cmocka_unit_test(test_h5_buffers_without_end_overlap),
      cmocka_unit_test(test_h5_an_allocator_is_asked_once),
      cmocka_unit_test(test_h4_the_first_refusal_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
