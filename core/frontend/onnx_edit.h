// SPDX-License-Identifier: Apache-2.0
// Changes a model as a file: what is not touched is written as it was read. The writer (onnx_write.h) writes the
// result.
//
// Example:
//   byoc_onnx_model_t *model;
//   BYOC_RETURN_IF_ERROR(byoc_onnx_model_open("model.onnx", allocator, diag, &model));
//   Onnx__GraphProto *graph = byoc_onnx_model_message(model)->graph;
//   Onnx__NodeProto *node = byoc_onnx_make_node(model, "", "Relu", (const char *[]){"x"}, 1, (const char *[]){"y"}, 1);
//   if (node != NULL) byoc_onnx_add_attribute_int(model, node, "axis", 1);
//   byoc_status_t status = byoc_onnx_model_write(model, "changed.onnx", diag);
//   byoc_onnx_model_destroy(model);
//
// New messages live in the model's arena. NULL if out of memory; writing then fails, too.
#ifndef BYOC_CORE_FRONTEND_ONNX_EDIT_H_
#define BYOC_CORE_FRONTEND_ONNX_EDIT_H_

#include "core/base/arena.h"
#include "core/frontend/onnx_write.h"
#include "core/ir/graph.h"
#include "onnx.pb-c.h"

// Reads the messages of a model that byoc_onnx_read_file accepts. Tensors in external files keep their references.
byoc_status_t byoc_onnx_model_open(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                   byoc_onnx_model_t **out_model);
// A copy that shares all messages but the model, its graph, and the list of operator sets; the original must outlive
// it. Messages that both have are copied before they are changed.
byoc_status_t byoc_onnx_model_fork(const byoc_onnx_model_t *model, byoc_diag_t *diag, byoc_onnx_model_t **out_copy);
// Lets all tensors in external files hold their bytes themselves, those of nested graphs, attributes and local
// functions included: then the model can be written anywhere. `folder`: of the files. They stay open with `keeper`,
// which outlives the model and its forks.
byoc_status_t byoc_onnx_model_take_external(byoc_onnx_model_t *model, const char *folder, byoc_graph_module_t *keeper,
                                            byoc_diag_t *diag);
Onnx__ModelProto *byoc_onnx_model_message(byoc_onnx_model_t *model);
byoc_arena_t *byoc_onnx_model_arena(byoc_onnx_model_t *model);
// The version of a domain's operator set that the model imports; 0: none.
int64_t byoc_onnx_model_opset(const byoc_onnx_model_t *model, const char *domain);
// Imports that version instead of another one, or a domain that was not imported.
void byoc_onnx_model_set_opset(byoc_onnx_model_t *model, const char *domain, int64_t version);
// Writes the model, with the data of initialisers of 64 KiB and more in a file of its own, `data_path`, in the same
// folder. Both files appear, or none of them; the model stays as it is.
byoc_status_t byoc_onnx_model_write_apart(byoc_onnx_model_t *model, const char *path, const char *data_path,
                                          byoc_diag_t *diag);

// ---- nodes ----
// A node that is in no graph yet; names are copied. `domain` "" is ai.onnx.
Onnx__NodeProto *byoc_onnx_make_node(byoc_onnx_model_t *model, const char *domain, const char *op,
                                     const char *const *inputs, size_t input_count, const char *const *outputs,
                                     size_t output_count);
// A copy of a node with lists of its own; their elements and the attributes are shared.
Onnx__NodeProto *byoc_onnx_copy_node(byoc_onnx_model_t *model, const Onnx__NodeProto *node);
bool byoc_onnx_node_is(const Onnx__NodeProto *node, const char *op); // of ai.onnx
const Onnx__AttributeProto *byoc_onnx_find_attribute(const Onnx__NodeProto *node, const char *name);
int64_t byoc_onnx_attribute_int(const Onnx__NodeProto *node, const char *name, int64_t by_default);
float byoc_onnx_attribute_float(const Onnx__NodeProto *node, const char *name, float by_default);
void byoc_onnx_add_attribute_int(byoc_onnx_model_t *model, Onnx__NodeProto *node, const char *name, int64_t value);
void byoc_onnx_add_attribute_string(byoc_onnx_model_t *model, Onnx__NodeProto *node, const char *name,
                                    const char *value);
void byoc_onnx_remove_attribute(Onnx__NodeProto *node, const char *name);

// ---- tensors ----
// Adds an initialiser, whose bytes the caller fills; NULL if out of memory.
void *byoc_onnx_add_initialiser(byoc_onnx_model_t *model, const char *name, byoc_dtype_t dtype, size_t rank,
                                const int64_t *dims);
byoc_dtype_t byoc_onnx_tensor_dtype(const Onnx__TensorProto *tensor);
// The number of elements; -1 if its dimensions are no sizes.
int64_t byoc_onnx_tensor_count(const Onnx__TensorProto *tensor);
// The elements of a tensor of f32 or i64 within the model; NULL for others, and if it does not hold as many as its
// dimensions say.
const float *byoc_onnx_tensor_floats(byoc_onnx_model_t *model, const Onnx__TensorProto *tensor);
const int64_t *byoc_onnx_tensor_ints(byoc_onnx_model_t *model, const Onnx__TensorProto *tensor);

#endif // BYOC_CORE_FRONTEND_ONNX_EDIT_H_
