// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and Im2Col against loops written out here.
#include "tests/unit/ops/ops_support.h"

typedef struct {
  int n, c, h, w, m, group, kh, kw, sh, sw, dh, dw, pads[4];
} window_t;

static int out_size(int in, int k, int s, int d, int p0, int p1) {
  return (in + p0 + p1 - ((k - 1) * d + 1)) / s + 1;
}
static int out_h(const window_t *t) {
  return out_size(t->h, t->kh, t->sh, t->dh, t->pads[0], t->pads[2]);
}
static int out_w(const window_t *t) {
  return out_size(t->w, t->kw, t->sw, t->dw, t->pads[1], t->pads[3]);
}

static void attributes_of(const window_t *t, char *text, size_t size) {
  snprintf(text, size, "kernel_shape = [%d, %d], strides = [%d, %d], dilations = [%d, %d], pads = [%d, %d, %d, %d]",
           t->kh, t->kw, t->sh, t->sw, t->dh, t->dw, t->pads[0], t->pads[1], t->pads[2], t->pads[3]);
}

// x at output (oy, ox), tap (ky, kx); 0 and *inside false in the padding.
static float tap(const window_t *t, const float *x, int n, int c, int oy, int ox, int ky, int kx, bool *inside) {
  int y = oy * t->sh + ky * t->dh - t->pads[0], at = ox * t->sw + kx * t->dw - t->pads[1];
  *inside = y >= 0 && y < t->h && at >= 0 && at < t->w;
  return *inside ? x[((n * t->c + c) * t->h + y) * t->w + at] : 0.0f;
}

static void run_conv(const window_t *t) {
  int oh = out_h(t), ow = out_w(t), cg = t->c / t->group, mg = t->m / t->group;
  size_t x_count = (size_t)(t->n * t->c * t->h * t->w), w_count = (size_t)(t->m * cg * t->kh * t->kw);
  size_t y_count = (size_t)(t->n * t->m * oh * ow);
  float *x = malloc(x_count * sizeof *x), *w = malloc(w_count * sizeof *w), *b = malloc((size_t)t->m * sizeof *b);
  float *expected = malloc(y_count * sizeof *expected);
  assert_true(x && w && b && expected);
  ops_fill(x, x_count, 1), ops_fill(w, w_count, 2), ops_fill(b, (size_t)t->m, 3);
  for (int n = 0; n < t->n; ++n)
    for (int m = 0; m < t->m; ++m)
      for (int oy = 0; oy < oh; ++oy)
        for (int ox = 0; ox < ow; ++ox) {
          double sum = b[m];
          for (int c = 0; c < cg; ++c)
            for (int ky = 0; ky < t->kh; ++ky)
              for (int kx = 0; kx < t->kw; ++kx) {
                bool inside = false;
                double value = tap(t, x, n, m / mg * cg + c, oy, ox, ky, kx, &inside);
                sum += value * w[((m * cg + c) * t->kh + ky) * t->kw + kx];
              }
          expected[((n * t->m + m) * oh + oy) * ow + ox] = sum < 0 ? 0.0f : (float)sum;
        }
  char attributes[256], text[1024];
  attributes_of(t, attributes, sizeof attributes);
  // With Relu behind it, so that the store goes through an epilogue.
  snprintf(
      text, sizeof text,
      "module {\n  func @main(%%x : f32[%d,%d,%d,%d], %%w : f32[%d,%d,%d,%d], %%b : f32[%d]) -> (%%y : ?) {\n"
      "    %%c = Conv@11(%%x, %%w, %%b) {%s, group = %d} : ?\n    %%y = Relu@14(%%c) : ?\n    return %%y\n  }\n}\n",
      t->n, t->c, t->h, t->w, t->m, cg, t->kh, t->kw, t->m, attributes, t->group);
  ops_run_t run;
  ops_run(text, (const void *const[]){x, w, b}, &run);
  ops_near(ops_result(&run, 0), expected, y_count, text);
  ops_done(&run);
  free(x), free(w), free(b), free(expected);
}

