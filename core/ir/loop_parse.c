// SPDX-License-Identifier: Apache-2.0
// Parses loop kernels. Expressions are made as they are written, without folding, so that a kernel comes back as
// printed.
#include <string.h>

#include "core/base/map.h"
#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"
#include "core/ir/loop_text.h"
#include "core/ir/text_parts.h"

typedef struct parser_t {
  byoc_lexer_t *lexer;
  byoc_arena_t *arena;
  byoc_loop_builder_t builder;                  // makes the nodes; owns the blocks of the kernel
  byoc_loop_scope_t *scope;                     // definitions so far
  bool is_part;                                 // it parses a part of a kernel: byoc_loop_statements_parse
  BYOC_VECTOR(const char *) names;              // of a part: its definitions so far, innermost last
  BYOC_VECTOR(const byoc_loop_expr_t *) shared; // of the statement: #1, #2 ..., in the lexer's arena
} parser_t;

static const byoc_loop_expr_t *parse_expr(parser_t *parser);
static bool parse_block(parser_t *parser, byoc_loop_stmt_t *block);

static const byoc_loop_expr_t *fail_expr(parser_t *parser, const char *what) {
  byoc_lexer_expected(parser->lexer, what);
  return NULL;
}

static byoc_loop_expr_t *new_expr(parser_t *parser, byoc_loop_expr_kind_t kind, byoc_dtype_t dtype) {
  byoc_loop_expr_t *expr = BYOC_ARENA_NEW(parser->arena, byoc_loop_expr_t);
  if (!expr) {
    byoc_lexer_fail_memory(parser->lexer);
    return NULL;
  }
  expr->kind = kind;
  expr->dtype = dtype;
  return expr;
}

static bool expect(parser_t *parser, byoc_token_kind_t kind) {
  return byoc_lexer_expect(parser->lexer, kind);
}

// ---- literals ----

static const byoc_loop_expr_t *parse_number(parser_t *parser, byoc_dtype_t dtype) {
  byoc_lexer_t *lexer = parser->lexer;
  byoc_loop_expr_t *expr = new_expr(parser, BYOC_LOOP_CONST, dtype);
  if (!expr) return NULL;
  if (dtype == BYOC_DTYPE_NONE) return byoc_lexer_expect_f64(lexer, &expr->number.f) ? expr : NULL;
  if (byoc_loop_is_float(dtype)) {
    bool negative = byoc_lexer_is(lexer, BYOC_TOKEN_MINUS);
    byoc_lexer_t ahead = byoc_lexer_ahead(lexer);
    if (negative) byoc_lexer_next(&ahead);
    float single = ahead.token.single;
    if (!byoc_lexer_expect_f64(lexer, &expr->number.f)) return NULL;
    bool is_digits = ahead.token.kind == BYOC_TOKEN_FLOAT || ahead.token.kind == BYOC_TOKEN_INTEGER;
    if (dtype != BYOC_DTYPE_F64 && is_digits) expr->number.f = negative ? -(double)single : (double)single;
    return expr;
  }
  if (dtype == BYOC_DTYPE_U64 && byoc_lexer_is(lexer, BYOC_TOKEN_INTEGER)) {
    expr->number.i = (int64_t)lexer->token.integer;
    return byoc_lexer_next(lexer) ? expr : NULL;
  }
  return byoc_lexer_expect_i64(lexer, &expr->number.i) ? expr : NULL;
}

// A number with a point and without a type.
static const byoc_loop_expr_t *parse_plain_float(parser_t *parser) {
  return parse_number(parser, parser->is_part ? BYOC_DTYPE_NONE : BYOC_DTYPE_F32);
}

// ---- names and calls ----

