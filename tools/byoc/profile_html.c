// SPDX-License-Identifier: Apache-2.0
// A picture of a profile: one HTML file with inline SVG that needs nothing else.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/html.h"
#include "core/base/json.h"
#include "profile.h"
#include "reports.h"

enum { WIDTH = 1160, LANE = 34, BAR = 18, MAX_BARS = 40, LABEL = 330, ROOF_HEIGHT = 420, TICK_LABEL = 60 };

extern const unsigned char byoc_embed_page_colours_css[], byoc_embed_page_profile_css[], byoc_embed_page_reports_css[];

static void append_text(byoc_string_t *out, const char *text) {
  byoc_html_append_text(out, text, strlen(text));
}

// ---- colours ----

// As on the page of a plan: a target has the colour of its place in the build's list, whose last one is "c".
static void append_colour(const byoc_profile_t *profile, const char *target, byoc_string_t *out) {
  enum { COLOURS = 8 };
  size_t place = 0;
  while (place < profile->target_count && strcmp(profile->targets[place], target) != 0) ++place;
  if (place + 1 < profile->target_count) {
    byoc_string_appendf(out, "var(--t%zu)", place % COLOURS);
  } else {
    byoc_string_append(out, place < profile->target_count ? "var(--native)" : "var(--edge)");
  }
}

static void append_key(const byoc_profile_t *profile, const char *target, byoc_string_t *out) {
  byoc_string_append(out, "<span class=\"key\" style=\"background:");
  append_colour(profile, target, out);
  byoc_string_append(out, "\"></span>");
  append_text(out, target[0] != '\0' ? target : "host");
}

static void append_fill(const byoc_profile_t *profile, const byoc_profile_row_t *row, byoc_string_t *out) {
  byoc_string_append(out, " style=\"fill:");
  append_colour(profile, byoc_profile_target(profile, row), out);
  byoc_string_append(out, "\"");
}

static bool is_first_of_target(const byoc_profile_t *profile, size_t step) {
  for (size_t i = 0; i < step; ++i) {
    if (strcmp(profile->rows.data[i].target, profile->rows.data[step].target) == 0) return false;
  }
  return true;
}

static void append_legend(const byoc_profile_t *profile, byoc_string_t *out) {
  byoc_string_append(out, "<p>");
  for (size_t i = 0; i < profile->step_count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[i];
    if (!is_first_of_target(profile, i)) continue;
    append_key(profile, row->target, out);
  }
  byoc_string_append(out, "</p>\n");
}

// The tooltip of a row, for so many calls.
static void append_title(const byoc_profile_row_t *row, double calls, double duration_ns, byoc_string_t *out) {
  byoc_string_append(out, "<title>");
  append_text(out, row->name);
  byoc_string_appendf(out, "\n%.2f us", duration_ns / 1e3);
  if (row->flops > 0) {
    byoc_string_appendf(out, ", %.1f %s of %s", row->flops * calls / duration_ns, byoc_profile_unit(row->arithmetic),
                        byoc_arithmetic_name(row->arithmetic));
  }
  if (row->bytes > 0) byoc_string_appendf(out, ", %.1f GB/s", row->bytes * calls / duration_ns);
  if (row->is_call) byoc_string_appendf(out, "\n%.2f us of the host before it", row->host_ns / 1e3);
  byoc_string_append(out, "</title>");
}

// ---- over time ----

// A step of 1, 2 or 5 times a power of ten, so that about ten of them fit into `span`.
static double tick_of(double span) {
  double tick = pow(10, floor(log10(span / 10)));
  if (span / tick > 50) return tick * 5;
  return span / tick > 20 ? tick * 2 : tick;
}

