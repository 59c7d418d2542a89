// SPDX-License-Identifier: Apache-2.0
// Fusion and lowering on graphs written as text: which nodes share a kernel, what the host keeps, and that fused and
// unfused kernels give the same numbers, interpreted and compiled.
#include "tests/unit/kernel/kernel_support.h"

#include "core/ir/loop_text.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/kernel/lower_module.h"

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_graph_parse(text, "test.ir", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  return module;
}

static int32_t vector_bytes; // that kernels are made for; 0: not said

static byoc_graph_module_t *lowered(const char *text, bool fuse) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = parse(text);
  module->vector_bytes = vector_bytes;
  byoc_kernel_options_t options = {.fuse = fuse};
  byoc_test_ok(byoc_kernel_lower_module(module, &options, &diag), &diag);
  byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
  return module;
}

// "conv_add_relu maxpool Reshape": callees without their number, operators that stay.
static void expect_steps(const byoc_block_t *block, const char *expected) {
  char steps[512] = "";
  BYOC_FOR_EACH_NODE(node, block) {
    const char *name = node->op;
    if (node->callee) {
      assert_int_equal(node->callee->kind, BYOC_FUNCTION_KERNEL);
      assert_non_null(node->callee->kernel);
      name = strchr(node->callee->name + strlen("byoc_k"), '_') + 1;
    }
    snprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), "%s%s", *steps ? " " : "", name);
  }
  assert_string_equal(steps, expected);
}

static void expect_main(const char *text, const char *expected) {
  byoc_graph_module_t *module = lowered(text, true);
  expect_steps(byoc_graph_module_main(module)->body, expected);
  byoc_graph_module_destroy(module);
}

#define MAIN(signature, body) "module {opset_import. = 17} { func @main" signature " { " body " } }"

// A result of an If whose branches make two ranks, one of them 0, has no rank that kernels could be made for.
static void ranks_of_branches_are_named(void **state) {
  (void)state;
  byoc_graph_module_t *module =
      parse(MAIN("(%c : bool[], %x : f32[2]) -> (%y : f32[])",
                 "%b = If@16(%c) [then_branch () -> (f32[2]) { %t = Neg@13(%x) : f32[2] return %t }, "
                 "else_branch () -> (f32[]) { %e = ReduceSum@11(%x) {keepdims = 0} : f32[] return %e }] : f32[*] "
                 "%y = ReduceSum@11(%b) {keepdims = 0} : f32[] return %y"));
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_kernel_lower_module(module, NULL, &diag);
  byoc_test_error(status, BYOC_UNSUPPORTED, &diag, "operand 0 of ReduceSum");
  assert_string_equal(diag.hint,
                      "its branches make ranks 1 and 0; give both one rank, or make its condition a constant");
  byoc_graph_module_destroy(module);
}

static void elementwise_chains_become_one(void **state) {
  (void)state;
  expect_main(MAIN("(%x : f32[4,8]) -> (%y : f32[4,8])",
                   "%a = Relu@14(%x) : f32[4,8] %b = Neg@13(%a) : f32[4,8] %y = Exp@13(%b) : f32[4,8] return %y"),
              "relu_neg_exp");
  // a diamond
  expect_main(MAIN("(%x : f32[4,8]) -> (%y : f32[4,8])",
                   "%a = Relu@14(%x) : f32[4,8] %b = Exp@13(%a) : f32[4,8] %c = Neg@13(%a) : f32[4,8]"
                   "%y = Add@14(%b, %c) : f32[4,8] return %y"),
              "relu_exp_neg_add");
}