static void test_conv(void **state) {
  (void)state;
  static const window_t cases[] = {
      {1, 3, 7, 9, 10, 1, 3, 3, 1, 1, 1, 1, {1, 1, 1, 1}},    // rows left over
      {2, 8, 9, 9, 16, 2, 3, 3, 2, 2, 1, 1, {1, 0, 2, 1}},    // groups, strides, uneven pads
      {1, 70, 5, 5, 9, 1, 1, 1, 1, 1, 1, 1, {0, 0, 0, 0}},    // pointwise
      {1, 12, 7, 7, 9, 3, 1, 1, 2, 2, 1, 1, {0, 0, 0, 0}},    // pointwise with strides
      {1, 40, 6, 6, 6, 1, 3, 3, 1, 1, 1, 1, {1, 1, 1, 1}},    // more than one panel deep
      {1, 4, 12, 13, 70, 1, 3, 3, 1, 1, 2, 2, {2, 2, 2, 2}},  // dilated, more than one block of rows
      {1, 6, 8, 70, 6, 6, 3, 3, 1, 1, 1, 1, {1, 1, 1, 1}},    // depthwise, longer than one stretch
      {2, 4, 9, 8, 8, 4, 5, 3, 2, 3, 1, 2, {2, 1, 2, 1}},     // two channels out for one in
      {1, 2, 4, 4, 3, 1, 4, 4, 1, 1, 1, 1, {0, 0, 0, 0}},     // one pixel
      {1, 2, 3, 3, 3, 1, 2, 2, 1, 1, 1, 1, {4, 4, 4, 4}},     // lines wholly in the padding
      {1, 2, 3, 40, 2, 2, 1, 20, 1, 1, 1, 1, {0, 5, 0, 5}},   // depthwise, longer than is written out
      {1, 2, 36, 36, 3, 1, 33, 33, 1, 1, 1, 1, {1, 0, 1, 0}}, // more taps than are packed
      {1, 3, 5, 100, 9, 1, 3, 3, 1, 2, 1, 1, {1, 1, 1, 1}},   // lines that fill a tile, with strides
      {1, 2, 3, 70, 9, 1, 1, 1, 1, 1, 1, 1, {0, 0, 0, 0}},    // pointwise, the last tile in part
      {1, 2, 65, 161, 2, 2, 3, 3, 1, 1, 1, 1, {1, 1, 1, 1}},  // depthwise, bands of 32 lines, the last of one
      {2, 2, 61, 130, 2, 2, 5, 5, 2, 2, 1, 1, {2, 2, 2, 2}},  // the same with strides
      {1, 2, 20, 31, 2, 2, 3, 3, 2, 3, 2, 2, {5, 4, 3, 7}},   // depthwise, places within the stride in the padding
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_conv(&cases[i]);
}

static void test_conv_1d(void **state) {
  (void)state;
  enum { C = 3, L = 11, M = 4, K = 3 };
  float x[C * L], w[M * C * K], expected[M * L];
  ops_fill(x, C * L, 4), ops_fill(w, M * C * K, 5);
  for (int m = 0; m < M; ++m)
    for (int i = 0; i < L; ++i) {
      double sum = 0;
      for (int c = 0; c < C; ++c)
        for (int k = 0; k < K; ++k) {
          int at = i + k - 1;
          if (at >= 0 && at < L) sum += (double)x[c * L + at] * w[(m * C + c) * K + k];
        }
      expected[m * L + i] = (float)sum;
    }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,3,11], %w : f32[4,3,3]) -> (%y : ?) {\n"
          "    %y = Conv@11(%x, %w) {auto_pad = \"SAME_UPPER\"} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x, w}, &run);
  ops_near(ops_result(&run, 0), expected, M * L, "1-D");
  ops_done(&run);
}

static void test_conv_3d(void **state) {
  (void)state;
  enum { C = 2, D = 4, M = 3, K = 2, O = 3 };
  float x[C * D * D * D], w[M * C * K * K * K], expected[M * O * O * O];
  ops_fill(x, sizeof x / sizeof *x, 6), ops_fill(w, sizeof w / sizeof *w, 7);
  for (int m = 0; m < M; ++m)
    for (int o = 0; o < O * O * O; ++o) {
      double sum = 0;
      for (int c = 0; c < C; ++c)
        for (int k = 0; k < K * K * K; ++k) {
          int z = o / (O * O) + k / (K * K), y = o / O % O + k / K % K, at = o % O + k % K;
          sum += (double)x[((c * D + z) * D + y) * D + at] * w[(m * C + c) * K * K * K + k];
        }
      expected[m * O * O * O + o] = (float)sum;
    }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,2,4,4,4], %w : f32[3,2,2,2,2]) -> (%y : ?) {\n"
          "    %y = Conv@11(%x, %w) : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x, w}, &run);
  ops_near(ops_result(&run, 0), expected, M * O * O * O, "3-D");
  ops_done(&run);
}

