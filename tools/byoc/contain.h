// SPDX-License-Identifier: Apache-2.0
// How the command contains what plugins and artifacts do: core/base/foreign.h, as the environment asks for it.
#ifndef BYOC_TOOLS_BYOC_CONTAIN_H_
#define BYOC_TOOLS_BYOC_CONTAIN_H_

#include "core/base/diag.h"

// BYOC_INVALID_ARGUMENT if BYOC_HOOK_TIMEOUT is not a number of seconds, or BYOC_JOBS not a number of jobs.
byoc_status_t byoc_contain(byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_CONTAIN_H_
