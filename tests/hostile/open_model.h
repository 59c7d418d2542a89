// SPDX-License-Identifier: Apache-2.0
// Makes a test case of ONNX an artifact with open shapes: every dimension of its inputs gets a name of its own, and the
// shapes that the model declares elsewhere are removed. Also writes the right inputs and the expected outputs.
#ifndef BYOC_TESTS_HOSTILE_OPEN_MODEL_H_
#define BYOC_TESTS_HOSTILE_OPEN_MODEL_H_

#include "core/base/diag.h"

typedef struct open_model_job_t {
  const char *folder;            // of the case: model.onnx, test_data_set_0
  const char *targets;           // "cutlass;dnnl;c"
  const char *artifact, *values; // paths to write
  bool keep_shapes;              // leave the dimensions as they are, so that only values are hostile
} open_model_job_t;

byoc_status_t open_model_build(const open_model_job_t *job, byoc_diag_t *diag);

#endif // BYOC_TESTS_HOSTILE_OPEN_MODEL_H_
