// SPDX-License-Identifier: Apache-2.0
// split-transposed: a transposed convolution becomes a convolution and a rearrangement. The convolution computes the
// phases of the result as channels, as many as the product of the strides; backends that multiply matrices claim it.
// Without strides there is one phase, and nothing to rearrange. If phases have different numbers of taps, so that many
// weights would be zeros, each phase gets a convolution of its own.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/ops/loops/window.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/targets/target.h"

// At most this many spatial axes: the rearrangement has a rank of two for each, and two.
enum { MOST_AXES = 3 };

// One spatial axis. The result has (in - 1) * stride + reach elements, less those of the pads. Zeros are added to the
// weights until the reach is `taps` * stride. Then the result is in + taps - 1 blocks of `stride` elements, and element
// i (the phase) of block q is
//   sum over a of x[q - a] * w[a * stride + i]
// A dilated w has zeros between its elements. If the stride is 1, the convolution is dilated instead.
typedef struct {
  int64_t kernel, stride, dilation;
  int64_t taps, step;            // of the convolution, its step being the dilation
  int64_t before, after;         // the convolution's pads
  int64_t cut_before, cut_after; // elements of the blocks that it computes
} axis_t;

typedef struct {
  int32_t spatial;
  int64_t groups, channels, rows; // the latter two of one group
  int64_t kernel, taps, phases;   // over all axes
  axis_t axes[MOST_AXES];
  bool cuts;
} split_t;

// With strides far above the kernel, almost all of the weights that would be made are zeros.
enum { MOST_GROWTH = 9 };

enum { MOST_PHASES_APART = 16 };

static int64_t entry(const byoc_node_t *node, const char *name, int32_t index, int64_t fallback) {
  size_t count = 0;
  const int64_t *values = byoc_node_ints(node, name, &count);
  return values != NULL && (size_t)index < count ? values[index] : fallback;
}

static int64_t floor_div(int64_t x, int64_t by) {
  return x >= 0 ? x / by : -((-x + by - 1) / by);
}

static bool read_axis(const byoc_node_t *node, int32_t spatial, int32_t d, int64_t kernel, axis_t *out_axis) {
  enum { MOST_STRIDE = 64, MOST = 1 << 20 };
  axis_t a = {.kernel = kernel, .stride = entry(node, "strides", d, 1), .dilation = entry(node, "dilations", d, 1)};
  const int64_t before = entry(node, "pads", d, 0), after = entry(node, "pads", spatial + d, 0);
  const int64_t extra = entry(node, "output_padding", d, 0);
  if (a.stride < 1 || a.stride > MOST_STRIDE || a.dilation > MOST || kernel > MOST) return false;
  if (before < 0 || before > MOST || after < 0 || after > MOST || extra > MOST) return false;
  const int64_t reach = (kernel - 1) * a.dilation + 1;
  if (reach > MOST) return false;
  a.step = a.stride == 1 ? a.dilation : 1;
  a.taps = a.stride == 1 ? kernel : (reach + a.stride - 1) / a.stride;
  // Blocks that are cut as a whole are not computed: the convolution has smaller pads instead, as far as it has any.
  const int64_t blocks = (a.taps - 1) * a.step, rest = a.stride == 1 ? 0 : a.taps * a.stride - reach;
  int64_t spared = before / a.stride < blocks ? before / a.stride : blocks;
  a.before = blocks - spared;
  a.cut_before = before - spared * a.stride;
  spared = floor_div(rest + after - extra, a.stride);
  if (spared > blocks) spared = blocks;
  a.after = blocks - spared;
  a.cut_after = rest + after - extra - spared * a.stride;
  *out_axis = a;
  return true;
}

