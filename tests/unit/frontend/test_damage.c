// SPDX-License-Identifier: Apache-2.0
// Damaged and contradictory files: each gives a clear error, and never a crash, a leak or an allocation of a size that
// the file only claims.
#include "tests/unit/frontend/frontend_support.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/op/op.h"
#include "onnx.pb-c.h"

// A model with a bit of everything: weights, a function, attributes, value_info, a nested graph.
static byoc_onnx_model_t *make_rich(void) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_model_import(model, "my", 1);
  byoc_onnx_graph_t *function = byoc_test_onnx_function(model, "my", "Norm", "a", "b", "axis", 17);
  byoc_test_onnx_reference(byoc_onnx_graph_node(function, "Softmax", "", "a", "b"), "axis", "axis", 2);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "N,1,8,8");
  float *w = byoc_onnx_graph_initialiser(graph, "w", BYOC_DTYPE_F32, 4, (const int64_t[]){2, 1, 3, 3});
  for (int i = 0; w && i < 18; i++) w[i] = (float)i;
  byoc_onnx_node_t *conv = byoc_onnx_graph_node(graph, "Conv", "conv", "x,w", "c");
  byoc_onnx_node_ints(conv, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
  byoc_onnx_node_string(conv, "auto_pad", "NOTSET");
  byoc_onnx_node_float(byoc_onnx_graph_node(graph, "LeakyRelu", "act", "c", "d"), "alpha", 0.25f);
  byoc_test_onnx_tensor(byoc_onnx_graph_node(graph, "Constant", "", "", "k"), "value", BYOC_DTYPE_F32, 2,
                        (const float[]){1, 2});
  byoc_onnx_graph_node(graph, "Mul", "", "d,d", "e");
  byoc_onnx_node_t *call = byoc_onnx_graph_node(graph, "Norm", "call", "e", "out");
  byoc_onnx_node_set_domain(call, "my");
  byoc_onnx_node_int(call, "axis", 1);
  byoc_test_onnx_value_info(graph, "c", BYOC_DTYPE_F32, "N,2,8,8");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "N,2,8,8");
  byoc_onnx_graph_output(graph, "k", BYOC_DTYPE_F32, "2");
  if (byoc_op_known("", "If")) {
    byoc_onnx_graph_input(graph, "go", BYOC_DTYPE_BOOL, "");
    byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, "If", "if", "go", "chosen");
    const char *const names[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2; i++) {
      byoc_onnx_graph_t *branch = byoc_onnx_model_nested_graph(model, names[i]);
      byoc_onnx_graph_node(branch, i ? "Neg" : "Exp", "", "e", "chosen_inside");
      byoc_onnx_graph_output(branch, "chosen_inside", BYOC_DTYPE_F32, "N,2,8,8");
      byoc_onnx_node_graph(node, names[i], branch);
    }
    byoc_onnx_graph_output(graph, "chosen", BYOC_DTYPE_F32, NULL);
  }
  return model;
}

static void pack_rich(uint8_t **out_data, size_t *out_size) {
  byoc_diag_t diag = {0};
  byoc_onnx_model_t *model = make_rich();
  byoc_test_ok(byoc_onnx_model_pack(model, &diag, out_data, out_size), &diag);
  byoc_onnx_model_destroy(model);
}

// Reads bytes from an allocation of exactly their size, so that sanitizers see a read past them. True if they are a
// model.
static bool try_read(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1);
  assert_non_null(copy);
  memcpy(copy, data, size);
  byoc_failing_allocator_t counter = {.base = byoc_allocator_system(), .fail_at = -1};
  const byoc_allocator_t allocator = byoc_failing_allocator(&counter);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  const byoc_status_t status = byoc_onnx_read_memory(copy, size, "damaged.onnx", NULL, allocator, &diag, &module);
  if (status == BYOC_OK) {
    assert_int_equal(diag.status, BYOC_OK);
  } else {
    assert_null(module);
    assert_int_equal(diag.status, status);
    assert_int_not_equal(diag.message[0], '\0');
    assert_int_not_equal(status, BYOC_INTERNAL);
  }
  byoc_graph_module_destroy(module);
  assert_int_equal(counter.live_count, 0);
  free(copy);
  return status == BYOC_OK;
}

static void survives_truncation(void **state) {
  (void)state;
  uint8_t *data;
  size_t size;
  pack_rich(&data, &size);
  assert_true(try_read(data, size));
  // A file that is cut between two fields of the model itself may still be complete.
  size_t read = 0;
  for (size_t length = 0; length < size; length++) read += try_read(data, length);
  assert_in_range(read, 0, 8);
  byoc_free(byoc_allocator_system(), data);
}

