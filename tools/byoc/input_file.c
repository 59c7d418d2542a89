// SPDX-License-Identifier: Apache-2.0
// Reads the values of inputs from files of several forms.
#include "input_file.h"

#include <string.h>
#include <zip.h>

#include "core/base/file.h"
#include "core/frontend/onnx_data.h"

// ---- one tensor ----

// The texts of a tensor, with their characters behind the pointers.
static byoc_status_t copy_texts(const byoc_constant_t *tensor, byoc_allocator_t allocator, byoc_diag_t *diag,
                                byoc_npy_t *out) {
  const char *const *texts = tensor->data;
  const size_t count = (size_t)byoc_type_element_count(tensor->type), pointers = count * sizeof(*texts);
  size_t size = pointers;
  for (size_t i = 0; i < count; ++i) size += strlen(texts[i]) + 1;
  char **data = byoc_allocate(allocator, size, 1);
  if (data == NULL) return byoc_diag_out_of_memory(diag);
  char *at = (char *)data + pointers;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = strlen(texts[i]) + 1;
    data[i] = memcpy(at, texts[i], length);
    at += length;
  }
  out->data = data;
  out->size_bytes = pointers;
  return BYOC_OK;
}

static byoc_status_t read_proto(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out) {
  byoc_graph_module_t *module = NULL;
  byoc_onnx_value_t value = {0};
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(allocator, diag, &module));
  byoc_status_t status = byoc_onnx_read_value_file(path, BYOC_TYPE_TENSOR, module, diag, &value);
  const byoc_constant_t *tensor = status == BYOC_OK ? value.constant : NULL;
  if (tensor != NULL && tensor->type->rank > 16) {
    status = byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s has more than 16 dimensions", path);
  } else if (tensor != NULL) {
    *out = (byoc_npy_t){.dtype = tensor->type->dtype, .rank = tensor->type->rank, .size_bytes = tensor->size_bytes};
    for (int32_t d = 0; d < out->rank; ++d) out->dims[d] = tensor->dims[d];
    if (out->dtype == BYOC_DTYPE_STRING) {
      status = copy_texts(tensor, allocator, diag, out);
      byoc_graph_module_destroy(module);
      return status;
    }
    out->data = byoc_allocate(allocator, (size_t)out->size_bytes, 1);
    if (out->data == NULL) status = byoc_diag_out_of_memory(diag);
    if (out->data != NULL && out->size_bytes > 0) memcpy(out->data, tensor->data, (size_t)out->size_bytes);
  }
  byoc_graph_module_destroy(module);
  return status;
}

static byoc_status_t read_raw(const char *path, const byoc_port_t *port, byoc_allocator_t allocator, byoc_diag_t *diag,
                              byoc_npy_t *out) {
  if (byoc_port_is_open(port) || port->dtype == BYOC_DTYPE_STRING) {
    char type[192];
    byoc_port_format(port, type, sizeof(type));
    byoc_status_t status = byoc_diag_error(
        diag, BYOC_INVALID_ARGUMENT, "%s does not say which shape it has, and '%s' is %s", path, port->name, type);
    byoc_diag_hint(diag, "give a .npy file, or a model of known shapes (byoc build --dim)");
    return status;
  }
  byoc_file_view_t file;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &file));
  byoc_status_t status = BYOC_OK;
  if (file.size_bytes != port->size_bytes) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has %zu bytes, and '%s' takes %zu", path, file.size_bytes,
                             port->name, (size_t)port->size_bytes);
  } else {
    *out = (byoc_npy_t){.dtype = port->dtype, .rank = port->rank, .size_bytes = port->size_bytes};
    memcpy(out->dims, port->dims, sizeof(port->dims[0]) * (size_t)port->rank);
    out->data = byoc_allocate(allocator, file.size_bytes, 1);
    if (out->data == NULL) status = byoc_diag_out_of_memory(diag);
    if (out->data != NULL && file.size_bytes > 0) memcpy(out->data, file.data, file.size_bytes);
  }
  byoc_file_view_close(&file);
  return status;
}

byoc_status_t byoc_input_file_read(const char *path, const byoc_port_t *port, const byoc_image_options_t *image,
                                   byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out_array) {
  *out_array = (byoc_npy_t){0};
  byoc_status_t status = BYOC_OK;
  if (byoc_image_is_meant(path)) {
    status = byoc_image_read(path, port, image, allocator, diag, out_array);
  } else if (byoc_ends_with(path, ".pb")) {
    status = read_proto(path, allocator, diag, out_array);
  } else if (byoc_ends_with(path, ".raw")) {
    status = read_raw(path, port, allocator, diag, out_array);
  } else {
    return byoc_npy_read(path, allocator, diag, out_array);
  }
  if (status != BYOC_OK) byoc_npy_deinit(out_array, allocator);
  return status;
}

// ---- many arrays ----

static byoc_status_t read_member(zip_t *archive, uint64_t index, const char *path, byoc_allocator_t allocator,
                                 byoc_npz_visitor_t visitor, void *self, byoc_diag_t *diag) {
  zip_stat_t about;
  zip_stat_init(&about);
  if (zip_stat_index(archive, index, 0, &about) != 0 || (about.valid & (ZIP_STAT_NAME | ZIP_STAT_SIZE)) == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: a member cannot be found: %s", path, zip_strerror(archive));
  }
  if (!byoc_ends_with(about.name, ".npy")) return BYOC_OK;
  zip_file_t *member = zip_fopen_index(archive, index, 0);
  if (member == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: '%s' cannot be read: %s", path, about.name,
                           zip_strerror(archive));
  }
  // A damaged file may promise any size: room grows with what is there.
  byoc_string_t bytes;
  byoc_string_init(&bytes, allocator);
  uint8_t block[16384];
  zip_int64_t count = 0;
  while (!bytes.failed && (count = zip_fread(member, block, sizeof(block))) > 0) {
    byoc_string_append_bytes(&bytes, block, (size_t)count);
  }
  byoc_status_t status = BYOC_OK;
  if (bytes.failed) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && count < 0) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: '%s' is damaged", path, about.name);
  }
  (void)zip_fclose(member);
  char name[512];
  byoc_npy_t array = {0};
  snprintf(name, sizeof(name), "%.*s", (int)(strlen(about.name) - 4), about.name);
  if (status == BYOC_OK) {
    status = byoc_npy_parse(bytes.data, bytes.size, allocator, diag, &array);
    if (status != BYOC_OK) byoc_diag_context(diag, status, "%s: '%s'", path, about.name);
  }
  byoc_string_deinit(&bytes);
  if (status == BYOC_OK) status = visitor(self, name, &array, diag);
  byoc_npy_deinit(&array, allocator);
  return status;
}

byoc_status_t byoc_npz_visit(const char *path, byoc_allocator_t allocator, byoc_npz_visitor_t visitor, void *self,
                             byoc_diag_t *diag) {
  int code = 0;
  zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
  if (archive == NULL) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    byoc_status_t status =
        byoc_diag_error(diag, code == ZIP_ER_MEMORY ? BYOC_OUT_OF_MEMORY : BYOC_INVALID_DATA,
                        "'%s' is not a .npz file that can be read: %s", path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
  }
  byoc_status_t status = BYOC_OK;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count && status == BYOC_OK; ++i) {
    status = read_member(archive, (uint64_t)i, path, allocator, visitor, self, diag);
  }
  zip_discard(archive);
  return status;
}
