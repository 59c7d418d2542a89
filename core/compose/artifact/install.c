// SPDX-License-Identifier: Apache-2.0
// Checks a linked file and moves it to its name.
#include "core/compose/artifact/install.h"

#include <string.h>

#include "byoc/artifact.h"
#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/compose/artifact/compose.h"

typedef struct linked_t {
  const char *const *needed;
  size_t needed_count;
  byoc_diag_t *diag;
  bool has_entry;
} linked_t;

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  linked_t *linked = self;
  if (!symbol->defined || !symbol->global || symbol->hidden || symbol->name[0] == '\0') return BYOC_OK;
  if (strcmp(symbol->name, BYOC_ARTIFACT_ENTRY) == 0) {
    linked->has_entry = true;
    return BYOC_OK;
  }
  return byoc_diag_error(linked->diag, BYOC_INTERNAL, "the artifact exports '%s', which must stay inside",
                         symbol->name);
}

static byoc_status_t visit_needed(void *self, const char *name, bool soname) {
  linked_t *linked = self;
  static const char *const of_libc[] = {"libc.so", "libm.so.", "ld-linux", "libpthread.so.", "libdl.so.", "librt.so."};
  if (soname) return BYOC_OK;
  for (size_t i = 0; i < sizeof(of_libc) / sizeof(of_libc[0]); i++) {
    if (byoc_starts_with(name, of_libc[i])) return BYOC_OK;
  }
  for (size_t i = 0; i < linked->needed_count; i++) {
    if (strcmp(name, linked->needed[i]) == 0) return BYOC_OK;
  }
  return byoc_diag_error(linked->diag, BYOC_INTERNAL, "the artifact would need '%s', which no module declared", name);
}

byoc_status_t byoc_compose_verify_linked(const char *path, const char *const *needed, size_t needed_count,
                                         byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  linked_t linked = {.needed = needed, .needed_count = needed_count, .diag = diag};
  byoc_elf_t elf;
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, "the linked artifact", diag, &elf);
  if (status == BYOC_OK) status = byoc_elf_visit_symbols(&elf, true, visit_symbol, &linked, diag);
  if (status == BYOC_OK) status = byoc_elf_visit_needed(&elf, visit_needed, &linked, diag);
  if (status == BYOC_OK && !linked.has_entry) {
    status = byoc_diag_error(diag, BYOC_INTERNAL, "the linked artifact lacks its entry");
  }
  byoc_file_view_close(&view);
  return status;
}

byoc_status_t byoc_compose_install(const char *linked, const char *output, const byoc_string_t *header,
                                   byoc_file_set_t *files, byoc_allocator_t allocator, byoc_diag_t *diag) {
  const bool is_loaded = byoc_compose_form(output) == BYOC_COMPOSE_SHARED;
  byoc_status_t status = BYOC_OK;
  if (header != NULL && !byoc_file_is_special(output)) {
    char *path = byoc_compose_header_path(output, allocator);
    if (path == NULL) return byoc_diag_out_of_memory(diag);
    const byoc_bytes_t text = {.data = header->data, .size_bytes = header->size};
    status = byoc_file_set_add(files, path, &text, 1, 0644, diag);
    byoc_free(allocator, path);
  }
  if (status == BYOC_OK) status = byoc_file_set_add_file(files, linked, output, is_loaded ? 0755 : 0644, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(files, diag);
  return status;
}
