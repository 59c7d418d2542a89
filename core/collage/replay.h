// SPDX-License-Identifier: Apache-2.0
// Partitioning by a saved plan (--plan=FILE.json).
#ifndef BYOC_CORE_COLLAGE_REPLAY_H_
#define BYOC_CORE_COLLAGE_REPLAY_H_

#include "core/collage/error_budget.h"
#include "core/collage/place.h"

// Every block of the plan must be an unchanged block of the module, and every region a candidate of its target in that
// block; nodes outside all regions go to the native target. BYOC_INVALID_DATA names the block or region that does not
// fit, and why; the module is then unchanged.
byoc_status_t byoc_place_replay(byoc_graph_module_t *module, const byoc_target_list_t *targets, const char *path,
                                byoc_diag_t *diag, byoc_placement_t *placement);

// Builds such a plan in a child, and compares it with exact targets: BYOC_INVALID_DATA if its error promises more than
// `allowed`. The module does not change; what was measured goes into the record, which may be NULL.
byoc_status_t byoc_replay_check_error(byoc_graph_module_t *module, const byoc_target_list_t *targets, const char *path,
                                      const byoc_error_meter_t *meter, double allowed, byoc_diag_t *diag,
                                      byoc_plan_t *record);

#endif // BYOC_CORE_COLLAGE_REPLAY_H_
