// SPDX-License-Identifier: Apache-2.0
// Host programs: the instructions of the host, in order. They are made from a lowered graph module
// (core/hostir/lower/lower_program.h) or read from their text form (core/hostir/text/program_text.h), changed by host
// passes, turned into C by core/compose, and run by the evaluator.
//
//   host program "mlp" workspace 128 bound 128 {
//     input    %x : f32[1,4]
//     output   %y : f32[1,2]
//     constant %w : f32[4,2] = @w
//     local    %t0 : f32[1,2] at 0          // offset in the workspace, once planned
//     local    %s0 : u8[64] at 64
//     view     %t1 : f32[2] = %t0 + 0
//     allocate %t0
//     kernel   byoc_k0_matmul_relu(%x, %w) -> (%t0)
//     packed   cutlass_0(%t0) -> (%y) workspace %s0
//     free     %t0
//   }
//
// Control flow works on static buffers in place. A loop that counts gives its index to a symbol; scalars and views may
// depend on it, so that each iteration works on a slice of its own:
//
//   symbol I
//   view     %row : f32[16] = %t + I * 64
//   loop     I from 0 to 8 step 2
//   body {
//     let      K = I * 4 + 1                      // evaluated where it stands
//     kernel   byoc_k0_scale(%row) [K] -> (%row)
//   }
//
// A program is dynamic if shapes, or how often something runs, are known only at run time. Then inputs, outputs, and
// every buffer of unknown shape or used outside its block, are values: cells of the context's frame
// (core/runtime/cell.h). Symbols are numbers in the frame, and instructions nest:
//
//   host program "decode" dynamic workspace 0 bound 0 live N * 32 + 9 {
//     symbol   N of inputs
//     input    %x : value f32[N,4]
//     local    %y : value f32[N,4]
//     match    %x binds N at 0
//     require  (N is_multiple_of 2)               // a relation that an operator relies on, checked once for each shape
//     loop     (%trips, none, %x) -> (%last)      // carried: %x, then the result of each iteration
//     body     (%i, %go, %state) {
//       kernel   byoc_k0_add(%state) [N] -> (%next)
//       yield    (%go, %next)
//     }
//   }
//
// Parts of a program may run on devices: core/hostir/program/device.h.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_PROGRAM_H_
#define BYOC_CORE_HOSTIR_PROGRAM_PROGRAM_H_

#include "byoc/plugin.h"
#include "core/base/diag.h"
#include "core/base/string.h"
#include "core/hostir/program/device.h"
#include "core/ir/arithmetic.h"
#include "core/ir/dim_names.h"
#include "core/ir/loop.h"
#include "core/module/runtime_module.h"
#include "core/runtime/collective.h"
#include "core/runtime/relation.h"

typedef enum byoc_host_buffer_kind_t {
  BYOC_HOST_BUFFER_INPUT,    // the caller's, read only
  BYOC_HOST_BUFFER_OUTPUT,   // the caller's, preallocated
  BYOC_HOST_BUFFER_CONSTANT, // inside the artifact, read only, aligned to BYOC_BUFFER_ALIGNMENT
  BYOC_HOST_BUFFER_LOCAL,    // in the context's workspace
  BYOC_HOST_BUFFER_VIEW,     // part of another buffer
} byoc_host_buffer_kind_t;

#define BYOC_HOST_OFFSET_NONE UINT64_MAX

typedef struct byoc_host_buffer_t byoc_host_buffer_t;
typedef struct byoc_host_instruction_t byoc_host_instruction_t;

typedef enum byoc_host_use_kind_t {
  BYOC_HOST_USE_OPERAND,
  BYOC_HOST_USE_RESULT,
  BYOC_HOST_USE_WORKSPACE,
} byoc_host_use_kind_t;

// A position where an instruction names a buffer. Uses of a view are not uses of its base.
typedef struct byoc_host_use_t {
  byoc_host_instruction_t *instruction;
  byoc_host_use_kind_t kind;
  uint32_t index; // among the operands or results
} byoc_host_use_t;

