// SPDX-License-Identifier: Apache-2.0
// Finds a lower bound of the remaining cost: numbers on the nodes whose sum, over the nodes of any candidate, is at
// most its weight, which is its cost without a limit on errors (a solution of the dual of the exact cover without
// transitions). Any cover of a set of nodes costs at least the sum of their numbers. Three ways to get such numbers are
// tried, and the one with the largest sum is kept:
//   share    each node gets the least share of a candidate's cost
//   forward  each node gets as much as the candidates that end there allow: exact where candidates are intervals
//   backward the same from the other end
// and each is then raised node by node until every node is in a candidate that is fully paid.
#include <math.h>
#include <string.h>

#include "core/collage/cover_problem.h"

// The items that hold each position.
typedef struct holders_t {
  uint32_t *offsets, *items;
} holders_t;

static bool find_holders(const byoc_cover_problem_t *p, byoc_arena_t *arena, holders_t *out_holders) {
  uint32_t n = p->node_count;
  size_t total = 0;
  for (size_t i = 0; i < p->item_count; ++i) total += p->items[i].count;
  out_holders->offsets = BYOC_ARENA_ARRAY(arena, uint32_t, (size_t)n + 1);
  out_holders->items = BYOC_ARENA_ARRAY(arena, uint32_t, total);
  uint32_t *fill = BYOC_ARENA_ARRAY(arena, uint32_t, n);
  if (!out_holders->offsets || !out_holders->items || !fill || total >= UINT32_MAX) return false;
  for (size_t i = 0; i < p->item_count; ++i) {
    for (uint32_t k = 0; k < p->items[i].count; ++k) out_holders->offsets[p->items[i].nodes[k] + 1] += 1;
  }
  for (uint32_t i = 0; i < n; ++i) out_holders->offsets[i + 1] += out_holders->offsets[i];
  for (size_t i = 0; i < p->item_count; ++i) {
    for (uint32_t k = 0; k < p->items[i].count; ++k) {
      uint32_t node = p->items[i].nodes[k];
      out_holders->items[out_holders->offsets[node] + fill[node]++] = (uint32_t)i;
    }
  }
  return true;
}

// The numbers on the nodes, and their sums over the nodes of each item.
typedef struct prices_t {
  const byoc_cover_problem_t *problem;
  holders_t holders;
  double *values, *sums;
} prices_t;

static void set_value(prices_t *prices, uint32_t at, double value) {
  double change = value - prices->values[at];
  prices->values[at] = value;
  for (uint32_t h = prices->holders.offsets[at]; h < prices->holders.offsets[at + 1]; ++h) {
    prices->sums[prices->holders.items[h]] += change;
  }
}

static void share(prices_t *prices) {
  const byoc_cover_problem_t *p = prices->problem;
  memset(prices->values, 0, p->node_count * sizeof(*prices->values));
  memset(prices->sums, 0, p->item_count * sizeof(*prices->sums));
  for (uint32_t at = 0; at < p->node_count; ++at) {
    double least = INFINITY;
    for (uint32_t h = prices->holders.offsets[at]; h < prices->holders.offsets[at + 1]; ++h) {
      const byoc_cover_item_t *item = &p->items[prices->holders.items[h]];
      least = fmin(least, item->weight / item->count);
    }
    if (least < INFINITY) set_value(prices, at, least);
  }
}

// After `share`: its values stay where no candidate ends; later nodes make up for them.
static void sweep(prices_t *prices, bool is_forward) {
  const byoc_cover_problem_t *p = prices->problem;
  for (uint32_t i = 0; i < p->node_count; ++i) {
    uint32_t at = is_forward ? i : p->node_count - 1 - i;
    double slack = INFINITY;
    for (uint32_t h = prices->holders.offsets[at]; h < prices->holders.offsets[at + 1]; ++h) {
      uint32_t index = prices->holders.items[h];
      const byoc_cover_item_t *item = &p->items[index];
      bool ends_here = at == item->nodes[is_forward ? item->count - 1 : 0];
      if (ends_here) slack = fmin(slack, item->weight - prices->sums[index]);
    }
    if (slack < INFINITY) set_value(prices, at, prices->values[at] + slack);
  }
}

