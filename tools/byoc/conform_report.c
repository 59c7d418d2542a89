// SPDX-License-Identifier: Apache-2.0
// Prints the results of byoc conform: a table by operator, then each failure; or one JSON document.
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "core/base/file.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

typedef struct count_t {
  const char *name;
  size_t passed, failed, skipped;
} count_t;

typedef BYOC_VECTOR(count_t) counts_t;

static const char *text_of(const json_t *record, const char *key) {
  const char *text = json_string_value(json_object_get(record, key));
  return text ? text : "";
}

static void count_outcome(count_t *count, const json_t *record) {
  const char *outcome = text_of(record, "outcome");
  if (strcmp(outcome, "passed") == 0) {
    count->passed += 1;
  } else if (strcmp(outcome, "skipped") == 0) {
    count->skipped += 1;
  } else {
    count->failed += 1;
  }
}

static bool count_operator(counts_t *counts, const char *name, const json_t *record) {
  size_t i = 0;
  while (i < counts->count && strcmp(counts->data[i].name, name) != 0) ++i;
  if (i == counts->count && !byoc_vector_push(counts, byoc_allocator_system(), (count_t){.name = name})) return false;
  count_outcome(&counts->data[i], record);
  return true;
}

static int compare_counts(const void *a, const void *b) {
  return strcmp(((const count_t *)a)->name, ((const count_t *)b)->name);
}

// A case counts under every operator that its graph holds; one that could not be read under "(unknown)".
static bool count_operators(const byoc_conform_t *conform, counts_t *counts) {
  for (size_t i = 0; i < conform->cases.count; ++i) {
    const json_t *record = conform->cases.data[i].record, *operators = json_object_get(record, "operators");
    if (json_array_size(operators) == 0 && !count_operator(counts, "(unknown)", record)) return false;
    for (size_t k = 0; k < json_array_size(operators); ++k) {
      const char *name = json_string_value(json_array_get(operators, k));
      if (name != NULL && !count_operator(counts, name, record)) return false;
    }
  }
  if (counts->count > 0) qsort(counts->data, counts->count, sizeof(*counts->data), compare_counts);
  return true;
}

// Nodes each target took, over all cases.
static json_t *sum_nodes(const byoc_conform_t *conform) {
  json_t *sums = json_object();
  for (size_t i = 0; sums != NULL && i < conform->cases.count; ++i) {
    json_t *nodes = json_object_get(conform->cases.data[i].record, "nodes"), *value;
    const char *target;
    json_object_foreach(nodes, target, value) {
      json_int_t sum = json_integer_value(json_object_get(sums, target)) + json_integer_value(value);
      if (json_object_set_new(sums, target, json_integer(sum)) == 0) continue;
      json_decref(sums);
      return NULL;
    }
  }
  return sums;
}

// ---- text ----

static void print_nodes(const json_t *nodes, const char *before) {
  const char *target, *comma = "";
  json_t *value;
  printf("%s", before);
  json_object_foreach((json_t *)(uintptr_t)nodes, target, value) {
    byoc_print("%s%s %lld", comma, target, (long long)json_integer_value(value));
    comma = ", ";
  }
  printf("\n");
}

static void print_text(const byoc_conform_t *conform, const counts_t *counts, const count_t *all, const json_t *nodes) {
  int width = 9;
  for (size_t i = 0; i < counts->count; ++i) {
    int size = (int)strlen(counts->data[i].name);
    if (size > width) width = size;
  }
  printf("%-*s  passed  failed  skipped\n", width, "operator");
  for (size_t i = 0; i < counts->count; ++i) {
    const count_t *count = &counts->data[i];
    byoc_print("%-*s  %6zu  %6zu  %7zu\n", width, count->name, count->passed, count->failed, count->skipped);
  }
  for (size_t i = 0; i < conform->cases.count; ++i) {
    const byoc_conform_case_t *item = &conform->cases.data[i];
    const char *outcome = text_of(item->record, "outcome");
    if (strcmp(outcome, "passed") == 0) continue;
    printf("\n");
    byoc_print("%s: %s (%s)\n", item->name, outcome, text_of(item->record, "stage"));
    byoc_print("  %s\n", text_of(item->record, "reason"));
  }
  printf("\n%zu passed, %zu failed, %zu skipped, %zu in all\n", all->passed, all->failed, all->skipped,
         conform->cases.count);
  // With one target there is nothing to compare.
  if (json_object_size(nodes) > 1) print_nodes(nodes, "claimed nodes: ");
}