// What a reduction reads is computed inside it if that is cheap, and by itself if it is not.
static void cheap_operands_join_a_reduction(void **state) {
  (void)state;
  expect_main(MAIN("(%x : f32[4,8]) -> (%y : f32[4,1])",
                   "%a = Relu@14(%x) : f32[4,8] %y = ReduceMax@13(%a) {axes = [1]} : f32[4,1] return %y"),
              "relu_reducemax");
  expect_main(MAIN("(%x : f32[4,8]) -> (%y : f32[4,1])",
                   "%a = Tanh@13(%x) : f32[4,8] %y = ReduceMax@13(%a) {axes = [1]} : f32[4,1] return %y"),
              "tanh reducemax");
  expect_main(MAIN("(%x : f32[4,8]) -> (%y : f32[4,8])",
                   "%a = Relu@14(%x) : f32[4,8] %y = TopK@1(%a) {k = 8} : f32[4,8] return %y"),
              "relu topk");
}

static const char residual[] =
    MAIN("(%x : f32[1,4,6,6], %w : f32[4,4,3,3], %v : f32[4,4,1,1], %b : f32[4]) -> (%y : f32[1,4,6,6])",
         "%c = Conv@11(%x, %w, %b) {pads = [1, 1, 1, 1]} : f32[1,4,6,6]"
         "%r = Relu@14(%c) : f32[1,4,6,6]"
         "%d = Conv@11(%r, %v) : f32[1,4,6,6]"
         "%s = Add@14(%d, %x) : f32[1,4,6,6]"
         "%y = Relu@14(%s) : f32[1,4,6,6] return %y");

static void epilogues_join_their_anchor(void **state) {
  (void)state;
  expect_main(residual, "conv_relu conv_add_relu");
  // the sum joins the later product: it needs both
  expect_main(MAIN("(%a : f32[4,4], %b : f32[4,4]) -> (%y : f32[4,4])",
                   "%p = MatMul@13(%a, %b) : f32[4,4] %q = MatMul@13(%b, %a) : f32[4,4]"
                   "%y = Add@14(%p, %q) : f32[4,4] return %y"),
              "matmul matmul_add");
}

static void groups_stay_convex(void **state) {
  (void)state;
  // a gate: the product needs what is pooled from the convolution's result
  expect_main(MAIN("(%x : f32[1,4,6,6], %w : f32[4,4,1,1]) -> (%y : f32[1,4,6,6])",
                   "%c = Conv@11(%x, %w) : f32[1,4,6,6] %r = Relu@14(%c) : f32[1,4,6,6]"
                   "%g = GlobalAveragePool@1(%r) : f32[1,4,1,1] %s = Sigmoid@13(%g) : f32[1,4,1,1]"
                   "%y = Mul@14(%r, %s) : f32[1,4,6,6] return %y"),
              "conv_relu globalaveragepool_sigmoid mul");
}

static void values_read_elsewhere_are_results_too(void **state) {
  (void)state;
  byoc_graph_module_t *module = lowered(MAIN("(%x : f32[4,4], %w : f32[4,4]) -> (%y : f32[4,4], %z : f32[4,4])",
                                             "%p = MatMul@13(%x, %w) : f32[4,4] %y = Relu@14(%p) : f32[4,4]"
                                             "%z = MatMul@13(%p, %y) : f32[4,4] return %y, %z"),
                                        true);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  expect_steps(body, "matmul_relu matmul");
  assert_int_equal(body->first->result_count, 2);
  byoc_graph_module_destroy(module);
}

static void views_stay_and_dead_nodes_go(void **state) {
  (void)state;
  expect_main("module {opset_import. = 17} { constant @s : i64[1] = [32]"
              " func @main(%x : f32[4,8]) -> (%y : f32[32]) {"
              " %d = Exp@13(%x) : f32[4,8] %a = Relu@14(%x) : f32[4,8] %b = Reshape@14(%a, @s) : f32[32]"
              " %y = Exp@13(%b) : f32[32] return %y } }",
              "relu Reshape exp");
}

