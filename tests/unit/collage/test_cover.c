// SPDX-License-Identifier: Apache-2.0
// The cover search against brute force, on random graphs with random candidates. Rows C3, C7 and C13.
#include <stdio.h>
#include <stdlib.h>

#include "core/collage/cover.h"
#include "core/collage/cover_states.h"
#include "tests/support/flow.h"
#include "tests/support/support.h"

#define MAX_NODES      14
#define MAX_CANDIDATES 44
#define PLACES         3
#define MAX_INPUTS     2

// ---- random problems ----

typedef struct made_t {
  byoc_dataflow_t flow;
  uint32_t masks[MAX_NODES]; // successors of each node
  byoc_candidates_t list;
  double transitions[MAX_NODES][PLACES][PLACES];
  uint32_t devices[PLACES];
  double copies[MAX_NODES][PLACES][PLACES], input_copies[MAX_INPUTS][PLACES];
  uint32_t readers[MAX_INPUTS][MAX_NODES];
  byoc_cover_input_t inputs[MAX_INPUTS];
  byoc_cover_costs_t costs;
  bool limits_error;
  double error_limit;
} made_t;

static double transition(void *self, uint32_t node, uint32_t from, uint32_t to) {
  return ((const made_t *)self)->transitions[node][from][to];
}

static uint32_t device(void *self, uint32_t place) {
  return ((const made_t *)self)->devices[place];
}

static double copy(void *self, uint32_t node, uint32_t from, uint32_t to) {
  return ((const made_t *)self)->copies[node][from][to];
}

static double input_copy(void *self, uint32_t input, uint32_t to) {
  return ((const made_t *)self)->input_copies[input][to];
}

static void add_candidate(made_t *made, const uint32_t *nodes, size_t count, uint32_t target, double cost) {
  byoc_diag_t diag = {0};
  byoc_candidate_t candidate = {.target = target, .place = target, .rule = "made", .cost_ns = cost}, *out = NULL;
  char name[32];
  (void)snprintf(name, sizeof(name), "%zu",
                 made->list.items.count); // the names differ, so that equal candidates do not coalesce
  candidate.composite = byoc_arena_copy_string(&made->list.arena, name);
  if (cost == (double)INFINITY) candidate.reason = "it crashed";
  assert_true(byoc_index_set_make(&made->list.arena, nodes, count, &candidate.nodes));
  byoc_test_ok(byoc_candidates_add(&made->list, &candidate, &diag, &out), &diag);
}

// A group that grows along edges; not always convex.
static size_t grow_group(const made_t *made, byoc_test_random_t *random, uint32_t *nodes) {
  uint32_t n = made->flow.node_count, mask = 1u << byoc_test_below(random, n);
  uint64_t size = 2 + byoc_test_below(random, 4);
  for (uint64_t step = 0; step < 3 * size; ++step) {
    uint32_t from = (uint32_t)byoc_test_below(random, n), to = (uint32_t)byoc_test_below(random, n);
    bool is_edge = (made->masks[from] >> to & 1) || byoc_test_below(random, 40) == 0;
    if (is_edge && ((mask >> from & 1) != (mask >> to & 1))) mask |= 1u << from | 1u << to;
  }
  size_t count = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (mask >> i & 1) nodes[count++] = i;
  }
  return count;
}

static double random_cost(byoc_test_random_t *random, uint64_t limit) {
  return (double)byoc_test_below(random, limit);
}

