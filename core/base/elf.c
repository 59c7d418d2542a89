// SPDX-License-Identifier: Apache-2.0
// The ELF reader. Every offset and size in the file goes through `byoc_elf_range_ok` before it is followed. Structures
// are copied out, because the members of an archive are not aligned.
#include "core/base/elf.h"

#include <elf.h>
#include <string.h>

#include "core/base/elf_internal.h"

// Integers are read as they are: byoc runs on little-endian hosts only, and refuses files of the other byte order.
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the ELF reader assumes a little-endian host"
#endif

uint16_t byoc_elf_host_machine(void) {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__riscv)
  return EM_RISCV;
#else
#error "name this machine's ELF number"
#endif
}

bool byoc_is_elf(const void *data, size_t size_bytes) {
  return size_bytes >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
}

static size_t segment_bytes(const byoc_elf_t *elf) {
  return elf->is_32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

static Elf64_Phdr segment_at(const byoc_elf_t *elf, uint32_t index) {
  const uint8_t *at = elf->data + elf->segment_offset + (uint64_t)index * segment_bytes(elf);
  Elf64_Phdr segment;
  if (!elf->is_32) {
    memcpy(&segment, at, sizeof(segment));
    return segment;
  }
  Elf32_Phdr narrow;
  memcpy(&narrow, at, sizeof(narrow));
  return (Elf64_Phdr){.p_type = narrow.p_type,
                      .p_flags = narrow.p_flags,
                      .p_offset = narrow.p_offset,
                      .p_vaddr = narrow.p_vaddr,
                      .p_paddr = narrow.p_paddr,
                      .p_filesz = narrow.p_filesz,
                      .p_memsz = narrow.p_memsz,
                      .p_align = narrow.p_align};
}

// False if the file ends within its header.
static bool read_header(const byoc_elf_t *elf, Elf64_Ehdr *out) {
  Elf32_Ehdr narrow;
  if (elf->size_bytes < (elf->is_32 ? sizeof(narrow) : sizeof(*out))) return false;
  if (!elf->is_32) {
    memcpy(out, elf->data, sizeof(*out));
    return true;
  }
  memcpy(&narrow, elf->data, sizeof(narrow));
  *out = (Elf64_Ehdr){.e_type = narrow.e_type,
                      .e_machine = narrow.e_machine,
                      .e_phoff = narrow.e_phoff,
                      .e_shoff = narrow.e_shoff,
                      .e_phentsize = narrow.e_phentsize,
                      .e_phnum = narrow.e_phnum,
                      .e_shentsize = narrow.e_shentsize,
                      .e_shnum = narrow.e_shnum,
                      .e_shstrndx = narrow.e_shstrndx};
  return true;
}

byoc_status_t byoc_elf_open(const void *data, size_t size_bytes, const char *name, byoc_diag_t *diag,
                            byoc_elf_t *out_elf) {
  *out_elf = (byoc_elf_t){0};
  byoc_elf_t elf = {.name = name, .data = data, .size_bytes = size_bytes};
  if (!byoc_is_elf(data, size_bytes)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not an ELF file", name);
  }
  if (size_bytes < EI_NIDENT) return byoc_elf_damaged(&elf, diag, "it ends within its header");
  const uint8_t *ident = data;
  elf.is_32 = ident[EI_CLASS] == ELFCLASS32;
  if ((!elf.is_32 && ident[EI_CLASS] != ELFCLASS64) || ident[EI_DATA] != ELFDATA2LSB) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not a little-endian ELF file", name);
  }
  Elf64_Ehdr header;
  if (!read_header(&elf, &header)) return byoc_elf_damaged(&elf, diag, "it ends within its header");
  if (ident[EI_VERSION] != EV_CURRENT) return byoc_elf_damaged(&elf, diag, "its version is unknown");
  elf.type = header.e_type;
  elf.machine = header.e_machine;
  elf.section_offset = header.e_shoff;
  elf.segment_offset = header.e_phoff;
  elf.section_count = header.e_shnum;
  elf.segment_count = header.e_phnum;
  elf.section_name_index = header.e_shstrndx;

  if (elf.section_offset == 0) {
    if (elf.section_count != 0) return byoc_elf_damaged(&elf, diag, "it counts sections but has no section table");
  } else {
    if (header.e_shentsize != byoc_elf_section_bytes(&elf))
      return byoc_elf_damaged(&elf, diag, "its section headers have a wrong size");
    if (!byoc_elf_range_ok(&elf, elf.section_offset, byoc_elf_section_bytes(&elf))) {
      return byoc_elf_damaged(&elf, diag, "its section table lies outside the file");
    }
    // Numbers too large for the header are in the first section header.
    Elf64_Shdr first = byoc_elf_section(&elf, 0);
    if (header.e_shnum == 0 && first.sh_size > UINT32_MAX)
      return byoc_elf_damaged(&elf, diag, "it counts too many sections");
    if (header.e_shnum == 0) elf.section_count = (uint32_t)first.sh_size;
    if (header.e_shstrndx == SHN_XINDEX) elf.section_name_index = first.sh_link;
    if (header.e_phnum == PN_XNUM) elf.segment_count = first.sh_info;
    if (!byoc_elf_range_ok(&elf, elf.section_offset, (uint64_t)elf.section_count * byoc_elf_section_bytes(&elf))) {
      return byoc_elf_damaged(&elf, diag, "its section table lies outside the file");
    }
  }
  if (elf.segment_count != 0) {
    if (header.e_phentsize != segment_bytes(&elf))
      return byoc_elf_damaged(&elf, diag, "its program headers have a wrong size");
    if (!byoc_elf_range_ok(&elf, elf.segment_offset, (uint64_t)elf.segment_count * segment_bytes(&elf))) {
      return byoc_elf_damaged(&elf, diag, "its program headers lie outside the file");
    }
  }
  *out_elf = elf;
  return BYOC_OK;
}

