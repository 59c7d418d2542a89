// SPDX-License-Identifier: Apache-2.0
// Writes runtime code that backends announced into an artifact that is C source: code/MODULE has the sources and what
// they include, and MODULE_FILE.c beside host.c includes one of them, behind the definitions of names_code_MODULE.h.
#include <stdio.h>
#include <string.h>

#include "core/base/visible.h"
#include "core/compose/artifact/source_names.h"
#include "core/compose/artifact/source_writer.h"
#include "core/module/linkage.h"

enum { MODULE_NAME_BYTES = 72 };

// ---- modules of an entry ----

static size_t module_count(const byoc_host_program_t *program) {
  const size_t others = program->module != NULL ? program->module->runtime_modules.count : 0;
  return program->libraries.count + program->engines.count + others;
}

// Libraries, engines, and drivers of the devices; NULL for a module that is none of these.
static const byoc_runtime_module_t *module_at(const byoc_host_program_t *program, size_t index) {
  if (index < program->libraries.count) return program->libraries.data[index];
  index -= program->libraries.count;
  if (index < program->engines.count) return program->engines.data[index].engine;
  const byoc_runtime_module_t *module = program->module->runtime_modules.data[index - program->engines.count];
  return byoc_composing_uses_driver(program, module) ? module : NULL;
}

bool byoc_source_has_device(const byoc_composing_t *composing) {
  for (size_t k = 0; k < composing->entry_count; k++) {
    if (composing->programs[k]->devices.count > 0) return true;
  }
  return false;
}

// ---- names ----

// The folder of a module's files, unique by its position.
static void folder_of(const byoc_composing_entry_t *entry, size_t index, const byoc_runtime_module_t *module,
                      char out[MODULE_NAME_BYTES]) {
  char name[512];
  byoc_make_identifier(module->name, name, sizeof(name));
  if (entry->options.place.count > 0) {
    snprintf(out, MODULE_NAME_BYTES, "%.40s_%zu_%zu", name, entry->options.place.index, index);
  } else {
    snprintf(out, MODULE_NAME_BYTES, "%.40s_%zu", name, index);
  }
}

// "'NAME' (target 'TARGET')" for a comment: what a plugin or a user wrote is on one line.
static void append_owner(const byoc_runtime_module_t *module, byoc_string_t *out) {
  byoc_string_append(out, "'");
  byoc_string_append_shown(out, byoc_runtime_module_given_name(module));
  byoc_string_append(out, "' (target '");
  byoc_string_append_shown(out, module->target);
  byoc_string_append(out, "')");
}

static const char *const *names_of(const byoc_runtime_module_t *module, size_t *out_count) {
  const bool is_known = module->globals.count > 0;
  *out_count = is_known ? module->globals.count : module->symbols.count;
  return is_known ? module->globals.data : module->symbols.data;
}

static void define(const char *name, const char *prefix, const char *module, const char *symbol, byoc_string_t *out) {
  byoc_string_appendf(out, "#define %s %s__%s__%s\n", name, prefix, module, symbol);
}

