// SPDX-License-Identifier: Apache-2.0
// Finds ONNX models, and unpacks them into an arena.
#include "tests/support/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
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

// ---- files ----

static int compare_paths(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_below(const char *folder, size_t bytes, byoc_test_paths_t *paths) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char **names = NULL;
  size_t count = 0;
  if (byoc_list_directory(folder, allocator, NULL, &names, &count) != BYOC_OK) return;
  for (size_t i = 0; i < count; ++i) {
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
    byoc_file_view_t view;
    if (byoc_is_directory(path)) {
      find_below(path, bytes, paths);
    } else if (strcmp(names[i], "model.onnx") == 0 && byoc_file_view_open(path, NULL, &view) == BYOC_OK) {
      char *copy = view.size_bytes <= bytes ? byoc_copy_string(allocator, path) : NULL;
      byoc_file_view_close(&view);
      if (copy != NULL && !byoc_vector_push(paths, allocator, copy)) abort();
    }
  }
  byoc_free_names(allocator, names, count);
}

void byoc_test_find_models(const char *folder, size_t bytes, byoc_test_paths_t *paths) {
  find_below(folder, bytes, paths);
  if (paths->count > 0) qsort(paths->data, paths->count, sizeof(*paths->data), compare_paths);
}

void byoc_test_paths_deinit(byoc_test_paths_t *paths) {
  for (size_t i = 0; i < paths->count; ++i) byoc_free(byoc_allocator_system(), paths->data[i]);
  byoc_vector_deinit(paths, byoc_allocator_system());
}