struct byoc_host_buffer_t {
  uint32_t index;     // in program->buffers
  const char *name;   // unique in its program
  const char *called; // INPUT, OUTPUT: its name outside, where that is another one (byoc_host_port_name); NULL: `name`
  byoc_host_buffer_kind_t kind;
  const byoc_type_t *type;               // a static tensor unless is_value
  uint64_t size_bytes;                   // 0 if it is not known
  bool is_value;                         // a cell at run time; a CONSTANT can also be one
  bool is_parameter;                     // of a region: the instruction that runs the region fills and frees it
  const char *scope;                     // memory scope; "global"
  byoc_constant_t *constant;             // CONSTANT of the graph module; NULL if `data` comes from a backend
  const byoc_runtime_module_t *bound_by; // CONSTANT of a backend: the module that has it
  uint32_t bound_index;                  // and its index there
  const void *data;                      // CONSTANT: its bytes
  byoc_host_buffer_t *base;              // VIEW: never itself a view
  byoc_host_buffer_t *over;              // OUTPUT: the input whose bytes it may be given (in_place.h); NULL: none
  uint64_t
      offset_bytes; // VIEW: in base, unless it moves. LOCAL: in the workspace; BYOC_HOST_OFFSET_NONE before planning
  BYOC_VECTOR(byoc_host_use_t) uses; // kept by core/hostir/program/edit.h
  byoc_dim_t offset;                 // VIEW that moves: its place in base, over symbols; a constant otherwise
  const byoc_host_device_t *device;  // whose memory it is in (a VIEW: as its base); NULL: the host's
};

// The name of an input or output outside: an output may have the name of an input.
static inline const char *byoc_host_port_name(const byoc_host_buffer_t *port) {
  return port->called != NULL ? port->called : port->name;
}

// X(NAME, "text")
#define BYOC_HOST_OP_LIST(X)                                                                                           \
  X(ALLOCATE, "allocate")   /* a local buffer comes to life; `allocation` says what it holds */                        \
  X(FREE, "free")           /* and ends */                                                                             \
  X(KERNEL, "kernel")       /* a loop kernel of the native target */                                                   \
  X(PACKED, "packed")       /* a backend's function by the packed convention */                                        \
  X(ENGINE, "engine")       /* a JSON function by its engine */                                                        \
  X(C_CALL, "c_call")       /* any C function, arguments as data */                                                    \
  X(COPY, "copy")           /* operands[0] to results[0], same size */                                                 \
  X(SHARE, "share")         /* results[0] is the value operands[0] under its own type */                               \
  X(MATCH, "match")         /* the value operands[0] binds symbols and is checked against its type */                  \
  X(BIND, "bind")           /* elements of operands[0] become the values of symbols */                                 \
  X(REQUIRE, "require")     /* relations between dimensions must hold */                                               \
  X(CONTAINER, "container") /* an operator on sequences or optionals (core/runtime/container.h) */                     \
  X(BRANCH, "branch")       /* regions[0] where operands[0], else regions[1]; static buffers are written in place */   \
  X(LOOP, "loop")           /* regions[0] again and again, as `count` or, without it, the first two operands say */    \
  X(YIELD, "yield") /* ends a region that gives values: BRANCH's results; LOOP's condition, carried, scanned */        \
  X(LET, "let")     /* symbols[0] becomes dims[0]; as all symbols, it is never negative */                             \
  X(STORE, "store") /* results[0], of type i64, gets the values of dims */                                             \
  /* on devices (core/hostir/program/device.h); COPY, too, if it has a queue */                                        \
  X(LAUNCH, "launch")   /* a kernel of a device module */                                                              \
  X(FILL, "fill")       /* each element of results[0] gets the bits `pattern` */                                       \
  X(BARRIER, "barrier") /* what comes later in the queue runs behind `waits`; `signal` stands for what came before */  \
  X(AWAIT, "await")     /* the host waits for `waits` */                                                               \
  X(COLLECTIVE, "collective") /* ranks exchange data (core/runtime/collective.h) */

#define BYOC_HOST_OP_ENUM(NAME, text) BYOC_HOST_##NAME,
typedef enum byoc_host_op_t { BYOC_HOST_OP_LIST(BYOC_HOST_OP_ENUM) BYOC_HOST_OP_COUNT } byoc_host_op_t;
#undef BYOC_HOST_OP_ENUM

