// SPDX-License-Identifier: Apache-2.0
// Reads an artifact's file without loading it, and refuses a file that byoc did not write or that has changed since.
#include "core/loader/artifact_file.h"

#include <elf.h>
#include <string.h>

#include "byoc/artifact.h"
#include "byoc/verify.h"

static bool is_source(const char *path) {
  return byoc_ends_with(path, ".c") && byoc_is_directory(path);
}

bool byoc_artifact_is_meant(const char *path) {
  byoc_file_view_t view;
  if (byoc_ends_with(path, ".so") || is_source(path)) return true;
  if (byoc_file_view_open(path, NULL, &view) != BYOC_OK) return false;
  const bool is_meant = byoc_is_elf(view.data, view.size_bytes) || byoc_is_ar(view.data, view.size_bytes);
  byoc_file_view_close(&view);
  return is_meant;
}

static byoc_status_t find_entry(void *self, const byoc_elf_symbol_t *symbol) {
  bool *found = self;
  if (symbol->defined && symbol->global && strcmp(symbol->name, BYOC_ARTIFACT_ENTRY) == 0) *found = true;
  return BYOC_OK;
}

// byoc build -o model.a, model.o and model.c make files for linkers, not for the loader.
static byoc_status_t refuse_static(const char *name, const char *what, byoc_diag_t *diag) {
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is %s, which cannot be loaded", name, what);
  byoc_diag_hint(diag, "link it into a program, by its header; byoc build -o model.so makes an artifact to load");
  return status;
}

// An artifact is a shared object that exports the entry.
static byoc_status_t check_kind(const byoc_elf_t *elf, byoc_diag_t *diag) {
  if (elf->type == ET_REL) return refuse_static(elf->name, "an object", diag);
  if (elf->type != ET_DYN) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is an ELF file, but not a shared object", elf->name);
  }
  BYOC_RETURN_IF_ERROR(byoc_elf_check_loadable(elf, diag));
  bool has_entry = false;
  BYOC_RETURN_IF_ERROR(byoc_elf_visit_symbols(elf, true, find_entry, &has_entry, diag));
  if (has_entry) return BYOC_OK;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is a shared object, but not an artifact: it lacks %s", elf->name,
                      BYOC_ARTIFACT_ENTRY);
  byoc_diag_hint(diag, "make an artifact from a model with byoc build");
  return status;
}

static byoc_status_t open_elf(const void *data, size_t size_bytes, const char *name, byoc_diag_t *diag,
                              byoc_elf_t *out_elf) {
  byoc_status_t status = byoc_elf_open(data, size_bytes, name, diag, out_elf);
  if (status == BYOC_OK) status = check_kind(out_elf, diag);
  if (status == BYOC_INVALID_DATA && diag != NULL && diag->hint[0] == '\0') {
    byoc_diag_hint(diag, "the file is damaged or was not copied whole: copy or build it again");
  }
  return status;
}

byoc_status_t byoc_artifact_metadata_find(const void *data, size_t size_bytes, const char *name, byoc_diag_t *diag,
                                          byoc_elf_t *out_elf, const char **out_metadata) {
  *out_metadata = NULL;
  BYOC_RETURN_IF_ERROR(open_elf(data, size_bytes, name, diag, out_elf));
  const uint8_t *text = NULL;
  size_t text_bytes = 0;
  byoc_status_t status = byoc_elf_find_section(out_elf, BYOC_ARTIFACT_METADATA_SECTION, diag, &text, &text_bytes);
  if (status == BYOC_OK && memchr(text, 0, text_bytes) != NULL) {
    *out_metadata = (const char *)text;
    return BYOC_OK;
  }
  if (status != BYOC_OK && status != BYOC_NOT_FOUND) return status;
  status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is an artifact without metadata in %s", name,
                           BYOC_ARTIFACT_METADATA_SECTION);
  byoc_diag_hint(diag, "build it again");
  return status;
}

// A file without a seal may be no artifact at all: then the message says so.
static byoc_status_t check_seal(const char *path, const byoc_file_view_t *view, byoc_diag_t *diag) {
  char message[sizeof(diag->message)];
  byoc_status_t status = byoc_verify_bytes(view->data, view->size_bytes, path, message, sizeof(message));
  if (status == BYOC_OK) return BYOC_OK;
  if (status == BYOC_NOT_FOUND) {
    byoc_elf_t elf;
    BYOC_RETURN_IF_ERROR(open_elf(view->data, view->size_bytes, path, diag, &elf));
    status = BYOC_INVALID_DATA;
  }
  return byoc_diag_error(diag, status, "%s", message);
}

static byoc_status_t read_view(const char *path, byoc_diag_t *diag, byoc_artifact_file_t *file) {
  const byoc_file_view_t *view = &file->view;
  if (byoc_is_ar(view->data, view->size_bytes)) return refuse_static(path, "a static library", diag);
  if (!byoc_is_elf(view->data, view->size_bytes)) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not an artifact (not an ELF file)", path);
    byoc_diag_hint(diag, "make an artifact from a model with byoc build");
    return status;
  }
  BYOC_RETURN_IF_ERROR(check_seal(path, view, diag));
  BYOC_RETURN_IF_ERROR(
      byoc_artifact_metadata_find(view->data, view->size_bytes, path, diag, &file->elf, &file->metadata));
  const uint8_t *text = NULL;
  size_t text_bytes = 0;
  BYOC_RETURN_IF_ERROR(byoc_elf_find_section(&file->elf, BYOC_ARTIFACT_METADATA_SECTION, diag, &text, &text_bytes));
  while (text_bytes > 0 && text[text_bytes - 1] != 0) text_bytes--; // whole strings only
  file->metadata_end = (const char *)text + text_bytes;
  return BYOC_OK;
}

byoc_status_t byoc_artifact_file_open(const char *path, byoc_diag_t *diag, byoc_artifact_file_t *out_file) {
  *out_file = (byoc_artifact_file_t){0};
  byoc_artifact_file_t file = {0};
  if (is_source(path)) return refuse_static(path, "a folder of C source", diag);
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &file.view));
  byoc_status_t status = read_view(path, diag, &file);
  if (status != BYOC_OK) {
    byoc_artifact_file_close(&file);
    return status;
  }
  *out_file = file;
  return BYOC_OK;
}

void byoc_artifact_file_close(byoc_artifact_file_t *file) {
  byoc_file_view_close(&file->view);
  *file = (byoc_artifact_file_t){0};
}
