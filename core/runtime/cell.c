// SPDX-License-Identifier: Apache-2.0
// Cells and the memory behind them.
#include "core/runtime/cell_memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/memory.h"

// A block that has not been used in this many runs in a row is freed.
#define IDLE_RUNS 64
// Scratch memory grows in blocks of this size or larger.
#define SCRATCH_BYTES 4096

int32_t byoc_frame_fail(byoc_frame_t *frame, int32_t status, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  frame->runtime->set_error(frame->runtime->self, text);
  return status;
}

int32_t byoc_frame_out_of_memory(byoc_frame_t *frame) {
  return byoc_frame_fail(frame, BYOC_OUT_OF_MEMORY, "out of memory");
}

// ---- blocks ----

// Returns the size class of a size and the bytes in a block of that class: (4 + quarter) << power, from 64 on.
static uint32_t class_of_size(uint64_t size_bytes, uint64_t *out_capacity) {
  if (size_bytes <= BYOC_BUFFER_ALIGNMENT) {
    *out_capacity = BYOC_BUFFER_ALIGNMENT;
    return 0;
  }
  uint64_t units = (size_bytes + BYOC_BUFFER_ALIGNMENT - 1) / BYOC_BUFFER_ALIGNMENT;
  if (units <= 4) {
    *out_capacity = units * BYOC_BUFFER_ALIGNMENT;
    return (uint32_t)units - 1;
  }
  uint32_t power = byoc_highest_bit(units - 1) - 2;
  uint64_t quarter = ((units - 1) >> power) - 3; // 1 to 4: rounded up
  *out_capacity = ((4 + quarter) << power) * BYOC_BUFFER_ALIGNMENT;
  return 4 + power * 4 + (uint32_t)quarter - 1;
}

// If the process runs under the address sanitizer, these tell it which bytes of a block are in use.
#if defined(__GNUC__) && defined(__ELF__)
extern void __asan_poison_memory_region(const volatile void *address, size_t size) __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *address, size_t size) __attribute__((weak));

static inline bool is_watched(void) {
  return __asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL;
}

void byoc_block_use(byoc_block_of_memory_t *block, uint64_t size_bytes) {
  if (!is_watched()) return;
  uint8_t *memory = (uint8_t *)(block + 1);
  __asan_unpoison_memory_region(memory, (size_t)size_bytes);
  __asan_poison_memory_region(memory + size_bytes, (size_t)(block->capacity_bytes - size_bytes));
}
#else
static inline bool is_watched(void) {
  return false;
}

void byoc_block_use(byoc_block_of_memory_t *block, uint64_t size_bytes) {
  (void)block, (void)size_bytes;
}
#endif

uint64_t byoc_block_capacity(uint64_t size_bytes) {
  uint64_t capacity = 0;
  (void)class_of_size(size_bytes, &capacity);
  return capacity;
}

byoc_block_of_memory_t *byoc_block_take(byoc_frame_t *frame, uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX / 4) return NULL;
  uint64_t capacity = 0;
  uint32_t size_class = class_of_size(size_bytes, &capacity);
  byoc_block_of_memory_t *block = frame->free_blocks[size_class];
  if (block != NULL) {
    frame->free_blocks[size_class] = block->next;
  } else {
    if (capacity > SIZE_MAX - sizeof(*block)) return NULL;
    block = byoc_memory_allocate(sizeof(*block) + (size_t)capacity);
    if (block == NULL) return NULL;
    block->size_class = size_class;
    block->capacity_bytes = capacity;
  }
  block->references = 1;
  block->last_run = frame->run;
  block->next = NULL;
  block->give_back = NULL;
  frame->live_bytes += block->capacity_bytes;
  if (frame->live_bytes > frame->peak_bytes) frame->peak_bytes = frame->live_bytes;
  if (is_watched()) byoc_block_use(block, size_bytes);
  return block;
}

void byoc_block_release(byoc_frame_t *frame, byoc_block_of_memory_t *block) {
  if (block == NULL || --block->references > 0) return;
  if (block->give_back != NULL) {
    block->give_back(block);
    return;
  }
  frame->live_bytes -= block->capacity_bytes;
  if (is_watched()) byoc_block_use(block, 0);
  block->next = frame->free_blocks[block->size_class];
  frame->free_blocks[block->size_class] = block;
}

