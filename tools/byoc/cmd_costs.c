#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "core/base/log.h"
#include "core/collage/cost_database.h"
#include "json_print.h"
#include "options.h"

enum { DEFAULT_AGE_DAYS = 90, SECONDS_A_DAY = 86400 };

typedef struct costs_options_t {
  const char *database; // NULL: the default place
  int64_t age_days;
  bool json;
} costs_options_t;

// ---- list ----

static byoc_status_t print_record(void *self, const byoc_cost_record_t *record) {
  (void)self;
  const byoc_cost_key_t *key = &record->key;
  if (isfinite(record->cost_ns)) {
    printf("%12.2f us  %s\n", record->cost_ns / 1e3, key->operators);
  } else {
    printf("%12s     %s: %s\n", "unusable", key->operators, record->reason);
  }
  printf("                 %s, %d thread%s\n", key->target, (int)key->thread_count, key->thread_count == 1 ? "" : "s");
  printf("                 %s\n", key->signature);
  return BYOC_OK;
}

static byoc_status_t add_to_array(void *self, const byoc_cost_record_t *record) {
  const byoc_cost_key_t *key = &record->key;
  json_t *row =
      json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:I, s:I}", "id", key->id, "operators",
                byoc_json_text(key->operators), "signature", byoc_json_text(key->signature), "target",
                byoc_json_text(key->target), "plugin", byoc_json_text(key->plugin), "compiler",
                byoc_json_text(key->compiler), "machine", byoc_json_text(key->machine), "threads",
                (int)key->thread_count, "cost_ns", isfinite(record->cost_ns) ? json_real(record->cost_ns) : json_null(),
                "reason", record->reason != NULL ? byoc_json_text(record->reason) : json_null(), "measured",
                (json_int_t)record->measured_at, "used", (json_int_t)record->used_at);
  return row != NULL && json_array_append_new(self, row) == 0 ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

static byoc_status_t list(byoc_cost_database_t *database, const costs_options_t *options, byoc_diag_t *diag) {
  if (!options->json) return byoc_cost_database_visit(database, print_record, NULL, diag);
  json_t *array = json_array();
  byoc_status_t status = array != NULL ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  if (status == BYOC_OK) status = byoc_cost_database_visit(database, add_to_array, array, diag);
  if (status == BYOC_OK) return byoc_json_print(array, diag);
  json_decref(array);
  return status == BYOC_OUT_OF_MEMORY ? byoc_diag_out_of_memory(diag) : status;
}

// ---- the others: one number each ----

static byoc_status_t print_count(const char *what, const char *text, size_t count, const costs_options_t *options,
                                 byoc_diag_t *diag) {
  if (options->json) return byoc_json_print(json_pack("{s:I}", what, (json_int_t)count), diag);
  printf("%zu cost%s %s\n", count, count == 1 ? "" : "s", text);
  return BYOC_OK;
}

// `words`: the action and its file.
static byoc_status_t run(const byoc_text_items_t *words, const costs_options_t *options, byoc_diag_t *diag) {
  static const char *const actions[] = {"list", "export", "import", "prune"};
  const char *action = words->items[0];
  size_t index = 0;
  while (index < 4 && strcmp(actions[index], action) != 0) ++index;
  if (index == 4) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no 'byoc costs %s'", action);
    const char *nearest = byoc_nearest_match(action, actions, 4);
    if (nearest != NULL) {
      byoc_diag_hint(diag, "did you mean 'byoc costs %s'?", nearest);
    } else {
      byoc_diag_hint(diag, "list, export FILE, import FILE or prune");
    }
    return status;
  }
  bool takes_file = index == 1 || index == 2;
  if (words->count != (takes_file ? 2U : 1U)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "byoc costs %s takes %s", action,
                           takes_file ? "one file" : "nothing more");
  }
  byoc_cost_database_t *database = NULL;
  BYOC_RETURN_IF_ERROR(byoc_cost_database_open(options->database, byoc_allocator_system(), diag, &database));
  const char *path = takes_file ? words->items[1] : NULL;
  size_t count = 0;
  byoc_status_t status = BYOC_OK;
  switch (index) {
  case 0:
    status = list(database, options, diag);
    break;
  case 1:
    status = byoc_cost_database_export(database, path, diag, &count);
    if (status == BYOC_OK) status = print_count("exported", "exported", count, options, diag);
    break;
  case 2:
    status = byoc_cost_database_import(database, path, diag, &count);
    if (status == BYOC_OK) status = print_count("imported", "imported", count, options, diag);
    break;
  default:
    status = byoc_cost_database_prune(database, options->age_days * SECONDS_A_DAY, diag, &count);
    if (status == BYOC_OK) status = print_count("removed", "removed", count, options, diag);
    break;
  }
  byoc_cost_database_close(database);
  return status;
}

int byoc_main_costs(int argc, char **argv) {
  costs_options_t options = {.age_days = DEFAULT_AGE_DAYS};
  byoc_text_items_t words = {0};
  const byoc_option_row_t rows[] = {
      {"json", 0, BYOC_OPT_FLAG, &options.json, "", "as JSON"},
      {"older-than", 0, BYOC_OPT_COUNT, &options.age_days, "DAYS",
       "prune what no build has used for so many days (default 90; 0: everything)"},
      {"database", 0, BYOC_OPT_TEXT, &options.database, "FILE", "this one instead of costs.sqlite in the cache folder"},
  };
  static const char *const operands[] = {"what to do: list, export FILE, import FILE or prune", NULL};
  const byoc_usage_t usage = {
      .command = "byoc costs",
      .synopsis = "list | export FILE | import FILE | prune [--older-than DAYS]",
      .summary = "look after the costs that builds have measured",
      .operands = operands,
      .more_operands = &words,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "A cost is used by builds on the machine, and with the compiler and the plugin, that it was measured\n"
              "with. Import keeps the later one where there are two.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false;
  const char *action = NULL;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &action, &done);
  if (status == BYOC_OK && !done) status = run(&words, &options, &diag);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
