// SPDX-License-Identifier: Apache-2.0
// Reads .npz and .safetensors files into the initialisers of a model.
#include "weights_take.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/string.h"
#include "input_file.h"

bool byoc_weights_are_arrays(const char *path) {
  return byoc_ends_with(path, ".npz") || byoc_ends_with(path, ".safetensors");
}

typedef struct taker_t {
  byoc_build_t *build;
  const char *path;
} taker_t;

static byoc_status_t refuse_shape(const taker_t *taker, const byoc_constant_t *constant, byoc_diag_t *diag) {
  byoc_string_t type;
  byoc_string_init(&type, taker->build->allocator);
  byoc_type_print(constant->type, &type);
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: the array '%s' has another type or shape than the initialiser, %s",
                      taker->path, constant->name, type.failed ? "" : type.data);
  byoc_string_deinit(&type);
  return status;
}

// The value of the initialiser becomes the array's.
static byoc_status_t take(const taker_t *taker, const char *name, const byoc_npy_t *array, byoc_diag_t *diag) {
  byoc_graph_module_t *module = taker->build->module;
  byoc_constant_t *constant = byoc_graph_module_find_constant(module, name);
  if (constant == NULL) {
    byoc_status_t status = byoc_diag_error(
        diag, BYOC_INVALID_DATA, "%s: no initialiser of the model is called as the array '%s'", taker->path, name);
    byoc_diag_hint(diag, "byoc weights list names the initialisers of an artifact");
    return status;
  }
  bool fits = constant->type->dtype == array->dtype && constant->type->rank == array->rank &&
              constant->size_bytes == array->size_bytes && array->dtype != BYOC_DTYPE_STRING;
  for (int32_t d = 0; d < array->rank && fits; ++d) fits = constant->dims[d] == array->dims[d];
  if (!fits) return refuse_shape(taker, constant, diag);
  return byoc_constant_assign(constant, array->data) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t take_npz(void *self, const char *name, byoc_npy_t *array, byoc_diag_t *diag) {
  return take(self, name, array, diag);
}

// ---- safetensors: 8 bytes of size, a JSON object of that size, data ----

static byoc_status_t damaged(const taker_t *taker, const char *what, byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is not a .safetensors file that can be read: %s", taker->path,
                         what);
}

static byoc_dtype_t dtype_of(const char *text) {
  static const struct {
    const char *name;
    byoc_dtype_t dtype;
  } rows[] = {{"BOOL", BYOC_DTYPE_BOOL},     {"U8", BYOC_DTYPE_U8},
              {"I8", BYOC_DTYPE_I8},         {"U16", BYOC_DTYPE_U16},
              {"I16", BYOC_DTYPE_I16},       {"F16", BYOC_DTYPE_F16},
              {"BF16", BYOC_DTYPE_BF16},     {"U32", BYOC_DTYPE_U32},
              {"I32", BYOC_DTYPE_I32},       {"F32", BYOC_DTYPE_F32},
              {"U64", BYOC_DTYPE_U64},       {"I64", BYOC_DTYPE_I64},
              {"F64", BYOC_DTYPE_F64},       {"F8_E4M3", BYOC_DTYPE_F8E4M3FN},
              {"F8_E5M2", BYOC_DTYPE_F8E5M2}};
  for (size_t i = 0; text != NULL && i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (strcmp(rows[i].name, text) == 0) return rows[i].dtype;
  }
  return 0;
}

static byoc_status_t take_tensor(const taker_t *taker, const char *name, const json_t *about, const uint8_t *data,
                                 uint64_t size_bytes, byoc_diag_t *diag) {
  const json_t *shape = json_object_get(about, "shape"), *range = json_object_get(about, "data_offsets");
  const json_int_t begin = json_integer_value(json_array_get(range, 0));
  const json_int_t end = json_integer_value(json_array_get(range, 1));
  byoc_npy_t array = {.dtype = dtype_of(json_string_value(json_object_get(about, "dtype"))),
                      .rank = (int32_t)json_array_size(shape)};
  if (array.dtype == 0) return damaged(taker, "a tensor has a type that byoc does not know", diag);
  if (!json_is_array(shape) || json_array_size(shape) > sizeof(array.dims) / sizeof(array.dims[0])) {
    return damaged(taker, "a tensor has no shape, or one of more than 16 dimensions", diag);
  }
  if (begin < 0 || end < begin || (uint64_t)end > size_bytes) {
    return damaged(taker, "a tensor lies beyond the end of the file", diag);
  }
  for (int32_t d = 0; d < array.rank; ++d) array.dims[d] = json_integer_value(json_array_get(shape, (size_t)d));
  array.size_bytes = (uint64_t)(end - begin);
  array.data = (void *)(uintptr_t)(data + begin);
  return take(taker, name, &array, diag);
}

static byoc_status_t take_all(const taker_t *taker, json_t *header, const uint8_t *data, uint64_t size_bytes,
                              byoc_diag_t *diag) {
  const char *name;
  json_t *about;
  json_object_foreach(header, name, about) {
    if (strcmp(name, "__metadata__") == 0) continue;
    BYOC_RETURN_IF_ERROR(take_tensor(taker, name, about, data, size_bytes, diag));
  }
  return BYOC_OK;
}

static byoc_status_t take_safetensors(const taker_t *taker, const byoc_file_view_t *view, byoc_diag_t *diag) {
  uint64_t header_bytes = 0;
  if (view->size_bytes < sizeof(header_bytes)) return damaged(taker, "it is too short", diag);
  memcpy(&header_bytes, view->data, sizeof(header_bytes));
  const uint64_t rest = view->size_bytes - sizeof(header_bytes);
  if (header_bytes > rest) return damaged(taker, "it is too short for its header", diag);
  json_error_t error;
  json_t *header = byoc_json_load(view->data + sizeof(header_bytes), (size_t)header_bytes, 0, &error);
  if (header == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (!json_is_object(header)) {
    json_decref(header);
    return damaged(taker, "its header is no JSON object", diag);
  }
  byoc_status_t status =
      take_all(taker, header, view->data + sizeof(header_bytes) + header_bytes, rest - header_bytes, diag);
  json_decref(header);
  return status;
}

byoc_status_t byoc_weights_take(byoc_build_t *build, const char *path, byoc_diag_t *diag) {
  if (build->result.program != NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "a host program takes no arrays: give the model that it was made of");
  }
  taker_t taker = {.build = build, .path = path};
  if (byoc_ends_with(path, ".npz")) return byoc_npz_visit(path, build->allocator, take_npz, &taker, diag);
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = take_safetensors(&taker, &view, diag);
  byoc_file_view_close(&view);
  return status;
}
