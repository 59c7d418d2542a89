// SPDX-License-Identifier: Apache-2.0
// Changes the versions of symbols that a shared object requires. Format: System V ABI, Linux extensions (LSB, symbol
// versioning).
#include "core/base/elf_version.h"

#include <stdlib.h>

#include "core/base/elf_internal.h"

enum { MOST_VERSIONS = 1024, INDEX_MASK = 0x7fff };

// The dynamic symbols of a file, their versions, and the section that describes versions. Offsets are checked.
typedef struct table_t {
  const byoc_elf_t *elf;
  byoc_elf_symbols_t symbols;
  uint64_t versions;         // offset of one half-word per symbol
  uint64_t described, bytes; // of SHT_GNU_verdef or SHT_GNU_verneed
  uint32_t described_count;  // records there
} table_t;

static byoc_status_t open_table(const byoc_elf_t *elf, uint32_t describing, byoc_diag_t *diag, table_t *out) {
  *out = (table_t){.elf = elf};
  bool has_symbols = false;
  uint64_t version_bytes = 0;
  for (uint32_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr section = byoc_elf_section(elf, i);
    const bool is_ours =
        section.sh_type == SHT_DYNSYM || section.sh_type == SHT_GNU_versym || section.sh_type == describing;
    if (!is_ours) continue;
    if (!byoc_elf_range_ok(elf, section.sh_offset, section.sh_size)) {
      return byoc_elf_damaged(elf, diag, "its versions of symbols lie outside the file");
    }
    if (section.sh_type == SHT_DYNSYM) {
      BYOC_RETURN_IF_ERROR(byoc_elf_open_symbols(elf, &section, diag, &out->symbols));
      has_symbols = true;
    } else if (section.sh_type == SHT_GNU_versym) {
      out->versions = section.sh_offset;
      version_bytes = section.sh_size;
    } else {
      out->described = section.sh_offset;
      out->bytes = section.sh_size;
      out->described_count = section.sh_info;
    }
  }
  if (!has_symbols || out->bytes == 0 || version_bytes == 0) return BYOC_NOT_FOUND;
  if (version_bytes / sizeof(Elf64_Half) < out->symbols.count) {
    return byoc_elf_damaged(elf, diag, "symbols have no versions");
  }
  return BYOC_OK;
}

static uint16_t version_index(const table_t *table, uint64_t symbol) {
  Elf64_Half version;
  memcpy(&version, table->elf->data + table->versions + symbol * sizeof(version), sizeof(version));
  return version & INDEX_MASK;
}

static const char *text_at(const table_t *table, uint64_t offset) {
  const char *text = byoc_elf_text(table->elf, table->symbols.names_offset, table->symbols.names_size, offset);
  return text != NULL ? text : "";
}

static const char *symbol_name(const table_t *table, uint64_t index) {
  return text_at(table, byoc_elf_symbol(table->elf, &table->symbols, index).st_name);
}

// A record of the section that describes versions; false if it does not lie inside.
static bool read_at(const table_t *table, uint64_t offset, void *record, size_t size) {
  if (offset > table->bytes || size > table->bytes - offset) return false;
  memcpy(record, table->elf->data + table->described + offset, size);
  return true;
}

// "GLIBC_2.3.4" as 2003004; 0 for any other string.
static uint64_t version_number(const char *text) {
  static const char prefix[] = "GLIBC_";
  if (strncmp(text, prefix, sizeof(prefix) - 1) != 0) return 0;
  uint64_t number = 0;
  const char *at = text + sizeof(prefix) - 1;
  for (int part = 0; part < 3; ++part) {
    char *end = NULL;
    const unsigned long value = strtoul(at, &end, 10);
    if ((end == at && part == 0) || value > 999) return 0;
    number = number * 1000 + (end == at ? 0 : value);
    at = *end == '.' ? end + 1 : end;
  }
  return number;
}

// ---- the library's side ----