static void make_random(made_t *made, byoc_test_random_t *random) {
  *made = (made_t){0};
  uint32_t n = 1 + (uint32_t)byoc_test_below(random, MAX_NODES);
  byoc_dataflow_edge_t edges[MAX_NODES * MAX_NODES];
  size_t edge_count = 0;
  uint64_t density = 1 + byoc_test_below(random, 4), reach = 1 + byoc_test_below(random, n);
  for (uint32_t to = 1; to < n; ++to) {
    for (uint64_t k = byoc_test_below(random, density + 1); k > 0; --k) {
      uint64_t back = 1 + byoc_test_below(random, reach < to ? reach : to);
      uint32_t from = to - (uint32_t)back;
      edges[edge_count++] = (byoc_dataflow_edge_t){from, to};
      made->masks[from] |= 1u << to;
    }
  }
  byoc_test_flow_make(&made->flow, n, edges, edge_count);
  byoc_candidates_init(&made->list, byoc_allocator_system());

  bool has_host = byoc_test_below(random, 4) > 0;
  uint64_t limit = 1 + byoc_test_below(random, 30);
  for (uint32_t node = 0; node < n; ++node) {
    for (uint32_t target = 0; target < PLACES; ++target) {
      bool is_there = (has_host && target == PLACES - 1) || byoc_test_below(random, has_host ? 4 : 2) == 0;
      if (!is_there) continue;
      bool is_broken = target < PLACES - 1 && byoc_test_below(random, 8) == 0;
      add_candidate(made, &node, 1, target, is_broken ? (double)INFINITY : random_cost(random, limit));
    }
  }
  for (uint64_t k = byoc_test_below(random, 2 * n + 6); k > 0 && made->list.items.count < MAX_CANDIDATES; --k) {
    uint32_t nodes[MAX_NODES], target = (uint32_t)byoc_test_below(random, PLACES);
    size_t count = grow_group(made, random, nodes);
    add_candidate(made, nodes, count, target, random_cost(random, limit * count));
  }

  uint64_t kind = byoc_test_below(random, 3); // no transitions, between places only, any
  uint64_t most = 1 + byoc_test_below(random, 12);
  for (uint32_t node = 0; node < n; ++node) {
    double bytes = random_cost(random, most);
    for (uint32_t from = 0; from < PLACES; ++from) {
      for (uint32_t to = 0; to < PLACES; ++to) {
        double *cell = &made->transitions[node][from][to];
        if (kind == 1) *cell = from == to ? 0 : bytes;
        if (kind == 2) *cell = random_cost(random, most);
      }
    }
  }
  made->costs = (byoc_cover_costs_t){.self = made, .transition = kind == 0 ? NULL : transition};
}

// Puts the places on devices, the last one on the host, and makes copies cost something.
static void add_devices(made_t *made, byoc_test_random_t *random) {
  const uint32_t n = made->flow.node_count, devices = 2 + (uint32_t)byoc_test_below(random, PLACES - 1);
  const uint64_t most = 1 + byoc_test_below(random, 20);
  for (uint32_t place = 0; place + 1 < PLACES; ++place)
    made->devices[place] = (uint32_t)byoc_test_below(random, devices);
  made->devices[PLACES - 1] = BYOC_COVER_HOST;
  for (uint32_t node = 0; node < n; ++node) {
    for (uint32_t from = 0; from < devices; ++from) {
      for (uint32_t to = 0; to < devices; ++to) made->copies[node][from][to] = random_cost(random, most);
    }
  }
  const uint32_t inputs = (uint32_t)byoc_test_below(random, MAX_INPUTS + 1);
  for (uint32_t k = 0; k < inputs; ++k) {
    uint32_t count = 0;
    for (uint32_t node = 0; node < n; ++node) {
      if (byoc_test_below(random, 3) == 0) made->readers[k][count++] = node;
    }
    made->inputs[k] = (byoc_cover_input_t){made->readers[k], count};
    for (uint32_t to = 0; to < devices; ++to) made->input_copies[k][to] = random_cost(random, most);
  }
  made->costs.self = made;
  made->costs.device_count = devices;
  made->costs.device = device;
  made->costs.copy = copy;
  made->costs.input_copy = input_copy;
  made->costs.inputs = made->inputs;
  made->costs.input_count = inputs;
}

// Errors of all candidates, less for dearer ones as a rule, and a limit that some plans exceed. The last target is
// exact.
static void add_errors(made_t *made, byoc_test_random_t *random) {
  const uint64_t most = 1 + byoc_test_below(random, 12);
  for (size_t i = 0; i < made->list.items.count; ++i) {
    byoc_candidate_t *candidate = made->list.items.data[i];
    const double error = random_cost(random, most * candidate->nodes.count);
    candidate->error = candidate->target == PLACES - 1 ? 0 : error;
    if (byoc_test_below(random, 16) == 0) candidate->error = INFINITY; // cannot be used
  }
  made->limits_error = true;
  made->error_limit = random_cost(random, 1 + most * made->flow.node_count / 2);
}

static void release(made_t *made) {
  byoc_candidates_deinit(&made->list);
  byoc_test_flow_destroy(&made->flow);
}

// ---- brute force ----

typedef struct brute_t {
  const made_t *made;
  uint32_t masks[MAX_CANDIDATES];
  int owners[MAX_NODES];
  double best;
} brute_t;

// No circle among the candidates: every one of them can be taken off once all that it reads is gone.
static bool can_run(const brute_t *b) {
  uint32_t n = b->made->flow.node_count, done = 0, all = (1u << n) - 1;
  for (bool moved = true; moved && done != all;) {
    moved = false;
    for (uint32_t node = 0; node < n; ++node) {
      if (done >> node & 1) continue;
      uint32_t group = b->masks[b->owners[node]], waits = 0;
      for (uint32_t from = 0; from < n; ++from) {
        if ((b->made->masks[from] & group) && !(group >> from & 1) && !(done >> from & 1)) waits |= 1u << from;
      }
      if (waits == 0) {
        done |= group;
        moved = true;
      }
    }
  }
  return done == all;
}

