// SPDX-License-Identifier: Apache-2.0
// Placing within an error budget, with stated costs and errors. Row C13.
#include <stdio.h>
#include <stdlib.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/collage/cost_key.h"
#include "core/collage/place_collage.h"
#include "core/collage/plan_json.h"
#include "core/collage/replay.h"
#include "core/ir/attribute_names.h"
#include "core/ir/module_text.h"
#include "tests/support/support.h"

enum { MAX_NODES = 10, TARGETS = 3, EXACT = 0, ROUGH = 1, NATIVE = 2, SAMPLES = 4 };

// ---- targets: one backend in two precisions, and "c" ----

typedef struct made_t {
  byoc_backend_t backend;
  byoc_target_kind_t kinds[2];
  byoc_target_t targets[TARGETS];
  byoc_target_list_t list;
} made_t;

static double relative_error(void *self, const byoc_target_t *target) {
  (void)self;
  return target->index == ROUGH ? 0.1 : 0;
}

static void make_targets(made_t *made) {
  static const byoc_rule_t rules[] = {
      {.name = "chip.any", .pattern = "{Relu|Exp|Neg|Abs|Sqrt|Tanh|Erf|Sigmoid|Floor|Ceil}(%x)"}};
  static const char *const texts[] = {"chip -precision=f32", "chip -precision=f16", "c"};
  *made = (made_t){.backend = {.target = "chip",
                               .rules = rules,
                               .rule_count = 1,
                               .rule_stride = sizeof(byoc_rule_t),
                               .relative_error = relative_error}};
  byoc_arena_init(&made->list.arena, byoc_allocator_system());
  made->kinds[0] =
      (byoc_target_kind_t){.name = "chip", .plugin_name = "made up", .plugin_version = "1", .backend = &made->backend};
  made->kinds[1] = (byoc_target_kind_t){.name = "c", .plugin_name = "", .plugin_version = "1"};
  for (uint32_t t = 0; t < TARGETS; ++t) {
    made->targets[t] = (byoc_target_t){.kind = &made->kinds[t == NATIVE], .text = texts[t], .index = t};
    assert_true(byoc_vector_push(&made->list.targets, byoc_allocator_system(), &made->targets[t]));
  }
}

static void release_targets(made_t *made) {
  byoc_vector_deinit(&made->list.targets, byoc_allocator_system());
  byoc_arena_deinit(&made->list.arena);
}

// ---- graphs, costs and errors ----

static const char *const operators[MAX_NODES] = {"Relu@14", "Exp@13", "Neg@13",     "Abs@13",   "Sqrt@13",
                                                 "Tanh@13", "Erf@13", "Sigmoid@13", "Floor@13", "Ceil@13"};

// A tree or chain of different operators, each on what one of the last nodes made. All that is not read is a result.
typedef struct problem_t {
  uint32_t count;
  double costs[2][MAX_NODES]; // of the exact and the rough target
  double errors[MAX_NODES];   // of the rough one
  double hidden[MAX_NODES];   // of the rough one, if they are larger, on samples that are not the first ones
  enum { INDEPENDENT, ALIGNED, CANCELLING } rule;
  double allowed;
  size_t measured, checked;                                     // settings, plans
  bool lies;                                                    // plans err twice as much as their switches
  enum { IN_TIME, LATE_WITH_SWITCHES, LATE_AS_BUILT } lateness; // of whole plans: their errors stay unknown
  bool is_cut;                                                  // the time ends before the last sample of the sites
  byoc_cost_database_t *database;
} problem_t;

