// SPDX-License-Identifier: Apache-2.0
// What the reader makes of sound models.
#include "tests/unit/frontend/frontend_support.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/op/op.h"
#include "core/op/refusal.h"
#include "tests/support/model.h"

#define HEAD "module {model = \"test\", producer = \"byoc\", ir_version = 8, opset_import. = 17} {\n"

static void reads_a_chain(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  const float w[4] = {1, 2, 3, 4};
  byoc_onnx_graph_input(graph, "in/put:0", BYOC_DTYPE_F32, "N,2");
  byoc_onnx_graph_initialiser_data(graph, "w", BYOC_DTYPE_F32, 2, (const int64_t[]){2, 2}, w);
  byoc_onnx_graph_node(graph, "MatMul", "mm", "in/put:0,w", "y");
  byoc_onnx_graph_node(graph, "Relu", "", "y", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "N,2");
  expect_text(model, NULL,
              HEAD "  constant @w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n"
                   "\n"
                   "  func @main(%\"in/put:0\" : f32[N,2]) -> (%out : f32[N,2]) {\n"
                   "    %y = MatMul@13 \"mm\" (%\"in/put:0\", @w) : f32[N,2]\n"
                   "    %out = Relu@14(%y) : f32[N,2]\n"
                   "    return %out\n"
                   "  }\n"
                   "}\n");
}

static byoc_onnx_model_t *make_symbolic(void) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "data", BYOC_DTYPE_F32, "?,batch,3");
  byoc_onnx_graph_node(graph, "Relu", "", "data", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  return model;
}

static void binds_dimensions(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(make_symbolic(), NULL, &diag, &module), &diag);
  const byoc_type_t *type = byoc_graph_module_main(module)->body->parameters.data[0]->type;
  assert_string_equal(type->dims[0].expr->symbol, "data.0");
  assert_string_equal(type->dims[1].expr->symbol, "batch");
  byoc_graph_module_destroy(module);

  const byoc_onnx_dim_binding_t bindings[] = {{"batch", 4}, {"data.0", 5}};
  byoc_onnx_read_options_t options = {.bindings = bindings, .binding_count = 2};
  byoc_test_ok(read_model(make_symbolic(), &options, &diag, &module), &diag);
  type = byoc_graph_module_main(module)->body->results.data[0]->type;
  assert_int_equal(byoc_type_element_count(type), 60);
  byoc_graph_module_destroy(module);

  const byoc_onnx_dim_binding_t misspelt[] = {{"bath", 4}};
  options = (byoc_onnx_read_options_t){.bindings = misspelt, .binding_count = 1};
  expect_error(make_symbolic(), &options, BYOC_INVALID_ARGUMENT, "'bath'; there are 'data.0', 'batch'");
  const byoc_onnx_dim_binding_t twice[] = {{"batch", 4}, {"batch", 5}};
  options = (byoc_onnx_read_options_t){.bindings = twice, .binding_count = 2};
  expect_error(make_symbolic(), &options, BYOC_INVALID_ARGUMENT, "given as 4 and as 5");
  const byoc_onnx_dim_binding_t negative[] = {{"batch", -4}};
  options = (byoc_onnx_read_options_t){.bindings = negative, .binding_count = 1};
  expect_error(make_symbolic(), &options, BYOC_INVALID_ARGUMENT, "cannot be -4");
}

static void overrides_shapes(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_onnx_input_shape_t shape = {"data", (const int64_t[]){7, 1, 3}, 3};
  const byoc_onnx_read_options_t options = {.shapes = &shape, .shape_count = 1};
  byoc_test_ok(read_model(make_symbolic(), &options, &diag, &module), &diag);
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 21);
  byoc_graph_module_destroy(module);
  shape.rank = 2;
  expect_error(make_symbolic(), &options, BYOC_INVALID_ARGUMENT, "2 dimensions, the model's has 3");
  shape.name = "dat";
  expect_error(make_symbolic(), &options, BYOC_INVALID_ARGUMENT, "no input 'dat'");
}

