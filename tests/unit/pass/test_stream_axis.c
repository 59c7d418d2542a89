// SPDX-License-Identifier: Apache-2.0
// The pass stream-axis (H13): the instructions that it leads to, what it refuses, and that computing in parts changes
// no bit. Each operator of the table is tried along each dimension of its operands.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/module_text.h"
#include "core/kernel/lower_module.h"
#include "core/op/limit.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "tests/support/support.h"

enum { MAX_VALUES = 16, TEXT_SIZE = 8192 };

typedef struct model_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_evaluator_t *evaluator;
} model_t;

static byoc_status_t resolve(void *self, const char *symbol, byoc_diag_t *diag, void **out_address) {
  (void)self;
  *out_address = NULL;
  return byoc_diag_error(diag, BYOC_NOT_FOUND, "'%s' is not known here", symbol);
}

static byoc_status_t open_model(const char *text, const char *axis, byoc_diag_t *diag, model_t *m) {
  static const char *const passes[] = {"stream-axis", "fold-constants", "remove-dead-code"};
  static const byoc_symbol_resolver_t resolver = {.resolve = resolve};
  const byoc_allocator_t allocator = byoc_allocator_system();
  const byoc_pass_options_t options = {.stream_axis = axis};
  *m = (model_t){0};
  BYOC_RETURN_IF_ERROR(byoc_graph_parse(text, "test", allocator, diag, &m->module));
  assert_true(byoc_indices_set_clamped(m->module)); // made-up data holds any indices
  BYOC_RETURN_IF_ERROR(byoc_infer_module(m->module, diag));
  for (size_t i = 0; i < sizeof passes / sizeof *passes && axis != NULL; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find(passes[i]), m->module, &options, diag, NULL));
  }
  BYOC_RETURN_IF_ERROR(byoc_kernel_lower_module(m->module, NULL, diag));
  BYOC_RETURN_IF_ERROR(byoc_host_lower(m->module, allocator, diag, &m->program));
  BYOC_RETURN_IF_ERROR(byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, m->program, NULL, diag));
  return byoc_evaluator_create(m->program, &resolver, 1, allocator, diag, &m->evaluator);
}

static void close_model(model_t *m) {
  byoc_evaluator_destroy(m->evaluator);
  byoc_host_program_destroy(m->program);
  byoc_graph_module_destroy(m->module);
}

// ---- data ----

static void *make_data(const byoc_type_t *type, byoc_test_random_t *random) {
  const int64_t count = byoc_type_element_count(type), size = byoc_type_size_bytes(type);
  assert_true(count >= 0 && size >= 0);
  char *data = calloc((size_t)size + 1, 1);
  const size_t bytes = count > 0 ? (size_t)(size / count) : 0;
  const bool is_number = bytes > 0 && bytes <= sizeof(double); // texts stay empty, pairs of f64 stay 0
  for (int64_t i = 0; i < count && is_number; ++i) {
    const float single = byoc_test_float(random);
    const double number = (double)single;
    const uint16_t half = (uint16_t)(0x3400 + byoc_test_below(random, 0x600)); // positive, as f16 and as bf16
    const int64_t small = (int64_t)byoc_test_below(random, type->dtype == BYOC_DTYPE_BOOL ? 2 : 3);
    const void *from = &small;
    if (type->dtype == BYOC_DTYPE_F32) from = &single;
    if (type->dtype == BYOC_DTYPE_F64) from = &number;
    if (type->dtype == BYOC_DTYPE_F16 || type->dtype == BYOC_DTYPE_BF16) from = &half;
    memcpy(data + (size_t)i * bytes, from, bytes);
  }
  return data;
}

// Runs the model on data drawn from a fixed seed. The outputs are the caller's to free.
static byoc_status_t run_model(const model_t *m, byoc_diag_t *diag, void **outputs) {
  byoc_test_random_t random = {7};
  void *inputs[MAX_VALUES] = {NULL};
  assert_true(m->program->inputs.count <= MAX_VALUES && m->program->outputs.count <= MAX_VALUES);
  for (size_t i = 0; i < m->program->inputs.count; ++i)
    inputs[i] = make_data(m->program->inputs.data[i]->type, &random);
  for (size_t i = 0; i < m->program->outputs.count; ++i) {
    const size_t size = (size_t)m->program->outputs.data[i]->size_bytes;
    outputs[i] = malloc(size + 1);
    memset(outputs[i], 0xA5, size + 1); // what is not written is noticed
  }
  const byoc_status_t status = byoc_evaluator_run(m->evaluator, (const void *const *)inputs, outputs, diag);
  for (size_t i = 0; i < MAX_VALUES; ++i) free(inputs[i]);
  return status;
}

