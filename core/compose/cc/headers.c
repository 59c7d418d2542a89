// SPDX-License-Identifier: Apache-2.0
// The embedded headers (byoc_embed in core/CMakeLists.txt): compiling needs no installed ones.
#include <string.h>

#include "core/compose/cc/tool.h"

// X(name of the embedded file, path below the include folder)
#define HEADER_LIST(X)                                                                                                 \
  X(header_status, "byoc/status.h")                                                                                    \
  X(header_dtype, "byoc/dtype.h")                                                                                      \
  X(header_call, "byoc/call.h")                                                                                        \
  X(header_communicator, "byoc/communicator.h")                                                                        \
  X(header_engine, "byoc/engine.h")                                                                                    \
  X(header_artifact, "byoc/artifact.h")                                                                                \
  X(header_verify, "byoc/verify.h")                                                                                    \
  X(header_device, "byoc/device.h")                                                                                    \
  X(header_memory_library, "byoc/memory_library.h")                                                                    \
  X(header_isa, "byoc/isa.def")                                                                                        \
  X(runtime_device_h, "core/runtime/device.h")                                                                         \
  X(header_dlpack, "byoc/dlpack.h")                                                                                    \
  X(runtime_cell_h, "core/runtime/cell.h")                                                                             \
  X(runtime_collective_h, "core/runtime/collective.h")                                                                 \
  X(runtime_container_h, "core/runtime/container.h")                                                                   \
  X(runtime_isa_level_h, "core/runtime/isa_level.h")                                                                   \
  X(runtime_model_h, "core/runtime/model.h")                                                                           \
  X(runtime_portable_h, "core/runtime/portable.h")                                                                     \
  X(runtime_option_h, "core/runtime/option.h")                                                                         \
  X(runtime_relation_h, "core/runtime/relation.h")                                                                     \
  X(runtime_report_h, "core/runtime/report.h")                                                                         \
  X(runtime_trace_h, "core/runtime/trace.h")                                                                           \
  X(runtime_weights_h, "core/runtime/weights.h")

#define HEADER_EXTERN(name, path)                                                                                      \
  extern const unsigned char byoc_embed_##name[];                                                                      \
  extern const unsigned long long byoc_embed_##name##_size;
HEADER_LIST(HEADER_EXTERN)

#define HEADER_ONE(name, path) +1
const size_t byoc_embedded_header_count = HEADER_LIST(HEADER_ONE);

byoc_embedded_header_t byoc_embedded_header(size_t index) {
  const byoc_embedded_header_t headers[] = {
#define HEADER_ROW(name, path) {path, byoc_embed_##name, (size_t)byoc_embed_##name##_size},
      HEADER_LIST(HEADER_ROW)};
  return headers[index];
}

byoc_embedded_header_t byoc_embedded_header_find(const char *path) {
  for (size_t i = 0; i < byoc_embedded_header_count; i++) {
    byoc_embedded_header_t header = byoc_embedded_header(i);
    if (strcmp(header.path, path) == 0) return header;
  }
  return (byoc_embedded_header_t){0};
}

byoc_status_t byoc_embedded_header_write(const char *folder, const byoc_embedded_header_t *header, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_status_t status = BYOC_OK;
  char *directory = NULL;
  char *path = byoc_path_join(allocator, folder, header->path);
  if (path != NULL) directory = byoc_path_directory(allocator, path);
  if (directory == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_make_directories(directory, diag);
  if (status == BYOC_OK) status = byoc_file_write(path, header->data, header->size_bytes, diag);
  byoc_free(allocator, directory);
  byoc_free(allocator, path);
  return status;
}

byoc_status_t byoc_embedded_headers_write(const char *folder, byoc_diag_t *diag) {
  for (size_t i = 0; i < byoc_embedded_header_count; i++) {
    byoc_embedded_header_t header = byoc_embedded_header(i);
    BYOC_RETURN_IF_ERROR(byoc_embedded_header_write(folder, &header, diag));
  }
  return BYOC_OK;
}
