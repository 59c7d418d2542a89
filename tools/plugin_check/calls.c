// SPDX-License-Identifier: Apache-2.0
// Puts the tensors of a call into guarded memory, and its results back.
#include "tools/plugin_check/calls.h"

#include <string.h>

enum { MOST_TENSORS = 256, TURNS = 2 };

// The call's own structs, so that they, too, can be sealed and killed.
typedef struct views_t {
  byoc_call_t call;
  DLTensor tensors[MOST_TENSORS];
  int64_t shapes[MOST_TENSORS][8];
} views_t;

// The workspace ends at the end of a page: what goes beyond it is told, not a crash alone.
static int32_t run_named(void *self, const char *name, const byoc_call_t *call, bool keeps_results,
                         int32_t (*body)(void *body_self, const byoc_call_t *call), void *body_self) {
  (void)keeps_results;
  check_doing(self, "running '%s'", name);
  if (call->workspace_size_bytes == 0) return body(body_self, call);
  byoc_call_t guarded = *call;
  guard_area_t *area = guard_create((size_t)call->workspace_size_bytes, BYOC_BUFFER_ALIGNMENT, GUARD_AT_END,
                                    "the workspace of '%s'", name);
  guarded.workspace = area->data;
  const int32_t status = body(body_self, &guarded);
  guard_destroy(area);
  return status;
}

byoc_call_watch_t calls_named(check_t *check) {
  guard_begin(check);
  return (byoc_call_watch_t){.self = check, .run = run_named};
}

static size_t element_bytes(const DLTensor *tensor) {
  return ((size_t)tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
}

static size_t tensor_bytes(const DLTensor *tensor) {
  size_t bits = (size_t)tensor->dtype.bits * tensor->dtype.lanes;
  for (int32_t d = 0; d < tensor->ndim; ++d) bits *= (size_t)tensor->shape[d];
  return (bits + 7) / 8;
}

static void copy(void *to, const void *from, size_t size) {
  if (size > 0) memcpy(to, from, size);
}

// One turn: `areas` holds the tensors', then the workspace's, then the views'. Returns their number.
static size_t set_up(const call_guard_t *guard, const char *name, const byoc_call_t *call, bool keeps_results,
                     guard_area_t **areas, views_t **out_views) {
  const uint32_t count = call->input_count + call->output_count;
  size_t made = 0;
  guard_area_t *view_area = guard_create(sizeof(views_t), 64, GUARD_LOOSE, "the call of '%s'", name);
  views_t *views = (views_t *)(void *)view_area->data;
  views->call = *call;
  views->call.tensors = views->tensors;
  for (uint32_t i = 0; i < count; ++i) {
    const DLTensor *tensor = &call->tensors[i];
    const bool is_input = i < call->input_count;
    const size_t size = tensor_bytes(tensor);
    guard_area_t *area =
        guard_create(size, element_bytes(tensor), is_input ? guard->inputs : guard->others, "%s %u of '%s'",
                     is_input ? "input" : "output", is_input ? i : i - call->input_count, name);
    views->tensors[i] = *tensor;
    views->tensors[i].data = area->data;
    views->tensors[i].shape = views->shapes[i];
    for (int32_t d = 0; d < tensor->ndim && d < 8; ++d) views->shapes[i][d] = tensor->shape[d];
    if (is_input || keeps_results) copy(area->data, tensor->data, size);
    if (!is_input && !keeps_results) memset(area->data, 0xA5, size);
    if (is_input && guard->seals_inputs) guard_seal(area);
    areas[made++] = area;
  }
  if (call->workspace_size_bytes > 0) {
    guard_area_t *area = guard_create((size_t)call->workspace_size_bytes, BYOC_BUFFER_ALIGNMENT, guard->others,
                                      "the workspace of '%s'", name);
    memset(area->data, 0xA5, area->size);
    views->call.workspace = area->data;
    areas[made++] = area;
  }
  guard_seal(view_area);
  areas[made++] = view_area;
  *out_views = views;
  return made;
}

static int32_t run_guarded(void *self, const char *name, const byoc_call_t *call, bool keeps_results,
                           int32_t (*body)(void *body_self, const byoc_call_t *call), void *body_self) {
  const call_guard_t *guard = self;
  const uint32_t count = call->input_count + call->output_count;
  guard_area_t *areas[MOST_TENSORS + 2];
  int32_t status = BYOC_OK;
  check_doing(guard->check, "running '%s'", name);
  if (count <= MOST_TENSORS) check_tried(guard->check, 1);
  if (count > MOST_TENSORS) return body(body_self, call);
  for (int turn = 0; turn < TURNS && status == BYOC_OK; ++turn) {
    views_t *views = NULL;
    const size_t made = set_up(guard, name, call, keeps_results, areas, &views);
    status = body(body_self, &views->call);
    for (uint32_t i = call->input_count; i < count && turn == TURNS - 1; ++i) {
      copy(call->tensors[i].data, areas[i]->data, areas[i]->size);
    }
    for (size_t i = 0; i < made; ++i) {
      const bool is_input = i < call->input_count, is_view = i == made - 1;
      if (!is_view && (is_input ? guard->inputs : guard->others) != GUARD_LOOSE) guard_check(areas[i], name);
      if (guard->kills) guard_kill(areas[i]);
      if (!guard->kills) guard_destroy(areas[i]);
    }
  }
  return status;
}

byoc_call_watch_t calls_guarded(call_guard_t *guard) {
  guard_begin(guard->check);
  return (byoc_call_watch_t){.self = guard, .run = run_guarded};
}