// Each input element spreads over the outputs that its window covers.
static void test_conv_transpose(void **state) {
  (void)state;
  enum { C = 4, H = 5, W = 4, M = 6, G = 2, K = 3, S = 2, P = 1, OH = 10, OW = 8 };
  float x[C * H * W], w[C * (M / G) * K * K], b[M], expected[M * OH * OW];
  ops_fill(x, sizeof x / sizeof *x, 8), ops_fill(w, sizeof w / sizeof *w, 9), ops_fill(b, M, 10);
  for (int i = 0; i < M * OH * OW; ++i) expected[i] = b[i / (OH * OW)];
  for (int c = 0; c < C; ++c)
    for (int m = 0; m < M / G; ++m)
      for (int i = 0; i < H * W; ++i)
        for (int k = 0; k < K * K; ++k) {
          int y = i / W * S + k / K - P, at = i % W * S + k % K - P, row = c / (C / G) * (M / G) + m;
          if (y < 0 || y >= OH || at < 0 || at >= OW) continue;
          expected[(row * OH + y) * OW + at] += x[c * H * W + i] * w[(c * (M / G) + m) * K * K + k];
        }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,4,5,4], %w : f32[4,3,3,3], %b : f32[6]) -> (%y : ?) {\n"
          "    %y = ConvTranspose@11(%x, %w, %b) {group = 2, strides = [2, 2], pads = [1, 1, 1, 1], output_padding = "
          "[1, 1]} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x, w, b}, &run);
  ops_near(ops_result(&run, 0), expected, M * OH * OW, "transposed");
  ops_done(&run);
}

static void run_pool(const window_t *t, const char *op, const char *more) {
  int oh = out_h(t), ow = out_w(t);
  size_t x_count = (size_t)(t->n * t->c * t->h * t->w), y_count = (size_t)(t->n * t->c * oh * ow);
  float *x = malloc(x_count * sizeof *x), *expected = malloc(y_count * sizeof *expected);
  assert_true(x && expected);
  ops_fill(x, x_count, 11);
  bool with_pads = strstr(more, "count_include_pad") != NULL;
  for (int p = 0; p < t->n * t->c; ++p)
    for (int oy = 0; oy < oh; ++oy)
      for (int ox = 0; ox < ow; ++ox) {
        double max = -INFINITY, sum = 0, squares = 0;
        int count = 0;
        for (int ky = 0; ky < t->kh; ++ky)
          for (int kx = 0; kx < t->kw; ++kx) {
            bool inside = false;
            double value = tap(t, x, p / t->c, p % t->c, oy, ox, ky, kx, &inside);
            if (inside && value > max) max = value;
            sum += value, squares += value * value, count += inside || with_pads;
          }
        expected[(p * oh + oy) * ow + ox] = (float)(strcmp(op, "MaxPool@12") == 0  ? max
                                                    : strcmp(op, "LpPool@18") == 0 ? sqrt(squares)
                                                                                   : sum / count);
      }
  char attributes[256], text[1024];
  attributes_of(t, attributes, sizeof attributes);
  snprintf(text, sizeof text,
           "module {\n  func @main(%%x : f32[%d,%d,%d,%d]) -> (%%y : ?) {\n    %%y = %s(%%x) {%s%s} : ?\n"
           "    return %%y\n  }\n}\n",
           t->n, t->c, t->h, t->w, op, attributes, more);
  ops_run_t run;
  ops_run(text, (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), expected, y_count, text);
  ops_done(&run);
  free(x), free(expected);
}

static void test_pool(void **state) {
  (void)state;
  static const window_t cases[] = {
      {2, 3, 8, 9, 0, 1, 3, 3, 2, 2, 1, 1, {1, 1, 1, 1}},
      {1, 2, 7, 80, 0, 1, 2, 3, 1, 1, 1, 1, {0, 0, 0, 0}},
      {1, 2, 9, 9, 0, 1, 3, 2, 2, 3, 2, 2, {0, 1, 1, 0}},
      {1, 1, 4, 1500, 0, 1, 3, 3, 1, 1, 1, 1, {1, 1, 1, 1}},      // more than one stretch of a line
      {1, 1, 30, 41, 0, 1, 18, 20, 5, 4, 1, 1, {3, 2, 3, 4}},     // more taps than are written out
      {1, 1, 1, 16405, 0, 1, 1, 16401, 1, 1, 1, 1, {0, 1, 0, 0}}, // windows too long for a line in local memory
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    run_pool(&cases[i], "MaxPool@12", "");
    run_pool(&cases[i], "AveragePool@19", "");
    run_pool(&cases[i], "AveragePool@19", ", count_include_pad = 1");
    run_pool(&cases[i], "LpPool@18", "");
  }
}

