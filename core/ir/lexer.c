// SPDX-License-Identifier: Apache-2.0
// Splits a text into tokens, and reports errors at their location.
#include "core/ir/lexer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/text_names.h"

static const struct {
  byoc_token_kind_t kind;
  const char *text;
} punctuation[] = {
#define BYOC_TOKEN_ROW(NAME, text) {BYOC_TOKEN_##NAME, text},
    BYOC_TOKEN_PUNCTUATION_LIST(BYOC_TOKEN_ROW)
#undef BYOC_TOKEN_ROW
};

// Longer numbers are refused, so that every number fits a buffer.
#define MAX_NUMBER_SIZE 64

// ---- errors ----

static bool fail_at(byoc_lexer_t *lexer, size_t offset, const char *format, va_list arguments) {
  if (lexer->status == BYOC_OK) {
    lexer->status = BYOC_INVALID_DATA;
    byoc_diag_errorv(lexer->diag, BYOC_INVALID_DATA, format, arguments);
    byoc_diag_locate(lexer->diag, lexer->file, lexer->text, offset);
  }
  lexer->token.kind = BYOC_TOKEN_END;
  return false;
}

bool byoc_lexer_fail_at(byoc_lexer_t *lexer, size_t offset, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_at(lexer, offset, format, arguments);
  va_end(arguments);
  return false;
}

bool byoc_lexer_fail(byoc_lexer_t *lexer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_at(lexer, lexer->token.offset, format, arguments);
  va_end(arguments);
  return false;
}

bool byoc_lexer_fail_memory(byoc_lexer_t *lexer) {
  if (lexer->status == BYOC_OK) lexer->status = byoc_diag_out_of_memory(lexer->diag);
  lexer->token.kind = BYOC_TOKEN_END;
  return false;
}

bool byoc_lexer_fail_status(byoc_lexer_t *lexer, byoc_status_t status, size_t offset) {
  if (lexer->status == BYOC_OK) {
    lexer->status = status;
    byoc_diag_locate(lexer->diag, lexer->file, lexer->text, offset);
  }
  lexer->token.kind = BYOC_TOKEN_END;
  return false;
}

bool byoc_lexer_expected(byoc_lexer_t *lexer, const char *what) {
  const byoc_token_t *token = &lexer->token;
  if (token->offset >= lexer->size) return byoc_lexer_fail(lexer, "expected %s, found the end of the text", what);
  size_t size = token->end - token->offset;
  return byoc_lexer_fail(lexer, "expected %s, found '%.*s%s'", what, (int)(size > 40 ? 40 : size),
                         lexer->text + token->offset, size > 40 ? "..." : "");
}

bool byoc_lexer_enter(byoc_lexer_t *lexer) {
  if (lexer->depth == BYOC_LEXER_MAX_DEPTH) return byoc_lexer_fail(lexer, "nested too deeply");
  ++lexer->depth;
  return true;
}

void byoc_lexer_leave(byoc_lexer_t *lexer) {
  --lexer->depth;
}

// ---- characters ----

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_part(char c) {
  return is_word_start(c) || is_digit(c) || c == '.';
}

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char at(const byoc_lexer_t *lexer, size_t offset) {
  return offset < lexer->size ? lexer->text[offset] : 0;
}

static size_t skip_blanks(const byoc_lexer_t *lexer, size_t offset) {
  for (;;) {
    char c = at(lexer, offset);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++offset;
    } else if (c == '/' && at(lexer, offset + 1) == '/') {
      while (offset < lexer->size && lexer->text[offset] != '\n') ++offset;
    } else {
      return offset;
    }
  }
}

// ---- tokens ----

static bool take_text(byoc_lexer_t *lexer, size_t start, size_t end) {
  lexer->token.text = "";
  if (!lexer->arena) return true;
  char *copy = byoc_arena_allocate(lexer->arena, end - start + 1, 1);
  if (!copy) return byoc_lexer_fail_memory(lexer);
  memcpy(copy, lexer->text + start, end - start);
  lexer->token.text = copy;
  lexer->token.size = end - start;
  return true;
}

