// SPDX-License-Identifier: Apache-2.0
// Records of the cost database: reading, writing, pruning.
#include "core/collage/cost_database.h"

#include <string.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/collage/cost_database_file.h"

enum { SECONDS_A_DAY = 86400 };

struct byoc_cost_database_t {
  byoc_allocator_t allocator;
  char *path;
  sqlite3 *file;                            // NULL: cannot be used
  char reason[BYOC_COST_FILE_REASON_BYTES]; // why not
  sqlite3 *memory;                          // records that the file did not accept; NULL until needed
  bool warned;
};

#define COLUMNS                                                                                                        \
  "id, operators, signature, target, plugin, compiler, machine, threads, cost_ns, reason, measured, used, given_back"

// Makes a database without a file yet. `path` is NULL if there is no place for one.
static byoc_status_t create(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                            byoc_cost_database_t **out_database) {
  byoc_cost_database_t *database = byoc_allocate(allocator, 1, sizeof(*database));
  if (database == NULL) return byoc_diag_out_of_memory(diag);
  database->allocator = allocator;
  database->path = path != NULL ? byoc_copy_string(allocator, path) : NULL;
  *out_database = database;
  return path == NULL || database->path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t use_default_path(byoc_cost_database_t *database, byoc_diag_t *diag) {
  byoc_diag_t cache_diag = {0};
  char *folder = NULL;
  if (byoc_cache_directory(database->allocator, &cache_diag, &folder) != BYOC_OK) {
    byoc_log(BYOC_LOG_WARNING, "costs of this build are not kept: %s", cache_diag.message);
    snprintf(database->reason, sizeof(database->reason), "%s", cache_diag.message);
    return BYOC_OK;
  }
  database->path = byoc_path_join(database->allocator, folder, "costs.sqlite");
  byoc_free(database->allocator, folder);
  return database->path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Closes a database that was opened only in part.
static byoc_status_t hand_over(byoc_status_t status, byoc_cost_database_t **database) {
  if (status == BYOC_OK) return BYOC_OK;
  byoc_cost_database_close(*database);
  *database = NULL;
  return status;
}

byoc_status_t byoc_cost_database_open(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_cost_database_t **out_database) {
  *out_database = NULL;
  byoc_status_t status = create(path, allocator, diag, out_database);
  if (status == BYOC_OK && path == NULL) status = use_default_path(*out_database, diag);
  if (status == BYOC_OK && (*out_database)->path != NULL) {
    byoc_cost_database_t *database = *out_database;
    database->file = byoc_cost_file_open(database->path, allocator, database->reason);
    if (database->file == NULL) {
      byoc_log(BYOC_LOG_WARNING, "the cost database '%s' cannot be used (%s); costs of this build are not kept",
               database->path, database->reason);
    } else if (sqlite3_db_readonly(database->file, "main") == 1) {
      byoc_log(BYOC_LOG_DEBUG, "the cost database '%s' is only read; new costs are not kept", database->path);
      database->warned = true;
    }
  }
  return hand_over(status, out_database);
}

byoc_status_t byoc_cost_database_open_named(const char *path, bool may_create, byoc_allocator_t allocator,
                                            byoc_diag_t *diag, byoc_cost_database_t **out_database) {
  *out_database = NULL;
  byoc_status_t status = create(path, allocator, diag, out_database);
  if (status == BYOC_OK) status = byoc_cost_file_open_named(path, may_create, diag, &(*out_database)->file);
  return hand_over(status, out_database);
}

void byoc_cost_database_close(byoc_cost_database_t *database) {
  if (database == NULL) return;
  (void)sqlite3_close(database->file);
  (void)sqlite3_close(database->memory);
  byoc_free(database->allocator, database->path);
  byoc_free(database->allocator, database);
}

const char *byoc_cost_database_path(const byoc_cost_database_t *database) {
  return database->file != NULL ? database->path : NULL;
}

// ---- statements ----

static sqlite3_stmt *prepare(sqlite3 *connection, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (connection == NULL || sqlite3_prepare_v2(connection, sql, -1, &statement, NULL) != SQLITE_OK) return NULL;
  return statement;
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text) {
  (void)sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC); // a failure leaves NULL, which NOT NULL refuses
}

// Runs a statement to its end; returns SQLite's code.
static int finish(sqlite3 *connection, sqlite3_stmt *statement) {
  if (statement == NULL) return sqlite3_errcode(connection);
  int code = sqlite3_step(statement);
  int finished = sqlite3_finalize(statement);
  return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : finished;
}

static byoc_status_t report(const byoc_cost_database_t *database, byoc_diag_t *diag) {
  if (database->file == NULL) {
    return byoc_diag_error(diag, BYOC_IO, "the cost database cannot be used: %s", database->reason);
  }
  return byoc_diag_error(diag, BYOC_IO, "the cost database '%s': %s", database->path, sqlite3_errmsg(database->file));
}

static void warn(byoc_cost_database_t *database) {
  if (database->warned) return;
  database->warned = true;
  byoc_log(BYOC_LOG_WARNING, "the cost database '%s' cannot be written (%s); costs of this build are not kept",
           database->path, sqlite3_errmsg(database->file));
}

// ---- one record ----

static const char *column(sqlite3_stmt *statement, int index) {
  const char *text = (const char *)sqlite3_column_text(statement, index);
  return text != NULL ? text : "";
}

// The strings belong to the statement.
static byoc_cost_record_t read_record(sqlite3_stmt *statement) {
  byoc_cost_record_t record = {.key = {.id = column(statement, 0),
                                       .operators = column(statement, 1),
                                       .signature = column(statement, 2),
                                       .target = column(statement, 3),
                                       .plugin = column(statement, 4),
                                       .compiler = column(statement, 5),
                                       .machine = column(statement, 6),
                                       .thread_count = sqlite3_column_int(statement, 7)},
                               .cost_ns = INFINITY,
                               .measured_at = sqlite3_column_int64(statement, 10),
                               .used_at = sqlite3_column_int64(statement, 11)};
  if (sqlite3_column_type(statement, 8) == SQLITE_NULL) {
    record.reason = column(statement, 9);
    record.is_fallback = sqlite3_column_int(statement, 12) != 0;
  } else {
    record.cost_ns = sqlite3_column_double(statement, 8);
  }
  return record;
}

static bool copy_texts(byoc_cost_record_t *record, byoc_arena_t *arena) {
  const char **texts[] = {&record->key.id,     &record->key.operators, &record->key.signature, &record->key.target,
                          &record->key.plugin, &record->key.compiler,  &record->key.machine,   &record->reason};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    if (*texts[i] == NULL) continue;
    *texts[i] = byoc_arena_copy_string(arena, *texts[i]);
    if (*texts[i] == NULL) return false;
  }
  return true;
}

