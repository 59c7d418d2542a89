// SPDX-License-Identifier: Apache-2.0
// A bounds-checked reader of little-endian ELF files, of 64 and 32 bits, and of ar archives: notes, symbols, needed
// libraries. Also copies objects and archives with other names for their symbols. It trusts nothing in the file: a
// damaged one gives BYOC_INVALID_DATA with a message.
#ifndef BYOC_CORE_BASE_ELF_H_
#define BYOC_CORE_BASE_ELF_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"
#include "core/base/string.h"

typedef struct byoc_elf_t {
  const char *name; // for diagnostics
  const uint8_t *data;
  size_t size_bytes;
  bool is_32;       // ELFCLASS32
  uint16_t type;    // ET_REL, ET_DYN ...
  uint16_t machine; // EM_X86_64 ...
  uint64_t section_offset, segment_offset;
  uint32_t section_count, segment_count, section_name_index;
} byoc_elf_t;

// The bytes and the name must outlive the reader.
byoc_status_t byoc_elf_open(const void *data, size_t size_bytes, const char *name, byoc_diag_t *diag,
                            byoc_elf_t *out_elf);

// Checks that all offsets in the tables lie in the file, and that it has loadable segments. Returns BYOC_INVALID_DATA
// if it is truncated or no shared object. Call this before dlopen, because the dynamic linker does not check.
byoc_status_t byoc_elf_check_loadable(const byoc_elf_t *elf, byoc_diag_t *diag);

// The first note with this owner and type in the SHT_NOTE sections and PT_NOTE segments. BYOC_NOT_FOUND (without a
// diagnostic) if there is none.
byoc_status_t byoc_elf_find_note(const byoc_elf_t *elf, const char *owner, uint32_t type, byoc_diag_t *diag,
                                 const uint8_t **out_data, size_t *out_size_bytes);

// The bytes of the first section with this name. BYOC_NOT_FOUND (without a diagnostic) if there is none, or if it has
// no bytes in the file.
byoc_status_t byoc_elf_find_section(const byoc_elf_t *elf, const char *name, byoc_diag_t *diag,
                                    const uint8_t **out_data, size_t *out_size_bytes);

typedef struct byoc_elf_symbol_t {
  const char *name;
  bool defined;
  bool global; // global, weak or unique binding
  bool weak;
  bool
      unique; // one for the whole process, even if several objects define it (STB_GNU_UNIQUE): statics of C++ templates
  bool hidden; // hidden or internal visibility
} byoc_elf_symbol_t;
typedef byoc_status_t (*byoc_elf_symbol_visitor_t)(void *self, const byoc_elf_symbol_t *symbol);
// Visits the symbols of an object (.symtab) or, with `dynamic`, of a shared object (.dynsym). Stops at the first status
// that is not BYOC_OK and returns it.
byoc_status_t byoc_elf_visit_symbols(const byoc_elf_t *elf, bool dynamic, byoc_elf_symbol_visitor_t visitor, void *self,
                                     byoc_diag_t *diag);
// Visits the signatures of an object's COMDAT groups, with any binding: the linker keeps one group of each.
byoc_status_t byoc_elf_visit_signatures(const byoc_elf_t *elf, byoc_elf_symbol_visitor_t visitor, void *self,
                                        byoc_diag_t *diag);
// Visits the DT_NEEDED entries (and DT_SONAME, with `soname` true), as strings inside the file.
typedef byoc_status_t (*byoc_elf_needed_visitor_t)(void *self, const char *name, bool soname);
byoc_status_t byoc_elf_visit_needed(const byoc_elf_t *elf, byoc_elf_needed_visitor_t visitor, void *self,
                                    byoc_diag_t *diag);

// Visits the members of an ar archive ("!<arch>\n", GNU names), without the symbol table and the name table.
typedef byoc_status_t (*byoc_ar_visitor_t)(void *self, const char *member, const uint8_t *data, size_t size_bytes);
byoc_status_t byoc_ar_visit(const void *data, size_t size_bytes, const char *name, byoc_ar_visitor_t visitor,
                            void *self, byoc_diag_t *diag);
// The machine number (EM_...) of the code that runs in this process.
uint16_t byoc_elf_host_machine(void);

// Gives a symbol's new name; `name` itself, or NULL, if the symbol keeps its name. `defined` is true for a definition
// and for the signature of a COMDAT group.
typedef const char *(*byoc_elf_renamer_t)(void *self, const char *name, bool defined);
// Appends to `out` a copy of an object in which global symbols and signatures have the names that `renamer` gives.
byoc_status_t byoc_elf_rename(const byoc_elf_t *elf, byoc_elf_renamer_t renamer, void *self, byoc_string_t *out,
                              byoc_diag_t *diag);
// The same for an archive: a new one with the same members in the same order and an index of its symbols.
byoc_status_t byoc_ar_rename(const void *data, size_t size_bytes, const char *name, byoc_elf_renamer_t renamer,
                             void *self, byoc_string_t *out, byoc_diag_t *diag);

// Appends the header of a member of at most BYOC_AR_MOST_BYTES, which the member's bytes follow, padded to an even
// count. `name` has up to 15 characters and a final '/'.
#define BYOC_AR_MOST_BYTES UINT64_C(9999999999) // ten digits
void byoc_ar_append_header(byoc_string_t *out, const char *name, size_t size_bytes);

bool byoc_is_ar(const void *data, size_t size_bytes);
bool byoc_is_elf(const void *data, size_t size_bytes);

#endif // BYOC_CORE_BASE_ELF_H_
