// SPDX-License-Identifier: Apache-2.0
// The cheapest cover without measuring every candidate.
//
// Searches with guesses and measures the candidates of the best cover, until all of them are measured:
//   first with the expected costs of candidates, to have a good cover early;
//   then with bounds that no candidate undercuts. A cover that is best among these, and measured throughout, is the
//   optimum: every other cover costs at least its bounds.
// If the time for measuring ends before that, the cover is the best of measured candidates, and the last search's lower
// bound gives the largest distance from the optimum.
#ifndef BYOC_CORE_COLLAGE_LAZY_SEARCH_H_
#define BYOC_CORE_COLLAGE_LAZY_SEARCH_H_

#include "core/base/log.h"
#include "core/collage/cover.h"
#include "core/collage/price_list.h"

// The time for measuring, and its progress for the user.
typedef struct byoc_measuring_t {
  int64_t total_ns;   // at the start
  int64_t budget_ns;  // left; 0: measure nothing more
  int64_t reserve_ns; // the user's time for later steps: shown, not spent here
  byoc_progress_t progress;
  uint64_t measured, hits; // candidates in this build; costs that the database knew
  uint64_t passing;        // measured candidates whose cost may differ in the next build
} byoc_measuring_t;

typedef struct byoc_lazy_cover_t {
  byoc_choice_t choice; // candidates, in an order in which they can run; allocated by the candidates' allocator
  double cost_ns, transition_ns;
  double lower_bound_ns; // of all covers; NaN if bounds were not asked for
  bool is_measured;      // nothing in it is a guess
  bool is_proven;        // no cover costs less
} byoc_lazy_cover_t;

// Searches covers of these candidates (`subset`: indices; NULL: all) by their expected costs. Stops measuring when the
// budget ends. BYOC_NOT_FOUND or BYOC_MISMATCH (cover.h) if no cover of them is finite.
byoc_status_t byoc_lazy_search_expected(byoc_price_list_t *prices, const uint32_t *subset, size_t subset_count,
                                        const byoc_cover_costs_t *costs, byoc_measuring_t *measuring, byoc_diag_t *diag,
                                        byoc_lazy_cover_t *out_cover);
// The same, but if the time ends first, the cover is the best one whose costs are known.
byoc_status_t byoc_lazy_search_among(byoc_price_list_t *prices, const uint32_t *subset, size_t subset_count,
                                     const byoc_cover_costs_t *costs, byoc_measuring_t *measuring, byoc_diag_t *diag,
                                     byoc_lazy_cover_t *out_cover);
// Searches covers of all candidates until one is proven or the budget ends.
byoc_status_t byoc_lazy_search(byoc_price_list_t *prices, const byoc_cover_costs_t *costs, byoc_measuring_t *measuring,
                               byoc_diag_t *diag, byoc_lazy_cover_t *out_cover);
void byoc_lazy_cover_deinit(byoc_lazy_cover_t *cover, byoc_allocator_t allocator);

#endif // BYOC_CORE_COLLAGE_LAZY_SEARCH_H_
