// SPDX-License-Identifier: Apache-2.0
// ONNX models (core/frontend/onnx_read.h): reading, checking and inference.
#include "core/frontend/onnx_read.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_onnx_read_memory(data, size, "fuzz.onnx", NULL, fuzz_allocator(), &diag, &module);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) byoc_graph_module_destroy(module);
  return 0;
}
