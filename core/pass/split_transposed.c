// SPDX-License-Identifier: Apache-2.0
// split-transposed: a transposed convolution with a stride becomes a convolution that computes the `stride * stride`
// phases of its result as channels, and the rearrangement of these: backends that multiply matrices take the former.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ops/op.h"
#include "core/ops/util.h"
#include "core/ops/window.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/target/target.h"

// The result has (in - 1) * stride + kernel elements along an axis, less what the pads cut. With a kernel of `taps`
// times the stride (zeros are added) it is made of in + taps - 1 blocks of `stride` elements, and phase i of block q is
//   sum over a of x[q - a] * w[a * stride + i]
typedef struct {
  int64_t channels, rows, kernel[2], stride, taps[2];
  int64_t cut_before[2], cut_after[2]; // of the blocks' elements
  bool cuts;
} split_t;

// With strides far above the kernel, almost all of the weights that would be made are zeros.
enum { MOST_GROWTH = 4 };

static int64_t entry(const byoc_node_t *node, const char *name, size_t index, int64_t fallback) {
  size_t count = 0;
  const int64_t *values = byoc_node_ints(node, name, &count);
  return values != NULL && index < count ? values[index] : fallback;
}

static bool read_split(const byoc_node_t *node, split_t *s) {
  const byoc_type_t *x = byoc_operand_type(node, 0), *w = byoc_operand_type(node, 1);
  if (!byoc_is_ranked(x) || x->rank != 4 || !byoc_type_is_static(w) || w->rank != 4) return false;
  const byoc_value_t *bias = byoc_has_operand(node, 2) ? node->operands[2] : NULL;
  if (!byoc_value_is_constant(node->operands[1]) || (bias != NULL && !byoc_value_is_constant(bias))) return false;
  int automatic = byoc_node_choice(node, "auto_pad");
  size_t count = 0;
  if (automatic != BYOC_AUTO_PAD_NOTSET && automatic != BYOC_AUTO_PAD_EMPTY) return false;
  if (byoc_node_ints(node, "output_shape", &count) != NULL && count > 0) return false;
  if (byoc_node_int(node, "group") != 1 || byoc_type_element_count(w) == 0) return false;
  *s = (split_t){.channels = w->dims[0].constant, .rows = w->dims[1].constant, .stride = entry(node, "strides", 0, 1)};
  if (s->stride < 2 || s->stride > 64) return false;
  for (size_t d = 0; d < 2; ++d) {
    if (entry(node, "strides", d, 1) != s->stride || entry(node, "dilations", d, 1) != 1) return false;
    s->kernel[d] = w->dims[2 + d].constant;
    s->taps[d] = (s->kernel[d] + s->stride - 1) / s->stride;
    s->cut_before[d] = entry(node, "pads", d, 0);
    s->cut_after[d] =
        s->taps[d] * s->stride - s->kernel[d] + entry(node, "pads", 2 + d, 0) - entry(node, "output_padding", d, 0);
    if (s->cut_before[d] < 0 || s->cut_after[d] < 0) return false;
    s->cuts |= s->cut_before[d] > 0 || s->cut_after[d] > 0;
  }
  return s->taps[0] * s->taps[1] * s->stride * s->stride <= MOST_GROWTH * s->kernel[0] * s->kernel[1];
}

// w[c, m, a * stride + i, ...] → [m, i, j, c, taps - 1 - a, ...]: a convolution reads its kernel the other way round.
static byoc_value_t *phase_weights(const byoc_node_t *node, const split_t *s) {
  const byoc_value_t *weights = node->operands[1];
  const int64_t rows = s->rows * s->stride * s->stride, sizes[] = {rows, s->channels, s->taps[0], s->taps[1]};
  const size_t size = (size_t)byoc_dtype_bits(weights->type->dtype) / 8;
  const char *from = weights->constant->data;
  void *data = NULL;
  byoc_value_t *made = byoc_pass_constant_like(node, weights, 4, sizes, &data);
  if (made == NULL) return NULL;
  char *to = data;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t m = row / (s->stride * s->stride), i = row / s->stride % s->stride, j = row % s->stride;
    for (int64_t c = 0; c < s->channels; ++c) {
      for (int64_t a = s->taps[0]; a-- > 0;) {
        for (int64_t e = s->taps[1]; e-- > 0; to += size) {
          const int64_t y = a * s->stride + i, x = e * s->stride + j;
          const bool inside = y < s->kernel[0] && x < s->kernel[1];
          const int64_t at = ((c * s->rows + m) * s->kernel[0] + y) * s->kernel[1] + x;
          if (inside) memcpy(to, from + (size_t)at * size, size);
          if (!inside) memset(to, 0, size);
        }
      }
    }
  }
  return made;
}

