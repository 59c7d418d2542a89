// SPDX-License-Identifier: Apache-2.0
// From a host program to the C of an artifact. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_C_HOST_C_H_
#define BYOC_CORE_COMPOSE_C_HOST_C_H_

#include "core/base/json.h"
#include "core/compose/c/data_layout.h"
#include "core/compose/options.h"
#include "core/hostir/program/device_tables.h"
#include "core/hostir/program/ranges.h"

// A row of the generated table of tensors, with the place of its data.
typedef struct byoc_host_c_tensor_t {
  const byoc_type_t *type;
  uint32_t shape; // index into the pool of dimensions
  byoc_host_buffer_kind_t kind;
  uint32_t index;        // INPUT, OUTPUT: position among the model's inputs or outputs
  uint64_t offset_bytes; // in the caller's tensor, the workspace, the constants or the weight
  size_t weight;         // of a constant that lies in the weights file: its position, plus 1
  byoc_dim_t moving;     // and more, over symbols; 0: it stays there
  const char *name;      // of the buffer, for readers
  bool in_cell;          // `cell` holds data and shape
  bool is_strings;       // a CONSTANT in the table of strings of buffer `cell`
  uint32_t cell;
} byoc_host_c_tensor_t;

typedef struct byoc_host_c_call_t {
  uint32_t first_tensor, input_count, output_count;
  bool is_kernel;
  uint64_t workspace_offset, workspace_size_bytes;
} byoc_host_c_call_t;

// The content of the generated file, before it is printed.
typedef struct byoc_host_c_t {
  const byoc_host_program_t *program;
  const byoc_compose_options_t *options;
  const byoc_data_layout_t *layout;
  byoc_diag_t *diag;
  byoc_status_t status; // the first failure while tables are printed
  byoc_arena_t arena;
  byoc_allocator_t arena_allocator;
  byoc_host_ranges_t ranges;
  byoc_dim_names_t dim_names;
  BYOC_VECTOR(int64_t) dims;
  byoc_map_t shapes;     // dimensions as text → index into dims, plus 1
  byoc_map_t inputs;     // buffer → position, plus 1
  byoc_map_t outputs;    // buffer → position, plus 1
  byoc_map_t prototypes; // symbol → its declaration
  BYOC_VECTOR(byoc_host_c_tensor_t) tensors;
  BYOC_VECTOR(byoc_host_c_call_t) calls;
  BYOC_VECTOR(const char *) steps;                           // names
  BYOC_VECTOR(const byoc_host_instruction_t *) instructions; // of the steps
  BYOC_VECTOR(uint32_t) positions;                           // of the steps in the program's text
  byoc_string_t weight_uses; // rows of a table: pointers in other tables that point into weights
  size_t weight_use_count;
  uint64_t signature;
  BYOC_VECTOR(const byoc_runtime_module_t *) setups;
  BYOC_VECTOR(const char *) setup_symbols;  // parallel to setups
  BYOC_VECTOR(const char *) engine_symbols; // parallel to the program's engines
  BYOC_VECTOR(const char *) driver_symbols; // parallel to the drivers of `places`
  byoc_host_device_tables_t *device_tables; // the program's devices, tensors and commands
  // While run is printed.
  size_t step, call;   // the next ones
  int depth;           // of indentation
  size_t loop;         // step of the loop that instructions stand in
  uint32_t loop_depth; // loops around them
  size_t most_symbols; // of any kernel
  byoc_string_t parts; // functions that long sequences of steps were cut into
  size_t part_count;
} byoc_host_c_t;

// Collects tensors, calls, shapes and declarations. `program` is planned and verified.
byoc_status_t byoc_host_c_init(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                               const byoc_data_layout_t *layout, byoc_allocator_t allocator, byoc_diag_t *diag,
                               byoc_host_c_t *out_host);
