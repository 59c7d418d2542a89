// SPDX-License-Identifier: Apache-2.0
// Makes an operator of tests/unit/ops/plausible.def an artifact. Each of its operands becomes an input with open
// dimensions, also those that the row has as constants (sizes, axes, weights), unless the operator wants them constant.
// Also writes inputs that are likely to fit; what the operator gives for them is not known.
#ifndef BYOC_TESTS_HOSTILE_OPEN_OPERATOR_H_
#define BYOC_TESTS_HOSTILE_OPEN_OPERATOR_H_

#include "core/base/diag.h"

typedef struct open_operator_job_t {
  size_t row; // below open_operator_count()
  const char *targets;
  const char *folder;            // for the text of the module
  const char *artifact, *values; // paths to write
  bool keep_shapes;              // leave the dimensions as they are, so that only values are hostile
} open_operator_job_t;

size_t open_operator_count(void);
// "com.microsoft::Crop, row 17"; it lives until the next call.
const char *open_operator_name(size_t row);
byoc_status_t open_operator_build(const open_operator_job_t *job, byoc_diag_t *diag);

#endif // BYOC_TESTS_HOSTILE_OPEN_OPERATOR_H_
