// SPDX-License-Identifier: Apache-2.0
// The table, and the same as JSON.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/visible.h"
#include "profile.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

// ---- order ----

static const byoc_profile_t
    *sorted_profile; // for the comparison that byoc_profile_order gives qsort; only one thread sorts

// The instruction that a row belongs to: itself, or a node's parent.
static size_t step_of(const byoc_profile_t *profile, size_t row) {
  return profile->rows.data[row].parent == BYOC_PROFILE_NO_ROW ? row : profile->rows.data[row].parent;
}

static int compare_rows(const void *left, const void *right) {
  size_t a = *(const size_t *)left, b = *(const size_t *)right;
  size_t step_a = step_of(sorted_profile, a), step_b = step_of(sorted_profile, b);
  const byoc_profile_row_t *rows = sorted_profile->rows.data;
  if (step_a != step_b) {
    if (rows[step_a].median_ns != rows[step_b].median_ns) {
      return rows[step_a].median_ns > rows[step_b].median_ns ? -1 : 1;
    }
    return step_a < step_b ? -1 : 1;
  }
  if (a == step_a || b == step_b) return a == b ? 0 : a == step_a ? -1 : 1;
  if (rows[a].median_ns != rows[b].median_ns) return rows[a].median_ns > rows[b].median_ns ? -1 : 1;
  return a < b ? -1 : a > b;
}

size_t *byoc_profile_order(const byoc_profile_t *profile) {
  size_t *order = calloc(profile->rows.count + 1, sizeof(*order));
  if (order == NULL) return NULL;
  for (size_t i = 0; i < profile->rows.count; ++i) order[i] = i;
  sorted_profile = profile;
  qsort(order, profile->rows.count, sizeof(*order), compare_rows);
  return order;
}

// ---- table ----

static void print_rate(double rate, double limit, const char *beyond, int width) {
  if (rate <= 0) printf(" %*s %5s", width, "-", "");
  if (rate > 0) printf(" %*.1f %5s", width, rate, byoc_profile_share(rate, limit, beyond).text);
}

// "412.3 GOP/s 71%": of the peak of the row's type.
static void print_speed(const byoc_profile_t *profile, const byoc_profile_row_t *row) {
  const double rate = row->flops_per_ns;
  if (rate <= 0) printf(" %8s %-7s %5s", "-", "", "");
  if (rate > 0) {
    printf(" %8.1f %-7s %5s", rate, byoc_profile_unit(row->arithmetic),
           byoc_profile_share(rate, byoc_profile_peak(profile, row), BYOC_PROFILE_FEWER).text);
  }
}

static void print_row(const byoc_profile_t *profile, const byoc_profile_row_t *row) {
  enum { NAME_WIDTH = 40 };
  bool is_node = row->parent != BYOC_PROFILE_NO_ROW;
  byoc_string_t name;
  byoc_string_init(&name, byoc_allocator_system());
  byoc_string_append(&name, is_node ? "  " : "");
  byoc_string_append_shown_cut(&name, row->name, NAME_WIDTH - name.size);
  byoc_print("%s%*s %-8s %10.2f %5.1f%%", name.data, NAME_WIDTH - (int)byoc_shown_width(name.data), "", row->target,
             row->median_ns / 1e3, 100 * row->median_ns / profile->steps_ns);
  byoc_string_deinit(&name);
  if (!is_node) printf(" %8.2f", row->host_ns / 1e3);
  if (!is_node) {
    print_speed(profile, row);
    print_rate(row->bytes_per_ns, profile->limits.bytes_per_ns, BYOC_PROFILE_CACHE, 7);
  }
  printf("\n");
}