// What the plan pays between the nodes owned so far.
static double all_transitions(const brute_t *b) {
  if (b->made->costs.transition == NULL) return 0;
  double sum = 0;
  byoc_candidate_t *const *items = b->made->list.items.data;
  for (uint32_t node = 0; node < b->made->flow.node_count; ++node) {
    if (b->owners[node] < 0) continue;
    uint64_t paid = 0;
    for (uint32_t user = node + 1; user < b->made->flow.node_count; ++user) {
      int owner = b->owners[user];
      if (!(b->made->masks[node] >> user & 1) || owner < 0 || owner == b->owners[node] || (paid >> owner & 1)) continue;
      paid |= (uint64_t)1 << owner;
      sum += b->made->transitions[node][items[b->owners[node]]->place][items[owner]->place];
    }
  }
  return sum;
}

static uint32_t device_of(const brute_t *b, uint32_t node) {
  return b->made->devices[b->made->list.items.data[b->owners[node]]->place];
}

// What the plan pays for copies between the nodes owned so far.
static double all_copies(const brute_t *b) {
  const made_t *made = b->made;
  const uint32_t n = made->flow.node_count, devices = made->costs.device_count;
  double sum = 0;
  for (uint32_t to = 0; to < devices && devices > 1; ++to) {
    for (uint32_t node = 0; node < n; ++node) {
      if (b->owners[node] < 0 || device_of(b, node) == to) continue;
      bool is_read = to == BYOC_COVER_HOST && made->flow.is_result[node];
      for (uint32_t user = 0; user < n; ++user) {
        is_read = is_read || ((made->masks[node] >> user & 1) && b->owners[user] >= 0 && device_of(b, user) == to);
      }
      if (is_read) sum += made->copies[node][device_of(b, node)][to];
    }
    for (uint32_t k = 0; k < made->costs.input_count && to != BYOC_COVER_HOST; ++k) {
      bool is_read = false;
      for (uint32_t r = 0; r < made->inputs[k].reader_count; ++r) {
        const uint32_t node = made->readers[k][r];
        is_read = is_read || (b->owners[node] >= 0 && device_of(b, node) == to);
      }
      if (is_read) sum += made->input_copies[k][to];
    }
  }
  return sum;
}

static void try_all(brute_t *b, uint32_t covered, double cost, double error) {
  if (b->made->limits_error && error > b->made->error_limit) return;
  if (cost + all_transitions(b) + all_copies(b) >= b->best) return;
  uint32_t n = b->made->flow.node_count, first = 0;
  while (first < n && (covered >> first & 1)) ++first;
  if (first == n) {
    if (can_run(b)) b->best = cost + all_transitions(b) + all_copies(b);
    return;
  }
  for (size_t c = 0; c < b->made->list.items.count; ++c) {
    if (!(b->masks[c] >> first & 1) || (b->masks[c] & covered)) continue;
    for (uint32_t i = 0; i < n; ++i) {
      if (b->masks[c] >> i & 1) b->owners[i] = (int)c;
    }
    const byoc_candidate_t *candidate = b->made->list.items.data[c];
    try_all(b, covered | b->masks[c], cost + candidate->cost_ns, error + candidate->error);
    for (uint32_t i = 0; i < n; ++i) {
      if (b->masks[c] >> i & 1) b->owners[i] = -1;
    }
  }
}

static double brute_force(const made_t *made) {
  brute_t b = {.made = made, .best = INFINITY};
  for (size_t c = 0; c < made->list.items.count; ++c) {
    const byoc_index_set_t *nodes = &made->list.items.data[c]->nodes;
    for (uint32_t k = 0; k < nodes->count; ++k) b.masks[c] |= 1u << nodes->items[k];
  }
  for (uint32_t i = 0; i < made->flow.node_count; ++i) b.owners[i] = -1;
  try_all(&b, 0, 0, 0);
  return b.best;
}

// ---- the comparison ----

// What any plan must be: disjoint, complete, without circles, and as dear as it says.
static void check_plan(const made_t *made, const byoc_cover_t *cover) {
  brute_t b = {.made = made};
  uint32_t covered = 0, n = made->flow.node_count;
  double cost = 0, error = 0;
  for (uint32_t i = 0; i < cover->count; ++i) {
    const byoc_candidate_t *candidate = made->list.items.data[cover->chosen[i]];
    for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
      uint32_t node = candidate->nodes.items[k];
      assert_false(covered >> node & 1);
      covered |= 1u << node;
      b.owners[node] = (int)cover->chosen[i];
      b.masks[cover->chosen[i]] |= 1u << node;
    }
    cost += candidate->cost_ns;
    error += candidate->error;
    for (uint32_t k = 0; k < candidate->nodes.count; ++k) { // everything that it reads ran before
      for (uint32_t from = 0; from < n; ++from) {
        if (made->masks[from] >> candidate->nodes.items[k] & 1) assert_true(covered >> from & 1);
      }
    }
  }
  assert_int_equal(covered, (1u << n) - 1);
  assert_true(can_run(&b));
  assert_true(error == cover->error);
  assert_true(!made->limits_error || error <= made->error_limit);
  double transitions = all_transitions(&b) + all_copies(&b);
  assert_true(fabs(cost + transitions - cover->cost_ns) < 1e-6);
  assert_true(fabs(transitions - cover->transition_ns) < 1e-6);
}

