// SPDX-License-Identifier: Apache-2.0
// Parses and evaluates the expressions of a table.
#include "expr.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME_BYTES = 64, MAX_DEPTH = 64, MAX_ARGUMENTS = 3 };

typedef struct reader_t {
  byoc_shim_scope_t *scope;
  const char *begin, *at;
  bool live; // false: only checked for errors (the other branch of a condition, or a table being checked)
  bool failed;
  int depth;
} reader_t;

static byoc_shim_value_t number_value(double number) {
  return (byoc_shim_value_t){.number = number};
}

static byoc_shim_value_t text_value(const char *text) {
  return (byoc_shim_value_t){.text = text, .length = strlen(text)};
}

// ---- errors ----

bool byoc_shim_fail(byoc_shim_scope_t *scope, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(scope->error, sizeof(scope->error), format, arguments);
  va_end(arguments);
  return false;
}

bool byoc_shim_fail_in(byoc_shim_scope_t *scope, const char *format, ...) {
  char reason[sizeof(scope->error)];
  memcpy(reason, scope->error, sizeof(reason));
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(scope->error, sizeof(scope->error), format, arguments);
  va_end(arguments);
  const size_t used = strlen(scope->error);
  snprintf(scope->error + used, sizeof(scope->error) - used, ": %s", reason);
  return false;
}