// The name of a version that the library defines; "" if there is none.
static const char *defined_version(const table_t *table, uint16_t index) {
  uint64_t at = 0;
  Elf64_Verdef version;
  Elf64_Verdaux name;
  for (uint32_t i = 0; i < table->described_count && i < MOST_VERSIONS; ++i) {
    if (!read_at(table, at, &version, sizeof(version))) return "";
    if ((version.vd_ndx & INDEX_MASK) == index) {
      return read_at(table, at + version.vd_aux, &name, sizeof(name)) ? text_at(table, name.vda_name) : "";
    }
    if (version.vd_next == 0) return "";
    at += version.vd_next;
  }
  return "";
}

// ---- the object's side ----

// A version of the library that the object requires.
typedef struct wanted_t {
  uint64_t at; // of its record in the section
  uint16_t index;
  const char *name;
  bool is_used;
} wanted_t;
typedef struct wants_t {
  uint64_t need_at; // of the library's record
  wanted_t items[64];
  size_t count;
} wants_t;

static bool list_wanted(const table_t *table, uint64_t need_at, const Elf64_Verneed *need, wants_t *out) {
  *out = (wants_t){.need_at = need_at};
  uint64_t at = need_at + need->vn_aux;
  Elf64_Vernaux record;
  for (uint32_t i = 0; i < need->vn_cnt; ++i) {
    if (out->count == sizeof(out->items) / sizeof(out->items[0]) || !read_at(table, at, &record, sizeof(record))) {
      return false;
    }
    const char *name = text_at(table, record.vna_name);
    // A version without a number, such as GLIBC_ABI_DT_RELR, is required by the file itself.
    out->items[out->count++] = (wanted_t){
        .at = at, .index = record.vna_other & INDEX_MASK, .name = name, .is_used = version_number(name) == 0};
    if (record.vna_next == 0) break;
    at += record.vna_next;
  }
  return out->count == need->vn_cnt;
}

// Reads the versions that the object requires of this library; BYOC_NOT_FOUND if there are none.
static byoc_status_t find_wants(const table_t *table, const char *library, byoc_diag_t *diag, wants_t *out) {
  uint64_t at = 0;
  Elf64_Verneed need;
  for (uint32_t i = 0; i < table->described_count && i < MOST_VERSIONS; ++i) {
    if (!read_at(table, at, &need, sizeof(need))) break;
    if (strcmp(text_at(table, need.vn_file), library) == 0) {
      if (list_wanted(table, at, &need, out)) return BYOC_OK;
      return byoc_elf_damaged(table->elf, diag, "the versions that it needs lie outside their section");
    }
    if (need.vn_next == 0) break;
    at += need.vn_next;
  }
  return BYOC_NOT_FOUND;
}

static wanted_t *find_wanted(wants_t *wants, const char *name) {
  for (size_t i = 0; i < wants->count; ++i) {
    if (strcmp(wants->items[i].name, name) == 0) return &wants->items[i];
  }
  return NULL;
}

// The oldest version, of those that the object requires already, with the same function.
static wanted_t *find_oldest(const table_t *library, const char *symbol, wanted_t *now, wants_t *wants) {
  wanted_t *oldest = now;
  Elf64_Sym same = {0};
  for (int pass = 0; pass < 2; ++pass) {
    for (uint64_t i = 0; i < library->symbols.count; ++i) {
      const Elf64_Sym entry = byoc_elf_symbol(library->elf, &library->symbols, i);
      if (entry.st_shndx == SHN_UNDEF || strcmp(symbol_name(library, i), symbol) != 0) continue;
      const char *version = defined_version(library, version_index(library, i));
      if (pass == 0 && strcmp(version, now->name) == 0) same = entry;
      if (pass == 0 || entry.st_value != same.st_value || entry.st_info != same.st_info) continue;
      wanted_t *wanted = find_wanted(wants, version);
      if (wanted == NULL || version_number(version) == 0) continue;
      if (version_number(version) < version_number(oldest->name)) oldest = wanted;
    }
    if (same.st_value == 0) return now;
  }
  return oldest;
}