// An initialiser that is also an input, as in IR versions before 4.
static void drops_inputs_with_values(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  const float b[2] = {0.5f, -1};
  byoc_onnx_model_set_ir_version(model, 3);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_input(graph, "b", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_initialiser_data(graph, "b", BYOC_DTYPE_F32, 1, (const int64_t[]){2}, b);
  byoc_onnx_graph_node(graph, "Add", "", "x,b", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2");
  expect_text(model, NULL,
              "module {model = \"test\", producer = \"byoc\", ir_version = 3, opset_import. = 17} {\n"
              "  constant @b : f32[2] = [0.5, -1.0]\n"
              "\n"
              "  func @main(%x : f32[2]) -> (%out : f32[2]) {\n"
              "    %out = Add@14(%x, @b) : f32[2]\n"
              "    return %out\n"
              "  }\n"
              "}\n");
}

static void sorts_nodes(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_node(graph, "Add", "third", "a,b", "out");
  byoc_onnx_graph_node(graph, "Relu", "second", "a", "b");
  byoc_onnx_graph_node(graph, "Exp", "first", "x", "a");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_node_t *node = byoc_graph_module_main(module)->body->first;
  assert_string_equal(node->name, "first");
  assert_string_equal(node->next->name, "second");
  assert_string_equal(node->next->next->name, "third");
  byoc_graph_module_destroy(module);
}

static void reads_long_reversed_chains(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "v0", BYOC_DTYPE_F32, "2");
  for (int i = COUNT; i-- > 0;) {
    char from[16], to[16];
    snprintf(from, sizeof(from), "v%d", i);
    snprintf(to, sizeof(to), "v%d", i + 1);
    byoc_onnx_graph_node(graph, "Relu", "", from, to);
  }
  byoc_onnx_graph_output(graph, "v20000", BYOC_DTYPE_F32, "2");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  assert_int_equal(byoc_graph_module_main(module)->body->node_count, COUNT);
  byoc_graph_module_destroy(module);
}

static void keeps_omitted_operands(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  const float most = 6;
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_initialiser_data(graph, "most", BYOC_DTYPE_F32, 0, NULL, &most);
  byoc_onnx_graph_node(graph, "Clip", "", "x,,most", "y");
  byoc_onnx_graph_node(graph, "Clip", "", "y,,", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_node_t *node = byoc_graph_module_main(module)->body->first;
  assert_int_equal(node->operand_count, 3);
  assert_null(node->operands[1]);
  assert_int_equal(node->next->operand_count, 1);
  byoc_graph_module_destroy(module);
}

// Names that begin with "__" annotate nodes of any operator.
static void reads_attributes(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "1,1,4,4");
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, "Relu", "", "x", "out");
  byoc_onnx_node_int(node, "__i", -3);
  byoc_onnx_node_float(node, "__f", 0.1f);
  byoc_onnx_node_string(node, "__s", "text");
  byoc_onnx_node_string(node, "__e", "");
  byoc_onnx_node_ints(node, "__is", (const int64_t[]){1, 2}, 2);
  byoc_test_onnx_floats(node, "__fs", (const float[]){0.5f, 2}, 2);
  byoc_test_onnx_strings(node, "__ss", (const char *const[]){"a", "b"}, 2);
  byoc_test_onnx_tensor(node, "__t", BYOC_DTYPE_I64, 2, (const int64_t[]){7, 8});
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_attributes_t *attributes = &byoc_graph_module_main(module)->body->first->attributes;
  assert_int_equal(byoc_attributes_int(attributes, "__i", 0), -3);
  assert_true(byoc_attributes_float(attributes, "__f", 0) == (double)0.1f);
  assert_string_equal(byoc_attributes_string(attributes, "__s", ""), "text");
  assert_int_equal(byoc_attributes_find(attributes, "__e")->count, 0);
  size_t count;
  assert_int_equal(byoc_attributes_ints(attributes, "__is", &count)[1], 2);
  assert_true(byoc_attributes_floats(attributes, "__fs", &count)[0] == 0.5);
  assert_string_equal(byoc_attributes_find(attributes, "__ss")->strings[1], "b");
  assert_int_equal(byoc_constant_element_i64(byoc_attributes_find(attributes, "__t")->tensor, 1), 8);
  byoc_graph_module_destroy(module);
}

static void refuses_reserved_attributes(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Relu", "", "x", "out"), "byoc.targets", 1);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  assert_int_equal(read_model(model, NULL, &diag, &module), BYOC_INVALID_DATA);
  assert_non_null(strstr(diag.message, "'byoc.targets': names that begin with 'byoc.' are the compiler's own"));
}

