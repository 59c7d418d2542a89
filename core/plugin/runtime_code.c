// SPDX-License-Identifier: Apache-2.0
// Reads the runtime code that a backend announces: its lists, names and paths, without the files.
#include "core/plugin/runtime_code.h"

#include <ctype.h>
#include <string.h>

#include "core/base/file.h"
#include "core/plugin/abi.h"

enum {
  MAX_CODES = 256,
  MAX_ARCHIVES = 1024,
  MAX_FILES = 1 << 14,
  MAX_FLAGS = 1024,
  MAX_NAME_BYTES = 480,
  MAX_TEXT_BYTES = 4096,
};

typedef struct reader_t {
  const char *folder; // of the plugin's file
  byoc_arena_t *arena;
  byoc_diag_t *diag;
} reader_t;

static byoc_status_t check_list(const void *items, uint32_t count, uint32_t limit, const char *what,
                                byoc_diag_t *diag) {
  if (count > 0 && items == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "its %s are NULL", what);
  if (count <= limit) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "it has %u %s, more than %u", (unsigned)count, what, (unsigned)limit);
}

bool byoc_runtime_code_is_file_name(const char *name) {
  const char *part = name;
  for (const char *c = name;; ++c) {
    if (*c == '/' || *c == '\0') {
      const size_t size = (size_t)(c - part);
      if (size == 0 || (size == 1 && part[0] == '.') || (size == 2 && memcmp(part, "..", 2) == 0)) return false;
      part = c + 1;
      if (*c == '\0') return true;
    } else if (!isalnum((unsigned char)*c) && strchr("._+-", *c) == NULL) {
      return false;
    }
  }
}

// `must_be_c`: the file is compiled, and its name says so.
static byoc_status_t read_name(const reader_t *r, const char *what, bool must_be_c, byoc_file_content_t *file) {
  if (file->name == NULL && file->path != NULL) {
    file->name = byoc_runtime_code_is_file_name(file->path) ? file->path : byoc_path_base(file->path);
  }
  if (file->name == NULL) {
    return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s is given as bytes, without a name", what);
  }
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(file->name, what, MAX_NAME_BYTES, false, r->arena, r->diag, &file->name));
  if (!byoc_runtime_code_is_file_name(file->name)) {
    return byoc_diag_error(r->diag, BYOC_INVALID_DATA,
                           "%s is called '%s', which is not a file name of letters, digits and ._+- in some folder",
                           what, file->name);
  }
  const char *point = strrchr(file->name, '.');
  if (!must_be_c || (point != NULL && strcmp(point, ".c") == 0)) return BYOC_OK;
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s is called '%s': sources are C, in files *.c", what,
                         file->name);
}

static byoc_status_t read_file(const reader_t *r, const char *what, bool must_be_c, byoc_file_content_t *file) {
  if ((file->path == NULL) == (file->data == NULL)) {
    return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s needs either bytes or a path", what);
  }
  if (file->path != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(file->path, what, MAX_TEXT_BYTES, false, r->arena, r->diag, &file->path));
  }
  const bool is_named = file->name != NULL;
  BYOC_RETURN_IF_ERROR(read_name(r, what, must_be_c, file));
  if (file->path != NULL && file->path[0] != '/') {
    file->path = byoc_arena_format(r->arena, "%s/%s", r->folder, file->path);
    if (file->path == NULL) return byoc_diag_out_of_memory(r->diag);
  }
  // The names of the files in a folder that has no name begin at that folder.
  if (!is_named && file->path != NULL && byoc_is_directory(file->path)) file->name = "";
  return BYOC_OK;
}

static byoc_status_t read_files(const reader_t *r, const char *what, bool must_be_c, uint32_t count, uint32_t *stride,
                                const byoc_file_content_t **files) {
  BYOC_RETURN_IF_ERROR(check_list(*files, count, MAX_FILES, what, r->diag));
  byoc_file_content_t *copies = BYOC_ARENA_ARRAY(r->arena, byoc_file_content_t, count);
  if (copies == NULL) return byoc_diag_out_of_memory(r->diag);
  for (uint32_t i = 0; i < count; ++i) {
    char one[64];
    snprintf(one, sizeof(one), "file %u of its %s", (unsigned)i, what);
    BYOC_RETURN_IF_ERROR(
        byoc_abi_read_at(*files, *stride, i, byoc_abi_of(byoc_file_content_t), one, &copies[i], r->diag));
    BYOC_RETURN_IF_ERROR(read_file(r, one, must_be_c, &copies[i]));
  }
  *files = copies;
  *stride = sizeof(*copies);
  return BYOC_OK;
}