// X(NAME, "text"): the memory that an ALLOCATE gives. All of one buffer are CACHED, or none is.
#define BYOC_HOST_ALLOCATION_LIST(X)                                                                                   \
  X(FRESH, "fresh")   /* contents undefined */                                                                         \
  X(ZEROED, "zeroed") /* zeros, each time that it is asked for */                                                      \
  X(CACHED, "cached") /* the same bytes in every iteration and every run of a context; zeros at first, and where the   \
                         shape is not that of the last time */

#define BYOC_HOST_ALLOCATION_ENUM(NAME, text) BYOC_HOST_##NAME,
typedef enum byoc_host_allocation_t {
  BYOC_HOST_ALLOCATION_LIST(BYOC_HOST_ALLOCATION_ENUM) BYOC_HOST_ALLOCATION_COUNT
} byoc_host_allocation_t;
#undef BYOC_HOST_ALLOCATION_ENUM

// Instructions in order: a program's, or those nested in an instruction. A LOOP's parameters: iteration, condition,
// carried ..., or only the carried ones if it counts.
typedef struct byoc_host_region_t {
  byoc_host_instruction_t *first, *last;
  byoc_host_instruction_t *owner; // NULL: the program's own
  BYOC_VECTOR(byoc_host_buffer_t *) parameters;
} byoc_host_region_t;

#define BYOC_HOST_SYMBOL_NONE UINT32_MAX

// One dimension of a MATCH: it binds a symbol, or is compared with an expression over bound ones.
typedef struct byoc_host_match_t {
  uint32_t axis;
  uint32_t symbol; // bound to the dimension; NONE: compared
  byoc_dim_t dim;
} byoc_host_match_t;

// A LOOP that counts: `symbol` is start, start + step, ... as long as it is below stop (above it for a negative step).
typedef struct byoc_host_count_t {
  uint32_t symbol;
  byoc_dim_t start, stop, step; // evaluated once, in front of the loop
} byoc_host_count_t;

// A relation between dimensions, and the operator that needs it.
typedef struct byoc_host_relation_t {
  byoc_relation_kind_t kind;
  byoc_dim_t left, right;
  byoc_relation_names_t names;
} byoc_host_relation_t;

// Made and changed by core/hostir/program/edit.h.
struct byoc_host_instruction_t {
  byoc_host_op_t op;
  byoc_host_region_t *region; // the region it is in
  byoc_host_instruction_t *previous, *next;
  const char *symbol; // function called; KERNEL: the kernel's name; BIND: the node that needs sizes
  const char *origin; // graph node or nodes that it came from, for readers and profiles
  BYOC_VECTOR(byoc_host_buffer_t *) operands; // inputs, then bound constants; ALLOCATE, FREE: the buffer
  BYOC_VECTOR(byoc_host_buffer_t *) results;
  byoc_host_buffer_t *workspace;    // scratch of a call; NULL: none
  const byoc_loop_kernel_t *kernel; // KERNEL
  // KERNEL: 1 + the operand whose bytes the first result may take (alias-results decides whether it does); 0: none.
  uint32_t takes_operand;
  const byoc_runtime_module_t *json;   // ENGINE: the JSON module
  const byoc_runtime_module_t *engine; // ENGINE
  uint32_t engine_function;            // ENGINE: index among the functions of its engine
  const byoc_c_call_t *c_call;         // C_CALL
  const byoc_function_t *function;     // KERNEL, PACKED, ENGINE: the graph module's; its signature. NULL: not known
  double flops;                        // calls: operations of one call; negative: not known
  byoc_arithmetic_t arithmetic;        // calls: the type of most of their products
  // Over the program's symbols. KERNEL: the values of kernel->symbols. LOOP: the dimensions of each scanned element in
  // order, for a loop without iterations. LET: one value. STORE: one for each element.
  byoc_dim_t *dims;
  byoc_host_match_t *matches; // MATCH
  uint32_t match_count;
  uint32_t *symbols; // BIND: one per element; LET: one
  uint32_t symbol_count;
  BYOC_VECTOR(byoc_host_relation_t) relations; // REQUIRE
  bool of_inputs;     // REQUIRE: only of the inputs' symbols, which come first: checked once for each shape
  int64_t axis, flag; // CONTAINER, as byoc_container_call_t
  byoc_host_allocation_t allocation; // ALLOCATE
  byoc_host_region_t *regions;       // BRANCH: 2, LOOP: 1
  uint32_t region_count;
  const byoc_host_count_t *count; // LOOP: NULL: operands are trip count or NULL, condition or NULL, carried ...
  // On devices:
  byoc_host_queue_use_t on; // the queue that it is handed to; NULL: the host does it
  BYOC_VECTOR(byoc_host_event_use_t) waits;
  byoc_host_event_use_t signal;             // stands for it from now on
  const byoc_host_launch_t *launch;         // LAUNCH
  uint64_t pattern;                         // FILL: the bits of one element
  const byoc_collective_call_t *collective; // COLLECTIVE: operands and results are one each, SEND and RECEIVE lack one
};

