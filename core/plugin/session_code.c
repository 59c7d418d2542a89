// SPDX-License-Identifier: Apache-2.0
// Puts announced runtime code into a module: archives for the machine of the build, or sources, which are compiled or
// become part of an artifact that is C source.
#include <string.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/module/symbols.h"
#include "core/plugin/runtime_code.h"
#include "core/plugin/session.h"
#include "core/plugin/trust.h"
#include "core/targets/runtime_code.h"

enum { MOST_HEADERS = 1 << 14, MOST_DEPTH = 32 };

typedef struct filling_t {
  byoc_codegen_t *session;
  byoc_runtime_module_t *module;
  const byoc_runtime_code_t *code;
  const char *triple; // of the machine that the code is for
  byoc_diag_t *diag;
} filling_t;

// ---- files ----

// The real path of a file that only root and the user may change, in the session's arena.
static byoc_status_t trusted_path(const filling_t *f, const char *path, const char **out_path) {
  char *real = NULL;
  bool is_file = false;
  BYOC_RETURN_IF_ERROR(
      byoc_plugin_check_trust(path, byoc_arena_allocator(&f->session->arena), f->diag, &real, &is_file));
  *out_path = real;
  return BYOC_OK;
}

static const byoc_file_bytes_t *find_file(const byoc_file_bytes_t *files, size_t count, const char *name) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(files[i].name, name) == 0) return &files[i];
  }
  return NULL;
}

static bool has_content(const byoc_file_bytes_t *file, const void *data, size_t size_bytes) {
  return file->size_bytes == size_bytes && (size_bytes == 0 || memcmp(file->data, data, size_bytes) == 0);
}

// A file that is given twice is one. Two of one name would overwrite each other; sources and headers have one folder.
static byoc_status_t put_code(const filling_t *f, byoc_module_code_t kind, const char *name, const void *data,
                              size_t size_bytes) {
  const byoc_runtime_module_t *m = f->module;
  const byoc_file_bytes_t *source = find_file(m->sources.data, m->sources.count, name);
  const byoc_file_bytes_t *known = kind == BYOC_MODULE_CODE_SOURCE ? source
                                   : kind == BYOC_MODULE_CODE_HEADER
                                       ? find_file(m->headers.data, m->headers.count, name)
                                       : find_file(m->archives.data, m->archives.count, name);
  const bool is_known = known != NULL && has_content(known, data, size_bytes);
  const bool meets_source = kind == BYOC_MODULE_CODE_HEADER && source != NULL && !has_content(source, data, size_bytes);
  if (is_known) return BYOC_OK;
  if (known == NULL && !meets_source) {
    return byoc_runtime_module_add_code(f->module, kind, name, data, size_bytes, f->diag);
  }
  byoc_status_t status =
      byoc_diag_error(f->diag, BYOC_INVALID_DATA, "there is another file with the name '%s' and other content", name);
  byoc_diag_hint(f->diag, "byoc_file_content_t.name in the plugin's runtime code gives a file another name");
  return status;
}

static byoc_status_t add_code_at(const filling_t *f, byoc_module_code_t kind, const char *name, const char *path) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(trusted_path(f, path, &path));
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, f->diag, &view));
  byoc_status_t status = put_code(f, kind, name, view.data, view.size_bytes);
  byoc_file_view_close(&view);
  return status;
}

static byoc_status_t add_folder(const filling_t *f, const char *prefix, const char *folder, int depth);

static byoc_status_t add_entry(const filling_t *f, const char *prefix, const char *folder, const char *entry,
                               int depth) {
  byoc_arena_t *arena = &f->session->arena;
  const char *path = byoc_arena_format(arena, "%s/%s", folder, entry);
  const char *name = byoc_arena_format(arena, "%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", entry);
  if (path == NULL || name == NULL) return byoc_diag_out_of_memory(f->diag);
  if (byoc_is_directory(path)) return add_folder(f, name, path, depth + 1);
  if (!byoc_runtime_code_is_file_name(entry)) {
    byoc_status_t status =
        byoc_diag_error(f->diag, BYOC_INVALID_DATA,
                        "the folder '%s' has the file '%s', whose name is not one of letters, digits "
                        "and ._+-",
                        folder, entry);
    byoc_diag_hint(f->diag, "rename the file, or announce the headers one by one");
    return status;
  }
  if (f->module->headers.count >= MOST_HEADERS) {
    return byoc_diag_error(f->diag, BYOC_INVALID_DATA, "it has more than %d headers", MOST_HEADERS);
  }
  return add_code_at(f, BYOC_MODULE_CODE_HEADER, name, path);
}

