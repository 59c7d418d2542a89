// SPDX-License-Identifier: Apache-2.0
// Models spread over ranks compute what they compute on one: each rank runs its own program.
#include "tests/support/ranks.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>

#include "core/base/string.h"
#include "core/compose/artifact/resolve.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/attribute_names.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "core/pass/pass.h"

enum { MOST_PORTS = 4, MOST_ELEMENTS = 512 };

typedef struct program_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_runtime_t runtime;
  byoc_resolver_t *resolver;
  byoc_evaluator_t *evaluator;
} program_t;

// The program of a rank; -1: of the model as it is, without its mesh.
static const char *passes = "shard,simplify,name-unknown-dimensions";

static byoc_status_t open_program(const char *text, int32_t rank, byoc_diag_t *diag, program_t *p) {
  byoc_allocator_t system = byoc_allocator_system();
  *p = (program_t){0};
  BYOC_RETURN_IF_ERROR(byoc_graph_parse(text, "test", system, diag, &p->module));
  if (rank < 0) byoc_attributes_remove(&p->module->attributes, BYOC_ATTRIBUTE_MESH);
  if (rank >= 0) (void)byoc_attributes_set_int(&p->module->attributes, BYOC_ATTRIBUTE_RANK, rank);
  const byoc_pass_options_t none = {0};
  BYOC_RETURN_IF_ERROR(byoc_pass_run_list(passes, p->module, &none, diag));
  BYOC_RETURN_IF_ERROR(byoc_kernel_lower_module(p->module, NULL, diag));
  BYOC_RETURN_IF_ERROR(byoc_host_lower(p->module, system, diag, &p->program));
  BYOC_RETURN_IF_ERROR(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, p->program, NULL, diag));
  p->runtime = byoc_serial_runtime(1);
  BYOC_RETURN_IF_ERROR(byoc_resolver_create(p->program, NULL, &p->runtime, system, diag, &p->resolver));
  const byoc_symbol_resolver_t resolver = byoc_resolver_interface(p->resolver);
  return byoc_evaluator_create(p->program, &resolver, 1, system, diag, &p->evaluator);
}

static void close_program(program_t *p) {
  byoc_evaluator_destroy(p->evaluator);
  byoc_resolver_destroy(p->resolver);
  byoc_host_program_destroy(p->program);
  byoc_graph_module_destroy(p->module);
}

// Inputs are small numbers, the same on all ranks.
static byoc_status_t run_program(program_t *p, byoc_diag_t *diag, byoc_argument_t *results) {
  static float data[MOST_PORTS][MOST_ELEMENTS];
  static int64_t numbers[MOST_PORTS][MOST_ELEMENTS], dims[MOST_PORTS][BYOC_MAX_RANK];
  byoc_argument_t inputs[MOST_PORTS] = {0};
  for (size_t i = 0; i < p->program->inputs.count; ++i) {
    const byoc_type_t *type = p->program->inputs.data[i]->type;
    const bool is_index = type->dtype == BYOC_DTYPE_I64;
    for (int32_t d = 0; d < type->rank; ++d) {
      dims[i][d] = byoc_dim_is_constant(type->dims[d]) ? type->dims[d].constant : 4;
    }
    for (int k = 0; k < MOST_ELEMENTS; ++k) data[i][k] = (float)((k * 7 + (int)i * 3) % 11 - 5) * 0.25f;
    for (int k = 0; k < MOST_ELEMENTS; ++k) numbers[i][k] = (k * 5 + 1) % 8;
    inputs[i] = (byoc_argument_t){.dtype = type->dtype,
                                  .rank = (uint32_t)type->rank,
                                  .dims = dims[i],
                                  .data = is_index ? (void *)numbers[i] : (void *)data[i]};
  }
  return byoc_evaluator_run_arguments(p->evaluator, inputs, results, diag);
}

typedef struct case_t {
  const char *text;
  byoc_argument_t whole[MOST_PORTS]; // of one rank
} case_t;

// How much of a result a rank has, and where it begins; results of this test are cut along their first dimension only.
static int compare(const byoc_communicator_t *c, const byoc_argument_t *part, const byoc_argument_t *whole) {
  int64_t count = 1, all = 1;
  for (uint32_t d = 0; d < part->rank; ++d) count *= part->dims[d];
  for (uint32_t d = 0; d < whole->rank; ++d) all *= whole->dims[d];
  for (uint32_t d = 0; count == all && (part->rank != whole->rank || d < whole->rank); ++d) {
    if (part->rank == whole->rank && part->dims[d] == whole->dims[d]) continue;
    (void)fprintf(stderr, "rank %d: a result has another shape\n", c->rank);
    return 1;
  }
  if (count != all && count * c->size != all) {
    (void)fprintf(stderr, "rank %d: it has %lld of %lld elements\n", c->rank, (long long)count, (long long)all);
    return 1;
  }
  const float *a = part->data, *b = whole->data;
  if (count != all) b += c->rank * count;
  for (int64_t i = 0; i < count; ++i) {
    const float tolerance = 1e-4f * (1 + fabsf(b[i]));
    if (fabsf(a[i] - b[i]) > tolerance) {
      (void)fprintf(stderr, "rank %d: element %lld is %g, not %g\n", c->rank, (long long)i, a[i], b[i]);
      return 1;
    }
  }
  return 0;
}