static void survives_flipped_bits(void **state) {
  (void)state;
  uint8_t *data;
  size_t size, read = 0;
  pack_rich(&data, &size);
  byoc_test_random_t random = {2026};
  enum { COUNT = 2000 };
  for (int i = 0; i < COUNT; i++) {
    const size_t flips = 1 + byoc_test_below(&random, 3);
    size_t places[4];
    uint8_t masks[4];
    for (size_t k = 0; k < flips; k++) {
      places[k] = byoc_test_below(&random, size);
      masks[k] = (uint8_t)(1u << byoc_test_below(&random, 8));
      data[places[k]] ^= masks[k];
    }
    read += try_read(data, size);
    for (size_t k = flips; k-- > 0;) data[places[k]] ^= masks[k];
  }
  print_message("%zu of %d models with flipped bits were still models\n", read, (int)COUNT);
  assert_true(try_read(data, size));
  byoc_free(byoc_allocator_system(), data);
}

// Inserts, removes and overwrites bytes, which shifts every length after them.
static void survives_edited_bytes(void **state) {
  (void)state;
  uint8_t *data;
  size_t size;
  pack_rich(&data, &size);
  uint8_t *edited = malloc(2 * size);
  assert_non_null(edited);
  byoc_test_random_t random = {7};
  for (int i = 0; i < 1000; i++) {
    const size_t at = byoc_test_below(&random, size), count = 1 + byoc_test_below(&random, 12);
    const size_t taken = byoc_test_below(&random, 2) && at + count <= size ? count : 0;
    memcpy(edited, data, at);
    for (size_t k = 0; k < count; k++) edited[at + k] = (uint8_t)byoc_test_next(&random);
    memcpy(edited + at + count, data + at + taken, size - at - taken);
    try_read(edited, size + count - taken);
  }
  free(edited);
  byoc_free(byoc_allocator_system(), data);
}

static void refuses_what_is_no_model(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  static const char text[] = "This is a text and not a model at all.\n";
  byoc_test_error(byoc_onnx_read_memory("", 0, "empty", NULL, byoc_allocator_system(), &diag, &module),
                  BYOC_INVALID_DATA, &diag, "it is empty");
  byoc_diag_clear(&diag);
  static const char version[] = {0x08, 0x07}; // ir_version: 7
  byoc_test_error(byoc_onnx_read_memory(version, 2, "no graph", NULL, byoc_allocator_system(), &diag, &module),
                  BYOC_INVALID_DATA, &diag, "it has no graph");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_onnx_read_memory(text, sizeof(text), "text", NULL, byoc_allocator_system(), &diag, &module),
                  BYOC_INVALID_DATA, &diag, "reading text");
  static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4665\nsize 24\n";
  byoc_diag_clear(&diag);
  byoc_test_error(
      byoc_onnx_read_memory(pointer, sizeof(pointer) - 1, "pointer", NULL, byoc_allocator_system(), &diag, &module),
      BYOC_INVALID_DATA, &diag, "it is a Git LFS pointer");
  byoc_diag_clear(&diag);
  const byoc_status_t status =
      byoc_onnx_read_file("/nonexistent/model.onnx", NULL, byoc_allocator_system(), &diag, &module);
  byoc_test_error(status, BYOC_NOT_FOUND, &diag, "/nonexistent/model.onnx");
  byoc_diag_clear(&diag);
  // A length of 2^62 bytes.
  static const uint8_t huge[] = {0x3a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40};
  byoc_test_error(byoc_onnx_read_memory(huge, sizeof(huge), "huge", NULL, byoc_allocator_system(), &diag, &module),
                  BYOC_INVALID_DATA, &diag, "a length of 4611686018427387904 bytes, where 0 are left");
  byoc_diag_clear(&diag);
  // Two graphs, which protobuf would merge into one.
  static const uint8_t twice[] = {0x3a, 0, 0x3a, 0};
  byoc_test_error(byoc_onnx_read_memory(twice, sizeof(twice), "twice", NULL, byoc_allocator_system(), &diag, &module),
                  BYOC_INVALID_DATA, &diag, "graph: the field is there twice");
}

