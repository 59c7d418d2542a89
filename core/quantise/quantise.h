// SPDX-License-Identifier: Apache-2.0
// Quantises ONNX models: chooses layers, watches their values on samples, chooses scales, writes the model, and
// compares the layers with those of floats.
//
// Example:
//   const byoc_quantise_options_t options = {.scheme = BYOC_QUANTISE_INT8, .activations = BYOC_DTYPE_U8,
//                                            .samples = arguments, .sample_count = 8};
//   byoc_quantise_t *quantise;
//   BYOC_RETURN_IF_ERROR(byoc_quantise_open("model.onnx", &options, registry, diag, &quantise));
//   byoc_status_t status = byoc_quantise_run(quantise, &options, diag);
//   if (status == BYOC_OK) status = byoc_quantise_write(quantise, "q.onnx", diag);
//   byoc_quantise_close(quantise);
#ifndef BYOC_CORE_QUANTISE_QUANTISE_H_
#define BYOC_CORE_QUANTISE_QUANTISE_H_

#include "byoc/artifact.h"
#include "core/frontend/onnx_read.h"
#include "core/plugin/registry.h"
#include "core/quantise/range.h"

// X(NAME, "word", "help")
#define BYOC_QUANTISE_SCHEME_LIST(X)                                                                                   \
  X(INT8, "int8", "weights and activations as integers (QDQ)")                                                         \
  X(INT8_WEIGHTS, "int8-weights", "weights of matrix products in groups of 8 bits")                                    \
  X(INT4_WEIGHTS, "int4-weights", "the same in 4 bits")                                                                \
  X(F16_WEIGHTS, "f16-weights", "constants stored as f16")                                                             \
  X(BF16_WEIGHTS, "bf16-weights", "constants stored as bf16")
#define BYOC_QUANTISE_SCHEME_ENUM(NAME, word, help) BYOC_QUANTISE_##NAME,
typedef enum byoc_quantise_scheme_t {
  BYOC_QUANTISE_SCHEME_LIST(BYOC_QUANTISE_SCHEME_ENUM) BYOC_QUANTISE_SCHEME_COUNT
} byoc_quantise_scheme_t;
#undef BYOC_QUANTISE_SCHEME_ENUM

// Its pointers outlive the work.
typedef struct byoc_quantise_options_t {
  byoc_quantise_scheme_t scheme;
  byoc_dtype_t activations; // u8, i8, u16 or i16
  byoc_range_options_t range;
  bool is_symmetric;  // zero points in the middle
  bool per_tensor;    // one scale for the weights of a layer
  double smoothing;   // alpha; 0: none
  size_t group;       // terms of the sum in a group; a power of two from 16 on
  bool has_feedback;  // rounding with error feedback (GPTQ)
  bool is_dequantise; // groups as DequantizeLinear with blocks (operator set 21), and not as MatMulNBits
  const char *const *excluded;
  size_t excluded_count;
  double least_db; // layers below it stay in floats; 0: none
  bool no_report;  // no comparison
  // Samples: the inputs of the model, in its order. Weights need none, but for feedback and the comparison of results.
  byoc_argument_t *const *samples;
  size_t sample_count;
  const byoc_onnx_dim_binding_t *dims; // symbolic dimensions with a value
  size_t dim_count;
  int64_t thread_count; // of the runs; 0: as the artifact decides
  // Called before each step that may take long; NULL: nobody is.
  void (*begin)(void *self, const char *step, int64_t total);
  void (*advance)(void *self, int64_t done);
  void *self;
} byoc_quantise_options_t;

// What became of a layer. Signal to noise, in decibels, of its result against that of the model of floats; infinite if
// they are equal, NAN if values of either model are not finite.
typedef struct byoc_quantise_layer_t {
  const char *name, *op;
  const char *result; // of its operator: a name that no other layer has
  double alone_db;    // of the layer by itself, on the inputs that it has in the model of floats
  double whole_db;    // in the quantised model, with the errors of the layers in front of it; NAN: not measured
  double weights_db;  // of its weights; NAN: it has none
  bool is_left_out;   // by least_db
  bool is_proposed;   // to be left out
} byoc_quantise_layer_t;

typedef struct byoc_quantise_output_t {
  const char *name;
  double whole_db, relative_error; // the error's norm by that of the output; NAN: its values are not all finite
} byoc_quantise_output_t;

// Filled by byoc_quantise_run; lives as long as the work.
typedef struct byoc_quantise_report_t {
  byoc_quantise_layer_t *layers;
  size_t layer_count;
  byoc_quantise_output_t *outputs;
  size_t output_count;                // 0: no samples
  size_t product_count;               // layers that are products, quantised
  size_t float_count;                 // products that stay in floats
  size_t smoothed_count;              // inputs of layers that were smoothed
  int64_t opset;                      // of ai.onnx, that the result has
  uint64_t bytes_before, bytes_after; // of constants
} byoc_quantise_report_t;

typedef struct byoc_quantise_t byoc_quantise_t;

// The decibels below which a layer is proposed to be left out, unless least_db says so; those of weights in groups.
#define BYOC_QUANTISE_PROPOSED_DB        20.0
#define BYOC_QUANTISE_PROPOSED_GROUPS_DB 10.0

// Reads the model. BYOC_INVALID_ARGUMENT for one that is quantised already.
byoc_status_t byoc_quantise_open(const char *path, const byoc_quantise_options_t *options,
                                 byoc_plugin_registry_t *registry, byoc_diag_t *diag, byoc_quantise_t **out);
// The model as it was read: its inputs are those of samples.
const byoc_graph_module_t *byoc_quantise_module(const byoc_quantise_t *quantise);
// `options` may now have the samples. BYOC_INVALID_ARGUMENT if there is nothing to quantise or an excluded layer is not
// known, BYOC_INVALID_DATA for values that are not finite.
byoc_status_t byoc_quantise_run(byoc_quantise_t *quantise, const byoc_quantise_options_t *options, byoc_diag_t *diag);
const byoc_quantise_report_t *byoc_quantise_report(const byoc_quantise_t *quantise);
// Writes the file, or nothing. Constants of a model beyond 1.5 GiB go into `path`.data, which appears with it.
byoc_status_t byoc_quantise_write(byoc_quantise_t *quantise, const char *path, byoc_diag_t *diag);
void byoc_quantise_close(byoc_quantise_t *quantise); // accepts NULL

#endif // BYOC_CORE_QUANTISE_QUANTISE_H_
