// SPDX-License-Identifier: Apache-2.0
// The parser of modules. Functions are declared in a first walk over the tokens, because calls may precede them.
#include <string.h>

#include "core/ir/graph_internal.h"
#include "core/ir/loop_text.h"
#include "core/ir/module_text.h"
#include "core/ir/text_names.h"
#include "core/ir/text_parts.h"
#include "core/ir/verify_module.h"

// The largest constant in a text: a short text must not use all memory.
#define MAX_CONSTANT_BYTES ((int64_t)4 << 30)

// Names visible in one block; blocks nested in it see them too.
typedef struct scope_t {
  struct scope_t *parent;
  byoc_map_t values; // printed name → value
} scope_t;

typedef struct parser_t {
  byoc_lexer_t lexer;
  byoc_graph_module_t *module;
} parser_t;

typedef struct result_declaration_t {
  const char *name; // may be NULL
  const byoc_type_t *type;
  size_t offset;
} result_declaration_t;

typedef BYOC_VECTOR(result_declaration_t) declarations_t;
typedef BYOC_VECTOR(byoc_value_t *) values_t;
typedef BYOC_VECTOR(byoc_token_t) tokens_t;

static bool parse_block(parser_t *parser, byoc_block_t *block, scope_t *scope, const declarations_t *declarations);

static byoc_allocator_t scratch(parser_t *parser) {
  return byoc_arena_allocator(parser->lexer.arena);
}

static byoc_arena_t *module_arena(parser_t *parser) {
  return &parser->module->arena;
}

// ---- names ----

// The number of an unnamed value and a name of digits need different keys.
static const char *scope_key(parser_t *parser, const byoc_token_t *token) {
  return byoc_arena_format(parser->lexer.arena, "%c%s", token->digits ? '#' : '%', token->text);
}

static byoc_value_t *scope_find(const scope_t *scope, const char *key) {
  for (; scope; scope = scope->parent) {
    byoc_value_t *value = byoc_string_map_get(&scope->values, key);
    if (value) return value;
  }
  return NULL;
}

static bool define(parser_t *parser, scope_t *scope, const byoc_token_t *token, byoc_value_t *value) {
  const char *key = scope_key(parser, token);
  if (!key) return byoc_lexer_fail_memory(&parser->lexer);
  if (scope_find(scope, key))
    return byoc_lexer_fail_at(&parser->lexer, token->offset, "%%%s is defined already", token->text);
  if (!token->digits) {
    value->name = byoc_arena_copy_string(module_arena(parser), token->text);
    if (!value->name) return byoc_lexer_fail_memory(&parser->lexer);
  }
  return byoc_string_map_put(&scope->values, key, value) ? true : byoc_lexer_fail_memory(&parser->lexer);
}

static bool resolve(parser_t *parser, byoc_function_t *function, const scope_t *scope, byoc_value_t **out) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_token_t token = lexer->token;
  *out = NULL;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_GLOBAL)) {
    byoc_constant_t *constant = byoc_graph_module_find_constant(parser->module, token.text);
    if (!constant) return byoc_lexer_fail_at(lexer, token.offset, "there is no constant @%s", token.text);
    *out = byoc_function_constant(function, constant);
    return *out ? true : byoc_lexer_fail_memory(lexer);
  }
  if (!byoc_lexer_accept(lexer, BYOC_TOKEN_VALUE)) return byoc_lexer_expected(lexer, "a value or a constant");
  const char *key = scope_key(parser, &token);
  if (!key) return byoc_lexer_fail_memory(lexer);
  *out = scope_find(scope, key);
  return *out ? true : byoc_lexer_fail_at(lexer, token.offset, "%%%s is not defined here", token.text);
}

// ---- signatures ----

