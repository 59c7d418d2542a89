// SPDX-License-Identifier: Apache-2.0
// Costs on disk: one SQLite file shared by concurrent builds, <cache folder>/costs.sqlite.
//
// Example:
//   byoc_cost_database_t *database = NULL;
//   BYOC_RETURN_IF_ERROR(byoc_cost_database_open(NULL, allocator, diag, &database));
//   if (!byoc_cost_database_get(database, key.id, &arena, &record)) {
//     record = measure();
//     byoc_cost_database_put(database, &record);
//   }
//   byoc_cost_database_close(database);
//
// A cache never stops a build. Every record is a transaction of its own in a write-ahead log: a process killed at any
// moment leaves the file usable, with all records written before. A damaged file is renamed to costs.sqlite.damaged
// with a warning, and a fresh one is begun. A file that may only be read is read, and new
// records are kept in memory for the life of this object. The same happens, after one warning, if the file cannot be
// used at all (disk full, written by a later byoc). A connection must not be used in a forked child. One thread at a
// time.
#ifndef BYOC_CORE_COLLAGE_COST_DATABASE_H_
#define BYOC_CORE_COLLAGE_COST_DATABASE_H_

#include <math.h>

#include "core/collage/cost_key.h"
#include "core/ir/arithmetic.h"

typedef struct byoc_cost_record_t {
  byoc_cost_key_t key;
  double cost_ns;      // INFINITY: cannot be used
  const char *reason;  // why it is infinite; NULL otherwise
  bool is_fallback;    // the reason came from the backend, which declined it
  int64_t measured_at; // seconds since 1970; 0: _put fills in the time
  int64_t used_at;     // in whole days
} byoc_cost_record_t;

// The figures of a machine that the estimate needs, for one thread.
typedef struct byoc_calibration_t {
  double flops_per_ns;                 // multiply-adds of f32
  double peaks[BYOC_ARITHMETIC_COUNT]; // operations per ns with factors of other types; 0: not measured
  double bytes_per_ns;
  double call_ns; // of a function in another object, with its argument tensors set up
} byoc_calibration_t;

// The operations per ns with factors of a type, two per multiply-add. A type without a measured peak is computed as
// f32, f64 at half of its rate.
double byoc_calibration_peak(const byoc_calibration_t *calibration, byoc_arithmetic_t type);

typedef struct byoc_cost_database_t byoc_cost_database_t;
// `path` NULL: the default place. The only failure is out of memory.
byoc_status_t byoc_cost_database_open(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_cost_database_t **out_database);
// Opens a file that the user named. It must be a cost database; with `may_create` it may also be missing. Otherwise
// this is an error: nothing is renamed, and nothing else is used in its place.
byoc_status_t byoc_cost_database_open_named(const char *path, bool may_create, byoc_allocator_t allocator,
                                            byoc_diag_t *diag, byoc_cost_database_t **out_database);
void byoc_cost_database_close(byoc_cost_database_t *database); // accepts NULL
// The file that is used; NULL if records are kept in memory only.
const char *byoc_cost_database_path(const byoc_cost_database_t *database);

// Returns false if there is no such record. The strings are in `arena`.
bool byoc_cost_database_get(byoc_cost_database_t *database, const char *id, byoc_arena_t *arena,
                            byoc_cost_record_t *out_record);
// Adds or replaces.
void byoc_cost_database_put(byoc_cost_database_t *database, const byoc_cost_record_t *record);
bool byoc_cost_database_get_calibration(byoc_cost_database_t *database, const char *machine,
                                        byoc_calibration_t *out_calibration);
void byoc_cost_database_put_calibration(byoc_cost_database_t *database, const char *machine,
                                        const byoc_calibration_t *calibration);
// Notes of a build for the next one: the time of a search, the noise of its timing. Notes are not costs: they are
// neither listed nor exported. _get returns false if there is no such note.
bool byoc_cost_database_get_note(byoc_cost_database_t *database, const char *id, double *out_value);
void byoc_cost_database_put_note(byoc_cost_database_t *database, const char *id, double value);

// ---- for byoc costs; these report failures ----

// Visits every record, ordered by target, operators, signature and id. The record's strings live until `visit` returns.
byoc_status_t byoc_cost_database_visit(byoc_cost_database_t *database,
                                       byoc_status_t (*visit)(void *self, const byoc_cost_record_t *record), void *self,
                                       byoc_diag_t *diag);
// Removes records that no build has used for `age_s` seconds, and notes that are as old.
byoc_status_t byoc_cost_database_prune(byoc_cost_database_t *database, int64_t age_s, byoc_diag_t *diag,
                                       size_t *out_removed);
// Writes all records as one JSON document, either whole or not at all.
byoc_status_t byoc_cost_database_export(byoc_cost_database_t *database, const char *path, byoc_diag_t *diag,
                                        size_t *out_count);
// Adds the records of such a document, all or none; if both have the same one, the one measured later stays.
byoc_status_t byoc_cost_database_import(byoc_cost_database_t *database, const char *path, byoc_diag_t *diag,
                                        size_t *out_count);

// Internal to the files of the database: several puts as one transaction, and a put that reports its failure.
byoc_status_t byoc_cost_database_begin(byoc_cost_database_t *database, byoc_diag_t *diag);
byoc_status_t byoc_cost_database_end(byoc_cost_database_t *database, bool keep, byoc_diag_t *diag);
byoc_status_t byoc_cost_database_store(byoc_cost_database_t *database, const byoc_cost_record_t *record,
                                       byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_COST_DATABASE_H_