static void compare(const made_t *made, const byoc_cover_options_t *given, double expected, int round) {
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  byoc_cover_options_t limited = given != NULL ? *given : (byoc_cover_options_t){0};
  limited.limits_error = made->limits_error;
  limited.error_limit = made->error_limit;
  const byoc_cover_options_t *options = made->limits_error ? &limited : given;
  byoc_status_t status = byoc_cover_search(&made->flow, made->list.items.data, made->list.items.count, &made->costs,
                                           options, byoc_allocator_system(), &diag, &cover);
  if (expected == (double)INFINITY) {
    byoc_test_error(status, BYOC_NOT_FOUND, &diag,
                    made->limits_error ? "no plan is within the error budget" : "every plan costs infinity");
    assert_non_null(strstr(diag.hint, made->limits_error ? "larger error" : "byoc costs prune"));
    return;
  }
  byoc_test_ok(status, &diag);
  check_plan(made, &cover);
  assert_true(cover.lower_bound_ns <= expected + 1e-6);
  if (cover.is_proven && fabs(cover.cost_ns - expected) > 1e-6) {
    fail_msg("round %d: the search found %g, brute force %g", round, cover.cost_ns, expected);
  }
  assert_true(cover.cost_ns >= expected - 1e-6);
  if (options == NULL || options->state_budget == 0) assert_true(cover.is_proven);
  byoc_cover_deinit(&cover);
}

// Where no target claims the nodes, the first four are named, with the reasons.
static void nodes_that_nobody_takes_are_named(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 6; ++n) {
    made_t made = {0};
    byoc_diag_t diag = {0};
    byoc_cover_t cover;
    byoc_test_flow_make(&made.flow, n, NULL, 0);
    byoc_candidates_init(&made.list, byoc_allocator_system());
    for (uint32_t node = 0; node < n; ++node) add_candidate(&made, &node, 1, 0, (double)INFINITY);
    byoc_test_error(byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, NULL, NULL,
                                      byoc_allocator_system(), &diag, &cover),
                    BYOC_NOT_FOUND, &diag, "every plan costs infinity");
    char message[2048];
    byoc_diag_format(&diag, message, sizeof(message));
    uint32_t named = 0;
    for (const char *at = message; (at = strstr(at, "it crashed")) != NULL; ++at) ++named;
    assert_int_equal(named, n < 4 ? n : 4);
    assert_true((strstr(message, " and others") != NULL) == (n > 4));
    byoc_diag_clear(&diag);
    byoc_candidates_deinit(&made.list);
    byoc_test_flow_destroy(&made.flow);
  }
}

// Row C3. Row C7 too: with and without pruning, the cost is the same.
static void compare_random(uint64_t seed, int rounds, bool has_devices) {
  byoc_test_random_t random = {.state = seed};
  static const byoc_cover_options_t everything = {.keep_all_candidates = true, .no_dominance = true};
  static const byoc_cover_options_t all_candidates = {.keep_all_candidates = true};
  static const byoc_cover_options_t all_states = {.no_dominance = true};
  static const byoc_cover_options_t little = {.state_budget = 1};
  int feasible = 0;
  for (int round = 0; round < rounds; ++round) {
    made_t made;
    make_random(&made, &random);
    if (has_devices) add_devices(&made, &random);
    double expected = brute_force(&made);
    if (expected < (double)INFINITY) ++feasible;
    compare(&made, NULL, expected, round);
    compare(&made, &everything, expected, round);
    compare(&made, &all_candidates, expected, round);
    compare(&made, &all_states, expected, round);
    if (expected < (double)INFINITY && round % 4 == 0) {
      byoc_cover_t cover;
      byoc_diag_t diag = {0};
      byoc_status_t status = byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, &made.costs,
                                               &little, byoc_allocator_system(), &diag, &cover);
      if (status == BYOC_OK) {
        check_plan(&made, &cover);
        assert_true(cover.cost_ns >= expected - 1e-6 && cover.lower_bound_ns <= expected + 1e-6);
        if (cover.is_proven) assert_true(fabs(cover.cost_ns - expected) < 1e-6);
        byoc_cover_deinit(&cover);
      } else {
        assert_int_equal(status, BYOC_UNSUPPORTED);
      }
    }
    release(&made);
  }
  assert_true(feasible > rounds / 10 * 7);
}

