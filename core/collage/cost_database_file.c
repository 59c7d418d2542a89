// SPDX-License-Identifier: Apache-2.0
// Opens the file of the cost database: its schema, damage, and waiting for other processes.
#define _GNU_SOURCE
#include "core/collage/cost_database_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"

// The version of the tables below, in PRAGMA user_version. A file with a later version is left alone.
#define SCHEMA_VERSION  5
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
// Another process writes for microseconds; setting the file up, and recovery after a kill, take longer.
enum { BUSY_TIMEOUT_MS = 10000, OPEN_ATTEMPTS = 100, OPEN_PAUSE_US = 20000 };

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS costs ("
    "  id TEXT PRIMARY KEY, operators TEXT NOT NULL, signature TEXT NOT NULL, target TEXT NOT NULL,"
    "  plugin TEXT NOT NULL, compiler TEXT NOT NULL, machine TEXT NOT NULL, threads INTEGER NOT NULL,"
    "  cost_ns REAL,"                         // NULL: infinite
    "  reason TEXT,"                          // why it is infinite
    "  measured INTEGER NOT NULL,"            // seconds since 1970
    "  used INTEGER NOT NULL,"                // by a build, to the day
    "  given_back INTEGER NOT NULL DEFAULT 0" // 1: the backend declined it, which is the reason
    ") WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS speeds ("
    "  machine TEXT PRIMARY KEY, flops_per_ns REAL NOT NULL, bytes_per_ns REAL NOT NULL, call_ns REAL NOT NULL,"
    "  int8_per_ns REAL NOT NULL, bf16_per_ns REAL NOT NULL" // 0: not measured
    ") WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS notes ("
    "  id TEXT PRIMARY KEY, value REAL NOT NULL, noted INTEGER NOT NULL" // seconds since 1970
    ") WITHOUT ROWID;"
    "DROP TABLE IF EXISTS calibrations;"                                           // of version 1
    "DROP TABLE IF EXISTS machines;"                                               // of versions 2 to 4
    "DELETE FROM costs WHERE operators IN ('search', 'contest', 'contest error');" // of version 2: these are notes now
    "PRAGMA user_version = " TEXT(SCHEMA_VERSION) ";";

typedef enum outcome_t {
  OUTCOME_READY,
  OUTCOME_BUSY,    // try again
  OUTCOME_DAMAGED, // not a database any more
  OUTCOME_NEWER,   // of a later byoc
  OUTCOME_FOREIGN, // a database, but another program's
  OUTCOME_FAILED,
} outcome_t;

static outcome_t outcome_of(int code) {
  switch (code & 0xff) {
  case SQLITE_OK:
  case SQLITE_DONE:
  case SQLITE_ROW:
    return OUTCOME_READY;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
  case SQLITE_PROTOCOL:
    return OUTCOME_BUSY;
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return OUTCOME_DAMAGED;
  default:
    return OUTCOME_FAILED;
  }
}

// Runs a pragma that answers with one row; *out_number is the answer as a number, `text` as text.
static int ask(sqlite3 *connection, const char *sql, int *out_number, char *text, size_t size) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(connection, sql, -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code == SQLITE_ROW) {
    *out_number = sqlite3_column_int(statement, 0);
    const unsigned char *value = sqlite3_column_text(statement, 0);
    snprintf(text, size, "%s", value != NULL ? (const char *)value : "");
  }
  int finished = sqlite3_finalize(statement);
  return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : finished != SQLITE_OK ? finished : code;
}

// In versions 1 to 3, only the text of the reason shows that a backend declined the function.
static const char upgrade[] =
    "ALTER TABLE costs ADD COLUMN given_back INTEGER NOT NULL DEFAULT 0;"
    "UPDATE costs SET given_back = 1 WHERE reason LIKE 'it cannot be built: the backend gave it back: %';";

#define FLAG_COLUMNS "SELECT count(*) FROM pragma_table_info('costs') WHERE name = 'given_back'"