static void free_list(byoc_block_of_memory_t *block) {
  while (block != NULL) {
    byoc_block_of_memory_t *next = block->next;
    byoc_memory_free(block);
    block = next;
  }
}

static void free_idle_blocks(byoc_frame_t *frame) {
  for (uint32_t i = 0; i < BYOC_FRAME_SIZE_CLASSES; i++) {
    for (byoc_block_of_memory_t **at = &frame->free_blocks[i]; *at != NULL;) {
      byoc_block_of_memory_t *block = *at;
      if (block->last_run + IDLE_RUNS > frame->run) {
        at = &block->next;
        continue;
      }
      *at = block->next;
      byoc_memory_free(block);
    }
  }
}

// ---- cells ----

byoc_cell_t *byoc_cell_create(byoc_frame_t *frame, uint32_t kind) {
  byoc_cell_t *cell = frame->free_cells;
  if (cell != NULL) {
    frame->free_cells = cell->next;
  } else {
    cell = malloc(sizeof(*cell));
    if (cell == NULL) return NULL;
  }
  *cell = (byoc_cell_t){.kind = kind, .references = 1};
  return cell;
}

// Counts the elements of a dense tensor; false for a negative dimension or if the count overflows. If the tensor is
// empty, the product of its other dimensions must fit as well, because loops rely on it.
static bool count_elements(uint32_t rank, const int64_t *dims, int64_t *out_count) {
  bool is_empty = false, fits = true;
  *out_count = 1;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    is_empty = is_empty || dims[i] == 0;
    fits = fits && (dims[i] == 0 || !byoc_mul_overflows(*out_count, dims[i], out_count));
  }
  if (is_empty) *out_count = 0;
  return fits;
}

// Computes the bytes of a dense tensor; false for a negative dimension or a size that no memory can hold.
static bool tensor_size(uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *out_bytes) {
  int64_t bits = 0;
  bool fits = count_elements(rank, dims, &bits) && !byoc_mul_overflows(bits, byoc_dtype_bits(dtype), &bits);
  *out_bytes = ((uint64_t)bits + 7) / 8;
  return fits && bits <= INT64_MAX - 7;
}

byoc_cell_t *byoc_cell_create_tensor(byoc_frame_t *frame, uint32_t dtype, uint32_t rank, const int64_t *dims) {
  uint64_t size = 0;
  if (rank > BYOC_CELL_MAX_RANK || !tensor_size(dtype, rank, dims, &size)) return NULL;
  byoc_cell_t *cell = byoc_cell_create(frame, BYOC_ARGUMENT_TENSOR);
  if (cell == NULL) return NULL;
  cell->dtype = dtype;
  cell->rank = rank;
  if (rank > 0) memcpy(cell->dims, dims, rank * sizeof(*dims));
  cell->block = byoc_block_take(frame, size);
  if (cell->block == NULL) {
    byoc_cell_release(frame, cell);
    return NULL;
  }
  cell->data = cell->block + 1;
  return cell;
}

byoc_cell_t *byoc_cell_create_container(byoc_frame_t *frame, uint32_t kind, uint64_t count) {
  if (count > UINT32_MAX) return NULL;
  byoc_cell_t *cell = byoc_cell_create(frame, kind);
  if (cell == NULL) return NULL;
  cell->block = byoc_block_take(frame, count * sizeof(*cell->items));
  if (cell->block == NULL) {
    byoc_cell_release(frame, cell);
    return NULL;
  }
  cell->items = (byoc_cell_t **)(void *)(cell->block + 1);
  cell->count = count;
  memset(cell->items, 0, (size_t)count * sizeof(*cell->items));
  return cell;
}

byoc_cell_t *byoc_cell_retain(byoc_cell_t *cell) {
  cell->references++;
  return cell;
}

void byoc_cell_release(byoc_frame_t *frame, byoc_cell_t *cell) {
  if (cell == NULL || --cell->references > 0) return;
  for (uint64_t i = 0; cell->items != NULL && i < cell->count; i++) byoc_cell_release(frame, cell->items[i]);
  byoc_block_release(frame, cell->block);
  cell->next = frame->free_cells;
  frame->free_cells = cell;
}

