// SPDX-License-Identifier: Apache-2.0
// Writes the weights file of an artifact (core/runtime/weights.h). Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_WEIGHTS_FILE_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_WEIGHTS_FILE_H_

#include "core/base/file_set.h"
#include "core/compose/c/data_layout.h"
#include "core/runtime/weights.h"

// Adds the file to the set. With `keeps_others` the contents of a file at `path` stay in it at their offsets, so that
// other artifacts go on using them; contents that are there already are not written again. A file at `path` that is not
// a weights file is refused, because it would be lost.
byoc_status_t byoc_weights_file_add(byoc_data_layout_t *layout, const char *path, bool keeps_others,
                                    byoc_file_set_t *files, byoc_diag_t *diag);
// Appends a weights file to a linked artifact, where the runtime looks for it (BYOC_WEIGHTS_APPENDED_ALIGNMENT).
byoc_status_t byoc_weights_file_append(byoc_data_layout_t *layout, const char *artifact, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_WEIGHTS_FILE_H_
