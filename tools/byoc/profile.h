// SPDX-License-Identifier: Apache-2.0
// Profiles of an artifact: the times of its instructions over several runs, what each does, and what the machine can
// do.
#ifndef BYOC_TOOLS_BYOC_PROFILE_H_
#define BYOC_TOOLS_BYOC_PROFILE_H_

#include <jansson.h>
#include <stdio.h>

#include "artifact.h"
#include "core/base/vector.h"
#include "core/collage/cost_database.h"
#include "profile_pool.h"

#define BYOC_PROFILE_NO_ROW SIZE_MAX

// The times on several threads of an instruction, of the host's work between calls on one thread, or of both together.
// With n threads, many_ns = alone_ns / n + alone_loss_ns + uneven_ns + fork_ns + dearer_ns.
typedef struct byoc_profile_threads_t {
  double alone_ns;            // the time on one thread
  double many_ns;             // the time on all
  byoc_profile_loops_t loops; // of the run that took many_ns
  double alone_loss_ns;       // one thread works, the others wait
  double uneven_ns;           // a thread has more to do than others, or all if they come too late
  double fork_ns;             // loops begin and end
  double dearer_ns;           // the same work takes longer (or, below 0, less long) where it is done by several
} byoc_profile_threads_t;

// A counter of a backend, below an instruction or a node. In a run, the values of several calls are added; those in
// percent are averaged.
typedef struct byoc_profile_counter_t {
  char *name, *unit;
  BYOC_VECTOR(double) run_values;
  size_t run, run_calls; // the run of the last value, and how many values that run has
  double median;         // over the runs
} byoc_profile_counter_t;

// An instruction of the host program, or a node of an engine below one.
typedef struct byoc_profile_row_t {
  char *name;
  char *kind, *target;               // "" of nodes
  size_t parent;                     // row of the instruction that a node is part of; BYOC_PROFILE_NO_ROW
  size_t ordinal;                    // position of a node below its parent
  bool is_on_device;                 // its time is the device's
  bool is_call;                      // an instruction that computes; others are the host's, as shapes and memory
  double flops, bytes;               // of a call; negative: not known
  byoc_arithmetic_t arithmetic;      // the type of most products
  double calls;                      // in a run: loops call again and again; at least 1
  BYOC_VECTOR(double) run_ns;        // time in each run
  double median_ns;                  // over the runs
  BYOC_VECTOR(double) host_run_ns;   // calls: what the host did since the call before, in each run
  double host_ns;                    // the median of that
  double flops_per_ns, bytes_per_ns; // at the median; 0: not known
  double limit_share;                // share reached of the limit that is nearer, at most 1; 0: not known
  BYOC_VECTOR(byoc_profile_loops_t) run_loops;  // instructions: what the threads did in each run
  byoc_profile_threads_t threads;               // instructions of a profile of several threads
  BYOC_VECTOR(byoc_profile_counter_t) counters; // in the order in which they came first
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
  char **targets; // of the build, in its order: "c" is the last one
  size_t target_count;
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
  byoc_profile_threads_t host_threads;      // of several threads: the host between the calls
  byoc_profile_threads_t all_threads;       // and the sum of everything
  bool has_other_plan;                      // one thread runs other instructions: they are in no sum
} byoc_profile_t;

typedef struct byoc_profile_request_t {
  int64_t warm_up_count, run_count;
  bool best;                 // the fastest times replace the medians, for machines that are busy otherwise
  byoc_profile_pool_t *pool; // of the context in the run; NULL: it has one thread
  byoc_context_t *alone;     // where there is a pool: a context with one thread, whose runs take turns with the others
} byoc_profile_request_t;

// Runs the artifact's profile entry, or that for shapes known at run time, so many times after the warm-up. Call deinit
// after a failure too.
byoc_status_t byoc_profile_collect(byoc_artifact_run_t *run, const byoc_profile_request_t *request, byoc_diag_t *diag,
                                   byoc_profile_t *out_profile);