// A string literal whose opening quote is at `start`.
static bool lex_string(byoc_lexer_t *lexer, size_t start) {
  size_t end = start + 1;
  while (end < lexer->size && lexer->text[end] != '"' && lexer->text[end] != '\n')
    end += lexer->text[end] == '\\' ? 2 : 1;
  if (at(lexer, end) != '"') return byoc_lexer_fail_at(lexer, start, "this string does not end on its line");
  lexer->token.text = "";
  lexer->token.end = end + 1;
  if (!lexer->arena) return true;
  char *copy = byoc_arena_allocate(lexer->arena, end - start, 1);
  if (!copy) return byoc_lexer_fail_memory(lexer);
  size_t size = 0;
  for (size_t i = start + 1; i < end; ++i) {
    char c = lexer->text[i];
    if (c == '\\') {
      c = lexer->text[++i];
      int high = hex_value(at(lexer, i + 1)), low = hex_value(at(lexer, i + 2));
      if (c == 'x' && high >= 0 && low >= 0) {
        c = (char)(high << 4 | low);
        i += 2;
      } else if (c == 'n' || c == 't' || c == 'r') {
        c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
      } else if (c != '"' && c != '\\') {
        return byoc_lexer_fail_at(lexer, i - 1, "unknown escape; there are \\n \\t \\r \\\" \\\\ and \\xHH");
      }
    }
    copy[size++] = c;
  }
  lexer->token.text = copy;
  lexer->token.size = size;
  return true;
}

static bool lex_name(byoc_lexer_t *lexer, size_t start) {
  byoc_token_t *token = &lexer->token;
  token->kind = lexer->text[start] == '%' ? BYOC_TOKEN_VALUE : BYOC_TOKEN_GLOBAL;
  if (at(lexer, start + 1) == '"') {
    if (!lex_string(lexer, start + 1)) return false;
    if (memchr(token->text, 0, token->size)) return byoc_lexer_fail_at(lexer, start, "a name cannot hold a NUL");
    return true;
  }
  size_t end = start + 1;
  token->digits = true;
  bool fits = true;
  for (; is_word_part(at(lexer, end)); ++end) {
    uint64_t digit = (uint64_t)(lexer->text[end] - '0');
    if (!is_digit(lexer->text[end])) {
      token->digits = false;
    } else if (fits && token->digits) {
      fits = !__builtin_mul_overflow(token->integer, UINT64_C(10), &token->integer) &&
             !__builtin_add_overflow(token->integer, digit, &token->integer);
    }
  }
  if (token->digits && !fits) return byoc_lexer_fail_at(lexer, start, "this number is too large");
  token->end = end;
  return take_text(lexer, start + 1, end);
}

static bool lex_number(byoc_lexer_t *lexer, size_t start) {
  byoc_token_t *token = &lexer->token;
  char buffer[MAX_NUMBER_SIZE];
  size_t end = start;
  bool is_float = false;
  while (is_digit(at(lexer, end))) ++end;
  if (at(lexer, end) == '.' && is_digit(at(lexer, end + 1))) {
    is_float = true;
    for (++end; is_digit(at(lexer, end));) ++end;
  }
  if (at(lexer, end) == 'e' || at(lexer, end) == 'E') {
    size_t digits = end + 1 + (at(lexer, end + 1) == '-' || at(lexer, end + 1) == '+');
    if (is_digit(at(lexer, digits))) {
      is_float = true;
      for (end = digits; is_digit(at(lexer, end));) ++end;
    }
  }
  size_t size = end - start;
  bool narrow = is_float && at(lexer, end) == 'f';
  end += narrow;
  if (is_word_start(at(lexer, end))) return byoc_lexer_fail_at(lexer, start, "this is neither a number nor a name");
  if (size >= sizeof(buffer)) return byoc_lexer_fail_at(lexer, start, "this number has too many digits");
  memcpy(buffer, lexer->text + start, size);
  buffer[size] = 0;
  token->end = end;
  token->kind = is_float ? BYOC_TOKEN_FLOAT : BYOC_TOKEN_INTEGER;
  token->single = strtof(buffer, NULL);
  token->number = narrow ? (double)token->single : strtod(buffer, NULL);
  if (isinf(token->number)) return byoc_lexer_fail_at(lexer, start, "this number is too large");
  if (!is_float) {
    errno = 0;
    token->integer = strtoull(buffer, NULL, 10);
    if (errno != 0) return byoc_lexer_fail_at(lexer, start, "this number is too large");
  }
  return true;
}

