// SPDX-License-Identifier: Apache-2.0
// The plan of a model without devices, for machines where its devices cannot start. Internal to core/compile.
#ifndef BYOC_CORE_COMPILE_FALLBACK_H_
#define BYOC_CORE_COMPILE_FALLBACK_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

// Makes the model's main function a choice: as it is if the devices have started, otherwise a copy whose values name no
// device and which is not proposed to targets with a device. Nothing happens if no target has a device.
byoc_status_t byoc_fallback_add(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_FALLBACK_H_
