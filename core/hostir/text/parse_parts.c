// SPDX-License-Identifier: Apache-2.0
// Parses the kernels, constants, signatures and runtime modules behind a host program.
#include <string.h>

#include "core/base/hash.h"
#include "core/hostir/text/text_internal.h"
#include "core/ir/base64.h"
#include "core/ir/loop_text.h"
#include "core/ir/text_parts.h"

// The largest piece in a text: a few letters must not allocate all memory.
#define MAX_PIECE_BYTES ((int64_t)4 << 30)

// ---- bytes ----

// file OFFSET SIZE "hash"; the word is read.
static bool parse_file_part(byoc_host_parser_t *parser, byoc_bytes_t *out_bytes) {
  byoc_lexer_t *lexer = &parser->lexer;
  uint64_t offset = 0, size = 0;
  const char *digits = NULL;
  const size_t at = lexer->token.offset;
  if (!byoc_host_parse_unsigned(parser, &offset) || !byoc_host_parse_unsigned(parser, &size) ||
      !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &digits)) {
    return false;
  }
  if (parser->data == NULL) {
    return byoc_lexer_fail_at(lexer, at, "this stands in the data file %s.data, which is not there", lexer->file);
  }
  if (offset > parser->data->size_bytes || size > parser->data->size_bytes - offset) {
    return byoc_lexer_fail_at(lexer, at, "the data file ends before this part");
  }
  *out_bytes = (byoc_bytes_t){(const uint8_t *)parser->data->data + offset, (size_t)size};
  char found[33];
  byoc_content_hash_format(byoc_content_hash(out_bytes->data, out_bytes->size_bytes), found);
  return strcmp(found, digits) == 0 ||
         byoc_lexer_fail_at(lexer, at, "this part of the data file has changed since the text was written");
}

// The size that base64 of this length decodes to.
static size_t decoded_size(const byoc_token_t *token) {
  size_t padding = 0;
  while (padding < 2 && padding < token->size && token->text[token->size - 1 - padding] == '=') ++padding;
  return token->size / 4 * 3 - (token->size >= 4 ? padding : 0);
}

// base64 "..." or a part of the data file. Decoded bytes live in the lexer's arena.
static bool parse_bytes(byoc_host_parser_t *parser, byoc_bytes_t *out_bytes) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (byoc_lexer_accept_word(lexer, "file")) return parse_file_part(parser, out_bytes);
  if (byoc_lexer_is_word(lexer, "elided")) {
    return byoc_lexer_fail(lexer, "these bytes were left out when the text was printed; --constants prints them");
  }
  if (!byoc_lexer_expect_word(lexer, "base64")) return false;
  const byoc_token_t token = lexer->token;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_STRING)) return false;
  const size_t size = decoded_size(&token);
  void *bytes = byoc_arena_allocate(lexer->arena, size + 1, 1);
  if (bytes == NULL) return byoc_lexer_fail_memory(lexer);
  *out_bytes = (byoc_bytes_t){bytes, size};
  return byoc_base64_decode(token.text, token.size, bytes, size) ||
         byoc_lexer_fail_at(lexer, token.offset, "this is not base64");
}

static bool fill_tensor(byoc_host_parser_t *parser, const byoc_type_t *type, byoc_arena_t *arena, void *data) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_is_word(lexer, "file")) return byoc_constant_parse_data(lexer, type, arena, data);
  const size_t offset = lexer->token.offset;
  byoc_bytes_t bytes = {0};
  byoc_lexer_next(lexer);
  if (!parse_file_part(parser, &bytes)) return false;
  if (type->dtype == BYOC_DTYPE_STRING || bytes.size_bytes != (size_t)byoc_type_size_bytes(type)) {
    return byoc_lexer_fail_at(lexer, offset, "this part of the data file does not fit the type");
  }
  if (bytes.size_bytes > 0) memcpy(data, bytes.data, bytes.size_bytes);
  return true;
}

static bool check_tensor_type(byoc_host_parser_t *parser, const byoc_type_t *type, size_t offset) {
  const int64_t size = byoc_type_is_static(type) ? byoc_type_size_bytes(type) : -1;
  if (size < 0) return byoc_lexer_fail_at(&parser->lexer, offset, "a constant has a tensor type without symbols");
  return size <= MAX_PIECE_BYTES || byoc_lexer_fail_at(&parser->lexer, offset, "this constant is too large for a text");
}