// Channels in blocks of four, innermost: the same as on the plain tensor.
static void test_blocked_pool(void **state) {
  (void)state;
  enum { C = 8, H = 7, W = 9, B = 4, OH = 4, OW = 5 };
  static const char *const ops[] = {"MaxPool@12", "AveragePool@19"};
  float x[C * H * W];
  ops_fill(x, C * H * W, 15);
  for (int i = 0; i < 2; ++i) {
    char text[1024];
    snprintf(text, sizeof text,
             "module {\n  func @main(%%x : f32[1,8,7,9]) -> (%%y : ?, %%z : ?) {\n"
             "    %%0 = byoc::ToBlocked@1(%%x) {block = 4} : ?\n"
             "    %%1 = %s(%%0) {kernel_shape = [3, 3, 1], strides = [2, 2, 1], pads = [1, 1, 0, 1, 1, 0]} : ?\n"
             "    %%y = byoc::FromBlocked@1(%%1) {block = 4} : ?\n"
             "    %%z = %s(%%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]} : ?\n"
             "    return %%y, %%z\n  }\n}\n",
             ops[i], ops[i]);
    ops_run_t run;
    ops_run(text, (const void *const[]){x}, &run);
    ops_near(ops_result(&run, 0), ops_result(&run, 1), (size_t)C * OH * OW, ops[i]);
    ops_done(&run);
  }
}

static void test_max_pool_places(void **state) {
  (void)state;
  static const float x[16] = {1, 5, 2, 0, 3, 4, 9, 9, 8, 7, 6, 5, 1, 2, 3, 4};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,1,4,4]) -> (%y : ?, %i : ?) {\n"
          "    %y, %i = MaxPool@12(%x) {kernel_shape = [2, 2], strides = [2, 2]} : ?, ?\n    return %y, %i\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), (const float[]){5, 9, 8, 6}, 4, "maxima");
  const int64_t *places = ops_result(&run, 1);
  const int64_t expected[] = {1, 6, 8, 10}; // the first of equal ones
  for (int i = 0; i < 4; ++i) assert_int_equal(places[i], expected[i]);
  ops_done(&run);
}

// The average of a last window that hangs over counts what is inside input and padding only.
static void test_average_pool_ceil(void **state) {
  (void)state;
  static const float x[5] = {1, 2, 3, 4, 5};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,1,5]) -> (%y : ?) {\n    %y = AveragePool@19(%x) {kernel_shape = [2], "
          "strides = [2], ceil_mode = 1, count_include_pad = 1} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), (const float[]){1.5f, 3.5f, 5.0f}, 3, "ceil");
  ops_done(&run);
}

static void test_global_pools(void **state) {
  (void)state;
  enum { C = 3, P = 50 };
  float x[C * P], mean[C], max[C];
  ops_fill(x, C * P, 12);
  for (int c = 0; c < C; ++c) {
    double sum = 0, most = -INFINITY;
    for (int i = 0; i < P; ++i) {
      sum += x[c * P + i];
      if (x[c * P + i] > most) most = x[c * P + i];
    }
    mean[c] = (float)(sum / P), max[c] = (float)most;
  }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,3,5,10]) -> (%a : ?, %b : ?) {\n    %a = GlobalAveragePool@1(%x) : ?\n"
          "    %b = GlobalMaxPool@1(%x) : ?\n    return %a, %b\n  }\n}\n",
          (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), mean, C, "mean");
  ops_near(ops_result(&run, 1), max, C, "max");
  ops_done(&run);
}

