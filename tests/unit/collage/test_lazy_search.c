// SPDX-License-Identifier: Apache-2.0
// Searching without pricing everything. Costs are made up from what is priced: each structure has one cost per target.
#include "core/base/file.h"
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/collage/cost_key.h"
#include "core/collage/lazy_search.h"
#include "core/collage/place_collage.h"
#include "core/collage/plan_json.h"
#include "core/collage/replay.h"
#include "core/collage/rules.h"
#include "core/collage/transition.h"
#include "core/ir/module_text.h"
#include "tests/support/support.h"

// ---- targets, graphs and costs ----

typedef struct made_t {
  byoc_backend_t backends[2];
  byoc_target_kind_t kinds[3];
  byoc_target_t targets[3];
  byoc_target_list_t list;
} made_t;

// The first `backend_count` of "first" and "second", then "c".
static void make_targets(made_t *made, uint32_t backend_count) {
  static const byoc_rule_t first[] = {{.name = "first.pair", .pattern = "Relu(Exp(%x))"},
                                      {.name = "first.any", .pattern = "{Relu|Exp|Neg}(%x)"}};
  static const char *const light[] = {"Add", "Neg", "Relu"};
  static const byoc_rule_t second[] = {
      {.name = "second.group", .operators = {.items = light, .count = 3}, .flags = BYOC_RULE_MERGE}};
  static const char *const names[] = {"first", "second"};
  *made = (made_t){0};
  byoc_arena_init(&made->list.arena, byoc_allocator_system());
  for (uint32_t i = 0; i <= backend_count; ++i) {
    bool is_native = i == backend_count;
    made->backends[i % 2] = is_native ? made->backends[i % 2]
                                      : (byoc_backend_t){.target = names[i],
                                                         .rules = i == 0 ? first : second,
                                                         .rule_count = i == 0 ? 2 : 1,
                                                         .rule_stride = sizeof(byoc_rule_t)};
    made->kinds[i] = (byoc_target_kind_t){.name = is_native ? "c" : names[i],
                                          .plugin_name = "made up",
                                          .plugin_version = "1",
                                          .backend = is_native ? NULL : &made->backends[i]};
    made->targets[i] = (byoc_target_t){.kind = &made->kinds[i], .text = made->kinds[i].name, .index = i};
    assert_true(byoc_vector_push(&made->list.targets, byoc_allocator_system(), &made->targets[i]));
  }
}

