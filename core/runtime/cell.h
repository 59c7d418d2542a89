// SPDX-License-Identifier: Apache-2.0
// Cells: values at run time whose shape, memory or even number is not known beforehand. The artifact and the evaluator
// share this implementation.
//
// A frame belongs to one context. It holds a table of cells, one for each buffer of the host program that is a value,
// and the memory of these cells. Cells are reference-counted: a value leaves a branch, reaches the next iteration of a
// loop or enters a sequence by its cell; its bytes are not copied. Memory comes in blocks of graded sizes. When its
// last cell is released, a block goes back to the frame, for another cell of this run or a later one. So a run whose
// shapes were seen before allocates nothing. Blocks that no run has used for a while are freed.
//
// Functions that can fail return a status, and give the reason to runtime->set_error.
#ifndef BYOC_CORE_RUNTIME_CELL_H_
#define BYOC_CORE_RUNTIME_CELL_H_

#include "byoc/artifact.h"
#include "byoc/call.h"
#include "byoc/dtype.h"
#include "core/runtime/portable.h"

// The largest rank that anything here handles; equal to the compiler's BYOC_MAX_RANK.
#define BYOC_CELL_MAX_RANK 16
// The index of an operand that is left out.
#define BYOC_CELL_NONE UINT32_MAX

typedef struct byoc_block_of_memory_t byoc_block_of_memory_t;

typedef struct byoc_cell_t {
  uint32_t kind; // BYOC_ARGUMENT_*
  uint32_t dtype, rank, references;
  int64_t dims[BYOC_CELL_MAX_RANK];
  void *data;
  byoc_block_of_memory_t *block; // holds the data, counted; NULL: a constant or the caller's data
  uint64_t count;                // sequences, optionals: items
  struct byoc_cell_t **items;    // counted; in `block`
  struct byoc_cell_t *next;      // among the free ones
  uint32_t is_foreign;           // data belongs to the caller and is gone when the run ends
} byoc_cell_t;

// Quarter steps between powers of two: at most a fifth of a block is never used.
#define BYOC_FRAME_SIZE_CLASSES 256

typedef struct byoc_frame_t {
  const byoc_runtime_t *runtime; // for errors
  byoc_cell_t **cells;           // by index; NULL: no value
  int64_t *symbols;              // by symbol: the value of the dimension
  int64_t *seen;                 // the symbols' values at the last inputs that fitted; -1: none yet
  byoc_cell_t **moving;          // scratch of byoc_frame_assign, as large as the table
  uint8_t *is_kept;              // by index: outlives the run
  uint32_t cell_count, symbol_count;
  uint64_t run; // number of the run, to see which blocks are idle
  byoc_cell_t *free_cells;
  byoc_block_of_memory_t *free_blocks[BYOC_FRAME_SIZE_CLASSES];
  byoc_block_of_memory_t *scratch; // for strings and items of results; the newest first
  uint64_t scratch_used;
  // Results of the last finished run stay valid until another run has finished, so that they can be its inputs.
  byoc_cell_t **given, **held; // of this run so far, and of the last finished one
  uint32_t given_count, held_count;
  byoc_block_of_memory_t *held_scratch;
  // byoc_frame_allocate asks this function for the memory of cell `index`; where it returns NULL, the frame's memory is
  // used. NULL: there is no such function.
  void *(*place)(void *self, uint32_t index, const struct byoc_argument_t *tensor, uint64_t size_bytes);
  void *place_self;
  uint64_t most_iterations; // the limit of iterations of a loop; 0: none
  // Blocks that are in use: now, and at most since the run began.
  uint64_t live_bytes, peak_bytes;
} byoc_frame_t;

