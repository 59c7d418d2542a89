// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs of one run: gives them shapes and memory, and draws inputs at random.
#include "tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/call.h"
#include "containers.h"
#include "core/base/file.h"
#include "core/ir/graph.h"
#include "dim_option.h"
#include "npy.h"
#include "port_memory.h"

byoc_status_t byoc_ports_init(byoc_ports_t *ports, size_t count, byoc_diag_t *diag) {
  *ports = (byoc_ports_t){.count = count};
  ports->items = byoc_allocate(byoc_allocator_system(), count, sizeof(*ports->items));
  ports->pointers = byoc_allocate(byoc_allocator_system(), count, sizeof(*ports->pointers));
  if (ports->items != NULL && ports->pointers != NULL) return BYOC_OK;
  byoc_ports_deinit(ports);
  return byoc_diag_out_of_memory(diag);
}

bool byoc_port_is_open(const byoc_port_t *port) {
  bool is_open = port->rank < 0 || byoc_port_is_container(port);
  for (int32_t d = 0; d < port->rank; ++d) is_open = is_open || port->dims[d] < 0;
  return is_open;
}

byoc_status_t byoc_ports_allocate(byoc_ports_t *ports, byoc_diag_t *diag) {
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    if (byoc_port_is_open(port) || port->data != NULL) continue;
    size_t size = byoc_dtype_bits(port->dtype);
    for (int32_t d = 0; d < port->rank; ++d) {
      if (!byoc_size_mul(size, (size_t)port->dims[d], &size) || size > INT64_MAX) {
        return byoc_diag_error(diag, BYOC_OUT_OF_MEMORY, "'%s' is larger than any memory", port->name);
      }
    }
    port->size_bytes = (size + 7) / 8;
    port->data = byoc_port_memory_make((size_t)port->size_bytes);
    if (port->data == NULL) return byoc_diag_out_of_memory(diag);
    ports->pointers[i] = port->data;
  }
  return BYOC_OK;
}

// Names of dimensions live as long as the program.
static byoc_status_t describe(byoc_port_t *port, const char *name, const byoc_type_t *type, byoc_diag_t *diag) {
  size_t depth = 0;
  for (; type->element != NULL && depth + 2 < sizeof(port->owned_kinds); type = type->element) {
    port->owned_kinds[depth++] = type->kind == BYOC_TYPE_SEQUENCE ? 's' : 'o';
  }
  port->owned_kinds[depth] = 't';
  port->kinds = port->owned_kinds;
  port->name = name;
  port->dtype = type->dtype;
  port->rank = type->rank;
  const char **names = byoc_allocate(byoc_allocator_system(), BYOC_MAX_RANK, sizeof(*names));
  if (names == NULL) return byoc_diag_out_of_memory(diag);
  port->owned_dim_names = names;
  port->dim_names = names;
  for (int32_t d = 0; d < type->rank; ++d) {
    const byoc_dim_expr_t *expr = type->dims[d].expr;
    port->dims[d] = expr == NULL ? type->dims[d].constant : -1;
    if (expr != NULL) names[d] = expr->kind == BYOC_DIM_SYMBOL ? expr->symbol : "?";
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_for_buffers(byoc_ports_t *ports, byoc_host_buffer_t *const *buffers, size_t count,
                                     byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_ports_init(ports, count, diag));
  for (size_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(describe(&ports->items[i], byoc_host_port_name(buffers[i]), buffers[i]->type, diag));
  }
  return byoc_ports_allocate(ports, diag);
}

byoc_status_t byoc_ports_for_function(byoc_ports_t *ports, const byoc_function_t *function, byoc_diag_t *diag) {
  const byoc_block_t *body = function->body;
  BYOC_RETURN_IF_ERROR(byoc_ports_init(ports, body->parameters.count, diag));
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_value_t *value = body->parameters.data[i];
    BYOC_RETURN_IF_ERROR(describe(&ports->items[i], value->name, value->type, diag));
  }
  return byoc_ports_allocate(ports, diag);
}

void byoc_ports_deinit(byoc_ports_t *ports) {
  for (size_t i = 0; ports->items != NULL && i < ports->count; ++i) {
    byoc_port_memory_free(ports->items[i].data, (size_t)ports->items[i].size_bytes);
    byoc_free(byoc_allocator_system(), ports->items[i].texts);
    byoc_free(byoc_allocator_system(), ports->items[i].owned_dim_names);
    byoc_container_free(&ports->items[i].read);
  }
  byoc_free(byoc_allocator_system(), ports->items);
  byoc_free(byoc_allocator_system(), ports->pointers);
  *ports = (byoc_ports_t){0};
}

// ---- names and types ----

