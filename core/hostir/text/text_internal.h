// SPDX-License-Identifier: Apache-2.0
// Functions and tables that the files of the text form share. Internal to core/hostir.
#ifndef BYOC_CORE_HOSTIR_TEXT_TEXT_INTERNAL_H_
#define BYOC_CORE_HOSTIR_TEXT_TEXT_INTERNAL_H_

#include "core/hostir/text/program_text.h"
#include "core/ir/lexer.h"

// ---- words ----
#define BYOC_HOST_C_TYPE_COUNT (BYOC_C_STATUS + 1)
extern const char *const byoc_host_c_type_names[BYOC_HOST_C_TYPE_COUNT]; // by BYOC_C_*
extern const char *const byoc_host_relation_words[BYOC_RELATION_COUNT];
extern const char *const byoc_host_allocation_words[BYOC_HOST_ALLOCATION_COUNT];
extern const char *const byoc_host_buffer_kind_names[BYOC_HOST_BUFFER_VIEW + 1];

extern const char *const byoc_host_queue_words[BYOC_HOST_QUEUE_KIND_COUNT];
extern const char *const byoc_host_argument_words[BYOC_HOST_ARGUMENT_KIND_COUNT];

// A string of a runtime module that has a field name of its own.
typedef struct byoc_host_text_field_t {
  const char *name;
  size_t offset; // of the const char * in byoc_runtime_module_t
} byoc_host_text_field_t;
#define BYOC_HOST_TEXT_FIELD_COUNT 13
extern const byoc_host_text_field_t byoc_host_text_fields[BYOC_HOST_TEXT_FIELD_COUNT];
extern const char *const byoc_host_code_words[BYOC_DEVICE_CODE_SOURCE + 1]; // by BYOC_DEVICE_CODE_*

// ---- printing ----
typedef struct byoc_host_printer_t {
  const byoc_host_program_t *program;
  byoc_host_print_options_t options;
  byoc_string_t *out;
} byoc_host_printer_t;

// Prints the data of a tensor.
void byoc_host_print_tensor(byoc_host_printer_t *printer, const byoc_type_t *type, const void *data, size_t size_bytes);
// The words of a collective behind its results: " sum among 2 step 1".
void byoc_host_print_collective(const byoc_collective_call_t *collective, byoc_string_t *out);
// Prints the kernels, constants, functions and modules that the program refers to.
void byoc_host_print_parts(byoc_host_printer_t *printer);

// ---- printing devices (print_device.c) ----
void byoc_host_print_devices(const byoc_host_program_t *program, byoc_string_t *out);
void byoc_host_print_launch_head(const byoc_host_launch_t *launch, byoc_string_t *out);
void byoc_host_print_arguments(const byoc_host_launch_t *launch, byoc_string_t *out);
// "(%e, %f[I])"
void byoc_host_print_events(const byoc_host_instruction_t *i, byoc_string_t *out);
// " on %q after (%e) signals %f", if the instruction has a queue.
void byoc_host_print_order(const byoc_host_instruction_t *i, byoc_string_t *out);

// ---- parsing ----
// A name that is looked up when the whole text has been read.
typedef struct byoc_host_pending_t {
  byoc_host_buffer_t *buffer; // one of these two refers to it
  byoc_host_instruction_t *instruction;
  byoc_runtime_module_t *importer; // or this one
  const char *name, *second;       // a kernel, function, constant, module or buffer; an engine's JSON module
  enum {
    BYOC_HOST_KERNEL_NAME,
    BYOC_HOST_FUNCTION_NAME,
    BYOC_HOST_CONSTANT_NAME,
    BYOC_HOST_MODULE_NAME,
    BYOC_HOST_BASE_NAME
  } what;
  size_t offset; // in the text
} byoc_host_pending_t;

typedef struct byoc_host_parser_t {
  byoc_lexer_t lexer;
  const byoc_bytes_t *data;
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  BYOC_VECTOR(byoc_host_pending_t) pending; // in the lexer's arena
} byoc_host_parser_t;

bool byoc_host_parse_later(byoc_host_parser_t *parser, const byoc_host_pending_t *pending);
// Copies a string into the program's arena.
const char *byoc_host_parse_copy(byoc_host_parser_t *parser, const char *text);
bool byoc_host_parse_unsigned(byoc_host_parser_t *parser, uint64_t *out_value);
bool byoc_host_parse_buffer(byoc_host_parser_t *parser, byoc_host_buffer_t **out_buffer);
// Instructions up to the closing brace.
bool byoc_host_parse_region(byoc_host_parser_t *parser, byoc_host_region_t *region);
// The words of a collective behind its results; the instruction's symbol is its kind.
bool byoc_host_parse_collective(byoc_host_parser_t *parser, byoc_host_instruction_t *instruction);
// Data of a static tensor type, aligned, in `arena`.
bool byoc_host_parse_tensor(byoc_host_parser_t *parser, const byoc_type_t *type, byoc_arena_t *arena, void **out_data);
// A kernel, constant, function or module behind the program.
bool byoc_host_parse_part(byoc_host_parser_t *parser);

// ---- parsing devices (parse_device.c) ----
// Reads a device, memory, queue or event if one comes next.
bool byoc_host_parse_device_declaration(byoc_host_parser_t *parser, bool *out_found);
// [on %d]
bool byoc_host_parse_buffer_device(byoc_host_parser_t *parser, byoc_host_buffer_t *buffer);
bool byoc_host_parse_launch_head(byoc_host_parser_t *parser, byoc_host_launch_t *launch);
bool byoc_host_parse_arguments(byoc_host_parser_t *parser, byoc_host_launch_t *launch);
// (%e, %f[I])
bool byoc_host_parse_events(byoc_host_parser_t *parser, byoc_host_instruction_t *i);
// [on %q [after (%e)] [signals %f]]
bool byoc_host_parse_order(byoc_host_parser_t *parser, byoc_host_instruction_t *i);

#endif // BYOC_CORE_HOSTIR_TEXT_TEXT_INTERNAL_H_
