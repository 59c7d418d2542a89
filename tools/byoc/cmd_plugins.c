// SPDX-License-Identifier: Apache-2.0
// byoc plugins: lists plugins, those that were refused with the reason.
#include <stdio.h>

#include "command.h"
#include "session.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

static const char *state_name(const byoc_plugin_entry_t *entry) {
  switch (entry->state) {
  case BYOC_PLUGIN_FOUND:
    return "found";
  case BYOC_PLUGIN_LOADED:
    return "loaded";
  case BYOC_PLUGIN_REFUSED:
    break;
  }
  return "refused";
}

static const char *source_name(byoc_plugin_source_t source) {
  switch (source) {
  case BYOC_PLUGIN_FROM_OPTION:
    return "--plugin";
  case BYOC_PLUGIN_FROM_ENVIRONMENT:
    return "BYOC_PLUGIN_PATH";
  case BYOC_PLUGIN_FROM_INSTALLATION:
    break;
  }
  return "installed";
}

static void print_entry(const byoc_plugin_entry_t *entry) {
  if (entry->has_note) {
    const char *targets = entry->note.targets, *domains = entry->domains;
    byoc_print("%-8s %s %s:%s%s%s%s%s - %s\n", state_name(entry), entry->note.name, entry->note.version,
               targets[0] != '\0' ? " targets " : "", targets, targets[0] != '\0' && domains[0] != '\0' ? "," : "",
               domains[0] != '\0' ? " operators of " : "", domains, entry->note.description);
  } else {
    byoc_print("%-8s (no identity)\n", state_name(entry));
  }
  byoc_print("         %s  (%s)\n", entry->path, source_name(entry->source));
  if (entry->reason != NULL && entry->reason[0]) byoc_print("         reason: %s\n", entry->reason);
}

static json_t *entry_to_json(const byoc_plugin_entry_t *entry) {
  json_t *object = json_object();
  json_object_set_new(object, "path", byoc_json_string(entry->path));
  json_object_set_new(object, "source", json_string(source_name(entry->source)));
  json_object_set_new(object, "state", json_string(state_name(entry)));
  json_object_set_new(object, "reason", byoc_json_string(entry->reason ? entry->reason : ""));
  if (!entry->has_note) return object;
  json_object_set_new(object, "name", byoc_json_string(entry->note.name));
  json_object_set_new(object, "version", byoc_json_string(entry->note.version));
  json_object_set_new(object, "targets", byoc_json_string(entry->note.targets));
  json_object_set_new(object, "domains", byoc_json_string(entry->domains));
  json_object_set_new(object, "description", byoc_json_string(entry->note.description));
  json_object_set_new(object, "abi",
                      json_pack("{s:i, s:i, s:i}", "major", (int)entry->note.abi_major, "minor_built",
                                (int)entry->note.abi_minor_built, "minor_needed", (int)entry->note.abi_minor_needed));
  return object;
}

static byoc_status_t list(const byoc_session_t *session, bool json, byoc_diag_t *diag) {
  size_t count = byoc_plugin_registry_count(session->registry);
  json_t *array = json ? json_array() : NULL;
  for (size_t i = 0; i < count; ++i) {
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(session->registry, i);
    if (json) {
      json_array_append_new(array, entry_to_json(entry));
    } else {
      print_entry(entry);
    }
  }
  if (json) return byoc_json_print(array, diag);
  if (count == 0) byoc_print("no plugins; set BYOC_PLUGIN_PATH to a folder that holds some, or give --plugin FILE\n");
  return BYOC_OK;
}

// Plugins that were refused without a fault are no reason to fail. Without --load only tables have been read; those
// that the user named count.
static byoc_status_t check_refused(const byoc_session_t *session, bool load, byoc_diag_t *diag) {
  size_t count = 0;
  for (size_t i = 0; i < byoc_plugin_registry_count(session->registry); ++i) {
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(session->registry, i);
    const bool counts = load || (entry->is_table && entry->source == BYOC_PLUGIN_FROM_OPTION);
    if (counts && entry->state == BYOC_PLUGIN_REFUSED && !entry->is_passed_over) ++count;
  }
  if (count == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%zu of these plugins %s refused", count, count == 1 ? "is" : "are");
}

int byoc_main_plugins(int argc, char **argv) {
  byoc_session_options_t options = {0};
  bool json = false, load = false, done = false;
  const byoc_option_row_t rows[] = {
      {"json", 0, BYOC_OPT_FLAG, &json, "", "as JSON"},
      {"load", 0, BYOC_OPT_FLAG, &load, "", "load each plugin, and report the faults of those that fail"},
      {"plugin", 0, BYOC_OPT_LIST, &options.plugins, "FILE", "inspect this plugin too"},
      BYOC_PREFER_ROW(options),
  };
  static const char *const operands[] = {NULL};
  const byoc_usage_t usage = {
      .command = "byoc plugins",
      .synopsis = "[--json] [--load] [--plugin FILE] [--prefer PATH]",
      .summary = "list the plugins, and the refused ones with the reason",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "Order of the search: --plugin FILE, the folders in BYOC_PLUGIN_PATH, the installed folder.\n"
              "Listing reads files only, and whole tables (NAME.json); plugins' code runs only with --load.\n"
              "With --load the exit code is 1 if a plugin is refused for a fault.\n",
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, NULL, &done);
  if (status == BYOC_OK && !done) {
    status = byoc_session_open(&options, &diag, &session);
    if (status == BYOC_OK) byoc_plugin_registry_read_tables(session.registry);
    if (status == BYOC_OK && load) (void)byoc_plugin_registry_load_all(session.registry);
    if (status == BYOC_OK) status = list(&session, json, &diag);
    if (status == BYOC_OK) status = check_refused(&session, load, &diag);
    byoc_session_close(&session);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
