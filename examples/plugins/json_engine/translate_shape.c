// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, and Resize.
#include <math.h>
#include <string.h>

#include "translate.h"

// Images have their channels last; that is the order of ONNX too if there is one channel or one pixel.
static int is_in_order(const xnnpack_shape_t *shape) {
  return shape->rank != 4 || shape->dims[1] == 1 || shape->dims[2] * shape->dims[3] == 1;
}

const char *xnnpack_translate_reshape(const xnnpack_source_t *source) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0), y = xnnpack_result_shape(source);
  const int is_same = x.rank == y.rank && memcmp(x.dims, y.dims, sizeof(x.dims)) == 0;
  for (uint64_t i = 1; i < source->graph->operand_count(source->node); ++i)
    if (xnnpack_operand(source, i) != NULL && !xnnpack_is_constant(source, xnnpack_operand(source, i)))
      return "shapes have to be constants";
  if (!is_same && !(is_in_order(&x) && is_in_order(&y))) return "it mixes channels and pixels";
  if (source->draft != NULL) xnnpack_emit(source, "reshape", NULL, 0);
  return NULL;
}

const char *xnnpack_translate_pad(const xnnpack_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  const int32_t rank = xnnpack_operand_shape(source, 0).rank;
  int64_t pads[2 * XNNPACK_RANK_LIMIT], count = 0;
  if (strcmp(graph->node_text(source->node, "mode"), "constant") != 0) return "XNNPACK pads with a constant only";
  if (xnnpack_operand(source, 3) != NULL || xnnpack_ints(source, "pads", 1, pads, 2 * rank) != 2 * rank)
    return "padding of all axes has to be a constant";
  for (int32_t i = 0; i < 2 * rank; ++i)
    if (pads[i] < 0) return "negative padding";
  double value = graph->node_since_version(source->node) < 11 ? graph->node_float(source->node, "value") : 0;
  const byoc_value_t *operand = xnnpack_operand(source, 2);
  const float *given = xnnpack_floats(source, operand, &count);
  if (operand != NULL && (given == NULL || count != 1)) return "the value has to be a constant";
  if (given != NULL) value = *given;
  if (!isfinite(value)) return "the value has to be finite";
  if (source->draft == NULL) return NULL;
  static const int32_t image[4] = {0, 2, 3, 1};
  int64_t before[XNNPACK_RANK_LIMIT], after[XNNPACK_RANK_LIMIT];
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t axis = rank == 4 ? image[i] : i;
    before[i] = pads[axis];
    after[i] = pads[rank + axis];
  }
  xnnpack_emit(source, "pad", NULL, 0);
  xnnpack_draft_list(source->draft, "before", before, rank);
  xnnpack_draft_list(source->draft, "after", after, rank);
  xnnpack_draft_real(source->draft, "value", value);
  return NULL;
}

const char *xnnpack_translate_depth_to_space(const xnnpack_source_t *source) {
  const char *mode = source->graph->node_text(source->node, "mode");
  if (mode != NULL && mode[0] != '\0' && strcmp(mode, "DCR") != 0) return "only mode DCR is taken";
  const int64_t block = source->graph->node_int(source->node, "blocksize");
  if (block < 2) return "XNNPACK takes blocks of 2 and more";
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "depth_to_space", NULL, 0);
  xnnpack_draft_integer(source->draft, "block", block);
  return NULL;
}

// True if the scales are the quotients of the sizes, which XNNPACK computes with.
static int has_whole_scales(const xnnpack_source_t *source, const xnnpack_shape_t *x, const xnnpack_shape_t *y) {
  const byoc_value_t *operand = xnnpack_operand(source, 2);
  int64_t count = 0;
  const float *scales = xnnpack_floats(source, operand, &count);
  if (operand == NULL || source->graph->value_element_count(operand) == 0) return 1;
  if (scales == NULL || count != 4) return 0;
  for (int32_t i = 0; i < 4; ++i)
    if (fabs((double)scales[i] * (double)x->dims[i] - (double)y->dims[i]) > 1e-4) return 0;
  return 1;
}

const char *xnnpack_translate_resize(const xnnpack_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0), y = xnnpack_result_shape(source);
  if (graph->node_since_version(source->node) < 11) return "only versions since 11 are taken";
  if (strcmp(graph->node_text(source->node, "mode"), "linear") != 0) return "XNNPACK resizes linearly only";
  if (x.rank != 4 || x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) return "only height and width may change";
  if (graph->node_int(source->node, "antialias") != 0 || graph->node_int(source->node, "exclude_outside") != 0 ||
      graph->has_attribute(source->node, "axes"))
    return "XNNPACK has no antialiasing, nothing outside, and both axes";
  const char *mode = graph->node_text(source->node, "coordinate_transformation_mode");
  const int corners = strcmp(mode, "align_corners") == 0, legacy = strcmp(mode, "asymmetric") == 0;
  if (!corners && !legacy && strcmp(mode, "half_pixel") != 0) return "XNNPACK does not have this mode of coordinates";
  for (uint64_t i = 1; i < graph->operand_count(source->node); ++i)
    if (xnnpack_operand(source, i) != NULL && !xnnpack_is_constant(source, xnnpack_operand(source, i)))
      return "sizes have to be constants";
  if (!has_whole_scales(source, &x, &y)) return "XNNPACK takes scales that are quotients of the sizes only";
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "resize", NULL, 0);
  xnnpack_draft_integer(source->draft, "corners", corners);
  xnnpack_draft_integer(source->draft, "legacy", legacy);
  return NULL;
}
