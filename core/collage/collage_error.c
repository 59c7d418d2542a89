// SPDX-License-Identifier: Apache-2.0
// The error budget of a placement: measures errors, and keeps them for later builds.
#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/collage/collage_internal.h"
#include "core/collage/constraint.h"
#include "core/pass/pass.h"

// Each site is measured on so many samples; plans on all of them.
enum { SITE_SAMPLES = 2 };
// The share of the time for measuring that may be spent on the sites' errors.
#define SITE_SHARE 0.5

static byoc_problem_t *find_main(byoc_collage_t *c) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    if (byoc_error_budget_is_main(&c->problems.items.data[i])) return &c->problems.items.data[i];
  }
  return NULL;
}

// Records of times need not know the weights; errors depend on them.
static uint64_t hash_weights(const byoc_graph_module_t *module) {
  uint64_t hash = 0;
  for (size_t i = 0; i < module->constants.count; ++i) {
    hash += byoc_constant_hash(module->constants.data[i]); // independent of the order
  }
  return hash;
}

// ---- measuring ----

static byoc_status_t apply_switched(void *context, byoc_placement_t *placement, byoc_diag_t *diag) {
  byoc_collage_t *c = context;
  byoc_graph_module_t *module = c->module;
  const bool is_overlaid = c->is_overlaid || c->plain != NULL;
  if (is_overlaid) BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("cancel-layouts"), module, NULL, diag, NULL));
  return byoc_error_budget_place(&c->errors->budget, diag, placement);
}

static byoc_status_t open_model(byoc_collage_t *c) {
  byoc_collage_errors_t *errors = c->errors;
  const byoc_error_meter_t *meter = c->options->meter;
  if (errors->is_open) return BYOC_OK;
  byoc_progress_show("building the model with all precisions, to measure errors");
  BYOC_RETURN_IF_ERROR(meter->open(meter->self, apply_switched, c, errors->budget.switch_count, c->diag));
  errors->is_open = true;
  return BYOC_OK;
}

// A setting is named by the nodes and targets that it turns on, so that it is found again if candidates have other
// numbers.
static uint64_t hash_setting(const byoc_collage_t *c, const uint8_t *setting) {
  const byoc_error_budget_t *budget = &c->errors->budget;
  uint64_t sum = 0;
  for (size_t s = 0; s < budget->switch_count; ++s) {
    const byoc_candidate_t *candidate = budget->switches[s].candidate;
    if (setting[s]) sum += byoc_hash_combine(byoc_index_set_hash(&candidate->nodes), candidate->target);
  }
  return sum;
}

static byoc_status_t key_of(const byoc_collage_t *c, const char *what, uint64_t hash, size_t samples,
                            byoc_cost_key_t *out_key) {
  uint64_t all = byoc_hash_combine(byoc_collage_hash(c->plain != NULL ? c->plain : c), c->errors->weights);
  all = byoc_hash_combine(byoc_hash_combine(all, c->options->meter->samples_hash), samples);
  return byoc_collage_key(c, what, byoc_hash_combine(all, hash), &((byoc_collage_t *)(uintptr_t)c)->arena, out_key);
}

// Settings whose errors an earlier build measured are not measured again. If the time ended before a setting had seen
// all samples, its error serves this build alone.
static byoc_status_t measure(byoc_collage_t *c, const uint8_t *settings, size_t count, size_t samples,
                             int64_t budget_ns, double *errors) {
  const size_t width = c->errors->budget.switch_count;
  const byoc_error_meter_t *meter = c->options->meter;
  uint8_t *unknown = byoc_allocate(c->allocator, count + 1, width + 1);
  size_t *numbers = byoc_allocate(c->allocator, count + 1, sizeof(*numbers)), unknown_count = 0;
  byoc_measured_error_t *measured = byoc_allocate(c->allocator, count + 1, sizeof(*measured));
  byoc_cost_key_t key;
  byoc_status_t status = unknown && numbers && measured ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
  for (size_t k = 0; k < count && status == BYOC_OK; ++k) {
    status = key_of(c, "error of all samples", hash_setting(c, settings + k * width), samples, &key);
    if (status == BYOC_OK && byoc_collage_recall_note(c, key.id, &errors[k])) continue;
    memcpy(unknown + unknown_count * width, settings + k * width, width);
    numbers[unknown_count++] = k;
  }
  if (status == BYOC_OK && unknown_count > 0) status = open_model(c);
  if (status == BYOC_OK && unknown_count > 0) {
    status = meter->measure(meter->self, unknown, unknown_count, samples, budget_ns, c->diag, measured);
  }
  for (size_t u = 0; u < unknown_count && status == BYOC_OK; ++u) {
    errors[numbers[u]] = measured[u].error;
    status = key_of(c, "error of all samples", hash_setting(c, unknown + u * width), samples, &key);
    if (status == BYOC_OK && isfinite(measured[u].error) && measured[u].sample_count == samples) {
      byoc_collage_note(c, key.id, measured[u].error);
    }
  }
  byoc_free(c->allocator, unknown);
  byoc_free(c->allocator, numbers);
  byoc_free(c->allocator, measured);
  return status;
}