static bool parse_parameters(parser_t *parser, byoc_block_t *block, scope_t *scope) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    byoc_token_t name = lexer->token;
    const byoc_type_t *type = NULL;
    byoc_virtual_device_t device;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE) || !byoc_lexer_expect(lexer, BYOC_TOKEN_COLON) ||
        !byoc_type_parse(lexer, module_arena(parser), &type) ||
        !byoc_virtual_device_parse(lexer, module_arena(parser), &device))
      return false;
    byoc_value_t *value = byoc_block_add_parameter(block, NULL, type);
    if (!value) return byoc_lexer_fail_memory(lexer);
    value->device = device;
    if (!define(parser, scope, &name, value)) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool parse_declarations(parser_t *parser, declarations_t *out) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_ARROW) || !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    result_declaration_t declaration = {.offset = lexer->token.offset};
    if (byoc_lexer_is(lexer, BYOC_TOKEN_VALUE)) {
      declaration.name = lexer->token.text;
      if (!byoc_lexer_next(lexer) || !byoc_lexer_expect(lexer, BYOC_TOKEN_COLON)) return false;
    }
    if (!byoc_type_parse(lexer, module_arena(parser), &declaration.type)) return false;
    if (!byoc_vector_push(out, scratch(parser), declaration)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

// ---- nodes ----

static bool parse_operands(parser_t *parser, byoc_function_t *function, const scope_t *scope, values_t *out) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    byoc_value_t *value = NULL;
    if (!byoc_lexer_accept_word(lexer, "_")) {
      if (!byoc_lexer_is(lexer, BYOC_TOKEN_VALUE) && !byoc_lexer_is(lexer, BYOC_TOKEN_GLOBAL))
        return byoc_lexer_expected(lexer, "a value, a constant, or '_' for an operand that is left out");
      if (!resolve(parser, function, scope, &value)) return false;
    }
    if (!byoc_vector_push(out, scratch(parser), value)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool parse_nested_block(parser_t *parser, byoc_node_t *node, scope_t *outer) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *name = NULL;
  size_t offset = lexer->token.offset;
  if (!byoc_lexer_expect_name(lexer, &name)) return false;
  if (byoc_node_find_block(node, name)) return byoc_lexer_fail_at(lexer, offset, "block '%s' is given twice", name);
  if (byoc_block_depth(node->block) >= BYOC_MAX_BLOCK_DEPTH)
    return byoc_lexer_fail_at(lexer, offset, "blocks are nested deeper than %d", BYOC_MAX_BLOCK_DEPTH);
  byoc_block_t *block = byoc_node_add_block(node, name);
  if (!block) return byoc_lexer_fail_memory(lexer);
  scope_t scope = {.parent = outer};
  declarations_t declarations = {0};
  byoc_string_map_init(&scope.values, parser->module->allocator);
  bool ok = parse_parameters(parser, block, &scope) && parse_declarations(parser, &declarations) &&
            parse_block(parser, block, &scope, &declarations);
  byoc_map_deinit(&scope.values);
  return ok;
}

static bool parse_nested_blocks(parser_t *parser, byoc_node_t *node, scope_t *scope) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_BRACKET)) return lexer->status == BYOC_OK;
  do {
    if (!byoc_lexer_enter(lexer)) return false;
    bool ok = parse_nested_block(parser, node, scope);
    byoc_lexer_leave(lexer);
    if (!ok) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
}

static bool parse_result_types(parser_t *parser, byoc_node_t *node) {
  byoc_lexer_t *lexer = &parser->lexer;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    byoc_value_t *result = node->results[i];
    if (!byoc_lexer_expect(lexer, i == 0 ? BYOC_TOKEN_COLON : BYOC_TOKEN_COMMA) ||
        !byoc_type_parse(lexer, module_arena(parser), &result->type) ||
        !byoc_virtual_device_parse(lexer, module_arena(parser), &result->device))
      return false;
  }
  if (byoc_lexer_is(lexer, BYOC_TOKEN_COMMA))
    return byoc_lexer_fail(lexer, "there are more types than the %u results", node->result_count);
  return true;
}

// A node, up to its opening parenthesis.
typedef struct node_head_t {
  byoc_function_t *callee;
  const char *domain, *op, *name;
  int32_t since_version;
} node_head_t;

