// SPDX-License-Identifier: Apache-2.0
// Every operator with dimensions that only the run tells: what inference refuses for a size that it knows is refused
// by the run, and what it accepts gives what the operator gives where all sizes are known. plausible.def has operands
// that fit; one size is changed at a time.
//
//   BYOC_TEST_OPERATOR=NAME   this operator alone, and what each size came to
#include <math.h>
#include <stdlib.h>

#include "core/compose/artifact/resolve.h"
#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/element.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "plausible.h"
#include "tests/support/support.h"

enum { MOST_RESULTS = 16, MOST_ELEMENTS = 1 << 16 };

// ---- one program ----

typedef struct {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_resolver_t *resolver;
  byoc_evaluator_t *evaluator;
} program_t;

static void program_close(program_t *p) {
  byoc_evaluator_destroy(p->evaluator);
  byoc_resolver_destroy(p->resolver);
  byoc_host_program_destroy(p->program);
  byoc_graph_module_destroy(p->module);
  *p = (program_t){0};
}

// `passes`: what a build runs in front of lowering; "" leaves the operator as it is.
static byoc_status_t program_open(const char *text, const char *passes, program_t *p, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  *p = (program_t){0};
  BYOC_RETURN_IF_ERROR(byoc_graph_parse(text, "test", allocator, diag, &p->module));
  BYOC_RETURN_IF_ERROR(byoc_infer_module(p->module, diag));
  BYOC_RETURN_IF_ERROR(byoc_pass_run_list(passes, p->module, NULL, diag));
  BYOC_RETURN_IF_ERROR(byoc_kernel_lower_module(p->module, NULL, diag));
  BYOC_RETURN_IF_ERROR(byoc_host_lower(p->module, allocator, diag, &p->program));
  BYOC_RETURN_IF_ERROR(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, p->program, NULL, diag));
  static byoc_runtime_t runtime;
  runtime = byoc_serial_runtime(1);
  BYOC_RETURN_IF_ERROR(byoc_resolver_create(p->program, NULL, &runtime, allocator, diag, &p->resolver));
  const byoc_symbol_resolver_t resolver = byoc_resolver_interface(p->resolver);
  return byoc_evaluator_create(p->program, &resolver, 1, allocator, diag, &p->evaluator);
}

// ---- values ----

typedef struct {
  byoc_argument_t arguments[MOST_OPERANDS];
  int64_t dims[MOST_OPERANDS][BYOC_MAX_RANK];
  size_t count;
} inputs_t;

static void inputs_free(inputs_t *inputs) {
  for (size_t i = 0; i < inputs->count; ++i) free(inputs->arguments[i].data);
}

// Small numbers of either sign.
static void fill(byoc_dtype_t dtype, int64_t count, uint64_t seed, char *out) {
  byoc_test_random_t random = {.state = seed};
  for (int64_t i = 0; i < count; ++i) {
    const double small = (double)byoc_test_below(&random, 12) - 4;
    byoc_element_set_f64(dtype, out, (size_t)i, byoc_dtype_is_any_float(dtype) ? small / 2 : small);
  }
}

// Values for the parameters of `main`, under the sizes that `operands` have. False: it has others than tensors of
// numbers.
static bool inputs_make(const operand_t *operands, int count, inputs_t *inputs) {
  *inputs = (inputs_t){0};
  for (int i = 0; i < count; ++i) {
    const operand_t *o = &operands[i];
    if (o->is_constant || strcmp(o->text, "_") == 0) continue;
    const byoc_dtype_t dtype = o->is_tensor ? byoc_dtype_parse(o->dtype) : BYOC_DTYPE_STRING;
    if (dtype == BYOC_DTYPE_STRING) return false;
    int64_t *dims = inputs->dims[inputs->count], elements = 1;
    for (int d = 0; d < o->rank; ++d) elements *= dims[d] = o->dims[d];
    if (elements > MOST_ELEMENTS) return false;
    char *data = calloc(1, (size_t)elements * 16 + 1);
    assert_non_null(data);
    fill(dtype, elements, (uint64_t)i + 1, data);
    inputs->arguments[inputs->count++] =
        (byoc_argument_t){.dtype = dtype, .rank = (uint32_t)o->rank, .dims = dims, .data = data};
  }
  return true;
}

static bool near(double a, double b) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-5 + 1e-4 * fabs(b);
}