// A dimension is a number, a name that keeps its meaning, or unknown.
static void reads_dimensions(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "N,3,N,M");
  byoc_onnx_graph_input(graph, "y", BYOC_DTYPE_F32, "7");
  byoc_onnx_graph_node(graph, "Relu", "", "x", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  Onnx__ModelProto *message = byoc_test_onnx_message(model);
  message->graph->input[1]->type->tensor_type->shape->dim[0]->value_case =
      ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_graph_print(module, NULL, &text);
  if (!strstr(text.data, "%x : f32[N,3,N,M], %y : f32[y.0]")) fail_msg("%s", text.data);
  byoc_string_deinit(&text);
  byoc_graph_module_destroy(module);
}

// If the kind is left out, as before attributes had types, it follows from the content.
static void reads_untyped_attributes(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,2");
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Softmax", "", "x", "out"), "axis", 0);
  byoc_onnx_node_float(byoc_onnx_graph_node(graph, "Elu", "", "x", "elu"), "alpha", 2.5f);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_output(graph, "elu", BYOC_DTYPE_F32, NULL);
  Onnx__ModelProto *message = byoc_test_onnx_message(model);
  message->graph->node[0]->attribute[0]->has_type = 0;
  message->graph->node[1]->attribute[0]->has_type = 0;
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_attributes_t *elu = &byoc_graph_module_main(module)->body->last->attributes;
  assert_true(byoc_attributes_float(elu, "alpha", 1) == 2.5);
  assert_int_equal(byoc_attributes_int(&byoc_graph_module_main(module)->body->first->attributes, "axis", 5), 0);
  byoc_graph_module_destroy(module);
}

static void reads_constant_nodes(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_test_onnx_tensor(byoc_onnx_graph_node(graph, "Constant", "", "", "a"), "value", BYOC_DTYPE_F32, 2,
                        (const float[]){1, 2});
  byoc_onnx_node_float(byoc_onnx_graph_node(graph, "Constant", "", "", "b"), "value_float", 2.5f);
  byoc_test_onnx_floats(byoc_onnx_graph_node(graph, "Constant", "", "", "c"), "value_floats", (const float[]){3, 4}, 2);
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Constant", "", "", "i"), "value_int", 9);
  byoc_onnx_node_ints(byoc_onnx_graph_node(graph, "Constant", "", "", "is"), "value_ints", (const int64_t[]){5}, 1);
  byoc_onnx_node_string(byoc_onnx_graph_node(graph, "Constant", "", "", "s"), "value_string", "hello");
  byoc_test_onnx_strings(byoc_onnx_graph_node(graph, "Constant", "", "", "ss"), "value_strings",
                         (const char *const[]){"p", "q"}, 2);
  byoc_onnx_graph_node(graph, "Add", "", "x,a", "t");
  byoc_onnx_graph_node(graph, "Add", "", "t,b", "u");
  byoc_onnx_graph_node(graph, "Add", "", "u,c", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_output(graph, "i", BYOC_DTYPE_I64, "");
  byoc_onnx_graph_output(graph, "is", BYOC_DTYPE_I64, "1");
  byoc_onnx_graph_output(graph, "s", BYOC_DTYPE_STRING, "");
  byoc_onnx_graph_output(graph, "ss", BYOC_DTYPE_STRING, "2");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  assert_int_equal(body->node_count, 3);
  assert_non_null(byoc_graph_module_find_constant(module, "is"));
  assert_non_null(byoc_graph_module_find_constant(module, "a"));
  assert_int_equal(byoc_constant_element_i64(body->results.data[1]->constant, 0), 9);
  assert_int_equal(byoc_constant_element_i64(body->results.data[2]->constant, 0), 5);
  assert_string_equal(((const char *const *)body->results.data[3]->constant->data)[0], "hello");
  assert_string_equal(((const char *const *)body->results.data[4]->constant->data)[1], "q");
  byoc_graph_module_destroy(module);
}

static void instantiates_functions(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_model_import(model, "my", 1);
  byoc_onnx_graph_t *function = byoc_test_onnx_function(model, "my", "Norm", "a,extra", "b", "axis", 17);
  byoc_test_onnx_reference(byoc_onnx_graph_node(function, "Softmax", "", "a", "t"), "axis", "axis", 2);
  byoc_onnx_graph_node(function, "Relu", "", "t", "b");
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_node_t *call = byoc_onnx_graph_node(graph, "Norm", "one", "x", "y");
  byoc_onnx_node_set_domain(call, "my");
  byoc_onnx_node_int(call, "axis", 0);
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "Norm", "two", "y", "out"), "my");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  expect_text(
      model, NULL,
      "module {model = \"test\", producer = \"byoc\", ir_version = 8, opset_import. = 17, opset_import.my = 1} {\n"
      "  func @main(%x : f32[2,3]) -> (%out : f32[2,3]) {\n"
      "    %y = call @my.Norm \"one\" (%x) : f32[2,3]\n"
      "    %out = call @my.Norm_1 \"two\" (%y) : f32[2,3]\n"
      "    return %out\n"
      "  }\n"
      "\n"
      "  func @my.Norm(%a : f32[2,3]) -> (%b : f32[2,3]) attributes {Inline = 1} {\n"
      "    %t = Softmax@13(%a) {axis = 0} : f32[2,3]\n"
      "    %b = Relu@14(%t) : f32[2,3]\n"
      "    return %b\n"
      "  }\n"
      "\n"
      "  func @my.Norm_1(%a : f32[2,3]) -> (%b : f32[2,3]) attributes {Inline = 1} {\n"
      "    %t = Softmax@13(%a) : f32[2,3]\n"
      "    %b = Relu@14(%t) : f32[2,3]\n"
      "    return %b\n"
      "  }\n"
      "}\n");
}

