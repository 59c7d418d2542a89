#include "core/plugin/pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops/op.h"

typedef enum pattern_kind_t {
  PATTERN_ANY,          // %x or _
  PATTERN_CONSTANT,     // @w or @
  PATTERN_OPERATOR,     // Conv(...), {A|B}(...)
  PATTERN_ALTERNATIVES, // (p | q)
} pattern_kind_t;

typedef struct attribute_test_t {
  const char *name;
  byoc_attribute_kind_t kind; // INT, FLOAT or STRING
  int64_t i;
  double f;
  const char *s;
} attribute_test_t;

struct byoc_pattern_t {
  pattern_kind_t kind;
  const char *name; // binding; NULL: none
  // OPERATOR
  struct {
    const char *domain, *name;
  } * operators;
  size_t operator_count;
  bool optional, open_ended; // Op?(...), trailing "..."
  attribute_test_t *tests;
  size_t test_count;
  // OPERATOR: operands; ALTERNATIVES: the alternatives
  const byoc_pattern_t **children;
  size_t child_count;
};

enum { MAX_DEPTH = 64, MAX_CHILDREN = 64 };

// ---- parsing ----

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

// A name of letters, digits, '_' and, in operators' domains, '.'; NULL where there is none. *out_failed: out of memory.
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

