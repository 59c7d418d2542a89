// SPDX-License-Identifier: Apache-2.0
// Operators on NaN, infinities, subnormal numbers and signed zeros, at each lane of a vector and in the rest behind the
// last whole one, compiled for a target list and evaluated, against plain functions of ONNX's text: NaN in, NaN out.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/loader/loader.h"
#include "tests/random/pipeline.h"

enum { ROWS = 4, WIDTH = 83, COUNT = ROWS * WIDTH, DEPTH = 24, CHANNELS = 3, HIGH = 19, WIDE = 21 };
enum { PLANE = HIGH * WIDE, PICTURE = CHANNELS * PLANE, MOST_OUT = 4096, ROUNDS = 33 };

// `x` and `z` have many special values, `s` and `p` one here and there, so that reductions are not NaN everywhere.
typedef struct data_t {
  float x[COUNT], z[COUNT], s[COUNT], p[PICTURE];
} data_t;

static const float special[] = {NAN,  INFINITY, -INFINITY, 1e-40f,  -1e-40f, 0.0f,  -0.0f,
                                -NAN, 1e-45f,   100.0f,    -110.0f, 3e38f,   -3e38f};
enum { SPECIALS = sizeof(special) / sizeof(special[0]), STRONGEST = 3 };

static void draw(data_t *data, int round) {
  byoc_test_random_t random = {(uint64_t)round + 1};
  for (int i = 0; i < COUNT; ++i) {
    data->x[i] = data->s[i] = (float)byoc_test_below(&random, 4001) / 1000.0f - 2.0f;
    data->z[i] = (float)byoc_test_below(&random, 4001) / 1000.0f - 2.0f;
    if (i % 3 == round % 3) data->x[i] = special[(i + round) % SPECIALS];
    if (i % 5 == round % 5) data->z[i] = special[(i / 5 + round) % SPECIALS];
  }
  for (int r = 1; r < ROWS; ++r) data->s[r * WIDTH + (round * 7 + r) % WIDTH] = special[(round + r) % STRONGEST];
  for (int i = 0; i < PICTURE; ++i) data->p[i] = (float)byoc_test_below(&random, 4001) / 1000.0f - 2.0f;
  for (int c = 0; c < CHANNELS; ++c)
    data->p[c * PLANE + (round * 13 + c * 5) % PLANE] = special[(round + c) % STRONGEST];
}

// ---- what ONNX says of an element ----

static double larger(double a, double b) {
  return isnan(a) || a > b ? a : b;
}
static double smaller(double a, double b) {
  return isnan(a) || a < b ? a : b;
}
static double clip(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

#define POINT(name, ...)                                                                                               \
  static double name(double x) {                                                                                       \
    return __VA_ARGS__;                                                                                                \
  }
POINT(relu, x < 0 ? 0 : x)
POINT(leaky_relu, x < 0 ? (double)0.01f * x : x)
POINT(elu, x < 0 ? expm1(x) : x)
POINT(selu, 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * expm1(x)))
POINT(celu, larger(x, 0) + smaller(expm1(x), 0))
POINT(hard_sigmoid, clip(0.2 * x + 0.5, 0, 1))
POINT(hard_swish, x *clip(x / 6 + 0.5, 0, 1))
POINT(thresholded_relu, x > 1 ? x : 0)
POINT(sigmoid, 1 / (1 + exp(-x)))
POINT(softplus, larger(x, 0) + log1p(exp(-fabs(x))))
POINT(softsign, isinf(x) ? (double)NAN : x / (1 + fabs(x)))
POINT(sign, x > 0 ? 1 : x < 0 ? -1 : x)
POINT(gelu, 0.5 * x * (1 + erf(x / sqrt(2.0))))
POINT(mish, x *tanh(softplus(x)))
POINT(reciprocal, 1 / x)
POINT(negative, -x)
POINT(bounded, clip(x, -0.5, 0.5))
POINT(at_least, clip(x, -0.5, (double)3.40282347e38f))
POINT(at_most, clip(x, -(double)3.40282347e38f, 0.5))
POINT(to_six, clip(x, 0, 6))

typedef struct row_t {
  const char *node; // "Relu@14(%x)", the operator on the operand that the way of its row names
  const char *type;
  void (*expect)(const struct row_t *row, const data_t *data, float *y);
  double (*point)(double x);
  int size[6]; // kernel, strides, pad, dilation of a window; or columns
  double (*pair)(double x, double z);
} row_t;

static void each(const row_t *row, const data_t *data, float *y) {
  for (int i = 0; i < COUNT; ++i) y[i] = (float)row->point((double)data->x[i]);
}

