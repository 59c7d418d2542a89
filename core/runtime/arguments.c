// SPDX-License-Identifier: Apache-2.0
// Imports and exports the values of a run whose shapes are known only when it runs.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/runtime/cell_memory.h"

// ---- in ----

// Writes "f32[2,N]", with as much as is known.
static void format_tensor(uint32_t dtype, uint32_t rank, const int64_t *dims, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "%s[", byoc_dtype_name(dtype));
  for (uint32_t i = 0; i < rank && used < size && rank != BYOC_ARGUMENT_ANY_RANK; i++) {
    if (dims[i] < 0) used += (size_t)snprintf(text + used, size - used, "%s?", i > 0 ? "," : "");
    if (dims[i] >= 0)
      used += (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 ? "," : "", (long long)dims[i]);
  }
  if (used < size) (void)snprintf(text + used, size - used, "%s]", rank == BYOC_ARGUMENT_ANY_RANK ? "*" : "");
}

// Apart from the check, so that its strings are not on the stack of every run.
__attribute__((cold, noinline)) static int32_t refuse_type(byoc_frame_t *frame, const byoc_argument_t *argument,
                                                           const byoc_port_info_t *port) {
  char have[256], want[256];
  uint32_t shown = argument->rank <= BYOC_CELL_MAX_RANK ? argument->rank : 0;
  format_tensor(argument->dtype, shown, argument->dims, have, sizeof(have));
  format_tensor(port->dtype, port->rank, port->dims, want, sizeof(want));
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the input '%s' is %s, the model takes %s", port->name, have,
                         want);
}

static int32_t check_texts(byoc_frame_t *frame, const byoc_argument_t *argument, uint64_t count, const char *name) {
  const char *const *texts = argument->data;
  for (uint64_t i = 0; i < count; i++) {
    if (texts[i] != NULL) continue;
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "string %llu of the input '%s' is NULL", (unsigned long long)i,
                           name);
  }
  return BYOC_OK;
}

int32_t byoc_frame_check_argument(byoc_frame_t *frame, const byoc_argument_t *argument, const byoc_port_info_t *port) {
  if (argument->kind != BYOC_ARGUMENT_TENSOR) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the input '%s' is not a tensor", port->name);
  }
  if (argument->dims == NULL && argument->rank > 0) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the dimensions of the input '%s' are NULL", port->name);
  }
  bool fits = argument->dtype == port->dtype && argument->rank <= BYOC_CELL_MAX_RANK;
  fits = fits && (port->rank == BYOC_ARGUMENT_ANY_RANK || port->rank == argument->rank);
  bool is_negative = false, is_empty = false;
  int64_t count = 64; // so that products of dimensions do not overflow, even if the tensor is empty
  for (uint32_t i = 0; fits && i < argument->rank; i++) {
    int64_t wanted = port->rank == BYOC_ARGUMENT_ANY_RANK ? -1 : port->dims[i];
    is_negative = is_negative || argument->dims[i] < 0;
    is_empty = is_empty || argument->dims[i] == 0;
    fits = argument->dims[i] <= 0 || !byoc_mul_overflows(count, argument->dims[i], &count);
    if (!fits) {
      return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the input '%s' has too many elements", port->name);
    }
    fits = fits && (wanted < 0 || wanted == argument->dims[i]);
  }
  if (!fits || is_negative) return refuse_type(frame, argument, port);
  if (argument->data == NULL && !is_empty) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the input '%s' is NULL", port->name);
  }
  if (argument->dtype != BYOC_DTYPE_STRING || is_empty) return BYOC_OK;
  return check_texts(frame, argument, (uint64_t)count / 64, port->name);
}

static int32_t import_tensor(byoc_frame_t *frame, const byoc_argument_t *argument, const byoc_port_info_t *port,
                             byoc_cell_t **out_cell) {
  int32_t status = byoc_frame_check_argument(frame, argument, port);
  if (status != BYOC_OK) return status;
  byoc_cell_t *cell = byoc_cell_create(frame, BYOC_ARGUMENT_TENSOR);
  if (cell == NULL) return byoc_frame_out_of_memory(frame);
  cell->dtype = argument->dtype;
  cell->rank = argument->rank;
  if (argument->rank > 0) memcpy(cell->dims, argument->dims, argument->rank * sizeof(*argument->dims));
  cell->data = argument->data;
  cell->is_foreign = 1;
  *out_cell = cell;
  return BYOC_OK;
}

static int32_t import(byoc_frame_t *frame, const byoc_argument_t *argument, const byoc_port_info_t *port,
                      const char *kinds, byoc_cell_t **out_cell) {
  static const char *const names[] = {"tensor", "sequence", "optional"};
  *out_cell = NULL;
  uint32_t kind = kinds[0] == 's'   ? BYOC_ARGUMENT_SEQUENCE
                  : kinds[0] == 'o' ? BYOC_ARGUMENT_OPTIONAL
                                    : BYOC_ARGUMENT_TENSOR;
  if (argument->kind != kind) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the input '%s' is a %s, the model takes a %s", port->name,
                           argument->kind < 3 ? names[argument->kind] : "value of unknown kind", names[kind]);
  }
  if (kind == BYOC_ARGUMENT_TENSOR) return import_tensor(frame, argument, port, out_cell);
  if (kind == BYOC_ARGUMENT_OPTIONAL && argument->count > 1) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the input '%s' is an optional with %llu items", port->name,
                           (unsigned long long)argument->count);
  }
  if (argument->items == NULL && argument->count > 0) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the items of the input '%s' are NULL", port->name);
  }
  byoc_cell_t *cell = byoc_cell_create_container(frame, kind, argument->count);
  if (cell == NULL) return byoc_frame_out_of_memory(frame);
  int32_t status = BYOC_OK;
  for (uint64_t i = 0; i < argument->count && status == BYOC_OK; i++) {
    status = import(frame, &argument->items[i], port, kinds + 1, &cell->items[i]);
  }
  if (status != BYOC_OK) {
    byoc_cell_release(frame, cell);
    return status;
  }
  *out_cell = cell;
  return BYOC_OK;
}