static bool lex_punctuation(byoc_lexer_t *lexer, size_t start) {
  for (size_t i = 0; i < sizeof(punctuation) / sizeof(punctuation[0]); ++i) {
    size_t size = strlen(punctuation[i].text);
    if (size > lexer->size - start || memcmp(lexer->text + start, punctuation[i].text, size) != 0) continue;
    lexer->token.kind = punctuation[i].kind;
    lexer->token.end = start + size;
    return true;
  }
  unsigned char c = (unsigned char)lexer->text[start];
  if (c > 0x20 && c < 0x7F) return byoc_lexer_fail_at(lexer, start, "'%c' has no meaning here", c);
  return byoc_lexer_fail_at(lexer, start, "the byte 0x%02x has no meaning here", c);
}

bool byoc_lexer_next(byoc_lexer_t *lexer) {
  if (lexer->status != BYOC_OK) return false;
  size_t start = skip_blanks(lexer, lexer->token.end);
  lexer->token = (byoc_token_t){.kind = BYOC_TOKEN_END, .offset = start, .end = start};
  if (start >= lexer->size) return true;
  char c = lexer->text[start], following = at(lexer, start + 1);
  if (is_word_start(c)) {
    size_t end = start;
    while (is_word_part(at(lexer, end))) ++end;
    lexer->token.kind = BYOC_TOKEN_WORD;
    lexer->token.end = end;
    return take_text(lexer, start, end);
  }
  if (is_digit(c)) return lex_number(lexer, start);
  if (c == '"') {
    lexer->token.kind = BYOC_TOKEN_STRING;
    return lex_string(lexer, start);
  }
  if ((c == '%' || c == '@') && (is_word_part(following) || following == '"')) return lex_name(lexer, start);
  return lex_punctuation(lexer, start);
}

void byoc_lexer_init(byoc_lexer_t *lexer, const char *text, const char *file, byoc_arena_t *arena, byoc_diag_t *diag) {
  *lexer = (byoc_lexer_t){.text = text, .size = strlen(text), .file = file, .arena = arena, .diag = diag};
  byoc_lexer_next(lexer);
}

// ---- expectations ----

bool byoc_lexer_is(const byoc_lexer_t *lexer, byoc_token_kind_t kind) {
  return (lexer->status == BYOC_OK ? lexer->token.kind : BYOC_TOKEN_END) == kind;
}

bool byoc_lexer_is_word(const byoc_lexer_t *lexer, const char *word) {
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_WORD)) return false;
  size_t size = lexer->token.end - lexer->token.offset;
  return strlen(word) == size && memcmp(lexer->text + lexer->token.offset, word, size) == 0;
}

byoc_lexer_t byoc_lexer_ahead(const byoc_lexer_t *lexer) {
  byoc_lexer_t ahead = *lexer;
  ahead.arena = NULL;
  ahead.diag = NULL; // a malformed token is reported when it is reached
  return ahead;
}

byoc_token_kind_t byoc_lexer_peek(const byoc_lexer_t *lexer) {
  byoc_lexer_t ahead = byoc_lexer_ahead(lexer);
  return byoc_lexer_next(&ahead) ? ahead.token.kind : BYOC_TOKEN_END;
}

bool byoc_lexer_accept(byoc_lexer_t *lexer, byoc_token_kind_t kind) {
  if (!byoc_lexer_is(lexer, kind)) return false;
  byoc_lexer_next(lexer);
  return true;
}

bool byoc_lexer_accept_word(byoc_lexer_t *lexer, const char *word) {
  if (!byoc_lexer_is_word(lexer, word)) return false;
  byoc_lexer_next(lexer);
  return true;
}

static const char *token_kind_text(byoc_token_kind_t kind) {
  switch (kind) {
  case BYOC_TOKEN_END:
    return "the end of the text";
  case BYOC_TOKEN_WORD:
    return "a word";
  case BYOC_TOKEN_VALUE:
    return "a value (%name)";
  case BYOC_TOKEN_GLOBAL:
    return "a global name (@name)";
  case BYOC_TOKEN_INTEGER:
    return "an integer";
  case BYOC_TOKEN_FLOAT:
    return "a number";
  case BYOC_TOKEN_STRING:
    return "a string";
#define BYOC_TOKEN_TEXT(NAME, text)                                                                                    \
  case BYOC_TOKEN_##NAME:                                                                                              \
    return "'" text "'";
    BYOC_TOKEN_PUNCTUATION_LIST(BYOC_TOKEN_TEXT)
#undef BYOC_TOKEN_TEXT
  }
  return "something else";
}

