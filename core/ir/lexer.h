// SPDX-License-Identifier: Apache-2.0
// The lexer of all text forms (modules, loop kernels, host programs). It has one token of look-ahead, and its messages
// show the location.
//
// Example:
//   byoc_lexer_t lexer;
//   byoc_lexer_init(&lexer, text, "file.ir", &arena, diag);
//   byoc_lexer_expect_word(&lexer, "module");
//   byoc_lexer_expect(&lexer, BYOC_TOKEN_LEFT_BRACE);
//   if (lexer.status != BYOC_OK) return lexer.status;
//
// The first error is recorded in the diagnostic and in `status`. From then on every token is END and every expectation
// fails, so that a parser can check once, at its end. A copy of the struct is a position to return to. `//` starts a
// comment.
#ifndef BYOC_CORE_IR_LEXER_H_
#define BYOC_CORE_IR_LEXER_H_

#include "core/base/arena.h"
#include "core/base/diag.h"

// X(NAME, "text in messages"). Punctuation is matched longest first.
#define BYOC_TOKEN_PUNCTUATION_LIST(X)                                                                                 \
  X(ARROW, "->")                                                                                                       \
  X(DOUBLE_COLON, "::")                                                                                                \
  X(EQUAL_EQUAL, "==")                                                                                                 \
  X(NOT_EQUAL, "!=")                                                                                                   \
  X(LESS_EQUAL, "<=")                                                                                                  \
  X(GREATER_EQUAL, ">=")                                                                                               \
  X(AND_AND, "&&")                                                                                                     \
  X(OR_OR, "||")                                                                                                       \
  X(SHIFT_LEFT, "<<")                                                                                                  \
  X(PLUS_EQUAL, "+=")                                                                                                  \
  X(ELLIPSIS, "..")                                                                                                    \
  X(LEFT_PAREN, "(")                                                                                                   \
  X(RIGHT_PAREN, ")")                                                                                                  \
  X(LEFT_BRACE, "{")                                                                                                   \
  X(RIGHT_BRACE, "}")                                                                                                  \
  X(LEFT_BRACKET, "[")                                                                                                 \
  X(RIGHT_BRACKET, "]")                                                                                                \
  X(LESS, "<")                                                                                                         \
  X(GREATER, ">") /* ">>" is two of these: seq<opt<f32[N]>> */                                                         \
  X(COMMA, ",")                                                                                                        \
  X(COLON, ":")                                                                                                        \
  X(SEMICOLON, ";")                                                                                                    \
  X(EQUAL, "=")                                                                                                        \
  X(PLUS, "+")                                                                                                         \
  X(MINUS, "-")                                                                                                        \
  X(STAR, "*")                                                                                                         \
  X(SLASH, "/")                                                                                                        \
  X(PERCENT, "%") /* not in front of a name */                                                                         \
  X(QUESTION, "?")                                                                                                     \
  X(NOT, "!")                                                                                                          \
  X(AND, "&")                                                                                                          \
  X(OR, "|")                                                                                                           \
  X(XOR, "^")                                                                                                          \
  X(TILDE, "~")                                                                                                        \
  X(HASH, "#")                                                                                                         \
  X(DOT, ".")                                                                                                          \
  X(AT, "@") /* not in front of a name */

typedef enum byoc_token_kind_t {
  BYOC_TOKEN_END,
  BYOC_TOKEN_WORD,   // letters, digits, '_' and '.', not starting with a digit or '.'
  BYOC_TOKEN_VALUE,  // %name, %12, %"odd name"
  BYOC_TOKEN_GLOBAL, // @name, @13, @"odd name"
  BYOC_TOKEN_INTEGER,
  BYOC_TOKEN_FLOAT,  // with a point or an exponent; a trailing f rounds it to f32
  BYOC_TOKEN_STRING, // "text"
#define BYOC_TOKEN_ENUM(NAME, text) BYOC_TOKEN_##NAME,
  BYOC_TOKEN_PUNCTUATION_LIST(BYOC_TOKEN_ENUM)
#undef BYOC_TOKEN_ENUM
} byoc_token_kind_t;