// Removes versions from the chain that no symbol uses any more.
static void drop_unused(const wants_t *wants, byoc_string_t *section) {
  Elf64_Verneed need;
  Elf64_Vernaux record;
  memcpy(&need, section->data + wants->need_at, sizeof(need));
  uint64_t before = 0;
  uint16_t count = 0;
  for (size_t i = 0; i < wants->count; ++i) {
    const wanted_t *item = &wants->items[i];
    if (!item->is_used) continue;
    if (count++ == 0) {
      need.vn_aux = (Elf64_Word)(item->at - wants->need_at);
    } else {
      memcpy(&record, section->data + before, sizeof(record));
      record.vna_next = (Elf64_Word)(item->at - before);
      memcpy(section->data + before, &record, sizeof(record));
    }
    before = item->at;
    memcpy(&record, section->data + before, sizeof(record));
    record.vna_next = 0;
    memcpy(section->data + before, &record, sizeof(record));
  }
  need.vn_cnt = count;
  memcpy(section->data + wants->need_at, &need, sizeof(need));
}

// Chooses the version of each symbol of the library; returns how many change.
static size_t choose(const table_t *own, const table_t *library, wants_t *wants, byoc_string_t *versions) {
  size_t changed = 0;
  for (uint64_t i = 0; i < own->symbols.count; ++i) {
    wanted_t *now = NULL;
    for (size_t k = 0; k < wants->count && now == NULL; ++k) {
      if (wants->items[k].index == version_index(own, i)) now = &wants->items[k];
    }
    if (now == NULL) continue;
    wanted_t *chosen = find_oldest(library, symbol_name(own, i), now, wants);
    chosen->is_used = true;
    if (chosen == now) continue;
    Elf64_Half version;
    memcpy(&version, versions->data + i * sizeof(version), sizeof(version));
    version = (Elf64_Half)((version & ~INDEX_MASK) | chosen->index);
    memcpy(versions->data + i * sizeof(version), &version, sizeof(version));
    ++changed;
  }
  return changed;
}

byoc_status_t byoc_elf_lower_versions(const byoc_elf_t *elf, const byoc_elf_t *library, const char *library_name,
                                      byoc_diag_t *diag, byoc_elf_change_t out_changes[2]) {
  table_t own, theirs;
  wants_t wants;
  byoc_status_t status = open_table(elf, SHT_GNU_verneed, diag, &own);
  if (status == BYOC_OK) status = open_table(library, SHT_GNU_verdef, diag, &theirs);
  if (status == BYOC_OK) status = find_wants(&own, library_name, diag, &wants);
  if (status != BYOC_OK) return status == BYOC_NOT_FOUND ? BYOC_OK : status; // then there is nothing to lower
  byoc_string_t *versions = &out_changes[0].bytes, *needs = &out_changes[1].bytes;
  out_changes[0].offset = own.versions;
  out_changes[1].offset = own.described;
  byoc_string_append_bytes(versions, elf->data + own.versions, own.symbols.count * sizeof(Elf64_Half));
  byoc_string_append_bytes(needs, elf->data + own.described, own.bytes);
  if (versions->failed || needs->failed) return byoc_diag_out_of_memory(diag);
  if (choose(&own, &theirs, &wants, versions) > 0) {
    drop_unused(&wants, needs);
  } else {
    byoc_string_clear(versions);
    byoc_string_clear(needs);
  }
  return BYOC_OK;
}

bool byoc_elf_has_older_version(const byoc_elf_t *library, const char *symbol) {
  table_t table;
  if (open_table(library, SHT_GNU_verdef, NULL, &table) != BYOC_OK) return false;
  Elf64_Addr first = 0;
  for (uint64_t i = 0; i < table.symbols.count; ++i) {
    const Elf64_Sym entry = byoc_elf_symbol(library, &table.symbols, i);
    if (entry.st_shndx == SHN_UNDEF || strcmp(symbol_name(&table, i), symbol) != 0) continue;
    if (first != 0) return entry.st_value == first;
    first = entry.st_value;
  }
  return false;
}