// Why a result is not what it should be; NULL if it is.
static const char *difference(const byoc_argument_t *is, const byoc_argument_t *wanted) {
  static char text[160];
  int64_t count = 1;
  if (is->kind != wanted->kind || is->dtype != wanted->dtype || is->rank != wanted->rank) return "another type";
  if (is->kind != BYOC_ARGUMENT_TENSOR) return NULL;
  for (uint32_t d = 0; d < is->rank; ++d) {
    snprintf(text, sizeof text, "dimension %u is %lld instead of %lld", d, (long long)is->dims[d],
             (long long)wanted->dims[d]);
    if (is->dims[d] != wanted->dims[d]) return text;
    count *= is->dims[d];
  }
  for (int64_t i = 0; i < count && is->dtype != BYOC_DTYPE_STRING; ++i) {
    const double a = byoc_element_f64(is->dtype, is->data, (size_t)i);
    const double b = byoc_element_f64(is->dtype, wanted->data, (size_t)i);
    snprintf(text, sizeof text, "element %lld is %g instead of %g", (long long)i, a, b);
    if (!near(a, b)) return text;
  }
  return NULL;
}

// ---- one operator ----

typedef struct {
  unsigned built, not_built, right, refused, wrong;
} tally_t;

typedef struct {
  const byoc_op_t *op;
  const plausible_t *row;
  operand_t operands[MOST_OPERANDS];
  int count;
  tally_t *tally;
} case_t;

static void tell(const char *what, const char *module, const char *why) {
  if (what[0] != 'w' && !getenv("BYOC_TEST_OPERATOR")) return;
  printf("%s: %s\n%s", what, why, module);
}

// Compares the run of the open program with what the operator of known sizes makes of the same inputs. `is_one`: the
// size at hand is 1. Known to be 1 it may stand for all; an open one is one for each, and may be refused.
static void judge(const case_t *c, const char *text, const program_t *open, const inputs_t *inputs, bool is_one) {
  program_t known;
  byoc_diag_t reason = {0}, diag = {0};
  byoc_argument_t wanted[MOST_RESULTS], got[MOST_RESULTS];
  byoc_status_t status = program_open(text, "", &known, &reason);
  const bool is_reported = status == BYOC_INVALID_DATA || status == BYOC_OK; // others say nothing about the sizes
  if (status == BYOC_OK) status = byoc_evaluator_run_arguments(known.evaluator, inputs->arguments, wanted, &reason);
  if (is_reported) {
    const bool runs = byoc_evaluator_run_arguments(open->evaluator, inputs->arguments, got, &diag) == BYOC_OK;
    const char *fault = runs ? NULL : diag.message;
    if (runs && status != BYOC_OK) fault = reason.message;
    for (int r = 0; r < c->row->results && runs && !fault; ++r) {
      const bool is_room = (c->op->scratch_results >> r & 1) != 0; // whatever stands there means nothing
      fault = is_room ? NULL : difference(&got[r], &wanted[r]);
    }
    if (!runs && (status != BYOC_OK || is_one)) {
      c->tally->refused += 1;
      tell("refused", text, fault);
    } else {
      *(fault ? &c->tally->wrong : &c->tally->right) += 1;
      tell(!fault ? "fine" : runs ? "wrong: it ran" : "wrong: it did not run", text, fault ? fault : "");
    }
  }
  program_close(&known);
}

// Runs the open program on these sizes.
static void try_sizes(const case_t *c, const program_t *open, const operand_t *operands, bool is_one) {
  static char text[TEXT_SIZE];
  inputs_t inputs;
  write_module(c->op, c->row, operands, c->count, text);
  if (inputs_make(operands, c->count, &inputs)) judge(c, text, open, &inputs, is_one);
  inputs_free(&inputs);
}

// Where it is known to be empty, Resize's list of corners counts as left out, and a Scan cannot be built.
static bool differs_empty(const case_t *c, int i) {
  return i == 1 && (strcmp(c->op->name, "Resize") == 0 || strcmp(c->op->name, "Scan") == 0);
}

// All sizes of a dimension that differ from the row's, and the row's own.
static void try_dimension(case_t *c, const program_t *open, int i, int d) {
  const long own = c->operands[i].dims[d], sizes[] = {own, own + 1, own - 1, 1, 2 * own, 0};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    operand_t operands[MOST_OPERANDS];
    memcpy(operands, c->operands, sizeof operands);
    if (sizes[k] < 0 || (k > 0 && sizes[k] == own) || (k > 2 && sizes[k] == own - 1)) continue;
    if (sizes[k] == 0 && differs_empty(c, i)) continue;
    operands[i].dims[d] = sizes[k];
    write_operand(&operands[i]);
    try_sizes(c, open, operands, sizes[k] == 1);
  }
}

static bool is_open(const operand_t *o) {
  return o->is_tensor && !o->is_constant && o->rank > 0;
}

