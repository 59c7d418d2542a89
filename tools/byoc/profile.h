// Profiles of an artifact: the times of its instructions over several runs, what each does, and what the machine can
// do.
#ifndef BYOC_TOOLS_BYOC_PROFILE_H_
#define BYOC_TOOLS_BYOC_PROFILE_H_

#include <stdio.h>

#include "artifact.h"
#include "core/base/vector.h"
#include "core/collage/cost_database.h"

#define BYOC_PROFILE_NO_ROW SIZE_MAX

// An instruction of the host program, or a node of an engine below one.
typedef struct byoc_profile_row_t {
  char *name;
  char *kind, *target;               // "" of nodes
  size_t parent;                     // row of the instruction that a node is part of; BYOC_PROFILE_NO_ROW
  size_t ordinal;                    // position of a node below its parent
  bool is_on_device;                 // its time is the device's
  bool is_call;                      // an instruction that computes; others are the host's, as shapes and memory
  double flops, bytes;               // of a call; negative: not known
  double calls;                      // in a run: loops call again and again; at least 1
  BYOC_VECTOR(double) run_ns;        // time in each run
  double median_ns;                  // over the runs
  BYOC_VECTOR(double) host_run_ns;   // calls: what the host did since the call before, in each run
  double host_ns;                    // the median of that
  double flops_per_ns, bytes_per_ns; // at the median; 0: not known
  double limit_share;                // share reached of the limit of the machine that is nearer; 0: not known
} byoc_profile_row_t;

typedef struct byoc_profile_event_t {
  size_t row;
  int64_t start_ns, duration_ns; // from the start of its run
  int64_t host_ns;               // in front of a call: what the host did since the call before
} byoc_profile_event_t;

typedef struct byoc_profile_t {
  const byoc_artifact_t *artifact;
  int32_t thread_count;
  size_t run_count;
  bool best;                                // fastest times instead of medians
  byoc_calibration_t limits;                // of the machine, all threads together
  BYOC_VECTOR(byoc_profile_row_t) rows;     // instructions in order of the program, nodes behind them
  size_t step_count;                        // instructions among them
  BYOC_VECTOR(double) total_ns;             // of each run
  double median_ns;                         // of those
  double steps_ns;                          // sum of the instructions' medians: shares refer to it
  BYOC_VECTOR(double) host_total_ns;        // of each run: outside of calls
  double host_ns;                           // the median of that
  BYOC_VECTOR(byoc_profile_event_t) events; // of the fastest run
  double events_ns;                         // what that run took
} byoc_profile_t;

// Runs the artifact's profile entry, or that for shapes known at run time, `run_count` times after `warm_up_count`
// others. Call deinit after a failure too. With `best` the fastest times replace the medians, for machines that are
// busy otherwise.
byoc_status_t byoc_profile_collect(byoc_artifact_run_t *run, int64_t warm_up_count, int64_t run_count, bool best,
                                   byoc_diag_t *diag, byoc_profile_t *out_profile);
void byoc_profile_deinit(byoc_profile_t *profile);
// Measures the machine with the artifact's number of threads and compares each row with it.
byoc_status_t byoc_profile_compare(byoc_profile_t *profile, byoc_diag_t *diag);

// Rows by time, slowest first, each engine's nodes behind their instruction. Returns rows.count indices from malloc;
// NULL if out of memory.
size_t *byoc_profile_order(const byoc_profile_t *profile);

void byoc_profile_print(const byoc_profile_t *profile, const size_t *order);
// One document each; files appear whole or not at all.
byoc_status_t byoc_profile_write_json(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag);
byoc_status_t byoc_profile_write_trace(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag);
byoc_status_t byoc_profile_write_html(const byoc_profile_t *profile, const size_t *order, const char *path,
                                      byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_PROFILE_H_