static void test_im2col(void **state) {
  (void)state;
  const window_t t = {2, 4, 5, 6, 0, 2, 3, 2, 2, 1, 1, 2, {1, 1, 1, 1}};
  int oh = out_h(&t), ow = out_w(&t), taps = t.kh * t.kw, cg = t.c / t.group;
  float x[2 * 4 * 5 * 6], expected[2 * 4 * 6 * 100];
  ops_fill(x, sizeof x / sizeof *x, 13);
  size_t count = 0;
  for (int n = 0; n < t.n; ++n)
    for (int c = 0; c < t.group * cg; ++c)
      for (int k = 0; k < taps; ++k)
        for (int o = 0; o < oh * ow; ++o) {
          bool inside = false;
          expected[count++] = tap(&t, x, n, c, o / ow, o % ow, k / t.kw, k % t.kw, &inside);
        }
  char attributes[256], text[1024];
  attributes_of(&t, attributes, sizeof attributes);
  snprintf(text, sizeof text,
           "module {\n  func @main(%%x : f32[2,4,5,6]) -> (%%y : ?) {\n"
           "    %%y = byoc::Im2Col@1(%%x) {%s, group = 2} : ?\n    return %%y\n  }\n}\n",
           attributes);
  ops_run_t run;
  ops_run(text, (const void *const[]){x}, &run);
  ops_near(ops_result(&run, 0), expected, count, text);
  ops_done(&run);
}

// ---- Resize ----

typedef struct {
  int h, w, oh, ow; // of each of 2 x 3 planes
  const char *attributes;
  bool linear, centred; // half_pixel, else asymmetric
} resize_t;

static double place_of(const resize_t *t, int at, int in, int out) {
  float scale = (float)out / (float)in;
  return t->centred ? ((float)at + 0.5f) / scale - 0.5f : (float)at / scale;
}

static int clamp_index(int at, int size) {
  return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static double sample(const resize_t *t, const float *plane, int oy, int ox) {
  double y = place_of(t, oy, t->h, t->oh), x = place_of(t, ox, t->w, t->ow);
  if (!t->linear) { // floor of asymmetric places, round_prefer_floor of centred ones
    int iy = (int)(t->centred ? ceil(y - 0.5) : floor(y)), ix = (int)(t->centred ? ceil(x - 0.5) : floor(x));
    return (double)plane[clamp_index(iy, t->h) * t->w + clamp_index(ix, t->w)];
  }
  double sum = 0;
  for (int ty = 0; ty < 2; ++ty)
    for (int tx = 0; tx < 2; ++tx) {
      int iy = (int)floor(y) + ty, ix = (int)floor(x) + tx;
      double weight = (1 - fabs(iy - y)) * (1 - fabs(ix - x));
      sum += weight * (double)plane[clamp_index(iy, t->h) * t->w + clamp_index(ix, t->w)];
    }
  return sum;
}

// `is_open`: the result's lines are as long as another input's.
static void run_resize(const resize_t *t, bool is_open) {
  size_t count = (size_t)(6 * t->h * t->w), y_count = (size_t)(6 * t->oh * t->ow);
  float *x = malloc(count * sizeof *x), *expected = malloc(y_count * sizeof *expected);
  assert_true(x && expected);
  ops_fill(x, count, 7);
  for (int plane = 0; plane < 6; ++plane)
    for (int oy = 0; oy < t->oh; ++oy)
      for (int ox = 0; ox < t->ow; ++ox) {
        double value = sample(t, x + plane * t->h * t->w, oy, ox);
        expected[(plane * t->oh + oy) * t->ow + ox] = value < 0 ? 0.0f : (float)value;
      }
  char text[1024], width[16];
  snprintf(width, sizeof width, is_open ? "N" : "%d", t->ow);
  snprintf(text, sizeof text,
           "module {\n  constant @none : f32[0] = []\n"
           "  func @main(%%x : f32[2,3,%d,%d], %%l : f32[2,3,%d,%s]) -> (%%y : ?) {\n    %%s = Shape@15(%%l) : ?\n"
           "    %%c = Resize@13(%%x, @none, @none, %%s) {%s} : ?\n    %%y = Relu@14(%%c) : ?\n    return %%y\n  }\n}\n",
           t->h, t->w, t->oh, width, t->attributes);
  ops_run_t run;
  ops_run_symbolic(text, t->ow, (const void *const[]){x, expected}, &run);
  ops_near(ops_result(&run, 0), expected, y_count, text);
  ops_done(&run);
  free(x), free(expected);
}

static void test_resize(void **state) {
  (void)state;
#define LINEAR_CENTRED  "mode = \"linear\", coordinate_transformation_mode = \"half_pixel\""
#define NEAREST_CENTRED "mode = \"nearest\", coordinate_transformation_mode = \"half_pixel\""
#define NEAREST_FLOOR   "mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\""
  static const resize_t cases[] = {
      {5, 12, 7, 30, LINEAR_CENTRED, true, true},    // a line summed first, then its neighbours from tables
      {5, 90, 40, 20, LINEAR_CENTRED, true, true},   // a line too long to be summed
      {5, 12, 40, 17, NEAREST_CENTRED, false, true}, // more lines than a table serves
      {5, 12, 5, 50, NEAREST_FLOOR, false, false},    {5, 6, 10, 12, NEAREST_FLOOR, false, false}, // twice
      {5, 6, 20, 24, NEAREST_CENTRED, false, true},                                                // four times
      {5, 6, 5, 30, NEAREST_FLOOR, false, false},                                                  // five times: tables
      {3, 4, 6, 9, LINEAR_CENTRED, true, true},     // too short for tables
      {5, 50, 7, 1300, LINEAR_CENTRED, true, true}, // three stripes
      {2, 30, 2, 4200, NEAREST_CENTRED, false, true},
  };
  for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); ++i) run_resize(&cases[i / 2], i % 2 == 1);
}

