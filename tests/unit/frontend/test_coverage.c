// SPDX-License-Identifier: Apache-2.0
// What a model asks of the operator table: all operators that are not known are told at once, and listed.
#include <stdlib.h>

#include "core/frontend/onnx_coverage.h"
#include "frontend_support.h"

static byoc_onnx_node_t *chain(byoc_onnx_graph_t *graph, const char *domain, const char *op, int *at) {
  char from[16], to[16];
  snprintf(from, sizeof(from), "v%d", *at);
  snprintf(to, sizeof(to), "v%d", ++*at);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, op, "", from, to);
  if (domain[0] != '\0') byoc_onnx_node_set_domain(node, domain);
  return node;
}

// "Relu, Reluu, com.acme::Fold twice, my::F", with a local function my::F that holds com.acme::Fold and Wrong; a
// function that nobody calls holds Unseen.
static byoc_onnx_model_t *make_model(void) {
  int at = 0;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_model_import(model, "com.acme", 3);
  byoc_onnx_model_import(model, "my", 1);
  byoc_onnx_graph_input(graph, "v0", BYOC_DTYPE_F32, "2,3");
  chain(graph, "", "Relu", &at);
  chain(graph, "", "Reluu", &at);
  chain(graph, "com.acme", "Fold", &at);
  chain(graph, "com.acme", "Fold", &at);
  chain(graph, "my", "F", &at);
  byoc_onnx_graph_output(graph, "v5", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_t *function = byoc_test_onnx_function(model, "my", "F", "a", "b", "", 17);
  byoc_onnx_graph_node(function, "Wrong", "inner", "a", "c");
  byoc_onnx_graph_node(function, "Relu", "", "c", "b");
  function = byoc_test_onnx_function(model, "my", "Idle", "a", "b", "", 17);
  byoc_onnx_graph_node(function, "Unseen", "", "a", "b");
  return model;
}

static void all_unknown_operators_are_told_at_once(void **state) {
  (void)state;
  expect_error(
      make_model(), NULL, BYOC_UNSUPPORTED,
      "3 of its operators are not known: Reluu (1 node), com.acme::Fold (2 nodes), Wrong (1 node) "
      "(byoc inspect --coverage lists them; a plugin can bring operators of domain com.acme (docs/plugin.md))");
}

// One alone is told with the node that uses it first.
static void one_unknown_operator_is_told_with_its_node(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  int at = 0;
  byoc_onnx_model_import(model, "com.acme", 3);
  byoc_onnx_graph_input(graph, "v0", BYOC_DTYPE_F32, "2,3");
  for (int i = 0; i < 3; ++i) chain(graph, "com.acme", "Fold", &at);
  byoc_onnx_graph_output(graph, "v3", BYOC_DTYPE_F32, "2,3");
  expect_error(model, NULL, BYOC_UNSUPPORTED,
               "node 0 (com.acme::Fold), which makes 'v1': operator Fold of domain com.acme (operator set 3) is not "
               "known; 3 nodes use it (a plugin can bring operators of domain com.acme: ");
}

// A list that is too long for a message ends with a number.
static void a_long_list_ends_with_a_number(void **state) {
  (void)state;
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  int at = 0;
  byoc_onnx_graph_input(graph, "v0", BYOC_DTYPE_F32, "2,3");
  for (int i = 0; i < 100; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "UnheardOfOperator%d", i);
    chain(graph, "", name, &at);
  }
  byoc_onnx_graph_output(graph, "v100", BYOC_DTYPE_F32, "2,3");
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  assert_int_equal(read_model(model, NULL, &diag, &module), BYOC_UNSUPPORTED);
  const char *end = strstr(diag.message, " and ");
  assert_non_null(end);
  char expected[64];
  size_t told = 0;
  for (const char *c = diag.message; (c = strstr(c, "(1 node)")) != NULL; ++c) ++told;
  assert_in_range(told, 20, 99);
  snprintf(expected, sizeof(expected), " and %zu more", 100 - told);
  assert_string_equal(end, expected);
}

static void lists_what_a_model_uses(void **state) {
  (void)state;
  static const struct {
    const char *domain, *name;
    int64_t opset;
    uint64_t nodes;
    byoc_onnx_use_kind_t kind;
    int32_t since;
    const char *first;
  } expected[] = {
      {"", "Relu", 17, 2, BYOC_ONNX_USE_KNOWN, 14, "node 0 (Relu), which makes 'v1'"},
      {"", "Reluu", 17, 1, BYOC_ONNX_USE_UNKNOWN, 0, "node 1 (Reluu), which makes 'v2'"},
      {"com.acme", "Fold", 3, 2, BYOC_ONNX_USE_UNKNOWN, 0, "node 2 (com.acme::Fold), which makes 'v3'"},
      {"my", "F", 1, 1, BYOC_ONNX_USE_FUNCTION, 0, "node 4 (my::F), which makes 'v5'"},
      {"", "Wrong", 17, 1, BYOC_ONNX_USE_UNKNOWN, 0, "node 'inner' (Wrong), in local function 'F'"},
  };
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_onnx_coverage_t coverage;
  byoc_onnx_model_t *model = make_model();
  char *folder = byoc_test_folder(), path[512];
  snprintf(path, sizeof(path), "%s/coverage.onnx", folder);
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_test_ok(byoc_onnx_cover_file(path, NULL, &arena, &diag, &coverage), &diag);
  assert_int_equal(coverage.count, sizeof(expected) / sizeof(expected[0]));
  assert_int_equal(coverage.missing_count, 3);
  for (size_t i = 0; i < coverage.count; ++i) {
    const byoc_onnx_use_t *use = &coverage.uses[i];
    assert_string_equal(use->domain, expected[i].domain);
    assert_string_equal(use->name, expected[i].name);
    assert_string_equal(use->first, expected[i].first);
    assert_int_equal(use->opset, expected[i].opset);
    assert_int_equal(use->node_count, expected[i].nodes);
    assert_int_equal(use->kind, expected[i].kind);
    assert_int_equal(use->since, expected[i].since);
  }
  byoc_arena_deinit(&arena);
  free(folder);
  byoc_test_error(byoc_onnx_cover_file("none.onnx", NULL, &arena, &diag, &coverage), BYOC_NOT_FOUND, &diag,
                  "none.onnx");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_unknown_operators_are_told_at_once),
      cmocka_unit_test(one_unknown_operator_is_told_with_its_node),
      cmocka_unit_test(a_long_list_ends_with_a_number),
      cmocka_unit_test(lists_what_a_model_uses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
