// SPDX-License-Identifier: Apache-2.0
// ONNX models for tests: files of them, and messages that may be changed.
#ifndef BYOC_TESTS_SUPPORT_MODEL_H_
#define BYOC_TESTS_SUPPORT_MODEL_H_

#include "core/base/arena.h"
#include "core/base/vector.h"
#include "onnx.pb-c.h"

// The message lives in `arena`: whatever is put in its place may live there too, and nothing is freed by hand. NULL if
// the bytes are no model, or one so deep that reading it would recurse too far.
Onnx__ModelProto *byoc_test_unpack_model(byoc_arena_t *arena, const void *data, size_t size);

// Paths, in order.
typedef BYOC_VECTOR(char *) byoc_test_paths_t;
// Adds the files "model.onnx" of at most `bytes` in the folder and all below it. A folder that is not there has none.
void byoc_test_find_models(const char *folder, size_t bytes, byoc_test_paths_t *paths);
void byoc_test_paths_deinit(byoc_test_paths_t *paths);

#endif // BYOC_TESTS_SUPPORT_MODEL_H_
