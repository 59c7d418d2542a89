// SPDX-License-Identifier: Apache-2.0
// Reports, and functions for all calls of a codegen session: they find the function, check that it has no answer yet,
// and end the call.
#include "core/plugin/session.h"

#include "core/base/foreign.h"

#include "core/ir/attribute_names.h"

void byoc_codegen_report_init(byoc_codegen_report_t *report, byoc_allocator_t allocator) {
  *report = (byoc_codegen_report_t){0};
  byoc_arena_init(&report->arena, allocator);
  byoc_string_init(&report->required_cpu_features, allocator);
}

void byoc_codegen_report_deinit(byoc_codegen_report_t *report) {
  byoc_string_deinit(&report->required_cpu_features);
  report->results.data = NULL; // in the arena
  report->results.count = report->results.capacity = 0;
  byoc_arena_deinit(&report->arena);
}

const char *byoc_session_symbol(const byoc_function_t *function) {
  return byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, function->name);
}

int64_t byoc_session_find(const byoc_codegen_t *session, const byoc_function_t *function) {
  for (size_t i = 0; i < session->function_count; ++i) {
    if (session->functions[i] == function) return (int64_t)i;
  }
  return -1;
}

int64_t byoc_session_claim(byoc_codegen_t *session, const byoc_function_t *function, byoc_diag_t *diag) {
  if (function == NULL) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the function is NULL");
    return -1;
  }
  const int64_t index = byoc_session_find(session, function);
  if (index < 0) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "function '%s' is not one of those to be implemented", function->name);
    return -1;
  }
  if (session->is_preparing) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "function '%s' is answered by the prepare hook; generate does that",
                    function->name);
    return -1;
  }
  if (session->results[index].answer != BYOC_CODEGEN_UNANSWERED) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "function '%s' is answered twice", function->name);
    return -1;
  }
  return index;
}

void byoc_session_answer(byoc_codegen_t *session, int64_t index, byoc_codegen_answer_t answer) {
  session->results[index].answer = answer;
}

int32_t byoc_session_settle(byoc_codegen_t *session, byoc_status_t status, const byoc_diag_t *diag) {
  byoc_foreign_beat();
  if (status != BYOC_OK && session->failure.status == BYOC_OK) {
    session->failure = *diag;
    if (diag->status == BYOC_OK) byoc_diag_error(&session->failure, status, "%s", byoc_status_name(status));
  }
  return status;
}

int32_t byoc_session_note(byoc_codegen_t *session, byoc_status_t status, const byoc_diag_t *diag) {
  byoc_foreign_beat();
  if (status != BYOC_OK && diag->status != BYOC_OK) session->last = *diag;
  return status;
}
