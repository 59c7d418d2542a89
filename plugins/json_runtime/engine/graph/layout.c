// SPDX-License-Identifier: Apache-2.0
// Makes memory descriptors, and writes and reads them as JSON.
#include "engine/graph/layout.h"

#include <string.h>

void byoc_dnnl_layout_plain(int32_t rank, const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc) {
  memset(out_desc, 0, sizeof(*out_desc));
  out_desc->ndims = rank;
  out_desc->data_type = dnnl_f32;
  out_desc->format_kind = dnnl_blocked;
  dnnl_dim_t stride = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    out_desc->dims[i] = out_desc->padded_dims[i] = dims[i];
    out_desc->format_desc.blocking.strides[i] = stride;
    stride *= dims[i];
  }
}

void byoc_dnnl_layout_any(int32_t rank, const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc) {
  memset(out_desc, 0, sizeof(*out_desc));
  out_desc->ndims = rank;
  out_desc->data_type = dnnl_f32;
  out_desc->format_kind = dnnl_format_kind_any;
  for (int32_t i = 0; i < rank; ++i) out_desc->dims[i] = out_desc->padded_dims[i] = dims[i];
}

int byoc_dnnl_layout_is_blocked(const dnnl_memory_desc_t *desc) {
  if (desc->format_kind != dnnl_blocked || desc->data_type != dnnl_f32 || desc->offset0 != 0) return 0;
  if (desc->extra.flags != dnnl_memory_extra_flag_none) return 0;
  for (int32_t i = 0; i < desc->ndims; ++i)
    if (desc->padded_offsets[i] != 0) return 0;
  return 1;
}

json_t *byoc_dnnl_json_ints(const int64_t *values, int32_t count) {
  json_t *array = json_array();
  for (int32_t i = 0; array != NULL && i < count; ++i) {
    if (json_array_append_new(array, json_integer(values[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return array;
}

json_t *byoc_dnnl_layout_emit(const dnnl_memory_desc_t *desc) {
  const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
  json_t *object = json_object();
  if (object == NULL) return NULL;
  if (json_object_set_new(object, "padded", byoc_dnnl_json_ints(desc->padded_dims, desc->ndims)) != 0 ||
      json_object_set_new(object, "strides", byoc_dnnl_json_ints(blocking->strides, desc->ndims)) != 0 ||
      json_object_set_new(object, "blocks", byoc_dnnl_json_ints(blocking->inner_blks, blocking->inner_nblks)) != 0 ||
      json_object_set_new(object, "block_dims", byoc_dnnl_json_ints(blocking->inner_idxs, blocking->inner_nblks)) !=
          0) {
    json_decref(object);
    return NULL;
  }
  return object;
}

// Reads at most `capacity` integers within [minimum, maximum]; returns their number, or -1.
static int32_t parse_dims(const json_t *array, int32_t capacity, int64_t minimum, int64_t maximum, dnnl_dim_t *out) {
  if (!json_is_array(array) || json_array_size(array) > (size_t)capacity) return -1;
  int32_t count = (int32_t)json_array_size(array);
  for (int32_t i = 0; i < count; ++i) {
    const json_t *item = json_array_get(array, (size_t)i);
    if (!json_is_integer(item)) return -1;
    out[i] = json_integer_value(item);
    if (out[i] < minimum || out[i] > maximum) return -1;
  }
  return count;
}

int byoc_dnnl_layout_parse(const json_t *object, int32_t rank, const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc) {
  byoc_dnnl_layout_plain(rank, dims, out_desc);
  dnnl_blocking_desc_t *blocking = &out_desc->format_desc.blocking;
  const int64_t limit = (int64_t)1 << 40;
  if (parse_dims(json_object_get(object, "padded"), rank, 1, limit, out_desc->padded_dims) != rank ||
      parse_dims(json_object_get(object, "strides"), rank, 1, limit, blocking->strides) != rank)
    return 0;
  blocking->inner_nblks = parse_dims(json_object_get(object, "blocks"), DNNL_MAX_NDIMS, 1, 1024, blocking->inner_blks);
  if (blocking->inner_nblks < 0 || parse_dims(json_object_get(object, "block_dims"), DNNL_MAX_NDIMS, 0, rank - 1,
                                              blocking->inner_idxs) != blocking->inner_nblks)
    return 0;
  dnnl_dim_t block[DNNL_MAX_NDIMS];
  for (int32_t i = 0; i < rank; ++i) block[i] = 1;
  for (int32_t i = 0; i < blocking->inner_nblks; ++i) block[blocking->inner_idxs[i]] *= blocking->inner_blks[i];
  for (int32_t i = 0; i < rank; ++i)
    if (out_desc->padded_dims[i] < dims[i] || out_desc->padded_dims[i] % block[i] != 0) return 0;
  return 1;
}
