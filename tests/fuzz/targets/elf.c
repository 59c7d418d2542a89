// SPDX-License-Identifier: Apache-2.0
// Object files, shared objects, archives (core/base/elf.h), the identity notes of plugins (core/plugin/identity.h) and
// the metadata in an artifact's file (core/loader/artifact_file.h).
#include <stdlib.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/loader/artifact_file.h"
#include "core/plugin/identity.h"
#include "tests/fuzz/fuzz.h"

// ---- what is visited is read to its end ----

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  size_t *sum = self;
  *sum += strlen(symbol->name);
  return BYOC_OK;
}

static byoc_status_t visit_needed(void *self, const char *name, bool soname) {
  size_t *sum = self;
  *sum += strlen(name) + soname;
  return BYOC_OK;
}

static byoc_status_t visit_member(void *self, const char *member, const uint8_t *data, size_t size) {
  size_t *sum = self;
  *sum += strlen(member);
  for (size_t i = 0; i < size; ++i) *sum += data[i];
  return BYOC_OK;
}

static const char *rename_symbol(void *self, const char *name, bool defined) {
  (void)self;
  return defined && strlen(name) % 2 == 0 ? "byoc_another_name_that_is_longer" : NULL;
}

// ---- readers ----

static void check(byoc_status_t status, byoc_diag_t *diag) {
  if (status != BYOC_NOT_FOUND) fuzz_check(status, diag);
  byoc_diag_clear(diag);
}

static void read_elf(const uint8_t *data, size_t size, size_t *sum) {
  byoc_diag_t diag = {0};
  byoc_elf_t elf;
  byoc_status_t status = byoc_elf_open(data, size, "fuzz.o", &diag, &elf);
  check(status, &diag);
  if (status != BYOC_OK) return;
  const uint8_t *note = NULL;
  size_t note_size = 0;
  byoc_string_t renamed;
  byoc_string_init(&renamed, fuzz_allocator());
  check(byoc_elf_check_loadable(&elf, &diag), &diag);
  check(byoc_elf_visit_symbols(&elf, true, visit_symbol, sum, &diag), &diag);
  check(byoc_elf_visit_symbols(&elf, false, visit_symbol, sum, &diag), &diag);
  check(byoc_elf_visit_signatures(&elf, visit_symbol, sum, &diag), &diag);
  check(byoc_elf_visit_needed(&elf, visit_needed, sum, &diag), &diag);
  status = byoc_elf_find_note(&elf, "byoc", 1, &diag, &note, &note_size);
  if (status == BYOC_OK) (void)visit_member(sum, "", note, note_size);
  check(status, &diag);
  status = byoc_elf_find_section(&elf, ".text", &diag, &note, &note_size);
  if (status == BYOC_OK) (void)visit_member(sum, "", note, note_size);
  check(status, &diag);
  check(byoc_elf_rename(&elf, rename_symbol, NULL, &renamed, &diag), &diag);
  byoc_string_deinit(&renamed);
}

static void read_artifact(const uint8_t *data, size_t size, size_t *sum) {
  byoc_diag_t diag = {0};
  byoc_elf_t elf;
  const char *metadata = NULL;
  check(byoc_artifact_metadata_find(data, size, "fuzz.so", &diag, &elf, &metadata), &diag);
  if (metadata != NULL) *sum += strlen(metadata);
}

static void read_archive(const uint8_t *data, size_t size, size_t *sum) {
  byoc_diag_t diag = {0};
  byoc_string_t renamed;
  byoc_string_init(&renamed, fuzz_allocator());
  check(byoc_ar_visit(data, size, "fuzz.a", visit_member, sum, &diag), &diag);
  check(byoc_ar_rename(data, size, "fuzz.a", rename_symbol, NULL, &renamed, &diag), &diag);
  byoc_string_deinit(&renamed);
}

static void read_identity(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  bool has_note = false;
  check(byoc_plugin_identity_read(fuzz_file(data, size), &diag, &note, &has_note), &diag);
  if (!has_note) return;
  char shared[128];
  size_t length = 0;
  for (const char *at = byoc_plugin_list_start(note.targets), *name; (name = byoc_plugin_list_next(&at, &length));) {
    snprintf(shared, sizeof(shared), "%.*s", (int)length, name);
    if (length < sizeof(shared) && !byoc_plugin_note_has_target(&note, shared)) fuzz_fail("no target '%s'", shared);
  }
  (void)byoc_plugin_note_shared_target(&note, &note, shared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t sum = 0;
  if (byoc_is_ar(data, size)) read_archive(data, size, &sum);
  read_elf(data, size, &sum);
  read_artifact(data, size, &sum);
  read_identity(data, size);
  return 0;
}
