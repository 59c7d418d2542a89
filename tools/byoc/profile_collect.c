// SPDX-License-Identifier: Apache-2.0
// From the lines of the profile entry to rows with a time for each run.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/statistics.h"
#include "profile.h"

enum { MOST_NODES = 1 << 15 };

// A line as the sink gets it. Nodes of an engine wait for their instruction, which comes after them.
typedef struct pending_t {
  char *name;
  int64_t start_ns, duration_ns;
} pending_t;

// A counter, which belongs to the pending line of that number, or to the instruction behind all of them.
typedef struct count_t {
  char *name, *unit;
  double value;
  size_t line;
} count_t;

typedef struct collector_t {
  byoc_profile_t *profile;
  byoc_context_t *context;
  byoc_profile_pool_t *pool; // NULL: one thread
  byoc_allocator_t allocator;
  bool recording; // false during warm-up runs
  bool failed;    // out of memory
  bool too_many;  // counters, or nodes: no backend needs so many
  size_t run;
  size_t cursor; // the instruction after the last one that reported
  int64_t start_ns;
  int64_t host_since_ns;             // the end of the last call, and since then the time of this file
  int64_t calls_ns;                  // in calls, and in this file
  byoc_argument_t *inputs, *outputs; // where shapes are known only when it runs
  BYOC_VECTOR(pending_t) pending;
  BYOC_VECTOR(count_t) counts;
  BYOC_VECTOR(byoc_profile_event_t) events; // of this run
} collector_t;

// ---- rows ----

static byoc_profile_row_t *add_row(collector_t *c, const char *name, size_t parent) {
  byoc_profile_row_t row = {.name = byoc_copy_string(c->allocator, name),
                            .kind = byoc_copy_string(c->allocator, ""),
                            .target = byoc_copy_string(c->allocator, ""),
                            .parent = parent,
                            .flops = -1,
                            .bytes = -1,
                            .calls = 1};
  if (row.name != NULL && row.kind != NULL && row.target != NULL &&
      byoc_vector_push(&c->profile->rows, c->allocator, row)) {
    return &c->profile->rows.data[c->profile->rows.count - 1];
  }
  byoc_free(c->allocator, row.name);
  byoc_free(c->allocator, row.kind);
  byoc_free(c->allocator, row.target);
  c->failed = true;
  return NULL;
}

static void replace_text(collector_t *c, char **text, const json_t *value) {
  if (!json_is_string(value)) return;
  char *copy = byoc_copy_string(c->allocator, json_string_value(value));
  if (copy == NULL) c->failed = true;
  if (copy == NULL) return;
  byoc_free(c->allocator, *text);
  *text = copy;
}

// Other instructions look after shapes, memory and control flow.
static bool is_call(const char *kind) {
  static const char *const kinds[] = {"kernel", "packed", "engine", "c_call", "copy", "launch", "fill", "await"};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (strcmp(kind, kinds[i]) == 0) return true;
  }
  return false;
}

static void add_targets(collector_t *c, const json_t *targets) {
  byoc_profile_t *profile = c->profile;
  profile->targets = byoc_allocate(c->allocator, json_array_size(targets) + 1, sizeof(*profile->targets));
  if (profile->targets == NULL) c->failed = true;
  for (size_t i = 0; i < json_array_size(targets) && !c->failed; ++i) {
    const char *kind = json_string_value(json_object_get(json_array_get(targets, i), "kind"));
    char *copy = byoc_copy_string(c->allocator, kind != NULL ? kind : "");
    if (copy == NULL) c->failed = true;
    if (copy != NULL) profile->targets[profile->target_count++] = copy;
  }
}