// The host calls a module by the names that it lists. Archives keep theirs.
static byoc_status_t define_listed(const byoc_host_program_t *program, const byoc_runtime_module_t *module,
                                   const char *folder, const char *prefix, byoc_arena_t *arena, byoc_string_t *out,
                                   byoc_diag_t *diag) {
  for (size_t k = 0; k < module->symbols.count; k++) {
    const char *symbol = module->symbols.data[k], *name = byoc_linkage_name(program->module, module, symbol, arena);
    if (name == NULL) return byoc_diag_out_of_memory(diag);
    if (module->sources.count > 0) {
      define(name, prefix, folder, symbol, out);
    } else if (module->archives.count > 0 && strcmp(name, symbol) != 0) {
      return byoc_diag_error(diag, BYOC_ALREADY_EXISTS,
                             "the symbol '%s' of '%s' (target '%s') is another module's too, and archives keep their "
                             "symbols in an artifact that is C source",
                             symbol, byoc_runtime_module_given_name(module), module->target);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_source_emit_code_names(const byoc_composing_entry_t *entry, const char *prefix, byoc_string_t *out,
                                          byoc_diag_t *diag) {
  const byoc_host_program_t *program = entry->program;
  byoc_arena_t arena;
  byoc_arena_init(&arena, out->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < module_count(program) && status == BYOC_OK; i++) {
    const byoc_runtime_module_t *module = module_at(program, i);
    if (module == NULL) continue;
    char folder[MODULE_NAME_BYTES];
    folder_of(entry, i, module, folder);
    status = define_listed(program, module, folder, prefix, &arena, out, diag);
  }
  byoc_arena_deinit(&arena);
  return status;
}

static byoc_status_t write_names(byoc_source_writer_t *w, const byoc_runtime_module_t *module, const char *folder) {
  char path[MODULE_NAME_BYTES + 32];
  size_t count = 0;
  const char *const *names = names_of(module, &count);
  byoc_string_append(&w->text, BYOC_SOURCE_MARK " The code of ");
  append_owner(module, &w->text);
  byoc_string_appendf(&w->text,
                      " includes this file first.\n#ifndef BYOC_NAMES_OF_%s_H_\n#define BYOC_NAMES_OF_%s_H_\n\n",
                      folder, folder);
  for (size_t i = 0; i < count; i++) define(names[i], w->prefix, folder, names[i], &w->text);
  byoc_string_appendf(&w->text, "\n#endif // BYOC_NAMES_OF_%s_H_\n", folder);
  snprintf(path, sizeof(path), "include/names_code_%s.h", folder);
  return byoc_source_write_text(w, path);
}

// ---- files ----

static byoc_status_t write_file(byoc_source_writer_t *w, const char *folder, const byoc_file_bytes_t *file) {
  const byoc_bytes_t bytes = {.data = file->data, .size_bytes = file->size_bytes};
  char *path = byoc_path_join(w->allocator, folder, file->name);
  byoc_string_t whole;
  byoc_string_init(&whole, w->allocator);
  byoc_string_appendf(&whole, "code/%s", path != NULL ? path : "");
  byoc_status_t status = path == NULL || whole.failed ? byoc_diag_out_of_memory(w->diag)
                                                      : byoc_source_write_parts(w, whole.data, &bytes, 1);
  byoc_string_deinit(&whole);
  byoc_free(w->allocator, path);
  return status;
}

// The unit of a source, and what the Makefile says about it.
static byoc_status_t write_unit(byoc_source_writer_t *w, const byoc_runtime_module_t *module, const char *folder,
                                const byoc_file_bytes_t *source) {
  char whole[1024], name[BYOC_SOURCE_JOB_NAME_BYTES], path[BYOC_SOURCE_JOB_NAME_BYTES + 4];
  byoc_string_t wanted;
  byoc_string_init(&wanted, w->allocator);
  byoc_string_appendf(&wanted, "%s_%.*s", byoc_runtime_module_given_name(module), (int)(strlen(source->name) - 2),
                      source->name);
  byoc_make_identifier(wanted.failed ? folder : wanted.data, whole, sizeof(whole));
  byoc_string_deinit(&wanted);
  BYOC_RETURN_IF_ERROR(byoc_source_take_name(w, whole, name));
  byoc_string_appendf(&w->text, "#include \"names_code_%s.h\"\n#include \"code/%s/%s\"\n", folder, folder,
                      source->name);
  byoc_string_append(&w->rules, "\n# Of target '");
  byoc_string_append_shown(&w->rules, module->target);
  byoc_string_appendf(&w->rules, "'.\n%s.o: KNOWN += -std=gnu11 -Icode/%s ", name, folder);
  byoc_source_append_flags(module->flags.data, module->flags.count, &w->rules);
  byoc_string_append(&w->rules, "\n");
  snprintf(path, sizeof(path), "%s.c", name);
  return byoc_source_write_text(w, path);
}

static byoc_status_t write_sources(byoc_source_writer_t *w, const byoc_runtime_module_t *module, const char *folder) {
  BYOC_RETURN_IF_ERROR(write_names(w, module, folder));
  BYOC_RETURN_IF_ERROR_IN(w->diag, byoc_source_check_flags(module->flags.data, module->flags.count, w->diag),
                          "runtime module '%s'", module->name);
  for (size_t i = 0; i < module->sources.count; i++) {
    BYOC_RETURN_IF_ERROR(write_file(w, folder, &module->sources.data[i]));
    BYOC_RETURN_IF_ERROR(write_unit(w, module, folder, &module->sources.data[i]));
  }
  for (size_t i = 0; i < module->headers.count; i++) {
    BYOC_RETURN_IF_ERROR(write_file(w, folder, &module->headers.data[i]));
  }
  return BYOC_OK;
}

static byoc_status_t write_archives(byoc_source_writer_t *w, const byoc_runtime_module_t *module, const char *folder) {
  byoc_string_append(&w->rules, "\n# The code of ");
  append_owner(module, &w->rules);
  byoc_string_appendf(&w->rules,
                      " is there as archives, by machine. Programs link the one of their\n# machine behind lib%s.a:\n",
                      w->prefix);
  for (size_t i = 0; i < module->archives.count; i++) {
    BYOC_RETURN_IF_ERROR(write_file(w, folder, &module->archives.data[i]));
    byoc_string_appendf(&w->rules, "#   code/%s/%s\n", folder, module->archives.data[i].name);
  }
  return BYOC_OK;
}

static void note_needed(byoc_source_writer_t *w, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < module->needed.count; i++) {
    byoc_string_appendf(&w->rules, "\n# Programs link -l:%s, too, for ", module->needed.data[i]);
    append_owner(module, &w->rules);
    byoc_string_append(&w->rules, ".\n");
  }
}

byoc_status_t byoc_source_write_code(byoc_source_writer_t *w, const byoc_composing_entry_t *entry) {
  for (size_t i = 0; i < module_count(entry->program); i++) {
    const byoc_runtime_module_t *module = module_at(entry->program, i);
    if (module == NULL) continue;
    char folder[MODULE_NAME_BYTES];
    folder_of(entry, i, module, folder);
    if (module->sources.count > 0) BYOC_RETURN_IF_ERROR(write_sources(w, module, folder));
    if (module->archives.count > 0) BYOC_RETURN_IF_ERROR(write_archives(w, module, folder));
    if (module->sources.count + module->archives.count > 0) note_needed(w, module);
  }
  return w->rules.failed ? byoc_diag_out_of_memory(w->diag) : BYOC_OK;
}