uint64_t byoc_cell_element_count(const byoc_cell_t *cell) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < cell->rank; i++) count *= (uint64_t)cell->dims[i];
  return count;
}

uint64_t byoc_cell_size_bytes(const byoc_cell_t *cell) {
  return (byoc_cell_element_count(cell) * byoc_dtype_bits(cell->dtype) + 7) / 8;
}

int64_t byoc_cell_integer(const byoc_cell_t *cell, uint64_t at) {
  if (at >= byoc_cell_element_count(cell)) return 0; // an empty tensor's data may be NULL
  switch (cell->dtype) {
  case BYOC_DTYPE_I64:
    return ((const int64_t *)cell->data)[at];
  case BYOC_DTYPE_I32:
    return ((const int32_t *)cell->data)[at];
  case BYOC_DTYPE_BOOL:
    return ((const uint8_t *)cell->data)[at] != 0;
  default:
    return 0;
  }
}

// ---- frames ----

int32_t byoc_frame_init(byoc_frame_t *frame, const byoc_runtime_t *runtime, uint32_t cell_count,
                        uint32_t symbol_count) {
  *frame = (byoc_frame_t){.runtime = runtime, .cell_count = cell_count, .symbol_count = symbol_count};
  frame->cells = calloc((size_t)cell_count + 1, sizeof(*frame->cells));
  frame->symbols = calloc((size_t)symbol_count + 1, sizeof(*frame->symbols));
  frame->seen = malloc(((size_t)symbol_count + 1) * sizeof(*frame->seen));
  for (uint32_t i = 0; frame->seen != NULL && i < symbol_count; i++) frame->seen[i] = -1;
  frame->moving = calloc((size_t)cell_count + 1, sizeof(*frame->moving));
  frame->is_kept = calloc((size_t)cell_count + 1, 1);
  frame->given = calloc((size_t)cell_count + 1, sizeof(*frame->given));
  frame->held = calloc((size_t)cell_count + 1, sizeof(*frame->held));
  bool made = frame->cells != NULL && frame->symbols != NULL && frame->seen != NULL && frame->moving != NULL &&
              frame->is_kept != NULL && frame->given != NULL && frame->held != NULL;
  if (made) return BYOC_OK;
  byoc_frame_deinit(frame);
  return BYOC_OUT_OF_MEMORY;
}

static void release_all(byoc_frame_t *frame, byoc_cell_t **cells, uint32_t *count) {
  while (*count > 0) byoc_cell_release(frame, cells[--*count]);
}

void byoc_frame_deinit(byoc_frame_t *frame) {
  for (uint32_t i = 0; frame->cells != NULL && i < frame->cell_count; i++) byoc_frame_release(frame, i);
  release_all(frame, frame->given, &frame->given_count);
  release_all(frame, frame->held, &frame->held_count);
  for (byoc_cell_t *cell = frame->free_cells; cell != NULL;) {
    byoc_cell_t *next = cell->next;
    free(cell);
    cell = next;
  }
  for (uint32_t i = 0; i < BYOC_FRAME_SIZE_CLASSES; i++) free_list(frame->free_blocks[i]);
  free_list(frame->scratch);
  free_list(frame->held_scratch);
  free(frame->cells);
  free(frame->given);
  free(frame->held);
  free(frame->symbols);
  free(frame->seen);
  free(frame->moving);
  free(frame->is_kept);
  *frame = (byoc_frame_t){0};
}

void byoc_frame_reset(byoc_frame_t *frame) {
  for (uint32_t i = 0; i < frame->cell_count; i++) {
    if (!frame->is_kept[i]) byoc_frame_release(frame, i);
  }
  release_all(frame, frame->given, &frame->given_count);
  frame->run++;
  free_idle_blocks(frame);
  if (frame->scratch != NULL && frame->scratch->next != NULL) { // so that next time one block is enough
    uint64_t total = 0;
    for (const byoc_block_of_memory_t *at = frame->scratch; at != NULL; at = at->next) total += at->capacity_bytes;
    free_list(frame->scratch);
    frame->scratch = NULL;
    frame->live_bytes -= total;
    (void)byoc_frame_scratch(frame, total);
  }
  frame->scratch_used = 0;
  frame->peak_bytes = frame->live_bytes;
}