static int run_rank(void *self, const byoc_communicator_t *c) {
  const case_t *test = self;
  byoc_diag_t diag = {0};
  program_t p;
  byoc_argument_t results[MOST_PORTS];
  byoc_status_t status = open_program(test->text, c->rank, &diag, &p);
  if (status == BYOC_OK) status = byoc_evaluator_set_communicator(p.evaluator, c, &diag);
  if (status == BYOC_OK) status = run_program(&p, &diag, results);
  if (status != BYOC_OK) (void)fprintf(stderr, "rank %d: %s\n", c->rank, diag.message);
  int code = status != BYOC_OK;
  for (size_t i = 0; i < p.program->outputs.count && code == 0; ++i) code = compare(c, &results[i], &test->whole[i]);
  close_program(&p);
  return code;
}

static void check(const char *text, int32_t ranks) {
  byoc_diag_t diag = {0};
  program_t p;
  case_t test = {.text = text};
  byoc_test_ok(open_program(text, -1, &diag, &p), &diag);
  byoc_test_ok(run_program(&p, &diag, test.whole), &diag);
  byoc_test_run_ranks(ranks, run_rank, &test, NULL);
  close_program(&p);
}

#define TP "module {mesh = \"tp=2\"} {\n"

// Between all kinds of spreads: each of three values says how it is spread.
static void test_h15_every_resharding(void **state) {
  (void)state;
  static const char *const spreads[] = {"whole", "tp: 0", "tp: 1", "tp: 0 * 2", "tp: 1 * 2", "tp: at 0", "tp: at 1"};
  enum { COUNT = sizeof(spreads) / sizeof(spreads[0]) };
  for (size_t from = 0; from < COUNT; ++from) {
    for (size_t to = 0; to < COUNT; ++to) {
      char text[2048];
      (void)snprintf(text, sizeof(text),
                     "module {mesh = \"tp=2\"} {\n"
                     "  func @main(%%x : f32[4,8]) -> (%%y : f32[4,8]) {\n"
                     "    %%0 = Neg@13(%%x) : f32[4,8] on {ranks = \"%s\"}\n"
                     "    %%1 = Exp@13(%%0) : f32[4,8] on {ranks = \"%s\"}\n"
                     "    %%y = Abs@13(%%1) : f32[4,8]\n"
                     "    return %%y\n"
                     "  }\n"
                     "}\n",
                     spreads[from], spreads[to]);
      check(text, 2);
    }
  }
}

static const char partial[] = "  func @main(%%x : f32[4,8], %%w : f32[8,6]) -> (%%y : f32[4,6]) {\n"
                              "    %%0 = Neg@13(%%x) : f32[4,8] on {ranks = \"tp: 1\"}\n"
                              "    %%1 = MatMul@13(%%0, %%w) : f32[4,6] on {ranks = \"%s\"}\n"
                              "    %%y = Exp@13(%%1) : f32[4,6]\n"
                              "    return %%y\n"
                              "  }\n"
                              "}\n";

static void test_h15_partial_sums_become_every_spread(void **state) {
  (void)state;
  static const char *const spreads[] = {"whole", "tp: 0", "tp: 1", "tp: 1 * 3", "tp: at 1", "tp: partial"};
  for (size_t to = 0; to < sizeof(spreads) / sizeof(spreads[0]); ++to) {
    char text[2048];
    const int head = snprintf(text, sizeof(text), "%s", TP);
    (void)snprintf(text + head, sizeof(text) - (size_t)head, partial, spreads[to]);
    check(text, 2);
  }
}