static void append_timeline(const byoc_profile_t *profile, byoc_string_t *out) {
  bool has_nodes = profile->rows.count > profile->step_count;
  double span = profile->events_ns > 0 ? profile->events_ns : 1, scale = WIDTH / span;
  int bottom = has_nodes ? 2 * LANE + 8 : LANE;
  byoc_string_appendf(out,
                      "<h2>One run over time</h2>\n<p>The fastest run, %.3f ms%s.</p>\n<svg viewBox=\"0 0 %d %d\">\n",
                      span / 1e6, has_nodes ? "; nodes of engines below their instruction" : "", WIDTH, bottom + 24);
  double tick = tick_of(span);
  for (double at = 0; at <= span; at += tick) {
    const double x = at * scale;
    byoc_string_appendf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/>", x, x, bottom + 4);
    if (x + TICK_LABEL <= WIDTH) { // the last one may not fit
      byoc_string_appendf(out, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%g ms</text>", x + 2, bottom + 18, at / 1e6);
    }
    byoc_string_append(out, "\n");
  }
  for (size_t i = 0; i < profile->events.count; ++i) {
    const byoc_profile_event_t *event = &profile->events.data[i];
    const byoc_profile_row_t *row = &profile->rows.data[event->row];
    double duration = event->duration_ns > 0 ? (double)event->duration_ns : 1;
    bool is_node = row->parent != BYOC_PROFILE_NO_ROW;
    byoc_string_appendf(out, "<rect class=\"event\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"%s",
                        (double)event->start_ns * scale, is_node ? LANE + 8 : 0, fmax(duration * scale, 0.3), LANE,
                        is_node ? " fill-opacity=\".6\"" : "");
    append_fill(profile, row, out);
    byoc_string_append(out, ">");
    append_title(row, 1, duration, out);
    byoc_string_append(out, "</rect>\n");
  }
  byoc_string_append(out, "</svg>\n");
}

// ---- bars ----

// The name in front of a bar, in a group that the caller closes.
static void append_label(const byoc_profile_row_t *row, int y, byoc_string_t *out) {
  char name[48];
  int length = snprintf(name, sizeof(name), "%s", row->name);
  if (length >= (int)sizeof(name)) memcpy(name + sizeof(name) - 4, "...", 4);
  byoc_string_appendf(out, "<g><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LABEL - 8, y + 13);
  append_text(out, name);
  byoc_string_append(out, "</text>");
}

static void append_bar(const byoc_profile_t *profile, const byoc_profile_row_t *row, int y, double scale,
                       byoc_string_t *out) {
  double width = row->median_ns * scale;
  append_label(row, y, out);
  byoc_string_appendf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"", LABEL, y + 2, fmax(width, 0.5),
                      BAR - 4);
  append_fill(profile, row, out);
  byoc_string_append(out, "/>");
  byoc_string_appendf(out, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%.1f us, %.1f%%", LABEL + width + 6, y + 13,
                      row->median_ns / 1e3, 100 * row->median_ns / profile->steps_ns);
  if (row->flops_per_ns > 0) {
    byoc_string_appendf(
        out, ", %.1f %s (%s)", row->flops_per_ns, byoc_profile_unit(row->arithmetic),
        byoc_profile_share(row->flops_per_ns, byoc_profile_peak(profile, row), BYOC_PROFILE_FEWER).text);
  }
  byoc_string_append(out, "</text>");
  append_title(row, row->calls, row->median_ns > 0 ? row->median_ns : 1, out);
  byoc_string_append(out, "</g>\n");
}

// An engine's nodes are shown instead of their instruction.
static void append_bars(const byoc_profile_t *profile, const size_t *order, byoc_string_t *out) {
  const byoc_profile_row_t *shown[MAX_BARS];
  size_t count = 0, leaf_count = 0;
  double longest = 1;
  for (size_t i = 0; i < profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[order[i]];
    if (!byoc_profile_is_leaf(profile, order[i]) || (!row->is_call && row->parent == BYOC_PROFILE_NO_ROW)) continue;
    leaf_count += 1;
    if (count < MAX_BARS) shown[count++] = row;
    if (row->median_ns > longest) longest = row->median_ns;
  }
  byoc_string_appendf(out, "<h2>Where the time goes</h2>\n<p>%s of %zu run%s; the %zu slowest of %zu.</p>\n",
                      profile->best ? "Fastest times" : "Medians", profile->run_count, byoc_plural(profile->run_count),
                      count, leaf_count);
  byoc_string_appendf(out, "<svg viewBox=\"0 0 %d %zu\">\n", WIDTH, count * BAR + 4);
  double scale = (WIDTH - LABEL - 260) / longest;
  for (size_t i = 0; i < count; ++i) append_bar(profile, shown[i], (int)i * BAR, scale, out);
  byoc_string_append(out, "</svg>\n");
}

// ---- counters ----

static void append_counters(const byoc_profile_t *profile, const size_t *order, byoc_string_t *out) {
  if (!byoc_profile_has_counters(profile)) return;
  byoc_string_append(out,
                     "<h2>Counters of backends</h2>\n<p>Of one run, medians; those of several calls are added, and "
                     "those in percent averaged.</p>\n<table><tr><th>instruction<th>counters</tr>\n");
  for (size_t i = 0; i < profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[order[i]];
    if (row->counters.count == 0) continue;
    byoc_string_append(out, row->parent != BYOC_PROFILE_NO_ROW ? "<tr><td>&emsp;" : "<tr><td>");
    append_text(out, row->name);
    byoc_string_append(out, "<td>");
    for (size_t k = 0; k < row->counters.count; ++k) {
      byoc_string_t text;
      byoc_string_init(&text, byoc_allocator_system());
      byoc_string_append(&text, k > 0 ? ", " : "");
      byoc_profile_counter_text(&row->counters.data[k], &text);
      if (text.failed) out->failed = true;
      append_text(out, text.failed ? "" : text.data);
      byoc_string_deinit(&text);
    }
    byoc_string_append(out, "</tr>\n");
  }
  byoc_string_append(out, "</table>\n");
}

// ---- totals ----

static void append_totals(const byoc_profile_t *profile, byoc_string_t *out) {
  size_t count = 0;
  byoc_profile_total_t *totals = byoc_profile_totals(profile, &count);
  if (totals == NULL) out->failed = true;
  byoc_string_append(out, "<h2>By operators and target</h2>\n<table><tr><th>operators<th>target<th class=\"number\">"
                          "times<th class=\"number\">ms<th class=\"number\">percent</tr>\n");
  for (size_t i = 0; i < count; ++i) {
    const byoc_profile_total_t *total = &totals[i];
    byoc_string_append(out, "<tr><td>");
    byoc_html_append_text(out, total->operators, total->operators_size);
    byoc_string_append(out, "<td>");
    append_key(profile, total->target, out);
    byoc_string_appendf(out, "<td class=\"number\">%.0f<td class=\"number\">%.3f<td class=\"number\">%.1f%%</tr>\n",
                        total->calls, total->ns / 1e6, 100 * total->ns / profile->steps_ns);
  }
  byoc_string_append(out, "</table>\n");
  free(totals);
}

// ---- threads ----

// Lost time on several threads, by cause. The bar of an instruction without losses is empty.
static const struct {
  const char *name, *colour;
} causes[] = {{"one thread works alone", "var(--t3)"},
              {"uneven shares", "var(--mark)"},
              {"loops begin and end", "var(--t2)"},
              {"the same work takes longer", "var(--t5)"}};
enum { CAUSES = sizeof(causes) / sizeof(causes[0]) };

static void append_losses(const byoc_profile_t *profile, const size_t *losses, byoc_string_t *out) {
  const int n = (int)profile->thread_count;
  const byoc_profile_threads_t *all = &profile->all_threads;
  const double lost_ns = all->many_ns - all->alone_ns / n;
  byoc_string_appendf(out,
                      "<h2>Lost time on %d threads</h2>\n<p>%.3f ms on one thread, %.3f ms on %d: %.2f times as fast. "
                      "%.3f ms are missing to %d times.</p>\n<p>",
                      n, all->alone_ns / 1e6, all->many_ns / 1e6, n,
                      all->many_ns > 0 ? all->alone_ns / all->many_ns : 1, lost_ns / 1e6, n);
  for (size_t k = 0; k < CAUSES; ++k) {
    byoc_string_appendf(out, "<span class=\"key\" style=\"background:%s\"></span>%s", causes[k].colour, causes[k].name);
  }
  size_t count = 0;
  double longest = 1;
  for (size_t i = 0; i < profile->step_count && count < MAX_BARS; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[losses[i]];
    if (row->is_call) count += 1;
    longest = fmax(longest, row->threads.many_ns - row->threads.alone_ns / n);
  }
  byoc_string_appendf(out, "</p>\n<svg viewBox=\"0 0 %d %zu\">\n", WIDTH, count * BAR + 4);
  const double scale = (WIDTH - LABEL - 320) / longest;
  for (size_t i = 0, at = 0; at < count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[losses[i]];
    if (!row->is_call) continue;
    const byoc_profile_threads_t *threads = &row->threads;
    const double parts[CAUSES] = {threads->alone_loss_ns, threads->uneven_ns, threads->fork_ns, threads->dearer_ns};
    const int y = (int)at++ * BAR;
    append_label(row, y, out);
    double x = LABEL;
    for (size_t k = 0; k < CAUSES; ++k) {
      if (parts[k] <= 0) continue;
      byoc_string_appendf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" style=\"fill:%s\"/>", x, y + 2,
                          parts[k] * scale, BAR - 4, causes[k].colour);
      x += parts[k] * scale;
    }
    byoc_string_appendf(out,
                        "<text class=\"small\" x=\"%.1f\" y=\"%d\">%.1f us of %.1f us, %.2f times as fast</text></g>\n",
                        x + 6, y + 13, (threads->many_ns - threads->alone_ns / n) / 1e3, threads->many_ns / 1e3,
                        threads->many_ns > 0 ? threads->alone_ns / threads->many_ns : 1);
  }
  byoc_string_append(out, "</svg>\n");
}

