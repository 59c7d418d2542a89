// SPDX-License-Identifier: Apache-2.0
// Scan outputs of loops, and the symbols that values bind.
#include <stdbool.h>
#include <string.h>

#include "core/runtime/cell_memory.h"

// ---- scan outputs ----

// The most memory that is reserved at once for the iterations that a loop announces. Loops that end by their condition
// announce the largest integer: then memory grows by doubling.
#define ANNOUNCED_BYTES ((uint64_t)256 << 20)

int32_t byoc_frame_scan_begin(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank, const int64_t *dims) {
  int64_t empty[BYOC_CELL_MAX_RANK] = {0};
  if (rank >= BYOC_CELL_MAX_RANK)
    return byoc_frame_fail(frame, BYOC_UNSUPPORTED, "a scan output has too many dimensions");
  for (uint32_t i = 0; i < rank; i++) empty[i + 1] = dims[i] > 0 ? dims[i] : 0;
  return byoc_frame_allocate(frame, index, dtype, rank + 1, empty);
}

static int32_t scan_grow(byoc_frame_t *frame, byoc_cell_t *cell, uint64_t used_bytes, uint64_t needed_bytes) {
  byoc_block_of_memory_t *block = byoc_block_take(frame, needed_bytes);
  if (block == NULL) return byoc_frame_out_of_memory(frame);
  if (used_bytes > 0) memcpy(block + 1, cell->data, (size_t)used_bytes);
  byoc_block_release(frame, cell->block);
  cell->block = block;
  cell->data = block + 1;
  return BYOC_OK;
}

int32_t byoc_frame_scan_append(byoc_frame_t *frame, uint32_t index, uint32_t element, int64_t expected) {
  byoc_cell_t *all = frame->cells[index];
  const byoc_cell_t *one = frame->cells[element];
  bool fits = one->kind == BYOC_ARGUMENT_TENSOR && one->rank + 1 == all->rank && one->dtype == all->dtype;
  for (uint32_t i = 0; fits && i < one->rank; i++) {
    if (all->dims[0] == 0) all->dims[i + 1] = one->dims[i];
    fits = all->dims[i + 1] == one->dims[i];
  }
  if (!fits) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT,
                           "a scan output has another shape in iteration %lld than in the first",
                           (long long)all->dims[0]);
  }
  const uint64_t size = byoc_cell_size_bytes(one), used = size * (uint64_t)all->dims[0], needed = used + size;
  if (needed < used) return byoc_frame_out_of_memory(frame);
  if (needed > all->block->capacity_bytes) {
    uint64_t wanted = needed * 2;
    if (expected > all->dims[0] && size < ANNOUNCED_BYTES / (uint64_t)expected) wanted = size * (uint64_t)expected;
    int32_t status = scan_grow(frame, all, used, wanted);
    if (status != BYOC_OK) return status;
  }
  byoc_block_use(all->block, needed);
  if (size > 0) memcpy((uint8_t *)all->data + used, one->data, (size_t)size);
  all->dims[0]++;
  return BYOC_OK;
}

// ---- symbols ----

int32_t byoc_frame_bind(byoc_frame_t *frame, const char *origin, const int64_t *elements, const uint32_t *symbols,
                        uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (elements[i] == BYOC_SIZE_DOES_NOT_FIT) {
      return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%s: the sizes that it is given do not fit its operands",
                             origin);
    }
    if (elements[i] < 0) {
      return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%s asks for a negative size: %lld", origin,
                             (long long)elements[i]);
    }
    frame->symbols[symbols[i]] = elements[i];
  }
  return BYOC_OK;
}

int32_t byoc_frame_set_symbol(byoc_frame_t *frame, uint32_t symbol, int64_t value, const char *name) {
  if (value < 0) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the symbol %s would be %lld", name, (long long)value);
  }
  frame->symbols[symbol] = value;
  return BYOC_OK;
}

int32_t byoc_frame_check_view(byoc_frame_t *frame, int64_t offset, uint64_t size_bytes, uint64_t base_bytes,
                              const char *name) {
  if (offset >= 0 && (uint64_t)offset <= base_bytes && size_bytes <= base_bytes - (uint64_t)offset) return BYOC_OK;
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT,
                         "the view '%s' of %llu bytes at byte %lld leaves its base of %llu", name,
                         (unsigned long long)size_bytes, (long long)offset, (unsigned long long)base_bytes);
}

int32_t byoc_frame_match(byoc_frame_t *frame, uint32_t index, uint32_t axis, int64_t expected, const char *what,
                         const char *name) {
  int64_t got = frame->cells[index]->dims[axis];
  if (got == expected) return BYOC_OK;
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%s has %lld in dimension %u, where %s is %lld", what,
                         (long long)got, (unsigned)axis, name, (long long)expected);
}

int32_t byoc_frame_expect(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank, const char *what) {
  const byoc_cell_t *cell = frame->cells[index];
  if (cell != NULL && cell->kind == BYOC_ARGUMENT_TENSOR && cell->dtype == dtype && cell->rank == rank) return BYOC_OK;
  if (cell == NULL || cell->kind != BYOC_ARGUMENT_TENSOR) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%s is not a tensor", what);
  }
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%s is %s of rank %u, not %s of rank %u", what,
                         byoc_dtype_name(cell->dtype), (unsigned)cell->rank, byoc_dtype_name(dtype), (unsigned)rank);
}