static bool get_from(sqlite3 *connection, const char *id, byoc_arena_t *arena, byoc_cost_record_t *out_record) {
  sqlite3_stmt *statement = prepare(connection, "SELECT " COLUMNS " FROM costs WHERE id = ?1");
  if (statement == NULL) return false;
  bind_text(statement, 1, id);
  bool found = sqlite3_step(statement) == SQLITE_ROW;
  if (found) {
    byoc_cost_record_t record = read_record(statement);
    found =
        record.cost_ns > 0 && copy_texts(&record, arena); // a measured time is never 0: byoc did not write such a row
    if (found) *out_record = record;
  }
  (void)sqlite3_finalize(statement);
  return found;
}

// Marks a record as used, once a day: a hit should not cost a write.
static void touch(byoc_cost_database_t *database, const byoc_cost_record_t *record) {
  int64_t now = (int64_t)time(NULL);
  if (now - record->used_at < SECONDS_A_DAY) return;
  sqlite3_stmt *statement = prepare(database->file, "UPDATE costs SET used = ?2 WHERE id = ?1");
  if (statement == NULL) return;
  bind_text(statement, 1, record->key.id);
  (void)sqlite3_bind_int64(statement, 2, now);
  (void)finish(database->file, statement);
}

bool byoc_cost_database_get(byoc_cost_database_t *database, const char *id, byoc_arena_t *arena,
                            byoc_cost_record_t *out_record) {
  *out_record = (byoc_cost_record_t){0};
  if (get_from(database->memory, id, arena, out_record)) return true;
  if (!get_from(database->file, id, arena, out_record)) return false;
  touch(database, out_record);
  return true;
}

