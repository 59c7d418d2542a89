// SPDX-License-Identifier: Apache-2.0
// Reads values of run-time options by their schema.
#include "core/runtime/option.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STRING_BYTES = 4096, MOST_NUMBER_BYTES = 64 };

// ---- values ----

static bool read_int(const byoc_runtime_option_row_t *row, const char *text, int64_t *out) {
  char *end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  const bool is_any = row->minimum == 0 && row->maximum == 0;
  const char *digits = text + (*text == '-' || *text == '+');
  *out = value;
  return *digits >= '0' && *digits <= '9' && *end == '\0' && errno != ERANGE &&
         (is_any || (value >= row->minimum && value <= row->maximum));
}

// Decimal, with a point whatever the locale of the process is.
static bool read_float(const byoc_runtime_option_row_t *row, const char *text, double *out) {
  char copy[MOST_NUMBER_BYTES + 8] = "";
  const char *point = localeconv()->decimal_point;
  size_t size = 0;
  if (strlen(text) > MOST_NUMBER_BYTES - 1 || text[strspn(text, "0123456789+-.eE")] != '\0') return false;
  for (const char *c = text; *c != '\0' && size < MOST_NUMBER_BYTES; ++c) {
    if (*c != '.') {
      copy[size++] = *c;
    } else {
      size += (size_t)snprintf(copy + size, sizeof(copy) - size, "%.4s", point);
    }
  }
  char *end = NULL;
  const double value = strtod(copy, &end);
  const bool is_any = row->minimum_f64 == 0 && row->maximum_f64 == 0;
  *out = value;
  return size > 0 && size < MOST_NUMBER_BYTES && *end == '\0' && isfinite(value) &&
         (is_any || (value >= row->minimum_f64 && value <= row->maximum_f64));
}

static bool read_bool(const char *text, int64_t *out) {
  *out = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
  return *out != 0 || strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

static bool read_choice(const char *choices, const char *text, int64_t *out) {
  const size_t size = strlen(text);
  *out = 0;
  for (const char *at = choices; size > 0; ++*out) {
    const size_t length = strcspn(at, "|");
    if (length == size && memcmp(at, text, size) == 0) return true;
    if (at[length] == '\0') return false;
    at += length + 1;
  }
  return false;
}

static uint64_t most_bytes(const byoc_runtime_option_row_t *row) {
  return row->maximum > 0 ? (uint64_t)row->maximum : MOST_STRING_BYTES;
}

// Reads the number of a value; its text is set by the caller.
static bool read_value(const byoc_runtime_option_row_t *row, const char *text, byoc_runtime_option_t *out) {
  switch (row->type) {
  case BYOC_RUNTIME_OPTION_INT:
    return read_int(row, text, &out->integer);
  case BYOC_RUNTIME_OPTION_FLOAT:
    return read_float(row, text, &out->real);
  case BYOC_RUNTIME_OPTION_BOOL:
    return read_bool(text, &out->integer);
  case BYOC_RUNTIME_OPTION_CHOICE:
    return read_choice(row->choices, text, &out->integer);
  default:
    return strlen(text) <= most_bytes(row);
  }
}

// "an integer from 0 to 3"
static void describe(const byoc_runtime_option_row_t *row, char *out, size_t size) {
  const bool has_range = row->minimum != 0 || row->maximum != 0;
  const bool has_range_f64 = row->minimum_f64 != 0 || row->maximum_f64 != 0;
  switch (row->type) {
  case BYOC_RUNTIME_OPTION_INT:
    if (!has_range) (void)snprintf(out, size, "an integer");
    if (has_range) {
      (void)snprintf(out, size, "an integer from %lld to %lld", (long long)row->minimum, (long long)row->maximum);
    }
    return;
  case BYOC_RUNTIME_OPTION_FLOAT:
    if (!has_range_f64) (void)snprintf(out, size, "a number");
    if (has_range_f64) (void)snprintf(out, size, "a number from %g to %g", row->minimum_f64, row->maximum_f64);
    return;
  case BYOC_RUNTIME_OPTION_BOOL:
    (void)snprintf(out, size, "0, 1, false or true");
    return;
  case BYOC_RUNTIME_OPTION_CHOICE:
    (void)snprintf(out, size, "one of %s", row->choices);
    return;
  default:
    (void)snprintf(out, size, "at most %llu bytes", (unsigned long long)most_bytes(row));
  }
}

// ---- names ----

// Does the name mean this option: "power", or "npu.power"?
static bool means(const char *name, const char *owner, const byoc_runtime_option_row_t *row) {
  if (strcmp(name, row->name) == 0) return true;
  const size_t size = strlen(owner);
  return strncmp(name, owner, size) == 0 && name[size] == '.' && strcmp(name + size + 1, row->name) == 0;
}

static bool is_repeated(const byoc_runtime_schema_t *schemas, uint32_t index) {
  for (uint32_t i = 0; i < index; i++) {
    if (strcmp(schemas[i].owner, schemas[index].owner) == 0 && schemas[i].rows == schemas[index].rows) return true;
  }
  return false;
}

static int32_t refuse_name(const byoc_runtime_schema_t *schemas, uint32_t count, const char *name, char *message,
                           uint64_t size) {
  uint64_t used = (uint64_t)snprintf(message, (size_t)size, "there is no run-time option '%.100s'; there ", name);
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < schemas[i].count && !is_repeated(schemas, i) && used < size; k++) {
      used += (uint64_t)snprintf(message + used, (size_t)(size - used), "%s%s.%s", found++ == 0 ? "are " : ", ",
                                 schemas[i].owner, schemas[i].rows[k].name);
    }
  }
  if (found == 0 && used < size) (void)snprintf(message + used, (size_t)(size - used), "are none");
  return BYOC_INVALID_ARGUMENT;
}

