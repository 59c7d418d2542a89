// SPDX-License-Identifier: Apache-2.0
// Reads and saves sequences and optionals: folders of .npy files.
#include "containers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"

bool byoc_port_is_container(const byoc_port_t *port) {
  return port->kinds != NULL && strcmp(port->kinds, "t") != 0;
}

// ---- reading ----

static byoc_status_t read_value(const byoc_port_t *port, const char *kinds, const char *path, byoc_diag_t *diag,
                                byoc_argument_t *out_value);

static byoc_status_t read_tensor(const byoc_port_t *port, const char *path, byoc_diag_t *diag,
                                 byoc_argument_t *out_value) {
  byoc_port_t item = *port;
  item.kinds = "t";
  byoc_npy_t array;
  BYOC_RETURN_IF_ERROR(byoc_port_read(&item, path, diag, &array));
  int64_t *dims = byoc_allocate(byoc_allocator_system(), BYOC_MAX_RANK, sizeof(*dims));
  if (dims == NULL) {
    byoc_npy_deinit(&array, byoc_allocator_system());
    return byoc_diag_out_of_memory(diag);
  }
  memcpy(dims, array.dims, sizeof(array.dims));
  *out_value = (byoc_argument_t){.kind = BYOC_ARGUMENT_TENSOR,
                                 .dtype = port->dtype,
                                 .rank = (uint32_t)array.rank,
                                 .dims = dims,
                                 .data = array.data};
  return BYOC_OK;
}

// The path of an item, in memory of the caller's; NULL if out of memory.
static char *item_path(const char *folder, uint64_t index, const char *ending) {
  char name[40];
  snprintf(name, sizeof(name), "%" PRIu64 "%s", index, ending);
  return byoc_path_join(byoc_allocator_system(), folder, name);
}

static byoc_status_t read_item(const byoc_port_t *port, const char *kinds, const char *folder, uint64_t count,
                               uint64_t index, byoc_diag_t *diag, byoc_argument_t *out_item) {
  char *path = item_path(folder, index, kinds[0] == 't' ? ".npy" : "");
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  if (byoc_file_exists(path)) {
    status = read_value(port, kinds, path, diag, out_item);
  } else {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "%s holds %" PRIu64 " file%s, but no item %s", folder, count,
                             byoc_plural(count), path + strlen(folder) + 1);
    byoc_diag_hint(diag, "a sequence is a folder that holds 0.npy, 1.npy, ... and nothing else");
  }
  byoc_free(byoc_allocator_system(), path);
  return status;
}

static byoc_status_t read_sequence(const byoc_port_t *port, const char *kinds, const char *folder, byoc_diag_t *diag,
                                   byoc_argument_t *out_value) {
  char **names = NULL;
  size_t count = 0;
  if (byoc_file_exists(folder) && !byoc_is_directory(folder)) {
    char type[192];
    byoc_port_format(port, type, sizeof(type));
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is a %s, and %s is no folder", port->name, type, folder);
    byoc_diag_hint(diag, "a sequence is a folder that holds 0.npy, 1.npy, ...");
    return status;
  }
  BYOC_RETURN_IF_ERROR(byoc_list_directory(folder, byoc_allocator_system(), diag, &names, &count));
  byoc_free_names(byoc_allocator_system(), names, count);
  *out_value = (byoc_argument_t){.kind = BYOC_ARGUMENT_SEQUENCE};
  out_value->items = byoc_allocate(byoc_allocator_system(), count, sizeof(*out_value->items));
  if (out_value->items == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  for (; status == BYOC_OK && out_value->count < count; ++out_value->count) {
    status = read_item(port, kinds, folder, count, out_value->count, diag, &out_value->items[out_value->count]);
  }
  return status;
}

static byoc_status_t read_value(const byoc_port_t *port, const char *kinds, const char *path, byoc_diag_t *diag,
                                byoc_argument_t *out_value) {
  if (kinds[0] == 't') return read_tensor(port, path, diag, out_value);
  if (kinds[0] == 's') return read_sequence(port, kinds + 1, path, diag, out_value);
  *out_value = (byoc_argument_t){.kind = BYOC_ARGUMENT_OPTIONAL};
  if (path[0] == '\0') return BYOC_OK;
  out_value->items = byoc_allocate(byoc_allocator_system(), 1, sizeof(*out_value->items));
  if (out_value->items == NULL) return byoc_diag_out_of_memory(diag);
  out_value->count = 1;
  return read_value(port, kinds + 1, path, diag, &out_value->items[0]);
}

byoc_status_t byoc_container_read(const byoc_port_t *port, const char *path, byoc_diag_t *diag,
                                  byoc_argument_t *out_value) {
  *out_value = (byoc_argument_t){0};
  byoc_status_t status = read_value(port, port->kinds, path, diag, out_value);
  if (status != BYOC_OK) byoc_container_free(out_value);
  return status;
}

void byoc_container_free(byoc_argument_t *value) {
  for (uint64_t i = 0; i < value->count; ++i) byoc_container_free(&value->items[i]);
  byoc_free(byoc_allocator_system(), value->items);
  byoc_free(byoc_allocator_system(), (void *)value->dims);
  byoc_free(byoc_allocator_system(), value->data);
  *value = (byoc_argument_t){0};
}

// ---- saving ----

static uint64_t size_of(const byoc_argument_t *tensor) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < tensor->rank; ++d) count *= (uint64_t)tensor->dims[d];
  return (count * byoc_dtype_bits(tensor->dtype) + 7) / 8;
}