static byoc_graph_module_t *make_graph(problem_t *p, byoc_test_random_t *random) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  bool is_read[MAX_NODES + 1] = {false};
  byoc_string_append(&text, "module {\n  func @main(%v0 : f32[64]) -> (");
  uint32_t from[MAX_NODES];
  for (uint32_t n = 0; n < p->count; ++n) {
    const uint32_t back = (uint32_t)byoc_test_below(random, n < 2 ? n + 1 : 3);
    from[n] = n - back;
    is_read[from[n]] = true;
  }
  bool is_first = true;
  for (uint32_t n = 1; n <= p->count; ++n) {
    if (is_read[n] && n < p->count) continue;
    byoc_string_appendf(&text, "%s%%r%u : f32[64]", is_first ? "" : ", ", n);
    is_first = false;
  }
  byoc_string_append(&text, ") {\n");
  for (uint32_t n = 0; n < p->count; ++n) {
    byoc_string_appendf(&text, "    %%v%u = %s(%%v%u) : f32[64]\n", n + 1, operators[n], from[n]);
  }
  byoc_string_append(&text, "    return ");
  is_first = true;
  for (uint32_t n = 1; n <= p->count; ++n) {
    if (is_read[n] && n < p->count) continue;
    byoc_string_appendf(&text, "%s%%v%u", is_first ? "" : ", ", n);
    is_first = false;
  }
  byoc_string_append(&text, "\n  }\n}\n");
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text.data, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_string_deinit(&text);
  return module;
}

// The number of the node by its operator.
static uint32_t number_of(const byoc_node_t *node) {
  for (uint32_t n = 0; n < MAX_NODES; ++n) {
    const size_t size = strcspn(operators[n], "@");
    if (strlen(node->op) == size && memcmp(node->op, operators[n], size) == 0) return n;
  }
  fail();
  return 0;
}

static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  (void)diag;
  const problem_t *p = self;
  *out_ns = 0;
  *out_reason = NULL;
  BYOC_FOR_EACH_NODE(node, function->body) {
    *out_ns += target->index == NATIVE ? 1e9 : p->costs[target->index][number_of(node)];
  }
  return BYOC_OK;
}

static byoc_status_t look_up(void *self, const byoc_function_t *function, const byoc_target_t *target,
                             byoc_arena_t *arena, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  (void)self;
  *out_price = (byoc_known_price_t){.cost_ns = NAN};
  const uint64_t id = byoc_hash_combine(byoc_cost_function_hash(function), target->index);
  out_price->id = byoc_arena_format(arena, "%llx", (unsigned long long)id);
  return out_price->id != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static double add_up(const problem_t *p, const bool *is_rough) {
  double sum = 0, squares = 0;
  uint32_t count = 0;
  for (uint32_t n = 0; n < p->count; ++n) {
    count += is_rough[n];
    sum += is_rough[n] ? p->errors[n] : 0;
    squares += is_rough[n] ? p->errors[n] * p->errors[n] : 0;
  }
  return p->rule == ALIGNED ? sum : p->rule == CANCELLING && count > 1 ? sqrt(squares) / 2 : sqrt(squares);
}

static double add_up_all_samples(const problem_t *p, const bool *is_rough) {
  problem_t all = *p;
  for (uint32_t n = 0; n < p->count; ++n) all.errors[n] = fmax(p->errors[n], p->hidden[n]);
  return add_up(&all, is_rough);
}

// ---- the meter: which nodes are rough is found out by placing, as a real one does ----

typedef struct meter_t {
  problem_t *problem;
  byoc_graph_module_t *module;
  size_t switch_count;
  bool is_replay; // a saved plan is checked, without switches
} meter_t;

static byoc_status_t open_model(void *self, byoc_error_apply_t apply, void *context, size_t switch_count,
                                byoc_diag_t *diag) {
  (void)apply;
  (void)context;
  (void)diag;
  meter_t *meter = self;
  meter->switch_count = switch_count;
  assert_true(meter->is_replay ? switch_count == 0 : switch_count == meter->problem->count);
  return BYOC_OK;
}

// Sites are in the order of their first nodes, as all have one node; the graph's order is that of its text.
static byoc_status_t measure(void *self, const uint8_t *settings, size_t count, size_t sample_count, int64_t budget_ns,
                             byoc_diag_t *diag, byoc_measured_error_t *out_errors) {
  (void)diag;
  meter_t *meter = self;
  assert_in_range(sample_count, 1, SAMPLES);
  for (size_t k = 0; k < count; ++k) {
    bool is_rough[MAX_NODES] = {false};
    for (size_t s = 0; s < meter->switch_count; ++s) is_rough[s] = settings[k * meter->switch_count + s] != 0;
    const bool has_all = sample_count == SAMPLES;
    const bool is_cut = meter->problem->is_cut && budget_ns > 0;
    out_errors[k] = (byoc_measured_error_t){.error = has_all ? add_up_all_samples(meter->problem, is_rough)
                                                             : add_up(meter->problem, is_rough),
                                            .sample_count = is_cut ? sample_count - 1 : sample_count};
    if (has_all && meter->problem->lateness == LATE_WITH_SWITCHES)
      out_errors[k] = (byoc_measured_error_t){.error = NAN};
    meter->problem->measured += 1;
  }
  return BYOC_OK;
}

typedef struct check_t {
  const meter_t *meter;
  byoc_error_apply_t apply;
  void *context;
} check_t;

// In a child, where the module may change: applies the plan, and finds the nodes in functions of the rough target.
static void check_body(void *self, void *answer) {
  const check_t *check = self;
  byoc_diag_t diag = {0};
  byoc_placement_t placement;
  byoc_placement_init(&placement, byoc_allocator_system());
  if (check->apply(check->context, &placement, &diag) != BYOC_OK) return;
  bool is_rough[MAX_NODES] = {false};
  const byoc_graph_module_t *module = check->meter->module;
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (!byoc_function_is_region(function)) continue;
    if (byoc_attributes_int(&function->attributes, BYOC_ATTRIBUTE_TARGET, -1) != ROUGH) continue;
    BYOC_FOR_EACH_NODE(node, function->body) is_rough[number_of(node)] = true;
  }
  const problem_t *problem = check->meter->problem;
  *(double *)answer = add_up_all_samples(problem, is_rough) * (problem->lies ? 2 : 1) + 1;
}

