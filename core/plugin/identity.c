// SPDX-License-Identifier: Apache-2.0
// Reads a plugin's identity from its file: exported symbols and the note.
#include "core/plugin/identity.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "byoc/operator_plugin.h"
#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/plugin/abi.h"

// ---- exported symbols ----

typedef struct exports_t {
  bool has_query;
  char other[256];  // the first symbol that should not be there
  bool is_template; // it is a static variable of a C++ template or inline function
} exports_t;

// Symbols that linkers and sanitizers add by themselves.
static bool is_toolchain_symbol(const char *name) {
  static const char *const names[] = {"_init", "_fini", "_edata", "_end", "__bss_start"};
  static const char *const prefixes[] = {"__asan_", "___asan_",     "__odr_asan", "__ubsan_", "__tsan_",
                                         "__lsan_", "__sanitizer_", "__sancov_",  "__gcov_",  "__llvm_"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); ++i) {
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
  }
  return false;
}

// Is it of the C++ standard library's headers, by its mangled name? Their namespaces have default visibility, even with
// -fvisibility=hidden: a plugin that uses std::map exports its instances.
static bool is_standard_library_symbol(const char *name) {
  static const char *const before[] = {"GV", "GR", "TV", "TI", "TS", "TT", "Z", "N", "K", "V", "r"};
  static const char *const spaces[] = {"St", "Sa", "Sb", "Ss", "Si", "So", "Sd", "9__gnu_cxx"};
  if (strncmp(name, "_Z", 2) != 0) return false;
  name += 2;
  for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); ++i) {
    const size_t size = strlen(before[i]);
    if (strncmp(name, before[i], size) != 0) continue;
    name += size;
    i = SIZE_MAX; // from the first one again
  }
  for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); ++i) {
    if (strncmp(name, spaces[i], strlen(spaces[i])) == 0) return true;
  }
  return false;
}

// Weak symbols are copies of inline functions, which RTLD_LOCAL separates between plugins. Unique symbols are shared by
// all plugins that define them: only the standard library's are allowed.
static bool may_be_exported(const byoc_elf_symbol_t *symbol) {
  return symbol->weak || is_toolchain_symbol(symbol->name) ||
         (symbol->unique && is_standard_library_symbol(symbol->name));
}

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  exports_t *exports = self;
  if (!symbol->defined || !symbol->global || symbol->hidden) return BYOC_OK;
  if (strcmp(symbol->name, "byoc_plugin_query") == 0) {
    exports->has_query = true;
  } else if (exports->other[0] == '\0' && !may_be_exported(symbol)) {
    snprintf(exports->other, sizeof(exports->other), "%s", symbol->name);
    exports->is_template = symbol->unique;
  }
  return BYOC_OK;
}

static byoc_status_t check_exports(const byoc_elf_t *elf, byoc_diag_t *diag) {
  exports_t exports = {0};
  BYOC_RETURN_IF_ERROR(byoc_elf_visit_symbols(elf, true, visit_symbol, &exports, diag));
  if (!exports.has_query) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "it does not export byoc_plugin_query");
    byoc_diag_hint(diag, "define it with BYOC_PLUGIN_EXPORT");
    return status;
  }
  if (exports.other[0] == '\0') return BYOC_OK;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_DATA, "it exports '%s' beside byoc_plugin_query", exports.other);
  byoc_diag_hint(diag,
                 exports.is_template
                     ? "all plugins of the process would share it: link with the flags of pkg-config byoc-plugin, "
                       "or build by byoc_add_plugin"
                     : "compile it with -fvisibility=hidden, or build it by byoc_add_plugin");
  return status;
}

// ---- the note ----

const char *byoc_plugin_list_start(const char *list) {
  return list[0] != '\0' ? list : NULL;
}

const char *byoc_plugin_list_next(const char **cursor, size_t *out_size) {
  const char *name = *cursor;
  if (name == NULL) return NULL;
  *out_size = strcspn(name, ",");
  *cursor = name[*out_size] == ',' ? name + *out_size + 1 : NULL;
  return name;
}