// The bytes of the local buffers in a statement.
static int64_t local_bytes(const byoc_loop_stmt_t *stmt) {
  int64_t sum = 0;
  if (stmt->kind == BYOC_LOOP_ALLOCATE) { // it has one dimension
    sum = stmt->allocate->dims[0].constant * byoc_dtype_bits(stmt->allocate->dtype) / 8;
  }
  if (stmt->kind == BYOC_LOOP_FOR) sum = local_bytes(stmt->loop.body);
  for (size_t i = 0; stmt->kind == BYOC_LOOP_BLOCK && i < stmt->block.statements.count; ++i) {
    sum += local_bytes(stmt->block.statements.data[i]);
  }
  return sum;
}

// The bytes of the local buffers in the kernels of a module.
static int64_t kernels_local_bytes(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(module, NULL, &diag), &diag);
  int64_t bytes = 0;
  BYOC_FOR_EACH_NODE(node, byoc_graph_module_main(module)->body) {
    if (node->callee) bytes += local_bytes(node->callee->kernel->body);
  }
  byoc_graph_module_destroy(module);
  return bytes;
}

// Each element of the result has 64 neighbours, whose places and weights are on the stack of a thread.
static void test_resize_tables_of_many_neighbours(void **state) {
  (void)state;
  enum { MOST = 64 * 1024 };
  const char *text = "module {\n  constant @s : f32[2] = [1, 0.032258064]\n  func @main(%x : f64[2,N]) -> (%y : ?) {\n"
                     "    %y = Resize@19(%x, _, @s, _) {mode = \"linear\", antialias = 1} : ?\n    return %y\n  }\n}\n";
  assert_in_range(kernels_local_bytes(text), 1, MOST);
}

// Elements that are only repeated, up to four times, need no table of places.
static void test_resize_repeats_without_tables(void **state) {
  (void)state;
  for (int times = 2; times <= 5; ++times) {
    char text[512];
    snprintf(text, sizeof text,
             "module {\n  constant @s : f32[2] = [1, %d]\n  func @main(%%x : f32[3,16]) -> (%%y : ?) {\n"
             "    %%y = Resize@19(%%x, _, @s, _) {" NEAREST_FLOOR "} : ?\n    return %%y\n  }\n}\n",
             times);
    assert_int_equal(kernels_local_bytes(text) > 0, times == 5);
  }
}

// More channels than share their places; on a plane that rises evenly, a sample's average is the value in its middle.
static void test_roi_align_of_many_channels(void **state) {
  (void)state;
  enum { CHANNELS = 21, H = 9, W = 12 };
  static float x[2][CHANNELS][H][W], expected[2][CHANNELS][2][3];
  static const float rois[2][4] = {{1, 2, 10, 8}, {3, 1, 9, 7}};
  static const int64_t images[2] = {1, 0};
  for (int n = 0; n < 2; ++n)
    for (int c = 0; c < CHANNELS; ++c)
      for (int i = 0; i < H * W; ++i) x[n][c][i / W][i % W] = (float)(c + 1) * (float)(i % W + 10 * (i / W)) + (float)n;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < CHANNELS; ++c)
      for (int i = 0; i < 6; ++i) {
        const float *roi = rois[r];
        float column = roi[0] - 0.5f + ((float)(i % 3) + 0.5f) * (roi[2] - roi[0]) / 3;
        float row = roi[1] - 0.5f + ((float)(i / 3) + 0.5f) * (roi[3] - roi[1]) / 2;
        expected[r][c][i / 3][i % 3] = (float)(c + 1) * (column + 10 * row) + (float)images[r];
      }
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[2,21,9,12], %r : f32[2,4], %i : i64[2]) -> (%y : ?) {\n"
          "    %y = RoiAlign@16(%x, %r, %i) {output_height = 2, output_width = 3, sampling_ratio = 2} : ?\n"
          "    return %y\n  }\n}\n",
          (const void *const[]){x, rois, images}, &run);
  ops_near(ops_result(&run, 0), &expected[0][0][0][0], 2 * CHANNELS * 6, "RoiAlign");
  ops_done(&run);
}

