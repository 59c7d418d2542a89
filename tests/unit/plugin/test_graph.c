// SPDX-License-Identifier: Apache-2.0
// The host's table for reading graphs: attributes with the defaults of their operators, and traits.
#include "core/ir/graph.h"
#include "core/plugin/host.h"
#include "tests/support/support.h"

static void test_attributes_have_the_defaults_of_their_operator(void **state) {
  (void)state;
  const byoc_graph_api_t *graph = byoc_host_graph_api();
  byoc_graph_module_t *module = NULL;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  byoc_function_t *function = byoc_function_create(module, "main");
  assert_non_null(function);
  byoc_node_t *leaky = byoc_node_create(function->body, NULL, "", "LeakyRelu", 16, NULL, 0, 1);
  byoc_node_t *softmax = byoc_node_create(function->body, NULL, "", "Softmax", 11, NULL, 0, 1);
  byoc_node_t *gelu = byoc_node_create(function->body, NULL, "", "Gelu", 20, NULL, 0, 1);
  byoc_node_t *reshape = byoc_node_create(function->body, NULL, "", "Reshape", 14, NULL, 0, 1);
  assert_true(graph->node_float(leaky, "alpha") == (double)0.01f);
  assert_true(byoc_attributes_set_float(&leaky->attributes, "alpha", 0.5));
  assert_true(graph->node_float(leaky, "alpha") == 0.5);
  assert_int_equal(graph->node_int(leaky, "alpha"), 0);
  assert_int_equal(graph->node_int(softmax, "axis"), 1);
  assert_string_equal(graph->node_text(gelu, "approximate"), "none");
  assert_null(graph->node_text(gelu, "unheard_of"));
  assert_int_equal(graph->node_int(NULL, "axis"), 0);
  assert_int_equal(graph->node_has_trait(reshape, "moves"), 1);
  assert_int_equal(graph->node_has_trait(softmax, "moves"), 0);
  assert_int_equal(graph->node_has_trait(softmax, "unheard_of"), 0);
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attributes_have_the_defaults_of_their_operator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
