// SPDX-License-Identifier: Apache-2.0
// The cost database: what is kept, shared, survives a kill, damage and a full disk.
#include "tests/support/support.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/collage/cost_database.h"

typedef struct fixture_t {
  char *folder, *path;
  byoc_arena_t arena;
} fixture_t;

static int set_up(void **state) {
  fixture_t *fixture = calloc(1, sizeof(*fixture));
  fixture->folder = byoc_test_folder();
  fixture->path = byoc_path_join(byoc_allocator_system(), fixture->folder, "costs.sqlite");
  byoc_arena_init(&fixture->arena, byoc_allocator_system());
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  fixture_t *fixture = *state;
  (void)byoc_remove_tree(fixture->folder, NULL);
  byoc_arena_deinit(&fixture->arena);
  free(fixture->folder);
  free(fixture->path);
  free(fixture);
  return 0;
}

static byoc_cost_database_t *open_database(const char *path) {
  byoc_cost_database_t *database = NULL;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_database_open(path, byoc_allocator_system(), &diag, &database), &diag);
  return database;
}

static byoc_cost_record_t record_of(char id[33], unsigned number, double cost_ns) {
  snprintf(id, 33, "%032x", number);
  return (byoc_cost_record_t){.key = {.id = id,
                                      .operators = "Conv+Relu",
                                      .signature = "(f32[1]) -> (f32[1])",
                                      .target = "c -O=3",
                                      .plugin = "byoc 1",
                                      .compiler = "cc 1",
                                      .machine = "here",
                                      .thread_count = 2},
                              .cost_ns = cost_ns,
                              .reason = isinf(cost_ns) ? "it crashed" : NULL};
}

static void put(byoc_cost_database_t *database, unsigned number, double cost_ns) {
  char id[33];
  byoc_cost_record_t record = record_of(id, number, cost_ns);
  byoc_cost_database_put(database, &record);
}

static bool get(fixture_t *fixture, byoc_cost_database_t *database, unsigned number, byoc_cost_record_t *out) {
  char id[33];
  snprintf(id, sizeof(id), "%032x", number);
  return byoc_cost_database_get(database, id, &fixture->arena, out);
}

static byoc_status_t count_record(void *self, const byoc_cost_record_t *record) {
  (void)record;
  *(size_t *)self += 1;
  return BYOC_OK;
}

static size_t count(byoc_cost_database_t *database) {
  size_t result = 0;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_database_visit(database, count_record, &result, &diag), &diag);
  return result;
}

static void test_c5_records_are_kept(void **state) {
  fixture_t *fixture = *state;
  byoc_cost_database_t *database = open_database(fixture->path);
  byoc_cost_record_t found;
  assert_false(get(fixture, database, 1, &found));
  put(database, 1, 12.5);
  put(database, 2, INFINITY);
  put(database, 1, 13.25); // replaces
  const byoc_calibration_t machine = {.flops_per_ns = 200, .bytes_per_ns = 10, .peaks = {[BYOC_ARITHMETIC_INT8] = 800}};
  byoc_cost_database_put_calibration(database, "here", &machine);
  byoc_cost_database_close(database);
  database = open_database(fixture->path);
  byoc_test_same_text(byoc_cost_database_path(database), fixture->path);
  assert_true(get(fixture, database, 1, &found));
  assert_true(found.cost_ns == 13.25);
  assert_null(found.reason);
  assert_string_equal(found.key.operators, "Conv+Relu");
  assert_int_equal(found.key.thread_count, 2);
  assert_true(found.measured_at > 1600000000);
  assert_true(get(fixture, database, 2, &found));
  assert_true(isinf(found.cost_ns));
  assert_string_equal(found.reason, "it crashed");
  byoc_calibration_t calibration;
  assert_true(byoc_cost_database_get_calibration(database, "here", &calibration));
  assert_true(calibration.flops_per_ns == 200);
  assert_true(byoc_calibration_peak(&calibration, BYOC_ARITHMETIC_INT8) == 800);
  assert_true(byoc_calibration_peak(&calibration, BYOC_ARITHMETIC_BF16) == 200);
  assert_false(byoc_cost_database_get_calibration(database, "there", &calibration));
  assert_int_equal(count(database), 2);
  byoc_cost_database_close(database);
}