// The instructions that the artifact's metadata lists.
static void add_known_steps(collector_t *c) {
  json_error_t error;
  const char *text = c->profile->artifact->metadata;
  json_t *metadata = byoc_json_load(text, strlen(text), 0, &error);
  if (metadata == NULL && byoc_json_out_of_memory(&error)) c->failed = true;
  add_targets(c, json_object_get(metadata, "targets"));
  const json_t *steps = json_object_get(metadata, "steps");
  size_t index;
  const json_t *step;
  json_array_foreach(steps, index, step) {
    const char *name = json_string_value(json_object_get(step, "name"));
    byoc_profile_row_t *row = add_row(c, name != NULL ? name : "?", BYOC_PROFILE_NO_ROW);
    if (row == NULL) break;
    replace_text(c, &row->kind, json_object_get(step, "kind"));
    row->is_call = is_call(row->kind);
    row->is_on_device = json_object_get(step, "device") != NULL;
    replace_text(c, &row->target, json_object_get(step, "target"));
    const json_t *flops = json_object_get(step, "flops"), *bytes = json_object_get(step, "bytes");
    const char *arithmetic = json_string_value(json_object_get(step, "arithmetic"));
    if (flops != NULL) row->flops = json_number_value(flops);
    if (arithmetic != NULL) row->arithmetic = byoc_arithmetic_find(arithmetic, strlen(arithmetic));
    if (row->arithmetic == BYOC_ARITHMETIC_COUNT) row->arithmetic = BYOC_ARITHMETIC_F32; // of a later byoc
    if (bytes != NULL) row->bytes = json_number_value(bytes);
  }
  json_decref(metadata);
  c->profile->step_count = c->profile->rows.count;
}

// The next instruction of that name after the last one that reported: loops return to the same ones.
static size_t find_step(collector_t *c, const char *name) {
  size_t count = c->profile->step_count;
  for (size_t i = 0; i < count; ++i) {
    size_t at = (c->cursor + i) % count;
    if (strcmp(c->profile->rows.data[at].name, name) != 0) continue;
    c->cursor = (at + 1) % count;
    return at;
  }
  return BYOC_PROFILE_NO_ROW;
}

static size_t find_node(collector_t *c, const char *name, size_t parent, size_t ordinal) {
  for (size_t i = c->profile->step_count; i < c->profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &c->profile->rows.data[i];
    if (row->parent == parent && row->ordinal == ordinal && strcmp(row->name, name) == 0) return i;
  }
  c->too_many = c->too_many || c->profile->rows.count - c->profile->step_count >= MOST_NODES;
  byoc_profile_row_t *row = c->too_many ? NULL : add_row(c, name, parent);
  if (row == NULL) return BYOC_PROFILE_NO_ROW;
  row->ordinal = ordinal;
  return c->profile->rows.count - 1;
}

// ---- lines ----

// The loops since the last instruction are those of this one.
static void record_loops(collector_t *c, byoc_profile_row_t *row) {
  while (row->run_loops.count <= c->run) {
    if (byoc_vector_push(&row->run_loops, c->allocator, (byoc_profile_loops_t){0})) continue;
    c->failed = true;
    return;
  }
  const byoc_profile_loops_t loops = byoc_profile_pool_take(c->pool);
  byoc_profile_loops_t *sum = &row->run_loops.data[c->run];
  sum->count += loops.count;
  sum->wall_ns += loops.wall_ns;
  sum->busy_ns += loops.busy_ns;
  sum->longest_ns += loops.longest_ns;
}

// `start_ns` is negative where nobody knows it.
static void record(collector_t *c, size_t row, int64_t start_ns, int64_t duration_ns, int64_t host_ns) {
  if (row == BYOC_PROFILE_NO_ROW) return;
  byoc_profile_row_t *at = &c->profile->rows.data[row];
  at->calls = at->run_ns.count > c->run ? at->calls + 1 : 1;
  while (at->run_ns.count <= c->run) {
    if (byoc_vector_push(&at->run_ns, c->allocator, 0.0) && byoc_vector_push(&at->host_run_ns, c->allocator, 0.0)) {
      continue;
    }
    c->failed = true;
    return;
  }
  at->run_ns.data[c->run] += (double)duration_ns;
  at->host_run_ns.data[c->run] += (double)host_ns;
  if (c->pool != NULL && at->parent == BYOC_PROFILE_NO_ROW) record_loops(c, at);
  if (start_ns < 0) return;
  const byoc_profile_event_t event = {.row = row, .start_ns = start_ns, .duration_ns = duration_ns, .host_ns = host_ns};
  if (!byoc_vector_push(&c->events, c->allocator, event)) c->failed = true;
}

