// SPDX-License-Identifier: Apache-2.0
// Costs that a backend states, beside those of another one and of the native target, which are measured. Rows A27, C3,
// C9 and C12.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/hash.h"
#include "core/collage/cost_key.h"
#include "core/collage/lazy_search.h"
#include "core/collage/rules.h"
#include "core/collage/transition.h"
#include "core/ir/module_text.h"
#include "core/plugin/host.h"
#include "tests/support/support.h"
#include "tests/unit/collage/made_targets.h"

enum { MOST_NODES = 10 };
#define CYCLES_A_NODE  7.0
#define CYCLES_A_CALL  20.0
#define VALUE_BYTES    (512 * 4.0)
#define ENTER_NS       15.0
#define LEAVE_NS       9.0
#define ENTER_NS_BYTE  0.01
#define NODE_OPERATORS "Relu", "Neg", "Abs", "Add"

// ---- the backend that states ----

// Shared with the child processes in which hooks run.
typedef struct seen_t {
  uint32_t questions, functions;
} seen_t;

typedef struct chip_t {
  double clock_ghz;
  uint32_t least_operators;
  double least_operations;
  bool has_boundary;
  bool crashes;       // in state_costs
  uint32_t lies_from; // functions of so many operators have a negative time; 0: none
  seen_t *seen;
} chip_t;

static double stated_ns(const chip_t *chip, uint32_t operators) {
  return (CYCLES_A_CALL + CYCLES_A_NODE * operators) / chip->clock_ghz;
}

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  const chip_t *chip = self;
  if (chip->crashes) abort();
  chip->seen->questions += 1;
  chip->seen->functions += query->function_count;
  for (uint32_t i = 0; i < query->function_count; ++i) {
    const uint32_t count = (uint32_t)byoc_host_graph_api()->node_count(query->functions[i]);
    const double sign = chip->lies_from > 0 && count >= chip->lies_from ? -1 : 1;
    const byoc_stated_cost_t cost = {.header = BYOC_HEADER(byoc_stated_cost_t, 1),
                                     .stated = BYOC_STATED_TIME | BYOC_STATED_ENERGY,
                                     .time_ns = sign * stated_ns(chip, count),
                                     .energy_nj = count};
    const int32_t status = query->state(query, i, &cost);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static int32_t state_target_costs(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs) {
  const chip_t *chip = self;
  (void)target;
  out_costs->least_operators = chip->least_operators;
  out_costs->least_operations = chip->least_operations;
  if (!chip->has_boundary) return BYOC_OK;
  out_costs->stated = BYOC_STATED_BOUNDARY;
  out_costs->enter_ns = ENTER_NS;
  out_costs->enter_ns_per_byte = ENTER_NS_BYTE;
  out_costs->leave_ns = LEAVE_NS;
  return BYOC_OK;
}

// ---- the others, which are measured ----

static const byoc_estimator_t machine = {.calibration = {.flops_per_ns = 64, .bytes_per_ns = 10}, .thread_count = 1};

typedef struct made_costs_t {
  uint32_t measured;
  bool asked_for_chip;
} made_costs_t;

static double true_cost(const byoc_function_t *function, const byoc_target_t *target) {
  const uint64_t hash = byoc_hash_combine(byoc_cost_function_hash(function), byoc_hash_string(target->text));
  return byoc_bound_ns(&machine, function, target) * (1 + (double)(hash % 97) / 4) + (double)(hash % 53);
}

static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  made_costs_t *costs = self;
  (void)diag;
  costs->measured += 1;
  costs->asked_for_chip = costs->asked_for_chip || target->index == 0;
  *out_ns = true_cost(function, target);
  *out_reason = NULL;
  return BYOC_OK;
}