static int put_into(sqlite3 *connection, const byoc_cost_record_t *record) {
  sqlite3_stmt *statement = prepare(connection, "INSERT OR REPLACE INTO costs (" COLUMNS
                                                ") VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)");
  if (statement == NULL) return sqlite3_errcode(connection);
  const byoc_cost_key_t *key = &record->key;
  const char *const texts[] = {key->id,     key->operators, key->signature, key->target,
                               key->plugin, key->compiler,  key->machine};
  for (int i = 0; i < 7; ++i) bind_text(statement, i + 1, texts[i]);
  int64_t now = (int64_t)time(NULL);
  (void)sqlite3_bind_int(statement, 8, key->thread_count);
  if (isfinite(record->cost_ns)) (void)sqlite3_bind_double(statement, 9, record->cost_ns);
  if (!isfinite(record->cost_ns)) bind_text(statement, 10, record->reason != NULL ? record->reason : "");
  (void)sqlite3_bind_int64(statement, 11, record->measured_at != 0 ? record->measured_at : now);
  (void)sqlite3_bind_int64(statement, 12, record->used_at != 0 ? record->used_at : now);
  (void)sqlite3_bind_int(statement, 13, record->is_fallback);
  return finish(connection, statement);
}

// Records that the file does not accept are kept in memory.
static sqlite3 *fall_back(byoc_cost_database_t *database) {
  if (database->file != NULL) warn(database);
  if (database->memory == NULL) database->memory = byoc_cost_memory_open();
  return database->memory;
}

void byoc_cost_database_put(byoc_cost_database_t *database, const byoc_cost_record_t *record) {
  if (database->file != NULL && put_into(database->file, record) == SQLITE_OK) return;
  sqlite3 *memory = fall_back(database);
  if (memory != NULL) (void)put_into(memory, record); // without memory it is measured again
}

// ---- calibrations ----

double byoc_calibration_peak(const byoc_calibration_t *calibration, byoc_arithmetic_t type) {
  if (calibration->peaks[type] > 0) return calibration->peaks[type];
  return calibration->flops_per_ns * (type == BYOC_ARITHMETIC_F64 ? 0.5 : 1);
}

static bool get_calibration_from(sqlite3 *connection, const char *machine, byoc_calibration_t *out) {
  sqlite3_stmt *statement =
      prepare(connection,
              "SELECT flops_per_ns, bytes_per_ns, call_ns, int8_per_ns, bf16_per_ns FROM speeds WHERE machine = ?1");
  if (statement == NULL) return false;
  bind_text(statement, 1, machine);
  byoc_calibration_t found = {0};
  if (sqlite3_step(statement) == SQLITE_ROW) {
    found.flops_per_ns = sqlite3_column_double(statement, 0);
    found.bytes_per_ns = sqlite3_column_double(statement, 1);
    found.call_ns = sqlite3_column_double(statement, 2);
    found.peaks[BYOC_ARITHMETIC_INT8] = sqlite3_column_double(statement, 3);
    found.peaks[BYOC_ARITHMETIC_BF16] = sqlite3_column_double(statement, 4);
  }
  (void)sqlite3_finalize(statement);
  bool usable = found.flops_per_ns > 0 && found.bytes_per_ns > 0;
  if (usable) *out = found;
  return usable;
}

bool byoc_cost_database_get_calibration(byoc_cost_database_t *database, const char *machine,
                                        byoc_calibration_t *out_calibration) {
  *out_calibration = (byoc_calibration_t){0};
  return get_calibration_from(database->memory, machine, out_calibration) ||
         get_calibration_from(database->file, machine, out_calibration);
}

static int put_calibration_into(sqlite3 *connection, const char *machine, const byoc_calibration_t *calibration) {
  sqlite3_stmt *statement =
      prepare(connection, "INSERT OR REPLACE INTO speeds (machine, flops_per_ns, bytes_per_ns, call_ns, int8_per_ns, "
                          "bf16_per_ns) VALUES (?1,?2,?3,?4,?5,?6)");
  if (statement == NULL) return sqlite3_errcode(connection);
  bind_text(statement, 1, machine);
  (void)sqlite3_bind_double(statement, 2, calibration->flops_per_ns);
  (void)sqlite3_bind_double(statement, 3, calibration->bytes_per_ns);
  (void)sqlite3_bind_double(statement, 4, calibration->call_ns);
  (void)sqlite3_bind_double(statement, 5, calibration->peaks[BYOC_ARITHMETIC_INT8]);
  (void)sqlite3_bind_double(statement, 6, calibration->peaks[BYOC_ARITHMETIC_BF16]);
  return finish(connection, statement);
}

