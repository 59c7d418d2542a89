// SPDX-License-Identifier: Apache-2.0
// Parses host programs: the head, the declarations, and names that are looked up at the end.
#include <string.h>

#include "core/hostir/text/text_internal.h"
#include "core/ir/text_parts.h"

// ---- declarations ----

static bool parse_symbol(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_host_program_t *program = parser->program;
  const char *name = NULL;
  size_t offset = lexer->token.offset, count = program->symbols.count;
  if (!byoc_lexer_expect_name(lexer, &name)) return false;
  if (byoc_host_symbol(program, name) == BYOC_HOST_SYMBOL_NONE) return byoc_lexer_fail_memory(lexer);
  if (program->symbols.count == count)
    return byoc_lexer_fail_at(lexer, offset, "the symbol %s is declared twice", name);
  if (!byoc_lexer_accept_word(lexer, "of")) return lexer->status == BYOC_OK;
  if (program->input_symbol_count < count) {
    return byoc_lexer_fail_at(lexer, offset, "the inputs' symbols come before the others");
  }
  program->input_symbol_count = (uint32_t)count + 1;
  return byoc_lexer_expect_word(lexer, "inputs");
}

static bool parse_constant_source(byoc_host_parser_t *parser, byoc_host_buffer_t *buffer) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t token = lexer->token;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_GLOBAL)) {
    return byoc_host_parse_later(
        parser, &(byoc_host_pending_t){
                    .buffer = buffer, .name = token.text, .what = BYOC_HOST_CONSTANT_NAME, .offset = token.offset});
  }
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_STRING)) {
    int64_t index = 0;
    if (!byoc_lexer_expect_i64_in(lexer, 0, UINT32_MAX, &index)) return false;
    buffer->bound_index = (uint32_t)index;
    return byoc_host_parse_later(
        parser, &(byoc_host_pending_t){
                    .buffer = buffer, .name = token.text, .what = BYOC_HOST_MODULE_NAME, .offset = token.offset});
  }
  void *data = NULL;
  if (!byoc_host_parse_tensor(parser, buffer->type, &parser->program->arena, &data)) return false;
  buffer->data = data;
  return true;
}

// The base may be declared further down, and may itself be a view.
static bool parse_view_base(byoc_host_parser_t *parser, byoc_host_buffer_t *buffer) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t token = lexer->token;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE) ||
      !byoc_host_parse_later(parser, &(byoc_host_pending_t){.buffer = buffer,
                                                            .name = token.text,
                                                            .what = BYOC_HOST_BASE_NAME,
                                                            .offset = token.offset}) ||
      !byoc_lexer_expect(lexer, BYOC_TOKEN_PLUS)) {
    return false;
  }
  const size_t offset = lexer->token.offset;
  byoc_dim_t dim;
  if (!byoc_dim_parse(lexer, &parser->program->arena, &dim)) return false;
  if (byoc_dim_is_constant(dim) && dim.constant < 0) {
    return byoc_lexer_fail_at(lexer, offset, "an offset cannot be negative");
  }
  byoc_host_view_set_offset(buffer, dim);
  return true;
}

// Creates a buffer whose kind was read; parse_place reads the words behind its type.
static bool create_buffer(byoc_host_parser_t *parser, byoc_host_buffer_kind_t kind, byoc_host_buffer_t **out_buffer) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_host_program_t *program = parser->program;
  const byoc_token_t name = lexer->token;
  const byoc_type_t *type = NULL;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  if (byoc_host_find_buffer(program, name.text) != NULL) {
    return byoc_lexer_fail_at(lexer, name.offset, "%%%s is declared twice", name.text);
  }
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_COLON)) return false;
  const bool is_value = byoc_lexer_accept_word(lexer, "value");
  const size_t offset = lexer->token.offset;
  if (!byoc_type_parse(lexer, &program->arena, &type)) return false;
  if (byoc_type_is_static(type) && byoc_type_size_bytes(type) < 0) {
    return byoc_lexer_fail_at(lexer, offset, "a buffer of this type is too large");
  }
  byoc_host_buffer_t *buffer = byoc_host_buffer_create(program, kind, name.text, type);
  if (buffer == NULL) return byoc_lexer_fail_memory(lexer);
  buffer->is_value = buffer->is_value || is_value;
  bool ok = true;
  if (kind == BYOC_HOST_BUFFER_INPUT) ok = byoc_vector_push(&program->inputs, program->arena.allocator, buffer);
  if (kind == BYOC_HOST_BUFFER_OUTPUT) ok = byoc_vector_push(&program->outputs, program->arena.allocator, buffer);
  *out_buffer = buffer;
  return ok || byoc_lexer_fail_memory(lexer);
}