// The kernel's copy of a symbol's name, which is added if it is new; NULL if out of memory.
static const char *add_symbol(parser_t *parser, const char *name) {
  byoc_loop_kernel_t *kernel = parser->builder.kernel;
  for (size_t i = 0; i < kernel->symbols.count; ++i)
    if (strcmp(kernel->symbols.data[i], name) == 0) return kernel->symbols.data[i];
  const char *copy = byoc_arena_copy_string(parser->arena, name);
  if (copy && byoc_vector_push(&kernel->symbols, byoc_arena_allocator(parser->arena), copy)) return copy;
  byoc_lexer_fail_memory(parser->lexer);
  return NULL;
}

static const byoc_loop_expr_t *parse_dim(parser_t *parser) {
  const char *symbol;
  if (!expect(parser, BYOC_TOKEN_LEFT_PAREN) || !byoc_lexer_expect_text(parser->lexer, BYOC_TOKEN_STRING, &symbol) ||
      !expect(parser, BYOC_TOKEN_RIGHT_PAREN))
    return NULL;
  byoc_loop_expr_t *expr = new_expr(parser, BYOC_LOOP_DIM, BYOC_DTYPE_I64);
  if (expr) expr->symbol = add_symbol(parser, symbol);
  return expr && expr->symbol ? expr : NULL;
}

// The element type that a word stands for; BYOC_DTYPE_NONE if there is none.
static byoc_dtype_t dtype_of(const parser_t *parser, const char *name) {
  const void *stands_for = byoc_string_map_get(&parser->scope->dtypes, name);
  return stands_for ? (byoc_dtype_t)(uintptr_t)stands_for : byoc_dtype_parse(name);
}

static bool parse_dtype(parser_t *parser, byoc_dtype_t *out_dtype) {
  const char *name;
  size_t offset = parser->lexer->token.offset;
  *out_dtype = BYOC_DTYPE_NONE;
  if (!byoc_lexer_expect_text(parser->lexer, BYOC_TOKEN_WORD, &name)) return false;
  *out_dtype = dtype_of(parser, name);
  return byoc_loop_is_scalar(*out_dtype) || byoc_lexer_fail_at(parser->lexer, offset, "no element type '%s'", name);
}

static const byoc_loop_expr_t *parse_cast(parser_t *parser) {
  byoc_dtype_t dtype;
  if (!expect(parser, BYOC_TOKEN_LEFT_PAREN) || !parse_dtype(parser, &dtype) || !expect(parser, BYOC_TOKEN_COMMA))
    return NULL;
  const byoc_loop_expr_t *value = parse_expr(parser);
  if (!value || !expect(parser, BYOC_TOKEN_RIGHT_PAREN)) return NULL;
  byoc_loop_expr_t *expr = new_expr(parser, BYOC_LOOP_CAST, dtype);
  if (expr) expr->cast = value;
  return expr;
}

static const byoc_loop_expr_t *parse_select(parser_t *parser) {
  if (!expect(parser, BYOC_TOKEN_LEFT_PAREN)) return NULL;
  const byoc_loop_expr_t *condition = parse_expr(parser);
  if (!condition || !expect(parser, BYOC_TOKEN_COMMA)) return NULL;
  const byoc_loop_expr_t *yes = parse_expr(parser);
  if (!yes || !expect(parser, BYOC_TOKEN_COMMA)) return NULL;
  const byoc_loop_expr_t *no = parse_expr(parser);
  if (!no || !expect(parser, BYOC_TOKEN_RIGHT_PAREN)) return NULL;
  byoc_loop_expr_t *expr = new_expr(parser, BYOC_LOOP_SELECT, yes->dtype);
  if (expr) expr->select.condition = condition, expr->select.yes = yes, expr->select.no = no;
  return expr;
}

static const byoc_loop_expr_t *make_op(parser_t *parser, byoc_loop_op_t op, const byoc_loop_expr_t *a,
                                       const byoc_loop_expr_t *b) {
  const byoc_loop_expr_t *expr =
      byoc_loop_raw_op(&parser->builder, op, byoc_loop_is_comparison(op) ? BYOC_DTYPE_BOOL : a->dtype, a, b);
  if (!expr) byoc_lexer_fail_memory(parser->lexer);
  return expr;
}

