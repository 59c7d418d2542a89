// SPDX-License-Identifier: Apache-2.0
// Calls the hooks by which backends state costs, and checks what they state.
#include "core/plugin/costs_hook.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/plugin/abi.h"
#include "core/plugin/child_hook.h"
#include "core/targets/hook.h"

// The answer of a child process; the figures of functions follow it.
typedef struct answer_t {
  byoc_status_t status;
  char reason[1024];
  byoc_target_costs_t costs;
  byoc_stated_figures_t figures[];
} answer_t;

// A query at work; the hook gets the address of its first field.
typedef struct asked_t {
  byoc_cost_query_t query;
  byoc_stated_figures_t *figures;
  bool *is_stated;
  byoc_diag_t failure; // of the first statement that was refused
  byoc_diag_t error;   // from query->error
} asked_t;

// ---- checking ----

static byoc_status_t check_figure(double value, const char *what, byoc_diag_t *diag) {
  if (value >= 0 && value < INFINITY) return BYOC_OK;
  if (isnan(value)) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is not a number", what);
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is %g, but figures are finite and at least 0", what, value);
}

static byoc_status_t take_figure(uint32_t stated, uint32_t bit, double value, const char *what, byoc_diag_t *diag,
                                 double *out) {
  if ((stated & bit) == 0) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(check_figure(value, what, diag));
  *out = value;
  return BYOC_OK;
}

static byoc_status_t take_cost(const byoc_stated_cost_t *cost, byoc_diag_t *diag, byoc_stated_figures_t *out) {
  byoc_stated_cost_t own;
  BYOC_RETURN_IF_ERROR(byoc_abi_read(cost, byoc_abi_of(byoc_stated_cost_t), "the cost", &own, diag));
  BYOC_RETURN_IF_ERROR(take_figure(own.stated, BYOC_STATED_TIME, own.time_ns, "time_ns", diag, &out->time_ns));
  BYOC_RETURN_IF_ERROR(
      take_figure(own.stated, BYOC_STATED_MOVED_BYTES, own.moved_bytes, "moved_bytes", diag, &out->moved_bytes));
  return take_figure(own.stated, BYOC_STATED_ENERGY, own.energy_nj, "energy_nj", diag, &out->energy_nj);
}

static const char *first_operator(const byoc_function_t *function) {
  while (function->kind == BYOC_FUNCTION_GRAPH && function->body->first != NULL) {
    const byoc_node_t *node = function->body->first;
    if (node->callee == NULL) return node->op;
    function = node->callee;
  }
  return "no operator";
}

// ---- the query's own functions ----

// Begins the answer about a function, which may get one.
static byoc_status_t begin_answer(asked_t *asked, uint32_t index, byoc_diag_t *diag) {
  const uint32_t count = asked->query.function_count;
  byoc_foreign_beat();
  if (index >= count) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it states the cost of function %u of %u, counted from 0",
                           (unsigned)index, (unsigned)count);
  }
  if (asked->is_stated[index]) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it states the cost of function %u of %u twice",
                           (unsigned)index, (unsigned)count);
  }
  asked->is_stated[index] = true;
  return BYOC_OK;
}

static int32_t end_answer(asked_t *asked, byoc_status_t status, const byoc_diag_t *diag) {
  if (status != BYOC_OK && asked->failure.status == BYOC_OK) asked->failure = *diag;
  return status;
}

static int32_t state(const byoc_cost_query_t *query, uint32_t index, const byoc_stated_cost_t *cost) {
  asked_t *asked = (asked_t *)(uintptr_t)query;
  byoc_diag_t diag = {0};
  byoc_status_t status = begin_answer(asked, index, &diag);
  if (status == BYOC_OK) {
    status = byoc_diag_context(&diag, take_cost(cost, &diag, &asked->figures[index]),
                               "the cost that it states for function %u of %u, which begins with %s", (unsigned)index,
                               (unsigned)query->function_count, first_operator(query->functions[index]));
  }
  return end_answer(asked, status, &diag);
}

static int32_t decline(const byoc_cost_query_t *query, uint32_t index, const char *reason) {
  asked_t *asked = (asked_t *)(uintptr_t)query;
  byoc_diag_t diag = {0};
  byoc_status_t status = begin_answer(asked, index, &diag);
  const bool is_given = reason != NULL && reason[0] != '\0';
  if (status == BYOC_OK && !(is_given && byoc_abi_text_is_printable(reason, strlen(reason)))) {
    status = byoc_diag_error(&diag, BYOC_INVALID_DATA, "it declines function %u of %u without a printable reason",
                             (unsigned)index, (unsigned)query->function_count);
  }
  if (status == BYOC_OK) {
    (void)snprintf(asked->figures[index].declined, sizeof(asked->figures[index].declined), "%s", reason);
  }
  return end_answer(asked, status, &diag);
}

static int32_t record_error(const byoc_cost_query_t *query, int32_t status, const char *message) {
  asked_t *asked = (asked_t *)(uintptr_t)query;
  return byoc_hook_keep_error(&asked->error, status, message);
}

// ---- in this process ----

static byoc_status_t state_functions(asked_t *asked, byoc_diag_t *diag) {
  const byoc_target_t *target = asked->query.target;
  const byoc_backend_t *backend = target->kind->backend;
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  const byoc_foreign_t outer = byoc_hook_enter(target, "hook state_costs", NULL, NULL);
  const int32_t status = backend->state_costs(backend->self, &asked->query);
  byoc_foreign_leave(&outer);
  if (asked->failure.status != BYOC_OK) return byoc_diag_adopt(diag, &asked->failure);
  return byoc_hook_end("state_costs", status, &asked->error, &before, diag);
}

