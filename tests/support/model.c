// SPDX-License-Identifier: Apache-2.0
// Unpacks ONNX models into an arena.
#include "tests/support/model.h"

#include "core/frontend/onnx_wire.h"

static void *allocate(void *arena, size_t size) {
  return byoc_arena_allocate(arena, 1, size);
}

static void release(void *arena, void *memory) {
  (void)arena;
  (void)memory;
}

Onnx__ModelProto *byoc_test_unpack_model(byoc_arena_t *arena, const void *data, size_t size) {
  ProtobufCMessage *checked = NULL;
  if (byoc_onnx_wire_unpack(data, size, &onnx__model_proto__descriptor, arena, NULL, &checked) != BYOC_OK) return NULL;
  ProtobufCAllocator allocator = {allocate, release, arena};
  return onnx__model_proto__unpack(&allocator, size, data);
}
