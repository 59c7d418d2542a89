// SPDX-License-Identifier: Apache-2.0
// byoc costs: lists, exports, imports and prunes measured costs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "core/base/log.h"
#include "core/collage/cost_database.h"
#include "core/compile/outputs.h"
#include "tools/common/json_print.h"
#include "tools/common/options.h"
#include "tools/common/print.h"

enum { DEFAULT_AGE_DAYS = 90, MAX_AGE_DAYS = 1000000, NO_AGE = -1, SECONDS_A_DAY = 86400 };

typedef struct costs_options_t {
  const char *database; // NULL: the default place
  int64_t age_days;     // NO_AGE: the default
  bool json;
} costs_options_t;

// ---- list ----

static byoc_status_t print_record(void *self, const byoc_cost_record_t *record) {
  (void)self;
  const byoc_cost_key_t *key = &record->key;
  if (isfinite(record->cost_ns)) {
    byoc_print("%12.2f us  %s\n", record->cost_ns / 1e3, key->operators);
  } else {
    byoc_print("%12s     %s: %s\n", "unusable", key->operators, record->reason);
  }
  byoc_print("                 %s, %d thread%s\n", key->target, (int)key->thread_count,
             byoc_plural((uint64_t)key->thread_count));
  byoc_print("                 %s\n", key->signature);
  return BYOC_OK;
}

static byoc_status_t add_to_array(void *self, const byoc_cost_record_t *record) {
  const byoc_cost_key_t *key = &record->key;
  json_t *row =
      json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:I, s:I}", "id", key->id, "operators",
                byoc_json_string(key->operators), "signature", byoc_json_string(key->signature), "target",
                byoc_json_string(key->target), "plugin", byoc_json_string(key->plugin), "compiler",
                byoc_json_string(key->compiler), "machine", byoc_json_string(key->machine), "threads",
                (int)key->thread_count, "cost_ns", isfinite(record->cost_ns) ? json_real(record->cost_ns) : json_null(),
                "reason", record->reason != NULL ? byoc_json_string(record->reason) : json_null(), "measured",
                (json_int_t)record->measured_at, "used", (json_int_t)record->used_at);
  return row != NULL && json_array_append_new(self, row) == 0 ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

static byoc_status_t list(byoc_cost_database_t *database, const costs_options_t *options, const char *path,
                          byoc_diag_t *diag) {
  (void)path;
  if (!options->json) return byoc_cost_database_visit(database, print_record, NULL, diag);
  json_t *array = json_array();
  byoc_status_t status = array != NULL ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  if (status == BYOC_OK) status = byoc_cost_database_visit(database, add_to_array, array, diag);
  if (status == BYOC_OK) return byoc_json_print(array, diag);
  json_decref(array);
  return status == BYOC_OUT_OF_MEMORY ? byoc_diag_out_of_memory(diag) : status;
}

// ---- the others: one number each ----

static byoc_status_t print_count(const char *what, size_t count, const costs_options_t *options, byoc_diag_t *diag) {
  if (options->json) return byoc_json_print(json_pack("{s:I}", what, (json_int_t)count), diag);
  byoc_print("%zu cost%s %s\n", count, byoc_plural(count), what);
  return BYOC_OK;
}

static byoc_status_t export_costs(byoc_cost_database_t *database, const costs_options_t *options, const char *path,
                                  byoc_diag_t *diag) {
  const char *file = byoc_cost_database_path(database);
  const byoc_output_t output = {"byoc costs export", path};
  if (file != NULL) BYOC_RETURN_IF_ERROR(byoc_outputs_check(&output, 1, file, diag));
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_cost_database_export(database, path, diag, &count));
  return print_count("exported", count, options, diag);
}

static byoc_status_t import_costs(byoc_cost_database_t *database, const costs_options_t *options, const char *path,
                                  byoc_diag_t *diag) {
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_cost_database_import(database, path, diag, &count));
  return print_count("imported", count, options, diag);
}

