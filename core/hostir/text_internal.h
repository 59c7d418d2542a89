// What the files of the text form share. Internal to core/hostir.
#ifndef BYOC_CORE_HOSTIR_TEXT_INTERNAL_H_
#define BYOC_CORE_HOSTIR_TEXT_INTERNAL_H_

#include "core/hostir/text.h"
#include "core/ir/lexer.h"

// ---- words ----
#define BYOC_HOST_C_TYPE_COUNT (BYOC_C_STATUS + 1)
extern const char *const byoc_host_c_type_names[BYOC_HOST_C_TYPE_COUNT]; // by BYOC_C_*
extern const char *const byoc_host_relation_words[BYOC_RELATION_COUNT];
extern const char *const byoc_host_allocation_words[BYOC_HOST_ALLOCATION_COUNT];
extern const char *const byoc_host_buffer_kind_names[BYOC_HOST_BUFFER_VIEW + 1];

// A text of a runtime module that stands under its own name.
typedef struct byoc_host_text_field_t {
  const char *name;
  size_t offset; // of the const char * in byoc_runtime_module_t
} byoc_host_text_field_t;
#define BYOC_HOST_TEXT_FIELD_COUNT 11
extern const byoc_host_text_field_t byoc_host_text_fields[BYOC_HOST_TEXT_FIELD_COUNT];
extern const char *const byoc_host_code_words[BYOC_DEVICE_CODE_SOURCE + 1]; // by BYOC_DEVICE_CODE_*

// ---- printing ----
typedef struct byoc_host_printer_t {
  const byoc_host_program_t *program;
  byoc_host_print_options_t options;
  byoc_string_t *out;
} byoc_host_printer_t;

// Prints bytes: in place, as a part of the data file, or elided.
void byoc_host_print_bytes(byoc_host_printer_t *printer, const void *data, size_t size_bytes);
// Prints the data of a tensor.
void byoc_host_print_tensor(byoc_host_printer_t *printer, const byoc_type_t *type, const void *data, size_t size_bytes);
// Prints the kernels, constants, functions and modules that the program refers to.
void byoc_host_print_parts(byoc_host_printer_t *printer);

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
// Copies a text into the program's arena.
const char *byoc_host_parse_copy(byoc_host_parser_t *parser, const char *text);
bool byoc_host_parse_unsigned(byoc_host_parser_t *parser, uint64_t *out_value);
bool byoc_host_parse_buffer(byoc_host_parser_t *parser, byoc_host_buffer_t **out_buffer);
// Instructions up to the closing brace.
bool byoc_host_parse_region(byoc_host_parser_t *parser, byoc_host_region_t *region);
// Data of a static tensor type, aligned, in `arena`.
bool byoc_host_parse_tensor(byoc_host_parser_t *parser, const byoc_type_t *type, byoc_arena_t *arena, void **out_data);
// A kernel, constant, function or module behind the program.
bool byoc_host_parse_part(byoc_host_parser_t *parser);

#endif // BYOC_CORE_HOSTIR_TEXT_INTERNAL_H_