static bool parse_place(byoc_host_parser_t *parser, byoc_host_buffer_t *buffer) {
  byoc_lexer_t *lexer = &parser->lexer;
  const bool is_port = buffer->kind == BYOC_HOST_BUFFER_INPUT || buffer->kind == BYOC_HOST_BUFFER_OUTPUT;
  if (is_port && byoc_lexer_accept_word(lexer, "called")) {
    const char *called = lexer->token.text;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_STRING)) return false;
    buffer->called = byoc_host_parse_copy(parser, called);
    if (buffer->called == NULL) return false;
  }
  if (buffer->kind != BYOC_HOST_BUFFER_VIEW && !byoc_host_parse_buffer_device(parser, buffer)) return false;
  if (byoc_lexer_accept_word(lexer, "scope")) {
    const char *scope = lexer->token.text;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_STRING)) return false;
    buffer->scope = byoc_host_parse_copy(parser, scope);
    if (buffer->scope == NULL) return false;
  }
  if (buffer->kind == BYOC_HOST_BUFFER_LOCAL && byoc_lexer_accept_word(lexer, "at")) {
    return byoc_host_parse_unsigned(parser, &buffer->offset_bytes);
  }
  if (buffer->kind == BYOC_HOST_BUFFER_OUTPUT && byoc_lexer_accept_word(lexer, "over")) {
    return byoc_host_parse_buffer(parser, &buffer->over);
  }
  if (buffer->kind != BYOC_HOST_BUFFER_VIEW && buffer->kind != BYOC_HOST_BUFFER_CONSTANT) {
    return lexer->status == BYOC_OK;
  }
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL)) return false;
  return buffer->kind == BYOC_HOST_BUFFER_VIEW ? parse_view_base(parser, buffer)
                                               : parse_constant_source(parser, buffer);
}

// Reads a declaration if one comes next.
static bool parse_declaration(byoc_host_parser_t *parser, bool *out_found) {
  byoc_lexer_t *lexer = &parser->lexer;
  *out_found = true;
  if (byoc_lexer_accept_word(lexer, "symbol")) return parse_symbol(parser);
  for (int kind = 0; kind <= BYOC_HOST_BUFFER_VIEW; ++kind) {
    if (!byoc_lexer_accept_word(lexer, byoc_host_buffer_kind_names[kind])) continue;
    byoc_host_buffer_t *buffer = NULL;
    return create_buffer(parser, (byoc_host_buffer_kind_t)kind, &buffer) && parse_place(parser, buffer);
  }
  return byoc_host_parse_device_declaration(parser, out_found);
}

// ---- the program ----

static bool create_program(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *name = NULL;
  if (!byoc_lexer_expect_word(lexer, "host") || !byoc_lexer_expect_word(lexer, "program") ||
      !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &name)) {
    return false;
  }
  byoc_status_t status =
      byoc_host_program_create(parser->module, name, parser->module->allocator, lexer->diag, &parser->program);
  return status == BYOC_OK || byoc_lexer_fail_memory(lexer);
}

// 0 of 2 build 1234
static bool parse_rank(byoc_lexer_t *lexer, byoc_host_program_t *program) {
  int64_t rank = 0, count = 0;
  const size_t offset = lexer->token.offset;
  if (!byoc_lexer_expect_i64_in(lexer, 0, INT32_MAX, &rank) || !byoc_lexer_expect_word(lexer, "of") ||
      !byoc_lexer_expect_i64_in(lexer, 1, INT32_MAX, &count)) {
    return false;
  }
  if (rank >= count) return byoc_lexer_fail_at(lexer, offset, "there is no such rank");
  program->rank = (int32_t)rank;
  program->rank_count = (uint32_t)count;
  int64_t build = 0;
  if (byoc_lexer_accept_word(lexer, "build") && !byoc_lexer_expect_i64(lexer, &build)) return false;
  program->rank_build = (uint64_t)build;
  return true;
}