void byoc_profile_deinit(byoc_profile_t *profile);
// Where the time of several threads goes: fills in what `threads` says, for rows, host and all. `alone` is the profile
// of the same artifact on one thread. Runs that took the middle time (or the least) tell; call it before the samples
// are sorted. False if out of memory.
bool byoc_profile_spread(byoc_profile_t *profile, const byoc_profile_t *alone);
// Measures the machine with the artifact's number of threads and compares each row with it.
byoc_status_t byoc_profile_compare(byoc_profile_t *profile, byoc_diag_t *diag);

// Rows by time, slowest first, each engine's nodes behind their instruction. Returns rows.count indices from malloc;
// NULL if out of memory.
size_t *byoc_profile_order(const byoc_profile_t *profile);

// The peak of a row's arithmetic on this machine.
double byoc_profile_peak(const byoc_profile_t *profile, const byoc_profile_row_t *row);
// "GFLOP/s", or "GOP/s" of integers.
const char *byoc_profile_unit(byoc_arithmetic_t arithmetic);

// A rate in percent of a limit, as text: "42%", or `beyond` if it is above the limit.
typedef struct byoc_profile_share_t {
  char text[16];
} byoc_profile_share_t;
byoc_profile_share_t byoc_profile_share(double rate, double limit, const char *beyond);
// Computing: a target needed fewer operations than were counted, as Winograd's convolutions do. Moving: the data were
// in a cache.
#define BYOC_PROFILE_FEWER "fewer"
#define BYOC_PROFILE_CACHE "cache"

// The time of all instructions with the same operators on the same target.
typedef struct byoc_profile_total_t {
  const char *operators; // not terminated
  size_t operators_size;
  const char *target;
  double calls; // in a run: how often these instructions, or nodes of an engine, ran together
  double ns;
} byoc_profile_total_t;
// The longest first, from malloc; NULL if out of memory. Nodes of engines count instead of their instructions.
byoc_profile_total_t *byoc_profile_totals(const byoc_profile_t *profile, size_t *out_count);
bool byoc_profile_is_leaf(const byoc_profile_t *profile, size_t row);
// The target of a row, or of the instruction that a node belongs to.
const char *byoc_profile_target(const byoc_profile_t *profile, const byoc_profile_row_t *row);

// profile_counters.c: adds a value to the row's counter of that name and unit, which is made if it is new. False if out
// of memory, or if the row has more counters than any backend needs, which sets *out_too_many.
bool byoc_profile_count(byoc_profile_row_t *row, size_t run, const char *name, const char *unit, double value,
                        bool *out_too_many);
// Sorts the values and finds the medians.
void byoc_profile_end_counters(byoc_profile_row_t *row);
void byoc_profile_row_drop_counters(byoc_profile_row_t *row);
bool byoc_profile_has_counters(const byoc_profile_t *profile);
// "12288 cycles", "71.5 % utilisation", "1.50 us device_time".
void byoc_profile_counter_text(const byoc_profile_counter_t *counter, byoc_string_t *out);
// The rows with counters, in this order, with their counters: as text, and as an array of JSON.
void byoc_profile_print_counters(const byoc_profile_t *profile, const size_t *order);
json_t *byoc_profile_counters_json(const byoc_profile_row_t *row);

void byoc_profile_print(const byoc_profile_t *profile, const size_t *order);
// For several threads: a table of the instructions in the order of byoc_profile_losses, the sum, and a sentence.
void byoc_profile_print_threads(const byoc_profile_t *profile, const size_t *losses);
// The instructions by what they lose, most first: step_count indices from malloc; NULL if out of memory.
size_t *byoc_profile_losses(const byoc_profile_t *profile);
json_t *byoc_profile_threads_json(const byoc_profile_threads_t *threads, int32_t thread_count);
// One document each; files appear whole or not at all.
byoc_status_t byoc_profile_write_json(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag);
byoc_status_t byoc_profile_write_trace(const byoc_profile_t *profile, const char *path, byoc_diag_t *diag);
// `losses` NULL: one thread.
byoc_status_t byoc_profile_write_html(const byoc_profile_t *profile, const size_t *order, const size_t *losses,
                                      const char *path, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_PROFILE_H_