// ---- JSON ----

static json_t *cases_to_json(const byoc_conform_t *conform) {
  json_t *cases = json_array();
  bool ok = cases != NULL;
  for (size_t i = 0; ok && i < conform->cases.count; ++i) {
    const byoc_conform_case_t *item = &conform->cases.data[i];
    json_t *object = json_object();
    ok = object != NULL && json_object_set_new(object, "name", byoc_json_string(item->name)) == 0 &&
         json_object_set_new(object, "path", byoc_json_string(item->path)) == 0 &&
         json_object_update(object, item->record) == 0;
    ok = json_array_append_new(cases, object) == 0 && ok;
  }
  if (ok) return cases;
  json_decref(cases);
  return NULL;
}

static byoc_status_t print_json(const byoc_conform_t *conform, const counts_t *counts, const count_t *all,
                                json_t *nodes, byoc_diag_t *diag) {
  json_t *operators = json_object();
  for (size_t i = 0; i < counts->count && operators != NULL; ++i) {
    const count_t *count = &counts->data[i];
    json_t *row = json_pack("{s:I,s:I,s:I}", "passed", (json_int_t)count->passed, "failed", (json_int_t)count->failed,
                            "skipped", (json_int_t)count->skipped);
    if (json_object_set_new(operators, count->name, row) == 0) continue;
    json_decref(operators);
    operators = NULL;
  }
  json_t *cases = cases_to_json(conform);
  if (operators == NULL || cases == NULL) {
    json_decref(operators);
    json_decref(cases);
    return byoc_diag_out_of_memory(diag);
  }
  return byoc_json_print(json_pack("{s:I,s:I,s:I,s:I,s:O,s:o,s:o}", "passed", (json_int_t)all->passed, "failed",
                                   (json_int_t)all->failed, "skipped", (json_int_t)all->skipped, "total",
                                   (json_int_t)conform->cases.count, "nodes", nodes, "operators", operators, "cases",
                                   cases),
                         diag);
}

byoc_status_t byoc_conform_report(const byoc_conform_t *conform, byoc_diag_t *diag, size_t *out_failed) {
  counts_t counts = {0};
  count_t all = {0};
  byoc_status_t status = BYOC_OK;
  json_t *nodes = sum_nodes(conform);
  for (size_t i = 0; i < conform->cases.count; ++i) count_outcome(&all, conform->cases.data[i].record);
  if (nodes == NULL || !count_operators(conform, &counts)) {
    status = byoc_diag_out_of_memory(diag);
  } else if (conform->options->json) {
    status = print_json(conform, &counts, &all, nodes, diag);
  } else {
    print_text(conform, &counts, &all, nodes);
  }
  *out_failed = all.failed;
  json_decref(nodes);
  byoc_vector_deinit(&counts, byoc_allocator_system());
  return status;
}

json_t *byoc_conform_record(const char *outcome, const char *stage, const char *reason) {
  json_t *record = json_pack("{s:s}", "outcome", outcome);
  bool ok = record != NULL && (stage == NULL || json_object_set_new(record, "stage", json_string(stage)) == 0) &&
            (reason == NULL || json_object_set_new(record, "reason", byoc_json_string(reason)) == 0);
  if (ok) return record;
  json_decref(record);
  return NULL;
}
