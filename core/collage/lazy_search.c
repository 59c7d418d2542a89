// SPDX-License-Identifier: Apache-2.0
// Searches the cheapest cover and measures only the candidates that the search asks for.
#include "core/collage/lazy_search.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/task.h"

// A search that only picks the next candidates to measure need not be exact.
#define GUIDING_STATES 100000
// How many candidates are measured together: of a cover, and on the way to a proof, where each answer changes the next
// question.
enum { BATCH = 32, WORST = 8 };
// The time to measure one of many: building, linking and starting are shared.
#define TYPICAL_NS 100000000

typedef struct lazy_t {
  byoc_price_list_t *prices;
  const byoc_cover_costs_t *costs;
  byoc_measuring_t *measuring;
  const uint32_t *subset; // NULL: all
  byoc_candidate_t **candidates;
  size_t count;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
} lazy_t;

void byoc_lazy_cover_deinit(byoc_lazy_cover_t *cover, byoc_allocator_t allocator) {
  byoc_vector_deinit(&cover->choice, allocator);
}

static byoc_status_t init(lazy_t *lazy, byoc_diag_t *diag) {
  const byoc_candidates_t *list = &lazy->prices->problem->candidates;
  lazy->allocator = list->arena.allocator;
  lazy->diag = diag;
  lazy->candidates = byoc_allocate(lazy->allocator, lazy->count, sizeof(*lazy->candidates));
  if (lazy->candidates == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < lazy->count; ++i) {
    lazy->candidates[i] = list->items.data[lazy->subset != NULL ? lazy->subset[i] : i];
  }
  return BYOC_OK;
}

static byoc_status_t search(const lazy_t *lazy, byoc_price_mode_t mode, uint64_t states, byoc_cover_t *out_cover) {
  byoc_price_list_set_costs(lazy->prices, mode);
  const byoc_cover_options_t options = {
      .state_budget = states, .limits_error = lazy->prices->limits_error, .error_limit = lazy->prices->error_limit};
  return byoc_cover_search(&lazy->prices->problem->flow, lazy->candidates, lazy->count, lazy->costs, &options,
                           lazy->allocator, lazy->diag, out_cover);
}

// "[####      ] 12 candidates measured, 340 from the database, at most 31 s left"
static void show_progress(byoc_measuring_t *measuring) {
  enum { CELLS = 20 };
  char text[160], bar[CELLS + 1];
  double left = (double)(measuring->budget_ns + measuring->reserve_ns);
  double all = (double)(measuring->total_ns + measuring->reserve_ns);
  double spent = all > 0 ? 1 - left / all : 1;
  for (int i = 0; i < CELLS; ++i) bar[i] = i < spent * CELLS ? '#' : ' ';
  bar[CELLS] = '\0';
  (void)snprintf(text, sizeof(text), "[%s] %llu candidates measured, %llu from the database, at most %.0f s left", bar,
                 (unsigned long long)measuring->measured, (unsigned long long)measuring->hits, left / 1e9);
  byoc_progress_step(&measuring->progress, (int64_t)measuring->measured, text);
}

// Measures several candidates of one target at once.
static byoc_status_t measure(const lazy_t *lazy, const uint32_t *candidates, size_t count) {
  byoc_measuring_t *measuring = lazy->measuring;
  show_progress(measuring);
  BYOC_RETURN_IF_ERROR(byoc_task_check(lazy->diag));
  int64_t start_ns = byoc_now_ns();
  size_t before = lazy->prices->measured, passing = lazy->prices->passing; // equal candidates are measured once
  BYOC_RETURN_IF_ERROR(byoc_price_list_measure(lazy->prices, candidates, count, lazy->diag));
  measuring->budget_ns -= byoc_now_ns() - start_ns;
  if (measuring->budget_ns < 0) measuring->budget_ns = 0;
  measuring->measured += lazy->prices->measured - before;
  measuring->passing += lazy->prices->passing - passing;
  return BYOC_OK;
}

static uint32_t index_of(const lazy_t *lazy, const byoc_cover_t *cover, uint32_t i) {
  return lazy->candidates[cover->chosen[i]]->index;
}

// Counts the unknown costs of a cover.
static size_t count_unknown(const lazy_t *lazy, const byoc_cover_t *cover) {
  size_t count = 0;
  for (uint32_t i = 0; i < cover->count; ++i) {
    count += !byoc_price_list_knows(lazy->prices, index_of(lazy, cover, i));
  }
  return count;
}

static byoc_status_t keep(const lazy_t *lazy, const byoc_cover_t *cover, byoc_lazy_cover_t *out) {
  out->cost_ns = cover->cost_ns;
  out->transition_ns = cover->transition_ns;
  out->is_measured = count_unknown(lazy, cover) == 0;
  for (uint32_t i = 0; i < cover->count; ++i) {
    if (!byoc_vector_push(&out->choice, lazy->allocator, index_of(lazy, cover, i))) {
      return byoc_diag_out_of_memory(lazy->diag);
    }
  }
  return BYOC_OK;
}