static bool parse_program(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!create_program(parser)) return false;
  byoc_host_program_t *program = parser->program;
  program->is_dynamic = byoc_lexer_accept_word(lexer, "dynamic");
  if (byoc_lexer_accept_word(lexer, "requires")) {
    const char *features = NULL;
    if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &features)) return false;
    program->cpu_features = byoc_host_parse_copy(parser, features);
    if (program->cpu_features == NULL) return false;
  }
  if (byoc_lexer_accept_word(lexer, "rank") && !parse_rank(lexer, program)) return false;
  if (byoc_lexer_accept_word(lexer, "workspace") && !byoc_host_parse_unsigned(parser, &program->workspace_size_bytes)) {
    return false;
  }
  if (byoc_lexer_accept_word(lexer, "bound") && !byoc_host_parse_unsigned(parser, &program->workspace_bound_bytes)) {
    return false;
  }
  if (byoc_lexer_accept_word(lexer, "live") && !byoc_dim_parse(lexer, &program->arena, &program->live_bound_bytes)) {
    return false;
  }
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE)) return false;
  for (bool found = true; found;) {
    if (!parse_declaration(parser, &found)) return false;
  }
  return byoc_host_parse_region(parser, &program->body) && byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE);
}

// ---- names ----

static bool no_such(byoc_host_parser_t *parser, const byoc_host_pending_t *pending, const char *what,
                    const char *name) {
  return byoc_lexer_fail_at(&parser->lexer, pending->offset, "there is no %s %s", what, name);
}

static bool resolve_buffer(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  byoc_host_buffer_t *buffer = pending->buffer;
  const byoc_type_t *type = NULL;
  if (pending->what == BYOC_HOST_BASE_NAME) {
    buffer->base = byoc_host_find_buffer(parser->program, pending->name);
    return buffer->base != NULL ||
           byoc_lexer_fail_at(&parser->lexer, pending->offset, "there is no buffer %%%s", pending->name);
  }
  if (pending->what == BYOC_HOST_CONSTANT_NAME) {
    buffer->constant = byoc_graph_module_find_constant(parser->module, pending->name);
    if (buffer->constant == NULL) return no_such(parser, pending, "constant", pending->name);
    type = buffer->constant->type;
    buffer->data = buffer->constant->data;
  } else {
    buffer->bound_by = byoc_graph_module_find_runtime_module(parser->module, pending->name);
    if (buffer->bound_by == NULL) return no_such(parser, pending, "runtime module", pending->name);
    if (buffer->bound_index >= buffer->bound_by->constants.count) {
      return byoc_lexer_fail_at(&parser->lexer, pending->offset, "runtime module %s has only %zu constants",
                                pending->name, buffer->bound_by->constants.count);
    }
    type = buffer->bound_by->constants.data[buffer->bound_index].type;
    buffer->data = buffer->bound_by->constants.data[buffer->bound_index].data;
  }
  return byoc_type_equal(type, buffer->type) ||
         byoc_lexer_fail_at(&parser->lexer, pending->offset, "this constant has another type than %%%s", buffer->name);
}

static bool resolve_engine(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  const byoc_runtime_module_t *engine = byoc_graph_module_find_runtime_module(parser->module, pending->name);
  const byoc_runtime_module_t *json = byoc_graph_module_find_runtime_module(parser->module, pending->second);
  if (engine == NULL || engine->kind != BYOC_RUNTIME_MODULE_ENGINE) {
    return no_such(parser, pending, "engine", pending->name);
  }
  if (json == NULL || json->kind != BYOC_RUNTIME_MODULE_JSON || json->json == NULL) {
    return no_such(parser, pending, "JSON module", pending->second);
  }
  byoc_status_t status = byoc_host_instruction_set_engine(parser->program, pending->instruction, engine, json, NULL);
  return status == BYOC_OK || byoc_lexer_fail_memory(&parser->lexer);
}