static byoc_status_t check(void *self, byoc_error_apply_t apply, void *context, byoc_diag_t *diag, double *out_error) {
  meter_t *meter = self;
  check_t child = {meter, apply, context};
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  double answer = 0;
  meter->problem->checked += 1;
  byoc_test_ok(byoc_child_run(&limits, check_body, &child, &answer, sizeof(answer), diag), diag);
  assert_true(answer >= 1);
  *out_error = meter->problem->lateness == LATE_AS_BUILT ? (double)NAN : answer - 1;
  return BYOC_OK;
}

static const byoc_estimator_t machine = {.calibration = {.flops_per_ns = 64, .bytes_per_ns = 10}, .thread_count = 1};

static void place(problem_t *p, made_t *made, byoc_graph_module_t *module, byoc_plan_t *plan) {
  byoc_diag_t diag = {0};
  meter_t state = {.problem = p, .module = module};
  const byoc_error_meter_t meter = {
      .self = &state, .sample_count = SAMPLES, .open = open_model, .measure = measure, .check = check};
  const byoc_collage_options_t options = {.targets = &made->list,
                                          .pricer = {.self = p, .price = price, .look_up = look_up},
                                          .estimator = &machine,
                                          .budget_s = 1e3,
                                          .database = p->database,
                                          .key = {.target = "t", .plugin = "p", .compiler = "c", .machine = "m"},
                                          .meter = &meter,
                                          .error = p->allowed};
  byoc_placement_t placement;
  byoc_placement_init(&placement, byoc_allocator_system());
  byoc_plan_init(plan, byoc_allocator_system());
  byoc_test_ok(byoc_plan_record_targets(plan, "m", "collage", &made->list, &diag), &diag);
  placement.plan = plan;
  byoc_test_ok(byoc_place_collage(module, &options, &diag, &placement), &diag);
  byoc_placement_deinit(&placement);
}

// Which nodes the plan computes roughly, and what it costs.
static double read_plan(const problem_t *p, const byoc_plan_t *plan, bool *is_rough) {
  const byoc_plan_block_t *block = &plan->blocks.data[0];
  double cost = 0;
  assert_int_equal(block->nodes.count, p->count);
  for (uint32_t n = 0; n < p->count; ++n) {
    assert_int_not_equal(block->nodes.data[n].region, UINT32_MAX);
    const byoc_plan_region_t *region = &block->regions.data[block->nodes.data[n].region];
    is_rough[n] = region->target == ROUGH;
    cost += p->costs[region->target][n];
    assert_true(fabs(region->error - (is_rough[n] ? p->errors[n] : 0)) < 1e-9);
  }
  return cost;
}