// A mesh of two axes: from each spread to each.
static void test_h15_meshes_of_two_axes_reshard(void **state) {
  (void)state;
  static const char *const spreads[] = {"dp: 0",        "tp: 0",          "dp: 0, tp: 1", "dp: 1, tp: 0",
                                        "dp: 0, tp: 0", "dp: 1, tp: 1",   "dp: at 1",     "dp: at 0, tp: 1",
                                        "tp: 1 * 2",    "dp: 0, tp: at 1"};
  enum { COUNT = sizeof(spreads) / sizeof(spreads[0]) };
  for (size_t from = 0; from < COUNT; ++from) {
    for (size_t to = 0; to < COUNT; ++to) {
      char text[2048];
      (void)snprintf(text, sizeof(text),
                     "module {mesh = \"dp=2, tp=2\"} {\n"
                     "  func @main(%%x : f32[4,8]) -> (%%y : f32[4,8]) {\n"
                     "    %%0 = Neg@13(%%x) : f32[4,8] on {ranks = \"%s\"}\n"
                     "    %%1 = Exp@13(%%0) : f32[4,8] on {ranks = \"%s\"}\n"
                     "    %%y = Abs@13(%%1) : f32[4,8]\n"
                     "    return %%y\n"
                     "  }\n"
                     "}\n",
                     spreads[from], spreads[to]);
      check(text, 4);
    }
  }
  // Each axis alone could cut the two rows of the sum; both together cannot.
  check("module {mesh = \"dp=2, tp=2\"} {\n"
        "  func @main(%x : f32[2,8], %z : f32[2,8]) -> (%y : f32[2,8]) {\n"
        "    %0 = Neg@13(%x) : f32[2,8] on {ranks = \"dp: 0\"}\n"
        "    %1 = Exp@13(%z) : f32[2,8] on {ranks = \"tp: 0\"}\n"
        "    %y = Add@14(%0, %1) : f32[2,8]\n"
        "    return %y\n"
        "  }\n"
        "}\n",
        4);
}

// What each family of operators does with operands that are cut.
static void test_h15_operators_take_cut_operands(void **state) {
  (void)state;
  static const struct {
    const char *input, *output, *nodes; // nodes make %y of %0, which is cut along %s
    int dims;
  } cases[] = {
      {"f32[4,8]", "f32[4,8]", "%y = Add@14(%0, @row) : f32[4,8]", 2},
      {"f32[4,8]", "f32[8,4]", "%y = Transpose@13(%0) {perm = [1, 0]} : f32[8,4]", 2},
      {"f32[4,8]", "f32[4,2,4]", "%y = Reshape@14(%0, @heads) : f32[4,2,4]", 2},
      {"f32[4,2,4]", "f32[4,8]", "%y = Reshape@14(%0, @merged) : f32[4,8]", 3},
      {"f32[4,2,4]", "f32[32]", "%y = Reshape@14(%0, @flat) : f32[32]", 3},
      {"f32[2,6,2]", "f32[4,6,1]", "%y = Reshape@14(%0, @kept) : f32[4,6,1]", 3},
      {"f32[4,8]", "f32[4,8]", "%y = Softmax@13(%0) {axis = 1} : f32[4,8]", 2},
      {"f32[4,8]", "f32[4,8]", "%y = Softmax@11(%0) {axis = 0} : f32[4,8]", 2},
      {"f32[4,8]", "f32[4,8]", "%y = LayerNormalization@17(%0, @row) {axis = 1} : f32[4,8]", 2},
      {"f32[4,8]", "f32[4]", "%y = ReduceSum@13(%0, @one) {keepdims = 0} : f32[4]", 2},
      {"f32[4,8]", "f32[4,1]", "%y = ReduceMean@18(%0, @one) {keepdims = 1} : f32[4,1]", 2},
      {"f32[4,8]", "f32[4,4]",
       "%a, %b = Split@13(%0) {axis = 1} : f32[4,4], f32[4,4]\n    %y = Sub@14(%a, %b) : f32[4,4]", 2},
      {"f32[4,8]", "f32[4,16]", "%y = Concat@13(%0, %0) {axis = 1} : f32[4,16]", 2},
      {"f32[4,8]", "f32[2,3,8]", "%y = Gather@13(%0, @rows) {axis = 0} : f32[2,3,8]", 2},
      {"f32[4,8]", "f32[4,3]", "%y = Slice@13(%0, @one, @four, @one) : f32[4,3]", 2},
      {"f32[4,8]", "f32[4,4]", "%y = MatMul@13(%0, @square) : f32[4,4]", 2},
      {"f32[4,8]", "f32[4,4]", "%y = Gemm@13(%0, @square, @bias) : f32[4,4]", 2},
      {"f32[4,8]", "f32[4,4]", "%y = Gemm@9(%0, @square, @bias) : f32[4,4]", 2},
      {"f32[4,8]", "f32[4,4]", "%y = Gemm@13(%0, @square, @bias) {beta = 2.0} : f32[4,4]", 2},
      {"f32[4,8]", "f32[4,4]", "%t = Transpose@13(%0) : f32[8,4]\n    %y = MatMul@13(%0, %t) : f32[4,4]", 2},
      {"f32[4,2,8]", "f32[4,2,4]", "%y = MatMul@13(%0, @square) : f32[4,2,4]", 3},
      {"f32[4,2,8]", "f32[2,2,2]",
       "%t = Transpose@13(%0) {perm = [0, 2, 1]} : f32[4,8,2]\n    %p = MatMul@13(%0, %t) : f32[4,2,2]\n"
       "    %y = Slice@13(%p, @zero, @two, @zero) : f32[2,2,2]",
       3},
      {"f32[4,2,4,4]", "f32[4,2,4,4]", "%y = MaxPool@12(%0) {kernel_shape = [1, 1]} : f32[4,2,4,4]", 4},
  };
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    for (int dim = 0; dim < cases[k].dims; ++dim) {
      char text[4096];
      (void)snprintf(
          text, sizeof(text),
          TP "  constant @row : f32[8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]\n"
             "  constant @bias : f32[4] = [1.0, 2.0, 3.0, 4.0]\n"
             "  constant @square : f32[8,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, "
             "5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n"
             "  constant @heads : i64[3] = [0, 2, 4]\n"
             "  constant @merged : i64[2] = [0, -1]\n"
             "  constant @flat : i64[1] = [-1]\n"
             "  constant @kept : i64[3] = [4, 0, -1]\n"
             "  constant @zero : i64[1] = [0]\n"
             "  constant @one : i64[1] = [1]\n"
             "  constant @two : i64[1] = [2]\n"
             "  constant @four : i64[1] = [4]\n"
             "  constant @rows : i64[2,3] = [3, 0, 1, 2, 2, 1]\n"
             "  func @main(%%x : %s) -> (%%y : %s) {\n"
             "    %%0 = Neg@13(%%x) : %s on {ranks = \"tp: %d\"}\n    %s\n    return %%y\n  }\n}\n",
          cases[k].input, cases[k].output, cases[k].input, dim, cases[k].nodes);
      check(text, 2);
    }
  }
}

