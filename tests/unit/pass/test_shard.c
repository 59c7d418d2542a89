// SPDX-License-Identifier: Apache-2.0
// Models spread over ranks compute what they compute on one: each rank runs its own program.
#include "tests/support/ranks.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>

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
      cmocka_unit_test(test_h15_wrong_meshes_and_spreads_are_refused),
      cmocka_unit_test(test_h15_products_run_while_parts_move),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
