// SPDX-License-Identifier: Apache-2.0
// Partitioning by a saved plan (--plan=FILE.json).
#ifndef BYOC_CORE_COLLAGE_REPLAY_H_
#define BYOC_CORE_COLLAGE_REPLAY_H_

#include "core/collage/place.h"

// Every block of the plan must be an unchanged block of the module, and every region a candidate of its target in that
// block; nodes outside all regions go to the native target. BYOC_INVALID_DATA names the block or region that does not
// fit, and why; the module is then unchanged.
byoc_status_t byoc_place_replay(byoc_graph_module_t *module, const byoc_target_list_t *targets, const char *path,
                                byoc_diag_t *diag, byoc_placement_t *placement);

#endif // BYOC_CORE_COLLAGE_REPLAY_H_
