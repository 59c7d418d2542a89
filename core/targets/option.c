// SPDX-License-Identifier: Apache-2.0
// Option schemas: checks them, reads values by them, prints values.
#include "core/targets/option.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/targets/cpu.h"

enum { MAX_NAME_BYTES = 63, MAX_CHOICES = 64, MAX_CHOICE_BYTES = 63 };

static int64_t string_limit(const byoc_option_schema_t *option) {
  return option->maximum > 0 ? option->maximum : BYOC_OPTION_STRING_LIMIT;
}

static bool has_int_range(const byoc_option_schema_t *option) {
  return option->minimum != 0 || option->maximum != 0;
}

static bool has_float_range(const byoc_option_schema_t *option) {
  return option->minimum_f64 != 0 || option->maximum_f64 != 0;
}

// The choices as pointers and sizes into the schema's string.
typedef struct choices_t {
  const char *data[MAX_CHOICES];
  size_t sizes[MAX_CHOICES];
  size_t count;
  bool too_many;
} choices_t;

static void split_choices(const char *text, choices_t *out) {
  *out = (choices_t){0};
  for (const char *at = text;; ++at) {
    const size_t size = strcspn(at, "|");
    if (out->count == MAX_CHOICES) {
      out->too_many = true;
      return;
    }
    out->data[out->count] = at;
    out->sizes[out->count++] = size;
    at += size;
    if (*at == '\0') return;
  }
}

// "an integer from 0 to 3", "one of bundle, system" and so on; for messages and byoc targets.
static void describe(const byoc_option_schema_t *option, char *buffer, size_t size) {
  switch (option->type) {
  case BYOC_OPTION_INT:
    if (!has_int_range(option))
      snprintf(buffer, size, "an integer");
    else if (option->maximum == INT64_MAX)
      snprintf(buffer, size, "an integer from %lld", (long long)option->minimum);
    else
      snprintf(buffer, size, "an integer from %lld to %lld", (long long)option->minimum, (long long)option->maximum);
    return;
  case BYOC_OPTION_FLOAT:
    if (!has_float_range(option))
      snprintf(buffer, size, "a number");
    else
      snprintf(buffer, size, "a number from %g to %g", option->minimum_f64, option->maximum_f64);
    return;
  case BYOC_OPTION_BOOL:
    snprintf(buffer, size, "0, 1, false or true");
    return;
  case BYOC_OPTION_STRING:
    snprintf(buffer, size, "a string of at most %lld bytes", (long long)string_limit(option));
    return;
  case BYOC_OPTION_CHOICE:
  case BYOC_OPTION_PRECISION: {
    choices_t choices;
    split_choices(option->choices, &choices);
    size_t used = (size_t)snprintf(buffer, size, "one of ");
    for (size_t i = 0; i < choices.count && used < size; ++i) {
      used += (size_t)snprintf(buffer + used, size - used, "%s%.*s", i > 0 ? ", " : "", (int)choices.sizes[i],
                               choices.data[i]);
    }
    return;
  }
  case BYOC_OPTION_CPU:
    snprintf(buffer, size, "a processor");
    return;
  default:
    snprintf(buffer, size, "a value");
  }
}

static byoc_status_t bad_value(const byoc_option_schema_t *option, const char *text, byoc_diag_t *diag) {
  char allowed[256];
  describe(option, allowed, sizeof(allowed));
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "option '-%s' takes %s, not '%.128s'", option->name, allowed,
                         text);
}

static byoc_status_t parse_int(const byoc_option_schema_t *option, const char *text, byoc_diag_t *diag,
                               byoc_target_value_t *out) {
  const char *digits = text + (*text == '-' || *text == '+');
  char *end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  const bool is_number = isdigit((unsigned char)*digits) && *end == '\0';
  if (!is_number || errno == ERANGE ||
      (has_int_range(option) && (value < option->minimum || value > option->maximum))) {
    return bad_value(option, text, diag);
  }
  out->i = value;
  return BYOC_OK;
}

static byoc_status_t parse_float(const byoc_option_schema_t *option, const char *text, byoc_diag_t *diag,
                                 byoc_target_value_t *out) {
  char *end = NULL;
  // Decimal only: strtod would also take hexadecimal, "inf" and "nan".
  const bool is_decimal = text[0] != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0';
  const double value = is_decimal ? strtod(text, &end) : 0;
  if (!is_decimal || *end != '\0' || end == text || !isfinite(value) ||
      (has_float_range(option) && (value < option->minimum_f64 || value > option->maximum_f64))) {
    return bad_value(option, text, diag);
  }
  out->f = value;
  return BYOC_OK;
}

static byoc_status_t parse_bool(const byoc_option_schema_t *option, const char *text, byoc_diag_t *diag,
                                byoc_target_value_t *out) {
  const bool is_true = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
  if (!is_true && strcmp(text, "0") != 0 && strcmp(text, "false") != 0) return bad_value(option, text, diag);
  out->i = is_true;
  return BYOC_OK;
}