static void test_prune(void **state) {
  fixture_t *fixture = *state;
  byoc_cost_database_t *database = open_database(fixture->path);
  char id[33];
  byoc_cost_record_t old = record_of(id, 1, 1), found;
  old.used_at = 1600000000;
  old.measured_at = 1600000000;
  byoc_cost_database_put(database, &old);
  put(database, 2, 2);
  size_t removed = 0;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_database_prune(database, 86400, &diag, &removed), &diag);
  assert_int_equal(removed, 1);
  assert_true(get(fixture, database, 2, &found));
  // A hit is a use.
  byoc_cost_database_put(database, &old);
  assert_true(get(fixture, database, 1, &found));
  byoc_test_ok(byoc_cost_database_prune(database, 86400, &diag, &removed), &diag);
  assert_int_equal(removed, 0);
  byoc_test_ok(byoc_cost_database_prune(database, 0, &diag, &removed), &diag);
  assert_int_equal(removed, 2);
  byoc_cost_database_close(database);
}

// Notes are neither listed nor exported; an earlier version kept them among the costs.
static void test_notes(void **state) {
  fixture_t *fixture = *state;
  byoc_cost_database_t *database = open_database(fixture->path);
  double value = 0;
  assert_false(byoc_cost_database_get_note(database, "search 1", &value));
  byoc_cost_database_put_note(database, "search 1", 60e9);
  byoc_cost_database_put_note(database, "search 1", 0);
  put(database, 1, 2);
  char id[33];
  byoc_cost_record_t found, former = record_of(id, 2, 60e9);
  former.key.operators = "contest";
  byoc_cost_database_put(database, &former);
  byoc_cost_database_close(database);
  sqlite3 *file = NULL;
  assert_int_equal(sqlite3_open(fixture->path, &file), SQLITE_OK);
  assert_int_equal(sqlite3_exec(file, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(file);
  database = open_database(fixture->path);
  value = 1;
  assert_true(byoc_cost_database_get_note(database, "search 1", &value));
  assert_true(value == 0);
  assert_int_equal(count(database), 1);
  assert_true(get(fixture, database, 1, &found));
  size_t removed = 0;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_database_prune(database, 0, &diag, &removed), &diag);
  assert_int_equal(removed, 1);
  assert_false(byoc_cost_database_get_note(database, "search 1", &value));
  byoc_cost_database_close(database);
}

// In a file of version 3 only the reason's text says what a backend gave back; afterwards a column says so.
static void test_upgrade_fallback(void **state) {
  fixture_t *fixture = *state;
  byoc_cost_database_t *database = open_database(fixture->path);
  char ids[2][33];
  byoc_cost_record_t crashed = record_of(ids[0], 1, INFINITY), declined = record_of(ids[1], 2, INFINITY), found;
  crashed.reason = "it crashed";
  declined.reason = "it cannot be built: the backend gave it back: too small";
  byoc_cost_database_put(database, &crashed);
  byoc_cost_database_put(database, &declined);
  byoc_cost_database_close(database);
  sqlite3 *file = NULL;
  assert_int_equal(sqlite3_open(fixture->path, &file), SQLITE_OK);
  const char *older = "ALTER TABLE costs DROP COLUMN given_back; PRAGMA user_version = 3";
  assert_int_equal(sqlite3_exec(file, older, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(file);
  database = open_database(fixture->path);
  assert_true(get(fixture, database, 1, &found));
  assert_false(found.is_fallback);
  assert_true(get(fixture, database, 2, &found));
  assert_true(found.is_fallback);
  assert_string_equal(found.reason, declined.reason);
  byoc_cost_database_close(database);
}

static void test_exchange(void **state) {
  fixture_t *fixture = *state;
  byoc_diag_t diag = {0};
  char *json = byoc_path_join(byoc_allocator_system(), fixture->folder, "costs.json");
  char *other = byoc_path_join(byoc_allocator_system(), fixture->folder, "other.sqlite");
  byoc_cost_database_t *from = open_database(fixture->path), *to = open_database(other);
  char id[33];
  byoc_cost_record_t found, old = record_of(id, 1, 99);
  put(from, 1, 0.123456789);
  byoc_cost_record_t cut = record_of(id, 2, INFINITY);
  cut.reason = "it says \xc3"; // the front of a letter of two bytes
  cut.is_fallback = true;
  byoc_cost_database_put(from, &cut);
  byoc_cost_database_put_note(from, "search 1", 0);
  snprintf(id, sizeof(id), "%032x", 1);
  old.measured_at = 1600000000;
  byoc_cost_database_put(to, &old);
  size_t number = 0;
  byoc_test_ok(byoc_cost_database_export(from, json, &diag, &number), &diag);
  assert_int_equal(number, 2);
  byoc_test_ok(byoc_cost_database_import(to, json, &diag, &number), &diag);
  assert_int_equal(number, 2);
  assert_true(get(fixture, to, 1, &found));
  assert_true(found.cost_ns == 0.123456789);
  assert_true(get(fixture, to, 2, &found));
  assert_string_equal(found.reason, "it says ?");
  assert_true(found.is_fallback);
  byoc_test_ok(byoc_cost_database_import(to, json, &diag, &number), &diag);
  assert_int_equal(number, 0); // what is there is as new
  static const char *const bad[] = {"", "{", "[]", "{\"format\": \"byoc costs\", \"version\": 2, \"costs\": []}",
                                    "{\"format\": \"byoc costs\", \"version\": 1, \"costs\": [{\"id\": \"x\"}]}"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    byoc_diag_t bad_diag = {0};
    byoc_test_ok(byoc_file_write(json, bad[i], strlen(bad[i]), &bad_diag), &bad_diag);
    assert_int_not_equal(byoc_cost_database_import(to, json, &bad_diag, &number), BYOC_OK);
    assert_true(bad_diag.message[0] != '\0');
  }
  assert_int_equal(count(to), 2);
  byoc_cost_database_close(from);
  byoc_cost_database_close(to);
  free(json);
  free(other);
}

// ---- adversity ----

static void test_damaged(void **state) {
  fixture_t *fixture = *state;
  byoc_diag_t diag = {0};
  byoc_cost_database_t *database = open_database(fixture->path);
  for (unsigned i = 0; i < 500; ++i) put(database, i, i + 1);
  byoc_cost_database_close(database);
  char *data = NULL, *aside = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(fixture->path, byoc_allocator_system(), &diag, &data, &size), &diag);
  assert_true(size > 20000);
  aside = byoc_path_join(byoc_allocator_system(), fixture->folder, "costs.sqlite.damaged");
  for (int kind = 0; kind < 3; ++kind) {
    char *copy = malloc(size);
    memcpy(copy, data, size);
    if (kind == 0) memset(copy, 'x', 100);                 // no header
    if (kind == 1) memset(copy + 4096, 0x5a, size - 4096); // pages of nonsense
    size_t kept = kind == 2 ? size / 2 + 100 : size;       // cut
    byoc_test_ok(byoc_file_write(fixture->path, copy, kept, &diag), &diag);
    free(copy);
    (void)unlink(aside);
    database = open_database(fixture->path);
    assert_non_null(byoc_cost_database_path(database));
    assert_true(byoc_file_exists(aside));
    assert_int_equal(count(database), 0);
    put(database, 1, 1);
    assert_int_equal(count(database), 1);
    byoc_cost_database_close(database);
  }
  free(aside);
  free(data);
}

// A process that is killed while it writes loses nothing that it had written, and the file is sound.
static void test_c5_a_killed_writer_loses_nothing(void **state) {
  fixture_t *fixture = *state;
  unsigned least = 0;
  for (unsigned round = 0; round < 12; ++round) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
      byoc_cost_database_t *database = NULL;
      if (byoc_cost_database_open(fixture->path, byoc_allocator_system(), NULL, &database) != BYOC_OK) _exit(1);
      for (unsigned i = least;; ++i) {
        put(database, i, i + 1);
        if (write(fds[1], &i, sizeof(i)) != sizeof(i)) _exit(1);
      }
    }
    close(fds[1]);
    unsigned number = 0, last = 0;
    for (unsigned i = 0; i < 3 + round * 7 && read(fds[0], &number, sizeof(number)) == sizeof(number); ++i) {
      last = number;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (read(fds[0], &number, sizeof(number)) == sizeof(number)) last = number;
    close(fds[0]);
    byoc_cost_database_t *database = open_database(fixture->path);
    byoc_cost_record_t found;
    for (unsigned i = 0; i <= last; ++i) assert_true(get(fixture, database, i, &found));
    least = last + 1;
    byoc_cost_database_close(database);
  }
  assert_false(byoc_file_exists(byoc_arena_format(&fixture->arena, "%s.damaged", fixture->path)));
}

// Many processes open, make and fill one file at the same time.
static void test_c5_processes_share_a_file(void **state) {
  fixture_t *fixture = *state;
  enum { PROCESSES = 6, RECORDS = 40 };
  pid_t pids[PROCESSES];
  for (unsigned p = 0; p < PROCESSES; ++p) {
    pids[p] = fork();
    if (pids[p] != 0) continue;
    byoc_cost_database_t *database = NULL;
    if (byoc_cost_database_open(fixture->path, byoc_allocator_system(), NULL, &database) != BYOC_OK) _exit(1);
    if (byoc_cost_database_path(database) == NULL) _exit(2);
    for (unsigned i = 0; i < RECORDS; ++i) put(database, p * 1000 + i, 1 + i);
    byoc_cost_database_close(database);
    _exit(0);
  }
  for (unsigned p = 0; p < PROCESSES; ++p) {
    int status = -1;
    waitpid(pids[p], &status, 0);
    assert_int_equal(status, 0);
  }
  byoc_cost_database_t *database = open_database(fixture->path);
  assert_int_equal(count(database), PROCESSES * RECORDS);
  byoc_cost_database_close(database);
}

// No room on the disk: what is measured is known for the rest of the build.
static void test_disk_full(void **state) {
  fixture_t *fixture = *state;
  byoc_cost_database_t *database = open_database(fixture->path);
  put(database, 1, 1);
  struct rlimit old, tight = {0};
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  tight = (struct rlimit){.rlim_cur = 16384, .rlim_max = old.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  for (unsigned i = 2; i < 100; ++i) put(database, i, i);
  byoc_cost_record_t found;
  for (unsigned i = 1; i < 100; ++i) {
    assert_true(get(fixture, database, i, &found));
    assert_true(found.cost_ns == i);
  }
  byoc_cost_database_close(database);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  database = open_database(fixture->path);
  assert_true(get(fixture, database, 1, &found));
  assert_true(count(database) < 99);
  byoc_cost_database_close(database);
}

static void test_cannot_be_used(void **state) {
  fixture_t *fixture = *state;
  char *nowhere = byoc_path_join(byoc_allocator_system(), fixture->folder, "missing/costs.sqlite");
  byoc_cost_database_t *database = open_database(nowhere);
  assert_null(byoc_cost_database_path(database));
  byoc_cost_record_t found;
  put(database, 1, 5);
  assert_true(get(fixture, database, 1, &found));
  byoc_diag_t diag = {0};
  size_t number = 0;
  byoc_test_error(byoc_cost_database_visit(database, count_record, &number, &diag), BYOC_IO, &diag, "cannot be used");
  byoc_cost_database_close(database);
  byoc_cost_database_close(NULL);
  free(nowhere);
}

// A file of a later byoc and one of another program are not used, and stay as they are.
static void test_files_of_others(void **state) {
  fixture_t *fixture = *state;
  static const struct {
    const char *sql, *reason;
  } rows[] = {{"CREATE TABLE theirs (x); PRAGMA user_version = 1000", "it was written by a later byoc"},
              {"CREATE TABLE theirs (x)", "it is another program's database"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    char name[32], *data[2];
    size_t sizes[2];
    snprintf(name, sizeof(name), "of_others%zu.sqlite", i);
    char *path = byoc_path_join(byoc_allocator_system(), fixture->folder, name);
    sqlite3 *file = NULL;
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, rows[i].sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(file), SQLITE_OK);
    byoc_diag_t diag = {0};
    byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data[0], &sizes[0]), &diag);
    byoc_cost_database_t *database = open_database(path);
    assert_null(byoc_cost_database_path(database));
    byoc_cost_record_t found;
    put(database, 1, 5);
    assert_true(get(fixture, database, 1, &found)); // it is kept in memory
    size_t number = 0;
    byoc_test_error(byoc_cost_database_visit(database, count_record, &number, &diag), BYOC_IO, &diag, rows[i].reason);
    byoc_cost_database_close(database);
    byoc_diag_clear(&diag);
    byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data[1], &sizes[1]), &diag);
    assert_int_equal(sizes[1], sizes[0]);
    assert_memory_equal(data[1], data[0], sizes[0]);
    free(data[0]);
    free(data[1]);
    free(path);
  }
}

