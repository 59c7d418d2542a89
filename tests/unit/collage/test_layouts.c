// SPDX-License-Identifier: Apache-2.0
// Layout changes as part of the plan: which candidates they make, that pairs nobody takes cost nothing, and that
// backends exchange blocked tensors where that is cheapest.
#include <string.h>

#include "core/collage/place_collage.h"
#include "core/collage/plan_record.h"
#include "core/collage/price_list.h"
#include "core/collage/rules.h"
#include "core/ir/module_text.h"
#include "core/ops/byoc/blocked.h"
#include "core/pass/layouts.h"
#include "tests/support/graph.h"
#include "tests/support/support.h"

// ---- two backends that take blocked tensors, and "c" ----

static const byoc_rule_t first_rules[] = {
    {.name = "first.conv", .pattern = "byoc::ToBlocked?(Relu?(Conv(byoc::FromBlocked?(%x), @w)))"}};
static const byoc_rule_t second_rules[] = {
    {.name = "second.pool", .pattern = "byoc::ToBlocked?(MaxPool(byoc::FromBlocked?(%x)))"}};

typedef struct made_t {
  byoc_backend_t backends[2];
  byoc_target_kind_t kinds[3];
  byoc_target_t targets[3];
  byoc_target_list_t list;
} made_t;

static void make_targets(made_t *made) {
  static const char *const names[] = {"first", "second", "c"};
  *made = (made_t){0};
  byoc_arena_init(&made->list.arena, byoc_allocator_system());
  for (uint32_t i = 0; i < 3; ++i) {
    if (i < 2) {
      made->backends[i] = (byoc_backend_t){.target = names[i],
                                           .rules = i == 0 ? first_rules : second_rules,
                                           .rule_count = 1,
                                           .rule_stride = sizeof(byoc_rule_t)};
    }
    made->kinds[i] = (byoc_target_kind_t){.name = names[i],
                                          .plugin_name = "made up",
                                          .plugin_version = "1",
                                          .backend = i < 2 ? &made->backends[i] : NULL};
    made->targets[i] = (byoc_target_t){.kind = &made->kinds[i], .text = names[i], .index = i};
    assert_true(byoc_vector_push(&made->list.targets, byoc_allocator_system(), &made->targets[i]));
  }
}

static void release_targets(made_t *made) {
  byoc_vector_deinit(&made->list.targets, byoc_allocator_system());
  byoc_arena_deinit(&made->list.arena);
}

static const char chain[] = "module {\n"
                            "  constant @w : f32[32,32,1,1] = splat 0.5\n"
                            "  func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,4,4]) {\n"
                            "    %0 = Conv@11(%x, @w) : f32[1,32,8,8]\n"
                            "    %1 = Relu@14(%0) : f32[1,32,8,8]\n"
                            "    %2 = MaxPool@12(%1) {kernel_shape = [2, 2], strides = [2, 2]} : f32[1,32,4,4]\n"
                            "    %y = Conv@11(%2, @w) : f32[1,32,4,4]\n"
                            "    return %y\n"
                            "  }\n"
                            "}\n";

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

// ---- made-up costs ----

static const byoc_estimator_t machine = {.calibration = {.flops_per_ns = 64, .bytes_per_ns = 10, .call_ns = 5},
                                         .thread_count = 1};

typedef struct prices_t {
  double blocked, plain; // of a node of a backend with layout changes in its region, and without
} prices_t;

// Nodes of "c" cost 100 us each.
static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  (void)diag;
  const prices_t *prices = self;
  bool is_blocked = false;
  double count = 0;
  BYOC_FOR_EACH_NODE(node, function->body) {
    is_blocked = is_blocked || byoc_is_layout_change(node);
    count += 1;
  }
  *out_reason = NULL;
  *out_ns = target->kind->backend == NULL ? count * 100e3 : is_blocked ? prices->blocked : prices->plain;
  return BYOC_OK;
}

typedef struct placed_t {
  made_t made;
  byoc_graph_module_t *module;
  byoc_placement_t placement;
  byoc_plan_t plan;
  byoc_string_t text; // of main
} placed_t;