static void equal_groups_share_a_kernel(void **state) {
  (void)state;
  byoc_graph_module_t *module =
      lowered("module {opset_import. = 17} { constant @a : f32[4,4] = splat 0.5 constant @b : f32[4,4] = splat 0.25"
              " constant @two : f32[] = [2.0] constant @three : f32[] = [3.0]"
              " func @main(%x : f32[4,4]) -> (%y : f32[4,4]) {"
              " %p = MatMul@13(%x, @a) : f32[4,4] %q = Mul@14(%p, @two) : f32[4,4]"
              " %r = MatMul@13(%q, @b) : f32[4,4] %s = Mul@14(%r, @two) : f32[4,4]"
              " %t = MatMul@13(%s, @b) : f32[4,4] %y = Mul@14(%t, @three) : f32[4,4] return %y } }",
              true);
  const byoc_node_t *first = byoc_graph_module_main(module)->body->first;
  expect_steps(byoc_graph_module_main(module)->body, "matmul_mul matmul_mul matmul_mul");
  assert_ptr_equal(first->callee, first->next->callee);
  assert_ptr_not_equal(first->callee, first->next->next->callee); // another literal
  assert_int_equal(first->operand_count, 2);                      // large constants are operands
  byoc_graph_module_destroy(module);
}

static void producers_are_inlined_where_read_once(void **state) {
  (void)state;
  expect_main(MAIN("(%x : f32[4,8]) -> (%y : f32[8,4])",
                   "%a = Exp@13(%x) : f32[4,8] %y = Transpose@13(%a) {perm = [1, 0]} : f32[8,4] return %y"),
              "exp_transpose");
  // not into a product, which reads every element many times
  expect_main(MAIN("(%x : f32[4,4]) -> (%y : f32[4,4])",
                   "%a = Exp@13(%x) : f32[4,4] %y = MatMul@13(%a, %a) : f32[4,4] return %y"),
              "exp matmul");
  // nor where broadcasting would compute it again for every row
  expect_main(MAIN("(%x : f32[8], %z : f32[4,8]) -> (%y : f32[4,8])",
                   "%a = Exp@13(%x) : f32[8] %y = Add@14(%a, %z) : f32[4,8] return %y"),
              "exp add");
}

static void unknown_operators_are_named(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_graph_parse(
                   MAIN("(%x : f32[4]) -> (%y : f32[4])", "%y = com.acme::Frob@1 \"node7\" (%x) : f32[4] return %y"),
                   "test.ir", byoc_allocator_system(), &diag, &module),
               &diag);
  byoc_status_t status = byoc_kernel_lower_module(module, NULL, &diag);
  byoc_test_error(status, BYOC_UNSUPPORTED, &diag, "Frob 'node7'");
  byoc_graph_module_destroy(module);
}

// ---- numbers ----

typedef struct run_t {
  byoc_map_t tensors; // pointer map: value → DLTensor
  byoc_arena_t arena;
  void *library;
} run_t;

static DLTensor *tensor_of(run_t *run, const byoc_value_t *value) {
  DLTensor *tensor = byoc_pointer_map_get(&run->tensors, value);
  if (tensor) return tensor;
  tensor = BYOC_ARENA_NEW(&run->arena, DLTensor);
  tensor->ndim = value->type->rank;
  tensor->shape = BYOC_ARENA_ARRAY(&run->arena, int64_t, (size_t)tensor->ndim + 1);
  for (int32_t i = 0; i < tensor->ndim; ++i) tensor->shape[i] = value->type->dims[i].constant;
  if (byoc_value_is_constant(value))
    tensor->data = (void *)(uintptr_t)value->constant->data;
  else
    tensor->data =
        byoc_arena_allocate_aligned(&run->arena, (size_t)byoc_type_size_bytes(value->type) + 1, BYOC_BUFFER_ALIGNMENT);
  assert_non_null(tensor->data);
  assert_true(byoc_pointer_map_put(&run->tensors, value, tensor));
  return tensor;
}