static byoc_status_t truncated(const byoc_elf_t *elf, byoc_diag_t *diag, const char *what) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is truncated: %s lies beyond its end", elf->name, what);
}

byoc_status_t byoc_elf_check_loadable(const byoc_elf_t *elf, byoc_diag_t *diag) {
  bool has_load = false, has_dynamic = false;
  for (uint32_t i = 0; i < elf->segment_count; i++) {
    Elf64_Phdr segment = segment_at(elf, i);
    if (segment.p_type == PT_NULL) continue;
    if (!byoc_elf_range_ok(elf, segment.p_offset, segment.p_filesz)) return truncated(elf, diag, "a segment");
    if (segment.p_type == PT_LOAD && segment.p_memsz < segment.p_filesz) {
      return byoc_elf_damaged(elf, diag, "a segment is larger than its memory");
    }
    has_load = has_load || segment.p_type == PT_LOAD;
    has_dynamic = has_dynamic || segment.p_type == PT_DYNAMIC;
  }
  for (uint32_t i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(elf, i);
    if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
    if (!byoc_elf_range_ok(elf, section.sh_offset, section.sh_size)) return truncated(elf, diag, "a section");
  }
  if (has_load && has_dynamic) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not a shared object that can be loaded", elf->name);
}

// Looks for the note in one area of notes; BYOC_NOT_FOUND if it is not there.
static byoc_status_t find_note_in(const byoc_elf_t *elf, uint64_t offset, uint64_t size, uint64_t alignment,
                                  const char *owner, uint32_t type, byoc_diag_t *diag, const uint8_t **out_data,
                                  size_t *out_size_bytes) {
  if (!byoc_elf_range_ok(elf, offset, size)) return byoc_elf_damaged(elf, diag, "its notes lie outside the file");
  const uint8_t *area = elf->data + offset;
  uint64_t mask = (alignment == 8 ? 8 : 4) - 1;
  size_t owner_size = strlen(owner) + 1;
  uint64_t at = 0;
  while (at < size) {
    Elf64_Nhdr note;
    if (size - at < sizeof(note)) return byoc_elf_damaged(elf, diag, "a note ends within its header");
    memcpy(&note, area + at, sizeof(note));
    uint64_t name_at = at + sizeof(note);
    uint64_t data_at = (name_at + note.n_namesz + mask) & ~mask;
    if (data_at > size || note.n_descsz > size - data_at)
      return byoc_elf_damaged(elf, diag, "a note runs past its section");
    if (note.n_type == type && note.n_namesz == owner_size && memcmp(area + name_at, owner, owner_size) == 0) {
      *out_data = area + data_at;
      *out_size_bytes = note.n_descsz;
      return BYOC_OK;
    }
    at = (data_at + note.n_descsz + mask) & ~mask;
  }
  return BYOC_NOT_FOUND;
}

