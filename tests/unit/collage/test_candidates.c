// SPDX-License-Identifier: Apache-2.0
// What the cover search is fed with: dataflow, index sets, sub-graphs, candidates and the rules that make them. Rows
// C1, C2, C8.
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/string.h"
#include "core/collage/cover.h"
#include "core/collage/place.h"
#include "core/collage/rules.h"
#include "core/ir/module_text.h"
#include "core/plugin/host.h"
#include "tests/support/flow.h"
#include "tests/support/support.h"

#define GROUP(...)                                                                                                     \
  .operators = {.items = (const char *const[]){__VA_ARGS__},                                                           \
                .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)}

// ---- fixtures ----

typedef struct made_t {
  byoc_backend_t backend;
  byoc_target_kind_t kinds[2];
  byoc_target_t targets[2];
  byoc_target_list_t list;
  byoc_graph_module_t *module;
  byoc_dataflow_t flow;
  byoc_candidates_t candidates;
} made_t;

// A module, and targets "first" (with these rules) and "c".
static void make(made_t *made, const char *text, const byoc_rule_t *rules, uint32_t rule_count) {
  byoc_diag_t diag = {0};
  *made = (made_t){0};
  made->backend =
      (byoc_backend_t){.target = "first", .rules = rules, .rule_count = rule_count, .rule_stride = sizeof(byoc_rule_t)};
  static const char *const names[] = {"first", "c"};
  byoc_arena_init(&made->list.arena, byoc_allocator_system());
  for (uint32_t i = 0; i < 2; ++i) {
    made->kinds[i] = (byoc_target_kind_t){.name = names[i], .backend = i == 0 ? &made->backend : NULL};
    made->targets[i] = (byoc_target_t){.kind = &made->kinds[i], .text = names[i], .index = i};
    assert_true(byoc_vector_push(&made->list.targets, byoc_allocator_system(), &made->targets[i]));
  }
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &made->module), &diag);
  byoc_test_ok(
      byoc_dataflow_init(&made->flow, byoc_graph_module_main(made->module)->body, byoc_allocator_system(), &diag),
      &diag);
  byoc_candidates_init(&made->candidates, byoc_allocator_system());
}

static void release(made_t *made) {
  byoc_candidates_deinit(&made->candidates);
  byoc_dataflow_deinit(&made->flow);
  byoc_graph_module_destroy(made->module);
  byoc_vector_deinit(&made->list.targets, byoc_allocator_system());
  byoc_arena_deinit(&made->list.arena);
}

static void append_set(byoc_string_t *text, const byoc_index_set_t *set) {
  for (uint32_t i = 0; i < set->count; ++i) byoc_string_appendf(text, "%s%u", i > 0 ? "," : "", set->items[i]);
}

// "first.pair:0,1 c.host:0 ...": the candidates of a target, or of all (UINT32_MAX).
static void expect_candidates(const made_t *made, uint32_t target, const char *expected) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  for (size_t i = 0; i < made->candidates.items.count; ++i) {
    const byoc_candidate_t *candidate = made->candidates.items.data[i];
    if (target != UINT32_MAX && candidate->target != target) continue;
    byoc_string_appendf(&text, "%s%s:", text.size > 0 ? " " : "", candidate->rule);
    append_set(&text, &candidate->nodes);
  }
  byoc_test_same_text(text.data, expected);
  byoc_string_deinit(&text);
}

static void collect(made_t *made, const byoc_collect_options_t *options) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_candidates_collect(&made->candidates, &made->flow, &made->list, options, &diag), &diag);
}

// ---- index sets and dataflow ----

