// SPDX-License-Identifier: Apache-2.0
// Parses the instructions of host programs.
#include <string.h>

#include "core/hostir/program/edit.h"
#include "core/hostir/text/text_internal.h"
#include "core/ir/text_parts.h"
#include "core/runtime/container.h"

typedef BYOC_VECTOR(byoc_dim_t) dims_t;

static byoc_allocator_t scratch(byoc_host_parser_t *parser) {
  return byoc_arena_allocator(parser->lexer.arena);
}

// ---- lists ----

static bool push(byoc_host_parser_t *parser, byoc_host_instruction_t *i, bool is_result, byoc_host_buffer_t *buffer) {
  const bool ok =
      is_result ? byoc_host_add_result(parser->program, i, buffer) : byoc_host_add_operand(parser->program, i, buffer);
  return ok || byoc_lexer_fail_memory(&parser->lexer);
}

static bool parse_one(byoc_host_parser_t *parser, byoc_host_instruction_t *i, bool is_result) {
  byoc_host_buffer_t *buffer = NULL;
  return byoc_host_parse_buffer(parser, &buffer) && push(parser, i, is_result, buffer);
}

// (%a, none, %b)
static bool parse_list(byoc_host_parser_t *parser, byoc_host_instruction_t *i, bool is_result) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    bool is_none = !is_result && byoc_lexer_accept_word(lexer, "none");
    if (is_none ? !push(parser, i, false, NULL) : !parse_one(parser, i, is_result)) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool parse_results(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  return byoc_lexer_expect(&parser->lexer, BYOC_TOKEN_ARROW) && parse_list(parser, i, true);
}

// [N, 4], kept in the program's arena; the count is in *out_count.
static bool parse_dims(byoc_host_parser_t *parser, byoc_host_instruction_t *i, size_t *out_count) {
  byoc_lexer_t *lexer = &parser->lexer;
  dims_t dims = {0};
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACKET)) return false;
  do {
    byoc_dim_t dim;
    if (!byoc_dim_parse(lexer, &parser->program->arena, &dim)) return false;
    if (!byoc_vector_push(&dims, scratch(parser), dim)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  *out_count = dims.count;
  i->dims = byoc_arena_copy(&parser->program->arena, dims.data, dims.count * sizeof(*dims.data));
  return i->dims != NULL ? byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET) : byoc_lexer_fail_memory(lexer);
}

static bool parse_symbol(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  const char *name = NULL;
  if (!byoc_lexer_expect_name(&parser->lexer, &name)) return false;
  i->symbol = byoc_host_parse_copy(parser, name);
  return i->symbol != NULL;
}

// The index of a declared symbol.
static bool find_symbol(byoc_host_parser_t *parser, const char *name, size_t offset, uint32_t *out_symbol) {
  uintptr_t index = (uintptr_t)byoc_string_map_get(&parser->program->symbol_indices, name);
  if (index == 0) return byoc_lexer_fail_at(&parser->lexer, offset, "there is no symbol %s", name);
  *out_symbol = (uint32_t)(index - 1);
  return true;
}

// ---- calls ----

static bool later(byoc_host_parser_t *parser, byoc_host_instruction_t *i, int what, const char *name,
                  const char *second, size_t offset) {
  byoc_host_pending_t pending = {.instruction = i, .name = name, .second = second, .offset = offset};
  pending.what = what;
  return byoc_host_parse_later(parser, &pending);
}

static bool parse_kernel(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *name = NULL;
  const size_t offset = lexer->token.offset;
  size_t count = 0;
  if (!byoc_lexer_expect_name(lexer, &name) || !parse_list(parser, i, false)) return false;
  if (byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACKET) && !parse_dims(parser, i, &count)) return false;
  i->symbol_count = (uint32_t)count; // until the kernel is looked up
  if (!parse_results(parser, i)) return false;
  if (byoc_lexer_accept_word(lexer, "over")) {
    int64_t operand = 0;
    if (!byoc_lexer_expect_i64_in(lexer, 0, (int64_t)i->operands.count - 1, &operand)) return false;
    i->takes_operand = (uint32_t)operand + 1;
  }
  return later(parser, i, BYOC_HOST_KERNEL_NAME, name, NULL, offset);
}