byoc_status_t byoc_elf_find_note(const byoc_elf_t *elf, const char *owner, uint32_t type, byoc_diag_t *diag,
                                 const uint8_t **out_data, size_t *out_size_bytes) {
  *out_data = NULL;
  *out_size_bytes = 0;
  for (uint32_t i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(elf, i);
    if (section.sh_type != SHT_NOTE) continue;
    byoc_status_t status = find_note_in(elf, section.sh_offset, section.sh_size, section.sh_addralign, owner, type,
                                        diag, out_data, out_size_bytes);
    if (status != BYOC_NOT_FOUND) return status;
  }
  for (uint32_t i = 0; i < elf->segment_count; i++) {
    Elf64_Phdr segment = segment_at(elf, i);
    if (segment.p_type != PT_NOTE) continue;
    byoc_status_t status = find_note_in(elf, segment.p_offset, segment.p_filesz, segment.p_align, owner, type, diag,
                                        out_data, out_size_bytes);
    if (status != BYOC_NOT_FOUND) return status;
  }
  return BYOC_NOT_FOUND;
}

byoc_status_t byoc_elf_find_section(const byoc_elf_t *elf, const char *name, byoc_diag_t *diag,
                                    const uint8_t **out_data, size_t *out_size_bytes) {
  *out_data = NULL;
  *out_size_bytes = 0;
  if (elf->section_name_index >= elf->section_count) return BYOC_NOT_FOUND; // no section has a name
  Elf64_Shdr names = byoc_elf_section(elf, elf->section_name_index);
  if (names.sh_type != SHT_STRTAB || !byoc_elf_range_ok(elf, names.sh_offset, names.sh_size)) {
    return byoc_elf_damaged(elf, diag, "the names of its sections lie outside the file");
  }
  for (uint32_t i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(elf, i);
    if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
    const char *text = byoc_elf_text(elf, names.sh_offset, names.sh_size, section.sh_name);
    if (text == NULL) return byoc_elf_damaged(elf, diag, "a section's name lies outside its table");
    if (strcmp(text, name) != 0) continue;
    if (!byoc_elf_range_ok(elf, section.sh_offset, section.sh_size)) {
      return byoc_elf_damaged(elf, diag, "a section lies outside the file");
    }
    *out_data = elf->data + section.sh_offset;
    *out_size_bytes = section.sh_size;
    return BYOC_OK;
  }
  return BYOC_NOT_FOUND;
}