// `runtime` outlives the frame. On failure there is nothing to deinit.
int32_t byoc_frame_init(byoc_frame_t *frame, const byoc_runtime_t *runtime, uint32_t cell_count, uint32_t symbol_count);
void byoc_frame_deinit(byoc_frame_t *frame); // accepts one that is all zero
// Begins a run. Cells of an unfinished run go back to the frame.
void byoc_frame_reset(byoc_frame_t *frame);
// Ends a run that did not fail. Results of the run before it go back to the frame.
void byoc_frame_finish(byoc_frame_t *frame);
// Memory for results of this run, aligned for any type; NULL if out of memory.
void *byoc_frame_scratch(byoc_frame_t *frame, uint64_t size_bytes);
// Records a reason and returns `status`.
int32_t byoc_frame_fail(byoc_frame_t *frame, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- cells by their index in the table; the previous value is released ----
// Makes a tensor with undefined contents. BYOC_INVALID_ARGUMENT for a negative dimension.
int32_t byoc_frame_allocate(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank, const int64_t *dims);
// The bytes of a tensor of this shape; BYOC_INVALID_ARGUMENT for a negative dimension or too many elements.
int32_t byoc_frame_size(byoc_frame_t *frame, uint32_t dtype, uint32_t rank, const int64_t *dims,
                        uint64_t *out_size_bytes);
// Makes a tensor that outlives the run, unless the cell has one of this shape; its contents are zero at first.
int32_t byoc_frame_allocate_cached(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank,
                                   const int64_t *dims);
void byoc_frame_zero(byoc_frame_t *frame, uint32_t index);
// Refers to a tensor whose data lives elsewhere, for as long as the frame does.
int32_t byoc_frame_constant(byoc_frame_t *frame, uint32_t index, const void *data, uint32_t dtype, uint32_t rank,
                            const int64_t *dims);
// Gives `index` the bytes of `from` in another shape with the same number of elements, as elements of `dtype`, which
// have the same size. `dims` NULL: the same shape and type.
int32_t byoc_frame_share(byoc_frame_t *frame, uint32_t index, uint32_t from, uint32_t dtype, uint32_t rank,
                         const int64_t *dims);
// All targets get their sources' values at once, so that a swap needs no third cell.
void byoc_frame_assign(byoc_frame_t *frame, const uint32_t *targets, const uint32_t *sources, uint32_t count);
void byoc_frame_release(byoc_frame_t *frame, uint32_t index);
// A scalar.
int32_t byoc_frame_set_i64(byoc_frame_t *frame, uint32_t index, int64_t value);
int32_t byoc_frame_set_bool(byoc_frame_t *frame, uint32_t index, uint32_t value);
// Begins an iteration of a loop: the cell becomes its number, from 0. BYOC_CANCELLED beyond the frame's limit.
int32_t byoc_frame_begin_turn(byoc_frame_t *frame, uint32_t index, int64_t turn);
// Element `at` of an integer or bool tensor; 0 if there is no such element.
int64_t byoc_cell_integer(const byoc_cell_t *cell, uint64_t at);
uint64_t byoc_cell_element_count(const byoc_cell_t *cell);
uint64_t byoc_cell_size_bytes(const byoc_cell_t *cell);

// ---- scan outputs: tensors stacked along a new first axis ----
// Begins with room for `expected` elements (negative: not known). The shape given is used if no element comes.
int32_t byoc_frame_scan_begin(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank, const int64_t *dims);
// Appends an element. Room for `expected` elements is made at once; after that it grows by doubling.
int32_t byoc_frame_scan_append(byoc_frame_t *frame, uint32_t index, uint32_t element, int64_t expected);

// ---- symbols ----
// The size that an operator reports if its operands have sizes of which it can make no result.
#define BYOC_SIZE_DOES_NOT_FIT (-INT64_MAX)
// Sets `symbols` from the elements of an i64 tensor; refuses negative values with the name `origin`.
int32_t byoc_frame_bind(byoc_frame_t *frame, const char *origin, const int64_t *elements, const uint32_t *symbols,
                        uint32_t count);
// Sets a symbol; refuses a negative value with the symbol's name.
int32_t byoc_frame_set_symbol(byoc_frame_t *frame, uint32_t symbol, int64_t value, const char *name);
// A view of `size_bytes` at `offset` must lie in a base of `base_bytes`; `name` is the view's.
int32_t byoc_frame_check_view(byoc_frame_t *frame, int64_t offset, uint64_t size_bytes, uint64_t base_bytes,
                              const char *name);
// The dimension `axis` of a value must be `expected`; `what` names the value, `name` the dimension.
int32_t byoc_frame_match(byoc_frame_t *frame, uint32_t index, uint32_t axis, int64_t expected, const char *what,
                         const char *name);
// The value must exist and be a tensor of this type and rank.
int32_t byoc_frame_expect(byoc_frame_t *frame, uint32_t index, uint32_t dtype, uint32_t rank, const char *what);

// Arithmetic of dimensions saturates at the largest and the smallest number. A size that saturated is refused when
// memory is allocated for it.
static inline int64_t byoc_dim_add(int64_t a, int64_t b) {
  int64_t sum;
  return byoc_add_overflows(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}
static inline int64_t byoc_dim_sub(int64_t a, int64_t b) {
  int64_t difference;
  return byoc_sub_overflows(a, b, &difference) ? (a < 0 ? INT64_MIN : INT64_MAX) : difference;
}
static inline int64_t byoc_dim_mul(int64_t a, int64_t b) {
  int64_t product;
  return byoc_mul_overflows(a, b, &product) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : product;
}
static inline int64_t byoc_dim_floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return byoc_dim_sub(0, a);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
static inline int64_t byoc_dim_ceildiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return byoc_dim_add(byoc_dim_floordiv(a, b), b != -1 && a % b != 0);
}
static inline int64_t byoc_dim_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? a : 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
// Do the first `count` symbols, those of the inputs, have their values of the last inputs that fitted?
static inline int byoc_frame_has_seen(const byoc_frame_t *frame, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (frame->symbols[i] != frame->seen[i]) return 0;
  }
  return 1;
}
static inline void byoc_frame_see(byoc_frame_t *frame, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) frame->seen[i] = frame->symbols[i];
}
static inline int64_t byoc_dim_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t byoc_dim_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
// The sizes are equal, or one of them is 1.
static inline int64_t byoc_dim_broadcast(int64_t a, int64_t b) {
  return a == 1 ? b : a;
}