static const byoc_loop_expr_t *parse_call(parser_t *parser, const char *name, size_t offset) {
  byoc_loop_op_t op = BYOC_LOOP_OP_ADD;
  while (op < BYOC_LOOP_OP_COUNT && strcmp(byoc_loop_op_name(op), name) != 0) ++op;
  if (op == BYOC_LOOP_OP_COUNT) {
    byoc_lexer_fail_at(parser->lexer, offset, "no operator, variable or buffer '%s'", name);
    return NULL;
  }
  if (!expect(parser, BYOC_TOKEN_LEFT_PAREN)) return NULL;
  const byoc_loop_expr_t *a = parse_expr(parser), *b = NULL;
  if (!a) return NULL;
  if (byoc_loop_op_operand_count(op) == 2 && (!expect(parser, BYOC_TOKEN_COMMA) || (b = parse_expr(parser)) == NULL))
    return NULL;
  return expect(parser, BYOC_TOKEN_RIGHT_PAREN) ? make_op(parser, op, a, b) : NULL;
}

static const byoc_loop_expr_t *parse_load(parser_t *parser, const byoc_loop_buffer_t *buffer) {
  if (!expect(parser, BYOC_TOKEN_LEFT_BRACKET)) return NULL;
  const byoc_loop_expr_t *index = parse_expr(parser);
  if (!index || !expect(parser, BYOC_TOKEN_RIGHT_BRACKET)) return NULL;
  byoc_loop_expr_t *expr = new_expr(parser, BYOC_LOOP_LOAD, buffer->dtype);
  if (expr) expr->load.buffer = buffer, expr->load.index = index;
  return expr;
}

static const byoc_loop_expr_t *parse_word(parser_t *parser) {
  byoc_lexer_t *lexer = parser->lexer;
  const char *name = lexer->token.text;
  size_t offset = lexer->token.offset;
  bool is_call = byoc_lexer_peek(lexer) == BYOC_TOKEN_LEFT_PAREN;
  byoc_loop_expr_t *expr;
  if (!is_call && (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0)) return parse_plain_float(parser);
  if (!byoc_lexer_next(lexer)) return NULL;
  if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
    expr = new_expr(parser, BYOC_LOOP_CONST, BYOC_DTYPE_BOOL);
    if (expr) expr->number.i = name[0] == 't';
    return expr;
  }
  if (!is_call) {
    const byoc_loop_buffer_t *buffer = byoc_string_map_get(&parser->scope->buffers, name);
    if (buffer) return parse_load(parser, buffer);
    const byoc_loop_expr_t *value = byoc_string_map_get(&parser->scope->values, name);
    if (value) return value;
    const byoc_loop_variable_info_t *info = byoc_string_map_get(&parser->scope->variables, name);
    if (!info) {
      byoc_lexer_fail_at(lexer, offset, "no variable or buffer '%s'", name);
      return NULL;
    }
    expr = new_expr(parser, BYOC_LOOP_VARIABLE, info->variable.dtype);
    if (expr) expr->variable = &info->variable;
    return expr;
  }
  if (strcmp(name, "dim") == 0 && !parser->is_part) return parse_dim(parser);
  if (strcmp(name, "cast") == 0) return parse_cast(parser);
  if (strcmp(name, "select") == 0) return parse_select(parser);
  byoc_dtype_t dtype = dtype_of(parser, name);
  if (!byoc_loop_is_scalar(dtype)) return parse_call(parser, name, offset);
  if (!expect(parser, BYOC_TOKEN_LEFT_PAREN)) return NULL;
  const byoc_loop_expr_t *number = parse_number(parser, dtype);
  return number && expect(parser, BYOC_TOKEN_RIGHT_PAREN) ? number : NULL;
}

// ---- sums and products ----

