// SPDX-License-Identifier: Apache-2.0
// Partitioning at least measured cost (--plan=collage).
//
// Every block is a problem of its own: candidates are collected, measured lazily, and the cheapest cover is searched
// (lazy_search.h). Then neighbouring regions of one target become candidates as one region, and the search goes on
// (coalesce.h). The result, greedy partitioning and each backend alone then compete as whole models, because the cost
// of a region does not show how regions affect each other. The best by time and size becomes the plan. Of plans that
// are about as good the smallest wins, and of equally small ones a backend alone, then greedy partitioning.
//
// If a target claims layout changes there are two such searches: over the module as it is, and over the module with
// such changes between its operators (the pass propose-layouts). The plans of both compete.
//
// Costs that a backend states (core/collage/stated.h) stand beside measured ones. A plan with such parts is not timed
// as a whole: its time is the sum of its parts.
//
// With an error budget (error_budget.h), inexact targets compete where the budget allows it; sizes then count for whole
// plans only.
//
// A plan costs its time and its size: a MiB of the artifact is worth `size_price` of that time. So a library of many
// megabytes comes along only for a gain, and of plans that take about as long the smallest wins (collage_size.c,
// collage_whole.c).
#ifndef BYOC_CORE_COLLAGE_PLACE_COLLAGE_H_
#define BYOC_CORE_COLLAGE_PLACE_COLLAGE_H_

#include "core/collage/cost_database.h"
#include "core/collage/error_budget.h"
#include "core/collage/estimate.h"
#include "core/collage/place.h"
#include "core/collage/rules.h"

// Times whole models. `apply` makes plan `i` of `count` from the module as it is, in a child process. Plans are built
// in their order; when the time ends, the rest is left out. *out_error: the standard error of the times relative to
// each other, as a share of them; 0 if not known.
typedef struct byoc_whole_pricer_t {
  void *self;
  byoc_status_t (*price)(void *self, size_t count,
                         byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement,
                                                byoc_diag_t *diag),
                         void *context, int64_t budget_ns, byoc_diag_t *diag,
                         double *out_ns,  // NaN: it could not be timed, or the time was used up
                         double *out_mib, // of the artifact; NaN: it was not built
                         double *out_error);
} byoc_whole_pricer_t;

typedef struct byoc_collage_options_t {
  const byoc_target_list_t *targets;
  byoc_function_pricer_t pricer;
  const byoc_estimator_t *estimator;
  byoc_whole_pricer_t whole;      // price NULL: whole models are not timed
  byoc_cost_database_t *database; // keeps the costs of whole models, and the finished searches; may be NULL
  // The key of these records beside the module: compiler, machine, threads; target and plugin stand for all of them.
  byoc_cost_key_t key;
  double budget_s;    // for measuring, parts and whole models together
  bool spend_budget;  // spend all of it if a proof needs it; otherwise proving takes no more time than finding
  double size_price;  // of a MiB of the artifact, as a share of the plan's time; 0: size does not count
  bool plain_layouts; // skip the second search
  const byoc_error_meter_t *meter; // NULL: there is no error budget, and inexact targets are used as any others
  double error;                    // the largest error that the meter's samples may promise
  const char *label;               // a label behind the names of alternative plans: "2 threads"; NULL: none
  byoc_collect_options_t collect;  // how far candidates are enumerated; 0: the default
} byoc_collage_options_t;

byoc_status_t byoc_place_collage(byoc_graph_module_t *module, const byoc_collage_options_t *options, byoc_diag_t *diag,
                                 byoc_placement_t *placement);

#endif // BYOC_CORE_COLLAGE_PLACE_COLLAGE_H_