static byoc_value_t *phase_bias(const byoc_node_t *node, const split_t *s) {
  const byoc_value_t *bias = node->operands[2];
  const int64_t phases = s->stride * s->stride, count = s->rows * phases;
  const size_t size = (size_t)byoc_dtype_bits(bias->type->dtype) / 8;
  void *data = NULL;
  byoc_value_t *made = byoc_pass_constant_like(node, bias, 1, &count, &data);
  for (int64_t row = 0; made != NULL && row < count; ++row) {
    memcpy((char *)data + (size_t)row * size, (const char *)bias->constant->data + (size_t)(row / phases) * size, size);
  }
  return made;
}

static byoc_value_t *list_constant(const byoc_node_t *node, const char *name, const int64_t *values) {
  byoc_graph_module_t *module = node->function->module;
  const byoc_dim_t two = byoc_dim_constant(2);
  const byoc_type_t *type = byoc_type_tensor(&module->arena, BYOC_DTYPE_I64, 1, &two);
  byoc_constant_t *constant = type ? byoc_constant_create(module, name, type, values) : NULL;
  return constant ? byoc_function_constant(node->function, constant) : NULL;
}

// Cuts what the pads take away, and the zeros that were added to the kernel.
static byoc_value_t *cut(byoc_node_t *node, const split_t *s, byoc_value_t *whole, byoc_diag_t *diag) {
  const int64_t starts[] = {s->cut_before[0], s->cut_before[1]}, axes[] = {2, 3};
  int64_t ends[2];
  for (int d = 0; d < 2; ++d) ends[d] = s->cut_after[d] > 0 ? -s->cut_after[d] : INT64_MAX;
  byoc_value_t *operands[] = {whole, list_constant(node, "starts", starts), list_constant(node, "ends", ends),
                              list_constant(node, "axes", axes)};
  if (operands[1] == NULL || operands[2] == NULL || operands[3] == NULL) return NULL;
  byoc_node_t *slice = byoc_op_create(node->block, node, "", "Slice", operands, 4, 1, diag);
  return slice ? slice->results[0] : NULL;
}

// ConvTranspose(x, w, strides) → Slice(DepthToSpace(Conv(x, w')))
static byoc_status_t split(byoc_node_t *node, const split_t *s, byoc_diag_t *diag, size_t *changes) {
  const bool has_bias = byoc_has_operand(node, 2);
  byoc_value_t *operands[] = {node->operands[0], phase_weights(node, s), has_bias ? phase_bias(node, s) : NULL};
  if (operands[1] == NULL || (has_bias && operands[2] == NULL)) return byoc_diag_out_of_memory(diag);
  const int64_t pads[] = {s->taps[0] - 1, s->taps[1] - 1, s->taps[0] - 1, s->taps[1] - 1};
  const byoc_attribute_t window[] = {{.name = "kernel_shape", .kind = BYOC_ATTRIBUTE_INTS, .ints = s->taps, .count = 2},
                                     {.name = "pads", .kind = BYOC_ATTRIBUTE_INTS, .ints = pads, .count = 4}};
  byoc_node_t *conv =
      byoc_op_create_with(node->block, node, "", "Conv", operands, has_bias ? 3 : 2, 1, window, 2, diag);
  if (conv == NULL || !byoc_node_set_name(conv, node->name)) return byoc_diag_failure(diag);
  const byoc_attribute_t order[] = {{.name = "blocksize", .kind = BYOC_ATTRIBUTE_INT, .i = s->stride},
                                    {.name = "mode", .kind = BYOC_ATTRIBUTE_STRING, .s = "CRD", .count = 3}};
  byoc_node_t *space = byoc_op_create_with(node->block, node, "", "DepthToSpace", conv->results, 1, 1, order, 2, diag);
  if (space == NULL || !byoc_node_set_name(space, node->name)) return byoc_diag_failure(diag);
  byoc_value_t *result = s->cuts ? cut(node, s, space->results[0], diag) : space->results[0];
  return byoc_pass_replace(node, result, diag, changes);
}

static byoc_status_t split_node(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  const bool *is_taken = self; // by a target's rule
  split_t s;
  if (!byoc_node_is_onnx(node, "ConvTranspose") || !read_split(node, &s)) return BYOC_OK;
  if (*is_taken && byoc_type_is_static(node->operands[0]->type)) return BYOC_OK;
  return split(node, &s, diag, changes);
}

byoc_status_t byoc_pass_split_transposed(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                         byoc_diag_t *diag, size_t *changes) {
  bool is_taken = arguments->targets && byoc_target_list_has_rule(arguments->targets, "ConvTranspose", 0);
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) != NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block(function->body, split_node, &is_taken, diag, changes));
  }
  return BYOC_OK;
}
