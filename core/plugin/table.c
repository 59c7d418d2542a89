// SPDX-License-Identifier: Apache-2.0
// Reads a table's identity. The table reader reads the rest.
#include "core/plugin/table.h"

#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/string.h"
#include "core/plugin/identity.h"

bool byoc_plugin_is_table(const char *path) {
  return byoc_ends_with(path, ".json");
}

// `fallback` NULL: the string is required.
static byoc_status_t read_text(const json_t *table, const char *key, const char *fallback, char *out, size_t size,
                               byoc_diag_t *diag) {
  const json_t *member = json_object_get(table, key);
  const char *text = member == NULL ? fallback : json_string_value(member);
  if (text == NULL) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_DATA, "it is not a table of byoc: the member '%s' is missing", key);
    byoc_diag_hint(diag, "a table has the members target, description, library and rules");
    return status;
  }
  if (strlen(text) < size) {
    memcpy(out, text, strlen(text) + 1);
    return BYOC_OK;
  }
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "its %s has %zu bytes, more than %zu", key, strlen(text), size - 1);
}

static byoc_status_t read_identity(const json_t *table, byoc_diag_t *diag, byoc_plugin_note_t *note) {
  char target[32] = ""; // the bytes after its end go into the note, too
  BYOC_RETURN_IF_ERROR(read_text(table, "target", NULL, target, sizeof(target), diag));
  memcpy(note->name, target, sizeof(note->name));
  memcpy(note->targets, target, sizeof(target));
  BYOC_RETURN_IF_ERROR(read_text(table, "version", "1", note->version, sizeof(note->version), diag));
  return read_text(table, "description", NULL, note->description, sizeof(note->description), diag);
}

byoc_status_t byoc_plugin_table_identity(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                         bool *out_has_note) {
  *out_note = (byoc_plugin_note_t){
      .struct_size = sizeof(*out_note), .abi_major = BYOC_ABI_MAJOR, .abi_minor_built = BYOC_ABI_MINOR};
  *out_has_note = false;
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  json_error_t error;
  json_t *table = byoc_json_load(view.data, view.size_bytes, JSON_REJECT_DUPLICATES, &error);
  byoc_status_t status = BYOC_OK;
  if (table == NULL && byoc_json_out_of_memory(&error)) {
    status = byoc_diag_out_of_memory(diag);
  } else if (table == NULL) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "it is not JSON: %s (line %d, column %d)", error.text, error.line,
                             error.column);
  } else {
    status = read_identity(table, diag, out_note);
  }
  json_decref(table);
  byoc_file_view_close(&view);
  BYOC_RETURN_IF_ERROR(status);
  BYOC_RETURN_IF_ERROR(byoc_plugin_note_check(out_note, diag));
  *out_has_note = true;
  return BYOC_OK;
}

byoc_status_t byoc_plugin_any_identity(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                       bool *out_has_note) {
  return byoc_plugin_is_table(path) ? byoc_plugin_table_identity(path, diag, out_note, out_has_note)
                                    : byoc_plugin_identity_read(path, diag, out_note, out_has_note);
}