// If within If, 5,000 deep: protobuf-c would run out of stack.
static void refuses_deep_nesting(void **state) {
  (void)state;
  uint8_t *data = NULL;
  size_t size = 0;
  static const uint8_t keys[] = {0x32, 0x2a, 0x0a}; // AttributeProto.g, NodeProto.attribute, GraphProto.node
  for (int depth = 0; depth < 15000; depth++) {
    uint8_t head[8];
    size_t used = 0, length = size;
    head[used++] = keys[depth % 3];
    do {
      head[used++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
      length >>= 7;
    } while (length > 0);
    data = realloc(data, size + used);
    assert_non_null(data);
    memmove(data + used, data, size);
    memcpy(data, head, used);
    size += used;
  }
  uint8_t *file = malloc(size + 8);
  assert_non_null(file);
  size_t used = 0;
  file[used++] = 0x3a; // ModelProto.graph
  for (size_t length = size;; length >>= 7) {
    file[used++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
    if (length <= 0x7f) break;
  }
  memcpy(file + used, data, size);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  byoc_test_error(byoc_onnx_read_memory(file, used + size, "deep", NULL, byoc_allocator_system(), &diag, &module),
                  BYOC_INVALID_DATA, &diag, "nested more than 120 deep");
  free(file);
  free(data);
}

// ---- contradictions ----

static byoc_onnx_model_t *make_plain(byoc_onnx_graph_t **out_graph) {
  byoc_onnx_model_t *model = new_model();
  *out_graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(*out_graph, "x", BYOC_DTYPE_F32, "2,3");
  return model;
}

static void names_what_is_wrong_with_nodes(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "Reluu", "act", "x", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_UNSUPPORTED,
               "node 'act' (Reluu): operator Reluu of domain ai.onnx (operator set 17) is not known");

  model = make_plain(&graph);
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "Relu", "", "x", "out"), "com.acme");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "node 0 (com.acme::Relu), which makes 'out'");

  model = byoc_onnx_model_create(byoc_allocator_system(), "test", 1);
  graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Tile", "act", "x,x", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_UNSUPPORTED,
               "Tile is not known in operator set 1 of domain ai.onnx (it is known from operator set 6 on; convert ");

  // Nodes that only the compiler makes are not checked for their operands, so models must not contain them.
  model = make_plain(&graph);
  byoc_onnx_model_import(model, "byoc", 1);
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "SuppressedRows", "rows", "x", "out"), "byoc");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_I64, NULL);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "operator SuppressedRows: domain byoc holds the steps");

  model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "Add", "sum", "x,dangling", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "node 'sum' (Add): it reads 'dangling', which no input");

  model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "Add", "one", "x,b", "a");
  byoc_onnx_graph_node(graph, "Relu", "two", "a", "b");
  byoc_onnx_graph_output(graph, "b", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "the graph has a cycle");

  model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "Add", "one", "x,a", "a");
  byoc_onnx_graph_output(graph, "a", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "node 'one' (Add): it reads its own output");

  model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "Relu", "one", "x", "a");
  byoc_onnx_graph_node(graph, "Relu", "two", "x", "a");
  byoc_onnx_graph_output(graph, "a", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "node 'two' (Relu): its output 'a' is also made by another node");

  model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "Relu", "one", "x", "x");
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "node 'one' (Relu)");

  model = make_plain(&graph);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, "Softmax", "s", "x", "out");
  byoc_onnx_node_int(node, "axis", 0);
  byoc_onnx_node_int(node, "axis", 1);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "node 's' (Softmax): it has two attributes 'axis'");

  model = make_plain(&graph);
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Softmax", "s", "x", "out"), "axis", 0);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  ((Onnx__ModelProto *)byoc_test_onnx_message(model))->graph->node[0]->attribute[0]->type =
      ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
  expect_error(model, NULL, BYOC_INVALID_DATA, "attribute 'axis' is STRING and holds INT");

  model = make_plain(&graph);
  byoc_onnx_graph_node(graph, "MatMul", "mm", "x,x", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "'mm'");
}

static void names_what_is_wrong_with_graphs(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = make_plain(&graph);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "two inputs of this name");

  model = make_plain(&graph);
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "two outputs of this name");

  model = make_plain(&graph);
  expect_error(model, NULL, BYOC_INVALID_DATA, "the graph has no outputs");

  model = make_plain(&graph);
  byoc_onnx_graph_output(graph, "nothing", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "output 'nothing'");

  model = make_plain(&graph);
  byoc_onnx_graph_input(graph, "y", BYOC_DTYPE_F32, "4611686018427387904,4611686018427387904");
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "input 'y': its dimensions multiply to more than 64 bits");

  model = make_plain(&graph);
  byoc_onnx_graph_input(graph, "y", BYOC_DTYPE_F32, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "input 'y': 17 dimensions, more than the 16");

  model = make_plain(&graph);
  byoc_onnx_graph_initialiser(graph, "x", BYOC_DTYPE_I64, 1, (const int64_t[]){2});
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "it is declared f32[2,3], but its initialiser is i64[2]");

  for (int d = 0; d < 2; ++d) {
    const int64_t dims[] = {d == 0 ? 4 : 2, d == 0 ? 3 : 4};
    model = make_plain(&graph);
    byoc_onnx_graph_initialiser(graph, "x", BYOC_DTYPE_F32, 2, dims);
    byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
    expect_error(model, NULL, BYOC_INVALID_DATA,
                 d == 0 ? "but its initialiser is f32[4,3]" : "but its initialiser is f32[2,4]");
  }

  model = make_plain(&graph);
  byoc_onnx_graph_initialiser(graph, "w", BYOC_DTYPE_I64, 1, (const int64_t[]){2});
  byoc_onnx_graph_initialiser(graph, "w", BYOC_DTYPE_I64, 1, (const int64_t[]){2});
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "initialiser 'w': the name is taken");
}

