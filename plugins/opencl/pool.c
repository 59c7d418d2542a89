// SPDX-License-Identifier: Apache-2.0
// Writes pools in OpenCL C: each work-item computes one element.
#include <stdio.h>
#include <string.h>

#include "operator.h"

enum { WORK_GROUP = 64 };

static bool is_max(const byoc_opencl_source_t *source) {
  return strcmp(source->graph->node_operator(source->node), "MaxPool") == 0;
}

static const char *read_pool(const byoc_opencl_source_t *source, byoc_opencl_window_t *out_window) {
  uint64_t count = 0;
  int32_t rank = source->graph->value_rank(byoc_opencl_operand(source, 0)) - 2;
  const int64_t *kernel = source->graph->attribute_ints(source->node, "kernel_shape", &count);
  if (kernel == NULL || rank < 1 || count != (uint64_t)rank) return "a kernel of another rank than the input";
  return byoc_opencl_read_window(source, rank, kernel, out_window);
}

const char *byoc_opencl_check_pool(const byoc_opencl_source_t *source) {
  byoc_opencl_window_t window;
  const char *reason = byoc_opencl_check_tensor(source->graph, byoc_opencl_operand(source, 0), BYOC_DTYPE_F32);
  if (reason == NULL) reason = byoc_opencl_check_tensor(source->graph, byoc_opencl_result(source, 0), BYOC_DTYPE_F32);
  if (reason != NULL) return reason;
  if (byoc_opencl_is_used(source, 1)) return "the indices of maxima";
  return read_pool(source, &window);
}

// Where the window begins along dimension i, and the part of it that is inside the input: b, e.
static void emit_window(byoc_opencl_emit_t *emit, const byoc_opencl_window_t *w, int32_t i) {
  byoc_opencl_size_t stride = byoc_opencl_size_product(emit->sizes, w->out + i + 1, w->rank - i - 1);
  byoc_opencl_line(emit, "const int at%d = pixel / %s %% %s * %lld - %s;", i, BYOC_OPENCL_SIZE(emit, stride),
                   BYOC_OPENCL_SIZE(emit, w->out[i]), (long long)w->stride[i], BYOC_OPENCL_SIZE(emit, w->pad[i]));
}

// The divisor of an average: the elements of the window, without those that ceil_mode adds beyond the stated pads.
static void emit_divisor(byoc_opencl_emit_t *emit, const byoc_opencl_window_t *w) {
  byoc_opencl_line(emit, "int count = 1;");
  for (int32_t i = 0; i < w->rank; ++i) {
    byoc_opencl_size_t end = byoc_opencl_size_add(emit->sizes, w->in[i], w->pad_end[i]);
    byoc_opencl_line(emit, "count *= min(%lld, (%s - at%d + %lld) / %lld);", (long long)w->kernel[i],
                     BYOC_OPENCL_SIZE(emit, end), i, (long long)(w->dilation[i] - 1), (long long)w->dilation[i]);
  }
}

void byoc_opencl_anchor_pool(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  const byoc_value_t *y = byoc_opencl_result(source, 0);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, y);
  byoc_opencl_window_t w;
  (void)read_pool(source, &w); // as check_pool did
  byoc_opencl_size_t in_pixels = byoc_opencl_size_product(emit->sizes, w.in, w.rank);
  byoc_opencl_size_t out_pixels = byoc_opencl_size_product(emit->sizes, w.out, w.rank);
  bool max = is_max(source);
  bool counts_pads = !max && graph->node_int(source->node, "count_include_pad") != 0;
  byoc_opencl_name_t x = byoc_opencl_emit_argument(emit, byoc_opencl_operand(source, 0));
  byoc_opencl_emit_launch_items(emit, max ? "max_pool" : "average_pool", out_pixels,
                                byoc_opencl_size_product(emit->sizes, shape.dims, 2), byoc_opencl_size(1), WORK_GROUP);
  byoc_opencl_line(emit, "const int pixel = get_global_id(0), channel = get_global_id(1);");
  byoc_opencl_line(emit, "if (pixel >= %s) return;", BYOC_OPENCL_SIZE(emit, out_pixels));
  byoc_opencl_line(emit, "global const float *x = %s + channel * %s;", x.text, BYOC_OPENCL_SIZE(emit, in_pixels));
  for (int32_t i = 0; i < w.rank; ++i) emit_window(emit, &w, i);
  byoc_opencl_line(emit, "float value = %s;", max ? "-INFINITY" : "0.0f");
  if (counts_pads)
    emit_divisor(emit, &w);
  else if (!max)
    byoc_opencl_line(emit, "int count = 0;");
  char place[256] = "";
  size_t length = 0;
  for (int32_t i = 0; i < w.rank; ++i) {
    byoc_opencl_line(emit, "for (int t%d = 0; t%d < %lld; ++t%d) {", i, i, (long long)w.kernel[i], i);
    byoc_opencl_line(emit, "const int k%d = at%d + t%d * %lld;", i, i, i, (long long)w.dilation[i]);
    if (w.has_pads)
      byoc_opencl_line(emit, "if (k%d < 0 || k%d >= %s) continue;", i, i, BYOC_OPENCL_SIZE(emit, w.in[i]));
    byoc_opencl_size_t step = byoc_opencl_size_product(emit->sizes, w.in + i + 1, w.rank - i - 1);
    length += (size_t)snprintf(place + length, sizeof(place) - length, "%sk%d * %s", i > 0 ? " + " : "", i,
                               BYOC_OPENCL_SIZE(emit, step));
  }
  byoc_opencl_line(emit, "const float element = x[%s];", place);
  if (max)
    byoc_opencl_line(emit, "value = element > value || isnan(element) ? element : value;");
  else
    byoc_opencl_line(emit, "value += element;");
  if (!max && !counts_pads) byoc_opencl_line(emit, "++count;");
  for (int32_t i = 0; i < w.rank; ++i) byoc_opencl_line(emit, "}");
  if (!max) byoc_opencl_line(emit, "value /= (float)count;");
  byoc_opencl_line(emit, "const int i = channel * %s + pixel;", BYOC_OPENCL_SIZE(emit, out_pixels));
  byoc_opencl_index_t index = byoc_opencl_index(&shape, byoc_opencl_name("i"));
  byoc_opencl_emit_store(emit, &index, y, byoc_opencl_name("value"));
}
