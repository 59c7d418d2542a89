// SPDX-License-Identifier: Apache-2.0
// Parses target strings into kinds, keys and values:
//
//   list   = target { ";" target }
//   target = kind { "-" key [ "=" value ] }
//   value  = characters other than blanks, ';' and '"', and quoted parts: "..." with \" and \\ inside
#include <ctype.h>
#include <string.h>

#include "core/base/log.h"
#include "core/targets/option.h"
#include "core/targets/runtime_code.h"
#include "core/targets/target.h"

enum { MAX_TEXT_BYTES = 1 << 16 };

typedef struct parser_t {
  const char *text, *at;
  const byoc_target_registry_t *registry;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  byoc_target_list_t *list;
  byoc_machine_t machine; // that the targets are for
  byoc_target_t *native;  // "c", put last at the end
} parser_t;

static byoc_status_t located(parser_t *p, const char *at, byoc_status_t status) {
  byoc_diag_locate(p->diag, NULL, p->text, (size_t)(at - p->text));
  return status;
}

static bool is_blank(char c) {
  return isspace((unsigned char)c) != 0;
}

static void skip_blanks(parser_t *p) {
  while (is_blank(*p->at)) ++p->at;
}

static bool is_name_character(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

// The size of the text up to the next blank or ';', for messages.
static int word_size(const char *at) {
  const size_t size = strcspn(at, " \t\r\n\v\f;");
  return size < 64 ? (int)size : 64;
}

static byoc_status_t unknown_kind(parser_t *p, const char *name, const char *at) {
  const byoc_target_registry_t *registry = p->registry;
  // The look-up may have loaded the plugin of the kind and then refused it.
  const char *refusal = registry->refusal != NULL ? registry->refusal(registry->self, name) : NULL;
  if (refusal == NULL && registry->names == NULL) return byoc_diag_out_of_memory(p->diag);
  byoc_string_t known;
  byoc_string_init(&known, p->allocator);
  byoc_status_t status = BYOC_OK;
  if (refusal != NULL) {
    status = byoc_diag_error(p->diag, BYOC_INVALID_DATA, "target '%s' cannot be used: %s", name, refusal);
  } else {
    for (size_t i = 0; i < registry->name_count; ++i) {
      byoc_string_appendf(&known, "%s%s", i > 0 ? ", " : "", registry->names[i]);
    }
    status = byoc_diag_error(p->diag, BYOC_NOT_FOUND, "unknown target '%s'; there are: %s", name, known.data);
    const char *nearest = byoc_nearest_match(name, registry->names, registry->name_count);
    if (nearest != NULL)
      byoc_diag_hint(p->diag, "did you mean '%s'?", nearest);
    else
      byoc_diag_hint(p->diag, "name its plugin with --plugin, or the plugin's folder in BYOC_PLUGIN_PATH");
  }
  byoc_string_deinit(&known);
  return located(p, at, status);
}

static byoc_status_t parse_kind(parser_t *p, const byoc_target_kind_t **out_kind) {
  const char *begin = p->at;
  if (*begin == '-') {
    byoc_status_t status =
        byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "expected a target before '%.*s'", word_size(begin), begin);
    byoc_diag_hint(p->diag, "an option follows its target: 'c -O=3'");
    return located(p, begin, status);
  }
  while (is_name_character(*p->at)) ++p->at;
  if (p->at == begin || (*p->at != '\0' && *p->at != ';' && !is_blank(*p->at))) {
    byoc_status_t status =
        byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "'%.*s' is not a target", word_size(begin), begin);
    if (*p->at == ',') byoc_diag_hint(p->diag, "targets are separated by ';'");
    return located(p, p->at, status);
  }
  char name[64];
  if ((size_t)(p->at - begin) >= sizeof(name)) {
    return located(p, begin,
                   byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "a target's name is longer than 63 bytes"));
  }
  snprintf(name, sizeof(name), "%.*s", (int)(p->at - begin), begin);
  const byoc_target_kind_t *kind = p->registry->lookup(p->registry->self, name);
  if (kind == NULL) return unknown_kind(p, name, begin);
  *out_kind = kind;
  return BYOC_OK;
}

