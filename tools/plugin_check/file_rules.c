// SPDX-License-Identifier: Apache-2.0
// Rules that read the plugin's file only: who may change it, its note, what it exports and needs.
#include <string.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/plugin/table.h"
#include "core/plugin/trust.h"
#include "tools/plugin_check/check.h"

void check_file_trusted(check_t *check) {
  byoc_diag_t diag = {0};
  char *real = NULL;
  bool is_file = false;
  byoc_status_t status = byoc_plugin_check_trust(check->plugin, byoc_allocator_system(), &diag, &real, &is_file);
  check_ok(check, status, &diag, "it is not trusted");
  byoc_free(byoc_allocator_system(), real);
}

void check_file_identity(check_t *check) {
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  bool has_note = false;
  // A status with a sound note is about exports, which have a rule of their own.
  (void)byoc_plugin_any_identity(check->plugin, &diag, &note, &has_note);
  if (!has_note) check_stop(check, &diag, "its note cannot be read");
  if (note.description[0] == '\0') check_fail(check, "its note has no description");
  check_property(check, "%s %s, targets %s, built for ABI %u.%u, needs %u.%u", note.name, note.version, note.targets,
                 (unsigned)note.abi_major, (unsigned)note.abi_minor_built, (unsigned)note.abi_major,
                 (unsigned)note.abi_minor_needed);
}

typedef struct file_t {
  byoc_file_view_t view;
  byoc_elf_t elf;
} file_t;

static void open_file(check_t *check, file_t *out) {
  byoc_diag_t diag = {0};
  check_ok(check, byoc_file_view_open(check->plugin, &diag, &out->view), &diag, "it cannot be read");
  check_ok(check, byoc_elf_open(out->view.data, out->view.size_bytes, check->plugin, &diag, &out->elf), &diag,
           "it cannot be read");
}

typedef struct exports_t {
  check_t *check;
  int count;
} exports_t;

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  exports_t *exports = self;
  if (symbol->defined && symbol->global && !symbol->hidden) {
    const bool is_query = strcmp(symbol->name, "byoc_plugin_query") == 0;
    exports->count += is_query;
    if (!is_query) check_fail(exports->check, "it exports '%s'", symbol->name);
  }
  if (!symbol->defined && byoc_starts_with(symbol->name, "byoc_")) {
    check_fail(exports->check, "it expects '%s' from the host, which offers tables only", symbol->name);
  }
  return BYOC_OK;
}

void check_file_exports(check_t *check) {
  check_needs_code(check);
  byoc_diag_t diag = {0};
  file_t file;
  exports_t exports = {.check = check};
  open_file(check, &file);
  check_ok(check, byoc_elf_visit_symbols(&file.elf, true, visit_symbol, &exports, &diag), &diag,
           "its symbols cannot be read");
  if (exports.count != 1) check_fail(check, "it does not export byoc_plugin_query");
  byoc_file_view_close(&file.view);
}

// The C library's own, and the run-time libraries of sanitizers and compilers.
static bool is_usual_library(const char *name) {
  static const char *const usual[] = {"libc.so.",  "libm.so.",   "libdl.so.",    "libpthread.so.", "librt.so.",
                                      "ld-linux-", "libasan.so", "libubsan.so.", "libtsan.so.",    "libgcc_s.so."};
  for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); ++i) {
    if (byoc_starts_with(name, usual[i])) return true;
  }
  return false;
}

static byoc_status_t visit_needed(void *self, const char *name, bool is_soname) {
  check_t *check = self;
  if (is_soname || is_usual_library(name)) return BYOC_OK;
  for (size_t i = 0; i < check->needs.count; ++i) {
    if (strcmp(name, check->needs.items[i]) == 0) return BYOC_OK;
  }
  check_fail(check, "it needs %s, which --needs does not name", name);
  return BYOC_OK;
}

void check_file_needs(check_t *check) {
  check_needs_code(check);
  byoc_diag_t diag = {0};
  file_t file;
  open_file(check, &file);
  check_ok(check, byoc_elf_visit_needed(&file.elf, visit_needed, check, &diag), &diag, "its libraries cannot be read");
  byoc_file_view_close(&file.view);
}
