// Every plan of a problem gives the same result: code is emitted, compiled and run, and held against the definition in
// double precision. Buffers end where a page that nobody may touch begins; workspace and result start as NaN.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { MOST_PLANS = 1024, SLOTS = 3 };

typedef struct tensors_t {
  guarded_t data, weights, bias, residual;
  float *expected;
  int64_t data_count, weight_count, bias_count, result_count;
} tensors_t;

static guarded_t make_random(byoc_test_random_t *random, int64_t count, float scale) {
  guarded_t buffer = guarded_create((size_t)count * sizeof(float), sizeof(float));
  float *values = buffer.data;
  for (int64_t i = 0; i < count; ++i) values[i] = byoc_test_float(random) * scale;
  return buffer;
}

// Where element `at` of NCHW lies in the blocked tensor.
static int64_t blocked_at(int64_t at, int64_t pixels) {
  int64_t pixel = at % pixels, channel = at / pixels; // of all images: their channels are whole blocks
  return (channel / BYOC_CUTLASS_BLOCK * pixels + pixel) * BYOC_CUTLASS_BLOCK + channel % BYOC_CUTLASS_BLOCK;
}

// Lays a tensor out anew.
static void make_blocked(guarded_t *buffer, int64_t count, int64_t pixels) {
  guarded_t blocked = guarded_create((size_t)count * sizeof(float), BYOC_BUFFER_ALIGNMENT);
  for (int64_t i = 0; i < count; ++i) blocked.data[blocked_at(i, pixels)] = buffer->data[i];
  guarded_destroy(buffer);
  *buffer = blocked;
}

static double conv_at(const byoc_cutlass_conv_t *c, const tensors_t *t, int64_t at) {
  int64_t x = at % c->out_w, y = at / c->out_w % c->out_h, channel = at / (c->out_w * c->out_h) % (c->groups * c->out);
  int64_t image = at / (c->out_w * c->out_h * c->groups * c->out), group = channel / c->out;
  double sum = 0;
  for (int64_t i = 0; i < c->in; ++i)
    for (int64_t r = 0; r < c->kernel_h; ++r)
      for (int64_t s = 0; s < c->kernel_w; ++s) {
        int64_t in_y = y * c->stride_h + r * c->dilation_h - c->pad_top;
        int64_t in_x = x * c->stride_w + s * c->dilation_w - c->pad_left;
        if (in_y < 0 || in_x < 0 || in_y >= c->in_h || in_x >= c->in_w) continue;
        sum += (double)t->weights.data[((channel * c->in + i) * c->kernel_h + r) * c->kernel_w + s] *
               t->data.data[(((image * c->groups + group) * c->in + i) * c->in_h + in_y) * c->in_w + in_x];
      }
  return sum + (t->bias.data ? t->bias.data[channel] : 0.0f);
}

static double gemm_at(const byoc_cutlass_gemm_t *g, const tensors_t *t, int64_t at) {
  int64_t m = at / g->n, n = at % g->n;
  double sum = 0;
  for (int64_t k = 0; k < g->k; ++k)
    sum += (double)t->data.data[g->transpose_a ? k * g->m + m : m * g->k + k] *
           t->weights.data[g->transpose_b ? n * g->k + k : k * g->n + n];
  return sum + (t->bias.data ? t->bias.data[n] : 0.0f);
}

static void make_tensors(const byoc_cutlass_problem_t *problem, tensors_t *t) {
  byoc_test_random_t random = {42};
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_gemm_t *g = &problem->gemm;
  bool conv = problem->kind == BYOC_CUTLASS_CONV;
  *t = (tensors_t){0};
  t->data_count = conv ? c->batch * c->groups * c->in * c->in_h * c->in_w : g->m * g->k;
  t->weight_count = conv ? c->groups * c->out * c->in * c->kernel_h * c->kernel_w : g->k * g->n;
  t->result_count = conv ? c->batch * c->groups * c->out * c->out_h * c->out_w : g->m * g->n;
  t->bias_count = conv ? c->groups * c->out : g->n;
  t->data = make_random(&random, t->data_count, 1.0f);
  t->weights = make_random(&random, t->weight_count, 0.2f);
  if (problem->epilogue.has_bias) t->bias = make_random(&random, t->bias_count, 1.0f);
  if (problem->epilogue.has_residual) t->residual = make_random(&random, t->result_count, 1.0f);
  t->expected = malloc((size_t)t->result_count * sizeof(float));
  assert_non_null(t->expected);
  for (int64_t i = 0; i < t->result_count; ++i) {
    double value = conv ? conv_at(c, t, i) : gemm_at(g, t, i);
    if (t->residual.data) value += t->residual.data[i];
    if (problem->epilogue.activation == BYOC_CUTLASS_ACT_RELU && value < 0) value = 0;
    t->expected[i] = (float)value;
  }
  if (conv && c->in_blocked) make_blocked(&t->data, t->data_count, c->in_h * c->in_w);
  if (conv && c->out_blocked && t->residual.data) make_blocked(&t->residual, t->result_count, c->out_h * c->out_w);
}