static byoc_status_t unknown_option(parser_t *p, const byoc_target_kind_t *kind, const char *key, const char *at) {
  byoc_string_t known;
  byoc_string_init(&known, p->allocator);
  const char **names = byoc_allocate(p->allocator, kind->option_count, sizeof(*names));
  byoc_status_t status = BYOC_OK;
  if (names == NULL) {
    status = byoc_diag_out_of_memory(p->diag);
  } else if (kind->option_count == 0) {
    status =
        byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "target '%s' has no options, so no '-%s'", kind->name, key);
  } else {
    for (size_t i = 0; i < kind->option_count; ++i) {
      names[i] = kind->options[i].name;
      byoc_string_appendf(&known, "%s-%s", i > 0 ? ", " : "", names[i]);
    }
    status = byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "target '%s' has no option '-%s'; it has: %s", kind->name,
                             key, known.data);
    const char *nearest = byoc_nearest_match(key, names, kind->option_count);
    if (nearest != NULL) byoc_diag_hint(p->diag, "did you mean '-%s'?", nearest);
  }
  byoc_free(p->allocator, names);
  byoc_string_deinit(&known);
  return located(p, at, status);
}

// Reads a value into `out`, quotes removed.
static byoc_status_t parse_value(parser_t *p, byoc_string_t *out) {
  while (*p->at != '\0' && *p->at != ';' && !is_blank(*p->at)) {
    if (*p->at != '"') {
      byoc_string_append_bytes(out, p->at++, 1);
      continue;
    }
    const char *open = p->at++;
    while (*p->at != '"') {
      if (*p->at == '\\' && (p->at[1] == '"' || p->at[1] == '\\')) ++p->at;
      if (*p->at == '\0') {
        return located(p, open, byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "this quote is never closed"));
      }
      byoc_string_append_bytes(out, p->at++, 1);
    }
    ++p->at;
  }
  return out->failed ? byoc_diag_out_of_memory(p->diag) : BYOC_OK;
}

static bool same_levels(const byoc_isa_levels_t *one, const byoc_isa_levels_t *other) {
  bool same = one->count == other->count;
  for (size_t i = 0; i < one->count && same; ++i) same = strcmp(one->levels[i].name, other->levels[i].name) == 0;
  return same;
}

// One of several processors.
static byoc_status_t choose_level(parser_t *p, const char *text, const char **out_word) {
  byoc_target_list_t *list = p->list;
  byoc_isa_levels_t levels;
  BYOC_RETURN_IF_ERROR(byoc_isa_levels_parse(text, p->machine, &list->arena, p->diag, &levels));
  if (list->levels.count == 0) {
    list->levels = levels;
    list->level = list->triple == NULL ? byoc_isa_level_find(&levels, byoc_cpu_detect()) : 0;
    if (p->registry->level > 0 && p->registry->level <= levels.count) list->level = p->registry->level - 1;
  }
  *out_word = list->levels.levels[list->level].name;
  if (same_levels(&list->levels, &levels)) return BYOC_OK;
  return byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT,
                         "two targets name several processors each, and not the same ones");
}

static byoc_status_t parse_given(parser_t *p, const byoc_option_schema_t *option, const char *text,
                                 byoc_target_value_t *value) {
  if (option->type == BYOC_OPTION_CPU && text != NULL && byoc_cpu_is_list(text)) {
    byoc_status_t status = choose_level(p, text, &text);
    if (status != BYOC_OK) return byoc_diag_context(p->diag, status, "option '-%s'", option->name);
  }
  return byoc_option_parse(option, text, p->machine, &p->list->arena, p->diag, value);
}

static byoc_status_t parse_option(parser_t *p, byoc_target_t *target) {
  const char *begin = p->at;
  if (*begin != '-') {
    byoc_status_t status =
        byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "expected an option of target '%s', not '%.*s'",
                        target->kind->name, word_size(begin), begin);
    byoc_diag_hint(p->diag, "options are written '-key=value', targets are separated by ';'");
    return located(p, begin, status);
  }
  const char *name = ++p->at;
  while (is_name_character(*p->at) && (*p->at != '-' || p->at > name)) ++p->at;
  const size_t size = (size_t)(p->at - name);
  char key[64];
  if (size == 0 || size >= sizeof(key) || (*p->at != '\0' && *p->at != '=' && *p->at != ';' && !is_blank(*p->at))) {
    byoc_status_t status =
        byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "'%.*s' is not an option", word_size(begin), begin);
    byoc_diag_hint(p->diag, "options are written '-key=value'%s", *name == '-' ? ", with one '-'" : "");
    return located(p, begin, status);
  }
  snprintf(key, sizeof(key), "%.*s", (int)size, name);
  size_t index = 0;
  while (index < target->kind->option_count && strcmp(target->kind->options[index].name, key) != 0) ++index;
  if (index == target->kind->option_count) return unknown_option(p, target->kind, key, begin);
  const byoc_option_schema_t *option = &target->kind->options[index];
  byoc_target_value_t *value = &target->values[index];
  if (value->given) {
    return located(p, begin, byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "option '-%s' is given twice", key));
  }
  const bool has_value = *p->at == '=';
  const char *value_at = has_value ? ++p->at : begin;
  byoc_string_t text;
  byoc_string_init(&text, p->allocator);
  byoc_status_t status = parse_value(p, &text);
  if (status == BYOC_OK) {
    status = parse_given(p, option, has_value ? text.data : NULL, value);
    if (status != BYOC_OK)
      status = located(p, value_at, byoc_diag_context(p->diag, status, "target '%s'", target->kind->name));
  }
  value->given = true;
  byoc_string_deinit(&text);
  return status;
}

