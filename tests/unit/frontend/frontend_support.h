// SPDX-License-Identifier: Apache-2.0
// Helpers of the frontend's tests: a model under construction, packed and read again.
#ifndef BYOC_TESTS_UNIT_FRONTEND_FRONTEND_SUPPORT_H_
#define BYOC_TESTS_UNIT_FRONTEND_FRONTEND_SUPPORT_H_

#include "tests/support/onnx.h"
#include "tests/support/support.h"

#include "core/frontend/onnx_read.h"
#include "core/ir/module_text.h"

static inline byoc_onnx_model_t *new_model(void) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "test", 17);
  assert_non_null(model);
  return model;
}

// Packs the model, destroys it and reads it from memory.
static inline byoc_status_t read_model(byoc_onnx_model_t *model, const byoc_onnx_read_options_t *options,
                                       byoc_diag_t *diag, byoc_graph_module_t **out_module) {
  uint8_t *data;
  size_t size;
  *diag = (byoc_diag_t){0};
  byoc_test_ok(byoc_onnx_model_pack(model, diag, &data, &size), diag);
  byoc_onnx_model_destroy(model);
  const byoc_status_t status =
      byoc_onnx_read_memory(data, size, "test.onnx", options, byoc_allocator_system(), diag, out_module);
  byoc_free(byoc_allocator_system(), data);
  return status;
}

// Reads a model that must be good, and compares its text.
static inline void expect_text(byoc_onnx_model_t *model, const byoc_onnx_read_options_t *options,
                               const char *expected) {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, options, &diag, &module), &diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_graph_print(module, NULL, &text);
  byoc_test_same_text(text.data, expected);
  byoc_string_deinit(&text);
  byoc_graph_module_destroy(module);
}

// Reads a model that must be refused with words that hold `part`.
static inline void expect_error(byoc_onnx_model_t *model, const byoc_onnx_read_options_t *options,
                                byoc_status_t expected, const char *part) {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_error(read_model(model, options, &diag, &module), expected, &diag, part);
  assert_null(module);
}

#endif // BYOC_TESTS_UNIT_FRONTEND_FRONTEND_SUPPORT_H_