static void run_call(run_t *run, const byoc_node_t *node) {
  DLTensor tensors[32];
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) tensors[count++] = *tensor_of(run, node->operands[i]);
  for (uint32_t i = 0; i < node->result_count; ++i) tensors[count++] = *tensor_of(run, node->results[i]);
  byoc_diag_t diag = {0};
  byoc_interpreter_t *interpreter = NULL;
  byoc_packed_function_t function = run->library ? test_find(run->library, node->callee->name) : NULL;
  if (!function)
    byoc_test_ok(byoc_interpreter_create(node->callee->kernel, byoc_allocator_system(), &diag, &interpreter), &diag);
  test_error_text[0] = '\0';
  int32_t status = test_call(function, interpreter, tensors, node->operand_count, node->result_count);
  if (status != BYOC_OK) fail_msg("%s: %s", node->callee->name, test_error_text);
  byoc_interpreter_destroy(interpreter);
}

// Runs main on seeded inputs and copies the first result to `out`.
static void run_main(const char *text, bool fuse, bool compiled, float *out) {
  byoc_graph_module_t *module = lowered(text, fuse);
  run_t run = {0};
  byoc_arena_init(&run.arena, byoc_allocator_system());
  byoc_pointer_map_init(&run.tensors, byoc_allocator_system());
  const byoc_loop_kernel_t *kernels[32];
  size_t count = 0;
  for (size_t i = 0; i < module->functions.count; ++i)
    if (module->functions.data[i]->kernel) kernels[count++] = module->functions.data[i]->kernel;
  if (compiled) run.library = test_load_kernels(kernels, count, "cc", "-O2");
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  byoc_test_random_t random = {11};
  for (size_t i = 0; i < body->parameters.count; ++i) {
    DLTensor *tensor = tensor_of(&run, body->parameters.data[i]);
    for (int64_t k = 0; k < test_element_count(tensor); ++k) ((float *)tensor->data)[k] = byoc_test_float(&random);
  }
  BYOC_FOR_EACH_NODE(node, body) {
    if (node->callee)
      run_call(&run, node);
    else
      tensor_of(&run, node->results[0])->data = tensor_of(&run, node->operands[0])->data;
  }
  const DLTensor *result = tensor_of(&run, body->results.data[0]);
  memcpy(out, result->data, (size_t)test_element_count(result) * sizeof(float));
  if (run.library) dlclose(run.library);
  byoc_map_deinit(&run.tensors);
  byoc_arena_deinit(&run.arena);
  byoc_graph_module_destroy(module);
}

static void all_ways_agree(void **state) {
  (void)state;
  static const char *const texts[] = {
      residual,
      MAIN("(%x : f32[2,3,5,7], %b : f32[3,1,1], %c : f32[7]) -> (%y : f32[2,5,3,7])",
           "%p = Add@14(%x, %b) : f32[2,3,5,7] %q = Mul@14(%p, %c) : f32[2,3,5,7] %r = Tanh@13(%q) : f32[2,3,5,7]"
           "%y = Transpose@13(%r) {perm = [0, 2, 1, 3]} : f32[2,5,3,7] return %y"),
      MAIN("(%x : f32[6,50]) -> (%y : f32[6,50])",
           "%e = Exp@13(%x) : f32[6,50] %s = Softmax@13(%e) {axis = 1} : f32[6,50]"
           "%y = Mul@14(%s, %x) : f32[6,50] return %y"),
      MAIN("(%x : f32[2,4,6,6], %s : f32[4], %b : f32[4], %m : f32[4], %v : f32[4]) -> (%y : f32[2,4,3,3])",
           "%q = Mul@14(%v, %v) : f32[4] %n = BatchNormalization@15(%x, %s, %b, %m, %q) : f32[2,4,6,6]"
           "%r = Relu@14(%n) : f32[2,4,6,6] %p = MaxPool@12(%r) {kernel_shape = [2, 2], strides = [2, 2]}"
           " : f32[2,4,3,3] %y = Sigmoid@13(%p) : f32[2,4,3,3] return %y"),
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    float results[4][512] = {{0}};
    for (int way = 0; way < 4; ++way) run_main(texts[i], way & 1, way & 2, results[way]);
    for (int way = 1; way < 4; ++way)
      for (int k = 0; k < 512; ++k)
        if (!(fabsf(results[way][k] - results[0][k]) <= 1e-5f + 1e-5f * fabsf(results[0][k])))
          fail_msg("graph %zu, way %d, element %d: %g, not %g", i, way, k, results[way][k], results[0][k]);
  }
}