static bool parse_packed(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  return parse_symbol(parser, i) && parse_list(parser, i, false) && parse_results(parser, i);
}

static bool parse_engine(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *engine = NULL, *json = NULL;
  if (!parse_packed(parser, i) || !byoc_lexer_expect_word(lexer, "by")) return false;
  const size_t offset = lexer->token.offset;
  return byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &engine) &&
         byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &json) &&
         later(parser, i, BYOC_HOST_MODULE_NAME, engine, json, offset);
}

static bool is_container(const char *name) {
#define BYOC_CONTAINER_IS(op, function) strcmp(name, op) == 0 ||
  return BYOC_CONTAINER_LIST(BYOC_CONTAINER_IS) false;
#undef BYOC_CONTAINER_IS
}

static bool parse_container(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  const size_t offset = lexer->token.offset;
  if (!parse_packed(parser, i)) return false;
  if (!is_container(i->symbol)) {
    return byoc_lexer_fail_at(lexer, offset, "'%s' is no operator on sequences or optionals", i->symbol);
  }
  if (i->results.count != 1 || i->results.data[0] == NULL) {
    return byoc_lexer_fail_at(lexer, offset, "'%s' has one result", i->symbol);
  }
  if (byoc_lexer_accept_word(lexer, "axis") && !byoc_lexer_expect_i64(lexer, &i->axis)) return false;
  return !byoc_lexer_accept_word(lexer, "flag") || byoc_lexer_expect_i64(lexer, &i->flag);
}

static bool parse_c_type(byoc_lexer_t *lexer, uint32_t *out_type) {
  for (uint32_t type = 0; type < BYOC_HOST_C_TYPE_COUNT; ++type) {
    *out_type = type;
    if (byoc_lexer_accept_word(lexer, byoc_host_c_type_names[type])) return true;
  }
  return byoc_lexer_expected(lexer, "a C type");
}

static bool parse_pointer(byoc_host_parser_t *parser, byoc_c_argument_t *argument) {
  byoc_lexer_t *lexer = &parser->lexer;
  int64_t index = 0;
  argument->type = BYOC_C_POINTER;
  if (!byoc_lexer_expect_i64_in(lexer, 0, UINT32_MAX, &index)) return false;
  argument->index = (uint32_t)index;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_PLUS) && !byoc_lexer_expect_i64(lexer, &argument->offset_bytes)) return false;
  return !byoc_lexer_accept_word(lexer, "step") || byoc_lexer_expect_i64(lexer, &argument->step_bytes);
}

static bool parse_c_argument(byoc_host_parser_t *parser, byoc_c_argument_t *argument) {
  byoc_lexer_t *lexer = &parser->lexer;
  *argument = (byoc_c_argument_t){.kind = BYOC_C_ARGUMENT_NULL, .type = BYOC_C_POINTER};
  if (byoc_lexer_accept_word(lexer, "null")) return true;
  argument->kind = BYOC_C_ARGUMENT_RUNTIME;
  if (byoc_lexer_accept_word(lexer, "runtime")) return true;
  argument->kind = BYOC_C_ARGUMENT_OPERAND;
  if (byoc_lexer_accept_word(lexer, "operand")) return parse_pointer(parser, argument);
  argument->kind = BYOC_C_ARGUMENT_RESULT;
  if (byoc_lexer_accept_word(lexer, "result")) return parse_pointer(parser, argument);
  if (!parse_c_type(lexer, &argument->type)) return false;
  const bool is_real = argument->type == BYOC_C_F32 || argument->type == BYOC_C_F64;
  argument->kind = is_real ? BYOC_C_ARGUMENT_REAL : BYOC_C_ARGUMENT_INTEGER;
  return is_real ? byoc_lexer_expect_f64(lexer, &argument->real) : byoc_lexer_expect_i64(lexer, &argument->integer);
}

