// SPDX-License-Identifier: Apache-2.0
// Shows reports of backends: as a part of a page, as a list, and as text.
#include "reports.h"

#include <string.h>

#include "core/base/html.h"
#include "core/base/visible.h"

typedef struct report_t {
  const char *name, *kind, *target, *function, *operators;
  const char *text;
  size_t size;
} report_t;

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static report_t report_at(const json_t *reports, size_t index) {
  const json_t *object = json_array_get(reports, index);
  return (report_t){.name = text_of(object, "report"),
                    .kind = text_of(object, "kind"),
                    .target = text_of(object, "target"),
                    .function = text_of(object, "function"),
                    .operators = text_of(object, "operators"),
                    .text = text_of(object, "text"),
                    .size = json_string_length(json_object_get(object, "text"))};
}

// ---- for people ----

static void append_line(const report_t *report, byoc_string_t *out) {
  byoc_string_append(out, "report ");
  byoc_string_append_shown(out, report->name);
  byoc_string_append(out, ": ");
  byoc_string_append_shown(out, report->kind);
  byoc_string_appendf(out, ", %zu bytes, by '", report->size);
  byoc_string_append_shown(out, report->target);
  byoc_string_append(out, "'");
  if (report->function[0] != '\0') {
    byoc_string_append(out, " about ");
    byoc_string_append_shown(out, report->function);
    byoc_string_append(out, " (");
    byoc_string_append_shown(out, report->operators);
    byoc_string_append(out, ")");
  }
  byoc_string_append(out, "\n");
}

void byoc_reports_append_list(const json_t *reports, byoc_string_t *out) {
  for (size_t i = 0; i < json_array_size(reports); ++i) {
    const report_t report = report_at(reports, i);
    append_line(&report, out);
  }
}

static void append_content(const report_t *report, byoc_string_t *out) {
  const size_t before = out->size;
  if (strcmp(report->kind, "html") == 0) {
    byoc_html_append_fragment(out, report->text, report->size, NULL);
  } else {
    byoc_string_append_shown_lines(out, report->text);
  }
  if (out->size > before && out->data[out->size - 1] != '\n') byoc_string_append(out, "\n");
}

static bool is_new(const json_t *reports, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (strcmp(report_at(reports, i).name, report_at(reports, index).name) == 0) return false;
  }
  return true;
}

static byoc_status_t refuse(const json_t *reports, const char *name, byoc_diag_t *diag) {
  byoc_string_t names;
  byoc_string_init(&names, byoc_allocator_system());
  for (size_t i = 0; i < json_array_size(reports); ++i) {
    if (!is_new(reports, i)) continue;
    byoc_string_append(&names, names.size > 0 ? ", " : "");
    byoc_string_append_shown(&names, report_at(reports, i).name);
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no report '%s'; it has %s", name,
                                         names.size > 0 && !names.failed ? names.data : "none");
  byoc_string_deinit(&names);
  return status;
}

byoc_status_t byoc_reports_append_named(const json_t *reports, const char *name, byoc_string_t *out,
                                        byoc_diag_t *diag) {
  size_t found = 0;
  for (size_t i = 0; i < json_array_size(reports); ++i) found += strcmp(report_at(reports, i).name, name) == 0;
  if (found == 0) return refuse(reports, name, diag);
  for (size_t i = 0; i < json_array_size(reports); ++i) {
    const report_t report = report_at(reports, i);
    if (strcmp(report.name, name) != 0) continue;
    if (found > 1) append_line(&report, out);
    append_content(&report, out);
  }
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

// ---- as a part of a page ----

static void append_text(byoc_string_t *out, const char *text) {
  byoc_html_append_text(out, text, strlen(text));
}

static void append_section(const report_t *report, byoc_string_t *out) {
  byoc_string_append(out, "<h3>");
  append_text(out, report->name);
  byoc_string_append(out, "</h3>\n<p>by ");
  append_text(out, report->target);
  if (report->function[0] != '\0') {
    byoc_string_append(out, " about ");
    append_text(out, report->function);
    byoc_string_append(out, " (");
    append_text(out, report->operators);
    byoc_string_append(out, ")");
  }
  if (strcmp(report->kind, "html") == 0) {
    byoc_string_append(out, "</p>\n<div class=\"report\">");
    byoc_html_append_fragment(out, report->text, report->size, NULL);
    byoc_string_append(out, "</div>\n");
  } else {
    byoc_string_append(out, "</p>\n<pre class=\"report\">\n");
    byoc_html_append_lines(out, report->text, report->size);
    byoc_string_append(out, "</pre>\n");
  }
}

void byoc_reports_append_page(const json_t *reports, byoc_string_t *out) {
  const size_t count = json_array_size(reports);
  if (count == 0) return;
  byoc_string_append(out, "<section class=\"reports\"><h2>Reports</h2>\n");
  for (size_t i = 0; i < count; ++i) {
    const report_t report = report_at(reports, i);
    append_section(&report, out);
  }
  byoc_string_append(out, "</section>\n");
}