// Do both give the same bytes? Frees them. With `nearly`, f32 may differ by rounding.
static bool same_results(const model_t *a, void **of_a, void **of_b, bool nearly) {
  bool same = true;
  for (size_t i = 0; i < a->program->outputs.count; ++i) {
    const size_t size = (size_t)a->program->outputs.data[i]->size_bytes;
    const float *x = of_a[i], *y = of_b[i];
    bool is_near = nearly && a->program->outputs.data[i]->type->dtype == BYOC_DTYPE_F32;
    for (size_t k = 0; is_near && k < size / sizeof *x; ++k) is_near = fabsf(x[k] - y[k]) <= 1e-5f;
    same &= is_near || memcmp(x, y, size) == 0;
    free(of_a[i]);
    free(of_b[i]);
  }
  return same;
}

// ---- exact sequences ----

static void print_sequence(const byoc_host_region_t *region, byoc_string_t *out) {
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    if (i != region->first) byoc_string_append(out, " ");
    byoc_string_append(out, byoc_host_op_name(i->op));
    if (i->op == BYOC_HOST_LOOP) byoc_string_appendf(out, "*%lld", (long long)i->count->stop.constant);
    if (i->op == BYOC_HOST_KERNEL) byoc_string_appendf(out, " %s", i->origin);
    for (uint32_t r = 0; r < i->region_count; ++r) {
      byoc_string_append(out, " {");
      print_sequence(&i->regions[r], out);
      byoc_string_append(out, "}");
    }
  }
}

#define MODULE(signature, body) "module {\n  func @main" signature " {\n" body "\n  }\n}\n"

typedef struct sequence_t {
  const char *text, *axis, *expected;
} sequence_t;

static void check_sequences(const sequence_t *cases, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    byoc_diag_t diag = {0};
    model_t whole, parts;
    void *of_whole[MAX_VALUES], *of_parts[MAX_VALUES];
    byoc_test_ok(open_model(cases[k].text, NULL, &diag, &whole), &diag);
    byoc_test_ok(open_model(cases[k].text, cases[k].axis, &diag, &parts), &diag);
    byoc_string_t sequence;
    byoc_string_init(&sequence, byoc_allocator_system());
    print_sequence(&parts.program->body, &sequence);
    assert_string_equal(sequence.data, cases[k].expected);
    byoc_string_deinit(&sequence);
    byoc_test_ok(run_model(&whole, &diag, of_whole), &diag);
    byoc_test_ok(run_model(&parts, &diag, of_parts), &diag);
    assert_true(same_results(&whole, of_whole, of_parts, false));
    close_model(&whole);
    close_model(&parts);
  }
}
#define CHECK_SEQUENCES(cases) check_sequences(cases, sizeof cases / sizeof *cases)

// Inputs and outputs are read and written in place: there is no copy and no allocation.
static void test_h13_one_operator_works_in_place(void **state) {
  (void)state;
  static const sequence_t cases[] = {
      {MODULE("(%x : f32[4,16]) -> (%y : f32[4,16])", "%y = Relu@14(%x) : f32[4,16]\nreturn %y"), "x.0",
       "loop*4 {kernel Relu}"},
      {MODULE("(%x : f32[4,16]) -> (%y : f32[4,16])", "%y = Relu@14(%x) : f32[4,16]\nreturn %y"), "x.0:2",
       "loop*2 {kernel Relu}"},
      // 20 bytes: no backend may rely on their alignment, but kernels do not.
      {MODULE("(%x : f32[4,5]) -> (%y : f32[4,5])", "%y = Relu@14(%x) : f32[4,5]\nreturn %y"), "x.0",
       "loop*4 {kernel Relu}"},
      // Broadcasting: the second operand has no such axis.
      {MODULE("(%x : f32[4,16], %b : f32[16]) -> (%y : f32[4,16])", "%y = Add@14(%x, %b) : f32[4,16]\nreturn %y"),
       "x.0", "loop*4 {kernel Add}"},
      // An axis that is not the outermost: parts are read in place, and put together behind the loop.
      {MODULE("(%x : f32[4,16]) -> (%y : f32[4,16])", "%y = Relu@14(%x) : f32[4,16]\nreturn %y"), "x.1:2",
       "allocate loop*2 {allocate store kernel Gather+Relu free} kernel Transpose free"},
  };
  CHECK_SEQUENCES(cases);
}

