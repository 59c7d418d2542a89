// SPDX-License-Identifier: Apache-2.0
// Targets: reads their options, and defines the native kind.
#include "core/targets/target.h"

#include <ctype.h>
#include <string.h>

#include "core/targets/cpu.h"
#include "core/targets/hook.h"

static const byoc_target_value_t *find_value(const byoc_target_t *target, const char *name,
                                             const byoc_option_schema_t **out_option) {
  if (target == NULL || name == NULL) return NULL;
  for (size_t i = 0; i < target->kind->option_count; ++i) {
    if (strcmp(target->kind->options[i].name, name) != 0) continue;
    *out_option = &target->kind->options[i];
    return &target->values[i];
  }
  return NULL;
}

// May an operator in a pattern, whose name ends at `after`, have `count` operands?
static bool may_have_operands(const char *after, uint32_t count) {
  const char *at = strchr(after, '(');
  uint32_t depth = 0, commas = 0;
  for (; at != NULL && *at != '\0'; ++at) {
    if (strchr("([<", *at) != NULL && at[1] != '~') ++depth;
    if (strchr(")]>", *at) != NULL && --depth == 0) break;
    if (depth == 1 && strncmp(at, "...", 3) == 0) return commas <= count;
    if (depth == 1 && *at == ',') ++commas;
  }
  return commas + 1 == count;
}

// Is `op` a word of `text`? In patterns names of operators are between brackets, bars and commas. `operands` 0: any
// number.
static bool names_operator(const char *text, const char *op, uint32_t operands) {
  size_t size = strlen(op);
  for (const char *at = text; at != NULL && (at = strstr(at, op)) != NULL; at += size) {
    bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != ':' && at[-1] != '_');
    bool ends = !isalnum((unsigned char)at[size]) && at[size] != '_';
    if (begins && ends && (operands == 0 || may_have_operands(at + size, operands))) return true;
  }
  return false;
}

bool byoc_rule_names(const byoc_rule_t *rule, const char *op, uint32_t operand_count) {
  if (names_operator(rule->pattern, op, operand_count)) return true;
  for (uint64_t i = 0; i < rule->operators.count; ++i) {
    if (strcmp(rule->operators.items[i], op) == 0) return true;
  }
  return false;
}

static bool has_rule(const byoc_target_t *target, const char *op, uint32_t operands) {
  const byoc_backend_t *backend = target->kind->backend;
  for (uint32_t r = 0; backend != NULL && r < backend->rule_count; ++r) {
    if (byoc_rule_names(&backend->rules[r], op, operands)) return true;
  }
  return false;
}

bool byoc_target_has_rule(const byoc_target_t *target, const char *op) {
  return has_rule(target, op, 0);
}

bool byoc_target_list_has_rule(const byoc_target_list_t *list, const char *op, uint32_t operand_count) {
  for (size_t t = 0; t < list->targets.count; ++t) {
    if (has_rule(list->targets.data[t], op, operand_count)) return true;
  }
  return false;
}

int64_t byoc_target_option_int(const byoc_target_t *target, const char *name) {
  const byoc_option_schema_t *option = NULL;
  const byoc_target_value_t *value = find_value(target, name, &option);
  if (value == NULL || (option->type != BYOC_OPTION_INT && option->type != BYOC_OPTION_BOOL)) return 0;
  return value->i;
}

double byoc_target_option_float(const byoc_target_t *target, const char *name) {
  const byoc_option_schema_t *option = NULL;
  const byoc_target_value_t *value = find_value(target, name, &option);
  return value != NULL && option->type == BYOC_OPTION_FLOAT ? value->f : 0.0;
}

const char *byoc_target_option_string(const byoc_target_t *target, const char *name) {
  const byoc_option_schema_t *option = NULL;
  const byoc_target_value_t *value = find_value(target, name, &option);
  bool is_text = value != NULL && (option->type == BYOC_OPTION_STRING || option->type == BYOC_OPTION_CHOICE ||
                                   option->type == BYOC_OPTION_CPU || option->type == BYOC_OPTION_PRECISION);
  return is_text ? value->s : "";
}