// Candidates of one target that are measured together.
typedef struct batch_t {
  uint32_t candidates[BATCH];
  size_t count, most; // at most as many as there seems to be time for
} batch_t;

static size_t most_in(const lazy_t *lazy, size_t most) {
  size_t affordable = (size_t)(1 + lazy->measuring->budget_ns / TYPICAL_NS);
  return affordable < most ? affordable : most;
}

static void add_unknown(const lazy_t *lazy, uint32_t candidate, batch_t *batch) {
  byoc_candidate_t *const *all = lazy->prices->problem->candidates.items.data;
  if (batch->count == batch->most || byoc_price_list_knows(lazy->prices, candidate)) return;
  bool is_same = batch->count == 0 || all[candidate]->target == all[batch->candidates[0]]->target;
  if (is_same) batch->candidates[batch->count++] = candidate;
}

// Collects the unknown candidates of a cover, for the target of the first one. If there is room, that target's regions
// of the alternative plans are measured too: they are needed later, and cost little more now.
static void list_unknown(const lazy_t *lazy, const byoc_cover_t *cover, batch_t *batch) {
  *batch = (batch_t){.most = most_in(lazy, BATCH)};
  for (uint32_t i = 0; i < cover->count; ++i) add_unknown(lazy, index_of(lazy, cover, i), batch);
  size_t count = lazy->prices->problem->candidates.items.count;
  for (uint32_t i = 0; i < count && batch->count > 0; ++i) {
    if (byoc_price_list_trusts(lazy->prices, i)) add_unknown(lazy, i, batch);
  }
}

// Measures all unknown candidates of a cover.
static byoc_status_t measure_all(const lazy_t *lazy, const byoc_cover_t *cover) {
  batch_t batch;
  while (lazy->measuring->budget_ns > 0) {
    list_unknown(lazy, cover, &batch);
    if (batch.count == 0) break;
    BYOC_RETURN_IF_ERROR(measure(lazy, batch.candidates, batch.count));
  }
  return BYOC_OK;
}

// How far the expected cost of a candidate is above its bound.
typedef struct gap_t {
  uint32_t candidate;
  double ns;
} gap_t;

static int compare_gaps(const void *left, const void *right) {
  const gap_t *a = left, *b = right;
  if (a->ns < b->ns || a->ns > b->ns) return a->ns > b->ns ? -1 : 1;
  return a->candidate < b->candidate ? -1 : a->candidate > b->candidate;
}

// Picks the candidate whose bound is furthest below its expected cost: it is the likeliest to change the cover. The
// next few of the same target go with it, because they cost little more.
static byoc_status_t measure_worst(const lazy_t *lazy, const byoc_cover_t *cover) {
  byoc_price_list_set_costs(lazy->prices, BYOC_PRICE_EXPECTED);
  gap_t *gaps = byoc_allocate(lazy->allocator, cover->count + 1, sizeof(*gaps));
  if (gaps == NULL) return byoc_diag_out_of_memory(lazy->diag);
  size_t gap_count = 0;
  for (uint32_t i = 0; i < cover->count; ++i) {
    uint32_t candidate = index_of(lazy, cover, i);
    if (byoc_price_list_knows(lazy->prices, candidate)) continue;
    const byoc_price_t *price = &lazy->prices->prices.data[lazy->prices->price_of[candidate]];
    gaps[gap_count++] = (gap_t){candidate, lazy->candidates[cover->chosen[i]]->cost_ns - price->bound_ns};
  }
  qsort(gaps, gap_count, sizeof(*gaps), compare_gaps);
  batch_t batch = {.most = most_in(lazy, WORST)};
  for (size_t i = 0; i < gap_count; ++i) add_unknown(lazy, gaps[i].candidate, &batch);
  byoc_free(lazy->allocator, gaps);
  return batch.count > 0 ? measure(lazy, batch.candidates, batch.count) : BYOC_OK;
}

// ---- by expected costs ----

// Measures until the whole best cover is known; the last cover stays in *cover.
static byoc_status_t explore(const lazy_t *lazy, byoc_cover_t *cover) {
  for (;;) {
    BYOC_RETURN_IF_ERROR(search(lazy, BYOC_PRICE_EXPECTED, GUIDING_STATES, cover));
    if (lazy->measuring->budget_ns <= 0 || count_unknown(lazy, cover) == 0) return BYOC_OK;
    byoc_status_t status = measure_all(lazy, cover);
    byoc_cover_deinit(cover);
    if (status != BYOC_OK) return status;
  }
}