static void sets_are_sets(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_index_set_t a, b, c;
  assert_true(byoc_index_set_make(&arena, (const uint32_t[]){7, 3, 3, 9}, 4, &a));
  assert_true(byoc_index_set_make(&arena, (const uint32_t[]){4, 3}, 2, &b));
  assert_int_equal(a.count, 3);
  assert_int_equal(a.items[0], 3);
  assert_true(byoc_index_set_contains(&a, 9) && !byoc_index_set_contains(&a, 8) && !byoc_index_set_contains(&a, 10));
  assert_true(byoc_index_set_intersects(&a, &b));
  assert_true(byoc_index_set_unite(&arena, &a, &b, &c));
  assert_int_equal(c.count, 4);
  assert_false(byoc_index_set_equal(&a, &c));
  byoc_index_set_t empty = {0};
  assert_false(byoc_index_set_intersects(&empty, &a));
  byoc_arena_deinit(&arena);
}

// What a nested block reads, its owner reads.
static void nested_reads_count_for_the_owner(void **state) {
  (void)state;
  made_t made;
  make(&made,
       "module {\n"
       "  func @main(%x : f32[4], %c : bool[]) -> (%y : f32[4]) {\n"
       "    %a = Exp@13(%x) : f32[4]\n"
       "    %b = Neg@13(%a) : f32[4]\n"
       "    %y = If@16(%c) [then_branch () -> (f32[4]) { %t = Add@14(%a, %b) : f32[4]\n return %t },\n"
       "      else_branch () -> (f32[4]) { return %a }] : f32[4]\n"
       "    return %y\n"
       "  }\n"
       "}\n",
       NULL, 0);
  const byoc_dataflow_t *flow = &made.flow;
  assert_int_equal(flow->node_count, 3);
  assert_int_equal(flow->predecessor_offsets[3] - flow->predecessor_offsets[2], 2);
  assert_int_equal(flow->successor_offsets[1] - flow->successor_offsets[0], 2);
  assert_true(flow->is_source[0] && !flow->is_source[1] && flow->is_source[2]);
  assert_true(flow->is_result[2] && !flow->is_result[0]);
  release(&made);
}

// ---- sub-graphs (row C1) ----

static void borders_and_validity(void **state) {
  (void)state;
  // 0 → 1 → 3 → 4 and 0 → 2 → 3
  static const byoc_dataflow_edge_t edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {0, 1}};
  byoc_diag_t diag = {0};
  byoc_dataflow_t flow;
  byoc_subgraph_space_t space;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_test_flow_make(&flow, 5, edges, 6);
  byoc_test_ok(byoc_subgraph_space_init(&space, &flow, byoc_allocator_system(), &diag), &diag);
  static const struct {
    uint32_t nodes[4], count;
    const char *border; // entry exit input output
    byoc_subgraph_limits_t limits;
    const char *reason;
  } cases[] = {
      {{1, 2, 3}, 3, "1,2 3 0 4", {0}, NULL},
      {{0, 1}, 2, "0 0,1  2,3", {0}, "a value is read both inside and outside of it"},
      {{0, 1}, 2, "0 0,1  2,3", {.allow_taps = true}, NULL},
      {{0, 1},
       2,
       "0 0,1  2,3",
       {.allow_taps = true, .max_exits = 1},
       "more of its nodes are read outside than allowed"},
      {{0, 1, 3}, 3, "0,3 0,3 2 2,4", {.allow_taps = true}, "a path leaves it and comes back"},
      {{0, 1, 2, 3}, 4, "0 3  4", {.max_depth = 2}, "it is deeper than allowed"},
      {{0, 1, 2, 3}, 4, "0 3  4", {.max_depth = 3, .max_nodes = 3}, "it has more nodes than allowed"},
      {{0, 1, 2, 3}, 4, "0 3  4", {.max_depth = 3, .max_exits = 1, .max_nodes = 4}, NULL},
      {{4}, 1, "4 4 3 ", {0}, NULL},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
    byoc_index_set_t set;
    byoc_subgraph_t graph;
    assert_true(byoc_index_set_make(&arena, cases[i].nodes, cases[i].count, &set));
    assert_true(byoc_subgraph_make(&space, &arena, &set, &graph));
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    const byoc_index_set_t *sets[] = {&graph.entry, &graph.exit, &graph.input, &graph.output};
    for (int k = 0; k < 4; ++k) {
      if (k > 0) byoc_string_append(&text, " ");
      append_set(&text, sets[k]);
    }
    byoc_test_same_text(text.data, cases[i].border);
    byoc_string_deinit(&text);
    const char *reason = byoc_subgraph_invalid(&space, &graph, &cases[i].limits);
    if (cases[i].reason == NULL) {
      assert_null(reason);
    } else {
      assert_non_null(reason);
      assert_string_equal(reason, cases[i].reason);
    }
  }
  byoc_subgraph_space_deinit(&space);
  byoc_test_flow_destroy(&flow);
  byoc_arena_deinit(&arena);
}

