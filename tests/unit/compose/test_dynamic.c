// SPDX-License-Identifier: Apache-2.0
// Programs whose shapes, or whose very steps, are known only when they run: compiled and evaluated, they agree.
#include <malloc.h>
#include <pthread.h>

#include "both_ways.h"

static void symbols(void **state) {
  (void)state;
  model_t m;
  open_model("module {\n  constant @w : f32[3,2] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]\n"
             "  func @main(%x : f32[N,3], %b : f32[2 * N,2]) -> (%y : f32[2 * N,2], %same : f32[N,3]) {\n"
             "    %p = MatMul@13(%x, @w) : f32[N,2]\n    %c = Concat@13(%p, %p) {axis = 0} : f32[2 * N,2]\n"
             "    %y = Add@14(%c, %b) : f32[2 * N,2]\n    return %y, %x\n  }\n}\n",
             &m);
  assert_true(m.program->is_dynamic);
  float x[30], b[40];
  for (int i = 0; i < 30; ++i) x[i] = (float)i;
  for (int i = 0; i < 40; ++i) b[i] = 100;
  for (int64_t n = 0; n <= 10; ++n) {
    const int64_t x_dims[2] = {n, 3}, b_dims[2] = {2 * n, 2};
    const byoc_argument_t inputs[2] = {floats(2, x_dims, x), floats(2, b_dims, b)};
    byoc_argument_t results[MAX_RESULTS];
    run(&m, inputs, results);
    assert_int_equal(results[0].dims[0], 2 * n);
    if (n > 0) assert_true(at(&results[0], 2 * n) == 102 && at(&results[0], 2 * n + 1) == 103);
    if (n > 0) assert_ptr_not_equal(results[1].data, x); // the caller may change its input
  }
  const int64_t x_dims[2] = {2, 3}, b_dims[2] = {5, 2}, flat[1] = {6};
  const byoc_argument_t uneven[2] = {floats(2, x_dims, x), floats(2, b_dims, b)};
  run_fails(&m, uneven, BYOC_INVALID_ARGUMENT, "the input 'b' has 5 in dimension 0, where N * 2 is 4");
  const byoc_argument_t rank[2] = {floats(1, flat, x), floats(2, b_dims, b)};
  run_fails(&m, rank, BYOC_INVALID_ARGUMENT, "the input 'x' is f32[6], the model takes f32[?,3]");
  const byoc_argument_t type[2] = {tensor(BYOC_DTYPE_I64, 2, x_dims, x), floats(2, b_dims, b)};
  run_fails(&m, type, BYOC_INVALID_ARGUMENT, "the input 'x' is i64[2,3]");
  const byoc_argument_t none[2] = {floats(2, x_dims, NULL), floats(2, b_dims, b)};
  run_fails(&m, none, BYOC_INVALID_ARGUMENT, "the input 'x' is NULL");
  const void *pointers[2] = {x, b};
  void *outputs[2] = {x, b};
  assert_int_equal(m.artifact.table->run(m.context, pointers, outputs), BYOC_UNSUPPORTED);
  assert_non_null(strstr(m.artifact.table->last_error(m.context), "run_arguments"));
  close_model(&m);
}

// Sizes of Col2Im that contradict its operand ended never, or gave numbers.
static void sizes_of_blocks(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[1,4,9], %image : i64[2], %block : i64[2]) -> (%y : f32[1,?1,?2,?3])",
                  "    %y = Col2Im@18(%x, %image, %block) : f32[1,?1,?2,?3]\n    return %y"),
             &m);
  const int64_t x_dims[3] = {1, 4, 9}, two[1] = {2}, most = INT64_MAX;
  const int64_t rows[][4] = {{4, 4, 1, 4},
                             {4, 4, 2, 3},
                             {4, 4, 0, 2},
                             {4, 4, -1, -4},
                             {3, 3, 2, 2},
                             {most, 4, 2, 2},
                             {-4, 4, 2, 2},
                             {4, 4, most, 2},
                             {4, 4, 1ll << 40, -1},
                             {most, most, most, most},
                             {4, 4, 1ll << 32, 1ll << 32}};
  float x[36];
  for (int i = 0; i < 36; ++i) x[i] = (float)i;
  int64_t image[2] = {4, 4}, block[2] = {2, 2};
  const byoc_argument_t inputs[3] = {floats(3, x_dims, x), tensor(BYOC_DTYPE_I64, 1, two, image),
                                     tensor(BYOC_DTYPE_I64, 1, two, block)};
  byoc_argument_t results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(results[0].dims[1] == 1 && results[0].dims[2] == 4 && at(&results[0], 0) == 0 &&
              at(&results[0], 1) == 10);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    memcpy(image, rows[i], sizeof(image));
    memcpy(block, rows[i] + 2, sizeof(block));
    run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "");
  }
  image[0] = image[1] = 4, block[0] = 1, block[1] = 4;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "the sizes that it is given do not fit its operands");
  close_model(&m);
}

// The axes that are not there were read.
static void squeezes_without_axes(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[A,B]) -> (%y : f32[M])", "    %y = Squeeze@13(%x) : f32[M]\n    return %y"), &m);
  const float x[3] = {1, 2, 3};
  const int64_t row[2] = {1, 3}, column[2] = {3, 1};
  for (int i = 0; i < 2; ++i) {
    const byoc_argument_t input = floats(2, i == 0 ? row : column, x);
    byoc_argument_t results[MAX_RESULTS];
    run(&m, &input, results);
    assert_int_equal(results[0].dims[0], 3);
    assert_true(at(&results[0], 2) == 3);
  }
  close_model(&m);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_test_ok(
      byoc_graph_parse(MAIN("(%x : f32[N]) -> (%y : f32[1,3])", "    %y = Squeeze@13(%x) : f32[1,3]\n    return %y"),
                       "test", byoc_allocator_system(), &diag, &module),
      &diag);
  byoc_test_error(byoc_infer_module(module, &diag), BYOC_INVALID_DATA, &diag,
                  "declared with rank 2, the operand has 1");
  byoc_graph_module_destroy(module);
}

