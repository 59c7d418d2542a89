// SPDX-License-Identifier: Apache-2.0
// Copies of objects and archives in which symbols have other names. Relocations and groups name symbols by index, so
// only the symbol table and the table of names change.
#include <ar.h>
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/base/elf_internal.h"
#include "core/base/vector.h"

// ---- objects ----

// One symbol table that is being changed. The new table of names begins with the old one, so that names that stay keep
// their offsets for anything else that uses the table.
typedef struct rename_t {
  const byoc_elf_t *elf;
  byoc_elf_symbols_t symbols;
  byoc_elf_renamer_t renamer;
  void *self;
  byoc_string_t names;
  byoc_string_t *out;
  size_t base; // of the object in `out`
  byoc_diag_t *diag;
} rename_t;

static byoc_status_t rename_symbol(rename_t *r, uint64_t index, bool is_signature) {
  Elf64_Sym entry = byoc_elf_symbol(r->elf, &r->symbols, index);
  unsigned kind = ELF64_ST_TYPE(entry.st_info);
  bool is_local = ELF64_ST_BIND(entry.st_info) == STB_LOCAL;
  if (kind == STT_SECTION || kind == STT_FILE || entry.st_name == 0 || is_local != is_signature) return BYOC_OK;
  const char *name = byoc_elf_text(r->elf, r->symbols.names_offset, r->symbols.names_size, entry.st_name);
  if (name == NULL) return byoc_elf_damaged(r->elf, r->diag, "a symbol's name lies outside its table");
  const char *renamed = r->renamer(r->self, name, is_signature || entry.st_shndx != SHN_UNDEF);
  if (renamed == NULL || strcmp(renamed, name) == 0) return BYOC_OK;
  if (r->names.size == 0) {
    byoc_string_append_bytes(&r->names, r->elf->data + r->symbols.names_offset, r->symbols.names_size);
  }
  if (r->names.size > UINT32_MAX) return byoc_elf_damaged(r->elf, r->diag, "its symbol names are too many");
  entry.st_name = (Elf64_Word)r->names.size;
  byoc_string_append_bytes(&r->names, renamed, strlen(renamed) + 1);
  // The name comes first in symbols of both widths.
  memcpy(r->out->data + r->base + r->symbols.offset + index * byoc_elf_symbol_bytes(r->elf), &entry.st_name,
         sizeof(entry.st_name));
  return BYOC_OK;
}

// Renames global symbols, then signatures that are local to their object: otherwise a group with the same signature
// elsewhere would replace this one.
static byoc_status_t rename_table(rename_t *r, uint32_t table_index) {
  for (uint64_t i = 1; i < r->symbols.count; i++) BYOC_RETURN_IF_ERROR(rename_symbol(r, i, false));
  for (uint32_t i = 0; i < r->elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(r->elf, i);
    uint32_t index = 0;
    if (!byoc_elf_signature(r->elf, &section, &index) || section.sh_link != table_index) continue;
    if (index >= r->symbols.count)
      return byoc_elf_damaged(r->elf, r->diag, "a group's signature lies outside its table");
    BYOC_RETURN_IF_ERROR(rename_symbol(r, index, true));
  }
  if (r->names.failed) return byoc_diag_out_of_memory(r->diag); // no name at all may be there then
  if (r->names.size == 0) return BYOC_OK;
  const size_t offset = r->out->size - r->base;
  byoc_string_append_bytes(r->out, r->names.data, r->names.size);
  if (r->out->failed) return byoc_diag_out_of_memory(r->diag);
  const size_t section_bytes = byoc_elf_section_bytes(r->elf);
  char *at = r->out->data + r->base + r->elf->section_offset + (size_t)r->symbols.names_section * section_bytes;
  if (!r->elf->is_32) {
    const Elf64_Off place = offset;
    const Elf64_Xword size = r->names.size;
    memcpy(at + offsetof(Elf64_Shdr, sh_offset), &place, sizeof(place));
    memcpy(at + offsetof(Elf64_Shdr, sh_size), &size, sizeof(size));
    return BYOC_OK;
  }
  if (r->out->size - r->base > UINT32_MAX) return byoc_elf_damaged(r->elf, r->diag, "it is too large for 32 bits");
  const Elf32_Off place = (Elf32_Off)offset;
  const Elf32_Word size = (Elf32_Word)r->names.size;
  memcpy(at + offsetof(Elf32_Shdr, sh_offset), &place, sizeof(place));
  memcpy(at + offsetof(Elf32_Shdr, sh_size), &size, sizeof(size));
  return BYOC_OK;
}

byoc_status_t byoc_elf_rename(const byoc_elf_t *elf, byoc_elf_renamer_t renamer, void *self, byoc_string_t *out,
                              byoc_diag_t *diag) {
  rename_t r = {.elf = elf, .renamer = renamer, .self = self, .out = out, .base = out->size, .diag = diag};
  byoc_string_append_bytes(out, elf->data, elf->size_bytes);
  if (out->failed) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(elf, i);
    if (section.sh_type != SHT_SYMTAB) continue;
    BYOC_RETURN_IF_ERROR(byoc_elf_open_symbols(elf, &section, diag, &r.symbols));
    byoc_string_init(&r.names, out->allocator);
    byoc_status_t status = rename_table(&r, i);
    byoc_string_deinit(&r.names);
    return status; // an object has one table of symbols
  }
  return BYOC_OK;
}

// ---- archives ----

