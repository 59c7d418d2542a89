// SPDX-License-Identifier: Apache-2.0
// Writes one relocatable ELF object with the read-only data, straight from where the data lies: an assembler, and a
// file for it to read, would copy hundreds of megabytes twice more. Format: System V ABI, ELF-64 object file format.
#include "core/compose/data_object.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "byoc/artifact.h"

enum { SECTION_NONE, SECTION_DATA, SECTION_METADATA, SECTION_SYMBOLS, SECTION_NAMES, SECTION_STACK, SECTION_COUNT };
enum { SYMBOL_NONE, SYMBOL_DATA, SYMBOL_METADATA, SYMBOL_COUNT };
enum { PAGE_BYTES = 4096 };

// Names of sections and symbols, in one table.
typedef struct names_t {
  char none[1];
  char data_section[sizeof(BYOC_DATA_SECTION)];
  char metadata_section[sizeof(BYOC_ARTIFACT_METADATA_SECTION)];
  char symbols_section[sizeof(".symtab")];
  char names_section[sizeof(".strtab")];
  char stack_section[sizeof(".note.GNU-stack")];
  char data[sizeof("byoc_data")];
  char metadata[sizeof("byoc_metadata")];
} names_t;
static const names_t names = {"",          BYOC_DATA_SECTION, BYOC_ARTIFACT_METADATA_SECTION,
                              ".symtab",   ".strtab",         ".note.GNU-stack",
                              "byoc_data", "byoc_metadata"};
#define NAME(member) ((uint32_t)offsetof(names_t, member))

// What comes before the data in the file; the metadata comes after it.
typedef struct head_t {
  Elf64_Ehdr header;
  Elf64_Shdr sections[SECTION_COUNT];
  Elf64_Sym symbols[SYMBOL_COUNT];
  names_t names;
} head_t;
typedef struct front_t {
  head_t head;
  uint8_t zeros[PAGE_BYTES - sizeof(head_t) % PAGE_BYTES]; // the data begins on a page
} front_t;

static Elf64_Sym hidden_object(uint32_t name, uint16_t section, uint64_t size_bytes) {
  return (Elf64_Sym){.st_name = name,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                     .st_other = STV_HIDDEN,
                     .st_shndx = section,
                     .st_size = size_bytes};
}

// `machine`: the header of an object of the same machine. Both pieces of data end in a zero byte.
static void fill(front_t *front, const Elf64_Ehdr *machine, uint64_t data_size_bytes, uint64_t metadata_size_bytes) {
  head_t *head = &front->head;
  *front = (front_t){.head = {.header = *machine, .names = names}};
  head->header.e_type = ET_REL;
  head->header.e_entry = head->header.e_phoff = 0;
  head->header.e_phentsize = head->header.e_phnum = 0;
  head->header.e_shoff = offsetof(head_t, sections);
  head->header.e_shentsize = sizeof(Elf64_Shdr);
  head->header.e_shnum = SECTION_COUNT;
  head->header.e_shstrndx = SECTION_NAMES;
  head->sections[SECTION_DATA] = (Elf64_Shdr){.sh_name = NAME(data_section),
                                              .sh_type = SHT_PROGBITS,
                                              .sh_flags = SHF_ALLOC,
                                              .sh_offset = sizeof(*front),
                                              .sh_size = data_size_bytes,
                                              .sh_addralign = PAGE_BYTES};
  head->sections[SECTION_METADATA] = (Elf64_Shdr){.sh_name = NAME(metadata_section),
                                                  .sh_type = SHT_PROGBITS,
                                                  .sh_flags = SHF_ALLOC,
                                                  .sh_offset = sizeof(*front) + data_size_bytes,
                                                  .sh_size = metadata_size_bytes,
                                                  .sh_addralign = 1};
  head->sections[SECTION_SYMBOLS] = (Elf64_Shdr){.sh_name = NAME(symbols_section),
                                                 .sh_type = SHT_SYMTAB,
                                                 .sh_offset = offsetof(head_t, symbols),
                                                 .sh_size = sizeof(head->symbols),
                                                 .sh_link = SECTION_NAMES,
                                                 .sh_info = SYMBOL_DATA, // the first global one
                                                 .sh_addralign = 8,
                                                 .sh_entsize = sizeof(Elf64_Sym)};
  head->sections[SECTION_NAMES] = (Elf64_Shdr){.sh_name = NAME(names_section),
                                               .sh_type = SHT_STRTAB,
                                               .sh_offset = offsetof(head_t, names),
                                               .sh_size = sizeof(names_t),
                                               .sh_addralign = 1};
  head->sections[SECTION_STACK] = (Elf64_Shdr){
      .sh_name = NAME(stack_section), .sh_type = SHT_PROGBITS, .sh_offset = sizeof(*front), .sh_addralign = 1};
  head->symbols[SYMBOL_DATA] = hidden_object(NAME(data), SECTION_DATA, data_size_bytes - 1);
  head->symbols[SYMBOL_METADATA] = hidden_object(NAME(metadata), SECTION_METADATA, metadata_size_bytes);
}

byoc_status_t byoc_data_object_write(const byoc_data_layout_t *layout, const byoc_bytes_t *metadata,
                                     const byoc_bytes_t *machine, const char *path, byoc_diag_t *diag) {
  Elf64_Ehdr header = {0};
  if (machine->size_bytes >= sizeof(header)) memcpy(&header, machine->data, sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "the compiler's objects are not 64-bit little-endian ELF: there is no artifact for it");
  }
  front_t front;
  fill(&front, &header, layout->size_bytes + 1, metadata->size_bytes);
  BYOC_VECTOR(byoc_bytes_t) parts = {0};
  if (!byoc_vector_reserve(&parts, layout->allocator, byoc_data_layout_part_count(layout) + 3)) {
    return byoc_diag_out_of_memory(diag);
  }
  parts.data[parts.count++] = (byoc_bytes_t){&front, sizeof(front)};
  byoc_data_layout_list(layout, parts.data + parts.count);
  parts.count += byoc_data_layout_part_count(layout);
  parts.data[parts.count++] = (byoc_bytes_t){"", 1};
  parts.data[parts.count++] = *metadata;
  byoc_status_t status = byoc_file_write_parts(path, parts.data, parts.count, diag);
  byoc_vector_deinit(&parts, layout->allocator);
  return status;
}