bool byoc_plugin_list_has(const char *list, const char *name) {
  const char *cursor = byoc_plugin_list_start(list);
  size_t size = 0;
  for (const char *at; (at = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
    if (strlen(name) == size && memcmp(at, name, size) == 0) return true;
  }
  return false;
}

bool byoc_plugin_note_has_target(const byoc_plugin_note_t *note, const char *kind) {
  return byoc_plugin_list_has(note->targets, kind);
}

bool byoc_plugin_note_shared_target(const byoc_plugin_note_t *a, const byoc_plugin_note_t *b, char buffer[128]) {
  const char *cursor = byoc_plugin_list_start(a->targets);
  size_t size = 0;
  for (const char *name; (name = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
    memcpy(buffer, name, size);
    buffer[size] = '\0';
    if (byoc_plugin_note_has_target(b, buffer)) return true;
  }
  return false;
}

static byoc_status_t bad_note(byoc_diag_t *diag, const char *what) {
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "its identity note is damaged: %s", what);
  byoc_diag_hint(diag, "write it by BYOC_PLUGIN_IDENTITY");
  return status;
}

static byoc_status_t check_note_text(const char *text, size_t capacity, const char *field, bool may_be_empty,
                                     byoc_diag_t *diag) {
  char what[96];
  const size_t size = strnlen(text, capacity);
  if (size == capacity) {
    snprintf(what, sizeof(what), "its %s has no end", field);
    return bad_note(diag, what);
  }
  if ((size == 0 && !may_be_empty) || !byoc_abi_text_is_printable(text, size)) {
    snprintf(what, sizeof(what), "its %s is %s", field, size == 0 ? "empty" : "not printable text");
    return bad_note(diag, what);
  }
  return BYOC_OK;
}

static byoc_status_t check_targets(const byoc_plugin_note_t *note, byoc_diag_t *diag) {
  const char *cursor = byoc_plugin_list_start(note->targets);
  size_t size = 0;
  for (const char *name; (name = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
    if (!byoc_abi_is_name(name, size) || size > 63) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "it announces '%.*s', which cannot be a target's name", (int)size,
                             name);
    }
    if (size == 1 && name[0] == 'c') {
      return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "it claims the target 'c', which is the host's own");
    }
    const char *other = cursor;
    size_t other_size = 0;
    for (const char *later; (later = byoc_plugin_list_next(&other, &other_size)) != NULL;) {
      if (other_size != size || memcmp(later, name, size) != 0) continue;
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "it announces the target '%.*s' twice", (int)size, name);
    }
  }
  return BYOC_OK;
}

// Only a plugin with operators may have no targets.
static byoc_status_t check_texts(const byoc_plugin_note_t *note, bool has_domains, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_note_text(note->name, sizeof(note->name), "name", false, diag));
  BYOC_RETURN_IF_ERROR(check_note_text(note->version, sizeof(note->version), "version", false, diag));
  BYOC_RETURN_IF_ERROR(check_note_text(note->targets, sizeof(note->targets), "list of targets", has_domains, diag));
  BYOC_RETURN_IF_ERROR(check_note_text(note->description, sizeof(note->description), "description", true, diag));
  if (!byoc_abi_is_name(note->name, strlen(note->name))) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its name '%s' is not a letter, then letters, digits, '_' and '-'",
                           note->name);
  }
  // The version becomes part of a folder's name in the cache.
  for (const char *c = note->version; *c != '\0'; ++c) {
    if (isalnum((unsigned char)*c) || strchr("._+~-", *c) != NULL) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its version '%s' has other characters than letters, digits, ._+~-",
                           note->version);
  }
  return BYOC_OK;
}

static byoc_status_t check_note(const byoc_plugin_note_t *note, bool has_domains, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_texts(note, has_domains, diag));
  return check_targets(note, diag);
}

byoc_status_t byoc_plugin_note_check(const byoc_plugin_note_t *note, byoc_diag_t *diag) {
  return check_note(note, false, diag);
}

static byoc_status_t check_abi(const byoc_plugin_note_t *note, byoc_diag_t *diag) {
  if (note->abi_major != BYOC_ABI_MAJOR) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_VERSION, "it was built for plugin ABI %u.%u, this host has %d.%d",
                        (unsigned)note->abi_major, (unsigned)note->abi_minor_built, BYOC_ABI_MAJOR, BYOC_ABI_MINOR);
    byoc_diag_hint(diag, "build it again with this host's headers");
    return status;
  }
  if (note->abi_minor_needed > BYOC_ABI_MINOR) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_VERSION, "it needs plugin ABI %u.%u, this host has %d.%d", (unsigned)note->abi_major,
                        (unsigned)note->abi_minor_needed, BYOC_ABI_MAJOR, BYOC_ABI_MINOR);
    byoc_diag_hint(diag, "use a newer byoc, or an older version of the plugin");
    return status;
  }
  return BYOC_OK;
}