// The first error is kept; parsing goes on.
static byoc_shim_value_t fail(reader_t *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static byoc_shim_value_t fail(reader_t *r, const char *at, const char *format, ...) {
  if (r->failed) return number_value(1);
  r->failed = true;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(r->scope->error, sizeof(r->scope->error), format, arguments);
  va_end(arguments);
  byoc_shim_fail_in(r->scope, "'%.96s', column %d", r->begin, (int)(at - r->begin) + 1);
  return number_value(1);
}

// ---- names ----

static bool is_name_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

bool byoc_shim_in_pattern(const char *pattern, const char *name) {
  const size_t length = strlen(name);
  if (length == 0) return false;
  for (const char *at = pattern; (at = strstr(at, name)) != NULL; ++at) {
    const char before = at > pattern ? at[-1] : ' ', after = at[length];
    if (is_name_byte(before) || is_name_byte(after)) continue;
    if (before == '%' || before == '@') return true;
    if (before != ':' && after == ':' && at[length + 1] != ':') return true; // "name:Op", not "domain::Op"
  }
  return false;
}

byoc_value_t *byoc_shim_bound(const byoc_shim_scope_t *scope, const char *name) {
  byoc_value_t *value = scope->host->region->value(scope->region, name);
  if (value != NULL) return value;
  const byoc_node_t *node = scope->host->region->node(scope->region, name);
  return node != NULL ? scope->host->graph->node_result(node, 0) : NULL;
}

bool byoc_shim_set(byoc_shim_scope_t *scope, const char *name, byoc_shim_value_t value) {
  size_t i = 0;
  while (i < scope->variable_count && strcmp(scope->variables[i].name, name) != 0) ++i;
  if (i == BYOC_SHIM_MAX_VARIABLES) return byoc_shim_fail(scope, "more than %d names", BYOC_SHIM_MAX_VARIABLES);
  scope->variables[i].name = name;
  scope->variables[i].value = value;
  if (i == scope->variable_count) ++scope->variable_count;
  return true;
}

// ---- functions ----

typedef enum function_t {
  FN_CONSTANT,
  FN_COUNT,
  FN_DIM,
  FN_DTYPE,
  FN_FLOAT,
  FN_HAS,
  FN_INT,
  FN_KNOWN,
  FN_MAX,
  FN_MIN,
  FN_OPTION,
  FN_PROD,
  FN_RANK,
  FN_SAME,
  FN_SUM,
  FN_TEXT,
} function_t;

// Kinds of arguments: v a value, o a node, n a number, t a string; capital: may be left out.
static const struct {
  const char *name, *arguments;
  function_t function;
  bool gives_text;
} functions[] = {
    {"constant", "v", FN_CONSTANT, false}, // 1 for a constant
    {"count", "v", FN_COUNT, false},       // elements
    {"dim", "vn", FN_DIM, false},          // negative axes count from the end
    {"dtype", "v", FN_DTYPE, true},        // 'f32'
    {"float", "otn", FN_FLOAT, false},     // node, attribute, fallback
    {"has", "v", FN_HAS, false},           // 1 where that part of the pattern matched
    {"int", "otn", FN_INT, false},         // node, attribute, fallback
    {"known", "v", FN_KNOWN, false},       // 1 where the shape is known before the run
    {"max", "nn", FN_MAX, false},          {"min", "nn", FN_MIN, false},
    {"option", "t", FN_OPTION, false}, // an integer or boolean option of the target
    {"prod", "vnN", FN_PROD, false},   // product of the dims from .. to (exclusive; left out: all)
    {"rank", "v", FN_RANK, false},         {"same", "vv", FN_SAME, false}, // 1 where both have the same shape
    {"sum", "ot", FN_SUM, false},                                          // of a list attribute; 0 without it
    {"text", "ott", FN_TEXT, true},                                        // node, attribute, fallback
};

typedef struct argument_t {
  const char *at;
  char name[MAX_NAME_BYTES]; // v, o; t as a C string
  byoc_shim_value_t value;   // n, t
} argument_t;

static byoc_shim_value_t read_binary(reader_t *r, int level);
static byoc_shim_value_t read_choice(reader_t *r);

static void skip_space(reader_t *r) {
  while (*r->at == ' ') ++r->at;
}

static bool take(reader_t *r, const char *token) {
  skip_space(r);
  const size_t length = strlen(token);
  if (strncmp(r->at, token, length) != 0) return false;
  r->at += length;
  return true;
}

static void expect(reader_t *r, const char *token) {
  if (!take(r, token)) fail(r, r->at, "'%s' expected", token);
}

static bool read_name(reader_t *r, char out_name[MAX_NAME_BYTES]) {
  skip_space(r);
  size_t length = 0;
  out_name[0] = '\0';
  if (!isalpha((unsigned char)*r->at) && *r->at != '_') return false;
  while (is_name_byte(r->at[length])) ++length;
  if (length >= MAX_NAME_BYTES) {
    fail(r, r->at, "the name is too long");
    length = MAX_NAME_BYTES - 1;
  }
  memcpy(out_name, r->at, length);
  out_name[length] = '\0';
  while (is_name_byte(*r->at)) ++r->at;
  return true;
}

static double need_number(reader_t *r, const char *at, byoc_shim_value_t value) {
  if (value.text != NULL) fail(r, at, "a number is expected, not a string");
  return value.number;
}

static byoc_value_t *need_value(reader_t *r, const argument_t *argument) {
  byoc_value_t *value = byoc_shim_bound(r->scope, argument->name);
  if (value == NULL) fail(r, argument->at, "'%s' is not part of this match", argument->name);
  return value;
}

static const byoc_node_t *need_node(reader_t *r, const argument_t *argument) {
  const byoc_node_t *node = r->scope->host->region->node(r->scope->region, argument->name);
  if (node == NULL) fail(r, argument->at, "'%s' is not a node of this match", argument->name);
  return node;
}

static int32_t need_rank(reader_t *r, const argument_t *argument, const byoc_value_t *value) {
  const int32_t rank = r->scope->host->graph->value_rank(value);
  if (rank < 0) fail(r, argument->at, "the rank of '%s' is not known", argument->name);
  return rank;
}

static double need_dim(reader_t *r, const argument_t *argument, const byoc_value_t *value, int64_t axis) {
  const int32_t rank = need_rank(r, argument, value);
  const int64_t from_start = axis < 0 ? axis + rank : axis;
  if (from_start < 0 || from_start >= rank) {
    fail(r, argument->at, "'%s' has no dimension %lld", argument->name, (long long)axis);
    return 1;
  }
  const int64_t dim = r->scope->host->graph->value_dim(value, (int32_t)from_start);
  if (dim < 0) fail(r, argument->at, "dimension %lld of '%s' is not constant", (long long)axis, argument->name);
  return (double)dim;
}

// An axis as a bound of a range: 0 .. rank, negative ones from the end.
static int64_t range_bound(double bound, int32_t rank) {
  const double from_start = bound < 0 ? bound + rank : bound;
  return from_start < 0 ? 0 : from_start > rank ? rank : (int64_t)from_start;
}

static double product(reader_t *r, const argument_t *arguments, uint32_t count) {
  const byoc_value_t *value = need_value(r, &arguments[0]);
  if (value == NULL) return 1;
  const int32_t rank = need_rank(r, &arguments[0], value);
  if (rank < 0) return 1;
  const int64_t to = range_bound(count > 2 ? arguments[2].value.number : rank, rank);
  double result = 1;
  for (int64_t i = range_bound(arguments[1].value.number, rank); i < to; ++i) {
    result *= need_dim(r, &arguments[0], value, i);
  }
  return result;
}

static bool same_shape(reader_t *r, const argument_t *arguments) {
  const byoc_value_t *a = need_value(r, &arguments[0]), *b = need_value(r, &arguments[1]);
  if (a == NULL || b == NULL) return false;
  const int32_t rank = need_rank(r, &arguments[0], a);
  if (rank != need_rank(r, &arguments[1], b)) return false;
  for (int32_t i = 0; i < rank; ++i) {
    if (need_dim(r, &arguments[0], a, i) != need_dim(r, &arguments[1], b, i)) return false;
  }
  return true;
}

static byoc_shim_value_t call_on_value(reader_t *r, function_t function, const argument_t *arguments, uint32_t count) {
  const byoc_graph_api_t *graph = r->scope->host->graph;
  if (function == FN_HAS) return number_value(byoc_shim_bound(r->scope, arguments[0].name) != NULL);
  if (function == FN_PROD) return number_value(product(r, arguments, count));
  if (function == FN_SAME) return number_value(same_shape(r, arguments));
  const byoc_value_t *value = need_value(r, &arguments[0]);
  if (value == NULL) return number_value(1);
  byoc_tensor_data_t data;
  switch (function) {
  case FN_CONSTANT:
    data = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    return number_value(graph->value_constant(value, &data) != 0);
  case FN_COUNT:
    if (graph->value_element_count(value) < 0) {
      return fail(r, arguments[0].at, "the size of '%s' is not constant", arguments[0].name);
    }
    return number_value((double)graph->value_element_count(value));
  case FN_KNOWN:
    return number_value(graph->value_element_count(value) >= 0);
  case FN_DTYPE:
    return text_value(byoc_dtype_name(graph->value_dtype(value)));
  case FN_RANK:
    return number_value(need_rank(r, &arguments[0], value));
  default:
    return number_value(need_dim(r, &arguments[0], value, (int64_t)arguments[1].value.number));
  }
}

static byoc_shim_value_t call_on_node(reader_t *r, function_t function, const argument_t *arguments) {
  const byoc_graph_api_t *graph = r->scope->host->graph;
  const byoc_node_t *node = need_node(r, &arguments[0]);
  if (node == NULL) return number_value(1);
  const char *name = arguments[1].name;
  uint64_t count = 0;
  switch (function) {
  case FN_INT:
    return number_value((double)graph->attribute_int(node, name, (int64_t)arguments[2].value.number));
  case FN_FLOAT:
    return number_value(graph->attribute_float(node, name, arguments[2].value.number));
  case FN_TEXT: {
    const char *text = graph->attribute_string(node, name, NULL);
    return text != NULL ? text_value(text) : arguments[2].value;
  }
  default: {
    const int64_t *ints = graph->attribute_ints(node, name, &count);
    double sum = 0;
    for (uint64_t i = 0; ints != NULL && i < count; ++i) sum += (double)ints[i];
    return number_value(sum);
  }
  }
}

static byoc_shim_value_t call(reader_t *r, function_t function, const argument_t *arguments, uint32_t count) {
  const byoc_host_t *host = r->scope->host;
  const double a = arguments[0].value.number, b = arguments[1].value.number;
  switch (function) {
  case FN_MAX:
    return number_value(a > b ? a : b);
  case FN_MIN:
    return number_value(a < b ? a : b);
  case FN_OPTION:
    return number_value((double)host->target->option_int(host->region->target(r->scope->region), arguments[0].name));
  case FN_FLOAT:
  case FN_INT:
  case FN_SUM:
  case FN_TEXT:
    return call_on_node(r, function, arguments);
  default:
    return call_on_value(r, function, arguments, count);
  }
}

static void read_argument(reader_t *r, char kind, argument_t *out) {
  skip_space(r);
  out->at = r->at;
  if (kind == 'v' || kind == 'o') {
    if (!read_name(r, out->name) || !byoc_shim_in_pattern(r->scope->pattern, out->name)) {
      fail(r, out->at, "a name of the pattern expected");
    }
    return;
  }
  out->value = read_choice(r);
  if (kind == 'n') {
    need_number(r, out->at, out->value);
  } else if (out->value.text == NULL || out->value.length >= MAX_NAME_BYTES) {
    fail(r, out->at, "a short string is expected");
  } else {
    memcpy(out->name, out->value.text, out->value.length);
    out->name[out->value.length] = '\0';
  }
}

// The arguments behind the opening parenthesis; returns how many there are.
static uint32_t read_arguments(reader_t *r, const char *kinds, argument_t out[MAX_ARGUMENTS]) {
  uint32_t count = 0;
  for (; kinds[count] != '\0'; ++count) {
    const bool optional = isupper((unsigned char)kinds[count]) != 0;
    if (count > 0 && !take(r, ",")) {
      if (!optional) fail(r, r->at, "',' expected");
      break;
    }
    read_argument(r, (char)tolower((unsigned char)kinds[count]), &out[count]);
  }
  expect(r, ")");
  return count;
}

// ---- grammar ----

static byoc_shim_value_t read_named(reader_t *r) {
  const char *at = r->at;
  char name[MAX_NAME_BYTES];
  read_name(r, name);
  if (!take(r, "(")) {
    for (size_t i = 0; i < r->scope->variable_count; ++i) {
      if (strcmp(r->scope->variables[i].name, name) == 0) return r->scope->variables[i].value;
    }
    return fail(r, at, "unknown name '%s'", name);
  }
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); ++i) {
    if (strcmp(functions[i].name, name) != 0) continue;
    argument_t arguments[MAX_ARGUMENTS] = {{.at = NULL}};
    const uint32_t count = read_arguments(r, functions[i].arguments, arguments);
    if (r->live && !r->failed) return call(r, functions[i].function, arguments, count);
    return functions[i].gives_text ? text_value("") : number_value(1);
  }
  return fail(r, at, "unknown function '%s'", name);
}