// Inputs and outputs that stay as they are spread; a nested block, which takes whole values.
static void test_h15_inputs_and_outputs_stay_spread(void **state) {
  (void)state;
  check(TP "  func @main(%x : f32[4,8]) -> (%y : f32[4,8]) {\n"
           "    %y = Exp@13(%x) : f32[4,8] on {ranks = \"tp: 0\"}\n"
           "    return %y\n  }\n}\n",
        2);
  check(TP "  constant @yes : bool[] = [true]\n"
           "  func @main(%x : f32[4,8]) -> (%y : f32[4,8]) {\n"
           "    %0 = Neg@13(%x) : f32[4,8] on {ranks = \"tp: 0\"}\n"
           "    %y = If@13(@yes) [then_branch () -> (f32[4,8]) {\n"
           "      %a = Exp@13(%0) : f32[4,8]\n      return %a\n    }, else_branch () -> (f32[4,8]) {\n"
           "      return %0\n    }] : f32[4,8]\n"
           "    return %y\n  }\n}\n",
        2);
  // What the branch takes is computed in parts, whose softmax is not a part of the whole one.
  check(TP "  constant @yes : bool[] = [true]\n"
           "  func @main(%x : f32[4,8]) -> (%y : f32[4,8]) {\n"
           "    %0 = Neg@13(%x) : f32[4,8] on {ranks = \"tp: 0\"}\n"
           "    %1 = Exp@13(%0) : f32[4,8]\n"
           "    %y = If@13(@yes) [then_branch () -> (f32[4,8]) {\n"
           "      %a = Softmax@13(%1) {axis = 0} : f32[4,8]\n      return %a\n    }, else_branch () -> (f32[4,8]) {\n"
           "      return %1\n    }] : f32[4,8]\n"
           "    return %y\n  }\n}\n",
        2);
}

// Weights are found: columns, rows, a look-up, three matrices in one; the batch is known only when it runs.
static void test_h15_weights_to_cut_are_found(void **state) {
  (void)state;
  check(
      "module {mesh = \"tp=2\", cut_weights = \"tp\"} {\n"
      "  constant @table : f32[8,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, "
      "8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n"
      "  constant @qkv : f32[4,12] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, "
      "8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 4.0, 5.0, "
      "6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]\n"
      "  constant @bias : f32[12] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0]\n"
      "  constant @out : f32[4,5] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, "
      "8.0, 9.0, 1.0, 2.0]\n"
      "  func @main(%x : i64[4]) -> (%y : f32[4,5]) {\n"
      "    %0 = Gather@13(@table, %x) : f32[4,4]\n"
      "    %1 = MatMul@13(%0, @qkv) : f32[4,12]\n"
      "    %2 = Add@14(%1, @bias) : f32[4,12]\n"
      "    %q, %k, %v = Split@18(%2) {axis = 1, num_outputs = 3} : f32[4,4], f32[4,4], f32[4,4]\n"
      "    %3 = Mul@14(%q, %k) : f32[4,4]\n"
      "    %4 = Sub@14(%3, %v) : f32[4,4]\n"
      "    %y = MatMul@13(%4, @out) : f32[4,5]\n"
      "    return %y\n  }\n}\n",
      2);
}

// A Gemm whose sum is over the ranks, which says how it is spread: readers that take it whole see its bias, too.
static void test_h15_a_cut_gemm_adds_its_bias_once(void **state) {
  (void)state;
  check(TP
        "  constant @w : f32[4,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]\n"
        "  constant @bias : f32[4] = [1.0, 2.0, 3.0, 4.0]\n"
        "  constant @first : i64[] = [0]\n"
        "  func @main(%x : f32[4,4]) -> (%y : f32[4,4], %z : f32[4,4]) {\n"
        "    %0 = Neg@13(%x) : f32[4,4] on {ranks = \"tp: 1\"}\n"
        "    %1 = Gemm@13(%0, @w, @bias) : f32[4,4] on {ranks = \"tp: 0\"}\n"
        "    %y = CumSum@14(%1, @first) : f32[4,4]\n"
        "    %z = Abs@13(%1) : f32[4,4]\n"
        "    return %y, %z\n  }\n}\n",
        2);
}