static void release_targets(made_t *made) {
  byoc_vector_deinit(&made->list.targets, byoc_allocator_system());
  byoc_arena_deinit(&made->list.arena);
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// Unary operators and additions over what came before, of one shape.
static byoc_graph_module_t *make_graph(uint32_t node_count, uint32_t seed) {
  static const char *const operators[] = {"Relu@14", "Exp@13", "Neg@13", "Abs@13"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  func @main(%v0 : f32[512]) -> (%y : f32[512]) {\n");
  for (uint32_t n = 1; n <= node_count; ++n) {
    uint32_t near = n > 3 ? n - 3 : 0, a = near + next_random(&seed) % (n - near),
             b = near + next_random(&seed) % (n - near);
    uint32_t kind = next_random(&seed) % 5;
    byoc_string_appendf(&text, n == node_count ? "    %%y = " : "    %%v%u = ", n);
    if (kind == 4) {
      byoc_string_appendf(&text, "Add@14(%%v%u, %%v%u) : f32[512]\n", a, b);
    } else {
      byoc_string_appendf(&text, "%s(%%v%u) : f32[512]\n", operators[kind], n - 1);
    }
  }
  byoc_string_append(&text, "    return %y\n  }\n}\n");
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text.data, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_string_deinit(&text);
  return module;
}

static const byoc_estimator_t machine = {.calibration = {.flops_per_ns = 64, .bytes_per_ns = 10, .call_ns = 5},
                                         .thread_count = 1};

// Costs by structure and target: at least the bound, here and there infinite for a backend.
typedef struct made_costs_t {
  uint32_t priced;
  bool has_faults;
  double scale; // 0: 1
} made_costs_t;

static uint64_t identity(const byoc_function_t *function, const byoc_target_t *target) {
  return byoc_hash_combine(byoc_cost_function_hash(function), byoc_hash_string(target->text));
}

static double true_cost(const made_costs_t *costs, const byoc_function_t *function, const byoc_target_t *target) {
  uint64_t hash = identity(function, target);
  bool is_broken = costs->has_faults && target->kind->backend != NULL && hash % 11 == 0;
  double cost_ns = byoc_bound_ns(&machine, function, target) * (1 + (double)(hash % 97) / 4) + (double)(hash % 53);
  return is_broken ? INFINITY : cost_ns * (costs->scale > 0 ? costs->scale : 1);
}

static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  (void)diag;
  made_costs_t *costs = self;
  costs->priced += 1;
  *out_ns = true_cost(costs, function, target);
  *out_reason = isinf(*out_ns) ? "it crashed" : NULL;
  return BYOC_OK;
}

static byoc_status_t look_up(void *self, const byoc_function_t *function, const byoc_target_t *target,
                             byoc_arena_t *arena, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  (void)self;
  *out_price = (byoc_known_price_t){.cost_ns = NAN};
  out_price->id = byoc_arena_format(arena, "%llx", (unsigned long long)identity(function, target));
  return out_price->id != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

typedef struct setting_t {
  made_t made;
  byoc_graph_module_t *module;
  byoc_problems_t problems;
  byoc_price_list_t prices;
  byoc_transitions_t transitions;
  made_costs_t costs;
} setting_t;

// With a device type, "first" runs on such a device, which costs what the estimator says.
static void open_setting_on(setting_t *s, uint32_t node_count, uint32_t seed, int32_t device_type,
                            const byoc_estimator_t *estimator) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  *s = (setting_t){.costs = {.has_faults = true}};
  make_targets(&s->made, 2);
  s->made.backends[0].device_type = device_type;
  s->module = make_graph(node_count, seed);
  byoc_test_ok(byoc_problems_find(s->module, system, &diag, &s->problems), &diag);
  byoc_problem_t *problem = &s->problems.items.data[0];
  byoc_test_ok(byoc_candidates_collect(&problem->candidates, &problem->flow, &s->made.list, NULL, &diag), &diag);
  const byoc_function_pricer_t pricer = {.self = &s->costs, .price = price, .look_up = look_up};
  byoc_test_ok(byoc_price_list_init(&s->prices, problem, &s->made.list, pricer, estimator, &diag), &diag);
  byoc_test_ok(byoc_transitions_init(&s->transitions, &problem->flow, &s->made.list, estimator, system, &diag), &diag);
}

static void open_setting(setting_t *s, uint32_t node_count, uint32_t seed) {
  open_setting_on(s, node_count, seed, 0, &machine);
}

static void close_setting(setting_t *s) {
  byoc_transitions_deinit(&s->transitions);
  byoc_price_list_deinit(&s->prices);
  byoc_problems_deinit(&s->problems);
  byoc_graph_module_destroy(s->module);
  release_targets(&s->made);
}

// The least cost with every price known.
static double exact_cost(setting_t *s, byoc_cover_costs_t *costs) {
  byoc_diag_t diag = {0};
  byoc_problem_t *problem = &s->problems.items.data[0];
  size_t count = problem->candidates.items.count;
  for (size_t i = 0; i < count; ++i) {
    uint32_t candidate = (uint32_t)i;
    byoc_test_ok(byoc_price_list_measure(&s->prices, &candidate, 1, &diag), &diag);
  }
  byoc_price_list_set_costs(&s->prices, BYOC_PRICE_KNOWN);
  byoc_cover_t cover;
  byoc_test_ok(byoc_cover_search(&problem->flow, problem->candidates.items.data, count, costs, NULL,
                                 byoc_allocator_system(), &diag, &cover),
               &diag);
  assert_true(cover.is_proven);
  double cost_ns = cover.cost_ns;
  byoc_cover_deinit(&cover);
  return cost_ns;
}

// ---- the search ----

static void test_c3_c7_lazy_search_keeps_the_optimum(void **state) {
  (void)state;
  size_t measured = 0, kinds = 0, candidates = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    setting_t s;
    byoc_diag_t diag = {0};
    open_setting(&s, 3 + seed % 20, seed);
    byoc_cover_costs_t costs = byoc_transitions_costs(&s.transitions);
    byoc_measuring_t measuring = {.budget_ns = INT64_MAX / 2};
    byoc_lazy_cover_t cover;
    byoc_test_ok(byoc_lazy_search_expected(&s.prices, NULL, 0, &costs, &measuring, &diag, &cover), &diag);
    assert_true(cover.is_measured);
    byoc_lazy_cover_deinit(&cover, byoc_allocator_system());
    byoc_test_ok(byoc_lazy_search(&s.prices, &costs, &measuring, &diag, &cover), &diag);
    assert_true(cover.is_proven && cover.is_measured);
    assert_true(cover.lower_bound_ns == cover.cost_ns);
    assert_int_equal(s.costs.priced, measuring.measured); // C5: equal candidates were priced once
    measured += s.costs.priced;
    kinds += s.prices.prices.count;
    candidates += s.prices.priced;
    double cost_ns = cover.cost_ns;
    byoc_lazy_cover_deinit(&cover, byoc_allocator_system());
    double least_ns = exact_cost(&s, &costs);
    assert_true(fabs(cost_ns - least_ns) <= 1e-9 * least_ns);
    assert_int_equal(s.costs.priced, s.prices.prices.count);
    close_setting(&s);
  }
  printf("%zu candidates of %zu kinds, %zu of them priced\n", candidates, kinds, measured);
  assert_true(measured < kinds);
}

// What is not measured is left out; the bound says how far from the optimum the plan is at most.
static void test_c7_a_budget_leaves_a_bound(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    setting_t s;
    byoc_diag_t diag = {0};
    open_setting(&s, 12, seed);
    byoc_cover_costs_t costs = byoc_transitions_costs(&s.transitions);
    byoc_measuring_t measuring = {0};
    byoc_lazy_cover_t cover;
    byoc_test_ok(byoc_lazy_search(&s.prices, &costs, &measuring, &diag, &cover), &diag);
    assert_int_equal(s.costs.priced, 0);
    assert_false(cover.is_proven);
    assert_true(cover.choice.count > 0);
    for (size_t i = 0; i < cover.choice.count; ++i) { // the native target's guesses are all there is
      assert_int_equal(s.problems.items.data[0].candidates.items.data[cover.choice.data[i]]->target, 2);
    }
    double bound_ns = cover.lower_bound_ns;
    byoc_lazy_cover_deinit(&cover, byoc_allocator_system());
    assert_true(bound_ns <= exact_cost(&s, &costs) * (1 + 1e-9));
    close_setting(&s);
  }
}