// The bytes of a value of open size are taken as other elements, and read as such.
static void casts_bits_of_open_sizes(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[N,2]) -> (%y : i32[N,2], %z : i32[N,2])",
                  "    %0 = Neg@13(%x) : f32[N,2]\n    %1 = BitCast@26(%0) {to = 6} : i32[N,2]\n"
                  "    %y = Add@14(%1, %1) : i32[N,2]\n    %z = BitCast@26(%x) {to = 6} : i32[N,2]\n"
                  "    return %y, %z"),
             &m);
  const float x[] = {1, -1, 0, 3.5f, -2, 8};
  int32_t bits[6], negated[6];
  for (size_t i = 0; i < 6; ++i) {
    memcpy(&bits[i], &x[i], sizeof(bits[i]));
    negated[i] = (int32_t)(((uint32_t)bits[i] ^ 0x80000000u) * 2);
  }
  for (int64_t n = 3; n >= 0; --n) {
    const int64_t dims[2] = {n, 2};
    const byoc_argument_t input = floats(2, dims, x);
    byoc_argument_t results[MAX_RESULTS];
    run(&m, &input, results);
    assert_true(results[0].dtype == BYOC_DTYPE_I32 && results[0].dims[0] == n);
    if (n > 0) assert_memory_equal(results[0].data, negated, (size_t)n * 2 * sizeof(int32_t));
    if (n > 0) assert_memory_equal(results[1].data, bits, (size_t)n * 2 * sizeof(int32_t));
  }
  close_model(&m);
}

// An image that is not there is told when the program runs, with open sizes and with known ones.
static void refuses_images_that_are_not_there(void **state) {
  (void)state;
  static const char *const batches[] = {"N", "2"};
  for (size_t i = 0; i < 2; ++i) {
    model_t m;
    char text[512];
    snprintf(
        text, sizeof(text),
        "module {\n  constant @s : i32[2] = [1, 1]\n  func @main(%%x : f32[%s,1,1,1], %%r : f32[R,4], %%i : i32[R]) "
        "-> (%%y : f32[R,1,1,1]) {\n    %%y = com.microsoft::CropAndResize@1(%%x, %%r, %%i, @s) : f32[R,1,1,1]\n"
        "    return %%y\n  }\n}\n",
        batches[i]);
    open_model(text, &m);
    const float x[] = {3, 5}, regions[8] = {0};
    const int64_t x_dims[] = {2, 1, 1, 1}, r_dims[] = {2, 4}, i_dims[] = {2};
    int32_t images[] = {1, 0};
    const byoc_argument_t inputs[] = {floats(4, x_dims, x), floats(2, r_dims, regions),
                                      tensor(BYOC_DTYPE_I32, 1, i_dims, images)};
    byoc_argument_t results[MAX_RESULTS];
    run(&m, inputs, results);
    assert_true(at(&results[0], 0) == 5 && at(&results[0], 1) == 3);
    images[1] = 2;
    run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "the number of an image: element 1 is 2; expected values in [0, 1]");
    images[1] = -1;
    run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "the number of an image: element 1 is -1; expected values in [0, 1]");
    close_model(&m);
  }
}

// Sizes that are equal, or one of which is 1, met again and again: the other one counts, also where it is 0.
static void broadcasts_open_sizes(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%a : f32[N], %b : f32[M]) -> (%y : f32[broadcast(M, N)])",
                  "    %0 = Add@14(%a, %b) : f32[broadcast(M, N)]\n    %y = Mul@14(%a, %0) : f32[broadcast(M, N)]\n"
                  "    return %y"),
             &m);
  const float a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
  static const int64_t sizes[][3] = {{3, 3, 3}, {1, 3, 3}, {3, 1, 3}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0}};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
    const byoc_argument_t inputs[2] = {floats(1, &sizes[i][0], a), floats(1, &sizes[i][1], b)};
    byoc_argument_t results[MAX_RESULTS];
    run(&m, inputs, results);
    assert_int_equal(results[0].dims[0], sizes[i][2]);
    for (int64_t k = 0; k < sizes[i][2]; ++k) {
      const float left = a[sizes[i][0] == 1 ? 0 : k], right = b[sizes[i][1] == 1 ? 0 : k];
      assert_true(at(&results[0], k) == left * (left + right));
    }
  }
  close_model(&m);
}

// Carried values that swap places, one that grows, and one scanned.
static const char loop_text[] =
    "module {\n  constant @one : i64[] = [1]\n"
    "  func @main(%n : i64[], %go : bool[], %a : f32[N], %b : f32[N]) -> (%p : f32[N], %q : f32[N], %g : f32[M], "
    "%all : f32[T,N]) {\n"
    "    %p, %q, %g, %all = Loop@16(%n, %go, %a, %b, %a) [body (%i : i64[], %c : bool[], %u : f32[N], %v : f32[N], "
    "%grown : f32[P]) -> (bool[], f32[N], f32[N], f32[N + P], f32[N]) {\n"
    "        %more = Concat@13(%grown, %v) {axis = 0} : f32[N + P]\n        %sum = Add@14(%u, %v) : f32[N]\n"
    "        return %c, %v, %u, %more, %sum\n      }] : f32[N], f32[N], f32[M], f32[T,N]\n"
    "    return %p, %q, %g, %all\n  }\n}\n";