static void both(const row_t *row, const data_t *data, float *y) {
  for (int i = 0; i < COUNT; ++i) y[i] = (float)row->pair((double)data->x[i], (double)data->z[i]);
}

static double add(double x, double z) {
  return x + z;
}
static double multiply(double x, double z) {
  return (double)((float)x * (float)z);
}

static void fold(const row_t *row, const data_t *data, float *y) {
  for (int r = 0; r < ROWS; ++r) {
    double sum = (double)data->s[r * WIDTH];
    for (int k = 1; k < WIDTH; ++k) sum = row->pair(sum, (double)data->s[r * WIDTH + k]);
    y[r] = (float)sum;
  }
}

static void softmax(const row_t *row, const data_t *data, float *y) {
  for (int r = 0; r < ROWS; ++r) {
    const float *x = data->s + r * WIDTH;
    double most = (double)x[0], sum = 0;
    for (int k = 1; k < WIDTH; ++k) most = larger(most, (double)x[k]);
    for (int k = 0; k < WIDTH; ++k) sum += exp((double)x[k] - most);
    for (int k = 0; k < WIDTH; ++k) {
      const double shifted = (double)x[k] - most;
      y[r * WIDTH + k] = (float)(row->size[0] ? shifted - log(sum) : exp(shifted) / sum);
    }
  }
}

// The first of the largest, where NaN is larger than any number.
static void hardmax(const row_t *row, const data_t *data, float *y) {
  (void)row;
  for (int r = 0; r < ROWS; ++r) {
    int at = 0;
    for (int k = 1; k < WIDTH; ++k) {
      const float best = data->s[r * WIDTH + at], x = data->s[r * WIDTH + k];
      if (!isnan(best) && (isnan(x) || x > best)) at = k;
    }
    for (int k = 0; k < WIDTH; ++k) y[r * WIDTH + k] = k == at;
  }
}

// By weights of 1/4.
static void product(const row_t *row, const data_t *data, float *y) {
  for (int r = 0; r < ROWS; ++r) {
    double sum = 0;
    for (int k = 0; k < WIDTH; ++k) sum += 0.25 * (double)data->s[r * WIDTH + k];
    for (int k = 0; k < DEPTH; ++k) y[r * DEPTH + k] = (float)row->point(sum);
  }
}

typedef struct window_t {
  int high, wide; // of the result
} window_t;

static window_t window_of(const row_t *row) {
  const int *s = row->size, reach_h = (s[0] - 1) * s[4] + 1, reach_w = (s[1] - 1) * s[4] + 1;
  return (window_t){(HIGH + 2 * s[3] - reach_h) / s[2] + 1, (WIDE + 2 * s[3] - reach_w) / s[2] + 1};
}

// Folds the window of a result in one channel.
static double slide(const row_t *row, const float *p, int at, int wide, double start) {
  const int *s = row->size;
  double sum = start;
  for (int tap = 0; tap < s[0] * s[1]; ++tap) {
    const int h = at / wide * s[2] - s[3] + tap / s[1] * s[4], w = at % wide * s[2] - s[3] + tap % s[1] * s[4];
    if (h >= 0 && h < HIGH && w >= 0 && w < WIDE) sum = row->pair(sum, (double)p[h * WIDE + w]);
  }
  return sum;
}

static void pool(const row_t *row, const data_t *data, float *y) {
  const window_t out = window_of(row);
  for (int c = 0; c < CHANNELS; ++c)
    for (int i = 0; i < out.high * out.wide; ++i)
      y[c * out.high * out.wide + i] = (float)slide(row, data->p + c * PLANE, i, out.wide, -(double)INFINITY);
}

// By weights of 1/4, into as many channels as size[5] says: of all of the input's, or by channel where there are three.
static void convolve(const row_t *row, const data_t *data, float *y) {
  const window_t out = window_of(row);
  for (int c = 0; c < row->size[5]; ++c) {
    for (int i = 0; i < out.high * out.wide; ++i) {
      double sum = 0;
      for (int k = 0; k < CHANNELS; ++k)
        if (row->size[5] != CHANNELS || k == c) sum = slide(row, data->p + k * PLANE, i, out.wide, sum);
      y[c * out.high * out.wide + i] = (float)row->point(0.25 * sum);
    }
  }
}

#define FULL "f32[4,83]"
#define EACH(node, f)                                                                                                  \
  { node, FULL, each, f, {0}, NULL }
#define BOTH(node, f)                                                                                                  \
  { node, FULL, both, NULL, {0}, f }
