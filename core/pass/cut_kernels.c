// SPDX-License-Identifier: Apache-2.0
// cut-kernels: a convolution loses the outer taps of its kernel that read nothing but padding. Dilated kernels on small
// images have such taps. A 3x3 kernel of dilation 12 on a map of 4x4 becomes 1x1.
#include <string.h>

#include "core/op/op.h"
#include "core/ops/loops/window.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

typedef struct {
  int32_t spatial;
  int64_t first[BYOC_MAX_SPATIAL], kernel[BYOC_MAX_SPATIAL]; // the taps that stay
  int64_t pads[2 * BYOC_MAX_SPATIAL], dilations[BYOC_MAX_SPATIAL];
} cut_t;

// Does tap `tap` read only padding, for all results along d?
static bool is_idle(const byoc_window_t *w, int32_t d, int64_t extent, int64_t tap) {
  const int64_t first = tap * w->dilation[d] - w->pad_begin[d].constant;
  const int64_t last = first + (w->out[d].constant - 1) * w->stride[d];
  return last < 0 || first >= extent;
}

// Which taps stay along d. Pads shrink with the kernel and never below zero, so that the results stay where they are.
static bool read_axis(const byoc_window_t *w, int32_t d, byoc_dim_t extent, cut_t *cut) {
  int64_t first = 0, last = w->kernel[d] - 1;
  if (!byoc_dim_is_constant(w->pad_begin[d]) || !byoc_dim_is_constant(w->pad_end[d])) return false;
  int64_t begin = w->pad_begin[d].constant, end = w->pad_end[d].constant;
  if (byoc_dim_is_constant(extent)) {
    for (; first < last && begin >= w->dilation[d] && is_idle(w, d, extent.constant, first); ++first) {
      begin -= w->dilation[d];
    }
    for (; last > first && end >= w->dilation[d] && is_idle(w, d, extent.constant, last); --last) {
      end -= w->dilation[d];
    }
  }
  cut->first[d] = first, cut->kernel[d] = last - first + 1;
  cut->pads[d] = begin, cut->pads[w->spatial + d] = end;
  cut->dilations[d] = first == last ? 1 : w->dilation[d];
  return true;
}

static bool read_cut(const byoc_node_t *node, cut_t *cut) {
  const byoc_type_t *x = byoc_operand_type(node, 0), *weights = byoc_operand_type(node, 1);
  if (!byoc_value_is_constant(node->operands[1]) || !byoc_is_ranked(x) || !byoc_type_is_static(weights)) return false;
  if (byoc_type_element_count(weights) == 0) return false;
  byoc_window_t w;
  if (byoc_window_of(node, x, weights->dims + 2, &w) != BYOC_OK || !w.has_pads) return false;
  cut->spatial = w.spatial;
  bool shrinks = false;
  for (int32_t d = 0; d < w.spatial; ++d) {
    if (!read_axis(&w, d, x->dims[2 + d], cut)) return false;
    shrinks |= cut->kernel[d] < w.kernel[d];
  }
  return shrinks;
}

// w[m, c, y, x, ...] → w[m, c, first + y, ...]
static byoc_value_t *cut_weights(const byoc_node_t *node, const cut_t *cut) {
  const byoc_value_t *weights = node->operands[1];
  const byoc_type_t *type = weights->type;
  const int32_t last = cut->spatial - 1;
  int64_t sizes[BYOC_MAX_SPATIAL + 2] = {type->dims[0].constant, type->dims[1].constant};
  for (int32_t d = 0; d < cut->spatial; ++d) sizes[2 + d] = cut->kernel[d];
  void *data = NULL;
  byoc_value_t *made = byoc_pass_constant_like(node, weights, cut->spatial + 2, sizes, &data);
  if (made == NULL) return NULL;
  int64_t line_count = sizes[0] * sizes[1];
  for (int32_t d = 0; d < last; ++d) line_count *= cut->kernel[d];
  const size_t size = (size_t)byoc_dtype_bits(type->dtype) / 8, line = (size_t)cut->kernel[last] * size;
  for (int64_t i = 0; i < line_count; ++i) { // lines along the last axis
    int64_t rest = i, from = cut->first[last], stride = type->dims[2 + last].constant;
    for (int32_t d = last; d-- > 0;) {
      from += (cut->first[d] + rest % cut->kernel[d]) * stride;
      rest /= cut->kernel[d], stride *= type->dims[2 + d].constant;
    }
    from += rest * stride;
    memcpy((char *)data + (size_t)i * line, (const char *)weights->constant->data + (size_t)from * size, line);
  }
  return made;
}

static byoc_status_t cut_node(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  cut_t cut;
  if (!byoc_node_is_onnx(node, "Conv") || !read_cut(node, &cut)) return BYOC_OK;
  byoc_value_t *weights = cut_weights(node, &cut);
  byoc_attributes_t *attributes = &node->attributes;
  byoc_attributes_remove(attributes, "auto_pad");
  if (weights == NULL || !byoc_node_set_operand(node, 1, weights) ||
      !byoc_attributes_set_ints(attributes, "kernel_shape", cut.kernel, (size_t)cut.spatial) ||
      !byoc_attributes_set_ints(attributes, "dilations", cut.dilations, (size_t)cut.spatial) ||
      !byoc_attributes_set_ints(attributes, "pads", cut.pads, 2 * (size_t)cut.spatial)) {
    return byoc_diag_out_of_memory(diag);
  }
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_cut_kernels(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, cut_node, NULL, diag, changes);
}
