// SPDX-License-Identifier: Apache-2.0
// ONNX models as protobuf messages, for tests that change them.
#ifndef BYOC_TESTS_SUPPORT_MODEL_H_
#define BYOC_TESTS_SUPPORT_MODEL_H_

#include "core/base/arena.h"
#include "onnx.pb-c.h"

// The message lives in `arena`: whatever is put in its place may live there too, and nothing is freed by hand. NULL if
// the bytes are no model, or one so deep that reading it would recurse too far.
Onnx__ModelProto *byoc_test_unpack_model(byoc_arena_t *arena, const void *data, size_t size);

#endif // BYOC_TESTS_SUPPORT_MODEL_H_