static bool parse_c_arguments(byoc_host_parser_t *parser, byoc_c_call_t *call) {
  byoc_lexer_t *lexer = &parser->lexer;
  BYOC_VECTOR(byoc_c_argument_t) arguments = {0};
  if (!byoc_lexer_expect_word(lexer, "with") || !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  while (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_PAREN)) {
    byoc_c_argument_t argument;
    if (!parse_c_argument(parser, &argument)) return false;
    if (!byoc_vector_push(&arguments, scratch(parser), argument)) return byoc_lexer_fail_memory(lexer);
    if (!byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA)) break;
  }
  call->argument_count = (uint32_t)arguments.count;
  call->arguments = byoc_arena_copy(&parser->program->arena, arguments.data, arguments.count * sizeof(*arguments.data));
  if (call->arguments == NULL) return byoc_lexer_fail_memory(lexer);
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool parse_c_call(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_c_call_t *call = BYOC_ARENA_NEW(&parser->program->arena, byoc_c_call_t);
  if (call == NULL) return byoc_lexer_fail_memory(lexer);
  *call = (byoc_c_call_t){.header = BYOC_HEADER(byoc_c_call_t, 1), .repeat_count = 1, .result_from_operand = -1};
  i->c_call = call;
  if (!parse_c_type(lexer, &call->return_type) || !parse_packed(parser, i) || !parse_c_arguments(parser, call)) {
    return false;
  }
  call->symbol = i->symbol;
  if (byoc_lexer_accept_word(lexer, "times") && !byoc_lexer_expect_i64(lexer, &call->repeat_count)) return false;
  if (!byoc_lexer_accept_word(lexer, "start")) return lexer->status == BYOC_OK;
  int64_t start = 0;
  if (!byoc_lexer_expect_word(lexer, "operand") || !byoc_lexer_expect_i64_in(lexer, 0, INT32_MAX, &start)) return false;
  call->result_from_operand = (int32_t)start;
  return true;
}

// [workspace %s] [of @function] [flops 8192.0 [int8]]
static bool parse_call_rest(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (byoc_lexer_accept_word(lexer, "workspace")) {
    byoc_host_buffer_t *buffer = NULL;
    if (!byoc_host_parse_buffer(parser, &buffer)) return false;
    if (!byoc_host_set_workspace(parser->program, i, buffer)) return byoc_lexer_fail_memory(lexer);
  }
  if (byoc_lexer_accept_word(lexer, "of")) {
    const byoc_token_t token = lexer->token;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_GLOBAL) ||
        !later(parser, i, BYOC_HOST_FUNCTION_NAME, token.text, NULL, token.offset)) {
      return false;
    }
  }
  if (!byoc_lexer_accept_word(lexer, "flops")) return true;
  if (!byoc_lexer_expect_f64(lexer, &i->flops)) return false;
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    if (byoc_lexer_accept_word(lexer, byoc_arithmetic_name((byoc_arithmetic_t)t))) {
      i->arithmetic = (byoc_arithmetic_t)t;
      break;
    }
  }
  return true;
}

// ---- on devices ----

// "module" "entry" grid [4, 1, 1] block [64, 1, 1] (%t, %w) -> (%u) with (operand 0, i32 4)
static bool parse_launch(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_host_launch_t *launch = BYOC_ARENA_NEW(&parser->program->arena, byoc_host_launch_t);
  if (launch == NULL) return byoc_lexer_fail_memory(&parser->lexer);
  if (!byoc_host_parse_launch_head(parser, launch)) return false;
  i->launch = launch;
  i->symbol = launch->entry;
  return parse_list(parser, i, false) && parse_results(parser, i) && byoc_host_parse_arguments(parser, launch);
}

// %t with 0
static bool parse_fill(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  return parse_one(parser, i, true) && byoc_lexer_expect_word(&parser->lexer, "with") &&
         byoc_host_parse_unsigned(parser, &i->pattern);
}

// ---- symbols ----

static bool parse_match_rule(byoc_host_parser_t *parser, byoc_host_match_t *match) {
  byoc_lexer_t *lexer = &parser->lexer;
  const bool binds = byoc_lexer_accept_word(lexer, "binds");
  if (!binds && !byoc_lexer_expect_word(lexer, "is")) return false;
  const size_t offset = lexer->token.offset;
  int64_t axis = 0;
  *match = (byoc_host_match_t){.symbol = BYOC_HOST_SYMBOL_NONE};
  if (!byoc_dim_parse(lexer, &parser->program->arena, &match->dim) || !byoc_lexer_expect_word(lexer, "at") ||
      !byoc_lexer_expect_i64_in(lexer, 0, UINT32_MAX, &axis)) {
    return false;
  }
  match->axis = (uint32_t)axis;
  if (!binds) return true;
  if (byoc_dim_is_constant(match->dim) || match->dim.expr->kind != BYOC_DIM_SYMBOL) {
    return byoc_lexer_fail_at(lexer, offset, "only a symbol can be bound");
  }
  return find_symbol(parser, match->dim.expr->symbol, offset, &match->symbol);
}

