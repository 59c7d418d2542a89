// SPDX-License-Identifier: Apache-2.0
// Parses patterns of partition rules into trees, and lists the operators in them.
#include "core/plugin/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/pattern_internal.h"

enum { MAX_DEPTH = 64, MAX_CHILDREN = 64, MAX_ITEMS = 64, MAX_BYTES = 1 << 14, MAX_RESULTS = 10000 };

typedef struct parser_t {
  const char *text, *at, *name;
  byoc_arena_t *arena;
  byoc_diag_t *diag;
  int depth;
} parser_t;

static byoc_status_t syntax_error(parser_t *p, const char *expected) {
  byoc_status_t status =
      byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "pattern of rule '%s': expected %s", p->name, expected);
  byoc_diag_locate(p->diag, p->name, p->text, (size_t)(p->at - p->text));
  return status;
}

static void skip_space(parser_t *p) {
  while (isspace((unsigned char)*p->at)) ++p->at;
}

static bool accept_text(parser_t *p, const char *token) {
  skip_space(p);
  size_t size = strlen(token);
  if (strncmp(p->at, token, size) != 0) return false;
  p->at += size;
  return true;
}

static byoc_status_t expect_text(parser_t *p, const char *token) {
  if (accept_text(p, token)) return BYOC_OK;
  char expected[16] = "'";
  strcat(strncat(expected, token, sizeof(expected) - 3), "'");
  return syntax_error(p, expected);
}

// A name of letters, digits, '_' and (in operators' domains) '.'; NULL if there is none. *out_failed: out of memory.
static const char *parse_word(parser_t *p, bool with_dots, bool *out_failed) {
  skip_space(p);
  const char *begin = p->at;
  while (isalnum((unsigned char)*p->at) || *p->at == '_' || (with_dots && *p->at == '.')) ++p->at;
  if (p->at == begin) return NULL;
  char *word = byoc_arena_format(p->arena, "%.*s", (int)(p->at - begin), begin);
  *out_failed = *out_failed || word == NULL;
  return word;
}

static byoc_status_t parse_pattern(parser_t *p, const byoc_pattern_t **out_pattern);

