// SPDX-License-Identifier: Apache-2.0
// Greedy placement with backends made up in this process.
#include "core/collage/place.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/plugin/host.h"
#include "tests/support/graph.h"
#include "tests/unit/collage/made_targets.h"

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

// Places and verifies; the caller deinits the placement.
static void place(byoc_graph_module_t *module, const made_targets_t *made, byoc_placement_t *placement) {
  byoc_diag_t diag = {0};
  byoc_placement_init(placement, byoc_allocator_system());
  byoc_test_ok(byoc_place_greedy(module, &made->list, &diag, placement), &diag);
  byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
}

// A text placed by targets with these rules.
typedef struct placed_t {
  made_targets_t made;
  byoc_graph_module_t *module;
  byoc_placement_t placement;
} placed_t;

static void place_text(placed_t *p, const byoc_rule_t *first, uint32_t first_count, const byoc_rule_t *second,
                       uint32_t second_count, const char *text) {
  make_targets(&p->made, first, first_count, second, second_count);
  p->module = parse(text);
  place(p->module, &p->made, &p->placement);
}

static void release(placed_t *p) {
  byoc_placement_deinit(&p->placement);
  byoc_graph_module_destroy(p->module);
  release_targets(&p->made);
}

static void expect_main(const byoc_graph_module_t *module, const char *expected) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_print_function(byoc_graph_module_main(module), &text);
  byoc_test_same_text(text.data, expected);
  byoc_string_deinit(&text);
}

#define GROUP(...)                                                                                                     \
  .operators = {.items = (const char *const[]){__VA_ARGS__},                                                           \
                .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)}

// ---- patterns ----

static void the_first_rule_of_the_first_target_wins(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.exp_relu", .pattern = "Relu(Exp(%x))"},
                               {.name = "first.relu", .pattern = "Relu(%x)"}};
  const byoc_rule_t second[] = {{.name = "second.any", .pattern = "{Relu|Exp|Neg}(%x)"}};
  placed_t p;
  place_text(&p, first, 2, second, 1,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Neg@13(%x) : f32[4]\n"
             "    %1 = Exp@13(%0) : f32[4]\n"
             "    %2 = Relu@14(%1) : f32[4]\n"
             "    %y = Relu@14(%2) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  expect_main(p.module, "func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                        "  %0 = call @second_0(%x) : f32[4]\n"
                        "  %1 = call @first_1(%0) : f32[4]\n"
                        "  %y = call @first_2(%1) : f32[4]\n"
                        "  return %y\n"
                        "}\n");
  const byoc_function_t *pair = byoc_graph_module_find(p.module, "first_1");
  assert_string_equal(byoc_attributes_string(&pair->attributes, "Composite", ""), "first.exp_relu");
  assert_string_equal(byoc_attributes_string(&pair->attributes, "Compiler", ""), "first");
  assert_string_equal(byoc_attributes_string(&pair->attributes, "global_symbol", ""), "first_1");
  assert_int_equal(p.placement.left_over_count, 0);
  assert_int_equal(p.placement.regions.count, 3);
  release(&p);
}

// An inner value that is read outside keeps the match away.
static void an_escaping_value_is_no_match(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.exp_relu", .pattern = "Relu(Exp(%x))"}};
  const char *text = "module {\n"
                     "  func @main(%x : f32[4]) -> (%y : f32[4], %0 : f32[4]) {\n"
                     "    %0 = Exp@13(%x) : f32[4]\n"
                     "    %y = Relu@14(%0) : f32[4]\n"
                     "    return %y, %0\n"
                     "  }\n"
                     "}\n";
  placed_t p;
  place_text(&p, first, 1, NULL, 0, text);
  assert_int_equal(p.placement.regions.count, 0);
  assert_int_equal(p.placement.left_over_count, 2);
  release(&p);
}

// ---- predicates ----