bool byoc_host_parse_tensor(byoc_host_parser_t *parser, const byoc_type_t *type, byoc_arena_t *arena, void **out_data) {
  *out_data = NULL;
  if (!check_tensor_type(parser, type, parser->lexer.token.offset)) return false;
  *out_data = byoc_arena_allocate_aligned(arena, (size_t)byoc_type_size_bytes(type), BYOC_BUFFER_ALIGNMENT);
  if (*out_data == NULL) return byoc_lexer_fail_memory(&parser->lexer);
  return fill_tensor(parser, type, arena, *out_data);
}

// ": TYPE ="
static bool parse_constant_type(byoc_host_parser_t *parser, const byoc_type_t **out_type) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_COLON)) return false;
  const size_t offset = lexer->token.offset;
  return byoc_type_parse(lexer, &parser->module->arena, out_type) && check_tensor_type(parser, *out_type, offset) &&
         byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL);
}

// ---- kernels, constants, functions ----

// Operands that a result may be written over; the word "over" was read.
static bool parse_overwritten(byoc_lexer_t *lexer, uint64_t overwritten[BYOC_LOOP_OVERWRITING]) {
  uint64_t operands = 0;
  do {
    int64_t operand = 0;
    if (!byoc_lexer_expect_i64_in(lexer, 0, 63, &operand)) return false;
    operands |= UINT64_C(1) << operand;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  int64_t result = 0;
  if (byoc_lexer_accept_word(lexer, "by") && !byoc_lexer_expect_i64_in(lexer, 0, BYOC_LOOP_OVERWRITING - 1, &result)) {
    return false;
  }
  overwritten[result] |= operands;
  return true;
}

static bool parse_kernel(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_loop_kernel_t *kernel = NULL;
  uint64_t overwritten[BYOC_LOOP_OVERWRITING] = {0};
  while (byoc_lexer_accept_word(lexer, "over")) {
    if (!parse_overwritten(lexer, overwritten)) return false;
  }
  const size_t offset = lexer->token.offset;
  byoc_status_t status = byoc_loop_kernel_parse(lexer, &parser->program->arena, &kernel);
  if (status == BYOC_OK) status = byoc_host_program_add_kernel(parser->program, kernel, lexer->diag);
  if (status != BYOC_OK) return byoc_lexer_fail_status(lexer, status, offset);
  memcpy(kernel->overwritten, overwritten, sizeof(overwritten));
  return true;
}

static bool is_free(byoc_host_parser_t *parser, const byoc_token_t *name) {
  if (byoc_graph_module_find(parser->module, name->text) == NULL &&
      byoc_graph_module_find_constant(parser->module, name->text) == NULL) {
    return true;
  }
  return byoc_lexer_fail_at(&parser->lexer, name->offset, "@%s is defined already", name->text);
}

static bool parse_constant(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t name = lexer->token;
  const byoc_type_t *type = NULL;
  void *data = NULL;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_GLOBAL) || !is_free(parser, &name) || !parse_constant_type(parser, &type)) {
    return false;
  }
  if (byoc_constant_allocate(parser->module, name.text, type, &data) == NULL) return byoc_lexer_fail_memory(lexer);
  return fill_tensor(parser, type, &parser->module->arena, data);
}

typedef BYOC_VECTOR(const byoc_type_t *) types_t;

static bool parse_types(byoc_host_parser_t *parser, types_t *out_types) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    const byoc_type_t *type = NULL;
    if (!byoc_type_parse(lexer, &parser->module->arena, &type)) return false;
    if (!byoc_vector_push(out_types, byoc_arena_allocator(lexer->arena), type)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool parse_function(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t name = lexer->token;
  types_t parameters = {0}, results = {0};
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_GLOBAL) || !is_free(parser, &name) || !parse_types(parser, &parameters) ||
      !byoc_lexer_expect(lexer, BYOC_TOKEN_ARROW) || !parse_types(parser, &results)) {
    return false;
  }
  byoc_function_t *function = byoc_function_create(parser->module, name.text);
  const char **names = BYOC_ARENA_ARRAY(lexer->arena, const char *, results.count + 1);
  if (function == NULL || names == NULL) return byoc_lexer_fail_memory(lexer);
  function->kind = BYOC_FUNCTION_EXTERN;
  bool ok = true;
  for (size_t i = 0; i < parameters.count && ok; ++i) {
    ok = byoc_block_add_parameter(function->body, NULL, parameters.data[i]) != NULL;
  }
  ok = ok && byoc_function_set_opaque_body(function, names, results.data, (uint32_t)results.count);
  return ok || byoc_lexer_fail_memory(lexer);
}

// ---- runtime modules ----

