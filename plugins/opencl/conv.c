// SPDX-License-Identifier: Apache-2.0
// Convolutions. Dense and grouped ones are implicit matrix products: a work-item sums up a tile of pixels times
// channels, whose weights are contiguous. Depthwise ones, and those with computed weights, use one work-item per
// element.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator.h"

// Pixels of a tile: with 16 channels, the sums fit the registers of AVX2 and AVX-512.
enum { TILE_PIXELS = 6, MOST_LANES = 16, WORK_GROUP = 16, POINT_GROUP = 64, WEIGHTS = 1 };

typedef struct conv_t {
  const byoc_value_t *x, *w, *bias, *y;
  byoc_opencl_window_t window;
  byoc_opencl_size_t batch, in_pixels, out_pixels;
  int64_t groups, in_channels, out_channels, taps; // channels of a group
} conv_t;

static const char *read_conv(const byoc_opencl_source_t *source, conv_t *out_conv) {
  const byoc_graph_api_t *graph = source->graph;
  conv_t *c = out_conv;
  *c = (conv_t){.x = byoc_opencl_operand(source, 0),
                .w = byoc_opencl_operand(source, 1),
                .bias = byoc_opencl_operand(source, 2),
                .y = byoc_opencl_result(source, 0)};
  byoc_opencl_shape_t x = byoc_opencl_shape_of(source->sizes, c->x), y = byoc_opencl_shape_of(source->sizes, c->y);
  int32_t rank = graph->value_rank(c->w);
  int64_t w[BYOC_OPENCL_MOST_DIMS];
  c->taps = 1;
  for (int32_t i = 0; i < rank; ++i) {
    w[i] = graph->value_dim(c->w, i);
    if (w[i] < 0) return "weights of dynamic sizes";
    if (i >= 2) c->taps *= w[i];
  }
  const char *reason = byoc_opencl_read_window(source, x.rank - 2, w + 2, &c->window);
  if (reason != NULL) return reason;
  c->groups = graph->node_int(source->node, "group");
  c->batch = x.dims[0];
  c->in_channels = w[1];
  c->out_channels = w[0] / c->groups;
  c->in_pixels = byoc_opencl_size_product(source->sizes, x.dims + 2, x.rank - 2);
  c->out_pixels = byoc_opencl_size_product(source->sizes, y.dims + 2, y.rank - 2);
  return NULL;
}

const char *byoc_opencl_check_conv(const byoc_opencl_source_t *source) {
  conv_t conv;
  const char *reason = byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
  return reason != NULL ? reason : read_conv(source, &conv);
}

// ---- shared by both kernels ----

// The coordinates of output pixel `pixel`, as variables.
static void emit_pixel(byoc_opencl_emit_t *emit, const conv_t *c, const char *pixel, byoc_opencl_name_t *at) {
  const byoc_opencl_window_t *w = &c->window;
  for (int32_t i = 0; i < w->rank; ++i) {
    byoc_opencl_size_t stride = byoc_opencl_size_product(emit->sizes, w->out + i + 1, w->rank - i - 1);
    at[i] = byoc_opencl_variable(emit, 'o');
    byoc_opencl_line(emit, "const int %s = %s / %s %% %s * %lld - %s;", at[i].text, pixel,
                     BYOC_OPENCL_SIZE(emit, stride), BYOC_OPENCL_SIZE(emit, w->out[i]), (long long)w->stride[i],
                     BYOC_OPENCL_SIZE(emit, w->pad[i]));
  }
}

// Loops over the taps of the kernel: t0, t1, ... along each dimension.
static void open_taps(byoc_opencl_emit_t *emit, const conv_t *c) {
  for (int32_t i = 0; i < c->window.rank; ++i)
    byoc_opencl_line(emit, "for (int t%d = 0; t%d < %lld; ++t%d) {", i, i, (long long)c->window.kernel[i], i);
}

static void close_taps(byoc_opencl_emit_t *emit, const conv_t *c) {
  for (int32_t i = 0; i < c->window.rank; ++i) byoc_opencl_line(emit, "}");
}

// The place within a channel of the input that tap t0, t1, ... of the pixel at `at` meets, or -1 if it is outside.
static byoc_opencl_name_t emit_input_place(byoc_opencl_emit_t *emit, const conv_t *c, const byoc_opencl_name_t *at) {
  const byoc_opencl_window_t *w = &c->window;
  byoc_opencl_name_t name = byoc_opencl_variable(emit, 'p');
  char place[320] = "", inside[320] = "";
  size_t place_length = 0, inside_length = 0;
  for (int32_t i = 0; i < w->rank; ++i) {
    byoc_opencl_name_t k = byoc_opencl_variable(emit, 'k');
    byoc_opencl_line(emit, "const int %s = %s + t%d * %lld;", k.text, at[i].text, i, (long long)w->dilation[i]);
    byoc_opencl_size_t step = byoc_opencl_size_product(emit->sizes, w->in + i + 1, w->rank - i - 1);
    place_length += (size_t)snprintf(place + place_length, sizeof(place) - place_length, "%s%s * %s",
                                     i > 0 ? " + " : "", k.text, BYOC_OPENCL_SIZE(emit, step));
    inside_length += (size_t)snprintf(inside + inside_length, sizeof(inside) - inside_length, "%s%s >= 0 && %s < %s",
                                      i > 0 ? " && " : "", k.text, k.text, BYOC_OPENCL_SIZE(emit, w->in[i]));
  }
  if (w->has_pads)
    byoc_opencl_line(emit, "const int %s = %s ? %s : -1;", name.text, inside, place);
  else
    byoc_opencl_line(emit, "const int %s = %s;", name.text, place);
  return name;
}