static void a_detour_is_told_by_its_nodes(void **state) {
  (void)state;
  // 0 → 1 → 2 → 3 → 4 and 0 → 5
  static const byoc_dataflow_edge_t edges[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5}};
  static const uint32_t ends[] = {0, 3, 4}, apart[] = {4, 5};
  byoc_diag_t diag = {0};
  byoc_dataflow_t flow;
  byoc_subgraph_space_t space;
  byoc_subgraph_detour_t detour = {0};
  byoc_test_flow_make(&flow, 6, edges, 5);
  byoc_test_ok(byoc_subgraph_space_init(&space, &flow, byoc_allocator_system(), &diag), &diag);
  assert_true(byoc_subgraph_detour(&space, &(byoc_index_set_t){.items = ends, .count = 3}, &detour));
  assert_int_equal(detour.left, 0);
  assert_int_equal(detour.through, 2);
  assert_int_equal(detour.back, 3);
  assert_false(byoc_subgraph_detour(&space, &(byoc_index_set_t){.items = ends + 1, .count = 2}, &detour));
  assert_false(byoc_subgraph_detour(&space, &(byoc_index_set_t){.items = apart, .count = 2}, &detour));
  byoc_subgraph_space_deinit(&space);
  byoc_test_flow_destroy(&flow);
}

// ---- rules (row C2) ----

static const char *const chain = "module {\n"
                                 "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                                 "    %0 = Neg@13(%x) : f32[4]\n"
                                 "    %1 = Exp@13(%0) : f32[4]\n"
                                 "    %2 = Relu@14(%1) : f32[4]\n"
                                 "    %y = Exp@13(%2) : f32[4]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "}\n";

// Every alternative stays: overlapping matches of several rules, and each node on the host.
static void every_alternative_is_a_candidate(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.pair", .pattern = "Relu(Exp(%x))"},
                               {.name = "first.exp", .pattern = "Exp(%x)"}};
  made_t made;
  make(&made, chain, rules, 2);
  collect(&made, NULL);
  expect_candidates(&made, 0, "first.pair:1,2 first.exp:1 first.exp:3");
  const byoc_candidate_t *pair = made.candidates.items.data[0];
  assert_string_equal(pair->composite, "first.pair");
  assert_true(pair->is_primitive && isnan(pair->cost_ns));
  size_t host = 0;
  for (size_t i = 0; i < made.candidates.items.count; ++i) {
    const byoc_candidate_t *candidate = made.candidates.items.data[i];
    if (candidate->target == 1 && candidate->nodes.count == 1) ++host;
  }
  assert_int_equal(host, 4);
  release(&made);
}

static int asked_count;

static int32_t decline_first_exp(void *self, byoc_region_t *region) {
  (void)self;
  ++asked_count;
  const byoc_region_api_t *api = byoc_host_region_api();
  const byoc_node_t *node = api->node_at(region, 0);
  bool is_second = node->previous != NULL && node->previous->previous == NULL;
  return is_second ? api->decline(region, "exp is too steep") : 1;
}

static void hooks_are_asked_once_and_their_reason_kept(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.any", GROUP("Exp", "Relu", "Neg"), .accept = decline_first_exp}};
  made_t made;
  make(&made, chain, rules, 1);
  asked_count = 0;
  collect(&made, NULL);
  assert_int_equal(asked_count, 4);
  expect_candidates(&made, 0, "first.any:0 first.any:2 first.any:2,3 first.any:3");
  assert_int_equal(made.candidates.refusals.count, 1);
  assert_string_equal(made.candidates.refusals.data[0].reason, "exp is too steep");
  assert_int_equal(made.candidates.refusals.data[0].nodes.items[0], 1);
  release(&made);
}