static void the_search_equals_brute_force(void **state) {
  (void)state;
  compare_random(2024, byoc_test_is_long() ? 10000 : 3000, false);
}

// Row C9: copies between devices are paid once for each value and device.
static void test_c9_the_search_with_copies_equals_brute_force(void **state) {
  (void)state;
  compare_random(9, byoc_test_is_long() ? 3000 : 1000, true);
}

// Row C13: the errors of the candidates are a second resource. The cheapest plan within the limit is found, with and
// without pruning, whatever the transitions and copies are.
static void test_c13_the_search_within_an_error_limit_equals_brute_force(void **state) {
  (void)state;
  static const byoc_cover_options_t everything = {.keep_all_candidates = true, .no_dominance = true};
  byoc_test_random_t random = {.state = 13};
  const int rounds = byoc_test_is_long() ? 10000 : 1000;
  int feasible = 0, decided = 0;
  for (int round = 0; round < rounds; ++round) {
    made_t made;
    make_random(&made, &random);
    if (round % 3 == 0) add_devices(&made, &random);
    const double unlimited = brute_force(&made);
    add_errors(&made, &random);
    const double expected = brute_force(&made);
    feasible += expected < (double)INFINITY;
    decided += expected < (double)INFINITY && expected > unlimited;
    compare(&made, NULL, expected, round);
    compare(&made, &everything, expected, round);
    release(&made);
  }
  assert_true(feasible > rounds / 2 && decided > rounds / 4);
}

// Row C13: with as many layers as a real model has, each in three precisions, the plan is within a hundredth of the
// bound, and better than any single precision that the limit allows.
static void test_c13_a_long_chain_is_planned_near_its_bound(void **state) {
  (void)state;
  enum { LAYERS = 60 };
  byoc_dataflow_edge_t edges[LAYERS];
  byoc_test_random_t random = {.state = 131};
  for (uint32_t i = 0; i + 1 < LAYERS; ++i) edges[i] = (byoc_dataflow_edge_t){i, i + 1};
  made_t made = {.limits_error = true};
  double all_half = 0, half_error = 0;
  byoc_test_flow_make(&made.flow, LAYERS, edges, LAYERS - 1);
  byoc_candidates_init(&made.list, byoc_allocator_system());
  for (uint32_t node = 0; node < LAYERS; ++node) {
    const double cost = 100 + (double)byoc_test_below(&random, 900), error = 1 + (double)byoc_test_below(&random, 1000);
    add_candidate(&made, &node, 1, 0, cost);
    add_candidate(&made, &node, 1, 1, cost * 0.6);
    add_candidate(&made, &node, 1, 2, cost * 0.3);
    made.list.items.data[3 * node + 1]->error = error * 1.37;
    made.list.items.data[3 * node + 2]->error = error * 17.1;
    all_half += cost * 0.6;
    half_error += error * 1.37;
  }
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  const byoc_cover_options_t options = {.limits_error = true, .error_limit = half_error * 1.01};
  byoc_test_ok(byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, NULL, &options,
                                 byoc_allocator_system(), &diag, &cover),
               &diag);
  assert_true(cover.error <= half_error * 1.01);
  assert_true(cover.cost_ns < all_half * 0.98);
  assert_true(cover.cost_ns <= cover.lower_bound_ns * 1.01);
  byoc_cover_deinit(&cover);
  release(&made);
}

// ---- single cases ----

static void make_graph(made_t *made, uint32_t node_count, const byoc_dataflow_edge_t *edges, size_t edge_count) {
  *made = (made_t){0};
  for (size_t e = 0; e < edge_count; ++e) made->masks[edges[e].from] |= 1u << edges[e].to;
  byoc_test_flow_make(&made->flow, node_count, edges, edge_count);
  byoc_candidates_init(&made->list, byoc_allocator_system());
}

// Two candidates that are fine alone, but would wait for each other, are not both taken.
static void candidates_do_not_wait_for_each_other(void **state) {
  (void)state;
  static const byoc_dataflow_edge_t edges[] = {{0, 2}, {1, 3}};
  made_t made;
  make_graph(&made, 4, edges, 2);
  add_candidate(&made, (const uint32_t[]){0, 3}, 2, 0, 1);
  add_candidate(&made, (const uint32_t[]){1, 2}, 2, 1, 1);
  for (uint32_t node = 0; node < 4; ++node) add_candidate(&made, &node, 1, 2, 10);
  compare(&made, NULL, 21, 0);
  release(&made);
}

