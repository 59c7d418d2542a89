// SPDX-License-Identifier: Apache-2.0
// Recording a plan over several rounds.
#include "core/collage/plan_record.h"
#include "core/ir/module_text.h"
#include "tests/support/support.h"

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static byoc_block_t *main_of(const byoc_graph_module_t *module) {
  return byoc_graph_module_main(module)->body;
}

static const char chain[] = "module {\n"
                            "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                            "    %0 = Neg@13 \"first\" (%x) : f32[4]\n"
                            "    %1 = Exp@13(%0) : f32[4]\n"
                            "    %2 = Add@14(%1, %1) : f32[4]\n"
                            "    %y = Exp@13 \"last\" (%2) : f32[4]\n"
                            "    return %y\n"
                            "  }\n"
                            "}\n";

static uint32_t record(byoc_plan_recorder_t *recorder, uint32_t target, uint32_t first, uint32_t count) {
  byoc_diag_t diag = {0};
  uint32_t nodes[8], region = UINT32_MAX;
  for (uint32_t i = 0; i < count; ++i) nodes[i] = first + count - 1 - i; // any order
  const byoc_plan_region_t row = {.target = target, .candidate = UINT32_MAX, .rule = "rule", .cost_ns = NAN};
  byoc_test_ok(byoc_plan_record_region(recorder, &row, nodes, count, &diag, &region), &diag);
  return region;
}

static void test_c10_nodes_and_edges_are_recorded(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_plan_recorder_t recorder;
  byoc_graph_module_t *module = parse(chain);
  byoc_plan_init(&plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_begin(&plan, "main", main_of(module), &diag, &recorder), &diag);
  const byoc_plan_block_t *block = &plan.blocks.data[0];
  assert_int_equal(block->nodes.count, 4);
  assert_string_equal(block->nodes.data[0].name, "first");
  assert_string_equal(block->nodes.data[2].op, "Add");
  assert_string_equal(block->nodes.data[2].result_type, "f32[4]");
  assert_int_equal(block->nodes.data[0].edge_count, 0); // the parameter is no node
  assert_int_equal(block->nodes.data[2].edge_count, 1); // read twice, one edge
  assert_int_equal(block->nodes.data[2].edges[0].from, 1);
  assert_true(isnan(block->cost_ns));
  byoc_plan_record_end(&recorder);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(module);
}

static bool keeps_none(void *self, const byoc_function_t *function) {
  (void)self, (void)function;
  return false;
}

// A function that its module no longer lists is recorded as any other.
static void test_c10_a_function_outside_of_a_model_is_recorded(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_plan_recorder_t recorder;
  byoc_graph_module_t *module = parse(chain);
  const byoc_block_t *block = main_of(module);
  byoc_graph_module_keep_functions(module, keeps_none, NULL);
  assert_null(byoc_graph_module_main(module));
  byoc_plan_init(&plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_begin(&plan, "main", block, &diag, &recorder), &diag);
  assert_int_equal(plan.blocks.data[0].nodes.count, 4);
  byoc_plan_record_end(&recorder);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(module);
}

// What a nested block reads is an edge to the node that owns it.
static void test_c10_values_that_nested_blocks_read_are_recorded(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_plan_recorder_t recorder;
  byoc_graph_module_t *module = parse("module {\n"
                                      "  func @main(%c : bool[], %x : f32[4]) -> (%y : f32[4]) {\n"
                                      "    %0 = Exp@13(%x) : f32[4]\n"
                                      "    %y = If@16(%c) [then_branch () -> (f32[4]) {\n"
                                      "      %1 = Neg@13(%0) : f32[4]\n"
                                      "      return %1\n"
                                      "    }, else_branch () -> (f32[4]) {\n"
                                      "      return %0\n"
                                      "    }] : f32[4]\n"
                                      "    return %y\n"
                                      "  }\n"
                                      "}\n");
  byoc_plan_init(&plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_begin(&plan, "main", main_of(module), &diag, &recorder), &diag);
  const byoc_plan_node_t *node = &plan.blocks.data[0].nodes.data[1];
  assert_int_equal(node->edge_count, 1);
  assert_int_equal(node->edges[0].from, 0);
  char *name = byoc_plan_nested_name(&plan.arena, "main", main_of(module)->last, 1, 0);
  assert_string_equal(name, "main/If_1.then_branch");
  byoc_plan_record_end(&recorder);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(module);
}