static int32_t accept_vector(void *self, byoc_region_t *region) {
  (void)self;
  ++asked_count;
  const byoc_region_api_t *api = byoc_host_region_api();
  const byoc_value_t *b = api->value(region, "b");
  return b->type->rank == 1 ? 1 : api->decline(region, "b is no vector");
}

// One set of nodes, two ways to match: what a hook said of the first is no answer to the second. The candidate knows
// which way was accepted.
static void verdicts_are_about_bindings(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.bias", .pattern = "Add(%a, %b)", .accept = accept_vector}};
  for (uint32_t swapped = 0; swapped < 2; ++swapped) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_appendf(&text,
                        "module {\n"
                        "  func @main(%%x : f32[4,8], %%v : f32[8]) -> (%%y : f32[4,8]) {\n"
                        "    %%0 = Add@14(%s) : f32[4,8]\n"
                        "    %%y = Neg@13(%%0) : f32[4,8]\n"
                        "    return %%y\n"
                        "  }\n"
                        "}\n",
                        swapped ? "%v, %x" : "%x, %v");
    made_t made;
    make(&made, text.data, rules, 1);
    asked_count = 0;
    collect(&made, NULL);
    assert_int_equal(asked_count, 2); // once for each way
    expect_candidates(&made, 0, "first.bias:0");
    assert_int_equal(made.candidates.items.data[0]->match_number, swapped);
    release(&made);
    byoc_string_deinit(&text);
  }
}

// Groups up to a size, convex ones only; the greedy region whatever its size.
static void groups_are_enumerated(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.any", GROUP("Exp", "Add", "Relu")}};
  made_t made;
  make(&made,
       "module {\n"
       "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
       "    %0 = Exp@13(%x) : f32[4]\n"
       "    %1 = Relu@14(%0) : f32[4]\n"
       "    %2 = Relu@14(%0) : f32[4]\n"
       "    %3 = Add@14(%1, %2) : f32[4]\n"
       "    %y = Relu@14(%3) : f32[4]\n"
       "    return %y\n"
       "  }\n"
       "}\n",
       rules, 1);
  collect(&made, &(byoc_collect_options_t){.max_nodes = 3, .max_each = 100});
  expect_candidates(&made, 0,
                    "first.any:0 first.any:0,1 first.any:0,2 first.any:0,1,2 first.any:1 first.any:1,3 "
                    "first.any:1,3,4 first.any:1,2,3 first.any:2 first.any:2,3 first.any:2,3,4 first.any:3 "
                    "first.any:3,4 first.any:4 first.any:0,1,2,3,4");
  release(&made);
}