static int32_t decline_exp(void *self, byoc_region_t *region) {
  (void)self;
  const byoc_region_api_t *api = byoc_host_region_api();
  byoc_node_t *node = api->node_at(region, 0);
  if (strcmp(byoc_host_graph_api()->node_operator(node), "Exp") == 0) return api->decline(region, "exp is too steep");
  return 1;
}

static void declines_keep_their_reason(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.all", GROUP("Exp", "Relu"), .accept = decline_exp}};
  placed_t p;
  place_text(&p, first, 1, NULL, 0,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Exp@13 \"steep\"(%x) : f32[4]\n"
             "    %y = Relu@14(%0) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  assert_int_equal(p.placement.declines.count, 1);
  assert_string_equal(p.placement.declines.data[0].reason, "exp is too steep");
  assert_non_null(strstr(p.placement.declines.data[0].node_text, "Exp 'steep'"));
  assert_int_equal(p.placement.regions.count, 1);
  assert_int_equal(p.placement.left_over_count, 1);
  release(&p);
}

// ---- groups ----

// x feeds a group, the group feeds a node outside, and that feeds a third node: joining it would close a cycle.
static void a_diamond_stays_free_of_cycles(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.all", GROUP("Exp", "Relu", "Add")}};
  placed_t p;
  place_text(&p, first, 1, NULL, 0,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Exp@13(%x) : f32[4]\n"
             "    %1 = Relu@14(%0) : f32[4]\n"
             "    %2 = Neg@13(%0) : f32[4]\n"
             "    %y = Add@14(%1, %2) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  expect_main(p.module, "func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                        "  %0, %1 = call @first_0(%x) : f32[4], f32[4]\n"
                        "  %2 = Neg@13(%0) : f32[4]\n"
                        "  %y = call @first_1(%1, %2) : f32[4]\n"
                        "  return %y\n"
                        "}\n");
  release(&p);
}

// Two groups that are convex each for itself may still wait for each other.
static void two_groups_do_not_wait_for_each_other(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.all", GROUP("Exp", "Add")}};
  const byoc_rule_t second[] = {{.name = "second.all", GROUP("Neg", "Mul")}};
  placed_t p;
  place_text(&p, first, 1, second, 1,
             "module {\n"
             "  func @main(%x : f32[4], %z : f32[4]) -> (%y : f32[4], %w : f32[4]) {\n"
             "    %0 = Exp@13(%x) : f32[4]\n"
             "    %1 = Neg@13(%z) : f32[4]\n"
             "    %y = Add@14(%0, %1) : f32[4]\n"
             "    %w = Mul@14(%1, %0) : f32[4]\n"
             "    return %y, %w\n"
             "  }\n"
             "}\n"); // the verifier refuses a graph with a cycle
  assert_int_equal(p.placement.regions.count, 3);
  release(&p);
}

static void groups_keep_their_limit(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.all", GROUP("Exp"), .max_nodes = 2}};
  placed_t p;
  place_text(&p, first, 1, NULL, 0,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Exp@13(%x) : f32[4]\n"
             "    %1 = Exp@13(%0) : f32[4]\n"
             "    %2 = Exp@13(%1) : f32[4]\n"
             "    %3 = Exp@13(%2) : f32[4]\n"
             "    %y = Exp@13(%3) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  assert_int_equal(p.placement.regions.count, 3);
  for (size_t i = 0; i < p.placement.regions.count; ++i) assert_true(p.placement.regions.data[i].node_count <= 2);
  release(&p);
}

// Whichever rule of a region has the limit, it holds for all of it.
static void limits_of_both_sides_hold(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.exp", .pattern = "Exp(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.neg", .pattern = "Neg(%x)", .flags = BYOC_RULE_MERGE, .max_nodes = 2}};
  placed_t p;
  place_text(&p, first, 2, NULL, 0,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Exp@13(%x) : f32[4]\n"
             "    %1 = Exp@13(%0) : f32[4]\n"
             "    %2 = Neg@13(%1) : f32[4]\n"
             "    %3 = Exp@13(%2) : f32[4]\n"
             "    %y = Exp@13(%3) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  assert_int_equal(p.placement.regions.count, 3);
  for (size_t i = 0; i < p.placement.regions.count; ++i) assert_true(p.placement.regions.data[i].node_count <= 2);
  release(&p);
}

// Greedy placement leaves a rule alone that is only for plans by cost, and says so; the next rule gets the nodes.
static void rules_by_cost_are_left_alone(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.pair", .pattern = "Relu(Exp(%x))", .flags = BYOC_RULE_BY_COST},
                               {.name = "first.relu", .pattern = "Relu(%x)"}};
  placed_t p;
  place_text(&p, first, 2, NULL, 0,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Exp@13(%x) : f32[4]\n"
             "    %y = Relu@14(%0) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  assert_int_equal(p.placement.regions.count, 1);
  assert_int_equal(p.placement.regions.data[0].node_count, 1);
  assert_int_equal(p.placement.declines.count, 1);
  assert_string_equal(p.placement.declines.data[0].rule, "first.pair");
  assert_non_null(strstr(p.placement.declines.data[0].reason, "--plan=collage"));
  release(&p);
}

// Matches that may be merged become one function of composite calls.
static void merged_matches_are_composites(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.exp", .pattern = "Exp(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.relu", .pattern = "Relu(%x)", .flags = BYOC_RULE_MERGE}};
  placed_t p;
  place_text(&p, first, 2, NULL, 0,
             "module {\n"
             "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
             "    %0 = Exp@13(%x) : f32[4]\n"
             "    %y = Relu@14(%0) : f32[4]\n"
             "    return %y\n"
             "  }\n"
             "}\n");
  assert_int_equal(p.placement.regions.count, 1);
  const byoc_function_t *region = p.placement.regions.data[0].function;
  assert_int_equal(region->body->node_count, 2);
  const byoc_function_t *exp = region->body->first->callee, *relu = region->body->last->callee;
  assert_string_equal(byoc_attributes_string(&exp->attributes, "Composite", ""), "first.exp");
  assert_string_equal(byoc_attributes_string(&relu->attributes, "Composite", ""), "first.relu");
  assert_null(byoc_attributes_find(&exp->attributes, "Compiler"));
  release(&p);
}

// ---- random graphs ----

// Whatever two greedy targets take of a random graph, the module stays free of cycles and nothing is lost.
static void random_graphs_stay_sound(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.all", GROUP("Exp", "Add")}};
  const byoc_rule_t second[] = {{.name = "second.pair", .pattern = "Neg(Mul(%a, %b))", .flags = BYOC_RULE_MERGE},
                                {.name = "second.mul", .pattern = "Mul(%a, %b)", .flags = BYOC_RULE_MERGE}};
  made_targets_t made;
  make_targets(&made, first, 1, second, 2);
  byoc_test_random_t random = {.state = 11};
  for (int round = 0; round < 300; ++round) {
    static const char *const unary[] = {"Exp@13", "Neg@13", "Relu@14"};
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_append(&text, "module {\n  func @main(%v0 : f32[4]) -> (%y : f32[4]) {\n");
    int count = 2 + (int)byoc_test_below(&random, 40);
    for (int i = 1; i <= count; ++i) {
      unsigned a = (unsigned)byoc_test_below(&random, (uint64_t)i), b = (unsigned)byoc_test_below(&random, (uint64_t)i);
      uint64_t kind = byoc_test_below(&random, 5);
      if (kind < 3) {
        byoc_string_appendf(&text, "    %%v%d = %s(%%v%u) : f32[4]\n", i, unary[kind], a);
      } else {
        byoc_string_appendf(&text, "    %%v%d = %s(%%v%u, %%v%u) : f32[4]\n", i, kind == 3 ? "Add@14" : "Mul@14", a, b);
      }
    }
    byoc_string_appendf(&text, "    %%y = Relu@14(%%v%d) : f32[4]\n    return %%y\n  }\n}\n", count);
    byoc_graph_module_t *module = parse(text.data);
    byoc_placement_t placement;
    place(module, &made, &placement);
    size_t placed = 0;
    for (size_t r = 0; r < placement.regions.count; ++r) placed += placement.regions.data[r].node_count;
    assert_int_equal(placed + placement.left_over_count, (size_t)count + 1);
    byoc_placement_deinit(&placement);
    byoc_graph_module_destroy(module);
    byoc_string_deinit(&text);
  }
  release_targets(&made);
}

// ---- the plan ----

// Each block is one of the plan's, a body before what is nested in it, with regions by the nodes' numbers before any
// outlining.
static void c10_the_plan_holds_nested_blocks(void **state) {
  (void)state;
  const byoc_rule_t first[] = {{.name = "first.group", GROUP("Exp", "Neg")}};
  made_targets_t made;
  make_targets(&made, first, 1, NULL, 0);
  byoc_graph_module_t *module = parse("module {\n"
                                      "  func @main(%c : bool[], %x : f32[4]) -> (%y : f32[4]) {\n"
                                      "    %0 = Relu@14(%x) : f32[4]\n"
                                      "    %1 = If@16(%c) [then_branch () -> (f32[4]) {\n"
                                      "      %2 = Relu@14(%0) : f32[4]\n"
                                      "      %3 = Neg@13(%2) : f32[4]\n"
                                      "      return %3\n"
                                      "    }, else_branch () -> (f32[4]) {\n"
                                      "      return %0\n"
                                      "    }] : f32[4]\n"
                                      "    %2 = Exp@13(%1) : f32[4]\n"
                                      "    %y = Neg@13(%2) : f32[4]\n"
                                      "    return %y\n"
                                      "  }\n"
                                      "}\n");
  byoc_plan_t plan;
  byoc_placement_t placement;
  byoc_diag_t diag = {0};
  byoc_plan_init(&plan, byoc_allocator_system());
  byoc_placement_init(&placement, byoc_allocator_system());
  placement.plan = &plan;
  byoc_test_ok(byoc_place_greedy(module, &made.list, &diag, &placement), &diag);
  assert_int_equal(plan.blocks.count, 3);
  const byoc_plan_block_t *body = &plan.blocks.data[0];
  assert_string_equal(body->name, "main");
  assert_int_equal(body->nodes.count, 4);
  assert_int_equal(body->regions.count, 1);
  assert_int_equal(body->regions.data[0].node_count, 2);
  assert_int_equal(body->regions.data[0].nodes[0], 2);
  assert_string_equal(body->regions.data[0].rule, "first.group");
  bool found = false;
  for (size_t b = 1; b < 3; ++b) {
    const byoc_plan_block_t *nested = &plan.blocks.data[b];
    if (strcmp(nested->name, "main/If_1.then_branch") != 0) continue;
    found = true;
    assert_int_equal(nested->nodes.count, 2);
    assert_int_equal(nested->nodes.data[0].region, UINT32_MAX);
    assert_int_equal(nested->nodes.data[1].region, 0);
  }
  assert_true(found);
  byoc_placement_deinit(&placement);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(module);
  release_targets(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_rule_of_the_first_target_wins),
      cmocka_unit_test(an_escaping_value_is_no_match),
      cmocka_unit_test(declines_keep_their_reason),
      cmocka_unit_test(a_diamond_stays_free_of_cycles),
      cmocka_unit_test(two_groups_do_not_wait_for_each_other),
      cmocka_unit_test(groups_keep_their_limit),
      cmocka_unit_test(limits_of_both_sides_hold),
      cmocka_unit_test(rules_by_cost_are_left_alone),
      cmocka_unit_test(merged_matches_are_composites),
      cmocka_unit_test(random_graphs_stay_sound),
      cmocka_unit_test(c10_the_plan_holds_nested_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
