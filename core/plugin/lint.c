// SPDX-License-Identifier: Apache-2.0
// Compares the rules of plugins with the operator table.
#include "core/plugin/lint.h"

#include <stdio.h>
#include <string.h>

#include "core/base/string.h"
#include "core/op/extension.h"
#include "core/plugin/pattern_internal.h"

typedef struct lint_t {
  void (*report)(void *self, const char *message);
  void *self;
} lint_t;

static void tell(const lint_t *lint, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(const lint_t *lint, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  lint->report(lint->self, message);
}

// "Conv", "byoc::ToBlocked"
static const char *full_name(const char *domain, const char *name, char buffer[160]) {
  snprintf(buffer, 160, "%s%s%s", domain, domain[0] != '\0' ? "::" : "", name);
  return buffer;
}

// ---- names ----

// An operator of that name in another domain.
static const byoc_op_t *find_elsewhere(const char *name) {
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (op != NULL && strcmp(op->name, name) == 0) return op;
  }
  return NULL;
}

// Is it byoc's own domain, or one with operators of a loaded plugin?
static bool has_operators(const char *domain) {
  bool has = byoc_op_domain_is_reserved(domain);
  for (size_t i = 0; i < byoc_op_count() && !has; ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    has = op != NULL && strcmp(op->domain, domain) == 0;
  }
  return has;
}

static bool is_known(const lint_t *lint, const char *domain, const char *name) {
  char asked[160], meant[160];
  if (byoc_op_known(domain, name)) return true;
  full_name(domain, name, asked);
  const byoc_op_t *elsewhere = find_elsewhere(name);
  const char *nearest = byoc_op_nearest(domain, name);
  if (elsewhere == NULL && nearest == NULL && !has_operators(domain)) return false; // of a plugin that is not loaded
  if (elsewhere != NULL) {
    tell(lint, "there is no operator '%s'; did you mean '%s'?", asked, full_name(elsewhere->domain, name, meant));
  } else if (nearest != NULL) {
    tell(lint, "there is no operator '%s'; did you mean '%s'?", asked, full_name(domain, nearest, meant));
  } else {
    tell(lint, "there is no operator '%s'; byoc ops lists them", asked);
  }
  return false;
}

// ---- numbers of operands and results ----

static bool is_row_of(const byoc_op_t *op, const char *domain, const char *name) {
  return op != NULL && strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0;
}

// The least and the greatest numbers over all versions; -1: any number.
typedef struct arity_t {
  int32_t least_operands, most_operands, most_results;
} arity_t;

static void widen(int32_t *most, int32_t count) {
  *most = *most < 0 || count < 0 ? -1 : *most > count ? *most : count;
}

static arity_t arity_of(const char *domain, const char *name) {
  arity_t arity = {.least_operands = INT32_MAX};
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (!is_row_of(op, domain, name)) continue;
    if (op->min_inputs < arity.least_operands) arity.least_operands = op->min_inputs;
    widen(&arity.most_operands, op->max_inputs);
    widen(&arity.most_results, op->max_outputs);
  }
  return arity;
}

static void lint_arity(const lint_t *lint, const byoc_pattern_t *pattern, const char *domain, const char *name) {
  const arity_t arity = arity_of(domain, name);
  const int64_t count = (int64_t)pattern->child_count;
  char full[160];
  full_name(domain, name, full);
  if (arity.most_operands >= 0 && count > arity.most_operands) {
    tell(lint, "%s is written with %lld operand%s and has at most %d", full, (long long)count,
         byoc_plural((uint64_t)count), (int)arity.most_operands);
  }
  if (!pattern->open_ended && count < arity.least_operands) {
    tell(lint, "%s is written with %lld operand%s and has at least %d; '...' stands for those that do not matter", full,
         (long long)count, byoc_plural((uint64_t)count), (int)arity.least_operands);
  }
  if (pattern->result != PATTERN_ANY_RESULT && arity.most_results >= 0 && pattern->result >= arity.most_results) {
    tell(lint, "%s has no result #%d: its results are numbered from 0 and it has at most %d", full,
         (int)pattern->result, (int)arity.most_results);
  }
}

// ---- other spellings ----

// Is each version of the operator another spelling, so that no rule sees it?
static void lint_spelling(const lint_t *lint, const char *domain, const char *name) {
  bool is_seen = false;
  char full[160];
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (is_row_of(op, domain, name)) is_seen |= (op->traits & BYOC_OP_SPELLING) == 0;
  }
  if (is_seen) return;
  tell(lint, "%s is always rewritten to operators of ai.onnx before rules are asked, so that no rule matches it",
       full_name(domain, name, full));
}

// ---- attributes ----

// The attribute in any version of the operator, and the nearest name if it has none; both may be NULL.
static const byoc_op_attribute_t *find_attribute(const char *domain, const char *name, const char *attribute,
                                                 const char **out_nearest) {
  enum { MAX_NAMES = 64 };
  const char *names[MAX_NAMES];
  size_t count = 0;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (!is_row_of(op, domain, name) || op->attributes == NULL) continue;
    for (const byoc_op_attribute_t *a = op->attributes; a->value.name != NULL; ++a) {
      if (strcmp(a->value.name, attribute) == 0) return a;
      if (count < MAX_NAMES) names[count++] = a->value.name;
    }
  }
  *out_nearest = byoc_nearest_match(attribute, names, count);
  return NULL;
}