// Returns the sum of all.
static double raise_all(prices_t *prices) {
  const byoc_cover_problem_t *p = prices->problem;
  double sum = 0;
  for (uint32_t at = 0; at < p->node_count; ++at) {
    double slack = INFINITY;
    for (uint32_t h = prices->holders.offsets[at]; h < prices->holders.offsets[at + 1]; ++h) {
      uint32_t index = prices->holders.items[h];
      slack = fmin(slack, p->items[index].weight - prices->sums[index]);
    }
    if (slack > 0 && slack < INFINITY) set_value(prices, at, prices->values[at] + slack);
    sum += prices->values[at];
  }
  return sum;
}

// The best of three ways; returns its sum.
static double find_potentials(prices_t *prices) {
  const byoc_cover_problem_t *p = prices->problem;
  double best = -INFINITY;
  for (int way = 0; way < 3; ++way) {
    share(prices);
    if (way > 0) sweep(prices, way == 1);
    double sum = raise_all(prices);
    if (sum > best) {
      best = sum;
      memcpy(p->potentials, prices->values, p->node_count * sizeof(*prices->values));
    }
  }
  return best;
}

// The lower bound with this price of errors.
static double try_price(byoc_cover_problem_t *p, prices_t *prices, double price) {
  for (size_t i = 0; i < p->item_count; ++i) p->items[i].weight = p->items[i].cost + price * p->items[i].error;
  p->error_price = price;
  return find_potentials(prices) - price * p->error_limit;
}

// The sum of costs over the limit is the scale: at a price far above it all errors are too dear.
#define PRICE_STEP 4.0
enum { PRICE_STEPS_DOWN = 8, PRICE_STEPS_UP = 6, PRICE_HALVINGS = 3 };

// Searches the price with the highest bound on a grid, and then between its neighbours.
static void find_price(byoc_cover_problem_t *p, prices_t *prices) {
  double costs = 0, best = 0, step = PRICE_STEP, best_bound = try_price(p, prices, 0);
  for (uint32_t at = 0; at < p->node_count; ++at) costs += p->potentials[at];
  if (!(p->error_limit > 0) || !(costs > 0)) return;
  for (int k = -PRICE_STEPS_DOWN; k <= PRICE_STEPS_UP; ++k) {
    const double price = costs / p->error_limit * pow(PRICE_STEP, k), bound = try_price(p, prices, price);
    if (!(bound > best_bound)) continue;
    best = price;
    best_bound = bound;
  }
  for (int h = 0; h < PRICE_HALVINGS && best > 0; ++h) {
    step = sqrt(step);
    const double sides[] = {best / step, best * step};
    for (int side = 0; side < 2; ++side) {
      const double bound = try_price(p, prices, sides[side]);
      if (!(bound > best_bound)) continue;
      best = sides[side];
      best_bound = bound;
    }
  }
  (void)try_price(p, prices, best);
}

static bool has_errors(const byoc_cover_problem_t *p) {
  for (size_t i = 0; i < p->item_count && p->limits_error; ++i) {
    if (p->items[i].error > 0) return true;
  }
  return false;
}

byoc_status_t byoc_cover_bound(byoc_cover_problem_t *p, byoc_diag_t *diag) {
  uint32_t n = p->node_count;
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, p->allocator);
  prices_t prices = {.problem = p};
  p->potentials = BYOC_ARENA_ARRAY(&p->arena, double, n);
  p->remaining = BYOC_ARENA_ARRAY(&p->arena, double, (size_t)n + 1);
  prices.values = BYOC_ARENA_ARRAY(&scratch, double, n);
  prices.sums = BYOC_ARENA_ARRAY(&scratch, double, p->item_count);
  const bool ok =
      p->potentials && p->remaining && prices.values && prices.sums && find_holders(p, &scratch, &prices.holders);
  if (ok && has_errors(p)) find_price(p, &prices);
  if (ok && !has_errors(p)) (void)find_potentials(&prices);
  for (uint32_t at = n; ok && at-- > 0;) p->remaining[at] = p->remaining[at + 1] + p->potentials[at];
  byoc_arena_deinit(&scratch);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