// All files of a folder of headers, and of those in it.
static byoc_status_t add_folder(const filling_t *f, const char *prefix, const char *folder, int depth) {
  char **names = NULL;
  size_t count = 0;
  if (depth > MOST_DEPTH) {
    return byoc_diag_error(f->diag, BYOC_INVALID_DATA, "the folder of headers '%s' is too deep", folder);
  }
  BYOC_RETURN_IF_ERROR(byoc_list_directory(folder, f->session->allocator, f->diag, &names, &count));
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) status = add_entry(f, prefix, folder, names[i], depth);
  byoc_free_names(f->session->allocator, names, count);
  return status;
}

// Adds the file under that name, or all files of a folder of headers.
static byoc_status_t add_code(const filling_t *f, byoc_module_code_t kind, const char *name,
                              const byoc_file_content_t *file) {
  if (file->path == NULL) {
    return put_code(f, kind, name, file->data, (size_t)file->size_bytes);
  }
  const bool is_folder = kind == BYOC_MODULE_CODE_HEADER && byoc_is_directory(file->path);
  return is_folder ? add_folder(f, name, file->path, 0) : add_code_at(f, kind, name, file->path);
}

static byoc_status_t add_archive(const filling_t *f, const byoc_file_content_t *file) {
  byoc_file_content_t content = *file;
  if (file->path != NULL) BYOC_RETURN_IF_ERROR(trusted_path(f, file->path, &content.path));
  return byoc_runtime_module_add_file(f->module, &content, false, f->diag);
}

// ---- archives ----

static byoc_status_t note_code(const filling_t *f, const char *text) {
  f->module->code = text != NULL ? byoc_arena_copy_string(&f->module->arena, text) : NULL;
  return f->module->code != NULL ? BYOC_OK : byoc_diag_out_of_memory(f->diag);
}

static byoc_status_t use_archives(const filling_t *f, const byoc_machine_code_t *archives) {
  for (uint32_t i = 0; i < archives->file_count; ++i) {
    BYOC_RETURN_IF_ERROR_IN(f->diag, add_archive(f, &archives->files[i]), "the archive '%s' for %s",
                            archives->files[i].name, archives->machines);
  }
  BYOC_RETURN_IF_ERROR(byoc_session_add_needed(f->module, archives->needed, f->diag));
  return note_code(f, byoc_arena_format(&f->session->arena, "%s for %s", archives->files[0].name, archives->machines));
}

// The folder of archives is called after their machines, and no two have one folder. NULL if out of memory.
static const char *machine_folder(const filling_t *f, const char *machines, const char *const *taken, size_t count) {
  char *wanted = byoc_arena_copy_string(&f->session->arena, machines);
  if (wanted == NULL) return NULL;
  for (char *c = wanted; *c != '\0'; ++c) *c = *c == '*' ? 'X' : *c == ' ' ? '+' : *c;
  const char *name = wanted;
  unsigned number = 1;
  for (size_t i = 0; i < count && name != NULL; ++i) {
    if (taken[i] == NULL || strcmp(taken[i], name) != 0) continue;
    name = byoc_arena_format(&f->session->arena, "%s_%u", wanted, ++number);
    i = SIZE_MAX; // the new name may be taken, too
  }
  return name;
}