// ---- roofline ----

// Logarithmic axes in powers of ten.
typedef struct roof_t {
  double low_x, high_x, low_y, high_y;
} roof_t;

static double roof_x(const roof_t *roof, double value) {
  return 60 + (WIDTH - 90) * (log10(value) - roof->low_x) / (roof->high_x - roof->low_x);
}

static double roof_y(const roof_t *roof, double value) {
  return ROOF_HEIGHT - 36 - (ROOF_HEIGHT - 56) * (log10(value) - roof->low_y) / (roof->high_y - roof->low_y);
}

static bool has_place(const byoc_profile_row_t *row) {
  return row->flops > 0 && row->bytes > 0 && row->median_ns > 0;
}

static roof_t roof_of(const byoc_profile_t *profile) {
  const byoc_calibration_t *limits = &profile->limits;
  double highest = limits->flops_per_ns;
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) highest = fmax(highest, limits->peaks[t]);
  roof_t roof = {.low_x = floor(log10(limits->flops_per_ns / limits->bytes_per_ns)) - 1,
                 .high_x = ceil(log10(highest / limits->bytes_per_ns)) + 1,
                 .low_y = floor(log10(limits->flops_per_ns)) - 2,
                 .high_y = ceil(log10(highest * 1.1))};
  for (size_t i = 0; i < profile->step_count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[i];
    if (!has_place(row)) continue;
    roof.low_x = fmin(roof.low_x, floor(log10(row->flops / row->bytes)));
    roof.high_x = fmax(roof.high_x, ceil(log10(row->flops / row->bytes)));
    roof.low_y = fmin(roof.low_y, floor(log10(row->flops_per_ns)));
    roof.high_y = fmax(roof.high_y, ceil(log10(row->flops_per_ns)));
  }
  return roof;
}