static bool is_allowed(const byoc_op_attribute_t *attribute, const char *text) {
  bool allowed = attribute->allowed == NULL;
  for (const char *const *word = attribute->allowed; !allowed && *word != NULL; ++word) {
    allowed = strcmp(*word, text) == 0;
  }
  return allowed;
}

// What an attribute is and what it is compared with; NULL if patterns cannot compare it.
static const char *kind_text(byoc_attribute_kind_t kind) {
  switch (kind) {
  case BYOC_ATTRIBUTE_INT:
  case BYOC_ATTRIBUTE_FLOAT:
    return "number";
  case BYOC_ATTRIBUTE_STRING:
    return "text";
  case BYOC_ATTRIBUTE_INTS:
  case BYOC_ATTRIBUTE_FLOATS:
    return "list of numbers";
  case BYOC_ATTRIBUTE_STRINGS:
    return "list of texts";
  default:
    return NULL;
  }
}

static void lint_test(const lint_t *lint, const attribute_test_t *test, const char *domain, const char *name) {
  char full[160];
  const char *nearest = NULL;
  const byoc_op_attribute_t *attribute = find_attribute(domain, name, test->name, &nearest);
  full_name(domain, name, full);
  if (attribute == NULL) {
    tell(lint, "%s has no attribute '%s'%s%s%s", full, test->name, nearest != NULL ? "; did you mean '" : "",
         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    return;
  }
  const byoc_attribute_kind_t kind = attribute->value.kind;
  const bool wants_text = test->kind == BYOC_ATTRIBUTE_STRING;
  const char *is = attribute->is_block ? NULL : kind_text(kind), *wants = kind_text(test->kind);
  const bool is_empty = attribute_test_is_list(test) && test->item_count == 0; // of any kind
  if (is == NULL) {
    tell(lint,
         "attribute '%s' of %s is neither a number, nor a string, nor a list of them: a predicate has to look at it",
         test->name, full);
  } else if (strcmp(is, wants) != 0 && !(is_empty && strstr(is, "list") != NULL)) {
    tell(lint, "attribute '%s' of %s is a %s and is compared with a %s", test->name, full, is, wants);
  } else if (wants_text && !is_allowed(attribute, test->s)) {
    const char *meant = NULL;
    size_t count = 0;
    while (attribute->allowed[count] != NULL) ++count;
    meant = byoc_nearest_match(test->s, attribute->allowed, count);
    tell(lint, "attribute '%s' of %s is never \"%s\"%s%s%s", test->name, full, test->s,
         meant != NULL ? "; did you mean \"" : "", meant != NULL ? meant : "", meant != NULL ? "\"?" : "");
  }
}

// ---- patterns ----

static void lint_pattern(const lint_t *lint, const byoc_pattern_t *pattern) {
  for (size_t i = 0; i < pattern->operator_count; ++i) {
    const char *domain = pattern->operators[i].domain, *name = pattern->operators[i].name;
    if (!is_known(lint, domain, name)) continue;
    lint_spelling(lint, domain, name);
    lint_arity(lint, pattern, domain, name);
    for (size_t t = 0; t < pattern->test_count; ++t) lint_test(lint, &pattern->tests[t], domain, name);
  }
  for (size_t i = 0; i < pattern->child_count; ++i) lint_pattern(lint, pattern->children[i]);
}

// "Conv" or "domain::Op", of a list of operators.
static void lint_name(const lint_t *lint, const char *text) {
  char domain[128] = "";
  const char *colons = strstr(text, "::");
  if (colons != NULL) snprintf(domain, sizeof(domain), "%.*s", (int)(colons - text), text);
  const char *name = colons != NULL ? colons + 2 : text;
  if (is_known(lint, domain, name)) lint_spelling(lint, domain, name);
}

void byoc_plugin_lint_rule(const byoc_rule_t *rule, byoc_allocator_t allocator,
                           void (*report)(void *self, const char *message), void *self) {
  const lint_t lint = {report, self};
  for (uint64_t i = 0; i < rule->operators.count; ++i) lint_name(&lint, rule->operators.items[i]);
  if (rule->pattern == NULL) return;
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  const byoc_pattern_t *pattern = NULL;
  if (byoc_pattern_parse(rule->pattern, rule->name, &arena, NULL, &pattern) == BYOC_OK) lint_pattern(&lint, pattern);
  byoc_arena_deinit(&arena);
}

uint64_t byoc_rule_element_types(const byoc_rule_t *rule) {
  uint64_t types = 0;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  const byoc_pattern_t *pattern = NULL;
  if (rule->pattern != NULL && byoc_pattern_parse(rule->pattern, rule->name, &arena, NULL, &pattern) == BYOC_OK) {
    types = byoc_pattern_element_types(pattern);
  }
  byoc_arena_deinit(&arena);
  return types;
}
