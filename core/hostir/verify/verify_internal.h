// SPDX-License-Identifier: Apache-2.0
// Parts of the verifier of host programs.
//
// verify_program.c walks the instructions in the order of the text, once each. Three files keep the state at each
// point: verify_state.c the buffers that are alive and the bytes that are written, verify_moving.c the bytes that
// moving views wrote, verify_shape.c the values that have the shape of their type. verify_call.c checks the counts,
// types and alignment of one instruction, verify_signature.c its callee. verify_overlap.c checks that results have
// bytes of their own.
#ifndef BYOC_CORE_HOSTIR_VERIFY_VERIFY_INTERNAL_H_
#define BYOC_CORE_HOSTIR_VERIFY_VERIFY_INTERNAL_H_

#include "core/hostir/program/program.h"
#include "core/hostir/program/ranges.h"
#include "core/hostir/verify/verify_bytes.h"

// The state of a buffer that owns its bytes. A cell counts as one byte.
typedef struct byoc_host_life_t {
  byoc_byte_set_t written;
  uint32_t lives;   // how often it came to life
  uint32_t known;   // a cell: the dimensions, and the kind, that are known to be as its type declares (verify_shape.c)
  uint32_t storage; // a cell: the number of its memory (verify_storage.c)
  uint32_t region;  // the last region that changed it
  bool alive;
} byoc_host_life_t;

// A buffer that a region changes, and its state before.
typedef struct byoc_host_change_t {
  uint32_t buffer;
  byoc_host_life_t life;
} byoc_host_change_t;
typedef BYOC_VECTOR(byoc_host_change_t) byoc_host_changes_t;

// A symbol and the expression that it equals, as the program has checked.
typedef struct byoc_host_equation_t {
  const char *symbol;
  byoc_dim_t value;
} byoc_host_equation_t;

// The memory of a value that the program allocates; where it was last passed on, and written.
typedef struct byoc_host_storage_t {
  bool is_passed;
  size_t passed_at, written_at;
} byoc_host_storage_t;

// The bytes of one result.
typedef struct byoc_host_span_t {
  uint64_t root;   // index of the buffer that owns the bytes; values that share memory have one
  uint32_t result; // index of the result
  byoc_byte_range_t bytes;
} byoc_host_span_t;

// Written bytes whose offset depends on symbols: from `place` + begin to `place` + end.
typedef struct byoc_host_slice_t {
  uint32_t root, life;      // index of the buffer that owns the bytes; which of its lives
  byoc_host_linear_t place; // with the constant 0
  int64_t begin, end;
} byoc_host_slice_t;
typedef BYOC_VECTOR(byoc_host_slice_t) byoc_host_slices_t;

typedef struct byoc_host_verifier_t {
  const byoc_host_program_t *program;
  const byoc_host_instruction_t *at; // NULL: before the first one, or behind the last one
  size_t number;                     // of that instruction, in the order of the text, from 1 on
  byoc_arena_t arena;                // for all vectors and sets
  byoc_host_life_t *lives;           // by buffer index
  byoc_host_changes_t changes;       // of the regions that the walk is in
  uint32_t region, region_count;     // the number of the innermost one; 0 is the program's body
  // The planned buffers that are alive and not empty, by offset; they do not overlap.
  const byoc_host_buffer_t **planned;
  size_t planned_count;
  uint32_t *passed;            // by parameter, then by value that the region yields: byoc_host_life_t.known of each
  bool *is_taken;              // by buffer index: the walk is in the regions of an instruction that makes it
  uint32_t *slots;             // by buffer index: 0, except inside of a function that uses them
  bool *is_bound;              // by symbol
  BYOC_VECTOR(uint32_t) bound; // symbols in the order in which they were bound
  BYOC_VECTOR(byoc_host_equation_t) equations;
  BYOC_VECTOR(byoc_host_storage_t) storages;
  // Hold whether devices have started (BYOC_CHECK_DEVICES), and engines; NULL: the program does not ask.
  const byoc_host_buffer_t *has_devices, *has_engines;
  bool has_input_checks; // a `require of inputs` was met
  BYOC_VECTOR(byoc_host_span_t) spans;
  byoc_host_ranges_t ranges;
  byoc_host_slices_t slices; // of the regions that the walk is in
  int64_t apart_count;       // slices that were noted iteration by iteration so far
  byoc_diag_t *diag;
} byoc_host_verifier_t;