static void loops(void **state) {
  (void)state;
  model_t m;
  open_model(loop_text, &m);
  const float a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
  const int64_t dims[1] = {3};
  for (int64_t trips = -1; trips < 40; ++trips) {
    for (uint8_t go = 0; go < 2; ++go) {
      int64_t turns = go && trips > 0 ? trips : 0;
      const byoc_argument_t inputs[4] = {tensor(BYOC_DTYPE_I64, 0, NULL, &trips), tensor(BYOC_DTYPE_BOOL, 0, NULL, &go),
                                         floats(1, dims, a), floats(1, dims, b)};
      byoc_argument_t results[MAX_RESULTS];
      run(&m, inputs, results);
      assert_true(at(&results[0], 1) == (turns % 2 ? 20 : 2) && at(&results[1], 1) == (turns % 2 ? 2 : 20));
      assert_int_equal(results[2].dims[0], 3 * (turns + 1));
      for (int64_t t = 1; t <= turns; ++t) assert_true(at(&results[2], 3 * t) == (t % 2 ? 10 : 1));
      assert_int_equal(results[3].dims[0], turns);
      assert_int_equal(results[3].dims[1], 3);
      for (int64_t t = 0; t < 3 * turns; ++t) assert_true(at(&results[3], t) == 11 * (float)(t % 3 + 1));
    }
  }
  close_model(&m);
}

// A branch in a loop; what is taken from around it; a loop without a trip count.
static void nested(void **state) {
  (void)state;
  model_t m;
  open_model(
      "module {\n  constant @yes : bool[] = [true]\n  constant @limit : i64[] = [5]\n  constant @two : i64[] = [2]\n"
      "  constant @zero : i64[] = [0]\n"
      "  func @main(%x : f32[N]) -> (%y : f32[M], %k : i64[]) {\n"
      "    %y, %k = Loop@16(_, @yes, %x, @zero) [body (%i : i64[], %c : bool[], %s : f32[P], %n : i64[]) -> "
      "(bool[], f32[Q], i64[]) {\n"
      "        %go = Less@13(%i, @limit) : bool[]\n        %r = Mod@13(%i, @two) : i64[]\n"
      "        %even = Equal@13(%r, @zero) : bool[]\n"
      "        %t = If@16(%even) [then_branch () -> (f32[P + N]) {\n"
      "            %j = Concat@13(%s, %x) {axis = 0} : f32[P + N]\n            return %j\n"
      "          }, else_branch () -> (f32[P]) {\n            return %s\n          }] : f32[Q]\n"
      "        %n2 = Add@14(%n, %r) : i64[]\n        return %go, %t, %n2\n"
      "      }] : f32[M], i64[]\n    return %y, %k\n  }\n}\n",
      &m);
  const float x[2] = {4, 5};
  const int64_t dims[1] = {2};
  const byoc_argument_t input = floats(1, dims, x);
  byoc_argument_t results[MAX_RESULTS];
  for (int i = 0; i < 3; ++i) run(&m, &input, results);
  assert_int_equal(results[0].dims[0], 8); // turns 0 to 5, three of them even
  assert_true(at(&results[0], 6) == 4 && at(&results[0], 7) == 5);
  assert_int_equal(*(const int64_t *)results[1].data, 3);
  close_model(&m);
}

static void containers(void **state) {
  (void)state;
  model_t m;
  open_model("module {\n  constant @second : i64[] = [1]\n  constant @last : i64[] = [-1]\n"
             "  func @main(%s : seq<f32[A]>, %x : f32[N]) -> (%t : seq<f32[B]>, %n : i64[], %j : f32[J], %e : f32[E], "
             "%rest : seq<f32[C]>) {\n"
             "    %t = SequenceInsert@11(%s, %x, @second) : seq<f32[B]>\n    %n = SequenceLength@11(%t) : i64[]\n"
             "    %j = ConcatFromSequence@11(%t) {axis = 0} : f32[J]\n    %e = SequenceAt@11(%t, @last) : f32[E]\n"
             "    %rest = SequenceErase@11(%t) : seq<f32[C]>\n    return %t, %n, %j, %e, %rest\n  }\n}\n",
             &m);
  const float data[4] = {1, 2, 3, 4};
  const int64_t one[1] = {1}, two[1] = {2}, three[1] = {3};
  byoc_argument_t items[2] = {floats(1, two, data), floats(1, three, data)};
  const byoc_argument_t inputs[2] = {{.kind = BYOC_ARGUMENT_SEQUENCE, .count = 2, .items = items},
                                     floats(1, one, data + 3)};
  byoc_argument_t results[MAX_RESULTS];
  for (int i = 0; i < 3; ++i) run(&m, inputs, results);
  assert_int_equal(results[0].count, 3);
  assert_true(at(&results[0].items[1], 0) == 4);
  assert_int_equal(*(const int64_t *)results[1].data, 3);
  assert_int_equal(results[2].dims[0], 6);
  assert_int_equal(results[3].dims[0], 3);
  assert_int_equal(results[4].count, 2);
  const byoc_argument_t empty[2] = {{.kind = BYOC_ARGUMENT_SEQUENCE}, floats(1, one, data)};
  run_fails(&m, empty, BYOC_INVALID_ARGUMENT, "the position 1 is outside a sequence of 0");
  const byoc_argument_t plain[2] = {floats(1, one, data), floats(1, one, data)};
  run_fails(&m, plain, BYOC_INVALID_ARGUMENT, "the input 's' is a tensor, the model takes a sequence");
  close_model(&m);
}

