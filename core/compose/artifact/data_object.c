// SPDX-License-Identifier: Apache-2.0
// Writes one relocatable ELF object with the read-only data, straight from where the data lies: an assembler, and a
// file for it to read, would copy hundreds of megabytes twice more. Format: System V ABI, ELF-64 object file format,
// and the same in ELF-32.
#include "core/compose/artifact/data_object.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "byoc/artifact.h"
#include "core/base/elf.h"

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

// The head of the file, before the data; the metadata come after it.
typedef struct head_t {
  Elf64_Ehdr header;
  Elf64_Shdr sections[SECTION_COUNT];
  Elf64_Sym symbols[SYMBOL_COUNT];
  names_t names;
} head_t;
typedef struct narrow_head_t {
  Elf32_Ehdr header;
  Elf32_Shdr sections[SECTION_COUNT];
  Elf32_Sym symbols[SYMBOL_COUNT];
  names_t names;
} narrow_head_t;
_Static_assert(sizeof(head_t) <= PAGE_BYTES && sizeof(narrow_head_t) <= PAGE_BYTES, "the data begins on a page");

// Where the parts of the head stand, by the width of the machine.
typedef struct places_t {
  uint64_t sections, symbols, names, symbols_size_bytes, symbol_size_bytes, section_size_bytes, alignment;
} places_t;
#define PLACES(type, width)                                                                                            \
  {                                                                                                                    \
    .sections = offsetof(type, sections), .symbols = offsetof(type, symbols), .names = offsetof(type, names),          \
    .symbols_size_bytes = sizeof(((type *)0)->symbols), .symbol_size_bytes = sizeof(((type *)0)->symbols[0]),          \
    .section_size_bytes = sizeof(((type *)0)->sections[0]), .alignment = (width),                                      \
  }
static const places_t wide_places = PLACES(head_t, 8), narrow_places = PLACES(narrow_head_t, 4);

static Elf64_Sym hidden_object(uint32_t name, uint16_t section, uint64_t size_bytes) {
  return (Elf64_Sym){.st_name = name,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                     .st_other = STV_HIDDEN,
                     .st_shndx = section,
                     .st_size = size_bytes};
}

// Both pieces of data end in a zero byte. The header is left out.
static void fill(head_t *head, const places_t *places, uint64_t data_size_bytes, uint64_t metadata_size_bytes) {
  *head = (head_t){.names = names};
  head->sections[SECTION_DATA] = (Elf64_Shdr){.sh_name = NAME(data_section),
                                              .sh_type = SHT_PROGBITS,
                                              .sh_flags = SHF_ALLOC,
                                              .sh_offset = PAGE_BYTES,
                                              .sh_size = data_size_bytes,
                                              .sh_addralign = PAGE_BYTES};
  head->sections[SECTION_METADATA] = (Elf64_Shdr){.sh_name = NAME(metadata_section),
                                                  .sh_type = SHT_PROGBITS,
                                                  .sh_flags = SHF_ALLOC,
                                                  .sh_offset = PAGE_BYTES + data_size_bytes,
                                                  .sh_size = metadata_size_bytes,
                                                  .sh_addralign = 1};
  head->sections[SECTION_SYMBOLS] = (Elf64_Shdr){.sh_name = NAME(symbols_section),
                                                 .sh_type = SHT_SYMTAB,
                                                 .sh_offset = places->symbols,
                                                 .sh_size = places->symbols_size_bytes,
                                                 .sh_link = SECTION_NAMES,
                                                 .sh_info = SYMBOL_DATA, // the first global one
                                                 .sh_addralign = places->alignment,
                                                 .sh_entsize = places->symbol_size_bytes};
  head->sections[SECTION_NAMES] = (Elf64_Shdr){.sh_name = NAME(names_section),
                                               .sh_type = SHT_STRTAB,
                                               .sh_offset = places->names,
                                               .sh_size = sizeof(names_t),
                                               .sh_addralign = 1};
  head->sections[SECTION_STACK] =
      (Elf64_Shdr){.sh_name = NAME(stack_section), .sh_type = SHT_PROGBITS, .sh_offset = PAGE_BYTES, .sh_addralign = 1};
  head->symbols[SYMBOL_DATA] = hidden_object(NAME(data), SECTION_DATA, data_size_bytes - 1);
  head->symbols[SYMBOL_METADATA] = hidden_object(NAME(metadata), SECTION_METADATA, metadata_size_bytes);
}

