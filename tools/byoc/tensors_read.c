// SPDX-License-Identifier: Apache-2.0
// Reads the inputs of a run from files.
#include <string.h>

#include "containers.h"
#include "core/base/file.h"
#include "input_file.h"
#include "tensors.h"

static byoc_status_t check_unfilled(const byoc_port_t *port, byoc_diag_t *diag) {
  if (!port->filled) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--input gives '%s' twice", port->name);
}

byoc_status_t byoc_ports_fill(byoc_ports_t *inputs, byoc_port_t *port, byoc_npy_t *array, const char *path,
                              byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_port_settle(port, path, diag, array));
  if (byoc_port_is_open(port)) {
    port->rank = array->rank;
    memcpy(port->dims, array->dims, sizeof(port->dims));
    BYOC_RETURN_IF_ERROR(byoc_ports_allocate(inputs, diag));
  }
  if (array->size_bytes > 0) memcpy(port->data, array->data, array->size_bytes);
  if (array->dtype == BYOC_DTYPE_STRING) {
    port->texts = array->data;
    array->data = NULL;
  }
  port->filled = true;
  return BYOC_OK;
}

typedef struct npz_reader_t {
  byoc_ports_t *inputs;
  const char *path;
  size_t count;
} npz_reader_t;

// Arrays that the model does not take are left aside: files of others often hold expected results, too.
static byoc_status_t read_npz_array(void *self, const char *name, byoc_npy_t *array, byoc_diag_t *diag) {
  npz_reader_t *reader = self;
  for (size_t i = 0; i < reader->inputs->count; ++i) {
    byoc_port_t *port = &reader->inputs->items[i];
    if (strcmp(port->name, name) != 0 || byoc_port_is_container(port)) continue;
    ++reader->count;
    BYOC_RETURN_IF_ERROR(check_unfilled(port, diag));
    return byoc_ports_fill(reader->inputs, port, array, reader->path, diag);
  }
  return BYOC_OK;
}

static byoc_status_t read_npz(byoc_ports_t *inputs, const char *path, byoc_diag_t *diag) {
  npz_reader_t reader = {.inputs = inputs, .path = path};
  BYOC_RETURN_IF_ERROR(byoc_npz_visit(path, byoc_allocator_system(), read_npz_array, &reader, diag));
  if (reader.count > 0) return BYOC_OK;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_DATA, "%s holds no array that is called as an input of the model", path);
  byoc_ports_hint(inputs, diag);
  return status;
}

// The input of an item; none if it is of several arrays.
static byoc_status_t find_input(const byoc_ports_t *inputs, const char *item, byoc_diag_t *diag, byoc_port_t **out_port,
                                const char **out_path) {
  const bool may_be_path = strchr(item, '=') == NULL || byoc_file_exists(item);
  *out_path = item;
  *out_port = NULL;
  if (may_be_path && byoc_ends_with(item, ".npz")) return BYOC_OK; // names its inputs itself
  return byoc_ports_find(inputs, item, "input", "input", diag, out_port, out_path);
}

byoc_status_t byoc_ports_read(byoc_ports_t *inputs, const byoc_string_items_t *items,
                              const struct byoc_image_options_t *image, byoc_diag_t *diag) {
  static const byoc_image_options_t by_default = BYOC_IMAGE_DEFAULTS;
  for (size_t i = 0; i < inputs->count; ++i) { // an optional that is left out is empty
    byoc_port_t *port = &inputs->items[i];
    if (byoc_port_is_container(port) && port->kinds[0] == 'o') port->read.kind = BYOC_ARGUMENT_OPTIONAL;
  }
  for (size_t i = 0; i < items->count; ++i) {
    byoc_port_t *port = NULL;
    const char *path = NULL;
    byoc_npy_t array;
    BYOC_RETURN_IF_ERROR(find_input(inputs, items->items[i], diag, &port, &path));
    if (port == NULL) {
      BYOC_RETURN_IF_ERROR(read_npz(inputs, path, diag));
      continue;
    }
    BYOC_RETURN_IF_ERROR(check_unfilled(port, diag));
    if (byoc_port_is_container(port)) {
      BYOC_RETURN_IF_ERROR(byoc_container_read(port, path, diag, &port->read));
      port->filled = true;
      continue;
    }
    BYOC_RETURN_IF_ERROR(
        byoc_input_file_read(path, port, image != NULL ? image : &by_default, byoc_allocator_system(), diag, &array));
    byoc_status_t status = byoc_ports_fill(inputs, port, &array, path, diag);
    byoc_npy_deinit(&array, byoc_allocator_system());
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}
