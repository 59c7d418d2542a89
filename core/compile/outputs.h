// SPDX-License-Identifier: Apache-2.0
// Checks the files that a build is asked to write before it does any work, so that a mistake costs neither the
// model nor the minutes of a build.
#ifndef BYOC_CORE_COMPILE_OUTPUTS_H_
#define BYOC_CORE_COMPILE_OUTPUTS_H_

#include "core/base/diag.h"

typedef struct byoc_output_t {
  const char *option; // "--html", for messages
  const char *path;   // NULL: not asked for
} byoc_output_t;

// BYOC_INVALID_ARGUMENT if one is the file `input` (which may be NULL, or the data of that host program) or another
// output, or is a folder; BYOC_IO if its folder is missing or cannot be written to.
byoc_status_t byoc_outputs_check(const byoc_output_t *outputs, size_t count, const char *input, byoc_diag_t *diag);
// The same if one lies in `folder`, which the build replaces as a whole.
byoc_status_t byoc_outputs_check_outside(const byoc_output_t *outputs, size_t count, const char *folder,
                                         byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_OUTPUTS_H_