// The counters of a pending line, or of the instruction, which is behind them.
static void record_counts(collector_t *c, size_t row, size_t line) {
  for (size_t i = 0; i < c->counts.count && row != BYOC_PROFILE_NO_ROW; ++i) {
    const count_t *count = &c->counts.data[i];
    if (count->line != line) continue;
    if (!byoc_profile_count(&c->profile->rows.data[row], c->run, count->name, count->unit, count->value,
                            &c->too_many)) {
      c->failed = c->failed || !c->too_many;
    }
  }
}

static void clear_counts(collector_t *c) {
  for (size_t i = 0; i < c->counts.count; ++i) {
    byoc_free(c->allocator, c->counts.data[i].name);
    byoc_free(c->allocator, c->counts.data[i].unit);
  }
  c->counts.count = 0;
}

// A byoc_counter_sink_t.
static void take_count(void *self, const char *name, const char *unit, double value) {
  collector_t *c = self;
  if (!c->recording || c->failed || c->too_many) return;
  const int64_t began_ns = byoc_now_ns();
  count_t count = {.name = byoc_copy_string(c->allocator, name),
                   .unit = byoc_copy_string(c->allocator, unit),
                   .value = value,
                   .line = c->pending.count};
  if (count.name == NULL || count.unit == NULL || !byoc_vector_push(&c->counts, c->allocator, count)) {
    byoc_free(c->allocator, count.name);
    byoc_free(c->allocator, count.unit);
    c->failed = true;
  }
  const int64_t own_ns = byoc_now_ns() - began_ns;
  c->calls_ns += own_ns;
}

static void clear_pending(collector_t *c) {
  for (size_t i = 0; i < c->pending.count; ++i) byoc_free(c->allocator, c->pending.data[i].name);
  c->pending.count = 0;
}

static void take_line(collector_t *c, const char *name, int64_t duration, int64_t start_ns) {
  if (name[0] == '\t') {
    pending_t line = {.name = byoc_copy_string(c->allocator, name + 1), .start_ns = start_ns, .duration_ns = duration};
    if (line.name != NULL && byoc_vector_push(&c->pending, c->allocator, line)) return;
    byoc_free(c->allocator, line.name);
    c->failed = true;
    return;
  }
  size_t step = find_step(c, name);
  // Times of a device come when the run has ended; they are none of the host's.
  if (step != BYOC_PROFILE_NO_ROW && c->profile->rows.data[step].is_on_device) {
    record(c, step, -1, duration, 0);
    record_counts(c, step, 0);
    clear_counts(c);
    return;
  }
  const bool is_call = step != BYOC_PROFILE_NO_ROW && c->profile->rows.data[step].is_call;
  int64_t host_ns = is_call ? start_ns - c->host_since_ns : 0;
  record(c, step, start_ns, duration, host_ns > 0 ? host_ns : 0);
  if (is_call) c->host_since_ns = start_ns + duration;
  if (is_call) c->calls_ns += duration;
  for (size_t i = 0; i < c->pending.count; ++i) {
    const pending_t *line = &c->pending.data[i];
    const size_t node = find_node(c, line->name, step, i);
    record(c, node, line->start_ns, line->duration_ns, 0);
    record_counts(c, node, i);
  }
  record_counts(c, step, c->pending.count);
  clear_counts(c);
  clear_pending(c);
}

// The time that this takes belongs to nobody.
static void sink(void *self, const char *name, uint64_t duration_ns) {
  collector_t *c = self;
  if (!c->recording || c->failed) return;
  if (c->too_many) return;
  const int64_t now_ns = byoc_now_ns();
  take_line(c, name, (int64_t)duration_ns, now_ns - c->start_ns - (int64_t)duration_ns);
  const int64_t own_ns = byoc_now_ns() - now_ns;
  c->host_since_ns += own_ns;
  c->calls_ns += own_ns;
}

// ---- runs ----

// The median, or with `best` the least, of numbers that may be reordered; 0 if there are none.
static double middle_of(double *values, size_t count, bool best) {
  double median = byoc_median(values, count);
  return best && count > 0 ? values[0] : median; // they are sorted now
}