// FunctionProto.attribute_proto, which the compiled schema does not know: field 11.
static void functions_have_defaults(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_model_import(model, "my", 1);
  byoc_onnx_graph_t *function = byoc_test_onnx_function(model, "my", "Norm", "a", "b", NULL, 17);
  byoc_test_onnx_reference(byoc_onnx_graph_node(function, "Softmax", "", "a", "b"), "axis", "axis", 2);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3,4");
  byoc_onnx_node_t *call = byoc_onnx_graph_node(graph, "Norm", "given", "x", "y");
  byoc_onnx_node_set_domain(call, "my");
  byoc_onnx_node_int(call, "axis", 1);
  byoc_onnx_node_set_domain(byoc_onnx_graph_node(graph, "Norm", "default", "y", "out"), "my");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3,4");
  uint8_t *data = NULL;
  size_t size = 0;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_pack(model, &diag, &data, &size), &diag);
  byoc_onnx_model_destroy(model);

  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  Onnx__ModelProto *message = byoc_test_unpack_model(&arena, data, size);
  assert_non_null(message);
  Onnx__AttributeProto axis = ONNX__ATTRIBUTE_PROTO__INIT;
  axis.name = (char *)(uintptr_t) "axis", axis.has_type = axis.has_i = true;
  axis.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, axis.i = 0;
  uint8_t bytes[64];
  const size_t length = onnx__attribute_proto__pack(&axis, bytes + 1);
  assert_in_range(length, 1, sizeof(bytes) - 1);
  bytes[0] = (uint8_t)length;
  ProtobufCMessageUnknownField field = {11, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, length + 1, bytes};
  message->functions[0]->base.n_unknown_fields = 1;
  message->functions[0]->base.unknown_fields = &field;
  const size_t whole = onnx__model_proto__get_packed_size(message);
  uint8_t *changed = byoc_arena_allocate(&arena, whole, 1);
  assert_non_null(changed);
  (void)onnx__model_proto__pack(message, changed);

  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_onnx_read_memory(changed, whole, "defaults.onnx", NULL, byoc_allocator_system(), &diag, &module),
               &diag);
  const byoc_node_t *given = byoc_graph_module_main(module)->body->first;
  assert_int_equal(byoc_node_int(given->callee->body->first, "axis"), 1);
  assert_int_equal(byoc_node_int(given->next->callee->body->first, "axis"), 0);
  byoc_graph_module_destroy(module);
  byoc_arena_deinit(&arena);
  byoc_free(byoc_allocator_system(), data);
}

