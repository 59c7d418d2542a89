// SPDX-License-Identifier: Apache-2.0
// The life of a codegen session: its tables, the calls of the hooks, and the checks of what they did.
#include "core/plugin/hygiene.h"
#include "core/plugin/session.h"
#include "core/targets/hook.h"

// ---- sessions ----

// Records the result types of each function before the hook can change them.
static byoc_status_t remember_signatures(byoc_codegen_t *session, byoc_diag_t *diag) {
  const size_t count = session->function_count;
  session->results = BYOC_ARENA_ARRAY(&session->arena, byoc_codegen_result_t, count);
  session->result_types = BYOC_ARENA_ARRAY(&session->arena, const byoc_type_t **, count);
  session->bound_symbols = BYOC_ARENA_ARRAY(&session->arena, const char *, count);
  session->result_counts = BYOC_ARENA_ARRAY(&session->arena, size_t, count);
  if (session->results == NULL || session->result_types == NULL || session->bound_symbols == NULL ||
      session->result_counts == NULL) {
    return byoc_diag_out_of_memory(diag);
  }
  for (size_t i = 0; i < count; ++i) {
    byoc_function_t *function = session->functions[i];
    const size_t result_count = function->body->results.count;
    session->results[i].function = function;
    session->result_counts[i] = result_count;
    session->result_types[i] = BYOC_ARENA_ARRAY(&session->arena, const byoc_type_t *, result_count);
    if (session->result_types[i] == NULL) return byoc_diag_out_of_memory(diag);
    for (size_t r = 0; r < result_count; ++r) {
      session->result_types[i][r] = function->body->results.data[r]->type;
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_create(byoc_graph_module_t *module, const byoc_target_t *target,
                                  byoc_function_t *const *functions, size_t function_count,
                                  const byoc_codegen_services_t *services, byoc_codegen_report_t *report,
                                  byoc_diag_t *diag, byoc_codegen_t **out_session) {
  *out_session = NULL;
  byoc_codegen_t *session = byoc_allocate(module->allocator, 1, sizeof(*session));
  if (session == NULL) return byoc_diag_out_of_memory(diag);
  session->module = module;
  session->target = target;
  session->functions = functions;
  session->function_count = function_count;
  session->services = services;
  session->report = report;
  session->allocator = module->allocator;
  byoc_arena_init(&session->arena, module->allocator);
  const byoc_status_t status = remember_signatures(session, diag);
  if (status == BYOC_OK)
    *out_session = session;
  else
    byoc_session_destroy(session);
  return status;
}

void byoc_session_destroy(byoc_codegen_t *session) {
  if (session == NULL) return;
  byoc_vector_deinit(&session->reports, session->allocator);
  for (size_t i = session->made.count; i-- > 0;) byoc_runtime_module_release(session->made.data[i]);
  byoc_vector_deinit(&session->made, session->allocator);
  byoc_arena_deinit(&session->arena);
  byoc_free(session->allocator, session);
}

// ---- the run ----

// The reason of a hook's failure: its message to error(), otherwise the error of the last host function that failed,
// otherwise none.
static byoc_status_t hook_failed(byoc_codegen_t *session, int32_t status, byoc_diag_t *diag) {
  const byoc_diag_t *said = &session->hook_error;
  // If the host's memory ran out, the plugin got NULL and may have guessed a reason.
  if (said->status == BYOC_OK || session->failure.status == BYOC_OUT_OF_MEMORY) said = &session->failure;
  if (said->status == BYOC_OK || session->last.status == BYOC_OUT_OF_MEMORY) said = &session->last;
  const byoc_status_t reported = byoc_status_is_known(status) ? status : BYOC_INTERNAL;
  const byoc_status_t result = said->status == BYOC_OUT_OF_MEMORY ? said->status : reported;
  if (said->status == BYOC_OK) {
    return byoc_diag_error(diag, result, "its hook failed (%s, %d) and gave no reason", byoc_status_name(status),
                           (int)status);
  }
  if (diag != NULL && diag->status == BYOC_OK) {
    *diag = *said;
    diag->status = result;
  }
  return result;
}

// Refuses changes of the process by a hook, because the process goes on.
static byoc_status_t check_hygiene(const byoc_hygiene_t *before, const char *hook, byoc_diag_t *diag) {
  const byoc_status_t status = byoc_hygiene_check(before, diag);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "its %s hook", hook);
}

// Runs the backend's own optimisations before it generates.
byoc_status_t byoc_session_prepare(byoc_codegen_t *session, byoc_diag_t *diag) {
  const byoc_backend_t *backend = session->target->kind->backend;
  if (backend->prepare == NULL) return BYOC_OK;
  session->is_preparing = true;
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  const byoc_foreign_t outer = byoc_hook_enter(session->target, "hook prepare", NULL, NULL);
  const int32_t said = backend->prepare(backend->self, session);
  byoc_foreign_leave(&outer);
  session->is_preparing = false;
  byoc_status_t status = said == BYOC_OK ? BYOC_OK : hook_failed(session, said, diag);
  if (status == BYOC_OK && session->failure.status != BYOC_OK) {
    if (diag != NULL && diag->status == BYOC_OK) *diag = session->failure;
    status = session->failure.status;
  }
  for (size_t i = 0; i < session->function_count && status == BYOC_OK; ++i) {
    status = byoc_session_check_body(session, (int64_t)i, diag);
    if (status != BYOC_OK) byoc_diag_context(diag, status, "function '%s'", session->functions[i]->name);
  }
  if (status == BYOC_OK) return check_hygiene(&before, "prepare", diag);
  return byoc_diag_context(diag, status, "its prepare hook");
}

static byoc_status_t call_hook(byoc_codegen_t *session, byoc_diag_t *diag) {
  const byoc_backend_t *backend = session->target->kind->backend;
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  if (backend->generate != NULL) {
    const char *function = session->is_part ? session->functions[0]->name : NULL;
    const byoc_foreign_t outer =
        byoc_hook_enter(session->target, "hook generate", function != NULL ? "function" : NULL, function);
    const int32_t status = backend->generate(backend->self, session);
    byoc_foreign_leave(&outer);
    return status == BYOC_OK ? check_hygiene(&before, "generate", diag) : hook_failed(session, status, diag);
  }
  for (size_t i = 0; i < session->function_count; ++i) {
    byoc_function_t *function = session->functions[i];
    const byoc_foreign_t outer = byoc_hook_enter(session->target, "hook generate_function", "function", function->name);
    const int32_t status = backend->generate_function(backend->self, session, function);
    byoc_foreign_leave(&outer);
    if (status == BYOC_OK) continue;
    return byoc_diag_context(diag, hook_failed(session, status, diag), "function '%s'", function->name);
  }
  return check_hygiene(&before, "generate_function", diag);
}

static byoc_status_t check_answers(const byoc_codegen_t *session, byoc_diag_t *diag) {
  for (size_t i = 0; i < session->function_count; ++i) {
    if (session->results[i].answer != BYOC_CODEGEN_UNANSWERED) continue;
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "it left function '%s' without an answer",
                                           session->functions[i]->name);
    byoc_diag_hint(diag, "each function is bound, described as JSON, handed back or declined");
    return status;
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_generate(byoc_codegen_t *session, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(call_hook(session, diag));
  if (session->failure.status != BYOC_OK) {
    if (diag != NULL && diag->status == BYOC_OK) *diag = session->failure;
    return session->failure.status;
  }
  BYOC_RETURN_IF_ERROR(check_answers(session, diag));
  return byoc_session_keep_reports(session, diag);
}