typedef struct index_entry_t {
  size_t name; // offset in `names`
  size_t member;
} index_entry_t;

typedef struct archive_t {
  byoc_elf_renamer_t renamer;
  void *self;
  byoc_string_t body;          // the members
  byoc_string_t names;         // of the index
  BYOC_VECTOR(size_t) members; // where each begins in `body`
  BYOC_VECTOR(index_entry_t) index;
  byoc_diag_t *diag;
} archive_t;

void byoc_ar_append_header(byoc_string_t *out, const char *name, size_t size_bytes) {
  struct ar_hdr header;
  char text[sizeof(header) + 1];
  snprintf(text, sizeof(text), "%-16s%-12s%-6s%-6s%-8s%-10zu%s", name, "0", "0", "0", "644", size_bytes, ARFMAG);
  byoc_string_append_bytes(out, text, sizeof(header));
}

static byoc_status_t index_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  archive_t *archive = self;
  if (!symbol->defined || !symbol->global) return BYOC_OK;
  index_entry_t entry = {.name = archive->names.size, .member = archive->members.count - 1};
  byoc_string_append_bytes(&archive->names, symbol->name, strlen(symbol->name) + 1);
  return byoc_vector_push(&archive->index, archive->body.allocator, entry) ? BYOC_OK
                                                                           : byoc_diag_out_of_memory(archive->diag);
}

static byoc_status_t rename_member(void *self, const char *member, const uint8_t *data, size_t size_bytes) {
  archive_t *archive = self;
  byoc_string_t renamed;
  byoc_string_init(&renamed, archive->body.allocator);
  byoc_status_t status = BYOC_OK;
  byoc_elf_t elf;
  bool is_object = byoc_is_elf(data, size_bytes);
  if (is_object) {
    status = byoc_elf_open(data, size_bytes, member, archive->diag, &elf);
    if (status == BYOC_OK) status = byoc_elf_rename(&elf, archive->renamer, archive->self, &renamed, archive->diag);
  } else {
    byoc_string_append_bytes(&renamed, data, size_bytes);
  }
  if (status == BYOC_OK && renamed.size > BYOC_AR_MOST_BYTES) {
    status = byoc_diag_error(archive->diag, BYOC_UNSUPPORTED, "'%s' is too large for a member of an archive", member);
  }
  if (status == BYOC_OK && !byoc_vector_push(&archive->members, archive->body.allocator, archive->body.size)) {
    status = byoc_diag_out_of_memory(archive->diag);
  }
  if (status == BYOC_OK) {
    // Members are named by position: only people read the names, and long ones would need a table.
    char name[32];
    snprintf(name, sizeof(name), "%zu.o/", archive->members.count - 1);
    byoc_ar_append_header(&archive->body, name, renamed.size);
    byoc_string_append_bytes(&archive->body, renamed.data, renamed.size);
    if (renamed.size % 2 != 0) byoc_string_append(&archive->body, "\n");
    if (is_object) status = byoc_elf_open(renamed.data, renamed.size, member, archive->diag, &elf);
    if (is_object && status == BYOC_OK) {
      status = byoc_elf_visit_symbols(&elf, false, index_symbol, archive, archive->diag);
    }
  }
  byoc_string_deinit(&renamed);
  return status;
}

static void append_big_endian(byoc_string_t *out, uint64_t value, size_t width) {
  while (width-- > 0) {
    uint8_t byte = (uint8_t)(value >> (8 * width));
    byoc_string_append_bytes(out, &byte, 1);
  }
}

// The index: the number of symbols, the offset of each symbol's member, and the names. Offsets have 32 bits if they
// fit.
static void append_index(const archive_t *archive, byoc_string_t *out) {
  size_t width = archive->body.size + archive->names.size < ((size_t)1 << 31) ? 4 : 8;
  size_t size = width * (archive->index.count + 1) + archive->names.size, padding = size % 2;
  byoc_ar_append_header(out, width == 4 ? "/" : "/SYM64/", size + padding);
  size_t body = out->size + size + padding;
  append_big_endian(out, archive->index.count, width);
  for (size_t i = 0; i < archive->index.count; i++) {
    append_big_endian(out, body + archive->members.data[archive->index.data[i].member], width);
  }
  byoc_string_append_bytes(out, archive->names.data, archive->names.size);
  if (padding != 0) byoc_string_append_bytes(out, "", 1);
}

byoc_status_t byoc_ar_rename(const void *data, size_t size_bytes, const char *name, byoc_elf_renamer_t renamer,
                             void *self, byoc_string_t *out, byoc_diag_t *diag) {
  archive_t archive = {.renamer = renamer, .self = self, .diag = diag};
  byoc_string_init(&archive.body, out->allocator);
  byoc_string_init(&archive.names, out->allocator);
  byoc_status_t status = byoc_ar_visit(data, size_bytes, name, rename_member, &archive, diag);
  if (status == BYOC_OK) {
    byoc_string_append_bytes(out, ARMAG, SARMAG);
    append_index(&archive, out);
    byoc_string_append_bytes(out, archive.body.data, archive.body.size);
    if (archive.body.failed || archive.names.failed || out->failed) status = byoc_diag_out_of_memory(diag);
  }
  byoc_vector_deinit(&archive.members, out->allocator);
  byoc_vector_deinit(&archive.index, out->allocator);
  byoc_string_deinit(&archive.names);
  byoc_string_deinit(&archive.body);
  return status;
}
