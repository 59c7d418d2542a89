// SPDX-License-Identifier: Apache-2.0
// Reports that a generate hook hands over: checked, and kept as modules of the graph that only the metadata list.
#include <stdlib.h>
#include <string.h>

#include "core/base/html.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/visible.h"
#include "core/ir/describe.h"
#include "core/plugin/host.h"
#include "core/plugin/session.h"

enum { MAX_NAME_BYTES = 64, MAX_BYTES = 1 << 20 };

static const char *const kinds[] = {
    [BYOC_REPORT_TEXT] = "text", [BYOC_REPORT_JSON] = "json", [BYOC_REPORT_HTML] = "html"};

static byoc_status_t check_name(const char *name, byoc_diag_t *diag) {
  const size_t size = strnlen(name, MAX_NAME_BYTES + 1);
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (size > 0 && size <= MAX_NAME_BYTES && strspn(name, letters) == size) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "its name is not 1 to %d letters, digits and . _ -",
                         MAX_NAME_BYTES);
}

// UTF-8, without control characters other than tabs and the ends of lines.
static byoc_status_t check_text(const char *text, size_t size, byoc_diag_t *diag) {
  for (size_t at = 0, step = 0; at < size; at += step) {
    uint32_t code = 0;
    step = byoc_utf8_decode(text + at, size - at, &code);
    const bool is_space = code == '\t' || code == '\n' || code == '\r';
    if (step > 0 && (code >= 0x20 || is_space) && !(code >= 0x7f && code < 0xa0)) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its byte %zu, counted from 0, is %s", at,
                           step == 0 ? "not UTF-8" : "a control character");
  }
  return BYOC_OK;
}

static byoc_status_t check_json(const char *text, size_t size, byoc_diag_t *diag) {
  json_error_t error;
  json_t *value = byoc_json_load(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (value == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (value == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it is not JSON: %s (line %d, column %d)", error.text, error.line,
                           error.column);
  }
  json_decref(value);
  return BYOC_OK;
}

static byoc_status_t check_size(const byoc_report_t *report, byoc_diag_t *diag) {
  if (report->size_bytes > 0 && report->size_bytes <= MAX_BYTES) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has %llu bytes, and may have 1 to %d",
                         (unsigned long long)report->size_bytes, MAX_BYTES);
}

// Tells the vendor's engineer that pages will show less.
static void tell_of_loss(byoc_codegen_t *session, const byoc_report_t *report) {
  byoc_html_loss_t loss;
  byoc_string_t text;
  byoc_string_init(&text, session->allocator);
  byoc_html_append_fragment(&text, report->content, (size_t)report->size_bytes, &loss);
  byoc_string_deinit(&text);
  if (loss.count == 0) return;
  byoc_log(BYOC_LOG_INFO, "%s: pages leave out %zu part%s of the report '%s' that reports cannot have; the first is %s",
           session->target->kind->name, loss.count, byoc_plural(loss.count), report->name, loss.first);
}

static byoc_status_t check(byoc_codegen_t *session, const byoc_report_t *report, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_name(report->name, diag));
  if (report->kind < BYOC_REPORT_TEXT || report->kind > BYOC_REPORT_HTML) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "its kind is %u, which byoc does not know",
                           (unsigned)report->kind);
  }
  BYOC_RETURN_IF_ERROR(check_size(report, diag));
  BYOC_RETURN_IF_ERROR(check_text(report->content, (size_t)report->size_bytes, diag));
  if (report->kind == BYOC_REPORT_JSON) return check_json(report->content, (size_t)report->size_bytes, diag);
  if (report->kind == BYOC_REPORT_HTML && byoc_log_level() >= BYOC_LOG_INFO) tell_of_loss(session, report);
  return BYOC_OK;
}

static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

// {"report": "memory", "kind": "html", "function": "npu_0", "operators": "Conv+Relu", "text": "..."}; from malloc.
static char *describe(const byoc_function_t *function, const byoc_report_t *report, byoc_allocator_t allocator) {
  byoc_string_t operators;
  byoc_string_init(&operators, allocator);
  if (function != NULL) byoc_function_describe(function, &operators);
  json_t *object = json_object();
  const bool ok =
      object != NULL && set(object, "report", byoc_json_string(report->name)) &&
      set(object, "kind", json_string(kinds[report->kind])) &&
      (function == NULL || (set(object, "function", byoc_json_string(function->name)) && !operators.failed &&
                            set(object, "operators", byoc_json_string(operators.size > 0 ? operators.data : "")))) &&
      set(object, "text", json_stringn(report->content, (size_t)report->size_bytes));
  char *text = ok ? byoc_json_dump(object, JSON_COMPACT) : NULL;
  json_decref(object);
  byoc_string_deinit(&operators);
  return text;
}

byoc_status_t byoc_session_add_report(byoc_codegen_t *session, const byoc_function_t *function,
                                      const byoc_report_t *report, byoc_diag_t *diag) {
  const int64_t index = function != NULL ? byoc_session_find(session, function) : -1;
  if (function != NULL && index < 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it is about a function that is not one of this run");
  }
  if (function != NULL) byoc_graph_note_read(BYOC_READ_NAMES); // it is a part of the report
  BYOC_RETURN_IF_ERROR(check(session, report, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_count_report(session, report->size_bytes, diag));
  char *text = describe(function, report, session->allocator);
  // Modules of other kinds keep the names that their backends give them.
  const byoc_session_note_t note = {.name = byoc_arena_format(&session->arena, "report.%s", report->name),
                                    .json = text != NULL ? byoc_arena_copy_string(&session->arena, text) : NULL,
                                    .index = index};
  free(text);
  if (note.name == NULL || note.json == NULL || !byoc_vector_push(&session->reports, session->allocator, note)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_keep_reports(byoc_codegen_t *session, byoc_diag_t *diag) {
  for (size_t i = 0; i < session->reports.count; ++i) {
    const byoc_session_note_t *note = &session->reports.data[i];
    if (note->index >= 0 && session->results[note->index].answer == BYOC_CODEGEN_DECLINED) continue;
    byoc_runtime_module_t *module = NULL;
    BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_REPORT, note->name, diag, &module));
    module->json = byoc_arena_copy_string(&module->arena, note->json);
    const byoc_status_t status = module->json != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(byoc_session_end_module(session, module, status, diag));
  }
  return BYOC_OK;
}
