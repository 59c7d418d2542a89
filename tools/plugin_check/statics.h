// SPDX-License-Identifier: Apache-2.0
// Static variables of a loaded artifact: which of them a run changes.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_STATICS_H_
#define BYOC_TOOLS_PLUGIN_CHECK_STATICS_H_

#include "tools/plugin_check/pipeline.h"

// Runs the artifact twice in one context, the second time on other values of the inputs, and returns the number of
// bytes of its static variables that only the second run changed. 0 if a run fails, or if the system does not say where
// they are.
size_t check_statics_changed(check_t *check, const byoc_loaded_artifact_t *artifact, const check_ports_t *inputs,
                             const check_ports_t *outputs);

#endif // BYOC_TOOLS_PLUGIN_CHECK_STATICS_H_