byoc_status_t byoc_elf_open_symbols(const byoc_elf_t *elf, const Elf64_Shdr *table, byoc_diag_t *diag,
                                    byoc_elf_symbols_t *out_symbols) {
  const size_t symbol_bytes = byoc_elf_symbol_bytes(elf);
  if (table->sh_entsize != symbol_bytes || table->sh_size % symbol_bytes != 0) {
    return byoc_elf_damaged(elf, diag, "its symbols have a wrong size");
  }
  if (!byoc_elf_range_ok(elf, table->sh_offset, table->sh_size)) {
    return byoc_elf_damaged(elf, diag, "its symbols lie outside the file");
  }
  if (table->sh_link >= elf->section_count) return byoc_elf_damaged(elf, diag, "its symbols have no names");
  Elf64_Shdr names = byoc_elf_section(elf, table->sh_link);
  if (names.sh_type != SHT_STRTAB || !byoc_elf_range_ok(elf, names.sh_offset, names.sh_size)) {
    return byoc_elf_damaged(elf, diag, "its symbol names lie outside the file");
  }
  *out_symbols = (byoc_elf_symbols_t){.offset = table->sh_offset,
                                      .count = table->sh_size / symbol_bytes,
                                      .names_section = table->sh_link,
                                      .names_offset = names.sh_offset,
                                      .names_size = names.sh_size};
  return BYOC_OK;
}

static byoc_status_t visit_symbol(const byoc_elf_t *elf, const byoc_elf_symbols_t *symbols, const Elf64_Sym *entry,
                                  byoc_elf_symbol_visitor_t visitor, void *self, byoc_diag_t *diag) {
  unsigned binding = ELF64_ST_BIND(entry->st_info);
  unsigned visibility = ELF64_ST_VISIBILITY(entry->st_other);
  byoc_elf_symbol_t symbol = {
      .name = byoc_elf_text(elf, symbols->names_offset, symbols->names_size, entry->st_name),
      .defined = entry->st_shndx != SHN_UNDEF,
      .global = binding != STB_LOCAL,
      .weak = binding == STB_WEAK,
      .unique = binding == STB_GNU_UNIQUE,
      .hidden = visibility == STV_HIDDEN || visibility == STV_INTERNAL,
  };
  if (symbol.name == NULL) return byoc_elf_damaged(elf, diag, "a symbol's name lies outside its table");
  return visitor(self, &symbol);
}

static byoc_status_t visit_symbol_table(const byoc_elf_t *elf, const Elf64_Shdr *table,
                                        byoc_elf_symbol_visitor_t visitor, void *self, byoc_diag_t *diag) {
  byoc_elf_symbols_t symbols;
  BYOC_RETURN_IF_ERROR(byoc_elf_open_symbols(elf, table, diag, &symbols));
  for (uint64_t i = 1; i < symbols.count; i++) { // the first one is always empty
    Elf64_Sym entry = byoc_elf_symbol(elf, &symbols, i);
    unsigned kind = ELF64_ST_TYPE(entry.st_info);
    if (kind == STT_SECTION || kind == STT_FILE || entry.st_name == 0) continue;
    BYOC_RETURN_IF_ERROR(visit_symbol(elf, &symbols, &entry, visitor, self, diag));
  }
  return BYOC_OK;
}

bool byoc_elf_signature(const byoc_elf_t *elf, const Elf64_Shdr *section, uint32_t *out_symbol) {
  uint32_t flags = 0;
  *out_symbol = section->sh_info;
  if (section->sh_type != SHT_GROUP || section->sh_size < sizeof(flags)) return false;
  if (!byoc_elf_range_ok(elf, section->sh_offset, section->sh_size)) return false;
  memcpy(&flags, elf->data + section->sh_offset, sizeof(flags));
  return (flags & GRP_COMDAT) != 0;
}

