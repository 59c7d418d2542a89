// SPDX-License-Identifier: Apache-2.0
// Weighs plans by their size: a backend may bring a library of many megabytes for a small gain of time.
//
// The library of a target is paid for once, however many regions the target has, so that the search of covers cannot
// count it. For each set of targets with large libraries, the cheapest cover without the others is found; the cheapest
// of all, with the libraries of its targets, is the plan. That is exact: an optimum uses one of these sets.
#include "core/base/log.h"
#include "core/collage/collage_internal.h"

// The most targets with large libraries; further ones count as light. Each doubles the covers to be found.
enum { MOST_HEAVY = 6 };
// The size of a target of which nothing was built yet: it may bring a library.
#define UNKNOWN_MIB 40.0
// A cover that is better by less than this fraction is not better: sums are rounded.
#define SHARE_OF_ROUNDING 1e-9

typedef struct weighing_t {
  byoc_collage_t *collage;
  uint32_t heavy[MOST_HEAVY]; // targets
  double mib[MOST_HEAVY];
  size_t count;
  double ns_per_mib;
} weighing_t;

double byoc_collage_size_ns(const byoc_collage_t *c, double mib, double base_ns) {
  return c->options->size_price > 0 && mib > 0 ? c->options->size_price * mib * base_ns : 0;
}

static void find_heavy(weighing_t *w) {
  const byoc_collage_options_t *options = w->collage->options;
  const byoc_target_list_t *targets = options->targets;
  for (uint32_t t = 0; t < targets->targets.count && w->count < MOST_HEAVY; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    if (target->kind->backend == NULL) continue;
    const double mib = options->pricer.size_mib(options->pricer.self, target);
    // Nothing is built of a target that states its costs; so its size is not known, and does not count.
    const bool is_stated = isnan(mib) && byoc_stated_answers(options->pricer.stated, t);
    if (mib <= 0 || is_stated) continue;
    if (isnan(mib)) {
      byoc_log(BYOC_LOG_INFO, "nothing of %s was measured: it counts as %.0f MiB", target->kind->name, UNKNOWN_MIB);
    }
    w->heavy[w->count] = t;
    w->mib[w->count++] = isnan(mib) ? UNKNOWN_MIB : mib;
  }
}

// The bit of a heavy target; 0 for the others.
static uint32_t bit_of(const weighing_t *w, uint32_t target) {
  for (size_t h = 0; h < w->count; ++h) {
    if (w->heavy[h] == target) return UINT32_C(1) << h;
  }
  return 0;
}

static double mib_of(const weighing_t *w, uint32_t bits) {
  double mib = 0;
  for (size_t h = 0; h < w->count; ++h) mib += (bits >> h & 1) != 0 ? w->mib[h] : 0;
  return mib;
}

static uint32_t bits_of(const weighing_t *w, const byoc_lazy_cover_t *covers) {
  const byoc_problems_t *problems = &w->collage->problems;
  uint32_t bits = 0;
  for (size_t i = 0; i < problems->items.count; ++i) {
    const byoc_candidates_t *list = &problems->items.data[i].candidates;
    for (size_t k = 0; k < covers[i].choice.count; ++k) {
      bits |= bit_of(w, list->items.data[covers[i].choice.data[k]]->target);
    }
  }
  return bits;
}

// The cheapest cover of one block by candidates of light targets and of these heavy ones.
static byoc_status_t cover_block(const weighing_t *w, size_t index, uint32_t bits, byoc_lazy_cover_t *out_cover) {
  byoc_collage_t *c = w->collage;
  const byoc_candidates_t *list = &c->problems.items.data[index].candidates;
  uint32_t *subset = byoc_allocate(c->allocator, list->items.count + 1, sizeof(*subset));
  size_t count = 0;
  if (subset == NULL) return byoc_diag_out_of_memory(c->diag);
  for (uint32_t i = 0; i < list->items.count; ++i) {
    if ((bit_of(w, list->items.data[i]->target) & ~bits) == 0) subset[count++] = i;
  }
  const byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[index]);
  const byoc_status_t status =
      byoc_lazy_search_among(&c->prices[index], subset, count, &costs, &c->measuring, c->diag, out_cover);
  byoc_free(c->allocator, subset);
  return status;
}

static void release(const weighing_t *w, byoc_lazy_cover_t *covers) {
  for (size_t i = 0; i < w->collage->problems.items.count; ++i) {
    byoc_lazy_cover_deinit(&covers[i], w->collage->allocator);
    covers[i] = (byoc_lazy_cover_t){0};
  }
}