// `x[place]`, or 0 outside
static void input_element(const conv_t *c, const char *place, const char *offset, char *text, size_t size) {
  if (c->window.has_pads)
    (void)snprintf(text, size, "(%s < 0 ? 0.0f : x[%s%s])", place, offset, place);
  else
    (void)snprintf(text, size, "x[%s%s]", offset, place);
}

// Adds the bias to the sum `sum` of channel `c` (a variable of the kernel), and stores the result.
static void emit_result(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, const conv_t *c,
                        const char *pixel, const char *sum) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, c->y);
  char text[96];
  byoc_opencl_name_t place = byoc_opencl_variable(emit, 'i');
  byoc_opencl_line(emit, "const int %s = (n * %lld + c) * %s + %s;", place.text,
                   (long long)(c->groups * c->out_channels), BYOC_OPENCL_SIZE(emit, c->out_pixels), pixel);
  byoc_opencl_index_t index = byoc_opencl_index(&shape, place);
  index.axes[0] = byoc_opencl_name("n");
  index.axes[1] = byoc_opencl_name("c");
  if (c->bias == NULL) {
    (void)snprintf(text, sizeof(text), "%s", sum);
  } else {
    byoc_opencl_name_t bias = byoc_opencl_emit_argument(emit, c->bias);
    (void)snprintf(text, sizeof(text), "%s + %s[c]", sum, bias.text);
  }
  byoc_opencl_name_t result = byoc_opencl_emit_set(emit, c->y, text);
  byoc_opencl_emit_store(emit, &index, c->y, result);
}

// ---- one element per work-item ----

static void emit_direct(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, const conv_t *c) {
  int64_t channels = c->groups * c->out_channels;
  byoc_opencl_name_t at[BYOC_OPENCL_MOST_SPATIAL];
  char element[96];
  byoc_opencl_name_t x = byoc_opencl_emit_argument(emit, c->x), w = byoc_opencl_emit_argument(emit, c->w);
  byoc_opencl_size_t image = byoc_opencl_size_multiply(emit->sizes, c->in_pixels, byoc_opencl_size(c->in_channels));
  byoc_opencl_emit_launch_items(emit, "conv_direct", c->out_pixels, byoc_opencl_size(channels), c->batch, POINT_GROUP);
  byoc_opencl_line(emit, "const int pixel = get_global_id(0), c = get_global_id(1), n = get_global_id(2);");
  byoc_opencl_line(emit, "if (pixel >= %s) return;", BYOC_OPENCL_SIZE(emit, c->out_pixels));
  byoc_opencl_line(emit, "global const float *x = %s + (n * %lld + c / %lld) * %s;", x.text, (long long)c->groups,
                   (long long)c->out_channels, BYOC_OPENCL_SIZE(emit, image));
  byoc_opencl_line(emit, "global const float *w = %s + c * %lld;", w.text, (long long)(c->in_channels * c->taps));
  emit_pixel(emit, c, "pixel", at);
  byoc_opencl_line(emit, "float sum = 0.0f;");
  byoc_opencl_line(emit, "for (int k = 0; k < %lld; ++k, x += %s) {", (long long)c->in_channels,
                   BYOC_OPENCL_SIZE(emit, c->in_pixels));
  open_taps(emit, c);
  byoc_opencl_name_t place = emit_input_place(emit, c, at);
  input_element(c, place.text, "", element, sizeof(element));
  byoc_opencl_line(emit, "sum += *w++ * %s;", element);
  close_taps(emit, c);
  byoc_opencl_line(emit, "}");
  emit_result(emit, source, c, "pixel", "sum");
}

// ---- tiles ----

// Lanes of a vector of channels: as few as the channels of a group need, filled up with zeros.
static int64_t lanes_of(const conv_t *c) {
  int64_t lanes = 2;
  while (lanes < MOST_LANES && lanes < c->out_channels) lanes *= 2;
  return lanes;
}

// [groups * out_channels][in_channels][taps] → [groups][blocks of lanes][taps][in_channels][lanes]
static float *pack_weights(const conv_t *c, const float *data, int64_t lanes, int64_t blocks, int64_t *out_count) {
  int64_t terms = c->in_channels * c->taps;
  *out_count = c->groups * blocks * terms * lanes;
  float *packed = calloc((size_t)*out_count, sizeof(float));
  if (packed == NULL) return NULL;
  for (int64_t g = 0; g < c->groups; ++g)
    for (int64_t o = 0; o < c->out_channels; ++o)
      for (int64_t k = 0; k < c->in_channels; ++k)
        for (int64_t t = 0; t < c->taps; ++t)
          packed[(((g * blocks + o / lanes) * c->taps + t) * c->in_channels + k) * lanes + o % lanes] =
              data[((g * c->out_channels + o) * c->in_channels + k) * c->taps + t];
  return packed;
}