static double brute_force(const problem_t *p, double goal) {
  double best = INFINITY;
  for (uint32_t mask = 0; mask < 1u << p->count; ++mask) {
    bool is_rough[MAX_NODES];
    double cost = 0;
    for (uint32_t n = 0; n < p->count; ++n) {
      is_rough[n] = mask >> n & 1;
      cost += p->costs[is_rough[n]][n];
    }
    if (add_up(p, is_rough) <= goal && cost < best) best = cost;
  }
  return best;
}

static void make_random(problem_t *p, byoc_test_random_t *random) {
  *p = (problem_t){.count = 2 + (uint32_t)byoc_test_below(random, MAX_NODES - 1)};
  double all = 0;
  for (uint32_t n = 0; n < p->count; ++n) {
    p->costs[EXACT][n] = 1000 + (double)byoc_test_below(random, 9000);
    p->costs[ROUGH][n] = p->costs[EXACT][n] * (0.2 + (double)byoc_test_below(random, 100) / 100);
    p->errors[n] = 1e-4 * (1 + (double)byoc_test_below(random, 100));
    all += p->errors[n] * p->errors[n];
  }
  p->allowed = sqrt(all) * (0.2 + (double)byoc_test_below(random, 200) / 100);
  if (p->allowed > 1) p->allowed = 1;
}