// ---- quantised ----

// "  constant @name : type = [...]" with `count` numbers of `least` to `most` times `unit`.
static void add_numbers(byoc_string_t *text, const char *name, const char *type, int count, int least, int most,
                        double unit) {
  byoc_string_appendf(text, "  constant @%s : %s = [", name, type);
  for (int i = 0; i < count; ++i) {
    const int value = least + (i * 13 + i / 7) % (most - least + 1);
    if (unit == 1) byoc_string_appendf(text, "%s%d", i > 0 ? ", " : "", value);
    if (unit != 1) byoc_string_appendf(text, "%s%.6f", i > 0 ? ", " : "", value * unit);
  }
  byoc_string_appendf(text, "]\n");
}

static void add_quantised_weights(byoc_string_t *text) {
  static const struct {
    const char *name, *type;
    int count, least, most;
    double unit;
  } weights[] = {
      {"n", "u8[4,4,8]", 128, 0, 255, 1},     {"ns", "f32[4,4]", 16, 1, 9, 0.0125}, // lines of 4 blocks of 16
      {"nf", "f32[16]", 16, 1, 9, 0.0125},    {"nz", "u8[4,2]", 8, 0, 255, 1},
      {"o", "u8[3,4,8]", 96, 0, 255, 1},      {"os", "f32[3,4]", 12, 1, 9, 0.0125},
      {"oz", "u8[3,2]", 6, 0, 255, 1},        {"one", "u8[3,1,32]", 96, 0, 255, 1},
      {"ones", "f32[3,1]", 3, 1, 9, 0.0125},  {"w8", "i8[64,4]", 256, -128, 127, 1},
      {"w8t", "i8[4,64]", 256, -128, 127, 1}, {"o8", "i8[64,3]", 192, -128, 127, 1},
      {"w4", "i4[64,4]", 256, -8, 7, 1},      {"b4", "f32[4,4]", 16, 1, 9, 0.0125},
      {"e4", "i4[8,64]", 512, -8, 7, 1},      {"es", "f32[8,4]", 32, 1, 9, 0.0125},
      {"e8", "i8[8,64]", 512, -128, 127, 1},  {"g4", "u8[8,32]", 256, 0, 255, 1},
      {"s4", "f32[4]", 4, 1, 4, 0.0125},      {"z4", "i8[4]", 4, -2, 2, 1},
      {"s64", "f32[64]", 64, 1, 9, 0.0125},   {"c4", "f32[4]", 4, 1, 4, 0.5},
      {"c3", "f32[3]", 3, 1, 4, 0.5},         {"i4", "i32[4]", 4, -99, 99, 1},
      {"f8", "i8[4,1,3]", 12, -128, 127, 1},  {"eight", "i64[1]", 1, 8, 8, 1},
  };
  for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); ++i) {
    add_numbers(text, weights[i].name, weights[i].type, weights[i].count, weights[i].least, weights[i].most,
                weights[i].unit);
  }
  byoc_string_appendf(text, "  constant @s : f32[] = [0.0125]\n  constant @t : f32[] = [0.25]\n"
                            "  constant @zu : u8[] = [120]\n  constant @zi : i8[] = [3]\n");
}

// The bytes of the weights that a rank reads, before products lay them out in panels; -1: of the whole model.
static uint64_t constant_bytes(const char *text, int32_t rank) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  uint64_t bytes = 0;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  if (rank < 0) byoc_attributes_remove(&module->attributes, BYOC_ATTRIBUTE_MESH);
  const byoc_pass_options_t none = {0};
  byoc_test_ok(byoc_pass_run_list("settle-constants,shard,remove-dead-code", module, &none, &diag), &diag);
  const byoc_function_t *main_function = byoc_graph_module_main(module);
  for (size_t i = 0; i < main_function->constants.count; ++i) {
    const byoc_value_t *value = main_function->constants.entries[i].value;
    if (value->uses.count > 0 && value->type->dtype != BYOC_DTYPE_I64) bytes += value->constant->size_bytes;
  }
  byoc_graph_module_destroy(module);
  return bytes;
}