// For an artifact that is C source: those for all machines, in folders that are called after them.
static byoc_status_t keep_archives(const filling_t *f) {
  byoc_arena_t *arena = &f->session->arena;
  const char **folders = BYOC_ARENA_ARRAY(arena, const char *, f->code->archive_count);
  if (folders == NULL) return byoc_diag_out_of_memory(f->diag);
  for (uint32_t i = 0; i < f->code->archive_count; ++i) {
    const byoc_machine_code_t *archives = &f->code->archives[i];
    if (!byoc_machine_code_is_there(archives)) continue;
    folders[i] = machine_folder(f, archives->machines, folders, i);
    if (folders[i] == NULL) return byoc_diag_out_of_memory(f->diag);
    for (uint32_t k = 0; k < archives->file_count; ++k) {
      const char *name = byoc_arena_format(arena, "%s/%s", folders[i], archives->files[k].name);
      if (name == NULL) return byoc_diag_out_of_memory(f->diag);
      BYOC_RETURN_IF_ERROR_IN(f->diag, add_code(f, BYOC_MODULE_CODE_ARCHIVE, name, &archives->files[k]),
                              "the archive '%s' for %s", archives->files[k].name, archives->machines);
    }
    BYOC_RETURN_IF_ERROR(byoc_session_add_needed(f->module, archives->needed, f->diag));
  }
  return note_code(f, "archives");
}

// ---- sources ----

static byoc_status_t read_sources(const filling_t *f) {
  static const char *const usual[] = {"-O2"};
  const byoc_text_list_t none = {.items = usual, .count = 1};
  const byoc_text_list_t flags = f->code->flags.count > 0 ? f->code->flags : none;
  byoc_runtime_module_t *module = f->module;
  for (uint32_t i = 0; i < f->code->source_count; ++i) {
    BYOC_RETURN_IF_ERROR_IN(f->diag,
                            add_code(f, BYOC_MODULE_CODE_SOURCE, f->code->sources[i].name, &f->code->sources[i]),
                            "the source '%s'", f->code->sources[i].name);
  }
  for (uint32_t i = 0; i < f->code->header_count; ++i) {
    BYOC_RETURN_IF_ERROR_IN(f->diag,
                            add_code(f, BYOC_MODULE_CODE_HEADER, f->code->headers[i].name, &f->code->headers[i]),
                            "the header '%s'", f->code->headers[i].name);
  }
  for (uint64_t i = 0; i < flags.count; ++i) {
    const char *copy = byoc_arena_copy_string(&module->arena, flags.items[i]);
    if (copy == NULL || !byoc_vector_push(&module->flags, byoc_arena_allocator(&module->arena), copy)) {
      return byoc_diag_out_of_memory(f->diag);
    }
  }
  return byoc_session_add_needed(module, f->code->needed, f->diag);
}

static byoc_status_t note_sources(const filling_t *f) {
  const byoc_runtime_module_t *module = f->module;
  const char *first = module->sources.data[0].name;
  const char *where = f->session->services->as_source ? "" : f->triple;
  char more[48] = "";
  if (module->sources.count > 1) snprintf(more, sizeof(more), " and %zu more", module->sources.count - 1);
  return note_code(f, byoc_arena_format(&f->session->arena, "source %s%s%s%s", first, more,
                                        where[0] != '\0' ? " compiled for " : "", where));
}

static byoc_status_t compile(const filling_t *f, byoc_bytes_t *objects) {
  const byoc_codegen_services_t *services = f->session->services;
  if (services->compile_code == NULL) {
    return byoc_diag_error(f->diag, BYOC_UNSUPPORTED, "this run compiles no sources");
  }
  return services->compile_code(services->self, f->module, f->session->allocator, f->diag, objects);
}

static byoc_status_t use_objects(const filling_t *f, const byoc_bytes_t *objects) {
  for (size_t i = 0; i < f->module->sources.count; ++i) {
    const byoc_file_content_t object = {
        .name = f->module->sources.data[i].name, .data = objects[i].data, .size_bytes = objects[i].size_bytes};
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_file(f->module, &object, false, f->diag));
  }
  return note_sources(f);
}

static byoc_status_t add_global(void *self, const byoc_elf_symbol_t *symbol) {
  const filling_t *f = self;
  byoc_runtime_module_t *module = f->module;
  if (!symbol->defined || !symbol->global || symbol->name[0] == '\0') return BYOC_OK;
  const char *copy = byoc_arena_copy_string(&module->arena, symbol->name);
  return copy != NULL && byoc_vector_push(&module->globals, byoc_arena_allocator(&module->arena), copy)
             ? BYOC_OK
             : byoc_diag_out_of_memory(f->diag);
}