// A string, or bytes that are one. It lives in the module's arena.
static bool parse_text(byoc_host_parser_t *parser, byoc_runtime_module_t *module, const char **out_text) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_bytes_t bytes = {lexer->token.text, lexer->token.size};
  const size_t offset = lexer->token.offset;
  if (!byoc_lexer_accept(lexer, BYOC_TOKEN_STRING) && !parse_bytes(parser, &bytes)) return false;
  if (memchr(bytes.data, 0, bytes.size_bytes) != NULL) {
    return byoc_lexer_fail_at(lexer, offset, "this string holds a NUL");
  }
  char *copy = byoc_arena_allocate(&module->arena, bytes.size_bytes + 1, 1);
  if (copy == NULL) return byoc_lexer_fail_memory(lexer);
  memcpy(copy, bytes.data, bytes.size_bytes);
  *out_text = copy;
  return true;
}

// An entry of a list of strings, if the word is the name of one.
static bool parse_list_field(byoc_host_parser_t *parser, byoc_runtime_module_t *module, const char *word,
                             bool *out_found) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_allocator_t allocator = byoc_arena_allocator(&module->arena);
  const bool is_user = strcmp(word, "user") == 0, is_symbol = strcmp(word, "symbol") == 0;
  const bool is_flag = strcmp(word, "flag") == 0, is_import = strcmp(word, "import") == 0;
  const bool is_entry = strcmp(word, "entry") == 0, is_search = strcmp(word, "search") == 0;
  *out_found = is_user || is_symbol || is_flag || is_import || is_entry || is_search || strcmp(word, "needed") == 0;
  if (!*out_found) return true;
  const size_t offset = lexer->token.offset;
  const char *text = NULL;
  if (!parse_text(parser, module, &text)) return false;
  if (is_import) {
    return byoc_host_parse_later(parser, &(byoc_host_pending_t){.importer = module, .name = text, .offset = offset});
  }
  if (is_symbol || is_entry || is_search) {
    byoc_status_t status = is_symbol  ? byoc_runtime_module_add_symbol(module, text, lexer->diag)
                           : is_entry ? byoc_runtime_module_add_entry(module, text, lexer->diag)
                                      : byoc_runtime_module_add_search(module, text, lexer->diag);
    return status == BYOC_OK || byoc_lexer_fail_status(lexer, status, offset);
  }
  bool ok = is_user   ? byoc_vector_push(&module->users, allocator, text)
            : is_flag ? byoc_vector_push(&module->flags, allocator, text)
                      : byoc_vector_push(&module->needed, allocator, text);
  return ok || byoc_lexer_fail_memory(lexer);
}

static bool parse_file(byoc_host_parser_t *parser, byoc_runtime_module_t *module, bool is_blob) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *name = NULL;
  byoc_bytes_t bytes = {0};
  const size_t offset = lexer->token.offset;
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &name) || !parse_bytes(parser, &bytes)) return false;
  const byoc_file_content_t content = {.name = name, .data = bytes.data, .size_bytes = bytes.size_bytes};
  byoc_status_t status = byoc_runtime_module_add_file(module, &content, is_blob, lexer->diag);
  return status == BYOC_OK || byoc_lexer_fail_status(lexer, status, offset);
}

// binary "cubin" for "sm_90" options "-v" BYTES
static bool parse_variant(byoc_host_parser_t *parser, byoc_runtime_module_t *module) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_device_form_t form = {.kind = BYOC_DEVICE_CODE_BINARY};
  const size_t offset = lexer->token.offset;
  while (form.kind <= BYOC_DEVICE_CODE_SOURCE && !byoc_lexer_accept_word(lexer, byoc_host_code_words[form.kind])) {
    ++form.kind;
  }
  if (form.kind > BYOC_DEVICE_CODE_SOURCE) return byoc_lexer_expected(lexer, "binary, portable or source");
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &form.format)) return false;
  if (form.kind == BYOC_DEVICE_CODE_BINARY && (!byoc_lexer_expect_word(lexer, "for") ||
                                               !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &form.architecture))) {
    return false;
  }
  if (byoc_lexer_accept_word(lexer, "options") && !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &form.options)) {
    return false;
  }
  byoc_bytes_t bytes = {0};
  if (!parse_bytes(parser, &bytes)) return false;
  form.data = bytes.data;
  form.size_bytes = bytes.size_bytes;
  byoc_status_t status = byoc_runtime_module_add_variant(module, &form, lexer->diag);
  return status == BYOC_OK || byoc_lexer_fail_status(lexer, status, offset);
}