// Quantised and packed operators on whole operands and on operands that are cut along each dimension. %q is %0 in
// bytes.
static void test_b34_quantised_operators_take_cut_operands(void **state) {
  (void)state;
  static const char quantised[] = "%q = QuantizeLinear@19(%0, @s, @zu) : u8[4,64]\n    ";
  static const struct {
    const char *columns, *nodes;
    bool is_whole; // each rank has all of the weights
  } cases[] = {
#define NBITS(N, block) "{K = 64, N = " N ", bits = 4, block_size = " block "}"
      {"4", "%y = com.microsoft::MatMulNBits@1(%0, @n, @ns, @nz) " NBITS("4", "16") " : f32[4,4]", false},
      {"4", "%y = com.microsoft::MatMulNBits@1(%0, @n, @nf, _, _, @c4) " NBITS("4", "16") " : f32[4,4]", false},
      {"3", "%y = com.microsoft::MatMulNBits@1(%0, @o, @os, @oz, _, @c3) " NBITS("3", "16") " : f32[4,3]", false},
      {"3", "%y = com.microsoft::MatMulNBits@1(%0, @one, @ones) " NBITS("3", "64") " : f32[4,3]", true},
      {"4",
       "%w = DequantizeLinear@21(@w4, @b4) {axis = 0, block_size = 16} : f32[64,4]\n"
       "    %y = MatMul@13(%0, %w) : f32[4,4]",
       false},
      {"4", "%w = DequantizeLinear@21(@w8, @s, @zi) : f32[64,4]\n    %y = MatMul@13(%0, %w) : f32[4,4]", false},
      {"4",
       "%w = DequantizeLinear@21(@w8, @s4, @z4) {axis = 1} : f32[64,4]\n"
       "    %y = MatMul@13(%0, %w) : f32[4,4]",
       false},
      {"4", "%w = DequantizeLinear@21(@w8, @s64) {axis = 0} : f32[64,4]\n    %y = MatMul@13(%0, %w) : f32[4,4]", false},
      {"4",
       "%w = DequantizeLinear@21(@w8t, @s4) {axis = 0} : f32[4,64]\n"
       "    %y = Gemm@13(%0, %w, @c4) {transB = 1} : f32[4,4]",
       false},
      {"3", "%w = DequantizeLinear@21(@o8, @s) : f32[64,3]\n    %y = Gemm@13(%0, %w, @c3) : f32[4,3]", false},
      {"4",
       "%p = QLinearMatMul@21(%q, @s, @zu, @w8, @s4, @z4, @t, @zu) : u8[4,4]\n"
       "    %y = DequantizeLinear@21(%p, @t, @zu) : f32[4,4]",
       false},
      {"3",
       "%p = QLinearMatMul@21(%q, @s, @zu, @o8, @s, @zi, @t, @zu) : u8[4,3]\n"
       "    %y = DequantizeLinear@21(%p, @t, @zu) : f32[4,3]",
       true},
      {"4",
       "%w = DequantizeLinear@21(@w8, @s4, @z4) {axis = 1} : f32[64,4]\n"
       "    %x1 = DequantizeLinear@21(%q, @s, @zu) : f32[4,64]\n    %p = MatMul@13(%x1, %w) : f32[4,4]\n"
       "    %r = QuantizeLinear@21(%p, @t, @zu) : u8[4,4]\n"
       "    %y = DequantizeLinear@21(%r, @t, @zu) : f32[4,4]",
       false},
      {"3", "%p = MatMulInteger@10(%q, @o8, @zu, @zi) : i32[4,3]\n    %y = Cast@13(%p) {to = 1} : f32[4,3]", false},
      {"4",
       "%a, %as, %az = DynamicQuantizeLinear@11(%0) : u8[4,64], f32[], u8[]\n"
       "    %p = MatMulInteger@10(%a, @w8, %az) : i32[4,4]\n    %c = Cast@13(%p) {to = 1} : f32[4,4]\n"
       "    %y = Mul@14(%c, %as) : f32[4,4]",
       false},
      {"4", "%y = com.microsoft::DynamicQuantizeMatMul@1(%0, @w8, @s4, @z4, @c4) : f32[4,4]", false},
      {"4", "%y = com.microsoft::MatMulIntegerToFloat@1(%q, @w8, @s, @s4, @zu, @z4, @c4) : f32[4,4]", false},
      {"4",
       "%p = com.microsoft::QGemm@1(%q, @s, @zu, @w8t, @s4, @z4, @i4, @t, @zu) {transB = 1} : u8[4,4]\n"
       "    %y = DequantizeLinear@21(%p, @t, @zu) : f32[4,4]",
       false},
      {"64",
       "%e = DequantizeLinear@21(@e4, @es) {axis = 1, block_size = 16} : f32[8,64]\n"
       "    %g = Gather@13(%e, %i) : f32[4,64]\n    %y = Add@14(%g, %0) : f32[4,64]",
       false},
      {"64",
       "%e = DequantizeLinear@21(@e8, @s, @zi) : f32[8,64]\n"
       "    %g = Gather@13(%e, %i) : f32[4,64]\n    %y = Add@14(%g, %0) : f32[4,64]",
       false},
      {"64",
       "%g = com.microsoft::GatherBlockQuantized@1(@g4, %i, @es) {bits = 4, block_size = 16, gather_axis = 0, "
       "quantize_axis = 1} : f32[4,64]\n    %y = Add@14(%g, %0) : f32[4,64]",
       false},
      {"64",
       "%p = com.microsoft::QLinearAdd@1(%q, @s, @zu, %q, @s, @zu, @t, @zu) : u8[4,64]\n"
       "    %y = DequantizeLinear@21(%p, @t, @zu) : f32[4,64]",
       true},
      {"64", "%r = DequantizeLinear@21(%q, @s64) {axis = 1} : f32[4,64]\n    %y = Neg@13(%r) : f32[4,64]", true},
#undef NBITS
  };
  static const char indices[] = "%a = ArgMax@13(%0) {axis = 1, keepdims = 0} : i64[4]\n"
                                "    %i = Mod@13(%a, @eight) : i64[4]\n    ";
  static const char *const spreads[] = {"whole", "tp: 0", "tp: 1", "tp: 1 * 2"};
  passes = "settle-constants,shard,simplify,name-unknown-dimensions";
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    for (size_t d = 0; d < sizeof(spreads) / sizeof(spreads[0]); ++d) {
      byoc_string_t text;
      byoc_string_init(&text, byoc_allocator_system());
      byoc_string_appendf(&text, "module {mesh = \"tp=2\", cut_weights = \"tp\"} {\n");
      add_quantised_weights(&text);
      const bool reads_bytes = strstr(cases[k].nodes, "%q") != NULL;
      const bool looks_up = strstr(cases[k].nodes, "%i)") != NULL || strstr(cases[k].nodes, "%i,") != NULL;
      const char *head = reads_bytes ? quantised : looks_up ? indices : "";
      byoc_string_appendf(&text,
                          "  func @main(%%x : f32[4,64]) -> (%%y : f32[4,%s]) {\n"
                          "    %%0 = Neg@13(%%x) : f32[4,64] on {ranks = \"%s\"}\n    %s%s\n    return %%y\n  }\n}\n",
                          cases[k].columns, spreads[d], head, cases[k].nodes);
      check(text.data, 2);
      if (d == 0 && constant_bytes(text.data, 0) * 4 > constant_bytes(text.data, -1) * 3 && !cases[k].is_whole) {
        fail_msg("case %zu: %llu of %llu bytes", k, (unsigned long long)constant_bytes(text.data, 0),
                 (unsigned long long)constant_bytes(text.data, -1));
      }
      byoc_string_deinit(&text);
    }
  }
  passes = "shard,simplify,name-unknown-dimensions";
}