// #1(...) or, after that, #1.
static const byoc_loop_expr_t *parse_shared(parser_t *parser) {
  byoc_lexer_t *lexer = parser->lexer;
  size_t offset = lexer->token.offset, count = parser->shared.count;
  byoc_lexer_next(lexer);
  uint64_t number = lexer->token.integer;
  if (!expect(parser, BYOC_TOKEN_INTEGER)) return NULL;
  if (number >= 1 && number <= count && parser->shared.data[number - 1]) return parser->shared.data[number - 1];
  if (number != count + 1 || !byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_PAREN)) {
    byoc_lexer_fail_at(lexer, offset, "there is no shared expression #%llu here", (unsigned long long)number);
    return NULL;
  }
  // Its own number comes before those of the expressions inside of it.
  if (!byoc_vector_push(&parser->shared, byoc_arena_allocator(lexer->arena), NULL)) {
    byoc_lexer_fail_memory(lexer);
    return NULL;
  }
  const byoc_loop_expr_t *expr = parse_expr(parser);
  if (!expr || !expect(parser, BYOC_TOKEN_RIGHT_PAREN)) return NULL;
  parser->shared.data[count] = expr;
  return expr;
}

static const byoc_loop_expr_t *parse_primary(parser_t *parser) {
  byoc_lexer_t *lexer = parser->lexer;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_PAREN)) {
    const byoc_loop_expr_t *inner = parse_expr(parser);
    return inner && expect(parser, BYOC_TOKEN_RIGHT_PAREN) ? inner : NULL;
  }
  if (byoc_lexer_is(lexer, BYOC_TOKEN_HASH)) return parse_shared(parser);
  if (byoc_lexer_is_float(lexer)) return parse_plain_float(parser);
  if (byoc_lexer_is(lexer, BYOC_TOKEN_INTEGER) || byoc_lexer_is(lexer, BYOC_TOKEN_MINUS))
    return parse_number(parser, BYOC_DTYPE_I64);
  if (byoc_lexer_is(lexer, BYOC_TOKEN_WORD)) return parse_word(parser);
  return fail_expr(parser, "an expression");
}

static const byoc_loop_expr_t *parse_product(parser_t *parser) {
  const byoc_loop_expr_t *left = parse_primary(parser);
  while (left && byoc_lexer_accept(parser->lexer, BYOC_TOKEN_STAR)) {
    const byoc_loop_expr_t *right = parse_primary(parser);
    left = right ? make_op(parser, BYOC_LOOP_OP_MUL, left, right) : NULL;
  }
  return left;
}

static const byoc_loop_expr_t *parse_expr(parser_t *parser) {
  if (!byoc_lexer_enter(parser->lexer)) return NULL;
  const byoc_loop_expr_t *left = parse_product(parser);
  for (;;) {
    bool add = byoc_lexer_is(parser->lexer, BYOC_TOKEN_PLUS), sub = byoc_lexer_is(parser->lexer, BYOC_TOKEN_MINUS);
    if (!left || (!add && !sub)) break;
    byoc_lexer_next(parser->lexer);
    const byoc_loop_expr_t *right = parse_product(parser);
    left = right ? make_op(parser, add ? BYOC_LOOP_OP_ADD : BYOC_LOOP_OP_SUB, left, right) : NULL;
  }
  byoc_lexer_leave(parser->lexer);
  return left;
}

// ---- statements ----

static bool new_name(parser_t *parser, const char **out_name) {
  size_t offset = parser->lexer->token.offset;
  const char *name;
  if (!byoc_lexer_expect_text(parser->lexer, BYOC_TOKEN_WORD, &name)) return false;
  *out_name = byoc_arena_copy_string(parser->arena, name);
  if (!*out_name) return byoc_lexer_fail_memory(parser->lexer);
  const byoc_loop_scope_t *scope = parser->scope;
  if (byoc_string_map_get(&scope->variables, name) || byoc_string_map_get(&scope->buffers, name) ||
      byoc_string_map_get(&scope->values, name) || byoc_string_map_get(&scope->dtypes, name))
    return byoc_lexer_fail_at(parser->lexer, offset, "'%s' is defined twice", name);
  char identifier[256];
  byoc_make_identifier(name, identifier, sizeof(identifier));
  if (strcmp(identifier, name) != 0)
    return byoc_lexer_fail_at(parser->lexer, offset, "'%s' is not a C identifier", name);
  return parser->is_part || byoc_loop_name_is_free(name) || // those of a part become others
         byoc_lexer_fail_at(parser->lexer, offset, "'%s' is a name of C, or one that kernels in C use themselves",
                            name);
}