// ---- shares ----

static void run_first_half(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self;
  (void)grain;
  body(argument, 0, count / 2, 0);
}

// The first of two threads pools the upper half of the picture in all channels, as convolutions around it share it out,
// and not half of the channels, most of which the other thread has written.
static void pools_of_blocked_pictures_are_shared_by_rows(void **state) {
  (void)state;
  enum { BLOCKS = 4, ROWS = 16, COLUMNS = 16, LANES = 16, LINE = COLUMNS * LANES, READ = 33 * 33 * LANES };
  byoc_graph_module_t *module =
      lowered(MAIN("(%x : f32[1,4,33,33,16]) -> (%y : f32[1,4,16,16,16])",
                   "%y = MaxPool@12(%x) {kernel_shape = [3, 3, 1], strides = [2, 2, 1]} : f32[1,4,16,16,16] return %y"),
              true);
  const byoc_function_t *callee = byoc_graph_module_main(module)->body->first->callee;
  void *library = test_load_kernels((const byoc_loop_kernel_t *[]){callee->kernel}, 1, "cc", "-O1");
  static _Alignas(64) float x[BLOCKS * READ], y[BLOCKS * ROWS * LINE];
  for (size_t i = 0; i < BLOCKS * READ; ++i) x[i] = 1;
  DLTensor tensors[2] = {{.data = x, .ndim = 5, .shape = (int64_t[]){1, BLOCKS, 33, 33, LANES}},
                         {.data = y, .ndim = 5, .shape = (int64_t[]){1, BLOCKS, ROWS, COLUMNS, LANES}}};
  const byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 2, .parallel_for = run_first_half};
  const byoc_call_t call = {
      .struct_size = sizeof(call), .tensors = tensors, .input_count = 1, .output_count = 1, .runtime = &runtime};
  assert_int_equal(test_find(library, callee->name)(&call), BYOC_OK);
  for (int block = 0; block < BLOCKS; ++block) {
    for (int row = 0; row < ROWS; ++row) {
      const float *line = y + (block * ROWS + row) * LINE;
      for (int i = 0; i < LINE; ++i) assert_true(line[i] == (row < ROWS / 2 ? 1.0F : 0.0F));
    }
  }
  dlclose(library);
  byoc_graph_module_destroy(module);
}

// The vectors that the local arrays of a kernel's sums take.
static int64_t vectors_of_sums(const byoc_loop_kernel_t *kernel, int32_t bytes) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_loop_kernel_print(kernel, &text);
  int64_t vectors = 0;
  for (const char *at = text.data; (at = strstr(at, "local sum")) != NULL; ++at) {
    const char *size = strchr(at, '['), *end = strchr(at, '\n');
    if (at[strlen("local sum")] == 's') continue; // those of all rows
    assert_true(size && size < end);
    vectors += strtoll(size + 1, NULL, 10) * (int64_t)sizeof(float) / bytes;
  }
  byoc_string_deinit(&text);
  return vectors;
}