static byoc_shim_value_t read_primary(reader_t *r) {
  skip_space(r);
  if (isdigit((unsigned char)*r->at)) {
    char *end = NULL;
    const double number = strtod(r->at, &end);
    r->at = end;
    return number_value(number);
  }
  if (*r->at == '\'') {
    const char *text = ++r->at, *end = strchr(text, '\'');
    if (end == NULL) return fail(r, text - 1, "the string has no end");
    r->at = end + 1;
    return (byoc_shim_value_t){.text = text, .length = (size_t)(end - text)};
  }
  if (take(r, "(")) {
    const byoc_shim_value_t value = read_choice(r);
    expect(r, ")");
    return value;
  }
  if (isalpha((unsigned char)*r->at) || *r->at == '_') return read_named(r);
  return fail(r, r->at, "a value expected");
}

static byoc_shim_value_t read_unary(reader_t *r) {
  if (++r->depth > MAX_DEPTH) {
    r->at += strlen(r->at); // nothing more is read
    return fail(r, r->at, "nested too deeply");
  }
  byoc_shim_value_t value;
  skip_space(r);
  const char *at = r->at;
  if (take(r, "-"))
    value = number_value(-need_number(r, at, read_unary(r)));
  else if (at[0] == '!' && at[1] != '=' && take(r, "!"))
    value = number_value(need_number(r, at, read_unary(r)) == 0);
  else
    value = read_primary(r);
  --r->depth;
  return value;
}

