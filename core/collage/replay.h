// Placement by a saved plan (--plan=FILE.json).
#ifndef BYOC_CORE_COLLAGE_REPLAY_H_
#define BYOC_CORE_COLLAGE_REPLAY_H_

#include "core/collage/place.h"

// Every block of the plan must be one of the module's, unchanged, and every region a candidate of its target in that
// block; what no region holds is the native target's. BYOC_INVALID_DATA names the block or region that does not fit,
// and why; the module is then as it was.
byoc_status_t byoc_place_replay(byoc_graph_module_t *module, const byoc_target_list_t *targets, const char *path,
                                byoc_diag_t *diag, byoc_placement_t *placement);

#endif // BYOC_CORE_COLLAGE_REPLAY_H_