// The sums of products fit into the processor's registers, and are the same whatever their width.
static void tiles_fit_the_registers(void **state) {
  (void)state;
  static const char *const texts[] = {
      MAIN("(%x : f32[9,70], %w : f32[70,37]) -> (%y : f32[9,37])", "%y = MatMul@13(%x, %w) : f32[9,37] return %y"),
      MAIN("(%x : f32[1,5,6,7], %w : f32[9,5,3,3]) -> (%y : f32[1,9,6,7])",
           "%y = Conv@11(%x, %w) {pads = [1, 1, 1, 1]} : f32[1,9,6,7] return %y"),
      MAIN("(%x : f32[3,7,5], %w : f32[1,28,5], %r : f32[1,28,7]) -> (%y : f32[3,1,7,7])",
           "%y = LSTM@14(%x, %w, %r) {hidden_size = 7} : f32[3,1,7,7] return %y"),
  };
  static const struct { int32_t bytes, most; } sets[] = {{64, 16}, {32, 12}, {16, 8}};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    float results[3][512] = {{0}};
    for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); ++k) {
      vector_bytes = sets[k].bytes;
      byoc_graph_module_t *module = lowered(texts[i], true);
      int64_t found = 0;
      for (size_t f = 0; f < module->functions.count; ++f) {
        const byoc_loop_kernel_t *kernel = module->functions.data[f]->kernel;
        const int64_t vectors = kernel ? vectors_of_sums(kernel, sets[k].bytes) : 0;
        if (vectors > sets[k].most)
          fail_msg("graph %zu: the sums take %lld of the registers of %d bytes", i, (long long)vectors, sets[k].bytes);
        found += vectors;
      }
      assert_true(found > 0);
      byoc_graph_module_destroy(module);
      run_main(texts[i], true, false, results[k]);
      for (int j = 0; j < 512; ++j)
        if (!(fabsf(results[k][j] - results[0][j]) <= 1e-5f + 1e-5f * fabsf(results[0][j])))
          fail_msg("graph %zu, %d bytes, element %d: %g, not %g", i, sets[k].bytes, j, (double)results[k][j],
                   (double)results[0][j]);
    }
  }
  vector_bytes = 0;
}

// Shapes known only at run time: their symbols are one more input, here for several sizes of one kernel.
static void run_time_shapes(void **state) {
  (void)state;
  byoc_graph_module_t *module =
      lowered(MAIN("(%x : f32[N,3,M], %b : f32[M]) -> (%y : f32[M,N,3])",
                   "%s = Add@14(%x, %b) : f32[N,3,M] %y = Transpose@13(%s) {perm = [2, 0, 1]} : f32[M,N,3] return %y"),
              true);
  const byoc_node_t *call = byoc_graph_module_main(module)->body->first;
  expect_steps(byoc_graph_module_main(module)->body, "add_transpose");
  const byoc_loop_kernel_t *kernel = call->callee->kernel;
  void *library = test_load_kernels(&kernel, 1, "cc", "-O2");
  byoc_diag_t diag = {0};
  byoc_interpreter_t *interpreter;
  byoc_test_ok(byoc_interpreter_create(kernel, byoc_allocator_system(), &diag, &interpreter), &diag);
  for (int64_t n = 1; n < 20; n += 6) {
    int64_t m = n + 2, x_shape[3] = {n, 3, m}, y_shape[3] = {m, n, 3};
    float *x = malloc((size_t)(n * 3 * m) * sizeof(float)), *b = malloc((size_t)m * sizeof(float));
    float *y = malloc((size_t)(n * 3 * m) * sizeof(float));
    for (int64_t i = 0; i < n * 3 * m; ++i) x[i] = (float)i;
    for (int64_t i = 0; i < m; ++i) b[i] = (float)i * 0.5f;
    int64_t symbols[2], two = 2;
    assert_int_equal(kernel->symbols.count, 2);
    for (int k = 0; k < 2; ++k) symbols[k] = strcmp(kernel->symbols.data[k], "N") == 0 ? n : m;
    DLTensor tensors[4] = {{.data = x, .ndim = 3, .shape = x_shape},
                           {.data = b, .ndim = 1, .shape = &x_shape[2]},
                           {.data = symbols, .ndim = 1, .shape = &two},
                           {.data = y, .ndim = 3, .shape = y_shape}};
    for (int way = 0; way < 2; ++way) {
      memset(y, 0, (size_t)(n * 3 * m) * sizeof(float));
      byoc_packed_function_t function = way ? test_find(library, kernel->name) : NULL;
      assert_int_equal(test_call(function, interpreter, tensors, 3, 1), BYOC_OK);
      for (int64_t i = 0; i < n * 3; ++i)
        for (int64_t j = 0; j < m; ++j) assert_true(y[j * n * 3 + i] == x[i * m + j] + b[j]);
    }
    free(x), free(b), free(y);
  }
  byoc_interpreter_destroy(interpreter);
  dlclose(library);
  byoc_graph_module_destroy(module);
}

