// SPDX-License-Identifier: Apache-2.0
// How the command reads models: rules that are overlooked, names, inputs that have a value in the model.
#include "core/base/file.h"
#include "models.h"
#include "tests/support/command.h"

static void write_model(const char *path, byoc_onnx_model_t *model) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static byoc_onnx_model_t *begin(byoc_onnx_graph_t **out_graph) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "reading", 17);
  *out_graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(*out_graph, "x", BYOC_DTYPE_F32, "3");
  return model;
}

// An output that is an input, one value twice, and an initialiser, in all that shows names.
static void test_outputs_keep_their_names(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = begin(&graph);
  const float values[3] = {1, -2, 3};
  byoc_onnx_graph_initialiser_data(graph, "k", BYOC_DTYPE_F32, 1, (const int64_t[]){3}, values);
  byoc_onnx_graph_node(graph, "Relu", "", "x", "y");
  byoc_onnx_graph_node(graph, "Identity", "", "y", "z");
  static const char *const outputs[] = {"x", "y", "z", "k"};
  for (size_t i = 0; i < 4; ++i) byoc_onnx_graph_output(graph, outputs[i], BYOC_DTYPE_F32, "3");
  write_model("names.onnx", model);
  write_npy("names_x.npy", 1, (const int64_t[]){3}, values);
  byoc_test_shell(0, "byoc build names.onnx -o names.so && byoc build names.onnx --emit=host > names.host");
  static const char *const forms[] = {"names.onnx", "names.onnx --evaluate", "names.so", "names.host"};
  for (size_t i = 0; i < 4; ++i) {
    byoc_test_shell(0,
                    "rm -rf names && byoc run %s -i x=names_x.npy -e x=names_x.npy -e k=names_x.npy --output-dir names",
                    forms[i]);
    byoc_test_shell(0, "ls names && cmp names/y.npy names/z.npy");
    byoc_test_printed("k.npy\nx.npy\ny.npy\nz.npy\n");
  }
  byoc_test_shell(0, "byoc inspect names.so | grep put && grep put names.h");
  byoc_test_printed("input  x : f32[3]");
  byoc_test_printed("output x : f32[3]");
  byoc_test_printed("// Output \"x\": f32[3]");
}

static void test_strict_and_lenient(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = begin(&graph);
  byoc_onnx_node_float(byoc_onnx_graph_node(graph, "LeakyRelu", "n", "x", "t"), "alhpa", 0.5F);
  byoc_onnx_graph_node(graph, "NonZero", "", "t", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_I64, "1,1");
  write_model("misspelt.onnx", model);
  const float values[3] = {1, 2, 3};
  const int64_t places[3] = {0, 1, 2};
  write_npy("read_x.npy", 1, (const int64_t[]){3}, values);
  write_npy_of("read_y.npy", "<i8", 2, (const int64_t[]){1, 3}, places, sizeof(places));
  byoc_test_shell(1, "byoc build misspelt.onnx -o none.so");
  byoc_test_printed("attribute 'alhpa' is not known");
  byoc_test_shell(2, "byoc build misspelt.onnx -o none.so --strict --lenient");
  byoc_test_printed("--strict and --lenient exclude each other");
  byoc_test_shell(0, "byoc build misspelt.onnx -o lenient.so --lenient");
  byoc_test_printed("warning: node 'n' (LeakyRelu): the operator has no attribute 'alhpa', which is left out");
  byoc_test_printed("warning: value 'y' is declared i64[1,1], but NonZero");
  byoc_test_shell(0, "byoc run lenient.so -i x=read_x.npy -e y=read_y.npy");
  byoc_test_shell(0, "byoc run misspelt.onnx --lenient --evaluate -i x=read_x.npy -e y=read_y.npy");
  byoc_test_shell(2, "byoc run lenient.so -i x=read_x.npy --strict");
  byoc_test_printed("--strict is for models; this is an artifact");

  model = begin(&graph);
  byoc_onnx_graph_node(graph, "NonZero", "", "x", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_I64, "1,1");
  write_model("promise.onnx", model);
  byoc_test_shell(0, "byoc build promise.onnx -o promise.so --strict");
  byoc_test_shell(2, "byoc run promise.so -i x=read_x.npy"); // what is declared is a promise then
  byoc_test_printed("dimension 1 of result 0 'y' is 3, but the model declares 1");
}

static void test_inputs_with_a_value_in_the_model(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = begin(&graph);
  const float own[3] = {1, 2, 3}, other[3] = {10, 20, 30}, none[3] = {0};
  byoc_onnx_graph_input(graph, "w", BYOC_DTYPE_F32, "3");
  byoc_onnx_graph_initialiser_data(graph, "w", BYOC_DTYPE_F32, 1, (const int64_t[]){3}, own);
  byoc_onnx_graph_node(graph, "Add", "", "x,w", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "3");
  write_model("default.onnx", model);
  write_npy("own.npy", 1, (const int64_t[]){3}, own);
  write_npy("other.npy", 1, (const int64_t[]){3}, other);
  write_npy("zeros.npy", 1, (const int64_t[]){3}, none);
  for (int i = 0; i < 2; ++i) {
    const char *how = i == 0 ? "" : "--evaluate";
    byoc_test_shell(0, "byoc run default.onnx %s -i x=zeros.npy -e y=own.npy", how);
    byoc_test_shell(0, "byoc run default.onnx %s -i x=zeros.npy -i w=other.npy -e y=other.npy", how);
    byoc_test_shell(0, "byoc run default.onnx %s -i x=zeros.npy --optional-input w -e y=own.npy", how);
  }
  byoc_test_shell(0, "byoc build default.onnx -o default.so --optional-input '*' && byoc inspect default.so");
  byoc_test_printed("input  w : optional f32[3]");
  byoc_test_shell(0, "byoc run default.so -i x=zeros.npy -e y=own.npy");
  byoc_test_shell(0, "byoc run default.so -i x=zeros.npy -i w=other.npy -e y=other.npy");
  byoc_test_shell(2, "byoc build default.onnx -o none.so --optional-input x");
  byoc_test_printed("the model has no input 'x' with an initialiser");
}

// A TensorProto of the texts "ab" and "c".
static void test_texts_in_pb_files(void **state) {
  (void)state;
  static const uint8_t proto[] = {0x08, 2, 0x10, 8, 0x32, 2, 'a', 'b', 0x32, 1, 'c'};
  byoc_diag_t diag = {0};
  write_identity("pb.onnx", BYOC_DTYPE_STRING, "2");
  byoc_test_ok(byoc_file_write_atomic("texts.pb", proto, sizeof(proto), 0644, &diag), &diag);
  byoc_test_shell(0, "byoc run pb.onnx -i x=texts.pb && byoc run pb.onnx --evaluate -i x=texts.pb");
  byoc_test_printed("y : string[2] = 'ab' 'c'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outputs_keep_their_names),
      cmocka_unit_test(test_strict_and_lenient),
      cmocka_unit_test(test_inputs_with_a_value_in_the_model),
      cmocka_unit_test(test_texts_in_pb_files),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
