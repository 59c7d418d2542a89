// SPDX-License-Identifier: Apache-2.0
// Makes loop nests of point definitions. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_SCHEDULE_H_
#define BYOC_CORE_KERNEL_SCHEDULE_H_

#include "core/op/lowering_context.h"
#include "core/op/op.h"

// Makes loops over the elements of the anchor's results, for anchors with a point definition.
byoc_status_t byoc_kernel_lower_points(byoc_lower_t *lower, const byoc_node_t *anchor);

#endif // BYOC_CORE_KERNEL_SCHEDULE_H_
