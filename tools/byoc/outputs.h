// The files that a subcommand is asked to write, looked at before it does any work: a mistake in one of them must cost
// neither the model nor the minutes of a build.
#ifndef BYOC_TOOLS_BYOC_OUTPUTS_H_
#define BYOC_TOOLS_BYOC_OUTPUTS_H_

#include "core/base/diag.h"

typedef struct byoc_output_t {
  const char *option; // "--html", for messages
  const char *path;   // NULL: not asked for
} byoc_output_t;

// BYOC_INVALID_ARGUMENT where one is the file `input` or another output, or is a folder; BYOC_IO where the folder that
// it goes to is missing or cannot be written to.
byoc_status_t byoc_outputs_check(const byoc_output_t *outputs, size_t count, const char *input, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_OUTPUTS_H_