static byoc_status_t parse_list(parser_t *p, const char *close, const char *separator, byoc_pattern_t *pattern) {
  const byoc_pattern_t *children[MAX_CHILDREN];
  size_t count = 0;
  if (!accept_text(p, close)) {
    do {
      if (pattern->kind == PATTERN_OPERATOR && accept_text(p, "...")) {
        pattern->open_ended = true;
        break;
      }
      if (count == MAX_CHILDREN) return syntax_error(p, "at most 64 operands");
      BYOC_RETURN_IF_ERROR(parse_pattern(p, &children[count++]));
    } while (accept_text(p, separator));
    BYOC_RETURN_IF_ERROR(expect_text(p, close));
  }
  pattern->children = byoc_arena_copy(p->arena, children, count * sizeof(children[0]));
  pattern->child_count = count;
  return pattern->children != NULL || count == 0 ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t parse_test(parser_t *p, attribute_test_t *test) {
  bool failed = false;
  test->name = parse_word(p, false, &failed);
  if (failed) return byoc_diag_out_of_memory(p->diag);
  if (test->name == NULL) return syntax_error(p, "an attribute's name");
  BYOC_RETURN_IF_ERROR(expect_text(p, "="));
  if (accept_text(p, "\"")) {
    const char *end = strchr(p->at, '"');
    if (end == NULL) return syntax_error(p, "a closing quote");
    test->kind = BYOC_ATTRIBUTE_STRING;
    test->s = byoc_arena_format(p->arena, "%.*s", (int)(end - p->at), p->at);
    p->at = end + 1;
    return test->s ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
  }
  skip_space(p);
  char *int_end = NULL, *float_end = NULL;
  test->i = strtoll(p->at, &int_end, 10);
  test->f = strtod(p->at, &float_end);
  if (float_end == p->at) return syntax_error(p, "a number or a quoted text");
  test->kind = float_end > int_end ? BYOC_ATTRIBUTE_FLOAT : BYOC_ATTRIBUTE_INT;
  p->at = float_end;
  return BYOC_OK;
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

static byoc_status_t parse_operator(parser_t *p, byoc_pattern_t *pattern, const char *first_word) {
  pattern->kind = PATTERN_OPERATOR;
  if (first_word == NULL) { // behind "{"
    do BYOC_RETURN_IF_ERROR(add_operator(p, pattern, NULL));
    while (accept_text(p, "|"));
    BYOC_RETURN_IF_ERROR(expect_text(p, "}"));
  } else {
    BYOC_RETURN_IF_ERROR(add_operator(p, pattern, first_word));
  }
  pattern->optional = accept_text(p, "?");
  if (accept_text(p, "[")) BYOC_RETURN_IF_ERROR(parse_tests(p, pattern));
  BYOC_RETURN_IF_ERROR(expect_text(p, "("));
  BYOC_RETURN_IF_ERROR(parse_list(p, ")", ",", pattern));
  if (pattern->optional && pattern->child_count == 0) return syntax_error(p, "an operand for the optional operator");
  return BYOC_OK;
}

static byoc_status_t parse_term(parser_t *p, byoc_pattern_t *pattern) {
  bool failed = false;
  if (accept_text(p, "%") || accept_text(p, "@")) {
    pattern->kind = p->at[-1] == '@' ? PATTERN_CONSTANT : PATTERN_ANY;
    bool is_named = isalnum((unsigned char)*p->at) || *p->at == '_';
    if (is_named) pattern->name = parse_word(p, false, &failed);
    if (failed) return byoc_diag_out_of_memory(p->diag);
    if (!is_named && pattern->kind == PATTERN_ANY) return syntax_error(p, "a name behind '%'");
    return BYOC_OK;
  }
  if (accept_text(p, "(")) {
    pattern->kind = PATTERN_ALTERNATIVES;
    return parse_list(p, ")", "|", pattern);
  }
  if (accept_text(p, "{")) return parse_operator(p, pattern, NULL);
  const char *word = parse_word(p, true, &failed);
  if (failed) return byoc_diag_out_of_memory(p->diag);
  if (word == NULL) return syntax_error(p, "a pattern: %name, _, @name, Operator(...), {A|B}(...) or (p | q)");
  if (strcmp(word, "_") == 0) {
    pattern->kind = PATTERN_ANY;
    return BYOC_OK;
  }
  skip_space(p);
  if (p->at[0] == ':' && p->at[1] != ':') { // name:Operator(...)
    ++p->at;
    pattern->name = word;
    if (accept_text(p, "{")) return parse_operator(p, pattern, NULL);
    word = parse_word(p, true, &failed);
    if (failed) return byoc_diag_out_of_memory(p->diag);
    if (word == NULL) return syntax_error(p, "an operator behind the name");
  }
  return parse_operator(p, pattern, word);
}

static byoc_status_t parse_pattern(parser_t *p, const byoc_pattern_t **out_pattern) {
  if (p->depth == MAX_DEPTH) return syntax_error(p, "at most 64 levels");
  byoc_pattern_t *pattern = BYOC_ARENA_NEW(p->arena, byoc_pattern_t);
  if (pattern == NULL) return byoc_diag_out_of_memory(p->diag);
  p->depth += 1;
  BYOC_RETURN_IF_ERROR(parse_term(p, pattern));
  p->depth -= 1;
  *out_pattern = pattern;
  return BYOC_OK;
}

byoc_status_t byoc_pattern_parse(const char *text, const char *name, byoc_arena_t *arena, byoc_diag_t *diag,
                                 const byoc_pattern_t **out_pattern) {
  *out_pattern = NULL;
  parser_t p = {.text = text, .at = text, .name = name, .arena = arena, .diag = diag};
  BYOC_RETURN_IF_ERROR(parse_pattern(&p, out_pattern));
  skip_space(&p);
  if (*p.at == '\0') return BYOC_OK;
  *out_pattern = NULL;
  return syntax_error(&p, "the end of the pattern");
}

// ---- matching ----

void byoc_match_init(byoc_match_t *match, byoc_allocator_t allocator) {
  *match = (byoc_match_t){.allocator = allocator};
}

void byoc_match_deinit(byoc_match_t *match) {
  byoc_vector_deinit(&match->nodes, match->allocator);
  byoc_vector_deinit(&match->bindings, match->allocator);
}

typedef struct matcher_t {
  byoc_match_t *match;
  byoc_block_t *block;
  byoc_match_filter_t filter;
  void *filter_self;
  bool failed;
} matcher_t;

static bool match_value(matcher_t *m, const byoc_pattern_t *pattern, byoc_value_t *value);

static bool bind(matcher_t *m, const char *name, byoc_node_t *node, byoc_value_t *value) {
  if (name == NULL) return true;
  for (size_t i = 0; i < m->match->bindings.count; ++i) {
    const byoc_region_binding_t *known = &m->match->bindings.data[i];
    if (strcmp(known->name, name) == 0) return known->node == node && known->value == value;
  }
  byoc_region_binding_t binding = {.name = name, .node = node, .value = value};
  if (byoc_vector_push(&m->match->bindings, m->match->allocator, binding)) return true;
  m->failed = true;
  return false;
}

static bool contains(const byoc_match_t *match, const byoc_node_t *node) {
  for (size_t i = 0; i < match->nodes.count; ++i) {
    if (match->nodes.data[i] == node) return true;
  }
  return false;
}

static bool operator_fits(const byoc_pattern_t *pattern, const byoc_node_t *node) {
  for (size_t i = 0; i < pattern->operator_count; ++i) {
    if (byoc_node_is(node, pattern->operators[i].domain, pattern->operators[i].name)) return true;
  }
  return false;
}

// A missing attribute fits where the tested value is the one that ONNX defaults to: 0, 1 for `group`, "NOTSET".
static bool test_fits(const attribute_test_t *test, const byoc_node_t *node) {
  const byoc_attribute_t *attribute = byoc_attributes_find(&node->attributes, test->name);
  if (attribute == NULL) {
    if (test->kind == BYOC_ATTRIBUTE_STRING) return strcmp(test->s, "NOTSET") == 0 || test->s[0] == '\0';
    return test->f == (strcmp(test->name, "group") == 0 ? 1.0 : 0.0);
  }
  if (test->kind == BYOC_ATTRIBUTE_STRING) {
    return attribute->kind == BYOC_ATTRIBUTE_STRING && strcmp(attribute->s, test->s) == 0;
  }
  if (attribute->kind == BYOC_ATTRIBUTE_INT) return (double)attribute->i == test->f;
  return attribute->kind == BYOC_ATTRIBUTE_FLOAT && attribute->f == test->f;
}

// Forgets what was matched since a mark.
static void rewind_match(matcher_t *m, size_t nodes, size_t bindings) {
  m->match->nodes.count = nodes;
  m->match->bindings.count = bindings;
}

static bool match_operands(matcher_t *m, const byoc_pattern_t *pattern, const byoc_node_t *node, bool swapped) {
  uint32_t count = node->operand_count;
  while (count > 0 && node->operands[count - 1] == NULL) --count;
  if (count < pattern->child_count || (count > pattern->child_count && !pattern->open_ended)) return false;
  for (size_t i = 0; i < pattern->child_count; ++i) {
    size_t operand = swapped && i < 2 ? 1 - i : i;
    if (!match_value(m, pattern->children[i], node->operands[operand])) return false;
  }
  return true;
}

static bool match_node(matcher_t *m, const byoc_pattern_t *pattern, byoc_node_t *node) {
  if (node == NULL || node->block != m->block || node->callee != NULL || !operator_fits(pattern, node)) return false;
  if (m->filter != NULL && !m->filter(m->filter_self, node)) return false;
  for (size_t i = 0; i < pattern->test_count; ++i) {
    if (!test_fits(&pattern->tests[i], node)) return false;
  }
  size_t nodes = m->match->nodes.count, bindings = m->match->bindings.count;
  int orders = byoc_node_has_trait(node, BYOC_OP_COMMUTES) && pattern->child_count == 2 ? 2 : 1;
  for (int order = 0; order < orders; ++order) {
    if (match_operands(m, pattern, node, order == 1) && bind(m, pattern->name, node, NULL)) {
      if (contains(m->match, node)) return true;
      if (byoc_vector_push(&m->match->nodes, m->match->allocator, node)) return true;
      m->failed = true;
    }
    rewind_match(m, nodes, bindings);
  }
  return false;
}

static bool match_value(matcher_t *m, const byoc_pattern_t *pattern, byoc_value_t *value) {
  if (m->failed || value == NULL) return false;
  switch (pattern->kind) {
  case PATTERN_ANY:
    return bind(m, pattern->name, NULL, value);
  case PATTERN_CONSTANT:
    return byoc_value_is_constant(value) && bind(m, pattern->name, NULL, value);
  case PATTERN_ALTERNATIVES:
    for (size_t i = 0; i < pattern->child_count; ++i) {
      size_t nodes = m->match->nodes.count, bindings = m->match->bindings.count;
      if (match_value(m, pattern->children[i], value)) return bind(m, pattern->name, NULL, value);
      rewind_match(m, nodes, bindings);
    }
    return false;
  case PATTERN_OPERATOR:
    break;
  }
  byoc_node_t *producer = byoc_value_producer(value);
  if (value->index == 0 && match_node(m, pattern, producer)) return true;
  return pattern->optional && match_value(m, pattern->children[0], value);
}

// Every value made inside is used inside, but for the root's.
static bool escapes(const byoc_match_t *match, const byoc_node_t *root) {
  for (size_t i = 0; i < match->nodes.count; ++i) {
    const byoc_node_t *node = match->nodes.data[i];
    for (uint32_t r = 0; node != root && r < node->result_count; ++r) {
      const byoc_value_t *value = node->results[r];
      for (size_t u = 0; u < value->uses.count; ++u) {
        const byoc_node_t *user = value->uses.data[u].node;
        if (user == NULL || !contains(match, user)) return true;
      }
    }
  }
  return false;
}

bool byoc_pattern_match(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter, void *filter_self,
                        byoc_match_t *match, bool *out_failed) {
  match->nodes.count = match->bindings.count = 0;
  matcher_t m = {.match = match, .block = root->block, .filter = filter, .filter_self = filter_self};
  bool matched = root->result_count > 0 && match_value(&m, pattern, root->results[0]) && contains(match, root) &&
                 !escapes(match, root);
  *out_failed = m.failed;
  if (!matched) rewind_match(&m, 0, 0);
  return matched;
}