bool byoc_lexer_expect(byoc_lexer_t *lexer, byoc_token_kind_t kind) {
  if (!byoc_lexer_is(lexer, kind)) return byoc_lexer_expected(lexer, token_kind_text(kind));
  return kind == BYOC_TOKEN_END ? lexer->status == BYOC_OK : byoc_lexer_next(lexer);
}

bool byoc_lexer_expect_word(byoc_lexer_t *lexer, const char *word) {
  char what[64];
  if (byoc_lexer_is_word(lexer, word)) return byoc_lexer_next(lexer);
  snprintf(what, sizeof(what), "'%s'", word);
  return byoc_lexer_expected(lexer, what);
}

bool byoc_lexer_expect_text(byoc_lexer_t *lexer, byoc_token_kind_t kind, const char **out_text) {
  *out_text = lexer->token.text;
  return byoc_lexer_expect(lexer, kind);
}

bool byoc_lexer_expect_name(byoc_lexer_t *lexer, const char **out_text) {
  *out_text = lexer->token.text;
  if (byoc_lexer_is(lexer, BYOC_TOKEN_WORD)) return byoc_lexer_next(lexer);
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_STRING)) return byoc_lexer_expected(lexer, "a name");
  if (memchr(lexer->token.text, 0, lexer->token.size)) return byoc_lexer_fail(lexer, "a name cannot hold a NUL");
  return byoc_lexer_next(lexer);
}

bool byoc_lexer_expect_i64(byoc_lexer_t *lexer, int64_t *out_value) {
  *out_value = 0;
  size_t start = lexer->token.offset;
  bool negative = byoc_lexer_accept(lexer, BYOC_TOKEN_MINUS);
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_INTEGER)) return byoc_lexer_expected(lexer, "an integer");
  uint64_t magnitude = lexer->token.integer;
  if (magnitude > (uint64_t)INT64_MAX + negative)
    return byoc_lexer_fail_at(lexer, start, "this integer does not fit 64 bits");
  *out_value = (int64_t)(negative ? 0 - magnitude : magnitude);
  return byoc_lexer_next(lexer);
}

bool byoc_lexer_expect_i64_in(byoc_lexer_t *lexer, int64_t least, int64_t most, int64_t *out_value) {
  size_t start = lexer->token.offset;
  if (!byoc_lexer_expect_i64(lexer, out_value)) return false;
  if (*out_value >= least && *out_value <= most) return true;
  return byoc_lexer_fail_at(lexer, start, "%lld is not between %lld and %lld", (long long)*out_value, (long long)least,
                            (long long)most);
}

bool byoc_lexer_is_float(const byoc_lexer_t *lexer) {
  byoc_lexer_t ahead = byoc_lexer_ahead(lexer);
  byoc_lexer_accept(&ahead, BYOC_TOKEN_MINUS);
  return byoc_lexer_is(&ahead, BYOC_TOKEN_FLOAT) || byoc_lexer_is_word(&ahead, "inf") ||
         byoc_lexer_is_word(&ahead, "nan");
}

bool byoc_lexer_expect_f64(byoc_lexer_t *lexer, double *out_value) {
  *out_value = 0;
  bool negative = byoc_lexer_accept(lexer, BYOC_TOKEN_MINUS);
  double value = lexer->token.number;
  if (byoc_lexer_is_word(lexer, "inf")) {
    value = INFINITY;
  } else if (byoc_lexer_is_word(lexer, "nan")) {
    value = NAN;
  } else if (!byoc_lexer_is(lexer, BYOC_TOKEN_FLOAT) && !byoc_lexer_is(lexer, BYOC_TOKEN_INTEGER)) {
    return byoc_lexer_expected(lexer, "a number");
  }
  *out_value = negative ? -value : value;
  return byoc_lexer_next(lexer);
}