typedef struct byoc_token_t {
  byoc_token_kind_t kind;
  size_t offset, end; // in the text
  const char *text;   // WORD, STRING, and names without their sigil: NUL-terminated, in the lexer's arena
  size_t size;        // of `text` in bytes; a STRING may hold NULs
  bool digits;        // an unquoted name of digits alone
  uint64_t integer;   // INTEGER, and `digits` names
  double number;      // FLOAT and INTEGER
  float single;       // the same, rounded once
} byoc_token_t;

typedef struct byoc_lexer_t {
  const char *text;
  size_t size;
  const char *file; // for messages
  byoc_arena_t *arena;
  byoc_diag_t *diag;
  byoc_status_t status;  // BYOC_OK until an error
  byoc_token_t token;    // the current one
  uint32_t depth;        // of byoc_lexer_enter
  uint64_t next_unknown; // above the number of every unknown dimension read so far
} byoc_lexer_t;

// byoc_lexer_enter refuses deeper nesting than this, which bounds the recursion of parsers.
#define BYOC_LEXER_MAX_DEPTH 200

// `text` and `file` must outlive the lexer; names live as long as the arena. Reads the first token.
void byoc_lexer_init(byoc_lexer_t *lexer, const char *text, const char *file, byoc_arena_t *arena, byoc_diag_t *diag);
// Goes on to the next token. False when it is malformed.
bool byoc_lexer_next(byoc_lexer_t *lexer);

bool byoc_lexer_is(const byoc_lexer_t *lexer, byoc_token_kind_t kind);
bool byoc_lexer_is_word(const byoc_lexer_t *lexer, const char *word);
// A copy for looking further ahead. It reports no errors, allocates nothing, and its tokens have no text
// (byoc_lexer_is_word works).
byoc_lexer_t byoc_lexer_ahead(const byoc_lexer_t *lexer);
// The token after the current one, for the few places that need two.
byoc_token_kind_t byoc_lexer_peek(const byoc_lexer_t *lexer);
// Consumes the current token if it is of this kind.
bool byoc_lexer_accept(byoc_lexer_t *lexer, byoc_token_kind_t kind);
bool byoc_lexer_accept_word(byoc_lexer_t *lexer, const char *word);
// The same, but anything else is an error: "expected '(', found 'x'".
bool byoc_lexer_expect(byoc_lexer_t *lexer, byoc_token_kind_t kind);
bool byoc_lexer_expect_word(byoc_lexer_t *lexer, const char *word);
// Any token of that kind, with its text.
bool byoc_lexer_expect_text(byoc_lexer_t *lexer, byoc_token_kind_t kind, const char **out_text);
// A word or a quoted string.
bool byoc_lexer_expect_name(byoc_lexer_t *lexer, const char **out_text);
// An integer with an optional sign, checked against its range.
bool byoc_lexer_expect_i64(byoc_lexer_t *lexer, int64_t *out_value);
bool byoc_lexer_expect_i64_in(byoc_lexer_t *lexer, int64_t least, int64_t most, int64_t *out_value);
// A number with an optional sign: an integer, a float, inf or nan.
bool byoc_lexer_expect_f64(byoc_lexer_t *lexer, double *out_value);
// True if a number with a point or an exponent, or inf or nan, comes next (a sign may precede it).
bool byoc_lexer_is_float(const byoc_lexer_t *lexer);

// Records an error at the current token, or at `offset`. Always false, so that a parser can return it.
bool byoc_lexer_fail(byoc_lexer_t *lexer, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool byoc_lexer_fail_at(byoc_lexer_t *lexer, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool byoc_lexer_fail_memory(byoc_lexer_t *lexer);
// Records a status that is already in the diagnostic, and adds the location.
bool byoc_lexer_fail_status(byoc_lexer_t *lexer, byoc_status_t status, size_t offset);
// "expected WHAT, found ...".
bool byoc_lexer_expected(byoc_lexer_t *lexer, const char *what);

// Guards recursion: false (with an error) if nesting is too deep. Each success must be paired with one leave.
bool byoc_lexer_enter(byoc_lexer_t *lexer);
void byoc_lexer_leave(byoc_lexer_t *lexer);

#endif // BYOC_CORE_IR_LEXER_H_