// "f32[a0,3]": the dimensions with a name are open; `only` < 0: all of them.
static void open_operand(operand_t *o, int i, int only) {
  char text[sizeof o->text];
  size_t used = (size_t)snprintf(text, sizeof text, "%s[", o->dtype);
  for (int d = 0; d < o->rank; ++d) {
    used += (size_t)snprintf(text + used, sizeof text - used, d ? "," : "");
    const bool is_named = only < 0 || only == d;
    used += is_named ? (size_t)snprintf(text + used, sizeof text - used, "%c%d", 'A' + i, d)
                     : (size_t)snprintf(text + used, sizeof text - used, "%ld", o->dims[d]);
  }
  snprintf(text + used, sizeof text - used, "]");
  memcpy(o->text, text, sizeof text);
}

// Builds the operator with the dimension open, or with all of them for `operand` < 0.
static bool open_dimensions(case_t *c, int operand, int d, program_t *out) {
  static char text[TEXT_SIZE];
  byoc_diag_t diag = {0};
  operand_t operands[MOST_OPERANDS];
  memcpy(operands, c->operands, sizeof operands);
  for (int i = 0; i < c->count; ++i) {
    if (is_open(&operands[i]) && (operand < 0 || operand == i)) open_operand(&operands[i], i, operand < 0 ? -1 : d);
  }
  write_module(c->op, c->row, operands, c->count, text);
  if (program_open(text, "simplify", out, &diag) == BYOC_OK) {
    c->tally->built += 1;
    return true;
  }
  tell("not built", text, diag.message);
  program_close(out);
  return false;
}

static void try_row(case_t *c) {
  program_t open;
  const bool all = open_dimensions(c, -1, 0, &open);
  for (int i = 0; i < c->count; ++i) {
    for (int d = 0; is_open(&c->operands[i]) && d < c->operands[i].rank; ++d) {
      if (all || open_dimensions(c, i, d, &open)) {
        try_dimension(c, &open, i, d);
      } else {
        c->tally->not_built += 1;
      }
      if (!all) program_close(&open);
    }
  }
  if (all) program_close(&open);
}

static void test_open_sizes_are_refused_as_known_ones(void **state) {
  (void)state;
  const char *only = getenv("BYOC_TEST_OPERATOR");
  tally_t tally = {0};
  for (size_t r = 0; r < sizeof plausible / sizeof *plausible; ++r) {
    for (size_t k = 0; k < byoc_op_count(); ++k) {
      case_t c = {.op = byoc_op_at(k), .row = &plausible[r], .tally = &tally};
      if (!is_of(c.row, c.op) || (only && strcmp(only, c.op->name) != 0) || (c.op->traits & BYOC_OP_RANDOM)) continue;
      const byoc_op_t *newest = byoc_op_find(c.op->domain, c.op->name, INT32_MAX);
      if (newest != c.op || c.row->results > MOST_RESULTS) continue;
      c.count = read_operands(c.row->operands, c.operands);
      try_row(&c);
    }
  }
  printf("%u programs, %u dimensions that must be known; %u runs right, %u refused, %u wrong\n", tally.built,
         tally.not_built, tally.right, tally.refused, tally.wrong);
  assert_true(only || (tally.right > 1000 && tally.refused > 1000));
  assert_int_equal(tally.wrong, 0);
}

// How many elements a TopK takes may be data: there must be so many.
static void test_k_is_compared_with_the_size_of_the_axis(void **state) {
  (void)state;
  static const char text[] = "module {\n  func @main(%x : f32[N], %k : i64[1]) -> (%v : ?) {\n"
                             "    %v, %i = TopK@11(%x, %k) : ?, ?\n    return %v\n  }\n}\n";
  const int64_t count = 4, one = 1;
  for (int64_t k = 3; k <= 5; ++k) {
    program_t p;
    byoc_diag_t diag = {0};
    float x[] = {1, 4, 2, 3};
    int64_t wanted = k;
    const byoc_argument_t inputs[] = {{.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = x},
                                      {.dtype = BYOC_DTYPE_I64, .rank = 1, .dims = &one, .data = &wanted}};
    byoc_argument_t out[1];
    byoc_test_ok(program_open(text, "simplify", &p, &diag), &diag);
    const byoc_status_t status = byoc_evaluator_run_arguments(p.evaluator, inputs, out, &diag);
    if (k <= count) {
      byoc_test_ok(status, &diag);
      assert_int_equal(out[0].dims[0], k);
      assert_true(((const float *)out[0].data)[0] == 4 && ((const float *)out[0].data)[2] == 2);
    } else {
      assert_non_null(strstr(diag.message, "k is 5 and dimension 0 of operand 0 'x' is 4, but the first must not be"));
    }
    program_close(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_sizes_are_refused_as_known_ones),
                                     cmocka_unit_test(test_k_is_compared_with_the_size_of_the_axis)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