static void emit_tile(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, const conv_t *c,
                      const float *weights) {
  int64_t lanes = lanes_of(c), blocks = (c->out_channels + lanes - 1) / lanes, count = 0;
  int pixels = !c->out_pixels.is_open && c->out_pixels.known < TILE_PIXELS ? (int)c->out_pixels.known : TILE_PIXELS;
  byoc_opencl_size_t tiles = byoc_opencl_size_divide_up(emit->sizes, c->out_pixels, pixels);
  byoc_opencl_size_t image = byoc_opencl_size_multiply(emit->sizes, c->in_pixels, byoc_opencl_size(c->in_channels));
  byoc_opencl_name_t out_pixels = byoc_opencl_emit_size(emit, c->out_pixels);
  float *packed = pack_weights(c, weights, lanes, blocks, &count);
  byoc_opencl_name_t x = byoc_opencl_emit_argument(emit, c->x);
  byoc_opencl_name_t w = byoc_opencl_emit_constant(emit, c->w, WEIGHTS + (uint32_t)c->groups, packed, count);
  byoc_opencl_name_t at[TILE_PIXELS][BYOC_OPENCL_MOST_SPATIAL], place[TILE_PIXELS];
  char element[96];
  byoc_opencl_emit_launch_items(emit, "conv", tiles, byoc_opencl_size(c->groups * blocks), c->batch, WORK_GROUP);
  byoc_opencl_line(emit, "const int first = get_global_id(0) * %d, block = get_global_id(1), n = get_global_id(2);",
                   pixels);
  byoc_opencl_line(emit, "if (first >= %s) return;", out_pixels.text);
  byoc_opencl_line(emit, "const int group = block / %lld, lane0 = block %% %lld * %lld;", (long long)blocks,
                   (long long)blocks, (long long)lanes);
  byoc_opencl_line(emit, "global const float *w = %s + block * %lld;", w.text,
                   (long long)(c->taps * c->in_channels * lanes));
  byoc_opencl_line(emit, "global const float *image = %s + (n * %lld + group) * %s;", x.text, (long long)c->groups,
                   BYOC_OPENCL_SIZE(emit, image));
  for (int p = 0; p < pixels; ++p) {
    byoc_opencl_line(emit, "const int pixel%d = min(first + %d, %s - 1);", p, p, out_pixels.text);
    emit_pixel(emit, c, byoc_opencl_name("pixel%d", p).text, at[p]);
    byoc_opencl_line(emit, "float%lld sum%d = 0.0f;", (long long)lanes, p);
  }
  open_taps(emit, c);
  for (int p = 0; p < pixels; ++p) place[p] = emit_input_place(emit, c, at[p]);
  byoc_opencl_line(emit, "global const float *x = image;");
  byoc_opencl_line(emit, "for (int k = 0; k < %lld; ++k, x += %s, w += %lld) {", (long long)c->in_channels,
                   BYOC_OPENCL_SIZE(emit, c->in_pixels), (long long)lanes);
  byoc_opencl_line(emit, "const float%lld weights = vload%lld(0, w);", (long long)lanes, (long long)lanes);
  for (int p = 0; p < pixels; ++p) {
    input_element(c, place[p].text, "", element, sizeof(element));
    byoc_opencl_line(emit, "sum%d += weights * %s;", p, element);
  }
  byoc_opencl_line(emit, "}");
  close_taps(emit, c);
  byoc_opencl_line(emit, "float sums[%lld];", (long long)(pixels * lanes));
  for (int p = 0; p < pixels; ++p) byoc_opencl_line(emit, "vstore%lld(sum%d, %d, sums);", (long long)lanes, p, p);
  byoc_opencl_line(emit, "for (int lane = 0; lane < min(%lld, %lld - lane0); ++lane) {", (long long)lanes,
                   (long long)c->out_channels);
  byoc_opencl_line(emit, "const int c = group * %lld + lane0 + lane;", (long long)c->out_channels);
  byoc_opencl_line(emit, "for (int p = 0; p < min(%d, %s - first); ++p) {", pixels, out_pixels.text);
  byoc_opencl_line(emit, "const float sum = sums[p * %lld + lane];", (long long)lanes);
  emit_result(emit, source, c, "first + p", "sum");
  byoc_opencl_line(emit, "}");
  byoc_opencl_line(emit, "}");
}

void byoc_opencl_anchor_conv(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  conv_t conv;
  int64_t count = 0;
  (void)read_conv(source, &conv); // as check_conv did
  const float *weights = byoc_opencl_floats(source->graph, conv.w, &count);
  if (weights == NULL || (conv.out_channels == 1 && conv.in_channels == 1))
    emit_direct(emit, source, &conv);
  else
    emit_tile(emit, source, &conv, weights);
}