// Names of a part end with the block in which they are defined; those of a kernel are unique in it.
static bool note_name(parser_t *parser, const char *name) {
  return !parser->is_part || byoc_vector_push(&parser->names, byoc_arena_allocator(parser->lexer->arena), name) ||
         byoc_lexer_fail_memory(parser->lexer);
}

static void forget_names(parser_t *parser, size_t mark) {
  while (parser->names.count > mark) {
    const char *name = parser->names.data[--parser->names.count];
    byoc_map_t *map =
        byoc_string_map_get(&parser->scope->variables, name) ? &parser->scope->variables : &parser->scope->buffers;
    byoc_string_map_find(map, name)->value = NULL;
  }
}

static byoc_loop_variable_info_t *new_variable(parser_t *parser, const char *name, byoc_dtype_t dtype,
                                               bool is_mutable) {
  byoc_loop_variable_info_t *info = BYOC_ARENA_NEW(parser->arena, byoc_loop_variable_info_t);
  if (!info || !byoc_string_map_put(&parser->scope->variables, name, info)) {
    byoc_lexer_fail_memory(parser->lexer);
    return NULL;
  }
  info->variable = (byoc_loop_variable_t){name, dtype, is_mutable};
  return note_name(parser, name) ? info : NULL;
}

static bool parse_body(parser_t *parser, byoc_loop_stmt_t **out_body) {
  *out_body = BYOC_ARENA_NEW(parser->arena, byoc_loop_stmt_t);
  if (!*out_body) return byoc_lexer_fail_memory(parser->lexer);
  (*out_body)->kind = BYOC_LOOP_BLOCK;
  return expect(parser, BYOC_TOKEN_LEFT_BRACE) && parse_block(parser, *out_body) &&
         expect(parser, BYOC_TOKEN_RIGHT_BRACE);
}

static bool parse_for(parser_t *parser, byoc_loop_for_kind_t kind, byoc_loop_stmt_t *stmt) {
  const char *name;
  int64_t low, high;
  stmt->kind = BYOC_LOOP_FOR;
  stmt->loop.kind = kind;
  if (!new_name(parser, &name) || !byoc_lexer_expect_word(parser->lexer, "in")) return false;
  stmt->loop.begin = parse_expr(parser);
  if (!stmt->loop.begin || !expect(parser, BYOC_TOKEN_ELLIPSIS)) return false;
  stmt->loop.end = parse_expr(parser);
  size_t mark = parser->names.count;
  byoc_loop_variable_info_t *info = stmt->loop.end ? new_variable(parser, name, BYOC_DTYPE_I64, false) : NULL;
  if (!info) return false;
  info->begin = stmt->loop.begin, info->end = stmt->loop.end;
  if (byoc_loop_range(stmt->loop.begin, &low, &high)) {
    info->low = low;
    info->bounded = byoc_loop_range(stmt->loop.end, &low, &high);
    info->high = high - 1 < info->low ? info->low : high - 1;
  }
  stmt->loop.variable = &info->variable;
  if (!parse_body(parser, &stmt->loop.body)) return false;
  forget_names(parser, mark);
  return true;
}

static bool parse_let(parser_t *parser, bool is_mutable, byoc_loop_stmt_t *stmt) {
  const char *name;
  byoc_dtype_t dtype = BYOC_DTYPE_NONE;
  stmt->kind = BYOC_LOOP_LET;
  if (!new_name(parser, &name)) return false;
  bool is_typed = !parser->is_part || byoc_lexer_is(parser->lexer, BYOC_TOKEN_COLON);
  if (is_typed && (!expect(parser, BYOC_TOKEN_COLON) || !parse_dtype(parser, &dtype))) return false;
  if (!expect(parser, BYOC_TOKEN_EQUAL)) return false;
  stmt->assign.value = parse_expr(parser);
  byoc_loop_variable_info_t *info = stmt->assign.value ? new_variable(parser, name, dtype, is_mutable) : NULL;
  if (!info) return false;
  if (!is_mutable) info->bounded = byoc_loop_range(stmt->assign.value, &info->low, &info->high);
  stmt->assign.variable = &info->variable;
  return true;
}

