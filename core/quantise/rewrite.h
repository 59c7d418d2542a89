// SPDX-License-Identifier: Apache-2.0
// Writes quantised models: the layers of a plan as ONNX operators on integers. Internal to core/quantise.
#ifndef BYOC_CORE_QUANTISE_REWRITE_H_
#define BYOC_CORE_QUANTISE_REWRITE_H_

#include "core/quantise/layers.h"
#include "core/quantise/weights.h"

typedef struct byoc_qform_t {
  byoc_dtype_t activations; // u8, i8, u16 or i16
  bool is_symmetric;        // zero points in the middle
  bool per_tensor;          // one scale for all weights of a layer
  // Weights only.
  int bits;                  // 4 or 8; 0: activations become integers, too
  size_t group;              // along the sum
  bool is_dequantise;        // DequantizeLinear with blocks in front of the product, and not MatMulNBits
  const byoc_map_t *rounded; // text map: result of a product → byoc_rounded_t *, of all layers
} byoc_qform_t;

// The matrix of a product in groups.
typedef struct byoc_rounded_t {
  byoc_groups_t groups;
  uint8_t *integers; // as byoc_groups_round has them
  float *scales;
  uint8_t *zeros;
} byoc_rounded_t;

// Rounds the weights of a layer. `gram`: see byoc_groups_round_with_feedback; NULL: to nearest. Lives in the arena.
// BYOC_INVALID_DATA, naming the layer, if `gram` has no inverse.
byoc_status_t byoc_qlayer_round(const byoc_qgraph_t *graph, const byoc_qlayer_t *layer, const byoc_qform_t *form,
                                const double *gram, byoc_arena_t *arena, byoc_diag_t *diag, byoc_rounded_t **out);

typedef struct byoc_qwriter_t {
  const byoc_qgraph_t *graph; // of floats
  const byoc_qplan_t *plan;
  const byoc_qform_t *form;
  byoc_onnx_model_t *model; // what is written: a fork
  byoc_arena_t arena;
  BYOC_VECTOR(Onnx__NodeProto *) nodes;
  byoc_map_t names;      // taken
  byoc_map_t floats_of;  // pointer map: byoc_qvalue_t * → the name of it after DequantizeLinear
  byoc_map_t scales_of;  // pointer map: byoc_qparams_t * (a root) → const char *[2], scale and zero point
  byoc_map_t weights_of; // text map: tensor and axis → what was made of it
  byoc_diag_t *diag;
} byoc_qwriter_t;

// `graph` and `plan` outlive the writer, and so does the model of the graph.
byoc_status_t byoc_qwriter_open(byoc_qwriter_t *writer, const byoc_qgraph_t *graph, const byoc_qplan_t *plan,
                                const byoc_qform_t *form, byoc_diag_t *diag);
void byoc_qwriter_close(byoc_qwriter_t *writer); // accepts one that is all zeros
// The whole model, quantised.
byoc_status_t byoc_qwriter_quantise(byoc_qwriter_t *writer);
// The model as it is, and beside it each reported layer in its quantised form, on the values of the model of floats.
// out_names[l]: the result of layer l in that form; NULL for layers that are not reported.
byoc_status_t byoc_qwriter_compare(byoc_qwriter_t *writer, const char **out_names);
// Hands the model to the caller.
byoc_onnx_model_t *byoc_qwriter_release(byoc_qwriter_t *writer);

// The scales of a product's weights by channels, as they are written.
typedef struct byoc_qscales_t {
  byoc_channels_t channels;
  int32_t axis;     // of output channels; -1: one scale for all
  float data_scale; // of what the product reads; 1: floats
  float *scales;    // of each channel
  bool has_bias;    // a constant; the scales are so large that it fits 32 bits
} byoc_qscales_t;
// `node` has weights (byoc_qlayer_weights). They live in the arena. False if out of memory.
bool byoc_qlayer_scales(const byoc_qgraph_t *graph, const byoc_qplan_t *plan, const byoc_qform_t *form,
                        const Onnx__NodeProto *node, byoc_arena_t *arena, byoc_qscales_t *out);

// ---- for the files of the writer: writer.c and groups.c ----
// Appends a node; BYOC_OUT_OF_MEMORY for NULL.
byoc_status_t byoc_qwriter_add(byoc_qwriter_t *writer, Onnx__NodeProto *node);
const char *byoc_qwriter_name(byoc_qwriter_t *writer, const char *base, const char *suffix);
// See byoc_qgraph_add_initialiser.
void *byoc_qwriter_initialiser(byoc_qwriter_t *writer, const char *base, const char *suffix, byoc_dtype_t dtype,
                               size_t rank, const int64_t *dims, const char **out_name);
// Writes the product `node`, which reads `data`, with weights in groups; `result`: the name of its result.
byoc_status_t byoc_qwriter_add_groups(byoc_qwriter_t *writer, const Onnx__NodeProto *node, const char *data,
                                      const char *result);
// Drops initialisers and Constant nodes that nothing reads any more.
void byoc_qwriter_drop_unread(byoc_onnx_model_t *model);

#endif // BYOC_CORE_QUANTISE_REWRITE_H_