// Shapes that have been seen before take no memory from the system.
static void memory_is_kept(void **state) {
  (void)state;
  model_t m;
  open_model(loop_text, &m);
  float data[64] = {0};
  uint8_t go = 1;
  size_t before = 0;
  for (int round = 0; round < 20; ++round) {
    if (round == 10) before = mallinfo2().uordblks;
    for (int64_t n = 1; n < 5; ++n) {
      const int64_t dims[1] = {n * 16}, trips = 10 * n;
      const byoc_argument_t inputs[4] = {tensor(BYOC_DTYPE_I64, 0, NULL, &trips), tensor(BYOC_DTYPE_BOOL, 0, NULL, &go),
                                         floats(1, dims, data), floats(1, dims, data)};
      byoc_argument_t results[MAX_RESULTS];
      assert_int_equal(m.artifact.table->run_arguments(m.context, inputs, results), BYOC_OK);
    }
  }
  assert_int_equal(mallinfo2().uordblks, before);
  close_model(&m);
}

typedef struct worker_t {
  const byoc_artifact_t *table;
  int64_t size;
  bool ok;
} worker_t;

static void *work(void *argument) {
  worker_t *w = argument;
  byoc_context_t *context = NULL;
  float *data = calloc((size_t)w->size, sizeof(float));
  if (data == NULL || w->table->create(NULL, &context) != BYOC_OK) return NULL;
  for (int64_t i = 0; i < w->size; ++i) data[i] = (float)w->size;
  uint8_t go = 1;
  w->ok = true;
  for (int64_t trips = 0; trips < 20 && w->ok; ++trips) {
    const byoc_argument_t inputs[4] = {tensor(BYOC_DTYPE_I64, 0, NULL, &trips), tensor(BYOC_DTYPE_BOOL, 0, NULL, &go),
                                       floats(1, &w->size, data), floats(1, &w->size, data)};
    byoc_argument_t results[MAX_RESULTS];
    w->ok = w->table->run_arguments(context, inputs, results) == BYOC_OK;
    w->ok = w->ok && results[2].dims[0] == w->size * (trips + 1) && at(&results[2], w->size * trips) == (float)w->size;
  }
  w->table->destroy(context);
  free(data);
  return NULL;
}

static void contexts_run_at_once(void **state) {
  (void)state;
  model_t m;
  open_model(loop_text, &m);
  pthread_t threads[4];
  worker_t workers[4];
  for (int i = 0; i < 4; ++i) {
    workers[i] = (worker_t){.table = m.artifact.table, .size = 3 + 50 * i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(workers[i].ok);
  }
  close_model(&m);
}

// A static program takes arguments too: shapes are checked, results get memory.
static void static_programs_take_arguments(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[2,2]) -> (%y : f32[2,2])", "    %y = Relu@14(%x) : f32[2,2]\n    return %y"), &m);
  assert_false(m.program->is_dynamic);
  const float x[4] = {-1, 2, -3, 4};
  const int64_t dims[2] = {2, 2}, wrong[2] = {4, 1};
  const byoc_argument_t input = floats(2, dims, x), other = floats(2, wrong, x);
  byoc_argument_t results[MAX_RESULTS];
  run(&m, &input, results);
  assert_true(at(&results[0], 0) == 0 && at(&results[0], 3) == 4);
  run_fails(&m, &other, BYOC_INVALID_ARGUMENT, "the input 'x' is f32[4,1], the model takes f32[2,2]");
  close_model(&m);
}

static void dimensions_without_a_value_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  model_t m;
  byoc_status_t status = lower(
      MAIN("(%x : f32[2 * N]) -> (%y : f32[2 * N])", "    %y = Relu@14(%x) : f32[2 * N]\n    return %y"), &diag, &m);
  byoc_test_error(status, BYOC_UNSUPPORTED, &diag, "value 'x' has the dimension N * 2, which has no value");
  close_model(&m);
}

// Regions nest; what is of known shape and stays in its block keeps its place in the workspace, in a loop too.
static const char nested_text[] =
    "module {\n"
    "  constant @zero : i64[] = [0]\n"
    "  func @main(%x : f32[N,4], %go : bool[], %n : i64[]) -> (%y : f32[M,4], %s : f32[4]) {\n"
    "    %d = ReduceSum@11(%x) {axes = [0], keepdims = 0} : f32[4]\n"
    "    %t = Loop@16(%n, %go, %d) [body (%i : i64[], %c : bool[], %v : f32[4]) -> (bool[], f32[4]) {\n"
    "        %e = Softmax@13(%v) {axis = 0} : f32[4]\n"
    "        %f = CumSum@14(%e, @zero) : f32[4]\n"
    "        %h = Softmax@13(%f) {axis = 0} : f32[4]\n"
    "        return %c, %h\n"
    "      }] : f32[4]\n"
    "    %y = If@16(%go) [then_branch () -> (f32[N,4]) {\n"
    "        return %x\n"
    "      }, else_branch () -> (f32[2 * N,4]) {\n"
    "        %k = Concat@13(%x, %x) {axis = 0} : f32[2 * N,4]\n"
    "        return %k\n"
    "      }] : f32[M,4]\n"
    "    return %y, %t\n"
    "  }\n"
    "}\n";