static void test_c9_transitions_have_a_price(void **state) {
  (void)state;
  setting_t s;
  open_setting(&s, 4, 1);
  byoc_transitions_t *transitions = &s.transitions;
  assert_true(byoc_transition_ns(transitions, 1e6, 2, 2) == 0); // fused
  double call_ns = byoc_transition_ns(transitions, 1e6, 0, 1);
  assert_true(call_ns == machine.calibration.call_ns);
  assert_true(byoc_transition_ns(transitions, 1e6, 0, 0) == call_ns);
  assert_true(byoc_transition_ns(transitions, 1e6, 2, 0) == call_ns);
  transitions->places[1].layout = "nchw16c";
  assert_true(byoc_transition_ns(transitions, 1e6, 0, 1) > call_ns);
  assert_int_equal(byoc_transitions_costs(transitions).device_count, 1); // nothing is copied
  close_setting(&s);
}

enum { DEVICE = 12 };

// What copies cost between the host and a device, by direction and bytes; and who reads what from around the block.
static void test_c9_copies_have_a_price(void **state) {
  (void)state;
  setting_t s;
  const byoc_device_costs_t device = {.base_ns = {10, 20}, .ns_per_byte = {1, 2}};
  const byoc_device_costs_t devices[] = {device, device, device};
  byoc_estimator_t estimator = machine;
  estimator.devices = devices;
  open_setting_on(&s, 4, 1, DEVICE, &estimator);
  const byoc_cover_costs_t costs = byoc_transitions_costs(&s.transitions);
  assert_int_equal(costs.device_count, 2);
  assert_int_equal(costs.device(costs.self, 0), 1);
  assert_int_equal(costs.device(costs.self, 1), BYOC_COVER_HOST);
  assert_int_equal(costs.device(costs.self, 2), BYOC_COVER_HOST);
  assert_true(byoc_transition_copy_ns(&s.transitions, 100, BYOC_COVER_HOST, 1) == 110);
  assert_true(byoc_transition_copy_ns(&s.transitions, 100, 1, BYOC_COVER_HOST) == 220);
  assert_true(costs.copy(costs.self, 0, 1, BYOC_COVER_HOST) == 20 + 2 * 4 * 512);
  assert_int_equal(costs.input_count, 1);
  assert_true(costs.inputs[0].reader_count >= 1);
  assert_true(costs.input_copy(costs.self, 0, 1) == 10 + 4 * 512);
  close_setting(&s);
}

// The nodes that a cheapest cover gives to the device.
static size_t nodes_on_device(uint32_t seed, double base_ns) {
  setting_t s;
  byoc_diag_t diag = {0};
  const byoc_device_costs_t device = {.base_ns = {base_ns, base_ns}};
  const byoc_device_costs_t devices[] = {device, device, device};
  byoc_estimator_t estimator = machine;
  estimator.devices = devices;
  open_setting_on(&s, 12, seed, DEVICE, &estimator);
  const byoc_problem_t *problem = &s.problems.items.data[0];
  for (size_t i = 0; i < problem->candidates.items.count; ++i) { // the device does everything in half the time
    byoc_candidate_t *candidate = problem->candidates.items.data[i];
    candidate->cost_ns = 100.0 * candidate->nodes.count / (candidate->target == 0 ? 2 : 1);
  }
  byoc_cover_t cover;
  const byoc_cover_costs_t costs = byoc_transitions_costs(&s.transitions);
  byoc_test_ok(byoc_cover_search(&problem->flow, problem->candidates.items.data, problem->candidates.items.count,
                                 &costs, NULL, byoc_allocator_system(), &diag, &cover),
               &diag);
  size_t count = 0;
  for (uint32_t i = 0; i < cover.count; ++i) {
    const byoc_candidate_t *candidate = problem->candidates.items.data[cover.chosen[i]];
    if (candidate->target == 0) count += candidate->nodes.count;
  }
  byoc_cover_deinit(&cover);
  close_setting(&s);
  return count;
}

