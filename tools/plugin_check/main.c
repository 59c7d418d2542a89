// SPDX-License-Identifier: Apache-2.0
// byoc-plugin-check: says of a plugin, and of the driver of a device, which rules of the ABI it keeps and which it
// breaks.
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/group.h"
#include "core/base/interrupt.h"
#include "core/base/standard_streams.h"
#include "core/plugin/table.h"
#include "tools/common/print.h"
#include "tools/common/report.h"
#include "tools/plugin_check/report.h"

typedef struct arguments_t {
  byoc_string_items_t words, rules;
  const char *format_name;
  double seconds; // for each rule
  bool lists, done;
  check_format_t format;
  check_t check;
} arguments_t;

static byoc_status_t parse(int argc, char **argv, arguments_t *arguments, byoc_diag_t *diag) {
  check_t *check = &arguments->check;
  const byoc_option_row_t rows[] = {
      {"target", 't', BYOC_OPT_LIST, &check->targets, "TARGETS",
       "check with these targets: 'mine -O=3; c' (default: each target of the plugin, without options)"},
      {"refuses", 0, BYOC_OPT_LIST, &check->refused, "TARGETS", "the plugin must refuse these targets, with a reason"},
      {"driver", 0, BYOC_OPT_STRING, &check->driver, "FILE.so",
       "the driver that the rules 'driver' are about: a file with what byoc/driver_check.h declares"},
      {"ordinal", 0, BYOC_OPT_COUNT, &check->ordinal, "N", "the device that the driver opens (default: 0)"},
      {"needs", 0, BYOC_OPT_LIST, &check->needs, "LIBRARY", "the plugin may link to this library: libfoo.so.1"},
      {"rule", 0, BYOC_OPT_LIST, &arguments->rules, "RULE", "run this rule only; 'load' means all rules 'load.*'"},
      {"waive", 0, BYOC_OPT_LIST, &check->waivers, "RULE[/OP][:WHY]",
       "this rule may fail (operators.wild: NaN and infinities in any rule; operators.wild/Exp: where Exp is)"},
      {"case", 0, BYOC_OPT_LIST, &check->case_filters, "TEXT",
       "only the cases whose 'file/name' holds this text; of a driver's checks: driver.memory/copy"},
      {"cases", 0, BYOC_OPT_STRING, &check->case_folder, "FOLDER",
       "tables of cases instead of its own, for every rule: FOLDER/*.cases (docs/plugin.md has the format)"},
      {"format", 0, BYOC_OPT_STRING, &arguments->format_name, "FORMAT", "text (default), json or tap"},
      {"timeout", 0, BYOC_OPT_SECONDS, &arguments->seconds, "SECONDS", "time for each rule (default: 600)"},
      {"list", 0, BYOC_OPT_FLAG, &arguments->lists, "", "list the rules, and check nothing"},
      {"verbose", 'v', BYOC_OPT_FLAG, &check->keeps_messages, "",
       "show what rules found out, and what they and the plugin write to standard error"},
  };
  static const char *const operands[] = {NULL};
  const byoc_usage_t usage = {
      .command = "byoc-plugin-check",
      .synopsis = "[PLUGIN] [--driver FILE.so] [options]",
      .summary = "check a plugin, or the driver of a device, against the rules of the ABI",
      .operands = operands,
      .more_operands = &arguments->words,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "Targets may begin with what they need of the processor: 'x86-64-v3? mine -O=3; c' is left out elsewhere.\n"
          "Rules about building use the first of the targets, rules about results all of them.\n"
          "Each rule runs in a process of its own: a crash, an exit or a hang is a failure of that rule.\n"
          "A rule for which the plugin took nothing is skipped; -v and --rule=rules.take say what it takes.\n"
          "Exit codes: 0 no rule failed, other than those that --waive names; 1 a rule failed; 2 the command line "
          "is wrong.\n",
  };
  arguments->seconds = 600;
  return byoc_options_parse(&usage, argc, argv, diag, NULL, &arguments->done);
}

static byoc_status_t read_format(arguments_t *arguments, byoc_diag_t *diag) {
  static const char *const names[] = {"text", "json", "tap"};
  if (arguments->format_name == NULL) return BYOC_OK;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(arguments->format_name, names[i]) != 0) continue;
    arguments->format = (check_format_t)i;
    return BYOC_OK;
  }
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--format is text, json or tap, not '%s'",
                         arguments->format_name);
}

// Does `word` name the rule, or the rules that its id begins with: "load" for "load.clean"?
static bool names_rule(const char *word, const check_rule_t *rule) {
  const size_t size = strcspn(word, ":/");
  return strncmp(rule->id, word, size) == 0 && (rule->id[size] == '\0' || rule->id[size] == '.');
}