static void merging_matches_are_combined(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.exp", .pattern = "Exp(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.relu", .pattern = "Relu(%x)", .flags = BYOC_RULE_MERGE}};
  made_t made;
  make(&made, chain, rules, 2);
  collect(&made, NULL);
  expect_candidates(&made, 0, "first.exp:1 first.exp:3 first.relu:2 first.exp:1,2 first.relu:2,3 first.exp:1,2,3");
  const byoc_candidate_t *all = made.candidates.items.data[5];
  assert_int_equal(all->part_count, 3);
  assert_string_equal(all->parts[1]->composite, "first.relu");
  assert_null(all->composite);
  release(&made);
}

// Combinations keep the least limit of their rules.
static void merged_matches_keep_their_limit(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.exp", .pattern = "Exp(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.relu", .pattern = "Relu(%x)", .flags = BYOC_RULE_MERGE, .max_nodes = 2}};
  made_t made;
  make(&made, chain, rules, 2);
  collect(&made, NULL);
  expect_candidates(&made, 0, "first.exp:1 first.exp:3 first.relu:2 first.exp:1,2 first.relu:2,3");
  release(&made);
}

// The host's own fusion: elementwise consumers, elementwise producers of a reduction, joins.
static void the_host_combines(void **state) {
  (void)state;
  made_t made;
  make(&made,
       "module {\n"
       "  func @main(%x : f32[4,4]) -> (%y : f32[4,1], %z : f32[8,4]) {\n"
       "    %0 = Exp@13(%x) : f32[4,4]\n"
       "    %y = ReduceMax@13(%0) {axes = [1]} : f32[4,1]\n"
       "    %1 = Softmax@13(%x) : f32[4,4]\n"
       "    %z = Concat@13(%1, %x) {axis = 0} : f32[8,4]\n"
       "    return %y, %z\n"
       "  }\n"
       "}\n",
       NULL, 0);
  collect(&made, NULL);
  expect_candidates(&made, 1, "c.host:0 c.host:1 c.host:2 c.host:3 c.host:0,1 c.host:2,3");
  release(&made);
}

// A combination also takes in what feeds it from another side: both producers of a sum, and the sum.
static void producers_join_a_combination(void **state) {
  (void)state;
  made_t made;
  make(&made,
       "module {\n"
       "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
       "    %0 = Exp@13(%x) : f32[4]\n"
       "    %1 = Neg@13(%x) : f32[4]\n"
       "    %y = Add@14(%0, %1) : f32[4]\n"
       "    return %y\n"
       "  }\n"
       "}\n",
       NULL, 0);
  collect(&made, NULL);
  expect_candidates(&made, 1, "c.host:0 c.host:1 c.host:2 c.host:0,2 c.host:1,2 c.host:0,1,2");
  release(&made);
}

static void regions_over_two_places_are_refused_with_the_reason(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.any", GROUP("Exp", "Relu")}};
  made_t made;
  make(&made,
       "module {\n"
       "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
       "    %a = Exp@13(%x) : f32[4] on {device = 1, id = 0}\n"
       "    %y = Relu@14(%a) : f32[4] on {device = 1, id = 0, scope = \"shared\"}\n"
       "    return %y\n"
       "  }\n"
       "}\n",
       rules, 1);
  collect(&made, NULL);
  expect_candidates(&made, UINT32_MAX, "first.any:0 first.any:1 c.host:0 c.host:1");
  assert_true(made.candidates.refusals.count > 0);
  assert_int_equal(made.candidates.refusals.data[0].nodes.count, 2);
  assert_string_equal(made.candidates.refusals.data[0].reason, "its nodes are on different devices");
  release(&made);
}

// ---- how many (row C7) ----

// However the graph looks, each node begins at most max_each groups and as many combinations, ends one match of each
// pattern, and is one node on the host; equal ones coalesce.
static void estimates_are_bounded(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.exp", .pattern = "Exp(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.any", GROUP("Exp", "Add"), .flags = BYOC_RULE_MERGE},
                               {.name = "first.same", GROUP("Add", "Exp"), .flags = BYOC_RULE_MERGE}};
  const byoc_collect_options_t options = {.max_nodes = 8, .max_depth = 8, .max_each = 5};
  byoc_test_random_t random = {.state = 8};
  for (int round = 0; round < 20; ++round) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_append(&text, "module {\n  func @main(%v0 : f32[4]) -> (f32[4]) {\n");
    for (unsigned i = 1; i <= 60; ++i) { // dense: each node has 2^60 groups around it
      unsigned a = i - 1, b = (unsigned)byoc_test_below(&random, i);
      byoc_string_appendf(&text, "%%v%u = %s(%%v%u", i, i % 4 == 0 ? "Exp@13" : "Add@14", a);
      if (i % 4 != 0) byoc_string_appendf(&text, ", %%v%u", b);
      byoc_string_append(&text, ") : f32[4]\n");
    }
    byoc_string_append(&text, "return %v60 } }\n");
    made_t made;
    make(&made, text.data, rules, 3);
    collect(&made, &options);
    // first: match, groups, combinations, regions, their halves of more than 8 nodes at 3 depths; c
    size_t bound = 60 * (1 + 5 + 5) + 1 + 3 * 60 / 9 + 60 * (1 + 5);
    assert_true(made.candidates.items.count <= bound);
    for (size_t i = 0; i < made.candidates.items.count; ++i) {
      for (size_t k = 0; k < i; ++k) {
        const byoc_candidate_t *a = made.candidates.items.data[i], *b = made.candidates.items.data[k];
        bool is_same_text =
            a->composite == b->composite || (a->composite && b->composite && strcmp(a->composite, b->composite) == 0);
        assert_false(a->target == b->target && is_same_text && byoc_index_set_equal(&a->nodes, &b->nodes));
      }
    }
    release(&made);
    byoc_string_deinit(&text);
  }
}

// ---- never worse than greedy (row C8) ----

static double price_of(const byoc_index_set_t *nodes, uint32_t target) {
  uint64_t hash = byoc_hash_combine(byoc_index_set_hash(nodes), target + 17);
  return (double)(hash % 1000) * nodes->count;
}

// The numbers that the nodes of a function carry as names, those of the functions that it calls too.
static size_t numbers_of(const byoc_block_t *block, uint32_t *numbers, size_t count) {
  BYOC_FOR_EACH_NODE(node, block) {
    if (node->callee != NULL) {
      count = numbers_of(node->callee->body, numbers, count);
    } else {
      numbers[count++] = (uint32_t)strtoul(node->name + 1, NULL, 10);
    }
  }
  return count;
}

static double price_of_greedy(made_t *made, byoc_arena_t *arena) {
  byoc_diag_t diag = {0};
  byoc_placement_t placement;
  byoc_placement_init(&placement, byoc_allocator_system());
  byoc_test_ok(byoc_place_greedy(made->module, &made->list, &diag, &placement), &diag);
  double sum = 0;
  uint32_t numbers[64];
  byoc_index_set_t set;
  BYOC_FOR_EACH_NODE(node, byoc_graph_module_main(made->module)->body) {
    size_t count = 0;
    if (node->callee != NULL) {
      count = numbers_of(node->callee->body, numbers, 0);
    } else {
      numbers[count++] = (uint32_t)strtoul(node->name + 1, NULL, 10);
    }
    assert_true(byoc_index_set_make(arena, numbers, count, &set));
    sum += price_of(&set, node->callee != NULL ? 0 : 1);
  }
  byoc_placement_deinit(&placement);
  return sum;
}

static void one_backend_is_never_worse_than_greedy(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.pair", .pattern = "Neg(Mul(%a, %b))", .flags = BYOC_RULE_MERGE},
                               {.name = "first.mul", .pattern = "Mul(%a, %b)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.some", GROUP("Exp", "Add")}};
  byoc_test_random_t random = {.state = 31};
  for (int round = 0; round < 300; ++round) {
    static const char *const unary[] = {"Exp@13", "Neg@13", "Relu@14"};
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_append(&text, "module {\n  func @main(%v0 : f32[4]) -> (%y : f32[4]) {\n");
    unsigned count = 2 + (unsigned)byoc_test_below(&random, 40);
    for (unsigned i = 1; i <= count; ++i) {
      unsigned a = (unsigned)byoc_test_below(&random, i), b = (unsigned)byoc_test_below(&random, i);
      uint64_t kind = byoc_test_below(&random, 5);
      const char *op = kind < 3 ? unary[kind] : kind == 3 ? "Add@14" : "Mul@14";
      byoc_string_appendf(&text, "    %%v%u = %s \"n%u\"(%%v%u", i, op, i - 1, a);
      if (kind >= 3) byoc_string_appendf(&text, ", %%v%u", b);
      byoc_string_append(&text, ") : f32[4]\n");
    }
    byoc_string_appendf(&text, "    %%y = Relu@14 \"n%u\"(%%v%u) : f32[4]\n    return %%y\n  }\n}\n", count, count);
    made_t made;
    byoc_cover_t cover;
    byoc_diag_t diag = {0};
    make(&made, text.data, rules, 3);
    collect(&made, NULL);
    for (size_t i = 0; i < made.candidates.items.count; ++i) {
      byoc_candidate_t *candidate = made.candidates.items.data[i];
      candidate->cost_ns = price_of(&candidate->nodes, candidate->target);
    }
    byoc_test_ok(byoc_cover_search(&made.flow, made.candidates.items.data, made.candidates.items.count, NULL, NULL,
                                   byoc_allocator_system(), &diag, &cover),
                 &diag);
    double greedy = price_of_greedy(&made, &made.candidates.arena);
    if (cover.cost_ns > greedy) fail_msg("round %d: the cover costs %g, greedy %g", round, cover.cost_ns, greedy);
    byoc_cover_deinit(&cover);
    release(&made);
    byoc_string_deinit(&text);
  }
}

