// One run as Chrome-trace JSON, which Perfetto and chrome://tracing open.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "json_print.h"
#include "profile.h"

// Instructions on one line, nodes of engines on a second one below it.
enum { STEP_THREAD = 1, NODE_THREAD = 2 };

static json_t *thread_name(int thread, const char *name) {
  return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", "thread_name", "pid", 1, "tid", thread, "args",
                   "name", name);
}

static json_t *event_json(const byoc_profile_t *profile, const byoc_profile_event_t *event) {
  const byoc_profile_row_t *row = &profile->rows.data[event->row];
  bool is_node = row->parent != BYOC_PROFILE_NO_ROW;
  json_t *arguments = json_object();
  double duration_ns = event->duration_ns > 0 ? (double)event->duration_ns : 1;
  if (row->flops > 0) json_object_set_new(arguments, "GFLOP/s", json_real(row->flops / duration_ns));
  if (row->bytes > 0) json_object_set_new(arguments, "GB/s", json_real(row->bytes / duration_ns));
  if (!is_node) json_object_set_new(arguments, "kind", byoc_json_text(row->kind));
  const char *category = is_node ? profile->rows.data[row->parent].target : row->target;
  return json_pack("{s:s, s:o, s:o, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "name", byoc_json_text(row->name), "cat",
                   byoc_json_text(category), "pid", 1, "tid", is_node ? NODE_THREAD : STEP_THREAD, "ts",
                   (double)event->start_ns / 1e3, "dur", (double)event->duration_ns / 1e3, "args", arguments);
}

byoc_status_t byoc_profile_write_trace(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag) {
  json_t *events = json_array();
  int failed = json_array_append_new(events, thread_name(STEP_THREAD, "instructions"));
  failed |= json_array_append_new(events, thread_name(NODE_THREAD, "engine nodes"));
  for (size_t i = 0; i < profile->events.count; ++i) {
    failed |= json_array_append_new(events, event_json(profile, &profile->events.data[i]));
  }
  json_t *root =
      json_pack("{s:o, s:s, s:{s:o, s:i}}", "traceEvents", events, "displayTimeUnit", "ns", "otherData", "model",
                byoc_json_text(profile->artifact->model_name), "threads", (int)profile->thread_count);
  char *text = root != NULL && failed == 0 ? byoc_json_dump(root, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
  json_decref(root);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_file_write_atomic(path, text, strlen(text), 0644, diag);
  free(text);
  return status;
}