// In one transaction, so that a process killed here leaves an empty file or the tables.
static int create_tables(sqlite3 *connection) {
  int code = sqlite3_exec(connection, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  if (code != SQLITE_OK) return code;
  int columns = 0, flags = 0;
  char text[32] = "";
  code = ask(connection, "SELECT count(*) FROM pragma_table_info('costs')", &columns, text, sizeof(text));
  if (code == SQLITE_OK && columns > 0) code = ask(connection, FLAG_COLUMNS, &flags, text, sizeof(text));
  if (code == SQLITE_OK && columns > 0 && flags == 0) code = sqlite3_exec(connection, upgrade, NULL, NULL, NULL);
  if (code == SQLITE_OK) code = sqlite3_exec(connection, schema, NULL, NULL, NULL);
  if (code == SQLITE_OK) code = sqlite3_exec(connection, "COMMIT", NULL, NULL, NULL);
  if (code != SQLITE_OK) (void)sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL);
  return code;
}

static outcome_t prepare(sqlite3 *connection, int *out_code) {
  int tables = 0, version = 0, number = 0;
  char text[128] = "";
  int code = sqlite3_busy_timeout(connection, BUSY_TIMEOUT_MS);
  // First find out whose file it is: byoc writes nothing into another program's database. The number of tables is read
  // before the version: another process may be making them, and the version comes with them.
  if (code == SQLITE_OK) code = ask(connection, "SELECT count(*) FROM sqlite_master", &tables, text, sizeof(text));
  if (code == SQLITE_OK) code = ask(connection, "PRAGMA user_version", &version, text, sizeof(text));
  if (code == SQLITE_OK && version > SCHEMA_VERSION) return OUTCOME_NEWER;
  if (code == SQLITE_OK && version == 0 && tables > 0) return OUTCOME_FOREIGN;
  // Commits survive the end of the process but not a power cut: lost costs are measured again. If the file system has
  // no shared memory, SQLite answers with another mode, which works too.
  if (code == SQLITE_OK) code = ask(connection, "PRAGMA journal_mode = WAL", &number, text, sizeof(text));
  if (code == SQLITE_OK) code = sqlite3_exec(connection, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
  if (code == SQLITE_OK) code = ask(connection, "PRAGMA quick_check(1)", &number, text, sizeof(text));
  if (code == SQLITE_OK && strcmp(text, "ok") != 0) return OUTCOME_DAMAGED;
  if (code == SQLITE_OK && version < SCHEMA_VERSION) code = create_tables(connection);
  *out_code = code;
  return outcome_of(code);
}

static outcome_t try_open(const char *path, bool create, sqlite3 **out_connection, char *reason, size_t size) {
  sqlite3 *connection = NULL;
  const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_FULLMUTEX;
  outcome_t outcome = OUTCOME_BUSY;
  for (int attempt = 0; outcome == OUTCOME_BUSY && attempt < OPEN_ATTEMPTS; ++attempt) {
    if (attempt > 0) (void)usleep(OPEN_PAUSE_US);
    int code = sqlite3_open_v2(path, &connection, flags, NULL);
    outcome = outcome_of(code);
    if (outcome == OUTCOME_READY) outcome = prepare(connection, &code);
    if (outcome == OUTCOME_READY) break;
    snprintf(reason, size, "%s", sqlite3_errstr(code)); // the connection's own text may be that of a rollback
    (void)sqlite3_close(connection);
    connection = NULL;
  }
  *out_connection = connection;
  return outcome;
}

// Only one process at a time moves a damaged file aside, and it looks again first: another may have done it already.
static outcome_t replace_damaged(const char *path, byoc_allocator_t allocator, sqlite3 **out_connection, char *reason,
                                 size_t size) {
  byoc_string_t name;
  byoc_string_init(&name, allocator);
  byoc_string_appendf(&name, "%s.lock", path);
  int lock = name.failed ? -1 : open(name.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock >= 0) (void)flock(lock, LOCK_EX);
  outcome_t outcome = try_open(path, true, out_connection, reason, size);
  if (outcome == OUTCOME_DAMAGED) {
    byoc_string_clear(&name);
    byoc_string_appendf(&name, "%s.damaged", path);
    bool moved = !name.failed && rename(path, name.data) == 0;
    byoc_log(BYOC_LOG_WARNING, "the cost database '%s' is damaged%s%s%s; costs are measured again", path,
             moved ? " and was renamed to '" : "", moved ? name.data : "", moved ? "'" : "");
    // The log and the index belong to the damaged file.
    static const char *const endings[] = {"-wal", "-shm"};
    for (size_t i = 0; moved && i < 2; ++i) {
      byoc_string_clear(&name);
      byoc_string_appendf(&name, "%s%s", path, endings[i]);
      if (!name.failed) (void)unlink(name.data);
    }
    if (moved) outcome = try_open(path, true, out_connection, reason, size);
  }
  if (lock >= 0) (void)close(lock);
  byoc_string_deinit(&name);
  return outcome;
}

static const char *explain(outcome_t outcome, const char *reason) {
  if (outcome == OUTCOME_NEWER) return "it was written by a later byoc";
  if (outcome == OUTCOME_FOREIGN) return "it is another program's database";
  return reason;
}

// ---- reading only ----

// "file:PATH?OPTION", with the path's own question marks and such written as %3f.
static char *make_uri(const char *path, const char *option, byoc_allocator_t allocator) {
  byoc_string_t uri;
  byoc_string_init(&uri, allocator);
  byoc_string_append(&uri, "file:");
  for (const char *at = path; *at != '\0'; ++at) {
    if (strchr("?#%", *at) != NULL) byoc_string_appendf(&uri, "%%%02x", (unsigned char)*at);
    if (strchr("?#%", *at) == NULL) byoc_string_append_bytes(&uri, at, 1);
  }
  byoc_string_appendf(&uri, "?%s", option);
  char *text = uri.failed ? NULL : byoc_string_release(&uri);
  byoc_string_deinit(&uri);
  return text;
}

static bool has_tables(sqlite3 *connection) {
  int version = 0;
  char text[32] = "";
  return ask(connection, "PRAGMA user_version", &version, text, sizeof(text)) == SQLITE_OK && version == SCHEMA_VERSION;
}

// Where nothing can be written, SQLite cannot set up the index of its log. If it finds no log, nobody is writing, and
// the file may be taken for one that does not change.
static sqlite3 *open_to_read(const char *path, byoc_allocator_t allocator) {
  static const char *const options[] = {"mode=ro", "immutable=1"};
  sqlite3 *connection = NULL;
  for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); ++i) {
    char *uri = make_uri(path, options[i], allocator);
    int code = uri == NULL ? SQLITE_NOMEM
                           : sqlite3_open_v2(uri, &connection,
                                             SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, NULL);
    byoc_free(allocator, uri);
    if (code == SQLITE_OK && has_tables(connection)) return connection;
    (void)sqlite3_close(connection);
    connection = NULL;
  }
  return NULL;
}

