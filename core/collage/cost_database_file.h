// Opening the cost database's file: schema, damage, waiting for others. Internal to the files of the database.
#ifndef BYOC_CORE_COLLAGE_COST_DATABASE_FILE_H_
#define BYOC_CORE_COLLAGE_COST_DATABASE_FILE_H_

#include <sqlite3.h>

#include "core/base/allocator.h"

// An open connection with the tables there, or NULL with a warning logged where the file cannot be used. A damaged file
// is moved aside first.
sqlite3 *byoc_cost_file_open(const char *path, byoc_allocator_t allocator);
// The same tables in memory; NULL when memory is out.
sqlite3 *byoc_cost_memory_open(void);

#endif // BYOC_CORE_COLLAGE_COST_DATABASE_FILE_H_