static byoc_status_t measure_sites(byoc_collage_t *c) {
  byoc_error_budget_t *budget = &c->errors->budget;
  const size_t count = budget->switch_count, samples = c->options->meter->sample_count;
  double *errors = BYOC_ARENA_ARRAY(&c->arena, double, count + 1);
  uint8_t *settings = byoc_allocate(c->allocator, count + 1, count + 1);
  if (errors == NULL || settings == NULL) return byoc_diag_out_of_memory(c->diag);
  for (size_t s = 0; s < count; ++s) settings[s * count + s] = 1;
  const int64_t start_ns = byoc_now_ns(), budget_ns = (int64_t)(c->options->budget_s * SITE_SHARE * 1e9);
  byoc_status_t status =
      count > 0 ? measure(c, settings, count, samples < SITE_SAMPLES ? samples : SITE_SAMPLES, budget_ns, errors)
                : BYOC_OK;
  byoc_free(c->allocator, settings);
  BYOC_RETURN_IF_ERROR(status);
  size_t unknown = 0;
  for (size_t s = 0; s < count; ++s) {
    budget->switches[s].error = errors[s] * errors[s];
    unknown += isnan(errors[s]);
  }
  byoc_log(BYOC_LOG_INFO, "errors of %zu region%s in %zu precision%s in all: measured in %.1f s", budget->site_count,
           byoc_plural(budget->site_count), count, byoc_plural(count), (double)(byoc_now_ns() - start_ns) / 1e9);
  if (unknown > 0) {
    byoc_log(BYOC_LOG_WARNING,
             "the time for measuring ended before the errors of %zu of %zu regions: these stay exact; --cost-budget "
             "SECONDS gives more time",
             unknown, count);
  }
  return BYOC_OK;
}

// ---- the budget ----

void byoc_collage_assign_errors(byoc_collage_t *c, size_t index) {
  if (c->errors != NULL) byoc_error_budget_assign(&c->errors->budget, &c->problems.items.data[index]);
}

void byoc_collage_limit_errors(byoc_collage_t *c, double limit) {
  c->errors->limit = limit;
  for (size_t i = 0; i < c->ready; ++i) {
    c->prices[i].limits_error = true;
    c->prices[i].error_limit = limit;
  }
}

byoc_status_t byoc_collage_open_errors(byoc_collage_t *c, byoc_collage_errors_t *errors) {
  c->errors = errors;
  if (c->plain == NULL) {
    const double goal = c->options->error / byoc_error_promise(c->options->meter, 1);
    *errors = (byoc_collage_errors_t){.goal = goal, .aim = goal};
    BYOC_RETURN_IF_ERROR(byoc_error_budget_init(&errors->budget, c->options->targets, c->allocator, c->diag));
    byoc_problem_t *problem = find_main(c);
    if (problem != NULL) BYOC_RETURN_IF_ERROR(byoc_error_budget_find_sites(&errors->budget, problem, c->diag));
    errors->weights = hash_weights(c->module);
    errors->settings = BYOC_ARENA_ARRAY(&c->arena, uint8_t, errors->budget.switch_count + 1);
    if (errors->settings == NULL) return byoc_diag_out_of_memory(c->diag);
    BYOC_RETURN_IF_ERROR(measure_sites(c));
    errors->limit = errors->aim * errors->aim;
  }
  for (size_t i = 0; i < c->problems.items.count; ++i) byoc_collage_assign_errors(c, i);
  byoc_collage_limit_errors(c, errors->limit);
  return BYOC_OK;
}

double byoc_collage_error_sum(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  double sum = 0;
  for (size_t i = 0; i < c->problems.items.count && alternative->is_possible; ++i) {
    sum += byoc_error_budget_sum(&c->problems.items.data[i], &alternative->covers[i].choice);
  }
  return sum;
}

// Is the plan one of exact targets alone?
static bool is_exact(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    if (!byoc_error_budget_is_exact(&c->problems.items.data[i], &alternative->covers[i].choice)) return false;
  }
  return true;
}

// ---- plans ----

