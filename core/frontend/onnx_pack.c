// SPDX-License-Identifier: Apache-2.0
// Writes models into files and memory.
#include <string.h>

#include "core/base/file_set.h"
#include "core/base/vector.h"
#include "core/frontend/onnx_edit.h"
#include "core/frontend/onnx_write_internal.h"

enum { PAGE_BYTES = 4096 }; // where tensors begin in a file of data

// Collects the output of protobuf-c as a list of parts: small parts are gathered into blocks, large ones (weights) are
// referred to.
typedef struct parts_t {
  ProtobufCBuffer base;
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_bytes_t) list;
  uint8_t *block; // the last of `blocks`
  size_t block_used;
  bool is_open; // the last part ends where `block` continues
  BYOC_VECTOR(uint8_t *) blocks;
  size_t size_bytes;
  bool failed;
} parts_t;
enum { BIG_PART = 4096, BLOCK_SIZE = 64 * 1024 };

static void append_part(ProtobufCBuffer *base, size_t size, const uint8_t *data) {
  parts_t *parts = (parts_t *)base;
  if (parts->failed || size == 0) return;
  parts->size_bytes += size;
  if (size >= BIG_PART) {
    parts->failed |= !byoc_vector_push(&parts->list, parts->allocator, (byoc_bytes_t){data, size});
    parts->is_open = false;
    return;
  }
  if (!parts->block || parts->block_used + size > BLOCK_SIZE) {
    parts->block = byoc_allocate(parts->allocator, BLOCK_SIZE, 1);
    parts->block_used = 0;
    if (!parts->block || !byoc_vector_push(&parts->blocks, parts->allocator, parts->block)) {
      byoc_free(parts->allocator, parts->block);
      parts->block = NULL;
      parts->failed = true;
      return;
    }
    parts->is_open = false;
  }
  if (!parts->is_open) {
    const byoc_bytes_t part = {parts->block + parts->block_used, 0};
    parts->failed |= !byoc_vector_push(&parts->list, parts->allocator, part);
    if (parts->failed) return;
    parts->is_open = true;
  }
  memcpy(parts->block + parts->block_used, data, size);
  parts->block_used += size;
  parts->list.data[parts->list.count - 1].size_bytes += size;
}

static byoc_status_t pack(byoc_onnx_model_t *model, byoc_diag_t *diag, parts_t *parts) {
  *parts = (parts_t){.base = {append_part}, .allocator = model->allocator};
  if (model->data_diag.message[0] != '\0') {
    return byoc_diag_error(diag, model->data_diag.status, "%s", model->data_diag.message);
  }
  if (model->failed) return byoc_diag_out_of_memory(diag);
  if (protobuf_c_message_get_packed_size(&model->message.base) > (size_t)INT32_MAX) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "the model takes more than 2 GiB, the limit of an ONNX file without external data");
  }
  protobuf_c_message_pack_to_buffer(&model->message.base, &parts->base);
  return parts->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static void parts_deinit(parts_t *parts) {
  for (size_t i = 0; i < parts->blocks.count; i++) byoc_free(parts->allocator, parts->blocks.data[i]);
  byoc_vector_deinit(&parts->blocks, parts->allocator);
  byoc_vector_deinit(&parts->list, parts->allocator);
}

byoc_status_t byoc_onnx_model_write(byoc_onnx_model_t *model, const char *path, byoc_diag_t *diag) {
  parts_t parts;
  byoc_status_t status = pack(model, diag, &parts);
  if (status == BYOC_OK) status = byoc_file_write_atomic_parts(path, parts.list.data, parts.list.count, 0644, diag);
  if (status == BYOC_OK) { // now the data stays
    byoc_free(model->allocator, model->data_path);
    model->data_path = NULL;
  }
  parts_deinit(&parts);
  return status;
}

// Lists the bytes of large initialisers, each at the beginning of a page, and gives the graph copies that refer to
// them.
static bool move_apart(byoc_onnx_model_t *model, const char *data_path, byoc_bytes_t *data, size_t *out_count) {
  static const uint8_t zeros[PAGE_BYTES];
  Onnx__GraphProto *graph = model->message.graph;
  uint64_t offset = 0;
  *out_count = 0;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const ProtobufCBinaryData raw = graph->initializer[i]->raw_data;
    if (!graph->initializer[i]->has_raw_data || raw.len < BYOC_ONNX_LARGE_BYTES) continue;
    const size_t padding = (size_t)((PAGE_BYTES - offset % PAGE_BYTES) % PAGE_BYTES);
    Onnx__TensorProto *apart = byoc_arena_copy(&model->arena, graph->initializer[i], sizeof(*apart));
    if (!apart) return false;
    byoc_onnx_refer(model, apart, data_path, offset + padding);
    graph->initializer[i] = apart;
    data[(*out_count)++] = (byoc_bytes_t){zeros, padding};
    data[(*out_count)++] = (byoc_bytes_t){raw.data, raw.len};
    offset += padding + raw.len;
  }
  return !model->failed;
}

static byoc_status_t write_both(const char *path, const parts_t *parts, const char *data_path, const byoc_bytes_t *data,
                                size_t count, byoc_diag_t *diag) {
  byoc_file_set_t files = {0};
  byoc_status_t status = byoc_file_set_add(&files, data_path, data, count, 0644, diag);
  if (status == BYOC_OK) status = byoc_file_set_add(&files, path, parts->list.data, parts->list.count, 0644, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(&files, diag);
  byoc_file_set_abandon(&files);
  return status;
}

byoc_status_t byoc_onnx_model_write_apart(byoc_onnx_model_t *model, const char *path, const char *data_path,
                                          byoc_diag_t *diag) {
  Onnx__GraphProto *graph = model->message.graph;
  const size_t count = graph->n_initializer;
  Onnx__TensorProto **whole = BYOC_ARENA_ARRAY(&model->arena, Onnx__TensorProto *, count + 1);
  byoc_bytes_t *data = BYOC_ARENA_ARRAY(&model->arena, byoc_bytes_t, 2 * count + 1);
  size_t data_count;
  parts_t parts = {0};
  if (!whole || !data) return byoc_diag_out_of_memory(diag);
  if (count > 0) memcpy(whole, graph->initializer, count * sizeof(*whole));
  byoc_status_t status = move_apart(model, data_path, data, &data_count) ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = pack(model, diag, &parts);
  if (status == BYOC_OK) status = write_both(path, &parts, data_path, data, data_count, diag);
  if (count > 0) memcpy(graph->initializer, whole, count * sizeof(*whole));
  parts_deinit(&parts);
  return status;
}

byoc_status_t byoc_onnx_model_pack(byoc_onnx_model_t *model, byoc_diag_t *diag, uint8_t **out_data,
                                   size_t *out_size_bytes) {
  *out_data = NULL;
  *out_size_bytes = 0;
  parts_t parts;
  byoc_status_t status = pack(model, diag, &parts);
  uint8_t *data = NULL;
  if (status == BYOC_OK) {
    data = byoc_allocate(model->allocator, parts.size_bytes, 1);
    if (!data) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) {
    size_t at = 0;
    for (size_t i = 0; i < parts.list.count; i++) {
      memcpy(data + at, parts.list.data[i].data, parts.list.data[i].size_bytes);
      at += parts.list.data[i].size_bytes;
    }
    *out_data = data;
    *out_size_bytes = at;
  }
  parts_deinit(&parts);
  return status;
}
