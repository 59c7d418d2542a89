// SPDX-License-Identifier: Apache-2.0
// Makes up inputs for byoc build --verify.
#include "verify_inputs.h"

#include <inttypes.h>
#include <string.h>

#include "containers.h"
#include "core/measure/data.h"

const char *byoc_verify_data_name(byoc_verify_data_t data) {
#define BYOC_VERIFY_DATA_NAME(NAME, text) text,
  static const char *const names[] = {BYOC_VERIFY_DATA_LIST(BYOC_VERIFY_DATA_NAME)};
#undef BYOC_VERIFY_DATA_NAME
  return names[data];
}

// ---- sizes ----

// The first dimension, often the batch, and the others: small ones first, which take little time. Pictures need some
// room.
static const int64_t sizes[][2] = {{2, 5}, {1, 8}, {3, 17}, {1, 1}, {4, 4}, {1, 32}, {2, 64}, {1, 224}};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

bool byoc_verify_is_open(const byoc_ports_t *inputs) {
  for (size_t p = 0; p < inputs->count; ++p) {
    const byoc_port_t *port = &inputs->items[p];
    for (int32_t d = 0; d < port->rank; ++d) {
      if (port->dims[d] < 0) return true;
    }
    if (port->rank < 0) return true;
  }
  return false;
}

// The size that --dim NAME=SIZE,SIZE gives; 0: none.
static int64_t given_size(const byoc_string_items_t *given, const char *name, size_t attempt) {
  for (size_t i = 0; i < given->count && name != NULL; ++i) {
    byoc_dim_option_t dim;
    byoc_diag_t unread = {0};
    if (byoc_dim_option_read(given, i, &unread, &dim) != BYOC_OK) continue;
    const bool is_it = strlen(name) == dim.name_size && strncmp(name, dim.name, dim.name_size) == 0;
    if (is_it && attempt < dim.count) return dim.values[attempt];
  }
  return 0;
}

static void give_size(byoc_ports_t *inputs, const char *name, int64_t size) {
  for (size_t p = 0; p < inputs->count; ++p) {
    byoc_port_t *port = &inputs->items[p];
    for (int32_t d = 0; d < port->rank; ++d) {
      const char *own = port->dim_names != NULL ? port->dim_names[d] : NULL;
      if (port->dims[d] < 0 && own != NULL && strcmp(own, name) == 0) port->dims[d] = size;
    }
  }
}

bool byoc_verify_size(byoc_ports_t *inputs, const byoc_string_items_t *given, size_t attempt, byoc_string_t *out) {
  bool is_first = true;
  if (attempt >= SIZE_COUNT) return false;
  for (size_t p = 0; p < inputs->count; ++p) {
    byoc_port_t *port = &inputs->items[p];
    if (port->rank < 0) port->dims[port->rank = 0] = 0; // any rank: a scalar
    for (int32_t d = 0; d < port->rank; ++d) {
      const char *name = port->dim_names != NULL ? port->dim_names[d] : NULL;
      if (port->dims[d] >= 0) continue;
      int64_t size = given_size(given, name, attempt);
      if (size == 0) size = sizes[attempt][is_first ? 0 : 1];
      const bool is_named = name != NULL && strcmp(name, "?") != 0;
      if (is_named) give_size(inputs, name, size);
      port->dims[d] = size;
      byoc_string_appendf(out, "%s%s=%" PRId64, is_first ? "" : ", ", is_named ? name : port->name, size);
      is_first = false;
    }
  }
  return true;
}

// ---- data ----

static const char *const words[] = {"a", "", "The quick brown fox", "42", "gr\xc3\xbc\xc3\x9fz", "-1.5e3"};

static void fill_texts(void *data, size_t count, bool is_empty) {
  const char **texts = data;
  for (size_t i = 0; i < count; ++i) texts[i] = is_empty ? "" : words[i % (sizeof(words) / sizeof(words[0]))];
}

static void fill_tensor(byoc_dtype_t dtype, void *data, size_t size_bytes, byoc_verify_data_t kind, uint64_t *random) {
  if (dtype == BYOC_DTYPE_STRING) {
    fill_texts(data, size_bytes / sizeof(char *), kind == BYOC_VERIFY_ZEROS);
  } else if (kind == BYOC_VERIFY_ZEROS) {
    memset(data, 0, size_bytes);
  } else {
    (kind == BYOC_VERIFY_WILD ? byoc_measure_fill_special : byoc_measure_fill)(dtype, data, size_bytes, random);
  }
}

static size_t bits_of(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_STRING ? 8 * sizeof(char *) : byoc_dtype_bits(dtype);
}

// One value of the kinds, "sst": a sequence of sequences of tensors.
static byoc_status_t make_value(const byoc_port_t *port, const char *kinds, byoc_verify_data_t data, uint64_t *random,
                                byoc_arena_t *arena, byoc_diag_t *diag, byoc_argument_t *out) {
  *out = (byoc_argument_t){.kind = BYOC_ARGUMENT_TENSOR, .dtype = port->dtype};
  if (*kinds == 's' || *kinds == 'o') {
    out->kind = *kinds == 's' ? BYOC_ARGUMENT_SEQUENCE : BYOC_ARGUMENT_OPTIONAL;
    out->count = *kinds == 's' ? 2 : data == BYOC_VERIFY_ZEROS ? 0 : 1;
    out->items = BYOC_ARENA_ARRAY(arena, byoc_argument_t, out->count + 1);
    if (out->items == NULL) return byoc_diag_out_of_memory(diag);
    for (uint64_t i = 0; i < out->count; ++i) {
      BYOC_RETURN_IF_ERROR(make_value(port, kinds + 1, data, random, arena, diag, &out->items[i]));
    }
    return BYOC_OK;
  }
  size_t count = 1;
  out->rank = port->rank > 0 ? (uint32_t)port->rank : 0;
  for (uint32_t d = 0; d < out->rank; ++d) count *= (size_t)port->dims[d];
  const size_t size = (count * bits_of(port->dtype) + 7) / 8;
  out->dims = byoc_arena_copy(arena, port->dims, sizeof(port->dims));
  out->data = byoc_arena_allocate_aligned(arena, size + 1, BYOC_BUFFER_ALIGNMENT);
  if (out->dims == NULL || out->data == NULL) return byoc_diag_out_of_memory(diag);
  fill_tensor(port->dtype, out->data, size, data, random);
  return BYOC_OK;
}

byoc_status_t byoc_verify_fill(byoc_ports_t *inputs, byoc_verify_data_t data, byoc_arena_t *arena, byoc_diag_t *diag) {
  uint64_t random = BYOC_MEASURE_SEED;
  BYOC_RETURN_IF_ERROR(byoc_ports_allocate(inputs, diag));
  for (size_t p = 0; p < inputs->count; ++p) {
    byoc_port_t *port = &inputs->items[p];
    if (byoc_port_is_container(port)) {
      byoc_argument_t value;
      BYOC_RETURN_IF_ERROR(make_value(port, port->kinds, data, &random, arena, diag, &value));
      port->read = value;
      port->filled = true;
    } else if (data != BYOC_VERIFY_RANDOM || port->dtype == BYOC_DTYPE_STRING) {
      fill_tensor(port->dtype, port->data, (size_t)port->size_bytes, data, &random);
      port->filled = true;
    }
  }
  return byoc_ports_randomise(inputs, 0, diag);
}