static bool parse_match(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  BYOC_VECTOR(byoc_host_match_t) rules = {0};
  if (!parse_one(parser, i, false)) return false;
  if (byoc_lexer_is_word(lexer, "binds") || byoc_lexer_is_word(lexer, "is")) {
    do {
      byoc_host_match_t rule;
      if (!parse_match_rule(parser, &rule)) return false;
      if (!byoc_vector_push(&rules, scratch(parser), rule)) return byoc_lexer_fail_memory(lexer);
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  i->match_count = (uint32_t)rules.count;
  i->matches = byoc_arena_copy(&parser->program->arena, rules.data, rules.count * sizeof(*rules.data));
  return i->matches != NULL || byoc_lexer_fail_memory(lexer);
}

static bool parse_bind(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  BYOC_VECTOR(uint32_t) symbols = {0};
  if (!parse_one(parser, i, false) || !byoc_lexer_expect_word(lexer, "to")) return false;
  do {
    const char *name = NULL;
    const size_t offset = lexer->token.offset;
    uint32_t symbol = 0;
    if (!byoc_lexer_expect_name(lexer, &name) || !find_symbol(parser, name, offset, &symbol)) return false;
    if (!byoc_vector_push(&symbols, scratch(parser), symbol)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  const char *by = NULL;
  if (!byoc_lexer_expect_word(lexer, "by") || !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &by)) return false;
  i->symbol = byoc_host_parse_copy(parser, by);
  i->symbol_count = (uint32_t)symbols.count;
  i->symbols = byoc_arena_copy(&parser->program->arena, symbols.data, symbols.count * sizeof(*symbols.data));
  if (i->symbols == NULL) return byoc_lexer_fail_memory(lexer);
  return i->symbol != NULL;
}

static bool parse_relation_name(byoc_host_parser_t *parser, const char *word, const char **out_name) {
  const char *text = NULL;
  if (!byoc_lexer_accept_word(&parser->lexer, word)) return parser->lexer.status == BYOC_OK;
  if (!byoc_lexer_expect_text(&parser->lexer, BYOC_TOKEN_STRING, &text)) return false;
  *out_name = byoc_host_parse_copy(parser, text);
  return *out_name != NULL;
}

static bool parse_relation(byoc_host_parser_t *parser, byoc_host_relation_t *relation) {
  byoc_lexer_t *lexer = &parser->lexer;
  *relation = (byoc_host_relation_t){.kind = BYOC_RELATION_EQUAL};
  if (!byoc_dim_parse(lexer, &parser->program->arena, &relation->left)) return false;
  int kind = 0;
  while (kind < BYOC_RELATION_COUNT && !byoc_lexer_accept_word(lexer, byoc_host_relation_words[kind])) ++kind;
  if (kind == BYOC_RELATION_COUNT) return byoc_lexer_expected(lexer, "a relation");
  relation->kind = (byoc_relation_kind_t)kind;
  return byoc_dim_parse(lexer, &parser->program->arena, &relation->right) &&
         parse_relation_name(parser, "by", &relation->names.where) &&
         parse_relation_name(parser, "left", &relation->names.left) &&
         parse_relation_name(parser, "right", &relation->names.right);
}

static bool parse_require(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  i->symbol = "shapes";
  i->of_inputs = byoc_lexer_accept_word(lexer, "of");
  if (i->of_inputs && !byoc_lexer_expect_word(lexer, "inputs")) return false;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    byoc_host_relation_t relation;
    if (!parse_relation(parser, &relation)) return false;
    if (!byoc_vector_push(&i->relations, parser->program->arena.allocator, relation)) {
      return byoc_lexer_fail_memory(lexer);
    }
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

// K = I * 4 + 1
static bool parse_let(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *name = NULL;
  const size_t offset = lexer->token.offset;
  i->symbols = BYOC_ARENA_NEW(&parser->program->arena, uint32_t);
  i->dims = BYOC_ARENA_NEW(&parser->program->arena, byoc_dim_t);
  if (i->symbols == NULL || i->dims == NULL) return byoc_lexer_fail_memory(lexer);
  if (!byoc_lexer_expect_name(lexer, &name) || !find_symbol(parser, name, offset, i->symbols)) return false;
  i->symbol_count = 1;
  return byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) && byoc_dim_parse(lexer, &parser->program->arena, i->dims);
}

// [I, I * 2] -> (%t)
static bool parse_store(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  const size_t offset = lexer->token.offset;
  size_t count = 0;
  if (!parse_dims(parser, i, &count) || !parse_results(parser, i)) return false;
  const byoc_type_t *type = i->results.count == 1 ? i->results.data[0]->type : NULL;
  if (type != NULL && byoc_type_is_static(type) && byoc_type_element_count(type) == (int64_t)count) return true;
  return byoc_lexer_fail_at(lexer, offset, "a store gives a value to each element of one result");
}

// ---- control ----

// I from 0 to 8 step 2 carrying (%x) -> (%y)
static bool parse_counted_loop(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_arena_t *arena = &parser->program->arena;
  const char *name = NULL;
  const size_t offset = lexer->token.offset;
  byoc_host_count_t *count = BYOC_ARENA_NEW(arena, byoc_host_count_t);
  if (count == NULL) return byoc_lexer_fail_memory(lexer);
  count->step = byoc_dim_constant(1);
  if (!byoc_lexer_expect_name(lexer, &name) || !find_symbol(parser, name, offset, &count->symbol) ||
      !byoc_lexer_expect_word(lexer, "from") || !byoc_dim_parse(lexer, arena, &count->start) ||
      !byoc_lexer_expect_word(lexer, "to") || !byoc_dim_parse(lexer, arena, &count->stop)) {
    return false;
  }
  if (byoc_lexer_accept_word(lexer, "step") && !byoc_dim_parse(lexer, arena, &count->step)) return false;
  i->count = count;
  if (!byoc_lexer_accept_word(lexer, "carrying")) return lexer->status == BYOC_OK;
  return parse_list(parser, i, false) && parse_results(parser, i);
}

// The head of a branch or loop, in front of its origin.
static bool parse_control(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (i->op == BYOC_HOST_LOOP && !byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_PAREN)) return parse_counted_loop(parser, i);
  if (!parse_list(parser, i, false)) return false;
  if (byoc_lexer_is(lexer, BYOC_TOKEN_ARROW) && !parse_results(parser, i)) return false;
  if (i->op != BYOC_HOST_LOOP) return true;
  size_t count = 0, wanted = byoc_host_loop_dim_count(i);
  const size_t offset = lexer->token.offset;
  if (byoc_lexer_accept_word(lexer, "scanned") && !parse_dims(parser, i, &count)) return false;
  if (count != wanted)
    return byoc_lexer_fail_at(lexer, offset, "the loop scans %zu dimensions, not %zu", wanted, count);
  return lexer->status == BYOC_OK;
}

static bool parse_parameters(byoc_host_parser_t *parser, byoc_host_region_t *region) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    byoc_host_buffer_t *buffer = NULL;
    const size_t offset = lexer->token.offset;
    if (!byoc_host_parse_buffer(parser, &buffer)) return false;
    if (buffer->is_parameter || buffer->kind != BYOC_HOST_BUFFER_LOCAL) {
      return byoc_lexer_fail_at(lexer, offset, "%%%s cannot be a parameter here", buffer->name);
    }
    if (!byoc_host_add_parameter(parser->program, region, buffer)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool parse_regions(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  static const char *const words[] = {"then", "else"};
  byoc_lexer_t *lexer = &parser->lexer;
  const bool is_loop = i->op == BYOC_HOST_LOOP;
  if (!byoc_host_instruction_add_regions(parser->program, i, is_loop ? 1 : 2)) return byoc_lexer_fail_memory(lexer);
  if (!byoc_lexer_enter(lexer)) return false;
  for (uint32_t r = 0; r < i->region_count; ++r) {
    if (!byoc_lexer_expect_word(lexer, is_loop ? "body" : words[r])) return false;
    const bool has_none = i->count != NULL && byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACE);
    if (is_loop && !has_none && !parse_parameters(parser, &i->regions[r])) return false;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE) || !byoc_host_parse_region(parser, &i->regions[r]) ||
        !byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE)) {
      return false;
    }
  }
  byoc_lexer_leave(lexer);
  return true;
}