static byoc_status_t run_once(collector_t *c, byoc_artifact_run_t *run, byoc_diag_t *diag) {
  const byoc_artifact_t *table = run->artifact.table;
  c->cursor = 0;
  clear_counts(c);
  clear_pending(c);
  c->host_since_ns = c->calls_ns = 0;
  if (c->pool != NULL) (void)byoc_profile_pool_take(c->pool); // what ran before
  c->start_ns = byoc_now_ns();
  byoc_status_t status = c->inputs != NULL ? table->profile_arguments(c->context, c->inputs, c->outputs, sink, c)
                                           : table->profile(c->context, (const void *const *)run->inputs.pointers,
                                                            run->outputs.pointers, sink, c);
  double total_ns = (double)(byoc_now_ns() - c->start_ns), host_ns = total_ns - (double)c->calls_ns;
  if (status != BYOC_OK) {
    return byoc_diag_error(diag, status, "the run failed: %s", table->last_error(c->context));
  }
  if (c->too_many) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA,
                           "a backend reports more steps or counters than a profile can show: %d steps in all, and 256 "
                           "counters of one",
                           MOST_NODES);
  }
  if (c->recording && !byoc_vector_push(&c->profile->total_ns, c->allocator, total_ns)) c->failed = true;
  if (c->recording && !byoc_vector_push(&c->profile->host_total_ns, c->allocator, host_ns)) c->failed = true;
  return c->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

// Pictures show the fastest run: it was disturbed least.
static void keep_events(collector_t *c) {
  byoc_profile_t *profile = c->profile;
  double total_ns = profile->total_ns.data[profile->total_ns.count - 1];
  if (profile->events.count == 0 || total_ns < profile->events_ns) {
    byoc_profile_event_t *data = profile->events.data;
    size_t capacity = profile->events.capacity;
    profile->events.data = c->events.data;
    profile->events.count = c->events.count;
    profile->events.capacity = c->events.capacity;
    profile->events_ns = total_ns;
    c->events.data = data;
    c->events.capacity = capacity;
  }
  c->events.count = 0;
}

// The collectors take turns, so that both see the same machine.
static byoc_status_t run_all(collector_t *collectors, size_t count, byoc_artifact_run_t *run,
                             const byoc_profile_request_t *request, byoc_diag_t *diag) {
  byoc_progress_t progress;
  byoc_progress_begin(&progress, "profiling", request->run_count);
  byoc_status_t status = BYOC_OK;
  for (int64_t i = -request->warm_up_count; i < request->run_count && status == BYOC_OK; ++i) {
    for (size_t k = 0; k < count && status == BYOC_OK; ++k) {
      collector_t *c = &collectors[k];
      c->recording = i >= 0;
      c->run = i >= 0 ? (size_t)i : 0;
      status = run_once(c, run, diag);
      if (status == BYOC_OK && c->recording) keep_events(c);
    }
    if (i >= 0) byoc_progress_step(&progress, i + 1, "");
  }
  byoc_progress_end(&progress);
  return status;
}

static void take_medians(byoc_profile_t *profile) {
  for (size_t i = 0; i < profile->rows.count; ++i) {
    byoc_profile_row_t *row = &profile->rows.data[i];
    row->median_ns = middle_of(row->run_ns.data, row->run_ns.count, profile->best);
    row->host_ns = middle_of(row->host_run_ns.data, row->host_run_ns.count, profile->best);
    byoc_profile_end_counters(row);
    if (i < profile->step_count) profile->steps_ns += row->median_ns;
  }
  profile->median_ns = middle_of(profile->total_ns.data, profile->total_ns.count, profile->best);
  profile->host_ns = middle_of(profile->host_total_ns.data, profile->host_total_ns.count, profile->best);
}

// Older artifacts have a shorter table.
static bool has_entry(const byoc_artifact_t *table) {
  if (!byoc_artifact_is_dynamic(table)) return table->profile != NULL;
  const size_t size = offsetof(byoc_artifact_t, profile_arguments) + sizeof(table->profile_arguments);
  return table->struct_size >= size && table->profile_arguments != NULL;
}