// then_branch reads a value from around the node, and a constant of its own.
static void reads_branches(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "c", BYOC_DTYPE_BOOL, "");
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_node(graph, "Relu", "", "x", "r");
  byoc_onnx_graph_t *yes = byoc_onnx_model_nested_graph(model, "yes"), *no = byoc_onnx_model_nested_graph(model, "no");
  byoc_onnx_graph_initialiser_data(yes, "k", BYOC_DTYPE_F32, 1, (const int64_t[]){2}, (const float[]){1, 2});
  byoc_onnx_graph_node(yes, "Add", "", "r,k", "yes_out");
  byoc_onnx_graph_output(yes, "yes_out", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_node(no, "Neg", "", "x", "no_out");
  byoc_onnx_graph_output(no, "no_out", BYOC_DTYPE_F32, "2");
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, "If", "if", "c", "out");
  byoc_onnx_node_graph(node, "then_branch", yes);
  byoc_onnx_node_graph(node, "else_branch", no);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_node_t *made = byoc_graph_module_main(module)->body->last;
  assert_int_equal(made->block_count, 2);
  const byoc_node_t *add = byoc_node_find_block(made, "then_branch")->first;
  assert_ptr_equal(add->operands[0], made->previous->results[0]);
  assert_true(byoc_value_is_constant(add->operands[1]));
  assert_int_equal(byoc_type_element_count(made->results[0]->type), 2);
  byoc_graph_module_destroy(module);
}

// A branch that contradicts itself (`fits` is false) is read, and fails when it is run; a misspelt attribute is an
// error.
static byoc_status_t read_branches(bool fits, const char *attribute, byoc_diag_t *diag, byoc_graph_module_t **module) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_input(graph, "c", BYOC_DTYPE_BOOL, "");
  byoc_onnx_graph_t *yes = byoc_onnx_model_nested_graph(model, "yes");
  byoc_onnx_graph_t *no = byoc_onnx_model_nested_graph(model, "no");
  byoc_onnx_node_int(byoc_onnx_graph_node(yes, "Concat", "", fits ? "x,x" : "x,c", "yes_out"), attribute, 0);
  byoc_onnx_graph_output(yes, "yes_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_node(no, "Neg", "", "x", "no_out");
  byoc_onnx_graph_output(no, "no_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, "If", "if", "c", "out");
  byoc_onnx_node_graph(node, "then_branch", yes);
  byoc_onnx_node_graph(node, "else_branch", no);
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  return read_model(model, NULL, diag, module);
}

static void test_a_branch_that_cannot_run_keeps_its_reason(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_branches(false, "axis", &diag, &module), &diag);
  const byoc_node_t *made = byoc_graph_module_main(module)->body->last;
  const char *refusal = byoc_refusal_of(byoc_node_find_block(made, "then_branch"));
  assert_non_null(refusal);
  assert_non_null(strstr(refusal, "If 'if' (ai.onnx 16): its then_branch cannot run: Concat (ai.onnx 13): operand 1"));
  assert_null(byoc_refusal_of(byoc_node_find_block(made, "else_branch")));
  assert_int_equal(byoc_type_element_count(made->results[0]->type), 6);
  byoc_graph_module_destroy(module);
  byoc_test_error(read_branches(true, "axes", &diag, &module), BYOC_INVALID_DATA, &diag, "axes");
}

