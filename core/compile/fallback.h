// SPDX-License-Identifier: Apache-2.0
// The plans of a model without devices and without engines, for machines where these cannot start. Internal to
// core/compile.
#ifndef BYOC_CORE_COMPILE_FALLBACK_H_
#define BYOC_CORE_COMPILE_FALLBACK_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

// Makes the model's main function a choice: as it is if the devices have started, otherwise a copy whose values name no
// device and which is not proposed to targets with a device. `uses_engine`, by target: those whose code needs an engine
// (core/compile/engine_trial.h). If there are any, another choice stands around it: if an engine has not started, a
// copy runs that is proposed to targets with neither. Nothing happens if no target has a device or an engine.
//
//   main(%x):  %y = model(%x)    →   main(%x):  %y = If (engines) { If (devices) { model(%x) } else { ... } }
//                                                 else { ... }
byoc_status_t byoc_fallback_add(byoc_graph_module_t *module, const byoc_target_list_t *targets, const bool *uses_engine,
                                byoc_diag_t *diag);

// After placing. BYOC_UNSUPPORTED if the plan without engines calls one after all.
byoc_status_t byoc_fallback_check(byoc_graph_module_t *module, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_FALLBACK_H_
