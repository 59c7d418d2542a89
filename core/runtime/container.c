// SPDX-License-Identifier: Apache-2.0
// Runs operators on sequences and optionals, as ONNX defines them, on cells.
#include "core/runtime/container.h"

#include <stdbool.h>
#include <string.h>

static byoc_cell_t *operand(byoc_frame_t *frame, const byoc_container_call_t *call, uint32_t index) {
  if (index >= call->operand_count || call->operands[index] == BYOC_CELL_NONE) return NULL;
  return frame->cells[call->operands[index]];
}

static int32_t put(byoc_frame_t *frame, const byoc_container_call_t *call, byoc_cell_t *cell) {
  if (cell == NULL) return byoc_frame_out_of_memory(frame);
  byoc_frame_put(frame, call->result, cell);
  return BYOC_OK;
}

// ---- sequences ----

int32_t byoc_sequence_construct(byoc_frame_t *frame, const byoc_container_call_t *call) {
  byoc_cell_t *all = byoc_cell_create_container(frame, BYOC_ARGUMENT_SEQUENCE, call->operand_count);
  for (uint32_t i = 0; all != NULL && i < call->operand_count; i++) {
    all->items[i] = byoc_cell_retain(operand(frame, call, i));
  }
  return put(frame, call, all);
}

// Negative positions count from the end; `last` is the largest one allowed.
static int32_t read_position(byoc_frame_t *frame, const byoc_cell_t *position, uint64_t count, int64_t last,
                             uint64_t *out_at) {
  if (byoc_cell_element_count(position) == 0) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the position in a sequence is an empty tensor");
  }
  int64_t at = byoc_cell_integer(position, 0), given = at;
  if (at < 0) at += (int64_t)count;
  if (at < 0 || at > last) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the position %lld is outside a sequence of %llu",
                           (long long)given, (unsigned long long)count);
  }
  *out_at = (uint64_t)at;
  return BYOC_OK;
}

int32_t byoc_sequence_insert(byoc_frame_t *frame, const byoc_container_call_t *call) {
  const byoc_cell_t *old = operand(frame, call, 0), *position = operand(frame, call, 2);
  uint64_t at = old->count;
  if (position != NULL) {
    int32_t status = read_position(frame, position, old->count, (int64_t)old->count, &at);
    if (status != BYOC_OK) return status;
  }
  byoc_cell_t *all = byoc_cell_create_container(frame, BYOC_ARGUMENT_SEQUENCE, old->count + 1);
  if (all == NULL) return byoc_frame_out_of_memory(frame);
  for (uint64_t i = 0; i < old->count; i++) all->items[i + (i >= at)] = byoc_cell_retain(old->items[i]);
  all->items[at] = byoc_cell_retain(operand(frame, call, 1));
  return put(frame, call, all);
}

int32_t byoc_sequence_erase(byoc_frame_t *frame, const byoc_container_call_t *call) {
  const byoc_cell_t *old = operand(frame, call, 0), *position = operand(frame, call, 1);
  uint64_t at = old->count - 1;
  if (old->count == 0) return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the sequence is empty");
  if (position != NULL) {
    int32_t status = read_position(frame, position, old->count, (int64_t)old->count - 1, &at);
    if (status != BYOC_OK) return status;
  }
  byoc_cell_t *all = byoc_cell_create_container(frame, BYOC_ARGUMENT_SEQUENCE, old->count - 1);
  if (all == NULL) return byoc_frame_out_of_memory(frame);
  for (uint64_t i = 0; i < all->count; i++) all->items[i] = byoc_cell_retain(old->items[i + (i >= at)]);
  return put(frame, call, all);
}

int32_t byoc_sequence_at(byoc_frame_t *frame, const byoc_container_call_t *call) {
  const byoc_cell_t *all = operand(frame, call, 0);
  uint64_t at = 0;
  int32_t status = read_position(frame, operand(frame, call, 1), all->count, (int64_t)all->count - 1, &at);
  return status == BYOC_OK ? put(frame, call, byoc_cell_retain(all->items[at])) : status;
}

int32_t byoc_sequence_length(byoc_frame_t *frame, const byoc_container_call_t *call) {
  return byoc_frame_set_i64(frame, call->result, (int64_t)operand(frame, call, 0)->count);
}

// ---- one tensor from many, and back ----

