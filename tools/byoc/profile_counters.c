// SPDX-License-Identifier: Apache-2.0
// Counters of backends below the rows of a profile.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/statistics.h"
#include "core/base/visible.h"
#include "profile.h"
#include "tools/common/print.h"

enum { MOST_COUNTERS = 256 };

// ---- collecting ----

static byoc_profile_counter_t *find_counter(byoc_profile_row_t *row, const char *name, const char *unit,
                                            bool *out_too_many) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  for (size_t i = 0; i < row->counters.count; ++i) {
    byoc_profile_counter_t *counter = &row->counters.data[i];
    if (strcmp(counter->name, name) == 0 && strcmp(counter->unit, unit) == 0) return counter;
  }
  *out_too_many = row->counters.count == MOST_COUNTERS;
  if (*out_too_many) return NULL;
  byoc_profile_counter_t made = {.name = byoc_copy_string(allocator, name), .unit = byoc_copy_string(allocator, unit)};
  if (made.name != NULL && made.unit != NULL && byoc_vector_push(&row->counters, allocator, made)) {
    return &row->counters.data[row->counters.count - 1];
  }
  byoc_free(allocator, made.name);
  byoc_free(allocator, made.unit);
  return NULL;
}

bool byoc_profile_count(byoc_profile_row_t *row, size_t run, const char *name, const char *unit, double value,
                        bool *out_too_many) {
  byoc_profile_counter_t *counter = find_counter(row, name, unit, out_too_many);
  if (counter == NULL) return false;
  while (counter->run_values.count <= run) {
    if (!byoc_vector_push(&counter->run_values, byoc_allocator_system(), 0.0)) return false;
  }
  if (counter->run != run) counter->run_calls = 0;
  counter->run = run;
  counter->run_calls += 1;
  double *sum = &counter->run_values.data[run];
  *sum += strcmp(unit, "%") == 0 ? (value - *sum) / (double)counter->run_calls : value;
  return true;
}

void byoc_profile_end_counters(byoc_profile_row_t *row) {
  for (size_t i = 0; i < row->counters.count; ++i) {
    byoc_profile_counter_t *counter = &row->counters.data[i];
    counter->median = byoc_median(counter->run_values.data, counter->run_values.count);
  }
}

void byoc_profile_row_drop_counters(byoc_profile_row_t *row) {
  for (size_t i = 0; i < row->counters.count; ++i) {
    byoc_free(byoc_allocator_system(), row->counters.data[i].name);
    byoc_free(byoc_allocator_system(), row->counters.data[i].unit);
    byoc_vector_deinit(&row->counters.data[i].run_values, byoc_allocator_system());
  }
  byoc_vector_deinit(&row->counters, byoc_allocator_system());
}

bool byoc_profile_has_counters(const byoc_profile_t *profile) {
  for (size_t i = 0; i < profile->rows.count; ++i) {
    if (profile->rows.data[i].counters.count > 0) return true;
  }
  return false;
}

// ---- showing ----

void byoc_profile_counter_text(const byoc_profile_counter_t *counter, byoc_string_t *out) {
  const bool is_time = strcmp(counter->unit, "ns") == 0;
  byoc_string_appendf(out, is_time ? "%.2f us " : "%.10g ", is_time ? counter->median / 1e3 : counter->median);
  if (!is_time && counter->unit[0] != '\0') {
    byoc_string_append_shown(out, counter->unit);
    byoc_string_append(out, " ");
  }
  byoc_string_append_shown(out, counter->name);
}

void byoc_profile_print_counters(const byoc_profile_t *profile, const size_t *order) {
  enum { NAME_WIDTH = 40 };
  if (!byoc_profile_has_counters(profile)) return;
  printf("%-40s %s\n", "instruction", "counters of its backend, in a run");
  for (size_t i = 0; i < profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[order[i]];
    byoc_string_t line;
    byoc_string_init(&line, byoc_allocator_system());
    byoc_string_append(&line, row->parent != BYOC_PROFILE_NO_ROW ? "  " : "");
    byoc_string_append_shown_cut(&line, row->name, NAME_WIDTH - line.size);
    byoc_string_appendf(&line, "%*s", NAME_WIDTH - (int)byoc_shown_width(line.data != NULL ? line.data : ""), "");
    for (size_t k = 0; k < row->counters.count; ++k) {
      byoc_string_append(&line, k > 0 ? ", " : " ");
      byoc_profile_counter_text(&row->counters.data[k], &line);
    }
    if (row->counters.count > 0 && !line.failed) byoc_print("%s\n", line.data);
    byoc_string_deinit(&line);
  }
}

json_t *byoc_profile_counters_json(const byoc_profile_row_t *row) {
  json_t *array = json_array();
  for (size_t i = 0; i < row->counters.count && array != NULL; ++i) {
    const byoc_profile_counter_t *counter = &row->counters.data[i];
    json_t *object = json_pack("{s:o, s:o, s:f}", "name", byoc_json_string(counter->name), "unit",
                               byoc_json_string(counter->unit), "value", counter->median);
    if (json_array_append_new(array, object) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return array;
}