static byoc_status_t prune(byoc_cost_database_t *database, const costs_options_t *options, const char *path,
                           byoc_diag_t *diag) {
  (void)path;
  int64_t days = options->age_days == NO_AGE ? DEFAULT_AGE_DAYS : options->age_days;
  if (days > MAX_AGE_DAYS) days = MAX_AGE_DAYS;
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_cost_database_prune(database, days * SECONDS_A_DAY, diag, &count));
  return print_count("removed", count, options, diag);
}

// ---- the actions ----

typedef struct action_t {
  const char *name;
  bool takes_file, takes_age;
  bool makes_database; // creates the file if --database names a missing one
  byoc_status_t (*run)(byoc_cost_database_t *database, const costs_options_t *options, const char *path,
                       byoc_diag_t *diag);
} action_t;

static const action_t actions[] = {
    {.name = "list", .run = list},
    {.name = "export", .takes_file = true, .run = export_costs},
    {.name = "import", .takes_file = true, .makes_database = true, .run = import_costs},
    {.name = "prune", .takes_age = true, .run = prune},
};
enum { ACTION_COUNT = sizeof(actions) / sizeof(actions[0]) };

static byoc_status_t find_action(const char *name, byoc_diag_t *diag, const action_t **out_action) {
  const char *names[ACTION_COUNT];
  for (size_t i = 0; i < ACTION_COUNT; ++i) {
    names[i] = actions[i].name;
    *out_action = &actions[i];
    if (strcmp(names[i], name) == 0) return BYOC_OK;
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no 'byoc costs %s'", name);
  const char *nearest = byoc_nearest_match(name, names, ACTION_COUNT);
  if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean 'byoc costs %s'?", nearest);
  } else {
    byoc_diag_hint(diag, "list, export FILE, import FILE or prune");
  }
  return status;
}

// `words`: the action and its file.
static byoc_status_t run(const byoc_string_items_t *words, const costs_options_t *options, byoc_diag_t *diag) {
  const action_t *action = NULL;
  BYOC_RETURN_IF_ERROR(find_action(words->items[0], diag, &action));
  if (words->count != (action->takes_file ? 2U : 1U)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "byoc costs %s takes %s", action->name,
                           action->takes_file ? "one file" : "nothing more");
  }
  if (options->age_days != NO_AGE && !action->takes_age) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--older-than is for byoc costs prune");
  }
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_cost_database_t *database = NULL;
  byoc_status_t status =
      options->database == NULL
          ? byoc_cost_database_open(NULL, allocator, diag, &database)
          : byoc_cost_database_open_named(options->database, action->makes_database, allocator, diag, &database);
  if (status == BYOC_OK) status = action->run(database, options, action->takes_file ? words->items[1] : NULL, diag);
  byoc_cost_database_close(database);
  return status;
}

int byoc_main_costs(int argc, char **argv) {
  costs_options_t options = {.age_days = NO_AGE};
  byoc_string_items_t words = {0};
  const byoc_option_row_t rows[] = {
      {"json", 0, BYOC_OPT_FLAG, &options.json, "", "as JSON"},
      {"older-than", 0, BYOC_OPT_COUNT, &options.age_days, "DAYS",
       "prune costs that no build has used for DAYS days (default 90; 0: everything)"},
      {"database", 0, BYOC_OPT_STRING, &options.database, "FILE",
       "the database (default: costs.sqlite in the cache folder)"},
  };
  static const char *const operands[] = {"an action: list, export FILE, import FILE or prune", NULL};
  const byoc_usage_t usage = {
      .command = "byoc costs",
      .synopsis = "list [--json] | export FILE | import FILE | prune [--older-than DAYS]  [--database FILE]",
      .summary = "manage the costs that builds have measured",
      .operands = operands,
      .more_operands = &words,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "Builds use a cost only on the same machine, with the same compiler and plugin. Import keeps the later "
              "one of\n"
              "two costs.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false;
  const char *action = NULL;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &action, &done);
  if (status == BYOC_OK && !done) status = run(&words, &options, &diag);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