static void test_c9_dear_copies_pull_regions_home(void **state) {
  (void)state;
  static const double prices[] = {0, 10, 30, 100, 300, 1000};
  size_t fewer = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < sizeof(prices) / sizeof(prices[0]); ++i) {
      const size_t count = nodes_on_device(seed, prices[i]);
      if (i == 0) assert_true(count > 0);
      if (count < before && i > 0) ++fewer;
      before = count;
    }
    assert_int_equal(before, 0); // a copy costs more than all nodes
  }
  assert_true(fewer > 20); // not all at once
}

// ---- placement ----

// What the libraries of the two backends take, and what a MiB is worth.
typedef struct made_sizes_t {
  double mib[2];
  double price;
} made_sizes_t;
static made_sizes_t sizes;
// What builds share; NULL: nothing.
static byoc_cost_database_t *kept;

static double size_mib(void *self, const byoc_target_t *target) {
  (void)self;
  assert_true(target->index < 2);
  return sizes.mib[target->index];
}

static byoc_graph_module_t *place_nodes(const made_t *made, uint32_t node_count, uint32_t seed, made_costs_t *costs,
                                        double budget_s, byoc_whole_pricer_t whole, byoc_placement_t *placement,
                                        byoc_plan_t *plan) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = make_graph(node_count, seed);
  byoc_placement_init(placement, byoc_allocator_system());
  byoc_plan_init(plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_targets(plan, "model", "collage", &made->list, &diag), &diag);
  placement->plan = plan;
  const byoc_collage_options_t options = {
      .targets = &made->list,
      .pricer = {.self = costs, .price = price, .look_up = look_up, .size_mib = size_mib},
      .estimator = &machine,
      .size_price = sizes.price,
      .whole = whole,
      .database = kept,
      .key = {.target = "all", .plugin = "all", .compiler = "none", .machine = "here", .thread_count = 1},
      .budget_s = budget_s,
      .spend_budget = true};
  byoc_test_ok(byoc_place_collage(module, &options, &diag, placement), &diag);
  return module;
}

static byoc_graph_module_t *place_timed(const made_t *made, uint32_t seed, made_costs_t *costs, double budget_s,
                                        byoc_whole_pricer_t whole, byoc_placement_t *placement, byoc_plan_t *plan) {
  return place_nodes(made, 14, seed, costs, budget_s, whole, placement, plan);
}

static byoc_graph_module_t *place(const made_t *made, uint32_t seed, made_costs_t *costs, double budget_s,
                                  byoc_placement_t *placement, byoc_plan_t *plan) {
  return place_timed(made, seed, costs, budget_s, (byoc_whole_pricer_t){0}, placement, plan);
}

static void test_c8_one_backend_is_never_worse_than_greedy(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    made_t made;
    make_targets(&made, 1);
    made_costs_t costs = {0};
    byoc_placement_t placement;
    byoc_plan_t plan;
    byoc_graph_module_t *module = place(&made, seed, &costs, 1e6, &placement, &plan);
    assert_int_equal(plan.blocks.count, 1);
    assert_true(plan.blocks.data[0].is_proven);
    assert_string_equal(plan.alternatives.data[0].name, "greedy");
    assert_true(plan.blocks.data[0].cost_ns <= plan.alternatives.data[0].sum_ns * (1 + 1e-9));
    byoc_plan_deinit(&plan);
    byoc_placement_deinit(&placement);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
}

// More backends never cost more, and what cannot be used is never chosen.
static void test_c3_more_backends_never_cost_more(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    double cost_ns[3];
    for (uint32_t backends = 1; backends <= 2; ++backends) {
      made_t made;
      make_targets(&made, backends);
      made_costs_t costs = {.has_faults = true};
      byoc_placement_t placement;
      byoc_plan_t plan;
      byoc_graph_module_t *module = place(&made, seed, &costs, 1e6, &placement, &plan);
      const byoc_plan_block_t *block = &plan.blocks.data[0];
      cost_ns[backends] = block->cost_ns;
      for (size_t i = 0; i < block->candidates.count; ++i) {
        assert_false(block->candidates.data[i].is_chosen && isinf(block->candidates.data[i].cost_ns));
      }
      for (size_t r = 0; backends == 2 && r < plan.alternatives.count; ++r) {
        assert_true(block->cost_ns <= plan.alternatives.data[r].sum_ns * (1 + 1e-9));
      }
      byoc_plan_deinit(&plan);
      byoc_placement_deinit(&placement);
      byoc_graph_module_destroy(module);
      release_targets(&made);
    }
    assert_true(cost_ns[2] <= cost_ns[1] * (1 + 1e-9));
  }
}

// ---- size ----

// All covers of a small graph, one by one.
typedef struct brute_t {
  setting_t setting;
  byoc_cover_costs_t costs;
  uint32_t chosen[16];
  double least_ns[4]; // of the covers that use no backend, the first, the second, both
} brute_t;