const char *byoc_host_op_name(byoc_host_op_t op);
// The number of a loop's `dims`, which follows from its results.
size_t byoc_host_loop_dim_count(const byoc_host_instruction_t *loop);
// The number of a store's `dims`: the elements of its result; 0 if an edit gave it one of unknown size.
size_t byoc_host_store_count(const byoc_host_instruction_t *store);

// An engine with its functions, in the order of engine_function.
typedef struct byoc_host_engine_t {
  const byoc_runtime_module_t *engine;
  BYOC_VECTOR(const byoc_runtime_module_t *) functions;
} byoc_host_engine_t;

typedef struct byoc_host_program_t {
  byoc_arena_t arena;                // owns everything that the graph module does not own
  const byoc_graph_module_t *module; // outlives the program
  const char *name;
  BYOC_VECTOR(byoc_host_buffer_t *) buffers;
  BYOC_VECTOR(byoc_host_buffer_t *) inputs, outputs; // in the model's order
  BYOC_VECTOR(const byoc_loop_kernel_t *) kernels;   // each once, in order of first use
  BYOC_VECTOR(byoc_host_engine_t) engines;
  BYOC_VECTOR(const byoc_runtime_module_t *) libraries; // C sources and static libraries, in order of production
  byoc_host_region_t body;
  size_t instruction_count;          // nested ones too
  bool is_dynamic;                   // its inputs and outputs are values
  BYOC_VECTOR(const char *) symbols; // by index, in order of first use
  uint32_t input_symbol_count;       // this many symbols, the first ones, get their values from inputs
  byoc_map_t symbol_indices;         // text map: symbol → index + 1
  byoc_map_t buffer_names;           // text map: name → byoc_host_buffer_t *
  byoc_map_t kernel_names;           // text map: name → byoc_loop_kernel_t *
  const char *cpu_features;          // features that the backends' code needs, separated by spaces; may be empty
  uint64_t workspace_size_bytes;     // once planned
  uint64_t workspace_bound_bytes;    // the liveness lower bound: the largest sum of live sizes at one instruction
  // Dynamic, once planned: the same for workspace and cells together, over the symbols. A run that reaches every
  // instruction, and runs two iterations of each loop, has at least this much memory in use at some time.
  byoc_dim_t live_bound_bytes;
  BYOC_VECTOR(byoc_host_device_t *) devices;
  BYOC_VECTOR(byoc_host_memory_t *) memories;
  BYOC_VECTOR(byoc_host_queue_t *) queues;
  BYOC_VECTOR(byoc_host_event_t *) events;
  byoc_map_t event_names; // text map: name → byoc_host_event_t *
  uint32_t rank_count;    // that it is for; 0: any number
  int32_t rank;           // which one of them it is
  uint64_t rank_build;    // a hash of the model and of how it is sharded, the same for all of them; 0: unknown
} byoc_host_program_t;

byoc_status_t byoc_host_program_create(const byoc_graph_module_t *module, const char *name, byoc_allocator_t allocator,
                                       byoc_diag_t *diag, byoc_host_program_t **out_program);
void byoc_host_program_destroy(byoc_host_program_t *program); // accepts NULL

// NULL if out of memory. The name is made unique.
byoc_host_buffer_t *byoc_host_buffer_create(byoc_host_program_t *program, byoc_host_buffer_kind_t kind,
                                            const char *name, const byoc_type_t *type);
// Makes an INPUT or OUTPUT and puts it behind the others. It is called by this name, unless another port of its kind
// is.
byoc_host_buffer_t *byoc_host_port_create(byoc_host_program_t *program, byoc_host_buffer_kind_t kind, const char *name,
                                          const byoc_type_t *type);