// An operator stands before those that are its beginning: "<=" before "<".
static const struct {
  const char *text;
  int level;
} operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<", 4},
                 {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6},  {"%", 6}};

static byoc_shim_value_t compare_texts(reader_t *r, const char *at, const char *op, byoc_shim_value_t a,
                                       byoc_shim_value_t b) {
  const bool is_equal = a.text != NULL && b.text != NULL && a.length == b.length && !memcmp(a.text, b.text, a.length);
  if (op[1] != '=' || op[0] == '<' || op[0] == '>') return fail(r, at, "strings can be compared only by == and !=");
  if (a.text == NULL || b.text == NULL) return fail(r, at, "a string is compared with a number");
  return number_value(is_equal == (op[0] == '='));
}

static byoc_shim_value_t combine(reader_t *r, const char *at, const char *op, byoc_shim_value_t left,
                                 byoc_shim_value_t right) {
  if (left.text != NULL || right.text != NULL) return compare_texts(r, at, op, left, right);
  const double a = left.number, b = right.number;
  switch (op[0]) {
  case '|':
    return number_value(a != 0 || b != 0);
  case '&':
    return number_value(a != 0 && b != 0);
  case '=':
    return number_value(a == b);
  case '!':
    return number_value(a != b);
  case '<':
    return number_value(op[1] == '=' ? a <= b : a < b);
  case '>':
    return number_value(op[1] == '=' ? a >= b : a > b);
  case '+':
    return number_value(a + b);
  case '-':
    return number_value(a - b);
  case '*':
    return number_value(a * b);
  default:
    if (b == 0) return r->live ? fail(r, at, "division by zero") : number_value(1);
    return number_value(op[0] == '/' ? a / b : fmod(a, b));
  }
}