static void a_tie_goes_to_the_first_target_and_to_fewer_parts(void **state) {
  (void)state;
  static const byoc_dataflow_edge_t edges[] = {{0, 1}, {1, 2}};
  made_t made;
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  make_graph(&made, 3, edges, 2);
  for (uint32_t node = 0; node < 3; ++node) {
    add_candidate(&made, &node, 1, 1, 2);
    add_candidate(&made, &node, 1, 0, 2);
  }
  add_candidate(&made, (const uint32_t[]){0, 1}, 2, 0, 4);
  byoc_test_ok(byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, NULL, NULL,
                                 byoc_allocator_system(), &diag, &cover),
               &diag);
  assert_int_equal(cover.count, 2);
  for (uint32_t i = 0; i < 2; ++i) assert_int_equal(made.list.items.data[cover.chosen[i]]->target, 0);
  byoc_cover_deinit(&cover);
  release(&made);
}

// Between two places a value costs 5.
static double crossing(void *self, uint32_t node, uint32_t from, uint32_t to) {
  (void)self;
  (void)node;
  return from == to ? 0 : 5;
}

// The cheaper candidate in the middle is taken if crossing to it and back is free, but not if that costs more than it
// saves.
static void test_c9_transitions_decide(void **state) {
  (void)state;
  static const byoc_dataflow_edge_t edges[] = {{0, 1}, {1, 2}};
  for (int costly = 0; costly < 2; ++costly) {
    made_t made;
    byoc_diag_t diag = {0};
    byoc_cover_t cover;
    make_graph(&made, 3, edges, 2);
    for (uint32_t node = 0; node < 3; ++node) add_candidate(&made, &node, 1, 0, 10);
    add_candidate(&made, (const uint32_t[]){1}, 1, 1, 4);
    const byoc_cover_costs_t costs = {.transition = costly ? crossing : NULL};
    byoc_test_ok(byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, &costs, NULL,
                                   byoc_allocator_system(), &diag, &cover),
                 &diag);
    assert_int_equal(cover.count, 3);
    assert_int_equal(made.list.items.data[cover.chosen[1]]->target, costly ? 0 : 1);
    assert_true(cover.cost_ns == (costly ? 30 : 24));
    byoc_cover_deinit(&cover);
    release(&made);
  }
}

static void an_infinite_plan_names_the_nodes(void **state) {
  (void)state;
  static const byoc_dataflow_edge_t edges[] = {{0, 1}, {1, 2}};
  made_t made;
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  make_graph(&made, 3, edges, 2);
  add_candidate(&made, (const uint32_t[]){0}, 1, 0, 1);
  add_candidate(&made, (const uint32_t[]){1}, 1, 0, INFINITY);
  add_candidate(&made, (const uint32_t[]){2}, 1, 0, 1);
  byoc_status_t status = byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, NULL, NULL,
                                           byoc_allocator_system(), &diag, &cover);
  byoc_test_error(status, BYOC_NOT_FOUND, &diag, "no target claims Sum 'n1' (ai.onnx 13) (made: it crashed)");
  assert_null(cover.chosen);
  release(&made);

  // Each node has a candidate, but no choice of them is disjoint.
  make_graph(&made, 3, edges, 2);
  add_candidate(&made, (const uint32_t[]){0, 1}, 2, 0, 1);
  add_candidate(&made, (const uint32_t[]){1, 2}, 2, 0, 1);
  diag = (byoc_diag_t){0};
  status = byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, NULL, NULL,
                             byoc_allocator_system(), &diag, &cover);
  byoc_test_error(status, BYOC_NOT_FOUND, &diag, "no candidates fit together around Sum 'n2'");
  release(&made);
}

static void bad_costs_are_refused(void **state) {
  (void)state;
  made_t made;
  byoc_cover_t cover;
  byoc_diag_t diag = {0};
  make_graph(&made, 1, NULL, 0);
  add_candidate(&made, (const uint32_t[]){0}, 1, 0, (double)NAN);
  byoc_status_t status = byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, NULL, NULL,
                                           byoc_allocator_system(), &diag, &cover);
  byoc_test_error(status, BYOC_INVALID_ARGUMENT, &diag, "has no cost");
  release(&made);
}

static void an_empty_block_is_covered_by_nothing(void **state) {
  (void)state;
  made_t made;
  byoc_cover_t cover;
  byoc_diag_t diag = {0};
  make_graph(&made, 0, NULL, 0);
  byoc_test_ok(byoc_cover_search(&made.flow, NULL, 0, NULL, NULL, byoc_allocator_system(), &diag, &cover), &diag);
  assert_int_equal(cover.count, 0);
  assert_true(cover.is_proven);
  byoc_cover_deinit(&cover);
  release(&made);
}

