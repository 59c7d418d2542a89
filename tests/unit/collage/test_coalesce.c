// SPDX-License-Identifier: Apache-2.0
// Neighbouring regions joined into one, halves of greedy regions, and plans that people cut. Rows C3, C7, C10.
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/collage/coalesce.h"
#include "core/collage/cover.h"
#include "core/collage/place_collage.h"
#include "core/collage/plan_json.h"
#include "core/collage/replay.h"
#include "core/ir/module_text.h"
#include "tests/support/support.h"

// ---- targets, graphs and costs ----

typedef struct made_t {
  byoc_backend_t backend;
  byoc_target_kind_t kinds[2];
  byoc_target_t targets[2];
  byoc_target_list_t list;
} made_t;

// "first" with these rules, and "c".
static void make_targets(made_t *made, const byoc_rule_t *rules, uint32_t rule_count) {
  static const char *const names[] = {"first", "c"};
  *made = (made_t){0};
  byoc_arena_init(&made->list.arena, byoc_allocator_system());
  made->backend =
      (byoc_backend_t){.target = "first", .rules = rules, .rule_count = rule_count, .rule_stride = sizeof(byoc_rule_t)};
  for (uint32_t i = 0; i < 2; ++i) {
    made->kinds[i] = (byoc_target_kind_t){
        .name = names[i], .plugin_name = "made up", .plugin_version = "1", .backend = i == 0 ? &made->backend : NULL};
    made->targets[i] = (byoc_target_t){.kind = &made->kinds[i], .text = names[i], .index = i};
    assert_true(byoc_vector_push(&made->list.targets, byoc_allocator_system(), &made->targets[i]));
  }
}

static void release_targets(made_t *made) {
  byoc_vector_deinit(&made->list.targets, byoc_allocator_system());
  byoc_arena_deinit(&made->list.arena);
}

static const char *const light[] = {"Exp", "Neg", "Abs", "Tanh", "Add"};
static const byoc_rule_t groups[] = {{.name = "first.group", .operators = {.items = light, .count = 5}}};
static const byoc_rule_t matches[] = {
    {.name = "first.pair", .pattern = "Exp(Neg(%x))", .flags = BYOC_RULE_MERGE},
    {.name = "first.one", .pattern = "{Exp|Neg|Abs|Tanh}(%x)", .flags = BYOC_RULE_MERGE},
    {.name = "first.add", .pattern = "Add(%a, %b)", .flags = BYOC_RULE_MERGE}};
static const byoc_rule_t limited[] = {
    {.name = "first.group", .operators = {.items = light, .count = 5}, .max_nodes = 4}};