// The line that memory and one type of arithmetic allow. f32 has one, and each type that was measured.
static void append_roof(const byoc_profile_t *profile, const roof_t *roof, byoc_arithmetic_t type, byoc_string_t *out) {
  const byoc_calibration_t *limits = &profile->limits;
  const bool is_first = type == BYOC_ARITHMETIC_F32;
  if (!is_first && limits->peaks[type] <= 0) return;
  const double peak = byoc_calibration_peak(limits, type), ridge = peak / limits->bytes_per_ns;
  double left = pow(10, roof->low_x), lowest = pow(10, roof->low_y);
  if (left * limits->bytes_per_ns < lowest) left = lowest / limits->bytes_per_ns;
  byoc_string_appendf(out, "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n", roof_x(roof, left),
                      roof_y(roof, left * limits->bytes_per_ns), roof_x(roof, ridge), roof_y(roof, peak),
                      roof_x(roof, pow(10, roof->high_x)), roof_y(roof, peak));
  byoc_string_appendf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f %s", WIDTH - 34, roof_y(roof, peak) - 6,
                      peak, byoc_profile_unit(type));
  if (is_first) byoc_string_appendf(out, ", %.1f GB/s</text>\n", limits->bytes_per_ns);
  if (!is_first) byoc_string_appendf(out, " of %s</text>\n", byoc_arithmetic_name(type));
}