void byoc_ports_hint(const byoc_ports_t *ports, byoc_diag_t *diag) {
  char names[400] = "";
  size_t used = 0;
  for (size_t i = 0; i < ports->count && used < sizeof(names); ++i) {
    used += (size_t)snprintf(names + used, sizeof(names) - used, "%s'%s'", i ? ", " : "", ports->items[i].name);
  }
  byoc_diag_hint(diag, "it has %s", names);
}

// Splits NAME=FILE at the last '=' before a file, so that a name may contain one.
byoc_status_t byoc_ports_find(const byoc_ports_t *ports, const char *item, const char *option, const char *kind,
                              byoc_diag_t *diag, byoc_port_t **out_port, const char **out_path) {
  const char *equals = strchr(item, '=');
  if (ports->count == 1 && (equals == NULL || byoc_file_exists(item))) {
    *out_port = &ports->items[0];
    *out_path = item;
    return BYOC_OK;
  }
  for (size_t i = 0; i < ports->count; ++i) {
    size_t size = strlen(ports->items[i].name);
    if (strncmp(ports->items[i].name, item, size) == 0 && item[size] == '=') {
      *out_port = &ports->items[i];
      *out_path = item + size + 1;
      return BYOC_OK;
    }
  }
  byoc_status_t status =
      equals == NULL ? byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                                       "--%s takes NAME=FILE, not '%s': the model has several %ss", option, item, kind)
                     : byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model has no %s '%.*s'", kind,
                                       (int)(equals - item), item);
  byoc_ports_hint(ports, diag);
  return status;
}

static void format_type(byoc_dtype_t dtype, int32_t rank, const int64_t *dims, char *buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "%s[", byoc_dtype_name(dtype));
  for (int32_t d = 0; d < rank && used < size; ++d) {
    if (dims[d] < 0) used += (size_t)snprintf(buffer + used, size - used, "%s?", d ? "," : "");
    if (dims[d] >= 0) used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", dims[d]);
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}

// The type of a port, symbolic dimensions by their names.
void byoc_port_format(const byoc_port_t *port, char *buffer, size_t size) {
  const char *kinds = port->kinds != NULL ? port->kinds : "t";
  size_t used = 0;
  for (; *kinds != 't' && used < size; ++kinds) {
    used += (size_t)snprintf(buffer + used, size - used, "%s", *kinds == 's' ? "sequence of " : "optional ");
  }
  if (used < size) used += (size_t)snprintf(buffer + used, size - used, "%s[", byoc_dtype_name(port->dtype));
  if (port->rank < 0 && used < size) used += (size_t)snprintf(buffer + used, size - used, "*");
  for (int32_t d = 0; d < port->rank && used < size; ++d) {
    const char *name = port->dim_names != NULL && port->dim_names[d] != NULL ? port->dim_names[d] : "?";
    if (port->dims[d] < 0) used += (size_t)snprintf(buffer + used, size - used, "%s%s", d ? "," : "", name);
    if (port->dims[d] >= 0) {
      used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", port->dims[d]);
    }
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}

// Files hold what NumPy has no type for as integers of as many bits, and what is packed as bytes.
static bool takes_type(byoc_dtype_t dtype, byoc_dtype_t of_file) {
  const uint32_t bits = byoc_dtype_bits(dtype);
  if (dtype == of_file) return true;
  if (bits < 8) return of_file == BYOC_DTYPE_I8 || of_file == BYOC_DTYPE_U8;
  return bits == byoc_dtype_bits(of_file) && dtype >= BYOC_DTYPE_BF16;
}

byoc_status_t byoc_port_settle(const byoc_port_t *port, const char *path, byoc_diag_t *diag, byoc_npy_t *array) {
  bool same = port->rank == array->rank || port->rank < 0;
  for (int32_t d = 0; d < port->rank && same; ++d) same = port->dims[d] < 0 || port->dims[d] == array->dims[d];
  byoc_status_t status = BYOC_OK;
  if (!same || !takes_type(port->dtype, array->dtype)) {
    char wanted[192], got[128];
    byoc_port_format(port, wanted, sizeof(wanted));
    format_type(array->dtype, array->rank, array->dims, got, sizeof(got));
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is %s, %s holds %s", port->name, wanted, path, got);
  } else if (byoc_dtype_bits(port->dtype) < 8 && array->dtype != port->dtype) {
    status = byoc_npy_pack(array, port->dtype, diag);
    if (status != BYOC_OK) byoc_diag_context(diag, status, "%s", path);
  }
  if (status != BYOC_OK) byoc_npy_deinit(array, byoc_allocator_system());
  return status;
}

byoc_status_t byoc_port_read(const byoc_port_t *port, const char *path, byoc_diag_t *diag, byoc_npy_t *out_array) {
  BYOC_RETURN_IF_ERROR(byoc_npy_read(path, byoc_allocator_system(), diag, out_array));
  return byoc_port_settle(port, path, diag, out_array);
}

// ---- shapes known at run time ----

static bool is_named(const byoc_port_t *port, int32_t d, const char *name, size_t size) {
  const char *own = port->dim_names != NULL ? port->dim_names[d] : NULL;
  return own != NULL && strncmp(own, name, size) == 0 && own[size] == '\0';
}

// Dimensions that inputs have given values already count as known too.
static bool has_dim(const byoc_ports_t *ports, const char *name, size_t size) {
  for (size_t p = 0; p < ports->count; ++p) {
    for (int32_t d = 0; d < ports->items[p].rank; ++d) {
      if (is_named(&ports->items[p], d, name, size)) return true;
    }
  }
  return false;
}

static byoc_status_t unknown_dim(const byoc_ports_t *ports, const char *name, size_t size, byoc_diag_t *diag) {
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                                         "no input has a dimension '%.*s' whose value is open", (int)size, name);
  for (size_t p = 0; p < ports->count; ++p) {
    for (int32_t d = 0; d < ports->items[p].rank; ++d) {
      const char *own = ports->items[p].dim_names != NULL ? ports->items[p].dim_names[d] : NULL;
      if (own == NULL) continue;
      byoc_diag_hint(diag, "there is '%s', of '%s'", own, ports->items[p].name);
      return status;
    }
  }
  return status;
}