#define SOFTMAX(y, x, axis) "%" y " = Softmax@13(%" x ") {axis = " axis "} : f32[4,16]\n"
#define SQUARE              "(%x : f32[4,16]) -> (%y : f32[4,16])"

static void test_h13_two_operators_share_a_loop(void **state) {
  (void)state;
  static const sequence_t cases[] = {
      // Neighbours share a loop; what is between them has the size of a part.
      {MODULE(SQUARE, SOFTMAX("a", "x", "1") SOFTMAX("y", "a", "1") "return %y"), "x.0",
       "loop*4 {allocate kernel Softmax kernel Softmax free}"},
      // A node that needs the whole axis stands in front of the loop, or behind it.
      {MODULE(SQUARE, SOFTMAX("a", "x", "0") SOFTMAX("y", "a", "1") "return %y"), "x.0",
       "allocate kernel Softmax loop*4 {kernel Softmax} free"},
      {MODULE(SQUARE, SOFTMAX("a", "x", "1") SOFTMAX("y", "a", "0") "return %y"), "x.0",
       "allocate loop*4 {kernel Softmax} kernel Softmax free"},
      // Both results leave the loop, each in its own output.
      {MODULE("(%x : f32[4,16]) -> (%y : f32[4,16], %z : f32[4,16])",
              SOFTMAX("y", "x", "1") SOFTMAX("z", "y", "1") "return %y, %z"),
       "x.0", "loop*4 {kernel Softmax kernel Softmax}"},
      // Operators that do not read each other share a loop, too.
      {MODULE("(%x : f32[4,16]) -> (%y : f32[4,16], %w : f32[4])",
              SOFTMAX("y", "x", "1") "%z = ArgMax@13(%x) {axis = 1, keepdims = 0} : i64[4]\n"
                                     "%w = Cast@13(%z) {to = 1} : f32[4]\nreturn %y, %w"),
       "x.0", "loop*4 {kernel Softmax kernel ArgMax+Cast}"},
  };
  CHECK_SEQUENCES(cases);
}

static void test_h13_three_operators_share_what_they_can(void **state) {
  (void)state;
  static const sequence_t cases[] = {
      {MODULE(SQUARE, SOFTMAX("a", "x", "1") SOFTMAX("b", "a", "1") SOFTMAX("y", "b", "1") "return %y"), "x.0",
       "loop*4 {allocate kernel Softmax allocate kernel Softmax free kernel Softmax free}"},
      // The one in the middle separates two loops. What they hand on is allocated outside of them.
      {MODULE(SQUARE, SOFTMAX("a", "x", "1") SOFTMAX("b", "a", "0") SOFTMAX("y", "b", "1") "return %y"), "x.0",
       "allocate loop*4 {kernel Softmax} allocate kernel Softmax free loop*4 {kernel Softmax} free"},
  };
  CHECK_SEQUENCES(cases);
  // What needs the sum waits for it; what it is made of does not.
  static const sequence_t reading[] = {
      {"module {\n  constant @axes : i64[1] = [0]\n  func @main(%x : f32[4,16]) -> (%y : f32[4,16]) {\n" SOFTMAX(
           "a", "x", "1") "%s = ReduceSum@13(%a, @axes) {keepdims = 1} : f32[1,16]\n"
                          "%y = Mul@14(%a, %s) : f32[4,16]\nreturn %y\n}\n}\n",
       "x.0", "allocate loop*4 {kernel Softmax} allocate kernel ReduceSum loop*4 {kernel Mul} free free"},
  };
  CHECK_SEQUENCES(reading);
}