static byoc_shim_value_t read_binary(reader_t *r, int level) {
  byoc_shim_value_t left = read_unary(r);
  for (;;) {
    skip_space(r);
    const char *at = r->at;
    size_t i = 0;
    while (i < sizeof(operators) / sizeof(*operators) && strncmp(at, operators[i].text, strlen(operators[i].text))) ++i;
    if (i == sizeof(operators) / sizeof(*operators) || operators[i].level < level) return left;
    r->at += strlen(operators[i].text);
    // If the left side of && or || decides, the right side is dead.
    const bool live = r->live, truth = left.text == NULL && left.number != 0;
    if ((operators[i].level == 1 && truth) || (operators[i].level == 2 && !truth)) r->live = false;
    const byoc_shim_value_t right = read_binary(r, operators[i].level + 1);
    left = combine(r, at, operators[i].text, left, right);
    r->live = live;
  }
}

static byoc_shim_value_t read_choice(reader_t *r) {
  skip_space(r);
  const char *at = r->at;
  const byoc_shim_value_t condition = read_binary(r, 1);
  if (!take(r, "?")) return condition;
  const bool live = r->live, truth = need_number(r, at, condition) != 0;
  r->live = live && truth;
  const byoc_shim_value_t yes = read_choice(r);
  expect(r, ":");
  r->live = live && !truth;
  const byoc_shim_value_t no = read_choice(r);
  r->live = live;
  if ((yes.text != NULL) != (no.text != NULL)) return fail(r, at, "one branch is a string, the other a number");
  return truth ? yes : no;
}

// ---- entries ----

static void expect_end(reader_t *r) {
  skip_space(r);
  if (*r->at != '\0') fail(r, r->at, "the expression should end here");
}

bool byoc_shim_evaluate(byoc_shim_scope_t *scope, const json_t *expression, byoc_shim_value_t *out_value) {
  *out_value = number_value(1);
  if (json_is_number(expression)) {
    *out_value = number_value(json_number_value(expression));
    return true;
  }
  const char *text = json_string_value(expression);
  if (text == NULL) return byoc_shim_fail(scope, "an expression (a string or a number) is expected");
  reader_t r = {.scope = scope, .begin = text, .at = text, .live = scope->region != NULL};
  *out_value = read_choice(&r);
  expect_end(&r);
  return !r.failed;
}