static void note_cover(brute_t *b, uint32_t count) {
  const byoc_problem_t *problem = &b->setting.problems.items.data[0];
  uint32_t ordered[16], used = 0;
  double cost_ns = 0, transition_ns = 0;
  byoc_diag_t diag = {0};
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t target = problem->candidates.items.data[b->chosen[i]]->target;
    if (target < 2) used |= UINT32_C(1) << target;
    ordered[i] = b->chosen[i];
  }
  if (byoc_cover_evaluate(&problem->flow, problem->candidates.items.data, ordered, count, &b->costs,
                          byoc_allocator_system(), &diag, &cost_ns, &transition_ns) != BYOC_OK) {
    return; // its regions wait for each other
  }
  if (cost_ns < b->least_ns[used]) b->least_ns[used] = cost_ns;
}

static void try_covers(brute_t *b, uint32_t covered, uint32_t count) {
  const byoc_problem_t *problem = &b->setting.problems.items.data[0];
  uint32_t first = 0;
  while (first < problem->flow.node_count && (covered >> first & 1) != 0) ++first;
  if (first == problem->flow.node_count) {
    note_cover(b, count);
    return;
  }
  for (uint32_t i = 0; i < problem->candidates.items.count; ++i) {
    const byoc_candidate_t *candidate = problem->candidates.items.data[i];
    uint32_t nodes = 0;
    for (uint32_t n = 0; n < candidate->nodes.count; ++n) nodes |= UINT32_C(1) << candidate->nodes.items[n];
    if ((nodes >> first & 1) == 0 || (nodes & covered) != 0 || isinf(candidate->cost_ns)) continue;
    b->chosen[count] = i;
    try_covers(b, covered | nodes, count + 1);
  }
}

// Finds the least costs by the backends that are used.
static void search_by_hand(brute_t *b, uint32_t node_count, uint32_t seed) {
  open_setting(&b->setting, node_count, seed);
  b->setting.costs.has_faults = false;
  byoc_problem_t *problem = &b->setting.problems.items.data[0];
  for (size_t i = 0; i < problem->candidates.items.count; ++i) {
    byoc_diag_t diag = {0};
    const uint32_t candidate = (uint32_t)i;
    byoc_test_ok(byoc_price_list_measure(&b->setting.prices, &candidate, 1, &diag), &diag);
  }
  byoc_price_list_set_costs(&b->setting.prices, BYOC_PRICE_KNOWN);
  b->costs = byoc_transitions_costs(&b->setting.transitions);
  for (size_t i = 0; i < 4; ++i) b->least_ns[i] = INFINITY;
  try_covers(b, 0, 0);
  close_setting(&b->setting);
}

// A backend of which no size is known counts as 40 MiB.
static double mib_by_hand(uint32_t used) {
  double mib = 0;
  for (uint32_t t = 0; t < 2; ++t) mib += (used >> t & 1) == 0 ? 0 : isnan(sizes.mib[t]) ? 40 : sizes.mib[t];
  return mib;
}

static uint32_t used_backends(const byoc_plan_t *plan) {
  uint32_t used = 0;
  for (size_t r = 0; r < plan->blocks.data[0].regions.count; ++r) {
    used |= UINT32_C(1) << plan->blocks.data[0].regions.data[r].target;
  }
  return used & 3;
}

// The plan costs least with what its backends bring, and the table of rivals has the fastest one if that is another.
static void test_size_is_part_of_the_cost(void **state) {
  (void)state;
  static const made_sizes_t rows[] = {{{0, 0}, 1},       {{40, 5}, 0},       {{40, 5}, 0.0005}, {{40, 5}, 0.002},
                                      {{5, 40}, 0.01},   {{12, 11}, 0.01},   {{0, 30}, 0.005},  {{1000, 1000}, 0.01},
                                      {{NAN, 5}, 0.002}, {{NAN, NAN}, 0.001}};
  enum { NODES = 6 };
  size_t replaced = 0, mixed = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    brute_t brute = {.least_ns = {0}};
    search_by_hand(&brute, NODES, seed);
    double fastest_ns = INFINITY;
    for (uint32_t used = 0; used < 4; ++used) {
      if (brute.least_ns[used] < fastest_ns) fastest_ns = brute.least_ns[used];
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
      sizes = rows[i];
      double least_ns = INFINITY;
      for (uint32_t used = 0; used < 4; ++used) {
        const double weighed_ns = brute.least_ns[used] + mib_by_hand(used) * sizes.price * fastest_ns;
        if (weighed_ns < least_ns) least_ns = weighed_ns;
      }
      made_t made;
      make_targets(&made, 2);
      made_costs_t costs = {0};
      byoc_placement_t placement;
      byoc_plan_t plan;
      byoc_graph_module_t *module =
          place_nodes(&made, NODES, seed, &costs, 1e6, (byoc_whole_pricer_t){0}, &placement, &plan);
      const byoc_plan_block_t *block = &plan.blocks.data[0];
      const uint32_t used = used_backends(&plan);
      const double own_ns = block->cost_ns + mib_by_hand(used) * sizes.price * fastest_ns;
      assert_true(fabs(own_ns - least_ns) <= 1e-6 * least_ns);
      const bool is_fastest = block->cost_ns <= fastest_ns * (1 + 1e-9);
      const byoc_plan_alternative_t *last = &plan.alternatives.data[plan.alternatives.count - 1];
      const bool has_faster = strcmp(last->name, "collage, of any size") == 0;
      assert_true(is_fastest || (has_faster && fabs(last->sum_ns - fastest_ns) <= 1e-6 * fastest_ns));
      assert_true(is_fastest || !block->is_proven);
      replaced += !is_fastest;
      mixed += used == 3;
      byoc_plan_deinit(&plan);
      byoc_placement_deinit(&placement);
      byoc_graph_module_destroy(module);
      release_targets(&made);
    }
  }
  sizes = (made_sizes_t){{0}};
  print_message("%zu plans won by size, %zu use both backends\n", replaced, mixed);
  assert_true(replaced > 20 && mixed > 4);
}

