// SPDX-License-Identifier: Apache-2.0
// Reads, checks and prints values of target options by their schema.
#ifndef BYOC_CORE_TARGETS_OPTION_H_
#define BYOC_CORE_TARGETS_OPTION_H_

#include "core/base/string.h"
#include "core/targets/target.h"

// The most bytes of a STRING whose schema has no maximum.
#define BYOC_OPTION_STRING_LIMIT 4096

// Reads `text` as a value of the option; NULL: the option was given without '='. The error has the option, the value
// and the allowed values; it has no location.
byoc_status_t byoc_option_parse(const byoc_option_schema_t *option, const char *text, byoc_machine_t machine,
                                byoc_arena_t *arena, byoc_diag_t *diag, byoc_target_value_t *out_value);
// The schema's default; for a processor of another machine, the word for every such machine.
byoc_status_t byoc_option_default(const byoc_option_schema_t *option, byoc_machine_t machine, byoc_arena_t *arena,
                                  byoc_diag_t *diag, byoc_target_value_t *out_value);
// "-key=value", with quotes if needed; parses back to the same value.
void byoc_option_print(const byoc_option_schema_t *option, const byoc_target_value_t *value, byoc_string_t *out);

// Does its schema list its values?
static inline bool byoc_option_has_choices(const byoc_option_schema_t *option) {
  return option->type == BYOC_OPTION_CHOICE || option->type == BYOC_OPTION_PRECISION;
}

#endif // BYOC_CORE_TARGETS_OPTION_H_