// The axis of a tensor of this rank, counted from the front; -1 if it does not fit.
static int64_t normal_axis(int64_t axis, uint32_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < (int64_t)rank ? axis : -1;
}

static uint64_t product(const int64_t *dims, uint32_t first, uint32_t last) {
  uint64_t count = 1;
  for (uint32_t i = first; i < last; i++) count *= (uint64_t)dims[i];
  return count;
}

// Bytes of an element; 0 for types that are packed into less than a byte.
static uint64_t element_bytes(uint32_t dtype) {
  return byoc_dtype_bits(dtype) / 8;
}

static bool same_but_axis(const byoc_cell_t *a, const byoc_cell_t *b, int64_t axis) {
  bool same = a->rank == b->rank && a->dtype == b->dtype;
  for (uint32_t i = 0; same && i < a->rank; i++) same = (int64_t)i == axis || a->dims[i] == b->dims[i];
  return same;
}

int32_t byoc_sequence_concat(byoc_frame_t *frame, const byoc_container_call_t *call) {
  const byoc_cell_t *all = operand(frame, call, 0);
  if (all->count == 0) return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "an empty sequence has nothing to join");
  const byoc_cell_t *first = all->items[0];
  bool is_new = call->flag != 0;
  uint32_t rank = first->rank + is_new;
  int64_t axis = normal_axis(call->axis, rank), dims[BYOC_CELL_MAX_RANK], total = 0;
  if (axis < 0 || rank > BYOC_CELL_MAX_RANK || element_bytes(first->dtype) == 0) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "axis %lld does not fit %s of rank %u", (long long)call->axis,
                           byoc_dtype_name(first->dtype), (unsigned)rank);
  }
  for (uint64_t i = 0; i < all->count; i++) {
    if (!same_but_axis(first, all->items[i], is_new ? -1 : axis)) {
      return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "item %llu of the sequence has another shape than the first",
                             (unsigned long long)i);
    }
    total += is_new ? 1 : all->items[i]->dims[axis];
  }
  for (uint32_t i = 0; i < rank; i++) dims[i] = first->dims[is_new && (int64_t)i > axis ? i - 1 : i];
  dims[axis] = total;
  byoc_cell_t *joined = byoc_cell_create_tensor(frame, first->dtype, rank, dims);
  if (joined == NULL) return byoc_frame_out_of_memory(frame);
  uint64_t outer = product(dims, 0, (uint32_t)axis);
  uint64_t row = product(dims, (uint32_t)axis, rank) * element_bytes(first->dtype), at = 0;
  for (uint64_t i = 0; i < all->count; i++) {
    const byoc_cell_t *item = all->items[i];
    uint64_t part = outer > 0 ? byoc_cell_size_bytes(item) / outer : 0;
    for (uint64_t o = 0; o < outer && part > 0; o++) {
      memcpy((uint8_t *)joined->data + o * row + at, (const uint8_t *)item->data + o * part, (size_t)part);
    }
    at += part;
  }
  return put(frame, call, joined);
}

// The length of part `i`: given by `split` as one number for all (the last part may be shorter) or as one number per
// part; 1 without `split`.
static int64_t part_length(const byoc_cell_t *split, int64_t whole, int64_t at, uint64_t i) {
  if (split == NULL) return 1;
  if (split->rank > 0) return byoc_cell_integer(split, i);
  int64_t length = byoc_cell_integer(split, 0);
  return length < whole - at ? length : whole - at;
}

// The number of parts of equal length.
static int32_t count_equal_parts(byoc_frame_t *frame, int64_t length, int64_t whole, uint64_t *out_count) {
  if (length <= 0)
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the parts of a sequence cannot have length %lld",
                           (long long)length);
  *out_count = (uint64_t)(whole / length + (whole % length != 0));
  return BYOC_OK;
}

static int32_t count_parts(byoc_frame_t *frame, const byoc_cell_t *split, int64_t whole, uint64_t *out_count) {
  *out_count = (uint64_t)whole;
  if (split == NULL) return BYOC_OK;
  if (split->rank == 0) return count_equal_parts(frame, byoc_cell_integer(split, 0), whole, out_count);
  *out_count = byoc_cell_element_count(split);
  bool fits = true;
  int64_t rest = whole;
  for (uint64_t i = 0; i < *out_count && fits; i++) {
    int64_t length = byoc_cell_integer(split, i);
    fits = length >= 0 && length <= rest;
    if (fits) rest -= length;
  }
  if (fits && rest == 0) return BYOC_OK;
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the parts do not add up to %lld", (long long)whole);
}