static byoc_target_t *new_target(parser_t *p, const byoc_target_kind_t *kind, byoc_status_t *out_status) {
  byoc_target_t *target = BYOC_ARENA_NEW(&p->list->arena, byoc_target_t);
  byoc_target_value_t *values = BYOC_ARENA_ARRAY(&p->list->arena, byoc_target_value_t, kind->option_count);
  *out_status = target != NULL && values != NULL ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
  if (*out_status != BYOC_OK) return NULL;
  target->kind = kind;
  target->values = values;
  target->machine = p->machine;
  return target;
}

// Fills in the defaults and the canonical text.
static byoc_status_t finish_target(parser_t *p, byoc_target_t *target) {
  byoc_string_t text;
  byoc_string_init(&text, p->allocator);
  byoc_string_append(&text, target->kind->name);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < target->kind->option_count && status == BYOC_OK; ++i) {
    const byoc_option_schema_t *option = &target->kind->options[i];
    if (!target->values[i].given) {
      status = byoc_option_default(option, p->machine, &p->list->arena, p->diag, &target->values[i]);
      if (option->type == BYOC_OPTION_CPU && p->registry->cpu != NULL) target->values[i].s = p->registry->cpu;
    }
    if (status != BYOC_OK) break;
    byoc_string_append(&text, " ");
    byoc_option_print(option, &target->values[i], &text);
  }
  if (status == BYOC_OK) {
    target->text = text.failed ? NULL : byoc_arena_copy_string(&p->list->arena, text.data);
    if (target->text == NULL) status = byoc_diag_out_of_memory(p->diag);
  }
  byoc_string_deinit(&text);
  return status;
}

// A target whose code cannot be made for the triple is left out with a warning.
static bool is_for_triple(const parser_t *p, const byoc_target_t *target) {
  const byoc_backend_t *backend = target->kind->backend;
  const char *triple = p->list->triple;
  const byoc_runtime_code_t *missing = NULL;
  if (backend != NULL && byoc_runtime_code_serves(backend, triple, &missing)) return true;
  if (missing == NULL) {
    byoc_log(BYOC_LOG_WARNING, "the target '%s' is left out: it makes code for this machine only, and not for %s",
             target->kind->name, triple);
    return false;
  }
  byoc_string_t reason;
  byoc_string_init(&reason, p->allocator);
  byoc_runtime_code_explain(missing, triple, &reason);
  byoc_log(BYOC_LOG_WARNING, "the target '%s' is left out, because of its runtime code '%s': %s", target->kind->name,
           missing->name, reason.data);
  byoc_string_deinit(&reason);
  return false;
}

static byoc_status_t add_target(parser_t *p, byoc_target_t *target, const char *at) {
  if (target->kind == byoc_target_kind_native()) {
    if (p->native != NULL) {
      byoc_status_t status = byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "target 'c' is given twice");
      byoc_diag_hint(p->diag, "give its options once; it is always the last resort");
      return located(p, at, status);
    }
    p->native = target;
    return BYOC_OK;
  }
  for (size_t i = 0; i < p->list->targets.count; ++i) {
    if (strcmp(p->list->targets.data[i]->text, target->text) != 0) continue;
    return located(p, at,
                   byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "target '%s' is given twice with the same options",
                                   target->kind->name));
  }
  if (p->list->triple != NULL && !is_for_triple(p, target)) return BYOC_OK;
  return byoc_vector_push(&p->list->targets, p->allocator, target) ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t parse_target(parser_t *p) {
  const char *begin = p->at;
  const byoc_target_kind_t *kind = NULL;
  BYOC_RETURN_IF_ERROR(parse_kind(p, &kind));
  byoc_status_t status = BYOC_OK;
  byoc_target_t *target = new_target(p, kind, &status);
  if (target == NULL) return status;
  for (skip_blanks(p); *p->at != '\0' && *p->at != ';'; skip_blanks(p)) BYOC_RETURN_IF_ERROR(parse_option(p, target));
  BYOC_RETURN_IF_ERROR(finish_target(p, target));
  return add_target(p, target, begin);
}