static void append_roof_axes(const byoc_profile_t *profile, const roof_t *roof, byoc_string_t *out) {
  for (double power = roof->low_x; power <= roof->high_x; ++power) {
    double x = roof_x(roof, pow(10, power));
    byoc_string_appendf(out,
                        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"%d\"/><text class=\"small\" "
                        "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                        x, x, ROOF_HEIGHT - 36, x, ROOF_HEIGHT - 22, pow(10, power));
  }
  for (double power = roof->low_y; power <= roof->high_y; ++power) {
    double y = roof_y(roof, pow(10, power));
    byoc_string_appendf(out,
                        "<line class=\"grid\" x1=\"60\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"small\" "
                        "x=\"54\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                        WIDTH - 30, y, y, y + 4, pow(10, power));
  }
  byoc_string_appendf(out,
                      "<text class=\"small\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte moved"
                      "</text><text class=\"small\" x=\"4\" y=\"12\">GFLOP/s, GOP/s</text>\n",
                      WIDTH / 2, ROOF_HEIGHT - 6);
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) append_roof(profile, roof, (byoc_arithmetic_t)t, out);
}

static void append_roofline(const byoc_profile_t *profile, byoc_string_t *out) {
  roof_t roof = roof_of(profile);
  byoc_string_appendf(
      out,
      "<h2>Against the machine's limits</h2>\n<p>Each dot is an instruction, its area the percentage of the "
      "time; the line is what arithmetic and memory allow on %d thread%s. Data in caches may "
      "lie above the slope; Winograd convolutions, counted as direct ones, may lie above the roof.</p>\n"
      "<svg viewBox=\"0 0 %d %d\">\n",
      (int)profile->thread_count, byoc_plural((uint64_t)profile->thread_count), WIDTH, ROOF_HEIGHT);
  append_roof_axes(profile, &roof, out);
  for (size_t i = 0; i < profile->step_count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[i];
    if (!has_place(row)) continue;
    byoc_string_appendf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", roof_x(&roof, row->flops / row->bytes),
                        roof_y(&roof, row->flops_per_ns), 3 + 40 * sqrt(fmin(row->median_ns / profile->steps_ns, 1)));
    append_fill(profile, row, out);
    byoc_string_append(out, ">");
    append_title(row, row->calls, row->median_ns, out);
    byoc_string_append(out, "</circle>\n");
  }
  byoc_string_append(out, "</svg>\n");
}

// ---- the page ----

static void append_reports(const byoc_profile_t *profile, byoc_string_t *out) {
  json_error_t error;
  json_t *metadata = byoc_json_load(profile->artifact->metadata, strlen(profile->artifact->metadata), 0, &error);
  if (metadata == NULL && byoc_json_out_of_memory(&error)) out->failed = true;
  byoc_reports_append_page(json_object_get(metadata, "reports"), out);
  json_decref(metadata);
}

byoc_status_t byoc_profile_write_html(const byoc_profile_t *profile, const size_t *order, const size_t *losses,
                                      const char *path, byoc_diag_t *diag) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_string_append(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                           "content=\"width=device-width, initial-scale=1\"><title>Profile of ");
  append_text(&out, profile->artifact->model_name);
  byoc_string_appendf(&out, "</title><style>%s%s%s</style></head><body>\n<h1>Profile of ",
                      (const char *)byoc_embed_page_colours_css, (const char *)byoc_embed_page_profile_css,
                      (const char *)byoc_embed_page_reports_css);
  append_text(&out, profile->artifact->model_name);
  byoc_string_appendf(&out,
                      "</h1>\n<p>%zu instruction%s, %s of %zu run%s %.3f ms, %d thread%s; %.3f ms of it the host's, "
                      "between the calls.</p>\n",
                      profile->step_count, byoc_plural(profile->step_count), profile->best ? "fastest" : "median",
                      profile->run_count, byoc_plural(profile->run_count), profile->median_ns / 1e6,
                      (int)profile->thread_count, byoc_plural((uint64_t)profile->thread_count), profile->host_ns / 1e6);
  append_legend(profile, &out);
  append_timeline(profile, &out);
  append_bars(profile, order, &out);
  append_counters(profile, order, &out);
  append_totals(profile, &out);
  if (losses != NULL) append_losses(profile, losses, &out);
  append_roofline(profile, &out);
  append_reports(profile, &out);
  byoc_string_append(&out, "</body></html>\n");
  byoc_status_t status =
      out.failed ? byoc_diag_out_of_memory(diag) : byoc_file_write_atomic(path, out.data, out.size, 0644, diag);
  byoc_string_deinit(&out);
  return status;
}
