// SPDX-License-Identifier: Apache-2.0
// Binds matches to functions of the packed convention.
#include "packed.h"

#include <ctype.h>
#include <string.h>

const char *byoc_shim_packed_symbol(const json_t *rule) {
  return json_string_value(json_object_get(rule, "packed"));
}

static bool is_name_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool is_operand(const json_t *operands, const char *name, size_t length) {
  for (size_t i = 0; i < json_array_size(operands); ++i) {
    const char *operand = json_string_value(json_array_get(operands, i));
    if (operand != NULL && strlen(operand) == length && strncmp(operand, name, length) == 0) return true;
  }
  return false;
}

// The character behind a test of attributes, "[...]", or of types, "<...>", which begins here; `at` if none does.
static const char *skip_tests(const char *at) {
  const bool is_test = *at == '[' || (*at == '<' && at[1] != '~');
  const char end = *at == '[' ? ']' : '>';
  bool is_text = false;
  if (!is_test) return at;
  for (int depth = 0; *at != '\0'; ++at) {
    if (*at == '"') is_text = !is_text;
    if (!is_text && (*at == '[' || *at == '<')) ++depth;
    if (!is_text && *at == end && --depth == 0) return at + 1;
  }
  return at;
}

bool byoc_shim_passes_constants(const json_t *rule) {
  const json_t *operands = json_object_get(rule, "operands");
  const char *pattern = json_string_value(json_object_get(rule, "pattern"));
  if (byoc_shim_packed_symbol(rule) == NULL || pattern == NULL) return false;
  for (const char *at = pattern; *at != '\0';) {
    const char *behind = skip_tests(at);
    size_t length = 0;
    if (behind > at) {
      at = behind;
      continue;
    }
    const bool is_value = *at == '%' || *at == '@';
    while (is_name_byte(at[is_value + length])) ++length;
    const bool is_any = !is_value && length == 1 && *at == '_' && (at == pattern || at[-1] != '#');
    if (is_any || (is_value && !is_operand(operands, at + 1, length))) return false;
    at += length + (is_value || length == 0);
  }
  return true;
}

bool byoc_shim_check_packed(byoc_shim_scope_t *scope, const json_t *rule) {
  const json_t *operands = json_object_get(rule, "operands");
  if (byoc_shim_packed_symbol(rule) == NULL) return byoc_shim_fail(scope, "'packed' is not a string");
  if (json_object_get(rule, "steps") != NULL || json_object_get(rule, "result") != NULL) {
    return byoc_shim_fail(scope, "'steps' and 'result' have no meaning beside 'packed'");
  }
  if (json_array_size(operands) == 0) return byoc_shim_fail(scope, "the list 'operands' is missing");
  for (size_t i = 0; i < json_array_size(operands); ++i) {
    const char *name = json_string_value(json_array_get(operands, i));
    if (name == NULL || !byoc_shim_in_pattern(scope->pattern, name)) {
      return byoc_shim_fail(scope, "operand %zu is no name of the pattern", i + 1);
    }
  }
  return true;
}

#define IS_CONSTANT "an operand is a constant, which it gets only if 'operands' has all values of the pattern"

int32_t byoc_shim_bind_packed(const byoc_shim_scope_t *scope, const json_t *rule, byoc_codegen_t *codegen,
                              byoc_function_t *function) {
  const byoc_host_t *host = scope->host;
  const json_t *operands = json_object_get(rule, "operands");
  uint64_t count = 0;
  for (size_t i = 0; i < json_array_size(operands); ++i) {
    const byoc_value_t *value = byoc_shim_bound(scope, json_string_value(json_array_get(operands, i)));
    if (value == NULL) continue; // an operand that this match left out
    const int64_t index = host->graph->value_parameter_index(value);
    if (index < 0) return host->codegen->decline(codegen, function, IS_CONSTANT);
    if (index != (int64_t)count) {
      return host->codegen->decline(codegen, function, "its operands are one value, or come in another order");
    }
    ++count;
  }
  if (count != host->graph->parameter_count(function)) {
    return host->codegen->decline(codegen, function, "it reads more than the operands of its rule");
  }
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1),
                                         .symbol = byoc_shim_packed_symbol(rule)};
  return host->codegen->bind_packed(codegen, function, &binding);
}