// The name of a tensor's file, in memory of the caller's; NULL if out of memory.
static char *with_ending(const char *stem) {
  const size_t size = strlen(stem) + sizeof(".npy");
  char *path = byoc_allocate(byoc_allocator_system(), size, 1);
  if (path != NULL) snprintf(path, size, "%s.npy", stem);
  return path;
}

static byoc_status_t remove_items(const char *folder, uint64_t first, byoc_diag_t *diag);

// Removes what a value left: the file `stem`.npy, and the items of the folder `stem`. Other files stay.
static byoc_status_t remove_value(const char *stem, byoc_diag_t *diag) {
  char *file = with_ending(stem);
  if (file == NULL) return byoc_diag_out_of_memory(diag);
  (void)remove(file);
  byoc_free(byoc_allocator_system(), file);
  if (!byoc_is_directory(stem)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(remove_items(stem, 0, diag));
  (void)remove(stem);
  return BYOC_OK;
}

// Removes the items of a folder from `first` on.
static byoc_status_t remove_items(const char *folder, uint64_t first, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_OK;
  bool is_there = true;
  for (uint64_t i = first; is_there && status == BYOC_OK; ++i) {
    char *stem = item_path(folder, i, ""), *file = item_path(folder, i, ".npy");
    if (stem == NULL || file == NULL) status = byoc_diag_out_of_memory(diag);
    is_there = status == BYOC_OK && (byoc_file_exists(file) || byoc_is_directory(stem));
    if (is_there) status = remove_value(stem, diag);
    byoc_free(byoc_allocator_system(), stem);
    byoc_free(byoc_allocator_system(), file);
  }
  return status;
}

static byoc_status_t save_tensor(const byoc_argument_t *tensor, const char *stem, byoc_diag_t *diag) {
  char *path = with_ending(stem);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status =
      byoc_npy_write(path, tensor->dtype, (int32_t)tensor->rank, tensor->dims, tensor->data, size_of(tensor), diag);
  byoc_free(byoc_allocator_system(), path);
  return status;
}

static byoc_status_t save_sequence(const byoc_argument_t *sequence, const char *folder, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_make_directories(folder, diag));
  for (uint64_t i = 0; i < sequence->count; ++i) {
    if (sequence->items[i].kind == BYOC_ARGUMENT_OPTIONAL) {
      return byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s: a folder cannot hold optionals, which may be empty", folder);
    }
    char *stem = item_path(folder, i, "");
    if (stem == NULL) return byoc_diag_out_of_memory(diag);
    byoc_status_t status = byoc_container_save(&sequence->items[i], stem, diag);
    byoc_free(byoc_allocator_system(), stem);
    if (status != BYOC_OK) return status;
  }
  return remove_items(folder, sequence->count, diag);
}

byoc_status_t byoc_container_save(const byoc_argument_t *value, const char *stem, byoc_diag_t *diag) {
  if (value->kind == BYOC_ARGUMENT_TENSOR) return save_tensor(value, stem, diag);
  if (value->kind == BYOC_ARGUMENT_SEQUENCE) return save_sequence(value, stem, diag);
  return value->count > 0 ? byoc_container_save(&value->items[0], stem, diag) : remove_value(stem, diag);
}