// ---- memory ----

static byoc_status_t collect_once(void *argument, byoc_allocator_t allocator) {
  const made_t *made = argument;
  byoc_diag_t diag = {0};
  byoc_dataflow_t flow;
  byoc_candidates_t list;
  byoc_status_t status = byoc_dataflow_init(&flow, made->flow.block, allocator, &diag);
  if (status != BYOC_OK) return status;
  byoc_candidates_init(&list, allocator);
  status = byoc_candidates_collect(&list, &flow, &made->list, NULL, &diag);
  byoc_candidates_deinit(&list);
  byoc_dataflow_deinit(&flow);
  return status;
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  const byoc_rule_t rules[] = {{.name = "first.exp", .pattern = "Exp(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.relu", .pattern = "Relu(%x)", .flags = BYOC_RULE_MERGE},
                               {.name = "first.any", GROUP("Neg", "Exp"), .accept = decline_first_exp}};
  made_t made;
  make(&made, chain, rules, 3);
  byoc_test_each_allocation_fails(collect_once, &made, false);
  release(&made);
}

static byoc_status_t number_once(void *argument, byoc_allocator_t allocator) {
  const made_t *made = argument;
  byoc_diag_t diag = {0};
  byoc_dataflow_t flow;
  byoc_status_t status = byoc_dataflow_init(&flow, made->flow.block, allocator, &diag);
  if (status == BYOC_OK) byoc_dataflow_deinit(&flow);
  return status;
}

