// SPDX-License-Identifier: Apache-2.0
// libFuzzer's changes to ONNX models, for targets that read them: the message stays one, so that fuzzing reaches
// inference and lowering and not just the parser of protobuf. One case in eight is changed as bytes.
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/mutation/mutate.h"
#include "tests/support/model.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_out_size, unsigned seed);

// 0 if it is larger than `max_size`.
static size_t pack(const Onnx__ModelProto *model, uint8_t *data, size_t max_size) {
  size_t size = onnx__model_proto__get_packed_size(model);
  return size <= max_size ? onnx__model_proto__pack(model, data) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  byoc_test_random_t random = {.state = seed};
  if (byoc_test_below(&random, 8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  Onnx__ModelProto *model = byoc_test_unpack_model(&arena, data, size);
  size_t changed = 0;
  if (model != NULL) {
    char what[128];
    uint64_t count = 1 + byoc_test_below(&random, 4);
    for (uint64_t i = 0; i < count; ++i) mutate(model, &random, &arena, what, sizeof(what));
    changed = pack(model, data, max_size);
  }
  byoc_arena_deinit(&arena);
  return changed > 0 ? changed : LLVMFuzzerMutate(data, size, max_size);
}

// ---- a node of one model in another ----

// One element more at the end of a list that lives in the arena.
static void **grown(byoc_arena_t *arena, void *items, size_t count) {
  void **all = byoc_arena_allocate(arena, count + 1, sizeof(*all));
  if (all == NULL) fuzz_fail("out of memory");
  if (count > 0) memcpy(all, items, count * sizeof(*all));
  return all;
}

static void add_initialiser(byoc_arena_t *arena, Onnx__GraphProto *to, const Onnx__GraphProto *from, const char *name) {
  for (size_t i = 0; i < from->n_initializer; ++i) {
    if (from->initializer[i]->name == NULL || strcmp(from->initializer[i]->name, name) != 0) continue;
    to->initializer = (Onnx__TensorProto **)grown(arena, to->initializer, to->n_initializer);
    to->initializer[to->n_initializer++] = from->initializer[i];
    return;
  }
}

// Appends a node of `from` with the initialisers that it reads; often its first operand or result is one of `to`.
static void add_node(byoc_arena_t *arena, byoc_test_random_t *random, Onnx__GraphProto *to,
                     const Onnx__GraphProto *from) {
  Onnx__NodeProto *node = from->node[byoc_test_below(random, from->n_node)];
  for (size_t i = 0; i < node->n_input; ++i) add_initialiser(arena, to, from, node->input[i]);
  const Onnx__NodeProto *producer = to->n_node > 0 ? to->node[byoc_test_below(random, to->n_node)] : NULL;
  if (producer != NULL && producer->n_output > 0 && node->n_input > 0) {
    node->input[byoc_test_below(random, node->n_input)] = producer->output[0];
  }
  if (to->n_output > 0 && node->n_output > 0 && byoc_test_below(random, 2) == 0) {
    to->output[byoc_test_below(random, to->n_output)]->name = node->output[0];
  }
  to->node = (Onnx__NodeProto **)grown(arena, to->node, to->n_node);
  to->node[to->n_node++] = node;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_out_size, unsigned seed) {
  byoc_test_random_t random = {.state = seed};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  Onnx__ModelProto *to = byoc_test_unpack_model(&arena, data1, size1),
                   *from = byoc_test_unpack_model(&arena, data2, size2);
  size_t size = 0;
  if (to != NULL && from != NULL && to->graph != NULL && from->graph != NULL && from->graph->n_node > 0) {
    add_node(&arena, &random, to->graph, from->graph);
    size = pack(to, out, max_out_size);
  }
  byoc_arena_deinit(&arena);
  return size;
}