static bool resolve_kernel(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  const byoc_loop_kernel_t *kernel = byoc_host_find_kernel(parser->program, pending->name);
  if (kernel == NULL) return no_such(parser, pending, "kernel", pending->name);
  pending->instruction->kernel = kernel;
  pending->instruction->symbol = kernel->name;
  if (pending->instruction->symbol_count == kernel->symbols.count) {
    pending->instruction->symbol_count = 0; // the parser kept the number of values in it
    return true;
  }
  return byoc_lexer_fail_at(&parser->lexer, pending->offset, "kernel %s needs the values of %zu symbols, not %u",
                            pending->name, kernel->symbols.count, pending->instruction->symbol_count);
}

static bool resolve_import(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  byoc_runtime_module_t *import = byoc_graph_module_find_runtime_module(parser->module, pending->name);
  if (import == NULL) return no_such(parser, pending, "runtime module", pending->name);
  byoc_status_t status = byoc_runtime_module_import(pending->importer, import, parser->lexer.diag);
  return status == BYOC_OK || byoc_lexer_fail_status(&parser->lexer, status, pending->offset);
}

static bool resolve(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  if (pending->importer != NULL) return resolve_import(parser, pending);
  if (pending->buffer != NULL) return resolve_buffer(parser, pending);
  if (pending->what == BYOC_HOST_KERNEL_NAME) return resolve_kernel(parser, pending);
  if (pending->what == BYOC_HOST_MODULE_NAME) return resolve_engine(parser, pending);
  pending->instruction->function = byoc_graph_module_find(parser->module, pending->name);
  return pending->instruction->function != NULL || no_such(parser, pending, "function", pending->name);
}

// A view of a view is a view of that one's base.
static bool flatten(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  byoc_host_buffer_t *view = pending->buffer;
  for (size_t steps = 0; view->base->kind == BYOC_HOST_BUFFER_VIEW; ++steps) {
    if (steps > parser->program->buffers.count) {
      return byoc_lexer_fail_at(&parser->lexer, pending->offset, "%%%s is a view of itself", view->name);
    }
    if (!byoc_host_view_flatten(parser->program, view)) return byoc_lexer_fail_memory(&parser->lexer);
  }
  byoc_host_view_follow(view);
  return true;
}

static bool parse_all(byoc_host_parser_t *parser) {
  if (!parse_program(parser)) return false;
  while (!byoc_lexer_is(&parser->lexer, BYOC_TOKEN_END)) {
    if (!byoc_host_parse_part(parser)) return false;
  }
  for (size_t i = 0; i < parser->pending.count && parser->lexer.status == BYOC_OK; ++i) {
    if (!resolve(parser, &parser->pending.data[i])) return false;
  }
  for (size_t i = 0; i < parser->pending.count && parser->lexer.status == BYOC_OK; ++i) {
    const byoc_host_pending_t *pending = &parser->pending.data[i];
    if (pending->what == BYOC_HOST_BASE_NAME && !flatten(parser, pending)) return false;
  }
  return parser->lexer.status == BYOC_OK;
}

byoc_status_t byoc_host_program_parse(const char *text, const char *file, const byoc_bytes_t *data,
                                      byoc_allocator_t allocator, byoc_diag_t *diag, byoc_graph_module_t **out_module,
                                      byoc_host_program_t **out_program) {
  *out_module = NULL;
  *out_program = NULL;
  byoc_host_parser_t parser = {.data = data};
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, allocator);
  byoc_status_t status = byoc_graph_module_create(allocator, diag, &parser.module);
  if (status != BYOC_OK) goto cleanup;
  byoc_lexer_init(&parser.lexer, text, file, &scratch, diag);
  parse_all(&parser);
  status = parser.lexer.status;
  if (status == BYOC_OK) status = byoc_host_program_collect_libraries(parser.program, diag);
  if (status != BYOC_OK) goto cleanup;
  *out_module = parser.module;
  *out_program = parser.program;
  parser.module = NULL; // now the caller's
  parser.program = NULL;
cleanup:
  byoc_host_program_destroy(parser.program);
  byoc_graph_module_destroy(parser.module);
  byoc_arena_deinit(&scratch);
  return status;
}