static void run_random(int rule, bool equals, bool lies) {
  byoc_test_random_t random = {.state = 1300 + (uint64_t)rule};
  int mixed = 0, beyond = 0;
  for (int round = 0; round < 60; ++round) {
    problem_t p;
    made_t made;
    byoc_plan_t plan;
    make_random(&p, &random);
    p.rule = rule;
    p.lies = lies;
    make_targets(&made);
    byoc_graph_module_t *module = make_graph(&p, &random);
    place(&p, &made, module, &plan);
    bool is_rough[MAX_NODES];
    const double cost = read_plan(&p, &plan, is_rough), error = add_up(&p, is_rough),
                 goal = p.allowed / 1.5; // four samples
    const double built = lies ? 2 * error : error;
    size_t rough = 0;
    for (uint32_t n = 0; n < p.count; ++n) rough += is_rough[n];
    mixed += rough > 0 && rough < p.count;
    beyond += rule == CANCELLING && 2 * error > goal; // more than the rule of squares allows
    assert_true(built <= goal * (1 + 1e-9));
    assert_true(fabs(plan.budget.measured - built) <= 1e-9);
    assert_true(plan.budget.promised <= p.allowed * (1 + 1e-9));
    const double best = brute_force(&p, goal);
    if (equals && fabs(cost - best) > 1e-6 * best) fail_msg("round %d: %g instead of %g", round, cost, best);
    assert_true(cost >= best * (1 - 1e-9));
    byoc_plan_deinit(&plan);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
  assert_true(mixed > 20 || beyond > 20);
}

// Row C13: costs and errors that are stated: the plan within the budget is the one that enumerating all plans finds.
static void test_c13_the_plan_within_a_budget_equals_brute_force(void **state) {
  (void)state;
  run_random(INDEPENDENT, true, false);
}

// Row C13: errors that agree add up to more than the rule of squares says; the plan is found out and made more exact.
static void test_c13_errors_that_agree_are_measured_and_raised_back(void **state) {
  (void)state;
  run_random(ALIGNED, false, false);
}

static void errors_that_cancel_leave_room_for_more(void **state) {
  (void)state;
  run_random(CANCELLING, false, false);
}

// A plan may err more than its switches say, because regions differ from sites: then the search goes on below it.
static void a_plan_that_errs_more_than_its_switches_is_not_used(void **state) {
  (void)state;
  run_random(INDEPENDENT, false, true);
}

// A chain whose rough nodes are twice as fast, and show no error on the first samples.
static byoc_graph_module_t *make_hidden(problem_t *p, double hidden) {
  byoc_test_random_t random = {.state = 7};
  *p = (problem_t){.count = 4, .allowed = 0.15}; // a goal of 0.1
  for (uint32_t n = 0; n < p->count; ++n) {
    p->costs[EXACT][n] = 2000;
    p->costs[ROUGH][n] = 1000;
    p->hidden[n] = hidden;
  }
  return make_graph(p, &random);
}

// Without an error on the first samples, a rough region is no exact one: the plan is measured on all samples.
static void a_plan_without_an_error_on_the_first_samples_is_measured_on_all(void **state) {
  (void)state;
  static const double hidden[] = {0.02, 0.5};
  for (size_t i = 0; i < 2; ++i) {
    problem_t p;
    made_t made;
    byoc_plan_t plan;
    byoc_graph_module_t *module = make_hidden(&p, hidden[i]);
    const bool is_within = 2 * hidden[i] <= 0.1; // the root of four squares
    make_targets(&made);
    place(&p, &made, module, &plan);
    bool is_rough[MAX_NODES];
    const double cost = read_plan(&p, &plan, is_rough);
    assert_true(fabs(cost - (is_within ? 4000 : 8000)) < 1e-6);
    assert_true(fabs(plan.budget.measured - (is_within ? 2 * hidden[i] : 0)) < 1e-9);
    assert_int_equal(p.checked, is_within ? 1 : 0);
    assert_true(fabs(plan.budget.curve.data[0].cost_ns - 8000) < 1e-6); // the curve begins with the exact plan
    byoc_plan_deinit(&plan);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
}

// Errors of fewer samples than were asked for are used once, and measured again by the next build.
static void errors_of_too_few_samples_are_not_kept(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), path[600];
  snprintf(path, sizeof(path), "%s/costs.sqlite", folder);
  byoc_cost_database_t *database = NULL;
  byoc_test_ok(byoc_cost_database_open(path, byoc_allocator_system(), &diag, &database), &diag);
  size_t measured[3];
  for (int build = 0; build < 3; ++build) {
    problem_t p;
    made_t made;
    byoc_plan_t plan;
    byoc_graph_module_t *module = make_hidden(&p, 0.02);
    p.is_cut = build == 0;
    p.database = database;
    make_targets(&made);
    place(&p, &made, module, &plan);
    measured[build] = p.measured;
    byoc_plan_deinit(&plan);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
  byoc_cost_database_close(database);
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  assert_true(measured[0] > 4);     // four sites, and plans
  assert_int_equal(measured[1], 4); // the plans are known
  assert_int_equal(measured[2], 0);
}

// Without a known error no plan is taken but the exact one.
static void plans_whose_runs_take_too_long_are_not_used(void **state) {
  (void)state;
  for (int lateness = IN_TIME; lateness <= LATE_AS_BUILT; ++lateness) {
    problem_t p;
    made_t made;
    byoc_plan_t plan;
    byoc_graph_module_t *module = make_hidden(&p, 0.02);
    for (uint32_t n = 0; n < p.count; ++n) p.errors[n] = 0.01;
    p.lateness = lateness;
    make_targets(&made);
    place(&p, &made, module, &plan);
    bool is_rough[MAX_NODES];
    const double cost = read_plan(&p, &plan, is_rough);
    assert_true(fabs(cost - (lateness == IN_TIME ? 4000 : 8000)) < 1e-6);
    assert_true(fabs(plan.budget.measured - (lateness == IN_TIME ? 0.04 : 0)) < 1e-9);
    byoc_plan_deinit(&plan);
    byoc_graph_module_destroy(module);
    release_targets(&made);
  }
}

// The curve begins with the exact plan, and its errors rise while times fall; it is saved with the plan.
static void the_trade_off_is_recorded_and_saved(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 5};
  problem_t p;
  made_t made;
  byoc_plan_t plan, read;
  byoc_diag_t diag = {0};
  make_random(&p, &random);
  p.count = MAX_NODES;
  make_random(&p, &random);
  make_targets(&made);
  byoc_graph_module_t *module = make_graph(&p, &random);
  place(&p, &made, module, &plan);
  const byoc_plan_budget_t *budget = &plan.budget;
  assert_true(budget->curve.count >= 2);
  assert_true(budget->curve.data[0].error <= 0);
  for (size_t i = 1; i < budget->curve.count; ++i) {
    assert_true(budget->curve.data[i].error > budget->curve.data[i - 1].error);
    assert_true(budget->curve.data[i].cost_ns < budget->curve.data[i - 1].cost_ns);
  }
  char *folder = NULL;
  byoc_test_ok(byoc_make_temporary_directory("byoc-test", byoc_allocator_system(), &diag, &folder), &diag);
  char *path = byoc_path_join(byoc_allocator_system(), folder, "budget.json");
  assert_non_null(path);
  byoc_test_ok(byoc_plan_write(&plan, path, &diag), &diag);
  byoc_test_ok(byoc_plan_read(path, byoc_allocator_system(), &diag, &read), &diag);
  assert_true(fabs(read.budget.allowed / budget->allowed - 1) < 1e-4);
  assert_true(fabs(read.budget.promised / budget->promised - 1) < 1e-4);
  assert_int_equal(read.budget.curve.count, budget->curve.count);
  assert_int_equal(read.budget.sample_count, 4);
  for (size_t r = 0; r < plan.blocks.data[0].regions.count; ++r) {
    const double error = plan.blocks.data[0].regions.data[r].error;
    assert_true(fabs(read.blocks.data[0].regions.data[r].error - error) <= 1e-4 * error);
  }
  byoc_free(byoc_allocator_system(), path);
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  byoc_free(byoc_allocator_system(), folder);
  byoc_plan_deinit(&read);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(module);
  release_targets(&made);
}

// The status that is returned is the one of the message.
static void check_saved(problem_t *p, const made_t *made, byoc_graph_module_t *module, const char *path, double allowed,
                        byoc_status_t expected) {
  byoc_diag_t diag = {0};
  meter_t state = {.problem = p, .module = module, .is_replay = true};
  const byoc_error_meter_t meter = {
      .self = &state, .sample_count = SAMPLES, .open = open_model, .measure = measure, .check = check};
  byoc_plan_t record;
  byoc_plan_init(&record, byoc_allocator_system());
  const byoc_status_t status = byoc_replay_check_error(module, &made->list, path, &meter, allowed, &diag, &record);
  assert_int_equal(status, expected);
  if (expected != BYOC_OK) assert_int_equal(diag.status, expected);
  if (expected == BYOC_OK) assert_true(fabs(record.budget.measured - 0.04) < 1e-9);
  byoc_plan_deinit(&record);
}

static void a_saved_plan_is_refused_where_less_is_allowed(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  problem_t p;
  made_t made;
  byoc_plan_t plan;
  char *folder = byoc_test_folder(), path[600];
  snprintf(path, sizeof(path), "%s/plan.json", folder);
  byoc_graph_module_t *module = make_hidden(&p, 0.02), *again = make_hidden(&p, 0.02);
  make_targets(&made);
  place(&p, &made, module, &plan);
  byoc_test_ok(byoc_plan_write(&plan, path, &diag), &diag);
  check_saved(&p, &made, again, path, 0.07, BYOC_OK); // four samples promise half as much again
  check_saved(&p, &made, again, path, 0.05, BYOC_INVALID_DATA);
  p.lateness = LATE_AS_BUILT;
  check_saved(&p, &made, again, path, 0.07, BYOC_TOOL);
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  byoc_plan_deinit(&plan);
  byoc_graph_module_destroy(again);
  byoc_graph_module_destroy(module);
  release_targets(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c13_the_plan_within_a_budget_equals_brute_force),
      cmocka_unit_test(test_c13_errors_that_agree_are_measured_and_raised_back),
      cmocka_unit_test(errors_that_cancel_leave_room_for_more),
      cmocka_unit_test(a_plan_that_errs_more_than_its_switches_is_not_used),
      cmocka_unit_test(a_plan_without_an_error_on_the_first_samples_is_measured_on_all),
      cmocka_unit_test(errors_of_too_few_samples_are_not_kept),
      cmocka_unit_test(plans_whose_runs_take_too_long_are_not_used),
      cmocka_unit_test(the_trade_off_is_recorded_and_saved),
      cmocka_unit_test(a_saved_plan_is_refused_where_less_is_allowed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
