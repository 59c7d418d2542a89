// SPDX-License-Identifier: Apache-2.0
// Costs as a JSON document: export and import.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/collage/cost_database.h"

#define FORMAT  "byoc costs"
#define VERSION 1

// ---- export ----

static byoc_status_t add_to_array(void *self, const byoc_cost_record_t *record) {
  const byoc_cost_key_t *key = &record->key;
  json_t *row = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:I, s:I}", "id", key->id, "operators",
                          byoc_json_string(key->operators), "signature", byoc_json_string(key->signature), "target",
                          byoc_json_string(key->target), "plugin", byoc_json_string(key->plugin), "compiler",
                          byoc_json_string(key->compiler), "machine", byoc_json_string(key->machine), "threads",
                          (int)key->thread_count, "measured", (json_int_t)record->measured_at, "used",
                          (json_int_t)record->used_at);
  bool finite = isfinite(record->cost_ns);
  bool ok = row != NULL && json_object_set_new(row, "cost_ns", finite ? json_real(record->cost_ns) : json_null()) == 0;
  if (ok && !finite) ok = json_object_set_new(row, "reason", byoc_json_string(record->reason)) == 0;
  if (ok && record->is_fallback) ok = json_object_set_new(row, "given_back", json_true()) == 0;
  if (!ok) {
    json_decref(row);
    return BYOC_OUT_OF_MEMORY;
  }
  return json_array_append_new(self, row) == 0 ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

byoc_status_t byoc_cost_database_export(byoc_cost_database_t *database, const char *path, byoc_diag_t *diag,
                                        size_t *out_count) {
  *out_count = 0;
  json_t *rows = json_array();
  json_t *document = json_pack("{s:s, s:i, s:O?}", "format", FORMAT, "version", VERSION, "costs", rows);
  char *text = NULL;
  byoc_status_t status = rows != NULL && document != NULL ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  if (status == BYOC_OK) status = byoc_cost_database_visit(database, add_to_array, rows, diag);
  if (status == BYOC_OK) {
    text = byoc_json_dump(document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    if (text == NULL) status = BYOC_OUT_OF_MEMORY;
  }
  if (status == BYOC_OUT_OF_MEMORY) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_file_write_atomic(path, text, strlen(text), 0644, diag);
  if (status == BYOC_OK) *out_count = json_array_size(rows);
  free(text);
  json_decref(document);
  json_decref(rows);
  return status;
}

// ---- import ----

static byoc_status_t malformed(const char *path, size_t index, byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s': entry %zu of \"costs\" is not a cost", path, index);
}

static bool read_row(json_t *row, byoc_cost_record_t *out_record) {
  byoc_cost_record_t record = {.cost_ns = INFINITY};
  byoc_cost_key_t *key = &record.key;
  json_int_t measured = 0, used = 0;
  int threads = 0;
  json_t *cost = json_object_get(row, "cost_ns");
  if (json_unpack(row, "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:I, s?s}", "id", &key->id, "operators",
                  &key->operators, "signature", &key->signature, "target", &key->target, "plugin", &key->plugin,
                  "compiler", &key->compiler, "machine", &key->machine, "threads", &threads, "measured", &measured,
                  "used", &used, "reason", &record.reason) != 0) {
    return false;
  }
  if (json_is_number(cost)) {
    record.cost_ns = json_number_value(cost);
    if (!(record.cost_ns > 0) || !isfinite(record.cost_ns)) return false;
  } else if (!json_is_null(cost) || record.reason == NULL) {
    return false;
  }
  if (strlen(key->id) != 32 || strspn(key->id, "0123456789abcdef") != 32 || threads < 1) return false;
  key->thread_count = threads;
  record.is_fallback = json_is_true(json_object_get(row, "given_back"));
  record.measured_at = measured;
  record.used_at = used;
  *out_record = record;
  return true;
}

static byoc_status_t import_rows(byoc_cost_database_t *database, json_t *rows, const char *path, byoc_diag_t *diag,
                                 size_t *count) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  size_t index;
  json_t *row;
  json_array_foreach(rows, index, row) {
    byoc_cost_record_t record, old;
    if (!read_row(row, &record)) {
      status = malformed(path, index, diag);
      break;
    }
    bool is_older =
        byoc_cost_database_get(database, record.key.id, &arena, &old) && old.measured_at >= record.measured_at;
    if (is_older) continue;
    status = byoc_cost_database_store(database, &record, diag);
    if (status != BYOC_OK) break;
    *count += 1;
  }
  byoc_arena_deinit(&arena);
  return status;
}

byoc_status_t byoc_cost_database_import(byoc_cost_database_t *database, const char *path, byoc_diag_t *diag,
                                        size_t *out_count) {
  *out_count = 0;
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  json_error_t error;
  json_t *document = byoc_json_load(view.data, view.size_bytes, JSON_REJECT_DUPLICATES, &error);
  byoc_file_view_close(&view);
  if (document == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (document == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not JSON: line %d, column %d: %s", path, error.line,
                           error.column, error.text);
  }
  const char *format = json_string_value(json_object_get(document, "format"));
  json_t *rows = json_object_get(document, "costs");
  byoc_status_t status = BYOC_OK;
  size_t count = 0;
  if (format == NULL || strcmp(format, FORMAT) != 0 || !json_is_array(rows)) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' was not written by byoc costs export", path);
  } else if (json_integer_value(json_object_get(document, "version")) != VERSION) {
    status = byoc_diag_error(diag, BYOC_VERSION, "'%s' is of a version that this byoc does not know", path);
  }
  if (status == BYOC_OK) status = byoc_cost_database_begin(database, diag);
  if (status == BYOC_OK) {
    status = import_rows(database, rows, path, diag, &count);
    byoc_status_t ended = byoc_cost_database_end(database, status == BYOC_OK, diag);
    if (status == BYOC_OK) status = ended;
  }
  if (status == BYOC_OK) *out_count = count;
  json_decref(document);
  return status;
}
