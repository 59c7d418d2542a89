// SPDX-License-Identifier: Apache-2.0
// What the kernels of `cutlass -device=cuda` compute, written down a second time from what their templates promise
// (plugins/cutlass_like/cuda/templates): a name says the kind, the layouts and the activation, as in
// "cutlass_gemm_nt_relu_0123456789abcdef", parameters say the rest. A product is computed by the first work-group.
#include "tests/devices/cuda/stub_cutlass.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int64_t integer(const sim_group_t *group, uint32_t index) {
  return group->arguments[index].integer;
}
static float real(const sim_group_t *group, uint32_t index) {
  return (float)group->arguments[index].real;
}
static float *floats(const sim_group_t *group, uint32_t index) {
  return group->arguments[index].data;
}

static float plain(float x) {
  return x;
}
static float relu(float x) {
  return x > 0 ? x : 0;
}
static float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}
static float gelu(float x) {
  return 0.5f * x * (1 + erff(x * 0.70710678f));
}
static float gelu_tanh(float x) {
  return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
static float hard_swish(float x) {
  return x * fminf(fmaxf(x / 6 + 0.5f, 0), 1);
}
static float silu(float x) {
  return x / (1 + expf(-x));
}

typedef float (*activation_t)(float x);

// Of "relu_0123456789abcdef".
static activation_t find_activation(const char *text) {
  static const struct {
    const char *name;
    activation_t activation;
  } rows[] = {
      {"plain", plain}, {"relu", relu},           {"sigmoid", sigmoid},       {"tanh", tanhf},
      {"gelu", gelu},   {"gelu_tanh", gelu_tanh}, {"hard_swish", hard_swish}, {"silu", silu},
  };
  const char *end = strrchr(text, '_');
  for (size_t i = 0; end && i < sizeof(rows) / sizeof(rows[0]); ++i) {
    size_t size = strlen(rows[i].name);
    if (size == (size_t)(end - text) && strncmp(rows[i].name, text, size) == 0) return rows[i].activation;
  }
  return NULL;
}

// (a, b, c, d, m, n, k, step_a, step_b, step_c, batch_a, batch_b, batch_c, alpha, beta); a matrix for each group z.
static bool run_gemm(const char *layouts, const sim_group_t *group) {
  activation_t activation = find_activation(layouts + 3);
  int64_t m = integer(group, 4), n = integer(group, 5), k = integer(group, 6), z = group->group[2];
  int64_t step_a = integer(group, 7), step_b = integer(group, 8), step_c = integer(group, 9);
  const float *a = floats(group, 0) + z * integer(group, 10), *b = floats(group, 1) + z * integer(group, 11);
  const float *c = floats(group, 2) + z * integer(group, 12);
  float *d = floats(group, 3) + z * m * n;
  if (!activation) return false;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += (double)a[layouts[0] == 't' ? l * step_a + i : i * step_a + l] *
               (double)b[layouts[1] == 't' ? j * step_b + l : l * step_b + j];
      }
      float addend = real(group, 14) != 0 ? real(group, 14) * c[i * step_c + j] : 0;
      d[i * n + j] = activation(real(group, 13) * (float)sum + addend);
    }
  }
  return true;
}

// (x, w, c, d, n, h, width, channels, k, r, s, p, q, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w,
// has_rows, beta): x, c and d are NHWC, w is KRSC.
static bool run_conv(const char *layouts, const sim_group_t *group) {
  activation_t activation = find_activation(layouts + 3);
  int64_t images = integer(group, 4), height = integer(group, 5), width = integer(group, 6);
  int64_t channels = integer(group, 7), outs = integer(group, 8), rows = integer(group, 9),
          columns = integer(group, 10);
  int64_t out_height = integer(group, 11), out_width = integer(group, 12);
  const float *x = floats(group, 0), *w = floats(group, 1), *c = floats(group, 2);
  float *d = floats(group, 3);
  if (!activation) return false;
  for (int64_t pixel = 0; pixel < images * out_height * out_width; ++pixel) {
    int64_t image = pixel / (out_height * out_width), p = pixel / out_width % out_height, q = pixel % out_width;
    for (int64_t out = 0; out < outs; ++out) {
      double sum = 0;
      for (int64_t tap = 0; tap < rows * columns; ++tap) {
        int64_t y = p * integer(group, 15) - integer(group, 13) + tap / columns * integer(group, 17);
        int64_t at = q * integer(group, 16) - integer(group, 14) + tap % columns * integer(group, 18);
        if (y < 0 || y >= height || at < 0 || at >= width) continue;
        const float *from = x + ((image * height + y) * width + at) * channels;
        const float *weights = w + (out * rows * columns + tap) * channels;
        for (int64_t i = 0; i < channels; ++i) sum += (double)from[i] * (double)weights[i];
      }
      float addend = real(group, 20) != 0 ? real(group, 20) * c[integer(group, 19) ? pixel * outs + out : out] : 0;
      d[pixel * outs + out] = activation((float)sum + addend);
    }
  }
  return true;
}

// (x, y, bias, rows, columns, factor, has_bias): tiles of 32 by 32 for each work-group.
static void run_turn(const sim_group_t *group) {
  int64_t rows = integer(group, 3), columns = integer(group, 4), first = group->group[2] * rows * columns;
  const float *x = floats(group, 0) + first;
  float *y = floats(group, 1) + first;
  for (int64_t i = 0; i < 32 * 32; ++i) {
    int64_t row = group->group[1] * INT64_C(32) + i / 32, column = group->group[0] * INT64_C(32) + i % 32;
    if (row >= rows || column >= columns) continue;
    float bias = integer(group, 6) ? floats(group, 2)[row] : 0;
    y[column * rows + row] = x[row * columns + column] * real(group, 5) + bias;
  }
}

// (x, y, bias, columns, count, factor)
static void run_join(const sim_group_t *group) {
  SIM_FOR_ITEMS(group, i, integer(group, 4)) {
    floats(group, 1)[i] = floats(group, 0)[i] * real(group, 5) + floats(group, 2)[i % integer(group, 3)];
  }
}

bool stub_cutlass_run(const char *name, const sim_group_t *group) {
  static const char gemm[] = "cutlass_gemm_", conv[] = "cutlass_conv_";
  bool is_first = group->group[0] == 0 && group->group[1] == 0;
  if (strcmp(name, "cuda_turn") == 0)
    run_turn(group);
  else if (strcmp(name, "cuda_join") == 0)
    run_join(group);
  else if (strncmp(name, gemm, strlen(gemm)) == 0)
    return !is_first || run_gemm(name + strlen(gemm), group);
  else if (strncmp(name, conv, strlen(conv)) == 0)
    return !is_first || run_conv(name + strlen(conv), group);
  else
    return false;
  return true;
}
