// SPDX-License-Identifier: Apache-2.0
// Checks and copies the answer of a plugin's query: options, rules, backends.
#include "core/plugin/negotiate.h"

#include <ctype.h>
#include <string.h>

#include "core/plugin/abi.h"
#include "core/plugin/identity.h"
#include "core/plugin/pattern.h"
#include "core/plugin/runtime_code.h"

// Far more than any plugin declares; a larger count means that the struct was not filled.
enum {
  MAX_BACKENDS = 64,
  MAX_OPTIONS = 256,
  MAX_RULES = 4096,
  MAX_OPERATORS = 1024,
  MAX_NAME_BYTES = 63,
  MAX_TEXT_BYTES = 4096,
  MAX_PATTERN_BYTES = 1 << 16,
};

static byoc_status_t check_count(uint64_t count, uint64_t limit, const char *what, byoc_diag_t *diag) {
  if (count <= limit) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "it has %llu %s, more than %llu", (unsigned long long)count, what,
                         (unsigned long long)limit);
}

// ---- options ----

static byoc_status_t read_option(const byoc_backend_t *backend, uint32_t index, byoc_arena_t *arena, byoc_diag_t *diag,
                                 byoc_option_t *out) {
  char what[64];
  snprintf(what, sizeof(what), "option %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(
      byoc_abi_read_at(backend->options, backend->option_stride, index, byoc_abi_of(byoc_option_t), what, out, diag));
  snprintf(what, sizeof(what), "the name of option %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(out->name, what, MAX_NAME_BYTES, false, arena, diag, &out->name));
  snprintf(what, sizeof(what), "the help of option %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(out->help, what, MAX_TEXT_BYTES, true, arena, diag, &out->help));
  if (out->default_value != NULL) {
    snprintf(what, sizeof(what), "the default of option %u", (unsigned)index);
    BYOC_RETURN_IF_ERROR(
        byoc_abi_copy_string(out->default_value, what, MAX_TEXT_BYTES, false, arena, diag, &out->default_value));
  }
  if (out->choices != NULL) {
    snprintf(what, sizeof(what), "the choices of option %u", (unsigned)index);
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(out->choices, what, MAX_TEXT_BYTES, false, arena, diag, &out->choices));
  }
  return BYOC_OK;
}

static byoc_status_t read_options(byoc_backend_t *backend, byoc_arena_t *arena, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_count(backend->option_count, MAX_OPTIONS, "options", diag));
  byoc_option_t *options = BYOC_ARENA_ARRAY(arena, byoc_option_t, backend->option_count);
  if (options == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < backend->option_count; ++i) {
    BYOC_RETURN_IF_ERROR(read_option(backend, i, arena, diag, &options[i]));
  }
  backend->options = options;
  backend->option_stride = sizeof(*options);
  return byoc_option_schema_verify(options, backend->option_count, diag);
}

// ---- rules ----

static bool is_operator_name(const char *text) {
  const char *name = strstr(text, "::");
  if (name == text) return false;
  for (const char *c = text; name != NULL && c < name; ++c) {
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.') return false;
  }
  name = name != NULL ? name + 2 : text;
  for (const char *c = name; *c != '\0'; ++c) {
    if (!isalnum((unsigned char)*c) && *c != '_') return false;
  }
  return *name != '\0';
}

static byoc_status_t check_rule_name(const char *name, const char *target, byoc_diag_t *diag) {
  const size_t size = strlen(target);
  bool valid = strncmp(name, target, size) == 0 && name[size] == '.' && name[size + 1] != '\0';
  for (const char *c = name; *c != '\0' && valid; ++c) valid = isalnum((unsigned char)*c) || strchr("._-", *c) != NULL;
  if (valid) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "rule '%s' is not named '%s.<what>', of letters, digits and ._-",
                         name, target);
}

static void count_operator(void *self, const char *domain, const char *name) {
  (void)domain, (void)name;
  ++*(size_t *)self;
}