byoc_status_t byoc_collage_measure_error(byoc_collage_t *c, byoc_collage_alternative_t *alternative) {
  byoc_collage_errors_t *errors = c->errors;
  const double sum = byoc_collage_error_sum(c, alternative);
  if (!alternative->is_possible) return BYOC_OK;
  alternative->error = 0;
  if (isinf(sum)) alternative->error = INFINITY;
  if (isfinite(sum) && !is_exact(c, alternative)) {
    memset(errors->settings, 0, errors->budget.switch_count);
    for (size_t i = 0; i < c->problems.items.count; ++i) {
      byoc_error_budget_select(&errors->budget, &c->problems.items.data[i], &alternative->covers[i].choice,
                               errors->settings);
    }
    BYOC_RETURN_IF_ERROR(measure(c, errors->settings, 1, c->options->meter->sample_count, 0, &alternative->error));
  }
  if (isnan(alternative->error)) alternative->error = INFINITY; // its runs took too long
  alternative->is_possible = alternative->error <= errors->aim;
  byoc_log(BYOC_LOG_INFO, "plan %s: error %.3g by the sum of squares, %.3g measured; at most %.3g%s", alternative->name,
           sqrt(sum), alternative->error, errors->aim, alternative->is_possible ? "" : ": no alternative");
  return BYOC_OK;
}

typedef struct plan_apply_t {
  byoc_collage_t *collage;
  const byoc_collage_alternative_t *alternative;
} plan_apply_t;

static byoc_status_t apply_plan(void *context, byoc_placement_t *placement, byoc_diag_t *diag) {
  const plan_apply_t *plan = context;
  return byoc_collage_apply(plan->collage, plan->alternative, diag, placement);
}

byoc_status_t byoc_collage_check_error(byoc_collage_t *c, byoc_collage_alternative_t *alternative) {
  const byoc_error_meter_t *meter = c->options->meter;
  const double expected = alternative->error;
  if (is_exact(c, alternative)) return BYOC_OK;
  uint64_t hash = c->plain != NULL;
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_candidates_t *list = &c->problems.items.data[i].candidates;
    const byoc_choice_t *choice = &alternative->covers[i].choice;
    uint64_t chosen = 0;
    for (size_t k = 0; k < choice->count; ++k) {
      const byoc_candidate_t *candidate = list->items.data[choice->data[k]];
      chosen += byoc_hash_combine(byoc_index_set_hash(&candidate->nodes), candidate->target);
    }
    hash = byoc_hash_combine(hash, chosen);
  }
  byoc_cost_key_t key;
  BYOC_RETURN_IF_ERROR(key_of(c, "error of a plan", hash, meter->sample_count, &key));
  if (!byoc_collage_recall_note(c, key.id, &alternative->error)) {
    plan_apply_t plan = {c, alternative};
    BYOC_RETURN_IF_ERROR(open_model(c));
    byoc_progress_show("checking the error of the plan");
    BYOC_RETURN_IF_ERROR(meter->check(meter->self, apply_plan, &plan, c->diag, &alternative->error));
    if (isnan(alternative->error)) alternative->error = INFINITY; // its runs took too long
    if (isfinite(alternative->error)) byoc_collage_note(c, key.id, alternative->error);
  }
  byoc_log(BYOC_LOG_INFO, "plan %s: error %.3g as it was built, %.3g with switches; at most %.3g", alternative->name,
           alternative->error, expected, c->errors->goal);
  return BYOC_OK;
}

// ---- the trade-off ----

// Limits of the curve's points, each so many times the one before, below and above the budget's.
#define CURVE_STEP 2.0
enum { CURVE_BELOW = 8, CURVE_ABOVE = 12, CURVE_STATES = 20000 };

// The cheapest plan of known costs within a limit; false if there is none.
static bool find_point(byoc_collage_t *c, double limit, byoc_plan_point_t *out) {
  *out = (byoc_plan_point_t){0};
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_problem_t *problem = &c->problems.items.data[i];
    const byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[i]);
    const byoc_cover_options_t options = {.state_budget = CURVE_STATES, .limits_error = true, .error_limit = limit};
    byoc_cover_t cover;
    byoc_diag_t why = {0};
    byoc_price_list_set_costs(&c->prices[i], BYOC_PRICE_KNOWN);
    if (byoc_cover_search(&problem->flow, problem->candidates.items.data, problem->candidates.items.count, &costs,
                          &options, c->allocator, &why, &cover) != BYOC_OK) {
      return false;
    }
    out->cost_ns += cover.cost_ns;
    out->error += cover.error;
    byoc_cover_deinit(&cover);
  }
  return true;
}

