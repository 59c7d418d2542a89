// The cheapest cover without measuring every candidate.
//
// Searches with guesses and measures what the best cover holds, until it holds nothing that is not measured:
//   first with what candidates may be expected to cost, to have a good cover early;
//   then with bounds that no candidate undercuts. A cover that is best among these, and measured throughout, is the
//   optimum: every other cover costs at least its bounds.
// Where the time for measuring ends before that, the cover is the best of what was measured, and the last search's
// lower bound says how far from the optimum it is at most.
#ifndef BYOC_CORE_COLLAGE_LAZY_SEARCH_H_
#define BYOC_CORE_COLLAGE_LAZY_SEARCH_H_

#include "core/base/log.h"
#include "core/collage/cover.h"
#include "core/collage/price_list.h"

// Time for measuring, and what the user sees of it.
typedef struct byoc_measuring_t {
  int64_t total_ns;   // to begin with
  int64_t budget_ns;  // left; 0: measure nothing more
  int64_t reserve_ns; // of the user's time beyond this, for what follows: shown, not spent
  byoc_progress_t progress;
  uint64_t measured, hits; // candidates in this build; prices that the database knew
  uint64_t passing;        // of the former, whose price may be another in the next build
} byoc_measuring_t;

typedef struct byoc_lazy_cover_t {
  byoc_choice_t choice; // candidates, in an order in which they can run; allocated by the candidates' allocator
  double cost_ns, transition_ns;
  double lower_bound_ns; // of all covers; NaN where bounds were not asked for
  bool is_measured;      // nothing in it is a guess
  bool is_proven;        // no cover costs less
} byoc_lazy_cover_t;

// Covers of these candidates (`subset`: indices; NULL: all), by what is expected of them. Stops measuring when the
// budget ends. BYOC_NOT_FOUND where no cover of them is finite.
byoc_status_t byoc_lazy_search_expected(byoc_price_list_t *prices, const uint32_t *subset, size_t subset_count,
                                        const byoc_cover_costs_t *costs, byoc_measuring_t *measuring, byoc_diag_t *diag,
                                        byoc_lazy_cover_t *out_cover);
// Covers of all candidates, until it is proven or the budget ends.
byoc_status_t byoc_lazy_search(byoc_price_list_t *prices, const byoc_cover_costs_t *costs, byoc_measuring_t *measuring,
                               byoc_diag_t *diag, byoc_lazy_cover_t *out_cover);
void byoc_lazy_cover_deinit(byoc_lazy_cover_t *cover, byoc_allocator_t allocator);

#endif // BYOC_CORE_COLLAGE_LAZY_SEARCH_H_