static int32_t check_value(const char *owner, const byoc_runtime_option_row_t *row, const char *text, char *message,
                           uint64_t size) {
  byoc_runtime_option_t value;
  char allowed[256];
  if (read_value(row, text, &value)) return BYOC_OK;
  describe(row, allowed, sizeof(allowed));
  (void)snprintf(message, (size_t)size, "the run-time option '%s.%s' takes %s, not '%.100s'", owner, row->name, allowed,
                 text);
  return BYOC_INVALID_ARGUMENT;
}

int32_t byoc_runtime_options_check(const byoc_runtime_schema_t *schemas, uint32_t count, byoc_runtime_values_t values,
                                   char *message, uint64_t size) {
  for (uint32_t v = 0; v < values.count; v++) {
    const byoc_option_value_t *value = &values.items[v];
    if (value->name == NULL || value->value == NULL) {
      (void)snprintf(message, (size_t)size, "run-time option %u has no %s", (unsigned)v,
                     value->name == NULL ? "name" : "value");
      return BYOC_INVALID_ARGUMENT;
    }
    bool is_known = false;
    for (uint32_t i = 0; i < count; i++) {
      for (uint32_t k = 0; k < schemas[i].count; k++) {
        if (!means(value->name, schemas[i].owner, &schemas[i].rows[k])) continue;
        const int32_t status = check_value(schemas[i].owner, &schemas[i].rows[k], value->value, message, size);
        if (status != BYOC_OK) return status;
        is_known = true;
      }
    }
    if (!is_known) return refuse_name(schemas, count, value->name, message, size);
  }
  return BYOC_OK;
}

// ---- the options of one owner ----

static const char *find_text(const byoc_runtime_schema_t *schema, uint32_t index, byoc_runtime_values_t values) {
  const byoc_runtime_option_row_t *row = &schema->rows[index];
  for (uint32_t v = values.count; v-- > 0;) {
    if (means(values.items[v].name, schema->owner, row)) return values.items[v].value;
  }
  return row->default_value;
}

byoc_runtime_option_t *byoc_runtime_options_make(const byoc_runtime_schema_t *schema, byoc_runtime_values_t values) {
  size_t size = ((size_t)schema->count + 1) * sizeof(byoc_runtime_option_t);
  for (uint32_t i = 0; i < schema->count; i++) size += strlen(find_text(schema, i, values)) + 1;
  byoc_runtime_option_t *options = calloc(1, size);
  if (options == NULL) return NULL;
  char *texts = (char *)(options + schema->count + 1);
  for (uint32_t i = 0; i < schema->count; i++) {
    const char *text = find_text(schema, i, values);
    const size_t bytes = strlen(text) + 1;
    memcpy(texts, text, bytes);
    options[i] = (byoc_runtime_option_t){.name = schema->rows[i].name, .text = texts};
    (void)read_value(&schema->rows[i], texts, &options[i]);
    texts += bytes;
  }
  return options;
}
