// SPDX-License-Identifier: Apache-2.0
// Every plan of a problem gives the same result: code is emitted, compiled and run, and held against the definition in
// double precision. Buffers end where a page that nobody may touch begins; workspace and result start as NaN.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pack/pack_half.h"

enum { MOST_PLANS = 1024, MOST_KEPT = 8, MOST_SIZES = 8, SLOTS = 3 };

typedef struct tensors_t {
  guarded_t data, weights, bias, residual;
  float *expected;
  int64_t data_count, weight_count, bias_count, result_count;
  byoc_cutlass_conv_t conv;               // its sizes are those of the call
  int64_t data_shape[4], result_shape[4]; // of a convolution; read where something is open
} tensors_t;

static guarded_t make_random(byoc_test_random_t *random, int64_t count, float scale, uint32_t type) {
  guarded_t buffer = guarded_create((size_t)count * sizeof(float), sizeof(float));
  float *values = buffer.data;
  for (int64_t i = 0; i < count; ++i) values[i] = kernels_round(type, byoc_test_float(random) * scale);
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
  return sum;
}

// The matrix of A or B that matrix `batch` of the result is made of.
static int64_t matrix_of(const byoc_cutlass_gemm_t *g, const bool *repeat, int64_t batch) {
  int64_t matrix = 0, step = 1;
  for (uint32_t i = g->batch_rank; i-- > 0; batch /= g->batch[i]) {
    if (repeat[i]) continue;
    matrix += batch % g->batch[i] * step;
    step *= g->batch[i];
  }
  return matrix;
}

static int64_t matrix_count(const byoc_cutlass_gemm_t *g, const bool *repeat) {
  return matrix_of(g, repeat, byoc_cutlass_batch(g) - 1) + 1;
}

static double gemm_at(const byoc_cutlass_gemm_t *g, const tensors_t *t, int64_t at) {
  int64_t n = at % g->n, m = at / g->n % g->m, batch = at / g->n / g->m;
  const float *a = t->data.data + matrix_of(g, g->repeat_a, batch) * g->m * g->k;
  const float *b = t->weights.data + matrix_of(g, g->repeat_b, batch) * g->k * g->n;
  double sum = 0;
  for (int64_t k = 0; k < g->k; ++k)
    sum += (double)a[g->transpose_a ? k * g->m + m : m * g->k + k] * b[g->transpose_b ? n * g->k + k : k * g->n + n];
  return sum;
}

// A sum as it is stored, by the definition of byoc_cutlass_epilogue_t.
static double finish(const byoc_cutlass_epilogue_t *e, double sum, float bias, float residual) {
  double value = sum * e->alpha + bias;
  if (!e->residual_last) value += (double)residual * e->beta;
  if (e->activation == BYOC_CUTLASS_ACT_RELU) value = fmax(value, 0);
  if (e->activation == BYOC_CUTLASS_ACT_CLIP) value = fmin(fmax(value, e->p0), e->p1); // NaN bounds nothing
  return e->residual_last ? value + (double)residual * e->beta : value;
}