void byoc_frame_finish(byoc_frame_t *frame) {
  release_all(frame, frame->held, &frame->held_count);
  byoc_cell_t **cells = frame->held;
  frame->held = frame->given;
  frame->given = cells;
  frame->held_count = frame->given_count;
  frame->given_count = 0;
  byoc_block_of_memory_t *scratch = frame->held_scratch;
  frame->held_scratch = frame->scratch;
  frame->scratch = scratch;
  frame->scratch_used = 0;
}

void *byoc_frame_scratch(byoc_frame_t *frame, uint64_t size_bytes) {
  const uint64_t mask = _Alignof(max_align_t) - 1;
  if (size_bytes > UINT64_MAX / 4) return NULL;
  size_bytes = (size_bytes + mask) & ~mask;
  byoc_block_of_memory_t *block = frame->scratch;
  if (block == NULL || frame->scratch_used + size_bytes > block->capacity_bytes) {
    block = byoc_block_take(frame, size_bytes > SCRATCH_BYTES ? size_bytes : SCRATCH_BYTES);
    if (block == NULL) return NULL;
    byoc_block_use(block, block->capacity_bytes);
    block->next = frame->scratch;
    frame->scratch = block;
    frame->scratch_used = 0;
  }
  uint8_t *memory = (uint8_t *)(block + 1) + frame->scratch_used;
  frame->scratch_used += size_bytes;
  return memory;
}

void byoc_frame_put(byoc_frame_t *frame, uint32_t index, byoc_cell_t *cell) {
  byoc_cell_t *old = frame->cells[index];
  frame->cells[index] = cell;
  byoc_cell_release(frame, old);
}

void byoc_frame_release(byoc_frame_t *frame, uint32_t index) {
  byoc_frame_put(frame, index, NULL);
}

static byoc_cell_t *create_outside(byoc_frame_t *frame, const void *data, uint32_t dtype, uint32_t rank,
                                   const int64_t *dims) {
  byoc_cell_t *cell = byoc_cell_create(frame, BYOC_ARGUMENT_TENSOR);
  if (cell == NULL) return NULL;
  cell->dtype = dtype;
  cell->rank = rank;
  if (rank > 0) memcpy(cell->dims, dims, rank * sizeof(*dims));
  cell->data = (void *)(uintptr_t)data;
  return cell;
}

// A cell in the caller's memory; NULL if it is to get a block.
static byoc_cell_t *place_outside(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank,
                                  const int64_t *dims) {
  uint64_t size = 0;
  if (!tensor_size(dtype, rank, dims, &size)) return NULL;
  const byoc_argument_t tensor = {.dtype = dtype, .rank = rank, .dims = dims};
  void *data = frame->place(frame->place_self, index, &tensor, size);
  byoc_cell_t *cell = data != NULL ? create_outside(frame, data, dtype, rank, dims) : NULL;
  if (cell != NULL) cell->is_foreign = 1;
  return cell;
}

int32_t byoc_frame_size(byoc_frame_t *frame, uint32_t dtype, uint32_t rank, const int64_t *dims,
                        uint64_t *out_size_bytes) {
  *out_size_bytes = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) {
      return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "dimension %u of the result is %lld: negative", (unsigned)i,
                             (long long)dims[i]);
    }
  }
  if (rank <= BYOC_CELL_MAX_RANK && tensor_size(dtype, rank, dims, out_size_bytes)) return BYOC_OK;
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the result has too many elements");
}

int32_t byoc_frame_allocate(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank, const int64_t *dims) {
  byoc_frame_release(frame, index); // frees its block, which may be taken again here
  if (frame->place != NULL) frame->cells[index] = place_outside(frame, index, dtype, rank, dims);
  if (frame->cells[index] == NULL) frame->cells[index] = byoc_cell_create_tensor(frame, dtype, rank, dims);
  if (frame->cells[index] != NULL) return BYOC_OK;
  uint64_t size = 0;
  int32_t status = byoc_frame_size(frame, dtype, rank, dims, &size);
  return status == BYOC_OK ? byoc_frame_out_of_memory(frame) : status;
}