static bool parse_local(parser_t *parser, byoc_loop_stmt_t *stmt) {
  const char *name;
  byoc_dtype_t dtype;
  int64_t count;
  byoc_loop_buffer_t *buffer = BYOC_ARENA_NEW(parser->arena, byoc_loop_buffer_t);
  byoc_dim_t *dims = BYOC_ARENA_NEW(parser->arena, byoc_dim_t);
  stmt->kind = BYOC_LOOP_ALLOCATE;
  stmt->allocate = buffer;
  if (!new_name(parser, &name) || !expect(parser, BYOC_TOKEN_COLON) || !parse_dtype(parser, &dtype) ||
      !expect(parser, BYOC_TOKEN_LEFT_BRACKET) ||
      !byoc_lexer_expect_i64_in(parser->lexer, 1, INT64_C(1) << 40, &count) ||
      !expect(parser, BYOC_TOKEN_RIGHT_BRACKET))
    return false;
  if (!buffer || !dims || !byoc_string_map_put(&parser->scope->buffers, name, buffer))
    return byoc_lexer_fail_memory(parser->lexer);
  if (!note_name(parser, name)) return false;
  *dims = byoc_dim_constant(count);
  *buffer = (byoc_loop_buffer_t){
      .name = name, .kind = BYOC_LOOP_BUFFER_LOCAL, .dtype = dtype, .rank = 1, .dims = dims, .alignment = 64};
  return true;
}

static bool parse_if(parser_t *parser, byoc_loop_stmt_t *stmt) {
  stmt->kind = BYOC_LOOP_IF;
  stmt->branch.condition = parse_expr(parser);
  if (!stmt->branch.condition || !parse_body(parser, &stmt->branch.yes)) return false;
  return !byoc_lexer_accept_word(parser->lexer, "else") || parse_body(parser, &stmt->branch.no);
}

static bool parse_assignment(parser_t *parser, byoc_loop_stmt_t *stmt) {
  const char *name;
  size_t offset = parser->lexer->token.offset;
  if (!byoc_lexer_expect_text(parser->lexer, BYOC_TOKEN_WORD, &name)) return false;
  const byoc_loop_buffer_t *buffer = byoc_string_map_get(&parser->scope->buffers, name);
  if (buffer) {
    stmt->kind = BYOC_LOOP_STORE;
    stmt->store.buffer = buffer;
    if (!expect(parser, BYOC_TOKEN_LEFT_BRACKET)) return false;
    stmt->store.index = parse_expr(parser);
    if (!stmt->store.index || !expect(parser, BYOC_TOKEN_RIGHT_BRACKET) || !expect(parser, BYOC_TOKEN_EQUAL))
      return false;
    stmt->store.value = parse_expr(parser);
    return stmt->store.value != NULL;
  }
  const byoc_loop_variable_info_t *info = byoc_string_map_get(&parser->scope->variables, name);
  if (!info) return byoc_lexer_fail_at(parser->lexer, offset, "no statement, variable or buffer '%s'", name);
  stmt->kind = BYOC_LOOP_ASSIGN;
  stmt->assign.variable = &info->variable;
  if (!expect(parser, BYOC_TOKEN_EQUAL)) return false;
  stmt->assign.value = parse_expr(parser);
  return stmt->assign.value != NULL;
}

