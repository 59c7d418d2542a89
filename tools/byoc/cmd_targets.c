// SPDX-License-Identifier: Apache-2.0
// byoc targets: lists targets and their options.
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "core/plugin/lint.h"
#include "core/targets/option.h"
#include "session.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

static const char *option_type_name(uint32_t type) {
  switch (type) {
  case BYOC_OPTION_INT:
    return "int";
  case BYOC_OPTION_FLOAT:
    return "float";
  case BYOC_OPTION_BOOL:
    return "bool";
  case BYOC_OPTION_STRING:
    return "string";
  case BYOC_OPTION_CPU:
    return "cpu";
  case BYOC_OPTION_PRECISION:
    return "precision";
  default:
    return "choice";
  }
}

// "0 to 3", or nothing where there are no limits.
static void range_text(const byoc_option_schema_t *option, char *out, size_t size) {
  out[0] = '\0';
  if (option->type == BYOC_OPTION_INT && (option->minimum != 0 || option->maximum != 0)) {
    snprintf(out, size, "%lld to %lld", (long long)option->minimum, (long long)option->maximum);
  } else if (option->type == BYOC_OPTION_FLOAT && (option->minimum_f64 != 0 || option->maximum_f64 != 0)) {
    snprintf(out, size, "%g to %g", option->minimum_f64, option->maximum_f64);
  }
}

static bool has_default(const byoc_option_schema_t *option) {
  return option->default_value != NULL && option->default_value[0] != '\0';
}

// "f32|f16"; "any that its hook accepts" if the rule's pattern names none.
static void element_types_text(const byoc_rule_t *rule, char *out, size_t size) {
  const uint64_t types = byoc_rule_element_types(rule);
  size_t at = 0;
  out[0] = '\0';
  for (byoc_dtype_t dtype = 1; dtype < BYOC_DTYPE_COUNT && at < size; ++dtype) {
    if ((types >> dtype & 1) == 0) continue;
    at += (size_t)snprintf(out + at, size - at, "%s%s", at > 0 ? "|" : "", byoc_dtype_name(dtype));
  }
  if (types == 0) snprintf(out, size, "any that its hook accepts");
}

// Only where a pattern of the backend names element types.
static bool states_element_types(const byoc_backend_t *backend) {
  for (uint32_t r = 0; backend != NULL && r < backend->rule_count; ++r) {
    if (byoc_rule_element_types(&backend->rules[r]) != 0) return true;
  }
  return false;
}

// One line for neighbours that take the same.
static void print_element_types(const byoc_backend_t *backend) {
  char types[256];
  uint32_t next = 0;
  for (uint32_t r = 0; states_element_types(backend) && r < backend->rule_count; r = next) {
    const uint64_t taken = byoc_rule_element_types(&backend->rules[r]);
    for (next = r + 1; next < backend->rule_count && byoc_rule_element_types(&backend->rules[next]) == taken;) ++next;
    element_types_text(&backend->rules[r], types, sizeof(types));
    byoc_print("  %-28s takes %s", backend->rules[r].name ? backend->rules[r].name : "", types);
    if (next - r > 2) byoc_print(", and so do the next %u rules", (unsigned)(next - r - 1));
    if (next - r == 2) byoc_print(", and so does the next rule");
    byoc_print("\n");
  }
}

static json_t *element_types_to_json(const byoc_backend_t *backend) {
  json_t *rules = json_object();
  char types[256];
  for (uint32_t r = 0; backend != NULL && r < backend->rule_count; ++r) {
    if (backend->rules[r].name == NULL || byoc_rule_element_types(&backend->rules[r]) == 0) continue;
    element_types_text(&backend->rules[r], types, sizeof(types));
    json_object_set_new(rules, backend->rules[r].name, json_string(types));
  }
  return rules;
}

static void print_kind(const byoc_target_kind_t *kind) {
  byoc_print("%s - %s", kind->name, kind->description);
  if (kind->backend != NULL) byoc_print("  (plugin %s %s)", kind->plugin_name, kind->plugin_version);
  byoc_print("\n");
  for (size_t i = 0; i < kind->option_count; ++i) {
    const byoc_option_schema_t *option = &kind->options[i];
    char left[64], range[64];
    snprintf(left, sizeof(left), "-%s=%s", option->name,
             byoc_option_has_choices(option) ? option->choices : option_type_name(option->type));
    range_text(option, range, sizeof(range));
    byoc_print("  %-28s %s", left, option->help ? option->help : "");
    if (has_default(option)) {
      byoc_print(" (default %s%s%s)", option->default_value, range[0] != '\0' ? ", " : "", range);
    }
    byoc_print("\n");
  }
  print_element_types(kind->backend);
}