// Points are added from small errors to large ones: a point that is no faster than the last one is none of the curve.
static byoc_status_t add_point(byoc_plan_t *plan, byoc_plan_point_t point, byoc_diag_t *diag) {
  byoc_plan_budget_t *budget = &plan->budget;
  const byoc_plan_point_t *last = budget->curve.count > 0 ? &budget->curve.data[budget->curve.count - 1] : NULL;
  if (last != NULL && !(point.cost_ns < last->cost_ns)) return BYOC_OK;
  return byoc_vector_push(&budget->curve, plan->arena.allocator, point) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- what a budget gains ----

// Smaller gains are not worth a word.
#define GAIN_LEAST 0.95

// The key of the notes: the model, the machine and the exact targets, which are those of a build without a budget.
static byoc_status_t gain_id(byoc_collage_t *c, const char *what, const char **out_id) {
  const byoc_cost_key_t *key = &c->options->key;
  const byoc_target_list_t *targets = c->options->targets;
  const uint64_t model = byoc_collage_hash(c->plain != NULL ? c->plain : c);
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update_string(&hasher, "byoc gain 1");
  byoc_hasher_update_string(&hasher, what);
  byoc_hasher_update(&hasher, &model, sizeof(model));
  for (size_t t = 0; t < targets->targets.count; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    if (!(byoc_target_relative_error(target) > 0)) byoc_hasher_update_string(&hasher, target->text);
  }
  byoc_hasher_update_string(&hasher, key->compiler);
  byoc_hasher_update_string(&hasher, key->machine);
  byoc_hasher_update(&hasher, &key->thread_count, sizeof(key->thread_count));
  char text[33];
  byoc_content_hash_format(byoc_hasher_finish(&hasher), text);
  *out_id = byoc_arena_copy_string(&c->arena, text);
  return *out_id != NULL ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

// Times of whole plans, if the plan has one; else the sums.
static double time_of(const byoc_collage_alternative_t *alternative, bool is_whole) {
  return is_whole ? alternative->whole_ns : alternative->sum_ns;
}

static byoc_status_t note_gain(byoc_collage_t *c, const byoc_collage_alternative_t *plan) {
  const bool is_whole = !isnan(plan->whole_ns);
  double exact_ns = INFINITY;
  for (const byoc_collage_t *search = c; search != NULL; search = search->plain) {
    for (size_t r = 0; r < search->alternative_count; ++r) {
      const byoc_collage_alternative_t *alternative = &search->alternatives[r];
      if (!alternative->is_possible || !is_exact(search, alternative)) continue;
      exact_ns = fmin(exact_ns, time_of(alternative, is_whole));
    }
  }
  const double ratio = time_of(plan, is_whole) / exact_ns;
  const char *error_id = NULL, *ratio_id = NULL;
  if (!(ratio > 0 && ratio < GAIN_LEAST)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(gain_id(c, "error", &error_id));
  BYOC_RETURN_IF_ERROR(gain_id(c, "ratio", &ratio_id));
  byoc_collage_note(c, error_id, c->options->error);
  byoc_collage_note(c, ratio_id, ratio);
  return BYOC_OK;
}

byoc_status_t byoc_collage_recall_gain(byoc_collage_t *c, byoc_plan_t *record) {
  const char *error_id = NULL, *ratio_id = NULL;
  BYOC_RETURN_IF_ERROR(gain_id(c, "error", &error_id));
  BYOC_RETURN_IF_ERROR(gain_id(c, "ratio", &ratio_id));
  byoc_plan_gain_t gain;
  const bool is_known =
      byoc_collage_recall_note(c, error_id, &gain.error) && byoc_collage_recall_note(c, ratio_id, &gain.ratio);
  if (is_known) record->gain = gain;
  return BYOC_OK;
}

byoc_status_t byoc_collage_record_errors(byoc_collage_t *c, const byoc_collage_alternative_t *plan,
                                         byoc_plan_t *record) {
  const byoc_error_meter_t *meter = c->options->meter;
  byoc_plan_budget_t *budget = &record->budget;
  const double sum = byoc_collage_error_sum(c, plan);
  // The curve is drawn by the rule of squares, corrected by what was measured of this plan.
  const double correction = sum > 0 && plan->error > 0 ? plan->error / sqrt(sum) : 1;
  byoc_vector_deinit(&budget->curve, record->arena.allocator); // of a plan for another number of threads
  *budget = (byoc_plan_budget_t){.allowed = c->options->error,
                                 .measured = fmax(budget->measured, plan->error),
                                 .promised = fmax(budget->promised, byoc_error_promise(meter, plan->error)),
                                 .sample_count = (uint32_t)meter->sample_count,
                                 .is_generated = meter->is_generated};
  BYOC_RETURN_IF_ERROR(note_gain(c, plan));
  const double center = c->errors->goal * c->errors->goal / (correction * correction);
  byoc_plan_point_t point;
  if (find_point(c, 0, &point)) BYOC_RETURN_IF_ERROR(add_point(record, point, c->diag));
  for (int k = -CURVE_BELOW; k <= CURVE_ABOVE; ++k) {
    if (!find_point(c, center * pow(CURVE_STEP, k), &point)) continue;
    point.error = sqrt(point.error) * correction;
    BYOC_RETURN_IF_ERROR(add_point(record, point, c->diag));
  }
  return BYOC_OK;
}
