// SPDX-License-Identifier: Apache-2.0
// Run-time options that a generate hook declares for its engines and drivers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/module/linkage.h"
#include "core/module/runtime_options.h"
#include "core/plugin/abi.h"
#include "core/plugin/session.h"
#include "core/targets/option.h"

enum { MAX_HELP_BYTES = 200, MAX_VALUE_BYTES = 4096 };

// The engine or driver of that name that this run added, or shares with an earlier one.
static byoc_runtime_module_t *find_owner(const byoc_codegen_t *session, const char *name) {
  const size_t earlier = byoc_session_earlier_count(session);
  for (size_t i = earlier + session->made.count; i-- > 0;) {
    byoc_runtime_module_t *module =
        i < earlier ? session->module->runtime_modules.data[i] : session->made.data[i - earlier];
    if (module->kind != BYOC_RUNTIME_MODULE_ENGINE && module->kind != BYOC_RUNTIME_MODULE_DRIVER) continue;
    if (strcmp(byoc_runtime_module_given_name(module), name) != 0) continue;
    if (i >= earlier || byoc_runtime_module_serves(module, session->target->text)) return module;
  }
  return NULL;
}

// The value of the target's option of that name, as text; NULL if it has none, or if out of memory, which sets *failed.
static const char *target_value(byoc_codegen_t *session, const char *name, bool *failed) {
  const byoc_target_kind_t *kind = session->target->kind;
  for (size_t i = 0; i < kind->option_count; ++i) {
    const byoc_target_value_t *value = &session->target->values[i];
    const char *text = value->s;
    if (strcmp(kind->options[i].name, name) != 0) continue;
    const uint32_t type = kind->options[i].type;
    if (type == BYOC_OPTION_INT || type == BYOC_OPTION_BOOL) {
      text = byoc_arena_format(&session->arena, "%lld", (long long)value->i);
    } else if (type == BYOC_OPTION_FLOAT) {
      text = byoc_arena_format(&session->arena, "%.17g", value->f);
    }
    *failed = text == NULL;
    return text;
  }
  return NULL;
}

// Runtimes have the types up to CHOICE.
static byoc_status_t check_type(uint32_t type, byoc_diag_t *diag) {
  const char *name = type == BYOC_OPTION_CPU ? "CPU" : type == BYOC_OPTION_PRECISION ? "PRECISION" : NULL;
  if (type >= BYOC_OPTION_INT && type <= BYOC_OPTION_CHOICE) return BYOC_OK;
  if (name != NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "its type is %s, which is for targets", name);
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "its type is %u, which byoc does not know", (unsigned)type);
}

static byoc_status_t copy_option(byoc_codegen_t *session, byoc_option_t *option, byoc_diag_t *diag) {
  byoc_arena_t *arena = &session->arena;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(option->name, "its name", 63, false, arena, diag, &option->name));
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(option->help, "its help", MAX_HELP_BYTES, true, arena, diag, &option->help));
  BYOC_RETURN_IF_ERROR(check_type(option->type, diag));
  if (option->type == BYOC_OPTION_CHOICE) {
    BYOC_RETURN_IF_ERROR(
        byoc_abi_copy_string(option->choices, "its choices", MAX_VALUE_BYTES, false, arena, diag, &option->choices));
  }
  bool failed = false;
  const char *value = target_value(session, option->name, &failed);
  if (failed) return byoc_diag_out_of_memory(diag);
  if (value == NULL && option->default_value == NULL && option->type == BYOC_OPTION_CHOICE) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no default among its choices");
  }
  if (value == NULL) value = option->default_value;
  if (value == NULL) value = option->type == BYOC_OPTION_STRING ? "" : "0";
  return byoc_abi_copy_string(value[0] != '\0' ? value : NULL, "its default", MAX_VALUE_BYTES, true, arena, diag,
                              &option->default_value);
}

static byoc_status_t read_options(byoc_codegen_t *session, const byoc_option_t *options, uint32_t count,
                                  uint32_t stride, byoc_diag_t *diag, byoc_option_t *out) {
  for (uint32_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_abi_read_at(options, stride, i, byoc_abi_of(byoc_option_t), "an option", &out[i], diag));
    BYOC_RETURN_IF_ERROR_IN(diag, copy_option(session, &out[i], diag), "option %u", (unsigned)i);
  }
  byoc_status_t status = byoc_option_schema_verify(out, count, diag);
  if (status == BYOC_INVALID_DATA) diag->status = status = BYOC_INVALID_ARGUMENT;
  return status;
}

static byoc_status_t set_options(byoc_runtime_module_t *module, const byoc_option_t *options, uint32_t count,
                                 byoc_diag_t *diag) {
  json_t *array = byoc_runtime_options_json(options, count);
  char *text = byoc_json_dump(array, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(array);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  if (module->runtime_options == NULL) {
    module->runtime_options = byoc_arena_copy_string(&module->arena, text);
    if (module->runtime_options == NULL) status = byoc_diag_out_of_memory(diag);
  } else if (strcmp(module->runtime_options, text) != 0) {
    status = byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "it has other options, or other defaults, by target '%s'",
                             module->target);
    byoc_diag_hint(diag, "targets that share '%s' take their options with equal values", module->name);
  }
  free(text);
  return status;
}

byoc_status_t byoc_session_declare_options(byoc_codegen_t *session, const char *owner, const byoc_option_t *options,
                                           uint32_t count, uint32_t stride, byoc_diag_t *diag) {
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(owner, "its name", 480, false, &session->arena, diag, &name));
  byoc_runtime_module_t *module = find_owner(session, name);
  if (module == NULL) return byoc_diag_error(diag, BYOC_NOT_FOUND, "no engine and no driver of this name was added");
  if (count == 0 || count > BYOC_MOST_RUNTIME_OPTIONS) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%u options are declared; 1 to %d may be", (unsigned)count,
                           BYOC_MOST_RUNTIME_OPTIONS);
  }
  byoc_option_t *read = BYOC_ARENA_ARRAY(&session->arena, byoc_option_t, count);
  if (read == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(read_options(session, options, count, stride, diag, read));
  return set_options(module, read, count, diag);
}
