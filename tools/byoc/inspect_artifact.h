// SPDX-License-Identifier: Apache-2.0
// What byoc inspect says of an artifact.
#ifndef BYOC_TOOLS_BYOC_INSPECT_ARTIFACT_H_
#define BYOC_TOOLS_BYOC_INSPECT_ARTIFACT_H_

#include "core/base/diag.h"

// Prints what the file says of itself, or of that entry (NULL: the first), as JSON if `as_json`. The file is checked,
// but not loaded: nothing in it runs.
byoc_status_t byoc_inspect_artifact(const char *path, const char *entry, bool as_json, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_INSPECT_ARTIFACT_H_
