// SPDX-License-Identifier: Apache-2.0
// Writes names.h of an artifact that is C source: every name that it defines gets the prefix of its header's functions.
#include "core/compose/artifact/source_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "byoc/artifact.h"
#include "core/base/map.h"
#include "core/compose/artifact/source_writer.h"

typedef struct names_t {
  byoc_map_t seen;
  const char *prefix;
  byoc_string_t *out;
} names_t;

static bool is_letter(char letter) {
  return isalnum((unsigned char)letter) || letter == '_';
}

static void add(names_t *names, const char *name) {
  if (byoc_string_map_find(&names->seen, name) != NULL) return;
  if (!byoc_string_map_put(&names->seen, name, names)) names->out->failed = true;
  const bool is_entry = strcmp(name, BYOC_ARTIFACT_ENTRY) == 0;
  byoc_string_appendf(names->out, "#define %s %s%s%s\n", name, names->prefix,
                      is_entry ? BYOC_COMPOSE_STATIC_ENTRY : "__", is_entry ? "" : name);
}

// The runtime's functions: words that begin with byoc_ in front of a parenthesis. Types end in _t.
static void add_functions(names_t *names, const char *text, size_t size) {
  const char *end = text + size;
  for (const char *at = text; at < end;) {
    const char *word = at;
    while (at < end && is_letter(*at)) at++;
    const size_t length = (size_t)(at - word);
    char name[128];
    if (at < end && *at == '(' && length > 7 && length < sizeof(name) && memcmp(word, "byoc_", 5) == 0 &&
        memcmp(at - 2, "_t", 2) != 0) {
      memcpy(name, word, length);
      name[length] = '\0';
      add(names, name);
    }
    at += at < end && at == word;
    while (at < end && !is_letter(*at)) at++;
  }
}

static void begin(const char *prefix, byoc_string_t *out, names_t *names) {
  *names = (names_t){.prefix = prefix, .out = out};
  byoc_string_map_init(&names->seen, out->allocator);
}

void byoc_source_emit_names(const byoc_composing_t *composing, const char *prefix, const byoc_embedded_header_t *files,
                            size_t file_count, byoc_string_t *out) {
  names_t names;
  begin(prefix, out, &names);
  byoc_string_appendf(out,
                      BYOC_SOURCE_MARK " Each file includes this one first.\n"
                                       "#ifndef BYOC_NAMES_H_\n#define BYOC_NAMES_H_\n\n"
                                       "#if !defined(__GNUC__) && !defined(__attribute__)\n"
                                       "#define __attribute__(hints) // for compilers that have none\n#endif\n\n"
                                       "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
                                       "#error \"the constants are little-endian\"\n#endif\n\n"
                                       "// Everything that the files define begins with '%s'.\n",
                      prefix);
  static const char *const own[] = {BYOC_ARTIFACT_ENTRY, "byoc_data", "byoc_metadata"};
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) add(&names, own[i]);
  for (size_t k = 0; k < composing->options->place.count; k++) {
    char table[48];
    snprintf(table, sizeof(table), BYOC_HOST_C_TABLE, k);
    add(&names, table);
  }
  const byoc_composing_shared_t *shared = &composing->shared_levels[0]; // C source has one level
  for (size_t i = 0; i < shared->kernels.count; i++) add(&names, shared->kernels.data[i]->name);
  for (size_t i = 0; i < file_count; i++) add_functions(&names, (const char *)files[i].data, files[i].size_bytes);
  byoc_string_append(out, "\nenum { BYOC_NAMES = 1 }; // a file may have nothing else\n\n#endif // BYOC_NAMES_H_\n");
  byoc_map_deinit(&names.seen);
}

void byoc_source_names_file(const byoc_compose_place_t *place, char *buffer) {
  const char *name = place->count > 0 ? place->names[place->index] : "model";
  snprintf(buffer, BYOC_SOURCE_NAMES_BYTES, "names_%s.h", name);
}

byoc_status_t byoc_source_emit_entry_names(const byoc_composing_entry_t *entry, const char *prefix, byoc_string_t *out,
                                           byoc_diag_t *diag) {
  const byoc_compose_place_t *place = &entry->options.place;
  char own[BYOC_COMPOSE_PREFIX_BYTES + BYOC_COMPOSE_ENTRY_BYTES + 2];
  snprintf(own, sizeof(own), "%s%s%s", prefix, place->count > 0 ? "__" : "",
           place->count > 0 ? place->names[place->index] : "");
  names_t names;
  begin(own, out, &names);
  byoc_string_append(out, BYOC_SOURCE_MARK " The model's own files include this one first, and with it the headers of "
                                           "the system that they need:\n// what follows may be words in them.\n"
                                           "#ifndef BYOC_NAMES_OF_MODEL_H_\n#define BYOC_NAMES_OF_MODEL_H_\n\n"
                                           "#include \"names.h\"\n\n#include <math.h>\n#include <stdint.h>\n"
                                           "#include <string.h>\n\n");
  for (size_t i = 0; i < entry->kernels.count; i++) add(&names, entry->kernels.data[i]->name);
  for (size_t i = 0; i < entry->shared.count; i++) {
    const byoc_map_entry_t *kernel = &entry->shared.entries[i];
    byoc_string_appendf(out, "#define %s %s\n", kernel->text, (const char *)kernel->value);
  }
  for (size_t i = 0; i < entry->program->libraries.count; i++) {
    const byoc_runtime_module_t *module = entry->program->libraries.data[i];
    if (module->kind != BYOC_RUNTIME_MODULE_C_SOURCE) continue; // of announced code
    for (size_t k = 0; k < module->symbols.count; k++) add(&names, module->symbols.data[k]);
    if (module->setup_symbol != NULL) add(&names, module->setup_symbol);
  }
  byoc_status_t status = byoc_source_emit_code_names(entry, prefix, out, diag);
  byoc_string_append(out, "\n#endif // BYOC_NAMES_OF_MODEL_H_\n");
  byoc_map_deinit(&names.seen);
  return status;
}