// ---- for the operators on containers ----
// A new cell with one reference; NULL if out of memory.
byoc_cell_t *byoc_cell_create(byoc_frame_t *frame, uint32_t kind);
byoc_cell_t *byoc_cell_create_tensor(byoc_frame_t *frame, uint32_t dtype, uint32_t rank, const int64_t *dims);
// Room for `count` items, all NULL.
byoc_cell_t *byoc_cell_create_container(byoc_frame_t *frame, uint32_t kind, uint64_t count);
byoc_cell_t *byoc_cell_retain(byoc_cell_t *cell);
void byoc_cell_release(byoc_frame_t *frame, byoc_cell_t *cell); // accepts NULL
// Puts a cell into the table, which takes over the reference.
void byoc_frame_put(byoc_frame_t *frame, uint32_t index, byoc_cell_t *cell);
int32_t byoc_frame_out_of_memory(byoc_frame_t *frame);

// ---- inputs and outputs ----
// An input or output as the model declares it.
typedef struct byoc_port_info_t {
  const char *name;
  const char *kinds;   // outermost first, a tensor last: see byoc_artifact_t.input_kinds
  uint32_t dtype;      // of the tensors
  uint32_t rank;       // BYOC_ARGUMENT_ANY_RANK if it is not known
  const int64_t *dims; // -1 if symbolic
} byoc_port_info_t;

// Makes a cell that reads the caller's memory. BYOC_INVALID_ARGUMENT with both types if the argument does not fit the
// port.
int32_t byoc_frame_import(byoc_frame_t *frame, uint32_t index, const byoc_argument_t *argument,
                          const byoc_port_info_t *port);
// Makes only the same check, for a tensor.
int32_t byoc_frame_check_argument(byoc_frame_t *frame, const byoc_argument_t *argument, const byoc_port_info_t *port);
// Fills the argument, once in a run for each cell. Its data belongs to the frame and stays valid until the next run has
// finished. Bytes of the caller and strings of the last run are copied.
int32_t byoc_frame_export(byoc_frame_t *frame, uint32_t index, byoc_argument_t *out_argument);
// The same for an output in memory of the caller, where it may have been made. If the output is larger than that
// memory, the status is BYOC_INVALID_ARGUMENT, and it has no data.
int32_t byoc_frame_export_to(byoc_frame_t *frame, uint32_t index, const char *name, const byoc_buffer_t *buffer,
                             byoc_argument_t *out_argument);
// Says that a buffer is too small.
int32_t byoc_frame_refuse_buffer(byoc_frame_t *frame, const char *name, const byoc_argument_t *tensor,
                                 uint64_t size_bytes, const byoc_buffer_t *buffer);
// Copies those of the strings that the last run made.
int32_t byoc_frame_keep_texts(byoc_frame_t *frame, const char **texts, uint64_t count);

#endif // BYOC_CORE_RUNTIME_CELL_H_