sqlite3 *byoc_cost_file_open(const char *path, byoc_allocator_t allocator,
                             char out_reason[BYOC_COST_FILE_REASON_BYTES]) {
  sqlite3 *connection = NULL;
  char reason[BYOC_COST_FILE_REASON_BYTES] = "";
  outcome_t outcome = try_open(path, true, &connection, reason, sizeof(reason));
  if (outcome == OUTCOME_DAMAGED) outcome = replace_damaged(path, allocator, &connection, reason, sizeof(reason));
  if (outcome == OUTCOME_FAILED) connection = open_to_read(path, allocator);
  if (connection != NULL) outcome = OUTCOME_READY;
  snprintf(out_reason, BYOC_COST_FILE_REASON_BYTES, "%s", outcome != OUTCOME_READY ? explain(outcome, reason) : "");
  return connection;
}

byoc_status_t byoc_cost_file_open_named(const char *path, bool may_create, byoc_diag_t *diag,
                                        sqlite3 **out_connection) {
  char reason[BYOC_COST_FILE_REASON_BYTES] = "";
  if (!may_create && !byoc_file_exists(path)) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "there is no cost database '%s'", path);
  }
  outcome_t outcome = try_open(path, may_create, out_connection, reason, sizeof(reason));
  if (outcome == OUTCOME_READY) return BYOC_OK;
  return byoc_diag_error(diag, outcome == OUTCOME_FAILED ? BYOC_IO : BYOC_INVALID_DATA,
                         "'%s' cannot be used as a cost database: %s", path, explain(outcome, reason));
}

sqlite3 *byoc_cost_memory_open(void) {
  sqlite3 *connection = NULL;
  if (sqlite3_open(":memory:", &connection) == SQLITE_OK && create_tables(connection) == SQLITE_OK) return connection;
  (void)sqlite3_close(connection);
  return NULL;
}