// A loop that carries one value of the same shape and one that grows, of which the body declares `grows`.
static byoc_graph_module_t *read_loop(const char *first, const char *grows) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  const int64_t turns = 3;
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "1,2");
  byoc_onnx_graph_input(graph, "first", BYOC_DTYPE_F32, first);
  byoc_onnx_graph_initialiser_data(graph, "turns", BYOC_DTYPE_I64, 0, NULL, &turns);
  byoc_onnx_graph_t *body = byoc_onnx_model_nested_graph(model, "body");
  byoc_onnx_graph_input(body, "i", BYOC_DTYPE_I64, "");
  byoc_onnx_graph_input(body, "go", BYOC_DTYPE_BOOL, "");
  byoc_onnx_graph_input(body, "same", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_input(body, "longer", BYOC_DTYPE_F32, grows);
  byoc_onnx_graph_node(body, "Relu", "", "same", "same_out");
  byoc_onnx_node_int(byoc_onnx_graph_node(body, "Concat", "", "longer,x", "longer_out"), "axis", 0);
  byoc_onnx_graph_node(body, "Not", "", "go", "stop");
  byoc_onnx_graph_output(body, "stop", BYOC_DTYPE_BOOL, "");
  byoc_onnx_graph_output(body, "same_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_output(body, "longer_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_node_graph(byoc_onnx_graph_node(graph, "Loop", "loop", "turns,,x,first", "a,b"), "body", body);
  byoc_onnx_graph_output(graph, "a", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_output(graph, "b", BYOC_DTYPE_F32, NULL);
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  return module;
}

// What the loop carries keeps its shape if the body returns the same shape, and is widened if it does not.
static void expect_longer(byoc_graph_module_t *module) {
  const byoc_block_t *made = byoc_graph_module_main(module)->body->last->blocks[0];
  assert_int_equal(byoc_type_element_count(made->parameters.data[2]->type), 2);
  const byoc_type_t *longer = made->parameters.data[3]->type;
  assert_int_equal(longer->rank, 2);
  assert_false(byoc_dim_is_constant(longer->dims[0]));
  assert_int_equal(longer->dims[1].constant, 2);
  byoc_graph_module_destroy(module);
}

static void types_loops(void **state) {
  (void)state;
  expect_longer(read_loop("1,2", NULL));
}

// Exporters declare the shape of the first iteration.
static void test_a_loop_outgrows_its_declaration(void **state) {
  (void)state;
  expect_longer(read_loop("1,2", "1,2"));
  expect_longer(read_loop("0,2", "0,2"));
}

static void checks_declarations(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Relu", "r", "x", "y");
  byoc_onnx_graph_node(graph, "Relu", "", "y", "out");
  byoc_test_onnx_value_info(graph, "y", BYOC_DTYPE_I64, "2,3");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
  expect_error(model, NULL, BYOC_INVALID_DATA,
               "value 'y' is declared i64[2,3], but Relu 'r' (ai.onnx 14) makes it f32[2,3]");

  model = new_model();
  graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Relu", "r", "x", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_I64, "2,3");
  expect_error(model, NULL, BYOC_INVALID_DATA, "declared i64[2,3]");
}

// A declared shape, unlike a declared element type, is a hint: also that of an output.
static void declared_shapes_are_hints(void **state) {
  (void)state;
  static const char *const shapes[] = {"2,4", "2,3,1", "N", ""};
  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
    byoc_onnx_model_t *model = new_model();
    byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
    byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
    byoc_onnx_graph_node(graph, "Relu", "r", "x", "out");
    byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, shapes[i]);
    byoc_diag_t diag;
    byoc_graph_module_t *module;
    byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
    const byoc_type_t *type = byoc_graph_module_main(module)->body->results.data[0]->type;
    assert_int_equal(type->rank, 2);
    assert_int_equal(byoc_type_element_count(type), 6);
    byoc_graph_module_destroy(module);
  }
}

// Exporters write -1, "?" and "None" for any size, which may be another one at each place.
static void anonymous_dimensions_get_names_of_their_own(void **state) {
  (void)state;
  static const char *const shapes[] = {"-1,-1", "?,?", "None,None", "-7,?"};
  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
    byoc_onnx_model_t *model = new_model();
    byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
    byoc_onnx_graph_input(graph, "x:0", BYOC_DTYPE_F32, shapes[i]);
    byoc_onnx_graph_node(graph, "Relu", "r", "x:0", "out");
    byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, shapes[i]);
    byoc_diag_t diag;
    byoc_graph_module_t *module;
    byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
    const byoc_type_t *type = byoc_graph_module_main(module)->body->parameters.data[0]->type;
    assert_string_equal(type->dims[0].expr->symbol, "x:0.0");
    assert_string_equal(type->dims[1].expr->symbol, "x:0.1");
    byoc_graph_module_destroy(module);
  }
}

