// SPDX-License-Identifier: Apache-2.0
// Keeps what the targets of a build state about their costs.
#include "core/collage/stated.h"

#include <math.h>

#include "core/base/log.h"

static void warn(const byoc_target_t *target, const char *what, const byoc_diag_t *why) {
  char reason[1024];
  byoc_diag_format(why, reason, sizeof(reason));
  byoc_log(BYOC_LOG_WARNING, "target '%s' %s, because the costs that its plugin '%s' %s states cannot be used: %s",
           target->kind->name, what, target->kind->plugin_name, target->kind->plugin_version, reason);
}

static byoc_status_t take_target(byoc_stated_costs_t *stated, const byoc_target_t *target, byoc_diag_t *diag) {
  const byoc_backend_t *backend = target->kind->backend;
  byoc_stated_target_t *row = &stated->rows[target->index];
  byoc_target_costs_t costs;
  byoc_diag_t why = {0};
  if (backend == NULL) return BYOC_OK;
  row->answers = backend->state_costs != NULL;
  if (backend->state_target_costs == NULL) return BYOC_OK;
  const byoc_status_t status = byoc_hook_state_target_costs(target, &why, &costs);
  if (status == BYOC_CANCELLED || status == BYOC_OUT_OF_MEMORY) return byoc_diag_adopt(diag, &why);
  if (status != BYOC_OK) {
    row->answers = false;
    warn(target, "is measured or estimated", &why);
    return BYOC_OK;
  }
  row->least_operators = costs.least_operators;
  row->least_operations = costs.least_operations;
  row->has_boundary = (costs.stated & BYOC_STATED_BOUNDARY) != 0;
  row->boundary = (byoc_device_costs_t)BYOC_DEVICE_COSTS_TYPICAL;
  row->boundary.base_ns[BYOC_DEVICE_UPLOAD] = costs.enter_ns;
  row->boundary.base_ns[BYOC_DEVICE_DOWNLOAD] = costs.leave_ns;
  row->boundary.ns_per_byte[BYOC_DEVICE_UPLOAD] = costs.enter_ns_per_byte;
  row->boundary.ns_per_byte[BYOC_DEVICE_DOWNLOAD] = costs.leave_ns_per_byte;
  return BYOC_OK;
}

byoc_status_t byoc_stated_init(byoc_stated_costs_t *stated, const byoc_target_list_t *targets, int32_t thread_count,
                               byoc_allocator_t allocator, byoc_diag_t *diag) {
  *stated = (byoc_stated_costs_t){.targets = targets, .thread_count = thread_count};
  byoc_arena_init(&stated->arena, allocator);
  stated->rows = BYOC_ARENA_ARRAY(&stated->arena, byoc_stated_target_t, targets->targets.count + 1);
  byoc_status_t status = stated->rows != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t t = 0; t < targets->targets.count && status == BYOC_OK; ++t) {
    status = take_target(stated, targets->targets.data[t], diag);
  }
  if (status != BYOC_OK) byoc_stated_deinit(stated);
  return status;
}

void byoc_stated_deinit(byoc_stated_costs_t *stated) {
  if (stated->targets != NULL) byoc_arena_deinit(&stated->arena);
  *stated = (byoc_stated_costs_t){0};
}

void byoc_stated_seal(byoc_stated_costs_t *stated) {
  if (stated != NULL) stated->is_sealed = true;
}

bool byoc_stated_answers(const byoc_stated_costs_t *stated, uint32_t target) {
  return stated != NULL && stated->rows[target].answers;
}

const byoc_device_costs_t *byoc_stated_boundary(const byoc_stated_costs_t *stated, uint32_t target) {
  return stated != NULL && stated->rows[target].has_boundary ? &stated->rows[target].boundary : NULL;
}

// The first failure is told.
static byoc_status_t take_failure(byoc_stated_costs_t *stated, const byoc_target_t *target, const byoc_diag_t *why,
                                  byoc_diag_t *diag) {
  byoc_stated_target_t *row = &stated->rows[target->index];
  warn(target, stated->is_sealed ? "gets no further regions" : "is measured or estimated", why);
  if (!stated->is_sealed) {
    row->answers = false;
    return BYOC_OK;
  }
  row->failure = byoc_arena_format(&stated->arena, "its cost is not known: %s", why->message);
  return row->failure != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_stated_ask(byoc_stated_costs_t *stated, uint32_t target, byoc_function_t *const *functions,
                              uint32_t count, byoc_diag_t *diag, byoc_stated_figures_t *out_figures,
                              const char **out_failure) {
  byoc_stated_target_t *row = &stated->rows[target];
  const byoc_target_t *of = stated->targets->targets.data[target];
  byoc_diag_t why = {0};
  *out_failure = row->failure;
  if (row->answers && row->failure == NULL) {
    const byoc_status_t status =
        byoc_hook_state_costs(of, functions, count, stated->thread_count, stated->arena.allocator, &why, out_figures);
    if (status == BYOC_OK) return BYOC_OK;
    if (status == BYOC_CANCELLED || status == BYOC_OUT_OF_MEMORY) return byoc_diag_adopt(diag, &why);
    BYOC_RETURN_IF_ERROR(take_failure(stated, of, &why, diag));
    *out_failure = row->failure;
  }
  for (uint32_t i = 0; i < count; ++i) out_figures[i] = (byoc_stated_figures_t)BYOC_STATED_NOTHING;
  return BYOC_OK;
}

bool byoc_stated_has_least(const byoc_stated_costs_t *stated, uint32_t target) {
  return stated != NULL && (stated->rows[target].least_operators > 0 || stated->rows[target].least_operations > 0);
}

byoc_status_t byoc_stated_check_size(byoc_stated_costs_t *stated, uint32_t target, uint32_t operators,
                                     double operations, byoc_diag_t *diag, const char **out_reason) {
  const byoc_stated_target_t *row = &stated->rows[target];
  const char *name = stated->targets->targets.data[target]->kind->name;
  *out_reason = NULL;
  if (operators < row->least_operators) {
    *out_reason = byoc_arena_format(&stated->arena, "%s states that it is not worth it for fewer than %u operators",
                                    name, (unsigned)row->least_operators);
  } else if (operations < row->least_operations) {
    *out_reason = byoc_arena_format(&stated->arena, "%s states that it is not worth it for fewer than %g operations",
                                    name, row->least_operations);
  } else {
    return BYOC_OK;
  }
  return *out_reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