static bool parse_stmt(parser_t *parser, byoc_loop_stmt_t *stmt) {
  parser->shared.count = 0;
  static const char *const kinds[] = {"serial", "parallel", "vector", "unroll", "reduce"};
  byoc_lexer_t *lexer = parser->lexer;
  if (byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACE)) {
    stmt->kind = BYOC_LOOP_BLOCK;
    return byoc_lexer_next(lexer) && parse_block(parser, stmt) && expect(parser, BYOC_TOKEN_RIGHT_BRACE);
  }
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
    if (byoc_lexer_accept_word(lexer, kinds[i])) return parse_for(parser, (byoc_loop_for_kind_t)i, stmt);
  if (byoc_lexer_accept_word(lexer, "let")) return parse_let(parser, false, stmt);
  if (byoc_lexer_accept_word(lexer, "var")) return parse_let(parser, true, stmt);
  if (byoc_lexer_accept_word(lexer, "local")) return parse_local(parser, stmt);
  if (byoc_lexer_accept_word(lexer, "if")) return parse_if(parser, stmt);
  if (byoc_lexer_accept_word(lexer, "while")) {
    stmt->kind = BYOC_LOOP_WHILE;
    stmt->loop_while.condition = parse_expr(parser);
    return stmt->loop_while.condition && parse_body(parser, &stmt->loop_while.body);
  }
  if (byoc_lexer_accept_word(lexer, "comment")) {
    const char *text;
    stmt->kind = BYOC_LOOP_COMMENT;
    if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &text)) return false;
    stmt->comment = byoc_arena_copy_string(parser->arena, text);
    return stmt->comment || byoc_lexer_fail_memory(lexer);
  }
  return parse_assignment(parser, stmt);
}

// Statements up to a token.
static bool parse_statements(parser_t *parser, byoc_loop_stmt_t *block, byoc_token_kind_t end) {
  if (!byoc_lexer_enter(parser->lexer)) return false;
  bool fine = true;
  size_t mark = parser->names.count;
  while (fine && !byoc_lexer_is(parser->lexer, end)) {
    byoc_loop_stmt_t *stmt = BYOC_ARENA_NEW(parser->arena, byoc_loop_stmt_t);
    if (!stmt || !byoc_vector_push(&block->block.statements, byoc_arena_allocator(parser->arena), stmt))
      fine = byoc_lexer_fail_memory(parser->lexer);
    else
      fine = parse_stmt(parser, stmt);
  }
  forget_names(parser, mark);
  byoc_lexer_leave(parser->lexer);
  return fine;
}

static bool parse_block(parser_t *parser, byoc_loop_stmt_t *block) {
  return parse_statements(parser, block, BYOC_TOKEN_RIGHT_BRACE);
}

// ---- parts of kernels ----

void byoc_loop_scope_init(byoc_loop_scope_t *scope, byoc_allocator_t allocator) {
  byoc_string_map_init(&scope->values, allocator);
  byoc_string_map_init(&scope->dtypes, allocator);
  byoc_string_map_init(&scope->variables, allocator);
  byoc_string_map_init(&scope->buffers, allocator);
}

void byoc_loop_scope_deinit(byoc_loop_scope_t *scope) {
  byoc_map_deinit(&scope->values);
  byoc_map_deinit(&scope->dtypes);
  byoc_map_deinit(&scope->variables);
  byoc_map_deinit(&scope->buffers);
}

byoc_status_t byoc_loop_statements_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_loop_scope_t *scope,
                                         byoc_loop_stmt_t **out_block) {
  *out_block = NULL;
  parser_t parser = {.lexer = lexer, .arena = arena, .scope = scope, .is_part = true};
  byoc_loop_builder_init(&parser.builder, arena, "part");
  if (parser.builder.failed)
    byoc_lexer_fail_memory(lexer);
  else if (parse_statements(&parser, parser.builder.kernel->body, BYOC_TOKEN_END))
    *out_block = parser.builder.kernel->body;
  byoc_loop_builder_deinit(&parser.builder);
  return *out_block ? BYOC_OK : lexer->status;
}

// ---- kernels ----