int32_t byoc_frame_import(byoc_frame_t *frame, uint32_t index, const byoc_argument_t *argument,
                          const byoc_port_info_t *port) {
  byoc_cell_t *cell = NULL;
  int32_t status = import(frame, argument, port, port->kinds, &cell);
  if (status == BYOC_OK) byoc_frame_put(frame, index, cell);
  return status;
}

// ---- out ----

static bool is_in(const byoc_block_of_memory_t *block, const char *text) {
  const uintptr_t begin = (uintptr_t)(block + 1), at = (uintptr_t)text;
  return at >= begin && at - begin < block->capacity_bytes;
}

// A string that the last run made and this run passes on would be freed one run too early.
int32_t byoc_frame_keep_texts(byoc_frame_t *frame, const char **texts, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    const byoc_block_of_memory_t *block = frame->held_scratch;
    while (block != NULL && !is_in(block, texts[i])) block = block->next;
    if (block == NULL) continue;
    const size_t size = strlen(texts[i]) + 1;
    char *copy = byoc_frame_scratch(frame, size);
    if (copy == NULL) return byoc_frame_out_of_memory(frame);
    texts[i] = memcpy(copy, texts[i], size);
  }
  return BYOC_OK;
}

static int32_t export_tensor(byoc_frame_t *frame, const byoc_cell_t *cell, byoc_argument_t *out) {
  const bool is_text = cell->dtype == BYOC_DTYPE_STRING;
  out->dims = cell->dims;
  out->data = cell->data;
  // A table of strings may be a constant, or belong to several cells.
  if (!cell->is_foreign && !is_text) return BYOC_OK;
  const uint64_t size = byoc_cell_size_bytes(cell);
  out->data = byoc_frame_scratch(frame, size);
  if (out->data == NULL) return byoc_frame_out_of_memory(frame);
  if (size > 0) memcpy(out->data, cell->data, (size_t)size);
  return is_text ? byoc_frame_keep_texts(frame, out->data, size / sizeof(char *)) : BYOC_OK;
}

static int32_t export(byoc_frame_t *frame, byoc_cell_t *cell, byoc_argument_t *out) {
  *out = (byoc_argument_t){.kind = cell->kind, .dtype = cell->dtype, .rank = cell->rank};
  if (cell->kind == BYOC_ARGUMENT_TENSOR) return export_tensor(frame, cell, out);
  out->count = cell->count;
  out->items = byoc_frame_scratch(frame, cell->count * sizeof(*out->items));
  if (out->items == NULL) return byoc_frame_out_of_memory(frame);
  int32_t status = BYOC_OK;
  for (uint64_t i = 0; i < cell->count && status == BYOC_OK; i++)
    status = export(frame, cell->items[i], &out->items[i]);
  return status;
}

int32_t byoc_frame_export(byoc_frame_t *frame, uint32_t index, byoc_argument_t *out_argument) {
  frame->given[frame->given_count++] = byoc_cell_retain(frame->cells[index]);
  return export(frame, frame->cells[index], out_argument);
}

int32_t byoc_frame_refuse_buffer(byoc_frame_t *frame, const char *name, const byoc_argument_t *tensor,
                                 uint64_t size_bytes, const byoc_buffer_t *buffer) {
  char type[256];
  format_tensor(tensor->dtype, tensor->rank, tensor->dims, type, sizeof(type));
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT,
                         "the output '%s' is %s: it needs %llu bytes, its buffer has %llu", name, type,
                         (unsigned long long)size_bytes, (unsigned long long)buffer->size_bytes);
}

int32_t byoc_frame_export_to(byoc_frame_t *frame, uint32_t index, const char *name, const byoc_buffer_t *buffer,
                             byoc_argument_t *out_argument) {
  byoc_cell_t *cell = frame->cells[index];
  frame->given[frame->given_count++] = byoc_cell_retain(cell);
  *out_argument = (byoc_argument_t){.kind = cell->kind, .dtype = cell->dtype, .rank = cell->rank, .dims = cell->dims};
  const uint64_t size = byoc_cell_size_bytes(cell);
  if (size > buffer->size_bytes) return byoc_frame_refuse_buffer(frame, name, out_argument, size, buffer);
  out_argument->data = buffer->data;
  if (size > 0 && cell->data != buffer->data) memcpy(buffer->data, cell->data, (size_t)size);
  return cell->dtype == BYOC_DTYPE_STRING ? byoc_frame_keep_texts(frame, buffer->data, size / sizeof(char *)) : BYOC_OK;
}