// ---- whole plans ----

// What was found comes first, greedy placement behind it.
typedef struct contest_t {
  double found_ns, greedy_ns, error;
  double found_mib, greedy_mib;
  bool has_native; // the native target may compete, because a plan has a device
  int64_t budget_ns;
  size_t calls;
} contest_t;

static byoc_status_t
price_whole(void *self, size_t count,
            byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag),
            void *context, int64_t budget_ns, byoc_diag_t *diag, double *out_ns, double *out_mib, double *out_error) {
  (void)apply;
  (void)context;
  (void)diag;
  contest_t *contest = self;
  assert_true(count == 2 || (count == 3 && contest->has_native)); // that of the native target is as long as greedy
  contest->budget_ns = budget_ns;
  contest->calls += 1;
  for (size_t i = 0; i < count; ++i) {
    out_ns[i] = i == 0 ? contest->found_ns : contest->greedy_ns;
    out_mib[i] = i == 0 ? contest->found_mib : contest->greedy_mib;
  }
  *out_error = contest->error;
  return BYOC_OK;
}

// Among equally good plans the smallest wins, and greedy placement if they are of one size; if nothing could be timed,
// what was found wins. Noise widens the margin, but to a twentieth at most, and not for sizes.
static void test_c8_the_contest_has_a_margin(void **state) {
  (void)state;
  static const struct {
    double found_ns, greedy_ns, error;
    bool is_greedy;
    double found_mib, greedy_mib; // a MiB is worth a thousandth
  } rows[] = {
      {100000, 100500, 0, true, 1, 1},     {90000, 100500, 0, false, 1, 1},    {110000, 100500, 0, true, 1, 1},
      {NAN, NAN, 0, false, 1, 1},          {100000, NAN, 0, false, 1, 1},      {NAN, 100500, 0, true, 1, 1},
      {100000, 103000, 0, false, 1, 1},    {100000, 103000, 0.03, true, 1, 1}, {100000, 103000, 0.01, false, 1, 1},
      {100000, 106000, 0.20, false, 1, 1}, {100000, 103000, 0, true, 41, 1},   {100000, 100500, 0, false, 1, 41},
      {100000, 103000, 0, false, NAN, 1},  {100000, 130000, 0, false, 41, 1},  {100000, 100000, 0, false, 1, 6},
      {100000, 99000, 0.04, false, 1, 11}, {100000, 100000, 0, true, 1.5, 2},  {100000, 98000, 0, true, 1, 11},
      {100000, 100000, 0.04, true, 11, 1}};
  sizes.price = 0.001;
  size_t calls = 0;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
      made_t made;
      make_targets(&made, 1);
      made_costs_t costs = {.scale = 1000};
      contest_t contest = {.found_ns = rows[i].found_ns,
                           .greedy_ns = rows[i].greedy_ns,
                           .error = rows[i].error,
                           .found_mib = rows[i].found_mib,
                           .greedy_mib = rows[i].greedy_mib};
      const byoc_whole_pricer_t whole = {.self = &contest, .price = price_whole};
      byoc_placement_t placement;
      byoc_plan_t plan;
      byoc_graph_module_t *module = place_timed(&made, seed, &costs, 1000, whole, &placement, &plan);
      if (contest.calls > 0) { // where greedy placement finds the same there is no contest
        double expected_ns = rows[i].is_greedy ? rows[i].greedy_ns : rows[i].found_ns;
        assert_true(isnan(expected_ns) ? isnan(plan.whole_ns) : plan.whole_ns == expected_ns);
        assert_true(contest.budget_ns >= (int64_t)400e9); // its share, and what the parts left
        assert_true(contest.budget_ns <= (int64_t)1000e9);
      }
      calls += contest.calls;
      byoc_plan_deinit(&plan);
      byoc_placement_deinit(&placement);
      byoc_graph_module_destroy(module);
      release_targets(&made);
    }
  }
  sizes.price = 0;
  assert_true(calls > 0);
}