static const char nested_program[] = "host program \"main\" dynamic workspace 128 bound 128 "
                                     "live max(N * 32 + 16, 169) {\n"
                                     "  symbol   N of inputs\n"
                                     "  symbol   M\n"
                                     "  input    %x : value f32[N,4]\n"
                                     "  input    %go : value bool[]\n"
                                     "  input    %n : value i64[]\n"
                                     "  output   %y : value f32[M,4]\n"
                                     "  output   %s : value f32[4]\n"
                                     "  local    %d : value f32[4]\n"
                                     "  local    %t : value f32[4]\n"
                                     "  local    %i : value i64[]\n"
                                     "  local    %c : value bool[]\n"
                                     "  local    %v : value f32[4]\n"
                                     "  local    %e : f32[4] at 0\n"
                                     "  local    %f : f32[4] at 64\n"
                                     "  local    %h : value f32[4]\n"
                                     "  local    %y_13 : value f32[M,4]\n"
                                     "  local    %k : value f32[N * 2,4]\n"
                                     "\n"
                                     "  match %x binds N at 0\n"
                                     "  match %x is N at 0, is 4 at 1\n"
                                     "  allocate %d\n"
                                     "  kernel byoc_k3_reducesum(%x) [N] -> (%d) \"ReduceSum\"\n"
                                     "  loop (%n, %go, %d) -> (%t) \"Loop\"\n"
                                     "  body (%i, %c, %v) {\n"
                                     "    match %i\n"
                                     "    match %c\n"
                                     "    match %v is 4 at 0\n"
                                     "    allocate %e\n"
                                     "    kernel byoc_k0_softmax(%v) -> (%e) \"Softmax\"\n"
                                     "    allocate %f\n"
                                     "    kernel byoc_k1_cumsum(%e) -> (%f) \"CumSum\"\n"
                                     "    free %e\n"
                                     "    allocate %h\n"
                                     "    kernel byoc_k0_softmax(%f) -> (%h) \"Softmax\"\n"
                                     "    free %f\n"
                                     "    yield (%c, %h)\n"
                                     "    free %h\n"
                                     "  }\n"
                                     "  free %d\n"
                                     "  match %t is 4 at 0\n"
                                     "  branch (%go) -> (%y_13) \"If\"\n"
                                     "  then {\n"
                                     "    yield (%x)\n"
                                     "  }\n"
                                     "  else {\n"
                                     "    allocate %k\n"
                                     "    kernel byoc_k2_concat(%x) [N] -> (%k) \"Concat\"\n"
                                     "    yield (%k)\n"
                                     "    free %k\n"
                                     "  }\n"
                                     "  match %y_13 binds M at 0, is 4 at 1\n"
                                     "  share %y_13 -> %y\n"
                                     "  free %y_13\n"
                                     "  share %t -> %s\n"
                                     "  free %t\n"
                                     "}\n";

static void prints_regions(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  model_t m;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_ok(lower(nested_text, &diag, &m), &diag);
  byoc_test_ok(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m.program, NULL, &diag), &diag);
  const byoc_host_print_options_t print = {.program_only = true};
  byoc_host_program_print(m.program, &print, &text);
  byoc_test_same_text(text.data, nested_program);
  byoc_string_deinit(&text);
  close_model(&m);
}

// Sizes that the data gives: checked where they come from.
static void sizes_from_data(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[N], %to : i64[2]) -> (%i : i64[1,K], %r : f32[A,B], %z : f32[C,D])",
                  "    %i = NonZero@13(%x) : i64[1,K]\n    %r = Reshape@14(%x, %to) : f32[A,B]\n"
                  "    %z = ConstantOfShape@9 \"zeros\" (%to) : f32[C,D]\n    return %i, %r, %z"),
             &m);
  const float x[6] = {0, 1, 0, 2, 3, 0};
  const int64_t six[1] = {6}, two[1] = {2}, good[2] = {3, 2}, uneven[2] = {4, 2}, negative[2] = {3, -2};
  byoc_argument_t inputs[2] = {floats(1, six, x), tensor(BYOC_DTYPE_I64, 1, two, good)}, results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_int_equal(results[0].dims[1], 3);
  assert_int_equal(((const int64_t *)results[0].data)[2], 4);
  assert_int_equal(results[1].dims[0], 3);
  inputs[1].data = (void *)(uintptr_t)uneven;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "6 elements do not fit the requested shape");
  inputs[1].data = (void *)(uintptr_t)negative;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "ConstantOfShape 'zeros' (ai.onnx 9) asks for a negative size: -2");
  close_model(&m);
}

static void prints_sizes_from_data(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  model_t m;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_ok(lower(MAIN("(%to : i64[2]) -> (%z : f32[C,D])",
                          "    %z = ConstantOfShape@9 \"zeros\" (%to) : f32[C,D]\n    return %z"),
                     &diag, &m),
               &diag);
  byoc_host_program_print(m.program, NULL, &text);
  assert_non_null(strstr(text.data, "\n  bind %t to C, D by \""));
  byoc_string_deinit(&text);
  close_model(&m);
}

// A negative size is refused in the name of the operator that asks for it, where the node has no name of its own too.
static void negative_sizes_name_their_operator(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%to : i64[2]) -> (%z : f32[C,D])", "    %z = ConstantOfShape@9(%to) : f32[C,D]\n    return %z"),
             &m);
  const int64_t two[1] = {2}, negative[2] = {3, -2};
  byoc_argument_t inputs[1] = {tensor(BYOC_DTYPE_I64, 1, two, negative)};
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "ConstantOfShape (ai.onnx 9) asks for a negative size: -2");
  close_model(&m);
}

