// SPDX-License-Identifier: Apache-2.0
// Turns tensors of the file into constants. Their data is in the message, in the mapped file or in a file beside it.
#include <string.h>

#include "core/frontend/onnx_reader.h"

// Data of this size or larger is used in the mapped file, if its address is aligned, and not copied.
enum { VIEW_SIZE_MIN = 64 * 1024 };

const char *byoc_onnx_type_name(int32_t onnx_type) {
  static const char *const younger[] = {"float6e2m3", "float6e3m2"};
  if (onnx_type >= 27 && onnx_type <= 28) return younger[onnx_type - 27];
  const byoc_dtype_t dtype = byoc_dtype_from_onnx(onnx_type);
  return dtype == BYOC_DTYPE_NONE ? "undefined" : byoc_dtype_name(dtype);
}

byoc_status_t byoc_onnx_tensor_type(byoc_onnx_reader_t *reader, int32_t onnx_type, size_t rank, const int64_t *dims,
                                    const char *what, const byoc_type_t **out_type, int64_t *out_count,
                                    int64_t *out_size_bytes) {
  *out_type = NULL;
  *out_count = 0;
  *out_size_bytes = 0;
  const byoc_dtype_t dtype = byoc_dtype_from_onnx(onnx_type);
  if (dtype == BYOC_DTYPE_NONE) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: element type %d (%s) is not supported", what,
                           (int)onnx_type, byoc_onnx_type_name(onnx_type));
  }
  if (rank > BYOC_MAX_RANK) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: %zu dimensions, more than the %d supported", what, rank,
                           BYOC_MAX_RANK);
  }
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: dimension %zu is negative (%lld)", what, i,
                             (long long)dims[i]);
    }
  }
  *out_type = byoc_type_tensor_static(&reader->module->arena, dtype, (int32_t)rank, dims);
  if (!*out_type) return byoc_diag_out_of_memory(reader->diag);
  *out_count = byoc_type_element_count(*out_type);
  *out_size_bytes = byoc_type_size_bytes(*out_type);
  if (*out_count < 0 || *out_size_bytes < 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its dimensions multiply to more than 64 bits hold",
                           what);
  }
  return BYOC_OK;
}

static bool is_aligned(const uint8_t *data, byoc_dtype_t dtype) {
  size_t element_size = byoc_dtype_bits(dtype) / 8;
  if (element_size == 0) element_size = 1;
  return (uintptr_t)data % (element_size > 8 ? 8 : element_size) == 0;
}

// Uses the file's own bytes in place if that is possible and saves enough. Booleans are always copied, to be 0 or 1.
static byoc_status_t make_from_bytes(byoc_onnx_reader_t *reader, const char *name, const byoc_type_t *type,
                                     const uint8_t *data, int64_t size_bytes, bool may_view, bool *out_viewed,
                                     byoc_constant_t **out_constant) {
  *out_viewed = false;
  if (may_view && size_bytes >= VIEW_SIZE_MIN && type->dtype != BYOC_DTYPE_BOOL && is_aligned(data, type->dtype)) {
    *out_constant = byoc_constant_wrap(reader->module, name, type, data);
    *out_viewed = true;
  } else {
    void *copy = NULL;
    *out_constant = byoc_constant_allocate(reader->module, name, type, &copy);
    if (*out_constant && size_bytes > 0) {
      if (type->dtype == BYOC_DTYPE_BOOL) {
        for (int64_t i = 0; i < size_bytes; i++) ((uint8_t *)copy)[i] = data[i] != 0;
      } else {
        byoc_graph_module_copy(reader->module, copy, data, (size_t)size_bytes);
      }
    }
  }
  return *out_constant ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

byoc_status_t byoc_onnx_read_tensor(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                    const char *name, byoc_constant_t **out_constant) {
  *out_constant = NULL;
  const byoc_type_t *type;
  int64_t count, size_bytes;
  BYOC_RETURN_IF_ERROR(
      byoc_onnx_tensor_type(reader, tensor->data_type, tensor->n_dims, tensor->dims, what, &type, &count, &size_bytes));
  if (tensor->segment) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: tensors in segments are not supported", what);
  }
  bool viewed;
  if (tensor->has_data_location && tensor->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT) {
    if (tensor->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: data location %d is not one that ONNX has", what,
                             (int)tensor->data_location);
    }
    if (type->dtype == BYOC_DTYPE_STRING) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: strings cannot lie in an external file", what);
    }
    const uint8_t *data;
    BYOC_RETURN_IF_ERROR(byoc_onnx_external_data(reader, tensor, what, size_bytes, &data));
    return make_from_bytes(reader, name, type, data, size_bytes, true, &viewed, out_constant);
  }
  const uint8_t *piece;
  BYOC_RETURN_IF_ERROR(byoc_onnx_check_data(reader, tensor, what, type->dtype, count, size_bytes, &piece));
  if (piece) {
    BYOC_RETURN_IF_ERROR(
        make_from_bytes(reader, name, type, piece, size_bytes, reader->may_view, &viewed, out_constant));
    reader->viewed |= viewed;
    return BYOC_OK;
  }
  void *data = NULL;
  byoc_constant_t *constant = byoc_constant_allocate(reader->module, name, type, &data);
  if (!constant) return byoc_diag_out_of_memory(reader->diag);
  BYOC_RETURN_IF_ERROR(byoc_onnx_decode_data(reader, tensor, what, type->dtype, count, data));
  *out_constant = constant;
  return BYOC_OK;
}
