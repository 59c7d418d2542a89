// SPDX-License-Identifier: Apache-2.0
// Exported costs (core/collage/cost_database.h): what is imported can be listed and exported.
#include "core/base/log.h"
#include "core/collage/cost_database.h"
#include "tests/fuzz/fuzz.h"

enum { IMPORTS_AT_MOST = 1000 }; // into one database, which lives in memory

static byoc_cost_database_t *database;
static int imports;

static void open_database(void) {
  byoc_diag_t diag = {0};
  byoc_cost_database_close(database);
  database = NULL;
  byoc_log_set_level(BYOC_LOG_ERROR); // it warns that it keeps the costs in memory
  fuzz_check_ok(byoc_cost_database_open("/nonexistent/costs.sqlite", byoc_allocator_system(), &diag, &database), &diag,
                "opening a database");
}

static byoc_status_t visit(void *self, const byoc_cost_record_t *record) {
  size_t *count = self;
  *count += 1;
  bool is_explained = isfinite(record->cost_ns) || record->reason != NULL;
  return record->key.id != NULL && is_explained ? BYOC_OK : BYOC_INTERNAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  size_t imported = 0, listed = 0;
  if (database == NULL || ++imports % IMPORTS_AT_MOST == 0) open_database();
  byoc_status_t status = byoc_cost_database_import(database, fuzz_file(data, size), &diag, &imported);
  fuzz_check(status, &diag);
  if (status == BYOC_OK && imported > 0) {
    fuzz_check_ok(byoc_cost_database_visit(database, visit, &listed, &diag), &diag, "listing costs");
    if (listed == 0) fuzz_fail("%zu costs were imported, none is there", imported);
  }
  return 0;
}