static byoc_status_t lower_all(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_status_t status = byoc_graph_parse(argument, "test.ir", allocator, &diag, &module);
  if (status == BYOC_OK) status = byoc_infer_module(module, &diag);
  if (status == BYOC_OK) status = byoc_kernel_lower_module(module, NULL, &diag);
  byoc_graph_module_destroy(module);
  return status;
}

// Pads that are data are clamped; those that are known stand in the kernel as they are.
static void known_integers_are_not_loaded(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_clamped;
  } rows[] = {{"module {\n  constant @p : i64[4] = [1, 0, 2, 0]\n  func @main(%x : f32[N,8]) -> (%y : ?) {\n"
               "    %y = Pad@18(%x, @p) : ?\n    return %y\n  }\n}\n",
               false},
              {"module {\n  func @main(%x : f32[N,8], %p : i64[4]) -> (%y : ?) {\n"
               "    %y = Pad@18(%x, %p) : ?\n    return %y\n  }\n}\n",
               true}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_test_ok(byoc_graph_parse(rows[i].text, "test", byoc_allocator_system(), &diag, &module), &diag);
    byoc_test_ok(byoc_infer_module(module, &diag), &diag);
    byoc_test_ok(byoc_kernel_lower_module(module, NULL, &diag), &diag);
    size_t kernels = 0;
    for (size_t f = 0; f < module->functions.count; ++f) {
      if (!module->functions.data[f]->kernel) continue;
      byoc_string_t text;
      byoc_string_init(&text, byoc_allocator_system());
      byoc_loop_kernel_print(module->functions.data[f]->kernel, &text);
      if (strstr(text.data, "pad") || strstr(text.data, "Pad")) ++kernels;
      assert_int_equal(strstr(text.data, "34359738368") != NULL, rows[i].is_clamped);
      byoc_string_deinit(&text);
    }
    assert_true(kernels > 0);
    byoc_graph_module_destroy(module);
  }
}

// Is the line at `at` of a printed kernel in a loop over taps?
static bool is_at_each_tap(const char *text, const char *at) {
  const char *line = at;
  while (line > text && line[-1] != '\n') --line;
  size_t indent = strspn(line, " ");
  while (line > text) {
    for (--line; line > text && line[-1] != '\n';) --line;
    const size_t own = strspn(line, " ");
    if (own >= indent) continue;
    indent = own;
    if (strncmp(line + own, "serial tap", strlen("serial tap")) == 0) return true;
  }
  return false;
}

// The kernels' conversions of bytes less their centre; each is in a loop over taps, or none is.
static size_t conversions(const byoc_graph_module_t *module, bool at_each_tap) {
  size_t count = 0;
  for (size_t f = 0; f < module->functions.count; ++f) {
    if (!module->functions.data[f]->kernel) continue;
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_loop_kernel_print(module->functions.data[f]->kernel, &text);
    for (const char *at = text.data; (at = strstr(at, " - centre")) != NULL; ++at, ++count) {
      if (is_at_each_tap(text.data, at) != at_each_tap) fail_msg("%s", text.data);
    }
    byoc_string_deinit(&text);
  }
  return count;
}

