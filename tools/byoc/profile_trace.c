// SPDX-License-Identifier: Apache-2.0
// One run as Chrome-trace JSON, which Perfetto and chrome://tracing open.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "profile.h"
#include "tools/common/json_print.h"

// Instructions on one line, nodes of engines on a second one below it, the host on a third one.
enum { STEP_THREAD = 1, NODE_THREAD = 2, HOST_THREAD = 3 };

static json_t *thread_name(int thread, const char *name) {
  return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", "thread_name", "pid", 1, "tid", thread, "args",
                   "name", name);
}

static json_t *event_json(const byoc_profile_t *profile, const byoc_profile_event_t *event) {
  const byoc_profile_row_t *row = &profile->rows.data[event->row];
  bool is_node = row->parent != BYOC_PROFILE_NO_ROW;
  json_t *arguments = json_object();
  double duration_ns = event->duration_ns > 0 ? (double)event->duration_ns : 1;
  if (row->flops > 0)
    json_object_set_new(arguments, byoc_profile_unit(row->arithmetic), json_real(row->flops / duration_ns));
  if (row->bytes > 0) json_object_set_new(arguments, "GB/s", json_real(row->bytes / duration_ns));
  if (!is_node) json_object_set_new(arguments, "kind", byoc_json_string(row->kind));
  if (row->is_call) json_object_set_new(arguments, "host_us", json_real((double)event->host_ns / 1e3));
  for (size_t i = 0; i < row->counters.count; ++i) {
    const byoc_profile_counter_t *counter = &row->counters.data[i];
    json_object_set_new(arguments, counter->name, json_real(counter->median));
  }
  const char *category = is_node ? profile->rows.data[row->parent].target : row->target;
  return json_pack("{s:s, s:o, s:o, s:i, s:i, s:f, s:f, s:o}", "ph", "X", "name", byoc_json_string(row->name), "cat",
                   byoc_json_string(category), "pid", 1, "tid", is_node ? NODE_THREAD : STEP_THREAD, "ts",
                   (double)event->start_ns / 1e3, "dur", (double)event->duration_ns / 1e3, "args", arguments);
}

// The work of the host before a call.
static json_t *host_json(const byoc_profile_t *profile, const byoc_profile_event_t *event) {
  return json_pack("{s:s, s:o, s:s, s:i, s:i, s:f, s:f, s:{}}", "ph", "X", "name",
                   byoc_json_string(profile->rows.data[event->row].name), "cat", "host", "pid", 1, "tid", HOST_THREAD,
                   "ts", (double)(event->start_ns - event->host_ns) / 1e3, "dur", (double)event->host_ns / 1e3, "args");
}

byoc_status_t byoc_profile_write_trace(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag) {
  json_t *events = json_array();
  int failed = json_array_append_new(events, thread_name(STEP_THREAD, "instructions"));
  failed |= json_array_append_new(events, thread_name(NODE_THREAD, "engine nodes"));
  failed |= json_array_append_new(events, thread_name(HOST_THREAD, "host, before the call"));
  for (size_t i = 0; i < profile->events.count; ++i) {
    const byoc_profile_event_t *event = &profile->events.data[i];
    failed |= json_array_append_new(events, event_json(profile, event));
    if (event->host_ns > 0) failed |= json_array_append_new(events, host_json(profile, event));
  }
  json_t *root =
      json_pack("{s:o, s:s, s:{s:o, s:i}}", "traceEvents", events, "displayTimeUnit", "ns", "otherData", "model",
                byoc_json_string(profile->artifact->model_name), "threads", (int)profile->thread_count);
  char *text = root != NULL && failed == 0 ? byoc_json_dump(root, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
  json_decref(root);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_file_write_atomic(path, text, strlen(text), 0644, diag);
  free(text);
  return status;
}