#define PRODUCT   "%a = MatMul@13(%s, @w) : f32[4,24]; "
#define CONV      "%a = Conv@11(%p, @k) {pads = [1, 1, 1, 1]} : f32[1,16,19,21]; "
#define POINTWISE "%a = Conv@11(%p, @k1) : f32[1,16,19,21]; "
#define DEPTHWISE "%a = Conv@11(%p, @kd) {group = 3, pads = [1, 1, 1, 1]} : f32[1,3,19,21]; "
#define CONVOLVED "f32[1,16,19,21]"

static const row_t rows[] = {
    EACH("Relu@14(%x)", relu),
    EACH("LeakyRelu@16(%x)", leaky_relu),
    EACH("Elu@22(%x)", elu),
    EACH("Selu@22(%x)", selu),
    EACH("Celu@12(%x)", celu),
    EACH("HardSigmoid@22(%x)", hard_sigmoid),
    EACH("HardSwish@22(%x)", hard_swish),
    EACH("ThresholdedRelu@22(%x)", thresholded_relu),
    EACH("Sigmoid@13(%x)", sigmoid),
    EACH("Tanh@13(%x)", tanh),
    EACH("Softplus@22(%x)", softplus),
    EACH("Softsign@22(%x)", softsign),
    EACH("Exp@13(%x)", exp),
    EACH("Log@13(%x)", log),
    EACH("Sqrt@13(%x)", sqrt),
    EACH("Abs@13(%x)", fabs),
    EACH("Neg@13(%x)", negative),
    EACH("Sign@13(%x)", sign),
    EACH("Floor@13(%x)", floor),
    EACH("Ceil@13(%x)", ceil),
    EACH("Round@22(%x)", rint),
    EACH("Erf@13(%x)", erf),
    EACH("Gelu@20(%x)", gelu),
    EACH("Mish@22(%x)", mish),
    EACH("Reciprocal@13(%x)", reciprocal),
    EACH("Sin@22(%x)", sin),
    EACH("Cos@22(%x)", cos),
    EACH("Atan@22(%x)", atan),
    EACH("Clip@13(%x, @low, @high)", bounded),
    EACH("Clip@13(%x, @low)", at_least),
    EACH("Clip@13(%x, _, @high)", at_most),
    EACH("Clip@13(%x, %low, %high)", bounded),
    BOTH("Max@13(%x, %z)", larger),
    BOTH("Min@13(%x, %z)", smaller),
    BOTH("Max@13(%z, %x)", larger),
    BOTH("Min@13(%z, %x, %z)", smaller),
    BOTH("Add@14(%x, %z)", add),
    BOTH("Mul@14(%x, %z)", multiply),
    {"ReduceMax@20(%s, @one)", "f32[4,1]", fold, NULL, {0}, larger},
    {"ReduceMin@20(%s, @one)", "f32[4,1]", fold, NULL, {0}, smaller},
    {"ReduceSum@13(%s, @one)", "f32[4,1]", fold, NULL, {0}, add},
    {"Softmax@13(%s)", FULL, softmax, NULL, {0}, NULL},
    {"LogSoftmax@13(%s)", FULL, softmax, NULL, {1}, NULL},
    {"Hardmax@13(%s)", FULL, hardmax, NULL, {0}, NULL},
    {PRODUCT "Relu@14(%a)", "f32[4,24]", product, relu, {0}, NULL},
    {PRODUCT "Clip@13(%a, @zero, @six)", "f32[4,24]", product, to_six, {0}, NULL},
    {PRODUCT "HardSwish@22(%a)", "f32[4,24]", product, hard_swish, {0}, NULL},
    {PRODUCT "Gelu@20(%a)", "f32[4,24]", product, gelu, {0}, NULL},
    {CONV "Relu@14(%a)", CONVOLVED, convolve, relu, {3, 3, 1, 1, 1, 16}, add},
    {CONV "Clip@13(%a, @zero, @six)", CONVOLVED, convolve, to_six, {3, 3, 1, 1, 1, 16}, add},
    {POINTWISE "HardSigmoid@22(%a)", CONVOLVED, convolve, hard_sigmoid, {1, 1, 1, 0, 1, 16}, add},
    {POINTWISE "Relu@14(%a)", CONVOLVED, convolve, relu, {1, 1, 1, 0, 1, 16}, add},
    {DEPTHWISE "Clip@13(%a, @zero, @six)", "f32[1,3,19,21]", convolve, to_six, {3, 3, 1, 1, 1, 3}, add},
    {"MaxPool@22(%p) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}",
     "f32[1,3,10,11]",
     pool,
     NULL,
     {3, 3, 2, 1, 1},
     larger},
    {"MaxPool@22(%p) {kernel_shape = [2, 2], strides = [2, 2]}", "f32[1,3,9,10]", pool, NULL, {2, 2, 2, 0, 1}, larger},
    {"MaxPool@22(%p) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}",
     "f32[1,3,19,21]",
     pool,
     NULL,
     {3, 3, 1, 1, 1},
     larger},
    {"MaxPool@22(%p) {dilations = [2, 2], kernel_shape = [2, 2]}",
     "f32[1,3,17,19]",
     pool,
     NULL,
     {2, 2, 1, 0, 2},
     larger},
    {"MaxPool@22(%p) {kernel_shape = [5, 1]}", "f32[1,3,15,21]", pool, NULL, {5, 1, 1, 0, 1}, larger},
    {"MaxPool@22(%p) {kernel_shape = [1, 4]}", "f32[1,3,19,18]", pool, NULL, {1, 4, 1, 0, 1}, larger},
    {"MaxPool@22(%p) {kernel_shape = [18, 18]}", "f32[1,3,2,4]", pool, NULL, {18, 18, 1, 0, 1}, larger},
    {"GlobalMaxPool@22(%p)", "f32[1,3,1,1]", pool, NULL, {HIGH, WIDE, 1, 0, 1}, larger},
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

// ---- the model ----

// The nodes of a row; %a becomes a name of its own.
static void write_row(FILE *file, int index) {
  const char *last = strstr(rows[index].node, "; ");
  last = last != NULL ? last + 2 : rows[index].node;
  char text[400];
  size_t length = 0;
  for (const char *at = rows[index].node; at <= last + strlen(last); ++at) {
    if (at == last) length += (size_t)snprintf(text + length, sizeof(text) - length, "%%y%d = ", index);
    if (strncmp(at, "%a", 2) == 0) {
      length += (size_t)snprintf(text + length, sizeof(text) - length, "%%a%d", index);
      at += 1;
    } else {
      text[length++] = *at == ';' ? '\n' : *at;
    }
  }
  fprintf(file, "    %s : %s\n", text, rows[index].type);
}

static char *write_model(const char *folder) {
  char *path = byoc_path_join(byoc_allocator_system(), folder, "wild.byoc");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("module {opset_import. = 22} {\n  constant @w : f32[83,24] = splat 0.25\n"
        "  constant @k : f32[16,3,3,3] = splat 0.25\n  constant @k1 : f32[16,3,1,1] = splat 0.25\n"
        "  constant @kd : f32[3,1,3,3] = splat 0.25\n  constant @low : f32[] = splat -0.5\n"
        "  constant @high : f32[] = splat 0.5\n  constant @zero : f32[] = splat 0.0\n"
        "  constant @six : f32[] = splat 6.0\n  constant @one : i64[1] = splat 1\n"
        "  func @main(%x : f32[4,83], %z : f32[4,83], %s : f32[4,83], %p : f32[1,3,19,21], %low : f32[],\n"
        "             %high : f32[]) -> (",
        file);
  for (int i = 0; i < ROW_COUNT; ++i) fprintf(file, "%s%%y%d : %s", i > 0 ? ", " : "", i, rows[i].type);
  fputs(") {\n", file);
  for (int i = 0; i < ROW_COUNT; ++i) write_row(file, i);
  fputs("    return ", file);
  for (int i = 0; i < ROW_COUNT; ++i) fprintf(file, "%s%%y%d", i > 0 ? ", " : "", i);
  fputs("\n  }\n}\n", file);
  assert_int_equal(fclose(file), 0);
  return path;
}

// ---- the runs ----

static bool is_right(float got, float expected) {
  if (isnan(expected) || isinf(expected)) return isnan(expected) ? isnan(got) : got == expected;
  return fabsf(got - expected) <= 1e-4f * fabsf(expected) + 2e-5f;
}

static size_t compare(const pipeline_t *pipeline, void **outputs, const data_t *data, const char *way) {
  static float expected[16 * PLANE];
  size_t wrong = 0;
  for (int i = 0; i < ROW_COUNT; ++i) {
    const int64_t count = byoc_type_element_count(pipeline->build.result.program->outputs.data[i]->type);
    const float *got = outputs[i];
    rows[i].expect(&rows[i], data, expected);
    for (int64_t k = 0; k < count; ++k) {
      if (is_right(got[k], expected[k])) continue;
      fprintf(stderr, "%s, %s: element %lld is %g, not %g\n", way, rows[i].node, (long long)k, (double)got[k],
              (double)expected[k]);
      wrong += 1;
      break;
    }
  }
  return wrong;
}

static void put_inputs(void **inputs, const data_t *data) {
  memcpy(inputs[0], data->x, sizeof(data->x));
  memcpy(inputs[1], data->z, sizeof(data->z));
  memcpy(inputs[2], data->s, sizeof(data->s));
  memcpy(inputs[3], data->p, sizeof(data->p));
  *(float *)inputs[4] = -0.5f;
  *(float *)inputs[5] = 0.5f;
}

static const char *targets = "c";

// The model of all rows, built for the targets, evaluated and loaded.
typedef struct special_values_t {
  pipeline_t pipeline;
  pipeline_buffers_t buffers;
  byoc_loaded_artifact_t artifact;
  char *folder, *model, *path;
} special_values_t;

static void special_open(special_values_t *w) {
  byoc_diag_t diag = {0};
  w->folder = byoc_test_folder();
  w->model = write_model(w->folder);
  w->path = byoc_path_join(byoc_allocator_system(), w->folder, "wild.so");
  byoc_test_ok(pipeline_open_file(&w->pipeline, w->model, targets, &diag), &diag);
  byoc_test_ok(pipeline_buffers_init(&w->pipeline, &w->buffers, &diag), &diag);
  const byoc_compose_options_t compose = {.output = w->path, .model_name = "wild"};
  byoc_test_ok(byoc_build_compose(&w->pipeline.build, &compose, &diag), &diag);
  byoc_test_ok(byoc_artifact_load(w->path, &diag, &w->artifact), &diag);
}

static void special_close(special_values_t *w) {
  byoc_artifact_unload(&w->artifact);
  pipeline_buffers_deinit(&w->pipeline, &w->buffers);
  pipeline_close(&w->pipeline);
  (void)byoc_remove_tree(w->folder, NULL);
  free(w->path);
  free(w->model);
  free(w->folder);
}

static void special_run(special_values_t *w, byoc_context_t *context) {
  const void *const *inputs = (const void *const *)w->buffers.inputs;
  assert_int_equal(w->artifact.table->run(context, inputs, w->buffers.outputs), BYOC_OK);
}

static void test_special_values(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  special_values_t w;
  special_open(&w);
  size_t wrong = 0;
  for (int32_t threads = 1; threads <= 2; ++threads) {
    const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = threads};
    byoc_context_t *context = NULL;
    assert_int_equal(w.artifact.table->create(&options, &context), BYOC_OK);
    for (int round = 0; round < ROUNDS; ++round) {
      static data_t data;
      draw(&data, round);
      put_inputs(w.buffers.inputs, &data);
      special_run(&w, context);
      wrong += compare(&w.pipeline, w.buffers.outputs, &data, threads == 1 ? "compiled" : "compiled, 2 threads");
      if (round % 16 != 5 || threads > 1) continue;
      byoc_test_ok(pipeline_run_evaluated(&w.pipeline, &w.buffers, &diag), &diag);
      wrong += compare(&w.pipeline, w.buffers.outputs, &data, "evaluated");
    }
    w.artifact.table->destroy(context);
  }
  special_close(&w);
  assert_int_equal(wrong, 0);
}

