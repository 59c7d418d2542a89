// SPDX-License-Identifier: Apache-2.0
// Turns sparse tensors into dense constants.
#include <string.h>

#include "core/frontend/onnx_reader.h"

// A few bytes in a file can ask for any number of zeros; more than this is refused.
#define DENSE_SIZE_MAX ((int64_t)1 << 30)

// Decodes the values or indices of a sparse tensor into scratch memory.
static byoc_status_t read_part(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                               const char *part, const byoc_type_t **out_type, int64_t *out_count,
                               const uint8_t **out_data) {
  char label[320];
  snprintf(label, sizeof(label), "%s, %s", what, part);
  if (!tensor) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: missing", label);
  int64_t size_bytes;
  BYOC_RETURN_IF_ERROR(byoc_onnx_tensor_type(reader, tensor->data_type, tensor->n_dims, tensor->dims, label, out_type,
                                             out_count, &size_bytes));
  if ((*out_type)->dtype == BYOC_DTYPE_STRING || byoc_dtype_bits((*out_type)->dtype) < 8) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: element type %s", label,
                           byoc_dtype_name((*out_type)->dtype));
  }
  if (tensor->has_data_location && tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    return byoc_onnx_external_data(reader, tensor, label, size_bytes, out_data);
  }
  BYOC_RETURN_IF_ERROR(
      byoc_onnx_check_data(reader, tensor, label, (*out_type)->dtype, *out_count, size_bytes, out_data));
  if (*out_data) return BYOC_OK;
  void *data = byoc_arena_allocate(&reader->scratch, size_bytes > 0 ? (size_t)size_bytes : 1, 1);
  if (!data) return byoc_diag_out_of_memory(reader->diag);
  *out_data = data;
  return byoc_onnx_decode_data(reader, tensor, label, (*out_type)->dtype, *out_count, data);
}

static int64_t index_at(const uint8_t *indices, int64_t i) {
  int64_t index;
  memcpy(&index, indices + 8 * i, 8); // file data is not aligned
  return index;
}

byoc_status_t byoc_onnx_read_sparse_tensor(byoc_onnx_reader_t *reader, const Onnx__SparseTensorProto *sparse,
                                           const char *what, const char *name, byoc_constant_t **out_constant) {
  *out_constant = NULL;
  const byoc_type_t *value_type, *index_type, *type;
  const uint8_t *values, *indices;
  int64_t value_count, index_count, count, size_bytes;
  BYOC_RETURN_IF_ERROR(read_part(reader, sparse->values, what, "values", &value_type, &value_count, &values));
  BYOC_RETURN_IF_ERROR(read_part(reader, sparse->indices, what, "indices", &index_type, &index_count, &indices));
  BYOC_RETURN_IF_ERROR(byoc_onnx_tensor_type(reader, sparse->values->data_type, sparse->n_dims, sparse->dims, what,
                                             &type, &count, &size_bytes));
  const int64_t rank = type->rank;
  if (index_type->dtype != BYOC_DTYPE_I64 || value_type->rank != 1 ||
      !((index_type->rank == 1 && index_count == value_count) ||
        (index_type->rank == 2 && rank > 0 && index_type->dims[1].constant == rank &&
         index_type->dims[0].constant == value_count))) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                           "%s: %lld values need i64 indices of shape [%lld] or [%lld,%lld]", what,
                           (long long)value_count, (long long)value_count, (long long)value_count, (long long)rank);
  }
  if (size_bytes > DENSE_SIZE_MAX) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED,
                           "%s: it takes %lld bytes when dense, more than the %lld allowed", what,
                           (long long)size_bytes, (long long)DENSE_SIZE_MAX);
  }
  void *data = NULL;
  byoc_constant_t *constant = byoc_constant_allocate(reader->module, name, type, &data);
  if (!constant) return byoc_diag_out_of_memory(reader->diag);
  if (size_bytes > 0) memset(data, 0, (size_t)size_bytes);
  const size_t element_size = byoc_dtype_bits(type->dtype) / 8;
  for (int64_t i = 0; i < value_count; i++) {
    int64_t at = 0;
    bool inside = true;
    if (index_type->rank == 1) {
      at = index_at(indices, i);
      inside = at >= 0 && at < count;
    } else {
      for (int64_t axis = 0; axis < rank && inside; axis++) {
        const int64_t index = index_at(indices, i * rank + axis);
        inside = index >= 0 && index < type->dims[axis].constant;
        at = at * type->dims[axis].constant + index;
      }
    }
    if (!inside) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: index %lld lies outside its shape", what,
                             (long long)i);
    }
    memcpy((uint8_t *)data + (size_t)at * element_size, values + (size_t)i * element_size, element_size);
  }
  *out_constant = constant;
  return BYOC_OK;
}