// A declared dimension that the operator computes when it runs keeps the program static, and is checked.
static void declared_sizes_are_checked(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[10], %from : i64[1], %to : i64[1], %parts : i64[2]) -> (%y : f32[5], %a : f32[4], "
                  "%b : f32[6])",
                  "    %y = Slice@13(%x, %from, %to) : f32[5]\n"
                  "    %a, %b = Split@13 \"parts\" (%x, %parts) {axis = 0} : f32[4], f32[6]\n    return %y, %a, %b"),
             &m);
  assert_false(m.program->is_dynamic);
  const float x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const int64_t ten[1] = {10}, one[1] = {1}, two[1] = {2}, from[1] = {3}, to[1] = {8}, end[1] = {1000}, less[1] = {6};
  const int64_t good[2] = {4, 6}, other[2] = {6, 4};
  byoc_argument_t inputs[4] = {floats(1, ten, x), tensor(BYOC_DTYPE_I64, 1, one, from),
                               tensor(BYOC_DTYPE_I64, 1, one, to), tensor(BYOC_DTYPE_I64, 1, two, good)};
  byoc_argument_t results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(at(&results[0], 0) == 3 && at(&results[0], 4) == 7 && at(&results[2], 0) == 4);
  inputs[2].data = (void *)(uintptr_t)end;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 0 of result 0 'y' is 7, but the model declares 5");
  inputs[2].data = (void *)(uintptr_t)less;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 0 of result 0 'y' is 3, but the model declares 5");
  inputs[2].data = (void *)(uintptr_t)to;
  inputs[3].data = (void *)(uintptr_t)other;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "Split 'parts' (ai.onnx 13): dimension 0 of result 0 'a' is 6, but the");
  inputs[3].data = (void *)(uintptr_t)good;
  run(&m, inputs, results);
  close_model(&m);
}

static void run_lengths(const char *text, int64_t gates, const int64_t *x_dims) {
  const int32_t bad[2] = {4, -1};
  const int64_t w_dims[3] = {1, gates, 1}, two[1] = {2};
  const float data[8] = {0.5F, -0.5F, 1};
  int32_t lengths[2] = {0, 3};
  const byoc_argument_t inputs[3] = {floats(3, x_dims, data), floats(3, w_dims, data),
                                     tensor(BYOC_DTYPE_I32, 1, two, lengths)};
  byoc_argument_t results[MAX_RESULTS];
  model_t m;
  open_model(text, &m);
  run(&m, inputs, results);
  for (int i = 0; i < 2; ++i) {
    char said[160];
    snprintf(said, sizeof said,
             " 'net' (ai.onnx 14): operand 4, the lengths of the sequences: element 1 is %d; expected values in [0, 3]",
             (int)bad[i]);
    lengths[1] = bad[i];
    run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, said);
  }
  lengths[1] = 1;
  run(&m, inputs, results);
  close_model(&m);
}

// Lengths that come with the run must be within the sequences, whose own length may come with the run as well.
static void lengths_beyond_the_sequence_are_refused(void **state) {
  (void)state;
  const int64_t time_first[3] = {3, 2, 1}, batch_first[3] = {2, 3, 1}, w_dims[3] = {1, 3, 1};
  run_lengths(MAIN("(%x : f32[3,2,1], %w : f32[1,1,1], %l : i32[2]) -> (%y : f32[3,1,2,1])",
                   "    %y = RNN@14 \"net\" (%x, %w, %w, _, %l) : f32[3,1,2,1]\n    return %y"),
              1, time_first);
  run_lengths(MAIN("(%x : f32[T,B,1], %w : f32[1,3,1], %l : i32[B]) -> (%y : f32[T,1,B,1])",
                   "    %y = GRU@14 \"net\" (%x, %w, %w, _, %l) : f32[T,1,B,1]\n    return %y"),
              3, time_first);
  run_lengths(MAIN("(%x : f32[B,T,1], %w : f32[1,4,1], %l : i32[B]) -> (%y : f32[B,T,1,1])",
                   "    %y = LSTM@14 \"net\" (%x, %w, %w, _, %l) {layout = 1} : f32[B,T,1,1]\n    return %y"),
              4, batch_first);
  model_t m;
  open_model("module {\n  constant @l : i32[2] = [3, 1]\n" MAIN_OF(
                 "(%x : f32[T,2,1], %w : f32[1,3,1]) -> (%y : f32[T,1,2,1])",
                 "    %y = GRU@14 \"net\" (%x, %w, %w, _, @l) : f32[T,1,2,1]\n    return %y"),
             &m);
  const float data[8] = {1};
  const int64_t shorter[3] = {2, 2, 1};
  byoc_argument_t inputs[2] = {floats(3, time_first, data), floats(3, w_dims, data)}, results[MAX_RESULTS];
  run(&m, inputs, results);
  inputs[0].dims = shorter;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "element 0 is 3; expected values in [0, 2]");
  close_model(&m);
}

// As in AffineGrid written out as operators: a list of sizes of which one is data, and a Squeeze without axes, whose
// open dimension is taken to stay.
static void sizes_are_known_in_part(void **state) {
  (void)state;
  model_t m;
  open_model("module {\n  constant @rest : i64[2] = [2, 3]\n  constant @at : i64[2,3] = [0, 1, 2, 0, 1, 2]\n" MAIN_OF(
                 "(%x : f32[N,2,3], %size : i64[4]) -> (%y : ?, %z : ?)",
                 "    %n, %c, %h, %w = Split@18(%size) {num_outputs = 4} : i64[1], i64[1], i64[1], i64[1]\n"
                 "    %shape = Concat@13(%n, @rest) {axis = 0} : i64[3]\n    %all = Expand@13(@at, %shape) : ?\n"
                 "    %taken = GatherElements@13(%x, %all) {axis = 2} : ?\n"
                 "    %a, %b = Split@18(%taken) {axis = 1, num_outputs = 2} : ?, ?\n"
                 "    %y = Squeeze@13 \"row\" (%b) : ?\n"
                 "    %p, %q, %r = Split@18(%y) {axis = 1, num_outputs = 3} : ?, ?, ?\n    %shape2 = Shape@19(%q) : ?\n"
                 "    %none = ConstantOfShape@9(%shape2) : ?\n    %z = Concat@13(%q, %none) {axis = 1} : ?\n"
                 "    return %y, %z"),
             &m);
  const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const int64_t x_dims[3] = {2, 2, 3}, four[1] = {4};
  int64_t size[4] = {2, 1, 5, 5};
  const byoc_argument_t inputs[2] = {floats(3, x_dims, x), tensor(BYOC_DTYPE_I64, 1, four, size)};
  byoc_argument_t results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(results[0].rank == 2 && results[0].dims[0] == 2 && results[0].dims[1] == 3 && at(&results[0], 3) == 10);
  assert_true(results[1].dims[0] == 2 && results[1].dims[1] == 2 && at(&results[1], 2) == 11);
  size[0] = 1;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT,
            "Squeeze 'row' (ai.onnx 13): the rank of result 0 'y' is 1, but must be 2");
  size[0] = 3;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "GatherElements (ai.onnx 13)");
  close_model(&m);
}