// A plane that rises evenly, 0 beyond one element outside.
static float roi_place(float row, float column, int height, int width) {
  if (row < -1 || row > (float)height || column < -1 || column > (float)width) return 0;
  row = fminf(fmaxf(row, 0), (float)(height - 1));
  column = fminf(fmaxf(column, 0), (float)(width - 1));
  return column + 10 * row + 1;
}

// Regions that are larger than the image take as many samples as their size says; those far outside count as 0 without
// a visit, so that even the largest region ends at once. One that is no finite number gives none.
static void test_roi_align_of_large_regions(void **state) {
  (void)state;
  enum { H = 5, W = 7, REGIONS = 6 };
  static const float rois[REGIONS][4] = {{-40, -30, 61, 50},    {2, 1, 300, 4},      {-1e4f, -3, 6, 9},
                                         {-3e37f, 0, 3e37f, 5}, {0, 0, INFINITY, 4}, {NAN, 0, 3, 3}};
  static const int64_t images[REGIONS] = {0};
  float x[H * W], rows[2], columns[2];
  for (int i = 0; i < H * W; ++i) x[i] = (float)(i % W + 10 * (i / W) + 1);
  for (int max = 0; max < 2; ++max) {
    char text[400];
    snprintf(text, sizeof(text),
             "module {\n  func @main(%%x : f32[1,1,5,7], %%r : f32[6,4], %%i : i64[6]) -> (%%y : ?) {\n"
             "    %%y = RoiAlign@16(%%x, %%r, %%i) {mode = \"%s\", output_height = 2, output_width = 2, "
             "coordinate_transformation_mode = \"output_half_pixel\"} : ?\n    return %%y\n  }\n}\n",
             max ? "max" : "avg");
    ops_run_t run;
    ops_run(text, (const void *const[]){x, rois, images}, &run);
    const float *y = ops_result(&run, 0);
    for (int r = 0; r < 3; ++r) {
      columns[0] = rois[r][0], columns[1] = fmaxf(rois[r][2] - rois[r][0], 1) / 2;
      rows[0] = rois[r][1], rows[1] = fmaxf(rois[r][3] - rois[r][1], 1) / 2;
      const int down = (int)ceilf(rows[1]), across = (int)ceilf(columns[1]);
      for (int i = 0; i < 4; ++i) {
        double sum = 0;
        float most = -INFINITY;
        for (int k = 0; k < down * across; ++k) {
          const float row = rows[0] + ((float)(i / 2) + ((float)(k / across) + 0.5f) / (float)down) * rows[1];
          const float column =
              columns[0] + ((float)(i % 2) + ((float)(k % across) + 0.5f) / (float)across) * columns[1];
          sum += roi_place(row, column, H, W);
          most = fmaxf(most, roi_place(row, column, H, W));
        }
        const double expected = sum / (down * across);
        if (!max && fabs(y[r * 4 + i] - expected) > 1e-3 * (expected + 1)) fail_msg("region %d: %g", r, y[r * 4 + i]);
        if (max && (y[r * 4 + i] > most || (most == 0) != (y[r * 4 + i] == 0))) fail_msg("region %d of max", r);
      }
    }
    for (int i = 0; i < 4; ++i) assert_true(y[3 * 4 + i] >= 0 && y[3 * 4 + i] < 1e-6f + (float)max * 100);
    for (int i = 16; i < 24; ++i) assert_true(isnan(y[i]));
    ops_done(&run);
  }
}