// Where element `at` of the result lies.
static int64_t result_at(const byoc_cutlass_problem_t *problem, int64_t at) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  return problem->kind == BYOC_CUTLASS_CONV && c->out_blocked ? blocked_at(at, c->out_h * c->out_w) : at;
}

static void free_tensors(tensors_t *t) {
  guarded_destroy(&t->data), guarded_destroy(&t->weights), guarded_destroy(&t->bias), guarded_destroy(&t->residual);
  free(t->expected);
}

static void check_plan(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, tensors_t *t,
                       byoc_packed_function_t function, int32_t threads, const char *name) {
  size_t packed_count = byoc_cutlass_packed_floats(problem, plan);
  size_t workspace_size = (size_t)byoc_cutlass_workspace_bytes(problem, plan);
  guarded_t result = guarded_create((size_t)t->result_count * sizeof(float), sizeof(float));
  guarded_t workspace = guarded_create(workspace_size, BYOC_BUFFER_ALIGNMENT);
  guarded_t packed = {0};
  if (packed_count > 0) {
    packed = guarded_create(packed_count * sizeof(float), BYOC_BUFFER_ALIGNMENT);
    byoc_cutlass_pack_weights(problem, plan, t->weights.data, packed.data);
  }
  DLTensor tensors[] = {{.data = t->data.data},
                        {.data = packed.data ? packed.data : t->weights.data},
                        {.data = t->bias.data},
                        {.data = t->residual.data},
                        {.data = result.data}};
  byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = threads, .parallel_for = kernels_run_shares};
  byoc_call_t call = {.struct_size = sizeof(call),
                      .input_count = 4,
                      .output_count = 1,
                      .tensors = tensors,
                      .runtime = &runtime,
                      .workspace = workspace.data,
                      .workspace_size_bytes = workspace_size};
  assert_int_equal(function(&call), BYOC_OK);
  for (int64_t i = 0; i < t->result_count; ++i) {
    float got = result.data[result_at(problem, i)];
    if (!(fabsf(got - t->expected[i]) <= 1e-4f + 1e-4f * fabsf(t->expected[i])))
      fail_msg("%s: isa %u form %u edge %d transposed %d direct %d rows %d vectors %d depth %d panels %d, %d threads: "
               "element %lld is %g, not %g",
               name, plan->isa, plan->form, plan->edge, plan->transposed, plan->direct, plan->rows, plan->vectors,
               plan->block_depth, plan->block_panels, threads, (long long)i, (double)got, (double)t->expected[i]);
  }
  guarded_destroy(&packed);
  guarded_destroy(&workspace);
  guarded_destroy(&result);
}

// The default, then a spread over the candidates; sets a bit for each form that was met.
static uint32_t check_problem(const char *name, const byoc_cutlass_problem_t *problem) {
  static byoc_cutlass_plan_t plans[MOST_PLANS];
  uint32_t forms = 0;
  tensors_t tensors;
  make_tensors(problem, &tensors);
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    if (!kernels_run_here(isa)) continue;
    size_t count = byoc_cutlass_plan_candidates(problem, isa, SLOTS, true, plans, MOST_PLANS), kept = 0;
    // The default, one plan of each algorithm, and the last of the default's, which differs most in blocking.
    for (size_t i = 0, last = 0; i < count; ++i) {
      bool met = false;
      for (size_t k = 0; k < kept; ++k) met = met || (plans[k].form == plans[i].form && plans[k].edge == plans[i].edge);
      if (plans[i].form == plans[0].form && plans[i].edge == plans[0].edge) last = i;
      if (!met) plans[kept++] = plans[i]; // kept <= i
      if (i + 1 == count && last >= kept) plans[kept++] = plans[last];
    }
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    for (size_t i = 0; i < kept; ++i) kernels_add(&kernels, problem, &plans[i]);
    kernels_compile(&kernels, "-O1");
    for (size_t i = 0; i < kept; ++i) {
      check_plan(problem, &plans[i], &tensors, kernels.functions[i], 1, name);
      check_plan(problem, &plans[i], &tensors, kernels.functions[i], SLOTS, name);
      forms |= 1u << plans[i].form;
    }
    kernels_end(&kernels);
  }
  free_tensors(&tensors);
  return forms;
}