// A rank that the model declares, where only the run knows how many sizes or axes there are.
static void declared_ranks_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *call, *said;
    int64_t axes[3];
    int good;
  } cases[] = {
      {"Reshape@13(%x, %s)", "Reshape (ai.onnx 13): the rank of result 0 'y' is 3, but must be 2", {3, 2, 1}, 2},
      {"Expand@13(%x, %s)", "Expand (ai.onnx 13): the rank of result 0 'y' is 3, but must be 2", {2, 3, 1}, 2},
      {"Unsqueeze@13(%v, %s)", "the rank of result 0 'y' is 4, but must be 2", {0, 1, 2}, 1},
      {"Squeeze@13(%u, %s)", "the rank of result 0 'y' is 1, but must be 2", {0, 1, 2}, 2},
      {"ReduceSum@13(%u, %s) {keepdims = 0}", "the rank of result 0 'y' is 1, but must be 2", {0, 1, 2}, 2},
  };
  const int64_t x_dims[2] = {2, 3}, u_dims[4] = {1, 1, 2, 3}, v_dims[1] = {6};
  const float data[6] = {1, 2, 3, 4, 5, 6};
  byoc_argument_t results[MAX_RESULTS];
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    char text[512];
    snprintf(text, sizeof text,
             MAIN("(%%x : f32[N,M], %%u : f32[A,B,C,D], %%v : f32[E], %%s : i64[S]) -> (%%y : f32[P,Q])",
                  "    %%y = %s : f32[P,Q]\n    return %%y"),
             cases[i].call);
    model_t m;
    open_model(text, &m);
    for (int64_t count = 1; count <= 3; ++count) {
      const byoc_argument_t inputs[4] = {floats(2, x_dims, data), floats(4, u_dims, data), floats(1, v_dims, data),
                                         tensor(BYOC_DTYPE_I64, 1, &count, cases[i].axes)};
      if (count == cases[i].good) run(&m, inputs, results);
      if (count == 3) run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, cases[i].said);
    }
    close_model(&m);
  }
  model_t m;
  open_model(MAIN("(%x : f32[N,M]) -> (%y : f32[P])", "    %y = Squeeze@13(%x) : f32[P]\n    return %y"), &m);
  const int64_t good[2] = {1, 3}, none[2] = {1, 1}, both[2] = {0, 3};
  byoc_argument_t input = floats(2, good, data);
  run(&m, &input, results);
  input.dims = none;
  run_fails(&m, &input, BYOC_INVALID_ARGUMENT, "the rank of result 0 'y' is 0, but must be 1");
  input.dims = both;
  run_fails(&m, &input, BYOC_INVALID_ARGUMENT, "the rank of result 0 'y' is 2, but must be 1");
  close_model(&m);
}

// Relations between open dimensions that no type says: numpy's for broadcasts, equality for sums of products, joins ...
static void shapes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%a : f32[M,K], %b : f32[L,N], %c : f32[P,Q]) -> (%y : f32[M,N], %z : f32[M,N], %j : f32[M + P,K])",
                  "    %y = MatMul@13 \"product\" (%a, %b) : f32[M,N]\n    %z = Add@14(%y, %c) : f32[M,N]\n"
                  "    %j = Concat@13(%a, %c) {axis = 0} : f32[M + P,K]\n    return %y, %z, %j"),
             &m);
  const float x[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const int64_t a[2] = {2, 3}, b[2] = {3, 3}, c[2] = {1, 3}, other[2] = {5, 3}, wide[2] = {2, 1},
                huge[2] = {2, 3000000};
  byoc_argument_t inputs[3] = {floats(2, a, x), floats(2, b, x), floats(2, c, x)}, results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(results[1].dims[0] == 2 && results[1].dims[1] == 3 && results[2].dims[0] == 3);
  inputs[1].dims = other;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT,
            "MatMul 'product' (ai.onnx 13): dimension 0 of operand 1 'b' is 5 and dimension 1 of operand 0 'a' is 3");
  inputs[1].dims = b, inputs[0].dims = huge;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 1 of operand 0 'a' is 3000000");
  inputs[0].dims = a, inputs[2].dims = other;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT,
            "dimension 0 of operand 0 'y' is 2 and dimension 0 of operand 1 'c' is 5");
  inputs[2].dims = wide; // fits the sum, not the join
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "Concat (ai.onnx 13): dimension 1 of operand 1 'c' is 1");
  inputs[2].dims = c;
  run(&m, inputs, results);
  close_model(&m);
}