static void place(placed_t *p, const char *text, prices_t prices, bool plain_layouts) {
  byoc_diag_t diag = {0};
  make_targets(&p->made);
  p->module = parse(text);
  byoc_placement_init(&p->placement, byoc_allocator_system());
  byoc_plan_init(&p->plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_targets(&p->plan, "model", "collage", &p->made.list, &diag), &diag);
  p->placement.plan = &p->plan;
  const byoc_collage_options_t options = {
      .targets = &p->made.list,
      .pricer = {.self = &prices, .price = price},
      .estimator = &machine,
      .key = {.target = "all", .plugin = "all", .compiler = "none", .machine = "here", .thread_count = 1},
      .budget_s = 1e6,
      .spend_budget = true,
      .plain_layouts = plain_layouts};
  byoc_test_ok(byoc_place_collage(p->module, &options, &diag, &p->placement), &diag);
  byoc_string_init(&p->text, byoc_allocator_system());
  byoc_test_print_function(byoc_graph_module_main(p->module), &p->text);
}

static void release(placed_t *p) {
  byoc_string_deinit(&p->text);
  byoc_placement_deinit(&p->placement);
  byoc_plan_deinit(&p->plan);
  byoc_graph_module_destroy(p->module);
  release_targets(&p->made);
}

static double alternative_ns(const byoc_plan_t *plan, const char *name) {
  for (size_t i = 0; i < plan->alternatives.count; ++i) {
    if (strcmp(plan->alternatives.data[i].name, name) == 0) return plan->alternatives.data[i].sum_ns;
  }
  fail_msg("no rival '%s'", name);
  return 0;
}

static void backends_exchange_blocked_tensors(void **state) {
  (void)state;
  placed_t p;
  place(&p, chain, (prices_t){.blocked = 20e3, .plain = 30e3}, false);
  byoc_test_same_text(p.text.data, "func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,4,4]) {\n"
                                   "  %0 = call @first_0(%x) : f32[1,2,8,8,16]\n"
                                   "  %1 = call @second_1(%0) : f32[1,2,4,4,16]\n"
                                   "  %y = call @first_2(%1) : f32[1,32,4,4]\n"
                                   "  return %y\n"
                                   "}\n");
  assert_true(alternative_ns(&p.plan, "collage") > p.plan.blocks.data[0].cost_ns);
  release(&p);
}

// One pair is worth a search with layout changes, too.
static void two_convolutions_exchange_a_blocked_tensor(void **state) {
  (void)state;
  placed_t p;
  place(&p,
        "module {\n"
        "  constant @w : f32[32,32,1,1] = splat 0.5\n"
        "  func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,8,8]) {\n"
        "    %0 = Conv@11(%x, @w) : f32[1,32,8,8]\n"
        "    %y = Conv@11(%0, @w) : f32[1,32,8,8]\n"
        "    return %y\n"
        "  }\n"
        "}\n",
        (prices_t){.blocked = 20e3, .plain = 30e3}, false);
  byoc_test_same_text(p.text.data, "func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,8,8]) {\n"
                                   "  %0 = call @first_0(%x) : f32[1,2,8,8,16]\n"
                                   "  %y = call @first_1(%0) : f32[1,32,8,8]\n"
                                   "  return %y\n"
                                   "}\n");
  release(&p);
}

// The search with layout changes finds the plain plan at its own price, as unused pairs are free.
static void the_plain_plan_wins_where_it_is_cheaper(void **state) {
  (void)state;
  for (int plain_only = 0; plain_only < 2; ++plain_only) {
    placed_t p;
    place(&p, chain, (prices_t){.blocked = 30e3, .plain = 20e3}, plain_only == 1);
    byoc_test_same_text(p.text.data, "func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,4,4]) {\n"
                                     "  %0 = call @first_0(%x) : f32[1,32,8,8]\n"
                                     "  %1 = call @second_1(%0) : f32[1,32,4,4]\n"
                                     "  %y = call @first_2(%1) : f32[1,32,4,4]\n"
                                     "  return %y\n"
                                     "}\n");
    double cost_ns = p.plan.blocks.data[0].cost_ns; // a pair stands between two calls all the same
    if (plain_only == 0) assert_true(fabs(alternative_ns(&p.plan, "collage, blocked") - cost_ns) < 100);
    release(&p);
  }
}