static bool parse_bound_constant(byoc_host_parser_t *parser, byoc_runtime_module_t *module) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_bound_constant_t constant = {0};
  void *data = NULL;
  if (!parse_constant_type(parser, &constant.type) ||
      !byoc_host_parse_tensor(parser, constant.type, &module->arena, &data)) {
    return false;
  }
  constant.data = data;
  constant.size_bytes = (size_t)byoc_type_size_bytes(constant.type);
  return byoc_vector_push(&module->constants, byoc_arena_allocator(&module->arena), constant)
             ? true
             : byoc_lexer_fail_memory(lexer);
}

static bool parse_field(byoc_host_parser_t *parser, byoc_runtime_module_t *module) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *word = NULL;
  const size_t offset = lexer->token.offset;
  bool found = false;
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_WORD, &word)) return false;
  for (size_t i = 0; i < BYOC_HOST_TEXT_FIELD_COUNT; ++i) {
    if (strcmp(word, byoc_host_text_fields[i].name) != 0) continue;
    const char *text = NULL;
    if (!parse_text(parser, module, &text)) return false;
    memcpy((char *)module + byoc_host_text_fields[i].offset, &text, sizeof(text));
    return true;
  }
  if (strcmp(word, "file") == 0) return parse_file(parser, module, false);
  if (strcmp(word, "blob") == 0) return parse_file(parser, module, true);
  if (strcmp(word, "constant") == 0) return parse_bound_constant(parser, module);
  if (strcmp(word, "code") == 0) return parse_variant(parser, module);
  if (strcmp(word, "workspace") == 0) return byoc_host_parse_unsigned(parser, &module->workspace_size_bytes);
  if (!parse_list_field(parser, module, word, &found)) return false;
  return found || byoc_lexer_fail_at(lexer, offset, "a runtime module has no field '%s'", word);
}

static bool parse_kind(byoc_lexer_t *lexer, byoc_runtime_module_kind_t *out_kind) {
  for (int kind = 0; kind < BYOC_RUNTIME_MODULE_KIND_COUNT; ++kind) {
    *out_kind = (byoc_runtime_module_kind_t)kind;
    if (byoc_lexer_accept_word(lexer, byoc_runtime_module_kind_name(*out_kind))) return true;
  }
  return byoc_lexer_expected(lexer, "a kind of runtime module");
}

// The fields that a module of this kind must have.
static bool check_module(byoc_host_parser_t *parser, const byoc_runtime_module_t *module, size_t offset) {
  const char *lacks = NULL;
  if (module->kind == BYOC_RUNTIME_MODULE_C_SOURCE && module->source == NULL) lacks = "source";
  if (module->kind == BYOC_RUNTIME_MODULE_ENGINE && module->engine_symbol == NULL) lacks = "engine_symbol";
  if (module->kind == BYOC_RUNTIME_MODULE_DRIVER && module->driver_symbol == NULL) lacks = "driver_symbol";
  if (module->kind == BYOC_RUNTIME_MODULE_DEVICE && module->driver_name == NULL) lacks = "driver";
  if (module->kind == BYOC_RUNTIME_MODULE_DEVICE && module->variants.count == 0) lacks = "code";
  return lacks == NULL ||
         byoc_lexer_fail_at(&parser->lexer, offset, "runtime module %s lacks its %s", module->name, lacks);
}

static bool parse_module(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_runtime_module_kind_t kind;
  const char *name = NULL, *target = NULL;
  const size_t offset = lexer->token.offset;
  if (!parse_kind(lexer, &kind) || !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &name) ||
      !byoc_lexer_expect_word(lexer, "of") || !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &target) ||
      !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE)) {
    return false;
  }
  byoc_runtime_module_t *module = NULL;
  byoc_status_t status =
      byoc_runtime_module_create(kind, name, target, parser->module->allocator, lexer->diag, &module);
  if (status == BYOC_OK) status = byoc_graph_module_add_runtime_module(parser->module, module, lexer->diag);
  byoc_runtime_module_release(module); // the graph module keeps one reference
  if (status != BYOC_OK) return byoc_lexer_fail_status(lexer, status, offset);
  while (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACE)) {
    if (!parse_field(parser, module)) return false;
  }
  return check_module(parser, module, offset) && byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE);
}

bool byoc_host_parse_part(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (byoc_lexer_accept_word(lexer, "kernel")) return parse_kernel(parser);
  if (byoc_lexer_accept_word(lexer, "constant")) return parse_constant(parser);
  if (byoc_lexer_accept_word(lexer, "function")) return parse_function(parser);
  if (byoc_lexer_accept_word(lexer, "module")) return parse_module(parser);
  return byoc_lexer_expected(lexer, "a kernel, constant, function or module");
}