// ---- instructions ----

// "%t zeroed"
static bool parse_allocate(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  if (!parse_one(parser, i, false)) return false;
  for (int kind = BYOC_HOST_FRESH + 1; kind < BYOC_HOST_ALLOCATION_COUNT; ++kind) {
    if (!byoc_lexer_accept_word(&parser->lexer, byoc_host_allocation_words[kind])) continue;
    i->allocation = (byoc_host_allocation_t)kind;
    return true;
  }
  return parser->lexer.status == BYOC_OK;
}

static bool parse_operation(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  switch (i->op) {
  case BYOC_HOST_ALLOCATE:
    return parse_allocate(parser, i);
  case BYOC_HOST_FREE:
    return parse_one(parser, i, false);
  case BYOC_HOST_COPY:
  case BYOC_HOST_SHARE:
    return parse_one(parser, i, false) && byoc_lexer_expect(&parser->lexer, BYOC_TOKEN_ARROW) &&
           parse_one(parser, i, true);
  case BYOC_HOST_MATCH:
    return parse_match(parser, i);
  case BYOC_HOST_BIND:
    return parse_bind(parser, i);
  case BYOC_HOST_REQUIRE:
    return parse_require(parser, i);
  case BYOC_HOST_YIELD:
    return parse_list(parser, i, false);
  case BYOC_HOST_KERNEL:
    return parse_kernel(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_PACKED:
    return parse_packed(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_ENGINE:
    return parse_engine(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_C_CALL:
    return parse_c_call(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_CONTAINER:
    return parse_container(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_LET:
    return parse_let(parser, i);
  case BYOC_HOST_STORE:
    return parse_store(parser, i);
  case BYOC_HOST_BRANCH:
  case BYOC_HOST_LOOP:
    return parse_control(parser, i);
  case BYOC_HOST_LAUNCH:
    return parse_launch(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_FILL:
    return parse_fill(parser, i);
  case BYOC_HOST_BARRIER:
    return true;
  case BYOC_HOST_AWAIT:
    return byoc_host_parse_events(parser, i);
  case BYOC_HOST_COLLECTIVE:
    return parse_packed(parser, i) && byoc_host_parse_collective(parser, i) && parse_call_rest(parser, i);
  case BYOC_HOST_OP_COUNT:
    break;
  }
  return false;
}

static bool parse_instruction(byoc_host_parser_t *parser, byoc_host_region_t *region) {
  byoc_lexer_t *lexer = &parser->lexer;
  int op = 0;
  while (op < BYOC_HOST_OP_COUNT && !byoc_lexer_accept_word(lexer, byoc_host_op_name((byoc_host_op_t)op))) ++op;
  if (op == BYOC_HOST_OP_COUNT) return byoc_lexer_expected(lexer, "an instruction or '}'");
  byoc_host_instruction_t *i = byoc_host_instruction_append(parser->program, region, (byoc_host_op_t)op);
  if (i == NULL) return byoc_lexer_fail_memory(lexer);
  if (!parse_operation(parser, i) || !byoc_host_parse_order(parser, i)) return false;
  i->origin = "";
  const char *origin = lexer->token.text;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_STRING)) i->origin = byoc_host_parse_copy(parser, origin);
  if (i->origin == NULL) return false;
  return (i->op != BYOC_HOST_BRANCH && i->op != BYOC_HOST_LOOP) || parse_regions(parser, i);
}

bool byoc_host_parse_region(byoc_host_parser_t *parser, byoc_host_region_t *region) {
  while (!byoc_lexer_is(&parser->lexer, BYOC_TOKEN_RIGHT_BRACE)) {
    if (!parse_instruction(parser, region)) return false;
  }
  return parser->lexer.status == BYOC_OK;
}
