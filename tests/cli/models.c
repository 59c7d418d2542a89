// SPDX-License-Identifier: Apache-2.0
// The models that tests of the command write.
#include "tests/cli/models.h"

#include <stdio.h>

#include "core/base/file.h"
#include "tests/support/support.h"

static void finish(byoc_onnx_model_t *model, const char *path) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static byoc_onnx_model_t *start(const char *name) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), name, 17);
  assert_non_null(model);
  return model;
}

void write_npy_of(const char *path, const char *descriptor, size_t rank, const int64_t *dims, const void *values,
                  size_t size_bytes) {
  char header[128], shape[64] = "";
  size_t used = 0;
  for (size_t d = 0; d < rank; ++d) {
    used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%lld,", (long long)dims[d]);
  }
  int size = snprintf(header, sizeof(header), "%c%s%c%cv%c{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                      0x93, "NUMPY", 1, 1, 0, descriptor, shape);
  header[7] = 0;
  header[8] = 118; // 128 bytes in all
  header[9] = 0;
  memset(header + size, ' ', sizeof(header) - (size_t)size);
  header[127] = '\n';
  const byoc_bytes_t parts[] = {{header, sizeof(header)}, {values, size_bytes}};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write_parts(path, parts, 2, &diag), &diag);
}

void write_npy(const char *path, size_t rank, const int64_t *dims, const float *values) {
  size_t count = 1;
  for (size_t d = 0; d < rank; ++d) count *= (size_t)dims[d];
  write_npy_of(path, "<f4", rank, dims, values, count * sizeof(float));
}

void write_tiny(const char *path, const char *rows) {
  static const float w[4][3] = {{1, 0, -1}, {0.5f, 2, 0}, {-1, 1, 1}, {0, -2, 0.25f}}, b[3] = {0.5f, -0.5f, 0};
  static const float x[2][4] = {{1, 2, 3, 4}, {-1, 0.5f, 2, -3}};
  byoc_onnx_model_t *model = start("tiny");
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  char shape[64];
  snprintf(shape, sizeof(shape), "%s,4", rows);
  byoc_onnx_graph_input(graph, "in/x:0", BYOC_DTYPE_F32, shape);
  byoc_onnx_graph_initialiser_data(graph, "w", BYOC_DTYPE_F32, 2, (const int64_t[]){4, 3}, w);
  byoc_onnx_graph_initialiser_data(graph, "b", BYOC_DTYPE_F32, 1, (const int64_t[]){3}, b);
  byoc_onnx_graph_node(graph, "MatMul", "product", "in/x:0,w", "product");
  byoc_onnx_graph_node(graph, "Add", "sum", "product,b", "sum");
  byoc_onnx_graph_node(graph, "Relu", "relu", "sum", "out/y:0");
  snprintf(shape, sizeof(shape), "%s,3", rows);
  byoc_onnx_graph_output(graph, "out/y:0", BYOC_DTYPE_F32, shape);
  finish(model, path);

  float y[2][3];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      float sum = b[j];
      for (int k = 0; k < 4; ++k) sum += x[i][k] * w[k][j];
      y[i][j] = sum > 0 ? sum : 0;
    }
  }
  write_npy("x.npy", 2, (const int64_t[]){2, 4}, &x[0][0]);
  write_npy("y.npy", 2, (const int64_t[]){2, 3}, &y[0][0]);
}

void write_frames(const char *path) {
  byoc_onnx_model_t *model = start("frames");
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "1,2,T");
  byoc_onnx_node_t *pool = byoc_onnx_graph_node(graph, "MaxPool", "pool", "x", "half");
  byoc_onnx_node_ints(pool, "kernel_shape", (const int64_t[]){1}, 1);
  byoc_onnx_node_ints(pool, "strides", (const int64_t[]){2}, 1);
  byoc_onnx_graph_initialiser_data(graph, "start", BYOC_DTYPE_I64, 1, (const int64_t[]){1}, (const int64_t[]){0});
  byoc_onnx_graph_initialiser_data(graph, "stop", BYOC_DTYPE_I64, 1, (const int64_t[]){1}, (const int64_t[]){16});
  byoc_onnx_graph_initialiser_data(graph, "axis", BYOC_DTYPE_I64, 1, (const int64_t[]){1}, (const int64_t[]){2});
  byoc_onnx_graph_node(graph, "Slice", "slice", "x,start,stop,axis", "first");
  byoc_onnx_graph_node(graph, "NonZero", "find", "x", "places");
  byoc_onnx_graph_output(graph, "half", BYOC_DTYPE_F32, "1,2,frames");
  byoc_onnx_graph_output(graph, "first", BYOC_DTYPE_F32, "1,2,T");
  byoc_onnx_graph_output(graph, "places", BYOC_DTYPE_I64, "3,hits");
  finish(model, path);
}

