// SPDX-License-Identifier: Apache-2.0
// Declares the actions of byoc debug, which finds where a result goes wrong: diff and bisect.
#ifndef BYOC_TOOLS_BYOC_DEBUG_H_
#define BYOC_TOOLS_BYOC_DEBUG_H_

#include "trace.h"

typedef struct byoc_debug_tolerance_t {
  bool is_exact; // bit by bit, by hashes where there are no values
  double rtol, atol;
} byoc_debug_tolerance_t;

// Compares the tensors that both have, in the order of the run, and unless `is_quiet` prints the first difference: the
// instructions that made it, how large it is, and whether what they read was the same. *out_differs tells whether there
// is any. BYOC_NOT_FOUND if they have no tensor in common; BYOC_INVALID_ARGUMENT if tolerances are asked for where
// there are no values.
byoc_status_t byoc_debug_compare(const byoc_trace_t *a, const byoc_trace_t *b, const byoc_debug_tolerance_t *tolerance,
                                 bool is_quiet, byoc_diag_t *diag, bool *out_differs);

// The subcommands; argv[0] is their name.
int byoc_main_debug_diff(int argc, char **argv);
int byoc_main_debug_bisect(int argc, char **argv);

#endif // BYOC_TOOLS_BYOC_DEBUG_H_