void byoc_host_c_deinit(byoc_host_c_t *host);
// The offset of a piece of read-only data in its section; `name` is its owner's.
byoc_status_t byoc_host_c_place(byoc_host_c_t *host, const void *data, size_t size_bytes, const char *name,
                                uint64_t *out_offset_bytes);
// The same for a constant, which may lie in the weights file. Fills in weight and offset_bytes.
byoc_status_t byoc_host_c_place_constant(byoc_host_c_t *host, const void *data, size_t size_bytes, const char *name,
                                         byoc_host_c_tensor_t *tensor);
// Finds the location of a buffer's bytes.
byoc_status_t byoc_host_c_locate(byoc_host_c_t *host, const byoc_host_buffer_t *buffer,
                                 byoc_host_c_tensor_t *out_tensor);
// The index of the dimensions in the pool.
byoc_status_t byoc_host_c_shape(byoc_host_c_t *host, const byoc_type_t *type, uint32_t *out_index);
// True if the instruction becomes code.
static inline bool byoc_host_c_is_step(const byoc_host_instruction_t *instruction) {
  bool is_life = instruction->op == BYOC_HOST_ALLOCATE || instruction->op == BYOC_HOST_FREE;
  if (!is_life) return true;
  const byoc_host_buffer_t *buffer = instruction->operands.data[0];
  if (!buffer->is_value) return instruction->allocation == BYOC_HOST_ZEROED;
  return instruction->op == BYOC_HOST_ALLOCATE || !byoc_host_is_cached(buffer);
}
static inline bool byoc_host_c_is_call(const byoc_host_instruction_t *instruction) {
  return instruction->op == BYOC_HOST_KERNEL || instruction->op == BYOC_HOST_PACKED ||
         instruction->op == BYOC_HOST_ENGINE || instruction->op == BYOC_HOST_COLLECTIVE;
}