// Whatever exporters call a dimension: spaces, signs, what would end a comment.
static void dimensions_have_any_name(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[\"batch size\",\"past + 1\"], %w : f32[\"past + 1\",\"in:0.0 */\\\\\"]) -> "
                  "(%y : f32[\"batch size\",\"in:0.0 */\\\\\"])",
                  "    %a = MatMul@13(%x, %w) : f32[\"batch size\",\"in:0.0 */\\\\\"]\n"
                  "    %y = Relu@14(%a) : f32[\"batch size\",\"in:0.0 */\\\\\"]\n    return %y"),
             &m);
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const int64_t a[2] = {2, 3}, b[2] = {3, 1};
  const byoc_argument_t inputs[2] = {floats(2, a, x), floats(2, b, x)};
  byoc_argument_t results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(at(&results[0], 0) == 14 && at(&results[0], 1) == 32);
  close_model(&m);
}

// Sizes that are data and do not fit what they are asked of.
static void values_that_do_not_fit_are_refused(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[3,1], %to : i64[2], %parts : i64[2]) -> (%y : f32[A,B], %a : f32[C,1], %b : f32[D,1])",
                  "    %y = Expand@13(%x, %to) : f32[A,B]\n"
                  "    %a, %b = Split@13(%x, %parts) {axis = 0} : f32[C,1], f32[D,1]\n    return %y, %a, %b"),
             &m);
  const float x[3] = {1, 2, 3};
  const int64_t dims[2] = {3, 1}, two[1] = {2}, to[2] = {3, 2}, wide[2] = {8, 2}, huge[2] = {3, INT64_MAX};
  const int64_t parts[2] = {1, 2}, less[2] = {1, 1}, negative[2] = {4, -1};
  byoc_argument_t inputs[3] = {floats(2, dims, x), tensor(BYOC_DTYPE_I64, 1, two, to),
                               tensor(BYOC_DTYPE_I64, 1, two, parts)};
  byoc_argument_t results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(at(&results[0], 5) == 3 && at(&results[2], 1) == 3);
  inputs[1].data = (void *)(uintptr_t)wide;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 0 of operand 0 'x' is 3 and the size that is asked for is 8");
  inputs[1].data = (void *)(uintptr_t)huge;
  assert_int_not_equal(m.artifact.table->run_arguments(m.context, inputs, results), BYOC_OK);
  inputs[1].data = (void *)(uintptr_t)to;
  inputs[2].data = (void *)(uintptr_t)less;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "the sum of the parts is 2 and dimension 0 of operand 0 'x' is 3");
  inputs[2].data = (void *)(uintptr_t)negative;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "negative");
  inputs[2].data = (void *)(uintptr_t)parts;
  run(&m, inputs, results);
  close_model(&m);
}

// The declaration may stand further down than the operator that the dimension comes from.
static void sizes_declared_further_down_are_checked(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[6], %w : f32[3]) -> (%y : f32[1,3], %z : f32[1,3])",
                  "    %i = NonZero@13(%x) : i64[1,K]\n    %u = Relu@14(%w) : f32[3]\n"
                  "    %c = Cast@13(%i) {to = 1} : f32[1,3]\n    %y = Add@14(%u, %c) : f32[1,3]\n"
                  "    %z = Softmax@13(%c) {axis = 1} : f32[1,3]\n    return %y, %z"),
             &m);
  const float x[6] = {0, 1, 0, 2, 3, 0}, more[6] = {1, 1, 1, 1, 1, 1}, none[6] = {0}, w[3] = {10, 20, 30};
  const int64_t six[1] = {6}, three[1] = {3};
  byoc_argument_t inputs[2] = {floats(1, six, x), floats(1, three, w)}, results[MAX_RESULTS];
  run(&m, inputs, results);
  assert_true(at(&results[0], 0) == 11 && at(&results[0], 2) == 34);
  inputs[0].data = (void *)(uintptr_t)more;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 1 of result 0 'c' is 6, but the model declares 3");
  inputs[0].data = (void *)(uintptr_t)none;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "dimension 1 of result 0 'c' is 0, but the model declares 3");
  close_model(&m);
}

static void views_that_cannot_be_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  model_t m = {0};
  byoc_test_ok(byoc_graph_parse(MAIN("(%x : f32[10], %to : i64[1]) -> (%y : f32[1000])",
                                     "    %y = Reshape@14(%x, %to) : f32[1000]\n    return %y"),
                                "test", byoc_allocator_system(), &diag, &m.module),
               &diag);
  byoc_test_error(byoc_kernel_lower_module(m.module, NULL, &diag), BYOC_INVALID_DATA, &diag,
                  "the result is declared f32[1000], but is made of f32[10]");
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symbols),
      cmocka_unit_test(casts_bits_of_open_sizes),
      cmocka_unit_test(refuses_images_that_are_not_there),

      cmocka_unit_test(sizes_of_blocks),
      cmocka_unit_test(squeezes_without_axes),
      cmocka_unit_test(broadcasts_open_sizes),
      cmocka_unit_test(loops),
      cmocka_unit_test(nested),
      cmocka_unit_test(containers),
      cmocka_unit_test(memory_is_kept),
      cmocka_unit_test(contexts_run_at_once),
      cmocka_unit_test(static_programs_take_arguments),
      cmocka_unit_test(dimensions_without_a_value_are_refused),
      cmocka_unit_test(prints_regions),
      cmocka_unit_test(prints_sizes_from_data),
      cmocka_unit_test(sizes_from_data),
      cmocka_unit_test(negative_sizes_name_their_operator),
      cmocka_unit_test(declared_sizes_are_checked),
      cmocka_unit_test(lengths_beyond_the_sequence_are_refused),
      cmocka_unit_test(sizes_are_known_in_part),
      cmocka_unit_test(declared_ranks_are_checked),
      cmocka_unit_test(shapes_that_do_not_fit_are_refused),
      cmocka_unit_test(dimensions_have_any_name),
      cmocka_unit_test(values_that_do_not_fit_are_refused),
      cmocka_unit_test(sizes_declared_further_down_are_checked),
      cmocka_unit_test(views_that_cannot_be_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