const char *byoc_target_option_cpu(const byoc_target_t *target, const char *name) {
  const byoc_option_schema_t *option = NULL;
  const byoc_target_value_t *value = find_value(target, name, &option);
  return value != NULL && option->type == BYOC_OPTION_CPU ? value->s : "";
}

uint64_t byoc_target_cpu_features(const byoc_target_t *target, const char *name) {
  const char *value = byoc_target_option_cpu(target, name);
  byoc_diag_t unused = {0}; // the value was parsed before
  uint64_t features = 0;
  if (value[0] != '\0') (void)byoc_cpu_parse(value, target->machine, &unused, &features);
  return features;
}

static const byoc_option_schema_t native_options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "O",
     .type = BYOC_OPTION_INT,
     .default_value = "3",
     .minimum = 0,
     .maximum = 3,
     .help = "optimisation level of the C compiler"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "mcpu",
     .type = BYOC_OPTION_CPU,
     .default_value = "native",
     .help = "processor that the artifact is for: native, x86-64-v3, avx512, several words as in avx2+f16c, or "
             "several processors as in x86-64-v2,x86-64-v4, of which the best one is picked at load"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "cc",
     .type = BYOC_OPTION_STRING,
     .default_value = "",
     .help = "C compiler; empty: $CC, else cc, gcc or clang"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "fuse",
     .type = BYOC_OPTION_BOOL,
     .default_value = "1",
     .help = "compute several operators in one kernel; 0: each result has memory of its own, for byoc run --dump"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "indices",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "check",
     .choices = "check|clamp",
     .help = "an index out of range, or an integer divided by 0: check ends the run with an error; clamp takes the "
             "nearest index, and 0 for the quotient"},
};

const byoc_target_kind_t *byoc_target_kind_native(void) {
  static const byoc_target_kind_t kind = {
      .name = "c",
      .description = "fused loop kernels in C by the host's compiler; takes what no other target took",
      .plugin_name = "",
      .plugin_version = BYOC_VERSION_TEXT,
      .options = native_options,
      .option_count = sizeof(native_options) / sizeof(native_options[0]),
  };
  return &kind;
}

double byoc_target_relative_error(const byoc_target_t *target) {
  const byoc_backend_t *backend = target->kind->backend;
  if (backend == NULL || backend->relative_error == NULL) return 0;
  const byoc_foreign_t outer = byoc_hook_enter(target, "hook relative_error", NULL, NULL);
  const double error = backend->relative_error(backend->self, target);
  byoc_foreign_leave(&outer);
  return error > 0 ? error : 0;
}

bool byoc_target_runs_on_device(const byoc_target_t *target) {
  const byoc_backend_t *backend = target->kind->backend;
  if (backend == NULL || backend->device_type == 0) return false;
  if (backend->runs_on_device == NULL) return true;
  const byoc_foreign_t outer = byoc_hook_enter(target, "hook runs_on_device", NULL, NULL);
  const bool runs = backend->runs_on_device(backend->self, target) != 0;
  byoc_foreign_leave(&outer);
  return runs;
}

const byoc_target_t *byoc_target_list_native(const byoc_target_list_t *list) {
  if (list == NULL || list->targets.count == 0) return NULL;
  const byoc_target_t *last = list->targets.data[list->targets.count - 1];
  return last->kind->backend == NULL ? last : NULL;
}

const char *byoc_target_list_foreign(const byoc_target_list_t *list) {
  if (list->triple != NULL) return list->triple;
  if (list->levels.count == 0) {
    const byoc_target_t *native = byoc_target_list_native(list);
    const uint64_t features = native != NULL ? byoc_target_cpu_features(native, "mcpu") : 0;
    return (features & ~byoc_cpu_detect()) != 0 ? byoc_target_option_cpu(native, "mcpu") : NULL;
  }
  const byoc_isa_level_t *level = &list->levels.levels[list->level];
  return (level->features & ~byoc_cpu_detect()) != 0 ? level->name : NULL;
}

void byoc_target_kind_print_maker(const byoc_target_kind_t *kind, byoc_string_t *out) {
  byoc_string_appendf(out, "%s %s", kind->backend != NULL ? kind->plugin_name : "byoc", kind->plugin_version);
  if (kind->plugin_content != NULL) byoc_string_appendf(out, " %s", kind->plugin_content);
}