static byoc_status_t parse_string(const byoc_option_schema_t *option, const char *text, byoc_arena_t *arena,
                                  byoc_diag_t *diag, byoc_target_value_t *out) {
  const size_t size = strlen(text);
  if (size > (uint64_t)string_limit(option)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "option '-%s' takes at most %lld bytes, not %zu", option->name,
                           (long long)string_limit(option), size);
  }
  out->s = byoc_arena_copy_string(arena, text);
  return out->s != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t parse_choice(const byoc_option_schema_t *option, const char *text, byoc_arena_t *arena,
                                  byoc_diag_t *diag, byoc_target_value_t *out) {
  choices_t choices;
  split_choices(option->choices, &choices);
  char texts[MAX_CHOICES][MAX_CHOICE_BYTES + 1];
  const char *names[MAX_CHOICES];
  for (size_t i = 0; i < choices.count; ++i) {
    snprintf(texts[i], sizeof(texts[i]), "%.*s", (int)choices.sizes[i], choices.data[i]);
    names[i] = texts[i];
    if (strcmp(text, names[i]) != 0) continue;
    out->s = byoc_arena_copy_string(arena, text);
    return out->s != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  byoc_status_t status = bad_value(option, text, diag);
  const char *nearest = byoc_nearest_match(text, names, choices.count);
  if (nearest != NULL) byoc_diag_hint(diag, "did you mean '-%s=%s'?", option->name, nearest);
  return status;
}

static byoc_status_t parse_cpu(const byoc_option_schema_t *option, const char *text, byoc_machine_t machine,
                               byoc_arena_t *arena, byoc_diag_t *diag, byoc_target_value_t *out) {
  uint64_t features = 0;
  if (byoc_cpu_parse(text, machine, diag, &features) != BYOC_OK) {
    return byoc_diag_context(diag, BYOC_INVALID_ARGUMENT, "option '-%s'", option->name);
  }
  out->s = byoc_arena_copy_string(arena, text);
  return out->s != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_option_parse(const byoc_option_schema_t *option, const char *text, byoc_machine_t machine,
                                byoc_arena_t *arena, byoc_diag_t *diag, byoc_target_value_t *out_value) {
  *out_value = (byoc_target_value_t){.s = ""};
  if (text == NULL) {
    if (option->type == BYOC_OPTION_BOOL) {
      out_value->i = 1;
      return BYOC_OK;
    }
    char allowed[256];
    describe(option, allowed, sizeof(allowed));
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "option '-%s' needs a value: %s", option->name, allowed);
    byoc_diag_hint(diag, "write '-%s=VALUE', without spaces", option->name);
    return status;
  }
  switch (option->type) {
  case BYOC_OPTION_INT:
    return parse_int(option, text, diag, out_value);
  case BYOC_OPTION_FLOAT:
    return parse_float(option, text, diag, out_value);
  case BYOC_OPTION_BOOL:
    return parse_bool(option, text, diag, out_value);
  case BYOC_OPTION_STRING:
    return parse_string(option, text, arena, diag, out_value);
  case BYOC_OPTION_CHOICE:
  case BYOC_OPTION_PRECISION:
    return parse_choice(option, text, arena, diag, out_value);
  case BYOC_OPTION_CPU:
    return parse_cpu(option, text, machine, arena, diag, out_value);
  default:
    return byoc_diag_error(diag, BYOC_INTERNAL, "option '-%s' has unknown type %u", option->name, option->type);
  }
}

byoc_status_t byoc_option_default(const byoc_option_schema_t *option, byoc_machine_t machine, byoc_arena_t *arena,
                                  byoc_diag_t *diag, byoc_target_value_t *out_value) {
  const char *text = option->default_value;
  const bool is_number = option->type == BYOC_OPTION_INT || option->type == BYOC_OPTION_FLOAT;
  if (text == NULL && option->type == BYOC_OPTION_CPU) text = "native";
  if (machine != byoc_machine_host() && option->type == BYOC_OPTION_CPU) text = byoc_machine_base(machine);
  if (text == NULL) text = is_number || option->type == BYOC_OPTION_BOOL ? "0" : "";
  return byoc_option_parse(option, text, machine, arena, diag, out_value);
}

void byoc_option_print(const byoc_option_schema_t *option, const byoc_target_value_t *value, byoc_string_t *out) {
  byoc_string_appendf(out, "-%s=", option->name);
  switch (option->type) {
  case BYOC_OPTION_FLOAT:
    byoc_string_append_f64(out, value->f);
    return;
  case BYOC_OPTION_STRING:
  case BYOC_OPTION_CHOICE:
  case BYOC_OPTION_PRECISION:
  case BYOC_OPTION_CPU: {
    bool plain = value->s[0] != '\0';
    for (const char *c = value->s; *c != '\0'; ++c)
      plain = plain && !isspace((unsigned char)*c) && !strchr(";\"\\", *c);
    if (plain) {
      byoc_string_append(out, value->s);
      return;
    }
    byoc_string_append(out, "\"");
    for (const char *c = value->s; *c != '\0'; ++c) {
      if (*c == '"' || *c == '\\') byoc_string_append(out, "\\");
      byoc_string_append_bytes(out, c, 1);
    }
    byoc_string_append(out, "\"");
    return;
  }
  default:
    byoc_string_appendf(out, "%lld", (long long)value->i);
  }
}

static bool is_name(const char *text) {
  if (!isalpha((unsigned char)text[0]) || strlen(text) > MAX_NAME_BYTES) return false;
  for (const char *c = text; *c != '\0'; ++c) {
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-') return false;
  }
  return true;
}

static byoc_status_t verify_choices(const byoc_option_schema_t *option, byoc_diag_t *diag) {
  if (option->choices == NULL || option->choices[0] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has no choices", option->name);
  }
  choices_t choices;
  split_choices(option->choices, &choices);
  if (choices.too_many) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has more than %d choices", option->name, MAX_CHOICES);
  }
  for (size_t i = 0; i < choices.count; ++i) {
    bool valid = choices.sizes[i] > 0 && choices.sizes[i] <= MAX_CHOICE_BYTES;
    for (size_t k = 0; k < choices.sizes[i] && valid; ++k) {
      const char c = choices.data[i][k];
      valid = isalnum((unsigned char)c) || (c != '\0' && strchr("_.+-", c) != NULL);
    }
    if (!valid) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has an unusable choice '%.*s' in '%.128s'",
                             option->name, (int)choices.sizes[i], choices.data[i], option->choices);
    }
    for (size_t k = 0; k < i; ++k) {
      if (choices.sizes[k] != choices.sizes[i] || memcmp(choices.data[k], choices.data[i], choices.sizes[i]) != 0) {
        continue;
      }
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has the choice '%.*s' twice", option->name,
                             (int)choices.sizes[i], choices.data[i]);
    }
  }
  if (option->default_value != NULL) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' needs a default among its choices", option->name);
}