byoc_status_t byoc_lazy_search_expected(byoc_price_list_t *prices, const uint32_t *subset, size_t subset_count,
                                        const byoc_cover_costs_t *costs, byoc_measuring_t *measuring, byoc_diag_t *diag,
                                        byoc_lazy_cover_t *out_cover) {
  *out_cover = (byoc_lazy_cover_t){.cost_ns = NAN, .transition_ns = NAN, .lower_bound_ns = NAN};
  lazy_t lazy = {.prices = prices,
                 .costs = costs,
                 .measuring = measuring,
                 .subset = subset,
                 .count = subset != NULL ? subset_count : prices->problem->candidates.items.count};
  byoc_cover_t cover = {0};
  byoc_status_t status = init(&lazy, diag);
  if (status == BYOC_OK) status = explore(&lazy, &cover);
  if (status == BYOC_OK) status = keep(&lazy, &cover, out_cover);
  if (cover.chosen != NULL) byoc_cover_deinit(&cover);
  byoc_free(lazy.allocator, lazy.candidates);
  if (status != BYOC_OK) byoc_lazy_cover_deinit(out_cover, lazy.allocator);
  return status;
}

// ---- by bounds ----

static byoc_status_t prove(const lazy_t *lazy, byoc_lazy_cover_t *out) {
  for (;;) {
    byoc_cover_t cover = {0};
    BYOC_RETURN_IF_ERROR(search(lazy, BYOC_PRICE_BOUND, GUIDING_STATES, &cover));
    bool is_known = count_unknown(lazy, &cover) == 0, is_over = lazy->measuring->budget_ns <= 0;
    byoc_status_t status = BYOC_OK;
    if (!is_known && !is_over) {
      status = measure_worst(lazy, &cover);
    } else if (!cover.is_proven) { // the proof needs more states
      byoc_cover_deinit(&cover);
      BYOC_RETURN_IF_ERROR(search(lazy, BYOC_PRICE_BOUND, 0, &cover));
      is_known = count_unknown(lazy, &cover) == 0;
    }
    out->lower_bound_ns = cover.lower_bound_ns;
    out->is_proven = is_known && cover.is_proven;
    byoc_cover_deinit(&cover);
    if (status != BYOC_OK || is_known || is_over) return status;
  }
}

// The best cover of known costs.
static byoc_status_t conclude(const lazy_t *lazy, byoc_lazy_cover_t *out) {
  byoc_cover_t cover = {0};
  BYOC_RETURN_IF_ERROR(search(lazy, BYOC_PRICE_KNOWN, 0, &cover));
  byoc_status_t status = keep(lazy, &cover, out);
  byoc_cover_deinit(&cover);
  if (out->lower_bound_ns > out->cost_ns) out->lower_bound_ns = out->cost_ns;
  out->is_proven = out->is_proven && out->is_measured;
  return status;
}

byoc_status_t byoc_lazy_search_among(byoc_price_list_t *prices, const uint32_t *subset, size_t subset_count,
                                     const byoc_cover_costs_t *costs, byoc_measuring_t *measuring, byoc_diag_t *diag,
                                     byoc_lazy_cover_t *out_cover) {
  *out_cover = (byoc_lazy_cover_t){.cost_ns = NAN, .transition_ns = NAN, .lower_bound_ns = NAN};
  lazy_t lazy = {.prices = prices, .costs = costs, .measuring = measuring, .subset = subset, .count = subset_count};
  byoc_cover_t cover = {0};
  byoc_status_t status = init(&lazy, diag);
  if (status == BYOC_OK) status = explore(&lazy, &cover);
  if (cover.chosen != NULL) byoc_cover_deinit(&cover);
  if (status == BYOC_OK) status = conclude(&lazy, out_cover);
  byoc_free(lazy.allocator, lazy.candidates);
  if (status != BYOC_OK) byoc_lazy_cover_deinit(out_cover, lazy.allocator);
  return status;
}

byoc_status_t byoc_lazy_search(byoc_price_list_t *prices, const byoc_cover_costs_t *costs, byoc_measuring_t *measuring,
                               byoc_diag_t *diag, byoc_lazy_cover_t *out_cover) {
  *out_cover = (byoc_lazy_cover_t){.cost_ns = NAN, .transition_ns = NAN, .lower_bound_ns = NAN};
  lazy_t lazy = {
      .prices = prices, .costs = costs, .measuring = measuring, .count = prices->problem->candidates.items.count};
  byoc_status_t status = init(&lazy, diag);
  if (status == BYOC_OK) status = prove(&lazy, out_cover);
  if (status == BYOC_OK) status = conclude(&lazy, out_cover);
  byoc_free(lazy.allocator, lazy.candidates);
  if (status != BYOC_OK) byoc_lazy_cover_deinit(out_cover, lazy.allocator);
  return status;
}
