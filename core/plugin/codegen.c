// SPDX-License-Identifier: Apache-2.0
// One run of a generate hook: it gets functions, and makes runtime modules.
#include "core/plugin/codegen.h"

#include "core/base/log.h"
#include "core/plugin/session.h"

// Moves the list of declined nodes, or NULL, to the report.
static bool keep_nodes(byoc_codegen_report_t *report, byoc_codegen_result_t *result) {
  if (result->nodes == NULL) return true;
  result->nodes = byoc_arena_copy(&report->arena, result->nodes, result->node_count * sizeof(*result->nodes));
  return result->nodes != NULL;
}

// Moves a text, or NULL, to the report.
static bool keep(byoc_codegen_report_t *report, const char **text) {
  if (*text == NULL) return true;
  *text = byoc_arena_copy_string(&report->arena, *text);
  return *text != NULL;
}

static byoc_status_t fill_report(byoc_codegen_t *session, byoc_diag_t *diag) {
  byoc_codegen_report_t *report = session->report;
  const byoc_allocator_t allocator = byoc_arena_allocator(&report->arena);
  if (!byoc_vector_reserve(&report->results, allocator, session->function_count)) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < session->function_count; ++i) {
    byoc_codegen_result_t result = session->results[i];
    if (!keep(report, &result.reason) || !keep(report, &result.precision) || !keep(report, &result.lapse) ||
        !keep_nodes(report, &result)) {
      return byoc_diag_out_of_memory(diag);
    }
    report->results.data[report->results.count++] = result;
  }
  return BYOC_OK;
}

static byoc_status_t run_hooks(byoc_codegen_t *session, byoc_diag_t *diag) {
  if (byoc_session_runs_in_parts(session->target)) return byoc_session_run_parts(session, diag);
  BYOC_RETURN_IF_ERROR(byoc_session_prepare(session, diag));
  return byoc_session_generate(session, diag);
}

static byoc_status_t run_session(byoc_codegen_t *session, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(run_hooks(session, diag));
  const size_t results_before = session->report->results.count;
  BYOC_RETURN_IF_ERROR(fill_report(session, diag));
  byoc_status_t status = byoc_session_commit(session, diag);
  if (status != BYOC_OK) session->report->results.count = results_before;
  return status;
}

byoc_status_t byoc_codegen_run(byoc_graph_module_t *module, const byoc_target_t *target,
                               byoc_function_t *const *functions, size_t function_count,
                               const byoc_codegen_services_t *services, byoc_diag_t *diag,
                               byoc_codegen_report_t *report) {
  const byoc_target_kind_t *kind = target->kind;
  if (kind->backend == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "target '%s' has no code generator", kind->name);
  }
  byoc_codegen_t *session = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_session_create(module, target, functions, function_count, services, report, diag, &session));
  byoc_log(BYOC_LOG_INFO, "generating %zu function%s by target '%s'", function_count, byoc_plural(function_count),
           target->text);
  byoc_status_t status = run_session(session, diag);
  report->reported = session->hook_error.status;
  if (status != BYOC_OK) {
    byoc_diag_context(diag, status, "target '%s' (plugin %s %s)", kind->name, kind->plugin_name, kind->plugin_version);
  }
  byoc_session_destroy(session);
  return status;
}