static byoc_status_t parse_list(parser_t *p, const char *separator, byoc_pattern_t *pattern) {
  const byoc_pattern_t *children[MAX_CHILDREN];
  size_t count = 0;
  if (!accept_text(p, ")")) {
    do {
      if (pattern->kind == PATTERN_OPERATOR && accept_text(p, "...")) {
        pattern->open_ended = true;
        break;
      }
      if (count == MAX_CHILDREN) return syntax_error(p, "at most 64 operands");
      BYOC_RETURN_IF_ERROR(parse_pattern(p, &children[count++]));
    } while (accept_text(p, separator));
    BYOC_RETURN_IF_ERROR(expect_text(p, ")"));
  }
  if (count == 0) return BYOC_OK;
  pattern->children = byoc_arena_copy(p->arena, children, count * sizeof(children[0]));
  pattern->child_count = count;
  return pattern->children != NULL ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t parse_string(parser_t *p, attribute_test_t *test) {
  const char *end = strchr(p->at, '"');
  if (end == NULL) return syntax_error(p, "a closing quote");
  test->kind = BYOC_ATTRIBUTE_STRING;
  test->s = byoc_arena_format(p->arena, "%.*s", (int)(end - p->at), p->at);
  p->at = end + 1;
  return test->s ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t parse_item(parser_t *p, const char *expected, attribute_test_t *test) {
  if (accept_text(p, "\"")) return parse_string(p, test);
  skip_space(p);
  char *int_end = NULL, *float_end = NULL;
  // Excludes the words for infinity and NaN, which strtod would accept.
  const bool is_number = isdigit((unsigned char)p->at[strspn(p->at, "+-.")]) != 0;
  errno = 0;
  test->i = strtoll(p->at, &int_end, 10);
  const bool too_large = errno == ERANGE;
  test->f = strtod(p->at, &float_end);
  if (!is_number || float_end == p->at) return syntax_error(p, expected);
  if (too_large && float_end == int_end) return syntax_error(p, "an integer of at most 64 bits");
  test->kind = float_end > int_end ? BYOC_ATTRIBUTE_FLOAT : BYOC_ATTRIBUTE_INT;
  p->at = float_end;
  return BYOC_OK;
}

static byoc_attribute_kind_t list_of(byoc_attribute_kind_t item) {
  return item == BYOC_ATTRIBUTE_STRING  ? BYOC_ATTRIBUTE_STRINGS
         : item == BYOC_ATTRIBUTE_FLOAT ? BYOC_ATTRIBUTE_FLOATS
                                        : BYOC_ATTRIBUTE_INTS;
}

// The items behind "[", up to "]".
static byoc_status_t parse_items(parser_t *p, attribute_test_t *list) {
  attribute_test_t items[MAX_ITEMS];
  list->kind = BYOC_ATTRIBUTE_INTS;
  if (accept_text(p, "]")) return BYOC_OK;
  do {
    if (list->item_count == MAX_ITEMS) return syntax_error(p, "at most 64 items of a list");
    skip_space(p);
    const char *begin = p->at;
    attribute_test_t *item = &items[list->item_count++];
    *item = (attribute_test_t){0};
    BYOC_RETURN_IF_ERROR(parse_item(p, "a number or a quoted string", item));
    if ((item->kind == BYOC_ATTRIBUTE_STRING) != (items[0].kind == BYOC_ATTRIBUTE_STRING)) {
      p->at = begin;
      return syntax_error(p, "numbers alone or strings alone in a list");
    }
    if (list->item_count == 1 || item->kind == BYOC_ATTRIBUTE_FLOAT) list->kind = list_of(item->kind);
  } while (accept_text(p, ","));
  BYOC_RETURN_IF_ERROR(expect_text(p, "]"));
  list->items = byoc_arena_copy(p->arena, items, list->item_count * sizeof(items[0]));
  return list->items != NULL ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t parse_test(parser_t *p, attribute_test_t *test) {
  bool failed = false;
  test->name = parse_word(p, false, &failed);
  if (failed) return byoc_diag_out_of_memory(p->diag);
  if (test->name == NULL) return syntax_error(p, "an attribute's name");
  BYOC_RETURN_IF_ERROR(expect_text(p, "="));
  if (accept_text(p, "[")) return parse_items(p, test);
  return parse_item(p, "a number, a quoted string, or a list of them in '[' and ']'", test);
}

static byoc_status_t parse_tests(parser_t *p, byoc_pattern_t *pattern) {
  attribute_test_t tests[16];
  do {
    if (pattern->test_count == sizeof(tests) / sizeof(tests[0])) return syntax_error(p, "at most 16 attribute tests");
    attribute_test_t test = {0};
    BYOC_RETURN_IF_ERROR(parse_test(p, &test));
    tests[pattern->test_count++] = test;
  } while (accept_text(p, ","));
  BYOC_RETURN_IF_ERROR(expect_text(p, "]"));
  pattern->tests = byoc_arena_copy(p->arena, tests, pattern->test_count * sizeof(tests[0]));
  return pattern->tests ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

// "f32", "f32|f16", or "_" for any.
static byoc_status_t parse_element_types(parser_t *p, byoc_pattern_t *pattern) {
  do {
    bool failed = false;
    skip_space(p);
    const char *begin = p->at, *word = parse_word(p, false, &failed);
    if (failed) return byoc_diag_out_of_memory(p->diag);
    if (word != NULL && strcmp(word, "_") == 0 && pattern->dtypes == 0) return BYOC_OK;
    const byoc_dtype_t dtype = word != NULL ? byoc_dtype_parse(word) : BYOC_DTYPE_NONE;
    if (dtype == BYOC_DTYPE_NONE) {
      p->at = begin;
      return syntax_error(p, pattern->dtypes == 0 ? "an element type, or _ for any" : "an element type");
    }
    pattern->dtypes |= UINT64_C(1) << dtype;
  } while (accept_text(p, "|"));
  return BYOC_OK;
}

// "<f32>", "<f32|f16, 4>" or "<_, 4>": element types and a rank. "<~" is the operator of a dominator instead.
static byoc_status_t parse_type_test(parser_t *p, byoc_pattern_t *pattern) {
  _Static_assert(BYOC_DTYPE_COUNT <= 64, "a pattern has a bit for each element type");
  skip_space(p);
  if (p->at[0] != '<' || p->at[1] == '~') return BYOC_OK;
  ++p->at;
  BYOC_RETURN_IF_ERROR(parse_element_types(p, pattern));
  if (accept_text(p, ",")) {
    skip_space(p);
    if (!isdigit((unsigned char)*p->at)) return syntax_error(p, "a rank");
    pattern->has_rank = true;
    while (isdigit((unsigned char)*p->at) && pattern->rank <= BYOC_MAX_RANK) {
      pattern->rank = 10 * pattern->rank + (*p->at++ - '0');
    }
  }
  return expect_text(p, ">");
}

static byoc_status_t add_operator(parser_t *p, byoc_pattern_t *pattern, const char *first_word) {
  bool failed = false;
  const char *domain = "", *name = first_word ? first_word : parse_word(p, true, &failed);
  if (name != NULL && accept_text(p, "::")) {
    domain = name;
    name = parse_word(p, false, &failed);
  }
  if (failed) return byoc_diag_out_of_memory(p->diag);
  if (name == NULL) return syntax_error(p, "an operator's name");
  size_t size = sizeof(pattern->operators[0]);
  void *grown = byoc_arena_allocate(p->arena, pattern->operator_count + 1, size);
  if (grown == NULL) return byoc_diag_out_of_memory(p->diag);
  if (pattern->operator_count > 0) memcpy(grown, pattern->operators, pattern->operator_count * size);
  pattern->operators = grown;
  pattern->operators[pattern->operator_count].domain = domain;
  pattern->operators[pattern->operator_count].name = name;
  pattern->operator_count += 1;
  return BYOC_OK;
}

// "#1" or "#_" after the operands: the result that is matched; the first one by default.
static byoc_status_t parse_result(parser_t *p, byoc_pattern_t *pattern) {
  const char *end = p->at;
  if (!accept_text(p, "#")) {
    p->at = end; // later errors point at the pattern's end
    return BYOC_OK;
  }
  if (accept_text(p, "_")) {
    pattern->result = PATTERN_ANY_RESULT;
    return BYOC_OK;
  }
  skip_space(p);
  const char *begin = p->at;
  for (; isdigit((unsigned char)*p->at) && pattern->result < MAX_RESULTS; ++p->at) {
    pattern->result = 10 * pattern->result + (*p->at - '0');
  }
  if (p->at > begin && pattern->result < MAX_RESULTS) return BYOC_OK;
  p->at = begin;
  return syntax_error(p, "the number of a result below 10000, or _ for any");
}

static byoc_status_t parse_operator(parser_t *p, byoc_pattern_t *pattern, const char *first_word) {
  pattern->kind = PATTERN_OPERATOR;
  if (first_word == NULL) { // a list "{A|B}", whose "{" has been read
    do BYOC_RETURN_IF_ERROR(add_operator(p, pattern, NULL));
    while (accept_text(p, "|"));
    BYOC_RETURN_IF_ERROR(expect_text(p, "}"));
  } else {
    BYOC_RETURN_IF_ERROR(add_operator(p, pattern, first_word));
  }
  pattern->optional = accept_text(p, "?");
  BYOC_RETURN_IF_ERROR(parse_type_test(p, pattern));
  if (accept_text(p, "[")) BYOC_RETURN_IF_ERROR(parse_tests(p, pattern));
  BYOC_RETURN_IF_ERROR(expect_text(p, "("));
  BYOC_RETURN_IF_ERROR(parse_list(p, ",", pattern));
  if (pattern->optional && pattern->child_count == 0) return syntax_error(p, "an operand for the optional operator");
  return parse_result(p, pattern);
}

static byoc_status_t parse_term(parser_t *p, byoc_pattern_t *pattern) {
  bool failed = false;
  if (accept_text(p, "%") || accept_text(p, "@")) {
    pattern->kind = p->at[-1] == '@' ? PATTERN_CONSTANT : PATTERN_ANY;
    bool is_named = isalnum((unsigned char)*p->at) || *p->at == '_';
    if (is_named) pattern->name = parse_word(p, false, &failed);
    if (failed) return byoc_diag_out_of_memory(p->diag);
    if (!is_named && pattern->kind == PATTERN_ANY) return syntax_error(p, "a name after '%'");
    return parse_type_test(p, pattern);
  }
  if (accept_text(p, "(")) {
    pattern->kind = PATTERN_ALTERNATIVES;
    BYOC_RETURN_IF_ERROR(parse_list(p, "|", pattern));
    return pattern->child_count > 0 ? BYOC_OK : syntax_error(p, "an alternative inside of '(' and ')'");
  }
  if (accept_text(p, "{")) return parse_operator(p, pattern, NULL);
  const char *word = parse_word(p, true, &failed);
  if (failed) return byoc_diag_out_of_memory(p->diag);
  if (word == NULL) return syntax_error(p, "a pattern: %name, _, @name, Operator(...), {A|B}(...) or (p | q)");
  if (strcmp(word, "_") == 0) {
    pattern->kind = PATTERN_ANY;
    return parse_type_test(p, pattern);
  }
  skip_space(p);
  if (p->at[0] == ':' && p->at[1] != ':') { // name:Operator(...)
    ++p->at;
    pattern->name = word;
    if (accept_text(p, "{")) return parse_operator(p, pattern, NULL);
    word = parse_word(p, true, &failed);
    if (failed) return byoc_diag_out_of_memory(p->diag);
    if (word == NULL) return syntax_error(p, "an operator after the name");
  }
  return parse_operator(p, pattern, word);
}

// Many nodes of a path match the same pattern, so it has no names and matches one node only. A path may lead through
// any result.
static bool is_path(const byoc_pattern_t *pattern) {
  if (pattern->name != NULL || pattern->optional || pattern->result != 0) return false;
  if (pattern->kind == PATTERN_ANY) return true;
  if (pattern->kind != PATTERN_OPERATOR && pattern->kind != PATTERN_ALTERNATIVES) return false;
  for (size_t i = 0; i < pattern->child_count; ++i) {
    const byoc_pattern_t *child = pattern->children[i];
    const bool is_leaf = child->kind == PATTERN_ANY || child->kind == PATTERN_CONSTANT;
    if (pattern->kind == PATTERN_ALTERNATIVES ? !is_path(child) : !is_leaf || child->name != NULL) return false;
  }
  return true;
}

// root <~ path <~ leaf
static byoc_status_t parse_dominator(parser_t *p, byoc_pattern_t *root, byoc_pattern_t **out_pattern) {
  const byoc_pattern_t *parts[3] = {root};
  if (root->kind != PATTERN_OPERATOR || root->optional) return syntax_error(p, "an operator before '<~'");
  for (int i = DOMINATOR_PATH; i <= DOMINATOR_LEAF; ++i) {
    byoc_pattern_t *part = BYOC_ARENA_NEW(p->arena, byoc_pattern_t);
    if (part == NULL) return byoc_diag_out_of_memory(p->diag);
    if (i == DOMINATOR_LEAF) BYOC_RETURN_IF_ERROR(expect_text(p, "<~"));
    BYOC_RETURN_IF_ERROR(parse_term(p, part));
    if (i == DOMINATOR_PATH && !is_path(part)) {
      return syntax_error(p, "a path of operators over _, @ and ..., without names, before this point");
    }
    parts[i] = part;
  }
  byoc_pattern_t *pattern = BYOC_ARENA_NEW(p->arena, byoc_pattern_t);
  if (pattern == NULL) return byoc_diag_out_of_memory(p->diag);
  pattern->kind = PATTERN_DOMINATOR;
  pattern->children = byoc_arena_copy(p->arena, parts, sizeof(parts));
  pattern->child_count = 3;
  *out_pattern = pattern;
  return pattern->children != NULL ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t parse_pattern(parser_t *p, const byoc_pattern_t **out_pattern) {
  if (p->depth == MAX_DEPTH) return syntax_error(p, "at most 64 levels");
  byoc_pattern_t *pattern = BYOC_ARENA_NEW(p->arena, byoc_pattern_t);
  if (pattern == NULL) return byoc_diag_out_of_memory(p->diag);
  p->depth += 1;
  BYOC_RETURN_IF_ERROR(parse_term(p, pattern));
  if (accept_text(p, "<~")) BYOC_RETURN_IF_ERROR(parse_dominator(p, pattern, &pattern));
  p->depth -= 1;
  *out_pattern = pattern;
  return BYOC_OK;
}

byoc_status_t byoc_pattern_parse(const char *text, const char *name, byoc_arena_t *arena, byoc_diag_t *diag,
                                 const byoc_pattern_t **out_pattern) {
  *out_pattern = NULL;
  parser_t p = {.text = text, .at = text, .name = name, .arena = arena, .diag = diag};
  if (strnlen(text, MAX_BYTES) == MAX_BYTES) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pattern of rule '%s': longer than %d bytes", name, MAX_BYTES);
  }
  BYOC_RETURN_IF_ERROR(parse_pattern(&p, out_pattern));
  skip_space(&p);
  if (*p.at == '\0') return BYOC_OK;
  *out_pattern = NULL;
  return syntax_error(&p, "the end of the pattern");
}

void byoc_pattern_each_operator(const byoc_pattern_t *pattern,
                                void (*visit)(void *self, const char *domain, const char *name), void *self) {
  for (size_t i = 0; i < pattern->operator_count; ++i) {
    visit(self, pattern->operators[i].domain, pattern->operators[i].name);
  }
  for (size_t i = 0; i < pattern->child_count; ++i) byoc_pattern_each_operator(pattern->children[i], visit, self);
}

uint64_t byoc_pattern_element_types(const byoc_pattern_t *pattern) {
  uint64_t types = pattern->dtypes;
  for (size_t i = 0; i < pattern->child_count; ++i) types |= byoc_pattern_element_types(pattern->children[i]);
  return types;
}

bool byoc_pattern_tests_types(const byoc_pattern_t *pattern) {
  bool tests = pattern->dtypes != 0 || pattern->has_rank;
  for (size_t i = 0; i < pattern->child_count && !tests; ++i) tests = byoc_pattern_tests_types(pattern->children[i]);
  return tests;
}

static bool names(const byoc_pattern_t *pattern, const char *op) {
  for (size_t i = 0; i < pattern->operator_count; ++i) {
    if (pattern->operators[i].domain[0] == '\0' && strcmp(pattern->operators[i].name, op) == 0) return true;
  }
  return false;
}

uint64_t byoc_pattern_constant_types(const byoc_pattern_t *pattern, const char *op) {
  const bool has_constant =
      pattern->kind == PATTERN_OPERATOR && pattern->child_count > 0 && pattern->children[0]->kind == PATTERN_CONSTANT;
  uint64_t types = has_constant && names(pattern, op) ? pattern->children[0]->dtypes : 0;
  for (size_t i = 0; i < pattern->child_count; ++i) types |= byoc_pattern_constant_types(pattern->children[i], op);
  return types;
}