// The same as a page: a heading for each target, and a table of its options.
static void print_page(const byoc_target_kind_t *kind) {
  byoc_print("\n");
  byoc_print("## %s\n", kind->name);
  byoc_print("\n");
  byoc_print("%s\n", kind->description);
  if (kind->option_count == 0) return;
  byoc_print("\n");
  byoc_print("| option | values | default | meaning |\n");
  byoc_print("| --- | --- | --- | --- |\n");
  for (size_t i = 0; i < kind->option_count; ++i) {
    const byoc_option_schema_t *option = &kind->options[i];
    char range[64];
    range_text(option, range, sizeof(range));
    byoc_print("| `-%s` | ", option->name);
    if (byoc_option_has_choices(option)) {
      for (const char *at = option->choices; *at != '\0';) {
        const size_t length = strcspn(at, "|");
        byoc_print("%s`%.*s`", at == option->choices ? "" : ", ", (int)length, at);
        at += length + (at[length] == '|');
      }
    } else {
      byoc_print("%s%s%s", option_type_name(option->type), range[0] != '\0' ? ", " : "", range);
    }
    const char *quote = has_default(option) ? "`" : "";
    byoc_print(" | %s%s%s | %s |\n", quote, has_default(option) ? option->default_value : "", quote,
               option->help ? option->help : "");
  }
}

static json_t *kind_to_json(const byoc_target_kind_t *kind) {
  json_t *options = json_array();
  for (size_t i = 0; i < kind->option_count; ++i) {
    const byoc_option_schema_t *option = &kind->options[i];
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s}", "name", option->name, "type", option_type_name(option->type), "default",
                  option->default_value ? option->default_value : "", "help", option->help ? option->help : "");
    if (byoc_option_has_choices(option)) json_object_set_new(row, "choices", json_string(option->choices));
    if (option->type == BYOC_OPTION_INT && (option->minimum != 0 || option->maximum != 0)) {
      json_object_set_new(row, "minimum", json_integer(option->minimum));
      json_object_set_new(row, "maximum", json_integer(option->maximum));
    }
    json_array_append_new(options, row);
  }
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "target", kind->name, "description", kind->description, "plugin",
                   kind->plugin_name, "plugin_version", kind->plugin_version, "options", options, "element_types",
                   element_types_to_json(kind->backend));
}

// Every kind: "c", then those of the plugins that load.
static byoc_status_t list(byoc_session_t *session, bool json, bool page, byoc_diag_t *diag) {
  const size_t refused_count = byoc_plugin_registry_load_all(session->registry);
  byoc_target_registry_t targets = byoc_plugin_registry_targets(session->registry);
  if (targets.names == NULL) return byoc_diag_out_of_memory(diag);
  json_t *array = json ? json_array() : NULL;
  if (page) {
    byoc_print("# Targets and their options\n");
    byoc_print("\n");
    byoc_print("`byoc targets --page` prints this page. targets.md describes the choice of targets.\n");
  }
  for (size_t i = 0; i < targets.name_count; ++i) {
    const byoc_target_kind_t *kind = targets.lookup(targets.self, targets.names[i]);
    if (kind == NULL) continue;
    if (json) {
      json_array_append_new(array, kind_to_json(kind));
    } else if (page) {
      print_page(kind);
    } else {
      print_kind(kind);
    }
  }
  if (json) BYOC_RETURN_IF_ERROR(byoc_json_print(array, diag));
  if (refused_count == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%zu plugin%s refused, whose targets are missing here", refused_count,
                         refused_count == 1 ? " is" : "s are");
}

int byoc_main_targets(int argc, char **argv) {
  byoc_session_options_t options = {0};
  bool json = false, page = false, done = false;
  const byoc_option_row_t rows[] = {
      {"json", 0, BYOC_OPT_FLAG, &json, "", "as JSON"},
      {"page", 0, BYOC_OPT_FLAG, &page, "", "as a page in Markdown"},
      {"plugin", 0, BYOC_OPT_LIST, &options.plugins, "FILE", "load this plugin too"},
      BYOC_PREFER_ROW(options),
  };
  static const char *const operands[] = {NULL};
  const byoc_usage_t usage = {
      .command = "byoc targets",
      .synopsis = "[--json | --page] [--plugin FILE] [--prefer PATH]",
      .summary = "list the targets with their options",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "A target is written KIND -option=value ...; several are separated by ';', in order of preference.\n"
              "The exit code is 1 if a plugin is refused, so that its targets are missing here.\n",
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, NULL, &done);
  if (status == BYOC_OK && json && page) {
    status =
        byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "--json and --page are two forms of one list: give one of them");
  }
  if (status == BYOC_OK && !done) {
    status = byoc_session_open(&options, &diag, &session);
    if (status == BYOC_OK) status = list(&session, json, page, &diag);
    byoc_session_close(&session);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