static void test_h13_reductions_keep_the_axis(void **state) {
  (void)state;
#define REDUCE(signature, axis)                                                                                        \
  "module {\n  constant @axes : i64[1] = [" axis "]\n  func @main" signature                                           \
  " {\n%y = ReduceSum@13(%x, @axes) {keepdims = 0} : "
  static const sequence_t cases[] = {
      // Over the other dimensions; the axis becomes dimension 0 of the result whatever it was.
      {REDUCE("(%x : f32[4,16,3]) -> (%y : f32[4,3])", "1") "f32[4,3]\nreturn %y\n}\n}\n", "x.0",
       "loop*4 {kernel ReduceSum}"},
      {REDUCE("(%x : f32[4,16,3]) -> (%y : f32[16,3])", "0") "f32[16,3]\nreturn %y\n}\n}\n", "x.1:2",
       "loop*2 {allocate store kernel Gather+ReduceSum free}"},
      {MODULE("(%x : f32[4,16]) -> (%y : i64[4])", "%y = ArgMax@13(%x) {axis = 1, keepdims = 0} : i64[4]\nreturn %y"),
       "x.0:2", "loop*2 {kernel ArgMax}"},
      // Over the axis: behind the loop.
      {"module {\n  constant @axes : i64[1] = [0]\n  func @main(%x : f32[4,16]) -> (%y : f32[16]) {\n" SOFTMAX(
           "a", "x", "1") "%y = ReduceSum@13(%a, @axes) {keepdims = 0} : f32[16]\nreturn %y\n}\n}\n",
       "x.0", "allocate loop*4 {kernel Softmax} kernel ReduceSum free"},
  };
  CHECK_SEQUENCES(cases);
}

static void test_h13_products_are_cut_by_rows_and_columns(void **state) {
  (void)state;
#define PRODUCT(a, b, y) MODULE("(%a : " a ", %b : " b ") -> (%y : " y ")", "%y = MatMul@13(%a, %b) : " y "\nreturn %y")
  static const sequence_t cases[] = {
      // Rows.
      {PRODUCT("f32[16,8]", "f32[8,16]", "f32[16,16]"), "a.0:4", "loop*4 {kernel MatMul}"},
      // Columns: a part of the right side is gathered, and the results are brought together behind the loop.
      {PRODUCT("f32[16,8]", "f32[8,16]", "f32[16,16]"), "b.1:2",
       "allocate loop*2 {allocate store allocate kernel Gather free kernel MatMul free} kernel Transpose free"},
      // Batches, of both sides and of one.
      {PRODUCT("f32[4,3,8]", "f32[4,8,2]", "f32[4,3,2]"), "a.0", "loop*4 {kernel MatMul}"},
      {PRODUCT("f32[4,3,8]", "f32[8,2]", "f32[4,3,2]"), "a.0", "loop*4 {kernel MatMul}"},
      {PRODUCT("f32[3,8]", "f32[4,8,2]", "f32[4,3,2]"), "b.0", "loop*4 {kernel MatMul}"},
      {PRODUCT("f32[2,4,3,8]", "f32[4,8,2]", "f32[2,4,3,2]"), "a.0", "loop*2 {kernel MatMul}"},
  };
  CHECK_SEQUENCES(cases);
}

// ---- refusals ----

static void refused(const char *text, const char *axis, byoc_status_t status, const char *message, const char *hint) {
  byoc_diag_t diag = {0};
  model_t m;
  byoc_test_error(open_model(text, axis, &diag, &m), status, &diag, message);
  if (strstr(diag.hint, hint) == NULL) fail_msg("'%s' is not in the hint '%s'", hint, diag.hint);
  close_model(&m);
}