// A port with that dimension whose value is known; NULL if there is none.
static const byoc_port_t *find_value(const byoc_ports_t *ports, const char *name, size_t size, int64_t *out_value) {
  for (size_t p = 0; p < ports->count; ++p) {
    const byoc_port_t *port = &ports->items[p];
    for (int32_t d = 0; d < port->rank && !byoc_port_is_container(port); ++d) {
      if (port->dims[d] < 0 || !is_named(port, d, name, size)) continue;
      *out_value = port->dims[d];
      return port;
    }
  }
  return NULL;
}

static byoc_status_t take_dim(byoc_ports_t *ports, byoc_port_t *port, int32_t d, byoc_diag_t *diag) {
  const char *name = port->dim_names != NULL ? port->dim_names[d] : NULL;
  int64_t value = 0;
  if (name == NULL || strcmp(name, "?") == 0) return BYOC_OK;
  const byoc_port_t *other = find_value(ports, name, strlen(name), &value);
  if (other == NULL || port->dims[d] == value) return BYOC_OK;
  if (port->dims[d] >= 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "input '%s' has %" PRId64 " in dimension %d, which is %s, and input '%s' has %" PRId64,
                           port->name, port->dims[d], (int)d, name, other->name, value);
  }
  port->dims[d] = value;
  return BYOC_OK;
}

