// SPDX-License-Identifier: Apache-2.0
// The cover search on large graphs: chains, ladders and random graphs with three backends. `--bench` prints how its
// time grows; without it, the small sizes are checked.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/collage/cover.h"
#include "tests/support/flow.h"
#include "tests/support/support.h"

typedef enum shape_t { CHAIN, LADDER, RANDOM, FAR, SHAPE_COUNT } shape_t;
static const char *const shape_names[] = {"chain", "ladder", "random", "far"};

typedef struct made_t {
  byoc_dataflow_t flow;
  byoc_candidates_t list;
  double *bytes; // of each node's results
} made_t;

// Chain: one after the other. Ladder: two rails and a rung at every step. Random: one or two operands among the 12
// nodes before, as in a network with branches. Far: operands from anywhere before, which no model looks like.
static void make_graph(made_t *made, shape_t shape, uint32_t n, byoc_test_random_t *random) {
  byoc_dataflow_edge_t *edges = calloc(2 * (size_t)n + 2, sizeof(*edges));
  assert_non_null(edges);
  size_t count = 0;
  for (uint32_t to = 1; to < n; ++to) {
    uint32_t reach = shape == FAR ? to : to < 12 ? to : 12;
    switch (shape) {
    case CHAIN:
      edges[count++] = (byoc_dataflow_edge_t){to - 1, to};
      break;
    case LADDER:
      if (to >= 2) edges[count++] = (byoc_dataflow_edge_t){to - 2, to};
      if (to % 2 == 1) edges[count++] = (byoc_dataflow_edge_t){to - 1, to};
      break;
    default:
      for (uint64_t k = byoc_test_below(random, 2) + 1; k > 0; --k) {
        edges[count++] = (byoc_dataflow_edge_t){to - 1 - (uint32_t)byoc_test_below(random, reach), to};
      }
    }
  }
  byoc_test_flow_make(&made->flow, n, edges, count);
  free(edges);
}

static void add(made_t *made, const uint32_t *nodes, uint32_t count, uint32_t target, double cost) {
  byoc_diag_t diag = {0};
  byoc_candidate_t candidate = {.target = target, .place = target, .rule = "made", .cost_ns = cost}, *out = NULL;
  assert_true(byoc_index_set_make(&made->list.arena, nodes, count, &candidate.nodes));
  byoc_test_ok(byoc_candidates_add(&made->list, &candidate, &diag, &out), &diag);
}

// Each node costs about 100 to 1,000 ns. Target 0 fuses two or three nodes along an edge, target 1 takes most nodes and
// groups of up to four, target 2 takes everything, node by node, at twice the price.
static void make_candidates(made_t *made, byoc_test_random_t *random) {
  byoc_candidates_init(&made->list, byoc_allocator_system());
  const byoc_dataflow_t *flow = &made->flow;
  made->bytes = calloc(flow->node_count, sizeof(*made->bytes));
  assert_non_null(made->bytes);
  for (uint32_t node = 0; node < flow->node_count; ++node) {
    double work = 100 + (double)byoc_test_below(random, 900);
    made->bytes[node] = 100 + (double)byoc_test_below(random, 1000);
    add(made, &node, 1, 2, 2 * work);
    if (byoc_test_below(random, 5) > 0)
      add(made, &node, 1, 1, work * (0.8 + 0.001 * (double)byoc_test_below(random, 600)));
    if (byoc_test_below(random, 3) == 0)
      add(made, &node, 1, 0, work * (0.6 + 0.001 * (double)byoc_test_below(random, 600)));
    uint32_t group[4] = {node}, count = 1;
    while (count < 4) { // along first successors: a path, so convex only where nothing goes around it
      uint32_t last = group[count - 1];
      if (flow->successor_offsets[last] == flow->successor_offsets[last + 1]) break;
      group[count++] = flow->successors[flow->successor_offsets[last]];
      double saving = 0.001 * (double)(500 + byoc_test_below(random, 500));
      if (count < 4 && byoc_test_below(random, 3) == 0) add(made, group, count, 0, 700 * count * saving);
      if (byoc_test_below(random, 2) == 0) add(made, group, count, 1, 650 * count * saving);
    }
  }
}

static double transition(void *self, uint32_t node, uint32_t from, uint32_t to) {
  return from == to ? 0 : 0.05 * ((const made_t *)self)->bytes[node];
}

// Milliseconds.
static double search(shape_t shape, uint32_t n, byoc_cover_t *cover) {
  byoc_test_random_t random = {.state = 77 + n};
  byoc_diag_t diag = {0};
  made_t made = {0};
  make_graph(&made, shape, n, &random);
  make_candidates(&made, &random);
  byoc_cover_costs_t costs = {.self = &made, .transition = transition};
  struct timespec start, end;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  byoc_test_ok(byoc_cover_search(&made.flow, made.list.items.data, made.list.items.count, &costs, NULL,
                                 byoc_allocator_system(), &diag, cover),
               &diag);
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  byoc_candidates_deinit(&made.list);
  byoc_test_flow_destroy(&made.flow);
  free(made.bytes);
  return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
}

static void large_graphs_are_covered(void **state) {
  (void)state;
  for (int shape = 0; shape < SHAPE_COUNT; ++shape) {
    for (uint32_t n = 100; n <= 1000; n *= 10) {
      byoc_cover_t cover;
      search((shape_t)shape, n, &cover);
      assert_true(cover.lower_bound_ns <= cover.cost_ns && cover.lower_bound_ns > 0.5 * cover.cost_ns);
      if (shape == CHAIN || shape == LADDER) assert_true(cover.is_proven);
      byoc_cover_deinit(&cover);
    }
  }
}

static void print_table(void) {
  printf("%-8s %6s %9s %9s %7s %12s %s\n", "graph", "nodes", "states", "peak", "ms", "cost ns", "gap");
  for (int shape = 0; shape < SHAPE_COUNT; ++shape) {
    for (uint32_t n = 100; n <= 10000; n *= 10) {
      byoc_cover_t cover;
      double ms = search((shape_t)shape, n, &cover);
      printf("%-8s %6u %9llu %9u %7.1f %12.0f ", shape_names[shape], n, (unsigned long long)cover.state_count,
             cover.peak_states, ms, cover.cost_ns);
      if (cover.is_proven) {
        puts("proven");
      } else {
        printf("%.3f%%\n", 100 * (1 - cover.lower_bound_ns / cover.cost_ns));
      }
      byoc_cover_deinit(&cover);
    }
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
    print_table();
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(large_graphs_are_covered)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
