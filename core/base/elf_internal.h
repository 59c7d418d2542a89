// SPDX-License-Identifier: Apache-2.0
// Shared by the reader of ELF files and the writer of changed ones. For core/base/elf*.c only. 32-bit structures are
// read into 64-bit ones.
#ifndef BYOC_CORE_BASE_ELF_INTERNAL_H_
#define BYOC_CORE_BASE_ELF_INTERNAL_H_

#include <elf.h>
#include <string.h>

#include "core/base/elf.h"

static inline byoc_status_t byoc_elf_damaged(const byoc_elf_t *elf, byoc_diag_t *diag, const char *what) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is a damaged ELF file: %s", elf->name, what);
}

static inline bool byoc_elf_range_ok(const byoc_elf_t *elf, uint64_t offset, uint64_t size) {
  return offset <= elf->size_bytes && size <= elf->size_bytes - offset;
}

static inline size_t byoc_elf_section_bytes(const byoc_elf_t *elf) {
  return elf->is_32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}
static inline size_t byoc_elf_symbol_bytes(const byoc_elf_t *elf) {
  return elf->is_32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

// The i-th section header; byoc_elf_open checked that the whole table lies in the file.
static inline Elf64_Shdr byoc_elf_section(const byoc_elf_t *elf, uint32_t index) {
  const uint8_t *at = elf->data + elf->section_offset + (uint64_t)index * byoc_elf_section_bytes(elf);
  Elf64_Shdr section;
  if (!elf->is_32) {
    memcpy(&section, at, sizeof(section));
    return section;
  }
  Elf32_Shdr narrow;
  memcpy(&narrow, at, sizeof(narrow));
  return (Elf64_Shdr){.sh_name = narrow.sh_name,
                      .sh_type = narrow.sh_type,
                      .sh_flags = narrow.sh_flags,
                      .sh_addr = narrow.sh_addr,
                      .sh_offset = narrow.sh_offset,
                      .sh_size = narrow.sh_size,
                      .sh_link = narrow.sh_link,
                      .sh_info = narrow.sh_info,
                      .sh_addralign = narrow.sh_addralign,
                      .sh_entsize = narrow.sh_entsize};
}

// The string at `offset` of a string table; NULL if the offset lies outside or the string has no end.
static inline const char *byoc_elf_text(const byoc_elf_t *elf, uint64_t table_offset, uint64_t table_size,
                                        uint64_t offset) {
  if (offset >= table_size) return NULL;
  const uint8_t *text = elf->data + table_offset + offset;
  return memchr(text, 0, table_size - offset) == NULL ? NULL : (const char *)text;
}

// A table of symbols and the table of their names; both are checked to lie in the file.
typedef struct byoc_elf_symbols_t {
  uint64_t offset, count;
  uint32_t names_section;
  uint64_t names_offset, names_size;
} byoc_elf_symbols_t;
byoc_status_t byoc_elf_open_symbols(const byoc_elf_t *elf, const Elf64_Shdr *table, byoc_diag_t *diag,
                                    byoc_elf_symbols_t *out_symbols);
static inline Elf64_Sym byoc_elf_symbol(const byoc_elf_t *elf, const byoc_elf_symbols_t *symbols, uint64_t index) {
  const uint8_t *at = elf->data + symbols->offset + index * byoc_elf_symbol_bytes(elf);
  Elf64_Sym entry;
  if (!elf->is_32) {
    memcpy(&entry, at, sizeof(entry));
    return entry;
  }
  Elf32_Sym narrow;
  memcpy(&narrow, at, sizeof(narrow));
  return (Elf64_Sym){.st_name = narrow.st_name,
                     .st_info = narrow.st_info,
                     .st_other = narrow.st_other,
                     .st_shndx = narrow.st_shndx,
                     .st_value = narrow.st_value,
                     .st_size = narrow.st_size};
}
// True if the section is a COMDAT group, of which the linker keeps one per signature; *out_symbol is the signature's
// index.
bool byoc_elf_signature(const byoc_elf_t *elf, const Elf64_Shdr *section, uint32_t *out_symbol);

#endif // BYOC_CORE_BASE_ELF_INTERNAL_H_