byoc_host_buffer_t *byoc_host_find_buffer(const byoc_host_program_t *program, const char *name);
// A view of `base` (or of base's base) at an offset. The second one moves: its offset depends on symbols.
byoc_host_buffer_t *byoc_host_view_create(byoc_host_program_t *program, byoc_host_buffer_t *base, const char *name,
                                          const byoc_type_t *type, uint64_t offset_bytes);
byoc_host_buffer_t *byoc_host_moving_view_create(byoc_host_program_t *program, byoc_host_buffer_t *base,
                                                 const char *name, const byoc_type_t *type, byoc_dim_t offset);

// ---- devices (program_device.c) ----
// Each is NULL if out of memory. Names are copied and made unique; `count` is that of byoc_host_queue_t.
byoc_host_device_t *byoc_host_device_create(byoc_host_program_t *program, const char *name, const char *driver,
                                            int32_t ordinal, int32_t type);
byoc_host_queue_t *byoc_host_queue_create(byoc_host_program_t *program, const char *name,
                                          const byoc_host_device_t *device, byoc_host_queue_kind_t kind,
                                          uint32_t count);
byoc_host_event_t *byoc_host_event_create(byoc_host_program_t *program, const char *name,
                                          const byoc_host_device_t *device, uint32_t count);
// Takes out of the program the events whose index is not marked; no instruction names them.
void byoc_host_keep_events(byoc_host_program_t *program, const bool *is_kept);
// The bytes of one element of a FILL's result.
uint32_t byoc_host_fill_size(const byoc_host_buffer_t *buffer);
// The memory of a scope, which is made if it is new.
byoc_host_memory_t *byoc_host_memory_get(byoc_host_program_t *program, const byoc_host_device_t *device,
                                         const char *scope);
// NULL: there is none.
byoc_host_memory_t *byoc_host_find_memory(const byoc_host_program_t *program, const byoc_host_device_t *device,
                                          const char *scope);
byoc_host_device_t *byoc_host_find_device(const byoc_host_program_t *program, const char *name);
byoc_host_queue_t *byoc_host_find_queue(const byoc_host_program_t *program, const char *name);
byoc_host_event_t *byoc_host_find_event(const byoc_host_program_t *program, const char *name);
// Is it the processor, whose memory is the host's?
bool byoc_host_device_is_host(const byoc_host_device_t *device);
// Puts a buffer that is no view into the memory of a device; views of it go along.
void byoc_host_buffer_set_device(byoc_host_program_t *program, byoc_host_buffer_t *buffer,
                                 const byoc_host_device_t *device);

// A view is where its base is.
static inline void byoc_host_view_follow(byoc_host_buffer_t *view) {
  view->device = view->base->device;
  if (view->device != NULL) view->scope = view->base->scope;
}
// Where a view is in its base.
void byoc_host_view_set_offset(byoc_host_buffer_t *view, byoc_dim_t offset);
// Makes a view whose base is a view one of that one's base. False if out of memory.
bool byoc_host_view_flatten(byoc_host_program_t *program, byoc_host_buffer_t *view);
// The next instruction in the order of the text: nested ones come right after their owner. NULL at the end.
byoc_host_instruction_t *byoc_host_instruction_following(const byoc_host_instruction_t *instruction);
#define BYOC_HOST_FOR_EACH(instruction, program)                                                                       \
  for (byoc_host_instruction_t *instruction = (program)->body.first; instruction != NULL;                              \
       instruction = byoc_host_instruction_following(instruction))
// Does it call this function of core/runtime/check.h, such as BYOC_CHECK_DEVICES?
bool byoc_host_asks(const byoc_host_program_t *program, const char *symbol);
// Lists a kernel of the program; one that is listed already is fine. BYOC_ALREADY_EXISTS if another kernel has its
// name.
byoc_status_t byoc_host_program_add_kernel(byoc_host_program_t *program, const byoc_loop_kernel_t *kernel,
                                           byoc_diag_t *diag);
const byoc_loop_kernel_t *byoc_host_find_kernel(const byoc_host_program_t *program, const char *name);
// Makes an ENGINE instruction call the function of `json` by `engine`.
byoc_status_t byoc_host_instruction_set_engine(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                                               const byoc_runtime_module_t *engine, const byoc_runtime_module_t *json,
                                               byoc_diag_t *diag);