static byoc_graph_module_t *parse(const byoc_string_t *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text->data, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

// `count` unary operators one behind the other; at `odd` (UINT32_MAX: nowhere) a Tanh, which is nowhere else.
static byoc_graph_module_t *make_chain(uint32_t count, uint32_t odd) {
  static const char *const operators[] = {"Exp@13", "Neg@13", "Abs@13"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  func @main(%v0 : f32[64]) -> (f32[64]) {\n");
  for (uint32_t n = 0; n < count; ++n) {
    byoc_string_appendf(&text, "    %%v%u = %s(%%v%u) : f32[64]\n", n + 1, n == odd ? "Tanh@13" : operators[n % 3], n);
  }
  byoc_string_appendf(&text, "    return %%v%u\n  }\n}\n", count);
  byoc_graph_module_t *module = parse(&text);
  byoc_string_deinit(&text);
  return module;
}

// Operators over what came before, near by.
static byoc_graph_module_t *make_graph(uint32_t count, uint64_t seed) {
  static const char *const operators[] = {"Exp@13", "Neg@13", "Abs@13", "Relu@14"};
  byoc_test_random_t random = {.state = seed};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  func @main(%v0 : f32[64]) -> (f32[64]) {\n");
  for (uint32_t n = 1; n <= count; ++n) {
    uint64_t kind = byoc_test_below(&random, 6), near = n > 3 ? n - 3 : 0;
    uint64_t a = near + byoc_test_below(&random, n - near), b = near + byoc_test_below(&random, n - near);
    if (kind >= 4) {
      byoc_string_appendf(&text, "    %%v%u = Add@14(%%v%u, %%v%u) : f32[64]\n", n, (unsigned)a, (unsigned)b);
    } else {
      byoc_string_appendf(&text, "    %%v%u = %s(%%v%u) : f32[64]\n", n, operators[kind], n - 1);
    }
  }
  byoc_string_appendf(&text, "    return %%v%u\n  }\n}\n", count);
  byoc_graph_module_t *module = parse(&text);
  byoc_string_deinit(&text);
  return module;
}

typedef struct counted_t {
  size_t nodes, odd;
} counted_t;

static bool count_node(void *self, byoc_node_t *node) {
  counted_t *counted = self;
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, count_node, self);
  counted->nodes += 1;
  counted->odd += strcmp(node->op, "Tanh") == 0;
  return true;
}

// A call of the backend costs 100, each of its operators 1, and it cannot do a Tanh; that costs "c" 1, others 1000.
static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  (void)self;
  (void)diag;
  counted_t counted = {0};
  (void)byoc_block_walk(function->body, count_node, &counted);
  if (target->kind->backend == NULL) {
    *out_ns = (double)(counted.nodes - counted.odd) * 1000 + (double)counted.odd;
  } else {
    *out_ns = counted.odd > 0 ? INFINITY : 100 + (double)counted.nodes;
  }
  *out_reason = isinf(*out_ns) ? "it cannot do a Tanh" : NULL;
  return BYOC_OK;
}

static const byoc_estimator_t machine = {.calibration = {.flops_per_ns = 64, .bytes_per_ns = 1e9, .call_ns = 0},
                                         .thread_count = 1};

static void place(byoc_graph_module_t *module, const made_t *made, byoc_placement_t *placement, byoc_plan_t *plan) {
  byoc_diag_t diag = {0};
  byoc_placement_init(placement, byoc_allocator_system());
  byoc_plan_init(plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_targets(plan, "model", "collage", &made->list, &diag), &diag);
  placement->plan = plan;
  const byoc_collage_options_t options = {
      .targets = &made->list,
      .pricer = {.price = price},
      .estimator = &machine,
      .key = {.target = "all", .plugin = "all", .compiler = "none", .machine = "here", .thread_count = 1},
      .budget_s = 1e6,
      .spend_budget = true};
  byoc_test_ok(byoc_place_collage(module, &options, &diag, placement), &diag);
}

// ---- a chain that is cut once ----

// One node in the middle that the backend cannot do leaves two regions beside it, not many.
static void expect_two_regions(const byoc_rule_t *rules, uint32_t rule_count) {
  for (uint32_t odd = 7; odd < 34; odd += 13) { // wherever halves end
    made_t made;
    make_targets(&made, rules, rule_count);
    byoc_graph_module_t *module = make_chain(41, odd);
    byoc_placement_t placement;
    byoc_plan_t plan;
    place(module, &made, &placement, &plan);
    assert_int_equal(placement.regions.count, 2);
    assert_int_equal(placement.regions.data[0].node_count, odd);
    assert_int_equal(placement.regions.data[1].node_count, 40 - odd);
    assert_true(plan.blocks.data[0].cost_ns == 241);
    assert_true(plan.blocks.data[0].is_proven);
    assert_int_equal(plan.max_nodes, BYOC_COLLECT_NODES);
    byoc_plan_deinit(&plan);
    byoc_placement_deinit(&placement);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
}

static void a_group_is_cut_in_two(void **state) {
  (void)state;
  expect_two_regions(groups, 1);
}

static void merged_matches_are_cut_in_two(void **state) {
  (void)state;
  expect_two_regions(matches, 3);
}

// ---- what is offered ----

typedef struct problem_t {
  made_t made;
  byoc_graph_module_t *module;
  byoc_problems_t problems;
  byoc_problem_t *problem;
} problem_t;

static void open_problem(problem_t *p, byoc_graph_module_t *module, const byoc_rule_t *rules, uint32_t rule_count,
                         const byoc_collect_options_t *options) {
  byoc_diag_t diag = {0};
  make_targets(&p->made, rules, rule_count);
  p->module = module;
  byoc_test_ok(byoc_problems_find(module, byoc_allocator_system(), &diag, &p->problems), &diag);
  p->problem = &p->problems.items.data[0];
  byoc_test_ok(byoc_candidates_collect(&p->problem->candidates, &p->problem->flow, &p->made.list, options, &diag),
               &diag);
}

static void close_problem(problem_t *p) {
  byoc_problems_deinit(&p->problems);
  byoc_graph_module_destroy(p->module);
  release_targets(&p->made);
}

// The position of the candidate of exactly the nodes from `first` to `last`; UINT32_MAX if there is none.
static uint32_t find(const problem_t *p, uint32_t first, uint32_t last) {
  for (size_t i = 0; i < p->problem->candidates.items.count; ++i) {
    const byoc_index_set_t *nodes = &p->problem->candidates.items.data[i]->nodes;
    if (nodes->count == last - first + 1 && nodes->items[0] == first && nodes->items[nodes->count - 1] == last) {
      return (uint32_t)i;
    }
  }
  return UINT32_MAX;
}

static bool offers(const problem_t *p, uint32_t first, uint32_t last) {
  return find(p, first, last) != UINT32_MAX;
}

static void halves_are_candidates(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; ++kind) {
    problem_t p;
    open_problem(&p, make_chain(32, UINT32_MAX), kind == 0 ? groups : matches, kind == 0 ? 1 : 3, NULL);
    if (kind == 0) {
      assert_true(offers(&p, 0, 31) && offers(&p, 0, 15) && offers(&p, 16, 31) && offers(&p, 8, 15));
      assert_false(offers(&p, 4, 11) || offers(&p, 0, 30));
    }
    size_t between = 0;
    for (size_t i = 0; i < p.problem->candidates.items.count; ++i) {
      const byoc_candidate_t *candidate = p.problem->candidates.items.data[i];
      between += candidate->nodes.count > BYOC_COLLECT_NODES && candidate->nodes.count < 32;
      size_t held = 0; // the parts make up the whole
      for (uint32_t k = 0; k < candidate->part_count; ++k) held += candidate->parts[k]->nodes.count;
      assert_true(candidate->part_count == 0 || held == candidate->nodes.count);
    }
    assert_true(between >= 2 && between <= 2 * 32 / BYOC_COLLECT_NODES);
    close_problem(&p);
  }
}

// Three regions in a row are offered as one and as two pairs; what stands apart from them is not joined to them.
static void neighbours_are_offered_together(void **state) {
  (void)state;
  static const uint32_t regions[][2] = {{0, 2}, {3, 5}, {6, 8}, {12, 14}};
  const byoc_collect_options_t options = {.max_nodes = 3, .max_depth = 3};
  byoc_diag_t diag = {0};
  byoc_choice_t choice = {0};
  problem_t p;
  open_problem(&p, make_chain(20, UINT32_MAX), groups, 1, &options);
  for (size_t i = 0; i < sizeof regions / sizeof *regions; ++i) {
    const uint32_t found = find(&p, regions[i][0], regions[i][1]);
    assert_int_not_equal(found, UINT32_MAX);
    assert_true(byoc_vector_push(&choice, byoc_allocator_system(), found));
  }
  assert_false(offers(&p, 0, 5) || offers(&p, 3, 8) || offers(&p, 0, 8));
  size_t added = 0;
  byoc_test_ok(byoc_coalesce(p.problem, &p.made.list, &choice, &diag, &added), &diag);
  assert_int_equal(added, 3);
  assert_true(offers(&p, 0, 5) && offers(&p, 3, 8) && offers(&p, 0, 8));
  byoc_vector_deinit(&choice, byoc_allocator_system());
  close_problem(&p);
}

// ---- against brute force ----

static double made_up_cost(const byoc_candidate_t *candidate, uint64_t seed) {
  uint64_t hash = byoc_hash_combine(byoc_index_set_hash(&candidate->nodes), candidate->target + seed);
  if (candidate->target == 0 && hash % 17 < candidate->nodes.count) return INFINITY;
  double count = candidate->nodes.count;
  return candidate->target == 0 ? 60 + 5 * count + (double)(hash % 40) : 80 * count + (double)(hash % 40);
}

static void price_all(const problem_t *p, uint64_t seed) {
  for (size_t i = 0; i < p->problem->candidates.items.count; ++i) {
    byoc_candidate_t *candidate = p->problem->candidates.items.data[i];
    candidate->cost_ns = made_up_cost(candidate, seed);
    candidate->reason = "made up";
  }
}

static double search(const problem_t *p, byoc_choice_t *choice) {
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  byoc_test_ok(byoc_cover_search(&p->problem->flow, p->problem->candidates.items.data,
                                 p->problem->candidates.items.count, NULL, NULL, byoc_allocator_system(), &diag,
                                 &cover),
               &diag);
  choice->count = 0;
  for (uint32_t i = 0; i < cover.count; ++i) {
    assert_true(byoc_vector_push(choice, byoc_allocator_system(), cover.chosen[i]));
  }
  assert_true(cover.is_proven);
  double cost_ns = cover.cost_ns;
  byoc_cover_deinit(&cover);
  return cost_ns;
}

typedef struct force_t {
  const problem_t *p;
  uint32_t chosen[16], order[16];
  uint32_t count;
  double best;
} force_t;

// Every set of disjoint candidates that holds all nodes and can run.
static void try_all(force_t *f, uint32_t taken, double cost_ns) {
  const byoc_candidates_t *list = &f->p->problem->candidates;
  const uint32_t node_count = f->p->problem->flow.node_count;
  uint32_t first = 0;
  if (!(cost_ns < f->best)) return;
  while (first < node_count && (taken >> first & 1) != 0) ++first;
  if (first == node_count) {
    byoc_diag_t diag = {0};
    double whole_ns = 0, transition_ns = 0;
    memcpy(f->order, f->chosen, sizeof(f->order));
    if (byoc_cover_evaluate(&f->p->problem->flow, list->items.data, f->order, f->count, NULL, byoc_allocator_system(),
                            &diag, &whole_ns, &transition_ns) == BYOC_OK) {
      f->best = cost_ns;
    }
    return;
  }
  for (uint32_t i = 0; i < list->items.count; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    uint32_t mask = 0;
    for (uint32_t k = 0; k < candidate->nodes.count; ++k) mask |= UINT32_C(1) << candidate->nodes.items[k];
    if ((mask >> first & 1) == 0 || (mask & taken) != 0 || isinf(candidate->cost_ns)) continue;
    f->chosen[f->count++] = i;
    try_all(f, taken | mask, cost_ns + candidate->cost_ns);
    f->count -= 1;
  }
}

// With what coalescing and halving add, the search still finds what brute force does, and never less than before; what
// is added is bounded and sound.
static void the_search_equals_brute_force(void **state) {
  (void)state;
  const byoc_collect_options_t options = {.max_nodes = 2, .max_depth = 2};
  size_t added_in_all = 0, better = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    problem_t p;
    byoc_diag_t diag = {0};
    const byoc_rule_t *rules = seed % 3 == 0 ? groups : seed % 3 == 1 ? matches : limited;
    open_problem(&p, make_graph(6 + (uint32_t)(seed % 7), seed), rules, seed % 3 == 1 ? 3 : 1, &options);
    byoc_choice_t choice = {0};
    price_all(&p, seed);
    double before_ns = search(&p, &choice), after_ns = before_ns;
    for (int round = 0; round < 3; ++round) {
      size_t added = 0;
      byoc_test_ok(byoc_coalesce(p.problem, &p.made.list, &choice, &diag, &added), &diag);
      assert_true(added <= 2 * choice.count);
      price_all(&p, seed);
      double now_ns = search(&p, &choice);
      assert_true(now_ns <= after_ns);
      after_ns = now_ns;
      added_in_all += added;
    }
    better += after_ns < before_ns;
    for (size_t i = 0; i < p.problem->candidates.items.count; ++i) {
      const byoc_candidate_t *candidate = p.problem->candidates.items.data[i];
      assert_true(rules != limited || candidate->target == 1 || candidate->nodes.count <= 4);
    }
    force_t force = {.p = &p, .best = INFINITY};
    try_all(&force, 0, 0);
    assert_true(fabs(force.best - after_ns) <= 1e-9 * after_ns);
    byoc_vector_deinit(&choice, byoc_allocator_system());
    close_problem(&p);
  }
  printf("%zu candidates added, %zu plans better for them\n", added_in_all, better);
  assert_true(added_in_all > 0 && better > 0);
}

// ---- memory ----

static byoc_status_t coalesce_once(void *argument, byoc_allocator_t allocator) {
  const made_t *made = argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = make_chain(14, UINT32_MAX); // of the system's memory: it does not run out here
  byoc_problem_t problem = {.function = byoc_graph_module_main(module)};
  byoc_choice_t choice = {0};
  size_t added = 0;
  byoc_status_t status = byoc_dataflow_init(&problem.flow, problem.function->body, allocator, &diag);
  if (status == BYOC_OK) {
    byoc_candidates_init(&problem.candidates, allocator);
    status = byoc_candidates_collect(&problem.candidates, &problem.flow, &made->list, NULL, &diag);
    // Pairs of neighbours, as a search would leave them.
    for (uint32_t i = 0; i < problem.candidates.items.count && status == BYOC_OK; ++i) {
      const byoc_candidate_t *candidate = problem.candidates.items.data[i];
      bool is_pair = candidate->target == 0 && candidate->nodes.count == 2 && candidate->nodes.items[0] % 2 == 0;
      if (is_pair && !byoc_vector_push(&choice, allocator, i)) status = BYOC_OUT_OF_MEMORY;
    }
    if (status == BYOC_OK) status = byoc_coalesce(&problem, &made->list, &choice, &diag, &added);
    byoc_vector_deinit(&choice, allocator);
    byoc_candidates_deinit(&problem.candidates);
    byoc_dataflow_deinit(&problem.flow);
  }
  byoc_graph_module_destroy(module);
  return status;
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  made_t made;
  make_targets(&made, matches, 3);
  byoc_test_each_allocation_fails(coalesce_once, &made, false);
  release_targets(&made);
}

// ---- plans that people cut ----

static byoc_status_t replay(uint32_t node_count, const made_t *made, byoc_plan_t *plan, const char *path,
                            byoc_diag_t *diag, size_t *out_regions) {
  byoc_test_ok(byoc_plan_write(plan, path, diag), diag);
  byoc_placement_t placement;
  byoc_placement_init(&placement, byoc_allocator_system());
  byoc_graph_module_t *module = make_chain(node_count, UINT32_MAX);
  byoc_status_t status = byoc_place_replay(module, &made->list, path, diag, &placement);
  *out_regions = placement.regions.count;
  byoc_placement_deinit(&placement);
  byoc_graph_module_destroy(module);
  return status;
}

// Each half is taken where the rules allow it; where they do not, the refusal says so.
static void a_region_may_be_cut_by_hand(void **state) {
  (void)state;
  made_t made;
  make_targets(&made, groups, 1);
  byoc_graph_module_t *module = make_chain(20, UINT32_MAX);
  byoc_placement_t placement;
  byoc_plan_t plan;
  byoc_diag_t diag = {0};
  place(module, &made, &placement, &plan);
  byoc_plan_block_t *block = &plan.blocks.data[0];
  assert_int_equal(block->regions.count, 1);
  char *folder = byoc_test_folder(), *path = byoc_path_join(byoc_allocator_system(), folder, "plan.json");
  size_t regions = 0;
  uint32_t nodes[20];
  for (uint32_t i = 0; i < 20; ++i) nodes[i] = i;
  byoc_plan_region_t half = {.candidate = UINT32_MAX, .rule = "first.group", .nodes = nodes, .cost_ns = NAN};
  byoc_plan_region_t rest = half;
  half.node_count = 13;
  rest.nodes = nodes + 13;
  rest.node_count = 7;
  block->regions.data[0] = half;
  assert_true(byoc_vector_push(&block->regions, plan.arena.allocator, rest));
  byoc_test_ok(replay(20, &made, &plan, path, &diag, &regions), &diag);
  assert_int_equal(regions, 2);

  uint32_t torn[] = {0, 1, 2, 4, 5, 6, 7, 8};
  block->regions.count = 1;
  block->regions.data[0].nodes = torn;
  block->regions.data[0].node_count = 8;
  assert_int_equal(replay(20, &made, &plan, path, &diag, &regions), BYOC_INVALID_DATA);
  assert_non_null(strstr(diag.message, "cannot be a region of 'first': its rules make 2 regions of these nodes"));
  assert_int_equal(regions, 0);

  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  free(path);
  byoc_plan_deinit(&plan);
  byoc_placement_deinit(&placement);
  byoc_graph_module_destroy(module);
  release_targets(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_group_is_cut_in_two),           cmocka_unit_test(merged_matches_are_cut_in_two),
      cmocka_unit_test(neighbours_are_offered_together), cmocka_unit_test(halves_are_candidates),
      cmocka_unit_test(the_search_equals_brute_force),   cmocka_unit_test(a_region_may_be_cut_by_hand),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