bool byoc_shim_evaluate_number(byoc_shim_scope_t *scope, const json_t *expression, double *out_number) {
  byoc_shim_value_t value;
  *out_number = 1;
  if (!byoc_shim_evaluate(scope, expression, &value)) return false;
  if (value.text != NULL) return byoc_shim_fail(scope, "'%.96s' is a string", json_string_value(expression));
  *out_number = value.number;
  return true;
}

static bool to_int(byoc_shim_scope_t *scope, const json_t *expression, double number, int64_t *out_int) {
  *out_int = 1;
  if (!(fabs(number) <= 9007199254740992.0)) return byoc_shim_fail(scope, "%g is out of range", number);
  *out_int = (int64_t)number;
  if (scope->region == NULL || (double)*out_int == number) return true;
  return byoc_shim_fail(scope, "'%.96s' is %g, not an integer", json_string_value(expression), number);
}

bool byoc_shim_evaluate_int(byoc_shim_scope_t *scope, const json_t *expression, int64_t *out_int) {
  double number = 1;
  return byoc_shim_evaluate_number(scope, expression, &number) && to_int(scope, expression, number, out_int);
}

// dims(v, from, to) or ones(count); false where the item is neither.
static bool read_several(reader_t *r, const json_t *item, int64_t out[BYOC_SHIM_MAX_DIMS], int64_t *out_count) {
  argument_t arguments[MAX_ARGUMENTS] = {{.at = NULL}};
  const bool is_dims = take(r, "dims(");
  if (!is_dims && !take(r, "ones(")) return false;
  const uint32_t count = read_arguments(r, is_dims ? "vNN" : "n", arguments);
  expect_end(r);
  *out_count = 0;
  if (!r->live || r->failed) return true;
  if (!is_dims) {
    if (arguments[0].value.number > BYOC_SHIM_MAX_DIMS) fail(r, r->begin, "too many items");
    for (; !r->failed && *out_count < arguments[0].value.number; ++*out_count) out[*out_count] = 1;
    return true;
  }
  const byoc_value_t *value = need_value(r, &arguments[0]);
  const int32_t rank = value != NULL ? need_rank(r, &arguments[0], value) : 0;
  const int64_t to = range_bound(count > 2 ? arguments[2].value.number : rank, rank);
  if (rank > BYOC_SHIM_MAX_DIMS) fail(r, arguments[0].at, "'%s' has too many dimensions", arguments[0].name);
  for (int64_t i = range_bound(count > 1 ? arguments[1].value.number : 0, rank); !r->failed && i < to; ++i) {
    if (!to_int(r->scope, item, need_dim(r, &arguments[0], value, i), &out[(*out_count)++])) r->failed = true;
  }
  return true;
}

bool byoc_shim_evaluate_ints(byoc_shim_scope_t *scope, const json_t *list, int64_t out_ints[BYOC_SHIM_MAX_DIMS],
                             uint32_t *out_count) {
  *out_count = 0;
  if (!json_is_array(list)) return byoc_shim_fail(scope, "a list of expressions expected");
  for (size_t i = 0; i < json_array_size(list); ++i) {
    const json_t *item = json_array_get(list, i);
    int64_t items[BYOC_SHIM_MAX_DIMS], count = 1;
    const char *text = json_is_string(item) ? json_string_value(item) : "";
    reader_t r = {.scope = scope, .begin = text, .at = text, .live = scope->region != NULL};
    const bool ok = read_several(&r, item, items, &count) ? !r.failed : byoc_shim_evaluate_int(scope, item, &items[0]);
    if (!ok) return byoc_shim_fail_in(scope, "item %zu", i + 1);
    if (count > BYOC_SHIM_MAX_DIMS - (int64_t)*out_count) return byoc_shim_fail(scope, "too many items");
    memcpy(out_ints + *out_count, items, (size_t)count * sizeof(*items));
    *out_count += (uint32_t)count;
  }
  return true;
}