byoc_status_t byoc_hook_state_costs_here(const byoc_target_t *target, byoc_function_t *const *functions, uint32_t count,
                                         int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                         byoc_stated_figures_t *out_figures) {
  asked_t asked = {.query = {.header = BYOC_HEADER(byoc_cost_query_t, 1),
                             .target = target,
                             .functions = functions,
                             .function_count = count,
                             .thread_count = thread_count > 0 ? (uint32_t)thread_count : 1,
                             .state = state,
                             .decline = decline,
                             .error = record_error},
                   .figures = out_figures,
                   .is_stated = byoc_allocate(allocator, count, sizeof(bool))};
  if (asked.is_stated == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < count; ++i) out_figures[i] = (byoc_stated_figures_t)BYOC_STATED_NOTHING;
  const byoc_status_t status = state_functions(&asked, diag);
  byoc_free(allocator, asked.is_stated);
  return status;
}

static byoc_status_t check_target_costs(const byoc_target_costs_t *costs, byoc_diag_t *diag) {
  const struct {
    const char *name;
    double value;
  } figures[] = {{"enter_ns", costs->enter_ns},
                 {"enter_ns_per_byte", costs->enter_ns_per_byte},
                 {"leave_ns", costs->leave_ns},
                 {"leave_ns_per_byte", costs->leave_ns_per_byte}};
  BYOC_RETURN_IF_ERROR_IN(diag, check_figure(costs->least_operations, "least_operations", diag),
                          "the costs that it states for the target");
  for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]) && (costs->stated & BYOC_STATED_BOUNDARY) != 0; ++i) {
    BYOC_RETURN_IF_ERROR_IN(diag, check_figure(figures[i].value, figures[i].name, diag),
                            "the costs that it states for the target");
  }
  return BYOC_OK;
}

byoc_status_t byoc_hook_state_target_costs_here(const byoc_target_t *target, byoc_diag_t *diag,
                                                byoc_target_costs_t *out_costs) {
  const byoc_backend_t *backend = target->kind->backend;
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  *out_costs = (byoc_target_costs_t){.header = BYOC_HEADER(byoc_target_costs_t, 1)};
  const byoc_foreign_t outer = byoc_hook_enter(target, "hook state_target_costs", NULL, NULL);
  const int32_t status = backend->state_target_costs(backend->self, target, out_costs);
  byoc_foreign_leave(&outer);
  BYOC_RETURN_IF_ERROR(byoc_hook_end("state_target_costs", status, NULL, &before, diag));
  return check_target_costs(out_costs, diag);
}

// ---- in a child process ----

typedef struct question_t {
  const byoc_target_t *target;
  byoc_function_t *const *functions;
  uint32_t count;
  int32_t thread_count;
} question_t;

static void answer_functions(void *self, void *out) {
  const question_t *question = self;
  answer_t *answer = out;
  byoc_diag_t diag = {0};
  answer->status = byoc_hook_state_costs_here(question->target, question->functions, question->count,
                                              question->thread_count, byoc_allocator_system(), &diag, answer->figures);
  byoc_diag_format(&diag, answer->reason, sizeof(answer->reason));
}

static void answer_target(void *self, void *out) {
  const question_t *question = self;
  answer_t *answer = out;
  byoc_diag_t diag = {0};
  answer->status = byoc_hook_state_target_costs_here(question->target, &diag, &answer->costs);
  byoc_diag_format(&diag, answer->reason, sizeof(answer->reason));
}

static byoc_status_t ask(void (*body)(void *, void *), question_t *question, answer_t *answer, size_t size_bytes,
                         byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_hook_run_in_child(body, question, answer, size_bytes, diag));
  answer->reason[sizeof(answer->reason) - 1] = '\0';
  return answer->status == BYOC_OK ? BYOC_OK : byoc_diag_error(diag, BYOC_TOOL, "%s", answer->reason);
}

byoc_status_t byoc_hook_state_costs(const byoc_target_t *target, byoc_function_t *const *functions, uint32_t count,
                                    int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_stated_figures_t *out_figures) {
  question_t question = {target, functions, count, thread_count};
  const size_t size_bytes = sizeof(answer_t) + count * sizeof(byoc_stated_figures_t);
  answer_t *answer = byoc_allocate(allocator, size_bytes, 1);
  if (answer == NULL) return byoc_diag_out_of_memory(diag);
  const byoc_status_t status = ask(answer_functions, &question, answer, size_bytes, diag);
  if (status == BYOC_OK) memcpy(out_figures, answer->figures, count * sizeof(*out_figures));
  byoc_free(allocator, answer);
  return status;
}

byoc_status_t byoc_hook_state_target_costs(const byoc_target_t *target, byoc_diag_t *diag,
                                           byoc_target_costs_t *out_costs) {
  question_t question = {.target = target};
  answer_t answer;
  *out_costs = (byoc_target_costs_t){.header = BYOC_HEADER(byoc_target_costs_t, 1)};
  BYOC_RETURN_IF_ERROR(ask(answer_target, &question, &answer, sizeof(answer), diag));
  *out_costs = answer.costs;
  return BYOC_OK;
}