static bool parse_node_head(parser_t *parser, node_head_t *head) {
  byoc_lexer_t *lexer = &parser->lexer;
  *head = (node_head_t){.domain = "", .name = ""};
  byoc_token_t next = lexer->token;
  if (byoc_lexer_is_word(lexer, "call") && byoc_lexer_peek(lexer) == BYOC_TOKEN_GLOBAL) {
    byoc_lexer_next(lexer);
    next = lexer->token;
    if (!next.digits) {
      byoc_lexer_next(lexer);
      head->callee = byoc_graph_module_find(parser->module, next.text);
      if (!head->callee) return byoc_lexer_fail_at(lexer, next.offset, "there is no function @%s", next.text);
      head->op = "call";
    } else {
      head->op = "call";
    }
  } else if (!byoc_lexer_is(lexer, BYOC_TOKEN_WORD) && !byoc_lexer_is(lexer, BYOC_TOKEN_STRING)) {
    return byoc_lexer_expected(lexer, "an operator, a call or return");
  } else {
    if (!byoc_lexer_expect_name(lexer, &head->op)) return false;
    if (byoc_lexer_accept(lexer, BYOC_TOKEN_DOUBLE_COLON)) {
      head->domain = head->op;
      if (!byoc_lexer_expect_name(lexer, &head->op)) return false;
    }
  }
  if (!head->callee) {
    next = lexer->token;
    if (!byoc_lexer_is(lexer, BYOC_TOKEN_GLOBAL) || !next.digits)
      return byoc_lexer_expected(lexer, "the operator's version (@13)");
    if (next.integer > INT32_MAX) return byoc_lexer_fail(lexer, "this version is too large");
    head->since_version = (int32_t)next.integer;
    byoc_lexer_next(lexer);
  }
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_STRING)) return lexer->status == BYOC_OK;
  return byoc_lexer_expect_name(lexer, &head->name);
}

static bool parse_node(parser_t *parser, byoc_block_t *block, scope_t *scope) {
  byoc_lexer_t *lexer = &parser->lexer;
  tokens_t names = {0};
  values_t operands = {0};
  node_head_t head;
  if (byoc_lexer_is(lexer, BYOC_TOKEN_VALUE)) {
    do {
      if (!byoc_vector_push(&names, scratch(parser), lexer->token)) return byoc_lexer_fail_memory(lexer);
      if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL)) return false;
  }
  if (!parse_node_head(parser, &head) || !parse_operands(parser, block->function, scope, &operands)) return false;
  uint32_t operand_count = (uint32_t)operands.count, result_count = (uint32_t)names.count;
  byoc_node_t *node =
      head.callee ? byoc_ir_node_create_call(block, NULL, head.callee, operands.data, operand_count, result_count)
                  : byoc_node_create(block, NULL, head.domain, head.op, head.since_version, operands.data,
                                     operand_count, result_count);
  if (!node || !byoc_node_set_name(node, head.name)) return byoc_lexer_fail_memory(lexer);
  if (byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACE) && !byoc_attributes_parse(lexer, parser->module, &node->attributes))
    return false;
  if (!parse_nested_blocks(parser, node, scope) || !parse_result_types(parser, node)) return false;
  for (uint32_t i = 0; i < result_count; ++i) {
    if (!define(parser, scope, &names.data[i], node->results[i])) return false;
  }
  return true;
}

static bool parse_return(parser_t *parser, byoc_block_t *block, scope_t *scope, const declarations_t *declarations) {
  byoc_lexer_t *lexer = &parser->lexer;
  size_t offset = lexer->token.offset, count = 0;
  if (!byoc_lexer_expect_word(lexer, "return")) return false;
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACE)) {
    do {
      byoc_value_t *value = NULL;
      size_t start = lexer->token.offset;
      if (!resolve(parser, block->function, scope, &value)) return false;
      const result_declaration_t *declaration = count < declarations->count ? &declarations->data[count] : NULL;
      if (declaration && !byoc_type_equal(declaration->type, value->type))
        return byoc_lexer_fail_at(lexer, start, "this does not have the declared type of result %zu", count);
      if (declaration && !byoc_block_add_result(block, declaration->name, value)) return byoc_lexer_fail_memory(lexer);
      ++count;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  if (lexer->status == BYOC_OK && count != declarations->count)
    return byoc_lexer_fail_at(lexer, offset, "%zu results are returned, %zu are declared", count, declarations->count);
  return lexer->status == BYOC_OK;
}

static bool parse_block(parser_t *parser, byoc_block_t *block, scope_t *scope, const declarations_t *declarations) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE)) return false;
  while (!byoc_lexer_is_word(lexer, "return")) {
    if (!parse_node(parser, block, scope)) return false;
  }
  return parse_return(parser, block, scope, declarations) && byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE);
}

// ---- functions ----

static bool parse_constant_devices(parser_t *parser, byoc_function_t *function) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE)) return false;
  do {
    byoc_value_t *value = NULL;
    if (!byoc_lexer_is(lexer, BYOC_TOKEN_GLOBAL)) return byoc_lexer_expected(lexer, "a constant");
    if (!resolve(parser, function, NULL, &value)) return false;
    if (!byoc_lexer_is_word(lexer, "on")) return byoc_lexer_expected(lexer, "'on'");
    if (!byoc_virtual_device_parse(lexer, module_arena(parser), &value->device)) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE);
}