static void a_lone_convolution_stays_plain(void **state) {
  (void)state;
  placed_t p;
  place(&p,
        "module {\n"
        "  constant @w : f32[32,32,1,1] = splat 0.5\n"
        "  func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,8,8]) {\n"
        "    %y = Conv@11(%x, @w) : f32[1,32,8,8]\n"
        "    return %y\n"
        "  }\n"
        "}\n",
        (prices_t){.blocked = 20e3, .plain = 30e3}, false);
  byoc_test_same_text(p.text.data, "func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,8,8]) {\n"
                                   "  %y = call @first_0(%x) : f32[1,32,8,8]\n"
                                   "  return %y\n"
                                   "}\n");
  release(&p);
}

// ---- candidates ----

static void list_candidates(const byoc_candidates_t *list, uint32_t target, byoc_string_t *out) {
  for (size_t i = 0; i < list->items.count; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    if (candidate->target != target || (target == 2 && strcmp(candidate->rule, "c.layout") != 0)) continue;
    byoc_string_append(out, out->size > 0 ? " " : "");
    for (uint32_t n = 0; n < candidate->nodes.count; ++n) {
      byoc_string_appendf(out, "%s%u", n > 0 ? "," : "", candidate->nodes.items[n]);
    }
  }
}

// 0 Conv, 1 Relu, 2 ToBlocked, 3 FromBlocked, 4 MaxPool, 5 ToBlocked, 6 FromBlocked, 7 Conv
static void every_alternative_is_a_candidate(void **state) {
  (void)state;
  static const char *const expected[] = {"0 0,1 0,1,2 6,7 7", "3,4 4 3,4,5 4,5", "2,3 3,4 3,4,5 5,6"};
  byoc_diag_t diag = {0};
  made_t made;
  make_targets(&made);
  byoc_graph_module_t *module = parse(chain);
  size_t changes = 0;
  byoc_test_ok(byoc_propose_layouts(module, &made.list, &diag, &changes), &diag);
  assert_int_equal(changes, 2);
  byoc_test_ok(byoc_propose_layouts(module, &made.list, &diag, &changes), &diag);
  assert_int_equal(changes, 0); // they are there
  byoc_dataflow_t flow;
  byoc_candidates_t list;
  byoc_candidates_init(&list, byoc_allocator_system());
  byoc_test_ok(byoc_dataflow_init(&flow, byoc_graph_module_main(module)->body, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_candidates_collect(&list, &flow, &made.list, NULL, &diag), &diag);
  for (uint32_t target = 0; target < 3; ++target) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    list_candidates(&list, target, &text);
    byoc_test_same_text(text.data, expected[target]);
    byoc_string_deinit(&text);
  }
  byoc_candidates_deinit(&list);
  byoc_dataflow_deinit(&flow);
  byoc_graph_module_destroy(module);
  release_targets(&made);
}

typedef struct priced_t {
  made_t made;
  byoc_graph_module_t *module;
  byoc_problems_t problems;
  byoc_problem_t *problem;
  byoc_price_list_t prices;
} priced_t;

// All candidates of a module, with the price of a call for every one that is not free.
static void price_all(priced_t *p, const char *text, prices_t *costs) {
  byoc_diag_t diag = {0};
  make_targets(&p->made);
  p->module = parse(text);
  byoc_test_ok(byoc_propose_layouts(p->module, &p->made.list, &diag, NULL), &diag);
  byoc_test_ok(byoc_problems_find(p->module, byoc_allocator_system(), &diag, &p->problems), &diag);
  p->problem = &p->problems.items.data[0];
  byoc_test_ok(byoc_candidates_collect(&p->problem->candidates, &p->problem->flow, &p->made.list, NULL, &diag), &diag);
  const byoc_function_pricer_t pricer = {.self = costs, .price = price};
  byoc_test_ok(byoc_price_list_init(&p->prices, p->problem, &p->made.list, pricer, &machine, &diag), &diag);
  byoc_price_list_set_costs(&p->prices, BYOC_PRICE_KNOWN);
}

