// SPDX-License-Identifier: Apache-2.0
// Opening the cost database's file: schema, damage, waiting for others. Internal to the files of the database.
#ifndef BYOC_CORE_COLLAGE_COST_DATABASE_FILE_H_
#define BYOC_CORE_COLLAGE_COST_DATABASE_FILE_H_

#include <sqlite3.h>

#include "core/base/allocator.h"
#include "core/base/diag.h"

enum { BYOC_COST_FILE_REASON_BYTES = 256 };
// Returns an open connection to a file that has the tables, or NULL and the reason if the file cannot be used. A
// damaged file is moved aside first. A file that cannot be written is opened for reading (sqlite3_db_readonly).
sqlite3 *byoc_cost_file_open(const char *path, byoc_allocator_t allocator,
                             char out_reason[BYOC_COST_FILE_REASON_BYTES]);
// The same for a file that the user named. It must be a cost database (with `may_create` it may be missing); otherwise
// this is an error, and nothing is moved.
byoc_status_t byoc_cost_file_open_named(const char *path, bool may_create, byoc_diag_t *diag, sqlite3 **out_connection);
// The same tables in memory; NULL if out of memory.
sqlite3 *byoc_cost_memory_open(void);

#endif // BYOC_CORE_COLLAGE_COST_DATABASE_FILE_H_