static bool set_opaque_body(parser_t *parser, byoc_function_t *function, const declarations_t *declarations) {
  byoc_arena_t *arena = parser->lexer.arena;
  size_t count = declarations->count;
  const char **names = BYOC_ARENA_ARRAY(arena, const char *, count ? count : 1);
  const byoc_type_t **types = BYOC_ARENA_ARRAY(arena, const byoc_type_t *, count ? count : 1);
  if (!names || !types) return byoc_lexer_fail_memory(&parser->lexer);
  for (size_t i = 0; i < count; ++i) {
    names[i] = declarations->data[i].name;
    types[i] = declarations->data[i].type;
  }
  return byoc_function_set_opaque_body(function, names, types, (uint32_t)count)
             ? true
             : byoc_lexer_fail_memory(&parser->lexer);
}

static bool parse_function_rest(parser_t *parser, byoc_function_t *function, scope_t *scope) {
  byoc_lexer_t *lexer = &parser->lexer;
  declarations_t declarations = {0};
  if (!parse_parameters(parser, function->body, scope) || !parse_declarations(parser, &declarations)) return false;
  if (byoc_lexer_accept_word(lexer, "attributes") &&
      !byoc_attributes_parse(lexer, parser->module, &function->attributes))
    return false;
  if (byoc_lexer_accept_word(lexer, "constants") && !parse_constant_devices(parser, function)) return false;
  if (function->kind == BYOC_FUNCTION_KERNEL && byoc_lexer_accept_word(lexer, "loops")) {
    size_t offset = lexer->token.offset;
    byoc_status_t status = byoc_loop_kernel_parse(lexer, module_arena(parser), &function->kernel);
    if (status != BYOC_OK) return byoc_lexer_fail_status(lexer, status, offset);
  }
  if (function->kind != BYOC_FUNCTION_GRAPH && !byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACE))
    return lexer->status == BYOC_OK && set_opaque_body(parser, function, &declarations);
  return parse_block(parser, function->body, scope, &declarations);
}

static bool parse_function(parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_function_kind_t kind = byoc_lexer_accept_word(lexer, "extern")   ? BYOC_FUNCTION_EXTERN
                              : byoc_lexer_accept_word(lexer, "kernel") ? BYOC_FUNCTION_KERNEL
                                                                        : BYOC_FUNCTION_GRAPH;
  byoc_token_t name;
  if (!byoc_lexer_expect_word(lexer, "func")) return false;
  name = lexer->token;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_GLOBAL)) return false;
  byoc_function_t *function = byoc_graph_module_find(parser->module, name.text);
  if (!function) return byoc_lexer_fail_at(lexer, name.offset, "a function cannot be declared here");
  function->kind = kind;
  scope_t scope = {.parent = NULL};
  byoc_string_map_init(&scope.values, parser->module->allocator);
  bool ok = parse_function_rest(parser, function, &scope);
  byoc_map_deinit(&scope.values);
  return ok;
}

// ---- modules ----

static bool parse_constant(parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_type_t *type = NULL;
  void *data = NULL;
  byoc_lexer_next(lexer); // "constant"
  byoc_token_t name = lexer->token;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_GLOBAL) || !byoc_lexer_expect(lexer, BYOC_TOKEN_COLON)) return false;
  size_t type_offset = lexer->token.offset;
  if (!byoc_type_parse(lexer, module_arena(parser), &type)) return false;
  int64_t size = byoc_type_size_bytes(type);
  if (size < 0) return byoc_lexer_fail_at(lexer, type_offset, "a constant has a tensor type without symbols");
  if (size > MAX_CONSTANT_BYTES)
    return byoc_lexer_fail_at(lexer, type_offset, "this constant is too large for a text form");
  if (byoc_graph_module_find(parser->module, name.text) || byoc_graph_module_find_constant(parser->module, name.text))
    return byoc_lexer_fail_at(lexer, name.offset, "@%s is defined already", name.text);
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL)) return false;
  if (!byoc_constant_allocate(parser->module, name.text, type, &data)) return byoc_lexer_fail_memory(lexer);
  return byoc_constant_parse_data(lexer, type, module_arena(parser), data);
}