static void add_weights(byoc_onnx_graph_t *graph, const char *name, size_t rank, const int64_t *dims,
                        byoc_test_random_t *random) {
  size_t count = 1;
  for (size_t d = 0; d < rank; ++d) count *= (size_t)dims[d];
  float *data = byoc_onnx_graph_initialiser(graph, name, BYOC_DTYPE_F32, rank, dims);
  assert_non_null(data);
  for (size_t i = 0; i < count; ++i) data[i] = byoc_test_float(random) * 0.5f;
}

void write_vision(const char *path) {
  byoc_test_random_t random = {.state = 7};
  byoc_onnx_model_t *model = start("vision");
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  static const int64_t kernel[] = {3, 3}, pads[] = {1, 1, 1, 1}, two[] = {2, 2};
  byoc_onnx_graph_input(graph, "image", BYOC_DTYPE_F32, "1,3,12,12");
  add_weights(graph, "w1", 4, (const int64_t[]){16, 3, 3, 3}, &random);
  add_weights(graph, "b1", 1, (const int64_t[]){16}, &random);
  add_weights(graph, "w2", 4, (const int64_t[]){16, 16, 3, 3}, &random);
  add_weights(graph, "w3", 2, (const int64_t[]){16 * 6 * 6, 10}, &random);
  add_weights(graph, "b3", 1, (const int64_t[]){10}, &random);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, "Conv", "conv1", "image,w1,b1", "c1");
  byoc_onnx_node_ints(node, "kernel_shape", kernel, 2);
  byoc_onnx_node_ints(node, "pads", pads, 4);
  byoc_onnx_graph_node(graph, "Relu", "relu1", "c1", "r1");
  node = byoc_onnx_graph_node(graph, "Conv", "conv2", "r1,w2", "c2");
  byoc_onnx_node_ints(node, "kernel_shape", kernel, 2);
  byoc_onnx_node_ints(node, "pads", pads, 4);
  byoc_onnx_graph_node(graph, "Add", "residual", "c2,r1", "a2");
  byoc_onnx_graph_node(graph, "Relu", "relu2", "a2", "r2");
  node = byoc_onnx_graph_node(graph, "MaxPool", "pool", "r2", "p");
  byoc_onnx_node_ints(node, "kernel_shape", two, 2);
  byoc_onnx_node_ints(node, "strides", two, 2);
  byoc_onnx_graph_node(graph, "Flatten", "flatten", "p", "f");
  byoc_onnx_graph_node(graph, "Gemm", "dense", "f,w3,b3", "logits");
  byoc_onnx_graph_node(graph, "Softmax", "softmax", "logits", "scores");
  byoc_onnx_graph_output(graph, "scores", BYOC_DTYPE_F32, "1,10");
  finish(model, path);
}

void write_identity(const char *path, byoc_dtype_t dtype, const char *shape) {
  byoc_onnx_model_t *model = start("identity");
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", dtype, shape);
  byoc_onnx_graph_node(graph, "Identity", "identity", "x", "y");
  byoc_onnx_graph_output(graph, "y", dtype, shape);
  finish(model, path);
}

void write_unknown_operator(const char *path) {
  byoc_onnx_model_t *model = start("unknown");
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_node(graph, "Reluu", "mistyped", "x", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2");
  finish(model, path);
}

void write_chain(const char *path) {
  static const char text[] = "module {\n"
                             "  func @main(%x : f32[65536]) -> (%y : f32[65536]) {\n"
                             "    %0 = Relu@14(%x) : f32[65536]\n"
                             "    %1 = Exp@13(%0) : f32[65536]\n"
                             "    %2 = Neg@13(%1) : f32[65536]\n"
                             "    %3 = Abs@13(%2) : f32[65536]\n"
                             "    %y = Add@14(%3, %1) : f32[65536]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path, text, sizeof(text) - 1, &diag), &diag);
}