static void a_plan_that_is_none_is_refused(void **state) {
  (void)state;
  static const byoc_dataflow_edge_t edges[] = {{0, 2}, {1, 3}};
  made_t made;
  make_graph(&made, 4, edges, 2);
  add_candidate(&made, (const uint32_t[]){0, 3}, 2, 0, 1);
  add_candidate(&made, (const uint32_t[]){1, 2}, 2, 1, 1);
  add_candidate(&made, (const uint32_t[]){1}, 1, 1, 1);
  static const struct {
    uint32_t chosen[2];
    const char *message;
  } cases[] = {{{0, 1}, "in a circle, from Sum 'n0' (ai.onnx 13) on"},
               {{0, 2}, "leaves out Sum 'n2'"},
               {{1, 2}, "takes Sum 'n1' (ai.onnx 13) twice"}};
  for (size_t i = 0; i < 3; ++i) {
    byoc_diag_t diag = {0};
    double cost = 0, transitions = 0;
    uint32_t chosen[2] = {cases[i].chosen[0], cases[i].chosen[1]};
    byoc_status_t status = byoc_cover_evaluate(&made.flow, made.list.items.data, chosen, 2, NULL,
                                               byoc_allocator_system(), &diag, &cost, &transitions);
    byoc_test_error(status, BYOC_INVALID_DATA, &diag, cases[i].message);
  }
  release(&made);
}

static byoc_status_t search_once(void *argument, byoc_allocator_t allocator) {
  const made_t *made = argument;
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  byoc_status_t status = byoc_cover_search(&made->flow, made->list.items.data, made->list.items.count, &made->costs,
                                           NULL, allocator, &diag, &cover);
  byoc_cover_deinit(&cover);
  return status;
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 5};
  for (int tested = 0; tested < 10;) {
    made_t made;
    make_random(&made, &random);
    if (made.flow.node_count > 8 && brute_force(&made) < (double)INFINITY) {
      byoc_test_each_allocation_fails(search_once, &made, false);
      ++tested;
    }
    release(&made);
  }
}

// Of the states of a layer, the best are kept up to the width, and one without open candidates whatever its bound.
static void a_layer_keeps_its_width(void **state) {
  (void)state;
  enum { STATES = 6, WIDTH = 2 };
  uint32_t offsets[2] = {0, 0}, slots[1] = {BYOC_COVER_NONE}, slot_count[2] = {0, 0};
  const byoc_cover_problem_t problem = {.allocator = byoc_allocator_system(),
                                        .node_count = 1,
                                        .predecessor_offsets = offsets,
                                        .successor_offsets = offsets,
                                        .slots = slots,
                                        .slot_count = slot_count};
  byoc_cover_selector_t selector;
  assert_true(byoc_cover_selector_init(&selector, &problem, true));
  byoc_cover_selector_start(&selector);
  byoc_cover_layer_t layer = {0};
  for (uint32_t i = 0; i < STATES; ++i) {
    struct {
      byoc_cover_state_t head;
      uint32_t opens[2];
    } made = {.head = {.cost = i, .bound = 10 + i, .rank = i, .open_count = i + 1 < STATES}, .opens = {i}};
    bool is_new = false;
    assert_non_null(byoc_cover_layer_add(&layer, &made.head, byoc_allocator_system(), &is_new));
    assert_true(is_new);
  }
  assert_true(byoc_cover_select(&selector, 0, &layer, WIDTH));
  static const uint32_t expected[] = {0, 1, STATES - 1};
  assert_int_equal(selector.kept.count, 3);
  for (size_t i = 0; i < 3; ++i) assert_int_equal(selector.kept.data[i], expected[i]);
  assert_true(selector.dropped == 12);
  byoc_cover_layer_deinit(&layer, byoc_allocator_system());
  byoc_cover_selector_deinit(&selector);
}

// The states that the search makes of three branches, their join and a chain of `length` nodes behind it.
static uint64_t count_states(uint32_t length) {
  byoc_dataflow_edge_t edges[MAX_NODES + 1] = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}};
  uint32_t count = 5 + length;
  for (uint32_t i = 0; i < length; ++i) edges[6 + i] = (byoc_dataflow_edge_t){4 + i, 5 + i};
  made_t made;
  make_graph(&made, count, edges, 6 + length);
  for (uint32_t node = 0; node < count; ++node) {
    for (uint32_t target = 0; target < PLACES; ++target) {
      add_candidate(&made, &node, 1, target, 10 + (node * 7 + target * 5) % 9);
      for (uint32_t to = 0; to < PLACES; ++to) made.transitions[node][target][to] = target == to ? 0 : 1 + node + to;
    }
  }
  made.costs = (byoc_cover_costs_t){.self = &made, .transition = transition};
  static const byoc_cover_options_t all = {.keep_all_candidates = true, .no_dominance = true};
  byoc_diag_t diag = {0};
  byoc_cover_t cover;
  byoc_test_ok(byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, &made.costs, &all,
                                 byoc_allocator_system(), &diag, &cover),
               &diag);
  assert_true(cover.is_proven);
  uint64_t states = cover.state_count;
  byoc_cover_deinit(&cover);
  release(&made);
  return states;
}

