// SPDX-License-Identifier: Apache-2.0
// byoc build --verify: an artifact held against the evaluator before it gets its name.
#ifndef BYOC_TOOLS_BYOC_VERIFY_H_
#define BYOC_TOOLS_BYOC_VERIFY_H_

#include "session.h"

// Composes the models that `builds` have compiled into a temporary artifact, and runs each of them. In a child process
// with a limit of time and memory, the model is read and compiled once more, for target "c" alone, and evaluated; the
// artifact runs on the same inputs: random ones of two kinds, zeros, and NaN with infinities and subnormal numbers;
// where dimensions are open, with several sizes each, of those that the model takes. Prints a line that says what was
// compared. BYOC_MISMATCH with the output, the element and both values if they differ; another status if the artifact
// crashes or fails, or if nothing could be compared.
// `entry_count`, `names` and `builds`: as for byoc_build_compose_entries; `models`: the files, one for each name, or
// one.
byoc_status_t byoc_verify_builds(const byoc_session_options_t *options, const byoc_build_t *const *builds,
                                 const char *const *names, const char *const *models, size_t entry_count,
                                 const byoc_compose_options_t *compose, byoc_diag_t *diag);
// Refuses what cannot be held against anything here: BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_verify_check(const byoc_session_options_t *options, const char *output, const char *emit,
                                byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_VERIFY_H_