// Blocks of so many nodes that each list is the one that a new block of memory is needed for.
static void memory_may_run_out_in_large_blocks(void **state) {
  (void)state;
  for (unsigned count = 100; count <= 1000; count += 50) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_string_append(&text, "module {\n  func @main(%v0 : f32[4]) -> (f32[4]) {\n");
    for (unsigned i = 1; i <= count; ++i) {
      byoc_string_appendf(&text, "%%v%u = Add@14(%%v%u, %%v%u) : f32[4]\n", i, i - 1, i / 2);
    }
    byoc_string_appendf(&text, "return %%v%u } }\n", count);
    made_t made;
    make(&made, text.data, NULL, 0);
    byoc_test_each_allocation_fails(number_once, &made, false);
    release(&made);
    byoc_string_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_are_sets),
      cmocka_unit_test(nested_reads_count_for_the_owner),
      cmocka_unit_test(borders_and_validity),
      cmocka_unit_test(a_detour_is_told_by_its_nodes),
      cmocka_unit_test(every_alternative_is_a_candidate),
      cmocka_unit_test(hooks_are_asked_once_and_their_reason_kept),
      cmocka_unit_test(verdicts_are_about_bindings),
      cmocka_unit_test(groups_are_enumerated),
      cmocka_unit_test(merging_matches_are_combined),
      cmocka_unit_test(merged_matches_keep_their_limit),
      cmocka_unit_test(the_host_combines),
      cmocka_unit_test(producers_join_a_combination),
      cmocka_unit_test(regions_over_two_places_are_refused_with_the_reason),
      cmocka_unit_test(estimates_are_bounded),
      cmocka_unit_test(one_backend_is_never_worse_than_greedy),
      cmocka_unit_test(memory_may_run_out_anywhere),
      cmocka_unit_test(memory_may_run_out_in_large_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
