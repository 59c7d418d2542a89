// SPDX-License-Identifier: Apache-2.0
// Writes the results of rules as text, as JSON or in the Test Anything Protocol.
#include <string.h>

#include "core/base/string.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"
#include "tools/plugin_check/report.h"

static const char *const verdicts[] = {"passed", "failed", "skipped", "waived", "blocked"};

// Calls `visit` for each line of a text.
static void for_each_line(const char *lines, void (*visit)(void *self, const char *line, int size), void *self) {
  while (*lines != '\0') {
    const size_t size = strcspn(lines, "\n");
    visit(self, lines, (int)size);
    lines += size + (lines[size] == '\n');
  }
}

static bool is_warning(const char *line) {
  return strncmp(line, CHECK_WARNING, strlen(CHECK_WARNING)) == 0;
}

// `self`: in front of the line.
static void print_warning(void *self, const char *line, int size) {
  if (is_warning(line)) byoc_print("%s%.*s\n", (const char *)self, size, line);
}

static void print_line(void *self, const char *line, int size) {
  byoc_print("%s%.*s\n", (const char *)self, size, line);
}

// Why a rule did not pass: what it found, else (it was skipped) what it said instead.
static const char *reasons(const check_result_t *result) {
  return result->findings[0] != '\0' ? result->findings : result->facts;
}

// ---- text ----

static void add_text(const check_report_t *report, const check_result_t *result) {
  static char indent[] = "          ";
  if (result->verdict == CHECK_BLOCKED) return; // the last line counts them
  byoc_print("%-8s  %-26s %s (%s)\n", verdicts[result->verdict], result->rule->id, result->rule->text,
             result->rule->rows);
  const bool shows_facts = report->check->keeps_messages || result->verdict == CHECK_SKIPPED;
  for_each_line(result->findings, print_line, indent);
  for_each_line(result->facts, shows_facts ? print_line : print_warning, indent);
}

static void end_text(const check_report_t *report) {
  const size_t *counts = report->counts;
  byoc_print("%zu rule%s: %zu passed, %zu failed", report->count, byoc_plural(report->count), counts[CHECK_PASSED],
             counts[CHECK_FAILED]);
  for (int verdict = CHECK_SKIPPED; verdict <= CHECK_BLOCKED; ++verdict) {
    if (counts[verdict] > 0) byoc_print(", %zu %s", counts[verdict], verdicts[verdict]);
  }
  byoc_print("%s\n", counts[CHECK_BLOCKED] > 0 ? ", because a rule in front of them failed" : "");
}

// ---- TAP ----

static void print_tap_line(void *self, const char *line, int size) {
  (void)self;
  byoc_print("    %.*s\n", size, line);
}

static void add_tap(const check_report_t *report, const check_result_t *result) {
  size_t number = 0;
  for (int verdict = 0; verdict <= CHECK_BLOCKED; ++verdict) number += report->counts[verdict];
  const char *reason = reasons(result);
  const bool is_bad = result->verdict == CHECK_FAILED || result->verdict == CHECK_WAIVED;
  byoc_print("%sok %zu - %s %s", is_bad ? "not " : "", number, result->rule->id, result->rule->text);
  if (result->verdict == CHECK_SKIPPED) byoc_print(" # SKIP %.*s", (int)strcspn(reason, "\n"), reason);
  if (result->verdict == CHECK_BLOCKED) byoc_print(" # SKIP a rule in front of it failed");
  // TAP's directive for a failure that is expected.
  if (result->verdict == CHECK_WAIVED) byoc_print(" # TODO waived");
  byoc_print("%s\n", "");
  static char comment[] = "# ";
  for_each_line(result->facts, print_warning, comment);
  if (!is_bad) return;
  byoc_print("  ---\n");
  byoc_print("  rows: %s\n", result->rule->rows);
  byoc_print("  findings: |\n");
  for_each_line(reason, print_tap_line, NULL);
  byoc_print("  ...\n");
}

// ---- JSON ----

static void append_line(void *self, const char *line, int size) {
  json_array_append_new(self, json_stringn_nocheck(line, (size_t)size));
}