static bool read_split(const byoc_node_t *node, split_t *s) {
  const byoc_type_t *x = byoc_operand_type(node, 0), *w = byoc_operand_type(node, 1);
  if (!byoc_is_ranked(x) || x->rank < 3 || x->rank > MOST_AXES + 2) return false;
  if (!byoc_type_is_static(w) || w->rank != x->rank || byoc_type_element_count(w) == 0) return false;
  const byoc_value_t *bias = byoc_has_operand(node, 2) ? node->operands[2] : NULL;
  if (!byoc_value_is_constant(node->operands[1]) || (bias != NULL && !byoc_value_is_constant(bias))) return false;
  int automatic = byoc_node_choice(node, "auto_pad");
  size_t count = 0;
  if (automatic != BYOC_AUTO_PAD_NOTSET && automatic != BYOC_AUTO_PAD_EMPTY) return false;
  if (byoc_node_ints(node, "output_shape", &count) != NULL && count > 0) return false;
  *s = (split_t){.spatial = x->rank - 2, .groups = byoc_node_int(node, "group"), .kernel = 1, .taps = 1, .phases = 1};
  if (s->groups < 1 || w->dims[0].constant % s->groups != 0) return false;
  s->channels = w->dims[0].constant / s->groups;
  s->rows = w->dims[1].constant;
  for (int32_t d = 0; d < s->spatial; ++d) {
    axis_t *a = &s->axes[d];
    if (!read_axis(node, s->spatial, d, w->dims[2 + d].constant, a)) return false;
    s->kernel *= a->kernel, s->taps *= a->taps, s->phases *= a->stride;
    s->cuts |= a->cut_before > 0 || a->cut_after > 0;
    if (s->taps * s->phases > MOST_GROWTH * s->kernel) return false;
  }
  return true;
}

// The phases that one convolution computes: all of them, or one, with the taps that it has.
typedef struct {
  int64_t first, count;
  int64_t taps[MOST_AXES], all_taps;
} part_t;

static part_t whole_part(const split_t *s) {
  part_t part = {.count = s->phases, .all_taps = s->taps};
  for (int32_t d = 0; d < s->spatial; ++d) part.taps[d] = s->axes[d].taps;
  return part;
}

// At least one tap, which is a zero where the kernel has none for the phase.
static part_t part_of_phase(const split_t *s, int64_t phase) {
  part_t part = {.first = phase, .count = 1, .all_taps = 1};
  for (int32_t d = s->spatial; d-- > 0; phase /= s->axes[d].stride) {
    const axis_t *a = &s->axes[d];
    const int64_t reach = a->stride == 1 ? a->kernel : (a->kernel - 1) * a->dilation + 1, i = phase % a->stride;
    part.taps[d] = reach > i ? (reach - i + a->stride - 1) / a->stride : 1;
    part.all_taps *= part.taps[d];
  }
  return part;
}

// Is a convolution for each phase better than one for all? It reads the same input again, and wants channels to fill
// vectors with.
static bool is_better_apart(const split_t *s) {
  enum { FEWEST_ROWS = 16 };
  if (s->phases == 1 || s->phases > MOST_PHASES_APART || s->rows < FEWEST_ROWS) return false;
  int64_t taps = 0;
  for (int64_t phase = 0; phase < s->phases; ++phase) {
    const part_t part = part_of_phase(s, phase);
    taps += part.all_taps;
    for (int32_t d = 0; d < s->spatial; ++d) {
      const int64_t fewer = s->axes[d].taps - part.taps[d];
      if (fewer > s->axes[d].before) return false; // the convolution would begin within x
    }
  }
  return 2 * s->taps * s->phases >= 3 * taps;
}

// Finds the offset into the kernel for a linear tap and phase of the convolution's weights. False: a zero.
static bool find_tap(const split_t *s, const part_t *part, int64_t tap, int64_t phase, int64_t *out_offset) {
  int64_t offset = 0, scale = 1;
  for (int32_t d = s->spatial; d-- > 0;) {
    const axis_t *a = &s->axes[d];
    // A convolution reads its kernel the other way round.
    int64_t at = (part->taps[d] - 1 - tap % part->taps[d]) * a->stride + phase % a->stride;
    const int64_t dilation = a->stride == 1 ? 1 : a->dilation;
    tap /= part->taps[d], phase /= a->stride;
    if (at % dilation != 0 || at / dilation >= a->kernel) return false;
    offset += at / dilation * scale;
    scale *= a->kernel;
  }
  *out_offset = offset;
  return true;
}

