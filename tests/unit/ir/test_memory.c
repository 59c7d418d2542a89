// SPDX-License-Identifier: Apache-2.0
// Every allocation fails once: parsing, printing, cloning and changing free everything and leave sound graphs.
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "rich_module.h"
#include "tests/support/graph.h"
#include "tests/support/support.h"

static byoc_status_t parse_body(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_graph_parse(argument, "t.ir", allocator, &diag, &module);
  assert_int_equal(status, diag.status);
  byoc_graph_module_destroy(module);
  return status;
}

static void parsing(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(parse_body, (void *)(uintptr_t)rich_module_text, false);
}

static byoc_status_t print_body(void *argument, byoc_allocator_t allocator) {
  byoc_string_t out;
  byoc_string_init(&out, allocator);
  byoc_graph_print(argument, NULL, &out);
  byoc_status_t status = out.failed ? BYOC_OUT_OF_MEMORY : BYOC_OK;
  byoc_string_deinit(&out);
  return status;
}

static void printing(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(rich_module_text, "t.ir", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_each_allocation_fails(print_body, module, false);
  byoc_graph_module_destroy(module);
}

static const char small[] = "module { constant @c : f32[2] = [1.0, 2.0]\n"
                            "func @f(%x : f32[N], %p : bool[]) -> (%y : f32[N]) attributes {a = \"b\"} {\n"
                            "  %a = A@1 \"n\" (%x, @c) {i = [1, 2], t = type f32[N], s = [\"x\"]} : f32[N]\n"
                            "  %b = If@16(%p) [t () -> (f32[N]) { %q = Q@1(%a, @c) : f32[N]\n return %q },\n"
                            "    e () -> (f32[N]) { return %a }] : f32[N]\n"
                            "  return %b\n} }";

typedef bool (*change_t)(byoc_graph_module_t *module);

// Parses with a sound allocator, then lets the n-th request of `change` fail. A change that fails must leave a sound
// module that is equal to the one before.
static void change_with_failures(change_t change) {
  for (int64_t n = 0;; ++n) {
    byoc_failing_allocator_t failing = {.base = byoc_allocator_system(), .fail_at = -1};
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL, *original = NULL;
    byoc_test_ok(byoc_graph_parse(small, "t.ir", byoc_failing_allocator(&failing), &diag, &module), &diag);
    byoc_test_ok(byoc_graph_parse(small, "t.ir", byoc_allocator_system(), &diag, &original), &diag);
    failing.fail_at = failing.count + n;
    bool done = change(module);
    bool failed = failing.count > failing.fail_at;
    failing.fail_at = -1;
    byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
    if (!done) assert_true(byoc_test_modules_equal(module, original));
    if (!failed) assert_true(done);
    byoc_graph_module_destroy(original);
    byoc_graph_module_destroy(module);
    assert_int_equal(failing.live_count, 0);
    if (!failed) return;
  }
}

static bool clone_function(byoc_graph_module_t *module) {
  return byoc_function_clone(module->functions.data[0], "copy") != NULL;
}

static bool clone_node(byoc_graph_module_t *module) {
  byoc_map_t map;
  byoc_pointer_map_init(&map, module->allocator);
  byoc_block_t *body = module->functions.data[0]->body;
  bool ok = byoc_node_clone(body->last, body, NULL, &map) != NULL;
  byoc_map_deinit(&map);
  return ok;
}

static bool set_operands(byoc_graph_module_t *module) {
  byoc_node_t *node = module->functions.data[0]->body->first;
  byoc_value_t *x = node->operands[0];
  byoc_value_t *many[40];
  for (int i = 0; i < 40; ++i) many[i] = x;
  return byoc_node_set_operands(node, many, 40);
}

static bool replace_uses(byoc_graph_module_t *module) {
  byoc_node_t *node = module->functions.data[0]->body->first;
  return byoc_value_replace_uses(node->results[0], node->operands[0]);
}

static bool create_node(byoc_graph_module_t *module) {
  byoc_block_t *body = module->functions.data[0]->body;
  byoc_value_t *x = body->parameters.data[0], *many[20];
  for (int i = 0; i < 20; ++i) many[i] = i % 3 ? x : body->first->results[0];
  return byoc_node_create(body, NULL, "d", "Op", 1, many, 20, 3) != NULL;
}

static bool create_function(byoc_graph_module_t *module) {
  return byoc_function_create(module, "g") != NULL;
}

static bool add_parts(byoc_graph_module_t *module) {
  byoc_block_t *body = module->functions.data[0]->body;
  return byoc_block_add_result(body, "r", body->first->results[0]);
}

static bool add_parameter(byoc_graph_module_t *module) {
  return byoc_block_add_parameter(module->functions.data[0]->body, "p2", byoc_type_unknown()) != NULL;
}

static bool add_constant(byoc_graph_module_t *module) {
  static const float data[] = {1, 2};
  return byoc_constant_create(module, "c", module->constants.data[0]->type, data) != NULL;
}

static bool sort_block(byoc_graph_module_t *module) {
  byoc_diag_t diag = {0};
  return byoc_block_sort(module->functions.data[0]->body, &diag) == BYOC_OK;
}

static bool verify_graph(byoc_graph_module_t *module) {
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_graph_verify(module, &diag);
  assert_true(status == BYOC_OK || status == BYOC_OUT_OF_MEMORY);
  return status == BYOC_OK;
}

static void changing(void **state) {
  (void)state;
  static const change_t changes[] = {clone_function, clone_node,      set_operands, replace_uses,
                                     create_node,    create_function, add_parts,    add_parameter,
                                     add_constant,   sort_block,      verify_graph};
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); ++i) change_with_failures(changes[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parsing),
      cmocka_unit_test(printing),
      cmocka_unit_test(changing),
  };
  return cmocka_run_group_tests_name("ir memory", tests, NULL, NULL);
}