// ---- pipelines ----

static char events[64]; // b: a collective begins, e: it ends, r: it runs as a whole, k: a kernel
static const byoc_communicator_t *under;

static void note(char event) {
  const size_t size = strlen(events);
  if (size + 1 < sizeof(events)) events[size] = event;
}

static int32_t noted_run(void *self, const byoc_collective_t *collective) {
  note('r');
  return under->run(self, collective);
}

static int32_t noted_begin(void *self, const byoc_collective_t *collective) {
  note('b');
  return under->begin(self, collective);
}

static int32_t noted_end(void *self, const byoc_collective_t *collective) {
  note('e');
  return under->end(self, collective);
}

static void note_kernel(void *self, const byoc_trace_event_t *event) {
  (void)self;
  if (strcmp(event->op, "kernel") == 0) note('k');
}

typedef struct pipeline_t {
  case_t test;
  const char *events; // of each rank, in order
} pipeline_t;

static int run_pipeline(void *self, const byoc_communicator_t *c) {
  pipeline_t *pipeline = self;
  byoc_diag_t diag = {0};
  program_t p;
  byoc_argument_t results[MOST_PORTS];
  byoc_communicator_t noted = *c;
  noted.run = noted_run;
  noted.begin = noted_begin;
  noted.end = noted_end;
  under = c;
  byoc_status_t status = open_program(pipeline->test.text, c->rank, &diag, &p);
  if (status == BYOC_OK) status = byoc_evaluator_set_communicator(p.evaluator, &noted, &diag);
  events[0] = '\0'; // that compared the builds
  if (status == BYOC_OK) status = byoc_evaluator_trace(p.evaluator, note_kernel, NULL, &diag);
  if (status == BYOC_OK) status = run_program(&p, &diag, results);
  if (status != BYOC_OK) (void)fprintf(stderr, "rank %d: %s\n", c->rank, diag.message);
  int code = status != BYOC_OK || compare(c, &results[0], &pipeline->test.whole[0]) != 0;
  if (code == 0 && strcmp(events, pipeline->events) != 0) {
    (void)fprintf(stderr, "rank %d: the events are %s, not %s\n", c->rank, events, pipeline->events);
    code = 1;
  }
  close_program(&p);
  return code;
}