// Creates the functions, in their order, by walking the tokens of the module's body once.
static bool declare_functions(parser_t *parser) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, parser->module->allocator);
  byoc_lexer_t lexer = parser->lexer; // at the body's first token
  lexer.arena = &arena;
  int64_t depth = 1;
  bool ok = true, is_function = false;
  for (; ok && depth > 0 && !byoc_lexer_is(&lexer, BYOC_TOKEN_END); byoc_lexer_next(&lexer)) {
    byoc_token_t *token = &lexer.token;
    depth += (token->kind == BYOC_TOKEN_LEFT_BRACE) - (token->kind == BYOC_TOKEN_RIGHT_BRACE);
    if (is_function && token->kind == BYOC_TOKEN_GLOBAL) {
      if (byoc_graph_module_find(parser->module, token->text)) {
        ok = byoc_lexer_fail(&lexer, "@%s is defined already", token->text);
      } else if (!byoc_function_create(parser->module, token->text)) {
        ok = byoc_lexer_fail_memory(&lexer);
      }
    }
    is_function = depth == 1 && byoc_lexer_is_word(&lexer, "func");
  }
  if (lexer.status != BYOC_OK) {
    parser->lexer.status = lexer.status;
    parser->lexer.token.kind = BYOC_TOKEN_END;
  }
  byoc_arena_deinit(&arena);
  return parser->lexer.status == BYOC_OK;
}

// Skips {...}: module attributes may name constants, which come after them, and are read last.
static bool skip_braces(byoc_lexer_t *lexer) {
  int64_t depth = 0;
  do {
    if (byoc_lexer_is(lexer, BYOC_TOKEN_END)) return byoc_lexer_expected(lexer, "'}'");
    depth += byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACE);
    depth -= byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACE);
    if (!byoc_lexer_next(lexer)) return false;
  } while (depth > 0);
  return true;
}

static bool parse_module(parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect_word(lexer, "module") || !byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACE))
    return byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE);
  byoc_lexer_t attributes = *lexer, ahead = byoc_lexer_ahead(lexer);
  byoc_lexer_next(&ahead);
  bool has_name = byoc_lexer_is(&ahead, BYOC_TOKEN_WORD) || byoc_lexer_is(&ahead, BYOC_TOKEN_STRING);
  bool has_attributes = has_name && byoc_lexer_peek(&ahead) == BYOC_TOKEN_EQUAL;
  if (has_attributes && !skip_braces(lexer)) return false;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE) || !declare_functions(parser)) return false;
  while (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACE)) {
    bool is_function =
        byoc_lexer_is_word(lexer, "func") || byoc_lexer_is_word(lexer, "extern") || byoc_lexer_is_word(lexer, "kernel");
    if (is_function) {
      if (!parse_function(parser)) return false;
    } else if (byoc_lexer_is_word(lexer, "constant")) {
      if (!parse_constant(parser)) return false;
    } else {
      return byoc_lexer_expected(lexer, "a constant, a function or '}'");
    }
  }
  if (!byoc_lexer_next(lexer) || !byoc_lexer_expect(lexer, BYOC_TOKEN_END)) return false;
  if (has_attributes && !byoc_attributes_parse(&attributes, parser->module, &parser->module->attributes)) {
    lexer->status = attributes.status;
    return false;
  }
  if (attributes.next_unknown > lexer->next_unknown) lexer->next_unknown = attributes.next_unknown;
  return true;
}

byoc_status_t byoc_graph_parse(const char *text, const char *file, byoc_allocator_t allocator, byoc_diag_t *diag,
                               byoc_graph_module_t **out_module) {
  *out_module = NULL;
  parser_t parser = {.module = NULL};
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_status_t status = byoc_graph_module_create(allocator, diag, &parser.module);
  if (status != BYOC_OK) goto cleanup;
  byoc_lexer_init(&parser.lexer, text, file, &arena, diag);
  parse_module(&parser);
  status = parser.lexer.status;
  if (status != BYOC_OK) goto cleanup;
  if (parser.module->next_id < parser.lexer.next_unknown) parser.module->next_id = parser.lexer.next_unknown;
  status = byoc_graph_verify(parser.module, diag);
  if (status != BYOC_OK) {
    status = byoc_diag_context(diag, status, "%s", file);
    goto cleanup;
  }
  *out_module = parser.module;
  parser.module = NULL; // now the caller's
cleanup:
  byoc_graph_module_destroy(parser.module);
  byoc_arena_deinit(&arena);
  return status;
}