static byoc_status_t look_up(void *self, const byoc_function_t *function, const byoc_target_t *target,
                             byoc_arena_t *arena, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  (void)self;
  *out_price = (byoc_known_price_t){.cost_ns = NAN};
  out_price->id = byoc_arena_format(arena, "%u %llx", (unsigned)target->index,
                                    (unsigned long long)byoc_cost_function_hash(function));
  return out_price->id != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- a setting ----

typedef struct setting_t {
  made_targets_t made;
  byoc_graph_module_t *module;
  byoc_problems_t problems;
  byoc_stated_costs_t stated;
  byoc_price_list_t prices;
  byoc_transitions_t transitions;
  made_costs_t costs;
  bool boundaries[3];
  byoc_device_costs_t devices[3];
  byoc_estimator_t estimator;
} setting_t;

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// Unary operators and additions of near values, all of one shape.
static byoc_graph_module_t *make_graph(uint32_t node_count, uint32_t seed) {
  static const char *const operators[] = {"Relu@14", "Exp@13", "Neg@13", "Abs@13"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  func @main(%v0 : f32[512]) -> (%y : f32[512]) {\n");
  for (uint32_t n = 1; n <= node_count; ++n) {
    const uint32_t near = n > 3 ? n - 3 : 0, kind = next_random(&seed) % 6;
    const uint32_t a = near + next_random(&seed) % (n - near), b = near + next_random(&seed) % (n - near);
    byoc_string_appendf(&text, n == node_count ? "    %%y = " : "    %%v%u = ", n);
    if (kind >= 4) {
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

// "first" is the chip, and "second" computes single operators.
static void open_setting(setting_t *s, chip_t *chip, uint32_t node_count, uint32_t seed) {
  static const char *const operators[] = {NODE_OPERATORS};
  static const byoc_rule_t first[] = {{.name = "first.any", .operators = {operators, 4}}};
  static const byoc_rule_t second[] = {{.name = "second.one", .pattern = "{Relu|Exp}(%x)"}};
  byoc_diag_t diag = {0};
  const byoc_allocator_t system = byoc_allocator_system();
  *s = (setting_t){0};
  make_targets(&s->made, first, 1, second, 1);
  s->made.kinds[0].plugin_name = s->made.kinds[0].plugin_version = "made up";
  s->made.backends[0].self = chip;
  s->made.backends[0].state_costs = state_costs;
  s->made.backends[0].state_target_costs = state_target_costs;
  s->module = make_graph(node_count, seed);
  byoc_test_ok(byoc_stated_init(&s->stated, &s->made.list, 1, system, &diag), &diag);
  byoc_test_ok(byoc_problems_find(s->module, system, &diag, &s->problems), &diag);
  byoc_problem_t *problem = &s->problems.items.data[0];
  byoc_test_ok(byoc_candidates_collect(&problem->candidates, &problem->flow, &s->made.list, NULL, &diag), &diag);
  const byoc_function_pricer_t pricer = {.self = &s->costs, .price = price, .look_up = look_up, .stated = &s->stated};
  s->estimator = machine;
  s->estimator.devices = s->devices;
  s->estimator.boundaries = s->boundaries;
  const byoc_device_costs_t *boundary = byoc_stated_boundary(&s->stated, 0);
  s->boundaries[0] = boundary != NULL;
  if (boundary != NULL) s->devices[0] = *boundary;
  byoc_test_ok(byoc_price_list_init(&s->prices, problem, &s->made.list, pricer, &s->estimator, &diag), &diag);
  byoc_test_ok(byoc_transitions_init(&s->transitions, &problem->flow, &s->made.list, &s->estimator, system, &diag),
               &diag);
}

static void close_setting(setting_t *s) {
  byoc_transitions_deinit(&s->transitions);
  byoc_price_list_deinit(&s->prices);
  byoc_problems_deinit(&s->problems);
  byoc_stated_deinit(&s->stated);
  byoc_graph_module_destroy(s->module);
  release_targets(&s->made);
}

static const byoc_candidate_t *candidate_at(const setting_t *s, size_t i) {
  return s->problems.items.data[0].candidates.items.data[i];
}

static const byoc_price_t *price_of(const setting_t *s, size_t i) {
  return &s->prices.prices.data[s->prices.price_of[i]];
}

static size_t candidate_count(const setting_t *s) {
  return s->problems.items.data[0].candidates.items.count;
}

static seen_t *share_seen(void) {
  seen_t *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(seen != MAP_FAILED);
  return seen;
}

// ---- brute force ----

// Every cover, each with its cost by the definition of the figures: no code of the search's is used.
typedef struct force_t {
  const setting_t *s;
  const chip_t *chip;
  uint32_t chosen[MOST_NODES], count;
  double best;
} force_t;

static double own_cost(const force_t *f, uint32_t i) {
  const byoc_candidate_t *candidate = candidate_at(f->s, i);
  return candidate->target == 0 ? stated_ns(f->chip, candidate->nodes.count) : candidate->cost_ns;
}

// Enters and leaves: each value once, whatever the number of regions that read it.
static double boundary_cost(const force_t *f) {
  const byoc_dataflow_t *flow = &f->s->problems.items.data[0].flow;
  bool is_on_chip[MOST_NODES] = {false};
  double ns = 0;
  for (uint32_t k = 0; k < f->count; ++k) {
    const byoc_candidate_t *candidate = candidate_at(f->s, f->chosen[k]);
    for (uint32_t n = 0; n < candidate->nodes.count; ++n) {
      is_on_chip[candidate->nodes.items[n]] = candidate->target == 0;
    }
  }
  bool is_entered = false; // by the input
  for (uint32_t n = 0; n < flow->node_count; ++n) {
    bool enters = false, leaves = flow->is_result[n];
    for (uint32_t e = flow->successor_offsets[n]; e < flow->successor_offsets[n + 1]; ++e) {
      enters = enters || is_on_chip[flow->successors[e]];
      leaves = leaves || !is_on_chip[flow->successors[e]];
    }
    if (is_on_chip[n] && leaves) ns += LEAVE_NS;
    if (!is_on_chip[n] && enters) ns += ENTER_NS + ENTER_NS_BYTE * VALUE_BYTES;
    for (uint32_t i = 0; i < flow->nodes[n]->operand_count; ++i) {
      is_entered = is_entered || (is_on_chip[n] && flow->nodes[n]->operands[i]->kind == BYOC_VALUE_PARAMETER);
    }
  }
  return ns + (is_entered ? ENTER_NS + ENTER_NS_BYTE * VALUE_BYTES : 0);
}

static bool can_run(const force_t *f) {
  const byoc_problem_t *problem = &f->s->problems.items.data[0];
  uint32_t order[MOST_NODES];
  byoc_diag_t diag = {0};
  double cost_ns = 0, transition_ns = 0;
  memcpy(order, f->chosen, sizeof(order));
  return byoc_cover_evaluate(&problem->flow, problem->candidates.items.data, order, f->count, NULL,
                             byoc_allocator_system(), &diag, &cost_ns, &transition_ns) == BYOC_OK;
}

static void try_all(force_t *f, uint32_t taken, double cost_ns) {
  const uint32_t node_count = f->s->problems.items.data[0].flow.node_count;
  uint32_t first = 0;
  if (!(cost_ns < f->best)) return;
  while (first < node_count && (taken >> first & 1) != 0) ++first;
  if (first == node_count) {
    const double whole_ns = cost_ns + (f->chip->has_boundary ? boundary_cost(f) : 0);
    if (whole_ns < f->best && can_run(f)) f->best = whole_ns;
    return;
  }
  for (uint32_t i = 0; i < candidate_count(f->s); ++i) {
    const byoc_candidate_t *candidate = candidate_at(f->s, i);
    uint32_t mask = 0;
    for (uint32_t k = 0; k < candidate->nodes.count; ++k) mask |= UINT32_C(1) << candidate->nodes.items[k];
    const bool is_small = candidate->target == 0 && candidate->nodes.count < f->chip->least_operators;
    if ((mask >> first & 1) == 0 || (mask & taken) != 0 || is_small) continue;
    f->chosen[f->count++] = i;
    try_all(f, taken | mask, cost_ns + own_cost(f, i));
    f->count -= 1;
  }
}

// Searches lazily, then measures what is left and compares with brute force. Returns the nodes on the chip.
static size_t search_and_compare(setting_t *s, const chip_t *chip) {
  byoc_diag_t diag = {0};
  byoc_measuring_t measuring = {.budget_ns = INT64_MAX / 2};
  byoc_lazy_cover_t cover;
  const byoc_cover_costs_t costs = byoc_transitions_costs(&s->transitions);
  byoc_test_ok(byoc_lazy_search(&s->prices, &costs, &measuring, &diag, &cover), &diag);
  assert_true(cover.is_proven && cover.is_measured);
  assert_false(s->costs.asked_for_chip);
  size_t count = 0;
  for (size_t i = 0; i < cover.choice.count; ++i) {
    const byoc_candidate_t *candidate = candidate_at(s, cover.choice.data[i]);
    if (candidate->target == 0) count += candidate->nodes.count;
  }
  for (uint32_t i = 0; i < candidate_count(s); ++i) {
    byoc_test_ok(byoc_price_list_measure(&s->prices, &i, 1, &diag), &diag);
  }
  byoc_price_list_set_costs(&s->prices, BYOC_PRICE_KNOWN);
  force_t force = {.s = s, .chip = chip, .best = INFINITY};
  try_all(&force, 0, 0);
  if (!(fabs(force.best - cover.cost_ns) <= 1e-9 * force.best)) {
    fail_msg("the search found %g, brute force %g", cover.cost_ns, force.best);
  }
  byoc_lazy_cover_deinit(&cover, byoc_allocator_system());
  return count;
}

static size_t compare_graphs(chip_t *chip) {
  size_t count = 0;
  for (uint32_t seed = 1; seed <= 25; ++seed) {
    setting_t s;
    open_setting(&s, chip, 3 + seed % (MOST_NODES - 2), seed);
    count += search_and_compare(&s, chip);
    close_setting(&s);
  }
  return count;
}

static void test_c3_plans_of_stated_and_measured_costs_equal_brute_force(void **state) {
  (void)state;
  chip_t chip = {.seen = share_seen()};
  static const double clocks_ghz[] = {20, 1, 0.01};
  size_t before = SIZE_MAX;
  for (size_t i = 0; i < sizeof(clocks_ghz) / sizeof(clocks_ghz[0]); ++i) {
    chip.clock_ghz = clocks_ghz[i];
    const size_t count = compare_graphs(&chip);
    assert_true(count < before); // a slower chip gets less
    before = count;
  }
  assert_int_equal(before, 0);
}

static void test_c9_stated_boundaries_count_as_brute_force_counts_them(void **state) {
  (void)state;
  chip_t chip = {.clock_ghz = 10, .seen = share_seen()};
  const size_t without = compare_graphs(&chip);
  chip.has_boundary = true;
  const size_t with = compare_graphs(&chip);
  assert_true(with > 0 && with < without);
}

// One for each element that is read.
static uint32_t count_operations(const setting_t *s, const byoc_candidate_t *candidate) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < candidate->nodes.count; ++n) {
    count += 512 * s->problems.items.data[0].flow.nodes[candidate->nodes.items[n]]->operand_count;
  }
  return count;
}

static void test_a27_regions_below_the_least_size_are_not_used(void **state) {
  (void)state;
  chip_t chip = {.clock_ghz = 1000, .least_operators = 3, .seen = share_seen()};
  assert_true(compare_graphs(&chip) > 0);
  chip = (chip_t){.clock_ghz = 1000, .least_operations = 1024, .seen = chip.seen};
  setting_t s;
  open_setting(&s, &chip, 8, 1);
  for (size_t i = 0; i < candidate_count(&s); ++i) {
    const byoc_price_t *price = price_of(&s, i);
    if (price->target != 0) continue;
    assert_true(isinf(price->cost_ns) == (count_operations(&s, candidate_at(&s, i)) < 1024));
    if (isinf(price->cost_ns)) assert_non_null(strstr(price->reason, "fewer than 1024 operations"));
  }
  close_setting(&s);
}

// ---- questions ----

static void one_question_asks_for_many_functions_each_once(void **state) {
  (void)state;
  chip_t chip = {.clock_ghz = 1, .seen = share_seen()};
  setting_t s;
  open_setting(&s, &chip, 40, 3);
  size_t kinds = 0, candidates = 0;
  for (size_t i = 0; i < candidate_count(&s); ++i) candidates += candidate_at(&s, i)->target == 0;
  for (size_t i = 0; i < s.prices.prices.count; ++i) {
    const byoc_price_t *price = &s.prices.prices.data[i];
    kinds += price->target == 0;
    if (price->target != 0) continue;
    assert_int_equal(price->source, BYOC_COST_SOURCE_STATED);
    assert_true(price->energy_nj >= 1 && price->moved_bytes == 0);
  }
  assert_int_equal(chip.seen->functions, kinds);
  assert_true(kinds < candidates && chip.seen->questions <= kinds / 64 + 1);
  close_setting(&s);
}

// ---- hooks that fail ----

static void a_hook_that_fails_first_leaves_its_target_to_be_measured(void **state) {
  (void)state;
  const chip_t chips[] = {{.clock_ghz = 1, .crashes = true}, {.clock_ghz = 1, .lies_from = 1}};
  for (size_t c = 0; c < sizeof(chips) / sizeof(chips[0]); ++c) {
    chip_t chip = chips[c];
    chip.seen = share_seen();
    setting_t s;
    open_setting(&s, &chip, 8, 2);
    assert_false(byoc_stated_answers(&s.stated, 0));
    for (size_t i = 0; i < candidate_count(&s); ++i) assert_true(isnan(price_of(&s, i)->cost_ns));
    close_setting(&s);
  }
}

// A later block of the model makes the hook fail: the costs of the earlier one are dropped, too.
static void costs_are_dropped_once_the_hook_fails(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  chip_t chip = {.clock_ghz = 1, .seen = share_seen()};
  setting_t s;
  open_setting(&s, &chip, 8, 2);
  size_t stated = 0;
  for (size_t i = 0; i < candidate_count(&s); ++i) stated += price_of(&s, i)->source == BYOC_COST_SOURCE_STATED;
  assert_true(stated > 0);
  s.stated.rows[0].answers = false;
  byoc_test_ok(byoc_price_list_drop_stated(&s.prices, &diag), &diag);
  for (size_t i = 0; i < candidate_count(&s); ++i) assert_true(isnan(price_of(&s, i)->cost_ns));
  close_setting(&s);
}

// Once costs are in use, candidates without one cannot be used, and the others keep theirs.
static void a_hook_that_fails_late_gets_no_further_regions(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  chip_t chip = {.clock_ghz = 1, .seen = share_seen()};
  setting_t s;
  open_setting(&s, &chip, 3, 2);
  byoc_problem_t *problem = &s.problems.items.data[0];
  const size_t before = candidate_count(&s);
  byoc_stated_seal(&s.stated);
  chip.crashes = true;
  // Another candidate, of a place of its own.
  byoc_candidate_t more = {.rule = "first.more", .nodes = problem->candidates.items.data[0]->nodes, .place = 1};
  more.composite = "first.more";
  byoc_candidate_t *made = NULL;
  byoc_test_ok(byoc_candidates_add(&problem->candidates, &more, &diag, &made), &diag);
  byoc_test_ok(byoc_price_list_extend(&s.prices, &diag), &diag);
  assert_int_equal(candidate_count(&s), before + 1);
  assert_true(isinf(price_of(&s, before)->cost_ns));
  assert_non_null(strstr(price_of(&s, before)->reason, "its cost is not known: it crashed"));
  for (size_t i = 0; i < before; ++i) {
    if (candidate_at(&s, i)->target == 0) assert_true(isfinite(price_of(&s, i)->cost_ns));
  }
  close_setting(&s);
}

// ---- memory ----

static byoc_status_t price_once(void *argument, byoc_allocator_t allocator) {
  const setting_t *s = argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = make_graph(3, 2); // of the system's memory: it does not run out here
  byoc_problem_t problem = {.function = byoc_graph_module_main(module)};
  byoc_stated_costs_t stated = {0};
  byoc_price_list_t prices;
  byoc_status_t status = byoc_stated_init(&stated, &s->made.list, 1, allocator, &diag);
  if (status == BYOC_OK) status = byoc_dataflow_init(&problem.flow, problem.function->body, allocator, &diag);
  if (status == BYOC_OK) {
    byoc_candidates_init(&problem.candidates, allocator);
    status = byoc_candidates_collect(&problem.candidates, &problem.flow, &s->made.list, NULL, &diag);
    const byoc_function_pricer_t pricer = {.price = price, .look_up = look_up, .stated = &stated};
    if (status == BYOC_OK) {
      status = byoc_price_list_init(&prices, &problem, &s->made.list, pricer, &machine, &diag);
      if (status == BYOC_OK) byoc_price_list_deinit(&prices);
    }
    byoc_candidates_deinit(&problem.candidates);
    byoc_dataflow_deinit(&problem.flow);
  }
  byoc_stated_deinit(&stated);
  byoc_graph_module_destroy(module);
  return status;
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  chip_t chip = {.clock_ghz = 1, .least_operators = 2, .seen = share_seen()};
  setting_t s;
  open_setting(&s, &chip, 3, 2);
  byoc_test_each_allocation_fails(price_once, &s, false);
  close_setting(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c3_plans_of_stated_and_measured_costs_equal_brute_force),
      cmocka_unit_test(test_c9_stated_boundaries_count_as_brute_force_counts_them),
      cmocka_unit_test(test_a27_regions_below_the_least_size_are_not_used),
      cmocka_unit_test(one_question_asks_for_many_functions_each_once),
      cmocka_unit_test(a_hook_that_fails_first_leaves_its_target_to_be_measured),
      cmocka_unit_test(costs_are_dropped_once_the_hook_fails),
      cmocka_unit_test(a_hook_that_fails_late_gets_no_further_regions),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