// Lists the C sources and static libraries of the program's graph module.
byoc_status_t byoc_host_program_collect_libraries(byoc_host_program_t *program, byoc_diag_t *diag);
// The index of a symbol, which is added if it is new; BYOC_HOST_SYMBOL_NONE if out of memory.
uint32_t byoc_host_symbol(byoc_host_program_t *program, const char *name);
// The model's names for dimensions of the program's outputs. False if out of memory.
bool byoc_host_dim_names(const byoc_host_program_t *program, byoc_arena_t *arena, byoc_dim_names_t *out_names);
// The buffer that owns the bytes: itself, or a view's base.
static inline byoc_host_buffer_t *byoc_host_buffer_root(byoc_host_buffer_t *buffer) {
  return buffer->kind == BYOC_HOST_BUFFER_VIEW ? buffer->base : buffer;
}

static inline bool byoc_host_buffer_moves(const byoc_host_buffer_t *buffer) {
  return !byoc_dim_is_constant(buffer->offset);
}

// Where its bytes begin in that buffer; not for a view that moves.
static inline uint64_t byoc_host_buffer_offset(const byoc_host_buffer_t *buffer) {
  return buffer->kind == BYOC_HOST_BUFFER_VIEW ? buffer->offset_bytes : 0;
}

// The first ALLOCATE of the buffer that is not FRESH. Passes leave the lifetimes of such a buffer where they are.
const byoc_host_instruction_t *byoc_host_own_allocation(const byoc_host_buffer_t *buffer);
static inline bool byoc_host_is_cached(const byoc_host_buffer_t *buffer) {
  const byoc_host_instruction_t *allocate = byoc_host_own_allocation(buffer);
  return allocate != NULL && allocate->allocation == BYOC_HOST_CACHED;
}

// The same for any buffer.
static inline byoc_dim_t byoc_host_buffer_place(const byoc_host_buffer_t *buffer) {
  return byoc_host_buffer_moves(buffer) ? buffer->offset : byoc_dim_constant((int64_t)byoc_host_buffer_offset(buffer));
}

// Do the bytes lie in a cell, rather than at an address that is known at compile time?
static inline bool byoc_host_buffer_in_cell(const byoc_host_buffer_t *buffer) {
  return buffer->is_value && buffer->kind != BYOC_HOST_BUFFER_CONSTANT;
}

// BYOC_INTERNAL, with the instruction and the reason, unless the program can run. Each byte is written before it is
// read, whichever cases and however many iterations of loops ran before, and outputs are written whole. Buffers are
// used between allocate and free, one of each for each life; planned ones that are alive at the same time do not
// overlap. Nothing writes inputs, constants and parameters. Results share no bytes with each other, nor with operands
// that they are not meant to overwrite, and a value is written only if no other one can have its memory. Counts,
// element types, sizes and alignment fit the callee, or the results of the region; sizes that depend on symbols must be
// equal for all values that the program's own checks (REQUIRE) let pass. A symbol has one value from where it is bound,
// before it is used. The type of a value holds where an instruction made it so, or behind a MATCH. All bytes that a
// moving view can reach count (core/hostir/program/ranges.h); if it may leave its base, the program checks that when it
// runs. Commands are handed to queues that can run them, and two instructions that touch the same bytes, one of them to
// write, are ordered (core/hostir/verify/happens_before.h).
byoc_status_t byoc_host_program_verify(const byoc_host_program_t *program, byoc_diag_t *diag);
// The same without the order of commands, which the pass order-queues makes.
byoc_status_t byoc_host_program_verify_unordered(const byoc_host_program_t *program, byoc_diag_t *diag);
// BYOC_INVALID_ARGUMENT, naming the buffer, unless each buffer that is used has its place in the workspace, as
// composing and evaluating need.
byoc_status_t byoc_host_check_places(const byoc_host_program_t *program, byoc_diag_t *diag);
// The name of an instruction in errors and profiles.
const char *byoc_host_instruction_name(const byoc_host_instruction_t *instruction);

#endif // BYOC_CORE_HOSTIR_PROGRAM_PROGRAM_H_