// BYOC_INTERNAL, with the program and the instruction in front of the reason.
byoc_status_t byoc_host_verify_refuse(byoc_host_verifier_t *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The bytes of a buffer in the buffer that owns them; for a view that moves, all that it may reach.
byoc_byte_range_t byoc_host_verify_bytes(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer);

// Strings are pointers: other bytes must not be read as strings.
static inline bool byoc_host_verify_holds_strings(const byoc_host_buffer_t *buffer) {
  return byoc_type_is_tensor(buffer->type) && buffer->type->dtype == BYOC_DTYPE_STRING;
}

// ---- one instruction on its own (verify_call.c) ----
byoc_status_t byoc_host_verify_alone(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);

// ---- on devices (verify_device.c) ----
// Returns the fault of a buffer's device or offset; NULL: none.
const char *byoc_host_verify_place(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer);
byoc_status_t byoc_host_verify_devices(byoc_host_verifier_t *v);
byoc_status_t byoc_host_verify_on_device(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
// ---- collectives (verify_collective.c) ----
byoc_status_t byoc_host_verify_collective(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
// Takes the instructions of a region in order: the collective that has begun, *begun, ends before the next one begins,
// and nothing uses its buffers until then. NULL: none is under way.
byoc_status_t byoc_host_verify_steps(byoc_host_verifier_t *v, const byoc_host_instruction_t *i,
                                     const byoc_host_instruction_t **begun);

// ---- races (verify_races.c) ----
// Accesses of the same bytes, one of them a write, are ordered by the host, a queue or events (happens_before.h).
byoc_status_t byoc_host_verify_races(byoc_host_verifier_t *v);

// ---- calls against their callees (verify_signature.c) ----
byoc_status_t byoc_host_verify_kernel(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
// A backend's function, if its signature is known.
byoc_status_t byoc_host_verify_function(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
// A function that is linked into every artifact, if it is one.
byoc_status_t byoc_host_verify_artifact_function(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);

// ---- shapes (verify_shape.c) ----
// Notes that both are equal from here on.
byoc_status_t byoc_host_verify_learn(byoc_host_verifier_t *v, byoc_dim_t left, byoc_dim_t right);
// Are they equal in every run that gets here? False also if that is not known, or if out of memory.
bool byoc_host_verify_same_dim(byoc_host_verifier_t *v, byoc_dim_t a, byoc_dim_t b);
bool byoc_host_verify_same_count(byoc_host_verifier_t *v, const byoc_dim_t *a, int32_t a_rank, const byoc_dim_t *b,
                                 int32_t b_rank);
// The number of elements; -1 if out of memory.
byoc_dim_t byoc_host_verify_count(byoc_host_verifier_t *v, const byoc_dim_t *dims, int32_t rank);
// byoc_host_life_t.known of a value when a run begins, after a match, and after a share.
uint32_t byoc_host_verify_imported(const byoc_host_buffer_t *buffer);
uint32_t byoc_host_verify_matched(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
uint32_t byoc_host_verify_shared(const byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
// Are the bytes of tensors of the one type elements of the other, as many of them?
static inline bool byoc_host_same_bits(const byoc_type_t *a, const byoc_type_t *b) {
  const bool has_texts = a->dtype == BYOC_DTYPE_STRING || b->dtype == BYOC_DTYPE_STRING;
  return a->dtype == b->dtype || (!has_texts && byoc_dtype_bits(a->dtype) == byoc_dtype_bits(b->dtype));
}
// `known` of a value when it passes from the type of `from` to that of `to`.
uint32_t byoc_host_verify_passed(const byoc_host_verifier_t *v, const byoc_host_buffer_t *from,
                                 const byoc_host_buffer_t *to);
// Refuses the use of a value unless its element type and rank (or its shape too) are known to be those of its type.
byoc_status_t byoc_host_verify_known(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, bool only_kind);
// A symbol gets a new value: dimensions that equalled its last one are not known any more.
byoc_status_t byoc_host_verify_forget(byoc_host_verifier_t *v, uint32_t symbol);

// ---- values that share memory (verify_storage.c) ----
// A value gets memory of its own.
byoc_status_t byoc_host_verify_own(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer);
// The instruction passes its operands on; others may use them after it has ended.
void byoc_host_verify_pass_on(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);
byoc_status_t byoc_host_verify_write_value(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer);
// After a loop, the instruction with that number. Values that its body allocated have the numbers from `first_new` on.
byoc_status_t byoc_host_verify_repeat_values(byoc_host_verifier_t *v, size_t first_new, size_t number);

// ---- overlaps (verify_overlap.c) ----
// Results and workspace share no bytes with each other or with operands, but for a result that is written in place.
byoc_status_t byoc_host_verify_overlaps(byoc_host_verifier_t *v, const byoc_host_instruction_t *i);

// ---- lifetimes and written bytes (verify_state.c) ----
byoc_status_t byoc_host_verify_start(byoc_host_verifier_t *v);
byoc_status_t byoc_host_verify_read(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer);
byoc_status_t byoc_host_verify_write(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer);
byoc_status_t byoc_host_verify_scratch(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer);
// A result cell that the instruction makes begins its life with it.
byoc_status_t byoc_host_verify_make(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, uint32_t known);
byoc_status_t byoc_host_verify_set_known(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, uint32_t known);
byoc_status_t byoc_host_verify_begin_or_end(byoc_host_verifier_t *v, byoc_host_buffer_t *buffer, bool begins);

// Bytes of a buffer that owns them are written.
byoc_status_t byoc_host_verify_note(byoc_host_verifier_t *v, const byoc_host_buffer_t *root, byoc_byte_range_t bytes);

// The changes of a region.
typedef struct byoc_host_scope_t {
  size_t first_change, first_slice, bound_count, equation_count;
  uint32_t outside;
  byoc_host_changes_t ends;  // the states at its end
  byoc_host_slices_t slices; // and the slices that are written by then
} byoc_host_scope_t;
byoc_status_t byoc_host_verify_enter(byoc_host_verifier_t *v, const byoc_host_region_t *region,
                                     byoc_host_scope_t *out_scope);
// Restores the state at the region's begin; `scope` keeps the changes.
byoc_status_t byoc_host_verify_leave(byoc_host_verifier_t *v, byoc_host_scope_t *scope);
// After a branch: keeps the state that holds in both cases.
byoc_status_t byoc_host_verify_join(byoc_host_verifier_t *v, const byoc_host_scope_t cases[2]);
// After a loop: its body may have run any number of times, unless that number is known.
byoc_status_t byoc_host_verify_repeat(byoc_host_verifier_t *v, const byoc_host_instruction_t *loop,
                                      const byoc_host_scope_t *body);

// ---- views that move (verify_moving.c) ----
// Are the bytes of the view written, at any offset that it may have?
bool byoc_host_verify_is_slice_written(const byoc_host_verifier_t *v, const byoc_host_buffer_t *view);
byoc_status_t byoc_host_verify_write_slice(byoc_host_verifier_t *v, const byoc_host_buffer_t *view);
byoc_status_t byoc_host_verify_leave_slices(byoc_host_verifier_t *v, byoc_host_scope_t *scope);
byoc_status_t byoc_host_verify_join_slices(byoc_host_verifier_t *v, const byoc_host_scope_t cases[2]);
// After a loop of a known number of iterations.
byoc_status_t byoc_host_verify_repeat_slices(byoc_host_verifier_t *v, const byoc_host_count_t *count,
                                             int64_t iterations, const byoc_host_scope_t *body);

#endif // BYOC_CORE_HOSTIR_VERIFY_VERIFY_INTERNAL_H_
