// SPDX-License-Identifier: Apache-2.0
// byoc costs: looking after the cost database.
#include <jansson.h>
#include <sqlite3.h>

#include "core/collage/cost_database.h"
#include "tests/support/command.h"

static void add(const char *path, const char *id, double cost_ns, int64_t used_at) {
  byoc_diag_t diag = {0};
  byoc_cost_database_t *database = NULL;
  byoc_test_ok(byoc_cost_database_open(path, byoc_allocator_system(), &diag, &database), &diag);
  const byoc_cost_record_t record = {.key = {.id = id,
                                             .operators = "Conv+Relu",
                                             .signature = "(f32[1]) -> (f32[1])",
                                             .target = "c -O=3",
                                             .plugin = "byoc 1",
                                             .compiler = "cc 1",
                                             .machine = "here",
                                             .thread_count = 1},
                                     .cost_ns = cost_ns,
                                     .reason = isinf(cost_ns) ? "it crashed (signal 11)" : NULL,
                                     .measured_at = 1700000000,
                                     .used_at = used_at};
  byoc_cost_database_put(database, &record);
  byoc_cost_database_close(database);
}

static void test_costs(void **state) {
  (void)state;
  const char *path = "a.sqlite";
  add(path, "00000000000000000000000000000001", 12500, 0);
  add(path, "00000000000000000000000000000002", INFINITY, 1700000000);
  byoc_test_shell(0, "byoc costs list --database a.sqlite");
  byoc_test_printed("12.50 us  Conv+Relu");
  byoc_test_printed("unusable     Conv+Relu: it crashed (signal 11)");
  byoc_test_shell(0, "byoc costs list --json --database a.sqlite");
  json_error_t error;
  json_t *rows = json_loads(byoc_test_output(), 0, &error);
  assert_int_equal(json_array_size(rows), 2);
  assert_true(json_is_null(json_object_get(json_array_get(rows, 1), "cost_ns")));
  json_decref(rows);
  byoc_test_shell(0, "byoc costs export costs.json --database a.sqlite");
  byoc_test_printed("2 costs exported");
  byoc_test_shell(0, "byoc costs import costs.json --database b.sqlite");
  byoc_test_printed("2 costs imported");
  byoc_test_shell(0, "byoc costs prune --older-than 30 --json --database b.sqlite");
  byoc_test_printed("\"removed\": 1");
  byoc_test_shell(2, "byoc costs");
  byoc_test_shell(2, "byoc costs lits");
  byoc_test_printed("did you mean 'byoc costs list'?");
  byoc_test_shell(2, "byoc costs import");
  byoc_test_printed("byoc costs import takes one file");
  byoc_test_shell(1, "byoc costs import a.sqlite --database b.sqlite");
  byoc_test_printed("is not JSON");
  byoc_test_shell(1, "byoc costs export missing/x.json --database a.sqlite");
  byoc_test_printed("missing/x.json");
}

// A file that was named by mistake stays as it is.
static void test_other_files(void **state) {
  (void)state;
  add("own.sqlite", "00000000000000000000000000000001", 12500, 0);
  byoc_test_shell(0, "echo no database > other.txt && cp other.txt kept.txt");
  byoc_test_shell(1, "byoc costs list --database other.txt");
  byoc_test_printed("'other.txt' cannot be used as a cost database");
  byoc_test_shell(0, "cmp other.txt kept.txt && ! ls other.txt.*");
  byoc_test_shell(1, "byoc costs list --database none.sqlite");
  byoc_test_printed("there is no cost database 'none.sqlite'");
  byoc_test_shell(1, "byoc costs prune --database .");
  byoc_test_shell(0, "! ls none.sqlite*");
  byoc_test_shell(2, "byoc costs export own.sqlite --database own.sqlite");
  byoc_test_printed("would overwrite 'own.sqlite'");
  sqlite3 *foreign = NULL;
  assert_int_equal(sqlite3_open("foreign.sqlite", &foreign), SQLITE_OK);
  assert_int_equal(sqlite3_exec(foreign, "CREATE TABLE places (name TEXT)", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(foreign);
  byoc_test_shell(0, "cp foreign.sqlite kept.sqlite");
  byoc_test_shell(1, "byoc costs import costs.json --database foreign.sqlite");
  byoc_test_printed("it is another program's database");
  byoc_test_shell(0, "cmp foreign.sqlite kept.sqlite");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs), cmocka_unit_test(test_other_files)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
