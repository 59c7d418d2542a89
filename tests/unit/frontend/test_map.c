// SPDX-License-Identifier: Apache-2.0
// Inputs that are maps become two vectors: what reads them, and what is refused.
#include "onnx.pb-c.h"
#include "tests/unit/frontend/frontend_support.h"

// A model whose input "x" is a map from `key` to `value`, and which `op` of `domain` reads.
static byoc_onnx_model_t *make_map(int key, int value, const char *domain, const char *op) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "1");
  byoc_onnx_graph_node(graph, op, "", "x", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, NULL);
  Onnx__ModelProto *message = byoc_test_onnx_message(model);
  Onnx__TypeProto__Map *map = byoc_onnx_model_allocate(model, sizeof(*map));
  Onnx__OperatorSetIdProto *set = byoc_onnx_model_allocate(model, sizeof(*set));
  Onnx__OperatorSetIdProto **sets = byoc_onnx_model_allocate(model, 2 * sizeof(*sets));
  assert_true(map != NULL && set != NULL && sets != NULL);
  onnx__operator_set_id_proto__init(set);
  set->domain = (char *)(uintptr_t) "ai.onnx.ml", set->version = set->has_version = 1;
  sets[0] = message->opset_import[0], sets[1] = set;
  message->opset_import = sets, message->n_opset_import = 2;
  message->graph->node[0]->domain = (char *)(uintptr_t)domain;
  onnx__type_proto__map__init(map);
  Onnx__TypeProto *type = message->graph->input[0]->type;
  Onnx__TypeProto *element = byoc_onnx_model_allocate(model, sizeof(*element));
  assert_non_null(element);
  *element = *type; // f32[1]
  element->tensor_type->elem_type = value;
  map->key_type = key, map->has_key_type = 1, map->value_type = element;
  type->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE, type->map_type = map;
  return model;
}

enum { FLOAT = 1, INT64 = 7, STRING = 8, NO_TYPE = 99 };

static void test_maps_become_two_vectors(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(make_map(INT64, FLOAT, "ai.onnx.ml", "CastMap"), NULL, &diag, &module), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  static const char *const names[] = {"x.keys", "x.values"};
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_I64, BYOC_DTYPE_F32};
  assert_int_equal(body->parameters.count, 2);
  for (size_t i = 0; i < 2; ++i) {
    const byoc_value_t *parameter = body->parameters.data[i];
    assert_string_equal(parameter->name, names[i]);
    assert_int_equal(parameter->type->dtype, dtypes[i]);
    assert_string_equal(parameter->type->dims[0].expr->symbol, "x.size");
  }
  byoc_graph_module_destroy(module);
  const byoc_onnx_dim_binding_t binding = {"x.size", 3};
  const byoc_onnx_read_options_t options = {.bindings = &binding, .binding_count = 1};
  byoc_test_ok(read_model(make_map(INT64, FLOAT, "ai.onnx.ml", "CastMap"), &options, &diag, &module), &diag);
  assert_int_equal(byoc_type_element_count(byoc_graph_module_main(module)->body->results.data[0]->type), 3);
  byoc_graph_module_destroy(module);
}

static void test_maps_that_no_operator_takes_are_refused(void **state) {
  (void)state;
  expect_error(make_map(INT64, FLOAT, "", "Identity"), NULL, BYOC_UNSUPPORTED,
               "reads the map 'x', which only DictVectorizer and CastMap do");
  expect_error(make_map(NO_TYPE, FLOAT, "ai.onnx.ml", "CastMap"), NULL, BYOC_UNSUPPORTED, "a map with keys of");
  expect_error(make_map(STRING, FLOAT, "ai.onnx.ml", "CastMap"), NULL, BYOC_INVALID_DATA, "keys of i64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps_become_two_vectors),
      cmocka_unit_test(test_maps_that_no_operator_takes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