static void make_tensors(const byoc_cutlass_problem_t *problem, tensors_t *t) {
  byoc_test_random_t random = {42};
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_gemm_t *g = &problem->gemm;
  bool conv = problem->kind == BYOC_CUTLASS_CONV;
  *t = (tensors_t){.conv = *c,
                   .data_shape = {c->batch, c->groups * c->in, c->in_h, c->in_w},
                   .result_shape = {c->batch, c->groups * c->out, c->out_h, c->out_w}};
  t->data_count = conv ? c->batch * c->groups * c->in * c->in_h * c->in_w : matrix_count(g, g->repeat_a) * g->m * g->k;
  t->weight_count =
      conv ? c->groups * c->out * c->in * c->kernel_h * c->kernel_w : matrix_count(g, g->repeat_b) * g->k * g->n;
  t->result_count = conv ? c->batch * c->groups * c->out * c->out_h * c->out_w : byoc_cutlass_batch(g) * g->m * g->n;
  t->bias_count = conv ? c->groups * c->out : g->n;
  t->data = make_random(&random, t->data_count, 1.0f, problem->types.data);
  t->weights = make_random(&random, t->weight_count, 0.2f, problem->types.weights);
  if (problem->epilogue.has_bias) t->bias = make_random(&random, t->bias_count, 1.0f, 0);
  if (problem->epilogue.has_residual)
    t->residual = make_random(&random, t->result_count, 1.0f, problem->types.residual);
  t->expected = malloc((size_t)t->result_count * sizeof(float));
  assert_non_null(t->expected);
  for (int64_t i = 0; i < t->result_count; ++i) {
    int64_t channel = conv ? i / (c->out_h * c->out_w) % t->bias_count : i % g->n;
    double value = finish(&problem->epilogue, conv ? conv_at(c, t, i) : gemm_at(g, t, i),
                          t->bias.data ? t->bias.data[channel] : 0.0f, t->residual.data ? t->residual.data[i] : 0.0f);
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

static void check_plan(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, const tensors_t *t,
                       byoc_packed_function_t function, int32_t threads, const char *name) {
  size_t packed_count = byoc_cutlass_packed_floats(problem, plan);
  size_t workspace_size = (size_t)byoc_cutlass_workspace_bytes(problem, plan);
  const byoc_cutlass_types_t *types = &problem->types;
  // Half of the last digit of f16 or bf16, and a little for sums.
  const float error = !byoc_cutlass_is_half(types->result) ? 1e-4f : types->result == BYOC_DTYPE_F16 ? 6e-4f : 4.2e-3f;
  guarded_t result = guarded_create((size_t)(t->result_count * byoc_cutlass_type_bytes(types->result)), 2);
  guarded_t data = kernels_narrow(types->data, t->data.data, t->data_count), residual = {0};
  if (t->residual.data) residual = kernels_narrow(types->residual, t->residual.data, t->result_count);
  guarded_t workspace = guarded_create(workspace_size, BYOC_BUFFER_ALIGNMENT);
  guarded_t packed = {0};
  if (packed_count > 0) {
    guarded_t floats = guarded_create(packed_count * sizeof(float), BYOC_BUFFER_ALIGNMENT);
    byoc_cutlass_pack_weights(problem, plan, t->weights.data, floats.data);
    packed = guarded_create(packed_count * (size_t)byoc_cutlass_type_bytes(types->weights), BYOC_BUFFER_ALIGNMENT);
    if (byoc_cutlass_is_half(types->weights))
      byoc_cutlass_narrow(types->weights, floats.data, (int64_t)packed_count, (uint16_t *)(void *)packed.data);
    else
      memcpy(packed.data, floats.data, packed_count * sizeof(float));
    guarded_destroy(&floats);
  } else {
    packed = kernels_narrow(types->weights, t->weights.data, t->weight_count);
  }
  DLTensor tensors[] = {{.data = data.data, .ndim = 4, .shape = (int64_t *)t->data_shape},
                        {.data = packed.data},
                        {.data = t->bias.data},
                        {.data = residual.data},
                        {.data = result.data, .ndim = 4, .shape = (int64_t *)t->result_shape}};
  kernels_call(function, tensors, 4, 1, threads, workspace.data, workspace_size);
  for (int64_t i = 0; i < t->result_count; ++i) {
    float got = kernels_element(types->result, result.data, result_at(problem, i));
    if (!(fabsf(got - t->expected[i]) <= 1e-4f + error * fabsf(t->expected[i])))
      fail_msg("%s, %lldx%lld: isa %u form %u edge %d transposed %d direct %d rows %d vectors %d depth %d panels %d, "
               "%d threads: "
               "element %lld is %g, not %g",
               name, (long long)t->conv.in_h, (long long)t->conv.in_w, plan->isa, plan->form, plan->edge,
               plan->transposed, plan->direct, plan->rows, plan->vectors, plan->block_depth, plan->block_panels,
               threads, (long long)i, (double)got, (double)t->expected[i]);
  }
  guarded_destroy(&data), guarded_destroy(&residual);
  guarded_destroy(&packed);
  guarded_destroy(&workspace);
  guarded_destroy(&result);
}

// Bits of forms.
enum {
  IMPLICIT_GEMM = 1 << BYOC_CUTLASS_FORM_IMPLICIT_GEMM,
  DEPTHWISE = 1 << BYOC_CUTLASS_FORM_DEPTHWISE,
  WEIGHTS = 1 << BYOC_CUTLASS_FORM_WEIGHTS,
  GEMM = 1 << BYOC_CUTLASS_FORM_GEMM,
  DOT = 1 << BYOC_CUTLASS_FORM_DOT,
  WINOGRAD = 1 << BYOC_CUTLASS_FORM_WINOGRAD,
  FEW_ROWS = 1 << BYOC_CUTLASS_FORM_FEW_ROWS,
  DIRECT = 1 << BYOC_CUTLASS_FORM_DIRECT,
};

// A problem and the forms that its plans have, all of these and no other.
typedef struct case_t {
  const char *name;
  byoc_cutlass_problem_t problem;
  uint32_t forms;
  tensors_t tensors[MOST_SIZES]; // more than one where something is open
  size_t tensors_count;
  byoc_cutlass_plan_t plans[MOST_KEPT]; // for one instruction set
  size_t plan_count;
} case_t;

// What a test has gathered: compiled together.
static struct {
  case_t items[24];
  size_t count;
} cases;

static void add_case(const char *name, const byoc_cutlass_problem_t *problem, uint32_t forms) {
  assert_true(cases.count < sizeof(cases.items) / sizeof(*cases.items));
  case_t *one = &cases.items[cases.count++];
  *one = (case_t){.name = name, .problem = *problem, .forms = forms};
  make_tensors(problem, &one->tensors[one->tensors_count++]);
}

// The same where the number of images is open: the code is that for one image.
static void add_open_case(const char *name, const byoc_cutlass_problem_t *problem, uint32_t forms) {
  add_case(name, problem, forms);
  byoc_cutlass_conv_t *open = &cases.items[cases.count - 1].problem.conv;
  open->batch = 1;
  open->open_batch = true;
}

// Pictures of many sizes by the same code, that for the sizes that byoc_cutlass_open_size says.
static void add_some_sizes(const char *name, byoc_cutlass_problem_t problem, uint32_t forms, size_t first, size_t end) {
  static const int64_t sizes[MOST_SIZES][2] = {{1, 1}, {3, 2}, {8, 8}, {9, 11}, {2, 35}, {40, 3}, {33, 17}, {6, 260}};
  byoc_cutlass_conv_t *c = &problem.conv;
  const int64_t reach_h = (c->kernel_h - 1) * c->dilation_h + 1, reach_w = (c->kernel_w - 1) * c->dilation_w + 1;
  case_t *one = &cases.items[cases.count++];
  *one = (case_t){.name = name, .forms = forms};
  for (size_t i = first; i < end; ++i) {
    int64_t *const pads[2] = {&c->pad_top, &c->pad_left}, *const in[2] = {&c->in_h, &c->in_w};
    const int64_t reach[2] = {reach_h, reach_w}, stride[2] = {c->stride_h, c->stride_w};
    int64_t *const out[2] = {&c->out_h, &c->out_w};
    for (int axis = 0; axis < 2; ++axis) {
      *in[axis] = axis == 0 && !c->open_h ? 1 : sizes[i][axis];
      *out[axis] = (*in[axis] + 2 * *pads[axis] - reach[axis]) / stride[axis] + 1;
      if (c->same == BYOC_CUTLASS_SAME_NONE) continue;
      *out[axis] = (*in[axis] + stride[axis] - 1) / stride[axis];
      const int64_t total = (*out[axis] - 1) * stride[axis] + reach[axis] - *in[axis];
      *pads[axis] = total < 0 ? 0 : c->same == BYOC_CUTLASS_SAME_UPPER ? total / 2 : total - total / 2;
    }
    make_tensors(&problem, &one->tensors[one->tensors_count++]);
  }
  const int64_t size = byoc_cutlass_open_size(c->in, c->out);
  c->batch = 1, c->open_batch = true;
  if (c->open_h) c->out_h = size, c->in_h = (c->out_h - 1) * c->stride_h + reach_h - 2 * c->pad_top;
  c->out_w = size, c->in_w = (c->out_w - 1) * c->stride_w + reach_w - 2 * c->pad_left;
  one->problem = problem;
}

static void add_open_sizes(const char *name, byoc_cutlass_problem_t problem, uint32_t forms) {
  add_some_sizes(name, problem, forms, 0, MOST_SIZES);
}

// The default, one plan of each algorithm, and the last of the default's, which differs most in blocking.
static void choose_plans(case_t *one, byoc_cutlass_isa_t isa) {
  static byoc_cutlass_plan_t plans[MOST_PLANS];
  size_t count = byoc_cutlass_plan_candidates(&one->problem, isa, SLOTS, true, plans, MOST_PLANS), last = 0;
  one->plan_count = 0;
  for (size_t i = 0; i < count; ++i) {
    bool met = false;
    for (size_t k = 0; k < one->plan_count; ++k)
      met = met || (one->plans[k].form == plans[i].form && one->plans[k].edge == plans[i].edge);
    if (plans[i].form == plans[0].form && plans[i].edge == plans[0].edge) last = i;
    if (!met) one->plans[one->plan_count++] = plans[i];
    assert_true(one->plan_count < MOST_KEPT);
  }
  if (last > 0) one->plans[one->plan_count++] = plans[last];
}

static void run_case(const case_t *one, const byoc_packed_function_t *functions) {
  for (size_t i = 0; i < one->plan_count; ++i)
    for (size_t k = 0; k < one->tensors_count; ++k) {
      check_plan(&one->problem, &one->plans[i], &one->tensors[k], functions[i], 1, one->name);
      check_plan(&one->problem, &one->plans[i], &one->tensors[k], functions[i], SLOTS, one->name);
    }
}

static void run_cases(void) {
  uint32_t met[sizeof(cases.items) / sizeof(*cases.items)] = {0};
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    if (!kernels_try_here(isa)) continue;
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    kernels.half = byoc_cutlass_half_feature(isa);
    for (size_t c = 0; c < cases.count; ++c) {
      case_t *one = &cases.items[c];
      choose_plans(one, isa);
      for (size_t i = 0; i < one->plan_count; ++i) {
        kernels_add(&kernels, &one->problem, &one->plans[i]);
        met[c] |= 1u << one->plans[i].form;
      }
    }
    kernels_compile(&kernels, "-O1");
    const byoc_packed_function_t *functions = kernels.functions;
    for (size_t c = 0; c < cases.count; functions += cases.items[c++].plan_count) run_case(&cases.items[c], functions);
    kernels_end(&kernels);
  }
  for (size_t c = 0; c < cases.count; ++c) {
    // Some forms are those of one instruction set.
    const bool all = byoc_test_is_long() ? met[c] == cases.items[c].forms : (met[c] & ~cases.items[c].forms) == 0;
    if (!all || met[c] == 0) fail_msg("%s: forms %x, not %x", cases.items[c].name, met[c], cases.items[c].forms);
    for (size_t k = 0; k < cases.items[c].tensors_count; ++k) free_tensors(&cases.items[c].tensors[k]);
  }
  cases.count = 0;
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

static byoc_cutlass_problem_t matrices(int64_t m, int64_t n, int64_t k, bool constant_b) {
  return (byoc_cutlass_problem_t){.kind = BYOC_CUTLASS_GEMM,
                                  .gemm = {.m = m, .n = n, .k = k, .constant_b = constant_b},
                                  .epilogue = {.alpha = 1.0f, .beta = 1.0f, .has_bias = true},
                                  .inputs = {0, 1, 2, 3}};
}

static void test_winograd(void **state) {
  (void)state;
  const uint32_t forms = IMPLICIT_GEMM | WINOGRAD | DIRECT;
  byoc_cutlass_problem_t problem = conv(1, 1, 32, 48, 14, 14, 3, 1, 1);
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_case("square", &problem, forms);
  // Sizes that no square, lane or panel divides; groups, batch, residual; rows of squares in several blocks.
  problem = conv(2, 2, 19, 37, 9, 11, 3, 1, 1);
  problem.epilogue.has_residual = true;
  add_case("odd", &problem, forms);
  problem = conv(1, 1, 16, 16, 70, 33, 3, 1, 2);
  problem.epilogue.has_bias = false;
  add_case("padded beyond", &problem, forms);
  // What is padded on the left is cut on the right: more of it than there is of the output.
  problem = conv(1, 1, 16, 16, 5, 1, 3, 1, 1);
  problem.conv.pad_left = 9, problem.conv.out_w = 2;
  add_case("padded past the end", &problem, forms);
  run_cases();
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

static void test_open_batch(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(3, 2, 19, 37, 9, 11, 3, 1, 1);
  problem.epilogue.has_residual = true;
  add_open_case("open, by squares", &problem, IMPLICIT_GEMM | WINOGRAD | DIRECT);
  problem = conv(5, 1, 20, 24, 8, 7, 1, 1, 0);
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_open_case("open, pointwise", &problem, IMPLICIT_GEMM | DIRECT);
  problem = conv(4, 13, 1, 1, 10, 10, 3, 1, 1);
  add_open_case("open, depthwise", &problem, DEPTHWISE);
  problem = conv(0, 1, 20, 24, 8, 7, 1, 1, 0);
  add_open_case("no image", &problem, IMPLICIT_GEMM | DIRECT);
  run_cases();
}

static void test_open_sizes(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(2, 2, 19, 37, 0, 0, 3, 1, 1);
  problem.conv.open_h = problem.conv.open_w = true;
  problem.epilogue.has_residual = true;
  add_open_sizes("sizes, by squares", problem, IMPLICIT_GEMM | WINOGRAD);
  problem = conv(2, 1, 20, 23, 0, 0, 1, 1, 0);
  problem.conv.open_h = problem.conv.open_w = true;
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_open_sizes("sizes, pointwise", problem, IMPLICIT_GEMM);
  problem = conv(1, 1, 70, 24, 0, 0, 3, 2, 1); // deep enough to be split
  problem.conv.open_h = problem.conv.open_w = true;
  add_open_sizes("sizes, strided", problem, IMPLICIT_GEMM);
  problem.conv.in = 3, problem.conv.same = BYOC_CUTLASS_SAME_UPPER;
  add_open_sizes("sizes, the same, upper", problem, IMPLICIT_GEMM);
  problem = conv(1, 1, 160, 224, 0, 0, 3, 1, 1); // all panels in one pass
  problem.conv.open_h = problem.conv.open_w = true;
  add_some_sizes("sizes, large patches", problem, IMPLICIT_GEMM | WINOGRAD, 6, 7);
  problem = conv(1, 1, 6, 9, 0, 0, 3, 1, 2); // a signal: a picture of height 1
  problem.conv.open_w = true;
  problem.conv.kernel_h = problem.conv.dilation_h = 1, problem.conv.pad_top = 0, problem.conv.dilation_w = 2;
  problem.conv.in_h = problem.conv.out_h = 1;
  add_open_sizes("lengths", problem, IMPLICIT_GEMM);
  run_cases();
}

// Kernels that reach far into the padding: blocks of depth that read nothing else are left out, at the beginning, in
// the middle and at the end, for all pictures or for some of their lines.
static void test_dilated(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(1, 1, 300, 20, 33, 6, 3, 1, 12);
  problem.conv.dilation_h = problem.conv.dilation_w = 12, problem.conv.out_h = 33, problem.conv.out_w = 6;
  problem.epilogue.has_residual = true;
  add_case("dilated", &problem, IMPLICIT_GEMM | DIRECT);
  problem = conv(1, 1, 300, 20, 2, 2, 3, 1, 12); // nothing but padding is read
  problem.conv.dilation_h = problem.conv.dilation_w = 24, problem.conv.out_h = problem.conv.out_w = 2;
  problem.conv.pad_top = problem.conv.pad_left = 60;
  add_case("dilated, outside", &problem, IMPLICIT_GEMM | DIRECT);
  problem = conv(2, 1, 200, 20, 0, 0, 3, 1, 12);
  problem.conv.open_h = problem.conv.open_w = true;
  problem.conv.dilation_h = problem.conv.dilation_w = 12;
  add_open_sizes("dilated, sizes", problem, IMPLICIT_GEMM);
  run_cases();
}

static void test_open_sizes_depthwise(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(2, 13, 1, 1, 0, 0, 3, 1, 1);
  problem.conv.open_h = problem.conv.open_w = true;
  problem.epilogue.has_residual = true;
  add_open_sizes("depthwise", problem, DEPTHWISE);
  problem = conv(1, 7, 1, 2, 0, 0, 5, 2, 2);
  problem.conv.open_h = problem.conv.open_w = true;
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_open_sizes("depthwise, strided", problem, DEPTHWISE);
  problem.conv.same = BYOC_CUTLASS_SAME_LOWER;
  add_open_sizes("depthwise, the same", problem, DEPTHWISE);
  problem = conv(2, 9, 1, 1, 0, 0, 3, 1, 1);
  problem.conv.open_w = true;
  problem.conv.kernel_h = 1, problem.conv.pad_top = 0, problem.conv.in_h = problem.conv.out_h = 1;
  add_open_sizes("depthwise, lengths", problem, DEPTHWISE);
  run_cases();
}

static void test_pointwise(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(2, 2, 35, 23, 13, 17, 1, 1, 0);
  problem.epilogue.has_residual = true;
  add_case("pointwise", &problem, IMPLICIT_GEMM | DIRECT);
  problem = conv(1, 1, 33, 64, 3, 3, 1, 1, 0);
  add_case("few pixels", &problem, IMPLICIT_GEMM | DIRECT);
  run_cases();
}

static void test_strided(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(1, 1, 3, 24, 31, 29, 3, 2, 1);
  add_case("first layer", &problem, IMPLICIT_GEMM | DIRECT);
  problem = conv(1, 1, 40, 40, 12, 12, 3, 2, 1);
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_case("strided", &problem, IMPLICIT_GEMM | DIRECT);
  run_cases();
}

static void test_depthwise(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(1, 30, 1, 1, 19, 21, 3, 2, 1);
  add_case("strided", &problem, DEPTHWISE);
  problem = conv(2, 7, 1, 3, 12, 20, 3, 1, 1);
  problem.epilogue.has_residual = true;
  add_case("several filters per channel", &problem, DEPTHWISE);
  problem.conv.pad_top = -1, problem.conv.pad_left = -2, problem.conv.out_h = 8, problem.conv.out_w = 17;
  add_case("a part of the picture", &problem, DEPTHWISE);
  problem = conv(1, 3, 1, 1, 9, 16, 5, 1, 2);
  add_case("rows that fill vectors", &problem, DEPTHWISE);
  problem = conv(1, 3, 1, 1, 17, 18, 3, 1, 3);
  problem.conv.dilation_h = problem.conv.dilation_w = 3;
  add_case("dilated", &problem, DEPTHWISE);
  problem = conv(1, 3, 1, 1, 11, 13, 9, 1, 4);
  add_case("so many taps that they are a loop", &problem, DEPTHWISE);
  run_cases();
}

static void test_negative_pads(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(1, 1, 20, 24, 15, 23, 3, 1, 0);
  problem.conv.pad_top = -2, problem.conv.pad_left = -1, problem.conv.out_h = 11, problem.conv.out_w = 19;
  add_case("3x3", &problem, IMPLICIT_GEMM);
  problem = conv(1, 1, 35, 24, 9, 13, 1, 1, 0);
  problem.conv.pad_top = -1, problem.conv.out_h = 7;
  add_case("pointwise", &problem, IMPLICIT_GEMM);
  run_cases();
}

// What happens to a sum before it is stored, in the forms of convolutions and of matrix products.
static void test_epilogues(void **state) {
  (void)state;
  static const struct {
    const char *name;
    byoc_cutlass_epilogue_t epilogue;
  } rows[] = {
      {"factors", {.alpha = -0.75f, .beta = 0.5f, .has_bias = true, .has_residual = true}},
      {"residual behind the activation",
       {.alpha = 1.0f,
        .beta = 1.0f,
        .has_bias = true,
        .has_residual = true,
        .residual_last = true,
        .activation = BYOC_CUTLASS_ACT_RELU}},
      {"bounds", {.alpha = 2.0f, .beta = 1.0f, .activation = BYOC_CUTLASS_ACT_CLIP, .p0 = -INFINITY, .p1 = 0.25f}},
      {"a bound that is NaN", {.alpha = 1.0f, .beta = 1.0f, .activation = BYOC_CUTLASS_ACT_CLIP, .p0 = NAN, .p1 = 1}},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    byoc_cutlass_problem_t problem = conv(1, 6, 1, 1, 9, 10, 3, 1, 1);
    problem.epilogue = rows[i].epilogue;
    add_case(rows[i].name, &problem, DEPTHWISE);
    problem = matrices(5, 40, 21, true);
    problem.epilogue = rows[i].epilogue;
    add_case(rows[i].name, &problem, FEW_ROWS | WEIGHTS);
    if (!rows[i].epilogue.has_residual) continue; // the same everywhere
    problem.gemm.constant_b = false;
    add_case(rows[i].name, &problem, GEMM);
    problem = conv(1, 1, 16, 16, 9, 10, 3, 1, 1);
    problem.epilogue = rows[i].epilogue;
    add_case(rows[i].name, &problem, IMPLICIT_GEMM | WINOGRAD | DIRECT);
  }
  run_cases();
}

// The mixtures of plain and blocked tensors that the channels allow.
static void add_layouts(const char *name, byoc_cutlass_problem_t problem, uint32_t forms) {
  for (int layout = 1; layout < 4; ++layout) {
    problem.conv.in_blocked = layout & 1, problem.conv.out_blocked = layout >> 1;
    if (problem.conv.in_blocked && problem.conv.in % BYOC_CUTLASS_BLOCK) continue;
    if (problem.conv.out_blocked && problem.conv.out % BYOC_CUTLASS_BLOCK) continue;
    add_case(name, &problem, forms);
  }
}

static void test_blocked(void **state) {
  (void)state;
  // Pixels counted through, the last tile short; panels of two and of one vector; residual and activation.
  byoc_cutlass_problem_t problem = conv(2, 1, 48, 48, 9, 11, 1, 1, 0);
  problem.epilogue.has_residual = true;
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_layouts("blocked pointwise", problem, DIRECT);
  problem = conv(1, 1, 32, 64, 15, 17, 1, 2, 0);
  add_layouts("blocked strided pointwise", problem, DIRECT);
  problem = conv(2, 1, 16, 32, 31, 37, 3, 2, 1);
  add_layouts("blocked strided", problem, DIRECT);
  problem = conv(1, 1, 32, 32, 16, 14, 5, 1, 0);
  problem.conv.dilation_h = 2, problem.conv.out_h = 8;
  add_layouts("blocked without padding", problem, DIRECT);
  problem = conv(1, 1, 3, 64, 25, 33, 7, 2, 3);
  add_layouts("blocked first layer", problem, DIRECT);
  // Padding alone is as wide as what a row of the output reads.
  problem = conv(1, 1, 16, 16, 4, 1, 1, 3, 0);
  problem.conv.pad_left = 2, problem.conv.out_w = 1;
  add_layouts("blocked, padded past the end", problem, DIRECT);
  run_cases();
}

static void test_blocked_winograd(void **state) {
  (void)state;
  // Groups; several images in one block; squares that reach beyond the picture.
  byoc_cutlass_problem_t problem = conv(3, 2, 16, 48, 7, 7, 3, 1, 1);
  problem.epilogue.has_residual = true;
  add_layouts("blocked groups", problem, WINOGRAD | DIRECT);
  problem = conv(1, 1, 32, 80, 13, 18, 3, 1, 1);
  add_layouts("blocked squares", problem, WINOGRAD | DIRECT);
  run_cases();
}

static void test_blocked_depthwise(void **state) {
  (void)state;
  byoc_cutlass_problem_t problem = conv(2, 32, 1, 1, 19, 21, 3, 1, 1);
  problem.conv.in_blocked = problem.conv.out_blocked = true;
  problem.epilogue.has_residual = true;
  add_case("blocked depthwise", &problem, DEPTHWISE);
  problem = conv(1, 16, 1, 1, 12, 9, 5, 2, 2);
  problem.conv.in_blocked = problem.conv.out_blocked = true;
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  add_case("blocked strided depthwise", &problem, DEPTHWISE);
  problem = conv(1, 48, 1, 1, 50, 13, 3, 1, 1); // large enough for bands of rows
  problem.conv.in_blocked = problem.conv.out_blocked = true;
  add_case("blocked depthwise in bands", &problem, DEPTHWISE);
  run_cases();
}

static void test_matrices(void **state) {
  (void)state;
  static const struct {
    const char *name;
    byoc_cutlass_gemm_t gemm;
    uint32_t forms;
  } rows[] = {
      {"row, constant", {.m = 1, .n = 77, .k = 130, .constant_b = true}, FEW_ROWS | WEIGHTS},
      {"row", {.m = 1, .n = 77, .k = 130}, GEMM},
      {"row, transposed", {.m = 1, .n = 77, .k = 130, .transpose_b = true}, DOT},
      {"few rows, constant", {.m = 5, .n = 33, .k = 20, .constant_b = true}, FEW_ROWS | WEIGHTS},
      {"few rows, transposed", {.m = 5, .n = 33, .k = 20, .transpose_b = true}, GEMM},
      {"rows, constant", {.m = 40, .n = 70, .k = 600, .constant_b = true}, WEIGHTS},
      {"rows, transposed", {.m = 40, .n = 70, .k = 600, .transpose_b = true}, GEMM},
      {"rows a power of two apart", {.m = 17, .n = 400, .k = 1024, .constant_b = true}, WEIGHTS},
      {"A transposed, constant", {.m = 20, .n = 50, .k = 37, .transpose_a = true, .constant_b = true}, WEIGHTS},
      {"A transposed, few rows",
       {.m = 3, .n = 50, .k = 70, .transpose_a = true, .constant_b = true},
       FEW_ROWS | WEIGHTS},
      {"both transposed", {.m = 20, .n = 50, .k = 37, .transpose_a = true, .transpose_b = true}, GEMM},
      {"batch", {.m = 9, .n = 18, .k = 25, .batch_rank = 2, .batch = {2, 3}}, GEMM},
      {"batch of rows, transposed",
       {.m = 2, .n = 18, .k = 25, .transpose_b = true, .batch_rank = 1, .batch = {3}},
       DOT},
      {"A repeated",
       {.m = 9, .n = 18, .k = 25, .batch_rank = 2, .batch = {2, 3}, .repeat_a = {false, true}, .constant_b = true},
       FEW_ROWS | WEIGHTS},
      {"B repeated",
       {.m = 30, .n = 18, .k = 25, .batch_rank = 3, .batch = {2, 3, 2}, .repeat_b = {true, false, true}},
       GEMM},
      {"constant B repeated",
       {.m = 30, .n = 18, .k = 25, .batch_rank = 2, .batch = {2, 3}, .repeat_b = {true, false}, .constant_b = true},
       WEIGHTS},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    byoc_cutlass_problem_t problem = matrices(0, 0, 0, false);
    problem.gemm = rows[i].gemm;
    add_case(rows[i].name, &problem, rows[i].forms);
  }
  run_cases();
}

// Which tensors are of 16 bits: all, those that casts in front of the product widen, weights and result.
static void test_half(void **state) {
  (void)state;
  enum { F16 = BYOC_DTYPE_F16, BF16 = BYOC_DTYPE_BF16 };
  static const byoc_cutlass_types_t rows[] = {
      {F16, F16, F16, F16}, {BF16, BF16, BF16, BF16}, {F16, 0, 0, 0}, {0, F16, 0, BF16}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    if ((i == 1 || i == 2) && !byoc_test_is_long()) continue; // the others have both types, alone and mixed
    byoc_cutlass_problem_t problems[18];
    uint32_t forms[18];
    size_t count = 0;
#define ADD(problem, its_forms) problems[count] = problem, forms[count++] = its_forms
    ADD(matrices(1, 77, 130, true), FEW_ROWS | WEIGHTS);
    ADD(matrices(5, 33, 20, true), FEW_ROWS | WEIGHTS);
    ADD(matrices(40, 170, 1100, true), WEIGHTS);
    problems[count - 1].epilogue.has_residual = true;
    ADD(matrices(20, 50, 37, true), WEIGHTS);
    problems[count - 1].gemm.transpose_a = true;
    ADD(matrices(40, 70, 600, false), GEMM);
    ADD(matrices(3, 70, 60, false), GEMM);
    ADD(matrices(20, 50, 37, false), GEMM);
    problems[count - 1].gemm.transpose_a = problems[count - 1].gemm.transpose_b = true;
    ADD(matrices(2, 18, 25, false), DOT);
    problems[count - 1].gemm = (byoc_cutlass_gemm_t){
        .m = 2, .n = 18, .k = 25, .transpose_b = true, .batch_rank = 2, .batch = {2, 3}, .repeat_a = {false, true}};
    ADD(conv(2, 2, 19, 37, 9, 11, 3, 1, 1), IMPLICIT_GEMM | WINOGRAD | DIRECT);
    problems[count - 1].epilogue.has_residual = true;
    ADD(conv(1, 1, 140, 40, 12, 12, 3, 2, 1), IMPLICIT_GEMM | DIRECT);
    ADD(conv(1, 1, 35, 23, 13, 17, 1, 1, 0), IMPLICIT_GEMM | DIRECT);
    ADD(conv(1, 1, 140, 64, 3, 3, 3, 1, 1), IMPLICIT_GEMM | WINOGRAD | DIRECT);
    ADD(conv(1, 7, 1, 2, 12, 20, 3, 1, 1), DEPTHWISE);
    problems[count - 1].epilogue.has_residual = true;
    ADD(conv(1, 30, 1, 1, 19, 21, 5, 2, 2), DEPTHWISE);
#undef ADD
    for (size_t p = 0; p < count; ++p) {
      if (p % 2 != (i == 0) && !byoc_test_is_long()) continue; // each with one of them
      problems[p].types = rows[i];
      add_case("half", &problems[p], forms[p]);
    }
    byoc_cutlass_problem_t open = conv(2, 1, 70, 24, 0, 0, 3, 2, 1); // deep enough to be split
    open.conv.open_h = open.conv.open_w = true;
    open.types = rows[i];
    add_open_sizes("half, sizes", open, IMPLICIT_GEMM);
    open = conv(2, 2, 19, 37, 0, 0, 3, 1, 1);
    open.conv.open_h = open.conv.open_w = true;
    open.types = rows[i];
    add_open_sizes("half, by squares", open, IMPLICIT_GEMM | WINOGRAD);
    run_cases();
  }
}

// Weights of 16 bits are widened once for all rows from 12 rows on, and where sums of two vectors do not fit.
static void test_many_rows_by_half_weights_are_tiles(void **state) {
  (void)state;
  const struct {
    int64_t m;
    uint32_t weights, form;
  } rows[] = {{11, BYOC_DTYPE_F16, BYOC_CUTLASS_FORM_FEW_ROWS},
              {12, BYOC_DTYPE_F16, BYOC_CUTLASS_FORM_WEIGHTS},
              {16, BYOC_DTYPE_BF16, BYOC_CUTLASS_FORM_WEIGHTS},
              {16, BYOC_DTYPE_F32, BYOC_CUTLASS_FORM_FEW_ROWS},
              {17, BYOC_DTYPE_F32, BYOC_CUTLASS_FORM_WEIGHTS}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    byoc_cutlass_problem_t problem = matrices(rows[i].m, 77, 130, true);
    byoc_cutlass_plan_t plan;
    problem.types.weights = rows[i].weights;
    byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 1, true, &plan);
    assert_int_equal(plan.form, rows[i].form);
    byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX2, 1, true, &plan);
    assert_int_equal(plan.form, BYOC_CUTLASS_FORM_WEIGHTS);
  }
}

// Forgets what a test that failed has left.
static int start(void **state) {
  (void)state;
  cases.count = 0;
  return 0;
}

// cutlass_plans [PATTERN]: the tests whose name matches.
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_winograd, start),
      cmocka_unit_test_setup(test_winograd_forbidden, start),
      cmocka_unit_test_setup(test_open_batch, start),
      cmocka_unit_test_setup(test_open_sizes, start),
      cmocka_unit_test_setup(test_dilated, start),
      cmocka_unit_test_setup(test_open_sizes_depthwise, start),
      cmocka_unit_test_setup(test_pointwise, start),
      cmocka_unit_test_setup(test_strided, start),
      cmocka_unit_test_setup(test_depthwise, start),
      cmocka_unit_test_setup(test_negative_pads, start),
      cmocka_unit_test_setup(test_epilogues, start),
      cmocka_unit_test_setup(test_blocked, start),
      cmocka_unit_test_setup(test_blocked_winograd, start),
      cmocka_unit_test_setup(test_blocked_depthwise, start),
      cmocka_unit_test_setup(test_matrices, start),
      cmocka_unit_test_setup(test_half, start),
      cmocka_unit_test(test_many_rows_by_half_weights_are_tiles),
  };
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