int32_t byoc_sequence_split(byoc_frame_t *frame, const byoc_container_call_t *call) {
  const byoc_cell_t *whole = operand(frame, call, 0), *split = operand(frame, call, 1);
  int64_t axis = normal_axis(call->axis, whole->rank);
  uint64_t count = 0, size = element_bytes(whole->dtype);
  if (axis < 0 || size == 0) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "axis %lld does not fit %s of rank %u", (long long)call->axis,
                           byoc_dtype_name(whole->dtype), (unsigned)whole->rank);
  }
  int32_t status = count_parts(frame, split, whole->dims[axis], &count);
  if (status != BYOC_OK) return status;
  byoc_cell_t *all = byoc_cell_create_container(frame, BYOC_ARGUMENT_SEQUENCE, count);
  if (all == NULL) return byoc_frame_out_of_memory(frame);
  bool drops_axis = split == NULL && call->flag == 0;
  uint64_t outer = product(whole->dims, 0, (uint32_t)axis);
  uint64_t inner = product(whole->dims, (uint32_t)axis + 1, whole->rank) * size;
  uint64_t row = inner * (uint64_t)whole->dims[axis];
  int64_t at = 0;
  for (uint64_t i = 0; i < count; i++) {
    int64_t length = part_length(split, whole->dims[axis], at, i), dims[BYOC_CELL_MAX_RANK] = {0};
    uint32_t rank = 0;
    for (uint32_t d = 0; d < whole->rank; d++) {
      if ((int64_t)d != axis || !drops_axis) dims[rank++] = (int64_t)d == axis ? length : whole->dims[d];
    }
    byoc_cell_t *part = byoc_cell_create_tensor(frame, whole->dtype, rank, dims);
    all->items[i] = part;
    if (part == NULL) break;
    uint64_t bytes = inner * (uint64_t)length, offset = inner * (uint64_t)at;
    for (uint64_t o = 0; o < outer && bytes > 0; o++) {
      memcpy((uint8_t *)part->data + o * bytes, (const uint8_t *)whole->data + o * row + offset, (size_t)bytes);
    }
    at += length;
  }
  if (count > 0 && all->items[count - 1] == NULL) {
    byoc_cell_release(frame, all);
    return byoc_frame_out_of_memory(frame);
  }
  return put(frame, call, all);
}

// ---- optionals ----

int32_t byoc_optional_make(byoc_frame_t *frame, const byoc_container_call_t *call) {
  byoc_cell_t *item = operand(frame, call, 0);
  byoc_cell_t *optional = byoc_cell_create_container(frame, BYOC_ARGUMENT_OPTIONAL, item != NULL);
  if (optional != NULL && item != NULL) optional->items[0] = byoc_cell_retain(item);
  return put(frame, call, optional);
}

int32_t byoc_optional_has_element(byoc_frame_t *frame, const byoc_container_call_t *call) {
  const byoc_cell_t *optional = operand(frame, call, 0); // a tensor or a sequence is always present
  return byoc_frame_set_bool(frame, call->result,
                             optional != NULL && (optional->kind != BYOC_ARGUMENT_OPTIONAL || optional->count > 0));
}

int32_t byoc_optional_get_element(byoc_frame_t *frame, const byoc_container_call_t *call) {
  byoc_cell_t *optional = operand(frame, call, 0);
  if (optional->kind != BYOC_ARGUMENT_OPTIONAL) return put(frame, call, byoc_cell_retain(optional));
  if (optional->count == 0) return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the optional is empty");
  return put(frame, call, byoc_cell_retain(optional->items[0]));
}

// ---- tensors whose rank is known only now ----

int32_t byoc_rank_is(byoc_frame_t *frame, const byoc_container_call_t *call) {
  return byoc_frame_set_bool(frame, call->result, (int64_t)operand(frame, call, 0)->rank == call->axis);
}

int32_t byoc_as_rank(byoc_frame_t *frame, const byoc_container_call_t *call) {
  byoc_cell_t *cell = operand(frame, call, 0);
  if ((int64_t)cell->rank == call->axis) return put(frame, call, byoc_cell_retain(cell));
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT,
                         "a tensor of dynamic rank has %u dimensions, more than later operators support",
                         (unsigned)cell->rank);
}
