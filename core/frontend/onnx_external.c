// SPDX-License-Identifier: Apache-2.0
// Reads tensor data in files of the model's folder. Each file is mapped once, and the module keeps it open.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/frontend/onnx_reader.h"

byoc_status_t byoc_onnx_keep_view(byoc_onnx_reader_t *reader, const byoc_file_view_t *view) {
  const bool ok = byoc_vector_push(&reader->module->mappings, reader->module->allocator, *view);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

// A location must stay in the model's folder: relative, and without "..".
static bool is_inside(const char *location) {
  if (location[0] == '\0' || location[0] == '/') return false;
  for (const char *part = location; part; part = strchr(part, '/')) {
    if (*part == '/') part++;
    if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) return false;
  }
  return true;
}

static byoc_status_t parse_size(byoc_onnx_reader_t *reader, const char *what, const char *key, const char *text,
                                uint64_t *out_value) {
  char *end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its external data has %s '%s', which is not a size",
                           what, key, text);
  }
  *out_value = value;
  return BYOC_OK;
}

static byoc_status_t open_external(byoc_onnx_reader_t *reader, const char *what, const char *location,
                                   const byoc_file_view_t **out_view) {
  *out_view = byoc_string_map_get(&reader->external, location);
  if (*out_view) return BYOC_OK;
  if (!is_inside(location)) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                           "%s: its external data lies in '%s', which is not inside the model's folder", what,
                           location);
  }
  if (!reader->folder) {
    byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "%s: its data lies in the file '%s', and no folder is known",
                    what, location);
    byoc_diag_hint(reader->diag, "read the model from its file, or name the folder in the options");
    return BYOC_INVALID_ARGUMENT;
  }
  byoc_file_view_t *view = BYOC_ARENA_NEW(&reader->scratch, byoc_file_view_t);
  byoc_status_t status = view ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
  if (status == BYOC_OK) {
    status = byoc_file_view_open_beneath(reader->folder, location, reader->diag, view);
    if (status != BYOC_OK) byoc_diag_context(reader->diag, status, "%s: external data", what);
  }
  if (status == BYOC_OK) {
    status = byoc_onnx_check_fetched(view->data, view->size_bytes, location, reader->diag);
    if (status != BYOC_OK) byoc_file_view_close(view);
    if (status != BYOC_OK) byoc_diag_context(reader->diag, status, "%s: external data", what);
  }
  if (status == BYOC_OK) {
    status = byoc_onnx_keep_view(reader, view);
    if (status != BYOC_OK) byoc_file_view_close(view);
  }
  if (status == BYOC_OK && !byoc_string_map_put(&reader->external, location, view)) {
    status = byoc_diag_out_of_memory(reader->diag);
  }
  if (status == BYOC_OK) *out_view = view;
  return status;
}

byoc_status_t byoc_onnx_external_data(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                      int64_t size_bytes, const uint8_t **out_data) {
  *out_data = NULL;
  const char *location = NULL;
  uint64_t offset = 0, length = (uint64_t)size_bytes;
  for (size_t i = 0; i < tensor->n_external_data; i++) {
    const char *key = byoc_onnx_string(tensor->external_data[i]->key);
    const char *value = byoc_onnx_string(tensor->external_data[i]->value);
    if (strcmp(key, "location") == 0) location = value;
    if (strcmp(key, "offset") == 0) BYOC_RETURN_IF_ERROR(parse_size(reader, what, key, value, &offset));
    if (strcmp(key, "length") == 0) BYOC_RETURN_IF_ERROR(parse_size(reader, what, key, value, &length));
  }
  if (!location) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its external data has no location", what);
  }
  if (length != (uint64_t)size_bytes) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                           "%s: its shape takes %lld bytes, its external data has %llu", what, (long long)size_bytes,
                           (unsigned long long)length);
  }
  const byoc_file_view_t *view;
  BYOC_RETURN_IF_ERROR(open_external(reader, what, location, &view));
  if (offset > view->size_bytes || length > view->size_bytes - offset) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                           "%s: it needs %llu bytes from byte %llu of '%s', which has %zu bytes", what,
                           (unsigned long long)length, (unsigned long long)offset, location, view->size_bytes);
  }
  *out_data = view->data + offset;
  return BYOC_OK;
}