static void names_what_is_wrong_with_models(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = make_plain(&graph);
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  byoc_onnx_model_set_ir_version(model, 2);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "it has IR version 2, and 3 to 14 are supported");
  model = make_plain(&graph);
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, NULL);
  byoc_onnx_model_set_ir_version(model, 99);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "it has IR version 99");
  model = byoc_onnx_model_create(byoc_allocator_system(), "test", 999);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "it imports operator set 999 of domain ai.onnx, and 28 is the newest");
  model = byoc_onnx_model_create(byoc_allocator_system(), "test", -1);
  expect_error(model, NULL, BYOC_INVALID_DATA, "it imports operator set -1");
  model = make_plain(&graph);
  byoc_onnx_model_import(model, "ai.onnx", 12);
  expect_error(model, NULL, BYOC_INVALID_DATA, "it imports operator sets 17 and 12 of domain ai.onnx");
  model = make_plain(&graph);
  ((Onnx__ModelProto *)byoc_test_onnx_message(model))->n_opset_import = 0;
  expect_error(model, NULL, BYOC_INVALID_DATA, "it imports no operator set");
}

static void bounds_function_calls(void **state) {
  (void)state;
  byoc_onnx_graph_t *graph;
  byoc_onnx_model_t *model = make_plain(&graph);
  byoc_onnx_model_import(model, "my", 1);
  byoc_onnx_graph_t *function = byoc_test_onnx_function(model, "my", "F", "a", "b", "", 17);
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(function, "F", "again", "a", "b"), "my");
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "F", "call", "x", "out"), "my");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "local function 'F' calls itself");

  // Ten functions, each calling the next ten times: a file of a few kilobytes makes 10^10 calls.
  model = make_plain(&graph);
  byoc_onnx_model_import(model, "my", 1);
  for (int i = 0; i < 10; i++) {
    char name[8], next[8];
    snprintf(name, sizeof(name), "F%d", i);
    snprintf(next, sizeof(next), "F%d", i + 1);
    function = byoc_test_onnx_function(model, "my", name, "v0", "v10", "", 17);
    for (int k = 0; k < 10; k++) {
      char from[8], to[8];
      snprintf(from, sizeof(from), "v%d", k);
      snprintf(to, sizeof(to), "v%d", k + 1);
      byoc_onnx_node_t *node = byoc_onnx_graph_node(function, i < 9 ? next : "Relu", "", from, to);
      if (i < 9) byoc_onnx_node_set_domain(node, "my");
    }
  }
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "F0", "call", "x", "out"), "my");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_UNSUPPORTED, "calls of local functions");

  model = make_plain(&graph);
  byoc_onnx_model_import(model, "my", 1);
  function = byoc_test_onnx_function(model, "my", "F", "a", "b", "", 17);
  byoc_onnx_graph_node(function, "Relu", "", "a", "b");
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "F", "call", "x,x", "out"), "my");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "it has 2 inputs and 1 outputs, its function 1 and 1");

  model = make_plain(&graph);
  byoc_test_onnx_reference(byoc_onnx_graph_node(graph, "Softmax", "s", "x", "out"), "axis", "axis", 2);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  expect_error(model, NULL, BYOC_INVALID_DATA, "refers to the attribute 'axis' of a function, but is not in one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(survives_truncation),
      cmocka_unit_test(survives_flipped_bits),
      cmocka_unit_test(survives_edited_bytes),
      cmocka_unit_test(refuses_what_is_no_model),
      cmocka_unit_test(refuses_deep_nesting),
      cmocka_unit_test(names_what_is_wrong_with_nodes),
      cmocka_unit_test(names_what_is_wrong_with_graphs),
      cmocka_unit_test(names_what_is_wrong_with_models),
      cmocka_unit_test(bounds_function_calls),
  };
  byoc_log_set_level(BYOC_LOG_ERROR); // flipped bits make declarations wrong, which only gives warnings
  return cmocka_run_group_tests(tests, NULL, NULL);
}