static void check_pipeline(const char *text, int32_t ranks, const char *order) {
  byoc_diag_t diag = {0};
  program_t p;
  pipeline_t pipeline = {.test = {.text = text}, .events = order};
  byoc_test_ok(open_program(text, -1, &diag, &p), &diag);
  byoc_test_ok(run_program(&p, &diag, pipeline.test.whole), &diag);
  passes = "shard,pipeline-collectives,simplify,name-unknown-dimensions";
  byoc_test_run_ranks(ranks, run_pipeline, &pipeline, NULL);
  passes = "shard,simplify,name-unknown-dimensions";
  close_program(&p);
}

#define PIPELINE_WEIGHTS                                                                                               \
  "  constant @w : f32[6,8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, "  \
  "9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, "     \
  "8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]\n"

static void test_h15_products_run_while_parts_move(void **state) {
  (void)state;
  // Of two ranks: a permutation begins, a product runs, the permutation ends, the other product runs.
  check_pipeline("module {mesh = \"tp=2\"} {\n" PIPELINE_WEIGHTS
                 "  func @main(%x : f32[8,6]) -> (%y : f32[8,8]) constants {@w on {ranks = \"tp: 1\"}} {\n"
                 "    %0 = Neg@13(%x) : f32[8,6] on {ranks = \"tp: 0\"}\n"
                 "    %y = MatMul@13(%0, @w) : f32[8,8]\n"
                 "    return %y\n  }\n}\n",
                 2, "kbkekkrk");
  check_pipeline("module {mesh = \"tp=4\"} {\n" PIPELINE_WEIGHTS
                 "  func @main(%x : f32[8,6]) -> (%y : f32[8,8]) constants {@w on {ranks = \"tp: 1\"}} {\n"
                 "    %0 = Neg@13(%x) : f32[8,6] on {ranks = \"tp: 0\"}\n"
                 "    %y = MatMul@13(%0, @w) : f32[8,8]\n"
                 "    return %y\n  }\n}\n",
                 4, "kbkebkebkekkrk");
  // A product and reduce_scatter: the other rank's rows come first, and travel while the own ones are computed.
  check_pipeline("module {mesh = \"tp=2\"} {\n" PIPELINE_WEIGHTS
                 "  func @main(%x : f32[8,6]) -> (%y : f32[8,8]) constants {@w on {ranks = \"tp: 0\"}} {\n"
                 "    %y = MatMul@13(%x, @w) : f32[8,8] on {ranks = \"tp: 0\"}\n"
                 "    return %y\n  }\n}\n",
                 2, "kkkbkek");
}

static void test_h15_wrong_meshes_and_spreads_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *mesh, *ranks, *message;
    int64_t rank;
  } cases[] = {
      {"tp=2, tp=2", "whole", "the mesh is 'tp=2, tp=2'", 0},
      {"tp=0", "whole", "the mesh is 'tp=0'", 0},
      {"tp=2", "whole", "there is no rank 2", 2},
      {"tp=2", "dp: 1", "'dp: 1' is no sharding of a value over the mesh", 0},
      {"tp=2", "tp: at 2", "'tp: at 2' is no sharding of a value over the mesh", 0},
      {"tp=3", "tp: 0", "value 'z' cannot be cut along its dimension 0: it must be known, and hold 3 equal blocks", 0},
      {"tp=2", "tp: 1 * 3", "cannot be cut along its dimension 1: it must be known, and hold 6 equal blocks", 0},
      {"tp=2", "tp: partial", "'z' cannot be made a sum over the ranks of 'tp'", 0},
  };
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    char text[1024];
    byoc_diag_t diag = {0};
    program_t p;
    (void)snprintf(text, sizeof(text),
                   "module {mesh = \"%s\"} {\n  func @main(%%x : f32[4,8]) -> (%%y : f32[4,8]) {\n"
                   "    %%z = Neg@13(%%x) : f32[4,8] on {ranks = \"%s\"}\n    %%y = Exp@13(%%z) : f32[4,8]\n"
                   "    return %%y\n  }\n}\n",
                   cases[k].mesh, cases[k].ranks);
    const byoc_status_t status = open_program(text, (int32_t)cases[k].rank, &diag, &p);
    if (status == BYOC_OK || strstr(diag.message, cases[k].message) == NULL) fail_msg("%zu: %s", k, diag.message);
    close_program(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h15_every_resharding),
      cmocka_unit_test(test_h15_partial_sums_become_every_spread),
      cmocka_unit_test(test_h15_meshes_of_two_axes_reshard),
      cmocka_unit_test(test_h15_operators_take_cut_operands),
      cmocka_unit_test(test_h15_inputs_and_outputs_stay_spread),
      cmocka_unit_test(test_h15_weights_to_cut_are_found),
      cmocka_unit_test(test_h15_a_cut_gemm_adds_its_bias_once),
      cmocka_unit_test(test_b34_quantised_operators_take_cut_operands),
      cmocka_unit_test(test_h15_wrong_meshes_and_spreads_are_refused),
      cmocka_unit_test(test_h15_products_run_while_parts_move),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
