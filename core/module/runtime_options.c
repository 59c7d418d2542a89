// SPDX-License-Identifier: Apache-2.0
// Run-time options of engines and drivers as JSON, and back.
#include "core/module/runtime_options.h"

#include <float.h>
#include <string.h>

#include "core/base/json.h"

_Static_assert((int)BYOC_RUNTIME_OPTION_INT == (int)BYOC_OPTION_INT &&
                   (int)BYOC_RUNTIME_OPTION_FLOAT == (int)BYOC_OPTION_FLOAT &&
                   (int)BYOC_RUNTIME_OPTION_BOOL == (int)BYOC_OPTION_BOOL &&
                   (int)BYOC_RUNTIME_OPTION_STRING == (int)BYOC_OPTION_STRING &&
                   (int)BYOC_RUNTIME_OPTION_CHOICE == (int)BYOC_OPTION_CHOICE,
               "the runtime and the plugins number types of options alike");

static const char *const types[] = {[BYOC_OPTION_INT] = "int",
                                    [BYOC_OPTION_FLOAT] = "float",
                                    [BYOC_OPTION_BOOL] = "bool",
                                    [BYOC_OPTION_STRING] = "string",
                                    [BYOC_OPTION_CHOICE] = "choice"};
enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

// ---- to JSON ----

static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

// JSON has no infinity.
static json_t *limit(double value) {
  return json_real(value > DBL_MAX ? DBL_MAX : value < -DBL_MAX ? -DBL_MAX : value);
}

static json_t *option_json(const byoc_option_t *option) {
  json_t *object = json_object();
  bool ok = object != NULL && set(object, "name", byoc_json_string(option->name)) &&
            set(object, "type", json_string(types[option->type])) &&
            set(object, "default", byoc_json_string(option->default_value)) &&
            set(object, "help", byoc_json_string(option->help != NULL ? option->help : ""));
  const bool has_range = option->type == BYOC_OPTION_INT && (option->minimum != 0 || option->maximum != 0);
  const bool has_range_f64 =
      option->type == BYOC_OPTION_FLOAT && (option->minimum_f64 != 0 || option->maximum_f64 != 0);
  if (ok && has_range) ok = set(object, "minimum", json_integer(option->minimum));
  if (ok && (has_range || (option->type == BYOC_OPTION_STRING && option->maximum > 0))) {
    ok = set(object, "maximum", json_integer(option->maximum));
  }
  if (ok && has_range_f64) {
    ok = set(object, "minimum", limit(option->minimum_f64)) && set(object, "maximum", limit(option->maximum_f64));
  }
  if (ok && option->type == BYOC_OPTION_CHOICE) ok = set(object, "choices", byoc_json_string(option->choices));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

json_t *byoc_runtime_options_json(const byoc_option_t *options, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count && array != NULL; i++) {
    if (json_array_append_new(array, option_json(&options[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return array;
}

// ---- from JSON ----

static const char *text_of(const json_t *object, const char *key, byoc_arena_t *arena) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? byoc_arena_copy_string(arena, text) : NULL;
}

static uint32_t type_of(const json_t *object) {
  const char *name = json_string_value(json_object_get(object, "type"));
  uint32_t type = BYOC_OPTION_INT;
  while (name != NULL && type < TYPE_COUNT && strcmp(types[type], name) != 0) type++;
  return name != NULL && type < TYPE_COUNT ? type : 0;
}

static bool read_row(const json_t *object, byoc_arena_t *arena, byoc_runtime_option_row_t *out) {
  const json_t *minimum = json_object_get(object, "minimum"), *maximum = json_object_get(object, "maximum");
  *out = (byoc_runtime_option_row_t){.name = text_of(object, "name", arena),
                                     .default_value = text_of(object, "default", arena),
                                     .type = type_of(object),
                                     .choices = text_of(object, "choices", arena)};
  if (out->type == BYOC_OPTION_FLOAT) {
    out->minimum_f64 = json_number_value(minimum);
    out->maximum_f64 = json_number_value(maximum);
  } else {
    out->minimum = json_integer_value(minimum);
    out->maximum = json_integer_value(maximum);
  }
  return out->name != NULL && out->default_value != NULL && out->type != 0 &&
         (out->type != BYOC_OPTION_CHOICE || out->choices != NULL);
}

static byoc_status_t read_rows(const byoc_runtime_module_t *module, const json_t *array, byoc_arena_t *arena,
                               byoc_diag_t *diag, byoc_runtime_schema_t *out) {
  const size_t count = json_array_size(array);
  byoc_runtime_option_row_t *rows = BYOC_ARENA_ARRAY(arena, byoc_runtime_option_row_t, count + 1);
  if (rows == NULL) return byoc_diag_out_of_memory(diag);
  bool ok = json_is_array(array) && count <= BYOC_MOST_RUNTIME_OPTIONS;
  for (size_t i = 0; i < count && ok; i++) ok = read_row(json_array_get(array, i), arena, &rows[i]);
  out->rows = rows;
  out->count = ok ? (uint32_t)count : 0;
  char message[512];
  for (uint32_t i = 0; i < out->count && ok; i++) { // the defaults are values of their own options
    const byoc_runtime_schema_t one = {out->owner, &rows[i], 1};
    const byoc_option_value_t value = {rows[i].name, rows[i].default_value};
    ok = byoc_runtime_options_check(&one, 1, (byoc_runtime_values_t){&value, 1}, message, sizeof(message)) == BYOC_OK;
  }
  if (ok) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "the run-time options of '%s' are no list of options", module->name);
}

byoc_status_t byoc_runtime_module_read_options(const byoc_runtime_module_t *module, byoc_arena_t *arena,
                                               byoc_diag_t *diag, byoc_runtime_schema_t *out_schema) {
  *out_schema = (byoc_runtime_schema_t){.owner = byoc_runtime_module_given_name(module)};
  if (module->runtime_options == NULL) return BYOC_OK;
  json_error_t error;
  json_t *array = byoc_json_load(module->runtime_options, strlen(module->runtime_options), 0, &error);
  if (array == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  const byoc_status_t status = read_rows(module, array, arena, diag, out_schema);
  json_decref(array);
  return status;
}