static byoc_status_t check_pattern(const byoc_rule_t *rule, byoc_arena_t *arena, byoc_diag_t *diag) {
  const byoc_pattern_t *pattern = NULL;
  byoc_diag_t inner = {0};
  byoc_status_t status = byoc_pattern_parse(rule->pattern, rule->name, arena, &inner, &pattern);
  size_t operator_count = 0;
  if (status == BYOC_OK) byoc_pattern_each_operator(pattern, count_operator, &operator_count);
  if (status == BYOC_OK && operator_count > 0) return BYOC_OK;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "pattern of rule '%s': it names no operator", rule->name);
  }
  // The message is on one line, because reasons are listed.
  const size_t at = inner.column > 0 ? (size_t)inner.column - 1 : 0;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s at column %d, before '%.40s'", inner.message, inner.column,
                         at < strlen(rule->pattern) ? rule->pattern + at : "");
}

static byoc_status_t read_rule(const byoc_backend_t *backend, uint32_t index, byoc_arena_t *arena, byoc_diag_t *diag,
                               byoc_rule_t *out) {
  char what[96];
  snprintf(what, sizeof(what), "rule %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(
      byoc_abi_read_at(backend->rules, backend->rule_stride, index, byoc_abi_of(byoc_rule_t), what, out, diag));
  snprintf(what, sizeof(what), "the name of rule %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(out->name, what, 2 * MAX_NAME_BYTES, false, arena, diag, &out->name));
  BYOC_RETURN_IF_ERROR(check_rule_name(out->name, backend->target, diag));
  const bool has_group = out->operators.count > 0;
  if (out->pattern != NULL && has_group) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "rule '%s' has both a pattern and a group of operators", out->name);
  }
  if (out->pattern == NULL && !has_group) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "rule '%s' has an empty list of operators", out->name);
  }
  if (has_group) {
    snprintf(what, sizeof(what), "the operators of rule %u", (unsigned)index);
    BYOC_RETURN_IF_ERROR(
        byoc_abi_copy_strings(out->operators, what, 2 * MAX_NAME_BYTES, MAX_OPERATORS, arena, diag, &out->operators));
    for (uint64_t i = 0; i < out->operators.count; ++i) {
      if (is_operator_name(out->operators.items[i])) continue;
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "rule '%s': '%s' is not an operator's name", out->name,
                             out->operators.items[i]);
    }
    return BYOC_OK;
  }
  // Patterns may have line breaks, so they are not one-line strings.
  if (strnlen(out->pattern, MAX_PATTERN_BYTES) == MAX_PATTERN_BYTES) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the pattern of rule '%s' is too long", out->name);
  }
  out->pattern = byoc_arena_copy_string(arena, out->pattern);
  if (out->pattern == NULL) return byoc_diag_out_of_memory(diag);
  return check_pattern(out, arena, diag);
}

static byoc_status_t read_rules(byoc_backend_t *backend, byoc_arena_t *arena, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_count(backend->rule_count, MAX_RULES, "rules", diag));
  byoc_rule_t *rules = BYOC_ARENA_ARRAY(arena, byoc_rule_t, backend->rule_count);
  if (rules == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < backend->rule_count; ++i) {
    BYOC_RETURN_IF_ERROR(read_rule(backend, i, arena, diag, &rules[i]));
  }
  backend->rules = rules;
  backend->rule_stride = sizeof(*rules);
  return BYOC_OK;
}

// ---- backends ----

// The driver and the device type are given together or not at all.
static byoc_status_t read_driver(byoc_backend_t *backend, byoc_arena_t *arena, byoc_diag_t *diag) {
  enum { HOST_DEVICE_TYPE = 1 }; // DLPack's kDLCPU
  if (backend->driver == NULL && backend->device_type == 0) return BYOC_OK;
  if (backend->driver == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it runs on devices of type %d and names no driver",
                           (int)backend->device_type);
  }
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(backend->driver, "its driver's name", MAX_NAME_BYTES, false, arena, diag, &backend->driver));
  if (!byoc_abi_is_name(backend->driver, strlen(backend->driver))) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its driver is called '%s', which is not a name", backend->driver);
  }
  if (backend->device_type > HOST_DEVICE_TYPE) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "its driver '%s' is for devices of type %d, %s", backend->driver,
                         (int)backend->device_type,
                         backend->device_type == HOST_DEVICE_TYPE ? "which is the host's processor"
                                                                  : "which DLPack does not have");
}