static json_t *lines_to_json(const char *lines) {
  json_t *array = json_array();
  for_each_line(lines, append_line, array);
  return array;
}

static json_t *rule_to_json(const check_rule_t *rule) {
  json_t *object = json_object();
  json_object_set_new(object, "id", json_string(rule->id));
  json_object_set_new(object, "rows", json_string(rule->rows));
  json_object_set_new(object, "text", json_string(rule->text));
  return object;
}

static byoc_status_t add_json(check_report_t *report, const check_result_t *result, byoc_diag_t *diag) {
  json_t *object = rule_to_json(result->rule);
  json_object_set_new(object, "verdict", json_string(verdicts[result->verdict]));
  json_object_set_new(object, "failures", json_integer(result->failure_count));
  json_object_set_new(object, "milliseconds", json_integer(result->elapsed_ms));
  json_object_set_new(object, "findings", lines_to_json(result->findings));
  json_object_set_new(object, "facts", lines_to_json(result->facts));
  return json_array_append_new(report->rows, object) == 0 ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t end_json(check_report_t *report, byoc_diag_t *diag) {
  json_t *object = json_object();
  const char *plugin = report->check->plugin, *driver = report->check->driver;
  if (plugin != NULL) json_object_set_new(object, "plugin", byoc_json_string(plugin));
  if (driver != NULL) json_object_set_new(object, "driver", byoc_json_string(driver));
  if (report->has_note) {
    json_object_set_new(object, "name", byoc_json_string(report->note.name));
    json_object_set_new(object, "version", byoc_json_string(report->note.version));
  }
  for (int verdict = 0; verdict <= CHECK_BLOCKED; ++verdict) {
    json_object_set_new(object, verdicts[verdict], json_integer((json_int_t)report->counts[verdict]));
  }
  json_object_set_new(object, "rules", report->rows);
  report->rows = NULL;
  return byoc_json_print(object, diag);
}

// ---- all ----

byoc_status_t check_report_begin(check_report_t *report, byoc_diag_t *diag) {
  if (report->format == CHECK_JSON) {
    report->rows = json_array();
    return report->rows != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  if (report->format == CHECK_TAP) {
    byoc_print("TAP version 14\n");
    byoc_print("1..%zu\n", report->count);
  } else if (report->has_note) {
    byoc_print("%s: %s %s, built for ABI %u.%u\n", report->check->plugin, report->note.name, report->note.version,
               (unsigned)report->note.abi_major, (unsigned)report->note.abi_minor_built);
  } else if (report->check->plugin != NULL) {
    byoc_print("%s: it has no identity that can be read\n", report->check->plugin);
  } else {
    byoc_print("%s: the driver of a device\n", report->check->driver);
  }
  return BYOC_OK;
}

byoc_status_t check_report_add(check_report_t *report, const check_result_t *result, byoc_diag_t *diag) {
  report->counts[result->verdict] += 1;
  if (report->format == CHECK_JSON) return add_json(report, result, diag);
  if (report->format == CHECK_TAP) {
    add_tap(report, result);
  } else {
    add_text(report, result);
  }
  if (fflush(stdout) == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
}

byoc_status_t check_report_end(check_report_t *report, byoc_diag_t *diag) {
  if (report->format == CHECK_JSON && report->rows != NULL) return end_json(report, diag);
  if (report->format == CHECK_TEXT) end_text(report);
  return BYOC_OK;
}

byoc_status_t check_report_list(check_format_t format, byoc_diag_t *diag) {
  json_t *array = format == CHECK_JSON ? json_array() : NULL;
  for (size_t i = 0; i < check_rule_count; ++i) {
    const check_rule_t *rule = &check_rules[i];
    if (format == CHECK_JSON) {
      json_array_append_new(array, rule_to_json(rule));
    } else {
      byoc_print("%-26s %-8s %s\n", rule->id, rule->rows, rule->text);
    }
  }
  return format == CHECK_JSON ? byoc_json_print(array, diag) : BYOC_OK;
}