// w[group, c, m, a * stride + i, ...] → [group, m, i, ..., c, taps - 1 - a, ...]
static byoc_value_t *phase_weights(const byoc_node_t *node, const split_t *s, const part_t *part) {
  const byoc_value_t *weights = node->operands[1];
  const int64_t all = s->groups * s->rows * part->count;
  int64_t sizes[MOST_AXES + 2] = {all, s->channels};
  for (int32_t d = 0; d < s->spatial; ++d) sizes[2 + d] = part->taps[d];
  const size_t size = (size_t)byoc_dtype_bits(weights->type->dtype) / 8;
  const char *from = weights->constant->data;
  void *data = NULL;
  byoc_value_t *made = byoc_pass_constant_like(node, weights, s->spatial + 2, sizes, &data);
  if (made == NULL) return NULL;
  char *to = data;
  for (int64_t row = 0; row < all; ++row) {
    const int64_t phase = part->first + row % part->count;
    const int64_t m = row / part->count % s->rows, group = row / part->count / s->rows;
    for (int64_t c = 0; c < s->channels; ++c) {
      for (int64_t tap = 0; tap < part->all_taps; ++tap, to += size) {
        int64_t offset = 0;
        const bool inside = find_tap(s, part, tap, phase, &offset);
        const int64_t at = ((group * s->channels + c) * s->rows + m) * s->kernel + offset;
        if (inside) memcpy(to, from + (size_t)at * size, size);
        if (!inside) memset(to, 0, size);
      }
    }
  }
  return made;
}

static byoc_value_t *phase_bias(const byoc_node_t *node, const split_t *s, const part_t *part) {
  byoc_value_t *bias = node->operands[2];
  if (part->count == 1) return bias;
  const int64_t count = s->groups * s->rows * s->phases;
  const size_t size = (size_t)byoc_dtype_bits(bias->type->dtype) / 8;
  void *data = NULL;
  byoc_value_t *made = byoc_pass_constant_like(node, bias, 1, &count, &data);
  for (int64_t row = 0; made != NULL && row < count; ++row) {
    const char *from = (const char *)bias->constant->data + (size_t)(row / s->phases) * size;
    memcpy((char *)data + (size_t)row * size, from, size);
  }
  return made;
}

static byoc_value_t *list_constant(const byoc_node_t *node, const char *name, int32_t count, const int64_t *values) {
  byoc_graph_module_t *module = node->function->module;
  const byoc_dim_t size = byoc_dim_constant(count);
  const byoc_type_t *type = byoc_type_tensor(&module->arena, BYOC_DTYPE_I64, 1, &size);
  byoc_constant_t *constant = type ? byoc_constant_create(module, name, type, values) : NULL;
  return constant ? byoc_function_constant(node->function, constant) : NULL;
}

// Cuts the elements of the pads, and those of zeros that were added to the kernel.
static byoc_value_t *cut(byoc_node_t *node, const split_t *s, byoc_value_t *whole, byoc_diag_t *diag) {
  int64_t starts[MOST_AXES], ends[MOST_AXES], axes[MOST_AXES];
  for (int32_t d = 0; d < s->spatial; ++d) {
    starts[d] = s->axes[d].cut_before;
    ends[d] = s->axes[d].cut_after > 0 ? -s->axes[d].cut_after : INT64_MAX;
    axes[d] = 2 + d;
  }
  byoc_value_t *operands[] = {whole, list_constant(node, "starts", s->spatial, starts),
                              list_constant(node, "ends", s->spatial, ends),
                              list_constant(node, "axes", s->spatial, axes)};
  if (operands[1] == NULL || operands[2] == NULL || operands[3] == NULL) return NULL;
  byoc_node_t *slice = byoc_op_create(node->block, node, "", "Slice", operands, 4, 1, diag);
  return slice ? slice->results[0] : NULL;
}

