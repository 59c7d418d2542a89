// SPDX-License-Identifier: Apache-2.0
// Binds matches to functions of the packed convention.
#include "packed.h"

#include <string.h>

const char *byoc_shim_packed_symbol(const json_t *rule) {
  return json_string_value(json_object_get(rule, "packed"));
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

int32_t byoc_shim_bind_packed(const byoc_shim_scope_t *scope, const json_t *rule, byoc_codegen_t *codegen,
                              byoc_function_t *function) {
  const byoc_host_t *host = scope->host;
  const json_t *operands = json_object_get(rule, "operands");
  uint64_t count = 0;
  for (size_t i = 0; i < json_array_size(operands); ++i) {
    const byoc_value_t *value = byoc_shim_bound(scope, json_string_value(json_array_get(operands, i)));
    if (value == NULL) continue; // an operand that this match left out
    if (host->graph->value_parameter_index(value) != (int64_t)count) {
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