static byoc_status_t parse_text(parser_t *p, const char *text) {
  p->text = p->at = text;
  if (strlen(text) > MAX_TEXT_BYTES) {
    return byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "a target list is longer than %d bytes", MAX_TEXT_BYTES);
  }
  bool found = false;
  for (;;) {
    skip_blanks(p);
    if (*p->at == ';') {
      ++p->at;
      continue;
    }
    if (*p->at == '\0') break;
    BYOC_RETURN_IF_ERROR(parse_target(p));
    found = true;
  }
  return found ? BYOC_OK : located(p, text, byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT, "no target is given"));
}

// A native target that is not named, or one for another machine without -mcpu, gets the processor of the last target
// whose -mcpu was given.
static void take_over_cpu(const byoc_target_list_t *list, byoc_target_t *native) {
  byoc_target_value_t *own = NULL;
  for (size_t i = 0; i < native->kind->option_count; ++i) {
    if (strcmp(native->kind->options[i].name, "mcpu") == 0 && !native->values[i].given) own = &native->values[i];
  }
  for (size_t t = list->targets.count; own != NULL && t-- > 0;) {
    const byoc_target_t *target = list->targets.data[t];
    for (size_t i = 0; i < target->kind->option_count; ++i) {
      const byoc_option_schema_t *option = &target->kind->options[i];
      if (option->type != BYOC_OPTION_CPU || strcmp(option->name, "mcpu") != 0 || !target->values[i].given) continue;
      *own = target->values[i];
      return;
    }
  }
}

// For another machine, processors that were not given are that of the native target, as "native" is on this machine.
static byoc_status_t hand_over_cpu(parser_t *p) {
  const char *cpu = byoc_target_option_cpu(p->native, "mcpu");
  for (size_t t = 0; t < p->list->targets.count; ++t) {
    byoc_target_t *target = p->list->targets.data[t];
    for (size_t i = 0; i < target->kind->option_count; ++i) {
      byoc_target_value_t *value = &target->values[i];
      if (target->kind->options[i].type != BYOC_OPTION_CPU || value->given) continue;
      *value = (byoc_target_value_t){.s = cpu, .given = true};
    }
    BYOC_RETURN_IF_ERROR(finish_target(p, target));
  }
  return BYOC_OK;
}

// The triple of this machine changes nothing.
static byoc_status_t take_triple(parser_t *p) {
  const char *triple = p->registry->triple;
  BYOC_RETURN_IF_ERROR(byoc_machine_of_triple(triple, p->diag, &p->machine));
  if (strcmp(triple, byoc_machine_host_triple()) == 0) return BYOC_OK;
  p->list->triple = byoc_arena_copy_string(&p->list->arena, triple);
  return p->list->triple != NULL ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

byoc_status_t byoc_target_list_parse(const char *const *texts, size_t text_count,
                                     const byoc_target_registry_t *registry, byoc_allocator_t allocator,
                                     byoc_diag_t *diag, byoc_target_list_t *out_list) {
  *out_list = (byoc_target_list_t){0};
  byoc_arena_init(&out_list->arena, allocator);
  parser_t p = {
      .registry = registry, .allocator = allocator, .diag = diag, .list = out_list, .machine = byoc_machine_host()};
  byoc_status_t status = registry->triple != NULL ? take_triple(&p) : BYOC_OK;
  for (size_t i = 0; i < text_count && status == BYOC_OK; ++i) status = parse_text(&p, texts[i]);
  const bool is_named = p.native != NULL;
  if (status == BYOC_OK && !is_named) p.native = new_target(&p, byoc_target_kind_native(), &status);
  if (status == BYOC_OK && (!is_named || out_list->triple != NULL)) {
    take_over_cpu(out_list, p.native);
    status = finish_target(&p, p.native);
  }
  if (status == BYOC_OK && out_list->triple != NULL) status = hand_over_cpu(&p);
  if (status == BYOC_OK && !byoc_vector_push(&out_list->targets, allocator, p.native)) {
    status = byoc_diag_out_of_memory(diag);
  }
  for (size_t i = 0; i < out_list->targets.count; ++i) out_list->targets.data[i]->index = (uint32_t)i;
  if (status != BYOC_OK) byoc_target_list_deinit(out_list);
  return status;
}

void byoc_target_list_deinit(byoc_target_list_t *list) {
  byoc_vector_deinit(&list->targets, list->arena.allocator);
  byoc_arena_deinit(&list->arena);
}