static void test_h13_wrong_axes_are_refused(void **state) {
  (void)state;
  static const char relu[] = MODULE("(%x : f32[6,16]) -> (%y : f32[6,16])", "%y = Relu@14(%x) : f32[6,16]\nreturn %y");
  refused(relu, "z.0", BYOC_INVALID_ARGUMENT, "no dimension of the inputs is called 'z.0'", "'x.0'");
  refused(relu, "N", BYOC_INVALID_ARGUMENT, "no dimension of the inputs is called 'N'", "'x.0'");
  refused(relu, "x.2", BYOC_INVALID_ARGUMENT, "the axis 'x.2': input 'x' has no dimension 2", "");
  refused(relu, "x.0:4", BYOC_INVALID_ARGUMENT, "the axis 'x.0' of 6 does not divide into 4 equal parts",
          "it divides into 2, 3, 6");
  refused(relu, "x.0:", BYOC_INVALID_ARGUMENT, "'' is no number of parts", "");
  refused(relu, "x.0:two", BYOC_INVALID_ARGUMENT, "'two' is no number of parts", "");
  refused(relu, "x.0:0", BYOC_INVALID_ARGUMENT, "'0' is no number of parts", "");
  refused(MODULE("(%x : f32[N,16]) -> (%y : f32[N,16])", "%y = Relu@14(%x) : f32[N,16]\nreturn %y"), "N",
          BYOC_INVALID_ARGUMENT, "the axis 'N' of input 'x' is open", "--dim");
  // Merged with what stands before it, and split into less than a part.
  static const char merged[] =
      "module {\n  constant @to : i64[1] = [24]\n  func @main(%x : f32[4,6]) -> (%y : f32[24]) {\n"
      "%a = Softmax@13(%x) {axis = 0} : f32[4,6]\n%b = Reshape@21 \"flat\" (%a, @to) : f32[24]\n"
      "%y = Relu@14(%b) : f32[24]\nreturn %y\n}\n}\n";
  refused(merged, "x.1", BYOC_UNSUPPORTED,
          "the axis 'x.1', dimension 1 of 6, is merged with those before it by Reshape 'flat'", "the first of");
  static const char split[] =
      "module {\n  constant @to : i64[3] = [2, 3, 4]\n  func @main(%x : f32[6,4]) -> (%y : f32[2,3,4]) {\n"
      "%a = Softmax@13(%x) {axis = 1} : f32[6,4]\n%b = Reshape@21 \"apart\" (%a, @to) : f32[2,3,4]\n"
      "%y = Relu@14(%b) : f32[2,3,4]\nreturn %y\n}\n}\n";
  refused(split, "x.0", BYOC_UNSUPPORTED,
          "the axis 'x.0', dimension 0 of 6, is split into dimensions that are not made of whole parts by Reshape "
          "'apart'",
          "fewer parts");
  // Nothing is parallel along it.
  refused(MODULE("(%a : f32[4,6], %b : f32[6,4]) -> (%y : f32[4,4])",
                 "%y = MatMul@13 \"mm\" (%a, %b) : f32[4,4]\nreturn %y"),
          "a.1", BYOC_UNSUPPORTED, "nothing can be computed in 6 parts along the axis 'a.1': MatMul 'mm'", "");
  refused(MODULE("(%x : f32[4,6], %z : f32[4]) -> (%y : f32[4,6])", "%y = Relu@14(%x) : f32[4,6]\nreturn %y"), "z.0",
          BYOC_UNSUPPORTED, "no operator reads the axis 'z.0'", "");
  byoc_diag_t diag = {0};
  model_t m;
  byoc_test_ok(byoc_graph_parse(relu, "test", byoc_allocator_system(), &diag, &m.module), &diag);
  byoc_test_error(byoc_pass_run_list("stream-axis", m.module, NULL, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "no axis is given");
  byoc_graph_module_destroy(m.module);
}

// A view may merge the axis with what stands behind it, and split it into whole parts.
static void test_h13_views_merge_and_split_the_axis(void **state) {
  (void)state;
  static const sequence_t cases[] = {
      {"module {\n  constant @to : i64[2] = [24, 2]\n  func @main(%x : f32[4,6,2]) -> (%y : f32[24,2]) {\n"
       "%a = Softmax@13(%x) {axis = 2} : f32[4,6,2]\n%b = Reshape@21(%a, @to) : f32[24,2]\n"
       "%y = Softmax@13(%b) {axis = 1} : f32[24,2]\nreturn %y\n}\n}\n",
       "x.0", "loop*4 {allocate kernel Softmax kernel Softmax free}"},
      {"module {\n  constant @to : i64[3] = [2, 3, 4]\n  func @main(%x : f32[6,4]) -> (%y : f32[2,3,4]) {\n"
       "%a = Softmax@13(%x) {axis = 1} : f32[6,4]\n%b = Reshape@21(%a, @to) : f32[2,3,4]\n"
       "%y = Softmax@13(%b) {axis = 2} : f32[2,3,4]\nreturn %y\n}\n}\n",
       "x.0:2", "loop*2 {allocate kernel Softmax kernel Softmax free}"},
  };
  CHECK_SEQUENCES(cases);
}

// ---- memory ----

static byoc_status_t cut_with(void *argument, byoc_allocator_t allocator) {
  static const char text[] =
      "module {\n  constant @to : i64[2] = [4, 16]\n"
      "  func @main(%x : f32[4,16,1], %b : f32[16,8]) -> (%y : f32[4,16], %z : f32[16,4]) {\n"
      "%r = Reshape@21(%x, @to) : f32[4,16]\n" SOFTMAX("a", "r", "1") SOFTMAX("c", "a", "0")
          SOFTMAX("y", "c", "1") "%z = Transpose@21(%a) {perm = [1, 0]} : f32[16,4]\nreturn %y, %z\n}\n}\n";
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  const byoc_pass_options_t options = {.stream_axis = "x.0:2"};
  byoc_status_t status = byoc_graph_parse(text, "test", allocator, &diag, &module);
  if (status == BYOC_OK) status = byoc_pass_run(byoc_pass_find("stream-axis"), module, &options, &diag, NULL);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_h13_each_allocation_fails(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(cut_with, NULL, false);
}

// ---- each operator ----

typedef struct {
  const char *op, *operands, *attributes;
  int results;
  const char *result_types;
} plausible_t;

#define PLAUSIBLE(op, operands, attributes, results)    {op, operands, attributes, results, ""},
#define GIVEN(op, operands, attributes, results, types) {op, operands, attributes, results, types},
static const plausible_t plausible[] = {
#include "tests/unit/ops/plausible.def"
    // With more than one index to cut.
    PLAUSIBLE("Split", "f32[2,4]; i64[2] = [2, 2]", "{axis = 1}",
              2) PLAUSIBLE("DepthToSpace", "f32[2,8,2,3]", "{blocksize = 2}",
                           1) PLAUSIBLE("SpaceToDepth", "f32[2,1,4,6]", "{blocksize = 2}", 1)
        PLAUSIBLE("Pad", "f32[4,3,4,5]; i64[8] = [0, 0, 1, 3, 0, 0, 2, 4]; f32[] = [1.2]", "",
                  1) PLAUSIBLE("Pad", "f32[4,3,4]", "{pads = [0, 0, 1, 0, 0, 2]}",
                               1) PLAUSIBLE("Conv", "f32[2,4,5,5]; f32[6,4,3,3]; f32[6]", "", 1)
            PLAUSIBLE("Conv", "f32[2,4,5,5]; f32[4,2,3,3]", "{group = 2}", 1) PLAUSIBLE(
                "Conv", "f32[2,4,5,5]; f32[4,1,3,3]; f32[4]", "{group = 4, strides = [2, 2], pads = [1, 1, 1, 1]}",
                1) PLAUSIBLE("ConvTranspose", "f32[2,4,5,5]; f32[4,3,3,3]; f32[3]", "",
                             1) PLAUSIBLE("MaxPool", "f32[2,4,5,5]", "{kernel_shape = [2, 2]}", 2)
                PLAUSIBLE("GlobalAveragePool", "f32[2,4,5,5]", "", 1) PLAUSIBLE("GlobalMaxPool", "f32[2,4,5,5]", "", 1)
                    PLAUSIBLE("Upsample", "f32[2,4,2,2]", "{scales = [1.0, 1.0, 2.0, 3.0]}",
                              1) PLAUSIBLE("Upsample", "f32[2,4,2,2]; f32[4] = [1.0, 1.0, 2.0, 3.0]", "",
                                           1) PLAUSIBLE("Resize", "f32[2,4,2,2]; f32[4] = [1.0, 1.0, 2.0, 3.0]", "", 1)
                        PLAUSIBLE("Resize", "f32[2,4,2,2]; _; f32[4] = [1.0, 1.0, 2.0, 3.0]", "", 1)
                            PLAUSIBLE("Resize", "f32[2,4,2,2]; _; _; i64[4] = [2, 4, 5, 3]", "{mode = \"linear\"}",
                                      1) PLAUSIBLE("Resize", "f32[2,4,2,2]; _; f32[4] = [2.0, 1.0, 2.0, 3.0]", "", 1)
                                PLAUSIBLE("Expand", "f32[4,1,3]; i64[3] = [4, 2, 3]", "", 1)
                                    PLAUSIBLE("Expand", "f32[4,1,3]; i64[4] = [2, 4, 2, 3]", "", 1)
                                        PLAUSIBLE("MatMul", "f32[4,6,8]; f32[4,8,10]", "", 1)
                                            PLAUSIBLE("MatMul", "f32[6,80]; f32[4,80,32]", "", 1)
                                                PLAUSIBLE("MatMul", "f32[80]; f32[4,80,32]", "", 1)
                                                    PLAUSIBLE("MatMul", "f32[4,6,80]; f32[80]", "", 1)
                                                        PLAUSIBLE("Gemm", "f32[6,80]; f32[80,12]; f32[12]", "", 1)
                                                            PLAUSIBLE("Gemm", "f32[80,6]; f32[12,80]; f32[6,1]",
                                                                      "{transA = 1, transB = 1}", 1)
#define REDUCED(op)                                                                                                    \
  PLAUSIBLE(op, "f32[4,3,6]; i64[1] = [1]", "", 1)                                                                     \
  PLAUSIBLE(op, "f32[4,3,6]; i64[2] = [0, -1]", "{keepdims = 0}", 1)
                                                                REDUCED("ReduceSum") REDUCED("ReduceMean")
                                                                    REDUCED("ReduceProd") REDUCED("ReduceMax")
                                                                        REDUCED("ReduceMin") REDUCED("ReduceL1")
                                                                            REDUCED("ReduceL2") REDUCED("ReduceLogSum")
                                                                                REDUCED("ReduceLogSumExp")
                                                                                    REDUCED("ReduceSumSquare")};

// A module of one node; false if the row's operands are not plain tensors. The parameters are %a, %b, ...
static bool write_module(const byoc_op_t *op, const plausible_t *p, char *text) {
  char constants[TEXT_SIZE / 4] = "", parameters[TEXT_SIZE / 4] = "", arguments[512] = "", names[256] = "",
                             types[512] = "", values[512] = "";
  int index = 0;
  for (const char *at = p->operands; *at != '\0'; ++index) {
    const size_t size = strcspn(at, ";");
    char operand[512];
    snprintf(operand, sizeof operand, "%.*s", (int)size, at);
    at += size;
    at += strspn(at, "; ");
    char *equals = strstr(operand, " = ");
    const char *comma = index > 0 ? ", " : "";
    char *end = arguments + strlen(arguments);
    if (strcmp(operand, "_") == 0) {
      snprintf(end, 16, "%s_", comma);
      continue;
    }
    if (strchr(operand, '<') != NULL || strstr(operand, "string") != NULL || index > 20) return false;
    snprintf(end, 16, "%s%s%c", comma, equals != NULL ? "@" : "%", 'a' + index);
    char *list = equals != NULL ? constants + strlen(constants) : parameters + strlen(parameters);
    if (equals != NULL) snprintf(list, 600, "  constant @%c : %s\n", 'a' + index, operand);
    if (equals == NULL) snprintf(list, 600, "%s%%%c : %s", parameters[0] ? ", " : "", 'a' + index, operand);
  }
  for (int i = 0; i < p->results; ++i) {
    const char *comma = i > 0 ? ", " : "", *type = p->result_types[0] != '\0' ? p->result_types : "?";
    snprintf(names + strlen(names), 16, "%s%%r%d", comma, i);
    snprintf(types + strlen(types), 100, "%s%s", comma, type);
    snprintf(values + strlen(values), 100, "%s%%r%d : %s", comma, i, type);
  }
  snprintf(text, TEXT_SIZE,
           "module {\n  constant @tensor : f32[2] = [1.0, 2.0]\n  constant @bytes : u8[2] = [0, 4]\n%s  func @main(%s) "
           "-> (%s) {\n    %s = %s%s%s@%d(%s) "
           "%s : %s\n    return %s\n  }\n}\n",
           constants, parameters, values, names, op->domain, op->domain[0] ? "::" : "", op->name, op->since_version,
           arguments, p->attributes, types, names);
  return p->results > 0;
}

// A product with a single column, or a single row beside a transposed side, is summed along its depth in the lanes of a
// register, another one column by column: this is the only place where a shape decides on rounding.
static bool is_product(const char *text) {
  return strstr(text, "MatMul@") != NULL || strstr(text, "Gemm@") != NULL;
}

// Cuts the module along one dimension of one parameter, and compares. True if it could be cut.
static bool try_axis(const char *text, const model_t *whole, const char *input, int32_t dim, int64_t size,
                     int64_t parts) {
  byoc_diag_t diag = {0};
  model_t m;
  char axis[64];
  void *of_whole[MAX_VALUES], *of_parts[MAX_VALUES];
  snprintf(axis, sizeof axis, "%s.%d:%lld", input, dim, (long long)parts);
  const byoc_status_t status = open_model(text, axis, &diag, &m);
  if (status == BYOC_UNSUPPORTED || status == BYOC_INVALID_ARGUMENT) {
    close_model(&m);
    return false;
  }
  if (status != BYOC_OK) fail_msg("%s along %s: %s", text, axis, diag.message);
  byoc_test_ok(run_model(whole, &diag, of_whole), &diag);
  byoc_test_ok(run_model(&m, &diag, of_parts), &diag);
  const bool nearly = is_product(text) && parts == size;
  if (!same_results(whole, of_whole, of_parts, nearly)) fail_msg("%s along %s: other results", text, axis);
  close_model(&m);
  return true;
}

// Along each dimension of each operand, into as many parts as it has indices, and into two. Returns how often the
// module could be cut.
static uint32_t try_module(const char *text) {
  byoc_diag_t diag = {0};
  model_t whole;
  void *outputs[MAX_VALUES];
  uint32_t count = 0;
  const bool opens = open_model(text, NULL, &diag, &whole) == BYOC_OK && !whole.program->is_dynamic;
  if (!opens || whole.program->outputs.count > MAX_VALUES) {
    close_model(&whole);
    return 0;
  }
  const bool runs = run_model(&whole, &diag, outputs) == BYOC_OK;
  for (size_t i = 0; i < whole.program->outputs.count; ++i) free(outputs[i]);
  for (size_t i = 0; i < whole.program->inputs.count && runs; ++i) {
    const byoc_host_buffer_t *input = whole.program->inputs.data[i];
    for (int32_t d = 0; d < input->type->rank; ++d) {
      const int64_t size = input->type->dims[d].constant;
      if (size > 1 && size <= 64) count += try_axis(text, &whole, input->name, d, size, size);
      if (size > 2 && size % 2 == 0) count += try_axis(text, &whole, input->name, d, size, 2);
    }
  }
  close_model(&whole);
  return count;
}

// Every row that says along which dimensions it can be cut is cut at one of its versions.
static void check_all_rows_are_cut(const uint32_t *cuts) {
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    bool is_cut = op->axes == NULL;
    for (size_t k = 0; k < byoc_op_count() && !is_cut; ++k) {
      const byoc_op_t *other = byoc_op_at(k);
      is_cut = cuts[k] > 0 && strcmp(other->name, op->name) == 0 && strcmp(other->domain, op->domain) == 0;
    }
    if (!is_cut) fail_msg("%s is never cut", op->name);
  }
}

static void test_h13_each_operator_is_the_same_in_parts(void **state) {
  (void)state;
  static char text[TEXT_SIZE];
  uint32_t *cuts = calloc(byoc_op_count(), sizeof *cuts), rows = 0, count = 0;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", op->domain, op->domain[0] ? "::" : "", op->name);
    for (size_t k = 0; k < sizeof plausible / sizeof *plausible; ++k) {
      if (strcmp(plausible[k].op, name) == 0 && write_module(op, &plausible[k], text)) cuts[i] += try_module(text);
    }
    rows += cuts[i] > 0;
    count += cuts[i];
  }
  check_all_rows_are_cut(cuts);
  free(cuts);
  print_message("%u rows, %u cuts\n", rows, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h13_one_operator_works_in_place),
      cmocka_unit_test(test_h13_two_operators_share_a_loop),
      cmocka_unit_test(test_h13_three_operators_share_what_they_can),
      cmocka_unit_test(test_h13_reductions_keep_the_axis),
      cmocka_unit_test(test_h13_products_are_cut_by_rows_and_columns),
      cmocka_unit_test(test_h13_wrong_axes_are_refused),
      cmocka_unit_test(test_h13_views_merge_and_split_the_axis),
      cmocka_unit_test(test_h13_each_allocation_fails),
      cmocka_unit_test(test_h13_each_operator_is_the_same_in_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