static byoc_status_t
price_three(void *self, size_t count,
            byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag),
            void *context, int64_t budget_ns, byoc_diag_t *diag, double *out_ns, double *out_mib, double *out_error) {
  (void)apply, (void)context, (void)budget_ns, (void)diag, (void)out_error;
  *(size_t *)self = count;
  for (size_t i = 0; i < count; ++i) {
    out_ns[i] = i < 2 ? 100000 : 130000; // what was found, the fastest, greedy placement
    out_mib[i] = 1;
  }
  return BYOC_OK;
}

// If the plan that was found for its size is as good as the fastest one, it stays.
static void test_the_fastest_comes_behind_the_smallest(void **state) {
  (void)state;
  sizes = (made_sizes_t){{1000}, 0.01};
  size_t contests = 0;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    made_t made;
    make_targets(&made, 1);
    made_costs_t costs = {.scale = 1000};
    size_t count = 0;
    const byoc_whole_pricer_t whole = {.self = &count, .price = price_three};
    byoc_placement_t placement;
    byoc_plan_t plan;
    byoc_graph_module_t *module = place_timed(&made, seed, &costs, 1000, whole, &placement, &plan);
    if (count == 3) assert_int_equal(used_backends(&plan) & 1, 0);
    contests += count == 3;
    byoc_plan_deinit(&plan);
    byoc_placement_deinit(&placement);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
  sizes = (made_sizes_t){{0}};
  assert_true(contests > 2);
}

// A contest whose sizes are not known is held again as soon as there is more time.
static void test_a_contest_without_sizes_is_not_known(void **state) {
  (void)state;
  static const struct {
    double mib, budget_s;
    bool is_held;
  } builds[] = {{NAN, 1000, true}, {1, 1000, false}, {1, 2000, true}, {1, 3000, false}};
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), path[600];
  snprintf(path, sizeof(path), "%s/sizes.sqlite", folder);
  byoc_test_ok(byoc_cost_database_open(path, byoc_allocator_system(), &diag, &kept), &diag);
  size_t calls = 0;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    size_t first = 0;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); ++i) {
      const double mib = builds[i].mib;
      made_t made;
      make_targets(&made, 1);
      made_costs_t costs = {.scale = 1000};
      contest_t contest = {.found_ns = 100000, .greedy_ns = 110000, .found_mib = mib, .greedy_mib = mib};
      const byoc_whole_pricer_t whole = {.self = &contest, .price = price_whole};
      byoc_placement_t placement;
      byoc_plan_t plan;
      byoc_graph_module_t *module = place_timed(&made, seed, &costs, builds[i].budget_s, whole, &placement, &plan);
      if (i == 0) first = contest.calls;
      assert_int_equal(contest.calls, builds[i].is_held ? first : 0);
      calls += contest.calls;
      byoc_plan_deinit(&plan);
      byoc_placement_deinit(&placement);
      byoc_graph_module_destroy(module);
      release_targets(&made);
    }
  }
  byoc_cost_database_close(kept);
  kept = NULL;
  free(folder);
  assert_true(calls > 0);
}

// What whole models took on a device is not known of another one, whose figures differ.
static void test_c5_whole_plans_are_timed_on_each_device(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), path[600];
  byoc_cost_database_t *database = NULL;
  snprintf(path, sizeof(path), "%s/costs.sqlite", folder);
  byoc_test_ok(byoc_cost_database_open(path, byoc_allocator_system(), &diag, &database), &diag);
  const byoc_device_costs_t one = {.command_ns = 1}, other = {.command_ns = 2};
  const byoc_device_costs_t figures[3][2] = {{one, one}, {one, one}, {other, other}};
  size_t calls[3] = {0};
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    for (int build = 0; build < 3; ++build) {
      made_t made;
      make_targets(&made, 1);
      made.backends[0].device_type = DEVICE;
      made_costs_t costs = {.scale = 1000};
      contest_t contest = {.found_ns = 100000, .greedy_ns = 110000, .has_native = true};
      byoc_estimator_t estimator = machine;
      estimator.devices = figures[build];
      const byoc_collage_options_t options = {
          .targets = &made.list,
          .pricer = {.self = &costs, .price = price, .look_up = look_up},
          .estimator = &estimator,
          .whole = {.self = &contest, .price = price_whole},
          .database = database,
          .key = {.target = "all", .plugin = "all", .compiler = "none", .machine = "here", .thread_count = 1},
          .budget_s = 1000,
          .spend_budget = true};
      byoc_placement_t placement;
      byoc_placement_init(&placement, byoc_allocator_system());
      byoc_graph_module_t *module = make_graph(14, seed);
      byoc_test_ok(byoc_place_collage(module, &options, &diag, &placement), &diag);
      calls[build] += contest.calls;
      byoc_placement_deinit(&placement);
      byoc_graph_module_destroy(module);
      release_targets(&made);
    }
  }
  byoc_cost_database_close(database);
  free(folder);
  assert_true(calls[0] > 0);
  assert_int_equal(calls[1], 0);
  assert_int_equal(calls[2], calls[0]);
}