// A region whose corners are the wrong way round has the same samples, its bins in the other order; one without a size
// has all of them at one place, also at the edge of the image.
static void test_roi_align_of_regions_turned_round(void **state) {
  (void)state;
  static const float rois[4][4] = {{1, 0.5f, 6, 4}, {6, 4, 1, 0.5f}, {3, 2, 3, 2}, {7.5f, 5.5f, 7.5f, 5.5f}};
  static const int64_t images[4] = {0};
  float x[5 * 7];
  for (int i = 0; i < 5 * 7; ++i) x[i] = (float)(i % 7 * (i % 7) + 10 * (i / 7) + 1);
  for (int max = 0; max < 2; ++max) {
    char text[400];
    snprintf(text, sizeof(text),
             "module {\n  func @main(%%x : f32[1,1,5,7], %%r : f32[4,4], %%i : i64[4]) -> (%%y : ?) {\n"
             "    %%y = RoiAlign@16(%%x, %%r, %%i) {mode = \"%s\", output_height = 2, output_width = 2, "
             "sampling_ratio = 5} : ?\n    return %%y\n  }\n}\n",
             max ? "max" : "avg");
    ops_run_t run;
    ops_run(text, (const void *const[]){x, rois, images}, &run);
    const float *y = ops_result(&run, 0);
    for (int i = 0; i < 4; ++i) {
      if (fabsf(y[4 + i] - y[3 - i]) > 1e-4f) fail_msg("turned round, bin %d: %g, not %g", i, y[4 + i], y[3 - i]);
      assert_true(y[i] > 1);
      if (!max && fabsf(y[8 + i] - 22.5f) > 1e-4f) fail_msg("a point: %g", y[8 + i]);
      if (fabsf(y[12 + i] - x[34]) > 1e-4f) fail_msg("a point at the edge: %g, not %g", y[12 + i], x[34]);
    }
    ops_done(&run);
  }
}

// Samples that offsets move far outside count as 0; not-a-number stays.
static void test_deform_conv_far_outside(void **state) {
  (void)state;
  static const float far[] = {1e9f, -1e9f, 1e19f, -1e19f, 3e38f, INFINITY, -INFINITY, NAN};
  static const float w[4] = {1, 1, 1, 1}, x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (size_t k = 0; k < sizeof far / sizeof *far; ++k) {
    float offsets[8 * 4];
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; ++i) offsets[i] = far[k];
    ops_run_t run;
    ops_run("module {\n  func @main(%x : f32[1,1,3,3], %w : f32[1,1,2,2], %o : f32[1,8,2,2]) -> (%y : ?) {\n"
            "    %y = DeformConv@19(%x, %w, %o) : ?\n    return %y\n  }\n}\n",
            (const void *const[]){x, w, offsets}, &run);
    const float *y = ops_result(&run, 0);
    for (int i = 0; i < 4; ++i) assert_true(isnan(far[k]) ? isnan(y[i]) : y[i] == 0);
    ops_done(&run);
  }
}

// Corners far outside do not overflow.
static void test_max_roi_pool_far_outside(void **state) {
  (void)state;
  static const float x[4] = {1, 2, 3, 4};
  static const float rois[3][5] = {
      {0, -3e38f, -3e38f, 3e38f, 3e38f}, {0, -INFINITY, 0, INFINITY, 1}, {0, 1e19f, 0, 1, 1}};
  ops_run_t run;
  ops_run("module {\n  func @main(%x : f32[1,1,2,2], %r : f32[3,5]) -> (%y : ?) {\n"
          "    %y = MaxRoiPool@1(%x, %r) {pooled_shape = [1, 1]} : ?\n    return %y\n  }\n}\n",
          (const void *const[]){x, rois}, &run);
  const float *y = ops_result(&run, 0);
  assert_true(y[0] == 4 && y[1] == 4 && y[2] == 0);
  ops_done(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv),
      cmocka_unit_test(test_resize),
      cmocka_unit_test(test_resize_tables_of_many_neighbours),
      cmocka_unit_test(test_resize_repeats_without_tables),
      cmocka_unit_test(test_conv_1d),
      cmocka_unit_test(test_conv_3d),
      cmocka_unit_test(test_conv_transpose),
      cmocka_unit_test(test_pool),
      cmocka_unit_test(test_blocked_pool),
      cmocka_unit_test(test_max_pool_places),
      cmocka_unit_test(test_average_pool_ceil),
      cmocka_unit_test(test_global_pools),
      cmocka_unit_test(test_im2col),
      cmocka_unit_test(test_roi_align_of_many_channels),
      cmocka_unit_test(test_roi_align_of_large_regions),
      cmocka_unit_test(test_roi_align_of_regions_turned_round),
      cmocka_unit_test(test_deform_conv_far_outside),
      cmocka_unit_test(test_max_roi_pool_far_outside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
