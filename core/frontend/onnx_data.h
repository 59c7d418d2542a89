// SPDX-License-Identifier: Apache-2.0
// Reads ONNX test data: tensors in separate files, and the names in a model without the rest of it.
//
// Example:
//   byoc_onnx_summary_t summary;
//   BYOC_RETURN_IF_ERROR(byoc_onnx_summarise_file("model.onnx", &arena, diag, &summary));
//   byoc_onnx_value_t x;
//   BYOC_RETURN_IF_ERROR(byoc_onnx_read_value_file("input_0.pb", BYOC_TYPE_TENSOR, module, diag, &x));
#ifndef BYOC_CORE_FRONTEND_ONNX_DATA_H_
#define BYOC_CORE_FRONTEND_ONNX_DATA_H_

#include "core/ir/graph.h"

// An input or output as the file declares it.
typedef struct byoc_onnx_port_t {
  const char *name;
  byoc_type_kind_t kind; // UNKNOWN if the file has no type, or one that byoc does not have
  byoc_dtype_t dtype;    // tensors; NONE if byoc does not know it
  bool is_static;        // tensors: every dimension is a number
} byoc_onnx_port_t;

typedef struct byoc_onnx_summary_t {
  const byoc_onnx_port_t *inputs; // without those that an initialiser fills
  size_t input_count;
  const byoc_onnx_port_t *outputs;
  size_t output_count;
  const char *const *operators; // of the top-level graph: "Conv", "com.example::Op"; each once, in order of appearance
  size_t operator_count;
} byoc_onnx_summary_t;

// Reads only names: models with unknown operators or damaged weights can be summarised too. Everything lives in
// `arena`. BYOC_INVALID_DATA if the file is not a model.
byoc_status_t byoc_onnx_summarise_file(const char *path, byoc_arena_t *arena, byoc_diag_t *diag,
                                       byoc_onnx_summary_t *out_summary);

// The content of a file: a tensor, or a sequence or optional of values.
typedef struct byoc_onnx_value_t {
  byoc_type_kind_t kind;
  byoc_constant_t *constant;       // TENSOR; of the module, under the tensor's own name
  struct byoc_onnx_value_t *items; // SEQUENCE, OPTIONAL; in the module's arena
  size_t count;                    // OPTIONAL: 0 or 1
} byoc_onnx_value_t;

// Reads a file that holds one TensorProto, SequenceProto or OptionalProto, as `kind` says.
byoc_status_t byoc_onnx_read_value_file(const char *path, byoc_type_kind_t kind, byoc_graph_module_t *module,
                                        byoc_diag_t *diag, byoc_onnx_value_t *out_value);

#endif // BYOC_CORE_FRONTEND_ONNX_DATA_H_
