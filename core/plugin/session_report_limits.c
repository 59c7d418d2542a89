// SPDX-License-Identifier: Apache-2.0
// The limits of reports in a run, with those of its parts.
#include <string.h>

#include "core/base/json.h"
#include "core/plugin/session.h"

enum { MAX_REPORTS = 256, MAX_ALL_BYTES = 4 << 20 };

byoc_status_t byoc_session_count_report(byoc_codegen_t *session, uint64_t size_bytes, byoc_diag_t *diag) {
  if (session->report_count >= MAX_REPORTS) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there are %d reports already", MAX_REPORTS);
  }
  if (session->report_bytes + size_bytes > MAX_ALL_BYTES) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "with its %llu bytes all reports of this run have more than %d",
                           (unsigned long long)size_bytes, MAX_ALL_BYTES);
  }
  session->report_count += 1;
  session->report_bytes += size_bytes;
  return BYOC_OK;
}

static bool has_report(const byoc_codegen_t *session, const byoc_runtime_module_t *report) {
  for (size_t i = 0; i < session->made.count; ++i) {
    const byoc_runtime_module_t *other = session->made.data[i];
    if (other->kind == BYOC_RUNTIME_MODULE_REPORT && strcmp(other->json, report->json) == 0) return true;
  }
  return false;
}

byoc_status_t byoc_session_count_part_report(byoc_codegen_t *session, const byoc_runtime_module_t *report,
                                             byoc_diag_t *diag, bool *out_is_known) {
  json_error_t error;
  json_t *object = byoc_json_load(report->json, strlen(report->json), 0, &error);
  if (object == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (object == NULL) return byoc_diag_error(diag, BYOC_INTERNAL, "the report '%s' is no JSON", report->name);
  *out_is_known = json_object_get(object, "function") == NULL && has_report(session, report);
  const size_t size_bytes = json_string_length(json_object_get(object, "text"));
  const char *name = json_string_value(json_object_get(object, "report"));
  byoc_status_t status = *out_is_known ? BYOC_OK : byoc_session_count_report(session, size_bytes, diag);
  if (status != BYOC_OK) byoc_diag_context(diag, status, "the report '%s'", name != NULL ? name : "");
  json_decref(object);
  return status;
}
