// SPDX-License-Identifier: Apache-2.0
// ONNX's test data (core/frontend/onnx_data.h): tensors, sequences and optionals, and the summary of a model.
// Each input is read as all of them.
#include "core/frontend/onnx_data.h"
#include "tests/fuzz/fuzz.h"

static void read_value(const char *path, byoc_type_kind_t kind) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_onnx_value_t value = {0};
  if (byoc_graph_module_create(fuzz_allocator(), &diag, &module) != BYOC_OK) return;
  byoc_status_t status = byoc_onnx_read_value_file(path, kind, module, &diag, &value);
  fuzz_check(status, &diag);
  if (status == BYOC_OK && value.kind != kind) fuzz_fail("a value of another kind");
  byoc_graph_module_destroy(module);
}

static void summarise(const char *path) {
  byoc_diag_t diag = {0};
  byoc_onnx_summary_t summary;
  byoc_arena_t arena;
  byoc_arena_init(&arena, fuzz_allocator());
  fuzz_check(byoc_onnx_summarise_file(path, &arena, &diag, &summary), &diag);
  byoc_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const byoc_type_kind_t kinds[] = {BYOC_TYPE_TENSOR, BYOC_TYPE_SEQUENCE, BYOC_TYPE_OPTIONAL};
  const char *path = fuzz_file(data, size);
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) read_value(path, kinds[i]);
  summarise(path);
  return 0;
}