static byoc_status_t verify_option(const byoc_option_schema_t *option, byoc_arena_t *scratch, byoc_diag_t *diag) {
  if (option->type < BYOC_OPTION_INT || option->type > BYOC_OPTION_PRECISION) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has unknown type %u", option->name, option->type);
  }
  if (option->type == BYOC_OPTION_INT && option->minimum > option->maximum) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has an empty range: %lld to %lld", option->name,
                           (long long)option->minimum, (long long)option->maximum);
  }
  if (option->type == BYOC_OPTION_FLOAT && !(option->minimum_f64 <= option->maximum_f64)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has an empty range: %g to %g", option->name,
                           option->minimum_f64, option->maximum_f64);
  }
  if (option->type == BYOC_OPTION_STRING && option->maximum < 0) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' allows a negative number of bytes", option->name);
  }
  if (byoc_option_has_choices(option)) BYOC_RETURN_IF_ERROR(verify_choices(option, diag));
  if (option->help != NULL && strpbrk(option->help, "\r\n") != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the help of option '%s' is more than one line", option->name);
  }
  byoc_target_value_t value;
  byoc_status_t status = byoc_option_default(option, byoc_machine_host(), scratch, diag, &value);
  if (status == BYOC_INVALID_ARGUMENT) {
    status = byoc_diag_context(diag, BYOC_INVALID_DATA, "the default of option '%s'", option->name);
  }
  return status;
}

byoc_status_t byoc_option_schema_verify(const byoc_option_schema_t *options, size_t count, byoc_diag_t *diag) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    const byoc_option_schema_t *option = &options[i];
    if (option->name == NULL || !is_name(option->name)) {
      status = byoc_diag_error(diag, BYOC_INVALID_DATA,
                               "option %zu has no usable name ('%.64s'): a letter, then letters, digits, '_' or '-'", i,
                               option->name != NULL ? option->name : "");
      break;
    }
    for (size_t k = 0; k < i && status == BYOC_OK; ++k) {
      if (strcmp(options[k].name, option->name) != 0) continue;
      status = byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' is declared twice", option->name);
    }
    for (size_t k = 0; k < i && status == BYOC_OK && option->type == BYOC_OPTION_PRECISION; ++k) {
      if (options[k].type != BYOC_OPTION_PRECISION) continue;
      status = byoc_diag_error(diag, BYOC_INVALID_DATA, "options '%s' and '%s' are both precisions: a target has one",
                               options[k].name, option->name);
    }
    if (status == BYOC_OK) status = verify_option(option, &scratch, diag);
  }
  byoc_arena_deinit(&scratch);
  return status;
}