// The second round sees the first region as a call, and the nodes that came back in their place.
static void test_c10_regions_that_fall_back_are_recorded(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_plan_recorder_t recorder;
  byoc_graph_module_t *module = parse(chain), *later = parse("module {\n"
                                                             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                                                             "    %1 = call @taken(%x) : f32[4]\n"
                                                             "    %2 = Add@14(%1, %1) : f32[4]\n"
                                                             "    %y = Exp@13 \"another's name\" (%2) : f32[4]\n"
                                                             "    return %y\n"
                                                             "  }\n"
                                                             "  func @taken(%x : f32[4]) -> (%y : f32[4]) {\n"
                                                             "    %y = Neg@13(%x) : f32[4]\n"
                                                             "    return %y\n"
                                                             "  }\n"
                                                             "}\n");
  byoc_plan_init(&plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_begin(&plan, "main", main_of(module), &diag, &recorder), &diag);
  record(&recorder, 0, 0, 2);
  uint32_t second = record(&recorder, 1, 2, 2);
  byoc_plan_record_end(&recorder);
  byoc_test_ok(byoc_plan_record_fallback(&plan, 0, second, "too small", &diag), &diag);
  const byoc_plan_block_t *block = &plan.blocks.data[0];
  assert_int_equal(block->nodes.data[3].region, UINT32_MAX);
  assert_string_equal(block->declines.data[0].reason, "claimed it and declined it later: too small");

  byoc_test_ok(byoc_plan_record_begin(&plan, "main", main_of(later), &diag, &recorder), &diag);
  assert_int_equal(plan.blocks.count, 1);
  record(&recorder, 2, 2, 1); // the Exp: node 3 of the plan, not node 1, which region 0 holds
  byoc_plan_record_end(&recorder);
  byoc_plan_record_finish(&plan);
  block = &plan.blocks.data[0];
  assert_int_equal(block->regions.count, 3);
  assert_int_equal(block->regions.data[2].nodes[0], 3);
  assert_int_equal(block->nodes.data[3].region, 2);
  assert_int_equal(block->nodes.data[2].region, UINT32_MAX);
  assert_int_equal(block->nodes.data[1].region, 0);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(module);
  byoc_graph_module_destroy(later);
}

static uint64_t hash_of(const char *from, const char *to) {
  char text[sizeof(chain) + 64];
  const char *place = strstr(chain, from);
  assert_non_null(place);
  snprintf(text, sizeof(text), "%.*s%s%s", (int)(place - chain), chain, to, place + strlen(from));
  byoc_graph_module_t *module = parse(text);
  uint64_t hash = byoc_plan_block_hash(main_of(module));
  byoc_graph_module_destroy(module);
  return hash;
}

static void test_c10_the_hash_follows_the_structure(void **state) {
  (void)state;
  uint64_t hash = hash_of("Neg", "Neg");
  assert_int_equal(hash_of("\"first\"", "\"renamed\""), hash);
  assert_int_not_equal(hash_of("Neg", "Abs"), hash);
  assert_int_not_equal(hash_of("(%1, %1)", "(%1, %0)"), hash);
  assert_int_not_equal(hash_of("(%1, %1)", "(%1, %x)"), hash);
  assert_int_not_equal(hash_of("Add@14(%1, %1)", "Add@14(%1, %1) {k = 1}"), hash);
}

static byoc_status_t record_all(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_plan_recorder_t recorder;
  uint32_t region = 0;
  static const uint32_t nodes[] = {0, 1};
  const byoc_plan_region_t row = {.candidate = UINT32_MAX, .rule = "rule", .cost_ns = NAN};
  byoc_plan_init(&plan, allocator);
  byoc_status_t status = byoc_plan_record_begin(&plan, "main", argument, &diag, &recorder);
  if (status == BYOC_OK) {
    status = byoc_plan_record_region(&recorder, &row, nodes, 2, &diag, &region);
    if (status == BYOC_OK) status = byoc_plan_record_decline(&recorder, 1, "rule", "why not", nodes, 1, &diag);
    byoc_plan_record_end(&recorder);
  }
  if (status == BYOC_OK) status = byoc_plan_record_fallback(&plan, 0, region, "too small", &diag);
  if (status == BYOC_OK) status = byoc_plan_record_begin(&plan, "main", argument, &diag, &recorder);
  if (status == BYOC_OK) byoc_plan_record_end(&recorder);
  byoc_plan_deinit(&plan);
  return status;
}

static void test_c10_allocations_fail(void **state) {
  (void)state;
  byoc_graph_module_t *module = parse(chain);
  byoc_test_each_allocation_fails(record_all, main_of(module), false);
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c10_nodes_and_edges_are_recorded),
      cmocka_unit_test(test_c10_a_function_outside_of_a_model_is_recorded),
      cmocka_unit_test(test_c10_values_that_nested_blocks_read_are_recorded),
      cmocka_unit_test(test_c10_regions_that_fall_back_are_recorded),
      cmocka_unit_test(test_c10_the_hash_follows_the_structure),
      cmocka_unit_test(test_c10_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