// Triples and patterns of letters, digits and -_.*, separated by blanks. Each begins with a letter, a digit or *,
// because folders are called after them.
static byoc_status_t check_machines(const reader_t *r, const char *machines) {
  bool has_word = false, is_valid = true;
  for (const char *c = machines; *c != '\0'; ++c) {
    const bool begins_word = *c != ' ' && (c == machines || c[-1] == ' ');
    has_word = has_word || begins_word;
    is_valid = is_valid && (isalnum((unsigned char)*c) || strchr(begins_word ? "*" : "-_.* ", *c) != NULL);
  }
  if (has_word && is_valid) return BYOC_OK;
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "its archives are for the machines '%s', which are not triples",
                         machines);
}

static byoc_status_t read_archives(const reader_t *r, byoc_runtime_code_t *code) {
  BYOC_RETURN_IF_ERROR(check_list(code->archives, code->archive_count, MAX_ARCHIVES, "archives", r->diag));
  byoc_machine_code_t *copies = BYOC_ARENA_ARRAY(r->arena, byoc_machine_code_t, code->archive_count);
  if (copies == NULL) return byoc_diag_out_of_memory(r->diag);
  for (uint32_t i = 0; i < code->archive_count; ++i) {
    byoc_machine_code_t *copy = &copies[i];
    char what[48];
    snprintf(what, sizeof(what), "archives %u", (unsigned)i);
    BYOC_RETURN_IF_ERROR(byoc_abi_read_at(code->archives, code->archive_stride, i, byoc_abi_of(byoc_machine_code_t),
                                          what, copy, r->diag));
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(copy->machines, "the machines of its archives", MAX_TEXT_BYTES, false,
                                              r->arena, r->diag, &copy->machines));
    BYOC_RETURN_IF_ERROR(check_machines(r, copy->machines));
    if (copy->file_count == 0) {
      return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "its archives for '%s' have no files", copy->machines);
    }
    BYOC_RETURN_IF_ERROR(read_files(r, "archives", false, copy->file_count, &copy->file_stride, &copy->files));
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(copy->needed, "the libraries that its archives need", MAX_NAME_BYTES,
                                               MAX_FILES, r->arena, r->diag, &copy->needed));
  }
  code->archives = copies;
  code->archive_stride = sizeof(*copies);
  return BYOC_OK;
}

static byoc_status_t check_names(const reader_t *r, const byoc_file_content_t *files, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < i; ++k) {
      if (strcmp(files[i].name, files[k].name) != 0) continue;
      return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "it has two sources called '%s'", files[i].name);
    }
  }
  return BYOC_OK;
}

static byoc_status_t read_code(const reader_t *r, byoc_runtime_code_t *code) {
  BYOC_RETURN_IF_ERROR(read_archives(r, code));
  BYOC_RETURN_IF_ERROR(read_files(r, "sources", true, code->source_count, &code->source_stride, &code->sources));
  BYOC_RETURN_IF_ERROR(check_names(r, code->sources, code->source_count));
  BYOC_RETURN_IF_ERROR(read_files(r, "headers", false, code->header_count, &code->header_stride, &code->headers));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(code->flags, "the flags of its sources", MAX_TEXT_BYTES, MAX_FLAGS,
                                             r->arena, r->diag, &code->flags));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(code->needed, "the libraries that its sources need", MAX_NAME_BYTES,
                                             MAX_FILES, r->arena, r->diag, &code->needed));
  if (code->archive_count + code->source_count > 0) return BYOC_OK;
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "it has neither archives nor sources");
}

byoc_status_t byoc_runtime_code_read(byoc_backend_t *backend, const char *folder, byoc_arena_t *arena,
                                     byoc_diag_t *diag) {
  const reader_t r = {.folder = folder, .arena = arena, .diag = diag};
  const uint32_t count = backend->runtime_code_count;
  BYOC_RETURN_IF_ERROR(check_list(backend->runtime_code, count, MAX_CODES, "runtime codes", diag));
  byoc_runtime_code_t *codes = BYOC_ARENA_ARRAY(arena, byoc_runtime_code_t, count);
  if (codes == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < count; ++i) {
    char what[48];
    snprintf(what, sizeof(what), "runtime code %u", (unsigned)i);
    BYOC_RETURN_IF_ERROR(byoc_abi_read_at(backend->runtime_code, backend->runtime_code_stride, i,
                                          byoc_abi_of(byoc_runtime_code_t), what, &codes[i], diag));
    BYOC_RETURN_IF_ERROR(
        byoc_abi_copy_string(codes[i].name, "its name", MAX_NAME_BYTES, false, arena, diag, &codes[i].name));
    BYOC_RETURN_IF_ERROR_IN(diag, read_code(&r, &codes[i]), "runtime code '%s'", codes[i].name);
    for (uint32_t k = 0; k < i; ++k) {
      if (strcmp(codes[i].name, codes[k].name) != 0) continue;
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "it announces the runtime code '%s' twice", codes[i].name);
    }
  }
  backend->runtime_code = codes;
  backend->runtime_code_stride = sizeof(*codes);
  return BYOC_OK;
}