static byoc_status_t collector_init(collector_t *c, byoc_artifact_run_t *run, byoc_profile_t *profile,
                                    byoc_context_t *context, byoc_profile_pool_t *pool, byoc_diag_t *diag) {
  *c = (collector_t){.profile = profile, .context = context, .pool = pool, .allocator = byoc_allocator_system()};
  add_known_steps(c);
  if (c->failed) return byoc_diag_out_of_memory(diag);
  const byoc_artifact_t *table = run->artifact.table;
  if (table->struct_size > offsetof(byoc_artifact_t, set_counter_sink)) table->set_counter_sink(context, take_count, c);
  if (!byoc_artifact_is_dynamic(run->artifact.table)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_ports_arguments(&run->inputs, diag, &c->inputs));
  return byoc_ports_arguments(&run->outputs, diag, &c->outputs);
}

static void collector_deinit(collector_t *c) {
  const byoc_artifact_t *table = c->profile != NULL ? c->profile->artifact : NULL;
  if (table != NULL && table->struct_size > offsetof(byoc_artifact_t, set_counter_sink)) {
    table->set_counter_sink(c->context, NULL, NULL);
  }
  clear_pending(c);
  clear_counts(c);
  byoc_vector_deinit(&c->counts, c->allocator);
  byoc_free(c->allocator, c->inputs);
  byoc_free(c->allocator, c->outputs);
  byoc_vector_deinit(&c->pending, c->allocator);
  byoc_vector_deinit(&c->events, c->allocator);
}

byoc_status_t byoc_profile_collect(byoc_artifact_run_t *run, const byoc_profile_request_t *request, byoc_diag_t *diag,
                                   byoc_profile_t *out_profile) {
  *out_profile =
      (byoc_profile_t){.artifact = run->artifact.table,
                       .thread_count = request->pool != NULL ? byoc_profile_pool_table(request->pool)->thread_count : 1,
                       .run_count = (size_t)request->run_count,
                       .best = request->best};
  if (!has_entry(run->artifact.table)) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_UNSUPPORTED, "the artifact has no profile entry: it was built without --profile");
    byoc_diag_hint(diag, "build it again: byoc build MODEL -o ARTIFACT --profile");
    return status;
  }
  byoc_profile_t alone = *out_profile;
  collector_t collectors[2] = {0};
  const size_t count = request->alone != NULL ? 2 : 1;
  byoc_status_t status = collector_init(&collectors[0], run, out_profile, run->context, request->pool, diag);
  if (status == BYOC_OK && count > 1) {
    status = collector_init(&collectors[1], run, &alone, request->alone, NULL, diag);
  }
  if (status == BYOC_OK) status = run_all(collectors, count, run, request, diag);
  if (status == BYOC_OK && count > 1 && !byoc_profile_spread(out_profile, &alone)) {
    status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) take_medians(out_profile);
  for (size_t i = 0; i < count; ++i) collector_deinit(&collectors[i]);
  byoc_profile_deinit(&alone);
  return status;
}

void byoc_profile_deinit(byoc_profile_t *profile) {
  byoc_allocator_t allocator = byoc_allocator_system();
  for (size_t i = 0; i < profile->rows.count; ++i) {
    byoc_profile_row_t *row = &profile->rows.data[i];
    byoc_free(allocator, row->name);
    byoc_free(allocator, row->kind);
    byoc_free(allocator, row->target);
    byoc_vector_deinit(&row->run_ns, allocator);
    byoc_vector_deinit(&row->host_run_ns, allocator);
    byoc_vector_deinit(&row->run_loops, allocator);
    byoc_profile_row_drop_counters(row);
  }
  for (size_t i = 0; i < profile->target_count; ++i) byoc_free(allocator, profile->targets[i]);
  byoc_free(allocator, profile->targets);
  byoc_vector_deinit(&profile->rows, allocator);
  byoc_vector_deinit(&profile->total_ns, allocator);
  byoc_vector_deinit(&profile->host_total_ns, allocator);
  byoc_vector_deinit(&profile->events, allocator);
  *profile = (byoc_profile_t){0};
}