static void print_totals(const byoc_profile_t *profile) {
  enum { SHOWN = 12 };
  size_t count = 0;
  byoc_profile_total_t *totals = byoc_profile_totals(profile, &count);
  if (totals != NULL && count > 1) printf("%-40s %-8s %10s %6s %8s\n", "operators", "target", "us", "share", "times");
  double rest_ns = 0;
  for (size_t i = SHOWN; i < count; ++i) rest_ns += totals[i].ns;
  for (size_t i = 0; i < count && i < SHOWN && count > 1; ++i) {
    byoc_print("%-40.*s %-8s %10.2f %5.1f%% %8.0f\n",
               (int)(totals[i].operators_size < 40 ? totals[i].operators_size : 40), totals[i].operators,
               totals[i].target, totals[i].ns / 1e3, 100 * totals[i].ns / profile->steps_ns, totals[i].calls);
  }
  if (count > SHOWN) {
    printf("%-49s %10.2f %5.1f%%\n", "others", rest_ns / 1e3, 100 * rest_ns / profile->steps_ns);
  }
  free(totals);
}

void byoc_profile_print(const byoc_profile_t *profile, const size_t *order) {
  printf("%-40s %-8s %10s %6s %8s %8s %-7s %5s %7s %5s\n", "instruction", "target", "us", "share", "host us", "speed",
         "", "peak", "GB/s", "peak");
  double flops = 0, integers = 0;
  size_t call_count = 0;
  for (size_t i = 0; i < profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[order[i]];
    if (!row->is_call && row->parent == BYOC_PROFILE_NO_ROW) continue; // the host's time has them
    print_row(profile, row);
    call_count += row->is_call ? 1 : 0;
    if (row->flops > 0) flops += row->flops * row->calls;
    if (row->flops > 0 && byoc_arithmetic_is_integer(row->arithmetic)) integers += row->flops * row->calls;
  }
  byoc_profile_print_counters(profile, order);
  print_totals(profile);
  char rate[64] = ""; // the work of shapes that are known only when they run is not known
  const byoc_arithmetic_t most = 2 * integers > flops ? BYOC_ARITHMETIC_INT8 : BYOC_ARITHMETIC_F32;
  if (flops > 0) snprintf(rate, sizeof(rate), ", %.1f %s", flops / profile->median_ns, byoc_profile_unit(most));
  printf("%zu instruction%s, %s of %zu run%s %.3f ms (instructions %.3f ms), %d thread%s%s\n"
         "host, between the calls: %.3f ms, %.1f%% of a run; it looks after %zu other instruction%s\n"
         "machine: %.1f GFLOP/s of f32 multiply-adds",
         profile->step_count, byoc_plural(profile->step_count), profile->best ? "fastest" : "median",
         profile->run_count, byoc_plural(profile->run_count), profile->median_ns / 1e6, profile->steps_ns / 1e6,
         (int)profile->thread_count, byoc_plural((uint64_t)profile->thread_count), rate, profile->host_ns / 1e6,
         100 * profile->host_ns / profile->median_ns, profile->step_count - call_count,
         byoc_plural(profile->step_count - call_count), profile->limits.flops_per_ns);
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    const double peak = profile->limits.peaks[t];
    const byoc_arithmetic_t type = (byoc_arithmetic_t)t;
    if (peak > 0) printf(", %.1f %s of %s", peak, byoc_profile_unit(type), byoc_arithmetic_name(type));
  }
  printf(", %.1f GB/s from and to memory\n", profile->limits.bytes_per_ns);
}

// ---- JSON ----

static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