void byoc_cost_database_put_calibration(byoc_cost_database_t *database, const char *machine,
                                        const byoc_calibration_t *calibration) {
  if (database->file != NULL && put_calibration_into(database->file, machine, calibration) == SQLITE_OK) return;
  sqlite3 *memory = fall_back(database);
  if (memory != NULL) (void)put_calibration_into(memory, machine, calibration);
}

// ---- notes ----

static bool get_note_from(sqlite3 *connection, const char *id, double *out_value) {
  sqlite3_stmt *statement = prepare(connection, "SELECT value FROM notes WHERE id = ?1");
  if (statement == NULL) return false;
  bind_text(statement, 1, id);
  bool found = sqlite3_step(statement) == SQLITE_ROW;
  if (found) *out_value = sqlite3_column_double(statement, 0);
  (void)sqlite3_finalize(statement);
  return found;
}

bool byoc_cost_database_get_note(byoc_cost_database_t *database, const char *id, double *out_value) {
  return get_note_from(database->memory, id, out_value) || get_note_from(database->file, id, out_value);
}

static int put_note_into(sqlite3 *connection, const char *id, double value) {
  sqlite3_stmt *statement = prepare(connection, "INSERT OR REPLACE INTO notes (id, value, noted) VALUES (?1,?2,?3)");
  if (statement == NULL) return sqlite3_errcode(connection);
  bind_text(statement, 1, id);
  (void)sqlite3_bind_double(statement, 2, value);
  (void)sqlite3_bind_int64(statement, 3, (int64_t)time(NULL));
  return finish(connection, statement);
}

void byoc_cost_database_put_note(byoc_cost_database_t *database, const char *id, double value) {
  if (database->file != NULL && put_note_into(database->file, id, value) == SQLITE_OK) return;
  sqlite3 *memory = fall_back(database);
  if (memory != NULL) (void)put_note_into(memory, id, value);
}

// ---- for byoc costs ----

byoc_status_t byoc_cost_database_visit(byoc_cost_database_t *database,
                                       byoc_status_t (*visit)(void *self, const byoc_cost_record_t *record), void *self,
                                       byoc_diag_t *diag) {
  sqlite3_stmt *statement =
      prepare(database->file, "SELECT " COLUMNS " FROM costs ORDER BY target, operators, signature, id");
  if (statement == NULL) return report(database, diag);
  byoc_status_t status = BYOC_OK;
  int code = SQLITE_ROW;
  while (status == BYOC_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    byoc_cost_record_t record = read_record(statement);
    status = visit(self, &record);
  }
  if (status == BYOC_OK && code != SQLITE_DONE) status = report(database, diag);
  (void)sqlite3_finalize(statement);
  return status;
}

byoc_status_t byoc_cost_database_prune(byoc_cost_database_t *database, int64_t age_s, byoc_diag_t *diag,
                                       size_t *out_removed) {
  *out_removed = 0;
  static const char *const deletions[] = {"DELETE FROM notes WHERE noted <= ?1", "DELETE FROM costs WHERE used <= ?1"};
  for (size_t i = 0; i < sizeof(deletions) / sizeof(deletions[0]); ++i) {
    sqlite3_stmt *statement = prepare(database->file, deletions[i]);
    if (statement == NULL) return report(database, diag);
    (void)sqlite3_bind_int64(statement, 1, (int64_t)time(NULL) - age_s);
    if (finish(database->file, statement) != SQLITE_OK) return report(database, diag);
    *out_removed = (size_t)sqlite3_changes(database->file); // the last deletion is that of costs
  }
  // Returns the space to the file system if no other process uses the file; otherwise a later prune does.
  if (*out_removed > 0) (void)sqlite3_exec(database->file, "VACUUM", NULL, NULL, NULL);
  return BYOC_OK;
}

byoc_status_t byoc_cost_database_begin(byoc_cost_database_t *database, byoc_diag_t *diag) {
  if (database->file == NULL || sqlite3_exec(database->file, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
    return report(database, diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_cost_database_end(byoc_cost_database_t *database, bool keep, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_OK;
  if (keep && sqlite3_exec(database->file, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) status = report(database, diag);
  if (!keep || status != BYOC_OK) (void)sqlite3_exec(database->file, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

byoc_status_t byoc_cost_database_store(byoc_cost_database_t *database, const byoc_cost_record_t *record,
                                       byoc_diag_t *diag) {
  return put_into(database->file, record) == SQLITE_OK ? BYOC_OK : report(database, diag);
}