// With the context's option, subnormal numbers are zeros on each thread; without it they are numbers, and the caller's
// own mode is as it was.
static void test_flushed(void **state) {
  (void)state;
  enum { ADD = 36 };
  assert_string_equal(rows[ADD].node, "Add@14(%x, %z)");
  special_values_t w;
  special_open(&w);
  for (int i = 0; i < COUNT; ++i) ((float *)w.buffers.inputs[0])[i] = 1e-40f;
  for (int run = 0; run < 4; ++run) {
    const bool flushes = run % 2 == 1;
    const byoc_context_options_t options = {
        .struct_size = sizeof(options), .thread_count = 1 + run / 2, .flush_subnormals = flushes};
    byoc_context_t *context = NULL;
    assert_int_equal(w.artifact.table->create(&options, &context), BYOC_OK);
    special_run(&w, context);
    w.artifact.table->destroy(context);
    const float *sum = w.buffers.outputs[ADD];
    for (int i = 0; i < COUNT; ++i) assert_true((sum[i] == 0) == flushes);
    volatile float half = 1e-40f;
    half = half * 0.5f;
    assert_true(half > 0);
  }
  const byoc_context_options_t wrong = {.struct_size = sizeof(wrong), .flush_subnormals = 2};
  byoc_context_t *context = NULL;
  assert_int_equal(w.artifact.table->create(&wrong, &context), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(w.artifact.table->last_error(NULL), "flush_subnormals is 2"));
  special_close(&w);
}

int main(int argc, char **argv) {
  if (argc > 1) targets = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_special_values), cmocka_unit_test(test_flushed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