static bool has_shape(const byoc_cell_t *cell, uint32_t rank, const int64_t *dims) {
  return cell != NULL && cell->rank == rank && (rank == 0 || memcmp(cell->dims, dims, rank * sizeof(*dims)) == 0);
}

void byoc_frame_zero(byoc_frame_t *frame, uint32_t index) {
  const byoc_cell_t *cell = frame->cells[index];
  memset(cell->data, 0, (size_t)byoc_cell_size_bytes(cell));
}

int32_t byoc_frame_allocate_cached(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank,
                                   const int64_t *dims) {
  if (has_shape(frame->cells[index], rank, dims)) return BYOC_OK;
  int32_t status = byoc_frame_allocate(frame, index, dtype, rank, dims);
  if (status != BYOC_OK) return status;
  byoc_frame_zero(frame, index);
  frame->is_kept[index] = 1;
  return BYOC_OK;
}

int32_t byoc_frame_constant(byoc_frame_t *frame, uint32_t index, const void *data, uint32_t dtype, uint32_t rank,
                            const int64_t *dims) {
  byoc_cell_t *cell = create_outside(frame, data, dtype, rank, dims);
  if (cell == NULL) return byoc_frame_out_of_memory(frame);
  byoc_frame_put(frame, index, cell);
  frame->is_kept[index] = 1;
  return BYOC_OK;
}

int32_t byoc_frame_share(byoc_frame_t *frame, uint32_t index, uint32_t from, uint32_t dtype, uint32_t rank,
                         const int64_t *dims) {
  byoc_cell_t *source = frame->cells[from];
  if (dims == NULL || source->kind != BYOC_ARGUMENT_TENSOR) {
    byoc_frame_put(frame, index, byoc_cell_retain(source));
    return BYOC_OK;
  }
  int64_t wanted = 0;
  if (!count_elements(rank, dims, &wanted) || (uint64_t)wanted != byoc_cell_element_count(source)) {
    return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%llu elements do not fit the requested shape",
                           (unsigned long long)byoc_cell_element_count(source));
  }
  byoc_cell_t *cell = create_outside(frame, source->data, dtype, rank, dims);
  if (cell == NULL) return byoc_frame_out_of_memory(frame);
  cell->block = source->block;
  cell->is_foreign = source->is_foreign;
  if (cell->block != NULL) cell->block->references++;
  byoc_frame_put(frame, index, cell);
  return BYOC_OK;
}

void byoc_frame_assign(byoc_frame_t *frame, const uint32_t *targets, const uint32_t *sources, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) frame->moving[i] = byoc_cell_retain(frame->cells[sources[i]]);
  for (uint32_t i = 0; i < count; i++) byoc_frame_put(frame, targets[i], frame->moving[i]);
}

int32_t byoc_frame_set_i64(byoc_frame_t *frame, uint32_t index, int64_t value) {
  int32_t status = byoc_frame_allocate(frame, index, BYOC_DTYPE_I64, 0, NULL);
  if (status == BYOC_OK) *(int64_t *)frame->cells[index]->data = value;
  return status;
}

int32_t byoc_frame_begin_turn(byoc_frame_t *frame, uint32_t index, int64_t turn) {
  if (frame->most_iterations > 0 && (uint64_t)turn >= frame->most_iterations) {
    return byoc_frame_fail(frame, BYOC_CANCELLED,
                           "the loop did not end within %llu iterations, the limit that the caller set",
                           (unsigned long long)frame->most_iterations);
  }
  return byoc_frame_set_i64(frame, index, turn);
}

int32_t byoc_frame_set_bool(byoc_frame_t *frame, uint32_t index, uint32_t value) {
  int32_t status = byoc_frame_allocate(frame, index, BYOC_DTYPE_BOOL, 0, NULL);
  if (status == BYOC_OK) *(uint8_t *)frame->cells[index]->data = value != 0;
  return status;
}