// DepthToSpace knows one block for both axes of an image.
static bool is_depth_to_space(const split_t *s) {
  return s->spatial == 2 && s->axes[0].stride == s->axes[1].stride;
}

// Other phases are rearranged by shapes in which one size of an image may be dynamic, and the number of images.
static bool can_rearrange(const split_t *s, const byoc_type_t *x) {
  int32_t open = 0;
  for (int32_t d = 0; d < s->spatial; ++d) open += !byoc_dim_is_constant(x->dims[2 + d]);
  return s->phases == 1 || is_depth_to_space(s) || open <= 1;
}

static byoc_value_t *reshape(byoc_node_t *node, byoc_value_t *value, int32_t rank, const int64_t *sizes,
                             byoc_diag_t *diag) {
  byoc_value_t *operands[] = {value, list_constant(node, "sizes", rank, sizes)};
  byoc_node_t *made = operands[1] ? byoc_op_create(node->block, node, "", "Reshape", operands, 2, 1, diag) : NULL;
  return made ? made->results[0] : NULL;
}

// [n, m * phases, q...] → [n, m, i..., q...] → [n, m, q, i, ...] → [n, m, q * stride + i, ...]
// With phases first, it begins as [n, phases * m, q...] → [n, i..., m, q...].
static byoc_value_t *spread(byoc_node_t *node, const split_t *s, bool phases_first, byoc_value_t *phases,
                            byoc_diag_t *diag) {
  enum { COPIED = 0, FOLLOWS = -1 }; // sizes, as Reshape means them
  const int32_t rows_at = phases_first ? 1 + s->spatial : 1, phases_at = phases_first ? 1 : 2;
  int64_t apart[2 * MOST_AXES + 2] = {COPIED}, order[2 * MOST_AXES + 2] = {0, rows_at};
  apart[rows_at] = s->groups * s->rows;
  int64_t together[MOST_AXES + 2] = {COPIED, s->groups * s->rows};
  for (int32_t d = 0; d < s->spatial; ++d) {
    const byoc_dim_t blocks = phases->type->dims[2 + d];
    const bool known = byoc_dim_is_constant(blocks);
    apart[phases_at + d] = s->axes[d].stride;
    apart[2 + s->spatial + d] = known ? blocks.constant : FOLLOWS;
    order[2 + 2 * d] = 2 + s->spatial + d;
    order[3 + 2 * d] = phases_at + d;
    together[2 + d] = known ? blocks.constant * s->axes[d].stride : FOLLOWS;
  }
  const size_t rank = 2 * (size_t)s->spatial + 2;
  byoc_value_t *value = reshape(node, phases, (int32_t)rank, apart, diag);
  const byoc_attribute_t permutation[] = {{.name = "perm", .kind = BYOC_ATTRIBUTE_INTS, .ints = order, .count = rank}};
  byoc_node_t *turned =
      value ? byoc_op_create_with(node->block, node, "", "Transpose", &value, 1, 1, permutation, 1, diag) : NULL;
  return turned ? reshape(node, turned->results[0], s->spatial + 2, together, diag) : NULL;
}

static byoc_value_t *rearrange(byoc_node_t *node, const split_t *s, bool phases_first, byoc_value_t *phases,
                               byoc_diag_t *diag) {
  if (s->phases == 1) return phases;
  if (!is_depth_to_space(s)) return spread(node, s, phases_first, phases, diag);
  const byoc_attribute_t order[] = {
      {.name = "blocksize", .kind = BYOC_ATTRIBUTE_INT, .i = s->axes[0].stride},
      {.name = "mode", .kind = BYOC_ATTRIBUTE_STRING, .s = phases_first ? "DCR" : "CRD", .count = 3}};
  byoc_node_t *space = byoc_op_create_with(node->block, node, "", "DepthToSpace", &phases, 1, 1, order, 2, diag);
  return space && byoc_node_set_name(space, node->name) ? space->results[0] : NULL;
}