// host_c_weights.c: the address of a constant as C text, for the pointer `format` of a table that follows in the file.
// For a weight it is "0", and the address is filled in when the first context is made.
void byoc_host_c_emit_constant(byoc_host_c_t *host, const byoc_host_c_tensor_t *constant, byoc_string_t *out,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
// The first words of tables of such pointers, which are not constant if there are weights.
static inline const char *byoc_host_c_table_words(const byoc_host_c_t *host) {
  return host->layout->weights.count > 0 ? "static" : "static const";
}
// The addresses of weights, for generated code; then, behind all tables, the entries that the artifact looks up in the
// file.
void byoc_host_c_emit_weight_data(const byoc_host_c_t *host, byoc_string_t *out);
void byoc_host_c_emit_weights(const byoc_host_c_t *host, byoc_string_t *out);

// The location of the entry's text in the metadata.
typedef struct byoc_host_c_metadata_t {
  size_t offset_bytes, size_bytes; // without the NUL
} byoc_host_c_metadata_t;

// The name of the table of the n-th entry, from 0, of an artifact of several; a printf format.
#define BYOC_HOST_C_TABLE "byoc_entry_%zu"

// The tables: tensors, calls, engines, inputs and outputs, the model, the entry. Failures go into host->status.
void byoc_host_c_emit_tables(byoc_host_c_t *host, byoc_string_t *out);
void byoc_host_c_emit_entry(byoc_host_c_t *host, const byoc_host_c_metadata_t *metadata, byoc_string_t *out);
// The whole file.
byoc_status_t byoc_host_c_emit(byoc_host_c_t *host, const byoc_host_c_metadata_t *metadata, byoc_string_t *out);

// host_c_number.c: numbers as C; `type` is BYOC_C_F32 or BYOC_C_F64.
void byoc_host_c_emit_integer(int64_t value, byoc_string_t *out);
void byoc_host_c_emit_real(uint32_t type, double value, byoc_string_t *out);
void byoc_host_c_emit_dim(const byoc_host_c_t *host, byoc_dim_t dim, byoc_string_t *out);

// host_c_options.c: the table host_<whose>_<index>_options; nothing if there are no rows.
void byoc_host_c_emit_options(const byoc_runtime_option_row_t *rows, uint32_t count, const char *whose, size_t index,
                              byoc_string_t *out);

// host_c_trace.c: the reports of a traced artifact. Nothing is printed for others.
void byoc_host_c_emit_trace_tables(byoc_host_c_t *host, byoc_string_t *out);
// Behind an instruction: reports its results.
byoc_status_t byoc_host_c_emit_trace(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                                     byoc_string_t *out);
// At the beginning of a loop's body, whose iteration is the C variable turn_STEP, and behind the loop.
void byoc_host_c_emit_iteration(const byoc_host_c_t *host, size_t step, byoc_string_t *out);
void byoc_host_c_emit_leave(const byoc_host_c_t *host, byoc_string_t *out);

// host_c_device.c: the tables of devices. Nothing is printed for a program without devices.
void byoc_host_c_emit_places(byoc_host_c_t *host, byoc_string_t *out);
static inline bool byoc_host_c_has_devices(const byoc_host_c_t *host) {
  return host->device_tables->tables.device_count > 0;
}
// Commands, and instructions that wait for commands. Prints nothing and returns false for others.
bool byoc_host_c_emit_command(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                              byoc_string_t *out, byoc_status_t *out_status);
// Before a call of a backend's function: what it reports belongs to this step.
void byoc_host_c_emit_trace_row(const byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                                byoc_string_t *out);
// Reports a result that is on a device.
void byoc_host_c_emit_device_trace(byoc_host_c_t *host, const byoc_host_buffer_t *buffer, size_t step, size_t result,
                                   byoc_string_t *out);

// Prints the instructions of a region in order.
typedef byoc_status_t (*byoc_host_c_emit_region_t)(byoc_host_c_t *host, const byoc_host_region_t *region,
                                                   byoc_string_t *out);
// host_c_dynamic.c: control flow, cells and symbols; the step is open, its comment printed.
// `emit_region` prints nested regions.
byoc_status_t byoc_host_c_emit_dynamic(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                                       byoc_host_c_emit_region_t emit_region, byoc_string_t *out);
// host_c_loop.c: loops that count, scalars and moving views. Prints nothing and returns false for other instructions.
bool byoc_host_c_emit_counting(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                               byoc_host_c_emit_region_t emit_region, byoc_string_t *out, byoc_status_t *out_status);
// Behind a loop: its results are what was carried, the cells of its parameters are released, and its block is closed.
void byoc_host_c_emit_loop_end(byoc_host_c_t *host, const byoc_host_instruction_t *loop,
                               byoc_host_buffer_t *const *carried, size_t count, byoc_string_t *out);
// Before an instruction: checks the places of views that may leave their bases.
void byoc_host_c_emit_checks(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                             byoc_string_t *out);
// All targets get their sources' values at once.
void byoc_host_c_emit_assign(const byoc_host_c_t *host, byoc_host_buffer_t *const *targets,
                             byoc_host_buffer_t *const *sources, size_t count, byoc_string_t *out);
// Before a call: fills in tensors that are in cells, the offsets of moving views, and the values of a kernel's symbols.
void byoc_host_c_emit_placing(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t call,
                              byoc_string_t *out);
// An address as C text.
void byoc_host_c_emit_address(const byoc_host_c_t *host, const byoc_host_c_tensor_t *place, int64_t extra_bytes,
                              byoc_string_t *out);
// Do the functions of steps need the frame's symbols?
static inline bool byoc_host_c_has_symbols(const byoc_host_c_t *host) {
  return host->program->is_dynamic || host->program->symbols.count > 0;
}
static inline void byoc_host_c_indent(const byoc_host_c_t *host, byoc_string_t *out) {
  byoc_string_appendf(out, "%*s", 2 * host->depth, "");
}

// Text for a line comment: no line ends, no backslashes.
void byoc_host_c_comment(byoc_string_t *out, const char *text);

#endif // BYOC_CORE_COMPOSE_C_HOST_C_H_