// ---- problems ----

static byoc_cutlass_problem_t conv(int64_t batch, int64_t groups, int64_t in, int64_t out, int64_t size_h,
                                   int64_t size_w, int64_t kernel, int64_t stride, int64_t pad) {
  byoc_cutlass_problem_t problem = {
      .kind = BYOC_CUTLASS_CONV, .epilogue = {.alpha = 1.0f, .beta = 1.0f, .has_bias = true}, .inputs = {0, 1, 2, 3}};
  problem.conv = (byoc_cutlass_conv_t){.batch = batch,
                                       .groups = groups,
                                       .in = in,
                                       .out = out,
                                       .in_h = size_h,
                                       .in_w = size_w,
                                       .out_h = (size_h + 2 * pad - kernel) / stride + 1,
                                       .out_w = (size_w + 2 * pad - kernel) / stride + 1,
                                       .kernel_h = kernel,
                                       .kernel_w = kernel,
                                       .stride_h = stride,
                                       .stride_w = stride,
                                       .dilation_h = 1,
                                       .dilation_w = 1,
                                       .pad_top = pad,
                                       .pad_left = pad};
  return problem;
}

static void test_winograd(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(1, 1, 32, 48, 14, 14, 3, 1, 1);
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  assert_true(check_problem("square", &problem) & 1u << BYOC_CUTLASS_FORM_WINOGRAD);
  // Sizes that no square, lane or panel divides; groups, batch, residual; rows of squares in several blocks.
  problem = conv(2, 2, 19, 37, 9, 11, 3, 1, 1);
  problem.epilogue.has_residual = true;
  assert_true(check_problem("odd", &problem) & 1u << BYOC_CUTLASS_FORM_WINOGRAD);
  problem = conv(1, 1, 16, 16, 70, 33, 3, 1, 2);
  problem.epilogue.has_bias = false;
  assert_true(check_problem("padded beyond", &problem) & 1u << BYOC_CUTLASS_FORM_WINOGRAD);
}

static void test_winograd_forbidden(void **state) {
  (void)state;
  byoc_cutlass_plan_t plans[64];
  byoc_cutlass_problem_t problem = conv(1, 1, 64, 64, 56, 56, 3, 1, 1);
  byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, SLOTS, true, &plans[0]);
  assert_int_equal(plans[0].form, BYOC_CUTLASS_FORM_WINOGRAD);
  size_t count = byoc_cutlass_plan_candidates(&problem, BYOC_CUTLASS_ISA_AVX512, SLOTS, false, plans, 64);
  for (size_t i = 0; i < count; ++i) assert_int_not_equal(plans[i].form, BYOC_CUTLASS_FORM_WINOGRAD);
}

static void test_pointwise(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(2, 2, 35, 23, 13, 17, 1, 1, 0);
  problem.epilogue.has_residual = true;
  (void)check_problem("pointwise", &problem);
  problem = conv(1, 1, 33, 64, 3, 3, 1, 1, 0);
  (void)check_problem("few pixels", &problem);
}

static void test_strided(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(1, 1, 3, 24, 31, 29, 3, 2, 1);
  (void)check_problem("first layer", &problem);
  problem = conv(1, 1, 40, 40, 12, 12, 3, 2, 1);
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  (void)check_problem("strided", &problem);
  problem = conv(1, 30, 1, 1, 19, 21, 3, 2, 1);
  assert_true(check_problem("depthwise", &problem) & 1u << BYOC_CUTLASS_FORM_DEPTHWISE);
}