static void release_prices(priced_t *p) {
  byoc_price_list_deinit(&p->prices);
  byoc_problems_deinit(&p->problems);
  byoc_graph_module_destroy(p->module);
  release_targets(&p->made);
}

// Two readers: taking one of them leaves the ToBlocked to do, taking both nothing.
static void pairs_cost_what_is_left_of_them(void **state) {
  (void)state;
  priced_t p;
  prices_t costs = {1e3, 1e3};
  price_all(&p,
            "module {\n"
            "  constant @w : f32[32,32,1,1] = splat 0.5\n"
            "  func @main(%x : f32[1,32,8,8]) -> (%y : f32[1,32,8,8], %z : f32[1,32,8,8]) {\n"
            "    %0 = Conv@11(%x, @w) : f32[1,32,8,8]\n"
            "    %y = Conv@11(%0, @w) : f32[1,32,8,8]\n"
            "    %z = Conv@11(%0, @w) : f32[1,32,8,8]\n"
            "    return %y, %z\n"
            "  }\n"
            "}\n",
            &costs);
  size_t pairs = 0;
  for (size_t i = 0; i < p.problem->candidates.items.count; ++i) {
    const byoc_candidate_t *candidate = p.problem->candidates.items.data[i];
    if (strcmp(candidate->rule, "c.layout") != 0) continue;
    pairs += 1;
    assert_true(candidate->cost_ns == (candidate->nodes.count == 3 ? 0 : 100e3));
  }
  assert_int_equal(pairs, 3);
  release_prices(&p);
}

// What convolutions make is written where it belongs; an input, and what is interleaved, is copied.
static void a_concat_of_results_costs_nothing(void **state) {
  (void)state;
  priced_t p;
  prices_t costs = {1e3, 1e3};
  price_all(&p,
            "module {\n"
            "  constant @w : f32[32,32,1,1] = splat 0.5\n"
            "  func @main(%x : f32[1,32,8,8]) -> (%a : f32[1,64,8,8], %b : f32[1,64,8,8], %c : f32[1,32,16,8]) {\n"
            "    %0 = Conv@11(%x, @w) : f32[1,32,8,8]\n"
            "    %1 = Conv@11(%0, @w) : f32[1,32,8,8]\n"
            "    %a = Concat@13(%0, %1) {axis = 1} : f32[1,64,8,8]\n"
            "    %b = Concat@13(%0, %x) {axis = 1} : f32[1,64,8,8]\n"
            "    %c = Concat@13(%0, %1) {axis = 2} : f32[1,32,16,8]\n"
            "    return %a, %b, %c\n"
            "  }\n"
            "}\n",
            &costs);
  size_t concats = 0, free_ones = 0;
  for (size_t i = 0; i < p.problem->candidates.items.count; ++i) {
    const byoc_candidate_t *candidate = p.problem->candidates.items.data[i];
    const byoc_node_t *node = p.problem->flow.nodes[candidate->nodes.items[0]];
    if (candidate->nodes.count != 1 || !byoc_node_is_onnx(node, "Concat")) continue;
    concats += 1;
    free_ones += candidate->cost_ns == 0;
    if (candidate->cost_ns == 0) assert_string_equal(node->results[0]->name, "a");
  }
  assert_int_equal(concats, 3);
  assert_int_equal(free_ones, 1);
  release_prices(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_convolutions_exchange_a_blocked_tensor), cmocka_unit_test(backends_exchange_blocked_tensors),
      cmocka_unit_test(the_plain_plan_wins_where_it_is_cheaper),    cmocka_unit_test(a_lone_convolution_stays_plain),
      cmocka_unit_test(every_alternative_is_a_candidate),           cmocka_unit_test(pairs_cost_what_is_left_of_them),
      cmocka_unit_test(a_concat_of_results_costs_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