// Takes the fields of the ELF header from an object of the same machine.
#define SET_HEADER(header, places)                                                                                     \
  do {                                                                                                                 \
    (header).e_type = ET_REL;                                                                                          \
    (header).e_entry = (header).e_phoff = 0;                                                                           \
    (header).e_phentsize = (header).e_phnum = 0;                                                                       \
    (header).e_shoff = (uint32_t)(places).sections;                                                                    \
    (header).e_shentsize = (uint16_t)(places).section_size_bytes;                                                      \
    (header).e_shnum = SECTION_COUNT;                                                                                  \
    (header).e_shstrndx = SECTION_NAMES;                                                                               \
  } while (false)

static void write_wide(const uint8_t *machine, head_t *head, uint8_t *page) {
  memcpy(&head->header, machine, sizeof(head->header));
  SET_HEADER(head->header, wide_places);
  memcpy(page, head, sizeof(*head));
}

static void write_narrow(const uint8_t *machine, const head_t *head, uint8_t *page) {
  narrow_head_t narrow = {.names = names};
  memcpy(&narrow.header, machine, sizeof(narrow.header));
  SET_HEADER(narrow.header, narrow_places);
  for (int i = 0; i < SECTION_COUNT; i++) {
    const Elf64_Shdr *wide = &head->sections[i];
    narrow.sections[i] = (Elf32_Shdr){.sh_name = wide->sh_name,
                                      .sh_type = wide->sh_type,
                                      .sh_flags = (Elf32_Word)wide->sh_flags,
                                      .sh_offset = (Elf32_Off)wide->sh_offset,
                                      .sh_size = (Elf32_Word)wide->sh_size,
                                      .sh_link = wide->sh_link,
                                      .sh_info = wide->sh_info,
                                      .sh_addralign = (Elf32_Word)wide->sh_addralign,
                                      .sh_entsize = (Elf32_Word)wide->sh_entsize};
  }
  for (int i = 0; i < SYMBOL_COUNT; i++) {
    const Elf64_Sym *wide = &head->symbols[i];
    narrow.symbols[i] = (Elf32_Sym){.st_name = wide->st_name,
                                    .st_size = (Elf32_Word)wide->st_size,
                                    .st_info = wide->st_info,
                                    .st_other = wide->st_other,
                                    .st_shndx = wide->st_shndx};
  }
  memcpy(page, &narrow, sizeof(narrow));
}

// The page in front of the data. `machine` is an object of the same machine.
static byoc_status_t make_front(const byoc_bytes_t *machine, uint64_t data_size_bytes, uint64_t metadata_size_bytes,
                                byoc_diag_t *diag, uint8_t *page) {
  byoc_elf_t elf;
  head_t head;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(machine->data, machine->size_bytes, "the compiler's object", diag, &elf));
  fill(&head, elf.is_32 ? &narrow_places : &wide_places, data_size_bytes, metadata_size_bytes);
  memset(page, 0, PAGE_BYTES);
  if (!elf.is_32) {
    write_wide(elf.data, &head, page);
    return BYOC_OK;
  }
  if (PAGE_BYTES + data_size_bytes + metadata_size_bytes > INT32_MAX) {
    byoc_status_t status = byoc_diag_error(
        diag, BYOC_UNSUPPORTED, "the model's constants take %.1f GB, more than a machine of 32 bits has room for",
        (double)data_size_bytes / (double)(1u << 30));
    byoc_diag_hint(diag, "build it for a machine of 64 bits");
    return status;
  }
  write_narrow(elf.data, &head, page);
  return BYOC_OK;
}

byoc_status_t byoc_data_object_write(const byoc_data_layout_t *layout, const byoc_bytes_t *metadata,
                                     const byoc_bytes_t *machine, const char *path, byoc_diag_t *diag) {
  uint8_t page[PAGE_BYTES];
  BYOC_RETURN_IF_ERROR(make_front(machine, layout->size_bytes + 1, metadata->size_bytes, diag, page));
  BYOC_VECTOR(byoc_bytes_t) parts = {0};
  if (!byoc_vector_reserve(&parts, layout->allocator, byoc_data_layout_part_count(layout) + 3)) {
    return byoc_diag_out_of_memory(diag);
  }
  parts.data[parts.count++] = (byoc_bytes_t){page, sizeof(page)};
  byoc_data_layout_list(layout, parts.data + parts.count);
  parts.count += byoc_data_layout_part_count(layout);
  parts.data[parts.count++] = (byoc_bytes_t){"", 1};
  parts.data[parts.count++] = *metadata;
  byoc_status_t status = byoc_file_write_parts(path, parts.data, parts.count, diag);
  byoc_vector_deinit(&parts, layout->allocator);
  return status;
}