// The mixtures of plain and blocked tensors that the channels allow.
static void check_layouts(const char *name, byoc_cutlass_problem_t problem, uint32_t form) {
  for (int layout = 1; layout < 4; ++layout) {
    problem.conv.in_blocked = layout & 1, problem.conv.out_blocked = layout >> 1;
    if (problem.conv.in_blocked && problem.conv.in % BYOC_CUTLASS_BLOCK) continue;
    if (problem.conv.out_blocked && problem.conv.out % BYOC_CUTLASS_BLOCK) continue;
    assert_true(check_problem(name, &problem) & 1u << form);
  }
}

static void test_blocked(void **state) {
  (void)state;
  // Pixels counted through, the last tile short; panels of two and of one vector; residual and activation.
  byoc_cutlass_problem_t problem = conv(2, 1, 48, 48, 9, 11, 1, 1, 0);
  problem.epilogue.has_residual = true;
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  check_layouts("blocked pointwise", problem, BYOC_CUTLASS_FORM_DIRECT);
  problem = conv(1, 1, 32, 64, 15, 17, 1, 2, 0);
  check_layouts("blocked strided pointwise", problem, BYOC_CUTLASS_FORM_DIRECT);
  problem = conv(2, 1, 16, 32, 31, 37, 3, 2, 1);
  check_layouts("blocked strided", problem, BYOC_CUTLASS_FORM_DIRECT);
  problem = conv(1, 1, 32, 32, 16, 14, 5, 1, 0);
  problem.conv.dilation_h = 2, problem.conv.out_h = 8;
  check_layouts("blocked without padding", problem, BYOC_CUTLASS_FORM_DIRECT);
  problem = conv(1, 1, 3, 64, 25, 33, 7, 2, 3);
  check_layouts("blocked first layer", problem, BYOC_CUTLASS_FORM_DIRECT);
}

static void test_blocked_winograd(void **state) {
  (void)state;
  // Groups; several images in one block; squares that reach beyond the picture.
  byoc_cutlass_problem_t problem = conv(3, 2, 16, 48, 7, 7, 3, 1, 1);
  problem.epilogue.has_residual = true;
  check_layouts("blocked groups", problem, BYOC_CUTLASS_FORM_WINOGRAD);
  problem = conv(1, 1, 32, 80, 13, 18, 3, 1, 1);
  check_layouts("blocked squares", problem, BYOC_CUTLASS_FORM_WINOGRAD);
}

static void test_blocked_depthwise(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(2, 32, 1, 1, 19, 21, 3, 1, 1);
  problem.conv.in_blocked = problem.conv.out_blocked = true;
  problem.epilogue.has_residual = true;
  assert_true(check_problem("blocked depthwise", &problem) & 1u << BYOC_CUTLASS_FORM_DEPTHWISE);
  problem = conv(1, 16, 1, 1, 12, 9, 5, 2, 2);
  problem.conv.in_blocked = problem.conv.out_blocked = true;
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  assert_true(check_problem("blocked strided depthwise", &problem) & 1u << BYOC_CUTLASS_FORM_DEPTHWISE);
}

static void test_matrices(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 77, 130}, {5, 33, 20}, {40, 70, 600}, {17, 400, 1024}};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i)
    for (size_t variant = 0; variant < (i < 3 ? 3 : 1); variant += i == 0 ? 1 : 2) {
      byoc_cutlass_problem_t problem = {.kind = BYOC_CUTLASS_GEMM,
                                        .epilogue = {.alpha = 1.0f, .beta = 1.0f, .has_bias = true},
                                        .inputs = {0, 1, 2, 3}};
      problem.gemm = (byoc_cutlass_gemm_t){.m = sizes[i][0],
                                           .n = sizes[i][1],
                                           .k = sizes[i][2],
                                           .constant_b = variant == 0,
                                           .transpose_b = variant == 2};
      (void)check_problem("matrices", &problem);
    }
}

// cutlass_plans [PATTERN]: the tests whose name matches.
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_winograd),          cmocka_unit_test(test_winograd_forbidden),
      cmocka_unit_test(test_pointwise),         cmocka_unit_test(test_strided),
      cmocka_unit_test(test_blocked),           cmocka_unit_test(test_blocked_winograd),
      cmocka_unit_test(test_blocked_depthwise), cmocka_unit_test(test_matrices),
  };
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
