#include "core/frontend/onnx_write.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/vector.h"
#include "onnx.pb-c.h"

struct byoc_onnx_graph_t {
  byoc_onnx_model_t *model;
  Onnx__GraphProto *graph;       // NULL for a function
  Onnx__FunctionProto *function; // NULL for a graph
};

struct byoc_onnx_node_t {
  byoc_onnx_model_t *model;
  Onnx__NodeProto *node;
};

struct byoc_onnx_model_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  bool failed; // memory ran out
  Onnx__ModelProto message;
  byoc_onnx_graph_t graph;
};

static void *allocate(byoc_onnx_model_t *model, size_t count, size_t size) {
  void *memory = byoc_arena_allocate(&model->arena, count > 0 ? count : 1, size);
  if (!memory) model->failed = true;
  return memory;
}

static char *copy_text(byoc_onnx_model_t *model, const char *text) {
  char *copy = byoc_arena_copy_string(&model->arena, text);
  if (!copy) model->failed = true;
  return copy;
}

// A message of the given kind in the model's arena.
#define NEW_MESSAGE(model, type, init) ((type *)new_message((model), sizeof(type), (void (*)(void))(init)))

static void *new_message(byoc_onnx_model_t *model, size_t size, void (*init)(void)) {
  void *message = allocate(model, 1, size);
  if (message) ((void (*)(void *))init)(message);
  return message;
}