// Optimisers write LayerNormalization at any operator set. What had another meaning before is refused.
static void operators_before_their_time(void **state) {
  (void)state;
  static const struct {
    int64_t opset;
    const char *op;
    int32_t since;
  } rows[] = {{12, "LayerNormalization", 17}, {1, "Erf", 9}, {3, "Relu", 6}, {1, "Sigmoid", 6}, {2, "Tile", 0}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "test", rows[i].opset);
    byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
    byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
    byoc_onnx_graph_input(graph, "scale", BYOC_DTYPE_F32, "3");
    const bool has_scale = i == 0;
    byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, rows[i].op, "n", has_scale ? "x,scale" : "x", "out");
    if (rows[i].since == 6) byoc_onnx_node_ints(node, "consumed_inputs", &(int64_t){0}, 1);
    byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, "2,3");
    if (rows[i].since == 0) {
      expect_error(model, NULL, BYOC_UNSUPPORTED, "operator Tile is not known in operator set 2");
      continue;
    }
    byoc_diag_t diag;
    byoc_graph_module_t *module;
    byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
    assert_int_equal(byoc_graph_module_main(module)->body->first->since_version, rows[i].since);
    byoc_graph_module_destroy(module);
  }
}

static void passes_inputs_and_constants_on(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_initialiser_data(graph, "k", BYOC_DTYPE_F32, 1, (const int64_t[]){1}, (const float[]){1});
  byoc_onnx_graph_output(graph, "x", BYOC_DTYPE_F32, "2");
  byoc_onnx_graph_output(graph, "k", BYOC_DTYPE_F32, "1");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  assert_string_equal(body->result_names.data[1], "k");
  byoc_graph_module_destroy(module);
}

static byoc_status_t read_with(void *argument, byoc_allocator_t allocator) {
  const byoc_bytes_t *bytes = argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module;
  const byoc_status_t status =
      byoc_onnx_read_memory(bytes->data, bytes->size_bytes, "test.onnx", NULL, allocator, &diag, &module);
  byoc_graph_module_destroy(module);
  return status;
}

static void survives_lack_of_memory(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_model_import(model, "my", 1);
  byoc_onnx_graph_t *function = byoc_test_onnx_function(model, "my", "F", "a", "b", "axis", 17);
  byoc_test_onnx_reference(byoc_onnx_graph_node(function, "Softmax", "", "a", "b"), "axis", "axis", 2);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "N,?");
  byoc_onnx_node_t *call = byoc_onnx_graph_node(graph, "F", "", "x", "y");
  byoc_onnx_node_set_domain(call, "my");
  byoc_onnx_node_int(call, "axis", 0);
  byoc_onnx_graph_initialiser_data(graph, "k", BYOC_DTYPE_F32, 1, (const int64_t[]){1}, (const float[]){1});
  byoc_onnx_node_string(byoc_onnx_graph_node(graph, "Constant", "", "", "s"), "value_string", "hello");
  byoc_onnx_graph_node(graph, "Add", "add", "y,k", "out");
  byoc_onnx_graph_output(graph, "out", BYOC_DTYPE_F32, NULL);
  byoc_diag_t diag = {0};
  uint8_t *data;
  size_t size;
  byoc_test_ok(byoc_onnx_model_pack(model, &diag, &data, &size), &diag);
  byoc_onnx_model_destroy(model);
  byoc_bytes_t bytes = {data, size};
  byoc_test_each_allocation_fails(read_with, &bytes, false);
  byoc_free(byoc_allocator_system(), data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_a_chain),
      cmocka_unit_test(binds_dimensions),
      cmocka_unit_test(overrides_shapes),
      cmocka_unit_test(drops_inputs_with_values),
      cmocka_unit_test(sorts_nodes),
      cmocka_unit_test(reads_long_reversed_chains),
      cmocka_unit_test(keeps_omitted_operands),
      cmocka_unit_test(reads_attributes),
      cmocka_unit_test(refuses_reserved_attributes),
      cmocka_unit_test(reads_dimensions),
      cmocka_unit_test(reads_untyped_attributes),
      cmocka_unit_test(reads_constant_nodes),
      cmocka_unit_test(instantiates_functions),
      cmocka_unit_test(functions_have_defaults),
      cmocka_unit_test(reads_branches),
      cmocka_unit_test(test_a_branch_that_cannot_run_keeps_its_reason),
      cmocka_unit_test(types_loops),
      cmocka_unit_test(test_a_loop_outgrows_its_declaration),
      cmocka_unit_test(checks_declarations),
      cmocka_unit_test(declared_shapes_are_hints),
      cmocka_unit_test(anonymous_dimensions_get_names_of_their_own),
      cmocka_unit_test(operators_before_their_time),
      cmocka_unit_test(passes_inputs_and_constants_on),
      cmocka_unit_test(survives_lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