static byoc_status_t read_domains(const byoc_elf_t *elf, byoc_diag_t *diag, char domains[256]) {
  const uint8_t *data = NULL;
  size_t size = 0;
  byoc_domains_note_t note;
  domains[0] = '\0';
  byoc_status_t status =
      byoc_elf_find_note(elf, BYOC_PLUGIN_NOTE_OWNER, BYOC_PLUGIN_DOMAINS_NOTE_TYPE, diag, &data, &size);
  if (status == BYOC_NOT_FOUND) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(status);
  uint32_t struct_size = 0;
  if (size >= sizeof(struct_size)) memcpy(&struct_size, data, sizeof(struct_size));
  if (struct_size < sizeof(note) || struct_size > size) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its note of operator domains has %zu bytes and claims %u", size,
                           (unsigned)struct_size);
  }
  memcpy(&note, data, sizeof(note));
  BYOC_RETURN_IF_ERROR(check_note_text(note.domains, sizeof(note.domains), "list of operator domains", false, diag));
  const char *cursor = byoc_plugin_list_start(note.domains);
  for (const char *name; (name = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
    if (size > 0) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its list of operator domains, '%s', has an empty name",
                           note.domains);
  }
  memcpy(domains, note.domains, sizeof(note.domains));
  return BYOC_OK;
}

static byoc_status_t read_note(const byoc_elf_t *elf, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                               bool *out_has_note) {
  const uint8_t *data = NULL;
  size_t size = 0;
  byoc_status_t status = byoc_elf_find_note(elf, BYOC_PLUGIN_NOTE_OWNER, BYOC_PLUGIN_NOTE_TYPE, diag, &data, &size);
  if (status == BYOC_NOT_FOUND) {
    byoc_diag_error(diag, BYOC_INVALID_DATA, "it is not a byoc plugin: it has no identity note");
    byoc_diag_hint(diag, "a plugin has BYOC_PLUGIN_IDENTITY in one of its files");
    return BYOC_INVALID_DATA;
  }
  BYOC_RETURN_IF_ERROR(status);
  uint32_t struct_size = 0;
  if (size >= sizeof(struct_size)) memcpy(&struct_size, data, sizeof(struct_size));
  // All fields known today are of ABI 1.0, so a smaller note was cut off. A larger one has fields of a later version.
  if (struct_size < sizeof(*out_note) || struct_size > size) {
    char what[96];
    snprintf(what, sizeof(what), "it has %zu bytes and claims %u, where %zu are needed", size, (unsigned)struct_size,
             sizeof(*out_note));
    return bad_note(diag, what);
  }
  memcpy(out_note, data, sizeof(*out_note));
  char domains[256];
  const bool has_domains = read_domains(elf, NULL, domains) != BYOC_OK || domains[0] != '\0';
  byoc_status_t texts = check_texts(out_note, has_domains, NULL);
  *out_has_note = texts == BYOC_OK;
  BYOC_RETURN_IF_ERROR(check_abi(out_note, diag));
  BYOC_RETURN_IF_ERROR(check_note(out_note, has_domains, diag));
  return read_domains(elf, diag, domains);
}

byoc_status_t byoc_plugin_identity_read(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                        bool *out_has_note) {
  *out_note = (byoc_plugin_note_t){0};
  *out_has_note = false;
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_elf_t elf;
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, path, diag, &elf);
  if (status == BYOC_OK && elf.type != ET_DYN) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "it is not a shared object");
  }
  if (status == BYOC_OK && elf.machine != byoc_elf_host_machine()) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "it was built for another machine (ELF number %u, here %d)",
                             (unsigned)elf.machine, (int)byoc_elf_host_machine());
  }
  if (status == BYOC_OK) status = read_note(&elf, diag, out_note, out_has_note);
  if (status == BYOC_OK) status = check_exports(&elf, diag);
  byoc_file_view_close(&view);
  return status;
}

byoc_status_t byoc_plugin_domains_read(const char *path, byoc_diag_t *diag, char domains[256]) {
  domains[0] = '\0';
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_elf_t elf;
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, path, diag, &elf);
  if (status == BYOC_OK) status = read_domains(&elf, diag, domains);
  byoc_file_view_close(&view);
  return status;
}