// Dimensions of one name have one value: inputs that were read give it to the others.
static byoc_status_t share_dims(byoc_ports_t *ports, byoc_diag_t *diag) {
  for (size_t p = 0; p < ports->count; ++p) {
    byoc_port_t *port = &ports->items[p];
    for (int32_t d = 0; d < port->rank && !byoc_port_is_container(port); ++d) {
      BYOC_RETURN_IF_ERROR(take_dim(ports, port, d, diag));
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_set_dims(byoc_ports_t *ports, const byoc_string_items_t *items, byoc_diag_t *diag) {
  for (size_t i = 0; i < items->count; ++i) {
    byoc_dim_option_t dim;
    BYOC_RETURN_IF_ERROR(byoc_dim_option_read_one(items, i, diag, &dim));
    if (!has_dim(ports, dim.name, dim.name_size)) return unknown_dim(ports, dim.name, dim.name_size, diag);
    int64_t value = 0;
    const byoc_port_t *other = find_value(ports, dim.name, dim.name_size, &value);
    if (other != NULL && value != dim.values[0]) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                             "--dim gives '%.*s' the value %" PRId64 ", and in input '%s' it is %" PRId64,
                             (int)dim.name_size, dim.name, dim.values[0], other->name, value);
    }
    for (size_t p = 0; p < ports->count; ++p) {
      byoc_port_t *port = &ports->items[p];
      for (int32_t d = 0; d < port->rank; ++d) {
        if (port->dims[d] < 0 && is_named(port, d, dim.name, dim.name_size)) port->dims[d] = dim.values[0];
      }
    }
  }
  BYOC_RETURN_IF_ERROR(share_dims(ports, diag));
  return byoc_ports_allocate(ports, diag);
}

byoc_status_t byoc_ports_arguments(const byoc_ports_t *ports, byoc_diag_t *diag, byoc_argument_t **out_arguments) {
  *out_arguments = byoc_allocate(byoc_allocator_system(), ports->count, sizeof(**out_arguments));
  if (*out_arguments == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_port_t *port = &ports->items[i];
    if (byoc_port_is_container(port)) {
      (*out_arguments)[i] = port->read;
      continue;
    }
    (*out_arguments)[i] =
        (byoc_argument_t){.dtype = port->dtype, .rank = (uint32_t)port->rank, .dims = port->dims, .data = port->data};
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_take(byoc_ports_t *ports, const byoc_argument_t *arguments, byoc_diag_t *diag) {
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    port->argument = arguments[i];
    if (arguments[i].kind != BYOC_ARGUMENT_TENSOR) continue;
    byoc_port_memory_free(port->data, (size_t)port->size_bytes);
    port->data = NULL;
    port->kinds = "t";
    port->rank = (int32_t)arguments[i].rank;
    for (int32_t d = 0; d < port->rank; ++d) port->dims[d] = arguments[i].dims[d];
  }
  BYOC_RETURN_IF_ERROR(byoc_ports_allocate(ports, diag));
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    if (port->data != NULL && port->size_bytes > 0) memcpy(port->data, arguments[i].data, port->size_bytes);
  }
  return BYOC_OK;
}

// ---- filling ----

// splitmix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static void randomise(byoc_port_t *port, uint64_t *state) {
  size_t bytes = byoc_dtype_bits(port->dtype) / 8;
  if (bytes == 0 || port->dtype == BYOC_DTYPE_STRING) return;
  for (uint64_t i = 0; i < port->size_bytes / bytes; ++i) {
    double unit = (double)(next_random(state) >> 11) * 0x1p-53;
    uint8_t *at = (uint8_t *)port->data + i * bytes;
    float f32 = (float)unit;
    bool is_sample = bytes == 1 && port->dtype != BYOC_DTYPE_BOOL; // a byte of an image or a sound
    uint64_t integer = (uint64_t)(unit * (is_sample ? 128 : 2));   // little-endian: low bytes first
    if (port->dtype == BYOC_DTYPE_F32) {
      memcpy(at, &f32, sizeof(f32));
    } else if (port->dtype == BYOC_DTYPE_F64) {
      memcpy(at, &unit, sizeof(unit));
    } else if (port->dtype == BYOC_DTYPE_F16) {
      uint16_t half = (uint16_t)(0x3400 + (next_random(state) & 0x3ff)); // [0.25, 0.5)
      memcpy(at, &half, sizeof(half));
    } else if (port->dtype == BYOC_DTYPE_BF16) {
      uint32_t bits;
      memcpy(&bits, &f32, sizeof(bits));
      uint16_t half = (uint16_t)(bits >> 16);
      memcpy(at, &half, sizeof(half));
    } else {
      memcpy(at, &integer, bytes < 8 ? bytes : 8);
    }
  }
}

byoc_status_t byoc_ports_randomise(byoc_ports_t *inputs, uint64_t seed, byoc_diag_t *diag) {
  for (size_t i = 0; i < inputs->count; ++i) {
    uint64_t state = seed * 1000003 + i;
    if (!inputs->items[i].filled && byoc_port_is_container(&inputs->items[i])) continue; // said to be missing
    if (!inputs->items[i].filled && byoc_port_is_open(&inputs->items[i])) {
      char type[192];
      byoc_port_format(&inputs->items[i], type, sizeof(type));
      byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the shape of input '%s' (%s) is not known",
                                             inputs->items[i].name, type);
      byoc_diag_hint(diag, "give its dimensions values: --dim NAME=VALUE");
      return status;
    }
    if (!inputs->items[i].filled) randomise(&inputs->items[i], &state);
    inputs->items[i].filled = true;
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_check_filled(const byoc_ports_t *inputs, byoc_diag_t *diag) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const byoc_port_t *port = &inputs->items[i];
    if (port->filled || (byoc_port_is_container(port) && port->kinds[0] == 'o')) continue; // an optional is empty
    char type[192];
    byoc_port_format(port, type, sizeof(type));
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "input '%s' (%s) is missing", port->name, type);
    if (byoc_port_is_container(port)) {
      byoc_diag_hint(diag, "give --input '%s=%s'%s", port->name,
                     strchr(port->kinds, 's') != NULL ? "FOLDER" : "FILE.npy", ", which holds 0.npy, 1.npy, ...");
    } else {
      byoc_diag_hint(diag, "give --input '%s=FILE.npy', or --random for seeded random numbers", port->name);
    }
    return status;
  }
  return BYOC_OK;
}