static byoc_status_t cover_all(const weighing_t *w, uint32_t bits, byoc_lazy_cover_t *covers, double *out_ns) {
  byoc_status_t status = BYOC_OK;
  *out_ns = 0;
  for (size_t i = 0; i < w->collage->problems.items.count && status == BYOC_OK; ++i) {
    status = cover_block(w, i, bits, &covers[i]);
    *out_ns += covers[i].cost_ns;
  }
  if (status != BYOC_OK) release(w, covers);
  return status;
}

// The best cover that was found, with its size, and room for the next one.
typedef struct best_t {
  byoc_lazy_cover_t *covers, *spare;
  double ns, weighed_ns;
  uint32_t bits;
  bool is_found;
} best_t;

static byoc_status_t try_set(const weighing_t *w, uint32_t bits, best_t *best) {
  double ns = 0;
  BYOC_RETURN_IF_ERROR(cover_all(w, bits, best->spare, &ns));
  const uint32_t used = bits_of(w, best->spare);
  const double weighed_ns = ns + mib_of(w, used) * w->ns_per_mib;
  if (!(weighed_ns < best->weighed_ns * (1 - SHARE_OF_ROUNDING))) {
    release(w, best->spare);
    return BYOC_OK;
  }
  byoc_lazy_cover_t *worse = best->covers;
  if (best->is_found) release(w, worse);
  *best = (best_t){.covers = best->spare, .spare = worse, .ns = ns, .weighed_ns = weighed_ns, .bits = used};
  best->is_found = true;
  return BYOC_OK;
}

// The plan that wins by its size replaces the result of the search, which stays as an alternative.
static byoc_status_t replace_found(const weighing_t *w, const best_t *best, double found_mib) {
  byoc_collage_t *c = w->collage;
  byoc_collage_alternative_t *fastest = &c->alternatives[c->alternative_count - 1];
  const char *name = fastest->name;
  fastest->name = byoc_arena_format(&c->arena, "%s, of any size", name);
  if (fastest->name == NULL) return byoc_diag_out_of_memory(c->diag);
  fastest->is_of_any_size = true;
  BYOC_RETURN_IF_ERROR(byoc_collage_add_alternative(c, name, NULL));
  byoc_collage_alternative_t *found = &c->alternatives[c->alternative_count - 1];
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    found->covers[i] = best->covers[i];
    best->covers[i] = (byoc_lazy_cover_t){0};
    found->covers[i].lower_bound_ns = fastest->covers[i].lower_bound_ns;
    found->covers[i].is_proven = false; // it is not the fastest
  }
  found->sum_ns = found->expected_ns = best->ns;
  found->size_ns = mib_of(w, best->bits) * w->ns_per_mib;
  byoc_log(BYOC_LOG_INFO, "chosen for its size: %.0f MiB less, %.1f us instead of %.1f us",
           found_mib - mib_of(w, best->bits), best->ns / 1e3, fastest->sum_ns / 1e3);
  return BYOC_OK;
}

byoc_status_t byoc_collage_weigh(byoc_collage_t *c) {
  byoc_collage_alternative_t *found = &c->alternatives[c->alternative_count - 1];
  if (c->options->pricer.size_mib == NULL || !(c->options->size_price > 0) || !isfinite(found->sum_ns)) return BYOC_OK;
  weighing_t w = {.collage = c, .ns_per_mib = byoc_collage_size_ns(c, 1, found->sum_ns)};
  find_heavy(&w);
  const uint32_t used = bits_of(&w, found->covers);
  const size_t count = c->problems.items.count;
  best_t best = {.covers = BYOC_ARENA_ARRAY(&c->arena, byoc_lazy_cover_t, count),
                 .spare = BYOC_ARENA_ARRAY(&c->arena, byoc_lazy_cover_t, count)};
  if (best.covers == NULL || best.spare == NULL) return byoc_diag_out_of_memory(c->diag);
  found->size_ns = mib_of(&w, used) * w.ns_per_mib;
  best.weighed_ns = found->sum_ns + found->size_ns;
  byoc_status_t status = BYOC_OK;
  for (uint32_t bits = 0; bits < UINT32_C(1) << w.count && status == BYOC_OK; ++bits) {
    // No cover is faster than the one that was found, so that another one with the same libraries cannot be better.
    if (mib_of(&w, bits) < mib_of(&w, used)) status = try_set(&w, bits, &best);
  }
  if (status == BYOC_OK && best.is_found) status = replace_found(&w, &best, mib_of(&w, used));
  release(&w, best.covers);
  return status;
}