// Bytes become numbers once for all taps of a kernel: as the input lines of a tile, or as a whole panel. Strided taps
// of dynamic lines read too few of their neighbours for that. Depthwise convolutions of dynamic size convert a stretch
// of each line for all taps in it.
static void bytes_of_a_convolution_are_converted_once(void **state) {
  (void)state;
#define CONV_OF_BYTES(x, w, y, attributes)                                                                             \
  MAIN("(%x : " x ", %w : " w ", %z : u8[]) -> (%y : " y ")",                                                          \
       "%y = byoc::Conv@1(%x, %w, _, %z) {" attributes "} : " y " return %y")
#define DENSE "f32[8,4,3,3]"
  static const struct {
    const char *text;
    bool at_each_tap;
    size_t count; // 0: any
  } rows[] = {
      {CONV_OF_BYTES("u8[1,4,4,4]", DENSE, "f32[1,8,4,4]", "pads = [1, 1, 1, 1]"), false, 0},
      {CONV_OF_BYTES("u8[1,4,20,20]", DENSE, "f32[1,8,20,20]", "pads = [1, 1, 1, 1]"), false, 0},
      {CONV_OF_BYTES("u8[1,4,21,21]", DENSE, "f32[1,8,10,10]", "strides = [2, 2]"), false, 0},
      {CONV_OF_BYTES("u8[1,4,300,300]", DENSE, "f32[1,8,298,298]", ""), false, 0},
      {CONV_OF_BYTES("u8[1,4,H,W]", DENSE, "f32[1,8,H,W]", "pads = [1, 1, 1, 1]"), false, 0},
      {CONV_OF_BYTES("u8[1,4,H,W]", DENSE, "?", "strides = [2, 2]"), true, 0},
      {CONV_OF_BYTES("u8[1,4,H,W]", "f32[4,1,3,3]", "f32[1,4,H,W]", "group = 4, pads = [1, 1, 1, 1]"), true, 1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_graph_module_t *module = lowered(rows[i].text, true);
    const size_t count = conversions(module, rows[i].at_each_tap);
    assert_true(rows[i].count == 0 ? count > 0 : count == rows[i].count);
    byoc_graph_module_destroy(module);
  }
}

static void failing_allocations(void **state) {
  (void)state;
  static char texts[][512] = {
      MAIN("(%x : f32[4,8], %z : f32[8]) -> (%y : f32[4,8])", "%a = Relu@14(%x) : f32[4,8] %b = Exp@13(%a) : f32[4,8]"
                                                              "%y = Add@14(%b, %z) : f32[4,8] return %y"),
      CONV_OF_BYTES("u8[1,4,20,20]", DENSE, "f32[1,8,20,20]", "pads = [1, 1, 1, 1]"),
      CONV_OF_BYTES("u8[1,4,300,300]", DENSE, "f32[1,8,298,298]", ""),
      CONV_OF_BYTES("u8[1,4,9,W]", "f32[4,1,3,3]", "f32[1,4,9,W]", "group = 4, pads = [1, 1, 1, 1]"),
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    byoc_test_each_allocation_fails(lower_all, texts[i], true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_of_branches_are_named),
      cmocka_unit_test(elementwise_chains_become_one),
      cmocka_unit_test(cheap_operands_join_a_reduction),
      cmocka_unit_test(epilogues_join_their_anchor),
      cmocka_unit_test(groups_stay_convex),
      cmocka_unit_test(values_read_elsewhere_are_results_too),
      cmocka_unit_test(views_stay_and_dead_nodes_go),
      cmocka_unit_test(equal_groups_share_a_kernel),
      cmocka_unit_test(producers_are_inlined_where_read_once),
      cmocka_unit_test(unknown_operators_are_named),
      cmocka_unit_test(all_ways_agree),
      cmocka_unit_test(pools_of_blocked_pictures_are_shared_by_rows),
      cmocka_unit_test(tiles_fit_the_registers),
      cmocka_unit_test(run_time_shapes),
      cmocka_unit_test(known_integers_are_not_loaded),
      cmocka_unit_test(bytes_of_a_convolution_are_converted_once),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
