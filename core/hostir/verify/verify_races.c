// SPDX-License-Identifier: Apache-2.0
// Refuses programs in which two instructions may touch the same bytes at once, or in either order.
#include <stdio.h>

#include "core/hostir/verify/happens_before.h"
#include "core/hostir/verify/verify_internal.h"

static const char *verb(const byoc_host_run_t *run, const byoc_host_access_t *access) {
  if (run->instruction->op == BYOC_HOST_FREE) return "ends";
  return access->is_write ? "writes" : "reads";
}

// "on the queue 'q'", or "on the host".
static void describe_place(const byoc_host_run_t *run, char *out, size_t size) {
  const byoc_host_queue_t *queue = run->instruction->on.queue;
  if (queue == NULL) snprintf(out, size, "on the host");
  if (queue != NULL && queue->count == 0) snprintf(out, size, "on the queue '%s'", queue->name);
  if (queue != NULL && queue->count > 0) snprintf(out, size, "on the queue '%s[%u]'", queue->name, run->element);
}

static void suggest(const byoc_host_verifier_t *v, const byoc_host_run_t *earlier, const byoc_host_run_t *later) {
  const byoc_host_queue_t *from = earlier->instruction->on.queue, *to = later->instruction->on.queue;
  if (to != NULL && from != NULL && from->device == to->device) {
    byoc_diag_hint(v->diag,
                   "let instruction %zu signal an event and instruction %zu run after it, or put both on one queue",
                   earlier->number, later->number);
  } else {
    byoc_diag_hint(v->diag, "let instruction %zu signal an event, and await it in front of instruction %zu",
                   earlier->number, later->number);
  }
}

static byoc_status_t meet(void *self, byoc_host_order_t *order, const byoc_host_run_t *run) {
  byoc_host_verifier_t *v = self;
  const byoc_host_run_t *earlier = NULL;
  const byoc_host_access_t *first = NULL, *second = NULL;
  for (size_t at = 0; (earlier = byoc_host_order_next(order, &at)) != NULL;) {
    if (!byoc_host_runs_conflict(earlier, run, &first, &second)) continue;
    char there[96], here[96];
    describe_place(earlier, there, sizeof(there));
    describe_place(run, here, sizeof(here));
    v->at = run->instruction;
    v->number = run->number;
    byoc_status_t status = byoc_host_verify_refuse(
        v, "it %s '%s' %s, and instruction %zu (%s%s%s) %s '%s' %s: nothing orders the two", verb(run, second),
        second->buffer->name, here, earlier->number, byoc_host_op_name(earlier->instruction->op),
        earlier->instruction->symbol != NULL ? " " : "",
        earlier->instruction->symbol != NULL ? earlier->instruction->symbol : "", verb(earlier, first),
        first->buffer->name, there);
    suggest(v, earlier, run);
    return status;
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_races(byoc_host_verifier_t *v) {
  const byoc_host_watch_t watch = {.self = v, .meet = meet};
  return byoc_host_walk_order(v->program, &watch, v->diag);
}
