// SPDX-License-Identifier: Apache-2.0
// Prints the contents of an artifact, for byoc inspect.
#ifndef BYOC_TOOLS_BYOC_INSPECT_ARTIFACT_H_
#define BYOC_TOOLS_BYOC_INSPECT_ARTIFACT_H_

#include "core/base/diag.h"

// Which of the descriptions in the file.
typedef struct byoc_inspect_place_t {
  const char *entry; // NULL: the first one
  const char *level; // of the processor, as in -mcpu; NULL: the best one
} byoc_inspect_place_t;

// What to print: all as text or JSON, or the content of the reports of that name.
typedef struct byoc_inspect_view_t {
  bool as_json;
  const char *report; // NULL: all
} byoc_inspect_view_t;

// Prints what the file says of itself, or of what lies at that place. The file is checked, but not loaded: nothing in
// it runs.
byoc_status_t byoc_inspect_artifact(const char *path, const byoc_inspect_place_t *place,
                                    const byoc_inspect_view_t *view, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_INSPECT_ARTIFACT_H_