static byoc_status_t add_globals(const filling_t *f, const byoc_bytes_t *objects) {
  for (size_t i = 0; i < f->module->sources.count; ++i) {
    byoc_elf_t elf;
    BYOC_RETURN_IF_ERROR(
        byoc_elf_open(objects[i].data, objects[i].size_bytes, f->module->sources.data[i].name, f->diag, &elf));
    BYOC_RETURN_IF_ERROR(byoc_elf_visit_symbols(&elf, false, add_global, (void *)(uintptr_t)f, f->diag));
  }
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_objects(f->module, objects, f->module->sources.count, f->diag));
  return note_sources(f);
}

// An artifact that is C source holds the sources. They are compiled even so: by their objects the host finds the names
// that get a prefix. Another processor's compiler may accept what this one does not; then only the listed names get it.
static byoc_status_t use_sources(const filling_t *f) {
  const size_t count = f->module->sources.count;
  byoc_bytes_t *objects = byoc_allocate(f->session->allocator, count, sizeof(*objects));
  byoc_diag_t *diag = f->diag, unused = {0};
  if (objects == NULL) return byoc_diag_out_of_memory(diag);
  filling_t trial = *f;
  const bool as_source = f->session->services->as_source;
  if (as_source) trial.diag = &unused;
  byoc_status_t status = compile(&trial, objects);
  const bool is_compiled = status == BYOC_OK;
  if (is_compiled) status = as_source ? add_globals(f, objects) : use_objects(f, objects);
  if (!is_compiled && as_source && status != BYOC_OUT_OF_MEMORY) {
    byoc_log(BYOC_LOG_WARNING,
             "the sources of '%s' (target '%s') do not compile here, so that only its listed names get a prefix: %s",
             f->code->name, f->session->target->kind->name, unused.message);
    status = note_sources(f);
  }
  for (size_t i = 0; is_compiled && i < count; ++i) {
    byoc_free(f->session->allocator, (void *)(uintptr_t)objects[i].data);
  }
  byoc_free(f->session->allocator, objects);
  return status;
}

// ---- the choice ----

static byoc_status_t fill(const filling_t *f, const char *what) {
  const bool as_source = f->session->services->as_source;
  const char *lost = NULL;
  const byoc_machine_code_t *archives = as_source ? NULL : byoc_runtime_code_archives(f->code, f->triple, &lost);
  if (archives != NULL) return use_archives(f, archives);
  if (f->code->source_count > 0) {
    BYOC_RETURN_IF_ERROR(read_sources(f));
    return use_sources(f);
  }
  if (as_source) return keep_archives(f);
  byoc_string_t reason;
  byoc_string_init(&reason, f->session->allocator);
  byoc_runtime_code_explain(f->code, f->triple, &reason);
  byoc_status_t status =
      byoc_diag_error(f->diag, BYOC_UNSUPPORTED, "there is no code of this %s: %s", what, reason.data);
  byoc_diag_hint(f->diag, "byoc_runtime_code_t in byoc/plugin.h announces it");
  byoc_string_deinit(&reason);
  return status;
}

byoc_status_t byoc_session_fill_code(byoc_codegen_t *session, byoc_runtime_module_t *module, const char *what,
                                     const char *name, bool has_files, byoc_diag_t *diag, bool *out_is_filled) {
  const byoc_codegen_services_t *services = session->services;
  const char *triple = services != NULL ? services->triple : NULL;
  const bool is_needed = !has_files || triple != NULL || (services != NULL && services->as_source);
  const byoc_runtime_code_t *code =
      is_needed && services != NULL ? byoc_runtime_code_find(session->target->kind->backend, name) : NULL;
  if (code != NULL && services->as_source && !byoc_runtime_code_is_for_source(code)) code = NULL;
  *out_is_filled = code != NULL;
  if (code == NULL) return BYOC_OK;
  const filling_t f = {.session = session,
                       .module = module,
                       .code = code,
                       .triple = triple != NULL ? triple : byoc_machine_host_triple(),
                       .diag = diag};
  return fill(&f, what);
}