// Where SQLite can make no log beside it, a database is read all the same, whatever its path looks like in a URI.
static void test_read_only(void **state) {
  fixture_t *fixture = *state;
  static const char *const names[] = {"costs.sqlite", "50% of?what#is%3fhere.sqlite"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_cost_record_t found;
    byoc_diag_t diag = {0};
    char *path = byoc_path_join(byoc_allocator_system(), fixture->folder, names[i]), log[4096];
    byoc_cost_database_t *database = open_database(path);
    put(database, 1, 5);
    byoc_cost_database_close(database);
    snprintf(log, sizeof(log), "%s-wal", path);
    byoc_test_ok(byoc_make_directories(log, &diag), &diag); // in the log's place
    database = open_database(path);
    assert_string_equal(byoc_cost_database_path(database), path);
    assert_true(get(fixture, database, 1, &found));
    assert_true(found.cost_ns == 5);
    byoc_cost_database_close(database);
    free(path);
  }
}

static byoc_status_t open_and_close(void *argument, byoc_allocator_t allocator) {
  byoc_cost_database_t *database = NULL;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_cost_database_open(argument, allocator, &diag, &database);
  byoc_cost_database_close(database);
  return status;
}

static void test_memory(void **state) {
  fixture_t *fixture = *state;
  byoc_test_each_allocation_fails(open_and_close, fixture->path, false);
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_c5_records_are_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_prune, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_notes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_upgrade_fallback, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_exchange, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_read_only, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_c5_a_killed_writer_loses_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_c5_processes_share_a_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_disk_full, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cannot_be_used, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_files_of_others, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
