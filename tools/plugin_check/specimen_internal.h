// SPDX-License-Identifier: Apache-2.0
// Declares what the files of specimens share: specimen.c keeps them, specimen_make.c makes them of rules and
// specimen_case.c of cases.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_SPECIMEN_INTERNAL_H_
#define BYOC_TOOLS_PLUGIN_CHECK_SPECIMEN_INTERNAL_H_

#include "tools/plugin_check/specimen.h"

// A parameter or a constant; NULL if out of memory.
byoc_value_t *specimen_add_value(byoc_function_t *function, const specimen_value_t *value, const char *name);
// The node, with its results inferred; NULL if they cannot be. `values`: by their index in the specimen.
byoc_node_t *specimen_add_node(byoc_function_t *function, const specimen_node_t *node, byoc_value_t *const *values,
                               const char *name, byoc_diag_t *diag);

// The value as it was inferred, as a result; false if its type is not that of a static tensor.
bool specimen_describe(const byoc_value_t *from, specimen_value_t *out);

enum { SPECIMEN_CASE_VALUES = 96 };

#endif // BYOC_TOOLS_PLUGIN_CHECK_SPECIMEN_INTERNAL_H_