// The convolution that computes a part of the phases; NULL: `diag` says why, or memory ran out.
static byoc_value_t *convolve(byoc_node_t *node, const split_t *s, const part_t *part, byoc_diag_t *diag) {
  const bool has_bias = byoc_has_operand(node, 2);
  byoc_value_t *operands[] = {node->operands[0], phase_weights(node, s, part),
                              has_bias ? phase_bias(node, s, part) : NULL};
  if (operands[1] == NULL || (has_bias && operands[2] == NULL)) return NULL;
  int64_t pads[2 * MOST_AXES], steps[MOST_AXES];
  const size_t axes = (size_t)s->spatial;
  bool dilated = false;
  for (size_t d = 0; d < axes; ++d) {
    pads[d] = s->axes[d].before - (s->axes[d].taps - part->taps[d]);
    pads[axes + d] = s->axes[d].after;
    steps[d] = s->axes[d].step;
    dilated |= steps[d] > 1;
  }
  byoc_attribute_t window[4] = {
      {.name = "kernel_shape", .kind = BYOC_ATTRIBUTE_INTS, .ints = part->taps, .count = axes},
      {.name = "pads", .kind = BYOC_ATTRIBUTE_INTS, .ints = pads, .count = 2 * axes}};
  size_t count = 2;
  if (dilated) {
    window[count++] =
        (byoc_attribute_t){.name = "dilations", .kind = BYOC_ATTRIBUTE_INTS, .ints = steps, .count = axes};
  }
  if (s->groups > 1) {
    window[count++] = (byoc_attribute_t){.name = "group", .kind = BYOC_ATTRIBUTE_INT, .i = s->groups};
  }
  byoc_node_t *conv =
      byoc_op_create_with(node->block, node, "", "Conv", operands, has_bias ? 3 : 2, 1, window, count, diag);
  return conv && byoc_node_set_name(conv, node->name) ? conv->results[0] : NULL;
}

// The phases one after the other, as channels.
static byoc_value_t *convolve_apart(byoc_node_t *node, const split_t *s, byoc_diag_t *diag) {
  byoc_value_t *phases[MOST_PHASES_APART];
  for (int64_t phase = 0; phase < s->phases; ++phase) {
    const part_t part = part_of_phase(s, phase);
    phases[phase] = convolve(node, s, &part, diag);
    if (phases[phase] == NULL) return NULL;
  }
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_node_t *joined =
      byoc_op_create_with(node->block, node, "", "Concat", phases, (uint32_t)s->phases, 1, &axis, 1, diag);
  return joined ? joined->results[0] : NULL;
}

// ConvTranspose(x, w, strides) → Slice(DepthToSpace(Conv(x, w')))
static byoc_status_t split(byoc_node_t *node, const split_t *s, byoc_diag_t *diag, size_t *changes) {
  const bool apart = is_better_apart(s);
  const part_t whole = whole_part(s);
  byoc_value_t *result = apart ? convolve_apart(node, s, diag) : convolve(node, s, &whole, diag);
  if (result != NULL) result = rearrange(node, s, apart, result, diag);
  if (result != NULL && s->cuts) result = cut(node, s, result, diag);
  return byoc_pass_replace(node, result, diag, changes);
}

static byoc_status_t split_node(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  const bool *is_claimed = self; // by a target's rule
  split_t s;
  if (!byoc_node_is_onnx(node, "ConvTranspose") || !read_split(node, &s)) return BYOC_OK;
  if (!can_rearrange(&s, node->operands[0]->type)) return BYOC_OK;
  if (*is_claimed && byoc_type_is_static(node->operands[0]->type)) return BYOC_OK;
  return split(node, &s, diag, changes);
}

byoc_status_t byoc_pass_split_transposed(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                         byoc_diag_t *diag, size_t *changes) {
  bool is_claimed = arguments->targets && byoc_target_list_has_rule(arguments->targets, "ConvTranspose", 0);
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) != NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block(function->body, split_node, &is_claimed, diag, changes));
  }
  return BYOC_OK;
}