byoc_status_t byoc_elf_visit_signatures(const byoc_elf_t *elf, byoc_elf_symbol_visitor_t visitor, void *self,
                                        byoc_diag_t *diag) {
  for (uint32_t i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(elf, i);
    uint32_t index = 0;
    if (!byoc_elf_signature(elf, &section, &index)) continue;
    byoc_elf_symbols_t symbols;
    if (section.sh_link >= elf->section_count) return byoc_elf_damaged(elf, diag, "a group has no symbols");
    Elf64_Shdr table = byoc_elf_section(elf, section.sh_link);
    BYOC_RETURN_IF_ERROR(byoc_elf_open_symbols(elf, &table, diag, &symbols));
    if (index >= symbols.count) return byoc_elf_damaged(elf, diag, "a group's signature lies outside its table");
    Elf64_Sym entry = byoc_elf_symbol(elf, &symbols, index);
    if (entry.st_name == 0) continue; // named by its section
    BYOC_RETURN_IF_ERROR(visit_symbol(elf, &symbols, &entry, visitor, self, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_elf_visit_symbols(const byoc_elf_t *elf, bool dynamic, byoc_elf_symbol_visitor_t visitor, void *self,
                                     byoc_diag_t *diag) {
  for (uint32_t i = 0; i < elf->section_count; i++) {
    Elf64_Shdr section = byoc_elf_section(elf, i);
    if (section.sh_type != (dynamic ? SHT_DYNSYM : SHT_SYMTAB)) continue;
    BYOC_RETURN_IF_ERROR(visit_symbol_table(elf, &section, visitor, self, diag));
  }
  return BYOC_OK;
}

// Finds the offset in the file of the `size` bytes at a loaded address.
static bool offset_of_address(const byoc_elf_t *elf, uint64_t address, uint64_t size, uint64_t *out_offset) {
  for (uint32_t i = 0; i < elf->segment_count; i++) {
    Elf64_Phdr segment = segment_at(elf, i);
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    uint64_t inside = address - segment.p_vaddr;
    if (inside > segment.p_filesz || size > segment.p_filesz - inside) continue;
    if (!byoc_elf_range_ok(elf, segment.p_offset, segment.p_filesz)) return false;
    *out_offset = segment.p_offset + inside;
    return true;
  }
  return false;
}

static Elf64_Dyn dynamic_at(const byoc_elf_t *elf, uint64_t offset, uint64_t index) {
  Elf64_Dyn entry;
  Elf32_Dyn narrow;
  if (!elf->is_32) {
    memcpy(&entry, elf->data + offset + index * sizeof(entry), sizeof(entry));
    return entry;
  }
  memcpy(&narrow, elf->data + offset + index * sizeof(narrow), sizeof(narrow));
  return (Elf64_Dyn){.d_tag = narrow.d_tag, .d_un.d_val = narrow.d_un.d_val};
}

// Reads the dynamic segment, as the dynamic loader does; the section headers could say something else.
byoc_status_t byoc_elf_visit_needed(const byoc_elf_t *elf, byoc_elf_needed_visitor_t visitor, void *self,
                                    byoc_diag_t *diag) {
  uint64_t offset = 0, count = 0;
  for (uint32_t i = 0; i < elf->segment_count; i++) {
    Elf64_Phdr segment = segment_at(elf, i);
    if (segment.p_type != PT_DYNAMIC) continue;
    if (!byoc_elf_range_ok(elf, segment.p_offset, segment.p_filesz)) {
      return byoc_elf_damaged(elf, diag, "its dynamic segment lies outside the file");
    }
    offset = segment.p_offset;
    count = segment.p_filesz / (elf->is_32 ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn));
    break;
  }
  uint64_t names_address = 0, names_size = 0;
  for (uint64_t i = 0; i < count; i++) {
    const Elf64_Dyn entry = dynamic_at(elf, offset, i);
    if (entry.d_tag == DT_NULL) count = i;
    if (entry.d_tag == DT_STRTAB) names_address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) names_size = entry.d_un.d_val;
  }
  uint64_t names_offset = 0;
  bool has_names = names_size > 0 && offset_of_address(elf, names_address, names_size, &names_offset);
  for (uint64_t i = 0; i < count; i++) {
    const Elf64_Dyn entry = dynamic_at(elf, offset, i);
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) continue;
    const char *name = has_names ? byoc_elf_text(elf, names_offset, names_size, entry.d_un.d_val) : NULL;
    if (name == NULL) return byoc_elf_damaged(elf, diag, "the name of a needed library lies outside its table");
    BYOC_RETURN_IF_ERROR(visitor(self, name, entry.d_tag == DT_SONAME));
  }
  return BYOC_OK;
}
