// SPDX-License-Identifier: Apache-2.0
// Parts of ONNX models that byoc's writer (core/frontend/onnx_write.h) does not write, for tests of the reader.
#ifndef BYOC_TESTS_SUPPORT_ONNX_H_
#define BYOC_TESTS_SUPPORT_ONNX_H_

#include "core/frontend/onnx_write.h"
#include "onnx.pb-c.h"

Onnx__ModelProto *byoc_test_onnx_message(byoc_onnx_model_t *model);
// A local function; attributes are the names of its attribute parameters. Its nodes are added as to a graph.
byoc_onnx_graph_t *byoc_test_onnx_function(byoc_onnx_model_t *model, const char *domain, const char *name,
                                           const char *inputs, const char *outputs, const char *attributes,
                                           int64_t opset);
void byoc_test_onnx_value_info(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, const char *shape);
void byoc_test_onnx_floats(byoc_onnx_node_t *node, const char *name, const float *values, size_t count);
void byoc_test_onnx_strings(byoc_onnx_node_t *node, const char *name, const char *const *values, size_t count);
// The tensor has one dimension.
void byoc_test_onnx_tensor(byoc_onnx_node_t *node, const char *name, byoc_dtype_t dtype, int64_t size,
                           const void *data);
// In a local function: the attribute takes its value from the function's parameter. `kind` is AttributeType's number
// in onnx.proto (FLOAT 1, INT 2, STRING 3, TENSOR 4, FLOATS 6, INTS 7, STRINGS 8).
void byoc_test_onnx_reference(byoc_onnx_node_t *node, const char *name, const char *parameter, int kind);

#endif // BYOC_TESTS_SUPPORT_ONNX_H_
