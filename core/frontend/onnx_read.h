// SPDX-License-Identifier: Apache-2.0
// The ONNX reader: a model file becomes a module of typed graph functions.
//
// Example:
//   const byoc_onnx_dim_binding_t batch = {"N", 8};
//   byoc_onnx_read_options_t options = {.bindings = &batch, .binding_count = 1};
//   byoc_graph_module_t *module;
//   BYOC_RETURN_IF_ERROR(byoc_onnx_read_file("model.onnx", &options, allocator, diag, &module));
//
// The parts of a model become:
//   graph               function "main"; inputs and outputs keep their names exactly
//   initialiser         module constant, and so do sparse initialisers (densified) and Constant nodes. One that is also
//                       an input is a constant too and leaves the signature, unless the options keep it
//   local function      one function per call, marked Inline = 1 and named domain.name; its attribute parameters are
//                       filled in
//   If, Loop, Scan ...  nodes with nested blocks, which see the names around them
//   dim_param           symbol of that name; a dimension an input leaves open becomes the symbol "<input>.<axis>"
//   value_info          a hint: computed shapes are used, and a warning reports differences (onnx_infer.c)
//   model fields        attributes `model`, `producer`, `ir_version`, `opset_import.<domain>` of the module
//
// Big initialisers are not copied if the file holds them at an address aligned for their element type: they point into
// the mapped file, which the module keeps open. The reader takes IR versions 3 to BYOC_ONNX_IR_VERSION_MAX and every
// operator set for which core/ops has rows. The module it returns is sorted, fully typed and verified.
#ifndef BYOC_CORE_FRONTEND_ONNX_READ_H_
#define BYOC_CORE_FRONTEND_ONNX_READ_H_

#include "core/op/extension.h"

// The newest version that onnx 1.23 writes. Operator sets newer than BYOC_OPSET_NEWEST are refused: they might give a
// known operator another meaning.
#define BYOC_ONNX_IR_VERSION_MIN 3
#define BYOC_ONNX_IR_VERSION_MAX 14

// Gives a symbolic dimension of the inputs a value.
typedef struct byoc_onnx_dim_binding_t {
  const char *name;
  int64_t value; // >= 0
} byoc_onnx_dim_binding_t;

// Replaces the shape that the model declares for an input.
typedef struct byoc_onnx_input_shape_t {
  const char *name;
  const int64_t *dims;
  size_t rank;
} byoc_onnx_input_shape_t;

typedef enum byoc_onnx_strictness_t {
  BYOC_ONNX_USUAL,   // a common mistake that can be understood is a warning
  BYOC_ONNX_STRICT,  // a violation of the specification is an error: declared shapes that contradict computed ones,
                     // domains that are not imported, nodes out of order, operators newer than the operator set, names
                     // given twice in nested graphs, attributes without a type
  BYOC_ONNX_LENIENT, // an attribute that its operator does not have is left out, with a warning
} byoc_onnx_strictness_t;

typedef struct byoc_onnx_read_options_t {
  const byoc_onnx_dim_binding_t *bindings;
  size_t binding_count;
  const byoc_onnx_input_shape_t *shapes;
  size_t shape_count;
  // The folder in which external data files are looked for. NULL: the model file's folder; a model in memory then has
  // none.
  const char *folder;
  const byoc_op_source_t *operators; // of domains that are not byoc's own; NULL: there are none
  byoc_onnx_strictness_t strictness;
  // Inputs with an initialiser that stay inputs: they are optional, with the initialiser as default. "*" means all of
  // them. A name in `given_inputs` may also be that of another input, or of none.
  const char *const *optional_inputs;
  size_t optional_count;
  const char *const *given_inputs;
  size_t given_count;
  bool clamps_indices; // the module gets the attribute BYOC_ATTRIBUTE_INDICES
} byoc_onnx_read_options_t;

// `options` may be NULL. The caller destroys the module. Statuses: BYOC_INVALID_DATA for a damaged or contradictory
// file, BYOC_UNSUPPORTED for an operator, version or feature not known here, BYOC_INVALID_ARGUMENT for options that do
// not fit the model, and those of byoc_file_view_open. Messages name the node or tensor, the operator and the reason.
byoc_status_t byoc_onnx_read_file(const char *path, const byoc_onnx_read_options_t *options, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, byoc_graph_module_t **out_module);
// The same from memory, which may be freed afterwards: everything is copied. `name` is for messages.
byoc_status_t byoc_onnx_read_memory(const void *data, size_t size_bytes, const char *name,
                                    const byoc_onnx_read_options_t *options, byoc_allocator_t allocator,
                                    byoc_diag_t *diag, byoc_graph_module_t **out_module);

#endif // BYOC_CORE_FRONTEND_ONNX_READ_H_