// ---- replay ----

static char *print(const byoc_graph_module_t *module) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_graph_print(module, NULL, &text);
  assert_false(text.failed);
  return text.data;
}

static void test_c10_a_saved_plan_is_replayed(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  made_t made;
  make_targets(&made, 2);
  made_costs_t costs = {0};
  byoc_placement_t placement;
  byoc_plan_t plan;
  byoc_graph_module_t *module = place(&made, 7, &costs, 1e6, &placement, &plan);
  char *folder = byoc_test_folder(), *expected = print(module);
  char *path = byoc_path_join(byoc_allocator_system(), folder, "plan.json");
  byoc_test_ok(byoc_plan_write(&plan, path, &diag), &diag);
  byoc_placement_deinit(&placement);
  byoc_graph_module_destroy(module);

  byoc_graph_module_t *again = make_graph(14, 7);
  byoc_placement_init(&placement, byoc_allocator_system());
  byoc_test_ok(byoc_place_replay(again, &made.list, path, &diag, &placement), &diag);
  char *actual = print(again);
  byoc_test_same_text(actual, expected);
  byoc_placement_deinit(&placement);
  byoc_graph_module_destroy(again);

  // Another model, a target that is missing, a region that is no candidate: each is refused, and nothing is placed.
  byoc_graph_module_t *other = make_graph(14, 8);
  byoc_placement_init(&placement, byoc_allocator_system());
  assert_int_equal(byoc_place_replay(other, &made.list, path, &diag, &placement), BYOC_INVALID_DATA);
  assert_non_null(strstr(diag.message, "is not a plan of this model: its block 'main' has other nodes"));
  byoc_diag_clear(&diag);
  byoc_graph_module_destroy(other);

  made_t fewer;
  make_targets(&fewer, 1);
  again = make_graph(14, 7);
  byoc_status_t status = byoc_place_replay(again, &fewer.list, path, &diag, &placement);
  bool needs_second = false;
  for (size_t r = 0; r < plan.blocks.data[0].regions.count; ++r) {
    needs_second = needs_second || plan.blocks.data[0].regions.data[r].target == 1;
  }
  assert_int_equal(status, needs_second ? BYOC_INVALID_DATA : BYOC_OK);
  if (needs_second) assert_non_null(strstr(diag.message, "is placed on 'second', which is not among the targets"));
  byoc_diag_clear(&diag);
  byoc_graph_module_destroy(again);
  release_targets(&fewer);

  assert_true(plan.blocks.data[0].regions.count > 0);
  uint32_t all[14];
  for (uint32_t i = 0; i < 14; ++i) all[i] = i;
  plan.blocks.data[0].regions.count = 1;
  plan.blocks.data[0].regions.data[0] = (byoc_plan_region_t){
      .target = 0, .candidate = UINT32_MAX, .rule = "first.any", .nodes = all, .node_count = 14, .cost_ns = NAN};
  byoc_test_ok(byoc_plan_write(&plan, path, &diag), &diag);
  again = make_graph(14, 7);
  assert_int_equal(byoc_place_replay(again, &made.list, path, &diag, &placement), BYOC_INVALID_DATA);
  assert_non_null(strstr(diag.message, "region 0 of 'main' (first.any, nodes 0 to 13) cannot be a region of 'first'"));
  assert_int_equal(again->functions.count, 1);
  byoc_graph_module_destroy(again);

  byoc_placement_deinit(&placement);
  byoc_plan_deinit(&plan);
  release_targets(&made);
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  free(path);
  free(expected);
  free(actual);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c3_c7_lazy_search_keeps_the_optimum),
      cmocka_unit_test(test_c7_a_budget_leaves_a_bound),
      cmocka_unit_test(test_c9_transitions_have_a_price),
      cmocka_unit_test(test_c9_copies_have_a_price),
      cmocka_unit_test(test_c9_dear_copies_pull_regions_home),
      cmocka_unit_test(test_c8_one_backend_is_never_worse_than_greedy),
      cmocka_unit_test(test_c3_more_backends_never_cost_more),
      cmocka_unit_test(test_size_is_part_of_the_cost),
      cmocka_unit_test(test_c8_the_contest_has_a_margin),
      cmocka_unit_test(test_the_fastest_comes_behind_the_smallest),
      cmocka_unit_test(test_a_contest_without_sizes_is_not_known),
      cmocka_unit_test(test_c5_whole_plans_are_timed_on_each_device),
      cmocka_unit_test(test_c10_a_saved_plan_is_replayed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