static byoc_status_t check_names(const byoc_string_items_t *words, const char *option, byoc_diag_t *diag) {
  for (size_t i = 0; i < words->count; ++i) {
    const char *names[128];
    size_t count = 0;
    bool found = false;
    for (size_t k = 0; k < check_rule_count; ++k) {
      if (count < sizeof(names) / sizeof(names[0])) names[count++] = check_rules[k].id;
      found = found || names_rule(words->items[i], &check_rules[k]);
    }
    if (found) continue;
    const char *nearest = byoc_nearest_match(words->items[i], names, count);
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s: there is no rule '%s'", option, words->items[i]);
    byoc_diag_hint(diag, "%s%s%sbyoc-plugin-check --list lists the rules", nearest != NULL ? "did you mean '" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "'? " : "");
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

static bool is_about_driver(const check_rule_t *rule) {
  return rule->stage == CHECK_DRIVER || rule->stage == CHECK_DRIVER_GATE;
}

static bool is_wanted(const arguments_t *arguments, const check_rule_t *rule) {
  bool wanted = arguments->rules.count == 0;
  if (arguments->check.plugin == NULL && !is_about_driver(rule)) return false;
  for (size_t i = 0; i < arguments->rules.count; ++i) wanted = wanted || names_rule(arguments->rules.items[i], rule);
  return wanted;
}

static byoc_status_t run_rules(arguments_t *arguments, check_report_t *report, byoc_diag_t *diag) {
  bool is_blocked[2] = {false, false}; // rules about the plugin, rules about the driver
  for (size_t i = 0; i < check_rule_count; ++i) {
    const check_rule_t *rule = &check_rules[i];
    if (!is_wanted(arguments, rule)) continue;
    char nothing[] = "";
    check_result_t result = {.rule = rule, .verdict = CHECK_BLOCKED, .findings = nothing, .facts = nothing};
    bool *blocked = &is_blocked[is_about_driver(rule)];
    const bool is_run = !*blocked;
    if (is_run) {
      BYOC_RETURN_IF_ERROR(
          check_run_rule(&arguments->check, rule, (uint32_t)(arguments->seconds * 1000), diag, &result));
    }
    const bool is_gate = rule->stage == CHECK_LOAD || rule->stage == CHECK_GATE || rule->stage == CHECK_DRIVER_GATE;
    *blocked = *blocked || (is_gate && result.verdict == CHECK_FAILED);
    byoc_status_t status = check_report_add(report, &result, diag);
    if (is_run) check_result_deinit(&result);
    BYOC_RETURN_IF_ERROR(status);
  }
  return BYOC_OK;
}

static byoc_status_t report_rules(arguments_t *arguments, byoc_diag_t *diag, int *out_code) {
  check_report_t report = {.format = arguments->format, .check = &arguments->check};
  byoc_diag_t ignored = {0};
  if (arguments->check.plugin != NULL) {
    (void)byoc_plugin_any_identity(arguments->check.plugin, &ignored, &report.note, &report.has_note);
  }
  for (size_t i = 0; i < check_rule_count; ++i) report.count += is_wanted(arguments, &check_rules[i]);
  byoc_status_t status = check_report_begin(&report, diag);
  if (status == BYOC_OK) status = run_rules(arguments, &report, diag);
  if (status == BYOC_OK) status = check_report_end(&report, diag);
  json_decref(report.rows);
  *out_code = report.counts[CHECK_FAILED] > 0 ? BYOC_EXIT_FAILED : BYOC_EXIT_OK;
  return status;
}

// Checks the plugin and the driver that are named.
static byoc_status_t check_files(arguments_t *arguments, byoc_diag_t *diag, int *out_code) {
  char path[PATH_MAX], driver_path[PATH_MAX];
  check_t *check = &arguments->check;
  const size_t count = arguments->words.count;
  if (count > 1 || (count == 0 && check->driver == NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "byoc-plugin-check needs one plugin, or --driver, not %zu plugins", count);
  }
  if (count == 1 && realpath(arguments->words.items[0], path) == NULL) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "cannot find the plugin '%s'", arguments->words.items[0]);
  }
  if (check->driver != NULL && realpath(check->driver, driver_path) == NULL) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "cannot find the driver '%s'", check->driver);
  }
  char *folder = NULL, *inner = NULL, *cache = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("plugin-check", byoc_allocator_system(), diag, &folder));
  inner = byoc_path_join(byoc_allocator_system(), folder, "rule");
  cache = byoc_path_join(byoc_allocator_system(), folder, "cache");
  byoc_status_t status = inner != NULL && cache != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  check->plugin = count == 1 ? path : NULL;
  check->driver = check->driver != NULL ? driver_path : NULL;
  check->folder = inner;
  check->cache_folder = cache;
  if (status == BYOC_OK) status = report_rules(arguments, diag, out_code);
  byoc_status_t removed = byoc_remove_tree(folder, diag);
  byoc_free(byoc_allocator_system(), inner);
  byoc_free(byoc_allocator_system(), cache);
  byoc_free(byoc_allocator_system(), folder);
  return status != BYOC_OK ? status : removed;
}

static byoc_status_t run(int argc, char **argv, byoc_diag_t *diag, int *out_code) {
  arguments_t arguments = {0};
  BYOC_RETURN_IF_ERROR(parse(argc, argv, &arguments, diag));
  if (arguments.done) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(read_format(&arguments, diag));
  if (arguments.lists) return check_report_list(arguments.format, diag);
  BYOC_RETURN_IF_ERROR(check_names(&arguments.rules, "rule", diag));
  BYOC_RETURN_IF_ERROR(check_names(&arguments.check.waivers, "waive", diag));
  return check_files(&arguments, diag, out_code);
}

int main(int argc, char **argv) {
  if (!byoc_standard_streams_open()) return BYOC_EXIT_FAILED;
  byoc_group_guard_start();
  byoc_interrupt_install();
  signal(SIGPIPE, SIG_IGN);
  byoc_diag_t diag = {0};
  int code = BYOC_EXIT_OK;
  byoc_status_t status = run(argc, argv, &diag, &code);
  if (status != BYOC_OK) code = byoc_report(&diag, status);
  byoc_remove_temporaries();
  byoc_group_guard_stop();
  return byoc_finish_output(code);
}