// Where everything passes through one node, one state per place is left, whatever came before: each node more is
// entered by each place from each place, and once more for the proof.
static void states_collapse_on_a_chain(void **state) {
  (void)state;
  enum { LONG = MAX_NODES - 5 };
  assert_in_range(count_states(LONG) - count_states(1), 1, 2 * (LONG - 1) * PLACES * PLACES);
}

// Many nodes are ready at once, all as good as each other: the first chain is taken to its end, then the next.
static void chains_are_taken_one_by_one(void **state) {
  (void)state;
  enum { CHAINS = 17, LENGTH = 3, NODES = CHAINS * LENGTH + 1 };
  byoc_dataflow_edge_t edges[CHAINS * LENGTH];
  for (uint32_t node = 0; node < CHAINS * LENGTH; ++node) {
    const uint32_t next = node + CHAINS; // in turns
    edges[node] = (byoc_dataflow_edge_t){node, next < CHAINS * LENGTH ? next : CHAINS * LENGTH};
  }
  byoc_diag_t diag = {0};
  byoc_dataflow_t flow;
  byoc_test_flow_make(&flow, NODES, edges, CHAINS * LENGTH);
  byoc_cover_problem_t problem = {.allocator = byoc_allocator_system(), .flow = &flow, .node_count = NODES};
  byoc_arena_init(&problem.arena, byoc_allocator_system());
  byoc_test_ok(byoc_cover_order(&problem, &diag), &diag);
  for (uint32_t at = 0; at + 1 < NODES; ++at) assert_int_equal(problem.order[at], at % LENGTH * CHAINS + at / LENGTH);
  byoc_arena_deinit(&problem.arena);
  byoc_test_flow_destroy(&flow);
}

// The search takes the nodes in the block's own order, or in one that keeps less waiting.
static void the_narrower_order_is_taken(void **state) {
  (void)state;
  // Two chains of four that are joined by node 8, node by node in turns and one after the other.
  static const byoc_dataflow_edge_t in_turns[] = {{0, 2}, {2, 4}, {4, 6}, {6, 8}, {1, 3}, {3, 5}, {5, 7}, {7, 8}};
  static const byoc_dataflow_edge_t apart[] = {{0, 1}, {1, 2}, {2, 3}, {3, 8}, {4, 5}, {5, 6}, {6, 7}, {7, 8}};
  static const uint32_t expected[9] = {0, 2, 4, 6, 1, 3, 5, 7, 8};
  for (int i = 0; i < 2; ++i) {
    byoc_diag_t diag = {0};
    byoc_dataflow_t flow;
    byoc_test_flow_make(&flow, 9, i == 0 ? in_turns : apart, 8);
    byoc_cover_problem_t problem = {.allocator = byoc_allocator_system(), .flow = &flow, .node_count = 9};
    byoc_arena_init(&problem.arena, byoc_allocator_system());
    byoc_test_ok(byoc_cover_order(&problem, &diag), &diag);
    for (uint32_t at = 0; at < 9; ++at) assert_int_equal(problem.order[at], i == 0 ? expected[at] : at);
    byoc_arena_deinit(&problem.arena);
    byoc_test_flow_destroy(&flow);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_that_nobody_takes_are_named),
      cmocka_unit_test(the_search_equals_brute_force),
      cmocka_unit_test(test_c9_the_search_with_copies_equals_brute_force),
      cmocka_unit_test(test_c13_the_search_within_an_error_limit_equals_brute_force),
      cmocka_unit_test(test_c13_a_long_chain_is_planned_near_its_bound),
      cmocka_unit_test(candidates_do_not_wait_for_each_other),
      cmocka_unit_test(a_tie_goes_to_the_first_target_and_to_fewer_parts),
      cmocka_unit_test(test_c9_transitions_decide),
      cmocka_unit_test(an_infinite_plan_names_the_nodes),
      cmocka_unit_test(bad_costs_are_refused),
      cmocka_unit_test(an_empty_block_is_covered_by_nothing),
      cmocka_unit_test(a_plan_that_is_none_is_refused),
      cmocka_unit_test(a_layer_keeps_its_width),
      cmocka_unit_test(states_collapse_on_a_chain),
      cmocka_unit_test(chains_are_taken_one_by_one),
      cmocka_unit_test(the_narrower_order_is_taken),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