static byoc_status_t read_backend(const byoc_plugin_t *plugin, uint64_t index, const byoc_plugin_note_t *note,
                                  const char *folder, byoc_arena_t *arena, byoc_diag_t *diag,
                                  byoc_target_kind_t *out_kind) {
  char what[64];
  snprintf(what, sizeof(what), "backend %llu", (unsigned long long)index);
  byoc_backend_t *backend = BYOC_ARENA_NEW(arena, byoc_backend_t);
  char *plugin_name = byoc_arena_copy_string(arena, note->name);
  char *plugin_version = byoc_arena_copy_string(arena, note->version);
  if (backend == NULL || plugin_name == NULL || plugin_version == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_abi_read(plugin->backends[index], byoc_abi_of(byoc_backend_t), what, backend, diag));
  snprintf(what, sizeof(what), "the target of backend %llu", (unsigned long long)index);
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(backend->target, what, MAX_NAME_BYTES, false, arena, diag, &backend->target));
  if (!byoc_plugin_note_has_target(note, backend->target)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it has a backend for '%s', which its note does not announce (%s)",
                           backend->target, note->targets);
  }
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(backend->description, "the description of a backend", MAX_TEXT_BYTES, true,
                                            arena, diag, &backend->description));
  BYOC_RETURN_IF_ERROR_IN(diag, read_options(backend, arena, diag), "target '%s'", backend->target);
  BYOC_RETURN_IF_ERROR_IN(diag, read_driver(backend, arena, diag), "target '%s'", backend->target);
  BYOC_RETURN_IF_ERROR_IN(diag, read_rules(backend, arena, diag), "target '%s'", backend->target);
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_runtime_code_read(backend, folder, arena, diag), "target '%s'", backend->target);
  *out_kind = (byoc_target_kind_t){.name = backend->target,
                                   .description = backend->description,
                                   .plugin_name = plugin_name,
                                   .plugin_version = plugin_version,
                                   .options = backend->options,
                                   .option_count = backend->option_count,
                                   .backend = backend};
  return BYOC_OK;
}

byoc_status_t byoc_plugin_negotiate(const byoc_plugin_t *plugin, const byoc_plugin_note_t *note, const char *folder,
                                    byoc_arena_t *arena, byoc_diag_t *diag, byoc_target_kind_t **out_kinds,
                                    size_t *out_count) {
  *out_kinds = NULL;
  *out_count = 0;
  if (plugin->backend_count == 0 && note->targets[0] == '\0') return BYOC_OK; // it has operators
  if (plugin->backend_count == 0 || plugin->backends == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its query returned no backends");
  }
  BYOC_RETURN_IF_ERROR(check_count(plugin->backend_count, MAX_BACKENDS, "backends", diag));
  const size_t count = (size_t)plugin->backend_count;
  byoc_target_kind_t *kinds = BYOC_ARENA_ARRAY(arena, byoc_target_kind_t, count);
  if (kinds == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(read_backend(plugin, i, note, folder, arena, diag, &kinds[i]));
    for (size_t k = 0; k < i; ++k) {
      if (strcmp(kinds[k].name, kinds[i].name) != 0) continue;
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "it has two backends for '%s'", kinds[i].name);
    }
  }
  const char *cursor = byoc_plugin_list_start(note->targets);
  size_t size = 0;
  for (const char *name; (name = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
    size_t i = 0;
    while (i < count && (strlen(kinds[i].name) != size || memcmp(kinds[i].name, name, size) != 0)) ++i;
    if (i < count) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its note announces '%.*s', for which it has no backend", (int)size,
                           name);
  }
  *out_kinds = kinds;
  *out_count = count;
  return BYOC_OK;
}
