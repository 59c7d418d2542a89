// SPDX-License-Identifier: Apache-2.0
// byoc inspect --coverage: which operators a model uses, and which of them byoc knows.
#ifndef BYOC_TOOLS_BYOC_INSPECT_COVERAGE_H_
#define BYOC_TOOLS_BYOC_INSPECT_COVERAGE_H_

#include "session.h"

// Prints one line for each operator of the model in the file, as a table or as JSON. BYOC_OK also if some are not
// known: the answer is complete.
byoc_status_t byoc_inspect_coverage(byoc_session_t *session, const byoc_session_options_t *options, const char *path,
                                    bool json, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_INSPECT_COVERAGE_H_