static bool parse_parameter(parser_t *parser, byoc_loop_buffer_kind_t kind) {
  byoc_lexer_t *lexer = parser->lexer;
  const char *name, *scope;
  const byoc_type_t *type;
  int64_t alignment;
  size_t offset;
  if (!new_name(parser, &name) || !expect(parser, BYOC_TOKEN_COLON)) return false;
  offset = lexer->token.offset;
  if (!byoc_type_parse(lexer, parser->arena, &type)) return false;
  if (!byoc_type_is_tensor(type) || type->rank < 0)
    return byoc_lexer_fail_at(lexer, offset, "a parameter is a tensor of known rank");
  if (kind == BYOC_LOOP_BUFFER_INPUT && parser->builder.kernel->output_count > 0)
    return byoc_lexer_fail_at(lexer, offset, "inputs come before outputs");
  byoc_loop_buffer_t *buffer = byoc_loop_parameter(&parser->builder, kind, name, type);
  if (!buffer) return byoc_lexer_fail_memory(lexer);
  buffer->name = name;
  if (!byoc_string_map_put(&parser->scope->buffers, name, buffer)) return byoc_lexer_fail_memory(lexer);
  if (byoc_lexer_accept_word(lexer, "align")) {
    if (!byoc_lexer_expect_i64_in(lexer, 1, 1 << 20, &alignment)) return false;
    buffer->alignment = (uint64_t)alignment;
  }
  if (byoc_lexer_accept_word(lexer, "scope")) {
    if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &scope)) return false;
    buffer->scope = byoc_arena_copy_string(parser->arena, scope);
    if (!buffer->scope) return byoc_lexer_fail_memory(lexer);
  }
  return true;
}

static bool parse_kernel(parser_t *parser) {
  byoc_lexer_t *lexer = parser->lexer;
  const char *text;
  if (!expect(parser, BYOC_TOKEN_LEFT_BRACE) || !byoc_lexer_expect_word(lexer, "name") ||
      !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &text))
    return false;
  byoc_loop_builder_init(&parser->builder, parser->arena, text);
  if (parser->builder.failed) return byoc_lexer_fail_memory(lexer);
  byoc_loop_kernel_t *kernel = parser->builder.kernel;
  if (byoc_lexer_accept_word(lexer, "description")) {
    if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &text)) return false;
    kernel->description = byoc_arena_copy_string(parser->arena, text);
    if (!kernel->description) return byoc_lexer_fail_memory(lexer);
  }
  if (byoc_lexer_accept_word(lexer, "symbols")) {
    do {
      if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &text) || !add_symbol(parser, text)) return false;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  for (;;) {
    bool input = byoc_lexer_accept_word(lexer, "input");
    if (!input && !byoc_lexer_accept_word(lexer, "output")) break;
    if (!parse_parameter(parser, input ? BYOC_LOOP_BUFFER_INPUT : BYOC_LOOP_BUFFER_OUTPUT)) return false;
  }
  return parse_block(parser, kernel->body) && expect(parser, BYOC_TOKEN_RIGHT_BRACE);
}

byoc_status_t byoc_loop_kernel_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_loop_kernel_t **out_kernel) {
  *out_kernel = NULL;
  byoc_loop_scope_t scope;
  parser_t parser = {.lexer = lexer, .arena = arena, .scope = &scope};
  size_t offset = lexer->token.offset;
  byoc_loop_scope_init(&scope, arena->allocator);
  if (parse_kernel(&parser)) {
    // An error here is a fault of the text, not of byoc.
    byoc_diag_t verdict = {0};
    byoc_status_t status = byoc_loop_verify(parser.builder.kernel, &verdict);
    if (status == BYOC_OK)
      *out_kernel = parser.builder.kernel;
    else if (status == BYOC_OUT_OF_MEMORY)
      byoc_lexer_fail_memory(lexer);
    else
      byoc_lexer_fail_at(lexer, offset, "%s", verdict.message);
  }
  byoc_loop_scope_deinit(&scope);
  byoc_loop_builder_deinit(&parser.builder);
  return *out_kernel ? BYOC_OK : lexer->status;
}