static json_t *row_json(const byoc_profile_t *profile, const byoc_profile_row_t *row) {
  json_t *object = json_pack("{s:o, s:f, s:f}", "name", byoc_json_string(row->name), "median_us", row->median_ns / 1e3,
                             "share", row->median_ns / profile->steps_ns);
  bool ok = object != NULL;
  if (row->parent == BYOC_PROFILE_NO_ROW) {
    ok = ok && set(object, "kind", byoc_json_string(row->kind)) &&
         set(object, "target", byoc_json_string(row->target)) && set(object, "nodes", json_array()) &&
         (!row->is_call || (set(object, "calls", json_integer((json_int_t)row->calls)) &&
                            set(object, "host_us", json_real(row->host_ns / 1e3))));
  }
  if (row->is_call && profile->thread_count > 1) {
    ok = ok && set(object, "threads", byoc_profile_threads_json(&row->threads, profile->thread_count));
  }
  if (row->flops >= 0) ok = ok && set(object, "flops", json_real(row->flops));
  if (row->bytes >= 0) ok = ok && set(object, "bytes", json_real(row->bytes));
  if (row->flops > 0) {
    ok = ok && set(object, "gflops_per_s", json_real(row->flops_per_ns)) &&
         set(object, "arithmetic", json_string(byoc_arithmetic_name(row->arithmetic)));
  }
  if (row->bytes > 0) ok = ok && set(object, "gbytes_per_s", json_real(row->bytes_per_ns));
  if (row->counters.count > 0) ok = ok && set(object, "counters", byoc_profile_counters_json(row));
  if (row->limit_share > 0) ok = ok && set(object, "limit_share", json_real(row->limit_share));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

// In order of the program, each engine's nodes inside their instruction.
static json_t *rows_json(const byoc_profile_t *profile) {
  json_t *steps = json_array();
  for (size_t i = 0; i < profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[i];
    json_t *list =
        row->parent == BYOC_PROFILE_NO_ROW ? steps : json_object_get(json_array_get(steps, row->parent), "nodes");
    if (json_array_append_new(list, row_json(profile, row)) == 0) continue;
    json_decref(steps);
    return NULL;
  }
  return steps;
}

static json_t *total_json(const byoc_profile_total_t *total, const char *operators) {
  return json_pack("{s:o, s:o, s:I, s:f}", "operators", byoc_json_string(operators), "target",
                   byoc_json_string(total->target), "calls", (json_int_t)total->calls, "us", total->ns / 1e3);
}

static json_t *totals_json(const byoc_profile_t *profile) {
  size_t count = 0;
  byoc_profile_total_t *totals = byoc_profile_totals(profile, &count);
  json_t *array = totals != NULL ? json_array() : NULL;
  for (size_t i = 0; i < count && array != NULL; ++i) {
    byoc_string_t operators;
    byoc_string_init(&operators, byoc_allocator_system());
    byoc_string_append_bytes(&operators, totals[i].operators, totals[i].operators_size);
    json_t *total = operators.failed ? NULL : total_json(&totals[i], operators.data);
    if (json_array_append_new(array, total) != 0) {
      json_decref(array);
      array = NULL;
    }
    byoc_string_deinit(&operators);
  }
  free(totals);
  return array;
}

// Operations per ns of other types than f32, as far as they were measured.
static json_t *peaks_json(const byoc_profile_t *profile) {
  json_t *object = json_object();
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT && object != NULL; ++t) {
    const double peak = profile->limits.peaks[t];
    if (peak <= 0 || set(object, byoc_arithmetic_name((byoc_arithmetic_t)t), json_real(peak))) continue;
    json_decref(object);
    return NULL;
  }
  return object;
}

byoc_status_t byoc_profile_write_json(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag) {
  json_t *root = json_pack("{s:o, s:i, s:I, s:f, s:f, s:{s:f, s:f, s:o}, s:o, s:o}", "model",
                           byoc_json_string(profile->artifact->model_name), "threads", (int)profile->thread_count,
                           "runs", (json_int_t)profile->run_count, "median_ms", profile->median_ns / 1e6, "host_ms",
                           profile->host_ns / 1e6, "machine", "gflops_per_s", profile->limits.flops_per_ns,
                           "gbytes_per_s", profile->limits.bytes_per_ns, "peaks", peaks_json(profile), "instructions",
                           rows_json(profile), "totals", totals_json(profile));
  if (root != NULL && profile->thread_count > 1 &&
      (!set(root, "host_threads", byoc_profile_threads_json(&profile->host_threads, profile->thread_count)) ||
       !set(root, "all_threads", byoc_profile_threads_json(&profile->all_threads, profile->thread_count)))) {
    json_decref(root);
    root = NULL;
  }
  char *text = root != NULL ? byoc_json_dump(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
  json_decref(root);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_file_write_atomic(path, text, strlen(text), 0644, diag);
  free(text);
  return status;
}
